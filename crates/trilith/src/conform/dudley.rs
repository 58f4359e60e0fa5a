//! A Dudley layout, and the stream that it describes.

use super::ConformOptions;
use super::report::{Found, Place};
use super::rule::Check;
use crate::bytes::{Resolve, SourceRef, read_vec};
use crate::diagnostic::{Diagnostic, Severity};
use crate::dudley::{DudleyFile, Items, LayoutOrigin, Signature, StreamOptions, find_text};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{Code, Dialect, Entry, EntryKind, Fault, Layout, Options, ParseOptions, ResolvedType, Supply, parse};
use crate::limits::Limits;

/// Compares a layout, or a stream with its layout, with a dialect.
pub(super) fn check(
    source: SourceRef,
    resolve: &dyn Resolve,
    dialect: Dialect,
    options: &ConformOptions,
    limits: &Limits,
    found: &mut Found,
) -> Result<()> {
    let start = read_vec(&*source, 0, source.len().min(16), limits)?;
    let native = Signature::is_at(&start);
    let signature = match Signature::read(&*source) {
        Ok(signature) => signature,
        Err(error) => return failed(error, found),
    };
    let (text, is_stream) = match &options.layout {
        Some(text) => (text.clone(), true),
        None if native || DudleyFile::has_layout_beside(&source, resolve) => match find_text(&source, signature, resolve, limits)
        {
            Ok((text, _)) => (text, true),
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            Err(error) => {
                found.leave(Place::default(), error.to_string());
                return Ok(());
            }
        },
        None => (read_vec(&*source, 0, source.len(), limits)?, false),
    };
    let mut how = ParseOptions::default();
    how.dialect = Some(dialect);
    how.limits = limits.clone();
    let parsed = parse(&text, &how)?;
    for diagnostic in &parsed.diagnostics {
        note(diagnostic, found);
    }
    let Some(layout) = parsed.layout else { return Ok(()) };
    if !is_stream {
        return alone(&layout, limits, found);
    }
    let mut how = StreamOptions::default();
    how.layout = Some(layout);
    how.order = options.order;
    let file = match DudleyFile::open_with(source, resolve, how, limits) {
        Ok(file) => file,
        Err(error) => return failed(error, found),
    };
    let end = signature.and_then(|signature| signature.layout_at).filter(|_| options.layout.is_none());
    match file.items() {
        Ok(items) => stream(&items, end, found),
        Err(error) => failed(error, found),
    }
}

/// A diagnostic of the text; without a rule in the document an error stays open.
fn note(diagnostic: &Diagnostic, found: &mut Found) {
    let place = Place::text(diagnostic.line, diagnostic.column);
    match Code::of(diagnostic).map(Check::Layout).filter(|check| found.asks(*check)) {
        Some(check) => found.add(check, place, diagnostic.message.clone()),
        None if diagnostic.severity == Severity::Error => {
            found.leave(place, format!("{}: {}: the specification does not mention it", diagnostic.code, diagnostic.message));
        }
        None => {}
    }
}

/// An error whose message begins with a code.
fn failed(error: Error, found: &mut Found) -> Result<()> {
    let message = error.message();
    let code = Code::ALL.iter().find(|code| message.strip_prefix(code.name()).is_some_and(|rest| rest.starts_with(": ")));
    let place = Place::of(&error);
    match code {
        Some(code) if found.asks(Check::Layout(*code)) => {
            let message = message.get(code.name().len() + 2..).unwrap_or(message).to_owned();
            found.add(Check::Layout(*code), place, message);
            Ok(())
        }
        _ if error.kind() == ErrorKind::Io => Err(error),
        _ => {
            found.leave(place, error.to_string());
            Ok(())
        }
    }
}

/// Checks the rules that do not depend on the parameters.
fn alone(layout: &Layout, limits: &Limits, found: &mut Found) -> Result<()> {
    let mut how = Options::default();
    how.limits = limits.clone();
    if let Err(Fault::Text(fault)) = layout.evaluate(&how, |_| Ok(Supply::Missing))
        && fault.code != Code::E409.name()
    {
        note(&fault, found);
    }
    Ok(())
}

/// The items of a stream are in it, before the layout that begins at `end`, and compressed ones decode.
fn stream(items: &Items<'_>, end: Option<u64>, found: &mut Found) -> Result<()> {
    let file = items.file();
    debug_assert!(end.is_none() || *file.origin() == LayoutOrigin::Given);
    for entry in items.entries() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return failed(error, found),
        };
        let Some((at, size)) = entry.address.zip(entry.nbytes.filter(|size| *size > 0)) else { continue };
        let at = at.saturating_add(file.base());
        let last = at.saturating_add(size);
        let place = || Place::byte(at).at_path(entry.path.clone());
        if last > file.source().len() {
            let message = format!("its bytes {at}..{last} end after the file of {} bytes", file.source().len());
            found.add(Check::Inside, place(), message);
        } else if let Some(layout) = end.filter(|layout| last > *layout) {
            found.add(Check::LayoutEnd, place(), format!("its bytes {at}..{last} reach into the layout at byte {layout}"));
        } else {
            filtered(items, &entry, &place, found)?;
        }
    }
    Ok(())
}

/// A compressed array decodes to its size.
fn filtered(items: &Items<'_>, entry: &Entry, place: &dyn Fn() -> Place, found: &mut Found) -> Result<()> {
    let compresses = items.file().layout().filter_of(entry.item).is_some_and(|filter| filter.compresses);
    if !compresses || entry.kind != EntryKind::Data || entry.typed == ResolvedType::Dynamic {
        return Ok(());
    }
    match items.array(entry).and_then(|array| array.for_each_piece(1 << 20, |_| Ok(()))) {
        Ok(()) => Ok(()),
        Err(error) => found.judge(Check::Filtered, place(), error),
    }
}
