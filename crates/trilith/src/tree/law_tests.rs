//! Laws of trees: over the shared corpus, and over values at random.

use std::path::Path;

use proptest::prelude::*;

use super::*;

/// The trees of the corpus: name and text, without the first line if that is no YAML.
fn corpus() -> Option<Vec<(String, String)>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let shared = std::env::var("TRILITH_SHARED").unwrap_or_else(|_| beside.to_owned());
    let folder = Path::new(&shared).join("corpus");
    if !folder.is_dir() {
        println!("skipped: no corpus at {}", folder.display());
        return None;
    }
    let mut found = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_some_and(|ending| ending == "md") {
                continue;
            }
            #[expect(clippy::disallowed_methods, reason = "a test reads its own material")]
            let bytes = std::fs::read(&path).unwrap();
            let end = bytes.windows(5).position(|w| w == b"\n...\n").map_or(bytes.len(), |at| at + 5);
            if let (b'#' | b'%', Ok(text)) = (bytes.first().copied().unwrap_or(0), std::str::from_utf8(&bytes[..end])) {
                let text = if text.starts_with('%') { text.split_once('\n').map_or("", |(_, rest)| rest) } else { text };
                found.push((path.display().to_string(), text.to_owned()));
            }
        }
    }
    Some(found)
}

#[test]
fn setting_one_scalar_of_the_corpus_changes_exactly_its_span() {
    let limits = Limits::default();
    for (name, text) in corpus().unwrap_or_default() {
        let tree = Tree::parse(text.as_str(), &limits).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(tree.text(), text);
        let mut walk = tree.root().walk(&limits);
        let mut count = 0;
        while let Some(visit) = walk.step().unwrap() {
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
fn every_tree_of_the_corpus_prints_to_a_tree_of_the_same_value() {
    let limits = Limits::default();
    for (name, text) in corpus().unwrap_or_default() {
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
            (Data::Float(x), Data::Float(y)) => x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()),
            (Data::Seq(x), Data::Seq(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
            (Data::Map(x), Data::Map(y)) => {
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
        Just(Data::Null),
        any::<bool>().prop_map(Data::Bool),
        any::<i64>().prop_map(Data::Int),
        any::<f64>().prop_map(Data::Float),
        any::<i16>().prop_map(|n| Data::Float(f64::from(n))),
        "[1-9][0-9]{20,40}".prop_map(Data::BigInt),
        text().prop_map(Data::Str),
        text().prop_map(Data::Str),
    ];
    let styles = prop::sample::select(vec![Style::Single, Style::Double, Style::Literal, Style::Folded]);
    let leaf = (scalar, tag.clone(), prop::option::weighted(0.4, styles)).prop_map(|(data, tag, style)| {
        // A foreign tag makes any scalar text.
        let is_text = matches!(data, Data::Str(_));
        let tag = tag.filter(|_| is_text).map(str::to_owned);
        Value { data, tag, style: style.filter(|_| is_text), ..Value::default() }
    });
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let layout = prop::option::of(prop::sample::select(vec![Layout::Block, Layout::Flow]));
        let collection = prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Data::Seq),
            prop::collection::btree_map(text(), inner, 0..6)
                .prop_map(|pairs| Data::Map(pairs.into_iter().filter(|(k, _)| k != "<<").map(|(k, v)| (k.into(), v)).collect())),
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
    fn printing_and_parsing_give_the_same_value_and_text(value in value()) {
        let limits = Limits::default();
        let options = PrintOptions { handles: vec![("!".to_owned(), "tag:e.org:".to_owned())], ..PrintOptions::default() };
        let printed = print_document(&value, &options);
        let tree = Tree::parse(printed.as_str(), &limits).unwrap_or_else(|e| panic!("{e}\n{printed}\n{value:?}"));
        let read = tree.root().to_value(&limits).unwrap();
        prop_assert!(same(&value, &read), "{}\n{:?}\n{:?}", printed, value, read);
        prop_assert_eq!(print_document(&read, &options), printed);
    }

    /// Values share parts here, as an old and a new tree do.
    #[test]
    fn a_tree_that_approaches_another_says_the_same(a in value(), b in value(), c in value(), d in value()) {
        let limits = Limits::default();
        let old = Value::map([("a", a.clone()), ("b", Value::seq([b.clone(), c.clone()])), ("c", c.clone())]).block();
        let new = Value::map([("a", a), ("b", Value::seq([b, d.clone(), c])), ("d", d)]);
        let [old, new] = [old, new].map(|value| Tree::parse(print_document(&value, &PrintOptions::default()), &limits).unwrap());
        let made = old.toward(&new, &limits).unwrap();
        let made = made.unwrap_or_else(|| panic!("{}\n{}", old.text(), new.text()));
        prop_assert!(same(&made.root().to_value(&limits).unwrap(), &new.root().to_value(&limits).unwrap()));
        let again = new.toward(&old, &limits).unwrap().unwrap().toward(&new, &limits).unwrap().unwrap();
        prop_assert!(same(&again.root().get("a").unwrap().to_value(&limits).unwrap(), &new.root().get("a").unwrap().to_value(&limits).unwrap()));
    }

    #[test]
    fn what_is_set_is_what_is_read(old in value(), new in value(), pick in any::<prop::sample::Index>()) {
        let limits = Limits::default();
        let printed = print_document(&old, &PrintOptions::default());
        let tree = Tree::parse(printed.as_str(), &limits).unwrap();
        let mut paths = Vec::new();
        let mut walk = tree.root().walk(&limits);
        while let Some(visit) = walk.step().unwrap() {
            if tree.find(&walk.path()) == Some(visit.node) {
                paths.push(walk.path());
            }
        }
        let path = pick.get(&paths);
        let mut edit = tree.edit();
        edit.set(path, &new).unwrap();
        let shown = edit.text();
        let changed = edit.finish(&limits).unwrap_or_else(|e| panic!("{e}\n{path}\n{printed}\n->\n{shown:?}"));
        let read = changed.find(path).unwrap().to_value(&limits).unwrap();
        let mut kept = Value { tag: read.tag.clone(), ..new.clone() };
        if new.tag.is_none() && read.tag.is_some() && new.items().is_empty() && new.entries().is_empty() && read.as_str().is_some() {
            // Under a foreign tag that stays every scalar is text.
            kept.data = read.data.clone();
        }
        prop_assert!(same(&kept, &read) && (new.tag.is_none() || new.tag == read.tag), "{}\n{}\n->\n{}", path, printed, changed.text());
        // Everything else is as it was.
        let mut both = tree.edit();
        both.set(path, &Value::null().tagged("!gone")).unwrap();
        let mut back = changed.edit();
        back.set(path, &Value::null().tagged("!gone")).unwrap();
        let (a, b) = (both.finish(&limits).unwrap(), back.finish(&limits).unwrap());
        prop_assert!(same(&a.root().to_value(&limits).unwrap(), &b.root().to_value(&limits).unwrap()), "{}\n{}\n->\n{}", path, printed, changed.text());
    }

    #[test]
    fn nothing_panics_whatever_the_text(text in prop_oneof![crate::yaml::near_yaml(), crate::yaml::nested_yaml(), any::<String>()]) {
        let limits = Limits { nodes: 2000, ..Limits::default() };
        let Ok(tree) = Tree::parse(text.as_str(), &limits) else { return Ok(()) };
        prop_assert_eq!(tree.text(), &text);
        let _ = (tree.warnings(), tree.references(&limits), tree.root().to_value(&limits), tree.read_into::<serde_json::Value>());
        let mut walk = tree.root().walk(&limits).expand_aliases();
        while let Ok(Some(visit)) = walk.step() {
            let node = visit.node;
            let span = node.whole_span();
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

    #[test]
    fn any_layout_can_be_edited(text in crate::yaml::nested_yaml(), pick in any::<prop::sample::Index>(), new in value(), what in 0..4) {
        let limits = Limits::default();
        let Ok(tree) = Tree::parse(text.as_str(), &limits) else { return Ok(()) };
        let Ok(before) = tree.root().to_value(&limits) else { return Ok(()) };
        let mut paths = Vec::new();
        let mut walk = tree.root().walk(&limits);
        while let Some(visit) = walk.step().unwrap() {
            // Edits through aliases and merges change more than one place.
            if tree.find(&walk.path()) == Some(visit.node) && !text.contains(['&', '*']) && !text.contains("<<") {
                paths.push(walk.path());
            }
        }
        if paths.is_empty() {
            return Ok(());
        }
        let path = pick.get(&paths);
        let mut wanted = before.clone();
        let mut edit = tree.edit();
        let done = match what {
            0 => {
                place_of(&mut wanted, path.keys()).unwrap().data = Data::Str("new".into());
                let tag = tree.find(path).unwrap().is_scalar().then(|| tree.find(path).unwrap().tag()).flatten();
                place_of(&mut wanted, path.keys()).unwrap().tag = tag.filter(|t| !t.starts_with("tag:yaml")).map(str::to_owned);
                edit.set(path, &"new".into())
            }
            1 => {
                *place_of(&mut wanted, path.keys()).unwrap() = new.clone().tagged("!new");
                edit.set(path, &new.clone().tagged("!new"))
            }
            2 => {
                let Some((above, key)) = path.split_last() else { return Ok(()) };
                match &mut place_of(&mut wanted, above.keys()).unwrap().data {
                    Data::Map(pairs) => {
                        // Of duplicates only the last goes.
                        if tree.find(&above).unwrap().len() != pairs.len() {
                            return Ok(());
                        }
                        pairs.retain(|(k, _)| key_text(k) != key);
                    }
                    Data::Seq(items) => drop(items.remove(key.parse().unwrap())),
                    _ => unreachable!(),
                }
                edit.delete(path)
            }
            _ => {
                let parent = place_of(&mut wanted, path.keys()).unwrap();
                match &mut parent.data {
                    Data::Map(pairs) => {
                        pairs.push(("new key".into(), new.clone()));
                        edit.insert(&path.join("new key"), &new)
                    }
                    Data::Seq(items) => {
                        items.push(new.clone());
                        edit.append(path, &new)
                    }
                    _ => return Ok(()),
                }
            }
        };
        done.unwrap_or_else(|e| panic!("{e}\n{path}\n{text}"));
        let shown = edit.text();
        let changed = edit.finish(&limits).unwrap_or_else(|e| panic!("{e}\n{what} {path}\n{text}\n->\n{shown:?}"));
        let after = changed.root().to_value(&limits).unwrap();
        // New scalars under a foreign tag are text.
        let fits = same(&wanted, &after) || (what == 1 && new.items().is_empty() && new.entries().is_empty());
        prop_assert!(fits, "{} {}\n{}\n->\n{}\n{:?}", what, path, text, changed.text(), new);
        for comment in text.lines().filter(|line| line.trim_start().starts_with('#')) {
            prop_assert!(what == 1 || what == 0 || what == 2 || changed.text().contains(comment), "{}\n->\n{}", text, changed.text());
        }
    }
}

fn key_text(key: &Value) -> String {
    match &key.data {
        Data::Str(text) => text.clone(),
        other => panic!("no text key: {other:?}"),
    }
}

fn place_of<'v>(value: &'v mut Value, keys: &[String]) -> Option<&'v mut Value> {
    let mut at = value;
    for key in keys {
        at = match &mut at.data {
            Data::Map(pairs) => &mut pairs.iter_mut().find(|(k, _)| key_text(k) == *key)?.1,
            Data::Seq(items) => items.get_mut(key.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(at)
}
