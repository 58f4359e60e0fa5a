//! The files that a viewer looks at, and what is kept of them between requests.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use trilith::bytes::Backing;
use trilith::file::{Backend, Child, Place};
use trilith::{Error, File, Limits, Result};

use super::Request;
use super::picture::Planes;
use super::table::Order;
use super::text_pages::Lines;

/// A function that opens a file at a place.
pub type Opener = dyn Fn(&str) -> Result<File> + Send + Sync;

/// Maximum number of files that are held open.
const OPEN: usize = 16;
/// Maximum number of lists of children that are kept for each file.
const LISTS: usize = 8;

/// The files that a viewer looks at. They are opened when something is asked of them.
pub struct Session {
    open: Box<Opener>,
    files: RwLock<Vec<(String, String)>>,
    held: Mutex<VecDeque<(usize, Arc<Opened>)>>,
}

/// An open file, and what was made of it for earlier requests.
pub struct Opened {
    pub(super) file: File,
    lists: Mutex<VecDeque<Arc<Listed>>>,
    pub(super) lines: Mutex<Option<Arc<Lines>>>,
    pub(super) planes: Mutex<Planes>,
    pub(super) order: Mutex<Option<Arc<Order>>>,
    pub(super) wcs: Mutex<Option<super::wcs::Known>>,
    /// Held while a large raster is made: another request for the same one waits for it.
    pub(super) making: Mutex<()>,
}

/// The children of one item: as there may be a million of them, they are found once.
pub(super) struct Listed {
    path: String,
    other: Option<Arc<dyn Backend>>,
    children: Vec<(Option<Box<str>>, Place)>,
}

/// Returns the content of a lock, even after a panic elsewhere.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// A session without files; `open` opens them.
    pub fn new(open: impl Fn(&str) -> Result<File> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), files: RwLock::default(), held: Mutex::default() }
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
    pub(super) fn named(&self, index: usize) -> Option<(String, String)> {
        self.files.read().unwrap_or_else(PoisonError::into_inner).get(index).cloned()
    }

    /// The open file that a request is about.
    pub(super) fn file(&self, request: &Request) -> Result<Arc<Opened>> {
        self.numbered(request.number("file")?.unwrap_or(0))
    }

    /// The open file of this number.
    pub(super) fn numbered(&self, index: usize) -> Result<Arc<Opened>> {
        {
            let mut held = locked(&self.held);
            if let Some(at) = held.iter().position(|(number, _)| *number == index)
                && let Some(found) = held.remove(at)
            {
                let file = found.1.clone();
                if !file.file.source().backing().is_some_and(Backing::is_changed) {
                    held.push_back(found);
                    return Ok(file);
                }
            }
        }
        let (_, place) = self.named(index).ok_or_else(|| Error::invalid_input(format!("there is no file {index}")))?;
        let opened = Arc::new(Opened::new((self.open)(&place)?));
        let mut held = locked(&self.held);
        held.push_back((index, opened.clone()));
        if held.len() > OPEN {
            held.pop_front();
        }
        Ok(opened)
    }
}

impl Opened {
    fn new(file: File) -> Self {
        Self {
            file,
            lists: Mutex::default(),
            lines: Mutex::default(),
            planes: Mutex::default(),
            order: Mutex::default(),
            wcs: Mutex::default(),
            making: Mutex::default(),
        }
    }

    /// Returns the limits for the cost of one request.
    pub(super) fn budget(&self) -> Arc<Limits> {
        Arc::new(self.file.limits().for_command(self.file.source().len()))
    }

    /// The children of the item at a path.
    pub(super) fn children(&self, path: &str) -> Result<Arc<Listed>> {
        if let Some(found) = locked(&self.lists).iter().find(|list| list.path == path) {
            return Ok(found.clone());
        }
        let (other, place) = if path.is_empty() {
            (None, self.file.root().place().clone())
        } else {
            let found = self.file.backend().find(path)?;
            (found.other, found.place)
        };
        let backend = other.as_deref().unwrap_or(self.file.backend());
        let children = backend.children(&place)?.into_iter().map(|child| (child.name.map(Box::from), child.place)).collect();
        let list = Arc::new(Listed { path: path.to_owned(), other, children });
        let mut lists = locked(&self.lists);
        lists.push_back(list.clone());
        if lists.len() > LISTS {
            lists.pop_front();
        }
        Ok(list)
    }
}

impl Listed {
    /// Returns the number of children.
    pub(super) fn len(&self) -> usize {
        self.children.len()
    }

    /// The file that they are in.
    pub(super) fn backend<'f>(&'f self, file: &'f File) -> &'f dyn Backend {
        self.other.as_deref().unwrap_or(file.backend())
    }

    /// Returns some of the children, with their indices.
    pub(super) fn page(&self, offset: u64, limit: u64) -> impl Iterator<Item = (usize, Child<'_>)> {
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let child = |(at, (name, place)): (usize, &(Option<Box<str>>, Place))| {
            (at, Child { name: name.as_deref().map(|name| Cow::Owned(name.to_owned())), place: place.clone() })
        };
        self.children.iter().enumerate().skip(skip).take(most).map(child)
    }
}
