//! ASDF 0.1.0dev: the standard of 2014, with its chapters on the file, the tree and the schemas.

use super::rule::{Check, ConformanceRule, SchemaModule, new_rule};
use super::{AsdfRules, RuleSubject, StandardDocument};

const REMEDY_CONVERT: &str = "convert it with trilith convert --to asdf-0.1-dev --as-documented";
const REMEDY_HEADER_LINE: &str = "write the header line as \"%ASDF 0.1.0\"";
const REMEDY_EDIT_TREE: &str = "edit the text of the tree";
const REMEDY_REPAIR: &str = "the bytes are damaged: recover the rest with trilith repair";
const REMEDY_REFERENCE: &str = "correct the reference";
const REMEDY_NDARRAY: &str = "correct the ndarray, or the block that it names";
const REMEDY_NODE: &str = "correct the node; trilith validate shows the rule of its schema";

/// ASDF 0.1.0dev.
pub(super) static DOCUMENT: StandardDocument = StandardDocument {
    name: "asdf-0.1-dev",
    title: "ASDF 0.1.0dev",
    rules: RULES,
    law: RuleSubject::Asdf(AsdfRules {
        token: "%ASDF",
        major: 0,
        block_magic: &crate::asdf::generation::BLOCK_MAGIC_DOCUMENTED,
        generation: "asdf-0.1-dev",
        comments: false,
        index: false,
        prefix: "tag:stsci.edu:asdf/0.1.0/",
        strict_pointers: false,
    }),
};

#[rustfmt::skip]
static RULES: &[ConformanceRule] = &[
    new_rule("2", 1, Check::VersionParts, "the parts are header, tree and blocks, in this order, and nothing else", REMEDY_CONVERT),
    new_rule("2", 6, Check::HeaderText, "the header is UTF-8 text", REMEDY_HEADER_LINE),
    new_rule("2.1", 1, Check::HeaderLineFirst, "the file begins with the header line", "begin it with \"%ASDF 0.1.0\""),
    new_rule("2.1", 3, Check::BlankAfterToken, "exactly one space comes before the version", REMEDY_HEADER_LINE),
    new_rule("2.1", 3, Check::LineEnd, "the header line ends with \\n or \\r\\n", REMEDY_HEADER_LINE),
    new_rule("2.1", 4, Check::Token, "the first word is %ASDF", REMEDY_CONVERT),
    new_rule("2.1", 7, Check::Major, "the major version is an integer, and 0 in this specification", REMEDY_CONVERT),
    new_rule("2.1", 8, Check::Minor, "the minor version is an integer, and 1 in this specification", REMEDY_CONVERT),
    new_rule("2.1", 9, Check::Micro, "the micro version is an integer", REMEDY_HEADER_LINE),
    new_rule("2.2", 1, Check::Yaml, "the tree is YAML", REMEDY_EDIT_TREE),
    new_rule("2.2", 6, Check::Utf8, "the tree is UTF-8 without a byte order mark", "rewrite its text in UTF-8"),
    new_rule("2.2", 7, Check::Newlines, "lines of the tree end with \\n or \\r\\n", "end the lines with \\n"),
    new_rule("2.2", 8, Check::YamlVersion, "the tree is YAML 1.1", "begin the tree with \"%YAML 1.1\""),
    new_rule("2.2", 11, Check::YamlLine, "the tree begins with the line %YAML 1.1, and nothing comes before it", "begin the tree with \"%YAML 1.1\""),
    new_rule("2.2", 12, Check::OneDocument, "the tree is one YAML document from --- to ...", REMEDY_EDIT_TREE),
    new_rule("2.2", 16, Check::DocumentEndMarker, "the end marker ... is alone on its line", "remove the rest of its line"),
    new_rule("2.2", 20, Check::Padding, "the space after the tree does not contain the magic bytes of a block", REMEDY_CONVERT),
    new_rule("2.3", 8, Check::MissingTree, "without a tree the first block follows the header at once", REMEDY_CONVERT),
    new_rule("2.3.1", 1, Check::BlockFields, "each block begins with the fields of the specification, in 44 bytes", REMEDY_CONVERT),
    new_rule("2.3.1", 5, Check::BlockMagic, "the magic bytes of a block are 89 42 4c 4b", REMEDY_CONVERT),
    new_rule("2.3.1", 7, Check::HeaderSize, "header_size is the number of header bytes after it", REMEDY_REPAIR),
    new_rule("2.3.1", 10, Check::MinHeaderSize, "header_size is at least 40", REMEDY_REPAIR),
    new_rule("2.3.1", 12, Check::AllocatedSize, "allocated_size is the space that the block takes in the file", REMEDY_REPAIR),
    new_rule("2.3.2", 1, Check::Flags, "no flags are set but STREAMED", "clear the bits of flags that the specification does not define"),
    new_rule("2.3.3", 1, Check::UsedSize, "a block uses at most its allocated bytes", REMEDY_REPAIR),
    new_rule("3.1", 4, Check::Root, "the tag of the root is tag:stsci.edu:asdf/0.1.0/core/asdf", "tag the root !core/asdf"),
    new_rule("3.2", 3, Check::ReferenceAlone, "a reference is a mapping whose one key is $ref", REMEDY_REFERENCE),
    new_rule("3.2", 4, Check::ReferenceText, "the value of $ref is a URI", REMEDY_REFERENCE),
    new_rule("3.2", 6, Check::ReferenceTarget, "each step of the fragment is a key of a mapping or an index of a list", REMEDY_REFERENCE),
    new_rule("3.2", 9, Check::ReferenceEscape, "in a fragment ~ is written ~0, and / in a key ~1", REMEDY_REFERENCE),
    new_rule("4.1.1", 1, Check::Schema(SchemaModule::Root), "the root is a mapping whose data is an ndarray and whose fits is a fits", REMEDY_NODE),
    new_rule("4.1.2", 2, Check::Schema(SchemaModule::Complex), "a complex number matches the grammar", "write it as 1-1j"),
    new_rule("4.1.3", 1, Check::Schema(SchemaModule::Ndarray), "an ndarray is a nested list, or a mapping with these keys and values", REMEDY_NODE),
    new_rule("4.1.3", 8, Check::ReadableArrays, "an ndarray fits its block or its inline data", REMEDY_NDARRAY),
    new_rule("4.1.3", 18, Check::Ascii, "strings of the datatype ascii have code points below 128", "use the datatype ucs4"),
    new_rule("4.1.3", 19, Check::Ucs4, "strings of the datatype ucs4 have code points of Unicode", "correct the text"),
    new_rule("4.1.3", 38, Check::SourceNumber, "a source that is not negative is the number of a block of the file", REMEDY_NDARRAY),
    new_rule("4.1.3", 39, Check::SourceNegative, "a negative source counts the blocks of the file from the last", REMEDY_NDARRAY),
    new_rule("4.1.3", 41, Check::SourceUri, "a source that is a string leads to a file with a block", REMEDY_NDARRAY),
    new_rule("4.1.3", 48, Check::InlineMatch, "dtype and shape match the inline data", REMEDY_NDARRAY),
    new_rule("4.1.3", 50, Check::OpenShape, "only the first entry of a shape is *", REMEDY_NDARRAY),
    new_rule("4.1.3", 54, Check::StrideLength, "there is a stride for each dimension", REMEDY_NDARRAY),
    new_rule("4.1.3", 58, Check::MaskShape, "a mask can be broadcast to the dimensions of its array", REMEDY_NDARRAY),
    new_rule("4.2.1", 1, Check::Schema(SchemaModule::Fits), "a fits is a list of header/data units", REMEDY_NODE),
    new_rule("4.3.1", 2, Check::Schema(SchemaModule::Unit), "a unit is text in the syntax of VOUnit", REMEDY_NODE),
    new_rule("4.3.1", 2, Check::UnitSyntax, "a unit is one of VOUnit", "write it as VOUnit has it"),
    new_rule("4.3.2", 1, Check::Schema(SchemaModule::Defunit), "a defunit is a mapping with a name", REMEDY_NODE),
    new_rule("4.3.2", 7, Check::UnitOrder, "a unit is defined before it is used", "move the definition up"),
    new_rule("5.2.2", 2, Check::Reserved, "tags under the prefix of the standard are those that it defines", "give the tag your own prefix"),
];
