//! A GWCS in a tree: steps of frames and transforms, and the bounding box.

use std::ops::Range;

use trilith_wcs::{BoundingBox, Frame, Step, Transform, Wcs};

use super::frames::frame;
use super::from_wcs;
use super::numbers::{interval, numbers, wholes};
use super::transforms::{Builder, Units};
use super::units::Unit;
use super::{get, list, name_of, require, tag, text, texts};
use crate::bytes::{Cost, stored_ranges};
use crate::error::{Error, Result};
use crate::file::{Item, ItemKind};
use crate::limits::Limits;

/// Steps that a GWCS may have.
const STEPS: usize = 100;
/// Arrays of coefficients that are fetched together; one by one what is beyond.
const TOGETHER: usize = 10_000;

/// Returns `true` if an item is a GWCS.
pub(super) fn is_wcs(item: &Item<'_>) -> bool {
    item.kind() == ItemKind::Mapping && tag(item).is_some_and(|tag| tag.contains("gwcs/wcs-") || tag.ends_with("gwcs/wcs"))
}

/// The limits of the mathematics, by those of the file.
pub(super) fn limits(limits: &Limits) -> trilith_wcs::Limits {
    let mut found = trilith_wcs::Limits::default();
    let capped = |limit: u64, most: usize| usize::try_from(limit).unwrap_or(usize::MAX).min(most);
    found.nodes = capped(limits.nodes, found.nodes);
    found.depth = capped(limits.depth, found.depth);
    found.table = capped(limits.memory / 8, found.table);
    found.terms = capped(limits.memory / 8, found.terms);
    found
}

/// The coordinates that a GWCS describes.
pub(super) fn wcs(item: &Item<'_>) -> Result<Wcs> {
    fetch(item)?;
    let limits = limits(item.backend().limits());
    let steps = list(&require(item, "steps")?)?;
    if steps.len() > STEPS {
        return Err(Error::limit(format!("{} steps of coordinates (at most {STEPS})", steps.len())));
    }
    let frames: Vec<Frame> = steps.iter().map(|step| frame(&require(step, "frame")?)).collect::<Result<_>>()?;
    let nodes: Vec<Option<Item<'_>>> = steps.iter().map(|step| get(step, "transform")).collect::<Result<_>>()?;

    // Numbers without units are in those of the frames, if any parameter has a unit; else units are ignored.
    let is_filled = item.as_asdf().and_then(|(file, _)| file.standard()).is_some_and(|standard| is_before_1_6(&standard));
    let mut builder = Builder::new(limits, is_filled);
    let mut transforms = pipeline(&mut builder, &nodes, &frames, false);
    if builder.has_quantities() {
        builder = Builder::new(limits, is_filled);
        transforms = pipeline(&mut builder, &nodes, &frames, true);
    }
    let transforms = transforms?;
    let bounds = match nodes.first() {
        Some(Some(first)) => bounding_box(first, frames.first())?,
        _ => None,
    };
    let shape = match get(item, "pixel_shape")? {
        Some(shape) => Some(wholes(&shape)?.into_iter().map(|length| length as u64).collect()),
        None => None,
    };
    let name = get(item, "name")?.map(|name| text(&name).map(|name| name.into_owned())).transpose()?.unwrap_or_default();
    let steps = frames.into_iter().zip(transforms).map(|(frame, transform)| Step { frame, transform }).collect();
    Wcs::new(name, steps, bounds, shape, &limits).map_err(from_wcs)
}

/// Returns `true` for the versions of the standard in whose files asdf fills in the defaults of schemas.
fn is_before_1_6(standard: &str) -> bool {
    let mut numbers = standard.split('.').map(|number| number.parse::<u32>().ok());
    matches!((numbers.next().flatten(), numbers.next().flatten()), (Some(1), Some(0..=5)))
}

fn pipeline(
    builder: &mut Builder,
    nodes: &[Option<Item<'_>>],
    frames: &[Frame],
    with_units: bool,
) -> Result<Vec<Option<Transform>>> {
    let units = |frame: Option<&Frame>| -> Result<Units> {
        let unit = |text: &String| if text.is_empty() { Ok(None) } else { Unit::parse(text).map(Some) };
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
        let (mut transform, outputs) = builder.build(node, &flowing, 0)?;
        flowing = outputs;
        if with_units && Some(number) == last {
            let wanted = units(frames.get(number + 1))?;
            transform =
                Transform::chain(vec![transform, super::transforms::converted(&mut flowing, &wanted)?]).map_err(from_wcs)?;
        }
        transforms.push(Some(transform));
    }
    Ok(transforms)
}

/// Announces to the source of the file the bytes of the coefficients, so that a remote one fetches them together.
fn fetch(item: &Item<'_>) -> Result<()> {
    let source = item.backend().source();
    if source.access().cost != Cost::Request {
        return Ok(());
    }
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut walk = item.walk();
    while let Some(visit) = walk.step()? {
        if visit.item.kind() == ItemKind::Array
            && let Ok(array) = visit.item.array()
            && let Ok(stored) = stored_ranges(&**array.source(), array.extent())
        {
            ranges.extend(stored);
        }
        if ranges.len() > TOGETHER {
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
    let unit = |axis: usize| -> Option<Unit> { pixels?.axes.get(axis).and_then(|axis| Unit::parse(&axis.unit).ok()) };
    if found.kind() == ItemKind::List {
        // The form before bounding boxes had a tag: pairs in the order of the array, y before x; one axis has one pair.
        let parts = list(&found)?;
        if parts.iter().all(|part| part.kind() == ItemKind::Scalar || super::numbers::is_quantity(part)) {
            return Ok(Some(BoundingBox::new(vec![Some(interval(&found, unit(0).as_ref())?)])));
        }
        let count = parts.len();
        let pairs = parts.iter().rev().enumerate().map(|(axis, part)| interval(part, unit(axis).as_ref()).map(Some));
        let pairs: Vec<Option<(f64, f64)>> = pairs.collect::<Result<_>>()?;
        debug_assert_eq!(pairs.len(), count);
        return Ok(Some(BoundingBox::new(pairs)));
    }
    let inputs = get(node, "inputs")?.map(|inputs| texts(&inputs)).transpose()?.unwrap_or_default();
    let kind = tag(&found).unwrap_or_default();
    match name_of(&kind) {
        "bounding_box" => Ok(Some(BoundingBox::new(named(&found, &inputs, &unit)?))),
        "compound_bounding_box" => {
            let mut chosen = Vec::new();
            for argument in list(&require(&found, "selector_args")?)? {
                chosen.push(input(&require(&argument, "argument")?, &inputs)?);
            }
            let mut cases = Vec::new();
            for case in list(&require(&found, "cbbox")?)? {
                let key = numbers(&require(&case, "key")?, 64)?.values;
                cases.push((key, named(&require(&case, "bbox")?, &inputs, &unit)?));
            }
            Ok(Some(BoundingBox::compound(chosen, cases)))
        }
        _ => Err(Error::unsupported(format!("bounding box {kind:?} is not supported"))),
    }
}

/// The number of an input, by its name or its number.
fn input(item: &Item<'_>, inputs: &[String]) -> Result<usize> {
    let name = text(item)?;
    let place = inputs.iter().position(|input| *input == name).or_else(|| name.parse().ok().filter(|at| *at < inputs.len()));
    place.ok_or_else(|| Error::malformed(format!("a bounding box of input {name:?} (there are {})", inputs.join(", "))))
}

fn named(item: &Item<'_>, inputs: &[String], unit: &dyn Fn(usize) -> Option<Unit>) -> Result<Vec<Option<(f64, f64)>>> {
    let mut found = vec![None; inputs.len()];
    let intervals = require(item, "intervals")?;
    for (at, (name, _)) in intervals.children()?.iter().enumerate() {
        let name = name.as_deref().unwrap_or_default();
        let Some(place) = inputs.iter().position(|input| input == name) else {
            return Err(Error::malformed(format!("a bounding box of input {name:?} (there are {})", inputs.join(", "))));
        };
        if let Some(pair) = intervals.child(at)?
            && let Some(slot) = found.get_mut(place)
        {
            *slot = Some(interval(&pair.follow()?, unit(place).as_ref())?);
        }
    }
    Ok(found)
}
