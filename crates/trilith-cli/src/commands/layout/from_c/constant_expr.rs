//! Constant expressions of C, as the lengths of arrays, macros, enumerators and conditions have them.

use super::symbol_table::SymbolTable;

/// The value of an expression of whole numbers, constants and the operators of C; None for anything else,
/// and if it does not fit.
pub(super) fn evaluate(tokens: &[&str], constants: &SymbolTable<i64>) -> Option<i64> {
    let mut reader = ExprParser { tokens, at: 0, constants };
    let value = reader.evaluate_binary(0, 0)?;
    (reader.at == tokens.len()).then_some(value)
}

/// A decimal, hexadecimal or octal number of C.
pub(super) fn parse_integer(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None if digits.len() > 1 && digits.starts_with('0') => i64::from_str_radix(digits, 8).ok(),
        None => digits.parse().ok(),
    }
}

/// Operators between two values, those that bind least first.
const OPERATORS_BY_PRECEDENCE: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];
/// Operators of two signs.
const TWO_SIGNS: &[&str] = &["||", "&&", "==", "!=", "<=", ">=", "<<", ">>"];
/// Maximum depth of nested parentheses and signs.
const MAX_DEPTH: usize = 64;

struct ExprParser<'e> {
    tokens: &'e [&'e str],
    at: usize,
    constants: &'e SymbolTable<i64>,
}

impl ExprParser<'_> {
    /// Reads an expression, as deep as [`OPERATORS_BY_PRECEDENCE`] and [`MAX_DEPTH`] allow.
    fn evaluate_binary(&mut self, level: usize, depth: usize) -> Option<i64> {
        let Some(operators) = OPERATORS_BY_PRECEDENCE.get(level) else { return self.operand(depth) };
        let mut left = self.evaluate_binary(level + 1, depth)?;
        while let Some(operator) = self.parse_operator(operators) {
            let right = self.evaluate_binary(level + 1, depth)?;
            let shift = || u32::try_from(right).ok().filter(|shift| *shift < 63);
            left = match operator {
                "||" => i64::from(left != 0 || right != 0),
                "&&" => i64::from(left != 0 && right != 0),
                "==" => i64::from(left == right),
                "!=" => i64::from(left != right),
                "<=" => i64::from(left <= right),
                ">=" => i64::from(left >= right),
                "<" => i64::from(left < right),
                ">" => i64::from(left > right),
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "<<" => left.checked_mul(1i64.checked_shl(shift()?)?)?,
                ">>" => left.checked_shr(shift()?)?,
                "+" => left.checked_add(right)?,
                "-" => left.checked_sub(right)?,
                "*" => left.checked_mul(right)?,
                "/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
        Some(left)
    }

    /// Reads one of some operators, whose two signs are separate tokens.
    fn parse_operator(&mut self, known: &[&'static str]) -> Option<&'static str> {
        let here = *self.tokens.get(self.at)?;
        let next = self.tokens.get(self.at + 1).copied().unwrap_or("");
        let both = [here, next].concat();
        let is_double = TWO_SIGNS.contains(&both.as_str());
        let found = known.iter().find(|operator| if is_double { both == **operator } else { here == **operator })?;
        self.at += found.len();
        Some(found)
    }

    fn operand(&mut self, depth: usize) -> Option<i64> {
        if depth > MAX_DEPTH {
            return None;
        }
        let token = *self.tokens.get(self.at)?;
        self.at += 1;
        match token {
            "(" => {
                let value = self.evaluate_binary(0, depth + 1)?;
                let is_closed = self.tokens.get(self.at) == Some(&")");
                self.at += 1;
                is_closed.then_some(value)
            }
            "-" => self.operand(depth + 1)?.checked_neg(),
            "+" => self.operand(depth + 1),
            "~" => self.operand(depth + 1).map(|value| !value),
            "!" => self.operand(depth + 1).map(|value| i64::from(value == 0)),
            token => parse_integer(token).or_else(|| self.constants.get(token).copied()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expression_values_match_c() {
        let mut constants = SymbolTable::default();
        constants.insert("N".to_owned(), 5);
        for (text, expected) in [
            ("( 32 )", Some(32)),
            ("N * 2 + 1", Some(11)),
            ("1 + N * 2", Some(11)),
            ("( 1 + N ) * - 2", Some(-12)),
            ("1 < < 4 | 3", Some(19)),
            ("7 % 4 - 010", Some(-5)),
            ("~ 0 & 0xff", Some(255)),
            ("1 + 2 = = 3 & & N > = 5", Some(1)),
            ("N < 5 | | ! N", Some(0)),
            ("1 | 2 = = 2", Some(1)),
            ("N > > 1 > 1", Some(1)),
            ("N = 5", None),
            ("M + 1", None),
            ("1 / 0", None),
            ("( 1", None),
            ("1 2", None),
            ("", None),
        ] {
            let tokens: Vec<&str> = text.split_whitespace().collect();
            assert_eq!(evaluate(&tokens, &constants), expected, "{text}");
        }
    }
}
