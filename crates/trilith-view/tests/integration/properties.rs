//! Laws of seeing: what comes out equals what a few plain lines make of the same numbers, however an array is stored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]

use std::sync::Arc;

use proptest::prelude::*;
use trilith::array::{Byteorder, Mask};
use trilith::{Array, Index};
use trilith_view::image::FlagRaster;
use trilith_view::{
    DecimatedSeries, IntensityStretch, IntervalMethod, Limits, Palette, PixelRegion, ResampleMethod, Statistics,
    StatisticsOptions, ValueRaster,
};

/// A percentile of sorted numbers, as numpy interpolates it.
fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let place = percent / 100.0 * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    let share = place - place.floor();
    if share < 0.5 { low + (high - low) * share } else { high - (high - low) * (1.0 - share) }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9)
}

/// Returns the numbers as arrays of different storage: in rows, in columns and big-endian, and backwards.
fn stored_otherwise(numbers: &[f32], rows: u64, columns: u64) -> Vec<Array> {
    let plain = Array::from_slice(numbers, &[rows, columns]).unwrap();
    let turned = plain.transpose(None).unwrap();
    let by_column = Array::from_bytes(
        turned.read_bytes(Byteorder::Big).unwrap(),
        plain.datatype().clone(),
        Byteorder::Big,
        vec![columns, rows],
    );
    let back = Index::Slice { start: None, stop: None, step: -1 };
    let backwards = plain.slice([back, Index::ALL]).unwrap();
    let bytes = backwards.read_bytes(Byteorder::Little).unwrap();
    let again = Array::from_bytes(bytes, plain.datatype().clone(), Byteorder::Little, vec![rows, columns]).unwrap();
    vec![plain, by_column.unwrap().transpose(None).unwrap(), again.slice([back, Index::ALL]).unwrap()]
}

/// Some numbers, among them what is none.
fn number() -> impl Strategy<Value = f32> {
    prop_oneof![8 => -1e3f32..1e3, 1 => Just(f32::NAN), 1 => Just(f32::INFINITY), 1 => any::<f32>()]
}

fn plane() -> impl Strategy<Value = (Vec<f32>, u64, u64)> {
    (1usize..30, 1usize..30).prop_flat_map(|(rows, columns)| {
        (prop::collection::vec(number(), rows * columns), Just(rows as u64), Just(columns as u64))
    })
}

proptest! {
    #[test]
    fn statistics_match_sorted_numbers((numbers, rows, columns) in plane(), percent in 0.0f64..=100.0) {
        let mut sorted: Vec<f64> = numbers.iter().filter(|x| x.is_finite()).map(|x| f64::from(*x)).collect();
        sorted.sort_by(f64::total_cmp);
        let mut wanted = StatisticsOptions::percentiles(&[percent, 50.0]);
        wanted.bins = 7;
        for array in stored_otherwise(&numbers, rows, columns) {
            let found = Statistics::compute(&array, &wanted).unwrap();
            prop_assert_eq!(found.finite, sorted.len() as u64);
            prop_assert_eq!(found.count, numbers.len() as u64);
            prop_assert_eq!(found.nan, numbers.iter().filter(|x| x.is_nan()).count() as u64);
            prop_assert_eq!(found.infinite, numbers.iter().filter(|x| x.is_infinite()).count() as u64);
            let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
                prop_assert!(found.mean.is_none() && found.percentiles.is_empty() && found.histogram.is_none());
                continue;
            };
            prop_assert_eq!(found.min.unwrap().as_f64(), *first);
            prop_assert_eq!(found.max.unwrap().as_f64(), *last);
            let mean = sorted.iter().map(|x| x / sorted.len() as f64).sum::<f64>();
            let size = last.abs().max(first.abs()).max(1.0);
            prop_assert!((found.mean.unwrap() - mean).abs() <= 1e-12 * size, "{:?} {mean}", found.mean);
            prop_assert!(near(found.percentiles[0].value, percentile(&sorted, percent)));
            prop_assert!(near(found.median().unwrap(), percentile(&sorted, 50.0)));
            let histogram = found.histogram.unwrap();
            prop_assert_eq!(histogram.counts.iter().sum::<u64>(), sorted.len() as u64);
            let mut once = wanted.clone();
            once.exact = false;
            let rough = Statistics::compute(&array, &once).unwrap();
            for (rough, exact) in rough.percentiles.iter().zip(&found.percentiles) {
                prop_assert!((rough.value - exact.value).abs() <= rough.error * (1.0 + 1e-12), "{rough:?} {exact:?}");
            }
        }
    }

    #[test]
    fn what_is_masked_counts_nowhere(numbers in prop::collection::vec(number(), 1..200), marks in prop::collection::vec(any::<bool>(), 200)) {
        let marks = &marks[..numbers.len()];
        let mask = Mask::Array(Arc::new(Array::from_slice(marks, &[numbers.len() as u64]).unwrap()));
        let array = Array::from_slice(&numbers, &[numbers.len() as u64]).unwrap().with_mask(mask).unwrap();
        let left: Vec<f32> = numbers.iter().zip(marks).filter(|(_, masked)| !**masked).map(|(x, _)| *x).collect();
        let alone = Array::from_slice(&left, &[left.len() as u64]).unwrap();
        let (found, wanted) = (Statistics::compute(&array, &StatisticsOptions::default()).unwrap(), Statistics::compute(&alone, &StatisticsOptions::default()).unwrap());
        prop_assert_eq!(found.masked, (numbers.len() - left.len()) as u64);
        prop_assert_eq!((found.finite, found.nan, found.min, found.max), (wanted.finite, wanted.nan, wanted.min, wanted.max));
        prop_assert_eq!(found.percentiles, wanted.percentiles);
        prop_assert_eq!(IntervalMethod::ZScale.limits(&array).unwrap(), IntervalMethod::ZScale.limits(&alone).unwrap());
    }

    #[test]
    fn pixel_matches_reduction_of_its_elements((numbers, rows, columns) in plane(), width in 1usize..40, height in 1usize..40) {
        let (high, wide) = (rows as usize, columns as usize);
        for array in stored_otherwise(&numbers, rows, columns) {
            let mean = ValueRaster::read(&array, None, (width, height), ResampleMethod::Mean).unwrap();
            let most = ValueRaster::read(&array, None, (width, height), ResampleMethod::Max).unwrap();
            prop_assert_eq!(mean.values.len(), width * height);
            // Fewer elements than pixels repeat.
            let (pixels_wide, pixels_high) = (width.min(wide), height.min(high));
            for y in 0..height {
                for x in 0..width {
                    let (px, py) = (x * pixels_wide / width, y * pixels_high / height);
                    let own = numbers.iter().enumerate().filter(|(at, _)| {
                        (at % wide) * pixels_wide / wide == px && (at / wide) * pixels_high / high == py
                    });
                    let own: Vec<f64> = own.map(|(_, x)| f64::from(*x)).collect();
                    let finite: Vec<f64> = own.iter().copied().filter(|x| x.is_finite()).collect();
                    let (found, greatest) = (mean.values[y * width + x], most.values[y * width + x]);
                    if finite.is_empty() {
                        prop_assert!(!found.is_finite() && !greatest.is_finite());
                        continue;
                    }
                    let wanted = finite.iter().sum::<f64>() / finite.len() as f64;
                    let size = finite.iter().fold(1e-6f64, |size, x| size.max(x.abs()));
                    prop_assert!((found - wanted).abs() <= 1e-12 * size, "{found} {wanted}");
                    prop_assert_eq!(greatest, finite.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                }
            }
            let nearest = ValueRaster::read(&array, None, (width, height), ResampleMethod::Nearest).unwrap();
            let is_one_of = |value: &f64| numbers.iter().any(|x| f64::from(*x) == *value || (x.is_nan() && value.is_nan()));
            prop_assert!(nearest.values.iter().all(is_one_of));
        }
    }

    #[test]
    fn region_raster_eq_raster_of_slice((numbers, rows, columns) in plane(), at in (0u64..30, 0u64..30), size in (1u64..30, 1u64..30)) {
        let array = Array::from_slice(&numbers, &[rows, columns]).unwrap();
        let region = PixelRegion { x: at.0, y: at.1, width: size.0, height: size.1 };
        let is_inside = at.0 + size.0 <= columns && at.1 + size.1 <= rows;
        let found = ValueRaster::read(&array, Some(region), (5, 5), ResampleMethod::Mean);
        prop_assert_eq!(found.is_ok(), is_inside);
        if let Ok(raster) = found {
            let part = region.crop(&array).unwrap();
            let again = ValueRaster::read(&part, None, (5, 5), ResampleMethod::Mean).unwrap();
            let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
            prop_assert!(raster.values.iter().zip(&again.values).all(same));
        }
    }

    #[test]
    fn picture_colors_match_numbers((numbers, rows, columns) in plane(), low in -1e3f64..0.0, high in 1.0f64..1e3) {
        let array = Array::from_slice(&numbers, &[rows, columns]).unwrap();
        let raster = ValueRaster::read(&array, None, (columns as usize, rows as usize), ResampleMethod::Mean).unwrap();
        let colours = Palette::new("viridis".parse().unwrap());
        let cuts = Limits { low, high };
        let picture = raster.paint(cuts, IntensityStretch::Sqrt, &colours);
        let table = colours.map.table();
        for (pixel, x) in picture.rgba().chunks(4).zip(&numbers) {
            let x = f64::from(*x);
            let share = ((x.clamp(low, high) - low) / (high - low)).sqrt();
            let wanted = if x.is_nan() { colours.nan[..3].to_vec() } else { table[((share * 256.0) as usize).min(255)].to_vec() };
            prop_assert_eq!(&pixel[..3], &wanted[..]);
        }
        let png = picture.to_png().unwrap();
        let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let channels = info.color_type.samples();
        let same = pixels.chunks(channels).zip(picture.rgba().chunks(4).map(<[u8]>::to_vec)).all(|(a, b)| a[..3] == b[..3]);
        prop_assert!(same);
        let back = picture.clone().flipped().flipped();
        prop_assert_eq!(back, picture);
    }

    #[test]
    fn no_flag_is_lost(values in prop::collection::vec(prop_oneof![9 => Just(0u32), 1 => any::<u32>()], 1..400), width in 1usize..9) {
        let rows = values.len() as u64;
        let array = Array::from_slice(&values, &[rows, 1]).unwrap();
        let flags = FlagRaster::read(&array, None, (1, width), u64::MAX).unwrap();
        let all = values.iter().fold(0, |all, value| all | u64::from(*value));
        prop_assert_eq!(flags.values.iter().fold(0, |all, value| all | value), all);
        prop_assert_eq!(flags.to_picture([0; 4]).width(), 1);
    }

    #[test]
    fn series_keeps_peaks(numbers in prop::collection::vec(number(), 0..500), points in 1usize..60) {
        let array = Array::from_slice(&numbers, &[numbers.len() as u64]).unwrap();
        let series = DecimatedSeries::new(&array, points).unwrap();
        prop_assert!(series.points.len() <= points);
        let finite = || numbers.iter().filter(|x| x.is_finite()).map(|x| f64::from(*x));
        let wanted = finite().reduce(f64::min).zip(finite().reduce(f64::max));
        prop_assert_eq!(series.range(), wanted);
        prop_assert!(series.points.windows(2).all(|pair| pair[0].first < pair[1].first));
    }
}

/// 64-bit numbers that share their first 16, 32 and 48 bits are told apart digit by digit.
#[test]
fn ranks_of_many_equal_beginnings_are_exact() {
    let count = 4_500_000u64;
    // A shuffled order: multiplication by an odd number, modulo a power of two that is larger.
    let numbers: Vec<i64> = (0..count as i64).map(|n| (1 << 60) + (n * 2_654_435_761 % (1 << 23))).collect();
    let array = Array::from_slice(&numbers, &[count]).unwrap();
    let mut sorted = numbers;
    sorted.sort_unstable();
    let found = Statistics::compute(&array, &StatisticsOptions::percentiles(&[0.0, 0.01, 50.0, 99.0, 100.0])).unwrap();
    let sorted: Vec<f64> = sorted.into_iter().map(|n| n as f64).collect();
    for found in found.percentiles {
        assert_eq!(found.value, percentile(&sorted, found.percent), "{}", found.percent);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let text = Array::from_bytes(b"abcd".to_vec(), trilith::Datatype::Ascii(2), Byteorder::Little, vec![2]).unwrap();
    assert!(Statistics::compute(&text, &StatisticsOptions::default()).is_err());
    let plane = Array::from_slice(&[1u8; 12], &[3, 4]).unwrap();
    assert!(ValueRaster::read(&plane, None, (1 << 20, 1 << 20), ResampleMethod::Mean).is_err());
    assert!(DecimatedSeries::new(&plane, 10).is_err());
    let line = Array::from_slice(&[1u8; 12], &[12]).unwrap();
    assert!(ValueRaster::read(&line, None, (4, 4), ResampleMethod::Mean).is_err());
    let empty = Array::from_slice::<u8>(&[], &[0, 4]).unwrap();
    assert!(ValueRaster::read(&empty, None, (4, 4), ResampleMethod::Mean).is_err());
    assert_eq!(Statistics::compute(&empty, &StatisticsOptions::default()).unwrap().finite, 0);
    assert_eq!(IntervalMethod::ZScale.limits(&empty).unwrap(), Limits { low: 0.0, high: 1.0 });
    for percent in [-1.0, 100.5, f64::NAN] {
        assert!(Statistics::compute(&line, &StatisticsOptions::percentiles(&[percent])).is_err());
    }
}
