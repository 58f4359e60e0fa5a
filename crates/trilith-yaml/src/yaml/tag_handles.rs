//! Tags as they are written under the `%TAG` directives of a document.

use super::directives::SECONDARY_PREFIX;

/// The `%TAG` directives of a document, arranged so that the prefix of a tag is found without asking each.
pub struct TagHandles {
    /// Prefix and handle, by prefix.
    by_prefix: Vec<(String, String)>,
    /// `true` if `!!` is not declared, so that it represents the core schema of YAML.
    core: bool,
    /// `true` if `!` is not declared, so that it represents itself.
    local: bool,
}

impl TagHandles {
    /// Handle and prefix of each directive.
    pub fn new(handles: &[(String, String)]) -> Self {
        let own = |handle: &str| handles.iter().all(|(name, _)| name != handle);
        let named = handles.iter().filter(|(_, prefix)| !prefix.is_empty());
        let mut by_prefix: Vec<_> = named.map(|(handle, prefix)| (prefix.clone(), handle.clone())).collect();
        by_prefix.sort_by(|a, b| a.0.cmp(&b.0));
        Self { by_prefix, core: own("!!"), local: own("!") }
    }

    /// A tag as it is written: `!!x`, `!x`, `!h!x` or `!<x>`.
    pub fn shorten_tag(&self, tag: &str) -> String {
        if tag == "!" {
            return tag.to_owned();
        }
        let found = self
            .longest_prefix(tag)
            .or_else(|| (self.core && tag.starts_with(SECONDARY_PREFIX)).then_some(("!!", SECONDARY_PREFIX)))
            .or_else(|| (self.local && tag.starts_with('!')).then_some(("!", "!")));
        match found.map(|(handle, prefix)| (handle, tag.get(prefix.len()..).unwrap_or(""))) {
            Some((handle, suffix)) if !suffix.is_empty() => format!("{handle}{}", percent_encode_tag(suffix)),
            _ => format!("!<{}>", percent_encode_tag(tag)),
        }
    }

    /// Handle and prefix of the longest prefix that the tag begins with; of equal ones the last declared.
    fn longest_prefix(&self, tag: &str) -> Option<(&str, &str)> {
        let mut text = tag;
        loop {
            let behind = self.by_prefix.partition_point(|(prefix, _)| prefix.as_str() <= text);
            let (prefix, handle) = self.by_prefix.get(behind.checked_sub(1)?)?;
            if text.starts_with(prefix.as_str()) {
                return Some((handle, prefix));
            }
            // Prefixes that sort before this one can only share what it shares with the tag.
            let common = prefix.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
            text = (0..=common).rev().find_map(|end| text.get(..end))?;
        }
    }
}

/// A tag as it is written under these handles: `!!x`, `!x`, `!h!x` or `!<x>`.
pub fn written_tag(tag: &str, handles: &[(String, String)]) -> String {
    TagHandles::new(handles).shorten_tag(tag)
}

/// A tag's characters, percent-encoded if they would end it.
fn percent_encode_tag(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_./:~@*();?&=+$#".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn matching_handle_shortens_tag() {
        let handles = [("!".to_owned(), "tag:stsci.edu:asdf/".to_owned())];
        assert_eq!(written_tag("tag:stsci.edu:asdf/core/asdf-1.1.0", &handles), "!core/asdf-1.1.0");
        assert_eq!(written_tag("tag:yaml.org,2002:set", &handles), "!!set");
        assert_eq!(written_tag("asdf://x/tags/y-1.0.0", &handles), "!<asdf://x/tags/y-1.0.0>");
        assert_eq!(written_tag("!local", &handles), "!<%21local>");
        assert_eq!(written_tag("!local", &[]), "!local");
        assert_eq!(written_tag("tag:stsci.edu:asdf/a{b}", &handles), "!a%7Bb%7D");
    }

    proptest! {
        /// The prefix found is the one that asking each directive in turn gives.
        #[test]
        fn longest_prefix_wins(prefixes in prop::collection::vec("[abé]{0,4}", 0..12), tag in "[abé]{1,6}") {
            let handles: Vec<_> = prefixes.iter().enumerate().map(|(n, prefix)| (format!("!{n}!"), prefix.clone())).collect();
            let matching = handles.iter().filter(|(_, prefix)| !prefix.is_empty() && tag.starts_with(prefix.as_str()));
            let longest = matching.max_by_key(|(_, prefix)| prefix.len()).map(|(handle, prefix)| (handle.as_str(), prefix.as_str()));
            let found = TagHandles::new(&handles);
            prop_assert_eq!(found.longest_prefix(&tag), longest);
        }
    }
}
