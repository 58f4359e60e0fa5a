//! The datatypes of C that are numbers.

use super::{CModel, LayoutType};

/// The types of `<stdint.h>` and `<stddef.h>`.
pub(super) fn stdint_type(model: CModel, name: &str) -> Option<LayoutType> {
    let spelled = match name {
        "int8_t" | "int_least8_t" => "i1".to_owned(),
        "int16_t" | "int_least16_t" => "i2".to_owned(),
        "int32_t" | "int_least32_t" => "i4".to_owned(),
        "int64_t" | "int_least64_t" => "i8".to_owned(),
        "uint8_t" | "uint_least8_t" => "u1".to_owned(),
        "uint16_t" | "uint_least16_t" => "u2".to_owned(),
        "uint32_t" | "uint_least32_t" => "u4".to_owned(),
        "uint64_t" | "uint_least64_t" => "u8".to_owned(),
        "size_t" | "uintptr_t" => format!("u{}", model.pointer),
        "ssize_t" | "ptrdiff_t" | "intptr_t" => format!("i{}", model.pointer),
        _ => return None,
    };
    Some(LayoutType { name: spelled, is_char: false })
}

/// The types that keywords of C name.
pub(super) fn keyword_type(model: CModel, words: &[&str]) -> Option<LayoutType> {
    let count = |word: &str| words.iter().filter(|known| **known == word).count();
    let unsigned = count("unsigned") > 0;
    let complex = count("_Complex") + count("complex") > 0;
    let integer = |size: u8| format!("{}{size}", if unsigned { 'u' } else { 'i' });
    let name = match () {
        () if count("double") > 0 && count("long") > 0 => return None,
        () if count("double") > 0 => if complex { "c16" } else { "f8" }.to_owned(),
        () if count("float") > 0 => if complex { "c8" } else { "f4" }.to_owned(),
        () if complex => return None,
        () if count("bool") + count("_Bool") > 0 => "b1".to_owned(),
        () if count("char") > 0 => integer(1),
        () if count("short") > 0 => integer(2),
        () if count("long") > 1 => integer(8),
        () if count("long") == 1 => integer(model.long),
        () if count("int") + count("unsigned") + count("signed") > 0 => integer(4),
        () => return None,
    };
    Some(LayoutType { name, is_char: words == ["char"] })
}
