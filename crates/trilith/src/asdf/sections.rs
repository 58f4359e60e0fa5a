//! Where everything lies in a file: header, tree, blocks, index. Opening reads nothing else.
//!
//! ASDF 1.x, "Low-level file layout"; the block list comes from a verified index, or from skipping
//! along the block headers.

use std::sync::OnceLock;

use memchr::memmem;

use super::block::{self, Block};
use super::generation::{self, Generation};
use super::header::{self, Header, TreeExtent};
use super::index::{self, BlockIndex};
use crate::bytes::{SourceRef, read_vec};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// A file cut into its sections; blocks are looked at when they are asked for.
pub struct Sections {
    source: SourceRef,
    header: Header,
    tree: Option<TreeExtent>,
    first_block: Option<u64>,
    index: Option<BlockIndex>,
    /// Offsets of a verified index, and the headers read so far.
    indexed: Vec<(u64, OnceLock<Block>)>,
    walked: OnceLock<Walk>,
    problem: Option<String>,
}

/// What skipping along the block headers found.
#[derive(Debug, Default)]
struct Walk {
    blocks: Vec<Block>,
    warnings: Vec<String>,
}

/// What there is to say about the block index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexReport {
    /// Whether there is one.
    pub present: bool,
    /// Whether it is right; None where there is none.
    pub valid: Option<bool>,
    /// What is wrong with it.
    pub problem: Option<String>,
}

impl Sections {
    /// Finds header, tree, first block and index.
    ///
    /// # Errors
    /// [`Kind::Malformed`](crate::Kind::Malformed) when this is no file of the family,
    /// [`Kind::Limit`](crate::Kind::Limit) when the tree is too long.
    pub fn read(source: SourceRef, limits: &Limits) -> Result<Self> {
        let header = header::read(&*source, limits)?;
        let tree = header::find_tree(&*source, &header, limits)?;
        let from = tree.map_or(header.end, |tree| tree.end);
        let first_block = find_magic(&source, &header.rows, from, source.len(), limits)?;
        let mut sections =
            Self { source, header, tree, first_block, index: None, indexed: Vec::new(), walked: OnceLock::new(), problem: None };
        if let Some(first) = first_block {
            sections.index = index::find(&*sections.source, first, limits)?;
            sections.accept_index(first);
        }
        Ok(sections)
    }

    /// Takes the index for true when its text, its first and its last entry are right.
    fn accept_index(&mut self, first: u64) {
        let Some(found) = &self.index else { return };
        let accepted = found.check(first).and_then(|entries| {
            let last = *entries.last().unwrap_or(&first);
            let block = block::read(&*self.source, &self.header.rows, last, entries.len() - 1).map_err(|e| e.to_string())?;
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
            Ok(entries) => self.indexed = entries.into_iter().map(|offset| (offset, OnceLock::new())).collect(),
            Err(problem) => self.problem = Some(problem),
        }
    }

    /// The bytes of the whole file.
    pub fn source(&self) -> &SourceRef {
        &self.source
    }

    /// Header line and comments.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where the tree lies, if there is one.
    pub fn tree(&self) -> Option<TreeExtent> {
        self.tree
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
    /// [`Kind::Malformed`](crate::Kind::Malformed) when the first block cannot be read.
    pub fn blocks(&self) -> Result<Vec<&Block>> {
        if !self.indexed.is_empty() && self.walked.get().is_none() {
            let all: Option<Vec<&Block>> = (0..self.indexed.len()).map(|i| self.indexed_block(i)).collect();
            if let Some(all) = all {
                return Ok(all);
            }
        }
        Ok(self.walk().blocks.iter().collect())
    }

    /// Block number `number`; a negative number counts from the end, as a streamed source does.
    ///
    /// # Errors
    /// [`Kind::Malformed`](crate::Kind::Malformed) when there is no such block.
    pub fn block(&self, number: i64) -> Result<&Block> {
        if number >= 0
            && self.walked.get().is_none()
            && let Some(block) = usize::try_from(number).ok().and_then(|i| self.indexed_block(i))
        {
            return Ok(block);
        }
        let walk = self.walk();
        let count = walk.blocks.len();
        let position = if number < 0 { count as i64 + number } else { number };
        usize::try_from(position).ok().and_then(|i| walk.blocks.get(i)).ok_or_else(|| {
            let mut error = Error::malformed(format!("there is no block {number}: the file has {count}"));
            if let Some(last) = walk.warnings.last() {
                error = error.context(last.clone());
            }
            error
        })
    }

    /// The block that a verified index names, if it is where the index says and ends before the next.
    fn indexed_block(&self, i: usize) -> Option<&Block> {
        let (offset, cell) = self.indexed.get(i)?;
        if cell.get().is_none() {
            let block = block::read(&*self.source, &self.header.rows, *offset, i).ok()?;
            let next = self.indexed.get(i + 1).map_or_else(|| self.index.as_ref().map(|x| x.offset), |(next, _)| Some(*next));
            if block.is_streamed() || block.end()? > next? {
                return None;
            }
            let _ = cell.set(block);
        }
        cell.get()
    }

    /// What there is to say about the index, after looking at every block.
    pub fn index_report(&self) -> IndexReport {
        if self.index.is_none() {
            return IndexReport::default();
        }
        let problem = self.problem.clone().or_else(|| {
            let wrong = (0..self.indexed.len()).find(|&i| self.indexed_block(i).is_none())?;
            Some(format!("its entry {} (byte {}) is not the block it should be", wrong, self.indexed[wrong].0))
        });
        let problem = problem.or_else(|| {
            // Blocks that the index leaves out show by skipping along.
            let (listed, there) = (self.indexed.len(), self.walk().blocks.len());
            (listed < there).then(|| format!("it lists {listed} blocks, but there are {there}"))
        });
        IndexReport { present: true, valid: Some(problem.is_none()), problem }
    }

    /// What is odd about the file but does not stop reading it.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(problem) = self.index_report().problem {
            warnings.push(format!("the block index is ignored: {problem}"));
        }
        if let Some(walk) = self.walked.get() {
            warnings.extend(walk.warnings.iter().cloned());
        }
        warnings
    }

    /// The name of the generation: that of the first block's header, or of the header line alone.
    pub fn generation_name(&self) -> &'static str {
        let Some(first) = self.block(0).ok() else {
            return self.header.rows.first().map_or("", |g| g.plain_name);
        };
        let has_codes = |block: &&Block| block.codes != [0; 16];
        if first.generation.name == "asdf-0.1-hs44" && self.blocks().is_ok_and(|all| all.iter().any(has_codes)) {
            return generation::CODES_NAME;
        }
        first.generation.name
    }

    /// The row of the table that describes the file: that of its first block, or else the newest of its header line.
    pub fn generation(&self) -> Option<&'static Generation> {
        self.block(0).ok().map(|b| b.generation).or_else(|| self.header.rows.last().copied())
    }

    fn walk(&self) -> &Walk {
        self.walked.get_or_init(|| {
            let mut walk = Walk::default();
            if let Err(error) = self.skip_along(&mut walk) {
                walk.warnings.push(error.to_string());
            }
            walk
        })
    }

    /// Goes from block to block by their allocated sizes.
    fn skip_along(&self, walk: &mut Walk) -> Result<()> {
        let (size, limits) = (self.source.len(), Limits::default());
        let index_at = self.index.as_ref().map(|index| index.offset);
        let mut rows = self.header.rows.clone();
        let mut next = self.first_block;
        while let Some(at) = next {
            let block = block::read(&*self.source, &rows, at, walk.blocks.len())?;
            rows = vec![block.generation];
            let (end, streamed) = (block.end(), block.is_streamed());
            walk.blocks.push(block);
            if streamed {
                return Ok(());
            }
            let Some(end) = end.filter(|end| *end <= size) else {
                walk.warnings.push(format!("block {} reaches beyond the end of the file", walk.blocks.len() - 1));
                return Ok(());
            };
            if end == size || Some(end) == index_at {
                return Ok(());
            }
            next = find_magic(&self.source, &rows, end, size, &limits)?;
            if next == Some(end) {
                continue;
            }
            match next {
                Some(found) => walk.warnings.push(format!("{} unused bytes between blocks, from byte {end} on", found - end)),
                None if index_at.is_some_and(|at| at > end) || is_zero(&self.source, end, index_at.unwrap_or(size), &limits)? => {
                }
                None => walk.warnings.push(format!("byte {end}: neither block nor block index; the file may be damaged")),
            }
        }
        Ok(())
    }
}

/// The first block mark between `from` and `to` that one of `rows` writes.
fn find_magic(source: &SourceRef, rows: &[&'static Generation], from: u64, to: u64, limits: &Limits) -> Result<Option<u64>> {
    let drafts = rows.iter().any(|row| row.magic.len() == 8);
    let mut at = from;
    let mut step = 64;
    while at < to {
        // Eight more bytes, so that a mark across two reads is seen.
        let bytes = read_vec(&**source, at, (to - at).min(step + 8), limits)?;
        let is_mark = |pos: &usize| {
            let rest = &bytes[*pos..];
            block::magic_len(rest).is_some_and(|len| len == 4 || drafts)
        };
        let short = memmem::find_iter(&bytes, b"BLK").filter_map(|p| p.checked_sub(1)).find(is_mark);
        let long = drafts.then(|| memmem::find_iter(&bytes, b"BFF\r\n").filter_map(|p| p.checked_sub(1)).find(is_mark)).flatten();
        if let Some(pos) = short.into_iter().chain(long).min() {
            return Ok(Some(at + pos as u64));
        }
        at += step;
        step = (step * 8).min(4 << 20);
    }
    Ok(None)
}

/// Whether all bytes of the range are zero.
fn is_zero(source: &SourceRef, from: u64, to: u64, limits: &Limits) -> Result<bool> {
    let mut at = from;
    while at < to {
        let bytes = read_vec(&**source, at, (to - at).min(1 << 20), limits)?;
        if bytes.iter().any(|b| *b != 0) {
            return Ok(false);
        }
        at += bytes.len() as u64;
    }
    Ok(true)
}
