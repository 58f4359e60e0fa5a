//! Programs that read and write the files of one layout, without any library.
//!
//! A layout becomes a [`CodePlan`]: fields, and the operations that find addresses and move bytes, in the order of the
//! text. Each language is one file with its [`CodeGenerator`].

mod c;
mod expr;
mod fortran;
mod identifiers;
mod lower;
mod python;
mod rust;

use std::fmt;

use super::Byteorder;
use super::model::{Dialect, Layout, Primitive};
use crate::error::{Error, Result};
use crate::limits::Limits;
use expr::Expr;

/// A programming language in which [`Layout::code`] writes.
///
/// ```
/// use trilith_layout::layout::CodeLanguage;
/// assert_eq!(CodeLanguage::from_name("fortran").map(CodeLanguage::extension), Some("f90"));
/// assert!(CodeLanguage::from_name("cobol").is_none());
/// ```
#[derive(Clone, Copy)]
pub struct CodeLanguage(&'static CodeGenerator);

/// A language: what it cannot express, and its text.
struct CodeGenerator {
    name: &'static str,
    extension: &'static str,
    /// Returns the reason why the language cannot hold a field, or `None` if it can.
    lacks: fn(&CodeField) -> Option<&'static str>,
    write: fn(&CodePlan) -> String,
}

static GENERATORS: [CodeGenerator; 4] = [c::C, fortran::FORTRAN, python::PYTHON, rust::RUST];

impl CodeLanguage {
    /// Returns all languages.
    pub fn all() -> impl Iterator<Item = CodeLanguage> {
        GENERATORS.iter().map(CodeLanguage)
    }

    /// Returns the language of a name: `c`, `fortran`, `python` or `rust`.
    pub fn from_name(name: &str) -> Option<CodeLanguage> {
        Self::all().find(|language| language.name() == name)
    }

    /// Name of the language, in lower case.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Extension of its files, without the point.
    pub fn extension(self) -> &'static str {
        self.0.extension
    }
}

/// The form of the files that a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodeOutput<'t> {
    /// Native files with this text, the layout, at their end.
    Embedded(&'t str),
    /// Native files without a layout.
    Separate,
    /// The bytes of the layout alone.
    Raw,
}

impl fmt::Debug for CodeLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A number, string or array that a program holds: a stored parameter, a data item, or a member of structs in it.
struct CodeField {
    /// An identifier in every language.
    name: String,
    path: String,
    primitive: Primitive,
    /// Dimensions in words, slowest first.
    shape: Vec<String>,
    doc: String,
}

/// One operation of a program.
#[derive(Clone)]
enum Op {
    /// A new variable.
    Let(usize, Expr),
    /// A stored parameter: the number at an address becomes the value of a variable, if any needs it.
    Param { field: usize, at: Expr, order: Option<Byteorder>, var: Option<usize> },
    /// The elements of a field.
    Array(FieldMove),
}

/// The elements of a field in a file: runs of them, repeated at equal distances.
#[derive(Clone)]
struct FieldMove {
    field: usize,
    at: Expr,
    /// Lengths of the dimensions; -1 for one that is removed.
    dims: Vec<Expr>,
    /// (count, stride in bytes), slowest first.
    loops: Vec<(Expr, Expr)>,
    /// Number of elements that follow each other.
    run: Expr,
    order: Option<Byteorder>,
}

impl FieldMove {
    /// Number of elements in all.
    fn count_elements(&self) -> Expr {
        self.loops.iter().fold(self.run.clone(), |count, (times, _)| count.times(times.clone()))
    }
}

/// Description of a layout from which a program is generated.
struct CodePlan {
    /// Name of the module, an identifier.
    name: String,
    dialect: Dialect,
    /// Byte order of written files, where the layout leaves it open.
    order: Byteorder,
    /// The layout at the end of written files.
    layout: Option<String>,
    /// `true` if written files begin with a signature.
    has_signature: bool,
    fields: Vec<CodeField>,
    /// Writes a native file.
    write: CodeProgram,
    /// The end of the last item of a written file, a layout address.
    total: Expr,
    /// Reads a file with or without signature.
    read: CodeProgram,
}

/// Operations in their order, and the names of their variables.
struct CodeProgram {
    ops: Vec<Op>,
    vars: Vec<String>,
}

impl CodePlan {
    /// Byte of a native file that is address 0.
    fn first_address(&self) -> i64 {
        if self.dialect == Dialect::D2026 { 16 } else { 0 }
    }

    /// The first eight bytes of written files.
    fn signature(&self) -> [u8; 8] {
        [0x8d, order_letter(Some(self.order)) as u8, b'B', b'D', 0x0d, 0x0a, 0x1a, 0x0a]
    }

    /// The helper functions of a language for this layout: `signature` and `fields` are spelled by the language.
    fn fill_helper_template(&self, template: &str, signature: &str, fields: &str) -> String {
        let (origin, header_size) = if self.has_signature { (self.first_address(), 16) } else { (0, 0) };
        template
            .replace("ORIGIN", &origin.to_string())
            .replace("HEADERSIZE", &header_size.to_string())
            .replace("SIGNATURE", signature)
            .replace("BASE", &self.first_address().to_string())
            .replace("LETTER", &order_letter(Some(self.order)).to_string())
            .replace("FIELDS", fields)
    }

    /// A field in words, for its comment.
    fn print_field_comment(&self, field: &CodeField) -> String {
        let shape = if field.shape.is_empty() { String::new() } else { format!("[{}]", field.shape.join(", ")) };
        let doc = if field.doc.is_empty() { String::new() } else { format!(": {}", field.doc) };
        format!("{} {}{shape}{doc}", field.path, field.primitive.name())
    }
}

/// The name of a variable.
fn var_name(vars: &[String], var: usize) -> &str {
    vars.get(var).map_or("", String::as_str)
}

/// Number of bytes that a byte swap turns round: a complex number is two numbers.
fn byte_swap_width(primitive: Primitive) -> u64 {
    match primitive.kind() {
        super::PrimitiveKind::Complex => primitive.size() / 2,
        _ => primitive.size(),
    }
}

/// `<`, `>`, or `=` for the order of the file.
fn order_letter(order: Option<Byteorder>) -> char {
    match order {
        Some(Byteorder::Little) => '<',
        Some(Byteorder::Big) => '>',
        _ => '=',
    }
}

/// The text of a layout in short pieces of bytes, each of one line.
fn text_pieces(text: &str) -> impl Iterator<Item = &[u8]> {
    text.as_bytes().split_inclusive(|&byte| byte == b'\n').flat_map(|line| line.chunks(72))
}

/// Bytes as the inside of a literal: printable ASCII unchanged, the others as `escape` spells them.
fn escape_bytes(bytes: &[u8], escape: impl Fn(u8) -> String) -> String {
    let keep = |byte: u8| (byte.is_ascii_graphic() || byte == b' ') && !matches!(byte, b'"' | b'\\' | b'?');
    bytes.iter().map(|&byte| if keep(byte) { char::from(byte).to_string() } else { escape(byte) }).collect()
}

impl Layout {
    /// Returns the source of a program module that writes and reads files of this layout without any library.
    ///
    /// `name` becomes the name of the module. Written files have the signature of `order` and `text`, the layout, at
    /// their end, if it is given. Files with and without the signature are read.
    ///
    /// ```
    /// use trilith_layout::layout::{Byteorder, CodeLanguage, Layout};
    /// let layout = Layout::read(b"{ N : i8 }\nx = f8[N]")?;
    /// let python = CodeLanguage::from_name("python").ok_or("missing")?;
    /// let code = layout.code(python, "run", Byteorder::Little, None)?;
    /// assert!(code.contains("def write(path, values):"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) with the path of an item that the language or a
    /// fixed program cannot express: a compressed array, a struct with stored parameters, a list whose length is a
    /// parameter, or a datatype that the language lacks. Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for a
    /// layout with very many items.
    pub fn code(&self, language: CodeLanguage, name: &str, order: Byteorder, text: Option<&str>) -> Result<String> {
        self.code_for(language, name, order, text.map_or(CodeOutput::Separate, CodeOutput::Embedded))
    }

    /// Does the same as [`Layout::code`] for a form of the written files.
    ///
    /// # Errors
    /// Returns the errors of [`Layout::code`].
    pub fn code_for(&self, language: CodeLanguage, name: &str, order: Byteorder, output: CodeOutput<'_>) -> Result<String> {
        let name = identifiers::to_identifier(name);
        let has_signature = output != CodeOutput::Raw;
        let text = if let CodeOutput::Embedded(text) = output { Some(text) } else { None };
        let start = if self.dialect() == Dialect::D2026 || !has_signature { 0 } else { 16 };
        let written = lower::build_operations(self, Expr::Const(start))?;
        let first = if self.dialect() == Dialect::D2026 { Expr::ZERO } else { Expr::Start };
        let read = lower::build_operations(self, first)?;
        for field in &written.fields {
            if let Some(why) = (language.0.lacks)(field) {
                let what = format!("{} is {}: {why}", field.path, field.primitive);
                return Err(Error::unsupported(what).hint("write this item with another datatype, or take another language"));
            }
        }
        let plan = CodePlan {
            name,
            dialect: self.dialect(),
            order,
            layout: text.map(str::to_owned),
            has_signature,
            fields: written.fields,
            write: CodeProgram { ops: lower::drop_unused_vars(written.ops, Some(&written.total)), vars: written.vars },
            total: written.total,
            read: CodeProgram { ops: lower::drop_unused_vars(read.ops, None), vars: read.vars },
        };
        Ok((language.0.write)(&plan))
    }
}

/// Largest number of items of a program.
const MAX_ITEMS: u64 = 20_000;

fn too_many() -> Error {
    Limits::exceeded_error("items", MAX_ITEMS, "a program for this layout would be too long")
}
