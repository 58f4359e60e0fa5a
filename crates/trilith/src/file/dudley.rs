//! Dudley streams as a tree of items.

use std::borrow::Cow;
use std::sync::Arc;

use super::annotations::dims_line;
use super::as_array::not_an_array_error;
use super::backend::{self, ArrayDescription, AxisNames, Backend, ChildItem, ItemLocation, ListedArray, ResolvedItem};
use super::item::{ItemKind, ItemMetadata, MetadataParts};
use crate::array::attribute::{AttributeValue, ItemAttribute};
use crate::array::{Array, Byteorder, Datatype, element_count};
use crate::bytes::{BaseUri, SourceRef};
use crate::core::unit::{Unit, UnitTable};
use crate::dudley::{self, DudleyFile, ItemTreeId, OutlineKind, StreamOutline};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{
    Attribute, ItemId, LINK_ATTRIBUTE, Layout, LayoutEntry, LayoutLiteral, ResolvedType, canonical_path, own_name, quoted_name,
    read_value, selected_attributes,
};
use crate::limits::Limits;
use crate::tree::{Value, ValueData, index_of};
use crate::yaml::Scalar;

/// Text added to the name of a parameter if something else in the same dict has that name, too.
const SHADOWED_SUFFIX: &str = " (parameter)";

/// The number of the item at a place in the outline of a file.
pub(super) fn outline_id(file: &DudleyFile, at: &ItemLocation) -> Result<ItemTreeId> {
    file.outline_id(at)
}

/// Questions of the backend about the items of a Dudley file.
trait DudleyItems {
    /// The number of an item in the outline.
    fn outline_id(&self, at: &ItemLocation) -> Result<ItemTreeId>;

    fn outline_kind<'o>(&self, outline: &'o StreamOutline, at: &ItemLocation) -> Result<OutlineKind<'o>>;

    /// Returns the documentation of the members of an array and of the summary block, and their attributes if they are asked for.
    fn member_metadata(&self, id: ItemTreeId, item: ItemId, has_attributes: bool) -> Vec<(String, ItemMetadata<'_>)>;

    /// Finds the item at an item path.
    fn find_item(&self, path: &str) -> Result<ResolvedItem>;

    /// Finds the item at an item path or at a path of keys, and follows no link.
    fn find_unlinked(&self, path: &str) -> Result<ResolvedItem>;

    /// Returns the path to which a link leads, if the item is a link back to a group that it is in.
    fn link_target(&self, at: &ItemLocation) -> Result<Option<String>>;

    /// Returns a path with the path of the group in place of the first link back to one; `None` if there is no such link on the path.
    fn path_past_link(&self, path: &str) -> Result<Option<String>>;

    fn describe_entry(&self, entry: &LayoutEntry) -> Result<ArrayDescription>;
}

impl DudleyItems for DudleyFile {
    fn outline_id(&self, at: &ItemLocation) -> Result<ItemTreeId> {
        match at {
            ItemLocation::Node(number) => Ok(ItemTreeId::new(*number)),
            ItemLocation::Array { path, .. } => match self.outline()?.find(path)? {
                Some(id) => Ok(id),
                None => Err(self.locate_items()?.no_item(path)),
            },
        }
    }

    fn outline_kind<'o>(&self, outline: &'o StreamOutline, at: &ItemLocation) -> Result<OutlineKind<'o>> {
        Ok(outline.kind(self.outline_id(at)?))
    }

    fn member_metadata(&self, id: ItemTreeId, item: ItemId, has_attributes: bool) -> Vec<(String, ItemMetadata<'_>)> {
        let layout = self.layout();
        let said = |way: String, item: ItemId| {
            let mut notes = ItemMetadata::default();
            add_metadata(&mut notes, layout, item, has_attributes);
            (way, notes)
        };
        if item == ItemId::ROOT {
            let block = layout.opt_summary().filter(|block| layout.is_told(*block));
            return block.map(|block| said("{}".to_owned(), block)).into_iter().collect();
        }
        let is_array = self.outline().is_ok_and(|outline| matches!(outline.kind(id), OutlineKind::Data(_)));
        let members = if is_array { layout.told_members(item) } else { Vec::new() };
        let told = members.into_iter().filter(|member| layout.is_told(member.item));
        let way = |names: &[String]| names.iter().map(|name| format!(".{}", quoted_name(&own_name(name)))).collect::<String>();
        told.map(|member| said(way(&member.path), member.item)).collect()
    }

    fn find_item(&self, path: &str) -> Result<ResolvedItem> {
        let found =
            |array, is_list| ResolvedItem::same_file(ItemLocation::Array { path: path.into(), array: Box::new(array), is_list });
        // A path to one item of every element of a list is an array, and cannot be walked as a list.
        let is_list = canonical_path(path).is_some_and(|path| matches!(self.layout().list_on(&path), Some((_, ""))));
        if path.trim_end_matches('/').is_empty() {
            return Ok(ResolvedItem::same_file(self.root()));
        }
        if self.has_grids()
            && let outline = self.outline()?
            && let Some(id) = outline.find(path)?.filter(|id| outline.is_grid(*id))
        {
            return Ok(ResolvedItem::same_file(ItemLocation::Node(id.index())));
        }
        let items = self.locate_items()?;
        let mut why = None;
        match items.located(path)?.map(|located| located.typed != ResolvedType::Dynamic) {
            Some(true) => match items.array_at(path) {
                Ok(array) => return Ok(found(array, false)),
                // The item exists but cannot be read. Only these errors end the search; reading the item returns any other.
                Err(error) if error.kind().is_transient() || error.kind() == ErrorKind::Limit => return Err(error),
                Err(error) => why = Some(error),
            },
            Some(false) => {}
            // Elements that are not alike are a list, read one by one.
            None => {
                if let Some(array) = items.instance_at(path)? {
                    return Ok(found(array, false));
                }
                match items.stacked(path) {
                    Ok(Some(array)) => return Ok(found(array, is_list)),
                    Err(error) if !error.kind().is_request() => return Err(error),
                    _ => {}
                }
            }
        }
        match self.outline()?.find(path)? {
            Some(id) => Ok(ResolvedItem::same_file(ItemLocation::Node(id.index()))),
            // A list is numbered by `[3]` there, and by `/3` in every family.
            None => Err(why.unwrap_or_else(|| items.no_item(path))),
        }
    }

    fn find_unlinked(&self, path: &str) -> Result<ResolvedItem> {
        // The escapes of a JSON Pointer.
        if path.contains('~')
            && let Some(found) = not_found_as_none(backend::by_keys(self, path).map(Some))?
        {
            return Ok(found);
        }
        match self.find_item(path) {
            // A name may look like a part of an item path: `a#b`.
            Err(error) if error.kind().is_request() => backend::by_keys(self, path).map_err(|_| error),
            found => found,
        }
    }

    fn link_target(&self, at: &ItemLocation) -> Result<Option<String>> {
        if matches!(at, ItemLocation::Array { array, .. } if array.datatype().item_size() > 0) {
            return Ok(None);
        }
        // A member of structs is in no outline.
        let outline = self.outline()?;
        let Ok(id) = self.outline_id(at) else { return Ok(None) };
        let Some(item) = outline.item(id).filter(|_| outline.kind(id) == OutlineKind::Null) else { return Ok(None) };
        let target =
            self.layout().attributes(item).find(|(name, _)| *name == LINK_ATTRIBUTE).map(|(_, target)| read_value(target));
        let Some(Attribute::Value(LayoutLiteral::Text(target))) = target else { return Ok(None) };
        let mut names = target.split('/').filter(|name| !name.is_empty());
        let group = names.try_fold(ItemTreeId::ROOT, |group, name| outline.child_by_name(group, name));
        Ok(group.map(|group| outline.path(group)))
    }

    fn path_past_link(&self, path: &str) -> Result<Option<String>> {
        let ends = path.match_indices('/').map(|(end, _)| end).filter(|end| *end > 0);
        for end in ends.chain([path.len()]) {
            let (link, rest) = path.split_at(end);
            let Some(found) = not_found_as_none(self.find_unlinked(link).map(Some))? else { continue };
            if let Some(group) = self.link_target(&found.place)? {
                return Ok(Some(format!("{group}{rest}")));
            }
        }
        Ok(None)
    }

    fn describe_entry(&self, entry: &LayoutEntry) -> Result<ArrayDescription> {
        if let Some(why) = self.unreadable(entry) {
            return Err(why);
        }
        let mut shape = entry.shape.clone();
        let (mut datatype, mut byteorder) = dudley::datatype_of(&entry.resolved_type, &mut shape)?;
        if self.layout().column(entry.item).is_some() || self.has_meaning(entry) {
            let array = self.array_of(entry)?;
            (datatype, byteorder, shape) = (array.datatype().clone(), array.byteorder(), array.shape().to_vec());
        }
        // The size is that of the decoded elements.
        let nbytes = element_count(&shape).ok().and_then(|count| count.checked_mul(datatype.item_size()));
        let filter = self.layout().filter_of(entry.item).map(|filter| filter.name.clone());
        let (doc, unit, members) = (None, None, Vec::new());
        let mut remarks = Vec::new();
        if byteorder == Byteorder::Big && datatype.as_struct().is_none() {
            remarks.push("big-endian".to_owned());
        }
        remarks.extend(filter.clone());
        if let Some(Ok(grid)) = self.grid(&entry.path)? {
            let filter = grid.filters();
            remarks.extend(filter.clone());
            let storage = grid.storage();
            return Ok(ArrayDescription {
                datatype,
                shape,
                byteorder,
                storage,
                offset: None,
                nbytes,
                filter,
                remarks,
                doc,
                unit,
                members,
            });
        }
        let offset = self.offset_of(entry);
        let every = entry.stride.map_or(String::new(), |stride| format!(", every {stride} B"));
        let storage = match (offset, entry.address) {
            (Some(at), _) => format!("at byte {at}{every}"),
            (None, Some(_)) => "in another file".to_owned(),
            (None, None) => "no data".to_owned(),
        };
        Ok(ArrayDescription { datatype, shape, byteorder, storage, offset, nbytes, filter, remarks, doc, unit, members })
    }
}

/// An attribute of a layout as a value; one that is only there is null.
pub(crate) fn value_of(said: &Attribute) -> Value {
    let one = |literal: &LayoutLiteral| match literal {
        LayoutLiteral::Integer(number) => Value::from(*number),
        LayoutLiteral::Large(digits) => Value::from(ValueData::BigInt(digits.clone())),
        LayoutLiteral::Float(number) => Value::from(*number),
        LayoutLiteral::Text(text) => Value::from(text.as_str()),
        LayoutLiteral::Bytes(bytes) => Value::binary(crate::bytes::base64(bytes)),
        _ => Value::null(),
    };
    match said {
        Attribute::Value(literal) => one(literal),
        Attribute::List(list) => Value::seq(list.iter().map(one)).flow(),
        _ => Value::null(),
    }
}

/// Returns `true` if the item is an array of structs with strings of variable length.
fn has_varlen_members(file: &DudleyFile, at: &ItemLocation) -> bool {
    let Ok(Some(item)) = file.outline_id(at).and_then(|id| Ok(file.outline()?.item(id))) else { return false };
    file.layout().has_varlen_parts(item)
}

/// Returns `None` instead of an error if the item does not exist or the path is invalid.
fn not_found_as_none<T>(found: Result<Option<T>>) -> Result<Option<T>> {
    match found {
        Err(error) if error.kind().is_request() => Ok(None),
        found => found,
    }
}

/// Returns the names of the axes of an item: those that its attributes declare, otherwise the parameters in its shape.
pub(super) fn axes_of(layout: &Layout, item: ItemId) -> AxisNames {
    AxisNames {
        names: declared_axis_names(layout, item).unwrap_or_else(|| layout.axis_names(item)),
        is_coordinate: layout.is_summary_value(item),
    }
}

/// Returns the names that the attributes of an item declare for its axes; None if they declare none.
fn declared_axis_names(layout: &Layout, item: ItemId) -> Option<Vec<Option<String>>> {
    let names = layout.declared_dims(item)?;
    Some(names.iter().map(|name| Some(name.clone()).filter(|name| !name.is_empty())).collect())
}

/// Returns the unit that a comment has in parentheses at its start or its end, as `(cm/s) velocity`.
fn unit_in_comment(line: &str) -> Option<&str> {
    let line = line.trim();
    let first = line.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(inside, _)| inside);
    let last = line.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')).map(|(_, inside)| inside);
    let has_letters = |text: &&str| text.contains(|c: char| c.is_alphabetic());
    let known = UnitTable::with_standard_units();
    let is_unit = |text: &&str| Unit::parse(text).is_ok_and(|unit| known.find_unknown_names(&unit).is_empty());
    [first, last].into_iter().flatten().map(str::trim).filter(has_letters).find(is_unit)
}

/// Adds the metadata of an item in a layout: its documentation and its unit, and its other attributes if they are asked for.
pub(super) fn add_metadata<'l>(notes: &mut ItemMetadata<'l>, layout: &'l Layout, item: ItemId, has_attributes: bool) {
    let docs: Vec<&str> = layout.docs(item).map(str::trim).collect();
    notes.comment = (!docs.is_empty()).then(|| docs.join(" ").into());
    let is_wanted = |name: &str| has_attributes || matches!(name, "unit" | "units");
    for attribute in selected_attributes(layout, item, None, &is_wanted) {
        match (attribute.name.as_str(), attribute.value) {
            ("unit" | "units", AttributeValue::Text(text)) => notes.unit = Some(text.into()),
            (_, value) => notes.attributes.push((attribute.name.into(), value.literal_text())),
        }
    }
    if notes.unit.is_none() && !docs.is_empty() {
        notes.unit = docs.iter().find_map(|line| unit_in_comment(line)).map(|unit| Cow::Owned(unit.to_owned()));
    }
    notes.dims = layout.declared_dims(item).map(|names| dims_line(names.iter().map(String::as_str)));
}

impl Backend for DudleyFile {
    fn family(&self) -> &str {
        "dudley"
    }

    fn source(&self) -> &SourceRef {
        self.source()
    }

    fn limits(&self) -> &Limits {
        self.limits()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings()
    }

    fn find(&self, path: &str) -> Result<ResolvedItem> {
        let mut found = self.find_unlinked(path);
        if !self.layout().has_attribute_name(LINK_ATTRIBUTE) {
            return found;
        }
        // The path of a group has no links, so that each step leads through one of those in the path that was asked for.
        let mut past = Cow::Borrowed(path);
        for _ in 0..=path.matches('/').count() {
            let may_have_link = match &found {
                Ok(found) => self.link_target(&found.place)?.is_some(),
                Err(error) => error.kind().is_request(),
            };
            let Some(next) = (if may_have_link { self.path_past_link(&past)? } else { None }) else { break };
            past = Cow::Owned(next);
            found = self.find_unlinked(&past);
        }
        found
    }

    fn child(&self, at: &ItemLocation, key: &str) -> Result<Option<ItemLocation>> {
        let (outline, parent) = (self.outline()?, self.outline_id(at)?);
        let found = match outline.kind(parent) {
            OutlineKind::Dict => outline.child_by_name(parent, key),
            OutlineKind::List => {
                let children = outline.children(parent);
                index_of(key).and_then(|index| children.get(index).map(|(_, id)| *id))
            }
            _ => None,
        };
        Ok(found.map(|id| ItemLocation::Node(id.index())))
    }

    fn path(&self, at: &ItemLocation) -> Option<String> {
        let found = self.outline().ok().zip(self.outline_id(at).ok());
        match (found, at) {
            (Some((outline, id)), _) => Some(outline.path(id)),
            (None, ItemLocation::Array { path, .. }) => Some(path.to_string()),
            (None, ItemLocation::Node(_)) => None,
        }
    }

    fn attributes(&self, at: &ItemLocation, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ItemAttribute>> {
        // A member of structs has none.
        let Ok(id) = self.outline_id(at) else { return Ok(Vec::new()) };
        self.selected_attributes(id, is_wanted)
    }

    fn kind(&self, at: &ItemLocation) -> ItemKind {
        if let ItemLocation::Array { is_list: true, .. } = at {
            return ItemKind::List;
        }
        let Ok(outline) = self.outline() else { return ItemKind::Array };
        match self.outline_kind(outline, at) {
            Ok(OutlineKind::Dict) => ItemKind::Mapping,
            Ok(OutlineKind::List) => ItemKind::List,
            Ok(OutlineKind::Param(..)) => ItemKind::Scalar,
            Ok(OutlineKind::Null) => ItemKind::Null,
            // A member of structs is an array that no outline lists.
            Ok(OutlineKind::Data(_)) | Err(_) => ItemKind::Array,
        }
    }

    fn children(&self, at: &ItemLocation) -> Result<Vec<ChildItem<'_>>> {
        if let ItemLocation::Array { is_list: false, .. } = at {
            return Ok(Vec::new());
        }
        let outline = self.outline()?;
        let parent = self.outline_id(at)?;
        if !matches!(outline.kind(parent), OutlineKind::Dict | OutlineKind::List) {
            return Ok(Vec::new());
        }
        let mut children = Vec::new();
        for (name, id) in outline.children(parent) {
            let name = name.map(|name| match outline.is_shadowed(parent, id) {
                // An array, dict or list of the same name is next to it.
                true => Cow::Owned(format!("{name}{SHADOWED_SUFFIX}")),
                false => Cow::Borrowed(name),
            });
            children.push(ChildItem { name, place: ItemLocation::Node(id.index()) });
        }
        Ok(children)
    }

    fn child_path(&self, parent: &str, child: &ChildItem<'_>, index: usize) -> String {
        // A member of a struct of unknown length has a special path, which only its entry has.
        let entry = self.outline().and_then(|outline| Ok(outline.kind(self.outline_id(&child.place)?)));
        if let Ok(OutlineKind::Data(entry) | OutlineKind::Param(_, Some(entry))) = entry {
            return entry.path.clone();
        }
        match &child.name {
            Some(name) => format!("{parent}/{}", quoted_name(&own_name(name.strip_suffix(SHADOWED_SUFFIX).unwrap_or(name)))),
            None => format!("{parent}[{index}]"),
        }
    }

    fn value(&self, at: &ItemLocation) -> Result<Scalar<'_>> {
        match self.outline_kind(self.outline()?, at)? {
            OutlineKind::Param(value, _) => Ok(Scalar::Int(value)),
            OutlineKind::Null => Ok(Scalar::Null),
            _ => Err(Error::invalid_input("an array, a dict or a list, expected a single value")),
        }
    }

    fn array(&self, at: &ItemLocation) -> Result<Array> {
        if let ItemLocation::Array { array, .. } = at {
            return Ok((**array).clone());
        }
        let outline = self.outline()?;
        match self.outline_kind(outline, at)? {
            OutlineKind::Data(entry) => self.array_of(entry),
            OutlineKind::Param(value, _) => Array::from_slice(&[value], &[]),
            thing => Err(not_an_array_error(match thing {
                OutlineKind::List => "list of items that are not alike",
                OutlineKind::Null => "null",
                _ => "dict",
            })),
        }
    }

    fn metadata(&self, at: &ItemLocation, parts: MetadataParts) -> Result<ItemMetadata<'_>> {
        let mut found = ItemMetadata::default();
        let outline = self.outline();
        if parts.includes(MetadataParts::FLAGS) {
            found.is_history = true;
            found.is_hidden = outline.is_ok_and(|outline| self.outline_id(at).is_ok_and(|id| outline.is_hidden(id)));
        }
        if parts.includes(MetadataParts::AXES) {
            found.axes = axes_at(self, at)?;
        }
        if parts.includes(MetadataParts::TEXT.and(MetadataParts::UNIT)) {
            text_metadata(self, at, &mut found, parts.includes(MetadataParts::ATTRIBUTES));
        }
        Ok(found)
    }

    fn describe(&self, at: &ItemLocation) -> Result<ArrayDescription> {
        let found = match (self.outline().and_then(|outline| self.outline_kind(outline, at)), at) {
            (Ok(OutlineKind::Data(entry)), _) => self.describe_entry(entry),
            // A member of structs, or the elements of a list.
            (_, ItemLocation::Array { array, is_list, .. }) => {
                let storage = if *is_list { "elements of a list" } else { "part of an item" };
                Ok(ArrayDescription { storage: storage.to_owned(), ..ArrayDescription::from_array(array) })
            }
            (Err(error), _) => Err(error),
            (Ok(_), _) => Err(not_an_array_error(self.kind(at).name())),
        };
        Ok(found?.with_metadata(Backend::metadata(self, at, MetadataParts::DOCUMENTATION.and(MetadataParts::UNIT))?))
    }

    fn decode_text(&self, array: Array) -> Result<Array> {
        self.decoded(&array)
    }

    fn rebased_to(self: Arc<Self>, _: &BaseUri) -> Result<Arc<dyn Backend>> {
        // A layout holds no references to other files.
        Ok(self)
    }
}

/// The names of the axes of an item.
fn axes_at(file: &DudleyFile, at: &ItemLocation) -> Result<AxisNames> {
    let Ok(id) = file.outline_id(at) else { return Ok(AxisNames::default()) };
    let Some(item) = file.outline()?.item(id) else { return Ok(AxisNames::default()) };
    if file.is_foreign() {
        // The parameters of a derived layout are not names of the other format.
        let names = declared_axis_names(file.layout(), item).unwrap_or_default();
        return Ok(AxisNames { names, is_coordinate: false });
    }
    Ok(axes_of(file.layout(), item))
}

/// Adds documentation, unit and role of an item, and its attributes if they are asked for; and those of its members.
fn text_metadata<'f>(file: &'f DudleyFile, at: &ItemLocation, notes: &mut ItemMetadata<'f>, has_attributes: bool) {
    if let Ok(OutlineKind::Param(..)) = file.outline().and_then(|outline| file.outline_kind(outline, at)) {
        notes.role = Some("parameter");
    }
    let found = file.outline().ok().and_then(|outline| file.outline_id(at).ok().and_then(|id| Some((id, outline.item(id)?))));
    match (found, at) {
        (Some((id, item)), _) => {
            add_metadata(notes, file.layout(), item, has_attributes);
            notes.members = file.member_metadata(id, item, has_attributes);
        }
        // A member of structs, which no outline lists.
        (None, ItemLocation::Array { path, .. }) => {
            if let Some(item) = dudley::declared(file.layout(), path) {
                add_metadata(notes, file.layout(), item, has_attributes);
            }
        }
        (None, _) => {}
    }
}

/// The array of an item with its text decoded.
pub(super) fn read_decoded(file: &DudleyFile, at: &ItemLocation) -> Result<Array> {
    let array = Backend::array(file, at)?;
    // If text of another format is read as stored, its bytes are returned unchanged.
    let is_bytes = file.is_foreign() && !file.is_physical() && matches!(array.datatype(), Datatype::Ascii(_));
    let is_stored = is_bytes && !array.is_padded() || array.much_padded()?.is_some();
    match is_stored {
        true => Ok(array),
        false if array.datatype().as_struct().is_some() && has_varlen_members(file, at) => file.decoded_varlen(&array),
        false => file.decoded(&array),
    }
}

/// Lists every array with its path.
pub(super) fn arrays(file: &DudleyFile) -> Result<Vec<ListedArray>> {
    let outline = file.outline()?;
    let listed = |(id, entry): (ItemTreeId, &LayoutEntry)| ListedArray {
        path: entry.path.clone(),
        target: Ok(ResolvedItem::same_file(ItemLocation::Node(id.index()))),
    };
    Ok(outline.arrays().map(listed).collect())
}
