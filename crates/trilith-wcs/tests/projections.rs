//! All projections against wcslib, by headers in `expected` and by the points in `../shared`, where there are some.

#![allow(
    clippy::unwrap_used,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a test may stop where something is not as expected"
)]

use serde_json::Value;
use trilith_wcs::{HeaderKeywords, Projection, WcsLimits, WcsOptions};

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect()
}

/// Returns the distance of two positions on the sky, in degrees.
fn apart(a: (f64, f64), b: (f64, f64)) -> f64 {
    let turn = (a.0 - b.0 + 180.0).rem_euclid(360.0) - 180.0;
    (turn * a.1.to_radians().cos()).hypot(a.1 - b.1)
}

/// The projections that wcslib computes with numbers of 32 bits, or by a polynomial that fits to a hundredth of a pixel only.
fn room(code: &str) -> f64 {
    match code {
        "CSC" => 2e-4,
        "AIR" | "PCO" => 1e-9,
        _ => 1e-10,
    }
}

#[test]
fn headers_give_what_wcslib_gives() {
    let text = include_str!("expected/headers.json");
    let all: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(all.len() > 80);
    let mut faults = Vec::new();
    for one in &all {
        let name = one["name"].as_str().unwrap();
        let mut keywords = HeaderKeywords::default();
        for (key, value) in one["cards"].as_object().unwrap() {
            match value {
                Value::String(text) => keywords.insert_text(key, text),
                number => keywords.insert_number(key, number.as_f64().unwrap()),
            }
        }
        keywords.insert_number("NAXIS1", 201.0);
        keywords.insert_number("NAXIS2", 201.0);
        let wcs = keywords.wcs(&WcsLimits::default());
        if one.get("x").is_none() {
            assert!(wcs.is_err(), "{name}: wcslib refuses {}", one["cards"]);
            continue;
        }
        let wcs = wcs.unwrap().unwrap();
        let [x, y, lon, lat] = ["x", "y", "lon", "lat"].map(|key| numbers(&one[key]));
        let world = wcs.pixel_to_world(&[&x, &y], WcsOptions::default()).unwrap();
        let back = wcs.world_to_pixel(&[&world[0], &world[1]], WcsOptions::default().with_bounding_box(false)).unwrap();
        for at in 0..x.len() {
            let (found, wanted) = ((world[0][at], world[1][at]), (lon[at], lat[at]));
            let far = apart(found, wanted);
            if found.0.is_nan() != wanted.0.is_nan() || far > room(name) {
                faults.push(format!("{name} {} {}: {found:?}, expected {wanted:?}", x[at], y[at]));
            }
            let off = (back[0][at] - x[at]).hypot(back[1][at] - y[at]);
            if !found.0.is_nan() && !(off < 1e-8) {
                faults.push(format!("{name} {} {}: back at {} {}", x[at], y[at], back[0][at], back[1][at]));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn projections_match_shared_table() {
    let near =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/wcs/8_projections.json"));
    let Some(text) = near.into_iter().find_map(|path| std::fs::read_to_string(path).ok()) else {
        eprintln!("skipped: the folder shared/wcs is not there");
        return;
    };
    // Python writes numbers that are not JSON.
    let all: Value = serde_json::from_str(&text.replace("NaN", "null")).unwrap();
    let mut faults = Vec::new();
    for (code, one) in all.as_object().unwrap() {
        // In the order of the standard, which objects of JSON do not keep.
        let order = ["mu", "gamma", "phi0", "theta0", "xi", "eta", "theta_b", "lam", "sigma", "delta", "theta1", "H", "X"];
        let parameters: Vec<f64> = order.iter().filter_map(|name| one["parameters"].get(name)?.as_f64()).collect();
        let projection = Projection::new(code, &parameters).unwrap();
        let [phi, theta, x, y, back_phi, back_theta] =
            ["phi", "theta", "x", "y", "back_phi", "back_theta"].map(|key| numbers(&one[key]));
        for at in 0..phi.len() {
            let plane = projection.to_plane(phi[at], theta[at]);
            let (px, py) = plane.unwrap_or((f64::NAN, f64::NAN));
            let room = room(code) * (1.0 + x[at].hypot(y[at]) / 10.0);
            if plane.is_none() != x[at].is_nan() || (px - x[at]).abs() > room || (py - y[at]).abs() > room {
                faults.push(format!("{code} to plane {} {}: {plane:?}, expected {} {}", phi[at], theta[at], x[at], y[at]));
            }
            if back_phi[at].is_nan() {
                continue;
            }
            let sphere = projection.to_sphere(x[at], y[at]);
            let far = sphere.map_or(f64::NAN, |found| apart(found, (back_phi[at], back_theta[at])));
            if !(far <= if code == "CSC" { 1e-5 } else { self::room(code) }) {
                faults.push(format!(
                    "{code} to sphere {} {}: {sphere:?}, expected {} {}",
                    x[at], y[at], back_phi[at], back_theta[at]
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
