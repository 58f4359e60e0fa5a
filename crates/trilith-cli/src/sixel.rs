//! Sixel, the graphics of DEC's terminals: six rows of pixels a band, one colour after the other.
//!
//! A picture has 256 colours at most. Pictures by a colour map have no more; of others each channel is rounded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use trilith_view::ColorImage;

type Rgb = [u8; 3];

/// Colours that every terminal with sixel has room for.
const MAX_COLORS: usize = 256;
/// Levels of red, green and blue if there are more colours: 252 of them, most for the eye's best channel.
const CHANNEL_LEVELS: [u32; 3] = [6, 7, 6];
const BAND_ROWS: usize = 6;

/// Returns a picture as sixel text. Pixels that are not opaque are left out.
pub(crate) fn encode_sixel(picture: &ColorImage) -> String {
    let rgba = picture.rgba();
    let pixels = rgba.as_chunks::<4>().0;
    let colour = |[r, g, b, alpha]: &[u8; 4]| (*alpha > 127).then_some([*r, *g, *b]);
    let exact: BTreeSet<Rgb> = pixels.iter().filter_map(colour).collect();
    let shown = |rgb: Rgb| if exact.len() > MAX_COLORS { round_to_palette(rgb) } else { rgb };
    let palette: BTreeSet<Rgb> = exact.iter().map(|rgb| shown(*rgb)).collect();
    let palette: BTreeMap<Rgb, usize> = palette.into_iter().zip(0..).collect();

    // A pixel is square, and pixels that are not drawn stay unchanged.
    let mut out = format!("\x1bP0;1q\"1;1;{};{}", picture.width(), picture.height());
    for ([r, g, b], number) in &palette {
        let percent = |level: u8| (u32::from(level) * 100 + 127) / 255;
        let _ = write!(out, "#{number};2;{};{};{}", percent(*r), percent(*g), percent(*b));
    }
    let width = picture.width().max(1);
    for band in pixels.chunks(width * BAND_ROWS) {
        let mut layers: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for (at, pixel) in band.iter().enumerate() {
            if let Some(number) = colour(pixel).and_then(|rgb| palette.get(&shown(rgb))) {
                let layer = layers.entry(*number).or_insert_with(|| vec![0; width]);
                if let Some(bits) = layer.get_mut(at % width) {
                    *bits |= 1 << (at / width);
                }
            }
        }
        for (number, layer) in layers {
            let _ = write!(out, "#{number}");
            push_layer_runs(&layer, &mut out);
            out.push('$');
        }
        out.push('-');
    }
    out.push_str("\x1b\\\n");
    out
}

/// Writes a row of a band, with equal neighbours as a count.
fn push_layer_runs(layer: &[u8], out: &mut String) {
    for run in layer.chunk_by(|a, b| a == b) {
        let letter = char::from(b'?' + run.first().copied().unwrap_or(0));
        if run.len() > 3 {
            let _ = write!(out, "!{}{letter}", run.len());
        } else {
            out.extend(run.iter().map(|_| letter));
        }
    }
}

/// Returns the nearest colour of the fixed palette.
fn round_to_palette(rgb: Rgb) -> Rgb {
    let mut found = rgb;
    for (level, levels) in found.iter_mut().zip(CHANNEL_LEVELS) {
        let step = (u32::from(*level) * (levels - 1) + 127) / 255;
        *level = (step * 255 / (levels - 1)) as u8;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws the text again, as a terminal does.
    fn decoded(text: &str, width: usize, height: usize) -> Vec<Option<[u32; 3]>> {
        let body = text.strip_prefix(&format!("\x1bP0;1q\"1;1;{width};{height}")).unwrap().strip_suffix("\x1b\\\n").unwrap();
        let mut pixels = vec![None; width * height];
        let (mut colours, mut colour, mut x, mut y) = (BTreeMap::new(), 0, 0, 0);
        let mut rest = body.chars().peekable();
        let number = |rest: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            let mut number = 0;
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                number = number * 10 + digit.to_digit(10).unwrap();
            }
            number
        };
        while let Some(c) = rest.next() {
            let mut count = 1;
            let mut letter = c;
            match c {
                '#' => {
                    colour = number(&mut rest);
                    let mut parts = Vec::new();
                    while rest.next_if_eq(&';').is_some() {
                        parts.push(number(&mut rest));
                    }
                    if let [2, r, g, b] = parts[..] {
                        colours.insert(colour, [r, g, b]);
                    }
                    continue;
                }
                '$' => {
                    x = 0;
                    continue;
                }
                '-' => {
                    (x, y) = (0, y + BAND_ROWS);
                    continue;
                }
                '!' => {
                    count = number(&mut rest);
                    letter = rest.next().unwrap();
                }
                _ => {}
            }
            for _ in 0..count {
                let bits = letter as u8 - b'?';
                (0..BAND_ROWS)
                    .filter(|row| bits & (1 << row) != 0)
                    .for_each(|row| pixels[(y + row) * width + x] = Some(colours[&colour]));
                x += 1;
            }
        }
        pixels
    }

    #[test]
    fn pictures_of_few_colours_are_drawn_exactly() {
        let (width, height) = (7, 8);
        let grey = |n: usize| (n % 5 * 51) as u8;
        let rgba: Vec<u8> =
            (0..width * height).flat_map(|n| [grey(n), 255, grey(n / 3), if n == 10 { 0 } else { 255 }]).collect();
        let picture = ColorImage::from_rgba(width, height, rgba).unwrap();
        let drawn = decoded(&encode_sixel(&picture), width, height);
        for (n, pixel) in drawn.into_iter().enumerate() {
            let wanted = [grey(n) as u32 * 100 / 255, 100, grey(n / 3) as u32 * 100 / 255];
            assert_eq!(pixel, (n != 10).then_some(wanted), "pixel {n}");
        }
    }

    #[test]
    fn pictures_of_many_colours_are_rounded() {
        let rgba: Vec<u8> =
            (0..64 * 64).flat_map(|n: u32| [(n % 64 * 4) as u8, (n / 64 * 4) as u8, (n / 16) as u8, 255]).collect();
        let picture = ColorImage::from_rgba(64, 64, rgba.clone()).unwrap();
        for (pixel, given) in decoded(&encode_sixel(&picture), 64, 64).into_iter().zip(rgba.chunks(4)) {
            for (level, wanted) in pixel.unwrap().into_iter().zip(given) {
                assert!((i64::from(level) * 255 / 100 - i64::from(*wanted)).abs() < 28, "{level} % of {wanted}");
            }
        }
    }
}
