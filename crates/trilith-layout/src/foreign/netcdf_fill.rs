//! Fill values of the netCDF library: elements that were never written, if a variable has no `_FillValue`.

use crate::array::{Byteorder, Datatype, DeclaredNumber};

/// Returns the fill value of a type of netCDF, which `netcdf.h` calls `NC_FILL_…`; none of a type that is not a number.
pub(super) fn fill_value(datatype: &Datatype) -> Option<DeclaredNumber> {
    let whole = |number: i128| DeclaredNumber::Int(number);
    Some(match datatype {
        Datatype::Int8 => whole(-127),
        Datatype::Uint8 => whole(u8::MAX.into()),
        Datatype::Int16 => whole(-32_767),
        Datatype::Uint16 => whole(u16::MAX.into()),
        Datatype::Int32 => whole(-2_147_483_647),
        Datatype::Uint32 => whole(u32::MAX.into()),
        Datatype::Int64 => whole(-9_223_372_036_854_775_806),
        Datatype::Uint64 => whole(18_446_744_073_709_551_614),
        // 2^123 * 1.875
        Datatype::Float32 | Datatype::Float64 => DeclaredNumber::Float(9.969_209_968_386_869e36),
        _ => return None,
    })
}

/// Returns the bytes of the fill value of a type of netCDF.
pub(super) fn fill_bytes(datatype: &Datatype, order: Byteorder) -> Option<Vec<u8>> {
    let size = usize::try_from(datatype.item_size()).ok()?;
    let mut bytes = match (fill_value(datatype)?, datatype) {
        (DeclaredNumber::Int(value), _) => value.to_le_bytes().get(..size)?.to_vec(),
        (DeclaredNumber::Float(value), Datatype::Float32) => (value as f32).to_le_bytes().to_vec(),
        (DeclaredNumber::Float(value), _) => value.to_le_bytes().to_vec(),
    };
    if order == Byteorder::Big {
        bytes.reverse();
    }
    Some(bytes)
}
