//! ASDF 0.1.0: the file layout of 2015-01-07, with encoding chains.

use super::rule::{Check, ConformanceRule, new_rule};
use super::{AsdfRules, RuleSubject, StandardDocument};

const REMEDY_CONVERT: &str = "convert it with trilith convert --to asdf-0.1";
const REMEDY_HEADER_LINE: &str = "write the header line as \"#ASDF 0.1.0\"";
const REMEDY_EDIT_TREE: &str = "edit the text of the tree";
const REMEDY_REPAIR: &str = "the bytes are damaged: recover the rest with trilith repair";
const REMEDY_REENCODE: &str = "encode the block again from the original data, because its header contradicts its content";
const SECTION_TILES: &str = "Built-in array-to-array encodings";
const SECTION_QUANTIZE: &str = "Built-in array-to-binary encodings";
const SECTION_BINARY: &str = "Built-in binary-to-binary encodings";

/// ASDF 0.1.0.
pub(super) static DOCUMENT: StandardDocument = StandardDocument {
    name: "asdf-0.1",
    title: "ASDF 0.1.0, file layout",
    rules: RULES,
    law: RuleSubject::Asdf(AsdfRules {
        token: "#ASDF",
        major: 0,
        block_magic: &crate::asdf::generation::BLOCK_MAGIC,
        generation: "asdf-0.1-hs36",
        comments: false,
        index: false,
        prefix: "tag:stsci.edu:asdf/0.1.0/",
        strict_pointers: false,
    }),
};

#[rustfmt::skip]
static RULES: &[ConformanceRule] = &[
    new_rule("Low-level file layout", 1, Check::VersionParts, "the parts are header, tree and blocks, in this order, and nothing else", REMEDY_CONVERT),
    new_rule("Low-level file layout", 6, Check::HeaderText, "the header is UTF-8 text", REMEDY_HEADER_LINE),
    new_rule("Header", 1, Check::HeaderLineFirst, "the file begins with the header line", "begin it with \"#ASDF 0.1.0\""),
    new_rule("Header", 3, Check::BlankAfterToken, "exactly one space comes before the version", REMEDY_HEADER_LINE),
    new_rule("Header", 3, Check::LineEnd, "the header line ends with \\n or \\r\\n", REMEDY_HEADER_LINE),
    new_rule("Header", 4, Check::Token, "the first word is #ASDF", REMEDY_CONVERT),
    new_rule("Header", 7, Check::Major, "the major version is an integer, and 0 in this specification", REMEDY_CONVERT),
    new_rule("Header", 8, Check::Minor, "the minor version is an integer, and 1 in this specification", REMEDY_CONVERT),
    new_rule("Header", 9, Check::Micro, "the micro version is an integer", REMEDY_HEADER_LINE),
    new_rule("Tree", 1, Check::Yaml, "the tree is YAML", REMEDY_EDIT_TREE),
    new_rule("Tree", 6, Check::Utf8, "the tree is UTF-8 without a byte order mark", "rewrite its text in UTF-8"),
    new_rule("Tree", 7, Check::Newlines, "lines of the tree end with \\n or \\r\\n", "end the lines with \\n"),
    new_rule("Tree", 8, Check::YamlVersion, "the tree is YAML 1.1", "begin the tree with \"%YAML 1.1\""),
    new_rule("Tree", 11, Check::YamlLine, "the tree begins with the line %YAML 1.1, and nothing comes before it", "begin the tree with \"%YAML 1.1\""),
    new_rule("Tree", 12, Check::OneDocument, "the tree is one YAML document from --- to ...", REMEDY_EDIT_TREE),
    new_rule("Tree", 16, Check::DocumentEndMarker, "the end marker ... is alone on its line", "remove the rest of its line"),
    new_rule("Tree", 20, Check::Padding, "the space after the tree does not contain the magic bytes of a block", REMEDY_CONVERT),
    new_rule("Blocks", 3, Check::ReadableArrays, "an ndarray describes its block completely", "correct the ndarray, or the block that it names"),
    new_rule("Blocks", 8, Check::MissingTree, "without a tree the first block follows the header at once", REMEDY_CONVERT),
    new_rule("Block header", 1, Check::BlockFields, "each block begins with the fields of the specification, in 36 bytes", REMEDY_CONVERT),
    new_rule("Block header", 5, Check::BlockMagic, "the magic bytes of a block are d3 42 4c 4b", REMEDY_CONVERT),
    new_rule("Block header", 7, Check::HeaderSize, "header_size is the number of header bytes after it", REMEDY_REPAIR),
    new_rule("Block header", 10, Check::MinHeaderSize, "header_size is at least 36", REMEDY_REPAIR),
    new_rule("Block header", 12, Check::AllocatedSize, "allocated_size is the space that the block takes in the file", REMEDY_REPAIR),
    new_rule("Block header", 15, Check::PlainSize, "memory_size equals used_size if the data are not encoded", REMEDY_REPAIR),
    new_rule("Block header", 16, Check::DecodedSize, "memory_size is the size of the decoded data", REMEDY_REENCODE),
    new_rule("Flags", 1, Check::Flags, "no flags are set but STREAMED and ENCODED", "clear the bits of flags that the specification does not define"),
    new_rule("Flags", 8, Check::Exclusive, "STREAMED and ENCODED are not both set", REMEDY_REPAIR),
    new_rule("Block content", 1, Check::UsedSize, "a block uses at most its allocated bytes", REMEDY_REPAIR),
    new_rule("Block encoding", 3, Check::ChainYaml, "the data of an encoded block begin with the YAML of the chain", REMEDY_REENCODE),
    new_rule("Block encoding", 4, Check::ChainEnd, "the YAML of the chain ends with ... on a line", REMEDY_REENCODE),
    new_rule("Block encoding", 9, Check::ChainList, "the YAML of the chain is a list", REMEDY_REENCODE),
    new_rule("Block encoding", 10, Check::ChainEntry, "each step is a name, or a pair of name and arguments", REMEDY_REENCODE),
    new_rule("Block encoding", 19, Check::ChainOrder, "each step accepts the output of the step before it", REMEDY_REENCODE),
    new_rule(SECTION_TILES, 2, Check::TileArguments, "tile has shape, original_shape and item_size", "convert it with trilith convert --to asdf-0.1 --encode [zlib]"),
    new_rule(SECTION_TILES, 4, Check::TileShape, "the shape of tile has an integer for each dimension of the array", REMEDY_REENCODE),
    new_rule(SECTION_TILES, 5, Check::TileOriginal, "the original_shape of tile is the shape of the array", REMEDY_REENCODE),
    new_rule(SECTION_TILES, 6, Check::TileItem, "the item_size of tile is that of the array in bytes", REMEDY_REENCODE),
    new_rule(SECTION_QUANTIZE, 3, Check::QuantizeArguments, "quantize has dtype and original_shape", "convert it with trilith convert --to asdf-0.1 --encode [zlib]"),
    new_rule(SECTION_QUANTIZE, 4, Check::QuantizeBits, "the dtype of quantize is 32 or 64, as the bits of the array's elements", REMEDY_REENCODE),
    new_rule(SECTION_QUANTIZE, 5, Check::QuantizeShape, "the original_shape of quantize is the shape of the array", REMEDY_REENCODE),
    new_rule(SECTION_QUANTIZE, 6, Check::QuantizeData, "quantized data are whole chunks, each a header and its values", REMEDY_REENCODE),
    new_rule(SECTION_BINARY, 1, Check::ChainZlib, "data encoded with zlib are a zlib stream", REMEDY_REENCODE),
    new_rule(SECTION_BINARY, 3, Check::ZlibArguments, "zlib takes no arguments", REMEDY_REENCODE),
];
