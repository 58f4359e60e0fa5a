//! More records of an array that is last and whose first dimension is a stored parameter, such as
//! `"" = {…}[NREC]`: the rows go after it, the parameter counts them, the layout moves on as it is. The parameter may also
//! follow from the length of the file, which then counts them.

use std::sync::Arc;

use super::append::{NativeTail, TailUpdate, body_of, stored_layout_text, write_past};
use super::datatype::datatype_of;
use super::dudley_file::{DudleyFile, LayoutOrigin, StreamItems};
use super::encode_elements::write_array_bytes;
use super::param_settings::{ParamSetting, fixed_value, with_fixed_value};
use super::signature::Signature;
use super::write::param_bytes;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::layout::{
    EvaluateOptions, ItemId, Layout, LayoutEntry, LayoutEvaluation, ResolvedType, StreamEntryKind, SuppliedValue,
};
use crate::limits::Limits;

/// Appends `rows` to the array `before` of an open file, native or without signature; returns the new size. `params` are the
/// values that fixed parameters got for this file.
pub(super) fn append_rows(
    file: &DudleyFile,
    before: &LayoutEntry,
    rows: &Array,
    params: &[(String, ParamSetting)],
    limits: &Limits,
) -> Result<u64> {
    let fixed = |why: &str| Err(Error::unsupported(format!("{} cannot grow: {why}", before.path)));
    if before.kind != StreamEntryKind::Data || before.resolved_type == ResolvedType::Dynamic {
        return fixed("only arrays and lists have records");
    }
    if file.layout().filter_of(before.item).is_some_and(|filter| filter.compresses) {
        return fixed("it is stored compressed, as one whole");
    }
    let param = file.layout().counted_by(before.item);
    let filled = filled_param(file.layout(), before.item, params).filter(|_| file.signature().is_none() && param.is_none());
    if param.is_none() && filled.is_none() {
        let refused = fixed("its first dimension is not a parameter that is stored in the file");
        return refused.map_err(|error| match file.signature() {
            Some(_) => error,
            None => error.hint("if it is a fixed parameter, --param NAME=fill lets it follow from the length of the file"),
        });
    }
    let NativeTail { signature, old_items: old, mut values, start, .. } = NativeTail::from_file(file)?;
    let (ordinal, count) = match (param, filled) {
        (Some(param), _) => stored_param(&old, param).map(|(ordinal, count)| (Some(ordinal), count))?,
        (None, filled) => (None, fixed_value(file.layout(), filled.unwrap_or_default())?),
    };
    let more = rows.shape().first().copied().unwrap_or(0);
    let grown = i64::try_from(more).ok().and_then(|more| count.checked_add(more)).filter(|_| count >= 0);
    let Some(grown) = grown else { return fixed(&format!("its first dimension is {count}")) };
    if more == 0 {
        return Ok(file.source().len());
    }
    if let Some(value) = ordinal.and_then(|ordinal| values.get_mut(ordinal)) {
        *value = grown;
    }
    let longer = filled.map(|name| with_fixed_value(file.layout(), name, grown, limits)).transpose()?;
    let order = signature.map_or(file.byteorder(), |signature| Some(signature.order));
    let header_len = signature.map_or(0, |_| Signature::SIGNATURE_LEN);
    let options = EvaluateOptions { is_native: signature.is_some(), byteorder: order, limits: limits.clone() };
    let found = longer.as_ref().unwrap_or(file.layout()).evaluate(&options, |request| {
        let value = usize::try_from(request.ordinal).ok().and_then(|at| values.get(at));
        Ok(value.map_or(SuppliedValue::Missing, |value| SuppliedValue::Value(*value)))
    })?;
    let GrowthPlan { item, counter } = check_unchanged_items(&old, &found, before, param, more)?;
    let base = file.base_offset();
    let at = item.address.and_then(|at| at.checked_add(base)?.checked_add(before.nbytes?));
    let total = found.total().and_then(|total| total.checked_add(base));
    let (Some(at), Some(total)) = (at, total) else { return fixed("its place is not known") };
    let counter = match &counter {
        Some(counter) => match counter.address.and_then(|at| at.checked_add(base)) {
            Some(place) => Some((place, param_bytes(counter)?)),
            None => return fixed("the place of its count is not known"),
        },
        None => None,
    };
    if counter.as_ref().map_or(at, |(place, _)| at.min(*place)) < header_len {
        return Err(Error::invalid_input(format!("E410: {} would be written over the header", before.path)));
    }
    let mut shape = item.shape.clone();
    if let Some(first) = shape.first_mut() {
        *first = more;
    }
    let (datatype, order) = datatype_of(&item.resolved_type, &mut shape)?;
    // A layout next to the file stays the same, and stays there.
    let is_inside = matches!(file.origin(), LayoutOrigin::Embedded(_));
    let text = if is_inside { Some(stored_layout_text(file, body_of(file.layout(), None))?) } else { None };
    let change = TailUpdate { signature, start, source: Arc::clone(file.source()), total, text };
    change.apply(|update| {
        let mut next = at;
        write_array_bytes(rows, &datatype, order, &shape, &mut |bytes| {
            let here = next;
            next = next.saturating_add(bytes.len() as u64);
            write_past(update, here, bytes, start)
        })?;
        if let Some((place, bytes)) = counter {
            update.write(place, bytes);
        }
        Ok(())
    })
}

/// Returns the number of a parameter among the stored values, and its value.
fn stored_param(old: &StreamItems<'_>, param: ItemId) -> Result<(usize, i64)> {
    let mut ordinal = 0;
    for entry in old.entries() {
        let entry = entry?;
        match entry.value {
            Some(value) if entry.item == param => return Ok((ordinal, value)),
            Some(_) => ordinal += 1,
            None => {}
        }
    }
    Err(Error::invalid_input("the parameter that counts the records is not in the file"))
}

/// Returns the name of the fixed parameter that is the first dimension of an item and follows from the length of the file.
fn filled_param<'p>(layout: &Layout, item: ItemId, params: &'p [(String, ParamSetting)]) -> Option<&'p str> {
    let first = layout.axis_names(item).into_iter().next().flatten()?;
    let is_first =
        |(name, setting): &&(String, ParamSetting)| *setting == ParamSetting::Fill && name.trim_start_matches('/') == first;
    params.iter().find(is_first).map(|(name, _)| name.as_str())
}

/// The array and its counter, if the file stores it, as they will be.
struct GrowthPlan {
    item: LayoutEntry,
    counter: Option<LayoutEntry>,
}

/// Checks that all items but the growing one stay unchanged, and that it is after them.
fn check_unchanged_items(
    old: &StreamItems<'_>,
    found: &LayoutEvaluation<'_>,
    before: &LayoutEntry,
    param: Option<ItemId>,
    more: u64,
) -> Result<GrowthPlan> {
    let refuse = |path: &str| {
        let message = format!("{} cannot grow: {path} comes after it, or depends on the number of records", before.path);
        Error::unsupported(message).hint("only the last array of a file can; `convert` rewrites the file")
    };
    let (mut item, mut counter) = (None, None);
    let mut ends = 0u64;
    let mut now = found.entries();
    for entry in old.entries() {
        let entry = entry?;
        let new = now.next().ok_or_else(|| refuse(&entry.path))??;
        if entry.path != before.path {
            let is_counter = Some(entry.item) == param;
            let same = (new.path == entry.path, new.address, new.nbytes, &new.shape, &new.datatype)
                == (true, entry.address, entry.nbytes, &entry.shape, &entry.datatype);
            if !same || (!is_counter && new.value != entry.value) {
                return Err(refuse(&entry.path));
            }
            ends = ends.max(entry.address.unwrap_or(0).saturating_add(entry.nbytes.unwrap_or(0)));
            if is_counter {
                counter = Some(new);
            }
            continue;
        }
        let longer = match (entry.shape.split_first(), new.shape.split_first()) {
            (Some((old, rest)), Some((new, same))) => rest == same && old.checked_add(more) == Some(*new),
            _ => false,
        };
        if !longer || new.datatype != entry.datatype || (entry.address.is_some() && new.address != entry.address) {
            let message = format!(
                "{} cannot grow: its first dimension is not the parameter alone, or another dimension depends on it",
                before.path
            );
            return Err(Error::unsupported(message).hint("write a new file with `layout write`"));
        }
        item = Some(new);
    }
    let Some(item) = item.filter(|_| counter.is_some() == param.is_some()) else { return Err(refuse(&before.path)) };
    let place = item.address.unwrap_or(0).saturating_add(before.nbytes.unwrap_or(0));
    if now.next().is_some() || place < ends {
        return Err(refuse("another item"));
    }
    Ok(GrowthPlan { item, counter })
}
