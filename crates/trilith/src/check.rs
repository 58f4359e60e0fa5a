//! Types of the checks of a file: checksums and structure, conformance, schemas, comparison, digests, recovery.
//!
//! | to | use |
//! |---|---|
//! | compare checksums and decode every block | [`File::verify`](crate::File::verify) |
//! | look for deviations from a document | [`ConformOptions`], [`ConformityReport`] |
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

pub use crate::conform::{ConformOptions, ConformityReport, RuleDeviation, StandardDocument};
#[doc(hidden)]
pub use crate::conform::{ConformanceRule, DOCUMENTS, FindingLocation, UndecidedRule, conform};
#[doc(hidden)]
pub use crate::diff::diff_items;
pub use crate::diff::{DiffOptions, DifferenceKind, ElementsDiffer, ItemDifference};
#[doc(hidden)]
pub use crate::digest::digest_arrays as digest;
pub use crate::digest::{Digest, DigestEntry};
#[doc(hidden)]
pub use crate::repair::{ArrayState, BlockRepairReport, BlockState, RepairReport, StreamSalvage, salvage_stream};
pub use crate::repair::{SalvagedFile, salvage};
#[cfg(feature = "schema")]
#[doc(hidden)]
pub use crate::schema::{
    AddedDocument as AddedSchema, ExampleReport, SchemaDescription, SchemaReport, TagSchemas, ValidationReport, WriteHints,
    examine_all, kind_of, package_of,
};
#[cfg(feature = "schema")]
pub use crate::schema::{SchemaSet, Validator};
#[doc(hidden)]
pub use crate::verify::verify;
pub use crate::verify::{BlockReport, Checksum, ChecksumCoverage, VerifyDepth, VerifyReport};
#[doc(hidden)]
pub use crate::verify::{CHECKSUMS, ChecksumKind};
