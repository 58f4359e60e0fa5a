//! Pixels with colours: [`ColorImage`], and PNG.

use trilith::{Array, Error, Result};

use super::{PixelRegion, ResampleMethod, ValueRaster, check_size};
use crate::color::Palette;
use crate::interval::Limits;
use crate::stretch::IntensityStretch;

/// A picture: pixels with colours, row by row from the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColorImage {
    width: usize,
    height: usize,
    pixels: Pixels,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pixels {
    /// Numbers of colours in a palette of at most 256.
    Palette(Vec<[u8; 4]>, Vec<u8>),
    /// Red, green, blue and opacity of each.
    Rgba(Vec<u8>),
}

impl ValueRaster {
    /// The raster in colours.
    ///
    /// ```
    /// use trilith_view::{Palette, Limits, ValueRaster, ResampleMethod, IntensityStretch};
    /// let array = trilith::Array::from_slice(&[0f32, 0.5, 1.0, f32::NAN], &[2, 2])?;
    /// let raster = ValueRaster::read(&array, None, (2, 2), ResampleMethod::Mean)?;
    /// let picture = raster.paint(Limits { low: 0.0, high: 1.0 }, IntensityStretch::Linear, &Palette::default());
    /// assert_eq!(picture.rgba()[..4], [0, 0, 0, 255]);
    /// assert_eq!(picture.to_png()?[1..4], *b"PNG");
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn paint(&self, cuts: Limits, stretch: IntensityStretch, colours: &Palette) -> ColorImage {
        let mut used = [false; 256];
        let mut others = (false, false);
        let masked = self.masked.iter().copied().chain(std::iter::repeat(false));
        let shade = |x: f64| shade_index(stretch.apply(cuts.normalize(x)));
        let shades = self.values.iter().zip(masked).map(|(x, masked)| match (masked, x.is_nan()) {
            (true, _) => PixelShade::Masked,
            (false, true) => PixelShade::Nan,
            (false, false) => PixelShade::Number(shade(*x)),
        });
        let shades: Vec<PixelShade> = shades
            .inspect(|shade| match shade {
                PixelShade::Masked => others.0 = true,
                PixelShade::Nan => others.1 = true,
                PixelShade::Number(n) => used[usize::from(*n)] = true,
            })
            .collect();
        let mut palette = colours.map.table().map(|[r, g, b]| [r, g, b, 255]);
        // NaN takes the place of a colour that is not needed, if there is one.
        let mut free = (0u8..=255).zip(used).filter(|(_, used)| !used).map(|(n, _)| n);
        let mut place = |wanted: bool, colour: [u8; 4]| {
            if !wanted {
                return Some(0);
            }
            let n = free.next()?;
            palette[usize::from(n)] = colour;
            Some(n)
        };
        let pixels = match (place(others.0, colours.masked), place(others.1, colours.nan)) {
            (Some(masked), Some(nan)) => {
                let index = |shade: PixelShade| match shade {
                    PixelShade::Number(n) => n,
                    PixelShade::Masked => masked,
                    PixelShade::Nan => nan,
                };
                Pixels::Palette(palette.to_vec(), shades.into_iter().map(index).collect())
            }
            _ => {
                let table = colours.map.table();
                let colour = |shade: PixelShade| match shade {
                    PixelShade::Number(n) => {
                        let [r, g, b] = table[usize::from(n)];
                        [r, g, b, 255]
                    }
                    PixelShade::Masked => colours.masked,
                    PixelShade::Nan => colours.nan,
                };
                Pixels::Rgba(shades.into_iter().flat_map(colour).collect())
            }
        };
        ColorImage { width: self.width, height: self.height, pixels }
    }
}

/// The content of a pixel.
#[derive(Clone, Copy)]
enum PixelShade {
    Number(u8),
    Masked,
    Nan,
}

/// The colour of a number between 0 and 1, of 256.
fn shade_index(share: f64) -> u8 {
    // A float becomes the nearest number that the type has: 255 for 256.
    (share * 256.0) as u8
}

impl ColorImage {
    /// A picture out of colours: red, green, blue and opacity of each pixel.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if there are not 4 bytes for each pixel, and
    /// [`ErrorKind::Limit`](trilith::ErrorKind::Limit) for very many pixels.
    pub fn from_rgba(width: usize, height: usize, rgba: Vec<u8>) -> Result<Self> {
        check_size(width, height)?;
        if rgba.len() != width * height * 4 {
            return Err(Error::invalid_input(format!("{} bytes of colours for {width} by {height} pixels", rgba.len())));
        }
        Ok(Self { width, height, pixels: Pixels::Rgba(rgba) })
    }

    pub(super) fn from_indices(width: usize, height: usize, palette: Vec<[u8; 4]>, indices: Vec<u8>) -> Self {
        Self { width, height, pixels: Pixels::Palette(palette, indices) }
    }

    /// An array whose last axis holds red, green and blue (and opacity): bytes as they are, other numbers brought from
    /// `cuts` to 0..=255.
    ///
    /// # Errors
    /// Returns the errors of [`ValueRaster::read`].
    pub fn from_palette_colors(array: &Array, size: (usize, usize), how: ResampleMethod, cuts: Option<Limits>) -> Result<Self> {
        let [_, _, channels @ 3..=4] = *array.shape() else {
            return Err(Error::invalid_input(format!(
                "an image in colours has the shape [rows, columns, 3], not {:?}",
                array.shape()
            )));
        };
        let cuts = cuts.unwrap_or(Limits { low: 0.0, high: 255.0 });
        let mut rgba = vec![255u8; 0];
        for channel in 0..channels {
            let at = i64::try_from(channel).unwrap_or(0);
            let plane = array.slice([trilith::Index::Ellipsis, trilith::Index::Integer(at)])?;
            let raster = ValueRaster::read(&plane, None, size, how)?;
            rgba.resize(raster.values.len() * 4, 255);
            for (pixel, value) in rgba.chunks_exact_mut(4).zip(&raster.values) {
                if let Some(byte) = pixel.get_mut(usize::try_from(channel).unwrap_or(0)) {
                    *byte = (cuts.normalize(*value) * 255.0).round() as u8;
                }
            }
        }
        Self::from_rgba(size.0.max(1), size.1.max(1), rgba)
    }

    /// Pixels in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The picture with its last row at the top.
    #[must_use]
    pub fn flipped(self) -> Self {
        let rows = |pixels: &[u8], size: usize| pixels.chunks((self.width * size).max(1)).rev().flatten().copied().collect();
        let pixels = match &self.pixels {
            Pixels::Palette(palette, indices) => Pixels::Palette(palette.clone(), rows(indices, 1)),
            Pixels::Rgba(rgba) => Pixels::Rgba(rows(rgba, 4)),
        };
        Self { pixels, ..self }
    }

    /// Red, green, blue and opacity of each pixel.
    pub fn rgba(&self) -> Vec<u8> {
        match &self.pixels {
            Pixels::Rgba(rgba) => rgba.clone(),
            Pixels::Palette(palette, indices) => {
                indices.iter().flat_map(|n| palette.get(usize::from(*n)).copied().unwrap_or_default()).collect()
            }
        }
    }

    /// The picture as a PNG file: with a palette or in shades of grey if that is enough.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](trilith::ErrorKind::Unsupported) if the encoder refuses it.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let refused = |error: png::EncodingError| Error::unsupported(format!("the picture cannot be written as PNG: {error}"));
        let (Ok(width), Ok(height)) = (u32::try_from(self.width), u32::try_from(self.height)) else {
            return Err(Error::unsupported(format!("a PNG of {} by {} pixels", self.width, self.height)));
        };
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, width, height);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let data: &[u8] = match &self.pixels {
            Pixels::Palette(palette, indices) => {
                if is_grey(palette) {
                    encoder.set_color(png::ColorType::Grayscale);
                } else {
                    encoder.set_color(png::ColorType::Indexed);
                    encoder.set_palette(palette.iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect::<Vec<u8>>());
                    if palette.iter().any(|[.., opacity]| *opacity < 255) {
                        encoder.set_trns(palette.iter().map(|[.., opacity]| *opacity).collect::<Vec<u8>>());
                    }
                    encoder.set_filter(png::Filter::NoFilter);
                }
                indices
            }
            Pixels::Rgba(rgba) => {
                encoder.set_color(png::ColorType::Rgba);
                rgba
            }
        };
        let mut writer = encoder.write_header().map_err(refused)?;
        writer.write_image_data(data).map_err(refused)?;
        writer.finish().map_err(refused)?;
        Ok(out)
    }
}

/// Returns `true` if a number in the palette is the shade itself.
fn is_grey(palette: &[[u8; 4]]) -> bool {
    palette.len() == 256 && (0u8..=255).zip(palette).all(|(n, colour)| *colour == [n, n, n, 255])
}

/// A plane of an array, or a region of it, as a picture: [`ValueRaster::read`] and [`ValueRaster::paint`] in one call.
///
/// # Errors
/// Returns the errors of [`ValueRaster::read`].
pub fn picture(
    array: &Array,
    region: Option<PixelRegion>,
    size: (usize, usize),
    how: ResampleMethod,
    (cuts, stretch): (Limits, IntensityStretch),
    colours: &Palette,
) -> Result<ColorImage> {
    Ok(ValueRaster::read(array, region, size, how)?.paint(cuts, stretch, colours))
}
