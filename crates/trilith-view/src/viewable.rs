//! Arrays of a file that can be looked at: [`ViewableArray`].

use trilith::array::Datatype;
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
    let mut names = Vec::new();
    names_of(array.datatype(), "", &mut names);
    names.into_iter().map(|name| Ok((Some(name.clone()), array.field(&name)?))).collect()
}

// Structures nest no deeper than the library allows, so this recursion is bounded.
fn names_of(datatype: &Datatype, prefix: &str, names: &mut Vec<String>) {
    let Some(structure) = datatype.as_struct() else { return };
    for (at, field) in structure.fields().iter().enumerate() {
        let name = format!("{prefix}{}", field.name_or(at));
        if is_numeric(&field.datatype) {
            names.push(name);
        } else {
            names_of(&field.datatype, &format!("{name}."), names);
        }
    }
}
