//! Schemas: JSON Schema draft-04 with the additions of YAML Schema and ASDF, straight on the nodes of a tree.
//!
//! [`Schemas`] is a set of schemas with the manifests that bind tags to them; [`Validator`] compiles what
//! a tree needs and checks it. Keywords: all of draft-04; `tag` (with `*` and `**`); `datatype`,
//! `exact_datatype`, `ndim`, `max_ndim` of ndarrays; `requiredProperties` of 0.1.0dev. `format`,
//! `propertyOrder`, `flowStyle`, `style`, `default` and `examples` are hints and make nothing invalid, as in Python
//! asdf; another order than that of a custom schema is a warning.
//! Patterns run in time linear in the text.

mod arrange;
mod bundled;
mod cast;
mod check;
mod compile;
mod describe;
mod document;
mod examine;
mod explain;
mod hints;
mod instance;
mod order;
mod packages;
mod pattern;
mod report;
mod store;
mod survey;
#[cfg(test)]
mod tests;
mod unique;
mod uri;
mod validate;
mod words;

pub use describe::{Description, kind_of};
pub use examine::{Examination, Example, examine_all};
pub use hints::Hints;
pub use packages::package_of;
pub use report::Report;
pub use store::{Added, Schemas, Tagged};
pub use validate::Validator;
