//! Self-describing scientific array files: every generation of the ASDF family, and Dudley layouts.
//!
//! A file of this kind is *a tree of named items whose leaves are n-dimensional arrays at known
//! places in some bytes*. Three stones: header, tree, blocks.
//!
//! # Reading
//!
//! Opening parses the tree and decodes nothing; an array is a description until its elements are
//! asked for, and a slice reads only the bytes (or the compressed pieces) that hold it.
//!
//! ```
//! # use trilith::{Array, ArrayOptions, Builder, Target, Value};
//! # let folder = std::env::temp_dir().join(format!("trilith-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! # let path = folder.join("image.asdf");
//! # let mut builder = Builder::new(Target::newest());
//! # let image = Array::from_slice(&(0..64 * 64).map(|n| n as f32).collect::<Vec<_>>(), &[64, 64])?;
//! # let image = builder.array(&image, &ArrayOptions::default())?;
//! # builder.write(&path, Value::map([("data", image), ("exposure", 139.8.into())]))?;
//! use trilith::{Index, open_asdf};
//!
//! let file = open_asdf(&path)?;
//! assert_eq!(file.tree().at("/exposure").and_then(|node| node.as_f64()), Some(139.8));
//!
//! let image = file.array_at("/data")?;
//! assert_eq!(image.shape(), [64, 64]);
//! let cutout = image.slice(&Index::parse_list("10:12,::32")?)?;
//! assert_eq!(cutout.load::<f32>()?, [640.0, 672.0, 704.0, 736.0]);
//!
//! // Where alignment and byte order allow, elements are borrowed from the file.
//! assert_eq!(image.view::<f32>().map(|pixels| pixels[65]), Some(65.0));
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), trilith::Error>(())
//! ```
//!
//! # Writing
//!
//! [`Builder`] takes arrays and gives back the nodes that describe them, to be put anywhere in a tree
//! of [`Value`]s. A file that was read is changed by edits of its tree ([`tree::Edit`]) and written
//! anew by [`convert`], which keeps every comment, tag and key order, or changed where it stands, arrays
//! and all, by [`change`].
//!
//! # Where things are
//!
//! | module | what |
//! |---|---|
//! | [`mod@file`] | opening anything; start here |
//! | [`mod@array`] | arrays: datatypes, slices, masks, loading |
//! | [`tree`] | the YAML tree: nodes, paths, edits, values |
//! | [`asdf`] | headers, blocks, the table of generations, writing |
//! | [`layout`] | the Dudley layout language |
//! | [`codec`] | lz4, zlib, bzip2, zstd, blosc, and the encoding chains of ASDF 0.1.0 |
//! | [`fits`] | FITS headers and data, ASDF inside FITS |
//! | [`convert`], [`change`], [`assemble`], [`digest`], [`verify`], [`repair`], [`diff`] | work on open files |
//! | [`bytes`], [`yaml`], [`threads`] | what the others stand on |
//!
//! Errors name whose fault it is ([`Kind`]), where, and what to do. What a hostile file may cost is a
//! policy that the caller sets: [`Limits`].

pub mod error;
pub mod limits;
mod percent;
pub mod span;
mod spelling;

pub mod bytes;
pub mod threads;
pub mod yaml;

pub mod array;
pub mod tree;

pub mod codec;
pub mod core;
pub mod layout;
#[cfg(feature = "schema")]
pub mod schema;

pub mod asdf;
pub mod dudley;
pub mod fits;

pub mod file;
mod writer;

pub mod assemble;
pub mod change;
pub mod convert;
pub mod diff;
pub mod digest;
pub mod repair;
#[cfg(feature = "schema")]
pub mod validate;
pub mod verify;

pub use array::{Array, Datatype, Index};
pub use asdf::{ArrayOptions, AsdfFile, Builder, Target};
pub use error::{Error, Kind, Location, Result};
pub use file::{File, Item, ItemKind, OpenOptions, open, open_asdf, open_asdf_bytes};
pub use limits::Limits;
pub use span::{Span, line_column};
pub use tree::{Node, Tree, TreePath, Value};
pub use writer::Writer;

#[doc(no_inline)]
pub use half;
#[doc(no_inline)]
pub use num_complex;
