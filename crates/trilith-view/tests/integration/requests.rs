//! Requests of a viewer, and their answers: pages of trees, tables and texts, pictures, values, refusals.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]

use serde_json::{Value, json};
use trilith::OpenOptions;
use trilith_view::requests::{ViewerRequest, ViewerResponse, ViewerSession, respond};

/// A session with one file: this tree.
fn session(tree: &str) -> ViewerSession {
    let bytes = format!("#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\n{tree}...\n").into_bytes();
    let session = ViewerSession::new(move |_| OpenOptions::new().open_bytes(bytes.clone()));
    session.add("x.asdf", "x.asdf");
    session
}

fn ask(session: &ViewerSession, name: &str, query: &str) -> ViewerResponse {
    respond(session, &ViewerRequest::new(name, query))
}

fn json_of(session: &ViewerSession, name: &str, query: &str) -> Value {
    let said = ask(session, name, query);
    assert_eq!(said.status, 200, "{name}?{query}: {}", String::from_utf8_lossy(&said.body));
    serde_json::from_slice(&said.body).unwrap()
}

const ARRAY: &str = "!core/ndarray-1.1.0";

#[test]
fn children_are_paged() {
    let many: String = (0..5000).map(|n| format!("  k{n}: {n}\n")).collect();
    let session = session(&format!("many:\n{many}list: [a, {{b: 1}}]\n"));
    let page = json_of(&session, "tree", "path=/many&offset=4990&limit=100");
    assert_eq!((&page["count"], page["children"].as_array().unwrap().len()), (&json!(5000), 10));
    assert_eq!(page["children"][9]["path"], "/many/k4999");
    assert_eq!(page["children"][9]["text"], "4999");
    let list = json_of(&session, "tree", "path=/list");
    assert_eq!(list["children"][1]["kind"], "mapping");
    assert_eq!((&list["children"][0]["name"], &list["children"][0]["path"]), (&Value::Null, &json!("/list/0")));
    assert_eq!(json_of(&session, "tree", "path=/many&offset=9999")["children"], json!([]));
    let found = json_of(&session, "search", "q=K4999");
    assert_eq!(found["children"][0]["path"], "/many/k4999");
    assert_eq!(json_of(&session, "search", "q=k&limit=3")["more"], true);
}

#[test]
fn item_lists_its_views() {
    let session = session(&format!(
        "plane: {ARRAY} [[1.5, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]]\nline: {ARRAY} [1, 2, 3]\nlong: |\n  a\n  b\n\
         t: {{columns: [{{name: a, unit: s, data: {ARRAY} [3, 1, 2]}}]}}\n"
    ));
    for (path, views) in [
        ("/plane", json!(["image", "table"])),
        ("/line", json!(["plot", "table"])),
        ("/long", json!(["text"])),
        ("/t", json!(["table", "plot"])),
        ("", json!([])),
    ] {
        assert_eq!(json_of(&session, "item", &format!("path={path}"))["views"], views, "{path}");
    }
    assert_eq!(json_of(&session, "text", "path=/long")["lines"], json!(["a", "b"]));
    assert_eq!(json_of(&session, "lines", "offset=0&limit=1")["lines"], json!(["#ASDF 1.0.0"]));
}

#[test]
fn elements_are_values_profiles_and_pictures() {
    let session = session(&format!("a: {ARRAY} [[1.5, 2, 3, .nan], [5, 6, 7, 8]]\n"));
    assert_eq!(json_of(&session, "values", "path=/a&x=2&y=0&w=9&h=9")["values"], json!([["3.0", "NaN"], ["7.0", "8.0"]]));
    assert_eq!(json_of(&session, "profile", "path=/a&row=0")["low"], json!([1.5, 2.0, 3.0, null]));
    let reduced = json_of(&session, "profile", "path=/a&row=1&points=2");
    assert_eq!((&reduced["low"], &reduced["high"]), (&json!([5.0, 7.0]), &json!([6.0, 8.0])));
    assert_eq!(json_of(&session, "profile", "path=/a&column=1&from=1")["low"], json!([6.0]));
    let levels = json_of(&session, "levels", "path=/a&interval=minmax");
    assert_eq!((&levels["low"], &levels["high"]), (&json!(1.5), &json!(8.0)));
    let counts = json_of(&session, "histogram", "path=/a&bins=2");
    assert_eq!(counts["counts"], json!([3, 4]));
    let picture = ask(&session, "image", "path=/a&width=4&height=2&low=0&high=8&cmap=viridis&stretch=sqrt");
    assert_eq!((picture.status, picture.content_type, &picture.body[1..4]), (200, "image/png", &b"PNG"[..]));
    let same = ask(&session, "image", "path=/a&width=4&height=2&low=0&high=8&minus=/a");
    assert_eq!(same.status, 200);
    let slice = json_of(&session, "values", "path=/a&slice=1,1:3&w=5");
    assert_eq!(slice["values"], json!([["6.0", "7.0"]]));
}

#[test]
fn tables_are_paged_and_put_in_order() {
    let session = session(&format!(
        "t:\n  columns:\n  - {{name: a, data: {ARRAY} [3.5, .nan, -1.0, 2.0]}}\n  - {{name: b, data: {ARRAY} [w, x, y, z]}}\n\
         plane: {ARRAY} [[1, 2], [3, 4]]\n"
    ));
    let column = |query: &str, at: usize| -> Vec<Value> {
        let table = json_of(&session, "table", query);
        table["rows"].as_array().unwrap().iter().map(|row| row[at].clone()).collect()
    };
    assert_eq!(column("path=/t&offset=1&limit=2", 1), [json!("x"), json!("y")]);
    assert_eq!(column("path=/t&sort=a", 1), [json!("y"), json!("z"), json!("w"), json!("x")]);
    assert_eq!(column("path=/t&sort=b&descending=1", 0), [json!("2.0"), json!("-1.0"), json!("NaN"), json!("3.5")]);
    assert_eq!(json_of(&session, "table", "path=/t&sort=a")["numbers"], json!([2, 3, 0, 1]));
    assert_eq!(column("path=/plane", 1), [json!("2"), json!("4")]);
    assert_eq!(json_of(&session, "profile", "path=/t&name=a")["low"], json!([3.5, null, -1.0, 2.0]));
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let session = session(&format!("a: {ARRAY} [[1, 2], [3, 4]]\ns: text\nc: {ARRAY} [[[1]]]\n"));
    for (name, query, status) in [
        ("nothing", "", 404),
        ("tree", "file=1", 400),
        ("tree", "offset=-1", 400),
        ("item", "path=/no", 404),
        ("image", "path=/a", 400),
        ("image", "path=/a&width=5000&height=1", 400),
        ("image", "path=/a&width=2&height=2&x=9&w=9", 400),
        ("image", "path=/c&width=2&height=2", 400),
        ("image", "path=/a&width=2&height=2&cmap=none", 400),
        ("image", "path=/a&width=2&height=2&minus=/c", 400),
        ("values", "path=/s&x=x", 400),
        ("values", "path=/a&slice=9,9,9", 400),
        ("profile", "path=/a&row=99999999999999999999", 400),
        ("profile", "path=/a&row=7", 400),
        ("table", "path=/a&sort=none", 400),
        ("table", "path=/c", 400),
        ("search", "q=", 400),
        ("stats", "path=/s", 400),
    ] {
        let said = ask(&session, name, query);
        assert_eq!(said.status, status, "{name}?{query}: {}", String::from_utf8_lossy(&said.body));
        assert!(serde_json::from_slice::<Value>(&said.body).unwrap()["error"]["message"].is_string());
    }
    let given_up = ViewerRequest::new("tree", "").cancelled_by(std::sync::Arc::new(true.into()));
    assert_eq!(respond(&session, &given_up).status, 499);
}

/// A FITS file with one image and one card in its header beyond the required ones.
fn fits_session() -> ViewerSession {
    let card = |text: &str| format!("{text:<80}");
    let required = ["SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    2"];
    let axes = [
        "NAXIS1  =                    3",
        "NAXIS2  =                    2",
        "EXPTIME =                 12.5 / [s] exposure",
        "COMMENT first",
        "COMMENT second",
        "END",
    ];
    let header: String = required.iter().chain(&axes).map(|text| card(text)).collect();
    let mut bytes = format!("{header:<2880}").into_bytes();
    bytes.extend([1, 2, 3, 4, 5, 6]);
    bytes.resize(2 * 2880, 0);
    let session = ViewerSession::new(move |_| OpenOptions::new().open_bytes(bytes.clone()));
    session.add("x.fits", "x.fits");
    session
}

#[test]
fn fits_file_has_cards_hdus_and_lower_origin() {
    let session = fits_session();
    let file = json_of(&session, "file", "");
    assert_eq!((&file["format"], &file["names"]["header"], &file["standard"]), (&json!("FITS"), &json!("Header"), &Value::Null));
    let hdus = json_of(&session, "tree", "path=/fits");
    assert_eq!(
        (&hdus["children"][0]["label"], &hdus["children"][0]["text"]),
        (&json!("PRIMARY"), &json!("PRIMARY  uint8 [2, 3]"))
    );
    for path in ["/fits/0/data", "/fits/0", "/fits/0/header"] {
        let item = json_of(&session, "item", &format!("path={path}"));
        let cards = item["attributes"].as_array().unwrap();
        let card = cards.iter().find(|card| card["name"] == "EXPTIME").unwrap();
        assert_eq!(card["value"], "12.5", "{path}");
        assert!(card["comment"].as_str().unwrap().contains("exposure"), "{card}");
    }
    assert_eq!(json_of(&session, "item", "path=/fits/0/data")["origin"], "lower");
    for text in ["exptime", "12.5"] {
        let found = json_of(&session, "search", &format!("q={text}"));
        let first = &found["children"][0];
        assert_eq!(
            (&first["address"], &first["text"], &found["more"]),
            (&json!("/fits/0@EXPTIME"), &json!("12.5"), &json!(false))
        );
    }
    assert_eq!(json_of(&session, "search", "q=second")["children"][0]["address"], "/fits/0@COMMENT[1]");
}

#[test]
fn compass_points_to_north_and_east() {
    let session = session(&format!(
        "sky:\n  data: {ARRAY} [[1, 2], [3, 4]]\n  meta: {{ctype1: RA---TAN, ctype2: DEC--TAN, crpix1: 1, crpix2: 1, crval1: 10, crval2: 20, \
         cdelt1: -0.001, cdelt2: 0.001}}\nplain: {ARRAY} [[1, 2], [3, 4]]\n"
    ));
    let compass = &json_of(&session, "wcs", "path=/sky/data&index=0,0")["compass"];
    for (direction, expected) in [("north", [0.0, 1.0]), ("east", [-1.0, 0.0])] {
        for (axis, part) in expected.iter().enumerate() {
            assert!((compass[direction][axis].as_f64().unwrap() - part).abs() < 1e-5, "{direction}: {compass}");
        }
    }
    assert_eq!(json_of(&session, "item", "path=/sky/data")["origin"], "lower");
    assert_eq!(json_of(&session, "wcs", "path=/plain&index=0,0")["compass"], Value::Null);
    assert_eq!(json_of(&session, "item", "path=/plain")["origin"], "upper");
}
