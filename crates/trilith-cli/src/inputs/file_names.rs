//! The names of files, from arguments and lists.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Cursor, Read};

use trilith::bytes;
use trilith::file::{FileFinder, FileFinderIter};
use trilith::{Error, Result};

use super::{ArgumentKind, FileListArgs, item_of};
use crate::item_arg::ItemArg;
use crate::output::eprint_line;
use crate::session::Session;

/// Largest number of bytes of a listed name, with the byte that ends it.
const MAX_NAME_LEN: u64 = 64 << 10;
/// Servers are asked for this number of files at a time besides those that the cores work on.
const EXTRA_REMOTE_JOBS: usize = 8;

/// A file to be worked on, or what kept it from being found.
pub(super) struct InputFile {
    /// The file, and the path after `#`.
    pub item: ItemArg,
    /// The reason why it is missing.
    pub problem: Option<Error>,
}

/// Iterates over the files of all arguments, then over those of the list.
pub(super) struct InputNames {
    arguments: VecDeque<String>,
    /// The names of `--files-from`, which come last, and the byte that ends each.
    list: Option<(Box<dyn BufRead + Send>, u8)>,
    form: ArgumentKind,
    gather: FileFinder,
    /// The files of the present argument, and the path after it.
    is_list_open: Option<(FileFinderIter, Option<String>)>,
    skipped: u64,
    max_in_flight: usize,
}

/// Refuses an argument that is not a file, but the path of an item in the file before it.
fn check_item_paths(arguments: &[String], session: &Session<'_>) -> Result<()> {
    for pair in arguments.windows(2) {
        let [file, path] = pair else { continue };
        let is_candidate = path.starts_with('/') && !file.contains('#') && !bytes::is_url(file);
        if !is_candidate || bytes::path_of(path).exists() || FileFinder::is_several(path) || !bytes::path_of(file).is_file() {
            continue;
        }
        let opened = session.open_options().and_then(|opening| opening.open(bytes::path_of(file)));
        if opened.is_ok_and(|opened| opened.item(path).is_ok()) {
            let (file, path) = (bytes::display_name(file), bytes::display_name(path));
            return Err(Error::invalid_input(format!("there is no file {path}"))
                .hint(format!("for the item of {file} with this path, write '{file}#{path}'")));
        }
    }
    Ok(())
}

impl InputNames {
    /// The names of arguments and a list.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read, or if standard input is named twice.
    pub(super) fn new(
        arguments: &[String],
        form: ArgumentKind,
        many: &FileListArgs,
        gather: FileFinder,
        session: &Session<'_>,
    ) -> Result<Self> {
        let pipes = arguments.iter().filter(|argument| item_of(argument, form).file == "-").count();
        let is_list = many.files_from.as_deref() == Some("-");
        if pipes + usize::from(is_list) > 1 {
            return Err(Error::invalid_input("standard input (-) can be read only once"));
        }
        check_item_paths(arguments, session)?;
        let mut list = many.files_from.as_deref().map(|path| open_list(path, session)).transpose()?;
        let mut remote = arguments.iter().any(|argument| bytes::is_url(argument));
        if let Some(list) = &mut list {
            let start = list.fill_buf().map_err(|e| Error::io("reading the list of files", e))?;
            remote |= bytes::is_url(&String::from_utf8_lossy(start.get(..16).unwrap_or(start)));
        }
        Ok(Self {
            arguments: arguments.iter().cloned().collect(),
            list: list.map(|list| (list, if many.null { 0 } else { b'\n' })),
            form,
            gather,
            is_list_open: None,
            skipped: 0,
            max_in_flight: if remote { EXTRA_REMOTE_JOBS } else { 0 },
        })
    }

    /// Returns the number of files, beyond the number of cores, that may be worked on.
    pub(super) fn max_in_flight(&self) -> usize {
        self.max_in_flight
    }

    /// Says what was left out.
    ///
    /// # Errors
    /// Returns an error if there was no file at all.
    pub(super) fn report_skipped(&self, count: u64, session: &Session<'_>) -> Result<()> {
        let others = match self.skipped {
            0 => None,
            1 => Some("1 other file was skipped".to_owned()),
            n => Some(format!("{n} other files were skipped")),
        };
        if count == 0 {
            let others = others.map_or(String::new(), |others| format!(" ({others})"));
            return Err(Error::invalid_input(format!("no file of a known format was found{others}"))
                .hint("a file is always read when it is named itself"));
        }
        if let (Some(others), false) = (others, session.args.quiet) {
            eprint_line(&others);
        }
        Ok(())
    }

    /// The next name of the list.
    fn next_from_list(&mut self) -> Option<Result<String, InputFile>> {
        let problem =
            |name: String, error| Some(Err(InputFile { item: ItemArg { file: name, path: None }, problem: Some(error) }));
        loop {
            let (list, end) = self.list.as_mut()?;
            let mut line = Vec::new();
            if let Err(error) = list.take(MAX_NAME_LEN).read_until(*end, &mut line) {
                self.list = None;
                return problem("-".to_owned(), Error::io("reading the list of files", error));
            }
            if line.is_empty() {
                self.list = None;
                return None;
            }
            let is_line = *end == b'\n';
            if line.len() as u64 == MAX_NAME_LEN && line.last() != Some(end) {
                self.list = None;
                let hint = if is_line { "-0 reads names that end with a NUL byte" } else { "without -0 each line is a name" };
                return problem("-".to_owned(), Error::invalid_input("a name in the list of files is too long").hint(hint));
            }
            line.pop_if(|last| last == end);
            if is_line {
                line.pop_if(|last| *last == b'\r');
            }
            if line.is_empty() {
                continue;
            }
            return Some(Ok(bytes::name_of_bytes(&line)));
        }
    }
}

impl Iterator for InputNames {
    type Item = InputFile;

    fn next(&mut self) -> Option<InputFile> {
        loop {
            if let Some((gathered, path)) = &mut self.is_list_open {
                if let Some(found) = gathered.next() {
                    return Some(InputFile { item: ItemArg { file: found.name, path: path.clone() }, problem: found.problem });
                }
                self.skipped += gathered.skipped_count();
                self.is_list_open = None;
            }
            self.is_list_open = Some(match self.arguments.pop_front() {
                Some(argument) => {
                    let item = item_of(&argument, self.form);
                    (self.gather.clone().find(&item.file), item.path)
                }
                None => match self.next_from_list()? {
                    Ok(name) => {
                        let item = item_of(&name, self.form);
                        (self.gather.clone().literal(&item.file), item.path)
                    }
                    Err(problem) => return Some(problem),
                },
            });
        }
    }
}

fn open_list(path: &str, session: &Session<'_>) -> Result<Box<dyn BufRead + Send>> {
    if path == "-" {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    Ok(Box::new(Cursor::new(session.read_text(path)?)))
}
