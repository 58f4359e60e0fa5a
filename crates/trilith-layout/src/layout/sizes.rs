//! Sizes and alignments that follow from the text alone, and the arithmetic of dimensions.

use super::model::{Dim, Layout, MemberKind, Placement, TypeDef, TypeKind, TypeUse};
use super::spec_decisions;

/// The length of a dimension whose parameter is `value` with a suffix (section 5.1): 0 and -1 ignore
/// the suffix, and no suffix makes a length negative.
pub(crate) fn apply_suffix(value: i64, suffix: i8) -> i64 {
    if value <= 0 { value } else { value.saturating_add(i64::from(suffix)).max(0) }
}

/// The factor that a dimension contributes: 1 if it is removed.
pub(crate) fn dim_factor(dim: i64) -> u64 {
    if dim < 0 { 1 } else { dim as u64 }
}

/// The next multiple of `align`, a power of two or 0 or 1.
pub(crate) fn round_up(at: u64, align: u64) -> Option<u64> {
    if align <= 1 {
        return Some(at);
    }
    Some(at.checked_add(align - 1)? & !(align - 1))
}

/// The value of a dimension that depends on no stored parameter.
fn constant_dim(layout: &Layout, dim: Dim) -> Option<i64> {
    match dim {
        Dim::Fixed(value) => Some(value),
        Dim::Param { param, suffix } => layout.param(param).fixed_value.map(|value| apply_suffix(value, suffix)),
        Dim::Unbound { .. } => None,
    }
}

/// The size of an array that depends on no stored parameter.
pub(crate) fn constant_use(layout: &Layout, what: TypeUse) -> Option<u64> {
    let mut size = layout.ty(what.ty).size?;
    for &dim in what.dims.slice(&layout.dims) {
        size = size.checked_mul(dim_factor(constant_dim(layout, dim)?))?;
    }
    Some(size)
}

/// The size of a type, if it depends on no stored parameter.
pub(crate) fn constant_size(layout: &Layout, ty: &TypeDef) -> Option<u64> {
    match ty.kind {
        TypeKind::Primitive(primitive, _) => Some(primitive.size()),
        TypeKind::Null => Some(0),
        TypeKind::Alias(what) => constant_use(layout, what),
        TypeKind::Struct if ty.dynamic => None,
        TypeKind::Struct => {
            let mut place = StructLayout::default();
            for member in ty.members.slice(&layout.members) {
                if let MemberKind::Data(what) = member.what {
                    place.place_next(constant_use(layout, what)?, member.placement, layout.ty(what.ty).align)?;
                }
            }
            place.struct_size(ty.align)
        }
    }
}

/// Section 5.5: the offsets of the members of a struct, one after another.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StructLayout {
    off: u64,
    end: u64,
}

impl StructLayout {
    /// The offset of the next member; `None` on overflow. Members without data go through here too,
    /// and have no effect; their offset means nothing.
    pub(crate) fn place_next(&mut self, size: u64, placement: Placement, align: u64) -> Option<u64> {
        if size == 0 && spec_decisions::EMPTY_LEAVES_CURSOR {
            return Some(self.off);
        }
        let off = self.next_offset(placement, align)?;
        self.off = off.checked_add(size)?;
        self.end = self.end.max(self.off);
        Some(off)
    }

    /// Returns the offset of the next member with data.
    pub(crate) fn next_offset(&self, placement: Placement, align: u64) -> Option<u64> {
        place_at(self.off, placement, align)
    }

    /// The size of the struct.
    pub(crate) fn struct_size(&self, align: u64) -> Option<u64> {
        if spec_decisions::STRUCT_SIZE_PADDED { round_up(self.end, align) } else { Some(self.end) }
    }
}

/// Returns the address of an item with data if the cursor is at `at`, or `None` on overflow.
pub(crate) fn place_at(at: u64, placement: Placement, align: u64) -> Option<u64> {
    match placement {
        Placement::At(address) => Some(address),
        Placement::Align(align) => round_up(at, align),
        Placement::Next => round_up(at, align),
    }
}

/// Returns the alignment that a member gives its struct (section 5.4).
pub(crate) fn member_align(placement: Placement, align: u64) -> u64 {
    match placement {
        Placement::At(_) => spec_decisions::PLACED_MEMBER_ALIGNMENT,
        Placement::Align(align) => align.max(1),
        Placement::Next => align.max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_minus_one_ignore_suffixes() {
        assert_eq!([apply_suffix(0, 1), apply_suffix(-1, 5), apply_suffix(1, -2), apply_suffix(3, 2)], [0, -1, 0, 5]);
        assert_eq!(apply_suffix(i64::MAX, 31), i64::MAX);
    }

    #[test]
    fn rounding_up_is_checked() {
        assert_eq!(round_up(9, 8), Some(16));
        assert_eq!(round_up(u64::MAX, 2), None);
        assert_eq!(round_up(u64::MAX, 1), Some(u64::MAX));
    }
}
