//! Sections of an image in cards, `[1:2048,1:4096]`: the pixels that hold data, overscan or calibration, and the pixels of the detector
//! that they are (NOAO, IRAF). They count from 1, both ends belong to them, the fastest axis is first, and an axis may run backwards.

use crate::fits::{Card, CardValue, Header};
use crate::wcs::PixelBox;

/// Keywords of sections of the image itself, with a letter or a number after them.
const IMAGE_KEYWORDS: [&str; 3] = ["DATASEC", "TRIMSEC", "BIASSEC"];
/// Keywords of the section of a detector or a larger image that DATASEC is.
const DETECTOR_KEYWORDS: [&str; 3] = ["CCDSEC", "DETSEC", "AMPSEC"];

/// A card in a cutout.
#[derive(Debug, PartialEq)]
pub(super) enum SectionCard {
    /// A card of another kind.
    Other,
    /// The section of the cutout.
    Moved(String),
    /// The cutout has no pixel of the section, or its pixels are not those of the detector one by one.
    Absent,
}

/// First and last pixel of each axis.
type Section = Vec<(i64, i64)>;

/// Returns the card of a section in the cutout of these pixels from an image with this header and these lengths of axes, x first.
pub(super) fn move_section(card: &Card, header: &Header, lengths: &[u64], pixels: &PixelBox) -> SectionCard {
    let suffix = |keywords: &[&str]| keywords.iter().find_map(|keyword| card.keyword().strip_prefix(keyword)).map(str::to_owned);
    let (Some(section), image, detector) = (parse_section(card), suffix(&IMAGE_KEYWORDS), suffix(&DETECTOR_KEYWORDS)) else {
        return SectionCard::Other;
    };
    let moved = match (image, detector) {
        _ if section.len() > pixels.start.len() => None,
        (Some(_), _) => clip(&section, pixels),
        (None, Some(suffix)) => {
            let data = header.card(&format!("DATASEC{suffix}")).or_else(|| header.card("DATASEC")).and_then(parse_section);
            let whole = || lengths.iter().map(|length| (1, i64::try_from(*length).unwrap_or(i64::MAX))).collect();
            clip_detector(&section, &data.unwrap_or_else(whole), pixels)
        }
        (None, None) => return SectionCard::Other,
    };
    moved.map_or(SectionCard::Absent, |section| SectionCard::Moved(print_section(&section)))
}

/// The pixels of a section that a cutout has, as those of the cutout.
fn clip(section: &Section, pixels: &PixelBox) -> Option<Section> {
    let ranges = section.iter().zip(pixels.start.iter().zip(&pixels.length));
    ranges
        .map(|((first, last), (start, length))| {
            let range = 1..=i64::try_from(*length).ok()?;
            let (low, high) = ((*first).min(*last) - start, (*first).max(*last) - start);
            let (low, high) = (low.max(*range.start()), high.min(*range.end()));
            (low <= high).then_some(if first <= last { (low, high) } else { (high, low) })
        })
        .collect()
}

/// The pixels of a detector that a cutout has, if those of `data` are they one by one.
fn clip_detector(section: &Section, data: &Section, pixels: &PixelBox) -> Option<Section> {
    let clipped = clip(data, pixels)?;
    let axes = section.iter().zip(data.iter().zip(&clipped)).zip(&pixels.start);
    axes.map(|(((first, last), (whole, part)), start)| {
        let ((low, high), (part_low, part_high)) = (ordered(*whole), ordered(*part));
        let is_equal = (first - last).abs() == high - low;
        let is_backward = (first > last) != (whole.0 > whole.1);
        let (from_low, from_high) = (part_low + start - low, high - part_high - start);
        let (detector_low, detector_high) = ordered((*first, *last));
        let (low, high) = match is_backward {
            false => (detector_low + from_low, detector_high - from_high),
            true => (detector_low + from_high, detector_high - from_low),
        };
        is_equal.then_some(if first <= last { (low, high) } else { (high, low) })
    })
    .collect()
}

fn ordered((first, last): (i64, i64)) -> (i64, i64) {
    (first.min(last), first.max(last))
}

fn parse_section(card: &Card) -> Option<Section> {
    let CardValue::Text(text) = card.value() else { return None };
    let axes = text.trim().strip_prefix('[')?.strip_suffix(']')?.split(',');
    let axis = |axis: &str| {
        let (first, last) = axis.split_once(':')?;
        let number = |text: &str| text.trim().parse::<i64>().ok().filter(|n| n.abs() < 1 << 40);
        Some((number(first)?, number(last)?))
    };
    axes.map(axis).collect()
}

fn print_section(section: &Section) -> String {
    let axes: Vec<String> = section.iter().map(|(first, last)| format!("{first}:{last}")).collect();
    format!("[{}]", axes.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_move_with_pixels() {
        let header = |cards: &[(&str, &str)]| {
            Header::new(cards.iter().map(|(keyword, value)| Card::new(keyword, *value, "").unwrap()).collect())
        };
        let header = header(&[
            ("DATASEC", "[11:60,1:40]"),
            ("BIASSEC", "[1:10,1:40]"),
            ("TRIMSEC", "[60:11,1:40]"),
            ("CCDSEC", "[1:50,101:140]"),
            ("DETSEC", "[50:1,140:101]"),
            ("AMPSEC", "[1:25,1:20]"),
            ("DATASECA", "[1:30,1:40]"),
            ("DETSECA", "[1001:1030,2001:2040]"),
            ("DATASECB", "[31:60,1:40]"),
            ("OBJECT", "[1:2]"),
            ("DATASECC", "all"),
        ]);
        // Pixels 20 to 39 and -5 to 14 of the image, counted from 1.
        let pixels = PixelBox { centre: Vec::new(), start: vec![19, -6], length: vec![20, 20] };
        let moved: Vec<SectionCard> = header.cards().iter().map(|card| move_section(card, &header, &[60, 40], &pixels)).collect();
        let is = |text: &str| SectionCard::Moved(text.to_owned());
        let expected = [
            is("[1:20,7:20]"),
            SectionCard::Absent,
            is("[20:1,7:20]"),
            is("[10:29,101:114]"),
            is("[41:22,140:127]"),
            SectionCard::Absent,
            is("[1:11,7:20]"),
            is("[1020:1030,2001:2014]"),
            is("[12:20,7:20]"),
            SectionCard::Other,
            SectionCard::Other,
        ];
        assert_eq!(moved, expected);
    }
}
