//! World coordinate systems: from the pixels of an image to the sky and back.
//!
//! This crate is mathematics only: it reads no files, depends on nothing, and compiles to WebAssembly.
//!
//! - [`Transform`] is a function of several numbers: the nodes of GWCS (matrices, polynomials, rotations, tables, …), evaluated for
//!   many points at once.
//! - [`Projection`] has the 27 projections of FITS in both directions.
//! - [`Wcs`] is a chain of transforms between named frames, with a bounding box. It evaluates both ways: its inverse is exact.
//! - [`Wcs::to_fits`] computes the keywords of a FITS header that give the same positions.
//! - [`HeaderKeywords`] makes a [`Wcs`] of the keywords of a FITS header: linear axes, projections, SIP and TPV, and the tables of
//!   other HDUs that they refer to.
//!
//! ```
//! use trilith_wcs::{InverseMethod, HeaderKeywords, WcsOptions};
//!
//! let mut keywords = HeaderKeywords::default();
//! for (key, text) in [("CTYPE1", "RA---TAN"), ("CTYPE2", "DEC--TAN")] {
//!     keywords.insert_text(key, text);
//! }
//! for (key, number) in [("CRPIX1", 50.5), ("CRPIX2", 50.5), ("CRVAL1", 10.0), ("CRVAL2", 20.0), ("CDELT1", -0.01), ("CDELT2", 0.01)] {
//!     keywords.insert_number(key, number);
//! }
//! let wcs = keywords.wcs(&Default::default())?.expect("the keywords give coordinates");
//! let sky = wcs.pixel_to_world(&[&[49.5], &[49.5]], WcsOptions::default())?;
//! assert!((sky[0][0] - 10.0).abs() < 1e-12 && (sky[1][0] - 20.0).abs() < 1e-12);
//! let pixel = wcs.world_to_pixel(&[&sky[0], &sky[1]], WcsOptions::default())?;
//! assert!((pixel[0][0] - 49.5).abs() < 1e-8);
//! # Ok::<(), trilith_wcs::Error>(())
//! ```

#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "a comparison with NaN has to fail")]

mod bounding_box;
mod error;
mod header;
mod least_squares;
mod newton;
mod polynomial;
mod projection;
mod region;
mod rotation;
mod sky_frame;
mod tabular;
mod to_fits;
mod transform;
mod wcs;

pub use bounding_box::BoundingBox;
pub use error::{Error, Result, WcsLimits};
pub use header::{ArrayReference, HeaderKeywords, ReferencedArray};
pub use polynomial::{DomainMap, Polynomial, PolynomialBasis};
pub use projection::Projection;
pub use rotation::{RotationMatrix, native_to_celestial, pole, sequence, transposed};
pub use sky_frame::SkyFrame;
pub use tabular::{Interpolation, OutOfBounds, Tabular1D, Tabular2D};
pub use to_fits::{Card, CardValue, FitOptions, FitsHeader};
pub use transform::{ArithmeticOperation, SelectorKey, Transform};
pub use wcs::{Frame, FrameAxis, InverseMethod, PipelineStep, TimeReference, Wcs, WcsOptions};
