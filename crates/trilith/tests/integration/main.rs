//! Tests of the library through its public items.
//!
//! They are one program, because each program links all of the library.

mod annotations;
mod change;
mod chunks;
mod common_tasks;
mod conformance_bytes;
mod fits;
mod fits_edits;
mod foreign;
mod generations;
mod historic_files;
mod incomplete_copies;
mod losses;
mod mutated_files;
mod preserved_content;
mod repair;
mod repair_streams;
mod third_family;
mod wcs;
