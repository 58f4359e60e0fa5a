//! Patterns with `*`, `?` and `[…]` for names of files and paths of trees, and the order of the names that fit one.

use std::cmp::Ordering;

/// A pattern of parts between slashes: `*` is any text within a part, `?` one character, `[a-z]` one of a set (`[!a-z]`
/// one that is not in it), and a part `**` any number of parts.
///
/// ```
/// use trilith_io::glob::GlobPattern;
/// let pattern = GlobPattern::new("/roman/*/time");
/// assert!(pattern.matches("/roman/meta/time"));
/// assert!(!pattern.matches("/roman/meta/exposure/time"));
/// assert!(GlobPattern::new("/roman/**/time").matches("/roman/meta/exposure/time"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobPattern {
    parts: Vec<PatternPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternPart {
    /// `**`
    AnyDepth,
    One(Vec<PatternToken>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternToken {
    Char(char),
    Any,
    Some,
    Set { ranges: Vec<(char, char)>, is_negated: bool },
}

impl GlobPattern {
    /// Reads a pattern; every text is one. A `[` without `]` is a letter.
    pub fn new(text: &str) -> Self {
        let part = |part: &str| if part == "**" { PatternPart::AnyDepth } else { PatternPart::One(tokenize(part)) };
        Self { parts: text.split('/').map(part).collect() }
    }

    /// Returns `true` if a text has a mark of a pattern in it.
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '['])
    }

    /// Returns `true` if the pattern fits the whole text.
    pub fn matches(&self, text: &str) -> bool {
        let names: Vec<&str> = text.split('/').collect();
        match_tokens(
            &self.parts,
            &names,
            |part| matches!(part, PatternPart::AnyDepth),
            |part, name| match part {
                PatternPart::One(marks) => part_fits(marks, name),
                PatternPart::AnyDepth => false,
            },
        )
    }
}

/// Compares names of files, part by part between slashes, in natural order: the digits in them are numbers, so that `dump_2`
/// is before `dump_10`. All lists of files that a folder or a pattern means have this order.
///
/// ```
/// use trilith_io::glob::natural;
/// let mut names = ["d10/a", "d9/b", "d9/a2", "d9/a10", "d09/a"];
/// names.sort_by(|one, other| natural(one, other));
/// assert_eq!(names, ["d09/a", "d9/a2", "d9/a10", "d9/b", "d10/a"]);
/// ```
pub fn natural(one: &str, other: &str) -> Ordering {
    let parts = |name: &str, other: &str| -> Ordering {
        let (mut one, mut other) = (name, other);
        loop {
            let (number, another) = (leading_digits(one), leading_digits(other));
            if number.is_empty() || another.is_empty() {
                let (mut left, mut right) = (one.chars(), other.chars());
                match (left.next(), right.next()) {
                    (None, None) => return Ordering::Equal,
                    (a, b) if a != b => return a.cmp(&b),
                    _ => (one, other) = (left.as_str(), right.as_str()),
                }
                continue;
            }
            // A number with more digits, without zeros before them, is the greater one.
            let (a, b) = (number.trim_start_matches('0'), another.trim_start_matches('0'));
            match a.len().cmp(&b.len()).then_with(|| a.cmp(b)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
            (one, other) = (one.get(number.len()..).unwrap_or(""), other.get(another.len()..).unwrap_or(""));
        }
    };
    let (mut left, mut right) = (one.split('/'), other.split('/'));
    loop {
        match (left.next(), right.next()) {
            (Some(a), Some(b)) => match parts(a, b) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
            // Names that differ only in zeros before a number.
            (None, None) => return one.cmp(other),
            (a, b) => return a.cmp(&b),
        }
    }
}

/// The digits at the start of a text.
fn leading_digits(text: &str) -> &str {
    text.get(..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())).unwrap_or("")
}

/// Returns `true` if one part of a pattern fits one name.
pub fn fits(part: &str, name: &str) -> bool {
    part_fits(&tokenize(part), name)
}

fn part_fits(mut marks: &[PatternToken], name: &str) -> bool {
    let mut letters = name.chars();
    // Most names differ from a pattern in their first letters.
    while let [PatternToken::Char(wanted), rest @ ..] = marks {
        if letters.next() != Some(*wanted) {
            return false;
        }
        marks = rest;
    }
    let letters: Vec<char> = letters.collect();
    match_tokens(
        marks,
        &letters,
        |mark| *mark == PatternToken::Some,
        |mark, letter| match mark {
            PatternToken::Char(wanted) => wanted == letter,
            PatternToken::Any => true,
            PatternToken::Some => false,
            PatternToken::Set { ranges, is_negated } => {
                ranges.iter().any(|(from, to)| (from..=to).contains(&letter)) != *is_negated
            }
        },
    )
}

/// Returns `true` if a pattern fits, part by part, where some parts represent any number of things. Going back to
/// the last of these is enough, so that the time is at most the product of the lengths.
fn match_tokens<P, T>(pattern: &[P], things: &[T], is_many: impl Fn(&P) -> bool, fits: impl Fn(&P, &T) -> bool) -> bool {
    let (mut at, mut thing) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while let Some(found) = things.get(thing) {
        match (pattern.get(at), &mut last) {
            (Some(part), _) if is_many(part) => {
                last = Some((at, thing));
                at += 1;
            }
            (Some(part), _) if fits(part, found) => {
                at += 1;
                thing += 1;
            }
            (_, Some((many, from))) => {
                *from += 1;
                (at, thing) = (*many + 1, *from);
            }
            _ => return false,
        }
    }
    pattern.iter().skip(at).all(is_many)
}

fn tokenize(text: &str) -> Vec<PatternToken> {
    let mut rest = text.chars();
    let mut marks = Vec::new();
    while let Some(letter) = rest.next() {
        marks.push(match letter {
            '*' => PatternToken::Some,
            '?' => PatternToken::Any,
            '[' => match parse_letter_set(rest.as_str()) {
                Some((mark, behind)) => {
                    rest = behind.chars();
                    mark
                }
                None => PatternToken::Char('['),
            },
            letter => PatternToken::Char(letter),
        });
    }
    marks
}

/// The set after a `[`, and what follows its `]`; a `]` that comes first is a letter of the set.
fn parse_letter_set(text: &str) -> Option<(PatternToken, &str)> {
    let (is_negated, inner) = match text.strip_prefix(['!', '^']) {
        Some(inner) => (true, inner),
        None => (false, text),
    };
    let end = inner.char_indices().skip(1).find(|(_, letter)| *letter == ']')?.0;
    let letters: Vec<char> = inner.get(..end)?.chars().collect();
    let mut ranges = Vec::new();
    let mut left = letters.as_slice();
    loop {
        left = match left {
            [from, '-', to, rest @ ..] => {
                ranges.push((*from, *to));
                rest
            }
            [one, rest @ ..] => {
                ranges.push((*one, *one));
                rest
            }
            [] => break,
        };
    }
    Some((PatternToken::Set { ranges, is_negated }, inner.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_mean_what_shells_mean() {
        for (pattern, yes, no) in [
            ("*.asdf", &["x.asdf", ".asdf"][..], &["x.asdf.gz", "d/x.asdf"][..]),
            ("x?.asdf", &["x1.asdf", "xé.asdf"], &["x.asdf", "x12.asdf"]),
            ("[a-c]x", &["ax", "cx"], &["dx", "x", "-x"]),
            ("[!a-c]x", &["dx"], &["ax"]),
            ("[]x]y", &["]y", "xy"], &["[y"]),
            ("[x", &["[x"], &["x"]),
            ("a**b", &["ab", "axxb"], &["a/b"]),
            ("**/t", &["t", "a/t", "a/b/t"], &["at"]),
            ("/a/**", &["/a", "/a/b/c"], &["/b"]),
            ("/a/**/b/*/c", &["/a/b/x/c", "/a/b/b/b/x/c"], &["/a/b/c"]),
            ("*a*b*c", &["abc", "xaxbxbxc"], &["abcx"]),
        ] {
            let found = GlobPattern::new(pattern);
            for text in yes {
                assert!(found.matches(text), "{pattern} {text}");
            }
            for text in no {
                assert!(!found.matches(text), "{pattern} {text}");
            }
        }
    }

    #[test]
    fn digits_in_names_are_numbers() {
        let sorted = [
            "",
            "1",
            "2",
            "10",
            "10a",
            "a",
            "a0",
            "a00",
            "a/b",
            "a1",
            "a01",
            "a1/2",
            "a1/10",
            "a1b2",
            "a1b10",
            "a2",
            "a10",
            "a-1",
            "a.1",
            "b99999999999999999999999",
            "b100000000000000000000000",
            "é2",
            "é10",
        ];
        let mut names = sorted.to_vec();
        names.sort_by(|one, other| natural(one, other));
        // The order is total, so the order of the input does not matter.
        let once = names.clone();
        names.reverse();
        names.sort_by(|one, other| natural(one, other));
        assert_eq!(names, once);
        let place = |name: &str| once.iter().position(|known| *known == name).unwrap();
        for (before, after) in [
            ("2", "10"),
            ("10", "10a"),
            ("a2", "a10"),
            ("a1b2", "a1b10"),
            ("a1/2", "a1/10"),
            ("a1/10", "a2"),
            ("b99999999999999999999999", "b100000000000000000000000"),
            ("é2", "é10"),
        ] {
            assert!(place(before) < place(after), "{before} {after}");
        }
    }

    #[test]
    fn hostile_patterns_match_fast() {
        let pattern = GlobPattern::new(&"*a".repeat(2000));
        assert!(!pattern.matches(&"a".repeat(1999)));
        let pattern = GlobPattern::new(&"**/a/".repeat(1000));
        assert!(!pattern.matches(&"a/".repeat(900)));
    }
}
