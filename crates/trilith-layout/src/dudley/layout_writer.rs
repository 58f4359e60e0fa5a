//! A draft as a file: the text of its layout in the dialect of 2025, and its arrays.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{Seek, Write};

use super::new_item::{DEPTH, Draft, DraftKind};
use super::source_annotations::Member;
use super::write::{NewStream, Reserving, only_data};
use crate::array::{Array, Datatype};
use crate::error::{Error, Result};
use crate::layout::{Attribute, Byteorder, Dialect, Layout, ParseOptions, StoredAs, own_name, parse, primitive_of, quoted_name};
use crate::limits::Limits;

impl Draft {
    /// The layout of this dict in the dialect of 2025, and its arrays in the order of the text.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for what is no dict and for names that no layout can
    /// have, [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for datatypes that Dudley lacks.
    pub fn layout(&self) -> Result<(String, Vec<Array>)> {
        if !matches!(self.kind, DraftKind::Dict(_)) {
            return Err(Error::invalid_input("the root of a stream is a dict"));
        }
        let mut printer = Printer { out: String::from("#: dialect=2025\n"), arrays: Vec::new() };
        printer.root(self)?;
        Ok((printer.out, printer.arrays))
    }

    /// Writes a native file that holds this dict, its layout at the end; returns the size of the file.
    ///
    /// # Errors
    /// Returns the errors of [`Draft::layout`] and [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn write<W: Write + Seek>(&self, order: Byteorder, limits: &Limits, out: &mut W) -> Result<u64> {
        self.write_as(Dialect::D2025, order, limits, out)
    }

    /// Does the same as [`Draft::write`], with the layout and the byte offsets of a dialect.
    ///
    /// # Errors
    /// Returns the errors of [`Draft::write`].
    pub fn write_as<W: Write + Seek>(&self, dialect: Dialect, order: Byteorder, limits: &Limits, out: &mut W) -> Result<u64> {
        self.write_stored(dialect, &StoredAs::default(), order, limits, out)
    }

    /// Does the same as [`Draft::write_as`], with arrays stored as in `stored`.
    ///
    /// # Errors
    /// Returns the errors of [`Draft::write`].
    pub fn write_stored<W: Write + Seek>(
        &self,
        dialect: Dialect,
        stored: &StoredAs,
        order: Byteorder,
        limits: &Limits,
        out: &mut W,
    ) -> Result<u64> {
        only_data(self.write_reserving(dialect, stored, order, limits, out)?)
    }

    /// Does the same as [`Draft::write_stored`], and leaves the bytes of [`reserved`](super::reserved) arrays as they are.
    /// Returns the paths of these arrays, too.
    pub fn write_reserving<W: Write + Seek>(
        &self,
        dialect: Dialect,
        stored: &StoredAs,
        order: Byteorder,
        limits: &Limits,
        out: &mut W,
    ) -> Result<Reserving> {
        let (text, arrays) = self.layout()?;
        let mut layout = own_layout(&text, limits)?;
        if dialect == Dialect::D2026 || *stored != StoredAs::default() {
            layout = own_layout(&layout.compacted_as(dialect, false, stored).text, limits)?;
        }
        let mut new = NewStream::new(&layout, self.params());
        (new.order, new.limits) = (order, limits.clone());
        let mut arrays = VecDeque::from(arrays);
        let mut supply = in_order(&mut arrays);
        new.write_reserving(&mut supply, out)
    }
}

/// Hands out arrays in the order of the text; those of no elements are not asked for.
pub(super) fn in_order(arrays: &mut VecDeque<Array>) -> impl FnMut(&crate::layout::Entry) -> Result<Array> + '_ {
    |entry| {
        while let Some(array) = arrays.pop_front() {
            if !array.is_empty() && array.datatype().item_size() > 0 {
                return Ok(array);
            }
        }
        Err(Error::invalid_input(format!("no data were given for {}", entry.path)))
    }
}

/// Parses a layout that was written here.
fn own_layout(text: &str, limits: &Limits) -> Result<Layout> {
    let mut options = ParseOptions::default();
    options.limits = limits.clone();
    let parsed = parse(text.as_bytes(), &options)?;
    let first = parsed.diagnostics.into_iter().find(|diagnostic| !diagnostic.is_harmless);
    match (parsed.layout, first) {
        (Some(layout), _) => Ok(layout),
        (None, Some(diagnostic)) => Err(Error::invalid_input(format!("these items cannot be written: {}", diagnostic.message))),
        (None, None) => Err(Error::invalid_input("these items cannot be written")),
    }
}

/// The text of a draft, and its arrays in the order of the text.
struct Printer {
    out: String,
    arrays: Vec<Array>,
}

impl Printer {
    /// The whole text.
    fn root(&mut self, root: &Draft) -> Result<()> {
        self.notes(&root.docs, &root.attributes, "")?;
        let DraftKind::Dict(items) = &root.kind else { return Ok(()) };
        let Some(origin) = &root.origin else { return self.dict(items, 0) };
        let (block, others) = items.split_at(origin.block.min(items.len()));
        if let Some(said) = &origin.summary {
            self.out.push_str("{\n");
            self.dict(block, 1)?;
            self.out.push_str("}\n");
            self.notes(&said.docs, &said.attributes, "")?;
        } else {
            self.dict(block, 0)?;
        }
        for (name, of) in &origin.types {
            let Some((datatype, members)) = &of.sample else { continue };
            let _ = write!(self.out, "{} ", quoted(name));
            let is_struct = datatype.as_struct().is_some();
            self.out.push_str(if is_struct { "" } else { "{\"\" = " });
            self.base(datatype, members, &mut Vec::new(), "")?;
            self.out.push_str(if is_struct { "\n" } else { "}\n" });
            self.notes(&of.said.docs, &of.said.attributes, "  ")?;
        }
        self.dict(others, 0)
    }

    fn deeper(depth: usize) -> Result<usize> {
        if depth >= DEPTH {
            return Err(Error::limit(format!("dicts and lists nest more than {DEPTH} deep")));
        }
        Ok(depth + 1)
    }

    /// The items of a dict; recursion is limited by [`DEPTH`].
    fn dict(&mut self, items: &[(String, Draft)], depth: usize) -> Result<()> {
        let inner = Self::deeper(depth)?;
        let pad = "  ".repeat(depth.min(16));
        items.iter().try_for_each(|(name, item)| self.item(Some(&quoted(name)), item, &pad, inner))
    }

    fn list(&mut self, items: &[Draft], depth: usize) -> Result<()> {
        let inner = Self::deeper(depth)?;
        let pad = "  ".repeat(depth.min(16));
        for item in items {
            self.item(None, item, &pad, inner)?;
            let _ = writeln!(self.out, "{pad},");
        }
        Ok(())
    }

    /// An item of a dict, or an element of a list, which has no name, and what is below it.
    fn item(&mut self, name: Option<&str>, item: &Draft, pad: &str, inner: usize) -> Result<()> {
        let before = |sign: &str| name.map_or_else(|| pad.to_owned(), |name| format!("{pad}{name}{sign}"));
        match &item.kind {
            DraftKind::Dict(_) => self.out.push_str(&(before("") + "/\n")),
            DraftKind::List(_) => self.out.push_str(&(before(" ") + "[\n")),
            DraftKind::Data(array) => {
                self.out.push_str(&before(" = "));
                self.array(array, item, pad)?;
                self.out.push('\n');
            }
            DraftKind::Param(_) | DraftKind::Stored(..) if name.is_none() => {
                return Err(Error::invalid_input("a list cannot hold parameters"));
            }
            DraftKind::Param(value) if *value < -1 => {
                return Err(Error::invalid_input(format!("{value} is not a value for a parameter")));
            }
            DraftKind::Param(value) => self.out.push_str(&(before(" : ") + &format!("{value}\n"))),
            DraftKind::Stored(_, datatype) => self.out.push_str(&(before(" : ") + &format!("{datatype}\n"))),
        }
        self.notes(&item.docs, &item.attributes, &format!("{pad}  "))?;
        match &item.kind {
            DraftKind::Dict(items) => {
                self.dict(items, inner)?;
                self.out.push_str(&name.map_or_else(String::new, |_| format!("{pad}  ..\n")));
            }
            DraftKind::List(items) => {
                self.list(items, inner)?;
                let _ = writeln!(self.out, "{pad}]");
            }
            _ => {}
        }
        Ok(())
    }

    fn array(&mut self, array: &Array, item: &Draft, pad: &str) -> Result<()> {
        array.check_unmasked("a Dudley stream")?;
        let origin = item.origin.as_deref();
        let members = origin.map_or(&[][..], |origin| &origin.members);
        match origin.and_then(|origin| origin.type_name.as_ref()) {
            Some(name) => self.out.push_str(&quoted(name)),
            None => self.base(array.datatype(), members, &mut Vec::new(), pad)?,
        }
        let shape = origin.map_or(&[][..], |origin| &origin.shape);
        self.dims(&lengths(array.datatype(), array.shape())?, shape);
        self.arrays.push(array.clone());
        Ok(())
    }

    /// A datatype without dimensions; as deep as structs nest.
    fn base(&mut self, datatype: &Datatype, members: &[Member], way: &mut Vec<String>, pad: &str) -> Result<()> {
        let (name, fields) = match (primitive_of(datatype)?, datatype) {
            (Some((name, _)), _) => (name, None),
            (None, Datatype::Struct(fields)) => ("", Some(fields)),
            (None, _) => ("", None),
        };
        self.out.push_str(name);
        let Some(fields) = fields else { return Ok(()) };
        // Notes of members need separate lines.
        let in_lines = members.iter().any(|member| member.way.starts_with(way) && member.said.is_some());
        let inner = format!("{pad}  ");
        self.out.push_str(if in_lines { "{\n" } else { "{" });
        for (n, field) in fields.fields().iter().enumerate() {
            let name = field.name_or(n);
            let before = if in_lines {
                inner.as_str()
            } else if n == 0 {
                ""
            } else {
                "  "
            };
            let _ = write!(self.out, "{before}{} = ", quoted(&name));
            way.push(name.to_string());
            self.base(&field.datatype, members, way, &inner)?;
            let member = members.iter().find(|member| member.way == *way);
            self.dims(&lengths(&field.datatype, &field.shape)?, member.map_or(&[][..], |member| &member.shape));
            if in_lines {
                self.out.push('\n');
                if let Some(said) = member.and_then(|member| member.said.as_ref()) {
                    self.notes(&said.docs, &said.attributes, &format!("{inner}  "))?;
                }
            }
            way.pop();
        }
        if in_lines {
            self.out.push_str(pad);
        }
        self.out.push('}');
        Ok(())
    }

    /// Dimensions: `said` if there are some, which have these lengths.
    fn dims(&mut self, lengths: &[u64], said: &[String]) {
        let dims = if said.is_empty() { lengths.iter().map(u64::to_string).collect() } else { said.to_vec() };
        if !dims.is_empty() {
            let _ = write!(self.out, "[{}]", dims.join(", "));
        }
    }

    fn notes(&mut self, docs: &[String], attributes: &[(String, Attribute)], pad: &str) -> Result<()> {
        for line in docs.iter().flat_map(|doc| doc.lines()) {
            let _ = writeln!(self.out, "{pad}##{line}");
        }
        for (name, value) in attributes {
            let name = quoted_name(name);
            let text = value.to_string();
            if name.contains(['\n', '\r', '\0']) || text.contains(['\n', '\r', '\0']) {
                return Err(Error::invalid_input(format!("attribute {name} does not fit on one line")));
            }
            let equals = if text.is_empty() { "" } else { "=" };
            let _ = writeln!(self.out, "{pad}#: {name}{equals}{text}");
        }
        Ok(())
    }
}

/// A name as a layout spells it.
fn quoted(name: &str) -> String {
    quoted_name(&own_name(name))
}

/// The dimensions of an array as a layout has them: that of text is the length of its strings.
pub(super) fn lengths(datatype: &Datatype, shape: &[u64]) -> Result<Vec<u64>> {
    let mut dims = shape.to_vec();
    dims.extend(primitive_of(datatype)?.and_then(|(_, length)| length).map(u64::from));
    Ok(dims)
}
