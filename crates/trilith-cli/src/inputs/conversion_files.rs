//! The files of a command that writes a file in another form: `IN OUT`, or `IN… -o '{stem}.asdf'`.

use std::path::Path;

use clap::Args;
use trilith::{Error, ErrorKind, Result};

use super::{ArgumentKind, FileJob, FileListArgs, is_several, run_each};
use crate::item_arg::ItemArg;
use crate::outcome::Outcome;
use crate::outputs::OutputTemplate;
use crate::session::Session;

/// Inputs and outputs of a conversion.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConversionFiles {
    /// The file to read, or - for standard input, and the file to write, or - for standard output; with -o any number of
    /// files to read, folders and patterns
    #[arg(value_name = "IN", required_unless_present = "files_from")]
    files: Vec<String>,
    /// Write to this file, which may be IN. In the name {stem} is the input without its extension: several inputs need it
    #[arg(short, long, value_name = "OUT")]
    output: Option<String>,
    #[command(flatten)]
    many: FileListArgs,
}

impl ConversionFiles {
    /// Does `work` on each input.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if there are not exactly two arguments and no `-o`, and
    /// the errors of [`run_each`].
    pub(crate) fn run(
        &self,
        session: &Session<'_>,
        work: impl Fn(&mut FileJob<'_>, &str) -> Result<Outcome> + Sync,
    ) -> Result<Outcome> {
        let Some(output) = &self.output else {
            return match self.files.as_slice() {
                [input, output] if !self.is_list() => convert_one(input, output, session, work),
                files => Err(count_error(files)),
            };
        };
        match self.files.as_slice() {
            [input] if !self.is_list() && (output == "-" || !is_several(&self.files, ArgumentKind::Files, &self.many)) => {
                let outputs = OutputTemplate::new(Some(output));
                let output = outputs.file_for_item(input, "").unwrap_or_else(|| output.clone());
                return convert_one(input, &output, session, work);
            }
            _ => {}
        }
        let outputs = OutputTemplate::new(Some(output));
        if outputs.output_path().is_none() {
            return Err(Error::invalid_input("several files cannot all be written to standard output")
                .hint("put {stem} into the name of the output: -o '{stem}.asdf'"));
        }
        run_each(&self.files, ArgumentKind::Files, &self.many, outputs, session, |job| {
            let Some(output) = outputs.file_for_item(&job.name, "") else { return Ok(Outcome::Failed) };
            work(job, &output)
        })
    }

    fn is_list(&self) -> bool {
        self.many.files_from.is_some()
    }
}

fn convert_one(
    input: &str,
    output: &str,
    session: &Session<'_>,
    work: impl Fn(&mut FileJob<'_>, &str) -> Result<Outcome>,
) -> Result<Outcome> {
    let mut job = FileJob::from_item(ItemArg { file: input.to_owned(), path: None }, session);
    let outcome = work(&mut job, output).map_err(|error| {
        // Not every reader knows the name of its bytes.
        let error = if error.kind() == ErrorKind::Malformed { error.in_item(input, "") } else { error };
        let is_folder = |name: &str| Path::new(name).is_dir();
        match error.advice() {
            None if is_folder(output) => {
                error.hint(format!("name the files to write: -o '{}/{{stem}}.asdf'", output.trim_end_matches('/')))
            }
            None if is_folder(input) => {
                error.hint("the files of a folder need -o with {stem} in the name, such as -o 'OUT/{stem}.asdf'")
            }
            _ => error,
        }
    })?;
    job.out.finish()?;
    Ok(outcome)
}

/// The error for a number of files that does not name an input and an output.
#[cold]
fn count_error(files: &[String]) -> Error {
    let message = match files {
        [] | [_] => "cannot tell where to write: expected IN and OUT".to_owned(),
        files => format!("cannot tell which of {} files is written: expected IN and OUT", files.len()),
    };
    Error::invalid_input(message).hint("several inputs need -o with {stem} in the name, such as -o '{stem}.asdf'")
}
