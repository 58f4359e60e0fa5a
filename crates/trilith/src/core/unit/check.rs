//! The units of a tree.

use super::{Unit, Units};
use crate::error::Result;
use crate::limits::Limits;
use crate::span::Span;
use crate::tree::{Node, Tree};

/// Something odd about a unit in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// JSON Pointer of the node.
    pub path: String,
    /// Where in the tree's text.
    pub span: Span,
    /// What, in words.
    pub message: String,
    /// The spelling of VOUnit, or a name that may have been meant.
    pub hint: Option<String>,
    /// Whether a unit is used before it is defined.
    pub is_early: bool,
}

/// Looks at every `unit/unit` of a tree, and at `unit/defunit` in the order in which they stand.
///
/// ```
/// use trilith::{Limits, core::unit, tree::Tree};
/// let text = "%TAG ! tag:stsci.edu:asdf/\n---\n- !unit/unit-1.0.0 cubit\n- !unit/defunit-1.0.0 {name: cubit, unit: null}\n\
///             - !unit/unit-1.0.0 cubit\n";
/// let found = unit::check(&Tree::parse(text, &Limits::default())?, &Limits::default())?;
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].path, "/0");
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) where the tree is too large.
pub fn check(tree: &Tree, limits: &Limits) -> Result<Vec<Finding>> {
    let mut units = Units::standard();
    let mut found = Vec::new();
    if !tree.tags().any(|tag| unit_tag(tag).is_some()) {
        return Ok(found);
    }
    // The names that are defined anywhere, to tell what comes too early from what is not known at all.
    let mut later = std::collections::BTreeMap::new();
    let mut walk = tree.root().walk(limits);
    while let Some(visit) = walk.step()? {
        if visit.node.tag().and_then(unit_tag) == Some("defunit")
            && let Some(name) = visit.node.get("name")
        {
            later.entry(name.text().into_owned()).or_insert(name.line_column().0);
        }
    }
    let mut walk = tree.root().walk(limits);
    while let Some(visit) = walk.step()? {
        let node = visit.node;
        let Some(name) = node.tag().and_then(unit_tag) else { continue };
        let mut add = |at: Node<'_>, (message, hint, is_early): Odd| {
            found.push(Finding { path: walk.path().to_string(), span: at.span(), message, hint, is_early });
        };
        match name {
            "unit" if node.is_scalar() => {
                odd(&units, &later, &node.text()).into_iter().for_each(|odd| add(node, odd));
            }
            "defunit" => {
                let unit = node.get("unit").filter(|unit| !unit.is_null()).map(|unit| Unit::parse(&unit.text())).transpose();
                let defined = unit.and_then(|unit| units.define(&node.get("name").map_or("".into(), Node::text), unit.as_ref()));
                if let Err(error) = defined {
                    add(node, (error.message().to_owned(), None, false));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// `unit` or `defunit` of a tag of the standard, any version, or of FINF.
fn unit_tag(tag: &str) -> Option<&str> {
    if let Some(name) = tag.strip_prefix("tag:stsci.edu:finf/0.1.0/") {
        let name = name.strip_prefix("unit/").unwrap_or(name);
        return Some(name).filter(|name| matches!(*name, "unit" | "defunit"));
    }
    let name = tag.strip_prefix("tag:stsci.edu:asdf/")?.rsplit_once("unit/").map(|(_, name)| name)?;
    Some(name.split_once('-').map_or(name, |(name, _)| name))
}

/// What stands for a unit that nobody knows (VOUnit 1.0); the empty text is that of a pure number.
const UNKNOWN: &str = "unknown";

/// Message, hint, and whether it is defined later.
type Odd = (String, Option<String>, bool);

fn odd(units: &Units, later: &std::collections::BTreeMap<String, u32>, text: &str) -> Option<Odd> {
    if text.trim().eq_ignore_ascii_case(UNKNOWN) {
        return None;
    }
    let unit = match Unit::parse(text) {
        Ok(unit) => unit,
        Err(error) => return Some((error.message().to_owned(), error.advice(), false)),
    };
    // Which of several slashes holds for what is anybody's guess.
    let fractions = text
        .split('(')
        .filter(|part| {
            part.split(')')
                .next()
                .is_some_and(|power| power.contains('/') && power.chars().all(|c| c.is_ascii_digit() || "+-./ ".contains(c)))
        })
        .count();
    if text.matches('/').count() > fractions + 1 {
        return Some((format!("the unit {text:?} has more than one slash"), Some(format!("write {unit}")), false));
    }
    let unknown = units.check(&unit);
    if let Some((name, line)) = unknown.iter().find_map(|name| later.get_key_value(*name)) {
        let hint = "a unit must be defined before it is used: move the definition up".to_owned();
        return Some((format!("the unit {name} is used before it is defined, at line {line}"), Some(hint), true));
    }
    if let Some(first) = unknown.first() {
        let hint = units.nearest(first).map(|near| format!("did you mean {near}?"));
        return Some((format!("the unit {} is not one of VOUnit", unknown.join(", ")), hint, false));
    }
    None
}
