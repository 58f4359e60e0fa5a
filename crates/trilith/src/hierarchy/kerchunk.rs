//! References of Kerchunk: a file as a store of Zarr v2 whose chunks are ranges of other files.

use std::collections::{HashMap, HashSet};

use super::numcodecs::numcodec;
use super::{Hierarchy, JsonValue, Node};
use crate::array::DeclaredNumber;
use crate::array::{Array, Byteorder, Datatype, ElementValue, Field, Manifest, number_descr, unravel};
use crate::bytes::{base64, public_name};
use crate::dudley::encode_s1;
use crate::error::{Error, ErrorKind, Result};

/// Options for making references.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct KerchunkOptions {
    /// Number of rows of the first axis in a chunk of uncompressed elements; see [`Array::manifest`].
    pub rows: Option<u64>,
    /// Arrays of at most this number of bytes that cannot be referred to be among the references themselves.
    pub inline: u64,
}

/// References to the chunks of one or more files.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct KerchunkReferences {
    /// Keys of Zarr v2, each with a document, with file, first byte and length of a chunk, or with a chunk as text.
    pub refs: Vec<(String, JsonValue)>,
    /// Number of arrays.
    pub arrays: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Arrays that cannot be referred to: their paths, and why.
    pub refused: Vec<(String, Error)>,
    /// The paths of the lists of [`Hierarchy::lists`], whose arrays are in groups.
    pub lists: Vec<String>,
}

impl KerchunkReferences {
    /// Creates references to no chunks, with a root group to put files into.
    pub fn new() -> Self {
        let mut made = Self::default();
        made.push_document(".zgroup", vec![("zarr_format".to_owned(), JsonValue::Int(2))]);
        made
    }

    /// Adds those of another file after these.
    pub fn append(&mut self, other: Self) {
        self.refs.extend(other.refs);
        self.refused.extend(other.refused);
        self.lists.extend(other.lists);
        self.arrays += other.arrays;
        self.chunks += other.chunks;
    }

    /// Adds the content of a file under a group, or at the root if `under` is empty.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] for a number of rows that does not divide those of an array, and an error if an
    /// array cannot be read.
    pub fn add(&mut self, found: Hierarchy, under: &str, options: &KerchunkOptions) -> Result<()> {
        self.refused.extend(found.problems);
        self.lists.extend(found.lists);
        let within = |path: &str, key: &str| {
            let parts = [under, path, key].into_iter().filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join("/")
        };
        let kept_apart = lone_characters(&found.nodes);
        for node in found.nodes {
            if node.array.is_none() {
                let key = within(&node.path, ".zgroup");
                if key != ".zgroup" {
                    self.push_document(&key, vec![("zarr_format".to_owned(), JsonValue::Int(2))]);
                }
                self.push_document(&within(&node.path, ".zattrs"), node.attributes);
                continue;
            }
            let has_string_axis = kept_apart.contains(&node.path);
            match self.add_array(&node, has_string_axis, &|key| within(&node.path, key), options) {
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    self.refused.push((format!("/{}", within(&node.path, "")), error));
                }
                done => done?,
            }
        }
        Ok(())
    }

    /// The references as one text of JSON, in version 1 of their specification.
    pub fn json(&self) -> JsonValue {
        // All documents are repeated in one place, so that no reader needs to list keys.
        let documents = self.refs.iter().filter(|(_, value)| matches!(value, JsonValue::Map(_))).cloned().collect();
        let metadata = JsonValue::Map(vec![
            ("zarr_consolidated_format".to_owned(), JsonValue::Int(1)),
            ("metadata".to_owned(), JsonValue::Map(documents)),
        ]);
        let first = (".zmetadata".to_owned(), JsonValue::Text(metadata.to_string()));
        let as_text = |(key, value): &(String, JsonValue)| match value {
            JsonValue::Map(_) => (key.clone(), JsonValue::Text(value.to_string())),
            chunk => (key.clone(), chunk.clone()),
        };
        let refs = std::iter::once(first).chain(self.refs.iter().map(as_text)).collect();
        JsonValue::Map(vec![("version".to_owned(), JsonValue::Int(1)), ("refs".to_owned(), JsonValue::Map(refs))])
    }

    fn push_document(&mut self, key: &str, pairs: Vec<(String, JsonValue)>) {
        self.refs.push((key.to_owned(), JsonValue::Map(pairs)));
    }

    /// Adds an array; `has_string_axis` if it gets a last axis of length 1, the characters of its strings.
    fn add_array(
        &mut self,
        node: &Node,
        has_string_axis: bool,
        within: &dyn Fn(&str) -> String,
        options: &KerchunkOptions,
    ) -> Result<()> {
        let Some(array) = &node.array else { return Ok(()) };
        let rows = options.rows.filter(|_| !array.shape().is_empty());
        let (manifest, inlined) = match array.manifest(rows) {
            Ok(manifest) => (manifest, None),
            Err(error) if error.kind() == ErrorKind::Unsupported && array.nbytes() <= options.inline => {
                let bytes = array.clone().without_mask().read_bytes(Byteorder::Little)?;
                (Manifest::single_chunk(array), Some(format!("base64:{}", base64(&bytes))))
            }
            Err(error) => return Err(error),
        };
        let order = if inlined.is_some() { Byteorder::Little } else { array.byteorder() };
        let datatype = v2_type(array.datatype(), order, inlined.is_some())?;
        let mut codecs: Vec<JsonValue> = Vec::new();
        for step in &manifest.steps {
            codecs.extend(numcodec(step)?);
        }
        let compressor = codecs.pop().unwrap_or(JsonValue::Null);
        let last = has_string_axis.then_some(1);
        let lengths = |lengths: &[u64]| JsonValue::List(lengths.iter().copied().chain(last).map(JsonValue::from_u64).collect());
        let document = [
            ("zarr_format", JsonValue::Int(2)),
            ("shape", lengths(array.shape())),
            ("chunks", lengths(&manifest.chunk)),
            ("dtype", datatype),
            ("compressor", compressor),
            ("fill_value", fill_value(node, array, &manifest)?),
            ("order", JsonValue::Text(if manifest.is_column_major { "F" } else { "C" }.to_owned())),
            ("filters", if codecs.is_empty() { JsonValue::Null } else { JsonValue::List(codecs) }),
        ];
        self.push_document(&within(".zarray"), document.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        // xarray takes the fill value for what marks an element as missing.
        let own = node.attributes.iter().filter(|(name, _)| name != "_FillValue").cloned();
        let last_name = has_string_axis.then(|| STRING_AXIS.to_owned());
        let names = JsonValue::List(node.dimensions.iter().cloned().chain(last_name).map(JsonValue::Text).collect());
        self.push_document(&within(".zattrs"), own.chain([("_ARRAY_DIMENSIONS".to_owned(), names)]).collect());
        self.arrays += 1;
        let chunk_key = |mut words: Vec<String>| {
            words.extend(last.map(|_| "0".to_owned()));
            if words.is_empty() { within("0") } else { within(&words.join(".")) }
        };
        match inlined {
            Some(text) => self.push_inline_chunk(array, &chunk_key, text),
            None => self.push_chunk_ranges(array, &manifest, &chunk_key),
        }
        Ok(())
    }

    fn push_inline_chunk(&mut self, array: &Array, chunk_key: &dyn Fn(Vec<String>) -> String, text: String) {
        if !array.is_empty() {
            self.refs.push((chunk_key(vec!["0".to_owned(); array.shape().len()]), JsonValue::Text(text)));
            self.chunks += 1;
        }
    }

    fn push_chunk_ranges(&mut self, array: &Array, manifest: &Manifest, chunk_key: &dyn Fn(Vec<String>) -> String) {
        let file = JsonValue::Text(public_name(&manifest.file));
        let counts: Vec<u64> =
            array.shape().iter().zip(&manifest.chunk).map(|(len, chunk)| len.div_ceil((*chunk).max(1))).collect();
        for (number, place) in manifest.ranges.iter().enumerate() {
            let Some(place) = place else { continue };
            let words: Vec<String> = unravel(number as u64, &counts).iter().map(u64::to_string).collect();
            let range = vec![file.clone(), JsonValue::from_u64(place.start), JsonValue::from_u64(place.end - place.start)];
            self.refs.push((chunk_key(words), JsonValue::List(range)));
            self.chunks += 1;
        }
    }
}

/// The name of the axis of the characters of a string, as netCDF has it.
const STRING_AXIS: &str = "string1";

/// Returns the paths of the arrays of single characters that xarray would join to strings along their last dimension: it does
/// so if all arrays with this dimension are strings along it, and no array has its name.
fn lone_characters(nodes: &[Node]) -> HashSet<String> {
    let group_of = |path: &str| path.rsplit_once('/').map_or("", |(group, _)| group).to_owned();
    let mut split_up = HashSet::new();
    for node in nodes {
        let Some(array) = &node.array else { continue };
        let is_string = matches!(array.datatype(), Datatype::Ascii(_));
        let along = node.dimensions.split_last().map_or(&[][..], |(_, before)| if is_string { before } else { &node.dimensions });
        let group = group_of(&node.path);
        let own = node.path.rsplit('/').next().map(str::to_owned);
        split_up.extend(along.iter().cloned().chain(own).map(|name| (group.clone(), name)));
    }
    let is_joined = |node: &&Node| {
        let is_character = node.array.as_ref().is_some_and(|array| matches!(array.datatype(), Datatype::Ascii(1)));
        is_character && node.dimensions.last().is_some_and(|last| !split_up.contains(&(group_of(&node.path), last.clone())))
    };
    nodes.iter().filter(is_joined).map(|node| node.path.clone()).collect()
}

/// The datatype as Zarr v2, and numpy, write it.
fn v2_type(datatype: &Datatype, order: Byteorder, is_packed: bool) -> Result<JsonValue> {
    let size = datatype.item_size();
    let plain = |text: String| Ok(JsonValue::Text(text));
    match datatype {
        Datatype::Ascii(n) | Datatype::Utf8(n) => plain(format!("|S{n}")),
        Datatype::Ucs4(n) => plain(format!("{}U{n}", order.sign())),
        Datatype::Float128 | Datatype::Complex256 | Datatype::Complex32 | Datatype::Ucs2(_) => {
            Err(Error::unsupported(format!("Zarr has no type for {datatype}")))
        }
        Datatype::Struct(fields) => {
            let together: u64 =
                fields.fields().iter().map(|field| field.count().saturating_mul(field.datatype.item_size())).sum();
            if !is_packed && together != size {
                return Err(Error::unsupported("its records have bytes between their fields, for which Zarr has no word"));
            }
            let field = |(at, field): (usize, &Field)| {
                let order = if is_packed { Byteorder::Little } else { field.byteorder };
                let mut words = vec![JsonValue::Text(field.name_or(at).clone()), v2_type(&field.datatype, order, is_packed)?];
                if !field.shape.is_empty() {
                    words.push(JsonValue::List(field.shape.iter().map(|n| JsonValue::from_u64(*n)).collect()));
                }
                Ok(JsonValue::List(words))
            };
            Ok(JsonValue::List(fields.fields().iter().enumerate().map(field).collect::<Result<_>>()?))
        }
        number => plain(number_descr(number, order)),
    }
}

/// Returns the number of missing pixels that GDAL writes as text, if elements can be it.
fn parse_nodata(text: &str, datatype: &Datatype) -> Option<JsonValue> {
    let number = DeclaredNumber::from_text(text)?;
    match datatype {
        Datatype::Float32 => Some(JsonValue::Float(f64::from(number.float() as f32))),
        Datatype::Float64 => Some(JsonValue::Float(number.float())),
        _ => number.integer_in(datatype).and_then(|whole| i64::try_from(whole).ok()).map(JsonValue::Int),
    }
}

/// Returns the value of chunks that were never written, which xarray takes for missing.
fn fill_value(node: &Node, array: &Array, manifest: &Manifest) -> Result<JsonValue> {
    let said: HashMap<&str, &JsonValue> = node.attributes.iter().map(|(name, value)| (name.as_str(), value)).collect();
    match said.get("_FillValue").copied().or(node.missing.as_ref()) {
        Some(value @ (JsonValue::Int(_) | JsonValue::Float(_) | JsonValue::BigNumber(_))) => return Ok(value.clone()),
        Some(JsonValue::Text(text)) if matches!(array.datatype(), Datatype::Ascii(_)) => {
            // A single byte that is not UTF-8 was decoded as cp1252.
            let one = encode_s1(text).filter(|bytes| bytes.len() == 1);
            return Ok(JsonValue::Text(base64(&one.unwrap_or_else(|| text.clone().into_bytes()))));
        }
        Some(JsonValue::Text(text)) if matches!(array.datatype(), Datatype::Ucs4(_)) => return Ok(JsonValue::Text(text.clone())),
        _ => {}
    }
    let is_written = manifest.ranges.iter().all(Option::is_some);
    if let Some(JsonValue::Text(text)) = said.get("GDAL_NODATA").copied().filter(|_| is_written)
        && let Some(value) = parse_nodata(text, array.datatype())
    {
        return Ok(value);
    }
    if manifest.fill_value.iter().all(|byte| *byte == 0) || is_written {
        return Ok(JsonValue::Null);
    }
    let element = Array::from_bytes(manifest.fill_value.clone(), array.datatype().clone(), array.byteorder(), Vec::new())?;
    match element.scalar()? {
        ElementValue::Int(value) => Ok(JsonValue::Int(value)),
        ElementValue::Uint(value) => Ok(JsonValue::from_u64(value)),
        ElementValue::Float(value, _) => Ok(JsonValue::Float(value)),
        _ => Err(Error::unsupported("some of its chunks were never written, and their elements are neither zero nor a number")),
    }
}
