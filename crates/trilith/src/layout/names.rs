//! Names, each kept once: a number for every different name of a layout.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A name of a layout: equal names have equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Symbol(pub u32);

impl Symbol {
    /// Of what has no name.
    pub const NONE: Symbol = Symbol(u32::MAX);
}

/// All names, in one string.
#[derive(Clone, Default)]
pub(crate) struct Names {
    text: String,
    /// Where each name ends in `text`.
    ends: Vec<u32>,
    hashes: Vec<u32>,
    /// Open addressing: number of a name + 1, 0 where free.
    table: Vec<u32>,
    hasher: Mixer,
}

impl Names {
    /// The number of `name`, new or known.
    pub fn intern(&mut self, name: &str) -> Symbol {
        if (self.ends.len() + 1) * 2 > self.table.len() {
            self.grow();
        }
        let hash = self.hasher.hash_one(name.as_bytes()) as u32;
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        while self.table[slot] != 0 {
            let at = self.table[slot] - 1;
            if self.hashes[at as usize] == hash && self.text(Symbol(at)) == name {
                return Symbol(at);
            }
            slot = (slot + 1) & mask;
        }
        self.text.push_str(name);
        self.ends.push(self.text.len() as u32);
        self.hashes.push(hash);
        self.table[slot] = self.ends.len() as u32;
        Symbol(self.ends.len() as u32 - 1)
    }

    /// The number of a name that is known.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        let mask = self.table.len().checked_sub(1)?;
        let hash = self.hasher.hash_one(name.as_bytes()) as u32;
        let mut slot = hash as usize & mask;
        while self.table[slot] != 0 {
            let at = self.table[slot] - 1;
            if self.hashes[at as usize] == hash && self.text(Symbol(at)) == name {
                return Some(Symbol(at));
            }
            slot = (slot + 1) & mask;
        }
        None
    }

    /// The name of a number, "" for [`Symbol::NONE`].
    pub fn text(&self, symbol: Symbol) -> &str {
        let at = symbol.0 as usize;
        let start = if at == 0 { 0 } else { self.ends.get(at - 1).copied().unwrap_or(0) as usize };
        let end = self.ends.get(at).copied().unwrap_or(0) as usize;
        self.text.get(start..end).unwrap_or("")
    }

    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(64);
        self.table.clear();
        self.table.resize(size, 0);
        for (at, hash) in self.hashes.iter().enumerate() {
            let mut slot = *hash as usize & (size - 1);
            while self.table[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.table[slot] = at as u32 + 1;
        }
    }
}

/// A quick keyed hash for short names and pairs of numbers; the key is random, so that no file can
/// be made to collide.
#[derive(Clone)]
pub(crate) struct Mixer(u64);

impl Default for Mixer {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0u8) | 1)
    }
}

impl BuildHasher for Mixer {
    type Hasher = Mixing;

    fn build_hasher(&self) -> Mixing {
        Mixing { state: self.0, key: self.0 }
    }
}

/// The state of a hash being made by [`Mixer`].
pub(crate) struct Mixing {
    state: u64,
    key: u64,
}

impl Mixing {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.state ^ word).wrapping_mul(u128::from(self.key ^ 0x9e37_79b9_7f4a_7c15));
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for Mixing {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let mut buffer = [0; 8];
            buffer.copy_from_slice(word);
            self.mix(u64::from_le_bytes(buffer));
        }
        let mut last = [0; 8];
        let rest = words.remainder();
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last) ^ ((bytes.len() as u64) << 56));
    }

    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        (self.state ^ (self.state >> 32)).wrapping_mul(self.key | 1) ^ (self.state >> 29)
    }
}

/// A table from pairs of numbers.
pub(crate) type PairMap<V> = std::collections::HashMap<(u32, u32), V, Mixer>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_equal_numbers() {
        let mut names = Names::default();
        let all: Vec<Symbol> = (0..1000).map(|n| names.intern(&format!("name{n}"))).collect();
        for (n, &symbol) in all.iter().enumerate() {
            assert_eq!(names.intern(&format!("name{n}")), symbol);
            assert_eq!(names.text(symbol), format!("name{n}"));
        }
        assert_eq!(names.find("nothing"), None);
        let empty = names.intern("");
        assert_eq!(names.text(empty), "");
    }
}
