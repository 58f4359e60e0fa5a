//! The first line of the file, the comment lines after it, and where the tree ends.
//!
//! ASDF 1.x, "Header", "Comments" and "Tree"; the same in FINF and ASDF 0.1 without comments.

use memchr::memmem;

use super::generation::{self, Generation};
use crate::bytes::{Source, SourceBacking, prefer_large_pages, read_vec};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The part of a file before the tree.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Header {
    /// The first line, without its line end.
    pub line: String,
    /// The comment lines between header and tree, without line ends.
    pub comments: Vec<String>,
    /// The comment lines verbatim: the file may have another encoding than UTF-8.
    pub raw_comments: Vec<Vec<u8>>,
    /// The rows of the generation table that the line allows.
    pub candidate_generations: Vec<&'static Generation>,
    /// First byte after header and comments.
    pub end: u64,
    /// `true` if the first line is one that YAML takes for a directive (`%FINF`, `%ASDF`).
    pub is_directive: bool,
}

impl Header {
    /// Returns `true` if the first line has exactly the form that the documents give: `#ASDF 1.0.0`, with three
    /// numbers.
    pub fn is_exact(&self) -> bool {
        let version = self.line.split_once(' ').map_or("", |(_, version)| version);
        // From 1.0 on the version follows Semantic Versioning, which allows a suffix.
        let is_late = self.candidate_generations.first().is_some_and(|row| row.major_version > 0);
        if is_late {
            return not_semantic(version).is_none();
        }
        let numbers: Vec<&str> = version.split('.').collect();
        numbers.len() == 3 && numbers.iter().all(|number| is_number(number))
    }

    /// Returns the reason why the suffix of a version after 1.0 does not follow Semantic Versioning.
    pub(super) fn semantic_problem(&self) -> Option<&'static str> {
        let version = self.line.split_once(' ').map_or("", |(_, version)| version);
        let is_late = self.candidate_generations.first().is_some_and(|row| row.major_version > 0);
        not_semantic(version).filter(|_| is_late && version.contains(['-', '+']))
    }

    /// The version that `#ASDF_STANDARD` states, if it does.
    pub fn standard(&self) -> Option<&str> {
        self.comments.iter().find_map(|line| line.strip_prefix("#ASDF_STANDARD ")).map(str::trim)
    }
}

pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the reason why a version does not follow Semantic Versioning.
pub(crate) fn not_semantic(version: &str) -> Option<&'static str> {
    let (rest, build) = version.split_once('+').map_or((version, None), |(rest, build)| (rest, Some(build)));
    let (core, early) = rest.split_once('-').map_or((rest, None), |(core, early)| (core, Some(early)));
    let numbers: Vec<&str> = core.split('.').collect();
    if numbers.len() != 3 || !numbers.iter().all(|number| is_number(number)) {
        return Some("expected three numbers");
    }
    if numbers.iter().any(|number| number.len() > 1 && number.starts_with('0')) {
        return Some("a number has leading zeros");
    }
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if early.into_iter().chain(build).any(|suffix| !suffix.split('.').all(is_word)) {
        return Some("the text after the numbers is not a suffix of Semantic Versioning");
    }
    // Semantic Versioning 2.0.0, 9; build metadata may have them (10).
    let is_padded = |word: &str| word.len() > 1 && word.starts_with('0') && is_number(word);
    early.is_some_and(|early| early.split('.').any(is_padded)).then_some("a number of the suffix has leading zeros")
}

/// Number of bytes of blank lines that are read at once.
const BLANK_READ_SIZE: u64 = 256;

/// Longest header line that is looked at.
const MAX_LINE_LEN: u64 = 64 << 10;

/// A byte order mark, which no document allows.
const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

/// Returns `true` if these first bytes of a file are those of the family, a byte order mark aside.
pub(crate) fn is_asdf(start: &[u8]) -> bool {
    let start = start.strip_prefix(UTF8_BOM).unwrap_or(start);
    generation::GENERATIONS.iter().any(|g| start.starts_with(g.token.as_bytes()))
}

/// Reads header line and comments.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the first line is not one of the family's.
pub(crate) fn read_asdf_header(source: &dyn Source, limits: &Limits) -> Result<Header> {
    let start = read_vec(source, 0, source.len().min(16), limits)?;
    if start.starts_with(UTF8_BOM) && is_asdf(&start) {
        let found = "the file begins with a byte order mark (ef bb bf), expected the header line";
        return Err(Error::malformed(found).at_byte(0).hint("remove the first three bytes"));
    }
    let (line, _, mut end) = line_at(source, 0, MAX_LINE_LEN)?
        .ok_or_else(|| Error::malformed("the first line is not a header such as \"#ASDF 1.0.0\"").at_byte(0))?;
    let (token, version) = parse_line(&line)?;
    let rows = generation::find_candidate_generations(token, version)?;
    let (mut comments, mut raw_comments) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    // A block index without blocks is not a comment.
    let is_comment = |text: &str| text.starts_with('#') && text.as_bytes() != super::index::INDEX_HEADER;
    while let Some((text, raw, next)) = line_at(source, end, limits.text)?.filter(|(text, ..)| is_comment(text)) {
        bytes += text.len() as u64;
        if bytes > limits.text {
            return Err(Limits::exceeded_error("text", limits.text, "the comments after the header have more text"));
        }
        comments.push(text);
        raw_comments.push(raw);
        end = next;
    }
    let is_directive = token.starts_with('%');
    Ok(Header { line, comments, raw_comments, candidate_generations: rows, end, is_directive })
}

/// The line that starts at `at` (without its line end), its bytes, and where the next starts; None if the
/// bytes there are not a line of text.
fn line_at(source: &dyn Source, at: u64, longest: u64) -> Result<Option<(String, Vec<u8>, u64)>> {
    let rest = source.len().saturating_sub(at).min(longest);
    let mut taken = rest.min(256);
    while taken > 0 {
        let bytes = read_vec(source, at, taken, &Limits::default())?;
        if !bytes.starts_with(b"#") && !bytes.starts_with(b"%") {
            return Ok(None);
        }
        let end = match memchr::memchr(b'\n', &bytes) {
            Some(end) => end,
            None if taken < rest => {
                taken = rest.min(taken * 16);
                continue;
            }
            // A file may end after its header line.
            None if taken == source.len() - at => bytes.len(),
            None => return Ok(None),
        };
        let next = at + (end as u64 + 1).min(taken);
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        return Ok(Some((String::from_utf8_lossy(line).into_owned(), line.to_vec(), next)));
    }
    Ok(None)
}

fn parse_line(line: &str) -> Result<(&str, (u32, u32, u32))> {
    let bad = || {
        Error::malformed(format!(
            "header line {:?} is not of the form \"#ASDF 1.0.0\"",
            line.chars().take(40).collect::<String>()
        ))
        .at_byte(0)
    };
    let (token, version) = line.split_once([' ', '\t']).ok_or_else(bad)?;
    let mut numbers =
        version.trim().split('.').map(|part| part.bytes().take_while(u8::is_ascii_digit).count()).zip(version.trim().split('.'));
    let mut next = || numbers.next().and_then(|(digits, part)| part.get(..digits)).and_then(|digits| digits.parse::<u32>().ok());
    let major = next().ok_or_else(bad)?;
    let minor = next().ok_or_else(bad)?;
    let micro = next().unwrap_or(0);
    Ok((token, (major, minor, micro)))
}

/// The extent of the tree in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeExtent {
    /// First byte (that of `%YAML` or `---`).
    pub start: u64,
    /// Offset after the line break that follows `...`.
    pub end: u64,
    /// `true` if the end marker was there.
    pub has_end_marker: bool,
}

/// Finds the tree after the header, if there is one: decided from the bytes right there, since a
/// block index, too, contains `%YAML`. The bytes of the tree that had to be read for this come with it; those of a source
/// that is in memory do not.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if neither tree nor block follows,
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the tree is too long.
pub(crate) fn find_tree(source: &dyn Source, header: &Header, limits: &Limits) -> Result<Option<(TreeExtent, Vec<u8>)>> {
    let size = source.len();
    // Blank lines between header and tree are harmless.
    let mut start = header.end;
    let mut line = start;
    let first = loop {
        let ahead = read_vec(source, start, (size - start).min(BLANK_READ_SIZE), limits)?;
        let at = ahead.iter().position(|b| !matches!(b, b'\n' | b'\r' | b' ' | b'\t'));
        let blanks = &ahead[..at.unwrap_or(ahead.len())];
        if let Some(end) = blanks.iter().rposition(|b| matches!(b, b'\n' | b'\r')) {
            line = start + end as u64 + 1;
        }
        match at {
            Some(at) => {
                start += at as u64;
                // A byte order mark is wrong here, but what follows is a tree.
                let rest = &ahead[at..];
                if rest.starts_with(b"%") || rest.starts_with(b"---") {
                    line = start;
                }
                break rest.strip_prefix(b"\xef\xbb\xbf").and_then(|rest| rest.first()).map_or(ahead[at], |first| *first);
            }
            None if ahead.is_empty() => return Ok(None),
            None => start += ahead.len() as u64,
        }
    };
    // A block mark is not UTF-8; zeros are unused space.
    if first == 0 {
        return Ok(None);
    }
    let ahead = read_vec(source, start, (size - start).min(super::index::INDEX_HEADER.len() as u64), limits)?;
    if ahead == super::index::INDEX_HEADER {
        return Ok(None);
    }
    if first >= 0x80 {
        let bytes = read_vec(source, start, (size - start).min(8), limits)?;
        return match super::block::magic_len(&bytes) {
            Some(_) => Ok(None),
            None => Err(Error::malformed(format!("neither a tree nor a block follows the header: found byte {first:#04x}"))
                .at_byte(start)),
        };
    }
    // The blanks before a first word that is not a mark give its depth.
    start = line;
    let mut chunk_len = 64 << 10;
    // Bytes in memory are examined in place; another program may change those mapped from a file.
    let view =
        if source.backing().and_then(SourceBacking::local_file).is_none() { source.view(start, size - start) } else { None };
    let mut read = Vec::new();
    let mut have = 0;
    let found = |len: usize, closed: bool, mut read: Vec<u8>| {
        read.truncate(len);
        read.shrink_to_fit();
        (TreeExtent { start, end: start + len as u64, has_end_marker: closed }, read)
    };
    loop {
        let want = (size - start - have as u64).min(chunk_len);
        if have as u64 + want > limits.text {
            return Err(
                Limits::exceeded_error("text", limits.text, "the tree has no end marker in that many bytes").at_byte(start)
            );
        }
        let len = have + want as usize;
        let text = match view.and_then(|view| view.get(..len)) {
            Some(text) => text,
            None => {
                read.reserve(want as usize);
                prefer_large_pages(&mut read);
                read.resize(len, 0);
                source.read_at(start + have as u64, &mut read[have..])?;
                &read
            }
        };
        let at_end = start + text.len() as u64 == size;
        // The marker, its line end and a block mark may span two reads.
        let from = have.saturating_sub(8);
        // The magic bytes of a block are not UTF-8, so the tree ends before them, independent of the bytes after them.
        let mark = find_mark(text, from);
        let tree = &text[..mark.unwrap_or(text.len())];
        let extent = if at_end || mark.is_some() { TextExtent::Complete } else { TextExtent::Partial };
        if let Some(end) = find_end(tree, from, extent) {
            check_stray_text(tree.get(..end).unwrap_or(tree), start)?;
            return Ok(Some(found(end, true, read)));
        }
        if extent == TextExtent::Complete {
            let end = tree.len();
            return Ok(Some(found(end, false, read)));
        }
        (have, chunk_len) = (len, chunk_len.saturating_mul(2));
    }
}

/// The first block mark in the text of a tree, from byte `from` on. The byte 89 may also be part of a character.
fn find_mark(text: &[u8], from: usize) -> Option<usize> {
    let within_character = |at: usize| {
        (1..=3.min(at)).any(|back| match text.get(at - back) {
            Some(0xc0..=0xdf) => back < 2,
            Some(0xe0..=0xef) => back < 3,
            Some(0xf0..=0xf7) => back < 4,
            _ => false,
        })
    };
    let marks: [&[u8]; 4] = [
        &generation::BLOCK_MAGIC,
        &generation::DRAFT_MAGIC,
        &generation::BLOCK_MAGIC_DOCUMENTED,
        &generation::DRAFT_MAGIC_DOCUMENTED,
    ];
    let rest = text.get(from..).unwrap_or(&[]);
    memchr::memchr2_iter(0xd3, 0x89, rest).map(|at| from + at).find(|at| {
        let here = text.get(*at..).unwrap_or(&[]);
        marks.iter().any(|mark| here.starts_with(mark)) && (here.first() == Some(&0xd3) || !within_character(*at))
    })
}

/// Refuses the text of a tree that could not be found again unchanged in a file.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it does not begin with `%` or `---`, or if `...` is not
/// on a separate line at its end.
pub(crate) fn check_tree(text: &str) -> Result<()> {
    let bytes = text.as_bytes();
    if !bytes.starts_with(b"%") && !bytes.starts_with(b"---") {
        return Err(Error::invalid_input("the text of the tree begins with neither %YAML nor ---")
            .hint("begin it with %YAML 1.1 and ---"));
    }
    match find_end(bytes, 0, TextExtent::Complete) {
        Some(end) if bytes.get(end..).unwrap_or(&[]).trim_ascii().is_empty() => Ok(()),
        Some(end) => {
            let line = bytes.get(..end).unwrap_or(bytes).iter().filter(|b| **b == b'\n').count() + 1;
            Err(Error::invalid_input(format!("there is text after the end of the tree, from line {line} on")).hint("remove it"))
        }
        None => Err(Error::invalid_input("the text of the tree has no end: expected ... on a separate line, after a line feed")
            .hint("end it with the line ...")),
    }
}

/// Refuses text between header and tree that is not a comment, if the tree then begins with `%YAML`.
fn check_stray_text(ahead: &[u8], start: u64) -> Result<()> {
    let is_content = |line: &[u8]| !line.starts_with(b"#") && !line.trim_ascii().is_empty();
    let Some(first) = ahead.split(|b| *b == b'\n').find(|line| is_content(line)) else { return Ok(()) };
    let begins = |mark: &[u8]| first.strip_prefix(UTF8_BOM).unwrap_or(first).starts_with(mark);
    if begins(b"%") || begins(b"---") {
        return Ok(());
    }
    let Some(tree) = memmem::find(ahead, b"\n%YAML") else { return Ok(()) };
    // Inside a document that begins without a marker it may be text.
    if memmem::find(ahead.get(..tree).unwrap_or(&[]), b"\n---").is_some() {
        return Ok(());
    }
    let line = String::from_utf8_lossy(first.trim_ascii_end());
    let line: String = line.chars().take(40).collect();
    Err(Error::malformed(format!("the line {line:?} before the tree is neither a comment nor part of it"))
        .at_byte(start)
        .hint("begin it with #, or remove it"))
}

/// The part of a text that is searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextExtent {
    /// The text up to its last byte.
    Complete,
    /// The first bytes, which others may follow.
    Partial,
}

/// The byte after the line break of `...` on its own line, searched from byte `from` on.
fn find_end(text: &[u8], from: usize, extent: TextExtent) -> Option<usize> {
    let marker = |at: usize| -> Option<usize> {
        let rest = text.get(at + 3..)?;
        let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        match rest.get(blanks..)? {
            [b'\n', ..] => Some(at + 3 + blanks + 1),
            [b'\r', b'\n', ..] => Some(at + 3 + blanks + 2),
            [] if extent == TextExtent::Complete => Some(text.len()),
            _ => None,
        }
    };
    if from == 0
        && text.starts_with(b"...")
        && let Some(end) = marker(0)
    {
        return Some(end);
    }
    memmem::find_iter(&text[from..], b"\n...").find_map(|at| marker(from + at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::MemorySource;

    fn extent(bytes: &[u8]) -> Option<(u64, u64, bool)> {
        let source = MemorySource::new(bytes.to_vec(), "test");
        let limits = Limits::default();
        let header = read_asdf_header(&source, &limits).unwrap();
        find_tree(&source, &header, &limits).unwrap().map(|(t, _)| (t.start, t.end, t.has_end_marker))
    }

    #[test]
    fn end_marker_accepts_lf_crlf_and_eof() {
        assert_eq!(extent(b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: '\n ...\n'}\n...\nrest"), Some((12, 44, true)));
        assert_eq!(extent(b"#ASDF 1.0.0\r\n---\r\na: 1\r\n...\r\n\xd3BLK"), Some((13, 29, true)));
        assert_eq!(extent(b"#ASDF 1.0.0\n--- {}\n..."), Some((12, 22, true)));
        assert_eq!(extent(b"#ASDF 1.0.0\n--- {}\n"), Some((12, 19, false)));
        assert_eq!(extent(b"#ASDF 1.0.0\n\n --- {}\n...\n"), Some((14, 25, true)));
        assert_eq!(extent(b"#ASDF 1.0.0\n\n  a: 1\n  b: 2\n...\n"), Some((13, 31, true)));
        assert_eq!(extent(b"#ASDF 1.0.0\n--- {}\n....\n"), Some((12, 24, false)));
    }

    #[test]
    fn missing_tree_returns_none() {
        assert_eq!(extent(b"#ASDF 1.0.0\n"), None);
        assert_eq!(extent(b"#ASDF 1.0.0"), None);
        assert_eq!(
            extent(b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n\xd3BLK\0\x30 #ASDF BLOCK INDEX\n%YAML 1.1\n--- [1]\n...\n"),
            None
        );
    }

    #[test]
    fn end_marker_is_found_across_reads() {
        let mut bytes = b"#ASDF 1.0.0\n--- ".to_vec();
        bytes.resize(12 + (64 << 10) - 2, b'a');
        bytes.extend_from_slice(b"\n...\n\xd3BLK");
        let end = bytes.len() as u64 - 4;
        assert_eq!(extent(&bytes), Some((12, end, true)));
    }

    #[test]
    fn exact_line_needs_three_numbers() {
        let exact = |line: &str| {
            read_asdf_header(&MemorySource::new(format!("{line}\n").into(), "test"), &Limits::default()).unwrap().is_exact()
        };
        for line in [
            "#ASDF 1.0.0",
            "#ASDF 0.1.0",
            "%FINF 0.1.0",
            "%ASDF 00.1.0",
            "#ASDF 1.0.0-dev.3",
            "#ASDF 1.0.0-0",
            "#ASDF 1.0.0-1.0a",
            "#ASDF 1.0.0+001",
        ] {
            assert!(exact(line), "{line}");
        }
        for line in [
            "#ASDF 1.0",
            "#ASDF  1.0.0",
            "#ASDF\t1.0.0",
            "#ASDF 1.0.0 ",
            "#ASDF 1.0.0.0",
            "%FINF 0.1.0-dev",
            "#ASDF 1.0.0-01",
            "#ASDF 1.0.0-1.02",
            "#ASDF 01.0.0",
        ] {
            assert!(!exact(line), "{line}");
        }
    }

    #[test]
    fn byte_order_mark_and_stray_line_are_named() {
        let said = |bytes: &[u8]| {
            let source = MemorySource::new(bytes.to_vec(), "test");
            let limits = Limits::default();
            let tree = read_asdf_header(&source, &limits).and_then(|header| find_tree(&source, &header, &limits));
            tree.map(|_| ()).map_err(|error| error.to_string())
        };
        let marked = said(b"\xef\xbb\xbf#ASDF 1.0.0\n--- {}\n...\n").unwrap_err();
        assert!(marked.contains("begins with a byte order mark (ef bb bf)"), "{marked}");
        let stray = said(b"#ASDF 1.0.0\nhello\n%YAML 1.1\n--- {}\n...\n").unwrap_err();
        assert!(stray.contains("the line \"hello\" before the tree"), "{stray}");
        for right in [
            &b"#ASDF 1.0.0\n\n# hello\n%YAML 1.1\n--- {}\n...\n"[..],
            b"#ASDF 1.0.0\na: 1\nb: '\n\n--- \n%YAML'\n...\n",
            b"#ASDF 1.0.0\n\xef\xbb\xbf%YAML 1.1\n--- {}\n...\n",
        ] {
            assert_eq!(said(right), Ok(()), "{}", right.escape_ascii());
        }
    }

    #[test]
    fn header_lines() {
        assert_eq!(parse_line("#ASDF 1.0.0").unwrap(), ("#ASDF", (1, 0, 0)));
        assert_eq!(parse_line("%FINF 0.1.0").unwrap(), ("%FINF", (0, 1, 0)));
        assert!(parse_line("#ASDF").is_err());
        assert!(parse_line("#ASDF x.y").is_err());
    }
}
