//! `FILE#/a/b/0`: a file and an item in it.

use trilith::bytes::{is_url, path_of};

use crate::dashed_words::without_mark;

/// The target of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ItemArg {
    /// The file; `-` is standard input.
    pub file: String,
    /// The part after `#`, or None if there is no `#`.
    pub path: Option<String>,
}

impl ItemArg {
    /// Splits at the last `#` that is followed by `/` or ends the argument; a file that exists under
    /// the whole name is that file.
    pub(crate) fn parse(argument: &str) -> Self {
        let argument = without_mark(argument);
        let split =
            argument.rfind("#/").or_else(|| argument.ends_with('#').then(|| argument.len() - 1)).or_else(|| argument.rfind('#'));
        match split {
            Some(at) if !path_of(argument).exists() => {
                // The first `#/` counts: a pointer may hold another.
                let at = argument.find("#/").unwrap_or(at);
                Self { file: argument[..at].to_owned(), path: Some(argument[at + 1..].to_owned()) }
            }
            _ => Self { file: argument.to_owned(), path: None },
        }
    }

    /// The path, or the root.
    pub(crate) fn path(&self) -> &str {
        self.path.as_deref().unwrap_or("")
    }
}

/// Returns `true` if a word names a file: an existing one, a URL, or an item of a file.
pub(crate) fn is_file(word: &str) -> bool {
    word == "-" || path_of(word).exists() || is_url(word) || word.contains('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_hash_splits_file_and_path() {
        assert_eq!(ItemArg::parse("x.asdf#/a/b"), ItemArg { file: "x.asdf".into(), path: Some("/a/b".into()) });
        assert_eq!(ItemArg::parse("x.asdf#"), ItemArg { file: "x.asdf".into(), path: Some(String::new()) });
        assert_eq!(ItemArg::parse("x.asdf"), ItemArg { file: "x.asdf".into(), path: None });
        assert_eq!(ItemArg::parse("x.asdf#/a#/b"), ItemArg { file: "x.asdf".into(), path: Some("/a#/b".into()) });
        assert_eq!(ItemArg::parse("-#/a"), ItemArg { file: "-".into(), path: Some("/a".into()) });
    }
}
