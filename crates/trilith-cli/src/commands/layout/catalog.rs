//! `trilith layout catalog L.dud FILES… -o C.bd`: the parameters of every file of a family.

use std::path::Path;

use clap::Args;
use serde_json::json;
use trilith::bytes::{Basis, name_of, path_of};
use trilith::dudley::{Catalog, DudleyFile, Listing, Mismatch, StreamOptions, folder_of, native_order, place_of};
use trilith_io::error::counted;
use trilith::file::Gather;
use trilith::layout::{Byteorder, Layout};
use trilith::{Error, Limits, Result, bytes};

use crate::Outcome;
use crate::options::Options;
use crate::output::size;
use crate::outputs::{Form, check_absent, check_name, told};
use crate::output_file::Target;

/// Write a catalog of a file set: its files and the parameters of each
///
/// The catalog also holds the layout, so other commands read the set as one file: trilith get C.bd#/x. The parameters
/// are read under the layout. Contradictions of a file (a separate layout with other values, an end before its data
/// end) are listed. The exit status is then 1, and no catalog is written. With --check an existing catalog is compared
/// with its files instead. FILE.dud may be a catalog: its layout is that of its files.
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    input: super::Input,
    /// The files of the set: files, folders and patterns in the folder of the catalog or below it, and URLs. Those of a folder or
    /// a pattern are in natural order of their names (2 before 10)
    #[arg(value_name = "FILES", conflicts_with = "check")]
    files: Vec<String>,
    /// The catalog to write
    #[arg(short, long, value_name = "C.bd", required_unless_present = "check")]
    output: Option<String>,
    /// Compare this catalog with the files that it lists
    #[arg(long, value_name = "C.bd")]
    check: Option<String>,
    /// Keep the files that the catalog already lists, and add FILES
    #[arg(long, requires = "output", conflicts_with = "overwrite")]
    add: bool,
    /// List the files in the order of this parameter or number of the summary block, such as time
    #[arg(long, value_name = "PARAMETER", conflicts_with_all = ["check", "add"])]
    sort: Option<String>,
}

impl List {
    /// Writes or checks a catalog.
    pub(super) fn run(&self, options: &Options) -> Result<Outcome> {
        let Some(layout) = self.input.load_template(options)? else { return Ok(Outcome::No) };
        let limits = options.limits()?;
        match (&self.check, &self.output) {
            (Some(catalog), _) => self.compare(catalog, &layout, options),
            (None, Some(output)) => self.write(output, &layout, &limits, options),
            (None, None) => Err(Error::invalid_input("name the catalog to write").hint("-o C.bd")),
        }
    }

    fn write(&self, output: &str, layout: &Layout, limits: &Limits, options: &Options) -> Result<Outcome> {
        let known = if self.add { Some(options.open_catalog(output)?) } else { None };
        check_absent([&path_of(output).into_owned()].into_iter().filter(|_| output != "-"), options.overwrite || self.add)?;
        let listed = known.as_ref().map(Catalog::read).transpose()?;
        let named = Gather::new().all(true).all_named(&self.files, &path_of(output), self.add)?;
        let files = Listing::files(&path_of(output), listed.as_ref(), named.iter().map(|name| path_of(name)))?;
        // Files without a signature are in the byte order of the catalog, as those that it lists.
        let order = options.order().or(known.as_ref().and_then(DudleyFile::signature).map(|signature| signature.order));
        let mut open = |path: &Path, layout: Option<&Layout>| match layout {
            Some(layout) => under(&name_of(path), layout, order, options),
            None => options.open_under(&name_of(path), None)?.into_dudley(),
        };
        let files = match &self.sort {
            Some(by) => Listing::sort(files, by, layout, &mut open)?,
            None => files,
        };
        // A catalog is no file with a layout that it could name.
        let template = self.input.catalog(options)?.is_none().then(|| path_of(&self.input.file));
        let listing = Listing::read(&path_of(output), template.as_deref(), &files, layout, &mut open);
        let listing = match listing {
            Ok(listing) => listing,
            Err(error) => return super::failed(error, options),
        };
        if !listing.mismatches.is_empty() {
            return differ(&listing.mismatches, options);
        }
        let (draft, rows) = (listing.draft()?, &listing.rows);
        check_name(output, Form::Dudley, "name it otherwise")?;
        let rewritten: Vec<&str> = if self.add { vec![output] } else { Vec::new() };
        options.check_inputs(output, &rewritten)?;
        let basis = known.as_ref().map_or(Basis::Nothing, |known| Basis::Own(&**known.source()));
        let mut target = Target::create(output, basis, options)?;
        draft.write(listing.order().unwrap_or(native_order()), limits, &mut target.writer())?;
        let written = target.commit(options)?;
        let report = json!({"file": output, "written": true, "size": written, "files": rows.len()});
        told(output, &report, &format!("{output}: {}, {}", counted(rows.len(), "file"), size(written)), options)?;
        Ok(Outcome::Yes)
    }

    fn compare(&self, path: &str, layout: &Layout, options: &Options) -> Result<Outcome> {
        let limits = options.limits()?;
        let stream = options.open_catalog(path)?;
        let catalog = Catalog::read(&stream)?;
        let folder = folder_of(&path_of(path))?;
        let order = options.order().or(stream.signature().map(|signature| signature.order));
        let mut open = |name: &str| under(&name_of(&place_of(&folder, name)), layout, order, options);
        let found = catalog.compare(layout, &mut open, &limits)?;
        if !found.is_empty() {
            return differ(&found, options);
        }
        let same = json!({"same": true, "differences": []});
        told(path, &same, &format!("{path}: OK ({})", counted(catalog.len(), "file")), options)?;
        Ok(Outcome::Yes)
    }
}

/// A file of the family.
fn under(path: &str, layout: &Layout, order: Option<Byteorder>, options: &Options) -> Result<DudleyFile> {
    let mut how = StreamOptions::default();
    how.layout = Some(layout.clone());
    how.order = order;
    DudleyFile::open_with(options.open(path)?, &bytes::NoReferences, how, &options.limits()?)
}

/// Lists what differs.
fn differ(found: &[Mismatch], options: &Options) -> Result<Outcome> {
    let one_json = |one: &Mismatch| json!({"file": one.file, "message": one.message});
    options.print(
        || json!({"same": false, "differences": found.iter().map(one_json).collect::<Vec<_>>()}),
        |out| found.iter().try_for_each(|one| out.line(&format!("{}: {}", one.file, one.message))),
    )?;
    Ok(Outcome::No)
}
