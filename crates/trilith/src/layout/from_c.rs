//! A layout for structs that are declared in C.
//!
//! Enough of C for the records that programs write: structs of numbers, characters, arrays and other
//! structs, `typedef`, `#define` of whole numbers. Padding is that of the usual 64-bit compilers, which
//! is also that of Dudley. Comments become documentation.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::lexer::quoted_name;
use crate::error::{Error, Result};

/// The sizes of C types that differ between machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CModel {
    /// Bytes of a `long`: 8 on UNIX, 4 on Windows.
    pub long: u8,
    /// Bytes of a pointer and of `size_t`.
    pub pointer: u8,
}

impl Default for CModel {
    fn default() -> Self {
        Self { long: 8, pointer: 8 }
    }
}

/// The layout (dialect 2025) of the structs of a C source: each is a named type; what is declared
/// outside of structs becomes an item.
///
/// ```
/// use trilith::layout::{CModel, layout_of_c};
/// let text = layout_of_c("struct cell { int id; double u[3]; /* (um/ns) */ char tag[4]; }; struct cell mesh[10];",
///     CModel::default())?;
/// assert_eq!(text, "#: dialect=2025\n\
///     cell {\n  id = i4\n  u = f8[3]  ## (um/ns)\n  tag = S1[4]\n}\nmesh = cell[10]\n");
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// [`Kind::Malformed`](crate::Kind::Malformed) with line and column for what is no declaration,
/// [`Kind::Unsupported`](crate::Kind::Unsupported) for unions, bit fields, functions and other types.
pub fn layout_of_c(source: &str, model: CModel) -> Result<String> {
    let mut reader = Reader {
        text: source,
        tokens: tokens(source)?,
        at: 0,
        model,
        out: String::from("#: dialect=2025\n"),
        types: HashMap::new(),
        unnamed: 0,
        noted: 0,
    };
    reader.file()?;
    Ok(reader.out)
}

/// Most declarations nest no deeper.
const DEPTH: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Number,
    Mark,
    Comment,
    Define,
}

#[derive(Debug, Clone, Copy)]
struct Token<'t> {
    kind: Kind,
    text: &'t str,
    at: usize,
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut at = 0;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or("");
        let end_of = |what: &str, skip: usize| rest.get(skip..).and_then(|r| r.find(what)).map(|n| n + skip);
        let (kind, len) = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if rest.starts_with("//") {
            (Kind::Comment, end_of("\n", 0).unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (Kind::Comment, end_of("*/", 2).ok_or_else(|| error(text, at, "this comment does not end"))? + 2)
        } else if c == '#' {
            (Kind::Define, end_of("\n", 0).unwrap_or(rest.len()))
        } else if is_word(c) {
            let len = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            (if c.is_ascii_digit() { Kind::Number } else { Kind::Word }, len)
        } else {
            (Kind::Mark, c.len_utf8())
        };
        found.push(Token { kind, text: rest.get(..len).unwrap_or(""), at });
        at += len.max(1);
    }
    Ok(found)
}

fn error(text: &str, at: usize, message: impl Into<String>) -> Error {
    let (line, column) = crate::span::line_column(text, at);
    Error::malformed(message.into()).at_text(line, column)
}

/// A C type as a layout spells it.
#[derive(Debug, Clone)]
struct Spelled {
    name: String,
    /// `char`, of which an array is text.
    is_char: bool,
}

struct Reader<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    at: usize,
    model: CModel,
    out: String,
    /// Declared types, by `struct x` or by the name that a typedef gave.
    types: HashMap<String, Spelled>,
    unnamed: usize,
    /// Comments before this token have been written.
    noted: usize,
}

impl<'t> Reader<'t> {
    /// The next token that is no comment.
    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at..)?.iter().find(|token| token.kind != Kind::Comment).copied()
    }

    fn next(&mut self) -> Option<Token<'t>> {
        while let Some(token) = self.tokens.get(self.at).copied() {
            self.at += 1;
            if token.kind != Kind::Comment {
                return Some(token);
            }
        }
        None
    }

    fn eat(&mut self, mark: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == mark);
        if found {
            self.next();
        }
        found
    }

    fn wrong(&self, expected: &str) -> Error {
        match self.peek() {
            Some(token) => error(self.text, token.at, format!("expected {expected}, found `{}`", shortened(token.text))),
            None => error(self.text, self.text.len(), format!("expected {expected}, found the end of the text")),
        }
    }

    fn expect(&mut self, mark: &str) -> Result<()> {
        if self.eat(mark) { Ok(()) } else { Err(self.wrong(&format!("`{mark}`"))) }
    }

    fn unsupported(&self, at: usize, what: &str) -> Error {
        let (line, column) = crate::span::line_column(self.text, at);
        Error::unsupported(format!("{what} in C source")).at_text(line, column)
    }

    fn name(&mut self) -> Result<&'t str> {
        match self.peek() {
            Some(token) if token.kind == Kind::Word => {
                self.next();
                Ok(token.text)
            }
            _ => Err(self.wrong("a name")),
        }
    }

    fn file(&mut self) -> Result<()> {
        while let Some(token) = self.peek() {
            self.noted = self.noted.max(self.at);
            if token.kind == Kind::Define {
                self.next();
                self.define(token)?;
                continue;
            }
            if self.eat(";") {
                continue;
            }
            let is_typedef = self.eat("typedef");
            let ty = self.datatype(0)?;
            self.declared(&ty, is_typedef)?;
        }
        Ok(())
    }

    /// `#define N 10` is a parameter; every other directive is passed over.
    fn define(&mut self, token: Token<'_>) -> Result<()> {
        let mut words = token.text.get(1..).unwrap_or("").split_whitespace();
        if let (Some("define"), Some(name), Some(value)) = (words.next(), words.next(), words.next())
            && words.next().is_none_or(|rest| rest.starts_with("//") || rest.starts_with("/*"))
            && let Some(value) = integer(value)
        {
            if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Ok(());
            }
            let _ = writeln!(self.out, "{} : {value}", quoted_name(name));
        }
        Ok(())
    }

    /// What stands behind a type at the top: names of types, or items.
    fn declared(&mut self, ty: &Spelled, is_typedef: bool) -> Result<()> {
        if self.eat(";") {
            return Ok(());
        }
        loop {
            let (name, spelled) = self.declarator(ty)?;
            if is_typedef {
                self.name_type(name, &spelled, ty);
            } else {
                let _ = write!(self.out, "{} = {spelled}", quoted_name(name));
            }
            let more = self.eat(",");
            if !more {
                self.expect(";")?;
            }
            if !is_typedef {
                self.docs("", true);
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// `typedef struct {…} name;` gives the struct its name, any other a name for a type.
    fn name_type(&mut self, name: &str, spelled: &str, ty: &Spelled) {
        let is_char = ty.is_char && spelled == ty.name;
        let made = if spelled == ty.name {
            spelled.to_owned()
        } else {
            let _ = writeln!(self.out, "{} {{\"\" = {spelled}}}", quoted_name(name));
            quoted_name(name)
        };
        self.types.insert(name.to_owned(), Spelled { name: made, is_char });
    }

    /// A name with pointers and dimensions: the name, and the type as a layout spells it.
    fn declarator(&mut self, ty: &Spelled) -> Result<(&'t str, String)> {
        let mut pointers = 0;
        while self.eat("*") {
            pointers += 1;
            while self.eat("const") || self.eat("restrict") || self.eat("volatile") {}
        }
        if let Some(token) = self.peek().filter(|token| token.text == "(") {
            return Err(self.unsupported(token.at, "a pointer to a function or an array"));
        }
        let name = self.name()?;
        let mut dims = Vec::new();
        while self.eat("[") {
            let token = self.next().ok_or_else(|| self.wrong("a length"))?;
            dims.push(match token.kind {
                Kind::Number => integer(token.text)
                    .ok_or_else(|| error(self.text, token.at, format!("`{}` is no length", token.text)))?
                    .to_string(),
                Kind::Word => quoted_name(token.text),
                _ => return Err(error(self.text, token.at, format!("expected a length, found `{}`", token.text))),
            });
            self.expect("]")?;
        }
        if let Some(token) = self.peek() {
            match token.text {
                ":" => return Err(self.unsupported(token.at, "a bit field")),
                "(" => return Err(self.unsupported(token.at, "a function")),
                "=" => return Err(self.unsupported(token.at, "an initial value")),
                _ => {}
            }
        }
        let pointer = format!("p{}", self.model.pointer);
        let base = match (pointers, ty.is_char, dims.is_empty()) {
            (0, true, false) => "S1",
            (0, ..) => ty.name.as_str(),
            _ => pointer.as_str(),
        };
        let shape = if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(", ")) };
        Ok((name, format!("{base}{shape}")))
    }

    /// A type, a struct of which is written as a named type; as deep as [`DEPTH`].
    fn datatype(&mut self, depth: usize) -> Result<Spelled> {
        if depth > DEPTH {
            return Err(Error::limit(format!("structs nest more than {DEPTH} deep")));
        }
        let start = self.peek().map_or(self.text.len(), |token| token.at);
        let mut words: Vec<&str> = Vec::new();
        while let Some(token) = self.peek().filter(|token| token.kind == Kind::Word) {
            match token.text {
                "const" | "volatile" | "static" | "extern" | "register" => {
                    self.next();
                }
                "struct" if words.is_empty() => {
                    self.next();
                    return self.structure(depth);
                }
                "union" => return Err(self.unsupported(token.at, "a union")),
                "enum" => {
                    self.next();
                    return self.enumeration();
                }
                "unsigned" | "signed" | "char" | "short" | "int" | "long" | "float" | "double" | "_Complex" | "complex"
                | "_Bool" | "bool" => {
                    self.next();
                    words.push(token.text);
                }
                name if words.is_empty() => {
                    self.next();
                    let known = self.types.get(name).cloned().or_else(|| self.named(name));
                    return known.ok_or_else(|| self.unsupported(token.at, &format!("type `{name}`")));
                }
                _ => break,
            }
        }
        self.plain(&words).ok_or_else(|| match words.is_empty() {
            true => self.wrong("a type"),
            false => self.unsupported(start, &format!("type `{}`", words.join(" "))),
        })
    }

    /// The types of `<stdint.h>` and `<stddef.h>`.
    fn named(&self, name: &str) -> Option<Spelled> {
        let spelled = match name {
            "int8_t" => "i1".to_owned(),
            "int16_t" => "i2".to_owned(),
            "int32_t" => "i4".to_owned(),
            "int64_t" => "i8".to_owned(),
            "uint8_t" => "u1".to_owned(),
            "uint16_t" => "u2".to_owned(),
            "uint32_t" => "u4".to_owned(),
            "uint64_t" => "u8".to_owned(),
            "size_t" | "uintptr_t" => format!("u{}", self.model.pointer),
            "ssize_t" | "ptrdiff_t" | "intptr_t" => format!("i{}", self.model.pointer),
            _ => return None,
        };
        Some(Spelled { name: spelled, is_char: false })
    }

    fn plain(&self, words: &[&str]) -> Option<Spelled> {
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
            () if count("long") == 1 => integer(self.model.long),
            () if count("int") + count("unsigned") + count("signed") > 0 => integer(4),
            () => return None,
        };
        Some(Spelled { name, is_char: words == ["char"] })
    }

    /// `enum x {…}`: an int.
    fn enumeration(&mut self) -> Result<Spelled> {
        if self.peek().is_some_and(|token| token.kind == Kind::Word) {
            self.next();
        }
        if self.eat("{") {
            while !self.eat("}") {
                self.next().ok_or_else(|| self.wrong("`}`"))?;
            }
        }
        Ok(Spelled { name: "i4".to_owned(), is_char: false })
    }

    /// `struct x {…}` or `struct x`.
    fn structure(&mut self, depth: usize) -> Result<Spelled> {
        let at = self.peek().map_or(0, |token| token.at);
        let tag = match self.peek() {
            Some(token) if token.kind == Kind::Word => {
                self.next();
                Some(token.text)
            }
            _ => None,
        };
        if !self.eat("{") {
            let tag = tag.ok_or_else(|| self.wrong("the name of a struct, or `{`"))?;
            let known = self.types.get(&format!("struct {tag}")).cloned();
            // Only a pointer can be to a struct that is not known.
            let pointer = self.peek().is_some_and(|token| token.text == "*");
            return match known {
                Some(known) => Ok(known),
                None if pointer => Ok(Spelled { name: format!("p{}", self.model.pointer), is_char: false }),
                None => Err(error(self.text, at, format!("struct {tag} is not declared before"))),
            };
        }
        let about = self.comments();
        // Types declared inside stand before this one.
        let outer = std::mem::take(&mut self.out);
        let mut body = String::new();
        while !self.eat("}") {
            if self.peek().is_none() {
                return Err(self.wrong("`}`"));
            }
            let ty = self.datatype(depth + 1)?;
            loop {
                let (name, spelled) = self.declarator(&ty)?;
                let _ = write!(body, "  {} = {spelled}", quoted_name(name));
                let more = self.eat(",");
                if !more {
                    self.expect(";")?;
                }
                std::mem::swap(&mut self.out, &mut body);
                self.docs("  ", true);
                std::mem::swap(&mut self.out, &mut body);
                if !more {
                    break;
                }
            }
        }
        let name = tag.map_or_else(|| self.typedef_name(), str::to_owned);
        let inner = std::mem::replace(&mut self.out, outer);
        self.out.push_str(&inner);
        let spelled = Spelled { name: quoted_name(&name), is_char: false };
        let docs: String = about.iter().map(|line| format!("  ## {line}\n")).collect();
        let _ = writeln!(self.out, "{} {{\n{docs}{body}}}", spelled.name);
        if let Some(tag) = tag {
            self.types.insert(format!("struct {tag}"), spelled.clone());
        }
        Ok(spelled)
    }

    /// A struct without a tag is called as its typedef or its first variable calls it.
    fn typedef_name(&mut self) -> String {
        match self.peek() {
            Some(token) if token.kind == Kind::Word && !self.types.contains_key(token.text) => token.text.to_owned(),
            _ => {
                self.unnamed += 1;
                format!("struct_{}", self.unnamed)
            }
        }
    }

    /// The lines of the comments that stand before this place and have not been taken.
    fn comments(&mut self) -> Vec<String> {
        let from = std::mem::replace(&mut self.noted, self.at);
        let mut lines = Vec::new();
        for token in self.tokens.get(from..self.at).unwrap_or(&[]).iter().filter(|token| token.kind == Kind::Comment) {
            let inside = token.text.trim_start_matches("//").trim_start_matches("/*").trim_end_matches("*/");
            let clean = inside.lines().map(|line| line.trim().trim_start_matches('*').trim());
            lines.extend(clean.filter(|line| !line.is_empty()).map(str::to_owned));
        }
        lines
    }

    /// Writes the comments since the last ones, and those that follow on the same line, as documentation.
    fn docs(&mut self, pad: &str, behind: bool) {
        let line_end = |at: usize| self.text.get(at..).and_then(|rest| rest.find('\n')).map_or(self.text.len(), |n| at + n);
        let last = self.tokens.get(self.at.saturating_sub(1)).map_or(0, |token| token.at);
        let end = line_end(last);
        while self.tokens.get(self.at).is_some_and(|token| token.kind == Kind::Comment && token.at < end) {
            self.at += 1;
        }
        let mut on_line = behind;
        for line in self.comments() {
            let _ = if on_line { writeln!(self.out, "  ## {line}") } else { writeln!(self.out, "{pad}  ## {line}") };
            on_line = false;
        }
        if on_line {
            self.out.push('\n');
        }
    }
}

/// A decimal, hexadecimal or octal number of C.
fn integer(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None if digits.len() > 1 && digits.starts_with('0') => i64::from_str_radix(digits, 8).ok(),
        None => digits.parse().ok(),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Layout, Options};

    fn made(source: &str) -> String {
        layout_of_c(source, CModel::default()).unwrap()
    }

    #[test]
    fn structs_have_the_sizes_of_c() {
        let text = made(
            "#include <stdint.h>\n#define NMAX 0x10\ntypedef struct { char a; double b; short c[NMAX]; } inner_t;\n\
             struct outer { inner_t in[2]; unsigned long long n; struct { float x, y; } p; enum color { RED, BLUE } k; \
             struct outer *next; const char *name; bool ok; int64_t t; double _Complex z; };\nstruct outer all[3];",
        );
        let layout = Layout::read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let found = layout.evaluate_with(&Options::default(), &[]).unwrap();
        let all = found.find("/all").unwrap().unwrap();
        // As a C compiler on a 64-bit UNIX lays it out, but for complex numbers, which D1 aligns to their size.
        assert!(
            all.datatype.starts_with("{in:{a:|i1@0, b:f8@8, c:i2(16)@16}(2)@0, n:u8@96, p:{x:f4@0, y:f4@4}@104, k:i4@112"),
            "{all:?}"
        );
        assert_eq!(all.shape, [3]);
    }

    #[test]
    fn comments_become_documentation() {
        let text = made("struct s {\n  // before a\n  int a; // behind a\n  /* b,\n   * long */\n  char b[4];\n};");
        let expected = "s {\n  a = i4  ## before a\n    ## behind a\n  b = S1[4]  ## b,\n    ## long\n}\n";
        assert_eq!(text, format!("#: dialect=2025\n{expected}"));
        assert!(Layout::read(text.as_bytes()).is_ok());
    }

    #[test]
    fn what_c_has_and_a_layout_has_not_is_refused_with_its_place() {
        for (source, what) in [
            ("struct s { union { int a; } u; };", "union"),
            ("struct s { int a : 3; };", "bit field"),
            ("int f(void);", "function"),
            ("struct s { void (*f)(int); };", "type `void`"),
            ("struct s { FILE *f; };", "FILE"),
            ("struct s { struct t x; };", "not declared"),
            ("struct s { int a", "expected `;`"),
            ("long double x;", "long double"),
            ("/* open", "does not end"),
        ] {
            let error = layout_of_c(source, CModel::default()).unwrap_err().to_string();
            assert!(error.contains(what), "{source}: {error}");
        }
        let deep = "struct {".repeat(100);
        assert!(layout_of_c(&deep, CModel::default()).is_err());
    }

    #[test]
    fn no_cut_source_panics() {
        let source = "#define N 3\ntypedef struct a { int x[N], *y; } a_t; /* c */ a_t all[2], one; // é";
        for cut in (0..source.len()).filter(|at| source.is_char_boundary(*at)) {
            let _ = layout_of_c(&source[..cut], CModel::default());
        }
    }
}
