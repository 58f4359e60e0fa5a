//! FITS files that hold an ASDF file, and FITS files seen as a tree.

mod sample;

use std::sync::Arc;

use trilith::array::Array;
use trilith::bytes::{MemorySource, NoReferences};
use trilith::digest::Digest;
use trilith::file::{open_asdf, open_asdf_bytes, open_asdf_source};
use trilith::fits::{FitsFile, Part, write, write_asdf};
use trilith::{ErrorKind, Limits};

fn slice(bytes: impl Into<Vec<u8>>) -> Arc<MemorySource> {
    Arc::new(MemorySource::new(bytes.into(), "test"))
}

/// A primary HDU without data, and an image SCI of unsigned numbers.
#[allow(clippy::unwrap_used, reason = "a test may stop here")]
fn sample() -> Vec<u8> {
    let image = Array::from_slice(&[60_000u16, 1], &[2]).unwrap();
    let mut out = Vec::new();
    write(&mut out, &[Part::primary(None).unwrap(), Part::extension("SCI", &image).unwrap()]).unwrap();
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
fn sources_lead_to_the_hdus_around_the_tree() {
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
fn a_fits_file_without_a_tree_is_seen_as_one() {
    let file = open_asdf_bytes(sample()).unwrap();
    assert_eq!(file.array_at("/fits/1/data").unwrap().load::<u16>().unwrap(), [60_000, 1]);
    let extname = file.tree().at("/fits/1/header/8").unwrap();
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
fn an_asdf_hdu_without_asdf_names_its_hdu() {
    let mut out = Vec::new();
    write(&mut out, &[Part::primary(None).unwrap(), Part::asdf(slice("no such file")).unwrap()]).unwrap();
    let error = open_asdf_bytes(out).unwrap_err();
    assert!(error.to_string().contains("HDU 1"), "{error}");
}

#[test]
fn the_samples_of_2015_and_2016_hold_what_was_written() {
    let Some(corpus) = sample::corpus() else { return };
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
            let digest: String = Digest::of(&found).unwrap().sha256.iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(array["sha256_le"], digest, "{name} {path}");
            assert_eq!(array["dtype"], found.datatype().to_string());
        }
        assert_eq!(file.container().unwrap().offset, 20160);
    }
}
