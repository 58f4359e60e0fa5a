//! Checks on the outputs of a command: never over a file that it reads, never under a name that promises another
//! format, and never over a file without the user's consent. The names of several outputs are in [`name_template`].

mod name_template;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use trilith::bytes::shown_path;

pub(crate) use self::name_template::{ClaimedOutputs, OutputTemplate, expand_template, split_extension};
use serde_json::Value;
use trilith::bytes::{find_same_file, is_url, name_of, path_of};
use trilith::file::check_replaced;
pub(crate) use trilith::file::{FileFormat, check_name, is_stream};
use trilith::{Error, Result, SuggestedSetting};

use crate::output::{Output, eprint_line};
use crate::session::Session;

impl Session<'_> {
    /// Refuses an output that is something the command reads, by whatever name: its data would be gone. `rewritten`
    /// are the inputs that the output is another form of; these may be written over, since the new file is put
    /// into place when it is complete. Also refuses an existing file if the shell may have made it of a pattern, as of
    /// `-o *.fits`: then it is an input that was meant.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if it is an input, or such a file.
    pub(crate) fn check_inputs(&self, path: &str, rewritten: &[&str]) -> Result<()> {
        let inputs = self.collect_inputs();
        let there = &*path_of(path);
        let lost = || Error::invalid_input(format!("{path} is read by this command, and would be lost"));
        if is_url(path) {
            return match inputs.iter().any(|input| input == path) && !rewritten.contains(&path) {
                true => Err(lost().hint("write to another file")),
                false => Ok(()),
            };
        }
        let is_rewritten = || find_same_file(there, rewritten.iter().map(|input| path_of(input))).is_some();
        if is_stream(path) || !there.exists() || is_rewritten() {
            return Ok(());
        }
        match find_same_file(there, inputs.iter().map(|input| path_of(input))) {
            Some(input) if input.file_name() == there.file_name() => Err(lost()),
            Some(input) => {
                let input = name_of(&input);
                Err(Error::invalid_input(format!("{path} is {input}, which this command reads, and would be lost")))
            }
            None if self.may_be_pattern(path) => return check_absent([&there.to_path_buf()], self.args.overwrite),
            None => return Ok(()),
        }
        .map_err(|error| error.hint("write to another file"))
    }

    /// Refuses an output that is there and has content of a format that is read, unless `--overwrite` is given: it may be an
    /// input that was meant, as the second file of a pattern. `rewritten` are the inputs that may be written over.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if it is such a file.
    pub(crate) fn check_replaced(&self, path: &str, rewritten: &[&str]) -> Result<()> {
        if self.args.overwrite || is_url(path) {
            return Ok(());
        }
        // Only its layout tells what a file without a signature holds.
        let is_input = find_same_file(&path_of(path), rewritten.iter().map(|input| path_of(input))).is_some();
        let is_alike = self.args.under.is_some() && rewritten.iter().any(|input| has_same_extension(path, input));
        if is_alike && !is_input && !is_stream(path) {
            check_absent([&path_of(path).into_owned()], false)?;
        }
        let rewritten: Vec<_> = rewritten.iter().map(|input| path_of(input)).collect();
        let rewritten: Vec<&Path> = rewritten.iter().map(|input| &**input).collect();
        check_replaced(&path_of(path), &rewritten, &self.open_options()?)
            .map_err(|error| error.setting("", SuggestedSetting::Overwrite))
    }

    /// Returns `true` if an output is followed by a file with the same extension on the command line.
    fn may_be_pattern(&self, output: &str) -> bool {
        let is_file = |name: &str| path_of(name).is_file();
        self.followed_outputs().iter().any(|(name, next)| name == output && has_same_extension(name, next) && is_file(next))
    }
}

/// Returns the values of `-o` that a word without a minus sign follows, each with that word.
pub(crate) fn find_followed_outputs(words: &[OsString]) -> Vec<(String, String)> {
    let texts: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let is_followed =
        |part: &&[&str]| matches!(part, ["-o" | "--output", output, next] if !output.starts_with('-') && !next.starts_with('-'));
    let followed = texts.windows(3).filter(is_followed);
    followed.filter_map(|part| Some(((*part.get(1)?).to_owned(), (*part.get(2)?).to_owned()))).collect()
}

/// Returns `true` if two names have an extension, and the same.
fn has_same_extension(a: &str, b: &str) -> bool {
    let extension = |name: &str| path_of(name).extension().map(std::ffi::OsStr::to_ascii_lowercase);
    extension(a).is_some() && extension(a) == extension(b)
}

/// Refuses to replace existing files unless `overwrite` is set.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`] with the first of them that exists.
pub(crate) fn check_absent<'a>(paths: impl IntoIterator<Item = &'a PathBuf>, overwrite: bool) -> Result<()> {
    if overwrite {
        return Ok(());
    }
    match paths.into_iter().find(|path| std::fs::symlink_metadata(path).is_ok_and(|there| !there.is_dir())) {
        Some(path) => Err(Error::invalid_input(format!("{} already exists", shown_path(path))).hint("--overwrite replaces it")),
        None => Ok(()),
    }
}

/// Makes the folder for the files of a command, if there is none.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`] for a URL, since several objects cannot appear together.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    if folder.to_str().is_some_and(is_url) {
        let message =
            format!("cannot write several files to {}: only single objects appear whole or not at all", shown_path(folder));
        return Err(Error::unsupported(message).hint("write to a folder of this machine with -o, and upload the files"));
    }
    let made = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::fs::create_dir_all(made).map_err(|e| Error::io(format!("making {}", shown_path(folder)), e))
}

/// Says what was written: one JSON document on stdout, or a line on stderr; nothing if the file itself went to
/// stdout.
///
/// # Errors
/// Returns [`ErrorKind::Io`] if writing fails.
pub(crate) fn report_written(output: &str, json: &Value, line: &str, session: &Session<'_>) -> Result<()> {
    if output == "-" {
        return Ok(());
    }
    if session.args.json {
        return Output::print_json(json);
    }
    if !session.args.quiet {
        eprint_line(line);
    }
    Ok(())
}
