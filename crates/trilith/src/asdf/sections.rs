//! Places of the sections of a file: header, tree, blocks, index. Opening reads nothing else.
//!
//! ASDF 1.x, "Low-level file layout". The block list comes from a verified index, or from skipping along the block
//! headers.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use super::block::{self, Block};
use super::block_magic::{first_block, is_as_documented, is_block, next_block};
use super::generation::{self, Generation};
use super::header::{self, Header, TreeExtent};
use super::index::{self, BlockIndex};
use crate::bytes::{AccessCost, ReadAhead, Source, SourceBacking, SourceRef, read_vec};
use crate::error::{Error, ErrorKind, Result, count_noun};
use crate::limits::Limits;

/// A file cut into its sections; blocks are looked at when they are asked for.
pub struct AsdfSections {
    source: SourceRef,
    header: Header,
    /// The rows that the blocks may have: those of the header line, or the one that the blocks tell.
    candidate_generations: Vec<&'static Generation>,
    tree: Option<TreeExtent>,
    first_block: Option<u64>,
    /// Offsets of the index. If each read is a request, it is fetched when a block is first needed.
    index_state: OnceLock<IndexState>,
    /// The problem with the chain of listed blocks, once it was followed.
    chain_flags: OnceLock<Option<String>>,
    scanned: OnceLock<HeaderScan>,
    /// Number of blocks that the tree names, if no index states how many there are. It is counted when it is asked for.
    needed_blocks: Option<BlockCount>,
    limits: Limits,
}

/// A number of blocks that is counted once.
type BlockCount = LazyLock<usize, Box<dyn FnOnce() -> usize + Send + Sync>>;

/// The block index, if there is one.
#[derive(Debug, Default)]
struct IndexState {
    index: Option<BlockIndex>,
    /// Offsets of a verified index, and the headers read so far.
    blocks: Vec<(u64, OnceLock<Block>)>,
    problem: Option<String>,
    /// The index names as many blocks as the tree needs: each is checked when it is read.
    trusted: bool,
    /// The reason why the end of the file could not be read, and nothing is known of the blocks.
    invalid_entries: Option<Error>,
}

impl IndexState {
    fn offset(&self) -> Option<u64> {
        self.index.as_ref().map(|index| index.offset)
    }
}

/// The way out of a file that is incomplete.
pub(super) const REPAIR_HINT: &str = "recover the rest with trilith repair FILE -o OUT";
/// Bytes that tell of a block if each read is a request: its header, and the first lengths after it.
const BLOCK_READ_AHEAD: u64 = 96;
/// Blocks of an index that are looked at together when a remote file is opened.
const PREFETCH_BLOCKS: usize = 128;

/// Results of skipping along the block headers.
#[derive(Debug, Default)]
struct HeaderScan {
    blocks: Vec<Block>,
    warnings: Vec<String>,
    /// Offset of an index that is not text.
    unreadable_index: Option<u64>,
    /// The reason why some blocks may not have been found, as an error of the kind at fault.
    incomplete_block: Option<Error>,
    /// Content after the end of the last section. It is unused space, but may be of use to another program.
    trailing_content: Option<String>,
    /// `true` if unused space with content was passed over: a damaged block looks the same.
    has_gaps: bool,
}

/// Content of unused space.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusedContent {
    /// Number of the block before the space, or None if it follows the tree.
    pub block: Option<usize>,
    /// Bytes of the file from the first to the last that is neither zero nor blank.
    pub range: Range<u64>,
}

impl std::fmt::Display for UnusedContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = count_noun((self.range.end - self.range.start) as usize, "byte");
        match self.block {
            None => write!(f, "{bytes} after the tree, from byte {} on", self.range.start),
            Some(block) => write!(f, "{bytes} after block {block}, from byte {} on", self.range.start),
        }
    }
}

/// A report on the block index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct IndexReport {
    /// `true` if there is one.
    pub present: bool,
    /// Result of the check; None if there is no index.
    pub valid: Option<bool>,
    /// The problem, if there is one.
    pub problem: Option<String>,
}

impl AsdfSections {
    /// Finds header, tree, first block and index.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] if this is not a file of the family, and
    /// [`ErrorKind::Limit`] if the tree is too long.
    pub fn read(source: SourceRef, limits: &Limits) -> Result<Self> {
        Self::read_as(source, None, limits)
    }

    /// Does the same as [`AsdfSections::read`], but reads block headers that fit several rows as those of `row`.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfSections::read`].
    pub(crate) fn read_as(source: SourceRef, row: Option<&'static Generation>, limits: &Limits) -> Result<Self> {
        Self::read_with_tree(source, row, limits).map(|(sections, _)| sections)
    }

    /// Does the same as [`AsdfSections::read_as`], and returns the bytes of the tree if they had to be read.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfSections::read`].
    pub(super) fn read_with_tree(
        source: SourceRef,
        row: Option<&'static Generation>,
        limits: &Limits,
    ) -> Result<(Self, Option<Vec<u8>>)> {
        let header = header::read_asdf_header(&*source, limits)?;
        let (tree, text) = header::find_tree(&*source, &header, limits)?.unzip();
        let from = tree.map_or(header.end, |tree| tree.end);
        let first_block = first_block(&source, &header.candidate_generations, from, limits)?;
        let told = first_block
            .filter(|_| header.candidate_generations.len() > 1)
            .and_then(|at| block::generation_of_magic(&*source, &header.candidate_generations, row, at));
        let rows = told.map_or_else(|| header.candidate_generations.clone(), |row| vec![row]);
        let (listed, chained, walked) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let limits = limits.clone();
        let sections = Self {
            source,
            header,
            candidate_generations: rows,
            tree,
            first_block,
            index_state: listed,
            chain_flags: chained,
            scanned: walked,
            needed_blocks: None,
            limits,
        };
        if sections.source.access().cost != AccessCost::Request {
            let _ = sections.index_state.set(sections.find_index()?);
        }
        Ok((sections, text.filter(|text| !text.is_empty())))
    }

    fn index_state(&self) -> &IndexState {
        self.index_state.get_or_init(|| {
            let without = |error: Error| IndexState { invalid_entries: Some(error), ..IndexState::default() };
            self.find_index().unwrap_or_else(without)
        })
    }

    /// Looks for the index at the end of the file.
    fn find_index(&self) -> Result<IndexState> {
        let mut listed = IndexState::default();
        // If the bytes come from front to back, the end is too far away for a hint.
        if !self.header.candidate_generations.iter().any(|row| row.index) || self.source.access().cost == AccessCost::Sequential {
            return Ok(listed);
        }
        let from = self.tree.map_or(self.header.end, |tree| tree.end);
        listed.index = index::find_backwards(&*self.source, self.first_block.unwrap_or(from), &self.limits)?;
        match self.first_block {
            Some(first) => self.accept_index(first, &mut listed)?,
            None if listed.index.is_some() => listed.problem = Some("the file has no blocks".to_owned()),
            None => {}
        }
        self.skip_index_search(&mut listed);
        // If a remote file has many blocks, they are not all looked at when the file is opened.
        let many = listed.blocks.len() > PREFETCH_BLOCKS && self.source.access().cost == AccessCost::Request;
        listed.trusted = many && self.needed_blocks.as_deref() == Some(&listed.blocks.len());
        Ok(listed)
    }

    /// Drops an index within a streamed block, because it is data of that block, unless it lists this very file.
    fn skip_index_search(&self, listed: &mut IndexState) {
        if listed.problem.is_none() {
            return;
        }
        let first = self.first_block;
        let lists_this = |index: &BlockIndex| index.entries.as_ref().is_ok_and(|entries| entries.first().copied() == first);
        let walk = self.walk_to(listed.index.as_ref());
        let last = walk.blocks.last().filter(|block| block.is_streamed()).map(|block| block.data_offset);
        if let (Some(from), Some(index)) = (last, &listed.index)
            && index.offset >= from
            && !lists_this(index)
        {
            (listed.index, listed.problem) = (None, None);
        }
    }

    /// Takes the index for true when its text, its first and its last entry are right.
    fn accept_index(&self, first: u64, listed: &mut IndexState) -> Result<()> {
        let Some(found) = &listed.index else { return Ok(()) };
        let checked = found.check(first);
        if let Some(entries) = checked.as_ref().ok().filter(|entries| entries.len() <= PREFETCH_BLOCKS) {
            self.prefetch_headers(entries)?;
        }
        let accepted = checked.and_then(|entries| {
            let last = *entries.last().unwrap_or(&first);
            let block = block::read_block_header(&*self.source, &self.candidate_generations, last, entries.len() - 1)
                .map_err(|e| e.to_string())?;
            if block.is_streamed() {
                return Err("a streamed block and an index exclude each other".to_owned());
            }
            match block.end() {
                Some(end) if end == found.offset => Ok(entries.to_vec()),
                end => Err(format!(
                    "the last block ends at byte {}, the index begins at {}",
                    end.map_or("(overflow)".to_owned(), |end| end.to_string()),
                    found.offset
                )),
            }
        });
        match accepted {
            Ok(entries) => listed.blocks = entries.into_iter().map(|offset| (offset, OnceLock::new())).collect(),
            Err(problem) => listed.problem = Some(problem),
        }
        Ok(())
    }

    /// Announces to a remote source that the headers at these places will be read.
    fn prefetch_headers(&self, places: &[u64]) -> Result<()> {
        if self.source.access().cost != AccessCost::Request {
            return Ok(());
        }
        let ranges: Vec<_> = places.iter().map(|at| *at..at.saturating_add(BLOCK_READ_AHEAD)).collect();
        self.source.prefetch(&ranges)
    }

    /// Sets the number of blocks that the tree needs. If a remote file has many blocks, an index with exactly that
    /// number is trusted without a look at each block.
    pub(super) fn set_needed_blocks(&mut self, needed: impl FnOnce() -> usize + Send + Sync + 'static) {
        let is_told = self.index_state.get().is_some_and(|listed| !listed.blocks.is_empty());
        if !is_told && self.first_block.is_some() && self.candidate_generations.iter().any(|row| row.index) {
            self.needed_blocks = Some(LazyLock::new(Box::new(needed)));
        }
    }

    /// A block of an index that is believed, if it ends where the next one is listed.
    fn trusted_block(&self, number: i64) -> Option<&Block> {
        let listed = self.index_state();
        let place = usize::try_from(number).ok().filter(|_| listed.trusted)?;
        let block = self.indexed_block(place).ok()?;
        let next = listed.blocks.get(place + 1).map(|(next, _)| *next).or(listed.offset());
        (!block.is_streamed() && block.end() == next).then_some(block)
    }

    /// The bytes of the whole file.
    pub fn source(&self) -> &SourceRef {
        &self.source
    }

    /// Header line and comments.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the extent of the tree, if there is one.
    pub fn tree(&self) -> Option<TreeExtent> {
        self.tree
    }

    /// Returns the offset of the block index, right or wrong, or None if there is none.
    pub fn index_offset(&self) -> Option<u64> {
        self.index_state().offset()
    }

    /// Returns the byte that fills the space between the tree and the first block: a space if it is all spaces.
    ///
    /// # Errors
    /// Returns the errors of [`Source::read_at`].
    pub fn filling(&self) -> Result<u8> {
        let (padding, other) = (self.padding(), self.is_padding(b" ")?);
        Ok(if padding > 0 && other.is_none() { b' ' } else { 0 })
    }

    /// The first byte between the tree and the first block that is none of these.
    fn is_padding(&self, blanks: &[u8]) -> Result<Option<u64>> {
        let from = self.tree.map_or(0, |tree| tree.end);
        find_content(&self.source, from, from + self.padding(), blanks, &Limits::default())
    }

    /// Returns `true` if the first block has the magic number of its document, which no program wrote.
    ///
    /// # Errors
    /// Returns the errors of [`Source::read_at`].
    pub(crate) fn is_as_documented(&self) -> Result<bool> {
        self.first_block.map_or(Ok(false), |at| is_as_documented(&*self.source, &self.candidate_generations, at))
    }

    /// Returns the first byte of content in the unused space after the tree, if there is any.
    ///
    /// # Errors
    /// Returns the errors of [`Source::read_at`].
    pub(super) fn content_after_tree(&self) -> Result<Option<u64>> {
        self.is_padding(BLANK_BYTES)
    }

    /// Returns the unused space that holds anything but zeros and blanks: after the tree and between blocks it may hold any
    /// content (ASDF 1.x, "Tree" and "Block index").
    ///
    /// # Errors
    /// Returns the errors of [`AsdfSections::blocks`] and [`Source::read_at`].
    #[doc(hidden)]
    pub fn unused_content(&self) -> Result<Vec<UnusedContent>> {
        let mut found = Vec::new();
        let tree_space = self.tree.and_then(|tree| Some((None, tree.end..self.first_block?)));
        let blocks = self.blocks()?;
        let spaces = blocks.windows(2).filter_map(|pair| match pair {
            [block, next] => Some((Some(block.index), block.end()?..next.offset)),
            _ => None,
        });
        for (block, space) in tree_space.into_iter().chain(spaces) {
            let limits = Limits::default();
            let Some(start) = find_content(&self.source, space.start, space.end, BLANK_BYTES, &limits)? else { continue };
            let end = find_content_end(&self.source, start, space.end, &limits)?;
            found.push(UnusedContent { block, range: start..end });
        }
        Ok(found)
    }

    /// Returns the notes for a command that copies the file: the content of unused space that a new file leaves out, and signs of
    /// content that is missing.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfSections::unused_content`].
    #[doc(hidden)]
    pub fn copy_notes(&self, keeps_unused: bool) -> Result<Vec<String>> {
        let omission = if keeps_unused { None } else { self.omission_note()? };
        Ok(omission.into_iter().chain(self.missing_note()?).collect())
    }

    /// Returns a note on content that is probably missing from the file, or None if there is no sign of that.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfSections::blocks`].
    #[doc(hidden)]
    pub fn missing_note(&self) -> Result<Option<String>> {
        let missing = match self.tree {
            None if self.blocks()?.is_empty() => Some("the file has neither a tree nor blocks: it may be truncated"),
            Some(tree) if !tree.has_end_marker => {
                Some("the tree has no end marker (...): something may be missing before its first block")
            }
            _ => None,
        };
        Ok(missing.map(str::to_owned))
    }

    /// Returns a note on the content of unused space, which a new file leaves out, or None if there is none.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfSections::unused_content`].
    #[doc(hidden)]
    pub fn omission_note(&self) -> Result<Option<String>> {
        let found = self.unused_content()?;
        let parts: Vec<String> = found.iter().map(ToString::to_string).collect();
        Ok((!parts.is_empty()).then(|| format!("the content of unused space is left out: {}", parts.join("; "))))
    }

    /// First byte of the first block, if there is one.
    pub fn first_block(&self) -> Option<u64> {
        self.first_block
    }

    /// Unused bytes between the tree and the first block.
    pub fn padding(&self) -> u64 {
        match (self.tree, self.first_block) {
            (Some(tree), Some(first)) => first - tree.end,
            _ => 0,
        }
    }

    /// Every block, in order.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] if the first block cannot be read.
    pub fn blocks(&self) -> Result<Vec<&Block>> {
        if self.is_chained() {
            let all: Option<Vec<&Block>> = (0..self.index_state().blocks.len()).map(|i| self.indexed_block(i).ok()).collect();
            if let Some(all) = all {
                return Ok(all);
            }
        }
        let walk = self.scan();
        match &walk.incomplete_block {
            // A failure of the disk or the server is not a fault of the blocks.
            Some(error) if error.kind() != ErrorKind::Malformed => Err(error.copy()),
            _ => Ok(walk.blocks.iter().collect()),
        }
    }

    /// Returns every block, in order, if it is certain that there are no others. Use it to rewrite the file.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfSections::blocks`], and [`ErrorKind::Malformed`] if
    /// blocks may be missing.
    pub fn all_blocks(&self) -> Result<Vec<&Block>> {
        let found = self.blocks()?;
        let behind = self.trailing_content().map(|message| Error::malformed(message.to_owned()));
        match self.incomplete().or(behind) {
            Some(error) => Err(error.context("rewriting the file would lose it").hint(REPAIR_HINT)),
            None => Ok(found),
        }
    }

    /// Returns every block, as [`AsdfSections::all_blocks`] does, for a copy of the whole file.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfSections::all_blocks`], and [`ErrorKind::Malformed`] if neither the end of the tree nor a block is
    /// there: the copy would no longer show that the file may be truncated. An edit keeps the text as it is.
    pub(crate) fn blocks_to_copy(&self) -> Result<Vec<&Block>> {
        let found = self.all_blocks()?;
        match self.truncated_tree().filter(|_| self.first_block.is_none()) {
            Some(error) => Err(error.context("cannot copy the file").hint(REPAIR_HINT)),
            None => Ok(found),
        }
    }

    /// Returns an error if the tree has no end marker.
    pub(crate) fn truncated_tree(&self) -> Option<Error> {
        let tree = self.tree.filter(|tree| !tree.has_end_marker)?;
        Some(Error::malformed("the tree has no end (...): the file may be truncated").at_byte(tree.end))
    }

    /// Returns the reason why there may be blocks besides those of [`AsdfSections::blocks`], or None if it is certain
    /// that there are none.
    pub fn incomplete(&self) -> Option<Error> {
        let error = self.scanned.get().and_then(|walk| walk.incomplete_block.as_ref())?;
        (!self.is_chained()).then(|| error.copy())
    }

    /// Returns foreign content after the last section of the file, or before its first block.
    fn trailing_content(&self) -> Option<&str> {
        let behind = self.scanned.get()?.trailing_content.as_deref();
        behind.filter(|_| !self.is_chained())
    }

    /// Block number `number`; a negative number counts from the end, as a streamed source does.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] if there is no such block.
    pub fn block(&self, number: i64) -> Result<&Block> {
        if let Some(block) = self.trusted_block(number) {
            return Ok(block);
        }
        if self.is_chained() {
            let count = self.index_state().blocks.len();
            let place = usize::try_from(if number < 0 { count as i64 + number } else { number }).ok();
            if let Some(place) = place.filter(|place| *place < count) {
                return self.indexed_block(place);
            }
        }
        let walk = self.scan();
        let count = walk.blocks.len();
        let position = if number < 0 { count as i64 + number } else { number };
        usize::try_from(position).ok().and_then(|i| walk.blocks.get(i)).ok_or_else(|| {
            if let Some(error) = walk.incomplete_block.as_ref().filter(|error| error.kind() != ErrorKind::Malformed) {
                return error.copy();
            }
            let mut error = Error::malformed(format!("there is no block {number}: the file has {count}"));
            if let Some(last) = walk.warnings.last() {
                error = error.context(last.clone()).hint("trilith repair FILE -o OUT recovers what is left");
            }
            error
        })
    }

    /// The block that an accepted index names.
    fn indexed_block(&self, place: usize) -> Result<&Block> {
        self.indexed_block_in(&*self.source, place)
    }

    fn indexed_block_in(&self, source: &dyn Source, place: usize) -> Result<&Block> {
        let gone = || Error::malformed(format!("there is no block {place} in the index"));
        let (offset, cell) = self.index_state().blocks.get(place).ok_or_else(gone)?;
        if cell.get().is_none() {
            let block = block::read_block_header(source, &self.candidate_generations, *offset, place)?;
            let _ = cell.set(block);
        }
        cell.get().ok_or_else(gone)
    }

    /// Returns `true` if there is an index that every block bears out.
    fn is_chained(&self) -> bool {
        !self.index_state().blocks.is_empty() && self.chain_flags.get_or_init(|| self.broken_link()).is_none()
    }

    /// Returns the first entry of the index that contradicts the blocks: each block ends at the next entry.
    ///
    /// If the two disagree, the index is wrong if another block begins at the end of the block. Otherwise the
    /// block's header is damaged, and the index leads past it.
    fn broken_link(&self) -> Option<String> {
        let listed = self.index_state();
        let places: Vec<u64> = listed.blocks.iter().map(|(at, _)| *at).collect();
        if let Err(error) = self.prefetch_headers(&places) {
            return Some(error.to_string());
        }
        let nearby = ReadAhead::new(self.source.clone());
        for place in 0..listed.blocks.len() {
            let next = listed.blocks.get(place + 1).map(|(next, _)| *next).or(listed.offset());
            let (Ok(block), Some(next)) = (self.indexed_block_in(&nearby, place), next) else { continue };
            if block.is_streamed() {
                return Some(format!("its entry {place} is a streamed block, which must be the last"));
            }
            let end = block.end();
            if end != Some(next) && (self.is_block(end) || !self.is_block(Some(next))) {
                let end = end.map_or("beyond all files".to_owned(), |end| format!("at byte {end}"));
                return Some(format!("block {place} ends {end}, but the next entry of the index is byte {next}"));
            }
        }
        None
    }

    fn is_block(&self, at: Option<u64>) -> bool {
        is_block(&*self.source, at)
    }

    /// Returns a report on the index, after looking at every block.
    pub fn index_report(&self) -> IndexReport {
        let listed = self.index_state();
        if listed.index.is_none() {
            return match self.scan().unreadable_index {
                Some(at) => {
                    let has_index = self.candidate_generations.iter().any(|row| row.index);
                    let problem = match has_index {
                        true => format!("the bytes at {at} are not text"),
                        false => format!("a block index at byte {at}, which files of this generation do not have"),
                    };
                    IndexReport { present: true, valid: Some(false), problem: Some(problem) }
                }
                None => IndexReport::default(),
            };
        }
        let problem = listed.problem.clone().or_else(|| self.chain_flags.get_or_init(|| self.broken_link()).clone());
        let problem = problem.or_else(|| {
            let place = (0..listed.blocks.len()).find(|place| self.indexed_block(*place).is_err())?;
            Some(format!("its entry {place} (byte {}) is not a readable block", listed.blocks.get(place)?.0))
        });
        IndexReport { present: true, valid: Some(problem.is_none()), problem }
    }

    /// Returns problems of the file that do not stop reading it. Nothing is fetched for them: if each read is a request and no
    /// block was needed, nothing is known of the blocks.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.source.backing().and_then(SourceBacking::notice).into_iter().collect();
        if self.index_state.get().is_none() {
            return warnings;
        }
        if let Some(problem) = self.index_report().problem {
            let fate = if self.is_chained() { "is wrong" } else { "is ignored" };
            warnings.push(format!("the block index {fate}: {problem}"));
        }
        warnings.extend(self.trailing_content().map(str::to_owned));
        if let Some(walk) = self.scanned.get() {
            warnings.extend(walk.warnings.iter().cloned());
        }
        warnings
    }

    /// The name of the generation: that of the first block's header, or of the header line alone.
    pub fn generation_name(&self) -> &'static str {
        let Some(first) = self.block(0).ok() else {
            return self.header.candidate_generations.first().map_or("", |g| g.plain_name);
        };
        let has_codes = |block: &&Block| block.encoding_codes != [0; 16];
        if first.generation.name == "asdf-0.1-hs44" && self.blocks().is_ok_and(|all| all.iter().any(has_codes)) {
            return generation::CODES_NAME;
        }
        first.generation.name
    }

    /// The row of the table that describes the file: that of its first block, or else the newest of its header line.
    pub fn generation(&self) -> Option<&'static Generation> {
        // The list of all blocks is not made for this.
        let first =
            self.first_block.and_then(|at| block::read_block_header(&*self.source, &self.candidate_generations, at, 0).ok());
        first.map(|block| block.generation).or_else(|| self.header.candidate_generations.last().copied())
    }

    fn scan(&self) -> &HeaderScan {
        let listed = self.index_state();
        match &listed.invalid_entries {
            Some(error) => {
                self.scanned.get_or_init(|| HeaderScan { incomplete_block: Some(error.copy()), ..HeaderScan::default() })
            }
            None => self.walk_to(listed.index.as_ref()),
        }
    }

    /// The blocks up to an index.
    fn walk_to(&self, index: Option<&BlockIndex>) -> &HeaderScan {
        self.scanned.get_or_init(|| {
            let mut walk = HeaderScan::default();
            if let Err(error) = self.scan_sizes(&mut walk, index) {
                walk.warnings.push(error.to_string());
                walk.incomplete_block = Some(error);
            }
            self.check_gaps(&mut walk, index);
            walk
        })
    }

    /// Goes from block to block by their allocated sizes.
    fn scan_sizes(&self, walk: &mut HeaderScan, index: Option<&BlockIndex>) -> Result<()> {
        let (size, limits) = (self.source.len(), Limits::default());
        let index_at = index.map(|index| index.offset);
        let mut rows = self.candidate_generations.clone();
        let nearby = ReadAhead::new(self.source.clone());
        let mut next = self.first_block;
        let from = self.tree.map_or(self.header.end, |tree| tree.end);
        match next {
            None => return self.note_trailing(walk, index, from, "the tree"),
            Some(first) => self.note_between(walk, from, first)?,
        }
        let mut stride = BlockStride::default();
        while let Some(at) = next {
            if let Some(places) = stride.predict_offsets(at, size) {
                self.prefetch_headers(&places)?;
            }
            let block = block::read_block_header(&nearby, &rows, at, walk.blocks.len())?;
            if rows.len() > 1 {
                rows = vec![block.generation];
            }
            let (end, streamed) = (block.end(), block.is_streamed());
            walk.blocks.push(block);
            if streamed {
                return Ok(());
            }
            let Some(end) = end.filter(|end| *end <= size) else {
                let message = format!("block {} reaches beyond the end of the file", walk.blocks.len() - 1);
                // The size of the block may be wrong. If it is, more blocks may follow.
                let behind = walk.blocks.last().and_then(|block| block.data_offset.checked_add(block.used));
                let behind = behind.filter(|behind| *behind <= size).unwrap_or(at + 4);
                if next_block(&self.source, &rows, behind, &limits)?.is_some() {
                    walk.incomplete_block = Some(Error::malformed(message.clone()));
                }
                walk.warnings.push(message + ": it is truncated, or the size is wrong");
                return Ok(());
            };
            if end == size {
                return Ok(());
            }
            if Some(end) == index_at {
                return self.note_trailing(walk, index, end, "the last block");
            }
            let until = index_at.filter(|at| *at > end).unwrap_or(size);
            if is_block(&nearby, Some(end)) {
                next = Some(end);
                continue;
            }
            if starts_index(&self.source, end)? {
                walk.unreadable_index = index.is_none().then_some(end);
                return self.note_trailing(walk, index, end, "the last block");
            }
            next = None;
            match find_content(&self.source, end, until, b"\0 ", &limits)? {
                None => {}
                Some(at) if self.is_block(Some(at)) => {
                    walk.warnings.push(format!("{} unused bytes between blocks, from byte {end} on", at - end));
                    next = Some(at);
                }
                Some(at) => match self.after_gap(walk, end, until)? {
                    Some(found) => {
                        self.note_between(walk, end, found)?;
                        walk.warnings.push(format!("{} unused bytes between blocks, from byte {end} on", found - end));
                        walk.has_gaps = true;
                        next = Some(found);
                    }
                    None => note_damage(walk, at),
                },
            }
        }
        Ok(())
    }

    /// Notes that unused space may be what is left of a block, so that those after it would go by wrong numbers: index or
    /// tree name more blocks than there are.
    fn check_gaps(&self, walk: &mut HeaderScan, index: Option<&BlockIndex>) {
        let listed = index.and_then(|index| index.entries.as_ref().ok()).map_or(0, Vec::len);
        let is_short = || listed.max(self.needed_blocks.as_deref().copied().unwrap_or(0)) > walk.blocks.len();
        let gap = walk.blocks.windows(2).find_map(|pair| match pair {
            [block, next] => block.end().filter(|end| *end < next.offset),
            _ => None,
        });
        if let Some(end) = gap.filter(|_| walk.has_gaps && is_short()) {
            note_damage(walk, end);
        }
    }

    /// Returns the start of the next block after unused space from `end` on. In a file that may have a block index,
    /// that space may hold anything (ASDF 1.x, "Block index": "the spec allows for extra unallocated space after
    /// the tree and between blocks"). Returns None if the bytes there look like the rest of a block.
    fn after_gap(&self, walk: &HeaderScan, end: u64, until: u64) -> Result<Option<u64>> {
        let limits = Limits::default();
        let Some(before) = walk.blocks.last().filter(|block| block.generation.index && block.used <= block.allocated) else {
            return Ok(None);
        };
        if block::is_header_without_mark(&*self.source, before.generation, end) {
            return Ok(None);
        }
        let rows = [before.generation];
        let sound = |at: u64| {
            block::read_block_header(&*self.source, &rows, at, 0).ok().filter(|block| block::is_sound(block, &*self.source))
        };
        // A block across the end of this one: the allocated size of this one is wrong.
        let mut at = before.data_offset.saturating_add(before.used);
        while let Some(mark) = next_block(&self.source, &rows, at, &limits)?.filter(|mark| *mark < until) {
            if let Some(found) = sound(mark) {
                match mark < end {
                    true if found.end().is_some_and(|to| to > end) => return Ok(None),
                    true => {}
                    false => return Ok(Some(mark)),
                }
            }
            at = mark + 1;
        }
        Ok(None)
    }

    /// Notes another file that begins before a block: the block may be that one's. Anything else there is unused space.
    fn note_between(&self, walk: &mut HeaderScan, from: u64, first: u64) -> Result<()> {
        let limits = Limits::default();
        let Some(at) = find_content(&self.source, from, first, BLANK_BYTES, &limits)? else { return Ok(()) };
        let start = read_vec(&*self.source, at, (first - at).min(16), &limits)?;
        if header::is_asdf(&start) && !starts_index(&self.source, at)? {
            let block = walk.blocks.len();
            walk.trailing_content = Some(format!("another file begins at byte {at}, before block {block}"));
        }
        Ok(())
    }

    /// Notes content from a byte on in a place for the index alone. It is not a part of the file, but a rewrite must
    /// not drop it.
    fn note_trailing(&self, walk: &mut HeaderScan, index: Option<&BlockIndex>, from: u64, what: &str) -> Result<()> {
        let limits = Limits::default();
        let found = match find_content(&self.source, from, self.source.len(), BLANK_BYTES, &limits)? {
            Some(at) if index.is_some_and(|index| index.offset == at) || starts_index(&self.source, at)? => {
                match index::find_index_end(&*self.source, at, &limits)? {
                    Some(end) => find_content(&self.source, end, self.source.len(), BLANK_BYTES, &limits)?
                        .map(|at| (at, "the block index")),
                    // A truncated or damaged index: only blocks after it count.
                    None => next_block(&self.source, &self.header.candidate_generations, at + 1, &limits)?
                        .map(|at| (at, "the block index")),
                }
            }
            found => found.map(|at| (at, what)),
        };
        if let Some((at, what)) = found {
            let bytes = self.source.len() - at;
            walk.trailing_content = Some(format!("{bytes} bytes after {what}, from byte {at} on, do not belong to the file"));
        }
        Ok(())
    }
}

fn note_damage(walk: &mut HeaderScan, at: u64) {
    let message = format!("byte {at}: found neither a block nor a block index; the file may be damaged");
    walk.incomplete_block = Some(Error::malformed(message.clone()));
    walk.warnings.push(message);
}

/// Blocks of one size follow each other: where the next ones will be, so that they are asked for together.
#[derive(Debug, Default)]
struct BlockStride {
    last: Option<u64>,
    step: u64,
    /// Number of further places that are already known.
    remaining: usize,
    guessed: usize,
}

impl BlockStride {
    /// The places of the coming blocks, when one at `at` is read that confirms the step.
    fn predict_offsets(&mut self, at: u64, size: u64) -> Option<Vec<u64>> {
        let step = self.last.replace(at).map_or(0, |last| at - last);
        if step == 0 || step != self.step {
            (self.step, self.remaining, self.guessed) = (step, 0, 0);
            return None;
        }
        if self.remaining > 0 {
            self.remaining -= 1;
            return None;
        }
        self.guessed = (self.guessed * 8).clamp(8, 4096);
        let places: Vec<u64> =
            (0..self.guessed as u64).map_while(|n| at.checked_add(n * step)).take_while(|at| *at < size).collect();
        self.remaining = places.len().saturating_sub(1);
        Some(places)
    }
}

/// Returns `true` if an index begins at a byte.
fn starts_index(source: &SourceRef, at: u64) -> Result<bool> {
    let mut header = [0; index::INDEX_HEADER.len()];
    let len = source.len().saturating_sub(at).min(header.len() as u64) as usize;
    source.read_at(at, &mut header[..len])?;
    Ok(header == index::INDEX_HEADER)
}

/// Bytes that count as blank.
const BLANK_BYTES: &[u8] = b"\0 \t\r\n";

/// The end of the last byte of a range that is not a blank; `from` is the first one.
fn find_content_end(source: &SourceRef, from: u64, to: u64, limits: &Limits) -> Result<u64> {
    let mut end = to;
    while end > from {
        let start = end.saturating_sub(1 << 20).max(from);
        let bytes = read_vec(&**source, start, end - start, limits)?;
        if let Some(place) = bytes.iter().rposition(|byte| !BLANK_BYTES.contains(byte)) {
            return Ok(start + place as u64 + 1);
        }
        end = start;
    }
    Ok(from)
}

/// The first byte of the range that is not a blank.
pub(crate) fn find_content(source: &SourceRef, from: u64, to: u64, blanks: &[u8], limits: &Limits) -> Result<Option<u64>> {
    let mut at = from;
    while at < to {
        let bytes = read_vec(&**source, at, (to - at).min(1 << 20), limits)?;
        if let Some(place) = bytes.iter().position(|b| !blanks.contains(b)) {
            return Ok(Some(at + place as u64));
        }
        at += bytes.len() as u64;
    }
    Ok(None)
}
