//! Cards of FITS headers whose keywords have a meaning for the HDU.

use crate::error::{Error, Result};
use crate::fits::is_structural;
use crate::tree::{CardPlace, Tree, TreePath};

/// Refuses another keyword for a card that defines the HDU or a column, and such a keyword for another card.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) with the way to change what the card states.
pub(super) fn check_rename(tree: &Tree, file_name: &str, path: &TreePath, name: &str) -> Result<()> {
    let (Some(CardPlace::Value { list: Some(0) }), [list, hdu, _, keyword, ..]) = (tree.card_place(path), path.keys()) else {
        return Ok(());
    };
    let (keyword, name) = (keyword.to_ascii_uppercase(), name.to_ascii_uppercase());
    let hint = match (is_structural(&keyword), is_structural(&name)) {
        (true, _) if keyword.starts_with("TTYPE") => {
            format!("give the column its name by the value: trilith set '{file_name}#/{list}/{hdu}@{keyword}' {name}")
        }
        (true, _) => "convert the FITS file to ASDF, change the array there, and convert it back".to_owned(),
        (false, true) => "choose another name".to_owned(),
        (false, false) => return Ok(()),
    };
    let found = if is_structural(&keyword) { &keyword } else { &name };
    let message = format!("cannot rename the card {keyword} to {name}: {found} defines the HDU or a column of it");
    Err(Error::unsupported(message).hint(hint))
}
