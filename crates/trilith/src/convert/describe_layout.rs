//! A layout for the bytes of an ASDF file: [`describe_layout`].

use std::fmt::Write as _;

use crate::array::{Array, Byteorder, Datatype};
use crate::asdf::ndarray::ElementSource;
use crate::asdf::{AsdfFile, Ndarray, walk};
use crate::dudley::primitive_of;
use crate::error::{Error, Result};
use crate::json_pointer::unescape_key;
use crate::layout::quoted_name;

/// Returns a layout (dialect 2025) whose items are the bytes of the uncompressed blocks of a file of the ASDF
/// family, of any generation. Arrays in compressed or encoded blocks, and those that are not contiguous, are
/// described as their stored bytes, `u1[n]`, with attributes that give their meaning. Arrays without bytes in the
/// file (inline data, other files) are named in comments.
///
/// Offset 0 is the first byte of the file, and every byte order is written out.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a file inside a FITS file, and an error if
/// the tree cannot be read.
pub fn describe_layout(file: &AsdfFile) -> Result<String> {
    if file.container().is_some() {
        return Err(Error::unsupported("files inside FITS are not described as a layout yet"));
    }
    let mut out = String::from("#: dialect=2025\n");
    let _ = writeln!(out, "#: described={}", one_line(file.sections().generation_name()));
    for listed in walk::arrays(file)? {
        let found = match listed.location {
            Ok(found) => found,
            Err(error) => {
                push_comment_line(&mut out, &listed.path, &error.to_string());
                continue;
            }
        };
        let own = std::ptr::eq(found.file(file), file);
        let node = found.node(file);
        let Some(source) = Ndarray::parse(node, file.limits()).ok().filter(|_| own) else {
            push_comment_line(&mut out, &listed.path, "in another file, or broken");
            continue;
        };
        let ElementSource::Block(number) = source.origin else {
            push_comment_line(&mut out, &listed.path, "its elements are not in a block of this file");
            continue;
        };
        let (block, array) = match file.sections().block(number).and_then(|block| Ok((block, file.stored_array(node)?))) {
            Ok(both) => both,
            Err(error) => {
                push_comment_line(&mut out, &listed.path, &error.to_string());
                continue;
            }
        };
        let name = item_path(&listed.path)?;
        let mut spelled = String::new();
        let is_plain = block.is_uncompressed() && array.is_c_contiguous();
        let address = block.data_offset.checked_add(array.byte_range().start);
        if is_plain && let (Some(address), Ok(())) = (address, push_type(&array, &mut spelled)) {
            let _ = writeln!(out, "{name} = {spelled} @{address}");
            if array.mask().is_some() {
                let _ = writeln!(out, "  #: asdf_masked=1");
            }
            continue;
        }
        let _ = writeln!(out, "{name} = u1[{}] @{}", block.stored_len(), block.data_offset);
        if !block.is_uncompressed() {
            let codec = String::from_utf8_lossy(&block.compression).trim_end_matches('\0').to_owned();
            let chain = file.encoding_names(block).map_or(codec, |chain| chain.join("+"));
            let _ = writeln!(out, "  #: asdf_compression={}", one_line(&chain));
        }
        let _ = writeln!(
            out,
            "  #: asdf_datatype={}, asdf_byteorder={}",
            one_line(&array.datatype().to_string()),
            one_line(array.byteorder().name())
        );
        let list = |numbers: Vec<String>| numbers.join(", ");
        if !array.shape().is_empty() {
            let shape = list(array.shape().iter().map(u64::to_string).collect());
            let strides = list(array.strides().iter().map(i64::to_string).collect());
            let _ = writeln!(out, "  #: asdf_shape=[{shape}], asdf_strides=[{strides}], asdf_offset={}", array.offset());
        }
    }
    Ok(out)
}

fn push_comment_line(out: &mut String, path: &str, why: &str) {
    let line: String = format!("{path}: {why}").chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let _ = writeln!(out, "# {line}");
}

/// Text as an attribute: on one line.
fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("\"{}\"", line.replace('\\', "\\\\").replace('"', "\\\""))
}

/// `/a/b/0` as a path from the root dict: `/ a/b/"0"`.
fn item_path(pointer: &str) -> Result<String> {
    let steps: Result<Vec<String>> = pointer
        .split('/')
        .skip(1)
        .map(|step| {
            let name = unescape_key(step);
            if name.contains('\0') {
                return Err(Error::invalid_input("a name holds NUL, which no layout can").at_path(pointer));
            }
            Ok(quoted_name(&name))
        })
        .collect();
    let path = steps?.join("/");
    Ok(if path.is_empty() { "/ \"\"".to_owned() } else { format!("/ {path}") })
}

/// Datatype with byte order, and shape.
fn push_type(array: &Array, out: &mut String) -> Result<()> {
    push_nested_type(array.datatype(), array.byteorder(), array.shape(), out)
}

/// Spells a type at the depth that structs nest. Members are at their offsets.
fn push_nested_type(datatype: &Datatype, order: Byteorder, shape: &[u64], out: &mut String) -> Result<()> {
    let mut dims = shape.to_vec();
    match (primitive_of(datatype)?, datatype) {
        (Some((name, length)), _) => {
            if !name.ends_with('1') {
                out.push(if order == Byteorder::Big { '>' } else { '<' });
            }
            out.push_str(name);
            dims.extend(length.map(u64::from));
        }
        (None, Datatype::Struct(fields)) => {
            out.push('{');
            let mut end = 0;
            for (n, field) in fields.fields().iter().enumerate() {
                let name = field.name_or(n).replace('\\', "\\\\").replace('"', "\\\"");
                let _ = write!(out, "{}\"{name}\" = ", if n == 0 { "" } else { "  " });
                push_nested_type(&field.datatype, field.byteorder, &field.shape, out)?;
                let _ = write!(out, " @{}", field.offset);
                end = end.max(field.offset + field.count().saturating_mul(field.datatype.item_size()));
            }
            if end < fields.item_size() {
                // A record longer than its members.
                let _ = write!(out, "  \"\\\\pad\" = u1[{}] @{end}", fields.item_size() - end);
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
