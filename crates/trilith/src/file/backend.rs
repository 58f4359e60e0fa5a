//! The trait that a format family implements, so that everything else is written once.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use super::expand::ExpandEvent;
use super::item::{ItemKind, ItemMetadata, MetadataParts};
use crate::array::attribute::ItemAttribute;
use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::{BaseUri, SourceRef};
use crate::error::{Error, Result};
use crate::json_pointer::push_key;
use crate::limits::Limits;
use crate::percent::leniently_decoded;
use crate::tree::{TreePath, index_of};
use crate::yaml::Scalar;

/// The place of an item in its file. Each backend decides the meaning of the number.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ItemLocation {
    /// A node, by its number.
    Node(usize),
    /// A place that a path led to directly: an array, or a list whose elements are one.
    Array {
        /// The path.
        path: Box<str>,
        /// The array.
        array: Box<Array>,
        /// `true` if the path leads to a list.
        is_list: bool,
    },
}

/// The target of a path or a reference.
#[derive(Debug, Clone)]
pub struct ResolvedItem {
    /// The other file that it leads into; None for the file itself.
    pub external_file: Option<Arc<dyn Backend>>,
    /// The item there.
    pub place: ItemLocation,
}

impl ResolvedItem {
    /// A place in the same file.
    pub fn same_file(place: ItemLocation) -> Self {
        Self { external_file: None, place }
    }
}

/// One child of a mapping or a list.
#[derive(Debug, Clone)]
pub struct ChildItem<'f> {
    /// Name of the child; `None` in a list.
    pub name: Option<Cow<'f, str>>,
    /// The place of the item.
    pub place: ItemLocation,
}

/// The children of a mapping with their keys, or of a list.
pub type KeyedChildren<'f> = Vec<(Option<Scalar<'f>>, ItemLocation)>;

/// A callback that takes the parts of an item, each with its tag.
pub type EventSink<'t> = &'t mut dyn FnMut(Option<&str>, ExpandEvent<'_>) -> Result<()>;

/// The names of the axes of an array, and its part among the arrays of its group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AxisNames {
    /// A name for each axis, or None for an axis without one. Empty if the file names none.
    pub names: Vec<Option<String>>,
    /// `true` if the array is a coordinate: a value of the summary block of a layout, such as `time`.
    pub is_coordinate: bool,
}

/// The datatype, shape and storage of an array, without its elements.
#[derive(Debug, Clone)]
pub struct ArrayDescription {
    /// The datatype of its elements.
    pub datatype: Datatype,
    /// The length of each axis.
    pub shape: Vec<u64>,
    /// The byte order of its elements.
    pub byteorder: Byteorder,
    /// The form of storage, in a word or two: `lz4`, `inline`, `at byte 24`.
    pub storage: String,
    /// The byte of the file at which it begins, if its bytes are there uncompressed.
    pub offset: Option<u64>,
    /// Number of bytes, or None if it is not known.
    pub nbytes: Option<u64>,
    /// The filter that its item has.
    pub filter: Option<String>,
    /// Further remarks, such as `masked`.
    pub remarks: Vec<String>,
    /// Documentation of the array, from the layout.
    pub doc: Option<String>,
    /// Unit of the array, from the layout.
    pub unit: Option<String>,
    /// The documentation and the unit of members of structs, by their paths, `.a.b`.
    pub members: Vec<(String, Option<String>, Option<String>)>,
}

impl ArrayDescription {
    /// Returns the description of an array.
    pub fn from_array(array: &Array) -> Self {
        Self {
            datatype: array.datatype().clone(),
            shape: array.shape().to_vec(),
            byteorder: array.byteorder(),
            storage: "stored".to_owned(),
            offset: None,
            nbytes: Some(array.nbytes()),
            filter: None,
            remarks: array.mask().map(|_| "masked".to_owned()).into_iter().collect(),
            doc: None,
            unit: None,
            members: Vec::new(),
        }
    }

    /// Returns the description with the metadata of a layout about the item.
    pub fn with_metadata(mut self, notes: ItemMetadata<'_>) -> Self {
        let own = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
        let members = notes.members.into_iter().map(|(way, said)| (way, own(said.comment), own(said.unit)));
        self.members = members.filter(|(_, doc, unit)| doc.is_some() || unit.is_some()).collect();
        (self.doc, self.unit) = (own(notes.comment), own(notes.unit));
        self
    }
}

/// An array in a listing: its path, and where it is or why it cannot be reached.
#[derive(Debug)]
pub struct ListedArray {
    /// The path from the root of the file.
    pub path: String,
    /// The item.
    pub target: Result<ResolvedItem>,
}

/// An open file of one format family: a tree of named items whose leaves are arrays.
///
/// [`File`](super::File) and [`Item`](super::Item) are for users, and call a backend. A backend contains the parsed file and
/// answers queries about it, so the tree exists only once. To add a family, implement the methods that have no default. Every
/// command and method that works on any file then works on the new family.
pub trait Backend: Any + Debug + Send + Sync {
    /// The name of the family: `asdf`, `finf`, `fits`, `dudley`.
    fn family(&self) -> &str;

    /// The bytes that the file is read from.
    fn source(&self) -> &SourceRef;

    /// Limits on the cost of reading the file.
    fn limits(&self) -> &Limits;

    /// Returns the kind of the item at a place.
    fn kind(&self, at: &ItemLocation) -> ItemKind;

    /// The children of a mapping or a list in the order of the file; nothing for everything else.
    ///
    /// # Errors
    /// Returns an error if the children cannot be read.
    fn children(&self, at: &ItemLocation) -> Result<Vec<ChildItem<'_>>>;

    /// The value of a scalar, a text or a null.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for anything else.
    fn value(&self, at: &ItemLocation) -> Result<Scalar<'_>>;

    /// The array at a place.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is none.
    fn array(&self, at: &ItemLocation) -> Result<Array>;

    /// Returns the reason if the item at a place is there but cannot be read. Such an item is of the kind
    /// [`ItemKind::Array`] whatever it would be: asking for its array or its description is an error. No element is read,
    /// so an array whose bytes do not decode is found out by reading it.
    fn unreadable(&self, at: &ItemLocation) -> Option<Error> {
        if self.kind(at) == ItemKind::Array { self.array(at).err() } else { None }
    }

    /// Problems that do not keep the file from being read.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// The root.
    fn root(&self) -> ItemLocation {
        ItemLocation::Node(0)
    }

    /// The item at a path; references on the way are followed. Unless a family says otherwise a path is a JSON
    /// Pointer.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) with the existing names if there is none, and
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if `path` is not a path.
    fn find(&self, path: &str) -> Result<ResolvedItem> {
        by_keys(self, path)
    }

    /// Returns the child with a key: a name of a mapping, or a number of a list.
    ///
    /// # Errors
    /// Returns the errors of [`Backend::children`].
    fn child(&self, at: &ItemLocation, key: &str) -> Result<Option<ItemLocation>> {
        let number = index_of(key);
        let is_it = |(n, child): &(usize, ChildItem<'_>)| match &child.name {
            Some(name) => *name == key,
            None => number == Some(*n),
        };
        Ok(self.children(at)?.into_iter().enumerate().find(is_it).map(|(_, child)| child.place))
    }

    /// Returns the children that a program indexes, with the types of their keys.
    ///
    /// # Errors
    /// Returns the errors of [`Backend::children`].
    fn keyed_children(&self, at: &ItemLocation) -> Result<KeyedChildren<'_>> {
        let is_hidden = |place: &ItemLocation| self.metadata(place, MetadataParts::FLAGS).is_ok_and(|found| found.is_hidden);
        let children = self.children(at)?.into_iter().filter(|child| !is_hidden(&child.place));
        Ok(children.map(|child| (child.name.map(Scalar::Str), child.place)).collect())
    }

    /// Returns the path of an item from the root of this file; None if no path leads to it.
    fn path(&self, at: &ItemLocation) -> Option<String> {
        super::expand::path_of(self, at)
    }

    /// Returns the attributes of an item whose names are wanted, in the order of the file; names may repeat.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    fn attributes(&self, at: &ItemLocation, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ItemAttribute>> {
        let _ = (at, is_wanted);
        Ok(Vec::new())
    }

    /// The path of a child, by that of its parent.
    fn child_path(&self, parent: &str, child: &ChildItem<'_>, index: usize) -> String {
        let mut path = parent.to_owned();
        match &child.name {
            Some(name) => push_key(&mut path, name),
            None => push_key(&mut path, &index.to_string()),
        }
        path
    }

    /// A scalar or a text as the file spells it.
    ///
    /// # Errors
    /// Returns the errors of [`Backend::value`].
    fn text(&self, at: &ItemLocation) -> Result<Cow<'_, str>> {
        Ok(self.value(at)?.into_text())
    }

    /// An item as one array, if it can be one: a list of equal arrays gets a leading axis, a number has no axes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it cannot, with the reason.
    fn as_array(&self, at: &ItemLocation) -> Result<Array> {
        match self.kind(at) {
            ItemKind::Array => self.array(at),
            ItemKind::List => {
                let children = self.children(at)?;
                super::as_array::stack_arrays(children.iter().map(|child| self.as_array(&child.place)), self.limits())
            }
            ItemKind::Scalar | ItemKind::Text => super::as_array::scalar_array(&self.value(at)?),
            kind => Err(super::as_array::not_an_array_error(kind.name())),
        }
    }

    /// Returns the target of a reference.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the item is not a reference, and an error if the other
    /// file cannot be opened.
    fn target(&self, at: &ItemLocation) -> Result<ResolvedItem> {
        Ok(ResolvedItem::same_file(at.clone()))
    }

    /// Returns the parts of the metadata of an item that are asked for; other parts may be there or not.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    fn metadata(&self, at: &ItemLocation, parts: MetadataParts) -> Result<ItemMetadata<'_>> {
        let _ = (at, parts);
        Ok(ItemMetadata::default())
    }

    /// Line and column of the text of the file where the item is written, counted from 1; None if it has no text.
    fn line_column(&self, at: &ItemLocation) -> Option<(u32, u32)> {
        let _ = at;
        None
    }

    /// Describes an array and its storage. Reads no element.
    ///
    /// # Errors
    /// Returns the errors of [`Backend::array`].
    fn describe(&self, at: &ItemLocation) -> Result<ArrayDescription> {
        Ok(ArrayDescription::from_array(&self.array(at)?))
    }

    /// An array as people read it: with its text decoded.
    ///
    /// # Errors
    /// Returns an error if the text cannot be decoded.
    fn decode_text(&self, array: Array) -> Result<Array> {
        Ok(array)
    }

    /// Returns the file with the references in its text rewritten so that they are valid at `base`.
    ///
    /// # Errors
    /// Returns an error if one of them cannot be written there.
    fn rebased_to(self: Arc<Self>, base: &BaseUri) -> Result<Arc<dyn Backend>>;
}

/// The item at a JSON Pointer: its keys are names in mappings and numbers in lists.
pub(super) fn by_keys<B: Backend + ?Sized>(backend: &B, path: &str) -> Result<ResolvedItem> {
    let mut at = backend.root();
    for (depth, key) in TreePath::parse(path)?.keys().iter().enumerate() {
        let decoded = leniently_decoded(key);
        let child = match backend.child(&at, key)? {
            None if decoded != key.as_str() => backend.child(&at, &decoded)?,
            child => child,
        };
        let Some(child) = child else {
            if key.is_empty() && depth == 0 {
                break;
            }
            let children = backend.children(&at)?;
            let names: Vec<&str> = children.iter().filter_map(|child| child.name.as_deref()).collect();
            let items = if names.is_empty() { children.len() } else { 0 };
            return Err(Error::missing_key(key, &names, items).at_path(path));
        };
        at = child;
    }
    Ok(ResolvedItem::same_file(at))
}
