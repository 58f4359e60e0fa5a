//! Rules of a document, and the checks of a file that they need.

/// The demand of one sentence of a standard on a file.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConformanceRule {
    /// The section, by its heading or its number.
    pub section: &'static str,
    /// The sentence within the section, from 1.
    pub sentence: u16,
    /// The demand, in our words.
    pub text: &'static str,
    /// Remedy for a file that departs from it.
    pub remedy: &'static str,
    pub(super) check: Check,
}

/// Creates one row of a table of rules.
pub(super) const fn new_rule(
    section: &'static str,
    sentence: u16,
    check: Check,
    text: &'static str,
    mend: &'static str,
) -> ConformanceRule {
    ConformanceRule { section, sentence, text, remedy: mend, check }
}

/// The subject of a check. A standard without a rule for it does not demand it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Check {
    // The header line, the text, and the order of the parts.
    HeaderLineFirst,
    Token,
    BlankAfterToken,
    Major,
    Minor,
    Micro,
    Version,
    LineEnd,
    HeaderText,
    VersionParts,
    Comments,
    // The tree as text.
    Yaml,
    Utf8,
    Newlines,
    YamlVersion,
    YamlLine,
    OneDocument,
    DocumentEndMarker,
    Padding,
    MissingTree,
    // Blocks.
    BlockFields,
    BlockMagic,
    HeaderSize,
    MinHeaderSize,
    AllocatedSize,
    UsedSize,
    PlainSize,
    DecodedSize,
    Checksum,
    Flags,
    Exclusive,
    KnownCodecs,
    Zlib,
    Bzip2,
    // Encoding chains.
    ChainYaml,
    ChainEnd,
    ChainList,
    ChainEntry,
    ChainOrder,
    TileArguments,
    TileShape,
    TileOriginal,
    TileItem,
    QuantizeArguments,
    QuantizeBits,
    QuantizeShape,
    QuantizeData,
    ChainZlib,
    ZlibArguments,
    // The block index.
    IndexAtEnd,
    IndexStreamed,
    IndexAlone,
    IndexHeader,
    IndexLineEnd,
    IndexYaml,
    IndexOffsets,
    IndexOrder,
    IndexEnd,
    // The tree as data.
    UniqueKeys,
    Integers,
    Root,
    Reserved,
    ReferenceAlone,
    ReferenceText,
    ReferencePointer,
    ReferenceTarget,
    ReferenceEscape,
    ReadableArrays,
    SourceNumber,
    SourceNegative,
    SourceUri,
    InlineMatch,
    OpenShape,
    StrideLength,
    MaskShape,
    Ascii,
    Ucs4,
    UnitSyntax,
    UnitOrder,
    Schema(SchemaModule),
    // Dudley.
    Layout(crate::layout::DiagnosticCode),
    LayoutEnd,
    ItemsInsideFile,
    FilteredData,
}

/// The part of the schemas that a tag belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SchemaModule {
    Root,
    Complex,
    Ndarray,
    Fits,
    Unit,
    Defunit,
}
