//! Habits of users of other languages, and the right form here.

use super::{DiagnosticCode, Dialect, LayoutParser, Token, TokenKind};

/// The primitives that go by other names elsewhere.
const FOREIGN_PRIMITIVES: &[(&str, &[&str])] = &[
    ("f8", &["float64", "double", "real8"]),
    ("f4", &["float32", "single", "real4"]),
    ("f2", &["float16", "half"]),
    ("i1", &["int8", "int8_t"]),
    ("i2", &["int16", "int16_t", "short"]),
    ("i4", &["int32", "int32_t", "int", "integer"]),
    ("i8", &["int64", "int64_t", "long"]),
    ("u1", &["uint8", "uint8_t", "byte", "uchar"]),
    ("u2", &["uint16", "uint16_t", "ushort"]),
    ("u4", &["uint32", "uint32_t", "uint", "unsigned"]),
    ("u8", &["uint64", "uint64_t", "ulong"]),
    ("c8", &["complex64"]),
    ("c16", &["complex128", "complex"]),
    ("b1", &["bool", "bool8", "boolean", "logical"]),
    ("S1", &["char", "string", "str", "ascii"]),
];

/// Returns the primitive that goes by another name elsewhere.
pub(in crate::layout) fn foreign_primitive(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    FOREIGN_PRIMITIVES.iter().find(|(_, names)| names.contains(&lower.as_str())).map(|(own, _)| *own)
}

/// Returns the right form for the name of a datatype of another language.
pub(super) fn foreign_type(name: &str, dialect: Dialect) -> Option<String> {
    let (open, close) = if dialect == Dialect::D2025 { ('[', ']') } else { ('(', ')') };
    if let Some(own) = foreign_primitive(name) {
        let text = if own == "S1" { format!(", its length is a dimension: `S1{open}80{close}`") } else { String::new() };
        return Some(format!("`{name}` is called `{own}` here{text}"));
    }
    if matches!(name.to_ascii_lowercase().as_str(), "float" | "real") {
        return Some(format!("`{name}` is `f4` if it has 4 bytes, as in C and Fortran, and `f8` if it has 8, as in Python"));
    }
    let (letter, digits) = name.split_at_checked(1)?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match letter {
        "S" | "a" => Some(format!("text of {digits} bytes is `S1{open}{digits}{close}`: the length is a dimension")),
        "U" => Some(format!("text of {digits} characters is `U4{open}{digits}{close}`: the length is a dimension")),
        "V" => Some(format!("{digits} bytes without a meaning are `u1{open}{digits}{close}`")),
        "f" if digits == "16" => Some(match dialect {
            Dialect::D2025 => "numbers of 16 bytes have no datatype: name their bytes, as `f16 {\"\" = u1[16]}`".to_owned(),
            Dialect::D2026 => "numbers of 16 bytes have no datatype: name their bytes, as `f16 {: u1(16)}`".to_owned(),
        }),
        _ => None,
    }
}

impl LayoutParser<'_> {
    /// The hint for a token that does not fit, by how it is spelled.
    pub(super) fn token_hint(&self, token: Token, code: DiagnosticCode) -> String {
        let text = token.span.slice(self.text);
        let before = self.text.get(..token.span.start as usize).unwrap_or("");
        let line = before.rsplit(['\n', '\r']).next().unwrap_or("");
        // A token that does not fit may belong to the next line.
        let said = if line.trim().is_empty() { before.trim_end().rsplit(['\n', '\r']).next().unwrap_or("") } else { line };
        if said.contains("//") {
            return "a comment begins with `#`".to_owned();
        }
        if let (DiagnosticCode::E204, Some(open)) = (code, self.unclosed.last())
            && self.text.get(open.start as usize..token.span.start as usize).is_some_and(|text| text.contains(['\n', '\r']))
        {
            let (at, column) = crate::span::line_column(self.text, open.start as usize);
            return format!("the `{}` at {at}:{column} is still open", open.slice(self.text));
        }
        let equals = if self.dialect == Dialect::D2025 { " =" } else { ":" };
        match (token.kind, text.chars().next()) {
            (TokenKind::BadCharacter, Some(';')) => "an item needs no end: leave out the `;`".to_owned(),
            (TokenKind::BadCharacter, Some(c)) if c.is_whitespace() => "write a plain blank".to_owned(),
            (TokenKind::BadCharacter, Some('“' | '”' | '„' | '‘' | '’' | '«' | '»' | '`')) => {
                "a name is quoted with \" or '".to_owned()
            }
            (TokenKind::BadNumber, _) if text.chars().any(char::is_alphabetic) => {
                format!("a name that begins with a digit is quoted: \"{text}\"")
            }
            (TokenKind::Symbol | TokenKind::Quoted, _) if code == DiagnosticCode::E202 => {
                let last = said.split_whitespace().next_back().unwrap_or("");
                format!("an item is written `{last}{equals} {text}`; a name with a blank in it is quoted")
            }
            (
                TokenKind::Minus
                | TokenKind::Plus
                | TokenKind::DotDot
                | TokenKind::Integer
                | TokenKind::Float
                | TokenKind::BadCharacter
                | TokenKind::ArrowRight,
                _,
            ) if code == DiagnosticCode::E202 => {
                let head = line.rsplit(char::is_whitespace).next().unwrap_or("");
                let rest = self.text.get(token.span.start as usize..).unwrap_or("");
                let rest = rest.split(|c: char| c.is_whitespace() || "=:/[]{}(),#\"'".contains(c)).next().unwrap_or("");
                let is_name = !head.is_empty() && !head.contains(['"', '\'']) && head.len() + rest.len() <= 40;
                let name = if is_name { format!("{head}{rest}") } else { "a-b".to_owned() };
                format!("a name of other characters than letters, digits and `_` is quoted: \"{name}\"")
            }
            (TokenKind::OpenBracket | TokenKind::OpenParen, _) if code == DiagnosticCode::E201 => {
                "the shape comes after the datatype, before `@` and `%`".to_owned()
            }
            (TokenKind::OpenBracket, _) if code == DiagnosticCode::E203 => {
                "a list is an item of a dict; a member has a shape after its datatype, as `f8[3]`, of numbers or parameters"
                    .to_owned()
            }
            (TokenKind::Colon, _) if code == DiagnosticCode::E204 => {
                "a dimension is a number of elements, without a first and a last one; indices begin with 0".to_owned()
            }
            (TokenKind::Star, _) if code == DiagnosticCode::E204 => {
                "a dimension is a number, or a parameter with + or - suffixes".to_owned()
            }
            _ => String::new(),
        }
    }
}
