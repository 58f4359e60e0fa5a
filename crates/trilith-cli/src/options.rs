//! The options that every command shares.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use clap::{Args, ValueEnum};
use serde_json::Value;
use trilith::asdf::AsdfFile;
use trilith::asdf::{ReferenceLog, uris};
use trilith::bytes::{self, BaseUri, DirectoryResolver, LocalOptions, RemoteOptions, Resolve, Source, SourceRef};
use trilith::dudley::{DudleyFile, FileSelection, ParamSetting};
use trilith::file::{FileKind, FileSet, ReferencePermissions};
use trilith::layout::{Byteorder, Layout};
use trilith::tree::Tree;
use trilith::{Error, File, Limits, OpenOptions, Result, file};

use crate::item_arg::ItemArg;
use crate::output::Output;

/// Options shared by all commands.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Options {
    /// Print JSON instead of text: one document, or one line for each of several files
    #[arg(long, global = true, hide_short_help = true)]
    pub json: bool,
    /// Print no progress and no warnings
    #[arg(long, short, global = true, hide_short_help = true)]
    pub quiet: bool,
    /// Print more details
    #[arg(long, short, global = true, hide_short_help = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Colour the output
    #[arg(long, global = true, hide_short_help = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Number of threads (also TRILITH_THREADS; default: one per core)
    #[arg(long, global = true, hide_short_help = true, value_name = "N")]
    pub threads: Option<usize>,
    /// Do not map files into memory (the default for commands)
    #[arg(long, global = true, hide_short_help = true)]
    pub no_mmap: bool,
    /// Raise or lower a limit against hostile files, e.g. depth=1000 or memory=8G
    #[arg(long = "limit", global = true, hide_short_help = true, value_name = "NAME=VALUE")]
    pub limits: Vec<String>,
    /// Permit references of a file to this folder (DIR/, .., file:///DIR/) or to URLs that begin like this
    #[arg(long = "allow", global = true, hide_short_help = true, value_name = "DIR|URL-PREFIX")]
    pub allow: Vec<String>,
    /// Set an option for remote files, e.g. timeout=5, cache=256M or cache-dir=PATH (also TRILITH_REMOTE)
    #[arg(long = "remote", global = true, hide_short_help = true, value_name = "NAME=VALUE")]
    pub remote: Vec<String>,
    /// Download a remote file whole, however large, if its server does not support range requests
    #[arg(long, global = true, hide_short_help = true)]
    pub download: bool,
    /// Replace an existing object in a bucket, or existing files of commands that would refuse it
    #[arg(long, global = true, hide_short_help = true)]
    pub overwrite: bool,
    /// `true` if the command reads all of its files. A server without range requests may then send them whole.
    #[arg(skip)]
    pub whole: bool,
    /// The alternative for a Dudley file, if the command is not for one.
    #[arg(skip)]
    pub instead: &'static str,
    /// Values of `-o` with the words after them.
    #[arg(skip)]
    pub followed_outputs: Vec<(String, String)>,
    /// `true` if a malformed file is an answer of the command.
    #[arg(skip)]
    pub malformed_is_no: bool,
    /// `true` if a catalog is opened as the file that it is, not as the files that it lists.
    #[arg(skip)]
    pub itself: bool,
    /// Use only these files of a catalog, counted from 0; several ranges with commas: 0:10,20:. If the shape of an item
    /// differs between them: pad it with masked elements, give each file's array in a list, or join it along=AXIS
    #[arg(long = "files", global = true, hide_short_help = true, value_name = "FIRST:END,pad|each|along=AXIS")]
    pub of_catalog: Option<String>,
    /// Use only the files of a catalog whose values in the summary block meet this condition: 'time > 3.5 and nx == 16'
    #[arg(long = "where", global = true, hide_short_help = true, value_name = "EXPR")]
    pub condition: Option<String>,
    /// `true` if the condition of `--where` is one on the rows that the command makes.
    #[arg(skip)]
    pub is_of_rows: bool,
    /// `true` if the command finds the cards of FITS files as attributes, and not as rows of a tree.
    #[arg(skip)]
    pub omits_card_rows: bool,
    /// The layout that `--layout` names, once it is read.
    #[arg(skip)]
    layout: OnceLock<Layout>,
    /// The limits with the budget of this command, once they are known.
    #[arg(skip)]
    budget: OnceLock<Limits>,
    /// Remarks from following references, in the files that were opened.
    #[arg(skip)]
    notes: Mutex<Vec<ReferenceLog>>,
    /// Files that were opened, and files that the output refers to.
    #[arg(skip)]
    inputs: Mutex<Vec<String>>,
    /// Read the file with this Dudley layout, independent of its first bytes
    #[arg(long = "layout", global = true, hide_short_help = true, value_name = "L.dud")]
    pub under: Option<String>,
    /// Give a fixed parameter of the layout this value; fill follows from the length of the file
    #[arg(id = "param", long = "param", global = true, hide_short_help = true, value_name = "NAME=N|fill")]
    pub layout_params: Vec<String>,
    /// Read the stored elements of arrays, without applying scale, offset and missing values
    #[arg(long, global = true, hide_short_help = true)]
    pub stored: bool,
    /// `true` if attributes that say how to decode the elements are kept next to stored ones.
    #[arg(skip)]
    pub encoded: bool,
    /// Byte order of data if neither the layout nor the file gives it
    #[arg(long = "byteorder", global = true, hide_short_help = true, value_name = "ORDER")]
    pub stream_order: Option<ByteorderArg>,
}

/// A byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByteorderArg {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR, CLICOLOR=0 or TERM=dumb is set; anywhere with CLICOLOR_FORCE.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Options {
    /// Applies what is set once for the whole process.
    pub(crate) fn apply_process_settings(&self) -> Result<()> {
        if let Some(threads) = self.threads.or_else(trilith_io::threads::threads_from_env) {
            trilith_io::threads::set_threads(Some(threads));
        }
        crate::style::set_choice(match self.color {
            ColorChoice::Auto => None,
            ColorChoice::Always => Some(true),
            ColorChoice::Never => Some(false),
        });
        crate::output::count_for(self.command_limits()?);
        Ok(())
    }

    /// Prints to stdout: with `--json` a document, else what `text` writes.
    pub(crate) fn print_json_or_text(
        &self,
        json: impl FnOnce() -> Value,
        text: impl FnOnce(&mut Output) -> Result<()>,
    ) -> Result<()> {
        if self.json { Output::print_json(&json()) } else { Output::print_with(text) }
    }

    /// The limits: defaults, environment, then `--limit`. They have one budget, which counts everything that the command
    /// reads and writes.
    pub(crate) fn command_limits(&self) -> Result<Limits> {
        if let Some(limits) = self.budget.get() {
            return Ok(limits.clone());
        }
        let limits = self.limits_of_each()?;
        Ok(self.budget.get_or_init(|| limits.for_command(0)).clone())
    }

    /// The limits without the budget: for a command that runs as long as it gets requests.
    pub(crate) fn limits_of_each(&self) -> Result<Limits> {
        let mut limits = Limits::from_env()?;
        for assignment in &self.limits {
            limits.set(assignment)?;
        }
        Ok(limits)
    }

    /// Returns the options for remote files: defaults, environment, then the options.
    pub(crate) fn remote_options(&self) -> Result<RemoteOptions> {
        let mut remote = RemoteOptions::from_env()?;
        for assignment in &self.remote {
            remote.set(assignment)?;
        }
        for prefix in ReferencePermissions::read(&self.allow)?.addresses() {
            remote.allow(prefix)?;
        }
        remote.download |= self.download;
        remote.overwrite |= self.overwrite;
        remote.whole = self.whole;
        remote.watch = crate::progress::download_callback(self.quiet);
        Ok(remote)
    }

    /// Opens a file to read; `-` is standard input.
    pub(crate) fn open_source(&self, path: &str) -> Result<SourceRef> {
        self.open_with(path, &self.command_limits()?).map(|(source, _)| source)
    }

    /// Opens a file to read, and gives what opens the files that it refers to.
    pub(crate) fn open_with(&self, path: &str, limits: &Limits) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        self.add_input(path.to_owned());
        let (source, resolve) = self.open_with_resolver(path, limits).map_err(|error| match ItemArg::parse(path) {
            ItemArg { file, path: Some(_) } if bytes::path_of(&file).exists() => {
                Error::invalid_input(format!("expected a whole file, not an item of it: {path}")).hint(format!("give {file}"))
            }
            _ => error,
        })?;
        limits.add_input(source.len());
        if self.whole {
            crate::progress::add_expected(source.len());
        }
        Ok((source, resolve))
    }

    fn open_with_resolver(&self, path: &str, limits: &Limits) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        let opening = self.open_options()?.limits(limits.clone());
        if path == "-" {
            return Ok((bytes::spool(std::io::stdin().lock(), "-", limits.spool)?, opening.resolver(path)));
        }
        opening.source(bytes::path_of(path))
    }

    /// Returns the library's options for opening files, as the command line sets them.
    pub(crate) fn open_options(&self) -> Result<OpenOptions> {
        // A file that another process truncates under a map would kill the command, and the commands
        // go through their files from front to back, where a map gains nothing.
        let mut files = self.of_catalog.as_deref().map(FileSelection::parse).transpose()?.unwrap_or_default();
        files.condition = self.condition.clone().filter(|_| !self.is_of_rows);
        let params: Result<_> = self.layout_params.iter().map(|text| ParamSetting::parse(text)).collect();
        // `layout write` has parameters with values of other forms.
        let params = if self.under.is_some() { params? } else { params.unwrap_or_default() };
        let opening = OpenOptions::new().limits(self.command_limits()?).memory_map(false).byteorder(self.byteorder());
        let opening = opening.open_catalog_only(self.itself).select_files(files).layout_params(params);
        Ok(opening
            .allow(ReferencePermissions::read(&self.allow)?)
            .remote(self.remote_options()?)
            .stored_values(self.stored)
            .encoded(self.encoded)
            .card_rows(!self.omits_card_rows))
    }

    /// Opens a file of any family, under `--layout` if that is given; `-` is standard input.
    pub(crate) fn open_file(&self, path: &str) -> Result<File> {
        let file = self.open_one(path, &self.command_limits()?)?;
        self.watch_file(&file);
        Ok(file)
    }

    /// Opens one file of several, under `--layout` if that is given; what is read of it counts towards `limits`.
    pub(crate) fn open_one(&self, path: &str, limits: &Limits) -> Result<File> {
        let layout = match (&self.under, self.layout.get()) {
            (None, _) => None,
            (Some(_), Some(known)) => Some(known.clone()),
            (Some(under), None) => {
                let read = self.read_layout(under, limits)?;
                Some(self.layout.get_or_init(|| read).clone())
            }
        };
        self.open_through(path, &self.open_options()?.limits(limits.clone()).layout(layout), limits)
    }

    /// Opens a file of any family, under a layout if one is named.
    pub(crate) fn open_with_layout(&self, path: &str, layout: Option<&str>) -> Result<File> {
        let limits = self.command_limits()?;
        let layout = layout.map(|path| self.read_layout(path, &limits)).transpose()?;
        let file = self.open_through(path, &self.open_options()?.layout(layout), &limits)?;
        self.watch_file(&file);
        Ok(file)
    }

    /// Opens the files that a catalog lists as one file. `layout` is the layout of these files, which have no signature
    /// if they are `raw`.
    pub(crate) fn open_family(&self, catalog: &str, layout: Option<Layout>, raw: bool) -> Result<File> {
        self.open_through(
            catalog,
            &self.open_options()?.open_catalog_only(false).file_set_layout(layout).without_signature(raw),
            &self.command_limits()?,
        )
    }

    /// Opens one of the files of a set by its path.
    pub(crate) fn open_file_set_member(&self, path: &str, set: &FileSet, row: usize) -> Result<File> {
        let limits = self.command_limits()?;
        let how = set.catalog().stream_options(row, set.template(), &limits)?;
        let order = how.order.or(self.byteorder()).or(set.native_byteorder());
        let opening = self.open_options()?.select_files(FileSelection::default()).byteorder(order).layout_params(Vec::new());
        self.open_through(path, &opening.layout(how.layout), &limits)
    }

    /// Opens a catalog as the file that it is.
    pub(crate) fn open_catalog(&self, catalog: &str) -> Result<DudleyFile> {
        self.open_through(catalog, &self.open_options()?.open_catalog_only(true), &self.command_limits()?)?.into_dudley()
    }

    fn open_through(&self, path: &str, opening: &OpenOptions, limits: &Limits) -> Result<File> {
        let (source, resolve) = self.open_with(path, limits)?;
        opening.open_source(source, resolve)
    }

    fn watch_file(&self, file: &File) {
        if let Some(file) = file.as_asdf() {
            self.collect_notes(file);
        }
    }

    /// The values that `--param` gives to fixed parameters of the layout.
    pub(crate) fn param_settings(&self) -> Result<Vec<(String, ParamSetting)>> {
        if self.under.is_none() && !self.layout_params.is_empty() {
            return Ok(Vec::new());
        }
        self.layout_params.iter().map(|text| ParamSetting::parse(text)).collect()
    }

    /// The byte order that `--byteorder` gives.
    pub(crate) fn byteorder(&self) -> Option<Byteorder> {
        self.stream_order.map(|order| match order {
            ByteorderArg::Little => Byteorder::Little,
            ByteorderArg::Big => Byteorder::Big,
        })
    }

    /// The text of the layout that `--layout` names.
    pub(crate) fn layout_text(&self, limits: &Limits) -> Result<Option<Vec<u8>>> {
        self.under.as_deref().map(|path| self.read_text(path, limits)).transpose()
    }

    /// Reads a text, in at most as many bytes as the limit `text` allows.
    pub(crate) fn read_text(&self, path: &str, limits: &Limits) -> Result<Vec<u8>> {
        let source = self.open_source(path)?;
        if source.len() > limits.text {
            return Err(Limits::exceeded_error("text", limits.text, format_args!("{path} has {} bytes", source.len())));
        }
        bytes::read_vec(&*source, 0, source.len(), limits)
    }

    /// Reads a layout; the error has the place of the fault.
    pub(crate) fn read_layout(&self, path: &str, limits: &Limits) -> Result<Layout> {
        let text = self.read_text(path, limits)?;
        Layout::read(&text).map_err(|error| error.context(path.to_owned()))
    }

    /// Opens a file like [`Options::open_asdf`] whose text is written to `output`. Its references are converted so
    /// that they have the same targets from there.
    pub(crate) fn open_asdf_for(&self, path: &str, output: &str) -> Result<AsdfFile> {
        let file = self.open_asdf(path)?;
        if path == output { Ok(file) } else { self.for_output(file.into(), &BaseUri::of_file(output))?.into_asdf() }
    }

    /// Returns the file with its references converted to begin at `base`. A warning says which of them lead out
    /// of the folder there, since they are opened only if that is allowed.
    pub(crate) fn for_output(&self, file: File, base: &BaseUri) -> Result<File> {
        let is_moved = file.as_asdf().is_some_and(|asdf| asdf.base() != *base);
        let file = file.rebased_to(base)?;
        let Some(asdf) = file.as_asdf() else { return Ok(file) };
        let uris = self.add_references(asdf, asdf.tree())?;
        if let (true, BaseUri::Folder(folder)) = (is_moved, base) {
            let there = DirectoryResolver::new(folder, LocalOptions::default(), 1);
            if let Some(first) = uris.iter().find(|uri| !uri.is_empty() && !there.permits(uri)) {
                self.warn(&format!("the new file refers to files outside of its folder ({first}): read it with --allow"));
            }
        }
        Ok(file)
    }

    /// Opens a file of the ASDF family; its references may lead into its folder and those below.
    pub(crate) fn open_asdf(&self, path: &str) -> Result<AsdfFile> {
        let file = self.open_one_asdf(path, &self.command_limits()?)?;
        self.collect_notes(&file);
        Ok(file)
    }

    /// Opens one file of several like [`Options::open_asdf`]. The bytes read count towards `limits`.
    pub(crate) fn open_one_asdf(&self, path: &str, limits: &Limits) -> Result<AsdfFile> {
        if self.under.is_some() {
            return Err(Error::unsupported("this command does not read files under a Dudley layout").hint(self.instead));
        }
        let (source, resolve) = self.open_with(path, limits)?;
        self.check_not_dudley(&*source)?;
        file::open_asdf_source(source, resolve, limits)
    }

    /// Returns `true` for a file under a layout: one that the options name, or its own. Standard input is read once, and not here.
    pub(crate) fn is_dudley(&self, path: &str) -> bool {
        if self.under.is_some() || path == "-" {
            return self.under.is_some();
        }
        let start = |source: SourceRef| bytes::read_vec(&*source, 0, source.len().min(80), &self.command_limits()?);
        let Ok(start) = bytes::open(bytes::path_of(path), LocalOptions::default()).and_then(start) else { return false };
        match FileKind::detect(&start) {
            Some(kind) => kind == FileKind::Dudley,
            None => self.open_file(path).is_ok_and(|file| file.as_dudley().is_some()),
        }
    }

    /// Refuses a native Dudley file, and names the command for it.
    pub(crate) fn check_not_dudley(&self, source: &dyn Source) -> Result<()> {
        let start = bytes::read_vec(source, 0, source.len().min(80), &self.command_limits()?)?;
        if FileKind::detect(&start) != Some(FileKind::Dudley) {
            return Ok(());
        }
        let message = format!("{} is a Dudley file; this command works on files of the ASDF family", source.name());
        Err(Error::unsupported(message).hint(self.instead))
    }

    fn collect_notes(&self, file: &AsdfFile) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(file.reference_log().clone());
    }

    /// Adds the targets of a tree's references to the inputs, because overwriting them would break the tree.
    /// Returns the references as they are written.
    pub(crate) fn add_references(&self, file: &AsdfFile, tree: &Tree) -> Result<BTreeSet<String>> {
        let uris: BTreeSet<String> = uris(tree, file.limits())?.into_iter().map(|found| found.uri).collect();
        for path in uris.iter().filter_map(|uri| file.absolute(uri).as_deref().and_then(bytes::local_path)) {
            self.add_input(bytes::name_of(&path).into_owned());
        }
        Ok(uris)
    }

    /// A file that the command reads, which it does not write over.
    pub(crate) fn add_input(&self, path: String) {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    }

    /// Adds the files that a list at `path` names, relative to it, to the inputs.
    pub(crate) fn add_inputs_beside(&self, path: &str, names: &[String]) {
        let path = bytes::path_of(path);
        let folder = path.parent().unwrap_or(Path::new(""));
        names.iter().for_each(|name| self.add_input(bytes::name_of(&folder.join(name)).into_owned()));
    }

    /// Returns every file that was opened so far, or that a file which is written refers to.
    pub(crate) fn collect_inputs(&self) -> Vec<String> {
        let mut all = self.inputs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.extend(self.notes.lock().unwrap_or_else(PoisonError::into_inner).iter().flat_map(ReferenceLog::files));
        all
    }

    /// Prints on stderr what came up while references were followed, once the command is done.
    pub(crate) fn warn_of_references(&self) {
        let files: Vec<ReferenceLog> = std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        let all: BTreeSet<String> = files.iter().flat_map(ReferenceLog::remarks).collect();
        self.warn_all(all.into_iter().collect());
    }

    /// Prints on stderr what is odd about a file, unless `--quiet`.
    pub(crate) fn warn_about(&self, file: &AsdfFile) {
        self.warn_all(file.warnings());
    }

    /// Prints warnings on stderr, unless `--quiet`.
    pub(crate) fn warn_all(&self, warnings: Vec<String>) {
        for warning in warnings {
            self.warn(&warning);
        }
    }

    /// Warns of content of unused space that a new file leaves out, unless it keeps it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub(crate) fn warn_of_omission(&self, file: &AsdfFile, keeps_unused: bool) -> Result<()> {
        if !keeps_unused {
            self.warn_all(file.sections().omission_note()?.into_iter().collect());
        }
        Ok(())
    }

    /// Prints a warning on stderr, unless `--quiet`.
    pub(crate) fn warn(&self, message: &str) {
        if !self.quiet {
            crate::output::eprint_line(&format!("warning: {message}"));
        }
    }
}
