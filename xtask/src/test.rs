//! `cargo xtask test`: every check there is, part by part, with a table at the end.
//!
//! There are two tiers, and [`TEST_PARTS`] says for each part in which it is. The first is what a change is tried with, and ends in ten
//! minutes in a fresh clone on two processors. The rest is what continuous integration adds.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::command::{
    COMPLETE, LIBRARY_CRATES, SAMPLE, cargo_command, has_clippy, in_ci, linting_cargo, repository_root, run, run_for_output,
    shared_dir, target_dir,
};
use crate::{c, fs, fuzz, interface, interop, names, prose_lint, python, remote, site, test_binaries, wasm, web};

/// The result of a part that did not fail.
pub(crate) enum PartOutcome {
    Passed,
    /// Could not be run here. In continuous integration this is a failure.
    Skipped(String),
    /// Needs `../shared`, which a newcomer does not have: never a failure.
    NoShared,
}

/// The share of a part that is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TierSelection {
    /// `cargo xtask test`: the first tier, with random samples of the matrices.
    First,
    /// `cargo xtask test --rest`: what the first tier left out, and the complete matrices.
    Rest,
    /// `cargo xtask test --all`, and a part that is named.
    Whole,
}

/// The tiers of a part.
enum Tier {
    /// The whole part is in the first tier.
    First,
    /// The whole part is in the rest.
    Second,
    /// The first tier leaves out what is named.
    Both(&'static str),
}

struct TestPart {
    name: &'static str,
    tier: Tier,
    run: fn(TierSelection) -> Result<PartOutcome, String>,
}

/// All parts. Each test is in one of them.
const TEST_PARTS: &[TestPart] = &[
    TestPart { name: "format", tier: Tier::First, run: check_format },
    TestPart { name: "lints", tier: Tier::Both("programs that measure, and the oldest compiler"), run: run_lints },
    TestPart {
        name: "tests",
        tier: Tier::Both("most cells of the matrices, most random cases of properties, tests of many seconds"),
        run: run_rust_tests,
    },
    TestPart { name: "corpus", tier: Tier::Second, run: run_corpus_tests },
    TestPart { name: "documentation", tier: Tier::Second, run: build_documentation },
    TestPart { name: "site", tier: Tier::Second, run: site::build_site },
    TestPart { name: "features", tier: Tier::Second, run: check_feature_sets },
    TestPart { name: "interface", tier: Tier::Second, run: interface::check_interfaces },
    TestPart { name: "interop", tier: Tier::Second, run: interop::run_interop_tests },
    TestPart {
        name: "python",
        tier: Tier::Both("tests with other packages, those of Ctrl-C, and with asdf 5"),
        run: python::run_python_tests,
    },
    TestPart { name: "remote", tier: Tier::Second, run: remote::run_remote_tests },
    TestPart { name: "c", tier: Tier::Both("C++, Fortran, and hostile files through C"), run: c::run_c_tests },
    TestPart { name: "wasm", tier: Tier::Second, run: wasm::run_wasm_tests },
    TestPart {
        name: "browser",
        tier: Tier::Both("all tests but one, and the page without a server"),
        run: web::run_browser_tests,
    },
    TestPart { name: "fuzz", tier: Tier::Second, run: fuzz::run_smoke_test },
];

/// Tests that the first tier runs as random samples: the test program or `lib`, and the name of the test.
const MATRICES: &[(&str, &str)] = &[
    ("lib", "every_variant_comes_back"),
    ("integration", "enlarged_block_headers_read_with_any_checksum"),
    ("integration", "second_pass_over_cut_file_loses_nothing"),
    ("integration", "file_with_wrong_byte_gets_valid_index"),
    ("integration", "file_with_missing_bytes_opens_after_salvage"),
    ("layout_code", "random_layout_programs_match_library_bytes"),
    ("losses", "copies_of_damaged_block_never_verify"),
    ("conformance", "written_files_conform_to_their_standard"),
    ("exploded", "every_target_explode_implode_round_trip"),
    ("fits", "every_writing_command_does_it_or_refuses"),
    ("relative_references", "moved_references_resolve_to_same_bytes"),
    ("integration", "round_trip_differences_are_listed_as_losses"),
    ("layout_model", "random_layouts_match_model"),
    ("writes", "every_writing_command_succeeds_or_refuses_without_loss"),
    ("writes", "no_command_accepts_block_with_flipped_bit"),
    ("writes", "reading_never_writes"),
    ("outputs", "shuffled_words_change_no_other_file"),
    ("compatibility", "command_output_matches_recorded_version"),
    ("cases", "cases_say_what_is_expected"),
    ("crash", "cuts_and_reordering_leave_old_or_new_content"),
    ("crash", "failing_disk_leaves_old_or_new_content"),
    ("crash", "finished_second_writer_is_never_overwritten"),
    ("crash", "killed_process_leaves_old_or_new_content"),
    ("hostile", "every_file_gives_expected_error_within_bounds"),
    ("hostile", "commands_stay_within_one_gib"),
    ("hostile", "no_command_prints_control_characters"),
];

/// Tests that the first tier leaves out, since each takes many seconds: the test program or `lib`, and the name of the test.
const SLOW_TESTS: &[(&str, &str)] = &[
    ("lib", "encoded_bytes_eq_with_any_thread_count"),
    ("lib", "broken_bytes_decode_eq_with_any_thread_count"),
    ("lib", "elements_without_bytes_cannot_claim_endless_work"),
    ("lib", "false_bzip2_mark_keeps_result"),
    ("lib", "every_length_comes_back"),
    ("lib", "large_copies_match_for_any_thread_count"),
    ("lib", "numbers_do_not_make_two_names_one"),
    ("lib", "rows_forward_then_back"),
    ("lib", "writes_may_be_cut_anywhere"),
    ("crash", "restored_backup_keeps_its_content_after_crash"),
    ("crash", "journal_reader_is_changed_after_update_ends"),
    ("exploded", "copying_commands_keep_early_block_headers"),
    ("fits", "convert_arrays_eq_for_every_input_way"),
    ("layout_laws", "what_is_symbolic_equals_what_is_walked"),
    ("limits", "every_limit_rejects_and_is_raisable"),
    ("many_files", "large_results_keep_their_order"),
    ("many_files", "one_bad_file_never_stops_run"),
    ("outputs", "no_command_destroys_what_it_reads"),
    ("outputs", "no_command_replaces_unnamed_files"),
    ("progress", "long_command_reports_progress_within_block"),
    ("shells", "bash_completes_commands_values_files_and_keys"),
    ("shells", "fish_offers_commands_values_files_and_keys"),
    ("shells", "zsh_completes_commands_values_files_and_keys"),
    ("integration", "hostile_descriptions_are_refused"),
    ("integration", "description_cost_is_charged"),
    ("integration", "description_of_many_nodes_is_read"),
];

/// The random cases of a property test in the first tier, if the test does not say how many it needs. Otherwise there are 256.
const PROPTEST_CASES: u32 = 64;

/// The arguments of the task: the parts, their share, and the seed of the samples.
struct TestArgs {
    names: Vec<String>,
    share: TierSelection,
    seed: Option<u64>,
}

impl TestArgs {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut asked = Self { names: Vec::new(), share: TierSelection::First, seed: None };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--all" => asked.share = TierSelection::Whole,
                "--rest" => asked.share = TierSelection::Rest,
                "--seed" => {
                    let seed = words.next().and_then(|seed| seed.parse().ok());
                    asked.seed = Some(seed.ok_or("--seed needs a number")?);
                }
                name if TEST_PARTS.iter().any(|part| part.name == name) => asked.names.push(name.to_owned()),
                unknown => {
                    let known: Vec<&str> = TEST_PARTS.iter().map(|part| part.name).collect();
                    return Err(format!(
                        "cannot run {unknown:?}: expected --all, --rest, --seed N or some of {}",
                        known.join(", ")
                    ));
                }
            }
        }
        // A part that is named is run whole, unless a sample is asked for.
        if !asked.names.is_empty() && asked.share == TierSelection::First && asked.seed.is_none() {
            asked.share = TierSelection::Whole;
        }
        Ok(asked)
    }

    fn is_chosen(&self, part: &TestPart) -> bool {
        let in_tier = match part.tier {
            Tier::First => self.share != TierSelection::Rest,
            Tier::Second => self.share != TierSelection::First,
            Tier::Both(_) => true,
        };
        if self.names.is_empty() { in_tier } else { self.names.iter().any(|name| name == part.name) }
    }
}

/// Runs the first tier, the rest, all, or the parts that are named, and says at the end what passed, failed and was skipped.
pub(crate) fn run_test_parts(arguments: &[String]) -> Result<(), String> {
    let asked = TestArgs::parse(arguments)?;
    let sampled = asked.share == TierSelection::First;
    let seed = asked.seed.unwrap_or_else(seed_of_the_commit);
    println!("samples and random cases have seed {seed}; `--seed N` takes others");
    SEED.set(seed).map_err(|_| "two runs in one process")?;
    let chosen: Vec<&TestPart> = TEST_PARTS.iter().filter(|part| asked.is_chosen(part)).collect();
    let is_chosen = |name: &str| chosen.iter().any(|part| part.name == name);
    let (mut rows, mut beside) = (Vec::new(), None);
    for part in &chosen {
        println!("\n==== {} ====", part.name);
        let (start, before) = (Instant::now(), processor_time());
        // Sets of features are compiled by one processor, and remote files and the browser are waited for; the fuzz targets take long
        // to build.
        if ["features", "remote", "browser"].contains(&part.name) && is_chosen("fuzz") && beside.is_none() {
            beside = Some(std::thread::spawn(fuzz::build_beside));
        }
        if part.name == "fuzz"
            && let Some(built) = beside.take()
        {
            let _ = built.join();
        }
        let outcome = match (part.run)(asked.share) {
            Ok(PartOutcome::Skipped(reason)) if in_ci() => Err(format!("could not run, and CI is set: {reason}")),
            outcome => outcome,
        };
        if let Err(reason) = &outcome {
            println!("failed: {reason}");
        }
        rows.push(ReportRow { name: part.name, outcome, time: start.elapsed(), processor: processor_time() - before });
    }
    let done = print_report(&rows);
    if sampled && asked.names.is_empty() {
        print_skipped();
    }
    done
}

/// The seed of the samples and of the random cases.
static SEED: std::sync::OnceLock<u64> = std::sync::OnceLock::new();

/// Returns a number from the hash of the commit, so that a commit gives the same result each time and the next one tries other cases.
fn seed_of_the_commit() -> u64 {
    let commit =
        run_for_output(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(repository_root())).unwrap_or_default();
    commit.get(..5).and_then(|start| u64::from_str_radix(start, 16).ok()).unwrap_or(1)
}

/// Seconds of the processor that ended processes of this one took, on Linux.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(13).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// Says what the first tier does not run, and what does.
fn print_skipped() {
    let rest: Vec<&str> = TEST_PARTS.iter().filter(|part| matches!(part.tier, Tier::Second)).map(|part| part.name).collect();
    println!("\nleft out here, and run by `cargo xtask test --all`: {}", rest.join(", "));
    for part in TEST_PARTS {
        if let Tier::Both(what) = part.tier {
            println!("  of {}: {what}", part.name);
        }
    }
}

/// A row of the summary table.
struct ReportRow {
    name: &'static str,
    outcome: Result<PartOutcome, String>,
    time: Duration,
    /// Seconds.
    processor: f64,
}

/// Prints the table; the last line counts the parts.
fn print_report(rows: &[ReportRow]) -> Result<(), String> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    println!("\n==== summary ====");
    println!("{:<14} {:<8} {:>9} {:>9}", "part", "", "clock", "processor");
    for ReportRow { name, outcome, time, processor } in rows {
        let (count, word, reason) = match outcome {
            Ok(PartOutcome::Passed) => (&mut passed, "passed", ""),
            Ok(PartOutcome::Skipped(reason)) => (&mut skipped, "skipped", reason.as_str()),
            Ok(PartOutcome::NoShared) => (&mut skipped, "skipped", "no ../shared/corpus next to the repository"),
            Err(reason) => (&mut failed, "failed", reason.as_str()),
        };
        *count += 1;
        println!("{name:<14} {word:<8} {:>7.1} s {processor:>7.1} s  {reason}", time.as_secs_f64());
    }
    let clock: Duration = rows.iter().map(|row| row.time).sum();
    let processor: f64 = rows.iter().map(|row| row.processor).sum();
    println!("{:<23} {:>7.1} s {processor:>7.1} s", "all", clock.as_secs_f64());
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} parts failed", rows.len())) }
}

fn check_format(_: TierSelection) -> Result<PartOutcome, String> {
    run(&mut cargo_command(["fmt", "--all", "--check"]))?;
    Ok(PartOutcome::Passed)
}

fn run_lints(share: TierSelection) -> Result<PartOutcome, String> {
    if share != TierSelection::Rest {
        prose_lint::check_habits()?;
        names::check_names()?;
    }
    if !has_clippy() {
        return Err("Clippy is missing: run `rustup component add clippy`".to_owned());
    }
    let mut command = linting_cargo(["test", "--locked", "--workspace", "--no-run"]);
    if share != TierSelection::First {
        command.arg("--all-targets");
    }
    run(&mut command)?;
    if share == TierSelection::First { Ok(PartOutcome::Passed) } else { with_the_oldest_compiler() }
}

/// The version of `rust-version` in `Cargo.toml`.
fn oldest_compiler() -> Result<String, String> {
    let manifest = fs::read_text(&repository_root().join("Cargo.toml"))?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'));
    version.map(str::to_owned).ok_or_else(|| "Cargo.toml has no rust-version".to_owned())
}

/// Checks the library, with all of its features, by the oldest compiler that `Cargo.toml` accepts.
fn with_the_oldest_compiler() -> Result<PartOutcome, String> {
    let version = oldest_compiler()?;
    if run_for_output(Command::new("rustup").args(["run", &version, "rustc", "--version"])).is_err() {
        return Ok(PartOutcome::Skipped(format!(
            "Rust {version} is missing: run `rustup toolchain install {version} --profile minimal`"
        )));
    }
    let mut check = Command::new("rustup");
    check.current_dir(repository_root()).args([
        "run",
        &version,
        "cargo",
        "check",
        "--locked",
        "--quiet",
        "--package",
        "trilith",
        "--all-features",
    ]);
    // With these variables cargo would start the compiler that started this task.
    for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        check.env_remove(name);
    }
    run(check.arg("--target-dir").arg(target_dir().join("oldest")))?;
    Ok(PartOutcome::Passed)
}

/// Unit, property, case and documentation tests, the floors and the tidy rules; the tests of [`MATRICES`] as samples in the first
/// tier, and then complete, with those of [`SLOW_TESTS`]. Tests whose name holds `corpus_` are the part [`run_corpus_tests`].
fn run_rust_tests(share: TierSelection) -> Result<PartOutcome, String> {
    let seed = SEED.get().copied().unwrap_or(1).to_string();
    let mut environment = vec![("PROPTEST_RNG_SEED", seed.clone()), (SAMPLE, COMPLETE.to_owned())];
    if share == TierSelection::Rest {
        let left: Vec<_> = MATRICES.iter().chain(SLOW_TESTS).collect();
        let programs: BTreeSet<&str> = left.iter().map(|(program, _)| *program).collect();
        let mut command = linting_cargo(["test", "--locked", "--workspace", "--no-fail-fast"]);
        for program in programs {
            if program == "lib" {
                command.arg("--lib")
            } else {
                command.args(["--test", program])
            };
        }
        command.arg("--").args(left.iter().map(|(_, name)| name));
        run(command.envs(environment))?;
        return Ok(PartOutcome::Passed);
    }
    let mut skipped = vec!["corpus_"];
    if share == TierSelection::First {
        environment.extend([(SAMPLE, seed), ("PROPTEST_CASES", PROPTEST_CASES.to_string())]);
        skipped.extend(SLOW_TESTS.iter().map(|(_, name)| *name));
    }
    test_binaries::run_all(&skipped, &environment)?;
    Ok(PartOutcome::Passed)
}

/// The test programs, in addition to those of the libraries, with tests of the part [`run_corpus_tests`].
const CORPUS_PROGRAMS: [&str; 2] = ["conformance", "corpus"];

/// Runs the tests that use the sample files of `../shared/corpus`.
fn run_corpus_tests(_: TierSelection) -> Result<PartOutcome, String> {
    let mut command = linting_cargo(["test", "--locked", "--workspace", "--lib"]);
    command.args(CORPUS_PROGRAMS.iter().flat_map(|program| ["--test", program])).args(["--", "corpus_", "--nocapture"]);
    if let Some(shared) = shared_dir() {
        run(command.env("TRILITH_SHARED", shared))?;
        return Ok(PartOutcome::Passed);
    }
    run(&mut command)?; // what needs the samples skips itself; nothing else may hide behind the name
    Ok(PartOutcome::NoShared)
}

fn build_documentation(_: TierSelection) -> Result<PartOutcome, String> {
    // Documents each lower crate separately, as docs.rs does.
    for package in LIBRARY_CRATES.iter().filter(|name| **name != "trilith") {
        let mut command = cargo_command(["doc", "--locked", "--package", package, "--all-features", "--no-deps"]);
        run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    reference_of_the_library()?;
    Ok(PartOutcome::Passed)
}

/// Writes the pages of the library into `target/doc`.
pub(crate) fn reference_of_the_library() -> Result<(), String> {
    // The command has the library's name, so their pages would overwrite each other: library only.
    run(cargo_command(["doc", "--locked", "--package", "trilith", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Each crate of the library without features, with all, and with sets of them in which each feature is once without each other
/// one: a use of something that its feature does not bring is found by that.
fn check_feature_sets(_: TierSelection) -> Result<PartOutcome, String> {
    for package in LIBRARY_CRATES {
        let manifest = repository_root().join("crates").join(package).join("Cargo.toml");
        let names: Vec<String> = feature_names(&fs::read_text(&manifest)?).into_iter().filter(|name| name != "default").collect();
        for features in feature_sets(&names)? {
            // Not `check`, because denying warnings by a flag of the compiler would compile all dependencies for the flag again.
            let mut command = cargo_command(["clippy", "--locked", "--package", package, "--lib", "--no-default-features"]);
            run(command.args(["--features", &features, "--", "-D", "warnings"]))?;
        }
    }
    Ok(PartOutcome::Passed)
}

/// Number of sets besides none and all. Each feature is in half of them, and no two in the same half.
const FEATURE_SETS: u32 = 6;

/// Returns the sets of features, each as cargo expects it: no feature, the chosen sets, and all features.
fn feature_sets(names: &[String]) -> Result<Vec<String>, String> {
    let halves: Vec<u32> = (0..1 << FEATURE_SETS).filter(|half: &u32| half.count_ones() == FEATURE_SETS / 2).collect();
    if names.len() > halves.len() {
        return Err(format!("cannot tell {} features apart by {FEATURE_SETS} sets: make `SETS` larger", names.len()));
    }
    let set = |number: u32| {
        let chosen = names.iter().zip(&halves).filter(|(_, half)| *half & (1 << number) != 0).map(|(name, _)| name.as_str());
        chosen.collect::<Vec<_>>().join(",")
    };
    // If there are few features, some of the sets are equal.
    let mut sets: Vec<String> =
        std::iter::once(String::new()).chain((0..FEATURE_SETS).map(set)).chain([names.join(",")]).collect();
    let mut seen = BTreeSet::new();
    sets.retain(|set| seen.insert(set.clone()));
    Ok(sets)
}

/// The names in the `[features]` table of a manifest.
fn feature_names(manifest: &str) -> Vec<String> {
    let table = manifest.lines().skip_while(|line| line.trim() != "[features]").skip(1);
    table
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('=').map(|(name, _)| name.trim().to_owned()))
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .collect()
}

/// Writes the expected outputs of the cases again, and the tables of what is refused and of what conforms.
pub(crate) fn bless_outputs(_: &[String]) -> Result<(), String> {
    let mut tests = cargo_command(["test", "--workspace", "--no-fail-fast"]);
    tests.args(["cases", "compatibility", "writes", "conformance"].iter().flat_map(|program| ["--test", program]));
    run(tests.env("BLESS", "1"))?;
    interface::write_interfaces()?;
    println!("the expected outputs are written; `git diff tests/cases docs crates/*/interface.txt` shows what changed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readme_names_commands_and_ci_runs_tests() {
        let page = fs::read_text(&repository_root().join("README.md")).unwrap_or_default();
        let blocks: Vec<&str> = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(blocks.contains(&"cargo install --locked --path crates/trilith-cli\ntrilith tour\n"), "{blocks:?}");
        assert!(blocks.contains(&"cargo xtask test\n"), "{blocks:?}");
        let script = fs::read_text(&repository_root().join(".ci/run")).unwrap_or_default();
        assert!(script.contains("grep -m 1 '^cargo xtask test$' README.md"), "{script}");
    }

    #[test]
    fn oldest_compiler_is_stated_consistently() {
        let version = oldest_compiler().unwrap_or_default();
        let manifests = run_for_output(Command::new("git").current_dir(repository_root()).args([
            "grep",
            "-l",
            "^rust-version = ",
            "--",
            "*Cargo.toml",
        ]));
        // The programs of peers are another workspace.
        assert_eq!(manifests.unwrap_or_default().lines().collect::<Vec<_>>(), ["Cargo.toml", "xtask/bench/peers/Cargo.toml"]);
        for page in ["README.md", "docs/install.md", ".github/workflows/test.yml"] {
            assert!(
                fs::read_text(&repository_root().join(page)).unwrap_or_default().contains(&version),
                "{page} does not name {version}"
            );
        }
    }

    #[test]
    fn features_are_read_from_manifest() {
        let manifest =
            "[package]\nname = \"x\"\n[features]\ndefault = [\"a\"]\n# why = 1\na = [\"dep:a\"]\n\n[dependencies]\nb = \"1\"\n";
        assert_eq!(feature_names(manifest), ["default", "a"]);
    }

    #[test]
    fn each_feature_is_once_without_each_other() -> Result<(), String> {
        let names: Vec<String> = (0..20).map(|n| format!("f{n}")).collect();
        let sets = feature_sets(&names)?;
        assert_eq!((sets.len(), sets.first().map(String::as_str)), (8, Some("")));
        let has = |set: &str, name: &str| set.split(',').any(|there| there == name);
        for one in &names {
            for other in names.iter().filter(|other| *other != one) {
                assert!(sets.iter().any(|set| has(set, one) && !has(set, other)), "{one} without {other}");
            }
        }
        Ok(())
    }

    #[test]
    fn words_choose_parts_and_shares() -> Result<(), String> {
        let chosen = |words: &[&str]| -> Result<Vec<&str>, String> {
            let asked = TestArgs::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())?;
            Ok(TEST_PARTS.iter().filter(|part| asked.is_chosen(part)).map(|part| part.name).collect())
        };
        assert_eq!(chosen(&["--all"])?.len(), TEST_PARTS.len());
        let (first, rest) = (chosen(&[])?, chosen(&["--rest"])?);
        assert_eq!(first, ["format", "lints", "tests", "python", "c", "browser"]);
        assert!(TEST_PARTS.iter().all(|part| first.contains(&part.name) || rest.contains(&part.name)));
        assert_eq!(chosen(&["fuzz", "lints"])?, ["lints", "fuzz"]);
        assert!(TestArgs::parse(&["tests".to_owned()])?.share == TierSelection::Whole && chosen(&["nothing"]).is_err());
        Ok(())
    }

    /// Returns all tests of the crates: the file, the test program or `lib`, and the name.
    fn all_tests() -> Vec<(String, String, String)> {
        let mut found = Vec::new();
        let mut folders = vec![repository_root().join("crates")];
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let shown = path.strip_prefix(repository_root()).unwrap_or(&path).to_string_lossy().into_owned();
                    let program = match shown.split_once("/tests/") {
                        Some((krate, rest)) if !krate.contains("/src") => {
                            rest.split(['/', '.']).next().unwrap_or_default().to_owned()
                        }
                        _ => "lib".to_owned(),
                    };
                    let text = std::fs::read_to_string(&path).unwrap_or_default();
                    let names = text.lines().filter_map(|line| line.trim().strip_prefix("fn ")?.split('(').next());
                    found.extend(names.map(|name| (shown.clone(), program.clone(), name.to_owned())));
                }
            }
        }
        found
    }

    /// See `tests/features`.
    #[test]
    #[cfg(target_os = "linux")]
    fn single_package_tests_have_workspace_features() -> Result<(), String> {
        let features = |words: &[&str]| -> Result<BTreeSet<String>, String> {
            let mut tree = cargo_command(["tree", "--locked", "--edges", "normal,build,dev", "--prefix", "none", "--no-dedupe"]);
            let said = run_for_output(tree.args(["--format", "{p} [{f}]"]).args(words))?;
            let is_ours = |line: &&str| line.starts_with("trilith") || line.starts_with("xtask");
            Ok(said.lines().filter(|line| !is_ours(line)).map(|line| line.replace(" (proc-macro)", "")).collect())
        };
        let all = features(&["--workspace"])?;
        for package in LIBRARY_CRATES.into_iter().chain(["trilith-cli"]) {
            let one = features(&["--package", package])?;
            let other: Vec<&String> = one.difference(&all).collect();
            assert!(!one.is_empty() && other.is_empty(), "{package} has other features, compare tests/features: {other:?}");
        }
        Ok(())
    }

    #[test]
    fn every_matrix_names_test() {
        let tests = all_tests();
        for (program, name) in MATRICES.iter().chain(SLOW_TESTS) {
            assert!(tests.iter().any(|(_, of, test)| of == program && test == name), "{program} has no test {name}");
        }
    }

    #[test]
    fn tests_with_samples_are_in_known_programs() {
        for (file, program, name) in all_tests() {
            let is_found = program == "lib" || CORPUS_PROGRAMS.contains(&program.as_str());
            assert!(is_found || !name.contains("corpus_"), "{file}: {name} is not run: see CORPUS_PROGRAMS");
        }
    }
}
