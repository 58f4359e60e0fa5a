//! World coordinates of an element.

use std::sync::Arc;

use serde_json::{Value, json};
use trilith::{Error, Index, Result};

use super::arrays::{element_texts, item_at, numbers};
use super::session::lock;
use super::{OpenFile, ViewerRequest, ViewerSession};
use crate::{ArrayWcs, AxisCoordinate};

/// Maximum number of characters of a coordinate.
const MAX_VALUE_CHARS: usize = 60;

/// The coordinates of the array that was asked about last; None if it has none.
pub(super) type WcsCache = (String, Option<Arc<ArrayWcs>>);

/// `wcs`: the world coordinates of the element at `index`, a list of whole numbers, one for each axis of the array; null
/// for an array that has none that are known here. With `position`, longitude and latitude as people write them, the pixel that has
/// it, x first; null if none has.
pub(super) fn answer_wcs(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let opened = session.requested_file(request)?;
    if !request.text_parameter("position").is_empty() {
        let position = trilith::wcs::position(request.text_parameter("position"))?;
        let pixel = cached_wcs(&opened, request.text_parameter("path")).map(|wcs| wcs.pixel_at(position)).transpose()?;
        return Ok(json!({"pixel": pixel.flatten()}));
    }
    let text = request.text_parameter("index");
    let index: Vec<u64> = text
        .split(',')
        .map(|number| number.trim().parse())
        .collect::<Result<_, _>>()
        .map_err(|_| Error::invalid_input(format!("{text:?} is not an index")).hint("give whole numbers, as index=3,7"))?;
    let wcs = cached_wcs(&opened, request.text_parameter("path"));
    let found = wcs.as_ref().map(|wcs| {
        let line = |found: crate::WorldCoordinate| {
            let text = found.text();
            json!({"name": found.axis.name, "value": found.value, "text": text, "unit": found.axis.unit, "frame": found.axis.frame})
        };
        wcs.world_at(&index).into_iter().map(line).collect::<Vec<_>>()
    });
    let compass = wcs.as_ref().and_then(|wcs| wcs.directions_at(&index));
    let compass = compass.map(|compass| json!({"north": compass.north, "east": compass.east}));
    let coordinates = match found {
        Some(found) => Some(found),
        // Scales that cannot be read do not keep the picture from being shown.
        None => scale_coordinates(&opened, request.text_parameter("path"), &index).unwrap_or_default(),
    };
    Ok(json!({"coordinates": coordinates, "sky": wcs.is_some_and(|wcs| wcs.is_celestial()), "compass": compass}))
}

/// The values of the dimension scales of an array at an element; `None` if it has none.
fn scale_coordinates(opened: &OpenFile, path: &str, index: &[u64]) -> Result<Option<Vec<Value>>> {
    let item = item_at(opened, path)?;
    let mut found = Vec::new();
    for (axis, at) in index.iter().enumerate() {
        let at = Index::Integer(i64::try_from(*at).unwrap_or(i64::MAX));
        let Some(scale) = AxisCoordinate::along_axis(&item, axis, Some(at))? else { continue };
        let value = numbers(&scale.numbers)?.first().copied();
        let text = element_texts(&scale.numbers, MAX_VALUE_CHARS)?.into_iter().next().flatten().unwrap_or_default();
        let text = format!("{text} {}", scale.unit).trim_end().to_owned();
        found.push(json!({"name": scale.name, "value": value, "text": text, "unit": scale.unit, "frame": ""}));
    }
    Ok((!found.is_empty()).then_some(found))
}

/// The coordinates of the array at a path, found once.
fn cached_wcs(opened: &OpenFile, path: &str) -> Option<Arc<ArrayWcs>> {
    let mut known = lock(&opened.wcs);
    if let Some((_, found)) = known.as_ref().filter(|(of, _)| of == path) {
        return found.clone();
    }
    let found = ArrayWcs::open(&opened.file, path).map(Arc::new);
    *known = Some((path.to_owned(), found.clone()));
    found
}
