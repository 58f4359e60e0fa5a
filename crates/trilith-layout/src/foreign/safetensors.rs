//! safetensors: the length of a JSON text as 8 bytes, that text, and the bytes of the tensors.
//!
//! Floats of 8 bits, and those of 16 with the exponent of 32, are not datatypes of a layout: their bytes are declared, and
//! `safetensors_dtype` names them.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::header_reader::HeaderReader;
use super::recognize::MAX_SAFETENSORS_HEADER as HEADER;
use crate::bytes::{SourceRef, read_vec};
use crate::error::{Error, Result, ResultExt};
use crate::layout::{Layout, LayoutBuilder, TypeSpec};
use crate::limits::Limits;

/// Key of the strings about the file.
const METADATA_KEY: &str = "__metadata__";

/// Every datatype: its name, what a layout declares for it, the bits of an element, and whether that is all there is to say.
const DTYPES: &[(&str, &str, u64, bool)] = &[
    ("BOOL", "b1", 8, true),
    ("U8", "u1", 8, true),
    ("I8", "i1", 8, true),
    ("U16", "<u2", 16, true),
    ("I16", "<i2", 16, true),
    ("U32", "<u4", 32, true),
    ("I32", "<i4", 32, true),
    ("U64", "<u8", 64, true),
    ("I64", "<i8", 64, true),
    ("F16", "<f2", 16, true),
    ("F32", "<f4", 32, true),
    ("F64", "<f8", 64, true),
    ("C64", "<c8", 64, true),
    ("BF16", "<u2", 16, false),
    ("F8_E4M3", "u1", 8, false),
    ("F8_E5M2", "u1", 8, false),
    ("F8_E8M0", "u1", 8, false),
    ("F8_E4M3FNUZ", "u1", 8, false),
    ("F8_E5M2FNUZ", "u1", 8, false),
];

/// Datatypes whose elements share bytes.
const SUB_BYTE_DTYPES: &[&str] = &["F4", "F6_E2M3", "F6_E3M2"];

/// The layout of a safetensors file.
pub(super) fn derive_layout(source: &SourceRef, limits: &Limits) -> Result<Layout> {
    let mut header = HeaderReader::from_offset(&**source, 0, limits);
    let length = header.read_le(8)?;
    if length > HEADER {
        return Err(Error::limit(format!("a header of {length} bytes, at most {HEADER} are read")));
    }
    let json = read_vec(&**source, 8, length, limits).with_context(|| "reading the header")?;
    // The parsed text takes a few times the bytes of its source.
    limits.charge_memory(length.saturating_mul(16), "the header")?;
    let SafetensorsHeader { metadata, tensors } =
        serde_json::from_slice(&json).map_err(|error| Error::malformed(format!("the header: {error}")).at_byte(8))?;
    if tensors.len() as u64 > limits.items {
        return Err(Limits::exceeded_error("items", limits.items, format_args!("the file has {} tensors", tensors.len())));
    }
    let mut builder = LayoutBuilder::new("a safetensors file", limits);
    // The header has them in the order of their names or of nothing; in the file they follow each other.
    let mut tensors: Vec<_> = tensors.iter().map(|(name, tensor)| (name, placed_of(tensor, length + 8, source.len()))).collect();
    tensors.sort_by_key(|(_, tensor)| tensor.as_ref().map_or(u64::MAX, |tensor| tensor.begin));
    if let Some(why) = find_damage(&tensors, length + 8, source.len()) {
        builder.write_file_damage(&why)?;
    }
    for (name, value) in &metadata {
        // The root says with this word in which language the layout is.
        builder.file_attribute(name, value.as_str())?;
    }
    for (name, tensor) in tensors {
        builder.or_unreadable(name, |builder| {
            let tensor = tensor?;
            builder
                .write_item(name, &TypeSpec::from_name(tensor.type_name).with_shape(tensor.shape).with_offset(tensor.begin))?;
            tensor.named.map_or(Ok(()), |name| builder.write_attribute("safetensors_dtype", name))
        })?;
    }
    Ok(builder.finish())
}

/// The JSON text in the order in which it is there.
#[derive(Default)]
struct SafetensorsHeader {
    metadata: Vec<(String, String)>,
    tensors: Vec<(String, Value)>,
}

/// An object of strings.
struct StringMap(Vec<(String, String)>);

/// Reads the entries of an object one after the other.
struct Entries<T>(T);

impl<'de> Deserialize<'de> for SafetensorsHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(Self::default()))
    }
}

impl<'de> Visitor<'de> for Entries<SafetensorsHeader> {
    type Value = SafetensorsHeader;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<SafetensorsHeader, A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == METADATA_KEY {
                self.0.metadata = map.next_value::<StringMap>()?.0;
            } else {
                self.0.tensors.push((key, map.next_value()?));
            }
        }
        Ok(self.0)
    }
}

impl<'de> Deserialize<'de> for StringMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(Self(Vec::new())))
    }
}

impl<'de> Visitor<'de> for Entries<StringMap> {
    type Value = StringMap;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object of strings, which {METADATA_KEY} is")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<StringMap, A::Error> {
        while let Some(entry) = map.next_entry()? {
            self.0.0.push(entry);
        }
        Ok(self.0)
    }
}

struct TensorEntry {
    type_name: &'static str,
    named: Option<&'static str>,
    shape: Vec<u64>,
    begin: u64,
    end: u64,
}

/// Returns what the library of the format refuses, although every tensor can be read: two tensors of one name, and bytes
/// that belong to no tensor or to two. Of tensors that cannot be read nothing is said.
fn find_damage(placed: &[(&String, Result<TensorEntry>)], data: u64, len: u64) -> Option<Error> {
    let mut names = HashSet::new();
    if let Some((name, _)) = placed.iter().find(|(name, _)| !names.insert(name.as_str())) {
        return Some(Error::malformed(format!("two tensors have the name {name:?}")).at_byte(8));
    }
    let places: Option<Vec<(u64, u64)>> =
        placed.iter().map(|(_, tensor)| tensor.as_ref().ok().map(|tensor| (tensor.begin, tensor.end))).collect();
    let mut at = data;
    for (begin, end) in places? {
        if begin != at {
            return Some(
                Error::malformed(format!("a tensor begins at byte {begin}, the one before it ends at byte {at}")).at_byte(at),
            );
        }
        at = end;
    }
    (at != len)
        .then(|| Error::malformed(format!("{} bytes after the last tensor belong to none", len.saturating_sub(at))).at_byte(at))
}

/// Returns the place of a tensor, after checking that its bytes fit its shape and exist.
fn placed_of(tensor: &Value, data: u64, len: u64) -> Result<TensorEntry> {
    let missing = |key: &str| Error::malformed(format!("its {key} is missing, or not of its kind"));
    let numbers = |key: &str| {
        let list = tensor.get(key).and_then(Value::as_array).ok_or_else(|| missing(key))?;
        list.iter().map(|number| number.as_u64().ok_or_else(|| missing(key))).collect::<Result<Vec<u64>>>()
    };
    let dtype = tensor.get("dtype").and_then(Value::as_str).ok_or_else(|| missing("dtype"))?;
    let (shape, offsets) = (numbers("shape")?, numbers("data_offsets")?);
    let [from, to] = offsets[..] else { return Err(missing("data_offsets")) };
    if SUB_BYTE_DTYPES.contains(&dtype) {
        return Err(Error::unsupported(format!("datatype {dtype}, whose elements share bytes")));
    }
    let Some(&(name, type_name, bits, is_all)) = DTYPES.iter().find(|row| row.0 == dtype) else {
        return Err(Error::unsupported(format!("datatype {dtype:?} is not known")));
    };
    let size = shape.iter().try_fold(bits / 8, |size, length| size.checked_mul(*length));
    if size.is_none() || to.checked_sub(from) != size {
        return Err(Error::malformed(format!("its shape {shape:?} of {dtype} does not fill the bytes {from} to {to}")));
    }
    match data.checked_add(to) {
        Some(end) if end <= len => {
            Ok(TensorEntry { type_name, named: (!is_all).then_some(name), shape, begin: data + from, end })
        }
        _ => Err(Error::malformed(format!("its bytes end at byte {} of the file, which has {len}", data.saturating_add(to)))),
    }
}
