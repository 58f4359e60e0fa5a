//! The header that users include says what the library exports.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may stop where something is not as expected"
)]

use std::path::Path;

#[test]
fn generated_text_matches_include_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let made = cbindgen::Builder::new().with_crate(folder).with_config(config).generate().unwrap();
    let mut text = Vec::new();
    made.write(&mut text);
    let text = String::from_utf8(text).unwrap();
    let path = folder.join("include/trilith.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == text, "include/trilith.h is not what the source says: run the tests with BLESS=1 and read the difference");
}
