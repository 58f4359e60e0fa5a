//! A crate without code: see `Cargo.toml`.
