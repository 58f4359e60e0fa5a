//! Times opening and validating a tree of 8,000 ndarrays (104,000 nodes): `cargo bench --bench time_validate --`.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::time::Instant;

use trilith::Limits;
use trilith::check::{SchemaSet, Validator};
use trilith::tree::Tree;

fn main() {
    let mut text = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\narrays:\n".to_owned();
    for n in 0..8000 {
        text.push_str(&format!(
            "- !core/ndarray-1.1.0\n  source: {n}\n  datatype: float64\n  byteorder: little\n  shape: [{n}, 100]\n"
        ));
    }
    text.push_str("...\n");
    let limits = Limits::default();
    let start = Instant::now();
    let mut validator = Validator::new(SchemaSet::bundled());
    println!("schemas: {:?}", start.elapsed());
    for _ in 0..7 {
        let start = Instant::now();
        let tree = Tree::parse(text.clone(), &limits).unwrap();
        let opened = start.elapsed();
        let start = Instant::now();
        let report = validator.validate(&tree, Some("1.6.0")).unwrap();
        println!("{} nodes: open {opened:?}, validate {:?}, valid {}", tree.node_count(), start.elapsed(), report.is_valid());
    }
}
