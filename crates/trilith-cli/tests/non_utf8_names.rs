//! Names of files that are not UTF-8, in every place where a command takes one.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "a test lays out files of its own")]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// A name that is not UTF-8 is taken by every command: in arguments, in folders, in lists and as an output.
#[test]
fn every_command_accepts_non_utf8_names() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let run = |words: &[&[u8]]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_trilith"));
        command
            .current_dir(folder)
            .args(words.iter().map(|word| OsStr::from_bytes(word)))
            .env("EDITOR", "true")
            .env_remove("VISUAL");
        let ended = command.output().unwrap();
        let said = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("what it prints is UTF-8");
        (ended.status.code(), said(&ended.stdout), said(&ended.stderr))
    };
    let there = |name: &[u8]| folder.join(OsStr::from_bytes(name)).is_file();
    let done = |words: &[&[u8]]| {
        let (status, out, err) = run(words);
        let shown: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
        assert_eq!(status, Some(0), "{shown:?}: {out}{err}");
        assert!(![&out, &err].iter().any(|text| text.contains(['\u{fdd0}', '\u{fdde}', '\u{fde9}'])), "{shown:?}: {out}{err}");
        out
    };
    let npy: &[u8] = b"rows\xff.npy";
    done(&[b"tour", b"t"]);
    std::fs::copy(folder.join("t/observation.asdf"), folder.join(OsStr::from_bytes(b"caf\xe9.asdf"))).unwrap();
    std::fs::remove_dir_all(folder.join("t")).unwrap();
    let asdf: &[u8] = b"caf\xe9.asdf";
    for words in [
        &[&b"info"[..]][..],
        &[b"tree"],
        &[b"tree", b"--json"],
        &[b"get", b"--json"],
        &[b"blocks"],
        &[b"blocks", b"--json"],
        &[b"digest"],
        &[b"digest", b"--json"],
        &[b"verify"],
        &[b"verify", b"--json"],
        &[b"validate"],
        &[b"describe"],
        &[b"search", b"--key", b"data"],
        &[b"stats"],
        &[b"refs"],
        &[b"to-yaml"],
        &[b"history"],
        &[b"edit"],
        &[b"table", b"-c", b"a=/observation/data{shape}"],
    ] {
        let out = done(&[words, &[asdf]].concat());
        if words.contains(&&b"--json"[..]) && !words.contains(&&b"get"[..]) && !words.contains(&&b"tree"[..]) {
            assert!(out.contains("caf\u{fffd}.asdf"), "{out}");
        }
    }
    done(&[asdf]);
    let item = [asdf, b"#/observation/data"].concat();
    done(&[b"get", &item, b"--slice", b"0:2,0:2"]);
    done(&[b"get", &item, b"-o", b"{stem}-cut.npy"]);
    assert!(there(b"caf\xe9-cut.npy"));
    done(&[b"get", &item, b"--slice", b"0:3", b"-o", npy]);
    done(&[b"show", &item, b"-o", b"caf\xe9.png"]);
    assert!(there(npy) && there(b"caf\xe9.png"));
    let name = [asdf, b"#/name\x21"].concat();
    done(&[b"insert", &name, b"1"]);
    done(&[b"set", &name, b"2"]);
    done(&[b"set", &name, b"3", b"-o", b"set\xe9.asdf"]);
    done(&[b"rename", &name, b"other"]);
    done(&[b"delete", &[asdf, b"#/other"].concat()]);
    done(&[b"insert", &[asdf, b"#/rows"].concat(), b"--from", npy]);
    done(&[b"history", b"add", asdf, b"changed"]);
    done(&[b"convert", asdf, b"b\xff.asdf"]);
    done(&[b"convert", b"b\xff.asdf", b"b\xff.fits"]);
    done(&[b"convert", b"b\xff.fits", b"c\xff.bd", b"--allow-loss"]);
    done(&[b"repack", b"b\xff.asdf", b"b\xff.asdf"]);
    done(&[b"repair", b"b\xff.asdf", b"-o", b"d\xff.asdf"]);
    done(&[b"diff", b"b\xff.asdf", b"d\xff.asdf"]);
    done(&[b"layout", b"print", b"c\xff.bd", b"-o", b"l\xff.dud"]);
    done(&[b"layout", b"check", b"l\xff.dud"]);
    done(&[b"tree", b"c\xff.bd", b"--layout", b"l\xff.dud"]);
    assert!(there(b"b\xff.fits") && there(b"d\xff.asdf") && there(b"l\xff.dud") && there(b"set\xe9.asdf"));
    // Parts of an exploded file in a folder with such a name are found again.
    std::fs::create_dir(folder.join(OsStr::from_bytes(b"dir\xff"))).unwrap();
    done(&[b"explode", asdf, b"-o", b"dir\xff"]);
    let exploded = "dir\u{fffd}/caf\u{fffd}_exploded.asdf";
    let main: OsString = std::fs::read_dir(folder.join(OsStr::from_bytes(b"dir\xff")))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.as_os_str().as_bytes().ends_with(b"_exploded.asdf"))
        .unwrap_or_else(|| panic!("no {exploded}"))
        .into();
    done(&[b"verify", main.as_bytes()]);
    done(&[b"implode", main.as_bytes(), b"-o", b"whole\xe9.asdf"]);
    // In folders, patterns and lists.
    for given in [&b"."[..], b"caf*.asdf"] {
        let out = done(&[b"digest", b"--json", given]);
        assert!(out.contains("caf\u{fffd}.asdf"), "{out}");
    }
    std::fs::write(folder.join("list"), [asdf, b"\n"].concat()).unwrap();
    assert!(done(&[b"tree", b"--files-from", b"list"]).contains("data"));
    done(&[b"get", b"--files-from", b"list", b"-o", b"{stem}.json"]);
    assert!(there(b"caf\xe9.json"));
    // A value is text, which a name is not.
    let (status, _, err) = run(&[b"set", &name, b"a\xff"]);
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("UTF-8"), "{err}");
    // References and catalogs hold names as text.
    let (status, _, err) = run(&[b"manifest", asdf, b"-o", b"m.json"]);
    assert!(status != Some(0) && err.contains("UTF-8"), "{status:?} {err}");
    let (status, _, err) = run(&[b"layout", b"catalog", b"l\xff.dud", b"c\xff.bd", b"-o", b"list.bd"]);
    assert_eq!(status, Some(2), "{err}");
}
