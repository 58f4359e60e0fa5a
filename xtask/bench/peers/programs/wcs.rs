//! World coordinates of an open file, inside one process: `wcs WORK FILE COUNT` with WORK pixel, position, pixels, positions,
//! exact, footprint or fit; prints seconds of one call as the harness reads them.

use std::hint::black_box;
use std::time::Instant;

use cpu_time::ProcessTime;
use trilith::wcs::{Wcs, WcsOptions};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match measured(&words) {
        Ok((cpu, wall)) => println!("{{\"cpu_s\": {cpu}, \"wall_s\": {wall}}}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

fn measured(words: &[String]) -> Outcome<(f64, f64)> {
    let [work, path, count] = words else {
        return Err("wcs pixel|position|pixels|positions|exact|footprint|fit FILE COUNT".into());
    };
    let file = trilith::open(path)?;
    let wcs = file.wcs("/roman/data")?.ok_or("the image has no coordinates")?.wcs;
    let options = WcsOptions::default();
    let [x, y] = spread(&wcs, count.parse()?)?;
    let sky = wcs.pixel_to_world(&[&x, &y], options)?;
    let (a, b) = (sky.first().ok_or("no longitude")?, sky.get(1).ok_or("no latitude")?);
    match work.as_str() {
        "pixel" => time(10_000, || Ok(black_box(wcs.pixel_to_world(&[&[500.0], &[500.0]], options)?).len())),
        "position" => {
            let one = wcs.pixel_to_world(&[&[500.0], &[500.0]], options)?;
            time(10_000, || Ok(black_box(wcs.world_to_pixel(&[&one[0], &one[1]], options)?).len()))
        }
        "pixels" => time(5, || Ok(black_box(wcs.pixel_to_world(&[&x, &y], options)?).len())),
        "positions" | "exact" => time(5, || Ok(black_box(wcs.world_to_pixel(&[a, b], options)?).len())),
        "footprint" => time(1000, || Ok(black_box(wcs.footprint()).map_or(0, |corners| corners.len()))),
        "fit" => time(20, || Ok(black_box(wcs.to_fits(&Default::default())?).cards.len())),
        _ => Err(format!("unknown work {work}").into()),
    }
}

/// Pixels all over the image, the same in each run.
fn spread(wcs: &Wcs, count: usize) -> Outcome<[Vec<f64>; 2]> {
    let extent = wcs.pixel_range().ok_or("the coordinates have no bounding box")?;
    let mut state = 9u64;
    let mut place = |axis: usize| -> Vec<f64> {
        let (low, high) = extent.get(axis).copied().unwrap_or((0.0, 0.0));
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            low + 1.0 + (high - low - 2.0) * (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..count).map(|_| next()).collect()
    };
    Ok([place(0), place(1)])
}

/// CPU seconds of a call on average, and wall seconds of the shortest.
fn time(runs: u32, mut work: impl FnMut() -> Outcome<usize>) -> Outcome<(f64, f64)> {
    let (before, mut wall) = (ProcessTime::now(), f64::INFINITY);
    for _ in 0..runs {
        let start = Instant::now();
        black_box(work()?);
        wall = wall.min(start.elapsed().as_secs_f64());
    }
    Ok((before.elapsed().as_secs_f64() / f64::from(runs), wall))
}
