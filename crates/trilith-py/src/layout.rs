//! `trilith.Layout`: the text that says where every array of a binary file lies.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use trilith::bytes::read_text;
use trilith::layout::{Dialect, Kind, Layout as Parsed, ParseOptions, parse};
use trilith::{Error, Limits};

use crate::errors::{About, Raise};

/// A layout: where every array of a binary file lies, in the language of Dudley.
///
/// `trilith.open(path, layout=...)` reads any file under one.
///
/// >>> import trilith
/// >>> layout = trilith.Layout("N : <i4  x = <f8[N]")
/// >>> layout.dialect, list(layout.items())
/// ('2025', [('N', 'param'), ('x', 'data')])
/// >>> f = trilith.open(bytes([2, 0, 0, 0, 0, 0, 0, 0]) + bytes(16), layout=layout)
/// >>> f["x"].shape, f["N"]
/// ((2,), 2)
#[pyclass(frozen, module = "trilith")]
#[derive(Clone)]
pub struct Layout(pub Parsed);

/// Reads the text of a layout; the error is the first that was found, with its place.
fn read(text: &[u8]) -> trilith::Result<Parsed> {
    let mut options = ParseOptions::default();
    options.limits = Limits::from_env()?;
    let parsed = parse(text, &options)?;
    let first = || parsed.diagnostics.iter().find(|diagnostic| !diagnostic.code.is_harmless()).cloned();
    match parsed.layout {
        Some(layout) => Ok(layout),
        None => Err(first().map_or_else(|| Error::malformed("the layout has errors"), Error::from)),
    }
}

#[pymethods]
impl Layout {
    #[new]
    fn new(py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = match text.cast::<PyBytes>() {
            Ok(bytes) => bytes.as_bytes().to_vec(),
            Err(_) => text.extract::<String>()?.into_bytes(),
        };
        Ok(Self(py.detach(|| read(&bytes)).or_raise(About::Argument)?))
    }

    /// Reads a layout from a file of its own.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value, reason = "it comes from Python")]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let made =
            py.detach(|| read(&read_text(&path, Limits::from_env()?.text)?).map_err(|e| e.context(path.display().to_string())));
        Ok(Self(made.or_raise(About::Argument)?))
    }

    /// The dialect: "2025" or "2026".
    #[getter]
    fn dialect(&self) -> String {
        self.0.dialect().name().to_owned()
    }

    /// The text, as it was given.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// The text in another dialect, and what that cannot say, one line each.
    fn translate(&self, py: Python<'_>, dialect: &str) -> PyResult<(String, Vec<String>)> {
        let to = match dialect {
            "2025" => Dialect::D2025,
            "2026" => Dialect::D2026,
            _ => return Err(pyo3::exceptions::PyValueError::new_err(format!("unknown dialect {dialect:?}; known: 2025, 2026"))),
        };
        let made = py.detach(|| self.0.translate(to));
        Ok((made.text, made.losses.iter().map(|loss| loss.message.clone()).collect()))
    }

    /// Paths of the items outside of lists, without the first `/`, and what each is: "dict", "list", "param" or "data".
    pub fn items(&self) -> Vec<(String, &'static str)> {
        let ids = (1..self.0.item_count()).filter_map(|at| self.0.item_at(at));
        let named = ids.filter_map(|id| {
            let kind = match self.0.kind(id) {
                Kind::Dict => "dict",
                Kind::List => "list",
                Kind::Param => "param",
                Kind::Data => "data",
                _ => return None,
            };
            // Elements of lists and members of structs have no path of their own.
            let mut above = Some(id);
            while let Some(at) = above {
                self.0.name(at).or(if self.0.parent(at).is_none() { Some("") } else { None })?;
                above = self.0.parent(at);
            }
            let path = self.0.path(id);
            Some((path.strip_prefix('/').unwrap_or(&path).to_owned(), kind))
        });
        named.collect()
    }

    fn __str__(&self) -> &str {
        self.0.text()
    }

    fn __repr__(&self) -> String {
        format!("<trilith.Layout of {}, {} items>", self.0.dialect(), self.0.item_count().saturating_sub(1))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0.text() == other.0.text()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.0.text().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (Bound<'py, PyString>,)) {
        (slf.get_type().into_any(), (PyString::new(slf.py(), slf.get().0.text()),))
    }
}

/// A layout that was handed in: as such, as the path of its file, or as its text.
pub fn given(layout: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Parsed>> {
    let Some(layout) = layout else { return Ok(None) };
    if let Ok(layout) = layout.cast::<Layout>() {
        return Ok(Some(layout.get().0.clone()));
    }
    if let Ok(text) = layout.cast::<PyString>()
        && text.to_str()?.contains(['=', ':', '\n'])
        && !std::path::Path::new(text.to_str()?).exists()
    {
        return Ok(Some(Layout::new(layout.py(), layout)?.0));
    }
    if layout.is_instance_of::<PyString>() || layout.hasattr("__fspath__")? {
        return Ok(Some(Layout::read(layout.py(), layout.extract()?)?.0));
    }
    let kind = layout.get_type().qualname()?;
    Err(PyTypeError::new_err(format!("a layout is a trilith.Layout or the path of its file, not {kind}")))
}
