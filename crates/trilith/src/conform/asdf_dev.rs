//! ASDF 0.1.0dev: the standard of 2014, with its chapters on the file, the tree and the schemas.

use super::rule::{Check, Module, Rule, rule};
use super::{AsdfLaw, Document, Law};

const ANEW: &str = "convert it with trilith convert --to asdf-0.1-dev --as-documented";
const LINE: &str = "write the header line as \"%ASDF 0.1.0\"";
const TEXT: &str = "edit the text of the tree";
const WRITER: &str = "the bytes are damaged: recover the rest with trilith repair";
const REFERENCE: &str = "correct the reference";
const NDARRAY: &str = "correct the ndarray, or the block that it names";
const VALUE: &str = "correct the node; trilith validate shows the rule of its schema";

/// ASDF 0.1.0dev.
pub(super) static DOCUMENT: Document = Document {
    name: "asdf-0.1-dev",
    title: "ASDF 0.1.0dev",
    rules: RULES,
    law: Law::Asdf(AsdfLaw {
        token: "%ASDF",
        major: 0,
        mark: &crate::asdf::generation::BLOCK_MAGIC_DOCUMENTED,
        row: "asdf-0.1-dev",
        comments: false,
        index: false,
        prefix: "tag:stsci.edu:asdf/0.1.0/",
        strict_pointers: false,
    }),
};

#[rustfmt::skip]
static RULES: &[Rule] = &[
    rule("2", 1, Check::Parts, "the parts are header, tree and blocks, in this order, and nothing else", ANEW),
    rule("2", 6, Check::HeaderText, "the header is UTF-8 text", LINE),
    rule("2.1", 1, Check::First, "the file begins with the header line", "begin it with \"%ASDF 0.1.0\""),
    rule("2.1", 3, Check::Blank, "exactly one space comes before the version", LINE),
    rule("2.1", 3, Check::LineEnd, "the header line ends with \\n or \\r\\n", LINE),
    rule("2.1", 4, Check::Token, "the first word is %ASDF", ANEW),
    rule("2.1", 7, Check::Major, "the major version is an integer, and 0 in this specification", ANEW),
    rule("2.1", 8, Check::Minor, "the minor version is an integer, and 1 in this specification", ANEW),
    rule("2.1", 9, Check::Micro, "the micro version is an integer", LINE),
    rule("2.2", 1, Check::Yaml, "the tree is YAML", TEXT),
    rule("2.2", 6, Check::Utf8, "the tree is UTF-8 without a byte order mark", "rewrite its text in UTF-8"),
    rule("2.2", 7, Check::Newlines, "lines of the tree end with \\n or \\r\\n", "end the lines with \\n"),
    rule("2.2", 8, Check::YamlVersion, "the tree is YAML 1.1", "begin the tree with \"%YAML 1.1\""),
    rule("2.2", 11, Check::YamlLine, "the tree begins with the line %YAML 1.1, and nothing comes before it", "begin the tree with \"%YAML 1.1\""),
    rule("2.2", 12, Check::OneDocument, "the tree is one YAML document from --- to ...", TEXT),
    rule("2.2", 16, Check::EndLine, "the end marker ... is alone on its line", "remove the rest of its line"),
    rule("2.2", 20, Check::Padding, "the space after the tree does not contain the magic bytes of a block", ANEW),
    rule("2.3", 8, Check::NoTree, "without a tree the first block follows the header at once", ANEW),
    rule("2.3.1", 1, Check::Fields, "each block begins with the fields of the specification, in 44 bytes", ANEW),
    rule("2.3.1", 5, Check::Mark, "the magic bytes of a block are 89 42 4c 4b", ANEW),
    rule("2.3.1", 7, Check::HeaderSize, "header_size is the number of header bytes after it", WRITER),
    rule("2.3.1", 10, Check::LeastSize, "header_size is at least 40", WRITER),
    rule("2.3.1", 12, Check::Allocated, "allocated_size is the space that the block takes in the file", WRITER),
    rule("2.3.2", 1, Check::Flags, "no flags are set but STREAMED", "clear the bits of flags that the specification does not define"),
    rule("2.3.3", 1, Check::Used, "a block uses at most its allocated bytes", WRITER),
    rule("3.1", 4, Check::Root, "the tag of the root is tag:stsci.edu:asdf/0.1.0/core/asdf", "tag the root !core/asdf"),
    rule("3.2", 3, Check::ReferenceAlone, "a reference is a mapping whose one key is $ref", REFERENCE),
    rule("3.2", 4, Check::ReferenceText, "the value of $ref is a URI", REFERENCE),
    rule("3.2", 6, Check::ReferenceTarget, "each step of the fragment is a key of a mapping or an index of a list", REFERENCE),
    rule("3.2", 9, Check::ReferenceEscape, "in a fragment ~ is written ~0, and / in a key ~1", REFERENCE),
    rule("4.1.1", 1, Check::Schema(Module::Root), "the root is a mapping whose data is an ndarray and whose fits is a fits", VALUE),
    rule("4.1.2", 2, Check::Schema(Module::Complex), "a complex number matches the grammar", "write it as 1-1j"),
    rule("4.1.3", 1, Check::Schema(Module::Ndarray), "an ndarray is a nested list, or a mapping with these keys and values", VALUE),
    rule("4.1.3", 8, Check::Arrays, "an ndarray fits its block or its inline data", NDARRAY),
    rule("4.1.3", 18, Check::Ascii, "strings of the datatype ascii have code points below 128", "use the datatype ucs4"),
    rule("4.1.3", 19, Check::Ucs4, "strings of the datatype ucs4 have code points of Unicode", "correct the text"),
    rule("4.1.3", 38, Check::SourceNumber, "a source that is not negative is the number of a block of the file", NDARRAY),
    rule("4.1.3", 39, Check::SourceNegative, "a negative source counts the blocks of the file from the last", NDARRAY),
    rule("4.1.3", 41, Check::SourceUri, "a source that is a string leads to a file with a block", NDARRAY),
    rule("4.1.3", 48, Check::InlineMatch, "dtype and shape match the inline data", NDARRAY),
    rule("4.1.3", 50, Check::OpenShape, "only the first entry of a shape is *", NDARRAY),
    rule("4.1.3", 54, Check::StrideLength, "there is a stride for each dimension", NDARRAY),
    rule("4.1.3", 58, Check::MaskShape, "a mask can be broadcast to the dimensions of its array", NDARRAY),
    rule("4.2.1", 1, Check::Schema(Module::Fits), "a fits is a list of header/data units", VALUE),
    rule("4.3.1", 2, Check::Schema(Module::Unit), "a unit is text in the syntax of VOUnit", VALUE),
    rule("4.3.1", 2, Check::UnitSyntax, "a unit is one of VOUnit", "write it as VOUnit has it"),
    rule("4.3.2", 1, Check::Schema(Module::Defunit), "a defunit is a mapping with a name", VALUE),
    rule("4.3.2", 7, Check::UnitOrder, "a unit is defined before it is used", "move the definition up"),
    rule("5.2.2", 2, Check::Reserved, "tags under the prefix of the standard are those that it defines", "give the tag your own prefix"),
];
