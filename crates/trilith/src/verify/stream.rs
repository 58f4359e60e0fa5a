//! Checking a Dudley stream: its items are in allowed places, and its arrays decode.

use super::{Checksum, VerifyDepth, VerifyReport, gzip_checksums};
use crate::array::{Array, TextType, check_texts};
use crate::dudley::{DudleyFile, LayoutOrigin, StreamItems};
use crate::error::{Error, Result};
use crate::foreign;
use crate::layout::{ItemId, LayoutEntry, ResolvedType, StreamEntryKind};
use crate::progress::Progress;

/// Checks a Dudley stream: every item is in the file, and outside of header and layout; with [`VerifyDepth::Decoded`]
/// compressed arrays decode. `progress` receives the number of bytes read. Overlaps, which are legal in Dudley, are
/// warnings, and so is what is odd about the layout.
///
/// # Errors
/// Returns the errors of [`DudleyFile::locate_items`] if not even the addresses can be found.
pub(crate) fn verify_stream(file: &DudleyFile, depth: VerifyDepth, progress: Progress<'_>) -> Result<VerifyReport> {
    let _call = file.limits().call();
    let items = file.locate_items()?;
    let mut report = VerifyReport { warnings: file.warnings(), ..VerifyReport::default() };
    report.structure.extend(file.layout().unreadable(ItemId::ROOT));
    for entry in items.entries() {
        let entry = entry?;
        if let Err(error) = check_item(&items, &entry, depth, progress) {
            report.arrays.push((entry.path, error));
        }
    }
    check_grids(file, depth, progress, &mut report)?;
    report.checksums = compare_part_checksums(file, progress)?;
    if let LayoutOrigin::Embedded(at) = file.origin() {
        report.warnings.extend(file.signs_of_a_cut(Some(*at))?);
    }
    // Other formats declare that two names are one item: with links, and with strings that are stored once.
    if !matches!(file.origin(), LayoutOrigin::Derived(_)) {
        report.warnings.extend(items.evaluation().overlaps()?.iter().map(ToString::to_string));
    }
    Ok(report)
}

/// The checksums of the parts of the file; None if they are not counted.
fn compare_part_checksums(file: &DudleyFile, progress: Progress<'_>) -> Result<Option<Vec<Checksum>>> {
    let LayoutOrigin::Derived(format) = file.origin() else { return Ok(Some(gzip_checksums(&**file.source())?)) };
    let Some(compared) = foreign::sums(format, file.source(), file.limits(), progress)? else { return Ok(None) };
    let sum = |(path, kind, compared): foreign::PartSum| Checksum { path, kind, problem: compared.err() };
    Ok(Some(gzip_checksums(&**file.source())?.into_iter().chain(compared.into_iter().map(sum)).collect()))
}

/// Checks arrays in chunks: their chunks fit them and, with [`VerifyDepth::Decoded`], decode.
fn check_grids(file: &DudleyFile, depth: VerifyDepth, progress: Progress<'_>, report: &mut VerifyReport) -> Result<()> {
    if !file.has_grids() {
        return Ok(());
    }
    let outline = file.outline()?;
    for (_, entry) in outline.entries().filter(|(id, _)| outline.is_grid(*id)) {
        let index = file.check_chunk_index(entry);
        let checked = index.and_then(|()| file.array_of(entry)).and_then(|array| match depth {
            VerifyDepth::Structure => Ok(()),
            VerifyDepth::Decoded => check_strings(&array).and_then(|()| array.read_through(|bytes| progress.add(bytes))),
        });
        if let Err(error) = checked {
            report.arrays.push((entry.path.clone(), error));
        }
    }
    Ok(())
}

/// Checks the strings of an array. In other formats than ASDF a byte string may be in any encoding.
fn check_strings(array: &Array) -> Result<()> {
    [TextType::Ucs4, TextType::Utf8].into_iter().try_for_each(|kind| check_texts(array, kind))
}

fn check_item(items: &StreamItems<'_>, entry: &LayoutEntry, depth: VerifyDepth, progress: Progress<'_>) -> Result<()> {
    let file = items.file();
    if let Some(why) = file.unreadable(entry) {
        return Err(why);
    }
    let place = entry.address.and_then(|at| at.checked_add(file.base_offset())).zip(entry.nbytes.filter(|size| *size > 0));
    if let (Some((at, size)), LayoutOrigin::Embedded(layout)) = (place, file.origin())
        && at.saturating_add(size) > *layout
    {
        let message = format!("its bytes {at}..{} reach into the layout at byte {layout}", at.saturating_add(size));
        return Err(Error::malformed(message).at_byte(at));
    }
    if let Some((at, size)) = place
        && at.checked_add(size).is_none_or(|end| end > file.data_end())
    {
        let message = format!("its bytes {at}..{} end after the file of {} bytes", at.saturating_add(size), file.data_end());
        return Err(Error::malformed(message).at_byte(at));
    }
    if entry.kind != StreamEntryKind::Data || entry.resolved_type == ResolvedType::Dynamic {
        return Ok(());
    }
    let array = items.array(entry)?;
    if depth == VerifyDepth::Structure {
        return Ok(());
    }
    check_strings(&array)?;
    if file.layout().filter_of(entry.item).is_some_and(|filter| filter.compresses) {
        array.read_through(|bytes| progress.add(bytes))?;
    }
    Ok(())
}
