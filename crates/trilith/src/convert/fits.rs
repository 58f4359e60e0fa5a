//! FITS to ASDF and back.
//!
//! The `fits` module of the 0.1.0dev document: a list of HDUs, each a header and perhaps an ndarray. A
//! root `fits` says exactly what the FITS file is. Without one, the images and tables of the tree
//! become HDUs, and the tree itself goes into an HDU called ASDF, whose arrays are found by
//! `fits:NAME,1`: nothing is lost.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Write;
use std::sync::Arc;

use super::coverage::{CoverageTracker, is_format_history};
use super::dispatch::NewAsdf;
use super::loss::LossAccount;
use super::quantity::{is_quantity, quantity};
use super::tree_to_hdus::{HduList, hdus};
use super::{CodecChoice, ConvertOptions, ConvertReport, CoordinateHeader};
use crate::array::{Array, Byteorder};
use crate::asdf::annotations::{self, ItemAnnotation};
use crate::asdf::builder::datatype_value;
use crate::asdf::virtual_file::VirtualFile;
use crate::asdf::{ArrayOptions, AsdfBuilder, AsdfFile, Block, BlockOptions, FileWriter, Generation, Target, walk};
use crate::bytes::{MemorySource, SourceRef, WriteSeek};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result, SuggestedSetting, count_noun};
use crate::file::container_fits;
use crate::fits::{self, FitsFile, Hdu, HduData, HduKind, HduRole};
use crate::limits::Limits;
use crate::progress::Progress;
use crate::tree::{Node, NodeId, TreePath, Value};

/// Tag of a `fits` list whose cards keep to the lengths of the standard's schema.
const STRICT_FITS_TAG: &str = "tag:stsci.edu:asdf/fits/fits-1.2.0";
/// Tag of one with longer cards, which astropy has, too.
const ASTROPY_FITS_TAG: &str = "tag:astropy.org:astropy/fits/fits-1.0.0";

/// Builds a file of the newest generation of ASDF of a plain FITS file: headers card by card, data as blocks, or physical values under
/// the names of the HDUs. The losses are data that are left out because they cannot be read, and bytes between and after the HDUs that
/// are not filling.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for an HDU that differs from its CHECKSUM or DATASUM,
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for data that FITS files rarely hold, and an error if the file cannot be
/// read.
fn build_asdf(fits: &FitsFile, physical_values: bool, account: &mut LossAccount) -> Result<NewAsdf> {
    let _call = fits.limits().call();
    let mut taking = FitsImport { builder: AsdfBuilder::new(Target::latest()), account };
    // A header has no array that would be compared.
    for hdu in fits.hdus() {
        if let Err(why) = fits.check(hdu) {
            taking.account.keep_damaged(&format!("/fits/{}/header", hdu.index()), why)?;
        }
    }
    let tree = if physical_values { build_physical_tree(fits, &mut taking)? } else { as_stored(fits, &mut taking)? };
    taking.account.losses.extend(fits::unassigned_bytes(fits)?);
    Ok(NewAsdf { builder: taking.builder, tree })
}

/// The arrays of a FITS file on their way into a file of the ASDF family.
struct FitsImport<'a> {
    builder: AsdfBuilder<'static>,
    account: &'a mut LossAccount,
}

impl FitsImport<'_> {
    /// Returns the node of an array; None if it cannot be read and is left out.
    fn build_array_node(&mut self, path: &TreePath, array: Result<Array>) -> Result<Option<Value>> {
        let read = array.and_then(|array| {
            let array = array.with_item_name("", &path.to_string());
            self.account.check_readable(&array)?;
            self.builder.array(&array, &ArrayOptions::default())
        });
        match read {
            Ok(node) => Ok(Some(node)),
            Err(why) => {
                self.account.skip_item(&path.to_string(), why)?;
                Ok(None)
            }
        }
    }
}

/// The path of the data of an HDU in the list of a FITS file.
fn data_path(hdu: &Hdu) -> TreePath {
    TreePath::root().join("fits").join(hdu.index().to_string()).join("data")
}

/// The tree of what a FITS file stores.
fn as_stored(fits: &FitsFile, taking: &mut FitsImport<'_>) -> Result<Value> {
    let listing = fits::to_value(fits, &mut |hdu| match fits.writable_array(hdu).transpose() {
        Some(array) => taking.build_array_node(&data_path(hdu), array),
        None => Ok(None),
    })?;
    let tag = if listing.is_strict { STRICT_FITS_TAG } else { ASTROPY_FITS_TAG };
    let mut root = Value::map([("fits", listing.fits.tagged(tag))]);
    if let Some(cards) = listing.cards {
        root.set(fits::CARDS_KEY, cards);
    }
    if let Some(heaps) = listing.heaps {
        root.set(fits::HEAP_KEY, heaps);
    }
    Ok(root)
}

/// The tree of the physical values of a FITS file: for each HDU a mapping with its EXTNAME as key, which holds the image as `data`
/// or the columns by name, and the cards as `header`. Numbers with a unit are quantities.
fn build_physical_tree(fits: &FitsFile, taking: &mut FitsImport<'_>) -> Result<Value> {
    let mut root = Value::map::<&str, Value>([]);
    // Keys at the top that belong to an ASDF file.
    let mut names: HashSet<String> = ["fits", "history", "asdf_library"].map(str::to_owned).into();
    let mut said = Vec::new();
    let listing = fits::to_value(fits, &mut |_| Ok(None))?;
    for (hdu, item) in fits.hdus().iter().zip(listing.fits.items()) {
        let plain = match hdu.name() {
            "" => format!("HDU{}", hdu.index()),
            name => name.to_owned(),
        };
        let name = if names.contains(&plain) { format!("{plain},{}", hdu.version()) } else { plain };
        let name = if names.contains(&name) { format!("{name} ({})", hdu.index()) } else { name };
        names.insert(name.clone());
        let mut node = Value::map::<&str, Value>([]);
        if hdu.kind() != HduKind::Image || hdu.header().integer("NAXIS")? != Some(0) {
            let units = add_physical_data(fits, hdu, taking, &mut node)?;
            let path = TreePath::root().join(name.as_str());
            let unit = |(key, unit): (String, String)| {
                let annotation = ItemAnnotation { unit: Some(unit), ..ItemAnnotation::default() };
                (path.join(key).to_string(), annotation)
            };
            said.extend(units.into_iter().map(unit));
        }
        if let Some(header) = item.get("header") {
            // A column may have that name.
            let key = (1..).map(|n| if n == 1 { HEADER_KEY.to_owned() } else { format!("{HEADER_KEY}_{n}") });
            let key = key.into_iter().find(|key| node.get(key).is_none()).unwrap_or_default();
            node.set(key, header.clone());
        }
        root.set(name, node);
    }
    if !said.is_empty() && !annotations::insert(&mut root, said, None) {
        taking.account.add_loss("", "units of columns: the keys for them are taken");
    }
    Ok(root)
}

/// The keys of the image and of the header of an HDU.
const DATA_KEY: &str = "data";
const HEADER_KEY: &str = "header";

/// Adds the physical values of one HDU to a mapping. Returns the units of what cannot be a quantity, by key.
fn add_physical_data(fits: &FitsFile, hdu: &Hdu, taking: &mut FitsImport<'_>, into: &mut Value) -> Result<Vec<(String, String)>> {
    let (path, header) = (data_path(hdu), hdu.header());
    let mut units = Vec::new();
    let array = match fits.array(hdu) {
        Ok(array) => array,
        Err(why) => {
            let node = taking.build_array_node(&path, Err(why))?;
            node.into_iter().for_each(|node| into.set(DATA_KEY, node));
            return Ok(units);
        }
    };
    // Random groups and tables have fields, an image has none.
    let Some(fields) = array.datatype().as_struct() else {
        let unit = header.text("BUNIT").map(str::trim);
        let column = PhysicalColumn { key: DATA_KEY.to_owned(), unit };
        taking.add_column(&path, column, Ok(array), into, &mut units)?;
        return Ok(units);
    };
    if hdu.kind() != HduKind::Table {
        for (at, field) in fields.fields().iter().enumerate() {
            let key = field.name_or(at);
            // The unit of random groups is that of their images.
            let unit = header.text("BUNIT").map(str::trim).filter(|_| at + 1 == fields.fields().len());
            let column = PhysicalColumn { key: key.to_string(), unit };
            // A field of the rows has a mask if any of the columns has one.
            let values = match hdu.kind() {
                HduKind::CompressedTable => fits.column_or_cell(hdu, at, None),
                _ => array.field(&key),
            };
            taking.add_column(&path.join(key.as_str()), column, values, into, &mut units)?;
        }
        return Ok(units);
    }
    let (ragged, rows) = fits.ragged(hdu)?;
    for (at, (name, column)) in fits::named_columns(hdu)?.into_iter().enumerate() {
        let path = path.join(name.as_str());
        let is_ragged = ragged.iter().any(|(number, _)| *number == at);
        let unit = column.unit.as_deref().map(str::trim).filter(|unit| !unit.is_empty());
        if !(is_ragged && column.in_heap()) {
            let values = fits.column_or_cell(hdu, at, None);
            taking.add_column(&path, PhysicalColumn { key: name, unit }, values, into, &mut units)?;
            continue;
        }
        let most = fits.limits().nodes;
        if rows > most {
            return Err(Limits::exceeded_error("nodes", most, format_args!("{rows} arrays of varying length")));
        }
        let mut cells = Vec::new();
        for row in 0..rows {
            // The others keep their numbers.
            let node = taking.build_array_node(&path.join(row.to_string()), fits.column_or_cell(hdu, at, Some(row)))?;
            cells.push(node.unwrap_or_else(Value::null));
        }
        units.extend(unit.map(|unit| (name.clone(), unit.to_owned())));
        into.set(name, Value::seq(cells));
    }
    Ok(units)
}

/// The key and the unit of a column or an image.
struct PhysicalColumn<'a> {
    key: String,
    unit: Option<&'a str>,
}

impl FitsImport<'_> {
    /// Adds an array to a mapping, as a quantity if it has a unit.
    fn add_column(
        &mut self,
        path: &TreePath,
        column: PhysicalColumn<'_>,
        array: Result<Array>,
        into: &mut Value,
        units: &mut Vec<(String, String)>,
    ) -> Result<()> {
        let datatype = array.as_ref().ok().map(|array| array.datatype().clone());
        let Some(node) = self.build_array_node(path, array)? else { return Ok(()) };
        let target = Target::latest();
        let node = match (column.unit, datatype) {
            (Some(unit), Some(datatype)) if is_quantity(&datatype, unit, target) => quantity(node, unit, target),
            (Some(unit), _) if !unit.is_empty() => {
                units.push((column.key.clone(), unit.to_owned()));
                node
            }
            _ => node,
        };
        into.set(column.key, node);
        Ok(())
    }
}

/// Writes a file of the ASDF family as FITS, if its tree is that of a FITS file. Keys that FITS cannot store are allowed. Returns
/// a diagnostic for each of them.
///
/// # Errors
/// Returns the errors of [`extract_from_fits`].
pub fn to_fits(file: &AsdfFile, out: &mut dyn Write) -> Result<Vec<Diagnostic>> {
    let mut account = LossAccount::default();
    write_fits(file, CoordinateHeader::default(), out, &mut account)?;
    Ok(account.losses)
}

/// Does the same as [`to_fits`]. The notes list corrected cards that did not agree with their data.
fn write_fits(file: &AsdfFile, coordinates: CoordinateHeader, out: &mut dyn Write, account: &mut LossAccount) -> Result<()> {
    let _call = file.limits().call();
    let root = file.tree().root();
    if let Some(list) = root.get("fits").filter(|list| list.is_sequence()) {
        let parts = list_hdus(file, root, list, account)?;
        for (number, part) in parts.iter().enumerate() {
            let corrections = fits::header_corrections(part, HduRole::from_index(number))?.into_iter();
            account.notes.extend(corrections.map(|text| format!("/fits/{number}/header: {text}")));
        }
        account.losses.extend(unnamed_blocks(file)?);
        return fits::write(out, &parts);
    }
    let HduList { hdus: mut parts, sources, notes } = hdus(file, coordinates)?;
    account.notes.extend(notes);
    parts.push(HduData::asdf(build_embedded_asdf(file, &sources, account)?)?);
    fits::write(out, &parts)
}

/// The HDUs of a `fits` list. All of the tree that is in none of them is lost.
fn list_hdus(file: &AsdfFile, root: Node<'_>, list: Node<'_>, losses: &mut LossAccount) -> Result<Vec<HduData>> {
    let (mut account, limits) = (CoverageTracker::default(), file.limits());
    account.mark_used(root);
    let mut take = |taken: fits::ConsumedNode<'_>| match taken {
        fits::ConsumedNode::All(node) => account.mark_subtree(node, limits),
        fits::ConsumedNode::Array(node) => account.mark_ndarray(node, limits),
        fits::ConsumedNode::Node(node) => {
            account.mark_used(node);
            Ok(())
        }
    };
    let cards = root.get(fits::CARDS_KEY);
    let parts = fits::from_node(list, cards, &mut |node| file.stored_array(node), &mut take)?;
    if let Some(cards) = cards.filter(|cards| cards.is_sequence()) {
        account.mark_used(cards);
        // [HDU, card, text]; the list wins if it differs.
        let is_kept = |entry: &Node<'_>| {
            let number = |at: usize| entry.index(at).is_some_and(|node| node.as_u64().is_some());
            entry.len() == 3 && number(0) && number(1) && entry.index(2).is_some_and(|text| text.as_str().is_some())
        };
        cards.items().filter(is_kept).try_for_each(|entry| account.mark_subtree(entry, limits))?;
    }
    if let Some(heaps) = root.get(fits::HEAP_KEY).filter(|heaps| heaps.is_mapping()) {
        account.mark_used(heaps);
        for (key, views) in heaps.merged_entries() {
            let number = key.text().parse::<usize>().ok();
            let data = number.and_then(|number| list.index(number)).and_then(|hdu| hdu.get("data"));
            mark_heap_views(&mut account, views, data, limits)?;
        }
    }
    // The writer of the file is not a part of it.
    if let Some(library) = root.get("asdf_library") {
        account.mark_subtree(library, limits)?;
    }
    if let Some(history) = root.get("history").filter(|history| is_format_history(*history)) {
        account.mark_subtree(history, limits)?;
    }
    losses.losses.extend(account.collect_losses(file.tree(), limits, "it is not part of the FITS file")?);
    Ok(parts)
}

/// Marks the columns of varying length that are views of the bytes of their HDU, which say nothing that these do not.
fn mark_heap_views(account: &mut CoverageTracker, views: Node<'_>, data: Option<Node<'_>>, limits: &Limits) -> Result<()> {
    let source = |node: Node<'_>| node.get("source").and_then(|source| source.as_i64());
    let Some(block) = data.and_then(source).filter(|_| views.is_mapping()) else { return Ok(()) };
    account.mark_used(views);
    for (_, rows) in views.merged_entries().into_iter().filter(|(_, rows)| rows.is_sequence()) {
        account.mark_used(rows);
        for row in rows.items().filter(|row| source(*row) == Some(block)) {
            account.mark_ndarray(row, limits)?;
        }
    }
    Ok(())
}

/// The loss of blocks that no array names.
fn unnamed_blocks(file: &AsdfFile) -> Result<Option<Diagnostic>> {
    let count = walk::unreferenced_blocks(file)?.len();
    Ok((count > 0).then(|| Diagnostic::loss_without_path(format!("{} that no array names", count_noun(count, "block")))))
}

/// Writes a FITS file with `file` as the ASDF file in it. Every HDU of `fits` is copied byte for byte, except an HDU with an ASDF
/// file, and the new ASDF file comes last. If an array is equal to the physical values of an HDU, only the HDU stores it: the
/// source of the array becomes `fits:NAME,VERSION`.
///
/// Returns a diagnostic for each damaged block, and for each HDU that differs from its checksums.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an array of another FITS file that no HDU holds, and
/// the errors of [`extract_from_fits`].
pub fn embed(file: &AsdfFile, fits: &FitsFile, out: &mut dyn Write) -> Result<Vec<Diagnostic>> {
    let _call = file.limits().call();
    let hdus: Vec<(String, Array)> = fits
        .hdus()
        .iter()
        .filter(|hdu| !hdu.is_asdf() && !hdu.data().is_empty())
        .filter_map(|hdu| Some((hdu_source(fits, hdu), fits.array(hdu).ok()?)))
        .collect();
    let mut sources = BTreeMap::new();
    for (node, source) in walk::ndarrays_with_source(file)? {
        let is_foreign = source.text().starts_with("fits:");
        let Ok(array) = file.stored_array(node).map(Array::without_mask) else { continue };
        let mut found = None;
        for (name, hdu) in &hdus {
            if is_bitwise_equal(&array, hdu)? {
                found = Some(name);
                break;
            }
        }
        match found {
            Some(name) => drop(sources.insert(node.id(), name.clone())),
            None if is_foreign => {
                return Err(node.error(format!("the array {} is in no HDU of {}", source.text(), fits.source().name())));
            }
            None => {}
        }
    }
    let mut account = LossAccount::default();
    let asdf = build_embedded_asdf(file, &sources, &mut account)?;
    account.losses.extend(fits.find_damaged_hdus(|hdu| !hdu.is_asdf())?);
    fits::write_asdf(out, fits, Some(asdf))?;
    Ok(account.losses)
}

/// Names an HDU for a source: by name and version if these lead back to it, else by its number.
fn hdu_source(fits: &FitsFile, hdu: &Hdu) -> String {
    let spec = format!("{},{}", hdu.name(), hdu.version());
    let leads_back = !hdu.name().is_empty() && fits.find(&spec).is_ok_and(|found| found.index() == hdu.index());
    if leads_back { format!("fits:{spec}") } else { format!("fits:{}", hdu.index()) }
}

/// Returns `true` if two arrays have the same datatype, shape and elements, bit by bit.
fn is_bitwise_equal(a: &Array, b: &Array) -> Result<bool> {
    if a.shape() != b.shape() || a.is_empty() || !a.datatype().is_equivalent(b.datatype()) {
        return Ok(false);
    }
    a.charge_element_visits()?;
    b.charge_element_visits()?;
    const BUFFER_SIZE: u64 = 4 << 20;
    for (a, b) in a.row_blocks(BUFFER_SIZE).zip(b.row_blocks(BUFFER_SIZE)) {
        if a.read_bytes(Byteorder::Big)? != b.read_bytes(Byteorder::Big)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the ASDF file of the last HDU: the tree, and the blocks that are in no HDU. If no ndarray names some of
/// them, all keep their numbers.
fn build_embedded_asdf(file: &AsdfFile, sources: &BTreeMap<NodeId, String>, account: &mut LossAccount) -> Result<SourceRef> {
    let blocks = file.blocks_to_copy()?;
    let mut edit = file.tree().edit();
    // If a block must keep its number all do, and an array that goes into an HDU leaves an empty block.
    let unnamed = walk::fixed_number_blocks(file)?;
    let keeps_numbers = !unnamed.is_empty();
    let mut kept: Vec<usize> = if keeps_numbers { unnamed.into_iter().collect() } else { Vec::new() };
    for (node, source) in walk::ndarrays_with_source(file)? {
        if let Some(hdu) = sources.get(&node.id()) {
            let array = file.stored_array(node)?;
            edit.replace_node(source, &Value::from(hdu.as_str()));
            edit.set_key(node, "byteorder", &Value::from("big"))?;
            if let Some(shape) = node.get("shape") {
                edit.replace_node(shape, &Value::seq(array.shape().iter().copied()).flow());
            }
            let key = if node.get("dtype").is_some() { "dtype" } else { "datatype" };
            if node.get(key).is_some_and(Node::is_sequence) {
                edit.set_key(node, key, &datatype_value(array.datatype(), Some(Byteorder::Big), key))?;
            }
            edit.delete_key(node, "strides");
            edit.delete_key(node, "offset");
        } else if let Some(number) = source.as_i64() {
            let block = file.sections().block(number)?;
            let position = kept.iter().position(|index| *index == block.index).unwrap_or_else(|| {
                kept.push(block.index);
                kept.len() - 1
            });
            let number = if keeps_numbers { block.index } else { position };
            edit.replace_node(source, &Value::from(number as u64));
        }
    }
    let text = edit.finish(file.limits())?.into_text();
    let header = file.sections().header();
    let generation = file.sections().generation().ok_or_else(|| Error::unsupported("a file of an unknown generation"))?;
    let mut out = std::io::Cursor::new(Vec::new());
    let mut writer = FileWriter::new(&mut out, generation, crate::asdf::WriteOptions::default());
    writer.match_existing(file.sections())?;
    writer.header_of_bytes(&header.line, &header.raw_comments, file.sections().tree().map(|_| text.as_str()))?;
    let last = kept.iter().max().copied().filter(|_| keeps_numbers);
    let order = last.map_or_else(|| kept.clone(), |last| (0..=last).collect());
    for block in order.into_iter().filter_map(|index| blocks.get(index)) {
        if !kept.contains(&block.index) {
            writer.block(&MemorySource::new(Vec::new(), "nothing"), &BlockOptions::default())?;
        } else {
            writer.copy(&block.stored_source(file.sections().source())?, block)?;
        }
    }
    account.losses.extend(writer.finish()?);
    Ok(Arc::new(MemorySource::new(out.into_inner(), "the embedded ASDF file")))
}

/// Returns the content of a FITS file as a file of the ASDF family, with the losses: the ASDF file in it, or otherwise its
/// headers and data. The bytes of the new file are computed when they are read. Returns None for a file that is not in a FITS
/// file.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for an HDU that differs from its CHECKSUM or DATASUM,
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for data that FITS files rarely hold, and an error if the file cannot be
/// read.
pub fn extract_from_fits(file: &AsdfFile) -> Result<Option<(AsdfFile, Vec<Diagnostic>)>> {
    let mut account = LossAccount::default();
    Ok(extract(file, false, &mut account)?.map(|alone| (alone, account.losses)))
}

/// Does the same as [`extract_from_fits`], with physical values if they are wanted. An ASDF file within the FITS file keeps its blocks; the
/// HDUs that it refers to become blocks after these, and a streamed block stays the last. HDUs and cards that its tree does not hold are
/// losses.
pub(super) fn extract(file: &AsdfFile, physical_values: bool, account: &mut LossAccount) -> Result<Option<AsdfFile>> {
    let Some(fits) = container_fits(file) else { return Ok(None) };
    let alone = if file.container().is_some_and(|container| container.hdu > 0) {
        let ExtractedParts { generation, tree, sized, streamed, taken, hdus } = ExtractedParts::new(file, account)?;
        let sections = file.sections();
        let head = (sections.header().line.as_str(), &sections.header().raw_comments[..]);
        let mut alone = VirtualFile::new(generation, sections.source(), head, tree.as_deref());
        for block in sized {
            alone.push_block(block, sections.source())?;
        }
        for (_, array) in taken {
            alone.push_array(array, Byteorder::Big);
        }
        for block in streamed {
            alone.push_block(block, sections.source())?;
        }
        account.losses.extend(content_not_in_tree(file, fits, &hdus)?);
        alone.open(file.limits())?
    } else {
        let NewAsdf { builder, tree } = build_asdf(fits, physical_values, account)?;
        builder.into_file(tree, file.sections().source(), file.limits())?
    };
    Ok(Some(alone.with_resolver(file.resolver().clone())))
}

/// Returns remarks on the FITS file around a file.
pub(super) fn fits_notes(file: &AsdfFile) -> Vec<String> {
    container_fits(file).map_or_else(Vec::new, |fits| fits.warnings().to_vec())
}

/// Lists the HDUs of a plain FITS file whose stored values are not their physical ones.
pub(super) fn stored_notes(file: &AsdfFile) -> Vec<String> {
    let Some(fits) = container_fits(file).filter(|_| file.container().is_some_and(|container| container.hdu == 0)) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    for hdu in fits.hdus() {
        // An unreadable header is copied unchanged.
        if let Ok(Some(why)) = fits.nonphysical_reason(hdu) {
            let number = hdu.index();
            notes.push(format!(
                "/fits/{number}/data keeps the stored values of the HDU, which are not its physical ones ({why}): \
                 --physical writes those"
            ));
        }
    }
    notes
}

/// Converts to a FITS file. A file that is one already is copied, and the ASDF file in it is rewritten.
pub(super) fn to_fits_with(
    file: &AsdfFile,
    options: &ConvertOptions,
    mut out: &mut dyn WriteSeek,
    progress: Progress<'_>,
    account: &mut LossAccount,
) -> Result<ConvertReport> {
    if options.encode.is_some() {
        return Err(Error::invalid_input("a FITS file has no encoding chains").setting("", SuggestedSetting::Remove(&["encode"])));
    }
    if container_fits(file).is_some() {
        account.notes.extend(fits_notes(file));
        return super::convert(file, out, options, progress);
    }
    if options.codec != CodecChoice::Keep {
        return Err(
            Error::invalid_input("the data of a FITS file have no codec").setting("", SuggestedSetting::Remove(&["codec"]))
        );
    }
    write_fits(file, options.coordinates, &mut out, account)?;
    Ok(ConvertReport::default())
}

/// The parts of the ASDF file inside a FITS file that becomes a separate file.
struct ExtractedParts<'f> {
    generation: &'static Generation,
    tree: Option<String>,
    /// The blocks of the ASDF file, and those that are streamed.
    sized: Vec<&'f Block>,
    streamed: Vec<&'f Block>,
    /// The arrays of HDUs, by their sources.
    taken: Vec<(String, Array)>,
    /// The numbers of these HDUs.
    hdus: BTreeSet<usize>,
}

impl<'f> ExtractedParts<'f> {
    fn new(file: &'f AsdfFile, account: &mut LossAccount) -> Result<Self> {
        let sections = file.sections();
        let (streamed, sized): (Vec<&Block>, Vec<&Block>) =
            sections.all_blocks()?.into_iter().partition(|block| block.is_streamed());
        let mut edit = file.tree().edit();
        let mut taken: Vec<(String, Array)> = Vec::new();
        let (fits, mut hdus) = (container_fits(file), BTreeSet::new());
        if let Some((fits, hdu)) = fits.and_then(|fits| Some((fits, fits.asdf()?)))
            && let Err(why) = fits.check(hdu)
        {
            account.keep_damaged("", why)?;
        }
        for (node, source) in walk::ndarrays_with_source(file)? {
            if let Some(number) = source.as_i64() {
                let block = sections.block(number)?;
                let number = if block.is_streamed() { -1 } else { block.index as i64 };
                if source.as_i64() != Some(number) {
                    edit.replace_node(source, &Value::from(number));
                }
            }
            if !source.text().starts_with("fits:") {
                continue;
            }
            let array = file.stored_array(node)?.without_mask();
            let name = source.text().into_owned();
            if let Some(hdu) = fits.and_then(|fits| fits.find(name.trim_start_matches("fits:")).ok()) {
                hdus.insert(hdu.index());
            }
            let position = taken.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                taken.push((name, array.clone()));
                taken.len() - 1
            });
            edit.replace_node(source, &Value::from((sized.len() + position) as u64));
            edit.set_key(node, "byteorder", &Value::from("big"))?;
            // The HDU determines type and shape, even if the tree differs.
            edit.set_key(node, "datatype", &datatype_value(array.datatype(), Some(Byteorder::Big), "datatype"))?;
            edit.set_key(node, "shape", &Value::seq(array.shape().iter().copied()).flow())?;
        }
        let text = edit.finish(file.limits())?.into_text();
        let generation = sections.generation().ok_or_else(|| Error::unsupported("a file of an unknown generation"))?;
        Ok(Self { generation, tree: sections.tree().map(|_| text), sized, streamed, taken, hdus })
    }
}

/// Returns the content of the FITS file that is not in the tree of the ASDF file in it.
fn content_not_in_tree(file: &AsdfFile, fits: &FitsFile, taken: &BTreeSet<usize>) -> Result<Vec<Diagnostic>> {
    let lost = fits::unused_content(fits, taken, &[])?;
    if lost.is_empty() {
        return Ok(lost);
    }
    // Content that is derived from the tree for readers that support only FITS is not lost.
    match hdus(file, CoordinateHeader::Sip) {
        Ok(shown) => fits::unused_content(fits, taken, &shown.hdus),
        Err(error) if error.kind().is_transient() => Err(error),
        Err(_) => Ok(lost),
    }
}
