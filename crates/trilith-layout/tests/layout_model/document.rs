//! Random layouts in both dialects, as a tree of declarations that can be printed.

use std::cell::Cell;
use std::collections::BTreeMap;

/// Numbers that look random, and are the same in every run.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    pub(crate) fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }

    /// Returns `true` in one of `n` cases.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// Name, size, and alignment in 2025 and 2026.
pub(crate) type Primitive = (&'static str, u64, [u64; 2]);

pub(crate) const PRIMITIVES: [Primitive; 19] = [
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
    ("b1", 1, [1, 1]),
    ("S1", 1, [1, 1]),
    ("U1", 1, [1, 1]),
    ("U2", 2, [2, 2]),
    ("U4", 4, [4, 4]),
];

/// A primitive with everything decided: what stands in the text, its alignment and, if the layout says it, its order.
#[derive(Clone)]
pub(crate) struct Plain {
    pub name: &'static str,
    pub size: u64,
    pub align: u64,
    pub big: Option<bool>,
    pub text: String,
}

impl Plain {
    pub(crate) fn is_text(&self) -> bool {
        self.name.starts_with(['S', 'U'])
    }

    /// Bytes of each number in it, which have an order.
    pub(crate) fn unit(&self) -> u64 {
        if self.name.starts_with('c') { self.size / 2 } else { self.size }
    }
}

#[derive(Clone)]
pub(crate) enum Dim {
    Number(i64),
    /// Length from a parameter: the number and the name of the parameter, and a suffix.
    Param(usize, String, i64),
    /// In a named type of 2025: bound where the type is used.
    Free(String, i64),
}

#[derive(Clone)]
pub(crate) enum Type {
    Plain(Plain),
    Struct(Box<Struct>),
    /// A typedef: name, type, dimensions, alignment.
    Alias(String, Box<Type>, Vec<Dim>, u64),
}

#[derive(Clone)]
pub(crate) struct Struct {
    pub name: Option<String>,
    pub members: Vec<Member>,
    /// `%n` after the brace.
    pub align: u64,
}

#[derive(Clone)]
pub(crate) struct Member {
    pub name: String,
    pub what: What,
    pub place: Place,
}

#[derive(Clone)]
pub(crate) enum What {
    Data(Type, Vec<Dim>),
    Fixed(usize, i64),
    Stored(usize, Plain),
}

#[derive(Clone)]
pub(crate) enum Place {
    Next,
    Align(u64),
    /// In a struct, at this offset; of an item, this number of bytes after the next address: where that is, is found later.
    At(Cell<u64>),
}

pub(crate) enum Step {
    /// Data or a parameter.
    Item(Member),
    Dict(String, Vec<Step>),
    List(String, List),
    /// `list [n]`: the element that is repeated, and what the count is.
    Extend(String, Element, Count),
    Type(Type),
    /// `&`
    Reference(Type, Vec<Dim>),
}

#[derive(Clone)]
pub(crate) struct List {
    pub elements: Vec<Element>,
    pub times: Count,
}

#[derive(Clone)]
pub(crate) enum Count {
    Number(u64),
    Param(usize, String),
}

#[derive(Clone)]
pub(crate) enum Element {
    Data(Type, Vec<Dim>, Place),
    Dict(std::rc::Rc<Vec<Step>>),
    List(List),
}

/// Returns a name as a layout and a path spell it.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { format!("\"{name}\"") }
}

/// The text of a layout. Which of several spellings is taken is left to chance.
pub(crate) struct Printer<'d> {
    pub is_old: bool,
    pub dice: &'d mut Dice,
    pub used: &'d mut BTreeMap<&'static str, u64>,
    pub out: String,
}

impl Printer<'_> {
    fn count(&mut self, construct: &'static str) {
        *self.used.entry(construct).or_default() += 1;
    }

    fn dims(&mut self, dims: &[Dim]) -> String {
        if dims.is_empty() {
            return String::new();
        }
        let mut texts = Vec::new();
        for dim in dims {
            let (name, suffix) = match dim {
                Dim::Number(length) => {
                    if *length <= 0 {
                        self.count("dimension 0 or -1");
                    }
                    texts.push(length.to_string());
                    continue;
                }
                Dim::Param(_, name, suffix) | Dim::Free(name, suffix) => (name, suffix),
            };
            self.count(if *suffix == 0 { "parameter as dimension" } else { "suffix" });
            texts.push(format!("{}{}", quoted(name), if *suffix < 0 { "-" } else { "+" }.repeat(suffix.unsigned_abs() as usize)));
        }
        let dims = texts.join(", ");
        if self.is_old { format!("[{dims}]") } else { format!("({dims})") }
    }

    fn place(&mut self, place: &Place) -> String {
        match place {
            Place::Next => String::new(),
            Place::Align(align) => {
                self.count("%align");
                format!(" %{align}")
            }
            Place::At(at) => {
                self.count("@address");
                format!(" @{}", at.get())
            }
        }
    }

    fn spelled(&mut self, ty: &Type, dims: &[Dim]) -> String {
        let mut text = match ty {
            Type::Plain(plain) => {
                self.count(plain.name);
                if plain.text.starts_with(['<', '>', '|']) {
                    self.count("order prefix");
                }
                plain.text.clone()
            }
            Type::Alias(name, ..) => {
                self.count("instance of a typedef");
                quoted(name)
            }
            Type::Struct(of) => match &of.name {
                Some(name) => {
                    self.count("instance of a named struct");
                    quoted(name)
                }
                None => {
                    self.count("anonymous struct");
                    self.braces(of)
                }
            },
        };
        text += &self.dims(dims);
        text
    }

    fn braces(&mut self, of: &Struct) -> String {
        let members: Vec<String> = of.members.iter().map(|member| self.member(member, true)).collect();
        format!("{{{}}}", members.join("  "))
    }

    fn member(&mut self, member: &Member, is_in_struct: bool) -> String {
        let (data, param) = if self.is_old { (" =", " :") } else { (":", " =") };
        let param = if self.is_old && self.dice.one_in(5) { " :=" } else { param };
        let name = quoted(&member.name);
        if name.starts_with('"') {
            self.count(if member.name.is_empty() { "empty name" } else { "quoted name" });
        }
        match &member.what {
            What::Data(ty, dims) => {
                let complex = matches!(ty, Type::Plain(plain) if plain.name.starts_with('c'));
                if is_in_struct && complex {
                    self.count("complex member of a struct");
                }
                format!("{name}{data} {}{}", self.spelled(ty, dims), self.place(&member.place))
            }
            What::Fixed(_, value) => {
                self.count(if is_in_struct { "fixed parameter in a struct" } else { "fixed parameter" });
                format!("{name}{param} {value}")
            }
            What::Stored(_, plain) => {
                self.count(if is_in_struct { "stored parameter in a struct" } else { "stored parameter" });
                format!("{name}{param} {}{}", plain.text, self.place(&member.place))
            }
        }
    }

    /// Prints steps of which the first `block` are the summary block; paths lead from the top of the tree.
    pub(crate) fn steps(&mut self, steps: &[Step], block: usize, at: &mut Vec<String>, is: &mut Vec<String>) {
        for (number, step) in steps.iter().enumerate() {
            if number == 0 && block > 0 {
                self.count("summary block");
                self.out += "{\n";
            }
            if let Step::Dict(name, body) = step {
                at.push(name.clone());
                if body.is_empty() {
                    self.go(at, is);
                }
                self.steps(body, 0, at, is);
                at.pop();
                continue;
            }
            self.go(at, is);
            let text = match step {
                Step::Item(member) => self.member(member, false),
                Step::List(name, list) => {
                    self.count("list");
                    let equals =
                        if self.is_old && matches!(list.times, Count::Number(1)) && self.dice.one_in(3) { " =" } else { "" };
                    format!("{}{equals} {}", quoted(name), self.list(list))
                }
                Step::Extend(name, element, count) => self.extend(name, element, count),
                Step::Type(ty) => self.declared(ty),
                Step::Reference(ty, dims) => {
                    self.count("& item");
                    format!("& {}", self.spelled(ty, dims))
                }
                Step::Dict(..) => String::new(),
            };
            self.out += &text;
            self.out += if self.dice.one_in(8) { "  # so\n" } else { "\n" };
            if number + 1 == block {
                self.out += "}\n";
            }
        }
    }

    fn extend(&mut self, name: &str, element: &Element, count: &Count) -> String {
        self.count(match element {
            Element::Data(..) => "list extended by its last array",
            Element::Dict(_) => "list extended by its last dict",
            Element::List(_) => "list extended by its last list",
        });
        let count = match count {
            Count::Number(count) => *count,
            Count::Param(_, param) => return format!("{} [{}]", quoted(name), quoted(param)),
        };
        if self.is_old {
            format!("{} [{count}]", quoted(name))
        } else {
            format!("{} [{}]", quoted(name), vec!["%0"; count as usize].join(", "))
        }
    }

    fn declared(&mut self, ty: &Type) -> String {
        let align = |align: u64| if align > 0 { format!(" %{align}") } else { String::new() };
        match ty {
            Type::Alias(name, ty, dims, own) => {
                self.count("typedef");
                let text = self.spelled(ty, dims);
                match (self.is_old, *own) {
                    (true, own) => format!("{} {{\"\" = {text}}}{}", quoted(name), align(own)),
                    (false, own) => format!("{} {{: {text}{}}}", quoted(name), align(own)),
                }
            }
            Type::Struct(of) => {
                self.count("named struct");
                let body = self.braces(of);
                format!("{} {body}{}", quoted(of.name.as_deref().unwrap_or("")), align(of.align))
            }
            Type::Plain(_) => String::new(),
        }
    }

    fn list(&mut self, list: &List) -> String {
        let mut texts = Vec::new();
        for element in &list.elements {
            texts.push(match element {
                Element::Data(ty, dims, place) => format!("{}{}", self.spelled(ty, dims), self.place(place)),
                Element::Dict(steps) => {
                    self.count("dict in a list");
                    let before = std::mem::take(&mut self.out);
                    self.steps(steps, 0, &mut Vec::new(), &mut Vec::new());
                    format!("/ {}", std::mem::replace(&mut self.out, before))
                }
                Element::List(list) => {
                    self.count("list in a list");
                    self.list(list)
                }
            });
        }
        let times = match &list.times {
            Count::Number(1) => String::new(),
            Count::Number(times) => {
                self.count("*n");
                format!("*{times}")
            }
            Count::Param(_, name) => {
                self.count("*PARAM");
                format!("*{}", quoted(name))
            }
        };
        let comma = if self.dice.one_in(6) { "," } else { "" };
        format!("[ {}{comma} ]{times}", texts.join(", "))
    }

    /// Opens the dict `at`, if another one is open.
    fn go(&mut self, at: &[String], is: &mut Vec<String>) {
        if at == is.as_slice() {
            return;
        }
        let same = at.iter().zip(is.iter()).take_while(|(a, b)| a == b).count();
        let mut from = same;
        if is.len() > same && self.dice.one_in(3) {
            self.count("/ to the top");
            self.out += "/\n";
            from = 0;
        } else {
            for _ in same..is.len() {
                self.count("..");
                self.out += "..\n";
            }
        }
        for name in &at[from..] {
            self.count("name/");
            self.out += &format!("{}/{}", quoted(name), self.dice.of(&["\n", " ", ""]));
        }
        *is = at.to_vec();
    }
}
