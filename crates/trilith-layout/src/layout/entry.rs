//! Entries: items with their addresses, and datatypes spelled with byte order and offsets.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::evaluator::{AddressOverflow, Evaluator};
use super::interner::NameHasher;
use super::lexer::push_name;
use super::model::{Attribute, Byteorder, Dim, ItemId, MemberKind, Primitive, TypeId, TypeKind, TypeUse};
use super::resolved_type::{ResolvedStruct, ResolvedType};
use super::sizes::StructLayout;

/// The kind of an [`LayoutEntry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StreamEntryKind {
    /// A stored parameter, or the stored length of a compressed array.
    Param,
    /// A data array.
    Data,
    /// An item of type `{}`: no data at all.
    Null,
}

impl StreamEntryKind {
    /// `param`, `data` or `null`.
    pub fn name(self) -> &'static str {
        match self {
            StreamEntryKind::Param => "param",
            StreamEntryKind::Data => "data",
            StreamEntryKind::Null => "null",
        }
    }
}

/// An item that occupies the stream, or would if no dimension were 0.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayoutEntry {
    /// Names joined by `/`, list elements as `[i]`, members of instances as `(i).name`.
    pub path: String,
    /// The kind.
    pub kind: StreamEntryKind,
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
    pub resolved_type: ResolvedType,
    /// Stride in bytes of a long list that is shown as one array; `None` if its elements are contiguous.
    pub stride: Option<u64>,
    /// Struct with the parameters as members, for structs with stored parameters that all have the same size.
    pub(crate) is_contiguous: Option<Arc<ResolvedStruct>>,
}

impl LayoutEntry {
    /// Returns `true` if it has no bytes in the stream.
    pub fn is_empty(&self) -> bool {
        self.nbytes == Some(0)
    }
}

/// A type that cannot be spelled: too long, or its size does not fit.
pub(crate) enum SpellError {
    Overflow,
    Long,
}

impl From<AddressOverflow> for SpellError {
    fn from(_: AddressOverflow) -> Self {
        SpellError::Overflow
    }
}

/// The places in a text of structs that were spelled already.
type StructTexts = HashMap<TypeId, Range<usize>, NameHasher>;

impl Evaluator<'_> {
    /// Appends the presented dimensions: those of the array, then those of its typedefs.
    pub(crate) fn append_shape(&self, what: TypeUse, out: &mut Vec<u64>) {
        let mut what = what;
        loop {
            let dims = what.dims.slice(&self.layout.dims).iter().map(|&dim: &Dim| self.dim_length(dim));
            out.extend(dims.filter(|&dim| dim >= 0).map(|dim| dim as u64));
            match self.layout.ty(what.ty).kind {
                TypeKind::Alias(inner) => what = inner,
                _ => return,
            }
        }
    }

    /// Returns the type at the end of a chain of typedefs.
    pub(crate) fn underlying_type(&self, ty: TypeId) -> TypeId {
        self.layout.resolve_aliases(ty)
    }

    /// Returns `true` if an array is of type `{}`.
    pub(crate) fn is_null(&self, ty: TypeId) -> bool {
        self.layout.ty(self.underlying_type(ty)).kind == TypeKind::Null
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
    pub(crate) fn type_text(&mut self, ty: TypeId, plain: bool, limit: u64) -> Result<String, SpellError> {
        let mut out = String::new();
        self.push_type_text(&mut out, ty, plain, limit, &mut StructTexts::default())?;
        Ok(out)
    }

    fn push_type_text(
        &mut self,
        out: &mut String,
        ty: TypeId,
        plain: bool,
        limit: u64,
        known: &mut StructTexts,
    ) -> Result<(), SpellError> {
        let ty = self.underlying_type(ty);
        let of = self.layout.ty(ty);
        match of.kind {
            TypeKind::Primitive(primitive, own) => self.spell_primitive(primitive, own, out),
            TypeKind::Null => out.push_str("{}"),
            TypeKind::Alias(_) => {}
            TypeKind::Struct if of.dynamic && !plain => out.push_str("{dynamic}"),
            TypeKind::Struct => {
                if let Some(text) = known.get(&ty).cloned() {
                    if (out.len() + text.len()) as u64 > limit {
                        return Err(SpellError::Long);
                    }
                    out.extend_from_within(text);
                    return Ok(());
                }
                let start = out.len();
                out.push('{');
                let mut place = StructLayout::default();
                let mut first = true;
                for member in of.members.slice(&self.layout.members) {
                    let Some((size, align)) = self.member_size(member.what)? else { continue };
                    if !std::mem::take(&mut first) {
                        out.push_str(", ");
                    }
                    if out.len() as u64 > limit {
                        return Err(SpellError::Long);
                    }
                    push_name(out, self.layout.name(member.item).unwrap_or(""));
                    out.push(':');
                    match member.what {
                        MemberKind::Data(what) => {
                            self.push_type_text(out, what.ty, plain, limit, known)?;
                            let mut shape = Vec::new();
                            self.append_shape(what, &mut shape);
                            spell_shape(&shape, out);
                        }
                        MemberKind::Stored(id) => {
                            let param = self.layout.param(id);
                            self.spell_primitive(param.primitive, param.order, out);
                        }
                        MemberKind::Fixed(_) => {}
                    }
                    let off = place.place_next(size, member.placement, align).ok_or(AddressOverflow)?;
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
            Attribute::Value(super::model::LayoutLiteral::Integer(value)) => Some(*value),
            _ => None,
        }
    }
}
