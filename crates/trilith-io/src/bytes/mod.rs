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
mod writeback;

#[cfg(feature = "remote")]
use platform::read_exact_at;

#[doc(hidden)]
pub use atomic_file::{AtomicFile, read_text, remove};
pub use backing::SourceBacking;
#[doc(hidden)]
pub use base_uri::{BaseUri, file_uri, folder_named, local_path, percent_decode, percent_encode};
#[doc(hidden)]
pub use base64::{base64, from_base64};
#[doc(hidden)]
pub use checked::{ChecksummedSource, PartCheck};
#[doc(hidden)]
pub use concatenated::{ConcatenatedSource, ExternalPart};
#[doc(hidden)]
pub use counting_writer::CountingWriter;
#[doc(hidden)]
pub use cursor::Cursor;
pub use file_name::is_url;
#[doc(hidden)]
pub use file_name::{
    display_name, hidden_name, name_in, name_of, name_of_bytes, path_of, public_name, shown_path, uri_of, verbatim_path,
};
#[doc(hidden)]
pub use gzip::{deflated, gunzip, gunzipped, gzip, has_gzip_name, is_gzip, is_packed};
#[doc(hidden)]
pub use huge_pages::{HugePageBuffer, HugePageMemory, large_pages, prefer_large_pages};
#[doc(hidden)]
pub use journal::JournaledUpdate;
pub use local::LocalOptions;
pub(crate) use local::without_counting;
#[doc(hidden)]
pub use local::{LocalFile, bytes_read, find_same_file, is_one_file};
#[doc(hidden)]
pub use lock::{WriteBasis, retry_if_replaced};
#[doc(hidden)]
pub use new_file::{CompleteFile, NewFile, WriteReport, WriteSeek};
pub use open::open;
#[doc(hidden)]
pub use open_files::BorrowGuard;
#[doc(hidden)]
pub use origins::{decode_unit_len, encoding, index_ranges, is_detached, stored_ranges, verify_backing};
#[doc(hidden)]
pub use parallel_draft::{ASDF_DRAFT_HEAD, Draft, TARGET, Writing, new_id, stream_draft, stream_id};
#[doc(hidden)]
pub use pieces::{CodedPiece, CodingStep, PieceDecoding, SourceEncoding};
#[doc(hidden)]
pub use preallocate::preallocate;
#[doc(hidden)]
pub use read_ahead::ReadAhead;
#[doc(hidden)]
pub use read_dir::{files_of, is_plain_file};
#[cfg(feature = "remote")]
#[doc(hidden)]
pub use remote::{
    AllowListResolver, DownloadProgress, ListRequest, RangeFetcher, abort_uploads, by_parts, classify_bucket_url, objects,
    requests,
};
#[cfg(feature = "remote")]
pub use remote::{RemoteOptions, open_url};
#[doc(hidden)]
pub use resolve::{DirectoryResolver, RebasedResolver};
pub use resolve::{NoReferences, Resolve};
pub use source::{Access, AccessCost, MemorySource, Source, SourceRef, WindowSource};
#[doc(hidden)]
pub use source::{DerivedSource, PieceAccess, SourceOrigin, copy, end_in, for_each_piece, read_vec, split_runs, to_usize};
#[doc(hidden)]
pub use spool::{SpoolBuffer, anonymous_file, private_file, spool, spool_output};
#[doc(hidden)]
pub use temporary::{TemporaryGuard, remove_temporary_files};
#[doc(hidden)]
pub use truncated::TruncatedSource;
#[doc(hidden)]
pub use update::{FileUpdate, WriteContent};
pub use write_path::WritePath;
