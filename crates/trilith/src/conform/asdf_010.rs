//! ASDF 0.1.0: the file layout of 2015-01-07, with encoding chains.

use super::rule::{Check, Rule, rule};
use super::{AsdfLaw, Document, Law};

const ANEW: &str = "convert it with trilith convert --to asdf-0.1";
const LINE: &str = "write the header line as \"#ASDF 0.1.0\"";
const TEXT: &str = "edit the text of the tree";
const WRITER: &str = "the bytes are damaged: recover the rest with trilith repair";
const CHAIN: &str = "encode the block again from the original data, because its header contradicts its content";
const TILES: &str = "Built-in array-to-array encodings";
const QUANTA: &str = "Built-in array-to-binary encodings";
const BYTES: &str = "Built-in binary-to-binary encodings";

/// ASDF 0.1.0.
pub(super) static DOCUMENT: Document = Document {
    name: "asdf-0.1",
    title: "ASDF 0.1.0, file layout",
    rules: RULES,
    law: Law::Asdf(AsdfLaw {
        token: "#ASDF",
        major: 0,
        mark: &crate::asdf::generation::BLOCK_MAGIC,
        row: "asdf-0.1-hs36",
        comments: false,
        index: false,
        prefix: "tag:stsci.edu:asdf/0.1.0/",
        strict_pointers: false,
    }),
};

#[rustfmt::skip]
static RULES: &[Rule] = &[
    rule("Low-level file layout", 1, Check::Parts, "the parts are header, tree and blocks, in this order, and nothing else", ANEW),
    rule("Low-level file layout", 6, Check::HeaderText, "the header is UTF-8 text", LINE),
    rule("Header", 1, Check::First, "the file begins with the header line", "begin it with \"#ASDF 0.1.0\""),
    rule("Header", 3, Check::Blank, "exactly one space comes before the version", LINE),
    rule("Header", 3, Check::LineEnd, "the header line ends with \\n or \\r\\n", LINE),
    rule("Header", 4, Check::Token, "the first word is #ASDF", ANEW),
    rule("Header", 7, Check::Major, "the major version is an integer, and 0 in this specification", ANEW),
    rule("Header", 8, Check::Minor, "the minor version is an integer, and 1 in this specification", ANEW),
    rule("Header", 9, Check::Micro, "the micro version is an integer", LINE),
    rule("Tree", 1, Check::Yaml, "the tree is YAML", TEXT),
    rule("Tree", 6, Check::Utf8, "the tree is UTF-8 without a byte order mark", "rewrite its text in UTF-8"),
    rule("Tree", 7, Check::Newlines, "lines of the tree end with \\n or \\r\\n", "end the lines with \\n"),
    rule("Tree", 8, Check::YamlVersion, "the tree is YAML 1.1", "begin the tree with \"%YAML 1.1\""),
    rule("Tree", 11, Check::YamlLine, "the tree begins with the line %YAML 1.1, and nothing comes before it", "begin the tree with \"%YAML 1.1\""),
    rule("Tree", 12, Check::OneDocument, "the tree is one YAML document from --- to ...", TEXT),
    rule("Tree", 16, Check::EndLine, "the end marker ... is alone on its line", "remove the rest of its line"),
    rule("Tree", 20, Check::Padding, "the space after the tree does not contain the magic bytes of a block", ANEW),
    rule("Blocks", 3, Check::Arrays, "an ndarray describes its block completely", "correct the ndarray, or the block that it names"),
    rule("Blocks", 8, Check::NoTree, "without a tree the first block follows the header at once", ANEW),
    rule("Block header", 1, Check::Fields, "each block begins with the fields of the specification, in 36 bytes", ANEW),
    rule("Block header", 5, Check::Mark, "the magic bytes of a block are d3 42 4c 4b", ANEW),
    rule("Block header", 7, Check::HeaderSize, "header_size is the number of header bytes after it", WRITER),
    rule("Block header", 10, Check::LeastSize, "header_size is at least 36", WRITER),
    rule("Block header", 12, Check::Allocated, "allocated_size is the space that the block takes in the file", WRITER),
    rule("Block header", 15, Check::PlainSize, "memory_size equals used_size if the data are not encoded", WRITER),
    rule("Block header", 16, Check::DecodedSize, "memory_size is the size of the decoded data", CHAIN),
    rule("Flags", 1, Check::Flags, "no flags are set but STREAMED and ENCODED", "clear the bits of flags that the specification does not define"),
    rule("Flags", 8, Check::Exclusive, "STREAMED and ENCODED are not both set", WRITER),
    rule("Block content", 1, Check::Used, "a block uses at most its allocated bytes", WRITER),
    rule("Block encoding", 3, Check::ChainYaml, "the data of an encoded block begin with the YAML of the chain", CHAIN),
    rule("Block encoding", 4, Check::ChainEnd, "the YAML of the chain ends with ... on a line", CHAIN),
    rule("Block encoding", 9, Check::ChainList, "the YAML of the chain is a list", CHAIN),
    rule("Block encoding", 10, Check::ChainEntry, "each step is a name, or a pair of name and arguments", CHAIN),
    rule("Block encoding", 19, Check::ChainOrder, "each step accepts the output of the step before it", CHAIN),
    rule(TILES, 2, Check::TileArguments, "tile has shape, original_shape and item_size", "convert it with trilith convert --to asdf-0.1 --encode [zlib]"),
    rule(TILES, 4, Check::TileShape, "the shape of tile has an integer for each dimension of the array", CHAIN),
    rule(TILES, 5, Check::TileOriginal, "the original_shape of tile is the shape of the array", CHAIN),
    rule(TILES, 6, Check::TileItem, "the item_size of tile is that of the array in bytes", CHAIN),
    rule(QUANTA, 3, Check::QuantizeArguments, "quantize has dtype and original_shape", "convert it with trilith convert --to asdf-0.1 --encode [zlib]"),
    rule(QUANTA, 4, Check::QuantizeBits, "the dtype of quantize is 32 or 64, as the bits of the array's elements", CHAIN),
    rule(QUANTA, 5, Check::QuantizeShape, "the original_shape of quantize is the shape of the array", CHAIN),
    rule(QUANTA, 6, Check::QuantizeData, "quantized data are whole chunks, each a header and its values", CHAIN),
    rule(BYTES, 1, Check::ChainZlib, "data encoded with zlib are a zlib stream", CHAIN),
    rule(BYTES, 3, Check::ZlibArguments, "zlib takes no arguments", CHAIN),
];
