//! Coordinates of any tree: building them ends in coordinates or an error, and evaluating ends, too. Coordinates have as many
//! numbers as they have axes; a pixel that the exact inverse finds has the position that it was looked for with.

#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use trilith::wcs::{FitOptions, InverseMethod, WcsOptions};
use trilith::{Limits, OpenOptions};

/// A GWCS of some transforms, as text.
#[derive(Debug)]
struct Text(String);

impl<'a> Arbitrary<'a> for Text {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut text =
            "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n".to_owned();
        // Transforms that others lead to by aliases.
        let named = u.int_in_range(0..=3u8)?;
        for number in 0..named {
            let transform = transform(u, 3, number)?;
            text += &format!("t{number}: &t{number} {transform}\n");
        }
        let steps = u.int_in_range(1..=3u8)?;
        text += "wcs: !<tag:stsci.edu:gwcs/wcs-1.4.0>\n  name: ''\n";
        if u.ratio(1, 2)? {
            text += &format!("  pixel_shape: [{}, {}]\n", whole(u)?, whole(u)?);
        }
        text += "  steps:\n";
        for _ in 0..steps {
            let (frame, transform) = (frame(u)?, transform(u, 4, named)?);
            text += &format!("  - !<tag:stsci.edu:gwcs/step-1.3.0> {{frame: {frame}, transform: {transform}}}\n");
        }
        text += &format!("  - !<tag:stsci.edu:gwcs/step-1.3.0> {{frame: {}, transform: null}}\n...\n", frame(u)?);
        Ok(Self(text))
    }
}

fn whole(u: &mut Unstructured<'_>) -> Result<u32> {
    Ok(if u.ratio(1, 20)? { u.arbitrary()? } else { u.int_in_range(0..=40)? })
}

fn number(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(match u.int_in_range(0..=9u8)? {
        0 => u.choose(&["0", ".nan", ".inf", "-.inf", "1e300", "-1e-300", "90", "180", "abc", "null"])?.to_string(),
        1 => format!("!unit/quantity-1.1.0 {{value: {}, unit: {}}}", u.int_in_range(-9..=9i8)?, unit(u)?),
        2 => format!("{:e}", u.arbitrary::<f64>()?).replace("inf", ".inf").replace("NaN", ".nan"),
        _ => format!("{}", f64::from(u.arbitrary::<i16>()?) / 64.0),
    })
}

fn unit(u: &mut Unstructured<'_>) -> Result<&'static str> {
    u.choose(&["pixel", "deg", "arcsec", "arcsec / pix", "um", "m^-9", "furlong", "''"]).copied()
}

fn numbers(u: &mut Unstructured<'_>, most: usize) -> Result<String> {
    let count = u.int_in_range(0..=most)?;
    let all: Vec<String> = (0..count).map(|_| number(u)).collect::<Result<_>>()?;
    Ok(format!("[{}]", all.join(", ")))
}

/// An array, or what looks like one.
fn array(u: &mut Unstructured<'_>, rows: usize, columns: usize) -> Result<String> {
    let mut lines = Vec::new();
    for _ in 0..rows {
        let row: Vec<String> =
            (0..columns).map(|_| Ok(format!("{}", f64::from(u.arbitrary::<i16>()?) / 256.0))).collect::<Result<_>>()?;
        lines.push(format!("[{}]", row.join(", ")));
    }
    Ok(match u.int_in_range(0..=5u8)? {
        0 => numbers(u, 6)?,
        1 => lines.first().cloned().unwrap_or_default(),
        _ => format!("!core/ndarray-1.0.0 [{}]", lines.join(", ")),
    })
}

fn frame(u: &mut Unstructured<'_>) -> Result<String> {
    let order = |u: &mut Unstructured<'_>| {
        Ok::<_, arbitrary::Error>(format!("[{}, {}]", u.int_in_range(0..=3u8)?, u.int_in_range(0..=2u8)?))
    };
    Ok(match u.int_in_range(0..=4u8)? {
        0 => "detector".to_owned(),
        1 | 2 => format!(
            "!<tag:stsci.edu:gwcs/celestial_frame-1.2.0> {{name: sky, axes_order: {}, unit: [{}, deg], reference_frame: \
             !<tag:astropy.org:astropy/coordinates/frames/fk5-1.0.0> {{frame_attributes: {{equinox: J19}}}}}}",
            order(u)?,
            unit(u)?
        ),
        3 => format!("!<tag:stsci.edu:gwcs/spectral_frame-1.2.0> {{name: s, axes_order: [{}], unit: [um]}}", whole(u)?),
        _ => format!("!<tag:stsci.edu:gwcs/frame2d-1.2.0> {{name: f, axes_order: {}, unit: [{}, pixel]}}", order(u)?, unit(u)?),
    })
}

const PROJECTIONS: &[&str] = &[
    "gnomonic",
    "airy",
    "zenithal_perspective",
    "slant_zenithal_perspective",
    "molleweide",
    "polyconic",
    "conic_perspective",
    "conic_orthomorphic",
    "bonne_equal_area",
    "cobe_quad_spherical_cube",
    "healpix",
    "healpix_polar",
    "mercator",
    "hammer_aitoff",
];

fn transform(u: &mut Unstructured<'_>, depth: u8, named: u8) -> Result<String> {
    let tag = |name: &str, rest: &str| format!("!transform/{name}-1.2.0 {{{rest}}}");
    if named > 0 && u.ratio(1, 5)? {
        return Ok(format!("*t{}", u.int_in_range(0..=named - 1)?));
    }
    let mut rest = String::new();
    if depth > 0 && u.ratio(1, 8)? {
        rest += &format!(", inverse: {}", transform(u, depth - 1, named)?);
    }
    if u.ratio(1, 8)? {
        rest += &format!(", bounding_box: [{}, {}]", numbers(u, 2)?, numbers(u, 2)?);
    }
    if u.ratio(1, 8)? {
        let interval = numbers(u, 2)?;
        rest += &format!(
            ", inputs: [x, y], bounding_box: !transform/property/bounding_box-1.2.0 {{intervals: {{x: {interval}, y: {interval}}}, order: F}}"
        );
    }
    if depth > 0 && u.ratio(2, 3)? {
        let name = u.choose(&["compose", "concatenate", "concatenate", "compose", "add", "divide", "power", "fix_inputs"])?;
        let left = transform(u, depth - 1, named)?;
        let right = match *name {
            "fix_inputs" => format!("{{keys: [{}], values: {}}}", whole(u)?, numbers(u, 1)?),
            _ => transform(u, depth - 1, named)?,
        };
        return Ok(tag(name, &format!("forward: [{left}, {right}]{rest}")));
    }
    let direction = if u.arbitrary()? { "pix2sky" } else { "sky2pix" };
    Ok(match u.int_in_range(0..=18u8)? {
        0 => tag("shift", &format!("offset: {}{rest}", number(u)?)),
        1 => tag("scale", &format!("factor: {}{rest}", number(u)?)),
        2 => tag("identity", &format!("n_dims: {}{rest}", whole(u)?)),
        3 => tag("remap_axes", &format!("mapping: [{}, {}, {}]{rest}", whole(u)? % 4, whole(u)? % 4, whole(u)? % 4)),
        4 => tag("constant", &format!("value: {}{rest}", number(u)?)),
        5 => {
            let side = u.int_in_range(0..=4usize)?;
            tag("polynomial", &format!("coefficients: {}, domain: {}{rest}", array(u, side, side)?, numbers(u, 2)?))
        }
        6 => {
            let kind = u.choose(&["chebyshev", "legendre", "hermite", "other"])?;
            tag("ortho_polynomial", &format!("polynomial_type: {kind}, coefficients: {}{rest}", array(u, 3, 2)?))
        }
        7 => tag("affine", &format!("matrix: {}, translation: {}{rest}", array(u, 2, 2)?, numbers(u, 2)?)),
        8 => tag("rotate2d", &format!("angle: {}{rest}", number(u)?)),
        9 => {
            let how = u.choose(&["native2celestial", "celestial2native", "zxz", "q"])?;
            tag("rotate3d", &format!("phi: {}, theta: {}, psi: {}, direction: {how}{rest}", number(u)?, number(u)?, number(u)?))
        }
        10 => tag(
            "rotate_sequence_3d",
            &format!(
                "angles: {}, axes_order: zyx, rotation_type: {}{rest}",
                numbers(u, 3)?,
                u.choose(&["cartesian", "spherical"])?
            ),
        ),
        11 => {
            let name = u.choose(PROJECTIONS)?;
            let parameters = ["mu", "gamma", "phi0", "theta0", "theta_b", "sigma", "delta", "theta1", "H", "X"];
            let given: Vec<String> = parameters.iter().map(|key| Ok(format!("{key}: {}", number(u)?))).collect::<Result<_>>()?;
            tag(name, &format!("direction: {direction}, {}{rest}", given.join(", ")))
        }
        12 => {
            let count = u.int_in_range(0..=4usize)?;
            let points: Vec<String> = (0..count).map(|n| n.to_string()).collect();
            let points =
                if u.arbitrary()? { format!("[[{}]]", points.join(", ")) } else { format!("[[{0}], [{0}]]", points.join(", ")) };
            tag("tabular", &format!("lookup_table: {}, points: {points}, method: linear{rest}", array(u, count, count)?))
        }
        13 => tag("linear1d", &format!("slope: {}, intercept: {}{rest}", number(u)?, number(u)?)),
        14 => tag("multiplyscale", &format!("factor: {}{rest}", number(u)?)),
        15 => format!(
            "!<tag:stsci.edu:gwcs/spherical_cartesian-1.3.0> {{transform_type: {}, wrap_lon_at: 180{rest}}}",
            u.choose(&["spherical_to_cartesian", "cartesian_to_spherical"])?
        ),
        16 => format!(
            "!<tag:stsci.edu:gwcs/fitswcs_imaging-1.0.0> {{crpix: {}, crval: {}, cdelt: {}, pc: {}, projection: \
             !transform/gnomonic-1.2.0 {{direction: pix2sky}}{rest}}}",
            array(u, 1, 2)?,
            numbers(u, 2)?,
            numbers(u, 2)?,
            array(u, 2, 2)?
        ),
        17 => format!("!<asdf://dkist.nso.edu/tags/ravel_model-1.2.0> {{array_shape: [{}, {}], order: C}}", whole(u)?, whole(u)?),
        _ => format!(
            "!<asdf://dkist.nso.edu/tags/coupled_compound_model-1.2.0> {{shared_inputs: {}, forward: [\
             !<asdf://dkist.nso.edu/tags/varying_celestial_transform-1.4.0> {{crpix: {}, crval_table: {}, cdelt: [1, 1], lon_pole: 180, \
             pc_table: [[1, 0], [0, 1]], projection: !transform/gnomonic-1.2.0 {{direction: pix2sky}}}}, {}]}}",
            whole(u)? % 4,
            numbers(u, 2)?,
            array(u, 2, 2)?,
            if depth > 0 { transform(u, depth - 1, named)? } else { tag("identity", "") }
        ),
    })
}

fuzz_target!(|text: Text| {
    let mut limits = Limits::default();
    limits.set("nodes=500").expect("this limit exists");
    let options = OpenOptions::new().limits(limits);
    let Ok(file) = options.open_bytes(text.0.into_bytes()) else { return };
    let Ok(Some(found)) = file.wcs("") else { return };
    let wcs = &found.wcs;
    let count = 9;
    let columns: Vec<Vec<f64>> =
        (0..wcs.pixel_axes()).map(|axis| (0..count).map(|n| (n * (axis + 2)) as f64 / 2.0 - 1.0).collect()).collect();
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    for boxed in [true, false] {
        let how = WcsOptions::default().with_bounding_box(boxed);
        let world = wcs.pixel_to_world(&slices, how).expect("as many columns as axes");
        assert_eq!(world.len(), wcs.world_axes());
        let world: Vec<&[f64]> = world.iter().map(Vec::as_slice).collect();
        let _ = wcs.world_to_pixel(&world, how.with_inverse(InverseMethod::Declared));
        let Ok(pixels) = wcs.world_to_pixel(&world, how) else { continue };
        assert_eq!(pixels.len(), wcs.pixel_axes());
        // A pixel is found in all of its numbers or in none.
        let is_found = |at: usize| pixels.iter().filter(|column| column.get(at).is_some_and(|x| x.is_finite())).count();
        assert!(
            (0..count).all(|at| [0, pixels.len()].contains(&is_found(at))) || pixels.iter().any(|column| column.len() != count)
        );
    }
    let _ = (wcs.footprint(), wcs.centre(), wcs.scale(), wcs.contains(&[[10.0, 20.0]]), wcs.touches([10.0, 20.0], 1.0));
    let _ = (wcs.to_fits(&FitOptions::default()), found.pixel_box([10.0, 20.0], "3px".parse().expect("a size")));
    let dependencies = wcs.forward().separability();
    assert!(dependencies.len() == wcs.world_axes() && dependencies.iter().all(|row| row.len() == wcs.pixel_axes()));
});
