//! `trilith refs FILE`: every `$ref` with what it leads to.

use clap::Args;
use serde_json::json;
use trilith::Result;
use trilith::asdf::walk::{self, Found};

use crate::Outcome;
use crate::options::Options;
use crate::output::{Out, clean};

/// List the references of a file and whether they lead somewhere
#[derive(Debug, Args)]
pub struct Refs {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    file: String,
}

impl Refs {
    /// Prints the list.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let file = options.open_asdf(&self.file)?;
        let mut out = Out::new();
        let mut list = Vec::new();
        let mut outcome = Outcome::Yes;
        let root = Found::root(&file);
        for (path, node) in file.tree().references(file.limits())? {
            let target = node.reference_text().unwrap_or_default();
            let problem = walk::follow(&file, &root.with(node)).err().map(|error| clean(&error.to_string()).into_owned());
            if problem.is_some() {
                outcome = Outcome::No;
            }
            if options.json {
                list.push(json!({"path": path.to_string(), "ref": target, "resolved": problem.is_none(), "problem": problem}));
            } else {
                let state = problem.map_or("found".to_owned(), |problem| format!("not found: {problem}"));
                out.line(&format!("{path} -> {target}  {state}"))?;
            }
        }
        if options.json {
            out.json(&json!({"file": self.file, "references": list}))?;
        }
        out.finish()?;
        Ok(outcome)
    }
}
