//! Arrays with a unit as quantities, so that readers of ASDF find the unit.

use crate::array::Datatype;
use crate::asdf::Target;
use crate::tree::Value;

/// The tag of a unit.
const UNIT_TAG: &str = "tag:stsci.edu:asdf/unit/unit-1.0.0";
/// The tags of a quantity, from the standard 1.6 on and before.
const QUANTITY_TAGS: [&str; 2] = ["tag:stsci.edu:asdf/unit/quantity-1.2.0", "tag:stsci.edu:asdf/unit/quantity-1.1.0"];

/// Returns `true` if an array of a datatype can be a quantity with this unit in a file of this generation.
pub(super) fn is_quantity(datatype: &Datatype, unit: &str, target: &Target) -> bool {
    let is_number = !matches!(
        datatype,
        Datatype::Struct(_) | Datatype::Bool8 | Datatype::Ascii(_) | Datatype::Ucs4(_) | Datatype::Ucs2(_) | Datatype::Utf8(_)
    );
    is_number && target.standard.is_some() && !unit.is_empty() && !unit.chars().any(char::is_control)
}

/// Returns an array with its unit as a quantity.
pub(super) fn quantity(array: Value, unit: &str, target: &Target) -> Value {
    let tag = if target.standard.is_some_and(|standard| standard >= "1.6") { QUANTITY_TAGS[0] } else { QUANTITY_TAGS[1] };
    Value::map([("value", array), ("unit", Value::from(unit).tagged(UNIT_TAG))]).tagged(tag)
}

/// Returns `true` if a tag is that of a quantity.
pub(super) fn is_quantity_tag(tag: &str) -> bool {
    tag.contains("/unit/quantity-")
}
