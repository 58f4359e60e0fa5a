//! Edits that keep every other byte of a tree's text.

use super::node::{Node, NodeKind};
use super::place;
use super::{Layout, PrintOptions, Tree, TreePath, Value};
use crate::error::{Error, Kind, Result};
use crate::limits::Limits;
use crate::span::Span;
use crate::yaml::{print_after_key, print_flow, print_value, written_tag};

/// Changes to a tree, applied together; paths and spans are those of the tree before any of them.
///
/// ```
/// use trilith::{Limits, tree::{Tree, TreePath}};
/// let tree = Tree::parse("a: 1 # one\nb: {c: [x]}\n", &Limits::default())?;
/// let mut edit = tree.edit();
/// edit.set(&TreePath::parse("/a")?, &"yes".into())?;
/// edit.insert(&TreePath::parse("/b/c/-")?, &2.5.into())?;
/// edit.insert(&TreePath::parse("/d")?, &trilith::tree::Value::seq([1, 2]))?;
/// let tree = edit.finish(&Limits::default())?;
/// assert_eq!(tree.text(), "a: 'yes' # one\nb: {c: [x, 2.5]}\nd: [1, 2]\n");
/// # Ok::<(), trilith::Error>(())
/// ```
pub struct Edit<'t> {
    tree: &'t Tree,
    changes: Vec<(Span, String)>,
    options: PrintOptions,
}

impl Tree {
    /// Begins to edit this tree.
    pub fn edit(&self) -> Edit<'_> {
        let handles = self.tag_handles().map(|(handle, prefix)| (handle.to_owned(), prefix.to_owned())).collect();
        Edit { tree: self, changes: Vec::new(), options: PrintOptions { handles, ..PrintOptions::default() } }
    }
}

/// Where in the layout of the text a node stands.
#[derive(Clone, Copy)]
enum Context {
    /// Between brackets.
    Flow,
    /// The value of a key in a block mapping indented by this.
    Key(usize),
    /// An item of a block sequence whose dash is indented by this.
    Item(usize),
    /// The top of the document.
    Root,
}

impl<'t> Edit<'t> {
    /// The options that new text is printed with; the handles are the tree's.
    pub fn options_mut(&mut self) -> &mut PrintOptions {
        &mut self.options
    }

    /// Replaces a span of the text by other text, whatever it holds.
    pub fn replace(&mut self, span: Span, text: impl Into<String>) {
        self.changes.push((span, text.into()));
    }

    /// Replaces a scalar node's content by a value; the fast way to patch many nodes of one tree.
    pub fn replace_node(&mut self, node: Node<'t>, value: &Value) {
        let text = print_flow(value, &self.options);
        self.changes.push((node.span(), text));
    }

    /// Sets the value at a path; a key that its mapping does not have is added.
    ///
    /// A value without a tag takes the tag of the node that it replaces, where that is of the same kind.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where the path leads nowhere.
    pub fn set(&mut self, path: &TreePath, value: &Value) -> Result<()> {
        let Some(node) = self.tree.find_written(path) else { return self.insert(path, value) };
        let context = self.context(path)?;
        let mut value = value.clone();
        if value.tag.is_none() && !node.is_alias() && kind_of(&value) == node.kind() {
            value.tag = node.tag().filter(|tag| *tag == "!" || !tag.starts_with("tag:yaml.org,2002:")).map(str::to_owned);
        }
        self.put(node, &value, context);
        Ok(())
    }

    /// Sets the value at a path, from YAML text under the tree's `%TAG` handles, as [`Edit::set`].
    ///
    /// # Errors
    /// As [`Edit::set`] and [`Tree::parse_value`].
    pub fn set_yaml(&mut self, path: &TreePath, yaml: &str, tag: Option<&str>, limits: &Limits) -> Result<()> {
        let mut value = self.tree.parse_value(yaml, limits)?;
        if let Some(tag) = tag {
            value.tag = Some(tag.to_owned());
        }
        self.set(path, &value)
    }

    /// Adds a key to a mapping, or an item to a sequence before the one with that number (`-`: at the end).
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where the parent is missing, is a scalar, or has the key already.
    pub fn insert(&mut self, path: &TreePath, value: &Value) -> Result<()> {
        let Some((above, key)) = path.split_last() else {
            return Err(Error::usage("the root exists already").hint("set it instead"));
        };
        let parent = self.tree.find_written(&above).ok_or_else(|| absent(&above))?;
        match parent.kind() {
            // Nothing becomes the mapping that is asked for.
            NodeKind::Scalar if parent.is_null() => self.set(&above, &Value::map([(key, value.clone())])),
            NodeKind::Scalar => Err(Error::usage(format!("a scalar has no place for {key:?}")).at_path(above.to_string())),
            NodeKind::Mapping if parent.entries().any(|(k, _)| k.is_key(key)) => {
                Err(Error::usage(format!("the key {key:?} exists already")).at_path(above.to_string()))
            }
            _ if parent.is_empty() => {
                let item = if parent.is_mapping() { Value::map([(key, value.clone())]) } else { Value::seq([value.clone()]) };
                self.set(&above, &item)
            }
            NodeKind::Mapping => {
                self.insert_entry(target(parent), key, value);
                Ok(())
            }
            NodeKind::Sequence if key == "-" => {
                self.insert_item(target(parent), parent.len(), value);
                Ok(())
            }
            NodeKind::Sequence => match super::path::index_of(key).filter(|index| *index <= parent.len()) {
                Some(index) => {
                    self.insert_item(target(parent), index, value);
                    Ok(())
                }
                None => Err(Error::usage(format!("{key:?} is no place in a sequence of {} items", parent.len()))
                    .at_path(above.to_string())
                    .hint("write a number, or - for the end")),
            },
        }
    }

    /// Adds an item at the end of a sequence.
    ///
    /// # Errors
    /// As [`Edit::insert`].
    pub fn append(&mut self, sequence: &TreePath, value: &Value) -> Result<()> {
        match self.tree.find(sequence) {
            Some(node) if !node.is_sequence() => {
                Err(Error::usage("expected a sequence to append to").at_path(sequence.to_string()))
            }
            _ => self.insert(&sequence.join("-"), value),
        }
    }

    /// Removes a key with its value, or an item, with the comment on its line.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where the path leads nowhere or is the root.
    pub fn delete(&mut self, path: &TreePath) -> Result<()> {
        let node = self.tree.find_written(path).ok_or_else(|| absent(path))?;
        let (above, _) = path.split_last().ok_or_else(|| Error::usage("the root cannot be deleted"))?;
        let parent = target(self.tree.find_written(&above).ok_or_else(|| absent(&above))?);
        let parts = place::parts(parent);
        let index = parts.iter().position(|part| part.value == node.whole_span());
        let index = index.ok_or_else(|| merged_in(path))?;
        if parts.len() == 1 {
            let empty = if parent.is_mapping() { "{}" } else { "[]" };
            let context = if above.is_root() { Context::Root } else { self.context(&above)? };
            let span = parent.span();
            // After a key the empty brackets stand on its line.
            let start = match context {
                Context::Key(_) | Context::Root if parent.layout() == Some(Layout::Block) => {
                    let (start, comment) = place::before_blanks(self.tree.text(), span.start as usize);
                    if comment { span.start as usize } else { start }
                }
                _ => span.start as usize,
            };
            let text = if start < span.start as usize { format!(" {empty}") } else { empty.to_owned() };
            self.replace(Span::of(start, span.end as usize), text);
            return Ok(());
        }
        let span = match parent.layout() {
            Some(Layout::Flow) => place::flow_removal(self.tree.text(), parent, &parts, index),
            _ => place::block_removal(self.tree.text(), &parts, index),
        };
        self.replace(span, "");
        Ok(())
    }

    /// Gives a key of a mapping another name.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where the path leads nowhere or to no key, or the name is taken.
    pub fn rename(&mut self, path: &TreePath, name: &str) -> Result<()> {
        let (above, key) = path.split_last().ok_or_else(|| Error::usage("the root has no name"))?;
        let parent = target(self.tree.find(&above).ok_or_else(|| absent(&above))?);
        if !parent.is_mapping() {
            return Err(Error::usage("items of a sequence have no names").at_path(path.to_string()));
        }
        if parent.entries().any(|(k, _)| k.is_key(name)) {
            return Err(Error::usage(format!("the key {name:?} exists already")).at_path(above.to_string()));
        }
        let found = parent.entries().filter(|(k, _)| k.is_key(key)).last();
        let (node, _) = found.ok_or_else(|| if parent.get(key).is_some() { merged_in(path) } else { absent(path) })?;
        let text = print_flow(&Value::from(name), &self.options);
        self.replace(node.whole_span(), text);
        Ok(())
    }

    /// The text with all changes.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where two changes touch the same bytes.
    pub fn text(&self) -> Result<String> {
        let mut order: Vec<_> = self.changes.iter().collect();
        // Stable: insertions at one place keep the order in which they were asked for.
        order.sort_by_key(|(span, _)| (span.start, span.end));
        let grown: usize = self.changes.iter().map(|(_, text)| text.len()).sum();
        let source = self.tree.text();
        let mut out = String::with_capacity(source.len() + grown);
        let mut at = 0;
        for (span, text) in order {
            let kept = (span.start as usize >= at).then(|| source.get(at..span.start as usize)).flatten();
            let kept =
                kept.ok_or_else(|| Error::usage("two changes touch the same place").hint("make them one after the other"))?;
            out.push_str(kept);
            out.push_str(text);
            at = span.end as usize;
        }
        out.push_str(source.get(at..).ok_or_else(|| Error::usage("a change lies outside the text"))?);
        Ok(out)
    }

    /// The tree with all changes, parsed anew.
    ///
    /// # Errors
    /// As [`Edit::text`]; [`Kind::Usage`](crate::Kind::Usage) where the changes leave no valid tree (a
    /// deleted anchor that an alias needs, say), [`Kind::Limit`](crate::Kind::Limit).
    pub fn finish(self, limits: &Limits) -> Result<Tree> {
        Tree::parse_at(self.text()?, self.tree.origin(), limits).map_err(|error| match error.kind() {
            Kind::Malformed => Error::usage(error.message().to_owned())
                .at(error.location().clone())
                .context("the tree would break by this change"),
            _ => error,
        })
    }

    /// Where a node stands.
    fn context(&self, path: &TreePath) -> Result<Context> {
        let Some((above, _)) = path.split_last() else { return Ok(Context::Root) };
        let parent = target(self.tree.find(&above).ok_or_else(|| absent(&above))?);
        if parent.layout() == Some(Layout::Flow) {
            return Ok(Context::Flow);
        }
        let column = place::column(self.tree.text(), parent.span().start as usize);
        Ok(if parent.is_mapping() { Context::Key(column) } else { Context::Item(column) })
    }

    /// Replaces a node by a value, its anchor kept.
    fn put(&mut self, node: Node<'t>, value: &Value, context: Context) {
        let text = self.tree.text();
        let mut anchor = String::new();
        let mut span = node.whole_span();
        if !node.is_alias()
            && let Some(name) = node.anchor()
        {
            anchor = format!("&{name}");
        }
        // Content alone where tag and anchor stay.
        let same_tag = !node.is_alias() && value.tag.as_deref() == node.tag();
        let printed = if same_tag && (node.is_scalar() || node.layout() == Some(Layout::Flow)) && is_inline(value, &self.options)
        {
            span = node.span();
            anchor.clear();
            let bare = Value { tag: None, ..value.clone() };
            print_flow(&bare, &PrintOptions { handles: self.options.handles.clone(), ..self.options.clone() })
        } else {
            let after = match context {
                Context::Flow => format!(" {}", print_flow(value, &self.options)),
                Context::Key(column) => print_after_key(value, Some(column), &self.options),
                Context::Root => print_after_key(value, None, &self.options),
                Context::Item(column) => format!(" {}", print_value(value, column + 2, &self.options)),
            };
            let (start, comment) = match context {
                Context::Flow => (span.start as usize, false),
                _ => place::before_blanks(text, span.start as usize),
            };
            let joined = if anchor.is_empty() {
                after
            } else if let (Context::Item(column), false) = (context, is_inline(value, &self.options)) {
                // A block that begins on the line of the dash cannot have an anchor before it.
                let mut block = Value { tag: None, ..value.clone() };
                block.layout = value.layout.or(Some(Layout::Block));
                let tag = value.tag.as_deref().map_or(String::new(), |t| format!(" {}", written_tag(t, &self.options.handles)));
                let lines = print_value(&block, column + 2, &self.options);
                format!(" {anchor}{tag}\n{}{lines}", " ".repeat(column + 2))
            } else {
                format!(" {anchor}{after}")
            };
            span = Span::of(start, span.end as usize);
            if comment && !joined.starts_with('\n') {
                // What stood below a comment stays below it.
                let column = match context {
                    Context::Key(column) | Context::Item(column) => column + 2,
                    _ => 0,
                };
                format!("\n{}{}", " ".repeat(column), joined.trim_start())
            } else if matches!(context, Context::Flow) || start == 0 {
                joined.trim_start().to_owned()
            } else {
                joined
            }
        };
        let keyed = matches!(context, Context::Flow)
            && span.is_empty()
            && node.whole_span().is_empty()
            && !place::follows_colon(text, span);
        let printed = if keyed { format!(": {printed}") } else { printed };
        // An empty value may touch the indicator before it.
        let touching = span.is_empty()
            && matches!(text.as_bytes().get((span.start as usize).wrapping_sub(1)), Some(b':' | b'-' | b',' | b'!'));
        if !touching || printed.starts_with([' ', '\n']) {
            return self.replace(span, printed);
        }
        match text.as_bytes().get(span.start as usize..) {
            // There may be a blank already.
            Some([b' ', next, ..]) if *next != b'#' => self.replace(Span::new(span.start + 1, span.end + 1), printed),
            _ => self.replace(span, format!(" {printed}")),
        }
    }

    /// Adds a pair at the end of a mapping that has some.
    fn insert_entry(&mut self, mapping: Node<'t>, key: &str, value: &Value) {
        let text = self.tree.text();
        let pair = Value::map([(key, value.clone())]);
        if mapping.layout() == Some(Layout::Flow) {
            let printed = print_flow(&pair, &self.options);
            let inner = printed.strip_prefix('{').and_then(|p| p.strip_suffix('}')).unwrap_or(&printed);
            let (at, comma) = place::flow_end(text, mapping);
            self.replace(Span::of(at, at), if comma { format!(" {inner}") } else { format!(", {inner}") });
            return;
        }
        let column = place::column(text, mapping.span().start as usize);
        let printed = print_value(&pair.block(), column, &self.options);
        self.insert_line(mapping, column, &printed);
    }

    /// Adds an item to a sequence that has some.
    fn insert_item(&mut self, sequence: Node<'t>, index: usize, value: &Value) {
        let text = self.tree.text();
        if sequence.layout() == Some(Layout::Flow) {
            let printed = print_flow(value, &self.options);
            match place::parts(sequence).get(index) {
                Some(part) => self.replace(Span::of(part.start, part.start), format!("{printed}, ")),
                None => {
                    let (at, comma) = place::flow_end(text, sequence);
                    self.replace(Span::of(at, at), if comma { format!(" {printed}") } else { format!(", {printed}") });
                }
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
        let change = match self.tree.text().as_bytes().get(at.wrapping_sub(1)) {
            Some(b'\n' | b'\r') => format!("{indent}{printed}\n"),
            _ => format!("\n{indent}{printed}"),
        };
        self.replace(Span::of(at, at), change);
    }
}

impl Tree {
    /// As [`Tree::find`], but the pairs as written and the last node not followed.
    pub(super) fn find_written(&self, path: &TreePath) -> Option<Node<'_>> {
        self.find(path)
    }
}

/// The node that a collection's children are written in.
fn target(node: Node<'_>) -> Node<'_> {
    node.alias_target().unwrap_or(node)
}

fn kind_of(value: &Value) -> NodeKind {
    match value.data {
        super::Data::Seq(_) => NodeKind::Sequence,
        super::Data::Map(_) => NodeKind::Mapping,
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

#[cold]
fn absent(path: &TreePath) -> Error {
    Error::usage("there is nothing at this path").at_path(path.to_string())
}

#[cold]
fn merged_in(path: &TreePath) -> Error {
    Error::usage("this key is merged in from another mapping")
        .at_path(path.to_string())
        .hint("set it to override it, or edit that mapping")
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
