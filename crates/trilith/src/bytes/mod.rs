//! Bytes: where they come from ([`Source`]), how they are read ([`Cursor`]) and how a file is
//! replaced without ever losing the old one ([`Replace`]).
//!
//! Positions in a file are `u64`; a `usize` comes out of [`to_usize`] or a bounds check only.
//! This module and `file.rs` are the only ones that open files.

mod apart;
mod cursor;
#[doc(hidden)]
pub mod disk;
mod journal;
mod large;
mod local;
mod map;
mod metered;
mod nearby;
#[cfg(feature = "remote")]
mod remote;
mod replace;
mod resolve;
mod source;
mod spool;

#[cfg(feature = "remote")]
use local::read_exact_at;

pub(crate) use apart::side_by_side;
pub use cursor::Cursor;
pub use journal::Journal;
pub(crate) use large::large_pages;
pub use local::{LocalFile, OpenOptions, open};
pub use metered::Metered;
pub use nearby::Nearby;
#[cfg(feature = "remote")]
pub use remote::{Allowed, Parts, RemoteOptions, Watch, by_parts, open_url, requests};
pub use replace::{Replace, read_text, remove, remove_stale};
pub use resolve::{Folder, Nowhere, Resolve, is_url, percent_decode, percent_encode};
pub use source::{Access, Slice, Source, SourceRef, Window, read_vec, to_usize};
pub use spool::{private_file, set_aside, spool, unnamed_file};
