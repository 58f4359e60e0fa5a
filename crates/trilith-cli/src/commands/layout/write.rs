//! `trilith layout write L.dud OUT.bd`: a file under a layout that is there already.


use clap::Args;
use serde_json::json;
use trilith::array::Array;
use trilith::bytes::{Basis, path_of};
use trilith::dudley::{Filling, native_order};
use trilith::{Error, Result};

use crate::Outcome;
use crate::options::Options;
use crate::output::size;
use crate::outputs::{Form, check_absent, check_name, told};
use crate::output_file::Target;

/// Write a native file under a layout, such as one of a set of restart files
///
/// Every stored parameter gets its value by --param, every item its data by --from: an item, a list (its elements
/// along the first axis), or a member of `"" = {…}[NREC]`. The layout is put at the end of the file, unless --bare
/// leaves it out.
#[derive(Debug, Args)]
pub(super) struct Write {
    #[command(flatten)]
    input: super::Input,
    /// The file to write
    #[arg(value_name = "OUT.bd")]
    output: String,
    /// The value of a stored parameter, by its path (can be given again)
    #[arg(long = "param", value_name = "NAME=VALUE", num_args = 1..)]
    params: Vec<String>,
    /// The data of items, by their paths, from .npy files (can be given again)
    #[arg(long = "from", value_name = "NAME=FILE.npy", num_args = 1..)]
    from: Vec<String>,
    /// Leave the layout out of the file
    #[arg(long)]
    bare: bool,
}

impl Write {
    /// Writes the file.
    pub(super) fn run(&self, options: &Options) -> Result<Outcome> {
        let Some((layout, _)) = self.input.load(options)? else { return Ok(Outcome::No) };
        check_absent([&path_of(&self.output).into_owned()].into_iter().filter(|_| self.output != "-"), options.overwrite)?;
        let limits = options.limits()?;
        let mut filling = Filling::default();
        for given in &self.params {
            let (name, value) = named(given, "--param N=3")?;
            let value = value.parse().map_err(|_| Error::invalid_input(format!("{value:?} is not a whole number, as parameter {name} is")))?;
            filling.params.push((name.to_owned(), value));
        }
        for given in &self.from {
            let (name, file) = named(given, "--from x=x.npy")?;
            let array = Array::from_npy(options.open(file)?, &limits).map_err(|e| e.context(file.to_owned()))?;
            filling.data.push((name.to_owned(), array));
        }
        check_name(&self.output, Form::Dudley, "name it otherwise")?;
        options.check_inputs(&self.output, &[])?;
        let mut target = Target::create(&self.output, Basis::Nothing, options)?;
        let order = options.order().or(layout.order()).unwrap_or(native_order());
        filling.write(&layout, order, !self.bare, &limits, &mut target.writer())?;
        let written = target.commit(options)?;
        let report = json!({"file": self.output, "written": true, "size": written});
        told(&self.output, &report, &format!("{}: {}", self.output, size(written)), options)?;
        Ok(Outcome::Yes)
    }
}

/// `NAME=VALUE` taken apart.
fn named<'g>(given: &'g str, example: &str) -> Result<(&'g str, &'g str)> {
    given.split_once('=').ok_or_else(|| Error::invalid_input(format!("{given:?} has no `=`")).hint(format!("write it as {example}")))
}
