//! The bytes of an HDF5 file: superblock, addresses, and fields of its sizes.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::metadata_checksum::{SharedLedger, compute_lookup3};
use crate::array::undeclared_text;
use crate::bytes::{AccessCost, SourceRef, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The first bytes of the superblock.
pub(super) const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// Metadata are read in blocks of this size, since they are close together in small pieces.
const BLOCK_SIZE: u64 = 64 << 10;
/// Blocks that are kept.
const MAX_CACHED_BLOCKS: usize = 1024;
/// Addresses after the next one that are fetched with it.
const PREFETCH_ADDRESSES: usize = 256;

/// A file whose metadata are read.
pub(super) struct Hdf5File {
    source: SourceRef,
    pub limits: Limits,
    /// The byte of the file that is address 0.
    pub base_address: u64,
    /// The byte of the layout that is the first of the file; 0 for the file itself.
    pub layout_start: u64,
    /// Bytes of an address and of a length.
    offset_size: usize,
    length_size: usize,
    /// The address of the header of the root group.
    pub root: u64,
    /// The address of the object header that extends the superblock.
    pub extension: Option<u64>,
    /// The address of the end of the file in the superblock.
    end_of_file_address: Option<u64>,
    blocks: RefCell<HashMap<u64, Arc<Vec<u8>>>>,
    /// The block that was used last, with its number: most reads go on where the last one ended.
    last_block: RefCell<Option<(u64, Arc<Vec<u8>>)>>,
    /// Addresses of the structures whose checksums were compared.
    compared: RefCell<HashSet<u64>>,
    /// The list into which comparisons are entered.
    ledger: Option<SharedLedger>,
}

/// Bytes of a checksum.
pub(super) const CHECKSUM_SIZE: usize = 4;

impl Hdf5File {
    /// Finds and reads the superblock.
    pub(super) fn open(source: &SourceRef, limits: &Limits) -> Result<Self> {
        Self::open_with_ledger(source, None, limits)
    }

    /// Does the same as [`Hdf5File::open`], and enters each checksum that is compared into a list.
    pub(super) fn open_with_ledger(source: &SourceRef, ledger: Option<SharedLedger>, limits: &Limits) -> Result<Self> {
        let mut base = 0u64;
        let mut start = [0; 8];
        loop {
            if base.saturating_add(8) > source.len() {
                return Err(Error::malformed("the file has no HDF5 superblock"));
            }
            source.read_at(base, &mut start)?;
            if &start == SIGNATURE {
                break;
            }
            base = if base == 0 { 512 } else { base.saturating_mul(2) };
        }
        let blocks = RefCell::default();
        let (offsets, lengths) = (8, 8);
        let mut file = Self {
            source: source.clone(),
            limits: limits.clone(),
            base_address: base,
            layout_start: 0,
            offset_size: offsets,
            length_size: lengths,
            root: 0,
            extension: None,
            end_of_file_address: None,
            blocks,
            last_block: RefCell::default(),
            compared: RefCell::default(),
            ledger,
        };
        file.read_superblock()?;
        Ok(file)
    }

    fn read_superblock(&mut self) -> Result<()> {
        let bytes = self.read_bytes(0, self.len().min(128))?;
        let mut at = self.field_reader(&bytes, 0);
        at.skip(8)?;
        let version = at.uint(1)?;
        match version {
            0 | 1 => {
                at.skip(4)?;
                (self.offset_size, self.length_size) = (size_of_field(at.uint(1)?)?, size_of_field(at.uint(1)?)?);
                at.skip(if version == 0 { 9 } else { 13 })?;
                let mut at = FieldReader { offset_size: self.offset_size, length_size: self.length_size, ..at };
                let base = at.read_address()?;
                at.skip(self.offset_size)?;
                let (end, driver) = (at.read_address()?, at.read_address()?);
                self.end_of_file_address = self.end_after_move(base, end);
                // The symbol table entry of the root: where its name is, then its header.
                at.skip(self.offset_size)?;
                self.root = at.read_address()?.ok_or_else(|| Error::malformed("the root group has no address"))?;
                driver.map_or(Ok(()), |driver| self.check_driver_block(driver))?;
            }
            2 | 3 => {
                (self.offset_size, self.length_size) = (size_of_field(at.uint(1)?)?, size_of_field(at.uint(1)?)?);
                at.skip(1)?;
                let mut at = FieldReader { offset_size: self.offset_size, length_size: self.length_size, ..at };
                let (base, extension, end) = (at.read_address()?, at.read_address()?, at.read_address()?);
                self.end_of_file_address = self.end_after_move(base, end);
                let root = at.read_address()?;
                self.compare_checksum(0, bytes.get(..at.consumed() + CHECKSUM_SIZE).unwrap_or(&bytes), "the superblock")?;
                self.extension = extension;
                self.root = root.ok_or_else(|| Error::malformed("the root group has no address"))?;
            }
            other => return Err(Error::unsupported(format!("a superblock of version {other}, known are 0 to 3"))),
        }
        Ok(())
    }

    /// Returns the same file without the blocks that it keeps, for a reader that may outlive it.
    pub(super) fn reopen(&self) -> Self {
        Self {
            source: self.source.clone(),
            limits: self.limits.clone(),
            blocks: RefCell::default(),
            last_block: RefCell::default(),
            compared: RefCell::default(),
            ledger: self.ledger.clone(),
            ..*self
        }
    }

    /// Drops the blocks that were kept.
    pub(super) fn forget_blocks(&self) {
        self.blocks.borrow_mut().clear();
        self.last_block.take();
    }

    /// Compares the checksum of the structure at an address, which is after `len` bytes; once for each structure.
    pub(super) fn compare_checksum_at(&self, address: u64, len: u64, name: &str) -> Result<()> {
        if self.is_compared(address) {
            return Ok(());
        }
        self.compare_checksum(address, &self.read_bytes(address, len.saturating_add(CHECKSUM_SIZE as u64))?, name)
    }

    /// Compares the checksum of the structure at an address; `bytes` are the structure and its checksum after it.
    pub(super) fn compare_checksum(&self, address: u64, bytes: &[u8], name: &str) -> Result<()> {
        if self.is_compared(address) {
            return Ok(());
        }
        match bytes.split_last_chunk() {
            Some((body, stored)) => {
                self.compare_stated_checksum(address, u32::from_le_bytes(*stored), body, name);
                Ok(())
            }
            None => Err(Error::malformed(format!("{name} is cut short")).at_byte(address.saturating_add(self.base_address))),
        }
    }

    /// Compares the checksum that a structure states with that of its bytes, and enters the result into the list.
    pub(super) fn compare_stated_checksum(&self, address: u64, stated: u32, body: &[u8], name: &str) {
        let Some(ledger) = &self.ledger else { return };
        if !self.compared.borrow_mut().insert(address) {
            return;
        }
        let found = compute_lookup3(body);
        let start = address.saturating_add(self.base_address);
        let wrong = (found != stated).then(|| {
            Error::malformed(format!("the checksum of {name} is {stated:08x}, but its bytes have {found:08x}")).at_byte(start)
        });
        ledger.record(start..start.saturating_add(body.len() as u64), wrong);
    }

    /// Returns `true` if the checksum of the structure at an address was compared, or if none is compared: plain reading does not.
    pub(super) fn is_compared(&self, address: u64) -> bool {
        self.ledger.is_none() || self.compared.borrow().contains(&address)
    }

    /// Returns the end of the file, if the superblock is no longer at the address that it states: a user block was removed, or put
    /// in front, and the end moved with it.
    fn end_after_move(&self, base: Option<u64>, end: Option<u64>) -> Option<u64> {
        end?.checked_add(self.base_address)?.checked_sub(base.unwrap_or(0))
    }

    /// Refuses a file whose bytes are in several files: the block of a superblock of version 0 or 1 names the driver.
    fn check_driver_block(&self, address: u64) -> Result<()> {
        let bytes = self.bytes_up_to(address, 16)?;
        check_driver(bytes.get(8..).unwrap_or(&[]))
    }

    /// The bytes of the file.
    pub(super) fn source(&self) -> &SourceRef {
        &self.source
    }

    /// The byte of the layout that is at an address.
    pub(super) fn layout_offset(&self, address: u64) -> u64 {
        address.saturating_add(self.base_address).saturating_add(self.layout_start)
    }

    /// The address of a byte of the layout.
    pub(super) fn address_of(&self, offset: u64) -> u64 {
        offset.saturating_sub(self.base_address).saturating_sub(self.layout_start)
    }

    /// Bytes after address 0.
    pub(super) fn len(&self) -> u64 {
        self.source.len().saturating_sub(self.base_address)
    }

    /// Returns an error if the file is shorter than its superblock states.
    pub(super) fn cut_short(&self) -> Option<Error> {
        // The one address that counts from the start of the file, a user block included.
        let end = self.end_of_file_address.filter(|end| *end > self.source.len())?;
        Some(Error::malformed(format!(
            "the file is truncated: its superblock declares {end} bytes, and {} are there",
            self.source.len()
        )))
    }

    /// Bytes of an address.
    pub(super) fn offset_size(&self) -> usize {
        self.offset_size
    }

    /// Bytes of a length.
    pub(super) fn length_size(&self) -> usize {
        self.length_size
    }

    /// The bytes at an address.
    pub(super) fn read_bytes(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let end = address.checked_add(len).filter(|end| *end <= self.len());
        let Some(end) = end else {
            let message = match self.cut_short() {
                Some(_) => {
                    format!("the file is truncated at byte {}: {len} bytes are expected at address {address}", self.source.len())
                }
                None => format!("{len} bytes are expected at address {address}, the file has {}", self.len()),
            };
            return Err(Error::malformed(message).at_byte(address.saturating_add(self.base_address)));
        };
        self.limits.charge_memory(len, "the metadata of the file")?;
        self.limits.charge_work(len)?;
        let mut out = Vec::with_capacity(to_usize(len)?);
        let mut at = address;
        while at < end {
            let (number, from) = (at / BLOCK_SIZE, at % BLOCK_SIZE);
            let count = (BLOCK_SIZE - from).min(end - at);
            let (from, to) = (to_usize(from)?, to_usize(from + count)?);
            self.with_block(number, |block| out.extend_from_slice(block.get(from..to).unwrap_or(&[])))?;
            at += count;
        }
        Ok(out)
    }

    /// Returns the bytes at an offset, up to the end of the file but at most `most`.
    pub(super) fn bytes_up_to(&self, address: u64, most: u64) -> Result<Vec<u8>> {
        self.read_bytes(address, most.min(self.len().saturating_sub(address)))
    }

    /// Announces the offsets that are read next. If each request takes long, the first of them is fetched together
    /// with those after it.
    pub(super) fn prefetch(&self, mut addresses: impl Iterator<Item = u64>) -> Result<()> {
        let is_known = |number: &u64| self.blocks.borrow().contains_key(number);
        let Some(first) = addresses.next().map(|address| address / BLOCK_SIZE).filter(|number| !is_known(number)) else {
            return Ok(());
        };
        if self.source.access().cost != AccessCost::Request {
            return Ok(());
        }
        let behind = addresses.take(PREFETCH_ADDRESSES).map(|address| address / BLOCK_SIZE).filter(|number| !is_known(number));
        let mut numbers: Vec<u64> = behind.chain([first]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let range = |number: &u64| {
            let start = number.saturating_mul(BLOCK_SIZE).saturating_add(self.base_address);
            start..start.saturating_add(BLOCK_SIZE)
        };
        self.source.prefetch(&numbers.iter().map(range).filter(|range| range.start < self.source.len()).collect::<Vec<_>>())
    }

    /// Hands over a block.
    fn with_block(&self, number: u64, take: impl FnOnce(&[u8])) -> Result<()> {
        let mut last = self.last_block.borrow_mut();
        match &*last {
            Some((known, block)) if *known == number => take(block),
            _ => take(&last.insert((number, self.cached_block(number)?)).1),
        }
        Ok(())
    }

    fn cached_block(&self, number: u64) -> Result<Arc<Vec<u8>>> {
        if let Some(known) = self.blocks.borrow().get(&number) {
            return Ok(Arc::clone(known));
        }
        let start = number.saturating_mul(BLOCK_SIZE).saturating_add(self.base_address);
        let mut bytes = vec![0; to_usize(BLOCK_SIZE.min(self.source.len().saturating_sub(start)))?];
        self.source.read_at(start, &mut bytes)?;
        let bytes = Arc::new(bytes);
        let mut blocks = self.blocks.borrow_mut();
        if blocks.len() >= MAX_CACHED_BLOCKS {
            blocks.clear();
        }
        blocks.insert(number, Arc::clone(&bytes));
        Ok(bytes)
    }

    /// Reads fields of bytes that are at an address.
    pub(super) fn field_reader<'b>(&self, bytes: &'b [u8], address: u64) -> FieldReader<'b> {
        FieldReader {
            bytes,
            position: 0,
            origin: address.saturating_add(self.base_address),
            offset_size: self.offset_size,
            length_size: self.length_size,
        }
    }

    /// The bytes at an address, which begin with a signature and a version.
    pub(super) fn check_signature(&self, bytes: &[u8], signature: &[u8; 4], address: u64) -> Result<()> {
        if bytes.starts_with(signature) {
            return Ok(());
        }
        let name = String::from_utf8_lossy(signature);
        Err(Error::malformed(format!("the signature {name} is missing")).at_byte(address.saturating_add(self.base_address)))
    }
}

/// Refuses the drivers of files that are only a part of what their superblock describes.
pub(super) fn check_driver(name: &[u8]) -> Result<()> {
    if name.starts_with(b"NCSAfami") {
        return Err(Error::unsupported("the first member of a family of HDF5 files, which are read as one")
            .hint("join them with h5repart -family_to_single NAME-%d.h5 OUT.h5"));
    }
    if name.starts_with(b"NCSAmult") {
        return Err(Error::unsupported("a member of a split or multi HDF5 file, whose elements are in other files")
            .hint("copy it to one file with the HDF5 library, for example with the drivers split and sec2 of h5py"));
    }
    Ok(())
}

fn size_of_field(size: u64) -> Result<usize> {
    match size {
        2 | 4 | 8 => Ok(size as usize),
        other => Err(Error::unsupported(format!("addresses or lengths of {other} bytes, known are 2, 4 and 8"))),
    }
}

/// A function that receives the elements of an index, each with its number.
pub(super) type EntrySink<'t> = &'t mut dyn FnMut(u64, &mut FieldReader<'_>) -> Result<()>;

/// Hands those elements of an index that are wanted to `take`. `numbers` are the elements that follow each other from `from` on.
pub(super) fn run(
    file: &Hdf5File,
    from: u64,
    size: u64,
    numbers: Range<u64>,
    wanted: &Range<u64>,
    take: EntrySink<'_>,
) -> Result<()> {
    let range = overlap(&numbers, wanted);
    if range.is_empty() {
        return Ok(());
    }
    let from = from.saturating_add((range.start - numbers.start).saturating_mul(size));
    let bytes = file.read_bytes(from, (range.end - range.start).saturating_mul(size))?;
    let mut at = file.field_reader(&bytes, from);
    for number in range {
        let place = at.position();
        let element = at.take_bytes(size as usize)?;
        take(number, &mut file.field_reader(element, place.saturating_sub(file.base_address)))?;
    }
    Ok(())
}

/// Returns the numbers that are in both ranges.
pub(super) fn overlap(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// Hands the wanted ones among elements of a size in pages to `take`; `map` has a bit for each page that exists.
pub(super) fn visit_paged_elements(
    file: &Hdf5File,
    from: u64,
    (size, page): (u64, u64),
    map: &[u8],
    numbers: Range<u64>,
    wanted: &Range<u64>,
    take: EntrySink<'_>,
) -> Result<()> {
    let range = overlap(&numbers, wanted);
    if range.is_empty() {
        return Ok(());
    }
    // A checksum follows each page.
    let stride = page.saturating_mul(size).saturating_add(CHECKSUM_SIZE as u64);
    for number in (range.start - numbers.start) / page..(range.end - numbers.start).div_ceil(page) {
        let first = numbers.start.saturating_add(number.saturating_mul(page));
        let is_there = map.get((number / 8) as usize).is_some_and(|byte| byte & (0x80 >> (number % 8)) != 0);
        if is_there {
            let place = from.saturating_add(number.saturating_mul(stride));
            let count = page.min((numbers.end - numbers.start).saturating_sub(number.saturating_mul(page)));
            file.compare_checksum_at(place, count.saturating_mul(size), "a page of the index of chunks")?;
            run(file, place, size, first..numbers.end.min(first.saturating_add(page)), wanted, take)?;
        }
    }
    Ok(())
}

/// Little-endian fields one after the other.
#[derive(Clone)]
pub(super) struct FieldReader<'b> {
    bytes: &'b [u8],
    position: usize,
    origin: u64,
    offset_size: usize,
    length_size: usize,
}

impl<'b> FieldReader<'b> {
    /// The next bytes.
    pub(super) fn take_bytes(&mut self, len: usize) -> Result<&'b [u8]> {
        let end = self.position.checked_add(len);
        let taken = end.and_then(|end| self.bytes.get(self.position..end)).ok_or_else(|| {
            Error::malformed(format!("expected {len} more bytes of metadata, found {}", self.remaining().len()))
                .at_byte(self.position())
        })?;
        self.position += len;
        Ok(taken)
    }

    /// Goes past bytes.
    pub(super) fn skip(&mut self, len: usize) -> Result<()> {
        self.take_bytes(len).map(drop)
    }

    /// A number of at most 8 bytes.
    pub(super) fn uint(&mut self, len: usize) -> Result<u64> {
        let mut word = [0; 8];
        word.iter_mut().zip(self.take_bytes(len)?).for_each(|(to, from)| *to = *from);
        Ok(u64::from_le_bytes(word))
    }

    /// A length.
    pub(super) fn read_length(&mut self) -> Result<u64> {
        self.uint(self.length_size)
    }

    /// An address; None if it is not defined.
    pub(super) fn read_address(&mut self) -> Result<Option<u64>> {
        let value = self.uint(self.offset_size)?;
        let undefined = u64::MAX >> (64 - 8 * self.offset_size);
        Ok((value != undefined).then_some(value))
    }

    /// An address that has to be defined.
    pub(super) fn read_defined_address(&mut self, what: &str) -> Result<u64> {
        let at = self.position();
        self.read_address()?.ok_or_else(|| Error::malformed(format!("the address of {what} is not defined")).at_byte(at))
    }

    /// Bytes up to a NUL, which is gone past.
    pub(super) fn c_string(&mut self) -> Result<String> {
        let len = self.remaining().iter().position(|byte| *byte == 0);
        let len = len.ok_or_else(|| Error::malformed("a name without an end").at_byte(self.position()))?;
        let text = undeclared_text(self.take_bytes(len)?);
        self.skip(1)?;
        Ok(text)
    }

    /// Returns the rest.
    pub(super) fn remaining(&self) -> &'b [u8] {
        self.bytes.get(self.position..).unwrap_or(&[])
    }

    /// Returns the number of bytes that were passed.
    pub(super) fn consumed(&self) -> usize {
        self.position
    }

    /// The byte of the file that comes next.
    pub(super) fn position(&self) -> u64 {
        self.origin.saturating_add(self.position as u64)
    }
}

/// Returns the number of bytes of a number up to `limit`.
pub(super) fn min_uint_width(limit: u64) -> usize {
    (limit.max(1).ilog2() / 8 + 1) as usize
}
