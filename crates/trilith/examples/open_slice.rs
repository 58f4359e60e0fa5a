//! Opens a file, takes a part of an array and hands it to ndarray: `cargo run --example open_slice image.asdf /data`.
#![allow(clippy::print_stdout, reason = "a program")]

use trilith::s;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (path, item) = (words.next().ok_or("which file?")?, words.next().ok_or("which array?")?);
    let array = trilith::open(path)?.array(&item)?;
    println!("{} {:?}", array.datatype(), array.shape());
    // If the array is compressed, only the chunks that hold the slice are decoded.
    println!("{}", array.slice(s![..10])?.to_ndarray_as::<f64>()?);
    Ok(())
}
