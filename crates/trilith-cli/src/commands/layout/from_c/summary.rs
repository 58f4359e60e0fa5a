//! The struct at the beginning of a file whose members are lengths: the summary block of a template.

use std::collections::HashMap;
use std::fmt::Write as _;

use trilith::layout::quoted_name;
use trilith::{Error, Result};

use super::known::Known;

/// A member of a C struct that is a length: `nx=mesh.nx`.
#[derive(Debug, Clone)]
pub struct Length {
    /// The name of the parameter.
    name: String,
    /// A variable at the beginning of the file, or the tag of its struct.
    of: String,
    member: String,
}

impl std::str::FromStr for Length {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('=').and_then(|(name, place)| Some((name.trim(), place.trim().split_once('.')?)));
        match parts {
            Some((name, (of, member))) if ![name, of, member].iter().any(|part| part.is_empty()) && !member.contains('.') => {
                Ok(Self { name: name.to_owned(), of: of.to_owned(), member: member.to_owned() })
            }
            _ => Err(Error::invalid_input(format!("{text:?} is no length")).hint("write NAME=STRUCT.MEMBER, such as nx=mesh.nx")),
        }
    }
}

/// The members of a struct, and its alignment.
#[derive(Debug, Default)]
pub(super) struct Members {
    all: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    name: String,
    spelled: String,
    docs: String,
}

impl Members {
    /// Adds one. A summary block comes before the constants, so that lengths are numbers in it.
    pub fn add(&mut self, name: &str, spelled: &str, docs: &str, constants: &Known<i64>) {
        let number = |dim: &str| constants.get(dim.trim()).map_or_else(|| dim.trim().to_owned(), i64::to_string);
        let spelled = match spelled.split_once('[').and_then(|(base, rest)| Some((base, rest.split_once(']')?))) {
            Some((base, (dims, rest))) => {
                let dims: Vec<String> = dims.split(',').map(number).collect();
                format!("{base}[{}]{rest}", dims.join(", "))
            }
            None => spelled.to_owned(),
        };
        self.all.push(Member { name: name.to_owned(), spelled, docs: docs.to_owned() });
    }
}

/// A struct as it was written.
#[derive(Debug)]
struct Written {
    members: Members,
    docs: String,
    text: String,
    align: u64,
}

/// The facts about the block that a source has given so far.
#[derive(Debug, Default)]
pub(super) struct Summary {
    lengths: Vec<Length>,
    structs: HashMap<String, Written>,
    /// The struct that begins the file, once its variable was declared.
    header: Option<String>,
    /// The least alignment of the struct and the items so far, and how many these are.
    least: u64,
    items: usize,
}

impl Summary {
    /// For these lengths, which are members of one struct.
    pub fn of(lengths: &[Length]) -> Result<Self> {
        if let Some(other) = lengths.iter().find(|length| Some(&length.of) != lengths.first().map(|first| &first.of)) {
            return Err(Error::invalid_input(format!("the lengths are members of several structs, one of them {}", other.of))
                .hint("a template has one block at its beginning"));
        }
        Ok(Self { lengths: lengths.to_vec(), ..Self::default() })
    }

    /// Keeps a struct.
    pub fn know(&mut self, name: &str, members: Members, docs: String, text: String) {
        let align = members.all.iter().map(|member| self.align_of(&member.spelled)).max().unwrap_or(1);
        self.structs.insert(name.to_owned(), Written { members, docs, text, align });
    }

    /// A length in brackets that is a stored one, plus or minus a number: `nx-` for `nx - 1`.
    pub fn length(&self, words: &[&str], constants: &Known<i64>) -> Option<String> {
        let (name, rest) = words.split_first()?;
        self.lengths.iter().find(|length| length.name == *name)?;
        let name = quoted_name(name);
        let (sign, count) = match rest {
            [] => return Some(name),
            [sign @ ("+" | "-"), count] => (*sign, super::value(&[*count], constants)?),
            // `nx-1` may be one word of a number with its sign.
            [number] => (number.get(..1).filter(|sign| matches!(*sign, "+" | "-"))?, number.get(1..)?.parse().ok()?),
            _ => return None,
        };
        let count = usize::try_from(count).ok().filter(|count| *count <= 31)?;
        Some(format!("{name}{}", sign.repeat(count)))
    }

    /// Returns `true` if a variable at the top is the block at the beginning of the file, which is no item.
    pub fn takes(&mut self, name: &str, spelled: &str) -> Result<bool> {
        let Some(first) = self.lengths.first() else { return Ok(false) };
        if (first.of != name && quoted_name(&first.of) != spelled) || !self.structs.contains_key(spelled) {
            return Ok(false);
        }
        if self.items > 0 || self.header.is_some() {
            return Err(Error::invalid_input(format!("{name} has lengths, but is not the first variable of the file"))
                .hint("declare the variables in the order in which the file has them"));
        }
        self.least = self.structs.get(spelled).map_or(1, |written| written.align);
        self.header = Some(spelled.to_owned());
        Ok(true)
    }

    /// The placement that an item needs to follow the one before it as in memory.
    pub fn placement(&mut self, spelled: &str) -> Result<String> {
        if self.lengths.is_empty() {
            return Ok(String::new());
        }
        if self.header.is_none() {
            // A struct without a separate variable.
            let name = self.lengths.first().map(|first| quoted_name(&first.of)).unwrap_or_default();
            self.least = self.structs.get(&name).ok_or_else(|| self.no_struct())?.align;
            self.header = Some(name);
        }
        let is_first = self.items == 0;
        self.items += 1;
        let (own, least) = (self.align_of(spelled), self.least);
        self.least = own.min(least);
        let is_placed = spelled.contains('%');
        Ok(match is_first {
            _ if is_placed => String::new(),
            // A struct ends at a multiple of its alignment.
            true if own != least => format!(" %{least}"),
            false if own > least => " %1".to_owned(),
            _ => String::new(),
        })
    }

    fn no_struct(&self) -> Error {
        let name = self.lengths.first().map_or("", |first| first.of.as_str());
        Error::invalid_input(format!("there is no struct {name} in the source, nor a variable of that name that is one"))
    }

    /// The alignment of a type as a layout spells it.
    fn align_of(&self, spelled: &str) -> u64 {
        let base = spelled.split(['[', ' ']).next().unwrap_or("");
        match self.structs.get(base) {
            Some(written) => written.align,
            None => match (base.get(..1), base.get(1..).and_then(|size| size.parse::<u64>().ok())) {
                (Some("c"), Some(size)) => size / 2,
                (Some("S"), _) | (_, None) => 1,
                (_, Some(size)) => size,
            },
        }
    }

    /// The text of the layout with the block.
    pub fn finished(self, text: String) -> Result<String> {
        let Some(first) = self.lengths.first() else { return Ok(text) };
        let name = self.header.clone().unwrap_or_else(|| quoted_name(&first.of));
        let written = self.structs.get(&name).ok_or_else(|| self.no_struct())?;
        let mut block = format!("{{\n{}", written.docs);
        for length in &self.lengths {
            let member = written.members.all.iter().find(|member| member.name == length.member);
            let Some(member) = member else {
                let known: Vec<&str> = written.members.all.iter().map(|member| member.name.as_str()).collect();
                let message = format!("the struct {name} has no member {}; it has {}", length.member, known.join(", "));
                return Err(Error::invalid_input(message));
            };
            let is_integer = matches!(member.spelled.as_str(), "i1" | "i2" | "i4" | "i8" | "u1" | "u2" | "u4" | "u8");
            if !is_integer {
                return Err(Error::invalid_input(format!("{} is no integer, so it is no length", length.member)));
            }
        }
        for member in &written.members.all {
            let length = self.lengths.iter().find(|length| length.member == member.name);
            let base = member.spelled.split(['[', ' ']).next().unwrap_or("");
            if self.structs.contains_key(base) {
                let message = format!("{} is a struct in the struct {name}, whose members are lengths", member.name);
                return Err(Error::unsupported(message).hint("a summary block has no structs: write its members out"));
            }
            let _ = match length {
                Some(length) => write!(block, "  {} : {}{}", quoted_name(&length.name), member.spelled, member.docs),
                None => write!(block, "  {} = {}{}", quoted_name(&member.name), member.spelled, member.docs),
            };
        }
        block.push_str("}\n");
        let is_used = text.contains(&format!("= {name}\n")) || text.contains(&format!("= {name}[")) || text.contains(&format!("= {name} "));
        let text = if is_used { text } else { text.replacen(&written.text, "", 1) };
        let (dialect, rest) = text.split_once('\n').unwrap_or(("", &text));
        Ok(format!("{dialect}\n{block}{rest}"))
    }
}
