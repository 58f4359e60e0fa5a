//! A client that gives up a request ends the work on its answer, wherever that is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trilith::OpenOptions;
use trilith::bytes::{NoReferences, Source};
use trilith_view::requests::{ViewerRequest, ViewerSession, respond};

/// Rows and columns of an array of bytes: more of them than are held for a second look, which are read in one go.
const LARGE: u64 = 12_000;
/// Enough to see that an answer needs all bytes.
const SMALL: u64 = 1_000;

/// A file without bytes in memory, whose reader goes away after the first piece of the array.
#[derive(Debug)]
struct Leaving {
    head: Vec<u8>,
    side: u64,
    read: AtomicU64,
    left: Arc<AtomicBool>,
    leaves: bool,
}

impl Leaving {
    fn new(side: u64, leaves: bool) -> Self {
        let tree = format!(
            "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\n\
             a: !core/ndarray-1.1.0 {{source: 0, datatype: uint8, byteorder: little, shape: [{side}, {side}]}}\n...\n"
        );
        let mut head = tree.into_bytes();
        head.extend(b"\xd3BLK\0\x30\0\0\0\0\0\0\0\0");
        for _ in 0..3 {
            head.extend((side * side).to_be_bytes());
        }
        head.extend([1; 16]); // a checksum, which `verify` compares
        Self { head, side, read: AtomicU64::new(0), left: Arc::default(), leaves }
    }
}

impl Source for Leaving {
    fn len(&self) -> u64 {
        self.head.len() as u64 + self.side * self.side
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> trilith::Result<()> {
        into.fill(offset as u8);
        let head = self.head.get(offset as usize..).unwrap_or_default();
        into.iter_mut().zip(head).for_each(|(byte, known)| *byte = *known);
        let read = self.read.fetch_add(into.len() as u64, Ordering::Relaxed) + into.len() as u64;
        if self.leaves && read > self.head.len() as u64 + (1 << 20) {
            self.left.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn name(&self) -> &str {
        "leaving"
    }
}

/// The status of the answer, and how many bytes were read for it.
fn asked(name: &str, query: &str, side: u64, leaves: bool) -> (u16, u64) {
    let source = Arc::new(Leaving::new(side, leaves));
    let (opened, left) = (source.clone(), source.left.clone());
    let session = ViewerSession::new(move |_| OpenOptions::new().open_source(opened.clone(), Arc::new(NoReferences)));
    session.add("x.asdf", "x.asdf");
    let said = respond(&session, &ViewerRequest::new(name, query).cancelled_by(left));
    (said.status, source.read.load(Ordering::Relaxed))
}

#[test]
fn cancelled_request_stops_reading() {
    for (name, query) in [
        ("image", "path=/a&width=1000&height=1000"),
        ("image", "path=/a&width=1000&height=1000&resample=max"),
        ("image", "path=/a&width=1000&height=1000&minus=/a"),
        ("levels", "path=/a&interval=minmax"),
        ("levels", "path=/a&interval=percentile:99"),
        ("histogram", "path=/a"),
        ("stats", "path=/a"),
        ("verify", "deep=1"),
    ] {
        let (status, all) = asked(name, query, SMALL, false);
        assert!(status == 200 && all >= SMALL * SMALL, "{name}?{query}: {status}, {all} bytes");
        let (status, read) = asked(name, query, LARGE, true);
        assert_eq!(status, 499, "{name}?{query}");
        assert!(read < LARGE * LARGE / 2, "{name}?{query}: {read} bytes were read");
    }
}
