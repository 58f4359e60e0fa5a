//! Physical types of the axes of a header, in the words of the virtual observatory.

use super::time::is_time;

/// Physical type of an axis by the start of its `CTYPE`, as astropy names it; empty if there is none.
pub(super) fn physical_type(kind: &str) -> &'static str {
    match kind {
        "RA" => "pos.eq.ra",
        "DEC" => "pos.eq.dec",
        "GLON" => "pos.galactic.lon",
        "GLAT" => "pos.galactic.lat",
        "ELON" => "pos.ecliptic.lon",
        "ELAT" => "pos.ecliptic.lat",
        "TLON" => "pos.bodyrc.lon",
        "TLAT" => "pos.bodyrc.lat",
        "HPLN" => "custom:pos.helioprojective.lon",
        "HPLT" => "custom:pos.helioprojective.lat",
        "HPRZ" => "custom:pos.helioprojective.z",
        "HGLN" => "custom:pos.heliographic.stonyhurst.lon",
        "HGLT" => "custom:pos.heliographic.stonyhurst.lat",
        "CRLN" => "custom:pos.heliographic.carrington.lon",
        "CRLT" => "custom:pos.heliographic.carrington.lat",
        "SOLX" => "custom:pos.heliocentric.x",
        "SOLY" => "custom:pos.heliocentric.y",
        "SOLZ" => "custom:pos.heliocentric.z",
        "FREQ" => "em.freq",
        "ENER" => "em.energy",
        "WAVN" => "em.wavenumber",
        "WAVE" => "em.wl",
        "AWAV" => "em.wl;obs.atmos",
        "VRAD" => "spect.dopplerVeloc.radio",
        "VOPT" => "spect.dopplerVeloc.opt",
        "VELO" => "spect.dopplerVeloc",
        "ZOPT" => "src.redshift",
        "BETA" => "custom:spect.doplerVeloc.beta",
        "STOKES" => "phys.polarization.stokes",
        "DIST" => "pos.distance",
        "DSUN" => "custom:pos.distance.sunToObserver",
        name if is_time(name) => "time",
        _ => "",
    }
}
