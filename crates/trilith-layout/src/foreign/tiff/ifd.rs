//! The directories of a TIFF file: tags with values of a kind, which are in the directory or somewhere else.
//!
//! TIFF Revision 6.0 (1992), section 2; `BigTIFF` has the same with addresses of 8 bytes.

use std::collections::HashSet;

use crate::array::{Byteorder, undeclared_text};
use crate::bytes::{SourceRef, read_vec};
use crate::error::{Context, Error, Result};
use crate::foreign::header_reader::HeaderReader;
use crate::limits::Limits;

/// The kinds of values by their numbers: the name in a layout, and bytes. An empty name is none that is known.
const KINDS: [(&str, u64); 19] = [
    ("", 0),
    ("u1", 1),
    ("S1", 1),
    ("u2", 2),
    ("u4", 4),
    ("", 8),
    ("i1", 1),
    ("u1", 1),
    ("i2", 2),
    ("i4", 4),
    ("", 8),
    ("f4", 4),
    ("f8", 8),
    ("u4", 4),
    ("", 0),
    ("", 0),
    ("u8", 8),
    ("i8", 8),
    ("u8", 8),
];

/// Numbers of a tag that are read at once at most.
const MOST: u64 = 1 << 26;

/// A file whose directories are read.
pub(super) struct Tiff<'s> {
    source: &'s SourceRef,
    pub limits: &'s Limits,
    pub order: Byteorder,
    /// `true` if addresses have 8 bytes.
    wide: bool,
    first: u64,
}

/// The content of a tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag {
    pub id: u64,
    kind: u64,
    pub count: u64,
    /// The byte of the file at which its values begin.
    pub at: u64,
}

/// The tags of one image.
pub(super) struct Directory {
    pub tags: Vec<Tag>,
    /// The byte at which it begins.
    pub at: u64,
}

/// Numbers, as a tag has them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    Text(String),
    Whole(Vec<i128>),
    Floats(Vec<f64>),
}

impl<'s> Tiff<'s> {
    /// Reads the header.
    pub(super) fn open(source: &'s SourceRef, limits: &'s Limits) -> Result<Self> {
        let mut header = HeaderReader::at(&**source, 0, limits);
        let order = if header.take(2)? == b"MM" { Byteorder::Big } else { Byteorder::Little };
        let mut file = Self { source, limits, order, wide: false, first: 0 };
        file.wide = file.number(&mut header, 2)? == 43;
        if file.wide && (file.number(&mut header, 2)?, file.number(&mut header, 2)?) != (8, 0) {
            return Err(Error::unsupported("a BigTIFF file whose offsets do not have 8 bytes"));
        }
        file.first = file.number(&mut header, file.word())?;
        Ok(file)
    }

    /// Bytes of the file.
    pub(super) fn len(&self) -> u64 {
        self.source.len()
    }

    /// Bytes of an address.
    fn word(&self) -> u64 {
        if self.wide { 8 } else { 4 }
    }

    fn number(&self, header: &mut HeaderReader<'_>, len: u64) -> Result<u64> {
        if self.order == Byteorder::Big { header.big(len) } else { header.little(len) }
    }

    /// The directories in a row that begins at a byte, those that `seen` has left out; and why the next one cannot be read.
    pub(super) fn row(&self, first: u64, seen: &mut HashSet<u64>) -> Result<(Vec<Directory>, Option<Error>)> {
        let (mut found, mut next) = (Vec::new(), first);
        while next != 0 && seen.insert(next) {
            if seen.len() as u64 > self.limits.items {
                return Err(Limits::exceeded("items", self.limits.items, "the file has more images"));
            }
            match self.directory(next) {
                Ok((directory, behind)) => {
                    found.push(directory);
                    next = behind;
                }
                Err(error) if error.kind().is_passing() => return Err(error),
                Err(error) => {
                    let why = Error::new(error.kind(), format!("the directory at byte {next}: {}", error.message()));
                    return Ok((found, Some(why)));
                }
            }
        }
        Ok((found, None))
    }

    /// The directories of the file.
    pub(super) fn directories(&self, seen: &mut HashSet<u64>) -> Result<(Vec<Directory>, Option<Error>)> {
        self.row(self.first, seen)
    }

    fn directory(&self, at: u64) -> Result<(Directory, u64)> {
        let mut header = HeaderReader::at(&**self.source, at, self.limits);
        let count = self.number(&mut header, if self.wide { 8 } else { 2 })?;
        let count = header.count(count, 4 + 2 * self.word(), "tags")?;
        let mut tags = Vec::with_capacity(count);
        for _ in 0..count {
            let (id, kind) = (self.number(&mut header, 2)?, self.number(&mut header, 2)?);
            let (count, here) = (self.number(&mut header, self.word())?, header.position());
            let elsewhere = self.number(&mut header, self.word())?;
            let size = KINDS.get(kind as usize).map_or(0, |kind| kind.1);
            let at = if count.saturating_mul(size) <= self.word() { here } else { elsewhere };
            tags.push(Tag { id, kind, count, at });
        }
        let next = self.number(&mut header, self.word())?;
        Ok((Directory { tags, at }, next))
    }

    /// The type of the values of a tag, as a layout has it; None if it has none.
    pub(super) fn spelled(&self, tag: &Tag) -> Option<String> {
        let (name, size) = KINDS.get(tag.kind as usize).filter(|kind| !kind.0.is_empty())?;
        let order = match (size, self.order) {
            (1, _) => "",
            (_, Byteorder::Little) => "<",
            (_, Byteorder::Big) => ">",
        };
        Some(format!("{order}{name}[{}]", tag.count))
    }

    /// Returns `true` if the values of a tag are characters.
    pub(super) fn is_text(&self, tag: &Tag) -> bool {
        KINDS.get(tag.kind as usize).is_some_and(|kind| kind.0 == "S1")
    }

    /// The values of a tag.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if they are not in the file,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for kinds that are not known.
    pub(super) fn values(&self, tag: &Tag) -> Result<Values> {
        let unknown = || Error::unsupported(format!("values of kind {}", tag.kind));
        let (name, size) = *KINDS.get(tag.kind as usize).filter(|kind| kind.1 > 0).ok_or_else(unknown)?;
        if tag.count > MOST {
            return Err(Error::limit(format!("{} values of the tag {}, at most {MOST} are read", tag.count, tag.id)));
        }
        let bytes = read_vec(&**self.source, tag.at, tag.count.saturating_mul(size), self.limits)?;
        self.limits.charge_memory(tag.count.saturating_mul(16), "the values of a tag")?;
        let words = bytes.chunks_exact(size as usize);
        Ok(match (name, tag.kind) {
            ("S1", _) => Values::Text(undeclared_text(&bytes).trim_end_matches('\0').to_owned()),
            ("f4", _) => Values::Floats(words.map(|word| f32::from_bits(self.whole(word) as u32).into()).collect()),
            ("f8", _) => Values::Floats(words.map(|word| f64::from_bits(self.whole(word))).collect()),
            (_, 5) => Values::Floats(words.map(|word| self.ratio(word, |word| word as f64)).collect()),
            (_, 10) => Values::Floats(words.map(|word| self.ratio(word, |word| f64::from(word as u32 as i32))).collect()),
            ("i1" | "i2" | "i4" | "i8", _) => {
                let unused = 64 - 8 * size as u32;
                Values::Whole(words.map(|word| i128::from((self.whole(word) << unused) as i64 >> unused)).collect())
            }
            _ => Values::Whole(words.map(|word| i128::from(self.whole(word))).collect()),
        })
    }

    /// A number without a sign.
    fn whole(&self, bytes: &[u8]) -> u64 {
        let add = |number, byte: &u8| number << 8 | u64::from(*byte);
        if self.order == Byteorder::Big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }

    /// Numerator and denominator.
    fn ratio(&self, bytes: &[u8], float: impl Fn(u64) -> f64) -> f64 {
        let (above, below) = bytes.split_at(bytes.len() / 2);
        float(self.whole(above)) / float(self.whole(below))
    }
}

impl Directory {
    /// A tag.
    pub(super) fn tag(&self, id: u64) -> Option<&Tag> {
        self.tags.iter().find(|tag| tag.id == id)
    }

    /// The whole numbers of a tag, none of them below 0; None if it is not there.
    ///
    /// # Errors
    /// Returns the errors of [`Tiff::values`].
    pub(super) fn numbers(&self, file: &Tiff<'_>, id: u64) -> Result<Option<Vec<u64>>> {
        let Some(tag) = self.tag(id) else { return Ok(None) };
        let wrong = || Error::malformed(format!("the tag {id} has no whole numbers"));
        match file.values(tag).doing(|| format!("reading the tag {id}"))? {
            Values::Whole(numbers) => {
                numbers.into_iter().map(|number| u64::try_from(number).map_err(|_| wrong())).collect::<Result<_>>().map(Some)
            }
            _ => Err(wrong()),
        }
    }

    /// The first whole number of a tag, or what counts without it.
    ///
    /// # Errors
    /// Returns the errors of [`Directory::numbers`].
    pub(super) fn number(&self, file: &Tiff<'_>, id: u64, without: u64) -> Result<u64> {
        Ok(self.numbers(file, id)?.and_then(|numbers| numbers.first().copied()).unwrap_or(without))
    }
}
