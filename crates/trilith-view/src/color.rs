//! Colour maps by name: [`ColorMap`], and the colours of what is not a number: [`Palette`].
//!
//! The maps have the colours of matplotlib's maps of the same names, to 1 of 255: straight lines between a few of
//! their colours, which are in the tables here. `viridis`, `plasma`, `inferno`, `magma` (van der Walt and Smith) and
//! `cividis` (Nuñez, Anderton and Renslow) are perceptually uniform, `coolwarm` (Moreland) diverges from its middle.

use std::fmt;
use std::str::FromStr;

use trilith::{Error, Result};

/// The 256 colours between which numbers are shown.
///
/// ```
/// use trilith_view::ColorMap;
/// let viridis: ColorMap = "viridis".parse()?;
/// assert_eq!(viridis.table()[0], [0x44, 0x01, 0x54]);
/// assert_eq!("viridis_r".parse::<ColorMap>()?.table()[255], [0x44, 0x01, 0x54]);
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColorMap {
    map: usize,
    reversed: bool,
}

/// The colours of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// The map for numbers.
    pub map: ColorMap,
    /// Red, green, blue and opacity of what is masked.
    pub masked: [u8; 4],
    /// Red, green, blue and opacity of what is not a number.
    pub nan: [u8; 4],
}

impl Palette {
    /// Returns the colors of a map. Masked pixels are dark red and NaNs blue, so that both can be seen in any map.
    pub fn new(map: ColorMap) -> Self {
        Self { map, masked: [0x80, 0x20, 0x20, 255], nan: [0x20, 0x50, 0xa0, 255] }
    }
}

impl Default for Palette {
    fn default() -> Self {
        Self::new(ColorMap::default())
    }
}

impl Default for ColorMap {
    /// `gray`.
    fn default() -> Self {
        Self { map: 0, reversed: false }
    }
}

/// A colour on a map: its number from 0 to 255, and red, green and blue as one number.
type ColorStop = (u8, u32);

/// The maps: straight lines between these colours.
#[rustfmt::skip]
const COLOR_MAPS: [(&str, &[ColorStop]); 7] = [
    ("gray", &[(0x00, 0x000000), (0xff, 0xffffff)]),
    ("viridis", &[
        (0x00, 0x440154), (0x13, 0x481c6e), (0x28, 0x453681), (0x40, 0x3a528b), (0x6a, 0x287b8e), (0x87, 0x1e978a), (0x96, 0x20a585),
        (0xa4, 0x2cb17d), (0xb5, 0x47c06e), (0xca, 0x74d054), (0xe7, 0xbfdf24), (0xf0, 0xd7e219), (0xf7, 0xe9e419), (0xff, 0xfde724),
    ]),
    ("plasma", &[
        (0x00, 0x0c0786), (0x02, 0x130689), (0x0d, 0x2b0594), (0x24, 0x5201a3), (0x39, 0x7300a8), (0x46, 0x8607a6), (0x5a, 0xa21c9a),
        (0x75, 0xc03b81), (0x97, 0xdf6163), (0xb9, 0xf58b46), (0xd4, 0xfdb22f), (0xe7, 0xfbd024), (0xfb, 0xf2f126), (0xff, 0xeff821),
    ]),
    ("inferno", &[
        (0x00, 0x000003), (0x01, 0x000004), (0x0c, 0x06041b), (0x1b, 0x190b3e), (0x29, 0x300a5c), (0x33, 0x410967), (0x43, 0x5b116e),
        (0x59, 0x7e1e6c), (0x70, 0xa32b61), (0x89, 0xc83e4b), (0xa2, 0xe65c2e), (0xb8, 0xf68012), (0xc3, 0xfa9306), (0xcb, 0xfba208),
        (0xd7, 0xfbb91e), (0xe4, 0xf6d33f), (0xed, 0xf2e45d), (0xf7, 0xf2f485), (0xff, 0xfcfea4),
    ]),
    ("magma", &[
        (0x00, 0x000003), (0x05, 0x01010b), (0x16, 0x100c2f), (0x26, 0x251155), (0x32, 0x390f6e), (0x3f, 0x4f117b), (0x57, 0x742081),
        (0x73, 0xa12f7e), (0x8d, 0xcb3e71), (0xa0, 0xe65162), (0xae, 0xf3675b), (0xbc, 0xfa805e), (0xcc, 0xfd9f6c), (0xe4, 0xfecb8e),
        (0xff, 0xfbfcbf),
    ]),
    ("cividis", &[
        (0x00, 0x00224d), (0x13, 0x002f6f), (0x17, 0x003170), (0x1c, 0x11356f), (0x26, 0x243c6e), (0x3a, 0x3d4a6b), (0x58, 0x595f6d),
        (0x79, 0x767676), (0x8f, 0x8a8678), (0xb3, 0xaea271), (0xd5, 0xd2bf60), (0xec, 0xebd44b), (0xfc, 0xfde333), (0xff, 0xfde737),
    ]),
    ("coolwarm", &[
        (0x00, 0x3a4cc0), (0x08, 0x435acc), (0x1c, 0x5c7be5), (0x2e, 0x7497f5), (0x42, 0x90b2fe), (0x58, 0xaec9fc), (0x6a, 0xc5d5f2),
        (0x7d, 0xdadcdf), (0x8f, 0xebd3c6), (0xa5, 0xf6bda4), (0xb9, 0xf6a384), (0xd1, 0xea7b60), (0xe9, 0xd24b3f), (0xf7, 0xbf282e),
        (0xff, 0xb30326),
    ]),
];

impl ColorMap {
    /// The names; with `_r` after it a map is turned round.
    pub fn names() -> impl Iterator<Item = &'static str> {
        COLOR_MAPS.iter().map(|(name, _)| *name)
    }

    /// Returns the 256 colors of the map: red, green and blue, the color of the lowest number first.
    pub fn table(self) -> [[u8; 3]; 256] {
        let knots = COLOR_MAPS.get(self.map).map_or(&[][..], |(_, knots)| knots);
        let mut table = [[0; 3]; 256];
        for pair in knots.windows(2) {
            let [(first, from), (last, to)] = *pair else { continue };
            for n in first..=last {
                let share = f64::from(n - first) / f64::from(last - first);
                let mixed = |shift: u32| {
                    let channel = |colour: u32| f64::from((colour >> shift) & 0xff);
                    (channel(from) + (channel(to) - channel(from)) * share).round() as u8
                };
                let place = if self.reversed { 255 - n } else { n };
                table[usize::from(place)] = [mixed(16), mixed(8), mixed(0)];
            }
        }
        table
    }
}

impl FromStr for ColorMap {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, reversed) = text.strip_suffix("_r").map_or((text, false), |name| (name, true));
        let name = if name == "grey" { "gray" } else { name };
        match Self::names().position(|known| known == name) {
            Some(map) => Ok(Self { map, reversed }),
            None => {
                let names: Vec<_> = Self::names().collect();
                Err(Error::invalid_input(format!("there is no colour map {text:?}"))
                    .hint(format!("one of {}; append _r to reverse it", names.join(", "))))
            }
        }
    }
}

impl fmt::Display for ColorMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = COLOR_MAPS.get(self.map).map_or("", |(name, _)| name);
        write!(f, "{name}{}", if self.reversed { "_r" } else { "" })
    }
}

/// The colour of label or bit number `n`: hues a golden section of the circle apart, so that neighbours differ.
pub fn label_color(n: u8) -> [u8; 3] {
    const GOLDEN_RATIO: f64 = 0.618_033_988_749_895;
    let hue = (f64::from(n) * GOLDEN_RATIO).fract();
    // Each of four groups of eight colors is a little darker than the one before.
    let light = 1.0 - f64::from(n / 8 % 4) * 0.15;
    let channel = |offset: f64| {
        let distance = ((hue + offset).fract() * 6.0 - 3.0).abs() - 1.0;
        let pure = distance.clamp(0.0, 1.0);
        ((0.25 + 0.75 * pure) * light * 255.0).round() as u8
    };
    [channel(0.0), channel(2.0 / 3.0), channel(1.0 / 3.0)]
}
