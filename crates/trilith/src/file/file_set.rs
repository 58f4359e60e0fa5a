//! A family of files under one layout as one file, each of whose items is one array.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::as_array::not_an_array;
use super::backend::{self, Axes, Backend, Child, Destination, Place};
use super::dudley::{axes_of, value_of};
use super::item::{ItemKind, Notes};
use crate::array::Array;
use crate::bytes::{Base, Resolve, SourceRef};
use crate::condition::{Cell, Filter};
use crate::dudley::{self, Catalog, DudleyFile, Omission, Selection, Unequal, Wanted};
use crate::error::{Error, ErrorKind, Result, Setting};
use crate::layout::{Byteorder, ItemId, Kind, Layout, Options, quoted_name};
use crate::limits::Limits;
use crate::threads::lock;
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
    selection: Selection,
    /// Cache by node: arrays of an item that is a list; `None` if the item is no list.
    each: Mutex<HashMap<usize, Option<Each>>>,
}

/// The arrays of an item in each file; None for a file that omits it.
type Each = Arc<Vec<Option<Array>>>;

/// Options for opening a set of files under one layout.
#[derive(Debug, Clone, Default)]
pub(super) struct SeriesOptions {
    /// `true` if the file has to be a catalog.
    pub is_required: bool,
    /// `true` if a catalog is opened as the file that it is.
    pub is_refused: bool,
    pub template: Option<Layout>,
    pub raw: bool,
    pub selection: Selection,
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
    /// The family that the stream of a catalog describes, under the template of the options or else the layout that the
    /// catalog holds. The files of a catalog that does not record it have a signature, unless they are `raw`.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::read`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if files are
    /// missing, or none meets the condition.
    pub(super) fn open(
        stream: &DudleyFile,
        options: &SeriesOptions,
        order: Option<Byteorder>,
        resolve: Arc<dyn Resolve>,
    ) -> Result<Self> {
        // The program that wrote the catalog most likely wrote the files.
        let order = order.or(stream.signature().map(|signature| signature.order));
        let catalog = Catalog::read(stream)?;
        if options.raw && catalog.is_native() == Some(true) {
            let message = "by the catalog its files have a signature, but they were to be read as files without one";
            return Err(Error::invalid_input(message).setting("", Setting::Omit(&["raw"])));
        }
        let native = catalog.is_native().unwrap_or(!options.raw);
        let mut how = Options::default();
        (how.native, how.order, how.limits) = (native, order, stream.limits().clone());
        let Some(template) = options.template.clone().or_else(|| catalog.template().cloned()) else {
            let message = format!("{} does not hold the layout of its files", stream.source().name());
            return Err(Error::invalid_input(message).setting("", Setting::Layout));
        };
        let len = catalog.len();
        let mut rows = Vec::new();
        for range in &options.selection.ranges {
            let range = range.start.unwrap_or(0)..range.end.unwrap_or(len);
            if range.start > range.end || range.end > len {
                return Err(Error::invalid_input(format!("the catalog has {len} files, not {}:{}", range.start, range.end)));
            }
            rows.push(range);
        }
        if rows.is_empty() {
            rows.push(0..len);
        }
        let selection = options.selection.clone();
        let items = (0..template.item_count()).filter_map(|at| template.item_at(at));
        let axes: BTreeSet<String> = items.flat_map(|item| template.axis_names(item)).flatten().collect();
        if let Some(unknown) = selection.along.iter().find(|name| !axes.contains(*name)) {
            let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
            return Err(Error::invalid_input(format!("no item of the files has an axis {unknown}")).hint(crate::suggest::offer(
                unknown,
                "the axes are ",
                &axes,
                12,
            )));
        }
        let (source, warnings) = (stream.source().clone(), stream.warnings());
        let nodes = nodes_of(&template);
        let each = Mutex::default();
        let mut series = Self { catalog, template, how, rows, selection, resolve, source, warnings, nodes, each };
        if let Some(condition) = &options.selection.condition {
            series.rows = series.meeting(condition)?;
        }
        Ok(series)
    }

    /// The chosen files that meet a condition on the values of the summary block.
    fn meeting(&self, condition: &str) -> Result<Vec<Range<usize>>> {
        let nodes = self.nodes.iter().filter(|node| self.template.is_summary_value(node.item));
        let names: Vec<String> = nodes.filter_map(|node| self.template.name(node.item).map(str::to_owned)).collect();
        if names.is_empty() {
            let message = "the layout of the files has no value in its summary block that a condition could use";
            return Err(Error::invalid_input(message).hint("choose files by their numbers"));
        }
        let filter = Filter::parse(condition, "variable", &names)?;
        let mut columns = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let used = filter.uses(at).then(|| self.array_at(&format!("/{}", quoted_name(name))));
            let presented = used.transpose()?.map(|array| dudley::presented(&array)).transpose()?;
            columns.push(presented.map(|array| Cell::of_elements(&array)).transpose()?.flatten());
        }
        let mut rows: Vec<Range<usize>> = Vec::new();
        for (number, row) in self.rows.iter().cloned().flatten().enumerate() {
            let cell =
                |column: &Option<Vec<Cell>>| column.as_ref().and_then(|cells| cells.get(number)).cloned().unwrap_or_default();
            let cells: Vec<Cell> = columns.iter().map(cell).collect();
            match rows.last_mut() {
                _ if !filter.holds(&cells) => {}
                Some(last) if last.end == row => last.end += 1,
                _ => rows.push(row..row + 1),
            }
        }
        if rows.is_empty() {
            let count = self.rows.iter().map(Range::len).sum::<usize>();
            return Err(Error::invalid_input(format!("none of the {count} files meets the condition {condition}")));
        }
        Ok(rows)
    }

    /// The byte order of data if neither the layout nor a file gives it.
    pub fn order(&self) -> Option<Byteorder> {
        self.how.order
    }

    /// The numbers of the files that are read.
    pub fn rows(&self) -> &[Range<usize>] {
        &self.rows
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
        self.catalog.array_as(self.wanted(path), &self.selection, Arc::clone(&self.resolve))
    }

    /// The files that are masked in an item: they omit it, or are not there.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn omitted(&self, path: &str) -> Result<Vec<Omission>> {
        let path = path.trim_start_matches('#');
        self.catalog.omitted_as(self.wanted(path), &self.selection, &*self.resolve)
    }

    /// Compares the files with the catalog, and calls `check` for each that can be opened. Returns the errors of the files, by
    /// their names.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::compare`].
    pub(crate) fn compare(&self, check: &mut dyn FnMut(&str, &DudleyFile)) -> Result<Vec<(String, Error)>> {
        let mut open = |name: &str| {
            let (source, resolve) = self.resolve.resolve(&dudley::uri_of(name))?;
            let mut how = dudley::StreamOptions::default();
            (how.layout, how.order) = (Some(self.template.clone()), self.how.order);
            let file = DudleyFile::open_with(source, &*resolve, how, &self.how.limits)?;
            check(name, &file);
            Ok(file)
        };
        self.catalog.compare_rows(&self.template, &self.rows, &mut open, &self.how.limits)
    }

    fn wanted<'a>(&'a self, item: &'a str) -> Wanted<'a> {
        Wanted { template: &self.template, item, rows: &self.rows, options: &self.how }
    }

    /// Returns warnings for an item that is one array although some files omit it or are not there. None if the form was chosen
    /// in which such files are masked.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn remarks(&self, path: &str) -> Result<Vec<String>> {
        match self.selection.unequal {
            Unequal::Padded => Ok(Vec::new()),
            _ => Ok(Omission::warnings(path, &self.omitted(path)?)),
        }
    }

    /// Returns the place of an item in each file that was chosen, without opening it.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::locate`].
    pub fn locate(&self, item: &str, take: &mut dyn FnMut(dudley::Place<'_>) -> Result<()>) -> Result<()> {
        self.catalog.locate_rows(&self.template, item, &self.rows, &self.how, &mut |_, place| take(place))
    }

    /// Returns the error for a path that leads nowhere in the files, with the item that may have been meant.
    pub fn no_item(&self, path: &str) -> Error {
        let error = match self.template.missing(path) {
            Some(missing) => Error::no_key(&missing.name, &missing.names, 0),
            None => Error::invalid_input(format!("no file of the catalog has an item {path}")),
        };
        error.at_path(path)
    }

    /// The arrays of an item in each file, if its shape differs and such items are to be lists.
    fn each(&self, at: &Place) -> Result<Option<Each>> {
        let (Place::Node(number), Unequal::Each) = (at, self.selection.unequal) else { return Ok(None) };
        let Some(node) = self.node(at).filter(|node| !node.is_group) else { return Ok(None) };
        if let Some(known) = lock(&self.each).get(number) {
            return Ok(known.clone());
        }
        let (path, resolve) = (self.template.path(node.item), Arc::clone(&self.resolve));
        let found = match self.axis_along(node.item) {
            Some(_) => None,
            None => self.catalog.each_of(self.wanted(&path), resolve)?.map(Arc::new),
        };
        lock(&self.each).insert(*number, found.clone());
        Ok(found)
    }

    /// The axis along which an item is joined.
    fn axis_along(&self, item: ItemId) -> Option<usize> {
        let names = self.template.axis_names(item);
        names.iter().position(|name| name.as_ref().is_some_and(|name| self.selection.along.contains(name)))
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
            _ => {
                let item = self.node(at).map(|node| node.item);
                let said = item.into_iter().flat_map(|item| dudley::described(&self.template, item));
                Ok(said.map(|(name, said)| (name, value_of(&said))).collect())
            }
        }
    }

    fn axes(&self, at: &Place) -> Result<Axes> {
        let record = || Some(self.template.record_axis().to_owned());
        let mut axes = Axes::default();
        match (self.node(at), at) {
            // The first axis of all arrays in it.
            (Some(node), _) if node.is_group => axes.names.push(record()),
            (Some(node), _) => {
                axes = axes_of(&self.template, node.item, false);
                if self.axis_along(node.item).is_none() {
                    axes.names.insert(0, record());
                }
            }
            // An item in one file.
            (None, Place::Located { path, .. }) if self.selection.unequal == Unequal::Each => {
                let item = path.rsplit_once('/').and_then(|(above, _)| dudley::declared(&self.template, above));
                axes.names = item.map(|item| axes_of(&self.template, item, false).names).unwrap_or_default();
            }
            _ => {}
        }
        Ok(axes)
    }

    fn kind(&self, at: &Place) -> ItemKind {
        match self.node(at) {
            Some(node) if node.is_group => ItemKind::Mapping,
            _ if matches!(self.each(at), Ok(Some(_))) => ItemKind::List,
            _ => ItemKind::Array,
        }
    }

    fn children(&self, at: &Place) -> Result<Vec<Child<'_>>> {
        if let Some(each) = self.each(at)? {
            let above = self.path_of(at).unwrap_or_default();
            let child = |(number, array): (usize, &Option<Array>)| {
                let path = format!("{above}/{number}").into();
                let array = Box::new(match (array, each.iter().flatten().next()) {
                    (Some(array), _) => array.clone(),
                    // An item that the file omits has no elements.
                    (None, Some(like)) => {
                        let shape = vec![0; like.shape().len().max(1)];
                        Array::from_bytes(Vec::new(), like.datatype().clone(), Byteorder::NATIVE, shape)?
                    }
                    (None, None) => return Err(not_an_array("list without arrays")),
                });
                Ok(Child { name: None, place: Place::Located { path, array, is_list: false } })
            };
            return each.iter().enumerate().map(child).collect();
        }
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
            Some(_) if self.each(at)?.is_some() => Err(not_an_array("list of arrays of several shapes")),
            Some(node) => self.array_at(&self.template.path(node.item)),
            None => Err(not_an_array("file set")),
        }
    }

    fn notes(&self, at: &Place) -> Notes<'_> {
        let mut notes = Notes::default();
        let path = self.path_of(at).unwrap_or_default();
        let in_each = || path.rsplit_once('/').and_then(|(above, _)| dudley::declared(&self.template, above));
        let is_each = matches!(at, Place::Located { .. }) && self.selection.unequal == Unequal::Each;
        if let Some(item) = dudley::declared(&self.template, &path).or_else(|| in_each().filter(|_| is_each)) {
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
