//! Checking the bytes of a file: structure, checksums and, on asking, that every block decodes.
//!
//! ASDF 1.x, "Block header" and "Block index". Validating the tree against schemas is another thing.

mod checksums;
mod stream;

use std::sync::Arc;

use crate::array::{Array, TextType, check_texts};
use crate::asdf::checksum::{self, ChecksumScope};
use crate::asdf::{AsdfFile, Block, BlockUse, chunked_array, deviation, md5, ndarray, required_keys, walk};
use crate::bytes::{Source, SourceRef};
use crate::codec;
use crate::dudley::DudleyFile;
use crate::error::{Error, ErrorKind, Location, Result};
use crate::file::{ArrayEntry, File, FileSet};
use crate::progress::Progress;
use crate::threads;

pub use checksums::{CHECKSUMS, Checksum, ChecksumCoverage, ChecksumKind};
pub(crate) use stream::verify_stream;

/// The depth of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum VerifyDepth {
    /// Structure and checksums of the bytes.
    #[default]
    Structure,
    /// Structure and checksums of the bytes, and the decoding of each block or array.
    Decoded,
}

/// The result of checking one block.
#[derive(Debug)]
#[non_exhaustive]
pub struct BlockReport {
    /// Number of the block.
    pub index: usize,
    /// The bytes that the stored checksum covers; None if the block has none or it was not compared.
    pub checksum_of: Option<ChecksumScope>,
    /// `true` if the block has another checksum than the one that it states.
    pub has_wrong_checksum: bool,
    /// The problem.
    pub problem: Option<Error>,
}

impl BlockReport {
    /// Returns `true` if its checksum was compared, with either result.
    pub fn is_compared(&self) -> bool {
        self.checksum_of.is_some() || self.has_wrong_checksum
    }
}

/// The result of a check.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The result for each block.
    pub blocks: Vec<BlockReport>,
    /// Every compared checksum that is not that of a block.
    pub checksums: Vec<Checksum>,
    /// The parts that no checksum covers, for each kind of part that may have one.
    pub coverage: Vec<ChecksumCoverage>,
    /// Problems of the file as a whole: blocks that cannot be found, a tree without end.
    pub structure: Vec<Error>,
    /// Arrays that cannot be reached or do not fit their block, by tree path.
    pub arrays: Vec<(String, Error)>,
    /// Oddities that are not errors.
    pub warnings: Vec<String>,
}

impl VerifyReport {
    /// Returns the problems of the file, one in each line.
    pub fn problems(&self) -> Vec<String> {
        let arrays = self.arrays.iter().map(|(path, error)| format!("{path}: {error}"));
        self.of_bytes().map(ToString::to_string).chain(arrays).collect()
    }

    /// Leaves out warnings that are among the problems of the file as a whole.
    fn without_problems(&self, warnings: Vec<String>) -> Vec<String> {
        let problems: Vec<String> = self.structure.iter().map(ToString::to_string).collect();
        warnings.into_iter().filter(|warning| !problems.contains(warning)).collect()
    }

    /// The problems of blocks, checksums and structure.
    fn of_bytes(&self) -> impl Iterator<Item = &Error> {
        let blocks = self.blocks.iter().filter_map(|block| block.problem.as_ref());
        let sums = self.checksums.iter().filter_map(|sum| sum.problem.as_ref());
        blocks.chain(sums).chain(&self.structure)
    }

    /// Returns `true` if nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.verdict() == Some(true)
    }

    /// Returns `true` if no problem was found. Returns None if the only problems are unsupported features or limits: an unknown
    /// encoding does not make other parts of a file invalid.
    pub fn verdict(&self) -> Option<bool> {
        let arrays = self.arrays.iter().map(|(_, error)| error);
        let (mut is_open, mut is_wrong) = (false, false);
        for error in self.of_bytes().chain(arrays) {
            match error.kind() {
                ErrorKind::Unsupported | ErrorKind::Limit => is_open = true,
                _ => is_wrong = true,
            }
        }
        match (is_wrong, is_open) {
            (true, _) => Some(false),
            (false, true) => None,
            (false, false) => Some(true),
        }
    }
}

impl File {
    /// Checks structure and checksums of the bytes; with [`VerifyDepth::Decoded`] every block or array is decoded as well.
    /// `progress` receives the number of bytes read, [`File::verified_size`] in all.
    ///
    /// # Errors
    /// Returns an error if not even the blocks or items can be found.
    pub fn verify(&self, depth: VerifyDepth, progress: Progress<'_>) -> Result<VerifyReport> {
        let mut report = if let Some(file) = self.as_asdf() {
            verify(file, depth, progress)?
        } else if let Some(file) = self.as_dudley() {
            verify_stream(file, depth, progress)?
        } else if let Some(set) = self.as_family() {
            verify_set(self, set, depth, progress)?
        } else {
            verify_items(self, depth, progress)?
        };
        let whole = checksums::compare_gzip(self)?;
        if !whole.is_empty() {
            // It covers every part.
            report.coverage.clear();
        }
        report.checksums.splice(0..0, whole);
        Ok(report)
    }

    /// Returns the number of bytes that [`File::verify`] will report.
    ///
    /// # Errors
    /// Returns an error if not even the blocks can be found.
    pub fn verified_size(&self) -> Result<u64> {
        let Some(file) = self.as_asdf() else { return Ok(self.source().len()) };
        let fits = crate::file::container_fits(file).map_or(0, |fits| fits.source().len());
        Ok(file.sections().blocks()?.iter().fold(fits, |sum, block| sum.saturating_add(block.stored_len())))
    }
}

/// Checks a catalog and the files that it lists: each has the parameters that the catalog has for it, and all of its data. With
/// [`VerifyDepth::Decoded`] each file is checked as [`verify_stream`] checks one.
fn verify_set(file: &File, set: &FileSet, depth: VerifyDepth, progress: Progress<'_>) -> Result<VerifyReport> {
    let catalog = DudleyFile::open(file.source().clone(), None, file.limits())?;
    let mut report = verify_stream(&catalog, depth, progress)?;
    let (mut of_items, mut odd) = (Vec::new(), Vec::new());
    let mut decode = |name: &str, file: &DudleyFile| {
        if depth == VerifyDepth::Decoded {
            match verify_stream(file, depth, progress) {
                Ok(one) => of_items.extend(one.arrays.into_iter().map(|(path, error)| (format!("{name}#{path}"), error))),
                Err(error) => of_items.push((name.to_owned(), error)),
            }
        }
    };
    let found = set.compare_with_catalog(&mut decode, &mut |name, warning| odd.push(format!("{name}: {warning}")));
    match found {
        Ok(found) => report.structure.extend(found.into_iter().map(|(name, error)| error.context(name))),
        Err(error) if error.kind() == ErrorKind::Unsupported => report.warnings.push(error.to_string()),
        Err(error) => return Err(error),
    }
    report.arrays.extend(of_items);
    report.warnings.extend(odd);
    Ok(report)
}

/// Checks that every array can be reached and, with [`VerifyDepth::Decoded`], decoded.
fn verify_items(file: &File, depth: VerifyDepth, progress: Progress<'_>) -> Result<VerifyReport> {
    let mut report = VerifyReport { warnings: file.warnings(), ..VerifyReport::default() };
    for ArrayEntry { path, item } in file.arrays()? {
        let checked = item.and_then(|item| item.array()).and_then(|array| match depth {
            VerifyDepth::Structure => Ok(()),
            VerifyDepth::Decoded => array.for_each_piece(1 << 20, |piece| {
                progress.add(piece.len() as u64);
                Ok(())
            }),
        });
        if let Err(error) = checked {
            report.arrays.push((path, error));
        }
    }
    Ok(report)
}

/// Checks a file. [`VerifyDepth::Decoded`] also decodes every block, even if its checksum is right.
///
/// Several blocks are hashed at once, on all cores and in the lanes of SIMD registers. MD5 is serial, so one large block uses one
/// core. A block that is decoded is hashed at the same time, so it is read once. `progress` receives the number of bytes read.
///
/// ```
/// use trilith::check::{VerifyDepth, verify};
/// use trilith::{Array, ArrayOptions, AsdfBuilder, Target, Value, open_asdf_bytes};
/// let mut builder = AsdfBuilder::new(Target::latest());
/// let node = builder.array(&Array::from_slice(&[1u8; 100], &[100])?, &ArrayOptions::default())?;
/// let mut bytes = std::io::Cursor::new(Vec::new());
/// builder.write_to(&mut bytes, Value::map([("a", node)]))?;
/// let mut bytes = bytes.into_inner();
/// assert!(verify(&open_asdf_bytes(bytes.clone())?, VerifyDepth::Decoded, trilith::Progress::default())?.is_ok());
///
/// let at = bytes.windows(100).position(|window| window == [1; 100]).unwrap();
/// bytes[at] = 2;
/// let report = verify(&open_asdf_bytes(bytes)?, VerifyDepth::Structure, trilith::Progress::default())?;
/// assert!(report.blocks[0].problem.is_some());
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if not even the blocks can be found.
pub fn verify(file: &AsdfFile, depth: VerifyDepth, progress: Progress<'_>) -> Result<VerifyReport> {
    let _call = file.limits().call();
    let blocks = file.sections().blocks()?;
    let hashed = hash_stored_blocks(file, &blocks, depth, progress);
    let jobs: Vec<_> = blocks.into_iter().zip(hashed).collect();
    let check = |(block, found): (&Block, Option<Result<[u8; 16]>>)| {
        file.limits().charge_work(block.stored_len().min(file.sections().source().len()))?;
        let read_here = found.is_none();
        let report = check_block(file, block, depth, found);
        // An exceeded work limit ends the check, because it is not a problem of the block.
        file.limits().check_work(0)?;
        if read_here {
            progress.add(block.stored_len());
        }
        Ok(report)
    };
    let mut report = VerifyReport { blocks: threads::map_parallel(jobs, check)?, ..VerifyReport::default() };
    let mut sums_of_container = Vec::new();
    report.structure.extend(file.sections().incomplete());
    report.structure.extend(file.sections().truncated_tree());
    if let Some(fits) = crate::file::container_fits(file) {
        report.structure.extend(fits.is_truncated().map(Error::malformed));
        report.structure.extend(fits.illegal_cards());
        (sums_of_container, report.coverage) = checksums::compare_hdus(fits, progress)?;
        // In a tree made for a FITS file without one, a broken HDU is already an array that cannot be read.
        let is_embedded = file.container().is_some_and(|container| container.hdu > 0);
        let broken = fits.hdus().iter().filter(|_| is_embedded);
        report.structure.extend(broken.filter_map(|hdu| Some(hdu.error()?.copy().context(format!("HDU {}", hdu.index())))));
    }
    let hdu = file.container().map(|container| format!("/fits/{}", container.hdu));
    let is_covered = sums_of_container.iter().any(|sum| Some(&sum.path) == hdu.as_ref());
    report.coverage.splice(0..0, checksums::block_coverage(file, &report.blocks, is_covered)?);
    report.checksums.extend(sums_of_container);
    for listed in walk::arrays(file)? {
        let made = listed.location.and_then(|found| {
            let (owner, node) = (found.file(file), found.node(file));
            let array = owner.stored_array(node)?;
            owner.physical_array(node, array.clone())?;
            // A block can decode without holding the chunks of this array.
            let filtered = ndarray::is_chunked(node);
            if filtered {
                chunked_array::check_codecs(node, file.limits())?;
            }
            match depth {
                VerifyDepth::Decoded if filtered => check_text(&array).and_then(|()| array.for_each_piece(1 << 20, |_| Ok(()))),
                VerifyDepth::Decoded => check_text(&array),
                VerifyDepth::Structure => Ok(()),
            }
        });
        if let Err(error) = made {
            report.arrays.push((listed.path, error));
        }
    }
    for node in file.tree().tagged(required_keys::needs_keys) {
        if let Err(error) = required_keys::check_required_keys(node) {
            report.arrays.push((file.tree().path_of(node.id()).map(|path| path.to_string()).unwrap_or_default(), error));
        }
    }
    report.warnings = report.without_problems(file.warnings());
    report.warnings.extend(deviation::find_deviations(file)?);
    Ok(report)
}

/// Checks all strings of an array.
fn check_text(array: &Array) -> Result<()> {
    [TextType::Ascii, TextType::Ucs4, TextType::Utf8].into_iter().try_for_each(|kind| check_texts(array, kind))
}

/// The MD5 of the stored bytes of each block that is to be compared and is not decoded anyway.
fn hash_stored_blocks(
    file: &AsdfFile,
    blocks: &[&Block],
    depth: VerifyDepth,
    progress: Progress<'_>,
) -> Vec<Option<Result<[u8; 16]>>> {
    let wanted = |block: &&Block| block.checksum_rule().is_some() && (block.is_uncompressed() || depth == VerifyDepth::Structure);
    let stored: Vec<Option<Result<SourceRef>>> =
        blocks.iter().map(|block| wanted(block).then(|| block.stored_source(file.sections().source()))).collect();
    let sources: Vec<&dyn Source> = stored.iter().flatten().flatten().map(|source| &**source).collect();
    let mut digests = md5::digest_many(&sources, progress).into_iter();
    stored
        .into_iter()
        .map(|stored| stored.and_then(|stored| stored.map_or_else(|error| Some(Err(error)), |_| digests.next())))
        .collect()
}

fn check_block(file: &AsdfFile, block: &Block, depth: VerifyDepth, found: Option<Result<[u8; 16]>>) -> BlockReport {
    let mut report = BlockReport { index: block.index, checksum_of: None, has_wrong_checksum: false, problem: None };
    match compare_block_checksum(file, block, depth, found) {
        Ok(of) => report.checksum_of = of,
        Err(error) => {
            report.has_wrong_checksum = block.checksum_rule().is_some() && error.kind() == ErrorKind::Malformed;
            report.problem = Some(error.with_location(Location::Byte(block.offset)).context(format!("block {}", block.index)));
        }
    }
    report
}

fn compare_block_checksum(
    file: &AsdfFile,
    block: &Block,
    depth: VerifyDepth,
    found: Option<Result<[u8; 16]>>,
) -> Result<Option<ChecksumScope>> {
    let stored = || block.stored_source(file.sections().source());
    let decode = |stored: SourceRef, what: &mut dyn FnMut(&[u8])| -> Result<()> {
        let data = file.decode_block(block, stored, BlockUse::Check)?;
        file.limits().check_work(data.len())?;
        codec::stream_source(&*data, &mut |bytes| {
            what(bytes);
            Ok(())
        })
    };
    let Some(sum) = block.checksum_rule() else {
        let stored = stored()?;
        if depth == VerifyDepth::Decoded && !block.is_uncompressed() {
            decode(stored, &mut |_| {})?;
        }
        return Ok(None);
    };
    let found = match found {
        Some(found) => found?,
        None => {
            let hashing = Arc::new(checksum::HashingSource::new(stored()?));
            decode(hashing.clone(), &mut |_| {})?;
            hashing.finish_digest()?
        }
    };
    checksum::compare_checksum(&sum, &found, stored()?, file.limits()).map(Some)
}
