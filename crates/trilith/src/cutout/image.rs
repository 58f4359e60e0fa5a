//! Images that are cut out: their coordinates, and the arrays of their file.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use super::gwcs_tags::GwcsTags;
use super::{CutoutOptions, EdgeMode, PixelCutout};
use crate::array::Array;
use crate::asdf::{AsdfFile, ndarray};
use crate::error::{Error, Result};
use crate::file::File;
use crate::limits::Limits;
use crate::tree::{Node, TreePath};
use crate::wcs::{BoxSize, FoundWcs, PixelBox, WcsKey, wcs_at};

/// Arrays of another shape than the image stay in a cutout up to this many bytes.
const MAX_COPIED_BYTES: u64 = 64 << 10;

/// An image of a file, to be cut out at many positions: its coordinates are built once, and the arrays of the file listed once.
///
/// ```
/// # let text = "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
/// #     data: !core/ndarray-1.1.0 [[1, 2, 3], [4, 5, 6], [7, 8, 9]]\n\
/// #     meta: {ctype1: RA---TAN, ctype2: DEC--TAN, crpix1: 2, crpix2: 2, crval1: 10.0, crval2: 20.0, cdelt1: -0.001, cdelt2: 0.001}\n...\n";
/// # let file = trilith::OpenOptions::new().open_bytes(text.as_bytes().to_vec())?;
/// let image = file.cutout_image("/data")?;
/// for (position, pixel) in [([10.0, 20.0], 5), ([10.0, 20.001], 8), ([10.0, 19.999], 2)] {
///     let cutout = image.cutout(position, "1px".parse()?, Default::default())?;
///     assert_eq!(cutout.expect("the position is in the image").array()?.load::<i64>()?, [pixel]);
/// }
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CutoutImage<'f> {
    image: Arc<ImageArrays<'f>>,
    /// The other images of the file, for positions that the first one does not have. None if the image is named.
    other_images: Option<Arc<OnceLock<Vec<Arc<ImageArrays<'f>>>>>>,
}

#[derive(Debug)]
pub(super) struct ImageArrays<'f> {
    pub file: &'f File,
    pub found: FoundWcs,
    pub path: String,
    pub shape: Vec<u64>,
    /// The description of coordinates that counts.
    pub key: WcsKey,
    /// The arrays of the file, once they are listed.
    members: OnceLock<Vec<FileArray>>,
    /// The tags of the coordinates, once a cutout needs them.
    tags: OnceLock<GwcsTags>,
}

/// An array of a file, as a cutout sees it.
#[derive(Debug)]
pub(super) struct FileArray {
    pub path: TreePath,
    pub array: Array,
    /// `true` if the array has the shape and the coordinates of the image. Otherwise it is a large array that is left out.
    pub is_image: bool,
}

impl File {
    /// Returns the image at a path for cutouts at many positions. [`File::cutout`] says which image an empty path means: for each
    /// position, the first one that has it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the image has no coordinates, and as [`File::wcs`].
    pub fn cutout_image(&self, path: &str) -> Result<CutoutImage<'_>> {
        self.cutout_image_by_key(path, WcsKey::default())
    }

    /// Does the same as [`File::cutout_image`], for one of the descriptions of coordinates in FITS headers.
    ///
    /// # Errors
    /// Returns the errors of [`File::cutout_image`].
    pub fn cutout_image_by_key(&self, path: &str, key: WcsKey) -> Result<CutoutImage<'_>> {
        let none = || {
            let name = self.source().name();
            Error::unsupported(format!("cannot cut out of {name}: no image with coordinates"))
                .hint("name the path of an array: FILE#/path")
        };
        let other_images = path.trim_matches('/').is_empty().then(Arc::default);
        let mut found = self.wcs_by_key(path, key)?.ok_or_else(none)?;
        if found.array.is_none() {
            // The coordinates are named, or what holds them.
            found = self.every_wcs_by_key(key)?.into_iter().flatten().find(|other| other.path == found.path).ok_or_else(none)?;
        }
        let image = ImageArrays::new(self, found, key)?.ok_or_else(none)?;
        Ok(CutoutImage { image: Arc::new(image), other_images })
    }
}

impl<'f> CutoutImage<'f> {
    pub(super) fn new(image: Arc<ImageArrays<'f>>) -> Self {
        Self { image, other_images: None }
    }

    /// Returns the pixels around a position, as [`File::cutout`].
    ///
    /// # Errors
    /// Returns the errors of [`FoundWcs::pixel_box`].
    pub fn cutout(&self, position: [f64; 2], size: BoxSize, options: CutoutOptions) -> Result<Option<PixelCutout<'f>>> {
        let request = Some((position, size));
        let has_sky = self.image.found.wcs.sky().is_some();
        let (mut refused, mut count) = (None, 0);
        for is_first in [true, false] {
            let images = if is_first { std::slice::from_ref(&self.image) } else { self.other_images()? };
            for image in images {
                count += 1;
                match image.pixels_around(position, size, &options) {
                    Ok(Some(pixels)) => return Ok(Some(PixelCutout { image: image.clone(), pixels, options, request })),
                    Ok(None) => {}
                    Err(error) => drop(refused.get_or_insert((error, is_first))),
                }
            }
        }
        match refused {
            // An image without positions has none of them.
            Some((_, true)) if !has_sky && count > 1 => Ok(None),
            Some((error, _)) => Err(error),
            None => Ok(None),
        }
    }

    /// The other images of the file, if none is named.
    fn other_images(&self) -> Result<&[Arc<ImageArrays<'f>>]> {
        let Some(others) = &self.other_images else { return Ok(&[]) };
        if let Some(known) = others.get() {
            return Ok(known);
        }
        let mut images = Vec::new();
        for found in self.image.file.every_wcs_by_key(self.image.key)?.into_iter().flatten() {
            if found.wcs.sky().is_some() && found.path != self.image.found.path {
                images.extend(ImageArrays::new(self.image.file, found, self.image.key)?.map(Arc::new));
            }
        }
        Ok(others.get_or_init(|| images))
    }

    /// Coordinates of the image.
    pub fn coordinates(&self) -> &FoundWcs {
        &self.image.found
    }

    /// The cutout of these pixels.
    pub(super) fn by_pixel_box(&self, pixels: PixelBox, options: CutoutOptions) -> PixelCutout<'f> {
        PixelCutout { image: self.image.clone(), pixels, options, request: None }
    }
}

impl<'f> ImageArrays<'f> {
    /// The image of coordinates; None if they are those of no array.
    fn new(file: &'f File, found: FoundWcs, key: WcsKey) -> Result<Option<Self>> {
        let Some(path) = found.array.clone() else { return Ok(None) };
        let shape = file.item(&path)?.describe()?.shape;
        Ok(Some(Self::from_parts(file, found, path, shape, key)))
    }

    fn from_parts(file: &'f File, found: FoundWcs, path: String, shape: Vec<u64>, key: WcsKey) -> Self {
        Self { file, found, path, shape, key, members: OnceLock::new(), tags: OnceLock::new() }
    }

    /// The pixels of a cutout around a position; None if it is outside of the image.
    fn pixels_around(&self, position: [f64; 2], size: BoxSize, options: &CutoutOptions) -> Result<Option<PixelBox>> {
        let native = options.position_frame.to_native(&self.found.wcs, position);
        let Some(pixels) = self.found.pixel_box(native, size)? else { return Ok(None) };
        let mut pixels = pixels.for_axes(&self.found.wcs, self.shape.len());
        let Some(inside) = pixels.clip_to_shape(&self.shape) else { return Ok(None) };
        let axes = pixels.start.len();
        let is_whole = inside.iter().rev().zip(pixels.length.iter()).all(|(range, length)| range.end - range.start == *length);
        match options.edge {
            EdgeMode::Skip if !is_whole => return Ok(None),
            EdgeMode::Trim => {
                for (axis, range) in inside.iter().rev().take(axes).enumerate() {
                    pixels.start[axis] = range.start as i64;
                    pixels.length[axis] = range.end - range.start;
                }
            }
            _ => {}
        }
        Ok(Some(pixels))
    }

    /// The image with other coordinates.
    pub(super) fn with_coordinates(&self, found: FoundWcs) -> Self {
        let path = found.array.clone().unwrap_or_else(|| self.path.clone());
        Self::from_parts(self.file, found, path, self.shape.clone(), self.key)
    }

    /// Returns `true` if an array ends with the axes of the image.
    pub(super) fn has_shape(&self, shape: &[u64]) -> bool {
        let axes = self.found.wcs.pixel_axes().min(self.shape.len());
        shape.len() >= axes && shape.iter().rev().zip(self.shape.iter().rev()).take(axes).all(|(a, b)| a == b)
    }

    /// The tags of the coordinates, which are a GWCS.
    pub(super) fn tags(&self, wcs: Node<'_>, limits: &Limits) -> Result<&GwcsTags> {
        if let Some(known) = self.tags.get() {
            return Ok(known);
        }
        let found = GwcsTags::from_wcs(wcs, limits)?;
        Ok(self.tags.get_or_init(|| found))
    }

    /// The arrays of a file that a cutout has or leaves out.
    pub(super) fn file_arrays(&self, file: &AsdfFile) -> Result<&[FileArray]> {
        if let Some(known) = self.members.get() {
            return Ok(known);
        }
        let (mut members, mut seen) = (Vec::new(), HashSet::new());
        let root = self.file.root();
        // An image with separate coordinates is not cut, because the coordinates of this image do not apply to it.
        let is_placed =
            |path: &str| path == self.path || wcs_at(&root, path, self.key).is_none_or(|place| place == self.found.path);
        for listed in crate::asdf::walk::arrays(file)? {
            let Ok(found) = listed.location else { continue };
            let node = found.node(file);
            // An array of another file, or one that an alias leads to, is not written here.
            if !std::ptr::eq(found.file(file), file) || !seen.insert(node.id()) {
                continue;
            }
            let path = TreePath::parse(&listed.path)?;
            let Ok(array) = file.array(node) else { continue };
            if listed.path.starts_with(&format!("{}/", self.found.path)) {
                continue;
            }
            let is_image = self.has_shape(array.shape()) && is_placed(&listed.path);
            if is_image || (array.nbytes() > MAX_COPIED_BYTES && ndarray::is_ndarray(node)) {
                members.push(FileArray { path, array, is_image });
            }
        }
        Ok(self.members.get_or_init(|| members))
    }
}
