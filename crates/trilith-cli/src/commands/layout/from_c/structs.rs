//! The structs of a C source, with the sizes and alignments that a compiler gives them.

use std::collections::HashMap;
use std::fmt::Write as _;

use trilith::layout::quoted_name;
use trilith::{Error, Result};

use super::symbol_table::SymbolTable;

/// The members of a struct.
#[derive(Debug, Default)]
pub(super) struct Members {
    members: Vec<Member>,
}

#[derive(Debug)]
pub(super) struct Member {
    pub name: String,
    /// Type of the member, with dimensions that are numbers if they are constants.
    pub layout_type: String,
    /// The alignment of the member in its struct: that of its type, or less in a packed struct.
    pub align: u64,
    pub docs: String,
}

impl Members {
    /// Adds one. A summary block comes before the constants, so that lengths are numbers in it.
    pub(super) fn push_member(&mut self, name: &str, spelled: &str, align: u64, docs: &str, constants: &SymbolTable<i64>) {
        let number = |dim: &str| constants.get(dim.trim()).map_or_else(|| dim.trim().to_owned(), i64::to_string);
        let (base, dims) = split_type(spelled);
        let spelled = match dims.strip_prefix('[').and_then(|dims| dims.strip_suffix(']')) {
            Some(dims) => format!("{base}[{}]", dims.split(',').map(number).collect::<Vec<_>>().join(", ")),
            None => base.to_owned(),
        };
        self.members.push(Member { name: name.to_owned(), layout_type: spelled, align, docs: docs.to_owned() });
    }
}

/// The datatype and the dimensions of a type as a layout spells it, without its placement.
pub(super) fn split_type(spelled: &str) -> (&str, &str) {
    let start = if spelled.starts_with('"') { spelled.get(1..).and_then(|rest| rest.find('"')).map_or(0, |end| end + 2) } else { 0 };
    let rest = spelled.get(start..).unwrap_or("");
    let end = start + rest.find(['[', ' ']).unwrap_or(rest.len());
    let stop = spelled.get(end..).and_then(|rest| rest.find(']')).map_or(end, |at| end + at + 1);
    (spelled.get(..end).unwrap_or(""), spelled.get(end..stop).unwrap_or(""))
}

/// A struct as it was written.
#[derive(Debug)]
struct StructDef {
    members: Members,
    docs: String,
    text: String,
    align: u64,
}

/// Structs and names of types that were read so far.
#[derive(Debug, Default)]
pub(super) struct StructTable {
    definitions: HashMap<String, StructDef>,
    /// Alignment and size of other types with a name.
    types: HashMap<String, (u64, Option<u64>)>,
    /// The structs that a typedef names.
    names: HashMap<String, String>,
}

/// Structs nest no deeper.
const MAX_DEPTH: usize = 64;

impl StructTable {
    pub(super) fn insert_struct(&mut self, name: &str, members: Members, docs: String, text: String) {
        let align = members.members.iter().map(|member| member.align).max().unwrap_or(1);
        self.definitions.insert(name.to_owned(), StructDef { members, docs, text, align });
    }

    pub(super) fn insert_typedef(&mut self, name: &str, spelled: &str, made: &str) {
        if self.definitions.contains_key(made) {
            self.names.insert(name.to_owned(), made.to_owned());
            return;
        }
        let (base, dims) = split_type(spelled);
        let size = count_elements(dims).and_then(|count| self.size_of(base, 0)?.checked_mul(count));
        self.types.insert(made.to_owned(), (self.align_of(base), size));
    }

    pub(super) fn contains(&self, spelled: &str) -> bool {
        self.definitions.contains_key(spelled)
    }

    /// Returns `true` if a struct has this name in C.
    pub(super) fn has_name(&self, spelled: &str, name: &str) -> bool {
        quoted_name(name) == spelled || self.names.get(name).is_some_and(|known| known == spelled)
    }

    /// Returns the struct that has this name in C, as a layout spells it.
    pub(super) fn find_by_c_name(&self, name: &str) -> Option<String> {
        let spelled = quoted_name(name);
        if self.definitions.contains_key(&spelled) { Some(spelled) } else { self.names.get(name).cloned() }
    }

    /// Returns the member of this name that is an integer, with its struct; the first struct by name.
    pub(super) fn find_with_integer(&self, name: &str) -> Option<String> {
        let is_integer = |member: &Member| matches!(member.layout_type.as_str(), "i1" | "i2" | "i4" | "i8" | "u4" | "u8");
        let has_member = |of: &&String| self.members_of(of).iter().any(|member| member.name == name && is_integer(member));
        let found = self.definitions.keys().filter(has_member).min()?;
        Some(format!("{}.{name}", found.trim_matches('"')))
    }

    pub(super) fn members_of(&self, name: &str) -> &[Member] {
        self.definitions.get(name).map_or(&[], |written| written.members.members.as_slice())
    }

    pub(super) fn docs_of(&self, name: &str) -> &str {
        self.definitions.get(name).map_or("", |written| written.docs.as_str())
    }

    /// The places in a struct, at any depth, of structs with a name.
    pub(super) fn find_nested(&self, header: &str, name: &str, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
        if path.len() > MAX_DEPTH {
            return;
        }
        for member in self.members_of(header) {
            path.push(member.name.clone());
            match split_type(&member.layout_type) {
                (base, "") if self.has_name(base, name) => out.push(path.clone()),
                (base, "") => self.find_nested(base, name, path, out),
                _ => {}
            }
            path.pop();
        }
    }

    /// Fails if the members do not lead from a struct to an integer.
    pub(super) fn check_integer(&self, header: &str, way: &[String]) -> Result<()> {
        let mut here = header.to_owned();
        for (at, name) in way.iter().enumerate() {
            let members = self.members_of(&here);
            let Some(member) = members.iter().find(|member| member.name == *name) else {
                let known: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
                let message = match known.is_empty() {
                    true => format!("{} is not a struct, so it has no member {name}", way.get(..at).unwrap_or(&[]).join(".")),
                    false => format!("the struct {here} has no member {name}; it has {}", known.join(", ")),
                };
                return Err(Error::invalid_input(message));
            };
            if at + 1 < way.len() {
                let (base, dims) = split_type(&member.layout_type);
                if !dims.is_empty() {
                    return Err(Error::unsupported(format!("{name} is an array of structs, whose members cannot be lengths")));
                }
                here = base.to_owned();
                continue;
            }
            match member.layout_type.as_str() {
                "i1" | "i2" | "i4" | "i8" | "u4" | "u8" => {}
                "u1" | "u2" => {
                    return Err(Error::unsupported(format!("{name} is an unsigned integer of one or two bytes, which no length of a layout is"))
                        .hint("declare it as a signed integer, if no value needs the highest bit"));
                }
                _ => return Err(Error::invalid_input(format!("{name} is not an integer, so it cannot be a length"))),
            }
        }
        Ok(())
    }

    /// Returns how a layout spells that a type has this alignment; nothing if it has it anyway.
    pub(super) fn print_placement(&self, base: &str, align: u64) -> String {
        // A layout of 2025 aligns a complex number as the whole (D1), a compiler as its parts.
        let usual = if matches!(base, "c8" | "c16") { 2 * self.align_of(base) } else { self.align_of(base) };
        if usual == align { String::new() } else { format!(" %{align}") }
    }

    /// The alignment that a compiler gives a type.
    pub(super) fn align_of(&self, base: &str) -> u64 {
        if let Some(written) = self.definitions.get(base) {
            return written.align;
        }
        if let Some((align, _)) = self.types.get(base) {
            return *align;
        }
        match (base.get(..1), base.get(1..).and_then(|size| size.parse::<u64>().ok())) {
            (Some("c"), Some(size)) => size / 2,
            (Some("S"), _) | (_, None) => 1,
            (_, Some(size)) => size,
        }
    }

    /// Returns the number of bytes of a type; None if it is not known.
    fn size_of(&self, base: &str, depth: usize) -> Option<u64> {
        if let Some(written) = self.definitions.get(base).filter(|_| depth < MAX_DEPTH) {
            return self.last_member_end(base, depth)?.checked_next_multiple_of(written.align.max(1));
        }
        match self.types.get(base) {
            Some((_, size)) => *size,
            None => base.get(1..)?.parse().ok(),
        }
    }

    /// Returns the number of bytes of an item; None if it is not known.
    pub(super) fn size_of_items(&self, base: &str, dims: &str) -> Option<u64> {
        self.size_of(base, 0)?.checked_mul(count_elements(dims)?)
    }

    /// Returns the end of the last member of a struct.
    fn last_member_end(&self, name: &str, depth: usize) -> Option<u64> {
        let mut end = 0u64;
        for member in self.members_of(name) {
            let (base, dims) = split_type(&member.layout_type);
            end = end.checked_next_multiple_of(member.align.max(1))?;
            end = end.checked_add(self.size_of(base, depth + 1)?.checked_mul(count_elements(dims)?)?)?;
        }
        Some(end)
    }

    /// Returns the number of bytes of a struct after its last member; None if it is not known.
    pub(super) fn trailing_padding(&self, name: &str) -> Option<u64> {
        let end = self.last_member_end(name, 0)?;
        end.checked_next_multiple_of(self.align_of(name).max(1)).map(|size| size - end)
    }

    /// A type without names that are declared later: a struct with all its members.
    pub(super) fn inline_type(&self, base: &str, depth: usize) -> String {
        let Some(written) = self.definitions.get(base).filter(|_| depth < MAX_DEPTH) else { return base.to_owned() };
        let pad = "  ".repeat(depth);
        let mut text = String::from("{\n");
        for member in &written.members.members {
            let (base, dims) = split_type(&member.layout_type);
            let placement = self.print_placement(base, member.align);
            let full = self.inline_type(base, depth + 1);
            let _ = write!(text, "{pad}  {} = {full}{dims}{placement}{}", quoted_name(&member.name), member.docs);
        }
        format!("{text}{pad}}}")
    }

    /// The text of a layout without a struct and those in it that nothing else uses.
    pub(super) fn drop_unused(&self, name: &str, text: String) -> String {
        let Some(written) = self.definitions.get(name) else { return text };
        let uses = ["\n", "[", " "].map(|next| format!("= {name}{next}"));
        let without = text.replacen(&written.text, "", 1);
        if uses.iter().any(|used| without.contains(used)) {
            return text;
        }
        let inner = written.members.members.iter().map(|member| split_type(&member.layout_type).0);
        inner.fold(without, |text, base| self.drop_unused(base, text))
    }
}

/// Returns the number of elements of some dimensions; None if it is not known.
fn count_elements(dims: &str) -> Option<u64> {
    let dims = dims.trim_matches(['[', ']']).split(',').map(str::trim).filter(|dim| !dim.is_empty());
    dims.map(|dim| dim.parse::<u64>().ok()).try_fold(1u64, |count, dim| count.checked_mul(dim?))
}
