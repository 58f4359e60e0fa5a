//! FINF 0.1.0: the file layout, in the version of 2014-05-07.

use super::rule::{Check, Rule, rule};
use super::{AsdfLaw, Document, Law};

const ANEW: &str = "convert it with trilith convert --to finf-0.1 --as-documented";
const TEXT: &str = "edit the text of the tree";
const WRITER: &str = "the bytes are damaged: recover the rest with trilith repair";

/// FINF 0.1.0.
pub(super) static DOCUMENT: Document = Document {
    name: "finf-0.1",
    title: "FINF 0.1.0, file layout",
    rules: RULES,
    law: Law::Asdf(AsdfLaw {
        token: "%FINF",
        major: 0,
        mark: &crate::asdf::generation::BLOCK_MAGIC_DOCUMENTED,
        row: "finf-0.1-hs40",
        comments: false,
        index: false,
        prefix: "tag:stsci.edu:finf/0.1.0/",
        strict_pointers: false,
    }),
};

#[rustfmt::skip]
static RULES: &[Rule] = &[
    rule("Low-level file layout", 1, Check::Parts, "the parts are header, tree and blocks, in this order, and nothing else", ANEW),
    rule("Low-level file layout", 6, Check::HeaderText, "the header is UTF-8 text", "rewrite the header line"),
    rule("Header", 1, Check::First, "the file begins with the header line", "begin it with \"%FINF 0.1.0\""),
    rule("Header", 4, Check::Token, "the first word is %FINF", ANEW),
    rule("Header", 7, Check::Blank, "exactly one space comes before the version", "write the header line as \"%FINF 0.1.0\""),
    rule("Header", 10, Check::Major, "the major version is digits, and 0 in this specification", ANEW),
    rule("Header", 12, Check::Minor, "the minor version is digits, and 1 in this specification", ANEW),
    rule("Header", 14, Check::Micro, "the micro version is digits", "write the header line as \"%FINF 0.1.0\""),
    rule("Header", 15, Check::LineEnd, "the header line ends with \\n or \\r\\n", "rewrite the header line"),
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
    rule("Block header", 1, Check::Fields, "each block begins with the fields of the specification, in 40 bytes", ANEW),
    rule("Block header", 2, Check::Mark, "the magic bytes of a block are 89 42 4c 4b", ANEW),
    rule("Block header", 4, Check::HeaderSize, "header_size is the number of header bytes after it", WRITER),
    rule("Block header", 7, Check::LeastSize, "header_size is at least 29", WRITER),
    rule("Block header", 8, Check::Allocated, "allocated_size is the space that the block takes in the file", WRITER),
    rule("Block content", 1, Check::Used, "a block uses at most its allocated bytes", WRITER),
];
