//! Places what a layout declares, one element after the other, with random values and bytes: sections 4 and 5 of our
//! specification, without any thought of speed.

use std::collections::HashMap;

use super::document::{Count, Dice, Dim, Element, Member, Place, Plain, Step, Struct, Type, What, quoted};

/// The kind of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Data,
    Param,
    /// Structs with stored parameters, which are placed one by one.
    Instances,
}

/// An item at its place; an address of None is no data.
#[derive(Clone)]
pub(crate) struct Placed {
    pub path: String,
    pub kind: Kind,
    pub at: Option<u64>,
    pub shape: Vec<u64>,
    pub size: u64,
    /// Bytes as stored, with zeros between members.
    pub bytes: Vec<u8>,
    /// Little-endian, without anything between members.
    pub packed: Vec<u8>,
}

pub(crate) struct Walk<'d> {
    pub dice: &'d mut Dice,
    pub big: bool,
    pub cursor: u64,
    pub total: u64,
    /// Values of parameters, by their numbers.
    pub values: Vec<i64>,
    /// Numbers of the parameters whose values must not be negative.
    pub counts: Vec<usize>,
    pub stored: Vec<i64>,
    pub items: Vec<Placed>,
    pub lengths: HashMap<String, u64>,
    pub references: u64,
}

fn up(at: u64, align: u64) -> u64 {
    at.next_multiple_of(align.max(1))
}

/// Returns `true` if a type has stored parameters in it.
pub(crate) fn is_dynamic(ty: &Type) -> bool {
    match ty {
        Type::Plain(_) => false,
        Type::Alias(_, ty, ..) => is_dynamic(ty),
        Type::Struct(of) => of.members.iter().any(|member| match &member.what {
            What::Data(ty, _) => is_dynamic(ty),
            What::Stored(..) => true,
            What::Fixed(..) => false,
        }),
    }
}

pub(crate) fn align(ty: &Type) -> u64 {
    match ty {
        Type::Plain(plain) => plain.align,
        Type::Alias(_, ty, _, own) => {
            if *own > 0 {
                *own
            } else {
                align(ty)
            }
        }
        Type::Struct(of) if of.align > 0 => of.align,
        Type::Struct(of) => {
            let of_member = |member: &Member| {
                let own = match &member.what {
                    What::Data(ty, _) => align(ty),
                    What::Stored(_, plain) => plain.align,
                    What::Fixed(..) => return 1,
                };
                match member.place {
                    Place::Next => own,
                    Place::Align(align) => align,
                    Place::At(_) => 1,
                }
            };
            of.members.iter().map(of_member).max().unwrap_or(1)
        }
    }
}

impl Walk<'_> {
    fn length(&self, dim: &Dim) -> i64 {
        let (value, suffix) = match dim {
            Dim::Number(length) => return *length,
            Dim::Param(number, _, suffix) => (self.values[*number], suffix),
            Dim::Free(..) => panic!("a type is used whose dimensions are free"),
        };
        if value <= 0 { value } else { (value + suffix).max(0) }
    }

    fn count(&self, dims: &[Dim]) -> u64 {
        dims.iter().map(|dim| self.length(dim)).map(|length| if length < 0 { 1 } else { length as u64 }).product()
    }

    fn size(&self, ty: &Type) -> u64 {
        match ty {
            Type::Plain(plain) => plain.size,
            Type::Alias(_, ty, dims, _) => self.count(dims) * self.size(ty),
            Type::Struct(of) => self.offsets(of).1,
        }
    }

    /// The offsets of the members of a struct without stored parameters, None without data, and its size.
    fn offsets(&self, of: &Struct) -> (Vec<Option<u64>>, u64) {
        let (mut offset, mut end, mut places) = (0, 0u64, Vec::new());
        for member in &of.members {
            let What::Data(ty, dims) = &member.what else {
                places.push(None);
                continue;
            };
            let size = self.count(dims) * self.size(ty);
            if size == 0 {
                places.push(None);
                continue;
            }
            offset = member_offset(offset, &member.place, align(ty));
            places.push(Some(offset));
            offset += size;
            end = end.max(offset);
        }
        (places, up(end, align(&Type::Struct(Box::new(of.clone())))))
    }

    /// The dimensions that are seen: those of the array, then those of its typedefs.
    fn shape(&self, ty: &Type, dims: &[Dim]) -> Vec<u64> {
        let mut shape: Vec<u64> = dims.iter().filter_map(|dim| u64::try_from(self.length(dim)).ok()).collect();
        if let Type::Alias(_, ty, dims, _) = ty {
            shape.extend(self.shape(ty, dims));
        }
        shape
    }

    fn plain(&mut self, plain: &Plain) -> (Vec<u8>, Vec<u8>) {
        let mut bytes: Vec<u8> = (0..plain.size).map(|_| self.dice.below(256) as u8).collect();
        match plain.name {
            "b1" => bytes[0] &= 1,
            "S1" | "U1" | "U2" | "U4" => {
                bytes.fill(0);
                bytes[0] = b'a' + self.dice.below(26) as u8;
            }
            _ => {}
        }
        let packed = bytes.clone();
        if plain.big.unwrap_or(self.big) {
            bytes.chunks_mut(plain.unit() as usize).for_each(<[u8]>::reverse);
        }
        (bytes, packed)
    }

    /// Random bytes of an element, as they are stored and packed.
    fn element(&mut self, ty: &Type) -> (Vec<u8>, Vec<u8>) {
        match ty {
            Type::Plain(plain) => self.plain(plain),
            Type::Alias(_, ty, dims, _) => self.elements(ty, dims),
            Type::Struct(of) => {
                let (places, size) = self.offsets(of);
                let (mut bytes, mut packed) = (vec![0; size as usize], Vec::new());
                for (member, place) in of.members.iter().zip(places) {
                    let (What::Data(ty, dims), Some(place)) = (&member.what, place) else { continue };
                    let (made, short) = self.elements(ty, dims);
                    bytes[place as usize..place as usize + made.len()].copy_from_slice(&made);
                    packed.extend(short);
                }
                (bytes, packed)
            }
        }
    }

    fn elements(&mut self, ty: &Type, dims: &[Dim]) -> (Vec<u8>, Vec<u8>) {
        let (mut bytes, mut packed) = (Vec::new(), Vec::new());
        for _ in 0..self.count(dims) {
            let (made, short) = self.element(ty);
            bytes.extend(made);
            packed.extend(short);
        }
        (bytes, packed)
    }

    fn put(&mut self, place: &Place, own: u64, copies: bool) -> u64 {
        match place {
            Place::At(at) if !copies => {
                // Somewhere after what there is, not aligned.
                at.set(self.cursor + at.get() % 20);
                at.get()
            }
            Place::Align(align) => up(self.cursor, *align),
            Place::Next | Place::At(_) => up(self.cursor, own),
        }
    }

    fn moved(&mut self, to: u64) {
        self.cursor = to;
        self.total = self.total.max(to);
    }

    /// A value for a stored parameter, and its item.
    fn param(&mut self, path: String, number: usize, plain: &Plain, at: u64) {
        let choices: &[i64] =
            if self.counts.contains(&number) || plain.name.starts_with('u') { &[2, 1, 3, 0] } else { &[3, 2, 1, 4, 0, -1] };
        let value = self.dice.of(choices);
        self.values[number] = value;
        self.stored.push(value);
        let packed = value.to_le_bytes()[..plain.size as usize].to_vec();
        let mut bytes = packed.clone();
        if plain.big.unwrap_or(self.big) {
            bytes.reverse();
        }
        self.items.push(Placed { path, kind: Kind::Param, at: Some(at), shape: Vec::new(), size: plain.size, bytes, packed });
    }

    fn array(&mut self, path: String, ty: &Type, dims: &[Dim], at: Option<u64>) {
        let (bytes, packed) = self.elements(ty, dims);
        let shape = self.shape(ty, dims);
        self.items.push(Placed { path, kind: Kind::Data, at, shape, size: bytes.len() as u64, bytes, packed });
    }

    fn data(&mut self, path: String, ty: &Type, dims: &[Dim], place: &Place, copies: bool) {
        let own = align(ty);
        if is_dynamic(ty) {
            let (count, of) = self.instances(ty, dims);
            if count == 0 {
                return self.no_instances(path, ty, dims);
            }
            let at = self.put(place, own, copies);
            let size = self.run(&path, ty, dims, &of, at);
            if size > 0 {
                self.moved(at + size);
            }
            return;
        }
        let size = self.count(dims) * self.size(ty);
        if size == 0 {
            if let Place::At(at) = place {
                at.set(at.get() % 20);
            }
            return self.array(path, ty, dims, None);
        }
        let at = self.put(place, own, copies);
        self.array(path, ty, dims, Some(at));
        self.moved(at + size);
    }

    fn no_instances(&mut self, path: String, ty: &Type, dims: &[Dim]) {
        let shape = self.shape(ty, dims);
        let (bytes, packed) = (Vec::new(), Vec::new());
        self.items.push(Placed { path, kind: Kind::Instances, at: None, shape, size: 0, bytes, packed });
    }

    /// The number of instances of an array, and their struct.
    fn instances(&self, ty: &Type, dims: &[Dim]) -> (u64, Struct) {
        match ty {
            Type::Alias(_, inner, more, _) => {
                let (count, of) = self.instances(inner, more);
                (self.count(dims) * count, of)
            }
            Type::Struct(of) => (self.count(dims), (**of).clone()),
            Type::Plain(_) => panic!("a number has no instances"),
        }
    }

    /// Structs with stored parameters, one after the other; the number of their bytes.
    fn run(&mut self, path: &str, ty: &Type, dims: &[Dim], of: &Struct, at: u64) -> u64 {
        let shape = self.shape(ty, dims);
        let here = self.items.len();
        self.no_instances(path.to_owned(), ty, dims);
        let own = align(&Type::Struct(Box::new(of.clone())));
        let (count, _) = self.instances(ty, dims);
        let mut size = 0;
        for number in 0..count {
            let mut rest = number;
            let mut index: Vec<String> = Vec::new();
            for dim in shape.iter().rev() {
                index.insert(0, (rest % dim).to_string());
                rest /= dim;
            }
            let index = if index.is_empty() { String::new() } else { format!("({})", index.join(",")) };
            size += up(self.instance(&format!("{path}{index}"), of, at + size), own);
        }
        if size == 0 {
            // It has no data, and what is in it has no place.
            self.items.truncate(here + 1);
            return 0;
        }
        (self.items[here].at, self.items[here].size) = (Some(at), size);
        size
    }

    fn instance(&mut self, path: &str, of: &Struct, base: u64) -> u64 {
        let (mut offset, mut end) = (0, 0u64);
        for member in &of.members {
            let path = format!("{path}.{}", quoted(&member.name));
            let size = match &member.what {
                What::Fixed(..) => continue,
                What::Stored(number, plain) => {
                    offset = member_offset(offset, &member.place, plain.align);
                    self.param(path, *number, plain, base + offset);
                    plain.size
                }
                What::Data(ty, dims) if is_dynamic(ty) => {
                    let (count, inner) = self.instances(ty, dims);
                    if count == 0 {
                        self.no_instances(path, ty, dims);
                        continue;
                    }
                    let at = member_offset(offset, &member.place, align(ty));
                    let size = self.run(&path, ty, dims, &inner, base + at);
                    if size == 0 {
                        continue;
                    }
                    offset = at;
                    size
                }
                What::Data(ty, dims) => {
                    let size = self.count(dims) * self.size(ty);
                    if size == 0 {
                        self.array(path, ty, dims, None);
                        continue;
                    }
                    offset = member_offset(offset, &member.place, align(ty));
                    self.array(path, ty, dims, Some(base + offset));
                    size
                }
            };
            offset += size;
            end = end.max(offset);
        }
        end
    }

    /// Steps below a dict, or a part of a list that is copied: then addresses are dropped.
    pub(crate) fn steps(&mut self, dict: &str, steps: &[Step], copies: bool) {
        for step in steps {
            match step {
                Step::Item(member) => {
                    let path = format!("{dict}/{}", quoted(&member.name));
                    match &member.what {
                        What::Data(ty, dims) => self.data(path, ty, dims, &member.place, copies),
                        What::Fixed(..) => {}
                        What::Stored(number, plain) => {
                            let at = self.put(&member.place, plain.align, copies);
                            self.param(path, *number, plain, at);
                            self.moved(at + plain.size);
                        }
                    }
                }
                Step::Dict(name, body) => self.steps(&format!("{dict}/{}", quoted(name)), body, copies),
                Step::List(name, list) => {
                    let path = format!("{dict}/{}", quoted(name));
                    for _ in 0..self.times(&list.times) {
                        list.elements.iter().for_each(|element| self.element_of(&path, element, copies));
                    }
                }
                Step::Extend(name, element, count) => {
                    let path = format!("{dict}/{}", quoted(name));
                    for _ in 0..self.times(count) {
                        self.element_of(&path, element, true);
                    }
                }
                Step::Type(_) => {}
                Step::Reference(ty, dims) => {
                    self.references += 1;
                    self.data(format!("&{}", self.references), ty, dims, &Place::Next, copies);
                }
            }
        }
    }

    fn times(&self, count: &Count) -> u64 {
        match count {
            Count::Number(count) => *count,
            Count::Param(number, _) => self.values[*number] as u64,
        }
    }

    fn element_of(&mut self, list: &str, element: &Element, copies: bool) {
        let length = self.lengths.entry(list.to_owned()).or_default();
        let path = format!("{list}[{length}]");
        *length += 1;
        match element {
            Element::Data(ty, dims, place) => self.data(path, ty, dims, place, copies),
            Element::Dict(steps) => self.steps(&path, steps, copies),
            Element::List(list) => {
                for _ in 0..self.times(&list.times) {
                    list.elements.iter().for_each(|element| self.element_of(&path, element, copies));
                }
            }
        }
    }
}

fn member_offset(offset: u64, place: &Place, own: u64) -> u64 {
    match place {
        Place::Next => up(offset, own),
        Place::Align(align) => up(offset, *align),
        Place::At(at) => at.get(),
    }
}
