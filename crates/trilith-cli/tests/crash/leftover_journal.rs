//! What lies beside a file under the name of its journal: left by a crash, of other content, or no journal at all.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::common::{self, trilith};
use super::disk::{Recorder, State};
use super::operations::{self, Work};
use super::{Place, alone, read_folder, run, seen};
use trilith::Target;
use trilith::bytes::SourceBacking;
use trilith::bytes::fs::{FaultAction, FsObserver, FsOp, set_observer};
use trilith::check::{self, VerifyDepth};

const JOURNAL: &str = ".x.asdf.trilith-journal";

/// A command as a process of its own; it must end soon.
fn say(folder: &Path, words: &[&str]) -> common::Ended {
    let mut command = trilith();
    command.current_dir(folder).args(words);
    let start = Instant::now();
    let ended = common::run(command, None);
    assert!(start.elapsed() < Duration::from_secs(30), "{words:?} took {:?}", start.elapsed());
    ended
}

fn work(name: &str) -> &'static Work {
    operations::ALL.iter().find(|work| work.name == name).unwrap()
}

/// A crash in the middle of a change in place: the file is no longer the old one, and the journal says how it was.
fn crashed(place: &Place, work: &Work) -> State {
    let old = place.prepare(work, Target::latest());
    let recorder = Arc::new(Recorder::new(&place.folder, None));
    set_observer(Some(recorder.clone()));
    assert_eq!(run(&place.folder, work.words), 0);
    set_observer(None);
    let mut found = None;
    recorder.story(&old).crashes(|crash| {
        crash.state.lay_out(&place.folder);
        let there = read_folder(&place.folder);
        let is_changed = there.get(work.main) != old.get(work.main);
        if is_changed && there.contains_key(JOURNAL) && seen(&place.folder, work.main).as_ref() == old.get(work.main) {
            found = Some(crash.state);
        }
    });
    found.expect("there is such a moment")
}

#[test]
fn restored_backup_keeps_its_content_after_crash() {
    let _alone = alone();
    for name in ["set --in-place", "set --in-place --from, fits", "insert --in-place --from"] {
        let place = Place::new();
        let work = work(name);
        let state = crashed(&place, work);
        let good = {
            let other = Place::new();
            (work.prepare)(&other.folder, Target::latest());
            assert_eq!(run(&other.folder, &["insert", "x.asdf#/restored", "true"]), 0);
            assert_eq!(run(&other.folder, &["insert", "x.asdf#/more", "--from", "x.asdf#/a"]), 0);
            std::fs::read(other.folder.join("x.asdf")).unwrap()
        };
        for by_rename in [false, true] {
            state.lay_out(&place.folder);
            if by_rename {
                std::fs::write(place.folder.join("good"), &good).unwrap();
                std::fs::rename(place.folder.join("good"), place.folder.join("x.asdf")).unwrap();
            } else {
                std::fs::write(place.folder.join("x.asdf"), &good).unwrap();
            }
            let read = say(&place.folder, &["get", "x.asdf#/restored"]);
            assert_eq!((read.status, read.stdout.as_slice()), (Ok(0), &b"true\n"[..]), "{name}: {}", read.stderr);
            assert!(read.stderr.contains("journal"), "{name}: a reader is warned: {:?}", read.stderr);
            for words in [&["set", "x.asdf#/restored", "7", "--in-place"][..], &["set", "x.asdf#/restored", "7"]] {
                let before = read_folder(&place.folder);
                let refused = say(&place.folder, words);
                assert_eq!(refused.status, Ok(2), "{name}, {words:?}: {}", refused.stderr);
                assert!(refused.stderr.contains(JOURNAL), "{name}, {words:?}: {}", refused.stderr);
                assert!(read_folder(&place.folder) == before, "{name}, {words:?}: nothing is changed");
            }
        }
    }
}

/// Lays something under the name of the journal.
type Lay = fn(&Path);

#[test]
fn foreign_journal_files_never_stop_readers() {
    let _alone = alone();
    let lay: [(&str, Lay); 8] = [
        ("four gigabytes of nothing", |at| std::fs::File::create(at).unwrap().set_len(4 << 30).unwrap()),
        ("a text", |at| std::fs::write(at, "not a journal").unwrap()),
        ("nothing", |at| std::fs::write(at, "").unwrap()),
        ("a pipe", |at| assert!(Command::new("mkfifo").arg(at).status().unwrap().success())),
        ("a folder", |at| std::fs::create_dir(at).unwrap()),
        ("a link to a device", |at| symlink("/dev/zero", at).unwrap()),
        ("a link to nothing", |at| symlink("nowhere", at).unwrap()),
        ("a file that nobody may read", |at| {
            std::fs::write(at, "secret").unwrap();
            std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o000)).unwrap();
        }),
    ];
    for (what, lay) in lay {
        let place = Place::new();
        let old = place.prepare(work("set"), Target::latest());
        let journal = place.folder.join(JOURNAL);
        lay(&journal);
        let read = say(&place.folder, &["get", "x.asdf#/name", "--limit", "memory=1M"]);
        assert_eq!((read.status, read.stdout.as_slice()), (Ok(0), &b"old\n"[..]), "{what}: {}", read.stderr);
        for words in [&["set", "x.asdf#/name", "new", "--in-place"][..], &["set", "x.asdf#/name", "new"]] {
            let ended = say(&place.folder, words);
            let is_there = journal.symlink_metadata().is_ok();
            match ended.status {
                // An empty file is a journal whose writer was killed before it wrote anything.
                Ok(0) => assert!(is_there || matches!(what, "nothing"), "{what}, {words:?}: it was removed"),
                status => {
                    assert_eq!(status, Ok(2), "{what}, {words:?}: {}", ended.stderr);
                    assert!(is_there && ended.stderr.contains(JOURNAL), "{what}, {words:?}: {}", ended.stderr);
                    let there = std::fs::read(place.folder.join("x.asdf")).unwrap();
                    assert!(Some(&there) == old.get("x.asdf"), "{what}, {words:?}: refused, but changed");
                }
            }
        }
    }
}

/// Notes what others may do with each new file at the moment when it is made.
#[derive(Default)]
struct Modes(Mutex<Vec<(std::path::PathBuf, u32)>>);

impl FsObserver for Modes {
    fn intercept_act(&self, _: FsOp<'_>) -> FaultAction {
        FaultAction::Proceed
    }

    fn observe_act(&self, act: FsOp<'_>) {
        if let FsOp::Create(path) = act {
            let mode = path.metadata().unwrap().permissions().mode() & 0o777;
            self.0.lock().unwrap().push((path.to_path_buf(), mode));
        }
    }
}

#[test]
fn new_files_next_to_private_file_are_private() {
    let _alone = alone();
    let mut made = 0;
    // An output of another name is made as every new file is.
    let writes_to_it = |work: &&Work| work.main == "x.asdf";
    for work in operations::ALL.iter().filter(|work| (work.of)(Target::latest())).filter(writes_to_it) {
        let place = Place::new();
        for name in place.prepare(work, Target::latest()).keys() {
            std::fs::set_permissions(place.folder.join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let modes = Arc::new(Modes::default());
        set_observer(Some(modes.clone()));
        assert_eq!(run(&place.folder, work.words), 0, "{}", work.name);
        set_observer(None);
        for (path, mode) in modes.0.lock().unwrap().iter() {
            assert_eq!(mode & 0o077, 0, "{}: {} was made with mode {mode:o}", work.name, path.display());
            made += 1;
        }
    }
    common::say(&format!("private files: {made} temporary files and journals, each of them private when it was made"));
    assert!(made > operations::ALL.len() / 2);
}

#[test]
fn longest_file_names_are_writable() {
    let _alone = alone();
    for length in [200, 230, 238, 250, 255] {
        let place = Place::new();
        place.prepare(work("set"), Target::latest());
        let name = format!("{}.asdf", "n".repeat(length - 5));
        std::fs::rename(place.folder.join("x.asdf"), place.folder.join(&name)).unwrap();
        let item = format!("{name}#/name");
        let read = say(&place.folder, &["get", &item]);
        assert_eq!((read.status, read.stdout.as_slice()), (Ok(0), &b"old\n"[..]), "{length}: {}", read.stderr);
        for (value, words) in [("one", &["--in-place"][..]), ("two", &[])] {
            let before = read_folder(&place.folder);
            let ended = say(&place.folder, &[&["set", &item, value], words].concat());
            if ended.status == Ok(0) {
                assert_eq!(say(&place.folder, &["get", &item]).stdout, format!("{value}\n").into_bytes(), "{length}");
                assert_eq!(read_folder(&place.folder).len(), before.len(), "{length}");
            } else {
                assert_eq!(ended.status, Ok(2), "{length}: {}", ended.stderr);
                assert!(read_folder(&place.folder) == before, "{length}: refused, but changed");
            }
        }
    }
}

#[test]
fn hard_linked_file_rejects_change_in_place() {
    let _alone = alone();
    let (mut refused, mut kept) = (0, 0);
    for target in [Target::latest(), Target::from_name("asdf-0.1").unwrap(), Target::from_name("finf-0.1").unwrap()] {
        for work in operations::ALL.iter().filter(|work| (work.of)(target)) {
            let place = Place::new();
            let old = place.prepare(work, target);
            // In a separate folder, so that one name does not lead to the other.
            let other = tempfile::tempdir_in(place.folder.parent().unwrap()).unwrap();
            for name in old.keys() {
                std::fs::hard_link(place.folder.join(name), other.path().join(name)).unwrap();
            }
            let status = run(&place.folder, work.words);
            let where_ = || format!("{} of {}", work.name, target.name);
            // A reader by the other name sees the old content, to the byte.
            assert!(read_folder(other.path()) == old, "{}: it was changed under its other name", where_());
            if status == 0 {
                kept += 1;
            } else {
                assert_eq!(status, 2, "{}", where_());
                assert!(read_folder(&place.folder) == old, "{}: refused, but changed", where_());
                refused += 1;
            }
        }
    }
    common::say(&format!("hard links: {kept} operations left the other name as it was, {refused} were refused"));
    assert!(refused > 0 && kept > 0);
}

/// Only root can give files away.
fn is_root(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    folder.metadata().is_ok_and(|there| there.uid() == 0)
}

#[test]
fn other_users_journal_is_ignored() {
    let _alone = alone();
    let place = Place::new();
    if !is_root(&place.folder) {
        return common::say("skipped: only root can lay out files of another user");
    }
    let work = work("set --in-place");
    let state = crashed(&place, work);
    state.lay_out(&place.folder);
    std::os::unix::fs::chown(place.folder.join(work.main), Some(1234), Some(1235)).unwrap();
    std::os::unix::fs::chown(place.folder.join(JOURNAL), Some(4321), Some(4321)).unwrap();
    let before = read_folder(&place.folder);
    // Nothing of the journal is seen, and it stays where it is.
    let there = std::fs::read(place.folder.join(work.main)).unwrap();
    let source = trilith::bytes::open(place.folder.join(work.main), Default::default()).unwrap();
    let mut seen = vec![0; source.len() as usize];
    source.read_at(0, &mut seen).unwrap();
    assert!(
        seen == there
            && source.backing().and_then(SourceBacking::notice).is_some_and(|notice| notice.contains("belongs to another user"))
    );
    for words in [&["set", "x.asdf#/name", "7", "--in-place"][..], &["set", "x.asdf#/name", "7"]] {
        let refused = say(&place.folder, words);
        assert_eq!(refused.status, Ok(2), "{words:?}: {}", refused.stderr);
        assert!(read_folder(&place.folder) == before, "{words:?}: nothing is changed");
    }
    // A journal that belongs to the owner of the file is trusted.
    std::os::unix::fs::chown(place.folder.join(JOURNAL), Some(1234), Some(1235)).unwrap();
    assert!(
        trilith::bytes::open(place.folder.join(work.main), Default::default())
            .unwrap()
            .backing()
            .and_then(SourceBacking::notice)
            .is_none_or(|n| !n.contains("user"))
    );
}

#[test]
fn rewritten_file_keeps_owner_group_and_mode() {
    use std::os::unix::fs::MetadataExt;
    let _alone = alone();
    for work in operations::ALL.iter().filter(|work| work.main == "x.asdf" && (work.of)(Target::latest())) {
        let place = Place::new();
        if !is_root(&place.folder) {
            return common::say("skipped: only root can lay out files of another user");
        }
        place.prepare(work, Target::latest());
        let path = place.folder.join("x.asdf");
        std::os::unix::fs::chown(&path, Some(1234), Some(1235)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(run(&place.folder, work.words), 0, "{}", work.name);
        let there = path.metadata().unwrap();
        assert_eq!((there.uid(), there.gid(), there.mode() & 0o777), (1234, 1235, 0o640), "{}", work.name);
    }
}

#[test]
fn writers_remove_stale_temporary_files() {
    let _alone = alone();
    for words in [&["set", "x.asdf#/name", "new", "--in-place"][..], &["set", "x.asdf#/name", "new"]] {
        let place = Place::new();
        place.prepare(work("set"), Target::latest());
        std::fs::write(place.folder.join(".x.asdf.trilith-tmp"), "half").unwrap();
        assert_eq!(say(&place.folder, words).status, Ok(0));
        assert_eq!(read_folder(&place.folder).keys().filter(|name| name.contains("trilith")).count(), 0, "{words:?}");
    }
}

#[test]
fn four_concurrent_writers_lose_no_success() {
    let _alone = alone();
    let place = Place::new();
    let folder = place.folder.as_path();
    let mut options = trilith::asdf::WriteOptions::default();
    options.tree_padding = 30_000;
    let mut builder = trilith::AsdfBuilder::new(Target::latest()).with_options(options);
    let array = trilith::Array::from_slice(&[7u8; 100], &[100]).unwrap();
    let array = builder.array(&array, &trilith::ArrayOptions::default()).unwrap();
    builder.write(folder.join("x.asdf"), trilith::Value::map([("a", array)])).unwrap();
    let writer = |number: usize| -> Vec<String> {
        let in_place: &[&str] = if number < 2 { &["--in-place"] } else { &[] };
        let keys = (0..40).map(|n| format!("k{number}_{n}"));
        keys.filter(|key| say(folder, &[&["-q", "insert", &format!("x.asdf#/{key}"), "1"], in_place].concat()).status == Ok(0))
            .collect()
    };
    let said: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4).map(|number| scope.spawn(move || writer(number))).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let file = trilith::open_asdf(folder.join("x.asdf")).unwrap();
    let lost: Vec<&String> = said.iter().filter(|key| file.tree().root().get(key).is_none()).collect();
    let there = file.tree().root().entries().filter(|(key, _)| key.text().starts_with('k')).count();
    common::say(&format!("four writers at once: {} of 160 changes were said to be done, {there} are there", said.len()));
    assert!(lost.is_empty() && there == said.len(), "lost: {lost:?}");
    assert!(!said.is_empty());
    assert!(check::verify(&file, VerifyDepth::Decoded, trilith::Progress::default()).unwrap().is_ok());
}
