//! Object headers: the messages that say what a group or a dataset is.

use super::file::H5;
use crate::error::{Error, Result};

/// Kinds of messages.
pub(super) mod kind {
    pub const DATASPACE: u64 = 1;
    pub const LINK_INFO: u64 = 2;
    pub const DATATYPE: u64 = 3;
    pub const FILL_OLD: u64 = 4;
    pub const FILL: u64 = 5;
    pub const LINK: u64 = 6;
    pub const EXTERNAL: u64 = 7;
    pub const LAYOUT: u64 = 8;
    pub const GROUP_INFO: u64 = 10;
    pub const FILTERS: u64 = 11;
    pub const ATTRIBUTE: u64 = 12;
    pub const CONTINUATION: u64 = 16;
    pub const SYMBOLS: u64 = 17;
    pub const ATTRIBUTE_INFO: u64 = 21;
}

/// Messages of one header, and bytes of them: more has no honest file.
const MOST: usize = 1 << 16;
const BYTES: u64 = 64 << 20;

/// One message.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub kind: u64,
    pub data: Vec<u8>,
    /// The address of its first byte.
    pub address: u64,
}

/// An object header.
#[derive(Debug, Clone, Default)]
pub(super) struct Header {
    pub messages: Vec<Message>,
}

impl Header {
    /// Reads the header at an address, with all its parts.
    pub fn read(file: &H5, address: u64) -> Result<Self> {
        let start = file.bytes_up_to(address, 512)?;
        let mut header = Self::default();
        let mut todo = Vec::new();
        if start.starts_with(b"OHDR") {
            let mut at = file.fields(&start, address);
            at.skip(4)?;
            let (version, flags) = (at.uint(1)?, at.uint(1)?);
            if version != 2 {
                return Err(Error::unsupported(format!("an object header of version {version}, known are 1 and 2")));
            }
            at.skip(if flags & 0x20 == 0 { 0 } else { 16 } + if flags & 0x10 == 0 { 0 } else { 4 })?;
            let size = at.uint(1 << (flags & 3))?;
            let from = address.saturating_add(at.done() as u64);
            todo.push((from, size));
            header.parts(file, todo, Some(flags & 4 != 0))?;
        } else {
            let mut at = file.fields(&start, address);
            let version = at.uint(1)?;
            if version != 1 {
                return Err(
                    Error::malformed(format!("no object header at address {address}")).at_byte(address.saturating_add(file.base))
                );
            }
            at.skip(7)?;
            let size = at.uint(4)?;
            todo.push((address.saturating_add(16), size));
            header.parts(file, todo, None)?;
        }
        Ok(header)
    }

    /// The messages of the parts; `ordered` is of version 2, and whether each has its creation order.
    fn parts(&mut self, file: &H5, mut todo: Vec<(u64, u64)>, ordered: Option<bool>) -> Result<()> {
        let mut sum = 0u64;
        let mut next = 0;
        while let Some((address, size)) = todo.get(next).copied() {
            next += 1;
            sum = sum.saturating_add(size);
            if sum > BYTES || next > MOST {
                return Err(Error::limit(format!("an object header of more than {BYTES} bytes")));
            }
            let bytes = file.bytes(address, size)?;
            let mut at = file.fields(&bytes, address);
            let least = match ordered {
                None => 8,
                Some(ordered) => 4 + if ordered { 2 } else { 0 },
            };
            while at.rest().len() >= least && self.messages.len() < MOST {
                let (kind, length, flags) = match ordered {
                    None => {
                        let found = (at.uint(2)?, at.uint(2)?, at.uint(1)?);
                        at.skip(3)?;
                        found
                    }
                    Some(ordered) => {
                        let found = (at.uint(1)?, at.uint(2)?, at.uint(1)?);
                        at.skip(if ordered { 2 } else { 0 })?;
                        found
                    }
                };
                // What is left at the end is smaller than a message.
                if at.rest().len() < length as usize {
                    break;
                }
                let place = address.saturating_add(at.done() as u64);
                let data = at.take(length as usize)?;
                if kind == kind::CONTINUATION {
                    let mut at = file.fields(data, place);
                    let (address, length) = (at.defined("a part of an object header")?, at.length()?);
                    todo.push(match ordered {
                        None => (address, length),
                        // Without its signature and checksum.
                        Some(_) => (address.saturating_add(4), length.saturating_sub(8)),
                    });
                    continue;
                }
                let message = Message { kind, data: data.to_vec(), address: place };
                self.messages.push(if flags & 2 == 0 { message } else { shared(file, &message)? });
            }
        }
        Ok(())
    }

    /// The first message of a kind.
    pub fn message(&self, kind: u64) -> Option<&Message> {
        self.messages.iter().find(|message| message.kind == kind)
    }

    /// Whether it is the header of a group.
    pub fn is_group(&self) -> bool {
        let of_groups = [kind::SYMBOLS, kind::LINK_INFO, kind::LINK, kind::GROUP_INFO];
        self.messages.iter().any(|message| of_groups.contains(&message.kind)) && self.message(kind::LAYOUT).is_none()
    }
}

/// What a shared message stands for: a message of the header of a committed datatype.
pub(super) fn shared(file: &H5, message: &Message) -> Result<Message> {
    let mut at = file.fields(&message.data, message.address);
    let (version, place) = (at.uint(1)?, at.uint(1)?);
    if version == 3 && place == 1 {
        return Err(Error::unsupported("messages that are shared in a heap of the file"));
    }
    at.skip(if version == 1 { 6 } else { 0 })?;
    let address = at.defined("a shared message")?;
    let start = file.bytes_up_to(address, 16)?;
    if address == message.address || start.is_empty() {
        return Err(Error::malformed("a shared message that leads to itself"));
    }
    // The header of a committed datatype has no shared messages of its own: it is read without following any.
    let mut found = None;
    for other in Raw::messages(file, address)? {
        if other.kind == message.kind {
            found = Some(other);
            break;
        }
    }
    found.ok_or_else(|| Error::malformed(format!("no message of kind {} at address {address}, where it is shared", message.kind)))
}

/// Headers whose shared messages are not followed.
struct Raw;

impl Raw {
    /// The messages of the first part of a header.
    fn messages(file: &H5, address: u64) -> Result<Vec<Message>> {
        let start = file.bytes_up_to(address, 64)?;
        let mut at = file.fields(&start, address);
        let (from, size, ordered) = if start.starts_with(b"OHDR") {
            at.skip(5)?;
            let flags = at.uint(1)?;
            at.skip(if flags & 0x20 == 0 { 0 } else { 16 } + if flags & 0x10 == 0 { 0 } else { 4 })?;
            let size = at.uint(1 << (flags & 3))?;
            (address.saturating_add(at.done() as u64), size, Some(flags & 4 != 0))
        } else {
            at.skip(8)?;
            (address.saturating_add(16), at.uint(4)?, None)
        };
        let bytes = file.bytes(from, size.min(1 << 20))?;
        let mut at = file.fields(&bytes, from);
        let mut all = Vec::new();
        while at.rest().len() >= 8 {
            let (kind, length) = match ordered {
                None => {
                    let found = (at.uint(2)?, at.uint(2)?);
                    at.skip(4)?;
                    found
                }
                Some(ordered) => {
                    let found = (at.uint(1)?, at.uint(2)?);
                    at.skip(if ordered { 3 } else { 1 })?;
                    found
                }
            };
            if at.rest().len() < length as usize {
                break;
            }
            let place = from.saturating_add(at.done() as u64);
            all.push(Message { kind, data: at.take(length as usize)?.to_vec(), address: place });
        }
        Ok(all)
    }
}
