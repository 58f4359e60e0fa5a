//! Opening of files of any format, and the items in them.
//!
//! [`open`] returns a [`File`], whatever its format is. A file is *a tree of named items whose leaves are arrays*:
//! [`File::item`] and [`File::array`] find them, and an [`Item`] describes one. [`File::as_asdf`] and
//! [`File::as_dudley`] give access to what only one format family has. To add a family, implement [`Backend`].

mod address;
mod address_target;
pub(crate) mod annotations;
mod as_array;
mod asdf;
mod backend;
mod columns;
mod default_image;
mod dudley;
mod existing_output;
mod expand;
mod file_format;
mod file_set;
mod find_files;
mod fits;
mod hdu_paths;
mod hdu_summary;
mod hdu_units;
mod item;
mod item_decoder;
mod item_header;
mod item_queries;
mod name_hint;
mod open;
mod permissions;
mod tree_path;
mod verify_written;

use crate::asdf::header::is_asdf;
use crate::dudley::Signature;

pub use address::{AddressName, AddressPattern, AttributePart, AttributeSelector, ComputedValue, ItemAddress, part_value};
pub use address_target::AddressTarget;
pub use backend::{
    ArrayDescription, AxisNames, Backend, ChildItem, EventSink, ItemLocation, KeyedChildren, ListedArray, ResolvedItem,
};
#[doc(hidden)]
pub use columns::resolve_path;
pub(crate) use columns::values_of_column;
pub use columns::{TableColumn, missing_column_error, table_columns};
#[doc(hidden)]
pub use default_image::{ImageRank, rank};
pub(crate) use dudley::value_of;
#[doc(hidden)]
pub use existing_output::{check_replaced, is_read_from};
#[doc(hidden)]
pub use expand::listed_arrays;
pub use expand::{ExpandEvent, ExpandOptions};
#[doc(hidden)]
pub use file_format::{FileFormat, check_name, is_stream};
pub use file_set::FileSet;
#[doc(hidden)]
pub use find_files::{FileFinder, FileFinderIter, FoundFile};
pub(crate) use fits::container_fits;
pub use fits::{EmbeddedWriter, write_container};
#[doc(hidden)]
pub(crate) use fits::{header_update, header_without_rows, surrounding_hdus};
#[doc(hidden)]
pub use fits::{open_fits, open_fits_file};
pub(crate) use hdu_paths::number_hdus;
pub use hdu_summary::{HduSummary, hdu_summaries};
pub use item::{ArrayEntry, File, Item, ItemChildren, ItemFlags, ItemKind, ItemMetadata, ItemWalk, MetadataParts, WalkEntry};
pub use item_decoder::ItemDecoder;
pub use item_header::{HeaderItem, ItemHeader};
pub use item_queries::{children_text, expand_item, integer_digits, is_same_file, missing_item_error};
pub use open::{OpenOptions, open};
#[doc(hidden)]
pub use open::{open_asdf, open_asdf_bytes, open_asdf_source};
pub use permissions::ReferencePermissions;
#[doc(inline)]
pub use tree_path::{resolve_fits_path, resolve_tree_path};
pub(crate) use verify_written::verify_with_tree;
#[doc(hidden)]
pub use verify_written::verify_written;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// FINF or ASDF, any generation.
    Asdf,
    /// A FITS file, which may hold an ASDF file.
    Fits,
    /// A native Dudley file.
    Dudley,
}

impl FileKind {
    /// Returns the kind for the first bytes (80 are enough).
    ///
    /// ```
    /// use trilith::file::FileKind;
    /// assert_eq!(FileKind::detect(b"#ASDF 1.0.0\n"), Some(FileKind::Asdf));
    /// assert_eq!(FileKind::detect(b"SIMPLE  =                    T"), Some(FileKind::Fits));
    /// assert_eq!(FileKind::detect(b"hello"), None);
    /// ```
    pub fn detect(start: &[u8]) -> Option<Self> {
        if is_asdf(start) {
            Some(Self::Asdf)
        } else if start.starts_with(b"SIMPLE  =") {
            Some(Self::Fits)
        } else if Signature::is_at(start) {
            Some(Self::Dudley)
        } else {
            None
        }
    }
}
