//! The words of a layout that a [`Draft`](super::Draft) keeps for items, members and types for which it has no field.

use crate::array::Datatype;
use crate::layout::Attribute;

/// Documentation and attributes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Notes {
    /// Lines of documentation.
    pub docs: Vec<String>,
    /// Attributes.
    pub attributes: Vec<(String, Attribute)>,
}

/// A member of the structs of an array.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemberAnnotations {
    /// The names that lead to it.
    pub path: Vec<String>,
    /// The notes of the file about the member.
    pub annotations: Option<Notes>,
    /// Dimensions of the member, with the names of parameters; empty if all are numbers.
    pub shape: Vec<String>,
}

/// A named type, which is written if items use it.
#[derive(Debug, Clone, Default)]
pub struct NamedType {
    /// The notes of the file about the type.
    pub annotations: Notes,
    /// The datatype of the items that use it.
    pub example_item: Option<(Datatype, Vec<MemberAnnotations>)>,
}

/// The words about an item.
#[derive(Debug, Clone, Default)]
pub struct SourceAnnotations {
    /// Dimensions of the item, with the names of parameters; empty if all are numbers.
    pub shape: Vec<String>,
    /// The members of its structs.
    pub members: Vec<MemberAnnotations>,
    /// The type that it is declared with.
    pub type_name: Option<String>,
    /// Root only: types of the layout.
    pub types: Vec<(String, NamedType)>,
    /// Root only: annotations of the summary block.
    pub summary: Option<Notes>,
    /// Root only: number of items in the summary block.
    pub summary_len: usize,
}
