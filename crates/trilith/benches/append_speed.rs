//! What single appends cost while a file grows: `cargo bench --bench append_speed -- [COUNT]` (default: 100,000 to each kind).
//!
//! Each append opens the file, adds one record and commits it, as a run of the command does. Printed are the CPU seconds of all
//! appends up to a quarter, a half and the whole of the count: where they double, the time grows linearly. The files lie in
//! memory where there is such a place, so that no disk is measured.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::path::Path;
use std::time::Instant;

use trilith::array::{Byteorder, Datatype, Field, StructType};
use trilith::asdf::append_rows;
use trilith::dudley::{Draft, LayoutStorage, LayoutValues, StreamOptions, append_variables};
use trilith::layout::Layout;
use trilith::{Array, AsdfWriter, Limits, OpenOptions, Result};

fn main() -> Result<()> {
    let count = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(100_000);
    let memory = Path::new("/dev/shm");
    let above = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = above.join(format!("trilith-appends-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| trilith::Error::io("making a folder", e))?;
    let done = KINDS.iter().try_for_each(|(name, append)| run(name, *append, &folder, count));
    let _ = std::fs::remove_dir_all(&folder);
    done
}

/// Prepares a file where there is none, then appends one record.
type Append = fn(&Path, u64) -> Result<()>;

const KINDS: &[(&str, Append)] = &[
    ("a list of numbers", plain),
    ("a list of structs", structs),
    ("the items of a list of dicts", dicts),
    ("records counted by a parameter", records),
    ("rows of a streamed ASDF array", rows),
];

fn run(name: &str, append: Append, folder: &Path, count: u64) -> Result<()> {
    let path = folder.join("x");
    let clock = Instant::now();
    let start = now(clock);
    let mut marks = Vec::new();
    for n in 0..=count {
        append(&path, n)?;
        if n > 0 && [count / 4, count / 2, count].contains(&n) {
            marks.push(format!("{n}: {:.2} s", now(clock) - start));
        }
    }
    println!("{name}: {}", marks.join(", "));
    std::fs::remove_file(&path).map_err(|e| trilith::Error::io("removing a file", e))
}

/// Seconds of this thread on a processor; where the system does not tell, seconds of the clock.
fn now(start: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match stat.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()) {
        Some(nanoseconds) => nanoseconds / 1e9,
        None => start.elapsed().as_secs_f64(),
    }
}

fn number(n: u64) -> Result<Array> {
    Array::from_slice(&[n as f64], &[1])
}

/// A native file of 2025 under a layout.
fn file(path: &Path, layout: &[u8], params: &[(&str, i64)], data: Vec<(&str, Array)>) -> Result<()> {
    let mut filling = LayoutValues::default();
    filling.params = params.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    filling.data = data.into_iter().map(|(name, array)| (name.to_owned(), array)).collect();
    let mut out = std::io::Cursor::new(Vec::new());
    filling.write(&Layout::read(layout)?, Byteorder::Little, LayoutStorage::Embedded, &Limits::default(), &mut out)?;
    std::fs::write(path, out.into_inner()).map_err(|e| trilith::Error::io("writing", e))
}

fn append(path: &Path, variables: &[(&str, Array)]) -> Result<()> {
    let variables: Vec<_> = variables.iter().map(|(name, array)| ((*name).to_owned(), array.clone())).collect();
    append_variables(path, &variables, &StreamOptions::default(), &Limits::default()).map(drop)
}

fn plain(path: &Path, n: u64) -> Result<()> {
    if n == 0 {
        return file(path, b"te = [f8]\n", &[], vec![("te", number(n)?)]);
    }
    append(path, &[("/te", number(n)?)])
}

fn record(n: u64) -> Result<Array> {
    let fields = vec![Field::new("t", Datatype::Float64, Byteorder::Little), Field::new("n", Datatype::Int64, Byteorder::Little)];
    let datatype = Datatype::Struct(std::sync::Arc::new(StructType::packed_from(fields)?));
    Array::from_bytes([(n as f64).to_le_bytes(), n.to_le_bytes()].concat(), datatype, Byteorder::Little, vec![1])
}

fn structs(path: &Path, n: u64) -> Result<()> {
    if n == 0 {
        return file(path, b"s { t = f8 n = i8 }\nte = [s]\n", &[], vec![("te", record(n)?)]);
    }
    append(path, &[("/te", record(n)?)])
}

fn dicts(path: &Path, n: u64) -> Result<()> {
    if n > 0 {
        return append(path, &[("/run/t", number(n)?), ("/run/te", number(n)?)]);
    }
    let scalar = || Array::from_slice(&[0.0], &[]);
    let element = Draft::dict([("t", Draft::data(scalar()?)), ("te", Draft::data(scalar()?))]);
    let mut out = std::io::Cursor::new(Vec::new());
    Draft::dict([("run", Draft::list([element]))]).write(Byteorder::Little, &Limits::default(), &mut out)?;
    std::fs::write(path, out.into_inner()).map_err(|e| trilith::Error::io("writing", e))
}

fn records(path: &Path, n: u64) -> Result<()> {
    let layout = b"{ NREC := i8 }\n\"\" = { t = f8 te = f8 }[NREC]\n";
    if n == 0 {
        return file(path, layout, &[("NREC", 1)], vec![("t", number(n)?), ("te", number(n)?)]);
    }
    append(path, &[("/t", number(n)?), ("/te", number(n)?)])
}

fn rows(path: &Path, n: u64) -> Result<()> {
    if n > 0 {
        return append_rows(&OpenOptions::new().memory_map(false).open(path)?.into_asdf()?, "/te", &number(n)?).map(drop);
    }
    let mut writer = AsdfWriter::new();
    writer.rows("/te", &Datatype::Float64, Byteorder::Little, &[])?;
    writer.write(path)
}
