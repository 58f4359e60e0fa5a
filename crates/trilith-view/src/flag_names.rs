//! The names of quality flags, if the observatory that a file comes from gives them.

use trilith::File;

/// The meaning of the bits of an array of flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlagNames {
    /// The source of these names.
    pub observatory: &'static str,
    names: &'static [&'static str],
}

impl FlagNames {
    /// The name of a bit, counted from 0; None if it has none.
    pub fn name(&self, bit: u8) -> Option<&'static str> {
        self.names.get(usize::from(bit)).copied().filter(|name| !name.is_empty())
    }
}

/// The names of the bits of the array at a path, if they are known: pixel flags of Roman and JWST, in arrays whose names
/// end in `dq`.
///
/// ```
/// let file = trilith::OpenOptions::new().open_bytes(
///     b"#ASDF 1.0.0\n%YAML 1.1\n--- {roman: {meta: {telescope: ROMAN}, dq: 0}}\n...\n".to_vec(),
/// )?;
/// let names = trilith_view::flag_names::flag_names(&file, "/roman/dq").ok_or(trilith::Error::invalid_input("no names"))?;
/// assert_eq!((names.name(1), names.name(60)), (Some("SATURATED"), None));
/// assert_eq!(trilith_view::flag_names::flag_names(&file, "/roman/data"), None);
/// # Ok::<(), trilith::Error>(())
/// ```
pub fn flag_names(file: &File, path: &str) -> Option<FlagNames> {
    if !path.to_ascii_lowercase().ends_with("dq") {
        return None;
    }
    let telescope = |path: &str| Some(file.item(path).ok()?.text().ok()?.trim().to_ascii_uppercase());
    let places = ["/roman/meta/telescope", "/meta/telescope"];
    match places.into_iter().find_map(telescope)?.as_str() {
        "ROMAN" => Some(FlagNames { observatory: "Roman", names: ROMAN_FLAGS }),
        "JWST" => Some(FlagNames { observatory: "JWST", names: JWST_FLAGS }),
        _ => None,
    }
}

/// The pixel flags of Roman, from bit 0 on.
const ROMAN_FLAGS: &[&str] = &[
    "DO_NOT_USE",
    "SATURATED",
    "JUMP_DET",
    "DROPOUT",
    "GW_AFFECTED_DATA",
    "PERSISTENCE",
    "AD_FLOOR",
    "OUTLIER",
    "UNRELIABLE_ERROR",
    "NON_SCIENCE",
    "DEAD",
    "HOT",
    "WARM",
    "LOW_QE",
    "",
    "TELEGRAPH",
    "NONLINEAR",
    "BAD_REF_PIXEL",
    "NO_FLAT_FIELD",
    "NO_GAIN_VALUE",
    "NO_LIN_CORR",
    "NO_SAT_CHECK",
    "UNRELIABLE_BIAS",
    "UNRELIABLE_DARK",
    "UNRELIABLE_SLOPE",
    "UNRELIABLE_FLAT",
    "",
    "",
    "",
    "",
    "OTHER_BAD_PIXEL",
    "REFERENCE_PIXEL",
];

/// The pixel flags of JWST, from bit 0 on.
const JWST_FLAGS: &[&str] = &[
    "DO_NOT_USE",
    "SATURATED",
    "JUMP_DET",
    "DROPOUT",
    "OUTLIER",
    "PERSISTENCE",
    "AD_FLOOR",
    "CHARGELOSS",
    "UNRELIABLE_ERROR",
    "NON_SCIENCE",
    "DEAD",
    "HOT",
    "WARM",
    "LOW_QE",
    "RC",
    "TELEGRAPH",
    "NONLINEAR",
    "BAD_REF_PIXEL",
    "NO_FLAT_FIELD",
    "NO_GAIN_VALUE",
    "NO_LIN_CORR",
    "NO_SAT_CHECK",
    "UNRELIABLE_BIAS",
    "UNRELIABLE_DARK",
    "UNRELIABLE_SLOPE",
    "UNRELIABLE_FLAT",
    "OPEN",
    "ADJ_OPEN",
    "FLUX_ESTIMATED",
    "MSA_FAILED_OPEN",
    "OTHER_BAD_PIXEL",
    "REFERENCE_PIXEL",
];
