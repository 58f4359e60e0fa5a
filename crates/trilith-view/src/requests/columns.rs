//! Items with rows and columns: records, lists of columns, mappings of arrays of one length, and arrays with two
//! axes.

use trilith::file::{Item, ItemKind};
use trilith::{Array, Error, Result};

use super::items::datatype_text;

/// Maximum number of members of a mapping that may be columns.
const COLUMNS: usize = 1000;

/// One column of a table.
pub(super) struct Column {
    /// Name of the column.
    pub name: String,
    /// Elements of the column; the first axis counts the rows.
    pub array: Array,
    /// The unit of its elements.
    pub unit: Option<String>,
}

impl Column {
    /// The type of its elements, for people.
    pub(super) fn type_text(&self) -> String {
        let shape = self.array.shape().get(1..).unwrap_or_default();
        let shape = if shape.is_empty() { String::new() } else { format!(" {shape:?}") };
        format!("{}{shape}", datatype_text(self.array.datatype()))
    }
}

/// The columns of an item that is a table; None for one that is not.
pub(super) fn columns_of(item: &Item<'_>) -> Result<Option<Vec<Column>>> {
    match item.kind() {
        ItemKind::Mapping => by_members(item),
        ItemKind::Array | ItemKind::List => by_array(item),
        _ => Ok(None),
    }
}

/// The column of a name.
pub(super) fn named<'c>(columns: &'c [Column], name: &str) -> Result<&'c Column> {
    let found = columns.iter().find(|column| column.name == name);
    found.ok_or_else(|| Error::invalid_input(format!("the table has no column {name:?}")))
}

/// A mapping with a list of columns, or whose members are arrays of one length.
fn by_members(item: &Item<'_>) -> Result<Option<Vec<Column>>> {
    let children = item.children()?;
    if children.len() > COLUMNS {
        return Ok(None);
    }
    if let Some((_, list)) =
        children.iter().find(|(name, item)| name.as_deref() == Some("columns") && item.kind() == ItemKind::List)
    {
        let columns: Option<Vec<Column>> = list.children()?.iter().map(|(_, column)| described(column)).collect();
        return Ok(columns.filter(|columns| are_even(columns)));
    }
    let column = |(name, item): &(Option<std::borrow::Cow<'_, str>>, Item<'_>)| {
        let array = item.array().ok().filter(|array| !array.shape().is_empty())?;
        let unit = item.notes().unit.map(|unit| unit.into_owned());
        Some(Column { name: name.as_deref()?.to_owned(), array: item.presented(array).ok()?, unit })
    };
    let arrays = children.iter().filter(|(_, item)| item.kind() == ItemKind::Array);
    let columns: Option<Vec<Column>> = arrays.map(column).collect();
    Ok(columns.filter(|columns| columns.len() > 1 && columns.len() * 2 > children.len() && are_even(columns)))
}

/// A column as tables of the ASDF standard describe it: a name, a unit and data.
fn described(column: &Item<'_>) -> Option<Column> {
    let (mut name, mut unit, mut data) = (None, None, None);
    for (key, value) in column.children().ok()? {
        match key.as_deref() {
            Some("name") => name = value.text().ok().map(|text| text.into_owned()),
            Some("unit") => unit = value.text().ok().map(|text| text.into_owned()),
            Some("data" | "value") => data = value.follow().ok().and_then(|value| value.presented(value.as_array().ok()?).ok()),
            _ => {}
        }
    }
    Some(Column { name: name?, array: data?, unit })
}

fn are_even(columns: &[Column]) -> bool {
    let length = |column: &Column| column.array.shape().first().copied();
    columns.first().is_some_and(|first| length(first).is_some() && columns.iter().all(|column| length(column) == length(first)))
}

/// The fields of records, or the one column of an array with one axis. The columns of an array with two axes have no
/// names: they are taken one by one.
fn by_array(item: &Item<'_>) -> Result<Option<Vec<Column>>> {
    let Ok(array) = item.as_array() else { return Ok(None) };
    let array = item.presented(array)?;
    let unit = item.notes().unit.map(|unit| unit.into_owned());
    let Some(structure) = array.datatype().as_struct().filter(|_| !array.shape().is_empty()) else {
        let column = Column { name: "value".to_owned(), array, unit };
        return Ok((column.array.shape().len() == 1).then_some(vec![column]));
    };
    let fields = structure.fields().iter().enumerate().take(COLUMNS);
    let columns: Result<Vec<Column>> = fields
        .filter(|(_, field)| field.name.is_some())
        .map(|(at, field)| {
            let name = field.name_or(at);
            Ok(Column { array: array.field(&name)?, name, unit: None })
        })
        .collect();
    columns.map(Some)
}
