//! Subcommands, one file for each; the list below is the one place that names them all.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args as _, FromArgMatches as _};
use trilith::Result;

use crate::outcome::Outcome;
use crate::session::{InputRules, Session};

/// Declares the modules and the subcommands in their groups, in the order of `--help`.
macro_rules! commands {
    ($($group:literal { $($module:ident :: $Command:ident),+ $(,)? })+) => {
        $($(mod $module;)+)+

        /// The subcommand.
        #[derive(Debug)]
        pub(crate) enum Command {
            $($($Command($module::$Command),)+)+
        }

        /// The names of the subcommands, by their modules.
        mod names {
            $($(
                pub(super) const fn $module() -> &'static str {
                    const NAME: [u8; stringify!($module).len()] = super::dashed_name(stringify!($module));
                    if let Ok(name) = std::str::from_utf8(&NAME) { name } else { "" }
                }
            )+)+
        }

        /// The groups of `--help`, each with the modules of its commands.
        pub(crate) const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$(stringify!($module)),+]),)+];

        impl Command {
            /// Adds the subcommands with wanted names to a command. The others are not built.
            pub(crate) fn add_to(mut parent: clap::Command, is_wanted: impl Fn(&str) -> bool) -> clap::Command {
                $($(
                    if is_wanted(names::$module()) {
                        parent = parent.subcommand($module::$Command::augment_args(clap::Command::new(names::$module())));
                    }
                )+)+
                parent.subcommand_required(true).arg_required_else_help(true)
            }

            /// Reads the subcommand that was parsed.
            pub(crate) fn from_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
                let (name, matches) = matches.subcommand().ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
                $($(
                    if name == names::$module() {
                        return $module::$Command::from_arg_matches(matches).map(Self::$Command);
                    }
                )+)+
                Err(clap::Error::new(ErrorKind::InvalidSubcommand))
            }

            /// Does it.
            pub(crate) fn run(self, session: &Session<'_>) -> Result<Outcome> {
                match self {
                    $($(Command::$Command(command) => command.run(session),)+)+
                }
            }
        }
    };
}

/// Returns the name of the subcommand in a module: hyphens are in the place of underscores.
const fn dashed_name<const N: usize>(module: &str) -> [u8; N] {
    let mut name = [0; N];
    let mut at = 0;
    while at < N {
        let byte = module.as_bytes()[at];
        name[at] = if byte == b'_' { b'-' } else { byte };
        at += 1;
    }
    name
}

/// The group of commands that only `trilith help all` lists.
pub(crate) const HIDDEN_GROUP: &str = "Further commands";

commands! {
    "Look" {
        info::Info,
        tree::Tree,
        header::Header,
        get::Get,
        show::Show,
        stats::Stats,
        view::View,
    }
    "Find and compare" {
        search::Search,
        table::Table,
        diff::Diff,
        digest::Digest,
    }
    "Check and change" {
        check::Check,
        repair::Repair,
        set::Set,
        rm::Rm,
        mv::Mv,
        edit::Edit,
        append::Append,
        history::History,
    }
    "Convert, cut out, describe" {
        convert::Convert,
        repack::Repack,
        cutout::Cutout,
        sky::Sky,
        layout::Layout,
        manifest::Manifest,
    }
    "Further commands" {
        verify::Verify,
        validate::Validate,
        describe::Describe,
        schema::Schema,
        blocks::Blocks,
        to_yaml::ToYaml,
        insert::Insert,
        update::Update,
        stream::Stream,
        explode::Explode,
        implode::Implode,
        refs::Refs,
        resolve::Resolve,
        tour::Tour,
        completions::Completions,
        man::Man,
    }
}

impl Command {
    /// The rules by which the command reads its files.
    pub(crate) fn input_rules(&self) -> InputRules {
        use Command::{Append, Blocks, Check, Convert, Diff, Digest, Explode, Implode, Info, Layout, Repack, Validate, Verify};
        InputRules {
            is_whole: matches!(
                self,
                Check(_) | Digest(_) | Verify(_) | Diff(_) | Convert(_) | Repack(_) | Explode(_) | Implode(_)
            ),
            malformed_is_negative: matches!(self, Digest(_) | Check(_) | Verify(_) | Validate(_)),
            // A side of `diff` that cannot be read decides nothing. `layout` and `stream` look for items that the command line does not name.
            missing_is_negative: !matches!(self, Diff(_) | Layout(_) | Command::Stream(_)),
            is_catalog_only: matches!(self, Info(_) | Blocks(_) | Validate(_) | Append(_) | Layout(_)),
            is_of_rows: matches!(self, Command::Table(_)),
            omits_card_rows: match self {
                Command::Search(_) => true,
                Command::Table(table) => !table.needs_card_rows(),
                _ => false,
            },
            // Programs that read references apply what the attributes declare.
            is_encoded: matches!(self, Command::Manifest(_)),
            has_own_params: matches!(self, Layout(layout) if layout.has_own_params()),
            dudley_alternative: self.dudley_alternative(),
        }
    }

    /// Returns the alternative for a Dudley file, if the command is only for trees of the ASDF family.
    fn dudley_alternative(&self) -> &'static str {
        use Command::{
            Describe, Edit, Explode, History, Implode, Insert, Mv, Refs, Repack, Repair, Resolve, Rm, Set, ToYaml, Update,
        };
        match self {
            Set(_) | Insert(_) | Rm(_) | Mv(_) | Edit(_) | Update(_) | History(_) => {
                "append adds records to it; for any other change convert it first: trilith convert IN.bd OUT.asdf"
            }
            Refs(_) | Resolve(_) | Explode(_) | Implode(_) => "it refers to no other files; convert writes it as ASDF",
            Describe(_) => "layout print shows its documentation",
            ToYaml(_) => "tree --json shows all of it, and get --format yaml one item",
            Repack(_) => "trilith convert IN.bd OUT.bd writes it without gaps",
            Repair(_) => "verify --deep lists what is wrong with it",
            _ => "convert writes it as ASDF",
        }
    }

    /// Returns `true` if every argument without an option is a file or an item, and a wrong one stops the command.
    pub(crate) fn takes_only_items(&self) -> bool {
        matches!(self, Command::Get(_) | Command::Show(_) | Command::Table(_))
    }
}
