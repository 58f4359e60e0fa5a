//! Items with rows and columns: records, lists of columns, mappings of arrays of one length, and arrays with two
//! axes.

use trilith::file::{Item, ItemKind, table_columns};
use trilith::{Array, Error, Result};

use super::items::datatype_text;

/// Maximum number of members of a mapping that may be columns.
const MAX_COLUMNS: usize = 1000;

/// One column of a table.
pub(super) struct TableColumn {
    /// Name of the column.
    pub name: String,
    /// Elements of the column; the first axis counts the rows.
    pub array: Array,
    /// The unit of its elements.
    pub unit: Option<String>,
}

impl TableColumn {
    /// The type of its elements, for people.
    pub(super) fn type_text(&self) -> String {
        let shape = self.array.shape().get(1..).unwrap_or_default();
        let shape = if shape.is_empty() { String::new() } else { format!(" {shape:?}") };
        format!("{}{shape}", datatype_text(self.array.datatype()))
    }
}

/// The columns of an item that is a table; None for one that is not.
pub(super) fn columns_of(item: &Item<'_>) -> Result<Option<Vec<TableColumn>>> {
    match item.kind() {
        ItemKind::Mapping => columns_of_struct(item),
        ItemKind::Array | ItemKind::List => columns_of_2d(item),
        _ => Ok(None),
    }
}

/// The column of a name.
pub(super) fn find_column<'c>(columns: &'c [TableColumn], name: &str) -> Result<&'c TableColumn> {
    let found = columns.iter().find(|column| column.name == name);
    found.ok_or_else(|| Error::invalid_input(format!("the table has no column {name:?}")))
}

/// A mapping with a list of columns, or whose members are arrays of one length.
fn columns_of_struct(item: &Item<'_>) -> Result<Option<Vec<TableColumn>>> {
    let children = item.children()?;
    if children.len() > MAX_COLUMNS {
        return Ok(None);
    }
    if let Some((_, list)) =
        children.iter().find(|(name, item)| name.as_deref() == Some("columns") && item.kind() == ItemKind::List)
    {
        let columns: Option<Vec<TableColumn>> = list.children()?.iter().map(|(_, column)| astropy_column(column)).collect();
        return Ok(columns.filter(|columns| have_same_length(columns)));
    }
    let column = |(name, item): &(Option<std::borrow::Cow<'_, str>>, Item<'_>)| {
        let array = item.array().ok().filter(|array| !array.shape().is_empty())?;
        let unit = item.unit();
        Some(TableColumn { name: name.as_deref()?.to_owned(), array: item.decoder().decode_text(array).ok()?, unit })
    };
    let arrays = children.iter().filter(|(_, item)| item.kind() == ItemKind::Array);
    let columns: Option<Vec<TableColumn>> = arrays.map(column).collect();
    Ok(columns.filter(|columns| columns.len() > 1 && columns.len() * 2 > children.len() && have_same_length(columns)))
}

/// A column as tables of the ASDF standard describe it: a name, a unit and data.
fn astropy_column(column: &Item<'_>) -> Option<TableColumn> {
    let (mut name, mut unit, mut data) = (None, None, None);
    for (key, value) in column.children().ok()? {
        match key.as_deref() {
            Some("name") => name = value.text().ok().map(|text| text.into_owned()),
            Some("unit") => unit = value.text().ok().map(|text| text.into_owned()),
            Some("data" | "value") => {
                data = value.resolve().ok().and_then(|value| value.decoder().decode_text(value.as_array().ok()?).ok());
            }
            _ => {}
        }
    }
    Some(TableColumn { name: name?, array: data?, unit })
}

fn have_same_length(columns: &[TableColumn]) -> bool {
    let length = |column: &TableColumn| column.array.shape().first().copied();
    columns.first().is_some_and(|first| length(first).is_some() && columns.iter().all(|column| length(column) == length(first)))
}

/// The fields of records, or the one column of an array with one axis. The columns of an array with two axes have no
/// names: they are taken one by one.
fn columns_of_2d(item: &Item<'_>) -> Result<Option<Vec<TableColumn>>> {
    let Ok(array) = item.as_array() else { return Ok(None) };
    let array = item.decoder().decode_text(array)?;
    let unit = item.unit();
    let Some(structure) = array.datatype().as_struct().filter(|_| !array.shape().is_empty()) else {
        let column = TableColumn { name: "value".to_owned(), array, unit };
        return Ok((column.array.shape().len() == 1).then_some(vec![column]));
    };
    let known = table_columns(item)?.unwrap_or_default();
    let fields = structure.fields().iter().enumerate().take(MAX_COLUMNS);
    let columns: Result<Vec<TableColumn>> = fields
        .filter(|(_, field)| field.name.is_some())
        .map(|(at, field)| {
            let name = field.name_or(at);
            let unit = known.iter().find(|column| column.name == name).and_then(|column| column.item.unit());
            Ok(TableColumn { array: array.field(&name)?, name, unit })
        })
        .collect();
    columns.map(Some)
}
