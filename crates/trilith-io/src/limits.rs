//! Limits on the cost of a file: the policy against hostile files.
//!
//! Every allocation whose size a file declares is charged to a [`Limits`] first. The defaults let every ordinary
//! file pass. Each can be raised by field, by option or by environment variable. The [budget](Limits::for_command)
//! counts sums over a whole command.

mod budget;
mod system_memory;

use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, Result, SuggestedSetting};

#[doc(hidden)]
pub use budget::CallGuard;

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident : $default:expr),+ $(,)?) => {
        /// Limits on the cost of a file. Beyond them reading is refused with
        /// [`ErrorKind::Limit`](crate::ErrorKind::Limit).
        ///
        /// ```
        /// use trilith_io::Limits;
        /// let mut limits = Limits::default();
        /// limits.set("depth=1000").unwrap();
        /// assert_eq!(limits.depth, 1000);
        /// ```
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub struct Limits {
            $($(#[$doc])* pub $name: u64,)+
            /// The sums of the command, if they are counted.
            pub(crate) spent: Option<Arc<budget::BudgetUse>>,
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)+ spent: None }
            }
        }

        impl PartialEq for Limits {
            fn eq(&self, other: &Self) -> bool {
                $(self.$name == other.$name)&&+
            }
        }

        impl Eq for Limits {}

        impl Limits {
            /// The names that [`Limits::set`] accepts.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];

            fn field(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)+
                    _ => None,
                }
            }
        }
    };
}

limits! {
    /// Nesting depth of YAML, layouts, schemas and structured datatypes.
    depth: 256,
    /// Bytes of text in one tree or layout, of all its distinct tags and of all paths in one list of its nodes.
    text: 256 << 20,
    /// Bytes of one scalar of a tree.
    scalar: 64 << 20,
    /// Nodes that a walk which expands aliases and references may visit.
    nodes: 10_000_000,
    /// Nodes that aliases and references may add to a tree that is written out.
    expansion: 1_000_000,
    /// Entries that a listing may have (arrays of a tree, items of a layout, files of a family).
    items: 1_000_000,
    /// Bytes of an array whose elements overlap, so that it has more than the data it is made of: strides may
    /// make terabytes of a few bytes.
    overlap: 512 << 20,
    /// Bytes that may be allocated at once for what a file declares; the memory of the machine, or what the control
    /// group of the process allows.
    memory: system_memory::usable_memory(),
    /// Bytes that a command may decode in all, and that it may hash, compare and go through, aliases and repeated references
    /// included, if [`Limits::for_command`] counts them; 0 is 4 GiB and 1,000 times the size of its input. Several passes over
    /// one array count once. Bytes that slow codecs (bzip2, tiles of FITS images) decode count several times.
    work: 0,
    /// Bytes that a command may write in all; 0 as for [`Limits::work`].
    output: 0,
    /// Bytes of a pipe that are kept in a temporary file, since a pipe may have no end.
    spool: 64 << 30,
    /// Maximum depth of chained external references.
    external_depth: 8,
    /// Decoded bytes for each stored byte of a zlib block.
    zlib_ratio: 1_100,
    /// Decoded bytes for each stored byte of an lz4 block.
    lz4_ratio: 260,
    /// Decoded bytes for each stored byte of a bzip2 block: 45.9 MB of zeros, which honest masks are made of, are
    /// one block of 37 bytes.
    bzip2_ratio: 1_300_000,
    /// Bytes of memory that a RICE tile of a FITS image and the band that it belongs to may need, for each stored byte of
    /// the image; 256 KiB count if fewer are stored.
    rice_ratio: 1_000,
    /// Like `rice_ratio`, for PLIO tiles.
    plio_ratio: 1_000,
    /// Like `rice_ratio`, for HCOMPRESS tiles.
    hcompress_ratio: 1_000,
    /// Decoded bytes for each stored byte of any other compressed block, and of a FITS image in tiles.
    ratio: 100_000,
}

impl Limits {
    /// Sets one limit from `name=value`; the value may end in k, M, G or T (powers of 1024). `auto` is the default.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an unknown name or a value that is not a number.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let (name, value) = assignment.split_once('=').ok_or_else(|| {
            Error::invalid_input(format!("cannot set the limit {assignment:?}: expected NAME=VALUE, such as memory=8G"))
        })?;
        let number = match value.trim() {
            "auto" => Self::default().field(name).copied().unwrap_or_default(),
            value => parse_size(value)?,
        };
        match self.field(name) {
            Some(field) => {
                *field = number;
                Ok(())
            }
            None => Err(Error::unknown("limit", name, Self::NAMES.iter().copied())),
        }
    }

    /// The defaults, changed by the environment variable `TRILITH_LIMITS` (`name=value,…`).
    ///
    /// # Errors
    /// Returns the errors of [`Limits::set`].
    pub fn from_env() -> Result<Self> {
        let mut limits = Self::default();
        for_each_env_assignment("TRILITH_LIMITS", |assignment| limits.set(assignment))?;
        Ok(limits)
    }

    /// The error for something that is over a limit.
    #[cold]
    pub fn exceeded_error(name: &str, limit: u64, what: impl std::fmt::Display) -> Error {
        Error::limit(format!("{what}, more than the limit {name}={limit}"))
            .setting("if you trust the file", SuggestedSetting::Limit(name.to_owned()))
    }

    /// Refuses to allocate more than [`Limits::memory`] at once for what a file declares.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a limit would be exceeded.
    pub fn charge_memory(&self, bytes: u64, what: &str) -> Result<()> {
        if bytes > self.memory {
            return Err(Self::exceeded_error("memory", self.memory, format_args!("{what} needs {bytes} bytes")));
        }
        Ok(())
    }

    /// Adds to a sum of text that is kept or written, and refuses more than [`Limits::text`]: a short file may name one
    /// long key or tag again and again.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a limit would be exceeded.
    #[doc(hidden)]
    pub fn charge_text(&self, sum: &mut u64, bytes: usize, what: &str) -> Result<()> {
        *sum = sum.saturating_add(bytes as u64);
        if *sum > self.text {
            return Err(Self::exceeded_error("text", self.text, format_args!("{what} have more bytes")));
        }
        Ok(())
    }

    /// Refuses text that nests deeper than [`Limits::depth`].
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a limit would be exceeded.
    pub fn charge_depth(&self, depth: usize, what: &str) -> Result<()> {
        if depth as u64 > self.depth {
            return Err(Self::exceeded_error("depth", self.depth, format_args!("{what} nests {depth} deep")));
        }
        Ok(())
    }
}

impl FromStr for Limits {
    type Err = Error;

    fn from_str(list: &str) -> Result<Self> {
        let mut limits = Self::default();
        for assignment in list.split(',').filter(|part| !part.trim().is_empty()) {
            limits.set(assignment.trim())?;
        }
        Ok(limits)
    }
}

/// Takes the assignments of an environment variable, `name=value,…`.
pub(crate) fn for_each_env_assignment(variable: &str, mut set: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let list = std::env::var(variable).unwrap_or_default();
    let mut given = list.split(',').map(str::trim).filter(|part| !part.is_empty());
    given.try_for_each(|assignment| set(assignment).map_err(|e| e.context(variable)))
}

/// Reads `10`, `64k`, `256M`, `4G` or `1T`.
pub fn parse_size(text: &str) -> Result<u64> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        Some(b't' | b'T') => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)).ok_or_else(|| {
        Error::invalid_input(format!("{text:?} is not a size")).hint("write a whole number, or one with k, M, G or T")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_size_accepts_binary_suffixes_rejects_overflow() {
        assert_eq!(parse_size("64k").unwrap(), 65536);
        assert_eq!(parse_size("2G").unwrap(), 2 << 30);
        assert!(parse_size("99999999999T").is_err());
        assert!(parse_size("").is_err());
    }

    #[test]
    fn limit_error_names_value_and_option() {
        let limits = Limits { memory: 64 << 30, ..Limits::default() };
        let text = limits.charge_memory(1 << 40, "block 3").unwrap_err().to_string();
        assert!(text.contains("memory=68719476736") && text.contains("raise the limit memory"), "{text}");
        assert_eq!("memory=5,memory=auto,work=auto".parse::<Limits>().unwrap(), Limits::default());
    }
}
