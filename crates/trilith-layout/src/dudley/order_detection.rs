//! The byte order of a file without signature, if neither its layout nor the caller gives one: that in which it fits its layout.

use super::dudley_file::{DudleyFile, StreamOptions};
use super::expected_values::{declares_expectations, find_declared_faults};
use crate::error::{Error, ErrorKind, Result, SuggestedSetting};
use crate::layout::Byteorder;

/// Agreement of a file with its layout in one byte order, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OrderFit {
    /// It cannot be read so, or has other values than its layout expects.
    None,
    /// It ends before its data, and has the expected values.
    Truncated,
    /// It has bytes after its data.
    Longer,
    /// It ends with its data.
    Exact,
}

/// Returns how well a file agrees with its layout in the byte order in which it was opened.
pub(super) fn order_fit(file: &DudleyFile) -> OrderFit {
    let fit = || {
        let items = file.locate_items()?;
        let is_expected = find_declared_faults(&items)?.problems.is_empty();
        let end = items.evaluation().total().and_then(|total| total.checked_add(file.base_offset()));
        Ok::<_, Error>(match end.filter(|_| is_expected).map(|end| end.cmp(&file.source().len())) {
            Some(std::cmp::Ordering::Equal) => OrderFit::Exact,
            Some(std::cmp::Ordering::Less) => OrderFit::Longer,
            Some(std::cmp::Ordering::Greater) if declares_expectations(file.layout()) => OrderFit::Truncated,
            _ => OrderFit::None,
        })
    };
    fit().unwrap_or(OrderFit::None)
}

/// Opens a file of a set by `open`. A byte order that nothing states is the one in which the file fits its layout.
///
/// # Errors
/// Returns the errors of `open`, [`ErrorKind::Malformed`] if the file fits its layout in neither byte order, and
/// [`ErrorKind::InvalidInput`] if it fits equally well in both.
pub(super) fn open_member(how: &StreamOptions, open: &mut dyn FnMut(StreamOptions) -> Result<DudleyFile>) -> Result<DudleyFile> {
    let unordered = open(how.clone());
    if how.order.is_some() || how.layout.as_ref().is_none_or(|layout| layout.order().is_some()) {
        return unordered;
    }
    // Without parameters that need an order, and without expectations, nothing in the file could tell it.
    let is_readable = match &unordered {
        Ok(file) if file.signature().is_some() => return unordered,
        Ok(file) => file.locate_items().is_ok(),
        Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Limit | ErrorKind::Cancelled) => return unordered,
        Err(_) => false,
    };
    if is_readable && !how.layout.as_ref().is_some_and(declares_expectations) {
        return unordered;
    }
    let mut in_order = |order| open(StreamOptions { order: Some(order), ..how.clone() });
    let (little, big) = (in_order(Byteorder::Little), in_order(Byteorder::Big));
    let fit = |file: &Result<DudleyFile>| file.as_ref().map_or(OrderFit::None, order_fit);
    match (fit(&little), fit(&big)) {
        (OrderFit::None, OrderFit::None) => {
            let message =
                format!("it fits its layout in neither byte order: {}; {}", misfit(little, "little"), misfit(big, "big"));
            Err(Error::malformed(message))
        }
        (one, other) if one > other => little,
        (one, other) if one < other => big,
        _ if is_readable => unordered,
        _ => {
            let message = "it fits its layout in both byte orders, so that its order is not known";
            let error = Error::invalid_input(message).hint("declare a value that tells them apart: expect_value or expect_range");
            Err(error.setting("if all files have one order", SuggestedSetting::Byteorder))
        }
    }
}

/// Returns the reason why a file does not fit its layout in a byte order.
fn misfit(file: Result<DudleyFile>, order: &str) -> String {
    let reason = file.and_then(|file| {
        let items = file.locate_items()?;
        match find_declared_faults(&items)?.problems.into_iter().next() {
            Some((path, error)) => Err(error.context(path)),
            None => Ok(super::layout_values::too_short(&items)),
        }
    });
    let reason = reason.unwrap_or_else(|error| Some(error.to_string()));
    format!("as {order}-endian {}", reason.unwrap_or_else(|| "the end of its data is not known".to_owned()))
}
