//! Files of very many small items: honest commands on them stay within the memory that hostile files may take.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::common;

/// Items in a file. Debug builds, which are ten times slower, take fewer.
const ITEMS: usize = if cfg!(debug_assertions) { 15_000 } else { 300_000 };
/// Memory that may be used, in KiB: 1 GiB for 300,000 items, and in proportion.
const PEAK_KIB: u64 = (96 << 10) + ITEMS as u64 * 3200 / 1024;

/// A file of as many tensors of 4 bytes.
fn tensors() -> Vec<u8> {
    let tensors: Vec<String> = (0..ITEMS)
        .map(|n| {
            format!("\"model.layers.{n}.weight\":{{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[{},{}]}}", n * 4, n * 4 + 4)
        })
        .collect();
    let mut header = format!("{{{}}}", tensors.join(","));
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![7; ITEMS * 4]].concat()
}

/// Records that each store the length of their list: `n`, and as many bytes.
fn records() -> (String, Vec<u8>) {
    let layout = format!("R {{\n  N : <i4\n  a = u1[N]\n}}\nx = R[{ITEMS}]\n");
    let one = [&8u32.to_le_bytes()[..], &[1, 2, 3, 4, 5, 6, 7, 8]].concat();
    (layout, one.repeat(ITEMS))
}

/// Runs a command to its end; its peak of memory in KiB, or what is wrong.
fn peak(folder: &Path, words: &[&str], number: usize) -> Result<u64, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trilith"));
    command.current_dir(folder).args(words).env("TRILITH_THREADS", "2").env_remove("TRILITH_LIMITS");
    let said = [format!("out{number}"), format!("err{number}")].map(|name| folder.join(name));
    let [out, err] = said.each_ref().map(|path| std::fs::File::create(path).unwrap());
    let mut child = command.stdout(out).stderr(err).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    // The kernel keeps the peak, so only the last moment may be missed.
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0);
        most = most.max(now);
        std::thread::sleep(Duration::from_millis(1));
    };
    match ended.code() {
        Some(0) if most <= PEAK_KIB => Ok(most),
        Some(0) => Err(format!("{words:?}: {} MB of memory", most / 1024)),
        code => Err(format!("{words:?}: {code:?} {}", std::fs::read_to_string(&said[1]).unwrap_or_default())),
    }
}

#[test]
fn commands_stay_within_one_gib() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("t.safetensors"), tensors()).unwrap();
    let (layout, data) = records();
    std::fs::write(folder.join("r.dud"), layout).unwrap();
    std::fs::write(folder.join("r.bin"), data).unwrap();
    let levels = 10_000;
    let deep = format!("#ASDF 1.0.0\n%YAML 1.1\n--- {{a: {}{}}}\n...\n", "[".repeat(levels), "]".repeat(levels));
    std::fs::write(folder.join("deep.asdf"), deep).unwrap();
    let all: [&[&str]; 13] = [
        &["tree", "--json", "deep.asdf", "--limit", "depth=100000"],
        &["get", "deep.asdf#/a", "--limit", "depth=100000"],
        &["tree", "t.safetensors"],
        &["info", "t.safetensors"],
        &["verify", "t.safetensors"],
        &["convert", "t.safetensors", "t.asdf"],
        &["tree", "--layout", "r.dud", "r.bin"],
        &["info", "--layout", "r.dud", "r.bin"],
        &["verify", "--layout", "r.dud", "r.bin"],
        &["convert", "--layout", "r.dud", "r.bin", "r.asdf"],
        &["digest", "--layout", "r.dud", "r.bin"],
        &["digest", "t.safetensors"],
        &["diff", "t.safetensors", "t.safetensors"],
    ];
    let all = common::sample("commands on very many items", all.to_vec(), 8);
    let (mut largest, mut faults) = (0, Vec::new());
    for (number, words) in all.iter().enumerate() {
        match peak(folder, words, number) {
            Ok(most) => largest = largest.max(most),
            Err(fault) => faults.push(fault),
        }
    }
    common::say(&format!("commands on {ITEMS} items: {}, most memory {} MB", all.len(), largest / 1024));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
