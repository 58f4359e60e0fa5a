//! Writing a FITS file: headers and data units, and an ASDF file in place of that of another file.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;

use super::checksum;
use super::fits_file::FitsFile;
use super::hdu::Hdu;
use super::hdu_data::{HduData, HduRole, finalize};
use super::header::{BLOCK_LEN, Header};
use super::padding::is_blank_after_end;
use super::scaling::RowConversion;
use crate::array::Byteorder;
use crate::bytes::{FileUpdate, PieceAccess, Source, SourceRef, for_each_piece};
use crate::error::{Error, ErrorKind, Result, ResultExt};

/// Bytes that are written at once.
const BUFFER_SIZE: u64 = 4 << 20;

/// Writes HDUs, the first of them as the primary one.
///
/// A header that describes its array is written byte for byte; one that does not (the array was
/// changed, or keywords are missing) gets new BITPIX, NAXIS, … and keeps its other cards. CHECKSUM and DATASUM are computed again if
/// they are not those of the HDU.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`] for arrays that FITS cannot hold,
/// [`ErrorKind::Io`] if writing fails, and an error if an array cannot be read.
pub fn write(out: &mut dyn Write, parts: &[HduData]) -> Result<()> {
    if parts.is_empty() {
        return Err(Error::invalid_input("a FITS file has at least one HDU"));
    }
    for (number, part) in parts.iter().enumerate() {
        write_part(out, part, HduRole::from_index(number)).with_context(|| format!("writing HDU {number}"))?;
    }
    Ok(())
}

fn write_part(out: &mut dyn Write, part: &HduData, role: HduRole) -> Result<()> {
    let (mut header, rows) = finalize(part, role)?;
    if checksum::is_renewed(&header, true) {
        let mut sum = checksum::SumWriter::default();
        write_data(&mut sum, part, &rows)?;
        checksum::correct(&mut header, &sum)?;
    }
    write_bytes(out, &header.to_bytes())?;
    write_data(out, part, &rows)?;
    Ok(())
}

/// Writes a data unit with what fills its last block.
fn write_data(out: &mut dyn Write, part: &HduData, rows: &RowConversion) -> Result<()> {
    let Some(array) = &part.data else { return Ok(()) };
    let array = if part.masked_fill.is_some() { array.clone() } else { array.clone().without_mask() };
    array.verify_checksum()?;
    let (mut written, mut stored) = (0u64, Vec::new());
    if array.nbytes() > 0 {
        array.charge_element_visits()?;
        for block in array.row_blocks(BUFFER_SIZE) {
            let bytes = block.read_bytes(Byteorder::Big)?;
            if rows.is_identity() && part.masked_fill.is_none() {
                write_bytes(out, &bytes)?;
                written += bytes.len() as u64;
                continue;
            }
            rows.check_ascii(&bytes)?;
            stored.clear();
            stored.resize(bytes.len() / rows.input_size.max(1) * rows.output_size, 0);
            rows.convert_rows(&bytes, &mut stored);
            if let Some(masked) = &part.masked_fill {
                masked.fill_masked(&block, &mut stored)?;
            }
            write_bytes(out, &stored)?;
            written += stored.len() as u64;
        }
    }
    // Text tables are filled with blanks, everything else with zeros (section 7.2.3).
    write_repeated(out, written, if part.header.text("XTENSION") == Some("TABLE") { b' ' } else { 0 })
}

/// Returns `true` if an HDU of a file has the data unit that a part would be written with.
///
/// # Errors
/// Returns what reading the file and the array returns.
pub(super) fn has_data(fits: &FitsFile, hdu: &Hdu, part: &HduData) -> Result<bool> {
    let (_, rows) = finalize(part, HduRole::from_index(hdu.index()))?;
    let mut compare =
        ComparingWriter { source: &**fits.source(), position: hdu.data().start, end: hdu.end(), is_equal: true, failed: None };
    write_data(&mut compare, part, &rows)?;
    match compare.failed {
        Some(error) => Err(error),
        None => Ok(compare.is_equal && compare.position == hdu.end()),
    }
}

/// Compares what is written with the bytes of a range.
struct ComparingWriter<'a> {
    source: &'a dyn Source,
    position: u64,
    end: u64,
    is_equal: bool,
    failed: Option<Error>,
}

impl Write for ComparingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let end = self.position.saturating_add(bytes.len() as u64);
        self.is_equal &= end <= self.end.min(self.source.len());
        if self.is_equal && self.failed.is_none() {
            let mut found = vec![0; bytes.len()];
            match self.source.read_at(self.position, &mut found) {
                Ok(()) => self.is_equal = found == bytes,
                Err(error) => self.failed = Some(error),
            }
        }
        self.position = end;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Refuses a part of which characters have no place in a FITS file.
///
/// # Errors
/// Returns `InvalidInput` if there are some, and what reading the array returns.
pub fn check_characters(part: &HduData) -> Result<()> {
    let (_, rows) = finalize(part, HduRole::Extension)?;
    match rows.has_characters() {
        true => write_data(&mut std::io::sink(), part, &rows),
        false => Ok(()),
    }
}

/// Writes a FITS file with another ASDF file in it, or without one. Every other HDU is copied byte for byte, and the new one
/// comes last.
///
/// # Errors
/// Returns [`ErrorKind::Io`] if writing fails, and an error if the file cannot be read.
pub fn write_asdf(out: &mut dyn Write, fits: &FitsFile, asdf: Option<SourceRef>) -> Result<()> {
    for hdu in fits.hdus().iter().filter(|hdu| !hdu.is_asdf()) {
        let end = hdu.end().min(fits.source().len());
        copy_range(out, &**fits.source(), hdu.start(), end)?;
        write_repeated(out, end - hdu.start(), 0)?;
    }
    match asdf {
        Some(asdf) => write_part(out, &HduData::asdf(asdf)?, HduRole::Extension),
        None => Ok(()),
    }
}

/// The new content of an HDU in a file that is rewritten.
#[derive(Clone)]
#[non_exhaustive]
pub struct NewHdu {
    /// The new header.
    pub header: Header,
    /// The new data unit; None if it stays unchanged.
    pub data: Option<SourceRef>,
    /// `true` if CHECKSUM and DATASUM stay as they are if they were wrong before, so that the damage stays recognizable.
    /// Otherwise such an HDU is refused.
    pub keeps_damage: bool,
}

impl NewHdu {
    /// Creates the new content of an HDU whose data unit stays unchanged.
    pub fn from_header(header: Header) -> Self {
        Self { header, data: None, keeps_damage: false }
    }

    /// The bytes of its data unit, in the new content or in the file.
    fn data_unit<'a>(&'a self, fits: &'a FitsFile, hdu: &Hdu) -> (&'a SourceRef, Range<u64>) {
        match &self.data {
            Some(data) => (data, 0..data.len()),
            None => (fits.source(), hdu.data().start..hdu.end().min(fits.source().len())),
        }
    }

    /// The bytes of its header, with CHECKSUM and DATASUM computed again if the header has them.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] if a sum was wrong before, [`ErrorKind::Unsupported`] for text after END, and the errors of
    /// reading the file.
    fn header_bytes(&self, fits: &FitsFile, hdu: &Hdu) -> Result<Vec<u8>> {
        if !is_blank_after_end(fits, hdu)? {
            let message = format!("the header of {} has text after END, which would be lost", hdu.display_name());
            return Err(
                Error::unsupported(message).hint("convert the file to ASDF with --allow-loss, which leaves that text out")
            );
        }
        let mut header = self.header.clone();
        let is_new = self.data.is_some();
        // A new sum would vouch for damaged bytes.
        let checked = if checksum::is_renewed(&header, is_new) { fits.check(hdu) } else { Ok(()) };
        match checked {
            Err(error) if error.kind() == ErrorKind::Malformed && self.keeps_damage => {}
            Err(error) => return Err(error),
            Ok(()) => {
                let (data, range) = self.data_unit(fits, hdu);
                checksum::update(&mut header, &**data, range.start, range.end, is_new).with_context(|| hdu.display_name())?;
            }
        }
        Ok(header.to_bytes())
    }
}

/// Returns the update that writes changed headers over the old ones; `None` if one has another length, or data change.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if a sum of a changed HDU was wrong before, and the errors of reading the file.
pub fn header_update(fits: &FitsFile, changed: &BTreeMap<usize, NewHdu>) -> Result<Option<FileUpdate>> {
    let mut update = FileUpdate::new();
    for hdu in fits.hdus() {
        let Some(new) = changed.get(&hdu.index()) else { continue };
        let bytes = if new.data.is_none() { new.header_bytes(fits, hdu)? } else { return Ok(None) };
        if bytes.len() as u64 != hdu.data().start - hdu.start() {
            return Ok(None);
        }
        update.write(hdu.start(), bytes);
    }
    Ok(Some(update))
}

/// The HDU of an embedded ASDF file with other bytes in it; its header keeps every card that does not say how many.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`] for an HDU that is not one row or one axis of
/// bytes.
pub fn asdf_hdu(hdu: &Hdu, asdf: SourceRef) -> Result<NewHdu> {
    let mut header = hdu.header().clone();
    let is =
        |keyword, expected: i64, default: i64| -> Result<bool> { Ok(header.integer(keyword)?.unwrap_or(default) == expected) };
    let is_list = is("NAXIS", 1, 1)?;
    let is_row = is("NAXIS", 2, 1)? && is("NAXIS2", 1, 0)?;
    let one_column = header.card("TFIELDS").is_none() || is("TFIELDS", 1, 1)?;
    if !(is_list || is_row) || !is("BITPIX", 8, 0)? || !is("PCOUNT", 0, 0)? || !is("GCOUNT", 1, 1)? || !one_column {
        return Err(Error::unsupported(format!("{} holds its ASDF file in a form that is not written", hdu.display_name()))
            .hint("convert it to ASDF, and embed that in a new FITS file"));
    }
    header.set("NAXIS1", asdf.len(), "", "NAXIS")?;
    if let Some(form) = header.text("TFORM1") {
        let letter = if form.trim_end().ends_with('A') { 'A' } else { 'B' };
        header.set("TFORM1", format!("{}{letter}", asdf.len()).as_str(), "", "")?;
    }
    Ok(NewHdu { header, data: Some(asdf), keeps_damage: false })
}

/// Writes a FITS file in which some HDUs, given by their numbers, are replaced. Every other byte is copied,
/// including those after the last HDU. CHECKSUM and DATASUM of a changed HDU are computed again if it has them.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if a sum of a changed HDU was wrong before,
/// [`ErrorKind::Io`] if writing fails, and an error if the file cannot be read.
pub fn write_changed(out: &mut dyn Write, fits: &FitsFile, changed: &BTreeMap<usize, NewHdu>) -> Result<()> {
    let source = fits.source();
    let mut at = 0;
    for hdu in fits.hdus() {
        let Some(new) = changed.get(&hdu.index()) else { continue };
        copy_range(out, &**source, at, hdu.start())?;
        let (data, range) = new.data_unit(fits, hdu);
        write_bytes(out, &new.header_bytes(fits, hdu)?)?;
        copy_range(out, &**data, range.start, range.end)?;
        if new.data.is_some() {
            write_repeated(out, range.end, 0)?;
        }
        at = hdu.end().min(source.len());
    }
    copy_range(out, &**source, at, source.len())
}

fn copy_range(out: &mut dyn Write, source: &dyn Source, start: u64, end: u64) -> Result<()> {
    for_each_piece(source, start..end, BUFFER_SIZE, PieceAccess::Borrow, &mut |piece| write_bytes(out, piece))
}

fn write_repeated(out: &mut dyn Write, written: u64, byte: u8) -> Result<()> {
    let missing = written.next_multiple_of(BLOCK_LEN) - written;
    write_bytes(out, &vec![byte; missing as usize])
}

fn write_bytes(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|e| Error::io("writing", e))
}
