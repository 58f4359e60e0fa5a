//! The law of the fast reader: the events of the complete one, or none.

use proptest::prelude::*;

use super::super::CollectionStyle;
use super::super::compare_readers::{readers_agree, record_fast_events};
use super::*;
use trilith_sample::corpus_trees;

/// Holds the law for one text; whether the fast reader took it.
fn holds(text: &str) -> bool {
    readers_agree(text).unwrap_or_else(|difference| panic!("{difference}\n{text}"))
}

/// One or more strings for each production of the subset, all of which the fast reader must accept.
const TAKEN: &[&str] = &[
    "a: 1\n",
    "a: 1",
    "a:\n",
    "a:",
    "a: \n\n\nb: 2\n",
    "a:   # c\nb: 2 # d\n# e\n\n",
    "# c\n\n  # d\na: 1\n",
    "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\na: !core/x-1.0.0 {b: 1}\n...\n",
    "%YAML 1.2\n---\na: 1\n...\n# c\n\n",
    "--- 5\n...\n",
    "--- [1, 2]\n",
    "--- 'a b' # c\n",
    "--- !t\na: 1\n",
    "--- |\n  x\n",
    "- 1\n- 2\n",
    "-\n- \n- x\n-",
    "- - 1\n  - 2\n- - - 3\n",
    "-   a: 1\n    b: 2\n-   - x\n",
    "a:\n- 1\n- 2\nb:\n  - 1\n  -\n    - 2\n",
    "a:\n- b: 1\n  c:\n  - d\n- e\nf: 2\n",
    "a:\n  b:\n    c:\n      d: 1\n  e: 2\nf: 3\n",
    "a b c: d e f\n",
    "a:b: c:d\n",
    "a#b: c#d # e\n",
    "key : value\n",
    "'a b': 'it''s' # c\n\"c\\td\": \"\\u00e9\\x41 \\\"\"\n",
    "a: 'x\n  y\n\n  z'\n",
    "a: \"x \\\n  y\\n\n  z\"\n",
    "a: some long text\n  that goes on\n\n  and on\nb: 1\n",
    "- text\n  more\n- x\n",
    "text\nover\nlines\n",
    "a: it's -here\n",
    "a: |\n  x\n   y\n\n  z\n\n\nb: >-\n  f\n  g\n\n  h\n   i\nc: |+\n  k\n\n",
    "a: |\n  x",
    "a: | # c\n\n  x\n# d\nb: 1\n",
    "- |\n x\n- >+\n y\n\n- z\n",
    "a: [1, 2.5, x y, 'q', \"r\", ]\n",
    "a: [1,2,3]\nb: {x: 1, y: {z: []}, 'w': 2, \"v\":3}\n",
    "a: [1,\n  2, # c\n\n  # d\n  3]\nb: {x: 1,\n    y: 2\n  }\n",
    "a: {b: , c: }\n",
    "{a: 1, b: [x\n   y, z\n   ]}\n",
    "[[1, 2], [3, 4], [], {}]\n",
    "a: &x 1\nb: *x\nc: [*x, *x]\nd: &y {k: *x}\ne: !t &z\n  k: 1\nf: &w !t [1]\n",
    "&r\na: *r\n",
    "&k a: 1\n!t b: 2\n",
    "- !t\n  a: 1\n- &x\n  - 1\n- !!str 5\n- !<tag:x,1:y> z\n",
    "a: !t\nb: &x\nc: 1\n",
    "a: !t\n- 1\n- 2\n",
    "a:\n  !t\n  b: 1\n",
    "a: -1\nb: -.5\nc: ?x\nd: :y\n",
    "µ: é\n'ß': \"π\"\nx: [α, β]\n",
    "a: \"tab\tin quotes\" # and\there\n",
    "http://x: y\na: http://z?q=1#f\n",
    "a: {k: http://x/y, t: 12:30:45}\n",
    "<<: {a: 1}\n",
    "a: [\n  1\n  ]\n",
];

/// Texts that must be stepped back from, right or wrong.
const LEFT: &[&str] = &[
    "",
    "# c\n",
    "---\n...\n",
    "? a\n: b\n",
    "a: 1\r\nb: 2\r\n",
    "\u{feff}a: 1\n",
    "a:\t1\n",
    "\ta: 1\n",
    "a: 1\n b: 2\n",
    "a: 1\n- 2\n",
    "a: b: c\n",
    "a: [1, 2\n",
    "a: ]\n",
    "a: [1}\n",
    "a: 'x\n",
    "a: \"\\q\"\n",
    "a: \"\\ud800\"\n",
    "a: @x\n",
    "a: - b\n",
    "a: *\n",
    "a: &x *y\n",
    "a: 1\n---\nb: 2\n",
    "a: 1\n... x\n",
    "%FOO bar\n---\na: 1\n",
    "%YAML 1.1\na: 1\n",
    "a: |2\n  x\n",
    "a: [a b: c]\n",
    "a: {b}\n",
    "a: {? b}\n",
    "[a]: b\n",
    "a: x\n  y: z\n",
    "a: x # c\n  y\n",
    "a: \x07\n",
    "a: 'x' y\n",
    "a: [x]y\n",
    "  a: 1\nb: 2\n",
    "- a\nb: 1\n",
    "a\nb: 1\n",
];

#[test]
fn productions_are_accepted_with_same_events() {
    for text in TAKEN {
        assert!(holds(text), "stepped back from:\n{text}\n{text:?}");
    }
}

#[test]
fn texts_outside_subset_are_rejected() {
    for text in LEFT {
        assert!(record_fast_events(text).is_none(), "took {text:?}");
    }
}

#[test]
fn cut_and_altered_texts_agree() {
    // Cutting, and taking out one byte, makes near misses of every production.
    for text in TAKEN.iter().chain(LEFT) {
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            holds(&text[..at]);
            holds(&text[at..]);
            let Some(gone) = text[at..].chars().next() else { continue };
            let rest = &text[at + gone.len_utf8()..];
            holds(&format!("{}{rest}", &text[..at]));
            for put in [
                "\n", " ", "  ", ":", ": ", "- ", "#", " #", "'", "\"", "[", "]", "{", "}", ",", "&a ", "*a", "!t ", "|\n", "\t",
                "?", "-", "\n\n", "\n  ", "é",
            ] {
                holds(&format!("{}{put}{rest}", &text[..at]));
                holds(&format!("{}{put}{}", &text[..at], &text[at..]));
            }
        }
    }
}

#[test]
fn pairs_of_texts_agree() {
    for a in TAKEN.iter().chain(LEFT) {
        for b in TAKEN.iter().chain(LEFT) {
            holds(&format!("{a}{b}"));
            let nested: String = b.lines().map(|line| format!("  {line}\n")).collect();
            holds(&format!("k:\n{nested}{a}"));
            holds(&format!("-\n{nested}- {a}"));
            holds(&format!("{a}k: {}", b.trim_end()));
            holds(&format!("- [{}, {}]\n", a.trim_end(), b.trim_end()));
        }
    }
}

#[test]
fn fast_reader_accepts_corpus_trees() {
    let trees = corpus_trees();
    if trees.is_empty() {
        return;
    }
    let mut left = Vec::new();
    for (name, text) in &trees {
        if !holds(text) && !text.trim().lines().all(|line| line.starts_with('#')) {
            left.push(name.as_str());
        }
    }
    println!("{} trees, {} left to the complete reader", trees.len(), left.len());
    assert!(trees.len() > 50 && left.len() * 10 < trees.len(), "{} of {}: {left:#?}", left.len(), trees.len());
}

/// Text that is nearly YAML: pieces that matter, in any order.
pub(crate) fn near_yaml() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b: ", "c:", "- ", "-", "\n", "\n  ", "\n    ", "\n ", "\n- ", "\n  - ", " ", "  ", ":", "#", " # c", "[", "]", "{",
        "}", ", ", ",", "'x'", "\"y\"", "'", "\"", "\\", "\\n", "&a ", "*a", "!t ", "!", "|\n", ">-\n", "|+\n", "? ", "1.5",
        "x y", "...", "---", "--- ", "\n...\n", "\n---\n", "%", "\t", "é", "''", "\n\n", "k: v\n", "  m: n\n", "- p\n", "[1, 2]",
        "{q: r}", "\u{2028}",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Text that is mostly right: a tree printed with random layout.
pub(crate) fn nested_yaml() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "1",
        "-2.5",
        "x",
        "a b",
        "'q r'",
        "\"s\\n\"",
        "[1, 2, 3]",
        "{k: v}",
        "[]",
        "!t u",
        "&a w",
        "*a",
        "",
        "|\n{}x\n{} y",
        ">\n{}x\n\n{}y",
        "long text\n{}goes on",
        "'quoted\n{}text'",
        "[1,\n{}2]",
        "{a: 1,\n{}b: [x,\n{}y]}",
        "!t",
        "# c",
        "x # c",
        "!t\n{}k: 1",
    ]);
    let line =
        (0usize..5, prop::sample::select(vec!["k: ", "- ", "long key: ", "'q': ", "- - ", "- k: ", "&b k: ", "!t k: "]), scalar);
    prop::collection::vec(line, 1..12).prop_map(|lines| {
        let mut out = String::new();
        let mut depth = 0;
        for (indent, head, tail) in lines {
            depth = indent.min(depth + 1);
            let deeper = " ".repeat(depth * 2 + 2);
            out.push_str(&format!("{}{head}{}\n", " ".repeat(depth * 2), tail.replace("{}", &deeper)));
        }
        out
    })
}

/// Returns the number of cases, which `PROPTEST_CASES` overrides.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(4000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn near_misses_agree(text in near_yaml()) {
        holds(&text);
    }

    #[test]
    fn nested_texts_agree(text in nested_yaml()) {
        holds(&text);
    }
}

#[test]
fn layouts_are_told() {
    let recorder = record_fast_events("a: [1]\n").unwrap();
    assert_eq!(recorder.events[0].0.what, EventKind::Mapping(CollectionStyle::Block));
    assert_eq!(recorder.events[2].0.what, EventKind::Sequence(CollectionStyle::Flow));
}
