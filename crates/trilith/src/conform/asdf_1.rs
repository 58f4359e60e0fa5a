//! ASDF 1.x: the file layout of format version 1, and the chapter on the tree of standard 1.6.

use super::rule::{Check, Rule, rule};
use super::{AsdfLaw, Document, Law};

const ANEW: &str = "convert it with trilith convert --to asdf-1.6";
const LINE: &str = "write the header line as \"#ASDF 1.0.0\"";
const TEXT: &str = "edit the text of the tree";
const WRITER: &str = "the bytes are damaged: recover the rest with trilith repair";
const INDEX: &str = "rewrite the index with trilith repack";
/// Remedy for bytes around the index that belong to nothing: only repair drops them.
const AROUND_INDEX: &str = "rewrite the index with trilith repair";
const REFERENCE: &str = "correct the reference";

/// ASDF 1.x.
pub(super) static DOCUMENT: Document = Document {
    name: "asdf-1.x",
    title: "ASDF 1.x, file layout and tree",
    rules: RULES,
    law: Law::Asdf(AsdfLaw {
        token: "#ASDF",
        major: 1,
        mark: &crate::asdf::generation::BLOCK_MAGIC,
        row: "asdf-1.x",
        comments: true,
        index: true,
        prefix: "tag:stsci.edu:asdf/",
        strict_pointers: true,
    }),
};

#[rustfmt::skip]
static RULES: &[Rule] = &[
    rule("Low-level file layout", 1, Check::Parts, "the parts are header, comments, tree, blocks and block index, in this order, and nothing else", ANEW),
    rule("Low-level file layout", 8, Check::HeaderText, "header and comments are UTF-8 text", "rewrite their text in UTF-8"),
    rule("Header", 1, Check::First, "the file begins with the header line", "begin it with \"#ASDF 1.0.0\""),
    rule("Header", 4, Check::Token, "the first word is #ASDF", ANEW),
    rule("Header", 7, Check::Major, "the version is that of the file format, 1.x", ANEW),
    rule("Header", 9, Check::Version, "the version follows Semantic Versioning", LINE),
    rule("Header", 11, Check::Blank, "exactly one space separates token and version", LINE),
    rule("Header", 11, Check::LineEnd, "the header line ends with \\n or \\r\\n", LINE),
    rule("Comments", 4, Check::Comments, "each line between header and tree begins with #", "begin it with #, or remove it"),
    rule("Tree", 1, Check::Yaml, "the tree is YAML", TEXT),
    rule("Tree", 6, Check::Utf8, "the tree is UTF-8 without a byte order mark", "rewrite its text in UTF-8"),
    rule("Tree", 7, Check::Newlines, "lines of the tree end with \\n or \\r\\n", "end the lines with \\n"),
    rule("Tree", 8, Check::YamlVersion, "the tree is YAML 1.1", "begin the tree with \"%YAML 1.1\""),
    rule("Tree", 11, Check::YamlLine, "the tree begins with the line %YAML 1.1", "begin the tree with \"%YAML 1.1\""),
    rule("Tree", 12, Check::OneDocument, "the tree is one YAML document from --- to ...", TEXT),
    rule("Tree", 16, Check::EndLine, "the end marker ... is alone on its line", "remove the rest of its line"),
    rule("Tree", 20, Check::Padding, "the space after the tree does not contain the magic bytes of a block", ANEW),
    rule("Blocks", 3, Check::Arrays, "an ndarray describes its block completely", "correct the ndarray, or the block that it names"),
    rule("Blocks", 8, Check::NoTree, "without a tree the first block follows header and comments at once", ANEW),
    rule("Block header", 5, Check::Mark, "the magic bytes of a block are d3 42 4c 4b", ANEW),
    rule("Block header", 7, Check::HeaderSize, "header_size is the number of header bytes after it", WRITER),
    rule("Block header", 10, Check::LeastSize, "header_size is at least 48", WRITER),
    rule("Block header", 15, Check::Allocated, "allocated_size is the space that the block takes in the file", WRITER),
    rule("Block header", 18, Check::PlainSize, "data_size equals used_size if the data are not compressed", WRITER),
    rule("Block header", 19, Check::DecodedSize, "data_size is the size of the decoded data", WRITER),
    rule("Block header", 20, Check::Checksum, "the checksum is the MD5 of the used bytes", "compare the data with the original, because the bytes or the checksum are damaged"),
    rule("Flags", 1, Check::Flags, "no flags are set but STREAMED", "clear the bits of flags that the specification does not define"),
    rule("Compression", 1, Check::Codecs, "the compression is zlib or bzp2, or none", "convert it with trilith convert --codec zlib"),
    rule("Compression", 2, Check::Zlib, "data compressed with zlib are a zlib stream", WRITER),
    rule("Compression", 4, Check::Bzip2, "data compressed with bzp2 are a bzip2 stream", WRITER),
    rule("Block content", 1, Check::Used, "a block uses at most its allocated bytes", WRITER),
    rule("Block index", 6, Check::IndexPlace, "the block index follows the allocated space of the last block at once", INDEX),
    rule("Block index", 7, Check::IndexStreamed, "a file whose last block is streamed has no block index", INDEX),
    rule("Block index", 8, Check::IndexAlone, "a file without blocks has no block index", INDEX),
    rule("Block index", 10, Check::IndexHeader, "the header of the block index is exactly #ASDF BLOCK INDEX", AROUND_INDEX),
    rule("Block index", 11, Check::IndexLineEnd, "the header of the block index ends with \\n or \\r\\n", INDEX),
    rule("Block index", 12, Check::IndexYaml, "the block index is a YAML 1.1 document with a list of integers", INDEX),
    rule("Block index", 12, Check::IndexOffsets, "the block index lists the first byte of each block", INDEX),
    rule("Block index", 14, Check::IndexOrder, "the offsets increase by a block header at least", INDEX),
    rule("Block index", 16, Check::IndexEnd, "only zeros follow the block index", AROUND_INDEX),
    rule("Restricted mapping keys", 6, Check::Keys, "keys of mappings are strings, integers or booleans", TEXT),
    rule("Tags", 4, Check::Root, "the tag of the root is that of core/asdf 1.x", "tag the root !core/asdf-1.1.0"),
    rule("References", 3, Check::ReferenceAlone, "a reference is a mapping whose one key is $ref", REFERENCE),
    rule("References", 4, Check::ReferenceText, "the value of $ref is a URI", REFERENCE),
    rule("References", 5, Check::ReferencePointer, "the fragment is a JSON Pointer", REFERENCE),
    rule("References", 6, Check::ReferenceTarget, "each step of the fragment is a key of a mapping or an index of a list", REFERENCE),
    rule("References", 9, Check::ReferenceEscape, "in a fragment ~ is written ~0, and / in a key ~1", REFERENCE),
    rule("Numeric literals", 1, Check::Integers, "integers in the tree fit in 64 bits with sign", "use core/integer"),
];
