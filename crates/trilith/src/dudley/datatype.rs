//! From the datatypes of a layout to those of arrays.

use std::collections::HashMap;
use std::sync::Arc;

use crate::array::{Byteorder, Datatype, Field, StructType};
use crate::error::{Error, Result, Setting};
use crate::layout::{PADDING, Primitive, PrimitiveKind, ResolvedMember, ResolvedType, Structure, read_own};

/// Returns the datatype of an array's elements and their byte order. For text the fastest dimension is the length
/// of each string: it is removed from `shape`. Without dimensions a string has one unit.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the byte order is not known (E403), and
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for strings of 2³² units and for structs with stored
/// parameters, whose instances are separate items.
pub fn datatype_of(typed: &ResolvedType, shape: &mut Vec<u64>) -> Result<(Datatype, Byteorder)> {
    converted(typed, shape, &mut HashMap::new())
}

/// Does the same as [`datatype_of`]. Equal structs are made once and shared, since types may double at each level.
fn converted(
    typed: &ResolvedType,
    shape: &mut Vec<u64>,
    known: &mut HashMap<*const Structure, Arc<StructType>>,
) -> Result<(Datatype, Byteorder)> {
    match typed {
        ResolvedType::Primitive { primitive, byteorder } => {
            let order = match byteorder {
                Some(order) => *order,
                None if primitive.size() == 1 => Byteorder::NATIVE,
                None => {
                    let message = "E403: byte order unknown: no < or > in the layout, and no Dudley signature";
                    return Err(Error::invalid_input(message).setting("", Setting::Byteorder));
                }
            };
            Ok((plain(*primitive, shape)?, order))
        }
        // As deep as the layout lets structs nest.
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
                let (datatype, byteorder) = converted(&member.datatype, &mut dims, known)?;
                // A member without data has no place: it is seen as empty at the start.
                let offset = member.offset.unwrap_or(0);
                fields.push(Field { name: Some(read_own(&member.name).into_owned()), datatype, byteorder, shape: dims, offset });
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
    member.name == PADDING && member.shape.len() == 1 && is_bytes(&member.datatype)
}

fn plain(primitive: Primitive, shape: &mut Vec<u64>) -> Result<Datatype> {
    use PrimitiveKind as K;
    let mut text = |name: &str| Datatype::with_length(name, shape.pop().unwrap_or(1));
    Ok(match (primitive.kind(), primitive.size()) {
        (K::Unsigned | K::Pointer, 1) => Datatype::Uint8,
        (K::Unsigned | K::Pointer, 2) => Datatype::Uint16,
        (K::Unsigned | K::Pointer, 4) => Datatype::Uint32,
        (K::Unsigned | K::Pointer, _) => Datatype::Uint64,
        (K::Signed, 1) => Datatype::Int8,
        (K::Signed, 2) => Datatype::Int16,
        (K::Signed, 4) => Datatype::Int32,
        (K::Signed, _) => Datatype::Int64,
        (K::Float, 2) => Datatype::Float16,
        (K::Float, 4) => Datatype::Float32,
        (K::Float, _) => Datatype::Float64,
        (K::Complex, 4) => Datatype::Complex32,
        (K::Complex, 8) => Datatype::Complex64,
        (K::Complex, _) => Datatype::Complex128,
        (K::Bool, _) => Datatype::Bool8,
        (K::Ascii, _) => text("ascii")?,
        (K::Unicode, 1) => text("utf8")?,
        (K::Unicode, 2) => text("ucs2")?,
        (K::Unicode, _) => text("ucs4")?,
    })
}
