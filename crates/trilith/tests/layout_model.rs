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
#![cfg(feature = "dudley")]

use std::collections::HashMap;
use std::io::Cursor;

use trilith::array::Array;
use trilith::dudley::{self, DudleyFile, NewStream};
use trilith::layout::{Byteorder, Dialect, Entry, EntryKind, Layout, Options};
use trilith::{Limits, bytes::MemorySource};

/// Numbers that look random, and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }
}

/// Name, size, and alignment in 2025 and 2026.
type Primitive = (&'static str, u64, [u64; 2]);

const PRIMITIVES: [Primitive; 14] = [
    ("u1", 1, [1, 1]),
    ("u2", 2, [2, 2]),
    ("u4", 4, [4, 4]),
    ("u8", 8, [8, 8]),
    ("i1", 1, [1, 1]),
    ("i2", 2, [2, 2]),
    ("i4", 4, [4, 4]),
    ("i8", 8, [8, 8]),
    ("f2", 2, [2, 2]),
    ("f4", 4, [4, 4]),
    ("f8", 8, [8, 8]),
    ("c4", 4, [4, 2]),
    ("c8", 8, [8, 4]),
    ("c16", 16, [16, 8]),
];

/// Path, address, shape and bytes of an item; an address of None is no data.
type Placed = (String, Option<u64>, Vec<u64>, Vec<u8>);

#[derive(Clone)]
enum Type {
    Primitive(Primitive),
    Struct(Vec<(String, Type, Vec<Dim>, u64)>),
    Named(String, Box<Type>),
}

#[derive(Clone)]
enum Dim {
    Number(i64),
    Param(String, i64, i64),
}

impl Dim {
    /// The length, -1 for a dimension that is removed.
    fn length(&self) -> i64 {
        match self {
            Dim::Number(length) => *length,
            Dim::Param(_, value, _) if *value <= 0 => *value,
            Dim::Param(_, value, suffix) => (value + suffix).max(0),
        }
    }

    fn text(&self) -> String {
        match self {
            Dim::Number(length) => length.to_string(),
            Dim::Param(name, _, suffix) => {
                format!("{name}{}", if *suffix < 0 { "-" } else { "+" }.repeat(suffix.unsigned_abs() as usize))
            }
        }
    }
}

fn up(at: u64, align: u64) -> u64 {
    at.next_multiple_of(align.max(1))
}

fn count(dims: &[Dim]) -> u64 {
    dims.iter().map(|dim| if dim.length() < 0 { 1 } else { dim.length() as u64 }).product()
}

/// The two documents.
struct Model {
    dice: Dice,
    is_old: bool,
    text: String,
    /// The parameters that are visible: name and value.
    params: Vec<(String, i64)>,
    stored: Vec<i64>,
    types: Vec<Type>,
    cursor: u64,
    total: u64,
    items: Vec<Placed>,
    /// The bytes of arrays without those between members, by path.
    packed: HashMap<String, Vec<u8>>,
    names: u32,
}

impl Model {
    fn align(&self, ty: &Type) -> u64 {
        match ty {
            Type::Primitive((_, _, align)) => align[usize::from(!self.is_old)],
            Type::Named(_, ty) => self.align(ty),
            Type::Struct(members) => {
                members.iter().map(|(_, ty, _, own)| if *own > 0 { *own } else { self.align(ty) }).max().unwrap_or(1)
            }
        }
    }

    fn size(&self, ty: &Type) -> u64 {
        match ty {
            Type::Primitive((_, size, _)) => *size,
            Type::Named(_, ty) => self.size(ty),
            Type::Struct(_) => self.places(ty).1,
        }
    }

    /// The offsets of the members that have data, and the size of a struct.
    fn places(&self, ty: &Type) -> (Vec<Option<u64>>, u64) {
        let Type::Struct(members) = ty else { return (Vec::new(), 0) };
        let (mut offset, mut end, mut places) = (0, 0u64, Vec::new());
        for (_, member, dims, own) in members {
            let size = count(dims) * self.size(member);
            if size == 0 {
                places.push(None);
                continue;
            }
            offset = up(offset, if *own > 0 { *own } else { self.align(member) });
            places.push(Some(offset));
            offset += size;
            end = end.max(offset);
        }
        (places, up(end, self.align(ty)))
    }

    /// Random bytes of an element: with zeros between members, and without anything between them.
    fn element(&mut self, ty: &Type) -> (Vec<u8>, Vec<u8>) {
        match ty {
            Type::Primitive((_, size, _)) => {
                let bytes: Vec<u8> = (0..*size).map(|_| self.dice.below(256) as u8).collect();
                (bytes.clone(), bytes)
            }
            Type::Named(_, ty) => self.element(ty),
            Type::Struct(members) => {
                let (places, size) = self.places(ty);
                let (mut bytes, mut packed) = (vec![0; size as usize], Vec::new());
                for ((_, member, dims, _), place) in members.iter().zip(places) {
                    let Some(place) = place else { continue };
                    let (made, short) = self.elements(member, dims);
                    bytes[place as usize..place as usize + made.len()].copy_from_slice(&made);
                    packed.extend(short);
                }
                (bytes, packed)
            }
        }
    }

    fn elements(&mut self, ty: &Type, dims: &[Dim]) -> (Vec<u8>, Vec<u8>) {
        let (mut bytes, mut packed) = (Vec::new(), Vec::new());
        for _ in 0..count(dims) {
            let (made, short) = self.element(ty);
            bytes.extend(made);
            packed.extend(short);
        }
        (bytes, packed)
    }

    fn spelled(&self, ty: &Type, dims: &[Dim]) -> String {
        let mut text = match ty {
            Type::Primitive((name, ..)) => (*name).to_owned(),
            Type::Named(name, _) => name.clone(),
            Type::Struct(_) => self.members(ty),
        };
        if !dims.is_empty() {
            let dims: Vec<String> = dims.iter().map(Dim::text).collect();
            let dims = dims.join(", ");
            text += &if self.is_old { format!("[{dims}]") } else { format!("({dims})") };
        }
        text
    }

    fn members(&self, ty: &Type) -> String {
        let Type::Struct(members) = ty else { return String::new() };
        let mark = if self.is_old { " =" } else { ":" };
        let all = members.iter().map(|(name, ty, dims, own)| {
            let own = if *own > 0 { format!(" %{own}") } else { String::new() };
            format!("{name}{mark} {}{own}", self.spelled(ty, dims))
        });
        format!("{{{}}}", all.collect::<Vec<_>>().join("  "))
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    fn dims(&mut self, is_of_type: bool) -> Vec<Dim> {
        let mut dims = Vec::new();
        for _ in 0..self.dice.below(3) {
            let known = if is_of_type { Vec::new() } else { self.params.clone() };
            dims.push(match (self.dice.below(3), known.is_empty()) {
                (0 | 1, false) => {
                    let (name, value) = self.dice.of(&known);
                    Dim::Param(name, value, self.dice.of(&[0, 0, 0, 1, -1, 2, -2, -3]))
                }
                _ => Dim::Number(self.dice.of(&[1, 2, 3, 3, 4, 0, -1])),
            });
        }
        dims
    }

    fn ty(&mut self, depth: u32, is_of_type: bool) -> Type {
        match self.dice.below(5) {
            0 if depth > 0 => {
                let mut members = Vec::new();
                for _ in 0..1 + self.dice.below(3) {
                    let (name, ty, dims) = (self.name(), self.ty(depth - 1, is_of_type), self.dims(is_of_type));
                    let own = if self.dice.below(6) == 0 { self.dice.of(&[1, 2, 4, 8, 16]) } else { 0 };
                    members.push((name, ty, dims, own));
                }
                Type::Struct(members)
            }
            1 if !self.types.is_empty() => self.dice.of(&self.types.clone()),
            _ => Type::Primitive(self.dice.of(&PRIMITIVES)),
        }
    }

    /// Puts data at the next address, and returns how its placement is spelled.
    fn place(&mut self, path: String, ty: &Type, dims: &[Dim], may_be_placed: bool) -> String {
        let size = count(dims) * self.size(ty);
        let (mut at, mut said) = (up(self.cursor, self.align(ty)), String::new());
        match self.dice.below(8) {
            0 if may_be_placed => {
                let align = self.dice.of(&[1, 2, 4, 8, 16]);
                (at, said) = (up(self.cursor, align), format!(" %{align}"));
            }
            1 if may_be_placed => {
                at = up(self.cursor + self.dice.below(20), 1);
                said = format!(" @{at}");
            }
            _ => {}
        }
        let shape = dims.iter().map(Dim::length).filter(|length| *length >= 0).map(|length| length as u64).collect();
        if size == 0 {
            self.items.push((path, None, shape, Vec::new()));
            return said;
        }
        let (bytes, packed) = self.elements(ty, dims);
        self.packed.insert(path.clone(), packed);
        self.items.push((path, Some(at), shape, bytes));
        self.cursor = at + size;
        self.total = self.total.max(self.cursor);
        said
    }

    fn param(&mut self, dict: &str) {
        let (name, value) = (self.name(), self.dice.of(&[3i64, 2, 1, 4, 0, -1]));
        let mark = if self.is_old { " :" } else { " =" };
        if self.dice.below(2) == 0 {
            self.text += &format!("{name}{mark} {value}\n");
        } else {
            let size = self.dice.of(&[1, 2, 4, 8u64]);
            self.text += &format!("{name}{mark} i{size}\n");
            let at = up(self.cursor, size);
            self.items.push((format!("{dict}/{name}"), Some(at), Vec::new(), value.to_le_bytes()[..size as usize].to_vec()));
            self.cursor = at + size;
            self.total = self.total.max(self.cursor);
            self.stored.push(value);
        }
        self.params.push((name, value));
    }

    fn list(&mut self, dict: &str) {
        let name = self.name();
        let elements: Vec<(Type, Vec<Dim>)> =
            (0..1 + self.dice.below(2)).map(|_| (self.ty(1, false), self.dims(false))).collect();
        let times = if self.is_old { self.dice.of(&[1, 1, 2, 3, 0]) } else { 1 };
        let texts: Vec<String> = elements.iter().map(|(ty, dims)| self.spelled(ty, dims)).collect();
        let again = if times == 1 { String::new() } else { format!("*{times}") };
        self.text += &format!("{name} [ {} ]{again}\n", texts.join(", "));
        let mut number = 0;
        for _ in 0..times {
            for (ty, dims) in &elements {
                self.place(format!("{dict}/{name}[{number}]"), ty, dims, false);
                number += 1;
            }
        }
    }

    fn data(&mut self, dict: &str) {
        let (name, ty, dims) = (self.name(), self.ty(2, false), self.dims(false));
        let said = self.place(format!("{dict}/{name}"), &ty, &dims, true);
        let mark = if self.is_old { " =" } else { ":" };
        self.text += &format!("{name}{mark} {}{said}\n", self.spelled(&ty, &dims));
    }

    fn dict(&mut self, dict: &str, depth: u32) {
        let known = self.params.len();
        for _ in 0..1 + self.dice.below(5) {
            match self.dice.below(9) {
                0 | 1 => self.param(dict),
                2 => self.list(dict),
                3 if depth > 0 => {
                    let name = self.name();
                    self.text += &format!("{name}/\n");
                    self.dict(&format!("{dict}/{name}"), depth - 1);
                    self.text += "..\n";
                }
                4 if depth == 2 => {
                    let (name, ty) = (self.name(), self.ty(0, true));
                    let ty = Type::Struct(vec![
                        ("a".to_owned(), ty, self.dims(true), 0),
                        ("b".to_owned(), Type::Primitive(PRIMITIVES[6]), Vec::new(), 0),
                    ]);
                    self.text += &format!("{name} {}\n", self.members(&ty));
                    self.types.push(Type::Named(name, Box::new(ty)));
                }
                _ => self.data(dict),
            }
        }
        if depth < 2 {
            self.params.truncate(known);
        }
    }

    fn of(seed: u64, is_old: bool) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.below(2);
        let start = if is_old { 16 } else { 0 };
        let mut model = Self {
            dice,
            is_old,
            text: format!("#: dialect={}\n", if is_old { 2025 } else { 2026 }),
            params: Vec::new(),
            stored: Vec::new(),
            types: Vec::new(),
            cursor: start,
            total: start,
            items: Vec::new(),
            packed: HashMap::new(),
            names: 0,
        };
        model.dict("", 2);
        model
    }

    /// Compares a file, from its first byte to the layout.
    fn check_file(&self, file: &[u8], about: &str) {
        assert_eq!(file[..8], *b"\x8d<BD\r\n\x1a\n", "{about}");
        let base = if self.is_old { 0 } else { 16 };
        assert_eq!(u64::from_le_bytes(file[8..16].try_into().unwrap()), base + self.total, "{about}");
        for (path, at, _, bytes) in &self.items {
            let Some(at) = at else { continue };
            let at = (base + at) as usize;
            assert!(file[at..at + bytes.len()] == bytes[..], "{path} {about}");
        }
    }
}

/// The bytes of items by their paths, as arrays.
fn supply<'m>(items: &'m HashMap<&str, &Vec<u8>>) -> impl FnMut(&Entry) -> trilith::Result<Array> + 'm {
    |entry| {
        let mut shape = entry.shape.clone();
        let (datatype, order) = dudley::datatype_of(&entry.typed, &mut shape)?;
        Array::from_bytes(items[entry.path.as_str()].clone(), datatype, order, shape)
    }
}

#[test]
fn random_layouts_lie_are_written_appended_to_and_read_as_a_model_says() {
    let sample: Option<u64> = std::env::var("TRILITH_SAMPLE").ok().and_then(|seed| seed.parse().ok());
    let seeds = sample.map_or(0..1500, |seed| seed % 10_000 * 1500..seed % 10_000 * 1500 + 150);
    let folder = tempfile::tempdir().unwrap();
    let (mut layouts, mut items) = (0, 0);
    for (seed, is_old) in seeds.flat_map(|seed| [(seed, true), (seed, false)]) {
        let mut model = Model::of(seed, is_old);
        let about = format!("seed {seed}\n{}", model.text);
        let layout = Layout::read(model.text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{about}"));
        assert_eq!(layout.dialect() == Dialect::D2025, is_old);
        // The place of every item.
        let mut options = Options::default();
        (options.native, options.order) = (true, Some(Byteorder::Little));
        let found = layout.evaluate_with(&options, &model.stored).unwrap();
        let entries: Vec<Entry> = found.entries().map(|entry| entry.unwrap()).collect();
        let seen: Vec<_> =
            entries.iter().map(|e| (e.path.clone(), e.address, e.shape.clone(), e.nbytes.unwrap_or(0) as usize)).collect();
        let expected: Vec<_> =
            model.items.iter().map(|(path, at, shape, bytes)| (path.clone(), *at, shape.clone(), bytes.len())).collect();
        assert_eq!(seen, expected, "{about}");
        // The bytes of a new file.
        let mut new = NewStream::new(&layout, model.stored.clone());
        new.order = Byteorder::Little;
        let mut out = Cursor::new(Vec::new());
        let given: HashMap<&str, &Vec<u8>> = model.items.iter().map(|(path, _, _, bytes)| (path.as_str(), bytes)).collect();
        new.write(&mut supply(&given), &mut out).unwrap_or_else(|error| panic!("{error}\n{about}"));
        model.check_file(out.get_ref(), &about);
        // More items behind it.
        let path = folder.path().join("x.bd");
        std::fs::write(&path, out.get_ref()).unwrap();
        let before = (model.text.len(), model.items.len());
        model.cursor = up(model.total, 1);
        for _ in 0..1 + model.dice.below(2) {
            model.params.clear();
            let (name, ty, dims) = (model.name(), model.ty(1, true), model.dims(true));
            model.place(format!("/{name}"), &ty, &dims, false);
            let mark = if is_old { " =" } else { ":" };
            model.text += &format!("{name}{mark} {}\n", model.spelled(&ty, &dims));
        }
        let more = model.text[before.0..].to_owned();
        let given: HashMap<&str, &Vec<u8>> = model.items.iter().map(|(path, _, _, bytes)| (path.as_str(), bytes)).collect();
        let about = format!("{about}+ {more}");
        dudley::append(&path, &more, &[], &mut supply(&given), &Limits::default())
            .unwrap_or_else(|error| panic!("{error}\n{about}"));
        let written = std::fs::read(&path).unwrap();
        model.check_file(&written, &about);
        // Read it back.
        let source = std::sync::Arc::new(MemorySource::new(written, "x.bd"));
        let file = DudleyFile::open(source, None, &Limits::default()).unwrap();
        for entry in file.items().unwrap().entries().map(|entry| entry.unwrap()) {
            let (_, at, shape, bytes) = &model.items[items_at(&model, &entry.path)];
            assert_eq!((&entry.address, &entry.shape), (at, shape), "{} {about}", entry.path);
            if entry.kind == EntryKind::Data {
                let read = file.array_at(&entry.path).unwrap().read_bytes(Byteorder::Little).unwrap();
                assert!(read == model.packed.get(&entry.path).cloned().unwrap_or_default(), "{} {about}", entry.path);
            } else {
                assert_eq!(entry.value.unwrap().to_le_bytes()[..bytes.len()], bytes[..], "{} {about}", entry.path);
            }
        }
        layouts += 1;
        items += model.items.len();
    }
    eprintln!("{layouts} layouts of {items} items: resolved, written, appended to and read back as the model says");
}

fn items_at(model: &Model, path: &str) -> usize {
    model.items.iter().position(|(known, ..)| known == path).unwrap_or_else(|| panic!("{path}"))
}
