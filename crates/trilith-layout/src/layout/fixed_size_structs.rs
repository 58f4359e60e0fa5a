//! Structs with stored parameters that decide no length: all their instances have the same size.
//!
//! The summary block of a family is the usual one. A long array of such structs is an array like any other, in which the
//! parameters are members: none of them has to be read to find what comes after it.

use super::entries::MIN_CONDENSED_LIST;
use super::evaluator::Evaluator;
use super::model::{Dim, Layout, MemberKind, TypeId, TypeKind, TypeUse};

impl Layout {
    /// Returns the structs with stored parameters whose instances all have the same size, in order.
    pub(super) fn fixed_size_types(&self) -> Vec<TypeId> {
        let is_used = |dim: &Dim| match *dim {
            Dim::Fixed(_) => false,
            Dim::Param { param, .. } => self.param(param).fixed_value.is_none() && self.param(param).is_redeclared,
            Dim::Unbound { .. } => true,
        };
        let mut found = Vec::new();
        // The types of the members of a type come before it.
        let mut varies = vec![false; self.types.len()];
        for (number, of) in self.types.iter().enumerate() {
            let is_varying =
                |what: TypeUse| varies.get(what.ty.0 as usize) != Some(&false) || what.dims.slice(&self.dims).iter().any(is_used);
            let is_varying = match of.kind {
                TypeKind::Alias(what) => is_varying(what),
                TypeKind::Struct => {
                    let members = of.members.slice(&self.members).iter();
                    members.map(|member| member.what).any(|what| matches!(what, MemberKind::Data(what) if is_varying(what)))
                }
                TypeKind::Primitive(..) | TypeKind::Null => false,
            };
            if let Some(slot) = varies.get_mut(number) {
                *slot = is_varying;
            }
            if of.dynamic && of.kind == TypeKind::Struct && !is_varying {
                found.push(TypeId(number as u32));
            }
        }
        found
    }
}

impl Evaluator<'_> {
    /// Returns `true` if all instances of a type with stored parameters have the same size.
    pub(super) fn has_fixed_size(&self, ty: TypeId) -> bool {
        self.layout.ty(ty).dynamic && self.layout.plan.fixed_size_types.binary_search(&self.underlying_type(ty)).is_ok()
    }

    /// Returns `true` if an array has structs with stored parameters that have to be placed one by one.
    pub(super) fn is_stepped(&self, what: TypeUse) -> bool {
        self.layout.ty(what.ty).dynamic
            && !(self.has_fixed_size(what.ty) && self.count_instances(what).is_ok_and(|(count, _)| count >= MIN_CONDENSED_LIST))
    }
}
