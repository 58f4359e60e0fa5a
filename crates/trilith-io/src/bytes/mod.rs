//! Bytes: where they come from ([`Source`]), how they are read ([`Cursor`]) and how a file is
//! replaced without ever losing the old one ([`AtomicFile`]).
//!
//! Positions in a file are `u64`; a `usize` comes out of [`to_usize`] or a bounds check only.
//! This module and `file.rs` are the only ones that open files.

mod annexed;
mod backing;
mod base;
mod base64;
mod before;
mod checked;
mod cursor;
#[cfg(feature = "fault-injection")]
#[doc(hidden)]
pub mod disk;
#[cfg(not(feature = "fault-injection"))]
#[expect(unreachable_pub, reason = "the feature makes it public")]
mod disk;
mod gzip;
mod here;
mod journal;
mod large;
mod listing;
mod local;
mod lock;
mod map;
mod metered;
mod name;
mod nearby;
mod open;
mod origins;
mod output;
mod owner;
mod pieces;
mod record;
#[cfg(feature = "remote")]
mod remote;
mod replace;
mod resolve;
mod room;
mod source;
mod spool;
mod system;
mod temporary;
mod truncated;
mod unfinished;
mod update;
mod write_path;

#[cfg(feature = "remote")]
use system::read_exact_at;

#[doc(hidden)]
pub use annexed::{Annex, Annexed};
pub use backing::Backing;
#[doc(hidden)]
pub use base::{Base, file_uri, folder_named, local_path, percent_decode, percent_encode};
#[doc(hidden)]
pub use base64::{base64, from_base64};
#[doc(hidden)]
pub use checked::{Checked, PartCheck};
#[doc(hidden)]
pub use cursor::Cursor;
#[doc(hidden)]
pub use gzip::{deflated, gunzip, gunzipped, gzip, is_gzip, is_packed};
#[doc(hidden)]
pub use here::Shown;
#[doc(hidden)]
pub use journal::Journal;
#[doc(hidden)]
pub use large::{LargePages, Memory, large_pages, prefer_large_pages};
#[doc(hidden)]
pub use listing::{files_of, is_plain_file};
pub use local::LocalOptions;
pub(crate) use local::uncounted;
#[doc(hidden)]
pub use local::{LocalFile, bytes_read, is_one_file};
#[doc(hidden)]
pub use lock::{Basis, remove_stale, retried};
#[doc(hidden)]
pub use metered::Metered;
pub use name::is_url;
#[doc(hidden)]
pub use name::{exact_path, hidden_name, name_in, name_of, name_of_bytes, path_of, public_name, shown_name, shown_path, uri_of};
#[doc(hidden)]
pub use nearby::ReadAhead;
pub use open::open;
#[doc(hidden)]
pub use origins::{encoding, index_ranges, is_detached, source_piece_len, stored_ranges, verify_backing};
#[doc(hidden)]
pub use output::{NewFile, WriteSeek, Written};
#[doc(hidden)]
pub use pieces::{CodedPiece, SourceEncoding, SourcePieces, Step};
#[cfg(feature = "remote")]
#[doc(hidden)]
pub use remote::{Allowed, Parts, Several, Watch, by_parts, objects, requests, several};
#[cfg(feature = "remote")]
pub use remote::{RemoteOptions, open_url};
#[doc(hidden)]
pub use replace::{AtomicFile, read_text, remove};
#[doc(hidden)]
pub use resolve::{DirectoryResolver, Moved};
pub use resolve::{NoReferences, Resolve};
#[doc(hidden)]
pub use room::reserve;
pub use source::{Access, Cost, MemorySource, Source, SourceRef, Window};
#[doc(hidden)]
pub use source::{Derived, SourceOrigin, by_runs, copy, end_in, in_pieces, read_vec, to_usize};
#[doc(hidden)]
pub use spool::{Spooled, private_file, set_aside, spool, unnamed_file};
#[doc(hidden)]
pub use temporary::{Listed, remove_temporary_files};
#[doc(hidden)]
pub use truncated::Truncated;
#[doc(hidden)]
pub use unfinished::{Draft, TARGET, TREE_DRAFT, Writing, new_id, stream_draft, stream_id};
#[doc(hidden)]
pub use update::{Content, Update};
pub use write_path::WritePath;
