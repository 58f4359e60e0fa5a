//! The files that a reading command goes through: files, folders, patterns, lists and addresses. They are worked on side
//! by side, and what comes out is in their order.
//!
//! One plain FILE is read as if there were nothing else here: its output goes straight out and its error ends the
//! command. Several are *jobs*: what each says is held back until it is its turn, an error is reported and the others go
//! on, and the exit status is that of the worst.

mod array_selection;
mod buffered_output;
mod file_names;

use std::io::Write;

use clap::Args;
use serde_json::{Value, json};
use trilith::asdf::AsdfFile;
use trilith::asdf::Notes;
use trilith::bytes::shown_name;
use trilith::file::Gather;
use trilith::{Error, ErrorKind, File, Limits, Result};
use trilith_io::threads::{Turn, in_order};

pub(crate) use self::array_selection::{Parts, run_each};
pub(crate) use self::buffered_output::Held;
use self::buffered_output::Shared;
use self::file_names::{Input, Names};
use crate::Outcome;
use crate::advice::said;
use crate::item_arg::Item;
use crate::json::{error_json, error_problem, whole};
use crate::options::Options;
use crate::output::{Out, is_broken_pipe, is_no, json_text, json_value, note};
use crate::outputs::told;

/// Sources of a command's files, besides its arguments.
#[derive(Debug, Args)]
pub(crate) struct Many {
    /// Also use the files in this list, one name a line; - for standard input
    #[arg(long, value_name = "LIST")]
    files_from: Option<String>,
    /// The names of --files-from end with a NUL byte, as find -print0 writes them
    #[arg(short = '0', long = "null", requires = "files_from")]
    null: bool,
    /// In folders, also hidden files and folders
    #[arg(long)]
    hidden: bool,
}

/// The files of a command that reads any number of them.
#[derive(Debug, Args)]
pub(crate) struct Files {
    /// Files, folders, patterns and URLs, or - for standard input
    #[arg(value_name = "FILE", required_unless_present = "files_from")]
    pub files: Vec<String>,
    #[command(flatten)]
    pub many: Many,
}

impl Files {
    /// Does `work` on each, as [`run`].
    pub(crate) fn run(&self, options: &Options, work: impl Fn(&mut Job<'_>) -> Result<Outcome> + Sync) -> Result<Outcome> {
        run(&self.files, Form::Files, &self.many, options, work)
    }
}

/// The interpretation of the arguments of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `FILE`
    Files,
    /// `FILE#/path`
    Items,
}

/// A file that a command works on.
pub(crate) struct Job<'o> {
    /// The file; `-` is standard input.
    pub name: String,
    /// The part after `#`.
    pub path: Option<String>,
    /// The destination of its results.
    pub out: Out,
    /// `true` if there may be others: then each result names its file.
    pub several: bool,
    /// The options of the command.
    pub options: &'o Options,
    /// Number of files before this one.
    pub index: usize,
    limits: Limits,
    notes: Vec<String>,
    followed: Vec<Notes>,
}

/// The result of a job.
struct Done {
    held: Option<Held>,
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
    form: Form,
    many: &Many,
    options: &Options,
    work: impl Fn(&mut Job<'_>) -> Result<Outcome> + Sync,
) -> Result<Outcome> {
    run_with(arguments, form, many, options, None, work)
}

/// The first argument, which may begin with a hyphen (`-#/path`), and those after it, which may not: options are among
/// them.
pub(crate) fn joined(first: Option<&String>, more: &[String]) -> Vec<String> {
    first.into_iter().chain(more).cloned().collect()
}

/// Returns `true` if there may be several files, so that each result names its file.
pub(crate) fn is_several(arguments: &[String], form: Form, many: &Many) -> bool {
    match (arguments, &many.files_from) {
        ([argument], None) => Gather::is_several(&item_of(argument, form).file),
        _ => true,
    }
}

/// A check of each item, in their order. If it fails, no work is done.
pub(crate) type Admit<'a> = &'a mut (dyn FnMut(&Item) -> Result<()> + Send);

/// Does the same as [`run`], for a command that writes a file for each: `admit` checks all of them before any work
/// begins, and none of them may be overwritten.
///
/// # Errors
/// Returns the errors of [`run`] and of `admit`.
pub(crate) fn run_with(
    arguments: &[String],
    form: Form,
    many: &Many,
    options: &Options,
    mut admit: Option<Admit<'_>>,
    work: impl Fn(&mut Job<'_>) -> Result<Outcome> + Sync,
) -> Result<Outcome> {
    if let ([argument], false) = (arguments, is_several(arguments, form, many)) {
        let item = item_of(argument, form);
        if let Some(admit) = &mut admit {
            admit(&item)?;
        }
        let mut job = Job::single(item, options)?;
        let outcome = work(&mut job)?;
        job.out.finish()?;
        return Ok(outcome);
    }
    let gather = Gather::new().hidden(many.hidden).all(options.under.is_some()).remote(options.remote()?);
    let mut names = Names::new(arguments, form, many, gather, options)?;
    let shared = Shared::default();
    let (mut outcome, mut count) = (Outcome::Yes, 0u64);
    let waiting = names.waiting();
    let mut ahead = Vec::new();
    if let Some(admit) = admit {
        for input in names.by_ref() {
            if input.problem.is_none() {
                admit(&input.item)?;
            }
            options.add_input(input.item.file.clone());
            ahead.push(input);
        }
    }
    let jobs = ahead.into_iter().chain(names.by_ref());
    in_order(
        jobs,
        waiting,
        |input, turn| one(input, turn, &shared, options, &work),
        |done| {
            let done = done?;
            count += 1;
            outcome = outcome.max(done.outcome);
            if let Some(held) = done.held {
                held.release()?;
            }
            done.notes.iter().for_each(|text| note(text));
            Ok(())
        },
    )?;
    shared.finish()?;
    names.report(count, options)?;
    Ok(outcome)
}

/// Does the work on one file of several. An error here ends the command.
fn one(
    input: Input,
    turn: &Turn,
    shared: &Shared,
    options: &Options,
    work: &(impl Fn(&mut Job<'_>) -> Result<Outcome> + Sync),
) -> Result<Done> {
    let limits = options.limits()?.for_command(0);
    let held = Held::new(turn.clone(), shared.clone(), options.json);
    let mut job = Job {
        name: input.item.file,
        path: input.item.path,
        out: Out::held(held, limits.clone()),
        several: true,
        options,
        index: turn.index(),
        limits,
        notes: Vec::new(),
        followed: Vec::new(),
    };
    let worked = match input.problem {
        Some(problem) => Err(problem),
        None => work(&mut job),
    };
    let followed = std::mem::take(&mut job.followed);
    job.warn_all(followed.iter().flat_map(Notes::remarks));
    let outcome = match worked {
        Ok(outcome) => outcome,
        // After a broken pipe nobody reads the output.
        Err(error) if is_broken_pipe(&error) => return Err(error),
        Err(error) => return job.failed(&error),
    };
    Ok(Done { held: job.out.into_held(), notes: job.notes, outcome })
}

impl<'o> Job<'o> {
    fn single(item: Item, options: &'o Options) -> Result<Self> {
        Ok(Self {
            name: item.file,
            path: item.path,
            out: Out::new(),
            several: false,
            options,
            index: 0,
            limits: options.limits()?,
            notes: Vec::new(),
            followed: Vec::new(),
        })
    }

    /// Reports an error of one file of several. In JSON it has a separate line.
    fn failed(mut self, error: &Error) -> Result<Done> {
        let text = said(error);
        self.note(&format!("trilith: {}{text}", self.prefix(&text)));
        let is_answer = self.options.malformed_is_no && error.kind() == ErrorKind::Malformed;
        let is_json = self.options.json;
        let line = json_value(&json!({"file": self.name, "error": error_json(error)})) + "\n";
        let mut held = self.out.into_held();
        if let (true, Some(held)) = (is_json, &mut held) {
            held.replace(&line)?;
        }
        Ok(Done { held, notes: self.notes, outcome: if is_answer { Outcome::No } else { Outcome::Failed } })
    }

    /// Opens the file, whatever its family.
    pub(crate) fn open(&mut self) -> Result<File> {
        if !self.several {
            return self.options.open_file(&self.name);
        }
        let file = self.options.open_one(&self.name, &self.limits)?;
        self.followed.extend(file.as_asdf().map(|file| file.notes().clone()));
        Ok(file)
    }

    /// Opens the file as one of the ASDF family.
    pub(crate) fn open_asdf(&mut self) -> Result<AsdfFile> {
        if !self.several {
            return self.options.open_asdf(&self.name);
        }
        let file = self.options.open_one_asdf(&self.name, &self.limits)?;
        self.followed.push(file.notes().clone());
        Ok(file)
    }

    /// Returns the limits on the cost of reading the file.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
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
    pub(crate) fn labelled(&self, path: &str) -> String {
        if self.several { format!("{}#{path}", self.name) } else { path.to_owned() }
    }

    /// The reason why an item cannot be read, after its path.
    pub(crate) fn reason(&self, path: &str, error: &Error) -> String {
        let text = said(error);
        let reason = text.strip_prefix(path).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&text);
        format!("{}: {reason}", self.labelled(path))
    }

    /// Returns the prefix of a message: the name of the file if there are several, unless the message has it.
    pub(crate) fn prefix(&self, text: &str) -> String {
        if self.several && !text.contains(&*shown_name(&self.name)) && !text.contains(&self.name) {
            format!("{}: ", self.name)
        } else {
            String::new()
        }
    }

    /// Writes the JSON document that `write` makes; if there are several files, under `name`, with the file and the path.
    pub(crate) fn json_value(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        if self.several {
            let (file, path) = (json_text(&self.name), json_text(self.item_path()));
            self.out.raw(&format!("{{\"file\":{file},\"path\":{path},\"{name}\":"))?;
        }
        whole(&mut self.out, write)?;
        self.out.raw(if self.several { "}\n" } else { "\n" })
    }

    /// Says what was written for the file: JSON on stdout, or a line on stderr.
    pub(crate) fn told(&mut self, output: &str, mut json: Value, line: &str) -> Result<()> {
        if !self.several {
            return told(output, &json, line, self.options);
        }
        if self.options.json {
            (json["file"], json["output"]) = (json!(self.name), json!(output));
            return self.out.json(&json);
        }
        if !self.options.quiet {
            self.note(line);
        }
        Ok(())
    }

    /// Prints the name of the file before text of several lines, if there are several files.
    pub(crate) fn heading(&mut self) -> Result<()> {
        if !self.several {
            return Ok(());
        }
        if self.index > 0 {
            self.out.line("")?;
        }
        let label = self.label();
        self.out.line(&format!("{label}:"))
    }

    /// Prints an empty line between the texts of several files.
    pub(crate) fn gap(&mut self) -> Result<()> {
        if self.several && self.index > 0 { self.out.line("") } else { Ok(()) }
    }

    /// Prints a line on stderr.
    pub(crate) fn note(&mut self, text: &str) {
        if self.several { self.notes.push(text.to_owned()) } else { note(text) }
    }

    /// Prints a warning on stderr, unless `--quiet`.
    pub(crate) fn warn(&mut self, text: &str) {
        if !self.options.quiet {
            self.note(&format!("warning: {}{text}", self.prefix(text)));
        }
    }

    /// Says that the file is malformed, if that is an answer.
    pub(crate) fn invalid(&mut self, error: &Error) -> Result<Outcome> {
        if self.options.json {
            self.out.json(&json!({"file": self.name, "valid": false, "problems": [error_problem(error, None, None)]}))?;
        } else {
            self.out.line(&format!("{}: {}", self.name, said(error)))?;
        }
        Ok(Outcome::No)
    }

    /// Prints warnings on stderr, unless `--quiet`.
    pub(crate) fn warn_all(&mut self, warnings: impl IntoIterator<Item = String>) {
        warnings.into_iter().for_each(|warning| self.warn(&warning));
    }

    /// Returns the target of a path, or reports that there is none and returns None.
    pub(crate) fn found<T>(&mut self, item: Result<T>) -> Result<Option<T>> {
        let error = match item {
            Ok(item) => return Ok(Some(item)),
            Err(error) if is_no(&error) => error,
            Err(error) => return Err(error),
        };
        let text = said(&error);
        self.note(&format!("trilith: {}{text}", self.prefix(&text)));
        if self.several && self.options.json {
            self.out.json(&json!({"file": self.name, "error": error_json(&error)}))?;
        }
        Ok(None)
    }
}

/// Returns the item that an argument names.
fn item_of(argument: &str, form: Form) -> Item {
    match form {
        Form::Files => Item { file: argument.to_owned(), path: None },
        Form::Items => Item::parse(argument),
    }
}
