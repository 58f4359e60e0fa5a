//! Between the families and back.

use std::io::Cursor;
use std::sync::Arc;

use crate::Limits;
use crate::asdf::{ArrayOptions, Target};
use crate::bytes::MemorySource;
use crate::convert::{asdf_to_draft, describe_layout, stream_to_asdf};
use crate::dudley::DudleyFile;
use crate::layout::{Byteorder, Layout};

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

#[test]
fn a_tree_survives_the_way_through_a_stream() {
    let file = crate::file::open_asdf_bytes(TREE.as_bytes().to_vec()).unwrap();
    let (draft, losses) = asdf_to_draft(&file).unwrap();
    assert_eq!(losses, []);
    let mut out = Cursor::new(Vec::new());
    draft.write(Byteorder::Big, &Limits::default(), &mut out).unwrap();
    let stream = DudleyFile::open(Arc::new(MemorySource::new(out.into_inner(), "x.bd")), None, &Limits::default()).unwrap();
    assert_eq!(stream.array_at("/deep/data").unwrap().load::<i16>().unwrap(), [1, 2, 3, 4]);
    assert_eq!(stream.array_at("/list[1]/inner/x").unwrap().load::<i64>().unwrap(), [1, 2]);
    let mut out = Cursor::new(Vec::new());
    let losses = stream_to_asdf(&stream, Target::newest(), &ArrayOptions::inline(), false, &mut out).unwrap();
    assert_eq!(losses, []);
    let back = crate::file::open_asdf_bytes(out.into_inner()).unwrap();
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
fn a_stream_survives_the_way_through_a_tree() {
    let text = b"#: dialect=2025, title=\"run\"\nN : 3  ## how many\nt = <i4[N]  ## kelvin\n#: unit=\"K\", range=[1, 2]\ng/ s = {a = <u2  b = u1}[2]\n";
    let bytes: Vec<u8> = (0..32).collect();
    let layout = Layout::read(text).unwrap();
    let stream = DudleyFile::open(Arc::new(MemorySource::new(bytes, "x")), Some(layout), &Limits::default()).unwrap();
    let mut out = Cursor::new(Vec::new());
    stream_to_asdf(&stream, Target::newest(), &ArrayOptions::default(), false, &mut out).unwrap();
    let tree = crate::file::open_asdf_bytes(out.into_inner()).unwrap();
    assert_eq!(tree.tree().root().get("N").unwrap().as_i64(), Some(3));
    assert_eq!(tree.tree().root().get("title").unwrap().text(), "run");
    let (draft, _) = asdf_to_draft(&tree).unwrap();
    let (text, _) = draft.layout().unwrap();
    assert!(text.contains("N : 3\n  ## how many"), "{text}");
    assert!(text.contains("t = i4[3]\n  ## kelvin\n  #: unit=\"K\"\n  #: range=[1, 2]\n"), "{text}");
    assert!(text.contains("s = {a = u2  b = u1}[2]"), "{text}");
}

#[test]
fn a_layout_of_a_file_of_blocks_reads_the_same_bytes() {
    use crate::array::Array;
    use crate::asdf::Builder;
    use crate::tree::Value;
    let mut builder = Builder::new(Target::newest());
    let plain = builder.array(&Array::from_slice(&[1.0f64, 2.0, 3.0], &[3]).unwrap(), &ArrayOptions::default()).unwrap();
    let packed =
        builder.array(&Array::from_slice(&[7i32; 1000], &[10, 100]).unwrap(), &ArrayOptions::codec("zlib").unwrap()).unwrap();
    let mut out = Cursor::new(Vec::new());
    builder.write_to(&mut out, Value::map([("a b", plain), ("c", packed)])).unwrap();
    let bytes = out.into_inner();
    let file = crate::file::open_asdf_bytes(bytes.clone()).unwrap();
    let text = describe_layout(&file).unwrap();
    let layout = Layout::read(text.as_bytes()).unwrap();
    let stream = DudleyFile::open(Arc::new(MemorySource::new(bytes, "x")), Some(layout), &Limits::default()).unwrap();
    assert_eq!(stream.array_at("/\"a b\"").unwrap().load::<f64>().unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(stream.array_at("/c").unwrap().len(), file.sections().block(1).unwrap().used);
    assert!(text.contains("asdf_compression=\"zlib\"") && text.contains("asdf_shape=[10, 100]"), "{text}");
}

#[test]
fn an_attribute_of_the_name_of_an_item_stays_beside_it() {
    let layout = b"#: x=\"of the root\", asdf_library=\"mine\", y=3\nx = |u1[2]\ng/\n  #: z=\"inner\", w=2\n  z = |u1[1]\n  ..\n";
    let layout = crate::layout::parse(layout, &Default::default()).unwrap().layout.unwrap();
    let data = Arc::new(MemorySource::new(vec![1, 2, 3], "x.dat"));
    let stream = DudleyFile::open(data, Some(layout), &Limits::default()).unwrap();
    let mut out = Cursor::new(Vec::new());
    let losses = stream_to_asdf(&stream, Target::newest(), &ArrayOptions::inline(), false, &mut out).unwrap();
    assert_eq!(losses, []);
    let file = crate::file::open_asdf_bytes(out.into_inner()).unwrap();
    let (draft, losses) = asdf_to_draft(&file).unwrap();
    assert_eq!(losses, []);
    let mut out = Cursor::new(Vec::new());
    draft.write(Byteorder::Little, &Limits::default(), &mut out).unwrap();
    let back = DudleyFile::open(Arc::new(MemorySource::new(out.into_inner(), "x.bd")), None, &Limits::default()).unwrap();
    let text = back.layout().print();
    for said in ["x=\"of the root\"", "asdf_library=\"mine\"", "y=3", "z=\"inner\"", "w=2"] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}
