//! Tests of the tree as a whole.

use super::*;
use crate::ErrorKind;

fn tree(text: &str) -> Tree {
    Tree::parse(text, &Limits::default()).unwrap_or_else(|e| panic!("{text:?}: {e}"))
}

/// Returns one line for each node: its path and its raw text.
fn listing(text: &str) -> Vec<String> {
    let tree = tree(text);
    let limits = Limits::default();
    let mut walk = tree.root().walk(&limits).without_merge();
    let mut lines = Vec::new();
    while let Some(visit) = walk.try_next().unwrap() {
        lines.push(format!("{} {:?}", walk.path(), visit.node.source_text()));
    }
    lines
}

#[test]
fn spans_are_exact_in_every_layout() {
    assert_eq!(
        listing("a:\n- 1\n-\n- x: 2\n  y:\nb: {c: [1, 'd''e']}\n"),
        [
            r#" "a:\n- 1\n-\n- x: 2\n  y:\nb: {c: [1, 'd''e']}""#,
            r#"/a "- 1\n-\n- x: 2\n  y:""#,
            r#"/a/0 "1""#,
            r#"/a/1 """#,
            r#"/a/2 "x: 2\n  y:""#,
            r#"/a/2/x "2""#,
            r#"/a/2/y """#,
            r#"/b "{c: [1, 'd''e']}""#,
            r#"/b/c "[1, 'd''e']""#,
            r#"/b/c/0 "1""#,
            r#"/b/c/1 "'d''e'""#,
        ]
    );
}

#[test]
fn block_scalar_span_includes_indicator_and_last_line() {
    let tree = tree("a: !t |\n  x\n   y\n\nb: &k >-\n  z # no\n  w\n# c\nc: |+2 # x | y\n    q\n\nd: |\n");
    assert_eq!(tree.node_at_pointer("/a").unwrap().source_text(), "|\n  x\n   y");
    assert_eq!(tree.node_at_pointer("/a").unwrap().text(), "x\n y\n");
    assert_eq!(tree.node_at_pointer("/b").unwrap().source_text(), ">-\n  z # no\n  w");
    assert_eq!(tree.node_at_pointer("/b").unwrap().text(), "z # no w");
    assert_eq!(tree.node_at_pointer("/c").unwrap().source_text(), "|+2 # x | y\n    q");
    assert_eq!(tree.node_at_pointer("/c").unwrap().text(), "  q\n\n");
    assert_eq!(tree.node_at_pointer("/d").unwrap().source_text(), "|");
    assert_eq!(tree.node_at_pointer("/d").unwrap().text(), "");
    assert_eq!(tree.node_at_pointer("/b").unwrap().full_span().slice(tree.text()), "&k >-\n  z # no\n  w");
}

#[test]
fn scalars_obey_tags_and_quotes() {
    let tree = tree(
        "- !!str 5\n- '5'\n- !x 5\n- !!float 5\n- ! 5\n- !!binary aGk=\n- !!int '7'\n- !!null x\n- 5\n- !!str\n- !!bool YeS\n- ! '5'\n- !!float 1:60\n",
    );
    let scalars: Vec<_> = tree.root().items().map(Node::scalar).collect();
    assert_eq!(
        scalars,
        [
            Scalar::Str("5".into()),
            Scalar::Str("5".into()),
            Scalar::Str("5".into()),
            Scalar::Float(5.0),
            Scalar::Int(5),
            Scalar::Binary("aGk=".into()),
            Scalar::Int(7),
            Scalar::Null,
            Scalar::Int(5),
            Scalar::Str("".into()),
            Scalar::Bool(true),
            Scalar::Int(5),
            Scalar::Float(120.0),
        ]
    );
    assert!(tree.root().items().all(|node| node.is_null() == (node.scalar() == Scalar::Null)));
    assert_eq!(tree.node_at_pointer("/4").unwrap().tag(), None);
    assert_eq!(
        tree.tags().collect::<Vec<_>>(),
        ["str", "!x", "float", "binary", "int", "null", "bool"].map(|n| if n == "!x" {
            n.to_owned()
        } else {
            format!("tag:yaml.org,2002:{n}")
        })
    );
}

#[test]
fn set_value_replaces_nonspecific_tag() {
    let tree = tree("a: ! 5 # c\nb: [! 'x', &k ! y]\n");
    let mut edit = tree.edit();
    edit.set(&TreePath::parse("/a").unwrap(), &"12".into()).unwrap();
    edit.set(&TreePath::parse("/b/0").unwrap(), &"13".into()).unwrap();
    edit.set(&TreePath::parse("/b/1").unwrap(), &"14".into()).unwrap();
    assert_eq!(edit.apply_changes().unwrap(), "a: '12' # c\nb: ['13', &k '14']\n");
}

#[test]
fn aliases_are_followed_and_keep_their_identity() {
    let tree = tree("a: &x {k: 1}\nb: *x\nc: &y\n  self: *y\n");
    let (a, b) = (tree.node_at_pointer("/a").unwrap(), tree.node_at_pointer("/b").unwrap());
    assert!(b.is_alias() && !a.is_alias());
    assert_eq!(a.id(), b.id());
    assert_eq!(b.get("k").unwrap().as_i64(), Some(1));
    assert_eq!(b.span().slice(tree.text()), "*x");
    assert_eq!(a.anchor(), Some("x"));
    assert_eq!(tree.node_at_pointer("/c/self/self/self").unwrap().id(), tree.node_at_pointer("/c").unwrap().id());
}

/// Lists the nodes that a walk visits, by recursion over a list of the nodes that it is inside of.
fn visited(node: Node<'_>, inside: &mut Vec<NodeId>, expand: bool, merge: bool, found: &mut Vec<(NodeId, usize, bool)>) {
    let cycle = !node.is_scalar() && inside.contains(&node.id());
    found.push((node.id(), inside.len(), cycle));
    if node.is_scalar() || cycle || node.is_alias() && !expand {
        return;
    }
    inside.push(node.id());
    let below: Vec<Node<'_>> = match node.kind() {
        NodeKind::Sequence => node.items().collect(),
        _ if merge => node.merged_entries().into_iter().map(|(_, value)| value).collect(),
        _ => node.entries().map(|(_, value)| value).collect(),
    };
    below.into_iter().for_each(|child| visited(child, inside, expand, merge, found));
    inside.pop();
}

#[test]
fn walk_from_any_node_detects_cycles() {
    let limits = Limits::default();
    for text in [
        "&r {a: *r, b: &l [1, *r, {c: *l}], c: *l}",
        "&p {x: &a {y: &b {z: *p, w: *a}, v: *b}, u: [*b, *a]}",
        "o: &o\n  n: &n\n    <<: *o\n    q: {<<: [*n, *o], r: *n}\n  s: *n\nt: {<<: *o}\n",
        "a: &a [&b [&c [*a, *b, *c]], *b]\nd: {k: *c, k: *a}\ne: *a\n",
    ] {
        let tree = tree(text);
        for id in 0..tree.node_count() as u32 {
            let start = tree.node(NodeId(id)).unwrap();
            for (expand, merge) in [(false, false), (false, true), (true, false), (true, true)] {
                let walk = start.walk(&limits);
                let walk = if expand { walk.expand_aliases() } else { walk };
                let mut walk = if merge { walk } else { walk.without_merge() };
                let mut seen = Vec::new();
                while let Some(visit) = walk.try_next().unwrap() {
                    seen.push((visit.node.id(), visit.depth, visit.is_cycle));
                }
                let mut expected = Vec::new();
                visited(start, &mut Vec::new(), expand, merge, &mut expected);
                assert_eq!(seen, expected, "{text:?} from node {id}, expand {expand}, merge {merge}");
            }
        }
    }
}

#[test]
fn expanding_walk_enters_cycle_once_within_budget() {
    let tree = tree("&r {a: *r, b: &l [1, *r], c: *l}");
    let mut limits = Limits::default();
    let mut walk = tree.root().walk(&limits).expand_aliases();
    let mut seen = Vec::new();
    while let Some(visit) = walk.try_next().unwrap() {
        seen.push(format!("{}{}", walk.path(), if visit.is_cycle { "!" } else { "" }));
    }
    assert_eq!(seen, ["", "/a!", "/b", "/b/0", "/b/1!", "/c", "/c/0", "/c/1!"]);

    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        bomb.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", ")));
    }
    let tree = Tree::parse(bomb, &limits).unwrap();
    limits.nodes = 1000;
    let mut walk = tree.root().walk(&limits).expand_aliases();
    let error = loop {
        match walk.try_next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the walk ended"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn last_duplicate_and_explicit_keys_win() {
    let tree = tree("base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\nm:\n  <<: [*b, *o]\n  x: 9\n  k: 1\n  k: 2\n");
    let m = tree.node_at_pointer("/m").unwrap();
    let pairs: Vec<_> = m.merged_entries().iter().map(|(k, v)| (k.text().into_owned(), v.as_i64().unwrap())).collect();
    assert_eq!(pairs, [("y".into(), 2), ("z".into(), 4), ("x".into(), 9), ("k".into(), 2)]);
    for (key, value) in pairs {
        assert_eq!(m.get(&key).unwrap().as_i64(), Some(value));
    }
    assert_eq!(m.get("<<").unwrap().kind(), NodeKind::Sequence);
    assert_eq!(tree.warnings().iter().filter(|w| w.message.contains("duplicate key k")).count(), 1);
}

#[test]
fn tags_are_whole_and_directives_known() {
    let tree = tree("#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\na: !<tag:x,1:y> 1\n...\n");
    assert_eq!(tree.root().tag(), Some("tag:stsci.edu:asdf/core/asdf-1.1.0"));
    assert_eq!(tree.node_at_pointer("/a").unwrap().tag(), Some("tag:x,1:y"));
    assert_eq!(tree.yaml_version(), Some("1.1"));
    assert_eq!(tree.warnings(), []);
}

#[test]
fn errors_include_file_position() {
    let origin = TextOrigin { line: 10, byte: 400 };
    let limits = Limits::default();
    let error = Tree::parse_at("a: 1\nb: [\n", origin, &limits).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.to_string().contains("line 1"), "{error}");
    let error = Tree::parse_bytes(b"a: \xff".to_vec(), origin, &limits).unwrap_err();
    assert_eq!(error.location(), &crate::Location::Byte(403));
    let error = Tree::parse("a: 1\n---\nb: 2\n", &limits).unwrap_err();
    assert!(error.to_string().contains("second YAML document") && error.to_string().contains("line 2"), "{error}");
    let error = Tree::parse("a: !z!b 1\n", &limits).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
}

#[test]
fn limits_hold() {
    let mut limits = Limits::default();
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    assert_eq!(Tree::parse(deep, &limits).unwrap_err().kind(), ErrorKind::Limit);
    let deep: String = (0..300).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    assert_eq!(Tree::parse(deep, &limits).unwrap_err().kind(), ErrorKind::Limit);
    limits.text = 4;
    assert_eq!(Tree::parse("a: 1\n", &limits).unwrap_err().kind(), ErrorKind::Limit);
    limits = Limits::default();
    limits.scalar = 4;
    assert_eq!(Tree::parse("a: 12345\n", &limits).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn deep_nesting_needs_no_recursion() {
    let mut limits = Limits::default();
    limits.depth = 1_000_000;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let tree = Tree::parse(deep, &limits).unwrap();
    let mut walk = tree.root().walk(&limits);
    let mut depth = 0;
    while let Some(visit) = walk.try_next().unwrap() {
        depth = visit.depth;
    }
    assert_eq!(depth, 99_999);
}

#[test]
fn texts_without_content_are_null() {
    for text in ["", "# c\n", "---\n...\n", "---\n", "--- # c\n", "%YAML 1.1\n---\n"] {
        assert!(tree(text).root().is_null(), "{text:?}");
    }
}

#[test]
fn nonspecific_tag_turns_empty_scalar_into_text() {
    let tree = tree("[! , ! 12, ! '', ! ~, {! : 1}]");
    let item = |n| tree.root().index(n).unwrap();
    assert_eq!(item(0).as_str().as_deref(), Some(""));
    assert_eq!(item(1).as_i64(), Some(12));
    assert!(item(2).is_null() && item(3).is_null());
    assert!(item(4).entries().all(|(key, _)| key.as_str().as_deref() == Some("")));
}

#[test]
fn large_mappings_are_searched_as_small_ones() {
    let mut text: String = (0..1000).map(|n| format!("k{n}: {n}\n'q{n}': x\n")).collect();
    text.push_str("k7: last\n<<: {merged: yes}\n");
    let tree = tree(&text);
    for _ in 0..10 {
        assert_eq!(tree.root().get("k999").unwrap().as_i64(), Some(999));
        assert_eq!(tree.root().get("q5").unwrap().text(), "x");
        assert_eq!(tree.root().get("k7").unwrap().text(), "last");
        assert_eq!(tree.root().get("merged").unwrap().as_bool(), Some(true));
        assert!(tree.root().get("absent").is_none());
    }
}

#[test]
fn deepest_values_print_parse_round_trip() {
    let mut limits = Limits::default();
    limits.depth = 2000;
    let deep = |n: usize| format!("{}x{}", "[".repeat(n), "]".repeat(n));
    let value = Tree::parse(deep(900), &limits).unwrap().root().to_value(&limits).unwrap();
    for value in [value.clone().block(), value] {
        let printed = print_document(&value, &PrintOptions::default());
        let read = Tree::parse(printed.as_str(), &limits).unwrap().root().to_value(&limits).unwrap();
        assert!(print_document(&read, &PrintOptions::default()) == printed);
    }
    assert_eq!(Tree::parse(deep(1500), &limits).unwrap().root().to_value(&limits).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn violations_of_asdf_yaml_subset_give_warnings() {
    let tree = tree(
        "%YAML 1.1\n---\n1.5: a\n? [b]\n: c\n~: d\ntrue: e\n7: f\nbig: 9223372036854775808\nok: -9223372036854775808\n...\n",
    );
    let rules: Vec<_> = tree.warnings().iter().map(|w| (w.code, w.line)).collect();
    assert_eq!(rules, [("key-type", 3), ("key-type", 4), ("key-type", 6), ("big-integer", 9)]);
}

#[test]
fn items_are_found_by_index() {
    let tree = tree("[1, 2, [3], 4]");
    let root = tree.root();
    assert_eq!(root.index(3).unwrap().as_i64(), Some(4));
    assert_eq!(root.at_path("/2/0"), Some(3));
    assert!(root.index(4).is_none());
}

impl Node<'_> {
    fn at_path(self, path: &str) -> Option<i64> {
        TreePath::parse(path).unwrap().keys().iter().try_fold(self, |n, k| n.child(k))?.as_i64()
    }
}

#[test]
fn byte_order_marks_and_carriage_returns_are_read() {
    let tree = tree("\u{feff}%YAML 1.1\r\n---\r\na: |\r\n  x\r\n  y\r\nb: 'p\r\n  q'\r\n...\r\n");
    assert_eq!(tree.node_at_pointer("/a").unwrap().text(), "x\ny\n");
    assert_eq!(tree.node_at_pointer("/a").unwrap().source_text(), "|\r\n  x\r\n  y");
    assert_eq!(tree.node_at_pointer("/b").unwrap().text(), "p q");
    assert_eq!(tree.yaml_version(), Some("1.1"));
    assert_eq!(tree.warnings().iter().map(|w| w.code).collect::<Vec<_>>(), [TreeRule::ByteOrderMark.name()]);
    assert_eq!(tree.node_at_pointer("/b").unwrap().line_column(), (6, 4));
}

#[test]
fn keys_that_are_collections_stay_what_they_are() {
    let limits = Limits::default();
    let text = "? [1, {a: ! '2'}]\n: x\n? - y\n  - ? {k: [v]}\n    : z\n: 5\n";
    let value = tree(text).root().to_value(&limits).unwrap();
    let inner = Value::map([(Value::map([("k", Value::seq(["v"]))]), Value::from("z"))]);
    let keys = [Value::seq([Value::from(1), Value::map([("a", 2)])]), Value::seq([Value::from("y"), inner])];
    let printed = print_document(&value, &PrintOptions::default());
    let again = tree(&printed).root().to_value(&limits).unwrap();
    for read in [&value, &again] {
        for ((key, _), wanted) in read.entries().iter().zip(&keys) {
            assert_eq!(
                print_value(&key.clone().flow(), 0, &PrintOptions::default()),
                print_value(&wanted.clone().flow(), 0, &PrintOptions::default()),
                "{printed}"
            );
        }
    }
    // A key that holds the node that it is a key of.
    let error = tree("&a\n? [*a]\n: 1\n").root().to_value(&limits).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    // Keys count as nodes.
    let mut few = Limits::default();
    few.nodes = 5;
    assert_eq!(tree("{[1, 2, 3]: 1, [1, 2, 3, 4]: 2}").root().to_value(&few).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn shared_values_are_printed_once() {
    let value = Value::map([
        (
            Value::from("k").anchored("k"),
            Value::seq([Value::null().anchored("n"), Value::from("x y").tagged("!t").anchored("t")]),
        ),
        (Value::alias("k"), Value::map([("in", Value::alias("n"))]).anchored("m")),
        ("list".into(), Value::seq([Value::map([("a", 1)]).anchored("i"), Value::alias("i"), Value::alias("t")]).block()),
    ]);
    let text = "%YAML 1.1\n---\n&k k: [&n, &t !t x y]\n*k : &m\n  in: *n\nlist:\n- &i\n  a: 1\n- *i\n- *t\n...\n";
    assert_eq!(print_document(&value, &PrintOptions::default()), text);
    let tree = tree(text);
    assert_eq!(tree.node_at_pointer("/list/0").unwrap().id(), tree.node_at_pointer("/list/1").unwrap().id());
    assert_eq!(tree.root().entries().nth(1).map(|(key, _)| key.is_alias()), Some(true));
}

#[test]
fn folded_text_is_wrapped_and_read_back() {
    let long = format!("{}\n\nsecond  paragraph\n", "word ".repeat(40).trim_end());
    let printed = print_document(
        &Value::map([("a", Value::from(long.as_str()).styled(YamlScalarStyle::Folded))]),
        &PrintOptions::default(),
    );
    assert!(printed.starts_with("%YAML 1.1\n---\na: >\n  word word"), "{printed}");
    assert!(printed.lines().all(|line| line.len() <= 80), "{printed}");
    let tree = tree(&printed);
    assert_eq!(tree.node_at_pointer("/a").unwrap().text(), long);
}

fn value_of(text: &str) -> String {
    let tree = Tree::parse(format!("%YAML 1.1\n---\n{text}\n...\n"), &Limits::default()).unwrap();
    tree.node_at_pointer("/v").unwrap().text().into_owned()
}

#[test]
fn line_separators_stay_and_following_blanks_go() {
    assert_eq!(value_of("v: 'x\u{2028}  y'"), "x\u{2028}y");
    assert_eq!(value_of("v: \"x\u{2029} \u{2028}  y\\u2028z\""), "x\u{2029}\u{2028}y\u{2028}z");
    assert_eq!(value_of("v: x \u{2028}  y\nw: 1"), "x\u{2028}y");
    assert_eq!(value_of("v: \"x\\\u{2028}  y\""), "xy");
    assert_eq!(value_of("v: 'it''s\u{2028}'"), "it's\u{2028}");
}

#[test]
fn next_line_character_acts_as_line_feed() {
    assert_eq!(value_of("v: 'x\u{85}  y'"), "x y");
    assert_eq!(value_of("v: 'x\u{85}\u{85}  y'"), "x\ny");
    assert_eq!(value_of("w: 1\u{85}v: 2"), "2");
    assert_eq!(value_of("w: 1 # said\u{2028}v: 2"), "2");
}

#[test]
fn block_scalars_keep_yaml_1_1_line_breaks() {
    assert_eq!(value_of("v: |\n  a\u{2028}  b\u{85}\n   c\nw: 1"), "a\u{2028}b\n\n c\n");
    assert_eq!(value_of("v: >\n  a\u{2028}  b\n  c\u{85}  d\nw: 1"), "a\u{2028}b c d\n");
    assert_eq!(value_of("v: |2-\n   a\u{2029}  b\nw: 1"), " a\u{2029}b");
    assert_eq!(value_of("v: |+\n  a\u{2028}\u{2028}\nw: 1"), "a\u{2028}\u{2028}\n");
}

#[test]
fn spans_stay_exact_with_yaml_1_1_breaks() {
    let tree = Tree::parse("a: 'x\u{2028}y'\nb: [\u{e9}, 2]\n", &Limits::default()).unwrap();
    assert_eq!(tree.node_at_pointer("/b/1").unwrap().source_text(), "2");
    assert_eq!(tree.node_at_pointer("/a").unwrap().source_text(), "'x\u{2028}y'");
}

#[test]
fn words_are_strings() {
    let plain = [
        "source", "data", "shape", "Exposure", "k", "b-1", "x_y", "zero", "~", "null", "no", "On", "true", "y", "1", ".inf",
        "<<", "é",
    ];
    for word in plain.into_iter().chain(["'a'", "\"b\"", "!x c", "&d e", "!!int 7", "! q"]) {
        let tree = tree(&format!("{word}: 1\n"));
        let (key, _) = tree.root().entries().next().unwrap();
        if let Some(text) = key.as_word() {
            assert_eq!(key.scalar(), Scalar::Str(text.into()), "{word}");
        }
        assert_eq!(key.as_word().is_some(), plain[..8].contains(&word), "{word}");
    }
}
