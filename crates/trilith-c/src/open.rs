//! Opening: options, and files from a path, an address, memory or a program's own function.

use std::ffi::{CString, c_char, c_void};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use library::bytes::{MemorySource, NoReferences, Resolve, Source, SourceRef};
use library::file::ReferencePermissions;
use library::layout::ParseOptions;
use library::{Error, File, Limits, OpenOptions, Result};

use crate::cancel::{CancellableSource, trilith_cancel};
use crate::error::{c_text, call, trilith_error};
use crate::handle::{free, get_mut, get_ref, handle};
use crate::slices;
use crate::strings::{optional_str, required_str};

handle! {
    /// Options for opening files. Use them in one thread at a time.
    trilith_options, b"tri:opts", {
        opening: OpenOptions,
        limits: Limits,
        allowed: Vec<String>,
        cancel: Option<Arc<AtomicBool>>,
    }
}

handle! {
    /// An open file. Any number of threads may use one at the same time; it is freed once, by trilith_close, when no call uses
    /// it any more. Items, arrays and changes that came from it stay valid after that.
    trilith_file, b"tri:file", {
        file: Arc<File>,
        /// The format, once it was asked for: its text lives as long as the file.
        family: OnceLock<CString>,
    }
}

/// Makes options with their defaults: the default limits, and no references outside of the file's folder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_options_new(out: *mut *mut trilith_options, error: *mut *mut trilith_error) -> i32 {
    call!(out, error, trilith_options::into_handle(OpenOptions::new(), Limits::from_env()?, Vec::new(), None))
}

/// Sets a limit: `"memory=2G"`, `"depth=100"`. The names are those of `trilith --limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_options_limit(
    options: *mut trilith_options,
    assignment: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, get_mut(options)?.limits.set(required_str(assignment)?))
}

/// Allows references to lead to this folder (a path that ends in `/`) or to URLs with this prefix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_options_allow(
    options: *mut trilith_options,
    folder_or_address: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let options = get_mut(options)?;
        options.allowed.push(required_str(folder_or_address)?.to_owned());
        options.opening = options.opening.clone().allow(ReferencePermissions::read(&options.allowed)?);
        Ok(())
    })
}

/// Reads files under this layout (the text of a Dudley layout), whatever their first bytes are; null takes it back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_options_layout(
    options: *mut trilith_options,
    layout: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let options = get_mut(options)?;
        let layout = match optional_str(layout)? {
            Some(text) => {
                let mut parsing = ParseOptions::default();
                parsing.limits = options.limits.clone();
                Some(library::layout::parse(text.as_bytes(), &parsing)?.into_layout()?)
            }
            None => None,
        };
        options.opening = options.opening.clone().layout(layout);
        Ok(())
    })
}

/// Makes files that are opened from now on cancellable: see trilith_cancel_now. Null takes it back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_options_cancel(
    options: *mut trilith_options,
    cancel: *const trilith_cancel,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let flag = if cancel.is_null() { None } else { Some(get_ref(cancel)?.flag.clone()) };
        get_mut(options)?.cancel = flag;
        Ok(())
    })
}

/// Frees options. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_options_free(options: *mut trilith_options) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(options) }
}

/// The options that C handed in, or the defaults.
///
/// # Safety
/// As [`get_ref`].
unsafe fn options_of(options: *const trilith_options) -> Result<(OpenOptions, Option<Arc<AtomicBool>>)> {
    if options.is_null() {
        return Ok((OpenOptions::new().limits(Limits::from_env()?), None));
    }
    // SAFETY: as the caller promises.
    let options = unsafe { get_ref(options) }?;
    Ok((options.opening.clone().limits(options.limits.clone()), options.cancel.clone()))
}

fn open_source(
    opening: &OpenOptions,
    cancel: Option<Arc<AtomicBool>>,
    source: SourceRef,
    resolve: Arc<dyn Resolve>,
) -> Result<*mut trilith_file> {
    let source = match cancel {
        Some(flag) => Arc::new(CancellableSource::new(source, flag)),
        None => source,
    };
    let file = opening.open_source(source, resolve)?;
    Ok(trilith_file::into_handle(Arc::new(file), OnceLock::new()))
}

/// Opens a file by its path or its URL (`https://`, `s3://`, `gs://`, `az://`). Nothing is decoded. `options` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_open(
    path: *const c_char,
    options: *const trilith_options,
    out: *mut *mut trilith_file,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let path = PathBuf::from(required_str(path)?);
        let (opening, cancel) = options_of(options)?;
        let (source, resolve) = opening.source(&path)?;
        open_source(&opening, cancel, source, resolve)?
    })
}

/// Opens a file in memory; the bytes are copied. `options` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_open_memory(
    bytes: *const c_void,
    size: usize,
    options: *const trilith_options,
    out: *mut *mut trilith_file,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let source: SourceRef = Arc::new(MemorySource::copy_of(slices::bytes(bytes, size)?, "memory"));
        let (opening, cancel) = options_of(options)?;
        open_source(&opening, cancel, source, Arc::new(NoReferences))?
    })
}

/// Reads `size` bytes from `offset` on into `buffer`. Returns 0, or another number if it fails. It is called from several
/// threads at once and must not use the file that it reads for.
pub type trilith_read = Option<unsafe extern "C" fn(user: *mut c_void, offset: u64, buffer: *mut c_void, size: usize) -> i32>;

/// Bytes that a program reads with a callback.
struct CallbackSource {
    read: unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize) -> i32,
    user_data: *mut c_void,
    size: u64,
}

// SAFETY: the header requires a function that may be called from any thread, several at once; the pointer is only handed
// back to it.
unsafe impl Send for CallbackSource {}
// SAFETY: as for `Send`.
unsafe impl Sync for CallbackSource {}

impl Source for CallbackSource {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let is_inside = offset.checked_add(into.len() as u64).is_some_and(|end| end <= self.size);
        if !is_inside {
            let text = format!("the file ends after {} bytes, expected {} more", self.size, into.len());
            return Err(Error::malformed(text).at_byte(offset));
        }
        // SAFETY: the function is the program's, with the pointer that came with it; the memory is ours and has this size.
        match unsafe { (self.read)(self.user_data, offset, into.as_mut_ptr().cast(), into.len()) } {
            0 => Ok(()),
            status => {
                let failed = std::io::Error::other(format!("the function that reads returned {status}"));
                Err(Error::io("reading", failed).at_byte(offset))
            }
        }
    }

    fn name(&self) -> &str {
        "a function of the program"
    }
}

/// Opens a file of `size` bytes that `read` reads; `user` is handed to it. Both must be valid until the file is closed and
/// everything that came from it is freed. `options` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_open_callback(
    read: trilith_read,
    user: *mut c_void,
    size: u64,
    options: *const trilith_options,
    out: *mut *mut trilith_file,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let read = read.ok_or_else(|| Error::invalid_input("a null pointer in place of a function that reads"))?;
        let source: SourceRef = Arc::new(CallbackSource { read, user_data: user, size });
        let (opening, cancel) = options_of(options)?;
        open_source(&opening, cancel, source, Arc::new(NoReferences))?
    })
}

/// Returns the format of a file: `asdf`, `finf`, `fits`, `dudley`, … It lives as long as the file. Null for a handle that is not a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_file_family(file: *const trilith_file) -> *const c_char {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(file) }.map_or(std::ptr::null(), |file| file.family.get_or_init(|| c_text(file.file.family())).as_ptr())
}

/// Lists problems of a file that can be read nevertheless: one line each, or an empty string. Free it with
/// trilith_string_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_file_warnings(
    file: *const trilith_file,
    out: *mut *mut c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, crate::strings::into_c_string(&get_ref(file)?.file.warnings().join("\n")))
}

/// Closes a file. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_close(file: *mut trilith_file) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(file) }
}
