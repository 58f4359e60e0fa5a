//! Files on servers: HTTP and S3, read by ranges.
//!
//! Opening asks for the front of a file (one request), and everything else when it is read: few bytes
//! with those around them, many in pieces side by side, scattered ones together in one request where the
//! server can do that. What came is kept in a bounded [`cache`]. Each request names the version of the
//! file that was opened, so that a file which changes is an error and never a mixture.
//!
//! [`client`] decides who may be asked (`SECURITY.md` says why), [`fetch`] repeats what broke, [`source`]
//! is the [`Source`](super::Source), [`whole`] the one of servers that give no parts, [`resolve`] the
//! sandbox for references. The libraries for HTTP, TLS and signatures are seen in `client` and [`s3`] only.

mod address;
mod cache;
mod client;
mod disk;
mod fetch;
mod headers;
mod multipart;
mod options;
mod plan;
mod resolve;
mod s3;
mod sign;
mod source;
mod stream;
mod whole;

use std::sync::Arc;

pub use options::{RemoteOptions, Watch};
pub use plan::requests;
pub(super) use resolve::joined;
pub use resolve::{Allowed, open_url};
pub use source::{Parts, by_parts};

use super::{Source, SourceRef};

/// Lower-case hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn shared(source: impl Source + 'static) -> SourceRef {
    Arc::new(source)
}
