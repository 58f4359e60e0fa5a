//! Lookup of the files that a name means: one file, those in a folder, or those that fit a pattern.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::FileKind;
use super::open::first_bytes;
use crate::bytes::{self, LocalOptions, hidden_name, is_url, name_of, path_of, shown_name};
use crate::error::{Error, Result};
use crate::glob::{Pattern, fits, natural};

/// Endings of the names of files that this library reads, each also with `.gz` after it.
const ENDINGS: &[&str] = &["asdf", "finf", "bd", "fits", "fit", "fts"];

impl FileKind {
    /// Returns `true` if a name has the ending of a file of any family.
    ///
    /// ```
    /// use trilith::file::FileKind;
    /// assert!(FileKind::is_known_ending("a/X.ASDF") && FileKind::is_known_ending("x.fits.gz"));
    /// assert!(!FileKind::is_known_ending("notes.txt"));
    /// ```
    pub fn is_known_ending(name: &str) -> bool {
        let lower = name.to_ascii_lowercase();
        let ending = Path::new(lower.strip_suffix(".gz").unwrap_or(&lower)).extension();
        ending.and_then(|ending| ending.to_str()).is_some_and(|ending| ENDINGS.contains(&ending))
    }
}

/// Finds the files that names mean: a file, a folder with all below it, a pattern ([`Pattern`]), or a URL.
///
/// In a bucket of an object store `s3://bucket/night/*.asdf` is a pattern and `s3://bucket/night/` a folder, of which it takes the
/// objects with a known extension.
///
/// In a folder it takes the files with a known extension or known first bytes, and those with a layout of the same
/// name next to them. It counts the others. It always takes a file that is named, by itself or by a pattern, so
/// that opening the file reports any problem.
///
/// ```no_run
/// let mut files = trilith::file::Gather::new().named("observations");
/// for found in files.by_ref() {
///     println!("{}", found.name);
/// }
/// println!("{} other files", files.others());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Gather {
    hidden: bool,
    all: bool,
    #[cfg(feature = "remote")]
    remote: bytes::RemoteOptions,
}

impl Gather {
    /// The defaults: hidden files and folders in a folder are left out.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether hidden files and folders, whose names begin with a point, are taken in a folder or by a
    /// pattern.
    #[must_use]
    pub fn hidden(mut self, hidden: bool) -> Self {
        self.hidden = hidden;
        self
    }

    /// Sets whether every file in a folder is taken but for layouts, since all are read under one layout.
    #[must_use]
    pub fn all(mut self, all: bool) -> Self {
        self.all = all;
        self
    }

    /// Sets the options by which buckets are listed.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn remote(mut self, remote: bytes::RemoteOptions) -> Self {
        self.remote = remote;
        self
    }

    /// Returns `true` if a name may mean several files: a folder, or a pattern that is not the name of a file.
    pub fn is_several(name: &str) -> bool {
        #[cfg(feature = "remote")]
        if bytes::several(name).is_some() {
            return true;
        }
        if is_stream_or_address(name) {
            return false;
        }
        match std::fs::symlink_metadata(path_of(name)) {
            Ok(_) => path_of(name).is_dir(),
            Err(_) => Pattern::is_pattern(name),
        }
    }

    /// The files that a name means. A file of this name goes before a pattern.
    pub fn named(self, name: &str) -> Gathered {
        let name = &*hidden_name(name);
        let mut found = Gathered::new(self);
        if Self::is_several(name) && is_url(name) {
            found.add_objects(name);
        } else if Self::is_several(name) && !path_of(name).is_dir() {
            found.add_pattern(name);
        } else {
            found.add_name(name);
        }
        found
    }

    /// Returns the files that all of these names mean, to be read for the file `output`, which a folder or a pattern may
    /// contain: there it is left out. If `output` is extended rather than replaced (`adds`), its name is left out, too. The first
    /// problem is an error.
    ///
    /// # Errors
    /// Returns an error if a name cannot be used, a folder cannot be listed, or no file fits a pattern, and
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if a name is that of an `output` which is replaced.
    pub fn all_named<N: AsRef<str>>(self, names: impl IntoIterator<Item = N>, output: &Path, adds: bool) -> Result<Vec<String>> {
        let written = std::fs::canonicalize(output).ok();
        let mut all = Vec::new();
        for name in names {
            let is_skipped = adds || Self::is_several(name.as_ref());
            for found in self.clone().named(name.as_ref()) {
                if let Some(problem) = found.problem {
                    return Err(problem);
                }
                let is_output = written.is_some() && std::fs::canonicalize(path_of(&found.name)).ok() == written;
                match (is_output, is_skipped) {
                    (false, _) => all.push(found.name),
                    (true, true) => {}
                    (true, false) => {
                        return Err(Error::invalid_input(format!(
                            "{} is read for the new file, and would be lost",
                            shown_name(&found.name)
                        ))
                        .hint("name another file to write"));
                    }
                }
            }
        }
        Ok(all)
    }

    /// The files that a name from a list means, in which no mark of a pattern has a meaning.
    pub fn listed(self, name: &str) -> Gathered {
        let mut found = Gathered::new(self);
        found.add_name(&hidden_name(name));
        found
    }
}

/// A file that was found, or why something could not be looked at.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// Path or URL; a path comes back from it by [`path_of`](crate::bytes::path_of).
    pub name: String,
    /// The reason why a folder could not be listed, a name could not be used, or a pattern fits nothing.
    pub problem: Option<Error>,
}

impl Found {
    fn at(name: String) -> Self {
        Self { name, problem: None }
    }
}

/// The files that a name means, see [`Gather`]; they are looked for as they are asked for.
#[derive(Debug)]
pub struct Gathered {
    how: Gather,
    /// Names, folders and patterns still to be visited, the next at the end.
    open: Vec<Open>,
    ready: VecDeque<Found>,
    /// Folders that were entered, by their real paths: links may lead back to them.
    entered: HashSet<PathBuf>,
    others: u64,
}

#[derive(Debug)]
enum Open {
    Named(String),
    Folder(PathBuf),
    File(PathBuf),
    /// The entries of a folder that fit the parts of a pattern.
    Pattern {
        folder: PathBuf,
        parts: Vec<String>,
        at: usize,
    },
}

impl Open {
    fn path(&self) -> Cow<'_, Path> {
        match self {
            Self::Named(name) => path_of(name),
            Self::Folder(path) | Self::File(path) | Self::Pattern { folder: path, .. } => path.into(),
        }
    }
}

impl Gathered {
    fn new(how: Gather) -> Self {
        Self { how, open: Vec::new(), ready: VecDeque::new(), entered: HashSet::new(), others: 0 }
    }

    /// Returns the number of files that were left out so far because they are of no known kind.
    pub fn others(&self) -> u64 {
        self.others
    }

    fn add_name(&mut self, name: &str) {
        if !is_stream_or_address(name) && path_of(name).is_dir() {
            self.open.push(Open::Folder(path_of(name).into_owned()));
        } else {
            self.open.push(Open::Named(name.to_owned()));
        }
    }

    /// Adds the objects of a bucket that a pattern or a folder means.
    #[cfg(feature = "remote")]
    fn add_objects(&mut self, url: &str) {
        match bytes::objects(&path_of(url).to_string_lossy(), self.how.hidden, FileKind::is_known_ending, &self.how.remote) {
            Ok(urls) if urls.is_empty() => {
                let what = if url.ends_with('/') { "no ASDF, FITS or Dudley file is in" } else { "no object fits the pattern" };
                let problem = Some(Error::invalid_input(format!("{what} {}", shown_name(url))));
                self.ready.push_back(Found { name: url.to_owned(), problem });
            }
            Ok(urls) => self.ready.extend(urls.into_iter().map(|name| Found { name, problem: None })),
            Err(error) => self.ready.push_back(Found { name: url.to_owned(), problem: Some(error) }),
        }
    }

    #[cfg(not(feature = "remote"))]
    fn add_objects(&mut self, url: &str) {
        self.add_name(url);
    }

    fn add_pattern(&mut self, text: &str) {
        let folder = if text.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() };
        let parts: Vec<String> = text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let mut found = Vec::new();
        let mut open = vec![Open::Pattern { folder, parts, at: 0 }];
        let mut failed = Vec::new();
        while let Some(next) = open.pop() {
            match next {
                Open::Pattern { folder, parts, at } => match self.step(&folder, &parts, at) {
                    Ok(next) => open.extend(next.into_iter().rev()),
                    Err(error) => failed.push(error),
                },
                other => found.push(other),
            }
        }
        if found.is_empty() && failed.is_empty() {
            failed.push((text.to_owned(), Error::invalid_input(format!("no file fits the pattern {text}"))));
        }
        let problem = |(name, error)| Found { name, problem: Some(error) };
        self.ready.extend(failed.into_iter().map(problem));
        self.entered.clear();
        // Matches have the same order as the entries of a folder.
        found.sort_by(|one: &Open, other: &Open| natural(&text_of(&one.path()), &text_of(&other.path())));
        self.open.extend(found.into_iter().rev());
    }

    /// Returns the matches of one part of a pattern in a folder.
    fn step(&mut self, folder: &Path, parts: &[String], at: usize) -> Result<Vec<Open>, (String, Error)> {
        let Some(part) = parts.get(at) else { return Ok(Vec::new()) };
        let is_last = at + 1 == parts.len();
        let deep = part == "**";
        let next = |folder, at| Open::Pattern { folder, parts: parts.to_vec(), at };
        if !deep && !Pattern::is_pattern(part) {
            let path = folder.join(path_of(part));
            return Ok(match std::fs::metadata(&path) {
                Ok(there) if is_last => taken(path, &there, parts),
                Ok(there) if there.is_dir() => vec![next(path, at + 1)],
                _ => Vec::new(),
            });
        }
        if deep && !self.enter(folder) {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        // `**` also matches no folder at all.
        if deep && !is_last {
            found.push(next(folder.to_path_buf(), at + 1));
        }
        let hidden = self.how.hidden || part.starts_with('.');
        for (name, path) in entries(folder, hidden).map_err(|error| (text_of(folder), error))? {
            if !deep && !fits(part, &name) {
                continue;
            }
            let Ok(there) = std::fs::metadata(&path) else {
                // A link that leads nowhere: its fault comes up when it is opened.
                if is_last {
                    found.push(Open::Named(text_of(&path)));
                }
                continue;
            };
            match (deep, is_last) {
                (true, _) if there.is_dir() => found.push(next(path, at)),
                (true, false) => {}
                (true, true) => found.push(Open::Named(text_of(&path))),
                (false, true) => found.extend(taken(path, &there, parts)),
                (false, false) if there.is_dir() => found.push(next(path, at + 1)),
                (false, false) => {}
            }
        }
        Ok(found)
    }

    /// Returns `true` if a folder is entered for the first time.
    fn enter(&mut self, folder: &Path) -> bool {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        // A folder without a real path fails when it is listed.
        std::fs::canonicalize(folder).map_or(true, |real| self.entered.insert(real))
    }

    fn folder(&mut self, folder: &Path) {
        if !self.enter(folder) {
            return;
        }
        let entries = match entries(folder, self.how.hidden) {
            Ok(entries) => entries,
            Err(error) => {
                self.ready.push_back(Found { name: text_of(folder), problem: Some(error) });
                return;
            }
        };
        let names: HashSet<String> = entries.iter().map(|(name, _)| name.clone()).collect();
        let mut found = Vec::new();
        for (name, path) in entries {
            match std::fs::metadata(&path) {
                Ok(there) if there.is_dir() => found.push(Open::Folder(path)),
                Ok(there) if !there.is_file() => self.others += 1,
                _ if FileKind::is_known_ending(&name) => found.push(Open::Named(text_of(&path))),
                _ if is_layout(&name) => self.others += 1,
                _ if self.how.all || has_layout(&name, &names) => found.push(Open::Named(text_of(&path))),
                Ok(_) => found.push(Open::File(path)),
                // A broken link, under a name without meaning.
                Err(_) => self.others += 1,
            }
        }
        self.open.extend(found.into_iter().rev());
    }

    /// A file in a folder whose name does not say what it is.
    fn by_content(&mut self, path: &Path) -> Option<Found> {
        let mut local = LocalOptions::default();
        local.map = false;
        match bytes::open(path, local).and_then(|source| first_bytes(&source)) {
            Ok(start) if FileKind::detect(&start).is_some() => Some(Found::at(text_of(path))),
            Ok(_) => {
                self.others += 1;
                None
            }
            Err(error) => Some(Found { name: text_of(path), problem: Some(error) }),
        }
    }
}

impl Iterator for Gathered {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            if let Some(found) = self.ready.pop_front() {
                return Some(found);
            }
            let found = match self.open.pop()? {
                Open::Named(name) => Some(Found::at(name)),
                Open::Folder(folder) => {
                    self.folder(&folder);
                    None
                }
                Open::File(path) => self.by_content(&path),
                Open::Pattern { .. } => None,
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

fn is_stream_or_address(name: &str) -> bool {
    name == "-" || is_url(name)
}

fn text_of(path: &Path) -> String {
    name_of(path).into_owned()
}

/// Returns the matches at the end of a pattern: a file, or a folder with all in it. A `**` finds the files by
/// itself.
fn taken(path: PathBuf, there: &Metadata, parts: &[String]) -> Vec<Open> {
    match there.is_dir() {
        true if parts.iter().any(|part| part == "**") => Vec::new(),
        true => vec![Open::Folder(path)],
        false => vec![Open::Named(text_of(&path))],
    }
}

fn is_layout(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("dud"))
}

/// Returns `true` if a layout of the name of a file is among the names of its folder.
fn has_layout(name: &str, names: &HashSet<String>) -> bool {
    Path::new(name).with_extension("dud").to_str().is_some_and(|layout| layout != name && names.contains(layout))
}

/// Names and paths in a folder, in the natural order of the names; files that are being written are left out.
fn entries(folder: &Path, hidden: bool) -> Result<Vec<(String, PathBuf)>> {
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let failed = |e| Error::io(format!("reading {}", listed.display()), e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(listed).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let text = text_of(Path::new(&name));
        if (hidden || !text.starts_with('.')) && !text.contains(".trilith-") {
            found.push((text, folder.join(name)));
        }
    }
    found.sort_by(|(one, _), (other, _)| natural(one, other));
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;

    const TREE: &str = "#ASDF 1.0.0\n%YAML 1.1\n--- {a: 1}\n...\n";

    fn laid_out(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    /// Names below the folder, problems marked, and how many others there were.
    fn found(folder: &Path, how: Gather, name: &str) -> (Vec<String>, u64) {
        let mut gathered = how.named(&format!("{}/{name}", folder.display()));
        let shown = |found: Found| {
            let name = found.name.trim_start_matches(&*folder.to_string_lossy()).trim_start_matches('/').to_owned();
            if found.problem.is_some() { format!("! {name}") } else { name }
        };
        let names = gathered.by_ref().map(shown).collect();
        (names, gathered.others())
    }

    #[test]
    fn folders_give_what_is_known_in_order() {
        let files = [
            ("d/b.asdf", "not one by its content"),
            ("d/a/x.fits.gz", ""),
            ("d/c.dat", TREE),
            ("d/notes.txt", "notes"),
            ("d/empty", ""),
            ("d/raw.bin", "12"),
            ("d/raw.dud", "n = u1[2]"),
            ("d/.secret/x.asdf", TREE),
            ("d/.x.asdf.trilith-tmp-1-0", TREE),
        ];
        let folder = laid_out(&files);
        let (names, others) = found(folder.path(), Gather::new(), "d");
        assert_eq!((names, others), (["d/a/x.fits.gz", "d/b.asdf", "d/c.dat", "d/raw.bin"].map(str::to_owned).to_vec(), 3));
        let (names, _) = found(folder.path(), Gather::new().hidden(true), "d/");
        assert_eq!(names.first().map(String::as_str), Some("d/.secret/x.asdf"));
        let (names, others) = found(folder.path(), Gather::new().all(true), "d");
        assert_eq!((names.len(), others), (6, 1), "{names:?}");
    }

    #[test]
    fn patterns_give_files_and_what_is_in_folders() {
        let folder = laid_out(&[("d/a.asdf", TREE), ("d/e/b.asdf", TREE), ("d/e/f/c.asdf", TREE), ("d/e/notes.txt", "")]);
        for (pattern, names) in [
            ("d/*.asdf", &["d/a.asdf"][..]),
            ("d/*", &["d/a.asdf", "d/e/b.asdf", "d/e/f/c.asdf"]),
            ("d/**/*.asdf", &["d/a.asdf", "d/e/b.asdf", "d/e/f/c.asdf"]),
            ("d/**/e/*.asdf", &["d/e/b.asdf"]),
            ("*/[!a]/?.asdf", &["d/e/b.asdf"]),
            ("d/*/notes.txt", &["d/e/notes.txt"]),
            ("d/**/f/**", &["d/e/f/c.asdf"]),
        ] {
            assert_eq!(found(folder.path(), Gather::new(), pattern).0, names, "{pattern}");
        }
        let (names, _) = found(folder.path(), Gather::new(), "d/*.fits");
        assert!(names.len() == 1 && names.iter().all(|name| name.starts_with('!')), "{names:?}");
        assert!(Gather::is_several("*.asdf") && !Gather::is_several("https://host/*.asdf") && !Gather::is_several("-"));
    }

    #[cfg(unix)]
    #[test]
    fn links_in_circles_end() {
        let folder = laid_out(&[("d/a/x.asdf", TREE)]);
        std::os::unix::fs::symlink("..", folder.path().join("d/a/up")).unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("d/again")).unwrap();
        std::os::unix::fs::symlink("self.asdf", folder.path().join("d/self.asdf")).unwrap();
        for name in ["d", "d/**/*.asdf"] {
            let (names, _) = found(folder.path(), Gather::new(), name);
            assert_eq!(names, ["d/a/x.asdf", "d/self.asdf"], "{name}");
        }
    }
}
