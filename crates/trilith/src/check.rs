//! Types of the checks of a file: checksums and structure, conformance, schemas, comparison, digests, recovery.
//!
//! | to | use |
//! |---|---|
//! | compare checksums and decode every block | [`File::verify`](crate::File::verify) |
//! | look for deviations from a document | [`ConformOptions`], [`Conformity`] |
//! | compare two files | [`File::diff`](crate::File::diff) |
//! | hash every array | [`File::digest`](crate::File::digest) |
//! | recover a damaged file | [`salvage`] |
//!
//! For example, two files with a tolerance:
//!
//! ```
//! use trilith::check::DiffOptions;
//! let open = |tree: &str| {
//!     let text = format!("#ASDF 1.0.0\n%YAML 1.1\n--- {tree}\n...\n");
//!     trilith::OpenOptions::new().open_bytes(text.into_bytes())
//! };
//! let mut options = DiffOptions::default();
//! options.atol = 0.01;
//! assert!(open("{a: 1.0}")?.diff(&open("{a: 1.001}")?, &options)?.is_empty());
//! # Ok::<(), trilith::Error>(())
//! ```

pub use crate::conform::{ConformOptions, Conformity, Deviation, Document};
#[doc(hidden)]
pub use crate::conform::{DOCUMENTS, Open, Place, Rule, conform};
#[doc(hidden)]
pub use crate::diff::ignored;
pub use crate::diff::{DiffOptions, Difference, DifferenceKind, ElementsDiffer};
#[doc(hidden)]
pub use crate::digest::of as digest;
pub use crate::digest::{Digest, Entry};
#[doc(hidden)]
pub use crate::repair::{ArrayFate, BlockFate, Fate, Report as RepairReport, StreamSalvage, salvage_stream};
pub use crate::repair::{Salvage, salvage};
#[cfg(feature = "schema")]
#[doc(hidden)]
pub use crate::schema::{
    Added as AddedSchema, Description, Examination, Example, Hints, Report as ValidationReport, Tagged, examine_all, kind_of,
    package_of,
};
#[cfg(feature = "schema")]
pub use crate::schema::{Schemas, Validator};
pub use crate::verify::{BlockReport, Report};
#[doc(hidden)]
pub use crate::verify::{Checksum, verify};
