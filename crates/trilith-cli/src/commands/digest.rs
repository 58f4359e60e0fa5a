//! `trilith digest FILE`: what the arrays hold, whatever way they are stored.

use clap::Args;
use serde_json::{Map, Value, json};
use trilith::array::Array;
use trilith::check::Digest as Sums;
use trilith_io::suggest::hex;
use trilith::{ErrorKind, Result};

use crate::outcome::Outcome;
use crate::inputs::{self, ArgumentKind, FileJob, FileListArgs};
use crate::json::datatype_json;
use crate::session::{FileRole, Session};
use crate::output::escape_controls;
use crate::advice::error_with_advice;

/// Print the SHA-256 of the elements of each array
///
/// The digest is of the elements in C order, packed, little-endian. It does not depend on compression, byte order,
/// strides or version, so equal arrays have equal digests in every file.
#[derive(Debug, Args)]
pub(crate) struct Digest {
    /// Files, folders, patterns and URLs, or - for standard input; each with an optional #/path of one item
    #[arg(value_name = "FILE[#/path]", required_unless_present = "files_from")]
    files: Vec<String>,
    #[command(flatten)]
    list_args: FileListArgs,
}

impl Digest {
    /// Prints the digests.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        inputs::run(&self.files, ArgumentKind::Items, &self.list_args, session, digest_file)
    }
}

fn digest_file(job: &mut FileJob<'_>) -> Result<Outcome> {
    let is_json = job.session.args.json;
    let path = job.path.clone().filter(|path| !path.is_empty());
    let opened = job.open(FileRole::Any).and_then(|file| match &path {
        None => Ok((Some(file.digest()?), file)),
        Some(path) => Ok((job.report_missing(file.digest_at(path))?, file)),
    });
    let (entries, file) = match opened {
        Ok((Some(entries), file)) => (entries, file),
        Ok((None, _)) => return Ok(Outcome::Negative),
        // A file whose tree cannot be read has no arrays, and an error at its root.
        Err(error) if is_json && error.kind() == ErrorKind::Malformed => {
            let text = error_with_advice(&error);
            job.print_note(&format!("trilith: {}{text}", job.error_prefix(&text)));
            job.out.write_json(&json!({"file": job.name, "arrays": {}, "errors": {"": escape_controls(&text)}}))?;
            return Ok(Outcome::Negative);
        }
        Err(error) => return Err(error),
    };
    let mut outcome = Outcome::Success;
    let (mut arrays, mut errors) = (Map::new(), Map::new());
    if entries.is_empty() {
        job.note_lack("no arrays");
    }
    for entry in entries {
        match entry.digest {
            Ok((array, sums)) if is_json => {
                arrays.insert(entry.path, array_json(&array, &sums));
            }
            Ok((array, sums)) => {
                let kind = escape_controls(&crate::json::datatype_text(array.datatype())).into_owned();
                let path = job.path_label(&entry.path);
                job.out.write_line(&format!("{}  {kind}  {:?}  {path}", hex(&sums.sha256), array.shape()))?;
            }
            Err(error) => {
                outcome = outcome.max(if error.kind() == ErrorKind::Malformed { Outcome::Negative } else { Outcome::Failed });
                if is_json {
                    errors.insert(entry.path, json!(escape_controls(&error_with_advice(&error))));
                } else {
                    job.print_note(&job.unreadable_reason(&entry.path, &error));
                }
            }
        }
    }
    if is_json {
        job.out.write_json(&json!({"file": job.name, "arrays": arrays, "errors": errors}))?;
    }
    job.warn_all(file.warnings());
    Ok(outcome)
}

fn array_json(array: &Array, sums: &Sums) -> Value {
    let mut value = json!({
        "datatype": datatype_json(array.datatype()),
        "shape": array.shape(),
        "sha256": hex(&sums.sha256),
    });
    if let Some(mask) = sums.mask_sha256 {
        value["mask_sha256"] = json!(hex(&mask));
    }
    value
}
