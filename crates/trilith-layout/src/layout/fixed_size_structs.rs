//! Structs with stored parameters that decide no length: all their instances have the same size.
//!
//! The summary block of a family is the usual one. A long array of such structs is an array like any other, in which the
//! parameters are members: none of them has to be read to find what comes after it.

use super::entries::LONG_LIST;
use super::evaluator::Machine;
use super::model::{Dim, Layout, MemberKind, TypeId, TypeKind, Use};

impl Layout {
    /// Returns the structs with stored parameters whose instances all have the same size, in order.
    pub(super) fn alike_types(&self) -> Vec<TypeId> {
        let is_used = |dim: &Dim| match *dim {
            Dim::Fixed(_) => false,
            Dim::Param { param, .. } => self.param(param).fixed.is_none() && self.param(param).varying,
            Dim::Free { .. } => true,
        };
        let mut found = Vec::new();
        // The types of the members of a type come before it.
        let mut varies = vec![false; self.types.len()];
        for (number, of) in self.types.iter().enumerate() {
            let is_varying =
                |what: Use| varies.get(what.ty.0 as usize) != Some(&false) || what.dims.of(&self.dims).iter().any(is_used);
            let is_varying = match of.kind {
                TypeKind::Alias(what) => is_varying(what),
                TypeKind::Struct => {
                    let members = of.members.of(&self.members).iter();
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

impl Machine<'_> {
    /// Returns `true` if all instances of a type with stored parameters have the same size.
    pub(super) fn is_alike(&self, ty: TypeId) -> bool {
        self.layout.ty(ty).dynamic && self.layout.plan.alike.binary_search(&self.base(ty)).is_ok()
    }

    /// Returns `true` if an array has structs with stored parameters that have to be placed one by one.
    pub(super) fn is_stepped(&self, what: Use) -> bool {
        self.layout.ty(what.ty).dynamic
            && !(self.is_alike(what.ty) && self.instances(what).is_ok_and(|(count, _)| count >= LONG_LIST))
    }
}
