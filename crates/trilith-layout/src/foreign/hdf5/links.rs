//! The members of groups: names, and where they lead.

use super::btree::{self, LeafKind};
use super::file::Hdf5File;
use super::heaps::{FractalHeap, LocalHeap};
use super::object_header::{ObjectHeader, kind};
use crate::array::undeclared_text;
use crate::error::Result;
use crate::limits::Limits;

/// The target of a member.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LinkTarget {
    /// Object whose header is at this address.
    Hard(u64),
    /// Path in the file.
    Soft(String),
    /// Other file, and path in that file.
    External(String, String),
    /// Link of a kind that a user defined.
    UserDefined(u64),
}

/// A member of a group.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub name: String,
    pub target: LinkTarget,
    /// When it was made, if the group counts that.
    order: Option<u64>,
}

impl Link {
    /// The address of the object, if it is in this file.
    pub(super) fn object_address(&self) -> Option<u64> {
        match self.target {
            LinkTarget::Hard(address) => Some(address),
            _ => None,
        }
    }
}

/// The members of a group: in the order in which they were made if that is known, else by their names.
pub(super) fn read_group_links(file: &Hdf5File, header: &ObjectHeader) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    for message in &header.messages {
        match message.kind {
            kind::MSG_LINK => links.push(read_link_message(file, &message.data, message.address)?),
            kind::MSG_LINK_INFO => read_dense_links(file, &message.data, message.address, &mut links)?,
            kind::MSG_SYMBOL_TABLE => read_symbol_table(file, &message.data, message.address, &mut links)?,
            _ => {}
        }
    }
    if links.iter().all(|link| link.order.is_some()) {
        links.sort_by_key(|link| link.order);
    } else {
        links.sort_by(|a, b| a.name.cmp(&b.name));
    }
    // The list lives as long as the items of the group are made.
    links.shrink_to_fit();
    Ok(links)
}

fn check_link_count(file: &Hdf5File, links: &[Link]) -> Result<()> {
    let most = file.limits.items;
    if links.len() as u64 >= most {
        return Err(Limits::exceeded_error("items", most, "a group has more members"));
    }
    Ok(())
}

/// A link message.
fn read_link_message(file: &Hdf5File, data: &[u8], address: u64) -> Result<Link> {
    let mut at = file.field_reader(data, address);
    at.skip(1)?;
    let flags = at.uint(1)?;
    let kind = if flags & 8 == 0 { 0 } else { at.uint(1)? };
    let order = if flags & 4 == 0 { None } else { Some(at.uint(8)?) };
    at.skip(if flags & 16 == 0 { 0 } else { 1 })?;
    let len = at.uint(1 << (flags & 3))?;
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let name = undeclared_text(at.take_bytes(len)?);
    let target = match kind {
        0 => LinkTarget::Hard(at.read_defined_address("an object")?),
        1 => {
            let len = at.uint(2)? as usize;
            LinkTarget::Soft(undeclared_text(at.take_bytes(len)?))
        }
        64 => {
            at.skip(3)?;
            LinkTarget::External(at.c_string()?, at.c_string()?)
        }
        other => LinkTarget::UserDefined(other),
    };
    Ok(Link { name, target, order })
}

/// The members that are in a heap, if there are many.
fn read_dense_links(file: &Hdf5File, data: &[u8], address: u64, links: &mut Vec<Link>) -> Result<()> {
    let mut at = file.field_reader(data, address);
    at.skip(1)?;
    let flags = at.uint(1)?;
    at.skip(if flags & 1 == 0 { 0 } else { 8 })?;
    let (Some(heap), Some(names)) = (at.read_address()?, at.read_address()?) else { return Ok(()) };
    let heap = FractalHeap::read_heap_header(file, heap)?;
    btree::visit_btree_v2(file, names, None, &mut |_, at| {
        check_link_count(file, links)?;
        at.skip(4)?;
        let (bytes, address) = heap.read_object(file, at.remaining())?;
        links.push(read_link_message(file, &bytes, address)?);
        Ok(())
    })
}

/// The members of a group of old files: a B-tree of tables of names.
fn read_symbol_table(file: &Hdf5File, data: &[u8], address: u64, links: &mut Vec<Link>) -> Result<()> {
    let mut at = file.field_reader(data, address);
    let (tree, heap) = (at.read_defined_address("the members of a group")?, at.read_defined_address("the names of a group")?);
    let heap = LocalHeap::read_local_heap(file, heap)?;
    btree::visit_btree_v1(file, tree, LeafKind::NameTables, file.length_size(), None, &mut |_, table| {
        let head = file.read_bytes(table, 8)?;
        file.check_signature(&head, b"SNOD", table)?;
        let count = file.field_reader(&head, table).remaining().get(6..8).map_or(0, |n| u64::from(n[0]) | u64::from(n[1]) << 8);
        let entry = (2 * file.offset_size() + 24) as u64;
        let bytes = file.read_bytes(table.saturating_add(8), count * entry)?;
        let mut at = file.field_reader(&bytes, table.saturating_add(8));
        for _ in 0..count {
            check_link_count(file, links)?;
            let name = heap.read_name(file, at.uint(file.offset_size())?)?;
            let header = at.read_address()?;
            let cached = at.uint(4)?;
            at.skip(4)?;
            let value = at.uint(4)?;
            at.skip(12)?;
            let target = match (cached, header) {
                (2, _) => LinkTarget::Soft(heap.read_name(file, value)?),
                (_, Some(header)) => LinkTarget::Hard(header),
                (other, None) => LinkTarget::UserDefined(other),
            };
            links.push(Link { name, target, order: None });
        }
        Ok(())
    })
}
