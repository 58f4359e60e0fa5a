//! Fortran 2018: one module.

use std::fmt::Write;

use super::expr::ExprSyntax;
use super::{CodeField, CodeGenerator, CodePlan, FieldMove, Op, Primitive, byte_swap_width, order_letter, text_pieces, var_name};
use crate::layout::PrimitiveKind;

pub(super) const FORTRAN: CodeGenerator =
    CodeGenerator { name: "fortran", extension: "f90", lacks: unsupported_reason, write: generate_code };

const HELPERS: &str = include_str!("templates/helpers.f90");

fn to_fortran_datatype(primitive: Primitive) -> (&'static str, &'static str) {
    match (primitive.kind(), primitive.size()) {
        // Unsigned numbers, and characters of several bytes, as signed ones with the same bits.
        (PrimitiveKind::Unsigned | PrimitiveKind::Pointer, size) => signed_type(size),
        (PrimitiveKind::Unicode, size) if size > 1 => signed_type(size),
        (PrimitiveKind::Signed, 1) => ("integer(int8)", "0_int8"),
        (PrimitiveKind::Signed, 2) => ("integer(int16)", "0_int16"),
        (PrimitiveKind::Signed, 4) => ("integer(int32)", "0_int32"),
        (PrimitiveKind::Signed, _) => ("integer(int64)", "0_int64"),
        (PrimitiveKind::Float, 4) => ("real(real32)", "0._real32"),
        (PrimitiveKind::Float, _) => ("real(real64)", "0._real64"),
        (PrimitiveKind::Complex, 8) => ("complex(real32)", "(0._real32, 0._real32)"),
        (PrimitiveKind::Complex, _) => ("complex(real64)", "(0._real64, 0._real64)"),
        (PrimitiveKind::Bool, _) => ("logical", ".false."),
        _ => ("character", "' '"),
    }
}

/// The signed number of a size.
fn signed_type(size: u64) -> (&'static str, &'static str) {
    match size {
        1 => ("integer(int8)", "0_int8"),
        2 => ("integer(int16)", "0_int16"),
        4 => ("integer(int32)", "0_int32"),
        _ => ("integer(int64)", "0_int64"),
    }
}

/// Returns what a comment has to say of a field that Fortran holds as another type.
fn type_comment(primitive: Primitive) -> Option<&'static str> {
    match primitive.kind() {
        PrimitiveKind::Unsigned | PrimitiveKind::Pointer => Some("unsigned in the file: here the same bits as a signed number"),
        PrimitiveKind::Unicode if primitive.size() > 1 => Some("characters, as the numbers that the file has for them"),
        _ => None,
    }
}

fn unsupported_reason(field: &CodeField) -> Option<&'static str> {
    let primitive = field.primitive;
    match primitive.kind() {
        _ if matches!(primitive.name(), "f2" | "c4") => Some("this program uses no floating-point type of two bytes"),
        _ if field.shape.len() > 15 => Some("Fortran arrays have at most 15 dimensions"),
        _ => None,
    }
}

fn generate_code(plan: &CodePlan) -> String {
    let spelling = ExprSyntax {
        suffix: "_int64",
        start: "f%start",
        prefix: String::new(),
        max: "max({0}, {1})".into(),
        choice: "merge({1}, {2}, {0} > 0)",
    };
    let mut fields = String::new();
    for field in &plan.fields {
        let (ty, zero) = to_fortran_datatype(field.primitive);
        let comment: String = plan.print_field_comment(field).chars().take(90).collect();
        let _ = writeln!(fields, "    ! {comment}");
        if let Some(comment) = type_comment(field.primitive) {
            let _ = writeln!(fields, "    ! ({comment})");
        }
        if field.shape.is_empty() {
            let _ = writeln!(fields, "    {ty} :: {} = {zero}", field.name);
        } else {
            let dims = vec![":"; field.shape.len()].join(", ");
            let _ = writeln!(fields, "    {ty}, allocatable :: {}({dims})", field.name);
        }
    }
    let kinds: String = ["int8", "int16", "int32", "int64", "real32", "real64"]
        .into_iter()
        .filter(|kind| matches!(*kind, "int8" | "int64") || fields.contains(&format!("({kind})")))
        .collect::<Vec<_>>()
        .join(", ");
    let signature: Vec<String> = plan.signature().iter().map(|byte| format!("char({byte})")).collect();
    let template = HELPERS.replace("NAME", &plan.name).replace("KINDS", &kinds);
    let mut out = plan.fill_helper_template(&template, &signature.join(" // "), &fields);
    push_writer(plan, &spelling, &mut out);
    push_reader(plan, &spelling, &mut out);
    let _ = writeln!(out, "end module {}_layout", plan.name);
    out
}

/// A statement, continued on further lines if it is long: a line has at most 132 characters.
fn push_statement(out: &mut String, statement: &str) {
    let mut rest = statement;
    let mut pad = "    ";
    while rest.len() > 100 {
        let cut = rest.get(..100).and_then(|head| head.rfind(", ")).map_or(rest.len(), |at| at + 2);
        let (head, tail) = rest.split_at(cut);
        if tail.is_empty() {
            break;
        }
        let _ = writeln!(out, "{pad}{head}&");
        (rest, pad) = (tail, "      ");
    }
    let _ = writeln!(out, "{pad}{rest}");
}

/// Declares the variables of a program.
fn push_variable_declarations(program: &super::CodeProgram, out: &mut String) {
    for op in &program.ops {
        let var = match op {
            Op::Let(var, _) => Some(*var),
            Op::Param { var, .. } => *var,
            Op::Array(_) => None,
        };
        if let Some(name) = var.and_then(|var| program.vars.get(var)) {
            let _ = writeln!(out, "    integer(int64) :: {name}");
        }
    }
}

/// `run in bytes, bytes of a number, loops, order`
fn print_block_arguments(array: &FieldMove, field: &CodeField, spelling: &ExprSyntax, vars: &[String]) -> String {
    let run = spelling.print_expr(vars, &array.run.clone().times(super::Expr::Const(field.primitive.size() as i64)));
    let loops: Vec<String> = array
        .loops
        .iter()
        .flat_map(|(count, stride)| [spelling.print_expr(vars, count), spelling.print_expr(vars, stride)])
        .collect();
    let loops = if loops.is_empty() { "none".to_owned() } else { format!("[{}]", loops.join(", ")) };
    format!("{run}, {}, {loops}, '{}'", byte_swap_width(field.primitive), order_letter(array.order))
}

fn push_writer(plan: &CodePlan, spelling: &ExprSyntax, out: &mut String) {
    let (name, vars) = (&plan.name, &plan.write.vars);
    let _ = writeln!(
        out,
        "\n  ! Writes a file; error is blank if that succeeded.\n  subroutine {name}_write(path, v, error)\n    character(len=*), intent(in) :: path\n    type({name}_data), intent(in) :: v\n    character(len=*), intent(out) :: error\n    type(stream) :: f"
    );
    push_variable_declarations(&plan.write, out);
    out.push_str("    call create(f, path)\n");
    for op in &plan.write.ops {
        match op {
            Op::Let(var, expr) => {
                push_statement(out, &format!("{} = {}", var_name(vars, *var), spelling.print_expr(vars, expr)));
            }
            Op::Param { field, at, order, var } => {
                let Some(field) = plan.fields.get(*field) else { continue };
                push_param_check(field, var.and_then(|var| vars.get(var)), out);
                let size = field.primitive.size();
                let (at, order) = (spelling.print_expr(vars, at), order_letter(*order));
                push_statement(
                    out,
                    &format!(
                        "call put(f, '{0}', {at}, transfer(v%{0}, [0_int8]), {size}_int64, {size}, none, '{order}')",
                        field.name
                    ),
                );
            }
            Op::Array(array) => {
                let Some(field) = plan.fields.get(array.field) else { continue };
                let (at, blocks) = (spelling.print_expr(vars, &array.at), print_block_arguments(array, field, spelling, vars));
                let field_name = &field.name;
                if !field.shape.is_empty() {
                    push_statement(
                        out,
                        &format!("if (.not. allocated(v%{field_name})) call fail(f, '{field_name} is not allocated')"),
                    );
                    out.push_str("    if (f%error == '') then\n");
                }
                let value = if field.primitive.kind() == PrimitiveKind::Bool {
                    let flags = format!("merge(1_int8, 0_int8, v%{field_name})");
                    if field.shape.is_empty() {
                        format!("[{flags}]")
                    } else {
                        format!("reshape({flags}, [size(v%{field_name})])")
                    }
                } else {
                    format!("transfer(v%{field_name}, [0_int8])")
                };
                push_statement(out, &format!("call put(f, '{field_name}', {at}, {value}, {blocks})"));
                if !field.shape.is_empty() {
                    out.push_str("    end if\n");
                }
            }
        }
    }
    let total = spelling.print_expr(vars, &plan.total);
    if let Some(text) = &plan.layout {
        let _ = writeln!(out, "    call begin_layout(f, {total})");
        for piece in text_pieces(text) {
            push_text_calls(piece, out);
        }
        out.push_str("    call end_layout(f)\n");
    } else {
        let _ = writeln!(out, "    call fill(f, {total})");
    }
    let _ = writeln!(out, "    call close_file(f, error)\n  end subroutine {name}_write");
}

/// Writes bytes of the layout: printable characters as literals, the others by their number.
fn push_text_calls(bytes: &[u8], out: &mut String) {
    let is_plain = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let length = rest.iter().position(|&byte| is_plain(byte) != is_plain(first)).unwrap_or(rest.len());
        let length = if is_plain(first) { length } else { length.min(8) };
        let (part, tail) = rest.split_at(length);
        if is_plain(first) {
            let text: String = part.iter().map(|&byte| char::from(byte)).collect();
            let _ = writeln!(out, "    call text(f, '{}')", text.replace('\'', "''"));
        } else {
            let codes: Vec<String> = part.iter().map(|byte| format!("char({byte})")).collect();
            let _ = writeln!(out, "    call text(f, {})", codes.join(" // "));
        }
        rest = tail;
    }
}

fn push_param_check(field: &CodeField, var: Option<&String>, out: &mut String) {
    let name = &field.name;
    let value = match (field.primitive.kind(), field.primitive.size()) {
        (PrimitiveKind::Signed, _) => format!("int(v%{name}, int64)"),
        // The highest bit of an unsigned number is not a sign.
        (_, 8) => format!("merge(v%{name}, -2_int64, v%{name} >= 0)"),
        (_, size) => format!("iand(int(v%{name}, int64), {}_int64)", (1u64 << (8 * size)) - 1),
    };
    push_statement(out, &format!("call check(f, {value})"));
    if let Some(var) = var {
        push_statement(out, &format!("{var} = {value}"));
    }
}

fn push_reader(plan: &CodePlan, spelling: &ExprSyntax, out: &mut String) {
    let (name, vars) = (&plan.name, &plan.read.vars);
    let _ = writeln!(
        out,
        "\n  ! Reads a file; error is blank if that succeeded.\n  subroutine {name}_read(path, v, error)\n    character(len=*), intent(in) :: path\n    type({name}_data), intent(out) :: v\n    character(len=*), intent(out) :: error\n    type(stream) :: f\n    integer(int8), allocatable :: b(:)"
    );
    push_variable_declarations(&plan.read, out);
    out.push_str("    call open_file(f, path)\n");
    for op in &plan.read.ops {
        match op {
            Op::Let(var, expr) => {
                push_statement(out, &format!("{} = {}", var_name(vars, *var), spelling.print_expr(vars, expr)));
            }
            Op::Param { field, at, order, var } => {
                let Some(field) = plan.fields.get(*field) else { continue };
                let size = field.primitive.size();
                let (at, order) = (spelling.print_expr(vars, at), order_letter(*order));
                push_statement(out, &format!("call get(f, {at}, b, {size}_int64, {size}, none, '{order}')"));
                push_statement(out, &format!("if (f%error == '') v%{0} = transfer(b, v%{0})", field.name));
                push_param_check(field, var.and_then(|var| vars.get(var)), out);
            }
            Op::Array(array) => {
                let Some(field) = plan.fields.get(array.field) else { continue };
                let (at, blocks) = (spelling.print_expr(vars, &array.at), print_block_arguments(array, field, spelling, vars));
                push_statement(out, &format!("call get(f, {at}, b, {blocks})"));
                out.push_str("    if (f%error == '') then\n");
                let is_bool = field.primitive.kind() == PrimitiveKind::Bool;
                if field.shape.is_empty() {
                    let value = if is_bool { "b(1) /= 0_int8".to_owned() } else { format!("transfer(b, v%{})", field.name) };
                    push_statement(out, &format!("  v%{} = {value}", field.name));
                } else {
                    // Fortran counts the fastest dimension first.
                    let dims: Vec<String> =
                        array.dims.iter().rev().map(|dim| spelling.print_expr(vars, &dim.clone().into_factor())).collect();
                    let value = if is_bool {
                        "b /= 0_int8".to_owned()
                    } else {
                        format!("transfer(b, [{}])", to_fortran_datatype(field.primitive).1)
                    };
                    push_statement(
                        out,
                        &format!("  allocate (v%{}, source=reshape({value}, [{}]))", field.name, dims.join(", ")),
                    );
                }
                out.push_str("    end if\n");
            }
        }
    }
    let _ = writeln!(out, "    call close_file(f, error)\n  end subroutine {name}_read");
}
