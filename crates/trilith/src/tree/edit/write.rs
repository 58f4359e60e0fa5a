//! New text in the layout of the old.

use super::super::node::{Node, NodeKind};
use super::super::{Data, Layout, PrintOptions, Value};
use super::{Change, Edit, place};
use crate::span::Span;
use crate::yaml::{print_after_key, print_flow, print_value, written_tag};

/// Where in the layout of the text a node stands.
#[derive(Clone, Copy)]
pub(super) enum Context {
    /// Between brackets.
    Flow,
    /// The value of a key in a block mapping indented by this.
    Key(usize),
    /// An item of a block sequence whose dash is indented by this.
    Item(usize),
    /// The top of the document.
    Root,
}

impl Context {
    /// Where the children of a collection stand.
    pub(super) fn of(parent: Node<'_>) -> Self {
        if parent.layout() == Some(Layout::Flow) {
            return Self::Flow;
        }
        let column = place::column(parent.tree().text(), parent.span().start as usize);
        if parent.is_mapping() { Self::Key(column) } else { Self::Item(column) }
    }

    /// The column of lines below.
    fn below(self) -> usize {
        match self {
            Self::Key(column) | Self::Item(column) => column + 2,
            Self::Root | Self::Flow => 0,
        }
    }
}

impl<'t> Edit<'t> {
    /// Replaces a node by a value; the anchor stays, and the tag where the value fits it.
    pub(super) fn put(&mut self, node: Node<'t>, value: &Value, context: Context) {
        let mut value = value.clone();
        if value.tag.is_none() && !value.is_null() && !node.is_alias() && kind_of(&value) == node.kind() {
            value.tag = node.tag().filter(|tag| !tag.starts_with("tag:yaml.org,2002:")).map(str::to_owned);
        }
        // Behind `!` quotes would say nothing.
        let same_tag = !node.is_alias() && value.tag.as_deref() == node.tag() && !node.is_nonspecific();
        let was_inline = node.is_scalar() || node.layout() == Some(Layout::Flow);
        let old = node.whole_span();
        let in_comment = old.is_empty() && place::before_blanks(self.tree.text(), old.start as usize).1;
        if same_tag && was_inline && !in_comment && !self.lacks_colon(old, context) && is_inline(&value, &self.options) {
            self.put_content(node, value, context);
        } else {
            self.put_whole(node, &value, context);
        }
    }

    /// Replaces the content of a node; what stands before it stays.
    fn put_content(&mut self, node: Node<'t>, mut value: Value, context: Context) {
        let text = self.tree.text();
        let span = node.span();
        value.tag = None;
        let mut printed = print_flow(&value, &self.options);
        // `{a}` has no colon yet.
        if matches!(context, Context::Flow) && node.whole_span().is_empty() && !place::follows_colon(text, span) {
            printed = format!(": {printed}");
            // A key of a mark alone: a blank behind it would make it the mark of a key.
            if text.get(..span.start as usize).is_some_and(|before| before.ends_with('?')) {
                return self.replace(span, printed);
            }
        }
        self.put_at(span, printed);
    }

    /// Replaces a node with its properties, from the indicator before it on.
    pub(super) fn put_whole(&mut self, node: Node<'t>, value: &Value, context: Context) {
        let text = self.tree.text();
        let old = node.whole_span();
        let anchor = node.anchor().filter(|_| !node.is_alias()).map(|name| format!("&{name}"));
        let (start, comment) = match context {
            Context::Flow => (old.start as usize, false),
            _ => place::before_blanks(text, old.start as usize),
        };
        // The last line of a literal would swallow a comment or blanks behind it.
        let rest = text.get(old.end as usize..place::line_end(text, old.end as usize)).unwrap_or("");
        let literals = rest.is_empty() && !place::blank_lines(text, old.end as usize).contains([' ', '\t']);
        let options = PrintOptions { literals, ..self.options.clone() };
        let after = match context {
            Context::Flow => format!(" {}", print_flow(value, &options)),
            Context::Key(column) => print_after_key(value, Some(column), &options),
            Context::Root => print_after_key(value, None, &options),
            Context::Item(column) => format!(" {}", print_value(value, column + 2, &options)),
        };
        let joined = match (anchor, context) {
            (None, _) => after,
            (Some(anchor), Context::Item(column)) if !is_inline(value, &options) => {
                self.anchored_item(&anchor, value, column + 2, &options)
            }
            (Some(anchor), _) => format!(" {anchor}{after}"),
        };
        let printed = if let (true, Context::Key(column)) = (self.lacks_colon(old, context), context) {
            let blanks = text.get(start..old.end as usize).unwrap_or("");
            format!("\n{}:{joined}{blanks}", " ".repeat(column))
        } else if comment && !joined.starts_with('\n') {
            // What stood below a comment stays below it.
            format!("\n{}{}", " ".repeat(context.below()), joined.trim_start_matches(place::BLANKS))
        } else if matches!(context, Context::Flow) || start == 0 {
            joined.trim_start_matches(place::BLANKS).to_owned()
        } else {
            joined
        };
        self.put_at(Span::of(start, old.end as usize), printed);
    }

    /// Whether this is the value that `? key` of a block mapping does not have.
    fn lacks_colon(&self, value: Span, context: Context) -> bool {
        let before = self.tree.text().get(..value.start as usize).unwrap_or("");
        // In a block other marks are the end of the key, or the `?` of an empty one.
        matches!(context, Context::Key(_)) && value.is_empty() && !before.trim_end_matches(place::BLANKS).ends_with(':')
    }

    /// A block after an anchor: it cannot begin on the line of the dash.
    fn anchored_item(&self, anchor: &str, value: &Value, column: usize, options: &PrintOptions) -> String {
        let tag = value.tag.as_deref().map_or(String::new(), |tag| format!(" {}", written_tag(tag, &self.options.handles)));
        let block = Value { tag: None, layout: value.layout.or(Some(Layout::Block)), ..value.clone() };
        format!(" {anchor}{tag}\n{}{}", " ".repeat(column), print_value(&block, column, options))
    }

    /// Replaces a span; where nothing stood, a blank keeps the new text from the indicator before it.
    fn put_at(&mut self, span: Span, printed: String) {
        let bytes = self.tree.text().as_bytes();
        let before = bytes.get((span.start as usize).wrapping_sub(1));
        let touching = span.is_empty() && before.is_some_and(|b| !b" \t\r\n[{".contains(b));
        if !touching || printed.starts_with([' ', '\n']) {
            return self.replace(span, printed);
        }
        match bytes.get(span.start as usize..) {
            // There may be a blank already.
            Some([b' ', next, ..]) if *next != b'#' => self.replace(Span::new(span.start + 1, span.end + 1), printed),
            _ => self.replace(span, format!(" {printed}")),
        }
    }

    /// Removes a child of a collection; the last one leaves empty brackets.
    pub(super) fn remove(&mut self, parent: Node<'t>, node: Node<'t>) {
        let text = self.tree.text();
        let parts = place::parts(parent);
        let Some(index) = parts.iter().position(|part| part.value == node.whole_span()) else { return };
        if parts.len() > 1 {
            let span = match parent.layout() {
                Some(Layout::Flow) => place::flow_removal(text, parent, &parts, index),
                _ => place::block_removal(text, &parts, index),
            };
            return self.replace(span, "");
        }
        let empty = if parent.is_mapping() { "{}" } else { "[]" };
        let span = parent.span();
        let start = span.start as usize;
        let (mut from, comment) = place::before_blanks(text, start);
        // After a key the brackets stand on its line; after a dash, a tag or a comment where the block stood.
        if parent.layout() == Some(Layout::Flow) || comment || !text.get(from..start).is_some_and(|gap| gap.contains('\n')) {
            from = start;
        }
        let blank = if comment && parent.layout() == Some(Layout::Block) {
            // Below a comment, a list may stand no deeper than its key; brackets must.
            "  "
        } else if from < start && from > 0 {
            " "
        } else {
            ""
        };
        self.replace(Span::of(from, span.end as usize), format!("{blank}{empty}"));
    }

    /// Adds a pair at the end of a mapping.
    pub(super) fn insert_entry(&mut self, mapping: Node<'t>, key: &str, value: &Value) {
        let text = self.tree.text();
        let pair = Value::map([(key, value.clone())]);
        if mapping.layout() == Some(Layout::Flow) {
            let printed = print_flow(&pair, &self.options);
            let inner = printed.strip_prefix('{').and_then(|p| p.strip_suffix('}')).unwrap_or(&printed);
            if mapping.is_empty() {
                let at = mapping.span().start as usize + 1;
                let first = self.filled.insert(mapping.id());
                return self.replace(Span::of(at, at), if first { inner.to_owned() } else { format!(", {inner}") });
            }
            if !mapping.raw().starts_with('{') {
                return self.insert_into_bare(mapping, inner);
            }
            let last = mapping.entries().last().map(|(_, value)| value);
            return self.insert_at_flow_end(mapping, last, inner);
        }
        let column = place::column(text, mapping.span().start as usize);
        let printed = print_value(&pair.block(), column, &self.options);
        self.insert_line(mapping, column, &printed);
    }

    /// Adds an entry behind the last one between brackets.
    fn insert_at_flow_end(&mut self, parent: Node<'t>, last: Option<Node<'t>>, printed: &str) {
        let (at, comma) = place::flow_end(self.tree.text(), parent);
        let text = if comma { format!(" {printed},") } else { format!("{}, {printed}", blank_behind(last)) };
        self.replace(Span::of(at, at), text);
    }

    /// Adds a pair to `a: 1` in `[a: 1]`, which gets its braces.
    fn insert_into_bare(&mut self, mapping: Node<'t>, inner: &str) {
        let (start, end) = (mapping.span().start as usize, mapping.span().end as usize);
        let blank = blank_behind(mapping.entries().last().map(|(_, value)| value));
        // Of what is added at one place, the larger column comes first: pairs, the brace, items behind it.
        let mut add = |at: usize, column: usize, text: String| {
            self.changes.push(Change { span: Span::of(at, at), column, text });
        };
        if self.filled.insert(mapping.id()) {
            add(start, 0, "{".to_owned());
            add(end, 1, "}".to_owned());
        }
        add(end, 2, format!("{blank}, {inner}"));
    }

    /// Adds an item to a sequence that has some.
    pub(super) fn insert_item(&mut self, sequence: Node<'t>, index: usize, value: &Value) {
        let text = self.tree.text();
        if sequence.layout() == Some(Layout::Flow) {
            let printed = print_flow(value, &self.options);
            match place::parts(sequence).get(index) {
                Some(part) => self.replace(Span::of(part.start, part.start), format!("{printed}, ")),
                None => self.insert_at_flow_end(sequence, sequence.items().last(), &printed),
            }
            return;
        }
        let column = place::column(text, sequence.span().start as usize);
        let printed = print_value(&Value::seq([value.clone()]).block(), column, &self.options);
        match place::parts(sequence).get(index) {
            Some(part) => self.replace(Span::of(part.start, part.start), format!("{printed}\n{}", " ".repeat(column))),
            None => self.insert_line(sequence, column, &printed),
        }
    }

    /// Adds a line after the last one of a block collection.
    fn insert_line(&mut self, parent: Node<'t>, column: usize, printed: &str) {
        let at = place::end_of_block(self.tree, parent);
        let indent = " ".repeat(column);
        let text = match self.tree.text().as_bytes().get(at.wrapping_sub(1)) {
            Some(b'\n' | b'\r') => format!("{indent}{printed}\n"),
            _ => format!("\n{indent}{printed}"),
        };
        self.changes.push(Change { span: Span::of(at, at), column, text });
    }
}

/// What keeps a comma from becoming part of what stands before it: `a:` and `!t` may have one.
fn blank_behind(last: Option<Node<'_>>) -> &'static str {
    if last.is_some_and(|node| node.span().is_empty()) { " " } else { "" }
}

fn kind_of(value: &Value) -> NodeKind {
    match value.data {
        Data::Seq(_) => NodeKind::Sequence,
        Data::Map(_) => NodeKind::Mapping,
        _ => NodeKind::Scalar,
    }
}

/// Whether a value is printed on the line where it begins.
fn is_inline(value: &Value, options: &PrintOptions) -> bool {
    match kind_of(value) {
        NodeKind::Scalar => !print_after_key(value, Some(0), options).contains('\n'),
        _ => {
            value.items().is_empty() && value.entries().is_empty() || value.layout == Some(Layout::Flow) || {
                let bare = Value { tag: None, ..value.clone() };
                print_after_key(&bare, Some(0), options).starts_with(" [")
            }
        }
    }
}
