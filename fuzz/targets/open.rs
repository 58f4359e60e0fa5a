//! A file of any bytes: opening, listing, digesting and verifying end with a result, and say the same
//! whether the bytes lie in memory as a whole or behind another source.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use trilith::asdf::AsdfFile;
use trilith::bytes::{NoReferences, SourceRef, WindowSource};
use trilith::{Result, check, file};
use trilith_fuzz::{limits, memory};

fuzz_target!(|bytes: &[u8]| {
    let limits = limits();
    let open = |source: SourceRef| file::open_asdf_source(source, Arc::new(NoReferences), &limits);
    let mut padded = vec![0xd3; 7];
    padded.extend_from_slice(bytes);
    let window = WindowSource::new(memory(padded), 7, bytes.len() as u64).expect("it lies inside");
    let (one, other) = (open(memory(bytes)), open(Arc::new(window)));
    assert_eq!(one.is_ok(), other.is_ok(), "a window opens as the bytes themselves do");
    if let (Ok(one), Ok(other)) = (one, other) {
        assert_eq!(digests(&one).ok(), digests(&other).ok());
        let _ = check::verify(&one, check::VerifyDepth::Decoded, trilith::Progress::default());
        for block in one.sections().blocks().unwrap_or_default() {
            let _ = one.encoding_names(block);
        }
    }
});

type Digests = Vec<(String, Option<[u8; 32]>)>;

fn digests(file: &AsdfFile) -> Result<Digests> {
    let entries = check::digest(file)?;
    Ok(entries.into_iter().map(|entry| (entry.path, entry.digest.ok().map(|(_, digest)| digest.sha256))).collect())
}
