//! Names of nodes, as Zarr allows them.

use std::collections::HashSet;
use std::fmt::Write as _;

/// Returns the Zarr name of a node for a key of a tree. It is the key itself if Zarr allows it. `/` and `%` are percent-encoded.
/// So is the first letter of names with another meaning in Zarr: `.`, `..`, `zarr.json` and names that begin with `__`.
///
/// ```
/// use trilith::hierarchy::stored_name;
/// assert_eq!(stored_name("T eff"), "T eff");
/// assert_eq!(stored_name("m/s"), "m%2Fs");
/// assert_eq!(stored_name(".."), "%2E.");
/// ```
pub fn stored_name(key: &str) -> String {
    if key.is_empty() {
        return "%".to_owned();
    }
    let is_taken =
        matches!(key, "." | ".." | "zarr.json" | ".zgroup" | ".zarray" | ".zattrs" | ".zmetadata") || key.starts_with("__");
    let mut name = String::with_capacity(key.len());
    for (at, letter) in key.chars().enumerate() {
        if matches!(letter, '/' | '%') || letter.is_control() || is_taken && at == 0 {
            let mut bytes = [0; 4];
            for byte in letter.encode_utf8(&mut bytes).bytes() {
                let _ = write!(name, "%{byte:02X}");
            }
        } else {
            name.push(letter);
        }
    }
    name
}

/// A name that none of those before has: if it is taken, with `_` after it.
pub(super) fn make_unique(mut name: String, taken: &mut HashSet<String>) -> String {
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}
