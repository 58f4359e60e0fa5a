//! Arrays as pictures: tiles, levels, histograms and statistics.
//!
//! A tile is read and brought to its size once: other colours for it cost no reading.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};
use trilith::bytes::to_usize;
use trilith::interrupt::check;
use trilith::{Array, Error, Result};

use super::arrays::{array_of, found};
use super::row_sample::Look;
use super::session::locked;
use super::values::range;
use super::{Opened, Request, Session};
use crate::{ColourMap, Colours, Histogram, Interval, Picture, Raster, Region, Resample, Statistics, Stretch, Wanted};

/// Pixels of a side of a picture, at most.
const SIDE: usize = 4096;
/// Pixels that are kept of a file: 8 bytes each.
const KEPT: usize = 12 << 20;
/// Pixels of the longer side of an overview.
const OVERVIEW: usize = 1024;
/// Number of elements above which rasters are made by one request at a time.
const LARGE: u64 = 1 << 22;
/// Bins of a histogram, if no number is given, and at most.
const BINS: usize = 256;
const MOST_BINS: usize = 4096;
/// The percentiles that are shown.
const PERCENTILES: [f64; 7] = [1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0];

/// Rasters that were made, the last ones, each under what was asked.
#[derive(Default)]
pub(super) struct Planes {
    rasters: VecDeque<(String, Arc<Raster>)>,
}

impl Planes {
    fn find(&mut self, key: &str) -> Option<Arc<Raster>> {
        let at = self.rasters.iter().position(|(known, _)| known == key)?;
        let found = self.rasters.remove(at)?;
        let raster = found.1.clone();
        self.rasters.push_back(found);
        Some(raster)
    }

    fn keep(&mut self, key: String, raster: Arc<Raster>) {
        self.rasters.push_back((key, raster));
        let pixels = |planes: &Self| planes.rasters.iter().map(|(_, raster)| raster.values.len()).sum::<usize>();
        while pixels(self) > KEPT && self.rasters.len() > 1 {
            self.rasters.pop_front();
        }
    }
}

/// Lists the choices: intervals, stretches, and colour maps with some of their colours.
pub(super) fn choices() -> Value {
    let maps: Vec<Value> = ColourMap::names()
        .flat_map(|name| [name.to_owned(), format!("{name}_r")])
        .filter_map(|name| {
            let table = name.parse::<ColourMap>().ok()?.table();
            let colours: Vec<String> = table.iter().step_by(5).map(|[r, g, b]| format!("#{r:02x}{g:02x}{b:02x}")).collect();
            Some(json!({"name": name, "colours": colours}))
        })
        .collect();
    json!({"intervals": Interval::NAMES, "stretches": Stretch::NAMES, "maps": maps})
}

/// The source of a picture: the array, and the part taken from it.
struct Wish {
    array: Array,
    other: Option<Array>,
    key: String,
}

/// The array of a request, and the one that is subtracted from it if `minus` names one.
fn wish(session: &Session, request: &Request) -> Result<(Arc<Opened>, Wish)> {
    let (opened, array) = array_of(session, request)?;
    let other = match request.get("minus").filter(|path| !path.is_empty()) {
        None => None,
        Some(path) => {
            let other = found(
                &*session.numbered(request.number("minus_file")?.or(request.number("file")?).unwrap_or(0))?,
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
    let unmasked = request.text("mask") == "0";
    let plain = |array: Array| if unmasked { array.without_mask() } else { array };
    let parts = ["path", "field", "slice", "minus", "minus_file", "mask"].map(|name| request.text(name));
    Ok((opened, Wish { array: plain(array), other: other.map(plain), key: parts.join("\0") }))
}

impl Wish {
    /// The numbers of a region in this number of pixels, made once.
    fn raster(&self, opened: &Opened, region: Region, size: (usize, usize), how: Resample) -> Result<Arc<Raster>> {
        let key = format!("{}\0{region:?}{size:?}{how:?}", self.key);
        if let Some(known) = locked(&opened.planes).find(&key) {
            return Ok(known);
        }
        let is_large = region.width.saturating_mul(region.height) > LARGE;
        let _making = is_large.then(|| locked(&opened.making));
        if let Some(known) = locked(&opened.planes).find(&key) {
            return Ok(known);
        }
        let raster = |array: &Array| Raster::of(array, Some(region), size, how);
        Ok(kept(opened, key, raster(&self.array)?, self.other.as_ref().map(raster).transpose()?))
    }

    /// A first look: as many pixels of a few rows as there is room for, and which share of the rows they are.
    fn sample(&self, opened: &Opened) -> Result<(Arc<Raster>, f64)> {
        let look = Look::of(&self.array)?;
        let [rows, columns] = *look.array.shape() else { return Err(Error::invalid_input("an image has two axes")) };
        let (width, height) = (to_usize(columns)?.min(OVERVIEW), to_usize(rows)?);
        let key = format!("{}\0look{width}x{height}", self.key);
        if let Some(known) = locked(&opened.planes).find(&key) {
            return Ok((known, look.share));
        }
        let raster = |array: &Array| Raster::of(array, None, (width, height), Resample::Nearest);
        let other = self.other.as_ref().map(|other| raster(&other.slice([look.rows])?)).transpose()?;
        Ok((kept(opened, key, raster(&look.array)?, other), look.share))
    }

    /// The difference is an array that exists nowhere: what is said of it is said of its overview.
    fn shown(&self, opened: &Opened) -> Result<Option<Arc<Raster>>> {
        if self.other.is_none() {
            return Ok(None);
        }
        let all = Region::all(&self.array)?;
        self.raster(opened, all, all.fit(OVERVIEW, OVERVIEW), Resample::Mean).map(Some)
    }
}

/// Keeps the pixels of an array, or of its difference from another of the same size.
fn kept(opened: &Opened, key: String, mut raster: Raster, other: Option<Raster>) -> Arc<Raster> {
    if let Some(other) = other {
        raster.values.iter_mut().zip(&other.values).for_each(|(a, b)| *a -= b);
        if raster.masked.is_empty() {
            raster.masked = other.masked;
        } else {
            raster.masked.iter_mut().zip(&other.masked).for_each(|(a, b)| *a |= b);
        }
    }
    let raster = Arc::new(raster);
    locked(&opened.planes).keep(key, raster.clone());
    raster
}

/// Answers `image`: a part of an array as PNG. `x`, `y`, `w`, `h` are in elements, `width` and `height` in pixels.
/// `low`, `high`, `stretch` and `cmap` give the colours. `sample=1` asks for a first look at all of it. `as=flags`
/// with `bits`, or `as=labels`, asks for an overlay in which each bit or label has a separate colour.
pub(super) fn image(session: &Session, request: &Request) -> Result<Vec<u8>> {
    check()?;
    let (opened, wish) = wish(session, request)?;
    let side = |key: &str| -> Result<usize> {
        let pixels: usize = request.need(key)?;
        if (1..=SIDE).contains(&pixels) {
            return Ok(pixels);
        }
        Err(Error::invalid_input(format!("{key} is {pixels}, a picture has 1 to {SIDE} pixels on a side")))
    };
    let size = (side("width")?, side("height")?);
    let is_colour = matches!(wish.array.shape(), [_, _, 3 | 4]);
    let (rows, columns) = super::values::plane(&wish.array)?;
    let (x, y) = (request.number("x")?.unwrap_or(0), request.number("y")?.unwrap_or(0));
    let region = Region {
        x,
        y,
        width: request.number("w")?.unwrap_or(columns.saturating_sub(x)),
        height: request.number("h")?.unwrap_or(rows.saturating_sub(y)),
    };
    let how = match request.get("resample").filter(|text| !text.is_empty()) {
        Some(text) => text.parse()?,
        None => Resample::Mean,
    };
    if is_colour {
        return colours(&wish.array, region, size, how)?.to_png();
    }
    if let Some(kind) = request.get("as").filter(|kind| !kind.is_empty()) {
        return super::flags::picture(&wish.array, region, size, kind, request)?.to_png();
    }
    let raster = if request.flag("sample") { wish.sample(&opened)?.0 } else { wish.raster(&opened, region, size, how)? };
    check()?;
    let text = |key: &str, usual: &'static str| request.get(key).filter(|text| !text.is_empty()).unwrap_or(usual).to_owned();
    let stretch: Stretch = text("stretch", "linear").parse()?;
    let map: ColourMap = text("cmap", "gray").parse()?;
    let cuts = match request.cuts()? {
        Some(cuts) => cuts,
        None => interval(request)?.of_raster(&raster)?,
    };
    raster.paint(cuts, stretch, &Colours::of(map)).to_png()
}

/// A part of an array whose last axis holds colours.
fn colours(array: &Array, region: Region, size: (usize, usize), how: Resample) -> Result<Picture> {
    let part = array.slice([range(region.y, region.height), range(region.x, region.width)])?;
    Picture::of_colours(&part, size, how, None)
}

fn interval(request: &Request) -> Result<Interval> {
    request.get("interval").filter(|text| !text.is_empty()).unwrap_or("zscale").parse()
}

/// `levels`: the two numbers between which a rule spreads the colours; with `sample=1` by a first look.
pub(super) fn levels(session: &Session, request: &Request) -> Result<Value> {
    let (opened, wish) = wish(session, request)?;
    let interval = interval(request)?;
    let (cuts, share) = if request.flag("sample") {
        let (raster, share) = wish.sample(&opened)?;
        (interval.of_raster(&raster)?, share)
    } else {
        match wish.shown(&opened)? {
            Some(raster) => (interval.of_raster(&raster)?, 1.0),
            None => (interval.of(&wish.array)?, 1.0),
        }
    };
    Ok(json!({"low": cuts.low, "high": cuts.high, "share": share}))
}

/// `histogram`: how many elements are in each of `bins` ranges, from `low` to `high` if those are given.
pub(super) fn histogram(session: &Session, request: &Request) -> Result<Value> {
    let (opened, wish) = wish(session, request)?;
    let mut wanted = Wanted::nothing();
    wanted.bins = request.number("bins")?.unwrap_or(BINS).clamp(1, MOST_BINS);
    wanted.range = request.cuts()?;
    let shown = if request.flag("sample") { Some(wish.sample(&opened)?.0) } else { wish.shown(&opened)? };
    let found = match shown {
        Some(raster) => Statistics::of(&raster.as_array()?, &wanted)?,
        None => Statistics::of(&wish.array, &wanted)?,
    };
    Ok(found.histogram.as_ref().map_or_else(|| json!({"counts": [], "edges": []}), histogram_json))
}

fn histogram_json(found: &Histogram) -> Value {
    let bins = found.counts.len().max(1) as f64;
    let edges: Vec<f64> = (0..=found.counts.len()).map(|at| found.low + (found.high - found.low) * at as f64 / bins).collect();
    json!({"counts": found.counts, "edges": edges, "below": found.below, "above": found.above})
}

/// `stats`: what the numbers of an array are, taken together.
pub(super) fn stats(session: &Session, request: &Request) -> Result<Value> {
    let (_, wish) = wish(session, request)?;
    let mut wanted = Wanted::percentiles(&PERCENTILES);
    wanted.bins = BINS;
    let found = Statistics::of(&wish.array, &wanted)?;
    let mut facts = vec![json!(["elements", found.count, true]), json!(["finite", found.finite, true])];
    for (name, count) in [("masked", found.masked), ("not a number", found.nan), ("infinite", found.infinite)] {
        if count > 0 {
            facts.push(json!([name, count, true]));
        }
    }
    let number = |number: Option<crate::Number>| number.map(|number| number.to_string());
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
