//! Structured elements: [`StructType`] and its [`Field`]s.

use std::fmt;

use super::datatype::{Byteorder, Datatype};
use super::shape::MAX_AXES;
use crate::error::{Error, Result};

/// Maximum depth of nested structs.
const MAX_DEPTH: usize = 64;
/// Maximum number of fields of a struct. Fields of a nested struct count each time they occur.
const MAX_FIELDS: u64 = 1 << 20;

/// Cost of a field, in bytes of work. A few lines can describe a million fields by aliases or by types that double,
/// and a few more lines can describe a thousand arrays of them. So the code that makes a datatype charges this work
/// for each of its fields.
pub const FIELD_COST: u64 = 512;

/// A field of a structured element.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Field {
    /// Name of the field, if it has one.
    pub name: Option<String>,
    /// The datatype of the field.
    pub datatype: Datatype,
    /// The byte order of its words; a struct in it has its own.
    pub byteorder: Byteorder,
    /// The shape of the array that it is in every element; empty for a single value.
    pub shape: Vec<u64>,
    /// Bytes from the start of the element; set by [`StructType::packed_from`].
    pub offset: u64,
}

impl Field {
    /// A field of one value at offset 0.
    pub fn new(name: impl Into<String>, datatype: Datatype, byteorder: Byteorder) -> Self {
        Self { name: Some(name.into()), datatype, byteorder, shape: Vec::new(), offset: 0 }
    }

    /// A field without a name.
    pub fn without_name(datatype: Datatype, byteorder: Byteorder) -> Self {
        Self { name: None, datatype, byteorder, shape: Vec::new(), offset: 0 }
    }

    /// The field as an array in every element.
    #[must_use]
    pub fn with_shape(mut self, shape: Vec<u64>) -> Self {
        self.shape = shape;
        self
    }

    /// The field at this offset.
    #[must_use]
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Returns the number of values that it holds in every element.
    pub fn count(&self) -> u64 {
        // Checked when the struct was made.
        self.shape.iter().fold(1, |n: u64, len| n.saturating_mul(*len))
    }

    /// Returns the name of the field, or `f` and its position if it has none, as numpy does.
    pub fn name_or(&self, position: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("f{position}"))
    }
}

/// The fields of a structured element (ndarray-1.1.0, `datatype` given as a list).
///
/// ```
/// use trilith_array::array::{Byteorder, Datatype, Field, StructType};
/// let row = StructType::packed_from(vec![
///     Field::new("id", Datatype::Int32, Byteorder::Little),
///     Field::new("flux", Datatype::Float64, Byteorder::Big).with_shape(vec![2]),
/// ])?;
/// assert_eq!((row.item_size(), row.fields()[1].offset), (20, 4));
/// # Ok::<(), trilith_array::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StructType {
    fields: Vec<Field>,
    item_size: u64,
    packed_size: u64,
    depth: usize,
    total_fields: u64,
}

impl StructType {
    /// Fields one after the other without padding, as in ASDF; their offsets are set here.
    ///
    /// # Errors
    /// Returns the errors of [`StructType::with_offsets`].
    pub fn packed_from(mut fields: Vec<Field>) -> Result<Self> {
        let mut end = 0u64;
        for field in &mut fields {
            field.offset = end;
            end =
                field_size(field, Datatype::item_size).and_then(|size| end.checked_add(size)).ok_or_else(|| too_large(field))?;
        }
        Self::with_offsets(fields, end)
    }

    /// Fields at their offsets in an element of `item_size` bytes, as in Dudley; they may overlap.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for sizes past 2⁶³ and for a field past the
    /// end of the element, [`ErrorKind::Limit`](crate::ErrorKind::Limit) for deep nesting or a million fields.
    pub fn with_offsets(fields: Vec<Field>, item_size: u64) -> Result<Self> {
        let (mut packed_size, mut depth, mut all_fields) = (0u64, 1, fields.len() as u64);
        for field in &fields {
            if field.shape.len() > MAX_AXES {
                let message = format!("a field of {} axes, at most {MAX_AXES} are possible", field.shape.len());
                return Err(Error::unsupported(message));
            }
            let end = field_size(field, Datatype::item_size)
                .and_then(|size| field.offset.checked_add(size))
                .ok_or_else(|| too_large(field))?;
            if end > item_size {
                let name = field.name.as_deref().unwrap_or("without a name");
                return Err(Error::malformed(format!("field {name} ends at byte {end} of an element of {item_size} bytes")));
            }
            packed_size = field_size(field, Datatype::packed_size)
                .and_then(|size| packed_size.checked_add(size))
                .ok_or_else(|| too_large(field))?;
            if let Datatype::Struct(inner) = &field.datatype {
                depth = depth.max(inner.depth + 1);
                all_fields = all_fields.saturating_add(inner.total_fields);
            }
        }
        if item_size.max(packed_size) > i64::MAX as u64 {
            return Err(Error::malformed(format!("a structured element of {item_size} bytes, at most 2^63 are possible")));
        }
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("a structured datatype nests {depth} deep, at most {MAX_DEPTH} are possible")));
        }
        if all_fields > MAX_FIELDS {
            return Err(Error::limit(format!(
                "a structured datatype has {all_fields} fields, at most {MAX_FIELDS} are possible"
            )));
        }
        Ok(Self { fields, item_size, packed_size, depth, total_fields: all_fields })
    }

    /// The fields in their order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The first field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name.as_deref() == Some(name))
    }

    /// Bytes of one element, padding included.
    pub fn item_size(&self) -> u64 {
        self.item_size
    }

    /// Bytes of one element without padding.
    pub fn packed_size(&self) -> u64 {
        self.packed_size
    }

    /// Returns the number of fields, including those of nested structs.
    pub fn total_fields(&self) -> u64 {
        self.total_fields
    }

    /// Returns the fields one after the other without padding, all in `order`.
    pub fn packed(&self, order: Byteorder) -> Self {
        let mut end = 0;
        let fields = self
            .fields
            .iter()
            .map(|field| {
                let at = end;
                end += field_size(field, Datatype::packed_size).unwrap_or(0);
                Field { datatype: field.datatype.packed(order), byteorder: order, offset: at, ..field.clone() }
            })
            .collect();
        Self { fields, item_size: self.packed_size, ..self.clone_head() }
    }

    /// Returns `true` if both have fields of the same names, shapes and meanings, in this order.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.fields.len() == other.fields.len()
            && self
                .fields
                .iter()
                .zip(&other.fields)
                .all(|(a, b)| a.name == b.name && a.shape == b.shape && a.datatype.is_equivalent(&b.datatype))
    }

    fn clone_head(&self) -> Self {
        Self { fields: Vec::new(), ..*self }
    }
}

fn field_size(field: &Field, size: impl Fn(&Datatype) -> u64) -> Option<u64> {
    // A zero anywhere makes the field empty, whatever the other lengths are.
    if field.shape.contains(&0) {
        return Some(0);
    }
    field.shape.iter().try_fold(size(&field.datatype), |n, len| n.checked_mul(*len))
}

#[cold]
fn too_large(field: &Field) -> Error {
    let name = field.name.as_deref().unwrap_or("without a name");
    Error::malformed(format!("the size of field {name} of shape {:?} does not fit in 64 bits", field.shape))
}

impl fmt::Display for StructType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, field) in self.fields.iter().enumerate() {
            f.write_str(if i == 0 { "{" } else { ", {" })?;
            if let Some(name) = &field.name {
                write!(f, "name: {name}, ")?;
            }
            write!(f, "datatype: {}", field.datatype)?;
            if !field.shape.is_empty() {
                write!(f, ", shape: {:?}", field.shape)?;
            }
            f.write_str("}")?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const LITTLE: Byteorder = Byteorder::Little;

    #[test]
    fn sizes_that_overflow_are_errors() {
        let huge = Field::new("a", Datatype::Float64, LITTLE).with_shape(vec![1 << 40, 1 << 40]);
        assert!(StructType::packed_from(vec![huge]).is_err());
        let none = Field::new("a", Datatype::Float64, LITTLE).with_shape(vec![1 << 40, 1 << 40, 0]);
        assert_eq!(StructType::packed_from(vec![none]).unwrap().item_size(), 0);
        let past = Field::new("a", Datatype::Float64, LITTLE).with_offset(4);
        assert!(StructType::with_offsets(vec![past], 8).is_err());
    }

    #[test]
    fn nesting_and_doubling_are_limited() {
        let mut inner = Datatype::Struct(Arc::new(StructType::packed_from(Vec::new()).unwrap()));
        let mut failed = None;
        for level in 0..100 {
            let fields = vec![Field::new("a", inner.clone(), LITTLE), Field::new("b", inner.clone(), LITTLE)];
            match StructType::packed_from(fields) {
                Ok(made) => inner = Datatype::Struct(Arc::new(made)),
                Err(error) => {
                    assert_eq!(error.kind(), crate::ErrorKind::Limit);
                    failed = Some(level);
                    break;
                }
            }
        }
        assert_eq!(failed, Some(19));
        let odd = Field::new("a", Datatype::Int8, LITTLE).with_shape(vec![1; 65]);
        assert!(StructType::packed_from(vec![odd]).is_err());
    }

    #[test]
    fn packing_drops_padding_and_keeps_meaning() {
        let padded = StructType::with_offsets(
            vec![Field::new("a", Datatype::Uint8, LITTLE), Field::new("b", Datatype::Float64, Byteorder::Big).with_offset(8)],
            16,
        )
        .unwrap();
        let packed = padded.packed(LITTLE);
        assert_eq!((packed.item_size(), packed.fields()[1].offset), (9, 1));
        assert!(packed.is_equivalent(&padded));
        assert_eq!(packed.to_string(), "[{name: a, datatype: uint8}, {name: b, datatype: float64}]");
    }
}
