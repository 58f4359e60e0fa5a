//! FITS files that hold an ASDF file, and FITS files seen as a tree.

use std::sync::Arc;

use trilith::array::Array;
use trilith::bytes::{MemorySource, NoReferences};
use trilith::check::Digest;
use trilith::file::{open_asdf, open_asdf_bytes, open_asdf_source};
use trilith::fits::{FitsFile, HduData, write, write_asdf};
use trilith::{ErrorKind, Limits};

fn slice(bytes: impl Into<Vec<u8>>) -> Arc<MemorySource> {
    Arc::new(MemorySource::new(bytes.into(), "test"))
}

/// A primary HDU without data, and an image SCI of unsigned numbers.
#[allow(clippy::unwrap_used, reason = "a test may stop here")]
fn sample() -> Vec<u8> {
    let image = Array::from_slice(&[60_000u16, 1], &[2]).unwrap();
    let mut out = Vec::new();
    write(&mut out, &[HduData::primary(None).unwrap(), HduData::extension("SCI", &image).unwrap()]).unwrap();
    out
}

const TREE: &str = "#ASDF 1.0.0
#ASDF_STANDARD 1.5.0
%YAML 1.1
%TAG ! tag:stsci.edu:asdf/
--- !core/asdf-1.1.0
a: !core/ndarray-1.0.0 {source: 'fits:SCI,1', datatype: uint16, byteorder: big, shape: [2]}
b: !core/ndarray-1.0.0 {source: 'fits:SCI', datatype: uint16, byteorder: big, shape: [2]}
c: !core/ndarray-1.0.0 {source: 'fits:1', datatype: uint16, byteorder: big, shape: [2]}
d: !core/ndarray-1.0.0 {source: 'fits:DQ,1', datatype: uint16, byteorder: big, shape: [2]}
...
";

#[test]
fn sources_resolve_to_surrounding_hdus() {
    let plain = FitsFile::open(slice(sample()), &Limits::default()).unwrap();
    let mut out = Vec::new();
    write_asdf(&mut out, &plain, Some(slice(TREE))).unwrap();
    let size = out.len() as u64;
    let file = open_asdf_bytes(out).unwrap();
    for path in ["/a", "/b", "/c"] {
        assert_eq!(file.array_at(path).unwrap().load::<u16>().unwrap(), [60_000, 1], "{path}");
    }
    let missing = file.array_at("/d").unwrap_err();
    assert!(missing.kind() == ErrorKind::Malformed && missing.to_string().contains("DQ,1"), "{missing}");
    let container = file.container().unwrap();
    assert_eq!((container.hdu, container.offset, container.size), (2, 3 * 2880 + 2880, size));
}

#[test]
fn file_without_tree_gets_derived_tree() {
    let file = open_asdf_bytes(sample()).unwrap();
    assert_eq!(file.array_at("/fits/1/data").unwrap().load::<u16>().unwrap(), [60_000, 1]);
    let extname = file.tree().node_at_pointer("/fits/1/header/8").unwrap();
    assert_eq!(extname.index(1).unwrap().as_str().as_deref(), Some("SCI"));
    assert_eq!(file.container().unwrap().hdu, 0);
}

#[test]
fn hdus_are_children_by_their_names() {
    let file = trilith::OpenOptions::new().open_bytes(sample()).unwrap();
    let list = file.item("/fits").unwrap();
    for name in ["SCI", "sci,1", "1"] {
        let hdu = list.get(name).unwrap().unwrap();
        assert_eq!(hdu.get("data").unwrap().unwrap().array().unwrap().load::<u16>().unwrap(), [60_000, 1], "{name}");
    }
    assert!(list.get("SCI,2").unwrap().is_none());
    assert!(file.root().get("SCI").unwrap().is_none());
}

#[test]
fn gzip_files_are_unpacked() {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&sample()).unwrap();
    let packed = encoder.finish().unwrap();
    let file = open_asdf_bytes(packed.clone()).unwrap();
    assert_eq!(file.array_at("/fits/1/data").unwrap().load::<u16>().unwrap(), [60_000, 1]);
    let mut limits = Limits::default();
    limits.spool = 1000;
    let refused = open_asdf_source(slice(packed), Arc::new(NoReferences), &limits).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Limit);
}

#[test]
fn invalid_asdf_hdu_err_names_hdu() {
    let mut out = Vec::new();
    write(&mut out, &[HduData::primary(None).unwrap(), HduData::asdf(slice("no such file")).unwrap()]).unwrap();
    let error = open_asdf_bytes(out).unwrap_err();
    assert!(error.to_string().contains("HDU 1"), "{error}");
}

#[test]
fn samples_of_2015_and_2016_match_expected_digests() {
    let Some(corpus) = trilith_sample::corpus() else { return };
    for name in ["asdf-1.2.1-std-1.0.0/asdf_in_fits", "asdf100-a-2015-09-18/fits_embed"] {
        let path = corpus.join(name);
        if !path.with_extension("fits").is_file() {
            eprintln!("skipped: {name} is not there");
            continue;
        }
        let text = std::fs::read_to_string(path.with_extension("expect.json")).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
        let file = open_asdf(path.with_extension("fits")).unwrap();
        for (path, array) in expected["arrays"].as_object().unwrap() {
            let found = file.array_at(path).unwrap();
            let digest: String = Digest::compute(&found).unwrap().sha256.iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(array["sha256_le"], digest, "{name} {path}");
            assert_eq!(array["dtype"], found.datatype().to_string());
        }
        assert_eq!(file.container().unwrap().offset, 20160);
    }
}

/// Cards of a header, with its filling.
fn header(cards: &[&str]) -> Vec<u8> {
    let mut bytes: Vec<u8> = cards.iter().chain(&["END"]).flat_map(|card| format!("{card:80}").into_bytes()).collect();
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    bytes
}

fn filled(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(2880), 0);
    bytes
}

const SKY: [&str; 8] = [
    "CTYPE1  = 'RA---TAN'",
    "CTYPE2  = 'DEC--TAN'",
    "CRPIX1  = 2",
    "CRPIX2  = 2",
    "CRVAL1  = 10.0",
    "CRVAL2  = 20.0",
    "CDELT1  = -0.001",
    "CDELT2  = 0.001",
];

/// First tier: the kinds of images, and their FITS cutouts.
#[test]
fn cutout_values_match_image_in_every_storage() {
    let stored: Vec<i16> = (0..12).collect();
    let numbers: Vec<u8> = stored.iter().flat_map(|n| n.to_be_bytes()).collect();
    let image = ["BITPIX  = 16", "NAXIS   = 2", "NAXIS1  = 4", "NAXIS2  = 3"];
    // Tiles without compression: a row of the table for each of the image, with number and place of its bytes.
    let mut table: Vec<u8> = (0..3u32).flat_map(|row| [8u32.to_be_bytes(), (row * 8).to_be_bytes()].concat()).collect();
    table.extend_from_slice(&numbers);
    let tiles = [
        "XTENSION= 'BINTABLE'",
        "BITPIX  = 8",
        "NAXIS   = 2",
        "NAXIS1  = 8",
        "NAXIS2  = 3",
        "PCOUNT  = 24",
        "GCOUNT  = 1",
        "TFIELDS = 1",
        "TTYPE1  = 'COMPRESSED_DATA'",
        "TFORM1  = '1PB(8)'",
        "ZIMAGE  = T",
        "ZCMPTYPE= 'NOCOMPRESS'",
        "ZBITPIX = 16",
        "ZNAXIS  = 2",
        "ZNAXIS1 = 4",
        "ZNAXIS2 = 3",
        "ZENITH  = 3",
    ];
    let scales: [(&[&str], f64, f64, Option<i16>); 5] = [
        (&[], 1.0, 0.0, None),
        (&["BSCALE  = 0.5", "BZERO   = 10"], 0.5, 10.0, None),
        (&["BZERO   = 32768"], 1.0, 32768.0, None),
        (&["BLANK   = 1"], 1.0, 0.0, Some(1)),
        (&["BSCALE  = 0.5", "BZERO   = 10", "BLANK   = 5"], 0.5, 10.0, Some(5)),
    ];
    for (cards, scale, zero, blank) in scales {
        let unscaled: f64 = if cards.len() < 2 && blank.is_none() { 0.0 } else { f64::NAN };
        for kind in ["primary", "extension", "tiles"] {
            let all = |first: &[&str]| [header(&[first, &SKY, cards].concat())].concat();
            let none = header(&["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0"]);
            let file = match kind {
                "primary" => [all(&[&["SIMPLE  = T"][..], &image].concat()), filled(numbers.clone())].concat(),
                "extension" => {
                    let begin = [&["XTENSION= 'IMAGE'"][..], &image, &["PCOUNT  = 0", "GCOUNT  = 1"]].concat();
                    [none, all(&begin), filled(numbers.clone())].concat()
                }
                _ => [none, all(&tiles), filled(table.clone())].concat(),
            };
            let label = format!("{kind} {cards:?}");
            let file = trilith::OpenOptions::new().open_bytes(file).unwrap();
            let found = file.wcs("").unwrap().expect(&label);
            assert_eq!(found.wcs.pixel_shape(), Some(&[4, 3][..]), "{label}");
            let hdu = if kind == "primary" { 0 } else { 1 };
            // Pixels 0 to 2 of x and y, and a row and a column before them.
            for (pixel, first) in [(1.0, 0i64), (0.0, -1)] {
                let at = found.wcs.forward().evaluate_point(&[pixel, pixel]).unwrap();
                let cutout = file.cutout("", [at[0], at[1]], "3px".parse().unwrap(), Default::default()).unwrap().expect(&label);
                assert_eq!(cutout.pixels().start, [first, first], "{label}");
                for form in [trilith::file::FileFormat::Fits, trilith::file::FileFormat::Asdf] {
                    let mut out = std::io::Cursor::new(Vec::new());
                    cutout.write(form, &Default::default(), &mut out).unwrap();
                    let made = trilith::OpenOptions::new().open_bytes(out.into_inner()).unwrap();
                    let values = made.array(&format!("/fits/{hdu}/data")).unwrap().load_as::<f64>().unwrap();
                    let value = |x: i64, y: i64| match usize::try_from(y * 4 + x) {
                        _ if x < 0 || y < 0 => unscaled,
                        Ok(place) if blank == Some(stored[place]) => f64::NAN,
                        Ok(place) => f64::from(stored[place]) * scale + zero,
                        Err(_) => f64::NAN,
                    };
                    let wanted: Vec<f64> = (first..first + 3)
                        .flat_map(|y| (first..first + 3).map(move |x| (x, y)))
                        .map(|(x, y)| value(x, y))
                        .collect();
                    let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
                    assert!(
                        values.len() == 9 && values.iter().zip(&wanted).all(same),
                        "{label} {form:?}: {values:?}, not {wanted:?}"
                    );
                }
            }
        }
    }
}
