//! The names by which a codec is asked for, and what people type instead.

use super::{BloscCodec, CODECS, CodecId, opt_codec};
use crate::error::{Error, Result};
use crate::suggest::nearest;

/// Name that asks for no compression.
const NONE: &str = "none";
/// `blsc` with Zstandard inside instead of LZ4.
const BLSC_ZSTD: &str = "blsc-zstd";

/// Aliases, each with the name that it means.
const ALIASES: &[(&str, &str)] = &[
    ("blosc", "blsc"),
    ("bz2", "bzp2"),
    ("bzip2", "bzp2"),
    ("plain", NONE),
    ("raw", NONE),
    ("uncompressed", NONE),
    ("zst", "zstd"),
    ("zstandard", "zstd"),
];

/// Compression that no block can have, with what is like it.
const SUGGESTED_CODECS: &[(&str, &str)] =
    &[("deflate", "zlib"), ("gz", "zlib"), ("gzip", "zlib"), ("lzma", "bzp2"), ("xz", "bzp2")];

/// The names that [`parse_name`] accepts, without aliases.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    [NONE].into_iter().chain(CODECS.iter().map(|codec| codec.name)).chain([BLSC_ZSTD])
}

/// The codec of a name, and what compresses inside of a Blosc buffer: `none`, the name of a codec, or `blsc-zstd`.
/// Upper case and other names of the same compression (`bzip2`, `zstandard`) mean the same.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with the names that there are.
///
/// ```
/// use trilith_codec::codec::{CodecId, parse_name};
/// assert_eq!(parse_name("bzip2")?.0, CodecId(*b"bzp2"));
/// assert!(parse_name("none")?.0.is_none());
/// let error = parse_name("gzip").unwrap_err().to_string();
/// assert!(error.contains("did you mean \"zlib\"?"), "{error}");
/// # Ok::<(), trilith_codec::Error>(())
/// ```
pub fn parse_name(name: &str) -> Result<(CodecId, BloscCodec)> {
    let lower = name.to_ascii_lowercase();
    let lower = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, meant)| meant);
    match lower {
        NONE => return Ok((CodecId::NONE, BloscCodec::default())),
        BLSC_ZSTD => return Ok((CodecId(*b"blsc"), BloscCodec::Zstd)),
        _ => {}
    }
    match CodecId::from_name(lower).and_then(opt_codec) {
        Some(codec) => Ok((codec.id, BloscCodec::default())),
        None => Err(unknown(name, &[])),
    }
}

/// Returns the error for an unknown codec. `also` are more names that the caller accepts.
pub fn unknown(name: &str, also: &[&'static str]) -> Error {
    let known: Vec<&str> = known_names().chain(also.iter().copied()).collect();
    let lower = name.to_ascii_lowercase();
    let alias = || {
        let near = nearest(&lower, known_names().chain(ALIASES.iter().map(|(alias, _)| *alias)))?;
        ALIASES.iter().find(|(alias, _)| *alias == near)
    };
    match SUGGESTED_CODECS.iter().find(|(typed, _)| *typed == lower).or_else(alias) {
        Some((_, instead)) => Error::invalid_input(format!("unknown codec {name:?}"))
            .hint(format!("did you mean {instead:?}? known: {}", known.join(", "))),
        None => Error::unknown("codec", name, known),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_names_suggest_codec() {
        for (typed, meant) in [("zstandrd", "zstd"), ("bzip", "bzp2"), ("zlb", "zlib"), ("LZ5", "lz4")] {
            let error = unknown(typed, &[]).to_string();
            assert!(error.contains(&format!("did you mean {meant:?}?")), "{error}");
        }
    }

    #[test]
    fn every_name_and_alias_resolves_to_codec() {
        assert!(CODECS.iter().all(|codec| codec.id.to_string() == codec.name));
        assert!(known_names().all(|name| parse_name(name).is_ok() && parse_name(&name.to_uppercase()).is_ok()));
        for (alias, meant) in ALIASES {
            assert_eq!(parse_name(alias).ok(), parse_name(meant).ok(), "{alias}");
        }
        for (typed, instead) in SUGGESTED_CODECS {
            assert!(parse_name(instead).is_ok());
            assert!(parse_name(typed).is_err_and(|error| error.to_string().contains(instead)));
        }
        assert_eq!(
            parse_name("evil").unwrap_err().to_string(),
            "unknown codec \"evil\"; known: none, zlib, bzp2, lz4, lz4f, zstd, blsc, blsc-zstd"
        );
    }
}
