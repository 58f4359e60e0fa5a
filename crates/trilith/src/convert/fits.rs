//! FITS to ASDF and back.
//!
//! The `fits` module of the 0.1.0dev document: a list of HDUs, each a header and perhaps an ndarray. A
//! root `fits` says exactly what the FITS file is. Without one, the images and tables of the tree
//! become HDUs, and the tree itself goes into an HDU called ASDF, whose arrays are found by
//! `fits:NAME,1`: nothing is lost.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{Seek, Write};
use std::sync::Arc;

use super::coverage::{Account, says_form_only};
use super::loss::{kept, read_through, skipped};
use super::tree_to_hdus::{Shown, shown};
use super::{CodecChoice, ConvertOptions, Converted, Coordinates, To};
use crate::array::{Array, Byteorder};
use crate::asdf::builder::datatype_value;
use crate::asdf::{ArrayOptions, AsdfFile, Block, BlockOptions, Builder, FileWriter, Target, walk};
use crate::bytes::{self, Derived, MemorySource, SourceRef, WriteSeek, verify_backing};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result, Setting, counted};
use crate::file::fits_around;
use crate::fits::{self, FitsFile, Hdu, HduKind, Part};
use crate::limits::Limits;
use crate::progress::Progress;
use crate::tree::{Node, NodeId, TreePath, Value};

/// Tag of a `fits` list whose cards keep to the lengths of the standard's schema.
const STRICT: &str = "tag:stsci.edu:asdf/fits/fits-1.2.0";
/// Tag of one with longer cards, which astropy has, too.
const LOOSE: &str = "tag:astropy.org:astropy/fits/fits-1.0.0";

/// Writes a plain FITS file as ASDF 1.6: headers card by card, data as blocks. Returns what is lost: the data that are left
/// out because they cannot be read, which `options` must allow, and bytes between and after the HDUs that are no filling.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for an HDU that differs from its CHECKSUM or DATASUM,
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for data that FITS files rarely hold,
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if writing fails, and an error if the file cannot be read.
pub fn from_fits<W: Write + Seek>(fits: &FitsFile, out: W, options: &ConvertOptions) -> Result<Vec<Diagnostic>> {
    let _call = fits.limits().call();
    let builder = Builder::new(Target::newest()).with_options(options.write.clone());
    let mut how = ArrayOptions::default();
    if let CodecChoice::Set(id) = options.codec {
        how.codec = Some(id);
    }
    (how.level, how.blosc) = (options.level, options.blosc);
    let mut taking = Taking { builder, how: &how, skip: options.skip_unreadable, losses: Vec::new() };
    // A header has no array that would be compared.
    for hdu in fits.hdus() {
        if let Err(why) = fits.check(hdu) {
            taking.losses.push(kept(&format!("/fits/{}/header", hdu.number()), why, taking.skip)?);
        }
    }
    let root = if options.physical { physical(fits, &mut taking)? } else { as_stored(fits, &mut taking)? };
    let Taking { builder, mut losses, .. } = taking;
    builder.write_to(out, root)?;
    losses.extend(fits::spare(fits)?);
    Ok(losses)
}

/// The arrays of a FITS file on their way into a file of the ASDF family.
struct Taking<'a> {
    builder: Builder<'a>,
    how: &'a ArrayOptions,
    /// `true` if arrays that cannot be read are left out.
    skip: bool,
    losses: Vec<Diagnostic>,
}

impl Taking<'_> {
    /// Returns the node of an array; None if it cannot be read and is left out.
    fn node(&mut self, path: &TreePath, array: Result<Array>) -> Result<Option<Value>> {
        let read = array.and_then(|array| {
            if self.skip {
                read_through(&array)?;
            }
            self.builder.array(&array, self.how)
        });
        match read {
            Ok(node) => Ok(Some(node)),
            Err(why) => {
                self.losses.push(skipped(&path.to_string(), why, self.skip)?);
                Ok(None)
            }
        }
    }
}

/// The path of the data of an HDU in the list of a FITS file.
fn data_path(hdu: &Hdu) -> TreePath {
    TreePath::root().join("fits").join(hdu.number().to_string()).join("data")
}

/// The tree of what a FITS file stores.
fn as_stored(fits: &FitsFile, taking: &mut Taking<'_>) -> Result<Value> {
    let listing = fits::to_value(fits, &mut |hdu| match fits.stored(hdu).transpose() {
        Some(array) => taking.node(&data_path(hdu), array),
        None => Ok(None),
    })?;
    let tag = if listing.is_strict { STRICT } else { LOOSE };
    let mut root = Value::map([("fits", listing.fits.tagged(tag))]);
    if let Some(cards) = listing.cards {
        root.set(fits::CARDS_KEY, cards);
    }
    if let Some(heaps) = listing.heaps {
        root.set(fits::HEAP_KEY, heaps);
    }
    Ok(root)
}

/// The tree of the physical values of a FITS file: the array of each HDU under its EXTNAME, a table as a mapping of its
/// columns, and the cards of every header under `headers`.
fn physical(fits: &FitsFile, taking: &mut Taking<'_>) -> Result<Value> {
    let mut root = Value::map::<&str, Value>([]);
    let mut headers = Value::map::<&str, Value>([]);
    // Keys at the top that belong to an ASDF file and this tree.
    let mut names: HashSet<String> = ["headers", "fits", "history", "asdf_library"].map(str::to_owned).into();
    let listing = fits::to_value(fits, &mut |_| Ok(None))?;
    for (hdu, item) in fits.hdus().iter().zip(listing.fits.items()) {
        let plain = match hdu.name() {
            "" => format!("HDU{}", hdu.number()),
            name => name.to_owned(),
        };
        let name = if names.contains(&plain) { format!("{plain},{}", hdu.version()) } else { plain };
        let name = if names.contains(&name) { format!("{name} ({})", hdu.number()) } else { name };
        names.insert(name.clone());
        if let Some(header) = item.get("header") {
            headers.set(name.as_str(), header.clone());
        }
        if hdu.kind() == HduKind::Image && hdu.header().integer("NAXIS")? == Some(0) {
            continue;
        }
        if let Some(node) = physical_node(fits, hdu, taking)? {
            root.set(name, node);
        }
    }
    root.set("headers", headers);
    Ok(root)
}

/// The physical values of one HDU; None if they are left out.
fn physical_node(fits: &FitsFile, hdu: &Hdu, taking: &mut Taking<'_>) -> Result<Option<Value>> {
    let path = data_path(hdu);
    let array = match fits.array(hdu) {
        Ok(array) => array,
        Err(why) => return taking.node(&path, Err(why)),
    };
    let Some(fields) = array.datatype().as_struct() else { return taking.node(&path, Ok(array)) };
    let mut columns = Value::map::<&str, Value>([]);
    if hdu.kind() != HduKind::Table {
        for (at, field) in fields.fields().iter().enumerate() {
            let name = field.name_or(at);
            if let Some(node) = taking.node(&path.join(name.as_str()), array.field(&name))? {
                columns.set(name.as_str(), node);
            }
        }
        return Ok(Some(columns));
    }
    let (ragged, rows) = fits.ragged(hdu)?;
    for (at, (name, column)) in fits::named_columns(hdu)?.into_iter().enumerate() {
        let path = path.join(name.as_str());
        let is_ragged = ragged.iter().any(|(number, _)| *number == at);
        if !(is_ragged && column.in_heap()) {
            if let Some(node) = taking.node(&path, fits.part(hdu, at, None))? {
                columns.set(name, node);
            }
            continue;
        }
        let most = fits.limits().nodes;
        if rows > most {
            return Err(Limits::exceeded("nodes", most, format_args!("{rows} arrays of varying length")));
        }
        let mut cells = Vec::new();
        for row in 0..rows {
            // The others keep their numbers.
            let node = taking.node(&path.join(row.to_string()), fits.part(hdu, at, Some(row)))?;
            cells.push(node.unwrap_or_else(Value::null));
        }
        columns.set(name, Value::seq(cells));
    }
    Ok(Some(columns))
}

/// Writes a file of the ASDF family as FITS, and says what of it there is no place for: if the tree is
/// that of a FITS file, even if the tree has other keys.
///
/// # Errors
/// Returns the errors of [`from_fits`].
pub fn to_fits(file: &AsdfFile, out: &mut dyn Write) -> Result<Vec<Diagnostic>> {
    Ok(written(file, Coordinates::default(), out)?.losses)
}

/// Does the same as [`to_fits`]. The notes list corrected cards that did not agree with their data.
fn written(file: &AsdfFile, coordinates: Coordinates, out: &mut dyn Write) -> Result<Converted> {
    let _call = file.limits().call();
    let root = file.tree().root();
    if let Some(list) = root.get("fits").filter(|list| list.is_sequence()) {
        let (parts, mut losses) = listed(file, root, list)?;
        let mut notes = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            notes.extend(fits::corrections(part, number == 0)?.into_iter().map(|text| format!("/fits/{number}/header: {text}")));
        }
        fits::write(out, &parts)?;
        losses.extend(unnamed_blocks(file)?);
        return Ok(Converted { losses, notes, ..Converted::default() });
    }
    let Shown { mut parts, sources, notes } = shown(file, coordinates)?;
    let (asdf, losses) = embedded(file, &sources)?;
    parts.push(Part::asdf(asdf)?);
    fits::write(out, &parts)?;
    Ok(Converted { losses, notes, ..Converted::default() })
}

/// The HDUs of a `fits` list, and all of the tree that is in none of them.
fn listed(file: &AsdfFile, root: Node<'_>, list: Node<'_>) -> Result<(Vec<Part>, Vec<Diagnostic>)> {
    let (mut account, limits) = (Account::default(), file.limits());
    account.take(root);
    let mut take = |taken: fits::Taken<'_>| match taken {
        fits::Taken::All(node) => account.take_all(node, limits),
        fits::Taken::Array(node) => account.take_array(node, limits),
        fits::Taken::Node(node) => {
            account.take(node);
            Ok(())
        }
    };
    let cards = root.get(fits::CARDS_KEY);
    let parts = fits::from_node(list, cards, &mut |node| file.stored_array(node), &mut take)?;
    if let Some(cards) = cards.filter(|cards| cards.is_sequence()) {
        account.take(cards);
        // [HDU, card, text]; the list wins if it differs.
        let is_kept = |entry: &Node<'_>| {
            let number = |at: usize| entry.index(at).is_some_and(|node| node.as_u64().is_some());
            entry.len() == 3 && number(0) && number(1) && entry.index(2).is_some_and(|text| text.as_str().is_some())
        };
        cards.items().filter(is_kept).try_for_each(|entry| account.take_all(entry, limits))?;
    }
    if let Some(heaps) = root.get(fits::HEAP_KEY).filter(|heaps| heaps.is_mapping()) {
        account.take(heaps);
        for (key, views) in heaps.merged_entries() {
            let number = key.text().parse::<usize>().ok();
            let data = number.and_then(|number| list.index(number)).and_then(|hdu| hdu.get("data"));
            take_views(&mut account, views, data, limits)?;
        }
    }
    // The writer of the file is no part of it.
    if let Some(library) = root.get("asdf_library") {
        account.take_all(library, limits)?;
    }
    if let Some(history) = root.get("history").filter(|history| says_form_only(*history)) {
        account.take_all(history, limits)?;
    }
    let losses = account.losses(file.tree(), limits, "it is not part of the FITS file")?;
    Ok((parts, losses))
}

/// Marks the columns of varying length that are views of the bytes of their HDU, which say nothing that these do not.
fn take_views(account: &mut Account, views: Node<'_>, data: Option<Node<'_>>, limits: &Limits) -> Result<()> {
    let source = |node: Node<'_>| node.get("source").and_then(|source| source.as_i64());
    let Some(block) = data.and_then(source).filter(|_| views.is_mapping()) else { return Ok(()) };
    account.take(views);
    for (_, rows) in views.merged_entries().into_iter().filter(|(_, rows)| rows.is_sequence()) {
        account.take(rows);
        for row in rows.items().filter(|row| source(*row) == Some(block)) {
            account.take_array(row, limits)?;
        }
    }
    Ok(())
}

/// The loss of blocks that no array names.
fn unnamed_blocks(file: &AsdfFile) -> Result<Option<Diagnostic>> {
    let count = walk::unnamed(file)?.len();
    Ok((count > 0).then(|| Diagnostic::lost(format!("{} that no array names", counted(count, "block")))))
}

/// Writes a FITS file with `file` as the ASDF file in it: every HDU of `fits` is copied byte for byte, an
/// ASDF file that it held is left out, and the new one comes last. Arrays that equal the image or table of
/// an HDU, as it is meant, are stored there only: their source becomes `fits:NAME,VERSION`. Returns what is damaged: blocks,
/// and HDUs that differ from their sums.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an array of another FITS file that no HDU holds, and
/// the errors of [`from_fits`].
pub fn embed(file: &AsdfFile, fits: &FitsFile, out: &mut dyn Write) -> Result<Vec<Diagnostic>> {
    let _call = file.limits().call();
    let hdus: Vec<(String, Array)> = fits
        .hdus()
        .iter()
        .filter(|hdu| !hdu.is_asdf() && !hdu.data().is_empty())
        .filter_map(|hdu| Some((source_of(fits, hdu), fits.array(hdu).ok()?)))
        .collect();
    let mut sources = BTreeMap::new();
    for (node, source) in walk::sourced(file)? {
        let is_foreign = source.text().starts_with("fits:");
        let Ok(array) = file.stored_array(node).map(Array::without_mask) else { continue };
        let mut found = None;
        for (name, hdu) in &hdus {
            if equal(&array, hdu)? {
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
    let (asdf, mut losses) = embedded(file, &sources)?;
    losses.extend(fits.damaged(|hdu| !hdu.is_asdf())?);
    fits::write_asdf(out, fits, Some(asdf))?;
    Ok(losses)
}

/// Names an HDU for a source: by name and version if these lead back to it, else by its number.
fn source_of(fits: &FitsFile, hdu: &Hdu) -> String {
    let spec = format!("{},{}", hdu.name(), hdu.version());
    let leads_back = !hdu.name().is_empty() && fits.find(&spec).is_ok_and(|found| found.number() == hdu.number());
    if leads_back { format!("fits:{spec}") } else { format!("fits:{}", hdu.number()) }
}

/// Returns `true` if two arrays have the same datatype, shape and elements, bit by bit.
fn equal(a: &Array, b: &Array) -> Result<bool> {
    if a.shape() != b.shape() || a.is_empty() || !a.datatype().means(b.datatype()) {
        return Ok(false);
    }
    a.charge_visits()?;
    b.charge_visits()?;
    const PIECE: u64 = 4 << 20;
    for (a, b) in a.row_blocks(PIECE).zip(b.row_blocks(PIECE)) {
        if a.read_bytes(Byteorder::Big)? != b.read_bytes(Byteorder::Big)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the ASDF file of the last HDU: the tree, and the blocks that are in no HDU. If no ndarray names some of
/// them, all keep their numbers. Also returns the blocks that are damaged.
fn embedded(file: &AsdfFile, sources: &BTreeMap<NodeId, String>) -> Result<(SourceRef, Vec<Diagnostic>)> {
    let blocks = file.sections().all_blocks()?;
    let mut edit = file.tree().edit();
    // If a block must keep its number all do, and an array that goes into an HDU leaves an empty block.
    let unnamed = walk::numbered(file)?;
    let keeps_numbers = !unnamed.is_empty();
    let mut kept: Vec<usize> = if keeps_numbers { unnamed.into_iter().collect() } else { Vec::new() };
    for (node, source) in walk::sourced(file)? {
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
    writer.follow(file.sections())?;
    writer.header_of_bytes(&header.line, &header.raw_comments, file.sections().tree().map(|_| text.as_str()))?;
    let last = kept.iter().max().copied().filter(|_| keeps_numbers);
    let order = last.map_or_else(|| kept.clone(), |last| (0..=last).collect());
    for block in order.into_iter().filter_map(|index| blocks.get(index)) {
        if !kept.contains(&block.index) {
            writer.block(&MemorySource::new(Vec::new(), "nothing"), &BlockOptions::default())?;
        } else {
            writer.copy(&block.stored(file.sections().source())?, block)?;
        }
    }
    let damaged = writer.finish()?;
    Ok((Arc::new(MemorySource::new(out.into_inner(), "the embedded ASDF file")), damaged))
}

/// Writes what a FITS file holds as a file of the ASDF family: the ASDF file in it, or else its headers and data. Returns what is
/// lost, as [`take_out`] and [`from_fits`].
///
/// # Errors
/// Returns the errors of [`from_fits`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a file that is in
/// no FITS file.
pub fn out_of_fits<W: Write + Seek>(file: &AsdfFile, out: W, options: &ConvertOptions) -> Result<Vec<Diagnostic>> {
    let fits = fits_around(file).ok_or_else(|| Error::invalid_input("this file is not inside a FITS file"))?;
    // HDU 0 never holds an ASDF file, so it means a plain FITS file.
    match file.container().is_some_and(|container| container.hdu > 0) {
        true => take_out(file, out, options),
        false => from_fits(fits, out, options),
    }
}

/// Does the same as [`out_of_fits`], into a temporary file that is opened, and returns the losses, too. Returns
/// None for a file that is in no FITS file.
///
/// # Errors
/// Returns the errors of [`from_fits`].
pub fn standing_alone(file: &AsdfFile) -> Result<Option<(AsdfFile, Vec<Diagnostic>)>> {
    alone(file, &ConvertOptions::default())
}

/// Does the same as [`standing_alone`], with `options` for physical values and for leaving out unreadable arrays.
pub(super) fn alone(file: &AsdfFile, options: &ConvertOptions) -> Result<Option<(AsdfFile, Vec<Diagnostic>)>> {
    if fits_around(file).is_none() {
        return Ok(None);
    }
    let from = file.sections().source();
    let (physical, skip_unreadable) = (options.physical, options.skip_unreadable);
    let options = ConvertOptions { physical, skip_unreadable, ..ConvertOptions::default() };
    let mut losses = Vec::new();
    let alone = bytes::set_aside(from.name(), |out| {
        losses = out_of_fits(file, out, &options)?;
        Ok(())
    })?;
    let source = Arc::new(Derived::new(alone, from.clone()));
    Ok(Some((AsdfFile::open(source, file.limits())?.with_resolver(file.resolver().clone()), losses)))
}

/// Returns remarks on the FITS file around a file.
pub(super) fn notes(file: &AsdfFile) -> Vec<String> {
    fits_around(file).map_or_else(Vec::new, |fits| fits.warnings().to_vec())
}

/// Lists the HDUs of a plain FITS file whose stored values are not their physical ones.
pub(super) fn stored_notes(file: &AsdfFile) -> Vec<String> {
    let Some(fits) = fits_around(file).filter(|_| file.container().is_some_and(|container| container.hdu == 0)) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    for hdu in fits.hdus() {
        // An unreadable header is copied unchanged.
        if let Ok(Some(why)) = fits.differs(hdu) {
            let number = hdu.number();
            notes.push(format!(
                "/fits/{number}/data keeps the stored values of the HDU, which are not its physical ones ({why}): \
                 --physical writes those"
            ));
        }
    }
    notes
}

/// Returns `true` if what a FITS file holds can be written at once, in the form that it has there.
pub(super) fn is_copied_out(file: &AsdfFile, options: &ConvertOptions) -> bool {
    let Some(container) = file.container().filter(|_| fits_around(file).is_some()) else { return false };
    let is_direct = match options.codec {
        CodecChoice::Keep => options.level.is_none(),
        CodecChoice::Auto => false,
        // An embedded ASDF file has its own codecs.
        CodecChoice::Plain | CodecChoice::Set(_) => container.hdu == 0,
    };
    is_direct && options.chunks.is_none() && options.encode.is_none() && matches!(options.to, To::Same | To::Asdf)
}

/// Converts to a FITS file. A file that is one already is copied, and the ASDF file in it is rewritten.
pub(super) fn to_fits_with(
    file: &AsdfFile,
    options: &ConvertOptions,
    mut out: &mut dyn WriteSeek,
    progress: Progress<'_>,
) -> Result<Converted> {
    if options.encode.is_some() {
        return Err(Error::invalid_input("a FITS file has no encoding chains").setting("", Setting::Omit(&["encode"])));
    }
    if fits_around(file).is_some() {
        let mut done = super::convert(file, out, options, progress)?;
        done.notes.splice(0..0, notes(file));
        return Ok(done);
    }
    if options.codec != CodecChoice::Keep {
        return Err(Error::invalid_input("the data of a FITS file have no codec").setting("", Setting::Omit(&["codec"])));
    }
    written(file, options.coordinates, &mut out)
}

/// Writes the ASDF file inside a FITS file as a separate file: the HDUs that it refers to become blocks, after its
/// blocks, and a streamed block stays the last. Returns the losses: HDUs and cards that the tree does not hold.
///
/// # Errors
/// Returns the errors of [`from_fits`].
pub fn take_out<W: Write + Seek>(file: &AsdfFile, out: W, options: &ConvertOptions) -> Result<Vec<Diagnostic>> {
    let _call = file.limits().call();
    let sections = file.sections();
    let (streamed, sized): (Vec<&Block>, Vec<&Block>) = sections.all_blocks()?.into_iter().partition(|block| block.is_streamed());
    let mut edit = file.tree().edit();
    let mut taken: Vec<(String, Array)> = Vec::new();
    let (fits, mut hdus) = (fits_around(file), BTreeSet::new());
    let mut damaged = None;
    if let Some((fits, hdu)) = fits.and_then(|fits| Some((fits, fits.asdf()?)))
        && let Err(why) = fits.check(hdu)
    {
        damaged = Some(kept("", why, options.skip_unreadable)?);
    }
    for (node, source) in walk::sourced(file)? {
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
            hdus.insert(hdu.number());
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
    let mut writer = FileWriter::new(out, generation, options.write.clone());
    writer.follow(sections)?;
    writer.header_of_bytes(&sections.header().line, &sections.header().raw_comments, sections.tree().map(|_| text.as_str()))?;
    for block in sized {
        writer.copy(&block.stored(sections.source())?, block)?;
    }
    for (_, array) in taken {
        write_hdu(&mut writer, &array, options)?;
    }
    for block in streamed {
        writer.copy_last(&block.stored(sections.source())?, block)?;
    }
    let mut losses = writer.finish()?;
    losses.extend(damaged);
    if let Some(fits) = fits {
        losses.extend(beside(file, fits, &hdus)?);
    }
    Ok(losses)
}

/// Returns the content of the FITS file that is not in the tree of the ASDF file in it.
fn beside(file: &AsdfFile, fits: &FitsFile, taken: &BTreeSet<usize>) -> Result<Vec<Diagnostic>> {
    let lost = fits::left_behind(fits, taken, &[])?;
    if lost.is_empty() {
        return Ok(lost);
    }
    // Content that is derived from the tree for readers that support only FITS is not lost.
    match shown(file, Coordinates::Sip) {
        Ok(shown) => fits::left_behind(fits, taken, &shown.parts),
        Err(error) if error.kind().is_passing() => Err(error),
        Err(_) => Ok(lost),
    }
}

/// The array of an HDU as a block.
fn write_hdu<W: Write + Seek>(writer: &mut FileWriter<W>, array: &Array, options: &ConvertOptions) -> Result<()> {
    let mut how = BlockOptions::default();
    if let CodecChoice::Set(id) = options.codec {
        how.codec = Some(id);
    }
    (how.encode.level, how.encode.blosc) = (options.level, options.blosc);
    how.encode.item_size = usize::try_from(array.datatype().item_size()).unwrap_or(1).max(1);
    let mut block = writer.begin(&how)?;
    verify_backing(&**array.source())?;
    array.pieces(Byteorder::Big, 4 << 20, &mut |bytes| block.write(bytes))?;
    block.finish()?;
    Ok(())
}
