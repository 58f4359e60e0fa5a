//! Requests of completions: `trilith __complete SHELL -- WORD…`; the last word is being typed.
//!
//! The answer begins with a line that gives the kind of the others: `files` (the shell completes file names),
//! `words`, or `parts` (no space after them). One line for each candidate follows, with a tab and a few words about
//! it. If anything fails, the answer is short and the exit status 0, because the user has only pressed a key.

mod item_paths;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;

use clap::{Arg, Command};

use crate::{os_names, possible_values};

/// The hidden subcommand for completions.
const SUBCOMMAND: &str = "__complete";
/// Largest number of candidates that are offered.
const MAX_CANDIDATES: usize = 1000;

/// The candidates for a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Candidates {
    /// The name of a file.
    Files,
    /// Complete words, each with a short description.
    Final(Vec<(String, String)>),
    /// Beginnings of words, to which more may be added.
    Partial(Vec<(String, String)>),
}

/// Returns `true` for a request of completions.
pub(crate) fn is_completion_request(words: &[OsString]) -> bool {
    words.get(1).is_some_and(|word| word == SUBCOMMAND)
}

/// Answers on standard output.
pub(crate) fn respond(words: &[OsString]) {
    let words: Vec<String> = words.iter().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
    let is_bash = words.first().is_some_and(|shell| shell == "bash");
    let typed: Vec<String> = words.into_iter().skip_while(|word| word != "--").skip(1).collect();
    let (typed, kept) = if is_bash { rejoin_words(typed) } else { (typed, String::new()) };
    let answer = candidates(&typed);
    let (kind, candidates) = match &answer {
        Candidates::Files => ("files", [].as_slice()),
        Candidates::Final(words) => ("words", words.as_slice()),
        Candidates::Partial(parts) => ("parts", parts.as_slice()),
    };
    let mut text = format!("{kind}\n");
    // A line break or a control character in a name would make two candidates, or drive the terminal.
    let candidates = candidates.iter().filter(|(word, _)| !word.chars().any(char::is_control));
    for (word, about) in candidates.take(MAX_CANDIDATES) {
        let word = word.strip_prefix(&kept).unwrap_or(word);
        let _ = writeln!(text, "{word}\t{}", crate::output::escape_controls(about));
    }
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Joins words that bash cut at `=` and `@`, and returns what it keeps of the last one, because it replaces only the rest.
///
/// The value of an option stays by itself: `--codec = lz4` was typed as `--codec=lz4`.
fn rejoin_words(words: Vec<String>) -> (Vec<String>, String) {
    let mut out: Vec<String> = Vec::new();
    let mut kept = String::new();
    let mut is_open = false;
    for word in words {
        let is_sign = matches!(word.as_str(), "=" | "@");
        match out.last_mut() {
            Some(last) if word == "=" && last.starts_with("--") => {
                out.push(String::new());
                is_open = true;
            }
            Some(last) if is_sign || is_open => {
                // Readline replaces the `@` with the word after it.
                if word == "@" {
                    kept.clone_from(last);
                }
                last.push_str(&word);
                is_open = is_sign;
                if word == "=" {
                    kept.clone_from(last);
                }
            }
            _ => {
                out.push(word);
                kept.clear();
            }
        }
    }
    (out, kept)
}

/// Returns the candidates for the last of these words.
fn candidates(words: &[String]) -> Candidates {
    let Some((current, before)) = words.split_last() else { return Candidates::Files };
    let mut command = crate::help::build_command();
    command.build();
    let at = CursorContext::parse_context(&command, before);
    if let Some(option) = at.option {
        return value_candidates(&at, option, current, before);
    }
    if let Some((name, typed)) = current.strip_prefix("--").and_then(|rest| rest.split_once('=')) {
        let Some(option) = find_long_option(at.command, name) else { return Candidates::Final(Vec::new()) };
        let behind = |(word, about)| (format!("--{name}={word}"), about);
        return match value_candidates(&at, option, typed, before) {
            Candidates::Files => Candidates::Files,
            Candidates::Final(words) => Candidates::Final(words.into_iter().map(behind).collect()),
            Candidates::Partial(words) => Candidates::Partial(words.into_iter().map(behind).collect()),
        };
    }
    if current.starts_with('-') && current != "-" && !at.only_positionals {
        let all = at.command.get_arguments().filter(|arg| !arg.is_hide_set());
        let named = all.filter_map(|arg| Some((format!("--{}", arg.get_long()?), help_text(arg))));
        return Candidates::Final(with_prefix(named, current));
    }
    if at.command.has_subcommands() {
        let named = |is_shown: &dyn Fn(&Command) -> bool| {
            let all = at.command.get_subcommands().filter(|sub| is_shown(sub));
            let named = all.flat_map(|sub| {
                let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
                std::iter::once(sub.get_name()).chain(sub.get_visible_aliases()).map(move |name| (name.to_owned(), about.clone()))
            });
            with_prefix(named, current)
        };
        let is_listed = |sub: &Command| !at.path.is_empty() || !crate::help::is_further_command(sub.get_name());
        let listed = named(&is_listed);
        // A command that only `trilith help all` lists is completed by its first letters.
        let found = if listed.is_empty() { named(&|_| true) } else { listed };
        // `trilith FILE` is `trilith info FILE`.
        return if found.is_empty() && at.path.is_empty() { item_or_file(current, before) } else { Candidates::Final(found) };
    }
    match at.command.get_positionals().nth(at.positional).or_else(|| at.command.get_positionals().last()) {
        Some(arg) => value_candidates(&at, arg, current, before),
        None => Candidates::Final(Vec::new()),
    }
}

/// The position of a word in the command line.
struct CursorContext<'c> {
    command: &'c Command,
    /// The names of the subcommands so far.
    path: String,
    /// The option that takes the next word.
    option: Option<&'c Arg>,
    /// Number of positional arguments.
    positional: usize,
    /// `true` if `--` was typed.
    only_positionals: bool,
}

impl<'c> CursorContext<'c> {
    fn parse_context(command: &'c Command, words: &[String]) -> Self {
        let mut at = Self { command, path: String::new(), option: None, positional: 0, only_positionals: false };
        for word in words {
            at.consume_word(word);
        }
        at
    }

    fn consume_word(&mut self, word: &str) {
        if self.option.take().is_some() {
            return;
        }
        if self.only_positionals || !word.starts_with('-') || word == "-" {
            match self.command.find_subcommand(word) {
                Some(sub) => {
                    self.command = sub;
                    self.path = format!("{} {}", self.path, sub.get_name()).trim_start().to_owned();
                }
                None => self.positional += 1,
            }
        } else if word == "--" {
            self.only_positionals = true;
        } else if let Some(name) = word.strip_prefix("--") {
            self.option = find_long_option(self.command, name).filter(|arg| takes_value(arg));
        } else {
            let last = word.chars().last();
            self.option = self.command.get_arguments().find(|arg| arg.get_short() == last).filter(|arg| takes_value(arg));
        }
    }
}

fn find_long_option<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    command.get_arguments().find(|arg| arg.get_long() == Some(name))
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn help_text(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

/// Returns the candidates for the value of an option, or for an argument.
fn value_candidates(at: &CursorContext<'_>, arg: &Arg, typed: &str, before: &[String]) -> Candidates {
    let values = arg.get_possible_values();
    if !values.is_empty() {
        let named = values
            .iter()
            .map(|value| (value.get_name().to_owned(), value.get_help().map(ToString::to_string).unwrap_or_default()));
        return Candidates::Final(with_prefix(named, typed));
    }
    let choices = possible_values::completion_values(&at.path, arg.get_id().as_str());
    if !choices.is_empty() {
        let is_open = choices.iter().any(|choice| choice.ends_with('='));
        let found = with_prefix(choices.into_iter().map(|choice| (choice, String::new())), typed);
        return if is_open { Candidates::Partial(found) } else { Candidates::Final(found) };
    }
    if at.path == "table" && arg.get_id() == "columns" {
        return Candidates::Partial(column_candidates(typed, before));
    }
    let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default();
    if !os_names::is_file(arg) {
        return Candidates::Final(Vec::new());
    }
    if name.contains('#') || at.path == "info" || arg.get_id() == "from" {
        item_or_file(typed, before)
    } else {
        Candidates::Files
    }
}

/// A file, or an item after its `#`.
fn item_or_file(typed: &str, before: &[String]) -> Candidates {
    let layout = before.windows(2).find_map(|pair| (pair.first()? == "--layout").then(|| pair.last()).flatten());
    item_paths::path_candidates(typed, layout.map(String::as_str)).map_or(Candidates::Files, Candidates::Partial)
}

/// Returns the candidates for a column of `table`: the names in the table of `FILE#/path`, or paths of the first file after `NAME=`.
fn column_candidates(typed: &str, before: &[String]) -> Vec<(String, String)> {
    let (name, typed) = typed.split_once('=').map_or((None, typed), |(name, typed)| (Some(name), typed));
    let all = before.iter().skip(1).filter_map(|word| match (name, word.split_once('#')) {
        (None, Some((file, table))) => item_paths::path_candidates(&format!("{file}#{table}/{typed}"), None)
            .map(|found| (found, format!("{file}#{table}/"), String::new())),
        (Some(name), None) => item_paths::path_candidates(&format!("{word}#{typed}"), None)
            .map(|found| (found, format!("{word}#"), format!("{name}="))),
        _ => None,
    });
    let Some((found, cut, name)) = all.into_iter().find(|(found, ..)| !found.is_empty()) else { return Vec::new() };
    let rest = |(word, about): (String, String)| Some((format!("{name}{}", word.strip_prefix(&cut)?), about));
    found.into_iter().filter_map(rest).collect()
}

/// Returns the candidates that begin with the typed text.
fn with_prefix(all: impl Iterator<Item = (String, String)>, typed: &str) -> Vec<(String, String)> {
    all.filter(|(word, _)| word.starts_with(typed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
        match candidates(&line) {
            Candidates::Files => vec!["<files>".to_owned()],
            Candidates::Final(found) | Candidates::Partial(found) => found.into_iter().map(|(word, _)| word).collect(),
        }
    }

    #[test]
    fn position_determines_candidates() {
        assert_eq!(words("inf"), ["info"]);
        assert_eq!(words("l"), ["ls", "layout"]);
        assert_eq!(words("convert a b --codec lz"), ["lz4", "lz4f"]);
        assert_eq!(words("convert a b --codec=bls"), ["--codec=blsc", "--codec=blsc-zstd"]);
        assert_eq!(words("convert a b --to dud"), ["dudley-2025", "dudley-2026"]);
        assert_eq!(words("get x --limit ratio"), ["ratio="]);
        assert_eq!(words("verify --conform asdf-1"), ["asdf-1.x"]);
        assert_eq!(words("get x --format np"), ["npy"]);
        assert_eq!(words("get x --slice "), [""; 0]);
        assert_eq!(words("layout tr"), ["translate"]);
        assert_eq!(words("layout translate x --to 20"), ["2025", "2026"]);
        for line in ["info ", "get ", "verify x ", "convert ", "get x -o ", "diff a ", "ls ", "set x --from "] {
            assert_eq!(words(line), ["<files>"], "{line}");
        }
        assert!(words("set x --").contains(&"--in-place".to_owned()));
        // A raw file is read under a layout.
        assert!(words("set x --").contains(&"--byteorder".to_owned()) && !words("rm x --").contains(&"--byteorder".to_owned()));
        assert_eq!(words("nothing like that"), ["<files>"]);
    }

    #[test]
    fn bash_words_rejoin_at_signs() {
        let cut = |line: &str| {
            let (words, kept) = rejoin_words(line.split(' ').map(str::to_owned).collect());
            (words.join(" "), kept)
        };
        let is = |words: &str, kept: &str| (words.to_owned(), kept.to_owned());
        assert_eq!(cut("--codec = lz"), is("--codec lz", ""));
        assert_eq!(cut("--codec ="), is("--codec ", ""));
        assert_eq!(cut("--limit depth"), is("--limit depth", ""));
        assert_eq!(cut("x#/a @ un"), is("x#/a@un", "x#/a"));
        assert_eq!(cut("-c g = /a @"), is("-c g=/a@", "g=/a"));
    }
}
