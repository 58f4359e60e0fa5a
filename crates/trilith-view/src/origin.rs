//! The place of the first row of an image: [`ImageOrigin`].

use std::str::FromStr;

use trilith::asdf::{ElementsOrigin, Ndarray};
use trilith::file::Item;
use trilith::wcs::find_coordinates;
use trilith::{Error, Result};

/// The place of the first row of an image, at the top or at the bottom.
///
/// [`ImageOrigin::is_lower`] is the one rule for it: the viewer, `show`, `cutout`, thumbnails and Python ask it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImageOrigin {
    /// The bottom for images of FITS files and for arrays with coordinates on the sky, else the top.
    #[default]
    Auto,
    /// The top.
    Upper,
    /// The bottom.
    Lower,
}

impl ImageOrigin {
    /// The names.
    pub const NAMES: [&'static str; 3] = ["auto", "upper", "lower"];

    /// Returns `true` if the first row of an array is at the bottom; `item` is the item of a file that the array is, or is a part of.
    ///
    /// ```
    /// use trilith_view::ImageOrigin;
    /// let text = b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
    ///     sky:\n  data: !core/ndarray-1.1.0 [[1, 2], [3, 4]]\n  meta: {ctype1: RA---TAN, ctype2: DEC--TAN, crval1: 1, crval2: 2}\n\
    ///     plain: !core/ndarray-1.1.0 [[1, 2], [3, 4]]\n...\n";
    /// let file = trilith::OpenOptions::new().open_bytes(text.to_vec())?;
    /// assert!(ImageOrigin::Auto.is_lower(Some(&file.item("/sky/data")?)));
    /// assert!(!ImageOrigin::Auto.is_lower(Some(&file.item("/plain")?)));
    /// assert!(!ImageOrigin::Auto.is_lower(None) && ImageOrigin::Lower.is_lower(None));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn is_lower(self, item: Option<&Item<'_>>) -> bool {
        match self {
            Self::Upper => false,
            Self::Lower => true,
            Self::Auto => {
                item.and_then(|item| item.resolve().ok()).is_some_and(|item| is_fits_image(&item) || has_sky_coordinates(&item))
            }
        }
    }
}

/// Returns `true` if the elements of an array are those of an image HDU.
fn is_fits_image(item: &Item<'_>) -> bool {
    let Some((_, node)) = item.as_asdf() else { return false };
    let found = Ndarray::parse(node, item.backend().limits());
    found.is_ok_and(|array| {
        let is_table = array.datatype.as_ref().is_some_and(|datatype| datatype.as_struct().is_some());
        matches!(array.origin, ElementsOrigin::FitsHdu(_)) && !is_table
    })
}

/// Returns `true` if the last axes of an array are pixels of the sky.
fn has_sky_coordinates(item: &Item<'_>) -> bool {
    let Ok(Some(found)) = find_coordinates(item) else { return false };
    found.wcs.sky().is_some() && item.describe().is_ok_and(|about| found.describes(&about.shape))
}

impl FromStr for ImageOrigin {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "upper" => Ok(Self::Upper),
            "lower" => Ok(Self::Lower),
            _ => {
                Err(Error::invalid_input(format!("{text:?} is not an origin")).hint(format!("one of {}", Self::NAMES.join(", "))))
            }
        }
    }
}
