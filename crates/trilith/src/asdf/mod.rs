//! The ASDF family: FINF 0.1, ASDF 0.1.0dev, 0.1.0 and 1.0 to 1.6, read and written by one code.
//!
//! [`generation`] is the table of what differs; [`Sections`] finds the parts of a file; [`AsdfFile`]
//! is an open file with its tree, whose arrays are decoded when they are asked for; [`FileWriter`]
//! writes one from front to back.

mod append;
pub mod block;
pub mod builder;
pub mod chain;
pub mod checksum;
pub mod deviation;
pub mod expand;
pub mod generation;
pub mod header;
pub mod index;
mod inline;
mod marks;
pub(crate) mod md5;
pub mod ndarray;
pub mod outline;
mod read;
pub(crate) mod reserved;
mod sections;
mod stored;
mod unit;
pub mod update;
pub mod uris;
pub mod walk;
mod write;
pub(crate) mod zarr;
mod zarray;

pub use append::append_rows;
pub(crate) use append::{StreamEnd, row_bytes};
pub use block::{Block, codec_name};
pub use builder::{ArrayOptions, Builder};
pub use expand::{ExpandOptions, Part, expand, key_name, key_text};
pub(crate) use expand::{Expansion, expand_within};
pub use generation::{GENERATIONS, Generation, TARGETS, Target};
pub use header::Header;
pub use index::BlockIndex;
pub use inline::complex;
pub use marks::next_block;
pub use ndarray::{Ndarray, datatype_named};
pub(crate) use read::For;
pub use read::{AsdfFile, Container, FitsArrays, Meanings};
pub use sections::{IndexReport, Sections};
pub use stored::{BlockOptions, StoredBlock};
pub use walk::{Found, Listed};
pub use write::{BlockWriter, FileWriter, WriteOptions, Written};
