//! YAML 1.1 as a tree that keeps its text: minimal edits, references, serde and bounded cost.
//!
//! - [`tree`] has the [`Tree`](tree::Tree), its nodes, paths, edits and references, and values of a program as trees.
//! - [`yaml`] has the two readers that it is made by, the rules of scalars, and the printer.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod tree;
pub mod yaml;

pub use trilith_io::{Diagnostic, Error, ErrorKind, Limits, Location, Result, Span};
use trilith_io::{bytes, diagnostic, error, json_pointer, limits, percent, span, suggest};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
