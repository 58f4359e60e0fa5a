//! `cargo xtask bench --against COMMIT`: whether this state is slower than another, on the same machine at the same time.
//!
//! Both commands are built as they are released and do the same work in turns. Work of the processor is counted in
//! instructions, which are the same however busy the machine is; work of the disk is timed. The files are made here,
//! so that nothing but cargo, git and valgrind is needed.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::command::{cargo_command, program_path, repository_root, run, run_for_output, target_dir};
use crate::fs;

const USAGE: &str = "bench --against takes COMMIT [--at-least RATIO] [--small] [--runs N]";

/// The arguments of the task.
struct CompareArgs {
    commit: String,
    min_ratio: Option<f64>,
    small: bool,
    runs: usize,
}

impl CompareArgs {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut asked = Self { commit: String::new(), min_ratio: None, small: false, runs: 5 };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| USAGE.to_owned());
            let number = |text: &String| text.parse().map_err(|_| format!("{text:?} is no number; {USAGE}"));
            match word.as_str() {
                "--against" => asked.commit.clone_from(value()?),
                "--at-least" => asked.min_ratio = Some(number(value()?)?),
                "--runs" => asked.runs = number(value()?)? as usize,
                "--small" => asked.small = true,
                _ => return Err(format!("unexpected {word:?}; {USAGE}")),
            }
        }
        if asked.commit.is_empty() || asked.runs == 0 { Err(USAGE.to_owned()) } else { Ok(asked) }
    }
}

/// A kind of work that is measured.
struct Workload {
    name: &'static str,
    arguments: Vec<String>,
    metric: Metric,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Metric {
    Instructions,
    WallTime,
}

/// Builds both, measures, prints, and fails where the ratio is less than was asked for.
pub(crate) fn compare_with_commit(arguments: &[String]) -> Result<(), String> {
    let asked = CompareArgs::parse(arguments)?;
    let folder = target_dir().join("against");
    fs::ensure_dir_exists(&folder)?;
    let before = build_commit(&asked.commit, &folder)?;
    run(&mut cargo_command(["build", "--locked", "--quiet", "--release", "--package", "trilith-cli"]))?;
    // Both programs are copies in one folder, because the output of the linker starts up to 5 % slower than a copy of it.
    let now = folder.join(format!("trilith-now{}", std::env::consts::EXE_SUFFIX));
    let linked = program_path("release");
    std::fs::copy(&linked, &now).map_err(|error| format!("{}: {error}", linked.display()))?;
    let programs = [before, now];
    let has_valgrind = run_for_output(Command::new("valgrind").arg("--version")).is_ok();
    if !has_valgrind {
        println!(
            "There is no valgrind on this machine: everything is timed, and what else the machine does shows in the ratios."
        );
    }
    let files = WorkFiles::create_missing(&folder, asked.small, &programs[1])?;
    let mut rows = files.benchmark_rows();
    if !has_valgrind {
        rows.iter_mut().for_each(|row| row.metric = Metric::WallTime);
    }
    println!("{}: {} runs in turn, the best of each; load {}", asked.commit, asked.runs, read_load_average());
    println!("{:<22} {:<13} {:>14} {:>14} {:>7}", "work", "by", "before", "now", "ratio");
    let mut slower = Vec::new();
    for row in &rows {
        let [before, now] = measure_row(row, &programs, asked.runs)?;
        let ratio = before / now;
        let by = if row.metric == Metric::Instructions { "instructions" } else { "seconds" };
        let figure = |value: f64| if row.metric == Metric::Instructions { format!("{value:.0}") } else { format!("{value:.4}") };
        println!("{:<22} {by:<13} {:>14} {:>14} {ratio:>7.3}", row.name, figure(before), figure(now));
        if asked.min_ratio.is_some_and(|least| ratio < least) {
            slower.push(row.name);
        }
    }
    if slower.is_empty() {
        Ok(())
    } else {
        Err(format!("less than {} of {}: {}", asked.min_ratio.unwrap_or(1.0), asked.commit, slower.join(", ")))
    }
}

/// The command of another commit; it is built once.
fn build_commit(commit: &str, folder: &Path) -> Result<PathBuf, String> {
    let hash = run_for_output(Command::new("git").current_dir(repository_root()).args([
        "rev-parse",
        "--verify",
        &format!("{commit}^{{commit}}"),
    ]))?;
    let kept = folder.join(format!("trilith-{}{}", hash.trim(), std::env::consts::EXE_SUFFIX));
    if kept.exists() {
        return Ok(kept);
    }
    let tree = folder.join("tree");
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(repository_root()).args(words).arg(&tree);
        git
    };
    // Leftovers of an interrupted run.
    let _ = run_for_output(&mut git(&["worktree", "remove", "--force"]));
    let mut add = git(&["worktree", "add", "--quiet", "--detach"]);
    run(add.arg(hash.trim()))?;
    let build = ["build", "--locked", "--quiet", "--release", "--package", "trilith-cli"];
    let outputs = folder.join("build");
    let built = run(cargo_command(build).current_dir(&tree).arg("--target-dir").arg(&outputs).env_remove("CARGO_TARGET_DIR"));
    let removed = run(&mut git(&["worktree", "remove", "--force"]));
    built.and(removed)?;
    let from = outputs.join("release").join(format!("trilith{}", std::env::consts::EXE_SUFFIX));
    std::fs::copy(&from, &kept).map_err(|error| format!("{}: {error}", from.display()))?;
    Ok(kept)
}

/// The best figure of each program, measured in turns so that a busy minute falls on both.
fn measure_row(row: &Workload, programs: &[PathBuf; 2], runs: usize) -> Result<[f64; 2], String> {
    let mut best = [f64::INFINITY; 2];
    // A clock sees what else the machine does: it takes more runs to meet a quiet moment.
    let runs = if row.metric == Metric::WallTime { runs * 8 } else { runs };
    for round in 0..runs {
        for which in [round % 2, 1 - round % 2] {
            let words: Vec<String> =
                row.arguments.iter().map(|word| word.replace("%round", &format!("1{round}{which}"))).collect();
            if let (Some(best), Some(program)) = (best.get_mut(which), programs.get(which)) {
                // The earlier commit may answer no where this one finds something.
                let statuses: &[i32] = if which == 0 { &[0, 1] } else { &[0] };
                *best = best.min(measure(program, &words, row.metric, statuses)?);
            }
        }
    }
    Ok(best)
}

/// Runs a program, which has to end with one of these statuses.
fn measure(program: &Path, words: &[String], by: Metric, statuses: &[i32]) -> Result<f64, String> {
    let mut command = if by == Metric::Instructions {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
        valgrind
    } else {
        Command::new(program)
    };
    command.args(words).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let done = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    let wall = start.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&done.stderr);
    if !done.status.code().is_some_and(|status| statuses.contains(&status)) {
        return Err(format!("`{} {}` ended with {}: {}", program.display(), words.join(" "), done.status, said.trim()));
    }
    if by == Metric::WallTime {
        return Ok(wall);
    }
    let counted = said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, number)| number.trim());
    counted.and_then(|number| number.parse().ok()).ok_or_else(|| format!("valgrind does not say how many instructions: {said}"))
}

fn read_load_average() -> String {
    std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| text.split(' ').next().map(str::to_owned)).unwrap_or_default()
}

/// The input of the work.
struct WorkFiles {
    tree: PathBuf,
    large: PathBuf,
    many: PathBuf,
    /// A tree of a million nodes.
    nodes: PathBuf,
    /// A FITS file of many HDUs.
    hdus: PathBuf,
    /// A folder of FITS files whose headers have many cards.
    headers: PathBuf,
    /// An HDF5 file of many attributes, and one of many datasets; None without a Python that has h5py.
    attributes: Option<PathBuf>,
    datasets: Option<PathBuf>,
    /// Eight blocks of 8 MiB, an image of int16 in tiles of RICE_1, and a block of bzip2.
    eight: PathBuf,
    rice: PathBuf,
    bzip2: PathBuf,
    /// The folder of small files of other formats, which is in the repository.
    other_formats: PathBuf,
    out: PathBuf,
    /// Number of elements of the large array.
    elements: u64,
}

/// Number of times that a row opens a small file.
const OPENINGS: usize = 100;

const TREE_HEAD: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";

impl WorkFiles {
    /// Makes those that are not there yet.
    fn create_missing(folder: &Path, small: bool, program: &Path) -> Result<Self, String> {
        let (megabytes, count, items) = if small { (64, 1000, 5_000) } else { (1024, 10_000, 100_000) };
        // An item of the tree has eight nodes.
        let (nodes, hdus, attributes) = if small { (10_000, 300, 2_000) } else { (125_000, 3_000, 20_000) };
        let (side, noise) = if small { (512, 4) } else { (2048, 32) };
        let files = Self {
            tree: folder.join(format!("tree-{items}.asdf")),
            large: folder.join(format!("large-{megabytes}.asdf")),
            many: folder.join(format!("many-{count}.asdf")),
            nodes: folder.join(format!("nodes-{nodes}.asdf")),
            hdus: folder.join(format!("hdus-{hdus}.fits")),
            headers: folder.join(format!("headers-{}", count / 10)),
            attributes: write_hdf5(folder.join(format!("attributes-{attributes}.h5")), ATTRIBUTES_SCRIPT, attributes)?,
            datasets: write_hdf5(folder.join(format!("datasets-{count}.h5")), DATASETS_SCRIPT, count)?,
            eight: folder.join("eight.asdf"),
            rice: folder.join(format!("rice-{side}.fits")),
            bzip2: folder.join(format!("bzip2-{noise}.asdf")),
            other_formats: repository_root().join("tests/compatibility/51ec5374"),
            out: folder.join("out"),
            elements: megabytes << 17,
        };
        fs::ensure_dir_exists(&files.out)?;
        write_missing_file(&files.tree, |out| write_tree_file(out, items))?;
        write_missing_file(&files.large, |out| write_large_file(out, megabytes << 20))?;
        write_missing_file(&files.many, |out| write_many_blocks(out, count))?;
        write_missing_file(&files.nodes, |out| write_tree_file(out, nodes))?;
        write_missing_file(&files.hdus, |out| write_hdus(out, hdus))?;
        fs::ensure_dir_exists(&files.headers)?;
        for n in 0..count / 10 {
            write_missing_file(&files.headers.join(format!("f{n:05}.fits")), |out| write_header(out, n))?;
        }
        write_missing_file(&files.eight, |out| write_large_blocks(out, 8, 8 << 20))?;
        write_missing_file(&files.rice, |out| write_rice(out, side))?;
        if !files.bzip2.exists() {
            let plain = folder.join(format!("noise-{noise}.asdf"));
            write_missing_file(&plain, |out| write_large_blocks(out, 1, noise << 20))?;
            run(Command::new(program).arg("convert").arg(&plain).arg(&files.bzip2).args(["--codec", "bzp2"]))?;
        }
        Ok(files)
    }

    fn benchmark_rows(&self) -> Vec<Workload> {
        let (tree, large, many) = (self.tree.display(), self.large.display(), self.many.display());
        let (copy, slice) = (self.out.join("t.asdf"), self.out.join("t.npy"));
        let middle = self.elements / 2 + 5;
        let span = format!("{middle}:{}", middle + (1 << 20).min(self.elements / 8));
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let row = |name, by, words| Workload { name, arguments: words, metric: by };
        // Opened often, since the start of the process costs more than one opening of a small file.
        let opening = |name, file: &str| {
            let path = self.other_formats.join(file).display().to_string();
            row(name, Metric::Instructions, [words(&["tree"]), vec![path; OPENINGS]].concat())
        };
        let (nodes, hdus) = (self.nodes.display(), self.hdus.display());
        let (eight, rice, bzip2) = (self.eight.display(), self.rice.display(), self.bzip2.display());
        let values = |item: String| words(&["get", &item, "-o", &slice.to_string_lossy()]);
        let copied = |file: String| words(&["convert", "--overwrite", &file, &copy.to_string_lossy()]);
        // One item of each file is asked for, so that what is printed costs nothing.
        let hdf5 = |file: &Option<PathBuf>, name, item: &str| {
            let address = file.as_ref().map(|file| format!("{}#{item}", file.display()));
            address.map(|address| row(name, Metric::Instructions, words(&["get", &address])))
        };
        let attributes = hdf5(&self.attributes, "many attributes", "/x");
        let datasets = hdf5(&self.datasets, "many datasets", "/d1");
        let headers = self.headers.display();
        let mut rows = vec![
            row("starting", Metric::Instructions, words(&["--version"])),
            row("info of many arrays", Metric::Instructions, words(&["info", &many.to_string()])),
            row("search of many headers", Metric::Instructions, words(&["search", "--key", "EXPTIME", &headers.to_string()])),
            opening("opening ASDF", "arrays.asdf-1.6.asdf"),
            row("opening", Metric::Instructions, words(&["get", &format!("{tree}#/maps/0/id")])),
            opening("opening HDF5", "run.h5"),
            opening("opening FITS", "image.fits"),
            opening("opening TIFF", "page.tif"),
            row("listing", Metric::Instructions, words(&["tree", &many.to_string()])),
            row("digest", Metric::Instructions, words(&["digest", &many.to_string()])),
            row(
                "slicing",
                Metric::Instructions,
                words(&["get", &format!("{large}#/a"), "--slice", &span, "-o", &slice.to_string_lossy()]),
            ),
            row("writing many arrays", Metric::Instructions, copied(many.to_string())),
            row("set --in-place", Metric::WallTime, words(&["set", "--in-place", &format!("{large}#/n"), "%round"])),
            row("many HDUs", Metric::Instructions, words(&["get", &format!("{hdus}#/fits/1/header/KEY")])),
            row("writing 8 blocks", Metric::WallTime, copied(eight.to_string())),
            row("image in RICE_1", Metric::Instructions, values(format!("{rice}#/fits/1/data"))),
            row("bzip2", Metric::WallTime, values(format!("{bzip2}#/a0"))),
            row("walking a tree", Metric::Instructions, words(&["search", &nodes.to_string(), "--path", "/maps/7/pos/b"])),
        ];
        rows.extend(attributes);
        rows.extend(datasets);
        rows
    }
}

/// Writes a file under another name first, so that one that is there is whole.
fn write_missing_file(path: &Path, content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), String> {
    if path.exists() {
        return Ok(());
    }
    let part = path.with_extension("part");
    let made = std::fs::File::create(&part).and_then(|file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        content(&mut out)?;
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&part, path)
    });
    made.map_err(|error| format!("{}: {error}", path.display()))
}

fn write_tree_file(out: &mut dyn Write, items: u64) -> std::io::Result<()> {
    writeln!(out, "{TREE_HEAD}maps:")?;
    for n in 0..items {
        write!(out, "- id: {n}\n  x: {}.5\n  ok: true\n  name: n{n}\n  pos: {{a: 1, b: 2}}\n", n % 97)?;
    }
    out.write_all(b"...\n")
}

fn write_large_file(out: &mut dyn Write, size: u64) -> std::io::Result<()> {
    let ndarray = format!("!core/ndarray-1.1.0 {{source: 0, datatype: float64, byteorder: little, shape: [{}]}}", size / 8);
    write!(out, "{TREE_HEAD}n: 0\na: {ndarray}\n...\n")?;
    // Room for the tree to grow.
    out.write_all(&[0; 4096])?;
    block_header(out, size)?;
    random_numbers().take((size / 8) as usize).try_for_each(|number| out.write_all(&((number >> 40) as f64).to_le_bytes()))
}

/// Blocks of random numbers, of this number of bytes each.
fn write_large_blocks(out: &mut dyn Write, count: u64, size: u64) -> std::io::Result<()> {
    out.write_all(TREE_HEAD.as_bytes())?;
    for n in 0..count {
        let form = format!("source: {n}, datatype: float64, byteorder: little, shape: [{}]", size / 8);
        writeln!(out, "a{n}: !core/ndarray-1.1.0 {{{form}}}")?;
    }
    out.write_all(b"...\n")?;
    let mut numbers = random_numbers();
    for _ in 0..count {
        block_header(out, size)?;
        let mut block = numbers.by_ref().take((size / 8) as usize);
        block.try_for_each(|number| out.write_all(&((number >> 40) as f64).to_le_bytes()))?;
    }
    Ok(())
}

/// Numbers that are equal in every run (xorshift).
fn random_numbers() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(0x9e37_79b9_7f4a_7c15u64), |seed| {
        let mut next = *seed;
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        Some(next)
    })
    .skip(1)
}

/// A square image of noisy int16 in tiles of RICE_1, one for each row: FITS Standard 4.0, section 10.4.1.
fn write_rice(out: &mut dyn Write, side: u64) -> std::io::Result<()> {
    /// The low bits of a difference that are not counted in unary.
    const LOW_BITS: u32 = 5;
    let mut numbers = random_numbers();
    let (mut table, mut heap) = (Vec::new(), Vec::new());
    for _ in 0..side {
        let start = heap.len();
        let mut bits = BitWriter { out: &mut heap, open: 0, count: 0 };
        let row: Vec<i32> = numbers.by_ref().take(side as usize).map(|number| 1000 + (number >> 58) as i32).collect();
        let mut last = row.first().copied().unwrap_or_default();
        bits.push(last as u32, 16);
        for block in row.chunks(32) {
            bits.push(LOW_BITS + 1, 4);
            for number in block {
                let difference = number - last;
                let code = ((difference << 1) ^ (difference >> 31)) as u32;
                bits.push(1, (code >> LOW_BITS) + 1);
                bits.push(code & ((1 << LOW_BITS) - 1), LOW_BITS);
                last = *number;
            }
        }
        bits.push(0, 7);
        for place in [heap.len() - start, start] {
            table.extend_from_slice(&(place as u32).to_be_bytes());
        }
    }
    let number = |keyword: &str, value: u64| format!("{keyword:<8}= {value:>20}");
    let text = |keyword: &str, value: &str| format!("{keyword:<8}= '{value:<8}'");
    let logical = |keyword: &str| format!("{keyword:<8}= {:>20}", "T");
    write_fits_header(out, &[logical("SIMPLE"), number("BITPIX", 8), number("NAXIS", 0)])?;
    let cards = [
        text("XTENSION", "BINTABLE"),
        number("BITPIX", 8),
        number("NAXIS", 2),
        number("NAXIS1", 8),
        number("NAXIS2", side),
        number("PCOUNT", heap.len() as u64),
        number("GCOUNT", 1),
        number("TFIELDS", 1),
        text("TTYPE1", "COMPRESSED_DATA"),
        text("TFORM1", "1PB"),
        logical("ZIMAGE"),
        text("ZCMPTYPE", "RICE_1"),
        number("ZBITPIX", 16),
        number("ZNAXIS", 2),
        number("ZNAXIS1", side),
        number("ZNAXIS2", side),
        number("ZTILE1", side),
        number("ZTILE2", 1),
        text("ZNAME1", "BLOCKSIZE"),
        number("ZVAL1", 32),
        text("ZNAME2", "BYTEPIX"),
        number("ZVAL2", 2),
    ];
    write_fits_header(out, &cards)?;
    table.append(&mut heap);
    table.resize(table.len().next_multiple_of(2880), 0);
    out.write_all(&table)
}

fn write_fits_header(out: &mut dyn Write, cards: &[String]) -> std::io::Result<()> {
    let header: String = cards.iter().map(String::as_str).chain(["END"]).map(|card| format!("{card:<80}")).collect();
    write!(out, "{header:<width$}", width = header.len().next_multiple_of(2880))
}

/// Bits that become bytes, the highest first.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    open: u64,
    /// Number of bits that are no byte yet.
    count: u32,
}

impl BitWriter<'_> {
    /// Adds the low `count` bits of a number, at most 32.
    fn push(&mut self, number: u32, count: u32) {
        self.open = self.open << count | u64::from(number);
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            self.out.push((self.open >> self.count) as u8);
        }
    }
}

fn write_many_blocks(out: &mut dyn Write, count: u64) -> std::io::Result<()> {
    out.write_all(TREE_HEAD.as_bytes())?;
    for n in 0..count {
        if n.is_multiple_of(100) {
            writeln!(out, "group{:03}:", n / 100)?;
        }
        writeln!(
            out,
            "  array{:03}: !core/ndarray-1.1.0 {{source: {n}, datatype: float32, byteorder: little, shape: [100]}}",
            n % 100
        )?;
    }
    out.write_all(b"...\n")?;
    for n in 0..count {
        block_header(out, 400)?;
        (0..100).try_for_each(|_| out.write_all(&(n as f32).to_le_bytes()))?;
    }
    Ok(())
}

/// A FITS file whose HDUs are images of one byte.
fn write_hdus(out: &mut dyn Write, count: u64) -> std::io::Result<()> {
    for n in 0..count {
        let first = if n == 0 { "SIMPLE  =                    T" } else { "XTENSION= 'IMAGE   '" };
        let sizes = ["BITPIX  =                    8", "NAXIS   =                    1", "NAXIS1  =                    1"];
        let counts: &[&str] = if n == 0 { &[] } else { &["PCOUNT  =                    0", "GCOUNT  =                    1"] };
        let key = format!("KEY     = {n:>20}");
        let cards = std::iter::once(first).chain(sizes).chain(counts.iter().copied());
        let cards: Vec<String> = cards.chain([key.as_str()]).map(str::to_owned).collect();
        write_fits_header(out, &cards)?;
        out.write_all(&[0; 2880])?;
    }
    Ok(())
}

/// A FITS file without data, whose header has as many cards as those of instruments.
fn write_header(out: &mut dyn Write, number: u64) -> std::io::Result<()> {
    let first = ["SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    0"];
    let mut cards: Vec<String> = first.map(str::to_owned).to_vec();
    cards.push(format!("EXPTIME = {number:>20} / exposure time"));
    cards.extend((0..75).map(|n| format!("KEY{n:<5}= {:>20} / some comment", f64::from(n) * 1.5)));
    cards.push("END".to_owned());
    let header: String = cards.iter().map(|card| format!("{card:<80}")).collect();
    let len = header.len().next_multiple_of(2880);
    write!(out, "{header:<len$}")
}

const ATTRIBUTES_SCRIPT: &str = "x = f.create_dataset('x', data=[1], track_order=True)\nfor k in range(n): x.attrs[f'a{k}'] = k";
const DATASETS_SCRIPT: &str = "for k in range(n): f[f'd{k}'] = [k]";

/// Writes an HDF5 file, if it is not there yet, by a script that fills `f` with `n` items. None, with a remark, without h5py.
fn write_hdf5(path: PathBuf, script: &str, count: u64) -> Result<Option<PathBuf>, String> {
    let python = target_dir().join("python-venv/bin/python");
    if !path.exists() {
        let part = path.with_extension("part");
        let open = format!("import h5py\nn = {count}\nf = h5py.File({:?}, 'w', libver='latest')\n", part.display().to_string());
        if run_for_output(Command::new(python).args(["-c", &format!("{open}{script}\nf.close()")])).is_err() {
            println!("There is no Python with h5py in target/python-venv: {} is not measured.", path.display());
            return Ok(None);
        }
        std::fs::rename(&part, &path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(Some(path))
}

/// A block without checksum.
fn block_header(out: &mut dyn Write, size: u64) -> std::io::Result<()> {
    out.write_all(b"\xd3BLK\0\x30\0\0\0\0\0\0\0\0")?;
    (0..3).try_for_each(|_| out.write_all(&size.to_be_bytes()))?;
    out.write_all(&[0; 16])
}
