//! The array that a request is about: the item at `path`, its `field`, its `slice`.

use std::sync::Arc;

use trilith::array::NestedEvent;
use trilith::file::Item;
use trilith::{Array, Error, Index, Result};

use super::{OpenFile, ViewerRequest, ViewerSession};

/// The array that a request names, with its file.
pub(super) fn array_of(session: &ViewerSession, request: &ViewerRequest) -> Result<(Arc<OpenFile>, Array)> {
    let opened = session.requested_file(request)?;
    let array = requested_array(&opened, request.text_parameter("path"), request)?;
    Ok((opened, array))
}

/// The array at a path, with the field and the slice of the request.
pub(super) fn requested_array(opened: &OpenFile, path: &str, request: &ViewerRequest) -> Result<Array> {
    let item = item_at(opened, path)?;
    let mut array = item.decoder().decode_text(item.as_array()?)?;
    if let Some(field) = request.get("field").filter(|field| !field.is_empty()) {
        array = array.field(field)?;
    }
    if let Some(slice) = request.get("slice").filter(|slice| !slice.is_empty()) {
        array = array.slice(Index::parse_list(slice)?)?;
    }
    Ok(array.with_limits(opened.request_limits()))
}

/// The item at a path, or what it refers to.
pub(super) fn item_at<'f>(opened: &'f OpenFile, path: &str) -> Result<Item<'f>> {
    let item = if path.is_empty() { opened.file.root() } else { opened.file.item(path)? };
    item.resolve()
}

/// The numbers of an array, or their magnitudes if they are complex; NaN if an element is masked.
pub(super) fn numbers(array: &Array) -> Result<Vec<f64>> {
    if array.datatype().is_text() || array.datatype().as_struct().is_some() {
        return Err(Error::invalid_input(format!("elements of type {} are not numbers", array.datatype().name())));
    }
    let mut numbers = if array.datatype().is_complex() {
        let parts = array.load_as::<trilith::num_complex::Complex<f64>>()?;
        parts.into_iter().map(|number| number.norm()).collect()
    } else {
        array.load_as::<f64>()?
    };
    if let Some(mask) = array.mask_bytes()? {
        for (number, _) in numbers.iter_mut().zip(mask).filter(|(_, masked)| *masked == 1) {
            *number = f64::NAN;
        }
    }
    Ok(numbers)
}

/// Each element as text; None if it is masked. Elements that are lists are written as lists.
pub(super) fn element_texts(array: &Array, most: usize) -> Result<Vec<Option<String>>> {
    use trilith::array::FloatText::Shortest;
    let mut all = Vec::new();
    array.for_each_scalar(|element, masked| {
        let text = (!masked).then(|| element.text(Shortest));
        all.push(text.map(|text| match text.char_indices().nth(most) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("")),
            None => text,
        }));
        Ok(())
    })?;
    Ok(all)
}

/// Returns each row of an array as text: one element, or the list of the elements.
pub(crate) fn row_text(array: &Array, most: usize) -> Result<Vec<Option<String>>> {
    if array.shape().len() <= 1 {
        return element_texts(array, most);
    }
    let (mut rows, mut depth, mut row) = (Vec::new(), 0, String::new());
    array.for_each_nested(|step| {
        match step {
            NestedEvent::Open => {
                depth += 1;
                if depth > 1 {
                    push_comma(&mut row);
                    row.push('[');
                }
            }
            NestedEvent::Close => {
                depth -= 1;
                if depth > 0 {
                    row.push(']');
                }
                if depth == 1 {
                    rows.push(Some(std::mem::take(&mut row)));
                }
            }
            NestedEvent::Element(element) if row.len() < most => {
                push_comma(&mut row);
                row.push_str(&element.text(trilith::array::FloatText::Shortest));
            }
            NestedEvent::Masked if row.len() < most => {
                push_comma(&mut row);
                row.push('–');
            }
            _ if !row.ends_with('…') => row.push('…'),
            _ => {}
        }
        Ok(())
    })?;
    Ok(rows)
}

/// A comma before the next entry of a list.
fn push_comma(row: &mut String) {
    if !row.is_empty() && !row.ends_with('[') {
        row.push_str(", ");
    }
}
