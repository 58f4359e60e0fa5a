//! Options for storing one array.

use crate::array::Byteorder;
use crate::codec::{self, BloscCodec, CodecId};
use crate::error::Result;

/// Options for storing one array.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ArrayOptions {
    /// The codec of its block; [`CodecId::NONE`] stores it uncompressed, and so does None, unless it takes the place of an array
    /// whose codec it then has ([`Change::set_array`](crate::change::Change::set_array)).
    pub codec: Option<CodecId>,
    /// The level of the codec; None leaves it to the codec.
    pub level: Option<i32>,
    /// The codec inside of a Blosc buffer, if the codec is `blsc`.
    pub blosc: BloscCodec,
    /// Written into the tree instead of a block.
    pub inline: bool,
    /// Written as the streamed last block, so that rows can be appended.
    pub streamed: bool,
    /// The byteorder to write; None keeps the array's own.
    pub byteorder: Option<Byteorder>,
}

impl ArrayOptions {
    /// Stored with a codec, by a name that [`codec::parse_name`] accepts (`none`, `lz4`, `zlib`, …).
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for any other name.
    pub fn codec(name: &str) -> Result<Self> {
        let (id, blosc) = codec::parse_name(name)?;
        Ok(Self { codec: Some(id), blosc, ..Self::default() })
    }

    /// The codec that its block is compressed with, if it is.
    pub(super) fn block_codec(&self) -> Option<CodecId> {
        self.codec.filter(|codec| !codec.is_none())
    }

    /// Written into the tree.
    pub fn inline() -> Self {
        Self { inline: true, ..Self::default() }
    }

    /// Written as the streamed last block.
    pub fn streamed() -> Self {
        Self { streamed: true, ..Self::default() }
    }
}
