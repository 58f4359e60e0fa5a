//! World coordinates: positions of pixels on the sky, and pixels of positions.

use std::ffi::{CString, c_char};

use library::wcs::{FitOptions, InverseMethod, PositionFrame, Wcs, WcsDirection, WcsKey, WcsOptions, fits_cards, from_wcs};
use library::{Error, Result};

use crate::error::{c_text, call, trilith_error};
use crate::handle::{check_out_pointer, free, get_ref, handle, write_out};
use crate::open::trilith_file;
use crate::strings::{into_c_string, optional_str};

/// Compute coordinates of points outside of the bounding box, too.
pub const TRILITH_WCS_NO_BOX: u32 = 1;
/// Evaluate the inverse in the file in place of the exact one.
pub const TRILITH_WCS_FILE_INVERSE: u32 = 2;

handle! {
    /// World coordinates of an array. Any number of threads may use one at the same time.
    trilith_wcs, b"tri:wcs\0", {
        wcs: Wcs,
        /// Name, unit and physical type of each world axis.
        axes: Vec<[CString; 3]>,
    }
}

/// Returns the coordinates of the array at a path, or those that the item at the path describes. An empty or null path means the first
/// array of the file that has some. TRILITH_NOT_FOUND if there are none, TRILITH_UNSUPPORTED if a transform is not supported. Freed
/// with trilith_wcs_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_open(
    file: *const trilith_file,
    path: *const c_char,
    out: *mut *mut trilith_wcs,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, { open_wcs(&get_ref(file)?.file, optional_str(path)?.unwrap_or_default(), WcsKey::default())? })
}

fn open_wcs(file: &library::File, path: &str, key: WcsKey) -> Result<*mut trilith_wcs> {
    let found = file.wcs_by_key(path, key)?;
    let wcs = found.ok_or_else(|| Error::new(library::ErrorKind::NotFound, format!("no coordinates for {path:?}")))?.wcs;
    let axes = (0..wcs.world_axes()).map(|axis| wcs.world_axis(axis));
    let axes = axes.map(|axis| [axis.name, axis.unit, axis.physical_type].map(|text| c_text(&text))).collect();
    Ok(trilith_wcs::into_handle(wcs, axes))
}

/// Does the same as trilith_wcs_open, for an alternate description of FITS headers: `key` is a letter, or 0 for the primary one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_open_key(
    file: *const trilith_file,
    path: *const c_char,
    key: c_char,
    out: *mut *mut trilith_wcs,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let letter = char::from(key.to_ne_bytes()[0]);
        let key: WcsKey = if key == 0 { WcsKey::default() } else { letter.to_string().parse()? };
        open_wcs(&get_ref(file)?.file, optional_str(path)?.unwrap_or_default(), key)?
    })
}

/// Number of pixel axes: numbers that a pixel has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_pixel_ndim(wcs: *const trilith_wcs) -> usize {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(wcs) }.map_or(0, |wcs| wcs.wcs.pixel_axes())
}

/// Number of world axes: numbers that a position has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_world_ndim(wcs: *const trilith_wcs) -> usize {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(wcs) }.map_or(0, |wcs| wcs.wcs.world_axes())
}

/// Returns name, unit and physical type of a world axis, as lon, deg, pos.eq.ra; empty if it has none. Any of the pointers may be null. The
/// strings live as long as the coordinates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_axis(
    wcs: *const trilith_wcs,
    axis: usize,
    name: *mut *const c_char,
    unit: *mut *const c_char,
    physical_type: *mut *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let axes = &get_ref(wcs)?.axes;
        let texts = axes.get(axis).ok_or_else(|| Error::invalid_input(format!("world axis {axis} of {}", axes.len())))?;
        for (place, text) in [name, unit, physical_type].into_iter().zip(texts) {
            if !place.is_null() {
                write_out(place, text.as_ptr())?;
            }
        }
        Ok(())
    })
}

/// The numbers of points that C hands in, in columns.
///
/// # Safety
/// `points` has `count * axes` numbers.
unsafe fn read_point_columns(points: *const f64, count: usize, axes: usize) -> Result<Vec<Vec<f64>>> {
    if count == 0 {
        return Ok(vec![Vec::new(); axes]);
    }
    if points.is_null() {
        return Err(Error::invalid_input("a null pointer in place of points"));
    }
    let total = count.checked_mul(axes).filter(|total| *total <= isize::MAX as usize / 8);
    let total = total.ok_or_else(|| Error::invalid_input(format!("{count} points are more than memory has")))?;
    // SAFETY: as the caller promises.
    let points = unsafe { std::slice::from_raw_parts(points, total) };
    Ok((0..axes).map(|axis| points.iter().skip(axis).step_by(axes).copied().collect()).collect())
}

/// Converts points, point after point.
///
/// # Safety
/// `points` has `count` points with a number for each input axis, and `out` has room for a number for each output axis.
unsafe fn convert_points(wcs: &Wcs, count: usize, points: *const f64, out: *mut f64, flags: u32, to_pixels: bool) -> Result<()> {
    if flags & !(TRILITH_WCS_NO_BOX | TRILITH_WCS_FILE_INVERSE) != 0 {
        return Err(Error::invalid_input(format!("unknown flags {flags:#x}")));
    }
    let (takes, gives) = if to_pixels { (wcs.world_axes(), wcs.pixel_axes()) } else { (wcs.pixel_axes(), wcs.world_axes()) };
    // SAFETY: as the caller promises.
    let columns = unsafe { read_point_columns(points, count, takes) }?;
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let inverse = if flags & TRILITH_WCS_FILE_INVERSE != 0 { InverseMethod::Declared } else { InverseMethod::Iterative };
    let options = WcsOptions::default().with_bounding_box(flags & TRILITH_WCS_NO_BOX == 0).with_inverse(inverse);
    let direction = if to_pixels { WcsDirection::ToPixels } else { WcsDirection::ToWorld };
    let found = library::wcs::convert_points(wcs, &slices, direction, options)?;
    if count == 0 {
        return Ok(());
    }
    check_out_pointer(out)?;
    for at in 0..count {
        for (axis, column) in found.iter().enumerate() {
            // SAFETY: as the caller promises: `out` has room for `count * gives` numbers.
            unsafe { out.add(at * gives + axis).write(column.get(at).copied().unwrap_or(f64::NAN)) };
        }
    }
    Ok(())
}

/// Computes world coordinates of `count` pixels, point after point, in the units of the axes. A pixel is trilith_wcs_pixel_ndim numbers: x, the
/// last axis of the array, comes first and counts from 0 at the middle of the first element. A point without coordinates is NaN. `out`
/// may be `pixels` if both have the same number of axes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_pixel_to_world(
    wcs: *const trilith_wcs,
    count: usize,
    pixels: *const f64,
    out: *mut f64,
    flags: u32,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, convert_points(&get_ref(wcs)?.wcs, count, pixels, out, flags, false))
}

/// Computes the pixels of `count` positions, the reverse of trilith_wcs_pixel_to_world. The result is exact unless TRILITH_WCS_FILE_INVERSE is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_world_to_pixel(
    wcs: *const trilith_wcs,
    count: usize,
    world: *const f64,
    out: *mut f64,
    flags: u32,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, convert_points(&get_ref(wcs)?.wcs, count, world, out, flags, true))
}

/// Returns longitude and latitude of the four corners in degrees, eight numbers: lower left, upper left, upper right, lower right of the
/// bounding box, else of the array. TRILITH_UNSUPPORTED without a sky, or if the number of pixels is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_footprint(wcs: *const trilith_wcs, out: *mut f64, error: *mut *mut trilith_error) -> i32 {
    call!(out.cast::<[[f64; 2]; 4]>(), error, {
        let none = || Error::unsupported("coordinates without a sky, or of an unknown number of pixels, have no footprint");
        get_ref(wcs)?.wcs.footprint().ok_or_else(none)?
    })
}

/// Converts `count` positions, longitude and latitude in degrees one after the other, between a reference frame (icrs, fk5, fk4 or galactic)
/// and the frame of the coordinates: to that of the coordinates if `to_native` is not 0. TRILITH_UNSUPPORTED if the frame of the coordinates cannot be
/// converted. `out` may be `positions`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_convert_frame(
    wcs: *const trilith_wcs,
    frame: *const c_char,
    to_native: i32,
    count: usize,
    positions: *const f64,
    out: *mut f64,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let wcs = &get_ref(wcs)?.wcs;
        let frame: PositionFrame = optional_str(frame)?.unwrap_or_default().parse()?;
        frame.from_native(wcs, [0.0, 0.0])?;
        let columns = read_point_columns(positions, count, 2)?;
        if count > 0 {
            check_out_pointer(out)?;
        }
        for (at, (lon, lat)) in columns.first().into_iter().flatten().zip(columns.get(1).into_iter().flatten()).enumerate() {
            let place = if to_native != 0 { frame.to_native(wcs, [*lon, *lat]) } else { frame.from_native(wcs, [*lon, *lat])? };
            for (part, angle) in place.into_iter().enumerate() {
                out.add(at * 2 + part).write(angle);
            }
        }
        Ok(())
    })
}

/// Sets `out` to 1 if a pixel has a position, in degrees, else to 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_contains(
    wcs: *const trilith_wcs,
    longitude: f64,
    latitude: f64,
    out: *mut i32,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, i32::from(get_ref(wcs)?.wcs.contains(&[[longitude, latitude]]).map_err(from_wcs)?.contains(&true)))
}

/// Returns the cards of a FITS header that describes the coordinates: 80 characters each, without line ends and without END, as wcslib (wcspih) and
/// AST (astPutCards) take them. `order` is the degree of the SIP polynomials: 1 for a tangent plane alone, 0 for the lowest that keeps
/// `max_error`, in pixels; 0.0 means 0.001, or any error if an order is given. TRILITH_UNSUPPORTED if the coordinates are not
/// those of an image of the sky, or if no degree is good enough. Freed with trilith_string_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_fits_header(
    wcs: *const trilith_wcs,
    order: u32,
    max_error: f64,
    out: *mut *mut c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let mut options = FitOptions::default();
        options.degree = (order > 0).then_some(order as usize);
        options.max_error = (max_error > 0.0).then_some(max_error);
        let cards = fits_cards(&get_ref(wcs)?.wcs, &options)?;
        let text: String = cards.iter().map(|card| String::from_utf8_lossy(card.bytes())).collect();
        into_c_string(&text)
    })
}

/// Frees coordinates. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_wcs_free(wcs: *mut trilith_wcs) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(wcs) }
}
