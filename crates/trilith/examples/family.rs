//! Reads one item of a thousand files as one array: `cargo run --example family catalog.bd run.dud /rho`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program")]

use trilith::{layout::Layout, s};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [catalog, layout, item] =
        <[String; 3]>::try_from(std::env::args().skip(1).collect::<Vec<_>>()).map_err(|_| "which catalog, layout and item?")?;
    let files = trilith::OpenOptions::new().file_set_layout(Layout::read(&std::fs::read(layout)?)?).open(catalog)?;
    let rho = files.array(&item)?;
    println!("{} {:?}: the first axis counts the files", rho.datatype(), rho.shape());
    // Only the files that hold the slice are opened.
    println!("{}", rho.slice(s![0..2])?.to_ndarray_as::<f64>()?);
    Ok(())
}
