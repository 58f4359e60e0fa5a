//! Real processes, really killed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::common::trilith;
use super::disk::random;
use super::readers::{Counts, Readers};
use super::{alone, leftovers, next_writer, read_folder, seen};
use trilith::tree::Value;
use trilith::{Array, ArrayOptions, AsdfBuilder, Target};

/// How often a process is killed.
fn rounds() -> u64 {
    let usual = if super::is_sampled() { 18 } else { 300 };
    std::env::var("TRILITH_CAMPAIGN").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// A file large enough that writing it takes a while.
fn large(path: &Path, streamed: bool) {
    let mut options = trilith::asdf::WriteOptions::default();
    options.tree_padding = 1 << 20;
    let mut builder = AsdfBuilder::new(Target::latest()).with_options(options);
    let values: Vec<f64> = (0..400_000).map(f64::from).collect();
    let how = if streamed { ArrayOptions::streamed() } else { ArrayOptions::default() };
    let table = builder.array(&Array::from_slice(&values, &[200_000, 2]).unwrap(), &how).unwrap();
    builder.write(path, Value::map([("name", "old".into()), ("table", table)])).unwrap();
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = trilith();
    command.current_dir(folder).args(words).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn killed_process_leaves_old_or_new_content() {
    let _alone = alone();
    let long = format!("{:?}", "long ".repeat(100_000));
    // The words of a process are shorter than this text: it comes in a file.
    let works: [(&str, bool, &[&str]); 6] = [
        ("set", false, &["set", "x.asdf#/name", "new"]),
        ("update --in-place", false, &["update", "--in-place", "--from", "new.yaml", "x.asdf"]),
        ("append", true, &["append", "x.asdf#/table", "rows.npy"]),
        ("repack", false, &["repack", "x.asdf", "x.asdf", "--codec", "lz4"]),
        ("convert", false, &["convert", "--to", "asdf-1.0", "x.asdf", "x.asdf"]),
        ("explode", false, &["explode", "x.asdf"]),
    ];
    let (mut killed, mut old_left, mut new_left) = (0, 0, 0);
    let mut by = Counts::default();
    let mut seed = 0x1234_5678_9abc_def1;
    for (name, streamed, words) in works {
        let start = tempfile::tempdir().unwrap();
        large(&start.path().join("x.asdf"), streamed);
        let text =
            trilith::open_asdf(start.path().join("x.asdf")).unwrap().tree().text().replace("name: old", &format!("name: {long}"));
        std::fs::write(start.path().join("new.yaml"), text).unwrap();
        let mut npy = Vec::new();
        Array::from_slice(&vec![7.0f64; 400_000], &[200_000, 2]).unwrap().write_npy(&mut npy).unwrap();
        std::fs::write(start.path().join("rows.npy"), npy).unwrap();
        let old = read_folder(start.path());
        // The time that it takes, undisturbed.
        let begun = std::time::Instant::now();
        assert!(command(start.path(), words).status().unwrap().success(), "{name}");
        let takes = begun.elapsed();
        let new = read_folder(start.path());
        let main = if name == "explode" { "x_exploded.asdf" } else { "x.asdf" };
        let above = tempfile::tempdir().unwrap();
        let place = above.path().join("folder");
        std::fs::create_dir(&place).unwrap();
        let mut readers = Readers::new(above.path(), &place);
        for round in 0..rounds().div_ceil(works.len() as u64) {
            for entry in std::fs::read_dir(&place).unwrap().flatten() {
                std::fs::remove_file(entry.path()).unwrap();
            }
            for (file, content) in &old {
                std::fs::write(place.join(file), content).unwrap();
            }
            let mut child = command(&place, words).spawn().unwrap();
            std::thread::sleep(Duration::from_nanos(random(&mut seed) % (takes.as_nanos() as u64 * 5 / 4)));
            let _ = child.kill();
            let status = child.wait().unwrap();
            killed += usize::from(!status.success());
            let content = seen(&place, main);
            let is_new = content.as_ref() == new.get(main);
            assert!(is_new || content.as_ref() == old.get(main), "{name}, round {round}: neither old nor new");
            assert!(is_new || !status.success(), "{name}, round {round}: done, but not there");
            *(if is_new { &mut new_left } else { &mut old_left }) += 1;
            let names = read_folder(&place);
            assert!(leftovers(names.keys().map(String::as_str)) <= 1, "{name}, round {round}: {:?}", names.keys());
            if is_new {
                for (file, expected) in &new {
                    assert!(seen(&place, file).as_ref() == Some(expected), "{name}, round {round}: {file}");
                }
            }
            readers.check(main, &|| format!("{name}, round {round}"));
            let files: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
            next_writer(&place, &files);
            assert!(seen(&place, main) == content, "{name}, round {round}: recovery changed it");
            assert_eq!(leftovers(read_folder(&place).keys().map(String::as_str)), 0, "{name}, round {round}");
        }
        by.add(readers.counts);
    }
    super::common::say(&format!(
        "killed processes: {} rounds, {killed} killed in time; {old_left} left the old content, {new_left} the new, 0 mixtures, \
         also by a link ({}), through a reference ({}), in a copy ({}) and on another disk ({})",
        rounds(),
        by.by_links,
        by.by_references,
        by.in_copies,
        by.on_other_disks
    ));
}
