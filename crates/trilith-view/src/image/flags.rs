//! Arrays of labels and of quality flags: [`FlagRaster`].

use trilith::bytes::to_usize;
use trilith::{Array, Error, Result};

use super::picture::ColorImage;
use super::{PixelRegion, check_size};
use crate::color::label_color;
use crate::numeric::{ElementRun, NumericArray, Sample, with_type};
use crate::statistics::ExactNumber;

/// Integers as pixels: labels, or bits that each have a meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlagRaster {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The numbers, row by row from the first; those of masked elements are 0.
    pub values: Vec<u64>,
}

impl FlagRaster {
    /// Collects every bit that is set in any element of a pixel, so that no single flagged element is lost. `bits`
    /// are those that matter.
    ///
    /// ```
    /// let quality = trilith::Array::from_slice(&[0u32, 4, 0, 1], &[1, 4])?;
    /// assert_eq!(trilith_view::image::FlagRaster::read(&quality, None, (2, 1), !0)?.values, [4, 1]);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`ValueRaster::read`](super::ValueRaster::read), and [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput)
    /// if the elements are not whole numbers or booleans.
    pub fn read(array: &Array, region: Option<PixelRegion>, size: (usize, usize), bits: u64) -> Result<Self> {
        Self::collect(array, region, size, |all, value| all | (value & bits))
    }

    /// Counts the elements that have each bit set, from the lowest one on. Masked elements do not count.
    ///
    /// ```
    /// let quality = trilith::Array::from_slice(&[0u8, 4, 5], &[3])?;
    /// assert_eq!(trilith_view::image::FlagRaster::counts(&quality)?[..4], [1, 0, 2, 0]);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if the elements are not whole numbers or booleans.
    pub fn counts(array: &Array) -> Result<[u64; 64]> {
        check_integers(array)?;
        array.limits().charge_work(array.element_count().saturating_mul(8))?;
        let numbers = NumericArray::new(array)?;
        let mut counts = [0u64; 64];
        with_type!(numbers, |T| numbers.for_each_run(
            &|run| {
                let mut part = [0u64; 64];
                for (_, number) in run.unmasked_samples::<T>() {
                    let mut left = bits_of(number);
                    while left != 0 {
                        if let Some(count) = part.get_mut(left.trailing_zeros() as usize) {
                            *count += 1;
                        }
                        left &= left - 1;
                    }
                }
                Ok(part)
            },
            &mut |part| {
                counts.iter_mut().zip(part).for_each(|(all, part)| *all += part);
                Ok(())
            }
        ))?;
        Ok(counts)
    }

    /// The colour of a bit: red, green and blue.
    pub fn colour(bit: u8) -> [u8; 3] {
        label_color(bit)
    }

    /// One label for each pixel: that of the first of its elements that has one other than 0.
    ///
    /// # Errors
    /// Returns the errors of [`FlagRaster::read`].
    pub fn read_labels(array: &Array, region: Option<PixelRegion>, size: (usize, usize)) -> Result<Self> {
        Self::collect(array, region, size, |first, value| if first == 0 { value } else { first })
    }

    fn collect(
        array: &Array,
        region: Option<PixelRegion>,
        size: (usize, usize),
        join: impl Fn(u64, u64) -> u64 + Sync,
    ) -> Result<Self> {
        let region = region.map_or_else(|| PixelRegion::full(array), Ok)?;
        let part = region.crop(array)?;
        let (width, height) = (size.0.max(1), size.1.max(1));
        check_size(width, height)?;
        check_integers(&part)?;
        let (rows, columns) = (to_usize(region.height)?, to_usize(region.width)?);
        let mut flags = Self { width: width.min(columns), height: height.min(rows), values: Vec::new() };
        flags.values = vec![0; flags.width * flags.height];
        let plan = ReducePlan {
            rows,
            pixels: (0..columns).map(|x| x * flags.width / columns).collect(),
            size: (flags.width, flags.height),
        };
        let numbers = NumericArray::new(&part)?;
        with_type!(numbers, |T| numbers.for_each_run(&|run| plan.of_run::<T>(run, &join), &mut |(first, part)| {
            for (all, part) in flags.values.iter_mut().skip(first * plan.size.0).zip(part) {
                *all = join(*all, part);
            }
            Ok(())
        }))?;
        let values = super::repeat_pixels(&flags.values, (flags.width, flags.height), (width, height));
        Ok(Self { width, height, values })
    }

    /// Each pixel in the colour of the lowest bit that is set in it; if none is, `background` (red, green, blue,
    /// opacity).
    pub fn to_picture(&self, background: [u8; 4]) -> ColorImage {
        let index = |value: &u64| if *value == 0 { 0 } else { value.trailing_zeros() as u8 + 1 };
        self.paint_indices(background, index)
    }

    /// Paints each label in a separate colour, as far as 255 colours go; `background` is for label 0.
    pub fn paint_labels(&self, background: [u8; 4]) -> ColorImage {
        self.paint_indices(background, |value| if *value == 0 { 0 } else { ((*value - 1) % 255) as u8 + 1 })
    }

    fn paint_indices(&self, background: [u8; 4], index: impl Fn(&u64) -> u8) -> ColorImage {
        let colours = (0u8..255).map(|n| {
            let [r, g, b] = label_color(n);
            [r, g, b, 255]
        });
        let palette = std::iter::once(background).chain(colours).collect();
        ColorImage::from_indices(self.width, self.height, palette, self.values.iter().map(index).collect())
    }
}

/// Refuses elements that are neither whole numbers nor booleans.
fn check_integers(array: &Array) -> Result<()> {
    if array.datatype().is_integer() || *array.datatype() == trilith::Datatype::Bool8 {
        return Ok(());
    }
    Err(Error::invalid_input(format!("elements of {} are not flags or labels", array.datatype())))
}

/// The bits of a number. Those of a signed one are no more than its type has.
fn bits_of<T: Sample>(number: T) -> u64 {
    match number.to_number() {
        ExactNumber::Integer(value) => (value as u64) & (u64::MAX >> 64u32.saturating_sub(T::KEY_BITS)),
        ExactNumber::Float(_) => 0,
    }
}

/// The conversion of a plane to pixels.
struct ReducePlan {
    rows: usize,
    /// The pixel of each column.
    pixels: Vec<usize>,
    size: (usize, usize),
}

impl ReducePlan {
    fn of_run<T: Sample>(&self, run: &ElementRun<'_>, join: &impl Fn(u64, u64) -> u64) -> Result<(usize, Vec<u64>)> {
        let (start, count, columns) = (to_usize(run.start)?, T::from_bytes(run.bytes).len(), self.pixels.len());
        let row_of = |at: usize| at / columns * self.size.1 / self.rows;
        let (first, last) = (row_of(start), row_of((start + count).saturating_sub(1)));
        let mut values = vec![0; (last + 1 - first) * self.size.0];
        for (at, number) in run.unmasked_samples::<T>() {
            let value = bits_of(number);
            let at = to_usize(at)?;
            let pixel = self.pixels.get(at % columns).map(|column| (row_of(at) - first) * self.size.0 + column);
            if let Some(all) = pixel.and_then(|pixel| values.get_mut(pixel)) {
                *all = join(*all, value);
            }
        }
        Ok((first, values))
    }
}
