//! Values that fixed parameters of a layout get for one file: a number, or what follows from the length of the file.

use crate::error::{Error, Result};
use crate::layout::{ItemId, ItemKind, Layout, ParseOptions, parse};
use crate::limits::Limits;

/// The value of a fixed parameter for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParamSetting {
    /// This number.
    Number(i64),
    /// The number with which the data end at the end of the file.
    Fill,
}

impl ParamSetting {
    /// Reads `NAME=3` or `NAME=fill`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for anything else.
    pub fn parse(text: &str) -> Result<(String, Self)> {
        let bad = || Error::invalid_input(format!("{text:?} is not a parameter")).hint("write NAME=3 or NAME=fill");
        let (name, value) = text.split_once('=').ok_or_else(bad)?;
        let setting = match value.trim() {
            "fill" => Self::Fill,
            number => Self::Number(number.parse().map_err(|_| bad())?),
        };
        Ok((name.trim().to_owned(), setting))
    }
}

/// Returns a layout in which fixed parameters have other values, for a file of `len` bytes. `end_of` returns the end of the data under
/// a layout.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the layout has no such fixed parameter, and
/// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the rest of the file is not a number of whole records.
pub(super) fn apply_settings(
    layout: Layout,
    params: &[(String, ParamSetting)],
    len: u64,
    limits: &Limits,
    end_of: &dyn Fn(Layout) -> Result<Option<u64>>,
) -> Result<Layout> {
    let mut layout = layout;
    let mut filled = None;
    for (name, setting) in params {
        match setting {
            ParamSetting::Number(value) => layout = with_fixed_value(&layout, name, *value, limits)?,
            ParamSetting::Fill if filled.is_some() => {
                return Err(Error::invalid_input("two parameters cannot both follow from the length of the file"));
            }
            ParamSetting::Fill => filled = Some(name),
        }
    }
    let Some(name) = filled else { return Ok(layout) };
    let end = |count: u64| {
        let count = i64::try_from(count).map_err(|_| Error::invalid_input("E406: the file is too large"))?;
        let made = with_fixed_value(&layout, name, count, limits)?;
        let end = end_of(made)?;
        end.ok_or_else(|| {
            Error::invalid_input(format!("the size of the data is not known, so that {name} cannot follow from it"))
        })
    };
    let (one, two) = (end(1)?, end(2)?);
    let Some(row) = two.checked_sub(one).filter(|row| *row > 0) else {
        return Err(Error::invalid_input(format!("no item becomes longer with {name}")));
    };
    let count = len.checked_sub(one).map_or(0, |more| 1 + more / row);
    let known = end(count)?;
    if known != len {
        let message = if known < len {
            format!("the last {} bytes of the file are not a whole record of {row} bytes", len - known)
        } else {
            format!("the file has {len} bytes, and its data begin after them")
        };
        return Err(Error::malformed(message).hint(format!("give the number of records: --param {name}={count}")));
    }
    with_fixed_value(&layout, name, i64::try_from(count).unwrap_or(i64::MAX), limits)
}

/// Returns the item of a parameter.
fn find_param(layout: &Layout, name: &str) -> Result<ItemId> {
    let item = layout.declared(&[(false, name.trim_start_matches('/').to_owned())]);
    let item = item.filter(|item| layout.kind(*item) == ItemKind::Param);
    item.ok_or_else(|| Error::invalid_input(format!("the layout has no parameter {name}")))
}

/// Returns the value of a fixed parameter.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the layout has no such fixed parameter.
pub(super) fn fixed_value(layout: &Layout, name: &str) -> Result<i64> {
    let value = layout.param_of(find_param(layout, name)?).and_then(|param| param.fixed_value);
    value.ok_or_else(|| {
        let error = Error::invalid_input(format!("each file stores its own {name}, so that it cannot have another value"));
        error.hint(format!("declare it as a fixed parameter of the layout, {name} : 1"))
    })
}

/// Returns a layout in which a fixed parameter has another value.
pub(super) fn with_fixed_value(layout: &Layout, name: &str, value: i64, limits: &Limits) -> Result<Layout> {
    let item = find_param(layout, name)?;
    let text = layout.text();
    let rest = text.get(layout.span(item).end as usize..).unwrap_or("");
    let number = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ':' || c == '=');
    let start = text.len() - number.len();
    let len = number.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+'))).unwrap_or(number.len());
    let is_fixed = number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+'));
    if !is_fixed || value < -1 {
        let error = Error::invalid_input(format!("{name} cannot be {value} for one file: it is stored in the file, or below -1"));
        return Err(error.hint(format!("declare it as a fixed parameter of the layout, {name} : 1")));
    }
    let mut changed = text.to_owned();
    changed.replace_range(start..start + len, &value.to_string());
    let mut options = ParseOptions::with_dialect(Some(layout.dialect()));
    options.limits = limits.clone();
    parse(changed.as_bytes(), &options)?.into_layout()
}
