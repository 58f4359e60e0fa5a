//! `trilith layout locate LAYOUT --catalog C ITEM`: the byte offset of an item in each file of a file set.

use clap::Args;
use serde_json::json;
use trilith::{Error, Result};

use super::LayoutArg;
use crate::outcome::Outcome;
use crate::json::{datatype_json, datatype_text};
use crate::session::{FileRole, Session};
use crate::output::TextTable;
use crate::advice::error_with_advice;

/// Find an item in every file of a file set, without opening the files
///
/// The catalog is a Dudley file with `files` (strings, a name for each file) and `records` (the values of the summary
/// block for each file, or a vector of all stored parameters).
#[derive(Debug, Args)]
pub(super) struct Locate {
    #[command(flatten)]
    input: LayoutArg,
    /// The catalog that lists the files and their parameters (default: FILE.dud, if it is one)
    #[arg(long, value_name = "C.bd")]
    catalog: Option<String>,
    /// The path of the item, such as /group/list[3]/x or /records.time
    #[arg(value_name = "ITEM")]
    item: String,
    /// The files have no signature: offset 0 is their first byte
    #[arg(long)]
    raw: bool,
}

impl Locate {
    /// Prints a line for each file.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let catalog = match &self.catalog {
            Some(catalog) => catalog,
            None if self.input.read_catalog(session)?.is_some() => &self.input.file,
            None => {
                let message = format!("{} is not a catalog that contains the layout of its files", self.input.file);
                return Err(Error::invalid_input(message).hint("name the catalog with --catalog"));
            }
        };
        let Some(layout) = self.input.load_template(session)? else { return Ok(Outcome::Negative) };
        let file = session.open(catalog, FileRole::FileSet { layout: Some(&layout), is_raw: self.raw })?;
        let Some(family) = file.as_family() else { return Err(Error::invalid_input(format!("{catalog} is not a catalog"))) };
        let mut list = Vec::new();
        let mut table = TextTable::new(&["<file", ">byte", "datatype", "shape", "byteorder"]);
        let (mut missing, mut count) = (0, 0);
        let located = family.locate(&self.item, &mut |place| {
            count += 1;
            let Some(described) = place.description()? else {
                missing += 1;
                if session.args.json {
                    list.push(json!({"file": place.file, "offset": null, "address": null, "datatype": null, "shape": null}));
                }
                return Ok(());
            };
            let (kind, order, shape) = (&described.datatype, described.byteorder, &described.shape);
            let nbytes = shape.iter().try_fold(kind.item_size(), |n, dim| n.checked_mul(*dim));
            if session.args.json {
                let address = place.located.as_ref().and_then(|found| found.address);
                let strides = place.located.as_ref().map(|found| found.strides.get(..shape.len()).unwrap_or(&[]).to_vec());
                list.push(json!({
                    "file": place.file, "offset": place.offset, "address": address, "datatype": datatype_json(kind),
                    "shape": shape, "strides": strides, "nbytes": nbytes,
                    "byteorder": if kind.as_struct().is_some() { None } else { Some(order.name()) },
                }));
            } else {
                let at = place.offset.map_or("-".to_owned(), |at| at.to_string());
                table.push_row(vec![place.file.to_owned(), at, datatype_text(kind), format!("{shape:?}"), order.name().to_owned()]);
            }
            Ok(())
        });
        if let Err(error) = located {
            return super::report_layout_error(error, session);
        }
        let is_unknown = missing > 0 && missing == count;
        if is_unknown && !session.args.json {
            crate::output::eprint_line(&format!("trilith: {}", error_with_advice(&family.no_item(&self.item))));
            return Ok(Outcome::Negative);
        }
        let document = || json!({"layout": self.input.file, "item": self.item, "files": list});
        session.print_json_or_text(document, |out| table.print(out))?;
        Ok(if is_unknown { Outcome::Negative } else { Outcome::Success })
    }
}
