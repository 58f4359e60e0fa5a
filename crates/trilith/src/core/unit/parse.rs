//! Reading units: VOUnit 1.0, and the spellings of FITS and of older files.

use super::names::{FUNCTIONS, is_name};
use super::{Power, Term, Unit};
use crate::error::{Error, Result};

/// Maximum depth of nested parentheses.
const DEPTH: usize = 32;

/// Recursive descent over the text; the depth of parentheses is bounded.
pub(super) struct Parser<'t> {
    text: &'t str,
    at: usize,
    standard: bool,
    depth: usize,
    slashes: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, standard: true, depth: 0, slashes: 0 }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        let blank = rest.len() - rest.trim_start_matches(' ').len();
        self.at += blank;
        self.standard &= blank == 0;
    }

    fn take(&mut self, token: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn peek(&mut self) -> Option<char> {
        self.blanks();
        self.rest().chars().next()
    }

    #[cold]
    fn error(&self, expected: &str) -> Error {
        let column = self.text.get(..self.at).map_or(0, |head| head.chars().count()) as u32 + 1;
        let found = self.rest().chars().next().map_or("the end".to_owned(), |c| format!("{c:?}"));
        let shown: String = self.text.chars().take(60).collect();
        Error::malformed(format!("unit {shown:?}: found {found}, expected {expected}"))
            .at_text(1, column)
            .hint("units follow VOUnit 1.0, for example kg.m**2/s**2")
    }

    /// The whole text.
    pub(super) fn main(&mut self) -> Result<Unit> {
        if self.text.is_empty() {
            return Ok(Unit::number(1.0));
        }
        let mut unit = self.unit()?;
        if self.peek().is_some() {
            return Err(self.error("a unit, an operator or the end"));
        }
        unit.standard = self.standard && self.slashes <= 1;
        Ok(unit)
    }

    /// An optional factor, then units.
    fn unit(&mut self) -> Result<Unit> {
        let mut unit = Unit::number(1.0);
        let factor = self.factor()?;
        if let Some(factor) = factor {
            unit.scale = factor;
            if matches!(self.peek(), None | Some(')')) {
                return Ok(unit);
            }
            // A separator between factor and units is optional.
            if self.product() {
                self.standard = false;
            }
        }
        if self.peek() == Some('/') {
            self.standard &= factor.is_some_and(|factor| factor == 1.0);
        } else {
            self.product_of_units(&mut unit, Power::ONE)?;
        }
        while self.take("/") {
            self.slashes += 1;
            let mut divisor = Unit::number(1.0);
            self.product_of_units(&mut divisor, Power::ONE)?;
            self.standard &= divisor.terms.len() <= 1 || self.text.get(..self.at).is_some_and(|text| text.ends_with(')'));
            unit.multiply(divisor, Power::Fraction(-1, 1)).ok_or_else(|| self.error("a smaller power"))?;
        }
        Ok(unit)
    }

    fn product(&mut self) -> bool {
        self.blanks();
        if self.rest().starts_with("**") {
            return false;
        }
        if self.take(".") {
            return true;
        }
        let star = self.take("*");
        self.standard &= !star;
        star
    }

    fn product_of_units(&mut self, unit: &mut Unit, power: Power) -> Result<()> {
        loop {
            let (factor, own) = self.unit_expression()?;
            let total = own.times(power).ok_or_else(|| self.error("a smaller power"))?;
            unit.multiply(factor, total).ok_or_else(|| self.error("a smaller power"))?;
            if self.product() {
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
        if self.take("(") {
            let unit = self.nested(Self::unit)?;
            let power = self.power()?;
            // A power of parentheses came with VOUnit 1.1.
            self.standard &= power.is_none();
            return Ok((unit, power.unwrap_or(Power::ONE)));
        }
        let from = self.at;
        let name = self.name();
        if name.is_empty() {
            return Err(self.error("the name of a unit"));
        }
        if FUNCTIONS.contains(&name) && self.peek() == Some('(') {
            self.at += 1;
            let inner = self.nested(Self::unit)?;
            if name == "sqrt" {
                return Ok((inner, Power::Fraction(1, 2)));
            }
            return Ok((single(format!("{name}({inner})")), Power::ONE));
        }
        if !is_name(name) {
            self.at = from;
            return Err(self.error("the name of a unit"));
        }
        Ok((single(name.to_owned()), self.power()?.unwrap_or(Power::ONE)))
    }

    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Result<Unit>) -> Result<Unit> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.error("fewer parentheses"));
        }
        let unit = parse(self)?;
        if !self.take(")") {
            return Err(self.error("`)`"));
        }
        self.depth -= 1;
        Ok(unit)
    }

    fn name(&mut self) -> &'t str {
        self.blanks();
        let rest = self.rest();
        let end = rest
            .find(|c: char| {
                c.is_whitespace() || c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | '/' | '*' | '^' | '(' | ')' | ',')
            })
            .unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or("")
    }

    /// `**2`, `^-1`, `2`, `-1`, `**(1/2)`, `(1.5)`.
    fn power(&mut self) -> Result<Option<Power>> {
        let star = self.take("**");
        let hat = !star && self.take("^");
        self.standard &= !hat;
        match self.peek() {
            Some('(') => {
                // Without `**` a parenthesis may also begin the next factor.
                if !star
                    && !hat
                    && !self.rest().get(1..).is_some_and(|rest| {
                        rest.trim_start().starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
                    })
                {
                    return Ok(None);
                }
                self.standard &= star;
                self.at += 1;
                let power = self.power_in_parentheses()?;
                if !self.take(")") {
                    return Err(self.error("`)`"));
                }
                Ok(Some(power))
            }
            Some('0'..='9' | '+' | '-') => {
                self.standard &= star;
                let value = self.signed_integer()?;
                Ok(Some(Power::Fraction(value, 1)))
            }
            _ if star || hat => Err(self.error("a power")),
            _ => Ok(None),
        }
    }

    fn power_in_parentheses(&mut self) -> Result<Power> {
        self.blanks();
        let number = self.number();
        if number.contains(['.', 'e', 'E']) {
            let value: f64 = number.parse().map_err(|_| self.error("a number"))?;
            return Ok(Power::Decimal(value));
        }
        let numerator: i64 = number.parse().map_err(|_| self.error("a number"))?;
        if !self.take("/") {
            return Ok(Power::Fraction(numerator, 1));
        }
        let denominator = self.signed_integer()?;
        Power::fraction(numerator, denominator).ok_or_else(|| self.error("a denominator other than 0"))
    }

    /// The text of a number with sign, point and exponent, as far as there are.
    fn number(&mut self) -> &'t str {
        let rest = self.rest();
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
        self.blanks();
        let rest = self.rest();
        let sign = usize::from(rest.starts_with(['+', '-']));
        let end = rest.get(sign..).unwrap_or("").bytes().take_while(u8::is_ascii_digit).count() + sign;
        let value = rest.get(..end).and_then(|digits| digits.parse().ok()).ok_or_else(|| self.error("a whole number"))?;
        self.at += end;
        Ok(value)
    }

    /// `10**-3`, `10-3`, `1.5`, `2.5 10**3`; None if no number is here.
    fn factor(&mut self) -> Result<Option<f64>> {
        self.blanks();
        let first = self.number();
        if first.is_empty() {
            return Ok(None);
        }
        let value: f64 = first.parse().map_err(|_| self.error("a number"))?;
        if let Some(power) = self.power_of_factor()? {
            return Ok(Some(value.powf(power.value())));
        }
        // `2.5 10**3`
        let here = (self.at, self.standard);
        let second = if self.peek().is_some_and(|c| c.is_ascii_digit()) { self.number() } else { "" };
        if second.is_empty() {
            self.standard &= value == 1.0 || value == 10.0 || first.contains('.');
            return Ok(Some(value));
        }
        match (second.parse::<f64>(), self.power_of_factor()?) {
            (Ok(base), Some(power)) => {
                self.standard = false;
                // One conversion of the whole text is exact, unlike the product of two numbers.
                let exact = if base == 10.0 { format!("{first}e{power}").parse().ok() } else { None };
                Ok(Some(exact.unwrap_or(value * base.powf(power.value()))))
            }
            _ => {
                (self.at, self.standard) = here;
                Err(self.error("a unit"))
            }
        }
    }

    fn power_of_factor(&mut self) -> Result<Option<Power>> {
        let sign_follows = matches!(self.peek(), Some('+' | '-' | '^' | '(')) || self.rest().starts_with("**");
        if sign_follows { self.power() } else { Ok(None) }
    }
}

fn single(name: String) -> Unit {
    Unit { scale: 1.0, terms: vec![Term { name, power: Power::ONE }], standard: true }
}
