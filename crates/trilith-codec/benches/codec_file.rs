//! Encodes or decodes one file with a codec: `codec_file encode|decode ID IN OUT [LEN]`.
//!
//! For comparing with other programs by hand; a block of a file is decoded by `trilith get`.

use std::sync::Arc;

use trilith_codec::Limits;
use trilith_codec::codec::{CodecId, EncodeOptions, decoder, encode};
use trilith_io::bytes::MemorySource;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [what, id, from, to, more @ ..] = args.as_slice() else {
        return Err("usage: codec_file encode|decode ID IN OUT [ITEM_SIZE|LEN]".into());
    };
    let id = CodecId::from_name(id).ok_or("a codec's name has at most four letters")?;
    #[allow(clippy::disallowed_methods, reason = "a program outside of the library")]
    let bytes = std::fs::read(from)?;
    let number = more.first().map(|n| n.parse::<u64>()).transpose()?;
    let out = if what == "encode" {
        let mut options = EncodeOptions::default();
        options.item_size = usize::try_from(number.unwrap_or(1))?;
        encode(id, &bytes, &options)?
    } else {
        let source =
            decoder(id, Arc::new(MemorySource::new(bytes, from.clone())), number.ok_or("give the length")?, &Limits::default())?;
        let mut out = vec![0; usize::try_from(source.len())?];
        source.read_at(0, &mut out)?;
        out
    };
    #[allow(clippy::disallowed_methods, reason = "a program outside of the library")]
    std::fs::write(to, out)?;
    Ok(())
}
