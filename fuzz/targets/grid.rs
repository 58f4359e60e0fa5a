//! A grid of chunks: a layout up to a NUL, then the bytes that it describes. Reading ends with a result, and what is read in
//! pieces is what is read at once.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trilith::layout::{Byteorder, Layout};
use trilith::OpenOptions;
use trilith_fuzz::limits;

fuzz_target!(|input: &[u8]| {
    let at = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
    let (text, data) = input.split_at(at);
    let Ok(layout) = Layout::read(text) else { return };
    let options = OpenOptions::new().limits(limits()).layout(layout).byteorder(Byteorder::Little);
    let Ok(file) = options.open_bytes(data.get(1..).unwrap_or(&[]).to_vec()) else { return };
    let Ok(arrays) = file.arrays() else { return };
    for array in arrays.into_iter().take(20).filter_map(|entry| entry.item.and_then(|item| item.array()).ok()) {
        if array.nbytes() > 1 << 20 {
            continue;
        }
        let Ok(whole) = array.read_bytes(Byteorder::Little) else { continue };
        let mut pieces = Vec::new();
        array
            .for_each_piece(7, |piece| {
                pieces.extend_from_slice(piece);
                Ok(())
            })
            .expect("what is read at once is read in pieces");
        assert_eq!(whole, pieces);
    }
});
