//! The random numbers that quantised floats are dithered with.

use std::sync::OnceLock;

/// The random numbers of the standard (appendix I): 10,000 of them, from a place that depends on the tile.
pub(super) struct DitherRandom {
    tile: usize,
    at: usize,
}

static RANDOM_TABLE: OnceLock<Vec<f32>> = OnceLock::new();

impl DitherRandom {
    const RANDOM_COUNT: usize = 10_000;

    fn random_table() -> &'static [f32] {
        RANDOM_TABLE.get_or_init(|| {
            let mut seed = 1u64;
            let next = |_| {
                seed = seed * 16807 % 2_147_483_647;
                (seed as f64 / 2_147_483_647.0) as f32
            };
            (0..Self::RANDOM_COUNT).map(next).collect()
        })
    }

    pub(super) fn new(tile: u64) -> Self {
        let tile = (tile % Self::RANDOM_COUNT as u64) as usize;
        Self { tile, at: Self::start_index(tile) }
    }

    fn start_index(tile: usize) -> usize {
        Self::random_table().get(tile).map_or(0, |x| (x * 500.0) as usize)
    }

    pub(super) fn next_value(&mut self) -> f32 {
        let value = Self::random_table().get(self.at).copied().unwrap_or(0.0);
        self.at += 1;
        if self.at == Self::RANDOM_COUNT {
            self.tile = (self.tile + 1) % Self::RANDOM_COUNT;
            self.at = Self::start_index(self.tile);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_sequence_matches_standard() {
        // Appendix I: after 10,000 steps from 1 the seed is 1043618065.
        let last = DitherRandom::random_table()[9999];
        assert_eq!(last, (1_043_618_065.0f64 / 2_147_483_647.0) as f32);
        assert_eq!(DitherRandom::random_table().len(), DitherRandom::RANDOM_COUNT);
    }
}
