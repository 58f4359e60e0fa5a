//! TIFF and `BigTIFF`: images in strips or tiles.
//!
//! Every image becomes an array, `image` if there is only one, else `page0`, `page1` and so on; smaller versions of a page
//! are in a dict next to it. A stack of `ImageJ` that has one directory for all its images is one array. Strips that are one
//! after the other without a filter are one array; all else is a grid of chunks. The other tags of an image are attributes of
//! its array.

mod directory;
mod image;

use std::collections::HashSet;

use self::directory::{Directory, Tag, Tiff, Values};
use self::image::Image;
use super::text::{LayoutText, Said, integer};
use crate::bytes::SourceRef;
use crate::error::{Context, Error, Result};
use crate::layout::Literal;
use crate::limits::Limits;

/// The numbers of the tags that say where an image is and what it is.
mod id {
    pub const WIDTH: u64 = 256;
    pub const HEIGHT: u64 = 257;
    pub const BITS: u64 = 258;
    pub const COMPRESSION: u64 = 259;
    pub const FILL_ORDER: u64 = 266;
    pub const DESCRIPTION: u64 = 270;
    pub const NODATA: u64 = 42113;
    pub const STRIP_OFFSETS: u64 = 273;
    pub const SAMPLES: u64 = 277;
    pub const STRIP_ROWS: u64 = 278;
    pub const STRIP_BYTES: u64 = 279;
    pub const PLANAR: u64 = 284;
    pub const PHOTOMETRIC: u64 = 262;
    pub const PREDICTOR: u64 = 317;
    pub const TILE_WIDTH: u64 = 322;
    pub const TILE_HEIGHT: u64 = 323;
    pub const TILE_OFFSETS: u64 = 324;
    pub const TILE_BYTES: u64 = 325;
    pub const SMALLER: u64 = 330;
    pub const FORMAT: u64 = 339;
    pub const JPEG_TABLES: u64 = 347;
    pub const DEPTH: u64 = 32997;
    pub const TILE_DEPTH: u64 = 32998;
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
    (254, "NewSubfileType"),
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
    (42112, "GDAL_METADATA"),
    (id::NODATA, "GDAL_NODATA"),
];

/// Values of a tag that are an attribute; more are an item.
const FEW: u64 = 256;

/// The layout of a TIFF file.
pub(super) fn derive(source: &SourceRef, limits: &Limits) -> Result<String> {
    let file = Tiff::open(source, limits)?;
    let mut seen = HashSet::new();
    let (pages, broken) = file.directories(&mut seen)?;
    if pages.is_empty() {
        return Err(broken.unwrap_or_else(|| Error::malformed("no image in the file")));
    }
    let mut text = LayoutText::new("a TIFF file", limits);
    let is_alone = pages.len() == 1 && broken.is_none();
    for (number, page) in pages.iter().enumerate() {
        let name = if is_alone { "image".to_owned() } else { format!("page{number}") };
        described(&file, (page, is_alone), &name, &mut text)?;
        let (smaller, why) = below(&file, page, &mut seen)?;
        if !smaller.is_empty() || why.is_some() {
            text.enter(&format!("{name}@smaller"))?;
            for (number, page) in smaller.iter().enumerate() {
                described(&file, (page, false), &format!("level{number}"), &mut text)?;
            }
            if let Some(why) = why {
                text.unreadable(&format!("level{}", smaller.len()), &why)?;
            }
            text.leave()?;
        }
    }
    if let Some(why) = broken {
        text.unreadable(&format!("page{}", pages.len()), &why)?;
    }
    text.finish()
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

/// An image with its tags; one that cannot be read is an item with the reason in place of data.
fn described(file: &Tiff<'_>, (tags, is_alone): (&Directory, bool), name: &str, text: &mut LayoutText) -> Result<()> {
    let (mut items, mut refused, mut table) = (Vec::new(), Vec::new(), None);
    text.or_unreadable(name, |text| {
        let image = Image::read(file, tags).map(|image| if is_alone { image.alone(file, tags) } else { image });
        let written = image?.write(file, tags, name, text)?;
        table = written.table;
        refused.extend(written.why.map(|why| ("pages".to_owned(), why)));
        Ok(())
    })
    .doing(|| format!("{name}, whose directory begins at byte {}", tags.at))?;
    for tag in tags.tags.iter().filter(|tag| !STRUCTURE.contains(&tag.id)) {
        let known = NAMES.iter().find(|row| row.0 == tag.id);
        let said = known.map_or_else(|| format!("tag{}", tag.id), |row| row.1.to_owned());
        match attribute(file, tag) {
            Ok(Some(value)) => text.own(&said, value)?,
            Ok(None) => items.push((said, tag)),
            Err(error) if error.kind().is_passing() => return Err(error),
            Err(error) => refused.push((said, error)),
        }
    }
    if let Some((name, said)) = table {
        text.item(&name, &said)?;
    }
    for (said, tag) in items {
        if let Some(typed) = file.spelled(tag) {
            let name = format!("{name}@{said}");
            text.or_unreadable(&name, |text| text.item(&name, &format!("{typed} @{}", tag.at)))?;
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
