//! Bytes kept between runs: one file for each piece, in a folder for each version of a remote file.
//!
//! Several processes may share the folder: files appear complete or not at all. Each ends in a digest of
//! its bytes, so that a damaged one is fetched again.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::response_headers::FileVersion;
use crate::suggest::hex;
use crate::threads::lock;

/// Pieces shorter than this are not worth a file.
const MIN_PIECE: usize = 4096;
/// Bytes of the digest after the data.
const DIGEST_LEN: usize = 16;
/// Number of new bytes after which old files are looked for.
const SWEEP_INTERVAL_BYTES: u64 = 64 << 20;

/// The pieces of one version of one file.
#[derive(Debug)]
pub(super) struct DiskCache {
    root: PathBuf,
    folder: PathBuf,
    capacity: u64,
    pieces: Mutex<BTreeMap<u64, u64>>,
    written_bytes: AtomicU64,
}

impl DiskCache {
    /// The folder below `root` for this version of the file at `address`; None if versions cannot be told.
    pub(super) fn new(root: &Path, address: &str, version: &FileVersion, size: u64, most: u64) -> Option<Self> {
        let told = (version.etag.as_deref(), version.last_modified.as_deref());
        if told == (None, None) {
            return None;
        }
        let name = hex(&Sha256::digest(format!("{address}\n{told:?}\n{size}")));
        let folder = root.join(name.get(..32)?);
        let mut pieces = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if let Some((start, len)) = name.to_str().and_then(parse_name) {
                pieces.insert(start, len);
            }
        }
        let disk = Self {
            root: root.to_path_buf(),
            folder,
            capacity: most,
            pieces: Mutex::new(pieces),
            written_bytes: AtomicU64::new(0),
        };
        Some(disk)
    }

    /// The kept pieces that hold a part of `range`.
    pub(super) fn read_cached_pieces(&self, range: Range<u64>) -> Vec<(u64, Vec<u8>)> {
        let known = lock(&self.pieces).clone();
        let mut found = Vec::new();
        for (start, len) in known.range(..range.end).filter(|(start, len)| **start + **len > range.start) {
            match self.read_piece(*start, *len) {
                Some(bytes) => found.push((*start, bytes)),
                None => {
                    lock(&self.pieces).remove(start);
                }
            }
        }
        found
    }

    fn piece_path(&self, start: u64, len: u64) -> PathBuf {
        self.folder.join(format!("{start}-{len}"))
    }

    fn read_piece(&self, start: u64, len: u64) -> Option<Vec<u8>> {
        let path = self.piece_path(start, len);
        #[allow(clippy::disallowed_methods, reason = "this module opens files")]
        let mut bytes = std::fs::read(&path).ok()?;
        let sum = bytes.split_off(bytes.len().checked_sub(DIGEST_LEN)?);
        if bytes.len() as u64 != len || Sha256::digest(&bytes).get(..DIGEST_LEN) != Some(sum.as_slice()) {
            let _ = std::fs::remove_file(&path);
            return None;
        }
        Some(bytes)
    }

    /// Keeps bytes that begin at `start`. A disk that is full or forbidden only means that nothing is kept.
    pub(super) fn store(&self, start: u64, bytes: &[u8]) {
        let len = bytes.len() as u64;
        if bytes.len() < MIN_PIECE || len > self.capacity || lock(&self.pieces).get(&start).is_some_and(|known| *known >= len) {
            return;
        }
        if self.write_piece(start, bytes).is_err() {
            return;
        }
        lock(&self.pieces).insert(start, len);
        let before = self.written_bytes.fetch_add(len, Ordering::Relaxed);
        if before == 0 || before / SWEEP_INTERVAL_BYTES != (before + len) / SWEEP_INTERVAL_BYTES {
            self.evict_old();
        }
    }

    fn write_piece(&self, start: u64, bytes: &[u8]) -> std::io::Result<()> {
        private_folder(&self.folder)?;
        let path = self.piece_path(start, bytes.len() as u64);
        let beside = self.folder.join(format!(".{start}-{}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        // The server may have required a password, so the content is for this user only.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&beside)?;
        let sum = Sha256::digest(bytes);
        let written = file.write_all(bytes).and_then(|()| file.write_all(sum.get(..DIGEST_LEN).unwrap_or_default()));
        drop(file);
        written.and_then(|()| std::fs::rename(&beside, path)).inspect_err(|_| {
            let _ = std::fs::remove_file(&beside);
        })
    }

    /// Removes the oldest files until the whole directory is below its limit.
    fn evict_old(&self) {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for folder in std::fs::read_dir(&self.root).into_iter().flatten().flatten() {
            // Only directories with names that this cache makes are swept.
            if !folder.file_name().to_str().is_some_and(|name| name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit())) {
                continue;
            }
            for entry in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                if entry.file_name().to_str().and_then(parse_name).is_some()
                    && let Ok(metadata) = entry.metadata()
                {
                    files.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), entry.path()));
                }
            }
        }
        let mut total: u64 = files.iter().map(|(_, len, _)| len).sum();
        files.sort();
        for (_, len, path) in files {
            if total <= self.capacity {
                return;
            }
            if std::fs::remove_file(&path).is_ok() {
                total -= len;
            }
            if let Some(folder) = path.parent() {
                // Goes when it is empty.
                let _ = std::fs::remove_dir(folder);
            }
        }
    }
}

/// Makes a folder, and those above it, that only the user may read.
fn private_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn parse_name(name: &str) -> Option<(u64, u64)> {
    let (start, len) = name.split_once('-')?;
    let (start, len): (u64, u64) = (start.parse().ok()?, len.parse().ok()?);
    start.checked_add(len).map(|_| (start, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(root: &Path, etag: &str, most: u64) -> DiskCache {
        let version = FileVersion { etag: Some(etag.to_owned()), last_modified: None };
        DiskCache::new(root, "https://host.example/x", &version, 1 << 30, most).unwrap()
    }

    #[test]
    fn stored_pieces_match_version_and_reject_damage() {
        let folder = tempfile::tempdir().unwrap();
        let first = disk(folder.path(), "\"1\"", 1 << 20);
        first.store(100, &[7; 5000]);
        first.store(9000, &[1; 10]);
        let again = disk(folder.path(), "\"1\"", 1 << 20);
        assert_eq!(again.read_cached_pieces(200..300), [(100, vec![7; 5000])]);
        assert!(again.read_cached_pieces(9000..9010).is_empty(), "too short to keep");
        assert!(disk(folder.path(), "\"2\"", 1 << 20).read_cached_pieces(200..300).is_empty());
        let path = again.piece_path(100, 5000);
        let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all(b"x").unwrap();
        drop(file);
        assert!(again.read_cached_pieces(200..300).is_empty());
        assert!(!path.exists());
        assert!(DiskCache::new(folder.path(), "x", &FileVersion::default(), 1, 1).is_none());
    }

    #[test]
    #[cfg(unix)]
    fn what_is_kept_is_for_nobody_else() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("new").join("cache");
        disk(&root, "\"1\"", 1 << 20).store(100, &[7; 5000]);
        let mut todo = vec![folder.path().join("new")];
        let mut seen = 0;
        while let Some(path) = todo.pop() {
            let mode = path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
            if path.is_dir() {
                todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                seen += 1;
            }
        }
        assert_eq!(seen, 1);
    }

    #[test]
    fn sweep_keeps_total_below_limit() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("mine")).unwrap();
        for etag in 0..10 {
            disk(folder.path(), &format!("\"{etag}\""), 20_000).store(0, &[0; 6000]);
        }
        let size = |path: PathBuf| std::fs::read_dir(path).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).sum::<u64>();
        let total: u64 = std::fs::read_dir(folder.path()).unwrap().map(|f| size(f.unwrap().path())).sum();
        assert!(total <= 20_000, "{total}");
        assert!(folder.path().join("mine").exists());
    }
}
