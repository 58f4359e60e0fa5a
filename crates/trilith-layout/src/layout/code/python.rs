//! Python 3: one module that needs only `struct`.

use std::fmt::Write;

use super::expr::ExprSyntax;
use super::{CodeField, CodeGenerator, CodePlan, Op, byte_swap_width, escape_bytes, order_letter, text_pieces, var_name};
use crate::layout::PrimitiveKind;

pub(super) const PYTHON: CodeGenerator =
    CodeGenerator { name: "python", extension: "py", lacks: unsupported_reason, write: generate_code };

const HELPERS: &str = include_str!("templates/helpers.py");

fn unsupported_reason(_: &CodeField) -> Option<&'static str> {
    None
}

fn generate_code(plan: &CodePlan) -> String {
    let spelling = ExprSyntax {
        suffix: "",
        start: "f.start",
        prefix: "_".into(),
        max: "max({0}, {1})".into(),
        choice: "({1} if {0} > 0 else {2})",
    };
    let mut fields = String::new();
    for field in &plan.fields {
        let comment = plan.print_field_comment(field).replace('\\', "\\\\").replace("\"\"\"", "'''");
        let _ = writeln!(fields, "    {}: {comment}", field.name);
    }
    let signature = escape_bytes(&plan.signature(), |byte| format!("\\x{byte:02x}"));
    let mut out = plan.fill_helper_template(HELPERS, &signature, &fields);
    push_writer(plan, &spelling, &mut out);
    push_reader(plan, &spelling, &mut out);
    out
}

/// The letter of the module `struct`, and the kind of value.
fn to_struct_format(field: &CodeField) -> (char, &'static str) {
    let primitive = field.primitive;
    match (primitive.kind(), byte_swap_width(primitive)) {
        (PrimitiveKind::Signed, 1) => ('b', "number"),
        (PrimitiveKind::Signed, 2) => ('h', "number"),
        (PrimitiveKind::Signed, 4) => ('i', "number"),
        (PrimitiveKind::Signed, _) => ('q', "number"),
        (PrimitiveKind::Float, 2) => ('e', "number"),
        (PrimitiveKind::Float, 4) => ('f', "number"),
        (PrimitiveKind::Float, _) => ('d', "number"),
        (PrimitiveKind::Complex, 2) => ('e', "complex"),
        (PrimitiveKind::Complex, 4) => ('f', "complex"),
        (PrimitiveKind::Complex, _) => ('d', "complex"),
        (PrimitiveKind::Bool, _) => ('?', "number"),
        (PrimitiveKind::Ascii, _) | (PrimitiveKind::Unicode, 1) => ('B', "text"),
        (_, 1) => ('B', "number"),
        (_, 2) => ('H', "number"),
        (_, 4) => ('I', "number"),
        _ => ('Q', "number"),
    }
}

/// A function of the module.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ModuleFunction {
    /// The function that writes a file.
    Writer,
    /// The function that reads a file.
    Reader,
}

fn push_operations(plan: &CodePlan, spelling: &ExprSyntax, function: ModuleFunction, out: &mut String) {
    let is_writer = function == ModuleFunction::Writer;
    let program = if is_writer { &plan.write } else { &plan.read };
    let vars = &program.vars;
    let p = |expr| spelling.print_expr(vars, expr);
    for op in &program.ops {
        match op {
            Op::Let(var, expr) => {
                let _ = writeln!(out, "        {} = {}", var_name(vars, *var), p(expr));
            }
            Op::Param { field, at, order, var } => {
                let Some(field) = plan.fields.get(*field) else { continue };
                let (name, (letter, _), order) = (&field.name, to_struct_format(field), order_letter(*order));
                if is_writer {
                    let _ =
                        writeln!(out, "        f.put({}, values, {name:?}, [], [], 1, {letter:?}, 'number', '{order}')", p(at));
                } else {
                    let _ =
                        writeln!(out, "        values[{name:?}] = f.get({}, [], [], 1, {letter:?}, 'number', '{order}')", p(at));
                }
                let set = var.and_then(|var| vars.get(var)).map_or_else(String::new, |var| format!("{var} = "));
                let _ = writeln!(out, "        {set}_check(values[{name:?}])");
            }
            Op::Array(array) => {
                let Some(field) = plan.fields.get(array.field) else { continue };
                let (name, (letter, kind), order) = (&field.name, to_struct_format(field), order_letter(array.order));
                let dims: Vec<String> = array.dims.iter().map(p).collect();
                let loops: Vec<String> =
                    array.loops.iter().map(|(count, stride)| format!("({}, {})", p(count), p(stride))).collect();
                let rest =
                    format!("[{}], [{}], {}, {letter:?}, {kind:?}, '{order}')", dims.join(", "), loops.join(", "), p(&array.run));
                if is_writer {
                    let _ = writeln!(out, "        f.put({}, values, {name:?}, {rest}", p(&array.at));
                } else {
                    let _ = writeln!(out, "        values[{name:?}] = f.get({}, {rest}", p(&array.at));
                }
            }
        }
    }
}

fn push_writer(plan: &CodePlan, spelling: &ExprSyntax, out: &mut String) {
    out.push_str("\n\ndef write(path, values):\n    \"\"\"Write a file from a dict of values.\"\"\"\n    with open(path, \"wb\") as file:\n        f = _File(file)\n        f.create()\n");
    push_operations(plan, spelling, ModuleFunction::Writer, out);
    let total = spelling.print_expr(&plan.write.vars, &plan.total);
    if let Some(text) = &plan.layout {
        let _ = writeln!(out, "        f.end({total}, LAYOUT)\n\n\nLAYOUT = (");
        for piece in text_pieces(text) {
            let _ = writeln!(out, "    b\"{}\"", escape_bytes(piece, |byte| format!("\\x{byte:02x}")));
        }
        out.push_str("    b\"\"\n)\n");
    } else {
        let _ = writeln!(out, "        f.end({total}, b\"\")");
    }
}

fn push_reader(plan: &CodePlan, spelling: &ExprSyntax, out: &mut String) {
    out.push_str("\n\ndef read(path):\n    \"\"\"Read a file as a dict of values.\"\"\"\n    values = {}\n    with open(path, \"rb\") as file:\n        f = _File(file)\n        f.open()\n");
    push_operations(plan, spelling, ModuleFunction::Reader, out);
    out.push_str("    return values\n");
}
