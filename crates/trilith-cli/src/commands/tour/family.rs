//! The tour's simulation: one template, a thousand restart files, and a time history that grows.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trilith::bytes::Basis;
use trilith::array::Array;
use trilith::bytes::{self, DirectoryResolver, LocalOptions};
use trilith::dudley::{self, Catalog, Draft, DudleyFile, NewStream, append_records};
use trilith::layout::{Byteorder, Entry, Layout, Options as Evaluate};
use trilith::{Error, Result};

use super::Guide;
use crate::options::Options;
use crate::output::size;

/// Files of the family.
const FILES: usize = 1000;
/// The files of one mesh; the next ones have a finer one.
const ALIKE: usize = 250;
/// The step that is looked for.
const WANTED: usize = 731;

const TEMPLATE: &str = "\
{
  NX : i8      ## cells along x
  NY : i8      ## cells along y
  NGROUP : i8  ## photon energy groups, 0 without radiation
}
x = f8[NX+]    ## (cm) nodes
y = f8[NY+]    ## (cm) nodes
rho = f8[NY, NX]   ## (g/cc) density of the cells
te = f8[NY, NX]    ## (keV) electron temperature
spectrum = f4[NGROUP, NY, NX]  ## radiation, no bytes where there is none
";

fn params(step: usize) -> Vec<i64> {
    let finer = 8 * (step / ALIKE) as i64;
    vec![16 + finer, 12 + finer, if step.is_multiple_of(2) { 0 } else { 3 }]
}

/// What a cell of an item holds in a step: any number that tells where it came from.
fn value(name: &str, step: usize, cell: u64) -> f64 {
    name.bytes().map(f64::from).sum::<f64>() + step as f64 + cell as f64 / 1024.0
}

/// The files that will be written.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let steps = (0..FILES).map(|step| format!("step{step:04}.bd"));
    let others = ["restart.dud", "catalog.bd", "history.bd"].map(str::to_owned);
    steps.chain(others).map(|name| folder.join("runs").join(name)).collect()
}

/// Writes the family, finds one item in it by its parameters alone, and lets a history grow.
pub fn show(guide: &mut Guide, folder: &Path, options: &Options) -> Result<()> {
    let folder = folder.join("runs");
    std::fs::create_dir_all(&folder).map_err(|e| Error::io(format!("making {}", folder.display()), e))?;
    let template = Layout::read(TEMPLATE.as_bytes())?;
    let bytes = write_files(guide, &folder, &template, options)?;
    let catalog = locate(guide, &folder, &template, options)?;
    gather(guide, &folder, &template, &catalog, bytes, options)?;
    history(guide, &folder, options)
}

fn write_files(guide: &mut Guide, folder: &Path, template: &Layout, options: &Options) -> Result<u64> {
    guide.step("A simulation: 1,000 restart files that one Dudley template describes")?;
    let (mut bytes, mut rows) = (0, Vec::new());
    for step in 0..FILES {
        let name = format!("step{step:04}.bd");
        let mut new = NewStream::new(template, params(step));
        (new.embed, new.limits) = (false, options.limits()?);
        let path = folder.join(&name);
        #[allow(
            clippy::disallowed_methods,
            reason = "files of an example: a thousand times to the disk and back would take long"
        )]
        let file = std::fs::File::create(&path).map_err(|e| Error::io(format!("writing {}", path.display()), e))?;
        let mut supply = |entry: &Entry| {
            let count = entry.shape.iter().product();
            let name = entry.path.trim_start_matches('/');
            let values: Vec<f64> = (0..count).map(|cell| value(name, step, cell)).collect();
            if name != "spectrum" {
                return Array::from_slice(&values, &entry.shape);
            }
            let narrow: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            Array::from_slice(&narrow, &entry.shape)
        };
        bytes += new.write(&mut supply, &mut BufWriter::new(file))?;
        rows.push((name, params(step)));
    }
    replace(&folder.join("restart.dud"), options, |out| out.write_all(TEMPLATE.as_bytes()).map_err(|e| Error::io("writing", e)))?;
    let draft = Catalog::draft(Some("restart.dud"), &rows)?;
    let limits = options.limits()?;
    replace(&folder.join("catalog.bd"), options, |mut out| draft.write(Byteorder::Little, &limits, &mut out).map(drop))?;
    guide.done(&format!("{}: {} in {FILES} files, no layout in any of them, 4 meshes", folder.display(), size(bytes)))?;
    Ok(bytes)
}

/// Writes a small file safely.
fn replace(path: &Path, options: &Options, write: impl FnOnce(&mut dyn crate::target::WriteSeek) -> Result<()>) -> Result<()> {
    let mut target = crate::target::Target::create(&path.to_string_lossy(), Basis::Nothing)?;
    write(target.writer())?;
    target.commit(options).map(drop)
}

fn how(options: &Options) -> Result<Evaluate> {
    let mut how = Evaluate::default();
    (how.native, how.order, how.limits) = (true, Some(Byteorder::Little), options.limits()?);
    Ok(how)
}

fn locate(guide: &mut Guide, folder: &Path, template: &Layout, options: &Options) -> Result<Catalog> {
    guide.step("Where is te of every step? The parameters alone say it; no file is opened")?;
    guide.command(&format!(
        "layout locate {0} --catalog {1} /te",
        folder.join("restart.dud").display(),
        folder.join("catalog.bd").display()
    ))?;
    let map = LocalOptions::default();
    let catalog = Catalog::read(&DudleyFile::open(bytes::open(folder.join("catalog.bd"), map)?, None, &options.limits()?)?)?;
    let (mut count, mut row, mut wanted) = (0, 0, None);
    catalog.locate(template, "/te", &how(options)?, &mut |place| {
        if row == WANTED {
            wanted = place.offset.zip(place.described()?).map(|(at, (_, _, shape))| (place.file.to_owned(), at, shape));
        }
        count += usize::from(place.offset.is_some());
        row += 1;
        Ok(())
    })?;
    let (file, at, shape) = wanted.ok_or_else(|| Error::malformed("the wanted step is not in the catalog"))?;
    guide.done(&format!("{count} places; of step {WANTED}: {file}, byte {at}, float64 {shape:?}"))?;
    // Read as any program could: so many bytes from there.
    let source = bytes::open(folder.join(&file), map)?;
    let len = shape.iter().product::<u64>() * 8;
    let raw = bytes::read_vec(&*source, at, len, &options.limits()?)?;
    let first = raw.first_chunk::<8>().map(|bytes| f64::from_le_bytes(*bytes));
    if first != Some(value("te", WANTED, 0)) {
        return Err(Error::malformed("the bytes at that address are not what was written"));
    }
    guide.line(&format!("   {} read from there are the temperatures of that step", size(len)))?;
    Ok(catalog)
}

fn gather(guide: &mut Guide, folder: &Path, template: &Layout, catalog: &Catalog, bytes: u64, options: &Options) -> Result<()> {
    guide.step("rho of the 250 steps with the finest mesh as one array")?;
    guide.command(&format!(
        "get /rho --layout {0} --catalog {1} --files 750:1000 --slice :,0,0",
        folder.join("restart.dud").display(),
        folder.join("catalog.bd").display()
    ))?;
    let resolve = Arc::new(DirectoryResolver::new(folder, LocalOptions::default(), options.limits()?.external_depth));
    let rho = catalog.array_at(template, "/rho", &[FILES - ALIKE..FILES], &how(options)?, resolve)?;
    let corner = rho.slice(&trilith::array::Index::parse_list(":,0,0")?)?;
    let values = corner.load::<f64>()?;
    let right = values.iter().zip(FILES - ALIKE..).all(|(found, step)| *found == value("rho", step, 0));
    if !right || values.len() != ALIKE {
        return Err(Error::malformed("the array differs from what was written"));
    }
    guide.done(&format!("float64 {:?}; one cell of each step read: {} of {}", rho.shape(), size(corner.nbytes()), size(bytes)))
}

fn history(guide: &mut Guide, folder: &Path, options: &Options) -> Result<()> {
    guide.step("A time history: records are appended to a file, and a crash on the way leaves the old one")?;
    let path = folder.join("history.bd");
    let limits = options.limits()?;
    let row = |step: usize| -> Vec<f64> { (0..4).map(|probe| value("probe", step, probe)).collect() };
    let draft = Draft::dict([
        ("time", Draft::list([Draft::data(Array::from_slice(&[0.0f64], &[])?)])),
        ("probes", Draft::list([Draft::data(Array::from_slice(&row(0), &[4])?)])),
    ]);
    replace(&path, options, |mut out| draft.write(dudley::native_order(), &limits, &mut out).map(drop))?;
    let steps: Vec<usize> = (1..100).collect();
    let times: Vec<f64> = steps.iter().map(|step| *step as f64 * 0.5).collect();
    let rows: Vec<f64> = steps.iter().flat_map(|step| row(*step)).collect();
    append_records(&path, "/time", &Array::from_slice(&times, &[99])?, &limits)?;
    let written = append_records(&path, "/probes", &Array::from_slice(&rows, &[99, 4])?, &limits)?;
    let file = DudleyFile::open(bytes::open(&path, LocalOptions::default())?, None, &limits)?;
    if file.array_at("/probes[99]")?.load::<f64>()? != row(99) || file.array_at("/time[99]")?.load::<f64>()? != [49.5] {
        return Err(Error::malformed("the history differs from what was appended"));
    }
    guide.command(&format!("get '{}#/probes[99]'", path.display()))?;
    guide.done(&format!("{}: 100 records, {}", path.display(), size(written)))
}
