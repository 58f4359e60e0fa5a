//! Arrays of quality flags: their bits, and a picture of them over another one.

use serde_json::{Value, json};
use trilith::{Array, Error, Result};

use super::arrays::array_of;
use super::{Request, Session};
use crate::image::Flags;
use crate::{Picture, Region, flag_names};

/// The transparent colour of an overlay, for pixels without any bit set.
const NOTHING: [u8; 4] = [0; 4];

/// `bits`: the bits that are set in any element, each with its name if it is known, how many elements have it, and its
/// colour.
pub(super) fn bits(session: &Session, request: &Request) -> Result<Value> {
    let (opened, array) = array_of(session, request)?;
    let names = flag_names::names(&opened.file, request.text("path"));
    let counts = Flags::counts(&array)?;
    let line = |(bit, count): (u8, u64)| {
        let [r, g, b] = Flags::colour(bit);
        let name = names.and_then(|names| names.of(bit));
        json!({"bit": bit, "name": name, "count": count, "colour": format!("#{r:02x}{g:02x}{b:02x}")})
    };
    let found: Vec<Value> = (0u8..).zip(counts).filter(|(_, count)| *count > 0).map(line).collect();
    Ok(json!({"bits": found, "names": names.map(|names| names.whose)}))
}

/// A part of an array of flags or labels, transparent if there are none.
pub(super) fn picture(array: &Array, region: Region, size: (usize, usize), kind: &str, request: &Request) -> Result<Picture> {
    match kind {
        "flags" => {
            let bits = request.number("bits")?.unwrap_or(u64::MAX);
            Ok(Flags::of(array, Some(region), size, bits)?.paint(NOTHING))
        }
        "labels" => Ok(Flags::labels(array, Some(region), size)?.paint_labels(NOTHING)),
        _ => Err(Error::invalid_input(format!("{kind:?} is not a kind of picture")).hint("flags or labels")),
    }
}
