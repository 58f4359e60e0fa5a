//! Checking a Dudley stream: its items are in allowed places, and its arrays decode.

use super::{VerifyDepth, VerifyReport, checksums};
use crate::array::{Array, TextType, check_texts, has_undecodable_text};
use crate::dudley::{DudleyFile, LayoutOrigin, StreamItems, advise_byteorder, find_declared_faults};
use crate::error::{Error, Result};
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
    let items = file.locate_items().map_err(|error| advise_byteorder(error, file))?;
    let structure: Vec<Error> = file.layout().unreadable(ItemId::ROOT).into_iter().collect();
    let mut report = VerifyReport { structure, ..VerifyReport::default() };
    report.warnings = report.without_problems(file.warnings());
    for entry in items.entries() {
        let entry = entry?;
        if let Err(error) = check_item(&items, &entry, depth, progress, &mut report.warnings) {
            report.arrays.push((entry.path, error));
        }
    }
    let declared = find_declared_faults(&items)?;
    report.arrays.extend(declared.problems);
    report.warnings.extend(declared.warnings);
    check_grids(file, depth, progress, &mut report)?;
    let (compared, coverage) = checksums::compare_parts(file, &items, progress)?;
    report.checksums.extend(compared);
    report.coverage.extend(coverage);
    if let Some((path, error)) = report.arrays.pop() {
        report.arrays.push((path, advise_byteorder(error, file)));
    }
    if let LayoutOrigin::Embedded(at) = file.origin() {
        report.warnings.extend(file.signs_of_a_cut(Some(*at))?);
    }
    // Other formats declare that two names are one item: with links, and with strings that are stored once.
    if !matches!(file.origin(), LayoutOrigin::Derived(_)) {
        report.warnings.extend(items.evaluation().overlaps()?.iter().map(ToString::to_string));
    }
    Ok(report)
}

/// Checks arrays in chunks: their chunks fit them and have the checksums of their filters, and, with [`VerifyDepth::Decoded`], decode.
fn check_grids(file: &DudleyFile, depth: VerifyDepth, progress: Progress<'_>, report: &mut VerifyReport) -> Result<()> {
    if !file.has_grids() {
        return Ok(());
    }
    let outline = file.outline()?;
    let VerifyReport { arrays, warnings, checksums, .. } = report;
    for (_, entry) in outline.entries().filter(|(id, _)| outline.is_grid(*id)) {
        let index = file.check_chunk_index(entry);
        if index.is_ok()
            && let Some(compared) = checksums::compare_chunks(file, entry, progress)?
        {
            let is_wrong = compared.problem.is_some();
            checksums.push(compared);
            if is_wrong {
                // Decoding would report the same chunk again.
                continue;
            }
        }
        let checked = index.and_then(|()| file.check_chunk_filters(entry));
        let checked = checked.and_then(|()| file.array_of(entry)).and_then(|array| match depth {
            VerifyDepth::Structure => Ok(()),
            VerifyDepth::Decoded => {
                check_strings(file, &entry.path, &array, warnings).and_then(|()| array.read_through(|bytes| progress.add(bytes)))
            }
        });
        if let Err(error) = checked {
            arrays.push((entry.path.clone(), error));
        }
    }
    Ok(())
}

/// Checks the strings of an array. A byte string may be in any encoding, and in other formats than Dudley a string that is not
/// in its declared encoding is bytes, with a warning.
fn check_strings(file: &DudleyFile, path: &str, array: &Array, warnings: &mut Vec<String>) -> Result<()> {
    check_texts(array, TextType::Ucs4)?;
    if !file.is_foreign() {
        return check_texts(array, TextType::Utf8);
    }
    if has_undecodable_text(array)? {
        warnings.push(format!("{path}: strings that are not in their declared encoding are read as bytes"));
    }
    Ok(())
}

fn check_item(
    items: &StreamItems<'_>,
    entry: &LayoutEntry,
    depth: VerifyDepth,
    progress: Progress<'_>,
    warnings: &mut Vec<String>,
) -> Result<()> {
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
    check_strings(file, &entry.path, &array, warnings)?;
    if file.layout().filter_of(entry.item).is_some_and(|filter| filter.compresses) {
        array.read_through(|bytes| progress.add(bytes))?;
    }
    Ok(())
}
