//! A cursor over any bytes: every field is the big-endian number of its bytes, positions add up, and
//! a read past the end fails and moves nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trilith::bytes::Cursor;

fuzz_target!(|input: (u64, Vec<u8>, Vec<u8>)| {
    let (origin, reads, bytes) = input;
    let mut at = Cursor::new(&bytes, origin);
    for read in reads {
        let (before, rest) = (at.position(), at.remaining());
        let width = match read % 5 {
            0 => 1,
            1 => 2,
            2 => 4,
            3 => 8,
            _ => usize::from(read),
        };
        let number = match read % 5 {
            0 => at.u8().map(u64::from),
            1 => at.u16().map(u64::from),
            2 => at.u32().map(u64::from),
            3 => at.u64(),
            _ => at.take(width).map(|taken| taken.len() as u64),
        };
        match number {
            Ok(number) => {
                if read % 5 < 4 {
                    assert_eq!(number, rest[..width].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
                }
                assert_eq!(at.remaining(), &rest[width..]);
                assert_eq!(at.position(), before.saturating_add(width as u64).max(before));
            }
            Err(_) => {
                assert!(rest.len() < width);
                assert_eq!((at.position(), at.remaining()), (before, rest));
            }
        }
    }
});
