//! A GWCS in a tree: steps of frames and transforms, and the bounding box.

use std::ops::Range;

use trilith_wcs::{BoundingBox, Frame, PipelineStep, Transform, Wcs};

use super::frames::read_frame;
use super::from_wcs;
use super::numbers::{integers, read_interval, read_numbers};
use super::transforms::{OutputUnits, TransformBuilder};
use super::units::ScaledUnit;
use super::{get, item_tag, name_of, read_list, read_text, read_text_list, require_item, version_of};
use crate::bytes::{AccessCost, stored_ranges};
use crate::error::{Error, Result};
use crate::file::{Item, ItemKind};
use crate::limits::Limits;

/// Steps that a GWCS may have.
const MAX_STEPS: usize = 100;
/// Arrays of coefficients that are fetched together; one by one what is beyond.
const PREFETCH_ARRAYS: usize = 10_000;

/// Returns `true` if an item is a GWCS.
pub(super) fn is_wcs(item: &Item<'_>) -> bool {
    item.kind() == ItemKind::Mapping && item_tag(item).is_some_and(|tag| tag.contains("gwcs/wcs-") || tag.ends_with("gwcs/wcs"))
}

/// The limits of the mathematics, by those of the file.
pub(super) fn to_wcs_limits(limits: &Limits) -> trilith_wcs::WcsLimits {
    let mut found = trilith_wcs::WcsLimits::default();
    let capped = |limit: u64, most: usize| usize::try_from(limit).unwrap_or(usize::MAX).min(most);
    found.nodes = capped(limits.nodes, found.nodes);
    found.depth = capped(limits.depth, found.depth);
    found.table = capped(limits.memory / 8, found.table);
    found.terms = capped(limits.memory / 8, found.terms);
    found
}

/// The coordinates that a GWCS describes.
pub(super) fn read_gwcs(item: &Item<'_>) -> Result<Wcs> {
    prefetch_coefficients(item)?;
    let limits = to_wcs_limits(item.backend().limits());
    let steps = read_list(&require_item(item, "steps")?)?;
    if steps.len() > MAX_STEPS {
        return Err(Error::limit(format!("{} steps of coordinates (at most {MAX_STEPS})", steps.len())));
    }
    let frames: Vec<Frame> = steps.iter().map(|step| read_frame(&require_item(step, "frame")?)).collect::<Result<_>>()?;
    let nodes: Vec<Option<Item<'_>>> = steps.iter().map(|step| get(step, "transform")).collect::<Result<_>>()?;

    // Numbers without units are in those of the frames, if any parameter has a unit; else units are ignored.
    let is_filled = item.as_asdf().and_then(|(file, _)| file.standard()).is_some_and(|standard| is_before_1_6(&standard));
    let has_old_stokes = is_old_dkist(item);
    let mut builder = TransformBuilder::new(limits, is_filled, has_old_stokes);
    let mut transforms = build_pipeline(&mut builder, &nodes, &frames, FrameUnits::Ignored);
    if builder.has_quantities() {
        builder = TransformBuilder::new(limits, is_filled, has_old_stokes);
        transforms = build_pipeline(&mut builder, &nodes, &frames, FrameUnits::Applied);
    }
    let transforms = transforms?;
    let bounds = match nodes.first() {
        Some(Some(first)) => bounding_box(first, frames.first())?,
        _ => None,
    };
    let shape = match get(item, "pixel_shape")? {
        Some(shape) => Some(integers(&shape)?.into_iter().map(|length| length as u64).collect()),
        None => None,
    };
    let name = get(item, "name")?.map(|name| read_text(&name).map(|name| name.into_owned())).transpose()?.unwrap_or_default();
    let steps = frames.into_iter().zip(transforms).map(|(frame, transform)| PipelineStep { frame, transform }).collect();
    Wcs::new(name, steps, bounds, shape, &limits).map_err(from_wcs)
}

/// Returns `true` for the coordinates of a dataset of DKIST before version 1.2.
fn is_old_dkist(item: &Item<'_>) -> bool {
    let tag = item.parent().and_then(|(dataset, _)| item_tag(&dataset)).unwrap_or_default();
    let is_dataset = name_of(&tag) == "dataset" && tag.contains("dkist");
    is_dataset && version_of(&tag) < (1, 2)
}

/// Returns `true` for the versions of the standard in whose files asdf fills in the defaults of schemas.
fn is_before_1_6(standard: &str) -> bool {
    let mut numbers = standard.split('.').map(|number| number.parse::<u32>().ok());
    matches!((numbers.next().flatten(), numbers.next().flatten()), (Some(1), Some(0..=5)))
}

/// Use of the units of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameUnits {
    /// Numbers without units are plain.
    Ignored,
    /// Numbers without units are in those of the frames.
    Applied,
}

fn build_pipeline(
    builder: &mut TransformBuilder,
    nodes: &[Option<Item<'_>>],
    frames: &[Frame],
    frame_units: FrameUnits,
) -> Result<Vec<Option<Transform>>> {
    let with_units = frame_units == FrameUnits::Applied;
    let units = |frame: Option<&Frame>| -> Result<OutputUnits> {
        let unit = |text: &String| if text.is_empty() { Ok(None) } else { ScaledUnit::parse(text).map(Some) };
        frame.filter(|_| with_units).map_or(Ok(Vec::new()), |frame| frame.axes.iter().map(|axis| unit(&axis.unit)).collect())
    };
    let mut flowing = units(frames.first())?;
    let mut transforms = Vec::with_capacity(nodes.len());
    let last = nodes.iter().rposition(Option::is_some);
    for (number, node) in nodes.iter().enumerate() {
        let Some(node) = node else {
            transforms.push(None);
            continue;
        };
        let (mut transform, outputs) = builder.build_transform(node, &flowing, 0)?;
        flowing = outputs;
        if with_units && Some(number) == last {
            let wanted = units(frames.get(number + 1))?;
            transform =
                Transform::chain(vec![transform, super::transforms::convert_units(&mut flowing, &wanted)?]).map_err(from_wcs)?;
        }
        transforms.push(Some(transform));
    }
    Ok(transforms)
}

/// Announces to the source of the file the bytes of the coefficients, so that a remote one fetches them together.
fn prefetch_coefficients(item: &Item<'_>) -> Result<()> {
    let source = item.backend().source();
    if source.access().cost != AccessCost::Request {
        return Ok(());
    }
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut walk = item.walk();
    while let Some(visit) = walk.try_next()? {
        if visit.item.kind() == ItemKind::Array
            && let Ok(array) = visit.item.array()
            && let Ok(stored) = stored_ranges(&**array.source(), array.byte_range())
        {
            ranges.extend(stored);
        }
        if ranges.len() > PREFETCH_ARRAYS {
            break;
        }
    }
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let is_one = next.start <= last.end.saturating_add(4096);
        if is_one {
            last.end = last.end.max(next.end);
        }
        is_one
    });
    if ranges.is_empty() { Ok(()) } else { source.prefetch(&ranges) }
}

/// The bounding box of the first transform.
fn bounding_box(node: &Item<'_>, pixels: Option<&Frame>) -> Result<Option<BoundingBox>> {
    let Some(found) = get(node, "bounding_box")? else { return Ok(None) };
    let unit = |axis: usize| -> Option<ScaledUnit> { pixels?.axes.get(axis).and_then(|axis| ScaledUnit::parse(&axis.unit).ok()) };
    if found.kind() == ItemKind::List {
        // The form before bounding boxes had a tag: pairs in the order of the array, y before x; one axis has one pair.
        let parts = read_list(&found)?;
        if parts.iter().all(|part| part.kind() == ItemKind::Scalar || super::numbers::is_quantity(part)) {
            return Ok(Some(BoundingBox::new(vec![Some(read_interval(&found, unit(0).as_ref())?)])));
        }
        let count = parts.len();
        let pairs = parts.iter().rev().enumerate().map(|(axis, part)| read_interval(part, unit(axis).as_ref()).map(Some));
        let pairs: Vec<Option<(f64, f64)>> = pairs.collect::<Result<_>>()?;
        debug_assert_eq!(pairs.len(), count);
        return Ok(Some(BoundingBox::new(pairs)));
    }
    let inputs = get(node, "inputs")?.map(|inputs| read_text_list(&inputs)).transpose()?.unwrap_or_default();
    let kind = item_tag(&found).unwrap_or_default();
    match name_of(&kind) {
        "bounding_box" => Ok(Some(BoundingBox::new(box_by_name(&found, &inputs, &unit)?))),
        "compound_bounding_box" => {
            let mut chosen = Vec::new();
            for argument in read_list(&require_item(&found, "selector_args")?)? {
                chosen.push(find_input_index(&require_item(&argument, "argument")?, &inputs)?);
            }
            let mut cases = Vec::new();
            for case in read_list(&require_item(&found, "cbbox")?)? {
                let key = read_numbers(&require_item(&case, "key")?, 64)?.values;
                cases.push((key, box_by_name(&require_item(&case, "bbox")?, &inputs, &unit)?));
            }
            Ok(Some(BoundingBox::compound(chosen, cases)))
        }
        _ => Err(Error::unsupported(format!("bounding box {kind:?} is not supported"))),
    }
}

/// The number of an input, by its name or its number.
fn find_input_index(item: &Item<'_>, inputs: &[String]) -> Result<usize> {
    let name = read_text(item)?;
    let place = inputs.iter().position(|input| *input == name).or_else(|| name.parse().ok().filter(|at| *at < inputs.len()));
    place.ok_or_else(|| Error::malformed(format!("a bounding box of input {name:?} (there are {})", inputs.join(", "))))
}

fn box_by_name(
    item: &Item<'_>,
    inputs: &[String],
    unit: &dyn Fn(usize) -> Option<ScaledUnit>,
) -> Result<Vec<Option<(f64, f64)>>> {
    let mut found = vec![None; inputs.len()];
    let intervals = require_item(item, "intervals")?;
    for (at, (name, _)) in intervals.children()?.iter().enumerate() {
        let name = name.as_deref().unwrap_or_default();
        let Some(place) = inputs.iter().position(|input| input == name) else {
            return Err(Error::malformed(format!("a bounding box of input {name:?} (there are {})", inputs.join(", "))));
        };
        if let Some(pair) = intervals.child(at)?
            && let Some(slot) = found.get_mut(place)
        {
            *slot = Some(read_interval(&pair.resolve()?, unit(place).as_ref())?);
        }
    }
    Ok(found)
}
