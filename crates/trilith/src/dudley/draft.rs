//! Data without a layout: [`Draft`] collects dicts, lists and arrays, and writes the layout they need.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{Seek, Write};

use super::write::NewStream;
use crate::array::{Array, Datatype};
use crate::error::{Error, Result};
use crate::layout::{
    Attribute, Byteorder, Dialect, Layout, ParseOptions, Primitive, StoredAs, own_name, parse, primitive_of, quoted_name,
};
use crate::limits::Limits;

/// The kind of an item.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum DraftKind {
    /// Named items.
    Dict(Vec<(String, Draft)>),
    /// Items without names.
    List(Vec<Draft>),
    /// An array.
    Data(Array),
    /// A fixed parameter.
    Param(i64),
    /// A parameter that is stored in the stream, with its type: `i1`, `i2`, `i4` or `i8`.
    Stored(i64, Primitive),
}

/// An item of a stream that is to be written, with its documentation and attributes.
///
/// ```
/// use trilith::{array::Array, dudley::Draft};
/// let t = Draft::data(Array::from_slice(&[1.0f64, 2.0], &[2])?);
/// let (text, arrays) = Draft::dict([("t", t)]).layout()?;
/// assert_eq!(text, "#: dialect=2025\nt = f8[2]\n");
/// assert_eq!(arrays.len(), 1);
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Draft {
    /// The kind and content.
    pub kind: DraftKind,
    /// Lines of documentation.
    pub docs: Vec<String>,
    /// Attributes.
    pub attributes: Vec<(String, Attribute)>,
}

/// Maximum depth of nested dicts and lists.
const DEPTH: usize = 256;

impl Draft {
    fn new(kind: DraftKind) -> Self {
        Self { kind, docs: Vec::new(), attributes: Vec::new() }
    }

    /// A dict.
    pub fn dict<K: Into<String>>(items: impl IntoIterator<Item = (K, Draft)>) -> Self {
        Self::new(DraftKind::Dict(items.into_iter().map(|(name, item)| (name.into(), item)).collect()))
    }

    /// A list.
    pub fn list(items: impl IntoIterator<Item = Draft>) -> Self {
        Self::new(DraftKind::List(items.into_iter().collect()))
    }

    /// An array.
    pub fn data(array: Array) -> Self {
        Self::new(DraftKind::Data(array))
    }

    /// A fixed parameter.
    pub fn param(value: i64) -> Self {
        Self::new(DraftKind::Param(value))
    }

    /// A parameter that is stored in the stream as `datatype`, one of `i1`, `i2`, `i4` and `i8`.
    pub fn stored(value: i64, datatype: Primitive) -> Self {
        Self::new(DraftKind::Stored(value, datatype))
    }

    /// The values of the stored parameters in the order of the text.
    pub fn params(&self) -> Vec<i64> {
        let mut values = Vec::new();
        // Deeper drafts than can be written are not walked to their end.
        let mut todo = vec![(self, 0)];
        while let Some((draft, depth)) = todo.pop() {
            match &draft.kind {
                DraftKind::Stored(value, _) => values.push(*value),
                DraftKind::Dict(items) if depth <= DEPTH => todo.extend(items.iter().rev().map(|(_, item)| (item, depth + 1))),
                DraftKind::List(items) if depth <= DEPTH => todo.extend(items.iter().rev().map(|item| (item, depth + 1))),
                _ => {}
            }
        }
        values
    }

    /// The layout of this dict in the dialect of 2025, and its arrays in the order of the text.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) for what is no dict and for names that no layout can
    /// have, [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for datatypes that Dudley lacks.
    pub fn layout(&self) -> Result<(String, Vec<Array>)> {
        let DraftKind::Dict(items) = &self.kind else { return Err(Error::usage("the root of a stream is a dict")) };
        let mut printer = Printer { out: String::from("#: dialect=2025\n"), arrays: Vec::new() };
        printer.notes(self, "")?;
        printer.dict(items, 0)?;
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
        let (text, arrays) = self.layout()?;
        let mut layout = own_layout(&text, limits)?;
        if dialect == Dialect::D2026 || *stored != StoredAs::default() {
            layout = own_layout(&layout.compacted_as(dialect, false, stored).text, limits)?;
        }
        let mut new = NewStream::new(&layout, self.params());
        (new.order, new.limits) = (order, limits.clone());
        let mut arrays = VecDeque::from(arrays);
        let mut supply = in_order(&mut arrays);
        new.write(&mut supply, out)
    }

    /// Puts an array under a name in which `/` leads into dicts.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the name is taken, or leads through an array.
    pub fn place(&mut self, name: &str, array: Array) -> Result<()> {
        let taken = || Error::usage(format!("{name} already exists, or leads through an array"));
        let mut here = self;
        let mut steps = name.split('/').filter(|step| !step.is_empty() && *step != ".").peekable();
        while let Some(step) = steps.next() {
            let DraftKind::Dict(items) = &mut here.kind else { return Err(taken()) };
            let at = items.iter().position(|(known, _)| known == step);
            if steps.peek().is_none() {
                if at.is_some() {
                    return Err(taken());
                }
                items.push((step.to_owned(), Draft::data(array)));
                return Ok(());
            }
            let at = at.unwrap_or_else(|| {
                items.push((step.to_owned(), Draft::dict::<&str>([])));
                items.len() - 1
            });
            here = items.get_mut(at).map(|(_, item)| item).ok_or_else(taken)?;
        }
        Err(Error::usage("an array needs a name"))
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
        Err(Error::usage(format!("no data were given for {}", entry.path)))
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
        (None, Some(diagnostic)) => Err(Error::usage(format!("these items cannot be written: {}", diagnostic.message))),
        (None, None) => Err(Error::usage("these items cannot be written")),
    }
}

struct Printer {
    out: String,
    arrays: Vec<Array>,
}

impl Printer {
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
        for (name, item) in items {
            let name = quoted(name);
            match &item.kind {
                DraftKind::Dict(items) => {
                    let _ = writeln!(self.out, "{pad}{name}/");
                    self.notes(item, &format!("{pad}  "))?;
                    self.dict(items, inner)?;
                    let _ = writeln!(self.out, "{pad}  ..");
                }
                DraftKind::List(items) => {
                    let _ = writeln!(self.out, "{pad}{name} [");
                    self.notes(item, &format!("{pad}  "))?;
                    self.list(items, inner)?;
                    let _ = writeln!(self.out, "{pad}]");
                }
                DraftKind::Data(array) => {
                    let _ = write!(self.out, "{pad}{name} = ");
                    self.array(array)?;
                    self.out.push('\n');
                    self.notes(item, &format!("{pad}  "))?;
                }
                DraftKind::Param(value) if *value >= -1 => {
                    let _ = writeln!(self.out, "{pad}{name} : {value}");
                    self.notes(item, &format!("{pad}  "))?;
                }
                DraftKind::Param(value) => return Err(Error::usage(format!("{value} is not a value for a parameter"))),
                DraftKind::Stored(_, datatype) => {
                    let _ = writeln!(self.out, "{pad}{name} : {datatype}");
                    self.notes(item, &format!("{pad}  "))?;
                }
            }
        }
        Ok(())
    }

    fn list(&mut self, items: &[Draft], depth: usize) -> Result<()> {
        let inner = Self::deeper(depth)?;
        let pad = "  ".repeat(depth.min(16));
        for item in items {
            match &item.kind {
                DraftKind::Dict(items) => {
                    let _ = writeln!(self.out, "{pad}/");
                    self.notes(item, &format!("{pad}  "))?;
                    self.dict(items, inner)?;
                }
                DraftKind::List(items) => {
                    let _ = writeln!(self.out, "{pad}[");
                    self.notes(item, &format!("{pad}  "))?;
                    self.list(items, inner)?;
                    let _ = writeln!(self.out, "{pad}]");
                }
                DraftKind::Data(array) => {
                    self.out.push_str(&pad);
                    self.array(array)?;
                    self.out.push('\n');
                    self.notes(item, &format!("{pad}  "))?;
                }
                DraftKind::Param(_) | DraftKind::Stored(..) => return Err(Error::usage("a list cannot hold parameters")),
            }
            let _ = writeln!(self.out, "{pad},");
        }
        Ok(())
    }

    fn array(&mut self, array: &Array) -> Result<()> {
        array.check_unmasked("a Dudley stream")?;
        spell(array.datatype(), array.shape(), &mut self.out)?;
        self.arrays.push(array.clone());
        Ok(())
    }

    fn notes(&mut self, item: &Draft, pad: &str) -> Result<()> {
        for line in item.docs.iter().flat_map(|doc| doc.lines()) {
            let _ = writeln!(self.out, "{pad}##{line}");
        }
        for (name, value) in &item.attributes {
            let name = quoted_name(name);
            let text = value.to_string();
            if name.contains(['\n', '\r', '\0']) || text.contains(['\n', '\r', '\0']) {
                return Err(Error::usage(format!("attribute {name} does not fit on one line")));
            }
            let equals = if text.is_empty() { "" } else { "=" };
            let _ = writeln!(self.out, "{pad}#: {name}{equals}{text}");
        }
        Ok(())
    }
}

/// A name as a layout spells it.
pub(super) fn quoted(name: &str) -> String {
    quoted_name(&own_name(name))
}

/// A datatype and a shape in the dialect of 2025, without byte order; as deep as structs nest.
pub(super) fn spell(datatype: &Datatype, shape: &[u64], out: &mut String) -> Result<()> {
    let mut dims = shape.to_vec();
    match (primitive_of(datatype)?, datatype) {
        (Some((name, length)), _) => {
            out.push_str(name);
            dims.extend(length.map(u64::from));
        }
        (None, Datatype::Struct(fields)) => {
            out.push('{');
            for (n, field) in fields.fields().iter().enumerate() {
                let _ = write!(out, "{}{} = ", if n == 0 { "" } else { "  " }, quoted(&field.name_or(n)));
                spell(&field.datatype, &field.shape, out)?;
            }
            out.push('}');
        }
        (None, _) => {}
    }
    if !dims.is_empty() {
        let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
        let _ = write!(out, "[{}]", dims.join(", "));
    }
    Ok(())
}
