//! One image of a TIFF file: its shape, what its samples are, and the strips or tiles that it is in.
//!
//! TIFF Revision 6.0, sections 8 to 15 and 19; supplement 1 and Technical Note 3 for tiles, deflate and the predictor of floats.

use super::hyperstack::{self, StackAxis};
use super::id;
use super::ifd::{Ifd, TiffFile, Values};
use crate::array::ChunkShape;
use crate::array::{Byteorder, Datatype, DeclaredNumber};
use crate::bytes::CodingStep;
use crate::error::{Error, Result};
use crate::layout::{ElementSpec, FillValue, ItemSpec, LayoutBuilder, StorageField};
use crate::limits::Limits;

/// Chunks that are named one by one; of more the table is, which is in the file.
const MAX_LISTED_CHUNKS: usize = 4096;

/// The compressions whose filter is not that of a number: the number and the words.
const COMPRESSION_FILTERS: &[(u64, &str)] = &[
    (1, ""),
    (5, "lzw"),
    (8, "deflate"),
    (32946, "deflate"),
    (32773, "packbits"),
    (50000, "zstd"),
    (2, "tiff:ccitt"),
    (3, "tiff:fax3"),
    (4, "tiff:fax4"),
    (6, "tiff:jpeg6"),
    (9, "tiff:jbig"),
    (10, "tiff:jbig"),
    (34661, "tiff:jbig"),
    (22610, "tiff:jpegxr"),
    (34934, "tiff:jpegxr"),
    (33003, "tiff:jpeg2000"),
    (33004, "tiff:jpeg2000"),
    (33005, "tiff:jpeg2000"),
    (34712, "tiff:jpeg2000"),
    (34892, "tiff:jpeg-dng"),
    (34887, "tiff:lerc"),
    (34925, "tiff:lzma"),
    (34933, "tiff:png"),
    (50001, "tiff:webp"),
    (50002, "tiff:jpegxl"),
    (52546, "tiff:jpegxl"),
];

/// The compression that keeps whole JPEG images.
const COMPRESSION_JPEG: u64 = 7;

/// The most bytes of tables of JPEG: four of quantization and eight of Huffman codes take fewer.
const MAX_JPEG_TABLES: u64 = 1 << 14;

/// The tags of an image.
#[derive(Clone, PartialEq)]
pub(super) struct TiffImage {
    /// Lengths of the array and of a chunk, the slowest axis first, with the names of the axes.
    shape: Vec<u64>,
    chunk: Vec<u64>,
    dims: Vec<&'static str>,
    datatype: Datatype,
    order: Byteorder,
    filters: Vec<CodingStep>,
    /// Bytes that go before those of each strip or tile.
    jpeg_tables: Vec<u8>,
    is_tiled: bool,
    /// The axes around it, the slowest first, if it is one of several planes: of pages that are alike, or of images that follow
    /// it without a directory, as ImageJ writes large stacks.
    padding: Vec<StackAxis>,
}

impl TiffImage {
    /// Reads the tags.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for samples that no array has,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for tags that contradict each other.
    pub(super) fn read(file: &TiffFile<'_>, tags: &Ifd) -> Result<Self> {
        let number = |id, without| tags.read_first_integer(file, id, without);
        let (width, height, depth) = (number(id::IMAGE_WIDTH, 0)?, number(id::IMAGE_LENGTH, 0)?, number(id::IMAGE_DEPTH, 1)?);
        let samples = number(id::SAMPLES_PER_PIXEL, 1)?;
        let is_planar = number(id::PLANAR_CONFIGURATION, 1)? == 2 && samples > 1;
        // Old programs wrote the places of tiles into the tags of strips.
        let is_tiled = tags.find_tag(id::TILE_WIDTH).is_some();
        let (rows, columns, layers) = match is_tiled {
            true => (number(id::TILE_LENGTH, 0)?, number(id::TILE_WIDTH, 0)?, number(id::TILE_DEPTH, 1)?),
            false => (number(id::ROWS_PER_STRIP, height)?.min(height), width, 1),
        };
        if [width, height, depth, samples, rows, columns, layers].contains(&0) {
            return Err(Error::malformed("an image without width, height, or lengths of its strips or tiles"));
        }
        let (datatype, form) = samples_of(file, tags)?;
        let mut image = Self {
            shape: vec![height, width],
            chunk: vec![rows, columns],
            dims: vec!["y", "x"],
            datatype,
            order: file.order,
            filters: Vec::new(),
            jpeg_tables: Vec::new(),
            is_tiled,
            padding: Vec::new(),
        };
        if depth > 1 || layers > 1 {
            image.prepend_dimension(depth, layers, "z");
        }
        let beside = if is_planar { 1 } else { samples };
        if is_planar {
            image.prepend_dimension(samples, 1, "sample");
        } else if samples > 1 {
            image.shape.push(samples);
            image.chunk.push(samples);
            image.dims.push("sample");
        }
        image.filters = image.resolve_filters(file, tags, (columns, beside), form)?;
        Ok(image)
    }

    /// Sets the outer axes from the images that the description lists. Used if the file has only one directory.
    pub(super) fn with_listed_images(mut self, file: &TiffFile<'_>, tags: &Ifd) -> Self {
        // A fault of the description is reported when it becomes an attribute.
        if let Some(Ok(Values::Text(text))) = tags.find_tag(id::IMAGE_DESCRIPTION).map(|tag| file.read_tag_values(tag)) {
            let (samples, is_planar) = hyperstack::read_sample_layout(file, tags);
            self.padding = hyperstack::parse_imagej_axes(&text, samples, is_planar).unwrap_or_default();
        }
        self
    }

    /// The plane that all these pages are, with the axes around it; None if they differ, or if one of them is not read.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be read.
    pub(super) fn of_planes(file: &TiffFile<'_>, planes: &[&Ifd], around: &[StackAxis]) -> Result<Option<Self>> {
        let mut first: Option<Self> = None;
        for tags in planes {
            match (Self::read(file, tags), &first) {
                (Ok(image), None) => first = Some(image),
                (Ok(image), Some(first)) if image == *first => {}
                (Err(error), _) if error.kind().is_transient() => return Err(error),
                _ => return Ok(None),
            }
        }
        Ok(first.map(|image| Self { padding: around.to_vec(), ..image }))
    }

    /// Returns `true` if scale and offset can be applied to its samples.
    pub(super) fn is_number(&self) -> bool {
        self.datatype.is_integer() || matches!(self.datatype, Datatype::Float32 | Datatype::Float64)
    }

    /// The lengths of the array of one page.
    pub(super) fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the image itself, which must fit as the mask of another one: whole numbers without a sign, one for each pixel or for
    /// each sample.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for any other image.
    pub(super) fn check_mask_of(self, image: &Self) -> Result<Self> {
        let is_pixel = |(dim, _): &(&&str, &u64)| **dim != "sample";
        let pixels = image.dims.iter().zip(&image.shape).filter(is_pixel);
        let is_same = self.dims == image.dims && self.shape == image.shape;
        if self.datatype.is_integer() && !self.datatype.is_signed() && (is_same || pixels.eq(self.dims.iter().zip(&self.shape))) {
            return Ok(self);
        }
        let Self { datatype, shape, .. } = self;
        Err(Error::unsupported(format!("a mask of {datatype} {shape:?} for an image of {:?}", image.shape)))
    }

    /// Returns the height and the width of an image without a depth.
    pub(super) fn height_and_width(&self) -> Option<(u64, u64)> {
        let at = |name| self.dims.iter().position(|dim| *dim == name).and_then(|at| self.shape.get(at).copied());
        if at("z").is_some() { None } else { at("y").zip(at("x")) }
    }

    /// Number of planes.
    fn count_planes(&self) -> u64 {
        self.padding.iter().fold(1, |n, (len, _)| n.saturating_mul(*len))
    }

    /// The array of all planes.
    fn all_planes(mut self) -> Self {
        for (len, name) in std::mem::take(&mut self.padding).into_iter().rev() {
            self.prepend_dimension(len, 1, name);
        }
        self
    }

    fn prepend_dimension(&mut self, len: u64, chunk: u64, name: &'static str) {
        self.shape.insert(0, len);
        self.chunk.insert(0, chunk);
        self.dims.insert(0, name);
    }

    /// The filters that chunks went through, whose rows have this number of pixels of this number of samples.
    fn resolve_filters(
        &mut self,
        file: &TiffFile<'_>,
        tags: &Ifd,
        row: (u64, u64),
        form: SampleFormat,
    ) -> Result<Vec<CodingStep>> {
        let mut steps = Vec::new();
        let (columns, beside) = row;
        let samples = columns.saturating_mul(beside);
        let predictor = tags.read_first_integer(file, id::PREDICTOR, 1)?;
        if let SampleFormat::Bits(bits) = form {
            let is_big = self.order == Byteorder::Big;
            // Numbers begin with their highest bit. libtiff then swaps the three bytes of those in a big-endian file.
            let swapped: &[u64] = if bits == 24 && is_big { &[1] } else { &[] };
            steps.push(CodingStep::new("bits", [&[bits, samples, u64::from(is_big)], swapped].concat()));
        }
        let mut size = self.datatype.item_size();
        if form == SampleFormat::Float24 {
            // One bit for the sign, 7 for the exponent, and 16 for the fraction: Technical Note 3.
            size = 3;
            let is_big = self.order == Byteorder::Big || predictor == 3;
            steps.push(CodingStep::new("float", vec![3, u64::from(is_big), 23, 16, 7, 0, 16, 63, 0, 4]));
        }
        match (predictor, self.order) {
            (1, _) => {}
            (predictor @ 2..=3, _) if matches!(form, SampleFormat::Bits(_)) => {
                return Err(Error::unsupported(format!("the predictor {predictor} of samples that share bytes")));
            }
            (2, Byteorder::Little) => steps.push(CodingStep::new("delta", vec![size, samples, beside])),
            (2, Byteorder::Big) => steps.push(CodingStep::new("delta", vec![size, samples, beside, 1])),
            (3, _) if matches!(self.datatype, Datatype::Float16 | Datatype::Float32 | Datatype::Float64) => {
                steps.push(CodingStep::new("fdelta", vec![size, samples, beside]));
                self.order = Byteorder::Big;
            }
            (other, _) => return Err(Error::unsupported(format!("the predictor {other} of {}", self.datatype))),
        }
        if form == SampleFormat::Float24 {
            self.order = Byteorder::Little;
        }
        let compression = tags.read_first_integer(file, id::COMPRESSION, 1)?;
        match COMPRESSION_FILTERS.iter().find(|row| row.0 == compression) {
            None if compression == COMPRESSION_JPEG => {
                if (&self.datatype, form, predictor) != (&Datatype::Uint8, SampleFormat::Plain, 1) {
                    return Err(Error::unsupported("a JPEG image of samples that do not have 8 bits"));
                }
                // Samples that are red, green and blue, or something that JPEG does not know, are stored as they are.
                let is_stored = !matches!(tags.read_first_integer(file, id::PHOTOMETRIC_INTERPRETATION, 1)?, 0 | 1 | 6);
                steps.push(CodingStep::new("jpeg", vec![columns, beside, u64::from(is_stored)]));
                self.jpeg_tables = read_jpeg_tables(file, tags)?;
            }
            Some((_, "")) => {}
            Some((_, word)) => steps.push(CodingStep::new(*word, Vec::new())),
            None => steps.push(CodingStep::new(format!("tiff:{compression}"), Vec::new())),
        }
        if tags.read_first_integer(file, id::FILL_ORDER, 1)? == 2 {
            steps.push(CodingStep::new("reverse", Vec::new()));
        }
        Ok(steps)
    }

    /// Writes an array whose elements are contiguous; those of other images may follow.
    fn write_contiguous_array(
        self,
        file: &TiffFile<'_>,
        start: u64,
        name: &str,
        builder: &mut LayoutBuilder,
    ) -> Result<WriteResult> {
        let size = self.shape.iter().fold(self.datatype.item_size(), |n, len| n.saturating_mul(*len));
        let all_are_there = start.saturating_add(size.saturating_mul(self.count_planes())) <= file.len();
        let image = if all_are_there { self.all_planes() } else { self };
        builder.write_array(name, &image.datatype, image.order, &image.shape, start)?;
        image.write_dim_names(builder)?;
        Ok(WriteResult { table: None, reason: image.missing_images_error() })
    }

    /// Returns the reason if there are images that no directory describes.
    fn missing_images_error(&self) -> Option<Error> {
        let more = self.count_planes().checked_sub(1).filter(|more| *more > 0)?;
        Some(Error::malformed(format!("ImageJ declares {more} more pages, and no directory gives their places")))
    }

    /// The byte offsets of the strips or tiles of a page.
    fn read_chunk_offsets(&self, file: &TiffFile<'_>, tags: &Ifd) -> Result<Vec<u64>> {
        let at = chunk_tag_ids(tags).0;
        let count = self.shape.iter().zip(&self.chunk).try_fold(1u64, |n, (len, chunk)| n.checked_mul(len.div_ceil(*chunk)));
        let found = tags.find_tag(at).map_or(0, |tag| tag.count);
        let Some(count) = count.filter(|count| *count == found) else {
            return Err(Error::malformed(format!(
                "{found} strips or tiles for an image of {:?} in {:?}",
                self.shape, self.chunk
            )));
        };
        if count > file.limits.items {
            return Err(Limits::exceeded_error("items", file.limits.items, format_args!("an image has {count} strips or tiles")));
        }
        Ok(tags.numbers(file, at)?.unwrap_or_default())
    }

    /// The lengths of the strips or tiles of a page that begin there.
    fn read_chunk_lengths(&self, file: &TiffFile<'_>, tags: &Ifd, starts: &[u64]) -> Result<Vec<u64>> {
        let lens = tags.numbers(file, chunk_tag_ids(tags).1)?;
        if lens.as_ref().is_some_and(|lens| lens.len() != starts.len()) {
            return Err(Error::malformed("the strips or tiles have more or fewer lengths than places"));
        }
        // Some writers omit the length of the only strip.
        let behind = |start: &u64| file.len().saturating_sub(*start);
        let mut lens = lens.unwrap_or_else(|| starts.iter().map(behind).collect());
        self.correct_chunk_lengths(starts, &mut lens, file.len());
        Ok(lens)
    }

    /// Writes the item; its attributes may follow.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the number of places is not that of the chunks.
    pub(super) fn write_item(
        self,
        file: &TiffFile<'_>,
        planes: &[&Ifd],
        name: &str,
        builder: &mut LayoutBuilder,
    ) -> Result<WriteResult> {
        let (mut starts, mut lens) = (Vec::new(), Vec::new());
        for tags in planes {
            starts.extend(self.read_chunk_offsets(file, tags)?);
            if starts.len() as u64 > file.limits.items {
                return Err(Limits::exceeded_error(
                    "items",
                    file.limits.items,
                    format_args!("a series has more strips or tiles"),
                ));
            }
        }
        let whole = if planes.len() > 1 { self.clone().all_planes() } else { self.clone() };
        let start = whole.contiguous_start(&starts).filter(|_| self.filters.is_empty() && !self.is_tiled);
        if let Some(start) = start {
            return whole.write_contiguous_array(file, start, name, builder);
        }
        let each = (starts.len() / planes.len().max(1)).max(1);
        for (tags, starts) in planes.iter().zip(starts.chunks(each)) {
            lens.extend(self.read_chunk_lengths(file, tags, starts)?);
        }
        let spelled = |(start, len): (&u64, &u64)| match (start, len) {
            (0, _) | (_, 0) => ItemSpec::bytes(0),
            (start, len) => ItemSpec::bytes(*len).with_offset(*start),
        };
        let mut table = None;
        let alone = if let [tags] = planes { Some(tags) } else { None };
        let (at, len) = alone.map_or((id::STRIP_OFFSETS, id::STRIP_BYTE_COUNTS), |tags| chunk_tag_ids(tags));
        match (starts.as_slice(), alone.and_then(|tags| tags.find_tag(at)), alone.and_then(|tags| tags.find_tag(len))) {
            ([start], ..) => builder.write_item(name, &spelled((start, lens.first().unwrap_or(&0))))?,
            (_, Some(at), Some(len)) if starts.len() > MAX_LISTED_CHUNKS => {
                let no_numbers = || Error::malformed("the offsets of strips or tiles are not integers");
                let column = |tag| file.layout_type(tag).ok_or_else(no_numbers);
                builder.write_item(name, &column(at)?.with_offset(at.value_offset))?;
                table = Some((column(len)?.with_offset(len.value_offset), format!("{name}@bytes")));
            }
            _ => builder.raw_list(name, starts.iter().zip(&lens).map(spelled).map(ElementSpec::from))?,
        }
        builder.write_grid_shape(&whole.shape, &whole.chunk)?;
        builder.write_element_type(&self.datatype, self.order, &[])?;
        builder.write_filters(self.filters.clone())?;
        if !self.jpeg_tables.is_empty() {
            builder.write_field(StorageField::ChunkHeader(self.jpeg_tables.clone()))?;
        }
        if !self.is_tiled {
            builder.write_field(StorageField::TrimmedEdges(true))?;
        }
        if let Some(fill) = planes.first().and_then(|tags| self.read_nodata_value(file, tags)) {
            builder.write_field(StorageField::Fill(FillValue::Number(fill)))?;
        }
        if let Some((_, bytes)) = &table {
            builder.write_chunk_table(bytes)?;
        }
        whole.write_dim_names(builder)?;
        Ok(WriteResult { table: table.map(|(said, bytes)| (bytes, said)), reason: whole.missing_images_error() })
    }

    /// Corrects the lengths of strips and tiles: one of 0 at a place in the file goes on to the next or to the end of the
    /// file, and an uncompressed strip is not longer than its rows.
    fn correct_chunk_lengths(&self, starts: &[u64], lens: &mut [u64], end: u64) {
        let cut = ChunkShape { shape: self.shape.clone(), chunk: self.chunk.clone(), item: 1, trims_edges: !self.is_tiled };
        let mut sorted = Vec::new();
        for (number, (start, len)) in starts.iter().zip(lens).enumerate() {
            if *len == 0 && *start != 0 {
                if sorted.is_empty() {
                    sorted = starts.to_vec();
                    sorted.sort_unstable();
                }
                let next = sorted.get(sorted.partition_point(|other| other <= start)).copied().unwrap_or(end);
                *len = next.min(end).saturating_sub(*start);
            }
            if self.filters.is_empty() {
                let lengths = cut.lengths(number as u64);
                *len = lengths.iter().fold(self.datatype.item_size(), |n, len| n.saturating_mul(*len)).min(*len);
            }
        }
    }

    /// GDAL's number for missing elements, which fills the tiles that were never written.
    fn read_nodata_value(&self, file: &TiffFile<'_>, tags: &Ifd) -> Option<DeclaredNumber> {
        let Ok(Values::Text(text)) = file.read_tag_values(tags.find_tag(id::GDAL_NODATA)?) else { return None };
        let text = text.trim_matches(['\0', ' ']);
        if self.datatype.is_float() {
            return text.parse::<f64>().ok().map(DeclaredNumber::Float);
        }
        let bits = u32::try_from(self.datatype.item_size().saturating_mul(8)).ok()?;
        let number = text.parse::<i128>().ok().filter(|_| self.datatype.is_integer())?;
        let (low, high) =
            if self.datatype.is_signed() { (-(1i128 << (bits - 1)), 1i128 << (bits - 1)) } else { (0, 1i128 << bits) };
        (low..high).contains(&number).then_some(DeclaredNumber::Int(number))
    }

    fn write_dim_names(&self, builder: &mut LayoutBuilder) -> Result<()> {
        builder.write_dims(self.dims.iter().copied())
    }

    /// Returns the start of the image, if its strips are contiguous.
    fn contiguous_start(&self, starts: &[u64]) -> Option<u64> {
        let cut = ChunkShape { shape: self.shape.clone(), chunk: self.chunk.clone(), item: 1, trims_edges: true };
        let first = starts.first().copied().filter(|start| *start != 0)?;
        let mut next = first;
        for (number, start) in starts.iter().enumerate() {
            if *start != next {
                return None;
            }
            let size = cut.lengths(number as u64).iter().fold(self.datatype.item_size(), |n, len| n.saturating_mul(*len));
            next = next.checked_add(size)?;
        }
        Some(first)
    }
}

/// The tags of the offsets and the lengths of strips or tiles: libtiff takes either pair for both.
fn chunk_tag_ids(tags: &Ifd) -> (u64, u64) {
    let first = |tile, strip| if tags.find_tag(tile).is_some() { tile } else { strip };
    (first(id::TILE_OFFSETS, id::STRIP_OFFSETS), first(id::TILE_BYTE_COUNTS, id::STRIP_BYTE_COUNTS))
}

/// The result of writing an image.
pub(super) struct WriteResult {
    /// The name and the text of the item with the lengths of its strips or tiles, which follows the attributes.
    pub table: Option<(String, ItemSpec)>,
    /// The reason if some of its pages are missing.
    pub reason: Option<Error>,
}

/// The tables that the JPEG images of a directory share: a JPEG file without an image.
fn read_jpeg_tables(file: &TiffFile<'_>, tags: &Ifd) -> Result<Vec<u8>> {
    let Some(tag) = tags.find_tag(id::JPEG_TABLES) else { return Ok(Vec::new()) };
    let wrong = || Error::malformed("the tables of JPEG are not bytes");
    if tag.count > MAX_JPEG_TABLES {
        return Err(Error::malformed(format!("{} bytes of tables of JPEG, more than {MAX_JPEG_TABLES}", tag.count)));
    }
    let numbers = tags.numbers(file, id::JPEG_TABLES)?.unwrap_or_default();
    numbers.into_iter().map(|number| u8::try_from(number).map_err(|_| wrong())).collect()
}

/// The form in which samples are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SampleFormat {
    /// Samples are stored as they are read.
    Plain,
    /// Integers of this number of bits, which share bytes.
    Bits(u64),
    /// Floating-point numbers of 24 bits.
    Float24,
}

/// The datatype of samples, and how they are stored.
fn samples_of(file: &TiffFile<'_>, tags: &Ifd) -> Result<(Datatype, SampleFormat)> {
    let alike = |id, without: u64, what: &str| -> Result<u64> {
        let all = tags.numbers(file, id)?.unwrap_or_else(|| vec![without]);
        match all.first() {
            Some(first) if all.iter().all(|one| one == first) => Ok(*first),
            _ => Err(Error::unsupported(format!("samples of several {what} next to each other: {all:?}"))),
        }
    };
    let (bits, format) = (alike(id::BITS_PER_SAMPLE, 1, "lengths")?, alike(id::SAMPLE_FORMAT, 1, "kinds")?);
    let plain = |kind| Datatype::numeric(kind, bits / 8).map(|datatype| (datatype, SampleFormat::Plain));
    let found = match (format, bits) {
        (1 | 4, 8 | 16 | 32 | 64) => plain('u'),
        (1 | 4, 1..8) => Some((Datatype::Uint8, SampleFormat::Bits(bits))),
        (1 | 4, 9..16) => Some((Datatype::Uint16, SampleFormat::Bits(bits))),
        (1 | 4, 17..32) => Some((Datatype::Uint32, SampleFormat::Bits(bits))),
        (2, 8 | 16 | 32 | 64) => plain('i'),
        (3, 24) => Some((Datatype::Float32, SampleFormat::Float24)),
        (3, 16 | 32 | 64) => plain('f'),
        (6, 64 | 128) => plain('c'),
        _ => None,
    };
    found.ok_or_else(|| match (format, bits) {
        (5, 32) => Error::unsupported("complex integers are not supported (CInt16)"),
        (5, 64) => Error::unsupported("complex integers are not supported (CInt32)"),
        (5, bits) => Error::unsupported(format!("complex integers are not supported ({bits} bits)")),
        _ => Error::unsupported(format!("samples of {bits} bits of the kind {format}")),
    })
}
