//! `edit` with scripts for an editor: what comes back is checked, can be mended, and may be given up.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and reads its own material"
)]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const FILE: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
    # kept\nlibrary: !core/software-1.0.0 {name: x, version: '1'}\nn: 1\n...\n";

struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.asdf"), FILE).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An editor that runs `lines` of a shell on the draft, `$1`; a blank is in its name.
    fn editor(&self, lines: &str) -> PathBuf {
        let path = self.path("an editor");
        std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn edit(&self, editor: &Path, answers: &str) -> (i32, String) {
        let mut command = common::trilith();
        command.env_remove("VISUAL").env("EDITOR", editor).env("TMPDIR", self.folder.path()).arg("edit").arg(self.path("a.asdf"));
        let ended = common::run(command, Some(answers.as_bytes().to_vec()));
        (ended.status.unwrap(), ended.stderr)
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.path("a.asdf")).unwrap()
    }

    fn drafts(&self) -> usize {
        let names = std::fs::read_dir(self.folder.path()).unwrap().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with("trilith-edit")).count()
    }
}

#[test]
fn saved_change_keeps_other_content() {
    let desk = Desk::new();
    let (status, _) = desk.edit(&desk.editor("sed -i 's/^n: 1/n: 2/' \"$1\""), "");
    assert_eq!(status, 0);
    assert_eq!(desk.file(), FILE.replace("n: 1", "n: 2"));
    assert_eq!(desk.drafts(), 0);
}

#[test]
fn no_change_writes_nothing() {
    let desk = Desk::new();
    let before = std::fs::metadata(desk.path("a.asdf")).unwrap().modified().unwrap();
    let (status, said) = desk.edit(&desk.editor("true"), "");
    assert_eq!((status, said.as_str()), (0, "nothing was changed\n"));
    assert_eq!(std::fs::metadata(desk.path("a.asdf")).unwrap().modified().unwrap(), before);
}

#[test]
fn invalid_yaml_is_reported_and_fixable() {
    let desk = Desk::new();
    let once = desk.path("once");
    let lines = format!(
        "if [ -e {0} ]; then sed -i 's/^n: .*/n: 3/' \"$1\"; else touch {0}; sed -i 's/^n: 1/n: [1/' \"$1\"; fi",
        once.display()
    );
    let (status, said) = desk.edit(&desk.editor(&lines), "\n");
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("invalid YAML"), "{said}");
    assert_eq!(desk.file(), FILE.replace("n: 1", "n: 3"));
}

#[test]
fn unanswered_prompt_keeps_file_and_draft() {
    let desk = Desk::new();
    let (status, said) = desk.edit(&desk.editor("sed -i \"s/version: '1'/version: 1/\" \"$1\""), "");
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("/library/version (line 5, column 50)"), "{said}");
    assert_eq!(desk.file(), FILE);
    assert_eq!(desk.drafts(), 1);
}

#[test]
fn confirmed_schema_violation_is_saved_and_stays_editable() {
    let desk = Desk::new();
    let (status, _) = desk.edit(&desk.editor("sed -i \"s/version: '1'/version: 1/\" \"$1\""), "s\n");
    assert_eq!(status, 0);
    assert!(desk.file().contains("version: 1}"));
    let (status, said) = desk.edit(&desk.editor("sed -i 's/^n: 1/n: 4/' \"$1\""), "");
    assert_eq!((status, said.as_str()), (0, ""));
    assert!(desk.file().contains("n: 4"));
}

#[test]
fn failing_editor_keeps_file() {
    let desk = Desk::new();
    let (status, said) = desk.edit(&desk.editor("echo x > \"$1\"; exit 3"), "");
    assert_eq!(status, 2);
    assert!(said.contains("ended with exit status: 3"), "{said}");
    assert_eq!(desk.file(), FILE);
}

#[test]
fn fitting_tree_keeps_block_offsets() {
    let desk = Desk::new();
    // A block that is not aligned, with bytes before and after it.
    let mut before = FILE
        .replace("n: 1", "n: !core/ndarray-1.1.0 {source: 0, datatype: int8, byteorder: little, shape: [3]}\nm: 10")
        .into_bytes();
    before.extend(b"\0\0\xd3BLK\0\x30\0\0\0\0\0\0\0\0");
    for size in [3u64, 3, 3] {
        before.extend(size.to_be_bytes());
    }
    before.extend([0; 16]);
    before.extend(b"\x01\x02\x03");
    std::fs::write(desk.path("a.asdf"), &before).unwrap();
    let (status, said) = desk.edit(&desk.editor("sed -i 's/^m: 10/m: 7/' \"$1\""), "");
    assert_eq!(status, 0, "{said}");
    let after = std::fs::read(desk.path("a.asdf")).unwrap();
    let block = |bytes: &[u8]| bytes.windows(4).position(|four| four == b"\xd3BLK").unwrap();
    assert_eq!((after.len(), block(&after)), (before.len(), block(&before)));
    assert_eq!(after[block(&after)..], before[block(&before)..]);
    let tree = String::from_utf8(after[..block(&after)].to_vec()).unwrap();
    assert!(tree.ends_with("m: 7\n...\n\0\0\0"), "{tree:?}");
}

#[test]
fn concurrent_save_during_edit_is_kept() {
    for mine in [&[][..], &["--in-place"]] {
        for other in ["", "--in-place"] {
            let desk = Desk::new();
            let mut bytes = FILE.replace("n: 1", "n: 1\nb: 22").into_bytes();
            // Room to change it in place.
            bytes.extend([0; 200]);
            std::fs::write(desk.path("a.asdf"), &bytes).unwrap();
            let program = common::trilith().get_program().to_string_lossy().into_owned();
            let set = format!("'{program}' set '{}#/b' 77 {other}", desk.path("a.asdf").display());
            let editor = desk.editor(&format!("sed -i 's/^n: 1/n: 2/' \"$1\"; {set}"));
            let mut command = common::trilith();
            command.env_remove("VISUAL").env("EDITOR", editor).env("TMPDIR", desk.folder.path());
            command.arg("edit").arg(desk.path("a.asdf")).args(mine);
            let ended = common::run(command, None);
            assert_eq!(ended.status, Ok(2), "{mine:?} while {other:?}: {}", ended.stderr);
            assert!(desk.file().contains("b: 77") && desk.file().contains("n: 1"), "{mine:?} while {other:?}: {}", desk.file());
        }
    }
}
