//! The sixteen bytes before the data of a native file: signature, and where the layout is.
//!
//! Section "File signatures" of the Dudley document.

use crate::bytes::Source;
use crate::error::{Error, Result};
use crate::layout::Byteorder;

/// The header of a native file.
///
/// ```
/// use trilith_layout::dudley::Signature;
/// use trilith_layout::layout::Byteorder;
/// let header = Signature::new(Byteorder::Little, None).bytes();
/// assert_eq!(header[..8], *b"\x8d<BD\r\n\x1a\n");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature {
    /// The byte order of whatever the layout leaves open, and of the header itself.
    pub order: Byteorder,
    /// Byte of the file at which the text of the layout starts, if it is in the file.
    pub layout_offset: Option<u64>,
}

const MAGIC_TAIL: [u8; 6] = *b"BD\r\n\x1a\n";

impl Signature {
    /// Bytes of signature and layout address.
    pub const SIGNATURE_LEN: u64 = 16;

    /// The signature of a file in this byte order, with its layout at a byte of the file, or elsewhere.
    pub fn new(order: Byteorder, layout_at: Option<u64>) -> Self {
        Self { order, layout_offset: layout_at }
    }

    /// Returns `true` if the first bytes of a file are those of a native file, whole or damaged in transfer.
    pub fn is_at(start: &[u8]) -> bool {
        matches!(start, [0x8d | 0x0d, b'<' | b'>', b'B', b'D', ..])
    }

    /// The byte order of a whole signature, independent of the rest of the header.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) (E404) for a damaged or missing signature.
    pub fn order_in(start: &[u8]) -> Result<Byteorder> {
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(start).for_each(|(byte, new)| *byte = *new);
        match damaged_error(&bytes) {
            Some(damage) => {
                Err(Error::malformed(format!("E404: {damage}")).at_byte(0).hint("transfer the file again, as binary"))
            }
            None if !Self::is_at(&bytes) => Err(Error::malformed("E404: it has no Dudley signature").at_byte(0)),
            None if bytes[1] == b'<' => Ok(Byteorder::Little),
            None => Ok(Byteorder::Big),
        }
    }

    /// Reads the header; None if the file is not native.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) (E404, E405) for a damaged signature, or if
    /// the offset of the layout is outside of the file.
    pub fn read(source: &dyn Source) -> Result<Option<Self>> {
        let mut bytes = [0; 16];
        let have = source.len().min(Self::SIGNATURE_LEN) as usize;
        source.read_at(0, &mut bytes[..have])?;
        if !Self::is_at(&bytes) {
            return Ok(None);
        }
        if let Some(damage) = damaged_error(&bytes) {
            return Err(Error::malformed(format!("E404: {damage}")).at_byte(0).hint("transfer the file again, as binary"));
        }
        if have < bytes.len() {
            return Err(Error::malformed(format!("E405: the file ends at byte {have}, inside its header of 16")).at_byte(8));
        }
        let order = if bytes[1] == b'<' { Byteorder::Little } else { Byteorder::Big };
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[8..]);
        let at = if order == Byteorder::Little { i64::from_le_bytes(word) } else { i64::from_be_bytes(word) };
        let layout_at = match u64::try_from(at) {
            Ok(0) => None,
            Ok(at) if (Self::SIGNATURE_LEN..=source.len()).contains(&at) => Some(at),
            Ok(at) => {
                let message = format!(
                    "E405: the layout starts at byte {at}, but the file ends at byte {}: it is truncated, or its header is damaged",
                    source.len()
                );
                return Err(Error::malformed(message).at_byte(8));
            }
            Err(_) => return Err(Error::malformed(format!("E405: the address of the layout is negative ({at})")).at_byte(8)),
        };
        Ok(Some(Self { order, layout_offset: layout_at }))
    }

    /// The header as it is written.
    pub fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[0] = 0x8d;
        bytes[1] = self.order.sign() as u8;
        bytes[2..8].copy_from_slice(&MAGIC_TAIL);
        bytes[8..].copy_from_slice(&self.address_bytes());
        bytes
    }

    /// The second half of the header.
    pub fn address_bytes(self) -> [u8; 8] {
        let at = self.layout_offset.unwrap_or(0);
        if self.order == Byteorder::Little { at.to_le_bytes() } else { at.to_be_bytes() }
    }
}

/// Describes the damage of a text-mode or 7-bit transfer to the signature (section 7.5 of our specification).
fn damaged_error(bytes: &[u8; 16]) -> Option<&'static str> {
    let tail = &bytes[2..];
    if bytes[0] == 0x0d {
        Some("the first byte lost its highest bit: the file went through a transfer that is not 8-bit clean")
    } else if tail.starts_with(&MAGIC_TAIL) {
        None
    } else if tail.starts_with(b"BD\n\x1a\n") {
        Some("CR LF became LF: the file went through a text-mode transfer")
    } else if tail.starts_with(b"BD\r\r\n") || tail.starts_with(b"BD\r\n\x1a\r\n") {
        Some("LF became CR LF: the file went through a text-mode transfer")
    } else {
        Some("the signature is damaged")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::MemorySource;

    fn read(bytes: &[u8]) -> Result<Option<Signature>> {
        Signature::read(&MemorySource::new(bytes.to_vec(), "test"))
    }

    #[test]
    fn header_round_trip_in_both_byte_orders() {
        for order in [Byteorder::Little, Byteorder::Big] {
            for layout_at in [None, Some(16)] {
                let header = Signature { order, layout_offset: layout_at };
                assert_eq!(read(&header.bytes()).unwrap(), Some(header));
            }
        }
        assert_eq!(read(b"\x8d>BD\r\n\x1a\n\0\0\0\0\0\0\0\x10").unwrap().unwrap().layout_offset, Some(16));
        assert_eq!(read(b"").unwrap(), None);
        assert_eq!(read(b"CDF\x01").unwrap(), None);
    }

    #[test]
    fn damaged_headers_say_what_happened() {
        let text = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert!(text(b"\x0d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0").contains("highest bit"));
        assert!(text(b"\x8d<BD\n\x1a\n\0\0\0\0\0\0\0\0\0").contains("CR LF became LF"));
        assert!(text(b"\x8d<BD\r\r\n\x1a\r\n\0\0\0\0\0\0").contains("LF became CR LF"));
        assert!(text(b"\x8d<BD\r\n\x1a\n\0\0\0").contains("E405"));
        assert!(text(b"\x8d<BD\r\n\x1a\n\x11\0\0\0\0\0\0\0").contains("E405"));
        assert!(text(b"\x8d<BD\r\n\x1a\n\0\0\0\0\0\0\0\xff").contains("negative"));
    }
}
