//! Arguments that name files. On Unix a name is any bytes, of which the library makes a string and gets them back
//! ([`name_of`], [`path_of`](trilith::bytes::path_of)).

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

use clap::builder::{TypedValueParser, ValueParser};
use clap::{Arg, Command};
use trilith::bytes::name_of;

use crate::dashed_words::without_mark;

/// The names, in the help, of values that are files or items of files.
const FILE_VALUE_NAMES: &[&str] = &[
    "A",
    "B",
    "BASE.fits",
    "C.bd",
    "DIR",
    "FILE",
    "FILE#/PATH",
    "FILE#/path",
    "FILE.dud",
    "FILES",
    "FILE[#/PATH]",
    "FILE[#/path]",
    "IN",
    "L.dud",
    "LIST",
    "MORE",
    "NAME=FILE.npy",
    "OUT",
    "OUT.bd",
    "OUT.csv|.npy",
    "OUT.dud",
    "ROWS",
    "ROWS.npy",
    "S",
    "TREE.yaml",
    "X.npy",
];

/// Returns `true` for an argument whose value names a file.
pub(crate) fn is_file(arg: &Arg) -> bool {
    arg.get_value_names().and_then(<[_]>::first).is_some_and(|name| FILE_VALUE_NAMES.contains(&name.as_str()))
}

/// Returns `true` for a word that every argument can take: its name is the word itself.
pub(crate) fn is_text(word: &OsStr) -> bool {
    matches!(name_of(Path::new(word)), Cow::Borrowed(_))
}

/// The command, with every argument that names a file taking any name.
pub(crate) fn accept_os_names(command: Command) -> Command {
    let is_text = |arg: &Arg| arg.get_value_parser().type_id() == ValueParser::string().type_id();
    command
        .mut_args(|arg| if is_file(&arg) && is_text(&arg) { arg.value_parser(OsNameParser) } else { arg })
        .mut_subcommands(accept_os_names)
}

/// Takes a name as a string.
#[derive(Clone)]
struct OsNameParser;

impl TypedValueParser for OsNameParser {
    type Value = String;

    fn parse_ref(&self, _: &Command, _: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        Ok(without_mark(&name_of(Path::new(value))).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that each name in the table is used, and that each name that looks like a file is in the table.
    #[test]
    fn file_value_names_match_table() {
        fn of(command: &Command, found: &mut Vec<String>) {
            found.extend(command.get_arguments().filter_map(|arg| Some(arg.get_value_names()?.first()?.to_string())));
            command.get_subcommands().for_each(|command| of(command, found));
        }
        let mut found = Vec::new();
        of(&crate::command(), &mut found);
        for name in FILE_VALUE_NAMES {
            assert!(found.iter().any(|used| used == name), "{name} is not the name of a value");
        }
        let files: Vec<_> =
            found.iter().filter(|name| name.contains("FILE") || name.contains("OUT") || name.contains(".npy")).collect();
        assert!(files.iter().all(|name| FILE_VALUE_NAMES.contains(&name.as_str())), "{files:?}");
    }
}
