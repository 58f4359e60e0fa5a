//! Changing a file: edits of the tree's text, which keep every other byte of it, and arrays with their blocks.

use std::borrow::Cow;
use std::ffi::CString;
use std::io::Cursor;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString};
use trilith::asdf::{WriteOptions, append_rows};
use trilith::bytes::SourceBacking;
use trilith::change::{Change, SaveOptions, SaveTarget, target_of};
use trilith::dudley::{DudleyFile, LayoutOrigin, NewElements, StreamOptions, check_elements, replace_elements};
use trilith::file::resolve_tree_path;
use trilith::tree::{TreePath, Value};
use trilith::{Error, File, Limits};

use crate::detached::detach_interruptible;
use crate::dudley_items::{array_options, collect_array};
use crate::errors::{IntoPyResult, UsageErrorKind, raise_at};
use crate::open_file::{OpenFile, PendingEdit};
use crate::to_value::ValueCollector;
use crate::write::write_all;

/// Storage of the arrays in a new value.
#[derive(Debug, Default)]
pub(crate) struct ValueStorage<'a> {
    /// Arrays go into the tree.
    pub inline: bool,
    /// Codec of their blocks.
    pub codec: Option<&'a str>,
    /// Compression level.
    pub level: Option<i32>,
}

/// Sets a value.
pub(crate) fn set_value(
    py: Python<'_>,
    file: &OpenFile,
    path: &str,
    value: &Bound<'_, PyAny>,
    storage: &ValueStorage<'_>,
) -> PyResult<()> {
    let opened = file.file()?;
    // A layout gets no new items here.
    let has_item = || matches!(opened.root().find(path.trim_start_matches('/')), Ok(Some(_)));
    if let Some(under) = opened.as_dudley().filter(|file| !file.is_foreign())
        && py.detach(has_item)
    {
        return stage_elements(py, file, under, path, value);
    }
    let target = target_of(opened.edit().or_raise_at(UsageErrorKind::Argument, file.path.as_deref())?.file());
    let options = array_options(storage.codec, storage.level)?;
    let mut collector = ValueCollector::new(target, if storage.inline { u64::MAX } else { 0 });
    let value = collector.collect_value(value)?;
    let items = collector.detach()?;
    let path = find_place(&opened, path)?;
    let (value, arrays) = items.extract_arrays(target, value).or_raise_at(UsageErrorKind::Argument, file.path.as_deref())?;
    // An array replaces another at once, because the old one determines the storage.
    let is_array = arrays.first().is_some_and(|(below, _)| below.is_empty());
    let mut steps = if is_array { Vec::new() } else { vec![PendingEdit::Set(path.clone(), value)] };
    for (below, array) in arrays {
        let place = below.into_iter().fold(path.clone(), |path, key| path.join(key));
        steps.push(PendingEdit::Array(place, array, options.clone()));
    }
    stage_steps(py, file, steps)
}

/// Replaces the elements of an item under a layout, with the next update.
fn stage_elements(py: Python<'_>, file: &OpenFile, under: &DudleyFile, path: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    file.writable_path()?;
    let path = format!("/{}", path.trim_start_matches('/'));
    // A number of Python has the datatype of the item, that of numpy its own.
    let is_number = value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyFloat>();
    let elements = match is_number {
        true => NewElements::Value(value.str()?.to_str()?.to_owned()),
        false => NewElements::Array(collect_array(value)?),
    };
    // Tried at once, so that the caller gets the error.
    let step = [(path, elements)];
    py.detach(|| check_elements(under, &step)).or_raise_at(UsageErrorKind::Argument, file.path.as_deref())?;
    file.lock_state().edits.extend(step.into_iter().map(|(path, elements)| PendingEdit::Elements(path, elements)));
    Ok(())
}

/// The place of an item in the tree. A FITS card is an attribute of its HDU as well.
fn find_place(file: &File, path: &str) -> PyResult<TreePath> {
    let change = file.edit().or_raise_from(UsageErrorKind::Argument, file.source())?;
    let path = if path.is_empty() || path.starts_with('/') { Cow::Borrowed(path) } else { Cow::Owned(format!("/{path}")) };
    resolve_tree_path(change.file(), &path).or_raise_from(UsageErrorKind::Key, file.source())
}

/// Removes a key or an item.
pub(crate) fn delete_item(py: Python<'_>, file: &OpenFile, path: &str) -> PyResult<()> {
    let path = find_place(&file.file()?, path)?;
    stage_steps(py, file, vec![PendingEdit::Delete(path)])
}

/// Gives a key another name.
pub(crate) fn rename_key(py: Python<'_>, file: &OpenFile, path: &str, name: String) -> PyResult<()> {
    let path = find_place(&file.file()?, path)?;
    stage_steps(py, file, vec![PendingEdit::Rename(path, name)])
}

/// Adds an entry to the history.
pub(crate) fn add_history(py: Python<'_>, file: &OpenFile, text: String) -> PyResult<()> {
    stage_steps(py, file, vec![PendingEdit::History(text)])
}

/// The key of `f[key] = value` as a path.
pub(crate) fn extract_key_path(key: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = key
        .cast::<PyString>()
        .map_err(|_| PyTypeError::new_err("the name of an item to set must be a string: a key or a path"))?;
    Ok(text.to_str()?.to_owned())
}

/// Adds to the changes that the next update makes.
fn stage_steps(py: Python<'_>, file: &OpenFile, steps: Vec<PendingEdit>) -> PyResult<()> {
    file.file()?.edit().or_raise_at(UsageErrorKind::Argument, file.path.as_deref())?;
    file.writable_path()?;
    let done = py.detach(|| {
        let _turn = file.write_lock();
        // Another thread may have written the file in the meantime.
        let (opened, tree) = file.current_file_and_tree()?;
        let mut change = opened.edit()?;
        if let Some(tree) = tree {
            change.set_tree(Arc::unwrap_or_clone(tree));
        }
        // Tried at once, so that the caller gets the error. The place of an array stays empty here.
        for step in &steps {
            match step {
                PendingEdit::Set(path, value) => change.set(path, value.clone())?,
                PendingEdit::Delete(path) => change.delete(path)?,
                PendingEdit::Array(path, ..) => change.set(path, Value::null())?,
                PendingEdit::Rename(path, name) => change.rename(path, name)?,
                // A history entry goes to the end of a list that is not read before the update.
                PendingEdit::History(_) | PendingEdit::Elements(..) => {}
            }
        }
        let tree = Some(Arc::new(change.tree()?.clone()));
        let mut state = file.lock_state();
        state.has_edits = tree;
        state.edits.extend(steps);
        Ok(())
    });
    done.or_raise_at(UsageErrorKind::Key, file.path.as_deref())
}

/// Adds rows to a streamed array and opens the file again.
pub(crate) fn append_array_rows(py: Python<'_>, file: &OpenFile, path: &str, rows: &Bound<'_, PyAny>) -> PyResult<()> {
    file.file()?;
    let own = file.writable_path()?;
    let array = collect_array(rows)?;
    let path = format!("/{}", path.trim_start_matches('/'));
    let done = detach_interruptible(py, || {
        let _turn = file.write_lock();
        let (opened, _) = file.current_file_and_tree()?;
        if !file.lock_state().edits.is_empty() {
            return Err(Error::invalid_input("the file has changes that were not written: update() it first"));
        }
        append_rows(opened.edit()?.file(), &path, &array)?;
        file.reopen(own)
    });
    done?.or_raise_at(UsageErrorKind::Argument, file.path.as_deref())
}

/// A file with changes that were not written yet.
fn with_edits(file: &File, steps: Vec<PendingEdit>) -> trilith::Result<Change<'_>> {
    let mut change = file.edit()?;
    for step in steps {
        match step {
            PendingEdit::Set(path, value) => change.set(path, value)?,
            PendingEdit::Array(path, array, options) => change.set_array(&path, &array, &options)?,
            PendingEdit::Delete(path) => change.delete(&path)?,
            PendingEdit::Rename(path, name) => change.rename(&path, &name)?,
            PendingEdit::History(text) => change.add_history(&text)?,
            PendingEdit::Elements(path, _) => {
                return Err(Error::unsupported(format!("{path} is an item under a layout, which is changed in its file alone"))
                    .hint("update() writes it"));
            }
        }
    }
    Ok(change)
}

/// Writes the file with its changes somewhere else, to a path or a file object; the file itself stays unchanged.
pub(crate) fn write_to(
    py: Python<'_>,
    file: &OpenFile,
    target: &Bound<'_, PyAny>,
    overwrite: bool,
    storage: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    file.file()?;
    if target.hasattr("write")? {
        let done = detach_interruptible(py, || {
            let (opened, _) = file.current_file_and_tree()?;
            let mut out = Cursor::new(Vec::new());
            let mut change = with_edits(&opened, file.lock_state().edits.clone())?;
            let mut warnings = change.take_warnings()?;
            let damaged = change.write(&mut out, &WriteOptions::default())?;
            warnings.extend(damaged.iter().map(|found| format!("{found}; it keeps this checksum")));
            trilith::Result::Ok((out.into_inner(), warnings))
        })?;
        let (bytes, warnings) = done.or_raise_at(UsageErrorKind::Argument, file.path.as_deref())?;
        write_all(target, &bytes)?;
        return issue_warnings(py, warnings);
    }
    let place = crate::remote::write_path(target, overwrite, storage)?;
    let path = place.path().to_path_buf();
    let done = detach_interruptible(py, || {
        let (opened, _) = file.current_file_and_tree()?;
        if opened.source().backing().and_then(SourceBacking::local_file).is_some_and(|local| local.is_at_path(&path)) {
            return Err(Error::invalid_input(format!("{} is the file itself: update() writes its changes", path.display())));
        }
        crate::write::check_overwrite(place.path(), overwrite)?;
        let mut how = SaveOptions::default();
        how.output = Some(SaveTarget::Path(place));
        let steps = file.lock_state().edits.clone();
        with_edits(&opened, steps)?.save(how)
    });
    issue_warnings(py, done?.map_err(|error| raise_at(&error, Some(&path)))?.warnings)
}

/// Passes on what a written file could not keep.
pub(crate) fn issue_warnings(py: Python<'_>, warnings: Vec<String>) -> PyResult<()> {
    for warning in warnings {
        let text = CString::new(warning.replace('\0', "")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
    }
    Ok(())
}

/// Writes the changes and opens the file again.
pub(crate) fn save_staged_steps(py: Python<'_>, file: &OpenFile, in_place: bool) -> PyResult<()> {
    file.file()?;
    let path = file.writable_path()?;
    let done = detach_interruptible(py, || {
        let _turn = file.write_lock();
        let (opened, _) = file.current_file_and_tree()?;
        let steps = file.lock_state().edits.clone();
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(under) = opened.as_dudley().filter(|file| !file.is_foreign()) {
            let of_step = |step| if let PendingEdit::Elements(path, elements) = step { Some((path, elements)) } else { None };
            let items: Vec<_> = steps.into_iter().filter_map(of_step).collect();
            let mut how = StreamOptions::default();
            how.layout = matches!(under.origin(), LayoutOrigin::Supplied).then(|| under.layout().clone());
            how.order = under.byteorder();
            replace_elements(path, &items, &how, &Limits::from_env()?)?;
            file.reopen(path)?;
            return Ok(Vec::new());
        }
        let mut change = with_edits(&opened, steps)?;
        let mut how = SaveOptions::default();
        how.in_place = in_place;
        let saved = change.save(how)?;
        file.reopen(path)?;
        Ok(saved.warnings)
    });
    issue_warnings(py, done?.or_raise_at(UsageErrorKind::Argument, file.path.as_deref())?)
}
