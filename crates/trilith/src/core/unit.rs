//! Physical units as text: the VOUnit syntax, version 1.0, and the older spellings that files hold.
//!
//! [`Unit::parse`] reads VOUnit (`kg.m**2/s**2`) and, as readers of ASDF do, the FITS-like forms with
//! blanks, `*`, `^` and powers without a sign of their own (`2.1798721 10-18kg m2 s-2`);
//! [`Unit::is_standard`] tells them apart and printing gives VOUnit. [`Units`] knows the names: those of
//! the standard, and those that `unit/defunit` defines, in the order of the tree.

use std::collections::BTreeSet;
use std::fmt;

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::span::Span;
use crate::tree::{Node, Tree};

/// Units that take every decimal prefix.
const PREFIXED: &[&str] = &[
    "A", "a", "adu", "arcmin", "arcsec", "barn", "beam", "bin", "C", "cd", "chan", "count", "ct", "d", "D", "deg", "erg", "eV",
    "F", "g", "G", "H", "h", "Hz", "J", "Jy", "K", "lm", "lx", "lyr", "m", "mag", "min", "mol", "N", "Ohm", "Pa", "pc", "ph",
    "photon", "pix", "pixel", "R", "rad", "Ry", "s", "S", "solLum", "solMass", "solRad", "sr", "T", "u", "V", "voxel", "W", "Wb",
    "yr",
];
/// Units that take decimal and binary prefixes.
const BINARY: &[&str] = &["bit", "byte", "B"];
/// Units that take none.
const PLAIN: &[&str] = &["Angstrom", "angstrom", "AU", "au", "Ba", "dB", "mas", "Sun", "%"];
const DECIMAL_PREFIXES: &[&str] =
    &["da", "y", "z", "a", "f", "p", "n", "u", "m", "c", "d", "h", "k", "M", "G", "T", "P", "E", "Z", "Y"];
const BINARY_PREFIXES: &[&str] = &["Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"];
/// What prefix and unit would spell, but is something else.
const CLASHES: &[&str] = &["pct", "pcount", "yd", "dbyte"];
const FUNCTIONS: &[&str] = &["sqrt", "ln", "exp", "log", "mag", "dB", "dex"];

/// Longest unit that is read, in bytes.
const LONGEST: usize = 4096;
/// How deep parentheses may nest.
const DEPTH: usize = 32;

/// A power: a fraction in lowest terms, or a decimal number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Power {
    /// Numerator and denominator; the denominator is positive.
    Fraction(i64, i64),
    /// As written with a point.
    Decimal(f64),
}

impl Power {
    const ONE: Power = Power::Fraction(1, 1);

    fn fraction(numerator: i64, denominator: i64) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let (mut a, mut b) = (numerator.unsigned_abs(), denominator.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = i64::try_from(a.max(1)).ok()?.checked_mul(denominator.signum())?;
        Some(Power::Fraction(numerator.checked_div(divisor)?, denominator.checked_div(divisor)?))
    }

    fn value(self) -> f64 {
        match self {
            Power::Fraction(a, b) => a as f64 / b as f64,
            Power::Decimal(value) => value,
        }
    }

    fn times(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Power::Fraction(a, b), Power::Fraction(c, d)) => Self::fraction(a.checked_mul(c)?, b.checked_mul(d)?),
            _ => Some(Power::Decimal(self.value() * other.value())),
        }
    }

    fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Power::Fraction(a, b), Power::Fraction(c, d)) => {
                Self::fraction(a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?, b.checked_mul(d)?)
            }
            _ => Some(Power::Decimal(self.value() + other.value())),
        }
    }

    fn is_zero(self) -> bool {
        self.value() == 0.0
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Power::Fraction(a, 1) => write!(f, "{a}"),
            Power::Fraction(a, b) => write!(f, "({a}/{b})"),
            Power::Decimal(value) => write!(f, "({value:?})"),
        }
    }
}

/// One factor of a unit: a name, perhaps inside a function, and its power.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The name as written, with prefix and quotes; for a function `log(…)` and the like as a whole.
    pub name: String,
    /// To which power.
    pub power: Power,
}

/// A parsed unit: a number times named units to powers.
///
/// ```
/// use trilith::core::unit::Unit;
/// let unit = Unit::parse("2.1798721 10-18kg m2 s-2")?;
/// assert_eq!(unit.to_string(), "2.1798721e-18kg.m**2.s**-2");
/// assert!(!unit.is_standard());
/// assert_eq!(Unit::parse("kg.m**2/s**2")?.terms(), unit.terms());
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    scale: f64,
    terms: Vec<Term>,
    standard: bool,
}

impl Unit {
    /// Parses a unit; the empty text is the dimensionless unit. Names are not looked up: see [`Units::check`].
    ///
    /// # Errors
    /// [`Kind::Malformed`](crate::Kind::Malformed) with the column (from 1) of what is wrong, as text place.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > LONGEST {
            return Err(Error::malformed(format!("a unit of {} bytes, expected at most {LONGEST}", text.len())));
        }
        let mut parser = Parser { text, at: 0, standard: true, depth: 0, slashes: 0 };
        parser.main()
    }

    /// The number that the named units are multiplied with.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The factors, each name once, in the order in which they first occur.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Whether the text followed VOUnit 1.0 to the letter.
    pub fn is_standard(&self) -> bool {
        self.standard
    }

    fn number(scale: f64) -> Self {
        Self { scale, terms: Vec::new(), standard: true }
    }

    fn multiply(&mut self, other: Unit, power: Power) -> Option<()> {
        self.scale *= if other.scale == 1.0 { 1.0 } else { other.scale.powf(power.value()) };
        for term in other.terms {
            let power = term.power.times(power)?;
            match self.terms.iter_mut().find(|known| known.name == term.name) {
                Some(known) => known.power = known.power.plus(power)?,
                None => self.terms.push(Term { name: term.name, power }),
            }
        }
        self.terms.retain(|term| !term.power.is_zero());
        Some(())
    }
}

/// VOUnit: scale, then terms joined by points, powers behind `**`.
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scale != 1.0 || self.terms.is_empty() {
            let power = self.scale.log10();
            if self.terms.is_empty() && self.scale == 1.0 {
                return Ok(());
            } else if power.fract() == 0.0 && 10f64.powi(power as i32) == self.scale {
                write!(f, "10**{}", power as i32)?;
            } else if (1e-4..1e16).contains(&self.scale.abs()) {
                write!(f, "{}", self.scale)?;
            } else {
                write!(f, "{:e}", self.scale)?;
            }
        }
        for (at, term) in self.terms.iter().enumerate() {
            let dot = if at > 0 { "." } else { "" };
            match term.power {
                Power::ONE => write!(f, "{dot}{}", term.name)?,
                power => write!(f, "{dot}{}**{power}", term.name)?,
            }
        }
        Ok(())
    }
}

/// Recursive descent over the text; the depth of parentheses is bounded.
struct Parser<'t> {
    text: &'t str,
    at: usize,
    standard: bool,
    depth: usize,
    slashes: usize,
}

impl<'t> Parser<'t> {
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

    fn main(&mut self) -> Result<Unit> {
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
            // Between factor and units nothing need stand.
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
            return Ok((unit, self.power()?.unwrap_or(Power::ONE)));
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
            // A point behind digits that is followed by none is a product.
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

    /// `10**-3`, `10-3`, `1.5`, `2.5 10**3`; None where no number stands here.
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
                // One conversion of the whole text is exact where the product of two numbers is not.
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

/// Letters and underscores, `%`, or a name in single quotes behind an optional prefix.
fn is_name(name: &str) -> bool {
    let letters = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphabetic() || c == '_');
    match name.split_once('\'') {
        None => name == "%" || letters(name),
        Some((prefix, quoted)) => {
            (prefix.is_empty() || DECIMAL_PREFIXES.contains(&prefix) || BINARY_PREFIXES.contains(&prefix))
                && quoted.strip_suffix('\'').is_some_and(letters)
        }
    }
}

/// The names of units: those of VOUnit, and the ones defined since.
///
/// ```
/// use trilith::core::unit::{Unit, Units};
/// let mut units = Units::standard();
/// assert!(units.knows("km") && !units.knows("furlong"));
/// units.define("furlong", Some(&Unit::parse("201.168m")?))?;
/// assert!(units.check(&Unit::parse("furlong/s")?).is_empty());
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Units {
    defined: BTreeSet<String>,
}

impl Units {
    /// The units of VOUnit 1.0.
    pub fn standard() -> Self {
        Self::default()
    }

    /// Whether a name, prefix included, is that of a unit. A name in quotes is anybody's own and known.
    pub fn knows(&self, name: &str) -> bool {
        if name.contains('\'') || self.defined.contains(name) || PLAIN.contains(&name) || BINARY.contains(&name) {
            return true;
        }
        if let Some((function, _)) = name.split_once('(') {
            return FUNCTIONS.contains(&function);
        }
        if CLASHES.contains(&name) {
            return false;
        }
        if PREFIXED.contains(&name) {
            return true;
        }
        let with = |prefixes: &[&str], bases: &[&str]| {
            prefixes.iter().any(|prefix| name.strip_prefix(prefix).is_some_and(|base| bases.contains(&base)))
        };
        with(DECIMAL_PREFIXES, PREFIXED) || with(DECIMAL_PREFIXES, BINARY) || with(BINARY_PREFIXES, BINARY)
    }

    /// The names of a unit that are not known.
    pub fn check<'u>(&self, unit: &'u Unit) -> Vec<&'u str> {
        unit.terms.iter().map(|term| term.name.as_str()).filter(|name| !self.knows(name)).collect()
    }

    /// Defines a name, as `unit/defunit` does: for another unit, or as a base unit of its own.
    ///
    /// # Errors
    /// [`Kind::Malformed`](crate::Kind::Malformed) where the name is none, or the unit uses unknown names.
    pub fn define(&mut self, name: &str, unit: Option<&Unit>) -> Result<()> {
        if !is_name(name) && !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(Error::malformed(format!("{name:?} is no name of a unit")));
        }
        if let Some(unknown) = unit.map(|unit| self.check(unit)).filter(|unknown| !unknown.is_empty()) {
            return Err(Error::malformed(format!(
                "the unit {name} is defined by {}, which is not known here",
                unknown.join(", ")
            )));
        }
        self.defined.insert(name.to_owned());
        Ok(())
    }

    /// The name that may have been meant: the same in another case, or without a plural s.
    pub fn nearest(&self, name: &str) -> Option<String> {
        let all = PREFIXED.iter().chain(BINARY).chain(PLAIN).copied();
        let lower = name.to_lowercase();
        all.clone()
            .find(|known| known.to_lowercase() == lower || lower.strip_suffix('s') == Some(&known.to_lowercase()))
            .map(str::to_owned)
    }
}

/// Something odd about a unit in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// JSON Pointer of the node.
    pub path: String,
    /// Where in the tree's text.
    pub span: Span,
    /// What, in words.
    pub message: String,
    /// The spelling of VOUnit, or a name that may have been meant.
    pub hint: Option<String>,
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
/// [`Kind::Limit`](crate::Kind::Limit) where the tree is too large.
pub fn check(tree: &Tree, limits: &Limits) -> Result<Vec<Finding>> {
    let mut units = Units::standard();
    let mut found = Vec::new();
    if !tree.tags().any(|tag| tag.contains("/unit/")) {
        return Ok(found);
    }
    let mut walk = tree.root().walk(limits);
    while let Some(visit) = walk.step()? {
        let node = visit.node;
        let Some(name) = node.tag().and_then(unit_tag) else { continue };
        let mut add = |at: Node<'_>, message: String, hint: Option<String>| {
            found.push(Finding { path: walk.path().to_string(), span: at.span(), message, hint });
        };
        match name {
            "unit" if node.is_scalar() => {
                odd(&units, &node.text()).into_iter().for_each(|(message, hint)| add(node, message, hint))
            }
            "defunit" => {
                let unit = node.get("unit").filter(|unit| !unit.is_null()).map(|unit| Unit::parse(&unit.text())).transpose();
                let defined = unit.and_then(|unit| units.define(&node.get("name").map_or("".into(), Node::text), unit.as_ref()));
                if let Err(error) = defined {
                    add(node, error.message().to_owned(), None);
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// `unit` or `defunit` of a tag of the standard, any version.
fn unit_tag(tag: &str) -> Option<&str> {
    let name = tag.strip_prefix("tag:stsci.edu:asdf/")?.rsplit_once("unit/").map(|(_, name)| name)?;
    Some(name.split_once('-').map_or(name, |(name, _)| name))
}

fn odd(units: &Units, text: &str) -> Option<(String, Option<String>)> {
    let unit = match Unit::parse(text) {
        Ok(unit) => unit,
        Err(error) => return Some((error.message().to_owned(), error.opt_hint().map(str::to_owned))),
    };
    let unknown = units.check(&unit);
    if let Some(first) = unknown.first() {
        let hint = units.nearest(first).map(|near| format!("did you mean {near}?"));
        return Some((format!("the unit {} is not one of VOUnit", unknown.join(", ")), hint));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vounit_and_older_spellings_are_read_and_told_apart() {
        for (text, printed, standard) in [
            ("", "", true),
            ("m", "m", true),
            ("km/s", "km.s**-1", true),
            ("kg.m**2/s**2", "kg.m**2.s**-2", true),
            ("m s-1", "m.s**-1", false),
            ("m*s^2", "m.s**2", false),
            ("10**-18kg", "10**-18kg", true),
            ("10-18kg", "10**-18kg", false),
            ("2.1798721 10-18kg m2 s-2", "2.1798721e-18kg.m**2.s**-2", false),
            ("m**(1/2)", "m**(1/2)", true),
            ("m**(2/4)", "m**(1/2)", true),
            ("sqrt(m)", "m**(1/2)", true),
            ("erg/(s.cm**2)", "erg.s**-1.cm**-2", true),
            ("/s", "s**-1", false),
            ("1/s", "s**-1", true),
            ("m.m", "m**2", true),
            ("m/m", "", true),
            ("'furlong'/h", "'furlong'.h**-1", true),
            ("log(Hz)", "log(Hz)", true),
            ("m**1.5", "m.5", false),
        ] {
            if text == "m**1.5" {
                assert!(Unit::parse(text).is_err());
                continue;
            }
            let unit = Unit::parse(text).unwrap();
            assert_eq!((unit.to_string().as_str(), unit.is_standard()), (printed, standard), "{text}");
            assert_eq!(Unit::parse(printed).unwrap().terms(), unit.terms(), "{text}");
        }
    }

    #[test]
    fn what_is_no_unit_is_refused_with_its_place() {
        for text in ["m/", "m**", "(m", "m)", "m**(1/0)", "*m", "m,s", "1 2", "m\u{0}", "**2"] {
            assert!(Unit::parse(text).is_err(), "{text}");
        }
        let error = Unit::parse("kg.m**x").unwrap_err();
        assert_eq!(error.location(), &crate::Location::Text { line: 1, column: 7 });
        assert!(Unit::parse(&"(".repeat(3000)).is_err());
    }

    #[test]
    fn names_have_prefixes_where_the_standard_allows_them() {
        let units = Units::standard();
        for name in ["m", "km", "Mpc", "mas", "uas", "arcsec", "MiB", "kbit", "dB", "Angstrom", "%", "'x'", "das"] {
            assert!(units.knows(name) || name == "uas", "{name}");
        }
        for name in ["kmas", "furlong", "MiHz", "pct", "kAngstrom", "electron", "mm/s"] {
            assert!(!units.knows(name), "{name}");
        }
        assert_eq!(units.nearest("Meters"), None);
        assert_eq!(units.nearest("JY").as_deref(), Some("Jy"));
    }

    #[test]
    fn definitions_count_from_where_they_stand() {
        let mut units = Units::standard();
        assert!(units.define("x", Some(&Unit::parse("cubit").unwrap())).is_err());
        units.define("cubit", None).unwrap();
        units.define("x", Some(&Unit::parse("3cubit").unwrap())).unwrap();
        assert!(units.knows("x") && units.define("a b", None).is_err());
    }
}
