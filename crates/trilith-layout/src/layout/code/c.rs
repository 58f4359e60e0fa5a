//! C99: one header with functions that are `static inline`.

use std::fmt::Write;

use super::expr::ExprSyntax;
use super::{
    CodeField, CodeGenerator, CodePlan, FieldMove, Op, Primitive, byte_swap_width, escape_bytes, order_letter, text_pieces,
    var_name,
};
use crate::layout::PrimitiveKind;

pub(super) const C: CodeGenerator = CodeGenerator { name: "c", extension: "h", lacks: unsupported_reason, write: generate_code };

const HELPERS: &str = include_str!("templates/helpers.h");

/// The type of a field; NAME is the name of the module.
fn to_c_datatype(primitive: Primitive) -> &'static str {
    match (primitive.kind(), primitive.size()) {
        (PrimitiveKind::Signed, 1) => "int8_t",
        (PrimitiveKind::Signed, 2) => "int16_t",
        (PrimitiveKind::Signed, 4) => "int32_t",
        (PrimitiveKind::Signed, _) => "int64_t",
        (PrimitiveKind::Float, 4) => "float",
        (PrimitiveKind::Float, _) => "double",
        (PrimitiveKind::Complex, 8) => "NAME_c8",
        (PrimitiveKind::Complex, _) => "NAME_c16",
        (PrimitiveKind::Ascii, _) => "char",
        (PrimitiveKind::Unicode, 1) => "char",
        (PrimitiveKind::Bool, _) => "unsigned char",
        (_, 1) => "uint8_t",
        (_, 2) => "uint16_t",
        (_, 4) => "uint32_t",
        _ => "uint64_t",
    }
}

/// The complex types, which have other names in C++.
const COMPLEX: &str = "
#ifdef __cplusplus
#include <complex>
typedef std::complex<float> NAME_c8;
typedef std::complex<double> NAME_c16;
#else
typedef float _Complex NAME_c8;
typedef double _Complex NAME_c16;
#endif
";

fn unsupported_reason(field: &CodeField) -> Option<&'static str> {
    matches!(field.primitive.name(), "f2" | "c4").then_some("C99 has no floating-point type of two bytes")
}

fn generate_code(plan: &CodePlan) -> String {
    let name = &plan.name;
    let spelling = ExprSyntax {
        suffix: "",
        start: "(f->is_native ? 16 : 0)",
        prefix: format!("{name}_"),
        max: format!("{name}_max({{0}}, {{1}})"),
        choice: "({0} > 0 ? {1} : {2})",
    };
    let has_complex = plan.fields.iter().any(|field| field.primitive.kind() == PrimitiveKind::Complex);
    let template = HELPERS.replace("COMPLEX", if has_complex { COMPLEX } else { "" });
    let template = template.replace("NAME", name).replace("GUARD", &name.to_ascii_uppercase());
    let signature = escape_bytes(&plan.signature(), |byte| format!("\\{byte:03o}"));
    let mut out = plan.fill_helper_template(&template, &signature, &print_struct_fields(plan));
    push_writer(plan, &spelling, &mut out);
    push_reader(plan, &spelling, &mut out);
    out.push_str("\n#endif\n");
    out
}

/// The members of the struct.
fn print_struct_fields(plan: &CodePlan) -> String {
    let mut out = String::new();
    for field in &plan.fields {
        let star = if field.shape.is_empty() { "" } else { "*" };
        let comment = plan.print_field_comment(field).replace("*/", "* /").replace("/*", "/ *").replace('?', "\\?");
        let ty = to_c_datatype(field.primitive).replace("NAME", &plan.name);
        let _ = writeln!(out, "  {ty} {star}{};  /* {comment} */", field.name);
    }
    if plan.fields.is_empty() {
        out.push_str("  char nothing;\n");
    }
    out
}

fn print_field_address(field: &CodeField) -> String {
    if field.shape.is_empty() { format!("&v->{}", field.name) } else { format!("v->{}", field.name) }
}

/// `depth, loops, run, bytes of a number, numbers in an element, order`
fn print_block_arguments(array: &FieldMove, field: &CodeField, spelling: &ExprSyntax, vars: &[String]) -> String {
    let p = |expr| spelling.print_expr(vars, expr);
    let table = if array.loops.is_empty() { "NULL" } else { "loops" };
    let numbers = field.primitive.size() / byte_swap_width(field.primitive);
    let order = order_letter(array.order);
    format!("{}, {table}, {}, {}, {numbers}, '{order}'", array.loops.len(), p(&array.run), byte_swap_width(field.primitive))
}

/// A call with the table of the loops around a field, if it has some.
fn push_call(array: &FieldMove, spelling: &ExprSyntax, vars: &[String], call: &str, out: &mut String) {
    let p = |expr| spelling.print_expr(vars, expr);
    let loops: Vec<String> = array.loops.iter().map(|(count, stride)| format!("{}, {}", p(count), p(stride))).collect();
    let _ = if loops.is_empty() {
        writeln!(out, "  {call};")
    } else {
        writeln!(out, "  {{\n    const int64_t loops[] = {{{}}};\n    {call};\n  }}", loops.join(", "))
    };
}

fn push_writer(plan: &CodePlan, spelling: &ExprSyntax, out: &mut String) {
    let (name, vars) = (&plan.name, &plan.write.vars);
    let _ = writeln!(
        out,
        "\n/* Writes a file. Returns NULL, or what went wrong. */\nstatic inline const char *{name}_write(const char *path, const struct {name} *v)\n{{\n  struct {name}_file file, *f = &file;\n  (void) v;\n  {name}_create(f, path);"
    );
    for op in &plan.write.ops {
        match op {
            Op::Let(var, expr) => {
                let _ = writeln!(out, "  const int64_t {} = {};", var_name(vars, *var), spelling.print_expr(vars, expr));
            }
            Op::Param { field, at, order, var } => {
                let Some(field) = plan.fields.get(*field) else { continue };
                push_param_check(field, name, var.map(|var| var_name(vars, var)), out);
                let (at, order, size) = (spelling.print_expr(vars, at), order_letter(*order), field.primitive.size());
                let _ = writeln!(out, "  {name}_put(f, {at}, &v->{}, 0, NULL, 1, {size}, 1, '{order}');", field.name);
            }
            Op::Array(array) => {
                let Some(field) = plan.fields.get(array.field) else { continue };
                let (at, blocks) = (spelling.print_expr(vars, &array.at), print_block_arguments(array, field, spelling, vars));
                let call = format!("{name}_put(f, {at}, {}, {blocks})", print_field_address(field));
                push_call(array, spelling, vars, &call, out);
            }
        }
    }
    if let Some(text) = &plan.layout {
        let _ = writeln!(out, "  {name}_begin_layout(f, {});", spelling.print_expr(vars, &plan.total));
        for piece in text_pieces(text) {
            let literal = escape_bytes(piece, |byte| format!("\\{byte:03o}"));
            let _ = writeln!(out, "  {name}_text(f, \"{literal}\", {});", piece.len());
        }
        let _ = writeln!(out, "  {name}_end_layout(f);");
    } else {
        let _ = writeln!(out, "  {name}_fill(f, {});", spelling.print_expr(vars, &plan.total));
    }
    let _ = writeln!(out, "  return {name}_close(f);\n}}");
}

/// Checks a parameter, which becomes the value of a variable if one is wanted.
fn push_param_check(field: &CodeField, name: &str, var: Option<&str>, out: &mut String) {
    let wide = field.primitive.kind() != PrimitiveKind::Signed && field.primitive.size() == 8;
    let checked =
        if wide { format!("v->{0} > INT64_MAX ? -2 : (int64_t) v->{0}", field.name) } else { format!("v->{}", field.name) };
    let set = var.map_or_else(String::new, |var| format!("const int64_t {var} = "));
    let _ = writeln!(out, "  {set}{name}_check(f, {checked});");
}

fn push_reader(plan: &CodePlan, spelling: &ExprSyntax, out: &mut String) {
    let (name, vars) = (&plan.name, &plan.read.vars);
    let _ = writeln!(
        out,
        "\n/* Frees the arrays of a struct that was read. */\nstatic inline void {name}_free(struct {name} *v)\n{{"
    );
    for field in plan.fields.iter().filter(|field| !field.shape.is_empty()) {
        let _ = writeln!(out, "  free(v->{});", field.name);
    }
    let _ = writeln!(
        out,
        "  *v = {name}_empty();\n}}\n\n/* Reads a file; free the arrays with {name}_free. Returns NULL, or what went wrong. */\nstatic inline const char *{name}_read(const char *path, struct {name} *v)\n{{\n  struct {name}_file file, *f = &file;\n  const char *error;\n  *v = {name}_empty();\n  {name}_open(f, path);"
    );
    for op in &plan.read.ops {
        match op {
            Op::Let(var, expr) => {
                let _ = writeln!(out, "  const int64_t {} = {};", var_name(vars, *var), spelling.print_expr(vars, expr));
            }
            Op::Param { field, at, order, var } => {
                let Some(field) = plan.fields.get(*field) else { continue };
                let (at, order, size) = (spelling.print_expr(vars, at), order_letter(*order), field.primitive.size());
                let _ = writeln!(out, "  {name}_get(f, {at}, &v->{}, 0, NULL, 1, {size}, 1, '{order}');", field.name);
                push_param_check(field, name, var.map(|var| var_name(vars, var)), out);
            }
            Op::Array(array) => {
                let Some(field) = plan.fields.get(array.field) else { continue };
                let (at, blocks) = (spelling.print_expr(vars, &array.at), print_block_arguments(array, field, spelling, vars));
                if !field.shape.is_empty() {
                    let count = spelling.print_expr(vars, &array.count_elements());
                    let ty = to_c_datatype(field.primitive).replace("NAME", name);
                    let size = field.primitive.size();
                    let _ = writeln!(out, "  v->{} = ({ty} *) {name}_allocate(f, {count}, {size});", field.name);
                }
                let call = format!("{name}_get(f, {at}, {}, {blocks})", print_field_address(field));
                push_call(array, spelling, vars, &call, out);
            }
        }
    }
    let _ = writeln!(out, "  error = {name}_close(f);\n  if (error)\n    {name}_free(v);\n  return error;\n}}");
}
