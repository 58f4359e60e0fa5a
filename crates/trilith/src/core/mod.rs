//! Small types of the core schemas that have special rules.

pub mod unit;
