//! Compressed tables: each row holds the columns of a tile of rows, each column compressed by itself (ZTABLE).
//!
//! FITS Standard 4.0, section 10.3: GZIP_1, GZIP_2, RICE_1 and NOCOMPRESS. The tiles are the chunks of a grid: a slice decodes
//! those that it touches. Columns of variable length are refused.

use std::ops::Range;
use std::sync::Arc;

use super::gzip::decode_shuffled_gzip_tile;
use super::hdu::{Hdu, HduKind, require_unsigned};
use super::header::Header;
use super::table::{Column, columns, table_array};
use super::tiled_image::MIN_TILE_COST;
use super::{heap, rice};
use crate::array::{Array, ChunkProvider, ChunkShape, ChunkedSource};
use crate::bytes::{SourceRef, gunzipped, read_vec, to_usize};
use crate::error::{Error, Result, ResultExt};
use crate::limits::Limits;

/// Advice for a table that is not decoded.
const FUNPACK_HINT: &str = "unpack the file with funpack first";
/// Values in a block of RICE_1.
const RICE_BLOCK: usize = 32;

/// The compression of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnCompression {
    Gzip1,
    /// GZIP_2 with numbers of this number of bytes: the first bytes of all numbers, then the second ones, and so on.
    Gzip2(usize),
    /// RICE_1 with integers of this number of bytes.
    Rice(usize),
    Uncompressed,
}

/// A column of the table, and its place in both forms of a row.
struct TiledColumn {
    /// The descriptor in a row of the compressed table.
    descriptor: Column,
    method: ColumnCompression,
    /// Bytes in a row of the table.
    row_range: Range<usize>,
}

/// The tiles of a compressed table.
struct TableTiles {
    source: SourceRef,
    columns: Vec<TiledColumn>,
    /// Bytes of a row of the table.
    width: usize,
    /// Bytes of a row of the compressed table.
    tile_width: u64,
    start: u64,
    heap: Range<u64>,
    limits: Arc<Limits>,
}

/// The rows of a compressed table as they are meant.
pub(super) fn compressed_table_array(hdu: &Hdu, source: &SourceRef, limits: &Arc<Limits>) -> Result<Array> {
    let (table, rows) = uncompressed_table(hdu, source, None, limits)?;
    table_array(&table, &rows, limits)
}

/// A compressed table as an uncompressed one, and the bytes of its rows, which are decoded when they are read. If `column` is given
/// only that column is decoded.
pub(super) fn uncompressed_table(
    hdu: &Hdu,
    source: &SourceRef,
    column: Option<usize>,
    limits: &Arc<Limits>,
) -> Result<(Hdu, SourceRef)> {
    let header = uncompressed_header(hdu.header())?;
    let (width, rows) = (require_unsigned(&header, "NAXIS1")?, require_unsigned(&header, "NAXIS2")?);
    let size = width.checked_mul(rows).filter(|size| *size <= i64::MAX as u64);
    let size = size.ok_or_else(|| Error::malformed("the table is larger than 2^63 bytes"))?;
    let stored = hdu.data().end - hdu.data().start;
    if size > stored.saturating_mul(limits.ratio) {
        let what = format_args!("a table of {size} bytes comes out of {stored}");
        return Err(Limits::exceeded_error("ratio", limits.ratio, what));
    }
    let tile_rows = header.integer("ZTILELEN")?.and_then(|n| u64::try_from(n).ok()).unwrap_or(rows).clamp(1, rows.max(1));
    let mut tiles = TableTiles::from_hdu(hdu, &header, source, limits)?;
    if let Some(column) = column {
        tiles.columns = tiles.columns.into_iter().skip(column).take(1).collect();
    }
    let count = require_unsigned(hdu.header(), "NAXIS2")?;
    if rows.div_ceil(tile_rows) > count {
        return Err(Error::malformed(format!("the table has {count} tiles of {tile_rows} rows, expected {rows} rows")));
    }
    let cut = ChunkShape { shape: vec![rows], chunk: vec![tile_rows], item: width, trims_edges: true };
    let grid: SourceRef = Arc::new(ChunkedSource::new(cut, Box::new(tiles), vec![0; to_usize(width)?], Arc::clone(limits))?);
    Ok((Hdu { header, kind: HduKind::Table, data: 0..size, ..hdu.clone() }, grid))
}

/// The header of the table without compression.
fn uncompressed_header(header: &Header) -> Result<Header> {
    let mut made = header.clone();
    for (keyword, kept) in [("NAXIS1", "ZNAXIS1"), ("NAXIS2", "ZNAXIS2")] {
        made.set(keyword, require_unsigned(header, kept)?, "", "NAXIS")?;
    }
    for number in 1..=require_unsigned(header, "TFIELDS")?.min(999) {
        let form = header.text(&format!("ZFORM{number}"));
        let form = form.ok_or_else(|| Error::malformed(format!("the compressed table has no ZFORM{number}")))?;
        made.set(&format!("TFORM{number}"), form, "", "TFIELDS")?;
    }
    Ok(made)
}

impl TableTiles {
    fn from_hdu(hdu: &Hdu, header: &Header, source: &SourceRef, limits: &Arc<Limits>) -> Result<Self> {
        let (rows, tile_width) = (require_unsigned(hdu.header(), "NAXIS2")?, require_unsigned(hdu.header(), "NAXIS1")?);
        let table = rows.checked_mul(tile_width).ok_or_else(|| Error::malformed("the table is larger than 2^64 bytes"))?;
        let mut tiled = Vec::new();
        for (number, (column, descriptor)) in columns(header)?.into_iter().zip(columns(hdu.header())?).enumerate() {
            let method = header.text(&format!("ZCTYP{}", number + 1)).unwrap_or_default().trim().to_owned();
            let method = column_compression(&column, &method).with_context(|| format!("column {}", column.name))?;
            if !descriptor.in_heap() {
                let what = format!("column {} is {}, expected an array in the heap", column.name, descriptor.tform());
                return Err(Error::malformed(what));
            }
            let start = to_usize(column.offset)?;
            let end = start.saturating_add(to_usize(column.row_bytes().unwrap_or(0))?);
            tiled.push(TiledColumn { descriptor, method, row_range: start..end });
        }
        Ok(Self {
            source: source.clone(),
            columns: tiled,
            width: to_usize(require_unsigned(header, "NAXIS1")?)?,
            tile_width,
            start: hdu.data().start,
            heap: heap::heap_offset(hdu, table)?..hdu.data().end,
            limits: Arc::clone(limits),
        })
    }

    /// The row of the compressed table that describes a tile.
    fn descriptors(&self, number: u64) -> Result<Vec<u8>> {
        let offset = number.checked_mul(self.tile_width).and_then(|bytes| bytes.checked_add(self.start));
        let offset = offset.ok_or_else(|| Error::malformed("the table is larger than 2^64 bytes"))?;
        read_vec(&*self.source, offset, self.tile_width, &self.limits)
    }

    /// The values of a column in a tile of `rows` rows, as an uncompressed table has them one after another.
    fn decode_column(&self, column: &TiledColumn, descriptors: &[u8], rows: usize) -> Result<Vec<u8>> {
        let size = column.row_range.len().saturating_mul(rows);
        let place = heap::CellLocation::read_descriptor(&column.descriptor, descriptors, self.heap.clone())?.bytes;
        if size == 0 {
            return Ok(Vec::new());
        }
        let packed = read_vec(&*self.source, place.start, place.end - place.start, &self.limits)?;
        let values = match column.method {
            ColumnCompression::Uncompressed => packed,
            ColumnCompression::Gzip1 | ColumnCompression::Gzip2(1) => gunzipped(&packed, size as u64)?,
            ColumnCompression::Gzip2(bytes) => decode_shuffled_gzip_tile(&packed, size / bytes)?.0,
            ColumnCompression::Rice(bytes) => {
                let numbers = rice::decode_rice(&packed, size / bytes, bytes, RICE_BLOCK);
                let numbers = numbers.ok_or_else(|| Error::malformed("the Rice code ends too early"))?;
                let tail = |number: i32| number.to_be_bytes().into_iter().skip(4 - bytes);
                numbers.into_iter().flat_map(tail).collect()
            }
        };
        if values.len() != size {
            return Err(Error::malformed(format!("{} bytes for {rows} rows, expected {size}", values.len())));
        }
        Ok(values)
    }
}

/// Returns the compression that ZCTYPn names, if it is one that the datatype of the column has.
fn column_compression(column: &Column, name: &str) -> Result<ColumnCompression> {
    if column.in_heap() {
        let what = format!("a compressed table with a column of variable length ({}) is not decoded", column.tform());
        return Err(Error::unsupported(what).hint(FUNPACK_HINT));
    }
    // CFITSIO, which writes these files, does not shuffle the bytes of complex numbers.
    let bytes = match column.code {
        'I' => 2,
        'J' | 'E' => 4,
        'K' | 'D' => 8,
        _ => 1,
    };
    match (name, column.code) {
        ("GZIP_1", _) => Ok(ColumnCompression::Gzip1),
        ("GZIP_2", _) => Ok(ColumnCompression::Gzip2(bytes)),
        ("RICE_1" | "RICE_ONE", 'B' | 'I' | 'J') => Ok(ColumnCompression::Rice(bytes)),
        ("NOCOMPRESS", _) => Ok(ColumnCompression::Uncompressed),
        _ => {
            let what = format!("the compression {name:?} of a column of {} is not known", column.tform());
            Err(Error::unsupported(what).hint(FUNPACK_HINT))
        }
    }
}

impl ChunkProvider for TableTiles {
    fn chunk_range(&self, number: u64) -> Result<Option<Range<u64>>> {
        let descriptors = self.descriptors(number)?;
        let mut range: Option<Range<u64>> = None;
        for column in &self.columns {
            let place = heap::CellLocation::read_descriptor(&column.descriptor, &descriptors, self.heap.clone())?.bytes;
            if !place.is_empty() {
                let known = range.get_or_insert_with(|| place.clone());
                *known = known.start.min(place.start)..known.end.max(place.end);
            }
        }
        Ok(Some(range.unwrap_or(self.heap.start..self.heap.start)))
    }

    fn decode_chunk(&self, number: u64, size: u64) -> Result<Vec<u8>> {
        // A tile is in memory twice while it is decoded.
        let (needed, stored) = (size.saturating_mul(2), self.heap.end.saturating_sub(self.start));
        if needed > stored.max(MIN_TILE_COST).saturating_mul(self.limits.zlib_ratio) {
            let what = format_args!("a tile of a table needs {needed} bytes of memory, out of {stored} that are stored");
            return Err(Limits::exceeded_error("zlib_ratio", self.limits.zlib_ratio, what));
        }
        self.limits.charge_memory(needed, "a tile of a table")?;
        let mut tile = vec![0; to_usize(size)?];
        let rows = tile.len().checked_div(self.width).unwrap_or(0);
        let descriptors = self.descriptors(number)?;
        for column in &self.columns {
            let values = self.decode_column(column, &descriptors, rows);
            let values = values.with_context(|| format!("column {}", column.descriptor.name))?;
            let width = column.row_range.len().max(1);
            for (row, cell) in tile.chunks_exact_mut(self.width.max(1)).zip(values.chunks_exact(width)) {
                if let Some(place) = row.get_mut(column.row_range.clone()) {
                    place.copy_from_slice(cell);
                }
            }
        }
        Ok(tile)
    }

    fn source(&self) -> &SourceRef {
        &self.source
    }

    fn display_name(&self) -> &'static str {
        "tile"
    }
}
