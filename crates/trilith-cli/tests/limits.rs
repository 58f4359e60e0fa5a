//! Every limit: the default lets an honest file pass, a lower one refuses it, and the error says which, what
//! its value is, and how to raise it: by option, by environment, or in a program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where something is not as expected")]
#![allow(clippy::disallowed_methods, reason = "a test lays out files of its own")]

mod common;

use std::path::Path;

use trilith::asdf::WriteOptions;
use trilith::dudley::Draft;
use trilith::layout::Byteorder;
use trilith::tree::Value;
use trilith::{Array, ArrayOptions, AsdfBuilder, ErrorKind, Limits, Target};

/// One limit: a value that is too low, what makes a file that exceeds it, and a command that reads it.
struct Row {
    name: &'static str,
    low: &'static str,
    /// Where the default is too low for the file: what lets it pass.
    high: Option<&'static str>,
    words: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row { name: "depth", low: "3", high: None, words: &["tree", "plain.asdf"] },
    Row { name: "depth", low: "256", high: Some("1000"), words: &["refs", "deep.asdf"] },
    Row { name: "text", low: "50", high: None, words: &["tree", "plain.asdf"] },
    Row { name: "scalar", low: "10", high: None, words: &["tree", "plain.asdf"] },
    Row { name: "nodes", low: "5", high: None, words: &["digest", "plain.asdf"] },
    Row { name: "expansion", low: "2", high: None, words: &["to-yaml", "--resolve", "shared.asdf"] },
    Row { name: "items", low: "1", high: None, words: &["digest", "x.bd"] },
    Row { name: "items", low: "1", high: None, words: &["digest", "spread.asdf"] },
    Row { name: "overlap", low: "5000", high: None, words: &["digest", "spread.asdf"] },
    Row { name: "memory", low: "64", high: None, words: &["digest", "plain.asdf"] },
    Row { name: "spool", low: "100", high: None, words: &["digest", "-"] },
    Row { name: "external_depth", low: "1", high: None, words: &["get", "chain0.asdf#/a"] },
    Row { name: "external_depth", low: "8", high: Some("20"), words: &["get", "long0.asdf#/a"] },
    Row { name: "zlib_ratio", low: "2", high: None, words: &["digest", "zlib.asdf"] },
    Row { name: "lz4_ratio", low: "2", high: None, words: &["digest", "lz4.asdf"] },
    Row { name: "bzip2_ratio", low: "2", high: None, words: &["digest", "bzp2.asdf"] },
    Row { name: "ratio", low: "2", high: None, words: &["digest", "zstd.asdf"] },
    Row { name: "rice_ratio", low: "2", high: None, words: &["digest", "rice.fits"] },
    Row { name: "plio_ratio", low: "2", high: None, words: &["digest", "plio.fits"] },
    Row { name: "hcompress_ratio", low: "2", high: None, words: &["digest", "hcompress.fits"] },
    Row { name: "work", low: "1000", high: None, words: &["digest", "plain.asdf"] },
    Row { name: "work", low: "3000", high: None, words: &["digest", "zlib.asdf"] },
    // Slow codecs count several times: these would pass if each byte counted once.
    Row { name: "work", low: "20000", high: None, words: &["digest", "bzp2.asdf"] },
    Row { name: "work", low: "52428800", high: None, words: &["digest", "hcompress.fits"] },
    Row { name: "work", low: "3000", high: None, words: &["verify", "plain.asdf"] },
    Row {
        name: "work",
        low: "6000",
        high: None,
        words: &["diff", "plain.asdf", "zlib.asdf", "--ignore", "/deep", "--ignore", "/name"],
    },
    Row { name: "work", low: "3000", high: None, words: &["convert", "--to", "dudley-2026", "--allow-loss", "plain.asdf", "-"] },
    Row { name: "output", low: "100", high: None, words: &["to-yaml", "plain.asdf"] },
    Row { name: "output", low: "3000", high: None, words: &["convert", "--to", "asdf-1.0", "plain.asdf", "-"] },
    Row { name: "output", low: "3000", high: None, words: &["get", "plain.asdf#/data", "-o", "out.npy"] },
];

fn asdf(path: &Path, value: Vec<(&str, Value)>, codec: Option<&str>) {
    let mut builder = AsdfBuilder::new(Target::latest()).with_options(WriteOptions::default());
    let options = codec.map_or_else(ArrayOptions::default, |codec| ArrayOptions::codec(codec).unwrap());
    let data = builder.array(&Array::from_slice(&[7u8; 4000], &[4000]).unwrap(), &options).unwrap();
    let mut tree = Value::map(value);
    tree.set("data", data);
    builder.write(path, tree).unwrap();
}

/// An array of one element that claims to be ten thousand, twice.
fn spread(path: &Path) {
    let mut builder = AsdfBuilder::new(Target::latest()).with_options(WriteOptions::default());
    let mut data = builder.array(&Array::from_slice(&[7u8], &[1]).unwrap(), &ArrayOptions::default()).unwrap();
    data.set("shape", Value::seq([10_000]));
    data.set("strides", Value::seq([0]));
    builder.write(path, Value::map([("one", data.clone()), ("two", data)])).unwrap();
}

fn text(path: &Path, tree: &str) {
    std::fs::write(path, format!("#ASDF 1.0.0\n%YAML 1.1\n---\n{tree}\n...\n")).unwrap();
}

/// A FITS file with an image in one tile of more than 2^20 zeros, and an ASDF file that has it as an array.
fn tile(path: &Path, codec: &str, bitpix: &str, tile: &[u8]) {
    const VALUES: usize = 1_100_400;
    let card = |key: &str, value: &str| format!("{:<80}", format!("{key:<8}= {value:>20}"));
    let tree = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\na: !core/ndarray-1.0.0 {source: 'fits:1'}\n...\n";
    let asdf = format!("#ASDF 1.0.0\n{tree}");
    let table = |row: usize, heap: usize, form: &str| {
        let sizes = [("NAXIS1", row), ("NAXIS2", 1), ("PCOUNT", heap), ("GCOUNT", 1), ("TFIELDS", 1)];
        let sizes: String = sizes.iter().map(|(key, n)| card(key, &n.to_string())).collect();
        format!("{:<80}{}{}{sizes}{}", "XTENSION= 'BINTABLE'", card("BITPIX", "8"), card("NAXIS", "2"), card("TFORM1", form))
    };
    let count = VALUES.to_string();
    let image = [("ZIMAGE", "T"), ("ZBITPIX", bitpix), ("ZNAXIS", "1"), ("ZNAXIS1", &count), ("ZTILE1", &count)];
    let image: String = image.iter().map(|(key, value)| card(key, value)).collect();
    let named = format!("{}{}", card("TTYPE1", "'COMPRESSED_DATA'"), card("ZCMPTYPE", codec));
    let one = format!("{}{}", card("ZNAME1", "'BYTEPIX '"), card("ZVAL1", "1"));
    let mut row = (tile.len() as u32).to_be_bytes().to_vec();
    row.extend_from_slice(&[0; 4]);
    row.extend_from_slice(tile);
    let mut bytes = Vec::new();
    for (cards, data) in [
        (format!("{}{}{}", card("SIMPLE", "T"), card("BITPIX", "8"), card("NAXIS", "0")), Vec::new()),
        (format!("{}{named}{image}{one}", table(8, tile.len(), &format!("'1PB({})'", tile.len()))), row),
        (format!("{}{}", table(asdf.len(), 0, &format!("'{}B'", asdf.len())), card("EXTNAME", "'ASDF    '")), asdf.into_bytes()),
    ] {
        bytes.extend_from_slice(format!("{cards}{:<80}", "END").as_bytes());
        bytes.resize(bytes.len().next_multiple_of(2880), b' ');
        bytes.extend_from_slice(&data);
        bytes.resize(bytes.len().next_multiple_of(2880), 0);
    }
    std::fs::write(path, bytes).unwrap();
}

fn tiles(folder: &Path) {
    // A first value, and 3 bits for each block of 32 equal ones.
    tile(&folder.join("rice.fits"), "'RICE_1  '", "8", &[0; 13_000]);
    // A head of three words, the last its length, and runs of 4,095 zeros.
    let runs = [&[0, 0, 0, 0, 1, 16][..], &[0x0f, 0xff].repeat(269)].concat();
    tile(&folder.join("plio.fits"), "'PLIO_1  '", "8", &runs);
    // Magic number, rows and columns, scale, sum, no planes; the rest is not needed.
    let mut head = vec![0xdd, 0x99];
    for number in [1048u32, 1050, 0, 0, 0] {
        head.extend_from_slice(&number.to_be_bytes());
    }
    head.resize(5000, 0);
    tile(&folder.join("hcompress.fits"), "'HCOMPRESS_1'", "16", &head);
}

fn files(folder: &Path) {
    tiles(folder);
    let deep = Value::seq([Value::seq([Value::seq([Value::seq([1])])])]);
    asdf(&folder.join("plain.asdf"), vec![("deep", deep), ("name", "a text of some length".into())], None);
    for codec in ["zlib", "lz4", "bzp2", "zstd"] {
        asdf(&folder.join(format!("{codec}.asdf")), vec![], Some(codec));
    }
    spread(&folder.join("spread.asdf"));
    text(&folder.join("deep.asdf"), &format!("a: {}{}", "[".repeat(300), "]".repeat(300)));
    text(&folder.join("shared.asdf"), "a: [1, 2, 3, 4, 5]\nb: {$ref: '#/a'}\nc: {$ref: '#/a'}");
    for (name, count) in [("chain", 3), ("long", 10)] {
        for n in 0..count {
            text(&folder.join(format!("{name}{n}.asdf")), &format!("a: {{$ref: '{name}{}.asdf#/a'}}", n + 1));
        }
        text(&folder.join(format!("{name}{count}.asdf")), "a: 5");
    }
    let one = || Draft::data(Array::from_slice(&[1.0f64], &[1]).unwrap());
    let mut bytes = std::io::Cursor::new(Vec::new());
    Draft::dict([("a", one()), ("b", one()), ("c", one())]).write(Byteorder::Little, &Limits::default(), &mut bytes).unwrap();
    std::fs::write(folder.join("x.bd"), bytes.into_inner()).unwrap();
}

#[test]
fn documentation_lists_every_limit_and_default() {
    let text = std::fs::read_to_string(common::repository().join("docs/command-line.md")).unwrap();
    for name in Limits::NAMES {
        let line =
            text.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap_or_else(|| panic!("no line {name}"));
        let value = line.split('|').nth(2).unwrap().trim();
        let mut limits = Limits::default();
        limits.set(&format!("{name}={value}")).unwrap();
        assert_eq!(limits, Limits::default(), "{line}");
    }
}

#[test]
fn every_limit_has_exceeding_file() {
    for name in Limits::NAMES {
        assert!(ROWS.iter().any(|row| row.name == *name), "no row for {name}");
    }
}

#[test]
fn every_limit_rejects_and_is_raisable() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let run = |words: &[&str], option: Option<&str>, environment: Option<&str>| {
        let mut command = common::trilith();
        command.current_dir(folder.path()).args(words);
        if let Some(option) = option {
            command.args(["--limit", option]);
        }
        if let Some(environment) = environment {
            command.env("TRILITH_LIMITS", environment);
        }
        let input = words.contains(&"-").then(|| std::fs::read(folder.path().join("plain.asdf")).unwrap());
        common::run(command, input)
    };
    for row in ROWS {
        let low = format!("{}={}", row.name, row.low);
        let high = row.high.map_or_else(|| format!("{}=1T", row.name), |high| format!("{}={high}", row.name));
        for (option, environment) in [(Some(low.as_str()), None), (None, Some(low.as_str()))] {
            let refused = run(row.words, option, environment);
            let said = format!("{:?} with {low}: {:?} {}", row.words, refused.status, refused.stderr);
            assert_ne!(refused.status, Ok(0), "{said}");
            assert!(refused.stderr.contains(&low), "names the limit and its value: {said}");
            assert!(refused.stderr.contains(&format!("--limit {}=N", row.name)), "names the option: {said}");
            assert!(refused.stderr.contains(&format!("TRILITH_LIMITS={}=N", row.name)), "names the variable: {said}");
        }
        let (option, environment) = (run(row.words, Some(&high), None), run(row.words, None, Some(&high)));
        assert_eq!(option.status, Ok(0), "{:?} with {high}: {}", row.words, option.stderr);
        assert_eq!(environment.status, Ok(0), "{:?} with {high}: {}", row.words, environment.stderr);
        // The option is nearer than the environment.
        assert_eq!(run(row.words, Some(&high), Some(&low)).status, Ok(0), "{:?}", row.words);
        if row.high.is_none() {
            assert_eq!(run(row.words, None, None).status, Ok(0), "{:?}", row.words);
        }
    }
}

#[test]
fn limits_set_by_name_eq_set_by_field() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    for row in ROWS.iter().filter(|row| row.words[0] == "digest" && !["x.bd", "-"].contains(&row.words[1])) {
        let mut limits = Limits::default();
        limits.set(&format!("{}={}", row.name, row.low)).unwrap();
        let source = trilith::bytes::open(folder.path().join(row.words[1]), Default::default()).unwrap();
        let limits = limits.for_command(source.len());
        let opened = trilith::file::open_asdf_source(source, std::sync::Arc::new(trilith::bytes::NoReferences), &limits);
        let kinds: Vec<ErrorKind> = match opened.and_then(|file| trilith::check::digest(&file)) {
            Err(error) => vec![error.kind()],
            Ok(entries) => entries.into_iter().filter_map(|entry| entry.digest.err()).map(|e| e.kind()).collect(),
        };
        assert!(kinds.contains(&ErrorKind::Limit), "{}: {kinds:?}", row.name);
    }
    let mut limits = Limits::default();
    limits.depth = 1000;
    assert_eq!(limits, "depth=1000".parse().unwrap());
}

#[test]
fn statistics_charge_array_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = AsdfBuilder::new(Target::latest());
    let values: Vec<u8> = (0..500_000u32).map(|n| (n / 1000) as u8).collect();
    let array = Array::from_slice(&values, &[500_000]).unwrap();
    let arrays: Vec<(String, Value)> = ["zlib", "lz4", "zstd", "blsc"]
        .iter()
        .map(|codec| ((*codec).to_owned(), builder.array(&array, &ArrayOptions::codec(codec).unwrap()).unwrap()))
        .collect();
    builder.write(folder.path().join("x.asdf"), Value::map(arrays)).unwrap();
    let stats = |work: &str| {
        let mut command = common::trilith();
        command.current_dir(folder.path()).args(["stats", "x.asdf", "--limit", work]);
        common::run(command, None)
    };
    let ended = stats("work=2M");
    assert_eq!(ended.status, Ok(0), "{}", ended.stderr);
    assert_ne!(stats("work=1M").status, Ok(0));
}

/// First tier.
#[test]
fn commands_that_read_elements_count_bytes_once() {
    let folder = tempfile::tempdir().unwrap();
    let deflate = |path: &str, missing: bool| {
        let mut builder = AsdfBuilder::new(Target::latest());
        let values: Vec<f64> = (0..50_000).map(|n| f64::from(n % 100)).collect();
        let array = Array::from_slice(&values, &[50_000]).unwrap();
        let mut node = builder.array(&array, &ArrayOptions::codec("zlib").unwrap()).unwrap();
        if missing {
            node.set("mask", Value::from(99));
        }
        builder.write(folder.path().join(path), Value::map([("a", node)])).unwrap();
    };
    for (n, missing) in [false, true].into_iter().enumerate() {
        let (one, other) = (format!("{n}a.asdf"), format!("{n}b.asdf"));
        deflate(&one, missing);
        deflate(&other, missing);
        let pointer = format!("{one}#/a");
        let run = |words: &[&str], work: u64| {
            let mut command = common::trilith();
            command.current_dir(folder.path()).args(words).args(["--limit", &format!("work={work}")]);
            common::run(command, None)
        };
        let read_all: [(&[&str], u64); 5] = [
            (&["digest", &one], 1),
            (&["stats", &one], 1),
            (&["stats", "--bins", "10", &one], 1),
            (&["diff", &one, &other], 2),
            (&["get", &pointer, "-o", "out.npy", "--overwrite"], 1),
        ];
        for (words, arrays) in read_all {
            // The tree counts as well.
            let ended = run(words, arrays * 400_000 + 4096);
            assert_eq!(ended.status, Ok(0), "{words:?}: {}", ended.stderr);
            assert_ne!(run(words, arrays * 400_000 - 1).status, Ok(0), "{words:?}");
        }
    }
}
