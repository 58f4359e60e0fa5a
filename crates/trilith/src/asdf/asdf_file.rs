//! An open file: its sections, its tree, and its arrays on asking.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::block::Block;
use super::encoding_chain;
use super::ndarray::{self, ElementSource, Ndarray};
use super::sections::AsdfSections;
use super::uris::{self, ReferenceLog};
use super::{annotations, chunked_array, walk};
use crate::array::{Array, Byteorder, Mask};
use crate::bytes::{NoReferences, Resolve, Source, SourceRef, read_vec};
use crate::codec::encoding_chain::BlockArray;
use crate::codec::{self, CodecId};
use crate::error::{Error, Result, ResultExt};
use crate::limits::Limits;
use crate::tree::{self, Node, NodeId, Tree};

/// An open file of the ASDF family, any generation.
///
/// Opening finds the sections and parses the tree; no block is read before an array is asked for.
///
/// ```
/// use std::sync::Arc;
/// use trilith::asdf::AsdfFile;
/// use trilith::{Limits, bytes::MemorySource};
/// let text = "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\na: !core/ndarray-1.1.0 [1, 2, 3]\n...\n";
/// let file = AsdfFile::open(Arc::new(MemorySource::new(text.into(), "example")), &Limits::default())?;
/// let array = file.array_at("/a")?;
/// assert_eq!(array.load::<i64>()?, [1, 2, 3]);
/// # Ok::<(), trilith::Error>(())
/// ```
pub struct AsdfFile {
    sections: AsdfSections,
    tree: Arc<Tree>,
    limits: Limits,
    resolver: Arc<dyn Resolve>,
    fits: Option<Arc<dyn FitsArrays>>,
    number_declarations: Option<Arc<dyn NumberDeclarations>>,
    /// The declarations that `meaning` finds in this tree.
    declared_cache: OnceLock<HashMap<NodeId, NodeId>>,
    container: Option<FitsContainer>,
    /// The data of blocks in the places of their numbers, and external files by URI: both are looked up once. Floats that
    /// an encoding chain makes are there in either byte order.
    decoded_blocks: Mutex<Vec<[Option<SourceRef>; 2]>>,
    external_files: Mutex<HashMap<String, Arc<AsdfFile>>>,
    /// Remarks from following references.
    reference_log: ReferenceLog,
    /// `true` if the tree may hold references.
    references: OnceLock<bool>,
    /// The ndarrays of the tree that have a source, and these sources, by their numbers as they are written.
    source_cache: OnceLock<Vec<(u32, u32)>>,
    /// The mapping `annotations`, if the tree has one.
    annotation_cache: OnceLock<Option<NodeId>>,
    /// Set once every block that the tree names was found.
    pub(super) completeness: OnceLock<()>,
}

/// Purpose for which a block is decoded. It decides the byte order of floats that an encoding chain makes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BlockUse<'a, 't> {
    /// An array that views the block.
    Array(&'a Ndarray<'t>),
    /// A copy of the bytes. All arrays that view them must agree.
    Bytes,
    /// A check that the block can be decoded.
    Check,
}

impl<'a, 't> BlockUse<'a, 't> {
    fn as_array(self) -> Option<&'a Ndarray<'t>> {
        if let Self::Array(array) = self { Some(array) } else { None }
    }
}

/// The file around an embedded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FitsContainer {
    /// Number of the FITS HDU, from 0.
    pub hdu: usize,
    /// First byte of the embedded file.
    pub offset: u64,
    /// Size of the outer file.
    pub size: u64,
}

/// Arrays of the FITS file around an ASDF file (`source: fits:SCI,1`).
pub trait FitsArrays: Any + Send + Sync {
    /// The array of the HDU that `spec` names: `NAME,VER`, `NAME` or a number.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if there is no such HDU.
    fn hdu_array(&self, spec: &str) -> Result<Array>;

    /// Returns problems of the FITS file that do not stop reading it.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Declarations of the tree about the numbers of its arrays, outside of their nodes.
pub trait NumberDeclarations: Send + Sync {
    /// The arrays about which the tree declares something, each with the node that does. A file asks once.
    fn find_declarations(&self, file: &AsdfFile) -> HashMap<NodeId, NodeId>;

    /// The array with its physical values, by the node that declares them and the array as it is stored.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the description in the tree is impossible.
    fn physical_array(&self, declaration: Node<'_>, stored: Array) -> Result<Array>;
}

impl AsdfFile {
    /// Opens a file. References to other files are errors until [`AsdfFile::with_resolver`] permits them.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the header or the tree is broken. Broken
    /// blocks are reported when they are read.
    pub fn open(source: SourceRef, limits: &Limits) -> Result<Self> {
        let limits = &limits.for_calls(source.len());
        let (sections, text) = AsdfSections::read_with_tree(source, None, limits)?;
        let tree =
            read_tree(&sections, text, limits).with_context(|| format!("reading the tree of {}", sections.source().name()))?;
        Ok(Self::from_parts(sections, tree, limits))
    }

    /// Does the same as [`AsdfFile::open`], for bytes whose tree is known.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfFile::open`].
    pub(crate) fn open_with_tree(source: SourceRef, tree: Tree, limits: &Limits) -> Result<Self> {
        let limits = &limits.for_calls(source.len());
        let (sections, _) = AsdfSections::read_with_tree(source, None, limits)?;
        Ok(Self::from_parts(sections, tree, limits))
    }

    /// Opens a file if its tree has the text of a known one, which is not parsed again. Otherwise returns `None`.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfFile::open`].
    pub(crate) fn open_if_tree(source: SourceRef, tree: &Tree, limits: &Limits) -> Result<Option<Self>> {
        let limits = &limits.for_calls(source.len());
        let (sections, text) = AsdfSections::read_with_tree(source, None, limits)?;
        let is_known = text.is_some_and(|text| text.trim_ascii_end() == tree.text().trim_ascii_end().as_bytes());
        Ok(is_known.then(|| Self::from_parts(sections, tree.clone(), limits)))
    }

    fn from_parts(mut sections: AsdfSections, tree: Tree, limits: &Limits) -> Self {
        let tree = Arc::new(tree);
        let counted = tree.clone();
        sections.set_needed_blocks(move || blocks_needed(&counted));
        Self {
            sections,
            tree,
            limits: limits.clone(),
            resolver: Arc::new(NoReferences),
            fits: None,
            number_declarations: None,
            declared_cache: OnceLock::new(),
            container: None,
            decoded_blocks: Mutex::default(),
            external_files: Mutex::default(),
            reference_log: ReferenceLog::default(),
            references: OnceLock::new(),
            source_cache: OnceLock::new(),
            annotation_cache: OnceLock::new(),
            completeness: OnceLock::new(),
        }
    }

    /// Lets references lead where `resolve` allows.
    #[must_use]
    pub fn with_resolver(mut self, resolve: Arc<dyn Resolve>) -> Self {
        self.resolver = resolve;
        self
    }

    /// Lets [`AsdfFile::array`] give the physical values that `meaning` finds.
    #[must_use]
    pub fn with_meaning(mut self, meaning: Arc<dyn NumberDeclarations>) -> Self {
        self.number_declarations = Some(meaning);
        self
    }

    /// Sets the FITS file that this file is inside of, in which `fits:` sources find HDUs.
    #[must_use]
    pub fn with_container(mut self, container: FitsContainer, fits: Arc<dyn FitsArrays>) -> Self {
        self.container = Some(container);
        self.fits = Some(fits);
        self
    }

    /// The file around this one, if there is one.
    pub fn container(&self) -> Option<FitsContainer> {
        self.container
    }

    /// Returns the FITS file around this one, or the one that it was derived from.
    pub fn fits_file(&self) -> Option<&dyn FitsArrays> {
        self.fits.as_deref()
    }

    /// Size of the whole file, that around this one included.
    pub fn size(&self) -> u64 {
        self.container.map_or(self.sections.source().len(), |container| container.size)
    }

    /// Returns the places of header, tree, blocks and index.
    pub fn sections(&self) -> &AsdfSections {
        &self.sections
    }

    /// The tree; that of a file without one is empty.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The version of the standard that the file follows: one of 1.x that states none follows 1.0.
    pub fn standard(&self) -> Option<String> {
        let header = self.sections().header();
        match header.standard() {
            Some(version) => Some(version.to_owned()),
            None => header.line.starts_with("#ASDF 1.").then(|| "1.0.0".to_owned()),
        }
    }

    /// The limits that it was opened with.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns problems of the file that do not stop reading it.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.sections.warnings();
        warnings.extend(self.fits.as_ref().map(|fits| fits.warnings()).unwrap_or_default());
        warnings.extend(self.tree.warnings().iter().map(|w| format!("line {}, column {}: {}", w.line, w.column, w.message)));
        warnings
    }

    /// Returns the results of following references, in this file and in those that it led to.
    pub fn reference_log(&self) -> &ReferenceLog {
        &self.reference_log
    }

    /// Returns the resolver that opens the files that this one refers to.
    pub fn resolver(&self) -> &Arc<dyn Resolve> {
        &self.resolver
    }

    /// Returns `true` if the file is of a generation whose writers put one `../` too many.
    pub(crate) fn is_early(&self) -> bool {
        self.sections.header().candidate_generations.first().is_some_and(|row| row.major_version == 0)
    }

    /// Replaces the tree by another one for the same blocks, whose references `resolve` resolves.
    pub(crate) fn with_tree(mut self, tree: Tree, resolve: Arc<dyn Resolve>) -> Self {
        (self.tree, self.resolver, self.external_files) = (Arc::new(tree), resolve, Mutex::default());
        (self.references, self.source_cache, self.declared_cache) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        (self.annotation_cache, self.completeness) = (OnceLock::new(), OnceLock::new());
        self
    }

    /// The mapping [`annotations`], if the tree has one.
    pub(crate) fn annotations(&self) -> Option<Node<'_>> {
        let found = self.annotation_cache.get_or_init(|| annotations::find(&self.tree).map(|(_, node)| node.id()));
        found.and_then(|id| self.tree.node(id))
    }

    /// The results of [`walk::ndarrays_with_source`], if it was called before.
    pub(super) fn cached_sources(&self) -> &OnceLock<Vec<(u32, u32)>> {
        &self.source_cache
    }

    /// The names of the steps of a block's encoding chain (generations E0 and E); None without one.
    pub fn encoding_names(&self, block: &Block) -> Option<Vec<String>> {
        encoding_chain::chain_step_names(block, self.sections.source(), &self.limits)
    }

    /// The decoded bytes of a block; nothing is decoded before they are read.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the block does not exist or its sizes are
    /// wrong, [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for an unknown codec or encoding.
    pub fn block_data(&self, number: i64) -> Result<SourceRef> {
        self.block_for(number, BlockUse::Bytes)
    }

    /// Returns the block for a check that it can be decoded. The bytes are not used otherwise.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfFile::block_data`].
    pub(crate) fn block_checked(&self, number: i64) -> Result<SourceRef> {
        self.block_for(number, BlockUse::Check)
    }

    /// Refuses blocks that together are more to decode than the command may go through, before the first is.
    pub(crate) fn check_decoding<'b>(&self, blocks: impl IntoIterator<Item = &'b Block>) -> Result<()> {
        let decoded = blocks.into_iter().filter(|block| !block.is_uncompressed()).map(Block::decoded_len);
        self.limits.check_work(decoded.fold(0, u64::saturating_add))
    }

    fn block_for(&self, number: i64, whom: BlockUse<'_, '_>) -> Result<SourceRef> {
        let block = self.sections.block(number)?;
        let mut order = Byteorder::Little;
        if block.has_encoding_chain() {
            let stored = block.stored_source(self.sections.source())?;
            let doing = || format!("block {}", block.index);
            match whom {
                BlockUse::Array(array) => {
                    encoding_chain::is_consistent(block, &*stored, array, &self.limits).with_context(doing)?;
                    order = array.byteorder;
                }
                BlockUse::Bytes if encoding_chain::makes_floats(block, &*stored, &self.limits).with_context(doing)? => {
                    order = self.chain_byteorder(block, whom).with_context(doing)?;
                }
                BlockUse::Bytes | BlockUse::Check => {}
            }
        }
        let order = usize::from(order == Byteorder::Big);
        let mut decoded = self.decoded_blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = decoded.get(block.index).and_then(|orders| orders.get(order)?.as_ref()) {
            return Ok(source.clone());
        }
        let stored = block.stored_source(self.sections.source())?;
        let source = self.decode_block(block, stored, whom)?;
        if decoded.len() <= block.index {
            // The cache grows no longer than the list of the blocks, which is held already.
            decoded.resize(block.index + 1, [None, None]);
        }
        if let Some(place) = decoded.get_mut(block.index).and_then(|orders| orders.get_mut(order)) {
            *place = Some(source.clone());
        }
        Ok(source)
    }

    /// The decoded bytes of a block, whose used bytes are read from `stored`.
    pub(crate) fn decode_block(&self, block: &Block, stored: SourceRef, whom: BlockUse<'_, '_>) -> Result<SourceRef> {
        if block.is_uncompressed() {
            return Ok(stored);
        }
        let decoder = if block.has_encoding_chain() || block.encoding_codes != [0; 16] {
            encoding_chain::new_chain_decoder(
                block,
                stored,
                || self.find_filling_array(block, whom.as_array()),
                || self.chain_byteorder(block, whom),
                &self.limits,
            )
        } else {
            codec::decoder(CodecId(block.compression), stored, block.data_size, &self.limits)
        };
        decoder.with_context(|| format!("block {}", block.index))
    }

    /// The byte order of floats that the chain of a block makes: the chain states values, and each array that views the
    /// block states the order of their bytes.
    fn chain_byteorder(&self, block: &Block, whom: BlockUse<'_, '_>) -> Result<Byteorder> {
        match whom {
            BlockUse::Array(array) => return Ok(array.byteorder),
            BlockUse::Check => return Ok(Byteorder::Little),
            BlockUse::Bytes => {}
        }
        let mut found = None;
        for (node, source) in walk::ndarrays_with_source(self)? {
            let views =
                source.as_i64().and_then(|number| self.sections.block(number).ok()).is_some_and(|b| b.index == block.index);
            let Some(array) = views.then(|| Ndarray::parse(node, &self.limits).ok()).flatten() else { continue };
            if found.is_some_and(|order| order != array.byteorder) {
                let message = "arrays of either byte order view its quantized values";
                return Err(
                    Error::unsupported(message).hint("give all arrays of the block one byteorder, or read them one by one")
                );
            }
            found = Some(array.byteorder);
        }
        found.ok_or_else(|| {
            Error::unsupported("the byte order of its quantized values is stated by an array, and no array of this file views it")
                .hint("open the file whose array refers to it; implode joins the two")
        })
    }

    /// The array that fills a block, for an encoding chain that leaves arguments to it: the one that
    /// asks, or else the first of the tree.
    fn find_filling_array(&self, block: &Block, array: Option<&Ndarray<'_>>) -> Option<BlockArray> {
        let described = |array: &Ndarray<'_>| encoding_chain::block_array(array, block.data_size);
        if let Some(found) = array.and_then(described) {
            return Some(found);
        }
        let mut walk = self.tree.root().walk(&self.limits).without_merge();
        while let Ok(Some(visit)) = walk.try_next() {
            if !ndarray::is_ndarray(visit.node) {
                continue;
            }
            let Ok(array) = Ndarray::parse(visit.node, &self.limits) else { continue };
            let ElementSource::Block(number) = array.origin else { continue };
            if self.sections.block(number).is_ok_and(|found| found.index == block.index)
                && let Some(found) = described(&array)
            {
                return Some(found);
            }
        }
        None
    }

    /// The array at a tree path (a JSON Pointer); `$ref`s on the way are followed.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such path,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it leads to no ndarray, and the errors of
    /// [`AsdfFile::array`].
    pub fn array_at(&self, path: &str) -> Result<Array> {
        let found = walk::find(self, path)?;
        let node = found.node(self);
        if !ndarray::is_ndarray(node) {
            return Err(Error::invalid_input("this is not an ndarray").at_path(path));
        }
        found.file(self).array(node).map_err(|e| e.context(path.to_owned()))
    }

    /// Returns the array of an ndarray node of this file's tree, with its physical values: the cards of a FITS header next to it
    /// are applied.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the node or its block is broken,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for an unknown codec,
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if an external source is refused.
    pub fn array(&self, node: Node<'_>) -> Result<Array> {
        self.physical_array(node, self.stored_array(node)?)
    }

    /// Returns the physical values of the array of a node.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if what is declared about the elements is broken.
    pub(crate) fn physical_array(&self, node: Node<'_>, stored: Array) -> Result<Array> {
        let Some(meaning) = &self.number_declarations else { return Ok(stored) };
        let declared = self.declared_cache.get_or_init(|| meaning.find_declarations(self));
        match declared.get(&node.id()).and_then(|declaration| self.tree.node(*declaration)) {
            Some(declaration) => meaning.physical_array(declaration, stored),
            None => Ok(stored),
        }
    }

    /// Returns the array of [`AsdfFile::array`], with the elements that the tree and its blocks store.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfFile::array`].
    pub fn stored_array(&self, node: Node<'_>) -> Result<Array> {
        self.with_resolved(node, |described| {
            let mut array = self.build_unmasked_array(described)?;
            if let Some(mask) = described.mask.map(|mask| self.read_mask(mask)).transpose()?.flatten() {
                array = array.or_mask(mask).map_err(|e| node.locate(e))?;
            }
            Ok(array)
        })
    }

    /// Reads the node of a mask, which may be a reference. From 1.0 on a list without a tag is not an array, and masks nothing.
    fn read_mask(&self, node: Node<'_>) -> Result<Option<Mask>> {
        let found = walk::follow(self, &walk::FoundNode::root(self).with_node(node)).with_context(|| "mask")?;
        let (file, node) = (found.file(self), found.node(self));
        if let Some(mask) = Ndarray::scalar_mask(node)? {
            return Ok(Some(mask));
        }
        if node.tag().is_none() && !file.is_early() {
            let (line, _) = node.line_column();
            let name = file.sections.source().name();
            let message = "is neither a number nor a node with the tag of an ndarray, and masks nothing";
            self.reference_log.add_remark(format!("{name}: the mask at line {line} {message}"));
            return Ok(None);
        }
        Ok(Some(Mask::Array(Arc::new(file.unmasked_array(node).with_context(|| "mask")?))))
    }

    /// Reads an ndarray node whose `$ref`s are followed: a reference has "the same logical content as the target"
    /// (0.1.0dev, 3.2), inside of an ndarray as elsewhere. Its mask is left as written: it may be an array of another file.
    fn with_resolved<T>(&self, node: Node<'_>, take: impl FnOnce(&Ndarray<'_>) -> Result<T>) -> Result<T> {
        if !*self.references.get_or_init(|| self.tree.may_refer()) || !walk::holds_references(node, &self.limits)? {
            return take(&Ndarray::parse(node, &self.limits)?);
        }
        let value = super::expand::value_of(self, node, &|key| key == "mask")?;
        let text = tree::print_value(&value, 0, &tree::PrintOptions::default());
        let tree = Tree::parse(text, &self.limits)?;
        let mut described = Ndarray::parse(tree.root(), &self.limits).map_err(|e| node.locate(e))?;
        described.mask = node.get("mask").filter(|mask| node.is_mapping() && !mask.is_null());
        take(&described)
    }

    /// Returns the array of [`AsdfFile::array`], without its mask.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfFile::array`].
    pub(crate) fn unmasked_array(&self, node: Node<'_>) -> Result<Array> {
        self.with_resolved(node, |described| self.build_unmasked_array(described))
    }

    fn build_unmasked_array(&self, described: &Ndarray<'_>) -> Result<Array> {
        let node = described.node;
        if let Some(assumption) = described.assumption {
            let (line, _) = node.line_column();
            self.reference_log
                .add_remark(format!("{}: the array at line {line} has {assumption}", self.sections.source().name()));
        }
        match &described.origin {
            ElementSource::Inline(data) => described.inline(*data, &self.limits),
            ElementSource::Block(number) => {
                let source = self.block_for(*number, BlockUse::Array(described)).map_err(|e| e.context(at_line(node)))?;
                described.array_over(source, &self.limits)
            }
            ElementSource::External(uri) => {
                let file = self.external_files(uri).map_err(|e| e.context(at_line(node)))?;
                described.array_over(file.block_for(0, BlockUse::Array(described))?, &self.limits)
            }
            ElementSource::Chunks(node) => chunked_array::open_zarr_array(self, *node).map_err(|e| e.context(at_line(*node))),
            ElementSource::FitsHdu(spec) => match &self.fits {
                // The tree that is made of the HDUs of a file has no lines that a reader could look up.
                Some(fits) if self.container.is_some_and(|container| container.hdu == 0) => fits.hdu_array(spec),
                Some(fits) => fits.hdu_array(spec).map_err(|e| e.context(at_line(node))),
                None => Err(node.error(format!("source fits:{spec}, but this file is not inside a FITS file"))),
            },
        }
    }

    /// The other files that were opened so far, because this one or one of them refers to them.
    pub fn referenced_files(&self) -> Vec<Arc<AsdfFile>> {
        let direct = |file: &AsdfFile| -> Vec<Arc<AsdfFile>> {
            file.external_files.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
        };
        let mut all = direct(self);
        let mut next = 0;
        while let Some(file) = all.get(next).cloned() {
            all.extend(direct(&file));
            next += 1;
        }
        all
    }

    /// Another file that this one refers to, opened once.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the reference is refused, and an error if the file
    /// cannot be opened.
    pub fn external_files(&self, uri: &str) -> Result<Arc<AsdfFile>> {
        let mut files = self.external_files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(uri) {
            return Ok(file.clone());
        }
        let meant = uris::reinterpret(&*self.resolver, self.is_early(), uri);
        let (source, resolve) = self.resolver.resolve(meant)?;
        self.limits.add_input(source.len());
        self.reference_log.add_reference(self.sections.source().name(), uri, meant, source.name());
        let mut file = AsdfFile::open(source, &self.limits)?.with_resolver(resolve);
        (file.reference_log, file.number_declarations) = (self.reference_log.clone(), self.number_declarations.clone());
        let file = Arc::new(file);
        files.insert(uri.to_owned(), file.clone());
        Ok(file)
    }
}

impl std::fmt::Debug for AsdfFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsdfFile")
            .field("name", &self.sections.source().name())
            .field("generation", &self.sections.generation_name())
            .finish_non_exhaustive()
    }
}

fn at_line(node: Node<'_>) -> String {
    format!("the ndarray at line {}", node.line_column().0)
}

/// Returns the number of blocks that the arrays of the tree need: the highest block number that they name, plus one.
fn blocks_needed(tree: &Tree) -> usize {
    let sources = walk::source_block_numbers(tree);
    let numbers = sources.iter().filter_map(|(_, source)| usize::try_from(tree.node_at(*source as usize)?.as_i64()?).ok());
    numbers.map(|number| number.saturating_add(1)).max().unwrap_or(0)
}

/// Parses the tree, whose text may have been read already.
fn read_tree(sections: &AsdfSections, text: Option<Vec<u8>>, limits: &Limits) -> Result<Tree> {
    let Some(extent) = sections.tree() else {
        return Tree::parse("", limits);
    };
    let source: &dyn Source = &**sections.source();
    // The lines in front count, so that line and column are those of the file.
    let before = read_vec(source, 0, extent.start, limits)?;
    let lines = memchr::memchr_iter(b'\n', &before).count();
    let size = extent.end - extent.start;
    limits.charge_memory(size, "the tree")?;
    let text = text.map_or_else(|| read_vec(source, extent.start, size, limits), Ok)?;
    let origin = tree::TextOrigin::new(extent.start, u32::try_from(lines).unwrap_or(u32::MAX).saturating_add(1));
    Tree::parse_bytes(text, origin, limits)
}
