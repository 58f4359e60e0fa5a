//! The files that a viewer looks at, and what is kept of them between requests.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use trilith::bytes::SourceBacking;
use trilith::file::{Backend, ChildItem, ItemLocation};
use trilith::{Error, File, Limits, Result};

use super::ViewerRequest;
use super::picture::RasterCache;
use super::table::SortedRows;
use super::text_pages::LineIndex;

/// A function that opens a file at a place.
pub type FileOpener = dyn Fn(&str) -> Result<File> + Send + Sync;

/// Maximum number of files that are held open.
const MAX_OPEN_FILES: usize = 16;
/// Maximum number of lists of children that are kept for each file.
const MAX_CACHED_LISTS: usize = 8;

/// The files that a viewer looks at. They are opened when something is asked of them.
pub struct ViewerSession {
    open: Box<FileOpener>,
    files: RwLock<Vec<(String, String)>>,
    open_order: Mutex<VecDeque<(usize, Arc<OpenFile>)>>,
}

/// An open file, and what was made of it for earlier requests.
pub struct OpenFile {
    pub(super) file: File,
    lists: Mutex<VecDeque<Arc<ChildList>>>,
    pub(super) lines: Mutex<Option<Arc<LineIndex>>>,
    pub(super) planes: Mutex<RasterCache>,
    pub(super) order: Mutex<Option<Arc<SortedRows>>>,
    pub(super) wcs: Mutex<Option<super::wcs::WcsCache>>,
    /// Held while a large raster is made: another request for the same one waits for it.
    pub(super) raster_lock: Mutex<()>,
}

/// The children of one item: as there may be a million of them, they are found once.
pub(super) struct ChildList {
    path: String,
    is_external: Option<Arc<dyn Backend>>,
    children: Vec<(Option<Box<str>>, ItemLocation)>,
}

/// Returns the content of a lock, even after a panic elsewhere.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ViewerSession {
    /// A session without files; `open` opens them.
    pub fn new(open: impl Fn(&str) -> Result<File> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), files: RwLock::default(), open_order: Mutex::default() }
    }

    /// Adds a file, and gives its number. The place is what the session opens, the name what is shown.
    pub fn add(&self, name: &str, place: &str) -> usize {
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        files.push((name.to_owned(), place.to_owned()));
        files.len() - 1
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name and place of a file.
    pub(super) fn name_and_place(&self, index: usize) -> Option<(String, String)> {
        self.files.read().unwrap_or_else(PoisonError::into_inner).get(index).cloned()
    }

    /// The open file that a request is about.
    pub(super) fn requested_file(&self, request: &ViewerRequest) -> Result<Arc<OpenFile>> {
        self.open_file(request.number_parameter("file")?.unwrap_or(0))
    }

    /// The open file of this number.
    pub(super) fn open_file(&self, index: usize) -> Result<Arc<OpenFile>> {
        {
            let mut held = lock(&self.open_order);
            if let Some(at) = held.iter().position(|(number, _)| *number == index)
                && let Some(found) = held.remove(at)
            {
                let file = found.1.clone();
                if !file.file.source().backing().is_some_and(SourceBacking::is_changed) {
                    held.push_back(found);
                    return Ok(file);
                }
            }
        }
        let (_, place) = self.name_and_place(index).ok_or_else(|| Error::invalid_input(format!("there is no file {index}")))?;
        let opened = Arc::new(OpenFile::new((self.open)(&place)?));
        let mut held = lock(&self.open_order);
        held.push_back((index, opened.clone()));
        if held.len() > MAX_OPEN_FILES {
            held.pop_front();
        }
        Ok(opened)
    }
}

impl OpenFile {
    fn new(file: File) -> Self {
        Self {
            file,
            lists: Mutex::default(),
            lines: Mutex::default(),
            planes: Mutex::default(),
            order: Mutex::default(),
            wcs: Mutex::default(),
            raster_lock: Mutex::default(),
        }
    }

    /// Returns the limits for the cost of one request.
    pub(super) fn request_limits(&self) -> Arc<Limits> {
        Arc::new(self.file.limits().for_command(self.file.source().len()))
    }

    /// The children of the item at a path.
    pub(super) fn children(&self, path: &str) -> Result<Arc<ChildList>> {
        if let Some(found) = lock(&self.lists).iter().find(|list| list.path == path) {
            return Ok(found.clone());
        }
        let (other, place) = if path.is_empty() {
            (None, self.file.root().location().clone())
        } else {
            let found = self.file.backend().find(path)?;
            (found.external_file, found.place)
        };
        let backend = other.as_deref().unwrap_or(self.file.backend());
        let children = backend.children(&place)?.into_iter().map(|child| (child.name.map(Box::from), child.place)).collect();
        let list = Arc::new(ChildList { path: path.to_owned(), is_external: other, children });
        let mut lists = lock(&self.lists);
        lists.push_back(list.clone());
        if lists.len() > MAX_CACHED_LISTS {
            lists.pop_front();
        }
        Ok(list)
    }
}

impl ChildList {
    /// Returns the number of children.
    pub(super) fn len(&self) -> usize {
        self.children.len()
    }

    /// The file that they are in.
    pub(super) fn backend<'f>(&'f self, file: &'f File) -> &'f dyn Backend {
        self.is_external.as_deref().unwrap_or(file.backend())
    }

    /// Returns some of the children, with their indices.
    pub(super) fn page_children(&self, offset: u64, limit: u64) -> impl Iterator<Item = (usize, ChildItem<'_>)> {
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let child = |(at, (name, place)): (usize, &(Option<Box<str>>, ItemLocation))| {
            (at, ChildItem { name: name.as_deref().map(|name| Cow::Owned(name.to_owned())), place: place.clone() })
        };
        self.children.iter().enumerate().skip(skip).take(most).map(child)
    }
}
