//! In the place of FITS files if the feature `fits` was left out: no file is in one.

use std::io::Write;

use crate::bytes::SourceRef;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// There is none.
pub(super) enum Around {}

impl Around {
    pub(super) fn find(_: SourceRef, _: &Limits) -> Result<(Self, SourceRef)> {
        Err(Error::left_out("FITS", "fits"))
    }

    pub(super) fn write(&self, _: Vec<u8>, _: &mut dyn Write) -> Result<()> {
        match *self {}
    }
}
