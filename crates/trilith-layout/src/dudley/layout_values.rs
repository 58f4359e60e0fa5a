//! A file written under a layout that is there already, from values by name; and the catalog of many.

use std::collections::{HashMap, HashSet};
use std::io::{Seek, Write};
use std::ops::Range;

use super::catalog::Catalog;
use super::datatype::datatype_of;
use super::dudley_file::{DudleyFile, LayoutOrigin, StreamItems, StreamOptions};
use super::encode_elements::is_reserved;
use super::item_path::{PathStep, parse};
use super::records::{build_struct_array, last_name};
use super::write::{NewStream, ReservedLayout, check_no_reserved};
use crate::array::{Array, Index};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{
    Byteorder, EvaluateOptions, ItemId, ItemKind, Layout, LayoutEntry, ParamRequest, ResolvedType, SuppliedValue, canonical_path,
    quoted_name,
};
use crate::limits::Limits;

/// The content of a file under a layout, by the paths of its items.
///
/// ```
/// # use std::{io::Cursor, sync::Arc};
/// use trilith_array::array::Array;
/// use trilith_layout::dudley::{DudleyFile, LayoutStorage, LayoutValues};
/// use trilith_io::bytes::MemorySource;
/// use trilith_layout::{Limits, layout::{Byteorder, Layout}};
/// let layout = Layout::read(b"{ N : i8 }  rho = f8[N]")?;
/// let mut filling = LayoutValues::default();
/// filling.params.push(("N".to_owned(), 2));
/// filling.data.push(("rho".to_owned(), Array::from_slice(&[1.5, 2.5], &[2])?));
/// let mut out = Cursor::new(Vec::new());
/// filling.write(&layout, Byteorder::Little, LayoutStorage::Embedded, &Limits::default(), &mut out)?;
/// let file = DudleyFile::open(Arc::new(MemorySource::new(out.into_inner(), "x.bd")), None, &Limits::default())?;
/// assert_eq!(file.array_at("/rho")?.load::<f64>()?, [1.5, 2.5]);
/// # Ok::<(), trilith_layout::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LayoutValues {
    /// The values of stored parameters.
    pub params: Vec<(String, i64)>,
    /// Arrays: of items, of lists (one axis more), of the items or members of the elements of a list or of
    /// the structs of an item without a name.
    pub data: Vec<(String, Array)>,
}

/// The place of the layout of a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutStorage {
    /// The end of the file.
    Embedded,
    /// Another file, which readers have to be given.
    Separate,
    /// Another file, and the written file has no signature either: it holds the bytes of the layout alone, as a simulation
    /// writes them.
    Raw,
}

impl LayoutValues {
    /// Writes a native file. Returns its size.
    ///
    /// A parameter of a repeated dict, or of a struct, has a value for each of them: `l[1]/n`, `y(1).n`. The path
    /// without numbers (`l/n`, `y.n`) gives one value to all others.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if a parameter or an item has no value, or if a value
    /// belongs to nothing in the layout or has another datatype or shape than declared. Returns the errors of
    /// [`NewStream::write`], too.
    pub fn write<W: Write + Seek>(
        &self,
        layout: &Layout,
        order: Byteorder,
        storage: LayoutStorage,
        limits: &Limits,
        out: &mut W,
    ) -> Result<u64> {
        check_no_reserved(self.write_reserving(layout, order, storage, limits, out)?)
    }

    /// Writes like [`LayoutValues::write`], but leaves the bytes of [`reserved`](super::reserved) arrays unchanged. Also returns
    /// the paths of these arrays.
    pub fn write_reserving<W: Write + Seek>(
        &self,
        layout: &Layout,
        order: Byteorder,
        storage: LayoutStorage,
        limits: &Limits,
        out: &mut W,
    ) -> Result<ReservedLayout> {
        let is_native = storage != LayoutStorage::Raw;
        let options = EvaluateOptions { is_native, byteorder: Some(order), limits: limits.clone() };
        let params = self.param_values(layout, &options)?;
        let mut new = NewStream::new(layout, params);
        (new.order, new.embed, new.limits) = (order, storage == LayoutStorage::Embedded, limits.clone());
        new.has_signature = is_native;
        let mut given = Vec::with_capacity(self.data.len());
        for (path, array) in &self.data {
            let path = canonical_path(path).unwrap_or_default();
            given.push(GivenArray { member_path: parse(&path)?, path, array, consumed: 0, axes: 0 });
        }
        let mut supply = |entry: &LayoutEntry| take_supplied_array(entry, &mut given, limits);
        let written = new.write_reserving(&mut supply, out)?;
        if let Some((path, _)) = self.data.iter().find(|(path, array)| {
            let path = canonical_path(path).unwrap_or_default();
            is_reserved(array) && !array.is_empty() && !written.1.iter().any(|reserved| reserved.starts_with(&path))
        }) {
            return Err(Error::unsupported(format!("cannot reserve {path}: it is a part of the structs of an item"))
                .hint("reserve the whole item"));
        }
        match given.iter().find(|given| !given.is_exhausted()) {
            Some(one) if given.iter().filter(|given| given.path == one.path).count() > 1 => {
                Err(Error::invalid_input(format!("{} is given twice", one.path)))
            }
            Some(one) => Err(unused_data_error(layout, one, &new)),
            None => Ok(written),
        }
    }

    /// Returns `true` if a path leads to a stored parameter, whose value is an integer; what belongs to any other is an array.
    pub fn is_param(layout: &Layout, path: &str) -> bool {
        let found = declared(layout, &canonical_path(path).unwrap_or_default());
        found.and_then(|id| layout.param_of(id)).is_some_and(|param| param.fixed_value.is_none())
    }

    /// The values of all stored parameters in the order of the text.
    ///
    /// Each may decide how many come after it, so the path of each is known only when those before it are right: with every
    /// round at least one more is.
    fn param_values(&self, layout: &Layout, options: &EvaluateOptions) -> Result<Vec<i64>> {
        let given: HashMap<String, i64> =
            self.params.iter().map(|(path, value)| (canonical_path(path).unwrap_or_default(), *value)).collect();
        let mut known: Vec<i64> = Vec::new();
        let mut right = 0;
        loop {
            let mut all = Vec::new();
            let found = layout.evaluate(options, |request: &ParamRequest| {
                if request.is_length {
                    return Ok(SuppliedValue::Unknown);
                }
                let value = known.get(all.len()).copied();
                let value = value.or_else(|| given.get(&layout.path(request.item)).copied()).unwrap_or(0);
                all.push(value);
                Ok(SuppliedValue::Value(value))
            });
            let found = match found {
                Ok(found) => found,
                // A value may have gone to another parameter than it belongs to.
                Err(_) if known.len() > right => {
                    known.truncate(right);
                    continue;
                }
                Err(fault) => return Err(fault.into()),
            };
            let (mut next, mut used) = (Vec::with_capacity(all.len()), HashSet::new());
            let mut same = 0;
            for entry in found.collect_params()? {
                let value = match value_of(layout, &entry, &given)? {
                    Some((name, value)) => {
                        used.insert(name);
                        value
                    }
                    None if same < next.len() => 0,
                    None => {
                        return Err(Error::invalid_input(format!(
                            "parameter {} has no value",
                            entry.path.trim_start_matches('/')
                        ))
                        .hint("every stored parameter of the layout needs one"));
                    }
                };
                if same == next.len() && all.get(same) == Some(&value) {
                    same += 1;
                }
                next.push(value);
            }
            if same < next.len() {
                (known, right) = (next, same + 1);
                continue;
            }
            return match given.keys().filter(|path| !used.contains(*path)).min() {
                Some(path) => {
                    Err(Error::invalid_input(format!("the layout has no stored parameter {}", path.trim_start_matches('/'))))
                }
                None => Ok(all),
            };
        }
    }
}

/// The value that was given for a parameter: for itself, for all of its kind, or (of a named type) for all structs of the
/// type; and under which path.
fn value_of(layout: &Layout, entry: &LayoutEntry, given: &HashMap<String, i64>) -> Result<Option<(String, i64)>> {
    if let Some(value) = given.get(&entry.path) {
        return Ok(Some((entry.path.clone(), *value)));
    }
    let bare = strip_indices(&entry.path)?;
    let of_type = if layout.member_of_struct(entry.item) { layout.path(entry.item) } else { String::new() };
    Ok([bare, of_type].into_iter().find_map(|path| given.get(&path).copied().map(|value| (path, value))))
}

/// The names of a path.
fn parse_path_names(path: &str) -> Result<Vec<(bool, String)>> {
    let named = |step| match step {
        PathStep::Name(name) => Some((false, name)),
        PathStep::Member(name) => Some((true, name)),
        _ => None,
    };
    Ok(parse(path)?.into_iter().filter_map(named).collect())
}

/// A path without the numbers of elements and structs.
fn strip_indices(path: &str) -> Result<String> {
    let names = parse_path_names(path)?;
    Ok(names.iter().map(|(is_member, name)| format!("{}{}", if *is_member { '.' } else { '/' }, quoted_name(name))).collect())
}

/// The item or member that a path leads to.
pub fn declared(layout: &Layout, path: &str) -> Option<ItemId> {
    layout.declared(&parse_path_names(path).ok()?)
}

/// An array that was given for a path.
struct GivenArray<'f> {
    path: String,
    member_path: Vec<PathStep>,
    array: &'f Array,
    /// Number of its parts that were written; each is one index of the leading axes.
    consumed: u64,
    axes: usize,
}

impl GivenArray<'_> {
    /// Takes the part of an item, at an index.
    fn take_part(&mut self, index: &[i64]) -> Result<Array> {
        (self.consumed, self.axes) = (self.consumed + 1, index.len());
        if index.is_empty() {
            return Ok(self.array.clone());
        }
        self.array.slice(index.iter().map(|at| Index::Integer(*at)).collect::<Vec<_>>())
    }

    /// Returns `true` if all elements were written.
    fn is_exhausted(&self) -> bool {
        let parts = self.array.shape().get(..self.axes).unwrap_or(&[]).iter().try_fold(1u64, |n, dim| n.checked_mul(*dim));
        self.array.is_empty() || parts.is_some_and(|parts| self.consumed >= parts)
    }

    /// The index of an item in it: the numbers of the elements and structs that the path of the item has, and its own has not.
    /// None if it belongs to something else.
    fn index_of(&self, item: &[PathStep]) -> Option<Vec<i64>> {
        let mut index = Vec::new();
        let mut way = self.member_path.iter().peekable();
        let last = item.len().saturating_sub(1);
        for (at, step) in item.iter().enumerate() {
            if way.next_if(|known| *known == step).is_some() {
                continue;
            }
            match step {
                PathStep::Element(number) => index.push(i64::try_from(*number).ok()?),
                PathStep::Instance(numbers) => {
                    for number in numbers {
                        index.push(i64::try_from(*number).ok()?);
                    }
                }
                // A typedef with stored parameters is presented as its member without a name.
                PathStep::Member(name) if name.is_empty() && at == last => {}
                _ => return None,
            }
        }
        way.next().is_none().then_some(index)
    }
}

/// The array that was given for an item.
fn take_supplied_array(entry: &LayoutEntry, given: &mut [GivenArray<'_>], limits: &Limits) -> Result<Array> {
    let item = parse(&entry.path)?;
    let fits = given.iter().enumerate().filter_map(|(at, given)| Some((at, given.index_of(&item)?)));
    if let Some((at, index)) = fits.min_by_key(|(_, index)| index.len())
        && let Some(given) = given.get_mut(at)
    {
        return given.take_part(&index);
    }
    // Structs from the columns of their members.
    if let ResolvedType::Struct(structure) = &entry.resolved_type {
        let dict = entry.path.strip_suffix("\"\"").unwrap_or("");
        let mut members = Vec::new();
        for given in given {
            let below = given.path.strip_prefix(entry.path.as_str()).is_some_and(|rest| rest.starts_with('.'));
            let beside = !dict.is_empty() && given.path.strip_prefix(dict).is_some_and(|rest| !rest.contains('/'));
            if (below || beside)
                && let Some(name) = last_name(&given.path)?
                && structure.members.iter().any(|member| member.name == name)
            {
                members.push((name, given.take_part(&[])?));
            }
        }
        if !members.is_empty() {
            let members: Vec<(String, &Array)> = members.iter().map(|(name, array)| (name.clone(), array)).collect();
            return build_struct_array(entry, entry.shape.clone(), &members, limits).map_err(|e| e.context(entry.path.clone()));
        }
    }
    Err(Error::invalid_input(format!("no data were given for {}", entry.path)))
}

/// The error for data that were not written, or not all of them.
fn unused_data_error(layout: &Layout, given: &GivenArray<'_>, new: &NewStream<'_>) -> Error {
    let path = &given.path;
    let of_type = |id| std::iter::successors(Some(id), |id| layout.parent(*id)).last() != Some(ItemId::ROOT);
    if declared(layout, path).is_none_or(|id| layout.kind(id) == ItemKind::Type || (of_type(id) && !path.contains('.'))) {
        return no_item(layout, path);
    }
    let data = format!("the data are {} {:?}", given.array.datatype(), given.array.shape());
    let options = EvaluateOptions { is_native: true, byteorder: Some(new.order), limits: new.limits.clone() };
    let said = layout.evaluate_with(&options, &new.params).ok().and_then(|found| found.locate(path).ok().flatten());
    let said = said.and_then(|found| {
        let mut shape = found.shape;
        Some((datatype_of(&found.typed, &mut shape).ok()?.0, shape))
    });
    let error = match said {
        Some((datatype, shape)) => Error::invalid_input(format!("{data}, but the layout has {datatype} {shape:?}")),
        None => Error::invalid_input(format!("{data}, and the layout has {} of these elements", given.consumed)),
    };
    error.hint("the parameters of the file decide how many elements each item has").context(path.clone())
}

fn no_item(layout: &Layout, path: &str) -> Error {
    let error = Error::invalid_input(format!("the layout has no item {path}"));
    match layout.nearest_path(path) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error,
    }
}

/// A parameter that is not what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamMismatch {
    /// The file, as the catalog names it.
    pub file: String,
    /// The difference, for people.
    pub message: String,
}

impl Catalog {
    /// Returns the stored parameters of a file of a set, by the layout of the set, and contradictions to them: a separate layout
    /// that gives a parameter another value, or a file that ends before its data. `warn` receives what is odd about the file.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::locate_items`] if the parameters cannot be read.
    pub fn params_of(
        name: &str,
        file: &DudleyFile,
        own: Option<&DudleyFile>,
        warn: &mut dyn FnMut(String),
    ) -> Result<(Vec<i64>, Vec<ParamMismatch>)> {
        let items = file.locate_items().map_err(|error| super::expected_values::advise_byteorder(error, file))?;
        let mut values = Vec::new();
        for value in items.evaluation().values() {
            values.push(value.ok_or_else(|| Error::invalid_input("a length in the file is not known"))?);
        }
        let mut found = Vec::new();
        let mut say = |message: String| found.push(ParamMismatch { file: name.to_owned(), message });
        find_faults(&items, warn)?.into_iter().for_each(|error| say(error.to_string()));
        if let Some(own) = own.filter(|own| matches!(own.origin(), LayoutOrigin::Embedded(_))) {
            let theirs = own.locate_items()?;
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

    /// Lists the differences between the parameters of the files and those of this catalog, and the files that end before their
    /// data. `open` opens a file by its name, under its layout and in its byte order. `warn` receives the name of a file and what is
    /// odd about it.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::locate`]. A file that cannot be opened or read is listed as a difference.
    pub fn compare(
        &self,
        template: &Layout,
        open: &mut dyn FnMut(&str, StreamOptions) -> Result<DudleyFile>,
        warn: &mut dyn FnMut(&str, String),
        limits: &Limits,
    ) -> Result<Vec<ParamMismatch>> {
        let found = self.compare_rows(template, &[0..self.len()], open, warn, limits)?;
        Ok(found.into_iter().map(|(file, error)| ParamMismatch { file, message: error.to_string() }).collect())
    }

    /// Does the same as [`Catalog::compare`] for some of the files; returns the errors of each by its name.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::compare`].
    pub fn compare_rows(
        &self,
        template: &Layout,
        rows: &[Range<usize>],
        open: &mut dyn FnMut(&str, StreamOptions) -> Result<DudleyFile>,
        warn: &mut dyn FnMut(&str, String),
        limits: &Limits,
    ) -> Result<Vec<(String, Error)>> {
        if self.has_offsets() {
            return Err(Error::unsupported("several streams share a file, and their files are not compared with the catalog"));
        }
        let table = self.load_param_table(template, limits)?;
        let mut found = Vec::new();
        for (row, name) in rows.iter().cloned().flatten().filter_map(|row| Some((row, self.files().get(row)?))) {
            let mut say = |error: Error| found.push((name.clone(), error));
            let how = self.stream_options(row, template, limits);
            let compared = how.and_then(|how| open(name, how)).and_then(|file| {
                let signed = file.signature().is_some();
                if self.is_native().is_some_and(|native| native != signed) {
                    let of = |signed| if signed { "a signature" } else { "no signature" };
                    say(Error::malformed(format!("it has {}, but by the catalog its files have {}", of(signed), of(!signed))));
                }
                let items = file.locate_items().map_err(|error| super::expected_values::advise_byteorder(error, &file))?;
                let mut ordinal = 0;
                for entry in items.entries() {
                    let entry = entry?;
                    let Some(value) = entry.value else { continue };
                    match table.param_value(row, entry.item, ordinal) {
                        Some(known) if known == value => {}
                        Some(known) => {
                            say(Error::malformed(format!("{} is {value}, but the catalog has {known}", entry.path)));
                        }
                        None => say(Error::malformed(format!("{} is not in the catalog", entry.path))),
                    }
                    ordinal += 1;
                }
                find_faults(&items, &mut |warning| warn(name, warning))?.into_iter().for_each(say);
                Ok(())
            });
            match compared {
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(error) => found.push((name.clone(), error)),
                Ok(()) => {}
            }
        }
        Ok(found)
    }
}

/// Returns the values of a file that its layout does not expect, or that the file ends before its data; `warn` receives what is odd.
fn find_faults(items: &StreamItems<'_>, warn: &mut dyn FnMut(String)) -> Result<Vec<Error>> {
    let (end, declared) = (too_short(items), super::expected_values::find_declared_faults(items));
    let declared = if end.is_some() { declared.unwrap_or_default() } else { declared? };
    declared.warnings.into_iter().for_each(warn);
    let errors: Vec<Error> = match end {
        Some(message) => vec![Error::malformed(message)],
        None => declared.problems.into_iter().map(|(path, error)| error.context(path)).collect(),
    };
    Ok(errors.into_iter().map(|error| super::expected_values::advise_byteorder(error, items.file())).collect())
}

/// Returns a message if a file ends before the end of its data.
pub(super) fn too_short(items: &StreamItems<'_>) -> Option<String> {
    let (file, size) = (items.file(), items.file().source().len());
    let end = items.evaluation().total().and_then(|total| total.checked_add(file.base_offset())).filter(|end| *end > size)?;
    Some(format!("it has {size} bytes, and by its parameters the data end at byte {end}"))
}
