//! B-trees of both versions: their records in order, whatever they are.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::file::{CHECKSUM_SIZE, EntrySink, FieldReader, Hdf5File, min_uint_width};
use crate::error::{Error, Result};

/// Maximum depth of a tree.
const MAX_DEPTH: u64 = 64;

/// The kind of the leaves of a B-tree of version 1, by its number in the file.
#[derive(Clone, Copy)]
pub(super) enum LeafKind {
    /// Tables of the names of a group.
    NameTables = 0,
    /// Chunks of a dataset.
    Chunks = 1,
}

/// Compares a key or a record of a B-tree with the one that is wanted.
pub(super) type Comparison<'c> = &'c dyn Fn(&mut FieldReader<'_>) -> Result<Ordering>;

/// The leaves of a B-tree of version 1: what is in front of each child of level 0, and its address. `key` is the
/// size of a key in bytes. With a comparison only the leaf is visited that has the wanted key, or the last one before it.
pub(super) fn visit_btree_v1(
    file: &Hdf5File,
    root: u64,
    leaves: LeafKind,
    key: usize,
    wanted: Option<Comparison<'_>>,
    take: &mut dyn FnMut(&mut FieldReader<'_>, u64) -> Result<()>,
) -> Result<()> {
    let mut todo = vec![(root, MAX_DEPTH)];
    let mut seen = HashSet::new();
    loop {
        file.prefetch(todo.iter().rev().map(|(address, _)| *address))?;
        let Some((address, most)) = todo.pop() else { return Ok(()) };
        if !seen.insert(address) {
            return Err(Error::malformed("a B-tree that leads back to itself").at_byte(address.saturating_add(file.base_address)));
        }
        file.limits.charge_memory(seen.len() as u64 * 16, "the nodes of a B-tree")?;
        let head = file.read_bytes(address, (8 + 2 * file.offset_size()) as u64)?;
        file.check_signature(&head, b"TREE", address)?;
        let mut at = file.field_reader(&head, address);
        at.skip(4)?;
        let (kind, level, count) = (at.uint(1)?, at.uint(1)?, at.uint(2)?);
        if kind != leaves as u64 || level >= most {
            return Err(Error::malformed("a node of another B-tree").at_byte(address.saturating_add(file.base_address)));
        }
        let from = address.saturating_add(head.len() as u64);
        let bytes = file.read_bytes(from, count.saturating_mul((key + file.offset_size()) as u64))?;
        let mut at = file.field_reader(&bytes, from);
        let (mut children, mut nearest) = (Vec::new(), None);
        for _ in 0..count {
            let place = file.field_reader(at.take_bytes(key)?, at.position());
            let child = at.read_defined_address("a node of a B-tree")?;
            if let Some(compare) = wanted {
                if compare(&mut place.clone())? == Ordering::Greater {
                    break;
                }
                nearest = Some((place, child));
            } else if level == 0 {
                take(&mut place.clone(), child)?;
            } else {
                children.push((child, level));
            }
        }
        match nearest {
            Some((mut place, child)) if level == 0 => take(&mut place, child)?,
            nearest => children.extend(nearest.map(|(_, child)| (child, level))),
        }
        // The first is gone through first.
        todo.extend(children.into_iter().rev());
    }
}

/// The header of a B-tree of version 2.
struct BTreeV2Header {
    node: u64,
    record: usize,
    /// For each depth: maximum number of records of a node, and width in bytes of the number of records below it.
    levels: Vec<(u64, usize)>,
}

/// The records of a B-tree of version 2, each with the kind of the tree. With a comparison only the wanted record is visited.
pub(super) fn visit_btree_v2(file: &Hdf5File, root: u64, wanted: Option<Comparison<'_>>, take: EntrySink<'_>) -> Result<()> {
    let head = file.bytes_up_to(root, 64)?;
    file.check_signature(&head, b"BTHD", root)?;
    let mut at = file.field_reader(&head, root);
    at.skip(5)?;
    let kind = at.uint(1)?;
    let (node, record, depth) = (at.uint(4)?, at.uint(2)?, at.uint(2)?);
    at.skip(2)?;
    let top = at.read_address()?;
    let count = at.uint(2)?;
    at.read_length()?;
    file.compare_checksum(root, head.get(..at.consumed() + CHECKSUM_SIZE).unwrap_or(&[]), "the header of a B-tree")?;
    let Some(top) = top else { return Ok(()) };
    if record == 0 || depth >= MAX_DEPTH || node < 16 {
        return Err(
            Error::malformed("the header of a B-tree does not make sense").at_byte(root.saturating_add(file.base_address))
        );
    }
    let mut levels = vec![((node - 10) / record, 0)];
    let counted = min_uint_width(levels[0].0);
    let mut below = levels[0].0;
    for _ in 0..depth {
        let pointer = (file.offset_size() + counted + levels.last().map_or(0, |(_, wide)| *wide)) as u64;
        let most = node.saturating_sub(10 + pointer) / (record + pointer);
        below = (most + 1).saturating_mul(below).saturating_add(most);
        levels.push((most, min_uint_width(below)));
    }
    let shape = BTreeV2Header { node, record: record as usize, levels };
    let mut seen = HashSet::new();
    visit_btree_node(file, &shape, (top, count, depth as usize), &mut seen, wanted, &mut |at| take(kind, at))
}

/// Visits the records of a node and of all nodes below it. Recursion is bounded by the depth in the header.
fn visit_btree_node(
    file: &Hdf5File,
    shape: &BTreeV2Header,
    (address, count, depth): (u64, u64, usize),
    seen: &mut HashSet<u64>,
    wanted: Option<Comparison<'_>>,
    take: &mut dyn FnMut(&mut FieldReader<'_>) -> Result<()>,
) -> Result<()> {
    let wrong = |why: &str| Error::malformed(why).at_byte(address.saturating_add(file.base_address));
    if !seen.insert(address) {
        return Err(wrong("a B-tree that leads back to itself"));
    }
    let bytes = file.bytes_up_to(address, shape.node)?;
    file.check_signature(&bytes, if depth == 0 { b"BTLF" } else { b"BTIN" }, address)?;
    let most = shape.levels.get(depth).map_or(0, |(most, _)| *most);
    if count > most {
        return Err(wrong("a node of a B-tree has more records than fit in it"));
    }
    let mut at = file.field_reader(&bytes, address);
    at.skip(6)?;
    let mut records = Vec::new();
    for _ in 0..count {
        let place = at.position();
        records.push((place, at.take_bytes(shape.record)?));
    }
    let mut children = Vec::new();
    if depth > 0 {
        let counted = min_uint_width(shape.levels.first().map_or(1, |(most, _)| *most));
        let below = if depth > 1 { shape.levels.get(depth - 1).map_or(0, |(_, wide)| *wide) } else { 0 };
        for _ in 0..=count {
            let child = at.read_defined_address("a node of a B-tree")?;
            let count = at.uint(counted)?;
            at.skip(below)?;
            children.push((child, count, depth - 1));
        }
    }
    file.compare_checksum(address, bytes.get(..at.consumed() + CHECKSUM_SIZE).unwrap_or(&[]), "a node of a B-tree")?;
    if let Some(compare) = wanted {
        let mut next = records.len();
        for (number, (place, bytes)) in records.iter().enumerate() {
            let record = file.field_reader(bytes, place.saturating_sub(file.base_address));
            match compare(&mut record.clone())? {
                Ordering::Less => {}
                Ordering::Equal => return take(&mut record.clone()),
                Ordering::Greater => {
                    next = number;
                    break;
                }
            }
        }
        return match children.get(next) {
            Some(child) => visit_btree_node(file, shape, *child, seen, wanted, take),
            None => Ok(()),
        };
    }
    let mut records = records.into_iter();
    for (number, child) in children.iter().enumerate() {
        file.prefetch(children.iter().skip(number).map(|(address, ..)| *address))?;
        visit_btree_node(file, shape, *child, seen, None, take)?;
        if let Some((place, bytes)) = records.next() {
            take(&mut file.field_reader(bytes, place.saturating_sub(file.base_address)))?;
        }
    }
    for (place, bytes) in records {
        take(&mut file.field_reader(bytes, place.saturating_sub(file.base_address)))?;
    }
    Ok(())
}
