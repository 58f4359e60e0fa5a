//! MD5 of blocks: computed in parallel with the writing, compared with what a file states.
//!
//! ASDF 1.x, "Block header", `checksum`: MD5 of the used data. Python asdf hashed the *decoded* bytes
//! up to 5.2; both are accepted when reading, and which it was is reported.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use super::md5::{self, Md5};
use crate::bytes::{ChecksummedSource, Source, SourceOrigin, SourceRef, WindowSource};
use crate::codec::{self, CodecId};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::progress::Progress;
use crate::suggest::hex;
use crate::threads::{JoinHandle, lock, spawn_daemon, threads};

/// The bytes that a stored checksum covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumScope {
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
    md5::digest_one(source, Progress::default())
}

/// The MD5 that a block states, and how its bytes are decoded.
#[derive(Debug, Clone)]
pub(crate) struct BlockMd5 {
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
pub(crate) fn compare_checksum(sum: &BlockMd5, found: &[u8; 16], stored: SourceRef, limits: &Limits) -> Result<ChecksumScope> {
    let stated = &sum.md5;
    if found == stated {
        return Ok(ChecksumScope::Stored);
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
            Ok(found) if found == *stated => return Ok(ChecksumScope::Decoded),
            Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Limit) => return Err(error),
            _ => {}
        }
    }
    Err(Error::malformed(format!("the checksum is {}, but the bytes have {}", hex(stated), hex(found))))
}

/// A way out for who meets a damaged block.
pub(crate) const DAMAGED_BLOCK_HINT: &str =
    "restore the file from a copy, or run trilith repair FILE -o OUT to keep everything that can be read";

/// The stored bytes of a block that states a checksum, which [`SourceBacking::verify_checksum`](crate::bytes::SourceBacking::verify_checksum) compares.
pub(super) fn with_checksum_check(stored: WindowSource, sum: BlockMd5) -> SourceRef {
    let compare = move |stored: &SourceRef| {
        compare_checksum(&sum, &md5_of(&**stored)?, stored.clone(), &Limits::default())
            .map(drop)
            .map_err(|error| error.at_byte(sum.offset).hint(DAMAGED_BLOCK_HINT))
            .map_err(|error| error.context(format!("block {} of {} is damaged", sum.index, stored.name())))
    };
    Arc::new(ChecksummedSource::new(Arc::new(stored), compare))
}

/// MD5 computed by a separate thread, so that hashing overlaps encoding and writing.
///
/// MD5 is one serial chain, which bounds writing. If only one thread is allowed ([`crate::threads::threads`]), it
/// is computed at once.
pub(crate) struct Md5Thread {
    sender: Option<SyncSender<Vec<u8>>>,
    returned: Option<Receiver<Vec<u8>>>,
    thread: Option<JoinHandle<[u8; 16]>>,
    buffer: Vec<u8>,
    /// The hash of the first bytes. A thread goes on from there.
    has_started: Md5,
}

/// Bytes that are sent to the thread at once.
const BUFFER_SIZE: usize = 1 << 20;
/// Bytes at the start that are hashed without a copy. Most blocks of a file with many blocks are smaller.
const UNTHREADED_BYTES: u64 = 64 << 10;

impl Default for Md5Thread {
    fn default() -> Self {
        Self::new()
    }
}

impl Md5Thread {
    /// Creates a hash of no bytes. The thread starts only when there is a piece worth sending.
    pub(crate) fn new() -> Self {
        Self { sender: None, returned: None, thread: None, buffer: Vec::new(), has_started: Md5::new() }
    }

    /// Hashes these bytes, too.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        if self.buffer.is_empty() && self.thread.is_none() && self.has_started.len() + bytes.len() as u64 <= UNTHREADED_BYTES {
            return self.has_started.update(bytes);
        }
        while !bytes.is_empty() {
            let room = BUFFER_SIZE - self.buffer.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == BUFFER_SIZE {
                self.send_piece();
            }
        }
    }

    fn send_piece(&mut self) {
        if self.thread.is_none() && threads() > 1 {
            self.start_thread();
        }
        let next = self.returned.as_ref().and_then(|back| back.try_recv().ok()).map(|mut used| {
            used.clear();
            used
        });
        let full = std::mem::replace(&mut self.buffer, next.unwrap_or_else(|| Vec::with_capacity(BUFFER_SIZE)));
        // Without a thread (none could be started) the hash is computed right here.
        match &self.sender {
            Some(send) => drop(send.send(full)),
            None => self.has_started.update(&full),
        }
    }

    fn start_thread(&mut self) {
        let (send, receive) = sync_channel::<Vec<u8>>(4);
        let (give_back, back) = sync_channel::<Vec<u8>>(8);
        let mut md5 = self.has_started.clone();
        let started = spawn_daemon("md5", move || {
            while let Ok(piece) = receive.recv() {
                md5.update(&piece);
                let _ = give_back.try_send(piece);
            }
            md5.finish()
        });
        if let Some(thread) = started {
            (self.sender, self.returned, self.thread) = (Some(send), Some(back), Some(thread));
        }
    }

    /// The digest of everything.
    pub(crate) fn finish(mut self) -> [u8; 16] {
        if self.thread.is_some() && !self.buffer.is_empty() {
            self.send_piece();
        }
        drop(self.sender.take());
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(digest)) => digest,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => {
                self.has_started.update(&self.buffer);
                self.has_started.finish()
            }
        }
    }
}

/// A source that hashes itself while it is read, so that a block which is decoded and compared with its
/// checksum is read once. Decoders read their pieces in almost any order; those that come too early wait.
pub(crate) struct HashingSource {
    inner: SourceRef,
    state: Mutex<HashState>,
}

struct HashState {
    md5: Md5Thread,
    /// Number of bytes that are hashed.
    hashed_len: u64,
    /// Bytes from further on, by where they begin, and how many they are.
    out_of_order: BTreeMap<u64, Vec<u8>>,
    waiting_bytes: usize,
}

/// Limit for buffered out-of-order bytes. Beyond it they are read again at the end.
const MAX_OUT_OF_ORDER: usize = 32 << 20;

impl HashingSource {
    pub(crate) fn new(inner: SourceRef) -> Self {
        let state = HashState { md5: Md5Thread::new(), hashed_len: 0, out_of_order: BTreeMap::new(), waiting_bytes: 0 };
        Self { inner, state: Mutex::new(state) }
    }

    /// Returns the digest of all bytes. Reads those that were not read before.
    ///
    /// # Errors
    /// Returns the errors of [`Source::read_at`].
    pub(crate) fn finish_digest(&self) -> Result<[u8; 16]> {
        let mut state = lock(&self.state);
        let mut piece = Vec::new();
        while state.hashed_len < self.inner.len() {
            piece.resize((self.inner.len() - state.hashed_len).min(1 << 20) as usize, 0);
            self.inner.read_at(state.hashed_len, &mut piece)?;
            let at = state.hashed_len;
            state.feed(at, &piece);
        }
        Ok(std::mem::take(&mut state.md5).finish())
    }
}

impl HashState {
    fn feed(&mut self, from: u64, bytes: &[u8]) {
        if from > self.hashed_len {
            if self.waiting_bytes + bytes.len() <= MAX_OUT_OF_ORDER && !self.out_of_order.contains_key(&from) {
                self.waiting_bytes += bytes.len();
                self.out_of_order.insert(from, bytes.to_vec());
            }
            return;
        }
        self.hash_new_bytes(from, bytes);
        while let Some(entry) = self.out_of_order.first_entry().filter(|entry| *entry.key() <= self.hashed_len) {
            let (from, bytes) = entry.remove_entry();
            self.waiting_bytes -= bytes.len();
            self.hash_new_bytes(from, &bytes);
        }
    }

    /// Hashes what of these bytes is new; they do not begin after `at`.
    fn hash_new_bytes(&mut self, from: u64, bytes: &[u8]) {
        let known = usize::try_from(self.hashed_len - from).unwrap_or(usize::MAX);
        let fresh = bytes.get(known..).unwrap_or_default();
        self.md5.update(fresh);
        self.hashed_len += fresh.len() as u64;
    }
}

impl Source for HashingSource {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.inner.read_at(offset, into)?;
        lock(&self.state).feed(offset, into);
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
        let source = || HashingSource::new(Arc::new(MemorySource::new(bytes.clone(), "bytes")));
        let (start, end, middle) = (0..40_000, 90_000..100_000, 30_000..90_000);
        for order in [vec![start.clone(), middle.clone(), end.clone()], vec![end, middle.clone(), start], vec![middle], vec![]] {
            let hashing = source();
            for range in order {
                let mut piece = vec![0; range.len()];
                hashing.read_at(range.start as u64, &mut piece).unwrap();
                assert_eq!(piece, bytes[range]);
            }
            assert_eq!(hashing.finish_digest().unwrap(), Md5::of(&bytes));
        }
    }
}
