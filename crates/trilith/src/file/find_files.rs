//! Lookup of the files that a name means: one file, those in a folder, or those that fit a pattern.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::FileKind;
use super::name_hint::explain_missing;
use super::open::{dir_refusal, read_start};
use crate::bytes::{self, LocalOptions, SourceRef, display_name, hidden_name, is_url, name_of, path_of};
use crate::error::{Error, Result};
use crate::foreign;
use crate::glob::{GlobPattern, fits, natural};

/// Endings of the names of files that this library reads, each also with `.gz` after it.
const EXTENSIONS: &[&str] = &["asdf", "finf", "bd", "fits", "fit", "fts", "h5", "hdf5", "nc", "nc4", "tif", "tiff", "npy", "npz"];

impl FileKind {
    /// Returns `true` if a name has the ending of a file of any family.
    ///
    /// ```
    /// use trilith::file::FileKind;
    /// assert!(FileKind::has_known_extension("a/X.ASDF") && FileKind::has_known_extension("x.fits.gz"));
    /// assert!(!FileKind::has_known_extension("notes.txt"));
    /// ```
    pub fn has_known_extension(name: &str) -> bool {
        let lower = name.to_ascii_lowercase();
        let ending = Path::new(lower.strip_suffix(".gz").unwrap_or(&lower)).extension();
        ending.and_then(|ending| ending.to_str()).is_some_and(|ending| EXTENSIONS.contains(&ending))
    }
}

/// Finds the files of names. A name is a file, a folder with everything below it, a pattern (`GlobPattern`), or a URL.
///
/// In a bucket of an object store, `s3://bucket/night/*.asdf` is a pattern and `s3://bucket/night/` a folder. Of a folder in a
/// bucket, it takes the objects with a known extension.
///
/// In any other folder, it takes the files with a known extension or known first bytes, and those with a layout of the same name
/// next to them. It counts the other files. It always takes a file that is named, directly or by a pattern, so that opening the
/// file reports any problem.
///
/// ```no_run
/// let mut files = trilith::file::FileFinder::new().find("observations");
/// for found in files.by_ref() {
///     println!("{}", found.name);
/// }
/// println!("{} other files", files.skipped_count());
/// ```
#[derive(Debug, Clone, Default)]
pub struct FileFinder {
    include_hidden: bool,
    all_files: bool,
    #[cfg(feature = "remote")]
    remote: bytes::RemoteOptions,
}

impl FileFinder {
    /// The defaults: hidden files and folders in a folder are left out.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether hidden files and folders, whose names begin with a point, are taken in a folder or by a
    /// pattern.
    #[must_use]
    pub fn include_hidden(mut self, hidden: bool) -> Self {
        self.include_hidden = hidden;
        self
    }

    /// Sets whether every file in a folder is taken but for layouts, since all are read under one layout.
    #[must_use]
    pub fn all_files(mut self, all: bool) -> Self {
        self.all_files = all;
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
        if bytes::classify_bucket_url(name).is_some() {
            return true;
        }
        if is_stream_or_address(name) {
            return false;
        }
        match std::fs::symlink_metadata(path_of(name)) {
            Ok(there) if there.is_symlink() => path_of(name).is_dir(),
            Ok(there) => there.is_dir(),
            Err(_) => GlobPattern::is_pattern(name),
        }
    }

    /// Returns the files of a name. If a file has the text of a pattern as its name, the file has priority.
    pub fn find(self, name: &str) -> FileFinderIter {
        let name = &*hidden_name(name);
        let mut found = FileFinderIter::new(self);
        if !Self::is_several(name) {
            found.pending.push(PendingName::ListedName(name.to_owned()));
        } else if is_url(name) {
            found.add_objects(name);
        } else if path_of(name).is_dir() {
            found.pending.push(PendingName::Folder(path_of(name).into_owned()));
        } else {
            found.add_pattern(name);
        }
        found
    }

    /// Returns the files of all these names, to be read for the file `output`. If a folder or a pattern contains `output`, it is
    /// left out. If `output` is extended and not replaced (`adds`), its own name is left out, too. The first problem is an error.
    ///
    /// # Errors
    /// Returns an error if a name cannot be used, a folder cannot be listed, or no file matches a pattern, and
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if a name is that of an `output` which is replaced.
    pub fn all_named<N: AsRef<str>>(self, names: impl IntoIterator<Item = N>, output: &Path, adds: bool) -> Result<Vec<String>> {
        let written = std::fs::canonicalize(output).ok();
        let mut all = Vec::new();
        for name in names {
            let is_skipped = adds || Self::is_several(name.as_ref());
            for found in self.clone().find(name.as_ref()) {
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
                            display_name(&found.name)
                        ))
                        .hint("name another file to write"));
                    }
                }
            }
        }
        Ok(all)
    }

    /// The files that a name from a list means, in which no mark of a pattern has a meaning.
    pub fn literal(self, name: &str) -> FileFinderIter {
        let mut found = FileFinderIter::new(self);
        found.add_name(&hidden_name(name));
        found
    }
}

/// A file that was found, or why something could not be looked at.
#[derive(Debug)]
#[non_exhaustive]
pub struct FoundFile {
    /// Path or URL; a path comes back from it by [`path_of`].
    pub name: String,
    /// The reason why a folder could not be listed, a name could not be used, or a pattern fits nothing.
    pub problem: Option<Error>,
}

impl FoundFile {
    fn pending_at(name: String) -> Self {
        Self { name, problem: None }
    }
}

/// The files of a name, see [`FileFinder`]. They are searched for during the iteration.
#[derive(Debug)]
pub struct FileFinderIter {
    finder: FileFinder,
    /// Names, folders and patterns still to be visited, the next at the end.
    pending: Vec<PendingName>,
    found_queue: VecDeque<FoundFile>,
    /// Folders that were entered, by their real paths: links may lead back to them.
    entered: HashSet<PathBuf>,
    skipped: u64,
}

#[derive(Debug)]
enum PendingName {
    ListedName(String),
    Folder(PathBuf),
    File(PathBuf),
    /// The entries of a folder that fit the parts of a pattern.
    Pattern {
        folder: PathBuf,
        parts: Vec<String>,
        part_index: usize,
    },
}

impl PendingName {
    fn path(&self) -> Cow<'_, Path> {
        match self {
            Self::ListedName(name) => path_of(name),
            Self::Folder(path) | Self::File(path) | Self::Pattern { folder: path, .. } => path.into(),
        }
    }
}

impl FileFinderIter {
    fn new(how: FileFinder) -> Self {
        Self { finder: how, pending: Vec::new(), found_queue: VecDeque::new(), entered: HashSet::new(), skipped: 0 }
    }

    /// Returns the number of files that were left out so far because they are of no known kind.
    pub fn skipped_count(&self) -> u64 {
        self.skipped
    }

    fn add_name(&mut self, name: &str) {
        if !is_stream_or_address(name) && path_of(name).is_dir() {
            self.pending.push(PendingName::Folder(path_of(name).into_owned()));
        } else {
            self.pending.push(PendingName::ListedName(name.to_owned()));
        }
    }

    /// Adds the objects of a bucket that a pattern or a folder means.
    #[cfg(feature = "remote")]
    fn add_objects(&mut self, url: &str) {
        match bytes::objects(
            &path_of(url).to_string_lossy(),
            self.finder.include_hidden,
            FileKind::has_known_extension,
            &self.finder.remote,
        ) {
            Ok(urls) if urls.is_empty() => {
                let what = if url.ends_with('/') { "no file of a known format is in" } else { "no object fits the pattern" };
                let problem = || Error::invalid_input(format!("{what} {}", display_name(url)));
                let problem = Some(foreign::url_refusal(url).unwrap_or_else(problem));
                self.found_queue.push_back(FoundFile { name: url.to_owned(), problem });
            }
            Ok(urls) => self.found_queue.extend(urls.into_iter().map(|name| FoundFile { name, problem: None })),
            Err(error) => self.found_queue.push_back(FoundFile { name: url.to_owned(), problem: Some(error) }),
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
        let mut open = vec![PendingName::Pattern { folder, parts, part_index: 0 }];
        let mut failed = Vec::new();
        while let Some(next) = open.pop() {
            match next {
                PendingName::Pattern { folder, parts, part_index: at } => match self.expand_part(&folder, &parts, at) {
                    Ok(next) => open.extend(next.into_iter().rev()),
                    Err(error) => failed.push(error),
                },
                other => found.push(other),
            }
        }
        if found.is_empty() && failed.is_empty() {
            let error = Error::invalid_input(format!("no file matches the pattern {text}"));
            failed.push((text.to_owned(), explain_missing(text, error)));
        }
        let problem = |(name, error)| FoundFile { name, problem: Some(error) };
        self.found_queue.extend(failed.into_iter().map(problem));
        self.entered.clear();
        // Matches have the same order as the entries of a folder.
        found.sort_by(|one: &PendingName, other: &PendingName| natural(&text_of(&one.path()), &text_of(&other.path())));
        self.pending.extend(found.into_iter().rev());
    }

    /// Returns the matches of one part of a pattern in a folder.
    fn expand_part(&mut self, folder: &Path, parts: &[String], at: usize) -> Result<Vec<PendingName>, (String, Error)> {
        let Some(part) = parts.get(at) else { return Ok(Vec::new()) };
        let is_last = at + 1 == parts.len();
        let deep = part == "**";
        let next = |folder, at| PendingName::Pattern { folder, parts: parts.to_vec(), part_index: at };
        if !deep && !GlobPattern::is_pattern(part) {
            let path = folder.join(path_of(part));
            return Ok(match std::fs::metadata(&path) {
                Ok(there) if is_last => pattern_matches(path, &there, parts),
                Ok(there) if there.is_dir() => vec![next(path, at + 1)],
                _ => Vec::new(),
            });
        }
        if deep && !self.mark_entered(folder) {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        // `**` also matches no folder at all.
        if deep && !is_last {
            found.push(next(folder.to_path_buf(), at + 1));
        }
        let hidden = self.finder.include_hidden || part.starts_with('.');
        for DirEntry { name, path, .. } in read_dir_entries(folder, hidden).map_err(|error| (text_of(folder), error))? {
            if !deep && !fits(part, &name) {
                continue;
            }
            let Ok(there) = std::fs::metadata(&path) else {
                // A link that leads nowhere: its fault comes up when it is opened.
                if is_last {
                    found.push(PendingName::ListedName(text_of(&path)));
                }
                continue;
            };
            match (deep, is_last) {
                (true, _) if there.is_dir() => found.push(next(path, at)),
                (true, false) => {}
                (true, true) => found.push(PendingName::ListedName(text_of(&path))),
                (false, true) => found.extend(pattern_matches(path, &there, parts)),
                (false, false) if there.is_dir() => found.push(next(path, at + 1)),
                (false, false) => {}
            }
        }
        Ok(found)
    }

    /// Returns `true` if a folder is entered for the first time.
    fn mark_entered(&mut self, folder: &Path) -> bool {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        // A folder without a real path fails when it is listed.
        std::fs::canonicalize(folder).map_or(true, |real| self.entered.insert(real))
    }

    fn visit_dir(&mut self, folder: &Path) {
        if !self.mark_entered(folder) {
            return;
        }
        let entries = match read_dir_entries(folder, self.finder.include_hidden) {
            Ok(entries) => entries,
            Err(error) => {
                self.found_queue.push_back(FoundFile { name: text_of(folder), problem: Some(error) });
                return;
            }
        };
        let names: HashSet<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        let mut found = Vec::new();
        for DirEntry { name, path, is_regular } in entries {
            let there = if is_regular { None } else { Some(std::fs::metadata(&path)) };
            match there {
                // A store of another format has very many files.
                Some(Ok(there)) if there.is_dir() && dir_refusal(&path).is_some() => self.skipped += 1,
                Some(Ok(there)) if there.is_dir() => found.push(PendingName::Folder(path)),
                Some(Ok(there)) if !there.is_file() => self.skipped += 1,
                _ if FileKind::has_known_extension(&name) => found.push(PendingName::ListedName(text_of(&path))),
                _ if is_layout(&name) => self.skipped += 1,
                _ if self.finder.all_files || has_layout(&name, &names) => found.push(PendingName::ListedName(text_of(&path))),
                // A broken link, under a name without meaning.
                Some(Err(_)) => self.skipped += 1,
                _ => found.push(PendingName::File(path)),
            }
        }
        self.pending.extend(found.into_iter().rev());
    }

    /// A file in a folder whose name does not say what it is.
    fn by_content(&mut self, path: &Path) -> Option<FoundFile> {
        let mut local = LocalOptions::default();
        local.memory_map = false;
        let is_known =
            |source: &SourceRef| Ok(FileKind::detect(&read_start(source)?).is_some() || foreign::has_readable_start(&**source)?);
        match bytes::open(path, local).and_then(|source| is_known(&source)) {
            Ok(true) => Some(FoundFile::pending_at(text_of(path))),
            Ok(false) => {
                self.skipped += 1;
                None
            }
            Err(error) => Some(FoundFile { name: text_of(path), problem: Some(error) }),
        }
    }
}

impl Iterator for FileFinderIter {
    type Item = FoundFile;

    fn next(&mut self) -> Option<FoundFile> {
        loop {
            if let Some(found) = self.found_queue.pop_front() {
                return Some(found);
            }
            let found = match self.pending.pop()? {
                PendingName::ListedName(name) => Some(FoundFile::pending_at(name)),
                PendingName::Folder(folder) => {
                    let problem = dir_refusal(&folder);
                    if problem.is_none() {
                        self.visit_dir(&folder);
                    }
                    problem.map(|error| FoundFile { name: text_of(&folder), problem: Some(error) })
                }
                PendingName::File(path) => self.by_content(&path),
                PendingName::Pattern { .. } => None,
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
fn pattern_matches(path: PathBuf, there: &Metadata, parts: &[String]) -> Vec<PendingName> {
    match there.is_dir() {
        true if parts.iter().any(|part| part == "**") => Vec::new(),
        true => vec![PendingName::Folder(path)],
        false => vec![PendingName::ListedName(text_of(&path))],
    }
}

fn is_layout(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("dud"))
}

/// Extensions of the sources of programs, which often have the name of the layout that was made from them.
const SOURCE_EXTENSIONS: &[&str] = &[
    "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "f", "f77", "f90", "f95", "f03", "f08", "for", "inc", "jl", "m", "py", "rs",
];

/// Returns `true` if a layout of the name of a file is among the names of its folder, and the file may be under it.
fn has_layout(name: &str, names: &HashSet<String>) -> bool {
    let path = Path::new(name);
    let is_source = path.extension().is_some_and(|found| SOURCE_EXTENSIONS.iter().any(|known| found.eq_ignore_ascii_case(known)));
    !is_source && path.with_extension("dud").to_str().is_some_and(|layout| layout != name && names.contains(layout))
}

/// An entry of a folder.
struct DirEntry {
    name: String,
    path: PathBuf,
    /// `true` if it is known to be a regular file, and no link.
    is_regular: bool,
}

/// Entries of a folder, in the natural order of the names; files that are being written are left out.
fn read_dir_entries(folder: &Path, hidden: bool) -> Result<Vec<DirEntry>> {
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let failed = |e| Error::io(format!("reading {}", listed.display()), e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(listed).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let file_name = entry.file_name();
        let name = text_of(Path::new(&file_name));
        if (hidden || !name.starts_with('.')) && !name.contains(".trilith-") {
            let is_regular = entry.file_type().is_ok_and(|kind| kind.is_file());
            found.push(DirEntry { name, path: folder.join(file_name), is_regular });
        }
    }
    found.sort_by(|one, other| natural(&one.name, &other.name));
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
    fn found(folder: &Path, how: FileFinder, name: &str) -> (Vec<String>, u64) {
        let mut gathered = how.find(&format!("{}/{name}", folder.display()));
        let shown = |found: FoundFile| {
            let name = found.name.trim_start_matches(&*folder.to_string_lossy()).trim_start_matches('/').to_owned();
            if found.problem.is_some() { format!("! {name}") } else { name }
        };
        let names = gathered.by_ref().map(shown).collect();
        (names, gathered.skipped_count())
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
            ("d/raw.h", "unsigned char n[2];"),
            ("d/.secret/x.asdf", TREE),
            ("d/.x.asdf.trilith-tmp", TREE),
        ];
        let folder = laid_out(&files);
        let (names, others) = found(folder.path(), FileFinder::new(), "d");
        assert_eq!((names, others), (["d/a/x.fits.gz", "d/b.asdf", "d/c.dat", "d/raw.bin"].map(str::to_owned).to_vec(), 4));
        let (names, _) = found(folder.path(), FileFinder::new().include_hidden(true), "d/");
        assert_eq!(names.first().map(String::as_str), Some("d/.secret/x.asdf"));
        let (names, others) = found(folder.path(), FileFinder::new().all_files(true), "d");
        assert_eq!((names.len(), others), (7, 1), "{names:?}");
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
            assert_eq!(found(folder.path(), FileFinder::new(), pattern).0, names, "{pattern}");
        }
        let (names, _) = found(folder.path(), FileFinder::new(), "d/*.fits");
        assert!(names.len() == 1 && names.iter().all(|name| name.starts_with('!')), "{names:?}");
        assert!(
            FileFinder::is_several("*.asdf") && !FileFinder::is_several("https://host/*.asdf") && !FileFinder::is_several("-")
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_in_circles_end() {
        let folder = laid_out(&[("d/a/x.asdf", TREE)]);
        std::os::unix::fs::symlink("..", folder.path().join("d/a/up")).unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("d/again")).unwrap();
        std::os::unix::fs::symlink("self.asdf", folder.path().join("d/self.asdf")).unwrap();
        for name in ["d", "d/**/*.asdf"] {
            let (names, _) = found(folder.path(), FileFinder::new(), name);
            assert_eq!(names, ["d/a/x.asdf", "d/self.asdf"], "{name}");
        }
    }
}
