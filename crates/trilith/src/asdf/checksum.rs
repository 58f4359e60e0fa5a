//! MD5 of blocks: computed beside the writing, compared with what a file states.
//!
//! ASDF 1.x, "Block header", `checksum`: MD5 of the used data. Python asdf hashed the *decoded* bytes
//! up to 5.2; both are accepted when reading, and which it was is reported.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use md5::{Digest, Md5};

use crate::bytes::Source;
use crate::error::Result;

/// What a stored checksum is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumOf {
    /// The bytes as stored, as the standard says.
    Stored,
    /// The decoded bytes, as Python asdf wrote until 5.2.
    Decoded,
}

/// MD5 of a whole source, read in pieces.
///
/// ```
/// use trilith::{asdf::checksum, bytes::Slice};
/// assert_eq!(checksum::md5_of(&Slice::new(b"abc".to_vec(), "example"))?[..2], [0x90, 0x01]);
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// As [`Source::read_at`].
pub fn md5_of(source: &dyn Source) -> Result<[u8; 16]> {
    let mut md5 = Md5::new();
    let mut at = 0;
    let mut piece = vec![0; source.len().min(4 << 20) as usize];
    while at < source.len() {
        let n = (source.len() - at).min(piece.len() as u64) as usize;
        source.read_at(at, &mut piece[..n])?;
        md5.update(&piece[..n]);
        at += n as u64;
    }
    Ok(md5.finalize().into())
}

/// MD5 computed by a thread of its own, so that hashing overlaps encoding and writing.
///
/// MD5 is one serial chain; it runs at some 0.5 GB/s and is what bounds writing.
pub struct Md5Thread {
    send: Option<SyncSender<Vec<u8>>>,
    back: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<[u8; 16]>>,
    buffer: Vec<u8>,
    small: Md5,
}

const PIECE: usize = 1 << 20;

impl Default for Md5Thread {
    fn default() -> Self {
        Self::new()
    }
}

impl Md5Thread {
    /// Nothing hashed yet; the thread starts only when there is a piece worth sending.
    pub fn new() -> Self {
        let (_, back) = sync_channel(1);
        Self { send: None, back, thread: None, buffer: Vec::new(), small: Md5::new() }
    }

    /// Hashes these bytes, too.
    pub fn update(&mut self, mut bytes: &[u8]) {
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
        if self.thread.is_none() {
            self.start();
        }
        let next = self.back.try_recv().map(|mut used| {
            used.clear();
            used
        });
        let full = std::mem::replace(&mut self.buffer, next.unwrap_or_else(|_| Vec::with_capacity(PIECE)));
        // Without a thread (none could be started) the hash is computed right here.
        match &self.send {
            Some(send) => drop(send.send(full)),
            None => self.small.update(&full),
        }
    }

    fn start(&mut self) {
        let (send, receive) = sync_channel::<Vec<u8>>(4);
        let (give_back, back) = sync_channel::<Vec<u8>>(8);
        let started = std::thread::Builder::new().name("md5".to_owned()).spawn(move || {
            let mut md5 = Md5::new();
            while let Ok(piece) = receive.recv() {
                md5.update(&piece);
                let _ = give_back.try_send(piece);
            }
            md5.finalize().into()
        });
        if let Ok(thread) = started {
            (self.send, self.back, self.thread) = (Some(send), back, Some(thread));
        }
    }

    /// The digest of everything.
    pub fn finish(mut self) -> [u8; 16] {
        if self.thread.is_some() && !self.buffer.is_empty() {
            self.send_piece();
        }
        drop(self.send.take());
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(digest)) => digest,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => {
                self.small.update(&self.buffer);
                self.small.finalize().into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_hashes_what_md5_hashes_however_the_bytes_are_cut() {
        let bytes: Vec<u8> = (0..(3 << 20) + 77u32).map(|n| (n * 7) as u8).collect();
        let expected: [u8; 16] = Md5::digest(&bytes).into();
        for cut in [1 << 20, 999_999, 4 << 20] {
            let mut md5 = Md5Thread::new();
            bytes.chunks(cut).for_each(|piece| md5.update(piece));
            assert_eq!(md5.finish(), expected);
        }
        let mut small = Md5Thread::new();
        small.update(b"abc");
        assert_eq!(small.finish(), <[u8; 16]>::from(Md5::digest(b"abc")));
    }
}
