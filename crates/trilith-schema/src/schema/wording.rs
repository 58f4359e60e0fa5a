//! Nodes, values and rules in words.

use super::cast::CastKind;
use super::compile::{CompiledSchemas, Rule};
use super::fast_check::FastChecker;
use super::json_view::{InstanceNumber, JsonType, ObjectPairs, json_type_of_node};
use crate::tree::Node;

/// Lengths and numbers.
pub(super) fn describe_value_mismatch<'t>(check: &mut FastChecker<'_, 't>, node: Node<'t>, rule: &Rule) -> (String, String) {
    match rule {
        Rule::Length { min: least, max: most } => {
            (format!("the sequence has {}", display_count(node.len() as u64, "item")), display_range(*least, *most, "item"))
        }
        Rule::Properties { min: least, max: most } => {
            let n = ObjectPairs::from_node(node, &check.survey.special_mappings).count() as u64;
            (format!("the mapping has {}", display_count(n, "key")), display_range(*least, *most, "key"))
        }
        Rule::TextLength { min: least, max: most } => {
            let n = node.text().chars().count() as u64;
            (format!("{} has {}", display_node(node), display_count(n, "character")), display_range(*least, *most, "character"))
        }
        Rule::Pattern(pattern) => {
            (format!("{} does not match", display_node(node)), format!("the pattern {}", cut_text(pattern.source(), 60)))
        }
        Rule::Minimum(limit, true) => {
            (format!("{} is too small", display_node(node)), format!("more than {}", display_number(*limit)))
        }
        Rule::Minimum(limit, false) => {
            (format!("{} is too small", display_node(node)), format!("at least {}", display_number(*limit)))
        }
        Rule::Maximum(limit, true) => {
            (format!("{} is too large", display_node(node)), format!("less than {}", display_number(*limit)))
        }
        Rule::Maximum(limit, false) => {
            (format!("{} is too large", display_node(node)), format!("at most {}", display_number(*limit)))
        }
        Rule::MultipleOf(of) => {
            (format!("{} is not a multiple", display_node(node)), format!("a multiple of {}", display_number(*of)))
        }
        Rule::Unique => {
            let (a, b) = check.find_duplicate_items(node).unwrap_or((0, 0));
            (format!("items {a} and {b} are the same"), "items that all differ".into())
        }
        _ => (format!("{} does not fit", display_node(node)), String::new()),
    }
}

fn display_number(number: InstanceNumber) -> String {
    match number {
        InstanceNumber::Int(value) => value.to_string(),
        InstanceNumber::Float(value) => format!("{value:?}"),
    }
}

fn display_count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

pub(super) fn display_range(least: u64, most: u64, what: &str) -> String {
    match (least, most) {
        (a, b) if a == b => format!("exactly {}", display_count(a, what)),
        (a, u64::MAX) => format!("at least {}", display_count(a, what)),
        (0, b) => format!("at most {}", display_count(b, what)),
        (a, b) => format!("{a} to {}", display_count(b, what)),
    }
}

pub(super) fn display_types(bits: u8) -> String {
    let all = [
        (JsonType::Object as u8, "a mapping"),
        (JsonType::Array as u8, "a sequence"),
        (JsonType::String as u8, "text"),
        (JsonType::Number as u8, "a number"),
        (JsonType::Integer as u8, "an integer"),
        (JsonType::Boolean as u8, "a boolean"),
        (JsonType::Null as u8, "null"),
    ];
    let has_number = bits & JsonType::Number as u8 != 0;
    let words: Vec<_> = all
        .iter()
        .filter(|(bit, _)| bits & bit != 0 && !(has_number && *bit == JsonType::Integer as u8))
        .map(|(_, words)| *words)
        .collect();
    words.join(" or ")
}

/// Suggests a spelling that gives a scalar its intended type.
pub(super) fn type_hint(node: Node<'_>, bits: u8) -> Option<String> {
    if node.is_mapping() && bits & JsonType::String as u8 != 0 && node.tag().is_none() {
        // A colon and a blank within text that was meant to be one.
        let mut entries = node.entries();
        let (Some((key, value)), None) = (entries.next(), entries.next()) else { return None };
        let is_one_line = value.is_scalar() && key.is_scalar() && !node.source_text().trim_end().contains('\n');
        let reads = "YAML reads a colon before a blank as the end of a key: for text write";
        return is_one_line.then(|| format!("{reads} '{}'", cut_text(node.source_text().trim(), 60)));
    }
    if !node.is_scalar() || node.tag().is_some() {
        return None;
    }
    let text = node.text();
    match json_type_of_node(node) {
        JsonType::String if bits & JsonType::Number as u8 != 0 => {
            let value: f64 = text.parse().ok()?;
            if !value.is_finite() {
                return None;
            }
            let plain = format!("{value:?}");
            let plain = match plain.split_once('e') {
                Some((digits, power)) => {
                    let point = if digits.contains('.') { "" } else { ".0" };
                    let sign = if power.starts_with('-') { "" } else { "+" };
                    format!("{digits}{point}e{sign}{power}")
                }
                None => plain,
            };
            Some(format!("YAML 1.1 reads this as text: write {plain}"))
        }
        JsonType::Integer | JsonType::Number | JsonType::Boolean | JsonType::Null | JsonType::DateTime | JsonType::Other
            if bits & JsonType::String as u8 != 0 && !text.is_empty() =>
        {
            Some(format!("for text write '{}'", cut_text(&text, 40)))
        }
        _ => None,
    }
}

pub(super) fn tag_hint(found: &str, wanted: &str) -> Option<String> {
    let (a, old) = super::uri::name_and_version(found);
    let (b, new) = super::uri::name_and_version(wanted);
    (a == b && old != new).then(|| format!("the version differs: {} and {}", old.unwrap_or("none"), new.unwrap_or("none")))
}

/// A list of names, cut if it gets long.
pub(super) fn name_list<'w>(before: &str, names: impl Iterator<Item = &'w str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        return String::new();
    }
    const MAX_SHOWN: usize = 16;
    let more = if names.len() > MAX_SHOWN { format!(" and {} more", names.len() - MAX_SHOWN) } else { String::new() };
    format!("{before}{}{more}", names.iter().take(MAX_SHOWN).copied().collect::<Vec<_>>().join(", "))
}

/// A node as it is named in a message.
pub(super) fn display_node(node: Node<'_>) -> String {
    match json_type_of_node(node) {
        JsonType::Object => "the mapping".into(),
        JsonType::Array => "the sequence".into(),
        JsonType::String => quote_text(&cut_text(&node.text(), 40)),
        JsonType::Null if node.source_text().is_empty() => "nothing".into(),
        _ => truncate_node(node),
    }
}

pub(super) fn quote_text(text: &str) -> String {
    format!("{text:?}")
}

/// A node's text on one line, cut if it gets long.
pub(super) fn truncate_node(node: Node<'_>) -> String {
    let flat: Vec<&str> = node.source_text().split_whitespace().take(40).collect();
    cut_text(&flat.join(" "), 60)
}

fn cut_text(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{head}…")
}

/// Returns a rule in words; None for one that only refers to another.
pub(super) fn rule_text(program: &CompiledSchemas, rule: &Rule) -> Option<String> {
    Some(match rule {
        Rule::Type { bits, .. } => display_types(*bits),
        Rule::Tag(pattern) => format!("tag {}", pattern.as_str()),
        Rule::EnumStrings(words) => name_list("one of ", words.iter().map(|word| &**word)),
        Rule::Enum(place) => {
            let values: Vec<String> = program.find_node(*place).map_or(Vec::new(), |v| v.items().map(truncate_node).collect());
            name_list("one of ", values.iter().map(String::as_str))
        }
        Rule::Required(keys) => {
            name_list(if keys.len() == 1 { "with the key " } else { "with the keys " }, keys.iter().map(|key| &**key))
        }
        Rule::Length { min: least, max: most } => display_range(*least, *most, "item"),
        Rule::TextLength { min: least, max: most } => display_range(*least, *most, "character"),
        Rule::Dimensions { min: least, max: most } => display_range(*least, *most, "dimension"),
        Rule::Pattern(pattern) => format!("matching {}", cut_text(pattern.source(), 60)),
        Rule::Minimum(limit, exclusive) => {
            format!("{} {}", if *exclusive { "more than" } else { "at least" }, display_number(*limit))
        }
        Rule::Maximum(limit, exclusive) => {
            format!("{} {}", if *exclusive { "less than" } else { "at most" }, display_number(*limit))
        }
        Rule::MultipleOf(of) => format!("a multiple of {}", display_number(*of)),
        Rule::Datatype(wanted) => format!("datatype {}", wanted.kind.as_ref().map_or(String::new(), CastKind::spec_name)),
        Rule::Unique => "items that all differ".into(),
        _ => return None,
    })
}
