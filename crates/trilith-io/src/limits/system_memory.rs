//! Memory that this process may use: that of the machine, or that of its control group.

use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

/// Assumption if the system does not report it: the memory of a large machine.
const DEFAULT_MEMORY: u64 = 64 << 30;

/// Bytes of memory, asked for once.
pub(super) fn usable_memory() -> u64 {
    static MEMORY: LazyLock<u64> = LazyLock::new(|| min_reported(Path::new("/")).unwrap_or(DEFAULT_MEMORY));
    *MEMORY
}

/// Maximum number of bytes read of a file of the system, which reports no length.
const MAX_FILE_READ: usize = 16 << 10;

fn read_small_text(path: &Path) -> Option<String> {
    let file = std::fs::OpenOptions::new().read(true).open(path).ok()?;
    let mut bytes = Vec::with_capacity(MAX_FILE_READ);
    file.take(MAX_FILE_READ as u64).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}

/// The least that any file below `root` states: `proc/meminfo` and the control groups, of both versions.
fn min_reported(root: &Path) -> Option<u64> {
    let read = |path: &str| read_small_text(&root.join(path));
    let installed = read("proc/meminfo").and_then(|text| mem_total(&text));
    let groups = read("proc/self/cgroup").unwrap_or_default();
    let allowed = group_files(&groups).filter_map(|path| read(&path)?.trim().parse::<u64>().ok());
    allowed.chain(installed).filter(|bytes| *bytes > 0).min()
}

/// The line `MemTotal:   24617988 kB`.
fn mem_total(meminfo: &str) -> Option<u64> {
    let words = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    words.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The files that state the limit of each control group, and of those above it: `0::/user.slice/x` is one of version 2,
/// `4:memory:/x` one of version 1. In a container the group seems to be the root, or has a path that is not there.
fn group_files(groups: &str) -> impl Iterator<Item = String> + '_ {
    groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (names, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (folder, file) = match names {
            "" => ("sys/fs/cgroup", "memory.max"),
            names if names.split(',').any(|name| name == "memory") => ("sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => return Vec::new(),
        };
        let above = Path::new(path).ancestors().filter_map(Path::to_str);
        above.map(|path| format!("{folder}/{}/{file}", path.trim_matches('/'))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> Option<u64> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            #[expect(clippy::disallowed_methods, reason = "a test writes its files")]
            std::fs::write(path, text).unwrap();
        }
        min_reported(folder.path())
    }

    #[test]
    fn memory_is_minimum_of_machine_and_cgroup() {
        let installed = ("proc/meminfo", "MemTotal:        8000 kB\nMemFree:   10 kB\n");
        assert_eq!(machine(&[]), None);
        assert_eq!(machine(&[installed]), Some(8_192_000));
        let second = ("proc/self/cgroup", "0::/a.slice/b.scope\n");
        assert_eq!(machine(&[installed, second, ("sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n")]), Some(8_192_000));
        assert_eq!(machine(&[installed, second, ("sys/fs/cgroup/a.slice/b.scope/memory.max", "1000000\n")]), Some(1_000_000));
        assert_eq!(machine(&[installed, second, ("sys/fs/cgroup/a.slice/memory.max", "3000\n")]), Some(3000), "a group above");
        assert_eq!(machine(&[installed, second, ("sys/fs/cgroup/memory.max", "4000\n")]), Some(4000), "in a container");
        let first = ("proc/self/cgroup", "5:cpu:/x\n4:hugetlb,memory:/docker/y\n");
        let limit = |path, text| machine(&[installed, first, (path, text)]);
        assert_eq!(limit("sys/fs/cgroup/memory/docker/y/memory.limit_in_bytes", "2000\n"), Some(2000));
        assert_eq!(limit("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"), Some(8_192_000));
        assert!(usable_memory() > 64 << 20);
    }
}
