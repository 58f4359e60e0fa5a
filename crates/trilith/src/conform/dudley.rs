//! A Dudley layout, and the stream that it describes.

use super::ConformOptions;
use super::report::{FindingLocation, Findings};
use super::rule::Check;
use crate::bytes::{Resolve, SourceRef, read_vec};
use crate::diagnostic::{Diagnostic, Severity};
use crate::dudley::{DudleyFile, LayoutOrigin, Signature, StreamItems, StreamOptions, find_text};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{
    DiagnosticCode, Dialect, EvaluateOptions, EvaluationError, Layout, LayoutEntry, ParseOptions, ResolvedType, StreamEntryKind,
    SuppliedValue, parse,
};
use crate::limits::Limits;

/// Compares a layout, or a stream with its layout, with a dialect.
pub(super) fn check_layout(
    source: SourceRef,
    resolve: &dyn Resolve,
    dialect: Dialect,
    options: &ConformOptions,
    limits: &Limits,
    found: &mut Findings,
) -> Result<()> {
    let start = read_vec(&*source, 0, source.len().min(16), limits)?;
    let native = Signature::is_at(&start);
    let signature = match Signature::read(&*source) {
        Ok(signature) => signature,
        Err(error) => return record_layout_error(error, found),
    };
    let (text, is_stream) = match &options.layout {
        Some(text) => (text.clone(), true),
        None if native || DudleyFile::has_sidecar_layout(&source, resolve) => {
            match find_text(&source, signature, resolve, limits) {
                Ok((text, _)) => (text, true),
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                Err(error) => {
                    found.leave_undecided(FindingLocation::default(), error.to_string());
                    return Ok(());
                }
            }
        }
        None => (read_vec(&*source, 0, source.len(), limits)?, false),
    };
    let mut how = ParseOptions::default();
    how.dialect = Some(dialect);
    how.limits = limits.clone();
    let parsed = parse(&text, &how)?;
    for diagnostic in &parsed.diagnostics {
        record_diagnostic(diagnostic, found);
    }
    let Some(layout) = parsed.layout else { return Ok(()) };
    if !is_stream {
        return check_static(&layout, limits, found);
    }
    let mut how = StreamOptions::default();
    how.layout = Some(layout);
    how.order = options.order;
    let file = match DudleyFile::open_with(source, resolve, how, limits) {
        Ok(file) => file,
        Err(error) => return record_layout_error(error, found),
    };
    let end = signature.and_then(|signature| signature.layout_offset).filter(|_| options.layout.is_none());
    match file.locate_items() {
        Ok(items) => check_stream_items(&items, end, found),
        Err(error) => record_layout_error(error, found),
    }
}

/// A diagnostic of the text; without a rule in the document an error stays open.
fn record_diagnostic(diagnostic: &Diagnostic, found: &mut Findings) {
    let place = FindingLocation::at_text(diagnostic.line, diagnostic.column);
    match DiagnosticCode::from_diagnostic(diagnostic).map(Check::Layout).filter(|check| found.has_rule(*check)) {
        Some(check) => found.add_deviation(check, place, diagnostic.message.clone()),
        None if diagnostic.severity == Severity::Error => {
            found.leave_undecided(
                place,
                format!("{}: {}: the specification does not mention it", diagnostic.code, diagnostic.message),
            );
        }
        None => {}
    }
}

/// An error whose message begins with a code.
fn record_layout_error(error: Error, found: &mut Findings) -> Result<()> {
    let message = error.message();
    let code =
        DiagnosticCode::ALL.iter().find(|code| message.strip_prefix(code.name()).is_some_and(|rest| rest.starts_with(": ")));
    let place = FindingLocation::from_error(&error);
    match code {
        Some(code) if found.has_rule(Check::Layout(*code)) => {
            let message = message.get(code.name().len() + 2..).unwrap_or(message).to_owned();
            found.add_deviation(Check::Layout(*code), place, message);
            Ok(())
        }
        _ if error.kind() == ErrorKind::Io => Err(error),
        _ => {
            found.leave_undecided(place, error.to_string());
            Ok(())
        }
    }
}

/// Checks the rules that do not depend on the parameters.
fn check_static(layout: &Layout, limits: &Limits, found: &mut Findings) -> Result<()> {
    let mut how = EvaluateOptions::default();
    how.limits = limits.clone();
    if let Err(EvaluationError::Text(fault)) = layout.evaluate(&how, |_| Ok(SuppliedValue::Missing))
        && fault.code != DiagnosticCode::E409.name()
    {
        record_diagnostic(&fault, found);
    }
    Ok(())
}

/// The items of a stream are in it, before the layout that begins at `end`, and compressed ones decode.
fn check_stream_items(items: &StreamItems<'_>, end: Option<u64>, found: &mut Findings) -> Result<()> {
    let file = items.file();
    debug_assert!(end.is_none() || *file.origin() == LayoutOrigin::Supplied);
    for entry in items.entries() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return record_layout_error(error, found),
        };
        let Some((at, size)) = entry.address.zip(entry.nbytes.filter(|size| *size > 0)) else { continue };
        let at = at.saturating_add(file.base_offset());
        let last = at.saturating_add(size);
        let place = || FindingLocation::from_byte(at).at_path(entry.path.clone());
        if last > file.source().len() {
            let message = format!("its bytes {at}..{last} end after the file of {} bytes", file.source().len());
            found.add_deviation(Check::ItemsInsideFile, place(), message);
        } else if let Some(layout) = end.filter(|layout| last > *layout) {
            found.add_deviation(
                Check::LayoutEnd,
                place(),
                format!("its bytes {at}..{last} reach into the layout at byte {layout}"),
            );
        } else {
            check_filtered_item(items, &entry, &place, found)?;
        }
    }
    Ok(())
}

/// A compressed array decodes to its size.
fn check_filtered_item(
    items: &StreamItems<'_>,
    entry: &LayoutEntry,
    place: &dyn Fn() -> FindingLocation,
    found: &mut Findings,
) -> Result<()> {
    let compresses = items.file().layout().filter_of(entry.item).is_some_and(|filter| filter.compresses);
    if !compresses || entry.kind != StreamEntryKind::Data || entry.resolved_type == ResolvedType::Dynamic {
        return Ok(());
    }
    match items.array(entry).and_then(|array| array.for_each_piece(1 << 20, |_| Ok(()))) {
        Ok(()) => Ok(()),
        Err(error) => found.record_error(Check::FilteredData, place(), error),
    }
}
