//! Bounded decoders that slice: zlib, bzip2, zstd, lz4, blosc, JPEG, filters of HDF5 and chains of ASDF.
//!
//! A [`decoder`](codec::decoder) is a source of the decoded bytes. It decodes nothing until you read, and then only what you ask for if the
//! format allows that. An [`encoder`](codec::encoder) takes bytes piece by piece, in bounded memory and on all cores.
//!
//! Each codec is a feature, and none is on by default.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg_attr(
    not(all(feature = "zlib", feature = "bzip2", feature = "lz4", feature = "zstd", feature = "blosc")),
    allow(dead_code, reason = "what the codecs share, some of which were left out")
)]
pub mod codec;

pub use trilith_io::{Diagnostic, Error, ErrorKind, Limits, Location, Result, Span};
use trilith_io::{byteorder, bytes, error, index, interrupt, limits, suggest, threads};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
