//! What a file says, whatever way it is stored: the yardstick of every cell.
//!
//! Trees and arrays are read by the library. FITS files are cut up here, byte by byte, so that what the library
//! overlooks is not overlooked twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trilith::bytes::{self, LocalOptions, MemorySource, Resolve, SourceRef, gunzip, percent_decode};
use trilith::check::{self, DigestEntry, VerifyDepth};
use trilith::layout::Layout;
use trilith::tree::NodeKind;
use trilith::{Array, AsdfFile, Error, Limits, Node, OpenOptions};

/// Everything that must not be lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub form: Form,
    /// Scalars by path, in the order of the tree; what describes an array is left out.
    pub values: Vec<(String, String)>,
    /// Shape, datatype and digest of every array by path.
    pub arrays: BTreeMap<String, Digest>,
    /// The blocks that no array names, as they decode.
    pub unnamed: Vec<Vec<u8>>,
    /// What is wrong with its checksums and its structure.
    pub faults: Option<String>,
    /// HDUs of a FITS file, without the one that holds the ASDF file.
    pub hdus: Vec<Hdu>,
}

/// What kind of file it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Form {
    pub family: Family,
    pub is_gzip: bool,
    /// Name of the generation.
    pub generation: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Family {
    #[default]
    Asdf,
    /// FITS with an ASDF file in it.
    Embedded,
    /// FITS alone.
    Fits,
    Dudley,
}

impl Family {
    pub(crate) fn is_fits(self) -> bool {
        matches!(self, Self::Fits | Self::Embedded)
    }

    /// Whether a name with this ending promises it.
    pub(crate) fn is_named(self, ending: &str) -> bool {
        match self {
            Self::Asdf => matches!(ending, "asdf" | "finf"),
            Self::Embedded | Self::Fits => ending.starts_with("fits"),
            Self::Dudley => ending == "bd",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digest {
    pub shape: Vec<u64>,
    pub datatype: String,
    pub sha256: [u8; 32],
}

impl Digest {
    pub(crate) fn of(array: &Array) -> Self {
        let sha256 = check::Digest::compute(array).expect("an array of the tests can be read").sha256;
        Self { shape: array.shape().to_vec(), datatype: format!("{:?}", array.datatype()), sha256 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hdu {
    pub cards: Vec<Card>,
    pub data: Vec<u8>,
}

/// A card of a FITS header: a value that is quoted keeps its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    pub keyword: String,
    pub value: String,
    pub comment: String,
}

impl Content {
    /// Reads a file; under a layout where there is one.
    pub(crate) fn read(path: &Path, layout: Option<&Path>) -> Result<Self, String> {
        let folder = path.canonicalize().map_err(|error| error.to_string())?;
        Self::read_from(path, layout, folder.parent().unwrap_or(Path::new(".")))
    }

    /// Reads a file like [`Content::read`], but resolves its references from `folder`.
    pub(crate) fn read_from(path: &Path, layout: Option<&Path>, folder: &Path) -> Result<Self, String> {
        read(path, layout, folder).map_err(|error| error.to_string())
    }

    pub(crate) fn card(&mut self, keyword: &str) -> Option<&mut Card> {
        self.hdus.first_mut()?.cards.iter_mut().find(|card| card.keyword == keyword)
    }
}

fn read(path: &Path, layout: Option<&Path>, folder: &Path) -> trilith::Result<Content> {
    let limits = Limits::default();
    let source = bytes::open(path, LocalOptions::default())?;
    let beside = Arc::new(Beside(folder.to_path_buf()));
    let mut options = OpenOptions::new();
    if let Some(layout) = layout {
        options = options.layout(Layout::read(&std::fs::read(layout).map_err(|e| Error::io("reading a layout", e))?)?);
    }
    let raw = std::fs::read(path).map_err(|e| Error::io("reading", e))?;
    let mut content = Content::default();
    content.form.is_gzip = raw.starts_with(b"\x1f\x8b");
    let opened = options.open_source(source, beside)?;
    if let Some(file) = opened.as_dudley() {
        content.form = Form { family: Family::Dudley, is_gzip: false, generation: file.generation_name().to_owned() };
        content.arrays = arrays(opened.digest()?)?;
        return Ok(content);
    }
    of_tree(&opened.into_asdf()?, &mut content)?;
    let plain = if content.form.is_gzip {
        let unpacked = gunzip(Arc::new(MemorySource::new(raw, "gzip")) as SourceRef, &limits)?;
        bytes::read_vec(&*unpacked, 0, unpacked.len(), &limits)?
    } else {
        raw
    };
    if plain.starts_with(b"SIMPLE  =") {
        content.hdus = split(&plain).map_err(Error::malformed)?;
        let all = content.hdus.len();
        content.hdus.retain(|hdu| hdu.cards.iter().all(|card| !(card.keyword == "EXTNAME" && card.value.starts_with("'ASDF"))));
        content.form.family = if content.hdus.len() < all { Family::Embedded } else { Family::Fits };
    }
    Ok(content)
}

fn of_tree(file: &AsdfFile, content: &mut Content) -> trilith::Result<()> {
    content.form.generation = file.sections().generation_name().to_owned();
    let report = check::verify(file, VerifyDepth::Structure, trilith::Progress::default())?;
    content.faults = (!report.is_ok()).then(|| format!("{report:?}"));
    if file.sections().tree().is_some() {
        values(file.tree().root(), String::new(), &mut content.values);
    }
    content.arrays = arrays(check::digest(file)?)?;
    let mut named: Vec<i64> = numbers(file.tree().root(), "source");
    for map in numbers(file.tree().root(), "chunk_block_map") {
        // asdf-zarr: int32 in the byte order of most machines, -1 for a chunk that was never written.
        let source = file.block_data(map)?;
        let map_bytes = bytes::read_vec(&*source, 0, source.len(), file.limits())?;
        let (chunks, _) = map_bytes.as_chunks();
        named.extend(chunks.iter().map(|chunk| i64::from(i32::from_le_bytes(*chunk))).filter(|chunk| *chunk >= 0));
        named.push(map);
    }
    for (number, block) in file.sections().all_blocks()?.iter().enumerate() {
        let source = file.block_data(number as i64)?;
        let is_named = named.contains(&(number as i64)) || named.contains(&-1) && block.is_streamed();
        if !is_named && source.len() > 0 {
            content.unnamed.push(bytes::read_vec(&*source, 0, source.len(), file.limits())?);
        }
    }
    Ok(())
}

fn arrays(entries: Vec<DigestEntry>) -> trilith::Result<BTreeMap<String, Digest>> {
    let digest = |entry: DigestEntry| {
        let (array, sums) = entry.digest.map_err(|error| error.context(entry.path.clone()))?;
        let datatype = format!("{:?}", array.datatype());
        Ok((entry.path, Digest { shape: array.shape().to_vec(), datatype, sha256: sums.sha256 }))
    };
    entries.into_iter().map(digest).collect()
}

fn values(node: Node<'_>, path: String, found: &mut Vec<(String, String)>) {
    if trilith::asdf::is_ndarray(node) {
        return;
    }
    if node.kind() != NodeKind::Scalar && node.is_empty() {
        found.push((path.clone(), format!("{:?}, empty", node.kind())));
    }
    match node.kind() {
        NodeKind::Mapping => node.entries().for_each(|(key, value)| values(value, format!("{path}/{}", key.text()), found)),
        NodeKind::Sequence => node.items().enumerate().for_each(|(n, item)| values(item, format!("{path}/{n}"), found)),
        _ => found.push((path, format!("{:?}", node.untagged()))),
    }
}

/// Every number after a key in a tree.
fn numbers(node: Node<'_>, key: &str) -> Vec<i64> {
    let own = node.is_mapping().then(|| node.get(key)).flatten().and_then(|source| source.as_i64());
    let below: Vec<Node<'_>> = match node.kind() {
        NodeKind::Mapping => node.entries().map(|(_, value)| value).collect(),
        NodeKind::Sequence => node.items().collect(),
        NodeKind::Scalar => Vec::new(),
    };
    own.into_iter().chain(below.into_iter().flat_map(|node| numbers(node, key))).collect()
}

/// Whatever a file refers to: nothing is refused here.
struct Beside(PathBuf);

impl Resolve for Beside {
    fn resolve(&self, uri: &str) -> trilith::Result<(SourceRef, Arc<dyn Resolve>)> {
        let decoded = percent_decode(uri.strip_prefix("file://").unwrap_or(uri)).unwrap_or_default();
        let path = self.0.join(decoded).canonicalize().map_err(|e| Error::io(format!("opening {uri}"), e))?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok((bytes::open(&path, LocalOptions::default())?, Arc::new(Self(folder))))
    }
}

const BLOCK: usize = 2880;

/// Cuts a FITS file up by the rules of the standard alone (sections 3 and 4.4.1).
pub(crate) fn split(file: &[u8]) -> Result<Vec<Hdu>, String> {
    if !file.len().is_multiple_of(BLOCK) {
        return Err(format!("a FITS file of {} bytes, not a multiple of {BLOCK}", file.len()));
    }
    let (mut hdus, mut at) = (Vec::new(), 0);
    while at < file.len() {
        let mut cards = Vec::new();
        loop {
            let card = file.get(at..at + 80).ok_or("a FITS header without END")?;
            at += 80;
            if card.starts_with(b"END     ") {
                break;
            }
            cards.push(parse(&String::from_utf8_lossy(card)));
        }
        at = at.next_multiple_of(BLOCK);
        let number = |keyword: &str, default: i64| -> Result<i64, String> {
            let card = cards.iter().find(|card| card.keyword == keyword);
            card.map_or(Ok(default), |card| card.value.parse().map_err(|_| format!("{keyword} = {}", card.value)))
        };
        let axes = (1..=number("NAXIS", 0)?).map(|n| number(&format!("NAXIS{n}"), 0));
        let elements = axes.product::<Result<i64, String>>()?;
        let elements = if number("NAXIS", 0)? == 0 { 0 } else { elements };
        let size = number("BITPIX", 8)?.abs() / 8 * number("GCOUNT", 1)? * (number("PCOUNT", 0)? + elements);
        let end = at + size as usize;
        let data = file.get(at..end).ok_or("a FITS file that ends in its data")?.to_vec();
        at = end.next_multiple_of(BLOCK);
        hdus.push(Hdu { cards, data });
    }
    Ok(hdus)
}

fn parse(card: &str) -> Card {
    let keyword = card.get(..8).unwrap_or_default().trim_end().to_owned();
    let rest = card.get(10..).unwrap_or_default();
    if card.get(8..10) != Some("= ") {
        return Card { keyword, value: card.get(8..).unwrap_or_default().trim_end().to_owned(), comment: String::new() };
    }
    // A text may hold the stroke that begins a comment.
    let text = rest.trim_start();
    let end = match text.strip_prefix('\'') {
        Some(text) => 2 + text.find("'").unwrap_or(text.len()),
        None => text.find('/').unwrap_or(text.len()),
    };
    let (value, comment) = text.split_at(end.min(text.len()));
    let trimmed = value.trim_end().trim_end_matches('\'').trim_end();
    let value = if value.starts_with('\'') { format!("{trimmed}'") } else { trimmed.to_owned() };
    Card { keyword, value, comment: comment.trim_start_matches([' ', '/']).trim_end().to_owned() }
}

/// The first thing in which a file is not what was expected, or None; a conversion may add HDUs for arrays.
pub(crate) fn difference(expected: &Content, found: &Content, is_conversion: bool) -> Option<String> {
    let (from, to) = (expected.form.family, found.form.family);
    if from == Family::Dudley || to == Family::Dudley {
        return arrays_lost(expected, found, from != to);
    }
    arrays_lost(expected, found, false)
        .or_else(|| if is_conversion { history_lost(expected, found) } else { None })
        .or_else(|| {
            // Each generation has a different form of history.
            let is_compared = |path: &str| {
                let is_listing = from == Family::Fits && to == Family::Fits && path.starts_with("/fits");
                !(is_listing || is_conversion && path.starts_with("/history"))
            };
            values_lost(expected, found, &is_compared, from == Family::Fits && to == Family::Asdf)
        })
        .or_else(|| {
            let lost = expected.unnamed.iter().find(|block| !found.unnamed.contains(block));
            lost.map(|block| format!("a block of {} bytes that no array names is gone", block.len()))
        })
        .or_else(|| if from.is_fits() && to.is_fits() { hdus_lost(&expected.hdus, &found.hdus, is_conversion) } else { None })
}

fn arrays_lost(expected: &Content, found: &Content, renamed: bool) -> Option<String> {
    for (path, array) in &expected.arrays {
        let there = match found.arrays.get(path) {
            _ if renamed => found.arrays.values().any(|other| (&other.shape, other.sha256) == (&array.shape, array.sha256)),
            Some(other) => other == array,
            None => false,
        };
        if !there {
            let now = found.arrays.get(path).map(|now| format!("is {} of shape {:?}", now.datatype, now.shape));
            return Some(format!("the array {path} ({:?}) {}", array.shape, now.as_deref().unwrap_or("is gone")));
        }
    }
    let more = found.arrays.keys().find(|path| !renamed && !expected.arrays.contains_key(*path));
    more.map(|path| format!("an array {path} that nobody asked for"))
}

/// Whatever a history said is still in it, wherever.
fn history_lost(expected: &Content, found: &Content) -> Option<String> {
    let said = |content: &Content| -> Vec<(String, String)> {
        content.values.iter().filter(|(path, _)| path.starts_with("/history")).cloned().collect()
    };
    let found = said(found);
    let lost = said(expected).into_iter().find(|(_, value)| !found.iter().any(|(_, there)| there == value));
    lost.map(|(path, value)| format!("{path} ({value}) is gone"))
}

fn values_lost(expected: &Content, found: &Content, is_compared: &dyn Fn(&str) -> bool, made_up: bool) -> Option<String> {
    let of_tree = |values: &[(String, String)]| -> Vec<(String, String)> {
        values.iter().filter(|(path, _)| is_compared(path)).cloned().collect()
    };
    let (expected, mut found) = (of_tree(&expected.values), of_tree(&found.values));
    // A tree that was made up of FITS gets what every file of the family has when it becomes one.
    if made_up {
        found.retain(|entry| expected.contains(entry));
    }
    let pair =
        expected.iter().map(Some).chain(std::iter::repeat(None)).zip(found.iter().map(Some).chain(std::iter::repeat(None)));
    let longer = expected.len().max(found.len());
    pair.take(longer).find(|(expected, found)| expected != found).map(|(expected, found)| format!("{expected:?} is {found:?}"))
}

fn hdus_lost(expected: &[Hdu], found: &[Hdu], may_grow: bool) -> Option<String> {
    if expected.len() != found.len() && !(may_grow && found.len() > expected.len()) {
        return Some(format!("{} HDUs are {}", expected.len(), found.len()));
    }
    for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
        if expected.data != found.data {
            return Some(format!("the data of HDU {number} differ"));
        }
        let pairs = expected.cards.iter().zip(&found.cards);
        if let Some((expected, found)) = pairs.into_iter().find(|(expected, found)| expected != found) {
            return Some(format!("HDU {number}: {expected:?} is {found:?}"));
        }
        if expected.cards.len() != found.cards.len() {
            return Some(format!("HDU {number}: {} cards are {}", expected.cards.len(), found.cards.len()));
        }
    }
    None
}
