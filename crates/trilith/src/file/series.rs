//! A family of files under one layout as one file, each of whose items is one array.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::backend::{self, Backend, Child, Destination, Place};
use super::item::{ItemKind, Notes};
use super::stack::not_an_array;
use crate::array::Array;
use crate::bytes::{Base, Resolve, SourceRef};
use crate::dudley::{self, Catalog, DudleyFile, Omission};
use crate::error::{Error, ErrorKind, Result, Setting};
use crate::layout::{Byteorder, ItemId, Kind, Layout, Options};
use crate::limits::Limits;
use crate::tree::Value;
use crate::yaml::Scalar;

/// The files that a catalog lists, under the layout that they share. Each item is one array, whose first axis counts
/// the files; a slice opens only the files that hold it.
pub struct Series {
    catalog: Catalog,
    template: Layout,
    how: Options,
    rows: Vec<Range<usize>>,
    resolve: Arc<dyn Resolve>,
    source: SourceRef,
    warnings: Vec<String>,
    nodes: Vec<Node>,
}

/// A group of the files, or an item.
struct Node {
    item: ItemId,
    is_group: bool,
    /// Numbers of the nodes in it.
    children: Vec<usize>,
}

/// Returns the groups, arrays and parameters outside of lists, the root first.
fn nodes_of(layout: &Layout) -> Vec<Node> {
    let mut nodes = vec![Node { item: ItemId::ROOT, is_group: true, children: Vec::new() }];
    let summary = layout.summary_members();
    for item in (1..layout.item_count()).filter_map(|at| layout.item_at(at)) {
        let Some(above) = layout.parent(item).and_then(|parent| nodes.iter().position(|node| node.item == parent)) else {
            continue;
        };
        let is_param = layout.kind(item) == Kind::Param
            && above == 0
            && summary.iter().any(|(name, is_param)| *is_param && layout.name(item) == Some(name));
        let is_group = layout.kind(item) == Kind::Dict;
        if (!is_group && !is_param && layout.kind(item) != Kind::Data) || layout.name(item).is_none() {
            continue;
        }
        let number = nodes.len();
        nodes.extend([Node { item, is_group, children: Vec::new() }]);
        if let Some(parent) = nodes.get_mut(above).filter(|node| node.is_group) {
            parent.children.push(number);
        }
    }
    nodes
}

impl Series {
    /// The family that the stream of a catalog describes, under `template` or else the layout that the catalog holds. The files
    /// of a catalog that does not record it have a signature, unless they are `raw`. `files` are some of them, all if there are none.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::read`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if files are
    /// missing.
    pub fn open(
        stream: &DudleyFile,
        template: Option<Layout>,
        raw: bool,
        order: Option<Byteorder>,
        files: &[Range<Option<usize>>],
        resolve: Arc<dyn Resolve>,
    ) -> Result<Self> {
        // The program that wrote the catalog most likely wrote the files.
        let order = order.or(stream.signature().map(|signature| signature.order));
        let catalog = Catalog::read(stream)?;
        if raw && catalog.is_native() == Some(true) {
            let message = "by the catalog its files have a signature, but they were to be read as files without one";
            return Err(Error::invalid_input(message).setting("", Setting::Omit(&["raw"])));
        }
        let native = catalog.is_native().unwrap_or(!raw);
        let how = Options { native, order, limits: stream.limits().clone() };
        let Some(template) = template.or_else(|| catalog.template().cloned()) else {
            let message = format!("{} does not hold the layout of its files", stream.source().name());
            return Err(Error::invalid_input(message).setting("", Setting::Layout));
        };
        let len = catalog.len();
        let mut rows = Vec::new();
        for range in files {
            let range = range.start.unwrap_or(0)..range.end.unwrap_or(len);
            if range.start > range.end || range.end > len {
                return Err(Error::invalid_input(format!("the catalog has {len} files, not {}:{}", range.start, range.end)));
            }
            rows.push(range);
        }
        if rows.is_empty() {
            rows.push(0..len);
        }
        let (source, warnings) = (stream.source().clone(), stream.warnings());
        let nodes = nodes_of(&template);
        Ok(Self { catalog, template, how, rows, resolve, source, warnings, nodes })
    }

    /// The files and their parameters.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The layout of the files.
    pub fn template(&self) -> &Layout {
        &self.template
    }

    /// An item of the files that were chosen.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn array_at(&self, path: &str) -> Result<Array> {
        let path = path.trim_start_matches('#');
        self.catalog.array_at(&self.template, path, &self.rows, &self.how, Arc::clone(&self.resolve))
    }

    /// The files that are masked in an item: they omit it, or are not there.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn omitted(&self, path: &str) -> Result<Vec<Omission>> {
        let path = path.trim_start_matches('#');
        self.catalog.omitted(&self.template, path, &self.rows, &self.how, &*self.resolve)
    }

    /// Returns the place of an item in each file, without opening it.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::locate`].
    pub fn locate(&self, item: &str, take: &mut dyn FnMut(dudley::Place<'_>) -> Result<()>) -> Result<()> {
        self.catalog.locate(&self.template, item, &self.how, take)
    }

    /// Returns the error for a path that leads nowhere in the files, with the item that may have been meant.
    pub fn no_item(&self, path: &str) -> Error {
        let error = match self.template.missing(path) {
            Some(missing) => Error::no_key(&missing.name, &missing.names, 0),
            None => Error::invalid_input(format!("no file of the catalog has an item {path}")),
        };
        error.at_path(path)
    }

    fn node(&self, at: &Place) -> Option<&Node> {
        match at {
            Place::Node(number) => self.nodes.get(*number),
            Place::Located { .. } => None,
        }
    }

    fn path_of(&self, at: &Place) -> Option<String> {
        match at {
            Place::Located { path, .. } => Some(path.to_string()),
            Place::Node(_) => self.node(at).filter(|node| node.item != ItemId::ROOT).map(|node| self.template.path(node.item)),
        }
    }
}

impl std::fmt::Debug for Series {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Series").field("catalog", &self.source.name()).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Backend for Series {
    fn family(&self) -> &str {
        "dudley"
    }

    fn source(&self) -> &SourceRef {
        &self.source
    }

    fn limits(&self) -> &Limits {
        &self.how.limits
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn find(&self, path: &str) -> Result<Destination> {
        match backend::by_keys(self, path) {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == ErrorKind::NotFound && !path.contains(['[', '.', '(']) => {
                return Err(self.no_item(path));
            }
            Err(_) => {}
        }
        let array = Box::new(self.array_at(path)?);
        Ok(Destination::here(Place::Located { path: path.into(), array, is_list: false }))
    }

    fn locate(&self, at: &Place, path: &str) -> Result<Option<Destination>> {
        // A member of structs is named after its item, and an element of a list after the list.
        if !path.contains(['[', '.', '(']) {
            return Ok(None);
        }
        let above = self.path_of(at).unwrap_or_default();
        match self.find(&format!("{above}/{}", path.trim_start_matches('/'))) {
            Err(error) if error.kind().is_request() => Ok(None),
            found => found.map(Some),
        }
    }

    fn path(&self, at: &Place) -> Option<String> {
        Some(self.path_of(at).unwrap_or_default())
    }

    fn attributes(&self, at: &Place) -> Result<Vec<(Cow<'_, str>, Value)>> {
        match at {
            Place::Node(0) => Ok(vec![("files".into(), Value::seq(self.catalog.files().iter().cloned()))]),
            _ => Ok(Vec::new()),
        }
    }

    fn kind(&self, at: &Place) -> ItemKind {
        if self.node(at).is_some_and(|node| node.is_group) { ItemKind::Mapping } else { ItemKind::Array }
    }

    fn children(&self, at: &Place) -> Result<Vec<Child<'_>>> {
        let children = self.node(at).map_or(&[][..], |node| node.children.as_slice());
        let child = |number: &usize| {
            let name = self.nodes.get(*number).and_then(|node| self.template.name(node.item)).map(Cow::Borrowed);
            Child { name, place: Place::Node(*number) }
        };
        Ok(children.iter().map(child).collect())
    }

    fn value(&self, _: &Place) -> Result<Scalar<'_>> {
        Err(Error::invalid_input("the items of a file set are arrays"))
    }

    fn array(&self, at: &Place) -> Result<Array> {
        if let Place::Located { array, .. } = at {
            return Ok((**array).clone());
        }
        match self.node(at).filter(|node| !node.is_group) {
            Some(node) => self.array_at(&self.template.path(node.item)),
            None => Err(not_an_array("file set")),
        }
    }

    fn notes(&self, at: &Place) -> Notes<'_> {
        let mut notes = Notes::default();
        if let Some(item) = self.path_of(at).and_then(|path| dudley::declared(&self.template, &path)) {
            super::dudley::say(&mut notes, &self.template, item);
        }
        notes
    }

    fn presented(&self, array: Array) -> Result<Array> {
        dudley::presented(&array)
    }

    fn moved_to(self: Arc<Self>, _: &Base) -> Result<Arc<dyn Backend>> {
        Ok(self)
    }
}
