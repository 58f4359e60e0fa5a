//! `table`: some rows of a table, in the order of the file or of a column.

use std::sync::Arc;

use serde_json::{Value, json};
use trilith::interrupt::check;
use trilith::{Array, Error, Index, Limits, Result};

use super::arrays::{item_at, numbers, row_text};
use super::columns::{TableColumn, columns_of, find_column};
use super::session::lock;
use super::{OpenFile, ViewerRequest, ViewerSession};

/// Maximum number of rows in one answer.
const MAX_ROWS: u64 = 1000;
/// Maximum number of columns of an array with two axes in one answer.
const MAX_COLUMNS: u64 = 100;
/// Maximum number of characters of a cell that are shown.
const MAX_CELL_CHARS: usize = 200;
/// Number of rows that are read at once to order them.
const BUFFER_SIZE: u64 = 1 << 20;
/// Rows that are so near in the file are read together.
const MERGE_ROWS: u64 = 64;

/// The rows in the order of one column.
pub(super) struct SortedRows {
    path: String,
    column: String,
    rows: Vec<u32>,
}

/// `table`: rows from `offset` on, `limit` of them; ordered by `sort`, and `descending=1` from the end of that order.
pub(super) fn answer_table(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let opened = session.requested_file(request)?;
    let path = request.text_parameter("path");
    let item = item_at(&opened, path)?;
    let (offset, limit) = request.page_offset_limit(100, MAX_ROWS)?;
    let limits = opened.request_limits();
    let (first, total, columns) = match columns_of(&item)? {
        Some(columns) => (0, columns.len() as u64, columns),
        None => unsorted_rows(&item.decoder().decode_text(item.as_array()?)?, request)?,
    };
    let columns: Vec<TableColumn> =
        columns.into_iter().map(|column| TableColumn { array: column.array.with_limits(limits.clone()), ..column }).collect();
    let count = columns.first().and_then(|column| column.array.shape().first().copied()).unwrap_or(0);
    let rows = match request.get("sort").filter(|name| !name.is_empty()) {
        None => (offset.min(count)..offset.saturating_add(limit).min(count)).collect(),
        Some(name) => {
            let order = sorted_rows(&opened, path, find_column(&columns, name)?)?;
            page_of(&order.rows, offset, limit, request.is_parameter_set("descending"))
        }
    };
    let heads: Vec<Value> =
        columns.iter().map(|column| json!({"name": column.name, "type": column.type_text(), "unit": column.unit})).collect();
    let cells: Vec<Vec<Option<String>>> =
        columns.iter().map(|column| read_cell_texts(&column.array, &rows)).collect::<Result<_>>()?;
    let mut lines: Vec<Vec<Option<String>>> = rows.iter().map(|_| Vec::with_capacity(cells.len())).collect();
    for column in cells {
        lines.iter_mut().zip(column).for_each(|(line, cell)| line.push(cell));
    }
    Ok(json!({
        "count": count, "offset": offset, "columns": heads, "first_column": first, "column_count": total, "numbers": rows,
        "rows": lines,
    }))
}

/// Columns of an array with two axes, by their numbers: the first one given, how many there are, and they.
fn unsorted_rows(array: &Array, request: &ViewerRequest) -> Result<(u64, u64, Vec<TableColumn>)> {
    let shape = array.shape();
    let &[_, width] = shape else {
        return Err(Error::invalid_input(format!("an array of shape {shape:?} is not a table")).hint("look at it as an image"));
    };
    let first = request.number_parameter("column")?.unwrap_or(0).min(width);
    let last = first.saturating_add(MAX_COLUMNS).min(width);
    let column = |at: u64| {
        let array = array.slice([Index::ALL, Index::Integer(i64::try_from(at).unwrap_or(i64::MAX))])?;
        Ok(TableColumn { name: at.to_string(), array, unit: None })
    };
    Ok((first, width, (first..last).map(column).collect::<Result<_>>()?))
}

/// These rows of a column as text. Rows that are near to each other are read together.
fn read_cell_texts(array: &Array, rows: &[u64]) -> Result<Vec<Option<String>>> {
    let mut sorted: Vec<(u64, usize)> = rows.iter().enumerate().map(|(place, row)| (*row, place)).collect();
    sorted.sort_unstable();
    let mut texts = vec![None; rows.len()];
    let mut rest = &sorted[..];
    while let Some((first, _)) = rest.first().copied() {
        let mut last = first;
        let together = rest
            .iter()
            .take_while(|(row, _)| {
                let is_near = row - last <= MERGE_ROWS;
                last = if is_near { *row } else { last };
                is_near
            })
            .count();
        let (these, others) = rest.split_at(together);
        let read = row_text(&array.rows(first, last - first + 1)?, MAX_CELL_CHARS)?;
        for (row, place) in these {
            let text = usize::try_from(row - first).ok().and_then(|at| read.get(at).cloned()).flatten();
            if let Some(cell) = texts.get_mut(*place) {
                *cell = text;
            }
        }
        rest = others;
    }
    Ok(texts)
}

/// The rows in the order of a column, made once.
fn sorted_rows(opened: &OpenFile, path: &str, column: &TableColumn) -> Result<Arc<SortedRows>> {
    if let Some(known) = lock(&opened.order).as_ref().filter(|order| order.path == path && order.column == column.name) {
        return Ok(known.clone());
    }
    let count = column.array.element_count();
    if u32::try_from(count).is_err() || column.array.shape().len() != 1 {
        return Err(Error::unsupported(format!("column {:?} cannot be put in order", column.name)));
    }
    // The keys, the numbers of the rows, and what sorting needs.
    let limits: &Limits = opened.file.limits();
    limits.charge_memory(count.saturating_mul(16), "ordering a table")?;
    let mut rows: Vec<u32> = (0..count).filter_map(|row| u32::try_from(row).ok()).collect();
    if column.array.datatype().is_text() {
        let keys = super::arrays::element_texts(&column.array, MAX_CELL_CHARS)?;
        rows.sort_by_key(|row| keys.get(*row as usize).and_then(Option::as_deref));
    } else {
        let mut keys = Vec::new();
        while (keys.len() as u64) < count {
            check()?;
            let done = keys.len() as u64;
            keys.extend(numbers(&column.array.rows(done, BUFFER_SIZE.min(count - done))?)?);
        }
        let key = |row: &u32| keys.get(*row as usize).copied().unwrap_or(f64::NAN);
        // Masked elements and NaN come last; equal ones stay in the order of the file.
        rows.sort_by(|a, b| (key(a).is_nan(), key(a)).partial_cmp(&(key(b).is_nan(), key(b))).unwrap_or(a.cmp(b)));
    }
    let order = Arc::new(SortedRows { path: path.to_owned(), column: column.name.clone(), rows });
    *lock(&opened.order) = Some(order.clone());
    Ok(order)
}

fn page_of(order: &[u32], offset: u64, limit: u64, descending: bool) -> Vec<u64> {
    let (skip, take) = (usize::try_from(offset).unwrap_or(usize::MAX), usize::try_from(limit).unwrap_or(usize::MAX));
    let number = |row: &u32| u64::from(*row);
    if descending {
        order.iter().rev().skip(skip).take(take).map(number).collect()
    } else {
        order.iter().skip(skip).take(take).map(number).collect()
    }
}
