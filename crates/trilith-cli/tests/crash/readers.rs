//! Whoever reads a file after a crash, by whatever name, sees the same: by a link, through a reference, in a copy of
//! the folder, on another disk.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use super::{Files, leftovers, next_writer, read_folder, seen};
use trilith::bytes::{DirectoryResolver, LocalOptions, Resolve};

/// Folders beside that of the files, for readers who come another way.
pub(crate) struct Readers {
    above: PathBuf,
    folder: PathBuf,
    /// On the same disk, and on another where there is one.
    copies: Vec<tempfile::TempDir>,
    calls: usize,
    pub counts: Counts,
}

#[derive(Default, Debug, Clone, Copy)]
pub(crate) struct Counts {
    pub by_links: usize,
    pub by_references: usize,
    pub in_copies: usize,
    pub on_other_disks: usize,
}

impl Counts {
    pub(crate) fn add(&mut self, more: Self) {
        self.by_links += more.by_links;
        self.by_references += more.by_references;
        self.in_copies += more.in_copies;
        self.on_other_disks += more.on_other_disks;
    }
}

impl Readers {
    /// For files in `folder`, which lies in `above`.
    pub(crate) fn new(above: &Path, folder: &Path) -> Self {
        std::fs::create_dir(above.join("links")).expect("it can be made");
        let device = |path: &Path| path.metadata().expect("it is there").dev();
        let mut copies = vec![tempfile::tempdir_in(above).expect("it can be made")];
        let elsewhere = [tempfile::tempdir().ok(), tempfile::tempdir_in("/dev/shm").ok()];
        copies.extend(elsewhere.into_iter().flatten().find(|other| device(other.path()) != device(folder)));
        Self { above: above.to_path_buf(), folder: folder.to_path_buf(), copies, calls: 0, counts: Counts::default() }
    }

    /// Checks that the file `main` says the same to everybody.
    pub(crate) fn check(&mut self, main: &str, where_: &dyn Fn() -> String) {
        let content = seen(&self.folder, main);
        if content.is_none() {
            return;
        }
        let link = self.above.join("links").join(main);
        if !link.is_symlink() {
            symlink(Path::new("../folder").join(main), &link).expect("links can be made");
        }
        assert!(seen(&self.above.join("links"), main) == content, "{}: by a link it is a mixture", where_());
        self.counts.by_links += 1;
        // This opens a `$ref`, an external source and the files of a set.
        let (source, _) = DirectoryResolver::new(&self.above, LocalOptions::default(), 8)
            .resolve(&format!("folder/{main}"))
            .unwrap_or_else(|e| panic!("{}: through a reference: {e}", where_()));
        let mut bytes = vec![0; source.len() as usize];
        source.read_at(0, &mut bytes).unwrap_or_else(|e| panic!("{}: through a reference: {e}", where_()));
        assert!(Some(&bytes) == content.as_ref(), "{}: through a reference it is a mixture", where_());
        self.counts.by_references += 1;
        // Copying takes long: one state of sixteen, and all of a few.
        self.calls += 1;
        if self.calls >= 20 && !self.calls.is_multiple_of(16) {
            return;
        }
        let files = read_folder(&self.folder);
        if leftovers(files.keys().map(String::as_str)) > 0 {
            self.check_copies(main, &files, content.as_ref(), where_);
        }
    }

    /// A copy has other inodes, and a copy on another disk another device.
    fn check_copies(&mut self, main: &str, files: &Files, content: Option<&Vec<u8>>, where_: &dyn Fn() -> String) {
        for (number, copy) in self.copies.iter().enumerate() {
            for entry in std::fs::read_dir(copy.path()).expect("it can be listed").flatten() {
                std::fs::remove_file(entry.path()).expect("it can be removed");
            }
            // The copy keeps content, mode and owner, like `cp -a`.
            for name in files.keys() {
                std::fs::copy(self.folder.join(name), copy.path().join(name)).expect("it can be copied");
            }
            assert!(seen(copy.path(), main).as_ref() == content, "{}: copy {number} is a mixture", where_());
            next_writer(copy.path(), &[main.to_owned()]);
            assert!(seen(copy.path(), main).as_ref() == content, "{}: the next writer changed copy {number}", where_());
            *(if number == 0 { &mut self.counts.in_copies } else { &mut self.counts.on_other_disks }) += 1;
        }
    }
}
