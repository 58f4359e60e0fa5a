//! core/integer: integers beyond 64 bits, whose words are in the tree.

use super::generation::Target;
use crate::tree::{Node, Value};
use crate::yaml::Scalar;

/// The tags of integers beyond 64 bits, and of the array of their 32-bit words.
const INTEGER_TAG: &str = "tag:stsci.edu:asdf/core/integer-1.1.0";
const WORDS_ARRAY_TAG: &str = "tag:stsci.edu:asdf/core/ndarray-1.1.0";

/// Returns an integer of up to 128 bits as a core/integer; None if it has more, or if the target has no core/integer.
pub(crate) fn encode(digits: &str, target: &Target) -> Option<Value> {
    let number: i128 = digits.parse().ok()?;
    target.standard.filter(|standard| *standard >= "1.3.0")?;
    let [tag, array] = [INTEGER_TAG, WORDS_ARRAY_TAG].map(|tag| target.tag_for(tag).unwrap_or_else(|| tag.to_owned()));
    let size = number.unsigned_abs();
    let words = (0..4).map(|at| u64::from((size >> (32 * at)) as u32));
    let count = (128 - size.leading_zeros()).div_ceil(32).max(1) as usize;
    let data = Value::seq(words.take(count)).flow();
    let words = Value::map([("data", data), ("datatype", Value::from("uint32"))]).flow().tagged(array);
    let sign = Value::from(if number < 0 { "-" } else { "+" });
    Some(Value::map([("sign", sign), ("words", words)]).flow().tagged(tag))
}

/// Returns the digits of a core/integer of up to 128 bits whose words are in the tree.
pub(crate) fn decode(node: Node<'_>) -> Option<String> {
    if !node.tag()?.rsplit('/').next()?.starts_with("integer-") {
        return None;
    }
    let mut value = 0u128;
    for (word, shift) in node.get("words")?.get("data")?.items().zip((0..).step_by(32)) {
        let Scalar::Int(word) = word.scalar() else { return None };
        value |= u128::from(u32::try_from(word).ok()?).checked_shl(shift)?;
    }
    match &*node.get("sign")?.text() {
        "+" => Some(value.to_string()),
        "-" => Some(format!("-{value}")),
        _ => None,
    }
}
