//! Limits from text: setting one never panics, and what was set can be set again to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trilith::Limits;

fuzz_target!(|text: &str| {
    if let Ok(limits) = text.parse::<Limits>() {
        let again: Limits = text.parse().expect("the same text parses the same");
        assert_eq!(limits, again);
    } else {
        let broken = text.split(',').any(|part| !part.trim().is_empty() && Limits::default().set(part.trim()).is_err());
        assert!(broken, "a list is refused only for one of its parts");
    }
});
