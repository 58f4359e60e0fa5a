//! Identifiers that every language accepts, the same in each.

use std::collections::HashSet;

/// Words that some language keeps for itself, and names of the generated helpers.
const RESERVED_WORDS: &str = " abstract alignas alignof and and_eq as asm assert async auto await become bitand bitor bool box break case catch char \
    char8_t char16_t char32_t class co_await co_return co_yield compl complex concept const const_cast consteval constexpr constinit \
    continue crate decltype def default del delete do double dyn dynamic_cast elif else enum error except explicit export extern extra \
    false file final finally float fn for friend from global goto if impl import in inline int is lambda let long loop macro match mod \
    module move mut mutable namespace new noexcept none nonlocal not not_eq nullptr operator or or_eq override pass path priv private \
    protected pub public raise ref register reinterpret_cast requires restrict return self short signed sizeof static static_assert \
    static_cast struct super switch template this thread_local throw trait true try type typedef typeid typename typeof union unsafe \
    unsigned unsized use using values virtual void volatile wchar_t where while with xor xor_eq yield ";

/// Longest identifier; Fortran allows 63 characters.
const MAX_IDENTIFIER_LEN: usize = 40;

/// Returns an identifier that is like a name.
pub(super) fn to_identifier(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    let mut out = out.trim_end_matches('_').to_owned();
    out.truncate(MAX_IDENTIFIER_LEN);
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, 'v');
    }
    if RESERVED_WORDS.contains(&format!(" {} ", out.to_ascii_lowercase())) {
        out.push('_');
    }
    out
}

/// Identifiers that were given; Fortran does not distinguish the case.
#[derive(Default)]
pub(super) struct UsedIdentifiers(HashSet<String>);

impl UsedIdentifiers {
    /// Returns an identifier like `name` that no other has.
    pub(super) fn unique_identifier(&mut self, name: &str) -> String {
        let plain = to_identifier(name);
        let mut out = plain.clone();
        let mut number = 2;
        while !self.0.insert(out.to_ascii_lowercase()) {
            out = format!("{plain}_{number}");
            number += 1;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_everywhere() {
        let mut taken = UsedIdentifiers::default();
        let names = ["/g/x", "/\"\".time", "/l[0]", "/NX", "/nx", "/for", "/\"ü 1\"", "/9"];
        let made: Vec<String> = names.iter().map(|name| taken.unique_identifier(name)).collect();
        assert_eq!(made, ["g_x", "time", "l_0", "NX", "nx_2", "for_", "v1", "v9"]);
    }
}
