//! Dudley streams written in any form, and files of the ASDF family as Dudley streams.

use super::array_storage::ItemOptions;
use super::dispatch::{NewAsdfSource, as_new_asdf, as_virtual_asdf};
use super::dudley_asdf::{asdf_to_draft_with, build_asdf, has_bytes, has_room, is_list};
use super::loss::LossAccount;
use super::translate::tree_comments;
use super::{CodecChoice, ConvertOptions, ConvertReport, TargetForm};
use crate::array::{TextType, check_texts};
use crate::asdf::{ArrayOptions, AsdfFile, Target};
use crate::bytes::WriteSeek;
use crate::codec::CodecId;
use crate::diagnostic::Diagnostic;
use crate::dudley::{DudleyFile, RewriteOptions};
use crate::error::{Error, ErrorKind, Result, SuggestedSetting};
use crate::layout::{Byteorder, Compression, Dialect, Layout, LayoutEntry, StorageOptions};
use crate::progress::Progress;

/// A file of the ASDF family as a native Dudley file.
pub(super) fn of_asdf(
    file: &AsdfFile,
    dialect: Option<Dialect>,
    options: &ConvertOptions,
    out: &mut dyn WriteSeek,
    account: &mut LossAccount,
) -> Result<ConvertReport> {
    let dialect = dialect.unwrap_or(Dialect::D2025);
    let draft = asdf_to_draft_with(file, account)?;
    account.losses.extend(tree_comment_loss(file)?);
    let stored = stored_as(dialect, options)?;
    if !account.is_refused() {
        let order = options.byteorder.unwrap_or(Byteorder::Little);
        draft.write_stored(dialect, &stored, order, file.limits(), &mut &mut *out)?;
    }
    Ok(ConvertReport::default())
}

/// A Dudley stream in any form.
pub(super) fn of_stream(
    file: &DudleyFile,
    options: &ConvertOptions,
    out: &mut dyn WriteSeek,
    progress: Progress<'_>,
    account: &mut LossAccount,
) -> Result<ConvertReport> {
    // A FITS file is for readers that look for the conventions of FITS.
    let physical = options.physical_values || matches!(options.to, TargetForm::Fits);
    // A Dudley file has no masks.
    let masks = !matches!(options.to, TargetForm::Dudley(_));
    let reading = ItemOptions { stack_lists: options.stack, physical, masks };
    let build = |account: &mut LossAccount| build_asdf(file, Target::latest(), &ArrayOptions::default(), reading, account);
    let from = NewAsdfSource { bytes: file.source(), limits: file.limits(), build: &build };
    if !physical {
        account.notes.extend(stored_notes(file, masks)?);
    }
    account.notes.extend(list_notes(file, options)?);
    account.notes.extend(byte_notes(file)?);
    account.losses.extend(omission_losses(file));
    let TargetForm::Dudley(dialect) = options.to else {
        account.losses.extend(comment_loss(file.layout()));
        return as_new_asdf(&from, options, out, progress, account);
    };
    // A layout has the byte offsets of chunks, the columns of a table and what is in other files for this file only, so in another
    // one such an array is written as a whole.
    let outline = file.outline()?;
    let is_whole = |(id, entry): (_, &LayoutEntry)| !outline.is_grid(id) && file.layout().column(entry.item).is_none();
    // Text of other formats is not in the encoding that Dudley files have.
    let is_beyond_ascii = |(_, entry): (_, &LayoutEntry)| {
        let checked = file.stored_array_of(entry).and_then(|array| check_texts(&array, TextType::Ascii));
        checked.is_err_and(|why| why.kind() == ErrorKind::Malformed)
    };
    let has_text = || file.is_foreign() && outline.arrays().any(is_beyond_ascii);
    if physical || file.has_external_parts() || !outline.arrays().all(is_whole) || has_text() {
        account.losses.extend(comment_loss(file.layout()));
        let Some(made) = as_virtual_asdf(&from, account)? else { return Ok(ConvertReport::default()) };
        return of_asdf(&made, dialect, options, out, account);
    }
    if options.stack {
        return Err(Error::invalid_input("lists are stacked on the way to ASDF, and this stays a Dudley file")
            .setting("", SuggestedSetting::Remove(&["stack"])));
    }
    let mut how = RewriteOptions::default();
    (how.dialect, how.order) = (dialect, options.byteorder);
    how.stored = stored_as(dialect.unwrap_or(file.layout().dialect()), options)?;
    skip_unreadable_items(file, account)?;
    account.losses.extend(file.rewrite(&how, &mut &mut *out)?);
    Ok(ConvertReport::default())
}

/// The parts of a file of another format that its layout does not describe.
fn omission_losses(file: &DudleyFile) -> Vec<Diagnostic> {
    file.layout().omissions().filter(|_| file.is_foreign()).map(Diagnostic::loss_without_path).collect()
}

/// The comments of a layout that no item has, and that only another layout can hold.
fn comment_loss(layout: &Layout) -> Option<Diagnostic> {
    let comments = layout.plain_comments();
    let first = comments.first()?;
    let text = first.slice(layout.text());
    Some(Diagnostic::loss_without_path(format!(
        "{} of the layout, the first of which is {text:?}",
        count_comments(comments.len())
    )))
}

/// `1 comment` or `3 comments`.
fn count_comments(count: usize) -> String {
    if count == 1 { "1 comment".to_owned() } else { format!("{count} comments") }
}

/// The comments of a file of the ASDF family, which no layout has.
fn tree_comment_loss(file: &AsdfFile) -> Result<Option<Diagnostic>> {
    let header = file.sections().header().comments.iter().filter(|line| !line.starts_with("#ASDF_STANDARD ")).cloned();
    let comments: Vec<String> = header.chain(tree_comments(file.tree(), file.limits())?).collect();
    Ok(comments.first().map(|first| {
        let text = first.trim_end();
        Diagnostic::loss_without_path(format!("{} of the tree, the first of which is {text:?}", count_comments(comments.len())))
    }))
}

/// Number of paths that a note names.
const MAX_NAMED_PATHS: usize = 5;

/// The arrays that keep stored values which are not their physical ones; with `masks`, those of arrays are kept.
fn stored_notes(file: &DudleyFile, masks: bool) -> Result<Option<String>> {
    let is_masked = |entry: &LayoutEntry| file.has_mask_page(entry) || file.is_filled(entry).unwrap_or(false);
    let is_lost = |entry: &LayoutEntry| !(masks && has_room(entry)) && is_masked(entry);
    Ok(path_list(file, |entry| file.is_packed(entry) || is_lost(entry))?.map(|paths| {
        format!("the stored values of {paths} are kept, which are not the physical ones that attributes declare: --physical writes those")
    }))
}

/// The arrays of strings of variable length that are lists in a tree, or that grow by padding.
fn list_notes(file: &DudleyFile, options: &ConvertOptions) -> Result<Option<String>> {
    let is_list = |entry: &LayoutEntry| file.stored_array_of(entry).and_then(|array| is_list(&array)).unwrap_or(false);
    Ok(path_list(file, is_list)?.map(|paths| match options.to {
        TargetForm::Dudley(_) => {
            format!("the strings of {paths} become much larger, since each is padded to the length of the longest")
        }
        _ => format!("the strings of {paths} become lists, since arrays would pad each to the length of the longest"),
    }))
}

/// The arrays with strings that are not in their declared encoding, in a file of another format.
fn byte_notes(file: &DudleyFile) -> Result<Option<String>> {
    let declared = |entry: &LayoutEntry| file.with_declared_text(entry, file.stored_array_of(entry)?);
    // An array that cannot be read is an error when it is converted.
    let has_bytes = |entry: &LayoutEntry| declared(entry).and_then(|array| has_bytes(&array)).unwrap_or(false);
    let paths = if file.is_foreign() { path_list(file, has_bytes)? } else { None };
    Ok(paths.map(|paths| format!("strings of {paths} are not in their declared encoding, and become bytes")))
}

/// The paths of the arrays that fit, as a note names them; `None` if there are none.
fn path_list(file: &DudleyFile, fits: impl Fn(&LayoutEntry) -> bool) -> Result<Option<String>> {
    let outline = file.outline()?;
    let mut paths: Vec<&str> = Vec::new();
    let mut more = "";
    for (_, entry) in outline.arrays().filter(|(_, entry)| fits(entry)) {
        if paths.len() == MAX_NAMED_PATHS {
            more = ", …";
            break;
        }
        paths.push(&entry.path);
    }
    Ok((!paths.is_empty()).then(|| format!("{}{more}", paths.join(", "))))
}

/// Adds the items that the layout marks as unreadable to the losses, if they are skipped.
fn skip_unreadable_items(file: &DudleyFile, account: &mut LossAccount) -> Result<()> {
    if !file.layout().may_have_unreadable() {
        return Ok(());
    }
    let mut found = file.outline()?.arrays().filter_map(|(_, entry)| Some((entry, file.unreadable(entry)?)));
    found.try_for_each(|(entry, why)| account.skip_item(&entry.path, why))
}

/// The only codec of blocks that is one of Dudley files, too.
const ZLIB: CodecId = CodecId(*b"zlib");

/// Returns the form in which a Dudley file stores its arrays. Refuses options that it cannot fulfil.
fn stored_as(dialect: Dialect, options: &ConvertOptions) -> Result<StorageOptions> {
    let refuse =
        |what: &str, setting| Err(Error::invalid_input(format!("a file of dudley-{dialect} has no {what}")).setting("", setting));
    if options.encode.is_some() || options.write_options.as_documented {
        return refuse(
            "encoding chains and one spelling of its signature",
            SuggestedSetting::Remove(&["encode", "as_documented"]),
        );
    }
    let mut how = StorageOptions::default();
    let level = options.level.map(i64::from);
    how.packing = match (options.codec, dialect) {
        (CodecChoice::Keep, _) => Compression::Keep,
        (CodecChoice::Uncompressed, _) => Compression::Uncompressed,
        (CodecChoice::Fixed(ZLIB), Dialect::D2026) if level.is_none_or(|level| (-1..=9).contains(&level)) => {
            Compression::Gzip(level)
        }
        (CodecChoice::Fixed(ZLIB), Dialect::D2026) => {
            return refuse(
                &format!("level {} of zlib", level.unwrap_or(0)),
                SuggestedSetting::Provide("level", "a number from -1 to 9"),
            );
        }
        (codec, Dialect::D2026) => return refuse(&format!("codec {codec}"), SuggestedSetting::Provide("codec", "zlib or none")),
        (codec, Dialect::D2025) => {
            return refuse(&format!("codec {codec}"), SuggestedSetting::Provide("to", "dudley-2026, which has zlib"));
        }
    };
    if let Some(align) = options.write_options.align {
        if !matches!(align, 1 | 2 | 4 | 8 | 16) {
            return refuse(&format!("alignment to {align} bytes"), SuggestedSetting::Provide("align", "1, 2, 4, 8 or 16"));
        }
        how.align = Some(align);
    }
    Ok(how)
}
