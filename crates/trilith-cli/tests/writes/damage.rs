//! Damage is never vouched for: one bit of one block is flipped, then every writing command runs on the file.
//!
//! A command may refuse, or write the damaged elements under the checksum that fails. No output may hold damaged elements and
//! verify. The commands are those of the writing matrix, so a new subcommand is tested here as soon as it is in its table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::case::{self, Way};
use super::content::{Content, Digest};
use super::file_kinds::Kind;
use super::operations::{Operation, Result as Judged};

/// A kind with one flipped bit, and the digests of the arrays that it is in.
pub(crate) struct Damaged {
    pub kind: Kind,
    bad: BTreeSet<[u8; 32]>,
    /// The block that it is in, decoded.
    block: Vec<u8>,
}

/// How a cell ended.
pub(crate) enum Outcome {
    /// Nothing was written, or nothing that holds damaged elements.
    Refused,
    /// The damaged elements were written, and the file does not verify.
    Failing,
    /// Against the rule.
    Verifies(String),
}

/// Flips a bit of each block that states a checksum, one in each of the results; none for kinds without checksums.
pub(crate) fn damaged(kind: &Kind) -> Vec<Damaged> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut found = Vec::new();
    for (name, content) in &kind.files {
        std::fs::write(folder.path().join(name), content).expect("it can be written");
    }
    for name in kind.files.keys() {
        let Ok(file) = trilith::open_asdf(folder.path().join(name)) else { continue };
        let Ok(blocks) = file.sections().all_blocks() else { continue };
        for block in blocks.iter().filter(|block| block.checksum.is_some() && block.used > 16) {
            let mut files = kind.files.clone();
            let bytes = files.get_mut(name).expect("its name is in the list");
            // A file in a compressed one has no bytes of its own to flip.
            let Some(byte) = bytes.get_mut((block.data_offset + block.used - 9) as usize) else { continue };
            *byte ^= 0x10;
            found.extend(with_files(kind, files, (name, block.index as i64)));
        }
    }
    found
}

fn with_files(kind: &Kind, files: BTreeMap<String, Vec<u8>>, (flipped, number): (&str, i64)) -> Option<Damaged> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (name, content) in &files {
        std::fs::write(folder.path().join(name), content).expect("it can be written");
    }
    let content = Content::read(&folder.path().join(&kind.file), None).ok()?;
    let differs = |(path, digest): &(&String, &Digest)| kind.content.arrays.get(*path).is_some_and(|sound| sound != *digest);
    let bad: BTreeSet<[u8; 32]> = content.arrays.iter().filter(differs).map(|(_, digest)| digest.sha256).collect();
    let file = trilith::open_asdf(folder.path().join(flipped)).ok()?;
    let data = file.block_data(number).ok()?;
    let block = trilith::bytes::read_vec(&*data, 0, data.len(), file.limits()).ok()?;
    let is_damaged = !bad.is_empty() || content.unnamed.contains(&block);
    let (name, file, layout) = (kind.name.clone(), kind.file.clone(), kind.layout);
    let kind = Kind { name, file, family: kind.family, files, layout, content };
    is_damaged.then_some(Damaged { kind, bad, block })
}

/// Runs one operation; None if it does not apply.
pub(crate) fn judge(operation: &Operation, damaged: &Damaged, way: Way, insists: bool) -> Option<Outcome> {
    let insists: &[&str] = if insists { &["--allow-loss"] } else { &[] };
    let done = case::ran(operation, &damaged.kind, way, insists)?;
    let (mut outcome, place) = (Outcome::Refused, done.folder.path());
    for name in &done.changed {
        let holds = match operation.result {
            Judged::Elements => holds_elements(&place.join(name), damaged).then_some(true),
            // Names of arrays, coordinates and pictures are not copies of elements.
            Judged::Text => None,
            Judged::Content => verifies(&place.join(name), damaged),
        };
        match holds {
            Some(true) => return Some(Outcome::Verifies(format!("{} of `trilith {}`", name.display(), done.words.join(" ")))),
            Some(false) => outcome = Outcome::Failing,
            None => {}
        }
    }
    Some(outcome)
}

/// Whether a file with damaged elements verifies; None for a file without them, and for one that names files which have them.
fn verifies(path: &Path, damaged: &Damaged) -> Option<bool> {
    let nowhere = path.join("nowhere");
    let content = Content::read_from(path, None, &nowhere).ok()?;
    let holds =
        content.arrays.values().any(|digest| damaged.bad.contains(&digest.sha256)) || content.unnamed.contains(&damaged.block);
    holds.then_some(content.faults.is_none())
}

fn holds_elements(path: &Path, damaged: &Damaged) -> bool {
    let Ok(source) = trilith::bytes::open(path, trilith::bytes::LocalOptions::default()) else { return false };
    let array = trilith::Array::from_npy(source, &trilith::Limits::default());
    array.is_ok_and(|array| damaged.bad.contains(&Digest::of(&array).sha256))
}
