//! Rows added to a streamed array, at the end of its file.
//!
//! A streamed block has no sizes of its own (ASDF 1.x, "Streamed block"): what is appended to the file
//! belongs to it. The file is journalled, so that a crash leaves the old rows.

use super::ndarray::{Dim, Ndarray};
use super::read::AsdfFile;
use super::{ndarray, walk};
use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::Update;
use crate::error::{Error, Result};

/// Adds rows to the streamed array at a tree path, in this file or in one that holds it; returns the name
/// of the file that grew. `rows` has the datatype of the array and the shape of its rows.
///
/// # Errors
/// [`Kind::Usage`](crate::Kind::Usage) where there is no such array, where its block is not streamed, and for
/// rows that do not fit; [`Kind::Malformed`](crate::Kind::Malformed) where an unfinished row stands at the end;
/// [`Kind::Io`](crate::Kind::Io), after which the file is as it was.
pub fn append_rows(file: &AsdfFile, path: &str, rows: &Array) -> Result<String> {
    let found = walk::find(file, path)?;
    let node = found.node(file);
    if !ndarray::is_ndarray(node) {
        return Err(Error::usage("this is not an ndarray").at_path(path));
    }
    let holder = found.file(file);
    let source = node.get("source").ok_or_else(|| Error::usage("an inline array has no rows to add to").at_path(path))?;
    if source.text().starts_with("fits:") {
        return Err(Error::unsupported("rows cannot be added to an HDU of a FITS file")
            .at_path(path)
            .hint("convert the FITS file to ASDF, and stream the array there"));
    }
    let outer;
    let (holder, number) = match source.as_i64() {
        Some(number) => (holder, number),
        None => {
            outer = holder.external(&source.text())?;
            (&*outer, 0)
        }
    };
    let block = holder.sections().block(number)?;
    if !block.is_streamed() {
        return Err(Error::usage("the array is not streamed, so that its block cannot grow")
            .at_path(path)
            .hint("write it as the streamed last block first"));
    }
    // A streamed block grows with its file, which must end with it.
    if holder.sections().source().is_apart() {
        return Err(Error::unsupported("rows cannot be added where the file lies in a FITS file or was compressed as a whole")
            .at_path(path)
            .hint("convert writes it as a file of its own"));
    }
    if block.checksum.is_some() {
        return Err(Error::usage("the streamed block states a checksum, which more rows would make wrong")
            .at_path(path)
            .hint("write the file anew first with trilith repack, which leaves the checksum out"));
    }
    if let Some(dims) = Ndarray::read(node, file.limits())?.shape
        && dims.first() != Some(&Dim::Open)
    {
        return Err(Error::usage("the shape of the array is fixed, so that it would not show more rows")
            .at_path(path)
            .hint("let its shape begin with '*'"));
    }
    let array = found.file(file).array(node)?;
    let order = fitting(&array, rows).map_err(|error| error.at_path(path))?;
    // Half a row at the end, left by a killed writer, would shift all that follow.
    let row = array.nbytes().checked_div(array.shape().first().copied().unwrap_or(0)).unwrap_or(0);
    let whole = block.data_offset + array.nbytes();
    let name = holder.sections().source().name().to_owned();
    let source = holder.sections().source();
    let end = source.len();
    if end != whole {
        return Err(
            Error::malformed(format!("{} bytes of an unfinished row of {row} stand at the end", end - whole)).at_byte(whole)
        );
    }
    let (mut update, mut at) = (Update::new(), end);
    rows.pieces(order, 4 << 20, &mut |piece| {
        update.put(at, piece)?;
        at += piece.len() as u64;
        Ok(())
    })?;
    update.commit(&**source)?;
    Ok(name)
}

/// The byte order in which rows go behind those of an array.
fn fitting(array: &Array, rows: &Array) -> Result<Byteorder> {
    if !array.datatype().means(rows.datatype()) || array.shape().get(1..) != rows.shape().get(1..) {
        return Err(Error::usage(format!(
            "rows of {} {:?} do not fit an array of {} {:?}",
            rows.datatype(),
            rows.shape(),
            array.datatype(),
            array.shape()
        )));
    }
    if !array.is_c_contiguous() || array.extent().start != 0 {
        return Err(Error::usage("rows can only be added to an array that fills its block in C order"));
    }
    one_order(array.datatype(), array.byteorder())
        .ok_or_else(|| Error::unsupported("rows whose fields have different byte orders"))
}

/// The byte order of all fields, where they have the same.
fn one_order(datatype: &Datatype, order: Byteorder) -> Option<Byteorder> {
    let Datatype::Struct(structure) = datatype else { return Some(order) };
    // Structures nest no deeper than the library allows, so this recursion is bounded.
    let mut orders = structure.fields().iter().map(|field| one_order(&field.datatype, field.byteorder));
    let first = orders.next()??;
    orders.all(|order| order == Some(first)).then_some(first)
}
