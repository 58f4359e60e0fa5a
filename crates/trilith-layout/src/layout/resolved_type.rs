//! Datatypes with everything decided: sizes, byte orders and the offsets of members.

use std::collections::HashMap;
use std::sync::Arc;

use super::evaluator::{AddressOverflow, Evaluator};
use super::interner::NameHasher;
use super::model::{Byteorder, MemberKind, ParamItem, Primitive, TypeId, TypeKind};
use super::sizes::StructLayout;

/// The datatype of one element, typedefs unfolded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResolvedType {
    /// A primitive and its byte order; `None` if it is one byte wide or the order is not known.
    Primitive {
        /// Kind and size.
        primitive: Primitive,
        /// The order of its bytes.
        byteorder: Option<Byteorder>,
    },
    /// A struct whose members are at known offsets.
    Struct(Arc<ResolvedStruct>),
    /// A struct with stored parameters: every instance is laid out for itself.
    Dynamic,
    /// `{}`: nothing.
    Null,
}

/// A struct with all offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolvedStruct {
    /// The members in their order.
    pub members: Vec<ResolvedMember>,
    /// Bytes from one instance to the next.
    pub size: u64,
    /// Addresses of instances are multiples of it, unless placed otherwise.
    pub alignment: u64,
    /// Number of its members, where those of structs in it count each time they occur. A few types of two members,
    /// each of the type before, have millions.
    pub all_members: u64,
}

/// A member of a [`ResolvedStruct`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolvedMember {
    /// Name of the member.
    pub name: String,
    /// The datatype of one element.
    pub datatype: ResolvedType,
    /// Dimensions, slowest first, without those of length -1.
    pub shape: Vec<u64>,
    /// Bytes from the start of the instance; `None` for a member without data.
    pub offset: Option<u64>,
}

impl ResolvedType {
    /// Kind and size, if it is a primitive.
    pub fn primitive(&self) -> Option<Primitive> {
        match self {
            ResolvedType::Primitive { primitive, .. } => Some(*primitive),
            _ => None,
        }
    }

    /// The size of one element in bytes, which is also the stride of an array; `None` if it varies.
    pub fn size(&self) -> Option<u64> {
        match self {
            ResolvedType::Primitive { primitive, .. } => Some(primitive.size()),
            ResolvedType::Struct(structure) => Some(structure.size),
            ResolvedType::Null => Some(0),
            ResolvedType::Dynamic => None,
        }
    }
}

impl ResolvedType {
    /// [`ResolvedStruct::all_members`] of a struct, 0 of everything else.
    pub(crate) fn all_members(&self) -> u64 {
        match self {
            ResolvedType::Struct(structure) => structure.all_members,
            _ => 0,
        }
    }
}

/// The treatment of structs that have stored parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StructView {
    /// Every instance is laid out for itself: [`ResolvedType::Dynamic`].
    Dynamic,
    /// Stored parameters are members like any other.
    Plain,
}

/// Structs that have been worked out.
pub(crate) type TypeCache = HashMap<TypeId, Arc<ResolvedStruct>, NameHasher>;

impl Evaluator<'_> {
    /// The datatype of one element of a type under the parameters of the moment.
    pub(crate) fn resolve_type(
        &mut self,
        ty: TypeId,
        view: StructView,
        known: &mut TypeCache,
    ) -> Result<ResolvedType, AddressOverflow> {
        let ty = self.underlying_type(ty);
        let of = self.layout.ty(ty);
        Ok(match of.kind {
            TypeKind::Primitive(primitive, own) => {
                ResolvedType::Primitive { primitive, byteorder: self.order_of(primitive, own) }
            }
            TypeKind::Null | TypeKind::Alias(_) => ResolvedType::Null,
            TypeKind::Struct if of.dynamic && view == StructView::Dynamic => ResolvedType::Dynamic,
            TypeKind::Struct => match known.get(&ty) {
                Some(made) => ResolvedType::Struct(Arc::clone(made)),
                None => {
                    let made = Arc::new(self.resolve_struct(ty, view, known)?);
                    // A type that depends on parameters may be another struct the next time, unless it is plain.
                    if of.size.is_some() || of.dynamic {
                        known.insert(ty, Arc::clone(&made));
                    }
                    ResolvedType::Struct(made)
                }
            },
        })
    }

    /// The members of a struct; as deep as structs may nest.
    fn resolve_struct(&mut self, ty: TypeId, view: StructView, known: &mut TypeCache) -> Result<ResolvedStruct, AddressOverflow> {
        let layout = self.layout;
        let of = layout.ty(ty);
        let mut place = StructLayout::default();
        let mut members = Vec::new();
        let mut all_members = 0u64;
        for member in of.members.slice(&layout.members) {
            let mut shape = Vec::new();
            let datatype = match member.what {
                MemberKind::Data(what) => {
                    self.append_shape(what, &mut shape);
                    self.resolve_type(what.ty, view, known)?
                }
                MemberKind::Stored(id) => {
                    let ParamItem { primitive, order, .. } = *layout.param(id);
                    ResolvedType::Primitive { primitive, byteorder: self.order_of(primitive, order) }
                }
                MemberKind::Fixed(_) => continue,
            };
            all_members = all_members.saturating_add(datatype.all_members().saturating_add(1));
            let Some((size, align)) = self.member_size(member.what)? else { continue };
            let offset = place.place_next(size, member.placement, align).ok_or(AddressOverflow)?;
            let name = layout.name(member.item).unwrap_or("").to_owned();
            members.push(ResolvedMember { name, datatype, shape, offset: (size > 0).then_some(offset) });
        }
        Ok(ResolvedStruct {
            members,
            size: place.struct_size(of.align).ok_or(AddressOverflow)?,
            alignment: of.align,
            all_members,
        })
    }
}
