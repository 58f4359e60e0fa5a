//! Warnings of `get --catalog` about files that are masked.

use trilith::dudley::Omission;
use trilith::error::counted;

/// Maximum number of files that are named.
const SHOWN: usize = 5;

/// Returns warnings for the files that omit an item, and for those that are missing.
pub fn warnings(item: &str, omitted: &[Omission]) -> Vec<String> {
    let of = |is_missing: bool| {
        let files: Vec<&str> = omitted.iter().filter(|one| one.is_missing == is_missing).map(|one| one.file.as_str()).collect();
        let what = match (is_missing, files.len()) {
            (_, 0) => return None,
            (true, 1) => "is not there and is masked".to_owned(),
            (true, _) => "are not there and are masked".to_owned(),
            (false, 1) => format!("omits {item} and is masked"),
            (false, _) => format!("omit {item} and are masked"),
        };
        let more = if files.len() > SHOWN { ", …" } else { "" };
        let names = files.get(..SHOWN).unwrap_or(&files).join(", ");
        Some(format!("{} {what}: {names}{more}", counted(files.len(), "file")))
    };
    [of(false), of(true)].into_iter().flatten().collect()
}
