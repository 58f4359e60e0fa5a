//! Pages that are planes of one array: hyperstacks of `ImageJ`, stacks of tifffile, and the images of OME-TIFF, as `stack.rs` reads their
//! descriptions.

use std::collections::HashSet;

use super::hyperstack::{Stack, imagej, ome, samples, shaped};
use super::ifd::{Directory, Tiff, Values};
use super::image::Image;
use super::{Page, id};
use crate::error::Result;

/// Pages that make one array, and how they do. One page makes one, too.
pub(super) struct Series {
    /// Numbers of the pages, in the order of the planes.
    pub pages: Vec<usize>,
    /// The plane that all pages are alike, with the axes around it; None for a page on its own.
    pub plane: Option<Image>,
    /// Planes of smaller versions with the axes around them, the largest first.
    pub smaller: Vec<Image>,
}

impl Series {
    /// A page on its own.
    pub(super) fn alone(page: usize) -> Self {
        Self { pages: vec![page], plane: None, smaller: Vec::new() }
    }
}

/// The arrays of a file; every page is in one of them.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be read.
pub(super) fn of_file(file: &Tiff<'_>, pages: &[Page]) -> Result<Vec<Series>> {
    let mut found: Vec<Series> = Vec::new();
    if pages.len() > 1 {
        for text in descriptions(file, pages) {
            let stacks = match () {
                () if text.contains("<OME") => ome(&text, pages.len()),
                () if text.starts_with('{') => shaped_pages(&text, file, pages),
                () => imagej_pages(&text, file, pages),
            };
            for stack in stacks {
                found.extend(alike(file, pages, stack)?);
            }
            if !found.is_empty() {
                break;
            }
        }
    }
    let taken: HashSet<usize> = found.iter().flat_map(|series| series.pages.iter().copied()).collect();
    let alone = (0..pages.len()).filter(|page| !taken.contains(page));
    found.extend(alone.map(Series::alone));
    found.sort_by_key(|series| series.pages.iter().min().copied());
    Ok(found)
}

/// The descriptions of the first page: tifffile writes its own after that of the user. A fault in one is reported when it becomes
/// an attribute.
fn descriptions(file: &Tiff<'_>, pages: &[Page]) -> Vec<String> {
    let tags = pages.first().into_iter().flat_map(|page| &page.directory.tags);
    let text = |tag| if let Ok(Values::Text(text)) = file.values(tag) { Some(text) } else { None };
    tags.filter(|tag| tag.id == id::DESCRIPTION).filter_map(text).collect()
}

/// Returns the series of a stack, if its pages are alike, and so are their smaller versions.
fn alike(file: &Tiff<'_>, pages: &[Page], stack: Stack) -> Result<Option<Series>> {
    let planes: Option<Vec<&Page>> = stack.pages.iter().map(|number| pages.get(*number)).collect();
    let Some(planes) = planes.filter(|planes| planes.len() > 1) else { return Ok(None) };
    let levels = planes.first().map_or(0, |page| page.smaller.len());
    if planes.iter().any(|page| page.why.is_some() || page.smaller.len() != levels) {
        return Ok(None);
    }
    let directories: Vec<&Directory> = planes.iter().map(|page| &page.directory).collect();
    let Some(plane) = Image::of_planes(file, &directories, &stack.axes)? else { return Ok(None) };
    if stack.plane.is_some_and(|lengths| plane.lengths() != Some(lengths)) {
        return Ok(None);
    }
    let mut smaller = Vec::new();
    for level in 0..levels {
        let directories: Vec<&Directory> = planes.iter().filter_map(|page| page.smaller.get(level)).collect();
        let Some(image) = Image::of_planes(file, &directories, &stack.axes)? else { return Ok(None) };
        smaller.push(image);
    }
    Ok(Some(Series { pages: stack.pages, plane: Some(plane), smaller }))
}

/// A stack of `ImageJ` with a directory for each image.
fn imagej_pages(text: &str, file: &Tiff<'_>, pages: &[Page]) -> Vec<Stack> {
    let count = pages.len();
    let tags = pages.first().map(|page| &page.directory);
    let (samples, is_planar) = tags.map_or((1, false), |tags| samples(file, tags));
    let Some(mut axes) = imagej(text, samples, is_planar) else { return Vec::new() };
    if axes.is_empty() {
        axes.push((count as u64, "page"));
    }
    let said = axes.iter().fold(1u64, |n, (len, _)| n.saturating_mul(*len));
    if said == count as u64 { vec![Stack { axes, pages: (0..count).collect(), plane: None }] } else { Vec::new() }
}

/// A stack of tifffile, whose description has the shape of all pages.
fn shaped_pages(text: &str, file: &Tiff<'_>, pages: &[Page]) -> Vec<Stack> {
    let plane = pages.first().and_then(|page| Image::read(file, &page.directory).ok());
    let axes = plane.and_then(|plane| shaped(text, plane.shape(), pages.len() as u64));
    axes.map(|axes| Stack { axes, pages: (0..pages.len()).collect(), plane: None }).into_iter().collect()
}
