//! FITS files: headers, images, tables and compressed images as arrays, read and written byte for byte.
//!
//! - [`fits`] finds the HDUs of a file, returns their arrays and cards, writes files, and edits headers in place.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod fits;

use trilith_array::array;
#[cfg(test)]
use trilith_array::s;
use trilith_codec::codec;
pub use trilith_io::{Diagnostic, Error, ErrorKind, Limits, Location, Result, Span};
use trilith_io::{bytes, diagnostic, error, interrupt, limits, suggest, threads};
use trilith_yaml::tree;
#[cfg(test)]
use trilith_yaml::yaml;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
