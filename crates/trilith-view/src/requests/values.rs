//! Elements as numbers: those in a window, and lines of them in as many points as a plot has.

use serde_json::{Value, json};
use trilith::interrupt::check;
use trilith::{Array, Error, Index, Result};

use super::arrays::{array_of, element_texts, item_at, numbers};
use super::columns::{columns_of, find_column};
use super::{ViewerRequest, ViewerSession};
use crate::AxisCoordinate;

/// Maximum number of elements in an answer to `values`.
const MAX_VALUES: u64 = 4096;
/// Default and maximum number of points in an answer to `profile`.
const DEFAULT_POINTS: u64 = 1000;
const MAX_POINTS: u64 = 10_000;
/// Number of elements that are read at once.
const BUFFER_SIZE: u64 = 1 << 20;

/// `values`: elements as text, from `x` and `y` on, `w` by `h` of them.
pub(super) fn answer_values(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (_, array) = array_of(session, request)?;
    let (rows, columns) = match array.shape() {
        [] => (1, 1),
        [columns] => (1, *columns),
        [rows, columns] => (*rows, *columns),
        shape => {
            return Err(
                Error::invalid_input(format!("an array of shape {shape:?} has no plane")).hint("give a slice with two axes")
            );
        }
    };
    let (x, y) = (request.number_parameter("x")?.unwrap_or(0), request.number_parameter("y")?.unwrap_or(0));
    let (w, h) = (request.number_parameter("w")?.unwrap_or(1), request.number_parameter("h")?.unwrap_or(1));
    let (x, y) = (columns.min(x), rows.min(y));
    let (w, h): (u64, u64) = (w.min(columns - x), h.min(rows - y));
    if w.saturating_mul(h) > MAX_VALUES {
        return Err(Error::invalid_input(format!("{w} by {h} elements are more than the {MAX_VALUES} that one request gives")));
    }
    let window = match array.shape().len() {
        0 => array.clone(),
        1 => array.rows(x, w)?,
        _ => array.rows(y, h)?.slice([Index::ALL, element_range(x, w)])?,
    };
    let texts = element_texts(&window, 200)?;
    let rows: Vec<&[Option<String>]> = texts.chunks(usize::try_from(w.max(1)).unwrap_or(1)).collect();
    Ok(json!({"x": x, "y": y, "values": rows}))
}

/// The elements from `start` on, `count` of them.
pub(super) fn element_range(start: u64, count: u64) -> Index {
    let at = |number: u64| i64::try_from(number).ok();
    Index::Slice { start: at(start), stop: at(start.saturating_add(count)), step: 1 }
}

/// Answers `profile`: an array with one axis, the column `name` of a table, or row `row` or column `column` of one
/// with two, from `from` to `to`. If there are more elements than points, each point has the least and the greatest
/// of its elements.
pub(super) fn answer_profile(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let array = match request.get("name").filter(|name| !name.is_empty()) {
        Some(name) => find_column_array(session, request, name)?,
        None => array_of(session, request)?.1,
    };
    let at = |key: &str| request.number_parameter::<u64>(key);
    let line = match (array.shape().len(), at("row")?, at("column")?) {
        (1, ..) => array,
        (2, Some(row), _) => array.slice([single_index(row), Index::ALL])?,
        (2, None, Some(column)) => array.slice([Index::ALL, single_index(column)])?,
        _ => {
            let message = format!("an array of shape {:?} has no profile", array.shape());
            return Err(Error::invalid_input(message).hint("give row or column of an array with two axes"));
        }
    };
    let (from, to) =
        (at("from")?.unwrap_or(0).min(line.element_count()), at("to")?.unwrap_or(u64::MAX).min(line.element_count()));
    let scale = axis_scale(session, request, &line);
    let line = line.rows(from, to.saturating_sub(from))?;
    let points = at("points")?.unwrap_or(DEFAULT_POINTS).clamp(2, MAX_POINTS);
    let step = line.element_count().div_ceil(points).max(1);
    let mut reduced = MinMaxGroups::new(step);
    let mut done = 0;
    while done < line.element_count() {
        check()?;
        let count = BUFFER_SIZE.min(line.element_count() - done);
        numbers(&line.rows(done, count)?)?.into_iter().for_each(|number| reduced.push_number(number));
        done += count;
    }
    let (low, high) = reduced.finish();
    let along = scale.map(|scale| scale_points(&scale, from, to, step)).transpose()?;
    let high = if step > 1 { json!(high) } else { Value::Null };
    Ok(json!({"from": from, "to": to, "step": step, "low": low, "high": high, "along": along}))
}

/// The dimension scale along a line; `None` for the columns of a table and of an image.
fn axis_scale(session: &ViewerSession, request: &ViewerRequest, line: &Array) -> Option<AxisCoordinate> {
    if ["name", "field", "column"].iter().any(|key| !request.text_parameter(key).is_empty()) {
        return None;
    }
    let opened = session.requested_file(request).ok()?;
    let item = item_at(&opened, request.text_parameter("path")).ok()?;
    let slice = request.text_parameter("slice");
    let indices = if slice.is_empty() { Vec::new() } else { Index::parse_list(slice).ok()? };
    let found = AxisCoordinate::along_last_axis(&item, indices).ok()??;
    (found.numbers.shape() == line.shape()).then_some(found)
}

/// The numbers of a scale at the first element of each point of a profile.
fn scale_points(scale: &AxisCoordinate, from: u64, to: u64, step: u64) -> Result<Value> {
    let at = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let part = scale.numbers.slice([Index::Slice { start: Some(at(from)), stop: Some(at(to)), step: at(step) }])?;
    Ok(json!({"name": scale.name, "unit": scale.unit, "label": scale.label(), "values": numbers(&part)?}))
}

/// The column of a table.
fn find_column_array(session: &ViewerSession, request: &ViewerRequest, name: &str) -> Result<Array> {
    let opened = session.requested_file(request)?;
    let item = item_at(&opened, request.text_parameter("path"))?;
    let columns = columns_of(&item)?.unwrap_or_default();
    Ok(find_column(&columns, name)?.array.clone().with_limits(opened.request_limits()))
}

/// A row or a column of this number; one that cannot be is refused by the slice.
fn single_index(at: u64) -> Index {
    Index::Integer(i64::try_from(at).unwrap_or(i64::MAX))
}

/// The least and the greatest of each group of numbers; None if there is no finite one.
struct MinMaxGroups {
    group_len: u64,
    seen: u64,
    group: Option<(f64, f64)>,
    low: Vec<Option<f64>>,
    high: Vec<Option<f64>>,
}

impl MinMaxGroups {
    fn new(step: u64) -> Self {
        Self { group_len: step, seen: 0, group: None, low: Vec::new(), high: Vec::new() }
    }

    fn push_number(&mut self, number: f64) {
        if number.is_finite() {
            self.group = Some(self.group.map_or((number, number), |(low, high)| (low.min(number), high.max(number))));
        }
        self.seen += 1;
        if self.seen == self.group_len {
            self.close_group();
        }
    }

    fn close_group(&mut self) {
        self.low.push(self.group.map(|(low, _)| low));
        self.high.push(self.group.map(|(_, high)| high));
        (self.seen, self.group) = (0, None);
    }

    fn finish(mut self) -> (Vec<Option<f64>>, Vec<Option<f64>>) {
        if self.seen > 0 {
            self.close_group();
        }
        (self.low, self.high)
    }
}

/// Returns the number of rows and columns of an array that can be read as a plane of numbers.
pub(super) fn plane_dimensions(array: &Array) -> Result<(u64, u64)> {
    match array.shape() {
        [rows, columns] => Ok((*rows, *columns)),
        // Colours on the last axis.
        [rows, columns, 3 | 4] => Ok((*rows, *columns)),
        shape => {
            Err(Error::invalid_input(format!("an array of shape {shape:?} is not an image")).hint("give a slice with two axes"))
        }
    }
}
