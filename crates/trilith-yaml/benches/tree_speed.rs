//! How fast trees open: four shapes of about 10 MB each, in MB/s of this thread's time.
//!
//! `cargo bench --bench tree_speed -- [SHAPE [REPEATS]]`

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use trilith_yaml::tree::{NodeKind, Tree};
use trilith_yaml::{Limits, Result};

const SIZE: usize = 10_000_000;

/// Block mappings with long strings.
fn long_strings(n: usize) -> String {
    format!(
        "key_{n}:\n  description: The quick brown fox jumps over the lazy dog and runs away from item number {n}\n  \
         title: 'Exposure {n} of the survey, taken in the second night of the run, with clouds'\n  \
         comment: \"Calibrated with the master flat; residuals below {n} counts everywhere on the chip\"\n"
    )
}

/// Returns a small map, as an item of a list.
fn small_maps(n: usize) -> String {
    format!("- id: {n}\n  x: {}.5\n  ok: true\n  name: n{n}\n  pos: {{a: 1, b: 2}}\n", n % 97)
}

/// Nodes of arrays, with a little about each.
fn arrays(n: usize) -> String {
    format!(
        "array_{n}:\n  data: !core/ndarray-1.1.0\n    source: {n}\n    datatype: float64\n    byteorder: little\n    shape: [{}, 2048]\n  \
         unit: !unit/unit-1.0.0 Jy\n",
        n % 4096
    )
}

/// Long flow sequences, wrapped as the reference implementation does.
fn flow(n: usize) -> String {
    let mut line = format!("row_{n}: [");
    for k in 0..200 {
        let _ = write!(line, "{}.{:04}", k * 7 % 1000, (n * 31 + k) % 10_000);
        line.push_str(if k % 8 == 7 { ",\n  " } else { ", " });
    }
    line.push_str("0.0]\n");
    line
}

fn grown(piece: fn(usize) -> String, pieces: usize) -> String {
    let mut text = String::from("%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\n");
    for n in 0..pieces {
        if text.len() > SIZE {
            break;
        }
        text.push_str(&piece(n));
    }
    text.push_str("...\n");
    text
}

/// A clock of this thread's own time where the system has one: other programs do not count.
struct Clock {
    start: Instant,
    own: Option<u64>,
}

impl Clock {
    fn own() -> Option<u64> {
        let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        line.split(' ').next()?.parse().ok()
    }

    fn start() -> Self {
        Self { start: Instant::now(), own: Self::own() }
    }

    fn seconds(&self) -> f64 {
        match (self.own, Self::own()) {
            (Some(start), Some(end)) => Duration::from_nanos(end - start).as_secs_f64(),
            _ => self.start.elapsed().as_secs_f64(),
        }
    }
}

/// A name, one piece of the text, and how many there are at most.
type Shape = (&'static str, fn(usize) -> String, usize);

/// Asks every scalar what it is; the sum keeps the compiler honest.
fn visit_all(tree: &Tree) -> Result<usize> {
    let limits = Limits::default();
    let mut walk = tree.root().walk(&limits).without_merge();
    let mut sum = 0;
    while let Some(visit) = walk.try_next()? {
        if visit.node.kind() == NodeKind::Scalar {
            sum += usize::from(visit.node.as_f64().is_some());
        }
    }
    Ok(sum)
}

#[allow(clippy::print_stdout, reason = "an example that reports")]
fn main() -> Result<()> {
    let shapes: [Shape; 5] = [
        ("long-strings", long_strings, usize::MAX),
        ("small-maps", small_maps, usize::MAX),
        ("arrays", arrays, usize::MAX),
        ("arrays-10000", arrays, 10_000),
        ("flow", flow, usize::MAX),
    ];
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let only = words.next();
    let repeats = words.next().and_then(|n| n.parse().ok()).unwrap_or(10);
    for (name, piece, pieces) in shapes {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let text = grown(piece, pieces);
        if let Ok(folder) = std::env::var("TREE_SPEED_DIR") {
            // The file lets other programs read the same text.
            let path = std::path::Path::new(&folder).join(format!("{name}.yaml"));
            #[allow(clippy::disallowed_methods, reason = "an example writes what it was told to")]
            std::fs::write(path, &text).map_err(|e| trilith_yaml::Error::io("writing the text", e))?;
        }
        let copies = vec![text.clone(); repeats];
        let clock = Clock::start();
        let mut nodes = 0;
        for copy in copies {
            nodes = Tree::parse(copy, &Limits::default())?.node_count();
        }
        let opening = clock.seconds() / repeats as f64;
        let tree = Tree::parse(text.clone(), &Limits::default())?;
        let clock = Clock::start();
        let mut numbers = 0;
        for _ in 0..repeats {
            numbers = visit_all(&tree)?;
        }
        let visiting = clock.seconds() / repeats as f64;
        println!(
            "{name:14} {:5.1} MB {nodes:8} nodes  open {:6.0} MB/s {:5.1} ns/node  visit {:5.1} ns/node ({numbers} numbers)",
            text.len() as f64 / 1e6,
            text.len() as f64 / opening / 1e6,
            opening * 1e9 / nodes as f64,
            visiting * 1e9 / nodes as f64,
        );
    }
    Ok(())
}
