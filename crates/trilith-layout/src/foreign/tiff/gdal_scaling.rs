//! Scale and offset of the samples of an image, as GDAL writes them into the XML of its tag: an `Item` whose `role` is `scale` or
//! `offset`, for the sample of a number ("`GeoTIFF` driver", the page of GDAL, and `GTiffDataset::ApplyMetadataInformation`).

use super::hyperstack::{self, XmlTags};
use super::ifd::{Ifd, TiffFile, Values};
use super::mask_pages::{SMALLER, page_kind};
use super::{Page, id};
use crate::error::Result;
use crate::layout::{LayoutBuilder, LayoutLiteral, StorageField};

/// Samples of an image: their number takes two bytes.
const MAX_SAMPLES: usize = 1 << 16;

/// The factors of an image without any.
const NEUTRAL: (f64, f64) = (1.0, 0.0);

/// The image that a page without its own factors is a smaller version of, among the pages before it.
pub(super) fn find_full_image<'p>(file: &TiffFile<'_>, planes: &[&Ifd], before: &'p [Page]) -> Option<&'p Ifd> {
    planes.first().filter(|tags| page_kind(file, tags) == SMALLER)?;
    before.iter().map(|page| &page.directory).rev().find(|tags| page_kind(file, tags) == 0)
}

/// Returns a scale and an offset for each sample of the planes of an image. If planes differ, there are those of all planes. Planes
/// without any have those of `full`, an image of which they are a smaller version.
pub(super) fn read_plane_factors(file: &TiffFile<'_>, planes: &[&Ifd], full: Option<&Ifd>) -> Option<Vec<(f64, f64)>> {
    let own = |tags: &Ifd| read_page_factors(file, tags).or_else(|| read_page_factors(file, full?));
    let all: Vec<Option<Vec<(f64, f64)>>> = planes.iter().map(|tags| own(tags)).collect();
    let first = all.iter().flatten().next()?.clone();
    let neutral = vec![NEUTRAL; first.len()];
    let all: Vec<Vec<(f64, f64)>> = all.into_iter().map(|one| one.unwrap_or_else(|| neutral.clone())).collect();
    if all.iter().all(|one| *one == first) { Some(first) } else { Some(all.concat()) }
}

/// The factors of one page. A fault of the tag is reported when it becomes an attribute.
fn read_page_factors(file: &TiffFile<'_>, tags: &Ifd) -> Option<Vec<(f64, f64)>> {
    let Values::Text(text) = file.read_tag_values(tags.find_tag(id::GDAL)?).ok()? else { return None };
    let samples = usize::try_from(hyperstack::read_sample_layout(file, tags).0).ok().filter(|samples| *samples <= MAX_SAMPLES)?;
    let mut found = std::collections::HashMap::new();
    for tag in XmlTags(&text).filter(|tag| tag.name == "Item") {
        let Some(sample) = tag.parse_integer_attribute("sample").and_then(|sample| usize::try_from(sample).ok()) else {
            continue;
        };
        let role = tag.find_attribute("role").unwrap_or_default();
        // NaN is refused when the elements are read.
        let value = || tag.text.trim().parse().unwrap_or(f64::NAN);
        let (scale, offset) = found.entry(sample).or_insert(NEUTRAL);
        match () {
            () if role.eq_ignore_ascii_case("scale") => *scale = value(),
            () if role.eq_ignore_ascii_case("offset") => *offset = value(),
            () => {}
        }
    }
    if !found.iter().any(|(sample, factors)| *sample < samples && *factors != NEUTRAL) {
        return None;
    }
    Some((0..samples).map(|sample| found.get(&sample).copied().unwrap_or(NEUTRAL)).collect())
}

/// Writes the factors of the item before: `scale_factor` and `add_offset` of netCDF, if all samples have the same.
///
/// # Errors
/// Returns the errors of [`LayoutBuilder::open_dict`].
pub(super) fn write_factors(factors: &[(f64, f64)], is_number: bool, builder: &mut LayoutBuilder) -> Result<()> {
    match factors {
        [(scale, offset), rest @ ..]
            if is_number && scale.is_finite() && offset.is_finite() && rest.iter().all(|other| other == &(*scale, *offset)) =>
        {
            if *scale != NEUTRAL.0 {
                builder.write_attribute("scale_factor", LayoutLiteral::Float(*scale))?;
            }
            if *offset != NEUTRAL.1 {
                builder.write_attribute("add_offset", LayoutLiteral::Float(*offset))?;
            }
            Ok(())
        }
        all => builder.write_field(StorageField::SampleFactors(all.to_vec())),
    }
}
