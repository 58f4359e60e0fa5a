//! The items of a file set that are read.

use std::ops::Range;

use crate::layout::{EvaluateOptions, Layout};

/// An item of some files of a set, and how they are read.
#[derive(Clone, Copy)]
pub struct ItemRequest<'a> {
    /// The layout of each file.
    pub template: &'a Layout,
    /// The path of the item.
    pub item: &'a str,
    /// The files, as ranges of rows of the catalog.
    pub file_rows: &'a [Range<usize>],
    /// Values for the parameters of the layout, and limits.
    pub options: &'a EvaluateOptions,
}
