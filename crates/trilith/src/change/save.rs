//! Saving a change: in place, or as a new file that replaces the old one.
//!
//! All modifications of an opened file go through here. The steps and their order are in this file alone: the
//! command and the Python package only pass options.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Change, WrittenChange};
use crate::asdf::{AsdfFile, StoredBlock, WriteOptions, header, update};
use crate::bytes::{BaseUri, NewFile, Source, SourceBacking, WriteBasis, WritePath, is_packed, name_of};
use crate::convert::{ConvertOptions, rewrite};
use crate::error::{Error, Result};
use crate::file::{FileFormat, check_name, verify_with_tree};
use crate::progress::Progress;
use crate::tree::Tree;

/// Number of bytes of a file from which on writing it whole takes longer than changing it in place.
const LARGE_FILE: u64 = 16 << 20;

/// Options for saving a change.
///
/// ```
/// let mut options = trilith::SaveOptions::default();
/// options.in_place = true;
/// ```
#[derive(Default)]
#[non_exhaustive]
pub struct SaveOptions<'o> {
    /// Write only the changed bytes, under a rollback journal, if the new tree fits into its space. Otherwise the
    /// file is rewritten with space to grow.
    pub in_place: bool,
    /// Write to this file and leave the one that was read unchanged.
    pub output: Option<SaveTarget>,
    /// Rewrite every block, even if only the tree changes and fits into its space.
    pub force_rewrite: bool,
    /// Receives the number of bytes of written blocks.
    pub progress: Progress<'o>,
}

impl SaveOptions<'_> {
    /// Returns options to save in place if the change fits into the file, otherwise as a new file that replaces it.
    pub fn in_place() -> Self {
        Self { in_place: true, ..Self::default() }
    }
}

/// Target of a write, other than the file that was read.
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there is one for each file that is written")]
pub enum SaveTarget {
    /// A file at a path, or an object at a URL.
    Path(WritePath),
    /// A file that was created already, or a stream.
    Created(NewFile),
}

/// The result of saving a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SaveReport {
    /// `true` if the file was updated in place, so that only the changes were written.
    pub in_place: bool,
    /// The reason why the whole file was written although [`SaveOptions::in_place`] was set.
    pub rewrite_reason: Option<&'static str>,
    /// Number of bytes of the file that was written whole; 0 if it was updated in place.
    pub size: u64,
    /// Number of bytes that a save in place would have written, if [`SaveOptions::in_place`] was not set, the file has at least 16 MiB,
    /// and the change fits into it.
    pub in_place_size: Option<u64>,
    /// Files of an exploded form that the tree no longer names, and that were removed.
    pub removed_parts: Vec<PathBuf>,
    /// Properties of the old file that the new one could not keep: a group, an extended attribute. Also files that
    /// the tree no longer names and that were left, since other files may use them, and changes of a mapping or list
    /// that is at several paths, through an anchor.
    pub warnings: Vec<String>,
    /// The number of each block that stayed or is new, by that which it had before: see
    /// [`Change::add_block`](super::Change::add_block).
    pub block_numbers: BTreeMap<i64, usize>,
}

impl Change<'_> {
    /// Saves the change in place, at the path of the file, or at another path.
    ///
    /// The file is locked, and must not have changed since it was read. If the save fails, or at a crash, the file has the old
    /// content or the new one.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if another process writes the file or has changed it since
    /// it was read, or if the operating system reports an error. Returns
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is no file to change (bytes, a pipe, a URL) and no
    /// output was named. Also returns the errors of [`FileUpdate::commit`](crate::bytes::FileUpdate::commit) and
    /// [`AtomicFile::create`](crate::bytes::AtomicFile::create).
    ///
    /// ```
    /// use trilith::{Change, SaveOptions};
    /// # use trilith::{AsdfBuilder, Target, TreePath, Value};
    /// # let folder = std::env::temp_dir().join(format!("trilith-save-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let path = folder.join("x.asdf");
    /// # AsdfBuilder::new(Target::latest()).write(&path, Value::map([("exposure", Value::from(10))]))?;
    /// let file = trilith::open_asdf(&path)?;
    /// let mut change = Change::new(&file);
    /// change.edit(|edit, _| edit.set(&TreePath::parse("/exposure")?, &30.into()))?;
    /// change.save(SaveOptions::default())?;
    /// # assert_eq!(trilith::open_asdf(&path)?.tree().node_at_pointer("/exposure").unwrap().as_i64(), Some(30));
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn save(&mut self, options: SaveOptions<'_>) -> Result<SaveReport> {
        let warnings = self.take_warnings()?;
        let mut saved = self.save_settled(options)?;
        saved.warnings.extend(warnings);
        Ok(saved)
    }

    fn save_settled(&mut self, mut options: SaveOptions<'_>) -> Result<SaveReport> {
        let (file, output) = (self.file(), options.output.take());
        self.check_tree()?;
        StoredBlock::add_checksums(&mut self.added)?;
        let _call = file.limits().call();
        if output.is_some() && self.has_new_files() {
            return Err(Error::invalid_input("the new array gets a separate file, next to the file that is changed")
                .hint("write no other file, or implode this one first"));
        }
        let own = self.file_path()?;
        let is_own = output.is_none();
        if options.in_place
            && is_own
            && !options.force_rewrite
            && let Some(numbers) = self.in_place()?
        {
            return Ok(SaveReport { in_place: true, block_numbers: numbers, ..self.report(Vec::new()) });
        }
        let source = file.sections().source();
        if let Some(SaveTarget::Path(path)) = &output {
            check_name(&path.path().to_string_lossy(), FileFormat::from_asdf(file), "choose another name, or convert the file")?;
        }
        // A text that goes into another folder names from there what it named here.
        let moved = match &output {
            Some(SaveTarget::Path(path)) => file.rebase_text(self.current_tree(), &BaseUri::of_file(&name_of(path.path())))?,
            _ => None,
        };
        let mut out = match output {
            Some(SaveTarget::Created(out)) => out,
            Some(SaveTarget::Path(path)) => NewFile::create(path, WriteBasis::SameAs(&**source))?,
            None => NewFile::create(own.ok_or_else(|| no_file(file))?, WriteBasis::LockedBy(&**source))?,
        };
        let tree = moved.as_ref().unwrap_or_else(|| self.current_tree());
        let WrittenChange { numbers, damaged, tree } = self.write_new(tree, &mut out, &mut options)?;
        if let Some(written) = out.reread_source()? {
            verify_with_tree(written, Some(&tree), Some(file), file.limits())?;
        }
        let mut warnings: Vec<String> =
            damaged.into_iter().map(|found| format!("{}; it keeps this checksum", found.message)).collect();
        if !is_own {
            let written = out.commit()?;
            warnings.extend(written.warnings);
            return Ok(SaveReport { warnings, size: written.size, block_numbers: numbers, ..SaveReport::default() });
        }
        let why_anew = if options.in_place { Some(self.rewrite_reason()?) } else { None };
        let in_place_size = if options.in_place || options.force_rewrite { None } else { self.in_place_size() };
        let written = self.write_parts_first(|| out.commit())?;
        warnings.extend(written.warnings);
        let size = written.size;
        Ok(SaveReport { rewrite_reason: why_anew, size, in_place_size, block_numbers: numbers, ..self.report(warnings) })
    }

    /// Returns the number of bytes that a save in place would write into a large file; None for a small one, and if it cannot be
    /// changed in place.
    fn in_place_size(&self) -> Option<u64> {
        let local = self.file().sections().source().backing().and_then(SourceBacking::local_file)?;
        if Source::len(local) < LARGE_FILE || !local.is_changeable_in_place() {
            return None;
        }
        self.plan_in_place().ok().flatten().map(|(update, _)| update.written_size())
    }

    /// Refuses a tree that would not be read again, if that of the file can be.
    pub(super) fn check_tree(&self) -> Result<()> {
        let (old, new) = (self.file().tree().text(), self.current_tree().text());
        if new.is_empty() || (!old.is_empty() && header::check_tree(old).is_err()) {
            return Ok(());
        }
        header::check_tree(new)
    }

    /// Returns the reason why the file could not be changed in place.
    fn rewrite_reason(&self) -> Result<&'static str> {
        let file = self.file();
        Ok(if is_packed(&**file.sections().source())? {
            "a gzip file is packed again"
        } else if file.container().is_some() {
            "the new header does not fit into its space"
        } else {
            "the new tree does not fit into its space"
        })
    }

    /// Returns the result of the change, after removing the files that it no longer needs.
    ///
    /// The change is made by now, so a failure here is only a warning.
    fn report(&self, mut warnings: Vec<String>) -> SaveReport {
        let parts = self.remove_parts().unwrap_or_else(|error| {
            warnings.push(format!("files that the tree no longer names were left: {error}"));
            crate::assemble::RemovedParts::default()
        });
        let left = |path: &PathBuf| format!("{} is left there: it may hold more, or be used by another file", path.display());
        warnings.extend(parts.kept.iter().map(left));
        SaveReport { removed_parts: parts.removed, warnings, ..SaveReport::default() }
    }

    /// Writes the whole file with its change.
    fn write_new<'t>(&'t self, tree: &'t Tree, out: &mut NewFile, options: &mut SaveOptions<'_>) -> Result<WrittenChange<'t>> {
        let (file, text) = (self.file(), tree.text());
        // Room to grow, so that the next change fits.
        let room = if options.in_place { text.len() as u64 / 4 + 1024 } else { file.sections().padding().min(1 << 20) };
        if self.moves_blocks()? || self.has_new_files() {
            let mut write = WriteOptions::default();
            (write.tree_padding, write.keep_unused) = (room, true);
            return self.write_with(tree, out.writer(), &write);
        }
        // If the tree fits, no other byte of the file differs.
        if !options.force_rewrite && update::tree_in_copy(file, text, out.writer())? {
            return Ok(WrittenChange { numbers: self.unmoved_blocks(), damaged: Vec::new(), tree: Cow::Borrowed(tree) });
        }
        let mut convert = ConvertOptions::default();
        (convert.write_options.tree_padding, convert.write_options.keep_unused) = (room, true);
        let done = rewrite(file, text, out.writer(), &convert, options.progress)?;
        Ok(WrittenChange { numbers: self.unmoved_blocks(), damaged: done.losses, tree: Cow::Borrowed(tree) })
    }

    /// The path by which the file was opened; None for bytes without a file.
    fn file_path(&self) -> Result<Option<&Path>> {
        let Some(local) = self.file().sections().source().backing().and_then(SourceBacking::local_file) else { return Ok(None) };
        if self.has_new_files() && local.path().and_then(Path::parent) != local.given_path().and_then(Path::parent) {
            return Err(Error::invalid_input(format!(
                "{} is a link into another folder, and the new array gets a separate file next to the file",
                self.file().sections().source().name()
            ))
            .hint("name the file itself"));
        }
        Ok(local.given_path())
    }
}

/// The error for bytes that no file on this machine holds.
#[cold]
fn no_file(file: &AsdfFile) -> Error {
    let message = match file.sections().source().name() {
        "-" => "standard input cannot be changed".to_owned(),
        name if crate::bytes::is_url(name) => {
            let why = "servers and object stores replace files only as a whole";
            return Error::unsupported(format!("{name} cannot be changed in place, because {why}"))
                .hint("write the result to a new file");
        }
        name => format!("{name} is not a file on this machine and cannot be changed"),
    };
    Error::invalid_input(message).hint("write the result to a new file")
}
