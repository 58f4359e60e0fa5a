//! Bytes: where they come from ([`Source`]), how they are read ([`Cursor`]) and how a file is
//! replaced without ever losing the old one ([`AtomicFile`]).
//!
//! Positions in a file are `u64`; a `usize` comes out of [`to_usize`] or a bounds check only.
//! This module and `file.rs` are the only ones that open files.

mod atomic_file;
mod backing;
mod base64;
mod base_uri;
mod checked;
mod concatenated;
mod counting_writer;
mod cursor;
mod file_name;
#[cfg(feature = "fault-injection")]
#[doc(hidden)]
pub mod fs;
#[cfg(not(feature = "fault-injection"))]
#[expect(unreachable_pub, reason = "the feature makes it public")]
mod fs;
mod gzip;
mod huge_pages;
mod journal;
mod journal_record;
mod journal_view;
mod local;
mod lock;
mod mmap;
mod new_file;
mod open;
mod open_files;
mod origins;
mod ownership;
mod parallel_draft;
mod pieces;
mod platform;
mod preallocate;
mod read_ahead;
mod read_dir;
#[cfg(feature = "remote")]
mod remote;
mod resolve;
mod source;
mod spool;
mod temporary;
mod truncated;
mod update;
mod write_path;

#[cfg(feature = "remote")]
use platform::read_exact_at;

#[doc(hidden)]
pub use atomic_file::{AtomicFile, read_text, remove};
pub use backing::Backing;
#[doc(hidden)]
pub use base_uri::{Base, file_uri, folder_named, local_path, percent_decode, percent_encode};
#[doc(hidden)]
pub use base64::{base64, from_base64};
#[doc(hidden)]
pub use checked::{Checked, PartCheck};
#[doc(hidden)]
pub use concatenated::{Annex, Annexed};
#[doc(hidden)]
pub use counting_writer::Metered;
#[doc(hidden)]
pub use cursor::Cursor;
pub use file_name::is_url;
#[doc(hidden)]
pub use file_name::{
    exact_path, hidden_name, name_in, name_of, name_of_bytes, path_of, public_name, shown_name, shown_path, uri_of,
};
#[doc(hidden)]
pub use gzip::{deflated, gunzip, gunzipped, gzip, is_gzip, is_packed};
#[doc(hidden)]
pub use huge_pages::{LargePages, Memory, large_pages, prefer_large_pages};
#[doc(hidden)]
pub use journal::Journal;
pub use local::LocalOptions;
pub(crate) use local::uncounted;
#[doc(hidden)]
pub use local::{LocalFile, bytes_read, is_one_file};
#[doc(hidden)]
pub use lock::{Basis, remove_stale, retried};
#[doc(hidden)]
pub use new_file::{NewFile, WriteSeek, Written};
pub use open::open;
#[doc(hidden)]
pub use open_files::Shown;
#[doc(hidden)]
pub use origins::{encoding, index_ranges, is_detached, source_piece_len, stored_ranges, verify_backing};
#[doc(hidden)]
pub use parallel_draft::{Draft, TARGET, TREE_DRAFT, Writing, new_id, stream_draft, stream_id};
#[doc(hidden)]
pub use pieces::{CodedPiece, SourceEncoding, SourcePieces, Step};
#[doc(hidden)]
pub use preallocate::reserve;
#[doc(hidden)]
pub use read_ahead::ReadAhead;
#[doc(hidden)]
pub use read_dir::{files_of, is_plain_file};
#[cfg(feature = "remote")]
#[doc(hidden)]
pub use remote::{Allowed, Parts, Several, Watch, by_parts, objects, requests, several};
#[cfg(feature = "remote")]
pub use remote::{RemoteOptions, open_url};
#[doc(hidden)]
pub use resolve::{DirectoryResolver, Moved};
pub use resolve::{NoReferences, Resolve};
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
pub use update::{Content, Update};
pub use write_path::WritePath;
