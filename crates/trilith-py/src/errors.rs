//! The library's errors as Python exceptions.

use std::path::Path;

use pyo3::create_exception;
use pyo3::exceptions::{
    PyIndexError, PyInterruptedError, PyIsADirectoryError, PyKeyError, PyNotImplementedError, PyOSError, PyValueError,
};
use pyo3::intern;
use pyo3::prelude::*;
use trilith::SuggestedSetting;
use trilith::bytes::{LocalFile, Source, SourceBacking, SourceRef, display_name, is_url};
use trilith::{Error, ErrorKind};

create_exception!(trilith, FormatError, PyValueError, "The file breaks the rules of its format.");
create_exception!(trilith, LimitError, PyValueError, "The file exceeds a safety limit. Increase the limit with TRILITH_LIMITS.");

/// The subject of a usage error, which decides its exception in Python.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UsageErrorKind {
    /// A key or a path.
    Key,
    /// An index.
    Index,
    /// An argument's value.
    Argument,
}

/// An error of the library as the exception that Python expects.
pub(crate) fn to_python_error(error: &Error, about: UsageErrorKind) -> PyErr {
    to_exception(error, &error.text_in(&describe_setting), about)
}

/// The exception for an error with this text.
fn to_exception(error: &Error, text: &str, about: UsageErrorKind) -> PyErr {
    let message = display_name(text).into_owned();
    match error.kind() {
        ErrorKind::Io => os_error(error, message),
        ErrorKind::Malformed => FormatError::new_err(message),
        ErrorKind::Unsupported => PyNotImplementedError::new_err(message),
        ErrorKind::Limit => LimitError::new_err(message),
        ErrorKind::Cancelled => PyInterruptedError::new_err(message),
        _ => match about {
            UsageErrorKind::Key => PyKeyError::new_err(message),
            UsageErrorKind::Index => PyIndexError::new_err(message),
            UsageErrorKind::Argument => PyValueError::new_err(message),
        },
    }
}

/// Returns the wording of a setting in Python.
fn describe_setting(setting: &SuggestedSetting) -> String {
    match setting {
        SuggestedSetting::Limit(name) => format!("raise it with the environment variable TRILITH_LIMITS={name}=N"),
        SuggestedSetting::Allow(place) => format!("add {place:?} to allow=[...]"),
        SuggestedSetting::Layout => "give its layout=".to_owned(),
        SuggestedSetting::NoLayout => "leave out layout=".to_owned(),
        SuggestedSetting::Byteorder => "give byteorder=\"little\" or \"big\"".to_owned(),
        SuggestedSetting::Download => "fetch it whole with storage_options={\"download\": True}".to_owned(),
        SuggestedSetting::Overwrite => "give overwrite=True to replace it".to_owned(),
        SuggestedSetting::Provide(option, values) => format!("give {option}={values}"),
        SuggestedSetting::Remove(options) => format!("leave out {}=", options.join("= and ")),
        SuggestedSetting::Remote(option) => format!("set {option} in storage_options={{...}}"),
        other => other.to_string(),
    }
}

/// `EISDIR` on every system that Python runs on.
const IS_A_DIRECTORY: i32 = 21;
/// `EIO`, for errors that the operating system has no number for.
const IO_ERROR: i32 = 5;
/// `EINTR`.
const INTERRUPTED: i32 = 4;

/// Returns the exception for an error about a path; for a folder it is `IsADirectoryError`. It has the path as `filename`.
pub(crate) fn raise_at(error: &Error, path: Option<&Path>) -> PyErr {
    let Some(path) = path else { return to_python_error(error, UsageErrorKind::Argument) };
    if error.kind() == ErrorKind::InvalidInput && path.is_dir() {
        return PyIsADirectoryError::new_err((IS_A_DIRECTORY, "Is a directory", path.as_os_str().to_owned()));
    }
    let (text, name) = (error.text_in(&describe_setting), path.to_string_lossy());
    // An error of a format is about a place in the file.
    let is_named = error.kind() != ErrorKind::Malformed || text.contains(&*name);
    let text = if is_named { text } else { format!("{name}: {text}") };
    raise_about(error, &text, UsageErrorKind::Argument, path)
}

/// Returns the exception for an error that bytes of a source led to. It has the path or the URL of the source as `filename`.
pub(crate) fn raise_from(error: &Error, about: UsageErrorKind, source: &dyn Source) -> PyErr {
    let file = source.backing().and_then(SourceBacking::local_file);
    match file.and_then(LocalFile::given_path) {
        Some(path) => raise_about(error, &error.text_in(&describe_setting), about, path),
        None if is_url(source.name()) && error.kind() != ErrorKind::Io => {
            with_filename(to_python_error(error, about), source.name().as_ref())
        }
        None => to_python_error(error, about),
    }
}

/// Returns the exception for an error about a file. An `OSError` has a number, because its text has the name only with one.
fn raise_about(error: &Error, text: &str, about: UsageErrorKind, path: &Path) -> PyErr {
    let name = path.as_os_str().to_owned();
    match error.kind() {
        ErrorKind::Io => {
            let code = error.io_error().and_then(std::io::Error::raw_os_error);
            PyOSError::new_err((code.unwrap_or(IO_ERROR), remove_name(text, path, code), name))
        }
        ErrorKind::Cancelled => PyInterruptedError::new_err((INTERRUPTED, remove_name(text, path, None), name)),
        _ => with_filename(to_exception(error, text, about), path),
    }
}

/// Adds the name of the file to an exception.
fn with_filename(exception: PyErr, name: &Path) -> PyErr {
    Python::attach(|py| {
        // An exception without attributes stays as it is.
        let _ = exception.value(py).setattr(intern!(py, "filename"), name.as_os_str());
    });
    exception
}

/// Returns a text without the name of the file, which Python adds, and without the number of the error.
fn remove_name(text: &str, path: &Path, code: Option<i32>) -> String {
    let name = path.to_string_lossy();
    let text = ["opening ", "writing "]
        .iter()
        .find_map(|verb| text.strip_prefix(verb)?.strip_prefix(&*name)?.strip_prefix(": "))
        .unwrap_or(text);
    let text = text.replacen(&format!("{name}: "), "", 1);
    let text = code.map_or_else(|| text.clone(), |code| text.replacen(&format!(" (os error {code})"), "", 1));
    display_name(&text).into_owned()
}

/// `OSError(errno, message)` makes itself a `FileNotFoundError` and the like.
fn os_error(error: &Error, message: String) -> PyErr {
    match error.io_error().and_then(std::io::Error::raw_os_error) {
        Some(code) => PyOSError::new_err((code, message)),
        None => PyOSError::new_err(message),
    }
}

/// Turns the errors of a result into exceptions.
pub(crate) trait IntoPyResult<T> {
    /// The value, or the exception for an error about this.
    fn or_raise(self, about: UsageErrorKind) -> PyResult<T>;

    /// The value, or the exception for an error about this in a file.
    fn or_raise_at(self, about: UsageErrorKind, path: Option<&Path>) -> PyResult<T>;

    /// The value, or the exception for an error about this in the file that `source` reads.
    fn or_raise_from(self, about: UsageErrorKind, source: &SourceRef) -> PyResult<T>;
}

impl<T> IntoPyResult<T> for trilith::Result<T> {
    fn or_raise(self, about: UsageErrorKind) -> PyResult<T> {
        self.map_err(|error| to_python_error(&error, about))
    }

    fn or_raise_at(self, about: UsageErrorKind, path: Option<&Path>) -> PyResult<T> {
        self.map_err(|error| match path {
            Some(path) => raise_about(&error, &error.text_in(&describe_setting), about, path),
            None => to_python_error(&error, about),
        })
    }

    fn or_raise_from(self, about: UsageErrorKind, source: &SourceRef) -> PyResult<T> {
        self.map_err(|error| raise_from(&error, about, &**source))
    }
}
