//! The ASDF family: FINF 0.1, ASDF 0.1.0dev, 0.1.0 and 1.0 to 1.6, read and written by one code.
//!
//! [`generation`] is the table of what differs; [`Sections`] finds the parts of a file.

pub mod block;
pub mod generation;
pub mod header;
pub mod index;
mod sections;

pub use block::Block;
pub use generation::{GENERATIONS, Generation};
pub use header::Header;
pub use index::BlockIndex;
pub use sections::{IndexReport, Sections};
