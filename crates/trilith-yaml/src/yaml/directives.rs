//! The head of a document, `%YAML` and `%TAG`, and how a tag as written becomes a whole one.

use std::collections::HashMap;

use crate::percent::leniently_decoded;

/// The prefix of `!!`.
pub(crate) const SECONDARY_PREFIX: &str = "tag:yaml.org,2002:";
/// Tag of bytes as base 64: `!!binary`.
pub(crate) const BINARY_TAG: &str = "tag:yaml.org,2002:binary";

/// The directives before `---`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    /// The version of `%YAML`, as written.
    pub version: Option<String>,
    /// Handle and prefix of each `%TAG`, in order.
    pub handles: Vec<(String, String)>,
    /// The place of the first of each handle in `handles`: there may be as many handles as tags.
    content_start: HashMap<String, usize>,
}

impl Directives {
    /// Reads the directives at the start of `text`; whether they are right is for the readers to say.
    pub(crate) fn parse_directives(text: &str) -> Self {
        let mut head = Self::default();
        for line in text.trim_start_matches('\u{feff}').split(['\n', '\r']) {
            let Some(directive) = line.strip_prefix('%') else {
                if line.trim_start_matches([' ', '\t']).is_empty() || line.trim_start().starts_with('#') {
                    continue;
                }
                break;
            };
            let mut words = directive.split([' ', '\t']).filter(|w| !w.is_empty());
            match words.next() {
                Some("YAML") => head.version = words.next().map(str::to_owned),
                Some("TAG") => {
                    if let (Some(handle), Some(prefix)) = (words.next(), words.next()) {
                        head.content_start.entry(handle.to_owned()).or_insert(head.handles.len());
                        head.handles.push((handle.to_owned(), leniently_decoded(prefix).into_owned()));
                    }
                }
                _ => {}
            }
        }
        head
    }

    /// The prefix that `handle` represents, or `None` if it is not declared.
    fn prefix(&self, handle: &str) -> Option<&str> {
        let declared = self.content_start.get(handle).and_then(|at| self.handles.get(*at)).map(|(_, prefix)| prefix.as_str());
        declared.or(match handle {
            "!!" => Some(SECONDARY_PREFIX),
            "!" => Some("!"),
            _ => None,
        })
    }

    /// The whole tag of a tag as written (`!a`, `!!a`, `!h!a`, `!<a>`, `!`), or `None` if its handle is not declared.
    pub(crate) fn resolve_tag(&self, raw: &str) -> Option<String> {
        if let Some(verbatim) = raw.strip_prefix("!<") {
            return Some(leniently_decoded(verbatim.strip_suffix('>').unwrap_or(verbatim)).into_owned());
        }
        if raw == "!" {
            return Some(raw.to_owned());
        }
        let split = raw.get(1..)?.find('!').map_or(1, |at| at + 2);
        let (handle, suffix) = raw.split_at_checked(split)?;
        let mut whole = self.prefix(handle)?.to_owned();
        whole.push_str(&leniently_decoded(suffix));
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_after_document_start_are_ignored() {
        let head = Directives::parse_directives(
            "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\n--- !core/asdf-1.1.0\n%TAG !x! y\n",
        );
        assert_eq!(head.version.as_deref(), Some("1.1"));
        assert_eq!(head.handles, [("!".to_owned(), "tag:stsci.edu:asdf/".to_owned())]);
        assert_eq!(head.resolve_tag("!core/asdf-1.1.0").as_deref(), Some("tag:stsci.edu:asdf/core/asdf-1.1.0"));
    }

    #[test]
    fn all_tag_forms_resolve() {
        let head = Directives::parse_directives("%TAG !e! tag:e.org,1:\n%TAG !e! tag:e.org,2:\n---\n");
        let whole = |raw| head.resolve_tag(raw);
        assert_eq!(whole("!!str").as_deref(), Some("tag:yaml.org,2002:str"));
        assert_eq!(whole("!local").as_deref(), Some("!local"));
        assert_eq!(whole("!e!a%21b").as_deref(), Some("tag:e.org,1:a!b"));
        assert_eq!(whole("!<tag:x>").as_deref(), Some("tag:x"));
        assert_eq!(whole("!").as_deref(), Some("!"));
        assert_eq!(whole("!f!a"), None);
    }
}
