//! Printing values as YAML 1.1, always in the same way.
//!
//! Text is quoted if any reader of YAML 1.1 or 1.2 would take it for something else; floats are the
//! shortest that read back the same, with a point and a signed exponent (`1.0e+22`).

use std::borrow::Borrow;
use std::cell::OnceCell;

use super::event::{CollectionStyle, Event, EventKind, YamlScalarStyle};
use super::plain_scalar;
use super::tag_handles::TagHandles;
use super::value::{Value, ValueData};
use crate::span::Span;

/// Options for printing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrintOptions {
    /// Handle and prefix of each `%TAG` that holds where the text will be.
    pub handles: Vec<(String, String)>,
    /// Columns that each level of a mapping is indented by.
    pub indent: usize,
    /// Columns that lists between brackets may fill before they are wrapped.
    pub width: usize,
    /// `true` if strings of many lines are written with `|`.
    pub literals: bool,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self { handles: Vec::new(), indent: 2, width: 80, literals: true }
    }
}

/// Prints a document: `%YAML 1.1`, the `%TAG` directives of `options`, `---`, the value, `...`.
///
/// ```
/// use trilith_yaml::yaml::{PrintOptions, print_document};
/// use trilith_yaml::tree::Value;
/// let root = Value::map([("shape", Value::seq([2, 3])), ("version", "1.10".into())]).tagged("tag:e.org:x");
/// let mut options = PrintOptions::default();
/// options.handles = vec![("!".into(), "tag:e.org:".into())];
/// assert_eq!(
///     print_document(&root, &options),
///     "%YAML 1.1\n%TAG ! tag:e.org:\n--- !x\nshape: [2, 3]\nversion: '1.10'\n...\n"
/// );
/// ```
pub fn print_document(value: &Value, options: &PrintOptions) -> String {
    YamlPrinter::print_document(value, options, None).0
}

/// Prints a document, and returns the events that a reader makes of it.
#[cfg(test)]
pub(crate) fn print_with_events(value: &Value, options: &PrintOptions) -> (String, Vec<Event>) {
    YamlPrinter::print_document(value, options, Some(Vec::new()))
}

/// Prints a document whose mapping has one entry, the list of `items`, as [`print_document`] does it, and returns the events that a
/// reader makes of it. `tags` are those of the mapping and of the list.
pub(crate) fn print_list_with_events(
    key: &str,
    tags: [&str; 2],
    items: impl Iterator<Item = Value>,
    options: &PrintOptions,
) -> (String, Vec<Event>) {
    let [root, list] = [Value::map::<&str, Value>([]).tagged(tags[0]), Value::seq::<Value>([]).tagged(tags[1])];
    let mut printer = YamlPrinter::begin_document(options, Some(Vec::new()));
    printer.out.push(' ');
    let props = printer.print_properties(&root);
    printer.start_line(0);
    printer.begin_collection(EventKind::Mapping(CollectionStyle::Block), props);
    printer.print_flow_value(&Value::from(key), 0);
    printer.out.push_str(": ");
    let props = printer.print_properties(&list);
    let mut items = items.peekable();
    if items.peek().is_some() {
        printer.print_block_items(items, 0, true, props);
    } else {
        printer.out.push(' ');
        printer.print_brackets(&list, 0, props);
    }
    printer.end_collection(printer.last_end);
    printer.end_document()
}

/// Prints a value alone, as it would be at the start of a line indented by `column`; no line break at the end.
pub fn print_value(value: &Value, column: usize, options: &PrintOptions) -> String {
    let mut printer = YamlPrinter { out: String::new(), options, handles: OnceCell::new(), events: None, last_end: 0 };
    printer.print_indented_value(value, column, ValueContext::Item);
    printer.out
}

/// Prints a value as it would be after `key:` in a mapping indented by `column`, the blank or line
/// break before it included; no line break at the end.
pub(crate) fn print_after_key(value: &Value, column: Option<usize>, options: &PrintOptions) -> String {
    let mut printer = YamlPrinter { out: String::new(), options, handles: OnceCell::new(), events: None, last_end: 0 };
    printer.print_indented_value(
        value,
        column.map_or(0, |c| c + options.indent),
        if column.is_none() { ValueContext::Value } else { ValueContext::Key },
    );
    printer.out
}

/// Prints a value between brackets, on one line.
pub(crate) fn print_flow(value: &Value, options: &PrintOptions) -> String {
    let options = PrintOptions { width: usize::MAX, ..options.clone() };
    let mut printer = YamlPrinter { out: String::new(), options: &options, handles: OnceCell::new(), events: None, last_end: 0 };
    printer.print_flow_value(value, 0);
    printer.out
}

/// The shortest text that reads back as this number, and as a float.
pub(crate) fn float_text(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&power) {
        let plain = format!("{value}");
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if power < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", power.unsigned_abs())
}

/// The context of the value on its line.
#[derive(Clone, Copy, PartialEq)]
enum ValueContext {
    /// `---`: a blank or a line break comes first, a collection is at `column`.
    Value,
    /// `key:`: as `Value`, but a list may be in the column of the key.
    Key,
    /// `- ` or nothing: no blank, a collection may begin on the line.
    Item,
}

struct YamlPrinter<'o> {
    out: String,
    options: &'o PrintOptions,
    /// Made at the first tag.
    handles: OnceCell<TagHandles>,
    /// The events of what was printed, if somebody wants them.
    events: Option<Vec<Event>>,
    /// The end of the last node.
    last_end: usize,
}

/// Anchor and tag that were printed.
#[derive(Clone, Copy, Default)]
struct PrintedProps {
    anchor: Span,
    tag: Span,
}

/// The span of bytes of a text. One that is too long for spans is printed, and makes no tree.
fn span_of(start: usize, end: usize) -> Span {
    let position = |at| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(position(start), position(end))
}

/// Returns `true` if a value has an anchor or a tag.
fn has_props(value: &Value) -> bool {
    value.anchor.is_some() || value.tag.is_some()
}

impl<'o> YamlPrinter<'o> {
    /// Prints a document; `events` receives its events.
    fn print_document(value: &Value, options: &'o PrintOptions, events: Option<Vec<Event>>) -> (String, Vec<Event>) {
        let mut printer = Self::begin_document(options, events);
        printer.print_indented_value(value, 0, ValueContext::Value);
        printer.end_document()
    }

    fn begin_document(options: &'o PrintOptions, events: Option<Vec<Event>>) -> Self {
        let mut out = String::from("%YAML 1.1\n");
        for (handle, prefix) in &options.handles {
            out.push_str(&format!("%TAG {handle} {prefix}\n"));
        }
        out.push_str("---");
        YamlPrinter { out, options, handles: OnceCell::new(), events, last_end: 0 }
    }

    fn end_document(mut self) -> (String, Vec<Event>) {
        self.out.push_str("\n...\n");
        (self.out, self.events.unwrap_or_default())
    }

    /// Adds an event.
    fn emit(&mut self, what: EventKind, span: Span, props: PrintedProps) {
        self.last_end = span.end as usize;
        if let Some(events) = &mut self.events {
            events.push(Event { what, span, anchor: props.anchor, tag: props.tag });
        }
    }

    /// Adds the event of a collection that begins here.
    fn begin_collection(&mut self, what: EventKind, props: PrintedProps) {
        self.emit(what, span_of(self.out.len(), self.out.len()), props);
    }

    /// Adds the event of the end of the innermost collection.
    fn end_collection(&mut self, end: usize) {
        self.emit(EventKind::End, span_of(end, end), PrintedProps::default());
    }

    /// Adds the event of a scalar that began at a byte and ends here.
    fn emit_scalar(&mut self, start: usize, style: YamlScalarStyle, verbatim: bool, props: PrintedProps) {
        self.emit(EventKind::Scalar { style, verbatim }, span_of(start, self.out.len()), props);
    }

    /// Prints a value whose lines, if it has many, are indented by `column`.
    fn print_indented_value(&mut self, value: &Value, column: usize, place: ValueContext) {
        if place != ValueContext::Item && has_props(value) {
            self.out.push(' ');
        }
        let props = self.print_properties(value);
        let own_line = has_props(value) || place != ValueContext::Item;
        match &value.data {
            ValueData::Map(pairs) if !self.is_flow(value, column) => {
                for (at, (key, item)) in pairs.iter().enumerate() {
                    if at > 0 || own_line {
                        self.start_line(column);
                    }
                    if at == 0 {
                        self.begin_collection(EventKind::Mapping(CollectionStyle::Block), props);
                    }
                    self.print_entry(key, item, column);
                }
                self.end_collection(self.last_end);
            }
            ValueData::Seq(items) if !self.is_flow(value, column) => {
                let column = if place == ValueContext::Key { column.saturating_sub(self.options.indent) } else { column };
                self.print_block_items(items.iter(), column, own_line, props);
            }
            ValueData::Null if has_props(value) => self.emit_scalar(self.out.len(), YamlScalarStyle::Plain, true, props),
            data => {
                if has_props(value) || place != ValueContext::Item {
                    self.out.push(' ');
                }
                let start = self.out.len();
                match data {
                    ValueData::Str(text) if self.options.literals && plain_scalar::fits_folded(text, value.style) => {
                        self.print_folded(text, column.max(1));
                        self.emit_scalar(start, YamlScalarStyle::Folded, false, props);
                    }
                    ValueData::Str(text) if self.options.literals && plain_scalar::fits_literal(text, value.style) => {
                        self.print_literal(text, column.max(1));
                        self.emit_scalar(start, YamlScalarStyle::Literal, false, props);
                    }
                    ValueData::Seq(_) | ValueData::Map(_) => self.print_brackets(value, column, props),
                    _ => self.print_scalar(value, CollectionStyle::Block, props),
                }
            }
        }
    }

    /// Prints the items of a list, which has one at least, each on a separate line.
    fn print_block_items<V: Borrow<Value>>(
        &mut self,
        items: impl Iterator<Item = V>,
        column: usize,
        own_line: bool,
        props: PrintedProps,
    ) {
        for (at, item) in items.enumerate() {
            if at > 0 || own_line {
                self.start_line(column);
            }
            if at == 0 {
                self.begin_collection(EventKind::Sequence(CollectionStyle::Block), props);
            }
            self.out.push_str("- ");
            self.print_indented_value(item.borrow(), column + 2, ValueContext::Item);
        }
        self.end_collection(self.last_end);
    }

    /// Prints anchor and tag.
    fn print_properties(&mut self, value: &Value) -> PrintedProps {
        let mut props = PrintedProps::default();
        if let Some(anchor) = &value.anchor {
            let start = self.out.len();
            self.out.push('&');
            self.out.push_str(anchor);
            props.anchor = span_of(start, self.out.len());
        }
        if let Some(tag) = &value.tag {
            if value.anchor.is_some() {
                self.out.push(' ');
            }
            let start = self.out.len();
            let tag = self.handles.get_or_init(|| TagHandles::new(&self.options.handles)).shorten_tag(tag);
            self.out.push_str(&tag);
            props.tag = span_of(start, self.out.len());
        }
        props
    }

    /// Returns `true` if a collection is written between brackets.
    fn is_flow(&self, value: &Value, column: usize) -> bool {
        let (empty, hint) = match &value.data {
            ValueData::Seq(items) => (items.is_empty(), value.layout),
            ValueData::Map(pairs) => (pairs.is_empty(), value.layout.or(Some(CollectionStyle::Block))),
            _ => return true,
        };
        if empty || hint == Some(CollectionStyle::Flow) {
            return true;
        }
        if hint == Some(CollectionStyle::Block) {
            return false;
        }
        let items = value.items();
        let numbers = items
            .iter()
            .all(|item| item.tag.is_none() && matches!(item.data, ValueData::Int(_) | ValueData::Float(_) | ValueData::Bool(_)));
        let mut left = self.options.width.saturating_sub(column);
        numbers
            || items.iter().all(|item| {
                let width = match &item.data {
                    ValueData::Seq(_) | ValueData::Map(_) => return false,
                    ValueData::Str(text) => text.len() + 4,
                    ValueData::BigInt(text) | ValueData::Plain(text) | ValueData::Alias(text) => text.len() + 2,
                    _ => 8,
                } + [item.tag.as_deref(), item.anchor.as_deref()].into_iter().flatten().map(str::len).sum::<usize>();
                left = left.saturating_sub(width);
                left > 0
            })
    }

    fn start_line(&mut self, column: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', column));
    }

    /// `key: value`, or `? key` and `: value` if the key is not a short single line.
    fn print_entry(&mut self, key: &Value, value: &Value, column: usize) {
        let simple = match &key.data {
            ValueData::Seq(_) | ValueData::Map(_) => false,
            ValueData::Str(text) => text.len() < 200 && !text.contains(['\n', '\r']),
            ValueData::Plain(text) | ValueData::BigInt(text) => text.len() < 1000,
            _ => true,
        };
        if simple {
            self.print_flow_value(key, column);
            if needs_blank(key) {
                self.out.push(' ');
            }
            self.out.push(':');
            self.print_indented_value(value, column + self.options.indent, ValueContext::Key);
        } else {
            self.out.push_str("? ");
            self.print_indented_value(key, column + 2, ValueContext::Item);
            self.start_line(column);
            self.out.push_str(": ");
            self.print_indented_value(value, column + 2, ValueContext::Item);
        }
    }

    /// A value inside brackets.
    fn print_flow_value(&mut self, value: &Value, column: usize) {
        let props = self.print_properties(value);
        if has_props(value) {
            if matches!(value.data, ValueData::Null) {
                self.emit_scalar(self.out.len(), YamlScalarStyle::Plain, true, props);
                // libyaml reads a bracket or a comma as part of the tag before it.
                if value.tag.is_some() {
                    self.out.push(' ');
                }
                return;
            }
            self.out.push(' ');
        }
        match value.data {
            ValueData::Seq(_) | ValueData::Map(_) => self.print_brackets(value, column, props),
            _ => self.print_scalar(value, CollectionStyle::Flow, props),
        }
    }

    /// `[…]` or `{…}`, wrapped at the width.
    fn print_brackets(&mut self, value: &Value, column: usize, props: PrintedProps) {
        let column = column.max(1);
        let mut first = true;
        let mut separate = |printer: &mut Self| {
            if !std::mem::take(&mut first) {
                printer.out.push(',');
                // The search goes back no further than the width, because the whole text may be one line.
                let tail = printer.out.len().checked_sub(printer.options.width).and_then(|at| printer.out.as_bytes().get(at..));
                match tail {
                    Some(tail) if !tail.contains(&b'\n') => printer.start_line(column),
                    _ => printer.out.push(' '),
                }
            }
        };
        match &value.data {
            ValueData::Map(pairs) => {
                self.begin_collection(EventKind::Mapping(CollectionStyle::Flow), props);
                self.out.push('{');
                for (key, item) in pairs {
                    separate(self);
                    let simple =
                        !matches!(key.data, ValueData::Seq(_) | ValueData::Map(_)) && key.as_str().is_none_or(|k| k.len() < 200);
                    if !simple {
                        self.out.push_str("? ");
                    }
                    self.print_flow_value(key, column);
                    self.out.push_str(if simple && !needs_blank(key) { ": " } else { " : " });
                    self.print_flow_value(item, column);
                }
                self.out.push('}');
            }
            _ => {
                self.begin_collection(EventKind::Sequence(CollectionStyle::Flow), props);
                self.out.push('[');
                for item in value.items() {
                    separate(self);
                    self.print_flow_value(item, column);
                }
                self.out.push(']');
            }
        }
        self.end_collection(self.out.len());
    }

    /// A scalar in a collection of the style `parent`.
    fn print_scalar(&mut self, value: &Value, parent: CollectionStyle, props: PrintedProps) {
        let start = self.out.len();
        let (mut style, mut verbatim) = (YamlScalarStyle::Plain, true);
        match &value.data {
            ValueData::Bool(true) => self.out.push_str("true"),
            ValueData::Bool(false) => self.out.push_str("false"),
            ValueData::Int(number) => self.out.push_str(&number.to_string()),
            ValueData::Float(number) => self.out.push_str(&float_text(*number)),
            ValueData::BigInt(text) | ValueData::Plain(text) => self.out.push_str(text),
            ValueData::Alias(anchor) => {
                self.out.push('*');
                self.out.push_str(anchor);
                self.emit(EventKind::Alias, span_of(start, self.out.len()), props);
                return;
            }
            // A foreign tag says that it is text, whatever it looks like.
            ValueData::Str(text) => (style, verbatim) = plain_scalar::write_text(&mut self.out, text, value.style, parent),
            _ => self.out.push_str("null"),
        }
        self.emit_scalar(start, style, verbatim, props);
    }

    /// `>` and the paragraphs of `text`, indented by `column` and wrapped at the width.
    fn print_folded(&mut self, text: &str, column: usize) {
        let body = text.strip_suffix('\n').unwrap_or(text);
        self.out.push_str(if body.len() < text.len() { ">" } else { ">-" });
        for (at, paragraph) in body.split('\n').enumerate() {
            if paragraph.is_empty() {
                self.out.push('\n');
                continue;
            }
            // A line break alone would be read as a blank.
            if at > 0 {
                self.out.push('\n');
            }
            self.start_line(column);
            let (mut filled, mut before) = (column, "");
            for (at, word) in paragraph.split(' ').enumerate() {
                let width = word.chars().count();
                if at > 0 && !before.is_empty() && !word.is_empty() && filled + 1 + width > self.options.width {
                    self.start_line(column);
                    filled = column;
                } else if at > 0 {
                    self.out.push(' ');
                    filled += 1;
                }
                self.out.push_str(word);
                filled += width;
                before = word;
            }
        }
    }

    /// `|` and the lines of `text`, indented by `column`.
    fn print_literal(&mut self, text: &str, column: usize) {
        let body = text.strip_suffix('\n').unwrap_or(text);
        self.out.push_str(if body.len() < text.len() { "|" } else { "|-" });
        for line in body.split('\n') {
            if line.is_empty() {
                self.out.push('\n');
            } else {
                self.start_line(column);
                self.out.push_str(line);
            }
        }
    }
}

/// Returns `true` if a key would swallow a colon right after it.
fn needs_blank(key: &Value) -> bool {
    matches!(key.data, ValueData::Alias(_)) || (key.is_null() && (key.tag.is_some() || key.anchor.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_shortest_and_read_as_floats_everywhere() {
        for (value, text) in [
            (1e22, "1.0e+22"),
            (5e-324, "5.0e-324"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1.0e+16"),
            (0.1, "0.1"),
            (f64::NEG_INFINITY, "-.inf"),
            (f64::NAN, ".nan"),
        ] {
            assert_eq!(float_text(value), text);
        }
    }

    /// libyaml refuses a tag that a bracket or a comma follows at once. First tier.
    #[test]
    fn tagged_null_is_followed_by_blank() {
        let null = || Value::null().tagged("!x");
        let value = Value::seq([null(), Value::map([("k", null())]).flow(), null()]).flow();
        assert_eq!(print_value(&value, 0, &PrintOptions::default()), "[!x , {k: !x }, !x ]");
    }

    #[test]
    fn layout_follows_hints_and_length() {
        let value = Value::map([
            ("short", Value::seq(["a", "b"])),
            ("block", Value::seq([1, 2]).block()),
            ("nested", Value::seq([Value::seq([1, 2]), Value::map([("x", 1), ("z", 2)])])),
            ("flow", Value::map([("x", Value::seq(["a", "b: c"]))]).flow()),
            ("none", Value::null()),
            ("empty", Value::map::<&str, Value>([])),
            ("lines", "a\n\n b\n".into()),
            ("tagged", Value::map([("k", 1)]).tagged("!t")),
        ]);
        let expected = "short: [a, b]\nblock:\n- 1\n- 2\nnested:\n- [1, 2]\n- x: 1\n  z: 2\nflow: {x: [a, 'b: c']}\n\
                        none: null\nempty: {}\nlines: |\n  a\n\n   b\ntagged: !t\n  k: 1";
        assert_eq!(print_value(&value, 0, &PrintOptions::default()), expected);
    }
}
