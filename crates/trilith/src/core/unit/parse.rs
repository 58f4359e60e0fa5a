//! Reading units: VOUnit 1.0, and the spellings of FITS and of older files.

use super::names::{FUNCTIONS, is_name};
use super::{Power, Unit, UnitFactor};
use crate::error::{Error, Result};

/// Maximum depth of nested parentheses.
const MAX_DEPTH: usize = 32;

/// Recursive descent over the text; the depth of parentheses is bounded.
pub(super) struct UnitParser<'t> {
    text: &'t str,
    at: usize,
    standard: bool,
    depth: usize,
    slashes: usize,
}

impl<'t> UnitParser<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, standard: true, depth: 0, slashes: 0 }
    }

    fn remaining(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip_blanks(&mut self) {
        let rest = self.remaining();
        let blank = rest.len() - rest.trim_start_matches(' ').len();
        self.at += blank;
        self.standard &= blank == 0;
    }

    fn consume_if(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let found = self.remaining().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_blanks();
        self.remaining().chars().next()
    }

    #[cold]
    fn syntax_error(&self, expected: &str) -> Error {
        let column = self.text.get(..self.at).map_or(0, |head| head.chars().count()) as u32 + 1;
        let found = self.remaining().chars().next().map_or("the end".to_owned(), |c| format!("{c:?}"));
        let shown: String = self.text.chars().take(60).collect();
        Error::malformed(format!("unit {shown:?}: found {found}, expected {expected}"))
            .at_text(1, column)
            .hint("units follow VOUnit 1.0, for example kg.m**2/s**2")
    }

    /// The whole text.
    pub(super) fn main(&mut self) -> Result<Unit> {
        if self.text.is_empty() {
            return Ok(Unit::from_scale(1.0));
        }
        let mut unit = self.parse_unit()?;
        if self.peek().is_some() {
            return Err(self.syntax_error("a unit, an operator or the end"));
        }
        unit.standard = self.standard && self.slashes <= 1;
        Ok(unit)
    }

    /// An optional factor, then units.
    fn parse_unit(&mut self) -> Result<Unit> {
        let mut unit = Unit::from_scale(1.0);
        let factor = self.parse_factor()?;
        if let Some(factor) = factor {
            unit.scale = factor;
            if matches!(self.peek(), None | Some(')')) {
                return Ok(unit);
            }
            // A separator between factor and units is optional.
            if self.consume_product_sign() {
                self.standard = false;
            }
        }
        if self.peek() == Some('/') {
            self.standard &= factor.is_some_and(|factor| factor == 1.0);
        } else {
            self.product_of_units(&mut unit, Power::ONE)?;
        }
        while self.consume_if("/") {
            self.slashes += 1;
            let mut divisor = Unit::from_scale(1.0);
            self.product_of_units(&mut divisor, Power::ONE)?;
            self.standard &= divisor.terms.len() <= 1 || self.text.get(..self.at).is_some_and(|text| text.ends_with(')'));
            unit.multiply_power(divisor, Power::Fraction(-1, 1)).ok_or_else(|| self.syntax_error("a smaller power"))?;
        }
        Ok(unit)
    }

    fn consume_product_sign(&mut self) -> bool {
        self.skip_blanks();
        if self.remaining().starts_with("**") {
            return false;
        }
        if self.consume_if(".") {
            return true;
        }
        let star = self.consume_if("*");
        self.standard &= !star;
        star
    }

    fn product_of_units(&mut self, unit: &mut Unit, power: Power) -> Result<()> {
        loop {
            let (factor, own) = self.unit_expression()?;
            let total = own.checked_mul(power).ok_or_else(|| self.syntax_error("a smaller power"))?;
            unit.multiply_power(factor, total).ok_or_else(|| self.syntax_error("a smaller power"))?;
            if self.consume_product_sign() {
                continue;
            }
            match self.peek() {
                None | Some('/' | ')') => return Ok(()),
                // Units side by side multiply.
                Some(_) => self.standard = false,
            }
        }
    }

    /// A name with its power, a function, or parentheses.
    fn unit_expression(&mut self) -> Result<(Unit, Power)> {
        if self.consume_if("(") {
            let unit = self.parse_parenthesized(Self::parse_unit)?;
            let power = self.parse_power()?;
            // A power of parentheses came with VOUnit 1.1.
            self.standard &= power.is_none();
            return Ok((unit, power.unwrap_or(Power::ONE)));
        }
        let from = self.at;
        let name = self.consume_name();
        if name.is_empty() {
            return Err(self.syntax_error("the name of a unit"));
        }
        if FUNCTIONS.contains(&name) && self.peek() == Some('(') {
            self.at += 1;
            let inner = self.parse_parenthesized(Self::parse_unit)?;
            if name == "sqrt" {
                return Ok((inner, Power::Fraction(1, 2)));
            }
            return Ok((single_term(format!("{name}({inner})")), Power::ONE));
        }
        if !is_name(name) {
            self.at = from;
            return Err(self.syntax_error("the name of a unit"));
        }
        Ok((single_term(name.to_owned()), self.parse_power()?.unwrap_or(Power::ONE)))
    }

    fn parse_parenthesized(&mut self, parse: impl FnOnce(&mut Self) -> Result<Unit>) -> Result<Unit> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.syntax_error("fewer parentheses"));
        }
        let unit = parse(self)?;
        if !self.consume_if(")") {
            return Err(self.syntax_error("`)`"));
        }
        self.depth -= 1;
        Ok(unit)
    }

    fn consume_name(&mut self) -> &'t str {
        self.skip_blanks();
        let rest = self.remaining();
        let end = rest
            .find(|c: char| {
                c.is_whitespace() || c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | '/' | '*' | '^' | '(' | ')' | ',')
            })
            .unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or("")
    }

    /// `**2`, `^-1`, `2`, `-1`, `**(1/2)`, `(1.5)`.
    fn parse_power(&mut self) -> Result<Option<Power>> {
        let star = self.consume_if("**");
        let hat = !star && self.consume_if("^");
        self.standard &= !hat;
        match self.peek() {
            Some('(') => {
                // Without `**` a parenthesis may also begin the next factor.
                if !star
                    && !hat
                    && !self.remaining().get(1..).is_some_and(|rest| {
                        rest.trim_start().starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
                    })
                {
                    return Ok(None);
                }
                self.standard &= star;
                self.at += 1;
                let power = self.power_in_parentheses()?;
                if !self.consume_if(")") {
                    return Err(self.syntax_error("`)`"));
                }
                Ok(Some(power))
            }
            Some('0'..='9' | '+' | '-') => {
                self.standard &= star;
                let value = self.signed_integer()?;
                Ok(Some(Power::Fraction(value, 1)))
            }
            _ if star || hat => Err(self.syntax_error("a power")),
            _ => Ok(None),
        }
    }

    fn power_in_parentheses(&mut self) -> Result<Power> {
        self.skip_blanks();
        let number = self.consume_number();
        if number.contains(['.', 'e', 'E']) {
            let value: f64 = number.parse().map_err(|_| self.syntax_error("a number"))?;
            return Ok(Power::Decimal(value));
        }
        let numerator: i64 = number.parse().map_err(|_| self.syntax_error("a number"))?;
        if !self.consume_if("/") {
            return Ok(Power::Fraction(numerator, 1));
        }
        let denominator = self.signed_integer()?;
        Power::from_fraction(numerator, denominator).ok_or_else(|| self.syntax_error("a denominator other than 0"))
    }

    /// The text of a number with sign, point and exponent, as far as there are.
    fn consume_number(&mut self) -> &'t str {
        let rest = self.remaining();
        let bytes = rest.as_bytes();
        let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let whole = digits(end);
        let mut found = whole > end;
        end = whole;
        if bytes.get(end) == Some(&b'.') {
            let after = digits(end + 1);
            // A point after digits that is followed by none is a product.
            if after > end + 1 {
                found = true;
                end = after;
            }
        }
        if !found {
            return "";
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let after = digits(sign);
            if after > sign {
                end = after;
            }
        }
        self.at += end;
        rest.get(..end).unwrap_or("")
    }

    fn signed_integer(&mut self) -> Result<i64> {
        self.skip_blanks();
        let rest = self.remaining();
        let sign = usize::from(rest.starts_with(['+', '-']));
        let end = rest.get(sign..).unwrap_or("").bytes().take_while(u8::is_ascii_digit).count() + sign;
        let value = rest.get(..end).and_then(|digits| digits.parse().ok()).ok_or_else(|| self.syntax_error("a whole number"))?;
        self.at += end;
        Ok(value)
    }

    /// `10**-3`, `10-3`, `1.5`, `2.5 10**3`; None if no number is here.
    fn parse_factor(&mut self) -> Result<Option<f64>> {
        self.skip_blanks();
        let first = self.consume_number();
        if first.is_empty() {
            return Ok(None);
        }
        let value: f64 = first.parse().map_err(|_| self.syntax_error("a number"))?;
        if let Some(power) = self.power_of_factor()? {
            return Ok(Some(value.powf(power.to_f64())));
        }
        // `2.5 10**3`
        let here = (self.at, self.standard);
        let second = if self.peek().is_some_and(|c| c.is_ascii_digit()) { self.consume_number() } else { "" };
        if second.is_empty() {
            self.standard &= value == 1.0 || value == 10.0 || first.contains('.');
            return Ok(Some(value));
        }
        match (second.parse::<f64>(), self.power_of_factor()?) {
            (Ok(base), Some(power)) => {
                self.standard = false;
                // One conversion of the whole text is exact, unlike the product of two numbers.
                let exact = if base == 10.0 { format!("{first}e{power}").parse().ok() } else { None };
                Ok(Some(exact.unwrap_or(value * base.powf(power.to_f64()))))
            }
            _ => {
                (self.at, self.standard) = here;
                Err(self.syntax_error("a unit"))
            }
        }
    }

    fn power_of_factor(&mut self) -> Result<Option<Power>> {
        let sign_follows = matches!(self.peek(), Some('+' | '-' | '^' | '(')) || self.remaining().starts_with("**");
        if sign_follows { self.parse_power() } else { Ok(None) }
    }
}

fn single_term(name: String) -> Unit {
    Unit { scale: 1.0, terms: vec![UnitFactor { name, power: Power::ONE }], standard: true }
}
