//! Changing a file: edits of the tree's text, which keep every other byte of it, and arrays with their blocks.

use std::ffi::CString;
use std::io::Cursor;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use trilith::asdf::{WriteOptions, append_rows};
use trilith::bytes::Backing;
use trilith::change::{Change, Output, SaveOptions, target_of};
use trilith::tree::{Edit, TreePath, Value};
use trilith::{Error, File};

use crate::detached::calm;
use crate::dudley_items::array_options;
use crate::errors::{About, Raise, raise_at};
use crate::open_file::{Held, Step};
use crate::to_value::Collector;
use crate::write::write_all;

/// Sets a value.
pub(crate) fn set(
    py: Python<'_>,
    file: &Held,
    path: &str,
    value: &Bound<'_, PyAny>,
    inline: bool,
    codec: Option<&str>,
    level: Option<i32>,
) -> PyResult<()> {
    let opened = file.opened()?;
    let target = target_of(opened.edit().or_raise(About::Argument)?.file());
    let options = array_options(codec, level)?;
    let mut collector = Collector::new(target, if inline { u64::MAX } else { 0 });
    let value = collector.value(value)?;
    let items = collector.ready()?;
    let path = TreePath::parse(path).or_raise(About::Key)?;
    let (value, arrays) = items.split(target, value).or_raise(About::Argument)?;
    // An array replaces another at once, because the old one determines the storage.
    let is_array = arrays.first().is_some_and(|(below, _)| below.is_empty());
    let mut steps = if is_array { Vec::new() } else { vec![Step::Set(path.clone(), value)] };
    for (below, array) in arrays {
        let place = below.into_iter().fold(path.clone(), |path, key| path.join(key));
        steps.push(Step::Array(place, array, options.clone()));
    }
    change(py, file, steps)
}

/// Removes a key or an item.
pub(crate) fn delete(py: Python<'_>, file: &Held, path: &str) -> PyResult<()> {
    let path = TreePath::parse(path).or_raise(About::Key)?;
    change(py, file, vec![Step::Delete(path)])
}

/// Gives a key another name.
pub(crate) fn rename(py: Python<'_>, file: &Held, path: &str, name: String) -> PyResult<()> {
    let path = TreePath::parse(path).or_raise(About::Key)?;
    change(py, file, vec![Step::Rename(path, name)])
}

/// Adds an entry to the history.
pub(crate) fn add_history(py: Python<'_>, file: &Held, text: String) -> PyResult<()> {
    change(py, file, vec![Step::History(text)])
}

/// The key of `f[key] = value` as a path.
pub(crate) fn path(key: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = key
        .cast::<PyString>()
        .map_err(|_| PyTypeError::new_err("the name of an item to set must be a string: a key or a path"))?;
    Ok(text.to_str()?.to_owned())
}

/// Adds to the changes that the next update makes.
fn change(py: Python<'_>, file: &Held, steps: Vec<Step>) -> PyResult<()> {
    file.opened()?.edit().or_raise(About::Argument)?;
    file.own_path()?;
    let done = py.detach(|| {
        let _turn = file.turn();
        // Another thread may have written the file in the meantime.
        let (opened, mut tree) = file.current()?;
        let own = opened.edit()?.file();
        // Tried at once, so that the caller gets the error. The place of an array stays empty here.
        for step in &steps {
            let mut edit: Edit<'_> = tree.as_deref().unwrap_or(own.tree()).edit();
            match step {
                Step::Set(path, value) => edit.set(path, value)?,
                Step::Delete(path) => edit.delete(path)?,
                Step::Array(path, ..) => edit.set(path, &Value::null())?,
                Step::Rename(path, name) => edit.rename(path, name)?,
                // A history entry goes to the end of a list that is not read before the update.
                Step::History(_) => {}
            }
            tree = Some(Arc::new(edit.finish(own.limits())?));
        }
        let mut state = file.state();
        state.edited = tree;
        state.steps.extend(steps);
        Ok(())
    });
    done.or_raise(About::Key)
}

/// Adds rows to a streamed array and opens the file again.
pub(crate) fn append(py: Python<'_>, file: &Held, path: &str, rows: &Bound<'_, PyAny>) -> PyResult<()> {
    file.opened()?;
    let own = file.own_path()?;
    let array = crate::dudley_items::array(rows)?;
    let path = format!("/{}", path.trim_start_matches('/'));
    let done = calm(py, || {
        let _turn = file.turn();
        let (opened, _) = file.current()?;
        if !file.state().steps.is_empty() {
            return Err(Error::invalid_input("the file has changes that were not written: update() it first"));
        }
        append_rows(opened.edit()?.file(), &path, &array)?;
        file.reopen(own)
    });
    done?.or_raise(About::Argument)
}

/// A file with changes that were not written yet.
fn changed(file: &File, steps: Vec<Step>) -> trilith::Result<Change<'_>> {
    let mut change = file.edit()?;
    for step in steps {
        match step {
            Step::Set(path, value) => change.set(path, value)?,
            Step::Array(path, array, options) => change.set_array(&path, &array, &options)?,
            Step::Delete(path) => change.delete(&path)?,
            Step::Rename(path, name) => change.edit(|edit, _| edit.rename(&path, &name))?,
            Step::History(text) => change.add_history(&text)?,
        }
    }
    Ok(change)
}

/// Writes the file with its changes somewhere else, to a path or a file object; the file itself stays unchanged.
pub(crate) fn write_to(
    py: Python<'_>,
    file: &Held,
    target: &Bound<'_, PyAny>,
    overwrite: bool,
    storage: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    file.opened()?;
    if target.hasattr("write")? {
        let done = calm(py, || {
            let (opened, _) = file.current()?;
            let mut out = Cursor::new(Vec::new());
            let damaged = changed(&opened, file.state().steps.clone())?.write(&mut out, &WriteOptions::default())?;
            trilith::Result::Ok((out.into_inner(), damaged))
        })?;
        let (bytes, damaged) = done.or_raise(About::Argument)?;
        write_all(target, &bytes)?;
        return warn(py, damaged.iter().map(|found| format!("{found}; it keeps this checksum")).collect());
    }
    let place = crate::remote::place(target, overwrite, None, storage)?;
    let path = place.path().to_path_buf();
    let done = calm(py, || {
        let (opened, _) = file.current()?;
        if opened.source().backing().and_then(Backing::local_file).is_some_and(|local| local.is_at(&path)) {
            return Err(Error::invalid_input(format!("{} is the file itself: update() writes its changes", path.display())));
        }
        let mut how = SaveOptions::default();
        how.output = Some(Output::Path(place));
        let steps = file.state().steps.clone();
        changed(&opened, steps)?.save(how)
    });
    warn(py, done?.map_err(|error| raise_at(&error, Some(&path)))?.warnings)
}

/// Passes on what a written file could not keep.
pub(crate) fn warn(py: Python<'_>, warnings: Vec<String>) -> PyResult<()> {
    for warning in warnings {
        let text = CString::new(warning.replace('\0', "")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
    }
    Ok(())
}

/// Writes the changes and opens the file again.
pub(crate) fn update(py: Python<'_>, file: &Held, in_place: bool) -> PyResult<()> {
    file.opened()?;
    let path = file.own_path()?;
    let done = calm(py, || {
        let _turn = file.turn();
        let (opened, _) = file.current()?;
        let steps = file.state().steps.clone();
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        let mut change = changed(&opened, steps)?;
        let mut how = SaveOptions::default();
        how.in_place = in_place;
        let saved = change.save(how)?;
        file.reopen(path)?;
        Ok(saved.warnings)
    });
    warn(py, done?.or_raise(About::Argument)?)
}
