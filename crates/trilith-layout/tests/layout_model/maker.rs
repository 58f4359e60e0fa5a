//! Makes random declarations, with the scopes of parameters and types of each dialect.

use std::cell::Cell;
use std::rc::Rc;

use super::document::{Count, Dice, Dim, Element, List, Member, PRIMITIVES, Place, Plain, Primitive, Step, Struct, Type, What};

/// Parameters by their names.
type Names = Vec<(String, Option<usize>)>;

/// Names that mean parameters in an open dict or struct: with a number, or (None) bound where a named type is used.
#[derive(Default)]
struct Scope {
    params: Names,
    types: usize,
}

pub(crate) struct Maker<'d> {
    pub dice: &'d mut Dice,
    pub is_old: bool,
    /// Number of parameters so far, and those that may count repetitions.
    pub params: usize,
    pub counts: Vec<usize>,
    /// Values of fixed parameters, by their numbers.
    pub fixed: Vec<(usize, i64)>,
    scopes: Vec<Scope>,
    types: Vec<Type>,
    names: u32,
    /// The elements that lists outside of lists have so far, by dict and name: the last declared one, and whether it may be copied.
    lists: Vec<(Vec<String>, String, Element)>,
    dicts: Vec<(Vec<String>, String)>,
    /// Parameters of dicts that were closed, for when they are opened again.
    closed: Vec<(Vec<String>, Names)>,
    way: Vec<String>,
    /// Depth of lists around.
    inside: u32,
    /// Redefined primitives: name, alignment, order.
    redefined: Vec<(&'static str, u64, Option<bool>)>,
    has_nameless: Vec<Vec<String>>,
}

impl<'d> Maker<'d> {
    pub(crate) fn new(dice: &'d mut Dice, is_old: bool) -> Self {
        Self {
            dice,
            is_old,
            params: 0,
            counts: Vec::new(),
            fixed: Vec::new(),
            scopes: vec![Scope::default()],
            types: Vec::new(),
            names: 0,
            lists: Vec::new(),
            dicts: Vec::new(),
            closed: Vec::new(),
            way: Vec::new(),
            inside: 0,
            redefined: Vec::new(),
            has_nameless: Vec::new(),
        }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        match self.dice.below(20) {
            0 => format!("n {}", self.names),
            1 => format!("é/{}", self.names),
            _ => format!("n{}", self.names),
        }
    }

    /// Returns a primitive as it stands in the text, with a prefix or without one.
    fn plain(&mut self, primitive: Primitive) -> Plain {
        let (name, size, aligns) = primitive;
        let align = aligns[usize::from(!self.is_old)];
        let prefix = self.dice.of(&["", "", "", "<", ">", "|"]);
        let (align, big) = match prefix {
            "<" => (align, Some(false)),
            ">" => (align, Some(true)),
            "|" => (align, None),
            _ => {
                let redefined = self.redefined.iter().find(|(known, ..)| *known == name);
                redefined.map_or((align, None), |(_, align, big)| (*align, *big))
            }
        };
        Plain { name, size, align, big, text: format!("{prefix}{name}") }
    }

    /// The parameters in scope by their names, the innermost of each.
    fn known(&self) -> Vec<(String, Option<usize>)> {
        let mut known: Vec<(String, Option<usize>)> = Vec::new();
        for (name, number) in self.scopes.iter().rev().flat_map(|scope| scope.params.iter().rev()) {
            if !known.iter().any(|(before, _)| before == name) {
                known.push((name.clone(), *number));
            }
        }
        known
    }

    fn find(&self, name: &str) -> Option<Option<usize>> {
        self.known().into_iter().find(|(known, _)| known == name).map(|(_, number)| number)
    }

    fn dims(&mut self) -> Vec<Dim> {
        let mut dims = Vec::new();
        for _ in 0..self.dice.of(&[0, 0, 1, 1, 2]) {
            let known = self.known();
            dims.push(match (self.dice.below(3), known.is_empty()) {
                (0 | 1, false) => {
                    let (name, number) = self.dice.of(&known);
                    let suffix = self.dice.of(&[0, 0, 0, 1, -1, 2, -2, -3]);
                    match number {
                        Some(number) => Dim::Param(number, name, suffix),
                        None => Dim::Free(name, suffix),
                    }
                }
                _ => Dim::Number(self.dice.of(&[1, 2, 3, 3, 4, 0, -1])),
            });
        }
        dims
    }

    /// A type and its dimensions; text has one at least.
    fn what(&mut self, depth: u32) -> (Type, Vec<Dim>) {
        let (ty, mut dims) = (self.ty(depth), self.dims());
        if is_text(&ty) && !has_dims(&ty) && dims.is_empty() {
            dims.push(Dim::Number(self.dice.of(&[1, 3, 5])));
        }
        (ty, dims)
    }

    fn ty(&mut self, depth: u32) -> Type {
        match self.dice.below(6) {
            0 if depth > 0 => {
                let members = self.members(depth - 1);
                Type::Struct(Box::new(Struct { name: None, members, align: 0 }))
            }
            1 | 2 if !self.types.is_empty() => {
                let chosen = self.dice.of(&self.types.clone());
                match self.bound(&chosen) {
                    Some(bound) => bound,
                    None => Type::Plain(self.some_plain()),
                }
            }
            _ => Type::Plain(self.some_plain()),
        }
    }

    fn some_plain(&mut self) -> Plain {
        let primitive = self.dice.of(&PRIMITIVES);
        self.plain(primitive)
    }

    fn stored(&mut self, must_count: bool) -> (usize, Plain) {
        let names: &[&str] =
            if self.is_old { &["i1", "i2", "i4", "i8"] } else { &["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"] };
        let name = self.dice.of(names);
        let primitive = PRIMITIVES.into_iter().find(|(known, ..)| *known == name).unwrap();
        let number = self.params;
        self.params += 1;
        if must_count {
            self.counts.push(number);
        }
        (number, self.plain(primitive))
    }

    /// The members of a struct; in 2025 parameters may be among them.
    fn members(&mut self, depth: u32) -> Vec<Member> {
        self.scopes.push(Scope { types: self.types.len(), ..Scope::default() });
        let mut members = Vec::new();
        let mut offset = 0;
        for _ in 0..self.dice.below(3) {
            if self.is_old && self.dice.one_in(4) {
                let name = self.param_name();
                let what = if self.dice.one_in(3) {
                    self.params += 1;
                    self.fixed.push((self.params - 1, self.dice.of(&[3, 2, 1, 0, -1])));
                    What::Fixed(self.params - 1, self.fixed[self.fixed.len() - 1].1)
                } else {
                    let (number, plain) = self.stored(false);
                    offset += plain.size + 16;
                    What::Stored(number, plain)
                };
                let (What::Fixed(number, _) | What::Stored(number, _)) = &what else { continue };
                self.scopes.last_mut().unwrap().params.push((name.clone(), Some(*number)));
                members.push(Member { name, what, place: Place::Next });
            } else {
                let member = self.data_member(depth, &mut offset);
                members.push(member);
            }
        }
        let member = self.data_member(depth, &mut offset);
        members.push(member);
        self.scopes.pop();
        members
    }

    fn data_member(&mut self, depth: u32, offset: &mut u64) -> Member {
        let (name, (ty, dims)) = (self.name(), self.what(depth));
        let place = match self.dice.below(10) {
            0 => Place::Align(self.dice.of(&[1, 2, 4, 8, 16])),
            // After anything that the members before it may need.
            1 if *offset < 1000 => Place::At(Cell::new(*offset + self.dice.below(5))),
            _ => Place::Next,
        };
        *offset += largest(&ty, &dims) + 32;
        Member { name, what: What::Data(ty, dims), place }
    }

    /// A name for a parameter: sometimes that of one further out.
    fn param_name(&mut self) -> String {
        let here: Vec<String> = self.scopes.last().unwrap().params.iter().map(|(name, _)| name.clone()).collect();
        let is_free = |name: &String| !self.is_old || !here.contains(name);
        let outer: Vec<String> = self.known().into_iter().map(|(name, _)| name).filter(is_free).collect();
        if !outer.is_empty() && self.dice.one_in(4) { self.dice.of(&outer) } else { self.name() }
    }

    /// A named type as it is used here: its free dimensions are those of the parameters of the same names. None if one is missing.
    fn bound(&self, ty: &Type) -> Option<Type> {
        self.bind(ty)
    }

    fn bind(&self, ty: &Type) -> Option<Type> {
        Some(match ty {
            Type::Plain(plain) => Type::Plain(plain.clone()),
            Type::Alias(name, ty, dims, align) => {
                Type::Alias(name.clone(), Box::new(self.bind(ty)?), self.bind_dims(dims)?, *align)
            }
            Type::Struct(of) => {
                let mut members = Vec::new();
                for member in &of.members {
                    let what = match &member.what {
                        What::Data(ty, dims) => What::Data(self.bind(ty)?, self.bind_dims(dims)?),
                        other => other.clone(),
                    };
                    members.push(Member { what, ..member.clone() });
                }
                Type::Struct(Box::new(Struct { members, ..(**of).clone() }))
            }
        })
    }

    fn bind_dims(&self, dims: &[Dim]) -> Option<Vec<Dim>> {
        dims.iter()
            .map(|dim| match dim {
                Dim::Free(name, suffix) => Some(match self.find(name)? {
                    Some(number) => Dim::Param(number, name.clone(), *suffix),
                    None => Dim::Free(name.clone(), *suffix),
                }),
                other => Some(other.clone()),
            })
            .collect()
    }

    fn declared_type(&mut self) -> Type {
        let name = self.name();
        // In 2025 parameters outside of a named type are bound where it is used.
        let outside: Vec<(String, Option<usize>)> = if self.is_old { self.known() } else { Vec::new() };
        if self.is_old {
            let params = outside.into_iter().map(|(name, _)| (name, None)).collect();
            self.scopes.push(Scope { params, types: self.types.len() });
        }
        let align = self.dice.of(&[0, 0, 0, 2, 8, 16]);
        let ty = if self.dice.one_in(2) {
            let (ty, dims) = self.what(1);
            Type::Alias(name, Box::new(ty), dims, align)
        } else {
            let mut members = self.members(1);
            // A struct of one member with an empty name and stored parameters is a typedef, too: `{COUNT : i4 "" = S1[COUNT]}`.
            let data = members.iter().filter(|member| matches!(member.what, What::Data(..))).count();
            let is_stored = members.iter().any(|member| matches!(member.what, What::Stored(..)));
            if self.is_old && data == 1 && is_stored && self.dice.one_in(2) {
                members.iter_mut().filter(|member| matches!(member.what, What::Data(..))).for_each(|member| member.name.clear());
            }
            Type::Struct(Box::new(Struct { name: Some(name), members, align: if self.is_old { align } else { 0 } }))
        };
        if self.is_old {
            self.scopes.pop();
        }
        self.types.push(ty.clone());
        ty
    }

    fn param(&mut self) -> Member {
        let name = self.param_name();
        let must_count = self.dice.one_in(2);
        let (what, number) = if self.dice.one_in(2) {
            let value = if must_count { self.dice.of(&[2, 1, 3, 0]) } else { self.dice.of(&[3, 2, 1, 4, 0, -1]) };
            self.params += 1;
            self.fixed.push((self.params - 1, value));
            if must_count {
                self.counts.push(self.params - 1);
            }
            (What::Fixed(self.params - 1, value), self.params - 1)
        } else {
            let (number, plain) = self.stored(must_count);
            (What::Stored(number, plain), number)
        };
        let place = if matches!(what, What::Fixed(..)) { Place::Next } else { self.place() };
        self.scopes.last_mut().unwrap().params.push((name.clone(), Some(number)));
        Member { name, what, place }
    }

    fn place(&mut self) -> Place {
        match self.dice.below(8) {
            0 => Place::Align(self.dice.of(&[1, 2, 4, 8, 16])),
            1 if self.inside == 0 => Place::At(Cell::new(self.dice.below(20))),
            _ => Place::Next,
        }
    }

    fn count(&mut self) -> Count {
        let params: Vec<(String, usize)> = self.known().into_iter().filter_map(|(name, number)| Some((name, number?))).collect();
        let params: Vec<(String, usize)> = params.into_iter().filter(|(_, number)| self.counts.contains(number)).collect();
        if self.is_old && !params.is_empty() && self.dice.one_in(3) {
            let (name, number) = self.dice.of(&params);
            return Count::Param(number, name);
        }
        Count::Number(if self.is_old { self.dice.of(&[1, 1, 2, 3, 0]) } else { 1 })
    }

    fn list(&mut self, depth: u32) -> List {
        let times = self.count();
        // What is repeated may hold no address.
        let is_once = self.inside == 0 && matches!(times, Count::Number(1));
        self.inside += u32::from(!is_once);
        let mut elements = Vec::new();
        for _ in 0..1 + self.dice.below(2) {
            elements.push(match self.dice.below(5) {
                0 if depth > 0 => Element::List(self.list(depth - 1)),
                1 if depth > 0 => Element::Dict(Rc::new(self.tree(depth - 1))),
                _ => {
                    let (ty, dims) = self.what(1);
                    Element::Data(ty, dims, self.place())
                }
            });
        }
        self.inside -= u32::from(!is_once);
        List { elements, times }
    }

    /// The dict that an element of a list is: a tree of its own.
    fn tree(&mut self, depth: u32) -> Vec<Step> {
        let lists = std::mem::take(&mut self.lists);
        let (dicts, way, closed) =
            (std::mem::take(&mut self.dicts), std::mem::take(&mut self.way), std::mem::take(&mut self.closed));
        let nameless = std::mem::take(&mut self.has_nameless);
        self.inside += 1;
        let steps = self.dict(depth, 2);
        self.inside -= 1;
        (self.lists, self.dicts, self.way, self.closed, self.has_nameless) = (lists, dicts, way, closed, nameless);
        steps
    }

    /// The content of a dict, with a scope of its own.
    fn dict(&mut self, depth: u32, most: u64) -> Vec<Step> {
        let known = self.closed.iter().position(|(way, _)| *way == self.way);
        let params = known.map_or_else(Vec::new, |at| self.closed.remove(at).1);
        self.scopes.push(Scope { types: self.types.len(), params });
        let steps = (0..1 + self.dice.below(most)).map(|_| self.step(depth)).collect();
        let closed = self.scopes.pop().unwrap();
        self.closed.push((self.way.clone(), closed.params));
        // In 2026 types are known in their dict and below it.
        if !self.is_old {
            self.types.truncate(closed.types);
        }
        steps
    }

    fn step(&mut self, depth: u32) -> Step {
        match self.dice.below(14) {
            0 | 1 => Step::Item(self.param()),
            2 | 3 => {
                let own: Vec<String> =
                    self.lists.iter().filter(|(way, ..)| *way == self.way).map(|(_, name, _)| name.clone()).collect();
                let name = if !own.is_empty() && self.dice.one_in(4) { self.dice.of(&own) } else { self.name() };
                let list = self.list(2);
                self.lists.retain(|(way, known, _)| !(*way == self.way && *known == name));
                self.lists.push((self.way.clone(), name.clone(), list.elements.last().unwrap().clone()));
                Step::List(name, list)
            }
            4 => {
                let is_here = |(way, _, last): &&(Vec<String>, String, Element)| {
                    *way == self.way && (self.is_old || matches!(last, Element::Data(..)))
                };
                let own: Vec<_> = self.lists.iter().filter(is_here).cloned().collect();
                if own.is_empty() {
                    return Step::Item(self.data());
                }
                let (_, name, mut last) = self.dice.of(&own);
                if let (false, Element::Data(_, _, place)) = (self.is_old, &mut last) {
                    // `%0` is the alignment of the datatype, not that of the element.
                    *place = Place::Next;
                }
                let count = self.count();
                // `[1]` would be one more element of 2026.
                let count = match count {
                    Count::Number(count) if !self.is_old => Count::Number(count + self.dice.below(2)),
                    count => count,
                };
                Step::Extend(name, last, count)
            }
            5 | 6 if depth > 0 => {
                let own: Vec<String> =
                    self.dicts.iter().filter(|(way, _)| *way == self.way).map(|(_, name)| name.clone()).collect();
                let name = if !own.is_empty() && self.dice.one_in(4) { self.dice.of(&own) } else { self.name() };
                self.dicts.push((self.way.clone(), name.clone()));
                self.way.push(name.clone());
                let body = self.dict(depth - 1, 4);
                self.way.pop();
                Step::Dict(name, body)
            }
            7 | 8 if self.inside == 0 => Step::Type(self.declared_type()),
            9 if !self.is_old && self.inside == 0 => {
                let plain = self.some_plain();
                Step::Reference(Type::Plain(plain), vec![Dim::Number(self.dice.of(&[1, 2, 3]))])
            }
            _ => Step::Item(self.data()),
        }
    }

    fn data(&mut self) -> Member {
        let is_nameless = !self.has_nameless.contains(&self.way) && self.dice.one_in(25);
        if is_nameless {
            self.has_nameless.push(self.way.clone());
        }
        let name = if is_nameless { String::new() } else { self.name() };
        let (ty, dims) = self.what(2);
        Member { name, what: What::Data(ty, dims), place: self.place() }
    }

    /// Steps at the root; of a new layout, the first of them may be the summary block, and a primitive may be another.
    pub(crate) fn root(&mut self, most: u64) -> Vec<Step> {
        (0..1 + self.dice.below(most)).map(|_| self.step(2)).collect()
    }

    /// The parameters and variables of a summary block.
    pub(crate) fn block(&mut self) -> Vec<Step> {
        self.inside += 1;
        let steps = (0..1 + self.dice.below(4)).map(|_| Step::Item(if self.dice.one_in(2) { self.param() } else { self.data() }));
        let steps = steps.collect();
        self.inside -= 1;
        steps
    }

    /// Gives a primitive another alignment or order; the declaration.
    pub(crate) fn redefine(&mut self) -> String {
        let (name, _, aligns) = self.dice.of(&PRIMITIVES[1..14]);
        let align = aligns[usize::from(!self.is_old)];
        if self.dice.one_in(2) {
            let other = self.dice.of(&[1, 2, 4, 8]);
            self.redefined.push((name, other, None));
            return if self.is_old {
                format!("{name} {{\"\"={name}}}%{other}\n")
            } else {
                format!("{name} {{:{name} %{other}}}\n")
            };
        }
        let (sign, big) = self.dice.of(&[("<", false), (">", true)]);
        self.redefined.push((name, align, Some(big)));
        if self.is_old { format!("{name} {{\"\"={sign}{name}}}\n") } else { format!("{name} {{:{sign}{name}}}\n") }
    }
}

fn is_text(ty: &Type) -> bool {
    match ty {
        Type::Plain(plain) => plain.is_text(),
        Type::Alias(_, ty, ..) => is_text(ty),
        Type::Struct(_) => false,
    }
}

fn has_dims(ty: &Type) -> bool {
    matches!(ty, Type::Alias(_, ty, dims, _) if !dims.is_empty() || has_dims(ty))
}

/// More bytes than an array can have, with whatever stands in it rounded up.
fn largest(ty: &Type, dims: &[Dim]) -> u64 {
    let count: u64 = dims.iter().map(|dim| if let Dim::Number(length) = dim { (*length).max(1) as u64 } else { 6 }).product();
    let size = match ty {
        Type::Plain(plain) => plain.size,
        Type::Alias(_, ty, dims, _) => largest(ty, dims),
        Type::Struct(of) => {
            let members = of.members.iter().map(|member| {
                let size = match &member.what {
                    What::Data(ty, dims) => largest(ty, dims) + 32,
                    What::Stored(_, plain) => plain.size + 32,
                    What::Fixed(..) => 0,
                };
                if let Place::At(at) = &member.place { at.get() + size } else { size }
            });
            members.sum::<u64>() + 16
        }
    };
    count * (size + 16)
}
