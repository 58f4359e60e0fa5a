//! Random edits of random documents in every style of YAML: what is read afterwards is what a plain model says.
//!
//! An edit may be refused, but never wrong, and nobody may be refused often. `cargo xtask campaign edits --cases N --seed N`
//! makes more edits, or other ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where it is wrong"
)]

#[path = "edits/model.rs"]
mod model;
#[path = "edits/text.rs"]
mod text;

use std::collections::BTreeMap;

use model::{Model, Refused, parse};
use text::{Dice, document};
use trilith_yaml::tree::{Tree, TreePath, Value};
use trilith_yaml::{ErrorKind, Limits};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[derive(Debug)]
enum Edit {
    Set(TreePath, Value),
    Insert(TreePath, Value),
    Delete(TreePath),
    Rename(TreePath, String),
}

fn value(dice: &mut Dice, depth: usize) -> Value {
    match dice.roll(if depth > 1 { 9 } else { 13 }) {
        0 => Value::null(),
        1 => Value::from(true),
        2 => Value::from(7_i64),
        3 => Value::from(-2.5),
        4 => Value::from("two\nlines\n"),
        5 => Value::from(
            dice.pick(&["", "no", "12", "# x", "a: b", "[", "é,", " blank ", "x\n\n", "\n", "- x", "|", "it's", "\tt"]),
        ),
        6 => Value::from("tagged").tagged("!new"),
        7 | 8 => Value::from("word"),
        9 => Value::seq((0..dice.roll(3)).map(|_| value(dice, depth + 1)).collect::<Vec<_>>()),
        10 => Value::seq([1, 2, 3]).flow(),
        11 => Value::map([("x", value(dice, depth + 1)), ("y z", value(dice, depth + 1))]),
        _ => Value::map([("n", value(dice, depth + 1))]).tagged("!new"),
    }
}

/// A way down the tree, by what stands there.
fn path(dice: &mut Dice, model: &Model) -> TreePath {
    let (mut path, mut at) = (TreePath::root(), model.root);
    while path.keys().len() < 8 && (path.is_root() || !dice.one_in(4)) {
        let children = model.children(at);
        if children.is_empty() {
            break;
        }
        let (name, place) = children[dice.roll(children.len())].clone();
        path.push(name);
        at = place.node;
    }
    path
}

fn edit(dice: &mut Dice, model: &Model) -> Edit {
    let path = path(dice, model);
    let name = dice.pick(&["new", "a b", "no", "5", "x: y", "é", "it's", "", "#"]).to_owned();
    match dice.roll(5) {
        0 => Edit::Set(path, value(dice, 0)),
        1 => Edit::Set(path.join(name), value(dice, 0)),
        2 => {
            let key = dice.pick(&["new", "-", "0", "1", "a, b", "]"]);
            Edit::Insert(path.join(key), value(dice, 0))
        }
        3 => Edit::Delete(path),
        _ => Edit::Rename(path, name),
    }
}

fn apply(tree: &Tree, edit: &Edit) -> trilith_yaml::Result<Tree> {
    let mut made = tree.edit();
    match edit {
        Edit::Set(path, value) => made.set(path, value)?,
        Edit::Insert(path, value) => made.insert(path, value)?,
        Edit::Delete(path) => made.delete(path)?,
        Edit::Rename(path, name) => made.rename(path, name)?,
    }
    made.finish(&Limits::default())
}

fn wanted(model: Model, edit: &Edit) -> Result<Model, Refused> {
    match edit {
        Edit::Set(path, value) => model.set(path.keys(), value),
        Edit::Insert(path, value) => model.insert(path.keys(), value),
        Edit::Delete(path) => model.delete(path.keys()),
        Edit::Rename(path, name) => model.rename(path.keys(), name),
    }
}

/// Comments of lines of their own that are not in the other text.
fn lost_comments(old: &str, new: &str) -> usize {
    let count = |text: &str, line: &str| text.lines().filter(|other| other.trim() == line).count();
    old.lines().map(str::trim).filter(|line| line.starts_with("# about")).filter(|line| count(new, line) == 0).count()
}

#[derive(Default)]
struct Tally {
    documents: usize,
    made: u64,
    impossible: u64,
    /// By what the error says.
    refused: BTreeMap<String, (u64, String)>,
    differ: Vec<String>,
}

impl Tally {
    fn judge(&mut self, tree: &Tree, edit: &Edit) -> Option<Tree> {
        let model = Model::of(tree);
        let shown = || format!("{edit:?}\n--- before\n{}", tree.text());
        match (apply(tree, edit), wanted(model, edit)) {
            (Ok(new), Ok(wanted)) => {
                self.made += 1;
                if Model::of(&new).canonical() != wanted.canonical() {
                    self.differ.push(format!("{}--- after\n{}", shown(), new.text()));
                    return None;
                }
                if !matches!(edit, Edit::Delete(_) | Edit::Set(..)) && lost_comments(tree.text(), new.text()) > 0 {
                    self.differ.push(format!("{}--- lost a comment\n{}", shown(), new.text()));
                }
                Some(new)
            }
            (Ok(new), Err(reason)) => {
                self.differ.push(format!("{}--- should be refused ({reason:?})\n{}", shown(), new.text()));
                None
            }
            (Err(error), Err(_)) if error.kind() == ErrorKind::InvalidInput => {
                self.impossible += 1;
                None
            }
            (Err(error), wanted) => {
                let text = error.to_string();
                let reason = text.split(" (at ").next().unwrap_or("").split(": ").last().unwrap_or("").to_owned();
                let entry = self.refused.entry(format!("{reason} (expected {})", wanted.is_ok())).or_default();
                entry.0 += 1;
                if entry.1.is_empty() || tree.text().len() + 60 < entry.1.len() {
                    entry.1 = format!("{text}\n{}", shown());
                }
                None
            }
        }
    }
}

#[test]
fn random_edits_match_model() {
    let rounds = number("TRILITH_CAMPAIGN").unwrap_or(4000);
    let seed = number("TRILITH_CAMPAIGN_SEED").unwrap_or(1);
    let mut tally = Tally::default();
    let (mut round, mut document_number, mut invalid) = (0, 0_u64, 0);
    while round < rounds {
        document_number += 1;
        let mut dice = Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(document_number));
        let text = document(&mut dice);
        let Ok(mut tree) = parse(&text) else {
            invalid += 1;
            continue;
        };
        tally.documents += 1;
        for _ in 0..6 {
            round += 1;
            let model = Model::of(&tree);
            let mut edit = edit(&mut dice, &model);
            // Most are possible, some are not.
            while !dice.one_in(8) && wanted(model.clone(), &edit).is_err() {
                edit = self::edit(&mut dice, &model);
            }
            if let Some(new) = tally.judge(&tree, &edit) {
                tree = new;
            }
        }
    }
    let refused: u64 = tally.refused.values().map(|(count, _)| count).sum();
    println!(
        "{round} edits of {} documents ({invalid} more were no YAML): {} made, {} impossible, {refused} refused, {} differ",
        tally.documents,
        tally.made,
        tally.impossible,
        tally.differ.len()
    );
    for (reason, (count, example)) in &tally.refused {
        println!("{count} refused: {reason}");
        if number("TRILITH_EDITS_SHOW").is_some() {
            println!("{example}\n=====");
        }
    }
    assert!(tally.differ.is_empty(), "{}", tally.differ.iter().take(5).cloned().collect::<Vec<_>>().join("\n=====\n"));
    assert!(refused * 200 < tally.made, "{refused} refused, {} made", tally.made);
}
