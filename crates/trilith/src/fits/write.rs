//! Writing a FITS file: headers and data units, and an ASDF file in place of that of another file.

use std::io::Write;

use super::header::BLOCK;
use super::part::{Part, settle};
use super::read::FitsFile;
use crate::array::Byteorder;
use crate::bytes::{Source, SourceRef};
use crate::error::{Context, Error, Result};

/// Bytes that are written at once.
const PIECE: u64 = 4 << 20;

/// Writes HDUs, the first of them as the primary one.
///
/// A header that describes its array is written byte for byte; one that does not (the array was
/// changed, or keywords are missing) gets new BITPIX, NAXIS, … and keeps its other cards.
///
/// # Errors
/// [`Kind::Usage`](crate::Kind::Usage) for arrays that FITS cannot hold,
/// [`Kind::Io`](crate::Kind::Io), and what reading the arrays says.
pub fn write(out: &mut dyn Write, parts: &[Part]) -> Result<()> {
    if parts.is_empty() {
        return Err(Error::usage("a FITS file has at least one HDU"));
    }
    for (number, part) in parts.iter().enumerate() {
        write_part(out, part, number == 0).doing(|| format!("writing HDU {number}"))?;
    }
    Ok(())
}

fn write_part(out: &mut dyn Write, part: &Part, is_first: bool) -> Result<()> {
    let (header, rows) = settle(part, is_first)?;
    put(out, &header.to_bytes())?;
    let Some(array) = &part.data else { return Ok(()) };
    let array = array.clone().without_mask();
    let (mut written, mut stored) = (0u64, Vec::new());
    if array.nbytes() > 0 {
        array.charge_visits()?;
        for block in array.row_blocks(PIECE) {
            let bytes = block.read_bytes(Byteorder::Big)?;
            if rows.is_plain() {
                put(out, &bytes)?;
                written += bytes.len() as u64;
                continue;
            }
            rows.check(&bytes)?;
            stored.clear();
            stored.resize(bytes.len() / rows.from.max(1) * rows.to, 0);
            rows.apply(&bytes, &mut stored);
            put(out, &stored)?;
            written += stored.len() as u64;
        }
    }
    // Text tables are filled with blanks, everything else with zeros (section 7.2.3).
    fill(out, written, if header.text("XTENSION") == Some("TABLE") { b' ' } else { 0 })
}

/// Writes a FITS file with another ASDF file in it (or none): every other HDU is copied byte for byte,
/// and the new one comes last.
///
/// # Errors
/// [`Kind::Io`](crate::Kind::Io), and what reading says.
pub fn write_asdf(out: &mut dyn Write, fits: &FitsFile, asdf: Option<SourceRef>) -> Result<()> {
    for hdu in fits.hdus().iter().filter(|hdu| !hdu.is_asdf()) {
        let end = hdu.end().min(fits.source().len());
        copy(out, &**fits.source(), hdu.start(), end)?;
        fill(out, end - hdu.start(), 0)?;
    }
    match asdf {
        Some(asdf) => write_part(out, &Part::asdf(asdf)?, false),
        None => Ok(()),
    }
}

fn copy(out: &mut dyn Write, source: &dyn Source, mut at: u64, end: u64) -> Result<()> {
    let mut piece = Vec::new();
    while at < end {
        let n = (end - at).min(PIECE);
        match source.view(at, n) {
            Some(bytes) => put(out, bytes)?,
            None => {
                piece.resize(n as usize, 0);
                source.read_at(at, &mut piece)?;
                put(out, &piece)?;
            }
        }
        at += n;
    }
    Ok(())
}

fn fill(out: &mut dyn Write, written: u64, byte: u8) -> Result<()> {
    let missing = written.next_multiple_of(BLOCK) - written;
    put(out, &vec![byte; missing as usize])
}

fn put(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|e| Error::io("writing", e))
}
