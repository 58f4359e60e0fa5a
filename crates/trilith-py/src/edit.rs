//! Changing a file: edits of the tree's text, which keep every other byte of it.

use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use pyo3::exceptions::{PyNotImplementedError, PyValueError};
use pyo3::prelude::*;
use trilith::asdf::{self, ArrayOptions, AsdfFile, Builder, TARGETS, Target};
use trilith::bytes::Replace;
use trilith::convert::{ConvertOptions, rewrite};
use trilith::tree::{Edit, TreePath};
use trilith::{Error, Result};

use crate::errors::{About, Raise};
use crate::file::File;
use crate::value::Collector;

/// Sets a value.
pub fn set(py: Python<'_>, file: &File, path: &str, value: &Bound<'_, PyAny>, inline: bool) -> PyResult<()> {
    let target = target(&*file.opened()?);
    let mut collector = Collector::new(target, if inline { u64::MAX } else { 0 });
    let value = collector.value(value)?;
    if collector.has_blocks() {
        return Err(PyNotImplementedError::new_err(
            "an array cannot be added as a block to a file that exists; set it with inline=True, or write a new file",
        ));
    }
    let items = collector.ready()?;
    let path = TreePath::parse(path).or_raise(About::Key)?;
    change(py, file, |edit| edit.set(&path, &items.place(&mut Builder::new(target), &ArrayOptions::default(), value)?))
}

/// Removes a key or an item.
pub fn delete(py: Python<'_>, file: &File, path: &str) -> PyResult<()> {
    let path = TreePath::parse(path).or_raise(About::Key)?;
    change(py, file, |edit| edit.delete(&path))
}

/// The form of the values that this file takes.
fn target(file: &AsdfFile) -> &'static Target {
    let standard = file.sections().header().standard();
    TARGETS.iter().find(|target| standard.is_some() && target.standard == standard).unwrap_or(Target::newest())
}

/// Edits the tree that the next update writes.
fn change(py: Python<'_>, file: &File, make: impl FnOnce(&mut Edit<'_>) -> Result<()> + Send) -> PyResult<()> {
    file.opened()?;
    if file.path.is_none() {
        return Err(PyValueError::new_err("only a file that was opened by its path can be changed"));
    }
    let done = py.detach(|| {
        let _turn = file.turn();
        // Another thread may have written the file in the meantime.
        let (opened, before) = file.current()?;
        let mut edit = before.as_deref().unwrap_or(opened.tree()).edit();
        make(&mut edit)?;
        let tree = edit.finish(opened.limits())?;
        file.state().edited = Some(Arc::new(tree));
        Ok(())
    });
    done.or_raise(About::Key)
}

/// Writes the changes and opens the file anew.
pub fn update(py: Python<'_>, file: &File, in_place: bool) -> PyResult<()> {
    file.opened()?;
    let Some(path) = file.path.as_deref() else {
        return Err(PyValueError::new_err("only a file that was opened by its path can be changed"));
    };
    let done = py.detach(|| {
        let _turn = file.turn();
        let (opened, Some(tree)) = file.current()? else { return Ok(()) };
        save(&opened, path, tree.text(), in_place)?;
        file.reopen(path)
    });
    done.or_raise(About::Argument)
}

fn save(file: &AsdfFile, path: &Path, text: &str, in_place: bool) -> Result<()> {
    if file.container().is_some() {
        return Err(Error::unsupported("the tree of a file inside another cannot be replaced"));
    }
    if in_place && asdf::update::tree_in_place(file, path, text)? {
        return Ok(());
    }
    let mut options = ConvertOptions::default();
    // Room to grow, so that the next change fits.
    options.write.tree_padding = if in_place { text.len() as u64 / 4 + 1024 } else { file.sections().padding().min(1 << 20) };
    let mut target = Replace::create(path)?;
    let mut out = BufWriter::with_capacity(1 << 20, &mut target);
    rewrite(file, text, &mut out, &options, &mut |_| {})?;
    out.into_inner().map_err(|error| Error::io("writing", error.into_error()))?;
    target.commit()
}
