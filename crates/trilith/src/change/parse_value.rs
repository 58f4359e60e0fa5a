//! Values that people type: the text of a command line as a value of the tree.
//!
//! A tree is YAML 1.1, of which few people know that `12:30:00` is a number, `010` is 8 and `NO` is a boolean. JSON and
//! YAML 1.2 read such a text as a string or as another number. So a text that only YAML 1.1 reads in a surprising way is
//! refused, and numbers are those of JSON. A card of a FITS header takes the syntax of FITS (FITS Standard 4.0, section 4.2).

use super::Change;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tree::{CardPlace, Node, Tree, TreePath, TreeRule, Value, ValueData, YamlScalarStyle};
use crate::yaml::Scalar;

/// The syntax of a typed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ValueSyntax {
    /// FITS for a card. Otherwise YAML of which versions 1.1 and 1.2 agree, with the numbers of JSON.
    #[default]
    Checked,
    /// YAML 1.1.
    Yaml,
    /// The text itself, as a string.
    String,
}

impl Change<'_> {
    /// Parses a value from the command line, for a place in the tree.
    ///
    /// ```
    /// use trilith::ValueSyntax;
    /// use trilith::{TreePath, Value};
    /// let file = trilith::OpenOptions::new().open_bytes(b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: 1}\n...\n".to_vec())?;
    /// let (mut change, path) = (file.edit()?, TreePath::parse("/a")?);
    /// assert_eq!(change.parse_value(&path, "1.5e5", ValueSyntax::Checked)?, Value::from(150000.0));
    /// assert!(change.parse_value(&path, "12:30:00", ValueSyntax::Checked).is_err());
    /// assert_eq!(change.parse_value(&path, "12:30:00", ValueSyntax::String)?, Value::from("12:30:00"));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `InvalidInput` if only YAML 1.1 reads the text as something else, with the quoted form to use, and `Malformed` if
    /// the text is not YAML, and as [`Change::tree`].
    pub fn parse_value(&mut self, path: &TreePath, text: &str, syntax: ValueSyntax) -> Result<Value> {
        let file = self.file;
        let (tree, limits) = (self.tree()?, file.limits());
        match (syntax, tree.card_place(path)) {
            (ValueSyntax::String, _) => Ok(Value::from(text)),
            (ValueSyntax::Yaml, _) => {
                let parsed = parse_whole_value(tree, text, limits)?;
                check_content(&parsed)?;
                parsed.root().to_value(limits)
            }
            (ValueSyntax::Checked, None) => parse_unambiguous_value(tree, text, limits),
            (ValueSyntax::Checked, Some(place)) => parse_card_value(tree, text, place, limits),
        }
    }
}

/// The tree of a value, all of which is in it: the text has no marks of documents.
fn parse_whole_value(under: &Tree, text: &str, limits: &Limits) -> Result<Tree> {
    let is_mark = |line: &str| ["...", "---"].iter().any(|mark| line.split_whitespace().next() == Some(mark));
    if text.lines().any(|line| line.starts_with(['.', '-']) && is_mark(line)) {
        let message = format!("cannot take {text} as a value: YAML reads ... and --- as marks between documents; quote it twice");
        return Err(Error::invalid_input(format!("{message}, as '\"{}\"', for the string", text.trim())));
    }
    under.parse_under(text, limits)
}

/// A value of which YAML 1.1 and 1.2 agree.
fn parse_unambiguous_value(under: &Tree, text: &str, limits: &Limits) -> Result<Value> {
    if text.trim() == "-" {
        return Err(not_accepted(text, "YAML reads it as a list of one null", text.trim()));
    }
    let tree = parse_whole_value(under, text, limits)?;
    let root = tree.root();
    if root.is_null() && root.full_span().is_empty() && !text.trim().is_empty() && !text.trim_start().starts_with('#') {
        return Err(not_accepted(text, "YAML reads it as the end of an empty document", text.trim()));
    }
    let start = tree.text().len() - text.len();
    let mut scalars = Vec::new();
    let mut walk = tree.root().walk(limits).without_merge();
    while let Some(visit) = walk.try_next()? {
        for node in visit.key.into_iter().chain([visit.node]).filter(|node| node.is_scalar()) {
            check_scalar(node)?;
            scalars.push(node.span());
        }
    }
    check_content(&tree)?;
    for (at, _) in text.match_indices('#') {
        let is_after_space = text.get(..at).is_none_or(|before| before.is_empty() || before.ends_with(char::is_whitespace));
        let place = (start + at) as u32;
        if is_after_space && !scalars.iter().any(|span| (span.start..span.end).contains(&place)) {
            return Err(not_accepted(text, "YAML reads the text after # as a comment", text));
        }
    }
    Ok(with_numbers(tree.root().to_value(limits)?))
}

/// Refuses a typed value that other readers of YAML 1.1 refuse, or of which a part would be lost.
fn check_content(tree: &Tree) -> Result<()> {
    let rules = [TreeRule::DuplicateKey, TreeRule::TagContent, TreeRule::SurrogateEscape].map(TreeRule::name);
    match tree.warnings().into_iter().find(|warning| rules.contains(&warning.code)) {
        // No option of the caller makes such a value one that ASDF may have, so the error has no hint.
        Some(warning) => Err(Error::invalid_input(format!("cannot take this value: {}", warning.message))),
        None => Ok(()),
    }
}

/// Refuses a scalar without quotes that only YAML 1.1 reads as something else than a string, or as another number.
fn check_scalar(node: Node<'_>) -> Result<()> {
    let raw = node.source_text();
    if node.style() != Some(YamlScalarStyle::Plain) || node.tag().is_some() || raw == "<<" {
        return Ok(());
    }
    if node.tag_problem().is_some() {
        let reason = "YAML reads it as a date or a time, and there is none like it";
        return Err(Error::invalid_input(format!(
            "cannot take {raw} as a value: {reason}; write '\"{raw}\"', with both quotes, for the string"
        )));
    }
    let digits = raw.trim_start_matches(['+', '-']);
    let reads = match node.scalar() {
        Scalar::Bool(value) if !matches!(raw.to_ascii_lowercase().as_str(), "true" | "false") => format!("the boolean {value}"),
        Scalar::Int(_) | Scalar::BigInt(_) | Scalar::Float(_) if raw.contains(':') => {
            format!("{}, a number in base 60", node.scalar().into_text())
        }
        Scalar::Int(_) | Scalar::BigInt(_) | Scalar::Float(_) if raw.contains('_') => node.scalar().into_text().into_owned(),
        Scalar::Int(_) | Scalar::BigInt(_) if digits.starts_with("0b") => {
            format!("{}, a binary number", node.scalar().into_text())
        }
        Scalar::Int(_) | Scalar::BigInt(_) if digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0x") => {
            format!("{}, an octal number", node.scalar().into_text())
        }
        _ => return Ok(()),
    };
    Err(not_accepted(raw, &format!("YAML 1.1 alone reads it as {reads}"), raw))
}

#[cold]
fn not_accepted(text: &str, why: &str, meant: &str) -> Error {
    let quoted = format!("\"{}\"", meant.replace('\\', "\\\\").replace('"', "\\\""));
    Error::invalid_input(format!("cannot take {text} as a value: {why}"))
        .hint(format!("write '{quoted}', with both quotes, for the string"))
}

/// The value with numbers that JSON has and YAML 1.1 has not, such as `1.5e5`. As deep as [`Node::to_value`] goes.
fn with_numbers(mut value: Value) -> Value {
    match &mut value.data {
        ValueData::Str(text) if value.style.is_none() && value.tag.is_none() => {
            if let Some(number) = json_float(text) {
                value.data = ValueData::Float(number);
            }
        }
        _ => value.map_items(with_numbers),
    }
    value
}

/// The number of a text that is one of JSON with an exponent (RFC 8259, section 6).
fn json_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mantissa = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let is_whole = is_digits(whole) && (whole == "0" || !whole.starts_with('0'));
    let is_number = is_whole && is_digits(fraction) && is_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    if is_number { text.parse().ok().filter(|number: &f64| number.is_finite()) } else { None }
}

/// A value of a card, or a list with its comment.
fn parse_card_value(under: &Tree, text: &str, place: CardPlace, limits: &Limits) -> Result<Value> {
    let value_at = match place {
        CardPlace::Text => return Ok(parse_quoted_string(under, text, limits)?.unwrap_or_else(|| Value::from(text))),
        CardPlace::Value { list } => list,
    };
    let typed = text.trim();
    if let Some(at) = value_at.filter(|_| typed.starts_with('[') && typed.ends_with(']')) {
        let tree = under.parse_under(text, limits)?;
        let items = tree.root().items().enumerate().map(|(n, item)| match item.style() {
            Some(YamlScalarStyle::Plain) if n == at && item.tag().is_none() => Ok(crate::fits::typed_value(item.source_text())),
            Some(YamlScalarStyle::Plain) if item.tag().is_none() => Ok(Value::from(item.source_text())),
            _ => item.to_value(limits),
        });
        return Ok(Value::seq(items.collect::<Result<Vec<_>>>()?).flow());
    }
    Ok(parse_quoted_string(under, text, limits)?.unwrap_or_else(|| crate::fits::typed_value(text)))
}

/// The string in a text in double quotes, which are those of YAML; None for any other text.
fn parse_quoted_string(under: &Tree, text: &str, limits: &Limits) -> Result<Option<Value>> {
    let typed = text.trim();
    if typed.len() < 2 || !typed.starts_with('"') || !typed.ends_with('"') {
        return Ok(None);
    }
    Ok(under.parse_value(typed, limits).ok().filter(|value| value.as_str().is_some()))
}
