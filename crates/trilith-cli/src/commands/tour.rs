//! `trilith tour`: example files, and what can be done with them.
//!
//! After each `$` come the words of a command, and then what it prints: the command itself runs here.

mod simulation;
mod observation;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use trilith::asdf::{ArrayOptions, AsdfBuilder, Target};
use trilith::tree::Value;
use trilith::{Error, Result};

use self::observation::Exposure;
use crate::outcome::Outcome;
use crate::session::Session;
use crate::output::Output;
use crate::outputs::{check_absent, make_folder};

/// Make example files and show some commands on them
#[derive(Debug, Args)]
pub(crate) struct Tour {
    /// The folder to write into
    #[arg(value_name = "DIR", default_value = "trilith-tour")]
    folder: PathBuf,
    /// Write 400 MB in 1,013 files: a large image in ten forms, and a thousand restart files
    #[arg(long)]
    large: bool,
}

/// A form of the observation: its name after `observation`, and the options of `convert` that make it.
type ConvertForm = (&'static str, &'static [&'static str]);

const CONVERTED_FORMS: &[ConvertForm] = &[("-plain.asdf", &["--codec", "none"]), (".fits", &[]), (".bd", &["--allow-loss"])];

/// Forms with other codecs and older versions.
const LARGE_TOUR_FORMS: &[ConvertForm] = &[
    ("-zlib.asdf", &["--codec", "zlib", "--level", "1"]),
    ("-auto.asdf", &["--codec", "auto"]),
    ("-asdf-1.0.asdf", &["--to", "asdf-1.0", "--allow-loss"]),
    ("-asdf-0.1.asdf", &["--to", "asdf-0.1", "--allow-loss"]),
    ("-asdf-0.1-dev.asdf", &["--to", "asdf-0.1-dev", "--allow-loss"]),
    ("-finf-0.1.finf", &["--to", "finf-0.1", "--allow-loss"]),
];

impl Tour {
    fn conversion_variants(&self) -> impl Iterator<Item = ConvertForm> {
        CONVERTED_FORMS.iter().chain(if self.large { LARGE_TOUR_FORMS } else { &[] }).copied()
    }

    /// Does the tour.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let (sky_size, size) = if self.large { (&observation::LARGE, &simulation::LARGE) } else { (&observation::SMALL, &simulation::SMALL) };
        let file = |name: &str| self.folder.join(name);
        let observation = file("observation.asdf");
        let runs = file("runs");
        let forms: Vec<PathBuf> = self.conversion_variants().map(|(name, _)| file(&format!("observation{name}"))).collect();
        let planned = std::iter::once(&observation).chain(&forms).cloned().chain(simulation::list_family_files(&runs, size));
        check_absent(&planned.collect::<Vec<_>>(), session.args.overwrite)?;
        make_folder(&self.folder)?;
        write_observation(&observation, &observation::simulate(sky_size)?)?;
        simulation::write_family(&runs, size, session)?;

        let mut guide = StepPrinter { quiet: session.args.quiet, json: session.args.json, steps: Vec::new() };
        let item = |path: &str| format!("{}#/observation{path}", observation.display());
        let cutout = if self.large { "1000:1003,1369:1375" } else { "100:103,169:175" };
        guide.begin_step("An observation: image, errors, data quality, a catalog of stars, metadata. Nothing is decoded for this.")?;
        guide.run_command(&["tree", &item(""), "--depth", "1"])?;
        guide.begin_step("A cutout. Only the chunks that hold it are decoded; the dead column is masked.")?;
        guide.run_command(&["get", &item("/data"), "--slice", cutout])?;
        guide.begin_step("Check the structure and every checksum, and decode every block.")?;
        guide.run_command(&["verify", "--deep", &display_path(&observation)])?;
        guide.begin_step("Change one value. All arrays and all other bytes of the tree stay unchanged.")?;
        guide.run_command(&["set", &item("/meta/filter"), "F184"])?;
        guide.run_command(&["get", &item("/meta/filter")])?;
        guide.begin_step("The same observation in other forms.")?;
        for ((_, how), path) in self.conversion_variants().zip(&forms) {
            // The form of an earlier tour.
            let again = if session.args.overwrite && path.exists() { &["--overwrite"][..] } else { &[] };
            guide.run_command(&[&["convert", &display_path(&observation), &display_path(path)], how, again].concat())?;
        }
        guide.run_command(&["diff", &display_path(&observation), &display_path(&file("observation-plain.asdf"))])?;
        guide.begin_step("Restart files of a simulation. A layout describes them, a catalog lists them: several are one array.")?;
        let (layout, catalog) = (display_path(&runs.join("restart.dud")), display_path(&runs.join("catalog.bd")));
        let of_runs = ["--layout", &layout, "--catalog", &catalog, "--files"];
        let (alike, one) = size.example_names();
        guide.run_command(&[&["get", "/rho"], &of_runs[..], &[alike.as_str(), "--slice", ":2,0,:3"]].concat())?;
        guide.run_command(&[&["get", "/te"], &of_runs[..], &[one.as_str(), "--slice", "0,0,:3"]].concat())?;
        guide.run_command(&["get", &format!("{}#/probes[99]", display_path(&runs.join("history.bd")))])?;
        guide.begin_step("Now try it on a file of yours: trilith info FILE, trilith tree FILE, trilith get FILE#/path --slice 0:10,5")?;
        guide.finish(&self.folder)?;
        Ok(Outcome::Success)
    }
}

fn display_path(path: &Path) -> String {
    path.display().to_string()
}

/// Prints the steps, or keeps them for one JSON document.
struct StepPrinter {
    quiet: bool,
    json: bool,
    /// The title of each step, and its commands.
    steps: Vec<(String, Vec<String>)>,
}

impl StepPrinter {
    /// Begins a step, with a line that a shell takes for a comment.
    fn begin_step(&mut self, title: &str) -> Result<()> {
        let lead = if self.steps.is_empty() { "" } else { "\n" };
        self.print_text(&format!("{lead}# {title}"))?;
        self.steps.push((title.to_owned(), Vec::new()));
        Ok(())
    }

    fn print_text(&self, text: &str) -> Result<()> {
        if self.json {
            return Ok(());
        }
        Output::print_with(|out| out.write_lines(text))
    }

    /// Prints a command line and runs it. In a JSON document only the line is written, not the output of its command.
    fn run_command(&mut self, words: &[&str]) -> Result<()> {
        let quoted: Vec<String> = words.iter().map(|word| quote_shell_word(word)).collect();
        let line = format!("$ trilith {}", quoted.join(" "));
        self.print_text(&line)?;
        if let Some((_, lines)) = self.steps.last_mut() {
            lines.push(line);
        }
        let is_made = ["convert", "set"].contains(words.first().unwrap_or(&""));
        if self.json && !is_made {
            return Ok(());
        }
        let quiet = ["--quiet"].into_iter().filter(|_| self.quiet || self.json);
        let status = crate::run(std::iter::once("trilith").chain(quiet).chain(words.iter().copied()).map(OsString::from));
        if status == 0 { Ok(()) } else { Err(Error::malformed(format!("`trilith {}` ended with {status}", words.join(" ")))) }
    }

    fn finish(self, folder: &Path) -> Result<()> {
        if !self.json {
            return Ok(());
        }
        let steps: Vec<_> = self.steps.iter().map(|(title, lines)| json!({"title": title, "lines": lines})).collect();
        Output::print_json(&json!({"folder": folder.display().to_string(), "steps": steps}))
    }
}

/// A word as a shell takes it.
fn quote_shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,=+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Writes the observation, with blocks compressed by lz4.
fn write_observation(path: &Path, sky: &Exposure) -> Result<()> {
    let mut builder = AsdfBuilder::new(Target::latest());
    let lz4 = ArrayOptions::codec("lz4")?;
    let tag = |name: &str| format!("tag:stsci.edu:asdf/{name}");
    let observation = Value::map([
        ("data", builder.array(&sky.masked, &lz4)?),
        ("err", builder.array(&sky.error, &lz4)?),
        ("dq", builder.array(&sky.quality, &lz4)?),
        ("catalogue", builder.array(&sky.catalogue, &ArrayOptions::default())?),
        ("meta", build_metadata(&tag)),
    ]);
    let entry =
        Value::map([("description", Value::from("made by the tour of trilith")), ("time", Value::plain_scalar("2026-11-21 12:00:00"))]);
    let extension = Value::map([
        ("extension_class", Value::from("asdf.extension._manifest.ManifestExtension")),
        ("extension_uri", "asdf://asdf-format.org/core/extensions/core-1.6.0".into()),
    ]);
    let history = Value::map([
        ("entries", Value::seq([entry.tagged(tag("core/history_entry-1.0.0"))])),
        ("extensions", Value::seq([extension.tagged(tag("core/extension_metadata-1.0.0"))])),
    ]);
    builder.write(path, Value::map([("history", history), ("observation", observation)]))
}

fn build_metadata(tag: &dyn Fn(&str) -> String) -> Value {
    let unit = |name: &str| Value::from(name).tagged(tag("unit/unit-1.0.0"));
    let quantity = |value: f64, name: &str| {
        Value::map([("value", Value::from(value)), ("unit", unit(name))]).tagged(tag("unit/quantity-1.3.0")).flow()
    };
    Value::map([
        ("telescope", Value::from("Example 2.4 m")),
        ("filter", "F158".into()),
        ("exposure", quantity(139.8, "s")),
        ("pixel_scale", quantity(0.11, "arcsec")),
        ("start", Value::from("2026-11-21T03:14:15.926").tagged(tag("time/time-1.4.0"))),
        ("pointing", Value::map([("ra", quantity(266.416_8, "deg")), ("dec", quantity(-29.007_8, "deg"))])),
        ("data_unit", unit("electron")),
    ])
}
