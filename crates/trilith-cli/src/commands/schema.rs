//! `trilith schema check DIR`, and the schemas that `validate` and `describe` use.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use trilith_io::error::count_noun;
use trilith::bytes::{read_text, shown_path};
use trilith::check::{SchemaReport, ExampleReport, SchemaSet, examine_all};
use trilith::{Error, ErrorKind, Limits, Result};

use crate::outcome::Outcome;
use crate::json::{error_problem, diagnostic_json};
use crate::session::Session;
use crate::style::StyleRole;
use crate::output::{Output, escape_controls, eprint_line};
use crate::advice::error_with_advice;

/// Work with schemas
#[derive(Debug, Args)]
pub(crate) struct Schema {
    #[command(subcommand)]
    command: SchemaCommand,
}

#[derive(Debug, Subcommand)]
enum SchemaCommand {
    Check(SchemaCheck),
}

/// Check schemas themselves: their keywords, references, patterns and examples
///
/// Exit status 1 if one is wrong. Schemas of a folder may refer to each other and to the bundled ones.
#[derive(Debug, Args)]
pub(super) struct SchemaCheck {
    /// A folder of schemas (*.yaml, *.yml, *.json), or one schema
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    more: SchemaSources,
}

/// Sources of schemas, besides the bundled ones.
#[derive(Debug, Args)]
pub(super) struct SchemaSources {
    /// Also use the schemas and manifests in this folder (also TRILITH_SCHEMA_PATH, several joined by `:`)
    #[arg(long = "schema-path", value_name = "DIR")]
    paths: Vec<PathBuf>,
    /// Also use the schemas of installed Python packages (runs python3 -I, or the interpreter in TRILITH_PYTHON)
    #[arg(long)]
    schemas_from_python: bool,
}

impl SchemaSources {
    /// The bundled schemas and all others that were asked for.
    pub(super) fn load_schemas(&self, limits: &Limits) -> Result<SchemaSet> {
        let mut schemas = SchemaSet::bundled();
        if self.schemas_from_python {
            add_from_python(&mut schemas, limits)?;
        }
        let from_env = std::env::var_os("TRILITH_SCHEMA_PATH");
        let from_env = from_env.iter().flat_map(std::env::split_paths).filter(|path| !path.as_os_str().is_empty());
        for folder in from_env.chain(self.paths.iter().cloned()) {
            for (path, text) in texts_in(&folder, limits)? {
                schemas.add(text, limits).map_err(|e| e.context(format!("reading {}", path.display())))?;
            }
        }
        Ok(schemas)
    }
}

/// Reads every schema file in a folder and below, in order of name, or one file.
fn texts_in(folder: &Path, limits: &Limits) -> Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    if !folder.is_dir() {
        return Ok(vec![(folder.to_owned(), text_of(folder, limits)?)]);
    }
    while let Some((folder, depth)) = folders.pop() {
        let failed = |e| Error::io(format!("listing {}", folder.display()), e);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let path = entry.path();
            let is_schema = path.extension().is_some_and(|e| e == "yaml" || e == "yml" || e == "json");
            if kind.is_dir() && depth < 32 {
                folders.push((path, depth + 1));
            } else if is_schema && path.is_file() {
                found.push(path);
            }
        }
        if found.len() as u64 > limits.items {
            return Err(Limits::exceeded_error("items", limits.items, format_args!("{} holds more schemas", folder.display())));
        }
    }
    found.sort();
    found.into_iter().map(|path| text_of(&path, limits).map(|text| (path, text))).collect()
}

/// A text file as text.
pub(super) fn text_of(path: &Path, limits: &Limits) -> Result<String> {
    let bytes = read_text(path, limits.text)?;
    let is_data = ["#ASDF", "%ASDF", "%FINF", "SIMPLE  ="].iter().any(|start| bytes.starts_with(start.as_bytes()));
    String::from_utf8(bytes).ok().filter(|_| !is_data).ok_or_else(|| {
        let path = shown_path(path);
        Error::malformed(format!("cannot read {path} as a schema: it is not a text in YAML"))
            .hint(format!("to check a file against a schema, run trilith validate {path} --schema SCHEMA"))
    })
}

/// Prints each resource of the installed packages as a line of JSON.
const LIST_RESOURCES: &str = "
import importlib.metadata, json, sys
for point in importlib.metadata.entry_points(group='asdf.resource_mappings'):
    try:
        mappings = point.load()()
        for mapping in mappings:
            for uri in mapping:
                sys.stdout.write(json.dumps(bytes(mapping[uri]).decode('utf-8')) + '\\n')
    except Exception as error:
        sys.stderr.write('%s: %s\\n' % (point.name, error))
";

fn add_from_python(schemas: &mut SchemaSet, limits: &Limits) -> Result<()> {
    let python = std::env::var("TRILITH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    // A name with a folder is relative to the working directory. The interpreter runs in a folder that others cannot write to.
    let program = match Path::new(&python) {
        path if path.components().count() > 1 => std::path::absolute(path),
        path => Ok(path.to_owned()),
    };
    let program = program.map_err(|e| Error::io(format!("looking for {python}"), e))?;
    // Isolated (-I): no module of the current folder, nor of one that the environment names, is imported.
    let output = std::process::Command::new(program)
        .args(["-I", "-c", LIST_RESOURCES])
        .current_dir("/")
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|e| Error::io(format!("running {python}"), e))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::unsupported(format!("{python} could not list its schemas: {}", said.lines().last().unwrap_or("")))
            .hint("name another interpreter in TRILITH_PYTHON"));
    }
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        eprint_line(&format!("warning: {python}: {line}"));
    }
    let mut count = 0;
    for line in output.stdout.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        let text: String =
            serde_json::from_slice(line).map_err(|e| Error::unsupported(format!("{python} wrote no JSON: {e}")))?;
        match schemas.add(text, limits) {
            Ok(_) => count += 1,
            // A resource may be anything; what is not YAML is not a schema.
            Err(error) if error.kind() == ErrorKind::Malformed => {}
            Err(error) => return Err(error),
        }
    }
    if count == 0 {
        return Err(
            Error::invalid_input(format!("no package of {python} has schemas")).hint("name another interpreter in TRILITH_PYTHON")
        );
    }
    Ok(())
}

impl Schema {
    /// Does it.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let SchemaCommand::Check(check) = &self.command;
        check.run(session)
    }
}

impl SchemaCheck {
    fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let limits = session.limits();
        let schemas = self.more.load_schemas(limits)?;
        let files = texts_in(&self.folder, limits)?;
        let texts: Vec<&str> = files.iter().map(|(_, text)| text.as_str()).collect();
        let (mut right, mut out, mut list) = (true, Output::new(), Vec::new());
        for (found, (path, _)) in examine_all(schemas, &texts, limits)?.into_iter().zip(&files) {
            let found = match found {
                Ok(Some(found)) => found,
                Ok(None) if self.folder.is_dir() => {
                    session.warn(&format!("{} is not a schema: it has no id", path.display()));
                    continue;
                }
                unread => {
                    let error = unread.err().unwrap_or_else(|| Error::malformed("this is not a schema: it has no id"));
                    right = false;
                    if session.args.json {
                        let problems = [error_problem(&error, None, None)];
                        list.push(json!({"file": path.to_string_lossy(), "valid": false, "problems": problems}));
                    } else {
                        out.write_line(&format!("{}: {}", path.display(), error_with_advice(&error)))?;
                    }
                    continue;
                }
            };
            right &= found.is_ok();
            if session.args.json {
                list.push(examination_json(path, &found));
            } else {
                print_examination(&mut out, path, &found, session)?;
            }
        }
        if session.args.json {
            out.write_json(&json!(list))?;
        }
        out.finish()?;
        Ok(if right { Outcome::Success } else { Outcome::Negative })
    }
}

fn print_examination(out: &mut Output, path: &Path, found: &SchemaReport, session: &Session<'_>) -> Result<()> {
    let name = path.display();
    for warning in &found.warnings {
        session.warn(&format!("{name}: {warning}"));
    }
    if found.is_ok() && (session.args.verbose > 0 || !session.args.quiet) {
        let open = if found.unchecked.is_empty() { String::new() } else { format!(", {} not checked", found.unchecked.len()) };
        let count = count_noun(found.example_count, "example");
        out.print_verdict(&name.to_string(), StyleRole::Success, "OK", &format!(", {count}{open}"))?;
    }
    for problem in &found.report.problems {
        out.write_line(&format!("{name}: {problem}"))?;
    }
    for note in &found.notes {
        out.write_line(&format!("{name}: {note}"))?;
    }
    let wrong = found.examples.iter().map(|example| (example, "wrong"));
    let open = found.unchecked.iter().map(|example| (example, "not checked")).filter(|_| !session.args.quiet);
    for (example, verdict) in wrong.chain(open) {
        out.write_line(&format!("{name}: example {} ({}) is {verdict}:", example.index, example.title))?;
        for problem in &example.problems {
            out.write_line(&format!("  {problem}"))?;
        }
    }
    Ok(())
}

fn examination_json(path: &Path, found: &SchemaReport) -> serde_json::Value {
    let listed = |examples: &[ExampleReport]| -> Vec<_> {
        let listed = examples.iter().map(|example| {
            let problems: Vec<_> = example.problems.iter().map(|problem| escape_controls(problem).into_owned()).collect();
            json!({"index": example.index, "title": example.title, "problems": problems})
        });
        listed.collect()
    };
    let problems: Vec<_> = found.report.problems.iter().map(diagnostic_json).collect();
    json!({
        "file": path.to_string_lossy(), "schema": found.uri, "valid": found.is_ok(), "problems": problems,
        "notes": found.notes, "warnings": found.warnings,
        "examples": {"count": found.example_count, "wrong": listed(&found.examples), "unchecked": listed(&found.unchecked)},
    })
}
