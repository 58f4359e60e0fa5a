//! ASDF 1.x: the file layout of format version 1, and the chapter on the tree of standard 1.6.

use super::rule::{Check, ConformanceRule, new_rule};
use super::{AsdfRules, RuleSubject, StandardDocument};

const REMEDY_CONVERT: &str = "convert it with trilith convert --to asdf-1.6";
const REMEDY_HEADER_LINE: &str = "write the header line as \"#ASDF 1.0.0\"";
const REMEDY_EDIT_TREE: &str = "edit the text of the tree";
const REMEDY_REPAIR: &str = "the bytes are damaged: recover the rest with trilith repair";
const REMEDY_INDEX: &str = "rewrite the index with trilith repack";
/// Remedy for bytes around the index that belong to nothing: only repair drops them.
const REMEDY_STRAY_BYTES: &str = "rewrite the index with trilith repair";
const REMEDY_REFERENCE: &str = "correct the reference";

/// ASDF 1.x.
pub(super) static DOCUMENT: StandardDocument = StandardDocument {
    name: "asdf-1.x",
    title: "ASDF 1.x, file layout and tree",
    rules: RULES,
    law: RuleSubject::Asdf(AsdfRules {
        token: "#ASDF",
        major: 1,
        block_magic: &crate::asdf::generation::BLOCK_MAGIC,
        generation: "asdf-1.x",
        comments: true,
        index: true,
        prefix: "tag:stsci.edu:asdf/",
        strict_pointers: true,
    }),
};

#[rustfmt::skip]
static RULES: &[ConformanceRule] = &[
    new_rule("Low-level file layout", 1, Check::VersionParts, "the parts are header, comments, tree, blocks and block index, in this order, and nothing else", REMEDY_CONVERT),
    new_rule("Low-level file layout", 8, Check::HeaderText, "header and comments are UTF-8 text", "rewrite their text in UTF-8"),
    new_rule("Header", 1, Check::HeaderLineFirst, "the file begins with the header line", "begin it with \"#ASDF 1.0.0\""),
    new_rule("Header", 4, Check::Token, "the first word is #ASDF", REMEDY_CONVERT),
    new_rule("Header", 7, Check::Major, "the version is that of the file format, 1.x", REMEDY_CONVERT),
    new_rule("Header", 9, Check::Version, "the version follows Semantic Versioning", REMEDY_HEADER_LINE),
    new_rule("Header", 11, Check::BlankAfterToken, "exactly one space separates token and version", REMEDY_HEADER_LINE),
    new_rule("Header", 11, Check::LineEnd, "the header line ends with \\n or \\r\\n", REMEDY_HEADER_LINE),
    new_rule("Comments", 4, Check::Comments, "each line between header and tree begins with #", "begin it with #, or remove it"),
    new_rule("Tree", 1, Check::Yaml, "the tree is YAML", REMEDY_EDIT_TREE),
    new_rule("Tree", 6, Check::Utf8, "the tree is UTF-8 without a byte order mark", "rewrite its text in UTF-8"),
    new_rule("Tree", 7, Check::Newlines, "lines of the tree end with \\n or \\r\\n", "end the lines with \\n"),
    new_rule("Tree", 8, Check::YamlVersion, "the tree is YAML 1.1", "begin the tree with \"%YAML 1.1\""),
    new_rule("Tree", 11, Check::YamlLine, "the tree begins with the line %YAML 1.1", "begin the tree with \"%YAML 1.1\""),
    new_rule("Tree", 12, Check::OneDocument, "the tree is one YAML document from --- to ...", REMEDY_EDIT_TREE),
    new_rule("Tree", 16, Check::DocumentEndMarker, "the end marker ... is alone on its line", "remove the rest of its line"),
    new_rule("Tree", 20, Check::Padding, "the space after the tree does not contain the magic bytes of a block", REMEDY_CONVERT),
    new_rule("Blocks", 3, Check::ReadableArrays, "an ndarray describes its block completely", "correct the ndarray, or the block that it names"),
    new_rule("Blocks", 8, Check::MissingTree, "without a tree the first block follows header and comments at once", REMEDY_CONVERT),
    new_rule("Block header", 5, Check::BlockMagic, "the magic bytes of a block are d3 42 4c 4b", REMEDY_CONVERT),
    new_rule("Block header", 7, Check::HeaderSize, "header_size is the number of header bytes after it", REMEDY_REPAIR),
    new_rule("Block header", 10, Check::MinHeaderSize, "header_size is at least 48", REMEDY_REPAIR),
    new_rule("Block header", 15, Check::AllocatedSize, "allocated_size is the space that the block takes in the file", REMEDY_REPAIR),
    new_rule("Block header", 18, Check::PlainSize, "data_size equals used_size if the data are not compressed", REMEDY_REPAIR),
    new_rule("Block header", 19, Check::DecodedSize, "data_size is the size of the decoded data", REMEDY_REPAIR),
    new_rule("Block header", 20, Check::Checksum, "the checksum is the MD5 of the used bytes", "compare the data with the original, because the bytes or the checksum are damaged"),
    new_rule("Flags", 1, Check::Flags, "no flags are set but STREAMED", "clear the bits of flags that the specification does not define"),
    new_rule("Compression", 1, Check::KnownCodecs, "the compression is zlib or bzp2, or none", "convert it with trilith convert --codec zlib"),
    new_rule("Compression", 2, Check::Zlib, "data compressed with zlib are a zlib stream", REMEDY_REPAIR),
    new_rule("Compression", 4, Check::Bzip2, "data compressed with bzp2 are a bzip2 stream", REMEDY_REPAIR),
    new_rule("Block content", 1, Check::UsedSize, "a block uses at most its allocated bytes", REMEDY_REPAIR),
    new_rule("Block index", 6, Check::IndexAtEnd, "the block index follows the allocated space of the last block at once", REMEDY_INDEX),
    new_rule("Block index", 7, Check::IndexStreamed, "a file whose last block is streamed has no block index", REMEDY_INDEX),
    new_rule("Block index", 8, Check::IndexAlone, "a file without blocks has no block index", REMEDY_INDEX),
    new_rule("Block index", 10, Check::IndexHeader, "the header of the block index is exactly #ASDF BLOCK INDEX", REMEDY_STRAY_BYTES),
    new_rule("Block index", 11, Check::IndexLineEnd, "the header of the block index ends with \\n or \\r\\n", REMEDY_INDEX),
    new_rule("Block index", 12, Check::IndexYaml, "the block index is a YAML 1.1 document with a list of integers", REMEDY_INDEX),
    new_rule("Block index", 12, Check::IndexOffsets, "the block index lists the first byte of each block", REMEDY_INDEX),
    new_rule("Block index", 14, Check::IndexOrder, "the offsets increase by a block header at least", REMEDY_INDEX),
    new_rule("Block index", 16, Check::IndexEnd, "only zeros follow the block index", REMEDY_STRAY_BYTES),
    new_rule("Restricted mapping keys", 6, Check::UniqueKeys, "keys of mappings are strings, integers or booleans", REMEDY_EDIT_TREE),
    new_rule("Tags", 4, Check::Root, "the tag of the root is that of core/asdf 1.x", "tag the root !core/asdf-1.1.0"),
    new_rule("References", 3, Check::ReferenceAlone, "a reference is a mapping whose one key is $ref", REMEDY_REFERENCE),
    new_rule("References", 4, Check::ReferenceText, "the value of $ref is a URI", REMEDY_REFERENCE),
    new_rule("References", 5, Check::ReferencePointer, "the fragment is a JSON Pointer", REMEDY_REFERENCE),
    new_rule("References", 6, Check::ReferenceTarget, "each step of the fragment is a key of a mapping or an index of a list", REMEDY_REFERENCE),
    new_rule("References", 9, Check::ReferenceEscape, "in a fragment ~ is written ~0, and / in a key ~1", REMEDY_REFERENCE),
    new_rule("Numeric literals", 1, Check::Integers, "integers in the tree fit in 64 bits with sign", "use core/integer"),
];
