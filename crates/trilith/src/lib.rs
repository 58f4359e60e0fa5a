//! Self-describing scientific array files: every generation of the ASDF family, and Dudley layouts.
//!
//! A file of this kind is *a tree of named items whose leaves are n-dimensional arrays at known
//! places in some bytes*. Three stones: header, tree, blocks.

pub mod error;
pub mod limits;
pub mod span;

pub mod bytes;
pub mod yaml;

pub mod array;
pub mod tree;

pub mod codec;
pub mod core;
pub mod layout;
#[cfg(feature = "schema")]
pub mod schema;

pub mod asdf;
pub mod dudley;
pub mod fits;

pub mod file;

pub mod assemble;
pub mod convert;
pub mod diff;
pub mod digest;
pub mod verify;

pub use error::{Error, Kind, Location, Result};
pub use limits::Limits;
pub use span::{Span, line_column};

#[doc(no_inline)]
pub use half;
#[doc(no_inline)]
pub use num_complex;
