//! Images in compressed tiles: a table whose rows are the tiles (ZIMAGE).
//!
//! FITS Standard 4.0, section 10: RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 and NOCOMPRESS, whole numbers
//! and quantised floats with and without dithering. The tiles are the chunks of a grid: a slice decodes those that it touches.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::dither::DitherRandom;
use super::gzip::{decode_gzip_tile, decode_shuffled_gzip_tile};
use super::hdu::{Hdu, missing_card_error, read_bitpix, require_unsigned};
use super::header::Header;
use super::scaling::{StoredNumber, ValueForm, array_of};
use super::table::{Column, columns};
use super::{hcompress, heap, image, plio, rice};
use crate::array::physical as physical_of;
use crate::array::{Array, Byteorder, Datatype, element_count};
use crate::array::{ChunkProvider, ChunkShape, ChunkedSource};
use crate::bytes::{SourceRef, read_vec, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The compression of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TileCompression {
    Rice {
        bytes_per_pixel: usize,
        block: usize,
    },
    Gzip1,
    /// GZIP_2: the first bytes of all numbers, then the second ones, and so on.
    Gzip2,
    /// Runs of zeros and of one value: for masks.
    Plio,
    /// The H-transform.
    Hcompress,
    Plain,
}

/// Column that holds the bytes of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TileColumn {
    Compressed,
    GzipCompressed,
    Uncompressed,
}

/// The dithering of the quantised numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dither {
    None,
    Subtractive1,
    /// Like [`Dither::Subtractive1`], but a special number represents zero.
    Subtractive2,
}

/// The number that represents zero in SUBTRACTIVE_DITHER_2.
const DITHERED_ZERO: i32 = i32::MIN + 2;

/// Minimum number of stored bytes that a tile counts as: the tiles of an empty image are a few bytes each.
pub(super) const MIN_TILE_COST: u64 = 256 << 10;
/// Bytes of a value while it is decoded.
const VALUE_BYTES: u64 = 4;

/// The tiles of a compressed image.
struct TileSource {
    source: SourceRef,
    plan: TileSettings,
    limits: Arc<Limits>,
    /// The table with the place of each tile, if the source has no bytes in memory.
    table: OnceLock<Vec<u8>>,
}

/// The settings in the header.
#[derive(Debug, Clone)]
struct TileSettings {
    number: StoredNumber,
    method: TileCompression,
    /// Axes of the image and of a full tile, the fastest first.
    axes: Vec<u64>,
    tile: Vec<u64>,
    dither: Dither,
    seed: u64,
    scale: TileParam,
    zero: TileParam,
    blank: TileParam,
    columns: Vec<Column>,
    row_size: u64,
    table: u64,
    heap: u64,
    heap_end: u64,
}

/// A parameter that a keyword gives for all tiles, or a column for each.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TileParam {
    None,
    All(f64),
    Column(usize),
}

/// Returns `true` for a keyword that describes the compression, or that a compressed image keeps for its uncompressed form.
pub(super) fn is_keyword(keyword: &str) -> bool {
    let stem = keyword.trim_end_matches(|c: char| c.is_ascii_digit());
    match stem.strip_prefix('Z') {
        Some("NAXIS" | "TILE" | "NAME" | "VAL") => true,
        Some(
            "IMAGE" | "CMPTYPE" | "BITPIX" | "MASKCMP" | "QUANTIZ" | "SCALE" | "ZERO" | "BLANK" | "SIMPLE" | "TENSION" | "EXTEND"
            | "BLOCKED" | "PCOUNT" | "GCOUNT" | "HECKSUM" | "DATASUM",
        ) => stem == keyword,
        _ => keyword == "ZDITHER0",
    }
}

/// The image of a compressed HDU: as it is meant, or else as it was stored before it was compressed, but with its sign.
pub(super) fn tiled_image_array(hdu: &Hdu, source: &SourceRef, form: ValueForm, limits: &Arc<Limits>) -> Result<Array> {
    let header = hdu.header();
    let plan = TileSettings::from_hdu(hdu)?;
    let (number, blank) = (plan.number, plan.blank);
    let (grid, shape) = tile_grid(plan, hdu, source, limits)?;
    let mut linear = image::read_image_scaling(header)?;
    if let (None, TileParam::All(blank)) = (linear.blank, blank) {
        linear.blank = Some(blank as i64);
    }
    if let (ValueForm::Stored, Some(unsigned)) = (form, image::unsigned_conversion(number, linear)) {
        return array_of(grid, 0, shape, number, Some(unsigned), limits);
    }
    let stored = Array::chunked(grid, number.datatype(), Byteorder::Big, shape)?.with_limits(Arc::clone(limits));
    match form {
        ValueForm::Stored => Ok(stored),
        ValueForm::Physical => physical_of(&stored, &[image::image_value_decoding(number, linear)]),
    }
}

/// The checksums that only the decoded image of a compressed HDU shows.
pub(super) struct TileChecksums {
    /// `true` if each tile has the CRC-32 of gzip.
    pub has_crc: bool,
    /// `true` if the decoded image is that which was compressed, bit for bit.
    pub is_lossless: bool,
    /// The image as it was stored before it was compressed.
    pub image: Array,
}

/// Returns the image of a compressed HDU, to compare checksums with; no tile is decoded.
pub(super) fn tile_checksums(hdu: &Hdu, source: &SourceRef, limits: &Arc<Limits>) -> Result<TileChecksums> {
    let plan = TileSettings::from_hdu(hdu)?;
    let has_crc = matches!(plan.method, TileCompression::Gzip1 | TileCompression::Gzip2);
    let is_quantised =
        matches!(plan.number.datatype(), Datatype::Float32 | Datatype::Float64) && !matches!(plan.scale, TileParam::None);
    let is_lossless = !is_quantised && !matches!(plan.method, TileCompression::Hcompress);
    let number = plan.number;
    let (grid, shape) = tile_grid(plan, hdu, source, limits)?;
    let image = Array::chunked(grid, number.datatype(), Byteorder::Big, shape)?.with_limits(Arc::clone(limits));
    Ok(TileChecksums { has_crc, is_lossless, image })
}

/// The tiles of an image, and its shape.
fn tile_grid(plan: TileSettings, hdu: &Hdu, source: &SourceRef, limits: &Arc<Limits>) -> Result<(Arc<ChunkedSource>, Vec<u64>)> {
    let shape: Vec<u64> = plan.axes.iter().rev().copied().collect();
    let size = element_count(&shape)?.checked_mul(plan.number.size() as u64);
    let size = size.filter(|n| *n <= i64::MAX as u64).ok_or_else(|| Error::malformed("the image is larger than 2^63 bytes"))?;
    let stored = hdu.data().end - hdu.data().start;
    if size > stored.saturating_mul(limits.ratio) {
        let what = format_args!("an image of {size} bytes comes out of {stored}");
        return Err(Limits::exceeded_error("ratio", limits.ratio, what));
    }
    let number = plan.number;
    let chunk: Vec<u64> = plan.tile.iter().rev().copied().collect();
    let cut = ChunkShape { shape: shape.clone(), chunk, item: number.size() as u64, trims_edges: true };
    let tiles = TileSource { source: source.clone(), plan, limits: Arc::clone(limits), table: OnceLock::new() };
    let grid = ChunkedSource::new(cut, Box::new(tiles), vec![0; number.size()], Arc::clone(limits))?;
    Ok((Arc::new(grid), shape))
}

impl TileSettings {
    fn from_hdu(hdu: &Hdu) -> Result<Self> {
        let header = hdu.header();
        let columns = columns(header)?;
        let find = |name: &str| columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let value = |name: &str| -> Result<TileParam> {
            match (find(name), header.float(name)?) {
                (Some(column), _) => Ok(TileParam::Column(column)),
                (None, Some(number)) => Ok(TileParam::All(number)),
                (None, None) => Ok(TileParam::None),
            }
        };
        let axes = super::hdu::read_axis_lengths(header, "Z")?;
        let tile = |(i, len): (usize, &u64)| -> Result<u64> {
            let given = header.integer(&format!("ZTILE{}", i + 1))?.and_then(|n| u64::try_from(n).ok());
            Ok(given.unwrap_or(if i == 0 { *len } else { 1 }).clamp(1, (*len).max(1)))
        };
        let tile = axes.iter().enumerate().map(tile).collect::<Result<Vec<_>>>()?;
        let (rows, row_size) = (require_unsigned(header, "NAXIS2")?, require_unsigned(header, "NAXIS1")?);
        let table = rows.checked_mul(row_size).ok_or_else(|| Error::malformed("the table is larger than 2^64 bytes"))?;
        let start = hdu.data().start;
        let plan = Self {
            number: image::number_from_bitpix(read_bitpix(header, "ZBITPIX")?),
            method: read_compression(header)?,
            axes,
            tile,
            dither: read_dither(header)?,
            seed: header.integer("ZDITHER0")?.and_then(|n| u64::try_from(n).ok()).unwrap_or(1),
            scale: value("ZSCALE")?,
            zero: value("ZZERO")?,
            blank: value("ZBLANK")?,
            row_size,
            table: start,
            heap: heap::heap_offset(hdu, table)?,
            heap_end: hdu.data().end,
            columns,
        };
        let tiles = plan.tile_counts().try_fold(1u64, u64::checked_mul);
        if tiles.is_none_or(|tiles| tiles > rows) {
            let counts: Vec<_> = plan.tile_counts().collect();
            return Err(Error::malformed(format!("the table has {rows} rows, expected one for each of {counts:?} tiles")));
        }
        Ok(plan)
    }

    /// Returns the number of tiles along each axis.
    fn tile_counts(&self) -> impl Iterator<Item = u64> {
        self.axes.iter().zip(&self.tile).map(|(len, tile)| len.div_ceil(*tile))
    }

    /// Returns the place of the array in the heap that a column of a row points to, or None if it is empty.
    fn heap_place(&self, row: &[u8], name: &str) -> Result<Option<Range<u64>>> {
        let Some(column) = self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name)) else { return Ok(None) };
        if !column.in_heap() {
            return Err(Error::malformed(format!("column {name} is {}, expected an array in the heap", column.tform())));
        }
        let place = heap::CellLocation::read_descriptor(column, row, self.heap..self.heap_end)?.bytes;
        Ok(Some(place).filter(|place| !place.is_empty()))
    }

    /// Returns the form and the place of the bytes of the tile of a row, or None if there are none.
    fn tile_place(&self, row: &[u8]) -> Result<Option<(TileColumn, Range<u64>)>> {
        // Tiles that could not be quantised are kept without loss.
        let forms = [
            ("COMPRESSED_DATA", TileColumn::Compressed),
            ("GZIP_COMPRESSED_DATA", TileColumn::GzipCompressed),
            ("UNCOMPRESSED_DATA", TileColumn::Uncompressed),
        ];
        for (name, form) in forms {
            if let Some(place) = self.heap_place(row, name)? {
                return Ok(Some((form, place)));
            }
        }
        Ok(None)
    }

    /// The value of a parameter for the tile of a row.
    fn parameter(&self, value: TileParam, row: &[u8]) -> Result<Option<f64>> {
        let at = match value {
            TileParam::None => return Ok(None),
            TileParam::All(number) => return Ok(Some(number)),
            TileParam::Column(at) => at,
        };
        let Some(column) = self.columns.get(at) else { return Ok(None) };
        let bytes = row.get(to_usize(column.offset)?..).unwrap_or_default();
        let number = match (column.code, bytes) {
            ('D', bytes) => bytes.first_chunk().map(|b| f64::from_be_bytes(*b)),
            ('E', bytes) => bytes.first_chunk().map(|b| f32::from_be_bytes(*b).into()),
            ('J', bytes) => bytes.first_chunk().map(|b| i32::from_be_bytes(*b).into()),
            _ => None,
        };
        number
            .map(Some)
            .ok_or_else(|| Error::malformed(format!("column {} is {}, expected one number", column.name, column.tform())))
    }
}

fn read_compression(header: &Header) -> Result<TileCompression> {
    let parameter = |name: &str, default: usize| -> Result<usize> {
        // ZNAME1 = 'BLOCKSIZE', ZVAL1 = 32, and so on.
        for i in 1..=9 {
            if header.text(&format!("ZNAME{i}")).is_some_and(|text| text.trim() == name) {
                return to_usize(require_unsigned(header, &format!("ZVAL{i}"))?);
            }
        }
        Ok(default)
    };
    match header.text("ZCMPTYPE").ok_or_else(|| missing_card_error(header, "ZCMPTYPE"))?.trim() {
        "RICE_1" | "RICE_ONE" => {
            Ok(TileCompression::Rice { bytes_per_pixel: parameter("BYTEPIX", 4)?, block: parameter("BLOCKSIZE", 32)? })
        }
        "GZIP_1" => Ok(TileCompression::Gzip1),
        "GZIP_2" => Ok(TileCompression::Gzip2),
        "PLIO_1" => Ok(TileCompression::Plio),
        "HCOMPRESS_1" if parameter("SMOOTH", 0)? > 0 => {
            Err(Error::unsupported("tiles of HCOMPRESS_1 that are to be smoothed are not read"))
        }
        "HCOMPRESS_1" => Ok(TileCompression::Hcompress),
        "NOCOMPRESS" => Ok(TileCompression::Plain),
        other => Err(Error::unsupported(format!("images in tiles compressed by {other:?} are not read"))
            .hint("RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 and NOCOMPRESS are; funpack of CFITSIO unpacks all")),
    }
}

fn read_dither(header: &Header) -> Result<Dither> {
    match header.text("ZQUANTIZ").map(str::trim) {
        None | Some("NO_DITHER" | "NONE" | "") => Ok(Dither::None),
        Some("SUBTRACTIVE_DITHER_1") => Ok(Dither::Subtractive1),
        Some("SUBTRACTIVE_DITHER_2") => Ok(Dither::Subtractive2),
        Some(other) => Err(Error::unsupported(format!("floats quantised by {other:?} are not read"))),
    }
}

impl TileSource {
    /// The row of the table for a tile.
    fn table_row(&self, number: u64) -> Result<&[u8]> {
        let (size, missing) = (self.plan.row_size, || Error::malformed("the table has no row for it"));
        let at = number.checked_mul(size).ok_or_else(missing)?;
        if let Some(row) = self.source.view(self.plan.table.saturating_add(at), size) {
            return Ok(row);
        }
        let table = match self.table.get() {
            Some(table) => table,
            None => {
                let count: u64 = self.plan.tile_counts().product();
                let table = read_vec(&*self.source, self.plan.table, count.saturating_mul(size), &self.limits)?;
                self.table.get_or_init(|| table)
            }
        };
        let at = to_usize(at)?;
        table.get(at..at.saturating_add(to_usize(size)?)).ok_or_else(missing)
    }

    /// Refuses tiles of this number of values that need far more memory than those of an honest image of this number of stored bytes.
    fn check_memory(&self, count: u64) -> Result<()> {
        // The last is what a tile needs for each byte of its values.
        let (name, ratio, needed) = match self.plan.method {
            TileCompression::Rice { .. } => ("rice_ratio", self.limits.rice_ratio, 2),
            TileCompression::Plio => ("plio_ratio", self.limits.plio_ratio, 2),
            TileCompression::Hcompress => ("hcompress_ratio", self.limits.hcompress_ratio, 3),
            TileCompression::Gzip1 | TileCompression::Gzip2 | TileCompression::Plain => ("zlib_ratio", self.limits.zlib_ratio, 2),
        };
        let needed = count.saturating_mul(VALUE_BYTES).saturating_mul(needed);
        let whole = self.plan.heap_end.saturating_sub(self.plan.table);
        if needed > whole.max(MIN_TILE_COST).saturating_mul(ratio) {
            let what = format_args!("tiles of {count} values need {needed} bytes of memory, out of {whole} that are stored");
            return Err(Limits::exceeded_error(name, ratio, what));
        }
        self.limits.charge_memory(needed, "a tile")
    }

    /// Counts what decoding a tile costs besides writing its values down.
    fn charge_tile(&self, stored: &[u8], count: usize) -> Result<()> {
        let cost = match self.plan.method {
            TileCompression::Rice { .. } => 4,
            TileCompression::Hcompress => hcompress::cost_per_byte(stored),
            _ => 2,
        };
        self.limits.charge_decoding((count as u64).saturating_mul(VALUE_BYTES).saturating_mul(cost))
    }

    /// The values of a tile, big-endian.
    fn decode_tile(&self, number: u64, count: usize) -> Result<Vec<u8>> {
        let (plan, size, row) = (&self.plan, self.plan.number.size(), self.table_row(number)?);
        let cut = || Error::malformed("its bytes are cut short or do not decode");
        let Some((form, place)) = plan.tile_place(row)? else { return Err(Error::malformed("it has no data")) };
        let bytes = read_vec(&*self.source, place.start, place.end - place.start, &self.limits)?;
        match form {
            TileColumn::Uncompressed if bytes.len() == count * size => return Ok(bytes),
            TileColumn::Uncompressed => return Err(Error::malformed("it has no data")),
            TileColumn::GzipCompressed => {
                self.charge_tile(&[], count)?;
                let (bytes, width) = decode_gzip_tile(&bytes, count)?;
                return if width == size { Ok(bytes) } else { Err(cut()) };
            }
            TileColumn::Compressed => self.charge_tile(&bytes, count)?,
        }
        let whole: Vec<i32> = match plan.method {
            // Most images: numbers as wide as the pixels are values of the image.
            TileCompression::Rice { bytes_per_pixel: 2, block } if plan.number == StoredNumber::I16 => {
                return rice::decode_rice_shorts(&bytes, count, block).ok_or_else(cut);
            }
            TileCompression::Rice { bytes_per_pixel: width, block } => {
                rice::decode_rice(&bytes, count, width, block).ok_or_else(cut)?
            }
            TileCompression::Plio => plio::decode_plio(&bytes, count).ok_or_else(cut)?,
            TileCompression::Hcompress => hcompress::decode_hcompress(&bytes, count).ok_or_else(cut)?,
            _ => {
                let (bytes, width) = self.decompress(&bytes, count)?;
                // Integers as wide as the pixels are values of the image. Quantised floats are integers of 4 bytes.
                let is_quantised = !plan.number.is_integer() && plan.scale != TileParam::None;
                if width == size && !(is_quantised && size == 4) {
                    return Ok(bytes);
                }
                integers_to_bytes(&bytes, width).ok_or_else(cut)?
            }
        };
        self.to_image_values(number, row, &whole)
    }

    /// The bytes of a tile that is not Rice coded, and how many of them are a value.
    fn decompress(&self, bytes: &[u8], count: usize) -> Result<(Vec<u8>, usize)> {
        match self.plan.method {
            TileCompression::Gzip1 => decode_gzip_tile(bytes, count),
            TileCompression::Gzip2 => decode_shuffled_gzip_tile(bytes, count),
            _ if count > 0 && bytes.len().is_multiple_of(count) => Ok((bytes.to_vec(), bytes.len() / count)),
            _ => Err(Error::malformed(format!("{} bytes for {count} values", bytes.len()))),
        }
    }

    /// Converts integers to values of the image.
    fn to_image_values(&self, number: u64, row: &[u8], whole: &[i32]) -> Result<Vec<u8>> {
        let plan = &self.plan;
        match plan.number {
            StoredNumber::U8 => return narrow_to_elements(whole, |n| u8::try_from(n).ok(), |n| [n as u8]),
            StoredNumber::I16 => return narrow_to_elements(whole, |n| i16::try_from(n).ok(), |n| (n as i16).to_be_bytes()),
            StoredNumber::I32 => return narrow_to_elements(whole, Some, i32::to_be_bytes),
            StoredNumber::I64 => return narrow_to_elements(whole, Some, |n| i64::from(n).to_be_bytes()),
            StoredNumber::F32 | StoredNumber::F64 => {}
        }
        let mut out = Vec::with_capacity(whole.len() * plan.number.size());
        let scale = plan.parameter(plan.scale, row)?.unwrap_or(1.0);
        let zero = plan.parameter(plan.zero, row)?.unwrap_or(0.0);
        let blank = plan.parameter(plan.blank, row)?.map(|n| n as i32);
        let mut random = DitherRandom::new(number.wrapping_add(plan.seed).wrapping_sub(1));
        for n in whole {
            let shift = if plan.dither == Dither::None { 0.0 } else { 0.5 - f64::from(random.next_value()) };
            let value = match *n {
                n if Some(n) == blank => f64::NAN,
                DITHERED_ZERO if plan.dither == Dither::Subtractive2 => 0.0,
                n => (f64::from(n) + shift) * scale + zero,
            };
            match plan.number {
                StoredNumber::F32 => out.extend_from_slice(&(value as f32).to_be_bytes()),
                _ => out.extend_from_slice(&value.to_be_bytes()),
            }
        }
        Ok(out)
    }
}

/// Converts integers to elements of a type, and fails if one does not fit.
fn narrow_to_elements<T, const N: usize>(
    whole: &[i32],
    fit: impl Fn(i32) -> Option<T>,
    to: impl Fn(i32) -> [u8; N],
) -> Result<Vec<u8>> {
    if let Some(n) = whole.iter().find(|n| fit(**n).is_none()) {
        return Err(Error::malformed(format!("it has the value {n}, which ZBITPIX does not allow")));
    }
    let mut out = vec![0; whole.len() * N];
    out.as_chunks_mut().0.iter_mut().zip(whole).for_each(|(element, n)| *element = to(*n));
    Ok(out)
}

/// Big-endian whole numbers of this number of bytes.
fn integers_to_bytes(bytes: &[u8], width: usize) -> Option<Vec<i32>> {
    Some(match width {
        1 => bytes.iter().map(|b| i32::from(*b)).collect(),
        2 => bytes.as_chunks().0.iter().map(|b| i16::from_be_bytes(*b).into()).collect(),
        4 => bytes.as_chunks().0.iter().map(|b| i32::from_be_bytes(*b)).collect(),
        _ => return None,
    })
}

impl ChunkProvider for TileSource {
    fn chunk_range(&self, number: u64) -> Result<Option<Range<u64>>> {
        // A tile without data is an error when it is decoded, not one that was never written.
        let place = self.plan.tile_place(self.table_row(number)?)?;
        Ok(Some(place.map_or(self.plan.heap..self.plan.heap, |(_, place)| place)))
    }

    fn decode_chunk(&self, number: u64, size: u64) -> Result<Vec<u8>> {
        let count = size / self.plan.number.size() as u64;
        self.check_memory(count)?;
        self.decode_tile(number, to_usize(count)?)
    }

    fn source(&self) -> &SourceRef {
        &self.source
    }

    fn display_name(&self) -> &'static str {
        "tile"
    }
}
