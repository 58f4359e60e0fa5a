//! Items with paths, written as dicts in dicts.

use std::collections::HashMap;

use crate::error::Result;
use crate::layout::LayoutBuilder;

/// An item: the steps that lead to it, the last of which is its name, and what it is.
pub(super) type PathItem<'a, T> = (Vec<&'a str>, T);

/// A function that writes an item of this name.
type ItemWriter<'w, T> = &'w mut dyn FnMut(&mut LayoutBuilder, &str, &T) -> Result<()>;

/// Writes items, those of one group together, groups and items in the order in which they first appear.
///
/// # Errors
/// Returns the errors of `write`, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) if groups nest too deep.
pub(super) fn write_groups<T>(items: &[PathItem<'_, T>], builder: &mut LayoutBuilder, write: ItemWriter<'_, T>) -> Result<()> {
    write_group_level(&items.iter().collect::<Vec<_>>(), 0, builder, write)
}

/// The items of one group; as deep as a layout may nest.
fn write_group_level<T>(
    items: &[&PathItem<'_, T>],
    depth: usize,
    builder: &mut LayoutBuilder,
    write: ItemWriter<'_, T>,
) -> Result<()> {
    let mut groups: HashMap<&str, Vec<&PathItem<'_, T>>> = HashMap::new();
    for item in items {
        if let [name, _, ..] = item.0.get(depth..).unwrap_or(&[]) {
            groups.entry(name).or_default().push(item);
        }
    }
    for item in items {
        match item.0.get(depth..).unwrap_or(&[]) {
            [] => write(builder, "", &item.1)?,
            [name] => write(builder, name, &item.1)?,
            [name, ..] => {
                // The first of a group writes all of it.
                if let Some(group) = groups.remove(name) {
                    builder.open_dict(name)?;
                    write_group_level(&group, depth + 1, builder, write)?;
                    builder.close_dict();
                }
            }
        }
    }
    Ok(())
}
