//! Entries: items with their addresses, and datatypes spelled with byte order and offsets.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::evaluator::{Machine, Overflow};
use super::interner::Mixer;
use super::lexer::push_name;
use super::model::{Attribute, Byteorder, Dim, ItemId, MemberKind, Primitive, TypeId, TypeKind, Use};
use super::resolved_type::{ResolvedType, Structure};
use super::sizes::Members;

/// The kind of an [`Entry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// A stored parameter, or the stored length of a compressed array.
    Param,
    /// A data array.
    Data,
    /// An item of type `{}`: no data at all.
    Null,
}

impl EntryKind {
    /// `param`, `data` or `null`.
    pub fn name(self) -> &'static str {
        match self {
            EntryKind::Param => "param",
            EntryKind::Data => "data",
            EntryKind::Null => "null",
        }
    }
}

/// An item that occupies the stream, or would if no dimension were 0.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Names joined by `/`, list elements as `[i]`, members of instances as `(i).name`.
    pub path: String,
    /// The kind.
    pub kind: EntryKind,
    /// Layout address; `None` if the item has no data, or if the address is not known.
    pub address: Option<u64>,
    /// Datatype with byte order, such as `<f8`, `{a:<f8@0, b:<i4(2)@8}` or `{dynamic}`.
    pub datatype: String,
    /// Dimensions, slowest first, without those of length -1.
    pub shape: Vec<u64>,
    /// Number of bytes; `None` for a compressed array of unknown length.
    pub nbytes: Option<u64>,
    /// The value of a parameter.
    pub value: Option<i64>,
    /// The item that declares it.
    pub item: ItemId,
    /// The datatype with sizes, orders and offsets to compute with.
    pub typed: ResolvedType,
    /// Stride in bytes of a long list that is shown as one array; `None` if its elements are contiguous.
    pub stride: Option<u64>,
    /// Struct with the parameters as members, for structs with stored parameters that all have the same size.
    pub(crate) plain: Option<Arc<Structure>>,
}

impl Entry {
    /// Returns `true` if it has no bytes in the stream.
    pub fn is_empty(&self) -> bool {
        self.nbytes == Some(0)
    }
}

/// A type that cannot be spelled: too long, or its size does not fit.
pub(crate) enum Unspelled {
    Overflow,
    Long,
}

impl From<Overflow> for Unspelled {
    fn from(_: Overflow) -> Self {
        Unspelled::Overflow
    }
}

/// The places in a text of structs that were spelled already.
type Spelled = HashMap<TypeId, Range<usize>, Mixer>;

impl Machine<'_> {
    /// Appends the presented dimensions: those of the array, then those of its typedefs.
    pub(crate) fn shape(&self, what: Use, out: &mut Vec<u64>) {
        let mut what = what;
        loop {
            let dims = what.dims.of(&self.layout.dims).iter().map(|&dim: &Dim| self.dim(dim));
            out.extend(dims.filter(|&dim| dim >= 0).map(|dim| dim as u64));
            match self.layout.ty(what.ty).kind {
                TypeKind::Alias(inner) => what = inner,
                _ => return,
            }
        }
    }

    /// Returns the type at the end of a chain of typedefs.
    pub(crate) fn base(&self, ty: TypeId) -> TypeId {
        self.layout.unfolded(ty)
    }

    /// Returns `true` if an array is of type `{}`.
    pub(crate) fn is_null(&self, ty: TypeId) -> bool {
        self.layout.ty(self.base(ty)).kind == TypeKind::Null
    }

    /// Appends a primitive with its byte order.
    pub(crate) fn spell_primitive(&self, primitive: Primitive, own: Option<Byteorder>, out: &mut String) {
        if primitive.size() == 1 {
            out.push('|');
        } else if let Some(order) = self.order_of(primitive, own) {
            out.push(order.sign());
        }
        out.push_str(primitive.name());
    }

    /// The datatype of an element, typedefs unfolded, in at most this number of bytes.
    pub(crate) fn spell(&mut self, ty: TypeId, plain: bool, limit: u64) -> Result<String, Unspelled> {
        let mut out = String::new();
        self.spell_into(&mut out, ty, plain, limit, &mut Spelled::default())?;
        Ok(out)
    }

    fn spell_into(
        &mut self,
        out: &mut String,
        ty: TypeId,
        plain: bool,
        limit: u64,
        known: &mut Spelled,
    ) -> Result<(), Unspelled> {
        let ty = self.base(ty);
        let of = self.layout.ty(ty);
        match of.kind {
            TypeKind::Primitive(primitive, own) => self.spell_primitive(primitive, own, out),
            TypeKind::Null => out.push_str("{}"),
            TypeKind::Alias(_) => {}
            TypeKind::Struct if of.dynamic && !plain => out.push_str("{dynamic}"),
            TypeKind::Struct => {
                if let Some(text) = known.get(&ty).cloned() {
                    if (out.len() + text.len()) as u64 > limit {
                        return Err(Unspelled::Long);
                    }
                    out.extend_from_within(text);
                    return Ok(());
                }
                let start = out.len();
                out.push('{');
                let mut place = Members::default();
                let mut first = true;
                for member in of.members.of(&self.layout.members) {
                    let Some((size, align)) = self.member_size(member.what)? else { continue };
                    if !std::mem::take(&mut first) {
                        out.push_str(", ");
                    }
                    if out.len() as u64 > limit {
                        return Err(Unspelled::Long);
                    }
                    push_name(out, self.layout.name(member.item).unwrap_or(""));
                    out.push(':');
                    match member.what {
                        MemberKind::Data(what) => {
                            self.spell_into(out, what.ty, plain, limit, known)?;
                            let mut shape = Vec::new();
                            self.shape(what, &mut shape);
                            spell_shape(&shape, out);
                        }
                        MemberKind::Stored(id) => {
                            let param = self.layout.param(id);
                            self.spell_primitive(param.primitive, param.order, out);
                        }
                        MemberKind::Fixed(_) => {}
                    }
                    let off = place.next(size, member.placement, align).ok_or(Overflow)?;
                    if size == 0 {
                        out.push_str("@-");
                    } else {
                        out.push_str(&format!("@{off}"));
                    }
                }
                out.push('}');
                known.insert(ty, start..out.len());
            }
        }
        Ok(())
    }
}

/// Appends `(2,3)`, or nothing for a scalar.
fn spell_shape(shape: &[u64], out: &mut String) {
    for (at, dim) in shape.iter().enumerate() {
        out.push(if at == 0 { '(' } else { ',' });
        out.push_str(&dim.to_string());
    }
    if !shape.is_empty() {
        out.push(')');
    }
}

impl Attribute {
    /// The whole number that an attribute is, if it is one.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Attribute::Value(super::model::Literal::Integer(value)) => Some(*value),
            _ => None,
        }
    }
}
