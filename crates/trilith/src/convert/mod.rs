//! Rewriting an open file: recompressed, realigned, in another generation.
//!
//! Within a generation ([`convert`]) the text of the tree is copied byte for byte and the blocks keep their
//! numbers, so that comments, tags, views and masks survive. Only the storage of blocks changes. For another
//! generation ([`convert_to`], [`ConversionPlan`]) the tree is translated by edits of its text, and content that the target
//! cannot hold is listed as a [`Diagnostic`] before anything is written.

mod array_storage;
mod block_uses;
mod cast;
mod choose_codec;
mod chunks;
mod coordinates;
mod coverage;
mod describe_layout;
mod dispatch;
mod dudley;
mod dudley_asdf;
#[cfg(test)]
mod dudley_asdf_tests;
mod encode_chain;
mod expansion_budget;
mod fits;
mod history;
mod items_to_asdf;
mod layout_annotations;
mod layout_form;
mod loss;
mod plan;
mod quantity;
mod reserved_keys;
mod translate;
mod tree_to_hdus;
mod unreadable;
mod write_plan;

use std::collections::HashMap;
use std::io::{Seek, Write};

#[doc(hidden)]
pub use choose_codec::choose;
pub(crate) use coverage::is_format_history;
pub use describe_layout::describe_layout;
pub use dispatch::TargetForm;
#[doc(hidden)]
pub use dudley_asdf::asdf_to_draft;
pub(crate) use dudley_asdf::stream_as_asdf;
pub use dudley_asdf::stream_to_asdf;
#[doc(hidden)]
pub use fits::extract_from_fits;
pub use fits::{embed, to_fits};
#[doc(hidden)]
pub use plan::ConversionPlan;
pub use plan::convert_to;

use crate::array::{Byteorder, Datatype};
use crate::asdf::{AsdfFile, Block, BlockLocation, BlockOptions, FileWriter, Generation, WriteOptions, walk};
use crate::bytes::{MemorySource, SourceRef};
use crate::codec::encoding_chain::ChainStep;
use crate::codec::{self, BloscCodec, CodecId};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result, SuggestedSetting};
use crate::file::write_container;
use crate::progress::Progress;

/// The codec for blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CodecChoice {
    /// Each block keeps its codec; compressed bytes are copied without decoding them.
    #[default]
    Keep,
    /// No codec: blocks are stored uncompressed, and can be viewed and sliced in place.
    Uncompressed,
    /// This codec for every block.
    Fixed(CodecId),
    /// The codec that suits a sample of the bytes, for each block by itself.
    Auto,
}

impl CodecChoice {
    /// `auto`, or a name that [`codec::parse_name`] knows, but for `blsc-zstd`, which [`ConvertOptions::set_codec`] takes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with the names that exist.
    pub fn from_name(name: &str) -> Result<Self> {
        let mut options = ConvertOptions::default();
        options.set_codec(name)?;
        if options.blosc != BloscCodec::default() {
            return Err(
                Error::invalid_input(format!("{name} is a codec with options")).hint("give it to ConvertOptions::set_codec")
            );
        }
        Ok(options.codec)
    }
}

impl std::fmt::Display for CodecChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Keep => f.write_str("as it is"),
            Self::Uncompressed => f.write_str("none"),
            Self::Auto => f.write_str("auto"),
            Self::Fixed(id) => id.fmt(f),
        }
    }
}

/// Options for rewriting a file.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ConvertOptions {
    /// The form to write ([`File::convert_into`](crate::File::convert_into) only).
    pub to: TargetForm,
    /// `true` if a list of equal arrays in a Dudley file becomes one array with a leading axis
    /// ([`File::convert_into`](crate::File::convert_into) only).
    pub stack: bool,
    /// The byte order of a Dudley file that is written; None is that of the file read, or little-endian.
    pub byteorder: Option<Byteorder>,
    /// The codec for blocks; a streamed block stays unchanged.
    pub codec: CodecChoice,
    /// The level of the codec.
    pub level: Option<i32>,
    /// The codec inside of a Blosc buffer, if the codec is `blsc`.
    pub blosc: BloscCodec,
    /// Number of rows of its array in each piece of a block, which is then compressed with lz4. A piece decodes by itself, so
    /// that it can be a chunk of Zarr. A block whose array does not begin with it, or is in another order than C, has
    /// the usual pieces.
    pub rows: Option<u64>,
    /// The lengths of the chunks that arrays with this number of axes are cut into, each in a separate block, in
    /// the form of the extension asdf-zarr ([`File::convert_into`](crate::File::convert_into) only). Other arrays
    /// stay unchanged, and so do those with a mask, streamed ones, and those that share their block.
    pub chunks: Option<Vec<u64>>,
    /// The encoding chain that blocks get, if the generation has chains ([`convert_to`] only).
    pub encode: Option<Vec<ChainStep>>,
    /// `true` if arrays are written with their physical values: those of a FITS file under the names of the HDUs,
    /// rather than as a `fits` list that keeps every byte; those of other formats without the attributes that were
    /// applied.
    pub physical_values: bool,
    /// `true` if to write the file although something is lost ([`convert_to`] only).
    pub allow_loss: bool,
    /// `true` if items that cannot be read are left out; each is listed in [`ConvertReport::losses`]
    /// ([`File::convert_into`](crate::File::convert_into) only).
    pub skip_unreadable: bool,
    /// Coordinates that the images of a FITS file get ([`File::convert_into`](crate::File::convert_into) only).
    pub coordinates: CoordinateHeader,
    /// Alignment, checksums, index.
    pub write_options: WriteOptions,
}

/// Coordinates in the headers of a FITS file that is made of a file of the ASDF family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CoordinateHeader {
    /// Exact ones, or a tangent plane with SIP polynomials that are within 0.001 pixel.
    #[default]
    Sip,
    /// A tangent plane without polynomials, however far off it is.
    Tan,
    /// No coordinates.
    None,
}

impl ConvertOptions {
    /// Sets the codec for blocks: `auto`, or a name that [`codec::parse_name`] accepts.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with the names that exist.
    pub fn set_codec(&mut self, name: &str) -> Result<()> {
        (self.codec, self.blosc) = match codec::parse_name(name) {
            Ok((id, _)) if id.is_none() => (CodecChoice::Uncompressed, BloscCodec::default()),
            Ok((id, blosc)) => (CodecChoice::Fixed(id), blosc),
            Err(_) if name.eq_ignore_ascii_case("auto") => (CodecChoice::Auto, BloscCodec::default()),
            Err(_) => return Err(codec::unknown_name(name, &["auto"])),
        };
        Ok(())
    }

    /// Returns `true` if a block that has the codec already can be copied: nothing is asked for but the codec.
    fn keeps_codec(&self) -> bool {
        self.level.is_none() && self.blosc == BloscCodec::default() && self.rows.is_none()
    }

    /// Refuses a level that no codec would have.
    fn check_level(&self) -> Result<()> {
        match self.codec {
            CodecChoice::Keep | CodecChoice::Uncompressed if self.level.is_some() && self.encode.is_none() => {
                let setting = match self.codec {
                    CodecChoice::Keep => SuggestedSetting::Provide("codec", "zlib, or another"),
                    _ => SuggestedSetting::Remove(&["level"]),
                };
                Err(Error::invalid_input("a level was given, and no codec that has one").setting("", setting))
            }
            _ => Ok(()),
        }
    }

    /// Returns the options with the codec that pieces of whole rows need.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if another was asked for.
    fn by_rows(&self) -> Result<Self> {
        let lz4 = CodecChoice::Fixed(CodecId(*b"lz4\0"));
        let refused = match self.codec {
            _ if self.rows == Some(0) => {
                return Err(Error::invalid_input("cannot cut an array into pieces of 0 rows: expected at least 1"));
            }
            CodecChoice::Keep => None,
            choice if choice == lz4 => None,
            CodecChoice::Uncompressed => Some(("none", "uncompressed blocks can be read at every row already: leave out --rows")),
            CodecChoice::Auto => Some(("auto", "use lz4, or no codec")),
            CodecChoice::Fixed(id) => {
                let why = match &id.0 {
                    b"zstd" | b"lz4f" => "other readers of ASDF read only the first of several frames: take lz4",
                    _ => "it stores a block in one piece: take lz4",
                };
                return Err(Error::invalid_input(format!("{id} blocks cannot end their pieces at rows")).hint(why));
            }
        };
        match refused {
            Some((name, why)) => Err(Error::invalid_input(format!("pieces of whole rows with the codec {name}")).hint(why)),
            None => Ok(Self { codec: lz4, ..self.clone() }),
        }
    }
}

/// The result of a conversion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConvertReport {
    /// Blocks written.
    pub blocks: usize,
    /// Number of bytes of the written blocks when decoded.
    pub decoded_bytes: u64,
    /// Number of bytes of the written blocks on disk.
    pub stored_bytes: u64,
    /// Differences from the file that was read.
    pub losses: Vec<Diagnostic>,
    /// Deviations from the options without loss, such as steps of an encoding chain that a block cannot have, and
    /// content that was copied although the standard asks writers to avoid it.
    pub notes: Vec<String>,
    /// `true` if the tree and the stored bytes of all blocks are those of the file that was read.
    pub is_copy: bool,
    /// `true` if blocks were counted: what was written is a file of the ASDF family made from one.
    pub has_sizes: bool,
    /// `true` if the file was written to its end; false if a loss was not allowed
    /// ([`File::convert_into`](crate::File::convert_into) only).
    pub written: bool,
}

impl ConvertReport {
    fn count_block(&mut self, written: &BlockLocation) {
        self.blocks += 1;
        self.decoded_bytes += written.data_size;
        self.stored_bytes += written.used;
    }
}

/// Writes `file` into `out`, whose position must be its start. `progress` receives the number of decoded bytes. If `file` is
/// in a FITS file, the FITS file is written around it ([`write_container`]).
///
/// ```
/// use trilith::convert::{CodecChoice, ConvertOptions, convert};
/// let file = trilith::open_asdf_bytes(b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: 1} # one\n...\n".to_vec())?;
/// let mut options = ConvertOptions::default();
/// options.codec = CodecChoice::from_name("lz4")?;
/// let mut out = std::io::Cursor::new(Vec::new());
/// let done = convert(&file, &mut out, &options, trilith::Progress::default())?;
/// assert_eq!((done.blocks, done.losses.len()), (0, 0));
/// assert!(trilith::open_asdf_bytes(out.into_inner())?.tree().text().contains("# one"));
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if writing fails, the errors of [`AsdfFile::blocks_to_copy`], and an error if a
/// block does not decode.
pub fn convert<W: Write + Seek>(
    file: &AsdfFile,
    out: W,
    options: &ConvertOptions,
    progress: Progress<'_>,
) -> Result<ConvertReport> {
    file.blocks_to_copy()?;
    let tree = file.sections().tree().map(|_| file.tree().text());
    write_converted_file(file, tree, out, options, progress)
}

/// Converts like [`convert`], with another text of the tree. Its ndarrays must name the same blocks, as after an edit.
///
/// # Errors
/// Returns the errors of [`convert`].
pub fn rewrite<W: Write + Seek>(
    file: &AsdfFile,
    tree: &str,
    out: W,
    options: &ConvertOptions,
    progress: Progress<'_>,
) -> Result<ConvertReport> {
    write_converted_file(file, Some(tree), out, options, progress)
}

fn write_converted_file<W: Write + Seek>(
    file: &AsdfFile,
    tree: Option<&str>,
    mut out: W,
    options: &ConvertOptions,
    progress: Progress<'_>,
) -> Result<ConvertReport> {
    let _call = file.limits().call();
    options.check_level()?;
    let mut done = ConvertReport::default();
    let recodes = options.codec != CodecChoice::Keep || !options.keeps_codec();
    let within = write_container(file, tree, recodes, &mut out, |asdf| {
        done = write_without_container(file, tree, asdf, options, progress)?;
        Ok(())
    })?;
    let Some(damaged) = within else { return write_without_container(file, tree, out, options, progress) };
    done.losses.extend(damaged);
    Ok(ConvertReport { is_copy: false, ..done })
}

fn write_without_container<W: Write + Seek>(
    file: &AsdfFile,
    tree: Option<&str>,
    out: W,
    options: &ConvertOptions,
    progress: Progress<'_>,
) -> Result<ConvertReport> {
    let sections = file.sections();
    let generation = sections.generation().ok_or_else(|| Error::unsupported("a file of an unknown generation"))?;
    file.check_decoding(sections.all_blocks()?.into_iter().filter(|block| !is_copied_verbatim(block, options)))?;
    let mut writer = FileWriter::new(out, generation, options.write_options.clone());
    writer.match_existing(sections)?;
    writer.header_of_bytes(&sections.header().line, &sections.header().raw_comments, tree)?;
    let blocks = sections.all_blocks()?;
    writer.keep_unused(sections, blocks.len())?;
    // Only encoders need the hints.
    let is_copy = blocks.iter().all(|block| block.is_streamed() || is_copied_verbatim(block, options));
    let hints = if is_copy { HashMap::new() } else { block_hints(file)? };
    let mut done =
        ConvertReport { is_copy: is_copy && tree.is_none_or(|tree| tree == file.tree().text()), ..ConvertReport::default() };
    for block in blocks {
        write_old(file, &mut writer, block, options, &hints, &mut done, progress)?;
    }
    done.losses.extend(writer.finish()?);
    Ok(done)
}

/// A block of the file, stored as the options say.
fn write_old<W: Write + Seek>(
    file: &AsdfFile,
    writer: &mut FileWriter<W>,
    block: &Block,
    options: &ConvertOptions,
    hints: &HashMap<usize, BlockHint>,
    done: &mut ConvertReport,
    progress: Progress<'_>,
) -> Result<()> {
    let stored = block.stored_source(file.sections().source())?;
    let written = write_block(file, writer, block, &stored, options, hints.get(&block.index))
        .map_err(|error| walk::name_block_error(file, block.index, error))?;
    if !block.is_streamed() && !is_copied_verbatim(block, options) {
        done.notes.extend(header_losses(block));
    }
    done.count_block(&written);
    progress.add(written.data_size);
    Ok(())
}

fn write_block<W: Write + Seek>(
    file: &AsdfFile,
    writer: &mut FileWriter<W>,
    block: &Block,
    stored: &SourceRef,
    options: &ConvertOptions,
    hint: Option<&BlockHint>,
) -> Result<BlockLocation> {
    let mut how = BlockOptions::default();
    if block.is_streamed() || is_copied_verbatim(block, options) {
        return writer.copy_last_block(stored, block);
    }
    if let Some(why) = unreadable::undecodable_reason(file, block, options, None) {
        loss::LossAccount::new(options).skip_item("", why)?;
        return writer.block(&MemorySource::new(Vec::new(), "nothing"), &how);
    }
    let data = file.block_data(block.index as i64)?;
    how.codec = match options.codec {
        CodecChoice::Fixed(id) => Some(id),
        CodecChoice::Auto => choose(&data, hint)?,
        CodecChoice::Keep | CodecChoice::Uncompressed => None,
    };
    how.encode.level = options.level;
    how.encode.blosc = options.blosc;
    apply_hint(hint, options, &mut how);
    writer.block(&*data, &how)
}

/// Tells the encoder of a block about the array in it.
fn apply_hint(hint: Option<&BlockHint>, options: &ConvertOptions, how: &mut BlockOptions) {
    if let Some(hint) = hint {
        how.encode.item_size = usize::try_from(hint.item).unwrap_or(1).max(1);
        how.encode.row_bytes = hint.row;
        how.encode.rows = options.rows.filter(|_| hint.fills_block);
    }
}

/// Returns `true` if a block is copied as it is stored.
fn is_copied_verbatim(block: &Block, options: &ConvertOptions) -> bool {
    !block.is_streamed()
        && match options.codec {
            CodecChoice::Keep => true,
            CodecChoice::Uncompressed => block.is_uncompressed(),
            CodecChoice::Fixed(id) => block.compression == id.0 && options.keeps_codec() && !block.has_encoding_chain(),
            CodecChoice::Auto => false,
        }
}

/// Returns `true` if a block is copied as it is stored into a file of another generation, whose headers can hold the fields of its header.
fn copies_into(block: &Block, options: &ConvertOptions, row: &Generation) -> bool {
    is_copied_verbatim(block, options) && block.encoding_codes == [0; 16] && block.is_within(row)
}

/// Describes the parts of a block that its generation does not define and that are lost: flags, bytes of its header, and a
/// checksum that cannot be computed again.
fn header_losses(block: &Block) -> impl Iterator<Item = String> {
    let (index, unknown, extra) = (block.index, block.unknown_flags(), block.extra_header.len());
    let sum = block.checksum.as_deref().filter(|sum| sum.len() == 8);
    let sum =
        sum.map(|_| format!("block {index}: its checksum of 8 bytes, whose algorithm no specification describes, is left out"));
    let flags = (unknown != 0).then(|| format!("block {index}: the unknown flags {unknown:#x} are left out"));
    let bytes = (extra > 0)
        .then(|| format!("block {index}: the last {extra} bytes of its header, which no document defines, are left out"));
    flags.into_iter().chain(bytes).chain(sum)
}

/// Properties of the arrays in the bytes of a block.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BlockHint {
    /// Bytes of an element.
    pub item: u64,
    /// Bytes of a row, if the array is in C order.
    pub row: Option<u64>,
    /// `true` if the elements are floating-point numbers.
    pub is_float: bool,
    /// `true` if the array begins with the block, and is in C order: rows of the array are rows of the block.
    pub fills_block: bool,
}

/// Returns for each block the description of the first array over it.
fn block_hints(file: &AsdfFile) -> Result<HashMap<usize, BlockHint>> {
    let mut hints = HashMap::new();
    for listed in walk::arrays(file)? {
        let Ok(found) = listed.location else { continue };
        if !std::ptr::eq(found.file(file), file) {
            continue;
        }
        let Some(number) = found.node(file).get("source").and_then(|source| source.as_i64()) else { continue };
        let Ok(block) = file.sections().block(number) else { continue };
        let index = block.index;
        if hints.contains_key(&index) {
            continue;
        }
        let Ok(array) = file.stored_array(found.node(file)) else { continue };
        let row = array.strides().first().filter(|_| array.is_c_contiguous());
        let hint = BlockHint {
            item: array.datatype().item_size(),
            row: row.and_then(|row| u64::try_from(*row).ok()).filter(|row| *row > 0),
            is_float: matches!(array.datatype(), Datatype::Float16 | Datatype::Float32 | Datatype::Float64),
            fills_block: array.offset() == 0 && array.is_c_contiguous() && !array.is_empty(),
        };
        hints.insert(index, hint);
    }
    Ok(hints)
}
