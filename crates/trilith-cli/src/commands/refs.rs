//! `trilith refs FILE`: every `$ref` and every source in another file, with what it leads to.

use clap::Args;
use serde_json::json;
use trilith::Result;
use trilith::asdf::{self, AsdfFile, FoundNode};
use trilith::bytes::BaseUri;

use crate::outcome::Outcome;
use crate::inputs::{InputFiles, FileJob};
use crate::session::{FileRole, Session};
use crate::output::escape_controls;
use crate::advice::error_with_advice;

/// List the references of a file ($ref and external sources), and whether they resolve
#[derive(Debug, Args)]
pub(crate) struct Refs {
    #[command(flatten)]
    files: InputFiles,
}

impl Refs {
    /// Prints the list.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        self.files.run(session, list_refs)
    }
}

fn list_refs(job: &mut FileJob<'_>) -> Result<Outcome> {
    let file = job.open(FileRole::Tree)?.into_asdf()?;
    let mut outcome = Outcome::Success;
    let (mut references, mut sources) = (Vec::new(), Vec::new());
    let root = FoundNode::root(&file);
    for (path, node) in file.tree().references(file.limits())? {
        let reference = node.reference_text().unwrap_or_default();
        let problem = asdf::follow(&file, &root.with_node(node)).err().map(|error| escape_controls(&error_with_advice(&error)).into_owned());
        let (uri, fragment) = reference.split_at(reference.find('#').unwrap_or(reference.len()));
        let target = resolve_target(&file, &job.name, uri, fragment);
        references.push(json!({
            "path": path.to_string(), "ref": reference, "resolved": problem.is_none(), "problem": problem, "target": target,
        }));
        print_reference(job, &path.to_string(), &reference, target, problem, &mut outcome)?;
    }
    for (path, source) in external_sources(&file)? {
        let problem = file.external_files(&source).err().map(|error| escape_controls(&error_with_advice(&error)).into_owned());
        let target = resolve_target(&file, &job.name, &source, "");
        sources.push(json!({
            "path": path, "source": source, "resolved": problem.is_none(), "problem": problem, "target": target,
        }));
        print_reference(job, &path, &source, target, problem, &mut outcome)?;
    }
    if references.is_empty() && sources.is_empty() {
        job.note_lack("no references");
    }
    if job.session.args.json {
        job.out.write_json(&json!({"file": job.name, "references": references, "sources": sources}))?;
    }
    Ok(outcome)
}

/// The sources in other files, each with the path of its array.
fn external_sources(file: &AsdfFile) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut walk = file.tree().root().walk(file.limits()).without_merge();
    while let Some(visit) = walk.try_next()? {
        if !visit.node.is_alias()
            && asdf::is_ndarray(visit.node)
            && let Some(source) = visit.node.get("source")
            && source.as_i64().is_none()
            && !source.text().starts_with("fits:")
        {
            found.push((walk.path().to_string(), source.text().into_owned()));
        }
    }
    Ok(found)
}

/// Returns the target of a reference as an absolute URI.
fn resolve_target(file: &AsdfFile, name: &str, uri: &str, fragment: &str) -> Option<String> {
    let whole = match uri {
        "" => BaseUri::absolute_uri(name),
        uri => file.absolute(uri),
    };
    whole.map(|whole| whole + fragment)
}

fn print_reference(
    job: &mut FileJob<'_>,
    path: &str,
    text: &str,
    target: Option<String>,
    problem: Option<String>,
    outcome: &mut Outcome,
) -> Result<()> {
    if problem.is_some() {
        *outcome = Outcome::Negative;
    }
    if job.session.args.json {
        return Ok(());
    }
    let state = problem.map_or("found".to_owned(), |problem| format!("not found: {problem}"));
    let target = target.filter(|target| target != text).map_or(String::new(), |target| format!("  ({target})"));
    let path = job.path_label(path);
    job.out.write_line(&format!("{path} -> {text}{target}  {state}"))
}
