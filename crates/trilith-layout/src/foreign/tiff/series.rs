//! Pages that are planes of one array: hyperstacks of `ImageJ`, stacks of tifffile, and the images of OME-TIFF, as `stack.rs` reads their
//! descriptions.

use std::collections::HashSet;

use super::hyperstack::{Hyperstack, parse_imagej_axes, parse_ome_stacks, parse_tifffile_axes, read_sample_layout};
use super::ifd::{Ifd, TiffFile, Values};
use super::image::TiffImage;
use super::{Page, id};
use crate::error::Result;

/// Pages that make one array, and how they do. One page makes one, too.
pub(super) struct PageSeries {
    /// Numbers of the pages, in the order of the planes.
    pub pages: Vec<usize>,
    /// The plane that all pages are alike, with the axes around it; None for a page on its own.
    pub plane: Option<TiffImage>,
    /// Planes of smaller versions with the axes around them, the largest first.
    pub smaller: Vec<TiffImage>,
}

impl PageSeries {
    /// A page on its own.
    pub(super) fn single_page(page: usize) -> Self {
        Self { pages: vec![page], plane: None, smaller: Vec::new() }
    }
}

/// The arrays of a file; every page is in one of them.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be read.
pub(super) fn of_file(file: &TiffFile<'_>, pages: &[Page]) -> Result<Vec<PageSeries>> {
    let mut found: Vec<PageSeries> = Vec::new();
    if pages.len() > 1 {
        for text in read_descriptions(file, pages) {
            let stacks = match () {
                () if text.contains("<OME") => parse_ome_stacks(&text, pages.len()),
                () if text.starts_with('{') => shaped_pages(&text, file, pages),
                () => imagej_pages(&text, file, pages),
            };
            for stack in stacks {
                found.extend(uniform_series(file, pages, stack)?);
            }
            if !found.is_empty() {
                break;
            }
        }
    }
    let taken: HashSet<usize> = found.iter().flat_map(|series| series.pages.iter().copied()).collect();
    let alone = (0..pages.len()).filter(|page| !taken.contains(page));
    found.extend(alone.map(PageSeries::single_page));
    found.sort_by_key(|series| series.pages.iter().min().copied());
    Ok(found)
}

/// The descriptions of the first page: tifffile writes its own after that of the user. A fault in one is reported when it becomes
/// an attribute.
fn read_descriptions(file: &TiffFile<'_>, pages: &[Page]) -> Vec<String> {
    let tags = pages.first().into_iter().flat_map(|page| &page.directory.tags);
    let text = |tag| if let Ok(Values::Text(text)) = file.read_tag_values(tag) { Some(text) } else { None };
    tags.filter(|tag| tag.id == id::IMAGE_DESCRIPTION).filter_map(text).collect()
}

/// Returns the series of a stack, if its pages are alike, and so are their smaller versions.
fn uniform_series(file: &TiffFile<'_>, pages: &[Page], stack: Hyperstack) -> Result<Option<PageSeries>> {
    let planes: Option<Vec<&Page>> = stack.pages.iter().map(|number| pages.get(*number)).collect();
    let Some(planes) = planes.filter(|planes| planes.len() > 1) else { return Ok(None) };
    let levels = planes.first().map_or(0, |page| page.sub_ifds.len());
    if planes.iter().any(|page| page.sub_ifd_error.is_some() || page.sub_ifds.len() != levels) {
        return Ok(None);
    }
    let directories: Vec<&Ifd> = planes.iter().map(|page| &page.directory).collect();
    let Some(plane) = TiffImage::of_planes(file, &directories, &stack.axes)? else { return Ok(None) };
    if stack.plane.is_some_and(|lengths| plane.height_and_width() != Some(lengths)) {
        return Ok(None);
    }
    let mut smaller = Vec::new();
    for level in 0..levels {
        let directories: Vec<&Ifd> = planes.iter().filter_map(|page| page.sub_ifds.get(level)).collect();
        let Some(image) = TiffImage::of_planes(file, &directories, &stack.axes)? else { return Ok(None) };
        smaller.push(image);
    }
    Ok(Some(PageSeries { pages: stack.pages, plane: Some(plane), smaller }))
}

/// A stack of `ImageJ` with a directory for each image.
fn imagej_pages(text: &str, file: &TiffFile<'_>, pages: &[Page]) -> Vec<Hyperstack> {
    let count = pages.len();
    let tags = pages.first().map(|page| &page.directory);
    let (samples, is_planar) = tags.map_or((1, false), |tags| read_sample_layout(file, tags));
    let Some(mut axes) = parse_imagej_axes(text, samples, is_planar) else { return Vec::new() };
    if axes.is_empty() {
        axes.push((count as u64, "page"));
    }
    let said = axes.iter().fold(1u64, |n, (len, _)| n.saturating_mul(*len));
    if said == count as u64 { vec![Hyperstack { axes, pages: (0..count).collect(), plane: None }] } else { Vec::new() }
}

/// A stack of tifffile, whose description has the shape of all pages.
fn shaped_pages(text: &str, file: &TiffFile<'_>, pages: &[Page]) -> Vec<Hyperstack> {
    let plane = pages.first().and_then(|page| TiffImage::read(file, &page.directory).ok());
    let axes = plane.and_then(|plane| parse_tifffile_axes(text, plane.shape(), pages.len() as u64));
    axes.map(|axes| Hyperstack { axes, pages: (0..pages.len()).collect(), plane: None }).into_iter().collect()
}
