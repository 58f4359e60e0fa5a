//! A file as Zarr sees data: groups and arrays by name, each with attributes, and axes that have names.
//!
//! A mapping with arrays below it is a group, and so is a list. An item without arrays below it is an attribute of
//! the group above, as JSON. So the only losses of a tree are values that JSON does not have ([`JsonValue`]), and tags.
//!
//! - A quantity is its numbers, with an attribute `units`.
//! - A mask is an array next to the one that it masks: `data_mask` for `data`. If a value marks missing elements,
//!   it is the attribute `_FillValue`.
//! - A list of a Dudley file whose items are equal arrays is one array.
//! - An xarray dataset that was written into a tree is a group again, with its own names and coordinates.

mod array_metadata;
mod dimension_names;
mod json;
mod kerchunk;
mod node_names;
mod numcodecs;
mod walk;

pub use dimension_names::{ArrayAxes, DimensionConventions, DimensionNames, StatedNames};
pub use json::JsonValue;
pub use kerchunk::{KerchunkOptions, KerchunkReferences};
pub use node_names::stored_name;
pub use numcodecs::numcodec;

use crate::array::Array;
use crate::error::{Error, Result};
use crate::file::FileSet;
use crate::file::{Backend, File, Item};

/// The groups and arrays of a file.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Hierarchy {
    /// Groups and arrays: the root first, and each parent before its children.
    pub nodes: Vec<Node>,
    /// Items that cannot be reached: their paths, and why.
    pub problems: Vec<(String, Error)>,
    /// The paths of lists of arrays in a file of another format, for example elements of variable length. Zarr has no such arrays,
    /// so each list is a group of numbered arrays.
    pub lists: Vec<String>,
}

/// A group or an array.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Node {
    /// Path without a leading `/`; empty for the root.
    pub path: String,
    /// Attributes, in the order of the file.
    pub attributes: Vec<(String, JsonValue)>,
    /// The array; None for a group.
    pub array: Option<Array>,
    /// The names of the axes of the array.
    pub dimensions: Vec<String>,
    /// The path of the array that marks missing elements, if there is one.
    pub mask: Option<String>,
    /// The value that marks an element as missing, if there is one.
    pub missing: Option<JsonValue>,
}

impl Node {
    fn new(path: String, attributes: Vec<(String, JsonValue)>) -> Self {
        Self { path, attributes, array: None, dimensions: Vec::new(), mask: None, missing: None }
    }
}

impl Hierarchy {
    /// Goes through a file; no array is read.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for a tree that is too large, and an error if it
    /// cannot be read.
    ///
    /// ```
    /// use trilith::hierarchy::Hierarchy;
    /// let text = b"#ASDF 1.0.0\n%YAML 1.1\n--- {n: 3, g: {t: {u: 1}, a: !<tag:stsci.edu:asdf/core/ndarray-1.0.0> [1, 2]}}\n...\n";
    /// let found = Hierarchy::build(&trilith::OpenOptions::new().open_bytes(text.to_vec())?)?;
    /// let said: Vec<_> = found.nodes.iter().map(|node| (node.path.as_str(), node.attributes.len(), node.array.is_some())).collect();
    /// assert_eq!(said, [("", 1, false), ("g", 1, false), ("g/a", 0, true)]);
    /// assert_eq!(found.nodes[1].attributes[0].1.to_string(), r#"{"u": 1}"#);
    /// assert_eq!(found.nodes[2].dimensions, ["dim_0"]);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn build(file: &File) -> Result<Self> {
        Self::of_backend(file.backend())
    }

    /// [`Hierarchy::build`] of what a file is made on.
    ///
    /// # Errors
    /// Returns the errors of [`Hierarchy::build`].
    pub fn of_backend(backend: &dyn Backend) -> Result<Self> {
        let mut walk = walk::HierarchyWalk::new(backend.limits());
        let root = walk.convert_item(&Item::new(backend, backend.root()), "")?;
        let mut found = Self { nodes: Vec::new(), problems: walk.problems, lists: walk.lists };
        // In a file set the first axis of all arrays counts the files, and is named by the axes of the root.
        let first: Vec<String> = Item::new(backend, backend.root()).axes()?.names.into_iter().flatten().collect();
        found.add_root(root, &first);
        Ok(found)
    }
}

fn is_file_set(backend: &dyn Backend) -> bool {
    (backend as &dyn std::any::Any).is::<FileSet>()
}
