//! Nodes, values and rules in words.

use super::cast::Kind;
use super::compile::{Program, Rule};
use super::fast_check::Check;
use super::json_view::{Json, Number, Pairs, json};
use crate::tree::Node;

/// Lengths and numbers.
pub(super) fn measured<'t>(check: &mut Check<'_, 't>, node: Node<'t>, rule: &Rule) -> (String, String) {
    match rule {
        Rule::Length { least, most } => {
            (format!("the sequence has {}", count(node.len() as u64, "item")), range(*least, *most, "item"))
        }
        Rule::Properties { least, most } => {
            let n = Pairs::of(node, &check.survey.odd).count() as u64;
            (format!("the mapping has {}", count(n, "key")), range(*least, *most, "key"))
        }
        Rule::TextLength { least, most } => {
            let n = node.text().chars().count() as u64;
            (format!("{} has {}", shown(node), count(n, "character")), range(*least, *most, "character"))
        }
        Rule::Pattern(pattern) => {
            (format!("{} does not match", shown(node)), format!("the pattern {}", cut_text(pattern.source(), 60)))
        }
        Rule::Minimum(limit, true) => (format!("{} is too small", shown(node)), format!("more than {}", number(*limit))),
        Rule::Minimum(limit, false) => (format!("{} is too small", shown(node)), format!("at least {}", number(*limit))),
        Rule::Maximum(limit, true) => (format!("{} is too large", shown(node)), format!("less than {}", number(*limit))),
        Rule::Maximum(limit, false) => (format!("{} is too large", shown(node)), format!("at most {}", number(*limit))),
        Rule::MultipleOf(of) => (format!("{} is not a multiple", shown(node)), format!("a multiple of {}", number(*of))),
        Rule::Unique => {
            let (a, b) = check.duplicate(node).unwrap_or((0, 0));
            (format!("items {a} and {b} are the same"), "items that all differ".into())
        }
        _ => (format!("{} does not fit", shown(node)), String::new()),
    }
}

fn number(number: Number) -> String {
    match number {
        Number::Int(value) => value.to_string(),
        Number::Float(value) => format!("{value:?}"),
    }
}

fn count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

pub(super) fn range(least: u64, most: u64, what: &str) -> String {
    match (least, most) {
        (a, b) if a == b => format!("exactly {}", count(a, what)),
        (a, u64::MAX) => format!("at least {}", count(a, what)),
        (0, b) => format!("at most {}", count(b, what)),
        (a, b) => format!("{a} to {}", count(b, what)),
    }
}

pub(super) fn types(bits: u8) -> String {
    let all = [
        (Json::Object as u8, "a mapping"),
        (Json::Array as u8, "a sequence"),
        (Json::String as u8, "text"),
        (Json::Number as u8, "a number"),
        (Json::Integer as u8, "an integer"),
        (Json::Boolean as u8, "a boolean"),
        (Json::Null as u8, "null"),
    ];
    let has_number = bits & Json::Number as u8 != 0;
    let words: Vec<_> = all
        .iter()
        .filter(|(bit, _)| bits & bit != 0 && !(has_number && *bit == Json::Integer as u8))
        .map(|(_, words)| *words)
        .collect();
    words.join(" or ")
}

/// Suggests a spelling that gives a scalar its intended type.
pub(super) fn type_hint(node: Node<'_>, bits: u8) -> Option<String> {
    if node.is_mapping() && bits & Json::String as u8 != 0 && node.tag().is_none() {
        // A colon and a blank within text that was meant to be one.
        let mut entries = node.entries();
        let (Some((key, value)), None) = (entries.next(), entries.next()) else { return None };
        let is_one_line = value.is_scalar() && key.is_scalar() && !node.raw().trim_end().contains('\n');
        let reads = "YAML reads a colon before a blank as the end of a key: for text write";
        return is_one_line.then(|| format!("{reads} '{}'", cut_text(node.raw().trim(), 60)));
    }
    if !node.is_scalar() || node.tag().is_some() {
        return None;
    }
    let text = node.text();
    match json(node) {
        Json::String if bits & Json::Number as u8 != 0 => {
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
        Json::Integer | Json::Number | Json::Boolean | Json::Null | Json::DateTime | Json::Other
            if bits & Json::String as u8 != 0 && !text.is_empty() =>
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
pub(super) fn listed<'w>(before: &str, names: impl Iterator<Item = &'w str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        return String::new();
    }
    const SHOWN: usize = 16;
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    format!("{before}{}{more}", names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", "))
}

/// A node as it is named in a message.
pub(super) fn shown(node: Node<'_>) -> String {
    match json(node) {
        Json::Object => "the mapping".into(),
        Json::Array => "the sequence".into(),
        Json::String => quoted(&cut_text(&node.text(), 40)),
        Json::Null if node.raw().is_empty() => "nothing".into(),
        _ => cut(node),
    }
}

pub(super) fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// A node's text on one line, cut if it gets long.
pub(super) fn cut(node: Node<'_>) -> String {
    let flat: Vec<&str> = node.raw().split_whitespace().take(40).collect();
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
pub(super) fn in_words(program: &Program, rule: &Rule) -> Option<String> {
    Some(match rule {
        Rule::Type { bits, .. } => types(*bits),
        Rule::Tag(pattern) => format!("tag {}", pattern.as_str()),
        Rule::Words(words) => listed("one of ", words.iter().map(|word| &**word)),
        Rule::Enum(place) => {
            let values: Vec<String> = program.node(*place).map_or(Vec::new(), |v| v.items().map(cut).collect());
            listed("one of ", values.iter().map(String::as_str))
        }
        Rule::Required(keys) => {
            listed(if keys.len() == 1 { "with the key " } else { "with the keys " }, keys.iter().map(|key| &**key))
        }
        Rule::Length { least, most } => range(*least, *most, "item"),
        Rule::TextLength { least, most } => range(*least, *most, "character"),
        Rule::Dimensions { least, most } => range(*least, *most, "dimension"),
        Rule::Pattern(pattern) => format!("matching {}", cut_text(pattern.source(), 60)),
        Rule::Minimum(limit, exclusive) => format!("{} {}", if *exclusive { "more than" } else { "at least" }, number(*limit)),
        Rule::Maximum(limit, exclusive) => format!("{} {}", if *exclusive { "less than" } else { "at most" }, number(*limit)),
        Rule::MultipleOf(of) => format!("a multiple of {}", number(*of)),
        Rule::Datatype(wanted) => format!("datatype {}", wanted.kind.as_ref().map_or(String::new(), Kind::words)),
        Rule::Unique => "items that all differ".into(),
        _ => return None,
    })
}
