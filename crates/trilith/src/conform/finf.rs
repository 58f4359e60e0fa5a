//! FINF 0.1.0: the file layout, in the version of 2014-05-07.

use super::rule::{Check, ConformanceRule, new_rule};
use super::{AsdfRules, RuleSubject, StandardDocument};

const REMEDY_CONVERT: &str = "convert it with trilith convert --to finf-0.1 --as-documented";
const REMEDY_EDIT_TREE: &str = "edit the text of the tree";
const REMEDY_REPAIR: &str = "the bytes are damaged: recover the rest with trilith repair";

/// FINF 0.1.0.
pub(super) static DOCUMENT: StandardDocument = StandardDocument {
    name: "finf-0.1",
    title: "FINF 0.1.0, file layout",
    rules: RULES,
    law: RuleSubject::Asdf(AsdfRules {
        token: "%FINF",
        major: 0,
        block_magic: &crate::asdf::generation::BLOCK_MAGIC_DOCUMENTED,
        generation: "finf-0.1-hs40",
        comments: false,
        index: false,
        prefix: "tag:stsci.edu:finf/0.1.0/",
        strict_pointers: false,
    }),
};

#[rustfmt::skip]
static RULES: &[ConformanceRule] = &[
    new_rule("Low-level file layout", 1, Check::VersionParts, "the parts are header, tree and blocks, in this order, and nothing else", REMEDY_CONVERT),
    new_rule("Low-level file layout", 6, Check::HeaderText, "the header is UTF-8 text", "rewrite the header line"),
    new_rule("Header", 1, Check::HeaderLineFirst, "the file begins with the header line", "begin it with \"%FINF 0.1.0\""),
    new_rule("Header", 4, Check::Token, "the first word is %FINF", REMEDY_CONVERT),
    new_rule("Header", 7, Check::BlankAfterToken, "exactly one space comes before the version", "write the header line as \"%FINF 0.1.0\""),
    new_rule("Header", 10, Check::Major, "the major version is digits, and 0 in this specification", REMEDY_CONVERT),
    new_rule("Header", 12, Check::Minor, "the minor version is digits, and 1 in this specification", REMEDY_CONVERT),
    new_rule("Header", 14, Check::Micro, "the micro version is digits", "write the header line as \"%FINF 0.1.0\""),
    new_rule("Header", 15, Check::LineEnd, "the header line ends with \\n or \\r\\n", "rewrite the header line"),
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
    new_rule("Block header", 1, Check::BlockFields, "each block begins with the fields of the specification, in 40 bytes", REMEDY_CONVERT),
    new_rule("Block header", 2, Check::BlockMagic, "the magic bytes of a block are 89 42 4c 4b", REMEDY_CONVERT),
    new_rule("Block header", 4, Check::HeaderSize, "header_size is the number of header bytes after it", REMEDY_REPAIR),
    new_rule("Block header", 7, Check::MinHeaderSize, "header_size is at least 29", REMEDY_REPAIR),
    new_rule("Block header", 8, Check::AllocatedSize, "allocated_size is the space that the block takes in the file", REMEDY_REPAIR),
    new_rule("Block content", 1, Check::UsedSize, "a block uses at most its allocated bytes", REMEDY_REPAIR),
];
