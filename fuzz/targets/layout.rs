//! Layouts of any text: parsing ends and places every error; a print parses again, prints the same and
//! means the same; a translation that loses nothing puts everything where it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trilith::Limits;
use trilith::layout::{self, Dialect, LayoutEntry, LayoutEvaluation, Layout, EvaluateOptions, ParseOptions, SuppliedValue};

fuzz_target!(|bytes: &[u8]| {
    for dialect in [None, Some(Dialect::D2025), Some(Dialect::D2026)] {
        let mut options = ParseOptions::default();
        (options.dialect, options.limits) = (dialect, limits());
        let Ok(parsed) = layout::parse(bytes, &options) else { continue };
        for diagnostic in &parsed.diagnostics {
            assert!(diagnostic.line >= 1 && diagnostic.column >= 1);
            assert!(diagnostic.render(&parsed.text, "f").contains(diagnostic.code));
        }
        assert_eq!(parsed.layout.is_some(), parsed.diagnostics.iter().all(|d| d.is_harmless));
        if let Some(layout) = parsed.layout {
            let seed = bytes.len() as u64;
            same_when_printed(&layout, seed);
            same_when_translated(&layout, seed);
        }
    }
});

fn limits() -> Limits {
    let mut limits = Limits::default();
    for assignment in ["text=64K", "nodes=20000", "items=300", "depth=60"] {
        limits.set(assignment).expect("these limits exist");
    }
    limits
}

/// The text in the dialect it was made for; None where it is too long or too deep to be parsed here.
fn again(text: &str, dialect: Dialect) -> Option<Layout> {
    let mut options = ParseOptions::default();
    (options.dialect, options.limits) = (Some(dialect), limits());
    let parsed = layout::parse(text.as_bytes(), &options).ok()?;
    Some(parsed.layout.unwrap_or_else(|| panic!("{text}{:?}", parsed.diagnostics)))
}

fn same_when_printed(layout: &Layout, seed: u64) {
    let printed = layout.print();
    let Some(second) = again(&printed, layout.dialect()) else { return };
    assert_eq!(second.print(), printed);
    if let (Some(one), Some(two)) = (evaluated(layout, seed), evaluated(&second, seed)) {
        assert_eq!(listed(&one, true), listed(&two, true), "{printed}");
        assert_eq!((one.total(), one.next()), (two.total(), two.next()), "{printed}");
    }
}

fn same_when_translated(layout: &Layout, seed: u64) {
    let to = if layout.dialect() == Dialect::D2025 { Dialect::D2026 } else { Dialect::D2025 };
    let translation = layout.translate(to);
    if !translation.is_faithful() {
        return;
    }
    let Some(second) = again(&translation.text, to) else { return };
    if let (Some(one), Some(two)) = (evaluated(layout, seed), evaluated(&second, seed)) {
        // Names may change, and referenced items become items.
        assert_eq!(listed(&one, false), listed(&two, false), "{}\n{}", layout.text(), translation.text);
    }
}

fn evaluated(layout: &Layout, seed: u64) -> Option<LayoutEvaluation<'_>> {
    let mut state = seed;
    let mut roll = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut options = EvaluateOptions::default();
    (options.byteorder, options.limits) = (layout.order(), limits());
    layout.evaluate(&options, |_| Ok(SuppliedValue::Value([0, 1, 2, 3, -1][roll() % 5]))).ok()
}

fn listed(found: &LayoutEvaluation<'_>, names: bool) -> Vec<String> {
    let line = |e: LayoutEntry| {
        let name = if names { e.path.as_str() } else { "" };
        let datatype = if names { e.datatype.clone() } else { String::new() };
        format!("{name} {:?} {:?} {datatype} {:?} {:?} {:?}", e.kind, e.address, e.shape, e.nbytes, e.value)
    };
    found.entries().take(200).filter_map(Result::ok).map(line).collect()
}
