//! Dudley streams: native `.bd` files, and any other file under a layout.
//!
//! A [`DudleyFile`] is a source of bytes and the [`Layout`](crate::layout::Layout) that describes it.
//! Opening reads the signature and the text of the layout; [`DudleyFile::locate_items`] reads the
//! stored parameters, which decide the addresses; elements are read when an [`Array`] is asked for.
//!
//! [`Array`]: crate::array::Array

mod append;
mod append_rows;
mod arrangement;
mod byte_swap;
mod catalog;
mod catalog_listing;
mod catalog_record;
mod cf_attributes;
mod char_sets;
mod chunk_grid;
mod chunk_table;
mod cover;
mod datatype;
mod declared_text;
mod declared_view;
mod decompress;
mod dudley_file;
mod encode_elements;
mod expected_values;
mod external_parts;
mod file_set_array;
mod file_set_ranges;
mod file_set_source;
mod file_settings;
mod grid_chunks;
mod grid_strings;
mod item_path;
mod item_request;
mod item_shapes;
mod item_tree;
#[cfg(feature = "jpeg")]
mod jpeg;
mod layout_values;
mod layout_writer;
mod new_item;
mod order_detection;
mod param_settings;
mod parameters;
#[cfg(feature = "png")]
mod png;
mod reconcile;
mod records;
mod replace_items;
mod rewrite;
mod selection;
mod signature;
mod source_annotations;
mod stack;
#[cfg(test)]
mod tests;
mod virtual_array;
mod write;

#[doc(hidden)]
pub use crate::layout::primitive_of;
pub use append::append;
#[doc(hidden)]
pub use append::{append_draft, append_records, append_variables, native_order};
pub use catalog::Catalog;
#[doc(hidden)]
pub use catalog::{FileItemLocation, ItemDescription};
#[doc(hidden)]
pub use catalog_listing::{CatalogListing, FileOpener, folder_of, resolve_name};
#[doc(hidden)]
pub use char_sets::with_ascii_members;
#[doc(hidden)]
pub use char_sets::{decode_s1, decode_text, encode_s1};
#[doc(hidden)]
pub use chunk_grid::{ChunkChecksums, ChunkedArray};
#[doc(hidden)]
pub use cover::LAYOUT_START;
#[doc(hidden)]
pub use datatype::datatype_of;
#[doc(hidden)]
pub use declared_text::ENCODING_ATTRIBUTE;
#[doc(hidden)]
pub use declared_view::widen_small_floats;
#[doc(hidden)]
pub use dudley_file::find_text;
#[doc(hidden)]
pub use dudley_file::layout_text;
pub use dudley_file::{DudleyFile, LayoutOrigin, StreamItems, StreamOptions};
#[doc(hidden)]
pub use encode_elements::reserved;
#[doc(hidden)]
pub use expected_values::{DeclaredFaults, advise_byteorder, find_declared_faults};
#[doc(hidden)]
pub use file_set_array::OmittedFile;
#[doc(hidden)]
pub use file_set_source::uri_of;
#[doc(hidden)]
pub use item_path::{PathStep, split_members};
#[doc(hidden)]
pub use item_request::ItemRequest;
#[doc(hidden)]
pub use item_tree::{ItemTreeId, OutlineChildren, OutlineKind, StreamOutline};
#[doc(hidden)]
pub use layout_values::declared;
#[doc(hidden)]
pub use layout_values::{LayoutStorage, LayoutValues, ParamMismatch};
#[doc(hidden)]
pub use new_item::{Draft, NewItemKind};
#[doc(hidden)]
pub use param_settings::ParamSetting;
#[doc(hidden)]
pub use replace_items::{NewElements, check_elements, replace_elements};
#[doc(hidden)]
pub use rewrite::RewriteOptions;
pub use selection::{FileSelection, ShapeMismatch};
pub use signature::Signature;
#[doc(hidden)]
pub use source_annotations::{MemberAnnotations, NamedType, Notes, SourceAnnotations};
pub use write::NewStream;
#[doc(hidden)]
pub use write::{DataSupplier, stored_text};
