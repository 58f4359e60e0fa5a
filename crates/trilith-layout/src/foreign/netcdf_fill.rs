//! Fill values of the netCDF library: elements that were never written, if a variable has no `_FillValue`.

use super::layout_text::integer;
use crate::array::{Byteorder, Datatype};
use crate::layout::Literal;

/// Returns the fill value of a type of netCDF, which `netcdf.h` calls `NC_FILL_…`; none of a type that is no number.
pub(super) fn fill_value(datatype: &Datatype) -> Option<Literal> {
    Some(match datatype {
        Datatype::Int8 => Literal::Integer(-127),
        Datatype::Uint8 => Literal::Integer(u8::MAX.into()),
        Datatype::Int16 => Literal::Integer(-32_767),
        Datatype::Uint16 => Literal::Integer(u16::MAX.into()),
        Datatype::Int32 => Literal::Integer(-2_147_483_647),
        Datatype::Uint32 => Literal::Integer(u32::MAX.into()),
        Datatype::Int64 => Literal::Integer(-9_223_372_036_854_775_806),
        Datatype::Uint64 => integer(18_446_744_073_709_551_614),
        // 2^123 * 1.875
        Datatype::Float32 | Datatype::Float64 => Literal::Float(9.969_209_968_386_869e36),
        _ => return None,
    })
}

/// Returns the bytes of the fill value of a type of netCDF.
pub(super) fn fill_bytes(datatype: &Datatype, order: Byteorder) -> Option<Vec<u8>> {
    let size = usize::try_from(datatype.item_size()).ok()?;
    let mut bytes = match (fill_value(datatype)?, datatype) {
        (Literal::Integer(value), _) => value.to_le_bytes().get(..size)?.to_vec(),
        (Literal::Large(digits), _) => digits.parse::<u64>().ok()?.to_le_bytes().get(..size)?.to_vec(),
        (Literal::Float(value), Datatype::Float32) => (value as f32).to_le_bytes().to_vec(),
        (Literal::Float(value), _) => value.to_le_bytes().to_vec(),
        (Literal::Text(_), _) => return None,
    };
    if order == Byteorder::Big {
        bytes.reverse();
    }
    Some(bytes)
}
