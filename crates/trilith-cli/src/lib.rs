//! The `trilith` command: a thin edge over the library, as a function that the binary and the Python
//! package call.
//!
//! One file per subcommand in `commands/`. Exit status: 0 yes or done, 1 no (different, invalid,
//! nothing found, refused), 2 could not tell.

mod advice;
mod buffered_output;
#[cfg(feature = "parquet")]
mod columnar_points;
mod commands;
mod common_args;
mod complete;
mod conform;
mod dashed_words;
mod help;
mod inputs;
mod item_arg;
mod json;
mod losses;
mod os_names;
mod outcome;
mod output;
mod output_file;
mod outputs;
mod position_args;
mod possible_values;
mod progress;
mod save_options;
#[cfg(feature = "view")]
mod serve;
mod session;
#[cfg(unix)]
mod signals;
mod sixel;
mod stdout;
mod style;
mod terminal;

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind as Unparsed};
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser};
use trilith::Error;
use trilith::bytes::{display_name, hidden_name, name_of};

use crate::commands::Command;
use crate::common_args::CommonArgs;
use crate::outcome::Outcome;
use crate::session::Session;

/// Look into, read, convert and verify self-describing scientific array files.
#[derive(Debug, Parser)]
#[command(name = "trilith", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    args: CommonArgs,
}

impl Cli {
    /// The command with all its subcommands.
    fn complete() -> clap::Command {
        Command::add_to(Self::command(), |_| true)
    }

    /// The options and the subcommand that were parsed.
    fn read(matches: &ArgMatches) -> Result<(CommonArgs, Command), clap::Error> {
        Ok((Self::from_arg_matches(matches)?.args, Command::from_matches(matches)?))
    }
}

/// The command with all its subcommands and options, for tests that must not forget one.
#[must_use]
pub fn command() -> clap::Command {
    help::build_command()
}

/// The examples of `--help`, which a test runs in this order.
#[must_use]
pub fn examples() -> &'static [(&'static str, &'static str)] {
    help::examples::EXAMPLES
}

/// Runs the command with these words, its own name first, and returns the exit status.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words: Vec<OsString> = words.into_iter().collect();
    if complete::is_completion_request(&words) {
        complete::respond(&words);
        return 0;
    }
    if let Some(text) = help::topic_text(&words) {
        let _ = output::Output::print_with(|out| out.write_raw_text(&text.to_string()));
        return 0;
    }
    if let Some(message) = help::unknown_topic_error(&words) {
        output::eprint_line(&format!("trilith: {message}"));
        return 2;
    }
    let ((args, command), name) = match parse_arguments(words.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            print_usage(&error, &words);
            if !error.use_stderr() {
                return 0;
            }
            if let Some(advice) = advice::misplaced_path(&words) {
                output::eprint_line(&advice);
            }
            return 2;
        }
    };
    if command.takes_only_items()
        && let Some(advice) = advice::misplaced_path(&words)
    {
        output::eprint_line(&format!("trilith: {advice}"));
        return 2;
    }
    #[cfg(unix)]
    signals::install_handlers();
    let rules = command.input_rules();
    let shown = progress::ProgressDisplay::start_bar(&name, args.quiet);
    let begun = Session::start_run(&args, rules, outputs::find_followed_outputs(&words));
    let done = begun.and_then(|session| {
        let done = command.run(&session);
        drop(shown);
        session.warn_of_references();
        done.map_err(|error| session.name_input(error))
    });
    match done {
        Ok(Outcome::Success) => 0,
        Ok(Outcome::Negative) => 1,
        Ok(Outcome::Failed) => 2,
        // The reader of our output has seen enough.
        Err(error) if output::is_broken_pipe(&error) => 0,
        Err(error) => {
            print_error(&error);
            if rules.is_negative(&error) { 1 } else { 2 }
        }
    }
}

/// Reads the words, and gives the name of the command; `trilith FILE` is `trilith info FILE`.
fn parse_arguments(mut words: Vec<OsString>) -> Result<((CommonArgs, Command), String), clap::Error> {
    dashed_words::mark_words(&mut words);
    // Only the subcommands that words name are built. Help and errors need all of them, which takes longer than most commands run.
    let is_named = |name: &str| words.iter().any(|word| word == name);
    let is_text = words.iter().all(|word| os_names::is_text(word));
    let plain = is_text.then(|| Command::add_to(Cli::command(), is_named).try_get_matches_from(&words));
    match plain {
        Some(Ok(matches)) => {
            if let Some(name) = matches.subcommand_name().map(str::to_owned) {
                return Ok((Cli::read(&matches)?, name));
            }
        }
        Some(Err(error)) if error.kind() == Unparsed::DisplayVersion => return Err(error),
        _ => {}
    }
    let command = os_names::accept_os_names(help::build_command()).color(style::color_from_args(&words));
    let matches = match command.clone().try_get_matches_from(&words) {
        Ok(matches) => matches,
        Err(error) if matches!(error.kind(), Unparsed::DisplayHelp | Unparsed::DisplayHelpOnMissingArgumentOrSubcommand) => {
            let command = help::build_help_command(help::HelpLength::from_words(&words));
            command.color(style::color_from_args(&words)).try_get_matches_from(&words)?
        }
        Err(mut error) => {
            let Some(word) = unknown_command(&error) else { return Err(error) };
            let at = words.iter().position(|given| given.to_string_lossy() == word).unwrap_or(1);
            if words.get(at).is_some_and(|given| item_arg::is_file(&name_of(Path::new(given)))) {
                insert_default_command(&mut words, at);
                command.try_get_matches_from(&words)?
            } else if let Some(meant) = help::suggested_command(&word) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant.to_owned()]));
                return Err(error);
            } else if word.contains(['.', '/']) && word != "." {
                let message =
                    format!("{word:?} is neither a file that exists nor a command; trilith --help lists the commands\n");
                return Err(clap::Error::raw(Unparsed::InvalidSubcommand, message));
            } else {
                return Err(error);
            }
        }
    };
    let name = matches.subcommand_name().unwrap_or_default().to_owned();
    Ok((Cli::read(&matches)?, name))
}

/// Turns `trilith FILE` into `trilith info FILE`, and a group of commands with a file into the command that shows it.
fn insert_default_command(words: &mut Vec<OsString>, at: usize) {
    match at.checked_sub(1).and_then(|before| words.get_mut(before)) {
        Some(group) if group == "history" => {
            *group = "tree".into();
            if let Some(file) = words.get_mut(at) {
                file.push("#/history");
            }
        }
        Some(group) if group == "layout" => words.insert(at, "print".into()),
        Some(group) if group == "schema" => words.insert(at, "check".into()),
        _ => words.insert(at, "info".into()),
    }
}

/// The word in the place of a command.
fn unknown_command(error: &clap::Error) -> Option<String> {
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (Unparsed::InvalidSubcommand, Some(ContextValue::String(word))) => Some(word.clone()),
        _ => None,
    }
}

/// Prints help, or an error of usage without the secrets of URLs among the words.
fn print_usage(error: &clap::Error, words: &[OsString]) {
    let words = words.iter().filter_map(|word| word.to_str());
    let texts = words.flat_map(|word| [Some(word), word.split_once('=').map(|(_, value)| value)]).flatten();
    let secrets: Vec<_> = texts.map(|text| (text, hidden_name(text))).filter(|(text, hidden)| text != hidden).collect();
    let text = error.render().to_string();
    if secrets.is_empty() && !text.contains(dashed_words::MARK) || !error.use_stderr() {
        let _ = error.print();
        return;
    }
    let text = text.replace(dashed_words::MARK, "");
    let text = secrets.into_iter().fold(text, |text, (secret, hidden)| text.replace(secret, &display_name(&hidden)));
    text.lines().for_each(output::eprint_line);
}

/// Prints an error for a person, on stderr.
fn print_error(error: &Error) {
    output::eprint_line(&format!("trilith: {}", advice::error_with_advice(error)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_subcommands_are_built() {
        let names = |wanted: &[&str]| {
            let command = Command::add_to(Cli::command(), |name| wanted.contains(&name));
            command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&["to-yaml", "get", "no-command"]), ["get", "to-yaml"]);
        assert!(names(&[]).is_empty());
    }

    #[test]
    fn words_that_name_another_command_are_arguments() {
        let parse = |words: &[&str]| parse_arguments(words.iter().map(OsString::from).collect()).map(|(_, name)| name).ok();
        assert_eq!(parse(&["trilith", "info", "tree"]).as_deref(), Some("info"));
        assert_eq!(parse(&["trilith", "--quiet", "tree", "info"]).as_deref(), Some("tree"));
        assert_eq!(parse(&["trilith", "delete", "x.asdf#/a"]).as_deref(), Some("rm"));
        assert_eq!(parse(&["trilith", "layout", "check", "x.dud"]).as_deref(), Some("layout"));
        assert_eq!(parse(&["trilith", "nothing"]), None);
    }
}
