//! Finding items: the conditions of the library in Python's words.

use pyo3::prelude::*;
use trilith::Search;

use crate::detached::calm;
use crate::errors::{About, Raise};
use crate::nodes::Place;

/// Conditions of a search: regular expressions of keys and values, patterns of path and tag, datatype, shape.
pub(crate) type Conditions = (Vec<String>, Vec<String>, Option<String>, Option<String>, Option<String>, Option<String>);

fn search((keys, values, path, tag, datatype, shape): &Conditions) -> trilith::Result<Search> {
    let mut all = Search::new();
    for key in keys {
        all = all.key(key)?;
    }
    for value in values {
        all = all.value(value)?;
    }
    if let Some(path) = path {
        all = all.path(path);
    }
    if let Some(tag) = tag {
        all = all.tag(tag)?;
    }
    if let Some(datatype) = datatype {
        all = all.datatype(datatype);
    }
    match shape {
        Some(shape) => all.shape(shape),
        None => Ok(all),
    }
}

/// The paths, from a place on, of what meets the conditions: the place itself and what is below it.
pub(crate) fn paths(py: Python<'_>, place: &Place, conditions: &Conditions) -> PyResult<Vec<String>> {
    let found = calm(py, || {
        let mut paths = Vec::new();
        search(conditions)?.run(&place.item, |path, item| {
            if !item.is_hidden() {
                paths.push(path.to_owned());
            }
            Ok(())
        })?;
        trilith::Result::Ok(paths)
    })?;
    found.or_raise(About::Argument)
}
