//! A family that the library does not know: whatever is written against `File` and `Item` works on it, too.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where the source is not as expected")]

use std::sync::Arc;

use trilith::array::Byteorder;
use trilith::bytes::{BaseUri, MemorySource, SourceRef};
use trilith::check::{DiffOptions, DifferenceKind, VerifyDepth};
use trilith::convert::{ConvertOptions, TargetForm};
use trilith::file::{
    Backend, ChildItem, ExpandEvent, ExpandOptions, ItemLocation, expand_item, is_same_file, missing_item_error,
};
use trilith::tree::Scalar;
use trilith::tree::{PrintOptions, print_document};
use trilith::{Array, Datatype, Error, File, ItemKind, Limits, OpenOptions, Result, s};

/// A file of bytes in rows of two: `/rows` is the list of them, `/title` what the file says of itself.
#[derive(Debug)]
struct Rows {
    source: SourceDebug,
    limits: Limits,
    title: String,
}

struct SourceDebug(SourceRef);

impl std::fmt::Debug for SourceDebug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bytes")
    }
}

const ROWS: usize = 1;
const TITLE: usize = 2;
const FIRST: usize = 3;

impl Backend for Rows {
    fn family(&self) -> &str {
        "rows"
    }

    fn source(&self) -> &SourceRef {
        &self.source.0
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn kind(&self, at: &ItemLocation) -> ItemKind {
        match at {
            ItemLocation::Node(0) => ItemKind::Mapping,
            ItemLocation::Node(ROWS) => ItemKind::List,
            ItemLocation::Node(TITLE) => ItemKind::Text,
            _ => ItemKind::Array,
        }
    }

    fn children(&self, at: &ItemLocation) -> Result<Vec<ChildItem<'_>>> {
        let child =
            |name: Option<&'static str>, number| ChildItem { name: name.map(Into::into), place: ItemLocation::Node(number) };
        Ok(match at {
            ItemLocation::Node(0) => vec![child(Some("rows"), ROWS), child(Some("title"), TITLE)],
            ItemLocation::Node(ROWS) => (0..self.source.0.len() as usize / 2).map(|n| child(None, FIRST + n)).collect(),
            _ => Vec::new(),
        })
    }

    fn value(&self, at: &ItemLocation) -> Result<Scalar<'_>> {
        match at {
            ItemLocation::Node(TITLE) => Ok(Scalar::Str(self.title.as_str().into())),
            _ => Err(Error::invalid_input("not a single value")),
        }
    }

    fn array(&self, at: &ItemLocation) -> Result<Array> {
        match at {
            ItemLocation::Node(number) if *number >= FIRST => {
                let offset = 2 * (number - FIRST) as u64;
                Array::new(self.source.0.clone(), offset, Datatype::Uint8, Byteorder::Little, vec![2])
            }
            _ => Err(Error::invalid_input("not an array")),
        }
    }

    fn rebased_to(self: Arc<Self>, _: &BaseUri) -> Result<Arc<dyn Backend>> {
        Ok(self)
    }
}

fn rows(bytes: &[u8], title: &str) -> File {
    let source: SourceRef = Arc::new(MemorySource::new(bytes.to_vec(), "rows"));
    File::new(Rows { source: SourceDebug(source), limits: Limits::default(), title: title.to_owned() })
}

#[test]
fn its_items_are_found_and_walked() {
    let file = rows(&[1, 2, 3, 4], "x");
    assert_eq!(file.array("/rows/1").unwrap().load::<u8>().unwrap(), [3, 4]);
    assert_eq!(file.item("/title").unwrap().text().unwrap(), "x");
    assert!(file.item("/rows/2").is_err());
    let mut paths = Vec::new();
    let root = file.root();
    let mut walk = root.walk();
    while let Some(visit) = walk.try_next().unwrap() {
        paths.push((walk.path(), visit.item.kind()));
    }
    let expected = [
        (String::new(), ItemKind::Mapping),
        ("/rows".to_owned(), ItemKind::List),
        ("/rows/0".to_owned(), ItemKind::Array),
        ("/rows/1".to_owned(), ItemKind::Array),
        ("/title".to_owned(), ItemKind::Text),
    ];
    assert_eq!(paths, expected);
}

#[test]
fn its_items_are_found_from_each_other() {
    let file = rows(&[1, 2, 3, 4], "x");
    let root = file.shared_root();
    let row = root.find("rows/1").unwrap().unwrap();
    assert_eq!((row.kind(), row.path().unwrap()), (ItemKind::Array, "/rows/1".to_owned()));
    assert_eq!(root.get("rows").unwrap().unwrap().get("1").unwrap().unwrap().path(), row.path());
    for nothing in ["rows/2", "rows/01", "rows/-1", "title/x", "nothing", "~2"] {
        assert!(root.find(nothing).unwrap().is_none(), "{nothing}");
    }
    assert!(missing_item_error(&root, "rows/2").to_string().contains("a list of 2 items"));
    let keys: Vec<_> = root.keyed_children().unwrap().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [Some(Scalar::Str("rows".into())), Some(Scalar::Str("title".into()))]);
    let rows = root.get("rows").unwrap().unwrap();
    assert!(rows.keyed_children().unwrap().iter().all(|(key, item)| key.is_none() && is_same_file(item, &root)));
    // The file stays open as long as an item of it does.
    drop(file);
    assert_eq!(row.array().unwrap().load::<u8>().unwrap(), [3, 4]);
    assert!(row.attributes().unwrap().is_empty() && row.unit().is_none() && !row.flags().is_hidden);
}

#[test]
fn list_of_arrays_reads_as_one_array() {
    let all = rows(&[1, 2, 3, 4, 5, 6], "x").item("/rows").unwrap().as_array().unwrap();
    assert_eq!(all.shape(), [3, 2]);
    assert_eq!(all.slice(s![1.., 0]).unwrap().load::<u8>().unwrap(), [3, 5]);
}

#[test]
fn it_is_digested_verified_and_compared() {
    let (a, b) = (rows(&[1, 2, 3, 4], "x"), rows(&[1, 2, 3, 5], "y"));
    let digests = a.digest().unwrap();
    assert_eq!(digests.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["/rows/0", "/rows/1"]);
    assert!(a.verify(VerifyDepth::Decoded, trilith::Progress::default()).unwrap().is_ok());
    let options = DiffOptions::default();
    assert!(a.diff(&rows(&[1, 2, 3, 4], "x"), &options).unwrap().is_empty());
    let found = a.diff(&b, &options).unwrap();
    let found: Vec<_> = found.iter().map(|one| (one.path.as_str(), one.kind)).collect();
    assert_eq!(found, [("/rows/1", DifferenceKind::Elements), ("/title", DifferenceKind::Value)]);
}

#[test]
fn expand_yields_array_descriptions_or_values() {
    let file = rows(&[1, 2], "x");
    let mut said = Vec::new();
    expand_item(&file.root(), ExpandOptions::default(), |_, part| {
        said.push(match part {
            ExpandEvent::Mapping => "{".to_owned(),
            ExpandEvent::List => "[".to_owned(),
            ExpandEvent::End => "end".to_owned(),
            ExpandEvent::Key(name) => name.into_owned(),
            ExpandEvent::Scalar(scalar) => format!("{scalar:?}"),
            ExpandEvent::Description(found) => format!("{} {:?}", found.datatype, found.shape),
            other => panic!("{other:?}"),
        });
        Ok(())
    })
    .unwrap();
    assert_eq!(said, ["{", "rows", "[", "uint8 [2]", "end", "title", "Str(\"x\")", "end"]);
    let (value, _) = file.root().to_value().unwrap();
    assert!(print_document(&value, &PrintOptions::default()).contains("rows:\n- [1, 2]\ntitle: x\n"));
}

#[test]
fn converts_to_every_array_format() {
    for (to, family) in [("asdf-1.6", "asdf"), ("finf-0.1", "finf"), ("dudley-2025", "dudley"), ("dudley-2026", "dudley")] {
        let file = rows(&[1, 2, 3, 4], "a title");
        let mut options = ConvertOptions::default();
        options.to = TargetForm::from_name(to).unwrap();
        let mut out = std::io::Cursor::new(Vec::new());
        let done = file.convert_into(&options, &mut out, trilith::Progress::default()).unwrap();
        assert!(done.written && done.losses.is_empty(), "{to}: {done:?}");
        let made = OpenOptions::new().open_bytes(out.into_inner()).unwrap();
        assert_eq!(made.family(), family);
        assert_eq!(made.array("/rows/1").unwrap().load::<u8>().unwrap(), [3, 4], "{to}");
        let differences = file.diff(&made, &DiffOptions::default()).unwrap();
        let named: Vec<_> = differences.iter().map(|difference| &difference.path).collect();
        assert!(differences.iter().all(|difference| difference.path != "/rows/0"), "{to}: {named:?}");
    }
    let mut options = ConvertOptions::default();
    options.to = TargetForm::Fits;
    let mut out = std::io::Cursor::new(Vec::new());
    assert!(rows(&[1, 2], "x").convert_into(&options, &mut out, trilith::Progress::default()).unwrap().written);
    let made = OpenOptions::new().open_bytes(out.into_inner()).unwrap();
    assert_eq!(made.array("/rows/0").unwrap().load::<u8>().unwrap(), [1, 2]);
    // Options that only a copy can have: a chain, another alignment, a codec for each block.
    let mut options = ConvertOptions::default();
    options.set_codec("auto").unwrap();
    options.write_options.align = Some(4096);
    let mut out = std::io::Cursor::new(Vec::new());
    assert!(rows(&[1, 2], "x").convert_into(&options, &mut out, trilith::Progress::default()).unwrap().written);
}

#[test]
fn what_only_asdf_has_is_refused_by_name() {
    let error = rows(&[], "x").edit().map(drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot edit rows: it is rows, and only ASDF files and the headers of FITS files are edited; convert it to ASDF first, which keeps arrays, groups and attributes, and lists what is lost"
    );
    assert!(rows(&[], "x").into_asdf().is_err());
}
