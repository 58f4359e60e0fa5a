//! Planes of arrays as pixels: [`ValueRaster`], and painted as a [`ColorImage`].

mod flags;
mod picture;
mod resample;

use trilith::bytes::to_usize;
use trilith::{Array, Error, Index, Result};

pub use self::flags::FlagRaster;
pub use self::picture::{ColorImage, picture};
use crate::numeric::NumericArray;

/// Reduction of several elements to one pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResampleMethod {
    /// The mean of those that are finite and not masked.
    #[default]
    Mean,
    /// The greatest of them: no star is lost.
    Max,
    /// One of them, unchanged. Only a part of the array is read, if it is not compressed.
    Nearest,
}

impl ResampleMethod {
    /// The names.
    pub const NAMES: [&'static str; 3] = ["mean", "max", "nearest"];
}

impl std::str::FromStr for ResampleMethod {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "mean" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            "nearest" => Ok(Self::Nearest),
            _ => Err(Error::invalid_input(format!("{text:?} is not a way to resample"))
                .hint(format!("one of {}", Self::NAMES.join(", ")))),
        }
    }
}

/// A rectangle of a plane: columns `x` to `x + width` of the rows `y` to `y + height`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PixelRegion {
    /// The first column (the last axis).
    pub x: u64,
    /// The first row (the axis before it).
    pub y: u64,
    /// Number of columns.
    pub width: u64,
    /// Number of rows.
    pub height: u64,
}

impl PixelRegion {
    /// All of a plane.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if the array does not have two axes.
    pub fn full(array: &Array) -> Result<Self> {
        match *array.shape() {
            [height, width] => Ok(Self { x: 0, y: 0, width, height }),
            _ => Err(Error::invalid_input(format!("an image has two axes, this array has the shape {:?}", array.shape()))
                .hint("choose one plane by a slice")),
        }
    }

    /// The part of the array.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if it is not inside.
    pub fn crop(self, array: &Array) -> Result<Array> {
        let all = Self::full(array)?;
        let is_inside = |start: u64, len: u64, of: u64| start.checked_add(len).is_some_and(|end| end <= of);
        if !is_inside(self.x, self.width, all.width) || !is_inside(self.y, self.height, all.height) {
            let message = format!(
                "columns {}..{} of rows {}..{} are not all inside an image of {} by {}",
                self.x,
                self.x.saturating_add(self.width),
                self.y,
                self.y.saturating_add(self.height),
                all.width,
                all.height
            );
            return Err(Error::invalid_input(message));
        }
        array.slice([index_range(self.y, self.height), index_range(self.x, self.width)])
    }

    /// The size in pixels that fits into `width` by `height` with the shape of the region, and is no larger than it.
    pub fn fit_into(self, width: usize, height: usize) -> (usize, usize) {
        let (wide, high) = (self.width.max(1) as f64, self.height.max(1) as f64);
        let scale = (width as f64 / wide).min(height as f64 / high).min(1.0);
        (((wide * scale).round() as usize).max(1), ((high * scale).round() as usize).max(1))
    }

    /// Returns the height of the region in pixels if it is `width` pixels wide.
    pub fn height_for_width(self, width: usize) -> usize {
        ((width as f64 * self.height as f64 / self.width.max(1) as f64).round() as usize).max(1)
    }
}

fn index_range(start: u64, len: u64) -> Index {
    let bound = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    Index::Slice { start: Some(bound(start)), stop: Some(bound(start.saturating_add(len))), step: 1 }
}

/// The most pixels of a raster: 16,384 by 16,384.
const MAX_PIXELS: u64 = 1 << 28;

/// Numbers as pixels, row by row from the first.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ValueRaster {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The numbers; NaN if there is none. If all elements of a pixel are infinite, so is the pixel.
    pub values: Vec<f64>,
    /// `true` for each pixel whose elements are all masked; empty if nothing is masked.
    pub masked: Vec<bool>,
}

impl ValueRaster {
    /// Reads a plane, or a region of it, in `width` by `height` pixels. If there are fewer elements than pixels,
    /// elements repeat.
    ///
    /// ```
    /// use trilith_view::{ValueRaster, ResampleMethod};
    /// let array = trilith::Array::from_slice(&[1u8, 3, 5, 7, 2, 2, 2, 2], &[2, 4])?;
    /// let raster = ValueRaster::read(&array, None, (2, 1), ResampleMethod::Mean)?;
    /// assert_eq!(raster.values, [2.0, 4.0]);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if the array is not a plane of numbers or the region
    /// is not inside of it, [`ErrorKind::Limit`](trilith::ErrorKind::Limit) for very many pixels, and an error if
    /// the array cannot be read.
    pub fn read(array: &Array, region: Option<PixelRegion>, size: (usize, usize), how: ResampleMethod) -> Result<Self> {
        let region = region.map_or_else(|| PixelRegion::full(array), Ok)?;
        let part = region.crop(array)?;
        let (width, height) = (size.0.max(1), size.1.max(1));
        check_size(width, height)?;
        if region.width == 0 || region.height == 0 {
            return Err(Error::invalid_input("an image without elements"));
        }
        let (columns, rows) = (to_usize(region.width)?.min(width), to_usize(region.height)?.min(height));
        let raster = match how {
            ResampleMethod::Nearest => resample::sample_nearest(&part, columns, rows)?,
            ResampleMethod::Mean => resample::reduce_plane::<resample::MeanReducer>(&NumericArray::new(&part)?, columns, rows)?,
            ResampleMethod::Max => resample::reduce_plane::<resample::MaxReducer>(&NumericArray::new(&part)?, columns, rows)?,
        };
        Ok(raster.enlarge(width, height))
    }

    /// Repeats elements if this size has more pixels.
    fn enlarge(self, width: usize, height: usize) -> Self {
        if (width, height) == (self.width, self.height) {
            return self;
        }
        let values = repeat_pixels(&self.values, (self.width, self.height), (width, height));
        let masked = repeat_pixels(&self.masked, (self.width, self.height), (width, height));
        Self { width, height, values, masked }
    }

    /// The number of a pixel; None if it is masked, not a number or outside.
    pub fn pixel_value(&self, x: usize, y: usize) -> Option<f64> {
        let at = (x < self.width).then(|| y * self.width + x)?;
        let masked = self.masked.get(at).copied().unwrap_or(false);
        self.values.get(at).copied().filter(|value| !masked && !value.is_nan())
    }

    /// The pixels as an array of doubles, in which what is masked is not a number.
    ///
    /// # Errors
    /// Returns an error if the array cannot be made.
    pub fn as_array(&self) -> Result<Array> {
        let masked = self.masked.iter().copied().chain(std::iter::repeat(false));
        let values: Vec<f64> = self.values.iter().zip(masked).map(|(v, masked)| if masked { f64::NAN } else { *v }).collect();
        Array::from_slice(&values, &[self.height as u64, self.width as u64])
    }
}

/// Refuses more pixels than a picture may have.
fn check_size(width: usize, height: usize) -> Result<()> {
    match (width as u64).checked_mul(height as u64) {
        Some(pixels) if pixels <= MAX_PIXELS => Ok(()),
        _ => Err(Error::limit(format!("a picture of {width} by {height} pixels, at most {MAX_PIXELS} are possible"))),
    }
}

/// Pixels repeated to a larger size; none if there are none.
fn repeat_pixels<P: Copy>(pixels: &[P], from: (usize, usize), to: (usize, usize)) -> Vec<P> {
    if pixels.is_empty() {
        return Vec::new();
    }
    let columns: Vec<usize> = (0..to.0).map(|x| x * from.0 / to.0).collect();
    let mut out = Vec::with_capacity(to.0 * to.1);
    for y in 0..to.1 {
        let row = pixels.get(y * from.1 / to.1 * from.0..).unwrap_or_default();
        out.extend(columns.iter().filter_map(|x| row.get(*x)).copied());
    }
    out
}
