//! Object headers: the messages that say what a group or a dataset is.

use std::borrow::Cow;

use super::file::{CHECKSUM_SIZE, Hdf5File};
use crate::error::{Error, Result};

/// Kinds of messages.
pub(super) mod kind {
    pub(crate) const MSG_DATASPACE: u64 = 1;
    pub(crate) const MSG_LINK_INFO: u64 = 2;
    pub(crate) const MSG_DATATYPE: u64 = 3;
    pub(crate) const MSG_FILL_VALUE_OLD: u64 = 4;
    pub(crate) const MSG_FILL_VALUE: u64 = 5;
    pub(crate) const MSG_LINK: u64 = 6;
    pub(crate) const MSG_EXTERNAL_FILES: u64 = 7;
    pub(crate) const MSG_DATA_LAYOUT: u64 = 8;
    pub(crate) const MSG_GROUP_INFO: u64 = 10;
    pub(crate) const MSG_FILTER_PIPELINE: u64 = 11;
    pub(crate) const MSG_ATTRIBUTE: u64 = 12;
    pub(crate) const MSG_COMMENT: u64 = 13;
    pub(crate) const MSG_CONTINUATION: u64 = 16;
    pub(crate) const MSG_SYMBOL_TABLE: u64 = 17;
    pub(crate) const MSG_DRIVER_INFO: u64 = 20;
    pub(crate) const MSG_ATTRIBUTE_INFO: u64 = 21;
}

/// Messages of one header, and bytes of them: more has no honest file.
const MAX_MESSAGES: usize = 1 << 16;
const MAX_HEADER_BYTES: u64 = 64 << 20;

/// A message of an object header.
#[derive(Debug, Clone)]
pub(super) struct HeaderMessage {
    pub kind: u64,
    pub data: Vec<u8>,
    /// The address of its first byte.
    pub address: u64,
    /// `true` if it only says where the message is.
    pub is_shared: bool,
}

/// The treatment of messages that are stored in another header.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SharedMessages {
    /// Each shared message is replaced by the message that it refers to.
    Resolve,
    /// Each shared message stays as it is stored.
    Keep,
}

/// An object header.
#[derive(Debug, Clone, Default)]
pub(super) struct ObjectHeader {
    pub messages: Vec<HeaderMessage>,
}

impl ObjectHeader {
    /// Reads the header at an address, with all its parts.
    pub(super) fn read_object_header(file: &Hdf5File, address: u64) -> Result<Self> {
        Self::read_with(file, address, SharedMessages::Resolve)
    }

    fn read_with(file: &Hdf5File, address: u64, how: SharedMessages) -> Result<Self> {
        let start = file.bytes_up_to(address, 512)?;
        let mut header = Self::default();
        let mut todo = Vec::new();
        if start.starts_with(b"OHDR") {
            let mut at = file.field_reader(&start, address);
            at.skip(4)?;
            let (version, flags) = (at.uint(1)?, at.uint(1)?);
            if version != 2 {
                return Err(Error::unsupported(format!("an object header of version {version}, known are 1 and 2")));
            }
            at.skip(if flags & 0x20 == 0 { 0 } else { 16 } + if flags & 0x10 == 0 { 0 } else { 4 })?;
            let size = at.uint(1 << (flags & 3))?;
            let from = address.saturating_add(at.consumed() as u64);
            let len = (at.consumed() as u64).saturating_add(size);
            // Most headers are in the bytes that were read already.
            let name = "the object header";
            match usize::try_from(len).ok().and_then(|len| start.get(..len.checked_add(CHECKSUM_SIZE)?)) {
                Some(all) => file.compare_checksum(address, all, name)?,
                None if len > MAX_HEADER_BYTES => {}
                None => file.compare_checksum_at(address, len, name)?,
            }
            todo.push((from, size));
            header.read_messages(file, (address, &start), todo, Some(flags & 4 != 0), how)?;
        } else {
            let mut at = file.field_reader(&start, address);
            let version = at.uint(1)?;
            if version != 1 {
                return Err(Error::malformed(format!("no object header at address {address}"))
                    .at_byte(address.saturating_add(file.base_address)));
            }
            at.skip(7)?;
            let size = at.uint(4)?;
            todo.push((address.saturating_add(16), size));
            header.read_messages(file, (address, &start), todo, None, how)?;
        }
        Ok(header)
    }

    /// The messages of the parts. `start` are the first bytes of the header with their address; `ordered` is of version 2, and whether
    /// each message has its creation order.
    fn read_messages(
        &mut self,
        file: &Hdf5File,
        start: (u64, &[u8]),
        mut todo: Vec<(u64, u64)>,
        ordered: Option<bool>,
        how: SharedMessages,
    ) -> Result<()> {
        let mut sum = 0u64;
        let mut next = 0;
        while let Some((address, size)) = todo.get(next).copied() {
            next += 1;
            sum = sum.saturating_add(size);
            if sum > MAX_HEADER_BYTES || next > MAX_MESSAGES {
                return Err(Error::limit(format!("an object header of more than {MAX_HEADER_BYTES} bytes")));
            }
            let begin = address.checked_sub(start.0).and_then(|begin| usize::try_from(begin).ok());
            let bytes = match begin.and_then(|begin| start.1.get(begin..begin.checked_add(usize::try_from(size).ok()?)?)) {
                Some(known) => Cow::Borrowed(known),
                None => Cow::Owned(file.read_bytes(address, size)?),
            };
            let mut at = file.field_reader(&bytes, address);
            let least = match ordered {
                None => 8,
                Some(ordered) => 4 + if ordered { 2 } else { 0 },
            };
            while at.remaining().len() >= least && self.messages.len() < MAX_MESSAGES {
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
                // The rest at the end is smaller than a message.
                if at.remaining().len() < length as usize {
                    break;
                }
                let place = address.saturating_add(at.consumed() as u64);
                let data = at.take_bytes(length as usize)?;
                if kind == kind::MSG_CONTINUATION {
                    let mut at = file.field_reader(data, place);
                    let (address, length) = (at.read_defined_address("a part of an object header")?, at.read_length()?);
                    todo.push(match ordered {
                        None => (address, length),
                        // The signature and the checksum of the continuation are skipped.
                        Some(_) => {
                            if length <= MAX_HEADER_BYTES {
                                let len = length.saturating_sub(CHECKSUM_SIZE as u64);
                                file.compare_checksum_at(address, len, "a part of an object header")?;
                            }
                            (address.saturating_add(4), length.saturating_sub(8))
                        }
                    });
                    continue;
                }
                let message = HeaderMessage { kind, data: data.to_vec(), address: place, is_shared: flags & 2 != 0 };
                self.messages.push(match how {
                    // A shared attribute is resolved later, so that one that cannot be found does not hide the object.
                    SharedMessages::Resolve if message.is_shared && kind != kind::MSG_ATTRIBUTE => {
                        resolve_shared(file, &message)?
                    }
                    _ => message,
                });
            }
        }
        Ok(())
    }

    /// The first message of a kind.
    pub(super) fn find_message(&self, kind: u64) -> Option<&HeaderMessage> {
        self.messages.iter().find(|message| message.kind == kind)
    }

    /// Returns `true` if it is the header of a group.
    pub(super) fn is_group(&self) -> bool {
        let of_groups = [kind::MSG_SYMBOL_TABLE, kind::MSG_LINK_INFO, kind::MSG_LINK, kind::MSG_GROUP_INFO];
        self.messages.iter().any(|message| of_groups.contains(&message.kind))
            && self.find_message(kind::MSG_DATA_LAYOUT).is_none()
    }
}

/// Returns the target of a shared message: a message of the header of a committed datatype.
pub(super) fn resolve_shared(file: &Hdf5File, message: &HeaderMessage) -> Result<HeaderMessage> {
    let mut at = file.field_reader(&message.data, message.address);
    let (version, place) = (at.uint(1)?, at.uint(1)?);
    if version == 3 && place == 1 {
        return Err(Error::unsupported("messages that are shared in a heap of the file"));
    }
    at.skip(if version == 1 { 6 } else { 0 })?;
    let address = at.read_defined_address("a shared message")?;
    let start = file.bytes_up_to(address, 16)?;
    if address == message.address || start.is_empty() {
        return Err(Error::malformed("a shared message that leads to itself"));
    }
    // The header of a committed datatype has no shared messages that matter: none is followed, so that no two can lead to
    // each other.
    let header = ObjectHeader::read_with(file, address, SharedMessages::Keep)?;
    let found = header.messages.into_iter().find(|other| other.kind == message.kind && !other.is_shared);
    found.ok_or_else(|| {
        let what =
            if message.kind == kind::MSG_DATATYPE { "datatype".to_owned() } else { format!("message of kind {}", message.kind) };
        Error::malformed(format!("the object header at address {address}, to which it refers, has no {what}"))
    })
}
