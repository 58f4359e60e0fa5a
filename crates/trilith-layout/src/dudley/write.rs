//! Writing native files from a layout and data.

use std::io::{Seek, SeekFrom, Write};

use super::datatype::datatype_of;
use super::encode_elements::{is_reserved, reserved_size, write_array_bytes};
use super::signature::Signature;
use crate::array::{Array, Byteorder, Datatype};
use crate::bytes;
use crate::error::{Error, Result};
use crate::layout::{
    Dialect, EvaluateOptions, Layout, LayoutEntry, LayoutEvaluation, LayoutFilter, LayoutLiteral, ResolvedType, StreamEntryKind,
    SuppliedValue, WalkExtent,
};
use crate::limits::Limits;

/// A native file to be written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NewStream<'l> {
    /// The layout.
    pub layout: &'l Layout,
    /// The byte order of the signature, and of whatever the layout leaves open.
    pub order: Byteorder,
    /// The values of all stored parameters in the order of the text, without lengths of compressed arrays.
    pub params: Vec<i64>,
    /// `true` if the layout is appended to the file; otherwise it has to stay next to it.
    pub embed: bool,
    /// `true` if the file begins with a signature; otherwise it holds the bytes of the layout alone, and no layout.
    pub has_signature: bool,
    /// Limits on the cost.
    pub limits: Limits,
}

/// A function that supplies the data for an entry.
pub type DataSupplier<'d> = &'d mut dyn FnMut(&LayoutEntry) -> Result<Array>;

impl<'l> NewStream<'l> {
    /// A file under a layout, little-endian, with the layout at its end.
    pub fn new(layout: &'l Layout, params: Vec<i64>) -> Self {
        Self { layout, order: Byteorder::Little, params, embed: true, has_signature: true, limits: Limits::default() }
    }

    /// Writes the file; `data` gives the array of each item, which must have its datatype and shape.
    /// Returns the size of the file.
    ///
    /// ```
    /// use std::{io::Cursor, sync::Arc};
    /// use trilith_array::array::Array;
    /// use trilith_layout::dudley::{DudleyFile, NewStream};
    /// use trilith_io::bytes::MemorySource;
    /// use trilith_layout::{Limits, layout::Layout};
    /// let layout = Layout::read(b"N : i8  x = f8[N]")?;
    /// let mut out = Cursor::new(Vec::new());
    /// NewStream::new(&layout, vec![2]).write(&mut |_| Array::from_slice(&[1.5, 2.5], &[2]), &mut out)?;
    /// let file = DudleyFile::open(Arc::new(MemorySource::new(out.into_inner(), "x.bd")), None, &Limits::default())?;
    /// assert_eq!(file.array_at("/x")?.load::<f64>()?, [1.5, 2.5]);
    /// # Ok::<(), trilith_layout::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if data or parameters do not fit the layout (E409), or
    /// would overwrite the header (E410). Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for
    /// filters other than gzip and png, and [`ErrorKind::Io`](crate::ErrorKind::Io) if writing fails.
    pub fn write<W: Write + Seek>(&self, data: DataSupplier<'_>, out: &mut W) -> Result<u64> {
        check_no_reserved(self.write_reserving(data, out)?)
    }

    /// Does the same as [`NewStream::write`], and leaves the bytes of [`reserved`](super::reserved) arrays as they are.
    /// Returns the paths of these arrays, too.
    pub(crate) fn write_reserving<W: Write + Seek>(&self, data: DataSupplier<'_>, out: &mut W) -> Result<ReservedLayout> {
        let options = EvaluateOptions { is_native: self.has_signature, byteorder: Some(self.order), limits: self.limits.clone() };
        let fail = |e| Error::io("writing", e);
        let (base, header_len) =
            if self.has_signature { (base_of(self.layout.dialect()), Signature::SIGNATURE_LEN) } else { (0, 0) };
        if self.has_signature {
            out.write_all(&Signature { order: self.order, layout_offset: None }.bytes()).map_err(fail)?;
        }
        let (found, packed) = evaluate_layout(self.layout, &options, &self.params, data)?;
        let mut put = |at: u64, bytes: &[u8]| out.seek(SeekFrom::Start(at)).and_then(|_| out.write_all(bytes)).map_err(fail);
        let place = FilePlace { base, header_len };
        let (end, reserved) = write_items(&found, place, WalkExtent::default(), &self.limits, packed, data, &mut put)?;
        let total = found.total().and_then(|total| total.checked_add(base));
        let total = total.ok_or_else(|| Error::invalid_input("the size of the file is not known"))?.max(header_len);
        if !self.embed || !self.has_signature {
            // The file has all its bytes, also where nothing was written at the end.
            if end < total {
                out.seek(SeekFrom::Start(total - 1)).and_then(|_| out.write_all(&[0])).map_err(fail)?;
            }
            return Ok((total, reserved));
        }
        let text = stored_text(self.layout);
        out.seek(SeekFrom::Start(total)).and_then(|_| out.write_all(text.as_bytes())).map_err(fail)?;
        let header = Signature { order: self.order, layout_offset: Some(total) };
        out.seek(SeekFrom::Start(8)).and_then(|_| out.write_all(&header.address_bytes())).map_err(fail)?;
        Ok((out.seek(SeekFrom::End(0)).map_err(fail)?, reserved))
    }
}

/// The size of a file, and the paths of the arrays that are only reserved in it.
pub(crate) type ReservedLayout = (u64, Vec<String>);

/// Refuses reserved arrays.
pub(super) fn check_no_reserved((size, reserved): ReservedLayout) -> Result<u64> {
    match reserved.first() {
        None => Ok(size),
        Some(path) => Err(Error::invalid_input(format!("{path} has no elements, only space for them"))
            .hint("ParallelWriter (trilith.create in Python) writes a file with reserved arrays")),
    }
}

/// The byte of a native file that is address 0.
pub(super) fn base_of(dialect: Dialect) -> u64 {
    match dialect {
        Dialect::D2025 => 0,
        Dialect::D2026 => Signature::SIGNATURE_LEN,
    }
}

/// Returns the text of a layout as a native file holds it: with its dialect on record (section 7.6).
pub fn stored_text(layout: &Layout) -> String {
    let text = layout.text().get(..layout.text_end()).unwrap_or("");
    format!("{}{}\n", dialect_line(layout), text.trim_end())
}

/// The line that records the dialect, unless the layout has it.
pub(super) fn dialect_line(layout: &Layout) -> String {
    let is_said = layout.attributes(crate::layout::ItemId::ROOT).any(|(name, _)| name == "dialect");
    if is_said { String::new() } else { format!("#: dialect={}\n", layout.dialect()) }
}

/// The stored bytes of compressed arrays, by path, in the order of the text.
pub(super) type PackedArrays = Vec<(String, Vec<u8>)>;

/// Finds all addresses: compressed arrays are compressed first, since their lengths decide what follows.
pub(super) fn evaluate_layout<'l>(
    layout: &'l Layout,
    options: &EvaluateOptions,
    params: &[i64],
    data: DataSupplier<'_>,
) -> Result<(LayoutEvaluation<'l>, PackedArrays)> {
    let found = layout.evaluate_with(options, params)?;
    let packed = compress_arrays(layout, options, &found, WalkExtent::default(), data)?;
    if packed.is_empty() {
        return Ok((found, packed));
    }
    let known = evaluate_with_params(layout, options, &[], params, Some(&packed))?;
    Ok((known, packed))
}

/// Does the same as [`evaluate_layout`], for a stream that has more items than before. The values of the old stored
/// parameters, lengths of compressed arrays included, are `known`, and so are its items up to `from`.
pub(super) fn evaluate_more<'l>(
    layout: &'l Layout,
    options: &EvaluateOptions,
    (known, from): (&[i64], WalkExtent),
    params: &[i64],
    data: DataSupplier<'_>,
) -> Result<(LayoutEvaluation<'l>, PackedArrays)> {
    let compresses = (0..layout.item_count()).filter_map(|at| layout.item_at(at)).any(|id| is_compressed(layout, id));
    if !compresses {
        return Ok((layout.evaluate_with(options, &[known, params].concat())?, Vec::new()));
    }
    let found = evaluate_with_params(layout, options, known, params, None)?;
    let packed = compress_arrays(layout, options, &found, from, data)?;
    let found = evaluate_with_params(layout, options, known, params, Some(&packed))?;
    Ok((found, packed))
}

fn is_compressed(layout: &Layout, item: crate::layout::ItemId) -> bool {
    layout.filter_of(item).is_some_and(|filter| filter.compresses)
}

/// The arrays from `from` on that are stored compressed.
fn compress_arrays(
    layout: &Layout,
    options: &EvaluateOptions,
    found: &LayoutEvaluation<'_>,
    from: WalkExtent,
    data: DataSupplier<'_>,
) -> Result<PackedArrays> {
    let mut packed: PackedArrays = Vec::new();
    for (_, entry) in (0..options.limits.items).zip(found.entries_after(from)?) {
        let entry = entry?;
        let Some(filter) = layout.filter_of(entry.item).filter(|filter| filter.compresses) else { continue };
        if entry.kind == StreamEntryKind::Data && !entry.shape.contains(&0) {
            let bytes = compress_entry(filter, &entry, data).map_err(|e| e.context(entry.path.clone()))?;
            packed.push((entry.path, bytes));
        }
    }
    Ok(packed)
}

/// The layout with the first values `known`, then `params`, and between these the lengths of what is
/// `packed`, which may be unknown.
fn evaluate_with_params<'l>(
    layout: &'l Layout,
    options: &EvaluateOptions,
    known: &[i64],
    params: &[i64],
    packed: Option<&PackedArrays>,
) -> Result<LayoutEvaluation<'l>> {
    let mut values = params.iter();
    let mut lengths = packed.map(|packed| packed.iter().map(|(_, bytes)| bytes.len() as i64));
    let found = layout.evaluate(options, |request| {
        let known = usize::try_from(request.ordinal).ok().and_then(|at| known.get(at));
        let value = match (&mut lengths, known) {
            (_, Some(value)) => Some(*value),
            (None, None) if request.is_length => return Ok(SuppliedValue::Unknown),
            (Some(lengths), None) if request.is_length => lengths.next(),
            _ => values.next().copied(),
        };
        Ok(value.map_or(SuppliedValue::Missing, SuppliedValue::Value))
    })?;
    match values.count() {
        0 => Ok(found),
        more => Err(Error::invalid_input(format!("E409: {more} values more were given than the layout has stored parameters"))),
    }
}

fn compress_entry(filter: &LayoutFilter, entry: &LayoutEntry, data: DataSupplier<'_>) -> Result<Vec<u8>> {
    let level = match (filter.name.as_str(), filter.arguments.as_slice()) {
        ("gzip" | "png", []) => 9,
        ("gzip" | "png", [LayoutLiteral::Integer(level)]) => *level,
        _ => return Err(super::decompress::unavailable_filter_error(&filter.name)),
    };
    let mut shape = entry.shape.clone();
    let (datatype, order) = datatype_of(&entry.resolved_type, &mut shape)?;
    let array = data(entry)?;
    if is_reserved(&array) {
        return Err(Error::unsupported("the space of a compressed array cannot be reserved").hint("declare it without `->`"));
    }
    if filter.name == "png" {
        return compress_png(&array, &datatype, entry, level);
    }
    // An invalid level is the usual one.
    let level = u32::try_from(level).unwrap_or(6);
    bytes::deflated(level, &mut |out| {
        write_array_bytes(&array, &datatype, order, &shape, &mut |bytes| {
            out.write_all(bytes).map_err(|e| Error::io("compressing", e))
        })
    })
}

/// An array as a PNG file.
#[cfg(feature = "png")]
fn compress_png(array: &Array, datatype: &Datatype, entry: &LayoutEntry, level: i64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write_array_bytes(array, datatype, Byteorder::Big, &entry.shape, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    super::png::encode_png(
        &bytes,
        &super::decompress::UncompressedForm::from_entry(entry)?,
        u8::try_from(level).unwrap_or(9).min(9),
    )
}

#[cfg(not(feature = "png"))]
fn compress_png(_: &Array, _: &Datatype, _: &LayoutEntry, _: i64) -> Result<Vec<u8>> {
    Err(super::decompress::unavailable_filter_error("png"))
}

/// The place of the items in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilePlace {
    /// The byte that is address 0.
    pub base: u64,
    /// Bytes at the beginning that no item may have.
    pub header_len: u64,
}

/// Writes the items from `from` on, at their bytes of the file; returns the largest end, and the paths of reserved arrays.
pub(super) fn write_items(
    found: &LayoutEvaluation<'_>,
    place: FilePlace,
    from: WalkExtent,
    limits: &Limits,
    packed: PackedArrays,
    data: DataSupplier<'_>,
    put: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<ReservedLayout> {
    let mut packed = packed.into_iter().peekable();
    let (mut end, mut reserved) = (0, Vec::new());
    for (number, entry) in (0u64..).zip(found.entries_after(from)?) {
        let entry = entry?;
        if number >= limits.items {
            return Err(Limits::exceeded_error("items", limits.items, "the stream has more items"));
        }
        let Some(address) = entry.address.filter(|_| entry.resolved_type != ResolvedType::Dynamic) else { continue };
        let at =
            place.base.checked_add(address).ok_or_else(|| Error::invalid_input(format!("E406: {} is too far", entry.path)))?;
        if at < place.header_len {
            return Err(Error::invalid_input(format!("E410: {} would be written over the header, at byte {at}", entry.path)));
        }
        let mut next = at;
        let mut take = |bytes: &[u8]| {
            put(next, bytes)?;
            next = next.saturating_add(bytes.len() as u64);
            Ok(())
        };
        match (entry.kind, packed.next_if(|(path, _)| *path == entry.path)) {
            (StreamEntryKind::Param, _) => take(&param_bytes(&entry)?)?,
            (StreamEntryKind::Data, Some((_, bytes))) => take(&bytes)?,
            (StreamEntryKind::Data, None) => {
                let mut shape = entry.shape.clone();
                let (datatype, order) = datatype_of(&entry.resolved_type, &mut shape)?;
                let array = data(&entry).map_err(|e| e.context(entry.path.clone()))?;
                if is_reserved(&array) {
                    let size = reserved_size(&array, &datatype, &shape).map_err(|e| e.context(entry.path.clone()))?;
                    next = next.saturating_add(size);
                    reserved.push(entry.path);
                } else {
                    write_array_bytes(&array, &datatype, order, &shape, &mut take).map_err(|e| e.context(entry.path.clone()))?;
                }
            }
            (StreamEntryKind::Null, _) => {}
        }
        end = end.max(next);
    }
    Ok((end, reserved))
}

/// A parameter as it is stored.
pub(super) fn param_bytes(entry: &LayoutEntry) -> Result<Vec<u8>> {
    let ResolvedType::Primitive { primitive, byteorder } = &entry.resolved_type else {
        return Err(Error::invalid_input(format!("{} is not a number", entry.path)));
    };
    let value = entry.value.ok_or_else(|| Error::invalid_input(format!("the value of {} is not known", entry.path)))?;
    let size = (primitive.size() as usize).min(8);
    let all = value.to_le_bytes();
    let (kept, rest) = all.split_at(size);
    let sign = if value < 0 { 0xff } else { 0 };
    let top_fits = kept.last().is_some_and(|top| (top & 0x80 != 0) == (value < 0)) || primitive.name().starts_with('u');
    if rest.iter().any(|byte| *byte != sign) || !top_fits {
        return Err(Error::invalid_input(format!("E402: the value {value} of {} does not fit in {primitive}", entry.path)));
    }
    let mut bytes = kept.to_vec();
    if *byteorder == Some(Byteorder::Big) {
        bytes.reverse();
    }
    Ok(bytes)
}
