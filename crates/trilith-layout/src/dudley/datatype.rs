//! Conversion of the datatypes of a layout to those of arrays.

use std::collections::HashMap;
use std::sync::Arc;

use crate::array::{Byteorder, Datatype, Field, StructType};
use crate::error::{Error, Result, SuggestedSetting};
use crate::layout::{PADDING_NAME, Primitive, PrimitiveKind, ResolvedMember, ResolvedStruct, ResolvedType, read_own};

/// Returns the datatype of an array's elements and their byte order. For text the fastest dimension is the length
/// of each string: it is removed from `shape`. Without dimensions a string has one unit.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the byte order is not known (E403), and
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for strings of 2³² units and for structs with stored
/// parameters, whose instances are separate items.
pub fn datatype_of(typed: &ResolvedType, shape: &mut Vec<u64>) -> Result<(Datatype, Byteorder)> {
    convert_resolved_type(typed, shape, &mut HashMap::new())
}

/// Does the same as [`datatype_of`]. Equal structs are made once and shared, since types may double at each level.
fn convert_resolved_type(
    typed: &ResolvedType,
    shape: &mut Vec<u64>,
    known: &mut HashMap<*const ResolvedStruct, Arc<StructType>>,
) -> Result<(Datatype, Byteorder)> {
    match typed {
        ResolvedType::Primitive { primitive, byteorder } => {
            let order = match byteorder {
                Some(order) => *order,
                None if primitive.size() == 1 => Byteorder::NATIVE,
                None => {
                    let message = "E403: byte order unknown: no < or > in the layout, and no Dudley signature";
                    return Err(Error::invalid_input(message).setting("", SuggestedSetting::Byteorder));
                }
            };
            Ok((convert_primitive(*primitive, shape)?, order))
        }
        // Recursion is bounded by the nesting limit of structs.
        ResolvedType::Struct(structure) => {
            if let Some(made) = known.get(&Arc::as_ptr(structure)) {
                return Ok((Datatype::Struct(made.clone()), Byteorder::NATIVE));
            }
            let mut fields = Vec::with_capacity(structure.members.len());
            for (number, member) in structure.members.iter().enumerate() {
                if number + 1 == structure.members.len() && number > 0 && is_padding(member) {
                    continue;
                }
                let mut dims = member.shape.clone();
                let (datatype, byteorder) = convert_resolved_type(&member.datatype, &mut dims, known)?;
                // A member without data has no place: it is seen as empty at the start.
                let offset = member.offset.unwrap_or(0);
                fields.push(Field::new(read_own(&member.name), datatype, byteorder).with_shape(dims).with_offset(offset));
            }
            let made = Arc::new(StructType::with_offsets(fields, structure.size)?);
            known.insert(Arc::as_ptr(structure), made.clone());
            Ok((Datatype::Struct(made), Byteorder::NATIVE))
        }
        ResolvedType::Null => Ok((Datatype::Struct(Arc::new(StructType::with_offsets(Vec::new(), 0)?)), Byteorder::NATIVE)),
        ResolvedType::Dynamic => {
            Err(Error::unsupported("a struct with stored parameters is not an array: each instance has its own size")
                .hint("its members are items: NAME.member, or NAME(i).member in an array"))
        }
    }
}

/// Returns `true` if the last member of a struct only fills it up to its size.
fn is_padding(member: &ResolvedMember) -> bool {
    let is_bytes = |typed: &ResolvedType| {
        typed.primitive().is_some_and(|primitive| (primitive.kind(), primitive.size()) == (PrimitiveKind::Unsigned, 1))
    };
    member.name == PADDING_NAME && member.shape.len() == 1 && is_bytes(&member.datatype)
}

fn convert_primitive(primitive: Primitive, shape: &mut Vec<u64>) -> Result<Datatype> {
    use PrimitiveKind as K;
    let mut text = |name: &str| Datatype::with_length(name, shape.pop().unwrap_or(1));
    let kind = match (primitive.kind(), primitive.size()) {
        (K::Ascii, _) => return text("ascii"),
        (K::Unicode, 1) => return text("utf8"),
        (K::Unicode, 2) => return text("ucs2"),
        (K::Unicode, _) => return text("ucs4"),
        (K::Unsigned | K::Pointer, _) => 'u',
        (K::Signed, _) => 'i',
        (K::Float, _) => 'f',
        (K::Complex, _) => 'c',
        (K::Bool, _) => 'b',
    };
    let unknown = || Error::unsupported(format!("there is no datatype of the elements {}", primitive.name()));
    Datatype::numeric(kind, primitive.size()).ok_or_else(unknown)
}
