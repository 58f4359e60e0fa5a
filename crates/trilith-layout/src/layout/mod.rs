//! The Dudley layout language: text that describes where every array of a binary file is stored.
//!
//! Two dialects are read and printed: that of July 2025 (`name = dtype[shape] @address`) and that of 2026 (`name:
//! dtype(shape) -> filter @address`). [`parse`] collects errors and warnings with their places, and
//! [`Layout::evaluate`] finds the addresses for one stream. Nothing here reads a stream: the values of stored
//! parameters come through a callback.
//!
//! ```
//! use trilith_layout::layout::{Layout, EvaluateOptions};
//! let layout = Layout::read(b"
//!     NLAT : <i8          ## number of latitudes
//!     t = {a = <f8  b = <i4[2]}[NLAT]
//! ").unwrap();
//! let found = layout.evaluate_with(&EvaluateOptions::default(), &[3]).unwrap();
//! let t = found.find("/t").unwrap().unwrap();
//! assert_eq!((t.address, t.nbytes), (Some(8), Some(48)));
//! assert_eq!(t.datatype, "{a:<f8@0, b:<i4(2)@8}");
//! ```
//!
//! Uncertain points of the language are collected in `decision.rs`.

mod annotations;
mod attribute_type;
mod builder;
mod check_translation;
mod chunk_index;
mod code;
mod derived_text;
mod detect;
mod diagnostic;
mod entries;
mod entry;
mod escape;
mod evaluation;
mod evaluator;
mod find;
mod fixed_size_structs;
mod grammar;
mod grid_attributes;
mod grid_words;
mod interner;
mod item_spec;
mod lexer;
mod model;
mod note_value;
mod param_request;
mod primitive;
mod print;
mod resolved_type;
mod savepoint;
mod sizes;
mod sort_annotations;
mod spec_decisions;
mod stack;
mod static_facts;
mod storage_field;
mod suggest_fix;
mod translate;
mod unreadable;
mod walk;

pub use crate::array::Byteorder;
#[doc(hidden)]
pub use annotations::AnnotatedMember;
pub(crate) use annotations::length_of;
pub(crate) use attribute_type::AttributeType;
#[doc(hidden)]
pub use attribute_type::{BYTES_TYPE, EMPTY_TYPE, REFERENCE_TYPE};
#[doc(hidden)]
pub use attribute_type::{selected_attributes, stated_attribute_type, typed_attributes};
pub(crate) use builder::LayoutBuilder;
#[doc(hidden)]
pub use chunk_index::{ChunkIndex, IndexedArray, StoredChunk};
pub use code::{CodeLanguage, CodeOutput};
pub use detect::{ParseOptions, ParseResult, parse};
#[doc(hidden)]
pub use diagnostic::DiagnosticCode;
pub(crate) use entries::WalkExtent;
#[doc(hidden)]
pub use entries::{CondensedEntries, LayoutEntries, MIN_CONDENSED_LIST};
pub use entry::{LayoutEntry, StreamEntryKind};
#[doc(hidden)]
pub use escape::{
    ENUM_NAMES_PREFIX, ENUM_VALUES_PREFIX, LINK_ATTRIBUTE, OWNER_ATTRIBUTE, PADDING_NAME, TYPE_PREFIX, attribute_name,
    is_attribute_type, marked_name, own_attribute, own_name, own_value, read_own, read_value, split_attribute_type,
};
#[doc(hidden)]
pub use evaluation::LayoutEvaluation;
#[doc(hidden)]
pub use find::canonical as canonical_path;
#[doc(hidden)]
pub use find::{ArrayLocation, MissingName};
#[doc(hidden)]
pub use grid_attributes::{DeclaredFilePart, GridAttributes, GridTable, TypeAndDims};
pub(crate) use grid_words::find_unknown_word;
#[doc(hidden)]
pub use grid_words::{
    COLUMN_ATTRIBUTE, DIMS_ATTRIBUTE, ELEMENT_ATTRIBUTES, ENDS_ATTRIBUTE, FACTORS_ATTRIBUTE, FILES_AT_ATTRIBUTE, FILES_ATTRIBUTE,
    FILL_ATTRIBUTE, FILL_VALUE_ATTRIBUTE, FLOAT32_ATTRIBUTE, INTEGERS_ATTRIBUTE, OFFSETS_ATTRIBUTE, OMISSIONS_ATTRIBUTE,
    PARTS_ATTRIBUTE, SCALE_NAME_ATTRIBUTE, SCALES_ATTRIBUTE, SLABS_ATTRIBUTE, SOURCES_ATTRIBUTE, TYPES_ATTRIBUTE, UNREADABLE,
    USER_BLOCK_ATTRIBUTE, VALID_ATTRIBUTE, is_storage_attribute,
};
pub(crate) use item_spec::{ElementSpec, ItemSpec, TypeSpec};
#[doc(hidden)]
pub use lexer::quoted_name;
pub use model::{Attribute, ItemId, ItemKind, Layout, LayoutLiteral};
#[doc(hidden)]
pub use model::{LayoutFilter, Placement};
pub(crate) use note_value::{NoteValue, hex_text, integer_literal};
#[doc(hidden)]
pub use param_request::{EvaluateOptions, EvaluationError, ParamRequest, SuppliedValue};
#[doc(hidden)]
pub use primitive::primitive_of;
pub use primitive::{Dialect, Primitive, PrimitiveKind};
pub use resolved_type::ResolvedType;
#[doc(hidden)]
pub use resolved_type::{ResolvedMember, ResolvedStruct};
pub(crate) use stack::{EqualSpacing, StackResult};
#[doc(hidden)]
pub use storage_field::{
    DeclaredType, ElementParts, ElementType, FillValue, LibraryFill, PartKind, PartMove, StorageField, UnreadableReason,
};
pub use suggest_fix::LineCorrection;
#[doc(hidden)]
pub use translate::{ByteorderMarks, Compression, StorageOptions, TranslatedLayout};
