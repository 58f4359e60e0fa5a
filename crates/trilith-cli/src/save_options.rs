//! Saving a file with another tree: in place if it fits and that was asked for, else next to and renamed.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use trilith::array::Array;
use trilith::asdf::ArrayOptions;
use trilith::bytes::{WriteBasis, display_name};
use trilith::{Change, SaveOptions, SaveReport, SaveTarget, ValueSyntax};
use trilith::{Error, ErrorKind, File, Result, TreePath, Value};

use crate::advice::error_with_advice;
use crate::dashed_words::strip_mark;
use crate::item_arg::ItemArg;
use crate::outcome::Outcome;
use crate::output::{Output, display_size, eprint_line, is_negative_result};
use crate::output_file::OutputFile;
use crate::outputs::{FileFormat, check_name};
use crate::progress;
use crate::session::{FileRole, Session, name_file};

/// Options for saving a changed file.
#[derive(Debug, Args)]
pub(crate) struct SaveArgs {
    /// Overwrite the tree in place (with a rollback journal) if the new one fits
    #[arg(long)]
    in_place: bool,
    /// Write to another file and leave this one unchanged
    #[arg(short, long, value_name = "OUT", conflicts_with = "in_place")]
    output: Option<String>,
}

/// Blocks of a file that are written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockRewrite {
    /// Blocks that a change concerns.
    IfNeeded,
    /// Every block, even if only the tree changes and fits into its space.
    Always,
}

impl SaveArgs {
    /// The file that is written, where `name` was opened.
    pub(crate) fn output_path<'a>(&'a self, name: &'a str) -> &'a str {
        self.output.as_deref().unwrap_or(name)
    }

    /// Fails if a file is to be written to another one that can only be changed in place.
    pub(crate) fn check_in_place(&self, name: &str) -> Result<()> {
        match &self.output {
            None => Ok(()),
            Some(output) => {
                Err(Error::unsupported(format!("{name} is changed in its place, not as {output}")).hint("copy it first"))
            }
        }
    }

    /// Saves a change of the file that was opened from `name`. `path` is that of the item that changed, empty for the whole tree,
    /// and `done` says what was done with it.
    pub(crate) fn save_change(
        &self,
        change: &mut Change<'_>,
        (name, path, done): (&str, &str, &str),
        rewrite: BlockRewrite,
        session: &Session<'_>,
    ) -> Result<()> {
        let source = change.file().sections().source();
        progress::add_expected(source.len());
        let mut how = SaveOptions::default();
        (how.in_place, how.force_rewrite) = (self.in_place, rewrite == BlockRewrite::Always);
        if let Some(output) = &self.output {
            check_name(output, FileFormat::from_asdf(change.file()), "choose another name, or convert the file")?;
            session.check_inputs(output, &[name])?;
            how.output =
                Some(SaveTarget::Created(OutputFile::create(output, WriteBasis::SameAs(&**source), session)?.into_inner()));
        }
        let saved = change.save(how)?;
        if self.in_place && !saved.in_place && !session.args.quiet {
            eprint_line(&format!(
                "{}: the whole file was written",
                saved.rewrite_reason.unwrap_or("it could not be changed in place")
            ));
        }
        session.warn_all(saved.warnings.clone());
        self.report_save((name, path, done), &saved, session)
    }

    fn report_save(&self, (name, path, done): (&str, &str, &str), saved: &SaveReport, session: &Session<'_>) -> Result<()> {
        let written = self.output.as_deref().unwrap_or(name);
        if !session.args.quiet {
            report_removed(&saved.removed_parts);
        }
        if session.args.json && written != "-" {
            let removed: Vec<String> = saved.removed_parts.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            let mut document = json!({"file": written, "changed": true, "in_place": saved.in_place});
            if !removed.is_empty() {
                document["removed"] = json!(removed);
            }
            if !saved.warnings.is_empty() {
                document["warnings"] = json!(saved.warnings);
            }
            return Output::print_json(&document);
        }
        let way = match (saved.in_place, saved.in_place_size) {
            (true, _) => " in place".to_owned(),
            (false, None) => ", and the whole file written".to_owned(),
            (false, Some(less)) => {
                let [all, less] = [saved.size, less].map(display_size);
                format!(", and the whole file written ({all}; --in-place would write {less})")
            }
        };
        print_change(written, path, &format!("{done}{way}"), session);
        Ok(())
    }
}

/// Prints what an edit changed: on a terminal, or if it was asked for. `path` is that of the item, empty for the whole file.
pub(crate) fn print_change(written: &str, path: &str, how: &str, session: &Session<'_>) {
    let is_shown = std::io::stderr().is_terminal() && written != "-" && !session.args.quiet;
    if is_shown || session.args.verbose > 0 {
        let mark = if path.is_empty() { "" } else { "#" };
        eprint_line(&format!("{}{mark}{path}: {how}", display_name(written)));
    }
}

/// Says which parts of an exploded file are gone.
pub(crate) fn report_removed(parts: &[PathBuf]) {
    for part in parts {
        eprint_line(&format!("removed {}, which the tree no longer names", part.display()));
    }
}

/// An array that is put into a file instead of a value.
#[derive(Debug, Args)]
pub(crate) struct ArrayArg {
    /// Put an array there instead of a value: a .npy file, or FILE#/path
    #[arg(long, value_name = "X.npy", value_parser = strip_mark)]
    from: Option<String>,
    /// Codec of its block (default: that of the array it replaces)
    #[arg(long, value_name = "CODEC", requires = "from", conflicts_with = "value")]
    codec: Option<String>,
}

impl ArrayArg {
    /// Says what the array does to an item, if one was asked for.
    pub(crate) fn describe_change(&self) -> Option<String> {
        self.from.as_ref().map(|from| format!("set to the array of {from}"))
    }

    /// The array and how to store it; None if none was asked for.
    pub(crate) fn open_array(&self, session: &Session<'_>) -> Result<Option<(Array, ArrayOptions)>> {
        let Some(from) = &self.from else { return Ok(None) };
        let item = ItemArg::parse(from);
        let array = match &item.path {
            Some(path) => session.open(&item.file, FileRole::Any)?.item(path)?.as_array()?,
            None => Array::from_npy(session.open_source(from)?, session.limits())?,
        };
        let how = self.codec.as_deref().map_or_else(|| Ok(ArrayOptions::default()), ArrayOptions::codec)?;
        Ok(Some((array, how)))
    }
}

/// A value from the command line.
#[derive(Debug, Args)]
pub(crate) struct ValueArg {
    /// The value. A FITS card takes FITS syntax: 3, 1.5D3, T, or any text. A tree takes YAML with the numbers of JSON: 3, 1.5e5,
    /// text, '[1, 2]', '{a: 1}'
    ///
    /// A text that only YAML 1.1 reads as something else (12:30:00, 010, yes, NO) is an error: quote it within the quotes
    /// of the shell, '"12:30:00"', or add --string or --yaml.
    ///
    /// A VALUE that begins with a minus sign is a number, or follows --.
    #[arg(value_name = "VALUE", value_parser = strip_mark, required_unless_present = "from", conflicts_with = "from")]
    value: Option<String>,
    /// Take the value as YAML 1.1: 12:30:00 is 45000, 010 is 8, NO is false
    #[arg(long, conflicts_with_all = ["from", "string"])]
    yaml: bool,
    /// Take the value as a string, whatever it looks like
    #[arg(long, conflicts_with = "from")]
    string: bool,
    /// Full tag URI
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
}

impl ValueArg {
    /// The value as it was given.
    pub(crate) fn text(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// Returns `true` if the value is a string whatever it looks like.
    pub(crate) fn is_string(&self) -> bool {
        self.string
    }

    /// Says what the value does to an item, where `verb` is what is done with it.
    pub(crate) fn describe_change(&self, verb: &str) -> String {
        const MAX_SHOWN_CHARS: usize = 40;
        let text = self.value.as_deref().unwrap_or_default();
        let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
        if shown.len() < text.len() { format!("{verb} {shown}…") } else { format!("{verb} {shown}") }
    }

    /// The value for a path under the file's `%TAG` handles; nothing that ASDF forbids to write.
    pub(crate) fn parse_value(&self, change: &mut Change<'_>, path: &TreePath) -> Result<Value> {
        let Some(text) = &self.value else { return Err(Error::invalid_input("neither a value nor --from")) };
        let syntax = match (self.yaml, self.string) {
            (true, _) => ValueSyntax::Yaml,
            (_, true) => ValueSyntax::String,
            _ => ValueSyntax::Checked,
        };
        let mut value = change.parse_value(path, text, syntax).map_err(|error| match error.advice() {
            Some(advice) if error.kind() == ErrorKind::InvalidInput => {
                error.hint(format!("{advice}; --yaml takes it as YAML 1.1, --string as a string"))
            }
            _ => error,
        })?;
        if let Some(tag) = &self.tag {
            value.tag = Some(tag.clone());
        }
        value.check_subset()?;
        Ok(value)
    }
}

/// Opens the file of an item and changes it, which `done` names for the report; a path that leads nowhere is a No, not a failure.
pub(crate) fn apply(
    argument: &str,
    session: &Session<'_>,
    save: &SaveArgs,
    done: &str,
    make: impl FnOnce(&mut Change<'_>, &TreePath) -> Result<()>,
) -> Result<Outcome> {
    let item = ItemArg::parse(argument);
    let path = item.path.as_deref().ok_or_else(|| Error::invalid_input("name the item to change: FILE#/path"))?;
    let file = session.open(&item.file, FileRole::TreeFor(save.output_path(&item.file)))?;
    session.warn_all(file.damage().map(|error| error.to_string()).into_iter().collect());
    let file = file.into_asdf()?;
    let (file, path) = match trilith::file::resolve_fits_path(file, path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return report_refusal(error, &item.file),
        Err(error) => return Err(error),
    };
    if file.sections().tree().is_none() {
        return Err(Error::invalid_input("this file has no tree"));
    }
    let file = File::from(file);
    let mut change = file.edit()?;
    if let Err(error) = make(&mut change, &path).and_then(|()| change.tree().map(drop)) {
        return report_refusal(error, &item.file);
    }
    // A card keeps the form in which it was named.
    let shown = item.path.filter(|typed| typed.contains('@')).unwrap_or_else(|| path.to_string());
    save.save_change(&mut change, (&item.file, &shown, done), BlockRewrite::IfNeeded, session)?;
    Ok(Outcome::Success)
}

/// Prints an error that is the answer No. Any other error is one of the command.
fn report_refusal(error: Error, file: &str) -> Result<Outcome> {
    if !is_negative_result(&error) {
        return Err(error);
    }
    eprint_line(&format!("trilith: {}", error_with_advice(&name_file(error, file))));
    Ok(Outcome::Negative)
}
