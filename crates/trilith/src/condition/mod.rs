//! Conditions on rows of a table and files of a set: comparisons of columns with values, joined by `and`, `or`, `not` and parentheses.
//!
//! ```text
//! either     = both {"or" both}
//! both       = one {"and" one}
//! one        = "not" one | "(" either ")" | operand ("==" | "!=" | "<" | "<=" | ">" | ">=") operand
//! operand    = column | number | "text" | true | false | null
//! ```

mod cell;

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU8};

pub use self::cell::{CellType, TableCell};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::suggest::offer;

/// Maximum nesting depth of a condition. Conditions that people write are less deep.
const MAX_DEPTH: usize = 100;
/// Number of names that a message lists.
const MAX_LISTED_NAMES: usize = 12;

/// A condition on the rows of a table.
#[derive(Debug, Clone)]
pub(crate) enum Condition {
    Compare { left: Operand, comparison: Comparison, right: Operand, types: Arc<ComparedTypes> },
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

#[derive(Debug, Clone)]
pub(crate) enum Operand {
    Column(usize),
    Value(TableCell),
}

/// The types of the values that a comparison has met, in all rows and files.
#[derive(Debug, Default)]
pub(crate) struct ComparedTypes {
    /// Bits of the types on the left in rows whose values do not compare.
    left: AtomicU8,
    /// Bits of the types on the right in these rows.
    right: AtomicU8,
    /// Not 0 if the values of any row compare.
    is_comparable: AtomicU8,
}

impl ComparedTypes {
    fn add_row(&self, left: &TableCell, right: &TableCell) {
        if left.kind() == CellType::Null || right.kind() == CellType::Null {
            return;
        }
        // Most rows are like the rows before them, and a store would make other threads wait.
        let add = |bits: &AtomicU8, bit: u8| {
            if bits.load(atomic::Ordering::Relaxed) & bit == 0 {
                bits.fetch_or(bit, atomic::Ordering::Relaxed);
            }
        };
        if left.kind().compares_with(right.kind()) {
            add(&self.is_comparable, 1);
        } else {
            add(&self.left, left.kind().type_bit());
            add(&self.right, right.kind().type_bit());
        }
    }

    /// Returns the types of both sides if rows had values and none of them compare.
    fn mismatch(&self) -> Option<[u8; 2]> {
        let [left, right, comparable] =
            [&self.left, &self.right, &self.is_comparable].map(|bits| bits.load(atomic::Ordering::Relaxed));
        (comparable == 0 && left != 0).then_some([left, right])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Condition {
    /// Reads a condition on values of these names; `what` is the word for such a value, as `column`.
    pub(crate) fn parse(text: &str, what: &'static str, names: &[String]) -> Result<Self> {
        let mut parser = ConditionParser { tokens: tokenize(text)?, position: 0, what, names, end: text.chars().count() };
        let filter = parser.or_expr(0)?;
        match parser.peek() {
            None => Ok(filter),
            Some(_) => Err(parser.expected_error("and, or, or the end")),
        }
    }

    /// Returns `true` if the condition refers to a column.
    pub(crate) fn uses_column(&self, column: usize) -> bool {
        match self {
            Self::Compare { left, right, .. } => {
                [left, right].iter().any(|side| matches!(side, Operand::Column(at) if *at == column))
            }
            Self::Not(inner) => inner.uses_column(column),
            Self::All(parts) | Self::Any(parts) => parts.iter().any(|part| part.uses_column(column)),
        }
    }

    /// Returns `true` if a row meets the condition. A comparison with null is false.
    pub(crate) fn matches(&self, row: &[TableCell]) -> bool {
        match self {
            Self::Compare { left, comparison: how, right, types } => {
                let (left, right) = (left.value_in(row), right.value_in(row));
                types.add_row(left, right);
                how.is_satisfied(left, right)
            }
            Self::Not(inner) => !inner.matches(row),
            // Each part sees each row, because it records the types.
            Self::All(parts) => parts.iter().filter(|part| !part.matches(row)).count() == 0,
            Self::Any(parts) => parts.iter().filter(|part| part.matches(row)).count() > 0,
        }
    }

    /// Refuses a comparison that held for no row because its sides had different types in every row.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with the names of the sides and their types.
    pub(crate) fn check_types(&self, names: &[String]) -> Result<()> {
        match self {
            // Values that do not compare are not equal: such a comparison holds.
            Self::Compare { comparison: Comparison::NotEqual, .. } => Ok(()),
            Self::Compare { left, right, types, .. } => match types.mismatch() {
                Some([left_types, right_types]) => {
                    let sides = [(left, left_types, right_types), (right, right_types, left_types)];
                    let [one, other] = sides.map(|(side, types, _)| side.describe(types, names));
                    let error = Error::invalid_input(format!("cannot compare {one} with {other}: no row can meet the condition"));
                    Err(match sides.into_iter().find_map(|(side, _, expected)| side.suggest_literal(expected)) {
                        Some(literal) => error.hint(format!("write {literal}")),
                        None => error.hint("compare values of one type"),
                    })
                }
                None => Ok(()),
            },
            Self::Not(inner) => inner.check_types(names),
            Self::All(parts) | Self::Any(parts) => parts.iter().try_for_each(|part| part.check_types(names)),
        }
    }
}

impl Operand {
    fn value_in<'r>(&'r self, row: &'r [TableCell]) -> &'r TableCell {
        match self {
            Self::Column(at) => row.get(*at).unwrap_or(&TableCell::Null),
            Self::Value(cell) => cell,
        }
    }

    /// Returns the operand for a message, with its types.
    fn describe(&self, types: u8, names: &[String]) -> String {
        let words: Vec<_> = CellType::ALL.iter().filter(|kind| types & kind.type_bit() != 0).map(|kind| kind.name()).collect();
        let text = match self {
            Self::Column(at) => names.get(*at).cloned().unwrap_or_default(),
            Self::Value(TableCell::Text(text)) => format!("{text:?}"),
            Self::Value(cell) => cell.text(),
        };
        format!("{text} ({})", words.join(" and "))
    }

    /// Returns a value in the spelling of one of these types, if it has one.
    fn suggest_literal(&self, types: u8) -> Option<String> {
        let is_number = types & (CellType::Int.type_bit() | CellType::Float.type_bit()) != 0;
        match self {
            Self::Value(TableCell::Text(text)) if is_number && text.parse::<f64>().is_ok() => {
                Some(format!("{text}, without quotes"))
            }
            Self::Value(cell @ (TableCell::Int(_) | TableCell::Float(_) | TableCell::Bool(_)))
                if types == CellType::Text.type_bit() =>
            {
                Some(format!("{:?}, with quotes", cell.text()))
            }
            _ => None,
        }
    }
}

impl Comparison {
    fn is_satisfied(self, left: &TableCell, right: &TableCell) -> bool {
        if *left == TableCell::Null || *right == TableCell::Null {
            return false;
        }
        match (self, left.compare(right)) {
            // Values that do not compare are not equal either.
            (Self::NotEqual, order) => order != Some(Ordering::Equal),
            (_, None) => false,
            (Self::Equal, Some(order)) => order.is_eq(),
            (Self::Less, Some(order)) => order.is_lt(),
            (Self::LessEqual, Some(order)) => order.is_le(),
            (Self::Greater, Some(order)) => order.is_gt(),
            (Self::GreaterEqual, Some(order)) => order.is_ge(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Open,
    Close,
    Compare(Comparison),
    Name(String),
    Value(TableCell),
}

/// The words of a condition, each with its column, counted from 1.
fn tokenize(text: &str) -> Result<Vec<(Token, usize)>> {
    let letters: Vec<char> = text.chars().collect();
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let start = at;
        let next = letters.get(at + 1).copied();
        at += 1;
        let word = match letter {
            _ if letter.is_whitespace() => continue,
            '(' => Token::Open,
            ')' => Token::Close,
            '=' | '!' | '<' | '>' => {
                let comparison = comparison_from_chars(letter, next).ok_or_else(|| {
                    syntax_error(start, &format!("{letter:?} is not a comparison")).hint("write ==, !=, <, <=, > or >=")
                })?;
                at += usize::from(next == Some('='));
                Token::Compare(comparison)
            }
            '"' | '\'' | '`' => {
                let (text, end) = parse_quoted_text(&letters, at, letter)
                    .ok_or_else(|| syntax_error(start, &format!("no {letter} ends this")))?;
                at = end;
                if letter == '`' { Token::Name(text) } else { Token::Value(TableCell::Text(text)) }
            }
            _ => {
                let end = letters.iter().skip(at).position(|letter| !is_word(*letter)).map_or(letters.len(), |n| at + n);
                at = end;
                let text: String = letters.get(start..end).unwrap_or_default().iter().collect();
                plain_token(text, start)?
            }
        };
        words.push((word, start + 1));
    }
    Ok(words)
}

fn is_word(letter: char) -> bool {
    !letter.is_whitespace() && !"()=!<>\"'`".contains(letter)
}

fn comparison_from_chars(letter: char, next: Option<char>) -> Option<Comparison> {
    Some(match (letter, next) {
        ('=', Some('=')) => Comparison::Equal,
        ('!', Some('=')) => Comparison::NotEqual,
        ('<', Some('=')) => Comparison::LessEqual,
        ('>', Some('=')) => Comparison::GreaterEqual,
        ('<', _) => Comparison::Less,
        ('>', _) => Comparison::Greater,
        _ => return None,
    })
}

/// Text up to a quote, and where it ends; a backslash takes the next letter literally.
fn parse_quoted_text(letters: &[char], mut at: usize, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    loop {
        match *letters.get(at)? {
            '\\' => {
                text.push(*letters.get(at + 1)?);
                at += 2;
            }
            letter if letter == quote => return Some((text, at + 1)),
            letter => {
                text.push(letter);
                at += 1;
            }
        }
    }
}

fn plain_token(text: String, start: usize) -> Result<Token> {
    let is_number = text.trim_start_matches(['-', '+', '.']).starts_with(|letter: char| letter.is_ascii_digit());
    Ok(match text.as_str() {
        "true" => Token::Value(TableCell::Bool(true)),
        "false" => Token::Value(TableCell::Bool(false)),
        "null" => Token::Value(TableCell::Null),
        _ if is_number => {
            let number = text.parse().map(TableCell::Int).ok().or_else(|| text.parse().map(TableCell::Float).ok());
            Token::Value(
                number.ok_or_else(|| syntax_error(start, &format!("{text:?} is not a number")).hint("put text in quotes"))?,
            )
        }
        _ => Token::Name(text),
    })
}

fn syntax_error(at: usize, message: &str) -> Error {
    Error::invalid_input(format!("in the condition: {message}")).at_text(1, u32::try_from(at + 1).unwrap_or(u32::MAX))
}

struct ConditionParser<'p> {
    tokens: Vec<(Token, usize)>,
    position: usize,
    /// The word for a value with a name.
    what: &'static str,
    names: &'p [String],
    /// Number of characters of the condition.
    end: usize,
}

impl ConditionParser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.position).map(|(word, _)| word)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(found)) if found == name)
    }

    fn column(&self) -> usize {
        self.tokens.get(self.position).map_or(self.end, |(_, column)| column - 1)
    }

    fn expected_error(&self, what: &str) -> Error {
        syntax_error(self.column(), &format!("expected {what} here"))
    }

    fn check_depth(&self, depth: usize) -> Result<usize> {
        if depth >= MAX_DEPTH {
            return Err(Limits::exceeded_error("depth", MAX_DEPTH as u64, "the condition nests deeper").at_text(1, 1));
        }
        Ok(depth + 1)
    }

    fn or_expr(&mut self, depth: usize) -> Result<Condition> {
        let depth = self.check_depth(depth)?;
        self.joined_by("or", Condition::Any, |parser| parser.joined_by("and", Condition::All, |parser| parser.primary(depth)))
    }

    /// Parts with a word between them; one part alone is itself.
    fn joined_by(
        &mut self,
        word: &str,
        join: impl FnOnce(Vec<Condition>) -> Condition,
        part: impl Fn(&mut Self) -> Result<Condition>,
    ) -> Result<Condition> {
        let first = part(self)?;
        if !self.is_name(word) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.is_name(word) {
            self.position += 1;
            parts.push(part(self)?);
        }
        Ok(join(parts))
    }

    fn primary(&mut self, depth: usize) -> Result<Condition> {
        let mut negations = 0;
        while self.is_name("not") {
            negations += 1;
            self.position += 1;
        }
        let inner = if self.peek() == Some(&Token::Open) {
            self.position += 1;
            let inner = self.or_expr(depth)?;
            if self.peek() != Some(&Token::Close) {
                return Err(self.expected_error(")"));
            }
            self.position += 1;
            inner
        } else {
            self.comparison_from_chars()?
        };
        Ok(if negations % 2 == 1 { Condition::Not(Box::new(inner)) } else { inner })
    }

    fn comparison_from_chars(&mut self) -> Result<Condition> {
        let left = self.parse_operand()?;
        let Some(Token::Compare(how)) = self.peek() else {
            return Err(self.expected_error("a comparison (==, !=, <, <=, >, >=)"));
        };
        let how = *how;
        self.position += 1;
        let right = self.parse_operand()?;
        Ok(Condition::Compare { left, comparison: how, right, types: Arc::default() })
    }

    fn parse_operand(&mut self) -> Result<Operand> {
        let found = match self.peek() {
            Some(Token::Value(cell)) => Operand::Value(cell.clone()),
            Some(Token::Name(name)) => match self.names.iter().position(|known| known == name) {
                Some(column) => Operand::Column(column),
                None => return Err(self.unknown_name_error(name)),
            },
            _ => return Err(self.expected_error(&format!("a {} or a value", self.what))),
        };
        self.position += 1;
        Ok(found)
    }

    fn unknown_name_error(&self, name: &str) -> Error {
        let error = syntax_error(self.column(), &format!("there is no {} {name:?}", self.what));
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let known = format!("the {}s are ", self.what);
        error.hint(format!("{}; text is written in double quotes", offer(name, &known, &names, MAX_LISTED_NAMES)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names() -> Vec<String> {
        ["file", "exp", "filter", "on", "odd name"].map(str::to_owned).to_vec()
    }

    fn row() -> Vec<TableCell> {
        vec![
            TableCell::Text("a.asdf".into()),
            TableCell::Float(139.8),
            TableCell::Text("F158".into()),
            TableCell::Null,
            TableCell::Int(3),
        ]
    }

    #[test]
    fn comparison_of_other_types_is_refused() {
        let refused = |text: &str| {
            let condition = Condition::parse(text, "column", &names()).unwrap();
            condition.matches(&row());
            condition.check_types(&names()).err().map(|error| error.to_string())
        };
        let text = refused("exp > \"a\"").unwrap();
        assert_eq!(
            text,
            "cannot compare exp (float) with \"a\" (text): no row can meet the condition; compare values of one type"
        );
        assert!(refused("filter == 158").unwrap().ends_with("write \"158\", with quotes"));
        assert!(refused("not (\"139.8\" <= exp)").unwrap().ends_with("write 139.8, without quotes"));
        assert!(refused("exp < 1 or filter > exp").is_some() && refused("true == exp").is_some());
        for text in
            ["exp > 1", "exp > 500", "filter > \"a\"", "on == 1", "exp == null", "exp != \"a\"", "exp > 500 and on > \"x\""]
        {
            assert_eq!(refused(text), None, "{text}");
        }
        // The values of other rows may compare.
        let condition = Condition::parse("exp > \"a\"", "column", &names()).unwrap();
        condition.matches(&row());
        condition.matches(&["", "b", "", "", ""].map(|text| TableCell::Text(text.into())));
        condition.check_types(&names()).unwrap();
    }

    fn holds(text: &str) -> bool {
        Condition::parse(text, "column", &names()).unwrap().matches(&row())
    }

    #[test]
    fn conditions_mean_what_they_say() {
        for (text, expected) in [
            ("exp > 100", true),
            ("exp>100 and filter==\"F158\"", true),
            ("exp > 200 or filter == 'F158'", true),
            ("not exp > 200", true),
            ("not (exp > 100 and filter == \"F158\")", false),
            // `and` binds more tightly.
            ("exp > 100 or exp > 200 and exp > 300", true),
            ("100 < exp", true),
            ("`odd name` == 3.0", true),
            // With null every comparison is false.
            ("on == null", false),
            ("on != null", false),
            ("on == 1 or on != 1 or on < 1 or on >= 1", false),
            ("not on == 1", true),
            // Values of different types are never equal, and have no order.
            ("filter == 158", false),
            ("filter != 158", true),
            ("filter < 158 or filter >= 158", false),
        ] {
            assert_eq!(holds(text), expected, "{text}");
        }
    }

    #[test]
    fn errors_say_where_and_what_was_meant() {
        for (text, column, part) in [
            ("exp >", 6, "a column or a value"),
            ("exp = 3", 5, "not a comparison"),
            ("(exp > 3", 9, "expected )"),
            ("exp > 3 exp < 4", 9, "and, or, or the end"),
            ("filtre == 3", 1, "did you mean \"filter\"?"),
            ("filter == F158", 11, "text is written in double quotes"),
            ("filter == \"F158", 11, "ends this"),
            ("exp > 3x", 7, "not a number"),
            ("", 1, "a column or a value"),
        ] {
            let error = Condition::parse(text, "column", &names()).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(&format!("column {column})")), "{text}: {error}");
        }
        for deep in ["(".repeat(100_000), "not ".repeat(100_000)] {
            assert!(Condition::parse(&deep, "column", &names()).is_err());
        }
    }

    fn comparison_from_chars() -> impl Strategy<Value = String> {
        let operand = prop_oneof!["file|exp|filter|on", "-?[0-9]{1,3}(\\.[0-9])?", "\"[A-F0-9]{0,4}\"", Just("null".to_owned())];
        let how = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
        (operand.clone(), how, operand).prop_map(|(left, how, right)| format!("{left} {how} {right}"))
    }

    fn condition() -> impl Strategy<Value = String> {
        comparison_from_chars().prop_recursive(4, 24, 2, |inner| {
            prop_oneof![
                inner.clone().prop_map(|a| format!("not ({a})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) and ({b})")),
                (inner.clone(), inner).prop_map(|(a, b)| format!("({a}) or ({b})")),
            ]
        })
    }

    proptest! {
        #[test]
        fn laws_of_logic_hold(a in condition(), b in condition(), c in condition()) {
            prop_assert_eq!(holds(&format!("not not ({a})")), holds(&a));
            prop_assert_eq!(holds(&format!("not (({a}) and ({b}))")), holds(&format!("not ({a}) or not ({b})")));
            prop_assert_eq!(holds(&format!("({a}) and ({b})")), holds(&a) && holds(&b));
            prop_assert_eq!(holds(&format!("({a}) or ({b})")), holds(&b) || holds(&a));
            prop_assert_eq!(holds(&format!("({a}) or ({b}) and ({c})")), holds(&a) || (holds(&b) && holds(&c)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
            let _ = Condition::parse(&text, "column", &names());
        }
    }
}
