//! The names `grid_…` of attributes of the layout language, which no other module has.

use crate::suggest::nearest;

/// Start of the names.
pub(super) const GRID_PREFIX: &str = "grid_";

/// The reason for which an item cannot be read.
pub const UNREADABLE: &str = "grid_unreadable";
/// The column which an item is.
pub const COLUMN_ATTRIBUTE: &str = "grid_member";
/// The fill value of a library, which elements have that were never written.
pub const FILL_ATTRIBUTE: &str = "grid_missing";
/// The bytes of a struct at which strings begin that end at their first NUL; of an array of strings the first.
pub const ENDS_ATTRIBUTE: &str = "grid_ends";
/// A scale and an offset for each sample of an image, if they differ.
pub const FACTORS_ATTRIBUTE: &str = "grid_factors";
/// The path of an array that is 0 for each element, or each pixel, that is missing: a mask page of TIFF.
pub const VALID_ATTRIBUTE: &str = "grid_valid";
/// The fill value of a dataset.
pub const FILL_VALUE_ATTRIBUTE: &str = "grid_fill_value";
/// The name that a dimension scale states for itself.
pub const SCALE_NAME_ATTRIBUTE: &str = "grid_scale_name";
/// The scales of axes that have several: the number of the axis and the path of the scale, in turns.
pub const SCALES_ATTRIBUTE: &str = "grid_scales";
/// The bytes before an HDF5 file in its own file.
pub const USER_BLOCK_ATTRIBUTE: &str = "grid_user_block";
/// The parts of the described file that the layout does not describe, in words.
pub const OMISSIONS_ATTRIBUTE: &str = "grid_omissions";
/// The names of the axes.
pub const DIMS_ATTRIBUTE: &str = "grid_dims";
/// The attributes that are numbers of 32 bits.
pub const FLOAT32_ATTRIBUTE: &str = "grid_float32";
/// The attributes that are integers of another datatype than `int64`, each with that.
pub const INTEGERS_ATTRIBUTE: &str = "grid_integers";
/// The attributes of other datatypes, each with that.
pub const TYPES_ATTRIBUTE: &str = "grid_types";
/// The axis that became the length of strings.
pub(super) const CHARS_ATTRIBUTE: &str = "grid_chars";
/// The axes without an end.
pub(super) const UNLIMITED_ATTRIBUTE: &str = "grid_unlimited";
/// The mark of an item that is a part of another one.
pub(super) const PART_ATTRIBUTE: &str = "grid_part";
/// Other files as relative references.
pub const FILES_ATTRIBUTE: &str = "grid_files";
/// The place of each file, its first byte and how many bytes it has there.
pub const FILES_AT_ATTRIBUTE: &str = "grid_files_at";

/// The words about the storage of an array in chunks.
pub(super) mod word {
    pub(in crate::layout) const SHAPE: &str = "grid_shape";
    pub(in crate::layout) const CHUNK: &str = "grid_chunk";
    pub(in crate::layout) const TYPE: &str = "grid_type";
    pub(in crate::layout) const FILTERS: &str = "grid_filters";
    pub(in crate::layout) const FILL: &str = "grid_fill";
    pub(in crate::layout) const MASK: &str = "grid_mask";
    pub(in crate::layout) const HEAD: &str = "grid_head";
    pub(in crate::layout) const EDGE: &str = "grid_edge";
    pub(in crate::layout) const ORDER: &str = "grid_order";
    pub(in crate::layout) const NUMBERS: &str = "grid_numbers";
    pub(in crate::layout) const BYTES: &str = "grid_bytes";
    pub(in crate::layout) const BASE: &str = "grid_base";
    /// Words that are only refused.
    pub(in crate::layout) const REFUSED: [&str; 3] = ["grid_scale", "grid_offset", "grid_blank"];
}
/// The parts of which elements are made.
pub const PARTS_ATTRIBUTE: &str = "grid_strings";
/// The column with the byte offsets of chunks.
pub const OFFSETS_ATTRIBUTE: &str = "grid_at";
/// The arrays of which an array is put together.
pub const SOURCES_ATTRIBUTE: &str = "grid_sources";
/// The elements of these arrays, and their places.
pub const SLABS_ATTRIBUTE: &str = "grid_slabs";

/// The words that make an item an array in chunks: with one of them, it needs the shapes of array and chunk.
pub(super) const CHUNKING_WORDS: &[&str] = &[
    word::SHAPE,
    word::CHUNK,
    word::TYPE,
    word::FILTERS,
    word::FILL,
    word::MASK,
    word::HEAD,
    word::EDGE,
    word::ORDER,
    word::NUMBERS,
    word::BYTES,
    word::BASE,
    PARTS_ATTRIBUTE,
    OFFSETS_ATTRIBUTE,
    SOURCES_ATTRIBUTE,
    SLABS_ATTRIBUTE,
    word::REFUSED[0],
    word::REFUSED[1],
    word::REFUSED[2],
];

/// The other words.
const OTHER_WORDS: &[&str] = &[
    UNREADABLE,
    COLUMN_ATTRIBUTE,
    FILL_ATTRIBUTE,
    ENDS_ATTRIBUTE,
    OMISSIONS_ATTRIBUTE,
    CHARS_ATTRIBUTE,
    UNLIMITED_ATTRIBUTE,
    PART_ATTRIBUTE,
    FILES_ATTRIBUTE,
    FILES_AT_ATTRIBUTE,
];

/// Returns the nearest word, if one is near, for an attribute name that begins as the words do and is none of them; `None` for any
/// other name.
pub(crate) fn find_unknown_word(name: &str) -> Option<Option<&'static str>> {
    let words = || CHUNKING_WORDS.iter().chain(OTHER_WORDS).chain(ELEMENT_ATTRIBUTES).copied();
    if !name.starts_with(GRID_PREFIX) || words().any(|word| word == name) {
        return None;
    }
    // The common beginning of the words would make them all alike.
    let near = nearest(name.strip_prefix(GRID_PREFIX)?, words().filter_map(|word| word.strip_prefix(GRID_PREFIX)));
    Some(words().find(|word| word.strip_prefix(GRID_PREFIX) == near))
}

/// The attributes about the meaning of the elements, and properties of an item that are not attributes in its file.
pub const ELEMENT_ATTRIBUTES: &[&str] = &[
    DIMS_ATTRIBUTE,
    FLOAT32_ATTRIBUTE,
    INTEGERS_ATTRIBUTE,
    TYPES_ATTRIBUTE,
    FACTORS_ATTRIBUTE,
    VALID_ATTRIBUTE,
    FILL_VALUE_ATTRIBUTE,
    SCALE_NAME_ATTRIBUTE,
    SCALES_ATTRIBUTE,
    USER_BLOCK_ATTRIBUTE,
];

/// Returns `true` for an attribute about the elements and the axes of an item.
pub fn is_storage_attribute(name: &str) -> bool {
    ELEMENT_ATTRIBUTES.contains(&name) || [CHARS_ATTRIBUTE, UNLIMITED_ATTRIBUTE, FILL_ATTRIBUTE].contains(&name)
}
