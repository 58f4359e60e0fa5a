//! The members of groups: names, and where they lead.

use super::btree;
use super::file::H5;
use super::heaps::{FractalHeap, LocalHeap};
use super::object_header::{Header, kind};
use crate::array::undeclared_text;
use crate::error::Result;
use crate::limits::Limits;

/// The target of a member.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Target {
    /// Object whose header is at this address.
    Hard(u64),
    /// Path in the file.
    Soft(String),
    /// Other file, and path in that file.
    External(String, String),
    /// Link of a kind that a user defined.
    Other(u64),
}

/// A member of a group.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub name: String,
    pub target: Target,
    /// When it was made, if the group counts that.
    order: Option<u64>,
}

impl Link {
    /// The address of the object, if it is in this file.
    pub(super) fn object(&self) -> Option<u64> {
        match self.target {
            Target::Hard(address) => Some(address),
            _ => None,
        }
    }
}

/// The members of a group: in the order in which they were made if that is known, else by their names.
pub(super) fn members(file: &H5, header: &Header) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    for message in &header.messages {
        match message.kind {
            kind::LINK => links.push(link(file, &message.data, message.address)?),
            kind::LINK_INFO => dense(file, &message.data, message.address, &mut links)?,
            kind::SYMBOLS => symbols(file, &message.data, message.address, &mut links)?,
            _ => {}
        }
    }
    if links.iter().all(|link| link.order.is_some()) {
        links.sort_by_key(|link| link.order);
    } else {
        links.sort_by(|a, b| a.name.cmp(&b.name));
    }
    Ok(links)
}

fn charge(file: &H5, links: &[Link]) -> Result<()> {
    let most = file.limits.items;
    if links.len() as u64 >= most {
        return Err(Limits::exceeded("items", most, "a group has more members"));
    }
    Ok(())
}

/// A link message.
fn link(file: &H5, data: &[u8], address: u64) -> Result<Link> {
    let mut at = file.fields(data, address);
    at.skip(1)?;
    let flags = at.uint(1)?;
    let kind = if flags & 8 == 0 { 0 } else { at.uint(1)? };
    let order = if flags & 4 == 0 { None } else { Some(at.uint(8)?) };
    at.skip(if flags & 16 == 0 { 0 } else { 1 })?;
    let len = at.uint(1 << (flags & 3))?;
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let name = undeclared_text(at.take(len)?);
    let target = match kind {
        0 => Target::Hard(at.defined("an object")?),
        1 => {
            let len = at.uint(2)? as usize;
            Target::Soft(undeclared_text(at.take(len)?))
        }
        64 => {
            at.skip(3)?;
            Target::External(at.text()?, at.text()?)
        }
        other => Target::Other(other),
    };
    Ok(Link { name, target, order })
}

/// The members that are in a heap, if there are many.
fn dense(file: &H5, data: &[u8], address: u64, links: &mut Vec<Link>) -> Result<()> {
    let mut at = file.fields(data, address);
    at.skip(1)?;
    let flags = at.uint(1)?;
    at.skip(if flags & 1 == 0 { 0 } else { 8 })?;
    let (Some(heap), Some(names)) = (at.address()?, at.address()?) else { return Ok(()) };
    let heap = FractalHeap::read(file, heap)?;
    btree::v2(file, names, &mut |_, at| {
        charge(file, links)?;
        at.skip(4)?;
        let (bytes, address) = heap.object(file, at.rest())?;
        links.push(link(file, &bytes, address)?);
        Ok(())
    })
}

/// The members of a group of old files: a B-tree of tables of names.
fn symbols(file: &H5, data: &[u8], address: u64, links: &mut Vec<Link>) -> Result<()> {
    let mut at = file.fields(data, address);
    let (tree, heap) = (at.defined("the members of a group")?, at.defined("the names of a group")?);
    let heap = LocalHeap::read(file, heap)?;
    btree::v1(file, tree, false, file.length_size(), &mut |_, table| {
        let head = file.bytes(table, 8)?;
        file.signed(&head, b"SNOD", table)?;
        let count = file.fields(&head, table).rest().get(6..8).map_or(0, |n| u64::from(n[0]) | u64::from(n[1]) << 8);
        let entry = (2 * file.offset_size() + 24) as u64;
        let bytes = file.bytes(table.saturating_add(8), count * entry)?;
        let mut at = file.fields(&bytes, table.saturating_add(8));
        for _ in 0..count {
            charge(file, links)?;
            let name = heap.name(file, at.uint(file.offset_size())?)?;
            let header = at.address()?;
            let cached = at.uint(4)?;
            at.skip(4)?;
            let value = at.uint(4)?;
            at.skip(12)?;
            let target = match (cached, header) {
                (2, _) => Target::Soft(heap.name(file, value)?),
                (_, Some(header)) => Target::Hard(header),
                (other, None) => Target::Other(other),
            };
            links.push(Link { name, target, order: None });
        }
        Ok(())
    })
}
