//! The struct at the beginning of a file whose members are lengths: the summary block of a template.

use std::collections::HashMap;
use std::fmt::Write as _;

use trilith::layout::quoted_name;
use trilith::{Error, Result};

use super::symbol_table::SymbolTable;
use super::structs::{Members, StructTable, split_type};

/// A member of a C struct that is a length: `nx=mesh.nx`, or `nx=head.mesh.nx` for a struct in it.
#[derive(Debug, Clone)]
pub(crate) struct LengthMember {
    /// The name of the parameter.
    name: String,
    /// A variable, or a struct.
    struct_path: String,
    /// The members that lead to it.
    path: Vec<String>,
}

impl std::str::FromStr for LengthMember {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('=').map(|(name, place)| (name.trim(), place.split('.').map(str::trim)));
        if let Some((name, mut place)) = parts
            && let Some(of) = place.next()
        {
            let path: Vec<String> = place.map(str::to_owned).collect();
            if !path.is_empty() && !name.is_empty() && !of.is_empty() && !path.iter().any(String::is_empty) {
                return Ok(Self { name: name.to_owned(), struct_path: of.to_owned(), path });
            }
        }
        Err(Error::invalid_input(format!("{text:?} is not a length")).hint("write NAME=STRUCT.MEMBER, such as nx=mesh.nx"))
    }
}

/// The facts about the block that a source has given so far.
#[derive(Debug, Default)]
pub(super) struct SummaryBlock {
    lengths: Vec<LengthMember>,
    structs: StructTable,
    /// The struct that begins the file, and the name of its variable if it has one.
    header: Option<(String, Option<String>)>,
    /// The least alignment of the struct and the items so far, and their names.
    min_size: u64,
    items: Vec<String>,
    /// The end of the last item in a file without lengths, if it is known.
    end: Option<u64>,
    /// Bytes after the last member of the struct, if the block has to name them.
    padding: u64,
}

/// A member of the block.
struct FlatMember {
    /// The members of the struct that lead to it.
    path: Vec<String>,
    name: String,
    layout_type: String,
    docs: String,
    is_length: bool,
}

impl SummaryBlock {
    /// Creates a summary for these lengths.
    pub(super) fn new(lengths: &[LengthMember]) -> Result<Self> {
        for (at, length) in lengths.iter().enumerate() {
            if lengths.iter().take(at).any(|other| other.name == length.name) {
                return Err(Error::invalid_input(format!("two lengths are called {}", length.name)));
            }
        }
        Ok(Self { lengths: lengths.to_vec(), ..Self::default() })
    }

    /// Returns `true` if the layout is that of a file, of which every variable has a place.
    pub(super) fn is_enabled(&self) -> bool {
        !self.lengths.is_empty()
    }

    /// Returns the alignment that a compiler gives a type.
    pub(super) fn align_of(&self, base: &str) -> u64 {
        self.structs.align_of(base)
    }

    /// Returns how a layout spells that a type has this alignment.
    pub(super) fn print_placement(&self, base: &str, align: u64) -> String {
        self.structs.print_placement(base, align)
    }

    /// Returns what to do about a name that is not a constant: it is a length that the file stores, in the struct that has such a member
    /// if there is one.
    pub(super) fn advise_length(&self, name: &str) -> String {
        match self.structs.find_with_integer(name) {
            Some(place) => format!("if the file stores it, give --length {name}={place}"),
            None => format!("if a struct at the beginning of the file stores it, give its member, such as --length {name}=mesh.{name}"),
        }
    }

    /// Keeps a struct.
    pub(super) fn insert_struct(&mut self, name: &str, members: Members, docs: String, text: String) {
        self.structs.insert_struct(name, members, docs, text);
    }

    /// Keeps a name for a type. `spelled` is the type it means in C; `made` is its name in the layout.
    pub(super) fn insert_typedef(&mut self, name: &str, spelled: &str, made: &str) {
        self.structs.insert_typedef(name, spelled, made);
    }

    /// A length in brackets that is a stored one, plus or minus a number: `nx-` for `nx - 1`. A product of lengths and numbers
    /// is as many dimensions: the elements are in the same places.
    pub(super) fn length_expr(&self, words: &[&str], constants: &SymbolTable<i64>) -> Option<String> {
        let (mut factors, mut depth, mut from) = (Vec::new(), 0usize, 0);
        for (at, word) in words.iter().enumerate() {
            match *word {
                "(" => depth += 1,
                ")" => depth = depth.checked_sub(1)?,
                "*" if depth == 0 => {
                    factors.push(words.get(from..at)?);
                    from = at + 1;
                }
                _ => {}
            }
        }
        factors.push(words.get(from..)?);
        let (is_product, mut dims, mut is_stored) = (factors.len() > 1, Vec::new(), false);
        for mut factor in factors {
            let is_bare = factor.first() != Some(&"(");
            while let [_, inner @ .., ")"] = factor
                && factor.first() == Some(&"(")
                && !inner.contains(&"(")
            {
                factor = inner;
            }
            if let Some(dim) = self.dimension_text(factor, constants).filter(|_| !is_product || !is_bare || factor.len() == 1) {
                dims.push(dim);
                is_stored = true;
            } else if !is_product || is_bare && factor.len() > 1 {
                return None;
            } else {
                dims.push(super::evaluate(factor, constants).filter(|value| *value >= 0)?.to_string());
            }
        }
        is_stored.then(|| dims.join(", "))
    }

    /// Returns a dimension that is a stored length, plus or minus a number, as a layout spells it.
    fn dimension_text(&self, words: &[&str], constants: &SymbolTable<i64>) -> Option<String> {
        let (name, rest) = words.split_first()?;
        self.lengths.iter().find(|length| length.name == *name)?;
        let name = quoted_name(name);
        let (sign, count) = match rest {
            [] => return Some(name),
            [sign @ ("+" | "-"), count] => (*sign, super::evaluate(&[*count], constants)?),
            // `nx-1` may be one word of a number with its sign.
            [number] => (number.get(..1).filter(|sign| matches!(*sign, "+" | "-"))?, number.get(1..)?.parse().ok()?),
            _ => return None,
        };
        let count = usize::try_from(count).ok().filter(|count| *count <= 31)?;
        Some(format!("{name}{}", sign.repeat(count)))
    }

    /// Returns the members that lead to a length from the struct at the beginning of the file; None if it is not in this struct.
    fn path_to_length(&self, length: &LengthMember, header: &str, variable: Option<&str>) -> Result<Option<Vec<String>>> {
        if variable == Some(length.struct_path.as_str()) || self.structs.has_name(header, &length.struct_path) {
            return Ok(Some(length.path.clone()));
        }
        let mut found = Vec::new();
        self.structs.find_nested(header, &length.struct_path, &mut Vec::new(), &mut found);
        match found.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some([only.as_slice(), &length.path].concat())),
            [first, ..] => {
                let message = format!("the struct at the beginning of the file contains {} several times", length.struct_path);
                let place = [first.as_slice(), &length.path].concat().join(".");
                Err(Error::invalid_input(message).hint(format!("name one: {}={}.{place}", length.name, variable.unwrap_or(header))))
            }
        }
    }

    /// Returns `true` if a variable at the top is the block at the beginning of the file, which is not an item.
    pub(super) fn claims_variable(&mut self, name: &str, spelled: &str) -> Result<bool> {
        if !self.structs.contains(spelled) {
            return Ok(false);
        }
        let mut has = false;
        for length in &self.lengths {
            has |= self.path_to_length(length, spelled, Some(name))?.is_some();
        }
        if !has {
            return Ok(false);
        }
        if self.items.is_empty() && self.header.is_none() {
            self.min_size = self.structs.align_of(spelled);
            self.header = Some((spelled.to_owned(), Some(name.to_owned())));
            return Ok(true);
        }
        // A further variable of the same struct is an item, if the lengths are those of the first one.
        let is_first = self.header.as_ref().is_some_and(|(_, variable)| variable.is_some());
        if is_first && !self.lengths.iter().any(|length| length.struct_path == name) {
            return Ok(false);
        }
        Err(Error::invalid_input(format!("{name} has lengths, but is not the first variable of the file"))
            .hint("declare the variables in the order of the file; add lengths after the first variable to the layout by hand: np : i8"))
    }

    /// A type as it is written for an item, placed to follow the one before it as in memory.
    pub(super) fn place_like_memory(&mut self, name: &str, spelled: &str) -> Result<String> {
        if self.lengths.is_empty() {
            return Ok(self.after_others(name, spelled));
        }
        if self.header.is_none() {
            // A struct without a separate variable.
            let of = self.lengths.first().map_or("", |first| first.struct_path.as_str());
            let name = self.structs.find_by_c_name(of).ok_or_else(|| self.no_struct(of))?;
            self.min_size = self.structs.align_of(&name);
            self.header = Some((name, None));
        }
        let is_first = self.items.is_empty();
        self.items.push(name.to_owned());
        let (base, dims) = split_type(spelled);
        let (own, least) = (self.structs.align_of(base), self.min_size);
        // The alignment that the layout gives without `%`: a complex number of 2025 is aligned to its size.
        let default = if matches!(base, "c8" | "c16") { 2 * own } else { own };
        let padding = self.header.as_ref().filter(|_| is_first).and_then(|(header, _)| self.structs.trailing_padding(header));
        let is_stored = |dim: &str| self.lengths.iter().any(|length| quoted_name(&length.name) == dim.trim_end_matches(['+', '-']));
        let placement = match padding {
            // An item without elements is nowhere, so that it cannot make up for the padding at the end of the struct.
            Some(padding) if padding > 0 && dims.trim_matches(['[', ']']).split(',').any(|dim| is_stored(dim.trim())) => {
                self.padding = padding;
                None
            }
            // A struct ends at a multiple of its alignment.
            padding if is_first && padding != Some(0) => Some(least),
            _ => None,
        };
        let placement = match placement {
            Some(least) => (default != least).then_some(least),
            None => (default > least).then_some(if own <= least { own } else { 1 }),
        };
        self.min_size = own.min(least);
        Ok(placement.map_or_else(|| format!("{base}{dims}"), |align| format!("{base}{dims} %{align}")))
    }

    /// A type as it is written for an item of a file without lengths: nothing is between items.
    fn after_others(&mut self, name: &str, spelled: &str) -> String {
        let (base, dims) = split_type(spelled);
        let (own, is_first) = (self.structs.align_of(base), self.items.is_empty());
        let start = if is_first { Some(0) } else { self.end };
        // A layout puts an item at the next multiple of its alignment, if `%` does not say otherwise.
        let has_gap = match start {
            Some(at) => at.checked_rem(own) != Some(0),
            None => own > self.min_size,
        };
        self.end = start.and_then(|at| self.structs.size_of_items(base, dims)?.checked_add(at));
        self.min_size = if is_first { own } else { own.min(self.min_size) };
        self.items.push(name.to_owned());
        if has_gap { format!("{base}{dims} %1") } else { spelled.to_owned() }
    }

    fn no_struct(&self, of: &str) -> Error {
        Error::invalid_input(format!("there is no struct {of} in the source, nor a variable of that name that is one"))
    }

    /// The text of the layout with the block.
    pub(super) fn into_layout(self, text: String) -> Result<String> {
        let Some(first) = self.lengths.first() else { return Ok(text) };
        let (header, variable) = match &self.header {
            Some((header, variable)) => (header.clone(), variable.clone()),
            None => (self.structs.find_by_c_name(&first.struct_path).ok_or_else(|| self.no_struct(&first.struct_path))?, None),
        };
        let mut ways = Vec::new();
        for length in &self.lengths {
            let way = self.path_to_length(length, &header, variable.as_deref())?.ok_or_else(|| {
                if self.structs.find_by_c_name(&length.struct_path).is_none() {
                    return self.no_struct(&length.struct_path);
                }
                Error::invalid_input(format!("{} is not in {header}, the struct at the beginning of the file", length.struct_path))
                    .hint("a template has one block at its beginning")
            })?;
            self.structs.check_integer(&header, &way)?;
            if let Some((_, other)) = ways.iter().find(|(other, _): &&(Vec<String>, &LengthMember)| *other == way) {
                return Err(Error::invalid_input(format!("{} and {} are the same member", other.name, length.name)));
            }
            ways.push((way, length));
        }
        let mut flat = Vec::new();
        self.flatten_members(&header, &mut Vec::new(), &ways, &mut 1, &mut flat)?;
        self.assign_names(&mut flat, &header);
        let mut block = format!("{{\n{}", self.structs.docs_of(&header));
        for member in &flat {
            let sign = if member.is_length { ':' } else { '=' };
            let _ = write!(block, "  {} {sign} {}{}", quoted_name(&member.name), member.layout_type, member.docs);
        }
        if self.padding > 0 {
            let _ = writeln!(block, "  _pad = u1[{}]", self.padding);
        }
        block.push_str("}\n");
        let text = self.structs.drop_unused(&header, text);
        let (dialect, rest) = text.split_once('\n').unwrap_or(("", &text));
        Ok(format!("{dialect}\n{block}{rest}"))
    }

    /// Gives the members of the block their names: those of the lengths, else those of the members, with the structs around them
    /// if another one or an item has this name.
    fn assign_names(&self, flat: &mut [FlatMember], header: &str) {
        let mut count: HashMap<String, usize> = HashMap::new();
        for name in flat.iter().map(|member| &member.name).chain(&self.items) {
            *count.entry(name.clone()).or_default() += 1;
        }
        for member in flat.iter_mut().filter(|member| !member.is_length) {
            if count.get(&member.name).is_some_and(|count| *count > 1) {
                let above = if member.path.len() > 1 { String::new() } else { format!("{}_", header.trim_matches('"')) };
                member.name = format!("{above}{}", member.path.join("_"));
            }
        }
    }

    /// The members of a struct of the block, one after the other. `align` is the alignment that the next one needs in addition to
    /// its own: a struct begins and ends at a multiple of its alignment.
    fn flatten_members(
        &self,
        name: &str,
        path: &mut Vec<String>,
        ways: &[(Vec<String>, &LengthMember)],
        align: &mut u64,
        out: &mut Vec<FlatMember>,
    ) -> Result<()> {
        for member in self.structs.members_of(name) {
            path.push(member.name.clone());
            let (base, dims) = split_type(&member.layout_type);
            if ways.iter().any(|(way, _)| way.len() > path.len() && way.starts_with(path)) {
                let own = self.structs.align_of(base);
                // The members of the block are placed from the beginning of the file.
                if member.align < own {
                    return Err(Error::unsupported(format!("{} has lengths, and is a struct with padding in a packed struct", path.join(".")))
                        .hint("declare it packed as well, if the program does"));
                }
                *align = own.max(*align);
                self.flatten_members(base, path, ways, align, out)?;
                *align = own.max(*align);
            } else {
                let length = ways.iter().find(|(way, _)| way == path).map(|(_, length)| *length);
                let placement = self.structs.print_placement(base, member.align.max(*align));
                let spelled = match (length, base) {
                    // Parameters of the language are signed.
                    (Some(_), "u4") => "i4".to_owned(),
                    (Some(_), "u8") => "i8".to_owned(),
                    _ => self.structs.inline_type(base, 1),
                };
                let name = length.map_or_else(|| member.name.clone(), |length| length.name.clone());
                let spelled = format!("{spelled}{dims}{placement}");
                out.push(FlatMember { path: path.clone(), name, layout_type: spelled, docs: member.docs.clone(), is_length: length.is_some() });
                *align = 1;
            }
            path.pop();
        }
        Ok(())
    }
}
