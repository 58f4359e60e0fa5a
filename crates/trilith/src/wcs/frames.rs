//! Coordinate frames of a GWCS.

use trilith_wcs::{Axis, Frame};

use super::numbers::wholes;
use super::{get, list, name_of, tag, text, texts};
use crate::error::{Error, Result};
use crate::file::{Item, ItemKind};

/// Axes that a frame may have.
const MOST: usize = 32;

/// The frame of an item: an object, or its name alone.
pub(super) fn frame(item: &Item<'_>) -> Result<Frame> {
    if item.kind() != ItemKind::Mapping {
        return Ok(Frame::named(text(item)?.into_owned()));
    }
    let kind = tag(item).unwrap_or_default();
    let name = get(item, "name")?.map(|name| text(&name).map(|name| name.into_owned())).transpose()?.unwrap_or_default();
    let mut frame = Frame::named(name);
    if name_of(&kind) == "composite_frame" {
        let parts = get(item, "frames")?.map(|frames| list(&frames)).transpose()?.unwrap_or_default();
        for part in parts.iter().take(MOST) {
            add(&mut frame, part)?;
        }
    } else {
        add(&mut frame, item)?;
    }
    Ok(frame)
}

/// Puts the axes of a simple frame to their places.
fn add(frame: &mut Frame, item: &Item<'_>) -> Result<()> {
    let tag = tag(item).unwrap_or_default();
    let kind = name_of(&tag);
    let strings = |key: &str| -> Result<Vec<String>> {
        get(item, key)?.map(|found| texts(&found)).transpose().map(Option::unwrap_or_default)
    };
    let (names, units, types) = (strings("axes_names")?, strings("unit")?, strings("axis_physical_types")?);
    let order = get(item, "axes_order")?.map(|order| wholes(&order)).transpose()?;
    let count = match kind {
        "frame2d" | "celestial_frame" => 2.max(names.len()),
        "spectral_frame" | "temporal_frame" | "stokes_frame" => 1,
        _ => names.len().max(units.len()).max(order.as_ref().map_or(0, Vec::len)),
    };
    let order =
        order.filter(|order| order.len() == count).unwrap_or_else(|| (frame.axes.len()..frame.axes.len() + count).collect());
    let reference = get(item, "reference_frame")?.and_then(|reference| super::tag(&reference)).map(|tag| reference_name(&tag));
    let fallback = |axis: usize| match (kind, axis) {
        ("celestial_frame", 0) => ("lon", "deg", "pos.eq.ra"),
        ("celestial_frame", 1) => ("lat", "deg", "pos.eq.dec"),
        ("spectral_frame", _) => ("", "", "em"),
        ("temporal_frame", _) => ("", "s", "time"),
        ("stokes_frame", _) => ("stokes", "", "phys.polarization.stokes"),
        _ => ("", "", ""),
    };
    for (axis, place) in order.iter().enumerate() {
        if *place >= MOST {
            return Err(Error::limit(format!("a frame with axis {place} (at most {MOST} axes)")));
        }
        if frame.axes.len() <= *place {
            frame.axes.resize(place + 1, Axis::default());
        }
        let (name, unit, physical) = fallback(axis);
        let chosen = |list: &[String], fallback: &str| {
            list.get(axis).filter(|text| !text.is_empty()).map_or_else(|| fallback.to_owned(), Clone::clone)
        };
        // The types of a position that is in no equatorial frame are not those of one that is.
        let is_known =
            kind != "celestial_frame" || reference.as_deref().is_none_or(|name| matches!(name, "ICRS" | "FK5" | "FK4"));
        let physical = if is_known { physical } else { "" };
        if let Some(there) = frame.axes.get_mut(*place) {
            *there = Axis::new(chosen(&names, name), chosen(&units, unit), chosen(&types, physical));
        }
    }
    if kind == "celestial_frame"
        && let [longitude, latitude, ..] = order[..]
        && frame.sky.is_none()
    {
        frame.sky = Some((longitude, latitude));
        frame.reference = reference.unwrap_or_default();
    }
    Ok(())
}

/// The name of a reference frame, by its tag.
fn reference_name(tag: &str) -> String {
    match name_of(tag) {
        "icrs" => "ICRS".to_owned(),
        "fk5" => "FK5".to_owned(),
        "fk4" => "FK4".to_owned(),
        "galactic" => "Galactic".to_owned(),
        other => other.to_owned(),
    }
}
