//! Columns of tables as items: the column `NAME` of the table at `PATH` is `PATH/NAME` in every format.
//!
//! A table is an array of structs, or a mapping that a tag declares to be one: `core/table` and the tables of astropy,
//! whose `columns` have names. The columns of a FITS table with arrays of variable length are the keys of its mapping.

use std::any::Any;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;

use super::backend::{ArrayDescription, Backend, ChildItem, ItemLocation, ResolvedItem};
use super::fits::column_array;
use super::hdu_units::unit_of_field;
use super::item::{Item, ItemKind, ItemMetadata, MetadataParts};
use crate::array::{Array, Datatype};
use crate::bytes::{BaseUri, SourceRef};
use crate::error::{Error, Result};
use crate::json_pointer::escape_key;
use crate::layout::quoted_name;
use crate::limits::Limits;
use crate::percent::leniently_decoded;
use crate::tree::TreePath;
use crate::yaml::Scalar;

/// The item at a path of a file: as its family spells the path, else a column of a table, else with the path
/// percent-decoded.
///
/// # Errors
/// Returns the errors of [`Backend::find`], with the names of the columns if the path leads into a table.
#[doc(hidden)]
pub fn resolve_path(backend: &dyn Backend, path: &str) -> Result<ResolvedItem> {
    match item_or_column(backend, path) {
        Err(error) if error.kind().is_request() => match leniently_decoded(path) {
            Cow::Owned(decoded) if decoded != path => item_or_column(backend, &decoded).map_err(|_| error),
            _ => Err(error),
        },
        found => found,
    }
}

fn item_or_column(backend: &dyn Backend, path: &str) -> Result<ResolvedItem> {
    let error = match backend.find(path) {
        Err(error) if error.kind().is_request() => error,
        found => return found,
    };
    // The table is the longest part of the path that leads to an item.
    for (at, _) in path.rmatch_indices('/') {
        let Some((start, rest)) = path.split_at_checked(at) else { break };
        let found = match backend.find(start) {
            Err(error) if error.kind().is_request() => continue,
            found => found?,
        };
        let Ok(keys) = TreePath::parse(rest) else { break };
        let mut item = Item::from_path_target(backend, found).resolve()?;
        for (depth, key) in keys.keys().iter().enumerate() {
            // The first key is that of a column, since no item has it; an item below a column may follow.
            let next = match find_column(&item, key)? {
                None if depth > 0 => item.get(key)?,
                found => found,
            };
            match next {
                Some(next) => item = next,
                None => {
                    let columns = column_names(&item)?;
                    if columns.is_empty() {
                        return Err(error);
                    }
                    // An HDU has a header, too.
                    let children = if item.hdu_data()?.is_some() { item.keyed_children()? } else { Vec::new() };
                    let names: Vec<_> = children.into_iter().filter_map(|(name, _)| name.map(Scalar::into_text)).collect();
                    let names: Vec<&str> = names.iter().map(AsRef::as_ref).chain(columns.iter().map(String::as_str)).collect();
                    return Err(Error::missing_key(key, &names, 0).at_path(path));
                }
            }
        }
        return Ok(item.into_resolved());
    }
    Err(error)
}

/// A column of a table.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TableColumn<'f> {
    /// The name; `col3` or `f2` for a column without one.
    pub name: String,
    /// The values: an array, or a list with an item for each row.
    pub item: Item<'f>,
}

/// Returns the columns of a table, or None if an item is not a table. A column of structs is one column.
///
/// # Errors
/// Returns an error if the table cannot be read.
pub fn table_columns<'f>(table: &Item<'f>) -> Result<Option<Vec<TableColumn<'f>>>> {
    if let Some(data) = table.hdu_data()? {
        return table_columns(&data);
    }
    if let Some(columns) = tagged_columns(table)? {
        let values = |TableColumn { name, item }| {
            // A broken column is an error when it is read.
            let item = values_of_column(item.clone()).unwrap_or(item);
            TableColumn { name, item }
        };
        return Ok(Some(columns.into_iter().map(values).collect()));
    }
    if table.kind() == ItemKind::Mapping && table.flags().is_ragged {
        let backend = table.backend();
        let children = backend.children(table.location())?.into_iter();
        let column = |child: ChildItem<'_>| {
            let name = child.name.map_or_else(String::new, Cow::into_owned);
            TableColumn { name, item: table.with_location(child.place) }
        };
        return Ok(Some(children.map(column).collect()));
    }
    let Some(fields) = field_names(table)? else { return Ok(None) };
    let owner = ColumnOwner::new(table)?;
    let column = |name: String| Ok(TableColumn { item: owner.column(&name)?, name });
    fields.into_iter().map(column).collect::<Result<_>>().map(Some)
}

/// Returns the column of a table that has a name; None if an item is not a table or has no such column.
pub(super) fn find_column<'f>(table: &Item<'f>, name: &str) -> Result<Option<Item<'f>>> {
    if let Some(data) = table.hdu_data()? {
        return find_column(&data, name);
    }
    if let Some(columns) = tagged_columns(table)? {
        if let Some(column) = columns.iter().find(|column| column.name == name) {
            return values_of_column(column.item.clone()).map(Some);
        }
        // A column without a name may be the one that is meant.
        for column in columns {
            if child(&column.item, "name")?.is_none_or(|name| name.kind() == ItemKind::Null) {
                column.item.check_required_keys()?;
            }
        }
        return Ok(None);
    }
    match field_names(table)? {
        Some(names) if names.iter().any(|known| known == name) => ColumnOwner::new(table)?.column(name).map(Some),
        _ => Ok(None),
    }
}

/// Returns the error for a column that a table does not have, with the names of its columns.
#[doc(hidden)]
#[cold]
pub fn missing_column_error(table: &Item<'_>, name: &str) -> Error {
    let names = column_names(table).unwrap_or_default();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Error::not_found(format!("there is no column {name:?} here")).with_known_keys(name, &names, 0)
}

/// Returns the names of the columns of a table; none for any other item.
pub(super) fn column_names(table: &Item<'_>) -> Result<Vec<String>> {
    if let Some(data) = table.hdu_data()? {
        return column_names(&data);
    }
    if table.kind() == ItemKind::Mapping && table.flags().is_ragged {
        let children = table.backend().children(table.location())?.into_iter();
        return Ok(children.filter_map(|child| child.name.map(Cow::into_owned)).collect());
    }
    if let Some(columns) = tagged_columns(table)? {
        return Ok(columns.into_iter().map(|column| column.name).collect());
    }
    Ok(field_names(table)?.unwrap_or_default())
}

/// The names of the fields of an array of structs.
fn field_names(table: &Item<'_>) -> Result<Option<Vec<String>>> {
    if table.kind() != ItemKind::Array {
        return Ok(None);
    }
    let array = table.array()?;
    let fields = array.datatype().as_struct();
    Ok(fields.map(|fields| fields.fields().iter().enumerate().map(|(at, field)| field.name_or(at)).collect()))
}

/// The columns of a mapping with the tag of a table, as they are described.
fn tagged_columns<'f>(table: &Item<'f>) -> Result<Option<Vec<TableColumn<'f>>>> {
    let backend = table.backend();
    let is_table = |tag: &str| tag.rsplit('/').next().is_some_and(|name| name == "table" || name.starts_with("table-"));
    if table.kind() != ItemKind::Mapping || !backend.metadata(table.location(), MetadataParts::TAG)?.tag.is_some_and(is_table) {
        return Ok(None);
    }
    table.check_required_keys()?;
    let Some(list) = child(table, "columns")?.filter(|list| list.kind() == ItemKind::List) else { return Ok(None) };
    let names: Vec<String> = match child(table, "colnames")? {
        Some(names) => names.owned_children()?.iter().map(|name| Ok(name.text()?.into_owned())).collect::<Result<_>>()?,
        None => Vec::new(),
    };
    let mut columns = Vec::new();
    for (at, column) in list.owned_children()?.into_iter().enumerate() {
        let column = column.resolve()?;
        // The list of names counts before those of the columns: asdf-astropy reads only the list.
        let own =
            || child(&column, "name").map(|name| name.filter(|name| matches!(name.kind(), ItemKind::Text | ItemKind::Scalar)));
        let name = match names.get(at) {
            Some(name) => name.clone(),
            None => match own()? {
                Some(name) => name.text()?.into_owned(),
                None => format!("col{}", at + 1),
            },
        };
        columns.push(TableColumn { name, item: column });
    }
    Ok(Some(columns))
}

/// Returns the values of a column: those of its `data`, which may be a quantity or a time, whose `value` has them.
///
/// # Errors
/// Returns the errors of [`Item::check_required_keys`].
pub(crate) fn values_of_column(column: Item<'_>) -> Result<Item<'_>> {
    let mut item = column;
    for key in ["data", "value"] {
        item.check_required_keys()?;
        if item.kind() == ItemKind::Mapping
            && let Some(values) = child(&item, key)?
        {
            item = values;
        }
    }
    Ok(item)
}

/// The child with a key; a column is none.
fn child<'f>(item: &Item<'f>, key: &str) -> Result<Option<Item<'f>>> {
    if item.kind() != ItemKind::Mapping {
        return Ok(None);
    }
    let found = item.backend().child(item.location(), key)?;
    found.map(|place| item.with_location(place).resolve()).transpose()
}

/// An array of structs, whose fields are columns.
struct ColumnOwner<'i, 'f> {
    item: &'i Item<'f>,
    path: String,
    array: Array,
    /// The array with its text decoded, once a column has text.
    decoded: OnceCell<Array>,
}

impl<'i, 'f> ColumnOwner<'i, 'f> {
    fn new(item: &'i Item<'f>) -> Result<Self> {
        Ok(Self { item, path: item.path().unwrap_or_default(), array: item.array()?, decoded: OnceCell::new() })
    }

    fn decode_rows(&self) -> Result<&Array> {
        if let Some(decoded) = self.decoded.get() {
            return Ok(decoded);
        }
        let decoded = self.item.decoder().read()?;
        Ok(self.decoded.get_or_init(|| decoded))
    }

    fn column<'c>(&self, name: &str) -> Result<Item<'c>> {
        let backend = self.item.backend();
        let of_fits = self.item.as_asdf().and_then(|(file, node)| column_array(file, node, name));
        let has_own_rows = of_fits.is_some();
        let array = of_fits.unwrap_or_else(|| self.array.field(name))?;
        let has_text = matches!(
            array.datatype(),
            Datatype::Ascii(_) | Datatype::Ucs4(_) | Datatype::Ucs2(_) | Datatype::Utf8(_) | Datatype::Struct(_)
        );
        let decoded = if has_text && !has_own_rows { Some(self.decode_rows()?.field(name)?) } else { None };
        let (mut metadata, members) = self.member_metadata(name);
        if metadata.unit.is_none() {
            metadata.unit = self.item.as_asdf().and_then(|(file, node)| unit_of_field(file, node, name)).map(Cow::Owned);
        }
        let file = ColumnFile {
            family: backend.family().to_owned(),
            source: backend.source().clone(),
            limits: backend.limits().clone(),
            owner: self.item.file_address(),
            path: format!("{}/{}", self.path, escape_key(name)),
            table: self.path.clone(),
            array,
            decoded,
            metadata,
            members,
        };
        Ok(Item::from_backend(Arc::new(file)))
    }

    /// The metadata of a member, and of the members of it.
    fn member_metadata(&self, name: &str) -> (ItemMetadata<'static>, Vec<(String, ItemMetadata<'static>)>) {
        let own = format!(".{}", quoted_name(name));
        let (mut found, mut members) = (ItemMetadata::default(), Vec::new());
        for (path, metadata) in self.item.metadata().members {
            match path.strip_prefix(&own) {
                Some("") => found = metadata.into_owned(),
                Some(rest) if rest.starts_with('.') => members.push((rest.to_owned(), metadata.into_owned())),
                _ => {}
            }
        }
        (found, members)
    }
}

/// A column of an array of structs. It is the only item of a backend, so that no family has to know columns.
pub(super) struct ColumnFile {
    family: String,
    source: SourceRef,
    limits: Limits,
    /// Address of the backend that has the table.
    owner: usize,
    path: String,
    /// Path of the table.
    table: String,
    array: Array,
    /// The array with its text decoded, if it has text.
    decoded: Option<Array>,
    metadata: ItemMetadata<'static>,
    members: Vec<(String, ItemMetadata<'static>)>,
}

impl fmt::Debug for ColumnFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ColumnFile {
    /// The elements with their text decoded.
    pub(super) fn decoded_array(&self) -> Array {
        self.decoded.as_ref().unwrap_or(&self.array).clone()
    }

    /// The address of the backend of the table, if a backend is a column.
    pub(super) fn owner_address(backend: &dyn Backend) -> Option<usize> {
        let any: &dyn Any = backend;
        any.downcast_ref::<Self>().map(|column| column.owner)
    }
}

impl Backend for ColumnFile {
    fn family(&self) -> &str {
        &self.family
    }

    fn source(&self) -> &SourceRef {
        &self.source
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn find(&self, path: &str) -> Result<ResolvedItem> {
        match path.trim_end_matches('/') {
            "" => Ok(ResolvedItem::same_file(self.root())),
            key => Err(Error::missing_key(key, &[], 0)),
        }
    }

    fn kind(&self, _: &ItemLocation) -> ItemKind {
        ItemKind::Array
    }

    fn children(&self, _: &ItemLocation) -> Result<Vec<ChildItem<'_>>> {
        Ok(Vec::new())
    }

    fn value(&self, _: &ItemLocation) -> Result<Scalar<'_>> {
        Err(Error::invalid_input("an array, expected a single value"))
    }

    fn array(&self, _: &ItemLocation) -> Result<Array> {
        Ok(self.array.clone())
    }

    fn path(&self, _: &ItemLocation) -> Option<String> {
        Some(self.path.clone())
    }

    fn metadata(&self, _: &ItemLocation, _: MetadataParts) -> Result<ItemMetadata<'_>> {
        Ok(ItemMetadata { members: self.members.clone(), ..self.metadata.clone() })
    }

    fn describe(&self, _: &ItemLocation) -> Result<ArrayDescription> {
        let storage = format!("column of {}", if self.table.is_empty() { "/" } else { &self.table });
        let described = ArrayDescription { storage, ..ArrayDescription::from_array(&self.array) };
        Ok(described.with_metadata(Backend::metadata(self, &self.root(), MetadataParts::TEXT)?))
    }

    fn rebased_to(self: Arc<Self>, _: &BaseUri) -> Result<Arc<dyn Backend>> {
        // A column holds no references to other files.
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::*;

    fn file(tree: &str) -> File {
        let text = format!("#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- {tree}\n...\n");
        crate::OpenOptions::new().open_bytes(text.into_bytes()).unwrap()
    }

    const RECORDS: &str = "!core/ndarray-1.1.0 {data: [[1, [2.5, 3.5]], [4, [5.5, 6.5]]], datatype: [{name: n, datatype: int32}, \
                           {name: p, datatype: [{name: x, datatype: float64}, {name: a/b, datatype: float64}]}]}";

    #[test]
    fn fields_are_items_with_paths() {
        let file = file(&format!("{{t: {RECORDS}}}"));
        assert_eq!(file.array("/t/n").unwrap().load::<i32>().unwrap(), [1, 4]);
        let nested = file.item("/t/p/x").unwrap();
        assert_eq!((nested.path().as_deref(), nested.kind()), (Some("/t/p/x"), ItemKind::Array));
        assert_eq!(nested.array().unwrap().load::<f64>().unwrap(), [2.5, 5.5]);
        assert_eq!(file.array("/t/p/a~1b").unwrap().load::<f64>().unwrap(), [3.5, 6.5]);
        assert!(super::super::is_same_file(&nested, &file.root()) && nested.children().unwrap().is_empty());
        let found = file.root().find("t/p/x").unwrap().unwrap();
        assert_eq!(found.array().unwrap().load::<f64>().unwrap(), [2.5, 5.5]);
        let error = file.item("/t/m").unwrap_err().to_string();
        assert!(error.contains("did you mean") || error.contains("there are: n, p"), "{error}");
        assert!(file.item("/t/n/0").is_err() && file.root().find("/t/n/x").unwrap().is_none());
        // A walk does not enter columns.
        assert_eq!(file.arrays().unwrap().len(), 1);
    }

    #[test]
    fn columns_of_tagged_tables_have_units() {
        let columns = "[!core/column-1.0.0 {name: a, unit: s, data: !core/ndarray-1.1.0 [1, 2]}, \
                       !unit/quantity-1.1.0 {unit: Jy, value: !core/ndarray-1.1.0 [3.5, 4.5]}, \
                       {name: columns, data: [5, 6]}]";
        for tag in ["!core/table-1.0.0", "!core/table", "!<tag:astropy.org:astropy/table/table-1.1.0>"] {
            let file = file(&format!("{{t: {tag} {{columns: {columns}, colnames: [a, b, columns], n: 1}}}}"));
            let unit = |path: &str| file.item(path).unwrap().unit();
            assert_eq!((unit("/t/a").as_deref(), unit("/t/b").as_deref(), unit("/t/n")), (Some("s"), Some("Jy"), None), "{tag}");
            assert_eq!(file.array("/t/b").unwrap().load::<f64>().unwrap(), [3.5, 4.5]);
            // A key goes before a column.
            assert_eq!(file.item("/t/columns").unwrap().children().unwrap().len(), 3);
            let names = column_names(&file.item("/t").unwrap()).unwrap();
            assert_eq!(names, ["a", "b", "columns"]);
        }
        let plain = file(&format!("{{t: {{columns: {columns}}}}}"));
        assert!(plain.item("/t/a").is_err());
    }
}
