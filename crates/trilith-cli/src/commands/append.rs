//! `trilith append FILE#/table ROWS.npy`: rows added to a streamed array.

use clap::Args;
use serde_json::json;
use trilith::Result;
use trilith::array::Array;
use trilith::asdf::append_rows;
use trilith::dudley::append_records;
use trilith::file::AnyFile;

use crate::Outcome;
use crate::item::Item;
use crate::options::Options;
use crate::outputs::told;

/// Add rows to a streamed array, at the end of its file; a crash leaves the old rows
///
/// The array may lie in an exploded file: its rows are added there. In a native Dudley file the path is
/// that of a list, which gets each row as one more of its last item, or that of an array that lies last and
/// whose first dimension is a stored parameter, such as `"" = {…}[NREC]` (`x.bd#/""`).
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
                let count = rows.shape().first().copied().unwrap_or(0);
                let report = json!({"file": item.file, "added": count, "size": size});
                let line = format!("{}: {count} records added, {}", item.file, crate::output::size(size));
                told(&item.file, &report, &line, options)?;
                return Ok(Outcome::Yes);
            }
        };
        let rows = Array::from_npy(options.open(&self.rows)?, &options.limits()?)?;
        let name = append_rows(&file, item.path(), &rows)?;
        let count = rows.shape().first().copied().unwrap_or(0);
        told(&name, &json!({"file": name, "added": count}), &format!("{name}: {count} rows added"), options)?;
        Ok(Outcome::Yes)
    }
}
