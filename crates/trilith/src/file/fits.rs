//! FITS files: the tree in one or made up from one, and writing them again.
//!
//! A FITS file becomes a file of the ASDF family in two ways. If it holds an ASDF file, the tree is that of the
//! ASDF file, and `fits:` sources are the HDUs. If it holds none, the tree is made up: a `fits` list of headers and
//! data. [`write_container`] writes such a file with another tree: it writes the FITS file around the tree again and
//! copies every byte that the change does not concern.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::array::Array;
use crate::array::attribute::ItemAttribute;
use crate::asdf::{AsdfFile, FitsArrays, FitsContainer, NumberDeclarations};
use crate::bytes::{self, DerivedSource, FileUpdate, MemorySource, Resolve, SourceRef};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result, ResultExt};
use crate::fits::{self, FitsFile, Hdu, Header, NewHdu};
use crate::limits::Limits;
use crate::tree::{Node, NodeId, PrintOptions, TextOrigin, Tree, TreePath};

/// Form in which the elements of arrays are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementForm {
    /// Physical values, by what the file declares about the stored ones.
    Physical,
    /// Elements as they are stored.
    Stored,
}

/// Form of the tree that is made up from a FITS file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListingForm {
    pub(super) elements: ElementForm,
    /// `true` if the cards are rows of the lists `header`, and not only attributes.
    pub(super) has_cards: bool,
}

/// The arrays of a FITS file for the tree inside it.
pub(super) struct HduArrays {
    pub(super) fits: Arc<FitsFile>,
    form: ListingForm,
    /// `true` if the tree is made up from the file, so that sources name columns and cells too: `fits:1:0:5`.
    pub(super) is_listing: bool,
}

/// The HDU, column and row that a source of a listing names.
fn parse_source_spec(spec: &str) -> Option<(usize, usize, Option<u64>)> {
    let mut parts = spec.split(':');
    let (hdu, column) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let row = parts.next().map(str::parse).transpose().ok()?;
    parts.next().is_none().then_some((hdu, column, row))
}

impl FitsArrays for HduArrays {
    fn hdu_array(&self, spec: &str) -> Result<Array> {
        if let Some((hdu, column, row)) = parse_source_spec(spec).filter(|_| self.is_listing) {
            return self.fits.column_or_cell(self.fits.find(&hdu.to_string())?, column, row);
        }
        let hdu = self.fits.find(spec)?;
        if self.form.elements == ElementForm::Physical {
            return self.fits.array(hdu);
        }
        self.fits.writable_array(hdu)?.ok_or_else(|| Error::malformed(format!("HDU {} has no data", hdu.index())))
    }

    fn warnings(&self) -> Vec<String> {
        self.fits.warnings().to_vec()
    }
}

/// Opens a FITS file, unpacked if it is compressed as a whole (`.fits.gz`).
///
/// # Errors
/// Returns the errors of [`FitsFile::open`] and [`bytes::gunzip`].
pub fn open_fits_file(source: SourceRef, limits: &Limits) -> Result<FitsFile> {
    let start = super::open::read_start(&source)?;
    FitsFile::open(if bytes::is_gzip(&start) { bytes::gunzip(source, limits)? } else { source }, limits)
}

/// Does the same as [`open_fits`], from the bytes of the file.
pub(super) fn open_fits_source(
    source: SourceRef,
    resolve: Arc<dyn Resolve>,
    limits: &Limits,
    form: ListingForm,
) -> Result<AsdfFile> {
    open_asdf_or_listing(FitsFile::open(source, limits)?, resolve, form)
}

/// Opens the ASDF file inside a FITS file. Its `fits:` sources are the arrays of the HDUs, with physical values.
///
/// A FITS file without one becomes a tree with a `fits` list ([`fits::to_value`]): `/fits/1/data` is the image or
/// table of HDU 1 as [`FitsFile::array`] returns it ([`fits::physical_node`]). Such a file has no bytes: its header
/// and tree are made up.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the embedded file or an HDU is broken.
pub fn open_fits(fits: FitsFile, resolve: Arc<dyn Resolve>) -> Result<AsdfFile> {
    open_asdf_or_listing(fits, resolve, ListingForm { elements: ElementForm::Physical, has_cards: true })
}

fn open_asdf_or_listing(fits: FitsFile, resolve: Arc<dyn Resolve>, form: ListingForm) -> Result<AsdfFile> {
    let fits = Arc::new(fits);
    let Some(hdu) = fits.asdf() else { return open_listing(fits, resolve, form) };
    let container = FitsContainer { hdu: hdu.index(), offset: hdu.data().start, size: fits.source().len() };
    let file = AsdfFile::open(fits.asdf_source(hdu)?, fits.limits());
    let file = file.with_context(|| format!("reading the ASDF file in HDU {}", container.hdu))?;
    if has_other_headers(&fits, &file) {
        file.reference_log().add_remark(CHANGED_HEADERS.to_owned());
    }
    Ok(file.with_resolver(resolve).with_container(container, Arc::new(HduArrays { fits, form, is_listing: false })))
}

/// The remark on a file whose tree was made from other headers.
const CHANGED_HEADERS: &str = "the headers of the FITS file have changed since the tree in it was written, because its _fits_hash does \
                               not fit them: stdatamodels takes values from the cards, and Trilith shows those of the tree";

/// Returns `true` if the tree of the ASDF file in a FITS file states the SHA-256 of other headers than those around it, as JWST files
/// do (stdatamodels, `fits_hash`). The sum is unknown if an HDU is a compressed image, whose header astropy makes up.
fn has_other_headers(fits: &FitsFile, file: &AsdfFile) -> bool {
    let root = file.tree().root();
    let Some(stated) = root.get("_fits_hash").filter(|_| root.is_mapping()) else { return false };
    let mut sum = Sha256::new();
    for hdu in fits.hdus() {
        if hdu.error().is_some() || hdu.header().is_true("ZIMAGE") {
            return false;
        }
        if !hdu.name().eq_ignore_ascii_case("ASDF") {
            sum.update(hdu.header().to_bytes());
        }
    }
    let sum: String = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    stated.is_scalar() && !stated.text().eq_ignore_ascii_case(&sum)
}

/// A FITS file as a tree with a `fits` list, whatever its HDUs hold.
fn open_listing(fits: Arc<FitsFile>, resolve: Arc<dyn Resolve>, form: ListingForm) -> Result<AsdfFile> {
    let container = FitsContainer { hdu: 0, offset: 0, size: fits.source().len() };
    let tree = listing_tree(&fits, form)?;
    let text = MemorySource::new(format!("{LISTING_HEADER}{}", tree.text()).into(), fits.source().name());
    let source = DerivedSource::new(Arc::new(text), fits.source().clone());
    let file = AsdfFile::open_with_tree(Arc::new(source), tree, fits.limits()).with_context(|| MAKING_TREE)?;
    Ok(file.with_resolver(resolve).with_container(container, Arc::new(HduArrays { fits, form, is_listing: true })))
}

/// The context of an error of the tree that describes a FITS file.
const MAKING_TREE: &str = "making a tree of a FITS file";

/// The lines before the tree of a file that describes a FITS file.
const LISTING_HEADER: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n";

/// The tree of an ASDF file that describes a FITS file.
fn listing_tree(fits: &FitsFile, form: ListingForm) -> Result<Tree> {
    let mut data = |hdu: &Hdu| match form.elements {
        ElementForm::Stored => Ok(fits::stored_node(fits, hdu)),
        ElementForm::Physical => fits::physical_node(fits, hdu),
    };
    let items = fits::hdu_items(fits, form.has_cards, &mut data);
    let tags = ["tag:stsci.edu:asdf/core/asdf-1.1.0", "tag:astropy.org:astropy/fits/fits-1.0.0"];
    let mut options = PrintOptions::default();
    options.handles = vec![("!".to_owned(), "tag:stsci.edu:asdf/".to_owned())];
    let origin = TextOrigin::new(LISTING_HEADER.len() as u64, 1 + LISTING_HEADER.lines().count() as u32);
    let tree = Tree::from_list("fits", tags, items, &options, origin, fits.limits());
    tree.with_context(|| format!("reading the tree of {}", fits.source().name())).with_context(|| MAKING_TREE)
}

/// The FITS file that a file is in or is made up from; None for any other.
pub(crate) fn container_fits(file: &AsdfFile) -> Option<&FitsFile> {
    hdu_arrays(file).map(|hdus| &*hdus.fits)
}

pub(super) fn hdu_arrays(file: &AsdfFile) -> Option<&HduArrays> {
    let any: &dyn Any = file.fits_file()?;
    any.downcast_ref()
}

/// The HDUs of a FITS file whose tree is made up from them, as the list `fits`; None for any other file.
pub(super) fn listed_hdus(file: &AsdfFile) -> Option<&HduArrays> {
    hdu_arrays(file).filter(|hdus| hdus.is_listing)
}

/// The HDUs of the FITS file around a tree, if `item` is the root of that tree. They are at the path `/fits`, and no child of the root.
///
/// # Errors
/// Returns an error if their headers cannot be read.
pub(crate) fn surrounding_hdus(item: &super::Item<'_>) -> Result<Option<super::Item<'static>>> {
    let Some((file, _)) = item.as_asdf().filter(|(file, node)| file.tree().root().id() == node.id()) else { return Ok(None) };
    match listing_at(file, "/fits")? {
        Some(listing) => super::Item::from_backend(Arc::new(listing)).find("fits"),
        None => Ok(None),
    }
}

/// The list of the HDUs around `file`, if `path` leads into it.
pub(super) fn listing_at(file: &AsdfFile, path: &str) -> Result<Option<AsdfFile>> {
    let is_listing = TreePath::parse(path).is_ok_and(|path| path.keys().first().is_some_and(|key| key == "fits"));
    let is_embedded = file.container().is_some_and(|container| container.hdu > 0);
    let Some(hdus) = hdu_arrays(file).filter(|_| is_listing && is_embedded) else { return Ok(None) };
    let root = file.tree().root();
    if root.is_mapping() && root.get("fits").is_some() {
        return Ok(None);
    }
    open_listing(Arc::clone(&hdus.fits), file.resolver().clone(), hdus.form).map(Some)
}

/// The cards of an HDU of a FITS file with wanted keywords.
pub(super) fn hdu_attributes(file: &AsdfFile, hdu: Node<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Vec<ItemAttribute> {
    let number = || file.tree().path_of(hdu.id())?.split_last()?.1.parse::<usize>().ok();
    let found = || listed_hdus(file)?.fits.hdus().get(number()?);
    found().map(|hdu| fits::header_attributes(hdu.header(), is_wanted)).unwrap_or_default()
}

/// Returns the header whose cards the list `header` of an HDU leaves out; None for any other item.
pub(crate) fn header_without_rows<'f>(item: &'f super::Item<'_>) -> Option<&'f Header> {
    let (file, node) = item.as_asdf()?;
    let hdus = listed_hdus(file).filter(|hdus| !hdus.form.has_cards)?;
    let path = file.tree().path_of(node.id())?;
    let [list, number, header] = path.keys() else { return None };
    let number: usize = number.parse().ok().filter(|_| list == "fits" && header == "header")?;
    hdus.fits.hdus().get(number).map(Hdu::header)
}

/// Returns the column of a table of the FITS file that a field is, without the mask of other columns. None if the array is none.
pub(super) fn column_array(file: &AsdfFile, node: Node<'_>, name: &str) -> Option<Result<Array>> {
    let hdus = hdu_arrays(file).filter(|hdus| hdus.form.elements == ElementForm::Physical)?;
    let hdu = source_hdu(file, node)?;
    let column = hdus.fits.column_of_field(hdu, name)?;
    Some(hdus.fits.column_or_cell(hdu, column, None))
}

/// The HDU in the `fits` list that holds an array, and the path of the array.
pub(super) fn hdu_in_list<'t>(file: &'t AsdfFile, node: Node<'_>) -> Option<(Node<'t>, TreePath)> {
    let path = file.tree().path_of(node.id())?;
    let [list, number, data, ..] = path.keys() else { return None };
    if list != "fits" || data != "data" {
        return None;
    }
    let hdu = file.tree().find(&TreePath::root().join("fits").join(number.as_str()))?;
    hdu.get("header").is_some_and(Node::is_sequence).then_some((hdu, path))
}

/// The HDU around the tree that the source of an array names.
pub(super) fn source_hdu<'t>(file: &'t AsdfFile, node: Node<'_>) -> Option<&'t Hdu> {
    let source = node.is_mapping().then(|| node.get("source")).flatten()?;
    container_fits(file)?.find(source.as_str()?.strip_prefix("fits:")?).ok()
}

/// Returns `true` for the columns of a table whose cells are arrays, and for each of these columns.
pub(super) fn is_ragged(file: &AsdfFile, node: Node<'_>) -> bool {
    let path = listed_hdus(file).and_then(|_| file.tree().path_of(node.id()));
    path.is_some_and(|path| matches!(path.keys(), [_, _, data, ..] if data == "data"))
}

/// Declarations of the headers in the `fits` list of a tree about the arrays next to them.
pub(super) struct HeaderDeclarations;

/// Part of the tags of a list of HDUs, in every standard and of asdf-astropy.
const FITS_TAG_PART: &str = "/fits/fits";

impl NumberDeclarations for HeaderDeclarations {
    fn find_declarations(&self, file: &AsdfFile) -> HashMap<NodeId, NodeId> {
        let root = file.tree().root();
        // The HDUs of a FITS file around the tree are read as they are meant.
        let list = if root.is_mapping() && file.container().is_none() { root.get("fits") } else { None };
        let is_tagged = list.and_then(Node::tag).is_some_and(|tag| tag.contains(FITS_TAG_PART));
        let mut declared = HashMap::new();
        for item in list.into_iter().filter(|list| list.is_sequence()).flat_map(Node::items).filter(|item| item.is_mapping()) {
            let header = item.get("header").filter(|header| header.is_sequence());
            // Without a header the scale of the elements is unknown. A list without the tag may be no FITS file.
            if let (Some(data), Some(declaration)) = (item.get("data"), header.or(is_tagged.then_some(item))) {
                declared.entry(data.id()).or_insert(declaration.id());
            }
        }
        declared
    }

    fn physical_array(&self, header: Node<'_>, stored: Array) -> Result<Array> {
        if !header.is_sequence() {
            let error =
                header.error("the HDU has no list of cards under the key header, so that the scale of its elements is unknown");
            let error = header.suggest_key(error, "header");
            return Err(if error.advice().is_some() { error } else { error.hint("--stored reads the elements unchanged") });
        }
        fits::to_physical(header, stored)
    }
}

/// Destination of the bytes of an embedded ASDF file before they get their HDU.
pub type EmbeddedWriter = BufWriter<File>;

/// Writes the FITS file around `file` again with another tree. Returns the damaged HDUs, which keep their checksums. Returns
/// None, and writes nothing, if `file` is not in a FITS file.
///
/// If the FITS file contains an ASDF file, any part of its tree may differ: `make` writes that file. The tree that represents a
/// FITS file without ASDF may differ only in the cards of its headers. `has_blocks` is `true` if blocks would have to be stored,
/// which such a file cannot do.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for content that FITS has no place for,
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a card that cannot be written as requested,
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if writing fails, and the errors of `make`.
pub fn write_container(
    file: &AsdfFile,
    text: Option<&str>,
    has_blocks: bool,
    out: &mut dyn Write,
    make: impl FnOnce(&mut EmbeddedWriter) -> Result<()>,
) -> Result<Option<Vec<Diagnostic>>> {
    let (Some(fits), Some(container)) = (container_fits(file), file.container()) else { return Ok(None) };
    let mut changed = BTreeMap::new();
    if let Some(hdu) = fits.hdus().get(container.hdu).filter(|hdu| hdu.index() > 0) {
        let asdf = bytes::spool(to_temp_file(make)?, fits.source().name(), u64::MAX)?;
        changed.insert(hdu.index(), fits::asdf_hdu(hdu, asdf)?);
    } else if has_blocks {
        return Err(no_hdu_error("a plain FITS file has no blocks: its arrays are the data of its HDUs"));
    } else if let Some(text) = text {
        changed = changed_headers(file, fits, &Tree::parse(text, file.limits())?)?;
    }
    fits::write_changed(out, fits, &changed)?;
    fits.find_damaged_hdus(|hdu| !changed.contains_key(&hdu.index())).map(Some)
}

/// Returns the update that overwrites the headers of the FITS file from which `file` was opened. None unless only cards differ in the
/// new tree and they fit into the blocks of the old ones.
///
/// # Errors
/// Returns the errors of [`write_container`].
pub(crate) fn header_update(file: &AsdfFile, text: &str) -> Result<Option<FileUpdate>> {
    let (Some(fits), Some(container)) = (container_fits(file), file.container()) else { return Ok(None) };
    if container.hdu > 0 || bytes::is_packed(&**file.sections().source())? {
        return Ok(None);
    }
    let changed = changed_headers(file, fits, &Tree::parse(text, file.limits())?)?;
    fits::header_update(fits, &changed)
}

#[cold]
fn no_hdu_error(message: impl Into<String>) -> Error {
    Error::unsupported(message)
        .hint("its header cards can be changed: FILE#/fits/0@KEYWORD; for anything else convert it to ASDF first")
}

/// The HDUs whose cards differ in the new tree; everything else must be unchanged.
fn changed_headers(file: &AsdfFile, fits: &FitsFile, new: &Tree) -> Result<BTreeMap<usize, NewHdu>> {
    let mut changed = BTreeMap::new();
    if new.text() == file.tree().text() {
        return Ok(changed);
    }
    let (old, new) = (file.tree().root(), new.root());
    check_keys(new, &["fits"], "")?;
    let (Some(old_list), Some(new_list)) = (old.get("fits"), new.get("fits").filter(|list| list.is_sequence())) else {
        return Err(no_hdu_error("the tree of a plain FITS file is a mapping with the list fits"));
    };
    if new_list.len() != fits.hdus().len() {
        return Err(no_hdu_error("HDUs of a plain FITS file cannot be added or removed").at_path("/fits"));
    }
    if old.tag() != new.tag() || old_list.tag() != new_list.tag() {
        return Err(no_hdu_error("a FITS file keeps no tags"));
    }
    for ((hdu, before), after) in fits.hdus().iter().zip(old_list.items()).zip(new_list.items()) {
        if let Some(header) = changed_header(fits, hdu, before, after)? {
            changed.insert(hdu.index(), NewHdu::from_header(header));
        }
    }
    if changed.is_empty() {
        return Err(no_hdu_error("a FITS file keeps the cards of its headers, but no comments and no style of YAML"));
    }
    Ok(changed)
}

/// The new header of an HDU, if its cards differ between two trees.
fn changed_header(fits: &FitsFile, hdu: &Hdu, before: Node<'_>, after: Node<'_>) -> Result<Option<Header>> {
    let place = format!("/fits/{}", hdu.index());
    check_keys(after, &["header", "data"], &place)?;
    let value = |node: Node<'_>| node.get("data").map(|node| node.to_value(fits.limits())).transpose();
    if value(before)? != value(after)? || before.tag() != after.tag() {
        return Err(no_hdu_error("cannot change the data of an HDU in place").at_path(format!("{place}/data")));
    }
    let (Some(before), Some(after)) = (before.get("header"), after.get("header")) else {
        return Err(no_hdu_error("an HDU keeps its header").at_path(format!("{place}/header")));
    };
    fits::edited_header(hdu, before, after, fits.asdf().is_some())
}

/// Refuses a key that FITS has no place for.
fn check_keys(node: Node<'_>, known: &[&str], place: &str) -> Result<()> {
    if !node.is_mapping() {
        return Err(no_hdu_error("found no mapping where the tree of a FITS file has one").at_path(place));
    }
    match node.entries().map(|(key, _)| key.text()).find(|key| !known.contains(&&**key)) {
        Some(key) => {
            Err(no_hdu_error(format!("a plain FITS file has no place for the key {key:?}")).at_path(format!("{place}/{key}")))
        }
        None => Ok(()),
    }
}

/// Returns a temporary file with the output of `make`, positioned at its start.
fn to_temp_file(make: impl FnOnce(&mut EmbeddedWriter) -> Result<()>) -> Result<File> {
    let fail = |e| Error::io("making a temporary file", e);
    let mut inner = BufWriter::with_capacity(1 << 20, bytes::anonymous_file().map_err(fail)?);
    make(&mut inner)?;
    let mut inner = inner.into_inner().map_err(|e| fail(e.into_error()))?;
    inner.rewind().map_err(fail)?;
    Ok(inner)
}
