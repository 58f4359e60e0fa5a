//! Parts of a GWCS that are added to one: tags of the same versions.

use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, Value, ValueData};

/// The beginning of the tags of units and quantities.
const UNIT_TAGS: &str = "tag:stsci.edu:asdf/unit/";

/// Removes the names of anchors, which a copy must not have.
pub(super) fn without_anchors(mut value: Value) -> Value {
    value.anchor = None;
    match &mut value.data {
        ValueData::Seq(items) => items.iter_mut().for_each(|item| *item = without_anchors(std::mem::take(item))),
        ValueData::Map(pairs) => pairs.iter_mut().for_each(|(_, item)| *item = without_anchors(std::mem::take(item))),
        _ => {}
    }
    value
}

/// The tags of a GWCS, so that what is added has the same versions.
#[derive(Debug)]
pub(super) struct GwcsTags {
    known: Vec<String>,
    /// The tag of a quantity, if a transform has one.
    quantity: Option<String>,
}

impl GwcsTags {
    pub(super) fn from_wcs(wcs: Node<'_>, limits: &Limits) -> Result<Self> {
        let mut in_transforms = Vec::new();
        for transform in wcs.get("steps").into_iter().flat_map(Node::items).filter_map(|step| step.get("transform")) {
            in_transforms.extend(all_tags(transform, limits)?);
        }
        let quantity = in_transforms.into_iter().find(|tag| tag.starts_with(&format!("{UNIT_TAGS}quantity-")));
        Ok(Self { known: all_tags(wcs, limits)?, quantity })
    }

    fn find_by_prefix<'t>(&'t self, start: &str) -> Option<&'t str> {
        self.known.iter().map(String::as_str).find(|tag| tag.starts_with(start))
    }

    /// The tag of a transform: of the version that goes with that of the bounding box (1.2.0 with 1.0.0, and so on), else of
    /// the version that the file has, else of one that all readers know.
    pub(super) fn transform_tag(&self, name: &str) -> String {
        let start = format!("tag:stsci.edu:asdf/transform/{name}-");
        let boxed = self.find_by_prefix("tag:stsci.edu:asdf/transform/property/bounding_box-1.");
        let minor = boxed.and_then(|tag| tag.rsplit('.').nth(1)?.parse::<u32>().ok());
        match (minor, self.find_by_prefix(&start)) {
            (Some(minor), _) => format!("{start}1.{}.0", minor + 2),
            (None, Some(tag)) => tag.to_owned(),
            (None, None) => format!("{start}1.1.0"),
        }
    }

    /// Makes a number a quantity of pixels, if any number of a transform is a quantity.
    pub(super) fn pixel_value(&self, number: Value) -> Value {
        let Some(tag) = &self.quantity else { return number };
        let unit =
            self.find_by_prefix(&format!("{UNIT_TAGS}unit-")).map_or_else(|| format!("{UNIT_TAGS}unit-1.0.0"), str::to_owned);
        Value::map([("unit", Value::plain_scalar("pix").tagged(unit)), ("value", number)]).flow().tagged(tag.clone())
    }
}

/// Each tag below a node, once.
fn all_tags(node: Node<'_>, limits: &Limits) -> Result<Vec<String>> {
    let (mut known, mut walk) = (Vec::<String>::new(), node.walk(limits));
    while let Some(visit) = walk.try_next()? {
        known.extend(visit.node.tag().filter(|tag| !known.iter().any(|other| other == tag)).map(str::to_owned));
    }
    Ok(known)
}
