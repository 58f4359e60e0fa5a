//! The viewer without a server: a WebAssembly module that answers the requests of the page in a worker.
//!
//! Words go in and answers come out through one buffer, which the worker sees in the memory of the module. The bytes of
//! files come from the worker, which reads what it is asked for: a part of a file of this machine, or a range of an
//! address. Whole files never come here.

// On other targets, the exported functions would replace system functions of the same names.
#![cfg(target_family = "wasm")]

mod host;

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use trilith::bytes::NoReferences;
use trilith::{Error, OpenOptions};
use trilith_view::requests::{ViewerRequest, ViewerSession, respond};

use crate::host::HostFile;

static BUFFER: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static SESSION: LazyLock<ViewerSession> = LazyLock::new(|| ViewerSession::new(open));

/// A file by its place: `handle size is_remote name`.
fn open(place: &str) -> trilith::Result<trilith::File> {
    let wrong = || Error::invalid_input(format!("{place:?} is not a file of this page"));
    let mut words = place.splitn(4, ' ');
    let mut next = || words.next().ok_or_else(wrong);
    let (handle, size, is_remote) = (next()?.parse(), next()?.parse(), next()? == "1");
    let (Ok(handle), Ok(size)) = (handle, size) else { return Err(wrong()) };
    let name = next()?;
    OpenOptions::new().open_source(Arc::new(HostFile::new(handle, size, is_remote, name)), Arc::new(NoReferences))
}

fn buffer() -> MutexGuard<'static, Vec<u8>> {
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first bytes of the buffer as text.
fn buffer_text(len: usize) -> String {
    String::from_utf8_lossy(buffer().get(..len).unwrap_or_default()).into_owned()
}

/// Makes the buffer this long and says where it is.
#[unsafe(no_mangle)]
pub extern "C" fn room(len: usize) -> *mut u8 {
    let mut buffer = buffer();
    buffer.resize(len, 0);
    buffer.as_mut_ptr()
}

/// Returns the length of the buffer.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    buffer().len()
}

/// Adds the file whose name is in the buffer, and gives its number. The worker knows it by its handle.
#[unsafe(no_mangle)]
pub extern "C" fn add(handle: u32, size: f64, is_remote: u32, len: usize) -> usize {
    let name = buffer_text(len);
    SESSION.add(&name, &format!("{handle} {} {is_remote} {name}", size as u64))
}

/// Answers the request in the buffer, a name and a query after a `?`: the answer takes its place. The status, and
/// 1000 more where it is a picture.
#[unsafe(no_mangle)]
pub extern "C" fn ask(len: usize) -> u32 {
    let asked = buffer_text(len);
    let (name, query) = asked.split_once('?').unwrap_or((&asked, ""));
    let said = respond(&SESSION, &ViewerRequest::new(name, query));
    *buffer() = said.body;
    u32::from(said.status) + if said.content_type == "image/png" { 1000 } else { 0 }
}
