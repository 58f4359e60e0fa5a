//! The command as people see it: subcommands in groups, examples below each, common options out of the way, and
//! lists of choices from the library's own tables.

pub(crate) mod examples;

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory};

use crate::commands::GROUPS;
use crate::possible_values;

/// Options that only files under a Dudley layout or of its kind need.
const DUDLEY_OPTIONS: &[&str] = &["under", "stream_order"];
/// Options about how files are opened.
const OPEN_OPTIONS: &[&str] = &["threads", "no_mmap", "limits", "allow", "remote", "download", "under", "stream_order"];

/// The command with groups, examples, choices and without the options that a subcommand refuses.
pub(crate) fn build_command() -> Command {
    let command = crate::Cli::command();
    let globals: Vec<Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let top = top_template(&command);
    names
        .into_iter()
        .fold(command, |command, name| command.mut_subcommand(&name, |sub| with_help_layout(sub, &name, &globals)))
        .help_template(top)
        .after_help("trilith COMMAND --help shows examples and all options.\ntrilith FILE is the same as trilith info FILE.")
}

/// Completes the help of a subcommand; `path` is what is typed to get there.
fn with_help_layout(mut command: Command, path: &str, globals: &[Arg]) -> Command {
    for global in globals.iter().filter(|global| is_unsupported_option(path, global.get_id().as_str())) {
        command = command.arg(global.clone().hide(true));
    }
    command = command.mut_args(|arg| with_choices(path, arg));
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        let below = format!("{path} {name}");
        command = command.mut_subcommand(&name, |sub| with_help_layout(sub, &below, globals));
    }
    if let Some(usage) = usage_with_files(&command, path) {
        command = command.override_usage(usage);
    }
    let examples = examples::examples_text(path);
    let short = "Common options (--json, --quiet, --limit and more): see --help";
    let both = if examples.is_empty() { short.into() } else { format!("{examples}\n\n{short}") };
    command.after_help(StyledStr::from(both)).after_long_help(StyledStr::from(examples))
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
        "completions" | "man" | "tour" => OPEN_OPTIONS.contains(&id),
        "set" | "insert" | "rm" | "mv" | "edit" | "update" | "history" | "refs" | "resolve" | "explode" | "implode"
        | "describe" | "to-yaml" | "repack" | "repair" | "schema" => DUDLEY_OPTIONS.contains(&id),
        _ => false,
    }
}

/// The page of the command itself: its subcommands in groups.
fn top_template(command: &Command) -> StyledStr {
    let style = command.get_styles();
    let (head, name) = (style.get_header(), style.get_literal());
    let mut text = format!("{{about-with-newline}}\n{head}Usage:{head:#} {name}trilith{name:#} [OPTIONS] COMMAND\n");
    let about = |sub: &Command| sub.get_about().map(ToString::to_string).unwrap_or_default();
    for (group, names) in GROUPS {
        text.push_str(&format!("\n{head}{group}:{head:#}\n"));
        for sub in names.iter().filter_map(|name| command.find_subcommand(name.replace('_', "-"))) {
            let about = about(sub);
            let line = first_part(&about);
            text.push_str(&format!("  {name}{:<12}{name:#} {line}\n", sub.get_name()));
        }
    }
    text.push_str(&format!("\n{head}Options:{head:#}\n{{options}}{{after-help}}"));
    StyledStr::from(text)
}

/// Returns the part of a summary that fits next to the name of a command on 80 columns.
fn first_part(about: &str) -> &str {
    const MAX_USAGE_WIDTH: usize = 64;
    let cuts = [about.len()].into_iter().chain([about.find([':', ';']), about.find(", ")].into_iter().flatten());
    cuts.filter_map(|end| about.get(..end)).find(|part| part.chars().count() <= MAX_USAGE_WIDTH).unwrap_or(about)
}

/// Names that other programs have for our commands.
const FOREIGN_COMMAND_NAMES: &[(&str, &str)] = &[
    ("append-rows", "append"),
    ("browse", "view"),
    ("checksum", "digest"),
    ("compare", "diff"),
    ("compress", "convert"),
    ("copy", "convert"),
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
    ("list", "tree"),
    ("move", "mv"),
    ("open", "info"),
    ("plot", "show"),
    ("print", "get"),
    ("read", "get"),
    ("remove", "rm"),
    ("slice", "get"),
    ("statistics", "stats"),
    ("viewer", "view"),
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
        let command = crate::Cli::command();
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

    #[test]
    fn short_page_fits_80_columns_without_common_options() {
        let mut command = build_command();
        let page = command.render_help().to_string();
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        assert!(page.contains("\nTake data out:\n  get ") && !page.contains("--limit"));
        assert!(command.render_long_help().to_string().contains("--limit"));
    }

    #[test]
    fn refused_options_are_hidden() {
        let help = |path: &[&str]| {
            let mut command = build_command();
            command.build();
            let mut at = &mut command;
            for name in path {
                at = at.find_subcommand_mut(name).unwrap();
            }
            at.clone().render_long_help().to_string().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(help(&["get"]).contains("--byteorder") && help(&["layout", "resolve"]).contains("--limit"));
        assert!(!help(&["set"]).contains("--byteorder") && help(&["set"]).contains("--limit"));
        assert!(!help(&["completions"]).contains("--limit"));
        assert!(help(&["convert"]).contains("blsc-zstd, auto]") && help(&["convert"]).contains("dudley-2026]"));
    }
}
