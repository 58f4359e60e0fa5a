//! `trilith append FILE#/table ROWS.npy`: rows added to a streamed array.

use clap::Args;
use trilith::array::{Array, Byteorder, Datatype};
use trilith::asdf::{ndarray, walk};
use trilith::bytes::Journal;
use trilith::dudley::append_records;
use trilith::file::AnyFile;
use trilith::{Error, Result};

use crate::Outcome;
use crate::item::Item;
use crate::options::Options;
use crate::output::note;

/// Add rows to a streamed array, at the end of its file; a crash leaves the old rows
///
/// The array may lie in an exploded file: its rows are added there. In a native Dudley file the path is
/// that of a list, which gets each row as one more of its last item.
#[derive(Debug, Args)]
pub struct Append {
    /// The file and the path of a streamed array
    #[arg(value_name = "FILE#/path", allow_hyphen_values = true)]
    item: String,
    /// The rows, as a .npy file of the same datatype and row shape
    #[arg(value_name = "ROWS.npy")]
    rows: String,
}

impl Append {
    /// Adds the rows.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let item = Item::parse(&self.item);
        let file = match options.open_any(&item.file)? {
            AnyFile::Asdf(file) => file,
            AnyFile::Dudley(file) => {
                // Closed before it is written: another may have to undo an update first.
                drop(file);
                let rows = Array::from_npy(options.open(&self.rows)?, &options.limits()?)?;
                let size = append_records(std::path::Path::new(&item.file), item.path(), &rows, &options.limits()?)?;
                if !options.quiet {
                    note(&format!("{}: {} records added, {}", item.file, rows.shape().first().unwrap_or(&0), crate::output::size(size)));
                }
                return Ok(Outcome::Yes);
            }
        };
        let found = walk::find(&file, item.path())?;
        let node = found.node(&file);
        if !ndarray::is_ndarray(node) {
            return Err(Error::usage("this is no ndarray").at_path(item.path()));
        }
        let holder = found.file(&file);
        let source =
            node.get("source").ok_or_else(|| Error::usage("an inline array has no rows to add to").at_path(item.path()))?;
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
                .at_path(item.path())
                .hint("write it as the streamed last block first"));
        }
        let array = found.file(&file).array(node)?;
        let rows = Array::from_npy(options.open(&self.rows)?, &options.limits()?)?;
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
            return Err(Error::usage("rows can only be added to an array that fills its block in C order").at_path(item.path()));
        }
        let order = one_order(array.datatype(), array.byteorder())
            .ok_or_else(|| Error::unsupported("rows whose fields have different byte orders").at_path(item.path()))?;
        // Half a row at the end, left by a killed writer, would shift all that follow.
        let row = array.nbytes().checked_div(array.shape().first().copied().unwrap_or(0)).unwrap_or(0);
        let whole = block.data_offset + array.nbytes();
        let mut update = Journal::begin(holder.sections().source().name(), &[])?;
        let mut at = update.old_len();
        if at != whole {
            update.roll_back()?;
            return Err(
                Error::malformed(format!("{} bytes of an unfinished row of {row} stand at the end", at - whole)).at_byte(whole)
            );
        }
        let done = rows.pieces(order, 4 << 20, &mut |piece| {
            let here = at;
            at += piece.len() as u64;
            update.write_at(here, piece)
        });
        match done {
            Ok(()) => update.commit()?,
            Err(error) => {
                update.roll_back()?;
                return Err(error);
            }
        }
        if !options.quiet {
            note(&format!("{}: {} rows added", holder.sections().source().name(), rows.shape().first().unwrap_or(&0)));
        }
        Ok(Outcome::Yes)
    }
}

/// The byte order of all fields, where they have the same.
fn one_order(datatype: &Datatype, order: Byteorder) -> Option<Byteorder> {
    let Datatype::Struct(structure) = datatype else { return Some(order) };
    // Structures nest no deeper than the library allows, so this recursion is bounded.
    let mut orders = structure.fields().iter().map(|field| one_order(&field.datatype, field.byteorder));
    let first = orders.next()??;
    orders.all(|order| order == Some(first)).then_some(first)
}
