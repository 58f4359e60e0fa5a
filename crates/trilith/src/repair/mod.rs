//! Saving the rest of a damaged or truncated file.
//!
//! Unreadable parts are left out and reported, and nothing is made up: lines of the tree that are not YAML are
//! removed, an array whose end is missing keeps its whole rows, and an array without any becomes null. Every block
//! keeps its number. The written file is verified before the report is made, so that the report lists every
//! remaining problem.

mod blocks;
mod fits_container;
mod stream;
mod text;

use std::io::{Seek, Write};
use std::sync::Arc;

use crate::array::{Datatype, element_count};
use crate::asdf::ndarray::{self, ElementSource, Ndarray, ShapeDimension};
use crate::asdf::uris::{rebase_tree, uris};
use crate::asdf::{BlockOptions, FileWriter, Generation, Header, WriteOptions, header, is_as_documented};
use crate::bytes::{BaseUri, MemorySource, Resolve, Source, SourceBacking, SourceRef, gunzip, is_gzip, read_vec, spool_output};
use crate::error::{Error, ErrorKind, Result};
use crate::file::{self, FileKind};
use crate::foreign;
use crate::limits::Limits;
use crate::progress::Progress;
use crate::tree::{Node, Tree, Value};
use crate::verify::{self, VerifyDepth};

pub use blocks::{BlockRepairReport, BlockState};
use fits_container::FitsContainer;
pub use stream::{StreamSalvage, salvage_stream};

/// The outcome for an array.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrayState {
    /// The first rows are there: their number, and that of all.
    Truncated {
        /// Rows that are kept.
        rows: u64,
        /// Rows that there were.
        total: u64,
    },
    /// No element of the array could be read, for this reason. The array becomes null, or is left out of a Dudley file.
    Lost(String),
}

/// A list of what was found and lost.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RepairReport {
    /// The generation that is written.
    pub generation: &'static str,
    /// Lines of the file that were left out of the tree, and why; None if there is no tree at all.
    pub tree: Option<Vec<(u32, String)>>,
    /// Outcome for each block, by its number.
    pub blocks: Vec<BlockRepairReport>,
    /// Arrays that are not whole, by tree path; lists that are not, in Dudley files.
    pub arrays: Vec<(String, ArrayState)>,
    /// Number of arrays that a Dudley file should have; None for a file of the ASDF family.
    pub items: Option<u64>,
    /// Problems of the written file, as far as `verify --deep` can tell; None if it was not verified.
    pub verify_problems: Option<Vec<String>>,
    /// Further remarks.
    pub notes: Vec<String>,
}

impl RepairReport {
    /// Returns `true` if nothing was lost, and the written file verifies ([`SalvagedFile::verified`]).
    pub fn is_whole(&self) -> bool {
        self.verify_problems.as_ref().is_some_and(Vec::is_empty)
            && self.arrays.is_empty()
            && self.tree.as_ref().is_some_and(Vec::is_empty)
            && self.blocks.iter().all(|block| block.fate == BlockState::Whole)
    }
}

/// The rest of a file, ready to be written.
pub struct SalvagedFile {
    source: SourceRef,
    header: Header,
    generation: &'static Generation,
    tree: Option<String>,
    pieces: Vec<blocks::RecoveredBlock>,
    report: RepairReport,
    limits: Limits,
    /// The FITS file that it is in.
    fits_container: Option<FitsContainer>,
}

/// Finds the readable parts of a file in any state.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`] if it is not a file of the family, and never was, [`ErrorKind::Io`],
/// [`ErrorKind::Limit`] if the text is too long.
///
/// ```
/// use std::sync::Arc;
/// use trilith::{Limits, bytes::MemorySource, check, file};
/// let cut = "#ASDF 1.0.0\n%YAML 1.1\n---\na: 1\nb: [2, 3";
/// assert!(file::open_asdf_bytes(cut.into()).is_err());
/// let mut left = check::salvage(Arc::new(MemorySource::new(cut.into(), "memory")), &Limits::default())?;
/// let written = left.verified(Arc::new(trilith::bytes::NoReferences))?;
/// assert_eq!(left.report().verify_problems, Some(vec![]));
/// let file = file::open_asdf_source(written, Arc::new(trilith::bytes::NoReferences), &Limits::default())?;
/// assert_eq!(file.tree().node_at_pointer("/a").and_then(|a| a.as_i64()), Some(1));
/// assert!(!left.report().is_whole());
/// # Ok::<(), trilith::Error>(())
/// ```
pub fn salvage(source: SourceRef, limits: &Limits) -> Result<SalvagedFile> {
    let limits = &limits.for_calls(source.len());
    let _call = limits.call();
    let mut start = read_vec(&*source, 0, source.len().min(80), limits)?;
    let mut source = source;
    if is_gzip(&start) {
        source = gunzip(source, limits)?;
        start = read_vec(&*source, 0, source.len().min(80), limits)?;
    }
    if FileKind::detect(&start) == Some(FileKind::Fits) {
        let (around, asdf) = FitsContainer::find_embedded(source, limits)?;
        return Ok(SalvagedFile { fits_container: Some(around), ..salvage_asdf(asdf, limits)? });
    }
    if foreign::has_known_start(&*source)? {
        let content = foreign::refusal(&*source)?;
        return Err(Error::unsupported(format!("{}, which repair does not write", content.message())).hint(CONVERT_THE_REST));
    }
    salvage_asdf(source, limits)
}

/// Advice for a file of a format that is not repaired.
const CONVERT_THE_REST: &str = "trilith convert FILE OUT.asdf --skip-unreadable writes the items that can be read";

fn salvage_asdf(source: SourceRef, limits: &Limits) -> Result<SalvagedFile> {
    let mut notes: Vec<String> = source.backing().and_then(SourceBacking::notice).into_iter().collect();
    let (header, from) = read_header(&source, limits, &mut notes)?;
    let extent = match header::find_tree(&*source, &header, limits) {
        Ok(found) => found.map(|(tree, _)| (tree.start, tree.end)),
        Err(error) if error.kind() == ErrorKind::Malformed => {
            let end = crate::asdf::next_block(&source, &header.candidate_generations, from, limits)?.unwrap_or(source.len());
            Some((from, end.min(from.saturating_add(limits.text))))
        }
        Err(error) => return Err(error),
    };
    let from = extent.map_or(from, |(_, end)| end);
    let pieces = blocks::find_blocks(&source, &header, from, limits, &mut notes)?;
    let generation = pieces.iter().find_map(|piece| piece.block.as_ref().map(|block| block.generation));
    let generation = generation.or_else(|| header.candidate_generations.last().copied());
    let generation = generation.ok_or_else(|| Error::unsupported("a file of an unknown generation"))?;
    let mut report = RepairReport {
        generation: generation.name,
        tree: None,
        blocks: Vec::new(),
        arrays: Vec::new(),
        items: None,
        verify_problems: None,
        notes,
    };
    let mut tree = None;
    if let Some((start, end)) = extent {
        let bytes = read_vec(&*source, start, end - start, limits)?;
        let before = read_vec(&*source, 0, start, limits)?;
        let line = memchr::memchr_iter(b'\n', &before).count() as u32;
        let (text, lost) = text::salvage_tree_text(bytes, limits)?;
        report.tree = Some(lost.into_iter().map(|(at, why)| (line.saturating_add(at), why)).collect());
        let parsed = Tree::parse(text, limits)?;
        tree = Some(repair_tree(&parsed, &pieces, limits, &mut report)?);
    }
    report.blocks = pieces.iter().map(|piece| piece.fate.clone()).collect();
    Ok(SalvagedFile { source, header, generation, tree, pieces, report, limits: limits.clone(), fits_container: None })
}

/// The header, or that of ASDF 1.0 if it is damaged; and where to look for the tree.
fn read_header(source: &SourceRef, limits: &Limits, notes: &mut Vec<String>) -> Result<(Header, u64)> {
    match header::read_asdf_header(&**source, limits) {
        Ok(header) => {
            let end = header.end;
            Ok((header, end))
        }
        Err(error) => {
            let start = read_vec(&**source, 0, source.len().min(64 << 10), limits)?;
            let tree = ["%YAML", "---"].iter().filter_map(|mark| memchr::memmem::find(&start, mark.as_bytes())).min();
            let standard = MemorySource::new(b"#ASDF 1.0.0\n".to_vec(), source.name());
            let header = header::read_asdf_header(&standard, limits)?;
            let block = crate::asdf::next_block(source, &header.candidate_generations, 0, limits)?;
            let from = tree.map(|at| at as u64).into_iter().chain(block).min();
            let from = from.ok_or_else(|| {
                Error::unsupported(format!("{} has neither header nor tree nor blocks: it is not an ASDF file", source.name()))
            })?;
            notes.push(format!("the header is damaged, and taken for #ASDF 1.0.0: {error}"));
            Ok((Header { end: from, ..header }, from))
        }
    }
}

/// The tree with every array cut or emptied that is not whole.
fn repair_tree(tree: &Tree, pieces: &[blocks::RecoveredBlock], limits: &Limits, report: &mut RepairReport) -> Result<String> {
    let mut edit = tree.edit();
    let mut walk = tree.root().walk(limits).without_merge();
    while let Some(visit) = walk.try_next()? {
        if visit.node.is_alias() || !ndarray::is_ndarray(visit.node) {
            continue;
        }
        let node = visit.node;
        let fate = match array_state(node, pieces, limits) {
            Ok(None) => continue,
            Ok(Some(fate)) => fate,
            Err(error) => ArrayState::Lost(error.to_string()),
        };
        match &fate {
            ArrayState::Truncated { rows, .. } => {
                if let Some(first) = node.get("shape").and_then(|shape| shape.index(0)) {
                    edit.replace_node(first, &Value::from(*rows));
                }
                if node.get("mask").is_some_and(|mask| !mask.is_scalar()) {
                    edit.delete_key(node, "mask");
                    report.notes.push(format!("the mask of {} is left out: it has another shape now", walk.path()));
                }
            }
            ArrayState::Lost(_) => {
                let anchor = node.anchor().map_or(String::new(), |name| format!("&{name} "));
                edit.replace(node.full_span(), format!("{anchor}null"));
            }
        }
        report.arrays.push((walk.path().to_string(), fate));
        walk.skip_children();
    }
    let text = match edit.finish(limits) {
        Ok(tree) => tree.into_text(),
        Err(error) => {
            report.notes.push(format!("arrays that are not whole stay in the tree as they were: {error}"));
            tree.text().to_owned()
        }
    };
    Ok(text)
}

/// Returns the outcome for an array, or None if it is whole.
fn array_state(node: Node<'_>, pieces: &[blocks::RecoveredBlock], limits: &Limits) -> Result<Option<ArrayState>> {
    if ndarray::is_chunked(node) {
        // Each block keeps its number. Verifying the written file reports the chunks that are lost.
        return Ok(None);
    }
    let array = Ndarray::parse(node, limits)?;
    let ElementSource::Block(number) = array.origin else { return Ok(None) };
    let place = if number < 0 { number + pieces.len() as i64 } else { number };
    let piece = usize::try_from(place).ok().and_then(|place| pieces.get(place));
    let lost = |why: &str| Ok(Some(ArrayState::Lost(format!("block {number}: {why}"))));
    let Some(piece) = piece else { return lost("missing") };
    if let BlockState::Lost(why) = &piece.fate.fate {
        return lost(why);
    }
    let have = piece.uncompressed_len();
    let Err(error) = array.array_over(Arc::new(LengthOnly(have)), limits) else { return Ok(None) };
    let (Some(dims), None) = (&array.shape, &array.strides) else { return Err(error) };
    let rest: Option<Vec<u64>> =
        dims.iter().skip(1).map(|dim| if let ShapeDimension::Fixed(n) = dim { Some(*n) } else { None }).collect();
    let (Some(ShapeDimension::Fixed(of)), Some(rest)) = (dims.first(), rest) else { return Err(error) };
    let item = array.datatype.as_ref().map_or(1, Datatype::item_size);
    let row = element_count(&rest)?.checked_mul(item).filter(|row| *row > 0);
    let rows = row.map_or(0, |row| have.saturating_sub(array.offset) / row);
    if rows == 0 || rows >= *of { Err(error) } else { Ok(Some(ArrayState::Truncated { rows, total: *of })) }
}

/// Bytes of which only the number matters.
struct LengthOnly(u64);

impl Source for LengthOnly {
    fn len(&self) -> u64 {
        self.0
    }

    fn read_at(&self, offset: u64, _: &mut [u8]) -> Result<()> {
        Err(Error::invalid_input("these bytes are only counted").at_byte(offset))
    }

    fn name(&self) -> &'static str {
        "what is left"
    }
}

impl SalvagedFile {
    /// Rewrites the references of the tree, which `resolve` resolves, so that they are relative to `to`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`] for too many nodes, and the errors of the edit.
    pub fn moved_to(mut self, resolve: &dyn Resolve, to: &BaseUri, limits: &Limits) -> Result<Self> {
        if let Some(text) = &self.tree {
            let tree = Tree::parse(text.clone(), limits)?;
            let is_early = self.header.candidate_generations.first().is_some_and(|row| row.major_version == 0);
            if let Some(moved) = rebase_tree(&tree, || uris(&tree, limits), limits, is_early, resolve, to)? {
                self.tree = Some(moved.into_text());
            }
        }
        Ok(self)
    }

    /// Returns the list of what was found and lost.
    pub fn report(&self) -> &RepairReport {
        &self.report
    }

    /// Returns `true` if it is in a FITS file, which is written around it.
    pub fn is_in_fits(&self) -> bool {
        self.fits_container.is_some()
    }

    /// Writes the rest into a temporary file and verifies that, decoding every block. `resolve` opens the files
    /// that the tree refers to. Problems go into the report, which is complete from then on. Returns the written
    /// bytes.
    ///
    /// # Errors
    /// Returns the errors of [`SalvagedFile::write`], and [`ErrorKind::Limit`] if verifying would be too much.
    pub fn verified(&mut self, resolve: Arc<dyn Resolve>) -> Result<SourceRef> {
        let _call = self.limits.call();
        let written = spool_output("what is left", |out| self.write(out))?;
        let found = file::open_asdf_source(written.clone(), resolve, &self.limits);
        let verified = found.and_then(|file| verify::verify(&file, VerifyDepth::Decoded, Progress::default()));
        self.report.verify_problems = Some(match verified {
            Ok(report) => report.problems(),
            Err(error) if error.kind() == ErrorKind::Limit => return Err(error.context("verifying what is left")),
            Err(error) => vec![error.to_string()],
        });
        Ok(written)
    }

    /// Writes the readable parts, with a new index and new checksums. The other HDUs of a FITS file around it are copied.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if writing fails, and an error if a block cannot be read.
    pub fn write<W: Write + Seek>(&self, mut out: W) -> Result<()> {
        let Some(around) = &self.fits_container else { return self.write_without_container(out) };
        let mut asdf = std::io::Cursor::new(Vec::new());
        self.write_without_container(&mut asdf)?;
        around.write_with_asdf(asdf.into_inner(), &mut out)
    }

    fn write_without_container<W: Write + Seek>(&self, out: W) -> Result<()> {
        let mut writer = FileWriter::new(out, self.generation, WriteOptions::default());
        if let Some(first) = self.pieces.iter().find_map(|piece| piece.block.as_ref()) {
            writer.set_magic(is_as_documented(&*self.source, &self.header.candidate_generations, first.offset)?);
        }
        writer.header_of_bytes(&self.header.line, &self.header.raw_comments, self.tree.as_deref())?;
        for (number, piece) in self.pieces.iter().enumerate() {
            match (&piece.block, &piece.data) {
                (Some(block), None) if piece.fate.fate.is_kept() => {
                    let stored = block.stored_source(&self.source)?;
                    if number + 1 == self.pieces.len() {
                        writer.copy_last_block(&stored, block)?;
                    } else {
                        writer.copy(&stored, block)?;
                    }
                }
                (_, Some(data)) => {
                    // Without a checksum, because nothing proves that the readable part is right.
                    writer.mark_unverified(&**data)?;
                }
                // The number stays taken, so that later ones keep theirs.
                _ => {
                    writer.block(&MemorySource::new(Vec::new(), "nothing"), &BlockOptions::default())?;
                }
            }
        }
        writer.finish().map(drop)
    }
}
