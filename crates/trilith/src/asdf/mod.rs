//! The ASDF family: FINF 0.1, ASDF 0.1.0dev, 0.1.0 and 1.0 to 1.6, read and written by one code.
//!
//! [`generation`] is the table of what differs; [`Sections`] finds the parts of a file; [`AsdfFile`]
//! is an open file with its tree, whose arrays are decoded when they are asked for; [`FileWriter`]
//! writes one from front to back.

mod append;
#[doc(hidden)]
pub mod block;
#[doc(hidden)]
pub mod builder;
#[doc(hidden)]
pub mod chain;
#[doc(hidden)]
pub mod checksum;
#[doc(hidden)]
pub mod deviation;
pub(crate) mod expand;
#[doc(hidden)]
pub mod generation;
#[doc(hidden)]
pub mod header;
#[doc(hidden)]
pub mod index;
mod inline;
mod marks;
pub(crate) mod md5;
#[doc(hidden)]
pub mod ndarray;
#[doc(hidden)]
pub mod outline;
mod read;
pub(crate) mod reserved;
mod sections;
mod stored;
mod unit;
#[doc(hidden)]
pub mod update;
#[doc(hidden)]
pub mod uris;
#[doc(hidden)]
pub mod walk;
mod write;
pub(crate) mod zarr;
mod zarray;

pub use append::append_rows;
pub(crate) use append::{StreamEnd, row_bytes};
pub use block::Block;
#[doc(hidden)]
pub use block::codec_name;
pub use builder::{ArrayOptions, Builder};
pub use expand::ExpandOptions;
#[doc(hidden)]
pub use expand::{Expansion, Part, expand, expand_value, key_name};
pub use generation::{GENERATIONS, Generation, TARGETS, Target};
pub use header::Header;
pub use index::BlockIndex;
#[doc(hidden)]
pub use inline::complex;
#[doc(hidden)]
pub(crate) use marks::is_as_documented;
pub(crate) use marks::next_block;
#[doc(hidden)]
pub use ndarray::{Ndarray, datatype_named};
pub use read::AsdfFile;
pub(crate) use read::For;
#[doc(hidden)]
pub use read::{Container, FitsArrays, Meanings};
#[doc(hidden)]
pub use sections::IndexReport;
pub use sections::Sections;
pub(crate) use sections::find_content;
pub use stored::BlockOptions;
#[doc(hidden)]
pub use stored::StoredBlock;
#[doc(hidden)]
pub use walk::{Found, Listed};
pub use write::{BlockWriter, FileWriter, WriteOptions, Written};
