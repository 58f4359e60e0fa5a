//! Substitutes for codecs that were left out of a build. The table of codecs has them all, and each use of a
//! missing one reports the feature that it needs.

macro_rules! missing_codec {
    ($codec:ident, $feature:literal) => {
        #[cfg(not(feature = $feature))]
        #[allow(dead_code, reason = "not every codec has all of these")]
        pub(super) mod $codec {
            use std::io;

            use crate::bytes::SourceRef;
            use crate::codec::stream::PullDecoder;
            use crate::codec::{EncodeOptions, Encoder};
            use crate::error::{Error, Result};
            use crate::limits::Limits;

            fn error() -> Error {
                Error::feature_disabled(concat!("the codec ", stringify!($codec)), $feature)
            }

            pub(in super::super) fn decode(_: SourceRef, _: u64, _: &Limits) -> Result<SourceRef> {
                Err(error())
            }

            pub(in super::super) fn new_encoder(_: &EncodeOptions) -> Result<Box<dyn Encoder>> {
                Err(error())
            }

            pub(in super::super) fn open_stream(_: &SourceRef, _: u64, _: &Limits) -> Result<Box<dyn PullDecoder>> {
                Err(error())
            }

            pub(in super::super) fn decompress(_: &[u8], _: &mut [u8]) -> Result<Option<usize>> {
                Err(error())
            }

            pub(in super::super) fn compress_bulk(_: i32, _: &[u8], _: &mut Vec<u8>) -> io::Result<()> {
                Err(io::Error::other(error()))
            }
        }
    };
}

missing_codec!(zlib, "zlib");
missing_codec!(bzp2, "bzip2");
missing_codec!(lz4, "lz4");
missing_codec!(lz4f, "lz4");
missing_codec!(zstd, "zstd");
missing_codec!(blsc, "blosc");

/// The error of a filter of chunks whose codec was left out.
#[allow(dead_code, reason = "which codecs are left out differs")]
pub(super) fn missing_feature_error(feature: &str) -> crate::error::Error {
    crate::error::Error::feature_disabled("the codec of this filter", feature)
}
