//! Files on servers: HTTP and S3, read by ranges.
//!
//! Opening requests the front of a file (one request), and everything else is requested when it is read. A few
//! bytes come with those around them, many come in parallel pieces, and scattered ones come together in one request
//! if the server supports it. A bounded [`cache`] keeps the bytes. Each request names the version of the file that
//! was opened, so that a file which changes is an error and never a mixture.
//!
//! [`client`] decides which hosts may be contacted (`SECURITY.md` gives the reasons), and [`fetch`] repeats failed
//! requests. [`source`] is the [`Source`](super::Source), [`whole`] is that of servers without range requests, and
//! [`resolve`] is the sandbox for references. Only `client` and [`s3`] use the libraries for HTTP, TLS and
//! signatures.

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
