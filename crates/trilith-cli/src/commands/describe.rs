//! `trilith describe FILE#/p`: what schemas say about a node.

use clap::Args;
use serde_json::json;
use trilith::Result;
use trilith::check::{Description, Validator, kind_of};
use trilith::tree::TreePath;

use super::schema::Sources;
use crate::Outcome;
use crate::item_arg::Item;
use crate::options::Options;
use crate::output::note;

/// Show the descriptions of a node in its schemas: title, description, rules
#[derive(Debug, Args)]
pub(crate) struct Describe {
    /// The file and the path of the node
    #[arg(value_name = "FILE#/PATH", allow_hyphen_values = true)]
    item: String,
    #[command(flatten)]
    sources: Sources,
}

impl Describe {
    /// Prints it.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        let item = Item::parse(&self.item);
        let limits = options.limits()?;
        let file = options.open_asdf(&item.file)?;
        let path = TreePath::parse(item.path())?;
        let Some(node) = file.tree().find(&path) else {
            note(&format!("trilith: {} has no {}", item.file, item.path()));
            return Ok(Outcome::No);
        };
        let mut validator = Validator::new(self.sources.load(&limits)?).with_limits(limits);
        let found = validator.describe(file.tree(), &path, file.standard().as_deref())?;
        let one = |d: &Description| json!({"schema": d.schema, "title": d.title, "description": d.text, "rule": d.rule});
        let document = || {
            let list: Vec<_> = found.iter().map(one).collect();
            json!({"file": item.file, "path": path.to_string(), "kind": kind_of(node), "tag": node.tag(), "schemas": list})
        };
        options.print(document, |out| {
            out.line(&format!("{}: {}{}", self.item, kind_of(node), node.tag().map_or(String::new(), |tag| format!(", {tag}"))))?;
            for description in &found {
                if !description.title.is_empty() {
                    out.line(&description.title)?;
                }
                if !description.text.is_empty() {
                    out.line(&format!("  {}", description.text))?;
                }
                if !description.rule.is_empty() {
                    out.line(&format!("  rule: {}", description.rule))?;
                }
                out.line(&format!("  by {}", description.schema))?;
            }
            if found.is_empty() {
                out.line("no schema describes it")?;
            }
            Ok(())
        })?;
        Ok(if found.is_empty() { Outcome::No } else { Outcome::Yes })
    }
}
