//! A struct written to a file and read back by serde: `cargo run --example serde_tree out.asdf`.

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Pointing(String, f64, f64);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let pointing = Pointing("M31".into(), 10.685, 41.269);
    let mut writer = trilith::AsdfWriter::new();
    writer.set("/meta/pointing", &pointing)?;
    writer.write(&path)?;
    assert_eq!(trilith::open(&path)?.item("/meta/pointing")?.deserialize::<Pointing>()?, pointing);
    Ok(())
}
