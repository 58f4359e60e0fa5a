//! Opens one file again and again with one reader: `tree READER FILE RUNS` prints the median seconds.
//!
//! `trilith` opens the file (header, tree, blocks), `asdf-rs` does the same; `saphyr` and `libyaml` only run
//! through the events of its tree; `validate` checks the opened tree against the bundled schemas; `visit`
//! asks every scalar what it is. One reader a process, whose peak memory is then that of the reader.

mod libyaml;

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use cpu_time::ProcessTime;
use trilith::check::{SchemaSet, Validator};
use trilith::{AsdfFile, Limits};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [reader, file, runs] = words.as_slice() else {
        return Err("usage: tree READER FILE RUNS".into());
    };
    let bytes = std::fs::read(file)?;
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    let mut count = 0;
    for _ in 0..runs.parse::<usize>()? {
        let (seconds, seen) = match reader.as_str() {
            "trilith" => timed(bytes.clone(), |bytes| Ok(trilith::open_asdf_bytes(bytes)?), |file| file.tree().node_count())?,
            "asdf-rs" => timed(bytes.clone(), open_peer, |(_, tree)| usize::from(tree.is_some()))?,
            "saphyr" => timed(text(&bytes)?, |text| saphyr(&text), |count| *count)?,
            "libyaml" => timed(text(&bytes)?, |text| libyaml::events(text.as_bytes()), |count| *count)?,
            "visit" => timed(trilith::open_asdf_bytes(bytes.clone())?, |file| visit(&file), |count| *count)?,
            "validate" => {
                let mut validator = Validator::new(SchemaSet::bundled());
                let standard = Some("1.6.0");
                // Schemas are compiled once for many trees.
                validator.validate(trilith::open_asdf_bytes(bytes.clone())?.tree(), standard)?;
                let file = trilith::open_asdf_bytes(bytes.clone())?;
                timed(file, |file| Ok(validator.validate(file.tree(), standard)?.is_valid()), |valid| usize::from(*valid))?
            }
            other => return Err(format!("no reader {other:?}").into()),
        };
        cpu.push(seconds.0);
        wall.push(seconds.1);
        count = seen;
    }
    println!("{{\"cpu_s\": {:.9}, \"wall_s\": {:.9}, \"count\": {count}}}", median(cpu), median(wall));
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// CPU and wall seconds of `work`, and what `count` says of its result; the result is dropped off the clock.
fn timed<I, O>(input: I, work: impl FnOnce(I) -> Outcome<O>, count: impl FnOnce(&O) -> usize) -> Outcome<((f64, f64), usize)> {
    let (cpu, wall) = (ProcessTime::try_now()?, Instant::now());
    let made = black_box(work(input)?);
    let seconds = (cpu.try_elapsed()?.as_secs_f64(), wall.elapsed().as_secs_f64());
    Ok((seconds, count(&made)))
}

fn open_peer(bytes: Vec<u8>) -> Outcome<(asdf::AsdfFile, Option<asdf::Tree>)> {
    let file = asdf::AsdfFile::from_bytes(bytes)?;
    let tree = file.tree()?;
    Ok((file, tree))
}

/// The tree's text: the file up to its end marker.
fn text(bytes: &[u8]) -> Outcome<String> {
    let end = bytes.windows(5).position(|five| five == b"\n...\n").ok_or("no tree")? + 5;
    Ok(std::str::from_utf8(bytes.get(..end).unwrap_or(bytes))?.to_owned())
}

fn saphyr(text: &str) -> Outcome<usize> {
    let mut count = 0;
    for event in saphyr_parser::Parser::new_from_str(text) {
        black_box(event?);
        count += 1;
    }
    Ok(count)
}

fn visit(file: &AsdfFile) -> Outcome<usize> {
    let limits = Limits::default();
    let mut walk = file.tree().root().walk(&limits).without_merge();
    let mut numbers = 0;
    while let Some(visit) = walk.try_next()? {
        numbers += usize::from(visit.node.is_scalar() && visit.node.as_f64().is_some());
    }
    Ok(numbers)
}
