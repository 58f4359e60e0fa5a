//! Self-describing scientific array files: every generation of the ASDF family, and Dudley layouts.
//!
//! A file of this kind is *a tree of named items whose leaves are n-dimensional arrays at known places in some
//! bytes*.
//!
//! # Reading
//!
//! [`open`] opens any of them by a path or a URL. It parses the tree and decodes nothing. An array is a description
//! until you read its elements, and a slice reads only the bytes (or the compressed chunks) that hold it.
//!
//! ```
//! # use trilith::AsdfWriter;
//! # let folder = std::env::temp_dir().join(format!("trilith-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! # let path = folder.join("image.asdf");
//! # let pixels: Vec<f32> = (0..64 * 64).map(|n| n as f32).collect();
//! # let mut writer = AsdfWriter::new();
//! # writer.slice("/data", &pixels, &[64, 64])?;
//! # writer.set("/exposure", &139.8)?;
//! # writer.write(&path)?;
//! use trilith::s;
//!
//! let file = trilith::open(&path)?;
//! assert_eq!(file.item("/exposure")?.deserialize::<f64>()?, 139.8);
//!
//! let image = file.array("/data")?;
//! assert_eq!(image.shape(), [64, 64]);
//! let cutout = image.slice(s![10..12, ..;32])?;
//! assert_eq!(cutout.load::<f32>()?, [640.0, 672.0, 704.0, 736.0]);
//!
//! for entry in file.arrays()? {
//!     println!("{}: {:?}", entry.path, entry.item?.array()?.shape());
//! }
//!
//! // Where alignment and byte order allow, elements are borrowed from the file.
//! assert_eq!(image.view::<f32>().map(|pixels| pixels[65]), Some(65.0));
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), trilith::Error>(())
//! ```
//!
//! [`OpenOptions`] sets the places that files may refer to, limits on the cost of reading, layouts, byte order, and
//! servers.
//!
//! # Writing
//!
//! [`AsdfWriter`] takes arrays (slices, `ndarray` views, [`Array`]s) and any value that serde can write, each at a path.
//!
//! ```
//! # let folder = std::env::temp_dir().join(format!("trilith-doc-write-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! # let path = folder.join("image.asdf");
//! let pixels: Vec<f32> = (0..64 * 64).map(|n| n as f32).collect();
//! let mut writer = trilith::AsdfWriter::new().codec("lz4")?;
//! writer.slice("/data", &pixels, &[64, 64])?;
//! writer.set("/meta/exposure", &139.8)?;
//! writer.write(&path)?;
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), trilith::Error>(())
//! ```
//!
//! # Changing, converting and comparing
//!
//! [`File::edit`] changes a file that was read, in place or as a new file, and keeps every comment, tag and key order.
//! A change borrows its file, which shows the old content until it is opened again. [`File::convert`] consumes the file and writes
//! its content in another format, generation or codec. [`File::verify`] checks a file; with
//! [`VerifyDepth::Decoded`](check::VerifyDepth::Decoded) it also decodes each block. [`File::diff`] compares the contents of two
//! files of any formats and codecs.
//!
//! ```
//! # let folder = std::env::temp_dir().join(format!("trilith-doc-change-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! # let (path, copy) = (folder.join("image.asdf"), folder.join("copy.asdf"));
//! # let mut writer = trilith::AsdfWriter::new();
//! # writer.slice("/data", &[1i32, 2], &[2])?;
//! # writer.set("/exposure", &139.8)?;
//! # writer.write(&path)?;
//! use trilith::SaveOptions;
//! use trilith::check::VerifyDepth;
//! use trilith::convert::{ConvertOptions, TargetForm};
//!
//! let file = trilith::open(&path)?;
//! let mut change = file.edit()?;
//! change.set("/exposure", 60)?;
//! change.save(SaveOptions::in_place())?;
//!
//! let mut options = ConvertOptions::default();
//! options.to = TargetForm::from_name("asdf-1.5")?;
//! options.set_codec("zlib")?;
//! trilith::open(&path)?.convert(&copy, &options)?;
//!
//! let copy = trilith::open(&copy)?;
//! assert!(copy.verify(VerifyDepth::Decoded, Default::default())?.is_ok());
//! assert!(trilith::open(&path)?.diff(&copy, &Default::default())?.is_empty());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), trilith::Error>(())
//! ```
//!
//! # Entry points
//!
//! | to | use |
//! |---|---|
//! | open anything | [`open`], [`OpenOptions`] |
//! | find items and arrays | [`File::item`], [`File::array`], [`File::arrays`], [`Item::walk`] |
//! | get elements | [`Array::slice`], [`Array::load`], [`Array::view`], `Array::to_ndarray` |
//! | read metadata into a struct | [`Item::deserialize`] |
//! | write a new file | [`AsdfWriter`]; from many processes [`ParallelWriter`] |
//! | change a file | [`File::edit`] |
//! | positions on the sky | [`File::wcs`], [`mod@wcs`] |
//! | check and compare | [`File::verify`], `File::validate`, [`File::digest`], [`File::diff`], [`check`] |
//! | tags, blocks, generations of ASDF | [`File::as_asdf`], [`asdf`], [`tree`] |
//! | layouts of Dudley | [`File::as_dudley`], [`layout`], [`dudley`] |
//! | a custom format | [`file::Backend`] |
//!
//! The modules [`asdf`], [`dudley`], [`fits`], [`layout`], [`tree`] and [`bytes`] are the second ring: public, and closer to the
//! formats. The types that checks return are in [`check`]. The examples in `examples/` are short programs to copy.
//!
//! The documentation shows the interface for users. Other modules are public because our own crates need them, and
//! may change in any release.
//!
//! An [`Error`] has a kind, a place and often advice: [`Error::kind`], [`Error::location`], [`Error::advice`]. The kind is
//! [`ErrorKind::Io`] if a file cannot be opened ([`Error::io_error`] is the reason), and [`ErrorKind::NotFound`] if a file has no
//! such item. [`Limits`] bound the cost of a hostile file.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `blosc` `bzip2` `lz4` `zlib` `zstd` | codecs of blocks; `zlib` also gzip files and filters; `zstd` is C |
//! | `schema` | validation of trees, and the bundled schemas |
//! | `search` | searching for items by regular expressions |
//! | `remote` | files at `https://`, `s3://`, `gs://` and `az://` URLs |
//! | `ndarray` | views as `ndarray::ArrayView` |
//! | `png` `jpeg` | filters of Dudley streams |
//! | `libdeflate` | zlib blocks decoded by a C library; not on by default |
//!
//! All but the last are on by default. Without any the library is Rust alone, and with those that need
//! no C it compiles for `wasm32-unknown-unknown`. A part that was left out of a build reports an error that names
//! its feature.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "schema"), allow(dead_code, unused_imports, reason = "some helpers serve only schemas"))]

use trilith_codec::codec;
#[doc(inline)]
pub use trilith_io::{bytes, interrupt};
use trilith_io::{diagnostic, percent, span, suggest};
use trilith_io::{error, glob, json_pointer, limits, progress, threads};
use trilith_layout::foreign;
#[cfg(feature = "schema")]
use trilith_schema::schema;
use trilith_yaml::yaml;

#[doc(inline)]
pub use trilith_array::{array, s};
#[doc(inline)]
pub use trilith_fits::fits;
#[doc(inline)]
pub use trilith_layout::{dudley, layout};
#[doc(inline)]
pub use trilith_yaml::tree;

mod condition;
mod core;

pub mod asdf;

pub mod file;
mod writer;

#[doc(hidden)]
pub mod assemble;
#[doc(hidden)]
pub mod change;
pub mod check;
mod conform;
pub mod convert;
mod cutout;
mod diff;
mod digest;
#[doc(hidden)]
pub mod hierarchy;
mod parallel;
mod repair;
#[cfg(feature = "search")]
mod search;
#[doc(hidden)]
pub mod table;
#[cfg(feature = "schema")]
mod validate;
mod verify;
pub mod wcs;

pub use array::{Array, Datatype, Index};
pub use asdf::{ArrayOptions, AsdfBuilder, AsdfFile, Target};
pub use change::{Change, RowOptions, RowReport, RowWriter, SaveOptions, SaveReport, SaveTarget, ValueSyntax};
pub use codec::CodecId;
pub use cutout::{CutoutImage, CutoutOptions, EdgeMode, PixelCutout};
pub use diagnostic::{Diagnostic, Severity};
#[doc(hidden)]
pub use error::SuggestedSetting;
pub use error::{Error, ErrorKind, Location, Result};
pub use file::{File, Item, ItemKind, OpenOptions, open, open_asdf, open_asdf_bytes};
pub use limits::Limits;
pub use parallel::ParallelWriter;
pub use progress::Progress;
#[cfg(feature = "search")]
pub use search::{SearchMatch, SearchQuery};
pub use span::{Span, line_column};
pub use tree::{Node, Tree, TreePath, Value};
pub use writer::AsdfWriter;

#[doc(no_inline)]
pub use half;
#[doc(no_inline)]
pub use num_complex;

/// The program of the README is compiled by the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
