//! Finding items: the conditions of the library in Python's words.

use pyo3::prelude::*;
use trilith::SearchQuery;

use crate::detached::detach_interruptible;
use crate::errors::{IntoPyResult, UsageErrorKind};
use crate::nodes::ItemRef;

/// Conditions of a search: regular expressions of keys and values, patterns of path and tag, datatype, shape.
pub(crate) type Conditions = (Vec<String>, Vec<String>, Option<String>, Option<String>, Option<String>, Option<String>);

fn build_search((keys, values, path, tag, datatype, shape): &Conditions) -> trilith::Result<SearchQuery> {
    let mut all = SearchQuery::new();
    for key in keys {
        all = all.key(key)?;
    }
    for value in values {
        all = all.value(value)?;
    }
    if let Some(path) = path {
        all = all.path(path)?;
    }
    if let Some(tag) = tag {
        all = all.tag(tag)?;
    }
    if let Some(datatype) = datatype {
        all = all.datatype(datatype)?;
    }
    match shape {
        Some(shape) => all.shape(shape),
        None => Ok(all),
    }
}

/// The paths, from a place on, of what meets the conditions: the place itself and what is below it.
pub(crate) fn find_paths(py: Python<'_>, place: &ItemRef, conditions: &Conditions) -> PyResult<Vec<String>> {
    let found = detach_interruptible(py, || {
        let mut paths = Vec::new();
        build_search(conditions)?.run(&place.item, |found| {
            if !found.item.flags().is_hidden {
                paths.push(found.address.clone());
            }
            Ok(())
        })?;
        trilith::Result::Ok(paths)
    })?;
    found.or_raise_from(UsageErrorKind::Argument, place.item.backend().source())
}
