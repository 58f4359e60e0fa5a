//! The example observation: a star field that could have come from a telescope.

use trilith::Result;
use trilith::array::{Array, Byteorder, Datatype, Field, Mask, StructType};
use trilith::half::f16;

/// The size of an exposure, and the number of objects on it.
pub(super) struct ExposureSize {
    /// Pixels along each side.
    side: usize,
    stars: usize,
    /// Pixels that a cosmic ray or a fault has spoiled.
    bad_pixels: usize,
    /// The column without a signal, as real detectors have.
    dead_columns: usize,
}

/// Size of an exposure of some hundred kilobytes.
pub(super) const SMALL: ExposureSize = ExposureSize { side: 256, stars: 60, bad_pixels: 47, dead_columns: 171 };
/// Size of an exposure of some forty megabytes.
pub(super) const LARGE: ExposureSize = ExposureSize { side: 2048, stars: 400, bad_pixels: 3000, dead_columns: 1371 };

/// The arrays of one exposure.
pub(super) struct Exposure {
    /// Standard deviation of each pixel, float16.
    pub error: Array,
    /// Quality bits of each pixel, uint32.
    pub quality: Array,
    /// The image with the bad pixels masked.
    pub masked: Array,
    /// The catalog: position, flux and name of each star.
    pub catalogue: Array,
}

/// A small generator of numbers that look random and are the same everywhere (SplitMix64).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to 1, without 1.
    fn next_uniform(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1u32 << 24) as f32
    }

    /// Returns a nearly normal number with mean 0 and sigma 1: the sum of six uniform numbers is good enough here.
    fn next_normal(&mut self) -> f32 {
        let bits = self.next_u64();
        let sum: u64 = (0..6).map(|i| bits >> (i * 10) & 0x3ff).sum();
        (sum as f32 / 1023.0 - 3.0) * 1.414
    }
}

/// A star of the catalog.
struct Star {
    x: f32,
    y: f32,
    flux: f32,
}

/// Makes the exposure of a size; always the same one.
///
/// # Errors
/// Returns no error on a machine with some 60 MB of memory.
pub(super) fn simulate(size: &ExposureSize) -> Result<Exposure> {
    let side = size.side;
    let mut random = SplitMix64(20_261_121);
    let mut image: Vec<f32> = (0..side * side).map(|_| 100.0 + 10.0 * random.next_normal()).collect();
    let stars: Vec<Star> = (0..size.stars)
        .map(|_| Star {
            x: random.next_uniform() * side as f32,
            y: random.next_uniform() * side as f32,
            flux: 2000.0 * (1.0 / (random.next_uniform() + 0.01)).powf(1.2),
        })
        .collect();
    for star in &stars {
        add_star(&mut image, side, star);
    }
    let mut quality = vec![0u32; side * side];
    for _ in 0..size.bad_pixels {
        let at = random.next_u64() as usize % quality.len();
        quality[at] |= 1 << (random.next_u64() % 5);
        image[at] = if random.next_u64().is_multiple_of(2) { 0.0 } else { 65_535.0 };
    }
    for row in 0..side {
        quality[row * side + size.dead_columns] |= 1;
    }
    let error: Vec<f16> = image.iter().map(|value| f16::from_f32(value.max(1.0).sqrt())).collect();
    let bad: Vec<u8> = quality.iter().map(|bits| u8::from(*bits != 0)).collect();
    let shape = [side as u64, side as u64];
    let image = Array::from_slice(&image, &shape)?;
    let mask = Array::from_bytes(bad, Datatype::Bool8, Byteorder::Little, shape.to_vec())?;
    Ok(Exposure {
        masked: image.with_mask(Mask::Array(mask.into()))?,
        error: Array::from_slice(&error, &shape)?,
        quality: Array::from_slice(&quality, &shape)?,
        catalogue: build_star_catalog(&stars)?,
    })
}

/// A round profile, cut off if it is lost in the noise.
fn add_star(image: &mut [f32], side: usize, star: &Star) {
    const STAR_RADIUS: i32 = 9;
    let (cx, cy) = (star.x as i32, star.y as i32);
    for y in (cy - STAR_RADIUS).max(0)..(cy + STAR_RADIUS + 1).min(side as i32) {
        for x in (cx - STAR_RADIUS).max(0)..(cx + STAR_RADIUS + 1).min(side as i32) {
            let (dx, dy) = (x as f32 - star.x, y as f32 - star.y);
            image[y as usize * side + x as usize] += star.flux / 12.6 * (-(dx * dx + dy * dy) / 4.0).exp();
        }
    }
}

/// The stars as a structured array, brightest first.
fn build_star_catalog(stars: &[Star]) -> Result<Array> {
    let mut order: Vec<&Star> = stars.iter().collect();
    order.sort_by(|a, b| b.flux.total_cmp(&a.flux));
    let order_of = Byteorder::Little;
    let row = StructType::packed_from(vec![
        Field::new("id", Datatype::Int32, order_of),
        Field::new("name", Datatype::Ascii(8), order_of),
        Field::new("position", Datatype::Float64, order_of).with_shape(vec![2]),
        Field::new("flux", Datatype::Float32, order_of),
    ])?;
    let mut bytes = Vec::new();
    for (id, star) in (0i32..).zip(&order) {
        bytes.extend_from_slice(&id.to_le_bytes());
        bytes.extend_from_slice(format!("star{id:04}").as_bytes());
        bytes.extend_from_slice(&f64::from(star.x).to_le_bytes());
        bytes.extend_from_slice(&f64::from(star.y).to_le_bytes());
        bytes.extend_from_slice(&star.flux.to_le_bytes());
    }
    Array::from_bytes(bytes, Datatype::Struct(row.into()), order_of, vec![order.len() as u64])
}
