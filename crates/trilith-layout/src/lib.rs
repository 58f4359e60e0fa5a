//! Files whose arrays a layout describes: the Dudley language, and HDF5, netCDF, TIFF, NumPy and others, whose layout is derived.
//!
//! - [`layout`] parses, checks, prints and evaluates layouts in both dialects of the language.
//! - [`dudley`] opens and writes streams of bytes under a layout.
//! - [`foreign`] derives the layout of a file of another format from what the file says of itself.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod dudley;
pub mod foreign;
pub mod layout;

use trilith_array::array;
use trilith_codec::codec;
pub use trilith_io::{Diagnostic, Error, ErrorKind, Limits, Location, Result, Span};
use trilith_io::{bytes, diagnostic, error, glob, json_pointer, limits, percent, progress, span, suggest, threads};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
