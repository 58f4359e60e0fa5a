//! `trilith stats FILE#/p`: what the numbers of arrays are, taken together.

use clap::Args;
use serde_json::{Map, Value, json};
use trilith::Array;
use trilith::bytes::SourceBacking;
use trilith::{Error, Result};
use trilith_view::{Limits, Histogram, ExactNumber, Statistics, StatisticsOptions, text_plot, viewable};

use crate::outcome::Outcome;
use crate::inputs::{FileJob, ArraySelection};
use crate::json::{datatype_json, datatype_text};
use crate::session::{FileRole, Session};
use crate::output::TextTable;
use crate::outputs::OutputTemplate;

/// Print statistics of arrays
///
/// The command prints the number of masked, NaN and infinite elements of each array of numbers at the path and below.
/// Minimum, maximum, mean, standard deviation and percentiles are those of the other elements. Complex numbers count
/// by their magnitude. An array may be larger than the memory.
#[derive(Debug, Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    parts: ArraySelection,
    /// Percentiles, from 0 to 100
    #[arg(long, value_name = "P,P,...", value_delimiter = ',', default_value = "1,5,25,50,75,95,99")]
    percentiles: Vec<f64>,
    /// Number of bins of a histogram
    #[arg(long, value_name = "N")]
    bins: Option<usize>,
    /// Range of the histogram (default: minimum to maximum)
    #[arg(long, value_name = "LO,HI", allow_hyphen_values = true, requires = "bins")]
    range: Option<Limits>,
    /// Read the array only once: percentiles are approximate, and are printed with their maximum error
    #[arg(long)]
    quick: bool,
}

/// The statistics of one array.
struct ArrayStats {
    path: String,
    field: Option<String>,
    array: Array,
    statistics: Statistics,
}

impl Stats {
    /// Prints the statistics.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        self.parts.run(OutputTemplate::new(None), session, |job| self.file_stats(job))
    }

    fn options(&self) -> StatisticsOptions {
        let mut wanted = StatisticsOptions::percentiles(&self.percentiles);
        wanted.bins = self.bins.unwrap_or(0);
        wanted.range = self.range;
        wanted.exact = !self.quick;
        wanted
    }

    fn file_stats(&self, job: &mut FileJob<'_>) -> Result<Outcome> {
        let file = job.open(FileRole::Any)?;
        job.warn_all(file.source().backing().and_then(SourceBacking::notice));
        let item = file.item(job.item_path());
        let Some(item) = job.report_missing(item)? else { return Ok(Outcome::Negative) };
        let start = job.item_path().to_owned();
        let mut all: Vec<(String, Result<Array>)> =
            viewable::arrays(&item)?.into_iter().map(|found| (format!("{start}{}", found.path), found.array)).collect();
        if let ([], Ok(array)) = (all.as_slice(), item.as_array()) {
            // A number, or a list of numbers.
            all.push((start, Ok(array)));
        }
        let several = all.len() > 1;
        let (mut entries, mut outcome) = (Vec::new(), Outcome::Success);
        for (path, array) in all {
            match array.and_then(|array| self.compute_entries(&path, &array)) {
                Ok(found) => entries.extend(found),
                Err(error) if several => {
                    job.print_note(&format!("trilith: {}", job.unreadable_reason(&path, &error)));
                    outcome = Outcome::Failed;
                }
                Err(error) => return Err(error),
            }
        }
        if entries.is_empty() && outcome == Outcome::Success {
            let what = self.parts.field.as_ref().map_or_else(|| "no array of numbers".to_owned(), |name| format!("no field {name:?}"));
            return Err(Error::invalid_input(format!("there is {what} at {}", job.label())));
        }
        self.print_entries(job, &entries)?;
        Ok(outcome)
    }

    /// The statistics of an array, or of each column of a structured one.
    fn compute_entries(&self, path: &str, array: &Array) -> Result<Vec<ArrayStats>> {
        let mut entries = Vec::new();
        for (field, array) in viewable::columns(array)? {
            if self.parts.field.is_some() && self.parts.field != field {
                continue;
            }
            let array = match self.parts.parse_slice()? {
                Some(slice) => array.slice(&slice)?,
                None => array,
            };
            let found = Statistics::compute(&array, &self.options())?;
            entries.push(ArrayStats { path: path.to_owned(), field, array, statistics: found });
        }
        Ok(entries)
    }

    fn print_entries(&self, job: &mut FileJob<'_>, entries: &[ArrayStats]) -> Result<()> {
        if job.session.args.json {
            let arrays: Vec<Value> = entries.iter().map(ArrayStats::to_json).collect();
            return job.out.write_json(&json!({"file": job.name, "arrays": arrays}));
        }
        job.print_heading()?;
        match entries {
            [entry] => entry.print_figures(job),
            several => build_table(several).print(&mut job.out),
        }
    }
}

impl ArrayStats {
    fn to_json(&self) -> Value {
        let found = &self.statistics;
        let mut object = Map::new();
        object.insert("path".to_owned(), json!(self.path));
        if let Some(field) = &self.field {
            object.insert("field".to_owned(), json!(field));
        }
        let percentiles: Vec<Value> = found
            .percentiles
            .iter()
            .map(|p| json!({"percent": p.percent, "value": p.value, "error": p.error}))
            .collect();
        let rest = json!({
            "datatype": datatype_json(self.array.datatype()),
            "shape": self.array.shape(),
            "count": found.count,
            "masked": found.masked,
            "nan": found.nan,
            "infinite": found.infinite,
            "finite": found.finite,
            "min": found.min.map(number_json),
            "max": found.max.map(number_json),
            "mean": found.mean,
            "std": found.std,
            "median": found.median(),
            "percentiles": percentiles,
        });
        if let Value::Object(rest) = rest {
            object.extend(rest);
        }
        if let Some(histogram) = &found.histogram {
            let Histogram { low, high, counts, below, above, .. } = histogram;
            let histogram = json!({"low": low, "high": high, "counts": counts, "below": below, "above": above});
            object.insert("histogram".to_owned(), histogram);
        }
        Value::Object(object)
    }

    /// A line for each figure.
    fn print_figures(&self, job: &mut FileJob<'_>) -> Result<()> {
        let found = &self.statistics;
        let shape = format!("{} {:?}", datatype_text(self.array.datatype()), self.array.shape());
        let mut lines = vec![("array", shape), ("elements", found.count.to_string())];
        let counts = [("masked", found.masked), ("not a number", found.nan), ("infinite", found.infinite)];
        lines.extend(counts.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name, count.to_string())));
        lines.extend(found.min.map(|min| ("min", min.to_string())));
        lines.extend(found.max.map(|max| ("max", max.to_string())));
        lines.extend(found.mean.map(|mean| ("mean", format_short(mean))));
        lines.extend(found.std.map(|std| ("std", format_short(std))));
        for (name, text) in lines {
            job.out.write_line(&format!("{name:<14}{text}"))?;
        }
        for percentile in &found.percentiles {
            let name = if percentile.percent == 50.0 { "median".to_owned() } else { format!("{} %", percentile.percent) };
            let error = if percentile.error > 0.0 { format!(" ± {}", format_short(percentile.error)) } else { String::new() };
            job.out.write_line(&format!("{name:<14}{}{error}", format_short(percentile.value)))?;
        }
        if let Some(histogram) = &found.histogram {
            job.out.write_line("")?;
            for line in text_plot::bars(histogram, 6) {
                job.out.write_line(line.trim_end())?;
            }
            job.out.write_line(&format!("from {} to {}", format_short(histogram.low), format_short(histogram.high)))?;
        }
        Ok(())
    }
}

/// A line for each array.
fn build_table(entries: &[ArrayStats]) -> TextTable {
    let mut table = TextTable::new(&["<array", "datatype", "shape", ">bad", ">min", ">max", ">mean", ">std", ">median"]);
    for ArrayStats { path, field, array, statistics: found } in entries {
        let optional = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), format_short);
        let end = |x: Option<ExactNumber>| x.map_or_else(|| "-".to_owned(), extreme_text);
        table.push_row(vec![
            field.as_ref().map_or_else(|| path.clone(), |field| format!("{path} {field}")),
            datatype_text(array.datatype()),
            format!("{:?}", array.shape()),
            (found.count - found.finite).to_string(),
            end(found.min),
            end(found.max),
            optional(found.mean),
            optional(found.std),
            optional(found.median()),
        ]);
    }
    table
}

/// A number of an array for people.
fn extreme_text(number: ExactNumber) -> String {
    match number {
        ExactNumber::Float(x) => format_short(x),
        whole => whole.to_string(),
    }
}

/// A number of an array as JSON. Integers keep all digits.
pub(super) fn number_json(number: ExactNumber) -> Value {
    match number {
        ExactNumber::Integer(n) => i64::try_from(n).map_or_else(|_| json!(n as u64), |n| json!(n)),
        other => json!(other.as_f64()),
    }
}

/// A figure for people: seven digits.
pub(super) fn format_short(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let size = x.abs().log10().floor();
    if !(-4.0..15.0).contains(&size) {
        let text = format!("{x:.6e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let text = format!("{x:.*}", (6.0 - size).max(0.0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_seven_digits_and_no_zeros_behind() {
        for (x, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (-1_234.567_89, "-1234.568"),
            (123_456_789.0, "123456789"),
            (1e-3, "0.001"),
            (1.234_567_89e-9, "1.234568e-9"),
            (-2e30, "-2e30"),
            (99.999_999_99, "100"),
        ] {
            assert_eq!(format_short(x), text);
        }
    }
}
