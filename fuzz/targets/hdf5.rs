//! A file with the signature of HDF5: deriving its layout ends with a result, the text of it is a layout, and reading what it
//! says ends with a result as well.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trilith::layout::Layout;
use trilith::OpenOptions;
use trilith_layout::foreign;
use trilith_fuzz::{limits, memory};

const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

fuzz_target!(|bytes: &[u8]| {
    let mut file = SIGNATURE.to_vec();
    file.extend_from_slice(bytes.strip_prefix(SIGNATURE).unwrap_or(bytes));
    if let Ok(Some(derived)) = foreign::derive(&memory(file.clone()), &limits()) {
        Layout::read(derived.text.as_bytes()).expect("what is derived is a layout");
    }
    if let Ok(file) = OpenOptions::new().limits(limits()).open_bytes(file) {
        let _ = file.digest();
    }
});
