//! Extensible arrays: the index of chunks of a dataset with one axis without an end.

use super::file::{H5, Take, paged, run};
use crate::error::{Error, Result};

/// The header.
struct Shape {
    element: u64,
    /// Bytes of a place in the array.
    places: usize,
    /// Elements in the index block itself, and in the smallest data block.
    inside: u64,
    least: u64,
    /// Addresses of data blocks of the first super blocks, which are in the index block.
    pointers: u64,
    /// Elements of a page.
    page: u64,
    /// Number of elements.
    count: u64,
}

/// Hands every element to `take`, with its number.
pub(super) fn walk(file: &H5, root: u64, take: Take<'_>) -> Result<()> {
    let head = file.bytes_up_to(root, 128)?;
    file.signed(&head, b"EAHD", root)?;
    let mut at = file.fields(&head, root);
    at.skip(6)?;
    let (element, bits, inside, least) = (at.uint(1)?, at.uint(1)?, at.uint(1)?, at.uint(1)?);
    let (pointers, page_bits) = (at.uint(1)?, at.uint(1)?);
    for _ in 0..4 {
        at.length()?;
    }
    let count = at.length()?;
    at.length()?;
    let Some(block) = at.address()? else { return Ok(()) };
    let wrong =
        || Error::malformed("the header of an extensible array does not make sense").at_byte(root.saturating_add(file.base));
    let is_right = element > 0 && least.is_power_of_two() && pointers.is_power_of_two() && pointers > 1;
    if !is_right || bits > 64 || page_bits > 32 || bits < u64::from(least.ilog2()) {
        return Err(wrong());
    }
    let places = bits.div_ceil(8) as usize;
    let shape = Shape { element, places, inside, least, pointers, page: 1 << page_bits, count };
    let supers = 1 + bits - u64::from(least.ilog2());
    shape.index_block(file, block, supers, take)
}

impl Shape {
    /// Data blocks of a super block, and elements of each of them.
    fn super_block(&self, number: u64) -> (u64, u64) {
        let power = |n: u64| 1u64.checked_shl(u32::try_from(n).unwrap_or(u32::MAX)).unwrap_or(u64::MAX);
        (power(number / 2), power(number.div_ceil(2)).saturating_mul(self.least))
    }

    fn index_block(&self, file: &H5, address: u64, supers: u64, take: Take<'_>) -> Result<()> {
        // Super blocks whose data blocks are in the index block.
        let direct = 2 * u64::from(self.pointers.ilog2());
        let (data, above) = (2 * (self.pointers - 1), supers.saturating_sub(direct));
        let addresses = (data + above).saturating_mul(file.offset_size() as u64);
        let len = (6 + file.offset_size()) as u64 + self.inside * self.element + addresses;
        let bytes = file.bytes(address, len)?;
        file.signed(&bytes, b"EAIB", address)?;
        let mut at = file.fields(&bytes, address);
        at.skip(6 + file.offset_size())?;
        for number in 0..self.inside {
            let place = at.position();
            let element = at.take(self.element as usize)?;
            if number < self.count {
                take(number, &mut file.fields(element, place.saturating_sub(file.base)))?;
            }
        }
        let mut first = self.inside;
        for number in 0..direct.min(supers) {
            let (blocks, elements) = self.super_block(number);
            for _ in 0..blocks {
                if let Some(block) = at.address()?.filter(|_| first < self.count) {
                    self.data_block(file, block, first, elements, None, take)?;
                }
                first = first.saturating_add(elements);
            }
        }
        for number in direct..supers {
            if first >= self.count {
                break;
            }
            let (blocks, elements) = self.super_block(number);
            if let Some(block) = at.address()? {
                self.data_blocks(file, block, first, (blocks, elements), take)?;
            }
            first = first.saturating_add(blocks.saturating_mul(elements));
        }
        Ok(())
    }

    /// The data blocks of a super block.
    fn data_blocks(&self, file: &H5, address: u64, mut first: u64, (blocks, elements): (u64, u64), take: Take<'_>) -> Result<()> {
        let pages = if elements > self.page { elements / self.page } else { 0 };
        let maps = blocks.saturating_mul(pages.div_ceil(8));
        let front = (6 + file.offset_size() + self.places) as u64;
        let head = file.bytes(address, front)?;
        file.signed(&head, b"EASB", address)?;
        let map = file.bytes(address.saturating_add(front), maps)?;
        let from = address.saturating_add(front).saturating_add(maps);
        let bytes = file.bytes(from, blocks.saturating_mul(file.offset_size() as u64))?;
        let mut at = file.fields(&bytes, from);
        let per_block = pages.div_ceil(8) as usize;
        for number in 0..blocks {
            if first >= self.count {
                break;
            }
            let map = map.get(number as usize * per_block..(number as usize + 1) * per_block);
            if let Some(block) = at.address()? {
                self.data_block(file, block, first, elements, map.filter(|_| pages > 0), take)?;
            }
            first = first.saturating_add(elements);
        }
        Ok(())
    }

    /// The elements of a data block; `map` has a bit for each page that exists.
    fn data_block(&self, file: &H5, address: u64, first: u64, elements: u64, map: Option<&[u8]>, take: Take<'_>) -> Result<()> {
        let front = (6 + file.offset_size() + self.places) as u64;
        let head = file.bytes(address, front)?;
        file.signed(&head, b"EADB", address)?;
        let numbers = first..first.saturating_add(elements).min(self.count);
        let from = address.saturating_add(front);
        match map {
            None => run(file, from, self.element, numbers, take),
            // A checksum follows the header.
            Some(map) => paged(file, from.saturating_add(4), (self.element, self.page), map, numbers, take),
        }
    }
}
