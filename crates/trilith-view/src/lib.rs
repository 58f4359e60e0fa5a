//! Seeing arrays: what is in them as numbers ([`statistics`]), and as pictures.
//!
//! A picture is made in four steps, each of them a module:
//!
//! 1. [`image`]: a plane of an array, or a part of it, brought to as many pixels as are wanted: a [`ValueRaster`];
//! 2. [`interval`]: which numbers are black and which are white: [`Limits`];
//! 3. [`stretch`]: how the numbers between them are spread;
//! 4. [`color`]: which color each becomes: a [`ColorImage`], which [`ColorImage::to_png`] writes.
//!
//! Arrays of one axis become a [`DecimatedSeries`], which [`plot`] draws as SVG and [`text_plot`] as text.
//!
//! [`wcs`] says where on the sky an element is.
//!
//! [`requests`] answers what a viewer asks, and [`assets`] are the pages of that viewer: one set of answers for the server of the command
//! and for the page without a server.
//!
//! Nothing here opens files or prints: arrays come from the library [`trilith`], and bytes come out. Arrays are read in
//! pieces and never held as a whole, so that their size does not matter; the work is shared by the threads of the library.

pub mod assets;
mod axis_coordinate;
pub mod color;
mod decimate;
pub mod flag_names;
pub mod image;
pub mod interval;
mod numeric;
mod origin;
#[cfg(feature = "plot")]
pub mod plot;
pub mod preview;
pub mod requests;
pub mod statistics;
pub mod stretch;
pub mod text_plot;
pub mod viewable;
pub mod wcs;

pub use axis_coordinate::AxisCoordinate;
pub use color::{ColorMap, Palette};
pub use decimate::{DecimatedSeries, SeriesPoint};
pub use image::{ColorImage, PixelRegion, ResampleMethod, ValueRaster};
pub use interval::{IntervalMethod, Limits};
pub use numeric::{cache_small_array, is_numeric};
pub use origin::ImageOrigin;
pub use statistics::{ExactNumber, Histogram, Statistics, StatisticsOptions};
pub use stretch::IntensityStretch;
pub use viewable::ViewableArray;
pub use wcs::{ArrayWcs, SkyDirections, WorldCoordinate};
