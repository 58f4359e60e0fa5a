//! Rows added to a streamed array, at the end of its file.
//!
//! A streamed block states no size (ASDF 1.x, "Streamed block"): bytes that are appended to the file belong to it.
//! The file is journalled, so that a crash leaves the old rows.

use super::asdf_file::AsdfFile;
use super::block::Block;
use super::ndarray::{Ndarray, ShapeDimension};
use super::{ndarray, walk};
use crate::array::{Array, Byteorder, Datatype, Mask, element_count};
use crate::bytes::{FileUpdate, SourceRef, is_detached};
use crate::error::{Error, Result};

/// Adds rows to the streamed array at a tree path, in this file or in another file that stores it. Returns the name of the file
/// that grew. `rows` must have the datatype of the array and the shape of its rows.
///
/// # Errors
/// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the path leads nowhere, and
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it leads to no array, if the block is not streamed, and for
/// rows that do not fit. Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for rows with a mask,
/// and if the array has a mask with an entry for each of its rows. Returns
/// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if an unfinished row is at the end. Returns
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if writing fails, and the file is then unchanged.
pub fn append_rows(file: &AsdfFile, path: &str, rows: &Array) -> Result<String> {
    let end = StreamEnd::find_at_path(file, path)?;
    end.check_row_format(rows.datatype(), rows.shape().get(1..)).map_err(|error| error.at_path(path))?;
    rows.check_unmasked("a streamed array").map_err(|error| error.at_path(path))?;
    let (mut update, mut at) = (FileUpdate::new(), end.offset);
    rows.for_each_piece_in(end.order, 4 << 20, &mut |piece| {
        update.write_piece(at, piece)?;
        at += piece.len() as u64;
        Ok(())
    })?;
    let name = end.source.name().to_owned();
    update.commit(&*end.source)?;
    Ok(name)
}

/// The way to more rows in a FITS file.
const FITS_HINT: &str = "convert the FITS file to ASDF, and stream the array there";

/// The end of a streamed array, where more rows go.
pub(crate) struct StreamEnd {
    /// The array before the change.
    pub array: Array,
    /// The byte order in which rows are stored.
    pub order: Byteorder,
    /// The file that grows: this one, or the one that stores the block.
    pub source: SourceRef,
    /// Length of the file, which is the end of the last row.
    pub offset: u64,
}

impl StreamEnd {
    /// Finds the end of the stream that holds the array at a tree path.
    ///
    /// # Errors
    /// Returns the errors of [`append_rows`].
    pub(crate) fn find_at_path(file: &AsdfFile, path: &str) -> Result<Self> {
        let found = walk::find(file, path)?;
        let node = found.node(file);
        if !ndarray::is_ndarray(node) {
            let error = Error::invalid_input("rows are added to an ndarray, and this is none").at_path(path);
            return Err(match file.fits_file() {
                Some(_) => error.hint(FITS_HINT),
                None => error.hint("name a streamed array: FILE#/path; `trilith tree FILE` lists them"),
            });
        }
        let holder = found.file(file);
        if ndarray::is_chunked(node) {
            return Err(Error::unsupported("rows are not added to an array in chunks").at_path(path));
        }
        let source =
            node.get("source").ok_or_else(|| Error::invalid_input("an inline array has no rows to add to").at_path(path))?;
        if source.text().starts_with("fits:") {
            return Err(Error::unsupported("rows cannot be added to an HDU of a FITS file").at_path(path).hint(FITS_HINT));
        }
        let outer;
        let (holder, number) = match source.as_i64() {
            Some(number) => (holder, number),
            None => {
                outer = holder.external_files(&source.text())?;
                (&*outer, 0)
            }
        };
        let block = holder.sections().block(number)?;
        check_growable(holder, block).map_err(|error| error.at_path(path))?;
        if let Some(dims) = Ndarray::parse(node, file.limits())?.shape
            && dims.first() != Some(&ShapeDimension::Streamed)
        {
            return Err(Error::invalid_input("the shape of the array is fixed, so that it would not show more rows")
                .at_path(path)
                .hint("let its shape begin with '*'"));
        }
        let array = found.file(file).stored_array(node)?;
        if let Some(Mask::Array(mask)) = array.mask()
            && mask.strides().first() != Some(&0)
        {
            return Err(Error::unsupported("the array has a mask of its rows, which would not fit more of them")
                .at_path(path)
                .hint("rewrite the array, with all rows and their mask"));
        }
        let order = stored_order(&array).map_err(|error| error.at_path(path))?;
        // Half a row at the end, left by a killed writer, would shift the following ones.
        let row = row_bytes(array.datatype(), array.shape().get(1..).unwrap_or_default())?;
        let whole = block.data_offset + array.nbytes();
        let source = holder.sections().source().clone();
        let at = source.len();
        if at != whole {
            let message = format!("the last {} bytes are an unfinished row of {row}", at - whole);
            return Err(Error::malformed(message).at_byte(whole));
        }
        Ok(Self { array, order, source, offset: at })
    }

    /// Refuses rows of another datatype or shape than those that are there.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the rows do not fit.
    pub(crate) fn check_row_format(&self, datatype: &Datatype, row_shape: Option<&[u64]>) -> Result<()> {
        let array = &self.array;
        if array.datatype().is_equivalent(datatype) && array.shape().get(1..) == row_shape {
            return Ok(());
        }
        let shape = |shape: &[u64]| match shape {
            [] => String::new(),
            lengths => format!(" of shape {lengths:?}"),
        };
        Err(Error::invalid_input(format!(
            "rows of {datatype}{} do not fit an array with rows of {}{}",
            shape(row_shape.unwrap_or_default()),
            array.datatype(),
            shape(array.shape().get(1..).unwrap_or_default()),
        )))
    }
}

/// Returns the number of bytes of one row.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for rows without bytes, because their number could not be
/// told.
pub(crate) fn row_bytes(datatype: &Datatype, row_shape: &[u64]) -> Result<u64> {
    let bytes = element_count(row_shape)?.checked_mul(datatype.item_size());
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| Error::invalid_input(format!("rows of {datatype} with the shape {row_shape:?} have no bytes")))
}

/// Checks that a block can take more rows at the end of its file.
fn check_growable(holder: &AsdfFile, block: &Block) -> Result<()> {
    if !block.is_streamed() {
        return Err(Error::invalid_input("the array is not streamed, so that its block cannot grow")
            .hint("write it as the streamed last block first"));
    }
    // A streamed block grows with its file, which must end with it.
    if is_detached(&**holder.sections().source()) {
        return Err(Error::unsupported(
            "rows cannot be added to a file inside a FITS file, or one that was compressed as a whole",
        )
        .hint("convert writes it as a separate file"));
    }
    if block.checksum.is_some() {
        return Err(Error::invalid_input("the streamed block states a checksum, which more rows would make wrong")
            .hint("first rewrite the file with trilith repack, which leaves the checksum out"));
    }
    Ok(())
}

/// The byte order in which rows go after those of an array.
fn stored_order(array: &Array) -> Result<Byteorder> {
    if !array.is_c_contiguous() || array.byte_range().start != 0 {
        return Err(Error::invalid_input("rows can only be added to an array that fills its block in C order"));
    }
    one_order(array.datatype(), array.byteorder())
        .ok_or_else(|| Error::unsupported("rows whose fields have different byte orders"))
}

/// The byte order of all fields, if they have the same.
fn one_order(datatype: &Datatype, order: Byteorder) -> Option<Byteorder> {
    let Datatype::Struct(structure) = datatype else { return Some(order) };
    // Structures nest no deeper than the library allows, so this recursion is bounded.
    let mut orders = structure.fields().iter().map(|field| one_order(&field.datatype, field.byteorder));
    let first = orders.next()??;
    orders.all(|order| order == Some(first)).then_some(first)
}
