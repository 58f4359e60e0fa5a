//! `trilith sky FILE#/p`: where on the sky, or at which wavelength or time, the pixels of an array are.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use trilith::array::Array;
use trilith::bytes::WriteBasis;
use trilith_io::error::{ResultExt as _, count_noun};
use trilith::wcs::{self, FoundWcs, InverseMethod, WcsOptions as Choices, PositionFrame, Wcs, WcsDirection, WcsKey};
use trilith::{Error, ErrorKind, Result};

use crate::outcome::Outcome;
use crate::item_arg::ItemArg;
use crate::session::{FileRole, Session};
use crate::position_args::read_points;
use crate::output::{Output, eprint_line};
use crate::outputs::{FileFormat, report_written};
use crate::dashed_words::strip_mark;
use crate::output_file::OutputFile;
use crate::advice::error_with_advice;

/// Compute world coordinates of pixels, and pixels of positions
///
/// Without points, the command prints frames, axes, bounding box, centre, scale and footprint. With points X,Y, it prints their
/// world coordinates, one line each. Pixels count from 0 at the middle of the first one, x first. With --pixel, the points are
/// world coordinates, in degrees or as 12:30:00,-45:10:05.5 (hours and degrees), and the output is pixels. The exit status is 1
/// if a point has no coordinates, because it is outside of the bounding box.
#[derive(Debug, Args)]
pub(crate) struct Sky {
    /// The file, and the path of an array or of its coordinates (default: the image of the file)
    #[arg(value_name = "FILE[#/PATH]", value_parser = strip_mark)]
    item: String,
    /// Pixels, or with --pixel world coordinates
    #[arg(value_name = "X,Y", value_parser = strip_mark)]
    points: Vec<String>,
    /// The points are world coordinates, and pixels are printed
    #[arg(long)]
    pixel: bool,
    /// Take the points of a file with columns named x and y or ra and dec: CSV (names are optional), JSON lines, Parquet,
    /// Arrow, a table of a FITS or ASDF file (FILE#/path, or its first one), or an NPY file with a row for each point
    #[arg(long = "points", value_name = "IN", conflicts_with = "points")]
    list: Option<String>,
    /// With --points: write the results to a file, .csv or .npy; - is CSV on standard output
    #[arg(short, long, value_name = "OUT.csv|.npy", requires = "list", default_value = "-")]
    output: String,
    /// Compute coordinates of this frame in place of those of the last one
    #[arg(long, value_name = "NAME")]
    frame: Option<String>,
    /// Print positions in this reference frame in place of that of the file: icrs, fk5 (J2000), fk4 (B1950) or galactic
    #[arg(long, value_name = "FRAME", conflicts_with = "pixel", value_parser = parse_sky_frame)]
    to_frame: Option<PositionFrame>,
    /// Take an alternate description of a FITS header
    #[arg(long, value_name = "A...Z", default_value = "", hide_default_value = true)]
    wcs_key: WcsKey,
    /// Points outside of the bounding box have coordinates as well
    #[arg(long)]
    no_bounding_box: bool,
    /// Iterate to the exact pixel, or evaluate the inverse that the file gives
    #[arg(long, value_enum, value_name = "KIND", default_value = "exact")]
    inverse: InverseArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InverseArg {
    Exact,
    File,
}

impl Sky {
    /// Prints what is asked for.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let item = ItemArg::parse(&self.item);
        let file = session.open(&item.file, FileRole::Any)?;
        session.warn_all(file.damage().map(|error| error.to_string()).into_iter().collect());
        if let Err(error) = file.item(item.path()).map(drop)
            && error.kind() == ErrorKind::InvalidInput
        {
            eprint_line(&format!("trilith: {}", error_with_advice(&error)));
            return Ok(Outcome::Negative);
        }
        let mut found = file.wcs_by_key(item.path(), self.wcs_key)?.ok_or_else(|| {
            let key = self.wcs_key.letter().map_or_else(String::new, |key| format!(" with key {key}"));
            let message = format!("cannot compute coordinates: {} describes none{key}", self.item);
            Error::unsupported(message).hint("name an array, a GWCS or a FITS header: FILE#/path")
        })?;
        session.warn_all(found.wcs.left_out().to_vec());
        if let Some(frame) = &self.frame {
            let names: Vec<String> = found.wcs.frames().iter().skip(1).map(|known| known.name.clone()).collect();
            found.wcs = found.wcs.ending_at(frame).map_err(|_| Error::unknown("frame", frame, names.iter().map(String::as_str)))?;
        }
        if let Some(frame) = self.to_frame {
            if found.wcs.sky().is_none() {
                return Err(Error::unsupported("cannot convert positions: these coordinates have no positions on the sky").hint("leave out --to-frame"));
            }
            frame.from_native(&found.wcs, [0.0, 0.0])?;
        }
        if let Some(list) = &self.list {
            return self.convert_list(list, &self.output, &found.wcs, session);
        }
        let mut out = Output::new();
        let outcome = if self.points.is_empty() {
            print_coordinates(&item.file, &found, self.to_frame.unwrap_or(PositionFrame::Native), session, &mut out)?;
            Outcome::Success
        } else {
            self.convert_points(&found.wcs, session, &mut out)?
        };
        out.finish()?;
        Ok(outcome)
    }

    /// Prints a line for each point.
    fn convert_points(&self, coordinates: &Wcs, session: &Session<'_>, out: &mut Output) -> Result<Outcome> {
        let axes = if self.pixel { coordinates.world_axes() } else { coordinates.pixel_axes() };
        let sky = coordinates.sky().filter(|_| self.pixel);
        let mut columns = vec![Vec::with_capacity(self.points.len()); axes];
        for text in &self.points {
            let numbers: Vec<&str> = text.trim().split(',').map(str::trim).collect();
            if numbers.len() != axes {
                let message = format!("cannot read point {text:?}: {} (expected {axes})", count_noun(numbers.len(), "number"));
                return Err(Error::invalid_input(message).hint(if self.pixel { "give LON,LAT, as 83.6,-5.4" } else { "give X,Y, as 10,20.5" }));
            }
            for (axis, (number, column)) in numbers.iter().zip(&mut columns).enumerate() {
                let value = match sky {
                    Some((longitude, _)) if axis == longitude => wcs::longitude(number).map(|found| found / coordinates.sky_units()[0]),
                    Some((_, latitude)) if axis == latitude => wcs::latitude(number).map(|found| found / coordinates.sky_units()[1]),
                    _ => number.parse().ok(),
                };
                let value: Option<f64> = value.filter(|value: &f64| value.is_finite());
                column.push(value.ok_or_else(|| Error::invalid_input(format!("cannot read point {text:?}: {number:?} is not a number")))?);
            }
        }
        let found = self.compute_coordinates(coordinates, &columns)?;
        let (mut lines, mut outside) = (Vec::with_capacity(self.points.len()), 0usize);
        for at in 0..self.points.len() {
            let point: Vec<f64> = found.iter().filter_map(|column| column.get(at).copied()).collect();
            let is_there = point.iter().all(|value| value.is_finite());
            outside += usize::from(!is_there);
            if session.args.json {
                lines.push(if is_there { json!(point) } else { Value::Null });
            } else {
                let words: Vec<String> = point.iter().map(|value| format_coordinate(*value)).collect();
                out.write_line(&words.join(" "))?;
            }
        }
        if session.args.json {
            out.write_json(&Value::Array(lines))?;
        }
        Ok(self.report_outside(outside, self.points.len()))
    }

    /// Coordinates of points, a column for each axis; of the sky in degrees.
    fn compute_coordinates(&self, coordinates: &Wcs, columns: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let inverse = if self.inverse == InverseArg::File { InverseMethod::Declared } else { InverseMethod::Iterative };
        let choices = Choices::default().with_bounding_box(!self.no_bounding_box).with_inverse(inverse);
        if self.pixel {
            return wcs::convert_points(coordinates, &slices, WcsDirection::ToPixels, choices);
        }
        let mut found = wcs::convert_points(coordinates, &slices, WcsDirection::ToWorld, choices)?;
        wcs::in_degrees(coordinates, &mut found);
        if let (Some(frame), Some((longitude, latitude))) = (self.to_frame, coordinates.sky()) {
            for at in 0..found.first().map_or(0, Vec::len) {
                let place = frame.from_native(coordinates, [longitude, latitude].map(|axis| found.get(axis).map_or(f64::NAN, |column| column[at])))?;
                [longitude, latitude].into_iter().zip(place).for_each(|(axis, angle)| found[axis][at] = angle);
            }
        }
        Ok(found)
    }

    /// Reports how many points have no coordinates.
    fn report_outside(&self, outside: usize, count: usize) -> Outcome {
        if outside == 0 {
            return Outcome::Success;
        }
        let (what, hint) = if self.no_bounding_box { ("no coordinates", "") } else { ("outside", "; --no-bounding-box computes them") };
        eprint_line(&format!("trilith: {outside} of {count} points {what}{hint}"));
        Outcome::Negative
    }

    /// Writes the coordinates of the points of a file.
    fn convert_list(&self, list: &str, output: &str, coordinates: &Wcs, session: &Session<'_>) -> Result<Outcome> {
        let is_npy = match FileFormat::from_extension(output) {
            Some(FileFormat::Npy) => true,
            Some(FileFormat::Csv) => false,
            _ if output == "-" => false,
            _ => return Err(Error::invalid_input(format!("cannot write points to {output}")).hint("name a .csv or .npy file, or - for CSV")),
        };
        let points = read_points(list, session)?;
        let columns = if self.pixel { points.world(coordinates) } else { points.pixels(coordinates) }.with_context(|| list)?;
        let found = self.compute_coordinates(coordinates, &columns)?;
        let count = found.first().map_or(0, Vec::len);
        let row = |at: usize| found.iter().map(move |column| column.get(at).copied().unwrap_or(f64::NAN));
        session.check_inputs(output, &[])?;
        let mut target = OutputFile::create(output, WriteBasis::Nothing, session)?;
        if is_npy {
            let values: Vec<f64> = (0..count).flat_map(row).collect();
            Array::from_slice(&values, &[count as u64, found.len() as u64])?.write_npy(&mut target.writer())?;
        } else {
            let mut text = String::new();
            if !points.names().is_empty() {
                text = column_names(coordinates, self.pixel).join(",") + "\n";
            }
            for at in 0..count {
                let cells: Vec<String> = row(at).map(|value| if value.is_nan() { "nan".to_owned() } else { format!("{value:?}") }).collect();
                text.push_str(&cells.join(","));
                text.push('\n');
            }
            target.writer().write_all(text.as_bytes()).map_err(|error| Error::io("writing", error))?;
        }
        let written = target.commit(session)?;
        let outside = (0..count).filter(|at| row(*at).any(|value| !value.is_finite())).count();
        let report = json!({"file": output, "written": true, "size": written, "points": count, "outside": outside});
        report_written(output, &report, &format!("{output}: {}", count_noun(count, "point")), session)?;
        Ok(self.report_outside(outside, count))
    }
}

fn parse_sky_frame(text: &str) -> std::result::Result<PositionFrame, String> {
    match text.parse() {
        Ok(PositionFrame::Native) => Err("expected icrs, fk5, fk4 or galactic".to_owned()),
        found => found.map_err(|error: Error| error.to_string()),
    }
}

/// Names of the columns of the results.
fn column_names(coordinates: &Wcs, are_pixels: bool) -> Vec<String> {
    let (count, frame) = match are_pixels {
        true => (coordinates.pixel_axes(), coordinates.frames().first()),
        false => (coordinates.world_axes(), coordinates.frames().last()),
    };
    let name = |axis: usize| frame.and_then(|frame| frame.axes.get(axis)).map(|axis| axis.name.clone()).filter(|name| !name.is_empty());
    let usual = if are_pixels { ["x", "y", "z"] } else { ["lon", "lat", "w"] };
    let other = |axis: usize| usual.get(axis).map_or_else(|| format!("axis{axis}"), |name| (*name).to_owned());
    (0..count).map(|axis| name(axis).unwrap_or_else(|| other(axis))).collect()
}

/// Twelve decimals; what has no coordinates is `nan`.
fn format_coordinate(value: f64) -> String {
    if value.is_finite() { format!("{value:.12}") } else { "nan".to_owned() }
}

/// Describes a world axis; one of time has the moment that it counts from.
fn axis_as_json(axis: &wcs::FrameAxis) -> Value {
    let mut found = json!({"name": axis.name, "unit": axis.unit, "type": axis.physical_type});
    if let Some(time) = &axis.time {
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        found["time"] = json!({
            "value": given(&time.value),
            "format": given(&time.format),
            "scale": given(&time.scale),
            "location": time.location,
        });
    }
    found
}

/// The moment that a time axis counts from, with its format and scale.
fn describe_time(time: &wcs::TimeReference) -> String {
    let words: Vec<&str> = [&time.format, &time.value, &time.scale].into_iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    if time.value.is_empty() { words.join(" ") } else { format!("from {}", words.join(" ")) }
}

/// Prints what the coordinates are.
fn print_coordinates(file: &str, found: &FoundWcs, to_frame: PositionFrame, session: &Session<'_>, out: &mut Output) -> Result<()> {
    let wcs = &found.wcs;
    let frames: Vec<&str> = wcs.frames().iter().map(|frame| frame.name.as_str()).collect();
    let is_sky = |axis: usize| wcs.sky().is_some_and(|(longitude, latitude)| axis == longitude || axis == latitude);
    let unit_of = |axis: usize| {
        let mut found = wcs.world_axis(axis);
        // Positions on the sky are printed in degrees, whatever the frame states.
        if is_sky(axis) {
            "deg".clone_into(&mut found.unit);
        }
        found
    };
    let axes: Vec<wcs::FrameAxis> = (0..wcs.world_axes()).map(unit_of).collect();
    let bounds = wcs.bounding_box().map(|bounds| bounds.intervals());
    let frame = wcs.frames().last();
    let (reference, equinox) = (frame.map_or("", |frame| frame.reference_frame.as_str()), frame.and_then(|frame| frame.equinox));
    let converted = |place: [f64; 2]| to_frame.from_native(wcs, place);
    let centre = wcs.centre().map(converted).transpose()?;
    let footprint = wcs.footprint().map(|corners| corners.into_iter().map(converted).collect::<Result<Vec<_>>>()).transpose()?;
    let scale = wcs.scale();
    let target = to_frame.sky_frame().map(|frame| frame.to_string());
    let (reference, equinox) = target.as_deref().map_or((reference, equinox), |name| (name, None));
    if session.args.json {
        let axes: Vec<Value> = axes.iter().map(axis_as_json).collect();
        let bounds = bounds.map(|bounds| bounds.iter().map(|pair| pair.map(|(low, high)| [low, high])).collect::<Vec<_>>());
        return out.write_json(&json!({
            "file": file,
            "path": found.path,
            "array": found.array,
            "frames": frames,
            "reference": (!reference.is_empty()).then_some(reference),
            "equinox": equinox,
            "world_axes": axes,
            "pixel_shape": wcs.pixel_shape(),
            "bounding_box": bounds,
            "centre": centre,
            "scale": scale,
            "footprint": footprint,
        }));
    }
    out.write_line(&format!("coordinates   {}{}", if file == "-" { "" } else { file }, if found.path.is_empty() { String::new() } else { format!("#{}", found.path) }))?;
    out.write_line(&format!("frames        {}", frames.join(" -> ")))?;
    for axis in &axes {
        let words: Vec<&str> = [&axis.name, &axis.unit, &axis.physical_type].into_iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
        let time = axis.time.as_ref().map(describe_time).filter(|text| !text.is_empty());
        out.write_line(&format!("axis          {}{}", words.join(", "), time.map_or_else(String::new, |text| format!(", {text}"))))?;
    }
    if !reference.is_empty() {
        let equinox = equinox.map_or_else(String::new, |year| format!(", equinox {year}"));
        out.write_line(&format!("reference     {reference}{equinox}"))?;
    }
    if let Some(shape) = wcs.pixel_shape() {
        out.write_line(&format!("pixel shape   {shape:?} (x first)"))?;
    }
    for (number, pair) in bounds.iter().flatten().enumerate() {
        if let Some((low, high)) = pair {
            let name = wcs.frames().first().and_then(|frame| frame.axes.get(number)).map_or("", |axis| axis.name.as_str());
            out.write_line(&format!("bounding box  {low} to {high}{}{name}", if name.is_empty() { "" } else { " in " }))?;
        }
    }
    let place = |[longitude, latitude]: [f64; 2]| format!("{longitude:.9} {latitude:.9}");
    if let Some(centre) = centre {
        out.write_line(&format!("centre        {}", place(centre)))?;
    }
    if let Some(scale) = scale {
        out.write_line(&format!("scale         {scale:.6} arcsec per pixel"))?;
    }
    for corner in footprint.into_iter().flatten() {
        out.write_line(&format!("footprint     {}", place(corner)))?;
    }
    Ok(())
}
