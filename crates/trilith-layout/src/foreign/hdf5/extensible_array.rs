//! Extensible arrays: the index of chunks of a dataset with one axis without an end.

use std::ops::Range;

use super::file::{CHECKSUM_SIZE, EntrySink, Hdf5File, overlap, run, visit_paged_elements};
use crate::error::{Error, Result};

/// The header.
struct ExtensibleArrayHeader {
    element: u64,
    /// Bytes of a place in the array.
    places: usize,
    /// Elements in the index block itself, and in the smallest data block.
    index_elements: u64,
    min_data_elements: u64,
    /// Addresses of data blocks of the first super blocks, which are in the index block.
    min_secondary_pointers: u64,
    /// Elements of a page.
    page_elements: u64,
    /// Number of elements.
    count: u64,
    /// The elements that are read.
    wanted: Range<u64>,
}

/// Hands every wanted element to `take`, with its number. Blocks without one are not read.
pub(super) fn visit_extensible_array(file: &Hdf5File, root: u64, wanted: &Range<u64>, take: EntrySink<'_>) -> Result<()> {
    let head = file.bytes_up_to(root, 128)?;
    file.check_signature(&head, b"EAHD", root)?;
    let mut at = file.field_reader(&head, root);
    at.skip(6)?;
    let (element, bits, inside, least) = (at.uint(1)?, at.uint(1)?, at.uint(1)?, at.uint(1)?);
    let (pointers, page_bits) = (at.uint(1)?, at.uint(1)?);
    for _ in 0..4 {
        at.read_length()?;
    }
    let count = at.read_length()?;
    at.read_length()?;
    let block = at.read_address()?;
    file.compare_checksum(root, head.get(..at.consumed() + CHECKSUM_SIZE).unwrap_or(&[]), "the header of an extensible array")?;
    let Some(block) = block else { return Ok(()) };
    let wrong = || {
        Error::malformed("the header of an extensible array does not make sense").at_byte(root.saturating_add(file.base_address))
    };
    let is_right = element > 0 && least.is_power_of_two() && pointers.is_power_of_two() && pointers > 1;
    if !is_right || bits > 64 || page_bits > 32 || bits < u64::from(least.ilog2()) {
        return Err(wrong());
    }
    let places = bits.div_ceil(8) as usize;
    let shape = ExtensibleArrayHeader {
        element,
        places,
        index_elements: inside,
        min_data_elements: least,
        min_secondary_pointers: pointers,
        page_elements: 1 << page_bits,
        count,
        wanted: wanted.clone(),
    };
    let supers = 1 + bits - u64::from(least.ilog2());
    shape.index_block(file, block, supers, take)
}

impl ExtensibleArrayHeader {
    /// Data blocks of a super block, and elements of each of them.
    fn super_block(&self, number: u64) -> (u64, u64) {
        let power = |n: u64| 1u64.checked_shl(u32::try_from(n).unwrap_or(u32::MAX)).unwrap_or(u64::MAX);
        (power(number / 2), power(number.div_ceil(2)).saturating_mul(self.min_data_elements))
    }

    fn index_block(&self, file: &Hdf5File, address: u64, supers: u64, take: EntrySink<'_>) -> Result<()> {
        // Super blocks whose data blocks are in the index block.
        let direct = 2 * u64::from(self.min_secondary_pointers.ilog2());
        let (data, above) = (2 * (self.min_secondary_pointers - 1), supers.saturating_sub(direct));
        let addresses = (data + above).saturating_mul(file.offset_size() as u64);
        let len = (6 + file.offset_size()) as u64 + self.index_elements * self.element + addresses;
        let bytes = file.read_bytes(address, len)?;
        file.check_signature(&bytes, b"EAIB", address)?;
        file.compare_checksum_at(address, len, "the index of an extensible array")?;
        let mut at = file.field_reader(&bytes, address);
        at.skip(6 + file.offset_size())?;
        for number in 0..self.index_elements {
            let place = at.position();
            let element = at.take_bytes(self.element as usize)?;
            if number < self.count && self.wanted.contains(&number) {
                take(number, &mut file.field_reader(element, place.saturating_sub(file.base_address)))?;
            }
        }
        let mut first = self.index_elements;
        for number in 0..direct.min(supers) {
            let (blocks, elements) = self.super_block(number);
            for _ in 0..blocks {
                if let Some(block) = at.read_address()?.filter(|_| first < self.count) {
                    self.data_block(file, block, first, elements, None, take)?;
                }
                first = first.saturating_add(elements);
            }
        }
        for number in direct..supers {
            if first >= self.count.min(self.wanted.end) {
                break;
            }
            let (blocks, elements) = self.super_block(number);
            let end = first.saturating_add(blocks.saturating_mul(elements));
            if let Some(block) = at.read_address()?.filter(|_| end > self.wanted.start) {
                self.data_blocks(file, block, first, (blocks, elements), take)?;
            }
            first = end;
        }
        Ok(())
    }

    /// The data blocks of a super block.
    fn data_blocks(
        &self,
        file: &Hdf5File,
        address: u64,
        mut first: u64,
        (blocks, elements): (u64, u64),
        take: EntrySink<'_>,
    ) -> Result<()> {
        let pages = if elements > self.page_elements { elements / self.page_elements } else { 0 };
        let maps = blocks.saturating_mul(pages.div_ceil(8));
        let front = (6 + file.offset_size() + self.places) as u64;
        let head = file.read_bytes(address, front)?;
        file.check_signature(&head, b"EASB", address)?;
        let map = file.read_bytes(address.saturating_add(front), maps)?;
        let from = address.saturating_add(front).saturating_add(maps);
        let bytes = file.read_bytes(from, blocks.saturating_mul(file.offset_size() as u64))?;
        let len = (front + maps).saturating_add(bytes.len() as u64);
        file.compare_checksum_at(address, len, "a super block of an extensible array")?;
        let mut at = file.field_reader(&bytes, from);
        let per_block = pages.div_ceil(8) as usize;
        for number in 0..blocks {
            if first >= self.count {
                break;
            }
            let map = map.get(number as usize * per_block..(number as usize + 1) * per_block);
            if let Some(block) = at.read_address()? {
                self.data_block(file, block, first, elements, map.filter(|_| pages > 0), take)?;
            }
            first = first.saturating_add(elements);
        }
        Ok(())
    }

    /// The elements of a data block; `map` has a bit for each page that exists.
    fn data_block(
        &self,
        file: &Hdf5File,
        address: u64,
        first: u64,
        elements: u64,
        map: Option<&[u8]>,
        take: EntrySink<'_>,
    ) -> Result<()> {
        let numbers = first..first.saturating_add(elements).min(self.count);
        if overlap(&numbers, &self.wanted).is_empty() {
            return Ok(());
        }
        let front = (6 + file.offset_size() + self.places) as u64;
        let head = file.read_bytes(address, front)?;
        file.check_signature(&head, b"EADB", address)?;
        let from = address.saturating_add(front);
        let name = "a block of an extensible array";
        match map {
            None => {
                file.compare_checksum_at(address, front.saturating_add(elements.saturating_mul(self.element)), name)?;
                run(file, from, self.element, numbers, &self.wanted, take)
            }
            // A checksum follows the header. The pages are whole, whatever number of elements is in use.
            Some(map) => {
                file.compare_checksum_at(address, front, name)?;
                let pages = (self.element, self.page_elements);
                let all = first..first.saturating_add(elements);
                let wanted = overlap(&numbers, &self.wanted);
                visit_paged_elements(file, from.saturating_add(CHECKSUM_SIZE as u64), pages, map, all, &wanted, take)
            }
        }
    }
}
