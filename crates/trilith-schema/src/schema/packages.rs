//! Lookup of the published Python package that has the schemas of a tag.

/// Beginnings of tags, longest first if one begins another, and the package on PyPI.
const TAG_PACKAGES: &[(&str, &str)] = &[
    ("tag:stsci.edu:asdf/transform/", "asdf-transform-schemas"),
    ("tag:stsci.edu:asdf/wcs/", "asdf-standard"),
    ("tag:stsci.edu:asdf/core/", "asdf-standard"),
    ("tag:stsci.edu:asdf/fits/", "asdf-standard"),
    ("tag:stsci.edu:asdf/table/", "asdf-standard"),
    ("tag:stsci.edu:asdf/time/", "asdf-standard"),
    ("tag:stsci.edu:asdf/unit/", "asdf-standard"),
    ("tag:stsci.edu:gwcs/", "gwcs"),
    ("tag:stsci.edu:jwst_pipeline/", "jwst"),
    ("asdf://stsci.edu/jwst_pipeline/", "stpipe"),
    ("asdf://stsci.edu/datamodels/roman/", "rad (with roman_datamodels)"),
    ("asdf://stsci.edu/datamodels/jwst/", "stdatamodels"),
    ("tag:stsci.edu:stdatamodels/", "stdatamodels"),
    ("asdf://stsci.edu/stdatamodels/", "stdatamodels"),
    ("asdf://stsci.edu/", "stdatamodels or rad"),
    ("tag:astropy.org:astropy/coordinates/", "asdf-coordinates-schemas (with asdf-astropy)"),
    ("tag:astropy.org:astropy/", "asdf-astropy"),
    ("asdf://astropy.org/", "asdf-astropy"),
    ("asdf://asdf-format.org/transform/", "asdf-transform-schemas"),
    ("asdf://asdf-format.org/astronomy/gwcs/", "asdf-wcs-schemas"),
    ("asdf://asdf-format.org/astronomy/coordinates/", "asdf-coordinates-schemas"),
    ("asdf://asdf-format.org/zarr/", "asdf-zarr"),
    ("tag:stsci.edu:asdf/zarr-", "asdf-zarr"),
    ("asdf://dkist.nso.edu/", "dkist"),
    ("tag:dkist.nso.edu:", "dkist"),
    ("asdf://sunpy.org/sunpy/", "sunpy"),
    ("tag:sunpy.org:sunpy/", "sunpy"),
    ("tag:sunpy.org:", "sunpy"),
    ("asdf://sunpy.org/ndcube/", "ndcube"),
    ("asdf://weldx.bam.de/", "weldx"),
    ("tag:weldx.bam.de:", "weldx"),
    ("asdf://astropy.org/specutils/", "specutils"),
    ("tag:astropy.org:specutils/", "specutils"),
    ("asdf://cubeviz.org/", "jdaviz"),
    ("tag:photutils", "photutils"),
    ("asdf://lsst.org/", "the Rubin science pipelines"),
    ("asdf://mqp/", "mqp"),
    ("asdf://asdf-format.org/", "asdf-standard"),
];

/// The package that is known to have schemas for a tag, if one is.
///
/// ```
/// assert_eq!(trilith_schema::schema::package_of("tag:stsci.edu:gwcs/wcs-1.4.0"), Some("gwcs"));
/// ```
pub fn package_of(tag: &str) -> Option<&'static str> {
    // The tags of before 1.0 were never published with schemas.
    if tag.starts_with("tag:stsci.edu:") && (tag.ends_with("-0.1.0") || tag.contains("/0.1.0/")) {
        return None;
    }
    TAG_PACKAGES
        .iter()
        .filter(|(beginning, _)| tag.starts_with(beginning))
        .max_by_key(|(beginning, _)| beginning.len())
        .map(|(_, package)| *package)
}
