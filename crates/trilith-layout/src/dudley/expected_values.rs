//! The values that a layout expects in each of its files, and what is odd about a file under it.
//!
//! The attributes `expect_value=3`, `expect_value="abcd"` and `expect_range=[0, 1]` of a parameter, an item or a member of structs
//! hold for each element.

use super::dudley_file::{DudleyFile, LayoutOrigin, StreamItems, StreamOptions};
use super::order_detection::{OrderFit, order_fit};
use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::NoReferences;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{Attribute, ItemId, Layout, LayoutLiteral, StreamEntryKind, find_unknown_word, quoted_name};
use crate::suggest::nearest;

/// The attribute that holds the value of each element.
const EXPECT_VALUE: &str = "expect_value";
/// The attribute that holds the least and the largest value of an element.
const EXPECT_RANGE: &str = "expect_range";

/// The declarations of its layout that a file contradicts.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct DeclaredFaults {
    /// Values that are not the expected ones, by the path of their item.
    pub problems: Vec<(String, Error)>,
    /// Oddities that the language allows: a length of -1, bytes that the layout does not describe.
    pub warnings: Vec<String>,
}

/// Returns the values of a file that its layout does not expect, and unusual sizes and parameters.
///
/// # Errors
/// Returns an error if an item with an expectation cannot be read, or if the layout expects what no value can be.
pub fn find_declared_faults(items: &StreamItems<'_>) -> Result<DeclaredFaults> {
    let (file, layout) = (items.file(), items.file().layout());
    let mut found = DeclaredFaults::default();
    if file.is_foreign() {
        return Ok(found);
    }
    let has_expectations = declares_expectations(layout);
    found.warnings.extend(find_misspelt_attributes(layout));
    for entry in items.evaluation().collect_params()? {
        if let Some(value) = entry.value.filter(|value| *value < 0) {
            found.warnings.push(format!("{} is {value}, so that arrays lose the dimensions that name it", entry.path));
        }
    }
    // A list may have very many elements.
    for entry in items.entries().take_while(|_| has_expectations) {
        let entry = entry?;
        let mut check = |path: String, item: ItemId, array: &dyn Fn() -> Result<Array>| -> Result<()> {
            if let Some(expected) = Expectation::of_item(layout, item)?
                && let Err(error) = array().and_then(|array| expected.check(&array))
            {
                found.problems.push((path, error));
            }
            Ok(())
        };
        match (entry.kind, entry.value) {
            (StreamEntryKind::Param, Some(value)) => {
                check(entry.path.clone(), entry.item, &|| Array::from_slice(&[value], &[]))?;
            }
            (StreamEntryKind::Data, _) if entry.address.is_some() => {
                check(entry.path.clone(), entry.item, &|| items.array(&entry))?;
                for member in layout.told_members(entry.item) {
                    let names: String = member.path.iter().map(|name| format!(".{}", quoted_name(name))).collect();
                    let path = format!("{}{names}", entry.path);
                    check(path.clone(), member.item, &|| items.array_at(&path))?;
                }
            }
            _ => {}
        }
    }
    let end = items.evaluation().total().and_then(|total| total.checked_add(file.base_offset()));
    let has_layout = file.signature().is_some_and(|signature| signature.layout_offset.is_some());
    let is_inside = has_layout || matches!(file.origin(), LayoutOrigin::Embedded(_));
    if let Some(end) = end.filter(|end| !is_inside && *end < file.source().len()) {
        let more = file.source().len() - end;
        found.warnings.push(format!("the layout does not describe the last {more} bytes: its data end at byte {end}"));
    }
    Ok(found)
}

/// Returns a warning for each attribute whose name is nearly one that Trilith reads, or begins as the words about storage do.
fn find_misspelt_attributes(layout: &Layout) -> Vec<String> {
    let mut found = Vec::new();
    for item in (0..layout.item_count()).filter_map(|at| layout.item_at(at)) {
        // An array in chunks is refused for an unknown word.
        let is_grid = layout.is_grid(item);
        for (name, _) in layout.attributes(item) {
            let is_expectation = matches!(name, EXPECT_VALUE | EXPECT_RANGE);
            let expected = || nearest(name, [EXPECT_VALUE, EXPECT_RANGE]).filter(|_| !is_expectation).map(Some);
            let Some(near) = find_unknown_word(name).filter(|_| !is_grid).or_else(expected) else { continue };
            let hint = near.map_or_else(String::new, |near| format!(": did you mean {near}?"));
            found.push(format!("{}: the attribute {name} means nothing to Trilith{hint}", layout.path(item)));
        }
    }
    found
}

/// Returns the other byte order if a file without signature keeps its layout in that order alone: it has as many bytes as the layout
/// says, and the expected values.
pub(super) fn plausible_byteorder(file: &DudleyFile) -> Option<Byteorder> {
    if file.signature().is_some() || file.is_foreign() || file.layout().order().is_some() {
        return None;
    }
    let other = match file.byteorder()? {
        Byteorder::Big => Byteorder::Little,
        _ => Byteorder::Big,
    };
    let mut how = StreamOptions::default();
    (how.layout, how.order, how.base_offset) = (Some(file.layout().clone()), Some(other), file.base_offset());
    let swapped = DudleyFile::open_with(file.source().clone(), &NoReferences, how, file.limits()).ok()?;
    (order_fit(&swapped) == OrderFit::Exact).then_some(other)
}

/// Adds to an error of a file that the file is plausible in the other byte order, if it is.
#[doc(hidden)]
pub fn advise_byteorder(error: Error, file: &DudleyFile) -> Error {
    match plausible_byteorder(file) {
        Some(other) if error.kind() != ErrorKind::Cancelled => {
            let name = if other == Byteorder::Big { "big" } else { "little" };
            error.hint(format!("plausible with --byteorder {name}"))
        }
        _ => error,
    }
}

/// Returns `true` if a layout declares the value or the range of one of its items.
pub(super) fn declares_expectations(layout: &Layout) -> bool {
    let expects = |item| layout.attributes(item).any(|(name, _)| matches!(name, EXPECT_VALUE | EXPECT_RANGE));
    (0..layout.item_count()).filter_map(|at| layout.item_at(at)).any(expects)
}

/// The values that an item may have.
struct Expectation<'l> {
    value: Option<&'l LayoutLiteral>,
    range: Option<(&'l LayoutLiteral, &'l LayoutLiteral)>,
}

impl<'l> Expectation<'l> {
    /// Returns the expectation that a layout declares for an item, if it declares one.
    fn of_item(layout: &'l Layout, item: ItemId) -> Result<Option<Self>> {
        let mut made = Self { value: None, range: None };
        for (name, said) in layout.attributes(item) {
            match (name, said) {
                (EXPECT_VALUE, Attribute::Value(value)) => made.value = Some(value),
                (EXPECT_RANGE, Attribute::List(list)) if list.len() == 2 => made.range = list.first().zip(list.get(1)),
                (EXPECT_VALUE | EXPECT_RANGE, _) => {
                    let path = layout.path(item);
                    return Err(Error::invalid_input(format!("{name} of {path} is not a value that elements can have"))
                        .hint("write expect_value=3 or expect_range=[0, 1]"));
                }
                _ => {}
            }
        }
        Ok((made.value.is_some() || made.range.is_some()).then_some(made))
    }

    /// Fails for the first element that is not as expected.
    fn check(&self, array: &Array) -> Result<()> {
        if let Some(LayoutLiteral::Text(text)) = self.value {
            let texts = super::char_sets::decode_text(array)?;
            let texts = if texts.datatype().is_text() { texts.load_texts()? } else { return Err(not_comparable(array)) };
            return match texts.iter().find(|found| found.trim_end_matches('\0') != text) {
                Some(found) => Err(Error::malformed(format!("is {found:?}, expected {text:?}"))),
                None => Ok(()),
            };
        }
        // Integers are compared as integers, because rounding could make two of them equal.
        let (integers, floats): (Vec<i128>, Vec<f64>) = match array.datatype() {
            Datatype::Uint64 => (array.load_as::<u64>()?.into_iter().map(i128::from).collect(), Vec::new()),
            known if known.is_integer() || *known == Datatype::Bool8 => {
                (array.load_as::<i64>()?.into_iter().map(i128::from).collect(), Vec::new())
            }
            known if known.is_float() => (Vec::new(), array.load_as::<f64>()?),
            _ => return Err(not_comparable(array)),
        };
        for number in integers {
            self.check_number(number as f64, Some(number)).map_err(|expected| unexpected(&number.to_string(), &expected))?;
        }
        for number in floats {
            self.check_number(number, None).map_err(|expected| unexpected(&number.to_string(), &expected))?;
        }
        Ok(())
    }

    /// Compares one number; returns what was expected instead.
    fn check_number(&self, number: f64, integer: Option<i128>) -> std::result::Result<(), String> {
        let compare = |literal: &LayoutLiteral| match (literal, integer) {
            (LayoutLiteral::Integer(other), Some(integer)) => Some(integer.cmp(&i128::from(*other))),
            (LayoutLiteral::Large(digits), Some(integer)) => Some(integer.cmp(&digits.parse().ok()?)),
            (LayoutLiteral::Integer(other), None) => number.partial_cmp(&(*other as f64)),
            (LayoutLiteral::Large(digits), None) => number.partial_cmp(&digits.parse().ok()?),
            (LayoutLiteral::Float(other), _) => number.partial_cmp(other),
            _ => None,
        };
        if let Some(value) = self.value
            && compare(value) != Some(std::cmp::Ordering::Equal)
        {
            return Err(value.to_string());
        }
        if let Some((least, largest)) = self.range
            && !(compare(least).is_some_and(std::cmp::Ordering::is_ge) && compare(largest).is_some_and(std::cmp::Ordering::is_le))
        {
            return Err(format!("{least} to {largest}"));
        }
        Ok(())
    }
}

fn unexpected(found: &str, expected: &str) -> Error {
    Error::malformed(format!("is {found}, expected {expected}"))
}

fn not_comparable(array: &Array) -> Error {
    Error::malformed(format!("is {}, which the layout compares with a value of another kind", array.datatype()))
}
