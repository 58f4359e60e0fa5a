//! YAML 1.1 text: two readers with one event type, how scalars resolve, and a printer.
//!
//! `complete` reads all of YAML (a library, never visible outside); `scanner` reads the checked subset
//! that real files use, much faster, and steps back at anything else. Both call the same `EventReceiver`.

mod compare_readers;
mod directives;
mod event;
mod full_reader;
mod line_breaks;
mod plain_scalar;
mod print;
pub(crate) mod scalar;
mod scalar_text;
mod scanner;
mod tag_handles;
mod value;
mod value_builder;

#[doc(hidden)]
pub use compare_readers::readers_agree;
pub(crate) use directives::{BINARY_TAG, Directives, SECONDARY_PREFIX};
pub use event::{CollectionStyle, YamlScalarStyle};
pub(crate) use event::{Event, EventKind, EventReceiver};
pub(crate) use full_reader::read_complete;
#[cfg(test)]
pub(crate) use print::print_with_events;
pub use print::{PrintOptions, print_document, print_value};
pub(crate) use print::{float_text, print_after_key, print_flow, print_list_with_events};
pub use scalar::int_with_float;
pub use scalar::{Scalar, resolve};
pub(crate) use scalar::{calendar_problem, scalar_tag_problem};
pub(crate) use scalar_text::scalar_text;
pub(crate) use scanner::read_fast;
pub use tag_handles::{TagHandles, written_tag};
pub(crate) use value::shorten_text;
pub use value::{Value, ValueData};
#[doc(hidden)]
pub use value_builder::ValueBuilder;

#[cfg(test)]
pub(crate) use scanner::tests::{near_yaml, nested_yaml};
