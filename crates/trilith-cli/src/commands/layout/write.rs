//! `trilith layout write L.dud OUT.bd`: a file under a layout that is there already.


use clap::Args;
use serde_json::json;
use trilith::array::Array;
use trilith::bytes::{WriteBasis, path_of};
use trilith::dudley::{LayoutStorage, LayoutValues, native_order};
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::session::Session;
use crate::output::display_size;
use crate::outputs::{FileFormat, check_absent, check_name, report_written};
use crate::output_file::OutputFile;

/// Write a native file under a layout, such as one of a set of restart files
///
/// Every stored parameter gets its value by --param, every item its data by --from: an item, a list (its elements
/// along the first axis), or a member of `"" = {…}[NREC]`. The layout is at the end of the file, unless --bare
/// leaves it out. With --raw the file contains only the bytes that the layout describes, as a program writes them.
#[derive(Debug, Args)]
pub(super) struct Write {
    #[command(flatten)]
    input: super::LayoutArg,
    /// The file to write
    #[arg(value_name = "OUT.bd")]
    output: String,
    /// The value of a stored parameter, by its path (can be given again)
    #[arg(id = "param", long = "param", value_name = "NAME=VALUE", num_args = 1..)]
    params: Vec<String>,
    /// The data of items, by their paths, from .npy files (can be given again)
    #[arg(long = "from", value_name = "NAME=FILE.npy", num_args = 1..)]
    from: Vec<String>,
    /// Leave the layout out of the file, which still begins with the signature of Dudley files
    #[arg(long)]
    bare: bool,
    /// Write the bytes of the layout alone, without the signature and the layout
    #[arg(long)]
    raw: bool,
}

impl Write {
    /// Writes the file.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let Some((layout, _)) = self.input.load_layout(session)? else { return Ok(Outcome::Negative) };
        check_absent([&path_of(&self.output).into_owned()].into_iter().filter(|_| self.output != "-"), session.args.overwrite)?;
        let limits = session.limits();
        let mut filling = LayoutValues::default();
        for given in &self.params {
            let (name, value) = split_assignment(given, "--param N=3")?;
            let value = value.parse().map_err(|_| Error::invalid_input(format!("{value:?} is not a whole number, as parameter {name} is")))?;
            filling.params.push((name.to_owned(), value));
        }
        for given in &self.from {
            let (name, file) = split_assignment(given, "--from x=x.npy")?;
            let array = Array::from_npy(session.open_source(file)?, limits).map_err(|e| e.context(file.to_owned()))?;
            filling.data.push((name.to_owned(), array));
        }
        let written = if self.raw { FileFormat::Raw } else { FileFormat::Dudley };
        check_name(&self.output, written, "choose another name")?;
        session.check_inputs(&self.output, &[])?;
        let mut target = OutputFile::create(&self.output, WriteBasis::Nothing, session)?;
        let order = session.args.byteorder().or(layout.order()).unwrap_or(native_order());
        let storage = match (self.raw, self.bare) {
            (true, _) => LayoutStorage::Raw,
            (false, true) => LayoutStorage::Separate,
            (false, false) => LayoutStorage::Embedded,
        };
        filling.write(&layout, order, storage, limits, &mut target.writer())?;
        let written = target.commit(session)?;
        let report = json!({"file": self.output, "written": true, "size": written});
        report_written(&self.output, &report, &format!("{}: {}", self.output, display_size(written)), session)?;
        Ok(Outcome::Success)
    }
}

/// `NAME=VALUE` taken apart.
fn split_assignment<'g>(given: &'g str, example: &str) -> Result<(&'g str, &'g str)> {
    given.split_once('=').ok_or_else(|| Error::invalid_input(format!("{given:?} has no `=`")).hint(format!("write it as {example}")))
}
