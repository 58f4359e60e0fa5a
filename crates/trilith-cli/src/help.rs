//! The command as people see it: the usual subcommands in groups, examples before the options of each, the options of all
//! commands in one line, and lists of choices from the library's own tables.

pub(crate) mod examples;

use std::ffi::OsString;

use clap::builder::{Resettable, StyledStr};
use clap::{Arg, Command};
use trilith_io::suggest::offer;

use crate::commands::{GROUPS, HIDDEN_GROUP};
use crate::possible_values;

/// Options that only files under a Dudley layout or of its kind need.
const DUDLEY_OPTIONS: &[&str] = &["under", "param", "stream_order"];
/// Options for the catalog of a file set.
const FILE_SET_OPTIONS: &[&str] = &["of_catalog", "condition"];
/// Options about how files are opened.
const OPEN_OPTIONS: &[&str] =
    &["threads", "no_mmap", "limits", "allow", "remote", "download", "under", "param", "stored", "stream_order"];
/// Options that select input files.
const INPUT_OPTIONS: &[&str] = &["files_from", "null", "hidden"];
/// Options that the page of the command itself describes.
const TOP_OPTIONS: &[&str] = &["json", "quiet"];
/// Width of the summary of a command next to its name, on 80 columns.
const MAX_SUMMARY_WIDTH: usize = 64;
/// Number of lines of `-h` of a command. Options that have no line are only named.
const MAX_SHORT_LINES: usize = 30;
/// Number of lines of `--help` of a command. A longer one has only the first sentences of its options.
const MAX_LONG_LINES: usize = 55;
/// Width of a line of help.
const LINE_WIDTH: usize = 100;
/// Width of the names of options at most, if a text follows on the same line.
const MAX_NAME_WIDTH: usize = 36;

/// Extent of a help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HelpLength {
    /// `-h`: the first part of each text, and as many options as fit.
    Short,
    /// `--help`: all options of the command with their complete descriptions.
    Long,
}

impl HelpLength {
    /// Returns the length that the words of a command line ask for.
    pub(crate) fn from_words(words: &[OsString]) -> Self {
        let is_long = words.iter().any(|word| word == "--help") || words.get(1).is_some_and(|word| word == "help");
        if is_long { Self::Long } else { Self::Short }
    }
}

/// The command with groups, examples, choices and without the options that a subcommand refuses.
pub(crate) fn build_command() -> Command {
    let command = crate::Cli::complete();
    let globals = global_options(&command);
    let top = top_template(&command, &[HIDDEN_GROUP]);
    let command = map_subcommands(command, "", &|sub, path| with_choices_and_examples(sub, path, &globals));
    command.help_template(top)
}

/// The command as it prints help of this length.
pub(crate) fn build_help_command(length: HelpLength) -> Command {
    let command = build_command();
    let globals = global_options(&command);
    let command = map_subcommands(command, "", &|sub, path| with_help_layout(sub, path, &globals, length));
    let top = |arg: Arg| match arg.get_help().map(ToString::to_string) {
        Some(text) if TOP_OPTIONS.contains(&arg.get_id().as_str()) => {
            arg.help(first_part(&text, MAX_SUMMARY_WIDTH)).long_help(Resettable::Reset).hide_short_help(false)
        }
        _ => arg.hide(true).hide_short_help(false),
    };
    command.mut_args(top).after_help(
        "trilith COMMAND --help  examples and options of a command\n\
         trilith help options    the options of all commands\n\
         trilith help all        all commands\n\
         trilith FILE            the same as trilith info FILE",
    )
}

/// The topics of `trilith help` that are not commands.
const TOPICS: &[&str] = &["options", "all"];

/// Returns the text of `trilith help all` and `trilith help options`.
pub(crate) fn topic_text(words: &[OsString]) -> Option<StyledStr> {
    let [_, help, topic] = words else { return None };
    let command = || crate::Cli::complete().disable_help_flag(true).disable_version_flag(true);
    match (help.to_str()?, topic.to_str()?) {
        ("help", "all") => {
            let command = command();
            let top = top_template(&command, &[]);
            Some(command.mut_args(|arg| arg.hide(true)).help_template(top).render_help())
        }
        ("help", "options") => {
            let about = "Options of all commands, before or after the name of the command.\n\nExamples:\n  Verify a file, and print \
                         nothing but its faults\n    trilith verify night.asdf --quiet\n  Read an array of bytes of another program\n    \
                         trilith get 'dump.dat#/te' --layout dump.dud --byteorder big";
            let command = command().about(about).help_template("{about-with-newline}\n{options}");
            Some(command.mut_args(with_whole_text).render_help())
        }
        _ => None,
    }
}

/// Returns the message for `trilith help WORD` if no topic has that name: the topics that exist. A file of that name is none.
pub(crate) fn unknown_topic_error(words: &[OsString]) -> Option<String> {
    let at = words.iter().take(3).skip(1).position(|word| word == "help")? + 1;
    let mut command = crate::Cli::complete();
    for group in words.get(1..at)? {
        command = command.find_subcommand(group).filter(|sub| sub.has_subcommands())?.clone();
    }
    let mut path = words.get(1..at)?.iter().filter_map(|word| word.to_str()).collect::<Vec<_>>().join(" ");
    for word in words.get(at + 1..)?.iter().filter(|word| !word.to_string_lossy().starts_with('-')) {
        if word == "help" {
            return None;
        }
        if path.is_empty() && TOPICS.iter().any(|topic| word == topic) {
            (command, path) = (Command::new("topic"), word.to_string_lossy().into_owned());
            continue;
        }
        let known = command.find_subcommand(word).cloned();
        if known.is_none() {
            let word = word.to_string_lossy();
            let what = if path.is_empty() { format!("{word:?}") } else { format!("{word:?} of {path}") };
            let extra: &[&str] = if path.is_empty() { TOPICS } else { &[] };
            let commands = command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
            let names: Vec<&str> = extra.iter().copied().chain(commands.map(Command::get_name)).collect();
            return Some(match (suggested_command(&word).filter(|_| path.is_empty()), names.as_slice()) {
                (_, []) => format!("there is no help topic {what}; run trilith help {path}"),
                (Some(meant), _) => {
                    format!("there is no help topic {what}; did you mean {meant:?}? topics: {}", names.join(", "))
                }
                (None, _) => format!("there is no help topic {what}; {}", offer(&word, "topics: ", &names, usize::MAX)),
            });
        }
        command = known?;
        path = format!("{path} {}", word.to_str()?).trim_start().to_owned();
    }
    None
}

/// The options of all commands.
fn global_options(command: &Command) -> Vec<Arg> {
    command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect()
}

/// Applies a function to all subcommands at any depth, with what is typed to get there.
fn map_subcommands(mut command: Command, path: &str, change: &dyn Fn(Command, &str) -> Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        let below = format!("{path} {name}").trim_start().to_owned();
        command = command.mut_subcommand(&name, |sub| change(map_subcommands(sub, &below, change), &below));
    }
    command
}

/// Completes a subcommand with choices, usage and examples.
fn with_choices_and_examples(mut command: Command, path: &str, globals: &[Arg]) -> Command {
    for global in globals.iter().filter(|global| is_unsupported_option(path, global.get_id().as_str())) {
        command = command.arg(global.clone().hide(true).hide_short_help(false));
    }
    command = command.mut_args(|arg| with_choices(path, arg));
    if let Some(usage) = usage_with_files(&command, path) {
        command = command.override_usage(usage);
    }
    let examples = StyledStr::from(examples::examples_text(path));
    command.after_help(examples.clone()).after_long_help(examples)
}

/// Lays out the help of a subcommand: the examples before its own options, and a line for the options of all commands.
fn with_help_layout(mut command: Command, path: &str, globals: &[Arg], length: HelpLength) -> Command {
    let known: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
    let shared: Vec<&Arg> = globals.iter().filter(|global| !known.iter().any(|id| global.get_id() == id.as_str())).collect();
    let (dudley, shared): (Vec<&Arg>, Vec<&Arg>) = shared.into_iter().partition(|arg| is_dudley_option(arg));
    command = command.args(shared.iter().chain(&dudley).map(|global| (*global).clone().hide(true).hide_short_help(false)));
    let names = |options: &[&Arg]| options.iter().map(|arg| option_name(arg)).collect::<Vec<_>>().join(" ");
    let mut end = format!("Options of all commands (trilith help options): {}", names(&shared));
    if !dudley.is_empty() && length == HelpLength::Long {
        end.push_str(&format!("\nFor files with a Dudley layout: {}", names(&dudley)));
    }
    let mut examples = examples::examples_text(path);
    if !examples.is_empty() {
        examples.push_str("\n\n");
    }
    match length {
        HelpLength::Long => {
            let whole = with_whole_about(command.clone()).mut_args(with_whole_text);
            let lines = |command: &Command| examples.lines().count() + command.clone().render_help().to_string().lines().count();
            command = if path.starts_with("layout") || lines(&whole) <= MAX_LONG_LINES {
                whole
            } else {
                end.insert_str(0, &format!("Complete descriptions: trilith man {path}\n"));
                let brief =
                    command.long_about(Resettable::Reset).mut_args(|arg| with_whole_text(arg.long_help(Resettable::Reset)));
                let brief =
                    brief.mut_args(|arg| if arg.get_action().takes_values() { arg.hide_possible_values(true) } else { arg });
                let with_about = brief.clone().about(whole.get_about().cloned().unwrap_or_default());
                if lines(&with_about) <= MAX_LONG_LINES { with_about } else { brief }
            };
        }
        HelpLength::Short => {
            if command.has_subcommands() {
                // The pages of the subcommands name them.
                "Options of all commands: trilith help options".clone_into(&mut end);
            }
            let room = MAX_SHORT_LINES.saturating_sub(fixed_lines(&command, &examples, &end));
            let (shortened, others) = with_first_options(command.long_about(Resettable::Reset), room);
            command = shortened;
            if !others.is_empty() {
                end.insert_str(0, &format!("More options (--help): {}\n", others.join(" ")));
            }
        }
    }
    let template = format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{examples}{{all-args}}{{after-help}}");
    command.disable_version_flag(true).help_template(StyledStr::from(template)).after_help(end).after_long_help(Resettable::Reset)
}

/// A command with its complete description above the usage.
fn with_whole_about(command: Command) -> Command {
    match command.get_long_about().cloned() {
        Some(about) => command.about(about).long_about(Resettable::Reset),
        None => command,
    }
}

/// Returns `true` if an option is only for files with a Dudley layout.
fn is_dudley_option(arg: &Arg) -> bool {
    [DUDLEY_OPTIONS, FILE_SET_OPTIONS].concat().contains(&arg.get_id().as_str())
}

/// The name of an option as it is typed.
fn option_name(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| arg.get_id().to_string(), |name| format!("--{name}"))
}

/// An option with its complete description next to its name.
fn with_whole_text(arg: Arg) -> Arg {
    let mut text = arg.get_long_help().or(arg.get_help()).map(|text| text.to_string().replace("\n\n", "\n")).unwrap_or_default();
    let values = arg.get_possible_values();
    let values: Vec<_> = values.iter().filter(|value| !value.is_hide_set()).collect();
    if values.iter().any(|value| value.get_help().is_some()) {
        let said = values.iter().map(|value| match value.get_help() {
            Some(help) => format!("{}: {}", value.get_name(), help.to_string().trim_end_matches('.')),
            None => value.get_name().to_owned(),
        });
        text = format!("{text}\n({})", said.collect::<Vec<_>>().join("; "));
        return arg.help(text).long_help(Resettable::Reset).hide_short_help(false).hide_possible_values(true);
    }
    arg.help(text).long_help(Resettable::Reset).hide_short_help(false)
}

/// Number of lines of a short help that are not those of options.
fn fixed_lines(command: &Command, examples: &str, end: &str) -> usize {
    let usage = command.clone().render_usage().to_string().lines().count();
    let positionals = command.get_positionals().filter(|arg| !arg.is_hide_set()).count();
    let arguments = if positionals > 0 { positionals + 2 } else { 0 };
    let end = end.chars().count().div_ceil(LINE_WIDTH);
    // The summary, the usage and a blank line after each; the heading of the options, -h, a blank line and the names of others.
    2 + usage + 1 + examples.lines().count() + arguments + 3 + end + 2
}

/// Leaves the first options, as many as there are lines, each with the first part of its description. Also returns the names of the
/// others.
fn with_first_options(command: Command, lines: usize) -> (Command, Vec<String>) {
    let options = || command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
    // The options with a letter are the usual ones, and those that select input files the same in many commands.
    let is_input = |arg: &&Arg| INPUT_OPTIONS.contains(&arg.get_id().as_str());
    let has_letter = |arg: &&Arg| arg.get_short().is_some() && !is_input(arg);
    let is_other = |arg: &&Arg| arg.get_short().is_none() && !is_input(arg);
    let ordered = options().filter(has_letter).chain(options().filter(is_other)).chain(options().filter(is_input));
    let chosen: Vec<String> = ordered.take(lines).map(|arg| arg.get_id().to_string()).collect();
    let is_chosen = |arg: &Arg| chosen.iter().any(|id| arg.get_id() == id.as_str());
    let others: Vec<String> = options().filter(|arg| !is_chosen(arg)).map(option_name).collect();
    let shown = |arg: &&Arg| !arg.is_hide_set() && (arg.is_positional() || is_chosen(arg));
    let width = command.get_arguments().filter(shown).map(name_width).max().unwrap_or(0);
    let room = LINE_WIDTH.saturating_sub(width.min(MAX_NAME_WIDTH) + 4);
    let command = command.mut_args(|arg| {
        if !arg.is_positional() && !is_chosen(&arg) {
            return arg.hide(true);
        }
        let text = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let takes_value = arg.get_action().takes_values();
        arg.help(first_part(text.lines().next().unwrap_or_default(), room))
            .long_help(Resettable::Reset)
            .help_heading(Resettable::Reset)
            .hide_short_help(false)
            .hide_possible_values(takes_value)
            .hide_default_value(takes_value)
    });
    (command, others)
}

/// Width of the name of an option with its value.
fn name_width(arg: &Arg) -> usize {
    let values = arg.get_value_names().map_or(0, |names| names.iter().map(|name| name.len() + "<> ".len()).sum());
    if arg.is_positional() { values } else { "-x, ".len() + option_name(arg).len() + values }
}

/// Returns the usage of a command that takes files, which are required unless a list names them. clap shows them as optional.
fn usage_with_files(command: &Command, path: &str) -> Option<String> {
    command.get_arguments().find(|arg| arg.get_id() == "files_from")?;
    let name = command.get_positionals().next()?.get_value_names()?.first()?.to_string();
    let usage = command.clone().bin_name(format!("trilith {path}")).render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    Some(usage.replacen(&format!("[{name}]"), &format!("<{name}>"), 1))
}

/// Adds the choices that an option has to its help.
fn with_choices(path: &str, arg: Arg) -> Arg {
    let choices = possible_values::possible_values(path, arg.get_id().as_str());
    if choices.is_empty() {
        return arg;
    }
    let values = format!("[values: {}]", choices.join(", "));
    let short = arg.get_help().map(|help| format!("{help} {values}")).unwrap_or_default();
    let long = arg.get_long_help().map(|help| format!("{help}\n\n{values}"));
    let arg = arg.help(short);
    match long {
        Some(long) => arg.long_help(long),
        None => arg,
    }
}

/// Returns `true` if a command refuses a common option, or has no use for it.
fn is_unsupported_option(path: &str, id: &str) -> bool {
    let first = path.split(' ').next().unwrap_or(path);
    match first {
        "completions" | "man" | "tour" => OPEN_OPTIONS.contains(&id) || FILE_SET_OPTIONS.contains(&id),
        "insert" | "rm" | "mv" | "edit" | "update" | "history" | "refs" | "resolve" | "explode" | "implode" | "describe"
        | "to-yaml" | "repack" | "repair" | "schema" => DUDLEY_OPTIONS.contains(&id) || FILE_SET_OPTIONS.contains(&id),
        _ => false,
    }
}

/// The page of the command itself: its subcommands in groups, without the groups of `left_out`.
fn top_template(command: &Command, left_out: &[&str]) -> StyledStr {
    let style = command.get_styles();
    let (head, name) = (style.get_header(), style.get_literal());
    let mut text = format!("{{about-with-newline}}\n{head}Usage:{head:#} {name}trilith{name:#} [OPTIONS] COMMAND\n");
    text.push_str(&format!(
        "\n{head}Examples:{head:#}\n  trilith tree night.asdf\n  trilith get 'night.asdf#/meta/filter'      FILE#/path is an item of a file\n  \
         trilith get 'night.fits#/fits/0@EXPTIME'  PATH@NAME is an attribute\n"
    ));
    let about = |sub: &Command| sub.get_about().map(ToString::to_string).unwrap_or_default();
    for (group, names) in GROUPS.iter().filter(|(group, _)| !left_out.contains(group)) {
        text.push_str(&format!("\n{head}{group}:{head:#}\n"));
        for sub in names.iter().filter_map(|name| command.find_subcommand(name.replace('_', "-"))) {
            let line = first_part(&about(sub), MAX_SUMMARY_WIDTH);
            text.push_str(&format!("  {name}{:<12}{name:#} {line}\n", sub.get_name()));
        }
    }
    text.push_str(&format!("\n{head}Options:{head:#}\n{{options}}{{after-help}}"));
    StyledStr::from(text)
}

/// Returns `true` for a command that only `trilith help all` lists.
pub(crate) fn is_further_command(name: &str) -> bool {
    let mut names = GROUPS.iter().filter(|(group, _)| *group == HIDDEN_GROUP).flat_map(|(_, names)| *names);
    names.any(|listed| listed.replace('_', "-") == name)
}

/// Returns the part of a text that fits in a width: up to a colon, a semicolon or a comma, else as many words as fit.
fn first_part(text: &str, width: usize) -> String {
    let cuts = [text.len()]
        .into_iter()
        .chain([text.find(" ("), text.find(": "), text.find("; "), text.find(". "), text.find(", ")].into_iter().flatten());
    let fits = |part: &&str| part.chars().count() <= width && part.contains('(') == part.contains(')');
    if let Some(part) = cuts.filter_map(|end| text.get(..end)).find(fits) {
        return part.to_owned();
    }
    let mut part = String::new();
    for word in text.split(' ') {
        if part.chars().count() + word.chars().count() + 2 > width {
            break;
        }
        part.push_str(word);
        part.push(' ');
    }
    format!("{}…", part.trim_end())
}

/// Names that other programs have for our commands.
const FOREIGN_COMMAND_NAMES: &[(&str, &str)] = &[
    ("add", "set"),
    ("append-rows", "append"),
    ("browse", "view"),
    ("checksum", "digest"),
    ("compare", "diff"),
    ("compress", "convert"),
    ("copy", "convert"),
    ("cp", "convert"),
    ("dump", "tree"),
    ("export", "get"),
    ("extract", "get"),
    ("find", "search"),
    ("fix", "repair"),
    ("grep", "search"),
    ("hash", "digest"),
    ("head", "get"),
    ("histogram", "stats"),
    ("image", "show"),
    ("import", "convert"),
    ("kerchunk", "manifest"),
    ("list", "tree"),
    ("move", "mv"),
    ("open", "info"),
    ("plot", "show"),
    ("print", "get"),
    ("query", "search"),
    ("read", "get"),
    ("remove", "rm"),
    ("slice", "get"),
    ("statistics", "stats"),
    ("strip", "rm"),
    ("thumbnail", "show"),
    ("viewer", "view"),
    ("wcs", "sky"),
    ("yaml", "tree"),
];

/// The command that somebody means who types another program's name for it.
pub(crate) fn suggested_command(word: &str) -> Option<&'static str> {
    FOREIGN_COMMAND_NAMES.iter().find(|(typed, _)| *typed == word).map(|(_, command)| *command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_list_every_command_once() {
        let command = crate::Cli::complete();
        let mut listed: Vec<String> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().map(|name| name.replace('_', "-"))).collect();
        listed.sort();
        let mut names: Vec<String> =
            command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(|sub| sub.get_name().to_owned()).collect();
        names.sort();
        assert_eq!(listed, names);
        assert!(
            FOREIGN_COMMAND_NAMES
                .iter()
                .all(|(typed, meant)| names.contains(&(*meant).to_owned()) && !names.contains(&(*typed).to_owned()))
        );
    }

    /// Pages of help with the lines of their two lengths.
    fn help_lengths() -> Vec<(String, usize, usize)> {
        fn add(found: &mut Vec<(String, usize, usize)>, path: &str, short: &Command, long: &Command) {
            let lines = |command: &Command| command.clone().render_help().to_string().lines().count();
            found.push((path.to_owned(), lines(short), lines(long)));
            for sub in short.get_subcommands().filter(|sub| sub.get_name() != "help") {
                let below = format!("{path} {}", sub.get_name());
                add(found, &below, sub, long.find_subcommand(sub.get_name()).unwrap());
            }
        }
        let (mut short, mut long) = (build_help_command(HelpLength::Short), build_help_command(HelpLength::Long));
        short.build();
        long.build();
        let mut found = Vec::new();
        add(&mut found, "trilith", &short, &long);
        found
    }

    /// First tier. The bounds are those of the specification of the command.
    #[test]
    fn help_has_few_lines() {
        let faults: Vec<_> = help_lengths()
            .into_iter()
            .filter(|(name, short, long)| match name.as_str() {
                "trilith" => *short > 80 || *long > 80,
                "trilith layout" => *short > 30,
                _ => *short > 30 || *long > 60,
            })
            .collect();
        assert!(faults.is_empty(), "{faults:?}");
    }

    /// First tier. The examples come before the options, in both lengths.
    #[test]
    fn help_has_three_examples_before_options() {
        for length in [HelpLength::Short, HelpLength::Long] {
            let mut command = build_help_command(length);
            command.build();
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
                let page = sub.clone().render_help().to_string();
                let (before, _) = page.split_once("\nOptions").unwrap_or_else(|| panic!("{page}"));
                let examples = before.split_once("\nExamples:").map_or("", |(_, examples)| examples);
                // A description of a subcommand may name another command.
                let examples = examples.split("\n\n").next().unwrap_or_default();
                let examples = examples.lines().filter(|line| line.starts_with("    ") && line.contains("trilith ")).count();
                assert_eq!(examples, 3, "{page}");
            }
        }
    }

    /// First tier. Twenty-six commands with `help`.
    #[test]
    fn top_page_lists_usual_commands() {
        let page = build_help_command(HelpLength::Long).render_help().to_string();
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        let listed = page.lines().filter(|line| {
            line.starts_with("  ")
                && !line.starts_with("  trilith")
                && line.get(2..3).is_some_and(|c| c.chars().all(char::is_alphabetic))
        });
        assert_eq!(listed.count(), 25, "{page}");
        assert!(!page.contains("--limit") && !page.contains("to-yaml"), "{page}");
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let all = topic_text(&words(&["trilith", "help", "all"])).unwrap().to_string();
        assert!(all.contains("to-yaml") && all.contains("  info "), "{all}");
        let options = topic_text(&words(&["trilith", "help", "options"])).unwrap().to_string();
        assert!(options.contains("--limit") && options.contains("--byteorder"), "{options}");
    }

    #[test]
    fn refused_options_are_hidden() {
        let help = |path: &[&str]| {
            let mut command = build_help_command(HelpLength::Long);
            command.build();
            let mut at = &mut command;
            for name in path {
                at = at.find_subcommand_mut(name).unwrap();
            }
            at.clone().render_help().to_string().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(help(&["get"]).contains("--byteorder") && help(&["layout", "resolve"]).contains("--limit"));
        assert!(!help(&["rm"]).contains("--byteorder") && help(&["rm"]).contains("--limit"));
        assert!(!help(&["completions"]).contains("--limit"));
        assert!(help(&["convert"]).contains("blsc-zstd, auto]") && help(&["convert"]).contains("dudley-2026]"));
    }
}
