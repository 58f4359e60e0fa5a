//! Every writing command on FITS files: plain, with an ASDF file in them, packed by gzip, from standard input. Either
//! what was asked for is done and all other HDUs keep every byte, or the command refuses and changes nothing. What an
//! HDU is, a splitter of this file's own says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where something is not as expected"
)]
#![allow(clippy::disallowed_methods, reason = "a test lays out files of its own")]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trilith::Limits;
use trilith::bytes::{MemorySource, read_vec};

/// Bytes of one block of a FITS file.
const BLOCK: usize = 2880;

/// One header with its data unit, filling included.
#[derive(Debug, Clone, PartialEq)]
struct Hdu {
    header: Vec<u8>,
    data: Vec<u8>,
}

/// Cuts a FITS file into HDUs and what is behind the last.
fn split(bytes: &[u8]) -> (Vec<Hdu>, Vec<u8>) {
    let (mut hdus, mut at) = (Vec::new(), 0);
    while bytes[at..].starts_with(b"SIMPLE  =") || bytes[at..].starts_with(b"XTENSION=") {
        let cards: Vec<&[u8]> = bytes[at..].chunks(80).take_while(|card| !card.starts_with(b"END ")).collect();
        let number = |keyword: &str| -> Option<usize> {
            let card = cards.iter().find(|card| card.starts_with(format!("{keyword:8}=").as_bytes()))?;
            String::from_utf8_lossy(&card[10..]).split('/').next()?.trim().trim_start_matches('-').parse().ok()
        };
        let axes = (1..=number("NAXIS").unwrap()).map(|i| number(&format!("NAXIS{i}")).unwrap());
        let elements = if number("NAXIS") == Some(0) { 0 } else { axes.product::<usize>() + number("PCOUNT").unwrap_or(0) };
        let data = at + ((cards.len() + 1) * 80).next_multiple_of(BLOCK);
        let end = data + (elements * number("BITPIX").unwrap() / 8).next_multiple_of(BLOCK);
        hdus.push(Hdu { header: bytes[at..data].to_vec(), data: bytes[data..end].to_vec() });
        at = end;
    }
    (hdus, bytes[at..].to_vec())
}

fn unit(cards: &[&str], data: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = cards.iter().chain(&["END"]).flat_map(|card| format!("{card:80}").into_bytes()).collect();
    bytes.resize(bytes.len().next_multiple_of(BLOCK), b' ');
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

/// A FITS file of three HDUs, spelt oddly.
fn plain() -> Vec<u8> {
    let numbers: Vec<u8> = (0..400u16).flat_map(u16::to_be_bytes).collect();
    let primary = [
        "SIMPLE  = T / spelt at once",
        "BITPIX  = 16",
        "NAXIS   = 2",
        "NAXIS1  = 20",
        "NAXIS2  = 20",
        "EXTEND  = T",
        "OBJECT  = 'M31'/ a galaxy",
        "HISTORY one",
        "HISTORY two",
        "HIERARCH ESO DET = 5 / kept",
    ];
    let image = [
        "XTENSION= 'IMAGE   '",
        "BITPIX  = -32",
        "NAXIS   = 1",
        "NAXIS1  = 3",
        "PCOUNT  = 0",
        "GCOUNT  = 1",
        "EXTNAME = 'SCI     '",
    ];
    let table = [
        "XTENSION= 'BINTABLE'",
        "BITPIX  = 8",
        "NAXIS   = 2",
        "NAXIS1  = 4",
        "NAXIS2  = 3",
        "PCOUNT  = 0",
        "GCOUNT  = 1",
        "TFIELDS = 1",
        "TFORM1  = 'J'",
        "TTYPE1  = 'a'",
        "EXTNAME = 'CAT     '",
    ];
    let floats: Vec<u8> = [1.5f32, -2.0, 0.25].into_iter().flat_map(f32::to_be_bytes).collect();
    [unit(&primary, &numbers), unit(&image, &floats), unit(&table, &[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3])].concat()
}

const TREE: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
    # kept\nsci: !core/ndarray-1.1.0 {source: 'fits:SCI,1', datatype: float32, byteorder: big, shape: [3]}\n\
    own: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [4]}\n\
    last: !core/ndarray-1.1.0 {source: -1, datatype: uint8, byteorder: big, shape: [4]}\nn: 5\n...\n";

/// Returns the plain FITS file with an ASDF file in the last HDU but one, which is an image of bytes.
fn embedded() -> Vec<u8> {
    let mut asdf = TREE.as_bytes().to_vec();
    for data in [*b"abcd", *b"wxyz"] {
        asdf.extend_from_slice(b"\xd3BLK\x00\x30\x00\x00\x00\x00\x00\x00\x00\x00");
        (0..3).for_each(|_| asdf.extend_from_slice(&4u64.to_be_bytes()));
        asdf.extend_from_slice(&[0; 16]);
        asdf.extend_from_slice(&data);
    }
    let size = format!("NAXIS1  = {:20} / bytes of it", asdf.len());
    let cards = [
        "XTENSION= 'IMAGE   '",
        "BITPIX  = 8",
        "NAXIS   = 1",
        &size,
        "PCOUNT  = 0",
        "GCOUNT  = 1",
        "EXTNAME = 'ASDF    '",
        "WRITER  = 'kept'",
    ];
    let behind = ["XTENSION= 'IMAGE   '", "BITPIX  = 8", "NAXIS   = 0", "EXTNAME = 'EMPTY   '"];
    [plain(), unit(&cards, &asdf), unit(&behind, b""), vec![b' '; 240]].concat()
}

/// The HDU of the ASDF file in [`embedded`].
const ASDF: usize = 3;

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    trilith::bytes::gzip(&mut &*bytes, &mut out).unwrap();
    out
}

/// The bytes of a FITS file that may be packed.
fn unpacked(bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let source = trilith::bytes::gunzip(Arc::new(MemorySource::new(bytes, "test")), &Limits::default()).unwrap();
    read_vec(&*source, 0, source.len(), &Limits::default()).unwrap()
}

/// A folder with the file that commands are tried on.
struct Desk {
    folder: tempfile::TempDir,
    name: &'static str,
    before: Vec<u8>,
}

impl Desk {
    fn new(name: &'static str, bytes: Vec<u8>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), &bytes).unwrap();
        let rows: Vec<u8> = (0..5000u32).map(|n| n as u8).collect();
        let mut npy = Vec::new();
        trilith::Array::from_slice(&rows, &[5000]).unwrap().write_npy(&mut npy).unwrap();
        std::fs::write(folder.path().join("rows.npy"), npy).unwrap();
        std::fs::write(folder.path().join("editor"), "#!/bin/sh\nsed -i -e 's/M31/M77/' -e 's/^n: 5/n: 6/' \"$1\"\n").unwrap();
        Self { folder, name, before: bytes }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, words: &[String], input: Option<Vec<u8>>) -> common::Ended {
        let mut command = common::trilith();
        command.current_dir(self.folder.path()).env_remove("VISUAL").env("EDITOR", "sh editor").args(words);
        common::run(command, input)
    }

    fn get(&self, item: &str) -> String {
        let ended = self.run(&["get".to_owned(), item.to_owned()], None);
        String::from_utf8_lossy(&ended.stdout).trim().to_owned()
    }

    fn names(&self) -> BTreeSet<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap().flatten();
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// What becomes of a command.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// Done: `get` of this path in the file gives this text, and of all HDUs that of this number alone may differ.
    Done(&'static str, &'static str, usize),
    /// Nothing was to be changed.
    Same,
    /// Exit status 2, with these words in the reason.
    Refused(&'static str),
}

use Fate::{Done, Refused, Same};

/// Words of a command, `F` for the file and `O` for the output, and what becomes of it in a plain FITS file and in
/// one with an ASDF file.
const COMMANDS: [(&str, Fate, Fate); 31] = [
    ("set F#/fits/0/header/OBJECT M32", Done("/fits/0/header/OBJECT", "M32", 0), Done("/fits/0/header/OBJECT", "M32", 0)),
    ("set F#/fits/0/header/6/1 M32", Done("/fits/0/header/OBJECT", "M32", 0), Done("/fits/0/header/OBJECT", "M32", 0)),
    ("set F#/fits/1/header/EXPTIME 2.5", Done("/fits/1/header/EXPTIME", "2.5", 1), Done("/fits/1/header/EXPTIME", "2.5", 1)),
    ("set F#/fits/0/header/OBJECT M32 --in-place", Done("/fits/0/header/6/1", "M32", 0), Done("/fits/0/header/6/1", "M32", 0)),
    (
        "insert F#/fits/0/header/HISTORY three",
        Done("/fits/0/header/HISTORY/3", "three", 0),
        Done("/fits/0/header/HISTORY/3", "three", 0),
    ),
    ("delete F#/fits/0/header/HISTORY", Done("/fits/0/header/HISTORY/1", "two", 0), Done("/fits/0/header/HISTORY/1", "two", 0)),
    ("rename F#/fits/0/header/OBJECT TARGET", Done("/fits/0/header/TARGET", "M31", 0), Done("/fits/0/header/TARGET", "M31", 0)),
    ("rename F#/fits/2/header/TTYPE1 TCOMM1", Refused("TTYPE1"), Refused("TTYPE1")),
    ("set F#/fits/0/header/NAXIS1 10", Refused("NAXIS1"), Refused("NAXIS1")),
    ("delete F#/fits/2/header/TFORM1", Refused("TFORM1"), Refused("TFORM1")),
    ("set F#/fits/1/header/EXTNAME X", Done("/fits/1/header/EXTNAME", "X", 1), Refused("EXTNAME")),
    ("set F#/fits/0/data 5", Refused("an array is there"), Refused("an array is there")),
    ("set F#/fits/1/data --from rows.npy", Refused("no blocks"), Refused("no blocks")),
    ("insert F#/fits/0/name x", Refused("no place for the key"), Refused("no place for the key")),
    ("set F#/n 6", Refused("no place for the key"), Done("/n", "6", ASDF)),
    ("set F#/n 6 --in-place", Refused("no place for the key"), Done("/n", "6", ASDF)),
    ("insert F#/rows --from rows.npy", Refused("no blocks"), Done("/rows/shape/0", "5000", ASDF)),
    ("set F#/sci --from rows.npy", Refused("no blocks"), Done("/last", "119 120 121 122", ASDF)),
    ("delete F#/own", Refused("/own"), Done("/last", "119 120 121 122", ASDF)),
    ("rename F#/n m", Refused("/n"), Done("/m", "5", ASDF)),
    ("history add F text", Refused("no place for the key"), Done("/history/entries/0/description", "text", ASDF)),
    ("edit F", Done("/fits/0/header/OBJECT", "M77", 0), Done("/n", "6", ASDF)),
    ("update F", Same, Done("/sci", "1.5 -2.0 0.25", ASDF)),
    ("repack F O", Same, Done("/sci", "1.5 -2.0 0.25", ASDF)),
    ("repack F O --codec zlib", Refused("no blocks"), Done("/own", "97 98 99 100", ASDF)),
    ("resolve F O", Same, Done("/own", "97 98 99 100", ASDF)),
    ("implode F -o O", Same, Done("/last", "119 120 121 122", ASDF)),
    ("convert F O", Same, Done("/last", "119 120 121 122", ASDF)),
    ("convert F O --codec lz4", Refused("no blocks"), Done("/sci", "1.5 -2.0 0.25", ASDF)),
    ("repair F -o O", Refused("no HDU of this FITS file contains an ASDF file"), Done("/sci", "1.5 -2.0 0.25", ASDF)),
    ("append F#/last rows.npy", Refused("/last"), Refused("not streamed")),
];

/// Whether the output of a command is named by `O`, so that others need `-o` to write elsewhere.
fn has_output(line: &str) -> bool {
    line.split(' ').any(|word| word == "O")
}

fn words(line: &str, file: &str, output: Option<&str>) -> Vec<String> {
    let put = |word: &str| match word {
        "O" => output.unwrap_or(file).to_owned(),
        word => word
            .strip_prefix('F')
            .filter(|rest| rest.is_empty() || rest.starts_with('#'))
            .map_or(word.to_owned(), |rest| format!("{file}{rest}")),
    };
    let mut words: Vec<String> = line.split(' ').map(put).collect();
    if let Some(output) = output.filter(|_| !has_output(line) && !line.starts_with("append")) {
        words.retain(|word| word != "--in-place");
        words.extend(["-o".to_owned(), output.to_owned()]);
    }
    words
}

/// Judges one command; gives whether it was done.
fn judge(desk: &Desk, line: &str, fate: Fate, output: Option<&str>, ended: &common::Ended) -> bool {
    let context = || format!("{line} on {} to {output:?}: {:?} {}", desk.name, ended.status, ended.stderr);
    let names = desk.names();
    let (target, is_own) = match output {
        Some(output) => (output, false),
        None => (desk.name, true),
    };
    let read = |name: &str| std::fs::read(desk.path(name)).unwrap_or_else(|e| panic!("{}: {e}", context()));
    if let Refused(reason) = fate {
        // A path that leads nowhere is a No.
        assert!(matches!(ended.status, Ok(2)) || (matches!(ended.status, Ok(1)) && reason.starts_with('/')), "{}", context());
        assert!(ended.stderr.contains(reason) && !ended.stderr.is_empty(), "{}", context());
        assert!(read(desk.name) == desk.before, "{}", context());
        assert!(is_own || !names.contains(target), "{}", context());
    } else {
        assert_eq!(ended.status, Ok(0), "{}", context());
        if !is_own {
            assert!(read(desk.name) == desk.before, "{}", context());
        }
        let after = read(target);
        assert_eq!(after.starts_with(&[0x1f, 0x8b]), target.ends_with(".gz"), "{}", context());
        let ((old, rest), (new, new_rest)) = (split(&unpacked(desk.before.clone())), split(&unpacked(after)));
        assert!(old.len() == new.len() && rest == new_rest, "{}", context());
        for (number, (old, new)) in old.iter().zip(&new).enumerate() {
            match fate {
                Done(.., changed) if changed == number && number == ASDF => {}
                Done(.., changed) if changed == number => {
                    assert!(old.data == new.data && old.header != new.header, "{}", context());
                }
                _ => assert!(old == new, "HDU {number}: {}", context()),
            }
        }
        if let Done(path, value, _) = fate {
            assert_eq!(desk.get(&format!("{target}#{path}")), value, "{}", context());
        }
        if new.len() > ASDF {
            let verified = desk.run(&["verify".to_owned(), "--deep".to_owned(), target.to_owned()], None);
            assert_eq!(verified.status, Ok(0), "{}: {}", context(), verified.stderr);
            assert_eq!(desk.get(&format!("{target}#/fits/{ASDF}/header/EXTNAME")), "ASDF");
            assert!(new[ASDF].header.windows(8).any(|card| card == b"WRITER  "), "{}", context());
        }
    }
    assert!(!names.iter().any(|name| name.contains("tmp") || name.contains("journal")), "{names:?} {}", context());
    !matches!(fate, Refused(_))
}

#[test]
fn every_writing_command_does_it_or_refuses() {
    let kinds =
        [("x.fits", plain()), ("x.fits.gz", packed(&plain())), ("e.fits", embedded()), ("e.fits.gz", packed(&embedded()))];
    let mut cells = Vec::new();
    for (line, on_plain, on_embedded) in COMMANDS {
        for (name, bytes) in &kinds {
            let fate = if name.starts_with('x') { on_plain } else { on_embedded };
            for output in [None, Some("out.fits"), Some("out.fits.gz")] {
                for by_pipe in [false, true] {
                    // `append` has no separate output.
                    if !(output.is_some() && line.starts_with("append") || by_pipe && line.starts_with("edit")) {
                        cells.push((line, *name, bytes.clone(), fate, output, by_pipe));
                    }
                }
            }
        }
    }
    let cells = common::sample("commands on FITS files", cells, 8);
    let done = common::in_parallel(&cells, |(line, name, bytes, fate, output, by_pipe)| {
        let desk = Desk::new(name, bytes.clone());
        if !by_pipe {
            let ended = desk.run(&words(line, name, *output), None);
            return judge(&desk, line, *fate, *output, &ended);
        }
        let ended = desk.run(&words(line, "-", *output), Some(bytes.clone()));
        if output.is_some() {
            return judge(&desk, line, *fate, *output, &ended);
        }
        // Standard input cannot be changed; what names its output writes to standard output.
        if line.starts_with("convert") {
            // No name asks for FITS again; in ASDF the HDUs that the tree does not name are losses.
            if name.starts_with('e') {
                assert!(ended.status == Ok(1) && ended.stderr.contains("loss: /fits/2"), "{line}: {}", ended.stderr);
                return true;
            }
            assert!(ended.status == Ok(0) && ended.stdout.starts_with(b"#ASDF"), "{line}: {}", ended.stderr);
            return true;
        }
        if has_output(line) && !matches!(fate, Refused(_)) {
            assert_eq!(ended.status, Ok(0), "{line}: {}", ended.stderr);
            std::fs::write(desk.path("out.fits"), &ended.stdout).unwrap();
            return judge(&desk, line, *fate, Some("out.fits"), &ended);
        }
        assert!(ended.status == Ok(2) || ended.status == Ok(1), "{line}: {}", ended.stderr);
        assert!(std::fs::read(desk.path(name)).unwrap() == *bytes && desk.names().len() == 3);
        false
    });
    let count = done.iter().filter(|done| **done).count();
    common::say(&format!("FITS files: {} cells of commands, {count} done, {} refused", done.len(), done.len() - count));
}

/// What `digest` says of a file.
fn digests(folder: &Path, name: &str) -> serde_json::Value {
    let mut command = common::trilith();
    command.current_dir(folder).args(["digest", "--json", name]);
    let ended = common::run(command, None);
    assert_eq!(ended.status, Ok(0), "{name}: {}", ended.stderr);
    serde_json::from_slice::<serde_json::Value>(&ended.stdout).unwrap()["arrays"].clone()
}

#[test]
fn convert_arrays_eq_for_every_input_way() {
    let ways = [
        "",
        "--codec none",
        "--codec zlib",
        "--codec auto",
        "--to asdf-1.6",
        "--to asdf-1.0",
        "--to asdf-0.1",
        "--to asdf-0.1-dev",
        "--to finf-0.1",
        "--to asdf-0.1 --encode [zlib]",
        "--to asdf-1.2 --codec lz4",
        "--to dudley-2026",
    ];
    for (name, bytes) in [("x.fits", plain()), ("e.fits", embedded())] {
        let desk = Desk::new(name, bytes.clone());
        std::fs::write(desk.path("p.fits.gz"), packed(&bytes)).unwrap();
        let mut expected = None;
        let cells: Vec<(&str, &str)> = ways.iter().flat_map(|way| [name, "p.fits.gz", "-"].map(|input| (*way, input))).collect();
        for (way, input) in cells {
            let output = if way.contains("dudley") { "out.bd" } else { "out.asdf" };
            let line = format!("convert {input} {output} --json --allow-loss --overwrite {way}");
            let words: Vec<String> = line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
            let ended = desk.run(&words, (input == "-").then(|| packed(&bytes)));
            assert_eq!(ended.status, Ok(0), "{line}: {}", ended.stderr);
            let report: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap_or_else(|e| panic!("{line}: {e}"));
            assert_eq!((&report["file"], &report["written"]), (&output.into(), &true.into()), "{line}");
            let found = digests(desk.folder.path(), output);
            let sums: BTreeSet<String> = found.as_object().unwrap().values().map(|entry| entry["sha256"].to_string()).collect();
            assert_eq!(&sums, expected.get_or_insert(sums.clone()), "{line}");
            assert_eq!(sums.len(), 3, "{line}");
        }
        // By the name of the output alone, and back.
        for output in ["out.finf", "out.bd", "out.asdf.gz"] {
            let ended = desk.run(&["convert", name, output, "--allow-loss", "--overwrite"].map(str::to_owned), None);
            assert_eq!(ended.status, Ok(0), "{output}: {}", ended.stderr);
            let start = std::fs::read(desk.path(output)).unwrap();
            let mark: &[u8] = match output {
                "out.finf" => b"%FINF",
                "out.bd" => b"\x89",
                _ => &[0x1f, 0x8b],
            };
            assert!(start.starts_with(mark) || output == "out.bd" && !start.starts_with(b"#ASDF"), "{output}");
        }
        if name == "x.fits" {
            let ended = desk.run(&["convert", "out.asdf", "back.fits"].map(str::to_owned), None);
            assert_eq!(ended.status, Ok(0), "{}", ended.stderr);
        }
    }
    let desk = Desk::new("x.fits", plain());
    for line in ["convert x.fits y.asdf", "convert y.asdf back.fits.gz"] {
        let ended = desk.run(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), None);
        assert_eq!(ended.status, Ok(0), "{}", ended.stderr);
    }
    assert!(unpacked(std::fs::read(desk.path("back.fits.gz")).unwrap()) == plain());
}

#[test]
fn explode_extracts_all_arrays() {
    for (name, bytes, arrays) in [
        ("x.fits", plain(), 3),
        ("x.fits.gz", packed(&plain()), 3),
        ("e.fits", embedded(), 3),
        ("e.fits.gz", packed(&embedded()), 3),
    ] {
        let desk = Desk::new(name, bytes.clone());
        let ended = desk.run(&["explode".to_owned(), name.to_owned(), "--allow-loss".to_owned()], None);
        assert_eq!(ended.status, Ok(0), "{name}: {}", ended.stderr);
        let main = format!("{}_exploded.asdf", &name[..1]);
        assert_eq!(digests(desk.folder.path(), &main), digests(desk.folder.path(), name), "{name}");
        assert_eq!(desk.names().len(), 3 + 1 + arrays);
        assert!(std::fs::read(desk.path(name)).unwrap() == bytes);
    }
}

#[test]
fn mismatched_output_extension_is_rejected() {
    let desk = Desk::new("e.fits", embedded());
    for line in [
        "set e.fits#/n 1 -o u.asdf",
        "repack e.fits u.asdf",
        "resolve e.fits u.finf",
        "implode e.fits -o u.bd",
        "repair e.fits -o u.asdf.gz",
        "convert e.fits y.fits --to asdf-1.6",
    ] {
        let ended = desk.run(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), None);
        assert_eq!(ended.status, Ok(2), "{line}: {}", ended.stderr);
        assert_eq!(desk.names().len(), 3, "{line}");
    }
}

/// The tier of this test is the first. A large file is one of 16 MiB and more.
#[test]
fn large_whole_write_names_size_in_place() {
    let data = |len: usize| vec![7u8; len];
    let fits = |len: usize| {
        let mut bytes = Vec::new();
        let array = trilith::array::Array::from_slice(&data(len), &[len as u64]).unwrap();
        trilith::fits::write(&mut bytes, &[trilith::fits::HduData::primary(Some(&array)).unwrap()]).unwrap();
        bytes
    };
    let asdf = |len: usize| {
        let mut builder = trilith::AsdfBuilder::new(trilith::Target::latest());
        let array = trilith::array::Array::from_slice(&data(len), &[len as u64]).unwrap();
        let node = builder.array(&array, &trilith::asdf::ArrayOptions::default()).unwrap();
        let mut bytes = std::io::Cursor::new(Vec::new());
        builder.write_to(&mut bytes, trilith::Value::map([("n", trilith::Value::from(1)), ("a", node)])).unwrap();
        bytes.into_inner()
    };
    let large = 17 << 20;
    let long = "x".repeat(1 << 16);
    let cases = [
        ("x.fits", fits(large), "#/fits/0/header/BLANK", "5", true),
        ("x.fits", fits(1 << 20), "#/fits/0/header/BLANK", "5", false),
        ("x.fits.gz", packed(&fits(large)), "#/fits/0/header/BLANK", "5", false),
        ("x.asdf", asdf(large), "#/n", "5", true),
        ("x.asdf", asdf(large), "#/n", &long, false),
        ("x.asdf", asdf(1 << 20), "#/n", "5", false),
    ];
    for (name, bytes, item, value, is_named) in cases {
        let desk = Desk::new(name, bytes);
        let words = ["set", "-v", &format!("{name}{item}"), value].map(str::to_owned);
        let ended = desk.run(&words, None);
        assert_eq!(ended.status, Ok(0), "{name}: {}", ended.stderr);
        assert_eq!(ended.stderr.contains("MB; --in-place would write"), is_named, "{name}{item}: {}", ended.stderr);
        assert!(ended.stderr.contains("the whole file written"), "{name}{item}: {}", ended.stderr);
    }
}

#[test]
fn concurrent_writer_is_never_overwritten() {
    use trilith::{Change, SaveOptions};
    for (name, bytes) in
        [("x.fits", plain()), ("x.fits.gz", packed(&plain())), ("e.fits", embedded()), ("e.fits.gz", packed(&embedded()))]
    {
        let desk = Desk::new(name, bytes);
        let path = trilith::TreePath::parse("/fits/0/header/OBJECT").unwrap();
        let file = trilith::open_asdf(desk.path(name)).unwrap();
        let file = trilith::file::resolve_fits_path(file, "/fits").unwrap().0;
        let mut change = Change::new(&file);
        change.edit(|edit, _| edit.set(&path, &"mine".into())).unwrap();
        let other = desk.run(&["set".to_owned(), format!("{name}#/fits/1/header/OBJECT"), "theirs".to_owned()], None);
        assert_eq!(other.status, Ok(0), "{}", other.stderr);
        let committed = std::fs::read(desk.path(name)).unwrap();
        for in_place in [false, true] {
            let mut how = SaveOptions::default();
            how.in_place = in_place;
            let error = change.save(how).unwrap_err();
            assert!(error.to_string().contains("since it was read"), "{name}: {error}");
        }
        assert!(std::fs::read(desk.path(name)).unwrap() == committed);
        assert_eq!(desk.names().len(), 3);
    }
}
