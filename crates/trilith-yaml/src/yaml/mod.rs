//! YAML 1.1 text: two readers with one event type, how scalars resolve, and a printer.
//!
//! `complete` reads all of YAML (a library, never visible outside); `scanner` reads the checked subset
//! that real files use, much faster, and steps back at anything else. Both call the same `Receiver`.

mod agree;
mod breaks;
mod build;
mod complete;
mod cook;
mod event;
mod handles;
mod head;
mod plain;
mod print;
pub(crate) mod scalar;
mod scanner;
mod value;

#[doc(hidden)]
pub use agree::readers_agree;
#[doc(hidden)]
pub use build::ValueBuilder;
pub(crate) use complete::read_complete;
pub(crate) use cook::cooked;
pub(crate) use event::{Event, Receiver, What};
pub use event::{Layout, Style};
pub use handles::{Handles, written_tag};
pub(crate) use head::Head;
pub use print::{PrintOptions, print_document, print_value};
pub(crate) use print::{print_after_key, print_flow};
pub use scalar::int_with_float;
pub use scalar::{Scalar, resolve};
pub(crate) use scanner::read_fast;
pub(crate) use value::shortened;
pub use value::{Data, Value};

#[cfg(test)]
pub(crate) use scanner::tests::{near_yaml, nested_yaml};
