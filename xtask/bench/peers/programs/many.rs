//! Files of many small arrays, inside one process: `many WHO WORK FILE [COUNT]` with WHO trilith, asdf-rs or
//! safetensors and WORK list, list-any, read-one or write; prints seconds as the harness reads them.

use std::fmt::Write as _;
use std::time::Instant;

use trilith::{Array, ArrayOptions, AsdfBuilder, Target, Value};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let best = match words[..] {
        ["trilith", "list", path] => time(20, || list(path)),
        ["trilith", "list-any", path] => time(20, || list_any(path)),
        ["asdf-rs", "list", path] => time(20, || list_asdf_rs(path)),
        ["safetensors", "list", path] => time(20, || list_safetensors(path)),
        ["trilith", "read-one", path] => read_one(path),
        ["trilith", "write", path, count] => time(5, || write(path, count.parse()?)),
        ["asdf-rs", "write", path, count] => time(5, || write_asdf_rs(path, count.parse()?)),
        _ => Err("many trilith|asdf-rs|safetensors list|list-any|read-one|write FILE [COUNT]".into()),
    };
    match best {
        Ok((cpu, wall)) => println!("{{\"cpu_s\": {cpu}, \"wall_s\": {wall}}}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

/// CPU seconds of this thread so far; the work here is done by one thread.
fn cpu() -> Outcome<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse::<f64>()? / 1e9)
}

/// Mean CPU seconds (the system counts them at its ticks) and the best wall seconds of some runs.
fn time(runs: usize, mut work: impl FnMut() -> Outcome<usize>) -> Outcome<(f64, f64)> {
    let (before, mut wall) = (cpu()?, f64::INFINITY);
    for _ in 0..runs {
        let start = Instant::now();
        std::hint::black_box(work()?);
        wall = wall.min(start.elapsed().as_secs_f64());
    }
    Ok(((cpu()? - before) / runs as f64, wall))
}

fn list(path: &str) -> Outcome<usize> {
    let file = trilith::file::open_asdf(path)?;
    let mut text = String::new();
    for listed in trilith::asdf::arrays(&file)? {
        let found = listed.location?;
        let array = found.file(&file).array(found.node(&file))?;
        writeln!(text, "{} {} {:?}", listed.path, array.datatype(), array.shape())?;
    }
    Ok(text.len())
}

/// Lists arrays like the C interface: opens any kind of file, and prints nothing.
fn list_any(path: &str) -> Outcome<usize> {
    let file = trilith::open(path)?;
    let mut length = 0;
    for entry in file.arrays()? {
        let array = entry.item?.array()?;
        length += entry.path.len() + array.datatype().name().len() + array.shape().iter().sum::<u64>() as usize;
    }
    Ok(length)
}

fn list_asdf_rs(path: &str) -> Outcome<usize> {
    let file = asdf::AsdfFile::open(path)?;
    let tree = file.tree()?.ok_or("no tree")?;
    let mut text = String::new();
    for (group, value) in tree.root().ok_or("no root")?.entries() {
        for (name, value) in value.entries() {
            if let Some(array) = value.as_ndarray() {
                writeln!(text, "/{group}/{name} {:?} {:?}", array.datatype, array.shape)?;
            }
        }
    }
    Ok(text.len())
}

fn list_safetensors(path: &str) -> Outcome<usize> {
    let bytes = std::fs::read(path)?;
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes)?;
    let mut text = String::new();
    for (name, info) in header.tensors() {
        writeln!(text, "{name} {:?} {:?}", info.dtype, info.shape)?;
    }
    Ok(text.len())
}

/// One array of an open file: the middle one.
fn read_one(path: &str) -> Outcome<(f64, f64)> {
    let file = trilith::file::open_asdf(path)?;
    let listed = trilith::asdf::arrays(&file)?;
    let path = listed.get(listed.len() / 2).ok_or("no arrays")?.path.clone();
    let (cpu, wall) = time(5, || {
        let mut sum = 0;
        for _ in 0..100_000 {
            sum += file.array_at(&path)?.load::<f32>()?.len();
        }
        Ok(sum)
    })?;
    Ok((cpu / 100_000.0, wall / 100_000.0))
}

fn write(path: &str, count: usize) -> Outcome<usize> {
    let mut builder = AsdfBuilder::new(Target::latest());
    let mut groups: Vec<Value> = Vec::new();
    for group in 0..count / 100 {
        let mut arrays: Vec<(String, Value)> = Vec::new();
        for i in 0..100 {
            let array = Array::from_slice(&[(group * 100 + i) as f32; 100], &[100])?;
            arrays.push((format!("array{i:03}"), builder.array(&array, &ArrayOptions::default())?));
        }
        groups.push(Value::map(arrays));
    }
    let tree = groups.into_iter().enumerate().map(|(i, group)| (format!("group{i:03}"), group));
    builder.write_to(std::fs::File::create(path).map(std::io::BufWriter::new)?, Value::map(tree.collect::<Vec<_>>()))?;
    Ok(count)
}

fn write_asdf_rs(path: &str, count: usize) -> Outcome<usize> {
    let mut builder = asdf::AsdfBuilder::new();
    for i in 0..count {
        builder.set_array(&format!("group{:03}/array{:03}", i / 100, i % 100), &[i as f32; 100])?;
    }
    builder.write_to_path(path)?;
    Ok(count)
}
