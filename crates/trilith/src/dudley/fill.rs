//! A file written under a layout that is there already, from values by name; and the catalog of many.

use std::io::{Seek, Write};

use super::family::Catalog;
use super::read::{DudleyFile, LayoutOrigin};
use super::records::{last_name, structs};
use super::write::NewStream;
use crate::array::{Array, Index};
use crate::error::{Error, Result};
use crate::layout::{Byteorder, Entry, ItemId, Kind, Layout, Options, ParamRequest, ResolvedType, Supply, canonical_path};
use crate::limits::Limits;

/// What a file under a layout is to hold, by the paths of its items.
///
/// ```
/// # use std::{io::Cursor, sync::Arc};
/// use trilith::array::Array;
/// use trilith::dudley::{DudleyFile, Filling};
/// use trilith::{Limits, bytes::MemorySource, layout::{Byteorder, Layout}};
/// let layout = Layout::read(b"{ N : i8 }  rho = f8[N]")?;
/// let mut filling = Filling::default();
/// filling.params.push(("N".to_owned(), 2));
/// filling.data.push(("rho".to_owned(), Array::from_slice(&[1.5, 2.5], &[2])?));
/// let mut out = Cursor::new(Vec::new());
/// filling.write(&layout, Byteorder::Little, true, &Limits::default(), &mut out)?;
/// let file = DudleyFile::open(Arc::new(MemorySource::new(out.into_inner(), "x.bd")), None, &Limits::default())?;
/// assert_eq!(file.array_at("/rho")?.load::<f64>()?, [1.5, 2.5]);
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Filling {
    /// The values of stored parameters.
    pub params: Vec<(String, i64)>,
    /// Arrays: of items, of lists (one axis more), of the items or members of the elements of a list or of
    /// the structs of an item without a name.
    pub data: Vec<(String, Array)>,
}

impl Filling {
    /// Writes a native file; with `embed` its layout stands at its end. Returns its size.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) where a parameter or an item has no value, a value belongs to nothing
    /// in the layout, or has another datatype or shape than it says; as [`NewStream::write`].
    pub fn write<W: Write + Seek>(
        &self,
        layout: &Layout,
        order: Byteorder,
        embed: bool,
        limits: &Limits,
        out: &mut W,
    ) -> Result<u64> {
        let params = self.values(layout, order, limits)?;
        let mut new = NewStream::new(layout, params);
        (new.order, new.embed, new.limits) = (order, embed, limits.clone());
        let mut used = vec![false; self.data.len()];
        let paths: Vec<String> = self.data.iter().map(|(path, _)| canonical_path(path).unwrap_or_default()).collect();
        let mut supply = |entry: &Entry| self.array(entry, &paths, &mut used, limits);
        let written = new.write(&mut supply, out)?;
        // What has no data in this file is not asked for.
        let unknown =
            self.data.iter().zip(used).find(|((path, array), used)| !used && !array.is_empty() && layout_lacks(layout, path));
        match unknown {
            Some(((path, _), _)) => Err(no_item(layout, path)),
            None => Ok(written),
        }
    }

    /// Whether a path is that of a stored parameter, whose value is an integer; otherwise what belongs there is an array.
    pub fn is_param(layout: &Layout, path: &str) -> bool {
        let path = canonical_path(path).unwrap_or_default();
        let items = (1..layout.item_count()).filter_map(|at| layout.item_at(at));
        items.filter(|id| layout.param_of(*id).is_some_and(|param| param.fixed.is_none())).any(|id| layout.path(id) == path)
    }

    /// The values of all stored parameters in the order of the text.
    fn values(&self, layout: &Layout, order: Byteorder, limits: &Limits) -> Result<Vec<i64>> {
        let given: Vec<(String, i64)> =
            self.params.iter().map(|(path, value)| (canonical_path(path).unwrap_or_default(), *value)).collect();
        let options = Options { native: true, order: Some(order), limits: limits.clone() };
        let (mut values, mut used): (Vec<i64>, Vec<ItemId>) = (Vec::new(), Vec::new());
        layout.evaluate(&options, |request: &ParamRequest| {
            if request.is_length {
                return Ok(Supply::Unknown);
            }
            let path = layout.path(request.item);
            let Some((_, value)) = given.iter().find(|(known, _)| *known == path) else {
                return Err(Error::usage(format!("parameter {} has no value", path.trim_start_matches('/')))
                    .hint("every stored parameter of the layout needs one"));
            };
            values.push(*value);
            used.push(request.item);
            Ok(Supply::Value(*value))
        })?;
        match given.iter().find(|(path, _)| !used.iter().any(|item| layout.path(*item) == *path)) {
            Some((path, _)) => Err(Error::usage(format!("the layout has no stored parameter {}", path.trim_start_matches('/')))),
            None => Ok(values),
        }
    }

    /// The array that was given for an item.
    fn array(&self, entry: &Entry, paths: &[String], used: &mut [bool], limits: &Limits) -> Result<Array> {
        let mut take = |at: usize| {
            if let Some(used) = used.get_mut(at) {
                *used = true;
            }
            self.data.get(at).map(|(_, array)| array.clone())
        };
        if let Some(array) = paths.iter().position(|path| *path == entry.path).and_then(&mut take) {
            return Ok(array);
        }
        // An element of a list: a row of what was given for the list.
        if let Some((list, rest)) = entry.path.split_once('[')
            && let Some((index, inner)) = rest.split_once(']')
            && let Ok(row) = index.parse::<i64>()
            && let Some(array) = paths.iter().position(|path| path.strip_prefix(list) == Some(inner)).and_then(&mut take)
        {
            return array.slice([Index::At(row)]);
        }
        // Structs from the columns of their members.
        if let ResolvedType::Struct(_) = entry.typed {
            let dict = entry.path.strip_suffix("\"\"").unwrap_or("");
            let mut members = Vec::new();
            for (at, path) in paths.iter().enumerate() {
                let below = path.strip_prefix(entry.path.as_str()).is_some_and(|rest| rest.starts_with('.'));
                let beside = !dict.is_empty() && path.strip_prefix(dict).is_some_and(|rest| !rest.contains('/'));
                if (below || beside)
                    && let (Some(name), Some(array)) = (last_name(path)?, take(at))
                {
                    members.push((name, array));
                }
            }
            if !members.is_empty() {
                let members: Vec<(String, &Array)> = members.iter().map(|(name, array)| (name.clone(), array)).collect();
                return structs(entry, entry.shape.clone(), &members, limits).map_err(|e| e.context(entry.path.clone()));
            }
        }
        Err(Error::usage(format!("no data were given for {}", entry.path)))
    }
}

/// Whether a path leads to nothing that the layout declares: members of a type are in no file, but where the type is used.
fn layout_lacks(layout: &Layout, path: &str) -> bool {
    let path = canonical_path(path).unwrap_or_default();
    let of_type = |id| std::iter::successors(Some(id), |id| layout.parent(*id)).any(|id| layout.kind(id) == Kind::Type);
    let mut items = (1..layout.item_count()).filter_map(|at| layout.item_at(at));
    let known = items.any(|id| layout.path(id) == path && !of_type(id));
    !known && layout.list_on(&path).is_none()
}

fn no_item(layout: &Layout, path: &str) -> Error {
    let path = canonical_path(path).unwrap_or_default();
    let error = Error::usage(format!("the layout has no item {path}"));
    match layout.nearest_path(&path) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error,
    }
}

/// A parameter that is not what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The file, as the catalog names it.
    pub file: String,
    /// What differs, for people.
    pub message: String,
}

impl Catalog {
    /// The stored parameters of a file of a family, by the layout of the family, and what the file says against
    /// them: a layout of its own that gives one of them another value, or an end before the data end.
    ///
    /// # Errors
    /// As [`DudleyFile::items`], where the parameters cannot be read.
    pub fn params_of(name: &str, file: &DudleyFile, own: Option<&DudleyFile>) -> Result<(Vec<i64>, Vec<Mismatch>)> {
        let items = file.items()?;
        let mut values = Vec::new();
        for value in items.evaluation().values() {
            values.push(value.ok_or_else(|| Error::usage("a length in the file is not known"))?);
        }
        let mut found = Vec::new();
        let mut say = |message: String| found.push(Mismatch { file: name.to_owned(), message });
        let size = file.source().len();
        match items.evaluation().total().and_then(|total| total.checked_add(file.base())) {
            Some(end) if end > size => say(format!("it has {size} bytes, and by its parameters the data end at byte {end}")),
            _ => {}
        }
        if let Some(own) = own.filter(|own| matches!(own.origin(), LayoutOrigin::Embedded(_))) {
            let theirs = own.items()?;
            for entry in items.entries() {
                let entry = entry?;
                let Some(value) = entry.value else { continue };
                match theirs.evaluation().find(&entry.path)?.and_then(|entry| entry.value) {
                    Some(other) if other != value => {
                        say(format!("{} is {other} by the layout in the file, {value} by that of the family", entry.path));
                    }
                    Some(_) => {}
                    None => say(format!("the layout in the file has no parameter {}", entry.path)),
                }
            }
        }
        Ok((values, found))
    }

    /// Where the parameters of the files differ from those that this catalog has; `open` opens a file by its
    /// name under the layout of the family.
    ///
    /// # Errors
    /// As [`Catalog::locate`]; a file that cannot be opened or read is one of those that differ.
    pub fn compare(
        &self,
        template: &Layout,
        open: &mut dyn FnMut(&str) -> Result<DudleyFile>,
        limits: &Limits,
    ) -> Result<Vec<Mismatch>> {
        let table = self.table(template, limits)?;
        let mut found = Vec::new();
        for (row, name) in self.files().iter().enumerate() {
            let mut say = |message: String| found.push(Mismatch { file: name.clone(), message });
            let compared = open(name).and_then(|file| {
                let mut ordinal = 0;
                for entry in file.items()?.entries() {
                    let entry = entry?;
                    let Some(value) = entry.value else { continue };
                    match table.value(row, entry.item, ordinal) {
                        Some(known) if known == value => {}
                        Some(known) => say(format!("{} is {value}, the catalog says {known}", entry.path)),
                        None => say(format!("{} is not in the catalog", entry.path)),
                    }
                    ordinal += 1;
                }
                Ok(())
            });
            if let Err(error) = compared {
                say(error.to_string());
            }
        }
        Ok(found)
    }
}
