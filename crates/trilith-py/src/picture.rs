//! Arrays as pictures: `show`, and the small ones of a notebook.

use std::io::Write;
use std::path::PathBuf;
use trilith::bytes::shown_path;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trilith::bytes::{AtomicFile, WriteBasis};
use trilith::{Array as Described, Error};
use trilith_view::preview::{self, Preview, PreviewOptions};
use trilith_view::{ImageOrigin, IntervalMethod, Limits};

use crate::array::Array;
use crate::detached::detach_interruptible;
use crate::dtype::{from_numpy, import_numpy};
use crate::errors::{IntoPyResult, UsageErrorKind, raise_at};
use crate::mapping::MappingBase;

/// A picture of an array, as `show` returns it. A notebook draws it.
#[pyclass(frozen, module = "trilith")]
pub(crate) struct Picture {
    form: PictureFormat,
    what: String,
}

enum PictureFormat {
    /// A PNG, and the numbers at the ends of its colours.
    Png(Vec<u8>, Option<Limits>),
    Svg(String),
}

#[pymethods]
impl Picture {
    /// Display limits. None for a plot, and for an array of colours.
    #[getter]
    fn range(&self) -> Option<(f64, f64)> {
        match &self.form {
            PictureFormat::Png(_, Some(cuts)) => Some((cuts.low, cuts.high)),
            _ => None,
        }
    }

    /// Writes the picture to a file.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    ///     The file: `.png` for an image, `.svg` for a plot.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the extension does not fit the picture.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, pathlib, tempfile, trilith
    /// >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.png"
    /// >>> trilith.show(numpy.eye(3)).save(path)
    /// >>> path.read_bytes()[1:4]
    /// b'PNG'
    #[allow(clippy::needless_pass_by_value, reason = "an argument of Python")]
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let (ending, bytes) = match &self.form {
            PictureFormat::Png(bytes, _) => ("png", bytes.as_slice()),
            PictureFormat::Svg(text) => ("svg", text.as_bytes()),
        };
        let is_so = path.extension().is_some_and(|given| given.eq_ignore_ascii_case(ending));
        if !is_so {
            let message = format!("cannot write {}: this picture needs the extension .{ending}", shown_path(&path));
            return Err(raise_at(&Error::invalid_input(message), Some(&path)));
        }
        let done = AtomicFile::create(&path, WriteBasis::Nothing).and_then(|mut file| {
            file.write_all(bytes).map_err(|error| Error::io("writing a picture", error))?;
            file.commit().map(drop)
        });
        done.map_err(|error| raise_at(&error, Some(&path)))
    }

    fn _repr_png_<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        match &self.form {
            PictureFormat::Png(bytes, _) => Some(PyBytes::new(py, bytes)),
            PictureFormat::Svg(_) => None,
        }
    }

    fn _repr_svg_(&self) -> Option<&str> {
        match &self.form {
            PictureFormat::Png(..) => None,
            PictureFormat::Svg(text) => Some(text),
        }
    }

    fn __repr__(&self) -> String {
        format!("<trilith.Picture of {}>", self.what)
    }
}

/// Draws an array.
///
/// An array of two axes becomes an image, and one of one axis a plot. With more axes, the first plane is drawn. A
/// notebook shows the result.
///
/// Parameters
/// ----------
/// array : Array or array_like
///     An array of a file, of which only the needed part is read, the HDU of an image, or any array that numpy takes.
/// interval : str
///     Display limits: "minmax", "zscale", "percentile:P" or "percentile:LO,HI".
/// range : tuple of float, optional
///     These two numbers, in place of `interval`.
/// stretch : str
///     Scale of the numbers between them: "linear", "sqrt", "log", "asinh" or "power:P".
/// cmap : str
///     Colour map. Add `_r` to reverse it.
/// resample : {"mean", "max", "nearest"}
///     Reduction of several elements to one pixel.
/// width : int, optional
///     Width in pixels.
/// origin : {"auto", "upper", "lower"}
///     Place of the first row. "auto" is the bottom for images of FITS files and arrays with coordinates on the sky, else the top.
///
/// Returns
/// -------
/// Picture
///     Its method `save` writes it to a file.
///
/// Raises
/// ------
/// ValueError
///     If an option has no such value, or if the array has no elements to draw.
///
/// Examples
/// --------
/// >>> import numpy, trilith
/// >>> picture = trilith.show(numpy.arange(12.0).reshape(3, 4), interval="minmax", cmap="viridis")
/// >>> picture
/// <trilith.Picture of float64 (3, 4), 96 B>
/// >>> picture.range
/// (0.0, 11.0)
#[pyfunction]
#[pyo3(signature = (array, *, interval="zscale", range=None, stretch="linear", cmap="gray", resample="mean", width=None, origin="auto"))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn show(
    py: Python<'_>,
    array: &Bound<'_, PyAny>,
    interval: &str,
    range: Option<(f64, f64)>,
    stretch: &str,
    cmap: &str,
    resample: &str,
    width: Option<usize>,
    origin: &str,
) -> PyResult<Picture> {
    let hdu = array.cast::<MappingBase>().ok().map(|mapping| mapping.get().0.item.clone());
    let item = array.cast::<Array>().ok().and_then(|ours| ours.get().base_item().cloned()).or(hdu);
    let array = array_arg(array)?;
    let mut how = PreviewOptions::default();
    how.interval = match range {
        Some((low, high)) => IntervalMethod::Fixed(Limits { low, high }),
        None => interval.parse().or_raise(UsageErrorKind::Argument)?,
    };
    how.stretch = stretch.parse().or_raise(UsageErrorKind::Argument)?;
    how.colours = cmap.parse().or_raise(UsageErrorKind::Argument)?;
    how.resample = resample.parse().or_raise(UsageErrorKind::Argument)?;
    how.width = width;
    let origin: ImageOrigin = origin.parse().or_raise(UsageErrorKind::Argument)?;
    how.is_lower = py.detach(|| origin.is_lower(item.as_ref()));
    let what = crate::repr::display_array(&array);
    let form = detach_interruptible(py, || match Preview::new(&array, &how)? {
        Preview::Image(picture, cuts) => Ok(PictureFormat::Png(picture.to_png()?, cuts)),
        Preview::Plot(svg) => Ok(PictureFormat::Svg(svg)),
        _ => Err(Error::unsupported("cannot draw this view of the array")),
    })?;
    Ok(Picture { form: form.or_raise(UsageErrorKind::Argument)?, what })
}

/// An array of a file, or a copy of one of numpy's.
fn array_arg(array: &Bound<'_, PyAny>) -> PyResult<Described> {
    if let Ok(ours) = array.cast::<Array>() {
        return Ok(ours.get().array.clone());
    }
    // An HDU counts as its data.
    if let Ok(mapping) = array.cast::<MappingBase>() {
        let item = &mapping.get().0.item;
        return item.as_array().or_raise_from(UsageErrorKind::Argument, item.backend().source());
    }
    let plain = import_numpy(array.py())?.call_method1("ascontiguousarray", (array,))?;
    let (datatype, order) = from_numpy(&plain.getattr("dtype")?)?;
    let shape: Vec<u64> = plain.getattr("shape")?.extract()?;
    let bytes: Vec<u8> = plain.call_method0("tobytes")?.cast::<PyBytes>()?.as_bytes().to_vec();
    Described::from_bytes(bytes, datatype, order, shape).or_raise(UsageErrorKind::Argument)
}

/// A small picture of the image of a file.
pub(crate) fn image_of(file: &trilith::File) -> Option<String> {
    let path = file.image().ok()??;
    let item = file.item(&path).ok()?;
    preview::html(&item.array().ok()?, Some(&item))
}
