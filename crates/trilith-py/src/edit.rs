//! Changing a file: edits of the tree's text, which keep every other byte of it, and arrays with their blocks.

use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use trilith::array::Array;
use trilith::asdf::{ArrayOptions, AsdfFile, TARGETS, Target, WriteOptions, append_rows, update as in_place_update};
use trilith::bytes::Replace;
use trilith::change::{Change, Saved};
use trilith::convert::{ConvertOptions, rewrite};
use trilith::tree::{Edit, TreePath, Value};
use trilith::{Error, Result};

use crate::errors::{About, Raise};
use crate::file::File;
use crate::value::Collector;
use crate::write::array_options;

/// A change that waits for the next update.
#[derive(Clone)]
pub enum Step {
    Set(TreePath, Value),
    Array(TreePath, Array, ArrayOptions),
    Delete(TreePath),
}

/// Sets a value.
pub fn set(
    py: Python<'_>,
    file: &File,
    path: &str,
    value: &Bound<'_, PyAny>,
    inline: bool,
    codec: Option<&str>,
    level: Option<i32>,
) -> PyResult<()> {
    let opened = file.opened()?;
    let target = target(&opened);
    let options = array_options(codec, level)?;
    let mut collector = Collector::new(target, if inline { u64::MAX } else { 0 });
    let value = collector.value(value)?;
    let items = collector.ready()?;
    let path = TreePath::parse(path).or_raise(About::Key)?;
    let (value, arrays) = items.split(target, value).or_raise(About::Argument)?;
    // An array takes the place of another at once, so that what was there says where it is stored.
    let is_array = arrays.first().is_some_and(|(below, _)| below.is_empty());
    let mut steps = if is_array { Vec::new() } else { vec![Step::Set(path.clone(), value)] };
    for (below, array) in arrays {
        let place = below.into_iter().fold(path.clone(), |path, key| path.join(key));
        steps.push(Step::Array(place, array, options.clone()));
    }
    change(py, file, steps)
}

/// Removes a key or an item.
pub fn delete(py: Python<'_>, file: &File, path: &str) -> PyResult<()> {
    let path = TreePath::parse(path).or_raise(About::Key)?;
    change(py, file, vec![Step::Delete(path)])
}

/// The key of `f[key] = value` as a path.
pub fn path(key: &Bound<'_, PyAny>) -> PyResult<String> {
    let text =
        key.cast::<PyString>().map_err(|_| PyTypeError::new_err("what is set is named by a key or a path, which are texts"))?;
    Ok(text.to_str()?.to_owned())
}

/// The form of the values that this file takes.
fn target(file: &AsdfFile) -> &'static Target {
    let standard = file.sections().header().standard();
    TARGETS.iter().find(|target| standard.is_some() && target.standard == standard).unwrap_or(Target::newest())
}

/// Adds to the changes that the next update makes.
fn change(py: Python<'_>, file: &File, steps: Vec<Step>) -> PyResult<()> {
    file.opened()?;
    if file.path.is_none() {
        return Err(PyValueError::new_err("only a file that was opened by its path can be changed"));
    }
    let done = py.detach(|| {
        let _turn = file.turn();
        // Another thread may have written the file in the meantime.
        let (opened, mut tree) = file.current()?;
        // Tried at once, so that who asked hears of it. The place of an array stays empty here.
        for step in &steps {
            let mut edit: Edit<'_> = tree.as_deref().unwrap_or(opened.tree()).edit();
            match step {
                Step::Set(path, value) => edit.set(path, value)?,
                Step::Delete(path) => edit.delete(path)?,
                Step::Array(path, ..) => edit.set(path, &Value::null())?,
            }
            tree = Some(Arc::new(edit.finish(opened.limits())?));
        }
        let mut state = file.state();
        state.edited = tree;
        state.steps.extend(steps);
        Ok(())
    });
    done.or_raise(About::Key)
}

/// Adds rows to a streamed array and opens the file anew.
pub fn append(py: Python<'_>, file: &File, path: &str, rows: &Bound<'_, PyAny>) -> PyResult<()> {
    file.opened()?;
    let Some(own) = file.path.as_deref() else {
        return Err(PyValueError::new_err("only a file that was opened by its path can be changed"));
    };
    let array = crate::drafts::array(rows)?;
    let path = format!("/{}", path.trim_start_matches('/'));
    let done = py.detach(|| {
        let _turn = file.turn();
        let (opened, _) = file.current()?;
        if !file.state().steps.is_empty() {
            return Err(Error::usage("the file has changes that were not written: update() it first"));
        }
        append_rows(&opened, &path, &array)?;
        file.reopen(own)
    });
    done.or_raise(About::Argument)
}

/// Writes the changes and opens the file anew.
pub fn update(py: Python<'_>, file: &File, in_place: bool) -> PyResult<()> {
    file.opened()?;
    let Some(path) = file.path.as_deref() else {
        return Err(PyValueError::new_err("only a file that was opened by its path can be changed"));
    };
    let done = py.detach(|| {
        let _turn = file.turn();
        let (opened, _) = file.current()?;
        let steps = file.state().steps.clone();
        if steps.is_empty() {
            return Ok(());
        }
        if opened.container().is_some() {
            return Err(Error::unsupported("the tree of a file inside another cannot be replaced"));
        }
        let mut change = Change::new(&opened);
        for step in steps {
            match step {
                Step::Set(path, value) => change.edit(|edit, _| edit.set(&path, &value))?,
                Step::Array(path, array, options) => change.set_array(&path, &array, &options)?,
                Step::Delete(path) => change.delete(&path)?,
            }
        }
        save(&change, path, in_place)?;
        file.reopen(path)
    });
    done.or_raise(About::Argument)
}

fn save(change: &Change<'_>, path: &Path, in_place: bool) -> Result<()> {
    let (file, text) = (change.file(), change.tree().text());
    // Room to grow, so that the next change fits.
    let padding = if in_place { text.len() as u64 / 4 + 1024 } else { file.sections().padding().min(1 << 20) };
    if change.moves_blocks()? || change.has_new_files() {
        if in_place && change.in_place(path)? == Saved::InPlace {
            return Ok(());
        }
        let mut write = WriteOptions::default();
        write.tree_padding = padding;
        return replace(path, |out| {
            change.write(out, &write)?;
            change.write_beside()
        })
        .and_then(|()| change.remove_beside().map(drop));
    }
    if in_place && in_place_update::tree_in_place(file, path, text)? {
        return change.remove_beside().map(drop);
    }
    let mut options = ConvertOptions::default();
    options.write.tree_padding = padding;
    replace(path, |out| rewrite(file, text, out, &options, &mut |_| {}).map(drop))?;
    change.remove_beside().map(drop)
}

/// Writes a new file and puts it into the place of the old one.
fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<&mut Replace>) -> Result<()>) -> Result<()> {
    let mut target = Replace::create(path)?;
    let mut out = BufWriter::with_capacity(1 << 20, &mut target);
    write(&mut out)?;
    out.into_inner().map_err(|error| Error::io("writing", error.into_error()))?;
    target.commit()
}
