//! Filters of chunks: a row of codecs and rearrangements, named by words, that the bytes of one chunk went through.
//!
//! `"shuffle(4) deflate fletcher32"` names them in the order in which they were applied; decoding goes back. A chunk is
//! decoded as a whole, in memory. One file for each filter that is more than a call of a codec.

mod bitshuffle;
mod checksum;
mod delta;
#[cfg(feature = "lz4")]
mod lz4h5;
mod lzf;
mod lzw;
mod nbit_scaleoffset;
pub mod number_formats;
mod packbits;
mod szip;
mod unpack_bits;

use super::crc::differs;
use super::shuffle;
use crate::bytes::{CodingStep, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::suggest::nearest;

/// The word for references, which are decoded by a table next to the filters.
const REFERENCES: &str = "references";

/// The filters that compare a checksum when they are undone.
const CHECKSUM_FILTERS: &[&str] = &["fletcher32", "crc32c", "crc32", "gzip"];

/// The filters of a grid of chunks.
#[derive(Debug, Clone, Default)]
pub struct FilterPipeline(Vec<Filter>);

/// A filter: its name and its arguments in parentheses.
#[derive(Debug, Clone)]
struct Filter {
    name: String,
    arguments: Vec<u64>,
}

/// Bytes that a filter adds to what it is given, if that is known.
enum SizeGrowth {
    By(u64),
    /// Bytes that go in, and bytes that come out.
    Times(u64, u64),
    Unknown,
}

impl FilterPipeline {
    /// Reads the names of filters. An unknown name is kept, and is an error when a chunk is decoded.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] for what are not words.
    pub fn parse(text: &str) -> Result<Self> {
        CodingStep::parse_list(text).map(|steps| Self::from_steps(&steps))
    }

    /// Returns the filters of these names. An unknown name is kept, and is an error when a chunk is decoded.
    pub fn from_steps(steps: &[CodingStep]) -> Self {
        Self(steps.iter().map(|step| Filter { name: step.name.clone(), arguments: step.arguments.clone() }).collect())
    }

    /// Returns `true` if chunks are stored uncompressed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that this library supports the filters. Bit i of `mask` says that filter i was not applied.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`] for the first of them.
    pub fn check_available(&self, mask: u64, limits: &Limits) -> Result<()> {
        let applied = self.0.iter().enumerate().filter(|(at, _)| *at >= 64 || mask & (1 << *at) == 0);
        // Without bytes, each filter that is available fails in another way, or decodes nothing.
        let unavailable =
            |(_, filter): (usize, &Filter)| filter.decode(Vec::new(), Some(0), 0, limits).err().filter(is_unsupported);
        applied.into_iter().find_map(unavailable).map_or(Ok(()), Err)
    }

    /// Returns each filter alone.
    pub fn split_filters(self) -> Vec<Self> {
        self.0.into_iter().map(|filter| Self(vec![filter])).collect()
    }

    /// Returns the number of stored bytes of which a chunk of this decoded length is made, if it is known.
    pub fn stored_size(&self, size: u64) -> Option<u64> {
        self.0.iter().try_fold(size, |size, filter| filter.stored_size(size))
    }

    /// Returns the filters after `pad`, if that is the first one.
    pub fn without_padding(&self) -> Option<Self> {
        match self.0.as_slice() {
            [first, rest @ ..] if first.name == "pad" => Some(Self(rest.to_vec())),
            _ => None,
        }
    }

    /// Returns the number of leading bytes to skip and the CRC-32 if the filters are those of a deflated member of an archive.
    #[cfg(feature = "zlib")]
    pub fn of_member(&self) -> Option<(u64, u32)> {
        let (first, rest) = self.0.split_first()?;
        let (skipped, rest) =
            if first.name == "skip" { (first.required_argument(0).ok()?, rest) } else { (0, self.0.as_slice()) };
        match rest {
            [crc, deflate] if crc.name == "crc32" && deflate.name == "rawdeflate" => {
                Some((skipped, u32::try_from(crc.required_argument(0).ok()?).ok()?))
            }
            _ => None,
        }
    }

    /// Returns the bytes of a reference and of the text that is read in place of it, if the one filter is that of references: its
    /// caller has their strings.
    pub fn as_references(&self) -> Option<(u64, u64)> {
        let [only] = self.0.as_slice() else { return None };
        (only.name == REFERENCES).then(|| Some((only.required_argument(0).ok()?, only.required_argument(1).ok()?)))?
    }

    /// The filters, in the order in which they were applied.
    pub fn to_coding_steps(&self) -> Vec<CodingStep> {
        self.0.iter().map(|filter| CodingStep::new(&filter.name, filter.arguments.clone())).collect()
    }

    /// Decodes a chunk to `size` bytes. Bit i of `mask` says that filter i was not applied.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`] for a filter that is not available,
    /// [`ErrorKind::Malformed`] for bytes that do not decode.
    pub fn decode(&self, bytes: Vec<u8>, mask: u64, size: u64, limits: &Limits) -> Result<Vec<u8>> {
        self.decode_down_to(0, bytes, mask, size, limits)
    }

    /// Returns the filter that has a checksum; of several it is the first that was applied.
    pub fn checksum_filter(&self) -> Option<&str> {
        self.0.iter().map(|filter| filter.name.as_str()).find(|name| CHECKSUM_FILTERS.contains(name))
    }

    /// Compares the checksums of a chunk of `size` decoded bytes, and decodes it only as far as they need. Returns `false` if no
    /// checksum was applied to this chunk.
    ///
    /// # Errors
    /// Returns the errors of [`FilterPipeline::decode`]: [`ErrorKind::Malformed`] if a checksum differs.
    pub fn compare_checksums(&self, bytes: Vec<u8>, mask: u64, size: u64, limits: &Limits) -> Result<bool> {
        let Some(first) = self.find_checksum(mask) else { return Ok(false) };
        self.decode_down_to(first, bytes, mask, size, limits).map(|_| true)
    }

    /// Returns the number of the first filter that has a checksum and was applied to a chunk, see [`FilterPipeline::decode`].
    pub fn find_checksum(&self, mask: u64) -> Option<usize> {
        let is_applied = |at: &usize| *at >= 64 || mask & (1 << *at) == 0;
        let has_sum = |at: &usize| self.0.get(*at).is_some_and(|filter| CHECKSUM_FILTERS.contains(&filter.name.as_str()));
        (0..self.0.len()).find(|at| is_applied(at) && has_sum(at))
    }

    /// Undoes the filters from the last one to `first`.
    fn decode_down_to(&self, first: usize, mut bytes: Vec<u8>, mask: u64, size: u64, limits: &Limits) -> Result<Vec<u8>> {
        let applied = |at: &usize| *at >= 64 || mask & (1 << *at) == 0;
        let steps: Vec<usize> = (0..self.0.len()).filter(applied).collect();
        // Number of input bytes of each step.
        let mut sizes = Vec::with_capacity(steps.len());
        let mut known = Some(size);
        for at in &steps {
            sizes.push(known);
            known = known.zip(self.0.get(*at)).and_then(|(known, filter)| filter.stored_size(known));
        }
        for (at, given) in steps.into_iter().zip(sizes).rev().take_while(|(at, _)| *at >= first) {
            let Some(filter) = self.0.get(at) else { continue };
            bytes = filter.decode(bytes, given, size, limits).map_err(|error| match error.kind() {
                // This error names the filter already.
                ErrorKind::Unsupported => error,
                _ => error.context(filter.name.clone()),
            })?;
        }
        Ok(bytes)
    }
}

impl Filter {
    fn size_growth(&self) -> SizeGrowth {
        match self.name.as_str() {
            "shuffle" | "bitshuffle" | "delta" | "fdelta" | "reverse" => SizeGrowth::By(0),
            "whole" => SizeGrowth::Times(self.required_argument(0).unwrap_or(8), number_formats::integer_size(&self.arguments)),
            "float" => SizeGrowth::Times(self.required_argument(0).unwrap_or(8), number_formats::output_size(&self.arguments)),
            "dates" => SizeGrowth::Times(number_formats::date_size(&self.arguments), number_formats::DATE_LEN as u64),
            "cast" => SizeGrowth::Times(self.required_argument(1).unwrap_or(8), self.required_argument(4).unwrap_or(8)),
            REFERENCES => SizeGrowth::Times(self.required_argument(0).unwrap_or(8), self.required_argument(1).unwrap_or(1)),
            "fletcher32" | "crc32c" => SizeGrowth::By(4),
            "crc32" => SizeGrowth::By(0),
            "skip" => SizeGrowth::By(self.required_argument(0).unwrap_or(0)),
            _ => SizeGrowth::Unknown,
        }
    }

    /// Returns the number of stored bytes for this decoded length, if it is known.
    fn stored_size(&self, size: u64) -> Option<u64> {
        match self.size_growth() {
            SizeGrowth::By(more) => size.checked_add(more),
            SizeGrowth::Times(stored, read) => (size / read.max(1)).checked_mul(stored),
            SizeGrowth::Unknown => None,
        }
    }

    fn required_argument(&self, at: usize) -> Result<u64> {
        let missing = || Error::malformed(format!("the filter {} lacks a number in parentheses", self.name));
        self.arguments.get(at).copied().ok_or_else(missing)
    }

    /// Returns the input of the filter, `given` bytes if the length is known.
    fn decode(&self, bytes: Vec<u8>, given: Option<u64>, size: u64, limits: &Limits) -> Result<Vec<u8>> {
        match self.name.as_str() {
            "shuffle" | "bitshuffle" => self.undo_shuffle(&bytes),
            "delta" => Ok(delta::DeltaRows::from_arguments(&self.arguments, bytes.len())?.decode(bytes)),
            "fdelta" => Ok(delta::DeltaRows::from_float_arguments(&self.arguments, bytes.len())?.decode_floats(bytes)),
            "bits" => {
                let flag = |at| self.required_argument(at).is_ok_and(|flag| flag == 1);
                let (bits, row) = (self.required_argument(0)?, self.required_argument(1)?);
                let form = unpack_bits::BitPacking { bits, row, is_big: flag(2), is_swapped: flag(3) };
                unpack_bits::decode(&bytes, &form, OutputLimit::for_output(given, size, limits)?.max_len)
            }
            "bitshuffleh5" => bitshuffle::decode(&bytes, &self.arguments, OutputLimit::for_output(given, size, limits)?.max_len),
            "reverse" => Ok(bytes.into_iter().map(u8::reverse_bits).collect()),
            "whole" => {
                number_formats::decode_integers(&bytes, &self.arguments, OutputLimit::for_output(given, size, limits)?.max_len)
            }
            "float" => {
                number_formats::decode_floats(&bytes, &self.arguments, OutputLimit::for_output(given, size, limits)?.max_len)
            }
            "dates" => {
                number_formats::decode_dates(&bytes, &self.arguments, OutputLimit::for_output(given, size, limits)?.max_len)
            }
            "cast" => {
                number_formats::cast_numbers(&bytes, &self.arguments, OutputLimit::for_output(given, size, limits)?.max_len)
            }
            "szip" => szip::decode(&bytes, &self.arguments, OutputLimit::for_output(given, size, limits)?.max_len),
            "lzw" => lzw::decode(&bytes, &OutputLimit::for_output(given, size, limits)?),
            "fletcher32" => checksum::strip_fletcher32(bytes),
            "crc32c" => checksum::strip_crc32c(bytes),
            "crc32" => {
                let wrong = |_| Error::malformed("the number in parentheses is more than a CRC-32 has");
                let (stated, found) =
                    (u32::try_from(self.required_argument(0)?).map_err(wrong)?, checksum::compute_crc32(&bytes)?);
                if found == stated { Ok(bytes) } else { Err(differs(stated, found)) }
            }
            "nbit" => {
                nbit_scaleoffset::decode_nbit(bytes, &self.arguments, OutputLimit::for_output(given, size, limits)?.max_len)
            }
            "scaleoffset" => nbit_scaleoffset::decode_scaleoffset(
                &bytes,
                &self.arguments,
                OutputLimit::for_output(given, size, limits)?.max_len,
            ),
            "packbits" => packbits::decode(&bytes, &OutputLimit::for_output(given, size, limits)?),
            "pad" => {
                let mut bytes = bytes;
                let len = bytes.len() as u64;
                if len > size {
                    return Err(Error::malformed(format!("{len} bytes, more than {size}")));
                }
                // The limit is that of a deflated chunk of zeros, which also takes few bytes.
                let most = len.max(64).saturating_mul(limits.zlib_ratio);
                if size > most {
                    let what = format!("a chunk of {len} bytes is to be filled up to {size}");
                    return Err(Limits::exceeded_error("zlib_ratio", limits.zlib_ratio, what));
                }
                limits.charge_memory(size, "a chunk")?;
                bytes.resize(to_usize(size)?, 0);
                Ok(bytes)
            }
            "skip" => {
                let count = to_usize(self.required_argument(0)?)?;
                if count > bytes.len() {
                    return Err(Error::malformed(format!("{} bytes, of which {count} are skipped", bytes.len())));
                }
                // The bytes are moved in place, because a chunk may be as large as the memory.
                let mut bytes = bytes;
                drop(bytes.drain(..count));
                Ok(bytes)
            }
            name => self.decompress_by_name(name, &bytes, &OutputLimit::for_output(given, size, limits)?, limits),
        }
    }

    fn undo_shuffle(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let item = to_usize(self.required_argument(0)?)?;
        if item < 2 {
            return Ok(bytes.to_vec());
        }
        let mut out = vec![0; bytes.len()];
        if self.name == "shuffle" {
            shuffle::unshuffle(item, bytes, &mut out);
        } else {
            shuffle::bit_unshuffle(item, bytes, &mut out);
        }
        Ok(out)
    }

    #[allow(unused_variables, reason = "what no codec of this build reads")]
    fn decompress_by_name(&self, name: &str, bytes: &[u8], room: &OutputLimit, limits: &Limits) -> Result<Vec<u8>> {
        match name {
            #[cfg(feature = "zlib")]
            "deflate" => room.decode_into(|into| super::zlib::decompress(bytes, into)),
            #[cfg(feature = "zlib")]
            "rawdeflate" => room.decode_into(|into| Ok(raw_deflate(bytes, into))),
            #[cfg(feature = "zlib")]
            "gzip" => room.read_to_limit(&mut flate2::read::GzDecoder::new(bytes)),
            #[cfg(feature = "zstd")]
            "zstd" => room.decode_into(|into| super::zstd::decompress(bytes, into)),
            #[cfg(feature = "lz4")]
            "lz4" => room.decode_into(|into| Ok(lz4_flex::block::decompress_into(bytes, into).ok())),
            #[cfg(feature = "lz4")]
            "lz4size" => lz4_with_size(bytes, room.max_len),
            #[cfg(feature = "lz4")]
            "lz4h5" => lz4h5::decode(bytes, room.max_len),
            #[cfg(feature = "bzip2")]
            "bzip2" => room.read_to_limit(&mut bzip2::read::BzDecoder::new(bytes)),
            #[cfg(feature = "blosc")]
            "blosc" => {
                let header: Option<[u8; 4]> = bytes.get(4..8).and_then(|bytes| bytes.try_into().ok());
                let len = header.map(u32::from_le_bytes).ok_or_else(|| Error::malformed("the blosc buffer is cut short"))?;
                let len = u64::from(len);
                if len > room.max_len as u64 {
                    return Err(Error::malformed(format!("decodes to {len} bytes, expected {}", room.max_len)));
                }
                let stored = std::sync::Arc::new(crate::bytes::MemorySource::new(bytes.to_vec(), "a chunk"));
                crate::bytes::read_vec(&*super::blsc::decode(stored, len, limits)?, 0, len, limits)
            }
            #[cfg(feature = "jpeg")]
            "jpeg" => {
                let (columns, samples) = (self.required_argument(0)?, self.required_argument(1)?);
                let colors = if self.required_argument(2)? == 0 {
                    super::jpeg::ColorConversion::Rgb
                } else {
                    super::jpeg::ColorConversion::Raw
                };
                let rows = (room.max_len as u64).checked_div(columns.saturating_mul(samples)).unwrap_or(0);
                let expected = super::jpeg::ExpectedImage { rows, columns, samples, colors, may_be_longer: true };
                super::jpeg::decode(bytes, &expected, limits)
            }
            "lzf" => room.decode_into(|into| Ok(lzf::decode(bytes, into))),
            #[cfg(not(feature = "zlib"))]
            "deflate" | "rawdeflate" | "gzip" => Err(super::unsupported::missing_feature_error("zlib")),
            #[cfg(not(feature = "zstd"))]
            "zstd" => Err(super::unsupported::missing_feature_error("zstd")),
            #[cfg(not(feature = "jpeg"))]
            "jpeg" => Err(super::unsupported::missing_feature_error("jpeg")),
            #[cfg(not(feature = "lz4"))]
            "lz4" | "lz4size" | "lz4h5" => Err(super::unsupported::missing_feature_error("lz4")),
            #[cfg(not(feature = "bzip2"))]
            "bzip2" => Err(super::unsupported::missing_feature_error("bzip2")),
            #[cfg(not(feature = "blosc"))]
            "blosc" => Err(super::unsupported::missing_feature_error("blosc")),
            name => Err(unavailable_error(name)),
        }
    }
}

/// Names of filters that have no word here: those of HDF5 as its register of filters has them.
const REGISTERED_FILTERS: &[(&str, &str)] = &[
    ("hdf5:305", "LZO"),
    ("hdf5:32002", "MAFISC"),
    ("hdf5:32003", "Snappy"),
    ("hdf5:32006", "CBF"),
    ("hdf5:32007", "JPEG-XR"),
    ("hdf5:32009", "SPDP"),
    ("hdf5:32010", "LPC-Rice"),
    ("hdf5:32011", "CCSDS-123"),
    ("hdf5:32012", "JPEG-LS"),
    ("hdf5:32013", "ZFP"),
    ("hdf5:32014", "fpzip"),
    ("hdf5:32016", "B3D"),
    ("hdf5:32017", "SZ"),
    ("hdf5:32018", "FCIDECOMP, which is JPEG-LS"),
    ("hdf5:32019", "JPEG"),
    ("hdf5:32020", "VBZ"),
    ("hdf5:32021", "FAPEC"),
    ("hdf5:32022", "BitGroom"),
    ("hdf5:32023", "Granular BitRound"),
    ("hdf5:32024", "SZ3"),
    ("hdf5:32025", "Delta-Rice"),
    ("hdf5:32026", "Blosc2"),
    ("hdf5:32027", "FLAC"),
    ("hdf5:32028", "SPERR"),
    ("hdf5:32029", "TERSE/PROLIX"),
    ("hdf5:32030", "FFmpeg"),
    ("tiff:ccitt", "CCITT run lengths"),
    ("tiff:fax3", "CCITT group 3"),
    ("tiff:fax4", "CCITT group 4"),
    ("tiff:jbig", "JBIG"),
    ("tiff:jpeg6", "JPEG as TIFF 6.0 had it first"),
    ("tiff:jpegxr", "JPEG XR"),
];

/// The words that a misspelled one may stand for.
const FILTER_WORDS: &[&str] = &[
    "bits",
    "bitshuffle",
    "bitshuffleh5",
    "blosc",
    "bzip2",
    "crc32",
    "crc32c",
    "deflate",
    "delta",
    "fdelta",
    "fletcher32",
    "gzip",
    "jpeg",
    "lz4",
    "lz4h5",
    "lz4size",
    "lzf",
    "lzw",
    "nbit",
    "packbits",
    "rawdeflate",
    "reverse",
    "scaleoffset",
    "shuffle",
    "szip",
    "zstd",
];

/// The ids of numcodecs that have a word here.
const NUMCODECS_IDS: &[&str] = &["bitround", "blosc", "bz2", "delta", "fletcher32", "gzip", "lz4", "shuffle", "zlib", "zstd"];

fn is_unsupported(error: &Error) -> bool {
    error.kind() == ErrorKind::Unsupported
}

/// The error for a filter that this library does not have.
#[cold]
fn unavailable_error(name: &str) -> Error {
    let error = Error::unsupported(format!("the filter {name}{} is not available", registered_name(name)));
    let near = match name.strip_prefix("numcodecs:") {
        Some(id) => nearest(id, NUMCODECS_IDS.iter().copied()),
        None => nearest(name, FILTER_WORDS.iter().copied()),
    };
    match near {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint("decode it with the program that wrote it; the other items can be read"),
    }
}

/// The name of a filter in brackets, if its word is a number.
fn registered_name(word: &str) -> String {
    REGISTERED_FILTERS.iter().find(|(known, _)| *known == word).map_or_else(String::new, |(_, name)| format!(" ({name})"))
}

/// Maximum number of bytes that a codec may return.
struct OutputLimit {
    max_len: usize,
}

impl OutputLimit {
    /// Returns the number that is known to come, or some more than the chunk has, which other filters may have
    /// added.
    fn for_output(given: Option<u64>, size: u64, limits: &Limits) -> Result<Self> {
        let most = given.unwrap_or(size.saturating_add(size / 8).saturating_add(1 << 16));
        limits.charge_memory(most, "a chunk")?;
        Ok(Self { max_len: to_usize(most)? })
    }

    /// Returns the output of `unpack`.
    fn decode_into(&self, unpack: impl FnOnce(&mut [u8]) -> Result<Option<usize>>) -> Result<Vec<u8>> {
        let mut out = vec![0; self.max_len];
        let len = unpack(&mut out)?.ok_or_else(|| Error::malformed(format!("no valid data for {} bytes", self.max_len)))?;
        out.truncate(len);
        Ok(out)
    }

    /// Returns the content of `from`.
    #[cfg(any(feature = "zlib", feature = "bzip2"))]
    fn read_to_limit(&self, from: &mut dyn std::io::Read) -> Result<Vec<u8>> {
        use std::io::Read as _;
        let mut out = Vec::new();
        from.take(self.max_len as u64 + 1)
            .read_to_end(&mut out)
            .map_err(|error| Error::malformed(format!("no valid data: {error}")))?;
        if out.len() > self.max_len {
            return Err(Error::malformed(format!("decodes to more than the {} bytes expected", self.max_len)));
        }
        Ok(out)
    }
}

/// Decodes an LZ4 block after its decoded length in four bytes, the least significant first.
#[cfg(feature = "lz4")]
fn lz4_with_size(bytes: &[u8], most: usize) -> Result<Vec<u8>> {
    let (len, body) = bytes.split_first_chunk().ok_or_else(|| Error::malformed("the lz4 chunk is cut short"))?;
    let len = u32::from_le_bytes(*len) as usize;
    if len > most {
        return Err(Error::malformed(format!("decodes to {len} bytes, expected {most} at most")));
    }
    let mut out = vec![0; len];
    match lz4_flex::block::decompress_into(body, &mut out) {
        Ok(written) if written == len => Ok(out),
        _ => Err(Error::malformed(format!("no valid lz4 data for {len} bytes"))),
    }
}

/// Decodes deflated bytes without a header.
#[cfg(feature = "zlib")]
fn raw_deflate(bytes: &[u8], into: &mut [u8]) -> Option<usize> {
    let mut state = flate2::Decompress::new(false);
    loop {
        // The loop is needed because one call takes and returns less than 4 GiB.
        let before = (state.total_in(), state.total_out());
        let rest = bytes.get(usize::try_from(before.0).ok()?..)?;
        let room = into.get_mut(usize::try_from(before.1).ok()?..)?;
        match state.decompress(rest, room, flate2::FlushDecompress::Finish).ok()? {
            flate2::Status::StreamEnd => return usize::try_from(state.total_out()).ok(),
            _ if before == (state.total_in(), state.total_out()) => return None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(words: &str, bytes: Vec<u8>, mask: u64, size: u64) -> Result<Vec<u8>> {
        FilterPipeline::parse(words)?.decode(bytes, mask, size, &Limits::default())
    }

    #[test]
    fn parse_accepts_filters_and_unknown_names_are_err() {
        assert!(FilterPipeline::parse("shuffle(4) deflate").is_ok() && FilterPipeline::parse("").unwrap().is_empty());
        for wrong in ["shuffle(", "(4)", "shuffle(x)", "a(1)(2)"] {
            assert!(FilterPipeline::parse(wrong).is_err(), "{wrong}");
        }
        let error = decode("hdf5:305(1,2)", vec![0], 0, 1).unwrap_err();
        assert!(error.message().contains("the filter hdf5:305 (LZO) is not available"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }

    /// First tier. A filter before the checksum is not undone, so that one which is not available does no harm.
    #[test]
    fn checksum_comparison_decodes_only_outer_filters() {
        let compare = |words: &str, bytes: &[u8], mask| {
            FilterPipeline::parse(words).unwrap().compare_checksums(bytes.to_vec(), mask, 4, &Limits::default())
        };
        let (sound, wrong) = ([1, 2, 3, 4, 0x06, 0x04, 0x08, 0x05], [1, 2, 3, 5, 0x06, 0x04, 0x08, 0x05]);
        for words in ["fletcher32", "hdf5:305 fletcher32", "shuffle(2) deflate fletcher32"] {
            assert!(compare(words, &sound, 0).unwrap(), "{words}");
            assert_eq!(compare(words, &wrong, 0).unwrap_err().kind(), ErrorKind::Malformed, "{words}");
        }
        assert_eq!(compare("fletcher32 hdf5:305", &sound, 0).unwrap_err().kind(), ErrorKind::Unsupported);
        assert!(!compare("deflate", &wrong, 0).unwrap() && !compare("fletcher32", &wrong, 1).unwrap());
        assert_eq!(FilterPipeline::parse("shuffle(2) fletcher32").unwrap().checksum_filter(), Some("fletcher32"));
    }

    #[test]
    fn decode_applies_filters_in_reverse_and_skips_masked() {
        let plain: Vec<u8> = (0..10u32).flat_map(u32::to_le_bytes).collect();
        let mut shuffled = vec![0; 40];
        shuffle::shuffle(4, &plain, &mut shuffled);
        assert_eq!(decode("shuffle(4)", shuffled.clone(), 0, 40).unwrap(), plain);
        assert_eq!(decode("shuffle(4)", plain.clone(), 1, 40).unwrap(), plain);
        #[cfg(feature = "zlib")]
        {
            let mut packed = Vec::new();
            super::super::zlib::compress(6, &shuffled, &mut packed).unwrap();
            assert_eq!(decode("shuffle(4) deflate", packed.clone(), 0, 40).unwrap(), plain);
            assert!(decode("shuffle(4) deflate", packed.clone(), 0, 39).is_err());
            assert!(decode("deflate fletcher32", packed, 0, 40).is_err(), "without its checksum");
        }
        assert_eq!(decode("pad", vec![1], 0, 3).unwrap(), [1, 0, 0]);
        let error = decode("pad", vec![1; 20], 0, 1 << 32).unwrap_err();
        assert!(error.kind() == ErrorKind::Limit && error.message().contains("zlib_ratio"), "{error}");
        assert!(decode("pad", vec![1; 4], 0, 3).is_err());
        assert_eq!(decode("skip(3)", plain.clone(), 0, 37).unwrap(), plain[3..]);
        assert!(decode("shuffle(0)", plain.clone(), 0, 40).is_ok() && decode("skip(50)", plain, 0, 0).is_err());
    }
    #[test]
    fn suggested_words_are_available() {
        let is_available = |word: &str| {
            let checked = FilterPipeline::parse(word).unwrap().check_available(0, &Limits::default());
            checked.map_or_else(|error| !error.message().contains("is not available"), |()| true)
        };
        for word in FILTER_WORDS {
            assert!(is_available(&format!("{word}(1,1,1,1)")), "{word}");
        }
        assert!(!is_available("shufle(4)") && !is_available("deflate hdf5:32013"));
        // A filter that no chunk went through does not matter.
        let masked = FilterPipeline::parse("deflate hdf5:32013").unwrap().check_available(0b10, &Limits::default());
        assert!(masked.is_ok());
        let advice = FilterPipeline::parse("defalte").unwrap().check_available(0, &Limits::default()).unwrap_err().advice();
        assert_eq!(advice.as_deref(), Some("did you mean deflate?"));
    }
}
