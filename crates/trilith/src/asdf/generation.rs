//! The one table of generations: the form that each era of the family wrote, and how to detect it.
//!
//! A generation is found by the token and version of the header line, the length of the block mark
//! and the `header_size` of the first block. Reader, writer, `info` and tests take every constant
//! from the rows here; adding a generation is adding a row.

use crate::error::{Error, Result};

/// The mark that opens a block: what all code wrote, and the 0x89 that the documents said until 2015.
pub(crate) const BLOCK_MAGIC: [u8; 4] = *b"\xd3BLK";
/// The mark of the documents before 2015-01-15; accepted when reading.
pub(crate) const BLOCK_MAGIC_DOCUMENTED: [u8; 4] = *b"\x89BLK";
/// The eight-byte mark of the first FINF draft.
pub(crate) const DRAFT_MAGIC: [u8; 8] = *b"\xd3BFF\x0d\x0a\x20\x0a";
/// Magic number of the first FINF draft as its document spelt it.
pub(crate) const DRAFT_MAGIC_DOCUMENTED: [u8; 8] = *b"\x89BFF\x0d\x0a\x1a\x0a";

/// The version that each block of the draft of March 2014 held.
pub(super) const DRAFT_BLOCK_VERSION: [u8; 3] = [0, 1, 0];

/// A place in the block header: offset after `header_size`, and length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldSlot {
    /// Bytes from the end of `header_size`.
    pub offset: u16,
    /// Length in bytes.
    pub len: u16,
}

impl FieldSlot {
    const fn non_empty(self) -> Option<Self> {
        if self.len == 0 { None } else { Some(self) }
    }
}

/// The fields of a block header and their places. All are big-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockFields {
    /// Sum of the fields: the smallest `header_size` that holds them all.
    pub size: u16,
    /// Version in three bytes: major, minor, micro.
    pub version: Option<FieldSlot>,
    /// Flag bits, 32 bits.
    pub flags: Option<FieldSlot>,
    /// Codec id, four bytes.
    pub compression: Option<FieldSlot>,
    /// Space on disk, 64 bits.
    pub allocated: FieldSlot,
    /// Space in use, 64 bits.
    pub used: FieldSlot,
    /// Size when decoded, 64 bits (`memory_size` in generation E).
    pub data_size: Option<FieldSlot>,
    /// MD5 (16 bytes) or the 8 bytes that were always 0.
    pub checksum: FieldSlot,
    /// The 16 bytes `encoding` that held codes on one branch and zeros elsewhere.
    pub encoding: Option<FieldSlot>,
}

/// The appearance of the YAML of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeDialect {
    /// The prefix for `!` that `%TAG` declares.
    pub prefix: &'static str,
    /// Tag of the root, after the prefix.
    pub root: &'static str,
    /// Tag of an array, after the prefix.
    pub ndarray: &'static str,
    /// The key that names the datatype.
    pub datatype_key: &'static str,
    /// `true` if a big byteorder is left out.
    pub default_big: bool,
}

/// A row of the table of generations.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Generation {
    /// Name of the generation in `info --json` and messages.
    pub name: &'static str,
    /// The name of a file of this token that has no blocks to tell the rows apart.
    pub plain_name: &'static str,
    /// `finf` or `asdf`.
    pub family: &'static str,
    /// First word of the header line.
    pub token: &'static str,
    /// Versions of the header line: exactly 0.1, or any 1.x.
    pub major_version: u32,
    /// Mark written before each block.
    pub magic: &'static [u8],
    /// Magic number in the documents of that time.
    pub magic_documented: &'static [u8],
    /// Fields of the block header.
    pub fields: BlockFields,
    /// The minimum that the document stated, right or not (reported, never enforced).
    pub documented_min_header_size: u16,
    /// `true` if `flags` may hold ENCODED (0x2).
    pub encoded: bool,
    /// `true` if a block index may be at the end.
    pub index: bool,
    /// The form of the tree.
    pub tree: TreeDialect,
    /// When code wrote it, for people.
    pub written: &'static str,
}

/// The fields follow each other in the order of [`BlockFields`]. These are their widths, 0 for one that is not there.
const fn block_fields_from_widths(widths: [u16; 8]) -> BlockFields {
    let mut slots = [FieldSlot { offset: 0, len: 0 }; 8];
    let (mut n, mut size) = (0, 0);
    while n < slots.len() {
        slots[n] = FieldSlot { offset: size, len: widths[n] };
        size += widths[n];
        n += 1;
    }
    let [version, flags, compression, allocated, used, data_size, checksum, encoding] = slots;
    BlockFields {
        size,
        version: version.non_empty(),
        flags: flags.non_empty(),
        compression: compression.non_empty(),
        allocated,
        used,
        data_size: data_size.non_empty(),
        checksum,
        encoding: encoding.non_empty(),
    }
}

const FIELDS_HS43: BlockFields = block_fields_from_widths([3, 0, 0, 8, 8, 0, 8, 16]);
const FIELDS_HS40_FINF: BlockFields = block_fields_from_widths([0, 0, 0, 8, 8, 0, 8, 16]);
const FIELDS_HS44: BlockFields = block_fields_from_widths([0, 4, 0, 8, 8, 0, 8, 16]);
const FIELDS_HS36: BlockFields = block_fields_from_widths([0, 4, 0, 8, 8, 8, 8, 0]);
const FIELDS_HS40_ASDF: BlockFields = block_fields_from_widths([0, 4, 4, 8, 8, 8, 8, 0]);
const FIELDS_HS48: BlockFields = block_fields_from_widths([0, 4, 4, 8, 8, 8, 16, 0]);

const FINF_FLAT: TreeDialect = TreeDialect {
    prefix: "tag:stsci.edu:finf/0.1.0/",
    root: "finf",
    ndarray: "ndarray",
    datatype_key: "dtype",
    default_big: true,
};
const FINF: TreeDialect = TreeDialect { root: "core/finf", ndarray: "core/ndarray", ..FINF_FLAT };
const ASDF_DEV: TreeDialect = TreeDialect { prefix: "tag:stsci.edu:asdf/0.1.0/", root: "core/asdf", default_big: false, ..FINF };
const ASDF_010: TreeDialect = TreeDialect { datatype_key: "datatype", ..ASDF_DEV };
const ASDF_1: TreeDialect = TreeDialect {
    prefix: "tag:stsci.edu:asdf/",
    root: "core/asdf-1.1.0",
    ndarray: "core/ndarray-1.1.0",
    datatype_key: "datatype",
    default_big: false,
};

const MAGIC_89_DOCUMENTED: (&[u8], &[u8]) = (&BLOCK_MAGIC, &BLOCK_MAGIC_DOCUMENTED);
/// The documents from 2015-01-15 on say what code wrote.
const MAGIC_D3_DOCUMENTED: (&[u8], &[u8]) = (&BLOCK_MAGIC, &BLOCK_MAGIC);

macro_rules! row {
    ($name:literal, $plain:literal, $family:literal, $token:literal $major:literal, $magic:expr, $fields:expr, min $min:literal,
     encoded $encoded:literal, index $index:literal, $tree:expr, $written:literal) => {
        Generation {
            name: $name,
            plain_name: $plain,
            family: $family,
            token: $token,
            major_version: $major,
            magic: $magic.0,
            magic_documented: $magic.1,
            fields: $fields,
            documented_min_header_size: $min,
            encoded: $encoded,
            index: $index,
            tree: $tree,
            written: $written,
        }
    };
}

/// Every generation that ever was, oldest first.
#[rustfmt::skip]
pub static GENERATIONS: &[Generation] = &[
    row!("finf-0.1-hs43", "finf-0.1", "finf", "%FINF" 0, (&DRAFT_MAGIC, &DRAFT_MAGIC_DOCUMENTED), FIELDS_HS43, min 29, encoded false, index false, FINF_FLAT, "2014-03-28 to 2014-04-28"),
    row!("finf-0.1-hs40", "finf-0.1", "finf", "%FINF" 0, MAGIC_89_DOCUMENTED, FIELDS_HS40_FINF, min 29, encoded false, index false, FINF_FLAT, "2014-04-28 to 2014-05-12"),
    row!("finf-0.1-hs44", "finf-0.1", "finf", "%FINF" 0, MAGIC_89_DOCUMENTED, FIELDS_HS44, min 40, encoded false, index false, FINF, "2014-05-12 to 2014-07-29"),
    row!("asdf-0.1-dev", "asdf-0.1-dev", "asdf", "%ASDF" 0, MAGIC_89_DOCUMENTED, FIELDS_HS44, min 40, encoded false, index false, ASDF_DEV, "2014-07-29 to 2014-10-16"),
    row!("asdf-0.1-hs44", "asdf-0.1", "asdf", "#ASDF" 0, MAGIC_89_DOCUMENTED, FIELDS_HS44, min 40, encoded false, index false, ASDF_DEV, "2014-10-16 to 2015-03-06"),
    row!("asdf-0.1-hs36", "asdf-0.1", "asdf", "#ASDF" 0, MAGIC_D3_DOCUMENTED, FIELDS_HS36, min 36, encoded true, index false, ASDF_010, "2015-01-06 to 2015-01-12, a branch"),
    row!("asdf-0.1-hs40", "asdf-0.1", "asdf", "#ASDF" 0, MAGIC_D3_DOCUMENTED, FIELDS_HS40_ASDF, min 40, encoded false, index false, ASDF_010, "2015-03-10 to 2015-03-19"),
    row!("asdf-0.1-hs48", "asdf-0.1", "asdf", "#ASDF" 0, MAGIC_D3_DOCUMENTED, FIELDS_HS48, min 48, encoded false, index true, ASDF_010, "2015-03-19 to 2015-09-17"),
    row!("asdf-1.x", "asdf-1.x", "asdf", "#ASDF" 1, MAGIC_D3_DOCUMENTED, FIELDS_HS48, min 48, encoded false, index true, ASDF_1, "2015-09-18 to this day"),
];

/// A name for `--to`: a generation to write, and the version of the standard if there are several.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// `finf-0.1`, `asdf-0.1-dev`, `asdf-0.1`, `asdf-1.0` … `asdf-1.6`.
    pub name: &'static str,
    /// Name of the row whose block header is written.
    pub generation: &'static str,
    /// Name of the row that the document of this name describes, right or not.
    pub documented: &'static str,
    /// The header line.
    pub header: &'static str,
    /// The value of `#ASDF_STANDARD`.
    pub standard: Option<&'static str>,
    /// Tags and keys of the tree.
    pub tree: TreeDialect,
    /// `true` if `history` is a mapping {entries, extensions} (from 1.2) instead of a list.
    pub history_is_mapping: bool,
    /// `true` if the datatype float16 exists (from 1.6).
    pub float16: bool,
}

const fn asdf_1(root: &'static str, ndarray: &'static str) -> TreeDialect {
    TreeDialect { root, ndarray, ..ASDF_1 }
}

macro_rules! target {
    ($name:literal, $row:literal, $header:literal, $standard:expr, $tree:expr, $map:literal, $float16:literal) => {
        target!($name, $row as $row, $header, $standard, $tree, $map, $float16)
    };
    ($name:literal, $row:literal as $documented:literal, $header:literal, $standard:expr, $tree:expr, $map:literal, $float16:literal) => {
        Target {
            name: $name,
            generation: $row,
            documented: $documented,
            header: $header,
            standard: $standard,
            tree: $tree,
            history_is_mapping: $map,
            float16: $float16,
        }
    };
}

/// Every form that can be written, oldest first.
#[rustfmt::skip]
pub static TARGETS: &[Target] = &[
    target!("finf-0.1", "finf-0.1-hs44" as "finf-0.1-hs40", "%FINF 0.1.0", None, FINF, false, false),
    target!("asdf-0.1-dev", "asdf-0.1-dev", "%ASDF 0.1.0", None, ASDF_DEV, false, false),
    target!("asdf-0.1", "asdf-0.1-hs36", "#ASDF 0.1.0", None, ASDF_010, false, false),
    target!("asdf-1.0", "asdf-1.x", "#ASDF 1.0.0", Some("1.0.0"), asdf_1("core/asdf-1.0.0", "core/ndarray-1.0.0"), false, false),
    target!("asdf-1.1", "asdf-1.x", "#ASDF 1.0.0", Some("1.1.0"), asdf_1("core/asdf-1.0.0", "core/ndarray-1.0.0"), false, false),
    target!("asdf-1.2", "asdf-1.x", "#ASDF 1.0.0", Some("1.2.0"), asdf_1("core/asdf-1.1.0", "core/ndarray-1.0.0"), true, false),
    target!("asdf-1.3", "asdf-1.x", "#ASDF 1.0.0", Some("1.3.0"), asdf_1("core/asdf-1.1.0", "core/ndarray-1.0.0"), true, false),
    target!("asdf-1.4", "asdf-1.x", "#ASDF 1.0.0", Some("1.4.0"), asdf_1("core/asdf-1.1.0", "core/ndarray-1.0.0"), true, false),
    target!("asdf-1.5", "asdf-1.x", "#ASDF 1.0.0", Some("1.5.0"), asdf_1("core/asdf-1.1.0", "core/ndarray-1.0.0"), true, false),
    target!("asdf-1.6", "asdf-1.x", "#ASDF 1.0.0", Some("1.6.0"), asdf_1("core/asdf-1.1.0", "core/ndarray-1.1.0"), true, true),
];

impl Target {
    /// The target of this name.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with the names that exist.
    pub fn from_name(name: &str) -> Result<&'static Self> {
        TARGETS
            .iter()
            .find(|target| target.name == name)
            .ok_or_else(|| Error::unknown("generation", name, TARGETS.iter().map(|target| target.name)))
    }

    /// Returns the newest target, which is the default.
    pub fn latest() -> &'static Self {
        &TARGETS[TARGETS.len() - 1]
    }

    /// The row of the generation table whose block headers it has.
    pub fn generation(&self) -> &'static Generation {
        GENERATIONS.iter().find(|g| g.name == self.generation).unwrap_or(&GENERATIONS[GENERATIONS.len() - 1])
    }

    /// Returns the row of [`Target::generation`], or the one that the standard of that name describes.
    ///
    /// ```
    /// use trilith::asdf::Target;
    /// let finf = Target::from_name("finf-0.1")?;
    /// assert_eq!((finf.generation_as(false).fields.size, finf.generation_as(true).fields.size), (44, 40));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn generation_as(&self, documented: bool) -> &'static Generation {
        let name = if documented { self.documented } else { self.generation };
        GENERATIONS.iter().find(|g| g.name == name).unwrap_or_else(|| self.generation())
    }

    /// The comment lines after the header line.
    pub fn comments(&self) -> Vec<String> {
        self.standard.map(|version| format!("#ASDF_STANDARD {version}")).into_iter().collect()
    }
}

/// A tag that the standards of several eras define, by its name without prefix and version.
///
/// A tag that is not listed keeps its full form in every generation. The tags of root and ndarray are in
/// [`TreeDialect`].
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct TagName {
    /// Module and name: `core/complex`.
    pub name: &'static str,
    /// Name of the tag in the flat FINF dialect, if it had one.
    pub flat: Option<&'static str>,
    /// `true` if the standards before 1.0 define it, without a version.
    pub early_versions: bool,
    /// Versions of the tag, each with the standard 1.x that introduced it (the `core` and `astronomy` manifests).
    pub versions: &'static [(&'static str, &'static str)],
    /// `true` if a file moved from one 1.x to another changes it too, because it holds an ndarray of that standard.
    pub follows_ndarray: bool,
}

/// The tags that are translated, besides root and ndarray.
#[rustfmt::skip]
pub(crate) static TAGS: &[TagName] = &[
    TagName { name: "core/complex", flat: Some("complex"), early_versions: true, versions: &[("1.0.0", "1.0.0")], follows_ndarray: false },
    TagName { name: "fits/fits", flat: Some("fits"), early_versions: true, versions: &[("1.0.0", "1.0.0"), ("1.6.0", "1.1.0")], follows_ndarray: false },
    TagName { name: "unit/unit", flat: Some("unit"), early_versions: true, versions: &[("1.0.0", "1.0.0")], follows_ndarray: false },
    TagName { name: "unit/defunit", flat: Some("defunit"), early_versions: true, versions: &[("1.0.0", "1.0.0")], follows_ndarray: false },
    TagName { name: "core/constant", flat: None, early_versions: false, versions: &[("1.0.0", "1.0.0")], follows_ndarray: false },
    TagName { name: "core/software", flat: None, early_versions: false, versions: &[("1.0.0", "1.0.0")], follows_ndarray: false },
    TagName { name: "core/history_entry", flat: None, early_versions: false, versions: &[("1.0.0", "1.0.0")], follows_ndarray: false },
    TagName { name: "core/integer", flat: None, early_versions: false, versions: &[("1.3.0", "1.0.0"), ("1.6.0", "1.1.0")], follows_ndarray: true },
];

/// The tags that the standards 1.x from `first` to `last` have for one kind of node. The first of them is written.
struct StandardTags {
    first: &'static str,
    last: &'static str,
    tags: &'static [&'static str],
}

const fn standard_tags(first: &'static str, last: &'static str, tags: &'static [&'static str]) -> StandardTags {
    StandardTags { first, last, tags }
}

/// Kinds of nodes whose tags differ between the standards 1.x: the manifests core-1.0.0 to core-1.6.0, and for 1.6 also
/// astronomy-1.0.0 to astronomy-1.2.0. A kind has no tag in the standards that its row leaves out.
#[rustfmt::skip]
static TAG_SERIES: &[&[StandardTags]] = &[
    &[standard_tags("1.0.0", "1.5.0", &["core/table-1.0.0"]), standard_tags("1.6.0", "1.6.0", &["table/table-1.1.0", "table/table-1.2.0"])],
    &[standard_tags("1.0.0", "1.5.0", &["core/column-1.0.0"]), standard_tags("1.6.0", "1.6.0", &["table/column-1.1.0", "table/column-1.2.0"])],
    &[standard_tags("1.0.0", "1.5.0", &["fits/fits-1.0.0"]), standard_tags("1.6.0", "1.6.0", &["fits/fits-1.1.0", "fits/fits-1.2.0"])],
    &[standard_tags("1.0.0", "1.0.0", &["time/time-1.0.0"]), standard_tags("1.1.0", "1.5.0", &["time/time-1.1.0"]), standard_tags("1.6.0", "1.6.0", &["time/time-1.2.0", "time/time-1.3.0", "time/time-1.4.0"])],
    &[standard_tags("1.1.0", "1.5.0", &["unit/quantity-1.1.0"]), standard_tags("1.6.0", "1.6.0", &["unit/quantity-1.2.0", "unit/quantity-1.3.0"])],
    &[standard_tags("1.3.0", "1.5.0", &["core/integer-1.0.0"]), standard_tags("1.6.0", "1.6.0", &["core/integer-1.1.0"])],
    &[standard_tags("1.3.0", "1.6.0", &["core/externalarray-1.0.0"])],
];

/// Returns the series that a tag of a standard 1.x belongs to.
fn series_of(tag: &str) -> Option<&'static [StandardTags]> {
    let name = tag.strip_prefix(ASDF_1.prefix)?;
    TAG_SERIES.iter().copied().find(|series| series.iter().any(|row| row.tags.contains(&name)))
}

/// Prefixes of the names of the standard's tags, longest first. Each belongs to an era.
const TAG_PREFIXES: [&str; 3] = [FINF.prefix, ASDF_DEV.prefix, ASDF_1.prefix];

/// A tag of the standard taken apart: its name as in the newest dialect, and its version ("" before 2015-08).
pub(crate) fn tag_parts(tag: &str) -> Option<(&str, &str)> {
    let name = TAG_PREFIXES.iter().find_map(|prefix| tag.strip_prefix(prefix))?;
    let (name, version) = match name.rsplit_once('-') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => (name, version),
        _ => (name, ""),
    };
    let name = match name {
        "finf" | "core/finf" | "asdf" => "core/asdf",
        "ndarray" => "core/ndarray",
        flat => TAGS.iter().find(|tag| tag.flat == Some(flat)).map_or(flat, |tag| tag.name),
    };
    Some((name, version))
}

impl Target {
    /// The whole tag of a complex number.
    ///
    /// ```
    /// use trilith::asdf::Target;
    /// assert_eq!(Target::from_name("finf-0.1")?.complex_tag(), "tag:stsci.edu:finf/0.1.0/core/complex");
    /// assert_eq!(Target::latest().complex_tag(), "tag:stsci.edu:asdf/core/complex-1.0.0");
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn complex_tag(&self) -> String {
        let tag = format!("{}core/complex", ASDF_DEV.prefix);
        self.tag_for(&tag).unwrap_or(tag)
    }

    /// Returns `true` if the standard 1.x of this form has no tag for nodes of a tag of another standard 1.x.
    pub(crate) fn lacks_tag(&self, tag: &str) -> bool {
        let (Some(standard), Some(series)) = (self.standard, series_of(tag)) else { return false };
        !series.iter().any(|row| row.first <= standard && standard <= row.last)
    }

    /// Returns `true` if schemas decide whether a node of this tag may be in a file of another standard 1.x.
    pub(crate) fn is_standard_dependent(tag: &str) -> bool {
        series_of(tag).is_some()
    }

    /// The whole tag that this form has for a tag of another; None if it stays unchanged.
    ///
    /// Between two standards 1.x root and ndarray change, and the tags of tables, times, quantities, `fits` and core/integer.
    pub fn tag_for(&self, tag: &str) -> Option<String> {
        let (name, version) = tag_parts(tag)?;
        let own = |name: &str| Some(format!("{}{name}", self.tree.prefix)).filter(|new| new != tag);
        match name {
            "core/asdf" => return own(self.tree.root),
            "core/ndarray" => return own(self.tree.ndarray),
            _ => {}
        }
        if let (Some(standard), Some(series)) = (self.standard, series_of(tag)) {
            let row = series.iter().find(|row| row.first <= standard && standard <= row.last)?;
            let is_of_standard = row.tags.iter().any(|name| tag.strip_prefix(self.tree.prefix) == Some(*name));
            return row.tags.first().filter(|_| !is_of_standard).and_then(|name| own(name));
        }
        let row = TAGS.iter().find(|row| row.name == name)?;
        let newest = |standard| row.versions.iter().rev().find(|(from, _)| *from <= standard).map(|(_, version)| *version);
        match self.standard {
            Some(_) if version.starts_with('1') && !row.follows_ndarray => None,
            Some(standard) => newest(standard).and_then(|version| own(&format!("{name}-{version}"))),
            // A newer version than the first has no name here, and keeps its whole tag.
            None if row.early_versions && matches!(version, "" | "0.1.0" | "1.0.0") => own(name),
            None => None,
        }
    }
}

/// The name of the branch of `asdf-0.1-hs44` that put codes into `encoding`; only the contents tell it apart.
pub(crate) const CODES_NAME: &str = "asdf-0.1-hs44-codes";

/// The rows that a header line may belong to.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a token that is none of the family's,
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a version that does not exist yet.
pub(crate) fn find_candidate_generations(token: &str, version: (u32, u32, u32)) -> Result<Vec<&'static Generation>> {
    let of_token: Vec<_> = GENERATIONS.iter().filter(|g| g.token == token).collect();
    if of_token.is_empty() {
        return Err(Error::malformed(format!("unknown header token {token:?}, expected %FINF, %ASDF or #ASDF")).at_byte(0));
    }
    let found: Vec<_> = of_token.into_iter().filter(|g| g.major_version == version.0).collect();
    if found.is_empty() {
        let (major, minor, micro) = version;
        return Err(Error::unsupported(format!("{token} file format {major}.{minor}.{micro}, newer than any known")).at_byte(0));
    }
    Ok(found)
}

/// Returns `true` if a row may have a block whose header has `header_size` after magic bytes of `magic_len` bytes.
pub(super) fn may_have_header_size(row: &Generation, magic_len: usize, header_size: u16) -> bool {
    row.magic.len() == magic_len && row.fields.size <= header_size
}

/// The order in which rows are tried for a block whose header has `header_size` after magic bytes of
/// `magic_len` bytes: the row of exactly this size, then those that it may be an enlarged form of,
/// largest first.
pub(crate) fn by_header_size(rows: &[&'static Generation], magic_len: usize, header_size: u16) -> Vec<&'static Generation> {
    let mut fitting: Vec<_> = rows.iter().copied().filter(|row| may_have_header_size(row, magic_len, header_size)).collect();
    fitting.sort_by_key(|g| std::cmp::Reverse(g.fields.size));
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_fields_are_adjacent_and_fill_size() {
        for row in GENERATIONS {
            let f = &row.fields;
            let mut slots: Vec<FieldSlot> =
                [f.version, f.flags, f.compression, Some(f.allocated), Some(f.used), f.data_size, Some(f.checksum), f.encoding]
                    .into_iter()
                    .flatten()
                    .collect();
            slots.sort_by_key(|s| s.offset);
            let mut end = 0;
            for slot in slots {
                assert_eq!(slot.offset, end, "{}", row.name);
                end += slot.len;
            }
            assert_eq!(end, f.size, "{}", row.name);
        }
    }

    #[test]
    fn tags_split_into_name_and_version() {
        assert_eq!(tag_parts("tag:stsci.edu:finf/0.1.0/ndarray"), Some(("core/ndarray", "")));
        assert_eq!(tag_parts("tag:stsci.edu:asdf/core/asdf-1.1.0"), Some(("core/asdf", "1.1.0")));
        assert_eq!(tag_parts("tag:example.org:a/b-1.0.0"), None);
    }

    #[test]
    fn tags_are_renamed_by_name_and_era() {
        fn tag(target: &str, tag: &str) -> Option<String> {
            Target::from_name(target).unwrap().tag_for(tag)
        }
        let old = "tag:stsci.edu:asdf/0.1.0/";
        assert_eq!(tag("asdf-1.6", "tag:stsci.edu:finf/0.1.0/core/finf").as_deref(), Some("tag:stsci.edu:asdf/core/asdf-1.1.0"));
        assert_eq!(tag("asdf-1.0", &format!("{old}core/ndarray")).as_deref(), Some("tag:stsci.edu:asdf/core/ndarray-1.0.0"));
        assert_eq!(tag("asdf-0.1", "tag:stsci.edu:asdf/unit/unit-1.0.0").as_deref(), Some("tag:stsci.edu:asdf/0.1.0/unit/unit"));
        assert_eq!(tag("finf-0.1", "tag:stsci.edu:finf/0.1.0/unit").as_deref(), Some("tag:stsci.edu:finf/0.1.0/unit/unit"));
        assert_eq!(tag("asdf-1.6", "tag:stsci.edu:asdf/fits/fits-1.0.0").as_deref(), Some("tag:stsci.edu:asdf/fits/fits-1.1.0"));
        assert_eq!(tag("asdf-1.6", "tag:stsci.edu:asdf/fits/fits-1.2.0"), None);
        assert_eq!(
            tag("asdf-1.5", "tag:stsci.edu:asdf/table/table-1.2.0").as_deref(),
            Some("tag:stsci.edu:asdf/core/table-1.0.0")
        );
        assert_eq!(tag("asdf-1.0", "tag:stsci.edu:asdf/time/time-1.4.0").as_deref(), Some("tag:stsci.edu:asdf/time/time-1.0.0"));
        assert_eq!(tag("asdf-1.0", "tag:stsci.edu:asdf/unit/quantity-1.3.0"), None);
        assert!(Target::from_name("asdf-1.0").unwrap().lacks_tag("tag:stsci.edu:asdf/unit/quantity-1.3.0"));
        assert_eq!(tag("finf-0.1", "tag:stsci.edu:asdf/fits/fits-1.1.0"), None);
        assert_eq!(tag("asdf-1.6", &format!("{old}fits/fits")).as_deref(), Some("tag:stsci.edu:asdf/fits/fits-1.1.0"));
        assert_eq!(tag("finf-0.1", "tag:stsci.edu:asdf/core/software-1.0.0"), None);
        assert_eq!(
            tag("asdf-1.5", "tag:stsci.edu:asdf/core/integer-1.1.0").as_deref(),
            Some("tag:stsci.edu:asdf/core/integer-1.0.0")
        );
        assert_eq!(tag("asdf-1.6", "asdf://example.org/tags/x-1.0.0"), None);
    }

    /// The table of series against the manifests of the standard. First tier.
    #[cfg(feature = "schema")]
    #[test]
    fn tag_series_agree_with_manifests() {
        use crate::schema::{SchemaSet, TagSchemas};
        let schemas = SchemaSet::bundled();
        for target in TARGETS.iter().filter(|target| target.standard.is_some()) {
            for tag in TAG_SERIES.iter().flat_map(|series| series.iter()).flat_map(|row| row.tags) {
                let tag = format!("{}{tag}", ASDF_1.prefix);
                let is_known = matches!(schemas.of_tag(&tag, target.standard), TagSchemas::Schemas(_));
                let new = target.tag_for(&tag);
                assert_eq!(new.is_none() && !target.lacks_tag(&tag), is_known, "{} {tag}", target.name);
                assert!(new.is_none_or(|new| matches!(schemas.of_tag(&new, target.standard), TagSchemas::Schemas(_))), "{tag}");
            }
        }
    }

    #[test]
    fn targets_name_existing_rows() {
        for target in TARGETS {
            assert_eq!(target.generation().name, target.generation);
        }
        assert_eq!(Target::latest().name, "asdf-1.6");
    }

    #[test]
    fn header_size_selects_row() {
        let name = |token, version, magic, hs| {
            let rows = find_candidate_generations(token, version).unwrap();
            by_header_size(&rows, magic, hs).first().map(|g| g.name)
        };
        assert_eq!(name("%FINF", (0, 1, 0), 8, 43), Some("finf-0.1-hs43"));
        assert_eq!(name("%FINF", (0, 1, 0), 4, 40), Some("finf-0.1-hs40"));
        assert_eq!(name("%FINF", (0, 1, 0), 4, 44), Some("finf-0.1-hs44"));
        assert_eq!(name("%ASDF", (0, 1, 0), 4, 44), Some("asdf-0.1-dev"));
        assert_eq!(name("#ASDF", (0, 1, 0), 4, 36), Some("asdf-0.1-hs36"));
        assert_eq!(name("#ASDF", (0, 1, 0), 4, 40), Some("asdf-0.1-hs40"));
        assert_eq!(name("#ASDF", (0, 1, 0), 4, 44), Some("asdf-0.1-hs44"));
        assert_eq!(name("#ASDF", (0, 1, 0), 4, 48), Some("asdf-0.1-hs48"));
        assert_eq!(name("#ASDF", (1, 0, 0), 4, 48), Some("asdf-1.x"));
        assert_eq!(name("#ASDF", (1, 0, 0), 4, 44), None);
        assert!(find_candidate_generations("#ASDF", (2, 0, 0)).is_err());
    }
}
