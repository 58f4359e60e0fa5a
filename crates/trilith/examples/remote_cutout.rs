//! Reads a cutout of an array on a server, by ranges: `cargo run --features remote --example remote_cutout URL /data`.
#![allow(clippy::print_stdout, reason = "a program")]

use trilith::s;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (url, item) = (words.next().ok_or("which address?")?, words.next().ok_or("which array?")?);
    // https://…, or s3://bucket/key with the credentials of the environment.
    let remote = trilith::bytes::RemoteOptions::from_env()?;
    let file = trilith::OpenOptions::new().remote(remote).open(url)?;
    let cutout = file.array(&item)?.slice(s![100..164, 100..164])?;
    println!("{:?}", cutout.to_ndarray_as::<f64>()?);
    Ok(())
}
