//! `verify --conform DOCUMENT`: files held against a document of their format.

use serde_json::{Value, json};
use trilith::check::{ConformOptions, Conformity, Deviation, Document, Place, conform};
use trilith::{Error, Result};

use crate::Outcome;
use crate::inputs::{Files, Job};
use crate::options::Options;
use crate::output::{Out, clean};

/// Prints what in each file departs from the document of this name.
pub(crate) fn run(document: &str, files: &Files, options: &Options) -> Result<Outcome> {
    let document = Document::named(document)?;
    files.run(options, |job| one(job, document))
}

fn one(job: &mut Job<'_>, document: &'static Document) -> Result<Outcome> {
    let found = check(job, document)?;
    if job.options.json {
        job.out.json(&found_json(&job.name, &found))?;
    } else {
        text(&mut job.out, &job.name, &found, job.options)?;
    }
    Ok(match found.conforms() {
        Some(true) => Outcome::Yes,
        Some(false) => Outcome::No,
        None => {
            job.note(&format!("trilith: whether {} conforms to {} could not be decided", job.name, document.title));
            Outcome::Failed
        }
    })
}

fn check(job: &mut Job<'_>, document: &'static Document) -> Result<Conformity> {
    let (options, limits) = (job.options, job.limits());
    let mut how = ConformOptions::default();
    how.layout = options.layout_text(limits)?;
    how.order = options.order();
    let (source, resolve) = options.open_with(&job.name, limits)?;
    let conformity = conform(source, resolve, document, &how, limits);
    conformity.map_err(|error: Error| if job.several { error } else { error.context(job.name.clone()) })
}

fn text(out: &mut Out, name: &str, found: &Conformity, options: &Options) -> Result<()> {
    /// Number of findings of one rule that are shown; `--verbose` shows all.
    const SHOWN: usize = 3;
    let title = found.document.title;
    // The deviations are in the order of the rules.
    for same in found.deviations.chunk_by(|one, other| std::ptr::eq(one.rule, other.rule) && one.mend == other.mend) {
        let Some(first) = same.first() else { continue };
        let rule = first.rule;
        let shown = if options.verbose > 0 { same.len() } else { SHOWN };
        for deviation in same.iter().take(shown) {
            out.line(&format!("{name}: {}, sentence {}: {}", section(rule.section), rule.sentence, message(deviation)))?;
        }
        if same.len() > shown {
            out.line(&format!("  and {} more of this rule", same.len() - shown))?;
        }
        if !options.quiet {
            out.line(&format!("  rule: {}", rule.text))?;
            out.line(&format!("  fix: {}", first.mend))?;
        }
    }
    for open in &found.open {
        let place = open.place.to_string();
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        out.line(&format!("{name}: not decided: {}{place}", open.message))?;
    }
    let count = |n: usize, one: &str, many: &str| if n == 1 { format!("one {one}") } else { format!("{n} {many}") };
    out.line(&match found.conforms() {
        Some(true) => format!("{name}: conforms to {title}"),
        Some(false) => format!("{name}: {} from {title}", count(found.deviations.len(), "deviation", "deviations")),
        None => format!("{name}: whether it conforms to {title} is not decided"),
    })
}

/// A number is called a section; a heading needs no such word.
fn section(name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("section {name}") } else { name.to_owned() }
}

fn message(deviation: &Deviation) -> String {
    let place = deviation.place.to_string();
    if place.is_empty() { deviation.message.clone() } else { format!("{} ({place})", deviation.message) }
}

fn place_json(place: &Place) -> Value {
    json!({
        "path": place.path, "line": place.line, "column": place.column, "byte": place.byte, "block": place.block,
    })
}

fn found_json(name: &str, found: &Conformity) -> Value {
    let document = found.document.name;
    let deviation = |deviation: &Deviation| {
        let rule = deviation.rule;
        json!({
            "document": document, "section": rule.section, "sentence": rule.sentence, "rule": rule.text,
            "where": place_json(&deviation.place), "message": clean(&deviation.message), "mend": deviation.mend, "hint": deviation.mend,
        })
    };
    let deviations: Vec<Value> = found.deviations.iter().map(deviation).collect();
    let open: Vec<Value> =
        found.open.iter().map(|open| json!({"where": place_json(&open.place), "message": clean(&open.message)})).collect();
    json!({"file": name, "document": document, "conforms": found.conforms(), "deviations": deviations, "undecided": open})
}
