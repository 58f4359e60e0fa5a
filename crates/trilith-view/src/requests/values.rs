//! Elements as numbers: those in a window, and lines of them in as many points as a plot has.

use serde_json::{Value, json};
use trilith::interrupt::check;
use trilith::{Array, Error, Index, Result};

use super::arrays::{array_of, item_at, numbers, texts};
use super::columns::{columns_of, named};
use super::{Request, Session};

/// Maximum number of elements in an answer to `values`.
const WINDOW: u64 = 4096;
/// Default and maximum number of points in an answer to `profile`.
const POINTS: u64 = 1000;
const MOST_POINTS: u64 = 10_000;
/// Number of elements that are read at once.
const PIECE: u64 = 1 << 20;

/// `values`: elements as text, from `x` and `y` on, `w` by `h` of them.
pub(super) fn values(session: &Session, request: &Request) -> Result<Value> {
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
    let (x, y) = (request.number("x")?.unwrap_or(0), request.number("y")?.unwrap_or(0));
    let (w, h) = (request.number("w")?.unwrap_or(1), request.number("h")?.unwrap_or(1));
    let (x, y) = (columns.min(x), rows.min(y));
    let (w, h): (u64, u64) = (w.min(columns - x), h.min(rows - y));
    if w.saturating_mul(h) > WINDOW {
        return Err(Error::invalid_input(format!("{w} by {h} elements are more than the {WINDOW} that one request gives")));
    }
    let window = match array.shape().len() {
        0 => array.clone(),
        1 => array.rows(x, w)?,
        _ => array.rows(y, h)?.slice([Index::ALL, range(x, w)])?,
    };
    let texts = texts(&window, 200)?;
    let rows: Vec<&[Option<String>]> = texts.chunks(usize::try_from(w.max(1)).unwrap_or(1)).collect();
    Ok(json!({"x": x, "y": y, "values": rows}))
}

/// The elements from `start` on, `count` of them.
pub(super) fn range(start: u64, count: u64) -> Index {
    let at = |number: u64| i64::try_from(number).ok();
    Index::Range { start: at(start), stop: at(start.saturating_add(count)), step: 1 }
}

/// Answers `profile`: an array with one axis, the column `name` of a table, or row `row` or column `column` of one
/// with two, from `from` to `to`. If there are more elements than points, each point has the least and the greatest
/// of its elements.
pub(super) fn profile(session: &Session, request: &Request) -> Result<Value> {
    let array = match request.get("name").filter(|name| !name.is_empty()) {
        Some(name) => column(session, request, name)?,
        None => array_of(session, request)?.1,
    };
    let at = |key: &str| request.number::<u64>(key);
    let line = match (array.shape().len(), at("row")?, at("column")?) {
        (1, ..) => array,
        (2, Some(row), _) => array.slice([index(row), Index::ALL])?,
        (2, None, Some(column)) => array.slice([Index::ALL, index(column)])?,
        _ => {
            let message = format!("an array of shape {:?} has no profile", array.shape());
            return Err(Error::invalid_input(message).hint("give row or column of an array with two axes"));
        }
    };
    let (from, to) = (at("from")?.unwrap_or(0).min(line.len()), at("to")?.unwrap_or(u64::MAX).min(line.len()));
    let line = line.rows(from, to.saturating_sub(from))?;
    let points = at("points")?.unwrap_or(POINTS).clamp(2, MOST_POINTS);
    let step = line.len().div_ceil(points).max(1);
    let mut reduced = Reduced::new(step);
    let mut done = 0;
    while done < line.len() {
        check()?;
        let count = PIECE.min(line.len() - done);
        numbers(&line.rows(done, count)?)?.into_iter().for_each(|number| reduced.add(number));
        done += count;
    }
    let (low, high) = reduced.finish();
    Ok(json!({"from": from, "to": to, "step": step, "low": low, "high": if step > 1 { json!(high) } else { Value::Null }}))
}

/// The column of a table.
fn column(session: &Session, request: &Request, name: &str) -> Result<Array> {
    let opened = session.file(request)?;
    let item = item_at(&opened, request.text("path"))?;
    let columns = columns_of(&item)?.unwrap_or_default();
    Ok(named(&columns, name)?.array.clone().with_limits(opened.budget()))
}

/// A row or a column of this number; one that cannot be is refused by the slice.
fn index(at: u64) -> Index {
    Index::At(i64::try_from(at).unwrap_or(i64::MAX))
}

/// The least and the greatest of each group of numbers; None if there is no finite one.
struct Reduced {
    step: u64,
    seen: u64,
    now: Option<(f64, f64)>,
    low: Vec<Option<f64>>,
    high: Vec<Option<f64>>,
}

impl Reduced {
    fn new(step: u64) -> Self {
        Self { step, seen: 0, now: None, low: Vec::new(), high: Vec::new() }
    }

    fn add(&mut self, number: f64) {
        if number.is_finite() {
            self.now = Some(self.now.map_or((number, number), |(low, high)| (low.min(number), high.max(number))));
        }
        self.seen += 1;
        if self.seen == self.step {
            self.close();
        }
    }

    fn close(&mut self) {
        self.low.push(self.now.map(|(low, _)| low));
        self.high.push(self.now.map(|(_, high)| high));
        (self.seen, self.now) = (0, None);
    }

    fn finish(mut self) -> (Vec<Option<f64>>, Vec<Option<f64>>) {
        if self.seen > 0 {
            self.close();
        }
        (self.low, self.high)
    }
}

/// Returns the number of rows and columns of an array that can be read as a plane of numbers.
pub(super) fn plane(array: &Array) -> Result<(u64, u64)> {
    match array.shape() {
        [rows, columns] => Ok((*rows, *columns)),
        // Colours on the last axis.
        [rows, columns, 3 | 4] => Ok((*rows, *columns)),
        shape => {
            Err(Error::invalid_input(format!("an array of shape {shape:?} is not an image")).hint("give a slice with two axes"))
        }
    }
}
