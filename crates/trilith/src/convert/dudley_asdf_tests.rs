//! Tests of conversion between the format families, there and back.

use std::io::Cursor;
use std::sync::Arc;

use crate::Limits;
use crate::array::Array;
use crate::asdf::{ArrayOptions, AsdfFile, Target};
use crate::bytes::MemorySource;
use crate::convert::{asdf_to_draft, describe_layout, stream_to_asdf};
use crate::dudley::{DudleyFile, NewStream, datatype_of};
use crate::layout::{Byteorder, Dialect, Layout, LayoutEntry};

const TREE: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0
name: \"two: words\"
pi: 3.5
n: -7
yes_no: true
nothing: null
when: 2020-01-02
numbers: [1, 2, 3]
mixed: [1, a, {b: 2.5}]
text: \"line one\\nline two\"
deep:
  unit: !unit/unit-1.0.0 km
  data: !core/ndarray-1.1.0 {data: [[1, 2], [3, 4]], datatype: int16}
list:
- !core/ndarray-1.1.0 [1.5, 2.5]
- inner: {x: !core/ndarray-1.1.0 [1, 2]}
  label: z
- {only: scalars, and: [1, 2]}
- []
- 5
...\n";

fn stream(bytes: Vec<u8>, layout: Option<&[u8]>) -> DudleyFile {
    let layout = layout.map(|text| Layout::read(text).unwrap());
    DudleyFile::open(Arc::new(MemorySource::new(bytes, "x")), layout, &Limits::default()).unwrap()
}

/// The tree of a stream, of which nothing is lost.
fn tree_of(stream: &DudleyFile, arrays: &ArrayOptions) -> AsdfFile {
    let mut out = Cursor::new(Vec::new());
    assert_eq!(stream_to_asdf(stream, Target::latest(), arrays, false, &mut out).unwrap(), []);
    crate::file::open_asdf_bytes(out.into_inner()).unwrap()
}

/// The stream of a tree, of which nothing is lost.
fn stream_of(tree: &AsdfFile, dialect: Dialect, order: Byteorder) -> DudleyFile {
    let (draft, losses) = asdf_to_draft(tree).unwrap();
    assert_eq!(losses, [], "{}", tree.tree().text());
    let mut out = Cursor::new(Vec::new());
    draft.write_as(dialect, order, &Limits::default(), &mut out).unwrap();
    stream(out.into_inner(), None)
}

#[test]
fn tree_round_trip_through_stream() {
    let file = crate::file::open_asdf_bytes(TREE.as_bytes().to_vec()).unwrap();
    let stream = stream_of(&file, Dialect::D2025, Byteorder::Big);
    assert_eq!(stream.array_at("/deep/data").unwrap().load::<i16>().unwrap(), [1, 2, 3, 4]);
    assert_eq!(stream.array_at("/list[1]/inner/x").unwrap().load::<i64>().unwrap(), [1, 2]);
    let back = tree_of(&stream, &ArrayOptions::inline());
    let root = back.tree().root();
    for (old, value) in file.tree().root().entries() {
        let key = old.text();
        let new = root.get(&key).unwrap_or_else(|| panic!("{key} is missing"));
        if value.is_scalar() {
            assert_eq!(value.scalar(), new.scalar(), "{key}");
        }
    }
    assert_eq!(root.get("deep").unwrap().get("unit").unwrap().tag(), Some("tag:stsci.edu:asdf/unit/unit-1.0.0"));
    assert_eq!(root.get("mixed").unwrap().index(2).unwrap().get("b").unwrap().as_f64(), Some(2.5));
    assert_eq!(root.get("numbers").unwrap().len(), 3);
    assert_eq!(back.array_at("/list/0").unwrap().load::<f64>().unwrap(), [1.5, 2.5]);
    let rest = root.get("list").unwrap();
    assert_eq!((rest.len(), rest.index(4).unwrap().as_i64()), (5, Some(5)));
    assert_eq!(rest.index(2).unwrap().get("and").unwrap().len(), 2);
    assert!(rest.index(3).unwrap().is_sequence() && rest.index(3).unwrap().is_empty());
    assert_eq!(root.get("list").unwrap().index(1).unwrap().get("label").unwrap().text(), "z");
}

#[test]
fn stream_round_trip_through_tree() {
    let text = b"#: dialect=2025, title=\"run\"\nN : 3  ## how many\nt = <i4[N]  ## kelvin\n#: unit=\"K\", range=[1, 2]\ng/ s = {a = <u2  b = u1}[2]\n";
    let tree = tree_of(&stream((0..32).collect(), Some(text)), &ArrayOptions::default());
    assert_eq!(tree.tree().root().get("N").unwrap().as_i64(), Some(3));
    assert_eq!(tree.tree().root().get("title").unwrap().text(), "run");
    let (draft, _) = asdf_to_draft(&tree).unwrap();
    let (text, _) = draft.layout().unwrap();
    assert!(text.contains("N : 3\n  ## how many"), "{text}");
    assert!(text.contains("t = i4[N]\n  ## kelvin\n  #: unit=\"K\"\n  #: range=[1, 2]\n"), "{text}");
    assert!(text.contains("s = {a = u2  b = u1}[2]"), "{text}");
}

#[test]
fn described_layout_reads_bytes_of_blocks() {
    use crate::asdf::AsdfBuilder;
    use crate::tree::Value;
    let mut builder = AsdfBuilder::new(Target::latest());
    let plain = builder.array(&Array::from_slice(&[1.0f64, 2.0, 3.0], &[3]).unwrap(), &ArrayOptions::default()).unwrap();
    let packed =
        builder.array(&Array::from_slice(&[7i32; 1000], &[10, 100]).unwrap(), &ArrayOptions::codec("zlib").unwrap()).unwrap();
    let mut out = Cursor::new(Vec::new());
    builder.write_to(&mut out, Value::map([("a b", plain), ("c", packed)])).unwrap();
    let bytes = out.into_inner();
    let file = crate::file::open_asdf_bytes(bytes.clone()).unwrap();
    let text = describe_layout(&file).unwrap();
    let stream = stream(bytes, Some(text.as_bytes()));
    assert_eq!(stream.array_at("/\"a b\"").unwrap().load::<f64>().unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(stream.array_at("/c").unwrap().element_count(), file.sections().block(1).unwrap().used);
    assert!(text.contains("asdf_compression=\"zlib\"") && text.contains("asdf_shape=[10, 100]"), "{text}");
}

#[test]
fn attributes_named_like_items_round_trip() {
    let layout = b"#: x=\"of the root\", asdf_library=\"mine\", y=3\nx = |u1[2]\ng/\n  #: z=\"inner\", w=2\n  z = |u1[1]\n  ..\n";
    let file = tree_of(&stream(vec![1, 2, 3], Some(layout)), &ArrayOptions::inline());
    let back = stream_of(&file, Dialect::D2025, Byteorder::Little);
    let text = back.layout().print();
    for said in ["x=\"of the root\"", "asdf_library=\"mine\"", "y=3", "z=\"inner\"", "w=2"] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}

/// A layout of the two dialects, and the values of its stored parameters: notes on all kinds of items.
const TOLD: [(&str, &[i64]); 2] = [
    (
        "## of the file\n{\n  NREC : i8  ## records\n  t0 = f8  ## (s) start\n  #: unit=\"s\"\n}  ## of the block\n#: about=1\n\
         cell {a = f4  ## (K) inner\n  #: unit=\"K\"\n b = u2[2]}  ## of the type\n#: kind=\"cell\"\n\
         NX : 3  ## across\nx = f8[NX]  ## (m) along\nc = cell[NX-]  ## cells\n\
         d = cell\n\
         deep = {s = {v = i2 ## (1) deep\n} [2]  ## middle\n w = i4[NX]}  ## outer\n\
         \"\" = {time = f8  ## (ns) simulation time\n  #: unit=\"ns\"\n  rho = f4[NX, 2]  ## (g/cm3) density\n}[NREC]  ## records\n",
        &[2],
    ),
    (
        "## of the file\ncell {a: f4  ## (K) inner\n  b: u2(2)}\n#: kind=\"cell\"\nNX = i4  ## across\n\
         c: cell(NX+)  ## cells\nm: {time: f8  ## (ns) time\n  rho: f4(2)\n #: unit=\"g\"\n}(NX)\n",
        &[2],
    ),
];

/// Documentation and attributes in the text of a layout, sorted.
fn notes_of(text: &str) -> Vec<String> {
    let is_note = |line: &&str| line.starts_with("##") || line.starts_with("#:") && *line != "#:";
    let lines = text.split_inclusive('\n').filter_map(|line| line.find('#').map(|at| line.get(at..).unwrap_or("").trim()));
    let lines: Vec<String> = lines
        .map(|line| {
            ["2025, ", "2026, ", "2025", "2026"]
                .iter()
                .fold(line.to_owned(), |line, dialect| line.replace(&format!("dialect={dialect}"), ""))
        })
        .collect();
    let mut notes: Vec<String> = lines.iter().map(|line| line.trim()).filter(is_note).map(str::to_owned).collect();
    notes.sort();
    notes
}

#[test]
fn annotations_of_members_types_and_summary_round_trip() {
    for ((text, params), to) in TOLD.iter().flat_map(|told| [(told, Dialect::D2025), (told, Dialect::D2026)]) {
        let layout = Layout::read(text.as_bytes()).unwrap();
        let mut new = NewStream::new(&layout, params.to_vec());
        new.order = Byteorder::Little;
        let mut out = Cursor::new(Vec::new());
        let mut zeros = |entry: &LayoutEntry| {
            let mut shape = entry.shape.clone();
            let (datatype, order) = datatype_of(&entry.resolved_type, &mut shape)?;
            Array::from_bytes(vec![0; entry.nbytes.unwrap_or(0) as usize], datatype, order, shape)
        };
        new.write(&mut zeros, &mut out).unwrap();
        let stream = stream(out.into_inner(), None);
        let back = stream_of(&tree_of(&stream, &ArrayOptions::default()), to, Byteorder::Little);
        assert_eq!(notes_of(back.layout().text()), notes_of(stream.layout().text()), "{}", back.layout().text());
        if to == stream.layout().dialect() {
            assert_eq!(back.layout().is_template(), stream.layout().is_template(), "{}", back.layout().text());
            let shapes = |file: &DudleyFile| {
                let text = file.layout().text().to_owned();
                ["NX-", "NX+", "[NX, 2]", "}[NREC]", "}(NX)", "[NX]"].map(|dim| text.matches(dim).count())
            };
            assert_eq!(shapes(&back), shapes(&stream), "{}", back.layout().text());
        }
    }
}

#[test]
fn annotations_not_matching_items_are_losses() {
    let mut out = Cursor::new(Vec::new());
    let inline = ArrayOptions::inline();
    let text = "cell {a = f4}  ## of the type\nNX : 3\nx = <f8[NX]\nc = <f4[2]\n#: unit=\"m\"\n";
    let stream = stream(vec![0; 32], Some(text.as_bytes()));
    stream_to_asdf(&stream, Target::latest(), &inline, false, &mut out).unwrap();
    let made = String::from_utf8(out.into_inner()).unwrap();
    assert!(made.contains("schema: asdf://trilith/schemas/annotations-1.0.0"), "{made}");
    for (old, new, path) in
        [("NX: 3", "NX: 4", "/annotations/layout/shapes/x"), ("", "", "cell"), ("/c:", "/gone:", "/annotations/~1gone")]
    {
        let text = made.replace(old, new);
        let file = crate::file::open_asdf_bytes(text.into_bytes()).unwrap();
        let (_, losses) = asdf_to_draft(&file).unwrap();
        assert!(losses.iter().any(|loss| loss.to_string().contains(path)), "{path}: {losses:?}");
    }
}

/// First tier.
#[test]
fn mapping_of_earlier_versions_is_restored() {
    let tree = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
                NX: 2\nx: !core/ndarray-1.1.0 {data: [1.5, 2.5], datatype: float64}\n\
                dudley:\n  dialect: '2025'\n  parameters: [/NX]\n  shapes: {/x: [NX]}\n  docs: {/x: [' along']}\n\
                \x20 attributes: {/x: {unit: m}, /gone: {a: 1}}\n...\n";
    let file = crate::file::open_asdf_bytes(tree.into()).unwrap();
    let (draft, losses) = asdf_to_draft(&file).unwrap();
    assert!(losses.iter().any(|loss| loss.to_string().contains("/dudley/attributes/~1gone")), "{losses:?}");
    let mut out = Cursor::new(Vec::new());
    draft.write_as(Dialect::D2025, Byteorder::Little, &Limits::default(), &mut out).unwrap();
    let text = stream(out.into_inner(), None).layout().print();
    for said in ["NX : 2", "f8[NX]", "## along", "unit=\"m\""] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}

/// First tier.
#[test]
fn items_named_like_annotations_keep_their_names() {
    let layout = b"annotations = |u1[2]\ndudley/\n  #: dialect=\"2025\"\n  x = |u1[1]  ## inner\n  ..\n";
    let file = tree_of(&stream(vec![1, 2, 3], Some(layout)), &ArrayOptions::inline());
    let root = file.tree().root();
    assert_eq!(file.array_at("/annotations").unwrap().load::<u8>().unwrap(), [1, 2]);
    assert_eq!(root.get("dudley").unwrap().get("dialect").unwrap().text(), "2025");
    let said = root.get("annotations_2").unwrap().get("/dudley/x").unwrap();
    assert_eq!(said.get("doc").unwrap().text(), "inner");
    let back = stream_of(&file, Dialect::D2025, Byteorder::Little).layout().print();
    // The mark tells the attribute from the word of the language.
    assert!(back.contains("## inner") && back.contains("\"own:dialect\"=\"2025\""), "{back}");
}
