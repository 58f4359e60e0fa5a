//! Values built in memory, to be printed or set into a tree.

use super::directives::BINARY_TAG;
use super::event::{CollectionStyle, YamlScalarStyle};
use super::print::{PrintOptions, print_flow};
use crate::error::{Error, Result};

/// A value without a text: that of a node, or one that a program writes.
///
/// ```
/// use trilith_yaml::tree::Value;
/// let node = Value::map([("shape", Value::seq([2, 3])), ("name", "µ".into())]).tagged("tag:example.org:x");
/// assert_eq!(node.get("name").and_then(Value::as_str), Some("µ"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Value {
    /// Content of the value.
    pub data: ValueData,
    /// Whole tag of the value, or `None` if it has none.
    pub tag: Option<String>,
    /// Block or flow, if that should not be left to the printer.
    pub layout: Option<CollectionStyle>,
    /// Quotes or block style of a text, if that should not be left to the printer.
    pub style: Option<YamlScalarStyle>,
    /// The name of its anchor, for [`ValueData::Alias`] to refer to; letters, digits, `-` and `_`.
    pub anchor: Option<Box<str>>,
}

/// The content of a [`Value`].
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum ValueData {
    /// The null value.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// A larger integer, in decimal digits.
    BigInt(String),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Str(String),
    /// A scalar to be written without quotes exactly like this: a timestamp, a number in its own spelling.
    Plain(String),
    /// The value, printed before this one, that has this anchor: both are one node to a reader.
    Alias(String),
    /// A list.
    Seq(Vec<Value>),
    /// Pairs in order.
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// Puts another value in the place of each item of a list or a mapping.
    #[doc(hidden)]
    pub fn map_items(&mut self, mut make: impl FnMut(Self) -> Self) {
        let mut make = |item: &mut Self| *item = make(std::mem::take(item));
        match &mut self.data {
            ValueData::Seq(items) => items.iter_mut().for_each(make),
            ValueData::Map(pairs) => pairs.iter_mut().for_each(|(_, item)| make(item)),
            _ => {}
        }
    }

    /// Returns a null value.
    pub fn null() -> Self {
        Self::default()
    }

    /// A list of what becomes values.
    pub fn seq<T: Into<Value>>(items: impl IntoIterator<Item = T>) -> Self {
        ValueData::Seq(items.into_iter().map(Into::into).collect()).into()
    }

    /// A mapping of pairs, in this order.
    pub fn map<K: Into<Value>, V: Into<Value>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        ValueData::Map(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect()).into()
    }

    /// A scalar to be written without quotes exactly like this; it must be one line that YAML reads as a scalar.
    pub fn plain_scalar(text: impl Into<String>) -> Self {
        ValueData::Plain(text.into()).into()
    }

    /// The value with this anchor once more: an alias. It must be after that value.
    ///
    /// ```
    /// use trilith_yaml::yaml::{PrintOptions, Value, print_document};
    /// let shared = Value::map([("x", 1)]).anchored("s");
    /// let tree = Value::map([("a", shared), ("b", Value::alias("s"))]);
    /// assert_eq!(print_document(&tree, &PrintOptions::default()), "%YAML 1.1\n---\na: &s\n  x: 1\nb: *s\n...\n");
    /// ```
    pub fn alias(anchor: impl Into<String>) -> Self {
        ValueData::Alias(anchor.into()).into()
    }

    /// Returns the value with an anchor of this name.
    #[must_use]
    pub fn anchored(mut self, name: impl Into<Box<str>>) -> Self {
        self.anchor = Some(name.into());
        self
    }

    /// Returns the value with this whole tag (`tag:stsci.edu:asdf/core/ndarray-1.1.0`).
    #[must_use]
    pub fn tagged(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// Returns bytes as a value, from their base 64: a string with the tag of YAML for it.
    pub fn binary(base64: String) -> Self {
        Self::from(base64).tagged(BINARY_TAG)
    }

    /// Returns `true` if the value is bytes, as base 64.
    pub fn is_binary(&self) -> bool {
        self.tag.as_deref() == Some(BINARY_TAG)
    }

    /// Returns the value, to be written between brackets.
    #[must_use]
    pub fn flow(mut self) -> Self {
        self.layout = Some(CollectionStyle::Flow);
        self
    }

    /// Returns the value, to be written by indentation.
    #[must_use]
    pub fn block(mut self) -> Self {
        self.layout = Some(CollectionStyle::Block);
        self
    }

    /// Returns the value, to be written in this style if its text allows.
    #[must_use]
    pub fn styled(mut self, style: YamlScalarStyle) -> Self {
        self.style = Some(style);
        self
    }

    /// The value under a text key, the last if there are several.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries().iter().rev().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v)
    }

    /// Sets the value under a text key, at its old place or at the end; what is not a mapping becomes one.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        let key = key.into();
        if !matches!(self.data, ValueData::Map(_)) {
            self.data = ValueData::Map(Vec::new());
        }
        if let ValueData::Map(pairs) = &mut self.data {
            match pairs.iter_mut().rev().find(|(k, _)| k.as_str() == Some(&key)) {
                Some((_, old)) => *old = value.into(),
                None => pairs.push((key.into(), value.into())),
            }
        }
    }

    /// Removes and returns the value under a text key.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        match &mut self.data {
            ValueData::Map(pairs) => {
                let at = pairs.iter().rposition(|(k, _)| k.as_str() == Some(key))?;
                Some(pairs.remove(at).1)
            }
            _ => None,
        }
    }

    /// Adds an item at the end; what is not a list becomes one.
    pub fn push(&mut self, item: impl Into<Value>) {
        if !matches!(self.data, ValueData::Seq(_)) {
            self.data = ValueData::Seq(Vec::new());
        }
        if let ValueData::Seq(items) = &mut self.data {
            items.push(item.into());
        }
    }

    /// Adds a pair at the end, whatever keys there are; what is not a mapping becomes one.
    pub fn push_pair(&mut self, key: impl Into<Value>, value: impl Into<Value>) {
        if !matches!(self.data, ValueData::Map(_)) {
            self.data = ValueData::Map(Vec::new());
        }
        if let ValueData::Map(pairs) = &mut self.data {
            pairs.push((key.into(), value.into()));
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Value] {
        match &self.data {
            ValueData::Seq(items) => items,
            _ => &[],
        }
    }

    /// The pairs of a mapping; none for anything else.
    pub fn entries(&self) -> &[(Value, Value)] {
        match &self.data {
            ValueData::Map(pairs) => pairs,
            _ => &[],
        }
    }

    /// The text, or `None` if this is none.
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            ValueData::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, or `None` if this is none of 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        match self.data {
            ValueData::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The number, or `None` if this is none.
    pub fn as_f64(&self) -> Option<f64> {
        match &self.data {
            ValueData::Float(value) => Some(*value),
            ValueData::Int(value) => Some(*value as f64),
            ValueData::BigInt(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// Checks that a writer may write this: keys are strings, integers or booleans, and integers fit in 64 bits
    /// with sign (chapter "Tree" of the ASDF standard 1.6), and content fits its tag. Readers accept more.
    ///
    /// ```
    /// use trilith_yaml::tree::Value;
    /// assert!(Value::map([(1, 2.5)]).check_subset().is_ok());
    /// assert!(Value::seq([Value::map([(2.5, 1)])]).check_subset().is_err());
    /// assert!(Value::from(u64::MAX).check_subset().is_err());
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) naming the key, the integer or the content.
    pub fn check_subset(&self) -> Result<()> {
        self.check_tags()?;
        let mut work = vec![self];
        while let Some(value) = work.pop() {
            match &value.data {
                ValueData::BigInt(digits) => {
                    return Err(Error::invalid_input(format!("the integer {} does not fit in 64 bits", shorten_text(digits)))
                        .hint("ASDF writes larger ones as core/integer, or as a float: add a point"));
                }
                ValueData::Seq(items) => work.extend(items),
                ValueData::Map(pairs) => {
                    check_texts(pairs)?;
                    for (key, item) in pairs {
                        if !matches!(key.data, ValueData::Str(_) | ValueData::Int(_) | ValueData::Bool(_)) {
                            let text = print_flow(key, &PrintOptions::default());
                            let message =
                                format!("the key {} is neither a string nor an integer nor a boolean", shorten_text(&text));
                            return Err(Error::invalid_input(message).hint("quote it, and it is text"));
                        }
                        work.push(item);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns `true` if this is nothing.
    pub fn is_null(&self) -> bool {
        self.data == ValueData::Null
    }
}

/// Refuses keys that differ in their types alone, of which no path could name one.
fn check_texts(pairs: &[(Value, Value)]) -> Result<()> {
    // If all keys are of one type, they differ if their strings do.
    let is_text = |key: &Value| matches!(key.data, ValueData::Str(_));
    if pairs.iter().all(|(key, _)| is_text(key)) {
        return Ok(());
    }
    let mut known = std::collections::HashMap::new();
    for (key, _) in pairs {
        let text = match &key.data {
            ValueData::Str(text) => text.clone(),
            ValueData::Int(value) => value.to_string(),
            ValueData::Bool(value) => value.to_string(),
            _ => continue,
        };
        match known.insert(text, is_text(key)) {
            Some(was_text) if was_text != is_text(key) => {
                let text = print_flow(key, &PrintOptions::default());
                return Err(Error::invalid_input(format!(
                    "two keys have the text {}, and differ in their types",
                    shorten_text(&text)
                ))
                .hint("give one of them another name"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The first of a text that may be long.
pub(crate) fn shorten_text(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

impl From<ValueData> for Value {
    fn from(data: ValueData) -> Self {
        Self { data, ..Self::default() }
    }
}

macro_rules! from {
    ($($type:ty => $make:expr),+ $(,)?) => {
        $(impl From<$type> for Value {
            fn from(from: $type) -> Self {
                let make: fn($type) -> ValueData = $make;
                make(from).into()
            }
        })+
    };
}

from! {
    () => |()| ValueData::Null,
    bool => ValueData::Bool,
    i32 => |n| ValueData::Int(n.into()),
    u32 => |n| ValueData::Int(n.into()),
    i64 => ValueData::Int,
    u64 => |n| i64::try_from(n).map_or_else(|_| ValueData::BigInt(n.to_string()), ValueData::Int),
    usize => |n| i64::try_from(n).map_or_else(|_| ValueData::BigInt(n.to_string()), ValueData::Int),
    f64 => ValueData::Float,
    &str => |text| ValueData::Str(text.to_owned()),
    String => ValueData::Str,
    Vec<Value> => ValueData::Seq,
    Vec<(Value, Value)> => ValueData::Map,
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(from: Option<T>) -> Self {
        from.map_or_else(Self::null, Into::into)
    }
}
