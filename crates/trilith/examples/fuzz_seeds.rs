//! Writes the seeds of the fuzz targets: `fuzz_seeds FOLDER` fills `FOLDER/TARGET` with small files, each of
//! something that the library can write.
//!
//! `cargo xtask fuzz` calls it, and then keeps only the seeds that reach code which no other reaches.

use std::io::Cursor;
use std::path::Path;

use trilith::asdf::{TARGETS, WriteOptions, parse_chain, print_chain};
use trilith::convert::{ConvertOptions, convert, to_fits};
use trilith::dudley::Draft;
use trilith::fits::{self, HduData};
use trilith::layout::Byteorder;
use trilith::tree::{PrintOptions, Value, print_document};
use trilith::{Array, ArrayOptions, AsdfBuilder, Limits, Result, Target, file};
use trilith_codec::codec::encoding_chain::{BlockArray, encoder};

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).ok_or_else(|| trilith::Error::invalid_input("usage: fuzz_seeds FOLDER"))?;
    let folder = Path::new(&folder);
    for target in TARGETS {
        save(folder, "open", target.name, &asdf(target, &ArrayOptions::default())?)?;
    }
    for codec in ["zlib", "bzp2", "lz4", "lz4f", "zstd", "blsc"] {
        save(folder, "open", codec, &asdf(Target::latest(), &ArrayOptions::codec(codec)?)?)?;
    }
    save(folder, "open", "inline", &asdf(Target::latest(), &ArrayOptions::inline())?)?;
    save(folder, "open", "streamed", &asdf(Target::latest(), &ArrayOptions::streamed())?)?;
    for (name, steps) in
        [("tile", "[[tile, {shape: [2, 2]}], zlib]"), ("sparse", "[sparse]"), ("quantize", "[[quantize, {}], zlib]")]
    {
        let steps = parse_chain(steps, &Limits::default())?;
        let mut options = ConvertOptions::default();
        options.encode = Some(steps);
        options.allow_loss = true;
        let old = file::open_asdf_bytes(asdf(Target::from_name("asdf-0.1")?, &ArrayOptions::default())?)?;
        let mut out = Cursor::new(Vec::new());
        // A file of one array that the chain fits.
        if convert(&old, &mut out, &options, trilith::Progress::default()).is_ok() {
            save(folder, "open", name, &out.into_inner())?;
        }
    }
    save(folder, "open", "chain", &encoded()?)?;
    for (name, tree) in trees() {
        let handles = vec![("!".to_owned(), "tag:stsci.edu:asdf/".to_owned())];
        let mut how = PrintOptions::default();
        how.handles = handles;
        let text = print_document(&tree, &how);
        save(folder, "tree", name, text.as_bytes())?;
        save(folder, "open", name, format!("#ASDF 1.0.0\n{text}").as_bytes())?;
    }
    for (name, bytes) in images()? {
        save(folder, "fits", name, &bytes)?;
        save(folder, "open", name, &bytes)?;
    }
    for order in [Byteorder::Little, Byteorder::Big] {
        let mut out = Cursor::new(Vec::new());
        draft()?.write(order, &Limits::default(), &mut out)?;
        save(folder, "bd", &format!("{order:?}"), &out.into_inner())?;
    }
    let (text, _) = draft()?.layout()?;
    for target in ["layout", "layout_resolve"] {
        save(folder, target, "draft", text.as_bytes())?;
    }
    save(folder, "limits", "all", Limits::NAMES.join("=1k,").as_bytes())
}

fn save(folder: &Path, target: &str, name: &str, bytes: &[u8]) -> Result<()> {
    let folder = folder.join(target);
    let fail = |error| trilith::Error::io(format!("writing {}", folder.display()), error);
    std::fs::create_dir_all(&folder).map_err(fail)?;
    #[allow(clippy::disallowed_methods, reason = "an example outside of the library")]
    std::fs::write(folder.join(name), bytes).map_err(fail)
}

/// Returns a file with two arrays, a mask, a string and a reference. `options` apply to the second array.
fn asdf(target: &'static Target, options: &ArrayOptions) -> Result<Vec<u8>> {
    let mut how = WriteOptions::default();
    how.align = Some(1);
    let mut builder = AsdfBuilder::new(target).with_options(how);
    let mask = builder.array(&Array::from_slice(&[true, false, true, false], &[2, 2])?, &ArrayOptions::default())?;
    let mut first = builder.array(&Array::from_slice(&[1.5f32, 2.5, 3.5, 4.5], &[2, 2])?, &ArrayOptions::default())?;
    first.set("mask", mask);
    let second = builder.array(&Array::from_slice(&[1i16, -2, 3, 1, 1, 1, 1, 1], &[4, 2])?, options)?;
    let mut out = Cursor::new(Vec::new());
    builder.write_to(
        &mut out,
        Value::map([("a", first), ("b", second), ("name", "x".into()), ("r", Value::map([("$ref", "#/a")]))]),
    )?;
    Ok(out.into_inner())
}

/// A block with an encoding chain, as ASDF 0.1.0 had them for a week.
fn encoded() -> Result<Vec<u8>> {
    let steps = parse_chain("[[tile, {shape: [2, 2]}], zlib]", &Limits::default())?;
    let array = BlockArray { shape: vec![4, 2], item_size: 2, big_endian: false };
    let mut stored = print_chain(&steps).into_bytes();
    let mut encoder = encoder(&steps, &array, &Limits::default())?;
    encoder.write(&[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0], &mut stored)?;
    encoder.finish(&mut stored)?;
    let size = stored.len() as u64;
    let mut file = b"#ASDF 0.1.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/0.1.0/\n--- !core/asdf\n\
        a: !core/ndarray {source: 0, datatype: int16, byteorder: little, shape: [4, 2]}\n...\n"
        .to_vec();
    file.extend_from_slice(b"\xd3BLK\x00\x24\x00\x00\x00\x02");
    for number in [size, size, 16] {
        file.extend_from_slice(&number.to_be_bytes());
    }
    file.extend_from_slice(&[0; 8]);
    file.extend_from_slice(&stored);
    Ok(file)
}

fn trees() -> Vec<(&'static str, Value)> {
    vec![
        ("map", Value::map([("a", Value::seq([1, 2])), ("b", Value::map([("c", "two\nlines\n")]).flow())])),
        ("tags", Value::map([("unit", Value::from("m").tagged("tag:stsci.edu:asdf/unit/unit-1.0.0"))])),
        ("scalars", Value::seq(["yes", "1.0", "null", "a: b", "#", " lead", "it's", "\u{7}", "é😀"])),
        ("floats", Value::seq([1.5, f64::NAN, f64::INFINITY, -0.0, 1e300])),
        (
            "deep",
            (0..12).fold(Value::from(1), |inner, n| if n % 2 == 0 { Value::seq([inner]) } else { Value::map([("k", inner)]) }),
        ),
    ]
}

fn images() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let image = Array::from_slice(&[1i16, 2, 3, 4, 5, 6], &[2, 3])?;
    let written = |parts: &[HduData]| -> Result<Vec<u8>> {
        let mut out = Vec::new();
        fits::write(&mut out, parts)?;
        Ok(out)
    };
    let unsigned = Array::from_slice(&[1u16, 65535], &[2])?;
    let complex = Array::from_texts(&["ab", "c"], &[2])?;
    let mut held = Vec::new();
    let file = file::open_asdf_bytes(asdf(Target::latest(), &ArrayOptions::default())?)?;
    to_fits(&file, &mut held)?;
    Ok(vec![
        ("image.fits", written(&[HduData::primary(Some(&image))?])?),
        ("table.fits", written(&[HduData::primary(None)?, HduData::extension("T", &complex)?])?),
        ("unsigned.fits", written(&[HduData::primary(None)?, HduData::extension("U", &unsigned)?])?),
        ("asdf.fits", held),
    ])
}

fn draft() -> Result<Draft> {
    let one = |x: f64| Array::from_slice(&[x, x], &[2]).map(Draft::data);
    Ok(Draft::dict([
        ("n", Draft::fixed_param(2)),
        ("time", Draft::list([one(0.5)?, one(1.5)?])),
        ("g", Draft::dict([("x", one(3.0)?)])),
    ]))
}
