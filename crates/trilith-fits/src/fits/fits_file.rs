//! An open FITS file: its HDUs, their arrays on asking, and the ASDF file that the last one may hold.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::card::RECORD_LEN;
use super::checksum::{Stated, TileSums};
use super::hdu::{self, Hdu, HduKind};
use super::header::{BLOCK_LEN, Header, PartialHeader};
use super::scaling::ValueForm;
use super::{compressed_table, image, random_groups, table, tiled_image};
use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::{AccessCost, ChecksummedSource, SourceRef, TruncatedSource, WindowSource, to_usize, verify_backing};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::limits::Limits;

/// An open FITS file; opening reads its headers.
///
/// ```
/// use std::sync::Arc;
/// use trilith_array::Array;
/// use trilith_fits::fits::{FitsFile, HduData, write};
/// use trilith_io::{Limits, bytes::MemorySource};
/// let image = Array::from_slice(&[1.5f32, 2.5], &[2])?;
/// let mut bytes = Vec::new();
/// write(&mut bytes, &[HduData::primary(Some(&image))?])?;
///
/// let fits = FitsFile::open(Arc::new(MemorySource::new(bytes, "example")), &Limits::default())?;
/// assert_eq!(fits.array(fits.find("0")?)?.load::<f32>()?, [1.5, 2.5]);
/// # Ok::<(), trilith_fits::Error>(())
/// ```
pub struct FitsFile {
    source: SourceRef,
    hdus: Vec<Hdu>,
    /// Source of each HDU, created when it is needed: the bytes of the file, with the sums of the HDU.
    checked: Vec<OnceLock<SourceRef>>,
    /// Whether the logical values of a column in the heap, by the number of its HDU and its own, are the bytes 0 and 1.
    pub(super) numeric_logicals: Mutex<BTreeMap<(usize, usize), bool>>,
    warnings: Vec<String>,
    /// `true` if the file ends within the header of its last HDU.
    ends_in_header: bool,
    limits: Arc<Limits>,
}

/// The first keyword of an HDU.
enum HeaderStart {
    /// The keyword that the standard demands.
    Standard,
    /// Another keyword, but the second or the third keyword of the header is right.
    OtherKeyword(Error),
    /// No header, but another HDU follows at this byte.
    Missing(u64, Error),
}

impl FitsFile {
    /// Opens a file: reads every header, no data.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] if the bytes do not begin with a FITS header, or
    /// if that header is broken. A later one gives an [HDU with a problem](Hdu::error). Content after the last HDU, and
    /// a data unit that is cut short, are [`warnings`](FitsFile::warnings).
    pub fn open(source: SourceRef, limits: &Limits) -> Result<Self> {
        let limits = &limits.for_calls(source.len());
        let mut file = Self {
            source,
            hdus: Vec::new(),
            checked: Vec::new(),
            numeric_logicals: Mutex::default(),
            warnings: Vec::new(),
            ends_in_header: false,
            limits: Arc::new(limits.clone()),
        };
        let mut at = 0;
        while let Some(start) = file.start_at(at)? {
            let number = file.hdus.len();
            if number as u64 >= limits.items {
                return Err(Limits::exceeded_error(
                    "items",
                    limits.items,
                    format_args!("the FITS file has more than {number} HDUs"),
                ));
            }
            let doing = || format!("reading HDU {number} of {}", file.source.name());
            let PartialHeader { header, end: data, problem: why } = match &start {
                HeaderStart::Missing(..) => PartialHeader { header: Header::default(), end: at, problem: None },
                _ => Header::read_partial(&*file.source, at, limits).map_err(|e| e.at_byte(at)).with_context(doing)?,
            };
            let is_open = why.is_some();
            let located = why.map_or_else(|| hdu::locate_data(&header, data), Err);
            let hdu = match (located, start) {
                (Ok(located), HeaderStart::Standard) => Hdu::new(number, header, at, located),
                (Ok(located), HeaderStart::OtherKeyword(why)) => {
                    let end = Hdu::new(number, Header::default(), at, located).end();
                    Hdu::unreadable(number, header, at, data..end, why.at_byte(at))
                }
                (_, HeaderStart::Missing(next, why)) => Hdu::unreadable(number, header, at, at..next, why.at_byte(at)),
                // One bad header does not hide the HDUs around it.
                (Err(why), _) if why.kind() == ErrorKind::Malformed => {
                    let end = file.next_header(data)?;
                    file.ends_in_header = is_open && end == file.source.len();
                    let why = if file.ends_in_header { truncated_header_error(end) } else { why };
                    if number == 0 && end == file.source.len() {
                        return Err(why.at_byte(at)).with_context(doing);
                    }
                    Hdu::unreadable(number, header, at, data.min(end)..end, why.at_byte(at))
                }
                (Err(why), _) => return Err(why.at_byte(at)).with_context(doing),
            };
            at = hdu.end();
            file.hdus.push(hdu);
            file.checked.push(OnceLock::new());
        }
        let broken = file.hdus.iter().filter_map(|hdu| Some(format!("{}: {}", hdu.display_name(), hdu.error()?.message())));
        file.warnings = broken.chain(std::mem::take(&mut file.warnings)).collect();
        file.warnings.extend(file.is_truncated());
        Ok(file)
    }

    /// The byte at which the next header after a byte begins, or the end of the file.
    fn next_header(&self, after: u64) -> Result<u64> {
        let (mut at, len, mut start) = (after.next_multiple_of(BLOCK_LEN), self.source.len(), [0; 9]);
        // A remote file is not searched, because each read would be a request.
        while self.source.access().cost != AccessCost::Request && at.saturating_add(9) <= len {
            self.limits.charge_work(BLOCK_LEN)?;
            self.source.read_at(at, &mut start)?;
            if &start == b"XTENSION=" {
                return Ok(at);
            }
            at += BLOCK_LEN;
        }
        Ok(len)
    }

    /// The bytes of the file, if the data of an HDU can be found in them.
    /// [`SourceBacking::verify_checksum`](crate::bytes::SourceBacking::verify_checksum) compares the sums of the HDU.
    /// The end of a file that is truncated is missing in them.
    pub(super) fn data_source(&self, hdu: &Hdu) -> Result<SourceRef> {
        let (name, len) = (self.source.name(), self.source.len());
        if hdu.data.start >= len && !hdu.data.is_empty() {
            let message = format!("{name} is truncated at byte {len}: the data begin at byte {}", hdu.data.start);
            return Err(Error::malformed(message));
        }
        Ok(TruncatedSource::with_declared_len(self.checked_source(hdu)?, hdu.data.end))
    }

    /// The bytes of the file, with the sums of an HDU.
    fn checked_source(&self, hdu: &Hdu) -> Result<SourceRef> {
        if let Some(why) = hdu.error() {
            return Err(why.copy());
        }
        let make = || {
            let stated = Stated::from_header(hdu.header());
            let tiles = TileSums::from_hdu(hdu, &self.source, &self.limits);
            if stated.is_empty() && tiles.is_none() {
                return self.source.clone();
            }
            let (start, data, label) = (hdu.start, hdu.data.start..hdu.end(), hdu.display_name());
            let truncation = self.truncation().filter(|_| hdu.number + 1 == self.hdus.len());
            let compare = move |source: &SourceRef| {
                // The sums cannot fit, and why is known.
                if let Some(truncation) = &truncation {
                    return Err(truncation.copy().at_byte(start).hint("restore the file from a copy"));
                }
                let mut compared = stated.compare_hdu(&**source, start, data.clone())?;
                if let Some(tiles) = &tiles {
                    compared.extend(tiles.compare()?);
                }
                let wrong: Vec<String> = compared.into_iter().filter_map(|(_, wrong)| wrong).collect();
                if wrong.is_empty() {
                    return Ok(());
                }
                let error = Error::malformed(wrong.join("; ")).at_byte(start).hint(UNDAMAGED);
                Err(error.context(format!("{label} of {} is damaged", source.name())))
            };
            Arc::new(ChecksummedSource::new(self.source.clone(), compare)) as SourceRef
        };
        Ok(self.checked.get(hdu.number).map_or_else(make, |checked| checked.get_or_init(make).clone()))
    }

    /// Compares CHECKSUM and DATASUM of an HDU with its bytes (FITS Standard 4.0, section 4.4.2.7), once. An HDU without them is
    /// right, and so is one whose data cannot be found.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] if one differs, and the errors of
    /// [`Source::read_at`](crate::bytes::Source::read_at).
    pub fn check(&self, hdu: &Hdu) -> Result<()> {
        if hdu.error().is_some() { Ok(()) } else { verify_backing(&*self.checked_source(hdu)?) }
    }

    /// Returns the HDUs that differ from their sums, among those that are copied with them.
    ///
    /// # Errors
    /// Returns the errors of [`Source::read_at`](crate::bytes::Source::read_at).
    #[doc(hidden)]
    pub fn find_damaged_hdus(&self, is_copied: impl Fn(&Hdu) -> bool) -> Result<Vec<Diagnostic>> {
        let mut damaged = Vec::new();
        for hdu in self.hdus.iter().filter(|hdu| is_copied(hdu)) {
            match self.check(hdu) {
                Err(error) if error.kind() == ErrorKind::Malformed => {
                    let message = format!("{} of {} is damaged: {}", hdu.display_name(), self.source.name(), error.message());
                    damaged.push(Diagnostic::loss(&format!("/fits/{}", hdu.number), message));
                }
                checked => checked?,
            }
        }
        Ok(damaged)
    }

    /// Returns the keyword of each sum that an HDU states, and what is wrong with it.
    ///
    /// # Errors
    /// Returns the errors of [`Source::read_at`](crate::bytes::Source::read_at).
    #[doc(hidden)]
    pub fn compare_checksums(&self, hdu: &Hdu) -> Result<Vec<(&'static str, Option<Error>)>> {
        if hdu.error().is_some() {
            return Ok(Vec::new());
        }
        let mut compared = Stated::from_header(hdu.header()).compare_hdu(&*self.source, hdu.start, hdu.data.start..hdu.end())?;
        if let Some(tiles) = TileSums::from_hdu(hdu, &self.source, &self.limits) {
            compared.extend(tiles.compare()?);
        }
        let error = |wrong| Error::malformed(wrong).at_byte(hdu.start).context(hdu.display_name());
        Ok(compared.into_iter().map(|(keyword, wrong)| (keyword, wrong.map(error))).collect())
    }

    /// Returns the kind of the header at a byte, or `None` at the end. Nothing may follow the last HDU, but often something does.
    fn start_at(&mut self, at: u64) -> Result<Option<HeaderStart>> {
        let expected: &[u8] = if self.hdus.is_empty() { b"SIMPLE  =" } else { b"XTENSION=" };
        let mut start = [0; 3 * RECORD_LEN];
        let left = self.source.len().saturating_sub(at);
        let len = to_usize(left.min(start.len() as u64))?;
        if len > 0 {
            self.source.read_at(at, &mut start[..len])?;
        }
        let is_card = |number: usize, keyword: &[u8]| start[number * RECORD_LEN..].starts_with(keyword);
        if is_card(0, expected) {
            return Ok(Some(HeaderStart::Standard));
        }
        if self.hdus.is_empty() {
            return Err(Error::malformed("a FITS file begins with \"SIMPLE  =\"").at_byte(0));
        }
        if left == 0 {
            return Ok(None);
        }
        // The standard fixes the first three keywords of an extension (FITS Standard 4.0, section 4.4.1).
        if is_card(1, b"BITPIX  =") || is_card(2, b"NAXIS   =") {
            let found = String::from_utf8_lossy(&start[..8]);
            let what = format!("a header begins with {:?} instead of \"XTENSION\"", found.trim_end());
            return Ok(Some(HeaderStart::OtherKeyword(Error::malformed(what))));
        }
        let next = self.next_header(at)?;
        if next < self.source.len() {
            let what = format!("{} bytes belong to no HDU, but another HDU follows: a header is damaged", next - at);
            return Ok(Some(HeaderStart::Missing(next, Error::malformed(what))));
        }
        self.warnings.push(format!("{left} bytes from byte {at} on belong to no HDU"));
        Ok(None)
    }

    /// The HDUs, in their order.
    pub fn hdus(&self) -> &[Hdu] {
        &self.hdus
    }

    /// The bytes of the file.
    pub fn source(&self) -> &SourceRef {
        &self.source
    }

    /// The limits that it was opened with.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the limits in shared form, for the arrays of the file.
    pub(super) fn shared_limits(&self) -> &Arc<Limits> {
        &self.limits
    }

    /// Describes the missing end of a file that is cut short: data, or the filling of the last block (FITS Standard
    /// 4.0, section 3.3.2).
    pub fn is_truncated(&self) -> Option<String> {
        let (last, len) = (self.hdus.last()?, self.source.len());
        let (missing, of_what) = match last.data.end.checked_sub(len) {
            Some(missing @ 1..) => (missing, "its data"),
            _ => (last.end().checked_sub(len).filter(|missing| *missing > 0)?, "the filling of its last block of 2880 bytes"),
        };
        Some(format!(
            "{} is truncated: the file ends at byte {len}, and {missing} bytes of {of_what} are missing",
            last.display_name()
        ))
    }

    /// Returns the reason if the end of the file is missing, in a header or in data. The filling of the last block holds nothing.
    #[doc(hidden)]
    pub fn truncation(&self) -> Option<Error> {
        let last = self.hdus.last().filter(|_| self.ends_in_header);
        let in_header =
            last.and_then(|hdu| Some(Error::malformed(format!("{}: {}", hdu.display_name(), hdu.error()?.message()))));
        let lacks_data = self.hdus.last().is_some_and(|last| last.data.end > self.source.len());
        in_header.or_else(|| self.is_truncated().filter(|_| lacks_data).map(Error::malformed))
    }

    /// Returns problems of the file that do not stop reading it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The HDU that a source `fits:…` names: `NAME,VERSION`, `NAME` (the first of this name), or the
    /// number of the HDU from 0. Upper and lower case are the same.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] if there is none.
    pub fn find(&self, spec: &str) -> Result<&Hdu> {
        let spec = spec.trim();
        if let Some(hdu) = spec.parse::<usize>().ok().and_then(|number| self.hdus.get(number)) {
            return Ok(hdu);
        }
        let (name, version) = match spec.rsplit_once(',') {
            Some((name, version)) if version.trim().parse::<i64>().is_ok() => (name.trim(), version.trim().parse::<i64>().ok()),
            _ => (spec, None),
        };
        let is_meant = |hdu: &&Hdu| {
            let named = hdu.name().eq_ignore_ascii_case(name) || (hdu.number == 0 && name.eq_ignore_ascii_case("PRIMARY"));
            !name.is_empty() && named && version.is_none_or(|version| hdu.version() == version)
        };
        self.hdus.iter().find(is_meant).ok_or_else(|| {
            let known: Vec<_> =
                self.hdus.iter().take(20).map(|hdu| format!("{}:{},{}", hdu.number, hdu.name(), hdu.version())).collect();
            Error::malformed(format!("the FITS file has no HDU {spec:?}")).hint(format!("it has {}", known.join(" ")))
        })
    }

    /// Returns the array of an HDU with its physical values. BSCALE, BZERO, TSCAL and TZERO are applied. Logical and bit columns
    /// become `bool8`, the columns of a TABLE extension become numbers, and strings end at their first NUL. BLANK, TNULL and
    /// undefined logical values become the mask.
    ///
    /// Unsigned integers (BZERO 32768 and the like) keep their 8 to 64 bits. Other images with BSCALE, BZERO or BLANK are
    /// `float32` if at most 16 bits are stored, or if `float32` is, and otherwise `float64`. Their masked elements are NaN.
    /// 64-bit integers with only BLANK stay integers. Scaled columns are `float64`. Without any of these keywords the array is a
    /// view of the file.
    ///
    /// Random groups are an array of structures, with a field for each parameter and the field `DATA`. Columns of variable length
    /// are left out: [`FitsFile::cell`] returns their values.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] for an HDU without data or with broken
    /// keywords, [`ErrorKind::Unsupported`] for images compressed in a way that is
    /// not known.
    pub fn array(&self, hdu: &Hdu) -> Result<Array> {
        let array = self.data_source(hdu).and_then(|source| physical_array(hdu, &source, &self.limits));
        array.map_err(|e| e.at_byte(hdu.start)).with_context(|| hdu.display_name())
    }

    /// Returns the data unit in a form that can be written again: images and rows with their stored elements, but unsigned
    /// integers as such. Returns bytes if the rows alone would lose something (a heap, gaps between rows, other extensions), and
    /// None if the HDU has no data.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] for broken keywords or bytes that are cut
    /// short.
    pub fn writable_array(&self, hdu: &Hdu) -> Result<Option<Array>> {
        if hdu.data.is_empty() && hdu.problem.is_none() && !matches!(hdu.kind, HduKind::Image | HduKind::Table) {
            return Ok(None);
        }
        let array = self.data_source(hdu).and_then(|source| match hdu.kind {
            HduKind::Image => image::image_array(hdu, &source, ValueForm::Stored, &self.limits),
            HduKind::Table => {
                let array = table::stored_array(hdu, &source, &self.limits);
                match array {
                    Ok(array) if array.nbytes() == hdu.data.end - hdu.data.start => Ok(Some(array)),
                    _ => data_unit_bytes(hdu, &source, &self.limits).map(Some),
                }
            }
            _ => data_unit_bytes(hdu, &source, &self.limits).map(Some),
        });
        array.map_err(|e| e.at_byte(hdu.start)).with_context(|| hdu.display_name())
    }

    /// Returns the reason, in a few words, if the stored values of an HDU are not its physical ones: it has scaled
    /// or missing numbers, compressed tiles, numbers as text, or columns of varying length.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] for broken keywords.
    pub fn nonphysical_reason(&self, hdu: &Hdu) -> Result<Option<&'static str>> {
        let why = match hdu.kind {
            HduKind::Tiles => Some("an image in compressed tiles"),
            HduKind::CompressedTable => Some("a compressed table"),
            HduKind::TextTable => Some("a table of text"),
            HduKind::Groups => Some("random groups"),
            HduKind::Other => None,
            HduKind::Image => {
                let number = image::number_from_bitpix(hdu::read_bitpix(hdu.header(), "BITPIX")?);
                let meaning = image::image_value_decoding(number, image::read_image_scaling(hdu.header())?);
                Some("BSCALE, BZERO or BLANK").filter(|_| !meaning.is_identity_for())
            }
            HduKind::Table => {
                let columns = table::columns(hdu.header())?;
                let is_other = |column: &table::Column| {
                    Ok(column.in_heap()
                        || column.has_filling()
                        || column.code == 'L'
                        || !column.field_decoding()?.1.is_identity_for())
                };
                let others = columns.iter().map(is_other).collect::<Result<Vec<bool>>>()?;
                Some("columns with TSCAL, TZERO, TNULL or unused elements, booleans, bits, or arrays of varying length")
                    .filter(|_| others.contains(&true))
            }
        };
        Ok(why)
    }

    /// The columns of a table whose arrays have varying lengths, with their numbers, and how many rows it has.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] for broken keywords.
    pub fn ragged(&self, hdu: &Hdu) -> Result<(Vec<(usize, table::Column)>, u64)> {
        if hdu.kind != HduKind::Table {
            return Ok((Vec::new(), 0));
        }
        let columns = table::columns(hdu.header())?.into_iter().enumerate().filter(|(_, column)| column.in_heap());
        Ok((columns.collect(), hdu::require_unsigned(hdu.header(), "NAXIS2")?))
    }

    /// Returns the HDU that contains an ASDF file: the last one of EXTNAME ASDF, in any of the three forms in use (a BINTABLE of
    /// one cell, an IMAGE of bytes, an extension of type ASDF).
    pub fn asdf(&self) -> Option<&Hdu> {
        self.hdus.iter().rev().find(|hdu| hdu.is_asdf())
    }

    /// The bytes of the embedded ASDF file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] if they are cut short.
    pub fn asdf_source(&self, hdu: &Hdu) -> Result<SourceRef> {
        if let Some(why) = self.truncation().filter(|_| hdu.data.end > self.source.len()) {
            return Err(why.at_byte(hdu.data.start));
        }
        let window = WindowSource::new(self.checked_source(hdu)?, hdu.data.start, hdu.data.end - hdu.data.start);
        Ok(Arc::new(window.with_context(|| hdu.display_name())?))
    }
}

/// Advice for a damaged HDU.
const UNDAMAGED: &str = "restore the file from a copy; if a program changed the HDU without its sums, remove them: \
                         trilith rm FILE#/fits/N@CHECKSUM, then @DATASUM";

/// The data unit as it is meant, in the bytes of `source`.
pub(super) fn physical_array(hdu: &Hdu, source: &SourceRef, limits: &Arc<Limits>) -> Result<Array> {
    match hdu.kind {
        HduKind::Image => {
            image::image_array(hdu, source, ValueForm::Physical, limits)?.ok_or_else(|| Error::malformed("this HDU has no data"))
        }
        HduKind::Table | HduKind::TextTable => table::table_array(hdu, source, limits),
        HduKind::CompressedTable => compressed_table::compressed_table_array(hdu, source, limits),
        HduKind::Tiles => tiled_image::tiled_image_array(hdu, source, ValueForm::Physical, limits),
        HduKind::Groups => random_groups::random_groups_array(hdu, source, limits),
        HduKind::Other => data_unit_bytes(hdu, source, limits),
    }
}

/// The data unit as bytes.
fn data_unit_bytes(hdu: &Hdu, source: &SourceRef, limits: &Arc<Limits>) -> Result<Array> {
    let size = hdu.data.end - hdu.data.start;
    let array = Array::new(source.clone(), hdu.data.start, Datatype::Uint8, Byteorder::Big, vec![size])?;
    Ok(array.with_limits(Arc::clone(limits)))
}

impl std::fmt::Debug for FitsFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FitsFile").field("name", &self.source.name()).field("hdus", &self.hdus.len()).finish_non_exhaustive()
    }
}

/// The error of a header that the end of the file cuts off.
fn truncated_header_error(len: u64) -> Error {
    Error::malformed(format!("the file is truncated: it ends at byte {len}, before the END of the FITS header"))
}
