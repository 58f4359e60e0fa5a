//! Changing a file: edits of the tree's text, which keep every other byte of it.

use std::io::BufWriter;
use std::path::Path;

use pyo3::exceptions::{PyKeyError, PyNotImplementedError, PyValueError};
use pyo3::prelude::*;
use trilith::asdf::{self, AsdfFile, Builder, TARGETS, Target};
use trilith::bytes::Replace;
use trilith::convert::{ConvertOptions, rewrite};
use trilith::tree::{Tree, TreePath};
use trilith::{Error, Result};

use crate::errors::{About, Raise};
use crate::file::File;
use crate::value::Collector;

/// Sets a value.
pub fn set(py: Python<'_>, file: &File, path: &str, value: &Bound<'_, PyAny>, inline: bool) -> PyResult<()> {
    let opened = file.opened()?;
    let target = target(&opened);
    let mut collector = Collector::new(target, if inline { u64::MAX } else { 0 });
    let value = collector.value(value)?;
    if collector.has_blocks() {
        return Err(PyNotImplementedError::new_err(
            "an array cannot be added as a block to a file that exists; set it with inline=True, or write a new file",
        ));
    }
    let items = collector.ready()?;
    let path = TreePath::parse(path).or_raise(About::Key)?;
    change(py, file, &opened, |tree| {
        let value = items.place(&mut Builder::new(target), &Default::default(), value)?;
        let mut edit = tree.edit();
        edit.set(&path, &value)?;
        edit.finish(opened.limits())
    })
}

/// Removes a key or an item.
pub fn delete(py: Python<'_>, file: &File, path: &str) -> PyResult<()> {
    let opened = file.opened()?;
    let path = TreePath::parse(path).or_raise(About::Key)?;
    change(py, file, &opened, |tree| {
        let mut edit = tree.edit();
        edit.delete(&path)?;
        edit.finish(opened.limits())
    })
}

/// The form of the values that this file takes.
fn target(file: &AsdfFile) -> &'static Target {
    let standard = file.sections().header().standard();
    TARGETS.iter().find(|target| standard.is_some() && target.standard == standard).unwrap_or(Target::newest())
}

fn change(py: Python<'_>, file: &File, opened: &AsdfFile, make: impl FnOnce(&Tree) -> Result<Tree> + Send) -> PyResult<()> {
    if file.path.is_none() {
        return Err(PyValueError::new_err("only a file that was opened by its path can be changed"));
    }
    let before = file.state().edited.take();
    let made = py.detach(|| make(before.as_ref().unwrap_or(opened.tree())));
    match made {
        Ok(tree) => file.state().edited = Some(tree),
        Err(error) => {
            file.state().edited = before;
            return match error.kind() {
                trilith::Kind::Usage => Err(PyKeyError::new_err(error.to_string())),
                _ => Err(error).or_raise(About::Key),
            };
        }
    }
    Ok(())
}

/// Writes the changes and opens the file anew.
pub fn update(py: Python<'_>, file: &File, in_place: bool) -> PyResult<()> {
    let opened = file.opened()?;
    let Some(path) = file.path.as_deref() else {
        return Err(PyValueError::new_err("only a file that was opened by its path can be changed"));
    };
    let Some(tree) = file.state().edited.clone() else { return Ok(()) };
    let done = py.detach(|| {
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
