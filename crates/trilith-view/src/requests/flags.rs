//! Arrays of quality flags: their bits, and a picture of them over another one.

use serde_json::{Value, json};
use trilith::{Array, Error, Result};

use super::arrays::array_of;
use super::{ViewerRequest, ViewerSession};
use crate::image::FlagRaster;
use crate::{ColorImage, PixelRegion, flag_names};

/// The transparent colour of an overlay, for pixels without any bit set.
const TRANSPARENT: [u8; 4] = [0; 4];

/// `bits`: the bits that are set in any element, each with its name if it is known, how many elements have it, and its
/// colour.
pub(super) fn answer_bits(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (opened, array) = array_of(session, request)?;
    let names = flag_names::flag_names(&opened.file, request.text_parameter("path"));
    let counts = FlagRaster::counts(&array)?;
    let line = |(bit, count): (u8, u64)| {
        let [r, g, b] = FlagRaster::colour(bit);
        let name = names.and_then(|names| names.name(bit));
        json!({"bit": bit, "name": name, "count": count, "colour": format!("#{r:02x}{g:02x}{b:02x}")})
    };
    let found: Vec<Value> = (0u8..).zip(counts).filter(|(_, count)| *count > 0).map(line).collect();
    Ok(json!({"bits": found, "names": names.map(|names| names.observatory)}))
}

/// A part of an array of flags or labels, transparent if there are none.
pub(super) fn render_flags_or_labels(
    array: &Array,
    region: PixelRegion,
    size: (usize, usize),
    kind: &str,
    request: &ViewerRequest,
) -> Result<ColorImage> {
    match kind {
        "flags" => {
            let bits = request.number_parameter("bits")?.unwrap_or(u64::MAX);
            Ok(FlagRaster::read(array, Some(region), size, bits)?.to_picture(TRANSPARENT))
        }
        "labels" => Ok(FlagRaster::read_labels(array, Some(region), size)?.paint_labels(TRANSPARENT)),
        _ => Err(Error::invalid_input(format!("{kind:?} is not a kind of picture")).hint("flags or labels")),
    }
}
