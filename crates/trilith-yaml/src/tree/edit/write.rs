//! New text in the layout of the old.

use super::super::node::{Node, NodeId, NodeKind};
use super::super::{CollectionStyle, PrintOptions, Value, ValueData, YamlScalarStyle};
use super::plan::AddedChild;
use super::{Edit, TextChange, text_positions};
use crate::span::Span;
use crate::yaml::{print_after_key, print_flow, print_value, written_tag};

/// Returns `true` if a value may have the tag of a node: it is of the same kind. In the place of an array
/// that is a mapping with one of its keys; what mappings of other tags hold is not known.
fn has_same_kind(value: &Value, node: Node<'_>) -> bool {
    let is_array = node.is_mapping() && node.tag().is_some_and(|tag| tag.contains("core/ndarray"));
    let has_key = |pairs: &[(Value, Value)]| pairs.iter().any(|(key, _)| key.as_str().is_some_and(|key| node.get(key).is_some()));
    match &value.data {
        ValueData::Map(pairs) if is_array => has_key(pairs),
        _ => kind_of(value) == node.kind(),
    }
}

/// The position of a node in the layout of the text.
#[derive(Clone, Copy)]
pub(super) enum NodeContext {
    /// A place between brackets.
    Flow,
    /// The value of a key in a block mapping indented by this.
    Key(usize),
    /// An item of a block sequence whose dash is indented by this.
    Item(usize),
    /// The top of the document.
    Root,
}

impl NodeContext {
    /// Returns the position of the children of a collection.
    pub(super) fn of_parent(parent: Node<'_>) -> Self {
        if parent.layout() == Some(CollectionStyle::Flow) {
            return Self::Flow;
        }
        let column = text_positions::column_at(parent.tree().text(), parent.span().start as usize);
        if parent.is_mapping() { Self::Key(column) } else { Self::Item(column) }
    }

    /// The column of lines below.
    fn child_column(self) -> usize {
        match self {
            Self::Key(column) | Self::Item(column) => column + 2,
            Self::Root | Self::Flow => 0,
        }
    }
}

impl<'t> Edit<'t> {
    /// Replaces a node by a value; the anchor stays, and the tag if the value fits it.
    pub(super) fn write_value_at(&mut self, node: Node<'t>, value: &Value, context: NodeContext) {
        let mut value = value.clone();
        if value.tag.is_none() && !value.is_null() && !node.is_alias() && has_same_kind(&value, node) {
            value.tag = node.tag().filter(|tag| !tag.starts_with("tag:yaml.org,2002:")).map(str::to_owned);
        }
        // After a bare `!`, quotes do not decide the type, so the tag is replaced too.
        let same_tag = !node.is_alias() && value.tag.as_deref() == node.tag() && !node.is_nonspecific();
        let was_inline = node.is_scalar() || node.layout() == Some(CollectionStyle::Flow);
        let old = node.full_span();
        let in_comment = old.is_empty() && text_positions::before_blanks(self.tree.text(), old.start as usize).1;
        let no_colon = matches!(context, NodeContext::Key(_)) && text_positions::has_no_colon(node);
        if same_tag && !self.is_referred(node) && was_inline && !in_comment && !no_colon && is_inline(&value, &self.options) {
            self.replace_content(node, value, context);
        } else {
            self.replace_with_props(node, &value, context);
        }
    }

    /// Replaces the content of a node; what is before it stays.
    fn replace_content(&mut self, node: Node<'t>, value: Value, context: NodeContext) {
        let span = node.span();
        let bare = Value { tag: None, ..value };
        let mut printed = print_flow(&bare, &self.options);
        self.plan.change_value(node, Value { tag: value.tag, ..bare });
        // `{a}` has no colon yet.
        if matches!(context, NodeContext::Flow) && text_positions::has_no_colon(node) {
            printed = format!("{}{printed}", missing_colon(node));
            return self.push_replacement(span, printed);
        }
        self.replace_span(span, printed);
    }

    /// Replaces a node with its properties, from the indicator before it on.
    ///
    /// An anchor that aliases elsewhere refer to goes with the old content: see [`Edit::hand_over`].
    pub(super) fn replace_with_props(&mut self, node: Node<'t>, value: &Value, context: NodeContext) {
        let anchor = if self.is_referred(node) {
            self.plan.replace_whole(node, value.clone());
            None
        } else {
            self.plan.change_value(node, value.clone());
            node.anchor().filter(|_| !node.is_alias() && !matches!(value.data, ValueData::Alias(_)))
        };
        self.write_whole(node, value, context, anchor);
    }

    /// Writes a value, and the anchor that it keeps, in the place of a node with its properties.
    pub(super) fn write_whole(&mut self, node: Node<'t>, value: &Value, context: NodeContext, anchor: Option<&str>) {
        let text = self.tree.text();
        let old = node.full_span();
        let anchor = anchor.map(|name| format!("&{name}"));
        let (start, comment) = match context {
            NodeContext::Flow => (old.start as usize, false),
            _ => text_positions::before_blanks(text, old.start as usize),
        };
        // The last line of a literal would swallow a comment or blanks after it.
        let literals = text_positions::literal_may_end(text, old.end as usize);
        let options = PrintOptions { literals, ..self.options.clone() };
        if let (false, Some(gap)) = (matches!(context, NodeContext::Flow), text_positions::comment_before_content(node)) {
            return self.replace_around_comment(node, gap, value, context, anchor, &options);
        }
        let after = match context {
            NodeContext::Flow => format!(" {}", print_flow(value, &options)),
            NodeContext::Key(column) => print_after_key(value, Some(column), &options),
            NodeContext::Root => print_after_key(value, None, &options),
            NodeContext::Item(column) => format!(" {}", print_value(value, column + 2, &options)),
        };
        let joined = match (anchor, context) {
            (None, _) => after,
            (Some(anchor), NodeContext::Item(column)) if !is_inline(value, &options) => {
                self.anchored_item(&anchor, value, column + 2, &options)
            }
            (Some(anchor), _) => format!(" {anchor}{after}"),
        };
        let lacks_colon = text_positions::has_no_colon(node);
        let printed = match context {
            NodeContext::Key(column) if lacks_colon => return self.write_below_key(node, column, &joined),
            NodeContext::Flow if lacks_colon => {
                format!("{}{}", missing_colon(node), joined.trim_start_matches(text_positions::BLANKS))
            }
            // Text that was below a comment stays below it.
            _ if comment && !joined.starts_with('\n') => {
                format!("\n{}{}", " ".repeat(context.child_column()), joined.trim_start_matches(text_positions::BLANKS))
            }
            NodeContext::Flow => joined.trim_start_matches(text_positions::BLANKS).to_owned(),
            _ if start == 0 => joined.trim_start_matches(text_positions::BLANKS).to_owned(),
            _ => joined,
        };
        self.replace_span(Span::new_u32(start, old.end as usize), printed);
    }

    /// Replaces a node whose properties have a comment between them and the content: `gap` stays.
    fn replace_around_comment(
        &mut self,
        node: Node<'t>,
        gap: Span,
        value: &Value,
        context: NodeContext,
        anchor: Option<String>,
        options: &PrintOptions,
    ) {
        let tag = value.tag.as_deref().map(|tag| written_tag(tag, &self.options.handles));
        let properties: Vec<String> = anchor.into_iter().chain(tag).collect();
        let bare = Value { tag: None, ..value.clone() };
        let indent = " ".repeat(context.child_column());
        let content = print_value(&bare, context.child_column(), options);
        let between = gap.slice(self.tree.text());
        let text = format!("{}{between}{indent}{content}", properties.join(" "));
        self.push_replacement(node.full_span(), text);
    }

    /// Writes the missing value of a `? key` of a block mapping on a separate line.
    fn write_below_key(&mut self, value: Node<'t>, column: usize, printed: &str) {
        let at = text_positions::end_of_lines(self.tree, value.span().start as usize, value.written_id());
        self.add_line(at, column, &format!(":{printed}"));
    }

    /// A block after an anchor: it cannot begin on the line of the dash.
    fn anchored_item(&self, anchor: &str, value: &Value, column: usize, options: &PrintOptions) -> String {
        let tag = value.tag.as_deref().map_or(String::new(), |tag| format!(" {}", written_tag(tag, &self.options.handles)));
        let block = Value { tag: None, layout: value.layout.or(Some(CollectionStyle::Block)), ..value.clone() };
        format!(" {anchor}{tag}\n{}{}", " ".repeat(column), print_value(&block, column, options))
    }

    /// Replaces a span; if nothing stood, a blank keeps the new text from the indicator before it.
    fn replace_span(&mut self, span: Span, printed: String) {
        let bytes = self.tree.text().as_bytes();
        let before = bytes.get((span.start as usize).wrapping_sub(1));
        let touching = span.is_empty() && before.is_some_and(|b| !b" \t\r\n[{".contains(b));
        if !touching || printed.starts_with([' ', '\n']) {
            return self.push_replacement(span, printed);
        }
        match bytes.get(span.start as usize..) {
            // A blank may follow already.
            Some([b' ', next, ..]) if *next != b'#' => self.push_replacement(Span::new(span.start + 1, span.end + 1), printed),
            _ => self.push_replacement(span, format!(" {printed}")),
        }
    }

    /// Removes children of a collection, of pairs their values; if all go, empty brackets are left.
    pub(super) fn remove(&mut self, parent: Node<'t>, children: &[Node<'t>]) {
        let parts = text_positions::collection_entries(parent);
        let goes = |part: &text_positions::CollectionEntry<'_>| {
            children.iter().any(|child| child.written_id() == part.value.written_id())
        };
        let gone: Vec<usize> = (0..).zip(&parts).filter(|(_, part)| goes(part)).map(|(at, _)| at).collect();
        for part in gone.iter().filter_map(|at| parts.get(*at)) {
            self.plan.remove(parent, part.first_node(), part.value);
        }
        if gone.len() == parts.len() {
            return self.clear_collection(parent, &parts);
        }
        for run in gone.chunk_by(|a, b| a + 1 == *b) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            if parent.layout() == Some(CollectionStyle::Flow) {
                let Some(span) = text_positions::flow_removal(self.tree.text(), &parts, *first, *last) else { continue };
                let before = first.checked_sub(1).and_then(|at| parts.get(at)).filter(|before| before.end == span.start as usize);
                self.push_replacement(span, separating_blank(before.map(|part| part.value)));
            } else if let Some((span, text)) = text_positions::block_removal(self.tree, &parts, *first, *last) {
                self.push_replacement(span, text);
            }
        }
    }

    /// Leaves empty brackets of a collection.
    fn clear_collection(&mut self, parent: Node<'t>, parts: &[text_positions::CollectionEntry<'t>]) {
        let text = self.tree.text();
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return };
        let empty = if parent.is_mapping() { "{}" } else { "[]" };
        let span = parent.span();
        let start = span.start as usize;
        let (mut from, comment) = text_positions::before_blanks(text, start);
        if parent.layout() == Some(CollectionStyle::Flow) {
            let end = text_positions::after_byte(text, b',', last.end).unwrap_or(last.end);
            let around = [(start, first.start), (end, span.end as usize)];
            // Comments between the brackets stay there.
            if text_positions::has_brackets(parent)
                && around.iter().any(|(a, b)| text.get(*a..*b).is_some_and(|gap| gap.contains('#')))
            {
                return self.push_replacement(Span::new_u32(first.start, end), "");
            }
            return self.push_replacement(span, empty);
        }
        // After a key, the brackets go on the line of the key. After a dash, a tag or a comment, they replace the block in place.
        if comment || !text.get(from..start).is_some_and(|gap| gap.contains('\n')) {
            from = start;
        }
        let blank = if comment {
            // After a comment, a list may have the indentation of its key, but brackets must be indented deeper.
            "  "
        } else if from < start && from > 0 {
            " "
        } else {
            ""
        };
        self.push_replacement(Span::new_u32(from, span.end as usize), format!("{blank}{empty}"));
    }

    /// Adds a pair at the end of a mapping.
    pub(super) fn insert_entry(&mut self, mapping: Node<'t>, key: &str, value: &Value) {
        let pair = Value::map([(key, value.clone())]);
        self.plan.add_child(mapping, None, AddedChild::Pair(key.into(), value.clone()));
        if mapping.layout() == Some(CollectionStyle::Flow) {
            let printed = print_flow(&pair, &self.options);
            let inner = printed.strip_prefix('{').and_then(|p| p.strip_suffix('}')).unwrap_or(&printed);
            if mapping.is_empty() {
                return self.fill_brackets(mapping, inner);
            }
            if !text_positions::has_brackets(mapping) {
                return self.insert_into_bare(mapping, inner);
            }
            let last = mapping.entries().last().map(|(_, value)| value);
            return self.insert_at_flow_end(mapping, last, inner);
        }
        self.insert_last(mapping, &pair.block());
    }

    /// Adds an entry between empty brackets.
    fn fill_brackets(&mut self, collection: Node<'t>, printed: &str) {
        let at = collection.span().start as usize + 1;
        let first = self.reserved_spans.insert(collection.id());
        self.push_replacement(Span::new_u32(at, at), if first { printed.to_owned() } else { format!(", {printed}") });
    }

    /// Adds a pair before another one.
    pub fn insert_before(&mut self, mapping: Node<'t>, before: Node<'t>, key: &str, value: &Value) {
        let Some(part) = text_positions::collection_entries(mapping)
            .into_iter()
            .find(|part| part.key.is_some_and(|key| key.written_id() == before.written_id()))
        else {
            return self.insert_entry(mapping, key, value);
        };
        self.plan.add_child(mapping, Some(before), AddedChild::Pair(key.into(), value.clone()));
        let pair = Value::map([(key, value.clone())]);
        if mapping.layout() == Some(CollectionStyle::Flow) {
            let printed = print_flow(&pair, &self.options);
            let inner = printed.strip_prefix('{').and_then(|p| p.strip_suffix('}')).unwrap_or(&printed);
            return self.push_replacement(Span::new_u32(part.start, part.start), format!("{inner}, "));
        }
        self.insert_line_before(part.start, &pair.block());
    }

    /// Adds an entry after the last one between brackets.
    fn insert_at_flow_end(&mut self, parent: Node<'t>, last: Option<Node<'t>>, printed: &str) {
        let (at, comma) = text_positions::flow_end(self.tree.text(), parent);
        let text = if comma { format!(" {printed},") } else { format!("{}, {printed}", separating_blank(last)) };
        self.push_replacement(Span::new_u32(at, at), text);
    }

    /// Adds a pair to `a: 1` in `[a: 1]`, which gets its braces.
    fn insert_into_bare(&mut self, mapping: Node<'t>, inner: &str) {
        let (start, end) = (mapping.span().start as usize, mapping.span().end as usize);
        let blank = separating_blank(mapping.entries().last().map(|(_, value)| value));
        // Among additions at one place, the larger column comes first: pairs, then the brace, then the items after it.
        let mut add = |at: usize, column: usize, text: String| {
            self.changes.push(TextChange { span: Span::new_u32(at, at), column, text });
        };
        if self.reserved_spans.insert(mapping.id()) {
            add(start, 0, "{".to_owned());
            add(end, 1, "}".to_owned());
        }
        add(end, 2, format!("{blank}, {inner}"));
    }

    /// Adds an item to a sequence that has some.
    pub(super) fn insert_item(&mut self, sequence: Node<'t>, index: usize, value: &Value) {
        let part = text_positions::collection_entries(sequence).into_iter().nth(index);
        self.plan.add_child(sequence, part.map(|part| part.value), AddedChild::Item(value.clone()));
        if sequence.layout() == Some(CollectionStyle::Flow) {
            let printed = print_flow(value, &self.options);
            if sequence.is_empty() {
                return self.fill_brackets(sequence, &printed);
            }
            return match part {
                Some(part) => self.push_replacement(Span::new_u32(part.start, part.start), format!("{printed}, ")),
                None => self.insert_at_flow_end(sequence, sequence.items().last(), &printed),
            };
        }
        let item = Value::seq([value.clone()]).block();
        match part {
            Some(part) => self.insert_line_before(part.start, &item),
            None => self.insert_last(sequence, &item),
        }
    }

    /// Adds what a block collection holds before the entry that starts at `at`.
    fn insert_line_before(&mut self, at: usize, added: &Value) {
        let column = text_positions::column_at(self.tree.text(), at);
        let printed = print_value(added, column, &self.options);
        self.push_replacement(Span::new_u32(at, at), format!("{printed}\n{}", " ".repeat(column)));
    }

    /// Adds what a block collection holds after the last line of another.
    fn insert_last(&mut self, parent: Node<'t>, added: &Value) {
        let text = self.tree.text();
        let column = text_positions::column_at(text, parent.span().start as usize);
        let at = text_positions::end_of_block(parent);
        // The end of a line may be where another begins.
        let end = at.saturating_sub(usize::from(text.get(..at).is_some_and(|before| before.ends_with(['\n', '\r']))));
        let literals = self.options.literals && text_positions::literal_may_end(text, end);
        let printed = print_value(added, column, &PrintOptions { literals, ..self.options.clone() });
        self.add_line(at, column, &printed);
    }

    /// Adds a line at a place where one begins, or at the end of the text.
    fn add_line(&mut self, at: usize, column: usize, printed: &str) {
        let indent = " ".repeat(column);
        let text = match self.tree.text().as_bytes().get(at.wrapping_sub(1)) {
            Some(b'\n' | b'\r') => format!("{indent}{printed}\n"),
            _ => format!("\n{indent}{printed}"),
        };
        self.changes.push(TextChange { span: Span::new_u32(at, at), column, text });
    }

    /// Gives a key another name.
    pub fn rename_key(&mut self, key: Node<'t>, name: &str) {
        let text = self.tree.text();
        let span = key.full_span();
        let is_flow = |style| matches!(style, YamlScalarStyle::Single | YamlScalarStyle::Double);
        let style = key.style().filter(|style| is_flow(*style) && !key.is_alias());
        let mut value = Value { style, ..Value::from(name) };
        // `{"a":1}`: after anything but quotes this colon would be text.
        let end = span.end as usize;
        let colon = text.as_bytes().get(end..).unwrap_or(&[]).first() == Some(&b':');
        let joined =
            colon && !text.get(end + 1..).is_some_and(|rest| rest.is_empty() || rest.starts_with(text_positions::BLANKS));
        if joined && style.is_none() {
            value.style = Some(YamlScalarStyle::Double);
        }
        let printed = print_flow(&value, &self.options);
        self.plan.rename_key(key, value);
        if span.is_empty() && text.get(..span.start as usize).is_some_and(|before| before.ends_with('?')) {
            return self.replace_span(span, printed);
        }
        let value = key.tree().node(NodeId(key.written_end()));
        let begins_there = |value: &Node<'_>| text.get(end..value.span().start as usize).is_some_and(|gap| !gap.contains('\n'));
        if span.is_empty() && value.is_some_and(|value| value.layout() == Some(CollectionStyle::Block) && begins_there(&value)) {
            // `: - x`: what begins on the line of its colon must have a mark before its key.
            let indent = " ".repeat(text_positions::column_at(text, span.start as usize));
            return self.push_replacement(span, format!("? {printed}\n{indent}"));
        }
        self.push_replacement(span, printed);
    }
}

/// Returns the separator between a key and its value if there is no colon.
fn missing_colon(value: Node<'_>) -> &'static str {
    let key = value.written_id().checked_sub(1).and_then(|at| value.tree().node(NodeId(at)));
    // A mark alone is the beginning of a key where a blank follows it; names of aliases may end with a colon.
    if key.is_some_and(|key| key.is_alias() || key.span().is_empty()) { " : " } else { ": " }
}

/// Returns a blank if a comma would become part of the text before it: `a:` and `!t` may have one.
fn separating_blank(last: Option<Node<'_>>) -> &'static str {
    if last.is_some_and(|node| node.span().is_empty() || node.is_alias()) { " " } else { "" }
}

fn kind_of(value: &Value) -> NodeKind {
    match value.data {
        ValueData::Seq(_) => NodeKind::Sequence,
        ValueData::Map(_) => NodeKind::Mapping,
        _ => NodeKind::Scalar,
    }
}

/// Returns `true` if a value is printed on the line where it begins.
fn is_inline(value: &Value, options: &PrintOptions) -> bool {
    match kind_of(value) {
        NodeKind::Scalar => !print_after_key(value, Some(0), options).contains('\n'),
        _ => {
            value.items().is_empty() && value.entries().is_empty() || value.layout == Some(CollectionStyle::Flow) || {
                let bare = Value { tag: None, ..value.clone() };
                print_after_key(&bare, Some(0), options).starts_with(" [")
            }
        }
    }
}
