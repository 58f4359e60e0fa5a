//! Arrays as pictures: tiles, levels, histograms and statistics.
//!
//! A tile is read and brought to its size once: other colours for it cost no reading.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};
use trilith::bytes::to_usize;
use trilith::interrupt::check;
use trilith::{Array, Error, Result};

use super::arrays::{array_of, requested_array};
use super::row_sample::RowSample;
use super::session::lock;
use super::values::element_range;
use super::{OpenFile, ViewerRequest, ViewerSession};
use crate::{
    ColorImage, ColorMap, Histogram, IntensityStretch, IntervalMethod, Palette, PixelRegion, ResampleMethod, Statistics,
    StatisticsOptions, ValueRaster,
};

/// Pixels of a side of a picture, at most.
const MAX_SIDE: usize = 4096;
/// Pixels that are kept of a file: 8 bytes each.
const CACHED_PIXELS: usize = 12 << 20;
/// Pixels of the longer side of an overview.
const OVERVIEW_SIDE: usize = 1024;
/// Number of elements above which rasters are made by one request at a time.
const MIN_EXCLUSIVE_ELEMENTS: u64 = 1 << 22;
/// Bins of a histogram, if no number is given, and at most.
const DEFAULT_BINS: usize = 256;
const MAX_BINS: usize = 4096;
/// Steps of the curve of a stretch.
const STRETCH_STEPS: usize = 128;
/// The percentiles that are shown.
const PERCENTILES: [f64; 7] = [1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0];

/// Rasters that were made, the last ones, each under what was asked.
#[derive(Default)]
pub(super) struct RasterCache {
    rasters: VecDeque<(String, Arc<ValueRaster>)>,
}

impl RasterCache {
    fn get(&mut self, key: &str) -> Option<Arc<ValueRaster>> {
        let at = self.rasters.iter().position(|(known, _)| known == key)?;
        let found = self.rasters.remove(at)?;
        let raster = found.1.clone();
        self.rasters.push_back(found);
        Some(raster)
    }

    fn insert(&mut self, key: String, raster: Arc<ValueRaster>) {
        self.rasters.push_back((key, raster));
        let pixels = |planes: &Self| planes.rasters.iter().map(|(_, raster)| raster.values.len()).sum::<usize>();
        while pixels(self) > CACHED_PIXELS && self.rasters.len() > 1 {
            self.rasters.pop_front();
        }
    }
}

/// Lists the choices: intervals, stretches with the share of the colours below evenly spaced numbers, and colour maps with some of
/// their colours.
pub(super) fn list_choices() -> Value {
    let maps: Vec<Value> = ColorMap::names()
        .flat_map(|name| [name.to_owned(), format!("{name}_r")])
        .filter_map(|name| {
            let table = name.parse::<ColorMap>().ok()?.table();
            let colours: Vec<String> = table.iter().step_by(5).map(|[r, g, b]| format!("#{r:02x}{g:02x}{b:02x}")).collect();
            Some(json!({"name": name, "colours": colours}))
        })
        .collect();
    let stretches: Vec<Value> = IntensityStretch::NAMES
        .iter()
        .filter_map(|name| {
            let stretch: IntensityStretch = name.parse().ok()?;
            let shares = (0..=STRETCH_STEPS).map(|step| stretch.apply(step as f64 / STRETCH_STEPS as f64));
            let rounded: Vec<f64> = shares.map(|share| (share * 1e4).round() / 1e4).collect();
            Some(json!({"name": name, "shares": rounded}))
        })
        .collect();
    json!({"intervals": IntervalMethod::NAMES, "stretches": stretches, "maps": maps})
}

/// The source of a picture: the array, and the part taken from it.
struct PictureRequest {
    array: Array,
    minus: Option<Array>,
    key: String,
}

/// The array of a request, and the one that is subtracted from it if `minus` names one.
fn parse_request(session: &ViewerSession, request: &ViewerRequest) -> Result<(Arc<OpenFile>, PictureRequest)> {
    let (opened, array) = array_of(session, request)?;
    let other = match request.get("minus").filter(|path| !path.is_empty()) {
        None => None,
        Some(path) => {
            let other = requested_array(
                &*session
                    .open_file(request.number_parameter("minus_file")?.or(request.number_parameter("file")?).unwrap_or(0))?,
                path,
                request,
            )?;
            if other.shape() != array.shape() {
                let message = format!("the shapes {:?} and {:?} differ", array.shape(), other.shape());
                return Err(Error::invalid_input(message).hint("only arrays of one shape can be subtracted"));
            }
            Some(other)
        }
    };
    let unmasked = request.text_parameter("mask") == "0";
    let plain = |array: Array| if unmasked { array.without_mask() } else { array };
    let parts = ["path", "field", "slice", "minus", "minus_file", "mask"].map(|name| request.text_parameter(name));
    Ok((opened, PictureRequest { array: plain(array), minus: other.map(plain), key: parts.join("\0") }))
}

impl PictureRequest {
    /// The numbers of a region in this number of pixels, made once.
    fn cached_raster(
        &self,
        opened: &OpenFile,
        region: PixelRegion,
        size: (usize, usize),
        how: ResampleMethod,
    ) -> Result<Arc<ValueRaster>> {
        let key = format!("{}\0{region:?}{size:?}{how:?}", self.key);
        if let Some(known) = lock(&opened.planes).get(&key) {
            return Ok(known);
        }
        let is_large = region.width.saturating_mul(region.height) > MIN_EXCLUSIVE_ELEMENTS;
        let _making = is_large.then(|| lock(&opened.raster_lock));
        if let Some(known) = lock(&opened.planes).get(&key) {
            return Ok(known);
        }
        let raster = |array: &Array| ValueRaster::read(array, Some(region), size, how);
        Ok(cache_raster(opened, key, raster(&self.array)?, self.minus.as_ref().map(raster).transpose()?))
    }

    /// A first look: as many pixels of a few rows as there is room for, and which share of the rows they are.
    fn sample_rows(&self, opened: &OpenFile) -> Result<(Arc<ValueRaster>, f64)> {
        let look = RowSample::new(&self.array)?;
        let [rows, columns] = *look.array.shape() else { return Err(Error::invalid_input("an image has two axes")) };
        let (width, height) = (to_usize(columns)?.min(OVERVIEW_SIDE), to_usize(rows)?);
        let key = format!("{}\0look{width}x{height}", self.key);
        if let Some(known) = lock(&opened.planes).get(&key) {
            return Ok((known, look.row_share));
        }
        let raster = |array: &Array| ValueRaster::read(array, None, (width, height), ResampleMethod::Nearest);
        let other = self.minus.as_ref().map(|other| raster(&other.slice([look.rows])?)).transpose()?;
        Ok((cache_raster(opened, key, raster(&look.array)?, other), look.row_share))
    }

    /// The difference is an array that exists nowhere: what is said of it is said of its overview.
    fn overview(&self, opened: &OpenFile) -> Result<Option<Arc<ValueRaster>>> {
        if self.minus.is_none() {
            return Ok(None);
        }
        let all = PixelRegion::full(&self.array)?;
        self.cached_raster(opened, all, all.fit_into(OVERVIEW_SIDE, OVERVIEW_SIDE), ResampleMethod::Mean).map(Some)
    }
}

/// Keeps the pixels of an array, or of its difference from another of the same size.
fn cache_raster(opened: &OpenFile, key: String, mut raster: ValueRaster, other: Option<ValueRaster>) -> Arc<ValueRaster> {
    if let Some(other) = other {
        raster.values.iter_mut().zip(&other.values).for_each(|(a, b)| *a -= b);
        if raster.masked.is_empty() {
            raster.masked = other.masked;
        } else {
            raster.masked.iter_mut().zip(&other.masked).for_each(|(a, b)| *a |= b);
        }
    }
    let raster = Arc::new(raster);
    lock(&opened.planes).insert(key, raster.clone());
    raster
}

/// Answers `image`: a part of an array as PNG. `x`, `y`, `w`, `h` are in elements, `width` and `height` in pixels.
/// `low`, `high`, `stretch` and `cmap` give the colours. `sample=1` asks for a first look at all of it. `as=flags`
/// with `bits`, or `as=labels`, asks for an overlay in which each bit or label has a separate colour.
pub(super) fn answer_image(session: &ViewerSession, request: &ViewerRequest) -> Result<Vec<u8>> {
    check()?;
    let (opened, wish) = parse_request(session, request)?;
    let side = |key: &str| -> Result<usize> {
        let pixels: usize = request.required(key)?;
        if (1..=MAX_SIDE).contains(&pixels) {
            return Ok(pixels);
        }
        Err(Error::invalid_input(format!("{key} is {pixels}, a picture has 1 to {MAX_SIDE} pixels on a side")))
    };
    let size = (side("width")?, side("height")?);
    let is_colour = matches!(wish.array.shape(), [_, _, 3 | 4]);
    let (rows, columns) = super::values::plane_dimensions(&wish.array)?;
    let (x, y) = (request.number_parameter("x")?.unwrap_or(0), request.number_parameter("y")?.unwrap_or(0));
    let region = PixelRegion {
        x,
        y,
        width: request.number_parameter("w")?.unwrap_or(columns.saturating_sub(x)),
        height: request.number_parameter("h")?.unwrap_or(rows.saturating_sub(y)),
    };
    let how = match request.get("resample").filter(|text| !text.is_empty()) {
        Some(text) => text.parse()?,
        None => ResampleMethod::Mean,
    };
    if is_colour {
        return render_color_region(&wish.array, region, size, how)?.to_png();
    }
    if let Some(kind) = request.get("as").filter(|kind| !kind.is_empty()) {
        return super::flags::render_flags_or_labels(&wish.array, region, size, kind, request)?.to_png();
    }
    let raster = if request.is_parameter_set("sample") {
        wish.sample_rows(&opened)?.0
    } else {
        wish.cached_raster(&opened, region, size, how)?
    };
    check()?;
    let text = |key: &str, usual: &'static str| request.get(key).filter(|text| !text.is_empty()).unwrap_or(usual).to_owned();
    let stretch: IntensityStretch = text("stretch", "linear").parse()?;
    let map: ColorMap = text("cmap", "gray").parse()?;
    let cuts = match request.limits()? {
        Some(cuts) => cuts,
        None => parse_interval(request)?.limits_of_raster(&raster)?,
    };
    raster.paint(cuts, stretch, &Palette::new(map)).to_png()
}

/// A part of an array whose last axis holds colours.
fn render_color_region(array: &Array, region: PixelRegion, size: (usize, usize), how: ResampleMethod) -> Result<ColorImage> {
    let part = array.slice([element_range(region.y, region.height), element_range(region.x, region.width)])?;
    ColorImage::from_palette_colors(&part, size, how, None)
}

fn parse_interval(request: &ViewerRequest) -> Result<IntervalMethod> {
    request.get("interval").filter(|text| !text.is_empty()).unwrap_or("zscale").parse()
}

/// `answer_levels`: the two numbers between which a rule spreads the colours; with `sample=1` by a first look.
pub(super) fn answer_levels(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (opened, wish) = parse_request(session, request)?;
    let interval = parse_interval(request)?;
    let (cuts, share) = if request.is_parameter_set("sample") {
        let (raster, share) = wish.sample_rows(&opened)?;
        (interval.limits_of_raster(&raster)?, share)
    } else {
        match wish.overview(&opened)? {
            Some(raster) => (interval.limits_of_raster(&raster)?, 1.0),
            None => (interval.limits(&wish.array)?, 1.0),
        }
    };
    Ok(json!({"low": cuts.low, "high": cuts.high, "share": share}))
}

/// `histogram`: how many elements are in each of `bins` ranges, from `low` to `high` if those are given.
pub(super) fn answer_histogram(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (opened, wish) = parse_request(session, request)?;
    let mut wanted = StatisticsOptions::none();
    wanted.bins = request.number_parameter("bins")?.unwrap_or(DEFAULT_BINS).clamp(1, MAX_BINS);
    wanted.range = request.limits()?;
    let shown = if request.is_parameter_set("sample") { Some(wish.sample_rows(&opened)?.0) } else { wish.overview(&opened)? };
    let found = match shown {
        Some(raster) => Statistics::compute(&raster.as_array()?, &wanted)?,
        None => Statistics::compute(&wish.array, &wanted)?,
    };
    Ok(found.histogram.as_ref().map_or_else(|| json!({"counts": [], "edges": []}), histogram_json))
}

fn histogram_json(found: &Histogram) -> Value {
    let bins = found.counts.len().max(1) as f64;
    let edges: Vec<f64> = (0..=found.counts.len()).map(|at| found.low + (found.high - found.low) * at as f64 / bins).collect();
    json!({"counts": found.counts, "edges": edges, "below": found.below, "above": found.above})
}

/// `answer_stats`: what the numbers of an array are, taken together.
pub(super) fn answer_stats(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (_, wish) = parse_request(session, request)?;
    let mut wanted = StatisticsOptions::percentiles(&PERCENTILES);
    wanted.bins = DEFAULT_BINS;
    let found = Statistics::compute(&wish.array, &wanted)?;
    let mut facts = vec![json!(["elements", found.count, true]), json!(["finite", found.finite, true])];
    for (name, count) in [("masked", found.masked), ("not a number", found.nan), ("infinite", found.infinite)] {
        if count > 0 {
            facts.push(json!([name, count, true]));
        }
    }
    let number = |number: Option<crate::ExactNumber>| number.map(|number| number.to_string());
    facts.push(json!(["smallest", number(found.min)]));
    facts.push(json!(["greatest", number(found.max)]));
    facts.push(json!(["mean", found.mean]));
    facts.push(json!(["standard deviation", found.std]));
    for percentile in &found.percentiles {
        let name = if percentile.percent == 50.0 { "median".to_owned() } else { format!("percentile {}", percentile.percent) };
        facts.push(json!([name, percentile.value]));
    }
    Ok(json!({"facts": facts, "histogram": found.histogram.as_ref().map(histogram_json)}))
}
