//! Writing the exploded form: the blocks in separate files, and then the tree that names them.
//!
//! The file with the tree comes last, so that it never names a block that is not there. A part that an older file with a
//! tree may name is not replaced by other bytes: the new part gets the next free number, and the old one is removed when the
//! new tree is in place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::part_names::{PartNames, RemovedParts, is_removable_part};
use super::{ExplodedFile, plan_explode, write};
use crate::asdf::{AsdfFile, Block, WriteOptions, walk};
use crate::bytes::{self, LocalOptions, NewFile, SourceRef, TemporaryGuard, WriteBasis, name_in, path_of, uri_of};
use crate::error::Result;
use crate::file::verify_written;
use crate::tree::NodeId;

/// Bytes of two blocks that are compared at once.
const BUFFER_SIZE: u64 = 1 << 20;

/// The files of an exploded form.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExplodePlan {
    /// The tree, and the blocks that leave and stay.
    pub plan: ExplodedFile,
    /// The file with the tree.
    pub main: PathBuf,
    /// The files of the blocks that leave.
    pub parts: Vec<PathBuf>,
    series: PartNames,
    /// The file with the tree that the plan replaces.
    existing_main: ExistingMain,
}

/// The file at the place of the one with the tree, before the first file is written.
enum ExistingMain {
    Absent,
    Present(SourceRef),
    /// A link to nothing, or what may not be read.
    Unreadable,
}

impl std::fmt::Debug for ExistingMain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Absent => "Absent",
            Self::Present(_) => "There",
            Self::Unreadable => "Unreadable",
        })
    }
}

impl ExistingMain {
    fn from_path(path: &Path) -> Self {
        match bytes::open(path, LocalOptions::default()) {
            Ok(source) => Self::Present(source),
            Err(_) if exists(path) => Self::Unreadable,
            Err(_) => Self::Absent,
        }
    }

    fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// The plan holds as long as this is still there: its tree names the parts that must stay.
    fn as_basis(&self) -> WriteBasis<'_> {
        match self {
            Self::Absent => WriteBasis::Missing,
            Self::Present(source) => WriteBasis::LockedBy(&**source),
            Self::Unreadable => WriteBasis::Nothing,
        }
    }
}

impl ExplodePlan {
    /// Plans the files in a folder: `STEM.EXTENSION`, and `STEM0000.EXTENSION` and so on for the blocks. Nothing is written.
    ///
    /// # Errors
    /// Returns the errors of [`explode`].
    pub fn plan(
        file: &AsdfFile,
        only: Option<NodeId>,
        drop_unnamed: bool,
        folder: &Path,
        stem: &str,
        extension: &str,
    ) -> Result<Self> {
        let series = PartNames::new(stem, extension);
        let name = |number: usize| series.name(number);
        let main = folder.join(path_of(&format!("{stem}.{extension}")));
        let before = ExistingMain::from_path(&main);
        let mut plan = plan_explode(file, only, drop_unnamed, |position| uri_of(&name(position)))?;
        let mut numbers: Vec<usize> = (0..plan.external_blocks.len()).collect();
        if !before.is_absent() {
            let all = file.sections().all_blocks()?;
            let mut next = numbers.len();
            for ((index, _), number) in plan.external_blocks.iter().zip(&mut numbers) {
                let is_free = |number: usize| {
                    let path = folder.join(path_of(&name(number)));
                    !exists(&path) || all.get(*index).is_some_and(|block| is_block_file(&path, file, block))
                };
                if !is_free(*number) {
                    while !is_free(next) {
                        next += 1;
                    }
                    *number = next;
                    next += 1;
                }
            }
            let number = |position: usize| numbers.get(position).copied().unwrap_or(position);
            plan = plan_explode(file, only, drop_unnamed, |position| uri_of(&name(number(position))))?;
        }
        let parts = numbers.into_iter().map(|number| folder.join(path_of(&name(number)))).collect();
        Ok(Self { plan, main, parts, series, existing_main: before })
    }

    /// Returns the paths of all files, that of the file with the tree first.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.main).chain(&self.parts)
    }

    /// Writes the files. If that fails, or a signal ends the process, the parts that are new are removed. Returns the parts of
    /// an older file with a tree that were removed or left, and warnings.
    ///
    /// # Errors
    /// Returns the errors of [`write()`] and of [`AtomicFile`](crate::bytes::AtomicFile).
    pub fn write(&self, file: &AsdfFile) -> Result<(RemovedParts, Vec<String>)> {
        let (before, is_over) = (self.named_before(file), !self.existing_main.is_absent());
        // If there is a file at the main path, every part that is written has a free number.
        let part = || if is_over { WriteBasis::Missing } else { WriteBasis::SameAs(&**file.sections().source()) };
        let all = file.sections().all_blocks()?;
        // New parts are listed for removal before the first write, so that a signal during a rename removes them, too.
        let new: Vec<TemporaryGuard> =
            self.parts.iter().filter(|path| !exists(path)).map(|path| TemporaryGuard::new(path)).collect();
        let mut warnings = Vec::new();
        let written =
            self.parts.iter().zip(&self.plan.external_blocks).try_for_each(|(path, (index, _))| match all.get(*index) {
                Some(block) if is_over && exists(path) && is_block_file(path, file, block) => Ok(()),
                block => collect_warnings(write_one(path, part(), file, None, block.copied()), &mut warnings),
            });
        let main = |warnings: &mut Vec<String>| {
            let written =
                write_one(&self.main, self.existing_main.as_basis(), file, Some(&self.plan.tree), &self.plan.kept_blocks);
            collect_warnings(written, warnings)
        };
        let written = written.and_then(|()| main(&mut warnings));
        if let Err(error) = written {
            if !self.is_in_place(file) {
                new.iter().for_each(|part| drop(bytes::remove(part.path())));
            }
            return Err(error);
        }
        drop(new);
        Ok((self.remove_unnamed(file, &before), warnings))
    }

    /// Returns `true` if the file with the tree is the new one.
    fn is_in_place(&self, file: &AsdfFile) -> bool {
        self.open_main(file).is_some_and(|main| main.tree().text() == self.plan.tree)
    }

    /// The file with the tree as it is now.
    fn open_main(&self, file: &AsdfFile) -> Option<AsdfFile> {
        let source = bytes::open(&self.main, LocalOptions::default()).ok()?;
        AsdfFile::open(source, file.limits()).ok()
    }

    /// The parts that the file with the tree named when all was planned.
    fn named_before(&self, file: &AsdfFile) -> BTreeSet<String> {
        let ExistingMain::Present(source) = &self.existing_main else { return BTreeSet::new() };
        let Ok(main) = AsdfFile::open(source.clone(), file.limits()) else { return BTreeSet::new() };
        let sources = walk::ndarrays_with_source(&main).unwrap_or_default();
        let external = sources.iter().filter(|(_, source)| source.as_i64().is_none());
        external.filter_map(|(_, source)| name_in(&source.text())).collect()
    }

    /// Removes the parts that only the older tree named.
    fn remove_unnamed(&self, file: &AsdfFile, before: &BTreeSet<String>) -> RemovedParts {
        let mut parts = RemovedParts::default();
        let folder = self.main.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let Some(main) = self.open_main(file) else { return parts };
        for name in before.iter().filter(|name| self.series.contains(name)) {
            let path = self.main.with_file_name(name);
            if self.parts.contains(&path) || !exists(&path) {
                continue;
            }
            let is_own = is_removable_part(folder, name, main.tree(), |name| self.series.contains(name), file.limits());
            match is_own.unwrap_or(false) && bytes::remove(&path).is_ok() {
                true => parts.removed.push(path),
                false => parts.kept.push(path),
            }
        }
        parts
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn collect_warnings(written: Result<Vec<String>>, warnings: &mut Vec<String>) -> Result<()> {
    written.map(|more| warnings.extend(more))
}

fn write_one<'b>(
    path: &Path,
    basis: WriteBasis<'_>,
    file: &AsdfFile,
    tree: Option<&str>,
    blocks: impl IntoIterator<Item = &'b Block>,
) -> Result<Vec<String>> {
    let blocks: Vec<(&AsdfFile, &Block)> = blocks.into_iter().map(|block| (file, block)).collect();
    let mut out = NewFile::create(path, basis)?.with_limits(file.limits());
    write(file, tree, &blocks, out.writer(), &WriteOptions::default(), super::BlockCodec::Keep)?;
    if let Some(written) = out.reread_source()? {
        verify_written(written, Some(file), file.limits())?;
    }
    out.commit().map(|written| written.warnings)
}

/// Returns `true` if a file is this block alone.
fn is_block_file(path: &Path, file: &AsdfFile, block: &Block) -> bool {
    let is_same = || -> Result<bool> {
        let other = AsdfFile::open(bytes::open(path, LocalOptions::default())?, file.limits())?;
        let (there, has_tree) = (other.sections().all_blocks()?, other.sections().tree().is_some());
        let [one] = there[..] else { return Ok(false) };
        let fields = |block: &Block| (block.generation.name, block.flags, block.compression, block.data_size);
        let is_summed = block.checksum.is_none() || one.checksum == block.checksum;
        if has_tree || !is_summed || fields(one) != fields(block) || one.extra_header != block.extra_header {
            return Ok(false);
        }
        let (one, stored) = (one.stored_source(other.sections().source())?, block.stored_source(file.sections().source())?);
        let mut at = 0;
        while at < stored.len() && one.len() == stored.len() {
            let len = BUFFER_SIZE.min(stored.len() - at);
            if bytes::read_vec(&*one, at, len, file.limits())? != bytes::read_vec(&*stored, at, len, file.limits())? {
                return Ok(false);
            }
            at += len;
        }
        Ok(one.len() == stored.len())
    };
    is_same().unwrap_or(false)
}
