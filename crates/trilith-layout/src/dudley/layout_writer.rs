//! A draft as a file: the text of its layout in the dialect of 2025, and its arrays.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{Seek, Write};

use super::new_item::{Draft, MAX_DEPTH, NewItemKind};
use super::source_annotations::MemberAnnotations;
use super::write::{NewStream, ReservedLayout, check_no_reserved};
use crate::array::{Array, Datatype};
use crate::error::{Error, Result};
use crate::layout::{
    Attribute, Byteorder, ByteorderMarks, Dialect, Layout, ParseOptions, StorageOptions, own_name, parse, primitive_of,
    quoted_name,
};
use crate::limits::Limits;

impl Draft {
    /// The layout of this dict in the dialect of 2025, and its arrays in the order of the text.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for what is not a dict and for names that no layout can
    /// have, [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for datatypes that Dudley lacks.
    pub fn layout(&self) -> Result<(String, Vec<Array>)> {
        if !matches!(self.kind, NewItemKind::Dict(_)) {
            return Err(Error::invalid_input("the root of a stream is a dict"));
        }
        let mut printer = NewItemPrinter { out: String::from("#: dialect=2025\n"), arrays: Vec::new() };
        printer.print_root(self)?;
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
        self.write_stored(dialect, &StorageOptions::default(), order, limits, out)
    }

    /// Does the same as [`Draft::write_as`], with arrays stored as in `stored`.
    ///
    /// # Errors
    /// Returns the errors of [`Draft::write`].
    pub fn write_stored<W: Write + Seek>(
        &self,
        dialect: Dialect,
        stored: &StorageOptions,
        order: Byteorder,
        limits: &Limits,
        out: &mut W,
    ) -> Result<u64> {
        check_no_reserved(self.write_reserving(dialect, stored, order, limits, out)?)
    }

    /// Writes like [`Draft::write_stored`], but leaves the bytes of [`reserved`](super::reserved) arrays unchanged. Also returns
    /// the paths of these arrays.
    pub fn write_reserving<W: Write + Seek>(
        &self,
        dialect: Dialect,
        stored: &StorageOptions,
        order: Byteorder,
        limits: &Limits,
        out: &mut W,
    ) -> Result<ReservedLayout> {
        let (text, arrays) = self.layout()?;
        let mut layout = parse_own_layout(&text, limits)?;
        if dialect == Dialect::D2026 || *stored != StorageOptions::default() {
            layout = parse_own_layout(&layout.compacted_as(dialect, ByteorderMarks::Keep, stored).text, limits)?;
        }
        let mut new = NewStream::new(&layout, self.params());
        (new.order, new.limits) = (order, limits.clone());
        let mut arrays = VecDeque::from(arrays);
        let mut supply = arrays_in_order(&mut arrays);
        new.write_reserving(&mut supply, out)
    }
}

/// Hands out arrays in the order of the text; those of no elements are not asked for.
pub(super) fn arrays_in_order(arrays: &mut VecDeque<Array>) -> impl FnMut(&crate::layout::LayoutEntry) -> Result<Array> + '_ {
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
fn parse_own_layout(text: &str, limits: &Limits) -> Result<Layout> {
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
struct NewItemPrinter {
    out: String,
    arrays: Vec<Array>,
}

impl NewItemPrinter {
    /// The whole text.
    fn print_root(&mut self, root: &Draft) -> Result<()> {
        self.print_annotations(&root.docs, &root.attributes, "")?;
        let NewItemKind::Dict(items) = &root.kind else { return Ok(()) };
        let Some(origin) = &root.origin else { return self.print_dict(items, 0) };
        let (block, others) = items.split_at(origin.summary_len.min(items.len()));
        if let Some(said) = &origin.summary {
            self.out.push_str("{\n");
            self.print_dict(block, 1)?;
            self.out.push_str("}\n");
            self.print_annotations(&said.docs, &said.attributes, "")?;
        } else {
            self.print_dict(block, 0)?;
        }
        for (name, of) in &origin.types {
            let Some((datatype, members)) = &of.example_item else { continue };
            let _ = write!(self.out, "{} ", to_layout_name(name));
            let is_struct = datatype.as_struct().is_some();
            self.out.push_str(if is_struct { "" } else { "{\"\" = " });
            self.type_text(datatype, members, &mut Vec::new(), "")?;
            self.out.push_str(if is_struct { "\n" } else { "}\n" });
            self.print_annotations(&of.annotations.docs, &of.annotations.attributes, "  ")?;
        }
        self.print_dict(others, 0)
    }

    fn check_depth(depth: usize) -> Result<usize> {
        if depth >= MAX_DEPTH {
            return Err(Error::limit(format!("dicts and lists nest more than {MAX_DEPTH} deep")));
        }
        Ok(depth + 1)
    }

    /// The items of a dict; recursion is limited by [`MAX_DEPTH`].
    fn print_dict(&mut self, items: &[(String, Draft)], depth: usize) -> Result<()> {
        let inner = Self::check_depth(depth)?;
        let pad = "  ".repeat(depth.min(16));
        items.iter().try_for_each(|(name, item)| self.print_item(Some(&to_layout_name(name)), item, &pad, inner))
    }

    fn print_list(&mut self, items: &[Draft], depth: usize) -> Result<()> {
        let inner = Self::check_depth(depth)?;
        let pad = "  ".repeat(depth.min(16));
        for item in items {
            self.print_item(None, item, &pad, inner)?;
            let _ = writeln!(self.out, "{pad},");
        }
        Ok(())
    }

    /// An item of a dict, or an element of a list, which has no name, and what is below it.
    fn print_item(&mut self, name: Option<&str>, item: &Draft, pad: &str, inner: usize) -> Result<()> {
        let before = |sign: &str| name.map_or_else(|| pad.to_owned(), |name| format!("{pad}{name}{sign}"));
        match &item.kind {
            NewItemKind::Dict(_) => self.out.push_str(&(before("") + "/\n")),
            NewItemKind::List(_) => self.out.push_str(&(before(" ") + "[\n")),
            NewItemKind::Data(array) => {
                self.out.push_str(&before(" = "));
                self.print_array(array, item, pad)?;
                self.out.push('\n');
            }
            NewItemKind::Param(_) | NewItemKind::StoredParam(..) if name.is_none() => {
                return Err(Error::invalid_input("a list cannot hold parameters"));
            }
            NewItemKind::Param(value) if *value < -1 => {
                return Err(Error::invalid_input(format!("{value} is not a value for a parameter")));
            }
            NewItemKind::Param(value) => self.out.push_str(&(before(" : ") + &format!("{value}\n"))),
            NewItemKind::StoredParam(_, datatype) => self.out.push_str(&(before(" : ") + &format!("{datatype}\n"))),
        }
        self.print_annotations(&item.docs, &item.attributes, &format!("{pad}  "))?;
        match &item.kind {
            NewItemKind::Dict(items) => {
                self.print_dict(items, inner)?;
                self.out.push_str(&name.map_or_else(String::new, |_| format!("{pad}  ..\n")));
            }
            NewItemKind::List(items) => {
                self.print_list(items, inner)?;
                let _ = writeln!(self.out, "{pad}]");
            }
            _ => {}
        }
        Ok(())
    }

    fn print_array(&mut self, array: &Array, item: &Draft, pad: &str) -> Result<()> {
        array.check_unmasked("a Dudley stream")?;
        let origin = item.origin.as_deref();
        let members = origin.map_or(&[][..], |origin| &origin.members);
        match origin.and_then(|origin| origin.type_name.as_ref()) {
            Some(name) => self.out.push_str(&to_layout_name(name)),
            None => self.type_text(array.datatype(), members, &mut Vec::new(), pad)?,
        }
        let shape = origin.map_or(&[][..], |origin| &origin.shape);
        self.print_dims(&layout_dims(array.datatype(), array.shape())?, shape);
        self.arrays.push(array.clone());
        Ok(())
    }

    /// A datatype without dimensions; as deep as structs nest.
    fn type_text(&mut self, datatype: &Datatype, members: &[MemberAnnotations], way: &mut Vec<String>, pad: &str) -> Result<()> {
        let (name, fields) = match (primitive_of(datatype)?, datatype) {
            (Some((name, _)), _) => (name, None),
            (None, Datatype::Struct(fields)) => ("", Some(fields)),
            (None, _) => ("", None),
        };
        self.out.push_str(name);
        let Some(fields) = fields else { return Ok(()) };
        // Notes of members need separate lines.
        let in_lines = members.iter().any(|member| member.path.starts_with(way) && member.annotations.is_some());
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
            let _ = write!(self.out, "{before}{} = ", to_layout_name(&name));
            way.push(name.to_string());
            self.type_text(&field.datatype, members, way, &inner)?;
            let member = members.iter().find(|member| member.path == *way);
            self.print_dims(&layout_dims(&field.datatype, &field.shape)?, member.map_or(&[][..], |member| &member.shape));
            if in_lines {
                self.out.push('\n');
                if let Some(said) = member.and_then(|member| member.annotations.as_ref()) {
                    self.print_annotations(&said.docs, &said.attributes, &format!("{inner}  "))?;
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
    fn print_dims(&mut self, lengths: &[u64], said: &[String]) {
        let dims = if said.is_empty() { lengths.iter().map(u64::to_string).collect() } else { said.to_vec() };
        if !dims.is_empty() {
            let _ = write!(self.out, "[{}]", dims.join(", "));
        }
    }

    fn print_annotations(&mut self, docs: &[String], attributes: &[(String, Attribute)], pad: &str) -> Result<()> {
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
fn to_layout_name(name: &str) -> String {
    quoted_name(&own_name(name))
}

/// The dimensions of an array as a layout has them: that of text is the length of its strings.
pub(super) fn layout_dims(datatype: &Datatype, shape: &[u64]) -> Result<Vec<u64>> {
    let mut dims = shape.to_vec();
    dims.extend(primitive_of(datatype)?.and_then(|(_, length)| length).map(u64::from));
    Ok(dims)
}
