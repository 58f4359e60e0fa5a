//! `trilith manifest FILE… -o refs.json`: the byte ranges of chunks, for Zarr programs.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use serde_json::json;
use trilith::bytes::{is_url, display_name};
use trilith_io::error::count_noun;
use trilith::hierarchy::{Hierarchy, KerchunkOptions, KerchunkReferences, stored_name};
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::inputs::{self, ItemCheck, ArgumentKind as Names, FileListArgs, is_several};
use crate::session::{FileRole, Session};
use crate::output::escape_controls;
use crate::outputs::{FileFormat, check_name, expand_template, report_written};
use crate::output_file::OutputFile;
use crate::advice::error_with_advice;

/// Write the byte ranges of the chunks of files, for Kerchunk
///
/// Programs that read Kerchunk references (fsspec, xarray, VirtualiZarr) then read the arrays from the files themselves,
/// by Zarr, without Trilith and without a copy. With several files, each is a group with the name of the file without
/// its extension. An array that Zarr cannot decode chunk by chunk is an error. --skip leaves it out.
#[derive(Debug, Args)]
pub(crate) struct Manifest {
    /// Files, folders, patterns and URLs
    #[arg(value_name = "FILE", required_unless_present = "files_from")]
    files: Vec<String>,
    #[command(flatten)]
    list_args: FileListArgs,
    /// The file to write, .json; - for standard output
    #[arg(short, long, value_name = "OUT")]
    output: String,
    /// Rows of the first axis in a chunk of uncompressed elements; their number must divide that of the rows
    /// (default: chunks of about 4 MiB)
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
    /// Embed arrays of up to this number of bytes that cannot be referred to
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    inline: u64,
    /// Leave out arrays that cannot be read or referred to, with a warning
    #[arg(long, visible_alias = "skip-unreadable")]
    skip: bool,
}

/// References of one input file.
struct FileReferences {
    name: String,
    group: String,
    references: KerchunkReferences,
}

impl Manifest {
    /// Writes the references.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let hint = "name it .json; for Parquet use Python: trilith.virtual.Parser, and to_kerchunk(..., format=\"parquet\") of virtualizarr";
        check_name(&self.output, FileFormat::Json, hint)?;
        let several = is_several(&self.files, Names::Files, &self.list_args);
        let mut how = KerchunkOptions::default();
        (how.rows, how.inline) = (self.rows, self.inline);
        let found = Mutex::new(BTreeMap::new());
        let mut admit = |_: &_| Ok(());
        let admit: Option<ItemCheck<'_>> = if self.output == "-" { None } else { Some(&mut admit) };
        let outcome = inputs::run_checked(&self.files, Names::Files, &self.list_args, session, admit, |job| {
            if job.name == "-" {
                return Err(Error::invalid_input("references are to files, and standard input is none"));
            }
            let file = job.open(FileRole::Any)?;
            let group = if several { stored_name(&expand_template("{stem}", &job.name, "")) } else { String::new() };
            let mut references = KerchunkReferences::default();
            references.add(Hierarchy::build(&file)?, &group, &how)?;
            job.warn_all(file.warnings());
            if is_url(&job.name) && display_name(&job.name) != job.name {
                job.print_warning("the references leave out the user, password and signature of the URL, so programs need them to read it");
            }
            let one = FileReferences { name: job.name.clone(), group, references };
            found.lock().unwrap_or_else(PoisonError::into_inner).insert(job.index, one);
            Ok(Outcome::Success)
        })?;
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let references = self.merge_references(found, session)?;
        self.write_references(&references, session)?;
        Ok(outcome)
    }

    /// The references of all files, in their order.
    fn merge_references(&self, found: BTreeMap<usize, FileReferences>, session: &Session<'_>) -> Result<KerchunkReferences> {
        let (mut made, mut taken) = (KerchunkReferences::new(), HashSet::new());
        for FileReferences { name, group, references } in found.into_values() {
            if !taken.insert(group.clone()) {
                return Err(Error::invalid_input(format!("two files would be the group {group}: the second is {name}"))
                    .hint("write references for each folder by itself"));
            }
            made.append(references);
        }
        let refused: Vec<String> = made.refused.iter().map(|(path, error)| format!("{path}: {}", error_with_advice(error))).collect();
        if !self.skip
            && let Some((path, reason)) = made.refused.first()
        {
            let more = if refused.len() == 1 { String::new() } else { format!(" and {} more", refused.len() - 1) };
            return Err(Error::unsupported(format!("{path}{more} cannot be referred to: {}", escape_controls(&error_with_advice(reason))))
                .hint("--skip leaves out such arrays; trilith.zarr.Store in Python reads all of them"));
        }
        let form = "its lists are numbered arrays in a group, since Zarr has no arrays of lists";
        let lists = made.lists.iter().map(|path| format!("{path}: {form}"));
        let left_out = refused.into_iter().map(|line| format!("left out: {line}"));
        session.warn_all(left_out.chain(lists).collect::<Vec<_>>());
        Ok(made)
    }

    fn write_references(&self, references: &KerchunkReferences, session: &Session<'_>) -> Result<()> {
        session.check_inputs(&self.output, &[])?;
        let written = OutputFile::write_text(&self.output, &format!("{}\n", references.json()), session)?;
        let report = json!({
            "file": self.output, "written": true, "size": written, "arrays": references.arrays, "chunks": references.chunks,
        });
        let (arrays, chunks) = (count_noun(references.arrays, "array"), count_noun(references.chunks, "chunk"));
        report_written(&self.output, &report, &format!("{}: {arrays}, {chunks}", self.output), session)
    }
}
