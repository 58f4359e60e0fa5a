//! The library's errors as Python exceptions.

use std::path::Path;

use pyo3::create_exception;
use pyo3::exceptions::{
    PyIndexError, PyInterruptedError, PyIsADirectoryError, PyKeyError, PyNotImplementedError, PyOSError, PyValueError,
};
use pyo3::prelude::*;
use trilith::SuggestedSetting;
use trilith::bytes::display_name;
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

/// Returns the exception for an error about a path; for a folder it is `IsADirectoryError`. An error of the operating system has
/// the name of the file as `filename`.
pub(crate) fn raise_at(error: &Error, path: Option<&Path>) -> PyErr {
    let Some(path) = path else { return to_python_error(error, UsageErrorKind::Argument) };
    if error.kind() == ErrorKind::InvalidInput && path.is_dir() {
        return PyIsADirectoryError::new_err((IS_A_DIRECTORY, "Is a directory", path.as_os_str().to_owned()));
    }
    match error.io_error().and_then(std::io::Error::raw_os_error).zip(reason_at(error, path)) {
        Some((code, reason)) => PyOSError::new_err((code, reason, path.as_os_str().to_owned())),
        None => {
            let (text, name) = (error.text_in(&describe_setting), path.to_string_lossy());
            // An error of a format is about a place in the file.
            let is_named = error.kind() != ErrorKind::Malformed || text.contains(&*name);
            to_exception(error, &if is_named { text } else { format!("{name}: {text}") }, UsageErrorKind::Argument)
        }
    }
}

/// Returns the text of an error without the name of the file, if it is about opening or writing that file.
fn reason_at(error: &Error, path: &Path) -> Option<String> {
    let text = error.text_in(&describe_setting);
    let rest = text.strip_prefix("opening ").or_else(|| text.strip_prefix("writing "))?;
    let reason = rest.strip_prefix(&*path.to_string_lossy())?.strip_prefix(": ")?;
    let code = format!(" (os error {})", error.io_error()?.raw_os_error()?);
    Some(reason.replacen(&code, "", 1))
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
}

impl<T> IntoPyResult<T> for trilith::Result<T> {
    fn or_raise(self, about: UsageErrorKind) -> PyResult<T> {
        self.map_err(|error| to_python_error(&error, about))
    }
}
