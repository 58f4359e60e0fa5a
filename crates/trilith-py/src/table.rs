//! `trilith.table`: values of many files, handed over by columns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trilith::file::{Found, Gather};
use trilith::table::{Cell, Collected, Query, collect};
use trilith_io::threads::watched;

use crate::errors::{About, Raise, raise};
use crate::layout;

/// Python is asked so often whether somebody pressed Ctrl-C.
const OFTEN: Duration = Duration::from_millis(50);

/// The names of the columns, their types and values, the files that could not be read with exceptions, and warnings.
type Columns = (Vec<String>, Vec<&'static str>, Vec<Py<PyList>>, Vec<(String, Py<PyAny>)>, Vec<String>);

/// The table of `trilith.table`, column by column.
#[pyfunction]
#[pyo3(signature = (files, columns, condition, covers, each, sort, hidden, layout, byteorder, allow, remote, storage_options))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "so the words of Python arrive")]
pub(crate) fn _table(
    py: Python<'_>,
    files: Vec<String>,
    columns: Vec<(String, String)>,
    condition: Option<&str>,
    covers: Option<(f64, f64, f64)>,
    each: Option<&str>,
    sort: Option<&str>,
    hidden: bool,
    layout: Option<&Bound<'_, PyAny>>,
    byteorder: Option<&str>,
    allow: Vec<String>,
    remote: Option<&Bound<'_, PyDict>>,
    storage_options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Columns> {
    let mut query = query(&columns, condition, each, sort).or_raise(About::Argument)?;
    if let Some((lon, lat, radius)) = covers {
        query = query.covers([lon, lat], radius);
    }
    let layout = layout::given(layout)?;
    let servers = crate::remote::servers(&allow, remote, storage_options)?;
    let gather = Gather::new().hidden(hidden).all(layout.is_some()).remote(servers);
    let opening =
        crate::remote::opening(true, &allow, remote, storage_options)?.byteorder(crate::source::order(byteorder)?).layout(layout);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let read = move || {
        let found = files
            .into_iter()
            .flat_map(move |name| -> Box<dyn Iterator<Item = Found> + Send> { Box::new(gather.clone().named(&name)) });
        collect(&query, found, &opening, &stopped)
    };
    let mut interrupted = Ok(());
    let found = py.detach(|| {
        watched(read, OFTEN, || {
            interrupted = Python::attach(|py| py.check_signals());
            interrupted.is_ok()
        })
    });
    stop.store(true, Ordering::Relaxed);
    interrupted?;
    let found = found.ok_or_else(|| PyRuntimeError::new_err("the files could not be read"))?;
    into_columns(py, &found.or_raise(About::Argument)?)
}

fn query(
    columns: &[(String, String)],
    condition: Option<&str>,
    each: Option<&str>,
    sort: Option<&str>,
) -> trilith::Result<Query> {
    let mut query = Query::named(columns.iter().map(|(name, place)| (name, place)))?;
    if let Some(each) = each {
        query = query.each(each)?;
    }
    if let Some(condition) = condition {
        query = query.filter(condition)?;
    }
    match sort {
        Some(sort) => query.sort(sort),
        None => Ok(query),
    }
}

fn into_columns(py: Python<'_>, found: &Collected) -> PyResult<Columns> {
    let types = found.table.types().into_iter().map(trilith::table::CellType::name).collect();
    let mut columns = Vec::new();
    for at in 0..found.table.names().len() {
        let values = found.table.column(at).map(|cell| value(py, &cell));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        columns.push(PyList::new(py, values)?.unbind());
    }
    let failed = found.failed.iter().map(|(name, error)| (name.clone(), raise(error, About::Argument).into_value(py).into_any()));
    let notices = found.notices.iter().map(|(name, notice)| format!("{name}: {notice}"));
    let warnings = found.table.warnings().into_iter().chain(notices).collect();
    Ok((found.table.names().to_vec(), types, columns, failed.collect(), warnings))
}

fn value<'py>(py: Python<'py>, cell: &Cell) -> PyResult<Bound<'py, PyAny>> {
    Ok(match cell {
        Cell::Null => py.None().into_bound(py),
        Cell::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Cell::Int(value) => value.into_pyobject(py)?.into_any(),
        Cell::Float(value) => value.into_pyobject(py)?.into_any(),
        Cell::Text(value) => value.into_pyobject(py)?.into_any(),
        _ => return Err(PyValueError::new_err("a value of a type that is not known here")),
    })
}
