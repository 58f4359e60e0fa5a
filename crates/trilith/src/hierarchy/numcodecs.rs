//! Codecs by the names that programs of Zarr know them by.

use super::JsonValue;
use crate::bytes::CodingStep;
use crate::error::{Error, Result};

/// Returns the codec of the registry [numcodecs](https://numcodecs.readthedocs.io) that undoes a step, as its
/// configuration, or None for a step that changes nothing. Parameters that a codec needs only for writing have
/// their usual values.
///
/// ```
/// use trilith::bytes::CodingStep;
/// use trilith::hierarchy::numcodec;
/// let step = CodingStep::new("shuffle", vec![4]);
/// assert_eq!(numcodec(&step)?.unwrap().to_string(), r#"{"id": "shuffle", "elementsize": 4}"#);
/// assert!(numcodec(&CodingStep::new("scaleoffset", vec![])).is_err());
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a step that no such codec undoes, which it
/// names.
pub fn numcodec(step: &CodingStep) -> Result<Option<JsonValue>> {
    let text = |text: &str| JsonValue::Text(text.to_owned());
    let configured = |id: &str, more: &[(&str, JsonValue)]| {
        let own = [("id", text(id))];
        let pairs = own.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone()));
        Ok(Some(JsonValue::Map(pairs.collect())))
    };
    match step.name.as_str() {
        "shuffle" => match step.arguments.first() {
            Some(size) if *size > 1 => configured("shuffle", &[("elementsize", JsonValue::from_u64(*size))]),
            _ => Ok(None),
        },
        "deflate" => configured("zlib", &[("level", JsonValue::Int(1))]),
        "gzip" => configured("gzip", &[("level", JsonValue::Int(1))]),
        "bzip2" => configured("bz2", &[("level", JsonValue::Int(9))]),
        "zstd" => configured("zstd", &[("level", JsonValue::Int(0))]),
        "lz4size" => configured("lz4", &[("acceleration", JsonValue::Int(1))]),
        "blosc" => {
            let usual = [
                ("cname", text("lz4")),
                ("clevel", JsonValue::Int(5)),
                ("shuffle", JsonValue::Int(1)),
                ("blocksize", JsonValue::Int(0)),
            ];
            configured("blosc", &usual)
        }
        "fletcher32" => configured("fletcher32", &[]),
        "crc32c" => configured("crc32c", &[]),
        name => Err(Error::unsupported(format!("no codec of Zarr undoes the filter {name} of its chunks"))),
    }
}
