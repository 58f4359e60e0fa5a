//! Changes of a file: values of its tree, and arrays that are added, replaced or removed with their blocks.
//!
//! A [`Change`] collects edits and is then saved ([`Change::save`]): in place under a rollback journal, or as a new
//! file. A block without any references left is removed with its array. If arrays are in separate files (ASDF 1.x,
//! "Exploded form"), a new array gets a separate file, too: it is written before the tree names it, and files that
//! the tree no longer names are removed after that.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use crate::array::Array;
use crate::asdf::builder::datatype_value;
use crate::asdf::generation::Generation;
use crate::asdf::ndarray::Ndarray;
use crate::asdf::update::{self, BlockPlacement};
use crate::asdf::{
    ArrayOptions, AsdfBuilder, AsdfFile, Block, BlockOptions, StoredBlock, Target, WriteOptions, chunked_array, ndarray, walk,
};
use crate::assemble::{self, BlockCodec, CopiedBlock, NewSource};
use crate::bytes::{self, FileUpdate};
use crate::codec::{CodecId, opt_codec};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::file::{File, container_fits, header_update};
use crate::fits::FitsFile;
use crate::limits::Limits;
use crate::tree::{Edit, Node, PrintOptions, Tree, TreePath, Value};
use crate::yaml::print_document;
use pending::{PendingEdit, PendingEdits};

mod annotation_steps;
mod card_rename;
mod exploded;
mod fits_copies;
mod history;
mod parse_value;
mod pending;
mod place_resolution;
mod row_writer;
mod save;
mod streamed_block;

pub use history::history;
pub use parse_value::ValueSyntax;
pub use row_writer::{RowOptions, RowReport, RowWriter};
pub use save::{SaveOptions, SaveReport, SaveTarget};
pub use streamed_block::finalise;

impl File {
    /// Starts a change of the file, to be saved in place or as a new file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for files of other families than ASDF and
    /// FITS.
    ///
    /// ```no_run
    /// let file = trilith::open("image.asdf")?;
    /// let mut change = file.edit()?;
    /// change.set("/meta/observer", "H. Leavitt")?;
    /// change.delete("/meta/draft")?;
    /// change.save(Default::default())?;
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn edit(&self) -> Result<Change<'_>> {
        let wrong = || {
            let (name, what) = (self.source().name(), self.format());
            Error::unsupported(format!(
                "cannot edit {name}: it is {what}, and only ASDF files and the headers of FITS files are edited"
            ))
            .hint("convert it to ASDF first, which keeps arrays, groups and attributes, and lists what is lost")
        };
        self.as_asdf().map(Change::new).ok_or_else(wrong)
    }
}

/// The numbers that blocks of the file, and new ones after them, have once a change is saved.
type BlockNumbers = BTreeMap<i64, usize>;

/// The ndarrays of a tree that have a source, with these sources.
type SourcedNdarrays<'t> = Vec<(Node<'t>, Node<'t>)>;

/// Changes to an open file that were not saved yet.
///
/// ```
/// use trilith::{Array, ArrayOptions, AsdfBuilder, Target, Value};
/// # let folder = std::env::temp_dir().join(format!("trilith-change-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("image.asdf");
/// let mut builder = AsdfBuilder::new(Target::latest());
/// let image = builder.array(&Array::from_slice(&[1i32, 2, 3], &[3])?, &ArrayOptions::default())?;
/// builder.write(&path, Value::map([("image", image)]))?;
///
/// let file = trilith::open(&path)?;
/// let mut change = file.edit()?;
/// let other = Array::from_slice(&[0.5f64, 1.5], &[2])?;
/// change.set_array("/image", &other, &ArrayOptions::default())?;
/// change.set("/exposure", 30)?;
/// let mut out = std::io::Cursor::new(Vec::new());
/// change.write(&mut out, &Default::default())?;
///
/// let changed = trilith::open_asdf_bytes(out.into_inner())?;
/// assert_eq!(changed.array_at("/image")?.load::<f64>()?, [0.5, 1.5]);
/// assert_eq!(changed.sections().blocks()?.len(), 1);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), trilith::Error>(())
/// ```
pub struct Change<'f> {
    file: &'f AsdfFile,
    /// The tree with all edits but those that wait; `None` while there are none.
    tree: Option<Tree>,
    /// Edits that are made together, when somebody needs the tree with them.
    pending_edits: PendingEdits,
    /// Notes on changes of collections that are in several places of the tree.
    shared: BTreeSet<String>,
    /// Blocks that are new; they count on after those of the file. They get their checksums when the change is saved.
    added: Vec<StoredBlock>,
    /// Blocks that the file and the added ones have together.
    count: usize,
    /// New files of the exploded form: their names, and the block of each.
    external_parts: Vec<(String, StoredBlock)>,
    /// `true` if blocks stay even if the new tree no longer refers to them.
    keeps_blocks: bool,
}

impl<'f> Change<'f> {
    /// Creates a change without any edits.
    pub fn new(file: &'f AsdfFile) -> Self {
        let count = file.sections().blocks().map_or(0, |blocks| blocks.len());
        Self {
            file,
            tree: None,
            pending_edits: PendingEdits::default(),
            shared: BTreeSet::new(),
            added: Vec::new(),
            count,
            external_parts: Vec::new(),
            keeps_blocks: false,
        }
    }

    /// The file that is changed.
    pub fn file(&self) -> &'f AsdfFile {
        self.file
    }

    /// Returns the tree with all changes so far.
    ///
    /// # Errors
    /// Returns the errors of [`Edit::finish`], for the changes that were not checked together yet.
    pub fn tree(&mut self) -> Result<&Tree> {
        self.apply_pending()?;
        Ok(self.current_tree())
    }

    /// Makes the edits that wait.
    fn apply_pending(&mut self) -> Result<()> {
        if !self.pending_edits.is_empty() {
            let limits = self.file.limits();
            self.shared.append(&mut self.pending_edits.shared);
            self.tree = Some(self.pending_edits.apply_all(self.tree.as_ref().unwrap_or_else(|| self.file.tree()), limits)?);
        }
        Ok(())
    }

    /// The tree with all changes but those that wait.
    fn current_tree(&self) -> &Tree {
        self.tree.as_ref().unwrap_or_else(|| self.file.tree())
    }

    /// Notes an edit; those that depend on each other are made one after the other.
    fn stage_step(&mut self, step: PendingEdit) -> Result<()> {
        let tree = self.tree.as_ref().unwrap_or_else(|| self.file.tree());
        if let Some(step) = self.pending_edits.try_add_step(step, tree)? {
            self.apply_pending()?;
            let tree = self.tree.as_ref().unwrap_or_else(|| self.file.tree());
            self.pending_edits.try_add_step(step, tree)?;
        }
        Ok(())
    }

    /// Makes the edits that wait, if one of them has to do with a path.
    fn apply_pending_at(&mut self, path: &TreePath) -> Result<()> {
        if self.pending_edits.is_unaffected(path) { Ok(()) } else { self.apply_pending() }
    }

    /// Returns warnings on the changes so far, and forgets those on shared collections: changes that are at several paths, and values
    /// that stay as they were in the other half of a FITS file. [`Change::save`] reports them as well.
    ///
    /// # Errors
    /// Returns the errors of [`Change::tree`], and an error if the file cannot be read.
    #[doc(hidden)]
    pub fn take_warnings(&mut self) -> Result<Vec<String>> {
        self.apply_pending()?;
        let mut warnings: Vec<String> = std::mem::take(&mut self.shared).into_iter().collect();
        warnings.extend(fits_copies::find_stale_copies(self.file, self.current_tree())?);
        Ok(warnings)
    }

    fn moves_blocks(&self) -> Result<bool> {
        Ok(!self.added.is_empty() || !self.find_freed_blocks()?.is_empty())
    }

    /// Returns `true` if new arrays get separate files, because the file is in the exploded form.
    pub fn has_new_files(&self) -> bool {
        !self.external_parts.is_empty()
    }

    /// Edits the tree with the changes so far, key by key. Annotations do not follow: [`Change::rename`] and [`Change::delete`] take
    /// them along.
    ///
    /// # Errors
    /// Returns the errors of `make` and of [`Edit::finish`].
    pub fn edit(&mut self, make: impl for<'t> FnOnce(&mut Edit<'t>, &'t Tree) -> Result<()>) -> Result<()> {
        self.apply_edit(make, |edit, limits| edit.finish(limits))
    }

    fn apply_edit(
        &mut self,
        make: impl for<'t> FnOnce(&mut Edit<'t>, &'t Tree) -> Result<()>,
        finish: impl FnOnce(Edit<'_>, &Limits) -> Result<Tree>,
    ) -> Result<()> {
        self.apply_pending()?;
        let tree = self.current_tree();
        let mut edit = tree.edit();
        make(&mut edit, tree)?;
        let mut shared = edit.shared();
        let made = finish(edit, self.file.limits())?;
        self.shared.append(&mut shared);
        self.tree = Some(made);
        Ok(())
    }

    /// Makes an edit like [`Change::edit`] that only adds: all content of the tree is still in it afterwards.
    ///
    /// # Errors
    /// Returns the errors of `make` and of [`Edit::finish_adding`].
    pub fn add(&mut self, make: impl for<'t> FnOnce(&mut Edit<'t>, &'t Tree) -> Result<()>) -> Result<()> {
        self.apply_edit(make, |edit, limits| edit.finish_adding(limits))
    }

    /// Takes another tree for the same blocks, which all stay, under their numbers. The annotations of items that are gone go with
    /// them.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if an array of the new tree cannot be made of
    /// the blocks of the file, and is not like that in the old tree. Returns
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if content of the new tree does not fit its tag.
    pub fn replace_tree(&mut self, tree: Tree) -> Result<()> {
        if tree.text().trim().is_empty() {
            return Err(Error::invalid_input("the new text is empty: the whole tree would be gone")
                .hint("for a tree without keys write {}"));
        }
        if let Err(error) = tree.check_tags()
            && self.file.tree().check_tags().is_ok()
        {
            return Err(error);
        }
        let mut walk = tree.root().walk(self.file.limits());
        while let Some(visit) = walk.try_next()? {
            if !ndarray::is_ndarray(visit.node) {
                continue;
            }
            walk.skip_children();
            match self.file.stored_array(visit.node) {
                Err(error) if error.kind() == crate::ErrorKind::Malformed && !self.has_had(visit.node)? => return Err(error),
                // A file that may not be opened, or is missing today, may exist tomorrow.
                _ => {}
            }
        }
        let stale = annotation_steps::stale_entries(self.file.tree(), &tree);
        self.pending_edits = PendingEdits::default();
        self.tree = Some(tree);
        self.keeps_blocks = true;
        stale.into_iter().try_for_each(|path| self.stage_step(PendingEdit::Delete(path)))
    }

    /// Replaces the tree by another one. It must refer to the blocks of the file by their numbers, and to new blocks by those of
    /// [`Change::add_block`]. Blocks that only the old tree refers to are dropped.
    pub fn set_tree(&mut self, tree: Tree) {
        self.pending_edits = PendingEdits::default();
        self.tree = Some(tree);
    }

    /// Adds a block of the bytes that `pieces` hands over; its number until the change is saved.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the generation of the file cannot hold it, and the
    /// errors of the codec and of `pieces`.
    pub fn add_block(
        &mut self,
        options: &BlockOptions,
        pieces: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<usize> {
        self.added.push(StoredBlock::encode_unhashed(self.generation()?, options, pieces)?);
        self.count += 1;
        Ok(self.count - 1)
    }

    /// Returns `true` if the tree of the file holds an array of the same words.
    fn has_had(&self, node: Node<'_>) -> Result<bool> {
        let mut walk = self.file.tree().root().walk(self.file.limits());
        while let Some(visit) = walk.try_next()? {
            if ndarray::is_ndarray(visit.node) {
                if visit.node.source_text() == node.source_text() {
                    return Ok(true);
                }
                walk.skip_children();
            }
        }
        Ok(false)
    }

    /// Sets the value at a path. A missing key is added. `PATH@NAME` is a card of a FITS header.
    ///
    /// The path is checked at once, and the new text of the tree when the change is saved. So a thousand values cost little more
    /// than one.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the path leads nowhere,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a new key that is empty, or an index below an array, and
    /// the errors of [`Edit::set`].
    pub fn set(&mut self, path: impl TryInto<TreePath, Error: Into<Error>>, value: impl Into<Value>) -> Result<()> {
        let path = self.resolve_place(path.try_into().map_err(Into::into)?)?;
        self.stage_change(PendingEdit::Set(path, value.into()))
    }

    /// Adds a value under a new key, or as an item of a sequence (`-`: at the end), or as a card (`PATH@NAME`).
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the key is there already, and the errors of
    /// [`Change::set`].
    pub fn insert(&mut self, path: impl TryInto<TreePath, Error: Into<Error>>, value: impl Into<Value>) -> Result<()> {
        let path = self.resolve_place(path.try_into().map_err(Into::into)?)?;
        self.stage_change(PendingEdit::Insert(path, value.into()))
    }

    /// Stores an array at a path. A missing key is added. Unless `options` name a codec, the array gets the codec of the array
    /// that it replaces.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the path leads nowhere, and
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for datatypes and codecs that the generation lacks and for
    /// streamed arrays. Returns an error if the array cannot be read.
    pub fn set_array(
        &mut self,
        path: impl TryInto<TreePath, Error: Into<Error>>,
        array: &Array,
        options: &ArrayOptions,
    ) -> Result<()> {
        let path = self.resolve_place(path.try_into().map_err(Into::into)?)?;
        let node = self.replacement_node(&path, array, options)?;
        self.stage_change(PendingEdit::Set(path, node))
    }

    /// Writes one value into every element of the array at a path. Datatype, shape and codec stay, and the mask is removed.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if there is no array, or if its datatype does not hold the
    /// value, and the errors of [`Change::set_array`].
    pub fn fill_array(&mut self, path: impl TryInto<TreePath, Error: Into<Error>>, value: &Value) -> Result<()> {
        let path = path.try_into().map_err(Into::into)?;
        self.apply_pending_at(&path)?;
        let limits = self.file.limits();
        let node = self.current_tree().find(&path).map(|node| node.alias_target().unwrap_or(node));
        let node = node.filter(|node| ndarray::is_ndarray(*node)).ok_or_else(|| {
            Error::unsupported(format!("cannot fill {path}: there is no array")).hint("name an array of the tree")
        })?;
        let array = self.file.stored_array(node)?;
        let datatype = datatype_value(array.datatype(), None, "datatype");
        let element = Value::map([("data", Value::seq([value.clone()])), ("datatype", datatype)]);
        let element = Tree::parse(print_document(&element, &PrintOptions::default()), limits)?;
        let filled = Ndarray::parse(element.root(), limits).and_then(|described| match element.root().get("data") {
            Some(data) => described.inline(data, limits),
            None => Err(Error::invalid_input("no value to fill with")),
        });
        let filled = filled.and_then(|element| element.reshape(&[])?.broadcast_to(array.shape())).map_err(|error| {
            Error::unsupported(format!("cannot fill {path}, an array of {}: {}", array.datatype(), error.message()))
        })?;
        let node = self.replacement_node(&path, &filled, &ArrayOptions::default())?;
        self.stage_step(PendingEdit::Set(path, node))
    }

    /// Stores an array that takes the place of the one at a path, and returns the node that is to be put there.
    pub(crate) fn replacement_node(&mut self, path: &TreePath, array: &Array, options: &ArrayOptions) -> Result<Value> {
        self.apply_pending_at(path)?;
        let mut options = options.clone();
        if options.codec.is_none() && !options.inline {
            options.codec = self.codec_at(path);
        }
        self.store_array(Some(path), array, &options)
    }

    /// Adds an array under a new key, or as an item of a sequence (`-`: at the end).
    ///
    /// # Errors
    /// Returns the errors of [`Change::set_array`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the key is
    /// there already.
    pub fn insert_array(
        &mut self,
        path: impl TryInto<TreePath, Error: Into<Error>>,
        array: &Array,
        options: &ArrayOptions,
    ) -> Result<()> {
        let path = self.resolve_place(path.try_into().map_err(Into::into)?)?;
        self.apply_pending_at(&path)?;
        let node = self.store_array(None, array, options)?;
        self.stage_change(PendingEdit::Insert(path, node))
    }

    /// Removes a key, an item or a card. The blocks of its arrays go with it, unless others refer to them, and so do the
    /// annotations of the item.
    ///
    /// # Errors
    /// Returns the errors of [`Edit::delete`].
    pub fn delete(&mut self, path: impl TryInto<TreePath, Error: Into<Error>>) -> Result<()> {
        let path = self.resolve_place(path.try_into().map_err(Into::into)?)?;
        self.stage_change(PendingEdit::Delete(path))
    }

    /// The codec of the array at a path, if this build can write it.
    fn codec_at(&self, path: &TreePath) -> Option<CodecId> {
        let number = self.current_tree().find(path).filter(|node| ndarray::is_ndarray(*node))?.get("source")?.as_i64()?;
        let label = self.file.sections().block(number).ok()?.compression;
        Some(CodecId(label)).filter(|codec| opt_codec(*codec).is_some())
    }

    /// Stores an array in separate blocks or in a separate file, and returns the node that describes it.
    fn store_array(&mut self, path: Option<&TreePath>, array: &Array, options: &ArrayOptions) -> Result<Value> {
        if options.streamed {
            return Err(
                Error::invalid_input("a streamed array cannot be put into a file that exists").hint("write a new file with it")
            );
        }
        let row = self.generation()?;
        let mut builder = AsdfBuilder::new(target_of(self.file));
        let mut node = builder.array(array, options)?;
        self.match_dialect(&mut node);
        if options.inline {
            return Ok(node);
        }
        let mut blocks = builder.into_unhashed_blocks(row, &**self.file.sections().source())?;
        if self.is_exploded(path)? {
            StoredBlock::add_checksums(&mut blocks)?;
            self.store_beside(blocks, &mut node)?;
            return Ok(node);
        }
        let first = self.count;
        replace_sources(&mut node, &mut |number| Ok(Value::from((first + number) as u64)))?;
        self.count += blocks.len();
        self.added.extend(blocks);
        Ok(node)
    }

    /// Returns `true` if a new array gets a separate file, because the array that it replaces or all others have
    /// one.
    fn is_exploded(&self, path: Option<&TreePath>) -> Result<bool> {
        let is_external = |node: Node<'_>| {
            ndarray::is_ndarray(node)
                && node.get("source").is_some_and(|source| source.as_i64().is_none() && !source.text().starts_with("fits:"))
        };
        if let Some(node) = path.and_then(|path| self.current_tree().find(path))
            && ndarray::is_ndarray(node)
        {
            return Ok(is_external(node));
        }
        if self.count > 0 {
            return Ok(false);
        }
        let nodes = self.sourced_arrays(self.current_tree())?;
        Ok(nodes.iter().any(|(node, _)| is_external(*node)))
    }

    /// Spells a node as the ndarrays of the file are spelt.
    fn match_dialect(&self, node: &mut Value) {
        let Ok(known) = walk::ndarrays_with_source(self.file) else { return };
        if let Some(tag) = known.iter().find_map(|(known, _)| known.tag()) {
            node.tag = Some(tag.to_owned());
            if let Some(mut mask) = node.get("mask").filter(|mask| mask.get("source").is_some()).cloned() {
                mask.tag = Some(tag.to_owned());
                node.set("mask", mask);
            }
        }
    }

    fn generation(&self) -> Result<&'static Generation> {
        self.file.sections().generation().ok_or_else(|| Error::unsupported("a file of an unknown generation"))
    }

    /// The folder of the file, which is named by its path.
    fn parent_dir(&self) -> PathBuf {
        let parent = bytes::verbatim_path(&**self.file.sections().source()).parent();
        parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf()
    }

    /// The ndarrays of a tree that have a source: see [`walk::ndarrays_with_source`].
    fn sourced_arrays<'t>(&'t self, tree: &'t Tree) -> Result<SourcedNdarrays<'t>> {
        if std::ptr::eq(tree, self.file.tree()) {
            walk::ndarrays_with_source(self.file)
        } else {
            walk::collect_sourced(tree, self.file.limits())
        }
    }

    /// Numbers of the blocks that a tree of the file refers to.
    fn used_blocks(&self, tree: &Tree, sourced: &SourcedNdarrays<'_>) -> Result<BTreeSet<i64>> {
        let in_chunks = chunked_array::NamedBlocks::of_tree(self.file, tree)?.blocks;
        let mut used: BTreeSet<i64> = in_chunks.into_iter().map(|number| number as i64).collect();
        used.extend(sourced.iter().filter_map(|(_, source)| source.as_i64()).map(|number| self.absolute_block_number(number)));
        Ok(used)
    }

    /// The number of a block from the start, if it is one of the file's.
    fn absolute_block_number(&self, number: i64) -> i64 {
        if number >= 0 {
            return number;
        }
        self.file.sections().block(number).map_or(number, |block| block.index as i64)
    }

    /// Blocks that the old tree refers to and the new one does not.
    fn find_freed_blocks(&self) -> Result<BTreeSet<usize>> {
        match &self.tree {
            Some(tree) if !self.keeps_blocks => self.freed_by(tree, &self.sourced_arrays(tree)?),
            _ => Ok(BTreeSet::new()),
        }
    }

    /// Returns the blocks that the new tree frees, given the sources of its arrays.
    fn freed_by(&self, tree: &Tree, sourced: &SourcedNdarrays<'_>) -> Result<BTreeSet<usize>> {
        if self.tree.is_none() || self.keeps_blocks || chunked_array::NamedBlocks::of_tree(self.file, tree)?.has_unknown.is_some()
        {
            // The blocks of chunks may be unknown.
            return Ok(BTreeSet::new());
        }
        let (old, new) =
            (self.used_blocks(self.file.tree(), &walk::ndarrays_with_source(self.file)?)?, self.used_blocks(tree, sourced)?);
        let known = self.file.sections().blocks()?.len();
        let freed = old.difference(&new).filter_map(|number| usize::try_from(*number).ok());
        Ok(freed.filter(|number| *number < known).collect())
    }

    /// The text of the tree in which the blocks have the numbers of `places`.
    fn numbered_tree<'t>(&self, tree: &'t Tree, sourced: &SourcedNdarrays<'t>, places: &BlockNumbers) -> Result<Cow<'t, Tree>> {
        let mut sources = Vec::new();
        for (_, source) in sourced {
            let Some(number) = source.as_i64() else { continue };
            if let Some(place) = places.get(&self.absolute_block_number(number))
                && number != *place as i64
                && !(number < 0 && self.file.sections().block(number).is_ok_and(Block::is_streamed))
            {
                sources.push((*source, NewSource::Block(*place)));
            }
        }
        if sources.is_empty() {
            return Ok(Cow::Borrowed(tree));
        }
        assemble::tree_with_sources(tree, self.file.limits(), &sources).map(Cow::Owned)
    }

    /// Changes the file where it is, and returns the numbers of blocks that have others now; None if that cannot be done.
    fn in_place(&self) -> Result<Option<BlockNumbers>> {
        let Some((update, places)) = self.plan_in_place()? else { return Ok(None) };
        // The tree of a FITS file was made from its headers, which are in another source.
        let source = container_fits(self.file).map_or(self.file.sections().source(), FitsFile::source);
        self.write_parts_first(|| update.commit(&**source))?;
        Ok(Some(places))
    }

    /// Returns the update by which the file is changed where it is, and the numbers of blocks that have others then. The tree and the
    /// new blocks are written, and every other block stays. None if the tree does not fit into its space, or the blocks leave no place.
    fn plan_in_place(&self) -> Result<Option<(FileUpdate, BlockNumbers)>> {
        if !self.moves_blocks()? && !self.has_new_files() {
            let text = self.current_tree().text();
            let update = match self.file.container() {
                Some(_) => header_update(self.file, text)?,
                None => update::tree_update(self.file, text)?,
            };
            return Ok(update.map(|update| (update, self.unmoved_blocks())));
        }
        let freed = self.find_freed_blocks()?;
        let Some(placement) = BlockPlacement::plan_in_place(self.file, &freed, &self.added)? else { return Ok(None) };
        let known = self.file.sections().blocks()?.len();
        let mut places = self.unmoved_blocks();
        places.retain(|number, _| usize::try_from(*number).is_ok_and(|number| number < known && !freed.contains(&number)));
        let new: BlockNumbers =
            placement.block_numbers.iter().enumerate().map(|(i, number)| ((known + i) as i64, *number)).collect();
        let tree = self.numbered_tree(self.current_tree(), &self.sourced_arrays(self.current_tree())?, &new)?;
        places.extend(new);
        Ok(placement.build_update(self.file, tree.text())?.map(|update| (update, places)))
    }

    /// Returns a map of all blocks to their old numbers.
    fn unmoved_blocks(&self) -> BlockNumbers {
        (0..self.count).map(|number| (number as i64, number)).collect()
    }

    /// Writes the changed file into `out`, whose position must be its start. Blocks that are no longer used and empty blocks are
    /// left out. But if the file has blocks that no array names, or whose numbers are in another block, all blocks keep their
    /// numbers.
    ///
    /// Returns a diagnostic for each damaged block. Such a block keeps its wrong checksum.
    ///
    /// New files of the exploded form are not written: [`Change::save`] writes them.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if writing fails, and an error if a block cannot be read.
    pub fn write<W: Write + Seek>(&mut self, out: W, options: &WriteOptions) -> Result<Vec<Diagnostic>> {
        self.write_tree(out, options).map(|(damaged, _)| damaged)
    }

    /// Does the same as [`Change::write`], and returns the tree that was written.
    pub(crate) fn write_tree<W: Write + Seek>(
        &mut self,
        out: W,
        options: &WriteOptions,
    ) -> Result<(Vec<Diagnostic>, Cow<'_, Tree>)> {
        self.apply_pending()?;
        self.check_tree()?;
        StoredBlock::add_checksums(&mut self.added)?;
        let options = WriteOptions { keep_unused: true, ..options.clone() };
        let written = self.write_with(self.current_tree(), out, &options)?;
        Ok((written.damaged, written.tree))
    }

    /// Does the same as [`Change::write`], with a tree in which only the spelling of references differs.
    fn write_with<'t, W: Write + Seek>(&'t self, tree: &'t Tree, out: W, options: &WriteOptions) -> Result<WrittenChange<'t>> {
        let (sourced, old) = (self.sourced_arrays(tree)?, walk::ndarrays_with_source(self.file)?);
        let (freed, used) = (self.freed_by(tree, &sourced)?, self.used_blocks(self.file.tree(), &old)?);
        let old = self.file.sections().all_blocks()?;
        let is_used = |block: &&Block| used.contains(&(block.index as i64));
        let keeps_numbers =
            !walk::unreferenced_blocks(self.file)?.is_empty() || chunked_array::NamedBlocks::of_tree(self.file, tree)?.has_any;
        let stays = |block: &&Block| keeps_numbers || (is_used(block) && !freed.contains(&block.index));
        let kept = old.iter().copied().filter(stays);
        // A streamed block is the last.
        let (streamed, sized): (Vec<&Block>, Vec<&Block>) = kept.partition(|block| block.is_streamed());
        let mut places = BTreeMap::new();
        let mut blocks: Vec<CopiedBlock<'_>> = Vec::new();
        let mut take = |number: i64, copied| {
            places.insert(number, blocks.len());
            blocks.push(copied);
        };
        sized.into_iter().for_each(|block| take(block.index as i64, CopiedBlock::FromFile(self.file, block)));
        self.added.iter().enumerate().for_each(|(i, new)| take((old.len() + i) as i64, CopiedBlock::FromMemory(new)));
        streamed.into_iter().for_each(|block| take(block.index as i64, CopiedBlock::FromFile(self.file, block)));
        let tree = self.numbered_tree(tree, &sourced, &places)?;
        let text = self.file.sections().tree().map(|_| tree.text());
        let damaged = assemble::write_copied(self.file, text, &blocks, out, options, BlockCodec::Keep)?;
        Ok(WrittenChange { numbers: places, damaged, tree })
    }
}

/// A changed file that was written whole.
struct WrittenChange<'t> {
    numbers: BlockNumbers,
    /// The blocks that keep wrong checksums.
    damaged: Vec<Diagnostic>,
    /// The tree that was written, with the numbers of the blocks.
    tree: Cow<'t, Tree>,
}

/// The form whose words new nodes of a file are written in: by its header line, then by its standard.
pub fn target_of(file: &AsdfFile) -> &'static Target {
    let header = file.sections().header();
    let standard = header.standard().unwrap_or("1.0.0");
    let of_line = |target: &&Target| target.header == header.line.trim_end();
    let exact = |target: &&Target| of_line(target) && target.standard.is_none_or(|version| version == standard);
    let all = crate::asdf::TARGETS;
    all.iter().find(exact).or_else(|| all.iter().rev().find(of_line)).unwrap_or_else(|| {
        let family = file.sections().generation().map_or("", |row| row.plain_name);
        all.iter().rev().find(|target| target.generation().plain_name == family).unwrap_or_else(Target::latest)
    })
}

/// Gives the `source` of a fresh ndarray node, and that of its mask, another value by its number.
fn replace_sources(node: &mut Value, change: &mut dyn FnMut(usize) -> Result<Value>) -> Result<()> {
    let number = |node: &Value| node.get("source").and_then(Value::as_i64).and_then(|n| usize::try_from(n).ok());
    if let Some(mut mask) = node.get("mask").cloned()
        && let Some(place) = number(&mask)
    {
        mask.set("source", change(place)?);
        node.set("mask", mask);
    }
    if let Some(place) = number(node) {
        node.set("source", change(place)?);
    }
    Ok(())
}
