//! Compressed arrays of the dialect of 2026 (section 11 of our specification).

use std::io::Read;
use std::sync::Arc;

use crate::bytes::{Slice, SourceRef, read_vec};
use crate::codec::{self, CodecId};
use crate::error::{Error, Result};
use crate::layout::Filter;
use crate::limits::Limits;

/// The bytes of a compressed array as they were before, `len` of them.
///
/// # Errors
/// [`Kind::Unsupported`](crate::Kind::Unsupported) for any filter but `gzip`,
/// [`Kind::Malformed`](crate::Kind::Malformed) where the bytes do not decode, at once or when they are read.
pub(super) fn inflated(filter: &Filter, stored: SourceRef, len: u64, limits: &Limits) -> Result<SourceRef> {
    if filter.name != "gzip" {
        let message = format!("filter {} is not available", filter.name);
        return Err(
            Error::unsupported(message).hint("of the filters only gzip can be read; the stored bytes can be described as u1")
        );
    }
    let head = read_vec(&*stored, 0, stored.len().min(2), limits)?;
    if head != [0x1f, 0x8b] {
        return codec::decoder(CodecId(*b"zlib"), stored, len, limits);
    }
    // As many bytes as deflate can make of these, and no more.
    if len > stored.len().saturating_mul(limits.zlib_ratio).saturating_add(1024) {
        return Err(Limits::exceeded("zlib_ratio", limits.zlib_ratio, format_args!("{} bytes decode to {len}", stored.len())));
    }
    limits.charge_memory(len, "a compressed array")?;
    let bytes = read_vec(&*stored, 0, stored.len(), limits)?;
    let mut out = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(&bytes[..]).take(len.saturating_add(1)).read_to_end(&mut out);
    read.map_err(|e| Error::malformed(format!("the gzip data do not decode: {e}")))?;
    if out.len() as u64 != len {
        let more = if out.len() as u64 > len { "more" } else { "fewer" };
        return Err(Error::malformed(format!("the gzip data decode to {more} than the {len} bytes of the array")));
    }
    Ok(Arc::new(Slice::new(out, stored.name())))
}
