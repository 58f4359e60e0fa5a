//! The text of a layout that a program made, in the dialect of 2025: names quoted if they need it, a byte order at every type, an
//! address at every item, one attribute a line.

use super::chunk_index::{IndexedArray, StoredChunk};
use super::lexer::{push_name, quoted_name};
use super::model::{
    AnnotationKind, Attribute, Dim, DimRun, ItemData, ItemId, Layout, LayoutStep, MemberKind, Placement, TypeId, TypeUse,
};
use super::primitive::Primitive;
use super::storage_field::{DeclaredType, ElementType, StorageField, UnreadableReason};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;

/// Depth of dicts up to which their items are indented.
const MAX_INDENT: usize = 16;

impl Layout {
    /// The text of the layout. An index of chunks is not read, and has no form in the text.
    pub(crate) fn derived_text(&self) -> String {
        let mut printer = DerivedPrinter { layout: self, out: String::new(), depth: 0, limits: None };
        // Nothing is read without limits, so that nothing fails.
        printer.print().map_or_else(|_| String::new(), |()| printer.out)
    }

    /// The text of the layout with a list of all chunks of each array, which are read from their index.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for more chunks than [`Limits::items`], or a text longer than
    /// [`Limits::text`], and the errors of [`ChunkIndex::for_each`].
    pub(crate) fn listed_text(&self, limits: &Limits) -> Result<String> {
        let mut printer = DerivedPrinter { layout: self, out: String::new(), depth: 0, limits: Some(limits) };
        printer.print()?;
        Ok(printer.out)
    }
}

#[cfg(any(test, debug_assertions))]
impl Layout {
    /// Returns the properties of all items, each with the path of its item. They are compared as they print: NaN is equal to NaN.
    pub(super) fn all_fields(&self) -> Vec<(String, String)> {
        let form = |field: &StorageField| match field {
            StorageField::ElementType(typed) => format!("ElementType({typed})"),
            other => format!("{other:?}"),
        };
        let items = (0..self.item_count()).filter_map(|at| self.item_at(at));
        items.flat_map(|item| self.storage_fields(item).map(move |field| (self.static_path(item), form(field)))).collect()
    }
}

#[cfg(debug_assertions)]
impl Layout {
    /// Asserts that the text of the layout says what the layout does. Only builds with debug assertions do so, for layouts of a
    /// usual size.
    pub(crate) fn assert_same_as_text(&self, limits: &Limits) {
        /// Items up to which the comparison costs little.
        const MAX_COMPARED_ITEMS: usize = 5000;
        if self.item_count() > MAX_COMPARED_ITEMS {
            return;
        }
        let mut options = super::ParseOptions::with_dialect(super::Dialect::D2025);
        options.limits = limits.clone();
        let parsed = super::parse(self.derived_text().as_bytes(), &options).and_then(super::ParseResult::into_layout);
        if let Ok(parsed) = &parsed {
            assert_eq!(parsed.print(), self.print(), "a layout and its text differ");
            assert_eq!(parsed.all_fields(), self.all_fields(), "a layout and its text have other properties");
        }
        let is_limited = parsed.as_ref().is_err_and(|error| error.kind() == ErrorKind::Limit);
        assert!(parsed.is_ok() || is_limited, "a derived layout is not parsed: {parsed:?}\n{}", self.derived_text());
    }
}

struct DerivedPrinter<'l> {
    layout: &'l Layout,
    out: String,
    /// The number of dicts that are open.
    depth: usize,
    /// The limits, if chunks are listed.
    limits: Option<&'l Limits>,
}

impl DerivedPrinter<'_> {
    fn print(&mut self) -> Result<()> {
        self.push_notes(ItemId::ROOT);
        let mut at = 0;
        while let Some(step) = self.layout.steps.get(at) {
            at += 1;
            match step {
                LayoutStep::Enter(dict) => self.enter(*dict),
                LayoutStep::Data(item) => self.push_item(*item)?,
                LayoutStep::Param(item) => self.push_param(*item),
                LayoutStep::Type(item) => self.push_named_type(*item),
                LayoutStep::List(list) => {
                    self.push_list(list.list, at, list.end as usize);
                    at = list.end as usize;
                }
                LayoutStep::Element { .. } | LayoutStep::Extend(_) | LayoutStep::Summary { .. } => {}
            }
            self.check_text_limit()?;
        }
        Ok(())
    }

    fn check_text_limit(&self) -> Result<()> {
        let Some(limits) = self.limits else { return Ok(()) };
        limits.charge_text(&mut 0, self.out.len(), "the lines of the layout")
    }

    fn begin_line(&mut self) {
        (0..self.depth.min(MAX_INDENT)).for_each(|_| self.out.push_str("  "));
    }

    fn begin_item(&mut self, item: ItemId) {
        self.begin_line();
        push_name(&mut self.out, self.layout.name(item).unwrap_or(""));
    }

    /// A dict that is opened, or the one that is gone back to.
    fn enter(&mut self, dict: ItemId) {
        let depth = std::iter::successors(self.layout.parent(dict), |dict| self.layout.parent(*dict)).count();
        if depth > self.depth {
            self.begin_item(dict);
            self.out.push_str("/\n");
            self.depth = depth;
            self.push_notes(dict);
        } else {
            self.depth = depth;
            self.begin_line();
            self.out.push_str("..\n");
        }
    }

    fn push_param(&mut self, item: ItemId) {
        self.begin_item(item);
        let value = self.layout.param_of(item).and_then(|param| param.fixed_value).unwrap_or(0);
        self.out.push_str(" : ");
        self.out.push_str(itoa::Buffer::new().format(value));
        self.out.push('\n');
        self.push_notes(item);
    }

    fn push_named_type(&mut self, item: ItemId) {
        self.begin_item(item);
        self.out.push(' ');
        if let ItemData::Type(ty) = self.layout.item(item).kind {
            let of = self.layout.ty(ty);
            self.push_members(of.members);
            self.out.push_str(" %");
            self.out.push_str(itoa::Buffer::new().format(of.declared_align));
        }
        self.out.push('\n');
        self.push_notes(item);
    }

    fn push_item(&mut self, item: ItemId) -> Result<()> {
        if let (Some(array), Some(limits)) = (self.layout.indexed_array(item), self.limits) {
            let before = self.out.len();
            return match self.push_chunks(item, array, limits) {
                Err(why) if !why.kind().is_transient() && why.kind() != ErrorKind::Limit => {
                    // One damaged index leaves the other items.
                    self.out.truncate(before);
                    self.begin_item(item);
                    self.out.push_str(" = {}\n");
                    self.push_field(&StorageField::Unreadable(UnreadableReason::from_error(&why)));
                    Ok(())
                }
                done => done.map_err(|error| error.context(self.layout.static_path(item))),
            };
        }
        self.begin_item(item);
        self.out.push_str(" = ");
        self.push_data(item);
        self.out.push('\n');
        self.push_notes(item);
        Ok(())
    }

    fn push_data(&mut self, item: ItemId) {
        if let Some(data) = self.layout.data_of(item) {
            self.push_use(data.what);
            self.push_placement(data.placement);
        }
    }

    fn push_list(&mut self, list: ItemId, from: usize, end: usize) {
        self.begin_item(list);
        self.out.push_str(" [\n");
        self.push_elements(from, end);
        self.begin_line();
        self.out.push_str("]\n");
        self.push_notes(list);
    }

    /// The elements of a list, one a line; as deep as lists nest.
    fn push_elements(&mut self, from: usize, end: usize) {
        let mut at = from;
        while let Some(step) = self.layout.steps.get(at).filter(|_| at < end) {
            at += 1;
            self.begin_line();
            self.out.push_str("  ");
            match step {
                LayoutStep::List(inner) => {
                    let inner_end = inner.end as usize;
                    if self.is_short_list(at, inner_end) {
                        self.push_short_list(at, inner_end);
                        self.out.push_str(",\n");
                    } else {
                        self.out.push_str("[\n");
                        self.push_elements(at, inner_end);
                        self.begin_line();
                        self.out.push_str("  ],\n");
                    }
                    self.push_notes(inner.list);
                    at = inner_end;
                }
                LayoutStep::Data(item) => {
                    self.push_data(*item);
                    self.out.push_str(",\n");
                    self.push_notes(*item);
                }
                _ => self.out.push_str(",\n"),
            }
        }
    }

    /// Returns `true` for a list in a list whose elements are arrays without attributes.
    fn is_short_list(&self, from: usize, end: usize) -> bool {
        let is_plain = |step: &LayoutStep| matches!(step, LayoutStep::Data(item) if self.layout.notes_of(*item).is_empty());
        self.layout.steps.get(from..end).is_some_and(|steps| steps.iter().all(is_plain))
    }

    fn push_short_list(&mut self, from: usize, end: usize) {
        self.out.push('[');
        for at in from..end {
            if at > from {
                self.out.push_str(", ");
            }
            if let Some(LayoutStep::Data(item)) = self.layout.steps.get(at) {
                self.push_data(*item);
            }
        }
        self.out.push(']');
    }

    fn push_use(&mut self, what: TypeUse) {
        self.push_type(what.ty);
        self.push_dims(what.dims);
    }

    /// The type; as deep as types nest.
    fn push_type(&mut self, ty: TypeId) {
        let of = self.layout.ty(ty);
        if ty.is_primitive() {
            let primitive = Primitive::from_index(ty.0 / 4);
            match ty.0 % 4 {
                1 => self.out.push('<'),
                2 => self.out.push('>'),
                _ => {}
            }
            self.out.push_str(primitive.name());
        } else if let Some(name) = self.layout.name(of.item).filter(|_| self.layout.item(of.item).parent != ItemId::NONE) {
            self.out.push_str(&quoted_name(name));
        } else {
            self.push_members(of.members);
        }
    }

    fn push_members(&mut self, members: DimRun) {
        self.out.push('{');
        for (number, member) in members.slice(&self.layout.members).iter().enumerate() {
            if number > 0 {
                self.out.push_str("  ");
            }
            push_name(&mut self.out, self.layout.name(member.item).unwrap_or(""));
            self.out.push_str(" = ");
            if let MemberKind::Data(what) = member.what {
                self.push_use(what);
            }
            self.push_placement(member.placement);
        }
        self.out.push('}');
    }

    fn push_dims(&mut self, dims: DimRun) {
        for (number, dim) in dims.slice(&self.layout.dims).iter().enumerate() {
            self.out.push(if number == 0 { '[' } else { ',' });
            if let Dim::Fixed(length) = dim {
                self.out.push_str(itoa::Buffer::new().format(*length));
            }
        }
        if dims.len > 0 {
            self.out.push(']');
        }
    }

    fn push_placement(&mut self, placement: Placement) {
        if let Placement::At(at) = placement {
            self.push_place(at);
        }
    }

    fn push_place(&mut self, at: u64) {
        self.out.push_str(" @");
        self.out.push_str(itoa::Buffer::new().format(at));
    }

    /// The documentation, the attributes and the comments of an item, in the order in which they were written.
    fn push_notes(&mut self, item: ItemId) {
        for note in self.layout.notes_of(item) {
            match &note.said {
                AnnotationKind::Doc(span) => self.push_line("  ##", span.slice(&self.layout.text)),
                AnnotationKind::Comment(span) => self.push_line("#", span.slice(&self.layout.text)),
                AnnotationKind::Raw(span) => self.push_line("  #:", span.slice(&self.layout.text)),
                AnnotationKind::Attribute(name, value) => self.push_attribute(self.layout.names.resolve(*name), value),
                AnnotationKind::Storage(_, note) => self.push_field(&note.field),
            }
        }
    }

    fn push_line(&mut self, mark: &str, rest: &str) {
        // Comments are at the start of a line, and notes below their item.
        if mark.starts_with(' ') {
            self.begin_line();
        }
        self.out.push_str(mark);
        self.out.push_str(rest);
        self.out.push('\n');
    }

    fn push_field(&mut self, field: &StorageField) {
        self.push_attribute(field.word(), &field.to_attribute());
    }

    fn push_attribute(&mut self, name: &str, value: &Attribute) {
        self.begin_line();
        self.out.push_str("  #: ");
        push_name(&mut self.out, name);
        if *value != Attribute::Flag {
            self.out.push('=');
            self.out.push_str(&value.to_string());
        }
        self.out.push('\n');
    }

    /// An array with an item for each of its chunks.
    fn push_chunks(&mut self, item: ItemId, array: &IndexedArray, limits: &Limits) -> Result<()> {
        let count = array.index.count();
        if count > limits.items {
            let name = self.layout.static_path(item);
            return Err(Limits::exceeded_error("items", limits.items, format_args!("{name} has {count} chunks")));
        }
        let mut chunks: Vec<Option<StoredChunk>> = vec![None; usize::try_from(count).unwrap_or(0)];
        array.index.for_each(&mut |number, chunk| {
            if let Some(place) = usize::try_from(number).ok().and_then(|number| chunks.get_mut(number)) {
                *place = Some(chunk);
            }
            Ok(())
        })?;
        self.begin_item(item);
        // An array of which nothing was written has one chunk, which is missing.
        let is_written = !array.is_direct || chunks.iter().any(Option::is_some);
        let typed = if array.is_direct { self.chunk_type(item) } else { None };
        match chunks.as_slice() {
            _ if !is_written => self.out.push_str(" = u1[0]\n"),
            [only] => {
                self.out.push_str(" = ");
                self.push_chunk(typed.as_deref(), only.as_ref());
                self.out.push('\n');
            }
            all => {
                self.out.push_str(" [\n");
                for chunk in all {
                    self.begin_line();
                    self.out.push_str("  ");
                    self.push_chunk(typed.as_deref(), chunk.as_ref());
                    self.out.push_str(",\n");
                    self.check_text_limit()?;
                }
                self.begin_line();
                self.out.push_str("]\n");
            }
        }
        self.push_chunk_notes(item, array, &chunks, is_written);
        Ok(())
    }

    fn push_chunk(&mut self, typed: Option<&str>, chunk: Option<&StoredChunk>) {
        match (chunk, typed) {
            (None, _) => self.out.push_str("u1[0]"),
            (Some(chunk), Some(typed)) => {
                self.out.push_str(typed);
                self.push_place(chunk.offset);
            }
            (Some(chunk), None) => {
                self.out.push_str("u1[");
                self.out.push_str(itoa::Buffer::new().format(chunk.len));
                self.out.push(']');
                self.push_place(chunk.offset);
            }
        }
    }

    /// The type of a whole chunk, if chunks are stored as they are read.
    fn chunk_type(&self, item: ItemId) -> Option<String> {
        let (mut typed, mut lengths) = (None, &[][..]);
        for field in self.layout.storage_fields(item) {
            match field {
                StorageField::ElementType(ElementType::Declared(DeclaredType(spec))) => typed = Some(spec),
                StorageField::Chunk(chunk) => lengths = chunk,
                StorageField::Filters(_) => return None,
                _ => {}
            }
        }
        let mut spec = typed?.clone();
        spec.shape = lengths.iter().chain(&spec.shape).copied().collect();
        Some(spec.to_string())
    }

    /// The notes of an array whose chunks are listed: those that its chunks make needless are left out.
    fn push_chunk_notes(&mut self, item: ItemId, array: &IndexedArray, chunks: &[Option<StoredChunk>], is_written: bool) {
        let masks = || chunks.iter().map(|chunk| chunk.map_or(0, |chunk| chunk.skipped_filters));
        let needs_fill = !array.is_direct || array.is_longer || chunks.iter().any(Option::is_none);
        let has_masks = masks().any(|mask| mask != 0);
        let mut shape = &[][..];
        for note in self.layout.notes_of(item) {
            match &note.said {
                AnnotationKind::Doc(span) => self.push_line("  ##", span.slice(&self.layout.text)),
                AnnotationKind::Attribute(name, value) => self.push_attribute(self.layout.names.resolve(*name), value),
                AnnotationKind::Storage(_, note) => match &note.field {
                    StorageField::Chunk(_) if !is_written => self.push_field(&StorageField::Chunk(shape.to_vec())),
                    StorageField::Filters(_) if !is_written => {}
                    StorageField::Fill(_) if !needs_fill => {}
                    field => {
                        if let StorageField::Shape(lengths) = field {
                            shape = lengths;
                        }
                        if has_masks && matches!(field, StorageField::ElementType(_)) {
                            self.push_field(&StorageField::Masks(masks().collect()));
                        }
                        self.push_field(field);
                    }
                },
                AnnotationKind::Raw(_) | AnnotationKind::Comment(_) => {}
            }
        }
    }
}
