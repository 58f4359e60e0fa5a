//! Fill values of the netCDF library: elements that were never written, if a variable has no `_FillValue`.

use super::text::integer;
use crate::array::Datatype;
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
