//! A file that is written into another folder: relative names in it would lead nowhere from there.

use std::io::Seek;
use std::path::{Path, PathBuf};

use trilith::asdf::{AsdfFile, Block, WriteOptions, walk};
use trilith::{Error, Result, assemble, bytes, file};

use crate::options::Options;

/// `file`, opened from `input`, as it can be written to `output`: arrays that lie in other files are taken
/// in where their names would lead nowhere from the folder of `output`. A warning says what is left behind.
///
/// # Errors
/// [`Kind::Io`](trilith::Kind::Io) for the temporary file that holds the whole.
pub fn self_contained(file: AsdfFile, input: &str, output: &Path, options: &Options) -> Result<AsdfFile> {
    if input == "-" || file.container().is_some() || folder(Path::new(input)) == folder(output) {
        return Ok(file);
    }
    if refers_away(&file)? {
        options.warn("the $refs to other files are kept; from the folder of the new file they may lead nowhere");
    }
    let is_external = |text: &str| !text.starts_with("fits:");
    if !walk::sourced(&file)?.iter().any(|(_, source)| source.as_i64().is_none() && is_external(&source.text())) {
        return Ok(file);
    }
    match whole(&file, input, options) {
        Ok(taken) => Ok(taken),
        Err(error) => {
            options.warn(&format!("arrays in other files are left there, as names that may lead nowhere: {error}"));
            Ok(file)
        }
    }
}

/// The file with the blocks of others in it.
fn whole(file: &AsdfFile, input: &str, options: &Options) -> Result<AsdfFile> {
    let plan = assemble::implode(file, None)?;
    let mut blocks: Vec<(&AsdfFile, &Block)> = file.sections().all_blocks()?.into_iter().map(|block| (file, block)).collect();
    for other in &plan.taken {
        blocks.push((other, other.sections().block(0)?));
    }
    let fail = |e| Error::io("making a temporary file", e);
    let mut out = bytes::unnamed_file().map_err(fail)?;
    assemble::write(file, Some(&plan.tree), &blocks, &mut out, &WriteOptions::default(), None)?;
    out.rewind().map_err(fail)?;
    let limits = options.limits()?;
    let (_, resolve) = options.open_with(input, &limits)?;
    file::open_asdf_source(bytes::spool(out, input, u64::MAX)?, resolve, &limits)
}

/// Whether a `$ref` names another file.
fn refers_away(file: &AsdfFile) -> Result<bool> {
    let mut walk = file.tree().root().walk(file.limits()).as_written();
    while let Some(visit) = walk.step()? {
        let target = visit.node.get("$ref").filter(|_| visit.node.is_mapping() && visit.node.len() == 1);
        if target.is_some_and(|target| !target.text().starts_with('#') && !target.text().contains("://")) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The folder of a file; None for standard output and for what does not exist.
fn folder(path: &Path) -> Option<PathBuf> {
    if path == Path::new("-") {
        return None;
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parent.canonicalize().ok()
}
