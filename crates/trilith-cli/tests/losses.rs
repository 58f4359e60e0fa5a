//! Every byte is accounted for: damage is not vouched for, what a conversion leaves out is a loss, and what adds removes nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where something is not as expected"
)]
#![allow(clippy::disallowed_methods, reason = "a test lays out files of its own")]

mod common;

use std::path::Path;

use common::{Ended, in_parallel, run, sample, say, trilith};
use trilith::array::Array;
use trilith::asdf::{ArrayOptions, AsdfBuilder, Target, WriteOptions};
use trilith::tree::Value;

/// Runs the command in a folder.
fn ran(folder: &Path, words: &[&str]) -> Ended {
    let mut command = trilith();
    command.current_dir(folder).args(words);
    // Several outputs of a test have one name.
    if matches!(words.first(), Some(&("convert" | "repack" | "resolve"))) {
        command.arg("--overwrite");
    }
    run(command, None)
}

/// Exit status 0.
fn done(folder: &Path, words: &[&str]) -> Ended {
    let ended = ran(folder, words);
    assert_eq!(ended.status, Ok(0), "{words:?}: {}", ended.stderr);
    ended
}

fn text(ended: &Ended) -> String {
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

/// A file without blocks: the whole text of its tree.
fn put(folder: &Path, name: &str, tree: &str) {
    let text =
        format!("#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{tree}...\n");
    std::fs::write(folder.join(name), text).unwrap();
}

/// A file with the arrays `a`, of which one bit is flipped, and `b`, and a note.
fn damaged(path: &Path, target: &str, codec: Option<&str>) {
    let mut how = ArrayOptions::default();
    if let Some(codec) = codec {
        how = ArrayOptions::codec(codec).unwrap();
    }
    let mut builder = AsdfBuilder::new(Target::from_name(target).unwrap()).with_options(WriteOptions::default());
    let numbers: Vec<i32> = (0..5000).map(|n| n * n % 7919).collect();
    let a = builder.array(&Array::from_slice(&numbers, &[50, 100]).unwrap(), &how).unwrap();
    let b = builder.array(&Array::from_slice(&numbers[..100], &[100]).unwrap(), &how).unwrap();
    builder.write(path, Value::map([("a", a), ("b", b), ("note", "short".into())])).unwrap();
    let file = trilith::open_asdf(path).unwrap();
    let block = file.sections().block(0).unwrap();
    // Near the end, so that most codecs still decode it.
    let at = usize::try_from(block.data_offset + block.used - 9).unwrap();
    drop(file);
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
}

/// Words of a command, and the files that hold the damaged array afterwards, if they are there.
type Use = (&'static [&'static str], &'static [&'static str]);

const LONG: &str = "a note that is far longer than all the room that the tree of this small file has, so that nothing fits in its place: \
a note that is far longer than all the room that the tree of this small file has, so that nothing fits in its place";

const USES: &[Use] = &[
    (&["set", "x.asdf#/note", LONG], &["x.asdf"]),
    (&["set", "x.asdf#/note", "tiny"], &["x.asdf"]),
    (&["set", "x.asdf#/note", LONG, "--in-place"], &["x.asdf"]),
    (&["set", "x.asdf#/note", LONG, "-o", "o.asdf"], &["o.asdf"]),
    (&["insert", "x.asdf#/more", LONG], &["x.asdf"]),
    (&["insert", "x.asdf#/c", "--from", "x.asdf#/a"], &["x.asdf"]),
    (&["insert", "good.asdf#/c", "--from", "x.asdf#/a"], &["good.asdf"]),
    (&["insert", "good.asdf#/c", "--from", "x.asdf#/a", "--codec", "zlib"], &["good.asdf"]),
    (&["set", "good.asdf#/b", "--from", "x.asdf#/a", "--in-place"], &["good.asdf"]),
    (&["delete", "x.asdf#/b"], &["x.asdf"]),
    (&["rename", "x.asdf#/note", LONG], &["x.asdf"]),
    (&["history", "add", "x.asdf", LONG], &["x.asdf"]),
    (&["convert", "x.asdf", "o.asdf"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--allow-loss"], &["o.asdf"]),
    (&["convert", "x.asdf", "x.asdf", "--allow-loss"], &["x.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--no-checksums"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--no-checksums", "--allow-loss"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--align", "4096", "--allow-loss"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--codec", "lz4"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--codec", "none", "--allow-loss"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--codec", "auto", "--allow-loss"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--rows", "10", "--allow-loss"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--chunks", "10,10", "--to", "asdf-1.6", "--allow-loss"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--to", "asdf-1.0"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--to", "asdf-1.0", "--allow-loss"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.asdf", "--to", "asdf-0.1", "--allow-loss"], &["o.asdf"]),
    (&["convert", "x.asdf", "o.finf", "--allow-loss"], &["o.finf"]),
    (&["convert", "x.asdf", "o.fits"], &["o.fits"]),
    (&["convert", "x.asdf", "o.fits", "--allow-loss"], &["o.fits"]),
    (&["convert", "x.asdf", "o.bd"], &["o.bd"]),
    (&["convert", "x.asdf", "o.bd", "--allow-loss"], &["o.bd"]),
    (&["convert", "x.asdf", "o.asdf.gz", "--allow-loss"], &["o.asdf.gz"]),
    (&["repack", "x.asdf", "o.asdf"], &["o.asdf"]),
    (&["repack", "x.asdf", "o.asdf", "--allow-loss", "--order", "size"], &["o.asdf"]),
    (&["repack", "x.asdf", "o.asdf", "--allow-loss", "--codec", "zlib"], &["o.asdf"]),
    (&["explode", "x.asdf"], &["x_exploded0000.asdf"]),
    (&["explode", "x.asdf", "--allow-loss"], &["x_exploded0000.asdf"]),
    (&["explode", "x.asdf#/a", "--allow-loss"], &["x_exploded0000.asdf"]),
    (&["implode", "outer.asdf", "-o", "o.asdf"], &["o.asdf"]),
    (&["implode", "outer.asdf", "-o", "o.asdf", "--allow-loss"], &["o.asdf"]),
    (&["resolve", "ref.asdf", "o.asdf"], &["o.asdf"]),
    (&["resolve", "ref.asdf", "o.asdf", "--allow-loss"], &["o.asdf"]),
    (&["repair", "x.asdf", "-o", "o.asdf"], &["o.asdf"]),
    (&["get", "x.asdf#/a", "-o", "o.npy"], &["o.npy"]),
    (&["stream", "x.asdf#/rows", "--dtype", "<f4", "--row-shape", "2"], &["x.asdf"]),
];

#[test]
fn copies_of_damaged_block_never_verify() {
    let forms = [("asdf-1.6", None), ("asdf-1.6", Some("zlib")), ("asdf-1.0", Some("lz4")), ("asdf-1.3", Some("bzp2"))];
    let all: Vec<_> = forms.iter().flat_map(|form| USES.iter().map(move |use_of| (form, use_of))).collect();
    let all = sample("uses of damaged blocks", all, 8);
    let failed: Vec<String> = in_parallel(&all, |((target, codec), (words, outputs))| {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        damaged(&folder.join("x.asdf"), target, *codec);
        let mut builder = AsdfBuilder::new(Target::latest());
        let node = builder.array(&Array::from_slice(&[1u8; 64], &[64]).unwrap(), &ArrayOptions::default()).unwrap();
        builder.write(folder.join("good.asdf"), Value::map([("b", node)])).unwrap();
        let array = "source: x.asdf, datatype: int32, byteorder: little, shape: [50, 100]";
        put(folder, "outer.asdf", &format!("a: !core/ndarray-1.1.0 {{{array}}}\n"));
        put(folder, "ref.asdf", "a: {$ref: 'x.asdf#/a'}\n");
        let before = ran(folder, &["verify", "x.asdf"]);
        assert_eq!(before.status, Ok(1), "{}", before.stderr);
        let ended = ran(folder, words);
        let word = format!("{}{}", ended.stderr, text(&ended));
        let is_said = ["checksum", "damaged"].iter().any(|said| word.contains(said));
        let keeps_bytes = words[0] == "set" && words[2] == "tiny" || words.contains(&"-o") && ended.status == Ok(0);
        match (&ended.status, is_said) {
            // If the tree fits, no block is read.
            (Ok(0), false) if !keeps_bytes => Err(format!("{target} {codec:?} {words:?}: exit status 0 without a word")),
            (Ok(0..=2), _) => Ok(()),
            (status, _) => Err(format!("{words:?}: {status:?}: {word}")),
        }?;
        for output in outputs.iter().filter(|output| folder.join(output).exists()) {
            if *output == "good.asdf" && ended.status != Ok(0) {
                continue;
            }
            let verified = ran(folder, &["verify", output]);
            // The rest of a block that cannot be decoded to its end has no checksum.
            if words[0] == "repair" && text(&verified).contains("; 1 of 2 blocks has none") {
                continue;
            }
            if *output == "o.npy" || verified.status == Ok(0) {
                return Err(format!("{target} {codec:?} {words:?}: {output} verifies; exit status {:?}; {word}", ended.status));
            }
        }
        Ok(())
    })
    .into_iter()
    .filter_map(Result::err)
    .collect();
    say(&format!("damage: {} uses of writing commands; {} outputs verify", all.len(), failed.len()));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A FITS file as astropy writes it: a primary HDU with cards, and an image.
fn fits(folder: &Path, name: &str) {
    let unit = |cards: &[&str], data: &[u8]| -> Vec<u8> {
        let mut bytes: Vec<u8> = cards.iter().chain(&["END"]).flat_map(|card| format!("{card:80}").into_bytes()).collect();
        bytes.resize(bytes.len().next_multiple_of(2880), b' ');
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len().next_multiple_of(2880), 0);
        bytes
    };
    let number = |keyword: &str, value: i64| format!("{keyword:8}= {value:>20}");
    let primary =
        ["SIMPLE  =                    T".to_owned(), number("BITPIX", 8), number("NAXIS", 0), "OBSERVER= 'Leavitt '".to_owned()];
    let image = [
        "XTENSION= 'IMAGE   '".to_owned(),
        number("BITPIX", 16),
        number("NAXIS", 1),
        number("NAXIS1", 4),
        number("PCOUNT", 0),
        number("GCOUNT", 1),
        "EXTNAME = 'SCI     '".to_owned(),
    ];
    let as_cards = |cards: &[String]| cards.iter().map(String::as_str).collect::<Vec<_>>().join("\u{1}");
    let (primary, image) = (as_cards(&primary), as_cards(&image));
    let mut bytes = unit(&primary.split('\u{1}').collect::<Vec<_>>(), &[]);
    bytes.extend(unit(&image.split('\u{1}').collect::<Vec<_>>(), &[0, 1, 0, 2, 0, 3, 0, 4]));
    std::fs::write(folder.join(name), bytes).unwrap();
}

/// The losses that a refused conversion lists.
fn losses(folder: &Path, words: &[&str]) -> Vec<String> {
    let ended = ran(folder, &[words, &["--json"]].concat());
    let said = text(&ended);
    assert_eq!(ended.status, Ok(1), "{words:?} must be refused: {said}{}", ended.stderr);
    let document: serde_json::Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{words:?}: {e}: {said}"));
    assert_eq!(document["written"], serde_json::json!(false), "{words:?}");
    let listed = document["losses"].as_array().unwrap().iter();
    listed.map(|loss| format!("{} {}", loss["path"].as_str().unwrap_or(""), loss["message"].as_str().unwrap())).collect()
}

#[test]
fn nodes_without_fits_counterpart_are_losses() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    fits(folder, "x.fits");
    done(folder, &["convert", "x.fits", "x.asdf"]);
    done(folder, &["convert", "x.asdf", "back.fits"]);
    assert_eq!(std::fs::read(folder.join("x.fits")).unwrap(), std::fs::read(folder.join("back.fits")).unwrap());
    done(folder, &["get", "x.asdf#/fits/1/data", "-o", "a.npy"]);
    let edits: &[(&[&str], &str)] = &[
        (&["insert", "y.asdf#/fits/1/extra", "{a: 1}"], "/fits/1/extra"),
        (&["insert", "y.asdf#/fits/1/other", "--from", "a.npy"], "/fits/1/other"),
        (&["insert", "y.asdf#/fits/1/data/mask", "3"], "/fits/1/data/mask"),
        (&["insert", "y.asdf#/fits/1/data/unit", "m"], "/fits/1/data/unit"),
        (&["insert", "y.asdf#/fits_heap", "{1: {x: [1, 2]}}"], "/fits_heap"),
        (&["insert", "y.asdf#/fits_heap", "--from", "a.npy"], "/fits_heap"),
        (&["set", "y.asdf#/fits_cards", "[[0, 1, 'X', 5]]"], "/fits_cards/0"),
        (&["insert", "y.asdf#/meta", "{a: 1}"], "/meta"),
        (&["history", "add", "y.asdf", "flat-fielded"], "/history"),
    ];
    for (edit, path) in edits {
        done(folder, &["convert", "x.asdf", "y.asdf"]);
        done(folder, edit);
        let lost = losses(folder, &["convert", "y.asdf", "y.fits"]);
        assert!(lost.iter().any(|loss| loss.starts_with(path)), "{edit:?}: {lost:?}");
        assert!(!folder.join("y.fits").exists());
        done(folder, &["convert", "y.asdf", "y.fits", "--allow-loss"]);
        std::fs::remove_file(folder.join("y.fits")).unwrap();
    }
}

#[test]
fn unreferenced_hdus_of_embedded_asdf_are_losses() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    fits(folder, "base.fits");
    put(folder, "meta.asdf", "a: 1\n");
    done(folder, &["convert", "meta.asdf", "x.fits", "--embed", "base.fits"]);
    for words in [&["convert", "x.fits", "o.asdf"][..], &["convert", "x.fits", "o.bd"], &["explode", "x.fits"]] {
        let lost = losses(folder, words);
        assert!(lost.iter().any(|loss| loss.starts_with("/fits/1 ")), "{words:?}: {lost:?}");
        assert!(lost.iter().any(|loss| loss.contains("OBSERVER")), "{words:?}: {lost:?}");
        done(folder, &[words, &["--allow-loss"]].concat());
    }
    // A file of this program holds nothing but its arrays.
    let mut builder = AsdfBuilder::new(Target::latest());
    let node = builder.array(&Array::from_slice(&[1i16, 2, 3], &[3]).unwrap(), &ArrayOptions::default()).unwrap();
    builder.write(folder.join("own.asdf"), Value::map([("data", node.clone()), ("sci", node)])).unwrap();
    done(folder, &["convert", "own.asdf", "own.fits"]);
    done(folder, &["convert", "own.fits", "again.asdf"]);
    done(folder, &["diff", "own.asdf", "again.asdf"]);
}

#[test]
fn unexpected_bytes_in_fits_padding_are_losses() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    fits(folder, "x.fits");
    let sound = std::fs::read(folder.join("x.fits")).unwrap();
    let behind_end = 4 * 80 + 80 + 7;
    for (name, at, byte, word) in [
        ("after END", behind_end, b'q', "END"),
        ("filling", 2 * 2880 + 100, 1, "fill"),
        ("after all", sound.len(), 7, "after the last HDU"),
    ] {
        let mut bytes = sound.clone();
        bytes.resize(bytes.len().max(at + 1), 0);
        bytes[at] = byte;
        std::fs::write(folder.join("y.fits"), &bytes).unwrap();
        let lost = losses(folder, &["convert", "y.fits", "y.asdf"]);
        assert!(lost.iter().any(|loss| loss.contains(word)), "{name}: {lost:?}");
        let ended = ran(folder, &["set", "y.fits#/fits/0/header/OBSERVER", "Cannon"]);
        let after = std::fs::read(folder.join("y.fits")).unwrap();
        match name {
            "after END" => assert!(ended.status != Ok(0) && after == bytes, "{}", ended.stderr),
            _ => assert!(ended.status == Ok(0) && after[at] == byte, "{name}: {}", ended.stderr),
        }
    }
}

#[test]
fn user_mapping_named_dudley_round_trips() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let mut builder = AsdfBuilder::new(Target::latest());
    let mut array = |n: i16| builder.array(&Array::from_slice(&[n, 2, 3], &[3]).unwrap(), &ArrayOptions::default()).unwrap();
    let (inner, outer) = (array(1), array(5));
    builder.write(folder.join("x.asdf"), Value::map([("dudley", Value::map([("data", inner)])), ("b", outer)])).unwrap();
    for (name, tree) in
        [("text", "dudley: observatory\n"), ("list", "dudley: [1, 2]\n"), ("map", "dudley: {dialect: 5, docs: none}\n")]
    {
        put(folder, &format!("{name}.asdf"), tree);
    }
    for name in ["x", "text", "list", "map"] {
        let (from, to) = (format!("{name}.asdf"), format!("{name}.bd"));
        done(folder, &["convert", &from, &to]);
        done(folder, &["convert", &to, "back.asdf"]);
        let ignored = ["--ignore", "/asdf_library", "--ignore", "/history", "--ignore", "/annotations"];
        done(folder, &[&["diff", from.as_str(), "back.asdf"][..], &ignored].concat());
    }
}

#[test]
fn history_add_keeps_existing_entries() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    for (history, takes) in [
        ("'reduced by A. Person, 2019'", false),
        ("{entries: {2019: first}}", false),
        ("{entries: text}", false),
        ("{entries: 5}", false),
        ("2019", false),
        ("true", false),
        ("[{description: first}]", true),
        ("{entries: [{description: first}]}", true),
        ("{extensions: []}", true),
        ("{entries: }", true),
        ("{}", true),
        ("[]", true),
        ("", true),
    ] {
        put(folder, "x.asdf", &format!("history: {history}\na: 1\n"));
        let before = std::fs::read(folder.join("x.asdf")).unwrap();
        let ended = ran(folder, &["history", "add", "x.asdf", "dark subtracted"]);
        let after = std::fs::read_to_string(folder.join("x.asdf")).unwrap();
        if takes {
            assert_eq!(ended.status, Ok(0), "{history}: {}", ended.stderr);
            assert!(
                after.contains("dark subtracted") && (!history.contains("first") || after.contains("first")),
                "{history}: {after}"
            );
        } else {
            assert!(ended.status != Ok(0) && after.as_bytes() == before, "{history}: {after}");
            assert!(ended.stderr.contains("/history"), "{}", ended.stderr);
        }
    }
}

#[test]
fn ambiguous_pointer_errs_without_partial_json() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let array = |n: i32| format!("!core/ndarray-1.1.0 {{data: [{n}, 2], datatype: int64}}");
    for (first, second) in [("1", "\"1\""), ("\"true\"", "true"), ("2.5", "'2.5'"), ("null", "\"null\"")] {
        put(folder, "x.asdf", &format!("v:\n  {first}: {}\n  {second}: {}\n  w: 1\n", array(1), array(3)));
        let before = std::fs::read(folder.join("x.asdf")).unwrap();
        let path = format!("x.asdf#/v/{}", first.trim_matches('"'));
        for words in [
            &["delete", &path][..],
            &["set", &path, "5", "--replace"],
            &["rename", &path, "other"],
            &["insert", &path, "5"],
            &["get", &path],
            &["digest", "x.asdf"],
        ] {
            let ended = ran(folder, words);
            assert!(ended.status != Ok(0), "{first} {words:?}: {}", text(&ended));
            assert!(format!("{}{}", ended.stderr, text(&ended)).contains("two keys"), "{words:?}: {}", ended.stderr);
        }
        let ended = ran(folder, &["tree", "x.asdf", "--json"]);
        let said = text(&ended);
        assert!(said.is_empty() || serde_json::from_str::<serde_json::Value>(&said).is_ok(), "{said}");
        assert_eq!(std::fs::read(folder.join("x.asdf")).unwrap(), before);
        // Another key of the mapping does not concern these two.
        done(folder, &["set", "x.asdf#/v/w", "2"]);
        let written = std::fs::read_to_string(folder.join("x.asdf")).unwrap();
        assert!(written.contains(&array(1)) && written.contains(&array(3)), "{written}");
    }
}

#[test]
fn odd_keys_round_trip_through_fits() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    for key in ["", "1", "0", " ", "a b", "a,1", "é", "ASDF", "asdf", "primary", "a'b", "a/b", "~", "7x", "-1", "x,2"] {
        let mut builder = AsdfBuilder::new(Target::latest());
        let mut array = |n: i16| builder.array(&Array::from_slice(&[n, 2, 3], &[3]).unwrap(), &ArrayOptions::default()).unwrap();
        let (first, second) = (array(1), array(5));
        builder.write(folder.join("x.asdf"), Value::map([(key, first), ("other", second)])).unwrap();
        done(folder, &["convert", "x.asdf", "x.fits"]);
        let verified = ran(folder, &["verify", "--deep", "x.fits"]);
        assert_eq!(verified.status, Ok(0), "{key:?}: {}{}", text(&verified), verified.stderr);
        done(folder, &["convert", "x.fits", "y.asdf"]);
        done(folder, &["diff", "x.asdf", "y.asdf"]);
    }
}

#[test]
fn integers_beyond_53_bits_keep_value() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    for (name, number) in [("odd", "9007199254740993"), ("even", "9007199254740992.0"), ("half", "0.5")] {
        put(folder, &format!("{name}.asdf"), &format!("n: {number}\n"));
    }
    for form in ["csv", "jsonl"] {
        let output = format!("t.{form}");
        done(folder, &["table", "odd.asdf", "half.asdf", "-c", "n=/n", "-o", &output]);
        assert!(std::fs::read_to_string(folder.join(&output)).unwrap().contains("9007199254740993"), "{form}");
    }
    let found = done(folder, &["search", "--value", ">9007199254740992", "odd.asdf"]);
    assert!(text(&found).contains("/n"), "{}", text(&found));
    assert_eq!(ran(folder, &["search", "--value", ">9007199254740993", "odd.asdf"]).status, Ok(1));
    assert_eq!(ran(folder, &["diff", "odd.asdf", "even.asdf"]).status, Ok(1));
}

#[test]
fn set_rejects_merge_key() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    put(folder, "x.asdf", "base: &b {x: 1}\nv:\n  <<: *b\n  y: 2\n");
    let before = std::fs::read(folder.join("x.asdf")).unwrap();
    let ended = ran(folder, &["set", "x.asdf#/v/<<", "5"]);
    assert_eq!(ended.status, Ok(2), "{}", ended.stderr);
    assert_eq!(std::fs::read(folder.join("x.asdf")).unwrap(), before);
}

#[test]
fn edits_keep_text_before_first_block() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let mut builder = AsdfBuilder::new(Target::latest());
    let node = builder.array(&Array::from_slice(&[1i16, 2, 3], &[3]).unwrap(), &ArrayOptions::default()).unwrap();
    builder.write(folder.join("sound.asdf"), Value::map([("a", node), ("b", "short".into())])).unwrap();
    let sound = std::fs::read(folder.join("sound.asdf")).unwrap();
    let end = sound.windows(4).position(|bytes| bytes == b"...\n").unwrap() + 4;
    let block = sound.windows(4).position(|bytes| bytes == b"\xd3BLK").unwrap();
    for (text, is_filling) in [
        ("# a comment\n", false),
        ("--- {second: document}\n...\n", false),
        ("x", false),
        ("   \n \n", true),
        ("\0\0\0\0", true),
        (" \0 \0\r\n", true),
    ] {
        let bytes = [&sound[..end], text.as_bytes(), &sound[block..]].concat();
        for words in [
            &["set", "x.asdf#/b", "tiny"][..],
            &["set", "x.asdf#/b", "tiny", "--in-place"],
            &["insert", "x.asdf#/more", LONG],
            &["delete", "x.asdf#/b"],
            &["rename", "x.asdf#/b", "c"],
            &["history", "add", "x.asdf", "seen"],
            &["convert", "x.asdf", "o.asdf"],
            &["repack", "x.asdf", "o.asdf"],
            &["explode", "x.asdf"],
        ] {
            std::fs::write(folder.join("x.asdf"), &bytes).unwrap();
            let ended = ran(folder, words);
            assert_eq!(ended.status, Ok(0), "{text:?} {words:?}: {}", ended.stderr);
            // An edit keeps the content of unused space; a copy leaves it out, and says so.
            let is_copy = matches!(words[0], "convert" | "repack" | "explode");
            let after = std::fs::read(folder.join("x.asdf")).unwrap();
            let content = text.trim_end().as_bytes();
            let holds = |bytes: &[u8]| bytes.windows(content.len()).any(|part| part == content);
            if !is_filling && is_copy {
                assert!(after == bytes && ended.stderr.contains("unused space"), "{text:?} {words:?}: {}", ended.stderr);
                let copy = std::fs::read(folder.join(if words[0] == "explode" { "x_exploded.asdf" } else { "o.asdf" })).unwrap();
                assert!(text == "x" || !holds(&copy), "{text:?} {words:?}");
            } else if !is_filling {
                assert!(holds(&after), "{text:?} {words:?}");
            }
            for name in ["o.asdf", "x_exploded.asdf", "x_exploded0000.asdf"] {
                let _ = std::fs::remove_file(folder.join(name));
            }
        }
    }
}

#[test]
fn resolve_rejects_target_of_other_version() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    for target in ["finf-0.1", "asdf-0.1", "asdf-1.0", "asdf-1.6"] {
        let mut builder = AsdfBuilder::new(Target::from_name(target).unwrap());
        let node = builder.array(&Array::from_slice(&[1i16, 2, 3], &[3]).unwrap(), &ArrayOptions::default()).unwrap();
        builder.write(folder.join("other.asdf"), Value::map([("a", node)])).unwrap();
        put(folder, "x.asdf", "b: {$ref: 'other.asdf#/a'}\n");
        let ended = ran(folder, &["resolve", "x.asdf", "o.asdf"]);
        if target.starts_with("asdf-1") {
            assert_eq!(ended.status, Ok(0), "{target}: {}", ended.stderr);
            std::fs::remove_file(folder.join("o.asdf")).unwrap();
            continue;
        }
        assert_eq!(ended.status, Ok(2), "{target}: {}", ended.stderr);
        assert!(ended.stderr.contains("it is of another version") && ended.stderr.contains("convert --to"), "{}", ended.stderr);
        assert!(!folder.join("o.asdf").exists());
    }
}

#[test]
fn shared_output_is_refused_before_any_write() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    std::fs::create_dir(folder.join("deep")).unwrap();
    for name in ["x.asdf", "deep/x.asdf", "y.asdf"] {
        let mut builder = AsdfBuilder::new(Target::latest());
        let mut image =
            || builder.array(&Array::from_slice(&[1i16, 2, 3, 4], &[2, 2]).unwrap(), &ArrayOptions::default()).unwrap();
        let (a, b) = (image(), image());
        builder.write(folder.join(name), Value::map([("a_b", a), ("a", Value::map([("b", b)]))])).unwrap();
    }
    std::fs::write(folder.join("u.npy"), "a file").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("u.npy", folder.join("v.npy")).unwrap();
    for stem in ["u", "v"] {
        std::fs::copy(folder.join("x.asdf"), folder.join(format!("{stem}.asdf"))).unwrap();
    }
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    for words in [
        &["get", "y.asdf#/a_b", "x.asdf#/a_b", "deep/x.asdf#/a_b", "-o", "{stem}.npy"][..],
        &["get", "y.asdf#/a_b", "x.asdf#/a_b", "x.asdf#/a/b", "-o", "{stem}_{item}.npy"],
        &["get", "u.asdf#/a_b", "v.asdf#/a_b", "-o", "{stem}.npy"],
        &["show", "y.asdf#/a_b", "x.asdf#/a_b", "x.asdf#/a", "-o", "{stem}_{item}.png"],
        &["show", "y.asdf#/a_b", "x.asdf", "x.asdf#/a/b", "--first", "-o", "{stem}_{item}.png"],
        &["cutout", "x.asdf", "deep/x.asdf", "--sky", "1,2", "--size", "2px", "-o", "{stem}_{n}.fits"],
    ] {
        let ended = ran(folder, words);
        assert_eq!(ended.status, Ok(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("to separate files"), "{words:?}: {}", ended.stderr);
        assert_eq!(names(), before, "{words:?}");
    }
    done(folder, &["get", "y.asdf#/a_b", "x.asdf#/a_b", "x.asdf#/a", "-o", "{stem}_{item}.json"]);
    assert_eq!(names().len(), before.len() + 3);
}

#[test]
fn url_and_pattern_characters_give_distinct_outputs() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let names = ["run", "run#2", "run?x", "a\\run", "{item}", "{stem}"];
    for (n, name) in names.iter().enumerate() {
        let mut builder = AsdfBuilder::new(Target::latest());
        let array = Array::from_slice(&vec![1u8; n + 1], &[n as u64 + 1]).unwrap();
        let node = builder.array(&array, &ArrayOptions::default()).unwrap();
        builder.write(folder.join(format!("{name}.asdf")), Value::map([("a", node)])).unwrap();
        done(folder, &["get", &format!("./{name}.asdf#/a"), "-o", "{stem}.npy"]);
    }
    for (n, name) in names.iter().enumerate() {
        let npy = std::fs::read(folder.join(format!("{name}.npy"))).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(npy.len(), 128 + n + 1, "{name}");
    }
}
