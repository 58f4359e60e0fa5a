//! A Dudley stream compared with a file of the ASDF family: as conversion would write it.

use std::io::{Cursor, Seek, SeekFrom, Write};
use std::sync::Arc;

use super::{DiffOptions, Difference, DifferenceKind, ignored};
use crate::asdf::{ArrayOptions, AsdfFile, Target};
use crate::bytes::MemorySource;
use crate::convert::stream_to_asdf;
use crate::dudley::DudleyFile;
use crate::error::{Error, Result, Setting};

/// A stream as a file of the ASDF family, in memory.
pub(super) fn as_asdf(file: &DudleyFile) -> Result<AsdfFile> {
    let limits = file.limits();
    let mut out = Bounded { inner: Cursor::new(Vec::new()), most: limits.memory };
    stream_to_asdf(file, Target::newest(), &ArrayOptions::default(), false, &mut out)
        .map_err(|error| if out.is_full() { too_large(limits.memory) } else { error })?;
    AsdfFile::open(Arc::new(MemorySource::new(out.inner.into_inner(), file.source().name())), limits)
}

fn too_large(limit: u64) -> Error {
    Error::limit(format!("the stream as a file of the ASDF family takes over {limit} bytes of memory"))
        .setting("", Setting::Limit("memory".to_owned()))
        .hint("or convert the stream and compare the files")
}

/// What differs but for what the form alone brings along: who wrote it, and how a layout said it.
pub(super) fn diff(a: &AsdfFile, b: &AsdfFile, options: &DiffOptions) -> Result<Vec<Difference>> {
    let mut how = options.clone();
    for path in ["asdf_library", "history/extensions", "dudley/dialect", "dudley/byteorder", "dudley/stored", "dudley/docs"] {
        how.ignore.push(ignored(&format!("/{path}"))?);
    }
    let mut found = super::diff(a, b, &how)?;
    let on_one_side = |kind| matches!(kind, DifferenceKind::Added | DifferenceKind::Removed);
    found.retain(|difference| !(on_one_side(difference.kind) && matches!(difference.path.as_str(), "/dudley" | "/history")));
    Ok(found)
}

/// Memory that is written to, as far as it may be.
struct Bounded {
    inner: Cursor<Vec<u8>>,
    most: u64,
}

impl Bounded {
    fn is_full(&self) -> bool {
        self.inner.position() > self.most
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.inner.position().saturating_add(bytes.len() as u64) > self.most {
            self.inner.set_position(self.most.saturating_add(1));
            return Err(std::io::Error::from(std::io::ErrorKind::OutOfMemory));
        }
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for Bounded {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.inner.seek(to)
    }
}
