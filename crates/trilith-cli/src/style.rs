//! Colour: whether there is any, and what it means. Everything reads the same without.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::OnceLock;

/// The role of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StyleRole {
    /// An error, or the verdict that something is wrong.
    Error,
    /// A warning.
    Warning,
    /// The verdict that all is well.
    Success,
    /// The name of an item.
    Name,
    /// An array.
    Array,
    /// A tag.
    Tag,
}

impl StyleRole {
    fn ansi_code(self) -> &'static str {
        match self {
            Self::Error => "1;31",
            Self::Warning => "33",
            Self::Success => "32",
            Self::Name => "36",
            Self::Array => "32",
            Self::Tag => "35",
        }
    }
}

/// The choice of `--color`, if there is one.
static CHOICE: OnceLock<bool> = OnceLock::new();

/// Looks for `--color` before the words are parsed, since the parser prints in colour itself.
pub(crate) fn color_from_args(words: &[OsString]) -> clap::ColorChoice {
    let words: Vec<Cow<'_, str>> = words.iter().take_while(|word| *word != "--").map(|word| word.to_string_lossy()).collect();
    let behind = words.windows(2).filter_map(|pair| (pair.first()? == "--color").then(|| pair.last()).flatten());
    let joined = words.iter().filter_map(|word| word.strip_prefix("--color="));
    match behind.map(|word| &**word).chain(joined).last() {
        Some("always") => clap::ColorChoice::Always,
        Some("never") => clap::ColorChoice::Never,
        _ => clap::ColorChoice::Auto,
    }
}

/// Sets the value of `--color`; None leaves it to the terminal and the environment.
pub(crate) fn set_choice(colored: Option<bool>) {
    if let Some(colored) = colored {
        let _ = CHOICE.set(colored);
    }
}

/// Returns `true` if a stream is coloured: `--color` decides, then `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR=0` and
/// `TERM=dumb`, then whether it is a terminal.
fn is_colored(is_terminal: bool) -> bool {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    CHOICE
        .get()
        .copied()
        .unwrap_or_else(|| is_color_wanted(&|name| variable(name).map(|value| value.to_string_lossy().into_owned()), is_terminal))
}

fn is_color_wanted(variable: &dyn Fn(&str) -> Option<String>, is_terminal: bool) -> bool {
    if variable("NO_COLOR").is_some() {
        return false;
    }
    if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    is_terminal && variable("CLICOLOR").is_none_or(|value| value != "0") && variable("TERM").is_none_or(|value| value != "dumb")
}

/// Returns `true` if standard output is coloured.
pub(crate) fn out_is_colored() -> bool {
    static STDOUT_COLORED: OnceLock<bool> = OnceLock::new();
    *STDOUT_COLORED.get_or_init(|| is_colored(std::io::stdout().is_terminal()))
}

fn err_is_colored() -> bool {
    static STDERR_COLORED: OnceLock<bool> = OnceLock::new();
    *STDERR_COLORED.get_or_init(|| is_colored(std::io::stderr().is_terminal()))
}

/// Text for standard output. It must be free of control characters.
pub(crate) fn paint_stdout(ink: StyleRole, text: &str) -> Cow<'_, str> {
    paint(ink, text, out_is_colored())
}

/// Text for standard error. It must be free of control characters.
pub(crate) fn paint_stderr(ink: StyleRole, text: &str) -> Cow<'_, str> {
    paint(ink, text, err_is_colored())
}

fn paint(ink: StyleRole, text: &str, is_colored: bool) -> Cow<'_, str> {
    if is_colored { format!("\x1b[{}m{text}\x1b[0m", ink.ansi_code()).into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_variables_decide_in_order() {
        let with = |set: &'static [(&str, &str)], is_terminal| {
            is_color_wanted(
                &|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
                is_terminal,
            )
        };
        assert!(with(&[], true) && !with(&[], false));
        assert!(!with(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true));
        assert!(with(&[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")], false));
        assert!(!with(&[("CLICOLOR_FORCE", "0")], false));
        assert!(!with(&[("CLICOLOR", "0")], true) && !with(&[("TERM", "dumb")], true));
        assert!(with(&[("CLICOLOR", "1"), ("TERM", "xterm")], true));
    }

    #[test]
    fn early_parse_finds_color_option() {
        let early = |line: &str| color_from_args(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(early("trilith --color always tree x"), clap::ColorChoice::Always);
        assert_eq!(early("trilith tree x --color=never"), clap::ColorChoice::Never);
        assert_eq!(early("trilith get x -- --color=never"), clap::ColorChoice::Auto);
    }
}
