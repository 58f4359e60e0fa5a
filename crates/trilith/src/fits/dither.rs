//! The random numbers that quantised floats are dithered with.

use std::sync::OnceLock;

/// The random numbers of the standard (appendix I): 10,000 of them, from a place that depends on the tile.
pub(super) struct Random {
    tile: usize,
    at: usize,
}

static RANDOM: OnceLock<Vec<f32>> = OnceLock::new();

impl Random {
    const COUNT: usize = 10_000;

    fn sequence() -> &'static [f32] {
        RANDOM.get_or_init(|| {
            let mut seed = 1u64;
            let next = |_| {
                seed = seed * 16807 % 2_147_483_647;
                (seed as f64 / 2_147_483_647.0) as f32
            };
            (0..Self::COUNT).map(next).collect()
        })
    }

    pub(super) fn new(tile: u64) -> Self {
        let tile = (tile % Self::COUNT as u64) as usize;
        Self { tile, at: Self::start(tile) }
    }

    fn start(tile: usize) -> usize {
        Self::sequence().get(tile).map_or(0, |x| (x * 500.0) as usize)
    }

    pub(super) fn next(&mut self) -> f32 {
        let value = Self::sequence().get(self.at).copied().unwrap_or(0.0);
        self.at += 1;
        if self.at == Self::COUNT {
            self.tile = (self.tile + 1) % Self::COUNT;
            self.at = Self::start(self.tile);
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
        let last = Random::sequence()[9999];
        assert_eq!(last, (1_043_618_065.0f64 / 2_147_483_647.0) as f32);
        assert_eq!(Random::sequence().len(), Random::COUNT);
    }
}
