//! What is wrong with a tree but does not stop anybody from reading it.

use std::collections::HashSet;

use super::build::{KIND, MAPPING, SCALAR};
use super::children::key_of;
use super::node::Node;
use super::{Scalar, Tree};
use crate::span::Span;

/// What a [`Warning`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// `%YAML 1.1` is missing, or names another version.
    Version,
    /// The text begins with a byte order mark.
    ByteOrderMark,
    /// `---` or `...` is missing.
    Marker,
    /// A key occurs twice in a mapping.
    DuplicateKey,
    /// A key is neither text nor integer nor truth value (standard 1.6).
    KeyType,
    /// An integer does not fit in 64 bits with sign (standard 1.6).
    BigInteger,
}

/// One thing that a strict reader would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What it is about.
    pub rule: Rule,
    /// What, in words.
    pub message: String,
    /// Where in the tree's text.
    pub span: Span,
    /// Line, from 1, within the file.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (at line {}, column {})", self.message, self.line, self.column)
    }
}

impl Tree {
    /// What a strict reader would refuse: duplicate keys, a missing or unexpected `%YAML`, missing markers,
    /// keys and integers outside the YAML subset of ASDF 1.6.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut found = Vec::new();
        match self.yaml_version() {
            None => found.push(self.warning(Rule::Version, "the %YAML 1.1 directive is missing", Span::new(0, 0))),
            Some("1.1") => {}
            Some(other) => {
                found.push(self.warning(Rule::Version, format!("the tree is YAML {other}, expected 1.1"), Span::new(0, 0)));
            }
        }
        if self.text.starts_with('\u{feff}') {
            found.push(self.warning(Rule::ByteOrderMark, "the tree begins with a byte order mark", Span::new(0, 3)));
        }
        if !self.begins {
            found.push(self.warning(Rule::Marker, "the document marker --- is missing", Span::new(0, 0)));
        }
        for (at, record) in self.records.iter().enumerate() {
            let node = Node::new(self, at as u32);
            match record.meta & KIND {
                MAPPING => self.keys_of(node, &mut found),
                // Shorter ones fit.
                SCALAR if record.end - record.start > 18 && matches!(node.scalar(), Scalar::BigInt(_)) => {
                    let message = format!("the integer {} does not fit in 64 bits", node.raw());
                    found.push(self.warning(Rule::BigInteger, message, node.span()));
                }
                _ => {}
            }
        }
        if !self.ends {
            let end = Span::of(self.text.len(), self.text.len());
            found.push(self.warning(Rule::Marker, "the end marker ... is missing", end));
        }
        found
    }

    fn keys_of(&self, mapping: Node<'_>, found: &mut Vec<Warning>) {
        let mut seen = HashSet::with_capacity(if mapping.len() > 1 { mapping.len() } else { 0 });
        for (key, _) in mapping.entries() {
            if key.is_merge() {
                continue;
            }
            if !key.is_scalar() || !matches!(key.scalar(), Scalar::Str(_) | Scalar::Int(_) | Scalar::BigInt(_) | Scalar::Bool(_))
            {
                let message = format!("the key {} is neither text nor integer nor truth value", key.raw());
                found.push(self.warning(Rule::KeyType, message, key.span()));
            }
            if mapping.len() > 1 && !seen.insert(key_of(key)) {
                let message = format!("duplicate key {}; the last one counts", key.raw());
                found.push(self.warning(Rule::DuplicateKey, message, key.span()));
            }
        }
    }

    fn warning(&self, rule: Rule, message: impl Into<String>, span: Span) -> Warning {
        let (line, column) = self.line_column(span.start as usize);
        Warning { rule, message: message.into(), span, line, column }
    }
}
