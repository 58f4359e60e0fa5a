//! Subject of a drawing: the array that an item is or holds, and the kind of drawing.

use trilith::array::Index;
use trilith::file::{Item, ItemKind, rank, table_columns};
use trilith::{Array, Datatype, Error, Result};
use trilith_view::{AxisCoordinate, is_numeric, viewable};

use super::DrawingKind;
use crate::inputs::ArraySelection;
use crate::output::is_negative_result;

/// The columns of a table, by their names.
type NamedColumns = Vec<(String, Array)>;

/// An array, and what is drawn of it.
pub(super) struct DrawingSource {
    /// The path of the item in the file.
    pub path: String,
    /// The array; of a table its first column.
    pub array: Array,
    /// The columns of a table, by their names.
    pub columns: NamedColumns,
    /// The kind of drawing.
    pub what: DrawingKind,
    /// Unit of the array; empty if it has none.
    pub unit: String,
    /// A remark on the parts that are not shown.
    pub note: Option<String>,
    /// The coordinate of a line.
    pub along: Option<AxisCoordinate>,
    /// `true` if the first row of an image is at the bottom.
    pub is_lower: bool,
}

impl DrawingSource {
    /// Chooses among what an item is or holds.
    pub(super) fn select(item: &Item<'_>, path: &str, parts: &ArraySelection, what: Option<DrawingKind>, first: bool) -> Result<Self> {
        let (path, mut array, mut columns) = select_array(item, path, first)?;
        let unit = item.unit().unwrap_or_default();
        array = parts.apply(array, parts.field.as_deref())?;
        if parts.field.is_some() {
            columns.clear();
        }
        if let Some(indices) = parts.parse_slice()? {
            for (_, column) in &mut columns {
                *column = column.slice(&indices)?;
            }
        }
        let structured = array.datatype().as_struct().is_some();
        if columns.is_empty() && structured {
            columns = viewable::columns(&array)?.into_iter().map(|(name, column)| (name.unwrap_or_default(), column)).collect();
        }
        let what = match what {
            Some(what) => what,
            None if structured || columns.len() > 1 => DrawingKind::Table,
            None => default_drawing(&array)?,
        };
        let mut subject = Self { path, array, columns, what, unit, note: None, along: None, is_lower: false };
        subject.reduce_axes()?;
        if what == DrawingKind::Line && subject.array.shape().len() == 1 && item.kind() == ItemKind::Array {
            let found = AxisCoordinate::along_last_axis(item, parts.parse_slice()?.unwrap_or_default())?;
            subject.along = found.filter(|found| found.numbers.shape() == subject.array.shape());
        }
        Ok(subject)
    }

    /// Brings the array to as many axes as are drawn: the first plane, if there are more.
    fn reduce_axes(&mut self) -> Result<()> {
        let axes = match self.what {
            DrawingKind::Image | DrawingKind::Flags | DrawingKind::Labels => 2,
            DrawingKind::Colours => 3,
            DrawingKind::Line | DrawingKind::Steps => 1,
            DrawingKind::Histogram | DrawingKind::Table => return Ok(()),
        };
        let shape = self.array.shape().to_vec();
        let Some(more) = shape.len().checked_sub(axes) else {
            return Err(Error::invalid_input(format!("an array of the shape {shape:?} has too few axes: {axes} are needed")));
        };
        if more == 0 {
            return Ok(());
        }
        if shape.iter().take(more).any(|len| *len == 0) {
            return Err(Error::invalid_input(format!("an array of the shape {shape:?} has no elements")));
        }
        if shape.iter().take(more).any(|len| *len > 1) {
            let what = if axes == 1 { "row" } else { "plane" };
            self.note = Some(format!("only the first {what} of {shape:?} is shown; --slice chooses another"));
        }
        self.array = self.array.slice(vec![Index::Integer(0); more])?;
        Ok(())
    }
}

/// Returns the kind of drawing that suits the shape and the datatype.
fn default_drawing(array: &Array) -> Result<DrawingKind> {
    if !is_numeric(array.datatype()) {
        let message = format!("elements of {} cannot be drawn", crate::json::datatype_text(array.datatype()));
        return Err(Error::invalid_input(message).hint("trilith get prints them"));
    }
    match array.shape() {
        [] => Err(Error::invalid_input("a single number cannot be drawn").hint("trilith get prints it")),
        [_] => Ok(DrawingKind::Line),
        [_, _, 3 | 4] if *array.datatype() == Datatype::Uint8 => Ok(DrawingKind::Colours),
        _ => Ok(DrawingKind::Image),
    }
}

/// The array that an item is, or the only one in it, or with `first` the image of several; several of one axis and one length
/// are the columns of a table.
fn select_array(item: &Item<'_>, path: &str, first: bool) -> Result<(String, Array, NamedColumns)> {
    match item.array() {
        Ok(array) => return Ok((path.to_owned(), array, Vec::new())),
        Err(error) if !is_negative_result(&error) || item.kind() == ItemKind::Array => return Err(error),
        Err(_) => {}
    }
    let mut all = viewable::arrays(item)?;
    if all.is_empty() {
        let array = item.as_array().map_err(|error| Error::invalid_input(format!("nothing to draw: {}", error.message())))?;
        return Ok((path.to_owned(), array, Vec::new()));
    }
    if let [only] = all.as_slice() {
        let path = format!("{path}{}", only.path);
        return Ok((path, all.swap_remove(0).array?, Vec::new()));
    }
    if first {
        let image = |found: &viewable::ViewableArray| found.array.as_ref().is_ok_and(|array| matches!(default_drawing(array), Ok(DrawingKind::Image | DrawingKind::Colours)));
        let rank = |found: &viewable::ViewableArray| {
            found.array.as_ref().ok().map(|array| std::cmp::Reverse(rank(&found.path, array.datatype(), array.shape())))
        };
        let found = all.into_iter().filter(image).min_by_key(rank);
        let found = found.ok_or_else(|| Error::invalid_input("none of the arrays is an image"))?;
        return Ok((format!("{path}{}", found.path), found.array?, Vec::new()));
    }
    let lengths: Vec<Option<u64>> = all.iter().map(|found| found.array.as_ref().ok().and_then(numeric_len)).collect();
    if let Some(Some(first)) = lengths.first()
        && lengths.iter().all(|len| *len == Some(*first))
    {
        let named = table_columns(item)?.unwrap_or_default();
        let base = item.path().unwrap_or_default();
        let column = |found: viewable::ViewableArray| {
            let path = format!("{base}{}", found.path);
            let known = named.iter().find(|column| column.item.path().as_ref() == Some(&path)).map(|column| column.name.clone());
            Ok((known.unwrap_or_else(|| found.path.trim_start_matches('/').to_owned()), found.array?))
        };
        let columns: NamedColumns = all.into_iter().map(column).collect::<Result<_>>()?;
        let first = columns.first().map(|(_, array)| array.clone());
        return first.map(|first| (path.to_owned(), first, columns)).ok_or_else(|| Error::invalid_input("nothing to draw"));
    }
    let mut paths: Vec<String> = all.into_iter().map(|found| format!("{path}{}", found.path)).collect();
    let count = paths.len();
    paths.truncate(5);
    let more = if count > paths.len() { format!(" and {} more", count - paths.len()) } else { String::new() };
    Err(Error::invalid_input(format!("cannot draw {count} arrays at once"))
        .hint(format!("choose one after #: {}{more}; or add --first to draw the first image", paths.join(", "))))
}

/// The length of an array of numbers of one axis.
fn numeric_len(array: &Array) -> Option<u64> {
    match *array.shape() {
        [len] if is_numeric(array.datatype()) => Some(len),
        _ => None,
    }
}
