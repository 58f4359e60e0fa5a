//! `tile`: the elements of an array in tiles, each tile in C order, the tiles in C order too.
//!
//! ASDF 0.1.0, *Built-in array-to-array encodings*. Tiles at the far edges are as large as all
//! others; what they hold beyond the array is padding, undefined on reading, zeros when written.

use std::io::Write;
use std::ops::Range;

use super::super::parallel_encode::write_all;
use super::super::stream::check_range;
use super::super::{Encoder, check_total};
use super::{items_covering, read_items};
use crate::bytes::{PieceDecoding, Source, SourceOrigin, SourceRef, stored_ranges, to_usize};
use crate::error::{Error, Result};
use crate::index::unravel;
use crate::limits::Limits;

/// The checked division of an array into tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TileGrid {
    /// Elements of a tile, and of the array, along each axis.
    tile: Vec<u64>,
    array: Vec<u64>,
    /// Bytes of one element.
    item: u64,
    /// Tiles along each axis.
    count: Vec<u64>,
    /// Bytes of a tile, of the array, and of all tiles.
    tile_bytes: u64,
    pub(super) bytes: u64,
    pub(super) tiled: u64,
}

impl TileGrid {
    /// Checks the arguments of a `tile` step.
    pub(super) fn new(tile: &[u64], array: &[u64], item: u64) -> Result<Self> {
        if tile.len() != array.len() {
            return Err(Error::malformed(format!("tile: shape {tile:?} and original_shape {array:?} have different ranks")));
        }
        if item == 0 || tile.contains(&0) {
            return Err(Error::malformed(format!("tile: shape {tile:?} of items of {item} bytes, expected numbers from 1 on")));
        }
        let count: Vec<u64> = array.iter().zip(tile).map(|(array, tile)| array.div_ceil(*tile)).collect();
        let size = |shape: &[u64]| {
            shape.iter().try_fold(item, |all, n| all.checked_mul(*n)).ok_or_else(|| {
                Error::malformed(format!("tile: an array of shape {array:?} in tiles of {tile:?} has more than 2^64 bytes"))
            })
        };
        let (tile_bytes, bytes) = (size(tile)?, size(array)?);
        let tiles = count.iter().try_fold(1u64, |all, n| all.checked_mul(*n));
        let tiled =
            tiles.and_then(|n| n.checked_mul(tile_bytes)).ok_or_else(|| Error::malformed("tile: more than 2^64 bytes"))?;
        Ok(Self { tile: tile.to_vec(), array: array.to_vec(), item, count, tile_bytes, bytes, tiled })
    }

    /// Elements of one tile.
    pub(super) fn tile_items(&self) -> u64 {
        self.tile_bytes / self.item
    }

    /// Does the same as [`TileGrid::valid_runs`], for a later step. Returns None if no tile has padding.
    pub(super) fn inside_lookup(&self) -> Option<super::quantize::TileRuns> {
        if self.tiled == self.bytes {
            return None;
        }
        let grid = self.clone();
        Some(Box::new(move |number| grid.valid_runs(number)))
    }

    /// Returns the elements of tile `number` that belong to the array, as runs in the order of the tile.
    pub(super) fn valid_runs(&self, number: u64) -> Vec<Range<u64>> {
        let mut left = number;
        let mut hull = vec![0..0; self.array.len()];
        for (((to, n), tile), count) in hull.iter_mut().zip(&self.array).zip(&self.tile).zip(&self.count).rev() {
            let start = left % (*count).max(1) * tile;
            *to = start..start.saturating_add(*tile).min(*n);
            left /= (*count).max(1);
        }
        let (mut rows, mut runs) = (Vec::new(), Vec::new());
        let all = 0..self.bytes / self.item;
        let _ = self.for_each_tile(&hull, |_, origin, inside| {
            self.collect_tile_rows(origin, inside, &all, &mut rows);
            runs.extend(rows.iter().map(|(at, _, n)| *at..at + n));
            Ok(())
        });
        runs
    }

    /// The smallest box that holds the elements `range` in C order: equal leading indices stay
    /// single, the first that differs spans what is between, all after it are whole.
    fn bounding_range(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let (first, last) = (unravel(range.start, &self.array), unravel(range.end.saturating_sub(1), &self.array));
        let mut differs = false;
        let mut hull = Vec::with_capacity(first.len());
        for ((a, b), n) in first.into_iter().zip(last).zip(&self.array) {
            hull.push(if differs { 0..*n } else { a..b + 1 });
            differs |= a != b;
        }
        hull
    }

    /// Calls `with` for every tile that the box meets, in order of their numbers, with the tile's
    /// number and the part of the box in it, counted from the tile's first element.
    fn for_each_tile(&self, hull: &[Range<u64>], mut with: impl FnMut(u64, &[u64], &[Range<u64>]) -> Result<()>) -> Result<()> {
        let bounds: Vec<Range<u64>> =
            hull.iter().zip(&self.tile).map(|(range, tile)| range.start / tile..(range.end.max(1) - 1) / tile + 1).collect();
        let mut inside = vec![0..0; hull.len()];
        let mut origin = vec![0; hull.len()];
        for_each_index(&bounds, |index| {
            let mut number = 0;
            for (axis, at) in index.iter().enumerate() {
                let (Some(range), Some(tile), Some(count)) = (hull.get(axis), self.tile.get(axis), self.count.get(axis)) else {
                    continue;
                };
                number = number * count + at;
                let start = at * tile;
                let part = range.start.max(start) - start..range.end.min(start + tile) - start;
                if let (Some(to), Some(from)) = (inside.get_mut(axis), origin.get_mut(axis)) {
                    (*to, *from) = (part, start);
                }
            }
            with(number, &origin, &inside)
        })
    }

    /// The rows (runs along the last axis) of a part of a tile that hold elements of `range`: for
    /// each, where it begins in the tile, where in the array, and how many elements it has.
    fn collect_tile_rows(&self, origin: &[u64], inside: &[Range<u64>], range: &Range<u64>, rows: &mut Vec<(u64, u64, u64)>) {
        rows.clear();
        let Some((last, outer)) = inside.split_last() else {
            rows.push((0, 0, 1));
            return;
        };
        let _ = for_each_index(outer, |index| {
            let (mut in_tile, mut in_array) = (0, 0);
            for (((at, start), tile), array) in index.iter().zip(origin).zip(&self.tile).zip(&self.array) {
                in_tile = in_tile * tile + at;
                in_array = in_array * array + start + at;
            }
            let (tile, array) = (self.tile.last().copied().unwrap_or(1), self.array.last().copied().unwrap_or(1));
            let start = in_array * array + origin.last().copied().unwrap_or(0);
            let (from, to) = ((start + last.start).max(range.start), (start + last.end).min(range.end));
            if from < to {
                rows.push((in_tile * tile + (from - start), from, to - from));
            }
            Ok(())
        });
    }
}

/// Calls `with` for every index in the box, the last axis running fastest; once for no axes.
fn for_each_index(bounds: &[Range<u64>], mut with: impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
    if bounds.iter().any(Range::is_empty) {
        return Ok(());
    }
    let mut index: Vec<u64> = bounds.iter().map(|range| range.start).collect();
    loop {
        with(&index)?;
        let mut more = false;
        for (at, range) in index.iter_mut().zip(bounds).rev() {
            *at += 1;
            if *at < range.end {
                more = true;
                break;
            }
            *at = range.start;
        }
        if !more {
            return Ok(());
        }
    }
}

/// An array stored in tiles, as a source of its elements in C order: a slice reads only its tiles.
pub(super) struct TiledSource {
    grid: TileGrid,
    inner: SourceRef,
    limits: Limits,
}

impl TiledSource {
    /// `inner` holds all tiles.
    pub(super) fn new(grid: TileGrid, inner: SourceRef, limits: &Limits) -> Result<Self> {
        if inner.len() != grid.tiled {
            return Err(Error::malformed(format!("tile: {} bytes of tiles, expected {}", inner.len(), grid.tiled)));
        }
        Ok(Self { grid, inner, limits: limits.clone() })
    }

    /// Reads whole elements.
    fn read_items(&self, range: &Range<u64>, into: &mut [u8]) -> Result<()> {
        let grid = &self.grid;
        let mut rows = Vec::new();
        let mut scratch = Vec::new();
        let item = grid.item;
        grid.for_each_tile(&grid.bounding_range(range), |number, origin, inside| {
            grid.collect_tile_rows(origin, inside, range, &mut rows);
            let (Some((first, ..)), Some((last, _, n))) = (rows.first(), rows.last()) else { return Ok(()) };
            // One read covers the span from the first needed row to the last, because all are in one tile.
            let start = number * grid.tile_bytes + first * item;
            let len = (last + n - first) * item;
            let bytes = match self.inner.view(start, len) {
                Some(bytes) => bytes,
                None => {
                    self.limits.charge_memory(len, "reading a tile")?;
                    scratch.resize(to_usize(len)?, 0);
                    self.inner.read_at(start, &mut scratch)?;
                    &scratch
                }
            };
            for (in_tile, in_array, n) in &rows {
                let from = to_usize((in_tile - first) * item)?;
                let to = to_usize((in_array - range.start) * item)?;
                let n = to_usize(n * item)?;
                if let (Some(to), Some(from)) = (into.get_mut(to..to + n), bytes.get(from..from + n)) {
                    to.copy_from_slice(from);
                }
            }
            Ok(())
        })
    }

    /// The ranges of `inner` that hold these bytes.
    fn inner_ranges(&self, range: &Range<u64>) -> Result<Vec<Range<u64>>> {
        check_range(range.start, range.end.saturating_sub(range.start), self.len())?;
        let mut needed: Vec<Range<u64>> = Vec::new();
        if range.is_empty() {
            return Ok(needed);
        }
        let (grid, item) = (&self.grid, self.grid.item);
        let items = items_covering(item, range.start, range.end - range.start);
        let mut rows = Vec::new();
        grid.for_each_tile(&grid.bounding_range(&items), |number, origin, inside| {
            grid.collect_tile_rows(origin, inside, &items, &mut rows);
            if let (Some((first, ..)), Some((last, _, n))) = (rows.first(), rows.last()) {
                let base = number * grid.tile_bytes;
                let (start, end) = (base + first * item, base + (last + n) * item);
                match needed.last_mut() {
                    Some(before) if before.end == start => before.end = end,
                    _ => needed.push(start..end),
                }
            }
            Ok(())
        })?;
        Ok(needed)
    }
}

impl PieceDecoding for TiledSource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        let mut all = Vec::new();
        for part in self.inner_ranges(&range)? {
            all.extend(stored_ranges(&*self.inner, part)?);
        }
        Ok(all)
    }
}

impl Source for TiledSource {
    fn len(&self) -> u64 {
        self.grid.bytes
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        check_range(offset, into.len() as u64, self.len())?;
        read_items(&self.limits, "reading tiles", self.grid.item, offset, into, |items, into| self.read_items(items, into))
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let mut all = Vec::new();
        for range in ranges {
            all.extend(self.inner_ranges(range)?);
        }
        self.inner.prefetch(&all)
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.inner))
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}

/// Cuts an array into tiles, one band of tiles along the first axis after the other.
pub(super) struct TileEncoder {
    grid: TileGrid,
    /// Bytes of a full band of the array, and what has come of the current one.
    band: usize,
    pending: Vec<u8>,
    written: u64,
}

impl TileEncoder {
    /// A writer of the tiles of an array of `grid.bytes` bytes.
    pub(super) fn new(grid: TileGrid, limits: &Limits) -> Result<Self> {
        let slab = grid.array.iter().skip(1).fold(grid.item, |all, n| all.saturating_mul(*n));
        let rows = grid.tile.first().copied().unwrap_or(1).min(grid.array.first().copied().unwrap_or(1));
        let band = slab.saturating_mul(rows);
        limits.charge_memory(band, "a band of tiles")?;
        limits.charge_memory(grid.tile_bytes, "a tile")?;
        Ok(Self { band: to_usize(band)?, grid, pending: Vec::new(), written: 0 })
    }

    fn write_pending_band(&mut self, out: &mut dyn Write) -> Result<()> {
        let grid = &self.grid;
        let bytes = std::mem::take(&mut self.pending);
        // The band as a separate array, which starts again at tile 0.
        let mut array = grid.array.clone();
        if let Some(first) = array.first_mut() {
            let slab = grid.array.iter().skip(1).fold(grid.item, |all, n| all.saturating_mul(*n)).max(1);
            *first = bytes.len() as u64 / slab;
        }
        let band = TileGrid::new(&grid.tile, &array, grid.item)?;
        let all = 0..band.bytes / band.item;
        let hull: Vec<_> = array.iter().map(|n| 0..*n).collect();
        let mut rows = Vec::new();
        let mut tile = vec![0; to_usize(band.tile_bytes)?];
        band.for_each_tile(&hull, |_, origin, inside| {
            tile.fill(0);
            band.collect_tile_rows(origin, inside, &all, &mut rows);
            for (in_tile, in_array, n) in &rows {
                let [to, from, n] = [in_tile, in_array, n].map(|at| (at * band.item) as usize);
                if let (Some(to), Some(from)) = (tile.get_mut(to..to + n), bytes.get(from..from + n)) {
                    to.copy_from_slice(from);
                }
            }
            write_all(out, &tile)
        })
    }
}

impl Encoder for TileEncoder {
    fn write(&mut self, mut data: &[u8], out: &mut dyn Write) -> Result<()> {
        self.written += data.len() as u64;
        if self.written > self.grid.bytes {
            return check_total(Some(self.grid.bytes), self.written);
        }
        while !data.is_empty() {
            let (now, later) = data.split_at(data.len().min(self.band.saturating_sub(self.pending.len()).max(1)));
            self.pending.extend_from_slice(now);
            data = later;
            if self.pending.len() == self.band {
                self.write_pending_band(out)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        check_total(Some(self.grid.bytes), self.written)?;
        if self.pending.is_empty() { Ok(()) } else { self.write_pending_band(out) }
    }
}
