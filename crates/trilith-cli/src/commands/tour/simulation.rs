//! The tour's simulation: one template, restart files of several meshes, and a time history that grows.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use trilith::array::Array;
use trilith::bytes::WriteBasis;
use trilith::dudley::{self, Catalog, Draft, NewStream, append_records};
use trilith::layout::{Byteorder, LayoutEntry, Layout};
use trilith::{Error, Result};

use crate::session::Session;

/// The number of restart files.
pub(super) struct SimulationSize {
    files: usize,
    /// The files of one mesh. The next ones have a finer one.
    alike: usize,
}

pub(super) const SMALL: SimulationSize = SimulationSize { files: 3, alike: 2 };
pub(super) const LARGE: SimulationSize = SimulationSize { files: 1000, alike: 250 };

impl SimulationSize {
    /// Returns the last files of one mesh as a range, and one of them.
    pub(super) fn example_names(&self) -> (String, String) {
        let first = (self.files / self.alike).saturating_sub(1) * self.alike;
        (format!("{first}:{}", first + self.alike), format!("{first}:{}", first + 1))
    }

    fn step_parameters(&self, step: usize) -> Vec<i64> {
        let finer = 8 * (step / self.alike) as i64;
        vec![16 + finer, 12 + finer, if step.is_multiple_of(2) { 0 } else { 3 }]
    }
}

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

/// Returns the value of a cell of an item in a step: a number that identifies its origin.
fn cell_value(name: &str, step: usize, cell: u64) -> f64 {
    name.bytes().map(f64::from).sum::<f64>() + step as f64 + cell as f64 / 1024.0
}

/// Returns the files that will be written into a folder.
pub(super) fn list_family_files(folder: &Path, size: &SimulationSize) -> Vec<PathBuf> {
    let steps = (0..size.files).map(|step| format!("step{step:04}.bd"));
    let others = ["restart.dud", "catalog.bd", "history.bd"].map(str::to_owned);
    steps.chain(others).map(|name| folder.join(name)).collect()
}

/// Writes the files and their catalog, and lets a history grow.
pub(super) fn write_family(folder: &Path, size: &SimulationSize, session: &Session<'_>) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::io(format!("making {}", folder.display()), e))?;
    let template = Layout::read(TEMPLATE.as_bytes())?;
    let mut rows = Vec::new();
    for step in 0..size.files {
        let name = format!("step{step:04}.bd");
        let mut new = NewStream::new(&template, size.step_parameters(step));
        (new.embed, new.limits) = (false, session.limits().clone());
        let path = folder.join(&name);
        #[allow(
            clippy::disallowed_methods,
            reason = "files of an example: a thousand times to the disk and back would take long"
        )]
        let file = std::fs::File::create(&path).map_err(|e| Error::io(format!("writing {}", path.display()), e))?;
        let mut supply = |entry: &LayoutEntry| {
            let count = entry.shape.iter().product();
            let name = entry.path.trim_start_matches('/');
            let values: Vec<f64> = (0..count).map(|cell| cell_value(name, step, cell)).collect();
            if name != "spectrum" {
                return Array::from_slice(&values, &entry.shape);
            }
            let narrow: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            Array::from_slice(&narrow, &entry.shape)
        };
        new.write(&mut supply, &mut BufWriter::new(file))?;
        rows.push((name, size.step_parameters(step)));
    }
    replace_file(&folder.join("restart.dud"), session, |out| out.write_all(TEMPLATE.as_bytes()).map_err(|e| Error::io("writing", e)))?;
    let draft = Catalog::draft(Some("restart.dud"), &rows)?;
    let limits = session.limits();
    replace_file(&folder.join("catalog.bd"), session, |mut out| draft.write(Byteorder::Little, limits, &mut out).map(drop))?;
    write_history(folder, session)
}

/// Writes a small file safely.
fn replace_file(path: &Path, session: &Session<'_>, write: impl FnOnce(&mut dyn crate::output_file::WriteSeek) -> Result<()>) -> Result<()> {
    let mut target = crate::output_file::OutputFile::create(&path.to_string_lossy(), WriteBasis::Nothing, session)?;
    write(target.writer())?;
    target.commit(session).map(drop)
}

/// Writes a hundred records, all but the first by appending them.
fn write_history(folder: &Path, session: &Session<'_>) -> Result<()> {
    let path = folder.join("history.bd");
    let limits = session.limits();
    let row = |step: usize| -> Vec<f64> { (0..4).map(|probe| cell_value("probe", step, probe)).collect() };
    let draft = Draft::dict([
        ("time", Draft::list([Draft::data(Array::from_slice(&[0.0f64], &[])?)])),
        ("probes", Draft::list([Draft::data(Array::from_slice(&row(0), &[4])?)])),
    ]);
    replace_file(&path, session, |mut out| draft.write(dudley::native_order(), limits, &mut out).map(drop))?;
    let steps: Vec<usize> = (1..100).collect();
    let times: Vec<f64> = steps.iter().map(|step| *step as f64 * 0.5).collect();
    let rows: Vec<f64> = steps.iter().flat_map(|step| row(*step)).collect();
    append_records(&path, "/time", &Array::from_slice(&times, &[99])?, limits)?;
    append_records(&path, "/probes", &Array::from_slice(&rows, &[99, 4])?, limits).map(drop)
}
