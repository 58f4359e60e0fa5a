//! Regular expressions of schemas, written for Python's `re`, run in time linear in the text.

use std::sync::OnceLock;

/// A pattern that is searched anywhere in a text; compiled when it is first used.
pub(super) struct SchemaRegex {
    source: String,
    translated: String,
    compiled: OnceLock<Option<regex::Regex>>,
}

/// Bytes that one compiled pattern may take.
const SIZE_LIMIT: usize = 2 << 20;

impl SchemaRegex {
    /// Checks a pattern.
    ///
    /// # Errors
    /// Returns the problem in the pattern. Look-around and back references are problems, because they take more
    /// than linear time.
    pub(super) fn new(source: &str) -> Result<Self, String> {
        let translated = translate_python_pattern(source);
        // Short patterns are cheap to compile; long ones are checked when they are used.
        let regex = Self { source: source.to_owned(), translated, compiled: OnceLock::new() };
        if source.len() < 400 {
            let compiled = regex.build_regex()?;
            let _ = regex.compiled.set(Some(compiled));
        }
        Ok(regex)
    }

    fn build_regex(&self) -> Result<regex::Regex, String> {
        regex::RegexBuilder::new(&self.translated).size_limit(SIZE_LIMIT).build().map_err(|error| {
            let text = error.to_string();
            text.lines().last().unwrap_or("").trim_start_matches("error: ").trim_end_matches('.').to_owned()
        })
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Returns `true` if it is found in a text. A pattern that cannot be run is found everywhere.
    pub(super) fn found_in(&self, text: &str) -> bool {
        self.compiled.get_or_init(|| self.build_regex().ok()).as_ref().is_none_or(|regex| regex.is_match(text))
    }
}

impl std::fmt::Debug for SchemaRegex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Regex({:?})", self.source)
    }
}

/// Python's spelling in that of the `regex` crate: `$` also matches before a last line feed, `\Z` is the end.
fn translate_python_pattern(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 8);
    let mut chars = source.chars().peekable();
    let mut class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('Z') if !class => out.push_str(r"\z"),
                // Python takes an escaped character that means nothing for itself.
                Some(next @ ('/' | ' ' | '"' | '\'' | '<' | '>' | '@' | ',' | ':' | ';' | '=' | '!' | '`' | '_')) => {
                    out.push_str(&regex::escape(&next.to_string()));
                }
                Some(next) => {
                    out.push('\\');
                    out.push(next);
                }
                None => out.push('\\'),
            },
            '[' if class => out.push_str(r"\["),
            '[' => {
                class = true;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    out.push('^');
                    chars.next();
                }
                if chars.peek() == Some(&']') {
                    out.push_str(r"\]");
                    chars.next();
                }
            }
            ']' if class => {
                class = false;
                out.push(']');
            }
            // Doubled, these would be set operations.
            '&' | '~' if class => {
                out.push('\\');
                out.push(c);
            }
            // The text of a group is never used, and remembering it takes memory for each group.
            '(' if !class => {
                out.push('(');
                if chars.peek() == Some(&'?') {
                    named_group(&mut chars, &mut out);
                } else {
                    out.push_str("?:");
                }
            }
            '$' if !class => out.push_str(r"(?:\n?\z)"),
            c => out.push(c),
        }
    }
    out
}

/// Rewrites the text after `(`: the name of a group (`?P<name>`) becomes `?:`, and anything else is kept.
fn named_group(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    let rest: String = chars.clone().take(100).collect();
    let name = rest.strip_prefix("?P<").and_then(|rest| rest.split_once('>')).map(|(name, _)| name);
    match name.filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty()) {
        Some(name) => {
            out.push_str("?:");
            chars.by_ref().take(name.chars().count() + 4).for_each(drop);
        }
        None => out.extend(chars.next()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_python() {
        let found = |pattern: &str, text: &str| SchemaRegex::new(pattern).unwrap().found_in(text);
        assert!(found("^[+-]$", "+") && found("^[+-]$", "+\n") && !found("^[+-]$", "+x"));
        assert!(found("[A-Z0-9]*", "lower") && !found("[A-Z0-9]+", "lower"));
        assert!(found(r"[$]", "$") && found(r"\$", "$") && found(r"a\/b", "a/b"));
        assert!(found(r"^[[]x\]$", "[x]") && found("^[]a]+$", "]a") && found("^[a&&b]+$", "a&b"));
        assert!(found(r"^\d+\Z", "12"));
        assert!(found("^(?P<year>[0-9]{4})-(0|1)(?:x|y)(?i)Z$", "2026-1xz") && found(r"^\([(]$", "(("));
    }

    #[test]
    fn what_takes_more_than_linear_time_is_refused() {
        assert!(SchemaRegex::new("(?=a)b").is_err());
        assert!(SchemaRegex::new(r"(a)\1").is_err());
        // Nor is what takes long to be read; found by the fuzz target `schema`.
        assert!(SchemaRegex::new("((a{0,50}){0,50}){0,50}").is_err());
        // Groups take no memory for what they found.
        assert!(SchemaRegex::new(&"(a*)*".repeat(2000)).unwrap().found_in("aaaa"));
        let text = "a".repeat(50_000);
        assert!(!SchemaRegex::new("^(a+)+$").unwrap().found_in(&format!("{text}b")));
    }
}
