//! Arrays in separate files: the names of these files, and writing and removing them with the tree that names them.

use std::collections::BTreeSet;
use std::io::BufWriter;
use std::path::Path;

use super::{Change, replace_sources};
use crate::asdf::{FileWriter, StoredBlock, WriteOptions};
use crate::assemble::{PartNames, RemovedParts, is_removable_part};
use crate::bytes::{self, AtomicFile, SourceBacking, WriteBasis};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::tree::{Tree, Value};

impl Change<'_> {
    /// Stores each block in a separate file.
    pub(super) fn store_beside(&mut self, blocks: Vec<StoredBlock>, node: &mut Value) -> Result<()> {
        let series = PartNames::for_file(self.file)?;
        let taken: Vec<String> = self.external_parts.iter().map(|(name, _)| name.clone()).collect();
        let mut names: Vec<String> = Vec::new();
        for block in blocks {
            let is_free = |name: &String| {
                let path = self.parent_dir().join(bytes::path_of(name));
                !path.exists() && !taken.contains(name) && !names.contains(name)
            };
            let name = (0..).map(|number| series.name(number)).find(is_free).unwrap_or_default();
            self.external_parts.push((name.clone(), block));
            names.push(name);
        }
        replace_sources(node, &mut |number| Ok(Value::from(bytes::uri_of(names.get(number).map_or("", String::as_str)))))
    }

    /// Writes a new file of the exploded form, which must not be there yet.
    pub(super) fn write_part(&self, path: &Path, new: &StoredBlock) -> Result<()> {
        let mut out = AtomicFile::create(path, WriteBasis::Missing)?;
        let mut writer = FileWriter::new(BufWriter::new(&mut out), new.block.generation, WriteOptions::default());
        writer.match_existing(self.file.sections())?;
        writer.header(&self.file.sections().header().line, &[], None)?;
        writer.copy(&new.stored, &new.block)?;
        refuse_damaged(&writer.finish()?)?;
        out.commit().map(drop)
    }

    /// Writes the new files of the exploded form, and then the file that names them. If that fails and the file is
    /// unchanged, it removes the written ones again.
    pub(super) fn write_parts_first<T>(&self, then: impl FnOnce() -> Result<T>) -> Result<T> {
        let (folder, mut written) = (self.parent_dir(), Vec::new());
        let parts = self.external_parts.iter().try_for_each(|(name, content)| {
            let path = folder.join(bytes::path_of(name));
            self.write_part(&path, content).inspect(|()| written.push(path.clone()))
        });
        let done = parts.and_then(|()| then());
        if done.is_err() && !self.file.sections().source().backing().is_some_and(SourceBacking::is_changed) {
            written.iter().for_each(|path| drop(bytes::remove(path)));
        }
        done
    }

    /// Removes the files of the exploded form that the new tree no longer names: those of the file's numbered
    /// series, in its folder, that this program made and that no other file refers to.
    pub(super) fn remove_parts(&self) -> Result<RemovedParts> {
        let Some(tree) = self.tree.as_ref().filter(|_| !self.keeps_blocks) else { return Ok(RemovedParts::default()) };
        let names = |tree: &Tree| -> Result<BTreeSet<String>> {
            let nodes = self.sourced_arrays(tree)?;
            let external = nodes.iter().filter(|(_, source)| source.as_i64().is_none());
            Ok(external.filter_map(|(_, source)| bytes::name_in(&source.text())).collect())
        };
        let series = PartNames::for_file(self.file)?;
        let (old, new) = (names(self.file.tree())?, names(tree)?);
        let (folder, mut parts) = (self.parent_dir(), RemovedParts::default());
        for name in old.difference(&new).filter(|name| series.contains(name)) {
            let path = folder.join(bytes::path_of(name));
            let is_own =
                is_removable_part(&folder, name, tree, |name| series.contains(name), self.file.limits()).unwrap_or(false);
            if is_own && bytes::remove(&path).is_ok() {
                parts.removed.push(path);
            } else if path.exists() {
                parts.kept.push(path);
            }
        }
        Ok(parts)
    }
}

/// Refuses to go on with damaged blocks.
pub(super) fn refuse_damaged(damaged: &[Diagnostic]) -> Result<()> {
    let Some(first) = damaged.first() else { return Ok(()) };
    Err(Error::malformed(first.to_string()).hint(crate::asdf::checksum::DAMAGED_BLOCK_HINT))
}
