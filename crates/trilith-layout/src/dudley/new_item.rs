//! Data without a layout: [`Draft`] collects dicts, lists and arrays, and writes the layout they need.

use super::source_annotations::SourceAnnotations;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::layout::{Attribute, Primitive};

/// The kind of an item.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NewItemKind {
    /// Named items.
    Dict(Vec<(String, Draft)>),
    /// Items without names.
    List(Vec<Draft>),
    /// An array.
    Data(Array),
    /// A fixed parameter.
    Param(i64),
    /// A parameter that is stored in the stream, with its type: `i1`, `i2`, `i4` or `i8`.
    StoredParam(i64, Primitive),
}

/// An item of a stream that is to be written, with its documentation and attributes.
///
/// ```
/// use trilith_array::array::Array;
/// use trilith_layout::dudley::Draft;
/// let t = Draft::data(Array::from_slice(&[1.0f64, 2.0], &[2])?);
/// let (text, arrays) = Draft::dict([("t", t)]).layout()?;
/// assert_eq!(text, "#: dialect=2025\nt = f8[2]\n");
/// assert_eq!(arrays.len(), 1);
/// # Ok::<(), trilith_layout::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Draft {
    /// The kind and content.
    pub kind: NewItemKind,
    /// Lines of documentation.
    pub docs: Vec<String>,
    /// Attributes.
    pub attributes: Vec<(String, Attribute)>,
    /// The words of the layout that it comes from.
    #[doc(hidden)]
    pub origin: Option<Box<SourceAnnotations>>,
}

/// Maximum depth of nested dicts and lists.
pub(super) const MAX_DEPTH: usize = 256;

impl Draft {
    fn new(kind: NewItemKind) -> Self {
        Self { kind, docs: Vec::new(), attributes: Vec::new(), origin: None }
    }

    /// A dict.
    pub fn dict<K: Into<String>>(items: impl IntoIterator<Item = (K, Draft)>) -> Self {
        Self::new(NewItemKind::Dict(items.into_iter().map(|(name, item)| (name.into(), item)).collect()))
    }

    /// A list.
    pub fn list(items: impl IntoIterator<Item = Draft>) -> Self {
        Self::new(NewItemKind::List(items.into_iter().collect()))
    }

    /// An array.
    pub fn data(array: Array) -> Self {
        Self::new(NewItemKind::Data(array))
    }

    /// A fixed parameter.
    pub fn fixed_param(value: i64) -> Self {
        Self::new(NewItemKind::Param(value))
    }

    /// A parameter that is stored in the stream as `datatype`, one of `i1`, `i2`, `i4` and `i8`.
    pub fn stored_param(value: i64, datatype: Primitive) -> Self {
        Self::new(NewItemKind::StoredParam(value, datatype))
    }

    /// The values of the stored parameters in the order of the text.
    pub fn params(&self) -> Vec<i64> {
        let mut values = Vec::new();
        // Deeper drafts than can be written are not walked to their end.
        let mut todo = vec![(self, 0)];
        while let Some((draft, depth)) = todo.pop() {
            match &draft.kind {
                NewItemKind::StoredParam(value, _) => values.push(*value),
                NewItemKind::Dict(items) if depth <= MAX_DEPTH => {
                    todo.extend(items.iter().rev().map(|(_, item)| (item, depth + 1)));
                }
                NewItemKind::List(items) if depth <= MAX_DEPTH => todo.extend(items.iter().rev().map(|item| (item, depth + 1))),
                _ => {}
            }
        }
        values
    }

    /// Puts an array under a name in which `/` leads into dicts.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the name is taken, or leads through an array.
    pub fn insert_at_path(&mut self, name: &str, array: Array) -> Result<()> {
        let taken = || Error::invalid_input(format!("{name} already exists, or leads through an array"));
        let mut here = self;
        let mut steps = name.split('/').filter(|step| !step.is_empty() && *step != ".").peekable();
        while let Some(step) = steps.next() {
            let NewItemKind::Dict(items) = &mut here.kind else { return Err(taken()) };
            let at = items.iter().position(|(known, _)| known == step);
            if steps.peek().is_none() {
                if at.is_some() {
                    return Err(taken());
                }
                items.push((step.to_owned(), Draft::data(array)));
                return Ok(());
            }
            let at = at.unwrap_or_else(|| {
                items.push((step.to_owned(), Draft::dict::<&str>([])));
                items.len() - 1
            });
            here = items.get_mut(at).map(|(_, item)| item).ok_or_else(taken)?;
        }
        Err(Error::invalid_input("an array needs a name"))
    }
}
