//! Cutouts: the pixels around a position on the sky, with their coordinates.

mod coordinates;
mod fill;
mod gwcs_tags;
mod image;
mod referenced;
mod sections;

use std::sync::Arc;

use self::fill::{copy_into_region, fill_bytes};
use self::image::ImageArrays;
use self::referenced::ReferencedHdus;
use self::sections::{SectionCard, move_section};
use crate::array::{Array, Byteorder, Datatype, Mask, announce_all};
use crate::asdf::{ArrayOptions, AsdfFile, WriteOptions};
use crate::bytes::{AccessCost, NewFile, WriteSeek};
use crate::change::Change;
use crate::convert::{ConvertOptions, TargetForm};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::file::{File, FileFormat, OpenOptions, verify_with_tree};
use crate::fits::{self, Card, CardValue, HduData, Header, OutsidePixel, StoredImage};
use crate::tree::{Edit, Tree, TreePath};
use crate::wcs::{BoxSize, FoundWcs, PixelBox, PositionFrame};
pub use image::CutoutImage;

/// HDUs that a note names, at most.
const MAX_NAMED_HDUS: usize = 5;

/// Byte ranges of a remote file that are closer than this are one request.
const MERGE_GAP: u64 = 64 << 10;
/// A part of an array that is read before it is written, in bytes.
const MAX_EAGER_BYTES: u64 = 16 << 20;

/// The treatment of a cutout that reaches beyond the edge of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EdgeMode {
    /// Pixels beyond the edge are filled.
    #[default]
    Fill,
    /// The cutout ends at the edge.
    Trim,
    /// A cutout that reaches beyond the edge is not made.
    Skip,
}

/// Choices for [`File::cutout`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CutoutOptions {
    /// The treatment of the edge of the image.
    pub edge: EdgeMode,
    /// Value of pixels beyond the edge. By default NaN for floats and complex numbers, else 0. In a FITS file BLANK is NaN for
    /// integers that are scaled.
    pub fill: Option<f64>,
    /// Names of the arrays that the cutout has, as `data`; all of the shape of the image if there are none.
    pub image_only: Vec<String>,
    /// Reference frame of the position.
    pub position_frame: PositionFrame,
}

/// Pixels around a position.
#[derive(Debug)]
pub struct PixelCutout<'f> {
    image: Arc<ImageArrays<'f>>,
    pixels: PixelBox,
    options: CutoutOptions,
    /// The position and the size that the pixels were found by; `None` if they are given.
    request: Option<([f64; 2], BoxSize)>,
}

impl File {
    /// Returns the pixels around a position: longitude and latitude in degrees, ICRS unless the options name another frame. `None` if the position is not in the image, or
    /// if the cutout reaches beyond its edge and [`EdgeMode::Skip`] is chosen.
    ///
    /// `path` is that of an image. If it is empty, the first image that has the position is taken.
    /// Nothing is read but the coordinates.
    ///
    /// ```
    /// # let text = "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
    /// #     data: !core/ndarray-1.1.0 [[1, 2, 3], [4, 5, 6], [7, 8, 9]]\n\
    /// #     meta: {ctype1: RA---TAN, ctype2: DEC--TAN, crpix1: 2, crpix2: 2, crval1: 10.0, crval2: 20.0, cdelt1: -0.001, cdelt2: 0.001}\n...\n";
    /// # let file = trilith::OpenOptions::new().open_bytes(text.as_bytes().to_vec())?;
    /// let cutout = file.cutout("/data", [10.0, 20.0], "1px".parse()?, Default::default())?;
    /// assert_eq!(cutout.expect("the position is in the image").array()?.load::<i64>()?, [5]);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the image has no coordinates, and as [`File::wcs`] and
    /// [`FoundWcs::pixel_box`].
    pub fn cutout(
        &self,
        path: &str,
        position: [f64; 2],
        size: BoxSize,
        options: CutoutOptions,
    ) -> Result<Option<PixelCutout<'_>>> {
        self.cutout_image(path)?.cutout(position, size, options)
    }
}

impl<'f> PixelCutout<'f> {
    /// Path of the image.
    pub fn path(&self) -> &str {
        &self.image.path
    }

    /// Returns the format that keeps most of the file: FITS for a FITS file without ASDF, else ASDF.
    pub fn preferred_format(&self) -> FileFormat {
        let around = self.image.file.as_asdf().and_then(AsdfFile::container);
        if around.is_some_and(|container| container.hdu == 0) { FileFormat::Fits } else { FileFormat::Asdf }
    }

    /// Pixels of the image that the cutout has, x first.
    pub fn pixels(&self) -> &PixelBox {
        &self.pixels
    }

    /// Coordinates of the image, not of the cutout.
    pub fn coordinates(&self) -> &FoundWcs {
        &self.image.found
    }

    /// Returns the pixels of the image. Those of a large cutout without filled pixels are read when they are used.
    ///
    /// # Errors
    /// Returns an error if the array cannot be read, and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if its
    /// datatype does not hold the value to fill with.
    pub fn array(&self) -> Result<Array> {
        self.crop(&self.image.file.array(&self.image.path)?)
    }

    /// The part of an array of the shape of the image.
    fn crop(&self, array: &Array) -> Result<Array> {
        self.cut_with(array, || fill_bytes(array.datatype(), self.options.fill).map(Some))
    }

    /// Returns the part of an array, where `fill` gives the element for pixels beyond the edge. They are masked if there is none.
    fn cut_with(&self, array: &Array, fill: impl FnOnce() -> Result<Option<Vec<u8>>>) -> Result<Array> {
        // The cutout has no sums, or new ones. Those of a remote file would fetch all of it.
        let fits = self.image.file.as_asdf().and_then(crate::file::container_fits);
        if fits.is_some_and(|fits| fits.source().access().cost != AccessCost::Request) {
            array.verify_checksum()?;
        }
        let wrong = || Error::unsupported(format!("cannot cut out of {}: its shape is {:?}", self.image.path, array.shape()));
        let part = self.pixels.slice(array)?.ok_or_else(wrong)?;
        let more = array.shape().len() - self.pixels.start.len();
        let lengths = self.pixels.length.iter().rev().copied();
        let shape: Vec<u64> = array.shape().iter().take(more).copied().chain(lengths).collect();
        if part.shape() != shape {
            return self.fill_outside(&part, &shape, fill()?);
        }
        // A checksum is that of a whole block, most of which a small cutout does not need, so it is not read for that.
        let is_small = part.nbytes() <= MAX_EAGER_BYTES && part.nbytes().saturating_mul(2) < array.nbytes();
        if is_small { in_memory(&part) } else { Ok(part) }
    }

    /// The part of the image in the middle of filled pixels.
    fn fill_outside(&self, part: &Array, shape: &[u64], fill: Option<Vec<u8>>) -> Result<Array> {
        let datatype = part.datatype().clone();
        let item = usize::try_from(datatype.packed_size()).unwrap_or(usize::MAX);
        let limits = self.image.file.limits();
        let count = shape.iter().try_fold(1u64, |product, length| product.checked_mul(*length)).unwrap_or(u64::MAX);
        limits.charge_memory(count.saturating_mul(item as u64), "the filled pixels of a cutout")?;
        let is_masked = fill.is_none();
        let fill = fill.unwrap_or_else(|| vec![0; item]);
        let count = usize::try_from(count).map_err(|_| Error::limit("a cutout of too many pixels for this machine"))?;
        let mut bytes = fill.repeat(count);
        // Start of the part along each axis of the array.
        let more = shape.len() - self.pixels.start.len();
        let begin: Vec<u64> = (0..shape.len())
            .map(|axis| if axis < more { 0 } else { (-self.pixels.start[shape.len() - 1 - axis]).max(0) as u64 })
            .collect();
        copy_into_region(&part.read_bytes(Byteorder::Little)?, part.shape(), &mut bytes, shape, &begin, item);
        let made = Array::from_bytes(bytes, datatype, Byteorder::Little, shape.to_vec())?;
        let mask = match part.mask_bytes()? {
            Some(mask) => mask,
            None if is_masked => vec![0; usize::try_from(part.element_count()).unwrap_or(0)],
            None => return Ok(made),
        };
        let mut whole = vec![1u8; count];
        copy_into_region(&mask, part.shape(), &mut whole, shape, &begin, 1);
        let mask = Array::from_bytes(whole, Datatype::Bool8, Byteorder::Little, shape.to_vec())?;
        made.with_mask(Mask::Array(Arc::new(mask)))
    }

    /// Returns the cutout as a change of the file, and the paths of arrays that are left out. The arrays with the shape of the
    /// image are cut, and the coordinates are moved. Larger arrays of another shape are left out. Save the change to another
    /// file.
    ///
    /// The tree is edited as text, so all metadata, tags and comments stay.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the file is not one of the ASDF family, and as
    /// [`PixelCutout::array`].
    pub fn edit(&self) -> Result<(Change<'f>, Vec<String>)> {
        let wrong = || {
            let message = format!(
                "cannot write a cutout of {} as ASDF: it is a {} file",
                self.image.file.source().name(),
                self.image.file.family()
            );
            Error::unsupported(message).hint("write it as .npy or .png")
        };
        let file = self
            .image
            .file
            .as_asdf()
            .filter(|file| file.container().is_none_or(|container| container.hdu != 0))
            .ok_or_else(wrong)?;
        let mut change = Change::new(file);
        let CutoutArrays { cropped: cut, copied: left, other_shape: unlike } = self.select_arrays(file)?;
        self.prefetch(file, &cut)?;
        let mut nodes = Vec::with_capacity(cut.len());
        for (path, array) in cut {
            let node = change.replacement_node(&path, &self.crop(&array)?, &ArrayOptions::default())?;
            nodes.push((path, node));
        }
        let pixels = &self.pixels;
        let entry = change.history_entry(&format!(
            "Cutout of {} pixels (x first) from pixel {:?} of {}",
            pixels.length.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "),
            pixels.start,
            self.image.path
        ));
        let coordinates = TreePath::parse(&self.image.found.path)?;
        if let Some((path, own)) = self.shared_coordinates(file.tree(), &coordinates, file.limits())? {
            change.edit(|edit, _| edit.set(&path, &own))?;
        }
        let node =
            file.tree().find(&coordinates).ok_or_else(|| Error::unsupported("coordinates in another file than the image"))?;
        let step = if node.get("steps").is_some() { Some(self.shift_step(node, file.limits())?) } else { None };
        let arrays = |edit: &mut Edit<'_>| {
            nodes.iter().try_for_each(|(path, node)| edit.set(path, node))?;
            left.iter().try_for_each(|path| edit.delete(path))
        };
        let together = change.edit(|edit, tree| {
            arrays(edit)?;
            self.move_coordinates(edit, tree, &coordinates, step.as_ref())?;
            entry.add_to_history(edit, tree)
        });
        // Some edits touch the same bytes, such as the end of one mapping in braces, and are applied one after the other.
        if together.is_err() {
            for (path, node) in &nodes {
                change.edit(|edit, _| edit.set(path, node))?;
            }
            for path in &left {
                change.edit(|edit, _| edit.delete(path))?;
            }
            change.edit(|edit, tree| self.move_coordinates(edit, tree, &coordinates, step.as_ref()))?;
            change.edit(|edit, tree| entry.add_to_history(edit, tree))?;
        }
        Ok((change, unlike))
    }

    /// Writes the cutout as an ASDF, FITS or NPY file. Returns notes for the user, such as the names of arrays that are left out.
    ///
    /// A FITS file has the images with their coordinates, and the whole tree as ASDF. An NPY file has only the pixels of the
    /// image. Images of a FITS file keep their stored elements with BSCALE, BZERO and BLANK, but are not compressed.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for other formats, and as [`PixelCutout::edit`] and
    /// [`File::convert_into`].
    pub fn write(&self, form: FileFormat, options: &ConvertOptions, out: &mut dyn WriteSeek) -> Result<Vec<String>> {
        self.write_with_tree(form, options, out).map(|(notes, _)| notes)
    }

    /// Writes the cutout as [`PixelCutout::write`] does, reads an ASDF or FITS file back, and checks that its arrays can be found.
    ///
    /// # Errors
    /// Returns the errors of [`PixelCutout::write`], and [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if it cannot be
    /// read.
    #[doc(hidden)]
    pub fn write_checked(&self, form: FileFormat, options: &ConvertOptions, out: &mut NewFile) -> Result<Vec<String>> {
        let (notes, tree) = self.write_with_tree(form, options, out.writer())?;
        if matches!(form, FileFormat::Asdf | FileFormat::Fits)
            && let Some(written) = out.reread_source()?
        {
            verify_with_tree(written, tree.as_ref(), None, self.image.file.limits())?;
        }
        Ok(notes)
    }

    /// Does the same as [`PixelCutout::write`], and returns the tree of an ASDF file as well, if it is known.
    fn write_with_tree(
        &self,
        form: FileFormat,
        options: &ConvertOptions,
        out: &mut dyn WriteSeek,
    ) -> Result<(Vec<String>, Option<Tree>)> {
        if self.is_converted_fits() {
            return Ok((self.write_as_fits(form, options, out)?, None));
        }
        let notes = match form {
            FileFormat::Npy => {
                let array = self.array()?;
                let masked = array.masked_count()?;
                array.write_npy(out)?;
                (masked > 0).then(|| format!("{masked} masked elements are written without the mask")).into_iter().collect()
            }
            FileFormat::Asdf if self.preferred_format() == FileFormat::Fits => {
                let mut whole = std::io::Cursor::new(Vec::new());
                let mut notes = self.write_hdus(&mut whole)?;
                notes.extend(self.write_converted(whole.into_inner(), TargetForm::Asdf, &ConvertOptions::default(), out)?);
                notes
            }
            FileFormat::Asdf => return self.write_asdf(out).map(|(notes, tree)| (notes, Some(tree))),
            FileFormat::Fits if self.image.file.as_asdf().is_some_and(|file| file.container().is_some()) => {
                self.write_hdus(out)?
            }
            FileFormat::Fits => {
                let mut asdf = std::io::Cursor::new(Vec::new());
                let (mut notes, _) = self.write_asdf(&mut asdf)?;
                notes.extend(self.write_converted(asdf.into_inner(), TargetForm::Fits, options, out)?);
                notes
            }
            other => {
                return Err(Error::unsupported(format!("cannot write a cutout as {}", other.name()))
                    .hint("give a name that ends in .asdf, .fits, .npy or .png"));
            }
        };
        Ok((notes, None))
    }

    /// Returns `true` if the image is in an ASDF file with the HDUs of a FITS file, whose coordinates are a list of cards.
    fn is_converted_fits(&self) -> bool {
        let is_plain = self.image.file.as_asdf().is_some_and(|file| file.container().is_none());
        is_plain && self.image.found.path.starts_with("/fits/")
    }

    /// Writes the cutout of a FITS file that was converted to ASDF: as one of the FITS file, which says how its pixels are stored.
    fn write_as_fits(&self, form: FileFormat, options: &ConvertOptions, out: &mut dyn WriteSeek) -> Result<Vec<String>> {
        let mut to_fits = ConvertOptions::default();
        (to_fits.to, to_fits.allow_loss) = (TargetForm::Fits, true);
        let mut whole = std::io::Cursor::new(Vec::new());
        let done = self.image.file.convert_into(&to_fits, &mut whole, crate::Progress::default())?;
        let file = OpenOptions::new().limits(self.image.file.limits().clone()).open_bytes(whole.into_inner())?;
        let image = file.cutout_image_by_key(&self.image.path, self.image.key)?;
        let mut cutout = image.by_pixel_box(self.pixels.clone(), self.options.clone());
        cutout.request = self.request;
        let describe = |loss: Diagnostic| match loss.path {
            Some(path) => format!("{path}: {}", loss.message),
            None => loss.message,
        };
        let mut notes: Vec<String> = done.losses.into_iter().map(describe).collect();
        notes.extend(cutout.write(form, options, out)?);
        Ok(notes)
    }

    /// Writes the bytes of a cutout in another format. Returns what a user should know.
    fn write_converted(
        &self,
        bytes: Vec<u8>,
        to: TargetForm,
        options: &ConvertOptions,
        out: &mut dyn WriteSeek,
    ) -> Result<Vec<String>> {
        let file = OpenOptions::new().limits(self.image.file.limits().clone()).open_bytes(bytes)?;
        let mut options = options.clone();
        (options.to, options.allow_loss) = (to, true);
        let done = file.convert_into(&options, out, crate::Progress::default())?;
        Ok(done.losses.into_iter().map(|loss| loss.message).chain(done.notes).collect())
    }

    /// Writes an ASDF file. Returns notes for the user, and the tree of the file.
    fn write_asdf(&self, out: &mut dyn WriteSeek) -> Result<(Vec<String>, Tree)> {
        let around = self.image.file.as_asdf().and_then(AsdfFile::container).filter(|container| container.hdu != 0);
        if around.is_some() {
            // The arrays of an ASDF file in a FITS file may be HDUs: it is taken out first.
            let mut options = ConvertOptions::default();
            (options.to, options.allow_loss) = (TargetForm::Asdf, true);
            let mut whole = std::io::Cursor::new(Vec::new());
            self.image.file.convert_into(&options, &mut whole, crate::Progress::default())?;
            let file = OpenOptions::new().limits(self.image.file.limits().clone()).open_bytes(whole.into_inner())?;
            let image = file.cutout_image_by_key(&self.image.path, self.image.key)?;
            return image.by_pixel_box(self.pixels.clone(), self.options.clone()).write_asdf(out);
        }
        let (mut change, left) = self.edit()?;
        let (damaged, tree) = change.write_tree(out, &WriteOptions::default())?;
        let mut notes: Vec<String> = left
            .into_iter()
            .map(|path| format!("{path} is left out: it has another shape or other coordinates than the image"))
            .collect();
        notes.extend(damaged.into_iter().map(|found| found.message));
        Ok((notes, tree.into_owned()))
    }

    /// The images of a FITS file that have the shape of this one, each with its own header.
    fn write_hdus(&self, out: &mut dyn WriteSeek) -> Result<Vec<String>> {
        let around = self.image.file.as_asdf().and_then(crate::file::container_fits);
        let fits = around.ok_or_else(|| Error::unsupported(format!("{} is in no FITS file", self.image.path)))?;
        let (mut parts, mut notes, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let mut referenced = ReferencedHdus::default();
        let only = &self.options.image_only;
        for hdu in fits.hdus() {
            let is_chosen = only.is_empty() || only.iter().any(|name| name.eq_ignore_ascii_case(hdu.name()));
            let is_image = is_chosen && fits.image_shape(hdu).is_some_and(|shape| self.image.has_shape(&shape));
            let place = if is_image { self.place_in_hdu(hdu.index()) } else { ChipPlace::Same };
            if let ChipPlace::Outside(why) = &place {
                notes.push(format!("HDU {} left out: {why}", hdu.index()));
            }
            let is_image = is_image && !matches!(place, ChipPlace::Outside(_));
            if let Some(image) = if is_image { fits.stored_image(hdu)? } else { None } {
                let cutout = match &place {
                    ChipPlace::Own(chip) => &**chip,
                    _ => self,
                };
                let (mut part, absent) = cutout.build_image_hdu(image, hdu.index() == 0)?;
                referenced.copy(fits, &cutout.pixels.start, &mut part.header)?;
                if !absent.is_empty() {
                    let (cards, label) = (absent.join(", "), hdu.index());
                    notes.push(format!("{cards} of HDU {label} left out: they name pixels that the cutout does not have"));
                }
                parts.push(part);
                continue;
            }
            if hdu.index() == 0 {
                let cards = hdu.header().cards().iter().filter(|card| !is_sum(card)).cloned();
                parts.push(HduData::with_data(Header::new(cards.collect()), None));
            }
            if !hdu.data().is_empty() && !matches!(place, ChipPlace::Outside(_)) {
                left.push(hdu.index());
            }
        }
        if parts.iter().all(|part| part.data.is_none()) {
            return Err(Error::unsupported(format!("cannot write a cutout of {} as FITS: no image HDU has it", self.image.path))
                .hint("write it as .npy or .png, or decode the file first: trilith convert --physical"));
        }
        left.retain(|index| !referenced.has(*index));
        parts.append(&mut referenced.parts);
        fits::write(out, &parts)?;
        if !left.is_empty() {
            let name = |index: &usize| fits.hdus().get(*index).map_or("", |hdu| hdu.name());
            let named = |index| if name(index).is_empty() { index.to_string() } else { format!("{index} ({})", name(index)) };
            let named: Vec<String> = left.iter().take(MAX_NAMED_HDUS).map(named).collect();
            let more = if left.len() > MAX_NAMED_HDUS { ", …" } else { "" };
            let count = crate::error::count_noun(left.len(), "HDU");
            notes.push(format!("{count} of another shape or kind left out: {}{more}", named.join(", ")));
        }
        Ok(notes)
    }

    /// The pixels of the position in an HDU of the shape of the image, which may be another chip with its own coordinates.
    fn place_in_hdu(&self, index: usize) -> ChipPlace<'f> {
        let own = format!("/fits/{index}");
        let header_path = &self.image.found.path;
        let is_header = header_path.starts_with("/fits/") && !header_path.starts_with(&format!("{own}/"));
        let Some((position, size)) = self.request.filter(|_| is_header) else { return ChipPlace::Same };
        let found = match self.image.file.wcs_by_key(&format!("{own}/data"), self.image.key) {
            Ok(Some(found)) if found.wcs.sky().is_some() => found,
            Ok(_) => return ChipPlace::Same,
            Err(error) => return ChipPlace::Outside(error.to_string()),
        };
        let image = Arc::new(self.image.with_coordinates(found));
        match CutoutImage::new(image).cutout(position, size, self.options.clone()) {
            Ok(Some(chip)) => ChipPlace::Own(Box::new(chip)),
            Ok(None) => ChipPlace::Outside("the position is outside of this chip, or near its edge".to_owned()),
            Err(error) => ChipPlace::Outside(error.to_string()),
        }
    }

    /// The HDU of the pixels of an image, and the keywords of the cards that it leaves out. Its elements stay as they are stored, next to
    /// the cards that say what they mean.
    fn build_image_hdu(&self, mut image: StoredImage, is_primary: bool) -> Result<(HduData, Vec<String>)> {
        let outside = || match image.outside_pixel(self.options.fill)? {
            OutsidePixel::Plain => fill_bytes(image.array().datatype(), self.options.fill).map(Some),
            OutsidePixel::Element(bytes) => Ok(Some(bytes)),
            OutsidePixel::Missing => Ok(None),
        };
        let array = self.cut_with(image.array(), outside)?;
        let (mut cards, mut absent) = (Vec::new(), Vec::new());
        let lengths: Vec<u64> = image.array().shape().iter().rev().copied().collect();
        let header = image.header_mut();
        for card in header.cards().iter().filter(|card| !is_sum(card)) {
            match move_section(card, header, &lengths, &self.pixels) {
                SectionCard::Other => {}
                SectionCard::Moved(section) => {
                    cards.push(Card::new(card.keyword(), section.as_str(), card.comment())?);
                    continue;
                }
                SectionCard::Absent => {
                    absent.push(card.keyword().to_owned());
                    continue;
                }
            }
            let moved = match (self.keyword_shift(card.keyword()), card.value()) {
                (Some(start), CardValue::Integer(old)) => Some(*old as f64 - start),
                (Some(start), CardValue::Float(old)) => Some(*old - start),
                // wcslib does not read a string, so that the number is zero.
                (Some(start), CardValue::Text(_)) => Some(-start),
                _ => None,
            };
            cards.push(moved.map_or_else(|| Ok(card.clone()), |moved| Card::new(card.keyword(), moved, card.comment()))?);
        }
        let missing = self.missing_shifts(&header.cards().iter().map(Card::keyword).collect::<Vec<_>>());
        for (keyword, value) in missing {
            cards.push(Card::new(&keyword, value, "")?);
        }
        *image.header_mut() = Header::new(cards);
        Ok((image.build_hdu(array, is_primary)?, absent))
    }

    /// The arrays of a file: those to cut, and those to leave out.
    fn select_arrays(&self, file: &AsdfFile) -> Result<CutoutArrays> {
        let mut arrays = CutoutArrays { cropped: Vec::new(), copied: Vec::new(), other_shape: Vec::new() };
        let only = &self.options.image_only;
        for member in self.image.file_arrays(file)? {
            let path = member.path.clone();
            if !member.is_image {
                arrays.other_shape.push(path.to_string());
                arrays.copied.push(path);
            } else if only.is_empty()
                || path.keys().last().is_some_and(|name| only.contains(name))
                || only.contains(&path.to_string())
            {
                arrays.cropped.push((path, member.array.clone()));
            } else {
                arrays.copied.push(path);
            }
        }
        if arrays.cropped.is_empty() {
            return Err(Error::invalid_input(format!(
                "cannot cut out {}: no array of the shape {:?} has this name",
                self.options.image_only.join(", "),
                self.image.shape
            ))
            .hint("leave --only out to take all"));
        }
        // Parts of what is left out go with it, and the last items of a list first.
        let left = std::mem::take(&mut arrays.copied);
        let mut kept: Vec<TreePath> = Vec::new();
        for path in left {
            if !kept.iter().any(|known| path.keys().starts_with(known.keys())) {
                kept.push(path);
            }
        }
        kept.reverse();
        arrays.copied = kept;
        Ok(arrays)
    }

    /// Lets a remote source fetch the parts of all arrays together.
    fn prefetch(&self, file: &AsdfFile, cut: &[(TreePath, Array)]) -> Result<()> {
        let parts = cut.iter().map(|(_, array)| self.pixels.slice(array)).filter_map(Result::transpose);
        announce_all(&**file.sections().source(), &parts.collect::<Result<Vec<_>>>()?, MERGE_GAP)
    }
}

/// The pixels of a position in one of the images of a FITS file.
enum ChipPlace<'f> {
    /// The pixels are those of the image that was chosen.
    Same,
    /// The image has separate coordinates.
    Own(Box<PixelCutout<'f>>),
    /// The image does not have the position, for this reason.
    Outside(String),
}

/// Returns `true` for a card with a sum over the whole HDU.
fn is_sum(card: &Card) -> bool {
    matches!(card.keyword(), "CHECKSUM" | "DATASUM")
}

/// The arrays of a file, as a cutout sees them.
struct CutoutArrays {
    cropped: Vec<(TreePath, Array)>,
    copied: Vec<TreePath>,
    /// Paths of the large arrays that are left out because they do not match the image.
    other_shape: Vec<String>,
}

/// The elements of a part of an array, read now.
fn in_memory(part: &Array) -> Result<Array> {
    let order = part.byteorder();
    let shape = part.shape().to_vec();
    let made = Array::from_bytes(part.read_bytes(order)?, part.datatype().clone(), order, shape.clone())?;
    let Some(mask) = part.mask_bytes()? else { return Ok(made) };
    let mask = Array::from_bytes(mask, Datatype::Bool8, Byteorder::Little, shape)?;
    made.with_mask(Mask::Array(Arc::new(mask)))
}
