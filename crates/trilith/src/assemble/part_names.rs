//! Files next to a file that belong to it: the parts of an exploded form that this program wrote.

use std::path::{Path, PathBuf};

use crate::asdf::uris::uris;
use crate::asdf::{AsdfFile, header, walk};
use crate::bytes::{self, LocalOptions};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;
use crate::tree::Tree;

/// The names of the files of an exploded form: a stem, four digits or more, an extension.
#[derive(Debug)]
pub(crate) struct PartNames {
    stem: String,
    extension: String,
}

impl PartNames {
    /// The series of this stem and extension.
    pub(crate) fn new(stem: &str, extension: &str) -> Self {
        Self { stem: stem.to_owned(), extension: extension.to_owned() }
    }

    /// Returns the series of the file's external arrays, or else one that is named like the file.
    pub(crate) fn for_file(file: &AsdfFile) -> Result<Self> {
        let main = bytes::verbatim_path(&**file.sections().source());
        let own = main.file_stem().map_or_else(|| "array".to_owned(), |stem| bytes::name_of(Path::new(stem)).into_owned());
        let extension = main.extension().map_or_else(|| "asdf".to_owned(), |e| e.to_string_lossy().into_owned());
        let own = Self { stem: own, extension };
        for (_, source) in walk::ndarrays_with_source(file)? {
            let name = bytes::name_in(&source.text()).unwrap_or_default();
            if source.as_i64().is_none()
                && let Some((stem, extension)) = name.rsplit_once('.')
                && !name.contains('/')
                && let Some((stem, digits)) = stem.split_at_checked(stem.len().saturating_sub(4))
                && digits.bytes().all(|b| b.is_ascii_digit())
                && stem == own.stem
            {
                return Ok(Self { stem: stem.to_owned(), extension: extension.to_owned() });
            }
        }
        Ok(own)
    }

    /// The name of a part.
    pub(crate) fn name(&self, number: usize) -> String {
        format!("{}{number:04}.{}", self.stem, self.extension)
    }

    /// Returns `true` if a name is one of a part.
    pub(crate) fn contains(&self, name: &str) -> bool {
        let middle = name.strip_prefix(&self.stem).and_then(|rest| rest.strip_suffix(&format!(".{}", self.extension)));
        middle.is_some_and(|digits| digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_digit()))
    }
}

/// Number of other files of a folder that are searched for the use of a part; in a folder with more it is kept.
const MAX_SEARCHED_FILES: usize = 1000;

/// The outcome for the parts that a tree no longer names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemovedParts {
    /// Part files that were removed.
    pub removed: Vec<PathBuf>,
    /// Part files that were not removed, because they may belong to another file.
    pub kept: Vec<PathBuf>,
}

/// Returns `true` if the file `name` in `folder` is a part that may go: a regular file of exactly one block and no
/// tree, as this program writes them, that neither `tree`, the new one, nor another file of the folder refers to.
/// Files for which `in_series` is `true` are parts themselves and are not checked.
///
/// # Errors
/// Returns [`ErrorKind::Io`] if the folder cannot be read.
pub(crate) fn is_removable_part(
    folder: &Path,
    name: &str,
    tree: &Tree,
    in_series: impl Fn(&str) -> bool,
    limits: &Limits,
) -> Result<bool> {
    let path = folder.join(bytes::path_of(name));
    if !bytes::is_plain_file(&path) || !is_single_block_file(&path, limits) || tree_refers_to(tree, name, limits)? {
        return Ok(false);
    }
    let mut asked = 0;
    for other in bytes::files_of(folder)? {
        if other == name || in_series(&other) || !is_family(&folder.join(bytes::path_of(&other))) {
            continue;
        }
        asked += 1;
        if asked > MAX_SEARCHED_FILES || refers_to(&folder.join(bytes::path_of(&other)), name, limits) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns `true` if a file is one block without a tree.
fn is_single_block_file(path: &Path, limits: &Limits) -> bool {
    let Ok(file) = bytes::open(path, LocalOptions::default()).and_then(|source| AsdfFile::open(source, limits)) else {
        return false;
    };
    file.sections().tree().is_none() && file.sections().all_blocks().is_ok_and(|blocks| blocks.len() == 1)
}

/// Returns `true` if a file begins as one of the family.
fn is_family(path: &Path) -> bool {
    let start = bytes::open(path, LocalOptions::default())
        .and_then(|source| bytes::read_vec(&*source, 0, source.len().min(80), &Limits::default()));
    start.is_ok_and(|start| header::is_asdf(&start))
}

/// Returns `true` if a file refers to another of its folder; one that cannot be read may.
fn refers_to(path: &Path, name: &str, limits: &Limits) -> bool {
    match bytes::open(path, LocalOptions::default()).and_then(|source| AsdfFile::open(source, limits)) {
        Ok(file) => tree_refers_to(file.tree(), name, limits).unwrap_or(true),
        Err(error) => error.kind() != ErrorKind::Unsupported,
    }
}

/// Returns `true` if a tree refers to a file of this name in its folder.
fn tree_refers_to(tree: &Tree, name: &str, limits: &Limits) -> Result<bool> {
    let is_it = |uri: &str| bytes::name_in(uri).is_some_and(|uri| uri.rsplit('/').next() == Some(name));
    Ok(uris(tree, limits)?.iter().any(|found| is_it(&found.uri)))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write files on their own")]
mod tests {
    use super::*;
    use crate::asdf::Target;

    fn tree(text: &str) -> Tree {
        Tree::parse(text, &Limits::default()).unwrap()
    }

    fn block(byte: u8) -> Vec<u8> {
        let size = 1u64.to_be_bytes();
        [b"\xd3BLK\0\x30", &[0; 8][..], &size, &size, &size, &[0; 16], &[byte]].concat()
    }

    #[test]
    fn own_part_is_unreferenced_file_of_one_block() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        let put = |name: &str, parts: &[&[u8]]| std::fs::write(folder.join(name), parts.concat()).unwrap();
        let head = format!("{}\n", Target::latest().header);
        let text = |body: &str| format!("{head}%YAML 1.1\n--- {body}\n...\n");
        let own = |name: &str, new: &str| {
            let in_series = |name: &str| name.starts_with("x0");
            is_removable_part(folder, name, &tree(new), in_series, &Limits::default()).unwrap()
        };
        put("x0000.asdf", &[head.as_bytes(), &block(1)]);
        put("x0001.asdf", &[head.as_bytes(), &block(1), &block(2)]);
        put("x0002.asdf", &[text("{title: my own}").as_bytes(), &block(1)]);
        put("x0003.asdf", &[head.as_bytes()]);
        put("x0004.asdf", &[b"SIMPLE  =                    T"]);
        put("x.asdf", &[text("{a: 1}").as_bytes()]);
        put("notes.txt", &[b"x0000.asdf"]);
        assert!(own("x0000.asdf", "{a: 1}"));
        for name in ["x0001.asdf", "x0002.asdf", "x0003.asdf", "x0004.asdf", "x0009.asdf"] {
            assert!(!own(name, "{a: 1}"), "{name}");
        }
        // Files that the new tree or another file refers to stay.
        assert!(!own("x0000.asdf", "{r: {$ref: 'x0000.asdf#/a'}}"));
        put("other.asdf", &[text("{r: {$ref: './x0000.asdf'}}").as_bytes()]);
        assert!(!own("x0000.asdf", "{a: 1}"));
        put("other.asdf", &[text("{r: {$ref: 'x0001.asdf'}}").as_bytes()]);
        assert!(own("x0000.asdf", "{a: 1}"));
        // So does what a broken file might refer to, and what a link leads to.
        put("other.asdf", &[head.as_bytes(), b"%YAML 1.1\n--- {a: [\n"]);
        assert!(!own("x0000.asdf", "{a: 1}"));
        #[cfg(unix)]
        {
            put("other.asdf", &[b""]);
            std::os::unix::fs::symlink("x0000.asdf", folder.join("x0007.asdf")).unwrap();
            assert!(!own("x0007.asdf", "{a: 1}") && own("x0000.asdf", "{a: 1}"));
        }
    }
}
