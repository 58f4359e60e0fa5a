//! The kinds of files: each is a folder with one file that commands are given, and what belongs to it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use trilith::asdf::{TARGETS, WriteOptions};
use trilith::dudley::Draft;
use trilith::layout::Byteorder;
use trilith::tree::Value;
use trilith::{Array, ArrayOptions, AsdfBuilder, Target};

use super::content::Content;

/// A kind of file, ready to be laid out.
pub(crate) struct Kind {
    pub name: String,
    /// The name of the main file.
    pub file: String,
    pub family: Kindred,
    /// All files by name, the main one too.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The layout to read it under, if it has none of its own.
    pub layout: Option<&'static str>,
    /// What it holds.
    pub content: Content,
}

/// Which places a kind has to set, and which commands it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kindred {
    Asdf,
    Exploded,
    Embedded,
    Fits,
    Dudley,
    /// A layout or a C source: for the commands of `layout`.
    Text,
}

impl Kindred {
    pub(crate) fn is_fits(self) -> bool {
        matches!(self, Self::Embedded | Self::Fits)
    }
}

impl Kind {
    /// What stands behind the last dot, or `fits.gz`.
    pub(crate) fn ending(&self) -> &str {
        self.file.split_once('.').map_or("", |(_, ending)| ending)
    }
}

/// Every kind, in the order of the table in the documentation.
pub(crate) fn all() -> Vec<Kind> {
    let mut kinds: Vec<Kind> = TARGETS.iter().rev().map(|target| plain(target, target.name)).collect();
    let newest = Target::latest();
    kinds.push(made("exploded", "x_exploded.asdf", Kindred::Exploded, |folder| {
        file(&folder.join("x.asdf"), newest, Shape::Plain);
        run(&["explode".into(), folder.join("x.asdf").into()]);
        std::fs::remove_file(folder.join("x.asdf")).expect("it is there");
    }));
    kinds.push(made("streamed", "x.asdf", Kindred::Asdf, |folder| file(&folder.join("x.asdf"), newest, Shape::Streamed)));
    kinds.push(made("with a block that no array names", "x.asdf", Kindred::Asdf, unnamed));
    kinds.push(made("with arrays in chunks", "x.asdf", Kindred::Asdf, |folder| {
        let (plain, path) = (folder.join("plain.asdf"), folder.join("x.asdf"));
        file(&plain, newest, Shape::Plain);
        run(&["convert".into(), plain.clone().into(), path.into(), "--chunks".into(), "16".into()]);
        std::fs::remove_file(plain).expect("it is there");
    }));
    kinds.push(made("FITS", "x.fits", Kindred::Fits, |folder| write(&folder.join("x.fits"), &fits())));
    kinds.push(made("FITS with ASDF", "x.fits", Kindred::Embedded, |folder| embedded(folder, "x.fits")));
    kinds.push(made("FITS, gzip", "x.fits.gz", Kindred::Fits, |folder| write(&folder.join("x.fits.gz"), &gzip(&fits()))));
    kinds.push(made("FITS with ASDF, gzip", "x.fits.gz", Kindred::Embedded, |folder| {
        embedded(folder, "y.fits");
        let plain = std::fs::read(folder.join("y.fits")).expect("it is there");
        std::fs::remove_file(folder.join("y.fits")).expect("it is there");
        write(&folder.join("x.fits.gz"), &gzip(&plain));
    }));
    kinds.push(made(".bd", "x.bd", Kindred::Dudley, stream));
    kinds.push(made(".bd with a separate layout", "x.bd", Kindred::Dudley, |folder| {
        write(&folder.join("x.bd"), &raw());
        write(&folder.join("l.dud"), LAYOUT.as_bytes());
    }));
    kinds.push(made("layout", "x.dud", Kindred::Text, |folder| write(&folder.join("x.dud"), LAYOUT.as_bytes())));
    kinds.push(made("C source", "x.h", Kindred::Text, |folder| write(&folder.join("x.h"), b"struct s { double a; int b; };\n")));
    kinds.push(made(".npy", "x.npy", Kindred::Text, |folder| {
        let header = trilith::array::npy_header(&trilith::Datatype::Float64, &[2]).expect("a header");
        write(&folder.join("x.npy"), &[header, vec![0; 16]].concat());
    }));
    kinds
}

/// The layout as a template, which a catalog needs.
pub(crate) const TEMPLATE: &str = "#: dialect=2025\n{ N : <i8 }\na = <f8[40]\ntime = <f8[N, 2]\n";

/// A layout with a stored parameter, and an array that grows with it.
const LAYOUT: &str = "#: dialect=2025\nN : <i8\na = <f8[40]\ntime = <f8[N, 2]\n";

fn plain(target: &'static Target, name: &str) -> Kind {
    let ending = if name.starts_with("finf") { "x.finf" } else { "x.asdf" };
    made(name, ending, Kindred::Asdf, |folder| file(&folder.join(ending), target, Shape::Plain))
}

/// Makes the files once, in a folder of its own.
fn made(name: &str, main: &str, family: Kindred, make: impl FnOnce(&Path)) -> Kind {
    let folder = tempfile::tempdir().expect("a folder can be made");
    make(folder.path());
    let names = std::fs::read_dir(folder.path()).expect("it can be listed").map(|entry| entry.expect("an entry").path());
    let files = names.map(|path| (path.file_name().map(|name| name.to_string_lossy().into_owned()).expect("a name"), path));
    let files: BTreeMap<String, Vec<u8>> =
        files.map(|(name, path)| (name, std::fs::read(path).expect("it can be read"))).collect();
    let layout = files.contains_key("l.dud").then_some("l.dud");
    let content = if family == Kindred::Text {
        Content::default()
    } else {
        Content::read(&folder.path().join(main), layout.map(|layout| folder.path().join(layout)).as_deref())
            .expect("it can be read")
    };
    Kind { name: name.to_owned(), file: main.to_owned(), family, files, layout, content }
}

fn run(words: &[OsString]) {
    let words = ["trilith", "--quiet"].map(OsString::from).into_iter().chain(words.iter().cloned());
    assert_eq!(trilith_cli::run(words), 0, "a file of the tests can be made");
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("it can be written");
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Streamed,
    /// With the image of the second HDU of [`fits`].
    WithImage,
}

fn numbers(count: u16) -> Vec<f64> {
    (0..count).map(f64::from).collect()
}

/// The table that rows are added to, as it is and with the rows of [`rows`].
pub(crate) fn table(with_rows: bool) -> Array {
    let mut values = numbers(40);
    if with_rows {
        values.extend(row_values());
    }
    Array::from_slice(&values, &[values.len() as u64 / 2, 2]).expect("as many elements")
}

/// What `append` adds, and `set --from` puts in.
pub(crate) fn rows() -> Array {
    Array::from_slice(&row_values(), &[4, 2]).expect("eight elements")
}

/// Data for the items of [`LAYOUT`], by name.
pub(crate) fn filling() -> [(&'static str, Array); 2] {
    let numbers = |count: u16, shape: &[u64]| Array::from_slice(&numbers(count), shape).expect("as many elements");
    [("a", numbers(40, &[40])), ("time", numbers(4, &[2, 2]))]
}

fn row_values() -> Vec<f64> {
    numbers(8).iter().map(|n| n + 100.0).collect()
}

/// A tree with texts, numbers and three arrays, and room to grow.
fn file(path: &Path, target: &'static Target, shape: Shape) {
    let mut options = WriteOptions::default();
    options.tree_padding = 400;
    let mut builder = AsdfBuilder::new(target).with_options(options);
    let mut array = |array: &Array, how: &ArrayOptions| builder.array(array, how).expect("an array");
    let a = array(&Array::from_slice(&numbers(40), &[40]).expect("40 elements"), &ArrayOptions::default());
    let short = array(&Array::from_slice(&[1i16, -2, 3], &[3]).expect("3 elements"), &ArrayOptions::default());
    let image = (shape == Shape::WithImage).then(|| {
        let pixels: Vec<f32> = image();
        array(&Array::from_slice(&pixels, &[4, 5]).expect("20 elements"), &ArrayOptions::default())
    });
    let last = if shape == Shape::Streamed { ArrayOptions::streamed() } else { ArrayOptions::default() };
    let table = array(&table(false), &last);
    let keep = Value::map([("b", Value::from(2.5)), ("text", "a: b # c".into()), ("none", Value::seq(Vec::<Value>::new()))]);
    let mut items = vec![("name", "old".into()), ("a", a), ("keep", keep), ("short", short), ("list", Value::seq([1, 2, 3]))];
    items.extend(image.map(|image| ("image", image)));
    items.push(("table", table));
    builder.write(path, Value::map(items)).expect("it is written");
}

/// A block more than there are arrays, before the index.
fn unnamed(folder: &Path) {
    let path = folder.join("x.asdf");
    file(&path, Target::latest(), Shape::Plain);
    let mut bytes = std::fs::read(&path).expect("it is there");
    if let Some(index) = bytes.windows(18).position(|at| at == b"#ASDF BLOCK INDEX\n") {
        bytes.truncate(index);
    }
    let data = b"named by number";
    let size = (data.len() as u64).to_be_bytes();
    bytes.extend([b"\xd3BLK\0\x30\0\0\0\0\0\0\0\0", &size[..], &size, &size, &[0; 16], data].concat());
    write(&path, &bytes);
}

fn stream(folder: &Path) {
    let time = |x: f64| Draft::data(Array::from_slice(&[x, x], &[2]).expect("two elements"));
    let a = Draft::data(Array::from_slice(&numbers(40), &[40]).expect("40 elements"));
    let draft = Draft::dict([("a", a), ("time", Draft::list([time(0.5), time(1.5)]))]);
    let mut bytes = std::io::Cursor::new(Vec::new());
    draft.write(Byteorder::Little, &trilith::Limits::default(), &mut bytes).expect("it is written");
    write(&folder.join("x.bd"), &bytes.into_inner());
}

/// What [`LAYOUT`] describes.
fn raw() -> Vec<u8> {
    let numbers = numbers(44).into_iter().flat_map(f64::to_le_bytes);
    2i64.to_le_bytes().into_iter().chain(numbers).collect()
}

fn image() -> Vec<f32> {
    (0..20u8).map(|n| f32::from(n) * 0.5).collect()
}

/// Two HDUs with cards of every sort.
fn fits() -> Vec<u8> {
    let fixed = |keyword: &str, value: &str, comment: &str| format!("{keyword:<8}= {value:>20} / {comment}");
    let primary = [
        fixed("SIMPLE", "T", "conforms to FITS standard"),
        fixed("BITPIX", "32", "array data type"),
        fixed("NAXIS", "2", "number of array dimensions"),
        fixed("NAXIS1", "5", ""),
        fixed("NAXIS2", "3", ""),
        fixed("EXTEND", "T", ""),
        "OBJECT  = 'old     '           / what was looked at".to_owned(),
        "FILTER  = 'F200W / 2'          / a stroke in a text".to_owned(),
        fixed("EXPTIME", "139.8", "[s]"),
        "COMMENT   two comments,".to_owned(),
        "COMMENT   the second".to_owned(),
        "HISTORY   made".to_owned(),
    ];
    let second = [
        "XTENSION= 'IMAGE   '           / an image".to_owned(),
        fixed("BITPIX", "-32", ""),
        fixed("NAXIS", "2", ""),
        fixed("NAXIS1", "5", ""),
        fixed("NAXIS2", "4", ""),
        fixed("PCOUNT", "0", ""),
        fixed("GCOUNT", "1", ""),
        "EXTNAME = 'SCI     '".to_owned(),
    ];
    let pixels = (0..15i32).flat_map(|n| (n * n).to_be_bytes()).collect::<Vec<u8>>();
    let image = image().into_iter().flat_map(f32::to_be_bytes).collect::<Vec<u8>>();
    [hdu(&primary, &pixels), hdu(&second, &image)].concat()
}

fn hdu(cards: &[String], data: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        cards.iter().map(String::as_str).chain(["END"]).flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(2880), 0);
    bytes
}

/// [`fits`] with an ASDF file in it, whose image lies in the second HDU.
fn embedded(folder: &Path, name: &str) {
    let (base, tree) = (folder.join("base.fits"), folder.join("tree.asdf"));
    write(&base, &fits());
    file(&tree, Target::latest(), Shape::WithImage);
    let words = [&base, &tree, &folder.join(name)].map(|path| path.clone().into_os_string());
    run(&["convert".into(), "--embed".into(), words[0].clone(), words[1].clone(), words[2].clone()]);
    std::fs::remove_file(base).expect("it is there");
    std::fs::remove_file(tree).expect("it is there");
}

/// RFC 1952 with stored blocks.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
    let last = bytes.chunks(60_000).count().saturating_sub(1);
    for (number, chunk) in bytes.chunks(60_000).enumerate() {
        let size = chunk.len() as u16;
        out.push(u8::from(number == last));
        out.extend(size.to_le_bytes());
        out.extend((!size).to_le_bytes());
        out.extend(chunk);
    }
    out.extend(crc32(bytes).to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    let byte = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    };
    !bytes.iter().fold(!0, byte)
}
