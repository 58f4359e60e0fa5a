//! An open file of any family, and its items.

use std::any::Any;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use super::backend::{ArrayDescription, AxisNames, Backend, ChildItem, ItemLocation, ListedArray, ResolvedItem};
use super::columns::{ColumnFile, find_column, resolve_path};
use super::file_set::FileSet;
use super::item_decoder::ItemDecoder;
use super::item_header::ItemHeader;
use crate::array::Array;
use crate::array::attribute::ItemAttribute;
use crate::asdf::{AsdfFile, required_keys};
use crate::bytes::{BaseUri, SourceRef};
use crate::dudley::{DudleyFile, ItemTreeId, LayoutOrigin};
use crate::error::{Error, Result};
use crate::layout::ItemId;
use crate::limits::Limits;
use crate::tree::{Node, PrintOptions, Tree, TreePath, Value, print_document};
use crate::yaml::Scalar;

/// An open file of any format: a tree of named items whose leaves are arrays.
///
/// ```
/// let text = b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: !<tag:stsci.edu:asdf/core/ndarray-1.0.0> [1, 2], b: {c: x}}\n...\n";
/// let file = trilith::OpenOptions::new().open_bytes(text.to_vec())?;
/// assert_eq!(file.array("/a")?.load::<i64>()?, [1, 2]);
/// assert_eq!(file.item("/b/c")?.text()?, "x");
/// let root = file.root();
/// let names: Vec<_> = root.children()?.into_iter().map(|(name, item)| (name, item.kind().name())).collect();
/// assert_eq!(names, [(Some("a".into()), "array"), (Some("b".into()), "mapping")]);
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// A clone is the same open file.
#[derive(Debug, Clone)]
pub struct File {
    backend: Arc<dyn Backend>,
}

impl File {
    /// Creates a file from a custom backend.
    pub fn new(backend: impl Backend) -> Self {
        Self { backend: Arc::new(backend) }
    }

    /// Returns the name of its format family: `asdf`, `finf`, `fits` or `dudley`.
    pub fn family(&self) -> &str {
        self.backend.family()
    }

    /// Returns the name of its format: the version, or the name of another format, such as `FITS` or `HDF5`.
    pub fn format(&self) -> &str {
        if self.family() == "fits" {
            return "FITS";
        }
        if let Some(LayoutOrigin::Derived(format)) = self.as_dudley().map(DudleyFile::origin) {
            return format;
        }
        self.generation()
    }

    /// Returns the version of its format, such as `asdf-1.x` or `dudley-2025`.
    pub fn generation(&self) -> &str {
        if let Some(file) = self.as_asdf() {
            return file.sections().generation_name();
        }
        if let Some(file) = self.as_dudley() {
            return file.generation_name();
        }
        self.family()
    }

    /// Returns the source of the file's bytes.
    pub fn source(&self) -> &SourceRef {
        self.backend.source()
    }

    /// Returns the limits on the cost of reading the file.
    pub fn limits(&self) -> &Limits {
        self.backend.limits()
    }

    /// Returns the reason why the file as a whole differs from its metadata, such as a FITS or HDF5 file whose end is missing. It
    /// is one of the [warnings](File::warnings).
    pub fn damage(&self) -> Option<Error> {
        match self.as_asdf() {
            Some(file) => super::fits::container_fits(file)?.truncation(),
            None => self.as_dudley()?.layout().unreadable(ItemId::ROOT),
        }
    }

    /// Returns the problems that do not keep the file from being read.
    pub fn warnings(&self) -> Vec<String> {
        self.backend.warnings()
    }

    /// Returns the backend.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Returns the root item.
    pub fn root(&self) -> Item<'_> {
        Item::new(&*self.backend, self.backend.root())
    }

    /// Returns the root item as one that keeps the file open.
    pub fn shared_root(&self) -> Item<'static> {
        Item { file: FileHandle::Shared(self.backend.clone()), place: self.backend.root() }
    }

    /// Returns the item at a path: `/roman/data`, `/list/3`, and in a Dudley file also `/list[3]` and `/records.time`. References
    /// on the way are followed. The column `NAME` of the table at `PATH` is `PATH/NAME` in every format. A key of a mapping has
    /// priority over a column.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) with the existing names if there is none, and
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if `path` is not a path.
    pub fn item(&self, path: &str) -> Result<Item<'_>> {
        Ok(Item::from_target(FileHandle::Borrowed(&*self.backend), resolve_path(&*self.backend, path)?))
    }

    /// Returns the array at a path, as [`Item::array`] does.
    ///
    /// # Errors
    /// Returns the errors of [`File::item`] and [`Item::array`].
    pub fn array(&self, path: &str) -> Result<Array> {
        let found = resolve_path(&*self.backend, path)?;
        let backend = found.external_file.as_deref().unwrap_or(&*self.backend);
        backend.array(&found.place)
    }

    /// Lists every array with its path, in the order of the file. References are followed.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are too many.
    pub fn arrays(&self) -> Result<Vec<ArrayEntry<'_>>> {
        let item = |found| Item::from_target(FileHandle::Borrowed(&*self.backend), found);
        let entry = |ListedArray { path, target }| ArrayEntry { path, item: target.map(item) };
        Ok(super::expand::listed_arrays(&*self.backend)?.into_iter().map(entry).collect())
    }

    /// Returns the file as one of the ASDF family, FITS included: tags, edits, blocks, generations.
    pub fn as_asdf(&self) -> Option<&AsdfFile> {
        (&*self.backend as &dyn Any).downcast_ref()
    }

    /// Returns the file as a Dudley file: layout, parameters, byte offsets.
    pub fn as_dudley(&self) -> Option<&DudleyFile> {
        (&*self.backend as &dyn Any).downcast_ref()
    }

    /// Returns the file as a set of files under one layout, see
    /// [`OpenOptions::file_set_layout`](super::OpenOptions::file_set_layout).
    pub fn as_family(&self) -> Option<&FileSet> {
        (&*self.backend as &dyn Any).downcast_ref()
    }

    /// Converts the file like [`File::as_asdf`], by value.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a file of another family.
    pub fn into_asdf(self) -> Result<AsdfFile> {
        self.downcast("the ASDF family")
    }

    /// Converts the file like [`File::as_dudley`], by value.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a file of another family.
    pub fn into_dudley(self) -> Result<DudleyFile> {
        self.downcast("the Dudley family")
    }

    fn downcast<B: Backend>(self, wanted: &str) -> Result<B> {
        let family = self.family().to_owned();
        let any: Arc<dyn Any + Send + Sync> = self.backend;
        into_unique(any.downcast().map_err(|_| wrong_family(&family, wanted))?)
    }

    /// Returns the same file, with the references in its text rewritten so that they are relative to `base`.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfFile::rebase`].
    pub fn rebased_to(self, base: &BaseUri) -> Result<Self> {
        Ok(Self { backend: self.backend.rebased_to(base)? })
    }
}

/// Returns the file if no other part of the program has it open.
pub(super) fn into_unique<B>(file: Arc<B>) -> Result<B> {
    Arc::into_inner(file).ok_or_else(|| {
        Error::invalid_input("cannot take the file apart: other parts of the program use it").hint("open the file again for this")
    })
}

fn wrong_family(family: &str, wanted: &str) -> Error {
    Error::unsupported(format!("this needs a file of {wanted}, the file is {family}")).hint("convert it first")
}

impl From<AsdfFile> for File {
    fn from(file: AsdfFile) -> Self {
        Self::new(file)
    }
}

impl From<DudleyFile> for File {
    fn from(file: DudleyFile) -> Self {
        Self::new(file)
    }
}

/// An array in a listing, see [`File::arrays`].
#[derive(Debug)]
pub struct ArrayEntry<'f> {
    /// The path from the root of the file.
    pub path: String,
    /// The item, or the reason why it cannot be reached.
    pub item: Result<Item<'f>>,
}

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ItemKind {
    /// Named items.
    Mapping,
    /// Numbered items.
    List,
    /// An array.
    Array,
    /// A number, a boolean, a date.
    Scalar,
    /// Text.
    Text,
    /// A null.
    Null,
    /// A reference to an item of this file or another.
    Reference,
}

impl ItemKind {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mapping => "mapping",
            Self::List => "list",
            Self::Array => "array",
            Self::Scalar => "scalar",
            Self::Text => "text",
            Self::Null => "null",
            Self::Reference => "reference",
        }
    }

    /// Returns `true` if it has children.
    pub fn is_collection(self) -> bool {
        matches!(self, Self::Mapping | Self::List)
    }
}

/// The parts of the metadata of an item. A walk that wants tags does not pay for anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataParts(u8);

impl MetadataParts {
    /// The tag, and the target of a reference.
    pub const TAG: Self = Self(1);
    /// The values of attributes as strings.
    pub const ATTRIBUTES: Self = Self(2);
    /// Documentation, role, the declared names of axes in one line, and the metadata of members.
    pub const DOCUMENTATION: Self = Self(32);
    /// Documentation and attributes.
    pub const TEXT: Self = Self(2 | 32);
    /// The unit.
    pub const UNIT: Self = Self(4);
    /// The names of the axes.
    pub const AXES: Self = Self(8);
    /// The form in which a list or a table is written, and whether another item hides this one.
    pub const FLAGS: Self = Self(16);

    /// Returns both parts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns `true` if any of the other parts is among these.
    pub fn includes(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Metadata attached to an item.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ItemMetadata<'f> {
    /// Full tag of the item.
    pub tag: Option<&'f str>,
    /// Documentation or comment of the item, in one line.
    pub comment: Option<Cow<'f, str>>,
    /// Unit of the item.
    pub unit: Option<Cow<'f, str>>,
    /// Names and values of the other attributes.
    pub attributes: Vec<(Cow<'f, str>, String)>,
    /// Special role of the item in the file, if any, such as `parameter`.
    pub role: Option<&'static str>,
    /// Returns the target of a reference as the file spells it, or None for an alias.
    pub reference: Option<Cow<'f, str>>,
    /// Notes of the members of an array of structs, by their paths from the item on, for example `.a.b`. At the root
    /// those of the summary block of a layout, as `{}`.
    pub members: Vec<(String, ItemMetadata<'f>)>,
    /// The names of the axes of an array.
    pub axes: AxisNames,
    /// The names that the file declares for the axes, in one line, such as `[time, x]`; `-` is an axis without one.
    pub dims: Option<String>,
    /// `true` for a list that records one quantity again and again (Dudley), rather than collecting what belongs together.
    pub is_history: bool,
    /// `true` for a table of a FITS file, and for a column of one, in which each row has an array.
    pub is_ragged: bool,
    /// `true` if another item of the same mapping has the name of this one and is meant by it.
    pub is_hidden: bool,
}

impl ItemMetadata<'_> {
    /// Returns the metadata without a borrow of the file, and without the tag.
    pub(super) fn into_owned(self) -> ItemMetadata<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        ItemMetadata {
            tag: None,
            comment: self.comment.map(own),
            unit: self.unit.map(own),
            attributes: self.attributes.into_iter().map(|(name, value)| (own(name), value)).collect(),
            role: self.role,
            reference: self.reference.map(own),
            members: self.members.into_iter().map(|(path, metadata)| (path, metadata.into_owned())).collect(),
            axes: self.axes,
            dims: self.dims,
            is_history: self.is_history,
            is_ragged: self.is_ragged,
            is_hidden: self.is_hidden,
        }
    }
}

/// The file of an item: the one that was asked, or one that it refers to.
#[derive(Debug, Clone)]
enum FileHandle<'f> {
    Borrowed(&'f dyn Backend),
    Shared(Arc<dyn Backend>),
}

/// One item of a [`File`]: a view of what was parsed.
#[derive(Debug, Clone)]
pub struct Item<'f> {
    file: FileHandle<'f>,
    place: ItemLocation,
}

/// The children of an item: name (None in a list) and item.
pub type ItemChildren<'f> = Vec<(Option<Cow<'f, str>>, Item<'f>)>;

/// Properties of an item that change how it is shown, from [`Item::flags`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ItemFlags {
    /// `true` if another item of the same mapping has its name and is found by it.
    pub is_hidden: bool,
    /// `true` for a list that records one quantity again and again, so that it is written with the elements of its arrays, not
    /// with what they are.
    pub is_history: bool,
    /// `true` for a table of a FITS file, or a column of one, with an array for each row, so that it is written with the elements
    /// of these arrays, not with what they are.
    pub is_ragged: bool,
}

impl<'f> Item<'f> {
    fn from_target(from: FileHandle<'f>, found: ResolvedItem) -> Self {
        Self { file: found.external_file.map_or(from, FileHandle::Shared), place: found.place }
    }

    /// Returns the item at a place of a backend.
    pub fn new(backend: &'f dyn Backend, place: ItemLocation) -> Self {
        Item { file: FileHandle::Borrowed(backend), place }
    }

    /// Returns the target of a path or a reference in a backend.
    pub(super) fn from_path_target(backend: &'f dyn Backend, found: ResolvedItem) -> Self {
        Self::from_target(FileHandle::Borrowed(backend), found)
    }

    /// Returns the root of a backend that the item keeps.
    pub(super) fn from_backend(backend: Arc<dyn Backend>) -> Self {
        let place = backend.root();
        Self { file: FileHandle::Shared(backend), place }
    }

    /// Returns the item as the target of a path in the file that was asked.
    pub(super) fn into_resolved(self) -> ResolvedItem {
        let external_file = match self.file {
            FileHandle::Borrowed(_) => None,
            FileHandle::Shared(backend) => Some(backend),
        };
        ResolvedItem { external_file, place: self.place }
    }

    /// Returns the address of the backend, which for a column is that of its table.
    pub(super) fn file_address(&self) -> usize {
        let backend = self.backend();
        ColumnFile::owner_address(backend).unwrap_or_else(|| std::ptr::from_ref(backend).cast::<()>().addr())
    }

    /// Returns the backend of the item's file.
    pub fn backend(&self) -> &dyn Backend {
        match &self.file {
            FileHandle::Borrowed(backend) => *backend,
            FileHandle::Shared(backend) => &**backend,
        }
    }

    /// Returns the item as a node of a tree, and the file of that, if the file has a tree.
    pub fn as_asdf(&self) -> Option<(&AsdfFile, Node<'_>)> {
        let any: &dyn Any = self.backend();
        any.downcast_ref::<AsdfFile>().map(|file| (file, file.node_at(&self.place)))
    }

    /// Refuses a quantity, a table or a column of ASDF that lacks a key without which it does not state what it holds.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) with the key.
    #[doc(hidden)]
    pub fn check_required_keys(&self) -> Result<()> {
        let Some((_, node)) = self.as_asdf() else { return Ok(()) };
        required_keys::check_required_keys(node).map_err(|error| match self.path() {
            Some(path) => error.in_item("", &path),
            None => error,
        })
    }

    /// Returns a file and a number that no other item has while both are open.
    pub(crate) fn identity_key(&self) -> (usize, Option<usize>) {
        let number = match &self.place {
            ItemLocation::Node(number) => Some(*number),
            ItemLocation::Array { .. } => None,
        };
        (std::ptr::from_ref(self.backend()).cast::<()>().addr(), number)
    }

    /// Returns true if the file names the item so that aliases can refer to it.
    pub(crate) fn is_anchored(&self) -> bool {
        self.as_asdf().is_some_and(|(_, node)| node.anchor().is_some())
    }

    /// Returns another item of the same file.
    #[must_use]
    #[doc(hidden)]
    pub fn with_location(&self, place: ItemLocation) -> Item<'f> {
        Item { file: self.file.clone(), place }
    }

    /// Returns the place of the item in that file.
    pub fn location(&self) -> &ItemLocation {
        &self.place
    }

    /// Returns the kind of the item.
    pub fn kind(&self) -> ItemKind {
        self.backend().kind(&self.place)
    }

    /// Returns the children of a mapping or a list in the order of the file; nothing for everything else.
    ///
    /// # Errors
    /// Returns an error if the children cannot be read.
    pub fn children(&self) -> Result<ItemChildren<'_>> {
        let held = || match &self.file {
            FileHandle::Borrowed(backend) => FileHandle::Borrowed(*backend),
            FileHandle::Shared(backend) => FileHandle::Borrowed(&**backend),
        };
        let child = |ChildItem { name, place }| (name, Item { file: held(), place });
        Ok(self.backend().children(&self.place)?.into_iter().map(child).collect())
    }

    /// Returns the child of this number, counted from 0, or None if there are fewer.
    ///
    /// # Errors
    /// Returns the errors of [`Item::children`].
    pub(crate) fn child(&self, index: usize) -> Result<Option<Item<'f>>> {
        let child = self.backend().children(&self.place)?.into_iter().nth(index).map(|child| child.place);
        Ok(child.map(|place| self.with_location(place)))
    }

    /// Returns the children of [`Item::children`] as items that outlive this one.
    pub(crate) fn owned_children(&self) -> Result<Vec<Item<'f>>> {
        Ok(self.backend().children(&self.place)?.into_iter().map(|child| self.with_location(child.place)).collect())
    }

    /// Returns the child with a key: a name of a mapping, a number of a list, or the column of a table. A reference is
    /// followed.
    ///
    /// # Errors
    /// Returns the errors of [`Item::children`] and [`Item::resolve`].
    pub fn get(&self, key: &str) -> Result<Option<Item<'f>>> {
        match self.backend().child(&self.place, key)? {
            Some(place) => self.with_location(place).resolve().map(Some),
            None => find_column(self, key),
        }
    }

    /// Returns the item at a path from here: a key, keys with `/` between them, or a path as the family spells it
    /// (`list[3]`, `records.time`). References on the way and at its end are followed.
    ///
    /// ```
    /// let text = b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: {b: [1, 2]}, a/b: 3}\n...\n";
    /// let file = trilith::OpenOptions::new().open_bytes(text.to_vec())?;
    /// let root = file.root();
    /// assert_eq!(root.find("/a/b/1")?.map(|item| item.text().unwrap_or_default().into_owned()), Some("2".to_owned()));
    /// assert_eq!(root.find("a/b")?.map(|item| item.kind()), Some(trilith::ItemKind::Scalar));
    /// assert!(root.find("a/c")?.is_none());
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Item::get`].
    pub fn find(&self, path: &str) -> Result<Option<Item<'f>>> {
        if let Some(found) = self.get(path)? {
            return Ok(Some(found));
        }
        if path.contains(['/', '~'])
            && let Ok(keys) = TreePath::parse(path)
        {
            let step = |at: Option<Item<'f>>, key: &String| at.map_or(Ok(None), |item| item.get(key));
            if let Some(found) = keys.keys().iter().try_fold(Some(self.clone()), step)? {
                return Ok(Some(found));
            }
        }
        // A path that only the family spells in this way goes on from that of the item.
        let above = self.path().unwrap_or_default();
        let mark = if path.starts_with(['/', '[', '.', '(']) { "" } else { "/" };
        match self.backend().find(&format!("{above}{mark}{path}")) {
            Ok(found) => Ok(Some(Item::from_target(self.file.clone(), found))),
            Err(error) if error.kind().is_request() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the children that a program indexes: keys with their types (None in a list) and items. Unlike in
    /// [`Item::children`], an item whose name another one has too is left out if the name means the other.
    ///
    /// # Errors
    /// Returns the errors of [`Item::children`].
    pub fn keyed_children(&self) -> Result<Vec<(Option<Scalar<'_>>, Item<'f>)>> {
        let members = self.backend().keyed_children(&self.place)?;
        Ok(members.into_iter().map(|(key, place)| (key, self.with_location(place))).collect())
    }

    /// Returns its path from the root of its file; None if no path leads to it.
    pub fn path(&self) -> Option<String> {
        self.backend().path(&self.place)
    }

    /// Returns the mapping or list that contains the item, and its key there.
    pub fn parent(&self) -> Option<(Item<'f>, String)> {
        let (_, node) = self.as_asdf()?;
        let path = node.tree().path_of(node.id())?;
        let (above, key) = path.split_last()?;
        let above = node.tree().find(&above)?;
        Some((self.with_location(ItemLocation::Node(above.id().index())), key.to_owned()))
    }

    /// Returns its attributes in the order of the file, with their datatypes: cards of FITS, attributes of HDF5, netCDF and layouts,
    /// tags of TIFF. Names may repeat.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub fn attributes(&self) -> Result<Vec<ItemAttribute>> {
        self.backend().attributes(&self.place, &|_| true)
    }

    /// Returns the item as one of a Dudley file, and its number in the outline, if it is one.
    pub fn as_dudley(&self) -> Option<(&DudleyFile, ItemTreeId)> {
        let any: &dyn Any = self.backend();
        let file = any.downcast_ref::<DudleyFile>()?;
        Some((file, super::dudley::outline_id(file, &self.place).ok()?))
    }

    /// Returns the names of the axes of an array: those that the layout of its file declares, otherwise the
    /// parameters that are the lengths of the axes. In a file set the first axis counts the files.
    ///
    /// ```
    /// use trilith::{OpenOptions, layout::Layout};
    /// let layout = Layout::read(b"N : i1  x = u1[N-,2]")?;
    /// let file = OpenOptions::new().layout(layout).open_bytes(vec![2, 5, 6])?;
    /// assert_eq!(file.item("/x")?.axes()?.names, [Some("N-1".to_owned()), None]);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub fn axes(&self) -> Result<AxisNames> {
        Ok(self.backend().metadata(&self.place, MetadataParts::AXES)?.axes)
    }

    /// Returns the unit of an array as the file spells it: that of its quantity or column, or an attribute.
    pub fn unit(&self) -> Option<String> {
        self.backend().metadata(&self.place, MetadataParts::UNIT).ok()?.unit.map(Cow::into_owned)
    }

    /// Returns the array that the item is; in a Dudley file also that of a list of equal arrays.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it is none.
    pub fn array(&self) -> Result<Array> {
        self.backend().array(&self.place)
    }

    /// Returns the item as one array, if it can be one: a list of equal arrays or numbers gets a leading axis, a number has no
    /// axes, and an HDU of a FITS file is its data.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it cannot, with the reason.
    pub fn as_array(&self) -> Result<Array> {
        match self.hdu_data()? {
            Some(data) => data.array(),
            None => self.backend().as_array(&self.place),
        }
    }

    /// Returns the value of a scalar, a text or a null.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for anything else.
    pub fn value(&self) -> Result<Scalar<'_>> {
        self.backend().value(&self.place)
    }

    /// Returns a scalar or a text as the file spells it.
    ///
    /// # Errors
    /// Returns the errors of [`Item::value`].
    pub fn text(&self) -> Result<Cow<'_, str>> {
        self.backend().text(&self.place)
    }

    /// Describes an array and its storage. Reads no element.
    ///
    /// # Errors
    /// Returns the errors of [`Item::array`].
    pub fn describe(&self) -> Result<ArrayDescription> {
        self.backend().describe(&self.place)
    }

    /// Returns the metadata of the item: tag, comment, unit, attributes.
    pub fn metadata(&self) -> ItemMetadata<'_> {
        let parts = MetadataParts::TAG.and(MetadataParts::TEXT);
        self.backend().metadata(&self.place, parts).unwrap_or_default()
    }

    /// Returns the line and column of the item in the text of the file, counted from 1, or None if it has no text. Each call
    /// counts the lines.
    pub fn line_column(&self) -> Option<(u32, u32)> {
        self.backend().line_column(&self.place)
    }

    /// Returns the attributes of the item together with those of its parent.
    pub fn header(&self) -> ItemHeader<'_, 'f> {
        ItemHeader::new(self)
    }

    /// Returns the reader of elements with their text decoded.
    pub fn decoder(&self) -> ItemDecoder<'_, 'f> {
        ItemDecoder::new(self)
    }

    /// Returns the properties of the item that change how it is shown.
    pub fn flags(&self) -> ItemFlags {
        let kind = self.kind();
        let found = self.backend().metadata(&self.place, MetadataParts::FLAGS).unwrap_or_default();
        ItemFlags {
            is_hidden: found.is_hidden,
            is_history: kind == ItemKind::List && found.is_history,
            is_ragged: kind.is_collection() && found.is_ragged,
        }
    }

    /// Returns the target of a reference, or the item itself if it is none.
    ///
    /// # Errors
    /// Returns an error if the other file cannot be opened.
    pub fn resolve(&self) -> Result<Item<'f>> {
        if self.kind() != ItemKind::Reference {
            return Ok(self.clone());
        }
        Ok(Item::from_target(self.file.clone(), self.backend().target(&self.place)?))
    }

    /// Returns the item as a value that can be printed as YAML, and the handles of its tags.
    ///
    /// # Errors
    /// Returns the errors of [`expand_item`](super::expand_item).
    pub fn to_value(&self) -> Result<(Value, Vec<(String, String)>)> {
        super::expand::to_value(self.backend(), &self.place)
    }

    /// Reads the item, and all below it, into a custom type.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the item does not fit the type, and the
    /// errors of [`from_node`](crate::tree::from_node).
    pub fn deserialize<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        self.as_asdf().map_or_else(|| self.by_text(), |(_, node)| node.deserialize())
    }

    /// Deserializes the item from its YAML text.
    fn by_text<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        let text = print_document(&self.to_value()?.0, &PrintOptions::default());
        Tree::parse(text, self.backend().limits())?.root().deserialize()
    }

    /// Walks the item and all below it in the order of the file; references are not entered.
    pub fn walk(&self) -> ItemWalk<'_> {
        let backend = self.backend();
        ItemWalk {
            backend,
            root: self.place.clone(),
            base_path: OnceCell::new(),
            start: Some(self.place.clone()),
            descends: None,
            levels: Vec::new(),
            budget: backend.limits().nodes,
        }
    }
}

/// One step of a [`ItemWalk`].
#[derive(Debug)]
#[non_exhaustive]
pub struct WalkEntry<'w> {
    /// The name in the parent; None for items of lists and for the start.
    pub name: Option<Cow<'w, str>>,
    /// The number among the children of the parent.
    pub index: usize,
    /// The item.
    pub item: Item<'w>,
    /// Number of steps below the start.
    pub depth: usize,
}

/// Walks an item and all below it without recursion, see [`Item::walk`].
#[derive(Debug)]
pub struct ItemWalk<'w> {
    backend: &'w dyn Backend,
    root: ItemLocation,
    /// The path of `root`, once it is needed.
    base_path: OnceCell<String>,
    start: Option<ItemLocation>,
    descends: Option<ItemLocation>,
    levels: Vec<WalkLevel<'w>>,
    budget: u64,
}

/// A collection that the walk is inside of.
#[derive(Debug)]
struct WalkLevel<'w> {
    children: std::vec::IntoIter<ChildItem<'w>>,
    index: usize,
    /// The child that was visited last.
    last_name: Option<ChildItem<'w>>,
    /// The path of the collection, once it is needed.
    parent_path: OnceCell<String>,
}

impl<'w> ItemWalk<'w> {
    /// Returns the next item, or None at the end.
    ///
    /// # Errors
    /// Returns an error if the children cannot be read, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) after
    /// [`Limits::nodes`](crate::Limits) items.
    pub fn try_next(&mut self) -> Result<Option<WalkEntry<'w>>> {
        if let Some(place) = self.descends.take() {
            let children = self.backend.children(&place)?.into_iter();
            self.levels.push(WalkLevel { children, index: 0, last_name: None, parent_path: OnceCell::new() });
        }
        let (name, index, place) = match self.start.take() {
            Some(start) => (None, 0, start),
            None => loop {
                let Some(level) = self.levels.last_mut() else { return Ok(None) };
                let Some(child) = level.children.next() else {
                    self.levels.pop();
                    continue;
                };
                let found = (child.name.clone(), level.index, child.place.clone());
                level.index += 1;
                level.last_name = Some(child);
                break found;
            },
        };
        let limit = self.backend.limits().nodes;
        self.budget = self
            .budget
            .checked_sub(1)
            .ok_or_else(|| Limits::exceeded_error("nodes", limit, "the file has more items to visit"))?;
        let item = Item { file: FileHandle::Borrowed(self.backend), place };
        self.descends = Some(item.place.clone());
        Ok(Some(WalkEntry { name, index, depth: self.levels.len(), item }))
    }

    /// Leaves out the items below that of the last step.
    pub fn skip_children(&mut self) {
        self.descends = None;
    }

    /// Returns the path, from the start of the walk, of the item of the last step.
    pub fn path(&self) -> String {
        // A path may be known to the child alone, and then begins at the root of the file.
        let base = self.base_path.get_or_init(|| self.backend.path(&self.root).unwrap_or_default()).as_str();
        let step = |parent: &str, level: &WalkLevel<'w>| match &level.last_name {
            Some(child) => self.backend.child_path(parent, child, level.index.saturating_sub(1)),
            None => parent.to_owned(),
        };
        let (mut parent, mut above) = (base, None);
        for level in &self.levels {
            // A level lasts for all of its children, so their paths share that of the parent.
            parent = level.parent_path.get_or_init(|| above.map_or_else(|| base.to_owned(), |above| step(parent, above)));
            above = Some(level);
        }
        let path = above.map_or_else(|| base.to_owned(), |level| step(parent, level));
        if base.is_empty() {
            return path;
        }
        path.strip_prefix(base).unwrap_or(&path).to_owned()
    }
}
