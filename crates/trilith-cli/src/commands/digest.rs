//! `trilith digest FILE`: what the arrays hold, whatever way they are stored.

use clap::Args;
use serde_json::{Map, Value, json};
use trilith::Result;
use trilith::array::Array;
use trilith::digest::Digest as Sums;

use crate::Outcome;
use crate::json::{datatype, hex};
use crate::options::Options;
use crate::output::{Out, clean};
use crate::words::said;

/// Print the SHA-256 of what each array holds
///
/// The digest is of the elements in C order, packed, little-endian: it does not depend on
/// compression, byte order, strides or generation, so that two files can be compared.
#[derive(Debug, Args)]
pub struct Digest {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    file: String,
}

impl Digest {
    /// Prints the digests.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let mut out = Out::new();
        let opened = options.open_file(&self.file).and_then(|file| Ok((file.digest()?, file)));
        let (entries, file) = match opened {
            Ok(found) => found,
            Err(error) => {
                // A file whose tree cannot be read has no arrays, and an error at its root.
                if options.json && error.kind() == trilith::Kind::Malformed {
                    out.json(&json!({"file": self.file, "arrays": {}, "errors": {"": clean(&said(&error))}}))?;
                    out.finish()?;
                }
                return Err(error);
            }
        };
        let mut failed = false;
        let (mut arrays, mut errors) = (Map::new(), Map::new());
        for entry in entries {
            match entry.digest {
                Ok((array, sums)) if options.json => {
                    arrays.insert(entry.path, array_json(&array, &sums));
                }
                Ok((array, sums)) => {
                    let kind = clean(&crate::json::datatype_text(array.datatype())).into_owned();
                    out.line(&format!("{}  {kind}  {:?}  {}", hex(&sums.sha256), array.shape(), entry.path))?;
                }
                Err(error) => {
                    failed = true;
                    if options.json {
                        errors.insert(entry.path, json!(clean(&said(&error))));
                    } else {
                        crate::output::note(&format!("{}: {}", entry.path, said(&error)));
                    }
                }
            }
        }
        if options.json {
            out.json(&json!({"file": self.file, "arrays": arrays, "errors": errors}))?;
        }
        options.warn_all(file.warnings());
        out.finish()?;
        Ok(if failed { Outcome::No } else { Outcome::Yes })
    }
}

fn array_json(array: &Array, sums: &Sums) -> Value {
    let mut value = json!({
        "datatype": datatype(array.datatype()),
        "shape": array.shape(),
        "sha256": hex(&sums.sha256),
    });
    if let (Some(mask), Some(object)) = (sums.mask_sha256, value.as_object_mut()) {
        object.insert("mask_sha256".to_owned(), json!(hex(&mask)));
    }
    value
}
