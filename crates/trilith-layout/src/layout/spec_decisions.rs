//! The choices made where the documents of Dudley are silent or contradict each other.
//!
//! Each constant is one decision (`Dn`) of section 13 of our specification of the language that is
//! not certain; changing it here changes it everywhere.

/// D1: in 2025 a complex number is aligned to its whole size, not to one of its parts.
pub(super) const COMPLEX_ALIGNED_TO_SIZE_2025: bool = true;
/// D3: an item without data leaves the cursor alone, even with `@`.
pub(super) const EMPTY_LEAVES_CURSOR: bool = true;
/// D4: what a member placed with `@` adds to the alignment of its struct.
pub(super) const PLACED_MEMBER_ALIGNMENT: u64 = 1;
/// D6: the size of a struct is rounded up to its alignment.
pub(super) const STRUCT_SIZE_PADDED: bool = true;
/// D8: in 2025 a parameter cannot be declared twice in one dict.
pub(super) const PARAM_ONCE_2025: bool = true;
/// D9: in 2025 `..` at the top is an error.
pub(super) const UP_AT_TOP_IS_ERROR_2025: bool = true;
/// D11: where the first automatic address of a native file of 2025 is.
pub(super) const NATIVE_START_2025: u64 = 16;
/// D15: `p4` and `p8` are types of 2025.
pub(super) const POINTERS_2025: bool = true;
/// D19: `i%0` copies the filter of the element that it repeats.
pub(super) const COPY_KEEPS_FILTER: bool = true;
/// D22: a compressed array without elements stores its length all the same.
pub(super) const EMPTY_COMPRESSED_STORED: bool = false;
/// D31: unsigned parameters are legal in 2025.
pub(super) const UNSIGNED_PARAMS_2025: bool = false;
/// Section 5.1: how many `+` or `-` may follow a dimension.
pub(super) const SUFFIX_MAX: i64 = 31;
