//! Images in compressed tiles: a table whose rows are the tiles (ZIMAGE).
//!
//! FITS Standard 4.0, section 10: RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 and NOCOMPRESS, whole numbers
//! and quantised floats with and without dithering. An image of up to 64 MiB is decoded as a whole when its first byte is
//! read, a larger one by bands of tiles.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::dither::Random;
use super::gzip::gunzipped;
use super::hdu::{Hdu, bitpix, required};
use super::header::Header;
use super::scale::{Linear, Number, array_of};
use super::table::{Column, columns};
use super::{hcompress, heap, image, plio, rice};
use crate::array::{Array, element_count};
use crate::bytes::{Source, SourceRef, read_vec, to_usize};
use crate::error::{Context, Error, Result};
use crate::limits::Limits;

/// How a tile is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Rice {
        width: usize,
        block: usize,
    },
    Gzip,
    /// GZIP_2: the first bytes of all numbers, then the second ones, and so on.
    Shuffled,
    /// Runs of zeros and of one value: for masks.
    Plio,
    /// The H-transform.
    Transformed,
    Plain,
}

/// What the quantised numbers were dithered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dither {
    None,
    Subtract,
    /// As [`Dither::Subtract`], but zeros are kept by a number of their own.
    KeepZero,
}

/// The number that stands for zero in SUBTRACTIVE_DITHER_2.
const ZERO: i32 = i32::MIN + 2;

/// Bytes of an image that is decoded as a whole and kept; of a larger one only a band of tiles is.
const KEPT: u64 = 64 << 20;
/// As so many stored bytes counts whatever is less: the tiles of an empty image are a few bytes each.
const FREE: u64 = 256 << 10;
/// Bytes of a value while it is decoded.
const WIDTH: u64 = 4;

/// A compressed image, decoded when it is read first.
struct Tiles {
    source: SourceRef,
    plan: Plan,
    size: u64,
    limits: Arc<Limits>,
    /// All of it, where it is small.
    decoded: OnceLock<Vec<u8>>,
    /// Only one thread decodes.
    turn: Mutex<()>,
    /// The band that was read last, where it is large.
    last: Mutex<Option<(u64, Arc<Vec<u8>>)>>,
}

/// Everything that the header says.
#[derive(Debug, Clone)]
struct Plan {
    number: Number,
    method: Method,
    /// Axes of the image and of a full tile, the fastest first.
    axes: Vec<u64>,
    tile: Vec<u64>,
    dither: Dither,
    seed: u64,
    scale: Value,
    zero: Value,
    blank: Value,
    columns: Vec<Column>,
    row_size: u64,
    table: u64,
    heap: u64,
    end: u64,
}

/// A parameter that a keyword gives for all tiles, or a column for each.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    None,
    All(f64),
    Column(usize),
}

/// The image of a compressed HDU: as it is meant.
pub(super) fn array(hdu: &Hdu, source: &SourceRef, limits: &Arc<Limits>) -> Result<Array> {
    let header = hdu.header();
    let plan = Plan::read(hdu)?;
    let shape: Vec<u64> = plan.axes.iter().rev().copied().collect();
    let size = element_count(&shape)?.checked_mul(plan.number.size() as u64);
    let size = size.filter(|n| *n <= i64::MAX as u64).ok_or_else(|| Error::malformed("the image is larger than 2^63 bytes"))?;
    let stored = hdu.data().end - hdu.data().start;
    if size > stored.saturating_mul(limits.ratio) {
        let what = format_args!("an image of {size} bytes comes out of {stored}");
        return Err(Limits::exceeded("ratio", limits.ratio, what));
    }
    let number = plan.number;
    let mut linear = image::linear(header)?;
    if let (None, Value::All(blank)) = (linear.blank, plan.blank) {
        linear.blank = Some(blank as i64);
    }
    // Quantised floats have been scaled already.
    let linear = if number.is_integer() { linear } else { Linear::PLAIN };
    let source = source.clone();
    let (limits_of, decoded, turn, last) = (Arc::clone(limits), OnceLock::new(), Mutex::default(), Mutex::default());
    let tiles = Tiles { source, plan, size, limits: limits_of, decoded, turn, last };
    array_of(Arc::new(tiles), 0, shape, number, image::meant(number, linear), limits)
}

impl Plan {
    fn read(hdu: &Hdu) -> Result<Self> {
        let header = hdu.header();
        let columns = columns(header)?;
        let find = |name: &str| columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let value = |name: &str| -> Result<Value> {
            match (find(name), header.number(name)?) {
                (Some(column), _) => Ok(Value::Column(column)),
                (None, Some(number)) => Ok(Value::All(number)),
                (None, None) => Ok(Value::None),
            }
        };
        let axes = super::hdu::axes(header, "Z")?;
        let tile = |(i, len): (usize, &u64)| -> Result<u64> {
            let given = header.integer(&format!("ZTILE{}", i + 1))?.and_then(|n| u64::try_from(n).ok());
            Ok(given.unwrap_or(if i == 0 { *len } else { 1 }).clamp(1, (*len).max(1)))
        };
        let tile = axes.iter().enumerate().map(tile).collect::<Result<Vec<_>>>()?;
        let (rows, row_size) = (required(header, "NAXIS2")?, required(header, "NAXIS1")?);
        let table = rows.checked_mul(row_size).ok_or_else(|| Error::malformed("the table is larger than 2^64 bytes"))?;
        let start = hdu.data().start;
        let plan = Self {
            number: image::number(bitpix(header, "ZBITPIX")?),
            method: method(header)?,
            axes,
            tile,
            dither: dither(header)?,
            seed: header.integer("ZDITHER0")?.and_then(|n| u64::try_from(n).ok()).unwrap_or(1),
            scale: value("ZSCALE")?,
            zero: value("ZZERO")?,
            blank: value("ZBLANK")?,
            row_size,
            table: start,
            heap: heap::start(hdu, table)?,
            end: hdu.data().end,
            columns,
        };
        let tiles = plan.counts().try_fold(1u64, u64::checked_mul);
        if tiles.is_none_or(|tiles| tiles > rows) {
            let counts: Vec<_> = plan.counts().collect();
            return Err(Error::malformed(format!("the table has {rows} rows, expected one for each of {counts:?} tiles")));
        }
        Ok(plan)
    }

    /// How many tiles there are along each axis.
    fn counts(&self) -> impl Iterator<Item = u64> {
        self.axes.iter().zip(&self.tile).map(|(len, tile)| len.div_ceil(*tile))
    }

    /// The array in the heap that a column of a row points to: its bytes, or None where it is empty.
    fn heap_bytes(&self, source: &dyn Source, row: &[u8], name: &str, limits: &Limits) -> Result<Option<Vec<u8>>> {
        let Some(column) = self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name)) else { return Ok(None) };
        if !column.in_heap() {
            return Err(Error::malformed(format!("column {name} is {}, expected an array in the heap", column.form())));
        }
        let place = heap::Place::read(column, row, self.heap..self.end)?;
        let (from, len) = (place.bytes.start, place.bytes.end - place.bytes.start);
        if len == 0 { Ok(None) } else { read_vec(source, from, len, limits).map(Some) }
    }

    /// The value of a parameter for the tile of a row.
    fn value(&self, value: Value, row: &[u8]) -> Result<Option<f64>> {
        let at = match value {
            Value::None => return Ok(None),
            Value::All(number) => return Ok(Some(number)),
            Value::Column(at) => at,
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
            .ok_or_else(|| Error::malformed(format!("column {} is {}, expected one number", column.name, column.form())))
    }
}

fn method(header: &Header) -> Result<Method> {
    let parameter = |name: &str, default: usize| -> Result<usize> {
        // ZNAME1 = 'BLOCKSIZE', ZVAL1 = 32, and so on.
        for i in 1..=9 {
            if header.text(&format!("ZNAME{i}")).is_some_and(|text| text.trim() == name) {
                return to_usize(required(header, &format!("ZVAL{i}"))?);
            }
        }
        Ok(default)
    };
    match header.text("ZCMPTYPE").unwrap_or_default().trim() {
        "RICE_1" | "RICE_ONE" => Ok(Method::Rice { width: parameter("BYTEPIX", 4)?, block: parameter("BLOCKSIZE", 32)? }),
        "GZIP_1" => Ok(Method::Gzip),
        "GZIP_2" => Ok(Method::Shuffled),
        "PLIO_1" => Ok(Method::Plio),
        "HCOMPRESS_1" if parameter("SMOOTH", 0)? > 0 => {
            Err(Error::unsupported("tiles of HCOMPRESS_1 that are to be smoothed are not read"))
        }
        "HCOMPRESS_1" => Ok(Method::Transformed),
        "NOCOMPRESS" => Ok(Method::Plain),
        other => Err(Error::unsupported(format!("images in tiles compressed by {other:?} are not read"))
            .hint("RICE_1, GZIP_1, GZIP_2, PLIO_1, HCOMPRESS_1 and NOCOMPRESS are; funpack of CFITSIO unpacks all")),
    }
}

fn dither(header: &Header) -> Result<Dither> {
    match header.text("ZQUANTIZ").map(str::trim) {
        None | Some("NO_DITHER" | "NONE" | "") => Ok(Dither::None),
        Some("SUBTRACTIVE_DITHER_1") => Ok(Dither::Subtract),
        Some("SUBTRACTIVE_DITHER_2") => Ok(Dither::KeepZero),
        Some(other) => Err(Error::unsupported(format!("floats quantised by {other:?} are not read"))),
    }
}

impl Tiles {
    /// All of the image, where it is small enough to be kept.
    fn kept(&self) -> Result<Option<&[u8]>> {
        if self.size > KEPT {
            return Ok(None);
        }
        if let Some(bytes) = self.decoded.get() {
            return Ok(Some(bytes));
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if self.decoded.get().is_none() {
            let _ = self.decoded.set(self.decode(0..self.bands())?);
        }
        Ok(self.decoded.get().map(Vec::as_slice))
    }

    /// How many bands there are: a band is all tiles beside each other, whose bytes lie in a row.
    fn bands(&self) -> u64 {
        self.plan.counts().last().unwrap_or(1)
    }

    /// Bytes of a full band.
    fn band_size(&self) -> u64 {
        match (self.plan.axes.last(), self.plan.tile.last()) {
            (Some(len), Some(tile)) => self.size / (*len).max(1) * tile,
            _ => self.size,
        }
    }

    /// A band, decoded when another was read last.
    fn band(&self, band: u64) -> Result<Arc<Vec<u8>>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = last.as_ref().filter(|(known, _)| *known == band) {
            return Ok(Arc::clone(bytes));
        }
        // The one before is let go first.
        *last = None;
        let bytes = Arc::new(self.decode(band..band + 1)?);
        *last = Some((band, Arc::clone(&bytes)));
        Ok(bytes)
    }

    /// Decodes the tiles of some bands.
    fn decode(&self, bands: Range<u64>) -> Result<Vec<u8>> {
        let first = bands.start * self.band_size();
        let size = bands.end.saturating_mul(self.band_size()).min(self.size).saturating_sub(first);
        self.limits.charge_memory(size, "a compressed image")?;
        self.limits.charge_work(size)?;
        let largest = self.plan.axes.iter().zip(&self.plan.tile).map(|(len, tile)| len.min(tile)).product();
        self.check_memory(largest, size)?;
        let size = to_usize(size)?;
        let mut image = Vec::new();
        image.try_reserve_exact(size).map_err(|_| Error::limit(format!("no memory for an image of {size} bytes")))?;
        image.resize(size, 0);
        if size == 0 {
            return Ok(image);
        }
        let counts: Vec<u64> = self.plan.counts().collect();
        let beside: u64 = counts.split_last().map_or(1, |(_, beside)| beside.iter().product());
        let rows = bands.start * beside..bands.end * beside;
        let at = self.plan.table + rows.start * self.plan.row_size;
        let table = read_vec(&*self.source, at, (rows.end - rows.start) * self.plan.row_size, &self.limits)?;
        for number in rows.clone() {
            let at = to_usize((number - rows.start) * self.plan.row_size)?;
            let row = table.get(at..at + to_usize(self.plan.row_size)?).unwrap_or_default();
            let (mut start, lens) = self.place(number, &counts);
            let tile = self.tile(number, row, to_usize(lens.iter().product())?).doing(|| format!("tile {number}"))?;
            if let (Some(start), Some(tile)) = (start.last_mut(), self.plan.tile.last()) {
                *start -= bands.start * tile;
            }
            self.put(&mut image, &start, &lens, &tile)?;
        }
        Ok(image)
    }

    /// Refuses tiles of so many values that need far more memory, together with the `beside` bytes of their band, than
    /// those of an honest image of so many stored bytes.
    fn check_memory(&self, count: u64, beside: u64) -> Result<()> {
        // The last is what a tile needs for each byte of its values.
        let (name, ratio, needed) = match self.plan.method {
            Method::Rice { .. } => ("rice_ratio", self.limits.rice_ratio, 2),
            Method::Plio => ("plio_ratio", self.limits.plio_ratio, 2),
            Method::Transformed => ("hcompress_ratio", self.limits.hcompress_ratio, 3),
            Method::Gzip | Method::Shuffled | Method::Plain => ("zlib_ratio", self.limits.zlib_ratio, 2),
        };
        let needed = count.saturating_mul(WIDTH).saturating_mul(needed).saturating_add(beside);
        let whole = self.plan.end.saturating_sub(self.plan.table);
        if needed > whole.max(FREE).saturating_mul(ratio) {
            let what = format_args!("tiles of {count} values need {needed} bytes of memory, out of {whole} that are stored");
            return Err(Limits::exceeded(name, ratio, what));
        }
        self.limits.charge_memory(needed, "a tile")
    }

    /// Counts what decoding a tile costs besides writing its values down.
    fn charge_tile(&self, stored: &[u8], count: usize) -> Result<()> {
        let cost = match self.plan.method {
            Method::Rice { .. } => 4,
            Method::Transformed => hcompress::cost(stored),
            _ => 2,
        };
        self.limits.charge_work((count as u64).saturating_mul(WIDTH).saturating_mul(cost))
    }

    /// First index and lengths of a tile, the fastest axis first.
    fn place(&self, number: u64, counts: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let mut rest = number;
        let start: Vec<u64> = counts
            .iter()
            .zip(&self.plan.tile)
            .map(|(count, tile)| {
                let at = rest % count * tile;
                rest /= count;
                at
            })
            .collect();
        let lens =
            start.iter().zip(&self.plan.axes).zip(&self.plan.tile).map(|((at, len), tile)| (len - at).min(*tile)).collect();
        (start, lens)
    }

    /// Copies a tile line by line to its place.
    fn put(&self, image: &mut [u8], start: &[u64], lens: &[u64], tile: &[u8]) -> Result<()> {
        let unit = self.plan.number.size() as u64;
        let line = to_usize(lens.first().copied().unwrap_or(1) * unit)?;
        for (n, bytes) in tile.chunks_exact(line.max(1)).enumerate() {
            let (mut rest, mut stride, mut at) = (n as u64, 1u64, start.first().copied().unwrap_or(0));
            for (axis, len) in self.plan.axes.iter().enumerate() {
                if axis > 0 {
                    at += (start[axis] + rest % lens[axis]) * stride;
                    rest /= lens[axis];
                }
                stride *= len;
            }
            let at = to_usize(at * unit)?;
            if let Some(place) = image.get_mut(at..at + line) {
                place.copy_from_slice(bytes);
            }
        }
        Ok(())
    }

    /// The values of a tile, big-endian.
    fn tile(&self, number: u64, row: &[u8], count: usize) -> Result<Vec<u8>> {
        let (plan, size) = (&self.plan, self.plan.number.size());
        let heap = |name| plan.heap_bytes(&*self.source, row, name, &self.limits);
        let cut = || Error::malformed("its bytes are cut short or do not decode");
        if let Some(bytes) = heap("COMPRESSED_DATA")? {
            self.charge_tile(&bytes, count)?;
            let whole: Vec<i32> = match plan.method {
                Method::Rice { width, block } => rice::decode(&bytes, count, width, block).ok_or_else(cut)?,
                Method::Plio => plio::decode(&bytes, count).ok_or_else(cut)?,
                Method::Transformed => hcompress::decode(&bytes, count).ok_or_else(cut)?,
                _ => {
                    let (bytes, width) = self.unpacked(&bytes, count)?;
                    // As wide as the image: these are its values. Quantised floats are whole numbers of 4 bytes.
                    let is_quantised = !plan.number.is_integer() && plan.scale != Value::None;
                    if width == size && !(is_quantised && size == 4) {
                        return Ok(bytes);
                    }
                    wholes(&bytes, width).ok_or_else(cut)?
                }
            };
            return self.values(number, row, &whole);
        }
        // Tiles that could not be quantised are kept without loss.
        if let Some(bytes) = heap("GZIP_COMPRESSED_DATA")? {
            self.charge_tile(&[], count)?;
            let (bytes, width) = gunzipped(&bytes, count, false)?;
            return if width == size { Ok(bytes) } else { Err(cut()) };
        }
        match heap("UNCOMPRESSED_DATA")? {
            Some(bytes) if bytes.len() == count * size => Ok(bytes),
            _ => Err(Error::malformed("it has no data")),
        }
    }

    /// The bytes of a tile that is not Rice coded, and how many of them are a value.
    fn unpacked(&self, bytes: &[u8], count: usize) -> Result<(Vec<u8>, usize)> {
        match self.plan.method {
            Method::Gzip => gunzipped(bytes, count, false),
            Method::Shuffled => gunzipped(bytes, count, true),
            _ if count > 0 && bytes.len().is_multiple_of(count) => Ok((bytes.to_vec(), bytes.len() / count)),
            _ => Err(Error::malformed(format!("{} bytes for {count} values", bytes.len()))),
        }
    }

    /// Whole numbers as values of the image.
    fn values(&self, number: u64, row: &[u8], whole: &[i32]) -> Result<Vec<u8>> {
        let plan = &self.plan;
        let mut out = Vec::with_capacity(whole.len() * plan.number.size());
        if plan.number.is_integer() {
            for n in whole {
                let fits = match plan.number {
                    Number::U8 => u8::try_from(*n).is_ok(),
                    Number::I16 => i16::try_from(*n).is_ok(),
                    _ => true,
                };
                if !fits {
                    return Err(Error::malformed(format!("it has the value {n}, which ZBITPIX does not allow")));
                }
                let wide = i64::from(*n).to_be_bytes();
                out.extend_from_slice(wide.get(8 - plan.number.size()..).unwrap_or_default());
            }
            return Ok(out);
        }
        let scale = plan.value(plan.scale, row)?.unwrap_or(1.0);
        let zero = plan.value(plan.zero, row)?.unwrap_or(0.0);
        let blank = plan.value(plan.blank, row)?.map(|n| n as i32);
        let mut random = Random::new(number.wrapping_add(plan.seed).wrapping_sub(1));
        for n in whole {
            let shift = if plan.dither == Dither::None { 0.0 } else { 0.5 - f64::from(random.next()) };
            let value = match *n {
                n if Some(n) == blank => f64::NAN,
                ZERO if plan.dither == Dither::KeepZero => 0.0,
                n => (f64::from(n) + shift) * scale + zero,
            };
            match plan.number {
                Number::F32 => out.extend_from_slice(&(value as f32).to_be_bytes()),
                _ => out.extend_from_slice(&value.to_be_bytes()),
            }
        }
        Ok(out)
    }
}

/// Big-endian whole numbers of so many bytes.
fn wholes(bytes: &[u8], width: usize) -> Option<Vec<i32>> {
    Some(match width {
        1 => bytes.iter().map(|b| i32::from(*b)).collect(),
        2 => bytes.as_chunks().0.iter().map(|b| i16::from_be_bytes(*b).into()).collect(),
        4 => bytes.as_chunks().0.iter().map(|b| i32::from_be_bytes(*b)).collect(),
        _ => return None,
    })
}

impl Source for Tiles {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(into.len() as u64).filter(|end| *end <= self.size).ok_or_else(|| {
            Error::malformed(format!("the image ends at byte {}, but {} are expected from {offset} on", self.size, into.len()))
        })?;
        if let Some(bytes) = self.kept()? {
            into.copy_from_slice(bytes.get(to_usize(offset)?..to_usize(end)?).unwrap_or_default());
            return Ok(());
        }
        let size = self.band_size().max(1);
        let (mut at, mut rest) = (offset, into);
        while at < end {
            let band = self.band(at / size)?;
            let part = band.get(to_usize(at % size)?..).unwrap_or_default();
            let (now, later) = rest.split_at_mut(part.len().min(rest.len()).max(1));
            now.copy_from_slice(part.get(..now.len()).ok_or_else(|| Error::malformed("a band of tiles is too short"))?);
            at += now.len() as u64;
            rest = later;
        }
        Ok(())
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.kept().ok()??.get(start..start.checked_add(usize::try_from(len).ok()?)?)
    }

    fn stored(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        if range.is_empty() { Ok(Vec::new()) } else { self.source.stored(self.plan.table..self.plan.end) }
    }

    fn origin(&self) -> Option<&dyn Source> {
        Some(&*self.source)
    }

    fn name(&self) -> &str {
        self.source.name()
    }
}
