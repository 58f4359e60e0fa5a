//! The FITS file that a damaged ASDF file is in.

use std::io::Write;
use std::sync::Arc;

use super::CONVERT_THE_REST;
use crate::bytes::{MemorySource, SourceRef, WindowSource};
use crate::error::{Error, Result};
use crate::fits::{FitsFile, Hdu, asdf_hdu, write_changed};
use crate::limits::Limits;

/// A FITS file, and the HDU that holds the ASDF file.
pub(super) struct FitsContainer {
    fits: FitsFile,
    hdu: Hdu,
}

impl FitsContainer {
    /// Looks for the ASDF file in a FITS file, and gives its bytes.
    pub(super) fn find_embedded(source: SourceRef, limits: &Limits) -> Result<(Self, SourceRef)> {
        let fits = FitsFile::open(source, limits)?;
        let Some(hdu) = fits.asdf().cloned() else {
            return Err(Error::unsupported(format!(
                "cannot repair {}: no HDU of this FITS file contains an ASDF file",
                fits.source().name()
            ))
            .hint(CONVERT_THE_REST));
        };
        let end = hdu.data().end.min(fits.source().len());
        let asdf = WindowSource::new(fits.source().clone(), hdu.data().start, end.saturating_sub(hdu.data().start))?;
        Ok((Self { fits, hdu }, Arc::new(asdf)))
    }

    /// Writes the FITS file with another ASDF file in it.
    pub(super) fn write_with_asdf(&self, asdf: Vec<u8>, out: &mut dyn Write) -> Result<()> {
        let asdf = MemorySource::new(asdf, self.fits.source().name());
        let mut new = asdf_hdu(&self.hdu, Arc::new(asdf))?;
        new.keeps_damage = true;
        write_changed(out, &self.fits, &[(self.hdu.index(), new)].into_iter().collect())
    }
}
