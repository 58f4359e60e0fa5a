//! The ASDF family: FINF 0.1, ASDF 0.1.0dev, 0.1.0 and 1.0 to 1.6, read and written by one code.
//!
//! [`GENERATIONS`] is the table of what differs; [`AsdfSections`] finds the parts of a file; [`AsdfFile`]
//! is an open file with its tree, whose arrays are decoded when they are asked for; [`FileWriter`]
//! writes one from front to back.

pub(crate) mod annotations;
mod append;
mod array_options;
mod asdf_file;
pub(crate) mod big_integer;
pub(crate) mod block;
mod block_content;
mod block_magic;
pub(crate) mod builder;
pub(crate) mod checksum;
pub(crate) mod chunked_array;
pub(crate) mod deviation;
pub(crate) mod encoding_chain;
pub(crate) mod expand;
pub(crate) mod generation;
pub(crate) mod header;
pub(crate) mod index;
pub(crate) mod inline_read;
pub(crate) mod inline_write;
pub(crate) mod md5;
pub(crate) mod ndarray;
pub(crate) mod required_keys;
pub(crate) mod reserved_block;
mod sections;
mod stored_block;
mod unit;
pub(crate) mod update;
pub(crate) mod uris;
pub(crate) mod virtual_file;
pub(crate) mod walk;
mod write;
mod zarr_metadata;

pub use crate::codec::encoding_chain::ChainStep;
pub use append::append_rows;
pub(crate) use append::{StreamEnd, row_bytes};
pub use array_options::ArrayOptions;
pub use asdf_file::AsdfFile;
pub(crate) use asdf_file::BlockUse;
#[doc(hidden)]
pub use asdf_file::{FitsArrays, FitsContainer, NumberDeclarations};
pub use block::Block;
#[doc(hidden)]
pub use block::{codec_name, magic_len};
#[doc(hidden)]
pub(crate) use block_magic::is_as_documented;
pub(crate) use block_magic::next_block;
pub use builder::AsdfBuilder;
#[doc(hidden)]
pub use checksum::{ChecksumScope, md5_of};
#[doc(hidden)]
pub use deviation::find_deviations as deviations;
#[doc(hidden)]
pub use encoding_chain::{parse as parse_chain, print as print_chain};
pub use expand::ExpandOptions;
#[doc(hidden)]
pub use expand::{ExpansionBudget, TreeEvent, expand, expand_value, key_name};
#[doc(hidden)]
pub use generation::{BlockFields, FieldSlot, TreeDialect};
pub use generation::{GENERATIONS, Generation, TARGETS, Target};
pub use header::{Header, TreeExtent};
pub use index::BlockIndex;
#[doc(hidden)]
pub use index::{find_backwards as find_index, print as print_index};
#[doc(hidden)]
pub use inline_read::complex;
#[doc(hidden)]
pub use inline_write::{nested, node as inline_node};
#[doc(hidden)]
pub use ndarray::{ElementSource as ElementsOrigin, Ndarray, ShapeDimension, datatype_named, is_chunked, is_ndarray};
pub use sections::AsdfSections;
pub(crate) use sections::find_content;
#[doc(hidden)]
pub use sections::{IndexReport, UnusedContent};
pub use stored_block::BlockOptions;
#[doc(hidden)]
pub use stored_block::StoredBlock;
#[doc(hidden)]
pub use update::tree_in_place;
#[doc(hidden)]
pub use uris::{FileUri, ReferenceLog, uris};
#[doc(hidden)]
pub use walk::{FoundNode, ListedNdarray, arrays, find, follow, unreferenced_blocks};
pub use write::{BlockLocation, BlockWriter, FileWriter, WriteOptions};
