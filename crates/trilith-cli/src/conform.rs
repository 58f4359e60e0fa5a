//! `verify --conform DOCUMENT`: files held against a document of their format.

use serde_json::{Value, json};
use trilith::check::{ConformOptions, ConformityReport, FindingLocation, RuleDeviation, StandardDocument, conform};
use trilith::{Error, Result};

use crate::inputs::{FileJob, InputFiles};
use crate::outcome::Outcome;
use crate::output::{Output, escape_controls};
use crate::session::Session;

/// Prints what in each file departs from the document of this name.
pub(crate) fn run(document: &str, files: &InputFiles, session: &Session<'_>) -> Result<Outcome> {
    let document = StandardDocument::from_name(document)?;
    files.run(session, |job| {
        let (outcome, value) = examine(job, document)?;
        if job.session.args.json {
            job.out.write_json(&value)?;
        }
        Ok(outcome)
    })
}

/// Compares a file with a document, and prints the result unless it is wanted as JSON, which is given back.
pub(crate) fn examine(job: &mut FileJob<'_>, document: &'static StandardDocument) -> Result<(Outcome, Value)> {
    let found = check_conformity(job, document)?;
    let value = if job.session.args.json { found_json(&job.name, &found) } else { Value::Null };
    if !job.session.args.json {
        print_report(&mut job.out, &job.name, &found, job.session)?;
    }
    let outcome = match found.conforms() {
        Some(true) => Outcome::Success,
        Some(false) => Outcome::Negative,
        None => {
            job.print_note(&format!("trilith: whether {} conforms to {} could not be decided", job.name, document.title));
            Outcome::Failed
        }
    };
    Ok((outcome, value))
}

fn check_conformity(job: &mut FileJob<'_>, document: &'static StandardDocument) -> Result<ConformityReport> {
    let (session, limits) = (job.session, job.limits());
    let mut how = ConformOptions::default();
    how.layout = session.layout_text()?;
    how.order = session.args.byteorder();
    let (source, resolve) = session.open_with_resolver(&job.name)?;
    let conformity = conform(source, resolve, document, &how, limits);
    conformity.map_err(|error: Error| if job.is_one_of_many { error } else { error.context(job.name.clone()) })
}

fn print_report(out: &mut Output, name: &str, found: &ConformityReport, session: &Session<'_>) -> Result<()> {
    /// Number of findings of one rule that are shown; `--verbose` shows all.
    const MAX_SHOWN_PER_RULE: usize = 3;
    let title = found.document.title;
    // The deviations are in the order of the rules.
    for same in found.deviations.chunk_by(|one, other| std::ptr::eq(one.rule, other.rule) && one.remedy == other.remedy) {
        let Some(first) = same.first() else { continue };
        let rule = first.rule;
        let shown = if session.args.verbose > 0 { same.len() } else { MAX_SHOWN_PER_RULE };
        for deviation in same.iter().take(shown) {
            out.write_line(&format!(
                "{name}: {}, sentence {}: {}",
                section_title(rule.section),
                rule.sentence,
                deviation_text(deviation)
            ))?;
        }
        if same.len() > shown {
            out.write_line(&format!("  and {} more of this rule", same.len() - shown))?;
        }
        if !session.args.quiet {
            out.write_line(&format!("  rule: {}", rule.text))?;
            out.write_line(&format!("  fix: {}", first.remedy))?;
        }
    }
    for open in &found.undecided {
        let place = open.place.to_string();
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        out.write_line(&format!("{name}: not decided: {}{place}", open.message))?;
    }
    let count = |n: usize, one: &str, many: &str| if n == 1 { format!("one {one}") } else { format!("{n} {many}") };
    out.write_line(&match found.conforms() {
        Some(true) => format!("{name}: conforms to {title}"),
        Some(false) => format!("{name}: {} from {title}", count(found.deviations.len(), "deviation", "deviations")),
        None => format!("{name}: whether it conforms to {title} is not decided"),
    })
}

/// A number is called a section; a heading needs no such word.
fn section_title(name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("section {name}") } else { name.to_owned() }
}

fn deviation_text(deviation: &RuleDeviation) -> String {
    let place = deviation.place.to_string();
    if place.is_empty() { deviation.message.clone() } else { format!("{} ({place})", deviation.message) }
}

fn place_json(place: &FindingLocation) -> Value {
    json!({
        "path": place.path, "line": place.line, "column": place.column, "byte": place.byte, "block": place.block,
    })
}

fn found_json(name: &str, found: &ConformityReport) -> Value {
    let document = found.document.name;
    let deviation = |deviation: &RuleDeviation| {
        let rule = deviation.rule;
        json!({
            "document": document, "section": rule.section, "sentence": rule.sentence, "rule": rule.text,
            "where": place_json(&deviation.place), "message": escape_controls(&deviation.message), "mend": deviation.remedy, "hint": deviation.remedy,
        })
    };
    let deviations: Vec<Value> = found.deviations.iter().map(deviation).collect();
    let open: Vec<Value> = found
        .undecided
        .iter()
        .map(|open| json!({"where": place_json(&open.place), "message": escape_controls(&open.message)}))
        .collect();
    json!({"file": name, "document": document, "conforms": found.conforms(), "deviations": deviations, "undecided": open})
}
