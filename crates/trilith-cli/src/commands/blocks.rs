//! `trilith blocks FILE`: the stored pieces of a file and where they are.

use clap::Args;
use serde_json::json;
use trilith::asdf::AsdfFile;
use trilith::dudley::DudleyFile;
use trilith::file::ArrayEntry;
use trilith::layout::{Entry, EntryKind};
use trilith::{File, Result};

use super::info::asdf::{block_json, block_table};
use crate::Outcome;
use crate::json::datatype_text;
use crate::options::Options;
use crate::output::{Out, Table};

/// List the blocks of a file, or the items of a Dudley stream
#[derive(Debug, Args)]
pub struct Blocks {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    file: String,
}

impl Blocks {
    /// Prints the list.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let file = options.open_file(&self.file)?;
        let mut out = Out::new();
        match (file.as_asdf(), file.as_dudley()) {
            (Some(file), _) => self.blocks(&mut out, file, options)?,
            (_, Some(file)) => self.entries(&mut out, file, options)?,
            _ => self.arrays(&mut out, &file, options)?,
        }
        options.warn_all(file.warnings());
        out.finish()?;
        Ok(Outcome::Yes)
    }

    fn blocks(&self, out: &mut Out, file: &AsdfFile, options: &Options) -> Result<()> {
        let blocks = file.sections().blocks()?;
        if !options.json {
            return block_table(file, &blocks, usize::MAX).print(out);
        }
        let base = file.container().map_or(0, |container| container.offset);
        let list: Vec<_> = blocks.iter().map(|block| block_json(file, block, base)).collect();
        out.json(&json!({"file": self.file, "blocks": list}))
    }

    /// The items of a stream, parameters among them.
    fn entries(&self, out: &mut Out, file: &DudleyFile, options: &Options) -> Result<()> {
        let items = file.items()?;
        let place = |entry: &Entry| entry.address.and_then(|address| address.checked_add(file.base()));
        if options.json {
            let mut list = Vec::new();
            for entry in items.entries() {
                let entry = entry?;
                let mut value = json!({
                    "path": entry.path, "kind": entry.kind.name(), "address": entry.address, "offset": place(&entry),
                    "datatype": entry.datatype, "shape": entry.shape, "nbytes": entry.nbytes,
                });
                if let (EntryKind::Param, Some(object)) = (entry.kind, value.as_object_mut()) {
                    object.insert("value".to_owned(), json!(entry.value));
                }
                list.push(value);
            }
            return out.json(&json!({"file": self.file, "items": list}));
        }
        let mut table = Table::new(&[">byte", ">bytes", "datatype", "shape", "item"]);
        for entry in items.entries() {
            let entry = entry?;
            let value = entry.value.map_or(String::new(), |value| format!(" = {value}"));
            let shape = format!("{:?}", entry.shape);
            let item = format!("{}{value}", entry.path);
            table.row(vec![number(place(&entry)), number(entry.nbytes), entry.datatype, shape, item]);
        }
        table.print(out)
    }

    /// The arrays of any other file.
    fn arrays(&self, out: &mut Out, file: &File, options: &Options) -> Result<()> {
        let mut table = Table::new(&[">byte", ">bytes", "datatype", "shape", "item"]);
        let mut list = Vec::new();
        for ArrayEntry { path, item } in file.arrays()? {
            let found = item?.describe()?;
            let kind = datatype_text(&found.datatype);
            list.push(json!({
                "path": path, "kind": "array", "offset": found.offset, "datatype": kind, "shape": found.shape, "nbytes": found.nbytes,
            }));
            table.row(vec![number(found.offset), number(found.nbytes), kind, format!("{:?}", found.shape), path]);
        }
        if options.json { out.json(&json!({"file": self.file, "items": list})) } else { table.print(out) }
    }
}

fn number(n: Option<u64>) -> String {
    n.map_or_else(|| "-".to_owned(), |n| n.to_string())
}
