//! The base of `trilith.WCS`: world coordinates of a file, evaluated without the interpreter.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use trilith::convert::ConvertOptions;
use trilith::wcs::{
    CardValue, FitOptions, FoundWcs, InverseMethod, PositionFrame, WcsDirection, WcsKey, WcsOptions, convert_points,
    find_coordinates, from_wcs,
};
use trilith::{CutoutOptions, EdgeMode};

use crate::array::Array;
use crate::detached::detach_interruptible;
use crate::edit::issue_warnings;
use crate::errors::{IntoPyResult, UsageErrorKind};
use crate::file::File;

/// Coordinates of a file, for columns of numbers.
#[pyclass(frozen, name = "_Wcs", module = "trilith._trilith")]
pub(crate) struct Wcs {
    pub found: FoundWcs,
}

/// A card of a FITS header: keyword, value and comment.
type CardTuple<'py> = (String, Bound<'py, PyAny>, &'static str);

/// Points in columns, a column for each axis.
type CoordinateColumns<'py> = Vec<Bound<'py, PyArray1<f64>>>;

fn parse_options(is_boxed: bool, inverse: &str) -> PyResult<WcsOptions> {
    let inverse = match inverse {
        "exact" => InverseMethod::Iterative,
        "file" => InverseMethod::Declared,
        other => return Err(PyValueError::new_err(format!("inverse is \"exact\" or \"file\", not {other:?}"))),
    };
    Ok(WcsOptions::default().with_bounding_box(is_boxed).with_inverse(inverse))
}

impl Wcs {
    /// Coordinates that were found, with a warning for each axis that they leave out.
    fn wrap_with_warnings(py: Python<'_>, found: Option<FoundWcs>) -> PyResult<Option<Self>> {
        let Some(found) = found else { return Ok(None) };
        issue_warnings(py, found.wcs.left_out().to_vec())?;
        Ok(Some(Self { found }))
    }

    fn transform_columns(&self, columns: &[&[f64]], to_pixels: bool, options: WcsOptions) -> trilith::Result<Vec<Vec<f64>>> {
        let direction = if to_pixels { WcsDirection::ToPixels } else { WcsDirection::ToWorld };
        convert_points(&self.found.wcs, columns, direction, options)
    }
}

#[pymethods]
impl Wcs {
    /// World coordinates of pixels, or pixels of world coordinates: a contiguous column for each axis.
    #[allow(clippy::needless_pass_by_value, reason = "they come from Python")]
    fn columns<'py>(
        &self,
        py: Python<'py>,
        points: Vec<PyReadonlyArray1<'py, f64>>,
        to_pixels: bool,
        boxed: bool,
        inverse: &str,
    ) -> PyResult<CoordinateColumns<'py>> {
        let options = parse_options(boxed, inverse)?;
        let slices = points.iter().map(|column| Ok(column.as_slice()?)).collect::<PyResult<Vec<&[f64]>>>()?;
        let found = detach_interruptible(py, || self.transform_columns(&slices, to_pixels, options))?
            .or_raise(UsageErrorKind::Argument)?;
        Ok(found.into_iter().map(|column| PyArray1::from_vec(py, column)).collect())
    }

    /// Converts one point from pixels to world coordinates, or back.
    #[allow(clippy::needless_pass_by_value, reason = "it comes from Python")]
    fn point(&self, point: Vec<f64>, to_pixels: bool, boxed: bool, inverse: &str) -> PyResult<Vec<f64>> {
        let columns: Vec<&[f64]> = point.iter().map(std::slice::from_ref).collect();
        let found =
            self.transform_columns(&columns, to_pixels, parse_options(boxed, inverse)?).or_raise(UsageErrorKind::Argument)?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Points brought from one frame to another.
    #[allow(clippy::needless_pass_by_value, reason = "they come from Python")]
    fn between<'py>(
        &self,
        py: Python<'py>,
        start: &str,
        end: &str,
        points: Vec<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<CoordinateColumns<'py>> {
        let slices = points.iter().map(|column| Ok(column.as_slice()?)).collect::<PyResult<Vec<&[f64]>>>()?;
        let transform = self.found.wcs.between(start, end).map_err(from_wcs).or_raise(UsageErrorKind::Argument)?;
        let found =
            detach_interruptible(py, || transform.evaluate(&slices))?.map_err(from_wcs).or_raise(UsageErrorKind::Argument)?;
        Ok(found.into_iter().map(|column| PyArray1::from_vec(py, column)).collect())
    }

    /// Returns `true` for each of some positions that a pixel has.
    #[allow(clippy::needless_pass_by_value, reason = "they come from Python")]
    fn contains(&self, py: Python<'_>, lon: PyReadonlyArray1<'_, f64>, lat: PyReadonlyArray1<'_, f64>) -> PyResult<Vec<bool>> {
        let places: Vec<[f64; 2]> = lon.as_slice()?.iter().zip(lat.as_slice()?).map(|(lon, lat)| [*lon, *lat]).collect();
        detach_interruptible(py, || self.found.wcs.contains(&places))?.map_err(from_wcs).or_raise(UsageErrorKind::Argument)
    }

    /// Derivatives of the world coordinates at a pixel, row by row.
    #[allow(clippy::needless_pass_by_value, reason = "it comes from Python")]
    fn jacobian(&self, pixel: Vec<f64>) -> PyResult<Vec<Vec<f64>>> {
        self.found.wcs.jacobian(&pixel).map_err(from_wcs).or_raise(UsageErrorKind::Argument)
    }

    /// Cards of a FITS header: keyword, value and comment.
    fn fits_header<'py>(&self, py: Python<'py>, order: Option<usize>, max_error: Option<f64>) -> PyResult<Vec<CardTuple<'py>>> {
        let mut how = FitOptions::default();
        (how.degree, how.max_error) = (order, max_error);
        let header =
            detach_interruptible(py, || self.found.wcs.to_fits(&how))?.map_err(from_wcs).or_raise(UsageErrorKind::Argument)?;
        let card = |card: trilith::wcs::Card| {
            let value = match card.value {
                CardValue::Text(text) => text.into_bound_py_any(py)?,
                CardValue::Number(number) => number.into_bound_py_any(py)?,
                CardValue::Integer(number) => number.into_bound_py_any(py)?,
                other => return Err(PyValueError::new_err(format!("a card with the value {other}"))),
            };
            Ok((card.keyword, value, card.comment))
        };
        header.cards.into_iter().map(card).collect()
    }

    /// Positions of a frame, in degrees, in the frame of these coordinates, or the other way.
    #[allow(clippy::needless_pass_by_value, reason = "they come from Python")]
    fn convert_frame<'py>(
        &self,
        py: Python<'py>,
        lon: PyReadonlyArray1<'_, f64>,
        lat: PyReadonlyArray1<'_, f64>,
        frame: &str,
        to_native: bool,
    ) -> PyResult<CoordinateColumns<'py>> {
        let (wcs, frame): (_, PositionFrame) = (&self.found.wcs, frame.parse().or_raise(UsageErrorKind::Argument)?);
        frame.from_native(wcs, [0.0, 0.0]).or_raise(UsageErrorKind::Argument)?;
        let mut columns = [Vec::new(), Vec::new()];
        for (lon, lat) in lon.as_slice()?.iter().zip(lat.as_slice()?) {
            let place = if to_native {
                frame.to_native(wcs, [*lon, *lat])
            } else {
                frame.from_native(wcs, [*lon, *lat]).or_raise(UsageErrorKind::Argument)?
            };
            columns.iter_mut().zip(place).for_each(|(column, angle)| column.push(angle));
        }
        Ok(columns.into_iter().map(|column| PyArray1::from_vec(py, column)).collect())
    }

    /// Corners of the extent on the sky, in degrees.
    fn footprint(&self) -> Option<[[f64; 2]; 4]> {
        self.found.wcs.footprint()
    }

    /// Describes the coordinates, by name.
    fn about<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let wcs = &self.found.wcs;
        let dict = PyDict::new(py);
        let axes: Vec<_> = (0..wcs.world_axes()).map(|axis| wcs.world_axis(axis)).collect();
        let pixels = wcs.frames().first();
        let pixel_name = |axis: usize| pixels.and_then(|frame| frame.axes.get(axis)).map_or("", |axis| axis.name.as_str());
        let frame = wcs.frames().last();
        dict.set_item("path", &self.found.path)?;
        dict.set_item("name", wcs.name())?;
        dict.set_item("frames", wcs.frames().iter().map(|frame| frame.name.as_str()).collect::<Vec<_>>())?;
        dict.set_item("pixel_names", (0..wcs.pixel_axes()).map(pixel_name).collect::<Vec<_>>())?;
        let times = axes.iter().map(|axis| axis.time.clone().map(|time| (time.value, time.format, time.scale, time.location)));
        dict.set_item("times", times.collect::<Vec<_>>())?;
        dict.set_item("world", axes.into_iter().map(|axis| (axis.name, axis.unit, axis.physical_type)).collect::<Vec<_>>())?;
        dict.set_item("shape", wcs.pixel_shape())?;
        dict.set_item("bounds", wcs.bounding_box().map(|bounds| bounds.intervals()))?;
        dict.set_item("depends", wcs.forward().separability())?;
        dict.set_item("sky", wcs.sky())?;
        dict.set_item("reference", frame.map_or("", |frame| frame.reference_frame.as_str()))?;
        dict.set_item("equinox", frame.and_then(|frame| frame.equinox))?;
        dict.set_item("centre", wcs.centre())?;
        dict.set_item("scale", wcs.scale())?;
        Ok(dict)
    }
}

/// The coordinates of an array.
#[pyfunction]
pub(crate) fn _wcs_of_array(array: &Bound<'_, Array>) -> PyResult<Option<Wcs>> {
    let Some(item) = array.get().as_item() else { return Ok(None) };
    let found = detach_interruptible(array.py(), || find_coordinates(item))?
        .or_raise_from(UsageErrorKind::Argument, item.backend().source())?;
    Wcs::wrap_with_warnings(array.py(), found)
}

/// The coordinates at a path of an open file.
#[pyfunction]
pub(crate) fn _wcs_at(opened: &Bound<'_, File>, path: &str, wcs_key: &str) -> PyResult<Option<Wcs>> {
    let key: WcsKey = wcs_key.parse().or_raise(UsageErrorKind::Argument)?;
    let file = opened.get().trilith_file()?;
    let found =
        detach_interruptible(opened.py(), || file.wcs_by_key(path, key))?.or_raise_from(UsageErrorKind::Key, file.source())?;
    Wcs::wrap_with_warnings(opened.py(), found)
}

/// The pixels around a position, as the bytes of a file, and remarks about them; None if there is no cutout.
#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "so the words of Python arrive")]
pub(crate) fn _cutout<'py>(
    py: Python<'py>,
    opened: &Bound<'_, File>,
    path: &str,
    sky: [f64; 2],
    size: &str,
    edge: &str,
    fill: Option<f64>,
    only: Vec<String>,
    sky_frame: &str,
    wcs_key: &str,
) -> PyResult<Option<(Bound<'py, PyBytes>, Vec<String>)>> {
    let mut how = CutoutOptions::default();
    how.edge = match edge {
        "fill" => EdgeMode::Fill,
        "trim" => EdgeMode::Trim,
        "skip" => EdgeMode::Skip,
        other => return Err(PyValueError::new_err(format!("edge is \"fill\", \"trim\" or \"skip\", not {other:?}"))),
    };
    (how.fill, how.image_only) = (fill, only);
    how.position_frame = sky_frame.parse().or_raise(UsageErrorKind::Argument)?;
    let key: WcsKey = wcs_key.parse().or_raise(UsageErrorKind::Argument)?;
    let size = size.parse().or_raise(UsageErrorKind::Argument)?;
    let file = opened.get().trilith_file()?;
    let made = detach_interruptible(py, || {
        let Some(cutout) = file.cutout_image_by_key(path, key)?.cutout(sky, size, how)? else { return Ok(None) };
        let mut out = std::io::Cursor::new(Vec::new());
        let notes = cutout.write(cutout.preferred_format(), &ConvertOptions::default(), &mut out)?;
        Ok(Some((out.into_inner(), notes)))
    });
    let made = made?.or_raise_from(UsageErrorKind::Argument, file.source())?;
    Ok(made.map(|(bytes, notes)| (PyBytes::new(py, &bytes), notes)))
}
