//! Small types of the core schemas that have rules of their own.

pub mod unit;
