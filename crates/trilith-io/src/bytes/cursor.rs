//! A cursor over bytes with its offset in the file.

use crate::error::{Error, Result};

/// Reads big-endian fields one after the other; every error names the byte of the *file*.
///
/// ```
/// use trilith_io::bytes::Cursor;
/// let mut at = Cursor::new(&[0, 48, 1], 1000);
/// assert_eq!(at.u16()?, 48);
/// assert_eq!(at.position(), 1002);
/// assert!(at.u64().unwrap_err().to_string().contains("byte 1002"));
/// # Ok::<(), trilith_io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    origin: u64,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`, whose first byte is byte `origin` of the file.
    pub fn new(bytes: &'a [u8], origin: u64) -> Self {
        Self { bytes, at: 0, origin }
    }

    /// The byte of the file at which the next read starts.
    pub fn position(&self) -> u64 {
        self.origin.saturating_add(self.at as u64)
    }

    /// Returns the bytes that have not been read yet.
    pub fn remaining(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if fewer are left.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = self.remaining();
        let taken = rest.get(..len).ok_or_else(|| {
            Error::malformed(format!("expected {len} more bytes, found {}", rest.len())).at_byte(self.position())
        })?;
        self.at += len;
        Ok(taken)
    }

    /// The next `N` bytes as an array.
    ///
    /// # Errors
    /// Returns the errors of [`Cursor::take`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// One byte.
    ///
    /// # Errors
    /// Returns the errors of [`Cursor::take`].
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// A big-endian 16-bit unsigned integer.
    ///
    /// # Errors
    /// Returns the errors of [`Cursor::take`].
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// A big-endian 32-bit unsigned integer.
    ///
    /// # Errors
    /// Returns the errors of [`Cursor::take`].
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A big-endian 64-bit unsigned integer.
    ///
    /// # Errors
    /// Returns the errors of [`Cursor::take`].
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// A big-endian double.
    ///
    /// # Errors
    /// Returns the errors of [`Cursor::take`].
    pub fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_bits(self.u64()?))
    }
}
