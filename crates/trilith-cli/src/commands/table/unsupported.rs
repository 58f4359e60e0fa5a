//! Parquet and Arrow, if they were left out of the build.

use std::io::Write;

use trilith::table::Table;
use trilith::{Error, Result};

/// Refuses both.
pub(super) fn ensure_supported() -> Result<()> {
    Err(Error::unsupported("Parquet and Arrow were left out of this build").hint("build the command with the feature parquet"))
}

/// Refused.
pub(super) fn write_parquet(_: &mut dyn Write, _: &Table) -> Result<()> {
    ensure_supported()
}

/// Refused.
pub(super) fn write_arrow(_: &mut dyn Write, _: &Table) -> Result<()> {
    ensure_supported()
}
