//! Inline data: nested lists in the tree become an array.
//!
//! Schema core/ndarray, "data". Without a datatype the elements decide: strings (ucs4), complex numbers, floats,
//! integers, booleans. A `null` masks an element and counts as 0.

use std::sync::Arc;

use crate::array::{Array, Byteorder, Datatype, ElementValue, FloatPrecision, Mask, StructType};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tree::{Node, Scalar};

/// An element as the tree writes it.
#[derive(Debug, Clone, PartialEq)]
enum InlineValue<'t> {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Complex(f64, f64),
    Text(std::borrow::Cow<'t, str>),
}

/// Reads nested lists as an array; `shape` is checked if it is given, but for open dimensions.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) at the element that does not fit.
pub(super) fn read_inline_array(
    data: Node<'_>,
    datatype: Option<&Datatype>,
    shape: Option<&[Option<u64>]>,
    limits: &Limits,
) -> Result<Array> {
    let structure = match datatype {
        Some(Datatype::Struct(structure)) => Some(structure.clone()),
        _ => None,
    };
    let ndim = shape.map(<[_]>::len);
    let found_shape = match (&structure, ndim) {
        // A row of a structure is a list too, so the depth must come from the shape.
        (Some(_), ndim) => measure_dimensions(data, Some(ndim.unwrap_or(1)), limits)?,
        (None, Some(n)) if shape.is_some_and(|s| s.len() == n && !data.is_sequence() && n > 0) => {
            return Err(data.error("the shape has dimensions, but the data are not a list"));
        }
        (None, _) => measure_dimensions(data, None, limits)?,
    };
    if let Some(shape) = shape {
        let empty = found_shape.contains(&0) && shape.contains(&Some(0));
        let same = shape.len() == found_shape.len() && shape.iter().zip(&found_shape).all(|(s, f)| s.is_none_or(|s| s == *f));
        if !same && !empty {
            let stated: Vec<_> = shape.iter().map(|s| s.map_or("*".to_owned(), |n| n.to_string())).collect();
            return Err(
                data.error(format!("the data have the shape {found_shape:?}, but the shape [{}] is stated", stated.join(", ")))
            );
        }
        if empty {
            let shape = shape.iter().map(|s| s.unwrap_or(0)).collect();
            let datatype = datatype.cloned().unwrap_or_else(|| infer_datatype(&[]));
            return Array::from_bytes(Vec::new(), datatype, Byteorder::Little, shape);
        }
    }
    let leaves = nodes_at_depth(data, found_shape.len());
    let mut masked = Vec::new();
    let mut bytes = Vec::new();
    let datatype = match structure {
        Some(structure) => {
            for leaf in &leaves {
                masked.push(leaf.is_null());
                push_record(*leaf, &structure, &mut bytes, limits)?;
            }
            // Inline data have no byteorder: what is built here is little-endian.
            Datatype::Struct(Arc::new(structure.packed(Byteorder::Little)))
        }
        None => {
            let values = leaves.iter().map(|leaf| parse_element(*leaf)).collect::<Result<Vec<_>>>()?;
            let datatype = datatype.cloned().unwrap_or_else(|| infer_datatype(&values));
            limits.charge_memory((values.len() as u64).saturating_mul(datatype.item_size()), "inline data")?;
            for (leaf, value) in leaves.iter().zip(&values) {
                masked.push(*value == InlineValue::Null);
                push_element(&datatype, value, &mut bytes).map_err(|e| leaf.locate(e))?;
            }
            datatype
        }
    };
    let mut array = Array::from_bytes(bytes, datatype, Byteorder::Little, found_shape.clone())?;
    if masked.contains(&true) {
        let mask = masked.into_iter().map(u8::from).collect();
        array =
            array.with_mask(Mask::Array(Arc::new(Array::from_bytes(mask, Datatype::Bool8, Byteorder::Little, found_shape)?)))?;
    }
    Ok(array)
}

/// Length of the lists at each depth, which must be the same everywhere.
fn measure_dimensions(data: Node<'_>, depth: Option<usize>, limits: &Limits) -> Result<Vec<u64>> {
    let mut shape = Vec::new();
    let mut level = vec![data];
    while depth.is_none_or(|d| shape.len() < d) {
        let Some(first) = level.first() else { break };
        if !first.is_sequence() || first.tag().is_some_and(|t| t.contains("complex")) {
            // Below the first level a scalar next to lists is an error, except a null for a whole row.
            break;
        }
        let length = first.len();
        if let Some(odd) = level.iter().find(|n| !n.is_sequence() || n.len() != length) {
            return Err(odd.error(format!("the lists of inline data differ in length: expected {length} elements here")));
        }
        shape.push(length as u64);
        limits.charge_depth(shape.len(), "inline data")?;
        level = level.iter().flat_map(|n| n.items()).collect();
        charge_elements(data, level.len() as u64, limits)?;
    }
    if depth.is_none()
        && let Some(odd) = level.iter().find(|n| n.is_sequence() || n.is_mapping())
    {
        return Err(odd.error("the lists of inline data differ in depth: expected a number or text here"));
    }
    Ok(shape)
}

/// Bytes that an element takes while it is read.
const ELEMENT_COST: u64 = 128;

/// Refuses elements that only aliases make, and counts what each array costs: many nodes may be the same small text.
fn charge_elements(data: Node<'_>, elements: u64, limits: &Limits) -> Result<()> {
    if elements > (data.tree().node_count() as u64).saturating_add(limits.expansion) {
        return Err(Limits::exceeded_error("expansion", limits.expansion, "aliases add elements to inline data"));
    }
    limits.charge_work(elements.saturating_mul(ELEMENT_COST))
}

/// The nodes `depth` lists below `data`, in order.
fn nodes_at_depth(data: Node<'_>, depth: usize) -> Vec<Node<'_>> {
    let mut level = vec![data];
    for _ in 0..depth {
        level = level.iter().flat_map(|n| n.items()).collect();
    }
    level
}

fn parse_element(node: Node<'_>) -> Result<InlineValue<'_>> {
    if node.tag().is_some_and(|tag| tag.contains("/complex")) {
        let text = node.text();
        return match complex(&text) {
            Some((re, im)) => Ok(InlineValue::Complex(re, im)),
            None => Err(node.error(format!("{text:?} is not a complex number"))),
        };
    }
    Ok(match node.scalar() {
        Scalar::Null => InlineValue::Null,
        Scalar::Bool(b) => InlineValue::Bool(b),
        Scalar::Int(n) => InlineValue::Int(i128::from(n)),
        Scalar::BigInt(digits) => InlineValue::Int(digits.parse().map_err(|_| node.error("integer too large for any datatype"))?),
        Scalar::Float(f) => InlineValue::Float(f),
        _ => InlineValue::Text(node.text()),
    })
}

/// The datatype of data that state none (0.1.0dev, 4.1.3, `inline-data`): text as wide as the longest element is as
/// text, else complex128, else float64, else int64, else bool8. Python asdf makes text mixed with numbers wider.
fn infer_datatype(values: &[InlineValue<'_>]) -> Datatype {
    let has = |test: fn(&InlineValue<'_>) -> bool| values.iter().any(test);
    let text_width = |value: &InlineValue<'_>| match value {
        InlineValue::Text(text) => text.chars().count(),
        other => to_python_text(other).chars().count(),
    };
    if has(|v| matches!(v, InlineValue::Text(_))) {
        let width = values.iter().filter(|v| **v != InlineValue::Null).map(text_width).max().unwrap_or(1).max(1);
        return Datatype::Ucs4(u32::try_from(width).unwrap_or(u32::MAX));
    }
    if has(|v| matches!(v, InlineValue::Complex(..))) {
        return Datatype::Complex128;
    }
    if has(|v| matches!(v, InlineValue::Float(_))) {
        return Datatype::Float64;
    }
    if has(|v| matches!(v, InlineValue::Int(_))) {
        let fits = |v: &InlineValue<'_>| if let InlineValue::Int(n) = v { i64::try_from(*n).is_ok() } else { true };
        return if values.iter().all(fits) { Datatype::Int64 } else { Datatype::Uint64 };
    }
    Datatype::Bool8
}

/// Writes one row of a structured array: a list with a value for each field.
fn push_record(row: Node<'_>, structure: &StructType, bytes: &mut Vec<u8>, limits: &Limits) -> Result<()> {
    // Nodes still to be written, last first: a node with its datatype.
    let mut todo: Vec<(Node<'_>, Datatype, Vec<u64>)> = vec![(row, Datatype::Struct(Arc::new(structure.clone())), Vec::new())];
    while let Some((node, datatype, shape)) = todo.pop() {
        limits.charge_memory(bytes.len() as u64, "inline data")?;
        if let Some((first, rest)) = shape.split_first() {
            let items: Vec<_> = node.items().collect();
            if node.is_null() || items.len() as u64 != *first {
                return Err(node.error(format!("expected a list of {first} elements for this field")));
            }
            todo.extend(items.into_iter().rev().map(|item| (item, datatype.clone(), rest.to_vec())));
            continue;
        }
        match &datatype {
            Datatype::Struct(inner) if node.is_null() => {
                let size = Datatype::Struct(inner.clone()).item_size();
                bytes.resize(bytes.len().saturating_add(crate::bytes::to_usize(size)?), 0);
            }
            Datatype::Struct(inner) => {
                let items: Vec<_> = node.items().collect();
                if items.len() != inner.fields().len() {
                    return Err(node.error(format!("expected a list with a value for each of {} fields", inner.fields().len())));
                }
                let pairs = items.into_iter().zip(inner.fields()).rev();
                todo.extend(pairs.map(|(item, field)| (item, field.datatype.clone(), field.shape.clone())));
            }
            _ if node.is_null() => {
                let error = Error::unsupported("cannot read null in a field of a table: a mask covers whole rows");
                return Err(node.locate(error.hint("write null for the whole row, or a value for the field")));
            }
            simple => push_element(simple, &parse_element(node)?, bytes).map_err(|e| node.locate(e))?,
        }
    }
    Ok(())
}

/// Appends one element, little-endian; null counts as nothing.
fn push_element(datatype: &Datatype, value: &InlineValue<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    let misfit = || Error::malformed(format!("{} does not fit the datatype {datatype}", to_python_text(value)));
    let scalar = match datatype {
        Datatype::Ascii(_) | Datatype::Ucs4(_) if *value == InlineValue::Null => ElementValue::Text(String::new()),
        Datatype::Ascii(_) | Datatype::Ucs4(_) => ElementValue::Text(to_python_text(value)),
        Datatype::Float16 | Datatype::Float32 | Datatype::Float64 => to_float(value).map(double_element).ok_or_else(misfit)?,
        Datatype::Complex64 | Datatype::Complex128 => {
            let (re, im) = match value {
                InlineValue::Complex(re, im) => Some((*re, *im)),
                InlineValue::Text(text) => complex(text),
                _ => to_float(value).map(|re| (re, 0.0)),
            }
            .ok_or_else(misfit)?;
            ElementValue::Complex(re, im, FloatPrecision::Double)
        }
        Datatype::Struct(_)
        | Datatype::Float128
        | Datatype::Complex256
        | Datatype::Complex32
        | Datatype::Utf8(_)
        | Datatype::Ucs2(_) => {
            return Err(Error::unsupported(format!("inline data of the datatype {datatype}")));
        }
        _ => {
            let number = as_integer(value).ok_or_else(misfit)?;
            match (datatype, i64::try_from(number), u64::try_from(number)) {
                (Datatype::Bool8, ..) => ElementValue::Bool(number != 0),
                (_, Ok(number), _) => ElementValue::Int(number),
                (_, _, Ok(number)) => ElementValue::Uint(number),
                _ => return Err(misfit()),
            }
        }
    };
    scalar.encode(datatype, Byteorder::Little, bytes).map_err(|_| misfit())
}

fn double_element(x: f64) -> ElementValue {
    ElementValue::Float(x, FloatPrecision::Double)
}

/// A value as a whole number.
fn as_integer(value: &InlineValue<'_>) -> Option<i128> {
    match value {
        InlineValue::Null => Some(0),
        InlineValue::Bool(b) => Some(i128::from(*b)),
        InlineValue::Int(n) => Some(*n),
        InlineValue::Float(f) if f.fract() == 0.0 && f.abs() < 1e19 => Some(*f as i128),
        _ => None,
    }
}

/// A value as a float.
fn to_float(value: &InlineValue<'_>) -> Option<f64> {
    match value {
        InlineValue::Null => Some(0.0),
        InlineValue::Bool(b) => Some(f64::from(u8::from(*b))),
        InlineValue::Int(n) => Some(*n as f64),
        InlineValue::Float(f) => Some(*f),
        InlineValue::Text(text) => text.trim().parse().ok(),
        InlineValue::Complex(..) => None,
    }
}

/// An element as text, as Python prints it.
fn to_python_text(value: &InlineValue<'_>) -> String {
    match value {
        InlineValue::Null => "null".to_owned(),
        InlineValue::Bool(true) => "True".to_owned(),
        InlineValue::Bool(false) => "False".to_owned(),
        InlineValue::Int(n) => n.to_string(),
        InlineValue::Float(f) => format!("{f:?}"),
        InlineValue::Complex(re, im) => format!("({re}{im:+}j)"),
        InlineValue::Text(text) => text.clone().into_owned(),
    }
}

/// Reads a complex number as core/complex writes it: `1+2j`, `-1.5e3-infj`, `nan`, `2j`, in parentheses or not.
pub fn complex(text: &str) -> Option<(f64, f64)> {
    let text = text.trim();
    let text = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(text).trim();
    let number = |part: &str| -> Option<f64> {
        let lower = part.trim().to_ascii_lowercase();
        let (sign, word) = match lower.strip_prefix('-') {
            Some(rest) => (-1.0, rest),
            None => (1.0, lower.strip_prefix('+').unwrap_or(&lower)),
        };
        match word {
            "inf" | "infinity" | ".inf" => Some(sign * f64::INFINITY),
            "nan" | ".nan" => Some(f64::NAN),
            "" => None,
            _ if word.starts_with(['+', '-']) => None,
            _ => word.parse::<f64>().ok().map(|v| sign * v),
        }
    };
    let Some(body) = text.strip_suffix(['j', 'J', 'i', 'I']).filter(|_| !text.to_ascii_lowercase().ends_with("inf")) else {
        return number(text).map(|re| (re, 0.0));
    };
    // The sign that parts the two numbers is the last one that belongs to no exponent.
    let bytes = body.as_bytes();
    let split = (1..bytes.len()).rev().find(|&at| matches!(bytes[at], b'+' | b'-') && !matches!(bytes[at - 1], b'e' | b'E'));
    let imaginary = |part: &str| match part.trim() {
        "" | "+" => Some(1.0),
        "-" => Some(-1.0),
        other => number(other),
    };
    match split {
        Some(at) => Some((number(&body[..at])?, imaginary(&body[at..])?)),
        None => Some((0.0, imaginary(body)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_numbers_are_read_in_every_spelling() {
        assert_eq!(complex("1+2j"), Some((1.0, 2.0)));
        assert_eq!(complex("(1.5e-3-2E+5j)"), Some((1.5e-3, -2e5)));
        assert_eq!(complex("-2j"), Some((0.0, -2.0)));
        assert_eq!(complex("3"), Some((3.0, 0.0)));
        assert_eq!(complex("inf-infj"), Some((f64::INFINITY, f64::NEG_INFINITY)));
        assert_eq!(complex("j"), Some((0.0, 1.0)));
        assert!(complex("nan+nanj").is_some_and(|(re, im)| re.is_nan() && im.is_nan()));
        assert_eq!(complex("banana"), None);
        assert_eq!(complex(""), None);
    }

    #[test]
    fn elements_decide_datatype() {
        assert_eq!(infer_datatype(&[InlineValue::Bool(true)]), Datatype::Bool8);
        assert_eq!(infer_datatype(&[InlineValue::Int(1), InlineValue::Null]), Datatype::Int64);
        assert_eq!(infer_datatype(&[InlineValue::Int(1), InlineValue::Float(0.5)]), Datatype::Float64);
        assert_eq!(infer_datatype(&[InlineValue::Int(i128::from(u64::MAX))]), Datatype::Uint64);
        assert_eq!(infer_datatype(&[InlineValue::Text("abc".into()), InlineValue::Text("d".into())]), Datatype::Ucs4(3));
        assert_eq!(infer_datatype(&[InlineValue::Int(1), InlineValue::Text("abc".into())]), Datatype::Ucs4(3));
        assert_eq!(infer_datatype(&[InlineValue::Int(1234), InlineValue::Text("abc".into())]), Datatype::Ucs4(4));
        assert_eq!(infer_datatype(&[InlineValue::Float(1.5), InlineValue::Text("ab".into())]), Datatype::Ucs4(3));
        assert_eq!(infer_datatype(&[InlineValue::Null, InlineValue::Null]), Datatype::Bool8);
        assert_eq!(infer_datatype(&[]), Datatype::Bool8);
    }
}
