//! Fill values of the netCDF library: elements that were never written, if a variable has no `_FillValue`.

use crate::array::{Byteorder, Datatype};
use crate::layout::{LayoutLiteral, integer_literal};

/// Returns the fill value of a type of netCDF, which `netcdf.h` calls `NC_FILL_…`; none of a type that is not a number.
pub(super) fn fill_value(datatype: &Datatype) -> Option<LayoutLiteral> {
    Some(match datatype {
        Datatype::Int8 => LayoutLiteral::Integer(-127),
        Datatype::Uint8 => LayoutLiteral::Integer(u8::MAX.into()),
        Datatype::Int16 => LayoutLiteral::Integer(-32_767),
        Datatype::Uint16 => LayoutLiteral::Integer(u16::MAX.into()),
        Datatype::Int32 => LayoutLiteral::Integer(-2_147_483_647),
        Datatype::Uint32 => LayoutLiteral::Integer(u32::MAX.into()),
        Datatype::Int64 => LayoutLiteral::Integer(-9_223_372_036_854_775_806),
        Datatype::Uint64 => integer_literal(18_446_744_073_709_551_614_u64),
        // 2^123 * 1.875
        Datatype::Float32 | Datatype::Float64 => LayoutLiteral::Float(9.969_209_968_386_869e36),
        _ => return None,
    })
}

/// Returns the bytes of the fill value of a type of netCDF.
pub(super) fn fill_bytes(datatype: &Datatype, order: Byteorder) -> Option<Vec<u8>> {
    let size = usize::try_from(datatype.item_size()).ok()?;
    let mut bytes = match (fill_value(datatype)?, datatype) {
        (LayoutLiteral::Integer(value), _) => value.to_le_bytes().get(..size)?.to_vec(),
        (LayoutLiteral::Large(digits), _) => digits.parse::<u64>().ok()?.to_le_bytes().get(..size)?.to_vec(),
        (LayoutLiteral::Float(value), Datatype::Float32) => (value as f32).to_le_bytes().to_vec(),
        (LayoutLiteral::Float(value), _) => value.to_le_bytes().to_vec(),
        (LayoutLiteral::Text(_) | LayoutLiteral::Bytes(_), _) => return None,
    };
    if order == Byteorder::Big {
        bytes.reverse();
    }
    Some(bytes)
}
