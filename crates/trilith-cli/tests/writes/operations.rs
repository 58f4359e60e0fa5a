//! The writing commands, each with what it asks for, and what the file must hold afterwards.

use super::content::{Card, Content, Digest, Family};
use super::file_kinds::{Kind, Kindred, filling, rows, table};

/// The subcommands that only read: they leave every file as it is.
pub(crate) const READING: &[&str] = &[
    "info",
    "tree",
    "header",
    "blocks",
    "digest",
    "verify",
    "check",
    "validate",
    "describe",
    "search",
    "diff",
    "stats",
    "refs",
    "to-yaml",
    "schema check",
    "layout check",
    "layout resolve",
    "layout locate",
    "completions",
    "man",
];

/// Where an operation writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Into its file, or with `-o` into another.
    Own,
    /// Into its file alone.
    InPlace,
    /// Where a second argument says.
    Second,
    /// Where `-o` says, which must be there.
    Named,
    /// Where `-o` says, else beside the file under another name.
    Beside,
    /// Into the folder that `-o` says, else that of the file.
    Folder,
}

/// What the result is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Result {
    /// A file with the expected content.
    Content,
    /// The elements of the array as `.npy`.
    Elements,
    /// A text made from the input.
    Text,
}

/// One way of using a command.
pub(crate) struct Operation {
    /// The name in the table: the command, and what tells it from its other uses.
    pub name: &'static str,
    pub command: &'static str,
    /// What stands behind `#`, by kind of file; empty where the command takes a file.
    pub path: fn(Kindred) -> &'static str,
    pub words: &'static [&'static str],
    pub output: Output,
    pub result: Result,
    /// The ending of its outputs, where it is not that of the input.
    pub ending: Option<&'static str>,
    pub of: fn(&Kind) -> bool,
    /// What it asks for.
    pub expect: fn(&mut Content, Kindred),
}

const BASE: Operation = Operation {
    name: "",
    command: "",
    path: |_| "",
    words: &[],
    output: Output::Own,
    result: Result::Content,
    ending: None,
    of: data,
    expect: |_, _| (),
};

fn data(kind: &Kind) -> bool {
    kind.family != Kindred::Text
}

fn fits(kind: &Kind) -> bool {
    kind.family.is_fits()
}

fn layouts(kind: &Kind) -> bool {
    kind.name == "layout"
}

fn tree_or_card(kindred: Kindred, tree: &'static str, card: &'static str) -> &'static str {
    if kindred == Kindred::Fits { card } else { tree }
}

fn array(kindred: Kindred) -> &'static str {
    tree_or_card(kindred, "/a", "/fits/0/data")
}

fn place(content: &mut Content, path: &str) -> Option<usize> {
    content.values.iter().position(|(there, _)| there == path)
}

fn set(content: &mut Content, path: &str, value: &str) {
    let at = place(content, path).unwrap_or(content.values.len());
    match content.values.get_mut(at) {
        Some(there) => value.clone_into(&mut there.1),
        None => content.values.push((path.to_owned(), value.to_owned())),
    }
}

const NEW: &str = "Str(\"new\")";

fn set_name(content: &mut Content, kindred: Kindred) {
    match content.card("OBJECT") {
        Some(card) if kindred == Kindred::Fits => "'new'".clone_into(&mut card.value),
        _ => set(content, "/name", NEW),
    }
}

fn set_card(content: &mut Content, _: Kindred) {
    if let Some(card) = content.card("OBJECT") {
        "'new'".clone_into(&mut card.value);
    }
}

fn add_note(content: &mut Content, kindred: Kindred) {
    if kindred == Kindred::Fits {
        // The place of a new card does not count: it is compared without it.
        let card = Card { keyword: "NOTE".into(), value: "'new'".into(), comment: String::new() };
        content.hdus.iter_mut().take(1).for_each(|hdu| hdu.cards.push(card.clone()));
    } else {
        set(content, "/note", NEW);
    }
}

fn add_key(content: &mut Content, _: Kindred) {
    set(content, "/note", NEW);
}

fn delete_one(content: &mut Content, kindred: Kindred) {
    if kindred == Kindred::Fits {
        content.hdus.iter_mut().for_each(|hdu| hdu.cards.retain(|card| card.keyword != "FILTER"));
    } else {
        content.values.retain(|(path, _)| path != "/keep/b");
    }
}

fn rename_one(content: &mut Content, kindred: Kindred) {
    if let (Some(card), Kindred::Fits) = (content.card("OBJECT"), kindred) {
        "TARGET".clone_into(&mut card.keyword);
    } else if let Some(at) = place(content, "/name").and_then(|at| content.values.get_mut(at)) {
        "/title".clone_into(&mut at.0);
    }
}

fn set_array(content: &mut Content, kindred: Kindred) {
    content.arrays.insert(array(kindred).to_owned(), Digest::of(&rows()));
}

fn add_array(content: &mut Content, _: Kindred) {
    content.arrays.insert("/more".to_owned(), Digest::of(&rows()));
}

fn delete_array(content: &mut Content, kindred: Kindred) {
    content.arrays.remove(array(kindred));
}

fn add_rows(content: &mut Content, kindred: Kindred) {
    if kindred != Kindred::Dudley {
        content.arrays.insert("/table".to_owned(), Digest::of(&table(true)));
        return;
    }
    if let Some(time) = content.arrays.get("/time").cloned() {
        // 42 numbers after the four in the file begin at 40.
        let values: Vec<f64> = (40..44u8).map(f64::from).chain((100..108u8).map(f64::from)).collect();
        let grown = trilith::Array::from_slice(&values, &[6, 2]).expect("twelve elements");
        content.arrays.insert("/time".to_owned(), Digest { datatype: time.datatype, ..Digest::of(&grown) });
        return;
    }
    for row in 0..4u8 {
        let values = [100 + row * 2, 101 + row * 2].map(f64::from);
        let item = trilith::Array::from_slice(&values, &[2]).expect("two elements");
        content.arrays.insert(format!("/time[{}]", row + 2), Digest::of(&item));
    }
}

fn history(content: &mut Content, _: Kindred) {
    content.values.push(("/history".to_owned(), "seen".to_owned()));
}

/// What `layout write` makes of the layout of the tests.
fn fill(content: &mut Content, _: Kindred) {
    content.form.family = Family::Dudley;
    content.arrays = filling().into_iter().map(|(name, array)| (format!("/{name}"), Digest::of(&array))).collect();
}

/// Every use of every writing command.
pub(crate) const ALL: &[Operation] = &[
    Operation {
        name: "set",
        command: "set",
        path: |k| tree_or_card(k, "/name", "/fits/0/header/OBJECT"),
        words: &["new"],
        expect: set_name,
        ..BASE
    },
    Operation {
        name: "set --in-place",
        command: "set",
        path: |k| tree_or_card(k, "/name", "/fits/0/header/OBJECT"),
        words: &["new", "--in-place"],
        output: Output::InPlace,
        expect: set_name,
        ..BASE
    },
    Operation { name: "set (a new key)", command: "set", path: |_| "/note", words: &["new"], expect: add_key, ..BASE },
    Operation {
        name: "set (a card)",
        command: "set",
        path: |_| "/fits/0/header/OBJECT",
        words: &["new"],
        of: fits,
        expect: set_card,
        ..BASE
    },
    Operation { name: "set --from", command: "set", path: array, words: &["--from", "aid/rows.npy"], expect: set_array, ..BASE },
    Operation {
        name: "set --from --in-place",
        command: "set",
        path: array,
        words: &["--from", "aid/rows.npy", "--in-place"],
        output: Output::InPlace,
        expect: set_array,
        ..BASE
    },
    Operation {
        name: "insert",
        command: "insert",
        path: |k| tree_or_card(k, "/note", "/fits/0/header/NOTE"),
        words: &["new"],
        expect: add_note,
        ..BASE
    },
    Operation {
        name: "insert --in-place",
        command: "insert",
        path: |k| tree_or_card(k, "/note", "/fits/0/header/NOTE"),
        words: &["new", "--in-place"],
        output: Output::InPlace,
        expect: add_note,
        ..BASE
    },
    Operation {
        name: "insert --from",
        command: "insert",
        path: |_| "/more",
        words: &["--from", "aid/rows.npy"],
        expect: add_array,
        ..BASE
    },
    Operation {
        name: "insert --from --in-place",
        command: "insert",
        path: |_| "/more",
        words: &["--from", "aid/rows.npy", "--in-place"],
        output: Output::InPlace,
        expect: add_array,
        ..BASE
    },
    Operation {
        name: "rm",
        command: "rm",
        path: |k| tree_or_card(k, "/keep/b", "/fits/0/header/FILTER"),
        expect: delete_one,
        ..BASE
    },
    Operation {
        name: "rm --in-place",
        command: "rm",
        path: |k| tree_or_card(k, "/keep/b", "/fits/0/header/FILTER"),
        words: &["--in-place"],
        output: Output::InPlace,
        expect: delete_one,
        ..BASE
    },
    Operation { name: "rm (an array)", command: "rm", path: array, expect: delete_array, ..BASE },
    Operation {
        name: "rm (an array) --in-place",
        command: "rm",
        path: array,
        words: &["--in-place"],
        output: Output::InPlace,
        expect: delete_array,
        ..BASE
    },
    Operation {
        name: "mv",
        command: "mv",
        path: |k| tree_or_card(k, "/name", "/fits/0/header/OBJECT"),
        words: &["RENAMED"],
        expect: rename_one,
        ..BASE
    },
    Operation {
        name: "mv --in-place",
        command: "mv",
        path: |k| tree_or_card(k, "/name", "/fits/0/header/OBJECT"),
        words: &["RENAMED", "--in-place"],
        output: Output::InPlace,
        expect: rename_one,
        ..BASE
    },
    Operation { name: "edit", command: "edit", expect: set_name, ..BASE },
    Operation {
        name: "edit --in-place",
        command: "edit",
        words: &["--in-place"],
        output: Output::InPlace,
        expect: set_name,
        ..BASE
    },
    Operation { name: "update", command: "update", ..BASE },
    Operation { name: "update --in-place", command: "update", words: &["--in-place"], output: Output::InPlace, ..BASE },
    Operation { name: "update --from", command: "update", words: &["--from", "aid/new.yaml"], expect: set_name, ..BASE },
    Operation {
        name: "update --from --in-place",
        command: "update",
        words: &["--from", "aid/new.yaml", "--in-place"],
        output: Output::InPlace,
        expect: set_name,
        ..BASE
    },
    Operation { name: "history add", command: "history add", words: &["seen"], expect: history, ..BASE },
    Operation {
        name: "history add --in-place",
        command: "history add",
        words: &["seen", "--in-place"],
        output: Output::InPlace,
        expect: history,
        ..BASE
    },
    Operation {
        name: "append",
        command: "append",
        path: |k| match k {
            Kindred::Dudley => "/time",
            Kindred::Fits => "/fits/1/data",
            _ => "/table",
        },
        words: &["aid/rows.npy"],
        output: Output::InPlace,
        expect: add_rows,
        ..BASE
    },
    Operation {
        name: "stream",
        command: "stream",
        path: |k| tree_or_card(k, "/table", "/fits/1/data"),
        words: &["--from", "aid/rows.raw"],
        output: Output::InPlace,
        expect: add_rows,
        ..BASE
    },
    Operation {
        name: "stream (a new array)",
        command: "stream",
        path: |_| "/more",
        words: &["--dtype", "float64", "--row-shape", "2", "--from", "aid/rows.raw"],
        output: Output::InPlace,
        expect: add_array,
        ..BASE
    },
    Operation {
        name: "stream --finalise",
        command: "stream",
        path: |k| tree_or_card(k, "/table", "/fits/1/data"),
        words: &["--finalise", "--from", "aid/none.raw"],
        output: Output::InPlace,
        ..BASE
    },
    Operation { name: "convert", command: "convert", output: Output::Second, ..BASE },
    Operation { name: "convert --codec", command: "convert", words: &["--codec", "zlib"], output: Output::Second, ..BASE },
    Operation { name: "convert --rows", command: "convert", words: &["--rows", "2"], output: Output::Second, ..BASE },
    Operation { name: "convert --chunks", command: "convert", words: &["--chunks", "8,2"], output: Output::Second, ..BASE },
    Operation {
        name: "convert --to asdf-1.6",
        command: "convert",
        words: &["--to", "asdf-1.6", "--allow-loss"],
        output: Output::Second,
        ending: Some("asdf"),
        ..BASE
    },
    Operation {
        name: "convert --to asdf-0.1",
        command: "convert",
        words: &["--to", "asdf-0.1", "--allow-loss"],
        output: Output::Second,
        ending: Some("asdf"),
        ..BASE
    },
    Operation {
        name: "convert --to finf-0.1",
        command: "convert",
        words: &["--to", "finf-0.1", "--allow-loss"],
        output: Output::Second,
        ending: Some("finf"),
        ..BASE
    },
    Operation {
        name: "convert (to .bd)",
        command: "convert",
        words: &["--allow-loss"],
        output: Output::Second,
        ending: Some("bd"),
        ..BASE
    },
    Operation {
        name: "convert (to .fits)",
        command: "convert",
        words: &["--allow-loss"],
        output: Output::Second,
        ending: Some("fits"),
        ..BASE
    },
    Operation { name: "repack", command: "repack", output: Output::Second, ..BASE },
    Operation { name: "repack --codec", command: "repack", words: &["--codec", "lz4"], output: Output::Second, ..BASE },
    Operation { name: "resolve", command: "resolve", output: Output::Second, ..BASE },
    Operation { name: "repair", command: "repair", output: Output::Named, ..BASE },
    Operation { name: "explode", command: "explode", output: Output::Folder, ..BASE },
    Operation { name: "implode", command: "implode", output: Output::Beside, ..BASE },
    Operation {
        name: "get -o",
        command: "get",
        path: array,
        output: Output::Named,
        result: Result::Elements,
        ending: Some("npy"),
        ..BASE
    },
    Operation {
        name: "show -o",
        command: "show",
        path: array,
        words: &["--as", "histogram"],
        output: Output::Named,
        result: Result::Text,
        ending: Some("svg"),
        ..BASE
    },
    Operation {
        name: "sky -o",
        command: "sky",
        path: array,
        words: &["--points", "points.csv"],
        output: Output::Named,
        result: Result::Text,
        ending: Some("csv"),
        ..BASE
    },
    Operation {
        name: "cutout -o",
        command: "cutout",
        path: array,
        words: &["--sky", "10,20", "--size", "3px"],
        output: Output::Named,
        result: Result::Elements,
        ending: Some("npy"),
        ..BASE
    },
    Operation {
        name: "table -o",
        command: "table",
        words: &["-c", "name=/name"],
        output: Output::Named,
        result: Result::Text,
        ending: Some("csv"),
        ..BASE
    },
    Operation {
        name: "manifest -o",
        command: "manifest",
        words: &["--skip"],
        output: Output::Named,
        result: Result::Text,
        ending: Some("json"),
        ..BASE
    },
    Operation {
        name: "layout describe -o",
        command: "layout describe",
        output: Output::Named,
        result: Result::Text,
        ending: Some("dud"),
        ..BASE
    },
    Operation {
        name: "layout print -o",
        command: "layout print",
        output: Output::Named,
        result: Result::Text,
        ending: Some("dud"),
        of: layouts,
        ..BASE
    },
    Operation {
        name: "layout translate -o",
        command: "layout translate",
        words: &["--to", "2026"],
        output: Output::Named,
        result: Result::Text,
        ending: Some("dud"),
        of: layouts,
        ..BASE
    },
    Operation {
        name: "layout new -o",
        command: "layout new",
        output: Output::Named,
        result: Result::Text,
        ending: Some("dud"),
        of: |kind| kind.name == "C source",
        ..BASE
    },
    Operation {
        name: "layout from -o",
        command: "layout from",
        output: Output::Named,
        result: Result::Text,
        ending: Some("dud"),
        of: |kind| kind.name == ".npy",
        ..BASE
    },
    Operation {
        name: "layout code -o",
        command: "layout code",
        words: &["--lang", "c"],
        output: Output::Named,
        result: Result::Text,
        ending: Some("h"),
        of: layouts,
        ..BASE
    },
    Operation {
        name: "layout write",
        command: "layout write",
        words: &["--overwrite", "--param", "N=2", "--from", "a=aid/a.npy", "time=aid/time.npy"],
        output: Output::Second,
        ending: Some("bd"),
        of: layouts,
        expect: fill,
        ..BASE
    },
    Operation {
        name: "layout catalog -o",
        command: "layout catalog",
        output: Output::Named,
        result: Result::Text,
        ending: Some("bd"),
        of: |kind| kind.layout.is_some(),
        ..BASE
    },
];

/// The writing commands that are given no file: they have tests of their own.
pub(crate) const WITHOUT_FILE: &[&str] = &["tour"];

/// The reading commands that go on until they are interrupted.
pub(crate) const ENDLESS: &[&str] = &["view"];

/// Brings what was found into the form that [`Operation::expect`] speaks of: a history as one value, a new card at the end.
pub(crate) fn normalised(found: &Content, expected: &Content) -> Content {
    let mut found = found.clone();
    let expects = |path: &str| expected.values.iter().any(|(there, _)| there == path);
    if expects("/history") {
        let said = found.values.iter().any(|(path, value)| path.starts_with("/history/") && value == "Str(\"seen\")");
        found.values.retain(|entry| !entry.0.starts_with("/history") || expected.values.contains(entry));
        found.values.push(("/history".to_owned(), if said { "seen" } else { "nothing" }.to_owned()));
    }
    if expected.form.family != Family::Dudley {
        for hdu in &mut found.hdus {
            let (new, mut old): (Vec<Card>, Vec<Card>) = hdu.cards.drain(..).partition(|card| card.keyword == "NOTE");
            old.extend(new);
            hdu.cards = old;
        }
    }
    found
}
