//! Comparison of a layout with its translation: both are evaluated with several values of the stored parameters,
//! and every item must keep its place.

use super::detect::{ParseOptions, parse};
use super::entry::LayoutEntry;
use super::evaluation::LayoutEvaluation;
use super::model::{Dialect, ItemId, Layout};
use super::param_request::{EvaluateOptions, SuppliedValue};
use super::resolved_type::ResolvedType;
use crate::Limits;

/// Number of sets of values that are tried, and number of entries looked at for each.
const MAX_TRIALS: u64 = 8;
const MAX_ENTRIES: usize = 100_000;

/// The first item that the text `translated` places elsewhere than `layout`, and what is said of it.
pub(super) fn first_moved_item(layout: &Layout, translated: &str, to: Dialect) -> Option<(ItemId, String)> {
    let parsed = parse(translated.as_bytes(), &ParseOptions { dialect: Some(to), ..ParseOptions::default() }).ok()?;
    let Some(new) = parsed.layout else {
        let why = parsed.diagnostics.into_iter().find(|diagnostic| !diagnostic.is_harmless);
        return Some((
            ItemId::ROOT,
            format!("in the words of {to} it is not a layout: {}", why.map_or(String::new(), |why| why.message)),
        ));
    };
    (0..MAX_TRIALS).find_map(|trial| {
        // Values that one of them refuses, the other may refuse in other words.
        let (old, new) = (evaluate_trial(layout, trial)?, evaluate_trial(&new, trial)?);
        let mut left = old.entries().take(MAX_ENTRIES).map_while(Result::ok);
        let mut right = new.entries().take(MAX_ENTRIES).map_while(Result::ok);
        loop {
            match (left.next(), right.next()) {
                (Some(a), Some(b)) if same_place(&a, &b) => {}
                (Some(a), _) => {
                    return Some((a.item, format!("would move or change its form in the dialect of {to}")));
                }
                (None, Some(b)) => {
                    return Some((ItemId::ROOT, format!("the translation to {to} would have an item more, {}", b.path)));
                }
                (None, None) => return None,
            }
        }
    })
}

/// A layout with values for its parameters, small ones of every remainder, at last 0 and -1 among them.
fn evaluate_trial(layout: &Layout, trial: u64) -> Option<LayoutEvaluation<'_>> {
    let mut limits = Limits::default();
    limits.nodes = 1 << 20;
    let options = EvaluateOptions { limits, ..EvaluateOptions::default() };
    let supply = |ordinal: u64| match trial {
        0 => 1,
        7 => (ordinal % 4) as i64 - 1,
        _ => 1 + ((ordinal * 3 + trial * 5) % 17) as i64,
    };
    layout
        .evaluate(&options, |request| {
            Ok(if request.is_length { SuppliedValue::Unknown } else { SuppliedValue::Value(supply(request.ordinal)) })
        })
        .ok()
}

fn same_place(a: &LayoutEntry, b: &LayoutEntry) -> bool {
    (a.kind, a.address, a.nbytes, &a.shape) == (b.kind, b.address, b.nbytes, &b.shape)
        && same_form(&a.resolved_type, &b.resolved_type)
}

/// Sizes, byte orders and offsets are the same; as deep as structs nest.
fn same_form(a: &ResolvedType, b: &ResolvedType) -> bool {
    match (a, b) {
        (ResolvedType::Primitive { primitive: a, byteorder: x }, ResolvedType::Primitive { primitive: b, byteorder: y }) => {
            a.size() == b.size() && (x == y || a.size() == 1)
        }
        (ResolvedType::Struct(a), ResolvedType::Struct(b)) => {
            let mut pairs = a.members.iter().zip(&b.members);
            a.size == b.size
                && a.members.len() == b.members.len()
                && pairs.all(|(a, b)| (a.offset, &a.shape) == (b.offset, &b.shape) && same_form(&a.datatype, &b.datatype))
        }
        (a, b) => a == b,
    }
}
