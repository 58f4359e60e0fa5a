//! The places of the arrays of a stream that becomes a tree, and the treatment of its items on the way.

use crate::array::Array;
use crate::asdf::{ArrayOptions, AsdfBuilder, FitsArrays};
use crate::error::{Error, Result};
use crate::tree::Value;

/// The treatment of items on the way to a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemOptions {
    /// `true` if a list of equal arrays is one array.
    pub stack_lists: bool,
    /// `true` if arrays have their physical values.
    pub physical: bool,
    /// `true` if arrays keep the masks that no attribute declares.
    pub masks: bool,
}

/// The place of the arrays of a tree.
pub(super) enum ArrayStorage<'a> {
    /// Blocks of a file that is written.
    Blocks(AsdfBuilder<'static>, &'a ArrayOptions),
    /// The file that they come from.
    Detached(Vec<Array>),
}

impl ArrayStorage<'_> {
    /// The node of an array.
    pub(super) fn build_array_node(&mut self, array: &Array) -> Result<Value> {
        match self {
            Self::Blocks(builder, how) => builder.array(array, how),
            Self::Detached(arrays) => {
                arrays.push(array.clone());
                let source = format!("fits:{}", arrays.len() - 1);
                let shape = Value::seq::<u64>([]).flow();
                let node =
                    [("source", source.into()), ("datatype", "int8".into()), ("byteorder", "little".into()), ("shape", shape)];
                Ok(Value::map(node).tagged("tag:stsci.edu:asdf/core/ndarray-1.1.0"))
            }
        }
    }
}

/// Arrays by their numbers.
pub(super) struct DetachedArrays(pub Vec<Array>);

impl FitsArrays for DetachedArrays {
    fn hdu_array(&self, spec: &str) -> Result<Array> {
        let found = spec.parse::<usize>().ok().and_then(|number| self.0.get(number));
        found.cloned().ok_or_else(|| Error::malformed(format!("there is no array {spec}")))
    }
}
