//! The operations under test: how a folder looks before, and the words of the command.

use std::path::Path;

use trilith::dudley::{Draft, NewStream};
use trilith::layout::{Byteorder, Layout, LayoutEntry};
use trilith::tree::Value;
use trilith::{Array, ArrayOptions, AsdfBuilder, Target};

/// Lays out a folder.
pub(crate) type Prepare = fn(&Path, &'static Target);

/// One operation: a name, what lies in the folder, the command, and the files that must be old or new.
pub(crate) struct Work {
    pub name: &'static str,
    pub prepare: Prepare,
    pub words: &'static [&'static str],
    /// The file whose content counts first: where it is new, all others must be.
    pub main: &'static str,
    /// Only in generations of which this is true.
    pub of: fn(&Target) -> bool,
}

fn any(_: &Target) -> bool {
    true
}

fn newest(target: &Target) -> bool {
    target.name == Target::latest().name
}

fn streams(target: &Target) -> bool {
    target.generation().fields.flags.is_some()
}

fn with_history(target: &Target) -> bool {
    target.generation().major_version == 1
}

/// Every operation that writes.
pub(crate) const ALL: &[Work] = &[
    Work { name: "set", prepare: plain, words: &["set", "x.asdf#/name", "new"], main: "x.asdf", of: any },
    Work {
        name: "set --in-place",
        prepare: plain,
        words: &["set", "--in-place", "x.asdf#/name", "new"],
        main: "x.asdf",
        of: any,
    },
    Work {
        name: "set --in-place, no room",
        prepare: plain,
        words: &["set", "--in-place", "x.asdf#/long", LONG],
        main: "x.asdf",
        of: any,
    },
    Work { name: "insert", prepare: plain, words: &["insert", "x.asdf#/list/-", "4"], main: "x.asdf", of: any },
    Work {
        name: "insert --in-place",
        prepare: plain,
        words: &["insert", "--in-place", "x.asdf#/more", "[1, 2]"],
        main: "x.asdf",
        of: any,
    },
    Work { name: "delete", prepare: plain, words: &["delete", "x.asdf#/list"], main: "x.asdf", of: any },
    Work {
        name: "delete --in-place",
        prepare: plain,
        words: &["delete", "--in-place", "x.asdf#/list/0"],
        main: "x.asdf",
        of: any,
    },
    Work { name: "rename", prepare: plain, words: &["rename", "x.asdf#/name", "title"], main: "x.asdf", of: any },
    Work {
        name: "rename --in-place",
        prepare: plain,
        words: &["rename", "--in-place", "x.asdf#/name", "title"],
        main: "x.asdf",
        of: any,
    },
    Work { name: "update", prepare: plain, words: &["update", "x.asdf"], main: "x.asdf", of: any },
    Work {
        name: "update --from",
        prepare: with_text,
        words: &["update", "--in-place", "--from", "new.yaml", "x.asdf"],
        main: "x.asdf",
        of: any,
    },
    Work { name: "history add", prepare: plain, words: &["history", "add", "x.asdf", "seen"], main: "x.asdf", of: with_history },
    Work {
        name: "history add --in-place",
        prepare: plain,
        words: &["history", "add", "--in-place", "x.asdf", "seen"],
        main: "x.asdf",
        of: with_history,
    },
    Work { name: "repack to itself", prepare: plain, words: &["repack", "x.asdf", "x.asdf"], main: "x.asdf", of: any },
    Work {
        name: "repack over another",
        prepare: two,
        words: &["repack", "x.asdf", "y.asdf", "--overwrite"],
        main: "y.asdf",
        of: any,
    },
    Work {
        name: "convert to itself",
        prepare: plain,
        words: &["convert", "--codec", "zlib", "x.asdf", "x.asdf"],
        main: "x.asdf",
        of: with_history,
    },
    Work {
        name: "convert to a new file",
        prepare: plain,
        words: &["convert", "x.asdf", "new.asdf", "--overwrite"],
        main: "new.asdf",
        of: any,
    },
    Work {
        name: "convert --to the newest",
        prepare: plain,
        words: &["convert", "--allow-loss", "--to", "asdf-1.6", "x.asdf", "x.asdf"],
        main: "x.asdf",
        of: any,
    },
    Work {
        name: "convert --to the oldest",
        prepare: plain,
        words: &["convert", "--allow-loss", "--to", "finf-0.1", "x.asdf", "x.asdf"],
        main: "x.asdf",
        of: any,
    },
    Work {
        name: "convert to .bd",
        prepare: plain,
        words: &["convert", "--allow-loss", "x.asdf", "x.bd", "--overwrite"],
        main: "x.bd",
        of: newest,
    },
    Work {
        name: "convert to .fits",
        prepare: plain,
        words: &["convert", "--allow-loss", "x.asdf", "x.fits", "--overwrite"],
        main: "x.fits",
        of: newest,
    },
    Work { name: "explode", prepare: plain, words: &["explode", "x.asdf"], main: "x_exploded.asdf", of: any },
    Work {
        name: "explode again",
        prepare: exploded,
        words: &["explode", "--overwrite", "x.asdf"],
        main: "x_exploded.asdf",
        of: newest,
    },
    Work {
        name: "explode other elements again",
        prepare: exploded_others,
        words: &["explode", "--overwrite", "x.asdf"],
        main: "x_exploded.asdf",
        of: newest,
    },
    Work { name: "implode", prepare: exploded, words: &["implode", "x_exploded.asdf"], main: "x_exploded_all.asdf", of: any },
    Work {
        name: "implode to itself",
        prepare: exploded,
        words: &["implode", "x_exploded.asdf", "-o", "x_exploded.asdf"],
        main: "x_exploded.asdf",
        of: any,
    },
    Work { name: "resolve to itself", prepare: plain, words: &["resolve", "x.asdf", "x.asdf"], main: "x.asdf", of: any },
    Work { name: "append", prepare: streamed, words: &["append", "x.asdf#/table", "rows.npy"], main: "x.asdf", of: streams },
    Work {
        name: "stream",
        prepare: streamed_raw,
        words: &["stream", "x.asdf#/table", "--from", "rows.raw"],
        main: "x.asdf",
        of: streams,
    },
    Work {
        name: "stream, a new array",
        prepare: plain_raw,
        words: &["stream", "x.asdf#/more", "--dtype", "float64", "--row-shape", "2", "--from", "none.raw"],
        main: "x.asdf",
        of: streams,
    },
    Work {
        name: "stream, a new file",
        prepare: plain_raw,
        words: &["stream", "new.asdf#/more", "--dtype", "float64", "--from", "none.raw"],
        main: "new.asdf",
        of: newest,
    },
    Work {
        name: "stream --finalise",
        prepare: streamed_raw,
        words: &["stream", "x.asdf#/table", "--finalise", "--from", "none.raw"],
        main: "x.asdf",
        of: streams,
    },
    Work { name: "append to .bd", prepare: stream, words: &["append", "x.bd#/time", "rows.npy"], main: "x.bd", of: newest },
    Work {
        name: "append one record to .bd",
        prepare: lists,
        words: &["append", "x.bd#/time", "one.npy"],
        main: "x.bd",
        of: newest,
    },
    Work {
        name: "append two lists of .bd",
        prepare: lists,
        words: &["append", "x.bd", "te=rows.npy", "time=rows.npy"],
        main: "x.bd",
        of: newest,
    },
    Work {
        name: "append structs to .bd",
        prepare: lists,
        words: &["append", "x.bd#/pair", "pairs.npy"],
        main: "x.bd",
        of: newest,
    },
    Work {
        name: "append dicts to .bd",
        prepare: lists,
        words: &["append", "x.bd#/run", "n=rows.npy", "te=rows.npy"],
        main: "x.bd",
        of: newest,
    },
    Work {
        name: "append members of records to .bd",
        prepare: record_members,
        words: &["append", "x.bd", "te=rows.npy", "time=rows.npy"],
        main: "x.bd",
        of: newest,
    },
    Work {
        name: "append to .bd with a layout beside it",
        prepare: beside,
        words: &["append", "x.bd#/time", "rows.npy"],
        main: "x.bd",
        of: newest,
    },
    Work {
        name: "append to an array of .bd",
        prepare: counted,
        words: &["append", "x.bd#/time", "rows.npy"],
        main: "x.bd",
        of: newest,
    },
    Work { name: "set --from", prepare: with_rows, words: &["set", "x.asdf#/a", "--from", "rows.npy"], main: "x.asdf", of: any },
    Work {
        name: "set --in-place --from, fits",
        prepare: with_rows,
        words: &["set", "--in-place", "x.asdf#/a", "--from", "rows.npy"],
        main: "x.asdf",
        of: any,
    },
    Work {
        name: "set --in-place of a FITS card",
        prepare: fits_image,
        words: &["set", "--in-place", "x.fits#/fits/0/header/EXPTIME", "7.5"],
        main: "x.fits",
        of: newest,
    },
    Work {
        name: "insert --in-place --from",
        prepare: with_rows,
        words: &["insert", "--in-place", "x.asdf#/b", "--from", "rows.npy"],
        main: "x.asdf",
        of: any,
    },
    Work { name: "delete an array", prepare: plain, words: &["delete", "x.asdf#/a"], main: "x.asdf", of: any },
    Work {
        name: "delete --in-place an array",
        prepare: plain,
        words: &["delete", "--in-place", "x.asdf#/table"],
        main: "x.asdf",
        of: any,
    },
    Work {
        name: "set --from, exploded",
        prepare: exploded_rows,
        words: &["set", "x_exploded.asdf#/a", "--from", "rows.npy"],
        main: "x_exploded.asdf",
        of: any,
    },
    Work { name: "get -o", prepare: plain, words: &["get", "x.asdf#/a", "-o", "a.npy"], main: "a.npy", of: newest },
];

/// The operations on one folder, for two writers at once: what lies in it, and those that can be done there.
pub(crate) fn groups() -> Vec<(Prepare, Vec<&'static Work>)> {
    let newest = Target::latest();
    let on = |prepare: &[Prepare]| -> Vec<&'static Work> {
        let is = |work: &&Work| (work.of)(newest) && prepare.iter().any(|other| std::ptr::fn_addr_eq(work.prepare, *other));
        ALL.iter().filter(is).collect()
    };
    let plain: [Prepare; 4] = [plain, two, with_text, with_rows];
    vec![
        (everything, on(&plain)),
        (streamed_text, [on(&[streamed]), on(&plain)].concat().into_iter().filter(|work| is_short(work)).collect()),
        (exploded_rows, on(&[exploded, exploded_rows])),
        (stream, on(&[stream])),
        (counted, on(&[counted])),
        (lists, on(&[lists])),
        (record_members, on(&[record_members])),
        (beside, on(&[beside])),
    ]
}

/// Enough of the others to meet rows that are appended.
fn is_short(work: &Work) -> bool {
    ["append", "set", "set --in-place", "delete --in-place", "update --from", "repack to itself", "set --from"]
        .contains(&work.name)
}

/// All that the operations on [`plain`] ask for.
fn everything(folder: &Path, target: &'static Target) {
    with_text(folder, target);
    two(folder, target);
    rows(folder, &[4, 2]);
}

fn streamed_text(folder: &Path, target: &'static Target) {
    streamed(folder, target);
    text_of(folder);
}

const LONG: &str = "a text that is longer than the room behind the tree, so that the whole file must be written: 0123456789 \
    0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 \
    0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789";

/// A file with two arrays and room behind its tree.
fn plain(folder: &Path, target: &'static Target) {
    file(&folder.join("x.asdf"), target, "old", false);
}

/// Another one in the way of what will be written.
fn two(folder: &Path, target: &'static Target) {
    plain(folder, target);
    file(&folder.join("y.asdf"), target, "the other", false);
}

fn with_text(folder: &Path, target: &'static Target) {
    plain(folder, target);
    text_of(folder);
}

fn text_of(folder: &Path) {
    let file = trilith::open_asdf(folder.join("x.asdf")).expect("it opens");
    std::fs::write(folder.join("new.yaml"), file.tree().text().replace("old", "new")).expect("it can be written");
}

/// A file whose last array grows, and rows for it.
fn streamed(folder: &Path, target: &'static Target) {
    file(&folder.join("x.asdf"), target, "old", true);
    rows(folder, &[4, 2]);
}

/// A file whose last array grows, its rows as bytes without a header, and an empty file of rows.
fn streamed_raw(folder: &Path, target: &'static Target) {
    file(&folder.join("x.asdf"), target, "old", true);
    raw(folder);
}

fn plain_raw(folder: &Path, target: &'static Target) {
    plain(folder, target);
    raw(folder);
}

fn raw(folder: &Path) {
    let values: Vec<u8> = (0..8u8).flat_map(|n| (f64::from(n) + 100.0).to_ne_bytes()).collect();
    std::fs::write(folder.join("rows.raw"), values).expect("it can be written");
    std::fs::write(folder.join("none.raw"), []).expect("it can be written");
}

fn with_rows(folder: &Path, target: &'static Target) {
    plain(folder, target);
    rows(folder, &[4, 2]);
}

fn exploded_rows(folder: &Path, target: &'static Target) {
    exploded(folder, target);
    rows(folder, &[4, 2]);
}

/// A native Dudley file with records, and more of them.
fn stream(folder: &Path, _: &'static Target) {
    let time = |x: f64| Draft::data(Array::from_slice(&[x, x], &[2]).expect("two elements"));
    let draft = Draft::dict([("other", time(9.0)), ("time", Draft::list([time(0.5), time(1.5)]))]);
    let mut bytes = std::io::Cursor::new(Vec::new());
    draft.write(Byteorder::Little, &trilith::Limits::default(), &mut bytes).expect("it is written");
    std::fs::write(folder.join("x.bd"), bytes.into_inner()).expect("it can be written");
    rows(folder, &[3, 2]);
}

/// A native Dudley file with lists of every kind, and records for them.
fn lists(folder: &Path, _: &'static Target) {
    let text = "#: dialect=2025\np { x = f8[2] }\ntime = [f8[2]]\nte = [f8[2]]\npair = [p]\nrun [\n  /\n    n = f8[2]\n    te = f8[2]\n  ,\n]\n";
    written(folder, text, true);
    rows(folder, &[3, 2]);
    npy(folder, "one.npy", "'<f8'", "(1, 2)", 2);
    npy(folder, "pairs.npy", "[('x', '<f8', (2,))]", "(2,)", 4);
}

/// One whose records have names of their own.
fn record_members(folder: &Path, _: &'static Target) {
    let layout = Layout::read(b"#: dialect=2025\nN : i8\n\"\" = { te = f8[2]  time = f8[2] }[N]\n").expect("a layout");
    let mut filling = trilith::dudley::LayoutValues::default();
    filling.params.push(("N".to_owned(), 1));
    for name in ["te", "time"] {
        filling.data.push((name.to_owned(), Array::from_slice(&[0.5f64, 1.5], &[1, 2]).expect("two elements")));
    }
    let mut bytes = std::io::Cursor::new(Vec::new());
    let storage = trilith::dudley::LayoutStorage::Embedded;
    filling.write(&layout, Byteorder::Little, storage, &trilith::Limits::default(), &mut bytes).expect("it is written");
    std::fs::write(folder.join("x.bd"), bytes.into_inner()).expect("it can be written");
    rows(folder, &[3, 2]);
}

/// One whose layout lies beside it.
fn beside(folder: &Path, _: &'static Target) {
    let text = "#: dialect=2025\ntime = [f8[2]]\n";
    written(folder, text, false);
    std::fs::write(folder.join("x.dud"), text).expect("it can be written");
    rows(folder, &[3, 2]);
}

/// A native file under a layout without parameters, in which every item is one and a half.
fn written(folder: &Path, text: &str, embed: bool) {
    let layout = Layout::read(text.as_bytes()).expect("a layout");
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut new = NewStream::new(&layout, Vec::new());
    new.embed = embed;
    new.write(&mut |entry: &LayoutEntry| element(entry), &mut bytes).expect("it is written");
    std::fs::write(folder.join("x.bd"), bytes.into_inner()).expect("it can be written");
}

fn element(entry: &LayoutEntry) -> trilith::Result<Array> {
    let mut shape = entry.shape.clone();
    let (datatype, order) = trilith::dudley::datatype_of(&entry.resolved_type, &mut shape)?;
    let bytes = [1.5f64; 4].iter().flat_map(|n| n.to_le_bytes()).collect();
    Array::from_bytes(bytes, datatype, order, shape)
}

/// A `.npy` file of so many numbers.
fn npy(folder: &Path, name: &str, descr: &str, shape: &str, count: u8) {
    let head = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((head.len() as u16).to_le_bytes());
    bytes.extend(head.bytes());
    bytes.extend((0..count).flat_map(|n| f64::from(n).to_le_bytes()));
    std::fs::write(folder.join(name), bytes).expect("it can be written");
}

/// A FITS image of bytes (FITS Standard 4.0, section 4).
fn fits_image(folder: &Path, _: &'static Target) {
    let cards = [
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                    1",
        "NAXIS1  =                    4",
        "EXPTIME =                 12.5 / seconds",
        "END",
    ];
    let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:80}").into_bytes()).collect();
    bytes.resize(2880, b' ');
    bytes.extend([1, 2, 3, 4]);
    bytes.resize(5760, 0);
    std::fs::write(folder.join("x.fits"), bytes).expect("it can be written");
}

fn counted(folder: &Path, _: &'static Target) {
    let layout = Layout::read(b"#: dialect=2025\nN : i8\ntime = f8[N, 2]\n").expect("a layout");
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut time = |_: &LayoutEntry| Array::from_slice(&[0.5f64, 1.5], &[1, 2]);
    NewStream::new(&layout, vec![1]).write(&mut time, &mut bytes).expect("it is written");
    std::fs::write(folder.join("x.bd"), bytes.into_inner()).expect("it can be written");
    rows(folder, &[3, 2]);
}

fn rows(folder: &Path, shape: &[u64]) {
    let values: Vec<f64> = (0..shape.iter().product::<u64>()).map(|n| n as f64 + 100.0).collect();
    let mut npy = Vec::new();
    Array::from_slice(&values, shape).expect("as many elements").write_npy(&mut npy).expect("memory");
    std::fs::write(folder.join("rows.npy"), npy).expect("it can be written");
}

/// What `explode` makes of a file.
fn exploded(folder: &Path, target: &'static Target) {
    plain(folder, target);
    let words = ["trilith", "explode", "--quiet"].map(std::ffi::OsString::from).into_iter();
    assert_eq!(trilith_cli::run(words.chain([folder.join("x.asdf").into_os_string()])), 0);
    file(&folder.join("x.asdf"), target, "changed", false);
}

/// The exploded form of a file, and the file with one array replaced.
fn exploded_others(folder: &Path, target: &'static Target) {
    exploded(folder, target);
    rows(folder, &[40]);
    let words = ["trilith", "set", "--quiet", "--from"].map(std::ffi::OsString::from).into_iter();
    let files = [folder.join("rows.npy").into_os_string(), format!("{}#/a", folder.join("x.asdf").display()).into()];
    assert_eq!(trilith_cli::run(words.chain(files)), 0);
}

fn file(path: &Path, target: &'static Target, name: &str, streamed: bool) {
    let mut options = trilith::asdf::WriteOptions::default();
    options.tree_padding = 200;
    let mut builder = AsdfBuilder::new(target).with_options(options);
    let one: Vec<f64> = (0..40).map(f64::from).collect();
    let a = builder.array(&Array::from_slice(&one, &[40]).expect("40 elements"), &ArrayOptions::default()).expect("an array");
    let last = if streamed { ArrayOptions::streamed() } else { ArrayOptions::default() };
    let table = builder.array(&Array::from_slice(&one, &[20, 2]).expect("40 elements"), &last).expect("an array");
    let list = Value::seq([1, 2, 3]);
    builder.write(path, Value::map([("name", name.into()), ("a", a), ("list", list), ("table", table)])).expect("it is written");
}
