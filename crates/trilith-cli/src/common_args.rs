//! The arguments that every command shares, as a person typed them.

use clap::{Args, ValueEnum};
use trilith::layout::Byteorder;
use trilith::{Limits, Result};

/// Arguments shared by all commands. The state of a run is in `Session`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct CommonArgs {
    /// Print JSON instead of text: one document, or one line for each of several files
    #[arg(long, global = true, hide_short_help = true)]
    pub json: bool,
    /// Print no progress and no warnings
    #[arg(long, short, global = true, hide_short_help = true)]
    pub quiet: bool,
    /// Print more details
    #[arg(long, short, global = true, hide_short_help = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Colour the output
    #[arg(long, global = true, hide_short_help = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Number of threads (also TRILITH_THREADS; default: one per core)
    #[arg(long, global = true, hide_short_help = true, value_name = "N")]
    pub threads: Option<usize>,
    /// Do not map files into memory (the default for commands)
    #[arg(long, global = true, hide_short_help = true)]
    pub no_mmap: bool,
    /// Raise or lower a limit against hostile files, e.g. depth=1000 or memory=8G
    #[arg(long = "limit", global = true, hide_short_help = true, value_name = "NAME=VALUE")]
    pub limits: Vec<String>,
    /// Permit references of a file to this folder (DIR/, .., file:///DIR/) or to URLs with this prefix
    #[arg(long = "allow", global = true, hide_short_help = true, value_name = "DIR|URL-PREFIX")]
    pub allow: Vec<String>,
    /// Set an option for remote files, e.g. timeout=5, cache=256M or cache-dir=PATH (also TRILITH_REMOTE)
    #[arg(long = "remote", global = true, hide_short_help = true, value_name = "NAME=VALUE")]
    pub remote: Vec<String>,
    /// Download a remote file whole, however large, if its server does not support range requests
    #[arg(long, global = true, hide_short_help = true)]
    pub download: bool,
    /// Replace an existing object in a bucket, or existing files of commands that would refuse it
    #[arg(long, global = true, hide_short_help = true)]
    pub overwrite: bool,
    /// Use only these files of a catalog, counted from 0; several ranges with commas: 0:10,20:. If the shape of an item
    /// differs between them: pad it with masked elements, give each file's array in a list (/te/0), or join it along=AXIS
    #[arg(long = "files", global = true, hide_short_help = true, value_name = "FIRST:END,pad|each|along=AXIS")]
    pub of_catalog: Option<String>,
    /// Use only the files of a catalog whose values in the summary block meet this condition: 'time > 3.5 and nx == 16'
    #[arg(long = "where", global = true, hide_short_help = true, value_name = "EXPR")]
    pub condition: Option<String>,
    /// Read the file with this Dudley layout, independent of its first bytes
    #[arg(long = "layout", global = true, hide_short_help = true, value_name = "L.dud")]
    pub under: Option<String>,
    /// Give a fixed parameter of the layout this value; fill follows from the length of the file
    #[arg(id = "param", long = "param", global = true, hide_short_help = true, value_name = "NAME=N|fill")]
    pub layout_params: Vec<String>,
    /// Read the stored elements of arrays, without applying scale, offset and missing values
    #[arg(long, global = true, hide_short_help = true)]
    pub stored: bool,
    /// Byte order of data if neither the layout nor the file gives it
    #[arg(long = "byteorder", global = true, hide_short_help = true, value_name = "ORDER")]
    pub stream_order: Option<ByteorderArg>,
}

/// A byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByteorderArg {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR, CLICOLOR=0 or TERM=dumb is set; anywhere with CLICOLOR_FORCE.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl CommonArgs {
    /// The limits without a budget: defaults, environment, then `--limit`.
    pub(crate) fn parse_limits(&self) -> Result<Limits> {
        let mut limits = Limits::from_env()?;
        for assignment in &self.limits {
            limits.set(assignment)?;
        }
        Ok(limits)
    }

    /// The byte order that `--byteorder` gives.
    pub(crate) fn byteorder(&self) -> Option<Byteorder> {
        self.stream_order.map(|order| match order {
            ByteorderArg::Little => Byteorder::Little,
            ByteorderArg::Big => Byteorder::Big,
        })
    }
}
