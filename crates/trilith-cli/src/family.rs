//! Catalogs of families of files, for the commands that read them.

use std::sync::Arc;

use trilith::bytes::Resolve;
use trilith::dudley::{Catalog, DudleyFile, StreamOptions};
use trilith::file::{self, AnyFile};
use trilith::layout::Options as Evaluate;
use trilith::{Error, Result};

use crate::options::Options;

/// An open catalog and how the files that it lists are read.
pub struct Family {
    /// The files and their parameters.
    pub catalog: Catalog,
    /// Whether they are native, and their byte order.
    pub how: Evaluate,
    /// What opens them.
    pub resolve: Arc<dyn Resolve>,
}

impl Family {
    /// Opens the catalog at `path`; with `raw` its files have no signature.
    pub fn open(path: &str, raw: bool, options: &Options) -> Result<Self> {
        let (stream, resolve) = options.open_catalog(path)?;
        // Who wrote the catalog most likely wrote the files.
        let order = options.order().or(stream.signature().map(|signature| signature.order));
        let how = Evaluate { native: !raw, order, limits: options.limits()? };
        Ok(Self { catalog: Catalog::read(&stream)?, how, resolve })
    }
}

impl Options {
    /// A catalog is a stream under its own layout; `--layout` is that of the files which it lists.
    fn open_catalog(&self, path: &str) -> Result<(DudleyFile, Arc<dyn Resolve>)> {
        let limits = self.limits()?;
        let mut how = StreamOptions::default();
        how.order = self.order();
        let (source, resolve) = self.open_with(path, &limits)?;
        match file::open_any(source, resolve.clone(), how, &limits)? {
            AnyFile::Dudley(stream) => Ok((stream, resolve)),
            AnyFile::Asdf(_) => Err(Error::usage(format!("{path} is no Dudley stream"))),
        }
    }
}

/// Reads `0:10`, `3:` or `:5` as some of the rows of a catalog; nothing is all of them.
pub fn rows(text: Option<&str>, len: usize) -> Result<std::ops::Range<usize>> {
    let Some(text) = text else { return Ok(0..len) };
    let bad = || Error::usage(format!("{text:?} is no range of files")).hint("write it as FIRST:END, counted from 0");
    let number = |part: &str, missing: usize| if part.is_empty() { Ok(missing) } else { part.parse().map_err(|_| bad()) };
    let (from, to) = text.split_once(':').ok_or_else(bad)?;
    Ok(number(from.trim(), 0)?..number(to.trim(), len)?)
}
