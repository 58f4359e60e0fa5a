//! A layout on a hostile stream: stored parameters of any value end in addresses or an error; every
//! entry is found by its path; evaluating once more, and with the values given, says the same.
//!
//! The input is a text, a NUL, and the bytes of the stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trilith::layout::{self, Byteorder, LayoutEntry, LayoutEvaluation, Layout, EvaluateOptions, ParamRequest, ParseOptions, SuppliedValue};
use trilith::{Limits, Result};

fuzz_target!(|bytes: &[u8]| {
    let at = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (text, stream) = bytes.split_at(at);
    let stream = stream.get(1..).unwrap_or(&[]);
    let mut how = ParseOptions::default();
    how.limits = limits();
    let Ok(parsed) = layout::parse(text, &how) else { return };
    let Some(layout) = parsed.layout else { return };
    for order in [Byteorder::Little, Byteorder::Big] {
        let mut options = EvaluateOptions::default();
        (options.is_native, options.byteorder, options.limits) = (bytes.len() % 2 == 0, Some(order), limits());
        if let Ok(mut found) = layout.evaluate(&options, |request| supply(stream, request)) {
            check(&layout, &options, &found);
            let before = listed(&found);
            found.reevaluate(|request| supply(stream, request)).expect("it went well before");
            assert_eq!(listed(&found), before);
        }
    }
});

fn limits() -> Limits {
    let mut limits = Limits::default();
    for assignment in ["text=16K", "nodes=20000", "items=300", "depth=60"] {
        limits.set(assignment).expect("these limits exist");
    }
    limits
}

fn supply(stream: &[u8], request: &ParamRequest) -> Result<SuppliedValue> {
    let at = request.address.and_then(|at| usize::try_from(at).ok());
    let have = at.and_then(|at| stream.get(at..at.checked_add(request.datatype.size() as usize)?));
    Ok(match have {
        Some(stored) => {
            let mut bytes = [0; 8];
            bytes[..stored.len()].copy_from_slice(stored);
            SuppliedValue::Bytes(bytes)
        }
        None if request.is_length => SuppliedValue::Unknown,
        None => SuppliedValue::TooFewBytes(stream.len() as u64),
    })
}

fn listed(found: &LayoutEvaluation<'_>) -> Vec<LayoutEntry> {
    found.entries().take(100).filter_map(std::result::Result::ok).collect()
}

fn check(layout: &Layout, options: &EvaluateOptions, found: &LayoutEvaluation<'_>) {
    let entries = listed(found);
    for entry in &entries {
        if let (Some(address), Some(size), Some(total)) = (entry.address, entry.nbytes, found.total()) {
            assert!(address.checked_add(size).is_some_and(|end| end <= total), "{entry:?} ends behind {total}");
        }
        if let Some(size) = entry.resolved_type.size() {
            let plain = layout.filter_of(entry.item).is_none_or(|filter| !filter.compresses);
            let all = entry.shape.iter().try_fold(size, |n, dim| n.checked_mul(*dim));
            if let (true, Some(all), Some(stored)) = (plain, all, entry.nbytes) {
                assert_eq!(all, stored, "{entry:?}");
            }
        }
        if let Ok(Some(alone)) = found.find(&entry.path) {
            // If two items have one path (2026: a parameter declared again), the last one is found.
            assert!(alone == *entry || alone.path == entry.path, "{entry:?} {alone:?}");
        }
        let _ = found.locate(&entry.path);
    }
    let values: Option<Vec<i64>> = found.values().collect();
    if let Some(values) = values {
        let given = layout.evaluate_with(options, &values).expect("the values that were read");
        assert_eq!((given.total(), given.next()), (found.total(), found.next()));
        assert_eq!(listed(&given), entries);
    }
}
