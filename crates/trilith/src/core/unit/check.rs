//! The units of a tree.

use super::{Unit, UnitTable};
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, Tree};

/// The code of a unit that is used before it is defined.
pub(crate) const ORDER_CODE: &str = "unit-order";
/// The code of anything else about a unit.
pub(super) const SYNTAX_CODE: &str = "unit-syntax";

/// Looks at every `unit/unit` of a tree, and at `unit/defunit` in the order in which they are.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the tree is too large.
pub(crate) fn check_units(tree: &Tree, limits: &Limits) -> Result<Vec<Diagnostic>> {
    let mut units = UnitTable::with_standard_units();
    let mut found = Vec::new();
    if !tree.tags().any(|tag| unit_tag(tag).is_some()) {
        return Ok(found);
    }
    // All defined names distinguish a unit that is used before its definition from an unknown one.
    let mut later = std::collections::BTreeMap::new();
    let mut walk = tree.root().walk(limits);
    while let Some(visit) = walk.try_next()? {
        if visit.node.tag().and_then(unit_tag) == Some("defunit")
            && let Some(name) = visit.node.get("name")
        {
            later.entry(name.text().into_owned()).or_insert(name.line_column().0);
        }
    }
    let mut walk = tree.root().walk(limits);
    while let Some(visit) = walk.try_next()? {
        let node = visit.node;
        let Some(name) = node.tag().and_then(unit_tag) else { continue };
        let mut add = |at: Node<'_>, (message, hint, is_early): UnitProblem| {
            let code = if is_early { ORDER_CODE } else { SYNTAX_CODE };
            let place = tree.line_column(at.span().start as usize);
            let path = walk.path().to_string();
            let one = Diagnostic::new(Severity::Warning, message).code(code).at_path(path).at_span(at.span()).at_text(place);
            found.push(one.opt_hint(hint));
        };
        match name {
            "unit" if node.is_scalar() => {
                unit_problem(&units, &later, &node.text()).into_iter().for_each(|odd| add(node, odd));
            }
            "defunit" => {
                let unit = node.get("unit").filter(|unit| !unit.is_null()).map(|unit| Unit::parse(&unit.text())).transpose();
                let defined =
                    unit.and_then(|unit| units.define_unit(&node.get("name").map_or("".into(), Node::text), unit.as_ref()));
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

/// The text for an unknown unit (VOUnit 1.0); the empty text is that of a pure number.
const UNKNOWN_TEXT: &str = "unknown";

/// Message, hint, and whether it is defined later.
type UnitProblem = (String, Option<String>, bool);

fn unit_problem(units: &UnitTable, later: &std::collections::BTreeMap<String, u32>, text: &str) -> Option<UnitProblem> {
    if text.trim().eq_ignore_ascii_case(UNKNOWN_TEXT) {
        return None;
    }
    let unit = match Unit::parse(text) {
        Ok(unit) => unit,
        Err(error) => return Some((error.message().to_owned(), error.advice(), false)),
    };
    // With several slashes it is ambiguous which factors each of them divides.
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
    let unknown = units.find_unknown_names(&unit);
    if let Some((name, line)) = unknown.iter().find_map(|name| later.get_key_value(*name)) {
        let hint = "a unit must be defined before it is used: move the definition up".to_owned();
        return Some((format!("the unit {name} is used before it is defined, at line {line}"), Some(hint), true));
    }
    if let Some(first) = unknown.first() {
        let hint = units.suggest_name(first).map(|near| format!("did you mean {near}?"));
        return Some((format!("the unit {} is not one of VOUnit", unknown.join(", ")), hint, false));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_before_definition_is_reported() {
        let text = "%TAG ! tag:stsci.edu:asdf/\n---\n- !unit/unit-1.0.0 cubit\n- !unit/defunit-1.0.0 {name: cubit, unit: null}\n\
                    - !unit/unit-1.0.0 cubit\n";
        let found = check_units(&Tree::parse(text, &Limits::default()).unwrap(), &Limits::default()).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path.as_deref(), Some("/0"));
    }
}
