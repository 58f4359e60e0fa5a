//! Files that a file refers to: those of its links, of its data, and of the sources of its virtual datasets. Their bytes are
//! after those of the file in the byte offsets of the layout.

use std::collections::HashMap;
use std::rc::Rc;

use super::file::Hdf5File;
use super::linked_file::{LinkedFile, MAX_LINKS, ResolvedLink};
use crate::bytes::{Resolve, SourceRef};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::LayoutBuilder;
use crate::limits::Limits;
use crate::percent;

/// The most files: each is open while elements are read.
const MAX_FILES: usize = 400;

/// Parts begin at multiples of this number of bytes.
const PART_ALIGNMENT: u64 = 4096;

/// A part of another file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExternalRange {
    pub file: String,
    pub offset: u64,
    /// The number of bytes; None for the rest of the file.
    pub len: Option<u64>,
}

/// The files that were opened, and the parts of them that the layout has.
pub(super) struct ExternalFiles<'r> {
    resolver: &'r dyn Resolve,
    limits: Limits,
    cache: HashMap<String, SourceRef>,
    files: HashMap<String, Rc<LinkedFile>>,
    /// References, and of each the first byte in the layout, the first byte in the file, and how many.
    parts: Vec<(String, [u64; 3])>,
    /// The first byte after all parts.
    end: u64,
}

impl<'r> ExternalFiles<'r> {
    /// Creates a collection without files; `len` is the number of bytes of the main file in the layout.
    pub(super) fn new(resolve: &'r dyn Resolve, len: u64, limits: &Limits) -> Self {
        let (known, files) = (HashMap::new(), HashMap::new());
        Self { resolver: resolve, limits: limits.clone(), cache: known, files, parts: Vec::new(), end: len }
    }

    /// The HDF5 file of a name, as a file in a folder has it.
    ///
    /// # Errors
    /// Returns `Unsupported` if it cannot be opened, and the errors of [`Hdf5File::open`].
    pub(super) fn open_file(&mut self, folder: &str, name: &str) -> Result<Rc<LinkedFile>> {
        let uri = to_relative_reference(folder, name);
        if let Some(known) = self.files.get(&uri) {
            return Ok(Rc::clone(known));
        }
        let source = self.open(&uri, name)?;
        let mut file = Hdf5File::open(&source, &self.limits)?;
        if let Some(why) = file.cut_short() {
            return Err(why.context(name.to_owned()));
        }
        file.layout_start = self.align_end();
        self.append_part(&uri, 0, source.len());
        let folder = uri.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let place = Rc::new(LinkedFile::new(file, self.files.len() + 1, folder)?);
        self.files.insert(uri, Rc::clone(&place));
        Ok(place)
    }

    /// Returns the object to which a path leads from a group of a file, and the file that it is in. `None` if the path leads to
    /// more than [`MAX_LINKS`] links.
    ///
    /// # Errors
    /// Returns the errors of [`ExternalFiles::open_file`] and [`LinkedFile::resolve_link`].
    pub(super) fn resolve_path(
        &mut self,
        place: &Rc<LinkedFile>,
        path: &str,
        group: u64,
    ) -> Result<Option<(Rc<LinkedFile>, u64)>> {
        let (mut place, mut path, mut group, mut hops) = (Rc::clone(place), path.to_owned(), group, MAX_LINKS);
        loop {
            match place.resolve_link(&path, group, &mut hops)? {
                ResolvedLink::Local(address) => return Ok(Some((place, address))),
                ResolvedLink::Endless => return Ok(None),
                ResolvedLink::External { file, path: next } => {
                    let other = self.open_file(&place.folder, &file)?;
                    (path, group) = (next, other.file.root);
                    place = other;
                }
            }
        }
    }

    /// Puts `size` bytes of several files after each other, and returns the byte of the layout at which they begin.
    ///
    /// # Errors
    /// Returns `Malformed` if the files have fewer bytes, `Unsupported` if one of them cannot be opened.
    pub(super) fn append_external_bytes(&mut self, folder: &str, slots: &[ExternalRange], size: u64) -> Result<u64> {
        let mut found = Vec::new();
        let mut left = size;
        for slot in slots.iter().filter(|slot| slot.len != Some(0)) {
            if left == 0 {
                break;
            }
            let uri = to_relative_reference(folder, &slot.file);
            let source = self.open(&uri, &slot.file)?;
            let len = slot.len.unwrap_or(left).min(left);
            if slot.offset.checked_add(len).is_none_or(|end| end > source.len()) {
                let ExternalRange { file, offset, .. } = slot;
                return Err(Error::malformed(format!(
                    "{len} bytes are expected from byte {offset} of {file} on, which has {} bytes",
                    source.len()
                )));
            }
            found.push((uri, slot.offset, len));
            left -= len;
        }
        if left > 0 {
            return Err(Error::malformed(format!("its {size} bytes are in other files, which have {left} bytes less")));
        }
        let start = self.align_end();
        found.into_iter().for_each(|(uri, offset, len)| self.append_part(&uri, offset, len));
        Ok(start)
    }

    /// Moves the end to where a part may begin.
    fn align_end(&mut self) -> u64 {
        self.end = self.end.next_multiple_of(PART_ALIGNMENT);
        self.end
    }

    fn append_part(&mut self, uri: &str, offset: u64, len: u64) {
        self.parts.push((uri.to_owned(), [self.end, offset, len]));
        self.end = self.end.saturating_add(len);
    }

    fn open(&mut self, uri: &str, name: &str) -> Result<SourceRef> {
        if let Some(known) = self.cache.get(uri) {
            return Ok(known.clone());
        }
        if self.cache.len() >= MAX_FILES {
            return Err(Error::unsupported(format!("more than {MAX_FILES} other files")));
        }
        // A file that is not there makes the items unreadable that need it, and not the whole file.
        let (source, _) = self.resolver.resolve(uri).map_err(|error| match error.kind() {
            ErrorKind::Cancelled => error,
            _ => with_subject(&format!("cannot open the file {name}"), &error, ErrorKind::Unsupported),
        })?;
        self.cache.insert(uri.to_owned(), source.clone());
        Ok(source)
    }

    /// Writes which files follow the file itself.
    pub(super) fn write_file_list(&self, builder: &mut LayoutBuilder) -> Result<()> {
        if self.parts.is_empty() { Ok(()) } else { builder.write_file_parts(&self.parts) }
    }
}

/// Wraps an error: puts its subject before the message, and keeps its hint.
pub(super) fn with_subject(what: &str, error: &Error, kind: ErrorKind) -> Error {
    let made = Error::new(kind, format!("{what}: {}", error.message()));
    match error.advice() {
        Some(advice) => made.hint(advice),
        None => made,
    }
}

/// A name of a file as a relative reference, from the folder of the first file.
fn to_relative_reference(folder: &str, name: &str) -> String {
    let encoded: Vec<String> = name.split('/').map(|segment| percent::encoded(segment.as_bytes())).collect();
    let encoded = encoded.join("/");
    if name.starts_with('/') { encoded } else { format!("{folder}{encoded}") }
}
