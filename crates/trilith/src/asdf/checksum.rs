//! MD5 of blocks: computed in parallel with the writing, compared with what a file states.
//!
//! ASDF 1.x, "Block header", `checksum`: MD5 of the used data. Python asdf hashed the *decoded* bytes
//! up to 5.2; both are accepted when reading, and which it was is reported.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use super::md5::{self, Md5};
use crate::bytes::{Checked, Source, SourceOrigin, SourceRef, Window};
use crate::codec::{self, CodecId};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::progress::Progress;
use crate::suggest::hex;
use crate::threads::{JoinHandle, lasting, lock, threads};

/// The bytes that a stored checksum covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumOf {
    /// The stored bytes, as in the standard.
    Stored,
    /// The decoded bytes, as Python asdf wrote until 5.2.
    Decoded,
}

/// MD5 of a whole source, read in pieces.
///
/// ```
/// use trilith::{asdf::md5_of, bytes::MemorySource};
/// assert_eq!(md5_of(&MemorySource::new(b"abc".to_vec(), "example"))?[..2], [0x90, 0x01]);
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`Source::read_at`].
pub fn md5_of(source: &dyn Source) -> Result<[u8; 16]> {
    md5::one(source, Progress::default())
}

/// The MD5 that a block states, and how its bytes are decoded.
#[derive(Debug, Clone)]
pub(crate) struct Sum {
    /// The MD5.
    pub md5: [u8; 16],
    /// The codec and the decoded size; `None` for bytes that are stored uncompressed, and for encoding chains.
    pub codec: Option<(CodecId, u64)>,
    /// Number of the block.
    pub index: usize,
    /// First byte of its mark.
    pub offset: u64,
}

/// Compares the MD5 of the stored bytes of a block, `found`, with the one that it states.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if the block states another one, which is not that of its decoded bytes either, and what
/// decoding them returns if that is an I/O error or a limit.
pub(crate) fn compare(sum: &Sum, found: &[u8; 16], stored: SourceRef, limits: &Limits) -> Result<ChecksumOf> {
    let stated = &sum.md5;
    if found == stated {
        return Ok(ChecksumOf::Stored);
    }
    // Until 5.2 Python asdf hashed the decoded bytes. It wrote no encoding chains.
    if let Some((codec, size)) = sum.codec {
        let decoded = codec::decoder(codec, stored, size, limits).and_then(|data| {
            limits.check_work(data.len())?;
            let mut md5 = Md5Thread::new();
            codec::stream_source(&*data, &mut |bytes| {
                md5.update(bytes);
                Ok(())
            })?;
            Ok(md5.finish())
        });
        match decoded {
            Ok(found) if found == *stated => return Ok(ChecksumOf::Decoded),
            Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Limit) => return Err(error),
            _ => {}
        }
    }
    Err(Error::malformed(format!("the checksum is {}, but the bytes have {}", hex(stated), hex(found))))
}

/// A way out for who meets a damaged block.
pub(crate) const UNDAMAGED: &str =
    "restore the file from a copy, or run trilith repair FILE -o OUT to keep everything that can be read";

/// The stored bytes of a block that states a checksum, which [`Backing::verify`](crate::bytes::Backing::verify) compares.
pub(super) fn stated(stored: Window, sum: Sum) -> SourceRef {
    let compare = move |stored: &SourceRef| {
        compare(&sum, &md5_of(&**stored)?, stored.clone(), &Limits::default())
            .map(drop)
            .map_err(|error| error.at_byte(sum.offset).hint(UNDAMAGED))
            .map_err(|error| error.context(format!("block {} of {} is damaged", sum.index, stored.name())))
    };
    Arc::new(Checked::new(Arc::new(stored), compare))
}

/// MD5 computed by a separate thread, so that hashing overlaps encoding and writing.
///
/// MD5 is one serial chain, which bounds writing. If only one thread is allowed ([`crate::threads::threads`]), it
/// is computed at once.
pub(crate) struct Md5Thread {
    send: Option<SyncSender<Vec<u8>>>,
    back: Option<Receiver<Vec<u8>>>,
    thread: Option<JoinHandle<[u8; 16]>>,
    buffer: Vec<u8>,
    /// The hash of the first bytes. A thread goes on from there.
    begun: Md5,
}

/// Bytes that are sent to the thread at once.
const PIECE: usize = 1 << 20;
/// Bytes at the start that are hashed without a copy. Most blocks of a file with many blocks are smaller.
const START: u64 = 64 << 10;

impl Default for Md5Thread {
    fn default() -> Self {
        Self::new()
    }
}

impl Md5Thread {
    /// Creates a hash of no bytes. The thread starts only when there is a piece worth sending.
    pub(crate) fn new() -> Self {
        Self { send: None, back: None, thread: None, buffer: Vec::new(), begun: Md5::new() }
    }

    /// Hashes these bytes, too.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        if self.buffer.is_empty() && self.thread.is_none() && self.begun.len() + bytes.len() as u64 <= START {
            return self.begun.update(bytes);
        }
        while !bytes.is_empty() {
            let room = PIECE - self.buffer.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == PIECE {
                self.send_piece();
            }
        }
    }

    fn send_piece(&mut self) {
        if self.thread.is_none() && threads() > 1 {
            self.start();
        }
        let next = self.back.as_ref().and_then(|back| back.try_recv().ok()).map(|mut used| {
            used.clear();
            used
        });
        let full = std::mem::replace(&mut self.buffer, next.unwrap_or_else(|| Vec::with_capacity(PIECE)));
        // Without a thread (none could be started) the hash is computed right here.
        match &self.send {
            Some(send) => drop(send.send(full)),
            None => self.begun.update(&full),
        }
    }

    fn start(&mut self) {
        let (send, receive) = sync_channel::<Vec<u8>>(4);
        let (give_back, back) = sync_channel::<Vec<u8>>(8);
        let mut md5 = self.begun.clone();
        let started = lasting("md5", move || {
            while let Ok(piece) = receive.recv() {
                md5.update(&piece);
                let _ = give_back.try_send(piece);
            }
            md5.finish()
        });
        if let Some(thread) = started {
            (self.send, self.back, self.thread) = (Some(send), Some(back), Some(thread));
        }
    }

    /// The digest of everything.
    pub(crate) fn finish(mut self) -> [u8; 16] {
        if self.thread.is_some() && !self.buffer.is_empty() {
            self.send_piece();
        }
        drop(self.send.take());
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(digest)) => digest,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => {
                self.begun.update(&self.buffer);
                self.begun.finish()
            }
        }
    }
}

/// A source that hashes itself while it is read, so that a block which is decoded and compared with its
/// checksum is read once. Decoders read their pieces in almost any order; those that come too early wait.
pub(crate) struct Hashing {
    inner: SourceRef,
    state: Mutex<Hashed>,
}

struct Hashed {
    md5: Md5Thread,
    /// Number of bytes that are hashed.
    at: u64,
    /// Bytes from further on, by where they begin, and how many they are.
    early: BTreeMap<u64, Vec<u8>>,
    waiting: usize,
}

/// Limit for buffered out-of-order bytes. Beyond it they are read again at the end.
const WAITING: usize = 32 << 20;

impl Hashing {
    pub(crate) fn new(inner: SourceRef) -> Self {
        let state = Hashed { md5: Md5Thread::new(), at: 0, early: BTreeMap::new(), waiting: 0 };
        Self { inner, state: Mutex::new(state) }
    }

    /// Returns the digest of all bytes. Reads those that were not read before.
    ///
    /// # Errors
    /// Returns the errors of [`Source::read_at`].
    pub(crate) fn finish(&self) -> Result<[u8; 16]> {
        let mut state = lock(&self.state);
        let mut piece = Vec::new();
        while state.at < self.inner.len() {
            piece.resize((self.inner.len() - state.at).min(1 << 20) as usize, 0);
            self.inner.read_at(state.at, &mut piece)?;
            let at = state.at;
            state.take(at, &piece);
        }
        Ok(std::mem::take(&mut state.md5).finish())
    }
}

impl Hashed {
    fn take(&mut self, from: u64, bytes: &[u8]) {
        if from > self.at {
            if self.waiting + bytes.len() <= WAITING && !self.early.contains_key(&from) {
                self.waiting += bytes.len();
                self.early.insert(from, bytes.to_vec());
            }
            return;
        }
        self.add(from, bytes);
        while let Some(entry) = self.early.first_entry().filter(|entry| *entry.key() <= self.at) {
            let (from, bytes) = entry.remove_entry();
            self.waiting -= bytes.len();
            self.add(from, &bytes);
        }
    }

    /// Hashes what of these bytes is new; they do not begin after `at`.
    fn add(&mut self, from: u64, bytes: &[u8]) {
        let known = usize::try_from(self.at - from).unwrap_or(usize::MAX);
        let fresh = bytes.get(known..).unwrap_or_default();
        self.md5.update(fresh);
        self.at += fresh.len() as u64;
    }
}

impl Source for Hashing {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.inner.read_at(offset, into)?;
        lock(&self.state).take(offset, into);
        Ok(())
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Same(&*self.inner))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bytes::MemorySource;
    use crate::threads::set_threads;

    #[test]
    fn thread_matches_md5_for_any_cut() {
        let bytes: Vec<u8> = (0..(3 << 20) + 77u32).map(|n| (n * 7) as u8).collect();
        let expected = Md5::of(&bytes);
        for cut in [1000, 64 << 10, 1 << 20, 999_999, 4 << 20] {
            let mut md5 = Md5Thread::new();
            bytes.chunks(cut).for_each(|piece| md5.update(piece));
            assert_eq!(md5.finish(), expected);
        }
        set_threads(Some(1));
        let mut alone = Md5Thread::new();
        alone.update(&bytes);
        let digest = alone.finish();
        set_threads(None);
        assert_eq!(digest, expected);
        let mut small = Md5Thread::new();
        small.update(b"abc");
        assert_eq!(small.finish(), Md5::of(b"abc"));
    }

    #[test]
    fn hashing_source_ignores_read_order() {
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n * 7) as u8).collect();
        let source = || Hashing::new(Arc::new(MemorySource::new(bytes.clone(), "bytes")));
        let (start, end, middle) = (0..40_000, 90_000..100_000, 30_000..90_000);
        for order in [vec![start.clone(), middle.clone(), end.clone()], vec![end, middle.clone(), start], vec![middle], vec![]] {
            let hashing = source();
            for range in order {
                let mut piece = vec![0; range.len()];
                hashing.read_at(range.start as u64, &mut piece).unwrap();
                assert_eq!(piece, bytes[range]);
            }
            assert_eq!(hashing.finish().unwrap(), Md5::of(&bytes));
        }
    }
}
