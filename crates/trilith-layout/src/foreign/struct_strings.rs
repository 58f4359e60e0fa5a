//! Structs of which some members are made of what is stored: the struct that is read, and its parts.

use std::sync::Arc;

use crate::array::{Byteorder, Datatype, Field, StructType};
use crate::error::{Error, Result};
use crate::layout::{PartKind, PartMove};

/// Parts of a struct.
pub(super) const MAX_PARTS: usize = 1 << 12;

/// The treatment of a member.
pub(super) enum MemberTreatment {
    /// The struct that is read lacks the member.
    Dropped,
    /// The member is read as it is stored.
    Kept,
    /// Each of the `count` parts of the member is decoded; the parts are contiguous, with `stored` bytes each.
    Derived { datatype: Datatype, shape: Vec<u64>, kind: PartKind, count: u64, stored: u64 },
}

impl MemberTreatment {
    /// Strings of a member, each made of as many bytes as it has.
    pub(super) fn strings_attribute(field: &Field, kind: PartKind) -> Self {
        let (datatype, shape) = (field.datatype.clone(), field.shape.clone());
        Self::Derived { stored: datatype.item_size(), datatype, shape, kind, count: field.count() }
    }

    /// Numbers that a filter decodes, all at once.
    pub(super) fn numbers(datatype: Datatype, shape: Vec<u64>, filter: usize) -> Self {
        Self::Derived { datatype, shape, kind: PartKind::Filter(filter as u64), count: 1, stored: 0 }
    }
}

/// The struct that is read, and the parts of it; `tell` returns the treatment of the member at a byte of an
/// element. As deep as types nest.
///
/// # Errors
/// Returns `Unsupported` for structs of too many parts.
pub(super) fn decoded_struct(
    fields: &StructType,
    first: u64,
    tell: &dyn Fn(&Field, u64) -> Result<MemberTreatment>,
) -> Result<(StructType, Vec<PartMove>)> {
    let (mut made, mut parts, mut to) = (Vec::new(), Vec::new(), 0u64);
    for field in fields.fields() {
        let mut shown = field.clone().with_offset(to);
        let at = first.saturating_add(field.offset);
        if let Datatype::Struct(inner) = &field.datatype {
            let (inner_shown, inner_parts) = decoded_struct(inner, at, tell)?;
            for n in 0..field.count() {
                let (from, into) = (n.saturating_mul(inner.item_size()), n.saturating_mul(inner_shown.item_size()));
                let moved =
                    |part: &PartMove| PartMove { from: field.offset + from + part.from, to: to + into + part.to, ..*part };
                parts.extend(inner_parts.iter().map(moved));
                ensure_part_count(parts.len())?;
            }
            shown.datatype = Datatype::Struct(Arc::new(inner_shown));
        } else {
            match tell(field, at)? {
                MemberTreatment::Dropped => continue,
                MemberTreatment::Kept => {
                    let len = field.count().saturating_mul(field.datatype.item_size());
                    parts.push(PartMove { kind: PartKind::Bytes, from: field.offset, to, len });
                }
                MemberTreatment::Derived { datatype, shape, kind, count, stored } => {
                    (shown.datatype, shown.shape, shown.byteorder) = (datatype, shape, Byteorder::Little);
                    let read = shown.count().saturating_mul(shown.datatype.item_size()) / count.max(1);
                    for n in 0..count.min(MAX_PARTS as u64 + 1) {
                        let (from, to) = (field.offset + n.saturating_mul(stored), to + n.saturating_mul(read));
                        parts.push(PartMove { kind, from, to, len: read });
                    }
                }
            }
            ensure_part_count(parts.len())?;
        }
        to = to.saturating_add(shown.count().saturating_mul(shown.datatype.item_size()));
        made.push(shown);
    }
    Ok((StructType::with_offsets(made, to)?, parts))
}

fn ensure_part_count(parts: usize) -> Result<()> {
    if parts > MAX_PARTS {
        return Err(Error::unsupported(format!(
            "structs of more than {MAX_PARTS} parts, of which some are not read as they are stored"
        )));
    }
    Ok(())
}
