//! Options about positions on the sky that are given to a command.

use std::collections::BTreeSet;
use std::sync::Mutex;

use clap::Args;
use trilith::wcs::{PositionFrame, Wcs, WcsKey};
use trilith_io::threads::lock;

use crate::options::Options;
use crate::output::eprint_line;

/// The frame of positions, and the description of the coordinates.
#[derive(Debug, Args)]
pub(crate) struct PositionArgs {
    /// Reference frame of the given positions: icrs, fk5 (J2000), fk4 (B1950), galactic, or native for that of the image
    #[arg(long, value_name = "FRAME", default_value = "icrs")]
    pub(crate) sky_frame: PositionFrame,
    /// Take an alternate description of FITS headers
    #[arg(long, value_name = "A...Z", default_value = "", hide_default_value = true)]
    pub(crate) wcs_key: WcsKey,
    /// What was said of conversions.
    #[arg(skip)]
    notes: Mutex<BTreeSet<String>>,
}

impl PositionArgs {
    /// Says on standard error, once, that positions are converted to the frame of the image.
    pub(crate) fn note_conversion(&self, wcs: &Wcs, options: &Options) {
        if let Some(note) = self.sky_frame.conversion_note(wcs)
            && lock(&self.notes).insert(note.clone())
        {
            print_note(&note, options);
        }
    }
}

/// Prints a note about positions, unless only errors are to be printed.
pub(crate) fn print_note(note: &str, options: &Options) {
    if !options.quiet {
        eprint_line(&format!("trilith: {note}"));
    }
}
