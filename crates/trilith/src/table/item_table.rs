//! The rows of one table of a file: FITS tables, compounds, structured arrays, tables of ASDF.

use std::ops::Range;

use super::{CellForm, Row, Table, TableCell, TableColumnInfo};
use crate::array::{Array, Datatype, FloatText, Index};
use crate::condition::Condition;
use crate::error::{Error, Result};
use crate::file::{Item, ItemKind, table_columns, values_of_column};
use crate::suggest::offer;
use crate::wcs::{PointColumn, PointTable};

/// Number of rows that are read at once.
const BATCH_ROWS: u64 = 8 << 10;
/// Number of names that a message lists.
const MAX_LISTED_NAMES: usize = 12;

/// A table of a file, of which rows are read.
///
/// ```
/// use trilith::table::{ItemTable, RowSelection};
/// let text = b"#ASDF 1.0.0\n%YAML 1.1\n--- {t: !<tag:stsci.edu:asdf/core/table-1.0.0> {columns: [{name: a, data: [1, 2]}]}}\n...\n";
/// let file = trilith::OpenOptions::new().open_bytes(text.to_vec())?;
/// let table = ItemTable::from_item(&file.item("/t")?)?.ok_or_else(|| trilith::Error::invalid_input("no table"))?;
/// assert_eq!((table.names(), table.len()), (vec!["a".to_owned()], 2));
/// let rows = table.read(&RowSelection::default().filter("a > 1"))?;
/// assert_eq!(rows.rows().next(), Some(vec![trilith::table::TableCell::Int(2)]));
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug)]
pub struct ItemTable<'f> {
    columns: Vec<ItemColumn<'f>>,
    row_count: u64,
}

/// A column, and the place of its values.
#[derive(Debug)]
struct ItemColumn<'f> {
    info: TableColumnInfo,
    values: ColumnValues<'f>,
}

#[derive(Debug)]
enum ColumnValues<'f> {
    /// The first axis counts the rows.
    Array(Array),
    /// An item for each row.
    List(Vec<Item<'f>>),
    /// An item whose values cannot be the cells of a column.
    Unreadable(Item<'f>),
}

/// The rows and columns that are read of a table.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RowSelection {
    /// Names of the columns in their order; all columns if it is empty.
    pub columns: Vec<String>,
    /// The rows, as an index or a slice in numpy notation.
    pub rows: Option<Index>,
    /// The condition that a row meets, as in [`Query::filter`](super::Query::filter).
    pub condition: Option<String>,
    /// Columns to sort by, as in [`Query::sort`](super::Query::sort).
    pub sort: Option<String>,
    /// Maximum number of rows.
    pub limit: Option<u64>,
}

impl RowSelection {
    /// Adds a condition.
    #[must_use]
    pub fn filter(mut self, condition: &str) -> Self {
        self.condition = Some(condition.to_owned());
        self
    }
}

impl<'f> ItemTable<'f> {
    /// Returns the table that an item is, or None if it is none. No row is read.
    ///
    /// # Errors
    /// Returns an error if the table cannot be read, and [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if its columns
    /// have different numbers of rows.
    pub fn from_item(item: &Item<'f>) -> Result<Option<Self>> {
        let Some(found) = table_columns(item)? else { return Ok(None) };
        let (mut columns, mut row_count) = (Vec::new(), None);
        for column in found {
            let values = read_values(&column.item).unwrap_or_else(|_| ColumnValues::Unreadable(column.item.clone()));
            if let Some(count) = values.row_count() {
                let expected = *row_count.get_or_insert(count);
                if count != expected {
                    let what = format!("the column {} has {count} rows, others have {expected}", column.name);
                    return Err(Error::malformed(what).at_path(item.path().unwrap_or_default()));
                }
            }
            let info = TableColumnInfo { name: column.name, unit: column.item.unit(), form: values.cell_form() };
            columns.push(ItemColumn { info, values });
        }
        Ok(Some(Self { columns, row_count: row_count.unwrap_or(0) }))
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.info.name.clone()).collect()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> u64 {
        self.row_count
    }

    /// Returns `true` if there is no row.
    pub fn is_empty(&self) -> bool {
        self.row_count == 0
    }

    /// Returns the table as a list of points. Columns whose values are not cells have none.
    pub fn points(&self) -> PointTable {
        let column = |column: &ItemColumn<'_>| {
            let mut selection = RowSelection::default();
            selection.columns.push(column.info.name.clone());
            let cells = self.read(&selection).map(|table| table.column(0).collect()).unwrap_or_default();
            PointColumn::new(column.info.name.clone(), column.info.unit.clone(), cells)
        };
        PointTable::from_columns(self.columns.iter().map(column).collect())
    }

    /// Reads rows.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an unknown column, for a condition that cannot be
    /// parsed, and for one that compares values of different types, [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a column whose values are not cells, and an error if the
    /// values cannot be read.
    pub fn read(&self, selection: &RowSelection) -> Result<Table> {
        let names = self.names();
        let chosen = match selection.columns.is_empty() {
            true => (0..names.len()).collect(),
            false => selection.columns.iter().map(|name| column_position(&names, name)).collect::<Result<Vec<usize>>>()?,
        };
        let condition = selection.condition.as_deref().map(|text| Condition::parse(text, "column", &names)).transpose()?;
        let info = |at: &usize| self.columns.get(*at).map(|column| column.info.clone());
        let mut table = Table::with_columns(chosen.iter().filter_map(info).collect());
        if let Some(sort) = &selection.sort {
            table.sort_by(sort)?;
        }
        let is_read = |at: usize| chosen.contains(&at) || condition.as_ref().is_some_and(|condition| condition.uses_column(at));
        // A table without any other column has no row in which to find out.
        for (_, column) in self.columns.iter().enumerate().filter(|(at, _)| is_read(*at)) {
            if let ColumnValues::Unreadable(item) = &column.values {
                read_values(item).map_err(|error| error.context(format!("column {}", column.info.name)))?;
            }
        }
        let rows = RowNumbers::select(self.row_count, selection.rows.as_ref())?;
        let limit = selection.limit.unwrap_or(u64::MAX);
        let mut first = 0;
        while first < rows.count && (selection.sort.is_some() || (table.len() as u64) < limit) {
            let batch = first..rows.count.min(first + BATCH_ROWS);
            let mut cells = Vec::with_capacity(self.columns.len());
            for (at, column) in self.columns.iter().enumerate() {
                let read = || {
                    column.read_cells(&rows, batch.clone()).map_err(|error| error.context(format!("column {}", column.info.name)))
                };
                cells.push(if is_read(at) { read()? } else { Vec::new() });
            }
            table.add((0..(batch.end - batch.start) as usize).filter_map(|row| {
                let full =
                    |row: usize| -> Row { cells.iter().map(|column| column.get(row).cloned().unwrap_or_default()).collect() };
                let row = match &condition {
                    Some(condition) => Some(full(row)).filter(|row| condition.matches(row))?,
                    None => full(row),
                };
                Some(chosen.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect::<Row>())
            }));
            first = batch.end;
        }
        condition.map_or(Ok(()), |condition| condition.check_types(&names))?;
        let mut table = table.finished();
        table.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(table)
    }
}

/// The rows that are read, by their numbers in the table.
struct RowNumbers {
    start: i64,
    step: i64,
    count: u64,
}

impl RowNumbers {
    fn select(len: u64, rows: Option<&Index>) -> Result<Self> {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        let from_end = |index: i64| if index < 0 { index.saturating_add(len) } else { index };
        match rows {
            None => Ok(Self { start: 0, step: 1, count: len.unsigned_abs() }),
            Some(Index::Integer(index)) => {
                let row = from_end(*index);
                if !(0..len).contains(&row) {
                    return Err(Error::invalid_input(format!("there is no row {index}, the table has {len}")));
                }
                Ok(Self { start: row, step: 1, count: 1 })
            }
            Some(Index::Slice { start, stop, step }) if *step > 0 => {
                let bound = |index: Option<i64>, default: i64| index.map_or(default, |index| from_end(index).clamp(0, len));
                let (start, stop) = (bound(*start, 0), bound(*stop, len));
                let count = stop.saturating_sub(start).max(0).unsigned_abs().div_ceil(step.unsigned_abs());
                Ok(Self { start, step: *step, count })
            }
            Some(_) => Err(Error::invalid_input("rows are a number or a slice with a positive step, such as 0:10 or ::2")),
        }
    }

    /// The number of a row in the table.
    fn row(&self, at: u64) -> u64 {
        let far = i64::try_from(at).unwrap_or(i64::MAX).saturating_mul(self.step);
        self.start.saturating_add(far).unsigned_abs()
    }

    /// The slice of the table that a batch of rows is.
    fn slice(&self, batch: &Range<u64>) -> Index {
        let last = self.row(batch.end.saturating_sub(1));
        let signed = |row: u64| i64::try_from(row).unwrap_or(i64::MAX);
        Index::Slice { start: Some(signed(self.row(batch.start))), stop: Some(signed(last).saturating_add(1)), step: self.step }
    }
}

fn column_position(names: &[String], name: &str) -> Result<usize> {
    names.iter().position(|known| known == name).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let error = Error::invalid_input(format!("there is no column {name:?}"));
        error.hint(offer(name, "the columns are ", &names, MAX_LISTED_NAMES))
    })
}

/// The values of a column: an array, or a list whose items are arrays or values.
fn read_values<'f>(item: &Item<'f>) -> Result<ColumnValues<'f>> {
    match item.kind() {
        ItemKind::Array => item.decoder().read().map(ColumnValues::Array),
        ItemKind::List => {
            let rows = item.owned_children()?;
            // Numbers without a datatype are one array if they are alike.
            let is_plain = rows.iter().all(|row| matches!(row.kind(), ItemKind::Scalar));
            match if is_plain { item.as_array().ok() } else { None } {
                Some(array) => Ok(ColumnValues::Array(array)),
                None => Ok(ColumnValues::List(rows)),
            }
        }
        kind => {
            values_of_column(item.clone())?;
            let what = format!("its values are a {}, expected an array or a list", kind.name());
            Err(Error::unsupported(what).hint("select other columns with -c NAME"))
        }
    }
}

impl ColumnValues<'_> {
    fn row_count(&self) -> Option<u64> {
        match self {
            Self::Array(array) => Some(array.shape().first().copied().unwrap_or(1)),
            Self::List(rows) => Some(rows.len() as u64),
            Self::Unreadable(_) => None,
        }
    }

    fn cell_form(&self) -> CellForm {
        match self {
            Self::Array(array) if array.shape().len() > 1 => CellForm::Json,
            Self::Array(array) => match array.datatype() {
                Datatype::Float16 | Datatype::Float32 => CellForm::Single,
                datatype if is_cell(datatype) => CellForm::Plain,
                _ => CellForm::Json,
            },
            Self::List(rows) if rows.iter().all(is_one_cell) => CellForm::Plain,
            _ => CellForm::Json,
        }
    }
}

/// Returns `true` if an item of a row is one cell: a value, or a string of a FITS table.
fn is_one_cell(row: &Item<'_>) -> bool {
    let is_string = || row.array().is_ok_and(|array| array.shape().is_empty() && is_cell(array.datatype()));
    matches!(row.kind(), ItemKind::Scalar | ItemKind::Text | ItemKind::Null) || row.kind() == ItemKind::Array && is_string()
}

/// Returns `true` if an element is one cell. Integers beyond 64 bits with sign have their digits.
fn is_cell(datatype: &Datatype) -> bool {
    let is_text = matches!(datatype, Datatype::Ascii(_) | Datatype::Ucs4(_) | Datatype::Ucs2(_) | Datatype::Utf8(_));
    let is_integer = datatype.is_integer() && *datatype != Datatype::Uint64;
    is_text || is_integer || matches!(datatype, Datatype::Bool8 | Datatype::Float64)
}

impl ItemColumn<'_> {
    fn read_cells(&self, rows: &RowNumbers, batch: Range<u64>) -> Result<Vec<TableCell>> {
        match &self.values {
            ColumnValues::Unreadable(item) => read_values(item).map(|_| Vec::new()),
            ColumnValues::List(items) => {
                let cell = |at: u64| match usize::try_from(rows.row(at)).ok().and_then(|row| items.get(row)) {
                    Some(item) => item_cell(&item.resolve()?, self.info.form),
                    None => Ok(TableCell::Null),
                };
                batch.map(cell).collect()
            }
            ColumnValues::Array(array) => {
                let part = if array.shape().is_empty() { array.clone() } else { array.slice([rows.slice(&batch)])? };
                if part.shape().len() < 2
                    && let Some(cells) = TableCell::of_elements(&part)?
                {
                    return Ok(cells);
                }
                if part.shape().is_empty() {
                    return Ok(vec![json_cell(&part)?]);
                }
                let count = i64::try_from(batch.end - batch.start).unwrap_or(i64::MAX);
                (0..count).map(|row| json_cell(&part.slice([Index::Integer(row)])?)).collect()
            }
        }
    }
}

/// The value of one row, if the rows are items.
fn item_cell(item: &Item<'_>, form: CellForm) -> Result<TableCell> {
    match item.kind() {
        ItemKind::Scalar | ItemKind::Text | ItemKind::Null => Ok(TableCell::of_scalar(item.value()?)),
        ItemKind::Array => {
            let array = item.decoder().read()?;
            let cells = if form == CellForm::Plain && array.shape().is_empty() { TableCell::of_elements(&array)? } else { None };
            cells.map_or_else(|| json_cell(&array), |cells| Ok(cells.into_iter().next().unwrap_or_default()))
        }
        _ => json_cell(&item.as_array()?),
    }
}

/// An array as JSON. An integer that 64 bits hold is one, so that conditions compare it.
fn json_cell(array: &Array) -> Result<TableCell> {
    let mut text = Vec::new();
    array.write_json(&mut text, FloatText::Shortest)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(match text.as_str() {
        "null" => TableCell::Null,
        digits if array.shape().is_empty() => digits.parse().map_or(TableCell::Text(text), TableCell::Int),
        _ => TableCell::Text(text),
    })
}
