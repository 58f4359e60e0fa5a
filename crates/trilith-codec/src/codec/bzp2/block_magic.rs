//! The marks of bzip2: 48 bits at the start of every block and at the end of a stream, at any bit.

/// The mark at the start of every block, and the one at the end of a stream: 48 bits each.
pub(super) const BLOCK_MAGIC: u64 = 0x3141_5926_5359;
pub(super) const END_OF_STREAM_MAGIC: u64 = 0x1772_4538_5090;

/// For the byte that ends 16 (first) or 24 (second) bits before the end of the eight bytes looked
/// at: at which of the eight bit positions it may belong to a mark (low: block, high: end).
const CANDIDATE_TABLE: [[u16; 256]; 2] = {
    let mut tables = [[0; 256]; 2];
    let mut shift = 0;
    while shift < 8 {
        let mut which = 0;
        while which < 2 {
            let down = 16 + 8 * which;
            tables[which][(BLOCK_MAGIC << shift >> down) as usize & 255] |= 1 << shift;
            tables[which][(END_OF_STREAM_MAGIC << shift >> down) as usize & 255] |= 1 << (shift + 8);
            which += 1;
        }
        shift += 1;
    }
    tables
};

/// Looks for marks in bytes that come piece by piece.
#[derive(Default)]
pub(super) struct MagicScanner {
    /// The last eight bytes, and how many there were.
    last: u64,
    count: u64,
}

impl MagicScanner {
    /// Calls `found` with the bit position of every mark that ends in `bytes`, in order, and whether it is the end of a
    /// stream.
    pub(super) fn scan(&mut self, bytes: &[u8], mut found: impl FnMut(u64, bool)) {
        const MASK: u64 = (1 << 48) - 1;
        let mut last = self.last;
        for (at, byte) in (self.count..).zip(bytes) {
            last = last << 8 | u64::from(*byte);
            let may = CANDIDATE_TABLE[0][(last >> 16) as usize & 255] & CANDIDATE_TABLE[1][(last >> 24) as usize & 255];
            if may == 0 {
                continue;
            }
            let end = 8 * (at + 1);
            for shift in (0..8).rev() {
                let bits = last >> shift & MASK;
                if (bits == BLOCK_MAGIC || bits == END_OF_STREAM_MAGIC) && end >= shift + 48 {
                    found(end - shift - 48, bits == END_OF_STREAM_MAGIC);
                }
            }
        }
        (self.last, self.count) = (last, self.count + bytes.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::bit_io::BitWriter;

    #[test]
    fn marks_are_found_at_every_bit() {
        for shift in 0..24 {
            let mut writer = BitWriter::default();
            writer.write_bits(0x00ab_cdef, shift);
            writer.write_bits(BLOCK_MAGIC, 48);
            writer.write_bits(1, 3);
            writer.write_bits(END_OF_STREAM_MAGIC, 48);
            let mut marks = Vec::new();
            let bytes = writer.into_bytes();
            MagicScanner::default().scan(&bytes, |bit, end| marks.push((bit, end)));
            assert_eq!(marks, [(u64::from(shift), false), (u64::from(shift) + 51, true)]);
            let (mut pieces, mut again) = (MagicScanner::default(), Vec::new());
            bytes.chunks(3).for_each(|piece| pieces.scan(piece, |bit, end| again.push((bit, end))));
            assert_eq!(again, marks);
        }
    }
}
