//! The files of a family, as a catalog of them is to be written.

use crate::bytes::shown_path;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::draft::Draft;
use super::family::{Catalog, Record};
use super::fill::Mismatch;
use super::read::DudleyFile;
use crate::array::Byteorder;
use crate::error::{Error, Result};
use crate::layout::{Dialect, Layout};

/// Opens a file by its path: under the layout of the family, or (None) under that in the file.
pub type Opener<'o> = dyn FnMut(&Path, Option<&Layout>) -> Result<DudleyFile> + 'o;

/// The files that a catalog is to list, with their parameters and what they say against them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Listing {
    /// Each file as the catalog names it, with the values of its stored parameters in the order of the text.
    pub rows: Vec<(String, Vec<i64>)>,
    /// Contradictions of files to their parameters. A catalog with these would not be right.
    pub mismatches: Vec<Mismatch>,
    /// The layout as the catalog names it.
    template: Option<String>,
    record: Record,
}

impl Listing {
    /// Reads the parameters of files under the layout of their family. `catalog` is where the catalog will be: the files
    /// are named from its folder, and those on a server by their URLs. `template` is the path of the layout, if it has one.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a file outside of that folder,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) (E408) for a layout that is not a template,
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) for a file that does not exist, and the errors of
    /// [`Catalog::params_of`].
    pub fn read<P: AsRef<Path>>(
        catalog: &Path,
        template: Option<&Path>,
        files: impl IntoIterator<Item = P>,
        layout: &Layout,
        open: &mut Opener<'_>,
    ) -> Result<Self> {
        let folder = folder_of(catalog)?;
        if layout.dialect() == Dialect::D2025 {
            layout.require_template()?;
        }
        let mut record = Record::new(layout);
        let (mut rows, mut mismatches) = (Vec::new(), Vec::new());
        for path in files {
            let path = path.as_ref();
            let name = below(&folder, path)?;
            let file = open(path, Some(layout))?;
            let own = match file.signature().and_then(|signature| signature.layout_at) {
                Some(_) => open(path, None).ok(),
                None => None,
            };
            let read = Catalog::params_of(&name, &file, own.as_ref());
            let (values, against) = read.map_err(|error| error.context(shown_path(path)))?;
            if let Some(message) = record.admit(&file)? {
                mismatches.push(Mismatch { file: name.clone(), message });
            }
            rows.push((name, values));
            mismatches.extend(against);
        }
        let template = template.map(|path| below(&folder, path).unwrap_or_else(|_| shown_path(path)));
        Ok(Self { rows, mismatches, template, record })
    }

    /// Returns the paths of the files that a catalog at this path is to list: those that it lists `already`, then the others of
    /// `names`, in their order.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the folder of the catalog or a file does not exist, and
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a file outside of that folder.
    pub fn files<P: AsRef<Path>>(
        catalog: &Path,
        already: Option<&Catalog>,
        names: impl IntoIterator<Item = P>,
    ) -> Result<Vec<PathBuf>> {
        let folder = folder_of(catalog)?;
        let known = already.map_or(&[][..], Catalog::files);
        let mut files: Vec<PathBuf> = known.iter().map(|name| place_of(&folder, name)).collect();
        let known: HashSet<&str> = known.iter().map(String::as_str).collect();
        for path in names {
            let name = below(&folder, path.as_ref())?;
            if !known.contains(name.as_str()) {
                files.push(path.as_ref().to_path_buf());
            }
        }
        Ok(files)
    }

    /// Returns the byte order of what the layout leaves open in the files: that in which the catalog has to be written.
    pub fn order(&self) -> Option<Byteorder> {
        self.record.order
    }

    /// The catalog, to be written.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::draft`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if a file says
    /// something against its parameters.
    pub fn draft(&self) -> Result<Draft> {
        match self.mismatches.first() {
            Some(first) => Err(Error::invalid_input(format!("{}: {}", first.file, first.message))
                .hint("a catalog of these files would be wrong")),
            None => Catalog::draft_with(self.template.as_deref(), &self.rows, Some(&self.record)),
        }
    }
}

/// The folder in which a catalog is, or is to be: its files are named from there.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if it is not there.
pub fn folder_of(catalog: &Path) -> Result<PathBuf> {
    let folder = catalog.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().map_err(|e| Error::io(format!("opening {}", shown_path(folder)), e))
}

/// The path or URL of a file that a catalog in `folder` names.
pub fn place_of(folder: &Path, name: &str) -> PathBuf {
    if crate::bytes::is_url(name) { PathBuf::from(name) } else { folder.join(name) }
}

/// A path or URL as a catalog in `folder` names it.
fn below(folder: &Path, path: &Path) -> Result<String> {
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
