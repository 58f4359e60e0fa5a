//! Coordinates of files: the samples that Python's gwcs wrote and evaluated, and small trees.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test may stop where something is not as expected"
)]

use trilith::array::Array;
use trilith::bytes::LocalOptions;
use trilith::table::Query;
use trilith::wcs::{InverseMethod, Wcs, WcsOptions};
use trilith::{ErrorKind, Limits, OpenOptions};

const HEAD: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";

fn open(tree: &str) -> trilith::File {
    OpenOptions::new().open_bytes(format!("{HEAD}{tree}\n...\n").into_bytes()).unwrap()
}

fn frame(name: &str) -> String {
    format!("!<tag:stsci.edu:gwcs/frame2d-1.2.0> {{name: {name}, axes_names: [x, y], unit: [pixel, pixel]}}")
}

/// A GWCS of one transform.
fn gwcs(transform: &str) -> trilith::File {
    open(&format!(
        "wcs: !<tag:stsci.edu:gwcs/wcs-1.4.0>\n  name: ''\n  steps:\n  - !<tag:stsci.edu:gwcs/step-1.3.0> {{frame: {}, transform: {transform}}}\n  \
         - !<tag:stsci.edu:gwcs/step-1.3.0> {{frame: {}, transform: null}}",
        frame("detector"),
        frame("world")
    ))
}

fn wcs(transform: &str) -> Wcs {
    gwcs(transform).wcs("").unwrap().expect("there are coordinates").wcs
}

#[test]
fn bounding_boxes_of_every_version_are_equal() {
    let shifts = "forward: [!transform/shift-1.2.0 {offset: 1.0}, !transform/shift-1.2.0 {offset: 2.0}]";
    let boxes = [
        // A plain list is in the order of the array: y first.
        "bounding_box: [[-0.5, 19.5], [-0.5, 9.5]]".to_owned(),
        "inputs: [x0, x1], bounding_box: !transform/property/bounding_box-1.2.0 {intervals: {x1: [-0.5, 19.5], x0: [-0.5, 9.5]}, order: C, ignore: []}"
            .to_owned(),
        "inputs: [x, y], bounding_box: !transform/property/bounding_box-1.0.0 {intervals: {x: [-0.5, 9.5], y: [-0.5, 19.5]}, order: F}"
            .to_owned(),
    ];
    for bounds in boxes {
        let wcs = wcs(&format!("!transform/concatenate-1.2.0 {{{shifts}, {bounds}}}"));
        assert_eq!(wcs.pixel_range().unwrap(), [(-0.5, 9.5), (-0.5, 19.5)], "{bounds}");
        let world = wcs.pixel_to_world(&[&[9.5, 9.6, 3.0, -0.5], &[19.5, 3.0, 20.0, -0.5]], WcsOptions::default()).unwrap();
        assert_eq!(world[0][0], 10.5);
        assert_eq!(world[1][3], 1.5);
        assert!(world.iter().all(|column| column[1].is_nan() && column[2].is_nan()), "{bounds}");
        let outside = wcs.pixel_to_world(&[&[100.0], &[3.0]], WcsOptions::default().with_bounding_box(false)).unwrap();
        assert_eq!((outside[0][0], outside[1][0]), (101.0, 5.0));
    }
}

#[test]
fn unknown_transform_err_names_tag() {
    for tag in ["transform/gaussian2d-1.2.0", "gwcs/unknown-1.3.0", "jwst_pipeline/snell-1.2.0"] {
        let tag = format!("tag:stsci.edu:{}{tag}", if tag.starts_with("transform") { "asdf/" } else { "" });
        let error = gwcs(&format!("!<{tag}> {{}}")).wcs("").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(&tag), "{error}");
    }
}

#[test]
fn exact_inverse_corrects_given_inverse() {
    // x + 1e-6 x², with x for its inverse.
    let polynomial = "!transform/polynomial-1.2.0 {coefficients: !core/ndarray-1.0.0 [0.0, 1.0, 1.0e-6]}";
    let given = format!(
        "!transform/concatenate-1.2.0 {{forward: [{polynomial}, {polynomial}], inverse: !transform/identity-1.2.0 {{n_dims: 2}}, bounding_box: [[0, 100], [0, 100]]}}"
    );
    let wcs = wcs(&given);
    let world = wcs.pixel_to_world(&[&[50.0, 100.0], &[0.0, 99.0]], WcsOptions::default()).unwrap();
    let columns = [&world[0][..], &world[1][..]];
    let exact = wcs.world_to_pixel(&columns, WcsOptions::default()).unwrap();
    let file = wcs
        .world_to_pixel(&columns, WcsOptions::default().with_inverse(InverseMethod::Declared).with_bounding_box(false))
        .unwrap();
    for (axis, wanted) in [[50.0, 100.0], [0.0, 99.0]].iter().enumerate() {
        for at in 0..2 {
            assert!((exact[axis][at] - wanted[at]).abs() < 1e-9, "{exact:?}");
        }
        assert_eq!(file[axis], world[axis]);
    }
    // Without any inverse, from a grid.
    let none = wcs_without(&given);
    let found = none.world_to_pixel(&columns, WcsOptions::default()).unwrap();
    assert!((found[0][1] - 100.0).abs() < 1e-9 && (found[1][1] - 99.0).abs() < 1e-9, "{found:?}");
}

fn wcs_without(given: &str) -> Wcs {
    wcs(&given.replace("inverse: !transform/identity-1.2.0 {n_dims: 2}, ", ""))
}

/// Tests of the first tier: an inverse never refuses the way to the sky.
#[test]
fn mismatched_inverses_work_within_chain() {
    // In files of MIRI the inverses of the parts have other sizes than the parts, but the inverse of the whole fits.
    let polynomial = |slope: f64, back: f64| {
        format!(
            "!transform/polynomial-1.2.0 {{coefficients: !core/ndarray-1.0.0 [[0.0, 0.0], [{slope}, 0.0]], \
             inverse: !transform/polynomial-1.2.0 {{coefficients: !core/ndarray-1.0.0 [[0.0, 0.0], [{back}, 0.0]]}}}}"
        )
    };
    let other = |slope: f64, back: f64| {
        polynomial(slope, back).replace(&format!("[[0.0, 0.0], [{slope}, 0.0]]"), &format!("[[0.0, {slope}], [0.0, 0.0]]"))
    };
    let split = "!transform/remap_axes-1.2.0 {mapping: [0, 1, 0, 1], inverse: !transform/identity-1.2.0 {n_dims: 2}}";
    let joined = "!transform/identity-1.2.0 {n_dims: 2, inverse: !transform/remap_axes-1.2.0 {mapping: [0, 0, 1, 1]}}";
    let pair = format!("!transform/concatenate-1.2.0 {{forward: [{}, {}]}}", polynomial(2.0, 0.5), other(4.0, 0.25));
    let inner = format!("!transform/compose-1.2.0 {{forward: [{pair}, {joined}]}}");
    let whole = wcs(&format!("!transform/compose-1.2.0 {{forward: [{split}, {inner}], bounding_box: [[0, 9], [0, 9]]}}"));
    assert_eq!(whole.forward().evaluate_point(&[3.0, 5.0]).unwrap(), [6.0, 20.0]);
    let back =
        |inverse: InverseMethod| whole.world_to_pixel(&[&[6.0], &[20.0]], WcsOptions::default().with_inverse(inverse)).unwrap();
    assert_eq!(back(InverseMethod::Declared), [[3.0], [5.0]]);
    assert_eq!(back(InverseMethod::Iterative), [[3.0], [5.0]]);

    // An inverse of one part, or one that cannot be evaluated, is not enough. An iteration finds the pixel.
    let plain = polynomial(2.0, 0.5).split(", inverse").next().unwrap().to_owned() + "}";
    let second = plain.replace("[[0.0, 0.0], [2, 0.0]]", "[[0.0, 4.0], [0.0, 0.0]]");
    let both = format!("!transform/concatenate-1.2.0 {{forward: [{plain}, {second}]}}");
    for (start, end) in
        [(split.to_owned(), both.clone()), (split.replace("identity-1.2.0 {n_dims: 2}", "spline1d-1.0.0 {}"), both)]
    {
        let wcs = wcs(&format!("!transform/compose-1.2.0 {{forward: [{start}, {end}], bounding_box: [[0, 9], [0, 9]]}}"));
        assert_eq!(wcs.forward().evaluate_point(&[3.0, 5.0]).unwrap(), [6.0, 20.0]);
        let found = wcs.world_to_pixel(&[&[6.0], &[20.0]], WcsOptions::default()).unwrap();
        assert!((found[0][0] - 3.0).abs() < 1e-9 && (found[1][0] - 5.0).abs() < 1e-9, "{found:?}");
        let error =
            wcs.world_to_pixel(&[&[6.0], &[20.0]], WcsOptions::default().with_inverse(InverseMethod::Declared)).unwrap_err();
        assert!(error.to_string().contains("no inverse"), "{error}");
    }
    let one_way = wcs("!transform/shift-1.2.0 {offset: 1.0, inverse: !transform/spline1d-1.0.0 {}}");
    assert_eq!(one_way.forward().evaluate_point(&[3.0]).unwrap(), [4.0]);
    let error = one_way.forward().inverse().unwrap_err().to_string();
    assert!(error.contains("shift/inverse") && error.contains("spline1d"), "{error}");
    let exact = one_way.world_to_pixel(&[&[4.0]], WcsOptions::default()).unwrap();
    assert!((exact[0][0] - 3.0).abs() < 1e-9, "{exact:?}");
    // An inverse that contradicts itself is a fault of the file.
    let error = gwcs("!transform/shift-1.2.0 {offset: 1.0, inverse: !transform/shift-1.2.0 {offset: abc}}").wcs("").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
}

/// A test of the first tier: the keys that Python's asdf fills in, in the versions of the tags and of the standard in which it does.
#[test]
fn old_files_use_schema_defaults() {
    let of_standard = |standard: &str, transform: &str| {
        let text = format!(
            "{}wcs: !<tag:stsci.edu:gwcs/wcs-1.0.0>\n  name: ''\n  steps:\n  - {{frame: {}, transform: {transform}}}\n  - {{frame: {}}}\n...\n",
            HEAD.replace("1.6.0", standard),
            frame("detector"),
            frame("world")
        );
        OpenOptions::new().open_bytes(text.into_bytes()).unwrap().wcs("").map(|found| found.unwrap().wcs)
    };
    let table = "points: [0.0, 1.0, 2.0], lookup_table: [1.0, 2.0, 5.0]";
    for (name, version, newer, keys, filled) in [
        ("rotate3d", "1.2.0", "1.4.0", "phi: 5.0, psi: 180.0, theta: -72.0", "direction: native2celestial"),
        ("healpix", "1.1.0", "1.3.0", "H: 4, X: 3", "direction: pix2sky"),
        ("healpix_polar", "1.2.0", "1.3.0", "a: 1", "direction: pix2sky"),
        ("tabular", "1.2.0", "1.3.0", table, "method: linear, bounds_error: true"),
    ] {
        let node = |version: &str, more: &str| format!("!transform/{name}-{version} {{{keys}{more}}}");
        let found = of_standard("1.5.0", &node(version, "")).unwrap();
        let stated = of_standard("1.6.0", &node(version, &format!(", {filled}"))).unwrap();
        for point in [[3.0, 4.0], [0.5, 7.0]] {
            let point = &point[..found.pixel_axes()];
            let values = [&found, &stated].map(|wcs| format!("{:?}", wcs.forward().evaluate_point(point).unwrap()));
            assert_eq!(values[0], values[1], "{name}");
        }
        for (standard, version) in [("1.6.0", version), ("1.5.0", newer)] {
            let error = of_standard(standard, &node(version, "")).unwrap_err();
            let key = filled.split(':').next().unwrap();
            assert!(error.to_string().contains(&format!("without {key}")), "{error}");
        }
    }
    // Projections have the same default, but asdf does not fill it in.
    let error = of_standard("1.5.0", "!transform/gnomonic-1.1.0 {}").unwrap_err();
    assert!(error.to_string().contains("without direction"), "{error}");
}

/// A test of the first tier.
#[test]
fn chain_accepts_quantity_first() {
    let quantity = |value: f64, unit: &str| format!("!unit/quantity-1.1.0 {{value: {value}, unit: !unit/unit-1.0.0 {unit}}}");
    let transform = format!(
        "!transform/compose-1.2.0 {{forward: [!transform/multiplyscale-1.0.0 {{factor: {}}}, !transform/shift-1.2.0 {{offset: {}}}]}}",
        quantity(2.0, "nm.pixel**-1"),
        quantity(100.0, "nm")
    );
    let axis = |name: &str, unit: &str| {
        format!("!<tag:stsci.edu:gwcs/frame-1.0.0> {{name: {name}, axes_names: [x], axes_order: [0], unit: [{unit}]}}")
    };
    let file = open(&format!(
        "wcs: !<tag:stsci.edu:gwcs/wcs-1.4.0>\n  name: ''\n  steps:\n  - {{frame: {}, transform: {transform}}}\n  - {{frame: {}}}",
        axis("detector", "pixel"),
        axis("world", "um")
    ));
    let found = file.wcs("").unwrap().expect("there are coordinates").wcs.forward().evaluate_point(&[3.0]).unwrap();
    assert!((found[0] - 0.106).abs() < 1e-15, "{found:?}");
}

/// A pipeline whose levels hold the level below twice.
fn doubled_shifts(levels: usize) -> trilith::File {
    let mut tree = "a0: &a0 !transform/concatenate-1.2.0 {forward: [!transform/shift-1.2.0 {offset: 1}, !transform/shift-1.2.0 {offset: 1}]}\n".to_owned();
    for level in 1..=levels {
        let below = level - 1;
        tree += &format!("a{level}: &a{level} !transform/compose-1.2.0 {{forward: [*a{below}, *a{below}]}}\n");
    }
    tree += &format!(
        "wcs: !<tag:stsci.edu:gwcs/wcs-1.4.0>\n  name: ''\n  steps:\n  - {{frame: {}, transform: *a{levels}}}\n  - {{frame: {}, transform: null}}",
        frame("detector"),
        frame("world")
    );
    open(&tree)
}

/// Tier: rest. A file of the IFU of NIRSpec has 20,500 nodes in its 30 slices, and one of its MOS 560 for each slitlet.
#[test]
fn description_of_many_nodes_is_read() {
    let wcs = doubled_shifts(14).wcs("").unwrap().expect("there are coordinates").wcs;
    let world = wcs.pixel_to_world(&[&[1.0], &[2.0]], WcsOptions::default()).unwrap();
    assert_eq!(world, [[16_385.0], [16_386.0]]);
}

/// Tier: first. A table of a few megabytes would take gigabytes as transforms.
#[test]
fn large_varying_transform_is_refused() {
    let table = vec!["[1.0, 2.0]"; 50_001].join(", ");
    let file = gwcs(&format!(
        "!<asdf://dkist.nso.edu/tags/varying_celestial_transform-1.1.0> {{crpix: [0.0, 0.0], cdelt: [1.0, 1.0], lon_pole: 180.0, \
         pc_table: [[1.0, 0.0], [0.0, 1.0]], crval_table: [{table}], projection: !transform/gnomonic-1.2.0 {{direction: pix2sky}}}}"
    ));
    let error = file.wcs("").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

#[test]
fn hostile_descriptions_are_refused() {
    let error = doubled_shifts(39).wcs("").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");

    let mut deep = "!transform/shift-1.2.0 {offset: 1}".to_owned();
    for _ in 0..90 {
        deep = format!("!transform/compose-1.2.0 {{forward: [{deep}, !transform/shift-1.2.0 {{offset: 1}}]}}");
    }
    assert_eq!(gwcs(&deep).wcs("").unwrap_err().kind(), ErrorKind::Limit);

    for (transform, kind) in [
        ("!transform/identity-1.2.0 {n_dims: 4000000000}", ErrorKind::Limit),
        ("!transform/remap_axes-1.2.0 {mapping: [9], n_inputs: 2}", ErrorKind::Malformed),
        ("!transform/compose-1.2.0 {forward: [!transform/identity-1.2.0 {n_dims: 2}]}", ErrorKind::Malformed),
        ("!transform/polynomial-1.2.0 {coefficients: !core/ndarray-1.0.0 [[1.0, 2.0]]}", ErrorKind::Malformed),
        ("!transform/shift-1.2.0 {offset: abc}", ErrorKind::Malformed),
        ("!transform/rotate_sequence_3d-1.0.0 {angles: [1, 2], axes_order: q, rotation_type: cartesian}", ErrorKind::Malformed),
    ] {
        let error = gwcs(transform).wcs("").unwrap_err();
        assert_eq!(error.kind(), kind, "{transform}: {error}");
    }
}

#[test]
fn description_cost_is_charged() {
    // Every transform here is written once, and used by many aliases.
    let used = |definition: &str, words: &str, times: usize| {
        let mut tree = format!("a: &a {definition}\nb0: &b0 !transform/concatenate-1.2.0 {{forward: [*a, *a]}}\n");
        for level in 1..times {
            tree += &format!("b{level}: &b{level} !transform/concatenate-1.2.0 {{forward: [*b{}, *a]}}\n", level - 1);
        }
        tree += &format!(
            "wcs: !<tag:stsci.edu:gwcs/wcs-1.4.0>\n  steps:\n  - {{frame: {}, transform: *b{}}}\n  - {{frame: {}, transform: null}}",
            frame("detector"),
            times - 1,
            frame("world")
        );
        let mut limits = Limits::default();
        let limit = match words {
            "nodes" if definition.contains("varying") => "nodes=60000",
            "nodes" => "nodes=6000",
            _ => "depth=200",
        };
        limits.set(limit).unwrap();
        OpenOptions::new().limits(limits).open_bytes(format!("{HEAD}{tree}\n...\n").into_bytes()).unwrap().wcs("")
    };
    let list = |count: usize| vec!["0.5"; count].join(", ");
    let wide: String = (0..8000).map(|number| format!(", k{number}: 0")).collect();
    let square = vec![format!("[{}]", list(60)); 60].join(", ");
    let tables = format!("crval_table: [{}]", vec!["[1.0, 2.0]"; 1500].join(", "));
    let projection = "projection: !transform/gnomonic-1.2.0 {direction: pix2sky}";
    let varying = format!(
        "!<asdf://dkist.nso.edu/tags/varying_celestial_transform-1.1.0> {{crpix: [0.0, 0.0], cdelt: [1.0, 1.0], lon_pole: 180.0, \
         pc_table: [[1.0, 0.0], [0.0, 1.0]], {tables}, {projection}}}"
    );
    for (definition, words) in [
        (format!("!transform/shift-1.2.0 {{offset: 1.0{wide}}}"), "nodes"),
        (format!("!transform/polynomial-1.2.0 {{coefficients: !core/ndarray-1.0.0 [{square}]}}"), "terms"),
        (format!("!transform/polynomial-1.2.0 {{coefficients: !core/ndarray-1.0.0 [{}]}}", list(70)), "degree"),
        (varying, "nodes"),
        (
            format!(
                "!transform/constant-1.2.0 {{value: 1.0, inverse: !transform/remap_axes-1.2.0 {{mapping: [{}]}}}}",
                vec!["0"; 2000].join(", ")
            ),
            "list",
        ),
        (
            "!transform/shift-1.2.0 {offset: {$ref: '#/q'}}\nq: !unit/quantity-1.1.0 {unit: pixel, value: {$ref: '#/q'}}"
                .to_owned(),
            "lists",
        ),
        (
            format!(
                "!transform/tabular-1.2.0 {{lookup_table: [{}], points: [[{}]]}}",
                "[".repeat(40) + "1" + &"]".repeat(40),
                list(2)
            ),
            "lists",
        ),
    ] {
        let error = used(&definition, words, 50).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{words}: {error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
}

fn compose(parts: &[&str]) -> String {
    let mut parts = parts.iter().rev();
    let last = (*parts.next().unwrap()).to_owned();
    parts.fold(last, |after, part| format!("!transform/compose-1.2.0 {{forward: [{part}, {after}]}}"))
}

/// First tier. A projection is inverted for directions: gwcs 1.0.3 gives it longitudes from 180 to 360 degrees, for which wcslib has
/// another place.
#[test]
fn inverse_of_projection_takes_any_turn() {
    for projection in ["molleweide", "sanson_flamsteed", "conic_equal_area"] {
        let parameters = if projection.starts_with("conic") { ", sigma: -60.0, delta: 10.0" } else { "" };
        let chain = compose(&[
            &format!("!transform/{projection}-1.2.0 {{direction: pix2sky{parameters}}}"),
            "!transform/rotate3d-1.3.0 {direction: celestial2native, phi: 62.5, theta: 71.0, psi: 151.25}",
        ]);
        let wcs = wcs(&chain);
        let pixels: [&[f64]; 2] = [&[-17.75, -26.25, 14.5, 60.0], &[-10.125, -28.5, 8.5, 2.0]];
        let world = wcs.pixel_to_world(&pixels, WcsOptions::default()).unwrap();
        for method in [InverseMethod::Declared, InverseMethod::Iterative] {
            let back = wcs.world_to_pixel(&slices(&world), WcsOptions::default().with_inverse(method)).unwrap();
            for (found, wanted) in back.iter().flatten().zip(pixels.iter().copied().flatten()) {
                assert!((found - wanted).abs() < 1e-9, "{projection} {method:?}: {found}, expected {wanted}");
            }
        }
    }
    // The plate carrée of astropy's models has no edges, unlike that of FITS headers.
    let car = wcs("!transform/plate_carree-1.2.0 {direction: pix2sky}");
    assert_eq!(car.pixel_to_world(&[&[200.0], &[20.0]], WcsOptions::default()).unwrap(), [[200.0], [20.0]]);
}

/// First tier. astropy 8.0.2: the input is brought into the unit of the translation, here by the scale that the node names.
#[test]
fn affine_transform_has_unit_of_its_translation() {
    let quantity = |value: &str, unit: &str| format!("!unit/quantity-1.1.0 {{unit: {unit}, value: {value}}}");
    let scale = quantity("3600.0", "arcsec pixel-1");
    let node = format!(
        "!transform/affine-1.3.0 {{inputs: [x, y], matrix: {}, translation: {}, input_units_equivalencies: {{x: [{{name: pixel_scale, \
         kwargs_names: [pixscale], kwargs_values: [{scale}]}}], y: [{{name: pixel_scale, kwargs_names: [pixscale], kwargs_values: [{scale}]}}]}}}}",
        quantity("!core/ndarray-1.0.0 [[2.0, 1.0], [-1.0, 3.0]]", "deg"),
        quantity("!core/ndarray-1.0.0 [0.5, 0.25]", "deg"),
    );
    // Degrees become the pixels of the frame.
    let product = format!("!transform/multiplyscale-1.0.0 {{factor: {}}}", quantity("2.0", "pixel deg-1"));
    let chain = compose(&[&node, &format!("!transform/concatenate-1.2.0 {{forward: [{product}, {product}]}}")]);
    let found = wcs(&chain).pixel_to_world(&[&[1.0], &[2.0]], WcsOptions::default()).unwrap();
    assert_eq!(found, [[9.0], [10.5]]);
}

/// First tier. stdatamodels 6.0.0: the values of the models of `stdatamodels.jwst.transforms`.
#[test]
fn jwst_transforms_equal_stdatamodels() {
    let tag = |rest: &str| format!("!<tag:stsci.edu:jwst_pipeline/{rest}>");
    let check = |definition: &str, point: &[f64], wanted: &[f64]| {
        let found = wcs(definition).forward().evaluate_point(point).unwrap();
        assert_eq!(found.len(), wanted.len(), "{definition}");
        for (found, wanted) in found.iter().zip(wanted) {
            let is_equal = (found - wanted).abs() < 4e-16 || found.is_nan() && wanted.is_nan();
            assert!(is_equal, "{definition}: {found}, expected {wanted}");
        }
    };
    check(
        &tag("coords-1.0.0").replace('>', "> {model_type: directional2unitless}"),
        &[0.28780500956702576, 0.33692052845550635, 0.22897070042867124],
        &[1.2569512563319538, 1.4714569498400236],
    );
    check(
        &tag("coords-1.0.0").replace('>', "> {model_type: unitless2directional}"),
        &[0.30477378936459526, 0.48575596825073775],
        &[0.26438712399692327, 0.42138670676997664, 0.8674864218085429],
    );
    check(
        &tag("grating_equation-1.0.0").replace('>', "> {groove_density: 95400.0, order: -1, output: angle}"),
        &[2.1904781985541657e-06, 0.47320282303921835, 0.40692434772223174, 0.3961964365442615],
        &[-0.26423120289715096, -0.40692434772223174, 0.8744109140709309],
    );
    check(
        &tag("grating_equation-1.0.0").replace('>', "> {groove_density: 95400.0, order: -1, output: wavelength}"),
        &[0.42681098738504863, 0.2668852139431047, 0.28828422479540605],
        &[7.495756941094913e-06],
    );
    check(
        &tag("miri_ab2slice-1.0.0").replace('>', "> {beta_zero: -1.77, beta_del: 0.177, channel: 1}"),
        &[0.43916821675156326],
        &[113.0],
    );
    let rotation = tag("rotation_sequence-1.0.0").replace('>', "> {angles: [1.0, 2.0, 3.0], axes_order: zyx}");
    check(
        &rotation,
        &[0.23559881895545332, 0.29458658678154226, 0.1509596039255645],
        &[0.20823617073948486, 0.33891181114952124, 0.9174837772184897],
    );
    for (condition, wanted) in
        [("GT", [0.1, 0.3, 7.0]), ("LT", [7.0, 0.3, 0.5]), ("EQ", [0.1, 7.0, 0.5]), ("NE", [7.0, 0.3, 7.0])]
    {
        let node = tag("logical-1.0.0").replace('>', &format!("> {{condition: {condition}, compareto: 0.3, value: 7.0}}"));
        [0.1, 0.3, 0.5].iter().zip(wanted).for_each(|(x, wanted)| check(&node, &[*x], &[wanted]));
        check(&node, &[f64::NAN], &[f64::NAN]);
    }
    // Slits by number, and by their descriptions, whose last part is the number.
    let models = "models: [!transform/concatenate-1.2.0 {forward: [!transform/scale-1.2.0 {factor: 2.0}, !transform/shift-1.2.0 {offset: 1.0}]}, \
                  !transform/concatenate-1.2.0 {forward: [!transform/scale-1.2.0 {factor: 4.0}, !transform/shift-1.2.0 {offset: 3.0}]}]";
    let described =
        |number: f64| format!("[S, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0, '', '', '', 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, {number:?}]");
    for slits in ["[1, 7]".to_owned(), format!("[{}, {}]", described(1.0), described(7.0))] {
        let node = tag("slit_to_msa-1.1.0").replace('>', &format!("> {{slits: {slits}, {models}}}"));
        check(&node, &[7.0, 0.5, 0.25], &[2.0, 3.25, 7.0]);
        check(&node, &[2.0, 0.5, 0.25], &[f64::NAN; 3]);
        for method in [InverseMethod::Declared, InverseMethod::Iterative] {
            let back = wcs(&node).world_to_pixel(&[&[2.0], &[3.25], &[7.0]], WcsOptions::default().with_inverse(method)).unwrap();
            assert_eq!(back, [[7.0], [0.5], [0.25]], "{method:?}");
        }
        let node = tag("msa_to_slit-1.0.0").replace('>', &format!("> {{slits: {slits}, {models}}}"));
        check(&node, &[0.5, 0.25, 1.0], &[1.0, 1.0, 1.25]);
    }
    let names = tag("slit_to_msa-1.1.0").replace('>', &format!("> {{slits: [S200A1, S1600A1], {models}}}"));
    let error = gwcs(&names).wcs("").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[test]
fn iteration_ends_without_matching_pixel() {
    // x² + 1 has no pixel for 0, and two for 5; nearly flat functions have none that an iteration finds.
    let square = "!transform/polynomial-1.2.0 {coefficients: !core/ndarray-1.0.0 [1.0, 0.0, 1.0]}";
    let flat = "!transform/polynomial-1.2.0 {coefficients: !core/ndarray-1.0.0 [1.0, 0.0, 0.0, 1.0e-30]}";
    let both =
        wcs(&format!("!transform/concatenate-1.2.0 {{forward: [{square}, {square}], bounding_box: [[-10, 10], [-10, 10]]}}"));
    let found =
        both.world_to_pixel(&[&[0.0, 5.0, f64::NAN, f64::INFINITY], &[5.0, 5.0, 5.0, 5.0]], WcsOptions::default()).unwrap();
    assert!((found[0][1].abs() - 2.0).abs() < 1e-9 && (found[1][1].abs() - 2.0).abs() < 1e-9, "{found:?}");
    assert!([0, 2, 3].iter().all(|at| found.iter().all(|column| column[*at].is_nan())), "{found:?}");
    let none = wcs(&format!("!transform/concatenate-1.2.0 {{forward: [{flat}, {flat}], bounding_box: [[-10, 10], [-10, 10]]}}"));
    assert!(none.world_to_pixel(&[&[2.0], &[2.0]], WcsOptions::default()).unwrap().iter().flatten().all(|x| x.is_nan()));
}

#[test]
fn indices_of_dkist_are_raveled_and_unraveled() {
    let ravel =
        |order: &str| wcs(&format!("!<asdf://dkist.nso.edu/tags/ravel_model-1.2.0> {{array_shape: [3, 4], order: {order}}}"));
    for (order, wanted) in [("C", [6.25, 2.75, 11.0]), ("F", [7.0, 9.0, 11.0])] {
        let number = ravel(order);
        let found = number.pixel_to_world(&[&[1.0, 0.0, 2.0, 3.0], &[2.25, 2.75, 3.0, 0.0]], WcsOptions::default()).unwrap();
        assert_eq!(found[0][..3], wanted, "{order}");
        assert!(found[0][3].is_nan());
        let back = number.forward().inverse().unwrap();
        assert_eq!(back.evaluate_point(&[11.0]).unwrap(), [2.0, 3.0], "{order}");
        assert!(back.evaluate_point(&[12.0]).unwrap().iter().all(|x| x.is_nan()));
    }
    assert_eq!(ravel("C").forward().inverse().unwrap().evaluate_point(&[6.25]).unwrap(), [1.0, 2.25]);
}

/// `LookupTable` of gwcs, which early files of DKIST have: the element of a rounded index.
#[test]
fn lookup_table_takes_rounded_index() {
    let wcs = wcs("!<tag:stsci.edu:gwcs/lookuptable-1.0.0> {lookup_table: !core/ndarray-1.0.0 [5.0, 7.0, 11.0]}");
    let found = wcs.pixel_to_world(&[&[-0.4, 1.2, 1.7, 2.6]], WcsOptions::default()).unwrap();
    assert_eq!(found[0][..3], [5.0, 7.0, 11.0]);
    assert!(found[0][3].is_nan());
    let back = wcs.world_to_pixel(&[&[7.0, 11.0, 8.0]], WcsOptions::default()).unwrap();
    assert_eq!(back[0][..2], [1.0, 2.0]);
    assert!(back[0][2].is_nan());
}

/// A raster of a slit, as the pipeline of DKIST writes that of VISP: the number of the step chooses the transform, and time returns it.
#[test]
fn raster_of_slit_is_inverted_exactly() {
    let step = |number: u32| format!("[{}.0, 20.0]", 10 * number);
    let crval = (0..4).map(step).collect::<Vec<_>>().join(", ");
    let tables = format!(
        "crpix: [2.0, 3.0], cdelt: [1.0, 2.0], lon_pole: 180.0, pc_table: [[1.0, 0.0], [0.0, 1.0]], crval_table: [{crval}], \
         projection: !transform/gnomonic-1.2.0 {{direction: pix2sky}}"
    );
    let varying = format!("!<asdf://dkist.nso.edu/tags/varying_celestial_transform-1.1.0> {{{tables}}}");
    let mapping = "!<asdf://dkist.nso.edu/tags/asymmetric_mapping_model-1.0.0>";
    // Step and slit are swapped, and the step is the index; the way back names only the position along the slit.
    let raster = format!(
        "!transform/compose-1.2.0 {{forward: [{mapping} {{forward_mapping: [1, 0], backward_mapping: [0], forward_n_inputs: 2}}, \
         !transform/compose-1.2.0 {{forward: [{mapping} {{forward_mapping: [0, 1, 0], backward_mapping: [1], forward_n_inputs: 2, \
         backward_n_inputs: 2}}, {varying}]}}]}}"
    );
    let old = format!("!<asdf://dkist.nso.edu/tags/varying_celestial_transform_slit-1.0.0> {{{tables}}}");
    let table = |values: &str| {
        format!(
            "!transform/tabular-1.2.0 {{points: [[0.0, 1.0, 2.0, 3.0]], lookup_table: {values}, method: linear, fill_value: .nan, bounds_error: false}}"
        )
    };
    let right = format!(
        "!transform/concatenate-1.2.0 {{forward: [{}, {}]}}",
        table("[0.0, 5.0, 11.0, 18.0]"),
        table("[1.0, 2.0, 3.0, 4.0]")
    );
    for left in [raster, old] {
        let wcs = wcs(&format!(
            "!<asdf://dkist.nso.edu/tags/coupled_compound_model-1.0.0> {{forward: [{left}, {right}], shared_inputs: 1}}"
        ));
        let pixels: [&[f64]; 3] = [&[0.0, 1.5, 4.0], &[0.0, 2.0, 3.0], &[0.0, 1.0, 3.0]];
        let world = wcs.pixel_to_world(&pixels, WcsOptions::default()).unwrap();
        assert_eq!(world.len(), 4);
        let found = wcs.world_to_pixel(&slices(&world), WcsOptions::default()).unwrap();
        for (found, pixels) in found.iter().flatten().zip(pixels.into_iter().flatten()) {
            assert!((found - pixels).abs() < 1e-8, "{found} for {pixels}");
        }
        // A time that contradicts the place is the place of no pixel.
        let mut other = world;
        other[2].iter_mut().for_each(|time| *time = (*time + 5.0) % 18.0);
        let found = wcs.world_to_pixel(&slices(&other), WcsOptions::default()).unwrap();
        assert!(found.iter().flatten().all(|x| x.is_nan()), "{found:?}");
    }
}

#[test]
fn array_finds_coordinates_next_to_and_above() {
    let shifts =
        "!transform/concatenate-1.2.0 {forward: [!transform/shift-1.2.0 {offset: 1.0}, !transform/shift-1.2.0 {offset: 2.0}]}";
    let text = format!(
        "roman:\n  data: !core/ndarray-1.0.0 [[1, 2, 3], [4, 5, 6]]\n  more: {{dq: !core/ndarray-1.0.0 [[1, 2, 3], [4, 5, 6]]}}\n  meta:\n    wcs: !<tag:stsci.edu:gwcs/wcs-1.4.0>\n      \
         name: ''\n      steps:\n      - {{frame: {}, transform: {shifts}}}\n      - {{frame: sky, transform: null}}\nother: 1",
        frame("detector")
    );
    let file = open(&text);
    for path in ["/roman/data", "/roman/more/dq", "/roman/meta/wcs", "/roman", ""] {
        let found = file.wcs(path).unwrap().unwrap_or_else(|| panic!("{path}"));
        assert_eq!(found.path, "/roman/meta/wcs", "{path}");
        let has_shape = found.wcs.pixel_shape().is_some();
        assert_eq!(has_shape, !matches!(path, "/roman/meta/wcs" | "/roman"), "{path}");
    }
    assert_eq!(file.wcs("/roman/data").unwrap().unwrap().wcs.pixel_shape().unwrap(), [3, 2]);
    assert!(file.wcs("/other").unwrap().is_none());
    assert_eq!(file.wcs("/absent").unwrap_err().kind(), ErrorKind::NotFound);
}

/// The samples, the pixels of which are an image.
const IMAGES: &[&str] = &["1_roman_like", "1b_roman_like_at_ra_0", "2_fits_imaging", "3_nircam_like"];

fn column(table: &Array, name: &str) -> Option<Vec<f64>> {
    table.field(name).ok().map(|field| field.load_as::<f64>().unwrap())
}

/// Columns with a prefix and a number.
fn columns(table: &Array, prefix: &str) -> Vec<Vec<f64>> {
    (0..8).map_while(|axis| column(table, &format!("{prefix}{axis}"))).collect()
}

fn slices(columns: &[Vec<f64>]) -> Vec<&[f64]> {
    columns.iter().map(Vec::as_slice).collect()
}

/// Points at the corners and along the edges of a box, a column for each axis. Axes of indices have whole numbers.
fn edges(intervals: &[Option<(f64, f64)>]) -> Vec<Vec<f64>> {
    let mut points = vec![Vec::new(); intervals.len()];
    let shares = [0.0, 0.13, 0.52, 0.77, 1.0];
    for number in 0..shares.len().pow(intervals.len() as u32) {
        let chosen: Vec<f64> =
            (0..intervals.len()).map(|axis| shares[number / shares.len().pow(axis as u32) % shares.len()]).collect();
        if !chosen.iter().any(|share| [0.0, 1.0].contains(share)) {
            continue;
        }
        for ((column, share), interval) in points.iter_mut().zip(&chosen).zip(intervals) {
            let (low, high) = interval.unwrap_or((0.0, 10.0));
            column.push(low + (high - low) * share);
        }
    }
    points
}

/// The folder of the samples.
fn shared() -> Option<std::path::PathBuf> {
    let near = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/wcs"));
    let found = near.into_iter().find(|folder| folder.is_dir());
    if found.is_none() {
        eprintln!("skipped: the folder shared/wcs is not there");
    }
    found
}

#[test]
fn gwcs_samples_match_gwcs_values() {
    let Some(folder) = shared() else { return };
    let others = ["4_spectral_tabular", "4b_cube_quantity", "5_dkist_like"];
    for name in IMAGES.iter().chain(&others) {
        let file = trilith::open(folder.join(format!("{name}.asdf"))).unwrap();
        let wcs = file.wcs("").unwrap().expect("every sample has coordinates").wcs;
        let points = trilith::bytes::open(folder.join(format!("{name}.npy")), LocalOptions::default()).unwrap();
        let table = Array::from_npy(points, &Limits::default()).unwrap();
        let (pixels, world) = (columns(&table, "pixel"), columns(&table, "world"));
        let unit: Vec<f64> =
            (0..world.len()).map(|axis| if wcs.world_axis(axis).unit == "arcsec" { 3600.0 } else { 1.0 }).collect();
        let free = WcsOptions::default().with_bounding_box(false);
        let found = wcs.pixel_to_world(&slices(&pixels), free).unwrap();
        let mut worst = 0f64;
        for (axis, (found, wanted)) in found.iter().zip(&world).enumerate() {
            let is_longitude = wcs.sky().is_some_and(|sky| sky.0 == axis);
            for (found, wanted) in found.iter().zip(wanted) {
                if wanted.is_nan() {
                    continue;
                }
                let turn = 360.0 * unit[axis];
                let off = if is_longitude { (found - wanted + turn / 2.0).rem_euclid(turn) - turn / 2.0 } else { found - wanted };
                worst = worst.max(if off.is_nan() { f64::INFINITY } else { off.abs() / unit[axis] });
            }
        }
        assert!(worst < 1e-12, "{name}: forward differs by {worst}");

        // There and back, inside of the box: also at its corners and along its edges.
        let edge = wcs.bounding_box().map(|bounds| edges(&bounds.intervals())).unwrap_or_default();
        let mut pixels = pixels;
        pixels.iter_mut().zip(&edge).for_each(|(column, more)| column.extend(more));
        let boxed = wcs.pixel_to_world(&slices(&pixels), WcsOptions::default()).unwrap();
        let count = edge.first().map_or(0, Vec::len);
        let is_whole = boxed.iter().all(|column| column[column.len() - count..].iter().all(|x| x.is_finite()));
        assert!(is_whole || name.starts_with("4_"), "{name}: no coordinates at an edge of the box");
        let back = wcs.world_to_pixel(&slices(&boxed), WcsOptions::default()).unwrap();
        let mut trip = 0f64;
        for at in 0..pixels[0].len() {
            if boxed.iter().any(|column| column[at].is_nan()) {
                continue;
            }
            // Four units in the last place of the coordinates, as pixels.
            let most = boxed.iter().map(|column| column[at].abs()).fold(0.0, f64::max);
            let scale = wcs.scale().map_or(1.0, |scale| scale / 3600.0 * unit[0]);
            let room = 1e-8f64.max(4.0 * f64::EPSILON * most / scale);
            for (back, pixel) in back.iter().zip(&pixels) {
                let off = (back[at] - pixel[at]).abs();
                assert!(off <= room, "{name} point {at}: {} is back at {}", pixel[at], back[at]);
                trip = trip.max(off);
            }
        }
        eprintln!("{name}: forward within {worst:e}, round trip within {trip:e} pixels");

        let wanted = columns(&table, "back");
        if !wanted.is_empty() {
            let from_file = wcs.world_to_pixel(&slices(&world), free.with_inverse(InverseMethod::Declared)).unwrap();
            for (found, wanted) in from_file.iter().flatten().zip(wanted.iter().flatten()) {
                assert!(
                    wanted.is_nan() || (found - wanted).abs() < 1e-7,
                    "{name}: inverse of the file {found}, expected {wanted}"
                );
            }
        }
    }
}

/// A header gives the positions of the sample, for each point that it has.
#[test]
fn headers_match_positions_of_samples() {
    let Some(folder) = shared() else { return };
    for (name, degrees) in
        [("1_roman_like", 2..=6), ("1b_roman_like_at_ra_0", 2..=6), ("2_fits_imaging", 1..=1), ("3_nircam_like", 2..=6)]
    {
        let file = trilith::open(folder.join(format!("{name}.asdf"))).unwrap();
        let wcs = file.wcs("").unwrap().unwrap().wcs;
        let header = wcs.to_fits(&Default::default()).unwrap();
        println!("{name}: degree {}, {:e} and {:?} pixels", header.degree, header.max_error, header.inverse_error);
        assert!(header.max_error <= 1e-3 && degrees.contains(&header.degree), "{name}: {header:?}");
        let read = header.keywords().wcs(&Default::default()).unwrap().unwrap();
        let (low, high) = (wcs.pixel_range().unwrap()[0].0, wcs.pixel_range().unwrap()[0].1);
        for at in 0..20 {
            let point = low + (high - low) * f64::from(at) / 19.0;
            let (there, back) = (
                wcs.forward().evaluate_point(&[point, high - point]).unwrap(),
                read.forward().evaluate_point(&[point, high - point]).unwrap(),
            );
            let apart = (there[0] - back[0]).abs().max((there[1] - back[1]).abs()) * 3600.0;
            assert!(apart < 1e-3 * wcs.scale().unwrap() * 3.0, "{name} at {point}: {apart} arcsec");
        }
    }
}

#[test]
fn empty_path_selects_image_of_file() {
    let array = |shape: &str| format!("!core/ndarray-1.1.0 {{source: 0, datatype: float32, byteorder: little, shape: {shape}}}");
    let header =
        "{ctype1: RA---TAN, ctype2: DEC--TAN, crpix1: 1, crpix2: 1, crval1: 10.0, crval2: 20.0, cdelt1: -0.1, cdelt2: 0.1}";
    let tree = |arrays: &str| format!("roman:\n  meta: {header}\n{arrays}");
    let file = |arrays: &str| {
        let mut bytes = format!("{HEAD}{}\n...\n", tree(arrays)).into_bytes();
        bytes.extend(b"\xd3BLK\x00\x30\x00\x00\x00\x00\x00\x00\x00\x00");
        [400u64, 400, 400].iter().for_each(|size| bytes.extend(size.to_be_bytes()));
        bytes.extend([0u8; 16 + 400]);
        OpenOptions::new().open_bytes(bytes).unwrap()
    };
    let (small, large, cube) = (array("[3, 4]"), array("[5, 6]"), array("[2, 5, 7]"));
    // An array `data` comes before a larger one, a larger one before those that come first.
    for (arrays, expected) in [
        (format!("  amp33: {cube}\n  data: {small}\n  err: {large}"), "/roman/data"),
        (format!("  amp33: {small}\n  image: {large}"), "/roman/image"),
        (format!("  table: {}\n  image: {small}", array("[40]")), "/roman/image"),
    ] {
        let file = file(&arrays);
        let found = file.wcs("").unwrap().expect("there are coordinates");
        assert_eq!((found.array.as_deref(), found.path.as_str()), (Some(expected), "/roman/meta"), "{arrays}");
        assert_eq!(file.image().unwrap().as_deref(), Some(expected));
        let every = file.every_wcs().unwrap();
        assert_eq!(every.len(), 1, "{arrays}");
        // The extent is that of the image.
        let shape = file.item(expected).unwrap().describe().unwrap().shape;
        assert_eq!(found.wcs.pixel_shape().unwrap(), [shape[1], shape[0]]);
        let cutout = file.cutout("", [10.0, 20.0], "1px".parse().unwrap(), Default::default()).unwrap().expect("inside");
        assert_eq!(cutout.path(), expected);
    }
}

/// A FITS file of one image with a header of SIP, an alternate description, and values that are no keywords of coordinates.
fn fits_with_sip() -> Vec<u8> {
    let cards = [
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                    2",
        "NAXIS1  =                   40",
        "NAXIS2  =                   30",
        "CTYPE1  = 'RA---TAN-SIP'",
        "CTYPE2  = 'DEC--TAN-SIP'",
        "CRPIX1  =                 20.5",
        "CRPIX2  =                   15 / a whole number",
        "CRVAL1  =                150.1",
        "CRVAL2  =                  2.2",
        "CD1_1   =              -1.4D-5",
        "CD1_2   =                    0",
        "CD2_1   =                    0",
        "CD2_2   =               1.4E-5",
        "A_ORDER =                    2",
        "A_2_0   =                2E-06",
        "A_02_0  =                    7 / no term of SIP",
        "B_ORDER =                    2",
        "B_0_2   =               -2E-06",
        "CTYPE1B = 'GLON-TAN-SIP'",
        "CTYPE2B = 'GLAT-TAN-SIP'",
        "CRVAL1B =                 12.0",
        "CDELT1B =                -0.01",
        "CDELT2B =                 0.01",
        "BIG     = 99999999999999999999",
        "EMPTY   =",
        "COMMENT CRVAL1  = 3",
        "END",
    ];
    let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    bytes.resize(2880, b' ');
    bytes.resize(2 * 2880, 0);
    bytes
}

#[test]
fn fits_coordinates_need_no_card_rows() {
    for key in ["", "B"] {
        let key: trilith::wcs::WcsKey = if key.is_empty() { Default::default() } else { key.parse().unwrap() };
        let described = |has_rows: bool| {
            let file = OpenOptions::new().card_rows(has_rows).open_bytes(fits_with_sip()).unwrap();
            let found = file.every_wcs_by_key(key).unwrap();
            found.into_iter().map(|found| found.unwrap()).map(|found| format!("{found:?}")).collect::<Vec<_>>()
        };
        let expected = described(true);
        assert_eq!(expected.len(), 1);
        assert_eq!(described(false), expected);
    }
}

#[test]
fn columns_of_attributes_need_no_card_rows() {
    let needs_rows = [
        ("a=/fits/0@CRVAL1", false),
        ("a=/fits/0@CRPIX2.comment", false),
        ("a=@CRVAL2", false),
        ("a=/fits/0@NOTHING", false),
        ("a=@footprint", false),
        ("a=/fits/0/header/CRVAL1", true),
        ("a=/fits/0/header@size", true),
        ("a=/fits/0/header@NOTHING", true),
        ("a=/fits/0", true),
        ("a=/fits/0/data@shape", true),
    ];
    for (column, expected) in needs_rows {
        let query = Query::new([column]).unwrap();
        assert_eq!(query.needs_card_rows(), expected, "{column}");
        let rows = |has_rows: bool| {
            let file = OpenOptions::new().card_rows(has_rows).open_bytes(fits_with_sip()).unwrap();
            query.rows("a.fits", &file).map_err(|error| error.to_string())
        };
        assert_eq!(rows(query.needs_card_rows()), rows(true), "{column}");
    }
}
