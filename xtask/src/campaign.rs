//! `cargo xtask campaign NAME`: a large random test, run once.
//!
//! The tests run a small sample of each campaign. A campaign takes the number of cases and the seed from the environment, and its report
//! states both, so that another run gives the same result.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::command::{build_program, cargo_command, repository_root, run_for_output, target_dir};
use crate::fs;
use crate::interop::{full_environment, pytest_command};
use crate::python::install_development_package;

/// A random test that can take any number of cases.
struct Campaign {
    name: &'static str,
    /// Subject of the cases.
    subject: &'static str,
    /// Number of cases, if none is given.
    cases: u64,
    work: CampaignProgram,
}

/// The program of a campaign.
enum CampaignProgram {
    /// A test of a test program of the workspace.
    Rust { program: &'static str, test: &'static str },
    /// A file of Python tests, run with the package and the peers.
    Python(&'static str),
}

const CAMPAIGNS: &[Campaign] = &[
    Campaign {
        name: "anchors",
        subject: "edits of trees with anchors, against the names and objects of Python",
        cases: 2000,
        work: CampaignProgram::Python("tests/interop/test_anchors.py"),
    },
    Campaign {
        name: "attributes",
        subject: "files with random attributes of HDF5, netCDF and FITS, through every form, against their libraries",
        cases: 1000,
        work: CampaignProgram::Python("tests/interop/test_random_attributes.py"),
    },
    Campaign {
        name: "crash",
        subject: "writing processes that are killed at random moments",
        cases: 5000,
        work: CampaignProgram::Rust { program: "crash", test: "killed_process_leaves_old_or_new_content" },
    },
    Campaign {
        name: "cutouts",
        subject: "kinds of FITS files (datatype, compression, scale), cut as astropy's Cutout2D does",
        cases: 50,
        work: CampaignProgram::Python("tests/interop/test_cutout_matrix.py"),
    },
    Campaign {
        name: "cuts",
        subject: "cuts of ASDF, Dudley and FITS files each, through repair",
        cases: 2000,
        work: CampaignProgram::Python("tests/interop/test_repair_cuts.py"),
    },
    Campaign {
        name: "edits",
        subject: "edits of trees in every style, against a plain model",
        cases: 100_000,
        work: CampaignProgram::Rust { program: "edits", test: "random_edits_match_model" },
    },
    Campaign {
        name: "fits",
        subject: "FITS files of every kind of HDU and compression, against astropy",
        cases: 500,
        work: CampaignProgram::Python("tests/interop/test_generated_fits.py"),
    },
    Campaign {
        name: "fortran",
        subject: "Fortran programs, compiled and run, against the values that they write",
        cases: 200,
        work: CampaignProgram::Python("tests/interop/test_fortran_programs.py"),
    },
    Campaign {
        name: "hdf5",
        subject: "HDF5 files of every datatype, filter, link and attribute, against h5py",
        cases: 1000,
        work: CampaignProgram::Python("crates/trilith-py/tests/test_generated_hdf5.py"),
    },
    Campaign {
        name: "headers",
        subject: "C headers, compiled and run, against the places that the compiler gives",
        cases: 500,
        work: CampaignProgram::Python("tests/interop/test_c_programs.py"),
    },
    Campaign {
        name: "fits-wcs",
        subject: "FITS headers of coordinates with every keyword that changes positions, against astropy",
        cases: 5000,
        work: CampaignProgram::Python("tests/interop/test_wcs_keywords.py"),
    },
    Campaign {
        name: "gwcs",
        subject: "GWCS pipelines with and without units, both ways, against gwcs",
        cases: 3000,
        work: CampaignProgram::Python("crates/trilith-py/tests/test_random_gwcs.py"),
    },
    Campaign {
        name: "mutations",
        subject: "files of other formats with bytes that were changed, which are read or refused",
        cases: 1_000_000,
        work: CampaignProgram::Rust { program: "integration", test: "mutated_files_are_read_or_refused" },
    },
    Campaign {
        name: "netcdf",
        subject: "netCDF files of every format and type, against netCDF4 and xarray",
        cases: 2000,
        work: CampaignProgram::Python("crates/trilith-py/tests/test_generated_netcdf.py"),
    },
    Campaign {
        name: "raw",
        subject: "dumps of C programs, written again by the command, the package and generated code, against fwrite",
        cases: 300,
        work: CampaignProgram::Python("tests/interop/test_raw_programs.py"),
    },
    Campaign {
        name: "scalars",
        subject: "values of every spelling and tag through set, insert and convert, against Python asdf",
        cases: 5000,
        work: CampaignProgram::Python("tests/interop/test_scalars.py"),
    },
    Campaign {
        name: "sets",
        subject: "sets of raw files and single ones, through command, package, xarray and dask, against numpy",
        cases: 300,
        work: CampaignProgram::Python("crates/trilith-py/tests/test_file_sets.py"),
    },
    Campaign {
        name: "tiff",
        subject: "TIFF files of every type, compression and mask, against tifffile and GDAL",
        cases: 700,
        work: CampaignProgram::Python("tests/interop/test_generated_tiff.py"),
    },
];

const USAGE: &str = "campaign takes NAME [--cases N] [--seed N]";

/// Runs a campaign, and writes its report below `target/campaigns`.
pub(crate) fn run_campaign(arguments: &[String]) -> Result<(), String> {
    let Some((name, options)) = arguments.split_first() else {
        for Campaign { name, subject, cases, .. } in CAMPAIGNS {
            println!("{name:<8} {cases:>7} {subject}");
        }
        return Ok(());
    };
    let known = CAMPAIGNS.iter().find(|campaign| campaign.name == name);
    let campaign = known.ok_or_else(|| format!("cannot run the campaign {name:?}: there is none; {USAGE}"))?;
    let (mut cases, mut seed) = (campaign.cases, 1);
    for pair in options.chunks(2) {
        match pair {
            [option, number] if option == "--cases" => cases = number.parse().map_err(|_| USAGE)?,
            [option, number] if option == "--seed" => seed = number.parse::<u64>().map_err(|_| USAGE)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let mut command = campaign.test_command()?;
    command.env("TRILITH_CAMPAIGN", cases.to_string()).env("TRILITH_CAMPAIGN_SEED", seed.to_string());
    println!("{name}: {cases} {}, seed {seed}", campaign.subject);
    let start = Instant::now();
    let done = command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    let result = if done.status.success() { "passed" } else { "failed" };
    let commit = run_for_output(Command::new("git").current_dir(repository_root()).args(["rev-parse", "--short", "HEAD"]))
        .unwrap_or_default();
    let report = format!(
        "{name}: {cases} {}, seed {seed}, commit {}: {result} in {:.0} s\n\n{}{}",
        campaign.subject,
        commit.trim(),
        start.elapsed().as_secs_f64(),
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    print!("{report}");
    let path: PathBuf = target_dir().join("campaigns").join(format!("{name}-{cases}-{seed}.txt"));
    fs::write_text(&path, &report)?;
    if done.status.success() { Ok(()) } else { Err(format!("{name} failed; the report is {}", path.display())) }
}

impl Campaign {
    fn test_command(&self) -> Result<Command, String> {
        Ok(match self.work {
            CampaignProgram::Rust { program, test } => {
                let mut command = cargo_command(["test", "--locked", "--workspace", "--test"]);
                command.args([program, "--", test, "--nocapture"]);
                command
            }
            CampaignProgram::Python(path) => {
                let python = full_environment()?;
                install_development_package(&python)?;
                let mut command = pytest_command(&python);
                command.current_dir(repository_root()).args(["-W", "ignore", path]).env("TRILITH_BIN", build_program()?);
                command
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_names_test_reading_case_count() {
        for campaign in CAMPAIGNS {
            let texts = match campaign.work {
                CampaignProgram::Rust { program, test } => {
                    let listed = run_for_output(Command::new("git").current_dir(repository_root()).args([
                        "grep",
                        "-l",
                        &format!("fn {test}\\b"),
                    ]));
                    let listed = listed.unwrap_or_default();
                    assert!(listed.contains(&format!("tests/{program}")), "{}: {listed}", campaign.name);
                    listed.lines().map(|path| fs::read_text(&repository_root().join(path))).collect::<Result<String, _>>()
                }
                CampaignProgram::Python(path) => fs::read_text(&repository_root().join(path)),
            };
            assert!(texts.unwrap_or_default().contains("TRILITH_CAMPAIGN"), "{}", campaign.name);
        }
    }
}
