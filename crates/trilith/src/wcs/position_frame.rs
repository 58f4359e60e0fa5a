//! The frame of positions that a user gives, and the description of coordinates that a user chooses.

use std::str::FromStr;

use trilith_wcs::SkyFrame;

use super::Wcs;
use crate::error::{Error, Result};

/// Reference frame of positions that are given to a command or a function.
///
/// ```
/// use trilith::wcs::PositionFrame;
///
/// let frame: PositionFrame = "galactic".parse()?;
/// assert_eq!(frame, PositionFrame::Galactic);
/// assert_eq!(PositionFrame::default(), PositionFrame::Icrs);
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PositionFrame {
    /// Positions are ICRS.
    #[default]
    Icrs,
    /// Positions are FK5, equinox J2000.
    Fk5,
    /// Positions are FK4, equinox B1950.
    Fk4,
    /// Positions are Galactic.
    Galactic,
    /// Positions are in the frame of the coordinates of the file.
    Native,
}

impl PositionFrame {
    /// All frames, by their names.
    const NAMES: [(&'static str, Self); 5] =
        [("icrs", Self::Icrs), ("fk5", Self::Fk5), ("fk4", Self::Fk4), ("galactic", Self::Galactic), ("native", Self::Native)];

    /// Returns the frame on the sky; `None` for that of the file.
    pub fn sky_frame(self) -> Option<SkyFrame> {
        Some(match self {
            Self::Icrs => SkyFrame::Icrs,
            Self::Fk5 => SkyFrame::Fk5 { equinox: 2000.0 },
            Self::Fk4 => SkyFrame::Fk4 { equinox: 1950.0, has_e_terms: true },
            Self::Galactic => SkyFrame::Galactic,
            Self::Native => return None,
        })
    }

    /// Converts a position to the frame of some coordinates: longitude and latitude in degrees. If that frame cannot be
    /// converted, the position stays unchanged.
    #[must_use]
    pub fn to_native(self, wcs: &Wcs, position: [f64; 2]) -> [f64; 2] {
        match (self.sky_frame(), wcs.sky_frame()) {
            (Some(from), Some(to)) => from.convert(position, to),
            _ => position,
        }
    }

    /// Returns a position that coordinates give in this frame.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the frame of the coordinates cannot be converted.
    pub fn from_native(self, wcs: &Wcs, position: [f64; 2]) -> Result<[f64; 2]> {
        match (self.sky_frame(), wcs.sky_frame()) {
            (None, _) => Ok(position),
            (Some(to), Some(from)) => Ok(from.convert(position, to)),
            (Some(to), None) => {
                let message = format!("cannot convert positions to {to}: {}", frame_text(wcs));
                Err(Error::unsupported(message).hint("leave out --to-frame"))
            }
        }
    }

    /// Returns a note about the conversion of positions in this frame to that of some coordinates, or `None` if both frames are
    /// the same.
    pub fn conversion_note(self, wcs: &Wcs) -> Option<String> {
        let from = self.sky_frame()?;
        wcs.sky()?;
        match wcs.sky_frame() {
            Some(to) if to == from => None,
            Some(to) => Some(format!("positions are converted from {from} to {to}, the frame of the image")),
            None => Some(format!("positions are not converted from {from}: {}", frame_text(wcs))),
        }
    }
}

/// A sentence about the frame of coordinates that cannot be converted.
fn frame_text(wcs: &Wcs) -> String {
    let name = wcs.frames().last().map_or("", |frame| frame.reference_frame.as_str());
    match name {
        "" => "the image names no reference frame".to_owned(),
        name => format!("{name}, the frame of the image, is none of ICRS, FK5, FK4, Galactic and the mean ecliptic"),
    }
}

impl FromStr for PositionFrame {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim()));
        found.map(|(_, frame)| *frame).ok_or_else(|| Error::unknown("frame", text, Self::NAMES.iter().map(|(name, _)| *name)))
    }
}

/// One of the descriptions of coordinates in a FITS header: the primary one, or an alternate one with a letter.
///
/// ```
/// use trilith::wcs::WcsKey;
///
/// assert!("A".parse::<WcsKey>().is_ok() && "a1".parse::<WcsKey>().is_err());
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WcsKey(Option<char>);

impl WcsKey {
    /// Returns the letter; `None` for the primary description.
    pub fn letter(self) -> Option<char> {
        self.0
    }
}

impl FromStr for WcsKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.trim().as_bytes() {
            [] => Ok(Self(None)),
            [letter] if letter.is_ascii_alphabetic() => Ok(Self(Some(letter.to_ascii_uppercase().into()))),
            _ => Err(Error::invalid_input(format!("cannot read description {text:?}: expected a letter from A to Z"))),
        }
    }
}
