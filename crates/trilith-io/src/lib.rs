//! Reads bytes at any offset of files, memory and object stores, and changes files without ever losing the old content.
//!
//! - [`bytes`] has the trait [`Source`](bytes::Source) of bytes that can be read at any offset, the sources themselves, and
//!   [`AtomicFile`](bytes::AtomicFile), which replaces a file only by a complete one.
//! - [`error`] has one error type for all crates of Trilith, with the kind, the place and a remedy.
//! - [`limits`] bounds the memory and the work that an untrusted file can cost, and [`interrupt`] ends work early.
//! - [`threads`] is the one place that starts threads.
//!
//! ```
//! use trilith_io::bytes::{MemorySource, Source};
//! let source = MemorySource::new(b"0123456789".to_vec(), "example");
//! let mut middle = [0; 3];
//! source.read_at(4, &mut middle)?;
//! assert_eq!(&middle, b"456");
//! # Ok::<(), trilith_io::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod byteorder;
pub mod bytes;
pub mod diagnostic;
pub mod error;
pub mod glob;
pub mod index;
pub mod interrupt;
pub mod json_pointer;
pub mod limits;
pub mod percent;
pub mod progress;
pub mod span;
pub mod suggest;
pub mod threads;

pub use byteorder::Byteorder;
pub use diagnostic::{Diagnostic, Severity};
pub use error::{Error, ErrorKind, Location, Result};
pub use limits::Limits;
pub use progress::Progress;
pub use span::{Span, line_column};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
