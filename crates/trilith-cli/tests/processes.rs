//! Several processes at one file: a second writer is refused, and readers are told when the file changed under
//! them. Files that are cut or replaced while they are open end in errors, not in crashes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where something is not as expected")]
#![allow(clippy::disallowed_methods, reason = "a test lays out files of its own")]
#![cfg(unix)]

mod common;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trilith::bytes::{
    self, AtomicFile, DirectoryResolver, FileUpdate, JournaledUpdate, LocalOptions, Resolve, SourceBacking, WriteBasis,
};
use trilith::tree::Value;
use trilith::{Array, ArrayOptions, AsdfBuilder, ErrorKind, Target};

fn file(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join("x.asdf");
    let mut options = trilith::asdf::WriteOptions::default();
    options.tree_padding = 500;
    let mut builder = AsdfBuilder::new(Target::latest()).with_options(options);
    let values: Vec<f64> = (0..100_000).map(f64::from).collect();
    let a = builder.array(&Array::from_slice(&values, &[100_000]).unwrap(), &ArrayOptions::default()).unwrap();
    let z = builder.array(&Array::from_slice(&values, &[100_000]).unwrap(), &ArrayOptions::codec("lz4").unwrap()).unwrap();
    builder.write(&path, Value::map([("a", a), ("z", z), ("name", name.into())])).unwrap();
    path
}

/// Makes sure that what is written now has another time than what was written before.
fn later() {
    std::thread::sleep(std::time::Duration::from_millis(20));
}

#[test]
fn second_writer_gets_clear_err() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "old");
    let before = std::fs::read(&path).unwrap();
    let set = |words: &[&str]| {
        let mut command = common::trilith();
        command.current_dir(folder.path()).arg("set").args(words).args(["x.asdf#/name", "new"]);
        common::run(command, None)
    };
    for words in [&["--in-place"][..], &[]] {
        let read = bytes::open(&path, LocalOptions::default()).unwrap();
        let update = FileUpdate::new().begin_commit(&*read).unwrap();
        let refused = set(words);
        assert_eq!(refused.status, Ok(2), "{}", refused.stderr);
        assert!(refused.stderr.contains("is being changed by another process"), "{}", refused.stderr);
        update.roll_back().unwrap();
        let replace = AtomicFile::create(&path, WriteBasis::Nothing).unwrap();
        let refused = set(words);
        assert_eq!(refused.status, Ok(2), "{}", refused.stderr);
        assert!(refused.stderr.contains("is being changed by another process"), "{}", refused.stderr);
        drop(replace);
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(set(&[]).status, Ok(0));
}

#[test]
fn readers_keep_old_content_and_notice_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "old");
    let reader = trilith::open_asdf(&path).unwrap();
    let old: Vec<f64> = reader.array_at("/a").unwrap().load().unwrap();
    later();
    // Replaced by a rename: a process that has it open continues in the old file, and can notice.
    file(folder.path(), "new");
    assert!(reader.sections().source().backing().is_some_and(SourceBacking::is_changed));
    assert_eq!(reader.array_at("/z").unwrap().load::<f64>().unwrap(), old);
    // Changed in place: reading on would mix.
    let reader = trilith::open_asdf(&path).unwrap();
    assert!(!reader.sections().source().backing().is_some_and(SourceBacking::is_changed));
    let refused = |reader: &trilith::AsdfFile, at| reader.array_at(at).and_then(|array| array.load::<f64>()).unwrap_err();
    let place = reader.sections().blocks().unwrap().first().unwrap().data_offset;
    let change = |place: u64, bytes: &[u8]| {
        later();
        let other = bytes::open(&path, LocalOptions::default()).unwrap();
        let mut update = FileUpdate::new();
        update.write(place, bytes.to_vec());
        update.commit(&*other).unwrap();
    };
    // This process changed known bytes: all other bytes are unchanged.
    change(std::fs::metadata(&path).unwrap().len(), b"more");
    assert!(reader.sections().source().backing().is_some_and(SourceBacking::is_changed));
    assert_eq!(reader.array_at("/z").unwrap().load::<f64>().unwrap(), old);
    change(place, &[0xff; 8]);
    let error = refused(&reader, "/a");
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("changed by an update of this process while it was open"), "{error}");
    // After any other change, no byte is known to be unchanged.
    let reader = trilith::open_asdf(&path).unwrap();
    later();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
    let error = refused(&reader, "/z");
    assert!(error.to_string().contains("changed by another process while it was open"), "{error}");
    assert!(error.advice().is_some_and(|hint| hint.contains("open it again")));
}

#[test]
fn unfinished_update_shows_notice_and_old_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "old");
    let place = std::fs::read(&path).unwrap().windows(3).position(|w| w == b"old").unwrap() as u64;
    let mut update = FileUpdate::new();
    update.write(place, b"new".to_vec());
    update.write(std::fs::metadata(&path).unwrap().len(), b"more".to_vec());
    let mut journal = update.begin_commit(&*bytes::open(&path, LocalOptions::default()).unwrap()).unwrap();
    assert!(!journal.write_pieces(1).unwrap());
    // While the writer is at work nothing has gone wrong.
    let early = trilith::open_asdf(&path).unwrap();
    assert_eq!(early.tree().node_at_pointer("/name").unwrap().text(), "old");
    assert!(early.warnings().iter().any(|warning| warning.contains("is updating this file")), "{:?}", early.warnings());
    drop(early);
    drop(journal);
    let reader = trilith::open_asdf(&path).unwrap();
    assert_eq!(reader.tree().node_at_pointer("/name").unwrap().text(), "old");
    assert!(reader.warnings().iter().any(|warning| warning.contains("did not finish")), "{:?}", reader.warnings());
    let mut command = common::trilith();
    command.arg("info").arg(&path);
    let ended = common::run(command, None);
    assert!(ended.stderr.contains("did not finish"), "{}", ended.stderr);
    drop(reader);
    assert!(JournaledUpdate::recover(&path).unwrap());
    assert!(trilith::open_asdf(&path).unwrap().warnings().is_empty());
}

/// Runs one of the tests below as a process of its own, which may crash.
fn child(what: &str, path: &Path) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child_process_reads_changing_file", "--ignored", "--nocapture"])
        .env("WHAT", what)
        .env("FILE", path);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{what}: {}\n{said}{}", output.status, String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("CHILD DONE"), "{what}: {said}");
}

#[test]
fn truncation_of_mapped_file_is_err() {
    for what in ["cut", "cut to nothing", "cut and grown", "replaced", "without maps"] {
        let folder = tempfile::tempdir().unwrap();
        child(what, &file(folder.path(), "old"));
    }
}

#[test]
#[ignore = "the child of the test above"]
fn child_process_reads_changing_file() {
    let (Ok(what), Some(path)) = (std::env::var("WHAT"), std::env::var_os("FILE")) else { return };
    let path = PathBuf::from(path);
    let mut options = LocalOptions::default();
    options.memory_map = what != "without maps";
    let source = bytes::open(&path, options).unwrap();
    let limits = trilith::Limits::default();
    let reader = trilith::file::open_asdf_source(source.clone(), std::sync::Arc::new(bytes::NoReferences), &limits).unwrap();
    let (a, z) = (reader.array_at("/a").unwrap(), reader.array_at("/z").unwrap());
    // The map is there and was used.
    assert_eq!(a.view::<f64>().is_some(), options.memory_map);
    let expected: Vec<f64> = a.load().unwrap();
    later();
    let open = OpenOptions::new().write(true).open(&path).unwrap();
    match what.as_str() {
        "cut to nothing" => open.set_len(0).unwrap(),
        "cut and grown" => {
            let len = open.metadata().unwrap().len();
            open.set_len(5000).unwrap();
            open.set_len(len).unwrap();
        }
        "replaced" => {
            file(path.parent().unwrap(), "new");
        }
        _ => open.set_len(5000).unwrap(),
    }
    if what == "replaced" {
        assert!(source.backing().is_some_and(SourceBacking::is_changed));
        assert_eq!(a.load::<f64>().unwrap(), expected);
    } else {
        assert!(a.view::<f64>().is_none());
        for error in [a.load::<f64>().unwrap_err(), z.load::<f64>().unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        }
    }
    println!("CHILD DONE");
}

#[test]
fn what_is_no_regular_file_is_never_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let content = std::fs::read(file(folder.path(), "old")).unwrap();
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, content)
    });
    let source = bytes::open(&pipe, LocalOptions::default()).unwrap();
    writer.join().unwrap().unwrap();
    assert!(source.len() > 100_000);
    // Short pipes are kept in memory; there is no file to be mapped or cut.
    let reader = trilith::file::open_asdf_source(source, std::sync::Arc::new(bytes::NoReferences), &Default::default()).unwrap();
    assert_eq!(reader.array_at("/a").unwrap().load::<f64>().unwrap().len(), 100_000);
    assert_eq!(bytes::open(folder.path(), LocalOptions::default()).err().map(|e| e.kind()), Some(ErrorKind::InvalidInput));
    // A device has no end.
    assert_eq!(bytes::open("/dev/zero", LocalOptions::default()).err().map(|e| e.kind()), Some(ErrorKind::InvalidInput));
    assert_eq!(bytes::read_text("/dev/urandom", 10).err().map(|e| e.kind()), Some(ErrorKind::InvalidInput));
    // Behind a reference not even that: a pipe would wait for its writer.
    let sandbox = DirectoryResolver::new(folder.path(), LocalOptions::default(), 8);
    assert_eq!(sandbox.resolve("pipe").err().map(|e| e.kind()), Some(ErrorKind::Limit));
}

#[test]
fn pipes_and_devices_are_never_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "old");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(AtomicFile::create(&pipe, WriteBasis::Nothing).err().map(|e| e.kind()), Some(ErrorKind::InvalidInput));
    assert_eq!(
        AsdfBuilder::new(Target::latest()).write(&pipe, Value::from(1)).err().map(|e| e.kind()),
        Some(ErrorKind::InvalidInput)
    );
    for words in [&["convert", "x.asdf", "pipe"][..], &["repack", "x.asdf", "pipe"], &["get", "x.asdf#/a", "-o", "pipe"]] {
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe)
        });
        let say = |words: &[&str]| {
            let mut command = common::trilith();
            command.current_dir(folder.path()).args(words);
            common::run(command, None)
        };
        let said = say(words);
        assert_eq!(said.status, Ok(0), "{words:?}: {}", said.stderr);
        let there = reader.join().unwrap().unwrap();
        assert!(there == say(&[&words[..words.len() - 1], &["-"]].concat()).stdout && there.len() > 100_000, "{words:?}");
        assert!(pipe.metadata().unwrap().file_type().is_fifo(), "{words:?}");
    }
    // Root could replace the device by a file.
    #[cfg(target_os = "linux")]
    {
        let mut command = common::trilith();
        command.args(["convert", path.to_str().unwrap(), "/dev/full"]);
        let full = common::run(command, None);
        assert_eq!(full.status, Ok(2), "{}", full.stderr);
        assert!(full.stderr.contains("writing to /dev/full"), "{}", full.stderr);
        assert!(std::fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    }
}

#[test]
fn swapped_link_never_leads_outside_folder() {
    use std::os::unix::fs::symlink;
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("in");
    std::fs::create_dir_all(folder.join("deep")).unwrap();
    std::fs::create_dir(above.path().join("out")).unwrap();
    std::fs::write(folder.join("deep/x"), b"inside").unwrap();
    std::fs::write(above.path().join("out/x"), b"secret").unwrap();
    symlink("deep", folder.join("link")).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut n, swap) = (0u32, folder.join("swap"));
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                n += 1;
                symlink(if n.is_multiple_of(2) { "deep" } else { "../out" }, &swap).unwrap();
                std::fs::rename(&swap, folder.join("link")).unwrap();
            }
        });
        let sandbox = DirectoryResolver::new(&folder, LocalOptions::default(), 8);
        for _ in 0..20_000 {
            match sandbox.resolve("link/x") {
                Ok((source, _)) => {
                    let mut content = [0; 6];
                    source.read_at(0, &mut content).unwrap();
                    assert_eq!(&content, b"inside");
                    inside += 1;
                }
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Limit | ErrorKind::Io), "{error}");
                    refused += 1;
                }
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    common::say(&format!("swapped links: {inside} opened inside, {refused} refused, 0 led out"));
    assert!(inside > 0 && refused > 0);
}

#[test]
fn four_concurrent_writers_lose_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = trilith::asdf::WriteOptions::default();
    options.tree_padding = 20_000;
    let builder = AsdfBuilder::new(Target::latest()).with_options(options);
    builder.write(folder.path().join("x.asdf"), Value::map([("a", Value::from(1))])).unwrap();
    let writer = |name: usize| {
        let folder = folder.path();
        move || -> Vec<String> {
            let mut said = Vec::new();
            for n in 0..15 {
                let key = format!("k{name}_{n}");
                let mut command = common::trilith();
                command.current_dir(folder).args(["--quiet", "insert", &format!("x.asdf#/{key}"), "1"]);
                if name < 2 {
                    command.arg("--in-place");
                }
                if common::run(command, None).status == Ok(0) {
                    said.push(key);
                }
            }
            said
        }
    };
    let said: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4).map(|name| scope.spawn(writer(name))).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let file = trilith::open_asdf(folder.path().join("x.asdf")).unwrap();
    let lost: Vec<&String> = said.iter().filter(|key| file.tree().node_at_pointer(&format!("/{key}")).is_none()).collect();
    assert!(!said.is_empty() && lost.is_empty(), "{lost:?} of {} lost", said.len());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    common::say(&format!("four writers at once: {} changes made, 0 lost", said.len()));
}

#[test]
fn concurrent_dudley_appends_are_readable() {
    const EACH: u32 = 8;
    let folder = tempfile::tempdir().unwrap();
    let layout = trilith::layout::Layout::read(b"who = [i4]\nt = [f8]\n").unwrap();
    let who = |who: i32| Array::from_slice(&[who], &[1]).unwrap();
    let t = |who: i32| Array::from_slice(&[f64::from(who)], &[1]).unwrap();
    let mut filling = trilith::dudley::LayoutValues::default();
    filling.data.extend([("who".to_owned(), who(0)), ("t".to_owned(), t(0))]);
    let mut out = std::io::Cursor::new(Vec::new());
    let (order, storage) = (trilith::array::Byteorder::Little, trilith::dudley::LayoutStorage::Embedded);
    filling.write(&layout, order, storage, &trilith::Limits::default(), &mut out).unwrap();
    std::fs::write(folder.path().join("x.bd"), out.into_inner()).unwrap();
    for number in 1..4 {
        for (name, rows) in [("who", who(number)), ("t", t(number))] {
            let mut bytes = Vec::new();
            rows.write_npy(&mut bytes).unwrap();
            std::fs::write(folder.path().join(format!("{name}{number}.npy")), bytes).unwrap();
        }
    }
    let writer = |who: u32| {
        let folder = folder.path();
        move || {
            for _ in 0..EACH {
                let mut command = common::trilith();
                command.current_dir(folder).args([
                    "--quiet",
                    "append",
                    "x.bd",
                    &format!("who=who{who}.npy"),
                    &format!("t=t{who}.npy"),
                ]);
                let done = common::run(command, None);
                assert_eq!(done.status, Ok(0), "{}", done.stderr);
            }
        }
    };
    let mut reads = 0;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (1..4).map(|who| scope.spawn(writer(who))).collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            // A reader sees whole records, or that the file was changed.
            let both = trilith::open(folder.path().join("x.bd"))
                .and_then(|file| Ok((file.array("/who")?.load_as::<f64>()?, file.array("/t")?.load_as::<f64>()?)));
            match both {
                Ok((who, t)) => {
                    assert_eq!(who, t);
                    reads += 1;
                }
                Err(error) => assert!(error.to_string().contains("changed by another process"), "{error}"),
            }
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    let who = trilith::open(folder.path().join("x.bd")).unwrap().array("/who").unwrap().load::<i32>().unwrap();
    for name in 1..4 {
        assert_eq!(who.iter().filter(|one| **one == name).count() as u32, EACH);
    }
    assert!(reads > 0);
    common::say(&format!("three writers of records at once: {} records, {reads} reads meanwhile", who.len()));
}

/// The signals among these that end a program here: one that the shell ignores (SIGINT of a job in the background) is ignored
/// by the programs that it starts, too.
fn ending<'a>(signals: &[(&'a str, u32)]) -> Vec<&'a str> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim);
    let ignored = mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    let (left, kept): (Vec<_>, Vec<_>) = signals.iter().partition(|(_, number)| ignored >> (number - 1) & 1 == 1);
    if !left.is_empty() {
        common::say(&format!("ignored by the shell, and so not sent: {left:?}"));
    }
    kept.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn signal_removes_temporary_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.asdf");
    let values: Vec<u32> = (0..4_000_000u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
    let mut builder = AsdfBuilder::new(Target::latest());
    let array = Array::from_slice(&values, &[4_000_000]).unwrap();
    let node = builder.array(&array, &ArrayOptions::default()).unwrap();
    builder.write(&path, Value::map([("a", node)])).unwrap();
    let names = || -> Vec<_> { std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect() };
    for signal in ending(&[("INT", 2), ("TERM", 15), ("HUP", 1)]) {
        let mut command = common::trilith();
        command.current_dir(folder.path()).args(["convert", "x.asdf", "y.asdf", "--codec", "bzp2"]).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        while names().len() < 2 {
            assert!(child.try_wait().unwrap().is_none(), "it ended before the signal");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        let ended = child.wait().unwrap();
        assert!(sent.success() && ended.code().is_none(), "{signal}: {ended:?}");
        assert_eq!(names(), ["x.asdf"], "{signal}");
    }
}

#[test]
fn signal_removes_parts_of_unfinished_explode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.asdf");
    let values: Vec<u32> = (0..100_000u32).collect();
    let mut builder = AsdfBuilder::new(Target::latest());
    let array = Array::from_slice(&values, &[100_000]).unwrap();
    let nodes: Vec<Value> = (0..200).map(|_| builder.array(&array, &ArrayOptions::default()).unwrap()).collect();
    builder.write(&path, Value::map([("a", Value::seq(nodes))])).unwrap();
    let names = || -> Vec<_> { std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect() };
    for signal in ending(&[("INT", 2), ("TERM", 15)]) {
        let mut command = common::trilith();
        command.current_dir(folder.path()).args(["explode", "x.asdf"]).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Some parts are complete, and many are missing.
        while names().len() < 5 {
            assert!(child.try_wait().unwrap().is_none(), "it ended before the signal");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        let ended = child.wait().unwrap();
        assert!(sent.success() && ended.code().is_none(), "{signal}: {ended:?}");
        assert_eq!(names(), ["x.asdf"], "{signal}");
    }
}

#[test]
fn exceeded_file_size_limit_is_err_with_message() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "old");
    let program = common::trilith().get_program().to_owned();
    let mut shell = Command::new("sh");
    shell
        .current_dir(folder.path())
        .args(["-c", "ulimit -f 200; exec \"$0\" convert x.asdf y.asdf --codec none"])
        .arg(program)
        .stderr(Stdio::piped());
    let ended = common::run(shell, None);
    assert_eq!(ended.status, Ok(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("File too large"), "{}", ended.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
