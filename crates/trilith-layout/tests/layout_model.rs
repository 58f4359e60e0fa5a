//! Random layouts beside a model of the two Dudley documents: where every item lies, the bytes of written files, of files that
//! were appended to, and what is read back. The model computes addresses and bytes itself, and parses nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test may stop where something is not as expected, and writes files of its own"
)]

#[path = "layout_model/document.rs"]
mod document;
#[path = "layout_model/maker.rs"]
mod maker;
#[path = "layout_model/walk.rs"]
mod walk;

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;

use document::{Dice, Printer, Step};
use maker::Maker;
use trilith_array::Array;
use trilith_io::bytes::MemorySource;
use trilith_layout::Limits;
use trilith_layout::dudley::{self, DudleyFile, NewStream};
use trilith_layout::layout::{Byteorder, Dialect, EvaluateOptions, Layout, LayoutEntry, ResolvedType, StreamEntryKind};
use walk::{Kind, Placed, Walk};

/// A layout, and what the model says of it.
struct Model {
    text: String,
    more: String,
    /// Number of items and of stored parameters before any are appended.
    before: (usize, usize),
    /// Where the items of the first layout end.
    first_total: u64,
    total: u64,
    stored: Vec<i64>,
    items: Vec<Placed>,
    file_order: Byteorder,
}

impl Model {
    fn of(seed: u64, is_old: bool, used: &mut BTreeMap<&'static str, u64>) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.below(2);
        let file_big = dice.one_in(4);
        let order = if is_old && dice.one_in(5) { Some(dice.one_in(2)) } else { None };
        let mut head = format!("#: dialect={}\n", if is_old { 2025 } else { 2026 });
        let mut count = |construct: &'static str| *used.entry(construct).or_default() += 1;
        if let Some(big) = order {
            count("order of the layout");
            head = format!("{}\n{head}", if big { '>' } else { '<' });
        }
        let mut maker = Maker::new(&mut dice, is_old);
        let (mut steps, mut block) = (Vec::new(), 0);
        if is_old && maker.dice.one_in(4) {
            steps = maker.block();
            block = steps.len();
        } else if maker.dice.one_in(4) {
            count("redefined primitive");
            head += &maker.redefine();
        }
        steps.extend(maker.root(6));
        let more: Vec<Step> = maker.root(2);
        let (counts, mut values) = (maker.counts.clone(), vec![0; maker.params]);
        maker.fixed.iter().for_each(|(number, value)| values[*number] = *value);
        let start = if is_old { 16 } else { 0 };
        let mut walk = Walk {
            dice: &mut dice,
            big: order.unwrap_or(file_big),
            cursor: start,
            total: start,
            values,
            counts,
            stored: Vec::new(),
            items: Vec::new(),
            lengths: HashMap::new(),
            references: 0,
        };
        walk.steps("", &steps, false);
        let (before, first_total) = ((walk.items.len(), walk.stored.len()), walk.total);
        walk.steps("", &more, false);
        let Walk { total, stored, items, .. } = walk;
        let mut printed = |steps: &[Step], block: usize| {
            let mut printer = Printer { is_old, dice: &mut dice, used, out: String::new() };
            printer.steps(steps, block, &mut Vec::new(), &mut Vec::new());
            printer.out
        };
        let mut text = head + &printed(&steps, block);
        let more = printed(&more, 0);
        if is_old && dice.one_in(10) {
            *used.entry("terminator").or_default() += 1;
            text += "/\n---\nwhatever\n";
        }
        let file_order = if file_big { Byteorder::Big } else { Byteorder::Little };
        Self { text, more, before, first_total, total, stored, items, file_order }
    }

    /// Compares a file, from its first byte to the layout.
    fn check_file(&self, file: &[u8], items: &[Placed], total: u64, is_old: bool, about: &str) {
        let sign = if self.file_order == Byteorder::Big { b'>' } else { b'<' };
        assert_eq!(file[..8], [0x8d, sign, b'B', b'D', b'\r', b'\n', 0x1a, b'\n'], "{about}");
        let base = if is_old { 0 } else { 16 };
        let header: [u8; 8] = file[8..16].try_into().unwrap();
        let at = if self.file_order == Byteorder::Big { u64::from_be_bytes(header) } else { u64::from_le_bytes(header) };
        assert_eq!(at, base + total, "{about}");
        for item in items.iter().filter(|item| item.kind != Kind::Instances) {
            let Some(at) = item.at else { continue };
            let at = (base + at) as usize;
            assert!(file[at..at + item.bytes.len()] == item.bytes[..], "{} {about}", item.path);
        }
    }
}

/// The bytes of items by their paths, as arrays.
fn supply<'m>(items: &'m HashMap<&str, &Vec<u8>>) -> impl FnMut(&LayoutEntry) -> trilith_layout::Result<Array> + 'm {
    |entry| {
        let mut shape = entry.shape.clone();
        let (datatype, order) = dudley::datatype_of(&entry.resolved_type, &mut shape)?;
        Array::from_bytes(items[entry.path.as_str()].clone(), datatype, order, shape)
    }
}

/// Path, address, shape, bytes, and whether it is a parameter or has instances.
type Seen = (String, Option<u64>, Vec<u64>, u64, Kind);

fn seen(entry: &LayoutEntry) -> Seen {
    let kind = match (entry.kind, &entry.resolved_type) {
        (StreamEntryKind::Param, _) => Kind::Param,
        (_, ResolvedType::Dynamic) => Kind::Instances,
        _ => Kind::Data,
    };
    (entry.path.clone(), entry.address, entry.shape.clone(), entry.nbytes.unwrap_or(u64::MAX), kind)
}

fn expected(items: &[Placed]) -> Vec<Seen> {
    items.iter().map(|item| (item.path.clone(), item.at, item.shape.clone(), item.size, item.kind)).collect()
}

fn check(seed: u64, is_old: bool, folder: &std::path::Path, used: &mut BTreeMap<&'static str, u64>) -> usize {
    let model = Model::of(seed, is_old, used);
    let about = format!("seed {seed}\n{}", model.text);
    let layout = Layout::read(model.text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{about}"));
    assert_eq!(layout.dialect() == Dialect::D2025, is_old, "{about}");
    // The place of every item.
    let mut options = EvaluateOptions::default();
    (options.is_native, options.byteorder) = (true, Some(model.file_order));
    let first = &model.items[..model.before.0];
    let stored = model.stored[..model.before.1].to_vec();
    let found = layout.evaluate_with(&options, &stored).unwrap_or_else(|error| panic!("{error}\n{about}"));
    let entries: Vec<Seen> = found.entries().map(|entry| seen(&entry.unwrap())).collect();
    assert_eq!(entries, expected(first), "{about}");
    assert_eq!(found.total(), Some(model.first_total), "{about}");
    // Each by its path alone.
    // Several parameters of one name and dict (2026) have one path.
    for item in first.iter().filter(|item| is_old || item.kind != Kind::Param) {
        let entry = found.find(&item.path).unwrap().unwrap_or_else(|| panic!("no {} {about}", item.path));
        assert_eq!((entry.address, entry.nbytes), (item.at, Some(item.size)), "{} {about}", item.path);
    }
    // The bytes of a new file.
    let mut new = NewStream::new(&layout, stored);
    new.order = model.file_order;
    let mut out = Cursor::new(Vec::new());
    let given: HashMap<&str, &Vec<u8>> = model.items.iter().map(|item| (item.path.as_str(), &item.bytes)).collect();
    new.write(&mut supply(&given), &mut out).unwrap_or_else(|error| panic!("{error}\n{about}"));
    model.check_file(out.get_ref(), first, model.first_total, is_old, &about);
    // More items behind it.
    let path = folder.join("x.bd");
    std::fs::write(&path, out.get_ref()).unwrap();
    let about = format!("{about}+ {}", model.more);
    dudley::append(&path, &model.more, &model.stored[model.before.1..], &mut supply(&given), &Limits::default())
        .unwrap_or_else(|error| panic!("{error}\n{about}"));
    let written = std::fs::read(&path).unwrap();
    model.check_file(&written, &model.items, model.total, is_old, &about);
    // Read it back.
    let file = DudleyFile::open(std::sync::Arc::new(MemorySource::new(written, "x.bd")), None, &Limits::default()).unwrap();
    let items = file.locate_items().unwrap();
    let entries: Vec<LayoutEntry> = items.entries().map(|entry| entry.unwrap()).collect();
    assert_eq!(entries.iter().map(seen).collect::<Vec<_>>(), expected(&model.items), "{about}");
    let mut values = model.stored.iter();
    for (entry, item) in entries.iter().zip(&model.items) {
        match item.kind {
            Kind::Data => {
                let read = items.array_at(&entry.path).and_then(|array| array.read_bytes(Byteorder::Little));
                let read = read.unwrap_or_else(|error| panic!("{}: {error}\n{about}", entry.path));
                assert!(read == item.packed, "{} {about}", entry.path);
            }
            Kind::Param => assert_eq!(entry.value, values.next().copied(), "{} {about}", entry.path),
            Kind::Instances => {}
        }
    }
    // The outline has every array, too.
    let outline = file.outline().unwrap_or_else(|error| panic!("{error}\n{about}"));
    let arrays = outline.arrays().count();
    assert_eq!(arrays, model.items.iter().filter(|item| item.kind == Kind::Data).count(), "{about}");
    model.items.len()
}

#[test]
fn random_layouts_match_model() {
    let seeds = trilith_sample::sample("layouts", (0..1500).collect(), 10);
    let folder = tempfile::tempdir().unwrap();
    let (mut layouts, mut items, mut used) = (0, 0, BTreeMap::new());
    for (seed, is_old) in seeds.into_iter().flat_map(|seed| [(seed, true), (seed, false)]) {
        items += check(seed, is_old, folder.path(), &mut used);
        layouts += 1;
    }
    eprintln!("{layouts} layouts of {items} items: resolved, written, appended to and read back as the model says");
    eprintln!("{used:?}");
    // The complete run leaves no construct out; a sample may lack a rare one.
    if trilith_sample::is_sampled() {
        return;
    }
    for construct in [
        "& item",
        "*PARAM",
        "*n",
        "..",
        "/ to the top",
        "S1",
        "U1",
        "U2",
        "U4",
        "b1",
        "c16",
        "c4",
        "c8",
        "complex member of a struct",
        "dict in a list",
        "empty name",
        "list extended by its last dict",
        "list in a list",
        "named struct",
        "order prefix",
        "typedef",
        "instance of a typedef",
        "stored parameter in a struct",
        "summary block",
        "terminator",
        "redefined primitive",
    ] {
        assert!(used.get(construct).is_some_and(|count| *count > 0), "{construct} never occurs");
    }
}
