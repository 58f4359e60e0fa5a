//! XXH32, the checksum of LZ4 frames.

const P: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];

/// XXH32 with seed 0, fed piece by piece.
#[derive(Clone)]
pub(super) struct Xxh32 {
    lanes: [u32; 4],
    /// The last bytes, fewer than 16.
    open: Vec<u8>,
    total: u64,
}

impl Xxh32 {
    pub(super) fn new() -> Self {
        let lanes = [P[0].wrapping_add(P[1]), P[1], 0, 0u32.wrapping_sub(P[0])];
        Self { lanes, open: Vec::new(), total: 0 }
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        self.total = self.total.wrapping_add(bytes.len() as u64);
        if !self.open.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(16 - self.open.len()));
            self.open.extend_from_slice(now);
            bytes = later;
            if self.open.len() < 16 {
                return;
            }
            let open = std::mem::take(&mut self.open);
            self.stripes(&open);
        }
        let (whole, rest) = bytes.split_at(bytes.len() - bytes.len() % 16);
        self.stripes(whole);
        self.open.extend_from_slice(rest);
    }

    fn stripes(&mut self, bytes: &[u8]) {
        let mut lanes = self.lanes;
        for stripe in bytes.chunks_exact(16) {
            for (lane, word) in lanes.iter_mut().zip(stripe.chunks_exact(4)) {
                *lane = round(*lane, word32(word));
            }
        }
        self.lanes = lanes;
    }

    pub(super) fn finish(&self) -> u32 {
        let [a, b, c, d] = self.lanes;
        let mut sum = if self.total >= 16 {
            a.rotate_left(1).wrapping_add(b.rotate_left(7)).wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18))
        } else {
            P[4]
        };
        sum = sum.wrapping_add(self.total as u32);
        let words = self.open.chunks_exact(4);
        let rest = words.remainder();
        for word in words {
            sum = sum.wrapping_add(word32(word).wrapping_mul(P[2])).rotate_left(17).wrapping_mul(P[3]);
        }
        for byte in rest {
            sum = sum.wrapping_add(u32::from(*byte).wrapping_mul(P[4])).rotate_left(11).wrapping_mul(P[0]);
        }
        sum = (sum ^ sum >> 15).wrapping_mul(P[1]);
        sum = (sum ^ sum >> 13).wrapping_mul(P[2]);
        sum ^ sum >> 16
    }
}

/// XXH32 of some bytes.
pub(super) fn xxh32(bytes: &[u8]) -> u32 {
    let mut sum = Xxh32::new();
    sum.update(bytes);
    sum.finish()
}

fn round(lane: u32, word: u32) -> u32 {
    lane.wrapping_add(word.wrapping_mul(P[1])).rotate_left(13).wrapping_mul(P[0])
}

fn word32(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_sums() {
        assert_eq!(xxh32(b""), 0x02cc_5d05);
        assert_eq!(xxh32(b"abc"), 0x32d1_53ff);
        assert_eq!(xxh32(b"Nobody inspects the spammish repetition"), 0xe229_3b2f);
    }

    #[test]
    fn pieces_make_no_difference() {
        let bytes: Vec<u8> = (0..1000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for step in [1, 3, 15, 16, 17, 100] {
            let mut sum = Xxh32::new();
            for piece in bytes.chunks(step) {
                sum.update(piece);
            }
            assert_eq!(sum.finish(), xxh32(&bytes));
        }
    }
}
