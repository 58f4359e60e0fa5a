//! The files that a reading command goes through: files, folders, patterns, lists and addresses. They are worked on side
//! by side, and what comes out is in their order.
//!
//! One plain FILE is read as if there were nothing else here: its output goes straight out and its error ends the
//! command. Several are *jobs*: what each says is held back until it is its turn, an error is reported and the others go
//! on, and the exit status is that of the worst.

mod array_selection;
mod conversion_files;
mod file_names;

use std::io::Write;

use clap::Args;
use serde_json::{Value, json};
use trilith::bytes::display_name;
use trilith::file::FileFinder;
use trilith::{Error, File, Limits, Result};
use trilith_io::threads::{JobTurn, map_in_order};

pub(crate) use self::array_selection::{ArraySelection, run_each};
pub(crate) use self::conversion_files::ConversionFiles;
use self::file_names::{InputFile, InputNames};
use crate::advice::error_with_advice;
use crate::buffered_output::{BufferedOutput, SharedStdout};
use crate::item_arg::ItemArg;
use crate::json::{error_json, error_problem, write_complete};
use crate::outcome::Outcome;
use crate::output::{Output, eprint_line, is_broken_pipe, is_negative_result, json_text, json_value};
use crate::outputs::report_written;
use crate::session::{FileRole, Session};

/// Sources of a command's files, besides its arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct FileListArgs {
    /// Also use the files in this list, one name a line; - for standard input
    #[arg(long, value_name = "LIST")]
    files_from: Option<String>,
    /// Names in the list are NUL-separated (find -print0)
    #[arg(short = '0', long = "null", requires = "files_from")]
    null: bool,
    /// Include hidden files and folders
    #[arg(long)]
    hidden: bool,
}

impl FileListArgs {
    /// Returns `true` if a list names files.
    pub(crate) fn is_given(&self) -> bool {
        self.files_from.is_some()
    }
}

/// The files of a command that reads any number of them.
#[derive(Debug, Args)]
pub(crate) struct InputFiles {
    /// Files, folders, patterns and URLs, or - for standard input
    #[arg(value_name = "FILE", required_unless_present = "files_from")]
    pub files: Vec<String>,
    #[command(flatten)]
    pub list_args: FileListArgs,
}

impl InputFiles {
    /// Does `work` on each, as [`run`].
    pub(crate) fn run(
        &self,
        session: &Session<'_>,
        work: impl Fn(&mut FileJob<'_>) -> Result<Outcome> + Sync,
    ) -> Result<Outcome> {
        run(&self.files, ArgumentKind::Files, &self.list_args, session, work)
    }
}

/// The interpretation of the arguments of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    /// `FILE`
    Files,
    /// `FILE#/path`
    Items,
}

/// A file that a command works on.
pub(crate) struct FileJob<'o> {
    /// The file; `-` is standard input.
    pub name: String,
    /// The part after `#`.
    pub path: Option<String>,
    /// The destination of its results.
    pub out: Output,
    /// `true` if there may be others: then each result names its file.
    pub is_one_of_many: bool,
    /// The run of the command, or what is separate for this file of several.
    pub session: &'o Session<'o>,
    /// Number of files before this one.
    pub index: usize,
    notes: Vec<String>,
    /// The reason for which the file as a whole is not what its metadata state, once it is open.
    damage: Option<String>,
}

/// The result of a job.
struct JobResult {
    output: Option<BufferedOutput>,
    notes: Vec<String>,
    outcome: Outcome,
}

/// Does `work` on every file that the arguments name.
///
/// # Errors
/// Returns the error of `work` if there is one plain FILE. Otherwise returns an error if nothing is found or if
/// standard output fails.
pub(crate) fn run(
    arguments: &[String],
    form: ArgumentKind,
    many: &FileListArgs,
    session: &Session<'_>,
    work: impl Fn(&mut FileJob<'_>) -> Result<Outcome> + Sync,
) -> Result<Outcome> {
    run_checked(arguments, form, many, session, None, work)
}

/// The first argument, which may begin with a hyphen (`-#/path`), and those after it, which may not: options are among
/// them.
pub(crate) fn all_arguments(first: Option<&String>, more: &[String]) -> Vec<String> {
    first.into_iter().chain(more).cloned().collect()
}

/// Returns `true` if there may be several files, so that each result names its file.
pub(crate) fn is_several(arguments: &[String], form: ArgumentKind, many: &FileListArgs) -> bool {
    match (arguments, &many.files_from) {
        ([argument], None) => FileFinder::is_several(&item_of(argument, form).file),
        _ => true,
    }
}

/// A check of each item, in their order. If it fails, no work is done.
pub(crate) type ItemCheck<'a> = &'a mut (dyn FnMut(&ItemArg) -> Result<()> + Send);

/// Does the same as [`run`], for a command that writes a file for each: `admit` checks all of them before any work
/// begins, and none of them may be overwritten.
///
/// # Errors
/// Returns the errors of [`run`] and of `admit`.
pub(crate) fn run_checked(
    arguments: &[String],
    form: ArgumentKind,
    many: &FileListArgs,
    session: &Session<'_>,
    mut admit: Option<ItemCheck<'_>>,
    work: impl Fn(&mut FileJob<'_>) -> Result<Outcome> + Sync,
) -> Result<Outcome> {
    if let ([argument], false) = (arguments, is_several(arguments, form, many)) {
        let item = item_of(argument, form);
        if let Some(admit) = &mut admit {
            admit(&item)?;
        }
        let mut job = FileJob::from_item(item, session);
        let outcome = work(&mut job)?;
        job.out.finish()?;
        return Ok(outcome);
    }
    let gather =
        FileFinder::new().include_hidden(many.hidden).all_files(session.args.under.is_some()).remote(session.remote_options()?);
    let mut names = InputNames::new(arguments, form, many, gather, session)?;
    let shared = SharedStdout::default();
    let (mut outcome, mut count) = (Outcome::Success, 0u64);
    let waiting = names.max_in_flight();
    let mut ahead = Vec::new();
    if let Some(admit) = admit {
        for input in names.by_ref() {
            if input.problem.is_none() {
                admit(&input.item)?;
            }
            session.add_input(input.item.file.clone());
            ahead.push(input);
        }
    }
    let jobs = ahead.into_iter().chain(names.by_ref());
    map_in_order(
        jobs,
        waiting,
        |input, turn| run_job(input, turn, &shared, session, &work),
        |done| {
            let done = done?;
            count += 1;
            outcome = outcome.max(done.outcome);
            if let Some(held) = done.output {
                held.release()?;
            }
            done.notes.iter().for_each(|text| eprint_line(text));
            Ok(())
        },
    )?;
    shared.flush_all()?;
    names.report_skipped(count, session)?;
    Ok(outcome)
}

/// Does the work on one file of several. An error here ends the command.
fn run_job(
    input: InputFile,
    turn: &JobTurn,
    shared: &SharedStdout,
    session: &Session<'_>,
    work: &(impl Fn(&mut FileJob<'_>) -> Result<Outcome> + Sync),
) -> Result<JobResult> {
    let session = &session.for_job();
    let held = BufferedOutput::new(turn.clone(), shared.clone(), session.args.json);
    let mut job = FileJob {
        name: input.item.file,
        path: input.item.path,
        out: Output::buffered(held, session.limits().clone()),
        is_one_of_many: true,
        session,
        index: turn.index(),
        notes: Vec::new(),
        damage: None,
    };
    let worked = match input.problem {
        Some(problem) => Err(problem),
        None => work(&mut job),
    };
    job.warn_all(session.take_reference_remarks());
    let outcome = match worked {
        Ok(outcome) => outcome,
        // After a broken pipe no process reads the output.
        Err(error) if is_broken_pipe(&error) => return Err(error),
        Err(error) => return job.finish_with_error(&error),
    };
    Ok(JobResult { output: job.out.into_buffered(), notes: job.notes, outcome })
}

impl<'o> FileJob<'o> {
    fn from_item(item: ItemArg, session: &'o Session<'o>) -> Self {
        let (out, notes, damage) = (Output::new(), Vec::new(), None);
        Self { name: item.file, path: item.path, out, is_one_of_many: false, session, index: 0, notes, damage }
    }

    /// Reports an error of one file of several. In JSON it has a separate line.
    fn finish_with_error(mut self, error: &Error) -> Result<JobResult> {
        let text = error_with_advice(error);
        self.print_note(&format!("trilith: {}{text}", self.error_prefix(&text)));
        let is_answer = self.session.rules.is_negative(error);
        let is_json = self.session.args.json;
        let line = json_value(&json!({"file": self.name, "error": error_json(error)})) + "\n";
        let mut held = self.out.into_buffered();
        if let (true, Some(held)) = (is_json, &mut held) {
            held.replace_output(&line)?;
        }
        Ok(JobResult { output: held, notes: self.notes, outcome: if is_answer { Outcome::Negative } else { Outcome::Failed } })
    }

    /// Opens the file, and warns if its end is missing: what it lacks may be what somebody looks for.
    pub(crate) fn open(&mut self, role: FileRole<'_>) -> Result<File> {
        let was_known = self.damage.is_some();
        let file = self.open_to_check(role)?;
        if let Some(damage) = self.damage.clone().filter(|_| !was_known) {
            self.print_unprinted(&damage);
        }
        Ok(file)
    }

    /// Opens the file for a check, which reports the damage itself.
    pub(crate) fn open_to_check(&mut self, role: FileRole<'_>) -> Result<File> {
        let file = self.session.open(&self.name, role)?;
        self.damage = file.damage().map(|error| error.to_string());
        Ok(file)
    }

    /// Returns the limits on the cost of reading the file.
    pub(crate) fn limits(&self) -> &Limits {
        self.session.limits()
    }

    /// The path after `#`, or the root.
    pub(crate) fn item_path(&self) -> &str {
        self.path.as_deref().unwrap_or("")
    }

    /// The file with the path after it.
    pub(crate) fn label(&self) -> String {
        match &self.path {
            Some(path) => format!("{}#{path}", self.name),
            None => self.name.clone(),
        }
    }

    /// A path in the file; of several, after the name of the file.
    pub(crate) fn path_label(&self, path: &str) -> String {
        if self.is_one_of_many { format!("{}#{path}", self.name) } else { path.to_owned() }
    }

    /// The reason why an item cannot be read, after its path.
    pub(crate) fn unreadable_reason(&self, path: &str, error: &Error) -> String {
        let text = error_with_advice(error);
        let reason = text.strip_prefix(path).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&text);
        format!("{}: {reason}", self.path_label(path))
    }

    /// Returns the prefix of an error: the name of the file, unless the message has it.
    pub(crate) fn error_prefix(&self, text: &str) -> String {
        let is_input = self.name == "-" && !self.is_one_of_many;
        if !is_input && !text.contains(&*display_name(&self.name)) && !text.contains(&self.name) {
            format!("{}: ", self.name)
        } else {
            String::new()
        }
    }

    /// Returns the prefix of a warning: the name of the file if there are several, unless the message has it.
    fn warning_prefix(&self, text: &str) -> String {
        if self.is_one_of_many { self.error_prefix(text) } else { String::new() }
    }

    /// Writes the JSON document that `write` makes; if there are several files, under `name`, with the file and the path.
    pub(crate) fn json_value(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        if self.is_one_of_many {
            let (file, path) = (json_text(&self.name), json_text(self.item_path()));
            self.out.write_raw_text(&format!("{{\"file\":{file},\"path\":{path},\"{name}\":"))?;
        }
        write_complete(&mut self.out, write)?;
        self.out.write_raw_text(if self.is_one_of_many { "}\n" } else { "\n" })
    }

    /// Says what was written for the file: JSON on stdout, or a line on stderr.
    pub(crate) fn report_written(&mut self, output: &str, mut json: Value, line: &str) -> Result<()> {
        if !self.is_one_of_many {
            return report_written(output, &json, line, self.session);
        }
        if self.session.args.json {
            (json["file"], json["output"]) = (json!(self.name), json!(output));
            return self.out.write_json(&json);
        }
        if !self.session.args.quiet {
            self.print_note(line);
        }
        Ok(())
    }

    /// Prints the name of the file before text of several lines, if there are several files.
    pub(crate) fn print_heading(&mut self) -> Result<()> {
        if !self.is_one_of_many {
            return Ok(());
        }
        if self.index > 0 {
            self.out.write_line("")?;
        }
        let label = self.label();
        self.out.write_line(&format!("{label}:"))
    }

    /// Prints an empty line between the outputs of several files.
    pub(crate) fn print_separator(&mut self) -> Result<()> {
        if self.is_one_of_many && self.index > 0 { self.out.write_line("") } else { Ok(()) }
    }

    /// Prints a line on stderr.
    pub(crate) fn print_note(&mut self, text: &str) {
        if self.is_one_of_many { self.notes.push(text.to_owned()) } else { eprint_line(text) }
    }

    /// Says on stderr that the file has nothing to list, as in `no blocks`; nothing in JSON, which has an empty list.
    pub(crate) fn note_lack(&mut self, lack: &str) {
        if !self.session.args.quiet && !self.session.args.json {
            let label = self.label();
            self.print_note(&format!("trilith: {label}: {lack}"));
        }
    }

    /// Prints a warning on stderr, unless `--quiet`, or unless it is the damage, which is printed when the file is opened.
    pub(crate) fn print_warning(&mut self, text: &str) {
        if self.damage.as_deref() != Some(text) {
            self.print_unprinted(text);
        }
    }

    fn print_unprinted(&mut self, text: &str) {
        if !self.session.args.quiet {
            self.print_note(&format!("warning: {}{text}", self.warning_prefix(text)));
        }
    }

    /// Returns a problem as a line that begins with the name of the file, and the path of the item if there is one.
    pub(crate) fn problem_line(&self, path: &str, error: &Error) -> String {
        let text = error_with_advice(error);
        if !path.is_empty() {
            let reason = text.strip_prefix(path).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&text);
            return format!("{}: {path}: {reason}", self.name);
        }
        let shown = display_name(&self.name);
        match text.strip_prefix(&*self.name).or_else(|| text.strip_prefix(&*shown)) {
            // The error names the file and its format, or the file alone.
            Some(rest) => match rest.strip_prefix(", ").or_else(|| rest.strip_prefix(": ")) {
                Some(reason) => format!("{}: {reason}", self.name),
                None => text,
            },
            None => format!("{}: {text}", self.name),
        }
    }

    /// Says that the file is malformed, if that is an answer.
    pub(crate) fn report_malformed(&mut self, error: &Error) -> Result<Value> {
        if self.session.args.json {
            return Ok(json!({"file": self.name, "valid": false, "problems": [error_problem(error, None, None)]}));
        }
        let line = self.problem_line("", error);
        self.out.write_line(&line)?;
        Ok(Value::Null)
    }

    /// Prints warnings on stderr, unless `--quiet`.
    pub(crate) fn warn_all(&mut self, warnings: impl IntoIterator<Item = String>) {
        warnings.into_iter().for_each(|warning| self.print_warning(&warning));
    }

    /// Returns the target of a path, or reports that there is none and returns None.
    pub(crate) fn report_missing<T>(&mut self, item: Result<T>) -> Result<Option<T>> {
        let error = match item {
            Ok(item) => return Ok(Some(item)),
            Err(error) if is_negative_result(&error) => error,
            Err(error) => return Err(error),
        };
        let text = error_with_advice(&error);
        self.print_note(&format!("trilith: {}{text}", self.error_prefix(&text)));
        if self.is_one_of_many && self.session.args.json {
            self.out.write_json(&json!({"file": self.name, "error": error_json(&error)}))?;
        }
        Ok(None)
    }
}

/// Returns the item that an argument names.
fn item_of(argument: &str, form: ArgumentKind) -> ItemArg {
    match form {
        ArgumentKind::Files => ItemArg { file: argument.to_owned(), path: None },
        ArgumentKind::Items => ItemArg::parse(argument),
    }
}
