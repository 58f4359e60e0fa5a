//! A layout as text again, with documentation and attributes, in its own dialect or the other.
//!
//! Printing is canonical: one item a line, two blanks for each level, docs after what they document.
//! Printing what was parsed from a print gives the same print. Plain comments are not kept.

use crate::diagnostic::{Diagnostic, Severity};
use crate::span::Span;
use std::collections::{HashMap, HashSet, VecDeque};

use super::interner::Symbol;
use super::lexer::push_name;
use super::model::{
    Attribute, DataItem, Dialect, Dim, ElementSlot, Extension, ItemData, ItemId, Layout, LayoutFilter, LayoutLiteral, LayoutStep,
    MemberKind, ParamId, Placement, Primitive, RepeatCount, StructMember, TypeId, TypeKind, TypeUse,
};
use super::translate::{Compression, StorageOptions};

impl Layout {
    /// Returns the layout as text of its dialect.
    ///
    /// ```
    /// use trilith_layout::layout::Layout;
    /// let layout = Layout::read(b"N:3 x=f8[N] # plain comments go\n ## (m) radius\n").unwrap();
    /// assert_eq!(layout.print(), "N : 3\nx = f8[N]  ## (m) radius\n");
    /// ```
    pub fn print(&self) -> String {
        let mut printer = LayoutPrinter::new(self, self.dialect);
        printer.layout_text();
        printer.output
    }
}

/// Maximum number of copies of the elements of a list that are written out if the dialect cannot repeat them, and
/// of the text they may make.
const MAX_COPIES: u64 = 10_000;
const MAX_COPIED_BYTES: usize = 16 << 20;

/// Writes a layout.
pub(super) struct LayoutPrinter<'l> {
    pub layout: &'l Layout,
    pub to: Dialect,
    pub output: String,
    pub losses: Vec<Diagnostic>,
    indent: usize,
    /// Items whose notes have been written.
    annotation_index: HashSet<ItemId>,
    /// The dict that is open, and the top of its tree.
    current: ItemId,
    top_dict: ItemId,
    /// Parameters declared so far, by dict and name, as they are called in the new text.
    pub visible: HashMap<(ItemId, Symbol), ParamId>,
    /// Names that had to change.
    pub renamed: HashMap<ItemId, String>,
    /// Names taken by renamed items.
    pub used_names: HashSet<String>,
    /// Structs that are open, for parameters that belong to them.
    pub structs: Vec<ItemId>,
    /// The open constructs: a list, or a dict that is an element of one.
    pub open: Vec<bool>,
    /// Types of the layout are written at its beginning.
    pub hoisted_types: bool,
    /// Names of the types written so far (to 2025).
    pub type_names: HashSet<Symbol>,
    /// Items are written without their addresses: copies of list elements, or all of them.
    pub drops_placement: usize,
    /// Byte orders are left to the stream.
    pub drops_byteorder: bool,
    /// Compressed arrays are written plain if the dialect has no other.
    pub decompress: bool,
    /// The form of storage of arrays.
    pub stored: StorageOptions,
    /// Comments that no item has and that are still to be written, in order.
    pub comments: VecDeque<Span>,
}

impl<'l> LayoutPrinter<'l> {
    /// A printer of `layout` in the dialect `to`.
    pub(super) fn new(layout: &'l Layout, to: Dialect) -> Self {
        Self {
            layout,
            to,
            output: String::new(),
            losses: Vec::new(),
            indent: 0,
            annotation_index: HashSet::new(),
            current: ItemId::ROOT,
            top_dict: ItemId::ROOT,
            visible: HashMap::new(),
            renamed: HashMap::new(),
            used_names: HashSet::new(),
            structs: Vec::new(),
            open: Vec::new(),
            hoisted_types: false,
            type_names: HashSet::new(),
            drops_placement: 0,
            drops_byteorder: false,
            decompress: false,
            stored: StorageOptions::default(),
            comments: VecDeque::new(),
        }
    }

    /// Writes the comments before a byte of the old text on separate lines, if a line begins here.
    fn push_comments_before(&mut self, offset: u32) {
        if !self.output.is_empty() && !self.output.ends_with('\n') {
            return;
        }
        while let Some(comment) = self.comments.front().copied().filter(|comment| comment.start < offset) {
            self.comments.pop_front();
            self.begin_line();
            self.output.push_str(comment.slice(&self.layout.text));
            self.output.push('\n');
        }
    }

    /// The dict that is open.
    pub(super) fn current_dict(&self) -> ItemId {
        self.current
    }

    /// Datatype, shape and placement of data that has a new name.
    pub(super) fn data_body(&mut self, data: &DataItem, item: ItemId) {
        self.data_text(data, item);
    }

    /// Returns `true` if the text is of the other dialect than the layout.
    pub(super) fn changes_dialect(&self) -> bool {
        self.to != self.layout.dialect
    }

    /// The whole text.
    pub(super) fn layout_text(&mut self) {
        if let (Some(order), Dialect::D2025, false) = (self.layout.order, self.to, self.drops_byteorder) {
            self.output.push(order.sign());
            self.output.push('\n');
        }
        self.push_annotations(ItemId::ROOT);
        if self.changes_dialect() && self.to == Dialect::D2026 {
            self.hoist_types();
        }
        let to = self.layout.steps.len() as u32;
        self.print_steps(0, to);
        self.push_comments_before(u32::MAX);
    }

    /// Begins a line.
    fn begin_line(&mut self) {
        for _ in 0..self.indent {
            self.output.push_str("  ");
        }
    }

    /// Writes the notes of an item on separate lines.
    fn push_annotations(&mut self, item: ItemId) {
        self.push_notes(item, LineState::Empty);
    }

    /// Writes the notes of an item, the first line of documentation after what is on the line already, and ends the line.
    fn push_trailing_annotations(&mut self, item: ItemId) {
        self.push_notes(item, LineState::HasText);
    }

    fn push_notes(&mut self, item: ItemId, line: LineState) {
        let mut on_line = line == LineState::HasText;
        let is_root = item == ItemId::ROOT && self.changes_dialect();
        if (is_root || self.has_notes(item)) && self.annotation_index.insert(item) {
            // The notes of a block that 2026 does not have are those of the root.
            let block = self.layout.opt_summary().filter(|_| is_root && self.to == Dialect::D2026);
            let more = block.into_iter().flat_map(|block| self.layout.docs(block));
            for doc in self.layout.docs(item).chain(more) {
                if on_line {
                    self.output.push_str("  ");
                } else {
                    self.begin_line();
                }
                self.output.push_str("##");
                self.output.push_str(doc);
                self.output.push('\n');
                on_line = false;
            }
            let attributes = self.attribute_text(item);
            if !attributes.is_empty() {
                if on_line {
                    self.output.push('\n');
                    on_line = false;
                }
                self.begin_line();
                self.output.push_str("#: ");
                self.output.push_str(&attributes);
                self.output.push('\n');
            }
            if self.changes_dialect() && self.to == Dialect::D2026 && self.layout.raw_attributes(item).next().is_some() {
                self.report_harmless_loss(item, "2026 does not read these attributes, which stay as they are written");
            }
            let more = block.into_iter().flat_map(|block| self.layout.raw_attributes(block));
            for raw in self.layout.raw_attributes(item).chain(more) {
                if on_line {
                    self.output.push('\n');
                    on_line = false;
                }
                self.begin_line();
                self.output.push_str("#: ");
                self.output.push_str(raw);
                self.output.push('\n');
            }
        }
        if on_line {
            self.output.push('\n');
        }
    }

    fn attribute_text(&mut self, item: ItemId) -> String {
        let mut text = String::new();
        let is_root = item == ItemId::ROOT && self.changes_dialect();
        if is_root {
            text.push_str(&format!("dialect={}", self.to));
        }
        let block = self.layout.opt_summary().filter(|_| is_root && self.to == Dialect::D2026);
        let own: Vec<(&str, &Attribute)> =
            self.layout.attributes(item).filter(|(name, _)| !is_root || *name != "dialect").collect();
        let mut more = Vec::new();
        for (name, value) in block.into_iter().flat_map(|block| self.layout.attributes(block)) {
            if name == "dialect" || own.iter().any(|(known, _)| *known == name) {
                let message = format!("2026 has no summary block: the attribute {name} of the layout replaces it");
                self.losses.push(Diagnostic::loss("/", message));
            } else {
                more.push((name, value));
            }
        }
        for (name, value) in own.into_iter().chain(more) {
            if !text.is_empty() {
                text.push_str(", ");
            }
            push_name(&mut text, name);
            let value = value.to_string();
            if !value.is_empty() {
                text.push('=');
                text.push_str(&value);
            }
        }
        text
    }

    /// The name of an item, as the new text calls it.
    pub(super) fn item_name(&self, item: ItemId) -> String {
        let mut name = String::new();
        match self.renamed.get(&item) {
            Some(new) => push_name(&mut name, new),
            None => push_name(&mut name, self.layout.name(item).unwrap_or("")),
        }
        name
    }

    /// Reports a difference that changes what a file may hold.
    pub(super) fn report_loss(&mut self, item: ItemId, message: impl Into<String>) {
        let path = self.layout.static_path(item);
        self.losses.push(Diagnostic::loss(&path, message));
    }

    /// Reports a difference that leaves every file described the same.
    pub(super) fn report_harmless_loss(&mut self, item: ItemId, message: impl Into<String>) {
        let path = self.layout.static_path(item);
        self.losses.push(Diagnostic::new(Severity::Note, message).at_path(path));
    }

    // Steps.

    fn print_steps(&mut self, from: u32, to: u32) {
        // Each open list, dict of a list and summary has one frame.
        let mut open: Vec<(u32, OpenConstruct)> = vec![(to, OpenConstruct::Nothing)];
        let mut at = from;
        while let Some((end, closer)) = open.last_mut() {
            if at < *end {
                let Some(step) = self.layout.steps.get(at as usize) else { return };
                at += 1;
                if let Some((from, end, closer)) = self.print_step(step, at) {
                    open.push((end, closer));
                    at = from;
                }
                continue;
            }
            // The body of a list that is written out in copies comes again.
            if let OpenConstruct::List { again, from, .. } = closer
                && *again > 0
                && self.output.len() < MAX_COPIED_BYTES
            {
                *again -= 1;
                at = *from;
                continue;
            }
            if let Some((_, closer)) = open.pop() {
                if let OpenConstruct::List { resume_step: Some(resume), .. } = closer {
                    at = resume;
                }
                self.print_closer(&closer);
            }
        }
    }

    /// Writes a step, before step `next`; of one that holds others, where they begin and end, and how.
    fn print_step(&mut self, step: &LayoutStep, next: u32) -> Option<(u32, u32, OpenConstruct)> {
        if !self.comments.is_empty() {
            let item = match step {
                LayoutStep::Enter(item) | LayoutStep::Data(item) | LayoutStep::Param(item) | LayoutStep::Type(item) => {
                    Some(*item)
                }
                LayoutStep::Element { dict, .. } => Some(*dict),
                LayoutStep::Summary { .. } | LayoutStep::List(_) | LayoutStep::Extend(_) => None,
            };
            // The item of a list or of an opened dict may be declared long before.
            if let Some(item) = item {
                self.push_comments_before(self.layout.span(item).start);
            }
        }
        match *step {
            LayoutStep::Enter(dict) => self.open_dict(dict),
            LayoutStep::Data(item) => self.print_data(item),
            LayoutStep::Param(item) => self.print_param(item),
            LayoutStep::Type(item) if !self.hoisted_types => self.named_type(item),
            LayoutStep::Type(_) => {}
            LayoutStep::Summary { end } => return Some((next, end, self.open_summary())),
            LayoutStep::List(ref of) => return Some((next, of.end, self.open_list(of.list, of.count, of.slot, next))),
            LayoutStep::Element { dict, end, slot } => return Some((next, end, self.open_element(dict, slot))),
            LayoutStep::Extend(ref of) => {
                let Extension { list, from, to, count, .. } = **of;
                if self.to == Dialect::D2026 {
                    let again = self.count_copies(list, count)?.checked_sub(1)?;
                    let closer = self.open_list(list, RepeatCount::Once, ElementSlot::Existing, from);
                    self.drops_placement += 1;
                    let OpenConstruct::List { is_element, .. } = closer else { return None };
                    return Some((
                        from,
                        to,
                        OpenConstruct::List { count: RepeatCount::Once, is_element, again, from, resume_step: Some(next) },
                    ));
                }
                self.begin_line();
                let (name, count) = (self.item_name(list), self.count_text(count));
                self.output.push_str(&format!("{name} [{count}]\n"));
            }
        }
        None
    }

    /// Returns the number of copies to be written out in 2026, which repeats no list, or `None` if that is not
    /// possible.
    fn count_copies(&mut self, list: ItemId, count: RepeatCount) -> Option<u64> {
        let fixed = match count {
            RepeatCount::Once => return Some(1),
            RepeatCount::Fixed(count) => Some(count),
            RepeatCount::Param(param) => self.layout.param(param).fixed_value,
        };
        match fixed.and_then(|count| u64::try_from(count).ok()).filter(|&count| count <= MAX_COPIES) {
            Some(count) => Some(count),
            None => {
                let count = self.count_text(count);
                self.report_loss(list, format!("2026 repeats no list, and {count} copies cannot be written out"));
                None
            }
        }
    }

    fn open_dict(&mut self, dict: ItemId) {
        let from = self.current;
        self.current = dict;
        let parent = self.layout.item(dict).parent;
        if parent == from && dict != from {
            self.begin_line();
            let name = self.item_name(dict);
            self.output.push_str(&name);
            self.output.push('/');
            self.push_trailing_annotations(dict);
            self.indent += 1;
        } else if from != self.top_dict && self.layout.item(from).parent == dict {
            self.indent = self.indent.saturating_sub(1);
            self.begin_line();
            self.output.push_str("..\n");
        } else if dict != from {
            let mut at = from;
            while at != dict && at != ItemId::NONE && at != ItemId::ROOT {
                self.indent = self.indent.saturating_sub(1);
                at = self.layout.item(at).parent;
            }
            self.begin_line();
            self.output.push_str("/\n");
        }
    }

    fn open_summary(&mut self) -> OpenConstruct {
        if self.to == Dialect::D2026 {
            let item = self.layout.opt_summary().unwrap_or(ItemId::ROOT);
            self.report_harmless_loss(
                item,
                "2026 has no summary block: its members are items of the root, its record struct is gone",
            );
            return OpenConstruct::Nothing;
        }
        self.begin_line();
        self.output.push_str("{\n");
        self.indent += 1;
        OpenConstruct::Summary
    }

    fn open_list(&mut self, list: ItemId, count: RepeatCount, slot: ElementSlot, from: u32) -> OpenConstruct {
        let is_element = self.layout.item(self.layout.item(list).parent).kind == ItemData::List;
        self.begin_line();
        if !is_element {
            let name = self.item_name(list);
            self.output.push_str(&name);
            self.output.push(' ');
        } else if slot == ElementSlot::Existing {
            self.copy_element(list);
        }
        self.output.push('[');
        self.push_trailing_annotations(list);
        self.indent += 1;
        self.open.push(true);
        if self.to == Dialect::D2025 {
            return OpenConstruct::List { count, is_element, again: 0, from, resume_step: None };
        }
        let copies = self.count_copies(list, count);
        if copies == Some(0) {
            self.report_loss(list, "2026 repeats no list: elements repeated 0 times appear once");
        }
        let again = copies.unwrap_or(1).saturating_sub(1);
        OpenConstruct::List { count: RepeatCount::Once, is_element, again, from, resume_step: None }
    }

    /// The index of an element that goes on, which only 2026 can say.
    fn copy_element(&mut self, element: ItemId) {
        if self.to == Dialect::D2025 {
            return self.report_loss(element, "2025 cannot go on with an earlier element: a new one takes its place");
        }
        let index = self.layout.item(element).position;
        self.output.push_str(&index.to_string());
    }

    fn open_element(&mut self, dict: ItemId, slot: ElementSlot) -> OpenConstruct {
        self.begin_line();
        if slot == ElementSlot::Existing {
            self.copy_element(dict);
        }
        self.output.push('/');
        self.push_trailing_annotations(dict);
        self.indent += 1;
        self.open.push(false);
        let closer = OpenConstruct::Element { current: self.current, top: self.top_dict, indent: self.indent - 1 };
        (self.current, self.top_dict) = (dict, dict);
        closer
    }

    fn print_closer(&mut self, closer: &OpenConstruct) {
        match *closer {
            OpenConstruct::Nothing => {}
            OpenConstruct::Summary => {
                self.indent = self.indent.saturating_sub(1);
                self.begin_line();
                self.output.push('}');
                self.push_trailing_annotations(self.layout.opt_summary().unwrap_or(ItemId::NONE));
            }
            OpenConstruct::List { count, is_element, resume_step: resume, .. } => {
                self.indent = self.indent.saturating_sub(1);
                self.open.pop();
                self.drops_placement = self.drops_placement.saturating_sub(usize::from(resume.is_some()));
                self.begin_line();
                self.output.push(']');
                if count != RepeatCount::Once {
                    let count = self.count_text(count);
                    self.output.push('*');
                    self.output.push_str(&count);
                }
                self.output.push_str(if is_element { ",\n" } else { "\n" });
            }
            OpenConstruct::Element { current, top, indent } => {
                (self.current, self.top_dict, self.indent) = (current, top, indent);
                self.open.pop();
                self.begin_line();
                self.output.push_str(",\n");
            }
        }
    }

    fn count_text(&mut self, count: RepeatCount) -> String {
        match count {
            RepeatCount::Once => "1".into(),
            RepeatCount::Fixed(value) => value.to_string(),
            RepeatCount::Param(param) => self.dim_text(Dim::Param { param, suffix: 0 }, ItemId::ROOT),
        }
    }

    // Items.

    fn print_data(&mut self, item: ItemId) {
        let layout = self.layout;
        let Some(data) = layout.data_of(item) else { return };
        let is_element = layout.item(layout.item(item).parent).kind == ItemData::List;
        let start = self.output.len();
        self.begin_line();
        if self.to == Dialect::D2026 && layout.ty(data.what.ty).dynamic {
            self.report_loss(
                item,
                "2026 has no structs with stored parameters: left out, and what follows is at another address",
            );
            self.output.truncate(start);
            return;
        }
        if data.reference > 0 {
            if !self.try_print_reference(item, data) {
                self.output.truncate(start);
                return;
            }
            // In a list a reference is followed by a comma, like an element.
            if self.open.last() == Some(&true) {
                self.output.push(',');
            }
            return self.push_trailing_annotations(item);
        }
        if let (Some(filter), Dialect::D2025, false) =
            (layout.find_filter(data.filter).filter(|filter| filter.compresses), self.to, self.decompress)
        {
            self.compressed_to_2025(item, data, filter, is_element);
            return self.push_trailing_annotations(item);
        }
        if !is_element {
            let name = self.item_name(item);
            self.output.push_str(&name);
            self.output.push_str(if self.to == Dialect::D2025 { " = " } else { ": " });
        }
        if let (Some(&index), Dialect::D2026) = (layout.copies.get(&item), self.to) {
            if let Some(index) = index {
                self.output.push_str(&index.to_string());
            }
            match self.kept_placement(data.placement) {
                Placement::Next => self.output.push_str("%0"),
                placement => {
                    let text = self.placement_text(placement, item).unwrap_or_default();
                    self.output.push_str(&text);
                }
            }
        } else {
            self.data_text(data, item);
        }
        if is_element {
            self.output.push(',');
        }
        self.push_trailing_annotations(item);
    }

    /// Datatype, shape, filter and placement.
    fn data_text(&mut self, data: &DataItem, item: ItemId) {
        self.use_text(data.what, item);
        if let Some(filter) = self.choose_filter(data) {
            self.filter_text(&filter, item);
        }
        let mut placement = self.placed_as(self.kept_placement(data.placement), data.what.ty);
        if let Some(align) = self.stored.align {
            placement = Placement::Align(align);
        }
        self.print_placement(placement, item);
    }

    /// The placement of an item, or none if addresses are dropped.
    fn kept_placement(&self, placement: Placement) -> Placement {
        if self.drops_placement > 0 && matches!(placement, Placement::At(_)) { Placement::Next } else { placement }
    }

    /// The filter that an array is to have.
    fn choose_filter(&self, data: &DataItem) -> Option<LayoutFilter> {
        let own = self.layout.find_filter(data.filter).cloned();
        let is_array = data.what.dims.len > 0 || self.layout.ty(data.what.ty).inlining_rank > 0;
        match self.stored.packing {
            _ if self.to == Dialect::D2025 || data.reference > 0 || own.as_ref().is_some_and(|own| !own.compresses) => own,
            Compression::Keep => own,
            Compression::Gzip(level) if is_array => {
                let arguments = level.into_iter().map(LayoutLiteral::Integer).collect();
                Some(LayoutFilter { compresses: true, name: "gzip".to_owned(), arguments })
            }
            Compression::Uncompressed | Compression::Gzip(_) => None,
        }
    }

    fn filter_text(&mut self, filter: &LayoutFilter, item: ItemId) {
        if self.to == Dialect::D2025 && filter.compresses {
            return;
        }
        if self.to == Dialect::D2025 {
            return self.report_loss(item, format!("2025 has no filters: `<- {}` is left out, the numbers stay", filter.name));
        }
        self.output.push_str(if filter.compresses { " -> " } else { " <- " });
        push_name(&mut self.output, &filter.name);
        for (at, argument) in filter.arguments.iter().enumerate() {
            self.output.push_str(if at == 0 { "(" } else { ", " });
            self.output.push_str(&argument.to_string());
        }
        if !filter.arguments.is_empty() {
            self.output.push(')');
        }
    }

    /// `& 5 f8(2) @100`; false if it cannot be said.
    fn try_print_reference(&mut self, item: ItemId, data: &DataItem) -> bool {
        let layout = self.layout;
        if self.to == Dialect::D2025 {
            return self.reference_to_2025(item, data);
        }
        self.output.push_str("& ");
        let reference = layout.references.get(data.reference as usize - 1);
        for id in reference.map_or(&[][..], |reference| &reference.ids) {
            self.output.push_str(&format!("{id} "));
        }
        self.data_text(data, item);
        true
    }

    fn print_param(&mut self, item: ItemId) {
        let layout = self.layout;
        let ItemData::Param(id) = layout.item(item).kind else { return };
        self.declare_param(item, id);
        self.begin_line();
        self.param_text(item, id);
        self.push_trailing_annotations(item);
    }

    fn param_text(&mut self, item: ItemId, id: ParamId) {
        let param = self.layout.param(id);
        let name = self.item_name(item);
        self.output.push_str(&name);
        self.output.push_str(if self.to == Dialect::D2025 { " : " } else { " = " });
        match param.fixed_value {
            Some(value) => self.output.push_str(&value.to_string()),
            None => {
                self.param_type_text(item, param.ty, param.primitive);
                // Parameters of a struct have offsets, not addresses.
                let placement = if self.structs.is_empty() { self.kept_placement(param.placement) } else { param.placement };
                let placement = self.placed_as(placement, param.ty);
                self.print_placement(placement, item);
            }
        }
    }

    /// A parameter is visible under its name from here on.
    fn declare_param(&mut self, item: ItemId, id: ParamId) {
        let declared = self.layout.item(item);
        let (parent, name) = (declared.parent, declared.name);
        if self.changes_dialect() && self.to == Dialect::D2025 && self.visible.contains_key(&(parent, name)) {
            self.assign_unique_name(item);
            self.report_harmless_loss(item, "2025 declares a parameter once: renamed");
            self.visible.insert((parent, Symbol(u32::MAX - 1 - id.0)), id);
            return;
        }
        self.visible.insert((parent, name), id);
    }

    /// Gives an item a name that nothing has.
    pub(super) fn assign_unique_name(&mut self, item: ItemId) {
        let name = self.layout.name(item).unwrap_or("").to_owned();
        let mut number = 2u64;
        let mut new = format!("{name}_{number}");
        while self.layout.names.find_symbol(&new).is_some() || !self.used_names.insert(new.clone()) {
            number += 1;
            new = format!("{name}_{number}");
        }
        self.renamed.insert(item, new);
    }

    // Types.

    /// `T { … } %n`
    pub(super) fn named_type(&mut self, item: ItemId) {
        let ItemData::Type(ty) = self.layout.item(item).kind else { return };
        if self.changes_dialect() && !self.type_to(item, ty) {
            return;
        }
        self.begin_line();
        let name = self.item_name(item);
        self.output.push_str(&name);
        self.output.push_str(" {");
        self.push_trailing_annotations(item);
        self.indent += 1;
        self.print_members(ty, MemberLines::OneEach);
        self.indent -= 1;
        self.begin_line();
        self.output.push('}');
        let align = self.layout.ty(ty).declared_align;
        if align != 0 && self.to == Dialect::D2025 {
            self.output.push_str(&format!(" %{align}"));
        }
        self.output.push('\n');
    }

    /// The members of a struct.
    fn print_members(&mut self, ty: TypeId, lines: MemberLines) {
        let layout = self.layout;
        let of = layout.ty(ty);
        let alias = self.to == Dialect::D2026 && matches!(of.kind, TypeKind::Alias(_));
        let own = if self.to == Dialect::D2026 { of.declared_align } else { 0 };
        let mut first = true;
        self.structs.push(of.item);
        for member in of.members.slice(&layout.members) {
            if self.leaves_out(member, ty) {
                continue;
            }
            if lines == MemberLines::OneEach {
                self.begin_line();
            } else if !first {
                self.output.push(' ');
            }
            // In 2026 the alignment of a type is that of its first member.
            let raise = if first { own } else { 0 };
            first = false;
            self.print_member(member, alias, raise);
            if lines == MemberLines::OneEach {
                self.push_trailing_annotations(member.item);
            }
        }
        self.structs.pop();
    }

    fn print_member(&mut self, member: &StructMember, alias: bool, raise: u64) {
        match member.what {
            MemberKind::Data(what) => {
                if alias {
                    self.output.push_str(": ");
                } else {
                    let name = self.item_name(member.item);
                    self.output.push_str(&name);
                    self.output.push_str(if self.to == Dialect::D2025 { " = " } else { ": " });
                }
                self.use_text(what, member.item);
                if let Some(filter) = self.layout.find_filter(member.filter) {
                    self.filter_text(&filter.clone(), member.item);
                }
                let mut placement = self.placed_as(member.placement, what.ty);
                if raise > 0 && !matches!(placement, Placement::At(_)) {
                    placement = Placement::Align(raise);
                }
                self.print_placement(placement, member.item);
            }
            MemberKind::Fixed(param) | MemberKind::Stored(param) => self.param_text(member.item, param),
        }
    }

    /// `f8[N, 2]`, `{…}(3)` and so on.
    fn use_text(&mut self, what: TypeUse, item: ItemId) {
        self.type_text(what.ty, item);
        let dims = what.dims.slice(&self.layout.dims);
        let (open, close) = if self.to == Dialect::D2025 { ('[', ']') } else { ('(', ')') };
        for (at, &dim) in dims.iter().enumerate() {
            if at == 0 {
                self.output.push(open);
            } else {
                self.output.push_str(", ");
            }
            let text = self.dim_text(dim, item);
            self.output.push_str(&text);
        }
        if !dims.is_empty() {
            self.output.push(close);
        } else if self.needs_length(what.ty, item) {
            // A single character: in 2025 text has a dimension, and -1 is none.
            self.output.push_str("[-1]");
        }
    }

    /// A datatype without its shape.
    pub(super) fn type_text(&mut self, ty: TypeId, item: ItemId) {
        let layout = self.layout;
        if ty.is_primitive() {
            return self.primitive_text(ty, item);
        }
        let of = layout.ty(ty);
        let declared = if of.origin == TypeId::NONE { ty } else { of.origin };
        let named = layout.item(layout.ty(declared).item).name != Symbol::NONE;
        if named && !self.is_inlined(declared) {
            let name = self.item_name(layout.ty(declared).item);
            return self.output.push_str(&name);
        }
        // Notes of members need separate lines; those of a type written out at each use are at the first.
        let about = layout.ty(declared).item;
        let is_new = |item: ItemId| self.has_notes(item) && !(named && self.annotation_index.contains(&item));
        let has_notes = of.members.slice(&layout.members).iter().any(|member| is_new(member.item)) || (named && is_new(about));
        let lines = if has_notes { MemberLines::OneEach } else { MemberLines::AllOnOne };
        self.output.push('{');
        if lines == MemberLines::OneEach {
            self.indent += 1;
            if named {
                self.push_trailing_annotations(about);
            } else {
                self.output.push('\n');
            }
        }
        self.print_members(ty, lines);
        if lines == MemberLines::OneEach {
            self.indent -= 1;
            self.begin_line();
        }
        self.output.push('}');
    }

    fn has_notes(&self, item: ItemId) -> bool {
        self.layout.docs(item).next().is_some()
            || self.layout.attributes(item).next().is_some()
            || self.layout.raw_attributes(item).next().is_some()
    }

    fn primitive_text(&mut self, ty: TypeId, item: ItemId) {
        let layout = self.layout;
        let TypeKind::Primitive(primitive, _) = layout.ty(ty).kind else { return };
        let mut prefix = match ty.0 % 4 {
            1 => "<",
            2 => ">",
            3 => "|",
            _ => "",
        };
        if self.drops_byteorder {
            // The built-in, where the layout has another type of that name.
            prefix = if !prefix.is_empty() && self.is_redefined(primitive) { "|" } else { "" };
            self.output.push_str(prefix);
            let name = self.primitive_name(primitive, item);
            return self.output.push_str(name);
        }
        // The order character of 2025 becomes a prefix everywhere.
        if let (Dialect::D2026, Some(order), "" | "|") = (self.to, layout.order, prefix)
            && primitive.size() > 1
        {
            prefix = if order.sign() == '<' { "<" } else { ">" };
        }
        self.output.push_str(prefix);
        let name = self.primitive_name(primitive, item);
        self.output.push_str(name);
    }

    fn is_redefined(&self, primitive: Primitive) -> bool {
        let symbol = self.layout.names.find_symbol(primitive.name());
        symbol.is_some_and(|symbol| {
            self.layout.items.iter().any(|item| item.name == symbol && matches!(item.kind, ItemData::Type(_)))
        })
    }

    fn primitive_name(&mut self, primitive: Primitive, item: ItemId) -> &'static str {
        match primitive.name() {
            name @ ("p4" | "p8") if self.to == Dialect::D2026 => {
                self.report_harmless_loss(item, format!("2026 has no pointers: `{name}` is unsigned"));
                if name == "p4" { "u4" } else { "u8" }
            }
            name => name,
        }
    }

    /// ` @16`, ` %8` or nothing.
    fn print_placement(&mut self, placement: Placement, item: ItemId) {
        if let Some(text) = self.placement_text(placement, item) {
            self.output.push(' ');
            self.output.push_str(&text);
        }
    }

    /// `@16`, `%8` or nothing.
    fn placement_text(&mut self, placement: Placement, item: ItemId) -> Option<String> {
        match placement {
            Placement::Next => None,
            Placement::At(address) => Some(format!("@{address}")),
            Placement::Align(align) if align > 16 && self.to == Dialect::D2025 => {
                self.report_loss(item, format!("2025 aligns to 16 at most: `%{align}` is left out"));
                None
            }
            Placement::Align(align) => Some(format!("%{align}")),
        }
    }
}

/// The state of the line that is being written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineState {
    /// Nothing is on it.
    Empty,
    /// Text is on it, and what comes next goes after it.
    HasText,
}

/// The lines of the members of a struct.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MemberLines {
    /// Each member is on its line, with its notes.
    OneEach,
    /// All members are on the line that is open.
    AllOnOne,
}

/// The end of an open construct.
enum OpenConstruct {
    Nothing,
    Summary,
    List {
        count: RepeatCount,
        is_element: bool,
        /// Number of times that the body is written again, and the step to begin from.
        again: u64,
        from: u32,
        /// Step at which printing resumes after copies of an earlier element.
        resume_step: Option<u32>,
    },
    Element {
        current: ItemId,
        top: ItemId,
        indent: usize,
    },
}
