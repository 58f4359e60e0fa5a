//! Subcommands, one file for each; the list below is the one place that names them all.

use clap::Subcommand;
use trilith::Result;

use crate::Outcome;
use crate::options::Options;

/// Declares the modules and the subcommands in their groups, in the order of `--help`.
macro_rules! commands {
    ($($group:literal { $($module:ident :: $Command:ident),+ $(,)? })+) => {
        $($(mod $module;)+)+

        /// The subcommand.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($($Command($module::$Command),)+)+
        }

        /// The groups of `--help`, each with the modules of its commands.
        pub(crate) const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$(stringify!($module)),+]),)+];

        impl Command {
            /// Does it.
            pub(crate) fn run(self, options: &Options) -> Result<Outcome> {
                match self {
                    $($(Command::$Command(command) => command.run(options),)+)+
                }
            }
        }
    };
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
    /// Returns `true` if a malformed file is an answer (exit status 1) and not a failure to answer (2).
    pub(crate) fn malformed_is_negative_result(&self) -> bool {
        matches!(self, Command::Digest(_) | Command::Check(_) | Command::Verify(_) | Command::Validate(_))
    }

    /// Returns the alternative for a Dudley file, if the command is only for trees of the ASDF family.
    pub(crate) fn dudley_alternative(&self) -> &'static str {
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

    /// Returns `true` if a catalog is read as the file that it is. Other commands read the files that it lists.
    pub(crate) fn resolves_own_inputs(&self) -> bool {
        use Command::{Append, Blocks, Info, Layout, Validate};
        matches!(self, Info(_) | Blocks(_) | Validate(_) | Append(_) | Layout(_))
    }

    /// Returns `true` if every argument without an option is a file or an item, and a wrong one stops the command.
    pub(crate) fn takes_only_items(&self) -> bool {
        matches!(self, Command::Get(_) | Command::Show(_) | Command::Table(_))
    }

    /// Returns `true` if it reads its files completely.
    pub(crate) fn accepts_many_files(&self) -> bool {
        use Command::{Check, Convert, Diff, Digest, Explode, Implode, Repack, Verify};
        matches!(self, Check(_) | Digest(_) | Verify(_) | Diff(_) | Convert(_) | Repack(_) | Explode(_) | Implode(_))
    }
}
