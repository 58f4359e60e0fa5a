//! Tier: first. Attributes of items of a tree in a change: what is set is what an address reads, and it follows its item.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]
use std::io::Cursor;

use trilith::file::AddressTarget;
use trilith::{Change, File, Value};

const TEXT: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
    g:\n  data: !core/ndarray-1.1.0 [[1, 2], [3, 4]]\n  x: !core/ndarray-1.1.0 [1, 2]\n  a/b: 5\nlist: [{n: 1}, {n: 2}, {n: 3}]\n";
const ANNOTATIONS: &str = "annotations:\n  schema: asdf://trilith/schemas/annotations-1.0.0\n  /g/data:\n    unit: m\n    axes: [y, x]\n    \
    attributes: {units: m, low: {value: 0, datatype: int16}}\n  /g/x: {axes: [x], attributes: {to: {value: /g/data, reference: /g/data}}}\n  \
    /list/1/n: {attributes: {name: second}}\n";
/// Names with a meaning in addresses, in layouts or in YAML.
const NAMES: [&str; 14] = [
    "units",
    "long_name",
    "\"unit\"",
    "\"shape\"",
    "\"a b\"",
    "\"a/b\"",
    "\"x@y\"",
    "own:x",
    "$ref",
    "grid_dims",
    "\"a.comment\"",
    "\"\"",
    "'q'",
    "Größe",
];

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

/// The keys of the tree without the annotations.
fn keys(file: &File) -> String {
    let tree = file.as_asdf().unwrap().tree();
    let text = tree.text();
    text[..text.find("annotations:").or(text.find("...\n")).unwrap_or(text.len())].to_owned()
}

#[test]
fn attribute_that_is_set_is_read_again() {
    for annotations in ["", ANNOTATIONS] {
        let file = open(annotations);
        for item in ["", "/g", "/g/data", "/g/x", "/g/a~1b", "/list", "/list/0", "/list/1/n"] {
            for name in NAMES {
                let address = if item.is_empty() { format!("/@{name}") } else { format!("{item}@{name}") };
                let set = changed(&file, |change| change.set(&address, "text").unwrap());
                assert_eq!(read(&set, &address).as_deref(), Some("text:text"), "{address}");
                assert_eq!(keys(&set), keys(&file), "{address}");
                let again = changed(&set, |change| {
                    assert!(change.insert(&address, 1).is_err(), "{address}");
                    change.set(&address, 7).unwrap();
                });
                assert_eq!(read(&again, &address).as_deref(), Some("int64:7"), "{address}");
                let renamed = changed(&again, |change| change.rename(&address, "another").unwrap());
                let other = address.replace(&format!("@{name}"), "@another");
                assert_eq!((read(&renamed, &address), read(&renamed, &other).as_deref()), (None, Some("int64:7")), "{address}");
                let removed = changed(&renamed, |change| change.delete(&other).unwrap());
                assert_eq!(read(&removed, &other), None, "{address}");
                assert_eq!(keys(&removed), keys(&file), "{address}");
            }
        }
    }
}

#[test]
fn datatype_stays_while_it_represents_value() {
    let file = open(ANNOTATIONS);
    let set = |value: Value| read(&changed(&file, |change| change.set("/g/data@low", value).unwrap()), "/g/data@low").unwrap();
    assert_eq!(set(7.into()), "int16:7");
    assert_eq!(set((-32768).into()), "int16:-32768");
    assert_eq!(set(32768.into()), "int64:32768");
    assert_eq!(set(Value::seq([1, 2])), "int16:[1, 2]");
    assert_eq!(set(1.5.into()), "float64:1.5");
    assert_eq!(set("text".into()), "text:text");
}

#[test]
fn array_becomes_attribute_with_its_datatype() {
    let file = open(ANNOTATIONS);
    let array = trilith::Array::from_slice(&[1i16, 2], &[2]).unwrap();
    let set = changed(&file, |change| change.set_array("/g@limits", &array, &Default::default()).unwrap());
    assert_eq!(read(&set, "/g@limits").as_deref(), Some("int16:[1, 2]"));
    assert_eq!(set.as_asdf().unwrap().sections().blocks().unwrap().len(), 0);
}

#[test]
fn annotations_follow_renamed_and_removed_items() {
    let file = open(ANNOTATIONS);
    let moved = changed(&file, |change| {
        change.rename("/g/x", "lon").unwrap();
        change.rename("/g", "h").unwrap();
        change.set("/h/lon@units", "deg").unwrap();
    });
    assert_eq!(read(&moved, "/h/data@units").as_deref(), Some("text:m"));
    assert_eq!(read(&moved, "/h/lon@to").as_deref(), Some("reference:/h/data"));
    assert_eq!(read(&moved, "/h/lon@units").as_deref(), Some("text:deg"));
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
