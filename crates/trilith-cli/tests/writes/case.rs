//! One cell: a folder is laid out, a command is run in it, and the folder is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::common::{Ended, run, trilith};
use super::content::{Content, Digest, difference};
use super::file_kinds::{Kind, Kindred, TEMPLATE, filling, rows};
use super::operations::{Operation, Output, Result as Judged, normalised};
use trilith::bytes::LocalOptions;

/// By which names a command meets its file, and where it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    OwnName,
    Symlink,
    OtherFolder,
    OntoInput,
    OntoSymlink,
    HardLink,
    StandardInput,
}

pub(crate) const WAYS: &[Way] =
    &[Way::OwnName, Way::Symlink, Way::OtherFolder, Way::OntoInput, Way::OntoSymlink, Way::HardLink, Way::StandardInput];

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OwnName => "its own name",
            Self::Symlink => "by a symlink",
            Self::OtherFolder => "into another folder",
            Self::OntoInput => "onto its input",
            Self::OntoSymlink => "onto a symlink to its input",
            Self::HardLink => "onto a hard link",
            Self::StandardInput => "from standard input",
        }
    }
}

/// How a cell ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// With the reason that was given.
    Refused(String),
    /// Against the rule.
    Failed(String),
}

/// What a command is given, and what it may change.
struct Plan {
    input: String,
    output: Option<String>,
    /// The file that holds the result; None where the command chooses the name.
    result: Option<PathBuf>,
}

/// What an operation is given in this way, or None where there is no such way.
fn plan(operation: &Operation, kind: &Kind, way: Way) -> Option<Plan> {
    let file = &kind.file;
    let ending = operation.ending.unwrap_or(kind.ending());
    let (own, link, hard) = (format!("in/{file}"), format!("{}/{}", link_of(kind).0, link_of(kind).1), format!("hard/{file}"));
    let beside = format!("in/out.{ending}");
    let other = format!("other/out.{ending}");
    let plan = |input: &str, output: Option<&str>, result: Option<&str>| {
        Some(Plan { input: input.into(), output: output.map(str::to_owned), result: result.map(PathBuf::from) })
    };
    match (operation.output, way) {
        (Output::Own | Output::InPlace, Way::OwnName) => plan(&own, None, Some(&own)),
        (Output::Own | Output::InPlace, Way::Symlink) => plan(&link, None, Some(&own)),
        (Output::InPlace, Way::HardLink) => plan(&hard, None, Some(&hard)),
        (Output::InPlace, _) => None,
        (Output::Beside | Output::Folder, Way::OwnName) => plan(&own, None, None),
        (Output::Beside | Output::Folder, Way::Symlink) => plan(&link, None, None),
        (Output::Folder, Way::OtherFolder) => plan(&own, Some("other"), None),
        (Output::Folder, Way::StandardInput) => plan("-", Some("other"), None),
        (Output::Folder, _) => None,
        (_, Way::OwnName) => plan(&own, Some(&beside), Some(&beside)),
        (_, Way::Symlink) => plan(&link, Some(&beside), Some(&beside)),
        (_, Way::OtherFolder) => plan(&own, Some(&other), Some(&other)),
        (_, Way::StandardInput) => plan("-", Some(&other), Some(&other)),
        // The name of the output means another format than that of the input.
        _ if operation.name.contains("(to .") && ending != kind.ending() => None,
        (_, Way::OntoInput) => plan(&own, Some(&own), Some(&own)),
        (_, Way::OntoSymlink) => plan(&own, Some(&link), Some(&own)),
        (_, Way::HardLink) => plan(&own, Some(&hard), Some(&hard)),
    }
}

/// The folder and the name of the symbolic link. References count from the name that is given: an exploded file has its
/// link beside it.
fn link_of(kind: &Kind) -> (&'static str, &str) {
    if kind.family == Kindred::Exploded { ("in", "link.asdf") } else { ("links", &kind.file) }
}

/// A file or a link of a folder, as it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    File { content: Vec<u8>, mode: u32 },
    Link(PathBuf),
}

type Listing = BTreeMap<PathBuf, Entry>;

fn listing(place: &Path) -> Listing {
    let mut found = Listing::new();
    let mut folders = vec![place.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("it can be listed") {
            let path = entry.expect("an entry").path();
            let metadata = path.symlink_metadata().expect("it is there");
            let name = path.strip_prefix(place).expect("it lies in the place").to_path_buf();
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_symlink() {
                found.insert(name, Entry::Link(std::fs::read_link(&path).expect("it is a link")));
            } else {
                found.insert(
                    name,
                    Entry::File { content: std::fs::read(&path).expect("it can be read"), mode: metadata.mode() & 0o7777 },
                );
            }
        }
    }
    found
}

/// Lays out the files of a kind, with links where the way asks for them.
fn lay_out(place: &Path, kind: &Kind, way: Way) {
    for folder in ["in", "links", "other", "hard", "aid"] {
        std::fs::create_dir(place.join(folder)).expect("it can be made");
    }
    for (name, content) in &kind.files {
        let folder = if kind.layout == Some(name) { "aid" } else { "in" };
        let path = place.join(folder).join(name);
        std::fs::write(&path, content).expect("it can be written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("it is ours");
    }
    let own = place.join("in").join(&kind.file);
    let (folder, name) = link_of(kind);
    symlink(Path::new("../in").join(&kind.file), place.join(folder).join(name)).expect("links can be made");
    if way == Way::HardLink {
        // The files that an exploded file names must be next to each of its names.
        for name in kind.files.keys().filter(|name| kind.layout != Some(name)) {
            std::fs::hard_link(place.join("in").join(name), place.join("hard").join(name)).expect("links can be made");
        }
    }
    for (name, array) in [("rows", rows())].into_iter().chain(filling()) {
        let mut npy = Vec::new();
        array.write_npy(&mut npy).expect("memory");
        std::fs::write(place.join(format!("aid/{name}.npy")), npy).expect("it can be written");
    }
    std::fs::write(place.join("aid/template.dud"), TEMPLATE).expect("it can be written");
    let raw = rows().read_bytes(trilith::array::Byteorder::NATIVE).expect("memory");
    for (name, content) in [("rows", raw), ("none", Vec::new())] {
        std::fs::write(place.join(format!("aid/{name}.raw")), content).expect("it can be written");
    }
    if let Ok(file) = trilith::open_asdf(&own) {
        std::fs::write(place.join("aid/new.yaml"), file.tree().text().replace("old", "new")).expect("it can be written");
    }
    let editor = place.join("aid/editor");
    std::fs::write(&editor, "#!/bin/sh\nsed -i 's/old/new/' \"$1\"\n").expect("it can be written");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
}

fn place() -> tempfile::TempDir {
    let base = Path::new("/dev/shm");
    if base.is_dir() { tempfile::tempdir_in(base) } else { tempfile::tempdir() }.expect("a folder can be made")
}

/// The words of a command.
fn words(operation: &Operation, kind: &Kind, plan: &Plan) -> Vec<String> {
    let path = (operation.path)(kind.family);
    let item = if path.is_empty() { plan.input.clone() } else { format!("{}#{path}", plan.input) };
    let mut words: Vec<String> = operation.command.split(' ').map(str::to_owned).collect();
    words.push(item);
    words.extend(operation.words.iter().map(|word| match *word {
        "RENAMED" if kind.family == Kindred::Fits => "TARGET".to_owned(),
        "RENAMED" => "title".to_owned(),
        word => word.to_owned(),
    }));
    match (&plan.output, operation.output) {
        (Some(output), Output::Second) => words.insert(operation.command.split(' ').count() + 1, output.clone()),
        (Some(output), _) => words.extend(["-o".to_owned(), output.clone()]),
        (None, _) => {}
    }
    match kind.layout.map(|layout| format!("aid/{layout}")) {
        // The layout is the first of its arguments, and a template.
        Some(_) if operation.command == "layout catalog" => words.insert(2, "aid/template.dud".to_owned()),
        Some(layout) => words.extend(["--layout".to_owned(), layout]),
        None => {}
    }
    words
}

/// Runs one cell; None where there is no such way.
pub(crate) fn judge(operation: &Operation, kind: &Kind, way: Way) -> Option<Outcome> {
    let plan = plan(operation, kind, way)?;
    let folder = place();
    let place = folder.path().canonicalize().expect("it is there");
    lay_out(&place, kind, way);
    let before = listing(&place);
    let words = words(operation, kind, &plan);
    let ended = start(kind, &plan, &place, &words);
    let after = listing(&place);
    let failed = |why: String| Some(Outcome::Failed(format!("`trilith {}`: {why}", words.join(" "))));
    // A repair that could not recover everything exits with 1, and has written the rest.
    let is_done = ended.status == Ok(0) || operation.command == "repair" && ended.status == Ok(1) && before != after;
    match ended.status {
        _ if is_done => match done(operation, kind, &plan, &place, &before, &after) {
            Ok(()) => Some(Outcome::Done),
            Err(why) => failed(why),
        },
        Ok(1 | 2) if before != after => failed(format!("refused, but changed {:?}", changed(&before, &after))),
        Ok(status @ (1 | 2)) => match reason(&ended.stderr, &place) {
            // A path that is not there, or a loss that was not allowed, is a no.
            Some(reason) if status == 1 => Some(Outcome::Refused(format!("{reason} (exit status 1)"))),
            Some(reason) => Some(Outcome::Refused(reason)),
            None => failed(format!("refused without a reason: {:?}", ended.stderr)),
        },
        status => failed(format!("ended with {status:?}: {}", ended.stderr)),
    }
}

fn start(kind: &Kind, plan: &Plan, place: &Path, words: &[String]) -> Ended {
    let mut command = trilith();
    command.current_dir(place).env_remove("VISUAL").env("EDITOR", place.join("aid/editor")).env("TMPDIR", "/tmp").args(words);
    let input = (plan.input == "-").then(|| kind.files.get(&kind.file).cloned().unwrap_or_default());
    run(command, input)
}

/// A command that was run, with the files that it made or changed.
pub(crate) struct Ran {
    pub words: Vec<String>,
    pub folder: tempfile::TempDir,
    pub changed: BTreeSet<PathBuf>,
}

/// Runs an operation with more words, and judges nothing; None where there is no such way.
pub(crate) fn ran(operation: &Operation, kind: &Kind, way: Way, more: &[&str]) -> Option<Ran> {
    let plan = plan(operation, kind, way)?;
    let folder = place();
    lay_out(folder.path(), kind, way);
    let before = listing(folder.path());
    let mut words = words(operation, kind, &plan);
    words.extend(more.iter().filter(|word| !operation.words.contains(word)).map(|word| (*word).to_owned()));
    start(kind, &plan, folder.path(), &words);
    let mut changed = changed(&before, &listing(folder.path()));
    changed.retain(|name| folder.path().join(name).exists());
    Some(Ran { words, folder, changed })
}

fn changed(before: &Listing, after: &Listing) -> BTreeSet<PathBuf> {
    let names = before.keys().chain(after.keys());
    names.filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

/// Whether what was asked is there, and everything else is as it was.
fn done(operation: &Operation, kind: &Kind, plan: &Plan, place: &Path, before: &Listing, after: &Listing) -> Result<(), String> {
    let changed = changed(before, after);
    let mut others: Vec<&PathBuf> = changed.iter().filter(|name| Some(*name) != plan.result.as_ref()).collect();
    let result = match &plan.result {
        Some(result) => result.clone(),
        None => {
            // The main file is the one without a number.
            let is_main = |name: &&PathBuf| {
                let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                name.contains("_exploded.") || name.contains("_all.")
            };
            let main =
                others.iter().copied().find(is_main).ok_or_else(|| format!("no file with the result: {changed:?}"))?.clone();
            others.retain(|name| **name != main);
            main
        }
    };
    others.retain(|name| name.parent() != result.parent() || !is_part(operation, kind, name, before, after));
    if !others.is_empty() {
        return Err(format!("done, but it also changed {others:?}"));
    }
    let Some(Entry::File { mode, content }) = after.get(&result) else {
        return Err(format!("there is no file {}", result.display()));
    };
    if let Some(Entry::File { mode: old, .. }) = before.get(&result)
        && old != mode
    {
        return Err(format!("its mode was {old:o} and is {mode:o}"));
    }
    match operation.result {
        Judged::Content => content_is_right(operation, kind, plan, place, &result),
        Judged::Elements => elements_are_right(operation, kind, place, content),
        Judged::Text if content.is_empty() => Err("done, but the file is empty".to_owned()),
        // A layout may be written over itself; anything else would not match it.
        Judged::Text if plan.result.as_deref() == Some(Path::new(&plan.input)) && !is_layout_again(operation) => {
            Err("the file that was read is gone".to_owned())
        }
        Judged::Text => Ok(()),
    }
}

fn is_layout_again(operation: &Operation) -> bool {
    matches!(operation.command, "layout print" | "layout translate")
}

/// Files that belong to an exploded one: made, or no longer named.
fn is_part(operation: &Operation, kind: &Kind, name: &Path, before: &Listing, after: &Listing) -> bool {
    let is_numbered = name.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(|c: char| c.is_ascii_digit()));
    let is_new = !before.contains_key(name);
    let of_exploded = kind.family == Kindred::Exploded && !after.contains_key(name) && operation.output != Output::Second;
    is_numbered && (is_new && (operation.output == Output::Folder || kind.family == Kindred::Exploded) || of_exploded)
}

fn content_is_right(operation: &Operation, kind: &Kind, plan: &Plan, place: &Path, result: &Path) -> Result<(), String> {
    let mut expected = kind.content.clone();
    (operation.expect)(&mut expected, kind.family);
    let layout = kind.layout.map(|layout| place.join("aid").join(layout));
    let is_stream = operation.ending.is_none_or(|ending| ending == "bd");
    // A converted file has its layout in it.
    let layout = layout.filter(|_| is_stream && operation.output == Output::InPlace);
    let path = place.join(result);
    // Input from a pipe has no folder, and its references stay unchanged.
    let folder = if plan.input == "-" && kind.family == Kindred::Exploded {
        place.join("in")
    } else {
        path.parent().unwrap_or(place).to_path_buf()
    };
    let found =
        Content::read_from(&path, layout.as_deref(), &folder).map_err(|error| format!("done, but it cannot be read: {error}"))?;
    let found = normalised(&found, &expected);
    if let Some(promised) = operation.ending
        && !found.form.family.is_named(promised)
    {
        return Err(format!("done, but it is {:?} under a name that ends in .{promised}", found.form.family));
    }
    if let Some(difference) = difference(&expected, &found, operation.command == "convert") {
        return Err(format!("done, but {difference}"));
    }
    let keeps_form = operation.ending.is_none() && operation.output != Output::Folder;
    if keeps_form && found.form != expected.form {
        return Err(format!("done, but {:?} is {:?}", expected.form, found.form));
    }
    found.faults.map_or(Ok(()), |faults| Err(format!("done, but it does not verify: {faults}")))
}

fn elements_are_right(operation: &Operation, kind: &Kind, place: &Path, npy: &[u8]) -> Result<(), String> {
    let path = place.join("elements.npy");
    std::fs::write(&path, npy).expect("it can be written");
    let source = trilith::bytes::open(&path, LocalOptions::default()).map_err(|error| error.to_string())?;
    let limits = trilith::Limits::default();
    let found =
        trilith::Array::from_npy(source, &limits).map_err(|error| format!("done, but not the elements alone: {error}"))?;
    let array = kind.content.arrays.get((operation.path)(kind.family)).ok_or("there is no such array")?;
    let found = Digest::of(&found);
    if (&found.shape, found.sha256) == (&array.shape, array.sha256) { Ok(()) } else { Err("done, but other elements".to_owned()) }
}

/// The reason that an error gives, without the names of this cell.
fn reason(stderr: &str, place: &Path) -> Option<String> {
    let line = stderr.lines().find_map(|line| line.strip_prefix("trilith: ").or_else(|| line.strip_prefix("error: ")))?;
    let line = line.replace(&format!("{}/", place.display()), "");
    let names = |word: &str| {
        let bare = word.trim_matches(|c: char| "\"'`:,;()".contains(c));
        ["in/", "links/", "other/", "hard/", "aid/"].iter().any(|folder| bare.starts_with(folder)) || bare == "-"
    };
    let words: Vec<String> = line
        .split(' ')
        .map(|word| {
            let bare = word.trim_matches(|c: char| "\"'`:,;()".contains(c));
            if names(word) { word.replace(bare, "FILE") } else { word.to_owned() }
        })
        .collect();
    let text = words.join(" ");
    let text = text.strip_prefix("FILE: ").unwrap_or(&text);
    (text.len() > 10).then(|| text.to_owned())
}

/// Runs a reading command on a file: whether every file is as it was.
pub(crate) fn reads_only(command: &str, kind: &Kind, by_link: bool) -> Result<(), String> {
    let folder = place();
    let place = folder.path().canonicalize().expect("it is there");
    lay_out(&place, kind, Way::OwnName);
    let before = listing(&place);
    let (folder, name) = if by_link { link_of(kind) } else { ("in", kind.file.as_str()) };
    let file = format!("{folder}/{name}");
    let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    match command {
        "completions" => words.push("bash".to_owned()),
        "man" => {}
        "diff" => words.extend([file.clone(), file]),
        "search" => words.extend([file, "--key".to_owned(), "name".to_owned()]),
        "describe" => words.push(format!("{file}#/a")),
        "layout locate" => words.extend([file.clone(), "/a".to_owned(), "--catalog".to_owned(), file]),
        _ => words.push(file),
    }
    if let Some(layout) = kind.layout {
        words.extend(["--layout".to_owned(), format!("aid/{layout}")]);
    }
    let mut command = trilith();
    command.current_dir(&place).args(&words);
    let ended = run(command, None);
    let after = listing(&place);
    if !matches!(ended.status, Ok(0..=2)) {
        return Err(format!("`trilith {}` ended with {:?}: {}", words.join(" "), ended.status, ended.stderr));
    }
    if before == after { Ok(()) } else { Err(format!("`trilith {}` changed {:?}", words.join(" "), changed(&before, &after))) }
}
