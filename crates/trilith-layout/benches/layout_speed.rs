//! How fast layouts are parsed and evaluated: `cargo bench --bench layout_speed --`.
//!
//! With a file as argument, prints that layout in its own dialect and in the other.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::fmt::Write as _;
use std::time::Instant;

use trilith_layout::Result;
use trilith_layout::layout::{self, Dialect, EvaluateOptions, Layout, ParseOptions, SuppliedValue};

fn main() -> Result<()> {
    if let Some(path) = std::env::args().skip(1).find(|word| word != "--bench") {
        return show(&path);
    }
    for (name, text) in [("2025", variables_2025()), ("2026", variables_2026()), ("2025, documented", documented())] {
        large(name, &text)?;
    }
    template()
}

/// Seconds of this thread on a processor; where the system does not tell, seconds of the clock.
fn now(start: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match stat.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()) {
        Some(nanoseconds) => nanoseconds / 1e9,
        None => start.elapsed().as_secs_f64(),
    }
}

/// The best of five, in seconds.
fn best<V>(mut run: impl FnMut() -> V) -> (f64, V) {
    let mut best: Option<(f64, V)> = None;
    for _ in 0..5 {
        let clock = Instant::now();
        let start = now(clock);
        let value = run();
        let took = now(clock) - start;
        if best.as_ref().is_none_or(|(least, _)| took < *least) {
            best = Some((took, value));
        }
    }
    match best {
        Some(found) => found,
        None => unreachable!(),
    }
}

const VARIABLES: usize = 1_000_000;

fn variables_2025() -> String {
    let mut text = String::from("IMAX : i8\nJMAX : i8\n");
    for n in 0..VARIABLES {
        if n % 1000 == 0 {
            let _ = writeln!(text, "/ group{}/", n / 1000);
        }
        let _ = writeln!(text, "  var{n} = f8[JMAX, IMAX]");
    }
    text
}

fn variables_2026() -> String {
    let mut text = String::from("IMAX = i8\nJMAX = i8\n");
    for n in 0..VARIABLES {
        let _ = writeln!(text, "var{n}: <f4(JMAX-, IMAX-) %8");
    }
    text
}

fn documented() -> String {
    let mut text = String::from("IMAX : i8\n");
    for n in 0..VARIABLES {
        let _ = writeln!(text, "var{n} = f8[IMAX]  ## (cm) what this one means to those who read it");
    }
    text
}

fn large(name: &str, text: &str) -> Result<()> {
    let (took, parsed) = best(|| layout::parse(text.as_bytes(), &ParseOptions::default()));
    let parsed = parsed?;
    let megabytes = text.len() as f64 / 1e6;
    println!("{name}: {VARIABLES} variables, {megabytes:.1} MB: parsed in {took:.3} s, {:.0} MB/s", megabytes / took);
    let Some(layout) = parsed.layout else { return Ok(()) };
    let values = &[100, 200][..layout_params(&layout)];
    let (took, evaluated) = best(|| layout.evaluate_with(&EvaluateOptions::default(), values).map(|found| found.total()));
    println!("  evaluated in {:.1} ms, total {:?}", took * 1e3, evaluated?);
    let found = layout.evaluate_with(&EvaluateOptions::default(), values)?;
    let (took, count) = best(|| found.entries().count());
    println!("  listed {count} entries in {took:.3} s");
    let last = found.entries().last().and_then(std::result::Result::ok).map(|entry| entry.path).unwrap_or_default();
    let (took, entry) = best(|| found.find(&last).ok().flatten());
    println!("  found {last} in {:.1} µs: {:?}", took * 1e6, entry.and_then(|entry| entry.address));
    let (took, text) = best(|| layout.print());
    println!("  printed {:.1} MB in {took:.3} s", text.len() as f64 / 1e6);
    Ok(())
}

fn layout_params(layout: &Layout) -> usize {
    (0..layout.item_count()).filter_map(|at| layout.item_at(at)).filter(|&id| layout.kind(id) == layout::ItemKind::Param).count()
}

/// A template of 100 items for 100,000 files.
fn template() -> Result<()> {
    let mut text = String::from("{ IMAX : i8  JMAX : i8  NGROUP : i8  time = f8 }\nmesh {\"\" = f8[JMAX, IMAX]}\n");
    for n in 0..96 {
        let _ = match n % 4 {
            0 => writeln!(text, "a{n} = f8[JMAX-, IMAX-]"),
            1 => writeln!(text, "a{n} = mesh[NGROUP]"),
            2 => writeln!(text, "a{n} = {{x = f8[IMAX] y = i4}}[JMAX+]"),
            _ => writeln!(text, "a{n} = i2[NGROUP+, 3]"),
        };
    }
    let layout = Layout::read(text.as_bytes())?;
    const RECORDS: i64 = 100_000;
    let mut found = layout.evaluate(&EvaluateOptions::default(), |_| Ok(SuppliedValue::Value(1)))?;
    let (took, sum) = best(|| {
        let mut sum = 0u64;
        for record in 0..RECORDS {
            let done = found.reevaluate(|request| Ok(SuppliedValue::Value(record % 17 + request.ordinal as i64)));
            sum = sum.wrapping_add(done.ok().and_then(|()| found.total()).unwrap_or(0));
        }
        sum
    });
    let items = 100.0 * RECORDS as f64;
    println!("template: 100 items x {RECORDS} records in {took:.3} s: {:.1} million items/s (sum {sum})", items / took / 1e6);
    Ok(())
}

fn show(path: &str) -> Result<()> {
    let bytes = std::fs::read(path).map_err(|error| trilith_layout::Error::io(format!("reading {path}"), error))?;
    let parsed = layout::parse(&bytes, &ParseOptions::default())?;
    for diagnostic in &parsed.diagnostics {
        print!("{}", diagnostic.render(&parsed.text, path));
    }
    let Some(layout) = parsed.layout else { return Ok(()) };
    println!("--- {}\n{}", layout.dialect(), layout.print());
    let other = if layout.dialect() == Dialect::D2025 { Dialect::D2026 } else { Dialect::D2025 };
    let translation = layout.translate(other);
    println!("--- {other}\n{}", translation.text);
    for loss in translation.losses {
        println!("{loss}");
    }
    Ok(())
}
