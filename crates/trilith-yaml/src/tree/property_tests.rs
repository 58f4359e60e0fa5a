//! Laws of trees: over the shared corpus, and over values at random.

use proptest::prelude::*;

use super::*;
use crate::yaml::print_with_events;
use trilith_sample::corpus_trees;

/// The tree of what the printer says of a value.
fn tree_of(value: &Value, options: &PrintOptions, limits: &Limits) -> Result<Tree> {
    Tree::from_printed(print_with_events(value, options), TextOrigin::default(), limits)
}

#[test]
fn set_scalar_in_corpus_tree_changes_only_span() {
    let limits = Limits::default();
    for (name, text) in corpus_trees() {
        let tree = Tree::parse(text.as_str(), &limits).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(tree.text(), text);
        let mut walk = tree.root().walk(&limits);
        let mut count = 0;
        while let Some(visit) = walk.try_next().unwrap() {
            let node = visit.node;
            if !node.is_scalar() || visit.depth == 0 || node.is_alias() || node.span().is_empty() || count > 60 {
                continue;
            }
            count += 1;
            let path = walk.path();
            if tree.find(&path) != Some(node) {
                // A key that is not text may share its text with another.
                continue;
            }
            let mut edit = tree.edit();
            edit.set(&path, &Value::from("it's: new")).unwrap();
            let changed = edit.finish(&limits).unwrap_or_else(|e| panic!("{name} {path}: {e}"));
            assert_eq!(changed.find(&path).unwrap().text(), "it's: new", "{name} {path}");
            // A lone `!` goes: after it quotes would not make a string of a number.
            if !node.is_nonspecific() && node.tag().is_none_or(|tag| !tag.starts_with("tag:yaml.org")) {
                let (start, end) = (node.span().start as usize, node.span().end as usize);
                assert!(changed.text().starts_with(&text[..start]), "{name} {path}");
                assert!(changed.text().ends_with(&text[end..]), "{name} {path}");
            }
        }
    }
}

#[test]
fn aliased_value_makes_tree_of_its_text() {
    let limits = Limits::default();
    let shared = Value::map([("x", 1)]).anchored("s").tagged("tag:e.org:t");
    let keys = Value::map([(Value::seq([1, 2]), Value::alias("s")), (Value::from("k".repeat(300)), Value::null().tagged("!n"))]);
    let value = Value::map([("a", shared), ("b", Value::seq([Value::alias("s"), keys, Value::null().anchored("e")]).block())]);
    let made = tree_of(&value, &PrintOptions::default(), &limits).unwrap();
    let read = Tree::parse(made.text(), &limits).unwrap();
    let facts = |tree: &Tree| {
        let nodes = (0..tree.node_count()).filter_map(|at| tree.node_at(at));
        let fact = |node: Node<'_>| {
            (node.id(), node.is_alias(), node.kind(), node.len(), node.anchor().map(str::to_owned), node.text().into_owned())
        };
        nodes.map(fact).collect::<Vec<_>>()
    };
    assert_eq!(facts(&made), facts(&read), "{}", made.text());
    let lost = Value::seq([Value::alias("nothing")]);
    assert!(tree_of(&lost, &PrintOptions::default(), &limits).is_err());
}

#[test]
fn corpus_trees_print_parse_round_trip() {
    let limits = Limits::default();
    for (name, text) in corpus_trees() {
        let tree = Tree::parse(text, &limits).unwrap();
        let Ok(value) = tree.root().to_value(&limits) else { continue };
        let handles = tree.tag_handles().map(|(h, p)| (h.to_owned(), p.to_owned())).collect();
        let options = PrintOptions { handles, ..PrintOptions::default() };
        let printed = print_document(&value, &options);
        let again = Tree::parse(printed.as_str(), &limits).unwrap_or_else(|e| panic!("{name}: {e}\n{printed}"));
        let read = again.root().to_value(&limits).unwrap();
        assert!(same(&value, &read), "{name}\n{printed}");
        assert_eq!(print_document(&read, &options), printed, "{name}");
        assert_eq!(again.warnings(), [], "{name}");
    }
}

/// Equal in all but hints; NaN is NaN.
fn same(a: &Value, b: &Value) -> bool {
    a.tag == b.tag
        && match (&a.data, &b.data) {
            (ValueData::Float(x), ValueData::Float(y)) => x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()),
            (ValueData::Seq(x), ValueData::Seq(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
            (ValueData::Map(x), ValueData::Map(y)) => {
                x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(&x.0, &y.0) && same(&x.1, &y.1))
            }
            (x, y) => x == y,
        }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        "[ -~]{0,12}",
        "[0-9.eE+:_xob-]{1,8}",
        "(yes|no|null|y|~|<<|=|true|Off|---|\\.\\.\\.)",
        "([a-z #:'\"-]{0,8}\n){1,4}[a-z]{0,3}",
        "\\PC{0,8}",
        any::<String>(),
        Just("x ".repeat(120)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let tag = prop::option::weighted(
        0.1,
        prop::sample::select(vec!["tag:e.org:x/y-1.0.0", "asdf://z/t", "!local", "tag:e.org:a,b%{}"]),
    );
    let scalar = prop_oneof![
        Just(ValueData::Null),
        any::<bool>().prop_map(ValueData::Bool),
        any::<i64>().prop_map(ValueData::Int),
        any::<f64>().prop_map(ValueData::Float),
        any::<i16>().prop_map(|n| ValueData::Float(f64::from(n))),
        "[1-9][0-9]{20,40}".prop_map(ValueData::BigInt),
        text().prop_map(ValueData::Str),
        text().prop_map(ValueData::Str),
    ];
    let styles = prop::sample::select(vec![
        YamlScalarStyle::Single,
        YamlScalarStyle::Double,
        YamlScalarStyle::Literal,
        YamlScalarStyle::Folded,
    ]);
    let leaf = (scalar, tag.clone(), prop::option::weighted(0.4, styles)).prop_map(|(data, tag, style)| {
        // A foreign tag makes any scalar text.
        let is_text = matches!(data, ValueData::Str(_));
        let tag = tag.filter(|_| is_text).map(str::to_owned);
        Value { data, tag, style: style.filter(|_| is_text), ..Value::default() }
    });
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let layout = prop::option::of(prop::sample::select(vec![CollectionStyle::Block, CollectionStyle::Flow]));
        let collection = prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(ValueData::Seq),
            prop::collection::btree_map(text(), inner, 0..6).prop_map(|pairs| ValueData::Map(
                pairs.into_iter().filter(|(k, _)| k != "<<").map(|(k, v)| (k.into(), v)).collect()
            )),
        ];
        (collection, tag.clone(), layout).prop_map(|(data, tag, layout)| Value {
            data,
            tag: tag.map(str::to_owned),
            layout,
            ..Value::default()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn print_parse_round_trip(value in value()) {
        let limits = Limits::default();
        let options = PrintOptions { handles: vec![("!".to_owned(), "tag:e.org:".to_owned())], ..PrintOptions::default() };
        let printed = print_document(&value, &options);
        let tree = Tree::parse(printed.as_str(), &limits).unwrap_or_else(|e| panic!("{e}\n{printed}\n{value:?}"));
        let read = tree.root().to_value(&limits).unwrap();
        prop_assert!(same(&value, &read), "{}\n{:?}\n{:?}", printed, value, read);
        prop_assert_eq!(print_document(&read, &options), printed);
    }

    /// A list whose items come one after the other is printed as any other.
    #[test]
    fn tree_of_list_eq_tree_of_value(items in prop::collection::vec(value(), 0..5)) {
        let limits = Limits::default();
        let options = PrintOptions { handles: vec![("!".to_owned(), "tag:e.org:".to_owned())], ..PrintOptions::default() };
        let tags = ["tag:e.org:root", "tag:f.org:list"];
        let made = Tree::from_list("list", tags, items.iter().cloned().map(Ok), &options, TextOrigin::default(), &limits).unwrap();
        let whole = Value::map([("list", Value::seq(items).block().tagged(tags[1]))]).tagged(tags[0]);
        prop_assert_eq!(made.text(), print_document(&whole, &options));
        let read = tree_of(&whole, &options, &limits).unwrap();
        let facts = |tree: &Tree| {
            (0..tree.node_count()).filter_map(|at| tree.node_at(at)).map(|node| (node.kind(), node.len(), node.span())).collect::<Vec<_>>()
        };
        prop_assert_eq!(facts(&made), facts(&read));
    }

    /// The printer and the readers agree about each node.
    #[test]
    fn tree_of_value_eq_tree_of_text(value in value()) {
        let limits = Limits::default();
        let options = PrintOptions { handles: vec![("!".to_owned(), "tag:e.org:".to_owned())], ..PrintOptions::default() };
        let made = tree_of(&value, &options, &limits).unwrap();
        prop_assert_eq!(made.text(), print_document(&value, &options));
        let read = Tree::parse(made.text(), &limits).unwrap();
        let facts = |tree: &Tree| {
            let nodes = (0..tree.node_count()).filter_map(|at| tree.node_at(at));
            let fact = |node: Node<'_>| (node.span(), node.kind(), node.style(), node.layout(), node.len(), node.text().into_owned(), node.tag().map(str::to_owned));
            nodes.map(fact).collect::<Vec<_>>()
        };
        prop_assert_eq!(facts(&made), facts(&read), "{}", made.text());
        prop_assert_eq!(made.warnings(), read.warnings());
    }

    /// Values share parts here, as an old and a new tree do.
    #[test]
    fn toward_result_eq_new_value(a in value(), b in value(), c in value(), d in value()) {
        let limits = Limits::default();
        let old = Value::map([("a", a.clone()), ("b", Value::seq([b.clone(), c.clone()])), ("c", c.clone())]).block();
        let new = Value::map([("a", a), ("b", Value::seq([b, d.clone(), c])), ("d", d)]);
        let [old, new] = [old, new].map(|value| Tree::parse(print_document(&value, &PrintOptions::default()), &limits).unwrap());
        let made = old.merge_from(&new, &limits).unwrap();
        let made = made.unwrap_or_else(|| panic!("{}\n{}", old.text(), new.text()));
        prop_assert!(same(&made.root().to_value(&limits).unwrap(), &new.root().to_value(&limits).unwrap()));
        let again = new.merge_from(&old, &limits).unwrap().unwrap().merge_from(&new, &limits).unwrap().unwrap();
        prop_assert!(same(&again.root().get("a").unwrap().to_value(&limits).unwrap(), &new.root().get("a").unwrap().to_value(&limits).unwrap()));
    }

    #[test]
    fn what_is_set_is_what_is_read(old in value(), new in value(), pick in any::<prop::sample::Index>()) {
        let limits = Limits::default();
        let printed = print_document(&old, &PrintOptions::default());
        let tree = Tree::parse(printed.as_str(), &limits).unwrap();
        let mut paths = Vec::new();
        let mut walk = tree.root().walk(&limits);
        while let Some(visit) = walk.try_next().unwrap() {
            if tree.find(&walk.path()) == Some(visit.node) {
                paths.push(walk.path());
            }
        }
        let path = pick.get(&paths);
        let mut edit = tree.edit();
        edit.set(path, &new).unwrap();
        let shown = edit.apply_changes();
        let changed = edit.finish(&limits).unwrap_or_else(|e| panic!("{e}\n{path}\n{printed}\n->\n{shown:?}"));
        let read = changed.find(path).unwrap().to_value(&limits).unwrap();
        let mut kept = Value { tag: read.tag.clone(), ..new.clone() };
        if new.tag.is_none() && read.tag.is_some() && new.items().is_empty() && new.entries().is_empty() && read.as_str().is_some() {
            // If a foreign tag stays, every scalar under it is text.
            kept.data = read.data.clone();
        }
        prop_assert!(same(&kept, &read) && (new.tag.is_none() || new.tag == read.tag), "{}\n{}\n->\n{}", path, printed, changed.text());
        // The other nodes are unchanged.
        let mut both = tree.edit();
        both.set(path, &Value::null().tagged("!gone")).unwrap();
        let mut back = changed.edit();
        back.set(path, &Value::null().tagged("!gone")).unwrap();
        let (a, b) = (both.finish(&limits).unwrap(), back.finish(&limits).unwrap());
        prop_assert!(same(&a.root().to_value(&limits).unwrap(), &b.root().to_value(&limits).unwrap()), "{}\n{}\n->\n{}", path, printed, changed.text());
    }

    #[test]
    fn arbitrary_text_never_panics(text in prop_oneof![crate::yaml::near_yaml(), crate::yaml::nested_yaml(), any::<String>()]) {
        let mut limits = Limits::default();
        limits.nodes = 2000;
        let Ok(tree) = Tree::parse(text.as_str(), &limits) else { return Ok(()) };
        prop_assert_eq!(tree.text(), &text);
        let _ = (tree.warnings(), tree.references(&limits), tree.root().to_value(&limits), tree.read_into::<serde_json::Value>());
        let mut walk = tree.root().walk(&limits).expand_aliases();
        while let Ok(Some(visit)) = walk.try_next() {
            let node = visit.node;
            let span = node.full_span();
            prop_assert!(text.get(span.range()).is_some() && text.get(node.span().range()).is_some(), "{:?} {:?}", text, span);
            let _ = (node.scalar(), node.untagged(), node.as_f64(), node.tag(), node.anchor(), node.line_column(), node.reference());
            let path = walk.path();
            let _ = (tree.find(&path), tree.path_of(node.id()));
            for change in 0..4 {
                let mut edit = tree.edit();
                let done = match change {
                    0 => edit.set(&path, &Value::seq(["a"])),
                    1 => edit.delete(&path),
                    2 => edit.insert(&path.join("x"), &Value::null()),
                    _ => edit.rename(&path, "x"),
                };
                if done.is_ok() {
                    let _ = edit.finish(&limits);
                }
            }
        }
    }
}
