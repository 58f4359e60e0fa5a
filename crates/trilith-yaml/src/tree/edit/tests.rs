//! Edits change what they name and nothing else.

use super::*;
use crate::tree::{Scalar, ValueData};

/// The text after one change.
fn after(text: &str, change: impl FnOnce(&mut Edit<'_>) -> Result<()>) -> String {
    let tree = Tree::parse(text, &Limits::default()).unwrap();
    let mut edit = tree.edit();
    change(&mut edit).unwrap_or_else(|e| panic!("{text:?}: {e}"));
    let shown = edit.apply_changes().unwrap();
    edit.finish(&Limits::default()).unwrap_or_else(|e| panic!("{text:?} -> {shown:?}: {e}")).into_text()
}

fn path(pointer: &str) -> TreePath {
    TreePath::parse(pointer).unwrap()
}

fn set(text: &str, pointer: &str, value: impl Into<Value>) -> String {
    after(text, |edit| edit.set(&path(pointer), &value.into()))
}

fn insert(text: &str, pointer: &str, value: impl Into<Value>) -> String {
    after(text, |edit| edit.insert(&path(pointer), &value.into()))
}

fn delete(text: &str, pointer: &str) -> String {
    after(text, |edit| edit.delete(&path(pointer)))
}

#[test]
fn set_scalar_changes_only_its_span() {
    assert_eq!(set("a:  1   # c\nb: 2\n", "/a", 5), "a:  5   # c\nb: 2\n");
    assert_eq!(set("a: 'x'\n", "/a", "y: z"), "a: 'y: z'\n");
    assert_eq!(set("a: [1, {b: 2}]\n", "/a/1/b", "c,d"), "a: [1, {b: 'c,d'}]\n");
    assert_eq!(set("a: !u &x m # c\nb: *x\n", "/a", "s"), "a: !u s # c\nb: &x !u m\n");
    assert_eq!(set("a: !!float 5\n", "/a", "s"), "a: s\n");
    assert_eq!(set("a: |\n  x\n  y\n# c\nb: 1\n", "/a", 5), "a: 5\n# c\nb: 1\n");
    assert_eq!(set("a:\n  b:\n", "/a/b", 1), "a:\n  b: 1\n");
    assert_eq!(set("-\n- 2\n", "/0", 1), "- 1\n- 2\n");
    assert_eq!(set("a: &x 1\nb: *x\n", "/b", 2), "a: &x 1\nb: 2\n");
    assert_eq!(set("5", "", 6), "6");
    assert_eq!(set("--- 5\n...\n", "", 6), "--- 6\n...\n");
    assert_eq!(set("# c", "", 6), "# c\n6");
    // Blanks of Unicode are not blanks of YAML.
    assert_eq!(set("", "/\u{2000}", 2), "\u{2000}: 2");
    assert_eq!(set("\u{feff}#", "", 6), "\u{feff}#\n6");
    assert_eq!(set(" \n\u{feff}#", "", 6), " \n\u{feff}#\n6");
    assert_eq!(set("{?b, ?}", "/?", 6), "{?b, ?: 6}");
    assert_eq!(set("\u{feff}a: 1\n", "/b", 2), "\u{feff}a: 1\nb: 2\n");
    assert_eq!(set("\u{feff}?", "/b", 2), "\u{feff}?\nb: 2");
    assert_eq!(set("a: # c", "/a", 6).replace("6 # c", "\n  6"), "a: \n  6");
    assert_eq!(set("? a\nb: 2\n", "/a", 1), "? a\n: 1\nb: 2\n");
    assert_eq!(set("? a,\nb: 2\n", "/a,", 1), "? a,\n: 1\nb: 2\n");
    assert_eq!(set("?\nb: 2\n", "/", 1), "?\n: 1\nb: 2\n");
    assert_eq!(set("x:\n  ? a\n  b: 2\n", "/x/a", 1), "x:\n  ? a\n  : 1\n  b: 2\n");
    assert_eq!(set("x:\n  ? a\n", "/x/a", Value::seq([1])), "x:\n  ? a\n  : [1]\n");
    assert_eq!(set("|\n  ", "", "two\nlines"), "\"two\\nlines\"\n  ");
    assert_eq!(set("{a: }", "/a", 1), "{a: 1}");
    assert_eq!(set("{a}", "/a", 1).replace(' ', ""), "{a:1}");
}

#[test]
fn set_collection_keeps_indentation() {
    let map = || Value::map([("x", 1), ("z", 2)]);
    assert_eq!(set("a: 1 # c\nb: 2\n", "/a", map()), "a:\n  x: 1\n  z: 2 # c\nb: 2\n");
    assert_eq!(set("- a: 1\n  b: 2\n", "/0/a", map()), "- a:\n    x: 1\n    z: 2\n  b: 2\n");
    assert_eq!(set("- 1\n- 2\n", "/0", map()), "- x: 1\n  z: 2\n- 2\n");
    assert_eq!(set("a:\n  k:\n  - 1\n  - 2\nb: 1\n", "/a/k", map()), "a:\n  k:\n    x: 1\n    z: 2\nb: 1\n");
    assert_eq!(set("a: {k: 1}\n", "/a/k", map()), "a: {k: {x: 1, z: 2}}\n");
    assert_eq!(set("a: !t\n  k: 1\nb: 1\n", "/a", map()), "a: !t\n  x: 1\n  z: 2\nb: 1\n");
    assert_eq!(set("a: &r\n  k: 1\nb: *r\n", "/a", map()), "a:\n  x: 1\n  z: 2\nb: &r\n  k: 1\n");
    assert_eq!(set("a: &r\n  k: 1\nb: 1\n", "/a", map()), "a: &r\n  x: 1\n  z: 2\nb: 1\n");
    assert_eq!(set("- &r 1\n- *r\n", "/0", map()), "- x: 1\n  z: 2\n- &r 1\n");
    assert_eq!(set("a: 1\n", "/a", Value::seq([1, 2])), "a: [1, 2]\n");
    assert_eq!(set("a:\n  b: 1\nc: 2\n", "/a", 5), "a: 5\nc: 2\n");
    assert_eq!(set("a: # c\n  b: 1\nc: 2\n", "/a", 5), "a: # c\n  5\nc: 2\n");
    assert_eq!(set("a: 1\n", "/a", "x\ny\n"), "a: |\n  x\n  y\n");
    assert_eq!(set("a: 1\nb: 2\n", "/a", Value::seq([1]).tagged("!t")), "a: !t [1]\nb: 2\n");
    assert_eq!(set("a: 1\nb: 2\n", "", map()), "x: 1\nz: 2\n");
}

#[test]
fn inserted_keys_and_items_match_surrounding_style() {
    assert_eq!(insert("a: 1 # c\n# end\n", "/b", 2), "a: 1 # c\nb: 2\n# end\n");
    assert_eq!(insert("a: 1", "/b", 2), "a: 1\nb: 2");
    assert_eq!(insert("a:\n    x: 1\nb: 2\n", "/a/z", 2), "a:\n    x: 1\n    z: 2\nb: 2\n");
    assert_eq!(insert("- a: 1\n- 2\n", "/0/b", Value::map([("c", 1)])), "- a: 1\n  b:\n    c: 1\n- 2\n");
    assert_eq!(insert("a: {x: 1}\n", "/a/z", "z"), "a: {x: 1, z: z}\n");
    assert_eq!(insert("a: {x: 1, }\n", "/a/z", "z"), "a: {x: 1, z: z, }\n");
    assert_eq!(insert("a: {}\n", "/a/z", 1), "a:\n  z: 1\n");
    assert_eq!(insert("a:\n", "/a/z", 1), "a:\n  z: 1\n");
    assert_eq!(insert("a:\n- 1\n- 2\nb: 1\n", "/a/1", 9), "a:\n- 1\n- 9\n- 2\nb: 1\n");
    assert_eq!(insert("a:\n  - 1\n  - 2\nb: 1\n", "/a/-", 9), "a:\n  - 1\n  - 2\n  - 9\nb: 1\n");
    assert_eq!(insert("- - 1\n  - 2\n", "/0/0", 9), "- - 9\n  - 1\n  - 2\n");
    assert_eq!(insert("[1, 2]", "/0", 9), "[9, 1, 2]");
    assert_eq!(insert("[1, 2]", "/2", 9), "[1, 2, 9]");
    assert_eq!(insert("[1, # x\n 2 # y\n]", "/-", 9), "[1, # x\n 2, 9 # y\n]");
    assert_eq!(insert("a: |+\n  x\n\nb: 1\n", "/c", 2), "a: |+\n  x\n\nb: 1\nc: 2\n");
    assert_eq!(insert("b:\n  a: |+\n    x\n\nc: 1\n", "/b/d", 2), "b:\n  a: |+\n    x\n\n  d: 2\nc: 1\n");
    assert_eq!(insert("a: 1\n...\n", "/b", 2), "a: 1\nb: 2\n...\n");
}

#[test]
fn insert_below_merged_key_changes_merged_collection() {
    let merged = "a: &x\n  l: []\nb:\n  <<: *x\n";
    assert_eq!(insert(merged, "/b/l/-", 1), merged.replace("[]", "[1]"));
    assert_eq!(insert(merged, "/a/l/-", 1).replace(['\n', ' '], ""), "a:&xl:[1]b:<<:*x");
    assert_eq!(set(merged, "/b/l", 5), format!("{merged}  l: 5\n"));
}

#[test]
fn bare_pair_gets_braces_on_insert() {
    assert_eq!(insert("[a: 1 , x]\n", "/0/b", 2), "[{a: 1, b: 2} , x]\n");
    assert_eq!(insert("[a: ]\n", "/0/b", 2), "[{a: , b: 2} ]\n");
    assert_eq!(delete("[x, a: 1]\n", "/1/a"), "[x, {}]\n");
    assert_eq!(set("[x, a: 1]\n", "/1/a", 2), "[x, a: 2]\n");
    let both = after("[a: 1]\n", |edit| {
        edit.insert(&path("/-"), &9.into())?;
        edit.insert(&path("/0/b"), &2.into())?;
        edit.insert(&path("/0/c"), &3.into())
    });
    assert_eq!(both, "[{a: 1, b: 2, c: 3}, 9]\n");
}

#[test]
fn comma_after_empty_value_gets_blank() {
    // Without the blank, readers of YAML 1.1 would take `b:,` for text.
    assert_eq!(insert("{a: 1, b:}\n", "/c", 2), "{a: 1, b: , c: 2}\n");
    assert_eq!(insert("[x, !t ]\n", "/-", 2), "[x, !t , 2 ]\n");
    assert_eq!(insert("{a: 1, b: !!str }\n", "/c", 2), "{a: 1, b: !!str , c: 2 }\n");
}

#[test]
fn delete_removes_line_keeps_surrounding_comments() {
    assert_eq!(delete("# a\na: 1 # one\n# b\nb: 2\n", "/a"), "# a\n# b\nb: 2\n");
    assert_eq!(delete("a: 1\nb:\n  c: 1\n  d: 2\n", "/b"), "a: 1\n");
    assert_eq!(delete("a: 1\nb: 2", "/b"), "a: 1");
    assert_eq!(delete("- a: 1\n  b: 2\n", "/0/a"), "- b: 2\n");
    assert_eq!(delete("- a: 1\n  # about b\n  b: 2\n", "/0/a"), "- # about b\n  b: 2\n");
    assert_eq!(delete("a:\n- 1\n- 2\n- 3\n", "/a/1"), "a:\n- 1\n- 3\n");
    assert_eq!(delete("- - 1\n  - 2\n", "/0/0"), "- - 2\n");
    assert_eq!(delete("a:\n  b: 1\nc: 2\n", "/a/b"), "a: {}\nc: 2\n");
    assert_eq!(delete("- 1\n", "/0"), "[]\n");
    assert_eq!(delete("a: # c\n- 1\nb: 2\n", "/a/0"), "a: # c\n  []\nb: 2\n");
    assert_eq!(set("a: 1 # c\n", "/a", "x\ny\n"), "a: \"x\\ny\\n\" # c\n");
    assert_eq!(delete("[1, 2, 3]", "/0"), "[2, 3]");
    assert_eq!(delete("[1, 2, 3]", "/2"), "[1, 2]");
    assert_eq!(delete("{a: 1, b: 2}", "/b"), "{a: 1}");
    assert_eq!(delete("{a: 1,}", "/a"), "{}");
    assert_eq!(delete("? [k]\n: 1\nb: 2\n", "/b"), "? [k]\n: 1\n");
    assert_eq!(delete("a: 1\nb: |\n  x\n\n  y\nc: 3\n", "/b"), "a: 1\nc: 3\n");
}

#[test]
fn keys_are_renamed_and_quoted() {
    let rename = |text: &str, to: &str| after(text, |edit| edit.rename(&path("/a"), to));
    assert_eq!(rename("a: 1 # c\n", "b"), "b: 1 # c\n");
    assert_eq!(rename("'a': 1\n", "no"), "'no': 1\n");
    assert_eq!(rename("{a: 1}", "x, y"), "{'x, y': 1}");
}

#[test]
fn what_cannot_be_is_refused() {
    let tree = Tree::parse("a: &x 1\nb: *x\nm: {k: &n {p: 1}, <<: *n}\n", &Limits::default()).unwrap();
    let kind = |change: &dyn Fn(&mut Edit<'_>) -> Result<()>| {
        let mut edit = tree.edit();
        change(&mut edit).and_then(|()| edit.finish(&Limits::default()).map(drop)).unwrap_err().kind()
    };
    assert_eq!(kind(&|e| e.delete(&path("/m/p"))), ErrorKind::InvalidInput);
    assert_eq!(kind(&|e| e.insert(&path("/a"), &1.into())), ErrorKind::InvalidInput);
    assert_eq!(kind(&|e| e.rename(&path("/a"), "b")), ErrorKind::InvalidInput);
    assert_eq!(kind(&|e| e.set(&path("/z/y"), &1.into())), ErrorKind::NotFound);
    assert_eq!(kind(&|e| e.set(&path("/b"), &1.into()).and_then(|()| e.delete(&path("/b")))), ErrorKind::InvalidInput);
}

#[test]
fn many_changes_are_made_in_one_pass() {
    let text: String = (0..1000).map(|n| format!("a{n}: !core/ndarray-1.1.0 {{source: {n}}} # c\n")).collect();
    let tree = Tree::parse(text.as_str(), &Limits::default()).unwrap();
    let mut edit = tree.edit();
    for (_, value) in tree.root().entries() {
        let source = value.get("source").unwrap();
        edit.replace_node(source, &Value::from(source.as_i64().unwrap() + 1));
    }
    let changed = edit.finish(&Limits::default()).unwrap();
    assert_eq!(changed.node_at_pointer("/a999/source").unwrap().as_i64(), Some(1000));
    assert!(changed.text().starts_with("a0: !core/ndarray-1.1.0 {source: 1} # c\n"));
}

#[test]
fn set_parsed_value_keeps_tag_handles() {
    let tree = Tree::parse("%YAML 1.1\n%TAG ! tag:e:\n---\na: 1\n...\n", &Limits::default()).unwrap();
    let mut edit = tree.edit();
    let value = tree.parse_value("!x {k: 0x10, l: 2001-01-01}", &Limits::default()).unwrap();
    edit.set(&path("/a"), &value).unwrap();
    let done = edit.finish(&Limits::default()).unwrap();
    assert_eq!(done.text(), "%YAML 1.1\n%TAG ! tag:e:\n---\na: !x {k: 16, l: 2001-01-01}\n...\n");
    assert_eq!(done.node_at_pointer("/a").unwrap().tag(), Some("tag:e:x"));
    assert_eq!(done.node_at_pointer("/a/l").unwrap().scalar(), Scalar::Timestamp("2001-01-01".into()));
    assert_eq!(
        done.node_at_pointer("/a").unwrap().to_value(&Limits::default()).unwrap().get("k").unwrap().data,
        ValueData::Int(16)
    );
}

#[test]
fn line_breaks_of_two_bytes_stay_so() {
    let map = Value::map([("x", 1), ("z", 2)]);
    assert_eq!(set("a: 1\r\nb: 2\r\n", "/a", map), "a:\r\n  x: 1\r\n  z: 2\r\nb: 2\r\n");
    assert_eq!(insert("a: 1\r\nb: 2\r\n", "/c", 3), "a: 1\r\nb: 2\r\nc: 3\r\n");
    assert_eq!(delete("a: 1\r\nb: 2\r\n", "/a"), "b: 2\r\n");
    assert_eq!(delete("a: 1\r\nb: 2", "/b"), "a: 1");
}

#[test]
fn keys_of_nodes_are_set_without_paths() {
    let tree = Tree::parse("- {}\n- {source: 1}\n- source: 1\n  shape: [2] # two\n", &Limits::default()).unwrap();
    let mut edit = tree.edit();
    for node in tree.root().items() {
        edit.set_key(node, "source", &Value::from(7)).unwrap();
        edit.set_key(node, "byteorder", &"little".into()).unwrap();
        edit.delete_key(node, "shape");
    }
    let done = edit.finish(&Limits::default()).unwrap();
    assert_eq!(
        done.text(),
        "- {source: 7, byteorder: little}\n- {source: 7, byteorder: little}\n- source: 7\n  byteorder: little\n"
    );
}

#[test]
fn inserts_at_same_offset_keep_their_parents() {
    let text = "a:\n  b:\n    c: 1\n";
    let done = after(text, |edit| {
        edit.insert(&path("/z"), &1.into())?;
        edit.insert(&path("/a/b/z"), &2.into())?;
        edit.insert(&path("/a/z"), &3.into())?;
        edit.insert(&path("/a/b/w"), &4.into())
    });
    assert_eq!(done, "a:\n  b:\n    c: 1\n    z: 2\n    w: 4\n  z: 3\nz: 1\n");
    let done = after(text.trim_end(), |edit| {
        edit.insert(&path("/z"), &1.into())?;
        edit.insert(&path("/a/b/z"), &2.into())
    });
    assert_eq!(done, "a:\n  b:\n    c: 1\n    z: 2\nz: 1");
}

#[test]
fn keys_without_value_are_edited_alone() {
    assert_eq!(delete("m:\n  ? a\n  b: 1\n  c: 2\n", "/m/a"), "m:\n  b: 1\n  c: 2\n");
    assert_eq!(delete("--- !!set\n? a\n? b # two\n? c\n", "/b"), "--- !!set\n? a\n? c\n");
    assert_eq!(delete("{? foo :, : bar}", "/foo"), "{: bar}");
    assert_eq!(delete("{a, b, c}", "/b"), "{a, c}");
    assert_eq!(delete("? a\nb: 1\n: c\n", "/b"), "? a\n?\n: c\n");
    assert_eq!(delete("a:\n  ? - p\n    - q\n  b: 1\n", "/a/b"), "a:\n  ? - p\n    - q\n");
    assert_eq!(insert("? a # c\n", "/b", 1), "? a # c\nb: 1\n");
    assert_eq!(set("? a # c\nb: 1\n", "/a", 2), "? a # c\n: 2\nb: 1\n");
    assert_eq!(set("? |\n  a\nb: 1\n", "/a\n", 2), "? |\n  a\n: 2\nb: 1\n");
}

#[test]
fn keys_of_json_are_renamed_in_quotes() {
    let rename = |text: &str, from: &str, to: &str| after(text, |edit| edit.rename(&path(from), to));
    assert_eq!(rename("{\"a\":1,\"b\":2}", "/a", "c"), "{\"c\":1,\"b\":2}");
    assert_eq!(rename("{\"a\":{\"b\":[]}}", "/a/b", "it's \"x\""), "{\"a\":{\"it's \\\"x\\\"\":[]}}");
    assert_eq!(rename("{[a]:1}", "/[a]", "c"), "{\"c\":1}");
    assert_eq!(rename("'a': 1\n", "/a", "b"), "'b': 1\n");
    assert_eq!(rename(": 1\n", "/", "b"), "b: 1\n");
    assert_eq!(rename("?\n: 1\n", "/", "b"), "? b\n: 1\n");
    assert_eq!(rename(": - x\n", "/", "b"), "? b\n: - x\n");
    assert_eq!(rename("a: 1\na: 2\n", "/a", "b"), "b: 1\nb: 2\n");
    assert_eq!(rename("[a: 1]", "/0/a", "b"), "[b: 1]");
}

#[test]
fn inserted_lines_follow_blank_lines_of_literal() {
    assert_eq!(set("foo: |\n  x\n   \n", "/bar", 7), "foo: |\n  x\n   \nbar: 7\n");
    assert_eq!(insert("foo: |\n  x\n\nbar: 1\n", "/z", 7), "foo: |\n  x\n\nbar: 1\nz: 7\n");
    assert_eq!(insert("- >+\n  x\n\n...\n", "/-", 7), "- >+\n  x\n\n- 7\n...\n");
    assert_eq!(delete("a: |+\n  x\nb: 1\n\n# c\nc: 2\n", "/b"), "a: |+\n  x\n# c\nc: 2\n");
    assert_eq!(delete("a: |\n  x\nb: 1\n    # c\nc: 2\n", "/b"), "a: |\n  x\n# c\nc: 2\n");
    assert_eq!(delete("a: |\n  x\nb: 1", "/b"), "a: |\n  x\n");
    // A comment below would be a line of the text.
    assert_eq!(set("a: 1\n    # c\n", "/a", "x\ny\n"), "a: \"x\\ny\\n\"\n    # c\n");
}

#[test]
fn collection_keys_match_their_flow_text() {
    assert_eq!(set("? [1,  2]\n: x\n", "/[1, 2]", 7), "? [1,  2]\n: 7\n");
    assert_eq!(set("? - p\n  - {q: 1}\n: x\n", "/[p, {q: 1}]", 7), "? - p\n  - {q: 1}\n: 7\n");
    assert_eq!(delete("{[1, 2]: x, a: 1}", "/[1, 2]"), "{a: 1}");
    assert_eq!(insert("{a: 1}", "/[1, 2]", 7), "{a: 1, '[1, 2]': 7}");
    let tree = Tree::parse("{a: b}: {c: 1}\n", &Limits::default()).unwrap();
    assert_eq!(tree.node_at_pointer("/{a: b}/c").unwrap().as_i64(), Some(1));
}

#[test]
fn comments_stay_with_what_stays() {
    assert_eq!(delete("[1, # one\n 2 # two\n]", "/1"), "[1, # one\n  # two\n]");
    assert_eq!(delete("[1, # one\n # about two\n 2]", "/0"), "[\n # about two\n 2]");
    assert_eq!(delete("[ # c\n 1 ]", "/0"), "[ # c\n  ]");
    assert_eq!(set("--- !t\n# about it\n{}\n", "/a", 1), "--- !t\n# about it\na: 1\n");
    assert_eq!(insert("a: { # none yet\n }\n", "/a/b", 1), "a: {b: 1 # none yet\n }\n");
}

#[test]
fn insert_into_empty_collection_checks_key() {
    let tree = Tree::parse("a: []\nb: &x {}\nc: *x\n", &Limits::default()).unwrap();
    let kind = |at: &str| tree.edit().insert(&path(at), &1.into()).map_err(|error| error.kind());
    assert_eq!(kind("/a/no"), Err(ErrorKind::InvalidInput));
    assert_eq!(kind("/a/1"), Err(ErrorKind::InvalidInput));
    assert_eq!(kind("/a/0"), Ok(()));
    // Seen in two places, and so filled in both.
    assert_eq!(insert("b: &x {}\nc: *x\n", "/c/k", 1), "b: &x {k: 1}\nc: *x\n");
    assert_eq!(insert("--- !!set {}\n", "/k", 1), "--- !!set\nk: 1\n");
}

/// The first alias that stays gets the node, the aliases after it stay as they are.
#[test]
fn removed_anchor_content_moves_to_next_alias() {
    let text = "a: &x {p: &y 0x1}\nb: *x\nc: {d: *y, e: *x}\n";
    assert_eq!(delete(text, "/a"), "b: &x {p: &y 0x1}\nc: {d: *y, e: *x}\n");
    assert_eq!(set(text, "/a", 1), "a: 1\nb: &x {p: &y 0x1}\nc: {d: *y, e: *x}\n");
    assert_eq!(set(text, "/a/p", 2), "a: &x {p: 2}\nb: *x\nc: {d: &y 0x1, e: *x}\n");
    assert_eq!(set(text, "/b/p", 2), "a: &x {p: 2}\nb: *x\nc: {d: &y 0x1, e: *x}\n");
    let both = |text: &str| after(text, |edit| edit.delete(&path("/a")).and_then(|()| edit.set(&path("/b"), &2.into())));
    assert_eq!(both(text), "b: 2\nc: {d: &y 0x1, e: &x {p: *y}}\n");
    let rename = |text: &str| after(text, |edit| edit.rename(&path("/e"), "f"));
    assert_eq!(rename("&k e: *k\ng: *k\n"), "f: &k e\ng: *k\n");
    // A key, an item, a merged mapping, and a block between brackets.
    assert_eq!(delete("a: &x y z\n*x : 1\n", "/a"), "&x y z : 1\n");
    assert_eq!(delete("- &x\n  a: 1\n  b: ~\n- *x\n- [*x]\n", "/0"), "- &x\n  a: 1\n  b: ~\n- [*x]\n");
    assert_eq!(delete("- &x\n  a: x # one\n  b: ' '\n- [*x, 1] # two\n", "/0"), "- [&x {a: x, b: ' '}, 1] # two\n");
    assert_eq!(set("a: &x\n  p: 1\nb:\n  <<: *x\n  q: 2\n", "/a", 5), "a: 5\nb:\n  <<: &x\n    p: 1\n  q: 2\n");
    assert_eq!(set("a: &x null\nb: *x\n", "/a/k", 5), "a:\n  k: 5\nb: &x null\n");
    assert_eq!(set("a: &x\nb: *x\n", "/a", 5), "a: 5\nb: &x\n");
    assert_eq!(insert("b: &x {}\nc: *x\n", "/b/k", 1), "b: &x {k: 1}\nc: *x\n");
    // A node that contains itself.
    assert_eq!(delete("a: &x {b: &y [*x]}\nc: *y\n", "/a"), "c: &y\n- &x {b: *y}\n".replace("\n- ", " [").replace("}\n", "}]\n"));
    // The keys may all be deleted, one after the other.
    let mut gone = String::new();
    for at in ["/a", "/b", "/c"] {
        gone = delete(if gone.is_empty() { text } else { &gone }, at);
    }
    assert_eq!(gone, "{}\n");
    // Names that occur twice.
    assert_eq!(delete("a: &x 1\nb: &x 2\nc: *x\n", "/b"), "a: &x 1\nc: &x 2\n");
    let tree = Tree::parse("a: &x {k: &y 1}\nb: &y 2\nc: *x\nd: *y\n", &Limits::default()).unwrap();
    let mut edit = tree.edit();
    edit.delete(&path("/a")).unwrap();
    let error = edit.finish(&Limits::default()).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("alias"), "{error}");
    // Keys that another mapping has too.
    let tree = Tree::parse("a: &x {p: 1}\nm: {<<: *x, p: 2}\n", &Limits::default()).unwrap();
    for error in [tree.edit().delete(&path("/m/p")), tree.edit().rename(&path("/m/p"), "q")] {
        assert!(error.unwrap_err().to_string().contains("reappear"));
    }
}

#[test]
fn change_of_shared_node_is_noted() {
    let tree = Tree::parse("a: &x {p: {q: 1}}\nb: *x\nc: [*x]\nd: 1\n", &Limits::default()).unwrap();
    let noted = |at: &str| {
        let mut edit = tree.edit();
        edit.set(&path(at), &2.into()).unwrap();
        edit.shared().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(noted("/a/p/q"), ["/a is also /b, /c/0 (anchor &x): the change is in all of them"]);
    assert_eq!(noted("/c/0/p"), ["/c/0 is also /a, /b (anchor &x): the change is in all of them"]);
    assert!(noted("/a").is_empty() && noted("/b").is_empty() && noted("/d").is_empty());
    // A merge key is no second path to what it merges in.
    for (text, expected) in [
        ("k: {<<: &x {p: {q: 1}}}\n", ""),
        ("k: {<<: [&x {p: {q: 1}}, {r: 2}]}\n", ""),
        ("k: {<<: &x {p: {q: 1}}}\nb: *x\n", "/k/p is also /b/p (merged in): the change is in all of them"),
    ] {
        let tree = Tree::parse(text, &Limits::default()).unwrap();
        let mut edit = tree.edit();
        edit.set(&path("/k/p/q"), &2.into()).unwrap();
        assert_eq!(edit.shared().into_iter().collect::<String>(), expected, "{text}");
    }
}

/// Refuses a text that means something else than the edit, whichever way it was written.
#[test]
fn text_with_other_meaning_is_refused() {
    let text = "a: 1 # one\nb: &x !t [x, 'y']\nc: {d: *x, e: |\n    l\n  }\n".replace("|\n    l\n  ", "2.5");
    let tree = Tree::parse(text.as_str(), &Limits::default()).unwrap();
    let wrong = [
        ("1 # one", "2"),
        ("a: 1", "a: '1'"),
        ("a: 1", "z: 1"),
        ("!t ", ""),
        ("!t", "!u"),
        ("&x", "&y"),
        ("*x", "1"),
        ("'y'", "y, z"),
        ("'y'", "[y]"),
        ("[x, 'y']", "{x: y}"),
        ("d: *x, e: 2.5", "e: 2.5, d: *x"),
        ("2.5", "2.50001"),
        ("b: &x", "b: &x !t 1\nf: &x"),
        (", e: 2.5", ""),
    ];
    for (old, new) in wrong {
        let mut edit = tree.edit();
        let at = text.find(old).unwrap();
        // A change of the text without a meaning, next to one with a meaning.
        edit.push_replacement(Span::new_u32(at, at + old.len()), new);
        edit.insert(&path("/new"), &1.into()).unwrap();
        let error = edit.finish(&Limits::default()).err().unwrap_or_else(|| panic!("{old} -> {new}"));
        assert!(matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput), "{old} -> {new}: {error}");
    }
    let mut edit = tree.edit();
    edit.push_replacement(Span::new_u32(text.len(), text.len()), "# a comment\n");
    edit.set(&path("/a"), &5.into()).unwrap();
    assert_eq!(edit.finish(&Limits::default()).unwrap().node_at_pointer("/a").unwrap().as_i64(), Some(5));
}

#[test]
fn unprintable_value_returns_invalid_input() {
    let tree = Tree::parse("a: 1\n", &Limits::default()).unwrap();
    for value in [Value::plain_scalar("b: c"), Value::plain_scalar("# x"), Value::alias("none"), Value::from(1).anchored("a b")] {
        let mut edit = tree.edit();
        edit.set(&path("/a"), &value).unwrap();
        assert_eq!(edit.finish(&Limits::default()).unwrap_err().kind(), ErrorKind::InvalidInput, "{value:?}");
    }
}
