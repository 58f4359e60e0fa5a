//! Large arrays, inside one process: `bulk load|slice|open FILE`, or `bulk write|write-md5|md5 FILE MEGABYTES`; prints
//! seconds as the harness reads them. `load` reads all of `/a` into fresh memory, `slice` the 8 MiB in its middle.

use std::io::Seek;
use std::time::Instant;

use trilith::asdf::WriteOptions;
use trilith::bytes::MemorySource;
use trilith::{Array, ArrayOptions, AsdfBuilder, Index, Target, Value};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let found = match words[..] {
        ["load", path] => time(3, || Ok(trilith::file::open_asdf(path)?.array_at("/a")?.load_pages::<f64>()?.len())),
        ["slice", path] => time(50, || slice(path)),
        ["open", path] => time(50, || Ok(trilith::file::open_asdf(path)?.sections().blocks()?.len())),
        [what @ ("write" | "write-md5" | "md5"), path, megabytes] => {
            megabytes.parse().map_err(Into::into).and_then(|megabytes| write(what, path, megabytes))
        }
        _ => Err("bulk load|slice|open|write|write-md5|md5 FILE [MEGABYTES]".into()),
    };
    match found {
        Ok((cpu, wall)) => println!("{{\"cpu_s\": {cpu}, \"wall_s\": {wall}}}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

/// CPU seconds of all threads so far, by ticks of a hundredth.
fn cpu() -> Outcome<f64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let rest = text.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = rest.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}

/// Mean CPU seconds and the best wall seconds of some runs.
fn time(runs: usize, mut work: impl FnMut() -> Outcome<usize>) -> Outcome<(f64, f64)> {
    let (before, mut wall) = (cpu()?, f64::INFINITY);
    for _ in 0..runs {
        let start = Instant::now();
        std::hint::black_box(work()?);
        wall = wall.min(start.elapsed().as_secs_f64());
    }
    Ok(((cpu()? - before) / runs as f64, wall))
}

fn slice(path: &str) -> Outcome<usize> {
    let array = trilith::file::open_asdf(path)?.array_at("/a")?;
    let start = array.element_count() / 2 + 5;
    let span = format!("{start}:{}", start + (array.element_count() / 8).min(1 << 20));
    Ok(array.slice(&Index::parse_list(&span)?)?.load::<f64>()?.len())
}

fn write(what: &str, path: &str, megabytes: usize) -> Outcome<(f64, f64)> {
    let numbers: Vec<f64> = (0..megabytes << 17).map(|i| (i as f64 * 1.1).sin()).collect();
    let bytes: Vec<u8> = if what == "md5" { numbers.iter().flat_map(|x| x.to_le_bytes()).collect() } else { Vec::new() };
    let len = numbers.len() as u64;
    let array = Array::from_slice(&numbers, &[len])?;
    drop(numbers);
    let bytes = MemorySource::new(bytes, "memory");
    time(4, || {
        if what == "md5" {
            return Ok(usize::from(trilith::asdf::md5_of(&bytes)?[0]));
        }
        let mut options = WriteOptions::default();
        options.checksums = what == "write-md5";
        let mut builder = AsdfBuilder::new(Target::latest()).with_options(options);
        let node = builder.array(&array, &ArrayOptions::default())?;
        // `AsdfBuilder::write` also syncs, but np.save does not, so the file is created here.
        let mut file = std::fs::File::create(path)?;
        // Space is reserved, as np.save does, but for header and tree as well. If ext4 has to find space when it closes a
        // file that was truncated, it writes the whole file out at once.
        trilith::bytes::preallocate(&file, builder.uncompressed_size() + (1 << 20))?;
        builder.write_to(&mut file, Value::map([("a", node)]))?;
        let len = file.stream_position()?;
        Ok(file.set_len(len).map(|()| 1)?)
    })
}
