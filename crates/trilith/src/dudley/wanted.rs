//! The items of a file set that are read.

use std::ops::Range;

use crate::layout::{Layout, Options};

/// An item of some files of a set, and how they are read.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub template: &'a Layout,
    pub item: &'a str,
    pub rows: &'a [Range<usize>],
    pub options: &'a Options,
}
