//! Parquet and Arrow, if they were left out of the build.

use std::io::Write;

use trilith::table::Table;
use trilith::{Error, Result};

/// Refuses both.
pub fn check() -> Result<()> {
    Err(Error::unsupported("Parquet and Arrow were left out of this build").hint("build the command with the feature parquet"))
}

/// Refused.
pub fn parquet(_: &mut dyn Write, _: &Table) -> Result<()> {
    check()
}

/// Refused.
pub fn arrow(_: &mut dyn Write, _: &Table) -> Result<()> {
    check()
}
