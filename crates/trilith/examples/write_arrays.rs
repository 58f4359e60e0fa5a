//! Writes two arrays, compressed, and a value: `cargo run --example write_arrays out.asdf`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let image = ndarray::Array2::from_shape_fn((256, 256), |(y, x)| (y * x) as f32);
    let flags = vec![0u8; 256 * 256];
    let mut writer = trilith::AsdfWriter::new().codec("lz4")?;
    writer.ndarray("/roman/data", &image)?;
    writer.slice("/roman/dq", &flags, &[256, 256])?;
    writer.set("/roman/meta/exposure", &139.8)?;
    writer.write(path)?;
    Ok(())
}
