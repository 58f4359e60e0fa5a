//! Schemas: JSON Schema draft-04 with the additions of YAML Schema and ASDF, straight on the nodes of a tree.
//!
//! [`SchemaSet`] is a set of schemas with the manifests that bind tags to them; [`Validator`] compiles what
//! a tree needs and checks it. Keywords: all of draft-04; `tag` (with `*` and `**`); `datatype`,
//! `exact_datatype`, `ndim`, `max_ndim` of ndarrays; `requiredProperties` of 0.1.0dev. `format`,
//! `propertyOrder`, `flowStyle`, `style`, `default` and `examples` are hints and make nothing invalid, as in Python
//! asdf; another order than that of a custom schema is a warning.
//! Patterns run in time linear in the text.

mod apply_hints;
mod bundled;
mod cast;
mod check_schema;
mod compile;
mod describe;
mod document;
mod explain;
mod fast_check;
mod hints;
mod json_view;
mod packages;
mod property_order;
mod regex;
mod report;
mod store;
#[cfg(test)]
mod tests;
mod tree_scan;
mod unique_items;
mod uri;
mod validate;
mod wording;

pub use check_schema::{ExampleReport, SchemaReport, examine_all};
pub use describe::{SchemaDescription, kind_of};
pub use hints::WriteHints;
pub use packages::package_of;
pub use report::ValidationReport;
pub use store::{AddedDocument, SchemaSet, TagSchemas};
pub use validate::Validator;
