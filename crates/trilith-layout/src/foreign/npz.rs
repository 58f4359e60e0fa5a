//! numpy's `.npz` archives: a zip file of `.npy` files.
//!
//! The format of zip is that of PKWARE's APPNOTE 6.3: the end of the central directory is looked for
//! from the back, its entries say where each member is. Members are stored or deflated; nothing else
//! is written by numpy. Of several members with one name the last one counts: that is how an archive is updated.
//!
//! The CRC-32 of a deflated member is compared when it is decoded (the filter `crc32`), that of a stored one by [`part_check`].

use std::collections::{BTreeMap, HashMap, HashSet};
#[cfg(feature = "zlib")]
use std::io::Read;
use std::sync::{Arc, OnceLock};

use super::{PartSum, nested_dicts, npy};
#[cfg(feature = "zlib")]
use crate::array::npy_header_len;
use crate::array::{Array, Byteorder, Datatype, undeclared_text};
use crate::bytes::{ChecksummedSource, CodingStep, PartCheck, SourceRef, WindowSource, read_vec};
#[cfg(feature = "zlib")]
use crate::bytes::{MemorySource, PieceAccess, TruncatedSource, for_each_piece};
#[cfg(feature = "zlib")]
use crate::codec::{crc::differs, zlib};
use crate::error::{Error, Result, ResultExt};
use crate::layout::{ItemSpec, Layout, LayoutBuilder};
use crate::limits::Limits;
use crate::progress::Progress;
use crate::threads;
#[cfg(feature = "zlib")]
use trilith_io::interrupt;

/// A file inside an archive.
#[derive(Debug, Clone)]
struct ZipEntry {
    name: String,
    is_encrypted: bool,
    method: u16,
    crc: u32,
    compressed_size: u64,
    uncompressed_size: u64,
    header: u64,
    /// The comment of the member; empty if it has none.
    comment: String,
}

/// The directory of an archive.
struct ZipDirectory {
    entries: Vec<ZipEntry>,
    /// The comment of the archive; empty if it has none.
    comment: String,
}

const EOCD_SIGNATURE: &[u8] = b"PK\x05\x06";
const EOCD64_SIGNATURE: &[u8] = b"PK\x06\x06";
const EOCD64_LOCATOR_SIGNATURE: &[u8] = b"PK\x06\x07";
const CENTRAL_HEADER_SIGNATURE: &[u8] = b"PK\x01\x02";
const LOCAL_HEADER_SIGNATURE: &[u8] = b"PK\x03\x04";

/// The arrays of a `.npz` archive of numpy, by their names; in these `/` leads into groups. Of several members with one
/// name it is the last. Their elements are read when they are asked for.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for what is not an archive,
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for members that are compressed otherwise, encrypted,
/// or not arrays of numbers and text.
pub fn npz_arrays(source: &SourceRef, limits: &Limits) -> Result<Vec<(String, Array)>> {
    let (entries, mut names, mut arrays) = (read_central_directory(source, limits)?.entries, HashSet::new(), Vec::new());
    for entry in latest_first(&entries) {
        let Some(name) = entry.name.strip_suffix(".npy").filter(|name| names.insert(*name)) else { continue };
        let array = open_member(source, entry, limits).and_then(|bytes| Array::from_npy(bytes, limits));
        arrays.push((name.to_owned(), array.with_context(|| entry.name.clone())?));
    }
    Ok(arrays)
}

/// The layout of an archive: its stored members are uncompressed, a deflated one is an array of one chunk.
pub(super) fn derive_layout(source: &SourceRef, limits: &Limits) -> Result<Layout> {
    let mut builder = LayoutBuilder::new("a .npz archive", limits);
    let ZipDirectory { entries, comment } = read_central_directory(source, limits)?;
    builder.write_doc_lines(&comment)?;
    let mut members = Vec::new();
    for entry in latest_first(&entries) {
        match entry.name.strip_suffix(".npy") {
            Some(name) => members.push((name.split('/').filter(|step| !step.is_empty()).collect(), entry)),
            None if entry.name.ends_with('/') => {}
            None => members.push((entry.name.split('/').filter(|step| !step.is_empty()).collect(), entry)),
        }
    }
    nested_dicts::write_groups(&members, &mut builder, &mut |builder, name, entry: &&ZipEntry| {
        builder.or_unreadable(name, |builder| {
            declare_member(source, entry, name, builder, limits)?;
            builder.write_doc_lines(&entry.comment)
        })
    })?;
    Ok(builder.finish())
}

fn declare_member(source: &SourceRef, entry: &ZipEntry, name: &str, builder: &mut LayoutBuilder, limits: &Limits) -> Result<()> {
    let start = member_offset(source, entry, limits)?;
    if !entry.name.ends_with(".npy") {
        return declare_bytes(entry, start, name, builder);
    }
    if entry.method != 8 {
        return npy::declare_npy_array(&npy::read_npy_header(open_member(source, entry, limits)?, limits)?, start, name, builder);
    }
    let (array, missing, named) = npy::read_npy_header(decode_member_header(source, entry, start, limits)?, limits)?;
    let size = array.offset().saturating_add(array.nbytes_stored());
    if size != entry.uncompressed_size {
        return Err(Error::malformed(format!("its array ends at byte {size}, the member at byte {}", entry.uncompressed_size)));
    }
    let made = npy::NpyMapping::from_array(&array, &named)?;
    if array.nbytes_stored() == 0 {
        builder.write_array(name, &made.datatype, array.byteorder(), array.shape(), start)?;
        npy::write_dtype_note(&named, builder)?;
        return npy::write_unreadable_columns(&missing, name, builder);
    }
    builder.write_item(name, &ItemSpec::bytes(entry.compressed_size).with_offset(start))?;
    let skip = CodingStep::new("skip", vec![array.offset()]);
    made.write_grid(&array, &named, std::iter::once(skip).chain(deflated_steps(entry)), builder)?;
    npy::write_dtype_note(&named, builder)?;
    npy::write_unreadable_columns(&missing, name, builder)
}

/// The filters of a deflated member.
fn deflated_steps(entry: &ZipEntry) -> Vec<CodingStep> {
    vec![CodingStep::new("crc32", vec![entry.crc.into()]), CodingStep::new("rawdeflate", Vec::new())]
}

/// A member that is not an array of numpy: its bytes.
fn declare_bytes(entry: &ZipEntry, start: u64, name: &str, builder: &mut LayoutBuilder) -> Result<()> {
    let stored = if entry.uncompressed_size == 0 { 0 } else { entry.compressed_size };
    builder.write_item(name, &ItemSpec::bytes(stored).with_offset(start))?;
    match entry.method {
        0 => Ok(()),
        8 if entry.uncompressed_size == 0 => Ok(()),
        8 => {
            builder.write_grid_shape(&[entry.uncompressed_size], &[entry.uncompressed_size])?;
            builder.write_element_type(&Datatype::Uint8, Byteorder::Little, &[])?;
            builder.write_filters(deflated_steps(entry))
        }
        method => Err(unknown_method(method)),
    }
}

fn unknown_method(method: u16) -> Error {
    Error::unsupported(format!("cannot read a member of zip method {method}")).hint("numpy writes 0 (stored) and 8 (deflated)")
}

/// The first bytes of a deflated member, with the header of its array: as long as the whole, of which no more is there.
#[cfg(feature = "zlib")]
fn decode_member_header(source: &SourceRef, entry: &ZipEntry, start: u64, limits: &Limits) -> Result<SourceRef> {
    let unpacked = |len: u64| -> Result<Vec<u8>> {
        limits.charge_memory(len, "the header of a member of an archive")?;
        // Deflating adds a little to what it cannot make shorter.
        let stored = read_vec(&**source, start, entry.compressed_size.min(len.saturating_mul(2).saturating_add(4096)), limits)?;
        let mut out = Vec::new();
        let read = flate2::read::DeflateDecoder::new(&stored[..]).take(len.min(entry.uncompressed_size)).read_to_end(&mut out);
        read.map_err(|e| Error::malformed(format!("it does not decode: {e}")))?;
        Ok(out)
    };
    let len = npy_header_len(&unpacked(12)?);
    Ok(TruncatedSource::with_declared_len(Arc::new(MemorySource::new(unpacked(len)?, source.name())), entry.uncompressed_size))
}

#[cfg(not(feature = "zlib"))]
fn decode_member_header(_: &SourceRef, _: &ZipEntry, _: u64, _: &Limits) -> Result<SourceRef> {
    Err(Error::feature_disabled("deflated members of archives", "zlib"))
}

fn read_little_endian(bytes: &[u8], at: usize, len: usize) -> u64 {
    bytes.get(at..at + len).unwrap_or(&[]).iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

fn invalid_zip(what: &str) -> Error {
    Error::malformed(format!("not a .npz archive: {what}"))
}

fn read_central_directory(source: &SourceRef, limits: &Limits) -> Result<ZipDirectory> {
    // A comment of 64 KiB may follow the end.
    let tail_len = source.len().min(22 + 0xffff);
    let tail_at = source.len() - tail_len;
    let tail = read_vec(&**source, tail_at, tail_len, limits)?;
    let end = tail
        .windows(4)
        .rposition(|four| four == EOCD_SIGNATURE)
        .ok_or_else(|| Error::malformed("the archive is truncated or damaged: the end of its directory is missing"))?;
    let record = tail.get(end..end + 22).ok_or_else(|| invalid_zip("the end of its directory is cut short"))?;
    let (mut count, mut size, mut at) =
        (read_little_endian(record, 10, 2), read_little_endian(record, 12, 4), read_little_endian(record, 16, 4));
    let locator =
        end.checked_sub(20).and_then(|at| tail.get(at..end)).filter(|locator| locator.starts_with(EOCD64_LOCATOR_SIGNATURE));
    if let Some(locator) = locator {
        let end64 = read_vec(&**source, read_little_endian(locator, 8, 8), 56, limits)?;
        if !end64.starts_with(EOCD64_SIGNATURE) {
            return Err(invalid_zip("the end of its 64-bit directory is missing"));
        }
        (count, size, at) =
            (read_little_endian(&end64, 32, 8), read_little_endian(&end64, 40, 8), read_little_endian(&end64, 48, 8));
    }
    let directory = read_vec(&**source, at, size, limits)?;
    if count > limits.items {
        return Err(Limits::exceeded_error("items", limits.items, format_args!("the archive has {count} members")));
    }
    let mut found = Vec::new();
    let mut rest = directory.as_slice();
    for _ in 0..count {
        let (entry, after) = read_directory_entry(rest)?;
        found.push(entry);
        rest = after;
    }
    let comment = tail.get(end + 22..).unwrap_or(&[]);
    let comment = comment.get(..read_little_endian(record, 20, 2) as usize).unwrap_or(comment);
    Ok(ZipDirectory { entries: found, comment: undeclared_text(comment) })
}

/// The first entry of a directory, and what follows it.
fn read_directory_entry(bytes: &[u8]) -> Result<(ZipEntry, &[u8])> {
    if bytes.len() < 46 || !bytes.starts_with(CENTRAL_HEADER_SIGNATURE) {
        return Err(invalid_zip("its directory is damaged"));
    }
    let lengths = [28, 30, 32].map(|at| read_little_endian(bytes, at, 2) as usize);
    let (name_end, extra_end) = (46 + lengths[0], 46 + lengths[0] + lengths[1]);
    let name = bytes.get(46..name_end).ok_or_else(|| invalid_zip("its directory is damaged"))?;
    let extra = bytes.get(name_end..extra_end).ok_or_else(|| invalid_zip("its directory is damaged"))?;
    let after = bytes.get(extra_end + lengths[2]..).ok_or_else(|| invalid_zip("its directory is damaged"))?;
    let comment = undeclared_text(bytes.get(extra_end..extra_end + lengths[2]).unwrap_or(&[]));
    let mut numbers = [read_little_endian(bytes, 24, 4), read_little_endian(bytes, 20, 4), read_little_endian(bytes, 42, 4)];
    read_zip64(&mut numbers, extra);
    let [size, stored, header] = numbers;
    let name = undeclared_text(name);
    let is_encrypted = read_little_endian(bytes, 8, 2) & 1 != 0;
    let (method, crc) = (read_little_endian(bytes, 10, 2) as u16, read_little_endian(bytes, 16, 4) as u32);
    Ok((ZipEntry { name, is_encrypted, method, crc, compressed_size: stored, uncompressed_size: size, header, comment }, after))
}

/// Fills in the numbers that need 64 bits, from the extra field of zip64.
fn read_zip64(numbers: &mut [u64; 3], extra: &[u8]) {
    let mut rest = extra;
    while let Some(body) = rest.get(4..) {
        let len = read_little_endian(rest, 2, 2) as usize;
        let field = body.get(..len).unwrap_or(&[]);
        if read_little_endian(rest, 0, 2) == 1 {
            let large = numbers.iter_mut().filter(|number| **number == 0xffff_ffff);
            for (large, at) in large.zip((0..field.len().saturating_sub(7)).step_by(8)) {
                *large = read_little_endian(field, at, 8);
            }
        }
        rest = body.get(len..).unwrap_or(&[]);
    }
}

/// The byte of the archive at which those of a member begin.
fn member_offset(source: &SourceRef, entry: &ZipEntry, limits: &Limits) -> Result<u64> {
    if entry.is_encrypted {
        return Err(Error::unsupported("cannot read a member that is encrypted"));
    }
    let header = read_vec(&**source, entry.header, 30, limits)?;
    if !header.starts_with(LOCAL_HEADER_SIGNATURE) {
        return Err(invalid_zip("a member is not at the byte offset of the directory"));
    }
    Ok(entry.header.saturating_add(30 + read_little_endian(&header, 26, 2) + read_little_endian(&header, 28, 2)))
}

/// The entries with the last of several that have one name in the place of the first, and the others after it.
fn latest_first(entries: &[ZipEntry]) -> Vec<&ZipEntry> {
    let mut named: HashMap<&str, Vec<&ZipEntry>> = HashMap::new();
    for entry in entries {
        named.entry(&entry.name).or_default().push(entry);
    }
    let mut ordered = Vec::with_capacity(entries.len());
    for entry in entries {
        if let Some(same) = named.remove(entry.name.as_str())
            && let Some((last, others)) = same.split_last()
        {
            ordered.push(*last);
            ordered.extend(others);
        }
    }
    ordered
}

/// The comparison of a stored member with its CRC-32, by a byte of the archive in it.
pub(super) fn part_check() -> PartCheck {
    let known: OnceLock<Result<BTreeMap<u64, ZipEntry>>> = OnceLock::new();
    Arc::new(move |source: &SourceRef, at| {
        let limits = Limits::default();
        let read = || {
            let stored = read_central_directory(source, &limits)?
                .entries
                .into_iter()
                .filter(|entry| entry.method == 0 && entry.is_readable());
            stored.map(|entry| Ok((member_offset(source, &entry, &limits)?, entry))).collect()
        };
        let members = known.get_or_init(read).as_ref().map_err(Error::copy)?;
        match members.range(..=at).next_back() {
            Some((start, entry)) if at - start <= entry.compressed_size => {
                let damaged = || format!("member {} of {} is damaged", entry.name, source.name());
                check_member_crc(source, *start, entry, &limits)
                    .map_err(|error| error.at_byte(*start).hint(UNDAMAGED).context(damaged()))
            }
            _ => Ok(()),
        }
    })
}

/// Advice for a damaged member.
const UNDAMAGED: &str = "restore the file from a copy; --slice ... reads the elements of a stored member unchanged";

/// The members of an archive, each with its path, and what is wrong with its CRC-32. Members that cannot be read are left out.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for what is not an archive, and the errors of reading.
pub(super) fn check_member_checksums(source: &SourceRef, limits: &Limits, progress: Progress<'_>) -> Result<Vec<PartSum>> {
    let members: Vec<ZipEntry> =
        read_central_directory(source, limits)?.entries.into_iter().filter(ZipEntry::is_readable).collect();
    threads::map_parallel(members, |entry| {
        let compared = member_offset(source, &entry, limits).and_then(|start| check_member_crc(source, start, &entry, limits));
        progress.add(entry.compressed_size);
        let path = format!("/{}", entry.name.strip_suffix(".npy").unwrap_or(&entry.name));
        match compared {
            Err(error) if error.kind().is_transient() => Err(error),
            compared => Ok((path, compared.map_err(|error| error.context(format!("member {}", entry.name))))),
        }
    })
}

/// Compares the CRC-32 of a member, whose bytes begin at `start`, with its decoded bytes.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if it differs, or if the member does not decode.
#[cfg(feature = "zlib")]
fn check_member_crc(source: &SourceRef, start: u64, entry: &ZipEntry, limits: &Limits) -> Result<()> {
    let stored: SourceRef = Arc::new(WindowSource::new(source.clone(), start, entry.compressed_size)?);
    if entry.method == 8 && entry.uncompressed_size > 0 {
        let decoded = zlib::member(stored, entry.uncompressed_size, entry.crc, limits);
        return for_each_piece(&*decoded, 0..entry.uncompressed_size, MAX_READ_SIZE, PieceAccess::Copy, &mut |_| Ok(()));
    }
    limits.charge_work(entry.compressed_size)?;
    let mut crc = flate2::Crc::new();
    let len = if entry.method == 8 { 0 } else { entry.compressed_size };
    for_each_piece(&*stored, 0..len, MAX_READ_SIZE, PieceAccess::Borrow, &mut |piece| {
        crc.update(piece);
        interrupt::check()
    })?;
    match crc.sum() {
        _ if len != entry.uncompressed_size => {
            Err(Error::malformed(format!("it has {len} bytes, not {}", entry.uncompressed_size)))
        }
        found if found != entry.crc => Err(differs(entry.crc, found)),
        _ => Ok(()),
    }
}

#[cfg(not(feature = "zlib"))]
fn check_member_crc(_: &SourceRef, _: u64, _: &ZipEntry, _: &Limits) -> Result<()> {
    Err(Error::feature_disabled("the CRC-32 of members of archives", "zlib"))
}

/// Bytes that are read at once.
#[cfg(feature = "zlib")]
const MAX_READ_SIZE: u64 = 4 << 20;

impl ZipEntry {
    /// Returns `true` if it is a file that is stored or deflated, and not encrypted.
    fn is_readable(&self) -> bool {
        !self.is_encrypted && matches!(self.method, 0 | 8) && !self.name.ends_with('/')
    }
}

/// The bytes of a member.
fn open_member(source: &SourceRef, entry: &ZipEntry, limits: &Limits) -> Result<SourceRef> {
    let window = WindowSource::new(source.clone(), member_offset(source, entry, limits)?, entry.compressed_size)?;
    match entry.method {
        0 => {
            let entry = entry.clone();
            Ok(Arc::new(ChecksummedSource::new(Arc::new(window), move |stored| {
                check_member_crc(stored, 0, &entry, &Limits::default())
            })))
        }
        #[cfg(not(feature = "zlib"))]
        8 => Err(Error::feature_disabled("deflated members of archives", "zlib")),
        #[cfg(feature = "zlib")]
        8 => {
            if entry.uncompressed_size > entry.compressed_size.saturating_mul(limits.zlib_ratio).saturating_add(1024) {
                let what = format_args!("{} bytes decode to {}", entry.compressed_size, entry.uncompressed_size);
                return Err(Limits::exceeded_error("zlib_ratio", limits.zlib_ratio, what));
            }
            Ok(zlib::member(Arc::new(window), entry.uncompressed_size, entry.crc, limits))
        }
        method => Err(unknown_method(method)),
    }
}

#[cfg(all(test, feature = "zlib"))]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::array::{Datatype, npy_header};
    use crate::bytes::verify_backing;

    /// An archive of two members, the second of them by this method.
    fn archive(second: u16) -> Vec<u8> {
        let mut out = Vec::new();
        let mut directory = Vec::new();
        for (name, values, method) in [("a.npy", vec![1u8, 2, 3], 0u16), ("g/b.npy", vec![7u8; 200], second)] {
            let mut body = npy_header(&Datatype::Uint8, &[values.len() as u64]).unwrap();
            body.extend(&values);
            let size = body.len() as u32;
            let mut crc = flate2::Crc::new();
            crc.update(&body);
            if method == 8 {
                let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
                deflate.write_all(&body).unwrap();
                body = deflate.finish().unwrap();
            }
            let at = out.len() as u32;
            out.extend(LOCAL_HEADER_SIGNATURE);
            out.extend([0; 22]);
            out.extend((name.len() as u16).to_le_bytes());
            out.extend([0; 2]);
            out.extend(name.as_bytes());
            out.extend(&body);
            directory.extend(CENTRAL_HEADER_SIGNATURE);
            directory.extend([0; 6]);
            directory.extend(method.to_le_bytes());
            directory.extend([0; 4]);
            directory.extend(crc.sum().to_le_bytes());
            directory.extend((body.len() as u32).to_le_bytes());
            directory.extend(size.to_le_bytes());
            directory.extend((name.len() as u16).to_le_bytes());
            directory.extend([0; 12]);
            directory.extend(at.to_le_bytes());
            directory.extend(name.as_bytes());
        }
        let at = out.len() as u32;
        out.extend(&directory);
        out.extend(EOCD_SIGNATURE);
        out.extend([0, 0, 0, 0, 2, 0, 2, 0]);
        out.extend((directory.len() as u32).to_le_bytes());
        out.extend(at.to_le_bytes());
        out.extend([0, 0]);
        out
    }

    fn open(bytes: Vec<u8>) -> SourceRef {
        Arc::new(MemorySource::new(bytes, "x.npz"))
    }

    #[test]
    fn members_are_arrays_and_slashes_lead_into_groups() {
        let arrays = npz_arrays(&open(archive(8)), &Limits::default()).unwrap();
        assert_eq!((arrays[0].0.as_str(), arrays[0].1.load::<u8>().unwrap()), ("a", vec![1, 2, 3]));
        assert_eq!((arrays[1].0.as_str(), arrays[1].1.load::<u8>().unwrap()), ("g/b", vec![7; 200]));
        let text = |bytes| derive_layout(&open(bytes), &Limits::default()).unwrap().text().to_owned();
        let packed = text(archive(8));
        assert!(packed.contains("filters=\"skip(128) crc32("), "{packed}");
        assert!(Layout::read(packed.as_bytes()).is_ok());
        let text = text(archive(0));
        assert!(text.ends_with("a = u1[3] @163\ng/\n  b = u1[200] @331\n..\n"), "{text}");
        assert!(Layout::read(text.as_bytes()).is_ok());
    }

    /// First tier.
    #[test]
    fn crc_mismatch_is_found_per_member() {
        for second in [0, 8] {
            let (sound, limits) = (archive(second), Limits::default());
            let wrong = |bytes: &[u8]| {
                let found = check_member_checksums(&open(bytes.to_vec()), &limits, Progress::default()).unwrap();
                found.into_iter().filter(|(_, compared)| compared.is_err()).map(|(path, _)| path).collect::<Vec<_>>()
            };
            assert!(wrong(&sound).is_empty());
            let entry = sound.windows(4).rposition(|four| four == CENTRAL_HEADER_SIGNATURE).unwrap();
            let mut bytes = sound;
            bytes[entry + 16] ^= 1;
            assert_eq!(wrong(&bytes), ["/g/b"]);
            let arrays = npz_arrays(&open(bytes), &limits).unwrap();
            assert!(arrays[0].1.load::<u8>().is_ok() && verify_backing(&**arrays[0].1.source()).is_ok());
            // A stored member is compared before it gets a new checksum, a deflated one when it is decoded.
            assert_eq!(arrays[1].1.load::<u8>().is_ok(), second == 0);
            assert_eq!(verify_backing(&**arrays[1].1.source()).is_ok(), second == 8);
        }
    }

    /// First tier. As in numpy.
    #[test]
    fn last_duplicate_member_comes_first() {
        let entry = |name: &str, header| ZipEntry {
            name: name.into(),
            is_encrypted: false,
            method: 0,
            crc: 0,
            compressed_size: 0,
            uncompressed_size: 0,
            header,
            comment: String::new(),
        };
        let entries = [entry("a", 0), entry("b", 1), entry("a", 2), entry("c", 3), entry("a", 4)];
        let order: Vec<u64> = latest_first(&entries).into_iter().map(|entry| entry.header).collect();
        assert_eq!(order, [4, 0, 2, 1, 3]);
    }

    #[test]
    fn no_cut_or_flipped_archive_panics() {
        let whole = archive(8);
        let read = |bytes: Vec<u8>| {
            let source = open(bytes);
            let _ = (npz_arrays(&source, &Limits::default()), derive_layout(&source, &Limits::default()));
        };
        super::super::harmed(&whole, read);
        assert!(npz_arrays(&open(b"not an archive".to_vec()), &Limits::default()).is_err());
    }
}
