//! `trilith tour`: the main job on an example that it makes itself.

mod family;
mod forms;
mod sky;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::json;
use trilith::array::Index;
use trilith::error::counted;
use trilith::asdf::{ArrayOptions, Builder, Target};
use trilith::convert::ConvertOptions;
use trilith::tree::{TreePath, Value};
use trilith::{Error, Result, bytes, digest, file, verify};

use self::sky::Sky;
use crate::Outcome;
use crate::options::Options;
use crate::output::{Out, size};
use crate::outputs::check_absent;

/// Make an example observation and show what can be done with it
#[derive(Debug, Args)]
pub struct Tour {
    /// The folder to write into
    #[arg(value_name = "DIR", default_value = "trilith-tour")]
    folder: PathBuf,
    /// Replace files of the tour that already exist
    #[arg(long)]
    overwrite: bool,
}

impl Tour {
    /// Does the tour.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        std::fs::create_dir_all(&self.folder).map_err(|e| Error::io(format!("making {}", self.folder.display()), e))?;
        let path = self.folder.join("observation.asdf");
        let planned = std::iter::once(path.clone()).chain(forms::files(&self.folder)).chain(family::files(&self.folder));
        check_absent(&planned.collect::<Vec<_>>(), self.overwrite)?;
        let mut guide = Guide { out: Out::new(), json: options.json, steps: Vec::new(), started: Instant::now() };
        guide.step("An observation: image, errors, quality, mask, catalogue, metadata")?;
        let sky = sky::make()?;
        guide.done(&format!("{0} x {0} pixels, {1} stars", sky::SIDE, sky.catalogue.len()))?;
        write(&mut guide, &path, &sky)?;
        look(&mut guide, &path, options)?;
        slice(&mut guide, &path, &sky)?;
        check(&mut guide, &path)?;
        edit(&mut guide, &path)?;
        forms::write_all(&mut guide, &path, &self.folder, options)?;
        family::show(&mut guide, &self.folder, options)?;
        guide.line("")?;
        guide.line("Now try it on a file of yours:")?;
        guide.line("  trilith info FILE          trilith tree FILE          trilith get FILE#/path --slice 0:10,5")?;
        guide.finish(&self.folder)?;
        Ok(Outcome::Yes)
    }
}

/// Prints the steps with their times, or keeps them for one JSON document.
struct Guide {
    out: Out,
    json: bool,
    /// The title of each step, and its lines.
    steps: Vec<(String, Vec<String>)>,
    started: Instant,
}

impl Guide {
    fn step(&mut self, title: &str) -> Result<()> {
        self.steps.push((title.to_owned(), Vec::new()));
        if !self.json {
            self.out.line("")?;
            self.out.line(&format!("{}. {title}", self.steps.len()))?;
        }
        self.started = Instant::now();
        Ok(())
    }

    fn line(&mut self, text: &str) -> Result<()> {
        if !self.json {
            return self.out.line(text);
        }
        if let Some((_, lines)) = self.steps.last_mut() {
            lines.push(text.trim().to_owned());
        }
        Ok(())
    }

    fn finish(mut self, folder: &Path) -> Result<()> {
        if self.json {
            let steps: Vec<_> = self.steps.iter().map(|(title, lines)| json!({"title": title, "lines": lines})).collect();
            self.out.json(&json!({"folder": folder.display().to_string(), "steps": steps}))?;
        }
        self.out.finish()
    }

    /// What came out, and how long it took since the step began.
    fn done(&mut self, what: &str) -> Result<()> {
        let ms = self.started.elapsed().as_secs_f64() * 1e3;
        self.line(&format!("   {what}  ({ms:.1} ms)"))
    }

    fn command(&mut self, command: &str) -> Result<()> {
        self.line(&format!("   $ trilith {command}"))
    }
}

fn write(guide: &mut Guide, path: &Path, sky: &Sky) -> Result<()> {
    guide.step("Written as ASDF 1.6, blocks compressed with lz4")?;
    let mut builder = Builder::new(Target::newest());
    let lz4 = ArrayOptions::codec("lz4")?;
    let tag = |name: &str| format!("tag:stsci.edu:asdf/{name}");
    let observation = Value::map([
        ("data", builder.array(&sky.masked, &lz4)?),
        ("err", builder.array(&sky.error, &lz4)?),
        ("dq", builder.array(&sky.quality, &lz4)?),
        ("catalogue", builder.array(&sky.catalogue, &ArrayOptions::default())?),
        ("meta", metadata(&tag)),
    ]);
    let entry =
        Value::map([("description", Value::from("made by the tour of trilith")), ("time", Value::plain("2026-11-21 12:00:00"))]);
    let extension = Value::map([
        ("extension_class", Value::from("asdf.extension._manifest.ManifestExtension")),
        ("extension_uri", "asdf://asdf-format.org/core/extensions/core-1.6.0".into()),
    ]);
    let history = Value::map([
        ("entries", Value::seq([entry.tagged(tag("core/history_entry-1.0.0"))])),
        ("extensions", Value::seq([extension.tagged(tag("core/extension_metadata-1.0.0"))])),
    ]);
    builder.write(path, Value::map([("history", history), ("observation", observation)]))?;
    let raw = sky.image.nbytes() + sky.error.nbytes() + sky.quality.nbytes() + sky.catalogue.nbytes() + sky.image.len();
    let stored = file::open_asdf(path)?.size();
    guide.done(&format!("{}: {} of arrays in {}", path.display(), size(raw), size(stored)))
}

fn metadata(tag: &dyn Fn(&str) -> String) -> Value {
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

fn look(guide: &mut Guide, path: &Path, options: &Options) -> Result<()> {
    guide.step("What is in it? Nothing is decoded for this")?;
    guide.command(&format!("info {}", path.display()))?;
    let opened = options.open_asdf(&path.to_string_lossy())?;
    if !guide.json {
        super::info::asdf::print(&mut guide.out, &path.to_string_lossy(), &opened, options)?;
    }
    guide.done("opened and listed")
}

fn slice(guide: &mut Guide, path: &Path, sky: &Sky) -> Result<()> {
    guide.step("A cutout of 3 x 6 pixels: only the lz4 sub-blocks that hold it are decoded")?;
    guide.command(&format!("get '{}#/observation/data' --slice 1000:1003,1369:1375", path.display()))?;
    let opened = file::open_asdf(path)?;
    let whole = opened.array_at("/observation/data")?;
    let part = whole.slice(&Index::parse_list("1000:1003,1369:1375")?)?;
    let values = part.load::<f32>()?;
    let mask = part.mask_bytes()?.unwrap_or_default();
    for (row, masked) in values.chunks(6).zip(mask.chunks(6)) {
        let cells: Vec<String> =
            row.iter().zip(masked).map(|(v, m)| if *m == 1 { format!("{:>8}", "--") } else { format!("{v:>8.2}") }).collect();
        guide.line(&format!("     {}", cells.join(" ")))?;
    }
    if values != sky.image.slice(&Index::parse_list("1000:1003,1369:1375")?)?.load::<f32>()? {
        return Err(Error::malformed("the cutout differs from what was written"));
    }
    let mut stored = 0;
    for range in part.plan(16 << 10) {
        for piece in part.source().stored(range)? {
            stored += piece.end - piece.start;
        }
    }
    guide.done(&format!(
        "{} wanted, {} of {} read (-- is masked: the dead column)",
        size(part.nbytes()),
        size(stored),
        size(opened.size())
    ))
}

fn check(guide: &mut Guide, path: &Path) -> Result<()> {
    guide.step("Is every byte intact?")?;
    guide.command(&format!("verify --deep {}", path.display()))?;
    let report = verify::verify(&file::open_asdf(path)?, true, trilith::Progress::default())?;
    if !report.is_ok() {
        return Err(Error::malformed("the file that was just written is wrong"));
    }
    guide.done(&format!("{}, structure and MD5 OK", counted(report.blocks.len(), "block")))
}

fn edit(guide: &mut Guide, path: &Path) -> Result<()> {
    guide.step("One value of the metadata changed; every other byte of the tree stays, and so do the blocks")?;
    let opened = file::open_asdf(path)?;
    let before = digest::of(&opened)?;
    let mut edit = opened.tree().edit();
    edit.set(&TreePath::parse("/observation/meta/filter")?, &Value::from("F184"))?;
    let text = edit.finish(opened.limits())?.into_text();
    let mut replace = bytes::AtomicFile::create(path, bytes::Basis::Own(&**opened.sections().source()))?;
    let options = ConvertOptions::default();
    trilith::convert::rewrite(&opened, &text, &mut replace, &options, trilith::Progress::default())?;
    replace.commit()?;
    let after = file::open_asdf(path)?;
    let filter = after.tree().at("/observation/meta/filter").map(|node| node.text().into_owned()).unwrap_or_default();
    let same = digest::of(&after)?.iter().zip(&before).all(|(a, b)| match (&a.digest, &b.digest) {
        (Ok((_, a)), Ok((_, b))) => a == b,
        _ => false,
    });
    if filter != "F184" || !same {
        return Err(Error::malformed("the edit changed more or less than it should"));
    }
    guide.done("filter is now F184; the digests of all arrays are as before")
}
