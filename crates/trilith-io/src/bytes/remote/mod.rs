//! Files on servers: HTTP and object stores (S3, Google Cloud Storage, Azure Blob Storage), read by ranges.
//!
//! Opening requests the front of a file (one request), and everything else is requested when it is read. A few
//! bytes come with those around them, many come in parallel pieces, and scattered ones come together in one request
//! if the server supports it. A bounded cache ([`memory_cache`]) keeps the bytes. Each request names the version of the file that
//! was opened, so that a file which changes is an error and never a mixture.
//!
//! [`client`] decides who may be asked (`SECURITY.md` says why), [`fetch`] repeats what broke, [`ranged_file`]
//! is the [`Source`], [`unranged`] the one of servers that give no parts, [`resolve`] the
//! sandbox for references, [`upload`] writes objects, [`pending_upload`] gives up those of a process that ends, and [`list`] finds those that fit a pattern. [`bucket`] knows the URLs of objects, [`store`] how a bucket is asked, [`credentials`] where credentials
//! come from. The libraries for HTTP and TLS are seen in `client` and [`credential_context`] only, that for credentials and signatures in
//! `credentials` and `credential_context`.

mod address;
mod agent;
mod bucket;
mod client;
mod coalesce;
mod credential_context;
mod credentials;
mod disk_cache;
mod fetch;
mod list;
mod memory_cache;
mod multipart;
mod options;
mod pending_upload;
mod profile;
mod ranged_file;
mod resolve;
mod response;
mod response_headers;
mod store;
mod streaming;
mod unranged;
mod upload;

use std::sync::Arc;

pub use coalesce::requests;
pub use list::{ListRequest, classify_bucket_url, objects};
pub use options::{DownloadProgress, RemoteOptions};
pub use pending_upload::abort_uploads;
pub use ranged_file::{RangeFetcher, by_parts};
pub(super) use resolve::join;
pub use resolve::{AllowListResolver, open_url};
pub(super) use upload::Upload;

use super::{Source, SourceRef};

fn into_shared(source: impl Source + 'static) -> SourceRef {
    Arc::new(source)
}
