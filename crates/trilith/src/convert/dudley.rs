//! Dudley streams written in any form, and files of the ASDF family as Dudley streams.

use super::array_storage::Reading;
use super::dispatch::{as_new_asdf, through_asdf};
use super::dudley_asdf::{asdf_to_draft_with, has_room, is_list, stream_to_asdf_with};
use super::loss::{refuses, skipped};
use super::{CodecChoice, ConvertOptions, Converted, To};
use crate::array::{Text, check_texts};
use crate::asdf::{ArrayOptions, AsdfFile};
use crate::bytes::WriteSeek;
use crate::codec::CodecId;
use crate::diagnostic::Diagnostic;
use crate::dudley::{DudleyFile, Rewrite};
use crate::error::{Error, ErrorKind, Result, Setting};
use crate::layout::{Byteorder, Dialect, Entry, Packing, StoredAs, UNREADABLE};
use crate::progress::Progress;

/// A file of the ASDF family as a native Dudley file.
pub(super) fn of_asdf(
    file: &AsdfFile,
    dialect: Option<Dialect>,
    options: &ConvertOptions,
    out: &mut dyn WriteSeek,
) -> Result<Converted> {
    let dialect = dialect.unwrap_or(Dialect::D2025);
    let (draft, losses) = asdf_to_draft_with(file, options.skip_unreadable)?;
    let stored = stored_as(dialect, options)?;
    if !refuses(&losses, options) {
        let order = options.byteorder.unwrap_or(Byteorder::Little);
        draft.write_stored(dialect, &stored, order, file.limits(), &mut &mut *out)?;
    }
    Ok(Converted { losses, ..Converted::default() })
}

/// A Dudley stream in any form.
pub(super) fn of_stream(
    file: &DudleyFile,
    options: &ConvertOptions,
    out: &mut dyn WriteSeek,
    progress: Progress<'_>,
) -> Result<Converted> {
    // A FITS file is for readers that look for the conventions of FITS.
    let physical = options.physical || matches!(options.to, To::Fits);
    // A Dudley file has no masks.
    let masks = !matches!(options.to, To::Dudley(_));
    let reading = Reading { stack: options.stack, skip: options.skip_unreadable, physical, masks };
    let write = |target, how: &ArrayOptions, out: &mut dyn WriteSeek| stream_to_asdf_with(file, target, how, reading, out);
    let mut notes: Vec<String> = if physical { None } else { stored_notes(file, masks)? }.into_iter().collect();
    notes.extend(list_notes(file, options)?);
    let To::Dudley(dialect) = options.to else {
        let mut done = as_new_asdf("a Dudley stream", file.limits(), options, out, progress, &write)?;
        done.notes.splice(0..0, notes);
        return Ok(done);
    };
    // A layout has the byte offsets of chunks, the columns of a table and what is in other files for this file only, so in another
    // one such an array is written as a whole.
    let outline = file.outline()?;
    let is_whole = |(id, entry): (_, &Entry)| !outline.is_grid(id) && file.layout().column(entry.item).is_none();
    // Text of other formats is not in the encoding that Dudley files have.
    let is_beyond_ascii = |(_, entry): (_, &Entry)| {
        let checked = file.stored_array_of(entry).and_then(|array| check_texts(&array, Text::Ascii));
        checked.is_err_and(|why| why.kind() == ErrorKind::Malformed)
    };
    let has_text = || file.is_foreign() && outline.arrays().any(is_beyond_ascii);
    if physical || file.has_others() || !outline.arrays().all(is_whole) || has_text() {
        let name = file.source().name();
        let mut done = through_asdf(name, file.limits(), options, &write, |file| of_asdf(file, dialect, options, out))?;
        done.notes.splice(0..0, notes);
        return Ok(done);
    }
    if options.stack {
        return Err(Error::invalid_input("lists are stacked on the way to ASDF, and this stays a Dudley file")
            .setting("", Setting::Omit(&["stack"])));
    }
    let mut how = Rewrite::default();
    (how.dialect, how.order) = (dialect, options.byteorder);
    how.stored = stored_as(dialect.unwrap_or(file.layout().dialect()), options)?;
    let mut losses = unreadable(file, options.skip_unreadable)?;
    losses.extend(file.rewrite(&how, &mut &mut *out)?);
    Ok(Converted { losses, notes, ..Converted::default() })
}

/// Number of paths that a note names.
const NAMED: usize = 5;

/// The arrays that keep stored values which are not their physical ones; with `masks`, those of arrays are kept.
fn stored_notes(file: &DudleyFile, masks: bool) -> Result<Option<String>> {
    let is_lost = |entry: &Entry| !(masks && has_room(entry)) && file.is_filled(entry).unwrap_or(false);
    Ok(named(file, |entry| file.is_packed(entry) || is_lost(entry))?.map(|paths| {
        format!("the stored values of {paths} are kept, which are not the physical ones that attributes declare: --physical writes those")
    }))
}

/// The arrays of strings of variable length that are lists in a tree, or that grow by padding.
fn list_notes(file: &DudleyFile, options: &ConvertOptions) -> Result<Option<String>> {
    let is_list = |entry: &Entry| file.stored_array_of(entry).and_then(|array| is_list(&array)).unwrap_or(false);
    Ok(named(file, is_list)?.map(|paths| match options.to {
        To::Dudley(_) => format!("the strings of {paths} become much larger, since each is padded to the length of the longest"),
        _ => format!("the strings of {paths} become lists, since arrays would pad each to the length of the longest"),
    }))
}

/// The paths of the arrays that fit, as a note names them; `None` if there are none.
fn named(file: &DudleyFile, fits: impl Fn(&Entry) -> bool) -> Result<Option<String>> {
    let outline = file.outline()?;
    let mut paths: Vec<&str> = Vec::new();
    let mut more = "";
    for (_, entry) in outline.arrays().filter(|(_, entry)| fits(entry)) {
        if paths.len() == NAMED {
            more = ", …";
            break;
        }
        paths.push(&entry.path);
    }
    Ok((!paths.is_empty()).then(|| format!("{}{more}", paths.join(", "))))
}

/// The items that the layout marks as unreadable, if they are skipped.
fn unreadable(file: &DudleyFile, skip: bool) -> Result<Vec<Diagnostic>> {
    if !file.layout().text().contains(UNREADABLE) {
        return Ok(Vec::new());
    }
    let found = file.outline()?.arrays().filter_map(|(_, entry)| Some((entry, file.unreadable(entry)?)));
    found.map(|(entry, why)| skipped(&entry.path, why, skip)).collect()
}

/// The only codec of blocks that is one of Dudley files, too.
const ZLIB: CodecId = CodecId(*b"zlib");

/// Returns the form in which a Dudley file stores its arrays. Refuses options that it cannot fulfil.
fn stored_as(dialect: Dialect, options: &ConvertOptions) -> Result<StoredAs> {
    let refuse =
        |what: &str, setting| Err(Error::invalid_input(format!("a file of dudley-{dialect} has no {what}")).setting("", setting));
    if options.encode.is_some() || options.write.as_documented {
        return refuse("encoding chains and one spelling of its signature", Setting::Omit(&["encode", "as_documented"]));
    }
    let mut how = StoredAs::default();
    let level = options.level.map(i64::from);
    how.packing = match (options.codec, dialect) {
        (CodecChoice::Keep, _) if level.is_some() => return refuse("level without a codec", Setting::Give("codec", "zlib too")),
        (CodecChoice::Keep, _) => Packing::Keep,
        (CodecChoice::Plain, _) if level.is_none() => Packing::Plain,
        (CodecChoice::Plain, _) => return refuse("level without a codec", Setting::Omit(&["level"])),
        (CodecChoice::Set(ZLIB), Dialect::D2026) if level.is_none_or(|level| (-1..=9).contains(&level)) => Packing::Gzip(level),
        (CodecChoice::Set(ZLIB), Dialect::D2026) => {
            return refuse(&format!("level {} of zlib", level.unwrap_or(0)), Setting::Give("level", "a number from -1 to 9"));
        }
        (codec, Dialect::D2026) => return refuse(&format!("codec {codec}"), Setting::Give("codec", "zlib or none")),
        (codec, Dialect::D2025) => {
            return refuse(&format!("codec {codec}"), Setting::Give("to", "dudley-2026, which has zlib"));
        }
    };
    if let Some(align) = options.write.align {
        if !matches!(align, 1 | 2 | 4 | 8 | 16) {
            return refuse(&format!("alignment to {align} bytes"), Setting::Give("align", "1, 2, 4, 8 or 16"));
        }
        how.align = Some(align);
    }
    Ok(how)
}
