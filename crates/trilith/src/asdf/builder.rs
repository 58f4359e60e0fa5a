//! Building a file: a tree of values whose arrays are written as blocks.
//!
//! [`AsdfBuilder::array`] takes an array and gives back the ndarray node that describes it, to be put
//! anywhere in the tree; [`AsdfBuilder::write`] writes tree, blocks and index in one pass.

use std::collections::BTreeMap;
use std::io::{Seek, Write};

use super::AsdfFile;
use super::array_options::ArrayOptions;
use super::block_content::{BlockContent, check_len, element_sizes, resident_blocks};
use super::generation::{Generation, Target};
use super::inline_write;
use super::md5;
use super::stored_block::StoredBlock;
use super::virtual_file::VirtualFile;
use super::write::{FileWriter, WriteOptions};
use crate::array::{Array, Byteorder, Datatype, FloatPrecision, FloatText, Mask, complex_text};
use crate::bytes::{NewFile, Source, SourceRef, WriteBasis, WritePath};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tree::{Value, ValueData};
use crate::yaml::{PrintOptions, print_document};

/// Collects the arrays of a file that is to be written.
///
/// ```
/// use trilith::array::Array;
/// use trilith::asdf::{ArrayOptions, AsdfBuilder, Target};
/// use trilith::tree::Value;
///
/// let image = Array::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let mut builder = AsdfBuilder::new(Target::latest());
/// let node = builder.array(&image, &ArrayOptions::codec("lz4")?)?;
/// let tree = Value::map([("data", node), ("exposure", 139.8.into())]);
/// let mut bytes = std::io::Cursor::new(Vec::new());
/// builder.write_to(&mut bytes, tree)?;
///
/// let file = trilith::file::open_asdf_bytes(bytes.into_inner())?;
/// assert_eq!(file.array_at("/data")?.load::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), trilith::Error>(())
/// ```
pub struct AsdfBuilder<'a> {
    target: &'static Target,
    options: WriteOptions,
    blocks: Vec<(BlockContent<'a>, ArrayOptions)>,
    streamed: bool,
    inline_up_to: u64,
    /// The identifier that distinguishes a file laid out for other processes from every other.
    id: Option<[u8; 16]>,
}

impl<'a> AsdfBuilder<'a> {
    /// A file of this generation, without arrays yet.
    pub fn new(target: &'static Target) -> Self {
        Self { target, options: WriteOptions::default(), blocks: Vec::new(), streamed: false, inline_up_to: 0, id: None }
    }

    /// Lays the file out otherwise than by default.
    #[must_use]
    pub fn with_options(mut self, options: WriteOptions) -> Self {
        self.options = options;
        self
    }

    /// Writes arrays of at most this number of elements into the tree instead of a block (default: none).
    ///
    /// ```
    /// use trilith::{Array, ArrayOptions, AsdfBuilder, Target};
    /// let mut builder = AsdfBuilder::new(Target::latest()).inline_up_to(4);
    /// let node = builder.array(&Array::from_slice(&[1i32, 2, 3], &[3])?, &ArrayOptions::default())?;
    /// assert!(node.get("data").is_some() && node.get("source").is_none());
    /// // The tree holds no integers above 63 bits.
    /// let node = builder.array(&Array::from_slice(&[u64::MAX], &[1])?, &ArrayOptions::default())?;
    /// assert!(node.get("source").is_some());
    /// # Ok::<(), trilith::Error>(())
    /// ```
    #[must_use]
    pub fn inline_up_to(mut self, elements: u64) -> Self {
        self.inline_up_to = elements;
        self
    }

    /// Adds an array and returns the node that describes it. A mask goes into a separate block.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a datatype that the generation lacks, or a second
    /// streamed array.
    pub fn array(&mut self, array: &Array, options: &ArrayOptions) -> Result<Value> {
        let order = options.byteorder.unwrap_or(array.byteorder());
        self.check_datatype(array.datatype())?;
        if options.inline {
            return self.inline_array_node(array);
        }
        // Values that the tree may not hold, such as integers above 63 bits, are stored all the same.
        if array.element_count() <= self.inline_up_to && !options.streamed && !array.is_empty() {
            let node = self.inline_array_node(array)?;
            if node.check_subset().is_ok() {
                return Ok(node);
            }
        }
        let source = self.block_number(options)?;
        let mut node = self.ndarray_node(source, array.datatype(), order, array.shape(), options);
        let plain = array.clone().without_mask();
        self.blocks.push((BlockContent::Array(plain, order), options.clone()));
        if let Some(mask) = array.mask() {
            let value = match mask {
                Mask::Nan => Value::from(f64::NAN),
                Mask::Float(value) => Value::from(*value),
                Mask::Integer(value) => Value::plain_scalar(value.to_string()),
                Mask::Complex(re, im) => self.complex_value(*re, *im),
                Mask::Array(mask) => {
                    let options = ArrayOptions { streamed: false, inline: false, ..options.clone() };
                    let mask = array.mask_array()?.unwrap_or_else(|| (**mask).clone());
                    self.array(&mask, &options)?
                }
                other => return Err(Error::unsupported(format!("the mask {other:?} has no form in a tree"))),
            };
            node.set("mask", value);
        }
        Ok(node)
    }

    /// Adds an array that does not fit in memory: `pieces` is called when the file is written and hands
    /// over all elements in C order, packed, in `byteorder`, in pieces of any size.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfBuilder::array`].
    pub fn array_in_pieces(
        &mut self,
        datatype: &Datatype,
        byteorder: Byteorder,
        shape: &[u64],
        options: &ArrayOptions,
        pieces: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a,
    ) -> Result<Value> {
        let (len, row, item) = element_sizes(datatype, shape)?;
        let streamed = options.streamed;
        self.push_elements(
            datatype,
            byteorder,
            shape,
            options,
            BlockContent::Pieces { len, row, item, streamed, pieces: Box::new(pieces) },
        )
    }

    /// Adds an array whose elements are in memory: in C order, packed, in `byteorder`. They are borrowed until the file is written.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfBuilder::array`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the
    /// number of bytes is not that of the shape.
    pub fn array_of_bytes(
        &mut self,
        datatype: &Datatype,
        byteorder: Byteorder,
        shape: &[u64],
        options: &ArrayOptions,
        bytes: &'a [u8],
    ) -> Result<Value> {
        let (len, row, item) = element_sizes(datatype, shape)?;
        check_len(len, bytes.len() as u64)?;
        self.push_elements(datatype, byteorder, shape, options, BlockContent::Bytes { bytes, row, item })
    }

    /// Adds elements that will be the next block.
    fn push_elements(
        &mut self,
        datatype: &Datatype,
        byteorder: Byteorder,
        shape: &[u64],
        options: &ArrayOptions,
        stored: BlockContent<'a>,
    ) -> Result<Value> {
        self.check_datatype(datatype)?;
        let source = self.block_number(options)?;
        let node = self.ndarray_node(source, datatype, byteorder, shape, options);
        self.blocks.push((stored, options.clone()));
        Ok(node)
    }

    /// Adds an array whose elements other processes write: see [`ParallelWriter`](crate::parallel::ParallelWriter).
    ///
    /// # Errors
    /// Returns the errors of [`AsdfBuilder::array`].
    pub fn reserve(&mut self, datatype: &Datatype, byteorder: Byteorder, shape: &[u64]) -> Result<Value> {
        self.check_datatype(datatype)?;
        let options = ArrayOptions::default();
        let ((len, ..), source) = (element_sizes(datatype, shape)?, self.block_number(&options)?);
        let node = self.ndarray_node(source, datatype, byteorder, shape, &options);
        self.blocks.push((BlockContent::Reserved(len), options));
        Ok(node)
    }

    /// Does the same as [`AsdfBuilder::write_to`], with space for the reserved arrays. Their blocks have this
    /// identifier in place of a checksum.
    pub(crate) fn row_layout<W: Write + Seek>(mut self, out: W, tree: Value, id: [u8; 16]) -> Result<()> {
        if !self.blocks.iter().any(|(stored, _)| matches!(stored, BlockContent::Reserved(_))) {
            return Err(Error::invalid_input("no array of the file is reserved for other processes").hint("write it at once"));
        }
        if !self.target.generation().index {
            return Err(
                Error::unsupported(format!("{} files cannot be written in parallel", self.target.name)).hint("write asdf-1.6")
            );
        }
        self.id = Some(id);
        self.write_to(out, tree)
    }

    /// Another view of an array that was added already, by the node of that one: the block is shared.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if `base` is not a node of a block.
    pub fn view(&self, base: &Value, offset: u64, shape: &[u64], strides: Option<&[i64]>) -> Result<Value> {
        if base.get("source").and_then(Value::as_i64).is_none() {
            return Err(Error::invalid_input("a view needs an array that is stored in a block"));
        }
        let mut node = base.clone();
        node.remove("mask");
        node.set("shape", Value::seq(shape.iter().copied()));
        node.set("offset", offset);
        if let Some(strides) = strides {
            node.set("strides", Value::seq(strides.iter().copied()));
        }
        Ok(node)
    }

    fn block_number(&mut self, options: &ArrayOptions) -> Result<i64> {
        if self.streamed {
            return Err(Error::invalid_input("a streamed array must be the last of its file: add it after all other arrays"));
        }
        self.streamed = options.streamed;
        if options.streamed && options.block_codec().is_some() {
            return Err(Error::invalid_input("a streamed array cannot be compressed"));
        }
        Ok(if options.streamed { -1 } else { self.blocks.len() as i64 })
    }

    fn check_datatype(&self, datatype: &Datatype) -> Result<()> {
        let mut todo = vec![datatype.clone()];
        while let Some(datatype) = todo.pop() {
            match datatype {
                Datatype::Struct(inner) => todo.extend(inner.fields().iter().map(|f| f.datatype.clone())),
                Datatype::Float16 if !self.target.float16 => {
                    return Err(Error::invalid_input(format!(
                        "{} has no datatype float16, which came with asdf-1.6",
                        self.target.name
                    )));
                }
                Datatype::Float128 | Datatype::Complex256 | Datatype::Complex32 | Datatype::Utf8(_) | Datatype::Ucs2(_) => {
                    return Err(Error::invalid_input(format!("{} has no datatype {datatype}", self.target.name)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn prefixed_tag(&self, name: &str) -> String {
        format!("{}{name}", self.target.tree.prefix)
    }

    fn complex_value(&self, re: f64, im: f64) -> Value {
        let text = complex_text(re, im, FloatPrecision::Double, FloatText::Shortest);
        Value::from(text).tagged(self.target.complex_tag())
    }

    fn ndarray_node(&self, source: i64, datatype: &Datatype, order: Byteorder, shape: &[u64], options: &ArrayOptions) -> Value {
        let mut node = Value::map([("source", Value::from(source))]);
        let dialect = &self.target.tree;
        node.set(dialect.datatype_key, datatype_value(datatype, Some(order), dialect.datatype_key));
        if !(dialect.default_big && order == Byteorder::Big) {
            node.set("byteorder", order.name());
        }
        let mut dims: Vec<Value> = shape.iter().map(|n| Value::from(*n)).collect();
        if let (true, Some(first)) = (options.streamed, dims.first_mut()) {
            *first = Value::from("*");
        }
        node.set("shape", Value::seq(dims).flow());
        node.tagged(self.prefixed_tag(dialect.ndarray))
    }

    fn inline_array_node(&self, array: &Array) -> Result<Value> {
        let dialect = &self.target.tree;
        let node = inline_write::node(array, dialect.datatype_key, &self.target.complex_tag())?;
        Ok(node.tagged(self.prefixed_tag(dialect.ndarray)))
    }

    /// The tree as it will be written: root tag, `asdf_library` and `history` added if they are missing.
    fn complete_tree(&self, mut tree: Value) -> Value {
        if tree.tag.is_none() {
            tree.tag = Some(self.prefixed_tag(self.target.tree.root));
        }
        if self.target.standard.is_none() {
            return tree;
        }
        let software = self.prefixed_tag("core/software-1.0.0");
        let me = || Value::map([("name", "trilith"), ("version", env!("CARGO_PKG_VERSION"))]).tagged(software.clone()).flow();
        let library = tree.remove("asdf_library").unwrap_or_else(me);
        let mut pairs = vec![(Value::from("asdf_library"), library)];
        if let (true, Some(version)) = (self.target.history_is_mapping, self.target.standard) {
            let history = tree.remove("history").unwrap_or_else(|| {
                let extension = Value::map([
                    ("extension_class", Value::from("asdf.extension._manifest.ManifestExtension")),
                    ("extension_uri", format!("asdf://asdf-format.org/core/extensions/core-{version}").into()),
                    ("software", me()),
                ]);
                Value::map([("extensions", Value::seq([extension.tagged(self.prefixed_tag("core/extension_metadata-1.0.0"))]))])
            });
            pairs.push((Value::from("history"), history));
        }
        let tag = tree.tag.take();
        if let ValueData::Map(rest) = tree.data {
            pairs.extend(rest);
        }
        Value { tag, ..Value::from(ValueData::Map(pairs)) }
    }

    /// Writes the file next to `path`, syncs it, and puts it into place: a failure leaves the old file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error, and
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for keys and integers that a writer may not write
    /// ([`Value::check_subset`]). Returns an error if the arrays cannot be read.
    pub fn write(self, path: impl Into<WritePath>, tree: Value) -> Result<()> {
        let mut file = NewFile::create_regular(path, WriteBasis::Nothing)?;
        file.reserve(self.uncompressed_size())?;
        self.write_to(file.writer(), tree)?;
        file.commit().map(drop)
    }

    /// The bytes of all blocks that are stored uncompressed: the file has at least this length.
    pub fn uncompressed_size(&self) -> u64 {
        let is_plain = |options: &ArrayOptions| options.block_codec().is_none() && !options.streamed;
        let plain = self.blocks.iter().filter(|(_, options)| is_plain(options));
        plain.filter_map(|(data, options)| data.block_options(options).encode.total_len).fold(0, u64::saturating_add)
    }

    /// Returns only the blocks, encoded for this row of the generation table, for the file that `target` describes or for
    /// separate files. If another file stores the elements in the same form, they are not copied.
    ///
    /// # Errors
    /// Returns an error if the arrays cannot be read, and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a
    /// streamed array, or if the row has no field for a codec.
    pub fn into_blocks(self, row: &'static Generation, target: &dyn Source) -> Result<Vec<StoredBlock>> {
        let mut blocks = self.into_unhashed_blocks(row, target)?;
        StoredBlock::add_checksums(&mut blocks)?;
        Ok(blocks)
    }

    /// Does the same as [`AsdfBuilder::into_blocks`], but leaves the checksums to [`StoredBlock::add_checksums`].
    pub(crate) fn into_unhashed_blocks(self, row: &'static Generation, target: &dyn Source) -> Result<Vec<StoredBlock>> {
        let mut blocks = Vec::new();
        for (data, options) in self.blocks {
            if options.streamed {
                return Err(Error::invalid_input("a streamed array must be the last of a new file"));
            }
            if let (BlockContent::Array(array, order), None) = (&data, options.block_codec())
                && let Some(block) = StoredBlock::of_file(row, array, *order, target)?
            {
                blocks.push(block);
                continue;
            }
            let how = data.block_options(&options);
            blocks.push(StoredBlock::encode_unhashed(row, &how, |out| data.write_elements(out))?);
        }
        Ok(blocks)
    }

    /// Writes the file into `out`, whose position must be its start. The tree is laid out as the bundled schemas would
    /// like it (`propertyOrder`, `flowStyle`, `style`), if the crate has them: feature `schema`.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfBuilder::write`].
    pub fn write_to<W: Write + Seek>(self, out: W, tree: Value) -> Result<()> {
        let text = self.tree_text(tree)?;
        let is_hashed = self.options.checksums && self.target.generation().fields.checksum.len == 16;
        let resident = if is_hashed { resident_blocks(&self.blocks) } else { BTreeMap::new() };
        let mut writer = FileWriter::new(out, self.target.generation(), self.options);
        writer.header(self.target.header, &self.target.comments(), Some(&text))?;
        let sources: Vec<&dyn Source> = resident.values().map(|bytes| &**bytes).collect();
        let ((mut writer, unhashed), digests) = md5::digest_during(&sources, || {
            let mut unhashed = Vec::new();
            for (number, (data, options)) in self.blocks.into_iter().enumerate() {
                if let (BlockContent::Reserved(len), Some(id)) = (&data, self.id) {
                    writer.reserve_block(*len, &id)?;
                    continue;
                }
                let is_resident = resident.contains_key(&number);
                let mut block = writer.begin_block(&data.block_options(&options))?;
                if is_resident {
                    block.skip_checksum();
                }
                data.write_elements(&mut |bytes| block.write(bytes))?;
                let place = block.finish()?;
                if is_resident {
                    unhashed.push(place);
                }
            }
            Ok((writer, unhashed))
        })?;
        for (place, digest) in unhashed.iter().zip(digests) {
            writer.fill_checksum(place, &digest?)?;
        }
        writer.finish().map(drop)
    }

    /// Returns the file without writing it: its blocks are uncompressed, and their bytes are made when they are read. `origin` is
    /// the file that the arrays come from.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for arrays in pieces and streamed ones, and the errors of
    /// [`AsdfBuilder::write`].
    pub(crate) fn into_file(self, tree: Value, origin: &SourceRef, limits: &Limits) -> Result<AsdfFile> {
        let text = self.tree_text(tree)?;
        let head = (self.target.header, &self.target.comments()[..]);
        let mut file = VirtualFile::new(self.target.generation(), origin, head, Some(&text));
        for (data, options) in self.blocks {
            match data {
                BlockContent::Array(array, order) if !options.streamed => file.push_array(array, order),
                _ => return Err(Error::invalid_input("an array that is handed over in pieces can be written only")),
            }
        }
        file.open(limits)
    }

    /// The text of a tree as it is written.
    pub(crate) fn tree_text(&self, tree: Value) -> Result<String> {
        let tree = self.complete_tree(tree);
        tree.check_subset()?;
        #[cfg(feature = "schema")]
        let tree = {
            let mut tree = tree;
            let mut validator = crate::schema::Validator::new(crate::schema::SchemaSet::bundled());
            validator.arrange(&mut tree, self.target.standard)?;
            tree
        };
        let prefix = self.target.tree.prefix.to_owned();
        let mut print = PrintOptions::default();
        print.handles = vec![("!".to_owned(), prefix)];
        Ok(print_document(&tree, &print))
    }
}

/// A datatype as the tree writes it; fields state their byteorder unless it is left out (inline data).
pub(crate) fn datatype_value(datatype: &Datatype, order: Option<Byteorder>, key: &str) -> Value {
    // Structures nest no deeper than the library allows, so this recursion is bounded.
    match datatype {
        Datatype::Ascii(n) | Datatype::Ucs4(n) => Value::seq([Value::from(datatype.name()), Value::from(u64::from(*n))]).flow(),
        Datatype::Struct(structure) => Value::seq(structure.fields().iter().map(|field| {
            let mut value = Value::map::<&str, Value>([]);
            if let Some(name) = &field.name {
                value.set("name", name.as_str());
            }
            value.set(key, datatype_value(&field.datatype, order, key));
            if let Some(order) = order {
                value.set("byteorder", order.name());
            }
            if !field.shape.is_empty() {
                value.set("shape", Value::seq(field.shape.iter().copied()).flow());
            }
            value.flow()
        })),
        simple => Value::from(simple.name()),
    }
}
