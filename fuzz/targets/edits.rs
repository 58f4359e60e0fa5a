//! Edits of a tree against a model: after each edit the tree says what a plain value says after the same
//! change, whatever styles it is written in. In a tree of any text, an edit is refused or leads to what a model of
//! its nodes says, with aliases and tags.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use trilith::ErrorKind;
use trilith::tree::{ValueData, PrintOptions, Tree, TreePath, Value, print_document};
use trilith_fuzz::{AnyValue, limits, same};

#[allow(dead_code, reason = "the model serves an ordinary test too")]
#[path = "../../crates/trilith-yaml/tests/edits/model.rs"]
mod model;
use model::Model;

#[derive(Arbitrary, Debug)]
enum Input {
    Made(AnyValue, Vec<Change>),
    Text(String, Vec<Step>),
}

/// One edit of a tree of any text.
#[derive(Arbitrary, Debug)]
struct Step {
    /// Which child to go down to, level by level.
    way: Vec<u8>,
    what: u8,
    name: u8,
    value: u8,
}

#[derive(Arbitrary, Debug)]
struct Change {
    /// Which child to go down to, level by level.
    way: Vec<u8>,
    what: What,
}

#[derive(Arbitrary, Debug)]
enum What {
    Set(AnyValue),
    Insert(u8, AnyValue),
    Append(AnyValue),
    Delete,
    Rename(u8),
}

fuzz_target!(|input: Input| match input {
    Input::Made(value, changes) => made(value.0, &changes),
    Input::Text(text, steps) => of_text(&text, &steps),
});

fn made(mut model: Value, changes: &[Change]) {
    let limits = limits();
    let mut options = PrintOptions::default();
    options.handles = vec![("!e!".to_owned(), "tag:e.org:".to_owned())];
    let text = print_document(&model, &options);
    let mut tree = Tree::parse(text, &limits).expect("what was printed parses");
    for change in changes.iter().take(8) {
        let (path, keys) = walk(&model, &change.way);
        let mut edit = tree.edit();
        let before = model.clone();
        let done = match &change.what {
            What::Set(value) => {
                let done = edit.set(&path, &value.0);
                set(place(&mut model, &keys), &value.0);
                done
            }
            What::Insert(key, value) => {
                let key = format!("new{}", key % 4);
                let parent = place(&mut model, &keys);
                let (at, fits) = match &mut parent.data {
                    ValueData::Map(pairs) if pairs.iter().all(|(known, _)| known.as_str() != Some(&key)) => {
                        pairs.push((Value::from(key.as_str()), value.0.clone()));
                        (key, true)
                    }
                    ValueData::Seq(items) => {
                        let at = usize::from(value_byte(&key)) % (items.len() + 1);
                        items.insert(at, value.0.clone());
                        (at.to_string(), true)
                    }
                    _ => (key, false),
                };
                let done = edit.insert(&path.join(at), &value.0);
                if !fits {
                    model = before;
                    // Null becomes the mapping that is asked for; that is told in `set`.
                    continue;
                }
                done
            }
            What::Append(value) => match &mut place(&mut model, &keys).data {
                ValueData::Seq(items) => {
                    items.push(value.0.clone());
                    edit.append(&path, &value.0)
                }
                ValueData::Null => continue,
                _ => {
                    assert!(edit.append(&path, &value.0).is_err());
                    continue;
                }
            },
            What::Delete => match keys.split_last() {
                None => {
                    assert!(edit.delete(&path).is_err());
                    continue;
                }
                Some((last, above)) => {
                    match &mut place(&mut model, above).data {
                        ValueData::Map(pairs) => drop(pairs.remove(*last)),
                        ValueData::Seq(items) => drop(items.remove(*last)),
                        _ => {}
                    }
                    edit.delete(&path)
                }
            },
            What::Rename(key) => {
                let key = format!("name{}", key % 4);
                let Some((last, above)) = keys.split_last() else { continue };
                match &mut place(&mut model, above).data {
                    ValueData::Map(pairs) if pairs.iter().all(|(known, _)| known.as_str() != Some(&key)) => {
                        pairs[*last].0 = Value::from(key.as_str());
                        edit.rename(&path, &key)
                    }
                    _ => {
                        assert!(edit.rename(&path, &key).is_err());
                        continue;
                    }
                }
            }
        };
        done.unwrap_or_else(|error| panic!("{path}: {error}\n{}", tree.text()));
        let old = tree.text().to_owned();
        tree = edit.finish(&limits).unwrap_or_else(|error| panic!("{error}\n{old}"));
        let read = tree.root().to_value(&limits).expect("a tree without aliases is a value");
        assert!(same(&read, &model), "{:?} at {path}\nbefore:\n{old}\nafter:\n{}\nexpected {model:?}", change.what, tree.text());
    }
}

/// A value without a tag takes that of the node it replaces, where both are of one kind and it is not null.
fn set(old: &mut Value, new: &Value) {
    let kind = |value: &Value| match value.data {
        ValueData::Seq(_) => 0,
        ValueData::Map(_) => 1,
        _ => 2,
    };
    let inherited = (new.tag.is_none() && kind(old) == kind(new) && !new.is_null()).then(|| old.tag.clone()).flatten();
    *old = new.clone();
    if inherited.is_some() {
        old.tag = inherited;
    }
}

fn value_byte(key: &str) -> u8 {
    key.as_bytes().last().map_or(0, |byte| byte - b'0')
}

/// A path that exists, and the places along it.
fn walk(model: &Value, way: &[u8]) -> (TreePath, Vec<usize>) {
    let (mut path, mut places, mut at) = (TreePath::root(), Vec::new(), model);
    for step in way {
        let len = at.items().len().max(at.entries().len());
        if len == 0 {
            break;
        }
        let place = usize::from(*step) % len;
        match &at.data {
            ValueData::Map(pairs) => {
                path.push(pairs[place].0.as_str().unwrap_or_default());
                at = &pairs[place].1;
            }
            ValueData::Seq(items) => {
                path.push(place.to_string());
                at = &items[place];
            }
            _ => break,
        }
        places.push(place);
    }
    (path, places)
}

fn place<'v>(model: &'v mut Value, places: &[usize]) -> &'v mut Value {
    places.iter().fold(model, |at, place| match &mut at.data {
        ValueData::Map(pairs) => &mut pairs[*place].1,
        ValueData::Seq(items) => &mut items[*place],
        _ => unreachable!("a place was found on the way down"),
    })
}

fn of_text(text: &str, steps: &[Step]) {
    let limits = limits();
    // The model merges without a budget.
    let Ok(mut tree) = Tree::parse(text, &limits) else { return };
    if text.contains("<<") {
        return;
    }
    for step in steps.iter().take(8) {
        let model = Model::of(&tree);
        let mut path = TreePath::root();
        let mut at = model.root;
        for way in &step.way {
            let children = model.children(at);
            let Some((name, place)) = children.get(usize::from(*way) % children.len().max(1)) else { break };
            path.push(name.as_str());
            at = place.node;
        }
        let name = ["new", "-", "0", "", "a: b", "no", "[1]", "#"][usize::from(step.name % 8)];
        let value = match step.value % 6 {
            0 => Value::null(),
            1 => Value::from(7),
            2 => Value::from("two\nlines\n"),
            3 => Value::seq(["a", "b"]),
            4 => Value::map([("x", 1)]).tagged("!new"),
            _ => Value::from("a: b"),
        };
        let mut edit = tree.edit();
        let shown = format!("{step:?} at {path}");
        let (done, wanted) = match step.what % 5 {
            0 => (edit.set(&path, &value), model.set(path.keys(), &value)),
            1 => (edit.set(&path.join(name), &value), model.set(path.join(name).keys(), &value)),
            2 => (edit.insert(&path.join(name), &value), model.insert(path.join(name).keys(), &value)),
            3 => (edit.delete(&path), model.delete(path.keys())),
            _ => (edit.rename(&path, name), model.rename(path.keys(), name)),
        };
        match done.and_then(|()| edit.finish(&limits)) {
            Ok(new) => {
                let said = wanted.map(|model| model.canonical());
                assert_eq!(Ok(Model::of(&new).canonical()), said, "{shown}\n{}\n->\n{}", tree.text(), new.text());
                tree = new;
            }
            Err(error) => assert_ne!(error.kind(), ErrorKind::Malformed, "{error}"),
        }
    }
}
