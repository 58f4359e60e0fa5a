//! The cards of a FITS header as attributes of its HDU.

use super::card::{Card, CardValue};
use super::header::Header;
use crate::array::Datatype;
use crate::array::attribute::{AttributeNumber, AttributeRole, AttributeValue, ItemAttribute, NumberValue};

/// Keywords about the place and the form of data (FITS 4.0, sections 4.4.1, 7 and 10).
const STRUCTURE_KEYWORDS: &[&str] = &[
    "SIMPLE", "XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "TFIELDS", "EXTEND", "GROUPS", "THEAP", "END", "ZIMAGE",
    "ZTABLE", "ZCMPTYPE", "ZBITPIX", "ZNAXIS", "ZQUANTIZ", "ZDITHER0", "ZMASKCMP", "ZSIMPLE", "ZEXTEND", "ZBLOCKED", "ZTENSION",
    "ZPCOUNT", "ZGCOUNT", "ZTHEAP", "ZTILELEN",
];
/// Keywords with a number that are about the place and the form of data.
const NUMBERED_STRUCTURE: &[&str] =
    &["NAXIS", "TFORM", "TBCOL", "TDIM", "TTYPE", "ZNAXIS", "ZTILE", "ZNAME", "ZVAL", "ZFORM", "ZCTYP"];
/// Keywords that physical elements already follow.
const APPLIED_KEYWORDS: &[&str] = &["BSCALE", "BZERO", "BLANK", "ZSCALE", "ZZERO", "ZBLANK"];
const NUMBERED_APPLIED: &[&str] = &["TSCAL", "TZERO", "TNULL", "PSCAL", "PZERO"];

/// Returns the cards of a header with wanted keywords as attributes, in their order. A unit in brackets at the start of a comment is the unit of the value
/// (FITS 4.0, section 4.3.2).
pub fn header_attributes(header: &Header, is_wanted: &dyn Fn(&str) -> bool) -> Vec<ItemAttribute> {
    header.cards().iter().filter(|card| is_wanted(card.keyword())).map(card_attribute).collect()
}

fn card_attribute(card: &Card) -> ItemAttribute {
    let number = |value, datatype| AttributeValue::Number(AttributeNumber::new(value, datatype));
    let value = match card.value() {
        CardValue::Undefined => AttributeValue::Empty,
        CardValue::Logical(value) => AttributeValue::Bool(*value),
        CardValue::Integer(whole) => {
            let datatype = if i64::try_from(*whole).is_ok() { Datatype::Int64 } else { Datatype::Uint64 };
            number(NumberValue::Int(*whole), datatype)
        }
        CardValue::Float(value) => number(NumberValue::Float(*value), Datatype::Float64),
        CardValue::Complex(re, im) => number(NumberValue::Complex(*re, *im), Datatype::Complex128),
        CardValue::Text(text) => AttributeValue::Text(text.clone()),
    };
    let mut attribute =
        ItemAttribute::new(card.keyword(), value).with_comment(card.comment()).with_role(keyword_role(card.keyword()));
    attribute.unit = unit_in_comment(card.comment()).map(str::to_owned);
    attribute.record = Some(card.bytes().iter().map(|byte| char::from(*byte)).collect());
    attribute
}

/// The unit that a comment begins with: `[s] exposure time`.
fn unit_in_comment(comment: &str) -> Option<&str> {
    let (unit, _) = comment.trim_start().strip_prefix('[')?.split_once(']')?;
    Some(unit.trim()).filter(|unit| !unit.is_empty())
}

/// Returns the part that a keyword has in its header.
fn keyword_role(keyword: &str) -> AttributeRole {
    let stem = keyword.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_numbered = |list: &[&str]| stem.len() < keyword.len() && list.contains(&stem);
    if STRUCTURE_KEYWORDS.contains(&keyword) || is_numbered(NUMBERED_STRUCTURE) {
        AttributeRole::Structure
    } else if APPLIED_KEYWORDS.contains(&keyword) || is_numbered(NUMBERED_APPLIED) {
        AttributeRole::Applied
    } else {
        AttributeRole::Own
    }
}
