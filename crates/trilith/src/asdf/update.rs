//! Replacing the tree in place: every block stays where it is.
//!
//! The layout of the family makes room for it: unused space may follow the tree (ASDF 1.x, "Tree").
//! The bytes between the start of the tree and the first block are overwritten under a rollback
//! journal, so that a crash leaves the old tree or the new one.

use std::path::Path;

use super::read::AsdfFile;
use crate::bytes::Journal;
use crate::error::{Error, Result};

/// Room for a tree in a file: the bytes from its start to the first block; None where it has no tree or no block.
pub fn room(file: &AsdfFile) -> Option<u64> {
    let sections = file.sections();
    let tree = sections.tree()?;
    let first = sections.block(0).ok()?.offset;
    Some(first - tree.start)
}

/// Overwrites the tree of the file at `path`, which `file` was opened from, if the new text fits;
/// whether it did. The rest of the room is filled with spaces.
///
/// # Errors
/// [`Kind::Io`](crate::Kind::Io); the file is then as it was, at once or after the next opening.
/// [`Kind::Usage`](crate::Kind::Usage) for a file inside another.
pub fn tree_in_place(file: &AsdfFile, path: impl AsRef<Path>, text: &str) -> Result<bool> {
    if file.container().is_some() {
        return Err(Error::usage("the tree of a file inside another cannot be replaced in place"));
    }
    let (Some(room), Some(tree)) = (room(file), file.sections().tree()) else { return Ok(false) };
    let mut bytes = text.as_bytes().to_vec();
    if !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    if bytes.len() as u64 > room {
        return Ok(false);
    }
    bytes.resize(crate::bytes::to_usize(room)?, b' ');
    let mut update = Journal::begin(path, &[tree.start..tree.start + room])?;
    if update.old_len() != file.sections().source().len() {
        update.roll_back()?;
        return Err(Error::new(crate::Kind::Io, "the file was changed while it was open"));
    }
    update.write_at(tree.start, &bytes)?;
    update.commit()?;
    Ok(true)
}
