//! Names, each kept once: a number for every different name of a layout.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A name of a layout: equal names have equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Symbol(pub u32);

impl Symbol {
    /// Symbol of an unnamed item.
    pub(crate) const NONE: Symbol = Symbol(u32::MAX);
}

/// All names of a layout, joined in one string.
#[derive(Clone, Default)]
pub(crate) struct Interner {
    text: String,
    /// The end of each name in `text`.
    ends: Vec<u32>,
    /// Open addressing: hash in the high half, number of the name + 1 in the low, 0 if free.
    table: Vec<u64>,
    hasher: NameHasher,
}

impl Interner {
    /// The number of `name`, new or known.
    pub(crate) fn intern(&mut self, name: &str) -> Symbol {
        if (self.ends.len() + 1) * 2 > self.table.len() {
            self.rehash();
        }
        let hash = self.hasher.hash_bytes(name.as_bytes());
        match self.find_slot(name, hash) {
            Ok(symbol) => symbol,
            Err(slot) => {
                self.text.push_str(name);
                self.ends.push(self.text.len() as u32);
                self.table[slot] = (u64::from(hash) << 32) | self.ends.len() as u64;
                Symbol(self.ends.len() as u32 - 1)
            }
        }
    }

    /// The number of a name that is known.
    pub(crate) fn find_symbol(&self, name: &str) -> Option<Symbol> {
        if self.table.is_empty() {
            return None;
        }
        self.find_slot(name, self.hasher.hash_bytes(name.as_bytes())).ok()
    }

    /// The number of a name, or where it would go.
    fn find_slot(&self, name: &str, hash: u32) -> Result<Symbol, usize> {
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let entry = self.table[slot];
            if entry == 0 {
                return Err(slot);
            }
            let symbol = Symbol(entry as u32 - 1);
            if (entry >> 32) as u32 == hash && self.resolve(symbol) == name {
                return Ok(symbol);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The name of a number, "" for [`Symbol::NONE`].
    pub(crate) fn resolve(&self, symbol: Symbol) -> &str {
        let at = symbol.0 as usize;
        let start = if at == 0 { 0 } else { self.ends.get(at - 1).copied().unwrap_or(0) as usize };
        let end = self.ends.get(at).copied().unwrap_or(0) as usize;
        self.text.get(start..end).unwrap_or("")
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Makes space for more names.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.ends.reserve(more);
        let size = ((self.ends.len() + more + 1) * 2).next_power_of_two();
        if size > self.table.len() {
            self.resize_table(size);
        }
    }

    fn rehash(&mut self) {
        self.resize_table((self.table.len() * 2).max(64));
    }

    fn resize_table(&mut self, size: usize) {
        for entry in std::mem::replace(&mut self.table, vec![0; size]) {
            if entry == 0 {
                continue;
            }
            let mut slot = (entry >> 32) as usize & (size - 1);
            while self.table[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.table[slot] = entry;
        }
    }
}

/// A quick keyed hash for short names and pairs of numbers; the key is random, so that no file can
/// be made to collide.
#[derive(Clone)]
pub(crate) struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0u8) | 1)
    }
}

impl NameHasher {
    /// A hash of a name.
    fn hash_bytes(&self, bytes: &[u8]) -> u32 {
        let mut hasher = self.build_hasher();
        hasher.write(bytes);
        hasher.finish() as u32
    }
}

impl BuildHasher for NameHasher {
    type Hasher = NameHashState;

    fn build_hasher(&self) -> NameHashState {
        NameHashState { state: self.0, key: self.0 }
    }
}

/// The state of a hash being made by [`NameHasher`].
pub(crate) struct NameHashState {
    state: u64,
    key: u64,
}

impl NameHashState {
    fn mix_word(&mut self, word: u64) {
        let product = u128::from(self.state ^ word).wrapping_mul(u128::from(self.key ^ 0x9e37_79b9_7f4a_7c15));
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for NameHashState {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let mut buffer = [0; 8];
            buffer.copy_from_slice(word);
            self.mix_word(u64::from_le_bytes(buffer));
        }
        let mut last = [0; 8];
        let rest = words.remainder();
        last[..rest.len()].copy_from_slice(rest);
        self.mix_word(u64::from_le_bytes(last) ^ ((bytes.len() as u64) << 56));
    }

    fn write_u32(&mut self, word: u32) {
        self.mix_word(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.mix_word(word);
    }

    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        (self.state ^ (self.state >> 32)).wrapping_mul(self.key | 1) ^ (self.state >> 29)
    }
}

/// The owner of a meaning that was taken away; no item has this number.
const NO_OWNER: u32 = u32::MAX - 1;

/// Meanings of the names of one name space, by (owner, name).
///
/// Most names have one meaning in the whole layout, which is in a plain table by the number of the name. Only
/// further meanings of the same name need a hash table.
#[derive(Clone)]
pub(crate) struct NameScope<V> {
    first: Vec<Option<(u32, V)>>,
    more: HashMap<(u32, u32), V, NameHasher>,
    len: usize,
}

impl<V> Default for NameScope<V> {
    fn default() -> Self {
        Self { first: Vec::new(), more: HashMap::default(), len: 0 }
    }
}

impl<V: Copy> NameScope<V> {
    /// Returns the meaning of a name for an owner.
    pub(crate) fn get(&self, key: &(u32, u32)) -> Option<&V> {
        match self.first.get(key.1 as usize) {
            Some(Some((owner, value))) if *owner == key.0 => Some(value),
            Some(Some(_)) => self.more.get(key),
            _ => None,
        }
    }

    /// Lets a name mean something, or something else.
    pub(crate) fn insert(&mut self, key: (u32, u32), value: V) {
        let at = key.1 as usize;
        if at >= self.first.len() {
            // Names count up to the number of names; anything else is not a name.
            if at > (u32::MAX >> 2) as usize {
                return;
            }
            self.first.resize(at + 1, None);
        }
        self.len += 1;
        match &mut self.first[at] {
            Some((owner, old)) if *owner == key.0 => *old = value,
            Some(_) => drop(self.more.insert(key, value)),
            free => *free = Some((key.0, value)),
        }
    }

    /// Takes the meaning of a name away.
    pub(crate) fn remove(&mut self, key: &(u32, u32)) {
        let is_removed = match self.first.get_mut(key.1 as usize) {
            // The other meanings of the name stay where they are found.
            Some(Some((owner, _))) if *owner == key.0 => std::mem::replace(owner, NO_OWNER) == key.0,
            Some(Some(_)) => self.more.remove(key).is_some(),
            _ => false,
        };
        self.len = self.len.saturating_sub(usize::from(is_removed));
    }

    /// Returns `true` if no name means anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes space for more names.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.first.reserve(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_equal_numbers() {
        let mut names = Interner::default();
        let all: Vec<Symbol> = (0..1000).map(|n| names.intern(&format!("name{n}"))).collect();
        for (n, &symbol) in all.iter().enumerate() {
            assert_eq!(names.intern(&format!("name{n}")), symbol);
            assert_eq!(names.resolve(symbol), format!("name{n}"));
        }
        assert_eq!(names.find_symbol("nothing"), None);
        let empty = names.intern("");
        assert_eq!(names.resolve(empty), "");
    }
}
