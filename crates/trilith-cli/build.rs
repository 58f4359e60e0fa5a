//! Links the command to run at a fixed address, where compilers of GNU systems can do that.
//!
//! A program that may run at any address writes 50,000 pointers into itself before it begins. `trilith` runs for milliseconds, and this
//! would be a quarter of its start and 2 MB of its memory. Libraries, the heap and the stack keep their random addresses.
//! `RUSTFLAGS="-C relocation-model=pie"` makes a program that may run at any address.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_set_to = |name: &str, value: &str| env::var(name).is_ok_and(|set| set == value);
    let has_model = env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("relocation-model"));
    if is_set_to("CARGO_CFG_TARGET_OS", "linux") && is_set_to("CARGO_CFG_TARGET_ENV", "gnu") && !has_model {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
