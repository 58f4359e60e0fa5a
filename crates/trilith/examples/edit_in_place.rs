//! Changes a value and an array where they are: `cargo run --example edit_in_place image.asdf`.
#![allow(clippy::print_stdout, reason = "a program")]

use trilith::SaveOptions;
use trilith::{Array, ArrayOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = trilith::open(std::env::args().nth(1).ok_or("which file?")?)?;
    let mut change = file.edit()?;
    change.set("/exposure", 30)?;
    change.set_array("/weights", &Array::from_slice(&[0.5, 1.0], &[2])?, &ArrayOptions::default())?;
    let saved = change.save(SaveOptions::in_place())?;
    println!("{}", if saved.in_place { "only what changed was written" } else { "the file was written anew" });
    Ok(())
}
