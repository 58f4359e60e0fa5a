//! Nothing: without a build script cargo does not look at build dependencies.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
