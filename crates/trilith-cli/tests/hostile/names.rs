//! Names that hold line breaks and marks of direction: nothing that is printed may look like a line of its own.

use super::common;
use super::make::{Block, HEAD};

/// What a name pretends that the program said.
const FORGED: &str = "other.asdf: right (9 blocks)";

#[test]
fn line_breaks_in_names_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let array = "!core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [2]}";
    let key = format!("\"k\\n{FORGED}\"");
    let tree = format!("{key}: {array}\nr: {{$ref: \"q\\n{FORGED}.asdf#/a\"}}\ns: {{{key}: 1}}\nm: !<k\\n{FORGED}> 1\n...\n");
    let mut bytes = format!("{HEAD}{tree}").into_bytes();
    bytes.extend(Block::of(&[1, 2]).bytes());
    let name = format!("b\n{FORGED}");
    std::fs::write(folder.path().join(&name), &bytes).unwrap();
    std::fs::write(folder.path().join("plain.asdf"), &bytes).unwrap();
    let names: &[&[&str]] = &[
        &["info"],
        &["tree"],
        &["blocks"],
        &["verify"],
        &["verify", "--deep"],
        &["digest"],
        &["refs"],
        &["validate"],
        &["search", "--key", "k"],
        &["diff", "plain.asdf"],
        &["get"],
        &["repair"],
        &["history"],
    ];
    for words in names {
        for json in [false, true] {
            let mut command = common::trilith();
            command.current_dir(folder.path()).args(*words).arg(&name).args(json.then_some("--json"));
            let ended = common::run(command, None);
            let said = format!("{}{}", String::from_utf8_lossy(&ended.stdout), ended.stderr);
            let forged = said.lines().find(|line| line.trim_start().starts_with("other.asdf"));
            assert_eq!(forged, None, "{words:?} {json}: {said}");
        }
    }
}

#[test]
fn bidi_controls_in_layout_names_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.dud"), "\"a\u{202e}b\" = u1\n").unwrap();
    std::fs::write(folder.path().join("x.bin"), [1]).unwrap();
    for words in [&["tree"][..], &["tree", "--json"], &["info"], &["info", "--json"], &["digest"], &["verify"]] {
        let mut command = common::trilith();
        command.current_dir(folder.path()).args(words).args(["--layout", "x.dud", "x.bin"]);
        let ended = common::run(command, None);
        let said = format!("{}{}", String::from_utf8_lossy(&ended.stdout), ended.stderr);
        assert_eq!(ended.status, Ok(0), "{words:?}: {said}");
        assert!(!said.contains('\u{202e}'), "{words:?}: {said}");
    }
}
