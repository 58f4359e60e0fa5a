//! URIs of schemas: joining, fragments, and patterns with wildcards.

/// A pattern of tags: `*` is any run of characters but `/`, `**` any run at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TagPattern(String);

impl TagPattern {
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `true` if the whole of `uri` fits.
    pub(super) fn matches_uri(&self, uri: &str) -> bool {
        if !self.0.contains('*') {
            return self.0 == uri;
        }
        matches_wildcards(self.0.as_bytes(), uri.as_bytes())
    }
}

/// Greedy matching that remembers the last wildcard of each kind: at most quadratic in the lengths.
pub(super) fn matches_wildcards(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Place to go on from if the rest does not fit: pattern place after the wildcard, and text taken so far.
    let mut single: Option<(usize, usize)> = None;
    let mut double: Option<(usize, usize)> = None;
    loop {
        if pattern.get(p) == Some(&b'*') {
            if pattern.get(p + 1) == Some(&b'*') {
                p += 2;
                (double, single) = (Some((p, t)), None);
            } else {
                p += 1;
                single = Some((p, t));
            }
            continue;
        }
        match (pattern.get(p), text.get(t)) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b => {
                p += 1;
                t += 1;
                continue;
            }
            _ => {}
        }
        // `*` takes one more, unless that is a slash; then `**` does.
        let more = single.filter(|(_, taken)| text.get(*taken).is_some_and(|b| *b != b'/'));
        if let Some((after, taken)) = more {
            single = Some((after, taken + 1));
            (p, t) = (after, taken + 1);
        } else if let Some((after, taken)) = double.filter(|(_, taken)| *taken < text.len()) {
            (double, single) = (Some((after, taken + 1)), None);
            (p, t) = (after, taken + 1);
        } else {
            return false;
        }
    }
}

/// A URI without its fragment, and the fragment ("" without one).
pub(super) fn split_fragment(uri: &str) -> (&str, &str) {
    uri.split_once('#').unwrap_or((uri, ""))
}

/// `reference` as seen from the document `base` (RFC 3986, for schemes with `//` and without).
pub(super) fn resolve_uri_reference(base: &str, reference: &str) -> String {
    let (base, _) = split_fragment(base);
    if reference.starts_with('#') || reference.is_empty() {
        return format!("{base}{reference}");
    }
    if has_scheme(reference) {
        return reference.to_owned();
    }
    let (path, fragment) = match reference.find('#') {
        Some(at) => reference.split_at(at),
        None => (reference, ""),
    };
    let root = match base.find("://") {
        Some(at) => base.get(at + 3..).and_then(|rest| rest.find('/')).map_or(base.len(), |slash| at + 3 + slash),
        None => base.find(':').map_or(0, |at| at + 1),
    };
    let (head, own) = base.split_at(root);
    let whole = match path.strip_prefix('/') {
        Some(_) => path.to_owned(),
        None => format!("{}{path}", own.rfind('/').map_or("/", |at| own.get(..=at).unwrap_or("/"))),
    };
    format!("{head}{}{fragment}", without_dots(&whole))
}

/// Returns `true` if a text is a whole URI: a scheme, and only characters that a URI may have (RFC 3986).
pub(super) fn is_uri(text: &str) -> bool {
    let is_plain =
        |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '\\' | '^' | '`');
    has_scheme(text) && !text.ends_with(':') && text.chars().all(is_plain)
}

fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

/// Takes out `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let absolute = path.starts_with('/');
    let mut rest = path.split('/').peekable();
    while let Some(part) = rest.next() {
        let last = rest.peek().is_none();
        match part {
            "." => {
                if last {
                    parts.push("");
                }
            }
            ".." => {
                if parts.len() > usize::from(absolute) {
                    parts.pop();
                }
                if last {
                    parts.push("");
                }
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The name in a tag or schema URI: what is after the last `/`, and the version after its last `-`.
pub(super) fn name_and_version(uri: &str) -> (&str, Option<&str>) {
    let (whole, _) = split_fragment(uri);
    match whole.rsplit_once('-') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains('/') => {
            (name, Some(version))
        }
        _ => (whole, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_star_stops_at_slash_double_star_continues() {
        let fits = |pattern: &str, uri: &str| TagPattern::new(pattern).matches_uri(uri);
        assert!(fits("tag:stsci.edu:asdf/core/ndarray-*", "tag:stsci.edu:asdf/core/ndarray-1.1.0"));
        assert!(!fits("tag:stsci.edu:asdf/*", "tag:stsci.edu:asdf/core/ndarray-1.1.0"));
        assert!(fits("tag:stsci.edu:**", "tag:stsci.edu:asdf/core/ndarray-1.1.0"));
        assert!(fits("a/**/*-1.*", "a/b/c/d-1.2") && !fits("a/**/*-1.*", "a/b/c/d-1./2"));
        assert!(fits("**b*c", "xbx/bxc") && !fits("*b", "a/b") && fits("*", "") && fits("a**", "a"));
        assert!(!fits("a.b", "axb") && fits("*a*a*a", "aaaa"));
    }

    #[test]
    fn references_join_as_rfc_3986_says() {
        let base = "http://stsci.edu/schemas/asdf/transform/add-1.0.0";
        for (reference, whole) in [
            ("../unit/unit-1.0.0", "http://stsci.edu/schemas/asdf/unit/unit-1.0.0"),
            ("./label_mapper-1.0.0", "http://stsci.edu/schemas/asdf/transform/label_mapper-1.0.0"),
            ("x#/definitions/a", "http://stsci.edu/schemas/asdf/transform/x#/definitions/a"),
            ("#/definitions/a", "http://stsci.edu/schemas/asdf/transform/add-1.0.0#/definitions/a"),
            ("/a", "http://stsci.edu/a"),
            ("asdf://x.org/s/y-1.0.0", "asdf://x.org/s/y-1.0.0"),
            ("../../../../../q", "http://stsci.edu/q"),
        ] {
            assert_eq!(resolve_uri_reference(base, reference), whole, "{reference}");
        }
        assert_eq!(resolve_uri_reference("asdf://x.org/s/y-1.0.0", "z-1.0.0"), "asdf://x.org/s/z-1.0.0");
        assert_eq!(resolve_uri_reference("", "z"), "/z");
    }
}
