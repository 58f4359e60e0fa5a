//! Small types of the core schemas that have special rules.

pub(crate) mod unit;
