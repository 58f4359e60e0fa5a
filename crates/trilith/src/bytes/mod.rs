//! Bytes: where they come from ([`Source`]), how they are read ([`Cursor`]) and how a file is
//! replaced without ever losing the old one ([`AtomicFile`]).
//!
//! Positions in a file are `u64`; a `usize` comes out of [`to_usize`] or a bounds check only.
//! This module and `file.rs` are the only ones that open files.

mod base;
mod base64;
mod before;
mod cursor;
#[cfg(feature = "fault-injection")]
#[doc(hidden)]
pub mod disk;
#[cfg(not(feature = "fault-injection"))]
mod disk;
mod form;
mod gzip;
mod here;
mod journal;
mod large;
mod listing;
mod local;
mod lock;
mod map;
mod metered;
mod nearby;
mod open;
mod output;
mod owner;
mod record;
#[cfg(feature = "remote")]
mod remote;
mod replace;
mod resolve;
mod room;
mod source;
mod spool;
mod system;
mod unfinished;
mod update;

#[cfg(feature = "remote")]
use system::read_exact_at;

pub(crate) use base::folder_named;
pub use base::{Base, file_uri, is_url, local_path, percent_decode, percent_encode};
pub(crate) use base64::{base64, from_base64};
pub use cursor::Cursor;
pub use form::{CodedPiece, Form, GridForm, Step};
#[cfg(feature = "dudley")]
pub(crate) use gzip::deflated;
#[cfg(any(feature = "dudley", feature = "fits"))]
pub(crate) use gzip::gunzipped;
pub use gzip::{gunzip, gzip, is_gzip, is_packed};
pub use here::Shown;
pub use journal::Journal;
pub(crate) use large::{LargePages, Memory, large_pages, prefer_large_pages};
pub(crate) use listing::{files_of, is_plain_file};
pub(crate) use local::uncounted;
pub use local::{LocalFile, LocalOptions, bytes_read, is_one_file};
pub use lock::{Basis, remove_stale};
pub use metered::Metered;
pub use nearby::ReadAhead;
pub use open::open;
pub use output::{NewFile, WriteSeek, Written};
#[cfg(feature = "remote")]
pub use remote::{Allowed, Parts, RemoteOptions, Watch, by_parts, open_url, requests};
pub use replace::{AtomicFile, read_text, remove};
pub(crate) use resolve::Moved;
pub use resolve::{DirectoryResolver, NoReferences, Resolve};
pub use room::reserve;
pub use source::{Access, Derived, MemorySource, Source, SourceRef, Truncated, Window, read_vec, to_usize};
pub(crate) use spool::Spooled;
pub use spool::{private_file, set_aside, spool, unnamed_file};
pub(crate) use unfinished::{Draft, Writing, new_id};
pub use update::{Content, Update};
