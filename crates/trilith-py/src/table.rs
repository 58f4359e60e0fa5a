//! `trilith.table`: values of many files, handed over by columns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trilith::file::{FileFinder, FoundFile};
use trilith::table::{CollectedTable, Query, TableCell, collect};
use trilith_io::threads::run_watched;

use crate::errors::{IntoPyResult, UsageErrorKind, raise_at};
use crate::layout;

/// Python is asked so often whether somebody pressed Ctrl-C.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The names of the columns, their types and values, the files that could not be read with exceptions, and warnings.
type TableColumns = (Vec<String>, Vec<&'static str>, Vec<Py<PyList>>, Vec<(String, Py<PyAny>)>, Vec<String>);

/// The table of `trilith.table`, column by column.
#[pyfunction]
#[pyo3(signature = (files, columns, condition, covers, sky_frame, wcs_key, each, sort, hidden, layout, byteorder, allow, storage_options))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "so the words of Python arrive")]
pub(crate) fn _table(
    py: Python<'_>,
    files: Vec<String>,
    columns: Vec<(String, String)>,
    condition: Option<&str>,
    covers: Option<(f64, f64, f64)>,
    sky_frame: &str,
    wcs_key: &str,
    each: Option<&str>,
    sort: Option<&str>,
    hidden: bool,
    layout: Option<&Bound<'_, PyAny>>,
    byteorder: Option<&str>,
    allow: Vec<String>,
    storage_options: Option<&Bound<'_, PyDict>>,
) -> PyResult<TableColumns> {
    let mut query = build_query(&columns, condition, each, sort).or_raise(UsageErrorKind::Argument)?;
    if let Some((lon, lat, radius)) = covers {
        let frame = sky_frame.parse().or_raise(UsageErrorKind::Argument)?;
        let key = wcs_key.parse().or_raise(UsageErrorKind::Argument)?;
        query = query.covering_position([lon, lat], radius).position_frame(frame).wcs_key(key);
    }
    let layout = layout::parse_arg(layout)?;
    let servers = crate::remote::build_server_options(&allow, storage_options)?;
    let gather = FileFinder::new().include_hidden(hidden).all_files(layout.is_some()).remote(servers);
    let opening = crate::remote::open_options(&allow, storage_options, true)?
        .byteorder(crate::source::parse_byteorder(byteorder)?)
        .layout(layout);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let read = move || {
        let found = files
            .into_iter()
            .flat_map(move |name| -> Box<dyn Iterator<Item = FoundFile> + Send> { Box::new(gather.clone().find(&name)) });
        collect(&query, found, &opening, &stopped)
    };
    let mut interrupted = Ok(());
    let found = py.detach(|| {
        run_watched(read, SIGNAL_CHECK_INTERVAL, || {
            interrupted = Python::attach(|py| py.check_signals());
            interrupted.is_ok()
        })
    });
    stop.store(true, Ordering::Relaxed);
    interrupted?;
    let found = found.ok_or_else(|| PyRuntimeError::new_err("the files could not be read"))?;
    into_columns(py, &found.or_raise(UsageErrorKind::Argument)?)
}

fn build_query(
    columns: &[(String, String)],
    condition: Option<&str>,
    each: Option<&str>,
    sort: Option<&str>,
) -> trilith::Result<Query> {
    let mut query = Query::with_names(columns.iter().map(|(name, place)| (name, place)))?;
    if let Some(each) = each {
        query = query.rows_of(each)?;
    }
    if let Some(condition) = condition {
        query = query.filter(condition)?;
    }
    match sort {
        Some(sort) => query.sort(sort),
        None => Ok(query),
    }
}

fn into_columns(py: Python<'_>, found: &CollectedTable) -> PyResult<TableColumns> {
    let types = found.table.types().into_iter().map(trilith::table::CellType::name).collect();
    let mut columns = Vec::new();
    for at in 0..found.table.names().len() {
        let values = found.table.column(at).map(|cell| cell_to_python(py, &cell));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        columns.push(PyList::new(py, values)?.unbind());
    }
    let failed =
        found.failed.iter().map(|(name, error)| (name.clone(), raise_at(error, Some(name.as_ref())).into_value(py).into_any()));
    let notices = found.notices.iter().map(|(name, notice)| format!("{name}: {notice}"));
    let warnings = found.table.column_warnings().into_iter().chain(notices).collect();
    Ok((found.table.names().to_vec(), types, columns, failed.collect(), warnings))
}

pub(crate) fn cell_to_python<'py>(py: Python<'py>, cell: &TableCell) -> PyResult<Bound<'py, PyAny>> {
    Ok(match cell {
        TableCell::Null => py.None().into_bound(py),
        TableCell::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        TableCell::Int(value) => value.into_pyobject(py)?.into_any(),
        TableCell::Float(value) => value.into_pyobject(py)?.into_any(),
        TableCell::Text(value) => value.into_pyobject(py)?.into_any(),
        _ => return Err(PyValueError::new_err("a value of a type that is not known here")),
    })
}
