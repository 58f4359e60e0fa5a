//! TIFF and `BigTIFF`: images in strips or tiles.
//!
//! Every image becomes an array, `image` if there is only one, else `page0`, `page1` and so on; smaller versions of a page
//! are in a dict next to it. A page that is the mask of another one becomes its mask. A stack of `ImageJ`, of tifffile or of OME-TIFF is one array (`series.rs`). Strips that are one
//! after the other without a filter are one array; all else is a grid of chunks. The other tags of an image are attributes of
//! its array; of the other pages of a series, those that differ are in a dict next to it.

mod gdal_scaling;
mod hyperstack;
mod ifd;
mod image;
mod mask_pages;
mod series;
mod trailing_bytes;

use std::collections::HashSet;
use std::sync::Arc;

use self::ifd::{Ifd, Tag, TiffFile, Values};
use self::image::TiffImage;
use self::series::PageSeries;
use crate::bytes::{ReadAhead, SourceRef};
use crate::error::{Error, Result, ResultExt};
use crate::layout::{AttributeType, BYTES_TYPE, Layout, LayoutBuilder, LayoutLiteral, NoteValue, integer_literal};
use crate::limits::Limits;

/// The numbers of the tags that say where an image is and what it is.
mod id {
    pub(super) const IMAGE_WIDTH: u64 = 256;
    pub(super) const IMAGE_LENGTH: u64 = 257;
    pub(super) const BITS_PER_SAMPLE: u64 = 258;
    pub(super) const COMPRESSION: u64 = 259;
    pub(super) const FILL_ORDER: u64 = 266;
    pub(super) const IMAGE_DESCRIPTION: u64 = 270;
    pub(super) const SUBFILE: u64 = 254;
    pub(super) const GDAL: u64 = 42112;
    pub(super) const GDAL_NODATA: u64 = 42113;
    pub(super) const STRIP_OFFSETS: u64 = 273;
    pub(super) const SAMPLES_PER_PIXEL: u64 = 277;
    pub(super) const ROWS_PER_STRIP: u64 = 278;
    pub(super) const STRIP_BYTE_COUNTS: u64 = 279;
    pub(super) const PLANAR_CONFIGURATION: u64 = 284;
    pub(super) const PHOTOMETRIC_INTERPRETATION: u64 = 262;
    pub(super) const PREDICTOR: u64 = 317;
    pub(super) const TILE_WIDTH: u64 = 322;
    pub(super) const TILE_LENGTH: u64 = 323;
    pub(super) const TILE_OFFSETS: u64 = 324;
    pub(super) const TILE_BYTE_COUNTS: u64 = 325;
    pub(super) const SUB_IFDS: u64 = 330;
    pub(super) const SAMPLE_FORMAT: u64 = 339;
    pub(super) const JPEG_TABLES: u64 = 347;
    pub(super) const IMAGE_DEPTH: u64 = 32997;
    pub(super) const TILE_DEPTH: u64 = 32998;
}

/// Tags of which nothing is left to say, once the image is described.
const STRUCTURAL_TAGS: &[u64] = &[
    id::IMAGE_WIDTH,
    id::IMAGE_LENGTH,
    id::BITS_PER_SAMPLE,
    id::COMPRESSION,
    id::FILL_ORDER,
    id::STRIP_OFFSETS,
    id::SAMPLES_PER_PIXEL,
    id::ROWS_PER_STRIP,
    id::STRIP_BYTE_COUNTS,
    id::PLANAR_CONFIGURATION,
    id::PREDICTOR,
    id::TILE_WIDTH,
    id::TILE_LENGTH,
    id::TILE_OFFSETS,
    id::TILE_BYTE_COUNTS,
    id::SUB_IFDS,
    id::SAMPLE_FORMAT,
    id::IMAGE_DEPTH,
    id::TILE_DEPTH,
];

/// The names of other tags.
const TAG_NAMES: &[(u64, &str)] = &[
    (id::SUBFILE, "NewSubfileType"),
    (255, "SubfileType"),
    (id::PHOTOMETRIC_INTERPRETATION, "PhotometricInterpretation"),
    (269, "DocumentName"),
    (id::IMAGE_DESCRIPTION, "ImageDescription"),
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
    (id::GDAL_NODATA, "GDAL_NODATA"),
];

/// Values of a tag that are an attribute; more are an item.
const MAX_ATTRIBUTE_VALUES: u64 = 256;

/// A directory of the file, and those of its smaller versions.
struct Page {
    /// Index of the page among all directories, also those of masks.
    number: usize,
    directory: Ifd,
    sub_ifds: Vec<Ifd>,
    /// The reason if there are smaller versions that cannot be found.
    sub_ifd_error: Option<Error>,
}

/// The layout of a TIFF file.
pub(super) fn derive_layout(source: &SourceRef, limits: &Limits) -> Result<Layout> {
    // Tags and directories are a few bytes each, and close together.
    let nearby: SourceRef = Arc::new(ReadAhead::new(source.clone()));
    let file = TiffFile::open(&nearby, limits)?;
    let mut seen = HashSet::new();
    let (directories, broken) = file.read_directories(&mut seen)?;
    if directories.is_empty() {
        return Err(broken.unwrap_or_else(|| Error::malformed("no image in the file")));
    }
    let mut pages = Vec::with_capacity(directories.len());
    for (number, directory) in directories.into_iter().enumerate() {
        let (smaller, why) = sub_ifds(&file, &directory, &mut seen)?;
        pages.push(Page { number, directory, sub_ifds: smaller, sub_ifd_error: why });
    }
    let (count, is_whole) = (pages.len(), broken.is_none());
    let has_masks = mask_pages::attach_masks(&file, &mut pages);
    let mut builder = LayoutBuilder::new("a TIFF file", limits);
    if is_whole {
        builder.write_omissions(&trailing_bytes::find_omissions(&file, &pages)?)?;
    }
    // Descriptions of stacks count all directories.
    let all = if is_whole && !has_masks {
        series::of_file(&file, &pages)?
    } else {
        (0..pages.len()).map(PageSeries::single_page).collect()
    };
    let is_alone = all.len() == 1 && is_whole;
    for (number, series) in all.iter().enumerate() {
        let name = match series.pages.as_slice() {
            _ if is_alone => "image".to_owned(),
            [page] => format!("page{}", pages.get(*page).map_or(*page, |page| page.number)),
            _ => format!("series{number}"),
        };
        write_series(&file, &pages, (series, is_alone), &name, &mut builder)?;
    }
    if let Some(why) = broken {
        builder.write_unreadable_item(&format!("page{count}"), &why)?;
    }
    Ok(builder.finish())
}

/// The array of a series, and its smaller versions.
fn write_series(
    file: &TiffFile<'_>,
    pages: &[Page],
    (series, is_alone): (&PageSeries, bool),
    name: &str,
    builder: &mut LayoutBuilder,
) -> Result<()> {
    let planes: Vec<&Page> = series.pages.iter().filter_map(|number| pages.get(*number)).collect();
    let directories: Vec<&Ifd> = planes.iter().map(|page| &page.directory).collect();
    let before = series.pages.first().map_or(&[][..], |first| pages.get(..*first).unwrap_or(pages));
    let scaled = gdal_scaling::read_plane_factors(file, &directories, gdal_scaling::find_full_image(file, &directories, before));
    write_image(file, (&directories, series.plane.as_ref(), is_alone), scaled.as_deref(), name, builder)?;
    let Some(first) = planes.first() else { return Ok(()) };
    if !first.sub_ifds.is_empty() || first.sub_ifd_error.is_some() {
        builder.open_dict(&format!("{name}@smaller"))?;
        for level in 0..first.sub_ifds.len() {
            let directories: Vec<&Ifd> = planes.iter().filter_map(|page| page.sub_ifds.get(level)).collect();
            let scaled = gdal_scaling::read_plane_factors(file, &directories, planes.first().map(|page| &page.directory));
            write_image(
                file,
                (&directories, series.smaller.get(level), false),
                scaled.as_deref(),
                &format!("level{level}"),
                builder,
            )?;
        }
        if let Some(why) = &first.sub_ifd_error {
            builder.write_unreadable_item(&format!("level{}", first.sub_ifds.len()), why)?;
        }
        builder.close_dict();
    }
    Ok(())
}

/// The smaller versions of a page, and why there are no more of them.
fn sub_ifds(file: &TiffFile<'_>, page: &Ifd, seen: &mut HashSet<u64>) -> Result<(Vec<Ifd>, Option<Error>)> {
    let mut smaller = Vec::new();
    let firsts = match page.numbers(file, id::SUB_IFDS) {
        Ok(firsts) => firsts.unwrap_or_default(),
        Err(error) if error.kind().is_transient() => return Err(error),
        Err(error) => return Ok((smaller, Some(error))),
    };
    for first in firsts {
        let (more, why) = file.ifd_chain(first, seen)?;
        smaller.extend(more);
        if why.is_some() {
            return Ok((smaller, why));
        }
    }
    Ok((smaller, None))
}

/// An image with its tags; one that cannot be read is an item with the reason in place of data. `plane` is the image of a series,
/// of which all these directories have a plane; `factors` are the scale and the offset of each sample.
fn write_image(
    file: &TiffFile<'_>,
    (planes, plane, is_alone): (&[&Ifd], Option<&TiffImage>, bool),
    factors: Option<&[(f64, f64)]>,
    name: &str,
    builder: &mut LayoutBuilder,
) -> Result<()> {
    let Some((tags, others)) = planes.split_first() else { return Ok(()) };
    let (mut refused, mut table, mut masked) = (Vec::new(), None, None);
    builder
        .or_unreadable(name, |builder| {
            let image = match plane {
                Some(image) => image.clone(),
                None if is_alone => TiffImage::read(file, tags)?.with_listed_images(file, tags),
                None => TiffImage::read(file, tags)?,
            };
            let is_number = image.is_number();
            let pixels = tags.mask.is_some().then(|| image.clone());
            let written = image.write_item(file, planes, name, builder)?;
            factors.map_or(Ok(()), |factors| gdal_scaling::write_factors(factors, is_number, builder))?;
            table = written.table;
            refused.extend(written.reason.map(|why| ("pages".to_owned(), why)));
            masked = pixels.map(|image| Ok::<_, Error>((image, mask_pages::write_reference(name, builder)?))).transpose()?;
            Ok(())
        })
        .with_context(|| format!("{name}, whose directory begins at byte {}", tags.offset))?;
    let items = write_tag_attributes(file, extra_tags(tags).collect(), &mut refused, builder)?;
    if let Some((name, said)) = table {
        builder.write_item(&name, &said)?;
    }
    write_large_tags(file, name, items, refused, builder)?;
    if let (Some((image, name)), Some(mask)) = (masked, &tags.mask) {
        mask_pages::write_mask(file, &image, mask, &name, builder)?;
    }
    let mut is_open = false;
    for (number, page) in others.iter().enumerate() {
        let is_same = |tag: &Tag| {
            tags.find_tag(tag.id).is_some_and(|first| {
                file.read_tag_values(first).ok().is_some_and(|said| file.read_tag_values(tag).ok() == Some(said))
            })
        };
        let differing: Vec<&Tag> = extra_tags(page).filter(|tag| !is_same(tag)).collect();
        if differing.is_empty() {
            continue;
        }
        if !is_open {
            builder.open_dict(&format!("{name}@pages"))?;
            is_open = true;
        }
        let name = format!("page{}", number + 1);
        builder.open_dict(&name)?;
        let mut refused = Vec::new();
        let items = write_tag_attributes(file, differing, &mut refused, builder)?;
        write_large_tags(file, &name, items, refused, builder)?;
        builder.close_dict();
    }
    if is_open {
        builder.close_dict();
    }
    Ok(())
}

/// The tags that say more than what the image is.
fn extra_tags(tags: &Ifd) -> impl Iterator<Item = &Tag> {
    tags.tags.iter().filter(|tag| !STRUCTURAL_TAGS.contains(&tag.id))
}

/// The name of a tag.
fn name_of(tag: &Tag) -> String {
    let known = TAG_NAMES.iter().find(|row| row.0 == tag.id);
    known.map_or_else(|| format!("tag{}", tag.id), |row| row.1.to_owned())
}

/// Writes tags as attributes, and returns those that are items.
fn write_tag_attributes<'t>(
    file: &TiffFile<'_>,
    tags: Vec<&'t Tag>,
    refused: &mut Vec<(String, Error)>,
    builder: &mut LayoutBuilder,
) -> Result<Vec<&'t Tag>> {
    let mut items = Vec::new();
    for tag in tags {
        match read_attribute_value(file, tag) {
            Ok(Some(value)) => {
                let (name, datatype) = (name_of(tag), tag.datatype());
                builder.file_attribute(&name, value)?;
                let bytes = tag.is_undefined().then_some(AttributeType::Special(BYTES_TYPE));
                let typed = datatype.as_ref().map(AttributeType::Number).or(bytes);
                builder.write_attribute_types(None, typed.map(|typed| (&*name, typed)).into_iter())?;
            }
            Ok(None) => items.push(tag),
            Err(error) if error.kind().is_transient() => return Err(error),
            Err(error) => refused.push((name_of(tag), error)),
        }
    }
    Ok(items)
}

/// Writes the tags that are items next to that of their image, and those that cannot be read.
fn write_large_tags(
    file: &TiffFile<'_>,
    name: &str,
    items: Vec<&Tag>,
    refused: Vec<(String, Error)>,
    builder: &mut LayoutBuilder,
) -> Result<()> {
    for tag in items {
        if let Some(typed) = file.layout_type(tag) {
            let name = format!("{name}@{}", name_of(tag));
            builder.or_unreadable(&name, |builder| builder.write_item(&name, &typed.with_offset(tag.value_offset)))?;
        }
    }
    for (said, why) in refused {
        builder.write_unreadable_item(&format!("{name}@{said}"), &why)?;
    }
    Ok(())
}

/// Returns the value of a tag, or None if it is a separate item.
fn read_attribute_value(file: &TiffFile<'_>, tag: &Tag) -> Result<Option<NoteValue>> {
    let is_text = file.is_text(tag);
    if tag.count > MAX_ATTRIBUTE_VALUES && !is_text && file.layout_type(tag).is_some() {
        return Ok(None);
    }
    let mut values: Vec<LayoutLiteral> = match file.read_tag_values(tag)? {
        Values::Text(text) => return Ok(Some(NoteValue::from(text.as_str()))),
        Values::Whole(numbers) => numbers.into_iter().map(integer_literal).collect(),
        Values::Floats(numbers) => numbers.into_iter().map(LayoutLiteral::Float).collect(),
        Values::Bytes(bytes) => return Ok(Some(NoteValue::from(LayoutLiteral::Bytes(bytes)))),
    };
    let one = if values.len() == 1 { values.pop() } else { None };
    Ok(Some(one.map_or_else(|| NoteValue::from(values), NoteValue::from)))
}
