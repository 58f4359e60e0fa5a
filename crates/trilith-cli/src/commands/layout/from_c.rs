//! A layout for structs that are declared in C.
//!
//! Enough of C for the records that programs write: structs of numbers, characters, arrays and other
//! structs, `typedef`, `#define` of whole numbers. Padding is that of the usual 64-bit compilers, which
//! is also that of Dudley. Comments become documentation.

mod attributes;
mod conditions;
mod constant_expr;
mod enums;
mod symbol_table;
mod structs;
mod summary_block;
mod lexer;
mod types;

use std::collections::HashMap;
use std::fmt::Write as _;

use trilith::layout::quoted_name;
use trilith::{Error, Result, line_column};

use conditions::{COMPILER, select_active_tokens, split_first_word};
use constant_expr::evaluate;
use symbol_table::SymbolTable;
pub(super) use summary_block::LengthMember;
use structs::{Members, split_type};
use summary_block::SummaryBlock;
use lexer::{TokenKind, Token, malformed_at, tokenize_source};

/// The sizes of C types that differ between machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CModel {
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

/// The result of [`read_c`] for a C source.
#[derive(Debug)]
pub(super) struct Converted {
    /// The layout of what it could say.
    pub text: String,
    /// The reasons why other declarations were left out, with their places.
    pub left_out: Vec<Error>,
    /// `true` if one of these is a variable, which is a part of the file.
    pub lacks_variable: bool,
    /// Assumptions that were made.
    pub notes: Vec<String>,
}

/// Returns the layout (dialect 2025) of the structs of a C source: each is a named type, and a declaration outside
/// of structs becomes an item. Constructs that no layout has are left out, and so are their uses: unions, bit
/// fields, functions, other types.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](trilith::ErrorKind::Malformed) with line and column for an invalid declaration,
/// and [`ErrorKind::Unsupported`](trilith::ErrorKind::Unsupported) for a condition that cannot be evaluated, for a variable
/// after one that has no layout, and for declarations of C++.
///
/// With `lengths` the layout is a template: their struct is the summary block, and items follow it as `fwrite` writes them.
/// `defines` are macros, as `-D` of a compiler has them: `NAME` or `NAME=VALUE`.
pub(super) fn read_c(source: &str, model: CModel, lengths: &[LengthMember], defines: &[String]) -> Result<Converted> {
    // The macros are defined first, but their text comes last, so that positions in the source stay unchanged.
    let mut text = source.to_owned();
    for define in defines {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        let is_name = split_first_word(name) == (name, "") && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !is_name || value.contains(['\n', '\r']) {
            return Err(Error::invalid_input(format!("{define:?} is not a macro")).hint("write -D NAME or -D NAME=VALUE"));
        }
        let _ = write!(text, "\n#define {name} {value}");
    }
    let (given, own): (Vec<_>, Vec<_>) = tokenize_source(&text)?.into_iter().partition(|token| token.offset >= source.len());
    let found = select_active_tokens(&text, &[given, own].concat())?;
    let mut reader = Parser {
        text: &text,
        tokens: found.tokens,
        position: 0,
        model,
        output: String::from("#: dialect=2025\n"),
        types: SymbolTable::default(),
        constants: SymbolTable::default(),
        omitted: Vec::new(),
        unnamed: 0,
        reported: 0,
        summary: SummaryBlock::new(lengths)?,
        macros: found.unknown.into_iter().map(|name| (name, None)).collect(),
        lost: None,
        is_refused: false,
        expansions: 0,
        forward: Vec::new(),
        pack: None,
        outer_packs: Vec::new(),
    };
    reader.parse_file()?;
    let text = reader.summary.into_layout(reader.output)?;
    Ok(Converted { text, left_out: reader.omitted, lacks_variable: reader.lost.is_some(), notes: found.notes })
}

/// Largest nesting of declarations.
const MAX_DEPTH: usize = 64;
/// Macros that are expanded at most.
const EXPANSIONS: usize = 10_000;

/// A C type as a layout spells it.
#[derive(Debug, Clone)]
struct LayoutType {
    name: String,
    /// `char`, of which an array is text.
    is_char: bool,
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    position: usize,
    model: CModel,
    output: String,
    /// Declared types, by `struct x` or by the name that a typedef gave.
    types: SymbolTable<LayoutType>,
    /// The values of macros and enumerators.
    constants: SymbolTable<i64>,
    omitted: Vec<Error>,
    unnamed: usize,
    /// Comments before this token have been written.
    reported: usize,
    summary: SummaryBlock,
    /// The words and signs that macros stand for, other than numbers; None for a macro that is not always defined.
    macros: HashMap<&'t str, Option<Vec<(TokenKind, &'t str)>>>,
    /// The reason why a variable was left out: those after it have no known place.
    lost: Option<String>,
    /// `true` if a variable after one without a layout was found, which refuses the source.
    is_refused: bool,
    /// Number of macros that were expanded.
    expansions: usize,
    /// Names that typedefs give to structs before their members are declared.
    forward: Vec<(String, String)>,
    /// The largest alignment of members by `#pragma pack`, and those that it was pushed over.
    pack: Option<u64>,
    outer_packs: Vec<Option<u64>>,
}

impl<'t> Parser<'t> {
    /// The next token that is not a comment.
    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.position..)?.iter().find(|token| token.kind != TokenKind::Comment).copied()
    }

    /// The next token but one that is not a comment, if the next one is a mark.
    fn peek_after(&self, mark: &str) -> Option<Token<'t>> {
        let mut next = self.tokens.get(self.position..)?.iter().filter(|token| token.kind != TokenKind::Comment);
        next.next().filter(|token| token.text == mark).and_then(|_| next.next()).copied()
    }

    fn next_token(&mut self) -> Option<Token<'t>> {
        while let Some(token) = self.tokens.get(self.position).copied() {
            self.position += 1;
            if token.kind != TokenKind::Comment {
                return Some(token);
            }
        }
        None
    }

    fn consume_if(&mut self, mark: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == mark);
        if found {
            self.next_token();
        }
        found
    }

    fn unexpected_token(&self, expected: &str) -> Error {
        match self.peek() {
            Some(token) => malformed_at(self.text, token.offset, format!("expected {expected}, found `{}`", truncate(token.text))),
            None => malformed_at(self.text, self.text.len(), format!("expected {expected}, found the end of the text")),
        }
    }

    fn expect_mark(&mut self, mark: &str) -> Result<()> {
        if self.consume_if(mark) { Ok(()) } else { Err(self.unexpected_token(&format!("`{mark}`"))) }
    }

    fn unsupported_error(&self, at: usize, what: &str) -> Error {
        let (line, column) = line_column(self.text, at);
        Error::unsupported(format!("{what} in C source")).at_text(line, column)
    }

    /// Expands the macros at this place; fails for one whose meaning is not known here.
    fn expand_macros(&mut self) -> Result<()> {
        while let Some(token) = self.peek().filter(|token| token.kind == TokenKind::Identifier)
            && let Some(body) = self.macros.get(token.text)
        {
            let Some(body) = body.clone() else {
                return Err(self
                    .unsupported_error(token.offset, &format!("the macro `{}`", token.text))
                    .hint(format!("let the compiler expand it: {COMPILER}")));
            };
            self.expansions += 1;
            if self.expansions > EXPANSIONS {
                return Err(Error::limit(format!("more than {EXPANSIONS} macros are expanded")));
            }
            let at = self.tokens.iter().skip(self.position).position(|token| token.kind != TokenKind::Comment).map_or(self.position, |n| self.position + n);
            self.tokens.splice(at..=at, body.into_iter().map(|(kind, text)| Token { kind, text, offset: token.offset }));
        }
        Ok(())
    }

    /// The next token, with macros expanded.
    fn peek_expanded(&mut self) -> Result<Option<Token<'t>>> {
        self.expand_macros()?;
        Ok(self.peek())
    }

    /// The name after `struct` or `enum`, if it has one.
    fn parse_tag(&mut self) -> Result<Option<&'t str>> {
        let token = self.peek_expanded()?.filter(|token| token.kind == TokenKind::Identifier);
        if token.is_some() {
            self.next_token();
        }
        Ok(token.map(|token| token.text))
    }

    fn parse_name(&mut self) -> Result<&'t str> {
        match self.peek_expanded()? {
            Some(token) if token.kind == TokenKind::Identifier => {
                self.next_token();
                Ok(token.text)
            }
            _ => Err(self.unexpected_token("a name")),
        }
    }

    fn parse_file(&mut self) -> Result<()> {
        let mut blocks = 0usize;
        while let Some(token) = self.peek() {
            self.reported = self.reported.max(self.position);
            if token.kind == TokenKind::Directive {
                self.next_token();
                self.parse_directive(token)?;
                continue;
            }
            if self.consume_if(";") || self.eat_static_assert() {
                continue;
            }
            // `extern "C" { … }` declares no data.
            if self.eat_linkage() {
                blocks += usize::from(self.consume_if("{"));
                continue;
            }
            if blocks > 0 && self.consume_if("}") {
                blocks -= 1;
                continue;
            }
            if token.text == "_Pragma" {
                return Err(self.unsupported_error(token.offset, "`_Pragma`").hint("write it as a line that begins with #pragma"));
            }
            if let "namespace" | "class" | "template" | "using" = token.text {
                return Err(self
                    .unsupported_error(token.offset, &format!("`{}` of C++", token.text))
                    .hint("take the structs that are in the file out of it, as C has them"));
            }
            self.parse_declaration()?;
        }
        Ok(())
    }

    /// Goes after an assertion about a constant.
    fn eat_static_assert(&mut self) -> bool {
        let is_found = self.peek().is_some_and(|token| matches!(token.text, "_Static_assert" | "static_assert"));
        if is_found {
            self.skip_declaration();
        }
        is_found
    }

    /// Reads one declaration, or omits it if a layout cannot express all of it.
    fn parse_declaration(&mut self) -> Result<()> {
        let (start, written) = (self.position, std::mem::take(&mut self.output));
        self.types.set_savepoint();
        self.constants.set_savepoint();
        let is_typedef = self.consume_if("typedef");
        let kind = match (is_typedef, self.has_specifier("extern")) {
            (true, _) => DeclarationKind::Typedef,
            (false, true) => DeclarationKind::External,
            (false, false) => DeclarationKind::Variable,
        };
        let done = self.parse_type(0).and_then(|ty| self.declared(&ty, kind));
        // After an error the declaration writes nothing, however far it had come.
        let made = std::mem::replace(&mut self.output, written);
        match done {
            Err(error) if error.kind() == trilith::ErrorKind::Unsupported && !self.is_refused => {
                self.types.rollback();
                self.constants.rollback();
                self.position = start;
                let is_variable = self.skip_declaration() && !is_typedef;
                if is_variable && self.summary.is_enabled() {
                    return Err(match error.advice() {
                        Some(_) => error,
                        None => error.hint(
                            "every variable of the file needs its place: give each stored length, such as --length nx=mesh.nx, or \
                             take the variable out",
                        ),
                    });
                }
                let passed = self.tokens.get(start..self.position).unwrap_or(&[]);
                // A declaration with a value, or of something elsewhere, is not a part of a file.
                if is_variable && !passed.iter().any(|token| matches!(token.text, "extern" | "static" | "=")) {
                    self.lost.get_or_insert(error.to_string());
                }
                self.omitted.push(error);
                Ok(())
            }
            done => {
                self.output.push_str(&made);
                done
            }
        }
    }

    /// Goes after a declaration: its `;`, or the body of a function. Returns `true` if it declares a variable.
    fn skip_declaration(&mut self) -> bool {
        let (mut depth, mut before, mut is_body) = (0usize, "", false);
        let mut is_function = None;
        while let Some(token) = self.next_token() {
            match token.text {
                "{" => {
                    is_body |= depth == 0 && before == ")";
                    depth += 1;
                }
                "(" | "[" => {
                    let is_attribute = matches!(before, "__attribute__" | "__attribute" | "_Alignas" | "alignas");
                    if token.text == "(" && depth == 0 && !is_attribute {
                        // `void (*f)(int)` declares a pointer, which is a variable.
                        let is_pointer = self.peek().is_some_and(|next| next.text == "*");
                        let is_name = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                        is_function.get_or_insert(is_name && !is_pointer);
                    }
                    depth += 1;
                }
                "}" | ")" | "]" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && is_body && token.text == "}" {
                        return false;
                    }
                }
                ";" if depth == 0 => return is_function != Some(true) && !matches!(before, "}" | ""),
                _ => {}
            }
            before = token.text;
        }
        false
    }

    /// `extern "C"`
    fn eat_linkage(&mut self) -> bool {
        let mut next = self.tokens.get(self.position..).unwrap_or(&[]).iter().filter(|token| token.kind != TokenKind::Comment);
        let words: Vec<&str> = next.by_ref().take(2).map(|token| token.text).collect();
        let is_linkage = matches!(words.as_slice(), ["extern", language] if language.starts_with('"'));
        for _ in 0..if is_linkage { 2 } else { 0 } {
            self.next_token();
        }
        is_linkage
    }

    /// `#define N 10` is a parameter, `#define N (M + 1)` too; other macros are kept, and other directives are passed over.
    fn parse_directive(&mut self, token: Token<'t>) -> Result<()> {
        let directive = token.text.get(1..).unwrap_or("").trim_start();
        if let Some(pack) = directive.strip_prefix("pragma").and_then(|rest| rest.trim_start().strip_prefix("pack")) {
            return self.parse_pack(token, pack);
        }
        let (directive, rest) = split_first_word(directive);
        let (name, expression) = split_first_word(rest);
        if !matches!(directive, "define" | "undef") || name.is_empty() {
            return Ok(());
        }
        self.macros.remove(name);
        // A macro with a parenthesis right after its name has arguments.
        if directive == "undef" || expression.starts_with('(') {
            self.constants.remove(name);
            return Ok(());
        }
        let found = tokenize_source(expression).unwrap_or_default();
        let found: Vec<Token<'_>> = found.into_iter().filter(|token| token.kind != TokenKind::Comment).collect();
        let words: Vec<&str> = found.iter().map(|token| token.text).collect();
        if let Some(value) = evaluate(&words, &self.constants) {
            let is_new = self.constants.insert(name.to_owned(), value).is_none();
            // A value below -1 is not a parameter; a second value is written out wherever it is used.
            if value >= -1 && is_new && !self.types.contains_key(&format!("#{name}")) {
                let _ = writeln!(self.output, "{} : {value}", quoted_name(name));
                self.types.insert(format!("#{name}"), LayoutType { name: value.to_string(), is_char: false });
            }
            return Ok(());
        }
        self.constants.remove(name);
        if words != [name] {
            let body = found.iter().map(|token| (token.kind, token.text)).collect();
            self.macros.insert(name, Some(body));
        }
        Ok(())
    }

    /// A length in brackets: the name of a parameter, or a number.
    fn array_length(&mut self) -> Result<String> {
        let at = self.peek().map_or(self.text.len(), |token| token.offset);
        let mut words = Vec::new();
        let mut depth = 0usize;
        while let Some(token) = self.peek().filter(|token| depth > 0 || token.text != "]") {
            match token.text {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                ";" | "{" | "}" => return Err(self.unexpected_token("`]`")),
                _ => {}
            }
            words.push(token.text);
            self.next_token();
        }
        if let ([name], Some(known)) = (words.as_slice(), words.first().and_then(|name| self.types.get(&format!("#{name}"))))
            && self.constants.get(name).map(i64::to_string).as_ref() == Some(&known.name)
        {
            return Ok(quoted_name(name));
        }
        if let Some(stored) = self.summary.length_expr(&words, &self.constants) {
            return Ok(stored);
        }
        match evaluate(&words, &self.constants) {
            Some(value) if value >= 0 => Ok(value.to_string()),
            Some(value) => Err(malformed_at(self.text, at, format!("the length {value} is negative"))),
            None if words.is_empty() => Err(self.unsupported_error(at, "an array without a length")),
            None => {
                let error = self.unsupported_error(at, &format!("the length `{}`, which is not a constant here,", truncate(&words.join(" "))));
                let names = words.iter().filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
                Err(match names.copied().find(|name| !self.constants.contains_key(name)) {
                    Some("sizeof" | "alignof" | "_Alignof" | "offsetof") => error.hint("write the number that the compiler gives it"),
                    Some(name) if words.windows(2).any(|pair| pair == [name, "("]) => {
                        error.hint(format!("let the compiler expand it: {COMPILER}"))
                    }
                    Some(name) => error.hint(self.summary.advise_length(name)),
                    None => error,
                })
            }
        }
    }

    /// Returns `true` if one of the words before the next name, sign or brace is this one.
    fn has_specifier(&self, word: &str) -> bool {
        let next = self.tokens.get(self.position..).unwrap_or(&[]).iter().filter(|token| token.kind != TokenKind::Comment);
        next.take_while(|token| token.kind == TokenKind::Identifier).any(|token| token.text == word)
    }

    /// Fails for a variable or a member of a struct whose members are not known.
    fn check_complete(&self, spelled: &str) -> Result<()> {
        if !is_incomplete(spelled) {
            return Ok(());
        }
        let at = self.peek().map_or(self.text.len(), |token| token.offset);
        Err(self.unsupported_error(at, &format!("{}, which is not declared before or was left out,", split_incomplete(spelled))))
    }

    /// Reads the declarators after a type at the top: names of types, or items.
    fn declared(&mut self, ty: &LayoutType, kind: DeclarationKind) -> Result<()> {
        let is_typedef = kind == DeclarationKind::Typedef;
        if self.consume_if(";") {
            return Ok(());
        }
        loop {
            let (name, spelled, _) = self.parse_declarator(ty)?;
            if !is_typedef || spelled != ty.name {
                self.check_complete(&spelled)?;
            }
            let is_block = kind == DeclarationKind::Variable && self.summary.claims_variable(name, &spelled)?;
            if is_typedef {
                self.name_type(name, &spelled, ty);
            } else if kind == DeclarationKind::External {
                let at = self.peek().map_or(self.text.len(), |token| token.offset);
                self.omitted.push(self.unsupported_error(at, &format!("{name}, an `extern` variable, which this source does not define,")));
            } else if !is_block {
                if let Some(lost) = &self.lost {
                    self.is_refused = true;
                    return Err(Error::unsupported(format!("the place of {name} is not known, since a variable before it has no layout: {lost}"))
                        .hint("declare that variable as an array of bytes, such as unsigned char u[8]"));
                }
                let placed = self.summary.place_like_memory(name, &spelled)?;
                let _ = write!(self.output, "{} = {placed}", quoted_name(name));
            }
            let more = self.consume_if(",");
            if !more {
                self.expect_mark(";")?;
            }
            let before = self.output.len();
            if !is_typedef {
                self.write_documentation("");
            }
            if is_block || kind == DeclarationKind::External {
                self.output.truncate(before);
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// `typedef struct {…} name;` gives the struct its name, any other a name for a type.
    fn name_type(&mut self, name: &str, spelled: &str, ty: &LayoutType) {
        if is_incomplete(spelled) {
            self.forward.push((name.to_owned(), spelled.to_owned()));
            self.types.insert(name.to_owned(), ty.clone());
            return;
        }
        let is_char = ty.is_char && spelled == ty.name;
        let made = if spelled == ty.name {
            spelled.to_owned()
        } else {
            let _ = writeln!(self.output, "{} {{\"\" = {spelled}}}", quoted_name(name));
            quoted_name(name)
        };
        self.summary.insert_typedef(name, spelled, &made);
        self.types.insert(name.to_owned(), LayoutType { name: made, is_char });
    }

    /// A name with pointers and dimensions: the name, the type as a layout spells it, and its alignment if attributes pack it.
    fn parse_declarator(&mut self, ty: &LayoutType) -> Result<(&'t str, String, Option<u64>)> {
        let mut pointers = 0;
        while self.consume_if("*") {
            pointers += 1;
            while self.consume_if("const") || self.consume_if("restrict") || self.consume_if("volatile") {}
        }
        match self.peek() {
            Some(token) if token.text == "(" => return Err(self.unsupported_error(token.offset, "a pointer to a function or an array")),
            Some(token) if matches!(token.text, ";" | ",") => return Err(self.unsupported_error(token.offset, "a member without a name")),
            Some(token) if token.text == ":" => return Err(self.unsupported_error(token.offset, "a bit field")),
            Some(token) if token.text == "&" => return Err(self.unsupported_error(token.offset, "a reference of C++")),
            Some(token) if pointers == 0 && ty.name == VOID_TYPE => return Err(self.unsupported_error(token.offset, "type `void`")),
            _ => {}
        }
        let name = self.parse_name()?;
        let mut dims = Vec::new();
        while self.peek_after("[").is_some_and(|next| next.text != "[") {
            self.next_token();
            dims.push(self.array_length()?);
            self.expect_mark("]")?;
        }
        let attributes = self.parse_attributes()?;
        if let Some(token) = self.peek() {
            match token.text {
                ":" => return Err(self.unsupported_error(token.offset, "a bit field")),
                "(" => return Err(self.unsupported_error(token.offset, "a function")),
                "=" => return Err(self.unsupported_error(token.offset, "an initial value")),
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
        // A compiler aligns a complex number as its parts, and a layout of 2025 as the whole (D1).
        let placement = match base {
            "c8" => " %4",
            "c16" => " %8",
            _ => "",
        };
        Ok((name, format!("{base}{shape}{placement}"), attributes.is_packed.then_some(1)))
    }

    /// A type, a struct of which is written as a named type; as deep as [`MAX_DEPTH`].
    fn parse_type(&mut self, depth: usize) -> Result<LayoutType> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("structs nest more than {MAX_DEPTH} deep")));
        }
        let start = self.peek().map_or(self.text.len(), |token| token.offset);
        let mut words: Vec<&str> = Vec::new();
        self.parse_attributes_before_type()?;
        while let Some(token) = self.peek_expanded()?.filter(|token| token.kind == TokenKind::Identifier) {
            match token.text {
                "const" | "volatile" | "static" | "extern" | "register" | "inline" | "__inline" | "__inline__" | "_Noreturn"
                | "__extension__" | "__const" | "__volatile__" => {
                    self.next_token();
                }
                "__attribute__" | "__attribute" => self.parse_attributes_before_type()?,
                "_Alignas" | "alignas" => return Err(self.unsupported_error(token.offset, &format!("`{}`", token.text))),
                "void" if words.is_empty() => {
                    self.next_token();
                    return Ok(LayoutType { name: VOID_TYPE.to_owned(), is_char: false });
                }
                "struct" if words.is_empty() => {
                    self.next_token();
                    return self.parse_struct(depth);
                }
                // `union u;` declares nothing.
                "union" if self.is_forward_declaration() => {
                    self.next_token();
                    self.next_token();
                    return Ok(LayoutType { name: VOID_TYPE.to_owned(), is_char: false });
                }
                "union" => return Err(self.unsupported_error(token.offset, "a union")),
                "enum" => {
                    self.next_token();
                    return self.parse_enum(depth);
                }
                "unsigned" | "signed" | "char" | "short" | "int" | "long" | "float" | "double" | "_Complex" | "complex"
                | "_Bool" | "bool" => {
                    self.next_token();
                    words.push(token.text);
                }
                name if words.is_empty() => {
                    self.next_token();
                    // In C++ the tag of a struct is a type.
                    let known = self.types.get(name).or_else(|| self.types.get(&format!("{INCOMPLETE}{name}"))).cloned();
                    let known = known.or_else(|| types::stdint_type(self.model, name));
                    return known.ok_or_else(|| {
                        let hint = format!("declare it before, or let the compiler read the headers that do: {COMPILER}");
                        self.unsupported_error(token.offset, &format!("type `{name}`")).hint(hint)
                    });
                }
                _ => break,
            }
        }
        types::keyword_type(self.model, &words).ok_or_else(|| match words.is_empty() {
            true => self.unexpected_token("a type"),
            false => self.unsupported_error(start, &format!("type `{}`", words.join(" "))),
        })
    }

    /// `struct x {…}` or `struct x`.
    fn parse_struct(&mut self, depth: usize) -> Result<LayoutType> {
        let mut attributes = self.parse_attributes()?;
        let tag = self.parse_tag()?;
        if let Some(token) = self.peek().filter(|token| token.text == ":") {
            return Err(self.unsupported_error(token.offset, "a struct with a base of C++"));
        }
        if !self.consume_if("{") {
            let tag = tag.ok_or_else(|| self.unexpected_token("the name of a struct, or `{`"))?;
            let known = self.types.get(&format!("struct {tag}")).cloned();
            // An unknown struct is allowed only as the target of a pointer.
            let pointer = self.peek().is_some_and(|token| token.text == "*");
            return match known {
                Some(known) => Ok(known),
                None if pointer => Ok(LayoutType { name: format!("p{}", self.model.pointer), is_char: false }),
                None => Ok(LayoutType { name: format!("{INCOMPLETE}{tag}"), is_char: false }),
            };
        }
        let about = self.take_comments();
        // Types declared inside come before this one.
        let outer = std::mem::take(&mut self.output);
        let mut declared = Vec::new();
        while !self.consume_if("}") {
            let Some(token) = self.peek() else { return Err(self.unexpected_token("`}`")) };
            if token.kind == TokenKind::Directive {
                self.next_token();
                self.parse_directive(token)?;
                continue;
            }
            if self.eat_static_assert() {
                continue;
            }
            let ty = self.parse_type(depth + 1)?;
            loop {
                let (name, spelled, packed) = self.parse_declarator(&ty)?;
                self.check_complete(&spelled)?;
                let more = self.consume_if(",");
                if !more {
                    self.expect_mark(";")?;
                }
                let outer = std::mem::take(&mut self.output);
                self.write_documentation("  ");
                let docs = std::mem::replace(&mut self.output, outer);
                declared.push((name, spelled, packed, docs));
                if !more {
                    break;
                }
            }
        }
        attributes.add(self.parse_attributes()?);
        let largest = if attributes.is_packed { Some(1) } else { self.pack };
        let (mut body, mut members) = (String::new(), Members::default());
        // A member without elements moves the next one to its alignment.
        let mut moved_align = 1;
        for (name, spelled, packed, docs) in declared {
            let (base, dims) = split_type(&spelled);
            let usual = self.summary.align_of(base);
            let align = packed.or(largest).map_or(usual, |largest| usual.min(largest)).max(moved_align);
            moved_align = if self.is_empty_array(dims) { align } else { 1 };
            let _ = write!(body, "  {} = {base}{dims}{}{docs}", quoted_name(name), self.summary.print_placement(base, align));
            members.push_member(name, &spelled, align, &docs, &self.constants);
        }
        let name = tag.map_or_else(|| self.typedef_name(), str::to_owned);
        let inner = std::mem::replace(&mut self.output, outer);
        self.output.push_str(&inner);
        let spelled = LayoutType { name: quoted_name(&name), is_char: false };
        let docs: String = about.iter().map(|line| format!("  ## {line}\n")).collect();
        let text = format!("{} {{\n{docs}{body}}}\n", spelled.name);
        self.output.push_str(&text);
        self.summary.insert_struct(&spelled.name, members, docs, text);
        if let Some(tag) = tag {
            let incomplete = format!("{INCOMPLETE}{tag}");
            let (named, forward) = std::mem::take(&mut self.forward).into_iter().partition(|(_, known)| *known == incomplete);
            self.forward = forward;
            self.types.insert(incomplete, spelled.clone());
            let named: Vec<(String, String)> = named;
            named.iter().for_each(|(name, _)| self.name_type(name, &spelled.name, &spelled));
        }
        Ok(spelled)
    }

    /// Returns `true` if dimensions leave no element.
    fn is_empty_array(&self, dims: &str) -> bool {
        let mut dims = dims.trim_matches(['[', ']']).split(',').map(str::trim);
        dims.any(|dim| dim == "0" || self.constants.get(dim) == Some(&0))
    }

    /// Returns `true` for `union u;`.
    fn is_forward_declaration(&self) -> bool {
        let next = self.tokens.get(self.position..).unwrap_or(&[]).iter().filter(|token| token.kind != TokenKind::Comment);
        next.take(3).map(|token| token.text).nth(2) == Some(";")
    }

    /// A struct without a tag is called as its typedef or its first variable calls it.
    fn typedef_name(&mut self) -> String {
        match self.peek() {
            Some(token) if token.kind == TokenKind::Identifier && !self.types.contains_key(token.text) => token.text.to_owned(),
            _ => {
                self.unnamed += 1;
                format!("struct_{}", self.unnamed)
            }
        }
    }

    /// The comment lines before this place that are not used yet.
    fn take_comments(&mut self) -> Vec<String> {
        let from = std::mem::replace(&mut self.reported, self.position);
        let mut lines = Vec::new();
        for token in self.tokens.get(from..self.position).unwrap_or(&[]).iter().filter(|token| token.kind == TokenKind::Comment) {
            let inside = token.text.trim_start_matches("//").trim_start_matches("/*").trim_end_matches("*/");
            let clean = inside.lines().map(|line| line.trim().trim_start_matches('*').trim());
            lines.extend(clean.filter(|line| !line.is_empty()).map(str::to_owned));
        }
        lines
    }

    /// Writes the comments since the last ones, and those that follow on the same line, as documentation.
    fn write_documentation(&mut self, pad: &str) {
        let line_end = |at: usize| self.text.get(at..).and_then(|rest| rest.find('\n')).map_or(self.text.len(), |n| at + n);
        let last = self.tokens.get(self.position.saturating_sub(1)).map_or(0, |token| token.offset);
        let end = line_end(last);
        while self.tokens.get(self.position).is_some_and(|token| token.kind == TokenKind::Comment && token.offset < end) {
            self.position += 1;
        }
        let mut on_line = true;
        for line in self.take_comments() {
            let _ = if on_line { writeln!(self.output, "  ## {line}") } else { writeln!(self.output, "{pad}  ## {line}") };
            on_line = false;
        }
        if on_line {
            self.output.push('\n');
        }
    }
}

/// The sort of a declaration at the top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeclarationKind {
    /// Names of types.
    Typedef,
    /// Variables, which are in the file.
    Variable,
    /// Variables that another source defines.
    External,
}

/// The start of the type of a struct whose members are not declared yet. No layout has a name with a space.
const INCOMPLETE: &str = "struct ";

/// Returns `true` for a struct whose members are not declared yet, and arrays of it.
fn is_incomplete(spelled: &str) -> bool {
    spelled.starts_with(INCOMPLETE)
}

/// The name of a struct whose members are not declared, without dimensions.
fn split_incomplete(spelled: &str) -> &str {
    spelled.split('[').next().unwrap_or(spelled)
}

/// The type of nothing, to which only pointers lead.
const VOID_TYPE: &str = "void";

fn truncate(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]
mod tests {
    use super::*;
    use trilith::layout::{Layout, EvaluateOptions};

    /// The layout, or the first thing that it cannot say.
    fn layout_of_c(source: &str) -> Result<String> {
        let made = read_c(source, CModel::default(), &[], &[])?;
        made.left_out.into_iter().next().map_or(Ok(made.text), Err)
    }

    fn made(source: &str) -> String {
        layout_of_c(source).unwrap()
    }

    #[test]
    fn struct_layout_matches_c_compiler() {
        let text = made(
            "#include <stdint.h>\n#define NMAX 0x10\ntypedef struct { char a; double b; short c[NMAX]; } inner_t;\n\
             struct outer { inner_t in[2]; unsigned long long n; struct { float x, y; } p; enum color { RED, BLUE } k; \
             struct outer *next; const char *name; bool ok; int64_t t; double _Complex z; };\nstruct outer all[3];",
        );
        let layout = Layout::read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let found = layout.evaluate_with(&EvaluateOptions::default(), &[]).unwrap();
        let all = found.find("/all").unwrap().unwrap();
        // The layout is that of a C compiler on 64-bit UNIX.
        assert!(
            all.datatype.starts_with("{in:{a:|i1@0, b:f8@8, c:i2(16)@16}(2)@0, n:u8@96, p:{x:f4@0, y:f4@4}@104, k:i4@112"),
            "{all:?}"
        );
        assert_eq!(all.shape, [3]);
    }

    fn with_macros(source: &str, defines: &[&str]) -> Result<Converted> {
        let defines: Vec<String> = defines.iter().map(|define| (*define).to_owned()).collect();
        read_c(source, CModel::default(), &[], &defines)
    }

    #[test]
    fn conditional_takes_one_branch() {
        let real = "#ifdef USE_DOUBLE\ntypedef double real;\n#else\ntypedef float real;\n#endif\nreal x[3];\n";
        let defined = format!("#define USE_DOUBLE\n{real}");
        let included = format!("#include <stdint.h>\n#include <math.h>\n#define USE_DOUBLE 1\n{real}");
        for (source, defines, expected) in [
            (defined.as_str(), &[][..], "x = f8[3]"),
            (included.as_str(), &[], "x = f8[3]"),
            (real, &[], "x = f4[3]"),
            (real, &["USE_DOUBLE"], "x = f8[3]"),
            ("#if 0\nint x;\n#elif 1\nlong x;\n#elif 1\nchar x;\n#else\nshort x;\n#endif", &[], "x = i8"),
            ("#if 0\n#if 1\nint y;\n#else\nint z;\n#endif don't\n#else\nint x;\n#endif", &[], "x = i4"),
            ("#if !defined(A) && (N) > 2 - 1 // both\nint x;\n#else\nlong x;\n#endif", &["N=2"], "x = i4"),
            ("#define N (M + 1)\n#define M 3\n#if N == 4 && \\\n  defined M\nint x;\n#endif", &[], "x = i4"),
            ("struct s {\n#ifdef A\n int a;\n#else\n double b;\n#endif\n};\nstruct s x;", &["A"], "s {\n  a = i4\n}\nx = s"),
            ("#define A\n#undef A\n#ifdef A\nint x;\n#else\nlong x;\n#endif", &[], "x = i8"),
            ("#ifndef LAYOUT\nint y;\n#endif\n#ifdef LAYOUT\nint x;\n#endif", &[], "x = i4"),
            ("#ifdef __cplusplus\nextern \"C\" {\n#endif\nint x;\n#ifdef __cplusplus\n}\n#endif", &[], "x = i4"),
            ("#ifndef _H\n#define _H\n#include \"a.h\"\nint x;\n#endif // _H", &[], "x = i4"),
            ("#include \"a.h\"\n#ifdef __GNUC__\n#define UNUSED __attribute__((unused))\n#endif\nint x;", &[], "x = i4"),
            ("#define real double\nreal x[2];", &[], "x = f8[2]"),
            ("typedef float real;\n#define real const long\nreal x;", &[], "x = i8"),
            ("#define N 3\n#undef N\n#define N 5\nint x[N];", &[], "x = i4[5]"),
            ("const char *u = \"http://a\"; int x;", &[], "x = i4"),
            // A backslash continues a comment.
            ("// one \\\nint y;\nint x;", &[], "x = i4  ## one \\\n  ## int y;"),
            ("#define N 3 // one \\\r\n#define N 4\r\nint x[N];", &[], "x = i4[N]"),
        ] {
            let made = with_macros(source, defines).unwrap_or_else(|e| panic!("{source}: {e}"));
            let lines = made.text.lines().filter(|line| !line.contains(" : ")).skip(1).collect::<Vec<_>>().join("\n");
            assert_eq!(lines, expected, "{source}");
            assert!(Layout::read(made.text.as_bytes()).is_ok(), "{}", made.text);
        }
        // A compiler takes a name without a meaning as undefined, which may not be what the program was compiled with.
        assert_eq!(with_macros(real, &[]).unwrap().notes.len(), 1);
        assert!(with_macros(&defined, &[]).unwrap().notes.is_empty());
        assert!(with_macros("#ifndef N\n#define N 3\n#endif\nint x[N];", &[]).unwrap().notes.is_empty());
    }

    #[test]
    fn undecidable_condition_errs_with_line() {
        for (source, line, what) in [
            ("#include \"a.h\"\n#ifdef A\nint x;\n#endif", 2, "-D NAME"),
            ("int y;\n#ifdef __LP64__\nlong x;\n#endif", 2, "gcc -E -DLAYOUT"),
            ("#include <limits.h>\n#if INT_MAX > 1\nlong x;\n#endif", 2, "gcc -E"),
            ("#define F(x) x\n#if F(1)\nlong x;\n#endif", 2, "gcc -E"),
            ("struct s {\n#if sizeof(long) == 8\nlong x;\n#endif\n};", 2, "gcc -E"),
            ("#if 'a' == 97\nlong x;\n#endif", 1, "gcc -E"),
            ("#if\nlong x;\n#endif", 1, "gcc -E"),
            ("#define N 3\n#ifdef _WIN32\n#define N 4\n#endif\nint x[N];", 2, "gcc -E"),
            ("#ifdef __GNUC__\n#pragma pack(1)\n#endif\nint x;", 1, "gcc -E"),
            ("#ifdef __GNUC__\n#define int long\n#endif\nint x;", 4, "the macro `int`"),
            ("#define ALIGNED __attribute__((aligned(8)))\nstruct s { int a; } ALIGNED;", 2, "aligned"),
            ("int x;\n#endif", 2, "without `#if`"),
            ("#else\nint x;", 1, "without `#if`"),
            ("int x;\n#if 1\nint y;", 2, "no `#endif`"),
            ("#ifndef A\n#error choose A\n#endif", 2, "choose A"),
        ] {
            let made = with_macros(source, &[]);
            let error = made.map_or_else(Some, |made| made.left_out.into_iter().next()).unwrap_or_else(|| panic!("{source}"));
            let text = format!("{error} {}", error.advice().map(|hint| format!("{hint:?}")).unwrap_or_default());
            assert!(text.contains(what) && text.contains(&format!("line {line},")), "{source}: {text}");
        }
        assert!(with_macros("int x;", &["1A"]).is_err() && with_macros("int x;", &["A\n=1"]).is_err());
        // Macros without end.
        let many: String = (0..200).map(|n| format!("#define a{n} a{} a{}\n", n + 1, n + 1)).collect();
        assert!(with_macros(&format!("{many}#if a0\nint x;\n#endif"), &[]).is_err());
        assert!(with_macros("#define a b\n#define b a\na x;", &[]).is_err());
    }

    #[test]
    fn item_after_unsupported_variable_errs() {
        let error = layout_of_c("union u { int i; };\nint a;\nunion u u;\ndouble x[4];").unwrap_err().to_string();
        assert!(error.contains("the place of x is not known") && error.contains("a union"), "{error}");
        for source in ["int x;\nunion { int i; } u;", "extern union u u;\nint x;", "extern int g;\nint x;", "static const int n = 3;\nint x;"] {
            assert!(read_c(source, CModel::default(), &[], &[]).unwrap().text.ends_with("x = i4\n"), "{source}");
        }
        // Items follow each other without padding.
        for (source, expected) in [
            ("char c; int16_t k; double x[4];", "c = i1\nk = i2 %1\nx = f8[4] %1\n"),
            ("struct h { char t; int64_t n; }; struct h h; short k; double x;", "h = h\nk = i2\nx = f8 %1\n"),
            ("int n[2]; double x;", "n = i4[2]\nx = f8\n"),
            ("struct s { int n; double x[0]; char c; }; struct s a;", "s {\n  n = i4\n  x = f8[0]\n  c = i1 %8\n}\na = s\n"),
            ("typedef struct s s_t, *s_p;\nstruct s { s_t *next; int k; };\ns_t a;", "s {\n  next = p8\n  k = i4\n}\na = s\n"),
            ("struct node;\nunion u;\nint a;", "\na = i4\n"),
        ] {
            assert!(made(source).ends_with(expected), "{}", made(source));
        }
    }

    #[test]
    fn comments_become_documentation() {
        let text = made("struct s {\n  // before a\n  int a; // after a\n  /* b,\n   * long */\n  char b[4];\n};");
        let expected = "s {\n  a = i4  ## before a\n    ## after a\n  b = S1[4]  ## b,\n    ## long\n}\n";
        assert_eq!(text, format!("#: dialect=2025\n{expected}"));
        assert!(Layout::read(text.as_bytes()).is_ok());
    }

    #[test]
    fn unsupported_c_constructs_err() {
        for (source, what) in [
            ("struct s { union { int a; } u; };", "union"),
            ("struct s { int a : 3; };", "bit field"),
            ("int f(void);", "function"),
            ("struct s { void (*f)(int); };", "a pointer to a function"),
            ("struct s { FILE *f; };", "FILE"),
            ("struct s { struct t x; };", "not declared"),
            ("struct s { int a", "expected `;`"),
            ("struct s { int a[M]; };", "not a constant"),
            ("struct s { int a[-1]; };", "negative"),
            ("#pragma pack(3)\nstruct s { char c; int a; };", "`#pragma pack(3)`"),
            ("#pragma pack(push, name, 1)\nstruct s { int a; };", "`#pragma pack(push, name, 1)`"),
            ("struct s { char c; int a; } __attribute__((aligned(16)));", "`__attribute__((aligned))`"),
            ("struct s { int a __attribute__((mode(DI))); };", "`__attribute__((mode))`"),
            ("struct s { __attribute__((packed)) int a; };", "before a type"),
            ("struct s { _Alignas(16) int a; };", "`_Alignas`"),
            ("[[gnu::packed]] struct s { char c; int a; };", "before a type"),
            ("struct [[gnu::aligned(16)]] s { int a; };", "`[[aligned]]`"),
            ("struct s { int a [[gnu::mode(DI)]]; };", "`[[mode]]`"),
            ("_Pragma(\"pack(1)\") struct s { char c; int a; };", "`_Pragma`"),
            ("struct s { int a[sizeof(int)]; };", "the length `sizeof ( int )`"),
            ("#define SQ(x) ((x) * (x))\nstruct s { int a[SQ(2)]; };", "the length `SQ ( 2 )`"),
            ("struct s { struct { int a; }; };", "a member without a name"),
            ("struct s { int : 3; };", "a bit field"),
            ("struct s { int &a; };", "a reference"),
            ("struct s : t { int a; };", "a base"),
            ("struct s { double x[]; };", "without a length"),
            ("struct s { __int128 a; };", "`__int128`"),
            ("struct s { wchar_t a; };", "`wchar_t`"),
            ("struct s { _Float16 a; };", "`_Float16`"),
            ("enum e { A = sizeof(int) }; struct s { enum e a; };", "the enumerator `A`"),
            ("struct s { enum f a; };", "enum f"),
            ("namespace a { struct s { int a; }; }", "`namespace` of C++"),
            ("class s { int a; };", "`class` of C++"),
            ("using real = double;", "`using` of C++"),
            ("long double x;", "long double"),
            ("/* open", "does not end"),
        ] {
            let error = layout_of_c(source).unwrap_err().to_string();
            assert!(error.contains(what), "{source}: {error}");
        }
        let deep = "struct {".repeat(100);
        assert!(layout_of_c(&deep).is_err());
    }

    #[test]
    fn attributes_in_brackets_match_those_in_parentheses() {
        for (brackets, parentheses) in [
            ("struct [[gnu::packed]] s { char c; int a; };", "struct __attribute__((packed)) s { char c; int a; };"),
            ("struct s { char c; int a[2] [[gnu::packed]]; };", "struct s { char c; int a[2] __attribute__((packed)); };"),
            ("struct [[deprecated(\"x\")]] s { [[maybe_unused]] int a; };", "struct s { int a; };"),
            // In C++ the tag is a type.
            ("struct s { int a; };\ns x;", "struct s { int a; };\nstruct s x;"),
        ] {
            assert_eq!(made(brackets), made(parentheses), "{brackets}");
        }
    }

    #[test]
    fn unknown_length_names_way_out() {
        for (source, what) in [
            ("struct s { int a[sizeof(int)]; };", "the number that the compiler gives"),
            ("#define SQ(x) ((x) * (x))\nstruct s { int a[SQ(2)]; };", "gcc -E"),
            ("struct s { int a[n]; };", "--length n=mesh.n"),
        ] {
            let error = read_c(source, CModel::default(), &[], &[]).unwrap().left_out.remove(0);
            let hint = error.advice().map(|hint| format!("{hint:?}")).unwrap_or_default();
            assert!(hint.contains(what), "{source}: {hint}");
        }
    }

    #[test]
    fn unsupported_declarations_are_omitted_with_reason() {
        let source = "#define MAXNAME (32)\n#define TWICE (2 * MAXNAME) /* both */\n#define MIN(a, b) ((a) < (b) ? (a) : (b))\n\
            #define LOW -5\nextern \"C\" {\nenum kind { GAS, DUST = 4, STARS };\nunion u { int a; float b; };\n\
            struct flags { unsigned on : 1; };\nint count(struct part *p);\nstatic int two(void) { if (1) { return 2; } return 1; }\n\
            struct part { char name[MAXNAME]; double x[TWICE / 4 + 1], y[STARS]; enum kind k; };\n\
            struct bad { struct flags f; };\ntypedef enum { A, B } letter;\nletter l[B + 1];\nstruct part parts[10];\n}\n";
        let made = read_c(source, CModel::default(), &[], &[]).unwrap();
        let expected = "#: dialect=2025\nMAXNAME : 32\nTWICE : 64\npart {\n  name = S1[MAXNAME]\n  x = f8[17]\n  y = f8[5]\n  k = i4\n}\n\
            l = i4[2]\nparts = part[10]\n";
        assert_eq!(made.text, expected);
        let why: Vec<String> = made.left_out.iter().map(ToString::to_string).collect();
        for (why, what) in why.iter().zip(["a union", "a bit field", "a function", "a function", "struct flags"]) {
            assert!(why.contains(what), "{why}");
        }
        assert_eq!(why.len(), 5, "{why:?}");
        assert!(Layout::read(made.text.as_bytes()).is_ok());
    }

    #[test]
    fn struct_with_lengths_becomes_summary_block() {
        let source = "#define TITLE 8\nstruct mesh { int64_t nx; /* nodes */ int32_t ny; char title[TITLE]; double time; int32_t cycle; };\n\
            struct mesh mesh;\nfloat rho[ny - 1][nx-1]; // (g/cc)\ndouble x[nx + 2];\nint n[3];\n";
        let lengths = ["NX=mesh.nx", "ny=mesh.ny"].map(|text| text.parse().unwrap());
        let source = source.replace("[nx", "[NX");
        let made = read_c(&source, CModel::default(), &lengths, &[]).unwrap();
        assert!(made.left_out.is_empty(), "{:?}", made.left_out);
        let expected = "#: dialect=2025\n{\n  NX : i8  ## nodes\n  ny : i4\n  title = S1[8]\n  time = f8\n  cycle = i4\n  _pad = u1[4]\n}\n\
            TITLE : 8\nrho = f4[ny-, NX-]  ## (g/cc)\nx = f8[NX++] %1\nn = i4[3]\n";
        assert_eq!(made.text, expected);
        let layout = Layout::read(made.text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{}", made.text));
        let mut native = EvaluateOptions::default();
        native.byteorder = Some(trilith::array::Byteorder::Little);
        let found = layout.evaluate_with(&native, &[3, 2]).unwrap();
        // sizeof(struct mesh) is 40 for C; one row of two floats follows it, then five doubles.
        let at = |path: &str| found.find(path).unwrap().unwrap().address;
        assert_eq!([at("/rho"), at("/x"), at("/n")], [Some(40), Some(48), Some(88)]);
        for (lengths, what) in [
            ("NX=mesh.n", "no member n; it has nx, ny, title, time, cycle"),
            ("NX=grid.nx", "no struct grid"),
            ("NX=mesh.time", "time is not an integer"),
        ] {
            let lengths = [lengths, "ny=mesh.ny"].map(|text| text.parse().unwrap());
            let error = read_c(&source, CModel::default(), &lengths, &[]).unwrap_err().to_string();
            assert!(error.contains(what), "{lengths:?}: {error}");
        }
        assert!("nx".parse::<LengthMember>().is_err());
    }

    /// The layout of a source with these lengths.
    fn with_lengths(source: &str, lengths: &[&str]) -> Result<String> {
        let lengths: Result<Vec<LengthMember>> = lengths.iter().map(|length| length.parse()).collect();
        Ok(read_c(source, CModel::default(), &lengths?, &[])?.text)
    }

    #[test]
    fn nested_summary_structs_are_inlined() {
        let source = "struct grid { char kind; int nx; int ny; };\nstruct part { double x; char id; };\n\
            typedef struct head { char magic[6]; struct grid grid; struct part first[2]; short id; double complex z; } head_t;\n\
            head_t head;\nhead_t other;\nfloat rho[ny][nx];\n";
        let block = "#: dialect=2025\n{\n  magic = S1[6]\n  kind = i1 %4\n  nx : i4\n  ny : i4\n  first = {\n    x = f8\n    id = i1\n  }[2]\n  \
            id = i2\n  z = c16 %8\n}\n";
        for lengths in [["nx=head.grid.nx", "ny=head.grid.ny"], ["nx=grid.nx", "ny=head_t.grid.ny"]] {
            let text = with_lengths(source, &lengths).unwrap();
            assert!(text.starts_with(block), "{text}");
            let layout = Layout::read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let mut options = EvaluateOptions::default();
            options.byteorder = Some(trilith::array::Byteorder::Little);
            let found = layout.evaluate_with(&options, &[3, 2]).unwrap();
            let at = |path: &str| found.find(path).unwrap().unwrap().address;
            // The offsets are those of gcc, in a struct of 80 bytes.
            assert_eq!([at("/kind"), at("/nx"), at("/first"), at("/id"), at("/z")], [Some(8), Some(12), Some(24), Some(56), Some(64)]);
            assert_eq!([at("/other"), at("/rho")], [Some(80), Some(160)], "{text}");
        }
        let twice = source.replace("short id;", "struct grid fine;");
        for (source, length, what) in [
            (twice.as_str(), "nx=grid.nx", "contains grid several times"),
            (source, "nx=part.x", "part is not in head"),
            (source, "nx=head.first.x", "an array of structs"),
            (source, "nx=head.grid.kind.x", "kind is not a struct"),
        ] {
            let error = with_lengths(source, &[length, "ny=head.grid.ny"]).unwrap_err().to_string();
            assert!(error.contains(what), "{length}: {error}");
        }
    }

    #[test]
    fn template_arrays_are_placed_like_fwrite() {
        let mesh = "struct mesh { unsigned nx; size_t ny; double time; };\nstruct mesh m;\n";
        let lengths = ["nx=m.nx", "ny=m.ny"];
        for (arrays, expected) in [
            // A product is as many dimensions.
            ("double rho[nx*ny];", "rho = f8[nx, ny]"),
            ("double rho[(ny-1)*(nx-1)];", "rho = f8[ny-, nx-]"),
            ("double rho[2 * nx][ny];", "rho = f8[2, nx, ny]"),
            // Arrays follow each other without padding, whatever their types are.
            ("char c[nx]; float complex z[nx]; double complex w[ny];", "c = S1[nx]\nz = c8[nx] %1\nw = c16[ny] %1"),
            ("double complex w[ny]; float complex z[nx];", "w = c16[ny] %8\nz = c8[nx]"),
            ("typedef double vec[3]; char c[nx]; vec v[ny];", "vec {\"\" = f8[3]}\nc = S1[nx]\nv = vec[ny] %1"),
            ("int n[3]; double x[nx];", "n = i4[3]\nx = f8[nx] %1"),
        ] {
            let text = with_lengths(&format!("{mesh}{arrays}"), &lengths).unwrap();
            let (_, items) = text.split_once("}\n").unwrap();
            assert_eq!(items.trim_end(), expected, "{arrays}");
            assert!(text.contains("  nx : i4\n  ny : i8\n"), "{text}");
        }
        for (arrays, what) in [
            ("double rho[nx*ny+1];", "not a constant here"),
            ("double rho[nz];", "--length nz=mesh.nz"),
            ("double rho[nx/2];", "not a constant here"),
            ("union { int a; float b; } u[nx];", "a union"),
            ("double *rho[nx], (*f)(int);", "a pointer to a function"),
        ] {
            let error = with_lengths(&format!("{mesh}{arrays}"), &lengths).unwrap_err().to_string();
            assert!(error.contains(what), "{arrays}: {error}");
        }
        for lengths in [["nx=m.nx", "nx=m.ny"], ["nx=m.nx", "n=m.nx"]] {
            assert!(with_lengths(mesh, &lengths).is_err(), "{lengths:?}");
        }
        // Types and functions have no place in a file.
        let text = with_lengths(&format!("{mesh}union u {{ int a; }};\nint f(int);\nint x[nx];"), &lengths).unwrap();
        assert!(text.ends_with("x = i4[nx]\n"), "{text}");
    }

    #[test]
    fn no_cut_source_panics() {
        let source = "#define N (1 << 2)\nenum e { P = 3, Q };\nint f(int a[]) { }\n#define M 3\ntypedef struct a { int x[N], *y; } a_t; /* c */ a_t all[2], one; // é";
        for cut in (0..source.len()).filter(|at| source.is_char_boundary(*at)) {
            let _ = layout_of_c(&source[..cut]);
        }
    }
}
