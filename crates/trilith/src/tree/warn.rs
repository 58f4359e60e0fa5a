//! What is wrong with a tree but does not stop anybody from reading it.

use std::collections::HashSet;

use super::Tree;
use super::build::{KIND, MAPPING};
use super::children::key_of;
use super::node::Node;
use crate::span::Span;

/// One thing that a strict reader would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
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
    /// What a strict reader would refuse: duplicate keys, a missing or unexpected `%YAML`, missing markers.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut found = Vec::new();
        match self.yaml_version() {
            None => found.push(self.warning("the %YAML 1.1 directive is missing", Span::new(0, 0))),
            Some("1.1") => {}
            Some(other) => found.push(self.warning(format!("the tree is YAML {other}, expected 1.1"), Span::new(0, 0))),
        }
        if self.text.starts_with('\u{feff}') {
            found.push(self.warning("the tree begins with a byte order mark", Span::new(0, 3)));
        }
        if !self.begins {
            found.push(self.warning("the document marker --- is missing", Span::new(0, 0)));
        }
        for (at, record) in self.records.iter().enumerate() {
            if record.meta & KIND == MAPPING && record.count > 2 {
                self.duplicates(Node::new(self, at as u32), &mut found);
            }
        }
        if !self.ends {
            let end = Span::of(self.text.len(), self.text.len());
            found.push(self.warning("the end marker ... is missing", end));
        }
        found
    }

    fn duplicates(&self, mapping: Node<'_>, found: &mut Vec<Warning>) {
        let mut seen = HashSet::with_capacity(mapping.len());
        for (key, _) in mapping.entries() {
            if !key.is_merge() && !seen.insert(key_of(key)) {
                found.push(self.warning(format!("duplicate key {}; the last one counts", key.raw()), key.span()));
            }
        }
    }

    fn warning(&self, message: impl Into<String>, span: Span) -> Warning {
        let (line, column) = self.line_column(span.start as usize);
        Warning { message: message.into(), span, line, column }
    }
}
