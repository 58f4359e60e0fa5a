//! `--schemas-from-python` asks Python for its schemas and runs nothing that lies beside the files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where something is not as expected")]
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a test lays out files of its own")]
#![cfg(unix)]

mod common;

#[test]
fn code_in_current_folder_never_runs() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: no python3");
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = "open(__import__('os').path.join(__import__('os').path.dirname(__file__), 'RAN'), 'w')\n";
    for name in ["json.py", "importlib.py", "sitecustomize.py", "evil.py"] {
        std::fs::write(at(name), run).unwrap();
    }
    // An entry point of a package that seems to be installed here.
    std::fs::create_dir(at("evil-1.0.dist-info")).unwrap();
    std::fs::write(at("evil-1.0.dist-info/METADATA"), "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n").unwrap();
    std::fs::write(at("evil-1.0.dist-info/entry_points.txt"), "[asdf.resource_mappings]\nevil = evil:mappings\n").unwrap();
    std::fs::write(at("x.asdf"), "#ASDF 1.0.0\n%YAML 1.1\n---\na: 1\n...\n").unwrap();
    for path in [None, Some("."), Some("")] {
        let mut command = common::trilith();
        command.current_dir(folder.path()).args(["validate", "--schemas-from-python", "x.asdf"]);
        command.envs(path.map(|path| ("PYTHONPATH", path)));
        // Whether any schemas are installed is not the question.
        common::run(command, None);
        assert!(!at("RAN").exists(), "PYTHONPATH {path:?}");
    }
    // An interpreter of the user's choice is found from here, not from where it runs.
    std::fs::write(at("interpreter"), "#!/bin/sh\n[ \"$1\" = -I ] && [ \"$PWD\" = / ] && echo '\"a: 1\"'\n").unwrap();
    std::fs::set_permissions(at("interpreter"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = common::trilith();
    command
        .current_dir(folder.path())
        .args(["validate", "--schemas-from-python", "x.asdf"])
        .env("TRILITH_PYTHON", "./interpreter");
    let ran = common::run(command, None);
    assert!(!ran.stderr.contains("interpreter could not") && !ran.stderr.contains("running ./interpreter"), "{}", ran.stderr);
}
