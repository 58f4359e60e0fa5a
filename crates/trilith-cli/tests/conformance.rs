//! The command against the corpus of `tests/conformance`: what it reads, and its verdict on every file; and the page
//! that lists the documents section by section.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::disallowed_methods, reason = "tests read files on their own")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use common::{in_parallel, repository, run, sample, trilith};
use serde_json::Value;
use trilith::check::DOCUMENTS;

/// One file of the corpus and what is expected.
struct Case {
    folder: PathBuf,
    said: Value,
}

impl Case {
    fn text(&self, key: &str) -> &str {
        self.said[key].as_str().unwrap()
    }

    fn name(&self) -> String {
        format!("{}/{}", self.text("document"), self.text("file"))
    }

    /// Document, section and sentence.
    fn about(&self) -> Place {
        place(self.text("document"), &self.said)
    }

    fn deviations(&self) -> &[Value] {
        self.said["deviations"].as_array().map_or(&[], Vec::as_slice)
    }
}

type Place = (String, String, u64);

fn place(document: &str, said: &Value) -> Place {
    (document.to_owned(), said["section"].as_str().unwrap().to_owned(), said["sentence"].as_u64().unwrap())
}

fn corpus() -> PathBuf {
    repository().join("tests/conformance")
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).unwrap()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for document in DOCUMENTS {
        let folder = corpus().join(document.name);
        let Value::Array(list) = json(&folder.join("cases.json")) else { panic!("{} lists cases", folder.display()) };
        cases.extend(list.into_iter().map(|said| Case { folder: folder.clone(), said }));
    }
    cases
}

/// What the command prints with `--json`.
fn ask(arguments: &[&str], folder: &Path) -> Option<Value> {
    let mut command = trilith();
    command.args(arguments).arg("--json").current_dir(folder);
    serde_json::from_slice(&run(command, None).stdout).ok()
}

/// What is said of several files: a line each.
fn ask_all(arguments: &[&str], folder: &Path) -> Vec<Value> {
    let mut command = trilith();
    command.args(arguments).arg("--json").current_dir(folder);
    let ended = run(command, None);
    String::from_utf8_lossy(&ended.stdout).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Equal as JSON, where 1 and 1.0 are the same.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b)),
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64().is_some_and(|one| other.as_f64() == Some(one)),
        _ => one == other,
    }
}

/// What is wrong with how a case is read.
fn reading(case: &Case) -> Option<String> {
    let expected = case.said.get("tree")?;
    let file = case.text("file");
    let Some(tree) = ask(&["tree", "--inline", "--resolve", file], &case.folder) else {
        return Some("it cannot be read".to_owned());
    };
    let is_nothing = |value: &Value| value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
    if !(same(&tree, expected) || is_nothing(&tree) && is_nothing(expected)) {
        return Some(format!("the tree is {tree}, expected {expected}"));
    }
    let digest = ask(&["digest", file], &case.folder)?;
    let expected = case.said.get("arrays")?.as_object()?;
    let arrays = digest["arrays"].as_object()?;
    let fits = |(path, array): (&String, &Value)| {
        expected.get(path).is_some_and(|e| e["datatype"] == array["datatype"] && e["shape"] == array["shape"])
    };
    (arrays.len() != expected.len() || !arrays.iter().all(fits))
        .then(|| format!("the arrays are {}, expected {}", digest["arrays"], case.said["arrays"]))
}

/// What is wrong with a verdict.
fn verdict(case: &Case, found: &Value) -> Option<String> {
    if found["conforms"] != case.said["conforms"] {
        return Some(format!("conforms is {}, expected {}: {}", found["conforms"], case.said["conforms"], found["deviations"]));
    }
    let found = found["deviations"].as_array()?;
    let is_same = |expected: &Value, found: &Value| {
        let places =
            expected["where"].as_object().unwrap().iter().all(|(key, value)| value.is_null() || found["where"][key] == *value);
        places && found["section"] == expected["section"] && found["sentence"] == expected["sentence"]
    };
    if let Some(absent) = case.deviations().iter().find(|expected| !found.iter().any(|found| is_same(expected, found))) {
        return Some(format!("not found: {absent}; found: {found:?}"));
    }
    let sentences: BTreeSet<Place> = case.deviations().iter().map(|one| place("", one)).collect();
    found.iter().find(|found| !sentences.contains(&place("", found))).map(|more| format!("found besides: {more}"))
}

/// Verdicts of all files, by name: one process for each document.
fn verdicts(cases: &[Case]) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for document in DOCUMENTS {
        let own: Vec<&Case> = cases.iter().filter(|case| case.text("document") == document.name).collect();
        let mut arguments = vec!["verify", "--conform", document.name];
        arguments.extend(own.iter().map(|case| case.text("file")));
        let list = ask_all(&arguments, &corpus().join(document.name));
        assert_eq!(list.len(), own.len());
        found.extend(own.iter().map(|case| case.name()).zip(list));
    }
    found
}

#[test]
fn every_corpus_file_matches_its_verdict() {
    let cases = cases();
    let verdicts = verdicts(&cases);
    let wrong: Vec<Option<String>> = in_parallel(&cases, |case| {
        let faults: Vec<String> = [reading(case), verdict(case, &verdicts[&case.name()])].into_iter().flatten().collect();
        (!faults.is_empty()).then(|| format!("{}: {}", case.name(), faults.join("; ")))
    });
    let faults: Vec<&String> = wrong.iter().flatten().collect();
    assert!(
        faults.is_empty(),
        "{} of {} cases:\n{}",
        faults.len(),
        cases.len(),
        faults.iter().map(|fault| format!("{fault}\n")).collect::<String>()
    );

    // Every rule is broken by a file, so that none is only written down.
    let mut broken: BTreeSet<(&str, &str)> = BTreeSet::new();
    for verdict in verdicts.values() {
        for deviation in verdict["deviations"].as_array().into_iter().flatten() {
            broken.insert((deviation["document"].as_str().unwrap(), deviation["rule"].as_str().unwrap()));
        }
    }
    let rules = DOCUMENTS.iter().flat_map(|document| document.rules.iter().map(|rule| (document.name, rule)));
    let never: Vec<String> = rules
        .filter(|(document, rule)| !broken.contains(&(*document, rule.text)))
        .map(|(document, rule)| format!("{document}, {}, {}: {}", rule.section, rule.sentence, rule.text))
        .collect();
    assert!(never.is_empty(), "no file of the corpus breaks these rules: {never:#?}");
    page(&cases, &wrong);
}

/// The command that a suggestion of `verify --conform` names, for a file and the file to write; None for one in words.
fn command_of(mend: &str, from: &str, to: &str) -> Option<Vec<String>> {
    let words = |command: &str| Some(vec![command.to_owned(), from.to_owned(), to.to_owned()]);
    if let Some((_, arguments)) = mend.split_once("convert it with trilith convert ") {
        let mut words = words("convert")?;
        words.extend(arguments.split_whitespace().map(str::to_owned));
        return Some(words);
    }
    match mend {
        mend if mend.contains("with trilith repack") => words("repack"),
        mend if mend.contains("with trilith repair") => Some(["repair", from, "-o", to].map(str::to_owned).to_vec()),
        _ => None,
    }
}

/// Each suggestion that is a command, followed, leaves a file that no longer departs from that sentence.
#[test]
fn every_conform_suggestion_fixes_file() {
    let folder = tempfile::tempdir().unwrap();
    let cases: Vec<Case> = cases()
        .into_iter()
        .filter(|case| case.said["conforms"] == false && !case.text("document").starts_with("dudley"))
        .collect();
    let numbers: Vec<usize> = (0..cases.len()).collect();
    let wrong = in_parallel(&numbers, |number| {
        let case = &cases[*number];
        let (document, file) = (case.text("document"), case.text("file"));
        let found = ask(&["verify", "--conform", document, file], &case.folder)?;
        let extension = Path::new(file).extension()?.to_str()?;
        let mut wrong = String::new();
        let deviations = found["deviations"].as_array()?;
        let mends: BTreeSet<&str> = deviations.iter().filter_map(|deviation| deviation["mend"].as_str()).collect();
        for (place, mend) in mends.into_iter().enumerate() {
            let out = folder.path().join(format!("{number}-{place}.{extension}"));
            let Some(words) = command_of(mend, file, out.to_str()?) else { continue };
            let mut command = trilith();
            command.args(&words).current_dir(&case.folder);
            let ended = run(command, None);
            let after = ask(&["verify", "--conform", document, out.to_str()?], &case.folder);
            let left = after.as_ref().and_then(|after| after["deviations"].as_array());
            let is_same = |one: &Value, other: &Value| one["rule"] == other["rule"];
            let of_mend = || deviations.iter().filter(|deviation| deviation["mend"] == mend);
            if left.is_none_or(|left| left.iter().any(|left| of_mend().any(|before| is_same(before, left)))) {
                let _ = writeln!(wrong, "{}: {mend}: {}", case.name(), ended.stderr);
            }
        }
        (!wrong.is_empty()).then_some(wrong)
    });
    let wrong: String = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_sentence_has_case_or_is_silent() {
    let tried: BTreeSet<Place> = cases().iter().map(Case::about).collect();
    let mut known = BTreeSet::new();
    for document in json(&corpus().join("documents.json")).as_array().unwrap() {
        let name = document["document"].as_str().unwrap();
        for section in document["sections"].as_array().unwrap() {
            let silent: BTreeSet<u64> = section["silent"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
            for sentence in 1..=section["sentences"].as_u64().unwrap() {
                let place = (name.to_owned(), section["section"].as_str().unwrap().to_owned(), sentence);
                assert_ne!(tried.contains(&place), silent.contains(&sentence), "{place:?} has either a case or nothing to ask");
                known.insert(place);
            }
        }
    }
    let unknown: Vec<_> = tried.difference(&known).collect();
    assert!(unknown.is_empty(), "sentences that no document has: {unknown:?}");
    for document in DOCUMENTS {
        for rule in document.rules {
            let place = (document.name.to_owned(), rule.section.to_owned(), u64::from(rule.sentence));
            assert!(known.contains(&place), "a rule about a sentence that there is not: {place:?}");
        }
    }
}

/// Files that use what the documents offer; they are written in every form.
const SOURCES: &[&str] = &[
    "asdf-1.x/low-level-file-layout-05-two.asdf",
    "asdf-1.x/compression-01-both.asdf",
    "asdf-1.x/flags-04-second.asdf",
    "asdf-1.x/block-index-09-list.asdf",
    "asdf-1.x/block-header-09-200.asdf",
    "asdf-1.x/tree-07-dos.asdf",
    "asdf-1.x/references-06-absent.asdf",
    "asdf-1.x/references-14-later.asdf",
    "asdf-1.x/tags-26-kept.asdf",
    "asdf-1.x/blocks-08-block.asdf",
    "asdf-0.1/block-encoding-12-zlib.asdf",
    "asdf-0.1/block-encoding-13-zlib.asdf",
    "asdf-0.1-dev/4.1.3-24-two.asdf",
    "asdf-0.1-dev/4.1.3-57-integers.asdf",
    "asdf-0.1-dev/4.1.3-30-mixed.asdf",
    "finf-0.1/block-header-08-more.finf",
    "finf-0.1/exploded-form-02-tree.finf",
];

/// What docs/decisions.md allows files of a generation's own programs.
fn allowed(target: &str) -> &'static [(&'static str, u64)] {
    match target {
        "finf-0.1" => &[("Block header", 1), ("Block header", 2)],
        "asdf-0.1-dev" => &[("2.3.1", 5)],
        _ => &[],
    }
}

/// What is wrong with `source`, written as `target`.
fn written(source: &str, target: &str, documented: bool, folder: &Path) -> Option<String> {
    let input = corpus().join(source);
    let beside = input.parent()?.to_string_lossy().into_owned();
    let output = folder.join(format!("{}-{target}-{documented}", source.replace('/', "-")));
    let mut command = trilith();
    command.arg("convert").arg(&input).arg(&output).args(["--to", target, "--allow-loss", "--quiet"]);
    command.args(documented.then_some("--as-documented"));
    let converted = run(command, None);
    if converted.status != Ok(0) {
        return Some(format!("{source} to {target}: {}", converted.stderr));
    }
    let document = match target {
        "dudley" => ask(&["info", &output.to_string_lossy()], folder)?["generation"].as_str()?.to_owned(),
        _ if target.starts_with("asdf-1") => "asdf-1.x".to_owned(),
        _ => target.to_owned(),
    };
    // An array in a file next to the source stays there.
    let found = ask(&["verify", "--conform", &document, "--allow", &beside, &output.to_string_lossy()], folder)?;
    // Faults that the tree had before remain.
    let before = ask(&["verify", "--conform", source.split('/').next()?, &input.to_string_lossy()], folder)?;
    let kept: BTreeSet<String> = before["deviations"].as_array()?.iter().map(|one| one["rule"].to_string()).collect();
    let more: Vec<&Value> =
        found["deviations"].as_array()?.iter().filter(|one| !kept.contains(&one["rule"].to_string())).collect();
    let is_allowed = |one: &&Value| {
        !documented
            && allowed(target).iter().any(|(section, sentence)| one["section"] == *section && one["sentence"] == *sentence)
    };
    let fault = more.iter().find(|one| !is_allowed(one)).map(|one| one.to_string());
    let open = found["undecided"].as_array()?.first().map(Value::to_string);
    fault.or(open).map(|fault| format!("{source} to {target} (documented: {documented}): {fault}"))
}

#[test]
fn written_files_conform_to_their_standard() {
    let folder = tempfile::tempdir().unwrap();
    let mut work = Vec::new();
    for source in SOURCES {
        for target in trilith::asdf::TARGETS {
            work.extend([false, true].map(|documented| (*source, target.name, documented)));
        }
        // A file without a tree has no items.
        if !source.contains("blocks-08") {
            work.push((*source, "dudley", false));
        }
    }
    let work = sample("conversions that conform", work, 8);
    let faults: Vec<String> =
        in_parallel(&work, |(source, target, documented)| written(source, target, *documented, folder.path()))
            .into_iter()
            .flatten()
            .collect();
    assert!(faults.is_empty(), "{} of {}: {faults:#?}", faults.len(), work.len());
}

/// The file of what another program made of the corpus.
const OTHER: &str = "results/python-asdf.json";
const PAGE: &str = "docs/conformance.md";
const BEGIN: &str = "<!-- conformance: begin -->\n";
const END: &str = "<!-- conformance: end -->\n";

/// Compares the page with what came of the corpus; writes it anew where `BLESS` is set.
fn page(cases: &[Case], wrong: &[Option<String>]) {
    let other = json(&corpus().join(OTHER));
    let mut text = String::new();
    for document in json(&corpus().join("documents.json")).as_array().unwrap() {
        let name = document["document"].as_str().unwrap();
        writeln!(text, "\n## {}\n", document["title"].as_str().unwrap()).unwrap();
        let reads =
            cases.iter().filter(|case| case.text("document") == name).any(|case| other["results"][case.name()] == "right");
        let program = other["program"].as_str().unwrap();
        if reads {
            writeln!(
                text,
                "| section | sentences | cases | Trilith right | {program}: conforming files read right | broken files noticed |"
            )
            .unwrap();
            writeln!(text, "|---|---|---|---|---|---|").unwrap();
        } else {
            writeln!(
                text,
                "{program} does not read these files.\n\n| section | sentences | cases | Trilith right |\n|---|---|---|---|"
            )
            .unwrap();
        }
        for section in document["sections"].as_array().unwrap() {
            row(&mut text, name, section, cases, wrong, reads.then_some(&other["results"]));
        }
        let unread = |case: &&Case| {
            case.text("document") == name
                && case.said["conforms"] == true
                && other["results"][case.name()] != "right"
                && case.said.get("tree").is_some()
        };
        let unread: Vec<&Case> = cases.iter().filter(unread).filter(|_| reads).collect();
        if !unread.is_empty() {
            writeln!(text, "\nConforming files that {program} does not read, or reads otherwise:\n").unwrap();
        }
        for case in unread {
            writeln!(text, "- `{}`: {}", case.text("file"), case.text("about")).unwrap();
        }
    }
    let path = repository().join(PAGE);
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the page has the tables");
    let (there, after) = rest.split_once(END).expect("the tables have an end");
    if there == text {
        return;
    }
    assert!(std::env::var_os("BLESS").is_some(), "{PAGE} is not what came of the corpus: `cargo xtask bless` writes it");
    std::fs::write(path, format!("{before}{BEGIN}{text}{END}{after}")).expect("the page can be written");
}

fn row(text: &mut String, document: &str, section: &Value, cases: &[Case], wrong: &[Option<String>], other: Option<&Value>) {
    let name = section["section"].as_str().unwrap();
    let own: Vec<(&Case, bool)> = cases
        .iter()
        .zip(wrong)
        .filter(|(case, _)| case.text("document") == document && case.text("section") == name)
        .map(|(case, wrong)| (case, wrong.is_none()))
        .collect();
    let of = |right: usize, all: usize| if all == 0 { "–".to_owned() } else { format!("{right} of {all}") };
    let right = own.iter().filter(|(_, right)| *right).count();
    write!(text, "| {name} | {} | {} | {} |", section["sentences"], own.len(), of(right, own.len())).unwrap();
    if let Some(results) = other {
        let word = |case: &Case| results[case.name()].as_str().unwrap_or("").to_owned();
        let good: Vec<String> =
            own.iter().filter(|(case, _)| case.said["conforms"] == true).map(|(case, _)| word(case)).collect();
        let bad: Vec<String> =
            own.iter().filter(|(case, _)| case.said["conforms"] == false).map(|(case, _)| word(case)).collect();
        let read = good.iter().filter(|word| *word == "right").count();
        let noticed = bad.iter().filter(|word| word.starts_with("refused") || word.ends_with("with a warning")).count();
        write!(text, " {} | {} |", of(read, good.len()), of(noticed, bad.len())).unwrap();
    }
    text.push('\n');
}
