//! The error type: its kind, its place, and its context.
//!
//! An [`Error`] answers three questions. [`Error::kind`] returns who or what is at fault, and [`Error::location`]
//! where it happened (a byte of the file, a line and column of text, or a path in the tree). The context chain
//! describes the failed operation. Messages are lower case, without a full stop, and name the found and the
//! expected value.

use std::fmt;

pub use crate::suggest::count_noun;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an [`Error`]: the file, the caller, the system or this library is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system or the network could not read or write.
    Io,
    /// The file breaks the rules of its format.
    Malformed,
    /// The file may be right, but this library cannot do what it needs.
    Unsupported,
    /// A policy of [`Limits`](crate::Limits) forbids it; raise the limit to go on.
    Limit,
    /// A path, a key or a field leads to nothing.
    NotFound,
    /// The caller gave up the work: see [`interrupt`](crate::interrupt).
    Cancelled,
    /// The caller made an impossible request.
    InvalidInput,
}

impl ErrorKind {
    /// All kinds of errors.
    const ALL: &[Self] =
        &[Self::Io, Self::Malformed, Self::Unsupported, Self::Limit, Self::NotFound, Self::Cancelled, Self::InvalidInput];

    /// Returns `true` if the request is at fault and not the file: the item does not exist, or the request is invalid.
    pub fn is_request(self) -> bool {
        matches!(self, ErrorKind::NotFound | ErrorKind::InvalidInput)
    }

    /// Returns `true` if neither the file nor the request is at fault: a later attempt may succeed.
    #[doc(hidden)]
    pub fn is_transient(self) -> bool {
        matches!(self, ErrorKind::Io | ErrorKind::Cancelled)
    }

    /// Returns the kind of a name that [`ErrorKind::name`] gives.
    #[doc(hidden)]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Returns the name of the kind, a single word for programs.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Io => "io",
            ErrorKind::Malformed => "malformed",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Limit => "limit",
            ErrorKind::NotFound => "not_found",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::InvalidInput => "usage",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::Io => "i/o error",
            ErrorKind::Malformed => "malformed file",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Limit => "limit reached",
            ErrorKind::NotFound => "not found",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::InvalidInput => "usage",
        })
    }
}

/// The place of an [`Error`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Location {
    /// No specific location.
    #[default]
    Unknown,
    /// Byte offset in the file.
    Byte(u64),
    /// Position in a text: line and column count from 1, in characters.
    Text {
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
    },
    /// Path of a node of the tree (a JSON Pointer) or of an item of a layout.
    Path(String),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Unknown => Ok(()),
            Location::Byte(at) => write!(f, "at byte {at} (0x{at:x})"),
            Location::Text { line, column } => write!(f, "at line {line}, column {column}"),
            Location::Path(path) if path.is_empty() => f.write_str("at the root of the tree"),
            Location::Path(path) => write!(f, "at {path}"),
        }
    }
}

/// A failure, with its kind, its place and its context.
///
/// ```
/// use trilith_io::{Error, ErrorKind};
/// let error = Error::malformed("block header too short: 31 bytes, expected 48")
///     .at_byte(0x1f40)
///     .context("reading block 3");
/// assert_eq!(error.kind(), ErrorKind::Malformed);
/// assert_eq!(
///     error.to_string(),
///     "reading block 3: block header too short: 31 bytes, expected 48 (at byte 8000 (0x1f40))"
/// );
/// ```
pub struct Error(Box<ErrorInner>);

/// A setting of the caller that would let an operation succeed. Each interface words it in its own way: an option
/// of the command, a keyword of Python, a method of `OpenOptions`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SuggestedSetting {
    /// Raise this limit of [`Limits`](crate::Limits).
    Limit(String),
    /// Allow references to lead into this folder, or to addresses that begin so.
    Allow(String),
    /// Give the layout of the file.
    Layout,
    /// Give no layout.
    NoLayout,
    /// Give the byte order.
    Byteorder,
    /// Choose some of the files of a family, `0:4,7:9`, counted from 0.
    Files(String),
    /// Fetch a remote file whole.
    Download,
    /// Replace the object that exists.
    Overwrite,
    /// Give the folder of the schemas.
    Schemas,
    /// Set an option of remote files, `NAME=VALUE`.
    Remote(&'static str),
    /// Set an option of the call to one of these values: its name as in the options of the library, and the values.
    Provide(&'static str, &'static str),
    /// Leave out an option of the call, or several.
    Remove(&'static [&'static str]),
}

impl fmt::Display for SuggestedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(name) => write!(f, "raise the limit {name}"),
            Self::Allow(place) => write!(f, "allow {place}"),
            Self::Layout => f.write_str("give its layout"),
            Self::NoLayout => f.write_str("open it without a layout"),
            Self::Byteorder => f.write_str("give the byte order, little or big"),
            Self::Files(ranges) => write!(f, "choose the files {ranges}"),
            Self::Download => f.write_str("allow it to be fetched whole"),
            Self::Overwrite => f.write_str("set the remote option overwrite=yes to replace it"),
            Self::Schemas => f.write_str("give the folder of the schemas"),
            Self::Remote(option) => write!(f, "set the remote option {option}"),
            Self::Provide(option, values) => write!(f, "set {option} to {values}"),
            Self::Remove(options) => write!(f, "leave out {}", options.join(" and ")),
        }
    }
}

struct ErrorInner {
    kind: ErrorKind,
    message: String,
    location: Location,
    /// Innermost first.
    context: Vec<String>,
    hint: Option<String>,
    setting: Option<(&'static str, SuggestedSetting)>,
    source: Option<std::io::Error>,
    /// `true` if another process was using the file at the same time.
    is_contended: bool,
}

impl Error {
    /// An error of any kind.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorInner {
            kind,
            message: message.into(),
            location: Location::Unknown,
            context: Vec::new(),
            hint: None,
            setting: None,
            source: None,
            is_contended: false,
        }))
    }

    /// Notes that another process was at the file at the same time, so that the same work may succeed later.
    pub(crate) fn with_contention(mut self) -> Self {
        self.0.is_contended = true;
        self
    }

    pub(crate) fn is_contended(&self) -> bool {
        self.0.is_contended
    }

    /// The file breaks the rules of its format.
    #[cold]
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }

    /// Returns an error for a request that this library does not support.
    #[cold]
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Returns an error for a part of this library that is not in this build.
    #[cold]
    #[allow(dead_code, reason = "with all features nothing is left out")]
    #[doc(hidden)]
    pub fn feature_disabled(what: &str, feature: &str) -> Self {
        Self::unsupported(format!("{what} is not part of this build")).hint(format!("build with the feature {feature}"))
    }

    /// A policy forbids it.
    #[cold]
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// Returns an error for an impossible request of the caller.
    #[cold]
    pub fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// A path, a key or a field leads to nothing.
    #[cold]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// A word that is none of the `choices`, which are all listed, the nearest one first.
    ///
    /// ```
    /// use trilith_io::Error;
    /// let error = Error::unknown("colour", "gren", ["red", "green"]);
    /// assert_eq!(error.to_string(), "unknown colour \"gren\"; did you mean \"green\"? known: red, green");
    /// ```
    #[cold]
    pub fn unknown<'w>(what: &str, word: &str, choices: impl IntoIterator<Item = &'w str>) -> Self {
        let choices: Vec<&str> = choices.into_iter().collect();
        let hint = crate::suggest::offer(word, "known: ", &choices, usize::MAX);
        Self::invalid_input(format!("unknown {what} {word:?}")).hint(hint)
    }

    /// A key that a mapping with these `names` does not have, or a list of this number of items.
    #[cold]
    #[doc(hidden)]
    pub fn missing_key(key: &str, names: &[&str], items: usize) -> Self {
        Self::not_found(format!("there is no {key:?} here")).with_known_keys(key, names, items)
    }

    /// Adds the existing keys as a hint.
    #[doc(hidden)]
    pub fn with_known_keys(self, key: &str, names: &[&str], items: usize) -> Self {
        const MAX_LISTED: usize = 12;
        let error = self;
        match (names, items) {
            ([], 0) => error.hint("it holds no items"),
            ([], 1) => error.hint("it is a list of 1 item, 0"),
            ([], n) => error.hint(format!("it is a list of {n} items, 0 to {}", n - 1)),
            (names, _) if names.iter().all(|name| name.is_empty()) => {
                error.hint(format!("it has {} without a name", count_noun(names.len(), "item")))
            }
            (names, _) => error.hint(crate::suggest::offer(key, "there are: ", names, MAX_LISTED)),
        }
    }

    /// Returns the error of an operation `doing` that the operating system refused. If one of our errors passed
    /// through a writer, it returns that.
    #[cold]
    pub fn io(doing: impl Into<String>, error: std::io::Error) -> Self {
        Self::from(error).context(doing)
    }

    /// Names the folder that is missing, if a file cannot be opened or made for this reason.
    #[cold]
    pub(crate) fn with_missing_folder(self, path: &std::path::Path) -> Self {
        let is_missing = self.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        let is_folder = |folder: &&std::path::Path| !folder.as_os_str().is_empty();
        match path.parent().filter(is_folder).filter(|folder| is_missing && !folder.exists()) {
            Some(folder) => {
                let first = folder.ancestors().filter(is_folder).take_while(|above| !above.exists()).last().unwrap_or(folder);
                self.hint(format!("the folder {} does not exist", first.display()))
            }
            None => self,
        }
    }

    /// The error of the operating system that this one reports, if it does: its number, or that a pipe was closed.
    pub fn io_error(&self) -> Option<&std::io::Error> {
        self.0.source.as_ref()
    }

    /// Returns the same error with another kind. A wrong request of a caller, for example, is a malformed file if
    /// the file makes it.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Sets the byte of the file, unless a place is set already.
    #[must_use]
    pub fn at_byte(self, byte: u64) -> Self {
        self.with_location(Location::Byte(byte))
    }

    /// Sets the line and column (from 1), unless a place is set already.
    #[must_use]
    pub fn at_text(self, line: u32, column: u32) -> Self {
        self.with_location(Location::Text { line, column })
    }

    /// Sets the tree path, unless a place is set already.
    #[must_use]
    pub fn at_path(self, path: impl Into<String>) -> Self {
        self.with_location(Location::Path(path.into()))
    }

    /// Sets the place, unless one is set already: the innermost is the most precise.
    #[must_use]
    pub fn with_location(mut self, location: Location) -> Self {
        if self.0.location == Location::Unknown {
            self.0.location = location;
        }
        self
    }

    /// Adds the failed operation to the context, outermost last. An operation is not repeated directly after
    /// itself.
    #[must_use]
    pub fn context(mut self, doing: impl Into<String>) -> Self {
        let doing = doing.into();
        if self.0.context.last() != Some(&doing) {
            self.0.context.push(doing);
        }
        self
    }

    /// Names the file and the path of the item that could not be read, unless the error does so already.
    #[doc(hidden)]
    #[must_use]
    pub fn in_item(mut self, file: &str, path: &str) -> Self {
        let begins = |text: &str| text.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        let has_path = path.is_empty()
            || begins(&self.0.message)
            || self.0.context.iter().any(|doing| begins(doing))
            || matches!(&self.0.location, Location::Path(known) if known == path);
        let has_file =
            file.is_empty() || self.0.message.contains(file) || self.0.context.iter().any(|doing| doing.contains(file));
        self.0.context.extend((!has_path).then(|| path.to_owned()));
        self.0.context.extend((!has_file).then(|| file.to_owned()));
        self
    }

    /// Adds a hint: the action that the reader of the message can take.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds a setting that would let the operation succeed, after the condition `when`: "if you trust the file".
    #[must_use]
    pub fn setting(mut self, when: &'static str, setting: SuggestedSetting) -> Self {
        self.0.setting = Some((when, setting));
        self
    }

    /// Returns a copy of the error without its [system error](Error::io_error).
    #[doc(hidden)]
    pub fn copy(&self) -> Self {
        let mut copy = Self::new(self.0.kind, self.0.message.clone()).with_settings_of(self);
        copy.0.location = self.0.location.clone();
        copy.0.context.clone_from(&self.0.context);
        copy
    }

    /// Takes over the hint and the setting of another error.
    #[doc(hidden)]
    pub fn with_settings_of(mut self, other: &Self) -> Self {
        self.0.hint.clone_from(&other.0.hint);
        self.0.setting.clone_from(&other.0.setting);
        self
    }

    /// Adds to the hint.
    #[doc(hidden)]
    pub fn add_hint(mut self, more: impl fmt::Display) -> Self {
        self.0.hint = Some(self.0.hint.map_or_else(|| more.to_string(), |hint| format!("{hint}; {more}")));
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the place.
    pub fn location(&self) -> &Location {
        &self.0.location
    }

    /// The message alone, without place and context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the action to take, if there is one.
    pub fn advice(&self) -> Option<String> {
        self.advice_in(&SuggestedSetting::to_string)
    }

    /// Does the same as [`Error::advice`], where `words` expresses a setting: as an option of a command, or as a
    /// keyword.
    pub fn advice_in(&self, words: &dyn Fn(&SuggestedSetting) -> String) -> Option<String> {
        let setting = self.0.setting.as_ref().map(|(when, setting)| match *when {
            "" => words(setting),
            when => format!("{when}, {}", words(setting)),
        });
        match (&self.0.hint, setting) {
            (Some(hint), Some(setting)) => Some(format!("{setting}; {hint}")),
            (Some(hint), None) => Some(hint.clone()),
            (None, setting) => setting,
        }
    }

    /// Returns the whole text, where `words` expresses a setting.
    ///
    /// ```
    /// use trilith_io::{Error, error::SuggestedSetting};
    /// let error = Error::limit("too deep").setting("if you trust the file", SuggestedSetting::Limit("depth".to_owned()));
    /// assert_eq!(error.to_string(), "too deep; if you trust the file, raise the limit depth");
    /// let option = |setting: &SuggestedSetting| match setting {
    ///     SuggestedSetting::Limit(name) => format!("raise it with --limit {name}=N"),
    ///     other => other.to_string(),
    /// };
    /// assert_eq!(error.text_in(&option), "too deep; if you trust the file, raise it with --limit depth=N");
    /// ```
    pub fn text_in(&self, words: &dyn Fn(&SuggestedSetting) -> String) -> String {
        let mut text = String::new();
        for doing in self.0.context.iter().rev() {
            text.push_str(doing);
            text.push_str(": ");
        }
        text.push_str(&self.0.message);
        if self.0.location != Location::Unknown {
            text.push_str(&format!(" ({})", self.0.location));
        }
        if let Some(advice) = self.advice_in(words) {
            text.push_str("; ");
            text.push_str(&advice);
        }
        text
    }
}

/// An error of the operating system is of the kind [`ErrorKind::Io`]; one of ours that passed through a writer is unchanged.
///
/// ```
/// use trilith_io::bytes::{Source, read_vec};
/// fn copy(source: &dyn Source, out: &mut impl std::io::Write) -> trilith_io::Result<()> {
///     Ok(out.write_all(&read_vec(source, 0, source.len(), &Default::default())?)?)
/// }
/// # copy(&trilith_io::bytes::MemorySource::new(vec![1, 2], "example"), &mut Vec::new()).unwrap();
/// ```
impl From<std::io::Error> for Error {
    #[cold]
    fn from(error: std::io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(ours) => ours,
            Err(error) => {
                let mut made = Self::new(ErrorKind::Io, error.to_string());
                made.0.source = Some(error);
                made
            }
        }
    }
}

impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text_in(&SuggestedSetting::to_string))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The message holds the text of the error itself: a chain of sources goes on after it.
        self.0.source.as_ref().and_then(std::error::Error::source)
    }
}

/// Adds context to the error of a result, built only when there is one.
pub trait ResultExt<T> {
    /// Adds the failed operation.
    ///
    /// # Errors
    /// Returns the same error, with the context added.
    fn with_context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T>;
}

impl<T> ResultExt<T> for Result<T> {
    fn with_context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|error| error.context(what()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn innermost_location_wins_outermost_context_comes_first() {
        let error = Error::malformed("bad").at_byte(4).at_path("/a").context("inner").context("outer");
        assert_eq!(error.location(), &Location::Byte(4));
        assert_eq!(error.to_string(), "outer: inner: bad (at byte 4 (0x4))");
    }

    #[test]
    fn wrapped_error_keeps_kind_and_message() {
        let through = std::io::Error::other(Error::limit("too much").hint("raise it"));
        let error = Error::io("writing", through);
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Limit, "writing: too much; raise it"));
    }

    #[test]
    fn adjacent_equal_contexts_appear_once() {
        let error = Error::malformed("bad").context("block 0").context("block 0").context("a").context("block 0");
        assert_eq!(error.to_string(), "block 0: a: block 0: bad");
    }

    #[test]
    fn error_has_size_of_one_pointer() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
