//! Records of several variables, which a stream gains all at once: elements of lists, or structs of an
//! array from the columns of their members.

use super::datatype::datatype_of;
use super::dudley_file::StreamItems;
use super::encode_elements::write_array_bytes;
use super::item_path::{PathStep, parse};
use crate::array::{Array, Byteorder, Datatype, Index};
use crate::bytes::to_usize;
use crate::error::{Error, Result};
use crate::layout::{Dialect, ItemId, Layout, LayoutEntry, ResolvedType, canonical_path, quoted_name};
use crate::limits::Limits;

/// The array of structs whose members the variables are, and its new records; None if they are none.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if a member is missing, or one has another shape or
/// datatype.
pub(super) fn for_struct(items: &StreamItems<'_>, variables: &[(String, Array)]) -> Result<Option<(LayoutEntry, Array)>> {
    let mut members = Vec::new();
    let mut item: Option<String> = None;
    for (path, rows) in variables {
        let Some(found) = items.evaluation().locate(path)? else { return Ok(None) };
        let Some(name) = last_name(&canonical_path(path).unwrap_or_default())? else { return Ok(None) };
        if item.get_or_insert_with(|| found.path.clone()) != &found.path {
            return Ok(None);
        }
        members.push((name, rows));
    }
    let Some(path) = item else { return Ok(None) };
    let entry = items.entry(&path)?;
    let ResolvedType::Struct(_) = &entry.resolved_type else { return Ok(None) };
    let count = members.first().and_then(|(_, rows)| rows.shape().first().copied()).unwrap_or(0);
    let rows = build_struct_array(&entry, vec![count], &members, items.file().limits()).map_err(|e| e.context(path))?;
    Ok(Some((entry, rows)))
}

/// The name at the end of a path, of an item or a member.
pub(super) fn last_name(path: &str) -> Result<Option<String>> {
    Ok(match parse(path)?.pop() {
        Some(PathStep::Name(name) | PathStep::Member(name)) => Some(name),
        _ => None,
    })
}

/// An array of structs of a shape, from one array for each member.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if a member is missing, or one has another shape or
/// datatype.
pub(super) fn build_struct_array(
    entry: &LayoutEntry,
    shape: Vec<u64>,
    members: &[(String, &Array)],
    limits: &Limits,
) -> Result<Array> {
    let mut dims = entry.shape.clone();
    let (datatype, _) = datatype_of(&entry.resolved_type, &mut dims)?;
    let Datatype::Struct(fields) = &datatype else { return Err(Error::invalid_input("only structs have members")) };
    let count = shape.iter().try_fold(1u64, |count, dim| count.checked_mul(*dim));
    let too_many = || Error::invalid_input("E406: too many records");
    let total = count.and_then(|count| datatype.item_size().checked_mul(count)).ok_or_else(too_many)?;
    limits.charge_memory(total, "the records")?;
    let size = to_usize(datatype.item_size())?;
    let mut bytes = vec![0u8; to_usize(total)?];
    for (number, field) in fields.fields().iter().enumerate() {
        let name = field.name_or(number);
        let Some((_, rows)) = members.iter().find(|(known, _)| *known == name) else {
            return Err(Error::invalid_input(format!("the records lack the member {}", quoted_name(&name)))
                .hint("a record has all of its members"));
        };
        let width = to_usize(field.count().saturating_mul(field.datatype.item_size()))?;
        let all: Vec<u64> = shape.iter().chain(&field.shape).copied().collect();
        let mut column = Vec::new();
        let stored = write_array_bytes(rows, &field.datatype, field.byteorder, &all, &mut |piece| {
            column.extend_from_slice(piece);
            Ok(())
        });
        stored.map_err(|e| e.context(quoted_name(&name)))?;
        let from = to_usize(field.offset)?;
        for (record, value) in bytes.chunks_exact_mut(size.max(1)).zip(column.chunks_exact(width.max(1))) {
            if let Some(slot) = record.get_mut(from..from.saturating_add(width)) {
                slot.copy_from_slice(value);
            }
        }
    }
    Array::from_bytes(bytes, datatype, Byteorder::NATIVE, shape)
}

/// Records of lists.
pub(super) struct RecordLists(Vec<RecordList>);

struct RecordList {
    list_item: ItemId,
    /// The path as entries spell it.
    path: String,
    /// Number of elements before, and of new ones.
    old_len: u64,
    count: u64,
    columns: Vec<RecordColumn>,
}

/// The records of one variable: an element itself, or an item in elements that are dicts.
struct RecordColumn {
    inner: String,
    rows: Array,
    is_used: u64,
}

impl RecordLists {
    /// Returns the lists that the variables belong to.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a path that leads to no list, and if the variables
    /// of a list do not have the same number of records.
    pub(super) fn for_variables(items: &StreamItems<'_>, variables: &[(String, Array)]) -> Result<Self> {
        let layout = items.file().layout();
        let mut lists: Vec<RecordList> = Vec::new();
        for (given, rows) in variables {
            let Some(&count) = rows.shape().first() else {
                return Err(Error::invalid_input(format!("the records of {given} have no axis that counts them")));
            };
            let path = canonical_path(given).unwrap_or_default();
            let Some((item, inner)) = layout.list_on(&path) else { return Err(no_list(items, &path)?) };
            let column = RecordColumn { inner: inner.to_owned(), rows: rows.clone(), is_used: 0 };
            match lists.iter_mut().find(|list| list.list_item == item) {
                Some(list) if list.columns.iter().any(|known| known.inner == inner) => {
                    return Err(Error::invalid_input(format!("{path} is given twice")));
                }
                Some(list) if list.count != count => {
                    let message = format!("{path} has {count} records, another item of {} has {}", list.path, list.count);
                    return Err(Error::invalid_input(message));
                }
                Some(list) => list.columns.push(column),
                None => {
                    let before = items.evaluation().list_len(item)?;
                    lists.push(RecordList {
                        list_item: item,
                        path: layout.path(item),
                        old_len: before,
                        count,
                        columns: vec![column],
                    });
                }
            }
        }
        // Records of one moment: from here on element i of each list is of the same one.
        if let Some(first) = lists.first()
            && let Some(other) = lists.iter().find(|list| list.count != first.count)
        {
            let message = format!("{} gets {} records, {} gets {}", first.path, first.count, other.path, other.count);
            return Err(
                Error::invalid_input(message).hint("append to lists that are not of the same records one after the other")
            );
        }
        lists.retain(|list| list.count > 0);
        Ok(Self(lists))
    }

    /// Returns `true` if nothing is appended.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The list, if all records are of one, and how many they are.
    pub(super) fn only_list(&self) -> Option<(ItemId, u64)> {
        match self.0.as_slice() {
            [list] => Some((list.list_item, list.count)),
            _ => None,
        }
    }

    /// Returns the addition to the layout.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for dicts in a list of 2026, which repeats
    /// none.
    pub(super) fn added_layout_text(&self, layout: &Layout) -> Result<String> {
        let mut text = String::new();
        for list in &self.0 {
            let way = list.path.trim_start_matches('/');
            let count = list.count;
            let more = match layout.dialect() {
                Dialect::D2025 => count.to_string(),
                Dialect::D2026 if layout.repeats_dict(list.list_item) => {
                    return Err(Error::unsupported(format!("{} has dicts as elements, which 2026 cannot repeat", list.path))
                        .hint("convert the file to dudley-2025, or make it a list of structs"));
                }
                Dialect::D2026 => vec!["%0"; to_usize(count)?].join(", "),
            };
            text.push_str(&format!("/ {way} [{more}]\n"));
        }
        Ok(text)
    }

    /// The data of the next element of the longer layout.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if no records were given for it.
    pub(super) fn next_element_data(&mut self, entry: &LayoutEntry) -> Result<Array> {
        for list in &mut self.0 {
            let rest = entry.path.strip_prefix(list.path.as_str()).and_then(|rest| rest.strip_prefix('['));
            let Some((index, inner)) = rest.and_then(|rest| rest.split_once(']')) else { continue };
            let row = index.parse::<u64>().ok().and_then(|index| index.checked_sub(list.old_len));
            let column = list.columns.iter_mut().find(|column| column.inner == inner);
            if let (Some(row), Some(column)) = (row, column) {
                column.is_used += 1;
                return column.rows.slice([Index::Integer(i64::try_from(row).unwrap_or(i64::MAX))]);
            }
        }
        Err(Error::invalid_input(format!("no records were given for {}", entry.path))
            .hint("give all variables of an element at once, as /list/x and /list/y"))
    }

    /// Checks that every record has found its place.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if one has not.
    pub(super) fn all_used(&self) -> Result<()> {
        for list in &self.0 {
            if let Some(column) = list.columns.iter().find(|column| column.is_used == 0 && !column.rows.is_empty()) {
                return Err(Error::invalid_input(format!("the elements of {} have no item {}", list.path, column.inner)));
            }
        }
        Ok(())
    }
}

/// Returns the reason why nothing at a path can grow.
fn no_list(items: &StreamItems<'_>, path: &str) -> Result<Error> {
    Ok(match items.located(path)? {
        Some(_) => Error::unsupported(format!("{path} cannot grow: only lists and arrays of records have records")),
        None => items.no_item(path),
    })
}
