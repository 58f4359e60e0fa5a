//! Rust: one module that needs only the standard library.

use std::fmt::Write;

use super::expr::ExprSyntax;
use super::{
    CodeField, CodeGenerator, CodePlan, Op, Primitive, byte_swap_width, escape_bytes, order_letter, text_pieces, var_name,
};
use crate::layout::PrimitiveKind;

pub(super) const RUST: CodeGenerator =
    CodeGenerator { name: "rust", extension: "rs", lacks: unsupported_reason, write: generate_code };

const HELPERS: &str = include_str!("templates/helpers.rs.txt");

fn to_rust_datatype(primitive: Primitive) -> &'static str {
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

fn unsupported_reason(field: &CodeField) -> Option<&'static str> {
    matches!(field.primitive.name(), "f2" | "c4").then_some("Rust has no floating-point type of two bytes")
}

fn generate_code(plan: &CodePlan) -> String {
    let spelling = ExprSyntax {
        suffix: "",
        start: "f.start",
        prefix: String::new(),
        max: "{0}.max({1})".into(),
        choice: "(if {0} > 0 { {1} } else { {2} })",
    };
    let mut fields = String::new();
    for field in &plan.fields {
        let ty = to_rust_datatype(field.primitive);
        let ty = if field.shape.is_empty() { ty.to_owned() } else { format!("Vec<{ty}>") };
        let _ =
            writeln!(fields, "    /// `{}`\n    pub {}: {ty},", plan.print_field_comment(field).replace('`', "'"), field.name);
    }
    let signature = escape_bytes(&plan.signature(), |byte| format!("\\x{byte:02x}"));
    let mut out = plan.fill_helper_template(HELPERS, &signature, &fields);
    out.push_str("\nimpl Content {\n");
    push_writer(plan, &spelling, &mut out);
    push_reader(plan, &spelling, &mut out);
    out.push_str("}\n");
    if let Some(text) = &plan.layout {
        out.push_str("\nconst LAYOUT: &[&[u8]] = &[\n");
        for piece in text_pieces(text) {
            let _ = writeln!(out, "    b\"{}\",", escape_bytes(piece, |byte| format!("\\x{byte:02x}")));
        }
        out.push_str("];\n");
    }
    out
}

/// The loops as a slice.
fn print_loop_slice(array: &super::FieldMove, spelling: &ExprSyntax, vars: &[String]) -> String {
    let p = |expr| spelling.print_expr(vars, expr);
    let loops: Vec<String> = array.loops.iter().map(|(count, stride)| format!("({}, {})", p(count), p(stride))).collect();
    format!("&[{}]", loops.join(", "))
}

fn push_writer(plan: &CodePlan, spelling: &ExprSyntax, out: &mut String) {
    let vars = &plan.write.vars;
    out.push_str("    /// Writes a file.\n    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {\n        let mut f = Stream::create(path.as_ref())?;\n");
    for op in &plan.write.ops {
        match op {
            Op::Let(var, expr) => {
                let _ = writeln!(
                    out,
                    "        let {} = {};",
                    var_name(vars, *var),
                    strip_if_parentheses(&spelling.print_expr(vars, expr))
                );
            }
            Op::Param { field, at, order, var } => {
                let Some(field) = plan.fields.get(*field) else { continue };
                let set = print_let_prefix(vars, *var);
                let (at, order) = (spelling.print_expr(vars, at), order_letter(*order));
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
                let (at, run) = (spelling.print_expr(vars, &array.at), spelling.print_expr(vars, &array.run));
                let name = &field.name;
                let from = if field.shape.is_empty() { format!("&[self.{name}]") } else { format!("&self.{name}") };
                let _ = writeln!(
                    out,
                    "        f.put({at}, {name:?}, bytes_of({from}, {}), {}, {}, {}, {run}, '{}')?;",
                    print_encoder(field),
                    byte_swap_width(field.primitive),
                    field.primitive.size(),
                    print_loop_slice(array, spelling, vars),
                    order_letter(array.order)
                );
            }
        }
    }
    let total = spelling.print_expr(vars, &plan.total);
    let text = if plan.layout.is_some() { "LAYOUT" } else { "&[]" };
    let _ = writeln!(out, "        f.end({total}, {text})\n    }}\n");
}

/// The beginning of a statement whose value becomes that of a variable, if one is wanted.
fn print_let_prefix(vars: &[String], var: Option<usize>) -> String {
    var.map_or_else(String::new, |var| format!("let {} = ", var_name(vars, var)))
}

/// A choice that is all of an expression takes no parentheses.
fn strip_if_parentheses(text: &str) -> &str {
    text.strip_prefix("(if ").and_then(|_| text.get(1..text.len().saturating_sub(1))).unwrap_or(text)
}

fn print_encoder(field: &CodeField) -> &'static str {
    match field.primitive.kind() {
        PrimitiveKind::Bool => "|x| [u8::from(x)]",
        PrimitiveKind::Complex if field.primitive.size() == 8 => "|[a, b]| joined::<4, 8>(a.to_ne_bytes(), b.to_ne_bytes())",
        PrimitiveKind::Complex => "|[a, b]| joined::<8, 16>(a.to_ne_bytes(), b.to_ne_bytes())",
        _ => "|x| x.to_ne_bytes()",
    }
}

fn print_decoder(field: &CodeField) -> String {
    match field.primitive.kind() {
        PrimitiveKind::Bool => "|[x]: [u8; 1]| x != 0".into(),
        PrimitiveKind::Complex => {
            let (half, size) = (byte_swap_width(field.primitive), field.primitive.size());
            let number = if half == 4 { "f32" } else { "f64" };
            format!("|x: [u8; {size}]| halves::<{half}, {size}>(x).map({number}::from_ne_bytes)")
        }
        _ => format!("{}::from_ne_bytes", to_rust_datatype(field.primitive)),
    }
}

fn push_reader(plan: &CodePlan, spelling: &ExprSyntax, out: &mut String) {
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
                let _ = writeln!(
                    out,
                    "        let {} = {};",
                    var_name(vars, *var),
                    strip_if_parentheses(&spelling.print_expr(vars, expr))
                );
            }
            Op::Param { field, at, order, var } => {
                let Some(field) = plan.fields.get(*field) else { continue };
                let set = print_let_prefix(vars, *var);
                let (at, order, size) = (spelling.print_expr(vars, at), order_letter(*order), field.primitive.size());
                let decode = print_decoder(field);
                let _ = writeln!(out, "        v.{} = only(f.get({at}, {size}, &[], 1, '{order}', {decode})?)?;", field.name);
                let _ = writeln!(out, "        {set}check(i64::try_from(v.{}).unwrap_or(-2))?;", field.name);
            }
            Op::Array(array) => {
                let Some(field) = plan.fields.get(array.field) else { continue };
                let (at, run) = (spelling.print_expr(vars, &array.at), spelling.print_expr(vars, &array.run));
                let get = format!(
                    "f.get({at}, {}, {}, {run}, '{}', {})?",
                    byte_swap_width(field.primitive),
                    print_loop_slice(array, spelling, vars),
                    order_letter(array.order),
                    print_decoder(field)
                );
                let value = if field.shape.is_empty() { format!("only({get})?") } else { get };
                let _ = writeln!(out, "        v.{} = {value};", field.name);
            }
        }
    }
    out.push_str("        Ok(v)\n    }\n");
}
