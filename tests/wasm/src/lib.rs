//! The library in a WebAssembly module that imports nothing: `run.mjs` writes and reads files with it.
//!
//! Bytes go in and out through one buffer, which the host sees in the memory of the module.

// On other targets functions of these names would replace functions of the system, such as `write`.
#![cfg(target_family = "wasm")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use trilith::{Array, ArrayOptions, AsdfBuilder, Index, Result, Target, Value};

static BUFFER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn buffer() -> MutexGuard<'static, Vec<u8>> {
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the buffer this long and says where it is.
#[unsafe(no_mangle)]
pub extern "C" fn room(len: usize) -> *mut u8 {
    buffer().resize(len, 0);
    buffer().as_mut_ptr()
}

/// Returns the length of the buffer, which holds the file after [`write`] and the message after an error.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    buffer().len()
}

/// The sum of every second row of `/data` of the file in the buffer; not a number after an error.
#[unsafe(no_mangle)]
pub extern "C" fn sum() -> f64 {
    let file = buffer().clone();
    told(sum_of(&file)).unwrap_or(f64::NAN)
}

/// Writes 0, 1, 2, … as 64 by 64 numbers into a file in the buffer, with the codec of this name: its four
/// letters, the first one lowest. Whether that was done.
#[unsafe(no_mangle)]
pub extern "C" fn write(codec: u32) -> bool {
    let letters = codec.to_le_bytes();
    let name = String::from_utf8_lossy(&letters);
    told(file_with(name.trim_end_matches('\0'))).map(|file| *buffer() = file).is_some()
}

/// Returns `true` if a file of this machine can be opened. In this module there are no files.
#[unsafe(no_mangle)]
pub extern "C" fn opens() -> bool {
    told(trilith::open_asdf("image.asdf")).is_some()
}

fn sum_of(file: &[u8]) -> Result<f64> {
    let file = trilith::open_asdf_bytes(file.to_vec())?;
    let rows = file.array_at("/data")?.slice(&Index::parse_list("::2")?)?;
    Ok(rows.load_as::<f64>()?.iter().sum())
}

fn file_with(codec: &str) -> Result<Vec<u8>> {
    let mut builder = AsdfBuilder::new(Target::latest());
    let numbers: Vec<f32> = (0..64 * 64).map(|n| n as f32).collect();
    let options = if codec.is_empty() { ArrayOptions::default() } else { ArrayOptions::codec(codec)? };
    let data = builder.array(&Array::from_slice(&numbers, &[64, 64])?, &options)?;
    let mut out = std::io::Cursor::new(Vec::new());
    builder.write_to(&mut out, Value::map([("data", data)]))?;
    Ok(out.into_inner())
}

/// The value; after an error its text is in the buffer.
fn told<T>(result: Result<T>) -> Option<T> {
    result.map_err(|error| *buffer() = error.to_string().into_bytes()).ok()
}
