//! A conversion worked out but not yet written: what will be where, and what will be lost.

use std::collections::HashMap;
use std::io::{Seek, Write};
use std::sync::Arc;

use super::block_uses::{self, ArrayUse, BlockContent};
use super::cast::CastSource;
use super::encode_chain::ApplicableSteps;
use super::loss::{LossAccount, losses_error};
use super::write_plan::visit_bytes;
use super::{
    BlockHint, CodecChoice, ConvertOptions, ConvertReport, block_hints, choose, copies_into, encode_chain, header_losses,
    translate, unreadable,
};
use crate::array::{Byteorder, Datatype, PackedSource};
use crate::asdf::{AsdfFile, Generation, Target, encoding_chain as text, walk};
use crate::bytes::{MemorySource, SourceRef};
use crate::codec::CodecId;
use crate::codec::encoding_chain::{self, BlockArray, ChainStep};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::progress::Progress;

/// The form of storage of a block in the new file.
pub(super) enum BlockForm {
    /// The form of the old file.
    Copy,
    /// The streamed last block.
    Streamed,
    /// A block with this codec, or an uncompressed one.
    Codec(Option<CodecId>),
    /// A block with an encoding chain of these steps.
    Chain { steps: Vec<ChainStep>, array: BlockArray },
    /// A block with an encoding chain whose data are encoded already: quantising was tried to know its error.
    Encoded { text: String, bytes: Vec<u8>, len: u64 },
}

/// The content of a block of the new file.
pub(super) enum BlockData {
    /// The decoded bytes of the block with this number.
    Block(usize),
    /// The elements of an array, and what encoders may know about them.
    Elements(SourceRef, BlockHint),
}

pub(super) struct PlannedBlock {
    pub(super) data: BlockData,
    pub(super) form: BlockForm,
}

/// A conversion of a file into another generation, worked out but not yet written.
///
/// ```
/// use trilith::asdf::{AsdfBuilder, Target};
/// use trilith::convert::{ConvertOptions, ConversionPlan};
/// use trilith::tree::Value;
/// let mut old = std::io::Cursor::new(Vec::new());
/// AsdfBuilder::new(Target::from_name("asdf-1.6")?).write_to(&mut old, Value::map([("a", 1)]))?;
/// let file = trilith::file::open_asdf_bytes(old.into_inner())?;
///
/// let plan = ConversionPlan::new(&file, Target::from_name("finf-0.1")?, &ConvertOptions::default())?;
/// assert!(plan.losses().is_empty());
/// let mut new = std::io::Cursor::new(Vec::new());
/// plan.write(&mut new, trilith::Progress::default())?;
/// assert!(new.into_inner().starts_with(b"%FINF 0.1.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:finf/0.1.0/\n--- !core/finf"));
/// # Ok::<(), trilith::Error>(())
/// ```
pub struct ConversionPlan<'f> {
    pub(super) file: &'f AsdfFile,
    pub(super) target: &'static Target,
    pub(super) options: ConvertOptions,
    pub(super) tree: Option<String>,
    pub(super) comments: Vec<Vec<u8>>,
    pub(super) blocks: Vec<PlannedBlock>,
    pub(super) hints: HashMap<usize, BlockHint>,
    pub(super) account: LossAccount,
}

/// Writes `file` into `out`, whose position must be its start, in another generation.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with every loss if there are some and
/// [`ConvertOptions::allow_loss`] is not set, and the errors of [`ConversionPlan::new`] and [`ConversionPlan::write`].
///
/// ```
/// use trilith::array::{Array, Datatype};
/// use trilith::asdf::{ArrayOptions, AsdfBuilder, Target};
/// use trilith::convert::{ConvertOptions, convert_to};
/// use trilith::tree::Value;
/// let mut builder = AsdfBuilder::new(Target::latest());
/// let half = Array::from_slice(&[half::f16::ONE], &[1])?;
/// let tree = Value::map([("x", builder.array(&half, &ArrayOptions::default())?)]);
/// let mut old = std::io::Cursor::new(Vec::new());
/// builder.write_to(&mut old, tree)?;
/// let file = trilith::file::open_asdf_bytes(old.into_inner())?;
///
/// let target = Target::from_name("asdf-1.5")?;
/// let mut options = ConvertOptions::default();
/// let mut out = std::io::Cursor::new(Vec::new());
/// let refused = convert_to(&file, target, &mut out, &options, trilith::Progress::default()).unwrap_err();
/// assert!(refused.to_string().contains("/x: the datatype float16 becomes float32"));
/// options.allow_loss = true;
/// let done = convert_to(&file, target, &mut out, &options, trilith::Progress::default())?;
/// assert_eq!(done.losses.len(), 1);
/// let new = trilith::file::open_asdf_bytes(out.into_inner())?;
/// assert_eq!(new.array_at("/x")?.load::<f32>()?, [1.0]);
/// # Ok::<(), trilith::Error>(())
/// ```
pub fn convert_to<W: Write + Seek>(
    file: &AsdfFile,
    target: &'static Target,
    out: W,
    options: &ConvertOptions,
    progress: Progress<'_>,
) -> Result<ConvertReport> {
    let plan = ConversionPlan::new(file, target, options)?;
    if plan.account.is_refused() {
        return Err(losses_error(target.name, plan.losses(), "generation"));
    }
    let done = plan.write(out, progress)?;
    // Damage of a block is found only while the block is copied.
    if done.losses.is_empty() || options.allow_loss {
        Ok(done)
    } else {
        Err(losses_error(target.name, &done.losses, "generation"))
    }
}

impl<'f> ConversionPlan<'f> {
    /// Works out how `file` is written as `target`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a codec or a chain that the target has no place
    /// for, [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a block that must be decoded and cannot,
    /// and an error if the file cannot be read.
    pub fn new(file: &'f AsdfFile, target: &'static Target, options: &ConvertOptions) -> Result<Self> {
        check_target_options(target, options)?;
        let _call = file.limits().call();
        file.blocks_to_copy()?;
        let mut account = LossAccount::new(options);
        let (mut uses, unchanged) = block_uses::collect_array_uses(file, target, &mut account)?;
        // The document of FINF has no flags, and so no streams.
        let streams = target.generation_as(options.write_options.as_documented).fields.flags.is_some();
        let contents = block_uses::allocate_blocks(file, &mut uses, &unchanged, streams)?;
        let (mut comments, moved) = split_comment_lines(file, target, &mut account);
        if file.sections().tree().is_none() && options.write_options.as_documented {
            // 1.x, Blocks: without a tree the first block begins "immediately after the header with no padding".
            for line in std::mem::take(&mut comments) {
                let line = String::from_utf8_lossy(&line).into_owned();
                let message = format!("the line {line:?}: as documented, a block follows the header line at once");
                if line.starts_with("#ASDF_STANDARD ") {
                    account.notes.push(format!("left out: {message}"));
                } else {
                    account.losses.push(Diagnostic::loss_without_path(message));
                }
            }
        }
        let tree = match file.sections().tree() {
            Some(_) => Some(translate::translate_tree(file, (target, streams), &uses, &moved, &mut account)?),
            None => None,
        };
        let hints = block_hints(file)?;
        let options = options.clone();
        let mut plan = Self { file, target, options, tree, comments, blocks: Vec::new(), hints, account };
        for (number, content) in contents.into_iter().enumerate() {
            let planned = plan.plan_block(number, content, &uses).map_err(|error| match content {
                BlockContent::Block(index) => walk::name_block_error(file, index, error),
                BlockContent::Array(_) | BlockContent::Empty => error,
            })?;
            plan.blocks.push(planned);
        }
        Ok(plan)
    }

    /// The row of the generation table that is written.
    pub(super) fn target_generation(&self) -> &'static Generation {
        self.target.generation_as(self.options.write_options.as_documented)
    }

    /// Returns the differences from the file that was read. The list is empty if nothing is lost.
    pub fn losses(&self) -> &[Diagnostic] {
        &self.account.losses
    }

    fn plan_block(&mut self, number: usize, content: BlockContent, uses: &[ArrayUse<'_>]) -> Result<PlannedBlock> {
        match content {
            BlockContent::Array(place) => {
                let item = uses.get(place).and_then(|item| item.new_array.as_ref().map(|array| (item, array)));
                let (item, array) = item.ok_or_else(|| Error::invalid_input("an array without elements"))?;
                let order = item.ndarray.byteorder;
                let datatype = item.datatype.as_ref().unwrap_or_else(|| array.datatype());
                let elements: SourceRef = match &item.datatype {
                    Some(to) => Arc::new(CastSource::new(array.clone(), to, order)?),
                    None => Arc::new(PackedSource::new(array.clone(), order)),
                };
                let described = BlockArray {
                    shape: array.shape().to_vec(),
                    item_size: datatype.packed_size(),
                    big_endian: order == Byteorder::Big,
                };
                let rows = array.shape().first().and_then(|rows| elements.len().checked_div(*rows));
                let hint = BlockHint {
                    item: datatype.packed_size(),
                    row: rows.filter(|row| *row > 0),
                    is_float: matches!(datatype, Datatype::Float16 | Datatype::Float32 | Datatype::Float64),
                    fills_block: !array.shape().is_empty(),
                };
                let data = BlockData::Elements(elements, hint);
                let form = if item.streamed {
                    BlockForm::Streamed
                } else {
                    let described = Some((&described, datatype)).filter(|_| !array.is_empty());
                    self.choose_block_form(number, &data, item.block, described, &item.path.to_string())?
                };
                Ok(PlannedBlock { data, form })
            }
            BlockContent::Empty => {
                let hint = BlockHint { item: 1, row: None, is_float: false, fills_block: false };
                let data = BlockData::Elements(Arc::new(MemorySource::new(Vec::new(), "nothing")), hint);
                Ok(PlannedBlock { data, form: BlockForm::Codec(None) })
            }
            BlockContent::Block(index) => {
                let block = self.file.sections().block(index as i64)?;
                let data = BlockData::Block(index);
                if let Some(why) = unreadable::undecodable_reason(self.file, block, &self.options, Some(self.target_generation()))
                {
                    LossAccount::new(&self.options).skip_item("", why)?;
                    return self.plan_block(number, BlockContent::Empty, uses);
                }
                if block.generation != self.target_generation() {
                    self.account.notes.extend(header_losses(block));
                }
                if block.is_streamed() {
                    let form =
                        if self.target_generation().fields.flags.is_some() { BlockForm::Copy } else { BlockForm::Codec(None) };
                    return Ok(PlannedBlock { data, form });
                }
                let fits = uses.iter().filter(|item| item.block == Some(index)).find_map(|item| {
                    let array = self.file.stored_array(item.node).ok()?;
                    let described = encode_chain::block_array(&array, item.ndarray.byteorder, block.decoded_len())?;
                    Some((described, array.datatype().clone(), item.path.to_string()))
                });
                let sharing = uses.iter().filter(|item| item.block == Some(index)).count();
                let (described, path) = match &fits {
                    Some((described, datatype, path)) => (Some((described, datatype)), path.as_str()),
                    None => (None, ""),
                };
                let known = self.losses().len();
                let form = self.choose_block_form(number, &data, Some(index), described, path)?;
                if let (Some(lost), true) = (self.account.losses.get_mut(known), sharing > 1) {
                    lost.message.push_str(&format!(" (its block holds {} other arrays)", sharing - 1));
                }
                Ok(PlannedBlock { data, form })
            }
        }
    }

    /// Returns the form of storage of a block that is not streamed.
    fn choose_block_form(
        &mut self,
        number: usize,
        data: &BlockData,
        from: Option<usize>,
        array: Option<(&BlockArray, &Datatype)>,
        path: &str,
    ) -> Result<BlockForm> {
        let row = self.target_generation();
        let zlib = CodecId(*b"zlib");
        let old = from.and_then(|index| self.file.sections().block(index as i64).ok());
        let steps = match (&self.options.encode, self.options.codec) {
            (Some(steps), _) => Some(steps.clone()),
            (None, CodecChoice::Fixed(id)) if row.encoded && id == zlib => Some(vec![ChainStep::Zlib]),
            (None, CodecChoice::Auto) if row.encoded => {
                let (source, hint) = self.source_and_hint(data)?;
                choose(&source, hint)?.map(|_| vec![ChainStep::Zlib])
            }
            // The codes of the branch, as the chain that they are.
            (None, CodecChoice::Keep) if row.encoded && old.is_some_and(|b| b.encoding_codes[..2] == *b"z\0") => {
                Some(vec![ChainStep::Zlib])
            }
            _ => None,
        };
        if let Some(steps) = steps {
            return self.choose_chain_form(number, data, &steps, array, path);
        }
        if matches!(data, BlockData::Block(_)) && old.is_some_and(|block| copies_into(block, &self.options, row)) {
            return Ok(BlockForm::Copy);
        }
        if row.fields.compression.is_none() {
            return Ok(BlockForm::Codec(None));
        }
        Ok(BlockForm::Codec(match self.options.codec {
            CodecChoice::Uncompressed => None,
            CodecChoice::Fixed(id) => Some(id),
            CodecChoice::Auto => {
                let (source, hint) = self.source_and_hint(data)?;
                choose(&source, hint)?
            }
            // The codec of the block which the elements were in.
            CodecChoice::Keep => old.map(|block| CodecId(block.compression)).filter(|id| !id.is_none()),
        }))
    }

    fn choose_chain_form(
        &mut self,
        number: usize,
        data: &BlockData,
        steps: &[ChainStep],
        array: Option<(&BlockArray, &Datatype)>,
        path: &str,
    ) -> Result<BlockForm> {
        let ApplicableSteps { steps, array: described, left_out } = encode_chain::select_applicable_steps(steps, array)?;
        if !left_out.is_empty() {
            self.account.notes.push(format!("block {number}: without {}, which its array cannot have", left_out.join(" and ")));
        }
        if steps.is_empty() {
            return Ok(BlockForm::Codec(None));
        }
        if !steps.iter().any(|step| matches!(step, ChainStep::Quantize { .. })) {
            return Ok(BlockForm::Chain { steps, array: described });
        }
        // Lossy: what it costs must be known before anything is written.
        let limits = self.file.limits();
        let (original, _) = self.source_and_hint(data)?;
        limits.charge_memory(original.len(), "quantising a block")?;
        let mut bytes = Vec::new();
        let mut encoder = encoding_chain::encoder(&steps, &described, limits)?;
        visit_bytes(&original, &mut |part| encoder.write(part, &mut bytes))?;
        encoder.finish(&mut bytes)?;
        let error = encode_chain::quantize_error(&original, &bytes, &steps, &described, limits)?;
        if error.has_error {
            self.account.add_loss(path, format!("quantize changes values, by at most {:e}", error.largest));
        }
        Ok(BlockForm::Encoded { text: text::print(&steps), bytes, len: original.len() })
    }
}

/// Refuses what the target has no place for, whatever the file holds.
fn check_target_options(target: &Target, options: &ConvertOptions) -> Result<()> {
    let row = target.generation_as(options.write_options.as_documented);
    if let Some(steps) = &options.encode {
        if !row.encoded {
            return Err(Error::invalid_input(format!("{} has no encoding chains", target.name)).hint("asdf-0.1 has them"));
        }
        if options.codec != CodecChoice::Keep {
            return Err(
                Error::invalid_input("a codec and an encoding chain are mutually exclusive").hint("put zlib into the chain")
            );
        }
        encode_chain::check_chain_steps(steps)?;
    }
    if options.level.is_some() && row.encoded {
        return Err(Error::invalid_input(format!("the encoding chains of {} have no levels", target.name)));
    }
    match options.codec {
        CodecChoice::Fixed(id) if row.fields.compression.is_none() && !(row.encoded && id == CodecId(*b"zlib")) => {
            let error = Error::invalid_input(format!("{} cannot hold blocks compressed with {id}", target.name));
            Err(if row.encoded { error.hint("it can with zlib, as an encoding chain") } else { error })
        }
        _ => Ok(()),
    }
}

/// The comment lines after the header line, and those that must move into the tree.
fn split_comment_lines(file: &AsdfFile, target: &Target, account: &mut LossAccount) -> (Vec<Vec<u8>>, Vec<String>) {
    let header = file.sections().header();
    let old = &header.comments;
    let is_standard = |line: &&String| line.starts_with("#ASDF_STANDARD ");
    let free: Vec<String> = old.iter().filter(|line| !is_standard(line)).cloned().collect();
    if target.standard.is_some() {
        // The lines of the standard go where the old ones were, or first.
        let mut lines: Vec<Vec<u8>> =
            header.raw_comments.iter().zip(old).filter(|(_, line)| !is_standard(line)).map(|(raw, _)| raw.clone()).collect();
        let at = old.iter().position(|line| is_standard(&line)).unwrap_or(0).min(lines.len());
        lines.splice(at..at, target.comments().into_iter().map(String::into_bytes));
        return (lines, Vec::new());
    }
    let is_text = free.iter().all(|line| line.chars().all(|c| !c.is_control() || c == '\t'));
    let has_marker = file.sections().tree().is_some() && file.tree().text().lines().any(|line| line.starts_with("---"));
    if !free.is_empty() && (!has_marker || !is_text) {
        let message = format!("{} has no place for comments after the header line", target.name);
        account.losses.push(Diagnostic::loss_without_path(message));
        return (Vec::new(), Vec::new());
    }
    (Vec::new(), free)
}
