//! `trilith describe FILE#/p`: what schemas say about a node.

use clap::Args;
use serde_json::json;
use trilith::{Error, Result};
use trilith::check::{SchemaDescription, Validator, kind_of};
use trilith::tree::TreePath;

use super::schema::SchemaSources;
use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::item_arg::ItemArg;
use crate::advice::error_with_advice;
use crate::session::{FileRole, Session, name_file};
use crate::output::eprint_line;

/// Show the descriptions of a node in its schemas: title, description, rules
#[derive(Debug, Args)]
pub(crate) struct Describe {
    /// The file and the path of the node
    #[arg(value_name = "FILE#/PATH", value_parser = strip_mark)]
    item: String,
    #[command(flatten)]
    sources: SchemaSources,
}

impl Describe {
    /// Prints it.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let item = ItemArg::parse(&self.item);
        let limits = session.limits();
        let file = session.open(&item.file, FileRole::Tree)?;
        let missing = file.item(item.path()).err();
        let file = file.into_asdf()?;
        let path = TreePath::parse(item.path())?;
        let Some(node) = file.tree().find(&path) else {
            let error = missing.unwrap_or_else(|| Error::not_found(format!("there is no {}", item.path())));
            eprint_line(&format!("trilith: {}", error_with_advice(&name_file(error, &item.file))));
            return Ok(Outcome::Negative);
        };
        let mut validator = Validator::new(self.sources.load_schemas(limits)?).with_limits(limits.clone());
        let found = validator.describe(file.tree(), &path, file.standard().as_deref())?;
        let one = |d: &SchemaDescription| json!({"schema": d.schema, "title": d.title, "description": d.text, "rule": d.requirement});
        let document = || {
            let list: Vec<_> = found.iter().map(one).collect();
            json!({"file": item.file, "path": path.to_string(), "kind": kind_of(node), "tag": node.tag(), "schemas": list})
        };
        session.print_json_or_text(document, |out| {
            out.write_line(&format!("{}: {}{}", self.item, kind_of(node), node.tag().map_or(String::new(), |tag| format!(", {tag}"))))?;
            for description in &found {
                if !description.title.is_empty() {
                    out.write_line(&description.title)?;
                }
                if !description.text.is_empty() {
                    out.write_line(&format!("  {}", description.text))?;
                }
                if !description.requirement.is_empty() {
                    out.write_line(&format!("  rule: {}", description.requirement))?;
                }
                out.write_line(&format!("  by {}", description.schema))?;
            }
            if found.is_empty() {
                out.write_line("no schema describes it")?;
            }
            Ok(())
        })?;
        Ok(if found.is_empty() { Outcome::Negative } else { Outcome::Success })
    }
}
