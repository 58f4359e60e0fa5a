//! Arrays of a file that can be looked at: [`ViewableArray`].

use trilith::file::{Item, ItemKind};
use trilith::{Array, Result};

use crate::numeric::is_numeric;

/// An array of numbers in a file, or a structured one with columns of numbers.
#[derive(Debug)]
#[non_exhaustive]
pub struct ViewableArray {
    /// The path from the item at which the search began; empty for the item itself.
    pub path: String,
    /// The array, or why it cannot be read.
    pub array: Result<Array>,
}

/// The arrays of numbers at an item and below it, in the order of the file. References are not followed.
///
/// ```
/// # let mut writer = trilith::AsdfWriter::new();
/// # writer.slice("/a/data", &[1i16, 2], &[2])?;
/// # let path = std::env::temp_dir().join(format!("trilith-found-{}.asdf", std::process::id()));
/// # writer.write(&path)?;
/// let file = trilith::open(&path)?;
/// let found = trilith_view::viewable::arrays(&file.root())?;
/// assert_eq!(found[0].path, "/a/data");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the items cannot be read. An error of one array is in its entry.
pub fn arrays(item: &Item<'_>) -> Result<Vec<ViewableArray>> {
    let mut found = Vec::new();
    let mut walk = item.walk();
    while let Some(visit) = walk.try_next()? {
        if visit.item.kind() != ItemKind::Array {
            continue;
        }
        let array = visit.item.array();
        if array.as_ref().map_or(Ok(true), |array| columns(array).map(|columns| !columns.is_empty()))? {
            found.push(ViewableArray { path: walk.path(), array });
        }
    }
    Ok(found)
}

/// The columns of numbers of a structured array, by the names of their fields (`outer.inner` for one in a structure);
/// an array of numbers itself, without a name; nothing for text.
///
/// # Errors
/// Returns an error if a field cannot be taken.
pub fn columns(array: &Array) -> Result<Vec<(Option<String>, Array)>> {
    if is_numeric(array.datatype()) {
        return Ok(vec![(None, array.clone())]);
    }
    let mut found = Vec::new();
    collect_columns(array, "", &mut found)?;
    Ok(found)
}

// Structures nest no deeper than the library allows, so this recursion is bounded.
fn collect_columns(array: &Array, prefix: &str, found: &mut Vec<(Option<String>, Array)>) -> Result<()> {
    let Some(structure) = array.datatype().as_struct() else { return Ok(()) };
    for (at, field) in structure.fields().iter().enumerate() {
        let name = format!("{prefix}{}", field.name_or(at));
        if is_numeric(&field.datatype) {
            found.push((Some(name), array.field_at(at)?));
        } else if field.datatype.as_struct().is_some() {
            collect_columns(&array.field_at(at)?, &format!("{name}."), found)?;
        }
    }
    Ok(())
}
