//! The block index at the end of the file.
//!
//! ASDF 1.x, "Block index". It has two forms: the YAML list, and the early one of July 2015 (different magic bytes,
//! and decimal offsets, one a line). The index is a hint: each entry is verified before use.

use std::fmt::Write as _;

use memchr::memmem;

use crate::bytes::{Source, read_vec};
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::Tree;

/// First line of the index.
pub(crate) const INDEX_HEADER: &[u8] = b"#ASDF BLOCK INDEX";
/// First line of the index on one branch in July 2015.
pub(crate) const EARLY_HEADER: &[u8] = b"\xd3IDX # ASDF BLOCK INDEX";

/// An index as found, not yet verified.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockIndex {
    /// First byte of the index.
    pub offset: u64,
    /// The offsets that it lists, or what is wrong with its text.
    pub entries: std::result::Result<Vec<u64>, String>,
}

/// Looks for an index by reading backwards from the end, not before byte `from`.
///
/// The last header counts whose text runs to the end of the file (zeros aside): the same words
/// inside the data of a block are not an index.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
pub fn find_backwards(source: &dyn Source, from: u64, limits: &Limits) -> Result<Option<BlockIndex>> {
    let size = source.len();
    // An index takes at most some 22 bytes an entry, and the block it names at least 46.
    let room = size.saturating_sub(from);
    let farthest = if room > 1 << 20 { size - room / 5 * 2 } else { from };
    let mut tail: Vec<u8> = Vec::new();
    let mut start = size;
    let mut step = 4096;
    while start > farthest {
        let begin = start.saturating_sub(step).max(farthest);
        let mut bytes = read_vec(source, begin, start - begin, limits)?;
        let new = bytes.len() + EARLY_HEADER.len();
        bytes.append(&mut tail);
        tail = bytes;
        start = begin;
        step = (step * 4).min(16 << 20);
        tail.truncate(without_zeros(&tail));
        // A header begins in the new bytes.
        let seen = tail.get(..new).unwrap_or(&tail);
        let plain = memmem::rfind(seen, INDEX_HEADER).map(|at| (at, INDEX_HEADER.len()));
        let early = memmem::rfind(seen, EARLY_HEADER).map(|at| (at, EARLY_HEADER.len()));
        if let Some((at, header)) = plain.max(early) {
            let text = tail.get(at + header..).unwrap_or(&[]);
            if text.iter().any(|b| *b >= 0x80 || *b == 0) {
                return Ok(None);
            }
            let entries = parse_block_index(text, header == EARLY_HEADER.len(), limits);
            return Ok(Some(BlockIndex { offset: start + at as u64, entries }));
        }
        // An index is text, and these bytes would be in it.
        if tail.contains(&0) {
            return Ok(None);
        }
        // Go on only while there is nothing but what an index is made of.
        let fits = |b: &u8| b"\0\t\n\r -,[].0123456789abcdef_+#%ASDFBLOCKINDEXYMx!\xd3".contains(b);
        if !tail[..tail.len().min(4096)].iter().all(fits) {
            return Ok(None);
        }
    }
    Ok(None)
}

/// The length of these bytes without the zeros at their end.
fn without_zeros(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    for chunk in bytes.rchunks(4096) {
        // This fold has no early exit, so that it works on many bytes at once.
        if chunk.iter().fold(0, |all, byte| all | byte) != 0 {
            return end - chunk.iter().rev().take_while(|byte| **byte == 0).count();
        }
        end -= chunk.len();
    }
    0
}

/// Returns the end of the index that begins at a byte: after the line of its end marker. Returns None if it has no
/// marker.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
pub(super) fn find_index_end(source: &dyn Source, at: u64, limits: &Limits) -> Result<Option<u64>> {
    let rest = source.len().saturating_sub(at);
    let mut len = rest.min(4096);
    loop {
        let text = read_vec(source, at, len, limits)?;
        // The early form has no end marker: lines of numbers.
        if text.starts_with(EARLY_HEADER) {
            let numbers = |b: &u8| b.is_ascii_digit() || b"\r\n \0".contains(b);
            let line = memchr::memchr(b'\n', &text).unwrap_or(text.len());
            match text.get(line..).and_then(|list| list.iter().position(|b| !numbers(b))) {
                Some(place) => return Ok(Some(at + (line + place) as u64)),
                None if len == rest => return Ok(Some(at + rest)),
                None => {}
            }
        } else if let Some(place) = memmem::find(&text, b"\n...") {
            let line = memchr::memchr(b'\n', text.get(place + 4..).unwrap_or(&[]));
            match line {
                Some(line) => return Ok(Some(at + (place + 4 + line + 1) as u64)),
                None if len == rest => return Ok(Some(at + rest)),
                None => {}
            }
        }
        if len == rest {
            return Ok(None);
        }
        len = len.saturating_mul(4).min(rest);
    }
}

/// Reads the list of offsets: a list of YAML, or the lines of numbers of the early form.
fn parse_block_index(text: &[u8], early: bool, limits: &Limits) -> std::result::Result<Vec<u64>, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not text".to_owned())?;
    let (line, body) = text.split_once('\n').unwrap_or((text, ""));
    if !line.trim_end_matches('\r').is_empty() {
        return Err("its header line has more text after the words".to_owned());
    }
    if early {
        let words = body.split_ascii_whitespace();
        return words.map(|word| word.parse().map_err(|_| format!("its entry {word:?} is not an offset"))).collect();
    }
    let (_, rest) = body.split_once("---").ok_or("it has no YAML document (---)")?;
    let (list, behind) = rest.split_once("\n...").ok_or("it has no end marker (...)")?;
    if !behind.trim().is_empty() {
        return Err("text follows its end marker".to_owned());
    }
    let written = || list.lines().filter(|line| !line.trim_end().is_empty());
    let lines: Option<Vec<u64>> = written().map(|line| parse_index_line(line.trim_end())).collect();
    match lines {
        Some(entries) => Ok(entries),
        None => parse_yaml_list(body, limits),
    }
}

/// The offset in a line `- n`, the form that programs write.
fn parse_index_line(line: &str) -> Option<u64> {
    let digits = line.strip_prefix("- ")?;
    let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'));
    if is_decimal { digits.parse().ok() } else { None }
}

/// The offsets in any other list: YAML 1.1, so that an offset may be hexadecimal, or have a tag.
fn parse_yaml_list(body: &str, limits: &Limits) -> std::result::Result<Vec<u64>, String> {
    let tree = Tree::parse(body, limits).map_err(|error| format!("it is not valid YAML: {}", error.message()))?;
    let root = tree.root();
    if !root.is_sequence() {
        return Err("it is not a list".to_owned());
    }
    let not_offset = |item: crate::tree::Node<'_>| format!("its entry {:?} is not an offset", item.source_text());
    root.items().map(|item| item.as_u64().ok_or_else(|| not_offset(item))).collect()
}

impl BlockIndex {
    /// Checks the list as the standard recommends, without touching a block: increasing, the first
    /// entry at the first block, room for a header between entries, none after the index itself.
    pub fn check(&self, first_block: u64) -> std::result::Result<&[u64], String> {
        let entries = self.entries.as_deref().map_err(Clone::clone)?;
        match entries.first() {
            None => return Err("it lists no block".to_owned()),
            Some(&first) if first != first_block => {
                return Err(format!("its first entry is {first}, but the first block is at {first_block}"));
            }
            _ => {}
        }
        for pair in entries.windows(2) {
            if pair[1] <= pair[0] {
                return Err(format!("its entries do not increase: {} after {}", pair[1], pair[0]));
            }
            if pair[1] - pair[0] < super::generation::BLOCK_MAGIC.len() as u64 + 2 + 48 {
                return Err(format!("its entries {} and {} leave no room for a block header", pair[0], pair[1]));
            }
        }
        match entries.last() {
            Some(&last) if last >= self.offset => Err(format!("its entry {last} is after the index")),
            _ => Ok(entries),
        }
    }
}

/// The text of an index: the form that Python asdf writes.
pub fn print(offsets: &[u64]) -> String {
    let mut text = String::with_capacity(40 + offsets.len() * 14);
    text.push_str("#ASDF BLOCK INDEX\n%YAML 1.1\n---\n");
    for offset in offsets {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "- {offset}");
    }
    text.push_str("...\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::MemorySource;

    fn entries(text: &str) -> Option<Vec<u64>> {
        let source = MemorySource::new(text.as_bytes().to_vec(), "test");
        find_backwards(&source, 0, &Limits::default()).unwrap().and_then(|index| index.entries.ok())
    }

    #[test]
    fn flow_and_block_lists_parse() {
        assert_eq!(entries("....#ASDF BLOCK INDEX\n%YAML 1.1\n--- [2043, 16340]\n...\n\0\0\0"), Some(vec![2043, 16340]));
        assert_eq!(entries("....#ASDF BLOCK INDEX\r\n%YAML 1.1\r\n---\r\n- 1\r\n- 2\r\n...\r\n"), Some(vec![1, 2]));
        assert_eq!(entries("#ASDF BLOCK INDEX\n%YAML 1.1\n--- [1,\n  2]\n..."), Some(vec![1, 2]));
        assert_eq!(entries("#ASDF BLOCK INDEX\n%YAML 1.1\n--- [0x8f, 0320, 1_000, 0b11]\n...\n"), Some(vec![143, 208, 1000, 3]));
        for list in ["[!!int \"175\"]", "[&x 175]", "!!seq [175]", "\n- !!int 175", "\n- 175 # one", "[ 0xaf, ]"] {
            assert_eq!(entries(&format!("#ASDF BLOCK INDEX\n%YAML 1.1\n--- {list}\n...\n")), Some(vec![175]), "{list}");
        }
        for list in ["[[175]]", "\n- - 175", "175", "{175: 1}", "[1 2]", "[\"175\"]", "[175] 175"] {
            assert_eq!(entries(&format!("#ASDF BLOCK INDEX\n%YAML 1.1\n--- {list}\n...\n")), None, "{list}");
        }
        assert_eq!(entries("#ASDF BLOCK INDEX\n%YAML 1.1\n--- [175]\n"), None);
        assert_eq!(entries("#ASDF BLOCK INDEX\n%YAML 1.1\n--- [1, x]\n...\n"), None);
    }

    #[test]
    fn trailing_zeros_are_skipped_but_later_content_rejects() {
        let find_in = |parts: [&[u8]; 3]| {
            let source = MemorySource::new(parts.concat(), "test");
            find_backwards(&source, 0, &Limits::default()).unwrap().map(|index| (index.offset, index.entries.unwrap_or_default()))
        };
        let (data, zeros) = (vec![0xff; 30 << 20], vec![0; 10 << 20]);
        let index = print(&[7, 5000]);
        assert_eq!(find_in([&data, index.as_bytes(), &zeros]), Some((30 << 20, vec![7, 5000])));
        assert_eq!(find_in([&data, index.as_bytes(), b"\0\0 1"]), None);
        assert_eq!(find_in([&data, &zeros, b""]), None);
    }

    #[test]
    fn long_list_print_read_round_trip() {
        let offsets: Vec<u64> = (0..20_000).map(|n| 1000 + n * 1078).collect();
        let mut bytes = vec![0xff; 1_000_000];
        bytes.extend_from_slice(print(&offsets).as_bytes());
        let source = MemorySource::new(bytes, "test");
        let index = find_backwards(&source, 0, &Limits::default()).unwrap().unwrap();
        assert_eq!((index.offset, index.entries.unwrap()), (1_000_000, offsets));
    }

    #[test]
    fn early_form_has_own_magic() {
        let mut bytes = vec![0xff; 10];
        bytes.extend_from_slice(b"\xd3IDX # ASDF BLOCK INDEX\n5\n90\n");
        let source = MemorySource::new(bytes, "test");
        let found = find_backwards(&source, 0, &Limits::default()).unwrap();
        assert_eq!(found.unwrap().entries.unwrap(), [5, 90]);
    }

    #[test]
    fn check_error_names_reason() {
        let index = |entries: &[u64]| BlockIndex { offset: 1000, entries: Ok(entries.to_vec()) };
        assert!(index(&[100, 300]).check(100).is_ok());
        assert!(index(&[101, 300]).check(100).unwrap_err().contains("first entry is 101"));
        assert!(index(&[100, 90]).check(100).unwrap_err().contains("do not increase"));
        assert!(index(&[100, 120]).check(100).unwrap_err().contains("no room"));
        assert!(index(&[100, 2000]).check(100).unwrap_err().contains("after the index"));
        assert!(index(&[]).check(100).unwrap_err().contains("no block"));
    }
}
