//! Pages that are the mask of another one: bit 4 of `NewSubfileType` (TIFF Revision 6.0, section 8), a number that is not 0 for each
//! pixel that counts. GDAL writes them for images and for their smaller versions.

use std::collections::{HashMap, VecDeque};

use super::ifd::{Ifd, TiffFile};
use super::image::TiffImage;
use super::{Page, id};
use crate::error::Result;
use crate::layout::{LayoutBuilder, StorageField};

/// The bit of a smaller version of another page.
pub(super) const SMALLER: u64 = 1;
/// The bit of a mask.
pub(super) const MASK: u64 = 4;

/// Returns the bits [`SMALLER`] and [`MASK`] of a page.
pub(super) fn page_kind(file: &TiffFile<'_>, tags: &Ifd) -> u64 {
    tags.read_first_integer(file, id::SUBFILE, 0).unwrap_or(0) & (SMALLER | MASK)
}

/// Whether a page is a smaller version, and the lengths of its axes.
type PageSize = (bool, [u64; 3]);

fn size_of(file: &TiffFile<'_>, tags: &Ifd, kind: u64) -> PageSize {
    let length = |id| tags.read_first_integer(file, id, 1).unwrap_or(0);
    (kind & SMALLER != 0, [id::IMAGE_DEPTH, id::IMAGE_LENGTH, id::IMAGE_WIDTH].map(length))
}

/// Moves each mask to its image: as GDAL has it, the first one before it that has its size and no mask. Masks without an image stay
/// pages. Returns `true` if there are any.
pub(super) fn attach_masks(file: &TiffFile<'_>, pages: &mut Vec<Page>) -> bool {
    let mut is_any = false;
    for page in pages.iter_mut() {
        let kinds: Vec<u64> = page.sub_ifds.iter().map(|tags| page_kind(file, tags)).collect();
        if kinds.iter().any(|kind| kind & MASK != 0) {
            let (tags, smaller) = (&mut page.directory, std::mem::take(&mut page.sub_ifds));
            page.sub_ifds = attach_level_masks(file, tags, smaller, &kinds);
            is_any = true;
        }
    }
    let kinds: Vec<u64> = pages.iter().map(|page| page_kind(file, &page.directory)).collect();
    if !kinds.iter().any(|kind| kind & MASK != 0) {
        return is_any;
    }
    let mut without_mask: HashMap<PageSize, VecDeque<usize>> = HashMap::new();
    let mut images: Vec<Page> = Vec::with_capacity(pages.len());
    for (page, kind) in std::mem::take(pages).into_iter().zip(kinds) {
        let size = size_of(file, &page.directory, kind);
        let owner = if kind & MASK == 0 { None } else { without_mask.get_mut(&size).and_then(VecDeque::pop_front) };
        match owner.and_then(|owner| images.get_mut(owner)) {
            Some(image) => image.directory.mask = Some(Box::new(page.directory)),
            None => {
                if kind & MASK == 0 && page.directory.mask.is_none() {
                    without_mask.entry(size).or_default().push_back(images.len());
                }
                images.push(page);
            }
        }
    }
    *pages = images;
    true
}

/// Moves the masks among the smaller versions of a page to it and to these; returns the versions.
fn attach_level_masks(file: &TiffFile<'_>, page: &mut Ifd, levels: Vec<Ifd>, kinds: &[u64]) -> Vec<Ifd> {
    let own = size_of(file, page, 0).1;
    let mut without_mask: HashMap<_, VecDeque<usize>> = HashMap::new();
    let mut images: Vec<Ifd> = Vec::with_capacity(levels.len());
    for (tags, kind) in levels.into_iter().zip(kinds) {
        let size = size_of(file, &tags, *kind).1;
        let owner = match kind & MASK {
            0 => None,
            _ if own == size && page.mask.is_none() => Some(&mut *page),
            _ => without_mask.get_mut(&size).and_then(VecDeque::pop_front).and_then(|owner| images.get_mut(owner)),
        };
        match owner {
            Some(image) => image.mask = Some(Box::new(tags)),
            None => {
                if kind & MASK == 0 {
                    without_mask.entry(size).or_default().push_back(images.len());
                }
                images.push(tags);
            }
        }
    }
    images
}

/// Names the mask of an image in the attributes of its item, which was written last; returns the name for [`write_mask`].
///
/// # Errors
/// Returns the errors of [`LayoutBuilder::write_attribute`].
pub(super) fn write_reference(name: &str, builder: &mut LayoutBuilder) -> Result<String> {
    let (name, path) = builder.reserve_name(&format!("{name}@mask"));
    builder.write_field(StorageField::MaskPath(path))?;
    Ok(name)
}

/// Writes the item of a mask, which only its image uses.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be read, and the errors of [`LayoutBuilder::open_dict`].
pub(super) fn write_mask(
    file: &TiffFile<'_>,
    image: &TiffImage,
    mask: &Ifd,
    name: &str,
    builder: &mut LayoutBuilder,
) -> Result<()> {
    let mut table = None;
    builder.or_unreadable(name, |builder| {
        let read = TiffImage::read(file, mask)?.check_mask_of(image)?;
        table = read.write_item(file, &[mask], name, builder)?.table;
        Ok(())
    })?;
    builder.write_field(StorageField::Part)?;
    match table {
        Some((name, said)) => builder.write_item(&name, &said).and_then(|()| builder.write_field(StorageField::Part)),
        None => Ok(()),
    }
}
