//! Tables made of many files: a row a file, or a row for each item of a list in it; a column for each path. Also the rows
//! of one table of a file.
//!
//! A [`Query`] has the columns and the condition for rows, and reads the rows of one file at a time, so that
//! files can be read side by side. A [`Table`] takes the rows; it holds these and never the files.

mod collect;
mod column;
mod computed;
mod item_table;
mod summary;

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

pub use self::collect::{CollectedTable, collect};
use self::column::{Column, RowSubject};
pub use self::item_table::{ItemTable, RowSelection};
use crate::bytes::{display_name, hidden_name};
use crate::condition::Condition;
pub use crate::condition::{CellType, TableCell};
use crate::error::{Error, Result};
use crate::file::{File, ItemKind};
use crate::suggest::nearest;
use crate::threads::lock;
use crate::wcs::{self, BoxLength, FoundWcs, PositionFrame, WcsKey, from_wcs};

/// The name of the first column.
const FILE_COLUMN: &str = "file";

/// A description of a table.
///
/// ```
/// use trilith::table::{TableCell, Query, Table};
/// let query = Query::new(["exposure=/meta/exposure", "shape=/data@shape"])?.filter("exposure > 100")?;
/// let mut table = Table::new(&query);
/// for (name, seconds) in [("a.asdf", 139.8), ("b.asdf", 3.0)] {
///     let text = format!("#ASDF 1.0.0\n%YAML 1.1\n--- {{meta: {{exposure: {seconds}}}}}\n...\n");
///     let file = trilith::OpenOptions::new().open_bytes(text.into_bytes())?;
///     table.add(query.rows(name, &file)?);
/// }
/// assert_eq!(table.names(), ["file", "exposure", "shape"]);
/// let rows: Vec<_> = table.rows().collect();
/// assert_eq!(rows, [[TableCell::Text("a.asdf".to_owned()), TableCell::Float(139.8), TableCell::Null]]);
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Query {
    columns: Vec<Column>,
    names: Vec<String>,
    each: Option<String>,
    filter: Option<Condition>,
    cone: Option<ConeSearch>,
    /// Columns, and whether the greatest comes first.
    sort: Vec<(usize, bool)>,
    /// The description of coordinates in FITS headers that counts.
    key: WcsKey,
    /// The notes on converted positions of all images of the files, each one once.
    notes: Arc<Mutex<BTreeSet<String>>>,
}

/// A row: the file, then a value for each column.
pub type Row = Vec<TableCell>;

impl Query {
    /// Columns by `NAME=/path`, or by a path alone, whose last key is the name. After the path `@shape`, `@ndim`,
    /// `@size`, `@nbytes`, `@dtype`, `@codec`, `@min`, `@max` and `@mean` ask about an array, `@unit`, `@doc`, `@tag` and `@kind`
    /// about any item. Any other name is that of an attribute: `/fits/0@EXPTIME`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for what is not a column, and for two of one name.
    pub fn new<S: AsRef<str>>(columns: impl IntoIterator<Item = S>) -> Result<Self> {
        Self::from_columns(columns.into_iter().map(|text| Column::parse(text.as_ref())).collect::<Result<Vec<_>>>()?)
    }

    /// Columns by their names and places, a place being `/path` or `/path@shape` as in [`Query::new`]. A name may have
    /// any character.
    ///
    /// # Errors
    /// Returns the errors of [`Query::new`].
    pub fn with_names<N: AsRef<str>, P: AsRef<str>>(columns: impl IntoIterator<Item = (N, P)>) -> Result<Self> {
        let columns = columns.into_iter().map(|(name, place)| Column::from_name_and_path(name.as_ref(), place.as_ref()));
        Self::from_columns(columns.collect::<Result<Vec<_>>>()?)
    }

    fn from_columns(columns: Vec<Column>) -> Result<Self> {
        let mut names = vec![FILE_COLUMN.to_owned()];
        for column in &columns {
            if names.contains(&column.name) {
                return Err(
                    Error::invalid_input(format!("there are two columns {:?}", column.name)).hint("name one of them NAME=/path")
                );
            }
            names.push(column.name.clone());
        }
        Ok(Self {
            columns,
            names,
            each: None,
            filter: None,
            cone: None,
            sort: Vec::new(),
            key: WcsKey::default(),
            notes: Arc::default(),
        })
    }

    /// A row for each item of the list or mapping at this path. The paths of columns begin at the item, `.` being the
    /// item itself; those that begin with `//` begin at the root of the file, and `@index` is the number of the item.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for what is not a path.
    pub fn rows_of(mut self, path: &str) -> Result<Self> {
        if !path.is_empty() && !path.starts_with('/') {
            return Err(Error::invalid_input(format!("the path {path:?} does not begin with /")));
        }
        self.each = Some(path.to_owned());
        Ok(self)
    }

    /// Only rows that meet a condition: comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of columns with values or columns,
    /// `and`, `or`, `not` and parentheses. A comparison with null is false.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with the place in the text, and
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) for one that nests too deep.
    pub fn filter(mut self, condition: &str) -> Result<Self> {
        self.filter = Some(Condition::parse(condition, "column", &self.names)?);
        Ok(self)
    }

    /// Keeps only files with an image that has a pixel at a position, or within a radius of it. All three are in degrees. The
    /// position is ICRS unless [`Query::position_frame`] names another frame.
    ///
    /// Trilith computes whether an image has the position. Header values such as `s_region` are ignored.
    #[must_use]
    pub fn covering_position(mut self, position: [f64; 2], radius: f64) -> Self {
        let frame = self.cone.map(|cone| cone.frame).unwrap_or_default();
        self.cone = Some(ConeSearch { position, radius, frame });
        self
    }

    /// The position of [`Query::covering_position`] is in this reference frame.
    #[must_use]
    pub fn position_frame(mut self, frame: PositionFrame) -> Self {
        if let Some(cone) = &mut self.cone {
            cone.frame = frame;
        }
        self
    }

    /// Coordinates in FITS headers are those of this description.
    #[must_use]
    pub fn wcs_key(mut self, key: WcsKey) -> Self {
        self.key = key;
        self
    }

    /// The notes on converted positions of the images that [`Query::rows`] has seen, each one once.
    pub fn position_notes(&self) -> Vec<String> {
        lock(&self.notes).iter().cloned().collect()
    }

    /// Does the same as [`Query::covers`], for the string `LON,LAT` or `LON,LAT,RADIUS`, such as
    /// `83.6,-5.4,30arcsec`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the string is neither.
    pub fn covers_text(self, text: &str) -> Result<Self> {
        let (place, radius) = match text.splitn(3, ',').collect::<Vec<_>>()[..] {
            [lon, lat, radius] => (format!("{lon},{lat}"), radius.parse()?),
            _ => (text.to_owned(), BoxLength::Degrees(0.0)),
        };
        match radius {
            BoxLength::Degrees(radius) => Ok(self.covering_position(wcs::position(&place)?, radius)),
            BoxLength::Pixels(_) => {
                Err(Error::invalid_input(format!("cannot read radius in {text:?}: expected an angle"))
                    .hint("give one as 30arcsec"))
            }
        }
    }

    /// Sorts by columns, `NAME` or `NAME:desc` with commas between; without, rows are in the order of the files.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an unknown column.
    pub fn sort(mut self, columns: &str) -> Result<Self> {
        self.sort.extend(parse_sort(columns, &self.names)?);
        Ok(self)
    }

    /// Returns `true` if a column may read rows of the lists `header` of FITS files: without one, files may be opened
    /// without them ([`OpenOptions::card_rows`](crate::OpenOptions::card_rows)).
    pub fn needs_card_rows(&self) -> bool {
        self.each.is_some() || self.columns.iter().any(Column::needs_card_rows)
    }

    /// The names of the columns; the first is `file`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Refuses a condition that compares values of different types in all rows that were read.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the condition has such a comparison.
    pub fn check_condition(&self) -> Result<()> {
        self.filter.as_ref().map_or(Ok(()), |filter| filter.check_types(&self.names))
    }

    /// The rows of one file. The column `file` has its name without the secrets of a URL.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read. Missing items are null.
    pub fn rows(&self, name: &str, file: &File) -> Result<Vec<Row>> {
        let name = &*display_name(&hidden_name(name)).into_owned();
        let mut rows = Vec::new();
        let image = OnceCell::new();
        if let Some(cone) = &self.cone {
            let mut all = file.every_wcs_by_key(self.key)?;
            let is_in = cone.is_in(&mut all, &mut |note| {
                lock(&self.notes).insert(note);
            });
            if !is_in? {
                return Ok(rows);
            }
            if self.columns.iter().any(Column::is_of_image) {
                image.set(file.wcs_of_image(all, self.key)?).unwrap_or_default();
            }
        }
        let Some(each) = &self.each else {
            self.add_row(name, RowSubject { file, item: None, image: &image }, &mut rows)?;
            return Ok(rows);
        };
        let list = match file.item(each) {
            Ok(list) => list.resolve()?,
            Err(error) if error.kind().is_request() => return Ok(rows),
            Err(error) => return Err(error),
        };
        if !matches!(list.kind(), ItemKind::List | ItemKind::Mapping) {
            let what = format!("{each} is not a list but {}", with_article(list.kind().name()));
            return Err(Error::invalid_input(what).at_path(each.clone()));
        }
        for (index, (_, item)) in list.children()?.iter().enumerate() {
            self.add_row(name, RowSubject { file, item: Some((item, index)), image: &image }, &mut rows)?;
        }
        Ok(rows)
    }

    fn add_row(&self, name: &str, place: RowSubject<'_>, rows: &mut Vec<Row>) -> Result<()> {
        let mut row = Vec::with_capacity(self.names.len());
        row.push(TableCell::Text(name.to_owned()));
        for column in &self.columns {
            row.push(column.read_cell(place).map_err(|error| error.context(format!("column {}", column.name)))?);
        }
        if self.filter.as_ref().is_none_or(|filter| filter.matches(&row)) {
            rows.push(row);
        }
        Ok(())
    }
}

/// Reads `NAME` or `NAME:desc` with commas between them: columns, and whether the greatest comes first.
fn parse_sort(columns: &str, names: &[String]) -> Result<Vec<(usize, bool)>> {
    let mut sort = Vec::new();
    for part in columns.split(',') {
        let (name, descends) = match part.rsplit_once(':') {
            Some((name, "desc")) => (name, true),
            Some((name, "asc")) => (name, false),
            _ => (part, false),
        };
        let Some(at) = names.iter().position(|known| known == name.trim()) else {
            let error = Error::invalid_input(format!("there is no column {name:?} to sort by"));
            return Err(match nearest(name, names.iter().map(String::as_str)) {
                Some(known) => error.hint(format!("did you mean {known}?")),
                None => error.hint(format!("there are {}", names.join(", "))),
            });
        };
        sort.push((at, descends));
    }
    Ok(sort)
}

/// Returns the order of two rows, by the values in the sort columns.
fn compare_rows(one: &[TableCell], other: &[TableCell], sort: &[(usize, bool)]) -> Ordering {
    let mut order = Ordering::Equal;
    for ((one, other), (_, descends)) in one.iter().zip(other).zip(sort) {
        let is_null = |cell: &TableCell| *cell == TableCell::Null;
        let found = one.total_cmp(other);
        // Null is last, whichever way.
        let found = if *descends && !is_null(one) && !is_null(other) { found.reverse() } else { found };
        order = order.then(found);
    }
    order
}

/// A position, and a radius around it, in degrees.
#[derive(Debug, Clone, Copy)]
struct ConeSearch {
    position: [f64; 2],
    radius: f64,
    frame: PositionFrame,
}

impl ConeSearch {
    /// Returns `true` if one of the images with these coordinates reaches into it.
    fn is_in(&self, all: &mut Vec<Result<FoundWcs>>, note: &mut dyn FnMut(String)) -> Result<bool> {
        let mut unknown = None;
        for found in all.iter().flatten() {
            let is_image = found.wcs.sky().is_some() && found.wcs.pixel_range().is_some();
            if is_image && let Some(text) = self.frame.conversion_note(&found.wcs) {
                note(text);
            }
            let position = self.frame.to_native(&found.wcs, self.position);
            match is_image.then(|| found.wcs.touches(position, self.radius)).transpose() {
                Ok(Some(true)) => return Ok(true),
                Ok(_) => {}
                Err(error) => unknown = unknown.or(Some(from_wcs(error))),
            }
        }
        // Coordinates that cannot be built may be those of an image that does.
        let refused = all.iter().position(Result::is_err).map(|place| all.swap_remove(place));
        refused.map_or_else(|| unknown.map_or(Ok(false), Err), |refused| refused.map(|_| false))
    }
}

fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {word}")
}

/// The text of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CellForm {
    /// The type of the value.
    #[default]
    Plain,
    /// Floats have the digits of 32 bits.
    Single,
    /// Text is JSON: a list, a mapping, or an integer that 64 bits with sign do not hold.
    Json,
}

/// Name, unit and form of a column.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TableColumnInfo {
    /// The name.
    pub name: String,
    /// The unit of its values.
    pub unit: Option<String>,
    /// The text of its cells.
    pub form: CellForm,
}

/// The rows of many files, or of one table. They are packed: 16 bytes for each value, and one buffer of strings.
#[derive(Debug, Clone)]
pub struct Table {
    names: Vec<String>,
    columns: Vec<TableColumnInfo>,
    /// The columns as they were asked for, which know whether any file has a value.
    asked_columns: Vec<Column>,
    /// Columns to sort by, and whether the greatest comes first.
    sort: Vec<(usize, bool)>,
    cells: Vec<PackedCell>,
    texts: StringPool,
    /// The number of the file of each row.
    files: Vec<usize>,
    /// The rows in their order, once they are sorted.
    sorted: Option<Vec<usize>>,
    /// The types that each column has, as bits.
    column_types: Vec<u8>,
}

/// A value without the bytes of its text.
#[derive(Debug, Clone, Copy)]
enum PackedCell {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(usize),
}

/// Strings one after another, and the end of each.
#[derive(Debug, Clone, Default)]
struct StringPool {
    text: String,
    ends: Vec<usize>,
}

impl StringPool {
    fn push(&mut self, text: &str) -> usize {
        self.text.push_str(text);
        self.ends.push(self.text.len());
        self.ends.len() - 1
    }

    fn get(&self, at: usize) -> &str {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(at).and_then(|end| self.text.get(start..*end)).unwrap_or_default()
    }
}

impl Table {
    /// A table without rows.
    pub fn new(query: &Query) -> Self {
        let info = |name: &String| TableColumnInfo { name: name.clone(), ..TableColumnInfo::default() };
        let asked_columns = query.columns.clone();
        Self { asked_columns, sort: query.sort.clone(), ..Self::with_columns(query.names.iter().map(info).collect()) }
    }

    /// A table without rows whose columns are given.
    fn with_columns(columns: Vec<TableColumnInfo>) -> Self {
        let seen = vec![0; columns.len()];
        Self {
            names: columns.iter().map(|column| column.name.clone()).collect(),
            columns,
            asked_columns: Vec::new(),
            sort: Vec::new(),
            cells: Vec::new(),
            texts: StringPool::default(),
            files: Vec::new(),
            sorted: None,
            column_types: seen,
        }
    }

    fn sort_by(&mut self, columns: &str) -> Result<()> {
        self.sort = parse_sort(columns, &self.names)?;
        Ok(())
    }

    /// Leaves out the rows after the first ones.
    fn truncate(&mut self, count: usize) {
        self.sorted.get_or_insert_with(|| (0..self.files.len()).collect()).truncate(count);
    }

    /// Name, unit and form of each column.
    pub fn columns(&self) -> &[TableColumnInfo] {
        &self.columns
    }

    /// Returns the text of a cell of a column, which is empty for null.
    pub fn cell_text(&self, column: usize, cell: &TableCell) -> String {
        match (cell, self.columns.get(column).map(|column| column.form)) {
            (TableCell::Float(value), Some(CellForm::Single)) if value.is_finite() => format!("{:?}", *value as f32),
            (cell, _) => cell.text(),
        }
    }

    /// Adds the rows of one more file.
    pub fn add(&mut self, rows: impl IntoIterator<Item = Row>) {
        self.add_file(self.files.last().map_or(0, |last| last + 1), rows);
    }

    /// Adds the rows of the file of this number. Files may come in any order: [`Table::finished`] puts them into that of
    /// their numbers.
    pub fn add_file(&mut self, number: usize, rows: impl IntoIterator<Item = Row>) {
        for row in rows {
            self.files.push(number);
            let cells = row.into_iter().chain(std::iter::repeat(TableCell::Null)).take(self.column_types.len());
            for (seen, cell) in self.column_types.iter_mut().zip(cells) {
                *seen |= cell.kind().type_bit();
                if matches!(cell, TableCell::Int(value) if crate::yaml::int_with_float(value, value as f64) != Some(Ordering::Equal))
                {
                    *seen |= WIDE_INT_FLAG;
                }
                self.cells.push(match cell {
                    TableCell::Null => PackedCell::Null,
                    TableCell::Bool(value) => PackedCell::Bool(value),
                    TableCell::Int(value) => PackedCell::Int(value),
                    TableCell::Float(value) => PackedCell::Float(value),
                    TableCell::Text(text) => PackedCell::Text(self.texts.push(&text)),
                });
            }
        }
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.sorted.as_ref().map_or(self.files.len(), Vec::len)
    }

    /// Returns `true` if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows so far, every value in the type of its column.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row> {
        let types = self.types();
        (0..self.len()).map(move |at| {
            let at = self.sorted.as_ref().and_then(|sorted| sorted.get(at)).copied().unwrap_or(at);
            types.iter().enumerate().map(|(column, kind)| self.unpack_cell(at, column).into_type(*kind)).collect()
        })
    }

    /// The values of a column, in its type.
    pub fn column(&self, column: usize) -> impl ExactSizeIterator<Item = TableCell> {
        let kind = self.types().get(column).copied().unwrap_or_default();
        (0..self.len()).map(move |at| {
            let at = self.sorted.as_ref().and_then(|sorted| sorted.get(at)).copied().unwrap_or(at);
            self.unpack_cell(at, column).into_type(kind)
        })
    }

    /// A value as it was added.
    fn unpack_cell(&self, row: usize, column: usize) -> TableCell {
        match row.checked_mul(self.column_types.len()).and_then(|start| self.cells.get(start + column)) {
            None | Some(PackedCell::Null) => TableCell::Null,
            Some(PackedCell::Bool(value)) => TableCell::Bool(*value),
            Some(PackedCell::Int(value)) => TableCell::Int(*value),
            Some(PackedCell::Float(value)) => TableCell::Float(*value),
            Some(PackedCell::Text(at)) => TableCell::Text(self.texts.get(*at).to_owned()),
        }
    }

    /// Returns the type of each column. Integers and floats become floats if floats can represent all of them. Any other mixture
    /// becomes text.
    pub fn types(&self) -> Vec<CellType> {
        self.column_types.iter().map(|seen| join_types(*seen)).collect()
    }

    /// Returns warnings about the columns that became text because their types were mixed, and about those that are empty in
    /// every file.
    pub fn column_warnings(&self) -> Vec<String> {
        let mixed = |seen: &u8| {
            let kinds: Vec<_> = types_seen(*seen).filter(|kind| *kind != CellType::Null).map(CellType::name).collect();
            let is_mixed = kinds.len() > 1 && join_types(*seen) == CellType::Text;
            is_mixed.then(|| kinds.join(" and "))
        };
        let found = self.names().iter().zip(&self.column_types).filter_map(|(name, seen)| Some((name, mixed(seen)?)));
        let mixed = found.map(|(name, kinds)| format!("the column {name} has {kinds}: all of it is text"));
        mixed.chain(self.asked_columns.iter().filter_map(Column::empty_reason)).collect()
    }

    /// Puts the rows into the order of the files, and then into the order of the query.
    #[must_use]
    pub fn finished(mut self) -> Self {
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        order.sort_by_key(|row| self.files.get(*row));
        if !self.sort.is_empty() {
            let key = |row: usize| self.sort.iter().map(|(column, _)| self.unpack_cell(row, *column)).collect();
            let mut keyed: Vec<(Row, usize)> = order.into_iter().map(|row| (key(row), row)).collect();
            keyed.sort_by(|(one, _), (other, _)| compare_rows(one, other, &self.sort));
            order = keyed.into_iter().map(|(_, row)| row).collect();
        }
        self.sorted = Some(order);
        self
    }
}

/// A flag next to the bits of types: an integer that no float equals.
const WIDE_INT_FLAG: u8 = 1 << 7;

/// The type that holds every value of a column so far.
fn join_types(seen: u8) -> CellType {
    match types_seen(seen).fold(CellType::Null, CellType::join) {
        CellType::Float if seen & WIDE_INT_FLAG != 0 => CellType::Text,
        kind => kind,
    }
}

fn types_seen(seen: u8) -> impl Iterator<Item = CellType> {
    CellType::ALL.into_iter().filter(move |kind| seen & kind.type_bit() != 0)
}
