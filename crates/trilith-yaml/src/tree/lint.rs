//! Problems of a tree that do not stop a lenient reader.

use std::collections::HashSet;

use super::build::{KIND_MASK, MAPPING, SCALAR, TAG_SHIFT, VERBATIM_FLAG};
use super::children::{KeyIdentity, KeyType, key_of};
use super::node::Node;
use super::{Scalar, Tree};
use crate::diagnostic::{Diagnostic, Severity};
use crate::span::{Span, line_column};
use crate::yaml::{SECONDARY_PREFIX, YamlScalarStyle, shorten_text};

/// Number of warnings that are enough.
const MAX_WARNINGS: usize = 10_000;

/// The subject of a warning about a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TreeRule {
    /// `%YAML 1.1` is missing, or names another version.
    Version,
    /// The text begins with a byte order mark.
    ByteOrderMark,
    /// `---` or `...` is missing.
    Marker,
    /// A key occurs twice in a mapping.
    DuplicateKey,
    /// A key that is neither text nor integer nor boolean (standard 1.6).
    KeyType,
    /// An integer does not fit in 64 bits with sign (standard 1.6).
    BigInteger,
    /// The content of a node does not fit its tag.
    TagContent,
    /// An escape is half of a surrogate pair, which is not a character of YAML 1.1.
    SurrogateEscape,
    /// A directive that YAML 1.1 does not define.
    Directive,
}

impl TreeRule {
    /// The code of a [`Diagnostic`] that is about it.
    pub fn name(self) -> &'static str {
        match self {
            TreeRule::Version => "yaml-version",
            TreeRule::ByteOrderMark => "byte-order-mark",
            TreeRule::Marker => "document-marker",
            TreeRule::DuplicateKey => "duplicate-key",
            TreeRule::KeyType => "key-type",
            TreeRule::BigInteger => "big-integer",
            TreeRule::TagContent => "tag-content",
            TreeRule::SurrogateEscape => "surrogate-escape",
            TreeRule::Directive => "unknown-directive",
        }
    }
}

/// A warning whose line and column are not known yet.
fn warning_at(rule: TreeRule, message: String, span: Span) -> Diagnostic {
    Diagnostic::new(Severity::Warning, message).code(rule.name()).at_span(span)
}

impl Tree {
    /// Lists content that a strict reader would refuse: duplicate keys, a missing or unexpected `%YAML`, missing
    /// markers, unknown directives, content that does not fit its tag, surrogates, and keys and integers outside the YAML
    /// subset of ASDF 1.6.
    ///
    /// The list is in the order of the text and has at most 10,000 entries. An empty text is the tree of a file
    /// without one, and has no warnings.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        if self.text.is_empty() {
            return found;
        }
        let mut note = |rule, message: String, span| found.push(warning_at(rule, message, span));
        let start = Span::new(0, 0);
        match self.yaml_version() {
            None => note(TreeRule::Version, "the %YAML 1.1 directive is missing".to_owned(), start),
            Some("1.1") => {}
            Some(other) => note(TreeRule::Version, format!("the tree is YAML {}, expected 1.1", shorten_text(other)), start),
        }
        if self.text.starts_with('\u{feff}') {
            note(TreeRule::ByteOrderMark, "the tree begins with a byte order mark".to_owned(), Span::new(0, 3));
        }
        for span in self.unknown_directives() {
            // YAML 1.1, 4.2.2: "ignored with an appropriate warning".
            let line = shorten_text(span.slice(&self.text));
            note(TreeRule::Directive, format!("the directive {line} is not one of YAML 1.1, and is ignored"), span);
        }
        if !self.explicit_start {
            note(TreeRule::Marker, "the document marker --- is missing".to_owned(), start);
        }
        let mut keys = Vec::new();
        for at in 0..self.records.len() as u32 {
            self.node_warnings(Node::new(self, at), &mut keys, &mut found);
            if found.len() >= MAX_WARNINGS {
                break;
            }
        }
        found.truncate(MAX_WARNINGS);
        if !self.explicit_end {
            let (rule, message) = (TreeRule::Marker, "the end marker ... is missing".to_owned());
            found.push(warning_at(rule, message, Span::new_u32(self.text.len(), self.text.len())));
        }
        found.sort_by_key(|warning| warning.span);
        self.locate_all(&mut found);
        found
    }

    /// The lines before `---` that begin like a directive, and are none of YAML 1.1.
    #[doc(hidden)]
    pub fn unknown_directives(&self) -> Vec<Span> {
        let mut found = Vec::new();
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let word = line.trim_start_matches('\u{feff}');
            if !word.starts_with(['%', '#']) && !word.trim().is_empty() {
                break;
            }
            if let Some(directive) = word.strip_prefix('%')
                && !matches!(directive.split_ascii_whitespace().next(), Some("YAML" | "TAG"))
            {
                let start = at + line.len() - word.len();
                found.push(Span::new_u32(start, start + word.trim_end().len()));
            }
            at += line.len();
        }
        found
    }

    /// Adds the warnings about a node. `keys` has space for the keys of a mapping.
    fn node_warnings<'t>(&'t self, node: Node<'t>, keys: &mut Vec<KeyIdentity<'t>>, found: &mut Vec<Diagnostic>) {
        let mut note = |rule, message: String, span| found.push(warning_at(rule, message, span));
        let record = node.target_record();
        if node.is_alias() {
            return;
        }
        // Shorter integers fit.
        if record.meta & KIND_MASK == SCALAR && record.end - record.start >= 17 && matches!(node.scalar(), Scalar::BigInt(_)) {
            let message = format!("the integer {} does not fit in 64 bits with sign", shorten_text(node.source_text()));
            note(TreeRule::BigInteger, message, node.span());
        }
        if may_misfit(node, record) {
            if let Some(problem) = node.tag_problem() {
                note(TreeRule::TagContent, problem, node.span());
            }
            if let Some(escape) = surrogate_escape(node) {
                let message = format!("the escape {escape} is a surrogate, which is not a character");
                note(TreeRule::SurrogateEscape, message, node.span());
            }
        }
        if record.meta & KIND_MASK != MAPPING {
            return;
        }
        let mut seen = SeenKeys::new(node.len(), keys);
        for (key, value) in node.entries() {
            if key.is_merge() {
                let is_merged = value.is_mapping() || value.is_sequence() && value.items().all(Node::is_mapping);
                if !is_merged {
                    let message = "the value of the merge key << is neither a mapping nor a sequence of mappings";
                    note(TreeRule::TagContent, message.to_owned(), value.span());
                }
                continue;
            }
            let identity = key_of(key);
            if let Some(tag) = key.tag().filter(|tag| !tag.starts_with(SECONDARY_PREFIX)) {
                let text = shorten_text(key.source_text());
                let message =
                    format!("the key {text} has the tag {tag}, and so is neither a string nor an integer nor a boolean");
                note(TreeRule::KeyType, message, key.span());
            } else if !matches!(identity.0, KeyType::Text | KeyType::Integer | KeyType::Bool) {
                let message =
                    format!("the key {} is neither a string nor an integer nor a boolean", shorten_text(key.source_text()));
                note(TreeRule::KeyType, message, key.span());
            }
            if node.len() > 1 && seen.contains_or_insert(identity) {
                let message = format!("duplicate key {}; the last one counts", shorten_text(key.source_text()));
                note(TreeRule::DuplicateKey, message, key.span());
            }
        }
    }

    /// Finds line and column of warnings that are in order, in one pass.
    fn locate_all(&self, found: &mut [Diagnostic]) {
        let (mut line, mut start) = (self.origin.line, 0);
        for warning in found {
            let at = warning.span.start as usize;
            let (lines, column) = line_column(self.text.get(start..).unwrap_or(""), at.saturating_sub(start));
            line = line.saturating_add(lines - 1);
            (warning.line, warning.column) = (line, column);
            if lines > 1 {
                let before = self.text.as_bytes().get(..at).unwrap_or(&[]);
                start = memchr::memrchr2(b'\n', b'\r', before).map_or(start, |found| found + 1);
            }
        }
    }
}

/// Returns `true` if a closer look at a node is needed: it has a tag, an escape, or the text of a date.
#[inline]
fn may_misfit(node: Node<'_>, record: &super::NodeRecord) -> bool {
    if record.meta >> TAG_SHIFT != 0 {
        return true;
    }
    if record.meta & KIND_MASK != SCALAR || record.end - record.start < 8 {
        return false;
    }
    let raw = node.source_text().as_bytes();
    matches!(raw, [b'0'..=b'9', _, _, _, b'-', ..]) || record.meta & VERBATIM_FLAG == 0 && raw.first() == Some(&b'"')
}

/// The first escape of a quoted scalar that is half of a surrogate pair.
#[doc(hidden)]
pub fn surrogate_escape(node: Node<'_>) -> Option<&str> {
    if node.style() != Some(YamlScalarStyle::Double) {
        return None;
    }
    let raw = node.source_text();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', raw.as_bytes().get(at..)?) {
        at += found;
        let digits = match raw.as_bytes().get(at + 1)? {
            b'u' => raw.get(at + 2..at + 6),
            b'U' => raw.get(at + 2..at + 10),
            _ => None,
        };
        if let Some(digits) = digits
            && u32::from_str_radix(digits, 16).is_ok_and(|code| (0xd800..0xe000).contains(&code))
        {
            return raw.get(at..at + 2 + digits.len());
        }
        at += 2;
    }
    None
}

/// The keys of a mapping that were met: a few are compared one by one, many by their hashes.
enum SeenKeys<'k, 't> {
    Few(&'k mut Vec<KeyIdentity<'t>>),
    Many(HashSet<KeyIdentity<'t>>),
}

impl<'k, 't> SeenKeys<'k, 't> {
    fn new(count: usize, few: &'k mut Vec<KeyIdentity<'t>>) -> Self {
        few.clear();
        if count <= 8 { Self::Few(few) } else { Self::Many(HashSet::with_capacity(count)) }
    }

    /// Returns `true` if the key was met before; from now on it was.
    fn contains_or_insert(&mut self, key: KeyIdentity<'t>) -> bool {
        match self {
            Self::Few(keys) => {
                let known = keys.contains(&key);
                keys.push(key);
                known
            }
            Self::Many(keys) => !keys.insert(key),
        }
    }
}
