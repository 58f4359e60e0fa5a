//! FITS: headers and data units, read as arrays and written byte for byte; ASDF files inside.
//!
//! [`FitsFile`] is an open file: it finds the HDUs, returns their arrays, and finds the ASDF file that the last of
//! them may hold. [`fn@write`] writes [`HduData`]s, each a [`Header`] with an array. [`to_value`] makes the `fits`
//! list of an ASDF tree (a FITS file inside an ASDF file), and [`from_node`] reads it.
//!
//! [`edited_header`] makes cards of the rows of that list again if only they were edited, and [`write_changed`]
//! writes a file in which every other byte is unchanged.
//!
//! An HDU has two forms: [`FitsFile::array`] returns the physical values (scaled, decompressed, booleans), and
//! [`FitsFile::writable_array`] those that a file must keep to be written again.
//!
//! FITS Standard 4.0. The columns P and Q of a table hold number and place of the values in the heap, and
//! [`FitsFile::cell`] returns the values. The smoothing of HCOMPRESS_1 is not supported; the bytes of such images
//! survive.

mod attributes;
mod card;
mod card_number;
mod card_validity;
mod checksum;
mod compressed_table;
mod dither;
mod edit_header;
mod fits_file;
mod gzip;
mod hcompress;
mod hdu;
mod hdu_data;
mod header;
mod heap;
mod image;
mod lost_cards;
mod masked;
mod masked_fill;
mod padding;
mod physical;
mod plio;
mod random_groups;
mod rice;
mod scaling;
mod stored;
mod table;
#[cfg(test)]
mod tests;
mod tiled_image;
mod tree;
mod write;

#[doc(hidden)]
pub use attributes::header_attributes;
#[doc(hidden)]
pub use card::RECORD_LEN;
pub use card::typed_value;
pub use card::{Card, CardValue};
#[doc(hidden)]
pub use edit_header::edited_header;
pub use fits_file::FitsFile;
pub use hdu::Hdu;
#[doc(hidden)]
pub use hdu::HduKind;
#[doc(hidden)]
pub use hdu_data::{HduData, is_image, losses};
#[doc(hidden)]
pub use hdu_data::{HduRole, header_corrections, is_image_part, is_reserved, is_structural};
#[doc(hidden)]
pub use header::BLOCK_LEN;
pub use header::Header;
#[doc(hidden)]
pub use lost_cards::unassigned_bytes;
#[doc(hidden)]
pub use lost_cards::unused_content;
#[doc(hidden)]
pub use physical::to_physical;
#[doc(hidden)]
pub use stored::{OutsidePixel, StoredImage};
#[doc(hidden)]
pub use table::{Column, columns};
#[doc(hidden)]
pub use tree::{CARDS_KEY, ConsumedNode, FitsTree, from_node, hdu_items, physical_node, to_value};
#[doc(hidden)]
pub use tree::{HEAP_KEY, named_columns, stored_node};
pub use write::{NewHdu, write};
#[doc(hidden)]
pub use write::{asdf_hdu, check_characters};
#[doc(hidden)]
pub use write::{header_update, write_asdf, write_changed};
