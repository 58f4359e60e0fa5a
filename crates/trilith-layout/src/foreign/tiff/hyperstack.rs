//! Stacks as descriptions of TIFF pages tell them: lines `slices=4` of `ImageJ`, JSON of tifffile, and the XML of OME ("OME-TIFF
//! specification" of the Open Microscopy Environment, with the schema of 2016-06).

use std::collections::HashSet;

use serde_json::Value;

use super::id;
use super::ifd::{Ifd, TiffFile};

/// The length and the name of an axis.
pub(super) type StackAxis = (u64, &'static str);

/// A stack as a description tells it: the axes around the planes, the page of each plane, and the lengths of a plane if they are known.
pub(super) struct Hyperstack {
    pub axes: Vec<StackAxis>,
    pub pages: Vec<usize>,
    pub plane: Option<(u64, u64)>,
}

/// The axes of a stack of `ImageJ` whose images have these samples, the slowest first; empty for one image, None if the text is
/// not one of `ImageJ`. The number of images is the product of the lengths.
pub(super) fn parse_imagej_axes(text: &str, samples: u64, is_planar: bool) -> Option<Vec<StackAxis>> {
    let rest = text.strip_prefix("ImageJ=")?;
    let said = |name: &str| rest.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=').map(str::trim));
    let number = |name: &str| said(name).map_or(Some(1), |text| text.parse::<u64>().ok().filter(|number| *number > 0));
    let (images, t, z, mut c) = (number("images")?, number("frames")?, number("slices")?, number("channels")?);
    // The samples of a pixel may count as channels.
    if samples > 1 && c == samples && (is_planar || images == t.saturating_mul(z)) {
        c = 1;
    }
    let (t, z, c) = ((t, "t"), (z, "z"), (c, "c"));
    let axes = match said("order").unwrap_or("czt") {
        "ctz" => [z, t, c],
        "zct" => [t, c, z],
        "ztc" => [c, t, z],
        "tcz" => [z, c, t],
        "tzc" => [c, z, t],
        _ => [t, z, c],
    };
    let mut axes: Vec<StackAxis> = axes.into_iter().filter(|(len, _)| *len > 1).collect();
    if axes.is_empty() && images > 1 {
        axes.push((images, "page"));
    }
    Some(axes)
}

/// The axes around a plane of this shape in a stack of tifffile, which writes the shape as JSON: `{"shape": [5, 10, 12]}`.
pub(super) fn parse_tifffile_axes(text: &str, plane: &[u64], count: u64) -> Option<Vec<StackAxis>> {
    const UNNAMED: [&str; 8] = ["axis0", "axis1", "axis2", "axis3", "axis4", "axis5", "axis6", "axis7"];
    let said: Value = serde_json::from_str(text).ok()?;
    let shape: Vec<u64> = said.get("shape")?.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    let around = shape.strip_suffix(plane)?;
    let letters = said.get("axes").and_then(Value::as_str).filter(|letters| letters.len() == shape.len());
    let name = |at: usize| match letters.and_then(|letters| letters.get(at..=at)) {
        Some("T") => Some("t"),
        Some("Z") => Some("z"),
        Some("C") => Some("c"),
        _ if around.len() == 1 => Some("page"),
        _ => UNNAMED.get(at).copied(),
    };
    let axes: Vec<StackAxis> = around.iter().enumerate().map(|(at, len)| Some((*len, name(at)?))).collect::<Option<_>>()?;
    let is_each = axes.iter().map(|axis| axis.1).collect::<HashSet<_>>().len() == axes.len();
    let all = axes.iter().try_fold(1u64, |n, (len, _)| n.checked_mul(*len));
    (is_each && all == Some(count)).then_some(axes)
}

/// The number of samples of a pixel, and whether each is a plane.
pub(super) fn read_sample_layout(file: &TiffFile<'_>, tags: &Ifd) -> (u64, bool) {
    let number = |id| tags.read_first_integer(file, id, 1).unwrap_or(1);
    (number(id::SAMPLES_PER_PIXEL), number(id::PLANAR_CONFIGURATION) == 2)
}

/// The images of OME that are in these pages; none if some are in other files.
pub(super) fn parse_ome_stacks(text: &str, count: usize) -> Vec<Hyperstack> {
    let (mut images, mut uuids): (Vec<OmeImage>, HashSet<String>) = (Vec::new(), HashSet::new());
    for tag in XmlTags(text) {
        match tag.name {
            "BinaryOnly" => return Vec::new(),
            "OME" => uuids.extend(tag.find_attribute("UUID").map(str::to_owned)),
            "UUID" => drop(uuids.insert(tag.text.trim().to_owned())),
            "Pixels" => images.push(OmeImage::from_tag(&tag)),
            "Channel" => {
                if let Some(image) = images.last_mut() {
                    image.samples.extend(tag.parse_integer_attribute("SamplesPerPixel").or(Some(1)));
                }
            }
            "TiffData" => {
                if let Some(image) = images.last_mut() {
                    image.data.push(TiffData::from_tag(&tag));
                }
            }
            _ => {}
        }
    }
    if uuids.len() > 1 {
        return Vec::new();
    }
    images.into_iter().filter_map(|image| image.into_stack(count)).collect()
}

/// An element `Pixels` of OME.
struct OmeImage {
    /// The axes around the planes, the slowest first.
    axes: Option<Vec<StackAxis>>,
    plane: Option<(u64, u64)>,
    samples: Vec<u64>,
    data: Vec<TiffData>,
}

/// An element `TiffData`: planes that are in pages one after the other.
struct TiffData {
    page: u64,
    /// Number of planes; `None` for one in each of the pages that follow.
    count: Option<u64>,
    first: [u64; 3],
}

impl TiffData {
    fn from_tag(tag: &XmlTag<'_>) -> Self {
        let count = tag
            .parse_integer_attribute("PlaneCount")
            .or(tag.parse_integer_attribute("NumPlanes"))
            .or(tag.find_attribute("IFD").map(|_| 1));
        let first = ["FirstT", "FirstZ", "FirstC"].map(|name| tag.parse_integer_attribute(name).unwrap_or(0));
        Self { page: tag.parse_integer_attribute("IFD").unwrap_or(0), count: count.filter(|count| *count > 0), first }
    }
}

impl OmeImage {
    fn from_tag(tag: &XmlTag<'_>) -> Self {
        let outer = tag.find_attribute("DimensionOrder").and_then(|order| order.strip_prefix("XY")).unwrap_or_default();
        let axes = outer.chars().rev().map(|name| {
            let name = match name {
                'T' => "t",
                'Z' => "z",
                'C' => "c",
                _ => return None,
            };
            Some((tag.parse_integer_attribute(&format!("Size{}", name.to_ascii_uppercase()))?, name))
        });
        let axes: Option<Vec<StackAxis>> = axes.collect();
        let is_each = |axes: &Vec<StackAxis>| axes.iter().map(|axis| axis.1).collect::<HashSet<_>>().len() == 3;
        let plane = tag.parse_integer_attribute("SizeY").zip(tag.parse_integer_attribute("SizeX"));
        Self { axes: axes.filter(is_each), plane, samples: Vec::new(), data: Vec::new() }
    }

    /// The planes in these pages, if all are there.
    fn into_stack(self, count: usize) -> Option<Hyperstack> {
        let mut axes = self.axes?;
        let samples = self.samples.first().copied().unwrap_or(1);
        if samples == 0 || self.samples.iter().any(|other| *other != samples) {
            return None;
        }
        axes.iter_mut().filter(|axis| axis.1 == "c").for_each(|axis| axis.0 /= samples);
        let total = axes.iter().try_fold(1u64, |n, (len, _)| n.checked_mul(*len)).filter(|n| (1..=count as u64).contains(n))?;
        let mut planes = vec![None; usize::try_from(total).ok()?];
        for data in self.data {
            let first = |name| ["t", "z", "c"].iter().position(|axis| *axis == name).and_then(|at| data.first.get(at).copied());
            let place = axes.iter().try_fold(0u64, |at, (len, name)| {
                let index = first(*name).filter(|index| index < len)?;
                at.checked_mul(*len)?.checked_add(index)
            });
            let place = usize::try_from(place?).ok()?;
            let page = usize::try_from(data.page).ok()?;
            let most = data.count.map_or(count, |count| usize::try_from(count).unwrap_or(usize::MAX));
            let pages = (page..count).take(most);
            planes.iter_mut().skip(place).zip(pages).for_each(|(plane, page)| *plane = Some(page));
        }
        let pages: Vec<usize> = planes.into_iter().collect::<Option<_>>()?;
        let is_once = pages.iter().collect::<HashSet<_>>().len() == pages.len();
        axes.retain(|(len, _)| *len > 1);
        is_once.then_some(Hyperstack { axes, pages, plane: Some(self.plane?) })
    }
}

/// The elements of XML, each by its first tag; what closes them is left out.
pub(super) struct XmlTags<'t>(pub &'t str);

/// The first tag of an element, and the text up to the next tag.
pub(super) struct XmlTag<'t> {
    /// The name without a prefix.
    pub name: &'t str,
    attributes: &'t str,
    pub text: &'t str,
}

impl<'t> Iterator for XmlTags<'t> {
    type Item = XmlTag<'t>;

    fn next(&mut self) -> Option<XmlTag<'t>> {
        loop {
            let (_, rest) = self.0.split_once('<')?;
            let skipped = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>"), ("!", ">"), ("/", ">")];
            if let Some((_, end)) = skipped.iter().find(|(start, _)| rest.starts_with(start)) {
                self.0 = rest.split_once(end)?.1;
                continue;
            }
            let (inside, after) = rest.split_at(end_of_tag(rest)?);
            self.0 = after;
            let inside = inside.strip_suffix('/').unwrap_or(inside);
            let (name, attributes) = inside.split_at(inside.find(char::is_whitespace).unwrap_or(inside.len()));
            let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
            let text = after.get(1..).unwrap_or_default();
            return Some(XmlTag { name, attributes, text: text.split('<').next().unwrap_or(text) });
        }
    }
}

/// The place of the `>` that ends a tag, which strings may hold, too.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    text.char_indices().find_map(|(at, c)| {
        match (quote, c) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        None
    })
}

impl<'t> XmlTag<'t> {
    /// The value of an attribute, as it is written.
    pub(super) fn find_attribute(&self, name: &str) -> Option<&'t str> {
        let mut rest = self.attributes;
        loop {
            let (key, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, next) = after.get(1..)?.split_once(quote)?;
            if key.trim() == name {
                return Some(value);
            }
            rest = next;
        }
    }

    pub(super) fn parse_integer_attribute(&self, name: &str) -> Option<u64> {
        self.find_attribute(name)?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_in_any_xml() {
        let text = "<?xml a='<b>'?><!-- <x> --><OME xmlns:o='u' UUID=\"a>b\"><o:Pixels SizeX = '3' DimensionOrder=\"XYCZT\"/>\
                    <![CDATA[<no>]]><UUID FileName='f'> urn:1 </UUID></OME><cut a=\"";
        let found: Vec<_> = XmlTags(text)
            .map(|tag| (tag.name, tag.text.trim(), tag.find_attribute("UUID"), tag.parse_integer_attribute("SizeX")))
            .collect();
        assert_eq!(found, [("OME", "", Some("a>b"), None), ("Pixels", "", None, Some(3)), ("UUID", "urn:1", None, None)]);
    }

    #[test]
    fn axes_of_imagej_are_in_their_order() {
        let axes = |text: &str, samples| parse_imagej_axes(&format!("ImageJ=1.54f\n{text}"), samples, false);
        assert_eq!(axes("images=24\nchannels=2\nslices=4\nframes=3\n", 1), Some(vec![(3, "t"), (4, "z"), (2, "c")]));
        assert_eq!(axes("images=8\nchannels=2\nslices=4\norder=zct\n", 1), Some(vec![(2, "c"), (4, "z")]));
        assert_eq!(axes("images=4\nchannels=3\nslices=4\n", 3), Some(vec![(4, "z")]));
        assert_eq!(
            (axes("images=5\n", 1), axes("", 1), axes("slices=0\n", 1)),
            (Some(vec![(5, "page")]), Some(Vec::new()), None)
        );
        assert_eq!(parse_imagej_axes("something else\nslices=3", 1, false), None);
    }

    #[test]
    fn ome_planes_follow_xml() {
        let stack = |data: &str, count| {
            let text = format!(
                "<OME><Image><Pixels DimensionOrder=\"XYZCT\" SizeX=\"5\" SizeY=\"4\" SizeZ=\"2\" SizeC=\"3\" SizeT=\"1\">{data}</Pixels></Image></OME>"
            );
            parse_ome_stacks(&text, count).into_iter().map(|stack| (stack.axes, stack.pages)).collect::<Vec<_>>()
        };
        let axes = vec![(3, "c"), (2, "z")];
        assert_eq!(stack("<TiffData/>", 6), [(axes.clone(), vec![0, 1, 2, 3, 4, 5])]);
        assert_eq!(
            stack("<TiffData FirstC='1' IFD='0' PlaneCount='4'/><TiffData IFD='4'/><TiffData FirstZ='1' IFD='5'/>", 7),
            [(axes, vec![4, 5, 0, 1, 2, 3])]
        );
        // A plane is missing, in another file, or twice there.
        assert_eq!(stack("<TiffData IFD='0' PlaneCount='5'/>", 6), []);
        assert_eq!(stack("<TiffData><UUID>a</UUID></TiffData><TiffData><UUID>b</UUID></TiffData>", 6), []);
        assert_eq!(stack("<TiffData IFD='0' PlaneCount='3'/><TiffData FirstC='1' FirstZ='1' PlaneCount='3'/>", 6), []);
    }
}
