//! The files of a family, as a catalog of them is to be written.

use crate::bytes::shown_path;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::catalog::Catalog;
use super::catalog_record::CatalogRecord;
use super::dudley_file::{DudleyFile, StreamOptions};
use super::layout_values::ParamMismatch;
use super::new_item::Draft;
use super::order_detection::open_member;
use super::param_settings::fixed_value;
use crate::array::{Byteorder, Datatype};
use crate::error::{Error, ErrorKind, Result};
use crate::glob::natural;
use crate::layout::{Dialect, Layout, canonical_path};

/// Opens a file by its path: under the layout of the options, or if they have none, under that in the file.
pub type FileOpener<'o> = dyn FnMut(&Path, StreamOptions) -> Result<DudleyFile> + 'o;

/// The files that a catalog is to list, with their parameters and what they say against them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CatalogListing {
    /// Names of the files as in the catalog, with the values of their stored parameters in the order of the layout text.
    pub rows: Vec<(String, Vec<i64>)>,
    /// Contradictions of files to their parameters. A catalog with these would not be right.
    pub mismatches: Vec<ParamMismatch>,
    /// Oddities of the files: lengths of -1, bytes that the layout does not describe, and times that do not increase.
    pub warnings: Vec<String>,
    /// The layout as the catalog names it.
    template: Option<String>,
    record: CatalogRecord,
}

impl CatalogListing {
    /// Reads the parameters of files under the layout of their set. `catalog` is the future path of the catalog: files are named
    /// relative to its folder, and those on a server by their URLs. `template` is the path of the layout, if it has one. `how`
    /// has the layout, the byte order and the values of fixed parameters. If neither `how` nor a file states the byte order, it
    /// follows from the size and the expected values of each file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] for a file outside of that folder,
    /// [`ErrorKind::Malformed`] (E408) for a layout that is not a template,
    /// [`ErrorKind::Io`] for a file that does not exist, and the errors of [`Catalog::params_of`] if no file
    /// can be read. If others can be, a file that cannot is one of the contradictions.
    pub fn read<P: AsRef<Path>>(
        catalog: &Path,
        template: Option<&Path>,
        files: impl IntoIterator<Item = P>,
        how: &StreamOptions,
        open: &mut FileOpener<'_>,
    ) -> Result<Self> {
        let folder = folder_of(catalog)?;
        let layout = layout_of_set(how)?;
        if layout.dialect() == Dialect::D2025 {
            layout.require_template()?;
        }
        let mut record = CatalogRecord::new(layout);
        let (mut rows, mut mismatches, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let (mut first_error, mut fixed) = (None, vec![Vec::new(); how.params.len()]);
        for path in files {
            let path = path.as_ref();
            let name = relative_name(&folder, path)?;
            let mut one = || {
                let file = open_member(how, &mut |how| open(path, how))?;
                let own = match file.signature().and_then(|signature| signature.layout_offset) {
                    Some(_) => open(path, StreamOptions::default()).ok(),
                    None => None,
                };
                let mut warn = |message| warnings.push(format!("{name}: {message}"));
                let (values, against) = Catalog::params_of(&name, &file, own.as_ref(), &mut warn)?;
                for ((name, _), values) in how.params.iter().zip(&mut fixed) {
                    values.push(fixed_value(file.layout(), name)?);
                }
                Ok::<_, Error>((values, against, record.add_file(&file)?))
            };
            match one() {
                Ok((values, against, other)) => {
                    mismatches.extend(other.map(|message| ParamMismatch { file: name.clone(), message }));
                    rows.push((name, values));
                    mismatches.extend(against);
                }
                Err(error) if matches!(error.kind(), ErrorKind::Limit | ErrorKind::Cancelled) => {
                    return Err(error.context(shown_path(path)));
                }
                // The other files may be good.
                Err(error) => {
                    mismatches.push(ParamMismatch { file: name, message: error.to_string() });
                    first_error.get_or_insert(error.context(shown_path(path)));
                }
            }
        }
        // If none can be read, it is the layout that does not fit.
        if let Some(error) = first_error.filter(|_| rows.is_empty()) {
            return Err(error);
        }
        let template = template.map(|path| relative_name(&folder, path).unwrap_or_else(|_| shown_path(path)));
        if let Some((name, _)) = record.settle_orders().and_then(|row| rows.get(row)) {
            let message = "the files have several byte orders, and its own is not known: it fits its layout in both".to_owned();
            mismatches.push(ParamMismatch { file: name.clone(), message });
        }
        for ((name, _), values) in how.params.iter().zip(fixed) {
            record.settings.set_param(name, values);
        }
        warnings.extend(record.find_decreasing_time(&rows)?);
        Ok(Self { rows, mismatches, warnings, template, record })
    }

    /// Returns the paths of the files that a catalog at this path is to list: those that it lists `already`, in their order, then
    /// the others of `names`. These are in natural order ([`natural`]) if they were given as a shell lists the files that fit a
    /// pattern, else in the order in which they were given.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the folder of the catalog or a file does not exist, and
    /// [`ErrorKind::InvalidInput`] for a file outside of that folder.
    pub fn files<P: AsRef<Path>>(
        catalog: &Path,
        already: Option<&Catalog>,
        names: impl IntoIterator<Item = P>,
    ) -> Result<Vec<PathBuf>> {
        let folder = folder_of(catalog)?;
        let known = already.map_or(&[][..], Catalog::files);
        let mut files: Vec<PathBuf> = known.iter().map(|name| resolve_name(&folder, name)).collect();
        let known: HashSet<&str> = known.iter().map(String::as_str).collect();
        let mut more = Vec::new();
        for path in names {
            let name = relative_name(&folder, path.as_ref())?;
            if !known.contains(name.as_str()) {
                more.push((name, path.as_ref().to_path_buf()));
            }
        }
        // Shells compare bytes, or letters and digits first.
        let letters = |name: &str| name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
        if more.is_sorted_by(|(one, _), (other, _)| one <= other) || more.is_sorted_by_key(|(name, _)| letters(name)) {
            more.sort_by(|(one, _), (other, _)| natural(one, other));
        }
        files.extend(more.into_iter().map(|(_, path)| path));
        Ok(files)
    }

    /// Puts files into the order of the values that they have for a parameter or a number of the summary block; files with the
    /// same value keep their order.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if it is not a single number in a file, and the errors
    /// of `open`.
    pub fn sort(files: Vec<PathBuf>, by: &str, how: &StreamOptions, open: &mut FileOpener<'_>) -> Result<Vec<PathBuf>> {
        let path = canonical_path(by).unwrap_or_default();
        let mut keyed = Vec::with_capacity(files.len());
        for file in files {
            let value = open_member(how, &mut |how| open(&file, how)).and_then(|file| {
                let array = file.locate_items()?.array_at(&path)?;
                let is_number = array.shape().is_empty() && (array.datatype().is_integer() || array.datatype().is_float());
                if !is_number {
                    return Err(Error::invalid_input(format!("{by} is not a single number, so that it gives no order")));
                }
                // Integers are compared as integers, because rounding could make two of them equal.
                Ok(match array.datatype() {
                    Datatype::Uint64 => (array.load_as::<u64>()?.first().copied().map_or(0, i128::from), 0.0),
                    known if known.is_integer() => (array.load_as::<i64>()?.first().copied().map_or(0, i128::from), 0.0),
                    _ => (0, array.load_as::<f64>()?.first().copied().unwrap_or(f64::NAN)),
                })
            });
            keyed.push((value.map_err(|error| error.context(file.display().to_string()))?, file));
        }
        keyed.sort_by(|((one, float), _), ((other, another), _)| one.cmp(other).then(float.total_cmp(another)));
        Ok(keyed.into_iter().map(|(_, file)| file).collect())
    }

    /// Returns the byte order that the catalog must have: that of the items of the files for which the layout states none.
    pub fn native_byteorder(&self) -> Option<Byteorder> {
        self.record.order
    }

    /// The catalog, to be written.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::draft`], and [`ErrorKind::InvalidInput`] if a file says
    /// something against its parameters.
    pub fn draft(&self) -> Result<Draft> {
        let shown: Vec<String> =
            self.mismatches.iter().take(MAX_SHOWN_CONTRADICTIONS).map(|one| format!("{}: {}", one.file, one.message)).collect();
        match self.mismatches.len() {
            count if count > 0 => {
                let more = if count > MAX_SHOWN_CONTRADICTIONS {
                    format!("; and {} more", count - MAX_SHOWN_CONTRADICTIONS)
                } else {
                    String::new()
                };
                let message = format!("{}{more}", shown.join("; "));
                Err(Error::invalid_input(message).hint("a catalog of these files would be wrong"))
            }
            _ => Catalog::draft_with(self.template.as_deref(), &self.rows, Some(&self.record)),
        }
    }
}

/// The layout under which the files of a set are opened.
fn layout_of_set(how: &StreamOptions) -> Result<&Layout> {
    how.layout.as_ref().ok_or_else(|| Error::invalid_input("the layout of the files is not given"))
}

/// Contradictions of files that an error names.
const MAX_SHOWN_CONTRADICTIONS: usize = 20;

/// The folder in which a catalog is, or is to be: its files are named from there.
///
/// # Errors
/// Returns [`ErrorKind::Io`] if it is not there.
pub fn folder_of(catalog: &Path) -> Result<PathBuf> {
    let folder = catalog.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().map_err(|e| Error::io(format!("opening {}", shown_path(folder)), e))
}

/// The path or URL of a file that a catalog in `folder` names.
pub fn resolve_name(folder: &Path, name: &str) -> PathBuf {
    if crate::bytes::is_url(name) { PathBuf::from(name) } else { folder.join(name) }
}

/// A path or URL as a catalog in `folder` names it.
fn relative_name(folder: &Path, path: &Path) -> Result<String> {
    if let Some(url) = path.to_str().filter(|path| crate::bytes::is_url(path)) {
        if crate::bytes::public_name(url) != url {
            let shown = shown_path(path);
            return Err(Error::invalid_input(format!(
                "cannot list {shown}: a catalog would show its user, password or signature"
            ))
            .hint("make the catalog of copies of the files"));
        }
        return Ok(url.to_owned());
    }
    let real = path.canonicalize().map_err(|e| Error::io(format!("opening {}", shown_path(path)), e))?;
    let Ok(name) = real.strip_prefix(folder) else {
        return Err(Error::invalid_input(format!("{} is not in the folder of the catalog, or below it", shown_path(path)))
            .hint("a catalog lists only files in its folder and below"));
    };
    let Some(parts) = name.iter().map(|part| part.to_str()).collect::<Option<Vec<_>>>() else {
        return Err(Error::unsupported(format!("{}: a catalog cannot list a file whose name is not UTF-8", shown_path(path)))
            .hint("rename it"));
    };
    Ok(parts.join("/"))
}
