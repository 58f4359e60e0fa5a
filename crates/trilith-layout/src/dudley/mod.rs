//! Dudley streams: native `.bd` files, and any other file under a layout.
//!
//! A [`DudleyFile`] is a source of bytes and the [`Layout`](crate::layout::Layout) that describes it.
//! Opening reads the signature and the text of the layout; [`DudleyFile::items`] reads the
//! stored parameters, which decide the addresses; elements are read when an [`Array`] is asked for.
//!
//! [`Array`]: crate::array::Array

mod annex;
mod append;
mod arranged;
mod cover;
mod datatype;
mod draft;
mod family;
mod fill;
mod forms;
mod gather;
mod grid;
mod grow;
mod inflate;
mod joined;
#[cfg(feature = "jpeg")]
mod jpeg;
mod listing;
mod mapped;
mod meaning;
mod origin;
mod outline;
mod parameters;
mod path;
#[cfg(feature = "png")]
mod png;
mod read;
mod records;
mod rewrite;
mod seen;
mod selection;
mod settle;
mod signature;
mod spelled;
mod spread;
mod stack;
mod store;
mod strings;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod wanted;
mod write;

#[doc(hidden)]
pub use crate::layout::primitive_of;
pub use append::append;
#[doc(hidden)]
pub use append::{append_draft, append_records, append_variables, native_order};
#[doc(hidden)]
pub use datatype::datatype_of;
#[doc(hidden)]
pub use draft::{Draft, DraftKind};
pub use family::Catalog;
#[doc(hidden)]
pub use family::Place;
#[doc(hidden)]
pub use fill::declared;
#[doc(hidden)]
pub use fill::{Filling, Mismatch};
#[doc(hidden)]
pub use gather::Omission;
#[doc(hidden)]
pub use grid::{GridArray, MEANING};
#[doc(hidden)]
pub use joined::uri_of;
#[doc(hidden)]
pub use listing::{Listing, Opener, folder_of, place_of};
#[doc(hidden)]
pub use meaning::is_applied;
#[doc(hidden)]
pub use origin::{Member, Named, Notes, Origin};
#[doc(hidden)]
pub use outline::{Children, Outline, OutlineId, Thing};
#[doc(hidden)]
pub use path::Step;
#[doc(hidden)]
pub use read::layout_text;
pub use read::{DudleyFile, Items, LayoutOrigin, StreamOptions};
#[doc(hidden)]
pub use read::{described, find_text};
#[doc(hidden)]
pub use rewrite::Rewrite;
#[doc(hidden)]
pub use seen::widened;
pub use selection::{Selection, Unequal};
pub use signature::Signature;
#[doc(hidden)]
pub use store::reserved;
#[doc(hidden)]
pub use text::with_ascii_members;
#[doc(hidden)]
pub use text::{presented, s1_bytes, s1_text};
#[doc(hidden)]
pub use wanted::Wanted;
pub use write::NewStream;
#[doc(hidden)]
pub use write::{Supplier, stored_text};
