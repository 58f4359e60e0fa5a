//! An open file of any family, written in any form.

use std::collections::HashMap;
use std::path::Path;

use super::dudley;
use super::loss::{LossAccount, losses_error};
use super::{ConversionPlan, ConvertOptions, ConvertReport, chunks, convert, fits, items_to_asdf, unreadable};
use crate::asdf::{AsdfBuilder, AsdfFile, Target};
use crate::bytes::{self, NewFile, SourceRef, WriteBasis, WritePath, WriteSeek};
use crate::error::{Error, ErrorKind, Result, SuggestedSetting};
use crate::file::{File, FileFormat, is_read_from, verify_written};
use crate::layout::Dialect;
use crate::limits::Limits;
use crate::progress::Progress;
use crate::tree::Value;

/// The form that a file is written in.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub enum TargetForm {
    /// The ASDF family: the generation of the file, or the newest if it has none.
    #[default]
    Unchanged,
    /// Like [`TargetForm::Unchanged`], but FINF becomes ASDF.
    Asdf,
    /// Like [`TargetForm::Unchanged`], but ASDF becomes FINF.
    Finf,
    /// A given generation of the ASDF family.
    Generation(&'static Target),
    /// A native Dudley file, in this dialect; None is that of the file, or 2025.
    Dudley(Option<Dialect>),
    /// FITS.
    Fits,
}

impl From<&TargetForm> for FileFormat {
    /// The format of the file.
    fn from(to: &TargetForm) -> Self {
        match to {
            TargetForm::Unchanged | TargetForm::Asdf | TargetForm::Finf | TargetForm::Generation(_) => Self::Asdf,
            TargetForm::Dudley(_) => Self::Dudley,
            TargetForm::Fits => Self::Fits,
        }
    }
}

impl TargetForm {
    /// The generation or dialect of a name: `asdf-1.6`, `finf-0.1`, `dudley-2026`, `dudley`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with the names that exist.
    pub fn from_name(name: &str) -> Result<Self> {
        match name.strip_prefix("dudley") {
            _ if name == "fits" => {
                Err(Error::invalid_input("FITS has no generation").hint("give the file a name that ends in .fits"))
            }
            None if Self::names().any(|known| known == name) => Target::from_name(name).map(Self::Generation),
            Some(rest) if rest.is_empty() || Self::names().any(|known| known == name) => Self::from_dudley_suffix(rest),
            _ => Err(Error::unknown("generation", name, Self::names())),
        }
    }

    /// The names that [`TargetForm::from_name`] accepts, oldest first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        crate::asdf::TARGETS.iter().map(|target| target.name).chain(["dudley-2025", "dudley-2026"])
    }

    /// A dialect of Dudley, by what follows `dudley`.
    fn from_dudley_suffix(rest: &str) -> Result<Self> {
        match rest.strip_prefix('-').and_then(Dialect::from_name) {
            _ if rest.is_empty() => Ok(Self::Dudley(None)),
            Some(dialect) => Ok(Self::Dudley(Some(dialect))),
            None => Err(Error::unknown("generation", &format!("dudley{rest}"), Self::names())),
        }
    }

    /// Returns `true` if what is written is a file of the ASDF family with blocks, not inside of another.
    fn has_blocks(self) -> bool {
        !matches!(self, Self::Fits | Self::Dudley(_))
    }

    /// Returns `true` if it is ASDF 1.x, as far as that is said.
    pub(super) fn supports_chunks(self) -> bool {
        match self {
            Self::Generation(target) => target.standard.is_some(),
            Self::Finf => false,
            other => other.has_blocks(),
        }
    }

    /// The form that the ending of a file's name represents, `.gz` after it aside.
    ///
    /// ```
    /// use trilith::convert::TargetForm;
    /// assert!(matches!(TargetForm::of_name("run.bd"), TargetForm::Dudley(None)));
    /// assert!(matches!(TargetForm::of_name("image.FITS.gz"), TargetForm::Fits));
    /// assert!(matches!(TargetForm::of_name("anything.dat"), TargetForm::Unchanged));
    /// ```
    pub fn of_name(path: &str) -> Self {
        let path = path.to_ascii_lowercase();
        let path = Path::new(path.strip_suffix(".gz").unwrap_or(&path));
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("bd") => Self::Dudley(None),
            Some("fits" | "fit" | "fts") => Self::Fits,
            Some("finf") => Self::Finf,
            Some("asdf") => Self::Asdf,
            _ => Self::Unchanged,
        }
    }
}

impl File {
    /// Writes the file into `out`, whose position must be its start, in the form that `options.to` selects. References in its
    /// text stay unchanged ([`File::rebased_to`]). `progress` receives the number of decoded bytes done so far.
    ///
    /// If something would be lost and `options.allow_loss` is not set, [`ConvertReport::written`] is false, and the
    /// content of `out` is not a valid file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for options that the form has no place for,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if one form is not written from the other, and the
    /// errors of reading and writing.
    pub fn convert_into(
        &self,
        options: &ConvertOptions,
        out: &mut dyn WriteSeek,
        progress: Progress<'_>,
    ) -> Result<ConvertReport> {
        if options.stack && self.as_asdf().is_some() {
            return Err(Error::invalid_input("the lists of a Dudley file can be stacked, and this is not one")
                .setting("", SuggestedSetting::Remove(&["stack"])));
        }
        let by_rows = options.rows.map(|_| options.by_rows()).transpose()?;
        let options = by_rows.as_ref().unwrap_or(options);
        options.check_level()?;
        if options.rows.is_some() && (options.encode.is_some() || !options.to.has_blocks()) {
            return Err(Error::invalid_input("only blocks of ASDF that are compressed by a codec have pieces of whole rows")
                .hint("name the output .asdf"));
        }
        chunks::check_chunk_options(options)?;
        let _call = self.limits().call();
        let mut account = LossAccount::new(options);
        let done = match self.as_asdf() {
            Some(file) => convert_asdf(file, options, out, progress, &mut account),
            None => convert_other(self, options, out, progress, &mut account),
        };
        // Wrong options and failures to write are no faults of the file.
        let done = done.map_err(|error| match error.kind() {
            ErrorKind::Malformed | ErrorKind::Unsupported | ErrorKind::Limit => error.in_item(self.source().name(), ""),
            _ => error,
        })?;
        let done = account.take_report(done);
        if let Some(file) = self.as_asdf() {
            account.notes.extend(file.sections().copy_notes(options.write_options.keep_unused)?);
        }
        Ok(account.into_report(done))
    }

    /// Converts the file like [`File::convert_into`], into a new file at `path`. The new file is complete, or it does not exist.
    /// `path` may be the path of the input. References in the text are rewritten, so that they keep their targets.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("trilith-doc-convert-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let path = folder.join("old.finf");
    /// use trilith::convert::{ConvertOptions, TargetForm};
    /// let file = trilith::OpenOptions::new().open_bytes(b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: 1}\n...\n".to_vec())?;
    /// let mut options = ConvertOptions::default();
    /// options.to = TargetForm::from_name("finf-0.1")?;
    /// file.convert(&path, &options)?;
    /// assert_eq!(trilith::open(&path)?.family(), "finf");
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// Returns the errors of [`File::convert_into`], [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with every loss
    /// if losses are not allowed, and an error if the file changed since it was opened.
    pub fn convert(self, path: impl Into<WritePath>, options: &ConvertOptions) -> Result<ConvertReport> {
        let path = path.into();
        let file = self.rebased_to(&bytes::BaseUri::of_file(&bytes::name_of(path.path())))?;
        let mut options = options.clone();
        options.write_options.keep_unused |= is_read_from(file.source(), path.path());
        let mut out = NewFile::create_regular(path, WriteBasis::SameAs(&**file.source()))?;
        let done = file.convert_into(&options, &mut out.writer(), Progress::default())?;
        if !done.written {
            return Err(losses_error("the new form", &done.losses, "form"));
        }
        if let Some(written) = out.reread_source()? {
            verify_written(written, file.as_asdf(), file.limits())?;
        }
        out.commit()?;
        Ok(done)
    }
}

/// A file of the ASDF family, or one inside a FITS file.
fn convert_asdf(
    file: &AsdfFile,
    options: &ConvertOptions,
    out: &mut dyn WriteSeek,
    progress: Progress<'_>,
    account: &mut LossAccount,
) -> Result<ConvertReport> {
    file.sections().blocks_to_copy()?;
    let rest = unreadable::omit_missing(file, account)?;
    let file = rest.as_ref().unwrap_or(file);
    if matches!(options.to, TargetForm::Fits) {
        return fits::to_fits_with(file, options, out, progress, account);
    }
    account.notes.extend(fits::fits_notes(file));
    if !options.physical_values {
        account.notes.extend(fits::stored_notes(file));
    }
    let alone = fits::extract(file, options.physical_values, account)?;
    let file = alone.as_ref().unwrap_or(file);
    if account.is_refused() {
        return Ok(ConvertReport::default());
    }
    match options.to {
        TargetForm::Dudley(dialect) => dudley::of_asdf(file, dialect, options, out, account),
        _ => asdf_to_asdf(file, options, out, progress, account),
    }
}

/// A file of the ASDF family as one.
fn asdf_to_asdf(
    file: &AsdfFile,
    options: &ConvertOptions,
    out: &mut dyn WriteSeek,
    progress: Progress<'_>,
    account: &mut LossAccount,
) -> Result<ConvertReport> {
    let to = resolve_target(file, options)?;
    let rest = unreadable::omit_undecodable(file, to, options, account)?;
    let file = rest.as_ref().unwrap_or(file);
    let done = match (to, &options.chunks) {
        (None, None) => convert(file, out, options, progress)?,
        (None, Some(lengths)) => chunks::convert_to_chunks(file, &HashMap::new(), lengths, out, options, progress)?,
        (Some(to), lengths) => {
            let plan = ConversionPlan::new(file, to, options)?;
            match lengths {
                _ if plan.account.is_refused() => plan.account.into_report(ConvertReport::default()),
                None => plan.write(out, progress)?,
                Some(lengths) => {
                    account.losses.extend_from_slice(plan.losses());
                    account.notes.extend_from_slice(&plan.account.notes);
                    let (made, codecs) = plan.into_file()?;
                    chunks::convert_to_chunks(&made, &codecs, lengths, out, options, progress)?
                }
            }
        }
    };
    Ok(account.take_report(ConvertReport { has_sizes: true, ..done }))
}

/// The generation to write; None keeps that of the file.
fn resolve_target(file: &AsdfFile, options: &ConvertOptions) -> Result<Option<&'static Target>> {
    if let TargetForm::Generation(target) = options.to {
        return Ok(Some(target));
    }
    let generation = file.sections().generation();
    if options.encode.is_some() && generation.is_some_and(|generation| generation.encoded) {
        return Target::from_name("asdf-0.1").map(Some);
    }
    if options.encode.is_some() {
        return Err(Error::invalid_input("this generation has no encoding chains")
            .setting("", SuggestedSetting::Provide("to", "asdf-0.1")));
    }
    match (options.to, generation.map_or("", |generation| generation.family)) {
        (TargetForm::Finf, "asdf") => Target::from_name("finf-0.1").map(Some),
        (TargetForm::Asdf, "finf") => Ok(Some(Target::latest())),
        _ => Ok(None),
    }
}

/// A file of another family, or several files under one layout, in any form.
fn convert_other(
    file: &File,
    options: &ConvertOptions,
    out: &mut dyn WriteSeek,
    progress: Progress<'_>,
    account: &mut LossAccount,
) -> Result<ConvertReport> {
    if let Some(stream) = file.as_dudley() {
        return dudley::of_stream(stream, options, out, progress, account);
    }
    let build = |account: &mut LossAccount| items_to_asdf::to_asdf(file, account);
    let from = NewAsdfSource { bytes: file.source(), limits: file.limits(), build: &build };
    let TargetForm::Dudley(dialect) = options.to else { return as_new_asdf(&from, options, out, progress, account) };
    let Some(made) = as_virtual_asdf(&from, account)? else { return Ok(ConvertReport::default()) };
    dudley::of_asdf(&made, dialect, options, out, account)
}

/// A new file of the ASDF family that is not written yet.
pub(super) struct NewAsdf {
    pub builder: AsdfBuilder<'static>,
    pub tree: Value,
}

/// A file of another family that becomes one of the ASDF family.
pub(super) struct NewAsdfSource<'a> {
    pub bytes: &'a SourceRef,
    pub limits: &'a Limits,
    /// Builds the new file in the newest generation.
    pub build: &'a dyn Fn(&mut LossAccount) -> Result<NewAsdf>,
}

/// Writes a new file of the ASDF family, or a FITS file: as a file of the ASDF family with the same content is written.
pub(super) fn as_new_asdf(
    from: &NewAsdfSource<'_>,
    options: &ConvertOptions,
    out: &mut dyn WriteSeek,
    progress: Progress<'_>,
    account: &mut LossAccount,
) -> Result<ConvertReport> {
    let Some(made) = as_virtual_asdf(from, account)? else { return Ok(ConvertReport::default()) };
    match options.to {
        TargetForm::Fits => fits::to_fits_with(&made, options, out, progress, account),
        _ => asdf_to_asdf(&made, options, out, progress, account),
    }
}

/// Makes a virtual file of the newest generation. None if what is lost does not permit it.
pub(super) fn as_virtual_asdf(from: &NewAsdfSource<'_>, account: &mut LossAccount) -> Result<Option<AsdfFile>> {
    if account.is_refused() {
        return Ok(None);
    }
    let NewAsdf { builder, tree } = (from.build)(account)?;
    if account.is_refused() {
        return Ok(None);
    }
    builder.into_file(tree, from.bytes, from.limits).map(Some)
}
