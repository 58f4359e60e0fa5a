//! TIFF and `BigTIFF`: images in strips or tiles.
//!
//! Every image becomes an array, `image` if there is only one, else `page0`, `page1` and so on; smaller versions of a page
//! are in a dict next to it. A stack of `ImageJ`, of tifffile or of OME-TIFF is one array (`series.rs`). Strips that are one
//! after the other without a filter are one array; all else is a grid of chunks. The other tags of an image are attributes of
//! its array; of the other pages of a series, those that differ are in a dict next to it.

mod gdal_scaling;
mod hyperstack;
mod ifd;
mod image;
mod series;

use std::collections::HashSet;

use self::ifd::{Directory, Tag, Tiff, Values};
use self::image::Image;
use self::series::Series;
use super::layout_text::{LayoutText, Said, integer, placed};
use crate::bytes::SourceRef;
use crate::error::{Context, Error, Result};
use crate::layout::Literal;
use crate::limits::Limits;

/// The numbers of the tags that say where an image is and what it is.
mod id {
    pub(super) const WIDTH: u64 = 256;
    pub(super) const HEIGHT: u64 = 257;
    pub(super) const BITS: u64 = 258;
    pub(super) const COMPRESSION: u64 = 259;
    pub(super) const FILL_ORDER: u64 = 266;
    pub(super) const DESCRIPTION: u64 = 270;
    pub(super) const SUBFILE: u64 = 254;
    pub(super) const GDAL: u64 = 42112;
    pub(super) const NODATA: u64 = 42113;
    pub(super) const STRIP_OFFSETS: u64 = 273;
    pub(super) const SAMPLES: u64 = 277;
    pub(super) const STRIP_ROWS: u64 = 278;
    pub(super) const STRIP_BYTES: u64 = 279;
    pub(super) const PLANAR: u64 = 284;
    pub(super) const PHOTOMETRIC: u64 = 262;
    pub(super) const PREDICTOR: u64 = 317;
    pub(super) const TILE_WIDTH: u64 = 322;
    pub(super) const TILE_HEIGHT: u64 = 323;
    pub(super) const TILE_OFFSETS: u64 = 324;
    pub(super) const TILE_BYTES: u64 = 325;
    pub(super) const SMALLER: u64 = 330;
    pub(super) const FORMAT: u64 = 339;
    pub(super) const JPEG_TABLES: u64 = 347;
    pub(super) const DEPTH: u64 = 32997;
    pub(super) const TILE_DEPTH: u64 = 32998;
}

/// Tags of which nothing is left to say, once the image is described.
const STRUCTURE: &[u64] = &[
    id::WIDTH,
    id::HEIGHT,
    id::BITS,
    id::COMPRESSION,
    id::FILL_ORDER,
    id::STRIP_OFFSETS,
    id::SAMPLES,
    id::STRIP_ROWS,
    id::STRIP_BYTES,
    id::PLANAR,
    id::PREDICTOR,
    id::TILE_WIDTH,
    id::TILE_HEIGHT,
    id::TILE_OFFSETS,
    id::TILE_BYTES,
    id::SMALLER,
    id::FORMAT,
    id::DEPTH,
    id::TILE_DEPTH,
];

/// The names of other tags.
const NAMES: &[(u64, &str)] = &[
    (id::SUBFILE, "NewSubfileType"),
    (255, "SubfileType"),
    (id::PHOTOMETRIC, "PhotometricInterpretation"),
    (269, "DocumentName"),
    (id::DESCRIPTION, "ImageDescription"),
    (271, "Make"),
    (272, "Model"),
    (274, "Orientation"),
    (280, "MinSampleValue"),
    (281, "MaxSampleValue"),
    (282, "XResolution"),
    (283, "YResolution"),
    (285, "PageName"),
    (286, "XPosition"),
    (287, "YPosition"),
    (296, "ResolutionUnit"),
    (297, "PageNumber"),
    (305, "Software"),
    (306, "DateTime"),
    (315, "Artist"),
    (316, "HostComputer"),
    (318, "WhitePoint"),
    (319, "PrimaryChromaticities"),
    (320, "ColorMap"),
    (338, "ExtraSamples"),
    (340, "SMinSampleValue"),
    (341, "SMaxSampleValue"),
    (id::JPEG_TABLES, "JPEGTables"),
    (529, "YCbCrCoefficients"),
    (530, "YCbCrSubSampling"),
    (531, "YCbCrPositioning"),
    (532, "ReferenceBlackWhite"),
    (700, "XMP"),
    (33432, "Copyright"),
    (33550, "ModelPixelScale"),
    (33922, "ModelTiepoint"),
    (34264, "ModelTransformation"),
    (34665, "ExifIFD"),
    (34675, "ICCProfile"),
    (34735, "GeoKeyDirectory"),
    (34736, "GeoDoubleParams"),
    (34737, "GeoAsciiParams"),
    (id::GDAL, "GDAL_METADATA"),
    (id::NODATA, "GDAL_NODATA"),
];

/// Values of a tag that are an attribute; more are an item.
const FEW: u64 = 256;

/// A directory of the file, and those of its smaller versions.
struct Page {
    directory: Directory,
    smaller: Vec<Directory>,
    /// The reason if there are smaller versions that cannot be found.
    why: Option<Error>,
}

/// The layout of a TIFF file.
pub(super) fn derive(source: &SourceRef, limits: &Limits) -> Result<String> {
    let file = Tiff::open(source, limits)?;
    let mut seen = HashSet::new();
    let (directories, broken) = file.directories(&mut seen)?;
    if directories.is_empty() {
        return Err(broken.unwrap_or_else(|| Error::malformed("no image in the file")));
    }
    let mut pages = Vec::with_capacity(directories.len());
    for directory in directories {
        let (smaller, why) = below(&file, &directory, &mut seen)?;
        pages.push(Page { directory, smaller, why });
    }
    let mut text = LayoutText::new("a TIFF file", limits);
    let is_whole = broken.is_none();
    let all = series::of_file(&file, if is_whole { &pages } else { &pages[..0] })?;
    let all = if is_whole { all } else { (0..pages.len()).map(Series::alone).collect() };
    let is_alone = all.len() == 1 && is_whole;
    for (number, series) in all.iter().enumerate() {
        let name = match series.pages.as_slice() {
            _ if is_alone => "image".to_owned(),
            [page] => format!("page{page}"),
            _ => format!("series{number}"),
        };
        written(&file, &pages, (series, is_alone), &name, &mut text)?;
    }
    if let Some(why) = broken {
        text.unreadable(&format!("page{}", pages.len()), &why)?;
    }
    text.finish()
}

/// The array of a series, and its smaller versions.
fn written(
    file: &Tiff<'_>,
    pages: &[Page],
    (series, is_alone): (&Series, bool),
    name: &str,
    text: &mut LayoutText,
) -> Result<()> {
    let planes: Vec<&Page> = series.pages.iter().filter_map(|number| pages.get(*number)).collect();
    let directories: Vec<&Directory> = planes.iter().map(|page| &page.directory).collect();
    let before = series.pages.first().map_or(&[][..], |first| pages.get(..*first).unwrap_or(pages));
    let scaled = gdal_scaling::of(file, &directories, gdal_scaling::full(file, &directories, before));
    described(file, (&directories, series.plane.as_ref(), is_alone), scaled.as_deref(), name, text)?;
    let Some(first) = planes.first() else { return Ok(()) };
    if !first.smaller.is_empty() || first.why.is_some() {
        text.enter(&format!("{name}@smaller"))?;
        for level in 0..first.smaller.len() {
            let directories: Vec<&Directory> = planes.iter().filter_map(|page| page.smaller.get(level)).collect();
            let scaled = gdal_scaling::of(file, &directories, planes.first().map(|page| &page.directory));
            described(file, (&directories, series.smaller.get(level), false), scaled.as_deref(), &format!("level{level}"), text)?;
        }
        if let Some(why) = &first.why {
            text.unreadable(&format!("level{}", first.smaller.len()), why)?;
        }
        text.leave()?;
    }
    Ok(())
}

/// The smaller versions of a page, and why there are no more of them.
fn below(file: &Tiff<'_>, page: &Directory, seen: &mut HashSet<u64>) -> Result<(Vec<Directory>, Option<Error>)> {
    let mut smaller = Vec::new();
    let firsts = match page.numbers(file, id::SMALLER) {
        Ok(firsts) => firsts.unwrap_or_default(),
        Err(error) if error.kind().is_passing() => return Err(error),
        Err(error) => return Ok((smaller, Some(error))),
    };
    for first in firsts {
        let (more, why) = file.row(first, seen)?;
        smaller.extend(more);
        if why.is_some() {
            return Ok((smaller, why));
        }
    }
    Ok((smaller, None))
}

/// An image with its tags; one that cannot be read is an item with the reason in place of data. `plane` is the image of a series,
/// of which all these directories have a plane; `factors` are the scale and the offset of each sample.
fn described(
    file: &Tiff<'_>,
    (planes, plane, is_alone): (&[&Directory], Option<&Image>, bool),
    factors: Option<&[(f64, f64)]>,
    name: &str,
    text: &mut LayoutText,
) -> Result<()> {
    let Some((tags, others)) = planes.split_first() else { return Ok(()) };
    let (mut refused, mut table) = (Vec::new(), None);
    text.or_unreadable(name, |text| {
        let image = match plane {
            Some(image) => image.clone(),
            None if is_alone => Image::read(file, tags)?.alone(file, tags),
            None => Image::read(file, tags)?,
        };
        let is_number = image.is_number();
        let written = image.write(file, planes, name, text)?;
        factors.map_or(Ok(()), |factors| gdal_scaling::write(factors, is_number, text))?;
        table = written.table;
        refused.extend(written.why.map(|why| ("pages".to_owned(), why)));
        Ok(())
    })
    .doing(|| format!("{name}, whose directory begins at byte {}", tags.at))?;
    let items = attributes(file, extra(tags).collect(), &mut refused, text)?;
    if let Some((name, said)) = table {
        text.item(&name, &said)?;
    }
    separate(file, name, items, refused, text)?;
    let mut is_open = false;
    for (number, page) in others.iter().enumerate() {
        let is_same = |tag: &Tag| {
            tags.tag(tag.id).is_some_and(|first| file.values(first).ok().is_some_and(|said| file.values(tag).ok() == Some(said)))
        };
        let differing: Vec<&Tag> = extra(page).filter(|tag| !is_same(tag)).collect();
        if differing.is_empty() {
            continue;
        }
        if !is_open {
            text.enter(&format!("{name}@pages"))?;
            is_open = true;
        }
        let name = format!("page{}", number + 1);
        text.enter(&name)?;
        let mut refused = Vec::new();
        let items = attributes(file, differing, &mut refused, text)?;
        separate(file, &name, items, refused, text)?;
        text.leave()?;
    }
    if is_open { text.leave() } else { Ok(()) }
}

/// The tags that say more than what the image is.
fn extra(tags: &Directory) -> impl Iterator<Item = &Tag> {
    tags.tags.iter().filter(|tag| !STRUCTURE.contains(&tag.id))
}

/// The name of a tag.
fn name_of(tag: &Tag) -> String {
    let known = NAMES.iter().find(|row| row.0 == tag.id);
    known.map_or_else(|| format!("tag{}", tag.id), |row| row.1.to_owned())
}

/// Writes tags as attributes, and returns those that are items.
fn attributes<'t>(
    file: &Tiff<'_>,
    tags: Vec<&'t Tag>,
    refused: &mut Vec<(String, Error)>,
    text: &mut LayoutText,
) -> Result<Vec<&'t Tag>> {
    let mut items = Vec::new();
    for tag in tags {
        match attribute(file, tag) {
            Ok(Some(value)) => text.own(&name_of(tag), value)?,
            Ok(None) => items.push(tag),
            Err(error) if error.kind().is_passing() => return Err(error),
            Err(error) => refused.push((name_of(tag), error)),
        }
    }
    Ok(items)
}

/// Writes the tags that are items next to that of their image, and those that cannot be read.
fn separate(file: &Tiff<'_>, name: &str, items: Vec<&Tag>, refused: Vec<(String, Error)>, text: &mut LayoutText) -> Result<()> {
    for tag in items {
        if let Some(typed) = file.spelled(tag) {
            let name = format!("{name}@{}", name_of(tag));
            text.or_unreadable(&name, |text| text.item(&name, &placed(&typed, tag.at)))?;
        }
    }
    for (said, why) in refused {
        text.unreadable(&format!("{name}@{said}"), &why)?;
    }
    Ok(())
}

/// Returns the value of a tag, or None if it is a separate item.
fn attribute(file: &Tiff<'_>, tag: &Tag) -> Result<Option<Said>> {
    let is_text = file.is_text(tag);
    if tag.count > FEW && !is_text && file.spelled(tag).is_some() {
        return Ok(None);
    }
    let mut values: Vec<Literal> = match file.values(tag)? {
        Values::Text(text) => return Ok(Some(Said::from(text.as_str()))),
        Values::Whole(numbers) => numbers.into_iter().map(integer).collect(),
        Values::Floats(numbers) => numbers.into_iter().map(Literal::Float).collect(),
    };
    let one = if values.len() == 1 { values.pop() } else { None };
    Ok(Some(one.map_or_else(|| Said::from(values), Said::from)))
}
