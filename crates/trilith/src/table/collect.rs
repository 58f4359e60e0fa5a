//! Reading the rows of many files, side by side.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Query, Row, Table};
use crate::bytes::{SourceBacking, display_name, is_url, path_of};
use crate::error::{Error, Result};
use crate::file::{FoundFile, OpenOptions};
use crate::threads::map_in_order;

/// Servers are asked for this number of files at a time besides those that the cores work on.
const EXTRA_REMOTE_JOBS: usize = 8;

/// The result of [`collect`].
#[derive(Debug)]
#[non_exhaustive]
pub struct CollectedTable {
    /// The rows of all files that could be read, in the order of the files.
    pub table: Table,
    /// Number of files.
    pub files: u64,
    /// Files that could not be read, and why.
    pub failed: Vec<(String, Error)>,
    /// Remarks on files that were read, with their names.
    pub notices: Vec<(String, String)>,
}

/// Reads the rows of many files into a table, on as many threads as are free. A file that cannot be read is listed in
/// [`CollectedTable::failed`], and the others go on. Once `stop` is set no further file is begun.
///
/// ```no_run
/// use trilith::file::FileFinder;
/// use trilith::table::{Query, collect};
/// let query = Query::with_names([("exposure", "/meta/exposure")])?.filter("exposure > 100")?;
/// let files = FileFinder::new().find("archive");
/// let found = collect(&query, files, &trilith::OpenOptions::new(), &false.into())?;
/// println!("{} rows, {} files could not be read", found.table.len(), found.failed.len());
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if `files` is empty, and if the condition
/// compares values of different types.
pub fn collect(
    query: &Query,
    files: impl IntoIterator<Item = FoundFile, IntoIter: Send>,
    opening: &OpenOptions,
    stop: &AtomicBool,
) -> Result<CollectedTable> {
    let opening = &if query.needs_card_rows() { opening.clone() } else { opening.clone().card_rows(false) };
    let mut files = files.into_iter().take_while(|_| !stop.load(Ordering::Relaxed)).peekable();
    let waiting = if files.peek().is_some_and(|first| is_url(&first.name)) { EXTRA_REMOTE_JOBS } else { 0 };
    let mut found = CollectedTable { table: Table::new(query), files: 0, failed: Vec::new(), notices: Vec::new() };
    map_in_order(
        files,
        waiting,
        |file, _| {
            let read = match file.problem {
                Some(problem) => Err(problem),
                None => read_file_rows(query, &file.name, opening),
            };
            (display_name(&file.name).into_owned(), read)
        },
        |(name, read)| {
            found.files += 1;
            match read {
                Ok((rows, notice)) => {
                    found.notices.extend(notice.map(|notice| (name, notice)));
                    found.table.add(rows);
                }
                Err(error) => found.failed.push((name, error)),
            }
            Ok(())
        },
    )?;
    if found.files == 0 && !stop.load(Ordering::Relaxed) {
        let hint = "a file is always read when it is named itself";
        return Err(Error::invalid_input("no file of a known format was found").hint(hint));
    }
    query.check_condition()?;
    found.table = found.table.finished();
    Ok(found)
}

fn read_file_rows(query: &Query, name: &str, opening: &OpenOptions) -> Result<(Vec<Row>, Option<String>)> {
    let file = opening.open(path_of(name))?;
    Ok((query.rows(name, &file)?, file.source().backing().and_then(SourceBacking::notice)))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;
    use crate::file::FileFinder;

    #[test]
    fn one_bad_file_of_many_ends_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..50 {
            let text = format!("#ASDF 1.0.0\n%YAML 1.1\n--- {{n: {n}}}\n...\n");
            std::fs::write(folder.path().join(format!("r{n:02}.asdf")), text).unwrap();
        }
        std::fs::write(folder.path().join("r07.asdf"), "text").unwrap();
        let query = Query::with_names([("a=b", "/n")]).unwrap().filter("`a=b` >= 5").unwrap();
        let files = || FileFinder::new().find(&folder.path().to_string_lossy());
        let found = collect(&query, files(), &OpenOptions::new(), &false.into()).unwrap();
        let numbers: Vec<_> = found.table.column(1).map(|cell| cell.text()).collect();
        let expected: Vec<_> = (5..50).filter(|n| *n != 7).map(|n| n.to_string()).collect();
        assert_eq!((numbers, found.files), (expected, 50));
        assert!(matches!(&found.failed[..], [(name, _)] if name.ends_with("r07.asdf")), "{:?}", found.failed);
        let stopped = collect(&query, files(), &OpenOptions::new(), &true.into()).unwrap();
        assert_eq!(stopped.files, 0);
        let none = Vec::new();
        assert!(collect(&query, none, &OpenOptions::new(), &false.into()).is_err());
    }
}
