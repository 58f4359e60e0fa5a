//! A layout in memory: items in the order of their declaration, and what the text said about each.
//!
//! Item 0 is the root dict. Every other item has one parent: data, dicts and lists belong to a dict
//! or a list, parameters and types to a dict (in 2025 a parameter may belong to a struct), members to
//! a type. In addition to the items there are the *steps* of the text in their order, which is the order of the
//! stream: what [`Layout::evaluate`](Layout::evaluate) and the printer walk along.

use std::collections::HashMap;
use std::sync::OnceLock;

pub(super) use super::primitive::{Dialect, Primitive, PrimitiveKind};
pub(super) use crate::array::Byteorder;

use super::chunk_index::{ChunkIndex, IndexedArray};
use super::diagnostic::DiagnosticCode;
use super::interner::{Interner, NameHasher, NameScope, Symbol};
use super::storage_field::StorageField;
use crate::span::Span;

/// Characters between tokens of a line.
pub(crate) const BLANKS: [char; 4] = [' ', '\t', '\u{b}', '\u{c}'];

/// The prefix of what belongs to the file.
pub(crate) const ESCAPE_PREFIX: &str = "own:";

/// The owner of the types of 2025, which have one name space; no item has this number.
pub(crate) const GLOBAL_SCOPE: u32 = u32::MAX;

/// The number of an item: its place in the order of declarations. The root dict is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemId(pub(crate) u32);

impl ItemId {
    /// The root dict.
    pub const ROOT: ItemId = ItemId(0);
    pub(crate) const NONE: ItemId = ItemId(u32::MAX);

    /// Returns the index of the item in the order of declarations.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number of a datatype; those below `4 * Primitive::COUNT` are primitives, by prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TypeId(pub u32);

impl TypeId {
    pub(crate) const NONE: TypeId = TypeId(u32::MAX);

    /// A primitive with the prefix that the text gave it: 0, `<`, `>` or `|`.
    pub(crate) fn from_primitive(primitive: Primitive, prefix: u8) -> Self {
        let prefix = match prefix {
            b'<' => 1,
            b'>' => 2,
            b'|' => 3,
            _ => 0,
        };
        TypeId(primitive.index() * 4 + prefix)
    }

    pub(crate) fn is_primitive(self) -> bool {
        self.0 < Primitive::COUNT * 4
    }
}

/// The number of a parameter, fixed or stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ParamId(pub u32);

/// The number of a data array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DataId(pub u32);

/// A range of [`Layout::dims`] (or of another table).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DimRun {
    pub start: u32,
    pub len: u32,
}

impl DimRun {
    pub(crate) fn slice<T>(self, table: &[T]) -> &[T] {
        table.get(self.start as usize..(self.start + self.len) as usize).unwrap_or(&[])
    }
}

/// One dimension of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dim {
    Fixed(i64),
    Param {
        param: ParamId,
        suffix: i8,
    },
    /// Dimension of a named type of 2025, bound where the type is used.
    Unbound {
        name: Symbol,
        suffix: i8,
    },
}

/// The placement of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Placement {
    /// The item is at the next address that its alignment allows.
    #[default]
    Next,
    /// `@n`: at this address; in a struct, at this offset.
    At(u64),
    /// `%n`: at the next multiple of this power of two; `%0` is as [`Placement::Next`].
    Align(u64),
}

/// The treatment of the explicit addresses (`@n`) of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressRule {
    /// Items are at their addresses.
    Keep,
    /// Items follow each other, as in elements of a list that come again.
    Drop,
}

impl AddressRule {
    /// The placement that counts for an item.
    pub(crate) fn apply(self, placement: Placement) -> Placement {
        match placement {
            Placement::At(_) if self == AddressRule::Drop => Placement::Next,
            placement => placement,
        }
    }
}

/// A datatype and the dimensions after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeUse {
    pub ty: TypeId,
    pub dims: DimRun,
}

/// A data array of a dict, a list or (2026) after `&`.
#[derive(Debug, Clone)]
pub(crate) struct DataItem {
    pub what: TypeUse,
    pub placement: Placement,
    /// Number in [`Layout::filters`] + 1.
    pub filter: u32,
    /// Number in [`Layout::references`] + 1.
    pub reference: u32,
}

/// A parameter of a dict or a struct.
#[derive(Debug, Clone)]
pub(crate) struct ParamItem {
    pub item: ItemId,
    /// Value of a fixed parameter; `None` for a stored one.
    pub fixed_value: Option<i64>,
    /// Datatype of a stored parameter, as written.
    pub ty: TypeId,
    /// The primitive at the end of the typedefs of `ty`.
    pub primitive: Primitive,
    pub order: Option<Byteorder>,
    pub placement: Placement,
    /// `true` if it has many values in one stream: inside a struct or a repeated list.
    pub is_redeclared: bool,
}

/// The content of a struct, in the order of the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StructMember {
    pub item: ItemId,
    pub what: MemberKind,
    pub placement: Placement,
    /// Number in [`Layout::filters`] + 1: a reference filter in a typedef.
    pub filter: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum MemberKind {
    Data(TypeUse),
    Fixed(ParamId),
    Stored(ParamId),
}

/// The composition of a datatype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeKind {
    Primitive(Primitive, Option<Byteorder>),
    /// `{}`
    Null,
    /// Another type, with dimensions: a typedef without stored parameters.
    Alias(TypeUse),
    Struct,
}

/// A datatype, or an instance of one whose free dimensions have been bound.
#[derive(Debug, Clone)]
pub(crate) struct TypeDef {
    pub kind: TypeKind,
    /// Alignment in bytes, known without any parameter.
    pub align: u64,
    /// `%n` after the brace.
    pub declared_align: u64,
    pub members: DimRun,
    /// Names in [`Layout::free`] that have no parameter yet.
    pub free: DimRun,
    /// Size if it depends on no parameter; typedefs: of the whole array.
    pub size: Option<u64>,
    /// Contains stored parameters: each instance has its own size.
    pub dynamic: bool,
    /// `true` if the only data member has no name: the type is presented as that member.
    pub typedef: bool,
    /// Comes down to text, with this many dimensions in all.
    pub text: bool,
    pub inlining_rank: u32,
    /// Depth of nested structs in it.
    pub depth: u32,
    pub item: ItemId,
    /// The type as declared.
    pub origin: TypeId,
}

/// A filter of 2026.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LayoutFilter {
    /// `->`: the array is stored compressed, after its length. Otherwise `<-`: it holds references.
    pub compresses: bool,
    /// Name of the filter, such as `gzip`.
    pub name: String,
    /// The arguments in parentheses.
    pub arguments: Vec<LayoutLiteral>,
}

/// A number or a string of an attribute or a filter.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum LayoutLiteral {
    /// A whole number.
    Integer(i64),
    /// A whole number that does not fit in 64 bits: its decimal digits.
    Large(String),
    /// A number with a point or an exponent.
    Float(f64),
    /// A quoted string.
    Text(String),
    /// A string of the described file that is not in its declared encoding: its bytes. A layout spells it with the mark `own:`.
    Bytes(Vec<u8>),
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Attribute {
    /// An attribute without a value.
    Flag,
    /// One value.
    Value(LayoutLiteral),
    /// A list of values of one kind.
    List(Vec<LayoutLiteral>),
}

/// Writes the value in the spelling of the grammar.
impl std::fmt::Display for LayoutLiteral {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LayoutLiteral::Integer(value) => write!(f, "{value}"),
            LayoutLiteral::Large(digits) => f.write_str(digits),
            // Infinity has no other spelling than a number that is too large.
            LayoutLiteral::Float(value) if value.is_infinite() => f.write_str(if *value > 0.0 { "1e999" } else { "-1e999" }),
            LayoutLiteral::Float(value) => write!(f, "{value:?}"),
            LayoutLiteral::Bytes(bytes) => write!(f, "\"{}\"", escape_bytes(bytes)),
            LayoutLiteral::Text(text) => {
                let mut quoted = String::from("\"");
                for c in text.chars() {
                    if matches!(c, '"' | '\\') {
                        quoted.push('\\');
                    }
                    quoted.push(c);
                }
                write!(f, "{quoted}\"")
            }
        }
    }
}

/// Returns a string that is not UTF-8 as a layout spells it.
pub(super) fn escape_bytes(bytes: &[u8]) -> String {
    let mut out = ESCAPE_PREFIX.to_owned();
    for byte in bytes {
        match byte {
            b'%' | b'"' | b'\\' | ..b' ' | 0x7f.. => out.push_str(&format!("%{byte:02X}")),
            byte => out.push(char::from(*byte)),
        }
    }
    out
}

/// Writes the text after the `=`; nothing for a flag.
impl std::fmt::Display for Attribute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Attribute::Flag => Ok(()),
            Attribute::Value(value) => write!(f, "{value}"),
            Attribute::List(values) => {
                for (at, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if at == 0 { "[" } else { ", " })?;
                }
                f.write_str("]")
            }
        }
    }
}

/// An item that references lead to (2026).
#[derive(Debug, Clone)]
pub(crate) struct RefTarget {
    pub item: ItemId,
    /// The values by which references mean it; without any, its number counted from 1.
    pub ids: Vec<i64>,
}

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemData {
    /// Being declared.
    Pending,
    Dict,
    List,
    Type(TypeId),
    Param(ParamId),
    Data(DataId),
    /// The summary block of 2025.
    Summary,
    /// A data member of a struct.
    Member,
}

/// An item of a layout.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub name: Symbol,
    pub parent: ItemId,
    pub span: Span,
    pub kind: ItemData,
    /// Next child of the same parent.
    pub next: ItemId,
    pub first: ItemId,
    pub last: ItemId,
    /// Index of an element among the declared elements of its list.
    pub position: u32,
    /// Number of elements of a list that the text declares.
    pub elements: u32,
}

/// A number of repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RepeatCount {
    Once,
    Fixed(i64),
    Param(ParamId),
}

/// The relation of a list or dict to the list around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementSlot {
    /// A new element, after the others.
    New,
    /// An earlier element that goes on, or a list with a separate name.
    Existing,
}

/// A step of the text, in its order.
#[derive(Debug, Clone)]
pub(crate) enum LayoutStep {
    /// `name/`, `..` or `/`: this dict is open now.
    Enter(ItemId),
    Data(ItemId),
    Param(ItemId),
    /// A named type.
    Type(ItemId),
    /// `[` … `]*n`
    List(Box<ListSteps>),
    /// A dict that is an element of a list; its steps end before `end`.
    Element {
        dict: ItemId,
        end: u32,
        /// Relation to its list.
        slot: ElementSlot,
    },
    /// `list [n]`
    Extend(Box<Extension>),
    /// The summary block, up to `end`.
    Summary {
        end: u32,
    },
}

/// `[` … `]*n`: the steps of the body end before `end`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListSteps {
    pub list: ItemId,
    pub end: u32,
    pub count: RepeatCount,
    /// The count, for its position.
    pub span: Span,
    /// Elements that each repetition appends.
    pub elements: u32,
    /// Relation to the list around it, if there is one.
    pub slot: ElementSlot,
    /// `true` if a step of the list occupies the stream.
    pub places: bool,
    /// `true` if the list contains stored parameters, which have to be read.
    pub dynamic: bool,
}

/// `list [n]`: the steps `from..to` again, `count` times, without their addresses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extension {
    pub list: ItemId,
    pub from: u32,
    pub to: u32,
    pub count: RepeatCount,
    pub span: Span,
    pub places: bool,
    pub dynamic: bool,
}

/// A line of documentation or an attribute, and what it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Annotation {
    pub item: ItemId,
    pub said: AnnotationKind,
}

#[derive(Debug, Clone)]
pub(crate) enum AnnotationKind {
    Doc(Span),
    Attribute(Symbol, Attribute),
    /// A property of the item, with the name that the language has for it.
    Storage(Symbol, Box<StorageNote>),
    /// The end of an attribute comment that is not understood.
    Raw(Span),
    /// A comment of a layout that a program made. The parser keeps no comments.
    Comment(Span),
}

/// A property of an item, and the attribute by which the language spells it: as it is written, or made when somebody asks for it.
#[derive(Debug, Clone)]
pub(crate) struct StorageNote {
    pub field: StorageField,
    pub spelled: OnceLock<Attribute>,
}

impl StorageNote {
    /// Returns the attribute by which the language spells the property.
    pub(super) fn attribute(&self) -> &Attribute {
        self.spelled.get_or_init(|| self.field.to_attribute())
    }
}

/// A parsed layout: the items of a file and their places, as functions of the parameters that the file stores.
///
/// ```
/// use trilith_layout::layout::{Layout, EvaluateOptions};
/// let layout = Layout::read(b"N : i4  x = <f8[N]").unwrap();
/// let found = layout.evaluate_with(&EvaluateOptions::default(), &[3]).unwrap();
/// let x = found.entries().nth(1).unwrap().unwrap();
/// assert_eq!((x.path.as_str(), x.address, x.shape.as_slice()), ("/x", Some(8), &[3][..]));
/// ```
#[derive(Clone)]
pub struct Layout {
    pub(crate) dialect: Dialect,
    pub(crate) order: Option<Byteorder>,
    pub(crate) text: String,
    /// Byte of the text after which nothing was read: its end, or the end of the terminator.
    pub(crate) end: usize,
    pub(crate) terminated: bool,
    pub(crate) names: Interner,
    pub(crate) items: Vec<Item>,
    pub(crate) data: Vec<DataItem>,
    pub(crate) params: Vec<ParamItem>,
    pub(crate) types: Vec<TypeDef>,
    pub(crate) members: Vec<StructMember>,
    pub(crate) dims: Vec<Dim>,
    pub(crate) free: Vec<Symbol>,
    pub(crate) filters: Vec<LayoutFilter>,
    pub(crate) references: Vec<RefTarget>,
    /// Elements that repeat a declared one (`i%0`), each with the index of that one, if the text states it.
    pub(crate) copies: HashMap<ItemId, Option<i64>, NameHasher>,
    pub(crate) steps: Vec<LayoutStep>,
    /// Sorted by item.
    pub(crate) notes: Vec<Annotation>,
    /// Data, dicts and lists by (parent, name).
    pub(crate) name_scope: NameScope<ItemId>,
    pub(crate) found_types: NameScope<TypeId>,
    pub(crate) found_params: NameScope<ParamId>,
    pub(crate) summary: Option<TypeId>,
    /// The place in the text that keeps it from being a template.
    pub(crate) template_obstacle: Option<Span>,
    pub(crate) instances: HashMap<(TypeId, Box<[u32]>), TypeId, NameHasher>,
    /// Data for evaluation, made once.
    pub(crate) plan: super::static_facts::StaticFacts,
    /// The arrays whose chunks are in an index of the described file.
    pub(crate) indexed_arrays: HashMap<ItemId, IndexedArray, NameHasher>,
    /// `true` if a program made the layout: `text` has its documentation, and `printed_text` all of it.
    pub(crate) is_built: bool,
    pub(crate) printed_text: OnceLock<String>,
}

impl Layout {
    /// Makes room in the tables of items: for as many more entries as `more` returns for the number that a table has.
    pub(crate) fn reserve(&mut self, more: impl Fn(usize) -> usize) {
        self.items.reserve(more(self.items.len()));
        self.data.reserve(more(self.data.len()));
        self.dims.reserve(more(self.dims.len()));
        self.steps.reserve(more(self.steps.len()));
        self.name_scope.reserve(more(self.names.len()));
        self.names.reserve(more(self.names.len()));
    }

    /// A layout that holds nothing but the root dict and the primitives.
    pub(crate) fn new_empty(dialect: Dialect, text: String) -> Self {
        let mut layout = Self {
            dialect,
            order: None,
            end: text.len(),
            terminated: false,
            text,
            names: Interner::default(),
            items: Vec::new(),
            data: Vec::new(),
            params: Vec::new(),
            types: Vec::new(),
            members: Vec::new(),
            dims: Vec::new(),
            free: Vec::new(),
            filters: Vec::new(),
            references: Vec::new(),
            copies: HashMap::default(),
            steps: Vec::new(),
            notes: Vec::new(),
            name_scope: NameScope::default(),
            found_types: NameScope::default(),
            found_params: NameScope::default(),
            summary: None,
            template_obstacle: Some(Span::default()),
            instances: HashMap::default(),
            plan: super::static_facts::StaticFacts::default(),
            indexed_arrays: HashMap::default(),
            is_built: false,
            printed_text: OnceLock::new(),
        };
        for number in 0..Primitive::COUNT {
            for order in [None, Some(Byteorder::Little), Some(Byteorder::Big), None] {
                layout.types.push(TypeDef::from_primitive(Primitive::from_index(number), order, dialect));
            }
        }
        layout.add_item(ItemData::Dict, Symbol::NONE, ItemId::NONE, Span::default());
        layout
    }

    /// Adds an item as the last child of its parent.
    pub(crate) fn add_item(&mut self, kind: ItemData, name: Symbol, parent: ItemId, span: Span) -> ItemId {
        let id = ItemId(self.items.len() as u32);
        let none = ItemId::NONE;
        self.items.push(Item { name, parent, span, kind, next: none, first: none, last: none, position: 0, elements: 0 });
        if let Some(owner) = self.items.get_mut(parent.index()) {
            let before = std::mem::replace(&mut owner.last, id);
            if owner.first == none {
                owner.first = id;
            }
            if let Some(before) = self.items.get_mut(before.index()) {
                before.next = id;
            }
        }
        id
    }

    pub(crate) fn item(&self, id: ItemId) -> &Item {
        // Every id was made by `add_item` of this layout; a foreign one becomes the root.
        self.items.get(id.index()).unwrap_or(&self.items[0])
    }

    pub(crate) fn item_mut(&mut self, id: ItemId) -> &mut Item {
        let at = if id.index() < self.items.len() { id.index() } else { 0 };
        &mut self.items[at]
    }

    pub(crate) fn ty(&self, id: TypeId) -> &TypeDef {
        self.types.get(id.0 as usize).unwrap_or(&self.types[0])
    }

    pub(crate) fn param(&self, id: ParamId) -> &ParamItem {
        &self.params[id.0 as usize]
    }

    pub(crate) fn data_of(&self, id: ItemId) -> Option<&DataItem> {
        match self.item(id).kind {
            ItemData::Data(data) => self.data.get(data.0 as usize),
            _ => None,
        }
    }

    pub(crate) fn param_of(&self, id: ItemId) -> Option<&ParamItem> {
        match self.item(id).kind {
            ItemData::Param(param) => self.params.get(param.0 as usize),
            _ => None,
        }
    }

    /// Returns the name of the member that is the array of an item, if the item is a table of which it is one column.
    #[doc(hidden)]
    pub fn column(&self, id: ItemId) -> Option<&str> {
        self.storage_fields(id).find_map(|field| match field {
            StorageField::Column(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns `true` if an item is declared in the braces of a struct.
    pub(crate) fn member_of_struct(&self, id: ItemId) -> bool {
        matches!(self.item(self.item(id).parent).kind, ItemData::Type(_))
    }

    pub(crate) fn find_filter(&self, number: u32) -> Option<&LayoutFilter> {
        self.filters.get(number.checked_sub(1)? as usize)
    }

    /// The dialect that it is written in.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The byte order that its first character gives (2025).
    pub fn order(&self) -> Option<Byteorder> {
        self.order
    }

    /// The text, decoded; spans of items and diagnostics refer to it.
    pub fn text(&self) -> &str {
        if self.is_built { self.printed_text.get_or_init(|| self.derived_text()) } else { &self.text }
    }

    /// Returns `true` if an attribute has this name.
    #[doc(hidden)]
    pub fn has_attribute_name(&self, name: &str) -> bool {
        self.names.find_symbol(name).is_some()
    }

    /// The indices of chunks of all items.
    pub(crate) fn chunk_indices(&self) -> impl Iterator<Item = &dyn ChunkIndex> {
        self.indexed_arrays.values().map(|array| &*array.index)
    }

    /// The array of an item whose chunks are in an index of the described file.
    pub(crate) fn indexed_array(&self, item: ItemId) -> Option<&IndexedArray> {
        self.indexed_arrays.get(&item)
    }

    /// Returns the number of bytes of the text that belong to the layout: up to its end or past its terminator
    /// (2025).
    pub fn text_end(&self) -> usize {
        if self.is_built { self.text().len() } else { self.end }
    }

    /// Returns the places of its comments that are neither documentation nor attributes, which no item has.
    #[doc(hidden)]
    pub fn plain_comments(&self) -> Vec<Span> {
        if self.is_built || !self.text.contains('#') {
            return Vec::new();
        }
        super::lexer::plain_comments(self.text.get(..self.end).unwrap_or(&self.text), self.dialect)
    }

    /// Returns `true` if a line of `-` ends it (2025).
    pub fn is_terminated(&self) -> bool {
        self.terminated
    }

    /// Returns the number of items, including the root dict.
    pub fn item_count(&self) -> usize {
        self.items.len()
    }

    /// Returns `true` if one layout describes many files (2025): a summary block and no explicit address, stored
    /// parameter or struct of indeterminate length outside of it.
    pub fn is_template(&self) -> bool {
        self.template_obstacle.is_none()
    }

    /// E408, if a template is needed and this layout is none: at what keeps it from being one.
    pub(crate) fn require_template(&self) -> crate::error::Result<()> {
        let Some(span) = self.template_obstacle else { return Ok(()) };
        let why = if self.summary.is_some() { "" } else { ": it does not begin with a summary block" };
        let diagnostic = DiagnosticCode::E408.to_diagnostic(span, format!("the layout is not a template{why}"));
        let hint = "a template begins with a summary block, and has no @address, stored parameter or struct of unknown length after it; a layout \
             of 2026 may have stored parameters anywhere: trilith layout translate --to 2026; files under any other layout are read one by one";
        Err(diagnostic.hint(hint).locate(&self.text).into())
    }

    /// The item with this number, if there is one.
    pub fn item_at(&self, index: usize) -> Option<ItemId> {
        (index < self.items.len()).then_some(ItemId(index as u32))
    }

    /// The path of an item as the text gives it: `/group/name`, list elements by their place among the
    /// declared ones, struct members as `.name`. The root is `/`.
    pub fn path(&self, id: ItemId) -> String {
        self.static_path(id)
    }

    /// The children of a dict, list or type in the order of their declaration.
    pub fn children(&self, id: ItemId) -> impl Iterator<Item = ItemId> + '_ {
        let mut next = self.item(id).first;
        std::iter::from_fn(move || {
            let this = (next != ItemId::NONE).then_some(next)?;
            next = self.item(this).next;
            Some(this)
        })
    }

    /// The dict, list or type that an item belongs to; `None` for the root.
    pub fn parent(&self, id: ItemId) -> Option<ItemId> {
        Some(self.item(id).parent).filter(|&parent| parent != ItemId::NONE)
    }

    /// The name of an item; `None` if it has none, as elements of lists.
    pub fn name(&self, id: ItemId) -> Option<&str> {
        let name = self.item(id).name;
        (name != Symbol::NONE).then(|| self.names.resolve(name))
    }

    /// Returns the place in the text that declares an item: its name, or the first token of an element.
    pub fn span(&self, id: ItemId) -> Span {
        self.item(id).span
    }

    /// Returns the kind of an item.
    pub fn kind(&self, id: ItemId) -> ItemKind {
        match self.item(id).kind {
            ItemData::Dict => ItemKind::Dict,
            ItemData::List => ItemKind::List,
            ItemData::Type(_) => ItemKind::Type,
            ItemData::Param(_) => ItemKind::Param,
            ItemData::Summary => ItemKind::Summary,
            ItemData::Data(_) | ItemData::Member | ItemData::Pending => ItemKind::Data,
        }
    }

    /// The filter of a data array (2026).
    pub fn filter_of(&self, id: ItemId) -> Option<&LayoutFilter> {
        self.data_of(id).and_then(|data| self.find_filter(data.filter))
    }

    /// The data array, dict or list of that name in a dict.
    pub fn child(&self, dict: ItemId, name: &str) -> Option<ItemId> {
        self.name_scope.get(&(dict.0, self.names.find_symbol(name)?.0)).copied()
    }

    /// The referenced items (2026) in the order of the text, each with the values that mean it next to
    /// its number, counted from 1.
    pub fn references(&self) -> impl Iterator<Item = (ItemId, &[i64])> {
        self.references.iter().map(|reference| (reference.item, reference.ids.as_slice()))
    }

    /// The item that holds the notes of the summary block (2025).
    pub fn opt_summary(&self) -> Option<ItemId> {
        self.summary.map(|ty| self.ty(ty).item)
    }

    pub(super) fn notes_of(&self, id: ItemId) -> &[Annotation] {
        let from = self.notes.partition_point(|note| note.item < id);
        let to = self.notes.partition_point(|note| note.item <= id);
        self.notes.get(from..to).unwrap_or(&[])
    }

    /// The lines of documentation (`##`) of an item, without the mark.
    pub fn docs(&self, id: ItemId) -> impl Iterator<Item = &str> {
        self.notes_of(id).iter().filter_map(|note| match note.said {
            AnnotationKind::Doc(span) => Some(span.slice(&self.text).trim_end_matches(BLANKS)),
            AnnotationKind::Attribute(..) | AnnotationKind::Storage(..) | AnnotationKind::Raw(_) | AnnotationKind::Comment(_) => {
                None
            }
        })
    }

    /// The attributes (`#:`) of an item; of several with one name, the last.
    pub fn attributes(&self, id: ItemId) -> impl Iterator<Item = (&str, &Attribute)> {
        self.notes_of(id).iter().filter_map(|note| match &note.said {
            AnnotationKind::Attribute(name, value) => Some((self.names.resolve(*name), value)),
            AnnotationKind::Storage(name, note) => Some((self.names.resolve(*name), note.attribute())),
            AnnotationKind::Doc(_) | AnnotationKind::Raw(_) | AnnotationKind::Comment(_) => None,
        })
    }

    /// Returns the attributes of an item that are not properties ([`Layout::storage_fields`]).
    #[doc(hidden)]
    pub fn plain_attributes(&self, id: ItemId) -> impl Iterator<Item = (&str, &Attribute)> {
        self.notes_of(id).iter().filter_map(|note| match &note.said {
            AnnotationKind::Attribute(name, value) => Some((self.names.resolve(*name), value)),
            _ => None,
        })
    }

    /// Returns the properties of an item: how it is stored, and what its axes and elements mean.
    #[doc(hidden)]
    pub fn storage_fields(&self, id: ItemId) -> impl Iterator<Item = &StorageField> {
        self.notes_of(id).iter().filter_map(|note| match &note.said {
            AnnotationKind::Storage(_, note) => Some(&note.field),
            _ => None,
        })
    }

    /// The ends of attribute comments of an item that are not understood, as they are written.
    #[doc(hidden)]
    pub fn raw_attributes(&self, id: ItemId) -> impl Iterator<Item = &str> {
        self.notes_of(id).iter().filter_map(|note| match note.said {
            AnnotationKind::Raw(span) => Some(span.slice(&self.text).trim_end()),
            _ => None,
        })
    }
}

/// The kind of an item of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ItemKind {
    /// A dict: named items.
    Dict,
    /// A list: items without names.
    List,
    /// A datatype.
    Type,
    /// A parameter.
    Param,
    /// A data array, or a member of a struct.
    Data,
    /// The summary block of 2025.
    Summary,
}

impl TypeDef {
    /// A type without members, whose size is not known.
    pub(crate) fn new(kind: TypeKind, align: u64, depth: u32, item: ItemId) -> Self {
        Self {
            kind,
            align,
            declared_align: 0,
            members: DimRun::default(),
            free: DimRun::default(),
            size: None,
            dynamic: false,
            typedef: false,
            text: false,
            inlining_rank: 0,
            depth,
            item,
            origin: TypeId::NONE,
        }
    }

    fn from_primitive(primitive: Primitive, order: Option<Byteorder>, dialect: Dialect) -> Self {
        let of = Self::new(TypeKind::Primitive(primitive, order), primitive.alignment(dialect), 0, ItemId::NONE);
        Self { size: Some(primitive.size()), text: primitive.is_text(), ..of }
    }
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layout").field("dialect", &self.dialect).field("items", &self.items.len()).finish_non_exhaustive()
    }
}
