//! Rust: one module that needs only the standard library.

use std::fmt::Write;

use super::expr::Spelling;
use super::{Field, Generator, Op, Plan, Primitive, escaped, order_letter, pieces, var_name, width};
use crate::layout::PrimitiveKind;

pub(super) const RUST: Generator = Generator { name: "rust", extension: "rs", lacks, write };

const HELPERS: &str = include_str!("templates/helpers.rs.txt");

fn datatype(primitive: Primitive) -> &'static str {
    match (primitive.kind(), primitive.size()) {
        (PrimitiveKind::Signed, 1) => "i8",
        (PrimitiveKind::Signed, 2) => "i16",
        (PrimitiveKind::Signed, 4) => "i32",
        (PrimitiveKind::Signed, _) => "i64",
        (PrimitiveKind::Float, 4) => "f32",
        (PrimitiveKind::Float, _) => "f64",
        (PrimitiveKind::Complex, 8) => "[f32; 2]",
        (PrimitiveKind::Complex, _) => "[f64; 2]",
        (PrimitiveKind::Bool, _) => "bool",
        (_, 1) => "u8",
        (_, 2) => "u16",
        (_, 4) => "u32",
        _ => "u64",
    }
}

fn lacks(field: &Field) -> Option<&'static str> {
    matches!(field.primitive.name(), "f2" | "c4").then_some("Rust has no floating-point type of two bytes")
}

fn write(plan: &Plan) -> String {
    let spelling = Spelling {
        suffix: "",
        start: "f.start",
        prefix: String::new(),
        max: "{0}.max({1})".into(),
        choice: "(if {0} > 0 { {1} } else { {2} })",
    };
    let mut fields = String::new();
    for field in &plan.fields {
        let ty = datatype(field.primitive);
        let ty = if field.shape.is_empty() { ty.to_owned() } else { format!("Vec<{ty}>") };
        let _ = writeln!(fields, "    /// `{}`\n    pub {}: {ty},", plan.comment(field).replace('`', "'"), field.name);
    }
    let signature = escaped(&plan.signature(), |byte| format!("\\x{byte:02x}"));
    let mut out = plan.helpers(HELPERS, &signature, &fields);
    out.push_str("\nimpl Content {\n");
    writer(plan, &spelling, &mut out);
    reader(plan, &spelling, &mut out);
    out.push_str("}\n");
    if let Some(text) = &plan.layout {
        out.push_str("\nconst LAYOUT: &[&[u8]] = &[\n");
        for piece in pieces(text) {
            let _ = writeln!(out, "    b\"{}\",", escaped(piece, |byte| format!("\\x{byte:02x}")));
        }
        out.push_str("];\n");
    }
    out
}

/// The loops as a slice.
fn loops(array: &super::Move, spelling: &Spelling, vars: &[String]) -> String {
    let p = |expr| spelling.print(vars, expr);
    let loops: Vec<String> = array.loops.iter().map(|(count, stride)| format!("({}, {})", p(count), p(stride))).collect();
    format!("&[{}]", loops.join(", "))
}

fn writer(plan: &Plan, spelling: &Spelling, out: &mut String) {
    let vars = &plan.write.vars;
    out.push_str("    /// Writes a file.\n    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {\n        let mut f = Stream::create(path.as_ref())?;\n");
    for op in &plan.write.ops {
        match op {
            Op::Let(var, expr) => {
                let _ = writeln!(out, "        let {} = {};", var_name(vars, *var), unwrapped(&spelling.print(vars, expr)));
            }
            Op::Param { field, at, order, var } => {
                let Some(field) = plan.fields.get(*field) else { continue };
                let set = bound(vars, *var);
                let (at, order) = (spelling.print(vars, at), order_letter(*order));
                let _ = writeln!(out, "        {set}check(i64::try_from(self.{}).unwrap_or(-2))?;", field.name);
                let size = field.primitive.size();
                let _ = writeln!(
                    out,
                    "        f.put({at}, {:?}, bytes_of(&[self.{}], |x| x.to_ne_bytes()), {size}, {size}, &[], 1, '{order}')?;",
                    field.name, field.name
                );
            }
            Op::Array(array) => {
                let Some(field) = plan.fields.get(array.field) else { continue };
                let (at, run) = (spelling.print(vars, &array.at), spelling.print(vars, &array.run));
                let name = &field.name;
                let from = if field.shape.is_empty() { format!("&[self.{name}]") } else { format!("&self.{name}") };
                let _ = writeln!(
                    out,
                    "        f.put({at}, {name:?}, bytes_of({from}, {}), {}, {}, {}, {run}, '{}')?;",
                    encoder(field),
                    width(field.primitive),
                    field.primitive.size(),
                    loops(array, spelling, vars),
                    order_letter(array.order)
                );
            }
        }
    }
    let total = spelling.print(vars, &plan.total);
    let text = if plan.layout.is_some() { "LAYOUT" } else { "&[]" };
    let _ = writeln!(out, "        f.end({total}, {text})\n    }}\n");
}

/// The beginning of a statement whose value becomes that of a variable, if one is wanted.
fn bound(vars: &[String], var: Option<usize>) -> String {
    var.map_or_else(String::new, |var| format!("let {} = ", var_name(vars, var)))
}

/// A choice that is all of an expression takes no parentheses.
fn unwrapped(text: &str) -> &str {
    text.strip_prefix("(if ").and_then(|_| text.get(1..text.len().saturating_sub(1))).unwrap_or(text)
}

fn encoder(field: &Field) -> &'static str {
    match field.primitive.kind() {
        PrimitiveKind::Bool => "|x| [u8::from(x)]",
        PrimitiveKind::Complex if field.primitive.size() == 8 => "|[a, b]| joined::<4, 8>(a.to_ne_bytes(), b.to_ne_bytes())",
        PrimitiveKind::Complex => "|[a, b]| joined::<8, 16>(a.to_ne_bytes(), b.to_ne_bytes())",
        _ => "|x| x.to_ne_bytes()",
    }
}

fn decoder(field: &Field) -> String {
    match field.primitive.kind() {
        PrimitiveKind::Bool => "|[x]: [u8; 1]| x != 0".into(),
        PrimitiveKind::Complex => {
            let (half, size) = (width(field.primitive), field.primitive.size());
            let number = if half == 4 { "f32" } else { "f64" };
            format!("|x: [u8; {size}]| halves::<{half}, {size}>(x).map({number}::from_ne_bytes)")
        }
        _ => format!("{}::from_ne_bytes", datatype(field.primitive)),
    }
}

fn reader(plan: &Plan, spelling: &Spelling, out: &mut String) {
    let vars = &plan.read.vars;
    let mutable = if plan.fields.is_empty() { "" } else { "mut " };
    let _ = writeln!(
        out,
        "    /// Reads a file.\n    pub fn read(path: impl AsRef<Path>) -> io::Result<Content> {{\n        let {mutable}v = Content::default();\n        let {mutable}f = Stream::open(path.as_ref())?;"
    );
    if plan.fields.is_empty() {
        out.push_str("        f.close();\n");
    }
    for op in &plan.read.ops {
        match op {
            Op::Let(var, expr) => {
                let _ = writeln!(out, "        let {} = {};", var_name(vars, *var), unwrapped(&spelling.print(vars, expr)));
            }
            Op::Param { field, at, order, var } => {
                let Some(field) = plan.fields.get(*field) else { continue };
                let set = bound(vars, *var);
                let (at, order, size) = (spelling.print(vars, at), order_letter(*order), field.primitive.size());
                let decode = decoder(field);
                let _ = writeln!(out, "        v.{} = only(f.get({at}, {size}, &[], 1, '{order}', {decode})?)?;", field.name);
                let _ = writeln!(out, "        {set}check(i64::try_from(v.{}).unwrap_or(-2))?;", field.name);
            }
            Op::Array(array) => {
                let Some(field) = plan.fields.get(array.field) else { continue };
                let (at, run) = (spelling.print(vars, &array.at), spelling.print(vars, &array.run));
                let get = format!(
                    "f.get({at}, {}, {}, {run}, '{}', {})?",
                    width(field.primitive),
                    loops(array, spelling, vars),
                    order_letter(array.order),
                    decoder(field)
                );
                let value = if field.shape.is_empty() { format!("only({get})?") } else { get };
                let _ = writeln!(out, "        v.{} = {value};", field.name);
            }
        }
    }
    out.push_str("        Ok(v)\n    }\n");
}
