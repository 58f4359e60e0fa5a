//! `trilith refs FILE`: every `$ref` and every source in another file, with what it leads to.

use clap::Args;
use serde_json::json;
use trilith::Result;
use trilith::asdf::walk::{self, Found};
use trilith::asdf::{AsdfFile, ndarray};
use trilith::bytes::Base;

use crate::Outcome;
use crate::options::Options;
use crate::output::{Out, clean};
use crate::words::said;

/// List the references of a file ($ref and external sources), and whether they resolve
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
        let (mut references, mut sources) = (Vec::new(), Vec::new());
        let mut outcome = Outcome::Yes;
        let root = Found::root(&file);
        for (path, node) in file.tree().references(file.limits())? {
            let reference = node.reference_text().unwrap_or_default();
            let problem = walk::follow(&file, &root.with(node)).err().map(|error| clean(&said(&error)).into_owned());
            let (uri, fragment) = reference.split_at(reference.find('#').unwrap_or(reference.len()));
            let target = absolute(&file, &self.file, uri, fragment);
            references.push(json!({
                "path": path.to_string(), "ref": reference, "resolved": problem.is_none(), "problem": problem, "target": target,
            }));
            print(&mut out, options, &path.to_string(), &reference, target, problem, &mut outcome)?;
        }
        for (path, source) in external_sources(&file)? {
            let problem = file.external(&source).err().map(|error| clean(&said(&error)).into_owned());
            let target = absolute(&file, &self.file, &source, "");
            sources.push(json!({
                "path": path, "source": source, "resolved": problem.is_none(), "problem": problem, "target": target,
            }));
            print(&mut out, options, &path, &source, target, problem, &mut outcome)?;
        }
        if options.json {
            out.json(&json!({"file": self.file, "references": references, "sources": sources}))?;
        }
        out.finish()?;
        Ok(outcome)
    }
}

/// The sources in other files, each with the path of its array.
fn external_sources(file: &AsdfFile) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut walk = file.tree().root().walk(file.limits()).as_written();
    while let Some(visit) = walk.step()? {
        if !visit.node.is_alias() && ndarray::is_ndarray(visit.node)
            && let Some(source) = visit.node.get("source")
            && source.as_i64().is_none()
            && !source.text().starts_with("fits:")
        {
            found.push((walk.path().to_string(), source.text().into_owned()));
        }
    }
    Ok(found)
}

/// What a reference means, wherever it is read.
fn absolute(file: &AsdfFile, name: &str, uri: &str, fragment: &str) -> Option<String> {
    let whole = match uri {
        "" => Base::own_uri(name),
        uri => file.absolute(uri),
    };
    whole.map(|whole| whole + fragment)
}

fn print(
    out: &mut Out,
    options: &Options,
    path: &str,
    text: &str,
    target: Option<String>,
    problem: Option<String>,
    outcome: &mut Outcome,
) -> Result<()> {
    if problem.is_some() {
        *outcome = Outcome::No;
    }
    if options.json {
        return Ok(());
    }
    let state = problem.map_or("found".to_owned(), |problem| format!("not found: {problem}"));
    let target = target.filter(|target| target != text).map_or(String::new(), |target| format!("  ({target})"));
    out.line(&format!("{path} -> {text}{target}  {state}"))
}
