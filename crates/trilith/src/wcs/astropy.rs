//! Coordinates that asdf-astropy and ndcube write: the FITS header of an `astropy.wcs.WCS`, and slices of one.

use trilith_wcs::{Frame, PipelineStep, Transform, Wcs};

use super::keywords::{CardLists, read_keywords};
use super::numbers::{as_usize, integers};
use super::{WcsKey, from_wcs, get, gwcs, item_tag, read_list, read_text, require_item};
use crate::error::{Error, Result};
use crate::file::{Item, ItemKind};

/// Slices of slices, at most.
const MAX_SLICE_DEPTH: usize = 16;

/// Kind of coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AstropyKind {
    /// An `astropy.wcs.WCS`.
    Header,
    /// A `SlicedLowLevelWCS`.
    Sliced,
    /// Coordinates around others, as ndcube writes them, which Trilith does not evaluate.
    Derived,
}

fn kind_of(item: &Item<'_>) -> Option<AstropyKind> {
    if item.kind() != ItemKind::Mapping {
        return None;
    }
    let tag = item_tag(item)?;
    let kinds = [
        ("astropy/wcs/wcs-", AstropyKind::Header),
        ("astropy/wcs/slicedwcs-", AstropyKind::Sliced),
        ("ndcube/resampledwcs-", AstropyKind::Derived),
        ("ndcube/reorderedwcs-", AstropyKind::Derived),
        ("ndcube/compoundwcs-", AstropyKind::Derived),
    ];
    kinds.into_iter().find_map(|(name, kind)| tag.contains(name).then_some(kind))
}

/// Returns `true` if an item is coordinates that asdf-astropy wrote.
pub(super) fn is_wcs(item: &Item<'_>) -> bool {
    kind_of(item).is_some()
}

/// The coordinates of an item.
pub(super) fn read_wcs(item: &Item<'_>) -> Result<Wcs> {
    read_nested(item, 0)
}

fn read_nested(item: &Item<'_>, depth: usize) -> Result<Wcs> {
    match kind_of(item) {
        Some(AstropyKind::Sliced) if depth < MAX_SLICE_DEPTH => {
            let inner = require_item(item, "wcs")?;
            let wcs = if gwcs::is_wcs(&inner) { gwcs::read_gwcs(&inner)? } else { read_nested(&inner, depth + 1)? };
            slice_wcs(&wcs, &read_list(&require_item(item, "slices_array")?)?, item)
        }
        Some(AstropyKind::Sliced) => Err(Error::limit(format!("slices of coordinates more than {MAX_SLICE_DEPTH} deep"))),
        Some(AstropyKind::Header) => read_header(item),
        Some(AstropyKind::Derived) | None => Err(Error::unsupported(format!(
            "cannot compute coordinates: {} is not supported",
            item_tag(item).unwrap_or_else(|| "an item without a tag".to_owned())
        ))),
    }
}

fn read_header(item: &Item<'_>) -> Result<Wcs> {
    let hdus = read_list(&require_item(item, "hdulist")?)?;
    let first = hdus.first().ok_or_else(|| Error::malformed("astropy.wcs.WCS without an HDU"))?;
    let attributes = get(item, "attrs")?;
    let attribute = |key: &str| attributes.as_ref().map_or(Ok(None), |attributes| get(attributes, key));
    let key: WcsKey = match attribute("key")? {
        Some(key) => read_text(&key)?.parse()?,
        None => WcsKey::default(),
    };
    let limits = gwcs::to_wcs_limits(item.backend().limits());
    let header = require_item(first, "header")?;
    let found = read_keywords(&header, CardLists::Accepted, key)?;
    let found = found.map(|keywords| keywords.wcs(&limits)).transpose().map_err(from_wcs)?.flatten();
    let mut wcs = found.ok_or_else(|| Error::unsupported("astropy.wcs.WCS without types of axes has no coordinates"))?;
    if let Some(shape) = attribute("pixel_shape")? {
        wcs.replace_pixel_shape(integers(&shape)?.into_iter().map(|length| length as u64).collect());
    }
    Ok(wcs)
}

/// A slice of a pixel axis.
enum PixelSlice {
    /// The first pixel of the axis, and its length.
    Range(usize, Option<usize>),
    /// The axis is fixed.
    Fixed(usize),
}

fn read_slice(item: &Item<'_>) -> Result<PixelSlice> {
    if item.kind() != ItemKind::Mapping {
        return if item.kind() == ItemKind::Null {
            Ok(PixelSlice::Range(0, None))
        } else {
            as_usize(item).map(PixelSlice::Fixed)
        };
    }
    if let Some(step) = get(item, "step")?
        && as_usize(&step)? != 1
    {
        return Err(Error::unsupported("a slice of coordinates with a step is not supported"));
    }
    let bound = |key: &str| get(item, key)?.map(|bound| as_usize(&bound)).transpose();
    Ok(PixelSlice::Range(bound("start")?.unwrap_or(0), bound("stop")?))
}

/// The coordinates of a part of an array. World axes that the remaining pixels do not change are left out.
fn slice_wcs(wcs: &Wcs, slices: &[Item<'_>], item: &Item<'_>) -> Result<Wcs> {
    let axes = wcs.pixel_axes();
    if slices.len() != axes {
        return Err(Error::malformed(format!("{} slices of {axes} pixel axes", slices.len())));
    }
    let (mut shifts, mut fixed, mut shape, mut pixels) = (Vec::new(), Vec::new(), Some(Vec::new()), Vec::new());
    let mut chosen = Vec::new();
    for (axis, slice) in slices.iter().rev().enumerate() {
        match read_slice(slice)? {
            PixelSlice::Fixed(at) => fixed.push((axis, at as f64)),
            PixelSlice::Range(start, stop) => {
                shifts.push(Transform::shift(start as f64));
                let whole = wcs.pixel_shape().and_then(|shape| shape.get(axis).copied());
                let stop = match (stop.map(|stop| stop as u64), whole) {
                    (Some(stop), Some(whole)) => Some(stop.min(whole)),
                    (stop, whole) => stop.or(whole),
                };
                shape = shape.zip(stop).map(|(mut shape, stop)| {
                    shape.push(stop.saturating_sub(start as u64));
                    shape
                });
                pixels.extend(wcs.frames().first().and_then(|frame| frame.axes.get(axis)).cloned());
                chosen.push(axis);
            }
        }
    }
    if chosen.is_empty() {
        return Err(Error::unsupported("a slice of coordinates without pixel axes has no coordinates"));
    }
    let dependencies = wcs.forward().separability();
    let is_free = |world: &usize| {
        dependencies.get(*world).is_none_or(|row| chosen.iter().any(|axis| row.get(*axis).copied().unwrap_or(true)))
    };
    let worlds: Vec<usize> = (0..wcs.world_axes()).filter(is_free).collect();
    let inner = if fixed.is_empty() {
        wcs.forward().clone()
    } else {
        Transform::fix_inputs(wcs.forward().clone(), fixed).map_err(from_wcs)?
    };
    let parts = vec![Transform::parallel(shifts), inner, Transform::remap(worlds.clone(), wcs.world_axes()).map_err(from_wcs)?];
    let transform = Transform::chain(parts).map_err(from_wcs)?;
    let last = wcs.frames().last().cloned().unwrap_or_default();
    let mut frame = last.clone();
    frame.axes = worlds.iter().map(|world| wcs.world_axis(*world)).collect();
    let place = |axis: usize| worlds.iter().position(|world| *world == axis);
    frame.sky = last.sky.and_then(|(longitude, latitude)| place(longitude).zip(place(latitude)));
    let mut first = Frame::unknown_frame(wcs.frames().first().map_or("pixel", |frame| frame.name.as_str()));
    first.axes = pixels;
    let steps = vec![PipelineStep { frame: first, transform: Some(transform) }, PipelineStep { frame, transform: None }];
    Wcs::new(wcs.name(), steps, None, shape, &gwcs::to_wcs_limits(item.backend().limits())).map_err(from_wcs)
}
