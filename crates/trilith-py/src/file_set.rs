//! The files of a set as one file.

use pyo3::prelude::*;

use crate::errors::{IntoPyResult, UsageErrorKind};
use crate::file::File;

/// The files of a set as one file: each item is one array, whose first axis counts the files. `trilith.open_set` opens it.
///
/// Examples
/// --------
/// >>> import numpy, pathlib, tempfile, trilith
/// >>> folder = pathlib.Path(tempfile.mkdtemp())
/// >>> layout = trilith.Layout("{ time = f8 }  x = f8[2]")
/// >>> for step in range(3):
/// ...     layout.write(folder / f"r{step}.bd", time=float(step), x=numpy.full(2, float(step)))
/// >>> layout.catalog(folder / "r*.bd", folder / "run.bd")
/// >>> run = trilith.open_set(folder / "run.bd")
/// >>> run.files, run["x"][2]
/// (['r0.bd', 'r1.bd', 'r2.bd'], array([2., 2.]))
#[pyclass(frozen, mapping, extends = File, module = "trilith")]
pub(crate) struct FileSet;

#[pymethods]
impl FileSet {
    /// The names of the files, as the catalog has them.
    #[getter]
    fn files(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        let file = slf.as_super().get().trilith_file()?;
        Ok(file.as_family().map(|set| set.catalog().files().to_vec()).unwrap_or_default())
    }

    /// Returns the files that are masked in an item, because they omit it or are missing.
    ///
    /// Parameters
    /// ----------
    /// key : str
    ///     The name of the item.
    ///
    /// Returns
    /// -------
    /// list of str
    ///     Names as in `files`.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the file is closed.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, pathlib, tempfile, trilith
    /// >>> folder = pathlib.Path(tempfile.mkdtemp())
    /// >>> layout = trilith.Layout("{ time = f8 }  x = f8[2]")
    /// >>> for step in range(3):
    /// ...     layout.write(folder / f"r{step}.bd", time=float(step), x=numpy.full(2, float(step)))
    /// >>> layout.catalog(folder / "r*.bd", folder / "run.bd")
    /// >>> (folder / "r1.bd").unlink()
    /// >>> trilith.open_set(folder / "run.bd").omitted("x")
    /// ['r1.bd']
    fn omitted(slf: &Bound<'_, Self>, key: &str) -> PyResult<Vec<String>> {
        let file = slf.as_super().get().trilith_file()?;
        let Some(set) = file.as_family() else { return Ok(Vec::new()) };
        let found = slf.py().detach(|| set.omitted(&format!("/{}", key.trim_start_matches('/'))));
        Ok(found.or_raise_from(UsageErrorKind::Key, file.source())?.into_iter().map(|one| one.file).collect())
    }
}
