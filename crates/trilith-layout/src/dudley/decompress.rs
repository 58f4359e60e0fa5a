//! Compressed arrays of the dialect of 2026 (section 11 of our specification).

use std::sync::Arc;

use crate::bytes::{self, MemorySource, SourceRef, read_vec, to_usize};
use crate::codec::{self, CodecId};
use crate::error::{Error, Result};
use crate::layout::{Byteorder, LayoutEntry, LayoutFilter, ResolvedType};
use crate::limits::Limits;

/// An array before it was compressed.
#[derive(Debug, Clone)]
pub(super) struct UncompressedForm {
    /// Number of bytes.
    pub len: u64,
    /// Dimensions, slowest first.
    #[cfg_attr(not(any(feature = "png", feature = "jpeg")), allow(dead_code, reason = "only images ask for it"))]
    pub shape: Vec<u64>,
    /// Bytes of a number; 0 if the elements are structs.
    pub word: u64,
    /// The order of its bytes.
    pub order: Option<Byteorder>,
}

impl UncompressedForm {
    /// The form of an item.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if its size does not fit.
    pub(super) fn from_entry(entry: &LayoutEntry) -> Result<Self> {
        let item = match &entry.resolved_type {
            ResolvedType::Dynamic => None,
            typed => typed.size(),
        };
        let size = item.and_then(|item| entry.shape.iter().try_fold(item, |n, dim| n.checked_mul(*dim)));
        let len = size.ok_or_else(|| Error::malformed("the size of the compressed array does not fit in 64 bits"))?;
        to_usize(len)?;
        let (word, order) = match &entry.resolved_type {
            ResolvedType::Primitive { primitive, byteorder } => (primitive.size(), *byteorder),
            _ => (0, None),
        };
        Ok(Self { len, shape: entry.shape.clone(), word, order })
    }
}

/// The bytes of a compressed array as they were before.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for filters that are not available,
/// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the bytes do not decode, at once or when they are read.
pub(super) fn decompress_array(
    filter: &LayoutFilter,
    stored: SourceRef,
    form: &UncompressedForm,
    limits: &Limits,
) -> Result<SourceRef> {
    if filter.name == "gzip" {
        return decode_gzip_filter(stored, form.len, limits);
    }
    if !matches!(filter.name.as_str(), "png" | "jpeg") {
        return Err(unavailable_filter_error(&filter.name));
    }
    // An image of one color takes next to nothing, but hardly less than that.
    if form.len > stored.len().saturating_mul(limits.zlib_ratio).saturating_add(1 << 16) {
        let stored = stored.len();
        let what = format_args!("{stored} bytes decode to {}", form.len);
        return Err(Limits::exceeded_error("zlib_ratio", limits.zlib_ratio, what));
    }
    let bytes = read_vec(&*stored, 0, stored.len(), limits)?;
    let mut out = decode_image(&filter.name, &bytes, form, limits)?;
    if form.order == Some(Byteorder::Little) && form.word == 2 {
        out.chunks_exact_mut(2).for_each(<[u8]>::reverse);
    }
    Ok(Arc::new(MemorySource::new(out, stored.name())))
}

/// The elements of an image, numbers big-endian.
#[cfg_attr(not(any(feature = "png", feature = "jpeg")), allow(unused_variables, reason = "what no feature reads"))]
fn decode_image(name: &str, bytes: &[u8], form: &UncompressedForm, limits: &Limits) -> Result<Vec<u8>> {
    match name {
        #[cfg(feature = "png")]
        "png" => super::png::decode_png(bytes, form, limits),
        #[cfg(feature = "jpeg")]
        "jpeg" => super::jpeg::decode_jpeg(bytes, form, limits),
        name => Err(unavailable_filter_error(name)),
    }
}

/// Returns the reason why a filter cannot be used.
pub(super) fn unavailable_filter_error(name: &str) -> Error {
    let hint = match name {
        "zfp" => "there is no mature library for zfp; describe the stored bytes as u1",
        "png" => "it is a feature of the library that was left out; the stored bytes can be described as u1",
        "jpeg" => "it is read only, by a feature of the library; the stored bytes can be described as u1",
        _ => "gzip, png and jpeg can be read; the stored bytes can be described as u1",
    };
    Error::unsupported(format!("filter {name} is not available")).hint(hint)
}

fn decode_gzip_filter(stored: SourceRef, len: u64, limits: &Limits) -> Result<SourceRef> {
    let head = read_vec(&*stored, 0, stored.len().min(2), limits)?;
    if head != [0x1f, 0x8b] {
        return codec::decoder(CodecId(*b"zlib"), stored, len, limits);
    }
    // The limit is the number of bytes that deflate can make of the stored ones.
    if len > stored.len().saturating_mul(limits.zlib_ratio).saturating_add(1024) {
        return Err(Limits::exceeded_error(
            "zlib_ratio",
            limits.zlib_ratio,
            format_args!("{} bytes decode to {len}", stored.len()),
        ));
    }
    limits.charge_memory(len, "a compressed array")?;
    limits.charge_decoding(len)?;
    let packed = read_vec(&*stored, 0, stored.len(), limits)?;
    let out = bytes::gunzipped(&packed, len)?;
    if out.len() as u64 != len {
        let more = if out.len() as u64 > len { "more" } else { "fewer" };
        return Err(Error::malformed(format!("the gzip data decode to {more} than the {len} bytes of the array")));
    }
    Ok(Arc::new(MemorySource::new(out, stored.name())))
}
