//! Tier: first. Annotations of items of a tree follow the items in a change, and name the key that an attribute is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]
use std::io::Cursor;

use trilith::file::AddressTarget;
use trilith::{Change, File, Value};

const TEXT: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
    g:\n  data: !core/ndarray-1.1.0 [[1, 2], [3, 4]]\n  x: !core/ndarray-1.1.0 [1, 2]\n  a/b: 5\nlist: [{n: 1}, {n: 2}, {n: 3}]\n";
const ANNOTATIONS: &str = "annotations:\n  schema: asdf://trilith/schemas/annotations-1.0.0\n  /g/data:\n    unit: m\n    axes: [y, x]\n    \
    attributes: {units: m, low: {value: 0, datatype: int16}}\n  /g/x: {axes: [x], attributes: {to: {value: /g/data, reference: /g/data}}}\n  \
    /list/1/n: {attributes: {name: second}}\n";
fn open(annotations: &str) -> File {
    trilith::OpenOptions::new().open_bytes(format!("{TEXT}{annotations}...\n").into_bytes()).unwrap()
}

/// The file after a change.
fn changed(file: &File, make: impl FnOnce(&mut Change<'_>)) -> File {
    let mut change = file.edit().unwrap();
    make(&mut change);
    let mut out = Cursor::new(Vec::new());
    change.write(&mut out, &Default::default()).unwrap();
    trilith::OpenOptions::new().open_bytes(out.into_inner()).unwrap()
}

/// The value of an attribute in words; None if the item has no such attribute.
fn read(file: &File, address: &str) -> Option<String> {
    match file.resolve_address(address) {
        Ok(AddressTarget::Attribute(_, found, _)) => Some(format!("{}:{}", found.value.datatype_name(), found.value)),
        Ok(_) => panic!("{address} is no attribute"),
        Err(_) => None,
    }
}

/// `cli.md`, fourth round: the text is a key, unless the item has an attribute of that name.
#[test]
fn address_is_key_unless_item_has_attribute() {
    let file = open(ANNOTATIONS);
    for (address, key) in [
        ("/g/data@units", "/annotations/~1g~1data/attributes/units"),
        ("/g/data@low", "/annotations/~1g~1data/attributes/low/value"),
        ("/list/1/n@name", "/annotations/~1list~11~1n/attributes/name"),
    ] {
        let mut change = file.edit().unwrap();
        let refused = [
            change.set(address, 1).unwrap_err(),
            change.insert(address, 1).unwrap_err(),
            change.rename(address, "other").unwrap_err(),
            change.delete(address).unwrap_err(),
        ];
        for error in refused {
            assert_eq!(error.kind(), trilith::ErrorKind::Unsupported, "{error}");
            assert_eq!(error.advice(), Some(format!("in ASDF files it is the key {key}")), "{error}");
        }
        let set = changed(&file, |change| change.set(key, 7).unwrap());
        assert!(read(&set, address).unwrap().ends_with(":7"), "{address}");
    }
    for address in ["/g/data@other", "/list/0/n@name", "/joe@example.org"] {
        let set = changed(&file, |change| {
            change.set(address, "text").unwrap();
            change.set(address, 7).unwrap();
        });
        assert_eq!(set.item(address).unwrap().text().unwrap(), "7", "{address}");
        let gone = changed(&set, |change| change.delete(address).unwrap());
        assert!(gone.item(address).is_err(), "{address}");
    }
}

#[test]
fn annotations_follow_renamed_and_removed_items() {
    let file = open(ANNOTATIONS);
    let moved = changed(&file, |change| {
        change.rename("/g/x", "lon").unwrap();
        change.rename("/g", "h").unwrap();
        assert!(change.set("/h/lon@to", "/h").is_err());
    });
    assert_eq!(read(&moved, "/h/data@units").as_deref(), Some("text:m"));
    assert_eq!(read(&moved, "/h/lon@to").as_deref(), Some("reference:/h/data"));
    let axes = moved.item("/h/data").unwrap().axes().unwrap();
    assert_eq!(axes.names, [Some("y".to_owned()), Some("lon".to_owned())]);
    let removed = changed(&moved, |change| {
        change.delete("/h/data").unwrap();
        change.insert("/h/data", 5).unwrap();
    });
    assert_eq!(read(&removed, "/h/data@units"), None);
    assert_eq!(read(&removed, "/h/lon@to").as_deref(), Some("reference:"));
}

#[test]
fn annotations_follow_items_of_lists() {
    let file = open(ANNOTATIONS);
    let shifted = changed(&file, |change| {
        change.insert("/list/0", Value::map([("n", 0)])).unwrap();
        change.insert("/list/-", Value::map([("n", 9)])).unwrap();
    });
    assert_eq!(read(&shifted, "/list/2/n@name").as_deref(), Some("text:second"));
    let back = changed(&shifted, |change| change.delete("/list/0").unwrap());
    assert_eq!(read(&back, "/list/1/n@name").as_deref(), Some("text:second"));
    let gone = changed(&back, |change| change.delete("/list/1").unwrap());
    assert_eq!(read(&gone, "/list/1/n@name"), None);
}

#[test]
fn replaced_tree_loses_entries_of_removed_items() {
    let file = open(ANNOTATIONS);
    let text = file.as_asdf().unwrap().tree().text().replace("  x: !core/ndarray-1.1.0 [1, 2]\n", "");
    let tree = trilith::tree::Tree::parse(text, &Default::default()).unwrap();
    let changed = changed(&file, |change| change.replace_tree(tree).unwrap());
    let text = changed.as_asdf().unwrap().tree().text().to_owned();
    assert!(!text.contains("/g/x:") && text.contains("/g/data:"), "{text}");
}
