//! `trilith layout catalog L.dud FILES… -o C.bd`: the parameters of every file of a family.

use std::path::Path;

use clap::Args;
use serde_json::json;
use trilith::bytes::{WriteBasis, name_of, path_of};
use trilith::dudley::{Catalog, DudleyFile, CatalogListing, ParamMismatch, StreamOptions, folder_of, native_order, resolve_name};
use trilith_io::error::count_noun;
use trilith::file::FileFinder;
use trilith::layout::Layout;
use trilith::{Error, Limits, Result, bytes};

use crate::outcome::Outcome;
use crate::session::{FileRole, Session};
use crate::output::display_size;
use crate::outputs::{FileFormat, check_absent, check_name, report_written};
use crate::output_file::OutputFile;

/// Write a catalog of a file set: its files and the parameters of each
///
/// The catalog also contains the layout, so other commands read the set as one file: trilith get C.bd#/x. The command
/// reads the parameters of each file under the layout. If a file contradicts the layout (a separate layout with other
/// values, an end before its data end, another value than the attributes expect_value and expect_range allow), the
/// command lists it, writes no catalog and ends with status 1. --check compares an existing catalog with its files
/// instead. FILE.dud may be a catalog: its layout is that of its files.
///
/// A raw file has the byte order in which it fits its layout, unless --byteorder gives one. With --param NAME=fill each
/// file has the value of a fixed parameter that follows from its length.
#[derive(Debug, Args)]
pub(super) struct CatalogArgs {
    #[command(flatten)]
    input: super::LayoutArg,
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

impl CatalogArgs {
    /// Writes or checks a catalog.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let Some(layout) = self.input.load_template(session)? else { return Ok(Outcome::Negative) };
        let limits = session.limits();
        match (&self.check, &self.output) {
            (Some(catalog), _) => self.compare_catalog(catalog, &layout, session),
            (None, Some(output)) => self.write_catalog(output, &layout, limits, session),
            (None, None) => Err(Error::invalid_input("name the catalog to write").hint("-o C.bd")),
        }
    }

    fn write_catalog(&self, output: &str, layout: &Layout, limits: &Limits, session: &Session<'_>) -> Result<Outcome> {
        let known = if self.add { Some(session.open(output, FileRole::Catalog)?.into_dudley()?) } else { None };
        check_absent([&path_of(output).into_owned()].into_iter().filter(|_| output != "-"), session.args.overwrite || self.add)?;
        let listed = known.as_ref().map(Catalog::read).transpose()?;
        let named = FileFinder::new().all_files(true).all_named(&self.files, &path_of(output), self.add)?;
        let files = CatalogListing::files(&path_of(output), listed.as_ref(), named.iter().map(|name| path_of(name)))?;
        // Files without a signature are in the byte order of the catalog, as those that it lists, unless it has one for each.
        let is_mixed = listed.as_ref().is_some_and(|listed| listed.byteorder_of(0).is_some());
        let of_catalog = known.as_ref().and_then(DudleyFile::signature).map(|signature| signature.order).filter(|_| !is_mixed);
        let order = session.args.byteorder().or(of_catalog);
        let mut how = StreamOptions::default();
        (how.layout, how.order) = (Some(layout.clone()), order);
        how.params = session.layout_params()?;
        listed.as_ref().map_or(Ok(()), |listed| listed.check_added_params(&how.params))?;
        let mut open = |path: &Path, how: StreamOptions| match &how.layout {
            Some(_) => open_with_layout(&name_of(path), how, session),
            None => session.open(&name_of(path), FileRole::Under(None))?.into_dudley(),
        };
        let files = match &self.sort {
            Some(by) => CatalogListing::sort(files, by, &how, &mut open)?,
            None => files,
        };
        // A catalog is not a file with a layout that it could name.
        let template = self.input.read_catalog(session)?.is_none().then(|| path_of(&self.input.file));
        let listing = CatalogListing::read(&path_of(output), template.as_deref(), &files, &how, &mut open);
        let listing = match listing {
            Ok(listing) => listing,
            Err(error) => return super::report_layout_error(error, session),
        };
        warn_odd_files(&listing.warnings, session);
        if !listing.mismatches.is_empty() {
            return report_differences(&listing.mismatches, session);
        }
        let (draft, rows) = (listing.draft()?, &listing.rows);
        check_name(output, FileFormat::Dudley, "choose another name")?;
        let rewritten: Vec<&str> = if self.add { vec![output] } else { Vec::new() };
        session.check_inputs(output, &rewritten)?;
        let basis = known.as_ref().map_or(WriteBasis::Nothing, |known| WriteBasis::LockedBy(&**known.source()));
        let mut target = OutputFile::create(output, basis, session)?;
        draft.write(listing.native_byteorder().unwrap_or(native_order()), limits, &mut target.writer())?;
        let written = target.commit(session)?;
        let report = json!({"file": output, "written": true, "size": written, "files": rows.len()});
        report_written(output, &report, &format!("{output}: {}, {}", count_noun(rows.len(), "file"), display_size(written)), session)?;
        Ok(Outcome::Success)
    }

    fn compare_catalog(&self, path: &str, layout: &Layout, session: &Session<'_>) -> Result<Outcome> {
        let limits = session.limits();
        let stream = session.open(path, FileRole::Catalog)?.into_dudley()?;
        let catalog = Catalog::read(&stream)?;
        let folder = folder_of(&path_of(path))?;
        let order = session.args.byteorder().or(stream.signature().map(|signature| signature.order));
        let mut odd = Vec::new();
        let mut open = |name: &str, mut how: StreamOptions| {
            how.order = how.order.or(order);
            open_with_layout(&name_of(&resolve_name(&folder, name)), how, session)
        };
        let mut warn = |name: &str, message: String| odd.push(format!("{name}: {message}"));
        let found = catalog.compare(layout, &mut open, &mut warn, limits)?;
        warn_odd_files(&odd, session);
        if !found.is_empty() {
            return report_differences(&found, session);
        }
        let same = json!({"same": true, "differences": []});
        report_written(path, &same, &format!("{path}: OK ({})", count_noun(catalog.len(), "file")), session)?;
        Ok(Outcome::Success)
    }
}

/// Warnings that are shown at most.
const MAX_WARNINGS: usize = 20;

/// Names what is odd about some of the files.
fn warn_odd_files(warnings: &[String], session: &Session<'_>) {
    let more = warnings.len().saturating_sub(MAX_WARNINGS);
    let note = (more > 0).then(|| format!("{} more", count_noun(more, "warning")));
    session.warn_all(warnings.iter().take(MAX_WARNINGS).cloned().chain(note).collect::<Vec<_>>());
}

/// A file of the family.
fn open_with_layout(path: &str, how: StreamOptions, session: &Session<'_>) -> Result<DudleyFile> {
    DudleyFile::open_with(session.open_source(path)?, &bytes::NoReferences, how, session.limits())
}

/// Lists what differs.
fn report_differences(found: &[ParamMismatch], session: &Session<'_>) -> Result<Outcome> {
    let one_json = |one: &ParamMismatch| json!({"file": one.file, "message": one.message});
    session.print_json_or_text(
        || json!({"same": false, "differences": found.iter().map(one_json).collect::<Vec<_>>()}),
        |out| found.iter().try_for_each(|one| out.write_line(&format!("{}: {}", one.file, one.message))),
    )?;
    Ok(Outcome::Negative)
}
