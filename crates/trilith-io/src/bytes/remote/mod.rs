//! Files on servers: HTTP and object stores (S3, Google Cloud Storage, Azure Blob Storage), read by ranges.
//!
//! Opening requests the front of a file (one request), and everything else is requested when it is read. A few
//! bytes come with those around them, many come in parallel pieces, and scattered ones come together in one request
//! if the server supports it. A bounded [`cache`] keeps the bytes. Each request names the version of the file that
//! was opened, so that a file which changes is an error and never a mixture.
//!
//! [`client`] decides who may be asked (`SECURITY.md` says why), [`fetch`] repeats what broke, [`source`]
//! is the [`Source`](super::Source), [`whole`] the one of servers that give no parts, [`resolve`] the
//! sandbox for references, [`upload`] writes objects, and [`list`] finds those that fit a pattern. [`bucket`] knows the URLs of objects, [`store`] how a bucket is asked, [`login`] where credentials
//! come from. The libraries for HTTP and TLS are seen in `client` and [`tools`] only, that for credentials and signatures in
//! `login` and `tools`.

mod address;
mod bucket;
mod cache;
mod client;
mod connect;
mod disk;
mod fetch;
mod headers;
mod list;
mod login;
mod multipart;
mod options;
mod plan;
mod profile;
mod reply;
mod resolve;
mod source;
mod store;
mod stream;
mod tools;
mod upload;
mod whole;

use std::sync::Arc;

pub use list::{Several, objects, several};
pub use options::{RemoteOptions, Watch};
pub use plan::requests;
pub(super) use resolve::joined;
pub use resolve::{Allowed, open_url};
pub use source::{Parts, by_parts};
pub(super) use upload::Upload;

use super::{Source, SourceRef};

fn shared(source: impl Source + 'static) -> SourceRef {
    Arc::new(source)
}
