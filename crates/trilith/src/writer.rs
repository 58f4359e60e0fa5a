//! Writing a new file: arrays and values by name.

use std::borrow::Cow;
use std::io::{Seek, Write};
use std::path::Path;

use serde::Serialize;

use crate::array::{Array, ArrayElement, Byteorder, Datatype};
use crate::asdf::{ArrayOptions, AsdfBuilder, Target};
use crate::error::{Error, Result};
use crate::tree::{self, TreePath, Value, ValueData};

/// Writes a file of the ASDF family: arrays and values at paths.
///
/// ```
/// use trilith::AsdfWriter;
/// let pixels: Vec<f32> = (0..12).map(|n| n as f32).collect();
/// let mut writer = AsdfWriter::new().codec("lz4")?;
/// writer.slice("/roman/data", &pixels, &[3, 4])?;
/// writer.set("/roman/meta/exposure", &139.8)?;
/// let mut bytes = std::io::Cursor::new(Vec::new());
/// writer.write_to(&mut bytes)?;
///
/// let file = trilith::OpenOptions::new().open_bytes(bytes.into_inner())?;
/// assert_eq!(file.array("/roman/data")?.shape(), [3, 4]);
/// assert_eq!(file.item("/roman/meta/exposure")?.text()?, "139.8");
/// # Ok::<(), trilith::Error>(())
/// ```
pub struct AsdfWriter<'a> {
    builder: AsdfBuilder<'a>,
    options: ArrayOptions,
    tree: Value,
}

impl Default for AsdfWriter<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> AsdfWriter<'a> {
    /// Creates a writer for a file of the newest standard, without content yet.
    pub fn new() -> Self {
        Self::for_target(Target::latest())
    }

    /// Creates a writer for a file of a generation, such as `asdf-1.5` or `finf-0.1`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an unknown name, with those that are known.
    pub fn generation(name: &str) -> Result<Self> {
        Ok(Self::for_target(Target::from_name(name)?))
    }

    fn for_target(target: &'static Target) -> Self {
        Self {
            builder: AsdfBuilder::new(target),
            options: ArrayOptions::default(),
            tree: Value::from(Vec::<(Value, Value)>::new()),
        }
    }

    /// Compresses the arrays that are added from now on: `lz4`, `zlib`, `bzp2`, `zstd`, `blsc`, or `none`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an unknown name.
    pub fn codec(mut self, name: &str) -> Result<Self> {
        self.options = ArrayOptions::codec(name)?;
        Ok(self)
    }

    /// Adds an array at a path, and makes the mappings on the way.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a datatype that the generation lacks, and if
    /// something is at the path already.
    pub fn array(&mut self, path: &str, array: &Array) -> Result<()> {
        let node = self.builder.array(array, &self.options)?;
        self.insert(path, node)
    }

    /// Adds elements in memory, in C order and of this shape. They are borrowed until the file is written.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfWriter::array`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if number and
    /// shape disagree.
    pub fn slice<T: ArrayElement>(&mut self, path: &str, elements: &'a [T], shape: &[u64]) -> Result<()> {
        if shape.iter().try_fold(1u64, |n, dim| n.checked_mul(*dim)) != Some(elements.len() as u64) {
            return Err(Error::invalid_input(format!("{} elements do not fill the shape {shape:?}", elements.len())));
        }
        let node = self.add_elements(elements, shape)?;
        self.insert(path, node)
    }

    /// Adds elements in memory, and returns their node.
    fn add_elements<T: ArrayElement>(&mut self, elements: &'a [T], shape: &[u64]) -> Result<Value> {
        let (builder, options) = (&mut self.builder, &self.options);
        // Elements that are copied for this are copied later, in pieces.
        let is_lent = matches!(T::bytes(&[]), Cow::Borrowed(_));
        if let Some(Cow::Borrowed(bytes)) = is_lent.then(|| T::bytes(elements)) {
            return builder.array_of_bytes(&T::DATATYPE, Byteorder::NATIVE, shape, options, bytes);
        }
        let pieces = move |take: &mut dyn FnMut(&[u8]) -> Result<()>| take(&T::bytes(elements));
        builder.array_in_pieces(&T::DATATYPE, Byteorder::NATIVE, shape, options, pieces)
    }

    /// Adds a view of the `ndarray` crate, of any strides. Its elements are borrowed until the file is written.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfWriter::array`].
    #[cfg(feature = "ndarray")]
    pub fn ndarray<T: ArrayElement, D: ndarray::Dimension + 'a>(
        &mut self,
        path: &str,
        view: impl Into<ndarray::ArrayView<'a, T, D>>,
    ) -> Result<()> {
        /// Number of elements that are copied at a time, if they are not contiguous.
        const BUFFER_SIZE: usize = 1 << 16;
        let view = view.into();
        let shape: Vec<u64> = view.shape().iter().map(|len| *len as u64).collect();
        if let Some(elements) = view.to_slice() {
            let node = self.add_elements(elements, &shape)?;
            return self.insert(path, node);
        }
        let pieces = move |take: &mut dyn FnMut(&[u8]) -> Result<()>| {
            let mut piece = Vec::with_capacity(BUFFER_SIZE.min(view.len()));
            for element in &view {
                piece.push(*element);
                if piece.len() == BUFFER_SIZE {
                    take(&T::bytes(&piece))?;
                    piece.clear();
                }
            }
            take(&T::bytes(&piece))
        };
        let node = self.builder.array_in_pieces(&T::DATATYPE, Byteorder::NATIVE, &shape, &self.options, pieces)?;
        self.insert(path, node)
    }

    /// Adds an array without rows that grows once the file is there ([`RowWriter`](crate::change::RowWriter)): the
    /// streamed last block, after which no array can be added.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfWriter::array`], and [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if
    /// the generation has no streamed blocks.
    pub fn rows(&mut self, path: &str, datatype: &Datatype, order: Byteorder, row_shape: &[u64]) -> Result<()> {
        let shape = [&[0], row_shape].concat();
        let node = self.builder.array_in_pieces(datatype, order, &shape, &ArrayOptions::streamed(), |_| Ok(()))?;
        self.insert(path, node)
    }

    /// Reserves an array whose regions other processes write. [`ParallelWriter::create`](crate::parallel::ParallelWriter::create)
    /// then creates the file.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfWriter::array`].
    pub fn reserve(&mut self, path: &str, datatype: &Datatype, order: Byteorder, shape: &[u64]) -> Result<()> {
        let node = self.builder.reserve(datatype, order, shape)?;
        self.insert(path, node)
    }

    /// Returns the arrays, and the tree with their nodes.
    pub(crate) fn into_parts(self) -> (AsdfBuilder<'a>, Value) {
        (self.builder, self.tree)
    }

    /// Adds a value of any type that serde can write.
    ///
    /// # Errors
    /// Returns the errors of [`tree::to_value`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if something is
    /// at the path already.
    pub fn set<T: Serialize + ?Sized>(&mut self, path: &str, value: &T) -> Result<()> {
        self.value(path, tree::to_value(value)?)
    }

    /// Adds a value of a tree, with its tags.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if something is at the path already.
    pub fn value(&mut self, path: &str, value: Value) -> Result<()> {
        self.insert(path, value)
    }

    fn insert(&mut self, path: &str, value: Value) -> Result<()> {
        let path = TreePath::parse(path)?;
        let taken = || Error::invalid_input("the path already exists").at_path(path.to_string());
        let Some((last, way)) = path.keys().split_last() else { return Err(taken()) };
        let mut at = &mut self.tree;
        for key in way {
            let ValueData::Map(pairs) = &mut at.data else { return Err(taken()) };
            let place = match pairs.iter().position(|(known, _)| known.as_str() == Some(key)) {
                Some(place) => place,
                None => {
                    pairs.push((key.as_str().into(), Value::from(Vec::<(Value, Value)>::new())));
                    pairs.len() - 1
                }
            };
            let Some((_, below)) = pairs.get_mut(place) else { return Err(taken()) };
            at = below;
        }
        let ValueData::Map(pairs) = &mut at.data else { return Err(taken()) };
        if pairs.iter().any(|(known, _)| known.as_str() == Some(last)) {
            return Err(taken());
        }
        pairs.push((last.as_str().into(), value));
        Ok(())
    }

    /// Writes the file next to `path`, syncs it, and puts it into place: a failure leaves the old file.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfBuilder::write`].
    pub fn write(self, path: impl AsRef<Path>) -> Result<()> {
        self.builder.write(path, self.tree)
    }

    /// Writes the file into `out`, whose position must be its start.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfBuilder::write`].
    pub fn write_to<W: Write + Seek>(self, out: W) -> Result<()> {
        self.builder.write_to(out, self.tree)
    }
}
