//! Attributes of items of a tree of ASDF: `PATH@NAME` in a change is the entry of the mapping `annotations` from which it is read.

use super::Change;
use super::pending::PendingEdit;
use crate::array::Array;
use crate::array::Datatype;
use crate::array::attribute::{AttributeValue, ItemAttribute, NumberValue};
use crate::asdf::annotations::{self, AttributeEntry, ItemAnnotation};
use crate::asdf::inline_read;
use crate::error::{Error, Result};
use crate::file::annotations::{attribute_key, attribute_name};
use crate::file::{AddressName, AttributePart, AttributeSelector, ComputedValue, ItemAddress, resolve_tree_path};
use crate::layout::REFERENCE_TYPE;
use crate::percent::leniently_decoded;
use crate::tree::{Tree, TreePath, Value, ValueData};
use crate::yaml::Scalar;

/// The attributes of an enumeration, which are one key of the entry.
const ENUM_ATTRIBUTES: [&str; 2] = ["enum_names", "enum_values"];

/// The target of a path in a change.
pub(super) enum ChangeTarget {
    /// A place in the tree.
    Place(TreePath),
    /// An attribute of an item.
    Attribute(AttributePlace),
}

/// An attribute, whether the item has it or not.
pub(super) struct AttributePlace {
    /// The path of the item.
    item: TreePath,
    /// The path whose entry has the attribute.
    entry: TreePath,
    name: String,
    part: Option<AttributePart>,
}

/// The annotations of an item that an edit changes, and the place of the mapping.
struct EntryEdit {
    key: &'static str,
    has_mapping: bool,
    has_entry: bool,
    old: ItemAnnotation,
}

impl Change<'_> {
    /// Gives a key of a mapping, a card or an attribute another name. The annotations of the item move with it.
    ///
    /// ```
    /// let text = b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: 1}\n...\n".to_vec();
    /// let file = trilith::OpenOptions::new().open_bytes(text)?;
    /// let mut change = file.edit()?;
    /// change.rename("/a", "b")?;
    /// assert!(change.tree()?.text().contains("{b: 1}"));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the path leads nowhere,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the name is taken, and for a keyword of a FITS header that
    /// defines the HDU, and the errors of [`Edit::rename`](crate::tree::Edit::rename).
    pub fn rename(&mut self, path: impl TryInto<TreePath, Error: Into<Error>>, name: &str) -> Result<()> {
        match self.resolve_target(path.try_into().map_err(Into::into)?)? {
            ChangeTarget::Place(path) => {
                super::cards::check_rename(self.current_tree(), self.file.sections().source().name(), &path, name)?;
                self.stage_change(PendingEdit::Rename(path, name.to_owned()))
            }
            ChangeTarget::Attribute(attribute) => self.rename_attribute(&attribute, name),
        }
    }

    /// Notes a change of an item, and those of the annotations that follow it.
    pub(super) fn stage_change(&mut self, step: PendingEdit) -> Result<()> {
        self.apply_pending_at(step.path())?;
        let mut following = super::follow::annotation_steps(self.current_tree(), &step);
        if following.iter().any(|step| !self.pending_edits.is_unaffected(step.path())) {
            self.apply_pending()?;
            following = super::follow::annotation_steps(self.current_tree(), &step);
        }
        let path = step.path().clone();
        self.stage_step(step)?;
        following.into_iter().try_for_each(|step| self.stage_step(step))?;
        // A later step at this path must see the annotations that follow, too.
        if self.pending_edits.is_unaffected(&path) { self.apply_pending() } else { Ok(()) }
    }

    /// Returns the target of a path: the place in the tree if something is there, or the path is no address of an attribute.
    pub(super) fn resolve_target(&mut self, path: TreePath) -> Result<ChangeTarget> {
        if !path.keys().iter().any(|key| key.contains('@')) {
            return Ok(ChangeTarget::Place(path));
        }
        self.apply_pending()?;
        let text = path.to_string();
        let tree = self.current_tree();
        if tree.find(&path).is_some() || tree.card_place(&path).is_some() {
            return Ok(ChangeTarget::Place(path));
        }
        let ItemAddress { path: item, name: Some(name), .. } = ItemAddress::parse(&text)? else {
            return Ok(ChangeTarget::Place(path));
        };
        // A card has another path, and what is no attribute is refused.
        let resolved = resolve_tree_path(self.file, &text)?;
        if resolved != path && !resolved.keys().iter().any(|key| key.contains('@')) {
            return Ok(ChangeTarget::Place(resolved));
        }
        let Some(item) = find_item(tree, &item) else { return Err(no_item(&item)) };
        match name {
            AddressName::Computed(value) => Err(computed_error(value, &item)),
            AddressName::Attribute(selector) => self.attribute_place(item, &selector).map(ChangeTarget::Attribute),
        }
    }

    fn attribute_place(&self, item: TreePath, selector: &AttributeSelector) -> Result<AttributePlace> {
        let tree = self.current_tree();
        if !tree.root().is_mapping() {
            return Err(Error::unsupported("the root of this tree is no mapping, and has no place for attributes"));
        }
        let mapping = annotations::find(tree).map(|(_, mapping)| mapping);
        let entry = mapping.and_then(|mapping| annotations::entry_path(tree, mapping, &item)).unwrap_or_else(|| item.clone());
        let mut place = AttributePlace { item, entry, name: selector.name.clone(), part: selector.part };
        let known = self.entry_edit(&place)?.old;
        let has = |name: &str| known.file_attributes().iter().any(|(known, _)| known == name);
        if selector.index.is_some_and(|index| index > 0) {
            return Err(Error::not_found(format!("there is no attribute {selector}: names are unique in this file")));
        }
        let decoded = leniently_decoded(&selector.name);
        if !has(&place.name) && has(&decoded) {
            place.name = decoded.into_owned();
        }
        if ENUM_ATTRIBUTES.contains(&place.name.as_str()) && !known.enumeration.is_empty() {
            let key = annotations::find(tree).map_or("annotations", |(key, _)| key);
            let at = TreePath::root().join(key).join(place.entry.to_string()).join("enumeration");
            let message =
                format!("{}@{}: the names of values of an array are no attribute that can be changed", place.item, place.name);
            return Err(Error::unsupported(message).hint(format!("set the key {at}")));
        }
        Ok(place)
    }

    /// Reads the annotations of the item of an attribute.
    fn entry_edit(&self, place: &AttributePlace) -> Result<EntryEdit> {
        let tree = self.current_tree();
        let found = annotations::find(tree);
        let entry = found.and_then(|(_, mapping)| mapping.get(&place.entry.to_string())).filter(|entry| entry.is_mapping());
        let free = || annotations::ROOT_KEYS.into_iter().find(|key| tree.root().get(key).is_none());
        let key = found.map(|(key, _)| key).or_else(free);
        Ok(EntryEdit {
            key: key.ok_or_else(|| Error::unsupported("the tree has no free key for the mapping of attributes"))?,
            has_mapping: found.is_some(),
            has_entry: entry.is_some(),
            old: entry
                .map_or_else(|| Ok(ItemAnnotation::default()), |entry| ItemAnnotation::from_node(entry, self.file.limits()))?,
        })
    }

    /// Sets the value of an attribute, or a part of it. A new attribute gets an entry.
    pub(super) fn set_attribute(&mut self, place: &AttributePlace, value: Value, is_new: bool) -> Result<()> {
        let edit = self.entry_edit(place)?;
        let mut new = edit.old.clone();
        let tree = self.current_tree();
        new.edit_attributes(&place.name, |all| {
            let key = attribute_key(&place.name);
            let found = all.iter_mut().find(|entry| entry.name == key);
            if is_new && place.part.is_none() && found.is_some() {
                return Err(
                    Error::invalid_input(format!("the attribute {} exists already", place.name)).at_path(place.item.to_string())
                );
            }
            match (place.part, found) {
                (None, Some(entry)) => set_entry_value(entry, value, tree),
                (None, None) => {
                    check_attribute_value(&value)?;
                    all.push(AttributeEntry::new(key, value));
                    Ok(())
                }
                (Some(part), Some(entry)) => set_entry_part(entry, part, &value),
                (Some(_), None) => Err(place.missing_error(&edit.old)),
            }
        })?;
        self.stage_entry(place, &edit, new)
    }

    /// Sets an attribute to the elements of an array, with their datatype.
    pub(super) fn set_array_attribute(&mut self, place: &AttributePlace, array: &Array, is_new: bool) -> Result<()> {
        let given = ItemAttribute::new(place.name.clone(), AttributeValue::Array(Box::new(array.clone())));
        let made = AttributeEntry::from_attribute(&given).filter(|_| place.part.is_none()).ok_or_else(|| {
            let message = format!("cannot set the attribute {}@{} to an array of {}", place.item, place.name, array.datatype());
            Error::unsupported(message).hint("an attribute holds numbers, strings and booleans; store the array as an item")
        })?;
        let edit = self.entry_edit(place)?;
        let mut new = edit.old.clone();
        new.edit_attributes(&place.name, |all| {
            match all.iter_mut().find(|entry| entry.name == made.name) {
                Some(_) if is_new => {
                    let message = format!("the attribute {} exists already", place.name);
                    return Err(Error::invalid_input(message).at_path(place.item.to_string()));
                }
                Some(entry) => {
                    (entry.value, entry.datatype, entry.reference) = (made.value, made.datatype, None);
                    entry.names.clear();
                }
                None => all.push(made),
            }
            Ok(())
        })?;
        self.stage_entry(place, &edit, new)
    }

    /// Removes an attribute, or its comment or unit.
    pub(super) fn delete_attribute(&mut self, place: &AttributePlace) -> Result<()> {
        let edit = self.entry_edit(place)?;
        let mut new = edit.old.clone();
        new.edit_attributes(&place.name, |all| {
            let key = attribute_key(&place.name);
            let at = all.iter().position(|entry| entry.name == key).ok_or_else(|| place.missing_error(&edit.old))?;
            match place.part {
                None => drop(all.remove(at)),
                Some(part) => set_entry_part(&mut all[at], part, &Value::null())?,
            }
            Ok(())
        })?;
        self.stage_entry(place, &edit, new)
    }

    /// Gives an attribute another name.
    fn rename_attribute(&mut self, place: &AttributePlace, name: &str) -> Result<()> {
        let edit = self.entry_edit(place)?;
        if name.is_empty() || place.part.is_some() {
            let message = format!("cannot rename {}@{} to {name:?}", place.item, place.name);
            return Err(Error::invalid_input(message).hint("rename the whole attribute to another name"));
        }
        if edit.old.file_attributes().iter().any(|(known, _)| known == name) {
            return Err(Error::invalid_input(format!("the attribute {name} exists already")).at_path(place.item.to_string()));
        }
        let mut new = edit.old.clone();
        let (old_key, new_key) = (attribute_key(&place.name), attribute_key(name));
        let rename = |all: &mut Vec<AttributeEntry>| {
            let entry = all.iter_mut().find(|entry| entry.name == old_key).ok_or_else(|| place.missing_error(&edit.old))?;
            entry.name = new_key.clone().into_owned();
            Ok(())
        };
        new.edit_attributes(if is_unit(name) { name } else { &place.name }, rename)?;
        if is_unit(name) || is_unit(&place.name) {
            return self.stage_entry(place, &edit, new);
        }
        let at = edit.entry_path(place).join("attributes").join(&*old_key);
        self.stage_step(PendingEdit::Rename(at, new_key.into_owned()))
    }

    /// Notes the steps that make the new annotations of an item from the old ones.
    fn stage_entry(&mut self, place: &AttributePlace, edit: &EntryEdit, new: ItemAnnotation) -> Result<()> {
        let at = edit.entry_path(place);
        let old = &edit.old;
        let step = if !edit.has_mapping {
            let schema = (Value::from(annotations::SCHEMA_KEY), Value::from(annotations::SCHEMA_URI));
            let all = vec![schema, (Value::from(place.entry.to_string()), new.into_value())];
            Some(PendingEdit::Insert(TreePath::root().join(edit.key), Value::from(ValueData::Map(all))))
        } else if !edit.has_entry {
            Some(PendingEdit::Insert(at.clone(), new.into_value()))
        } else if new.is_empty() {
            Some(PendingEdit::Delete(at.clone()))
        } else {
            self.stage_unit(&at, old.unit.as_deref(), new.unit.as_deref())?;
            match (old.attributes.is_empty(), new.attributes.is_empty()) {
                (true, true) => None,
                (false, true) => Some(PendingEdit::Delete(at.join("attributes"))),
                (true, false) => {
                    let all = new.attributes.into_iter().map(|entry| (entry.name.clone(), entry.into_value()));
                    Some(PendingEdit::Set(at.join("attributes"), Value::map(all)))
                }
                (false, false) => {
                    self.stage_attributes(&at.join("attributes"), &old.attributes, new.attributes)?;
                    None
                }
            }
        };
        step.map_or(Ok(()), |step| self.stage_step(step))?;
        // A later step reads the annotations.
        self.apply_pending()
    }

    fn stage_unit(&mut self, entry: &TreePath, old: Option<&str>, new: Option<&str>) -> Result<()> {
        let at = entry.join("unit");
        match new {
            _ if old == new => Ok(()),
            Some(unit) => self.stage_step(PendingEdit::Set(at, unit.into())),
            None => self.stage_step(PendingEdit::Delete(at)),
        }
    }

    /// Notes the steps from the old attributes of an item to the new ones.
    fn stage_attributes(&mut self, at: &TreePath, old: &[AttributeEntry], new: Vec<AttributeEntry>) -> Result<()> {
        let gone = old.iter().filter(|known| new.iter().all(|entry| entry.name != known.name));
        gone.into_iter().try_for_each(|entry| self.stage_step(PendingEdit::Delete(at.join(entry.name.as_str()))))?;
        for entry in new {
            let at = at.join(entry.name.as_str());
            match old.iter().find(|known| known.name == entry.name) {
                Some(known) if *known == entry => {}
                // A value without a tag would take that of the old one.
                Some(known) if known.value.tag.is_some() && entry.value.tag.is_none() => {
                    self.stage_step(PendingEdit::Delete(at.clone()))?;
                    self.stage_step(PendingEdit::Set(at, entry.into_value()))?;
                }
                _ => self.stage_step(PendingEdit::Set(at, entry.into_value()))?,
            }
        }
        Ok(())
    }
}

impl EntryEdit {
    /// The path of the entry in the tree.
    fn entry_path(&self, place: &AttributePlace) -> TreePath {
        TreePath::root().join(self.key).join(place.entry.to_string())
    }
}

impl AttributePlace {
    /// The error for an attribute that the item does not have.
    #[cold]
    fn missing_error(&self, known: &ItemAnnotation) -> Error {
        let all = known.file_attributes();
        let names: Vec<&str> = all.iter().map(|(name, _)| &**name).collect();
        let what = format!("there is no attribute {:?}", self.name);
        if names.is_empty() {
            return Error::not_found(format!("{what}: the item has no attributes")).at_path(self.item.to_string());
        }
        Error::not_found(what).with_known_keys(&self.name, &names, 0).at_path(self.item.to_string())
    }
}

impl ItemAnnotation {
    /// Edits the attributes. The unit of the item is the attribute of that name in the meantime.
    fn edit_attributes(&mut self, name: &str, edit: impl FnOnce(&mut Vec<AttributeEntry>) -> Result<()>) -> Result<()> {
        if !is_unit(name) {
            return edit(&mut self.attributes);
        }
        let unit = self.unit.take();
        let is_known = |entry: &AttributeEntry| is_unit(&entry.name) && entry.value.as_str().is_some();
        if let Some(unit) = unit.filter(|_| !self.attributes.iter().any(is_known)) {
            self.attributes.push(AttributeEntry::new("unit", unit));
        }
        edit(&mut self.attributes)?;
        self.collect_unit();
        Ok(())
    }
}

/// Returns `true` for the attributes that are the unit of an item.
fn is_unit(name: &str) -> bool {
    matches!(name, "unit" | "units")
}

/// The path of the item of an address, as it is written or percent-decoded.
fn find_item(tree: &Tree, path: &str) -> Option<TreePath> {
    let find = |path: &str| {
        let node = tree.find(&TreePath::parse(path).ok()?)?;
        tree.path_of(node.id())
    };
    let path = if path == "/" { "" } else { path };
    find(path).or_else(|| find(&leniently_decoded(path)))
}

#[cold]
fn no_item(path: &str) -> Error {
    Error::not_found("there is no item that could have this attribute")
        .at_path(path)
        .hint("to add a key with an @ in its name, add it under another name and rename it")
}

#[cold]
fn computed_error(value: ComputedValue, item: &TreePath) -> Error {
    let word = value.name();
    Error::unsupported(format!("@{word} is computed, and cannot be set"))
        .hint(format!("{item}@\"{word}\" is the attribute of that name"))
}

/// Refuses a value that an attribute cannot have.
fn check_attribute_value(value: &Value) -> Result<()> {
    match &value.data {
        ValueData::Map(_) if value.tag.is_none() => {
            Err(Error::invalid_input("an attribute holds no mapping").hint("give a scalar or a list, or set a key of the tree"))
        }
        ValueData::Seq(items) => items.iter().try_for_each(check_attribute_value),
        _ => Ok(()),
    }
}

/// Puts a value into an attribute. Its datatype stays if that can represent the value.
fn set_entry_value(entry: &mut AttributeEntry, value: Value, tree: &Tree) -> Result<()> {
    check_attribute_value(&value)?;
    let value = match value.as_str().and_then(|text| entry.names.iter().find(|(name, _)| name == text)) {
        Some((_, number)) => number.clone(),
        None => value,
    };
    let is_item = |text: &str| text.is_empty() || TreePath::parse(text).is_ok_and(|path| tree.find(&path).is_some());
    if entry.reference.is_some() {
        entry.reference = value.as_str().filter(|text| is_item(text)).map(str::to_owned);
    }
    let stays = entry.datatype.as_deref().is_some_and(|datatype| match datatype {
        REFERENCE_TYPE => every_value(&value, &|value| value.as_str().is_some_and(is_item)),
        _ => every_value(&value, &|value| has_datatype(value, datatype)),
    });
    if !stays {
        entry.datatype = None;
        entry.names.clear();
    }
    entry.value = value;
    Ok(())
}

/// Returns `true` if a condition holds for a value, or for each value of nested lists.
fn every_value(value: &Value, is_met: &dyn Fn(&Value) -> bool) -> bool {
    match &value.data {
        ValueData::Seq(items) => items.iter().all(|item| every_value(item, is_met)),
        _ => is_met(value),
    }
}

/// Returns `true` if a datatype can represent a value.
fn has_datatype(value: &Value, name: &str) -> bool {
    let Some(datatype) = Datatype::from_name(name) else {
        return name == "string" && matches!(value.data, ValueData::Str(_)) && !value.is_binary();
    };
    let has = |number| match AttributeValue::from_number(number, Some(&datatype), None) {
        AttributeValue::Number(number) => number.datatype.name() == datatype.name(),
        AttributeValue::Bool(_) => true,
        _ => false,
    };
    match &value.data {
        ValueData::Bool(_) => datatype == Datatype::Bool8,
        ValueData::Int(number) => has(NumberValue::Int((*number).into())),
        ValueData::BigInt(digits) => digits.parse().is_ok_and(|number| has(NumberValue::Int(number))),
        ValueData::Float(number) => has(NumberValue::Float(*number)),
        ValueData::Plain(text) => match crate::yaml::resolve(text.as_str().into()) {
            Scalar::Int(number) => has(NumberValue::Int(number.into())),
            Scalar::Float(number) => has(NumberValue::Float(number)),
            _ => false,
        },
        ValueData::Str(text) if value.tag.as_deref().is_some_and(|tag| tag.contains("core/complex")) => {
            inline_read::complex(text).is_some_and(|(re, im)| has(NumberValue::Complex(re, im)))
        }
        _ => false,
    }
}

/// Sets a part of an attribute; null removes it.
fn set_entry_part(entry: &mut AttributeEntry, part: AttributePart, value: &Value) -> Result<()> {
    let text = match &value.data {
        ValueData::Null => None,
        ValueData::Str(text) if !value.is_binary() => Some(text.clone()),
        _ => return Err(Error::invalid_input(format!("the {} of an attribute is a string", part.name()))),
    };
    match part {
        AttributePart::Comment => entry.comment = text,
        AttributePart::Unit => entry.unit = text,
        AttributePart::Datatype => {
            let Some(name) = text.filter(|name| every_value(&entry.value, &|value| has_datatype(value, name))) else {
                let message = format!("the value of the attribute {} has not this datatype", attribute_name(&entry.name));
                return Err(Error::invalid_input(message).hint("name a datatype that can represent the value, such as int16"));
            };
            entry.datatype = Some(name);
        }
    }
    Ok(())
}
