//! C99: one header with functions that are `static inline`.

use std::fmt::Write;

use super::expr::Spelling;
use super::{Field, Generator, Move, Op, Plan, Primitive, escaped, order_letter, pieces, var_name, width};
use crate::layout::PrimitiveKind;

pub(super) const C: Generator = Generator { name: "c", extension: "h", lacks, write };

const HELPERS: &str = include_str!("templates/helpers.h");

fn datatype(primitive: Primitive) -> &'static str {
    match (primitive.kind(), primitive.size()) {
        (PrimitiveKind::Signed, 1) => "int8_t",
        (PrimitiveKind::Signed, 2) => "int16_t",
        (PrimitiveKind::Signed, 4) => "int32_t",
        (PrimitiveKind::Signed, _) => "int64_t",
        (PrimitiveKind::Float, 4) => "float",
        (PrimitiveKind::Float, _) => "double",
        (PrimitiveKind::Complex, 8) => "float _Complex",
        (PrimitiveKind::Complex, _) => "double _Complex",
        (PrimitiveKind::Ascii, _) => "char",
        (PrimitiveKind::Unicode, 1) => "char",
        (PrimitiveKind::Bool, _) => "unsigned char",
        (_, 1) => "uint8_t",
        (_, 2) => "uint16_t",
        (_, 4) => "uint32_t",
        _ => "uint64_t",
    }
}

fn lacks(field: &Field) -> Option<&'static str> {
    matches!(field.primitive.name(), "f2" | "c4").then_some("C99 has no floating-point type of two bytes")
}

fn write(plan: &Plan) -> String {
    let name = &plan.name;
    let spelling = Spelling {
        suffix: "",
        start: "(f->is_native ? 16 : 0)",
        prefix: format!("{name}_"),
        max: format!("{name}_max({{0}}, {{1}})"),
        choice: "({0} > 0 ? {1} : {2})",
    };
    let template = HELPERS.replace("NAME", name).replace("GUARD", &name.to_ascii_uppercase());
    let signature = escaped(&plan.signature(), |byte| format!("\\{byte:03o}"));
    let mut out = plan.helpers(&template, &signature, &fields(plan));
    writer(plan, &spelling, &mut out);
    reader(plan, &spelling, &mut out);
    out.push_str("\n#endif\n");
    out
}

/// The members of the struct.
fn fields(plan: &Plan) -> String {
    let mut out = String::new();
    for field in &plan.fields {
        let star = if field.shape.is_empty() { "" } else { "*" };
        let comment = plan.comment(field).replace("*/", "* /").replace("/*", "/ *").replace('?', "\\?");
        let _ = writeln!(out, "  {} {star}{};  /* {comment} */", datatype(field.primitive), field.name);
    }
    if plan.fields.is_empty() {
        out.push_str("  char nothing;\n");
    }
    out
}

fn address(field: &Field) -> String {
    if field.shape.is_empty() { format!("&v->{}", field.name) } else { format!("v->{}", field.name) }
}

/// `depth, loops, run, bytes of a number, numbers in an element, order`
fn blocks(array: &Move, field: &Field, spelling: &Spelling, vars: &[String]) -> String {
    let p = |expr| spelling.print(vars, expr);
    let loops: Vec<String> = array.loops.iter().map(|(count, stride)| format!("{}, {}", p(count), p(stride))).collect();
    let table = if loops.is_empty() { "NULL".to_owned() } else { format!("(const int64_t[]){{{}}}", loops.join(", ")) };
    let numbers = field.primitive.size() / width(field.primitive);
    let order = order_letter(array.order);
    format!("{}, {table}, {}, {}, {numbers}, '{order}'", array.loops.len(), p(&array.run), width(field.primitive))
}

fn writer(plan: &Plan, spelling: &Spelling, out: &mut String) {
    let (name, vars) = (&plan.name, &plan.write.vars);
    let _ = writeln!(
        out,
        "\n/* Writes a file. Returns NULL, or what went wrong. */\nstatic inline const char *{name}_write(const char *path, const struct {name} *v)\n{{\n  struct {name}_file file, *f = &file;\n  (void) v;\n  {name}_create(f, path);"
    );
    for op in &plan.write.ops {
        match op {
            Op::Let(var, expr) => {
                let _ = writeln!(out, "  const int64_t {} = {};", var_name(vars, *var), spelling.print(vars, expr));
            }
            Op::Param { field, at, order, var } => {
                let Some(field) = plan.fields.get(*field) else { continue };
                check(field, name, var.map(|var| var_name(vars, var)), out);
                let (at, order, size) = (spelling.print(vars, at), order_letter(*order), field.primitive.size());
                let _ = writeln!(out, "  {name}_put(f, {at}, &v->{}, 0, NULL, 1, {size}, 1, '{order}');", field.name);
            }
            Op::Array(array) => {
                let Some(field) = plan.fields.get(array.field) else { continue };
                let (at, blocks) = (spelling.print(vars, &array.at), blocks(array, field, spelling, vars));
                let _ = writeln!(out, "  {name}_put(f, {at}, {}, {blocks});", address(field));
            }
        }
    }
    if let Some(text) = &plan.layout {
        let _ = writeln!(out, "  {name}_begin_layout(f, {});", spelling.print(vars, &plan.total));
        for piece in pieces(text) {
            let literal = escaped(piece, |byte| format!("\\{byte:03o}"));
            let _ = writeln!(out, "  {name}_text(f, \"{literal}\", {});", piece.len());
        }
        let _ = writeln!(out, "  {name}_end_layout(f);");
    } else {
        let _ = writeln!(out, "  {name}_fill(f, {});", spelling.print(vars, &plan.total));
    }
    let _ = writeln!(out, "  return {name}_close(f);\n}}");
}

/// Checks a parameter, which becomes the value of a variable if one is wanted.
fn check(field: &Field, name: &str, var: Option<&str>, out: &mut String) {
    let wide = field.primitive.kind() != PrimitiveKind::Signed && field.primitive.size() == 8;
    let checked =
        if wide { format!("v->{0} > INT64_MAX ? -2 : (int64_t) v->{0}", field.name) } else { format!("v->{}", field.name) };
    let set = var.map_or_else(String::new, |var| format!("const int64_t {var} = "));
    let _ = writeln!(out, "  {set}{name}_check(f, {checked});");
}

fn reader(plan: &Plan, spelling: &Spelling, out: &mut String) {
    let (name, vars) = (&plan.name, &plan.read.vars);
    let _ = writeln!(
        out,
        "\n/* Frees the arrays of a struct that was read. */\nstatic inline void {name}_free(struct {name} *v)\n{{\n  const struct {name} nothing = {{0}};"
    );
    for field in plan.fields.iter().filter(|field| !field.shape.is_empty()) {
        let _ = writeln!(out, "  free(v->{});", field.name);
    }
    let _ = writeln!(
        out,
        "  *v = nothing;\n}}\n\n/* Reads a file; free the arrays with {name}_free. Returns NULL, or what went wrong. */\nstatic inline const char *{name}_read(const char *path, struct {name} *v)\n{{\n  struct {name}_file file, *f = &file;\n  const struct {name} nothing = {{0}};\n  const char *error;\n  *v = nothing;\n  {name}_open(f, path);"
    );
    for op in &plan.read.ops {
        match op {
            Op::Let(var, expr) => {
                let _ = writeln!(out, "  const int64_t {} = {};", var_name(vars, *var), spelling.print(vars, expr));
            }
            Op::Param { field, at, order, var } => {
                let Some(field) = plan.fields.get(*field) else { continue };
                let (at, order, size) = (spelling.print(vars, at), order_letter(*order), field.primitive.size());
                let _ = writeln!(out, "  {name}_get(f, {at}, &v->{}, 0, NULL, 1, {size}, 1, '{order}');", field.name);
                check(field, name, var.map(|var| var_name(vars, var)), out);
            }
            Op::Array(array) => {
                let Some(field) = plan.fields.get(array.field) else { continue };
                let (at, blocks) = (spelling.print(vars, &array.at), blocks(array, field, spelling, vars));
                if !field.shape.is_empty() {
                    let count = spelling.print(vars, &array.count());
                    let _ = writeln!(out, "  v->{} = {name}_allocate(f, {count}, {});", field.name, field.primitive.size());
                }
                let _ = writeln!(out, "  {name}_get(f, {at}, {}, {blocks});", address(field));
            }
        }
    }
    let _ = writeln!(out, "  error = {name}_close(f);\n  if (error)\n    {name}_free(v);\n  return error;\n}}");
}
