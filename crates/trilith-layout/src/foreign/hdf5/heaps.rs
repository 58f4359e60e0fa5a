//! Heaps: of names (local), of links and attributes (fractal), of elements of variable length (global).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::btree;
use super::file::{CHECKSUM_SIZE, Hdf5File, min_uint_width};
use crate::codec::global_heap;
use crate::error::{Error, Result};

/// A heap of names.
pub(super) struct LocalHeap {
    bytes: Vec<u8>,
    address: u64,
}

impl LocalHeap {
    /// Reads the heap at an address.
    pub(super) fn read_local_heap(file: &Hdf5File, address: u64) -> Result<Self> {
        let head = file.read_bytes(address, (8 + 2 * file.length_size() + file.offset_size()) as u64)?;
        file.check_signature(&head, b"HEAP", address)?;
        let mut at = file.field_reader(&head, address);
        at.skip(8)?;
        let size = at.read_length()?;
        at.read_length()?;
        let address = at.read_defined_address("the names of a group")?;
        Ok(Self { bytes: file.read_bytes(address, size)?, address })
    }

    /// The name at an offset.
    pub(super) fn read_name(&self, file: &Hdf5File, offset: u64) -> Result<String> {
        let from = usize::try_from(offset).ok().and_then(|from| self.bytes.get(from..));
        let from = from.ok_or_else(|| Error::malformed("a name is after the end of the heap of names"))?;
        file.field_reader(from, self.address.saturating_add(offset)).c_string()
    }
}

/// A heap of links or attributes.
pub(super) struct FractalHeap {
    offset_bytes: usize,
    length_bytes: usize,
    id_len: usize,
    filtered: bool,
    has_checksums: bool,
    table_width: u64,
    start: u64,
    max_direct_block: u64,
    root: Option<u64>,
    rows: u64,
    huge: Option<u64>,
    /// Objects that are outside, by their numbers; read when one is asked for.
    huge_objects: RefCell<Option<HashMap<u64, (u64, u64)>>>,
    /// The table of blocks that was checked last.
    last_table: Cell<Option<u64>>,
}

impl FractalHeap {
    /// Reads the header of the heap at an address.
    pub(super) fn read_heap_header(file: &Hdf5File, address: u64) -> Result<Self> {
        let head = file.bytes_up_to(address, 256)?;
        file.check_signature(&head, b"FRHP", address)?;
        let mut at = file.field_reader(&head, address);
        at.skip(5)?;
        let (id_len, filters, flags, max_object) = (at.uint(2)?, at.uint(2)?, at.uint(1)?, at.uint(4)?);
        at.read_length()?;
        let huge = at.read_address()?;
        at.read_length()?;
        at.read_address()?;
        for _ in 0..8 {
            at.read_length()?;
        }
        let (table_width, start, max_direct, bits) = (at.uint(2)?, at.read_length()?, at.read_length()?, at.uint(2)?);
        at.skip(2)?;
        let (root, rows) = (at.read_address()?, at.uint(2)?);
        let about_filters = if filters > 0 { file.length_size() as u64 + 4 + filters } else { 0 };
        file.compare_checksum_at(address, (at.consumed() as u64).saturating_add(about_filters), "the header of a heap")?;
        if table_width == 0 || !start.is_power_of_two() || !max_direct.is_power_of_two() || bits > 64 || rows > 64 {
            return Err(
                Error::malformed("the header of a heap does not make sense").at_byte(address.saturating_add(file.base_address))
            );
        }
        Ok(Self {
            offset_bytes: bits.div_ceil(8) as usize,
            length_bytes: min_uint_width(max_direct).min(min_uint_width(max_object)),
            id_len: id_len as usize,
            filtered: filters > 0,
            has_checksums: flags & 2 != 0,
            table_width,
            start,
            max_direct_block: max_direct,
            root,
            rows,
            huge,
            huge_objects: RefCell::default(),
            last_table: Cell::new(None),
        })
    }

    /// The bytes of an object and their address, by the identity that a record has.
    pub(super) fn read_object(&self, file: &Hdf5File, id: &[u8]) -> Result<(Vec<u8>, u64)> {
        let id = id.get(..self.id_len.min(id.len())).unwrap_or(id);
        let mut at = file.field_reader(id, 0);
        let first = at.uint(1)?;
        match first >> 4 & 3 {
            0 => {
                let (offset, len) = (at.uint(self.offset_bytes)?, at.uint(self.length_bytes)?);
                let address = self.resolve_heap_offset(file, offset)?;
                Ok((file.read_bytes(address, len)?, address))
            }
            1 => {
                if self.filtered {
                    return Err(Error::unsupported("large objects in a heap with filters"));
                }
                let (address, len) = if self.id_len >= 1 + file.offset_size() + file.length_size() {
                    (at.read_defined_address("a large object of a heap")?, at.read_length()?)
                } else {
                    let number = at.uint((self.id_len - 1).min(8))?;
                    self.huge_object_range(file, number)?
                };
                Ok((file.read_bytes(address, len)?, address))
            }
            2 => {
                // The object is in the identity itself, after one or two bytes for its length.
                let extended = self.id_len > 18;
                let len = if extended { ((first & 15) << 8 | at.uint(1)?) + 1 } else { (first & 15) + 1 };
                Ok((at.take_bytes(len as usize)?.to_vec(), 0))
            }
            _ => Err(Error::malformed("an object of a heap of no known kind")),
        }
    }

    fn huge_object_range(&self, file: &Hdf5File, number: u64) -> Result<(u64, u64)> {
        let mut known = self.huge_objects.borrow_mut();
        if known.is_none() {
            let mut found = HashMap::new();
            if let Some(tree) = self.huge {
                btree::visit_btree_v2(file, tree, None, &mut |_, at| {
                    let (address, len) = (at.read_defined_address("a large object of a heap")?, at.read_length()?);
                    found.insert(at.read_length()?, (address, len));
                    Ok(())
                })?;
            }
            *known = Some(found);
        }
        let found = known.as_ref().and_then(|known| known.get(&number)).copied();
        found.ok_or_else(|| Error::malformed("a large object that is not in its heap"))
    }

    /// The address of a byte of the heap.
    fn resolve_heap_offset(&self, file: &Hdf5File, offset: u64) -> Result<u64> {
        let wrong = || Error::malformed("an object that is after the end of its heap");
        let mut block = self.root.ok_or_else(wrong)?;
        if self.filtered {
            return Err(Error::unsupported("a heap whose blocks are compressed"));
        }
        let (mut inside, mut rows) = (offset, self.rows);
        let direct_rows = u64::from(self.max_direct_block.ilog2().saturating_sub(self.start.ilog2())) + 2;
        let mut block_size = self.start;
        for _ in 0..64 {
            if rows == 0 {
                self.compare_direct_block(file, block, block_size)?;
                return block.checked_add(inside).ok_or_else(wrong);
            }
            // The row that holds the byte, and the block in it.
            let (mut row, mut begin) = (0u64, 0u64);
            let size = loop {
                let size = self.row_size(row).ok_or_else(wrong)?;
                let all = size.checked_mul(self.table_width).ok_or_else(wrong)?;
                if inside - begin < all {
                    break size;
                }
                begin = begin.checked_add(all).ok_or_else(wrong)?;
                row += 1;
                if row >= rows {
                    return Err(wrong());
                }
            };
            let column = (inside - begin) / size;
            let number = row * self.table_width + column;
            let at = 5 + file.offset_size() + self.offset_bytes;
            let from = block.saturating_add(at as u64).saturating_add(number.saturating_mul(file.offset_size() as u64));
            // Most objects are in the table of the one before.
            if self.last_table.get() != Some(block) {
                let head = file.read_bytes(block, 4)?;
                file.check_signature(&head, b"FHIB", block)?;
                let children = rows.saturating_mul(self.table_width).saturating_mul(file.offset_size() as u64);
                file.compare_checksum_at(block, (at as u64).saturating_add(children), "a table of a heap")?;
                self.last_table.set(Some(block));
            }
            let bytes = file.read_bytes(from, file.offset_size() as u64)?;
            block = file.field_reader(&bytes, from).read_defined_address("a block of a heap")?;
            inside = inside - begin - column * size;
            block_size = size;
            rows = if row < direct_rows {
                0
            } else {
                u64::from(size.ilog2()).saturating_sub(u64::from(self.start.saturating_mul(self.table_width).max(1).ilog2())) + 1
            };
        }
        Err(wrong())
    }

    /// Compares the checksum of a block of objects, which is in its header and counts as zeros there.
    fn compare_direct_block(&self, file: &Hdf5File, address: u64, size: u64) -> Result<()> {
        if !self.has_checksums || file.is_compared(address) {
            return Ok(());
        }
        let mut bytes = file.read_bytes(address, size)?;
        file.check_signature(&bytes, b"FHDB", address)?;
        let field = bytes.get_mut(5 + file.offset_size() + self.offset_bytes..).and_then(<[u8]>::first_chunk_mut);
        let stated = field.map_or([0; CHECKSUM_SIZE], |field| std::mem::replace(field, [0; CHECKSUM_SIZE]));
        file.compare_stated_checksum(address, u32::from_le_bytes(stated), &bytes, "a block of a heap");
        Ok(())
    }

    fn row_size(&self, row: u64) -> Option<u64> {
        if row == 0 { Some(self.start) } else { self.start.checked_mul(1u64.checked_shl(u32::try_from(row - 1).ok()?)?) }
    }
}

/// The objects of one collection: address and length by number.
type HeapCollection = Rc<HashMap<u64, (u64, u64)>>;

/// The collections of elements of variable length that were read.
#[derive(Default)]
pub(super) struct GlobalHeaps {
    collections: RefCell<HashMap<u64, HeapCollection>>,
}

impl GlobalHeaps {
    /// Returns the place of an object: its offset and its length.
    pub(super) fn locate_object(&self, file: &Hdf5File, address: u64, index: u64) -> Result<(u64, u64)> {
        let known = self.collections.borrow().get(&address).cloned();
        let collection = match known {
            Some(known) => known,
            None => {
                let read = Rc::new(read_collection(file, address)?);
                self.collections.borrow_mut().insert(address, Rc::clone(&read));
                read
            }
        };
        let found = collection.get(&index).copied();
        found.ok_or_else(|| Error::malformed(format!("no object {index} in the heap at address {address}")))
    }

    /// Returns the offset of elements of variable length: `count` of `size` bytes each.
    ///
    /// # Errors
    /// Returns `Malformed` if the object has fewer bytes.
    pub(super) fn locate_elements(&self, file: &Hdf5File, (heap, index): (u64, u64), (count, size): (u64, u64)) -> Result<u64> {
        let (address, len) = self.locate_object(file, heap, index)?;
        if count.checked_mul(size).is_none_or(|bytes| bytes > len) {
            let each = if size == 1 { "bytes".to_owned() } else { format!("elements of {size} bytes") };
            return Err(Error::malformed(format!(
                "{count} {each} are expected in object {index} of the heap at address {heap}, which has {len} bytes"
            ))
            .at_byte(address.saturating_add(file.base_address)));
        }
        Ok(address)
    }
}

fn read_collection(file: &Hdf5File, address: u64) -> Result<HashMap<u64, (u64, u64)>> {
    let head = file.read_bytes(address, (8 + file.length_size()) as u64)?;
    file.check_signature(&head, global_heap::SIGNATURE, address)?;
    let size = global_heap::size(&head, file.length_size()).unwrap_or(0);
    let objects = global_heap::objects(&file.read_bytes(address, size)?, file.length_size());
    Ok(objects.into_iter().map(|(index, (at, len))| (index, (address.saturating_add(at), len))).collect())
}
