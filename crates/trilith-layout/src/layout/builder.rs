//! Layouts that programs make, item by item: those of files of other formats, from the metadata of these files.
//!
//! The model that is built is the one that [`parse`](super::parse) makes of [`Layout::derived_text`].

use std::collections::HashSet;

use super::attribute_type::{AttributeType, default_attribute_type};
use super::chunk_index::IndexedArray;
use super::escape::{ENUM_NAMES_PREFIX, ENUM_VALUES_PREFIX, TYPE_PREFIX, own_attribute, own_name, own_value};
use super::interner::{NameScope, Symbol};
use super::item_spec::{ElementSpec, ItemSpec, MemberSpec, TypeSpec, check_numbers, checked_number};
use super::lexer::quoted_name;
use super::model::{
    Annotation, AnnotationKind, Attribute, DataId, DataItem, Dialect, Dim, DimRun, ElementSlot, GLOBAL_SCOPE, ItemData, ItemId,
    Layout, LayoutLiteral, LayoutStep, ListSteps, MemberKind, ParamId, ParamItem, Placement, Primitive, RepeatCount,
    StructMember, TypeDef, TypeId, TypeKind, TypeUse,
};
use super::note_value::{NoteValue, attribute_len, integer_literal};
use super::sizes;
use super::storage_field::StorageField;
use crate::array::{Byteorder, Datatype};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::span::Span;

/// Bytes of memory that an item or a note takes besides its text.
const ENTRY_COST: usize = 16;

/// A layout as it grows. Attributes after an item belong to it, until the next item.
pub(crate) struct LayoutBuilder {
    pub(super) layout: Layout,
    pub(super) notes: Vec<Annotation>,
    pub(super) limits: Limits,
    /// Bytes that the items and their words take.
    pub(super) cost: u64,
    /// The dicts that are open, the root first.
    pub(super) open: Vec<ItemId>,
    /// The names of items by dict, with how often each was claimed.
    pub(super) claimed: NameScope<u32>,
    /// The names that were given since a place was marked, and whether each was reserved.
    pub(super) given: Vec<(Symbol, bool)>,
    /// Names of the dict that is open which were reserved for items that come later.
    pub(super) reserved: HashSet<Symbol>,
    /// The item to which attributes belong.
    pub(super) target: ItemId,
    /// The lists that are open, each with the number of its step.
    pub(super) open_lists: Vec<(ItemId, usize)>,
}

impl LayoutBuilder {
    /// An empty layout of something: `a .npy file`.
    pub(crate) fn new(what: &str, limits: &Limits) -> Self {
        let mut builder = Self {
            layout: Layout::new_empty(Dialect::D2025, String::new()),
            notes: Vec::new(),
            limits: limits.clone(),
            cost: 0,
            open: vec![ItemId::ROOT],
            claimed: NameScope::default(),
            given: Vec::new(),
            reserved: HashSet::new(),
            target: ItemId::ROOT,
            open_lists: Vec::new(),
        };
        builder.push_line(&format!("layout of {what}, from its own metadata"), AnnotationKind::Comment);
        builder
    }

    /// Makes room for named items, and for an eighth more: tables that double as they grow end half empty.
    pub(crate) fn reserve_items(&mut self, count: usize) {
        self.layout.reserve(|_| count + count / 8);
    }

    /// Opens a dict, in which the next items are; `close_dict` closes it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if dicts nest too deep, or the layout grows too large.
    pub(crate) fn open_dict(&mut self, name: &str) -> Result<()> {
        let name = self.claim_unique_name(name);
        self.limits.charge_depth(self.open.len(), "the layout")?;
        self.charge_name(name)?;
        let item = self.add_named_item(ItemData::Dict, name);
        self.layout.steps.push(LayoutStep::Enter(item));
        self.open.push(item);
        Ok(())
    }

    /// Closes the dict that was opened last.
    pub(crate) fn close_dict(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
            // The dict that is gone back to may have no more items: an attribute would be its.
            self.target = self.current();
            self.layout.steps.push(LayoutStep::Enter(self.target));
        }
    }

    /// An array at a byte of the file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a datatype that layouts lack, and
    /// the errors of [`LayoutBuilder::write_item`].
    pub(crate) fn write_array(
        &mut self,
        name: &str,
        datatype: &Datatype,
        order: Byteorder,
        shape: &[u64],
        offset: u64,
    ) -> Result<()> {
        self.write_item(name, &ItemSpec::from_datatype(datatype, order, shape)?.with_offset(offset))
    }

    /// An item.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for numbers that no layout can hold, and the errors of
    /// [`LayoutBuilder::open_dict`].
    pub(crate) fn write_item(&mut self, name: &str, item: &ItemSpec) -> Result<()> {
        check_numbers(item)?;
        let name = self.claim_unique_name(name);
        self.charge_name(name)?;
        let id = self.add_named_item(ItemData::Pending, name);
        self.push_data(id, item)
    }

    /// An array whose chunks are in an index, which is read with it. Its shape and its filters follow.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::write_item`].
    pub(crate) fn write_indexed_array(&mut self, name: &str, array: IndexedArray) -> Result<()> {
        self.write_item(name, &ItemSpec::bytes(0))?;
        self.layout.indexed_arrays.insert(self.target, array);
        Ok(())
    }

    /// A named type: its members and its alignment. Types of one name are the caller's care.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::write_item`].
    pub(crate) fn named_type(&mut self, name: &str, members: &[MemberSpec], align: u64) -> Result<()> {
        members.iter().try_for_each(|member| check_numbers(&member.item))?;
        let name = own_name(name).into_owned();
        self.charge(name.len())?;
        let symbol = self.layout.names.intern(&name);
        let item = self.layout.add_item(ItemData::Pending, symbol, self.current(), Span::default());
        self.target = item;
        let ty = self.add_struct(item, members, align)?;
        self.layout.found_types.insert((GLOBAL_SCOPE, symbol.0), ty);
        self.layout.steps.push(LayoutStep::Type(item));
        Ok(())
    }

    /// An item that cannot be read, with the reason.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::write_item`].
    pub(crate) fn write_unreadable_item(&mut self, name: &str, why: &Error) -> Result<()> {
        self.write_item(name, &ItemSpec::null())?;
        self.write_reason(why)
    }

    /// The reason for which the file as a whole is not what its metadata say; goes before all items.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::write_attribute`].
    pub(crate) fn write_file_damage(&mut self, why: &Error) -> Result<()> {
        self.write_reason(why)
    }

    /// A list of items without names.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::write_item`].
    pub(crate) fn raw_list(&mut self, name: &str, items: impl Iterator<Item = ElementSpec>) -> Result<()> {
        self.open_list(Some(name))?;
        for element in items {
            match element {
                ElementSpec::Item(item) => self.write_list_item(&item)?,
                ElementSpec::List(items) => {
                    self.open_list(None)?;
                    items.iter().try_for_each(|item| self.write_list_item(item))?;
                    self.close_list();
                }
            }
        }
        self.close_list();
        Ok(())
    }

    /// Opens a list, or the next list in the list that is open, which has no name.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::open_dict`].
    pub(crate) fn open_list(&mut self, name: Option<&str>) -> Result<()> {
        self.limits.charge_depth(self.open.len() + self.open_lists.len(), "the layout")?;
        let (list, slot) = match (name, self.open_lists.last()) {
            (None, Some((outer, _))) => (self.add_element(*outer, ItemData::List), ElementSlot::New),
            (name, _) => {
                let name = self.claim_unique_name(name.unwrap_or(""));
                self.charge_name(name)?;
                (self.add_named_item(ItemData::List, name), ElementSlot::Existing)
            }
        };
        self.charge(0)?;
        let step = self.layout.steps.len();
        self.layout.steps.push(LayoutStep::List(Box::new(ListSteps {
            list,
            end: step as u32 + 1,
            count: RepeatCount::Once,
            span: Span::default(),
            elements: 0,
            slot,
            places: false,
            dynamic: false,
        })));
        self.open_lists.push((list, step));
        self.target = list;
        Ok(())
    }

    /// An item of the list that is open. Attributes after it are those of the item.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::write_item`].
    pub(crate) fn write_list_item(&mut self, item: &ItemSpec) -> Result<()> {
        check_numbers(item)?;
        self.charge(0)?;
        let list = self.open_lists.last().map_or(ItemId::ROOT, |(list, _)| *list);
        let id = self.add_element(list, ItemData::Pending);
        self.target = id;
        self.push_data(id, item)
    }

    /// Closes the list that was opened last.
    pub(crate) fn close_list(&mut self) {
        let Some((list, step)) = self.open_lists.pop() else { return };
        let (end, elements) = (self.layout.steps.len() as u32, self.layout.item(list).elements);
        let inside = self.layout.steps.get(step + 1..).unwrap_or(&[]);
        let places = inside.iter().any(|step| matches!(step, LayoutStep::Data(_)));
        if let Some(LayoutStep::List(this)) = self.layout.steps.get_mut(step) {
            (this.end, this.elements, this.places) = (end, elements, places);
        }
        self.target = list;
    }

    /// Reserves a name for an item of the dict that is open, and returns it with its path. It is as given, or somewhat longer if
    /// another item has that name.
    pub(crate) fn reserve_name(&mut self, name: &str) -> (String, String) {
        let mut name = name.to_owned();
        let dict = self.current().0;
        let symbol = loop {
            let symbol = self.layout.names.intern(&own_name(&name));
            if self.claimed.get(&(dict, symbol.0)).is_none() {
                break symbol;
            }
            name.push('\'');
        };
        self.claimed.insert((dict, symbol.0), 1);
        let dicts = self.open.iter().skip(1).map(|item| self.layout.name(*item).unwrap_or(""));
        let steps = dicts.chain([self.layout.names.resolve(symbol)]).map(quoted_name);
        let path = steps.fold(String::new(), |path, step| format!("{path}/{step}"));
        self.reserved.insert(symbol);
        (name, path)
    }

    /// Writes the parts of other files that follow the file: for each its first byte here, its first byte there and its length.
    /// Goes before all attributes, whenever it is said.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::write_attribute`].
    pub(crate) fn write_file_parts(&mut self, parts: &[(String, [u64; 3])]) -> Result<()> {
        let (target, rest) = (std::mem::replace(&mut self.target, ItemId::ROOT), self.notes.split_off(1));
        self.write_files(parts)?;
        self.notes.extend(rest);
        self.target = target;
        Ok(())
    }

    /// A parameter of this value, such as the length of a dimension.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::write_item`].
    pub(crate) fn write_parameter(&mut self, name: &str, value: u64) -> Result<()> {
        let name = own_name(name).into_owned();
        self.charge(name.len())?;
        let (symbol, dict) = (self.layout.names.intern(&name), self.current());
        let is_known = self.layout.found_params.get(&(dict.0, symbol.0)).is_some();
        let (Ok(fixed), false) = (checked_number(value), is_known) else {
            // A dict has one parameter of a name, and none beyond 63 bits.
            return self.write_comment_lines(&format!("parameter {name} = {value}"));
        };
        let (id, item) = (
            ParamId(self.layout.params.len() as u32),
            // An array may have the name, too.
            self.layout.add_item(ItemData::Pending, symbol, dict, Span::default()),
        );
        self.layout.found_params.insert((dict.0, symbol.0), id);
        self.layout.params.push(ParamItem {
            item,
            fixed_value: Some(fixed),
            ty: TypeId::NONE,
            primitive: Primitive::I8,
            order: None,
            placement: Placement::Next,
            is_redeclared: false,
        });
        self.layout.item_mut(item).kind = ItemData::Param(id);
        self.layout.steps.push(LayoutStep::Param(item));
        self.target = item;
        Ok(())
    }

    /// Writes the datatypes of attributes of the file, which the item before has, as far as their values do not show them: integers
    /// are `int64`, other numbers `float64`, and those that are stored elements have the datatype of these, `elements`.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::write_attribute`].
    pub(crate) fn write_attribute_types<'n>(
        &mut self,
        elements: Option<&Datatype>,
        typed: impl Iterator<Item = (&'n str, AttributeType<'n>)>,
    ) -> Result<()> {
        for (name, attribute_type) in typed {
            let word = |prefix: &str| format!("{prefix}{}", own_attribute(name));
            match attribute_type {
                AttributeType::Text => {}
                AttributeType::Number(datatype) if *datatype == default_attribute_type(name, elements, datatype) => {}
                AttributeType::Number(datatype) => self.write_attribute(&word(TYPE_PREFIX), datatype.name())?,
                AttributeType::Special(special) => self.write_attribute(&word(TYPE_PREFIX), special)?,
                AttributeType::Enum(datatype, names, values) => {
                    self.write_attribute(&word(TYPE_PREFIX), datatype.name())?;
                    let names = names.iter().map(|name| LayoutLiteral::Text(name.clone())).collect::<Vec<_>>();
                    self.write_attribute(&word(ENUM_NAMES_PREFIX), names)?;
                    let values = values.iter().map(|value| integer_literal(*value)).collect::<Vec<_>>();
                    self.write_attribute(&word(ENUM_VALUES_PREFIX), values)?;
                }
            }
        }
        Ok(())
    }

    /// Writes an attribute that the file itself has. No name of it is a word of layouts.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::open_dict`].
    pub(crate) fn file_attribute(&mut self, name: &str, value: impl Into<NoteValue>) -> Result<()> {
        self.write_attribute(&own_attribute(name), value)
    }

    /// Writes an attribute of the item before, or of the root if there is none: a word of layouts.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::open_dict`].
    pub(crate) fn write_attribute(&mut self, name: &str, value: impl Into<NoteValue>) -> Result<()> {
        let value = match own_value(value.into().0) {
            Attribute::List(values) if values.is_empty() => Attribute::Value(LayoutLiteral::Text(String::new())),
            value => value,
        };
        self.charge(name.len() + attribute_len(&value))?;
        let name = self.layout.names.intern(name);
        self.notes.push(Annotation { item: self.target, said: AnnotationKind::Attribute(name, value) });
        Ok(())
    }

    /// A line of documentation of the item before, which every reader shows.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::open_dict`].
    pub(crate) fn write_doc_lines(&mut self, said: &str) -> Result<()> {
        printable_lines(said).into_iter().try_for_each(|line| {
            self.charge(line.len())?;
            self.push_line(&line, AnnotationKind::Doc);
            Ok(())
        })
    }

    /// States which parts of the described file belong to the item before, and are not in the layout.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::open_dict`].
    pub(crate) fn write_omissions(&mut self, parts: &[String]) -> Result<()> {
        if parts.is_empty() { Ok(()) } else { self.write_field(StorageField::Omissions(parts.to_vec())) }
    }

    /// A comment: what the layout cannot say.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::open_dict`].
    pub(crate) fn write_comment_lines(&mut self, said: &str) -> Result<()> {
        printable_lines(said).into_iter().try_for_each(|line| {
            self.charge(line.len())?;
            self.push_line(&line, AnnotationKind::Comment);
            Ok(())
        })
    }

    /// The layout.
    pub(crate) fn finish(mut self) -> Layout {
        while self.open.len() > 1 {
            self.close_dict();
        }
        self.layout.is_built = true;
        self.layout.template_obstacle = Some(Span::default());
        self.layout.notes = self.notes;
        super::sort_annotations::sort_annotations(&mut self.layout.notes);
        self.layout.plan = super::static_facts::StaticFacts::compute(&self.layout);
        self.layout
    }

    /// The dict that is open.
    pub(super) fn current(&self) -> ItemId {
        self.open.last().copied().unwrap_or(ItemId::ROOT)
    }

    fn charge_name(&mut self, name: Symbol) -> Result<()> {
        self.charge(self.layout.names.resolve(name).len())
    }

    pub(super) fn charge(&mut self, len: usize) -> Result<()> {
        self.limits.charge_text(&mut self.cost, len + ENTRY_COST, "the lines of the layout")
    }

    fn push_line(&mut self, line: &str, said: fn(Span) -> AnnotationKind) {
        let start = self.layout.text.len() as u32;
        self.layout.text.push(' ');
        self.layout.text.push_str(line);
        let span = Span::new(start, self.layout.text.len() as u32);
        self.notes.push(Annotation { item: self.target, said: said(span) });
    }

    fn add_named_item(&mut self, kind: ItemData, symbol: Symbol) -> ItemId {
        let parent = self.current();
        let item = self.layout.add_item(kind, symbol, parent, Span::default());
        self.layout.name_scope.insert((parent.0, symbol.0), item);
        self.target = item;
        item
    }

    fn add_element(&mut self, list: ItemId, kind: ItemData) -> ItemId {
        let position = self.layout.item(list).elements;
        self.layout.item_mut(list).elements = position.saturating_add(1);
        let item = self.layout.add_item(kind, Symbol::NONE, list, Span::default());
        self.layout.item_mut(item).position = position;
        item
    }

    fn push_data(&mut self, id: ItemId, item: &ItemSpec) -> Result<()> {
        let what = self.type_use(id, item)?;
        let placement = item.offset.map_or(Placement::Next, Placement::At);
        let number = DataId(self.layout.data.len() as u32);
        self.layout.data.push(DataItem { what, placement, filter: 0, reference: 0 });
        self.layout.item_mut(id).kind = ItemData::Data(number);
        self.layout.steps.push(LayoutStep::Data(id));
        Ok(())
    }

    /// The type of an item or a member, which owns the types that it declares.
    fn type_use(&mut self, owner: ItemId, item: &ItemSpec) -> Result<TypeUse> {
        let ty = match &item.typed {
            TypeSpec::Primitive(primitive, order) => TypeId::from_primitive(*primitive, prefix_of(*order)),
            TypeSpec::Struct(members) => {
                let body = self.layout.add_item(ItemData::Pending, Symbol::NONE, owner, Span::default());
                self.add_struct(body, members, 0)?
            }
            TypeSpec::Named(name) => {
                let symbol = self.layout.names.intern(&own_name(name));
                let known = self.layout.found_types.get(&(GLOBAL_SCOPE, symbol.0)).copied();
                known.ok_or_else(|| Error::malformed(format!("the type {name:?} is not declared")))?
            }
        };
        let start = self.layout.dims.len() as u32;
        self.layout.dims.extend(item.shape.iter().map(|len| Dim::Fixed(i64::try_from(*len).unwrap_or(i64::MAX))));
        Ok(TypeUse { ty, dims: DimRun { start, len: self.layout.dims.len() as u32 - start } })
    }

    /// The struct that an item declares; as deep as types nest.
    fn add_struct(&mut self, body: ItemId, specs: &[MemberSpec], declared_align: u64) -> Result<TypeId> {
        let (mut members, mut align, mut depth) = (Vec::with_capacity(specs.len()), 1, 0);
        for MemberSpec { name, item } in specs {
            self.charge(name.len())?;
            let symbol = self.layout.names.intern(name);
            let id = self.layout.add_item(ItemData::Pending, symbol, body, Span::default());
            let what = self.type_use(id, item)?;
            if self.layout.name_scope.get(&(body.0, symbol.0)).is_some() {
                return Err(Error::malformed(format!("a struct has two members {name:?}")));
            }
            self.layout.name_scope.insert((body.0, symbol.0), id);
            let placement = item.offset.map_or(Placement::Next, Placement::At);
            self.layout.item_mut(id).kind = ItemData::Member;
            members.push(StructMember { item: id, what: MemberKind::Data(what), placement, filter: 0 });
            let of = self.layout.ty(what.ty);
            align = align.max(sizes::member_align(placement, of.align));
            depth = depth.max(of.depth);
        }
        let run = DimRun { start: self.layout.members.len() as u32, len: members.len() as u32 };
        self.layout.members.extend(members);
        let kind = if specs.is_empty() { TypeKind::Null } else { TypeKind::Struct };
        let mut ty = TypeDef { members: run, declared_align, ..TypeDef::new(kind, align, depth + 1, body) };
        ty.free.start = self.layout.free.len() as u32;
        if declared_align != 0 {
            ty.align = declared_align;
        }
        ty.size = sizes::constant_size(&self.layout, &ty);
        self.limits.charge_depth(ty.depth as usize, "the layout")?;
        let id = TypeId(self.layout.types.len() as u32);
        self.layout.types.push(ty);
        self.layout.item_mut(body).kind = ItemData::Type(id);
        Ok(id)
    }

    /// A name as the layout spells it. No two items of a dict have one: the second gets a number.
    fn claim_unique_name(&mut self, name: &str) -> Symbol {
        let mut symbol = self.layout.names.intern(&own_name(name));
        let is_reserved = !self.reserved.is_empty() && self.reserved.remove(&symbol);
        if !is_reserved {
            let dict = self.current().0;
            while let Some(count) = self.claimed.get(&(dict, symbol.0)).map(|count| count + 1) {
                self.claimed.insert((dict, symbol.0), count);
                symbol = self.layout.names.intern(&format!("{} ({count})", self.layout.names.resolve(symbol)));
            }
            self.claimed.insert((dict, symbol.0), 1);
        }
        self.given.push((symbol, is_reserved));
        symbol
    }
}

/// The sign of a byte order before the name of a primitive; 0 for none.
fn prefix_of(order: Option<Byteorder>) -> u8 {
    match order {
        None => 0,
        Some(Byteorder::Little) => b'<',
        Some(Byteorder::Big) => b'>',
    }
}

/// Text without what would end its line.
fn replace_control_chars(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// The lines of a text, without the NULs at its end.
fn printable_lines(text: &str) -> Vec<String> {
    text.trim_end_matches(['\0', '\n', '\r']).lines().map(replace_control_chars).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use proptest::prelude::*;

    use super::super::storage_field::{DeclaredType, ElementParts, ElementType, FillValue, LibraryFill, UnreadableReason};
    use super::*;
    use crate::array::DeclaredNumber;
    use crate::bytes::CodingStep;
    use crate::error::ErrorKind;

    fn built(name: &str, item: &ItemSpec) -> Result<()> {
        LayoutBuilder::new("a test", &Limits::default()).write_item(name, item)
    }

    #[test]
    fn numbers_beyond_63_bits_are_refused() {
        let bytes = |at| TypeSpec::from_name("u1").with_shape(Vec::new()).with_offset(at);
        for (name, item, is_fine) in [
            ("most", bytes(i64::MAX as u64), true),
            ("more", bytes(i64::MAX as u64 + 1), false),
            ("shape", ItemSpec::bytes(u64::MAX), false),
            ("9999999999999999999999", ItemSpec::bytes(3), true),
            ("member", TypeSpec::Struct(vec![bytes(u64::MAX).into_member("a")]).with_shape(Vec::new()), false),
        ] {
            assert_eq!(built(name, &item).is_ok(), is_fine, "{name} = {item}");
        }
        let mut builder = LayoutBuilder::new("a test", &Limits::default());
        builder.raw_list("list", [ElementSpec::Item(bytes(u64::MAX))].into_iter()).unwrap_err();
        builder.write_attribute("digits", "9999999999999999999999").unwrap();
    }

    /// A call of the builder.
    #[derive(Debug, Clone)]
    enum Command {
        Open(String),
        Close,
        Item(String, ItemSpec),
        List(String, Vec<ItemSpec>),
        Parameter(String, u64),
        Attribute(String, Attribute),
        Field(StorageField),
        Doc(String),
        Comment(String),
        /// An item that fails after it was written.
        Unreadable(String, ItemSpec),
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-c]",
            Just("..".to_owned()),
            Just("x/y".to_owned()),
            Just("own:a".to_owned()),
            Just("_pad".to_owned()),
            Just("f8".to_owned()),
            "\\PC{0,4}",
            Just("new\nline\0".to_owned()),
        ]
    }

    fn literal() -> impl Strategy<Value = LayoutLiteral> {
        prop_oneof![
            any::<i64>().prop_map(LayoutLiteral::Integer),
            any::<f64>().prop_map(LayoutLiteral::Float),
            any::<u64>().prop_map(integer_literal),
            name().prop_map(LayoutLiteral::Text),
            Just(LayoutLiteral::Text("nan".to_owned())),
        ]
    }

    fn attribute() -> impl Strategy<Value = Attribute> {
        prop_oneof![
            Just(Attribute::Flag),
            literal().prop_map(Attribute::Value),
            proptest::collection::vec(any::<i64>().prop_map(LayoutLiteral::Integer), 0..4).prop_map(Attribute::List),
            proptest::collection::vec(any::<f64>().prop_map(LayoutLiteral::Float), 0..4).prop_map(Attribute::List),
            proptest::collection::vec(name().prop_map(LayoutLiteral::Text), 0..4).prop_map(Attribute::List),
        ]
    }

    fn typed() -> impl Strategy<Value = TypeSpec> {
        let primitive = proptest::sample::select(vec!["u1", "<i2", ">f8", "<c16", "b1", ">u4"]);
        let plain = primitive.prop_map(TypeSpec::from_name);
        plain.prop_recursive(3, 12, 4, |inner| {
            let member = ("[a-z]{1,3}", inner, shape(), 0u64..1 << 40);
            proptest::collection::btree_map("[a-z]{2}", member, 1..4).prop_map(|members| {
                let member = |(name, (_, typed, shape, at)): (String, (String, TypeSpec, Vec<u64>, u64))| {
                    typed.with_shape(shape).with_offset(at).into_member(&name)
                };
                TypeSpec::Struct(members.into_iter().map(member).collect())
            })
        })
    }

    fn shape() -> impl Strategy<Value = Vec<u64>> {
        proptest::collection::vec(0u64..5, 0..3)
    }

    fn item() -> impl Strategy<Value = ItemSpec> {
        let placed = (typed(), shape(), proptest::option::of(0u64..1 << 50));
        prop_oneof![
            Just(ItemSpec::null()),
            placed.prop_map(|(typed, shape, offset)| ItemSpec { typed, shape, offset }),
            (1u64..9, any::<u32>())
                .prop_map(|(len, at)| TypeSpec::from_name("S1").with_shape(vec![2, len]).with_offset(at.into())),
        ]
    }

    fn number() -> impl Strategy<Value = DeclaredNumber> {
        prop_oneof![any::<i64>().prop_map(|n| DeclaredNumber::Int(n.into())), any::<f64>().prop_map(DeclaredNumber::Float)]
    }

    fn steps() -> impl Strategy<Value = Vec<CodingStep>> {
        let step = ("[a-z]{1,4}", proptest::collection::vec(any::<u64>(), 0..3));
        proptest::collection::vec(step.prop_map(|(name, arguments)| CodingStep::new(name, arguments)), 1..3)
    }

    fn parts() -> impl Strategy<Value = ElementParts> {
        let numbers = proptest::collection::vec(0u64..1 << 40, 4..5);
        (numbers, proptest::collection::vec((0u64..9, 0u64..99, 0u64..99, 0u64..99), 0..3)).prop_map(|(first, moves)| {
            let moves = moves.into_iter().flat_map(|(kind, from, to, len)| [kind, from, to, len]);
            ElementParts::from_numbers(&first.into_iter().chain(moves).collect::<Vec<_>>()).unwrap()
        })
    }

    /// A property of each kind.
    fn field() -> impl Strategy<Value = StorageField> {
        use StorageField as F;
        let lengths = || proptest::collection::vec(any::<u64>(), 0..4);
        let names = || proptest::collection::vec(name(), 0..4);
        let bytes = || proptest::collection::vec(any::<u8>(), 0..4);
        let references = proptest::collection::vec((proptest::collection::vec(any::<u8>(), 1..3), "[a-z %|=é]{1,4}"), 0..3);
        let storage = prop_oneof![
            lengths().prop_map(F::Shape),
            lengths().prop_map(F::Chunk),
            typed()
                .prop_flat_map(|typed| shape().prop_map(move |shape| typed.clone().with_shape(shape)))
                .prop_map(|spec| F::ElementType(ElementType::Declared(DeclaredType(spec)))),
            steps().prop_map(F::Filters),
            bytes().prop_map(|bytes| F::Fill(FillValue::Bytes(bytes))),
            number().prop_map(|number| F::Fill(FillValue::Number(number))),
            proptest::collection::vec(any::<u64>(), 1..4).prop_map(F::Masks),
            name().prop_map(F::MaskColumn),
            bytes().prop_map(F::ChunkHeader),
            any::<bool>().prop_map(F::TrimmedEdges),
            any::<bool>().prop_map(F::ColumnMajor),
            name().prop_map(F::OffsetColumn),
            name().prop_map(F::LengthColumn),
            any::<u64>().prop_map(F::OffsetBase),
            parts().prop_map(F::Parts),
            (steps(), references).prop_map(|(filters, references)| F::PartFilters(filters, references)),
            names().prop_map(F::Sources),
            lengths().prop_map(F::Slabs),
        ];
        let pairs = || proptest::collection::vec((name(), name()), 0..3);
        let meaning = prop_oneof![
            Just(F::Part),
            name().prop_map(F::Column),
            number().prop_map(|number| F::LibraryFill(LibraryFill::Numbers(vec![number]))),
            proptest::collection::vec((name(), number()), 1..3).prop_map(|members| F::LibraryFill(LibraryFill::Members(members))),
            lengths().prop_map(F::StringStarts),
            proptest::collection::vec((any::<f64>(), any::<f64>()), 1..3).prop_map(F::SampleFactors),
            name().prop_map(F::MaskPath),
            literal().prop_map(F::FillValue),
            name().prop_map(F::ScaleName),
            pairs().prop_map(F::Scales),
            bytes().prop_map(F::UserBlock),
            names().prop_map(F::Omissions),
            names().prop_map(F::Dims),
            name().prop_map(F::StringAxis),
            names().prop_map(F::UnlimitedDims),
            names().prop_map(F::Float32Attributes),
            proptest::collection::vec(name().prop_map(|name| (name, Datatype::Int16)), 0..3).prop_map(F::IntegerAttributes),
            names().prop_map(F::Files),
            proptest::collection::vec(any::<[u64; 3]>(), 0..3).prop_map(F::FilePlaces),
            (name(), proptest::option::of(name()))
                .prop_map(|(message, hint)| { F::Unreadable(UnreadableReason { kind: ErrorKind::Unsupported, message, hint }) }),
        ];
        prop_oneof![storage, meaning]
    }

    fn command() -> impl Strategy<Value = Command> {
        prop_oneof![
            name().prop_map(Command::Open),
            Just(Command::Close),
            (name(), item()).prop_map(|(name, item)| Command::Item(name, item)),
            (name(), proptest::collection::vec(item(), 1..4)).prop_map(|(name, items)| Command::List(name, items)),
            ("p[0-3]", any::<u64>()).prop_map(|(name, value)| Command::Parameter(name, value)),
            (name(), attribute()).prop_map(|(name, value)| Command::Attribute(name, value)),
            field().prop_map(Command::Field),
            name().prop_map(Command::Doc),
            name().prop_map(Command::Comment),
            (name(), item()).prop_map(|(name, item)| Command::Unreadable(name, item)),
        ]
    }

    fn run(commands: Vec<Command>) -> Layout {
        let mut builder = LayoutBuilder::new("a test", &Limits::default());
        // Attributes of a dict precede its items.
        let mut is_after_dict = false;
        for command in commands {
            let was_after_dict = is_after_dict;
            is_after_dict |= matches!(command, Command::Close);
            match command {
                Command::Open(name) => builder.open_dict(&name).unwrap(),
                Command::Close => {
                    builder.close_dict();
                    continue;
                }
                Command::Item(name, item) => builder.write_item(&name, &item).unwrap(),
                Command::List(name, items) => {
                    builder.raw_list(&name, items.into_iter().map(ElementSpec::Item)).unwrap();
                }
                Command::Parameter(name, value) => builder.write_parameter(&name, value).unwrap(),
                Command::Attribute(..) | Command::Field(_) | Command::Doc(_) | Command::Comment(_) if was_after_dict => continue,
                Command::Attribute(name, value) => builder.file_attribute(&name, NoteValue(value)).unwrap(),
                Command::Field(field) => builder.write_field(field).unwrap(),
                Command::Doc(line) => builder.write_doc_lines(&line).unwrap(),
                Command::Comment(line) => builder.write_comment_lines(&line).unwrap(),
                Command::Unreadable(name, item) => builder
                    .or_unreadable(&name, |builder| {
                        builder.write_item(&name, &item)?;
                        builder.write_item("second", &item)?;
                        Err(Error::unsupported("a test"))
                    })
                    .unwrap(),
            }
            is_after_dict = false;
        }
        builder.finish()
    }

    proptest! {
        #[test]
        fn text_of_built_layout_parses_to_it(commands in proptest::collection::vec(command(), 0..20)) {
            let layout = run(commands);
            let text = layout.derived_text();
            let parsed = Layout::read(text.as_bytes()).map_err(|why| TestCaseError::fail(format!("{why}\n{text}")))?;
            prop_assert_eq!(parsed.print(), layout.print(), "{}", text);
            prop_assert_eq!(layout.text(), text.as_str());
            prop_assert_eq!(parsed.all_fields(), layout.all_fields(), "{}", text);
            let names = |layout: &Layout| {
                let all = (0..layout.item_count()).filter_map(|at| layout.item_at(at));
                all.map(|item| (layout.path(item), layout.kind(item), layout.parent(item))).collect::<Vec<_>>()
            };
            prop_assert_eq!(names(&parsed), names(&layout), "{}", text);
        }
    }
}
