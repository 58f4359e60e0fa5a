//! YAML 1.1 text: two readers behind one event type, how scalars resolve, and a printer.
//!
//! `complete` reads all of YAML (a library, never visible outside); `scanner` reads the checked subset
//! that real files use, much faster, and steps back at anything else. Both call the same [`Receiver`].

mod complete;
mod cook;
mod event;
mod head;
pub(crate) mod scalar;

pub(crate) use complete::read_complete;
pub(crate) use cook::cooked;
pub(crate) use event::{Event, Receiver, What};
pub use event::{Layout, Style};
pub(crate) use head::Head;
pub use scalar::{Scalar, resolve};
