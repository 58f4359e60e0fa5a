//! The state of one run of a command: how its files are opened, what was read so far, and the one budget of it all.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;
use trilith::asdf::{AsdfFile, ReferenceLog};
use trilith::bytes::{self, BaseUri, DirectoryResolver, LocalOptions, RemoteOptions, Resolve, Source, SourceRef};
use trilith::dudley::{DudleyFile, FileSelection, LayoutOrigin, ParamSetting, StreamOptions};
use trilith::file::{FileKind, FileSet, ReferencePermissions};
use trilith::layout::Layout;
use trilith::tree::Tree;
use trilith::{Error, ErrorKind, File, Limits, Location, OpenOptions, Result, file};

use crate::common_args::{ColorChoice, CommonArgs};
use crate::item_arg::ItemArg;
use crate::output::Output;

/// The way in which a command reads its files, which the command alone decides.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InputRules {
    /// `true` if the command reads all of its files. A server without range requests may then send them whole.
    pub is_whole: bool,
    /// `true` if a malformed file is a negative result of the command (exit status 1), and not a failure (2).
    pub malformed_is_negative: bool,
    /// `true` if an item that is not there is a negative result of the command (exit status 1), and not a failure (2).
    pub missing_is_negative: bool,
    /// `true` if a catalog is opened as the file that it is, not as the files that it lists.
    pub is_catalog_only: bool,
    /// `true` if the condition of `--where` is one on the rows that the command makes.
    pub is_of_rows: bool,
    /// `true` if the command finds the cards of FITS files as attributes, and not as rows of a tree.
    pub omits_card_rows: bool,
    /// `true` if attributes that say how to decode the elements are kept next to stored ones.
    pub is_encoded: bool,
    /// `true` if `--param` of the command has values of another form, for a file that it writes.
    pub has_own_params: bool,
    /// The alternative for a Dudley file, if the command is not for one.
    pub dudley_alternative: &'static str,
}

impl InputRules {
    /// Returns `true` if an error is a negative result of the command.
    pub(crate) fn is_negative(self, error: &Error) -> bool {
        match error.kind() {
            ErrorKind::Malformed => self.malformed_is_negative,
            ErrorKind::NotFound => self.missing_is_negative,
            _ => false,
        }
    }
}

/// The content that a command expects of a file.
#[derive(Clone, Copy)]
pub(crate) enum FileRole<'r> {
    /// A file of any family, under `--layout` if that is given.
    Any,
    /// A file of any family, under this layout if there is one.
    Under(Option<&'r str>),
    /// A file of the ASDF family. Its references may lead into its folder and those below.
    Tree,
    /// A file of the ASDF family whose text is written to this output: its references are converted so that they have the
    /// same targets from there.
    TreeFor(&'r str),
    /// A catalog, as the file that it is.
    Catalog,
    /// The files that a catalog lists, as one file.
    FileSet {
        /// The layout of these files.
        layout: Option<&'r Layout>,
        /// `true` if they have no signature.
        is_raw: bool,
    },
    /// One of the files of a set.
    Member {
        /// The set.
        set: &'r FileSet,
        /// Number of the file in the catalog.
        row: usize,
    },
}

/// One run of a command, or the work on one of its files: what was typed, and the state.
pub(crate) struct Session<'a> {
    /// The arguments.
    pub args: &'a CommonArgs,
    /// The rules of the command.
    pub rules: InputRules,
    /// The limits, with one budget for everything that is read and written.
    limits: Limits,
    /// Remarks from following references, in the files that were opened.
    reference_logs: Mutex<Vec<ReferenceLog>>,
    shared: Arc<SharedState>,
}

/// The state that the work on all files of a command shares.
struct SharedState {
    /// Values of `-o` with the words after them.
    followed_outputs: Vec<(String, String)>,
    /// The layout that `--layout` names, once it is read.
    layout: OnceLock<Layout>,
    /// The options for remote files, once they are read.
    remote: OnceLock<RemoteOptions>,
    /// Files that were opened, and files that the output refers to.
    inputs: Mutex<Vec<String>>,
    /// Standard input, once it was read.
    standard_input: Mutex<Option<SourceRef>>,
}

impl<'a> Session<'a> {
    /// Begins a run, and applies what is set once for the process. `followed_outputs` are values of `-o` with the words after
    /// them.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if a limit is none.
    pub(crate) fn start_run(args: &'a CommonArgs, rules: InputRules, followed_outputs: Vec<(String, String)>) -> Result<Self> {
        if let Some(threads) = args.threads.or_else(trilith_io::threads::threads_from_env) {
            trilith_io::threads::set_threads(Some(threads));
        }
        crate::style::set_choice(match args.color {
            ColorChoice::Auto => None,
            ColorChoice::Always => Some(true),
            ColorChoice::Never => Some(false),
        });
        let limits = args.parse_limits()?.for_command(0);
        crate::output::count_for(limits.clone());
        let shared = Arc::new(SharedState {
            followed_outputs,
            layout: OnceLock::new(),
            remote: OnceLock::new(),
            inputs: Mutex::default(),
            standard_input: Mutex::default(),
        });
        Ok(Self { args, rules, limits, reference_logs: Mutex::default(), shared })
    }

    /// Returns the session for the work on one file of several: it has a separate budget, and collects the remarks of this file.
    pub(crate) fn for_job(&self) -> Self {
        Self {
            args: self.args,
            rules: self.rules,
            limits: self.limits.for_command(0),
            reference_logs: Mutex::default(),
            shared: Arc::clone(&self.shared),
        }
    }

    /// The limits: defaults, environment, then `--limit`. They have one budget, which counts everything that is read and
    /// written.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Values of `-o` with the words after them.
    pub(crate) fn followed_outputs(&self) -> &[(String, String)] {
        &self.shared.followed_outputs
    }

    /// Prints to stdout: with `--json` a document, else what `text` writes.
    pub(crate) fn print_json_or_text(
        &self,
        json: impl FnOnce() -> Value,
        text: impl FnOnce(&mut Output) -> Result<()>,
    ) -> Result<()> {
        if self.args.json { Output::print_json(&json()) } else { Output::print_with(text) }
    }

    /// Returns the options for remote files: defaults, environment, then the options.
    pub(crate) fn remote_options(&self) -> Result<RemoteOptions> {
        if let Some(known) = self.shared.remote.get() {
            return Ok(known.clone());
        }
        let mut remote = RemoteOptions::from_env()?;
        for assignment in &self.args.remote {
            remote.set(assignment)?;
        }
        for prefix in ReferencePermissions::read(&self.args.allow)?.addresses() {
            remote.allow(prefix)?;
        }
        remote.download |= self.args.download;
        remote.overwrite |= self.args.overwrite;
        remote.whole = self.rules.is_whole;
        remote.watch = crate::progress::download_callback(self.args.quiet);
        Ok(self.shared.remote.get_or_init(|| remote).clone())
    }

    /// Returns the library's options for opening files, as the command line sets them.
    pub(crate) fn open_options(&self) -> Result<OpenOptions> {
        let args = self.args;
        // A file that another process truncates under a map would kill the command, and the commands
        // go through their files from front to back, where a map gains nothing.
        let mut files = args.of_catalog.as_deref().map(FileSelection::parse).transpose()?.unwrap_or_default();
        files.condition = args.condition.clone().filter(|_| !self.rules.is_of_rows);
        let params = self.layout_params()?;
        let opening = OpenOptions::new().limits(self.limits.clone()).memory_map(false).byteorder(args.byteorder());
        let opening = opening.open_catalog_only(self.rules.is_catalog_only).select_files(files).layout_params(params);
        Ok(opening
            .allow(ReferencePermissions::read(&args.allow)?)
            .remote(self.remote_options()?)
            .stored_values(args.stored)
            .encoded(self.rules.is_encoded)
            .card_rows(!self.rules.omits_card_rows))
    }

    /// Returns the values that `--param` gives to fixed parameters of the layout.
    pub(crate) fn layout_params(&self) -> Result<Vec<(String, ParamSetting)>> {
        let texts = if self.rules.has_own_params { &[] } else { &self.args.layout_params[..] };
        texts.iter().map(|text| ParamSetting::parse(text)).collect()
    }

    /// Refuses `--param` for a file whose layout it does not change: one that has its own, and one without.
    fn check_params_apply(&self, file: &File, path: &str, role: FileRole<'_>) -> Result<()> {
        let is_under = match role {
            FileRole::Any => self.args.under.is_some(),
            FileRole::Under(layout) => layout.is_some(),
            FileRole::Tree | FileRole::TreeFor(_) => false,
            FileRole::Catalog | FileRole::FileSet { .. } | FileRole::Member { .. } => return Ok(()),
        };
        let is_beside = file.as_dudley().is_some_and(|dudley| matches!(dudley.origin(), LayoutOrigin::Sidecar(_)));
        let Some((name, _)) = self.layout_params()?.into_iter().next().filter(|_| !is_under && !is_beside) else { return Ok(()) };
        if file.as_family().is_some() {
            return Ok(());
        }
        let reason = match file.as_dudley().map(DudleyFile::origin) {
            Some(LayoutOrigin::Embedded(_)) => "has its own layout, with the values of its parameters",
            _ => "is not read under a layout",
        };
        Err(Error::invalid_input(format!("cannot set the parameter {name}: {path} {reason}"))
            .hint("leave out --param, or name a layout: --layout L.dud"))
    }

    /// Opens a file; `-` is standard input. The other functions of this type that open one call it, or read only bytes.
    pub(crate) fn open(&self, path: &str, role: FileRole<'_>) -> Result<File> {
        let is_tree = matches!(role, FileRole::Tree | FileRole::TreeFor(_));
        if is_tree && self.args.under.is_some() {
            let message = "this command does not read files under a Dudley layout";
            return Err(Error::unsupported(message).hint(self.rules.dudley_alternative));
        }
        let output = if let FileRole::TreeFor(output) = role { Some(output) } else { None };
        let opening = self.opening_for(role)?;
        let (source, resolve) = self.open_bytes(path, &opening)?;
        let file = if is_tree {
            self.check_not_dudley(&*source)?;
            file::open_asdf_source(source, resolve, &self.limits)?.into()
        } else {
            opening.open_source(source, resolve)?
        };
        self.check_params_apply(&file, path, role)?;
        if let Some(asdf) = file.as_asdf() {
            self.reference_logs.lock().unwrap_or_else(PoisonError::into_inner).push(asdf.reference_log().clone());
        }
        match output {
            Some(output) if output != path => self.for_output(file, &BaseUri::of_file(output)),
            _ => Ok(file),
        }
    }

    /// Returns the options for opening a file in a role.
    fn opening_for(&self, role: FileRole<'_>) -> Result<OpenOptions> {
        let opening = self.open_options()?;
        Ok(match role {
            FileRole::Any => opening.layout(self.common_layout()?),
            FileRole::Under(layout) => opening.layout(layout.map(|path| self.read_layout(path)).transpose()?),
            FileRole::Tree | FileRole::TreeFor(_) => opening,
            FileRole::Catalog => opening.open_catalog_only(true),
            FileRole::FileSet { layout, is_raw } => {
                opening.open_catalog_only(false).file_set_layout(layout.cloned()).without_signature(is_raw)
            }
            FileRole::Member { set, row } => {
                let how = set.catalog().stream_options(row, set.template(), &self.limits)?;
                let order = how.order.or(self.args.byteorder()).or(set.native_byteorder());
                let opening = opening.select_files(FileSelection::default()).byteorder(order).layout_params(Vec::new());
                opening.layout(how.layout)
            }
        })
    }

    /// The layout that `--layout` names, which is read once.
    pub(crate) fn common_layout(&self) -> Result<Option<Layout>> {
        let Some(path) = &self.args.under else { return Ok(None) };
        if let Some(known) = self.shared.layout.get() {
            return Ok(Some(known.clone()));
        }
        let layout = self.read_layout(path)?;
        Ok(Some(self.shared.layout.get_or_init(|| layout).clone()))
    }

    /// Returns how a file under a layout is opened in order to change it.
    pub(crate) fn stream_options(&self) -> Result<StreamOptions> {
        let mut how = StreamOptions::default();
        how.layout = self.common_layout()?;
        how.order = self.args.byteorder();
        how.params = self.layout_params()?;
        Ok(how)
    }

    /// Opens the bytes of a file; `-` is standard input.
    pub(crate) fn open_source(&self, path: &str) -> Result<SourceRef> {
        self.open_with_resolver(path).map(|(source, _)| source)
    }

    /// Opens the bytes of a file, and returns what opens the files that it refers to.
    pub(crate) fn open_with_resolver(&self, path: &str) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        self.open_bytes(path, &self.open_options()?)
    }

    /// Returns the bytes of standard input, which a command may open several times.
    fn standard_input(&self) -> Result<SourceRef> {
        let mut known = self.shared.standard_input.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = &*known {
            return Ok(source.clone());
        }
        let source = bytes::spool(std::io::stdin().lock(), "-", self.limits.spool)?;
        *known = Some(source.clone());
        Ok(source)
    }

    fn open_bytes(&self, path: &str, opening: &OpenOptions) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        self.add_input(path.to_owned());
        let opened = match path {
            "-" => self.standard_input().map(|source| (source, opening.resolver(path))),
            path => opening.source(bytes::path_of(path)),
        };
        let (source, resolve) = opened.map_err(|error| match ItemArg::parse(path) {
            ItemArg { file, path: Some(_) } if bytes::path_of(&file).exists() => {
                Error::invalid_input(format!("expected a whole file, not an item of it: {path}")).hint(format!("give {file}"))
            }
            _ => error,
        })?;
        self.limits.add_input(source.len());
        if self.rules.is_whole {
            crate::progress::add_expected(source.len());
        }
        Ok((source, resolve))
    }

    /// The text of the layout that `--layout` names.
    pub(crate) fn layout_text(&self) -> Result<Option<Vec<u8>>> {
        self.args.under.as_deref().map(|path| self.read_text(path)).transpose()
    }

    /// Reads a text, in at most as many bytes as the limit `text` allows.
    pub(crate) fn read_text(&self, path: &str) -> Result<Vec<u8>> {
        let source = self.open_source(path)?;
        if source.len() > self.limits.text {
            return Err(Limits::exceeded_error("text", self.limits.text, format_args!("{path} has {} bytes", source.len())));
        }
        bytes::read_vec(&*source, 0, source.len(), &self.limits)
    }

    /// Reads a layout; the error has the place of the fault.
    pub(crate) fn read_layout(&self, path: &str) -> Result<Layout> {
        let text = self.read_text(path)?;
        Layout::read(&text).map_err(|error| error.context(path.to_owned()))
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

    /// Returns `true` for a file under a layout: one that the options name, or its own. A layout that was derived from a file of another
    /// format does not count. Standard input is read once, and not here.
    pub(crate) fn is_dudley(&self, path: &str) -> bool {
        if self.args.under.is_some() || path == "-" {
            return self.args.under.is_some();
        }
        let opened = bytes::open(bytes::path_of(path), LocalOptions::default());
        let Ok(kind) = opened.and_then(|source| self.detect_kind(&*source)) else { return false };
        match kind {
            Some(kind) => kind == FileKind::Dudley,
            None => self
                .open(path, FileRole::Any)
                .is_ok_and(|file| file.as_dudley().is_some_and(|found| !matches!(found.origin(), LayoutOrigin::Derived(_)))),
        }
    }

    /// Returns the kind of a file by its first bytes; None for those of other formats.
    pub(crate) fn detect_kind(&self, source: &dyn Source) -> Result<Option<FileKind>> {
        let start = bytes::read_vec(source, 0, source.len().min(80), &self.limits)?;
        Ok(FileKind::detect(&start))
    }

    /// Refuses a native Dudley file, and names the command for it.
    pub(crate) fn check_not_dudley(&self, source: &dyn Source) -> Result<()> {
        if self.detect_kind(source)? != Some(FileKind::Dudley) {
            return Ok(());
        }
        let message = format!("{} is a Dudley file; this command works on files of the ASDF family", source.name());
        Err(Error::unsupported(message).hint(self.rules.dudley_alternative))
    }

    /// Adds the targets of a tree's references to the inputs, because overwriting them would break the tree.
    /// Returns the references as they are written.
    pub(crate) fn add_references(&self, file: &AsdfFile, tree: &Tree) -> Result<BTreeSet<String>> {
        let uris: BTreeSet<String> = file.uris_of(tree)?.into_iter().map(|found| found.uri).collect();
        for path in uris.iter().filter_map(|uri| file.absolute(uri).as_deref().and_then(bytes::local_path)) {
            self.add_input(bytes::name_of(&path).into_owned());
        }
        Ok(uris)
    }

    /// A file that the command reads, which it does not write over.
    pub(crate) fn add_input(&self, path: String) {
        self.shared.inputs.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    }

    /// Adds the files that a list at `path` names, relative to it, to the inputs.
    pub(crate) fn add_inputs_beside(&self, path: &str, names: &[String]) {
        let path = bytes::path_of(path);
        let folder = path.parent().unwrap_or(Path::new(""));
        names.iter().for_each(|name| self.add_input(bytes::name_of(&folder.join(name)).into_owned()));
    }

    /// Returns every file that was opened so far, or that a file which is written refers to.
    pub(crate) fn collect_inputs(&self) -> Vec<String> {
        let mut all = self.shared.inputs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.extend(self.reference_logs.lock().unwrap_or_else(PoisonError::into_inner).iter().flat_map(ReferenceLog::files));
        all
    }

    /// Takes what came up while references of the opened files were followed, in their order.
    pub(crate) fn take_reference_remarks(&self) -> Vec<String> {
        let logs = std::mem::take(&mut *self.reference_logs.lock().unwrap_or_else(PoisonError::into_inner));
        logs.iter().flat_map(ReferenceLog::remarks).collect()
    }

    /// Prints on stderr what came up while references were followed, once the command is done.
    pub(crate) fn warn_of_references(&self) {
        let all: BTreeSet<String> = self.take_reference_remarks().into_iter().collect();
        self.warn_all(all.into_iter().collect());
    }

    /// Adds the name of the only file that was read to an error about a place in it, unless the error has a name.
    pub(crate) fn name_input(&self, error: Error) -> Error {
        let inputs: BTreeSet<String> =
            self.shared.inputs.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        match inputs.iter().filter(|name| Some(*name) != self.args.under.as_ref()).collect::<Vec<_>>()[..] {
            [name] => name_file(error, name),
            _ => error,
        }
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

    /// Warns of content that a copy of a file may lack: what is missing, and the content of unused space unless it is kept.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub(crate) fn warn_of_omission(&self, file: &AsdfFile, keeps_unused: bool) -> Result<()> {
        self.warn_all(file.sections().copy_notes(keeps_unused)?);
        Ok(())
    }

    /// Prints a warning on stderr, unless `--quiet`.
    pub(crate) fn warn(&self, message: &str) {
        if !self.args.quiet {
            crate::output::eprint_line(&format!("warning: {message}"));
        }
    }
}

/// Adds the name of a file to an error about a place in it, unless the error has the name.
pub(crate) fn name_file(error: Error, name: &str) -> Error {
    // Errors without a place are about an argument, or name a file themselves.
    let has_place = *error.location() != Location::Unknown;
    let text = error.to_string();
    let is_named = text.contains(name) || text.contains(&*bytes::display_name(name));
    if has_place && !is_named && name != "-" { error.context(bytes::display_name(name)) } else { error }
}
