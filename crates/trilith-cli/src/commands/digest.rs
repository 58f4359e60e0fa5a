//! `trilith digest FILE`: what the arrays hold, whatever way they are stored.

use clap::Args;
use serde_json::{Map, Value, json};
use trilith::array::Array;
use trilith::check::Digest as Sums;
use trilith_io::suggest::hex;
use trilith::{ErrorKind, Result};

use crate::Outcome;
use crate::inputs::{Files, Job};
use crate::json::datatype;
use crate::options::Options;
use crate::output::clean;
use crate::advice::said;

/// Print the SHA-256 of the elements of each array
///
/// The digest is of the elements in C order, packed, little-endian: it does not depend on
/// compression, byte order, strides or generation, so that two files can be compared.
#[derive(Debug, Args)]
pub(crate) struct Digest {
    #[command(flatten)]
    files: Files,
}

impl Digest {
    /// Prints the digests.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        self.files.run(options, one)
    }
}

fn one(job: &mut Job<'_>) -> Result<Outcome> {
    let is_json = job.options.json;
    let opened = job.open().and_then(|file| Ok((file.digest()?, file)));
    let (entries, file) = match opened {
        Ok(found) => found,
        // A file whose tree cannot be read has no arrays, and an error at its root.
        Err(error) if is_json && error.kind() == ErrorKind::Malformed => {
            let text = said(&error);
            job.note(&format!("trilith: {}{text}", job.prefix(&text)));
            job.out.json(&json!({"file": job.name, "arrays": {}, "errors": {"": clean(&text)}}))?;
            return Ok(Outcome::No);
        }
        Err(error) => return Err(error),
    };
    let mut outcome = Outcome::Yes;
    let (mut arrays, mut errors) = (Map::new(), Map::new());
    for entry in entries {
        match entry.digest {
            Ok((array, sums)) if is_json => {
                arrays.insert(entry.path, array_json(&array, &sums));
            }
            Ok((array, sums)) => {
                let kind = clean(&crate::json::datatype_text(array.datatype())).into_owned();
                let path = job.labelled(&entry.path);
                job.out.line(&format!("{}  {kind}  {:?}  {path}", hex(&sums.sha256), array.shape()))?;
            }
            Err(error) => {
                outcome = outcome.max(if error.kind() == ErrorKind::Malformed { Outcome::No } else { Outcome::Failed });
                if is_json {
                    errors.insert(entry.path, json!(clean(&said(&error))));
                } else {
                    job.note(&job.reason(&entry.path, &error));
                }
            }
        }
    }
    if is_json {
        job.out.json(&json!({"file": job.name, "arrays": arrays, "errors": errors}))?;
    }
    job.warn_all(file.warnings());
    Ok(outcome)
}

fn array_json(array: &Array, sums: &Sums) -> Value {
    let mut value = json!({
        "datatype": datatype(array.datatype()),
        "shape": array.shape(),
        "sha256": hex(&sums.sha256),
    });
    if let Some(mask) = sums.mask_sha256 {
        value["mask_sha256"] = json!(hex(&mask));
    }
    value
}
