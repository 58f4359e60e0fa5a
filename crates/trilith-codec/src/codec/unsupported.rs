//! Substitutes for codecs that were left out of a build. The table of codecs has them all, and each use of a
//! missing one reports the feature that it needs.

macro_rules! left_out {
    ($codec:ident, $feature:literal) => {
        #[cfg(not(feature = $feature))]
        #[allow(dead_code, reason = "not every codec has all of these")]
        pub(super) mod $codec {
            use std::io;

            use crate::bytes::SourceRef;
            use crate::codec::stream::Pull;
            use crate::codec::{Encode, EncodeOptions};
            use crate::error::{Error, Result};
            use crate::limits::Limits;

            fn error() -> Error {
                Error::left_out(concat!("the codec ", stringify!($codec)), $feature)
            }

            pub(in super::super) fn decode(_: SourceRef, _: u64, _: &Limits) -> Result<SourceRef> {
                Err(error())
            }

            pub(in super::super) fn encoder(_: &EncodeOptions) -> Result<Box<dyn Encode>> {
                Err(error())
            }

            pub(in super::super) fn open(_: &SourceRef, _: u64, _: &Limits) -> Result<Box<dyn Pull>> {
                Err(error())
            }

            pub(in super::super) fn unpack(_: &[u8], _: &mut [u8]) -> Result<Option<usize>> {
                Err(error())
            }

            pub(in super::super) fn pack(_: i32, _: &[u8], _: &mut Vec<u8>) -> io::Result<()> {
                Err(io::Error::other(error()))
            }
        }
    };
}

left_out!(zlib, "zlib");
left_out!(bzp2, "bzip2");
left_out!(lz4, "lz4");
left_out!(lz4f, "lz4");
left_out!(zstd, "zstd");
left_out!(blsc, "blosc");

/// The error of a filter of chunks whose codec was left out.
#[allow(dead_code, reason = "which codecs are left out differs")]
pub(super) fn feature(feature: &str) -> crate::error::Error {
    crate::error::Error::left_out("the codec of this filter", feature)
}
