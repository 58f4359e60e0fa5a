//! Content that does not fit its tag.
//!
//! YAML 1.1, 3.3.3 "Valid Content": the content of a node satisfies the constraints of its tag. Reading is lenient: such text
//! stays text. Python asdf cannot open a file with most of it.

use super::node::{Node, NodeKind};
use super::{Scalar, Tree, Value, ValueData};
use crate::error::{Error, Result};
use crate::yaml::{SECONDARY_PREFIX, calendar_problem, scalar_tag_problem, shorten_text};

impl Node<'_> {
    /// Returns the reason why the content does not fit the tag, if that is one of YAML 1.1: the tag that is written, or that of
    /// a timestamp, which its text gives.
    ///
    /// ```
    /// use trilith_yaml::{Limits, tree::Tree};
    /// let tree = Tree::parse("[!!int 12, !!int abc, 2001-02-30, !!map [1]]", &Limits::default())?;
    /// let fits: Vec<bool> = tree.root().items().map(|item| item.tag_problem().is_none()).collect();
    /// assert_eq!(fits, [true, false, false, false]);
    /// # Ok::<(), trilith_yaml::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn tag_problem(self) -> Option<String> {
        let Some(tag) = self.tag() else {
            // Only the text of a date has a constraint beyond its form.
            return match (self.kind(), self.scalar()) {
                (NodeKind::Scalar, Scalar::Timestamp(text)) => {
                    calendar_problem(&text).map(|why| describe("timestamp", &text, &why))
                }
                _ => None,
            };
        };
        let name = tag.strip_prefix(SECONDARY_PREFIX)?;
        match (name, self.kind()) {
            ("seq" | "omap" | "pairs", NodeKind::Sequence) | ("map" | "set", NodeKind::Mapping) => {}
            ("seq" | "omap" | "pairs", _) => return Some(describe(name, self.source_text(), "it is not a sequence")),
            ("map" | "set", _) => return Some(describe(name, self.source_text(), "it is not a mapping")),
            (_, NodeKind::Scalar) => {
                let text = self.text();
                return scalar_tag_problem(name, &text).map(|why| describe(name, &text, &why));
            }
            (name, _) if is_scalar_tag(name) => return Some(describe(name, self.source_text(), "it is not a scalar")),
            _ => return None,
        }
        let is_single = |item: Node<'_>| item.is_mapping() && item.len() == 1;
        match name {
            "omap" | "pairs" if !self.items().all(is_single) => {
                Some(describe(name, self.source_text(), "its items are not mappings of one key"))
            }
            "set" if !self.entries().all(|(_, value)| value.is_null()) => {
                Some(describe(name, self.source_text(), "its keys have values"))
            }
            _ => None,
        }
    }
}

impl Tree {
    /// Checks that the content of each node fits its tag, so that any reader of YAML 1.1 can open the tree.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) at the first that does not fit.
    #[doc(hidden)]
    pub fn check_tags(&self) -> Result<()> {
        for index in 0..self.node_count() {
            let Some(node) = self.node_at(index).filter(|node| !node.is_alias()) else { continue };
            if let Some(problem) = node.tag_problem() {
                let (line, column) = node.line_column();
                return Err(not_written(&problem).at_text(line, column));
            }
        }
        Ok(())
    }
}

impl Value {
    /// Checks that the content of this value and of all in it fits its tag: see [`Node::tag_problem`].
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) naming the first that does not fit.
    #[doc(hidden)]
    pub fn check_tags(&self) -> Result<()> {
        let mut work = vec![self];
        while let Some(value) = work.pop() {
            if let Some(problem) = value_problem(value) {
                return Err(not_written(&problem));
            }
            match &value.data {
                ValueData::Seq(items) => work.extend(items),
                ValueData::Map(pairs) => work.extend(pairs.iter().flat_map(|(key, item)| [key, item])),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The reason why a value, without those in it, does not fit its tag.
fn value_problem(value: &Value) -> Option<String> {
    let Some(tag) = value.tag.as_deref() else {
        return match &value.data {
            ValueData::Plain(text) => match crate::yaml::resolve(text.as_str().into()) {
                Scalar::Timestamp(_) => calendar_problem(text).map(|why| describe("timestamp", text, &why)),
                _ => None,
            },
            _ => None,
        };
    };
    let name = tag.strip_prefix(SECONDARY_PREFIX)?;
    let text = match &value.data {
        ValueData::Alias(_) => return None,
        ValueData::Seq(items) => {
            let is_single = |item: &Value| item.entries().len() == 1;
            return match name {
                "omap" | "pairs" if !items.iter().all(is_single) => {
                    Some(describe(name, "[…]", "its items are not mappings of one key"))
                }
                "map" | "set" => Some(describe(name, "[…]", "it is not a mapping")),
                name if is_scalar_tag(name) => Some(describe(name, "[…]", "it is not a scalar")),
                _ => None,
            };
        }
        ValueData::Map(_) => {
            return match name {
                "seq" | "omap" | "pairs" => Some(describe(name, "{…}", "it is not a sequence")),
                name if is_scalar_tag(name) => Some(describe(name, "{…}", "it is not a scalar")),
                _ => None,
            };
        }
        ValueData::Null => String::new(),
        ValueData::Bool(value) => value.to_string(),
        ValueData::Int(value) => value.to_string(),
        ValueData::Float(value) => crate::yaml::float_text(*value),
        ValueData::BigInt(text) | ValueData::Str(text) | ValueData::Plain(text) => text.clone(),
    };
    match name {
        "seq" | "omap" | "pairs" => Some(describe(name, &text, "it is not a sequence")),
        "map" | "set" => Some(describe(name, &text, "it is not a mapping")),
        _ => scalar_tag_problem(name, &text).map(|why| describe(name, &text, &why)),
    }
}

fn is_scalar_tag(name: &str) -> bool {
    matches!(name, "null" | "bool" | "int" | "float" | "str" | "binary" | "timestamp")
}

#[cold]
fn describe(name: &str, content: &str, reason: &str) -> String {
    let content = shorten_text(content);
    format!("the content {content:?} does not fit the YAML tag !!{name}: {reason}")
}

#[cold]
fn not_written(problem: &str) -> Error {
    Error::invalid_input(format!("{problem}; without the tag it can be written as what it is"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    /// YAML 1.1, 3.3.3, and the types of YAML 1.1 (yaml.org/type). First tier.
    #[test]
    fn content_fits_explicit_tags() {
        let right = [
            "!!int 12",
            "!!int \"0x1F\"",
            "!!int 1_000",
            "!!int -190:20:30",
            "!!float 1",
            "!!float 1e5",
            "!!float .inf",
            "!!float 1:30.5",
            "!!bool YES",
            "!!null",
            "!!null ~",
            "!!timestamp 2000-02-29",
            "!!timestamp 2001-12-14t21:59:43.10-05:00",
            "!!binary aGVsbG8=",
            "!!binary \"aGVs bG8=\"",
            "!!binary \"\"",
            "!!str 12",
            "!!str",
            "!!seq [1]",
            "!!map {a: 1}",
            "!!set {a, b}",
            "!!omap [{a: 1}, {b: 2}]",
            "!!pairs [{a: 1}, {a: 2}]",
            "!x [1]",
            "!x abc",
            "2001-02-28",
            "2001-12-14 21:59:43.Z",
            "\"2001-02-30\"",
            "2001-2-30",
            "!!other x",
        ];
        let wrong = [
            "!!int abc",
            "!!int 12x",
            "!!int 1.5",
            "!!int yes",
            "!!int \"\"",
            "!!int 0b102",
            "!!int 08",
            "!!int [1]",
            "!!int {a: 1}",
            "!!float abc",
            "!!float \"\"",
            "!!float [1]",
            "!!float 0x1F",
            "!!bool maybe",
            "!!bool 1",
            "!!null abc",
            "!!null [1]",
            "!!timestamp xyz",
            "!!timestamp 2001-02-30",
            "2001-02-30",
            "2001-02-29",
            "1900-02-29",
            "2001-13-01",
            "2001-00-10",
            "2001-01-00",
            "0000-01-01",
            "2001-12-14T25:00:00Z",
            "2001-12-14T23:60:00Z",
            "2001-12-14T23:00:60Z",
            "2001-01-01T00:00:00+24:00",
            "! 2001-02-30",
            "!!binary aGVsbG8",
            "!!binary \"@@@\"",
            "!!binary a=aa",
            "!!str [1]",
            "!!seq {a: 1}",
            "!!seq 1",
            "!!map [1]",
            "!!map 1",
            "!!set [a]",
            "!!set {a: 1}",
            "!!omap {a: 1}",
            "!!omap [1]",
            "!!omap [{a: 1, b: 2}]",
            "!!pairs {a: 1}",
        ];
        for (texts, fits) in [(&right[..], true), (&wrong[..], false)] {
            for text in texts {
                let tree = Tree::parse(format!("k: {text}"), &Limits::default()).unwrap();
                let node = tree.node_at_pointer("/k").unwrap();
                assert_eq!(node.tag_problem().is_none(), fits, "{text}");
                assert_eq!(tree.check_tags().is_ok(), fits, "{text}");
                // A null value has no text, and every reader opens a set whose keys have values.
                if !matches!(*text, "!!null abc" | "!!set {a: 1}") {
                    assert_eq!(node.to_value(&Limits::default()).unwrap().check_tags().is_ok(), fits, "{text}");
                }
            }
        }
    }
}
