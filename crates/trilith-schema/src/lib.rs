//! JSON Schema draft-04 and the schemas of ASDF, checked on the nodes of a YAML tree.
//!
//! - [`schema`] holds sets of schemas with their tags, and checks trees with them.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod schema;

pub use trilith_io::{Diagnostic, Error, ErrorKind, Limits, Location, Result, Span};
use trilith_io::{bytes, diagnostic, error, limits, span, suggest};
use trilith_yaml::tree;
#[cfg(test)]
use trilith_yaml::yaml;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
