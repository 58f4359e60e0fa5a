//! Tests of the viewer through its public items.
//!
//! They are one program, because each program links all of the library.

mod cancelled_requests;
mod properties;
mod requests;
