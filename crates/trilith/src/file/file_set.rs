//! A family of files under one layout as one file, each of whose items is one array.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::as_array::not_an_array_error;
use super::backend::{self, AxisNames, Backend, ChildItem, ItemLocation, ResolvedItem};
use super::dudley::axes_of;
use super::item::{self, ItemMetadata, MetadataParts};
use crate::array::Array;
use crate::array::attribute::{AttributeValue, ItemAttribute};
use crate::bytes::{BaseUri, Resolve, SourceRef};
use crate::condition::{Condition, TableCell};
use crate::dudley::{
    self, Catalog, DudleyFile, FileSelection, ItemRequest, LayoutValues, OmittedFile, ParamSetting, ShapeMismatch, StreamOptions,
};
use crate::error::{Error, ErrorKind, Result, SuggestedSetting};
use crate::layout::{Byteorder, Dialect, EvaluateOptions, ItemId, ItemKind, Layout, quoted_name, selected_attributes};
use crate::limits::Limits;
use crate::threads::lock;
use crate::tree::index_of;
use crate::yaml::Scalar;

/// The files that a catalog lists, under their common layout. Each item is one array, whose first axis counts the files. A slice
/// opens only the files that contain it.
pub struct FileSet {
    catalog: Catalog,
    template: Layout,
    options: EvaluateOptions,
    rows: Vec<Range<usize>>,
    resolve: Arc<dyn Resolve>,
    source: SourceRef,
    warnings: Vec<String>,
    nodes: Vec<FileSetNode>,
    selection: FileSelection,
    /// Cache by node: arrays of an item that is a list; `None` if the item is not a list.
    per_file_cache: Mutex<HashMap<usize, Option<PerFileArrays>>>,
}

/// The arrays of an item in each file; None for a file that omits it.
type PerFileArrays = Arc<Vec<Option<Array>>>;

/// Options for opening a set of files under one layout.
#[derive(Debug, Clone, Default)]
pub(super) struct FileSetOptions {
    /// `true` if the file has to be a catalog.
    pub must_be_catalog: bool,
    /// `true` if a catalog is opened as the file that it is.
    pub catalog_only: bool,
    pub template: Option<Layout>,
    pub without_signature: bool,
    pub selection: FileSelection,
    /// The values of fixed parameters of the layout in each file.
    pub params: Vec<(String, ParamSetting)>,
}

/// Opens a file of a set, in this byte order if it has none.
fn open_member(
    name: &str,
    mut how: StreamOptions,
    (resolve, order): (&dyn Resolve, Option<Byteorder>),
    limits: &Limits,
) -> Result<DudleyFile> {
    let (source, resolve) = resolve.resolve(&dudley::uri_of(name))?;
    how.order = how.order.or(order);
    DudleyFile::open_with(source, &*resolve, how, limits)
}

/// A group of the files, or an item.
struct FileSetNode {
    item: ItemId,
    is_group: bool,
    /// Numbers of the nodes in it.
    children: Vec<usize>,
}

/// Returns the groups, arrays and parameters outside of lists, the root first. A fixed parameter is one if the catalog has its value in
/// each file.
fn nodes_of(layout: &Layout, catalog: &Catalog) -> Vec<FileSetNode> {
    let mut nodes = vec![FileSetNode { item: ItemId::ROOT, is_group: true, children: Vec::new() }];
    let summary = layout.summary_members();
    for item in (1..layout.item_count()).filter_map(|at| layout.item_at(at)) {
        let Some(above) = layout.parent(item).and_then(|parent| nodes.iter().position(|node| node.item == parent)) else {
            continue;
        };
        let is_param = layout.kind(item) == ItemKind::Param
            && above == 0
            && (summary.iter().any(|(name, is_param)| *is_param && layout.name(item) == Some(name))
                || layout.name(item).is_some_and(|name| catalog.param_values(name).is_some())
                || layout.dialect() == Dialect::D2026 && LayoutValues::is_param(layout, &layout.path(item)));
        let is_group = layout.kind(item) == ItemKind::Dict;
        if (!is_group && !is_param && layout.kind(item) != ItemKind::Data) || layout.name(item).is_none() {
            continue;
        }
        let number = nodes.len();
        nodes.extend([FileSetNode { item, is_group, children: Vec::new() }]);
        if let Some(parent) = nodes.get_mut(above).filter(|node| node.is_group) {
            parent.children.push(number);
        }
    }
    nodes
}

impl FileSet {
    /// The family that the stream of a catalog describes, under the template of the options or else the layout that the
    /// catalog holds. The files of a catalog that does not record it have a signature, unless they are `without_signature`.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::read`], and [`ErrorKind::InvalidInput`] if files are
    /// missing, or none meets the condition.
    pub(super) fn from_catalog(
        stream: &DudleyFile,
        options: &FileSetOptions,
        order: Option<Byteorder>,
        resolve: Arc<dyn Resolve>,
    ) -> Result<Self> {
        // The program that wrote the catalog most likely wrote the files.
        let order = order.or(stream.signature().map(|signature| signature.order));
        let mut catalog = Catalog::read(stream)?;
        if options.without_signature && catalog.is_native() == Some(true) {
            let message = "by the catalog its files have a signature, but they were to be read as files without one";
            return Err(Error::invalid_input(message).setting("", SuggestedSetting::Remove(&["raw"])));
        }
        let native = catalog.is_native().unwrap_or(!options.without_signature);
        let mut how = EvaluateOptions::default();
        (how.is_native, how.byteorder, how.limits) = (native, order, stream.limits().clone());
        let Some(template) = options.template.clone().or_else(|| catalog.template().cloned()) else {
            let message = format!("{} does not hold the layout of its files", stream.source().name());
            return Err(Error::invalid_input(message).setting("", SuggestedSetting::Layout));
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
        let mut open = |name: &str, how: StreamOptions| open_member(name, how, (&*resolve, order), stream.limits());
        catalog.set_params(&template, &options.params, &rows, &mut open, stream.limits())?;
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
        let nodes = nodes_of(&template, &catalog);
        let each = Mutex::default();
        let mut series =
            Self { catalog, template, options: how, rows, selection, resolve, source, warnings, nodes, per_file_cache: each };
        if let Some(condition) = &options.selection.condition {
            series.rows = series.rows_matching(condition)?;
        }
        Ok(series)
    }

    /// The chosen files that meet a condition on the values of the summary block.
    fn rows_matching(&self, condition: &str) -> Result<Vec<Range<usize>>> {
        let is_value = |item| self.template.is_summary_value(item) || self.param_values(item).is_some();
        let nodes = self.nodes.iter().filter(|node| is_value(node.item));
        let names: Vec<String> = nodes.filter_map(|node| self.template.name(node.item).map(str::to_owned)).collect();
        if names.is_empty() {
            let message = "the layout of the files has no value in its summary block that a condition could use";
            return Err(Error::invalid_input(message).hint("choose files by their numbers"));
        }
        let filter = Condition::parse(condition, "variable", &names)?;
        let mut columns = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let used = filter.uses_column(at).then(|| self.array_at(&format!("/{}", quoted_name(name))));
            let presented = used.transpose()?.map(|array| dudley::decode_text(&array)).transpose()?;
            columns.push(presented.map(|array| TableCell::of_elements(&array)).transpose()?.flatten());
        }
        let mut rows: Vec<Range<usize>> = Vec::new();
        for (number, row) in self.rows.iter().cloned().flatten().enumerate() {
            let cell = |column: &Option<Vec<TableCell>>| {
                column.as_ref().and_then(|cells| cells.get(number)).cloned().unwrap_or_default()
            };
            let cells: Vec<TableCell> = columns.iter().map(cell).collect();
            match rows.last_mut() {
                _ if !filter.matches(&cells) => {}
                Some(last) if last.end == row => last.end += 1,
                _ => rows.push(row..row + 1),
            }
        }
        filter.check_types(&names)?;
        if rows.is_empty() {
            let count = self.rows.iter().map(Range::len).sum::<usize>();
            return Err(Error::invalid_input(format!("none of the {count} files meets the condition {condition}")));
        }
        Ok(rows)
    }

    /// The byte order of data if neither the layout nor a file gives it.
    pub fn native_byteorder(&self) -> Option<Byteorder> {
        self.options.byteorder
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

    /// Returns the values of a fixed parameter in the files that were chosen; None if it has none there, and for any other item.
    fn param_values(&self, item: ItemId) -> Option<Vec<i64>> {
        let is_param = self.template.kind(item) == ItemKind::Param && self.template.parent(item) == Some(ItemId::ROOT);
        let values = self.catalog.param_values(self.template.name(item).filter(|_| is_param)?)?;
        Some(self.rows.iter().cloned().flatten().filter_map(|row| values.get(row).copied()).collect())
    }

    /// An item of the files that were chosen.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn array_at(&self, path: &str) -> Result<Array> {
        let path = path.trim_start_matches('#');
        if let Some(values) = dudley::declared(&self.template, path).and_then(|item| self.param_values(item)) {
            return Array::from_slice(&values, &[values.len() as u64]);
        }
        self.catalog.array_as(self.item_request(path), &self.selection, Arc::clone(&self.resolve))
    }

    /// The files that are masked in an item: they omit it, or are not there.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn omitted(&self, path: &str) -> Result<Vec<OmittedFile>> {
        let path = path.trim_start_matches('#');
        if dudley::declared(&self.template, path).is_some_and(|item| self.param_values(item).is_some()) {
            return Ok(Vec::new());
        }
        self.catalog.omitted_as(self.item_request(path), &self.selection, &*self.resolve)
    }

    /// Compares the files with the catalog, and calls `check` for each that can be opened and `warn` with what is odd about one.
    /// Returns the errors of the files, by their names.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::compare`].
    pub(crate) fn compare_with_catalog(
        &self,
        check: &mut dyn FnMut(&str, &DudleyFile),
        warn: &mut dyn FnMut(&str, String),
    ) -> Result<Vec<(String, Error)>> {
        let mut open = |name: &str, how: StreamOptions| {
            let file = open_member(name, how, (&*self.resolve, self.options.byteorder), &self.options.limits)?;
            check(name, &file);
            Ok(file)
        };
        self.catalog.compare_rows(&self.template, &self.rows, &mut open, warn, &self.options.limits)
    }

    fn item_request<'a>(&'a self, item: &'a str) -> ItemRequest<'a> {
        ItemRequest { template: &self.template, item, file_rows: &self.rows, options: &self.options }
    }

    /// Returns warnings for an item that is one array although some files omit it or are not there. None if the form was chosen
    /// in which such files are masked.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn remarks(&self, path: &str) -> Result<Vec<String>> {
        match self.selection.unequal {
            ShapeMismatch::Padded => Ok(Vec::new()),
            _ => Ok(OmittedFile::warnings(path, &self.omitted(path)?)),
        }
    }

    /// Returns the place of an item in each file that was chosen, without opening it.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::locate`].
    pub fn locate(&self, item: &str, take: &mut dyn FnMut(dudley::FileItemLocation<'_>) -> Result<()>) -> Result<()> {
        let mut options = self.options.clone();
        for rows in self.rows.iter().flat_map(|rows| self.split_by_order(rows)) {
            options.byteorder = self.catalog.byteorder_of(rows.start).or(self.options.byteorder);
            self.catalog.locate_rows(&self.template, item, &[rows], &options, &mut |_, place| take(place))?;
        }
        Ok(())
    }

    /// Splits files into ranges of one byte order.
    fn split_by_order(&self, rows: &Range<usize>) -> Vec<Range<usize>> {
        let mut split: Vec<Range<usize>> = Vec::new();
        for row in rows.clone() {
            match split.last_mut() {
                Some(last) if self.catalog.byteorder_of(last.start) == self.catalog.byteorder_of(row) => last.end = row + 1,
                _ => split.push(row..row + 1),
            }
        }
        split
    }

    /// Returns the error for a path without an item in the files, with the nearest name.
    pub fn no_item(&self, path: &str) -> Error {
        let error = match self.template.find_missing_name(path) {
            Some(missing) => Error::missing_key(&missing.name, &missing.names, 0),
            None => Error::invalid_input(format!("no file of the catalog has an item {path}")),
        };
        error.at_path(path)
    }

    /// The arrays of an item in each file, if its shape differs and such items are to be lists.
    fn arrays_per_file(&self, at: &ItemLocation) -> Result<Option<PerFileArrays>> {
        if let ItemLocation::Array { path, is_list: true, .. } = at {
            return self.members_per_file(path);
        }
        let (ItemLocation::Node(number), ShapeMismatch::PerFile) = (at, self.selection.unequal) else { return Ok(None) };
        let Some(node) = self.find_node(at).filter(|node| !node.is_group) else { return Ok(None) };
        if let Some(known) = lock(&self.per_file_cache).get(number) {
            return Ok(known.clone());
        }
        let (path, resolve) = (self.template.path(node.item), Arc::clone(&self.resolve));
        let found = match self.concat_axis(node.item) {
            Some(_) => None,
            None if self.param_values(node.item).is_some() => None,
            None => self.catalog.arrays_per_file(self.item_request(&path), resolve)?.map(Arc::new),
        };
        lock(&self.per_file_cache).insert(*number, found.clone());
        Ok(found)
    }

    /// The arrays of a member of structs in each file, if the structs are a list.
    fn members_per_file(&self, path: &str) -> Result<Option<PerFileArrays>> {
        let Some((item, members)) = dudley::split_members(path) else { return Ok(None) };
        let Ok(ResolvedItem { place, .. }) = backend::by_keys(self, &item) else { return Ok(None) };
        let Some(each) = self.arrays_per_file(&place)? else { return Ok(None) };
        let member = |array: &Array| members.iter().try_fold(array.clone(), |array, name| array.field(name));
        let found: Result<Vec<Option<Array>>> = each.iter().map(|array| array.as_ref().map(member).transpose()).collect();
        found.map(|found| Some(Arc::new(found)))
    }

    /// The place of a list of the arrays of a member of structs, or of one of them; None for any other path.
    fn find_member_list(&self, path: &str) -> Result<Option<ItemLocation>> {
        if self.selection.unequal != ShapeMismatch::PerFile || !path.contains('.') {
            return Ok(None);
        }
        let (list, number) = match path.rsplit_once('/').map(|(list, last)| (list, index_of(last))) {
            Some((list, Some(number))) if list.contains('.') => (list, Some(number)),
            _ => (path, None),
        };
        let list = if list.starts_with('/') { list.to_owned() } else { format!("/{list}") };
        let Some(each) = self.members_per_file(&list)? else { return Ok(None) };
        let Some(first) = each.iter().flatten().next() else { return Ok(None) };
        let place = ItemLocation::Array { path: list.into(), array: Box::new(first.clone()), is_list: true };
        match number {
            Some(number) if number < each.len() => self.array_of_file(&place, &each, number).map(Some),
            Some(_) => Ok(None),
            None => Ok(Some(place)),
        }
    }

    /// The array of one file in a list of them.
    fn array_of_file(&self, at: &ItemLocation, each: &[Option<Array>], number: usize) -> Result<ItemLocation> {
        let path = format!("{}/{number}", self.path_of(at).unwrap_or_default()).into();
        let array = Box::new(match (each.get(number).cloned().flatten(), each.iter().flatten().next()) {
            (Some(array), _) => array,
            // An item that the file omits has no elements.
            (None, Some(like)) => {
                let shape = vec![0; like.shape().len().max(1)];
                Array::from_bytes(Vec::new(), like.datatype().clone(), Byteorder::NATIVE, shape)?
            }
            (None, None) => return Err(not_an_array_error("list without arrays")),
        });
        Ok(ItemLocation::Array { path, array, is_list: false })
    }

    /// The axis along which an item is joined.
    fn concat_axis(&self, item: ItemId) -> Option<usize> {
        let names = self.template.axis_names(item);
        names.iter().position(|name| name.as_ref().is_some_and(|name| self.selection.along.contains(name)))
    }

    fn find_node(&self, at: &ItemLocation) -> Option<&FileSetNode> {
        match at {
            ItemLocation::Node(number) => self.nodes.get(*number),
            ItemLocation::Array { .. } => None,
        }
    }

    fn path_of(&self, at: &ItemLocation) -> Option<String> {
        match at {
            ItemLocation::Array { path, .. } => Some(path.to_string()),
            ItemLocation::Node(_) => {
                self.find_node(at).filter(|node| node.item != ItemId::ROOT).map(|node| self.template.path(node.item))
            }
        }
    }
}

impl std::fmt::Debug for FileSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Series").field("catalog", &self.source.name()).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl FileSet {
    /// The names of the axes of an item.
    fn axes_at(&self, at: &ItemLocation) -> AxisNames {
        let record = || Some(self.template.record_axis().to_owned());
        let mut axes = AxisNames::default();
        match (self.find_node(at), at) {
            // The first axis of all arrays in it.
            (Some(node), _) if node.is_group => axes.names.push(record()),
            (Some(node), _) => {
                axes = axes_of(&self.template, node.item);
                axes.is_coordinate |= self.param_values(node.item).is_some();
                if self.concat_axis(node.item).is_none() {
                    axes.names.insert(0, record());
                }
            }
            // An item in one file.
            (None, ItemLocation::Array { path, .. }) if self.selection.unequal == ShapeMismatch::PerFile => {
                let item = path.rsplit_once('/').and_then(|(above, _)| dudley::declared(&self.template, above));
                axes.names = item.map(|item| axes_of(&self.template, item).names).unwrap_or_default();
            }
            _ => {}
        }
        axes
    }

    /// Adds documentation, unit and attributes of an item.
    fn add_text_metadata<'f>(&'f self, at: &ItemLocation, notes: &mut ItemMetadata<'f>) {
        let path = self.path_of(at).unwrap_or_default();
        let in_each = || path.rsplit_once('/').and_then(|(above, _)| dudley::declared(&self.template, above));
        let is_each = matches!(at, ItemLocation::Array { .. }) && self.selection.unequal == ShapeMismatch::PerFile;
        if let Some(item) = dudley::declared(&self.template, &path).or_else(|| in_each().filter(|_| is_each)) {
            super::dudley::add_metadata(notes, &self.template, item, true);
        }
    }
}

impl Backend for FileSet {
    fn family(&self) -> &str {
        "dudley"
    }

    fn source(&self) -> &SourceRef {
        &self.source
    }

    fn limits(&self) -> &Limits {
        &self.options.limits
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn find(&self, path: &str) -> Result<ResolvedItem> {
        if let Some(place) = self.find_member_list(path)? {
            return Ok(ResolvedItem::same_file(place));
        }
        match backend::by_keys(self, path) {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == ErrorKind::NotFound && !path.contains(['[', '.', '(']) => {
                return Err(self.no_item(path));
            }
            Err(_) => {}
        }
        let array = Box::new(self.array_at(path)?);
        Ok(ResolvedItem::same_file(ItemLocation::Array { path: path.into(), array, is_list: false }))
    }

    fn path(&self, at: &ItemLocation) -> Option<String> {
        Some(self.path_of(at).unwrap_or_default())
    }

    fn attributes(&self, at: &ItemLocation, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ItemAttribute>> {
        match at {
            ItemLocation::Node(0) if !is_wanted("files") => Ok(Vec::new()),
            ItemLocation::Node(0) => {
                let files = self.catalog.files().iter().map(|name| AttributeValue::Text(name.clone())).collect();
                Ok(vec![ItemAttribute::new("files", AttributeValue::List(files))])
            }
            _ => {
                let item = self.find_node(at).map(|node| node.item);
                Ok(item.map(|item| selected_attributes(&self.template, item, None, is_wanted)).unwrap_or_default())
            }
        }
    }

    fn kind(&self, at: &ItemLocation) -> item::ItemKind {
        if let ItemLocation::Array { is_list: true, .. } = at {
            return item::ItemKind::List;
        }
        match self.find_node(at) {
            Some(node) if node.is_group => item::ItemKind::Mapping,
            _ if matches!(self.arrays_per_file(at), Ok(Some(_))) => item::ItemKind::List,
            _ => item::ItemKind::Array,
        }
    }

    fn child(&self, at: &ItemLocation, key: &str) -> Result<Option<ItemLocation>> {
        // The list of the arrays of the files is not made for one of them.
        if let Some(each) = self.arrays_per_file(at)? {
            let number = index_of(key).filter(|number| *number < each.len());
            return number.map(|number| self.array_of_file(at, &each, number)).transpose();
        }
        let children = self.children(at)?;
        Ok(children.into_iter().find(|child| child.name.as_deref() == Some(key)).map(|child| child.place))
    }

    fn children(&self, at: &ItemLocation) -> Result<Vec<ChildItem<'_>>> {
        if let Some(each) = self.arrays_per_file(at)? {
            let child = |number| Ok(ChildItem { name: None, place: self.array_of_file(at, &each, number)? });
            return (0..each.len()).map(child).collect();
        }
        let children = self.find_node(at).map_or(&[][..], |node| node.children.as_slice());
        let child = |number: &usize| {
            let name = self.nodes.get(*number).and_then(|node| self.template.name(node.item)).map(Cow::Borrowed);
            ChildItem { name, place: ItemLocation::Node(*number) }
        };
        Ok(children.iter().map(child).collect())
    }

    fn value(&self, _: &ItemLocation) -> Result<Scalar<'_>> {
        Err(Error::invalid_input("the items of a file set are arrays"))
    }

    fn array(&self, at: &ItemLocation) -> Result<Array> {
        match at {
            ItemLocation::Array { is_list: true, .. } => return Err(not_an_array_error("list of arrays of several shapes")),
            ItemLocation::Array { array, .. } => return Ok((**array).clone()),
            ItemLocation::Node(_) => {}
        }
        match self.find_node(at).filter(|node| !node.is_group) {
            Some(_) if self.arrays_per_file(at)?.is_some() => Err(not_an_array_error("list of arrays of several shapes")),
            Some(node) => self.array_at(&self.template.path(node.item)),
            None => Err(not_an_array_error("file set")),
        }
    }

    fn metadata(&self, at: &ItemLocation, parts: MetadataParts) -> Result<ItemMetadata<'_>> {
        let mut found = ItemMetadata::default();
        if parts.includes(MetadataParts::AXES) {
            found.axes = self.axes_at(at);
        }
        if parts.includes(MetadataParts::TEXT.and(MetadataParts::UNIT)) {
            self.add_text_metadata(at, &mut found);
        }
        Ok(found)
    }

    fn decode_text(&self, array: Array) -> Result<Array> {
        dudley::decode_text(&array)
    }

    fn rebased_to(self: Arc<Self>, _: &BaseUri) -> Result<Arc<dyn Backend>> {
        Ok(self)
    }
}
