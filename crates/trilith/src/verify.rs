//! Checking the bytes of a file: structure, checksums and, on asking, that every block decodes.
//!
//! ASDF 1.x, "Block header" and "Block index". Validating the tree against schemas is another thing.

use crate::asdf::checksum::{self, ChecksumOf};
use crate::asdf::{AsdfFile, Block, walk};
use crate::codec;
use crate::dudley::{DudleyFile, Items, LayoutOrigin};
use crate::error::{Error, Location, Result};
use crate::layout::{Entry, EntryKind, ResolvedType};

/// What a check found about one block.
#[derive(Debug)]
pub struct BlockReport {
    /// Number of the block.
    pub index: usize,
    /// Which bytes the stored checksum is of; None where the block has none or it was not compared.
    pub checksum_of: Option<ChecksumOf>,
    /// What is wrong.
    pub problem: Option<Error>,
}

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Every block.
    pub blocks: Vec<BlockReport>,
    /// Arrays that cannot be reached or do not fit their block, by tree path.
    pub arrays: Vec<(String, Error)>,
    /// What is odd but not wrong.
    pub warnings: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_right(&self) -> bool {
        self.arrays.is_empty() && self.blocks.iter().all(|block| block.problem.is_none())
    }
}

/// Checks a file; `deep` decodes every block as well, whatever its checksum says.
///
/// Blocks are checked side by side on all cores; one huge block is bound by MD5, which is serial.
///
/// # Errors
/// [`Kind::Malformed`](crate::Kind::Malformed) where not even the blocks can be found.
pub fn verify(file: &AsdfFile, deep: bool, progress: &(dyn Fn(u64) + Sync)) -> Result<Report> {
    let blocks = file.sections().blocks()?;
    let check = |block: &&Block| {
        let report = check_block(file, block, deep);
        progress(block.stored_len());
        report
    };
    let mut report = Report { blocks: codec::each(blocks, |block| Ok(check(&block)))?, ..Report::default() };
    for listed in walk::arrays(file)? {
        let made = listed.found.and_then(|found| found.file(file).array(found.node(file)).map(drop));
        if let Err(error) = made {
            report.arrays.push((listed.path, error));
        }
    }
    report.warnings = file.warnings();
    Ok(report)
}

/// Checks a Dudley stream: every item lies in the file, and outside of header and layout; compressed
/// arrays decode if `deep`. `progress` hears of the bytes that were read. Overlaps, which are legal, are
/// warnings, and so is what is odd about the layout.
///
/// # Errors
/// As [`DudleyFile::items`]: where not even the addresses can be found.
pub fn verify_stream(file: &DudleyFile, deep: bool, progress: &dyn Fn(u64)) -> Result<Report> {
    let items = file.items()?;
    let mut report = Report { warnings: file.warnings(), ..Report::default() };
    for entry in items.entries() {
        let entry = entry?;
        if let Err(error) = check_item(&items, &entry, deep, progress) {
            report.arrays.push((entry.path, error));
        }
    }
    report.warnings.extend(items.evaluation().overlaps()?.iter().map(ToString::to_string));
    Ok(report)
}

fn check_item(items: &Items<'_>, entry: &Entry, deep: bool, progress: &dyn Fn(u64)) -> Result<()> {
    let file = items.file();
    let place = entry.address.and_then(|at| at.checked_add(file.base())).zip(entry.nbytes.filter(|size| *size > 0));
    if let (Some((at, size)), LayoutOrigin::Embedded(layout)) = (place, file.origin())
        && at.saturating_add(size) > *layout
    {
        let message = format!("its bytes {at}..{} reach into the layout at byte {layout}", at.saturating_add(size));
        return Err(Error::malformed(message).at_byte(at));
    }
    if let Some((at, size)) = place
        && at.checked_add(size).is_none_or(|end| end > file.source().len())
    {
        let message = format!("its bytes {at}..{} end behind the file of {} bytes", at.saturating_add(size), file.source().len());
        return Err(Error::malformed(message).at_byte(at));
    }
    if entry.kind != EntryKind::Data || entry.typed == ResolvedType::Dynamic {
        return Ok(());
    }
    let array = items.array(entry)?;
    if deep && file.layout().opt_filter(entry.item).is_some_and(|filter| filter.compresses) {
        array.for_each_piece(1 << 20, |piece| {
            progress(piece.len() as u64);
            Ok(())
        })?;
    }
    Ok(())
}

fn check_block(file: &AsdfFile, block: &Block, deep: bool) -> BlockReport {
    let mut report = BlockReport { index: block.index, checksum_of: None, problem: None };
    match compare(file, block, deep) {
        Ok(of) => report.checksum_of = of,
        Err(error) => report.problem = Some(error.at(Location::Byte(block.offset)).context(format!("block {}", block.index))),
    }
    report
}

fn compare(file: &AsdfFile, block: &Block, deep: bool) -> Result<Option<ChecksumOf>> {
    let stored = block.stored(file.sections().source())?;
    let stated = block.checksum.as_deref().filter(|sum| sum.len() == 16 && !block.is_streamed());
    let decode = |what: &mut dyn FnMut(&[u8])| -> Result<()> {
        let data = file.block_data(block.index as i64)?;
        codec::stream_source(&*data, &mut |bytes| {
            what(bytes);
            Ok(())
        })
    };
    let Some(stated) = stated else {
        if deep && !block.is_plain() {
            decode(&mut |_| {})?;
        }
        return Ok(None);
    };
    let found = checksum::md5_of(&*stored)?;
    if found == stated {
        if deep && !block.is_plain() {
            decode(&mut |_| {})?;
        }
        return Ok(Some(ChecksumOf::Stored));
    }
    if !block.is_plain() {
        // Until 5.2 Python asdf hashed the decoded bytes.
        let mut md5 = checksum::Md5Thread::new();
        decode(&mut |bytes| md5.update(bytes))?;
        if md5.finish() == stated {
            return Ok(Some(ChecksumOf::Decoded));
        }
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    Err(Error::malformed(format!("the checksum is {}, but the bytes have {}", hex(stated), hex(&found))))
}
