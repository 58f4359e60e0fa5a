//! Trees of any text: parsing ends with a result, an unedited tree is its text, and visiting every
//! node ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trilith::Limits;
use trilith::tree::Tree;

fuzz_target!(|text: &str| {
    let mut limits = Limits::default();
    limits.set("nodes=100000").expect("the limit exists");
    if let Ok(tree) = Tree::parse(text, &limits) {
        assert_eq!(tree.text(), text);
        assert!(tree.node_count() > 0);
        let again = Tree::parse(text, &limits).expect("the same text parses again");
        assert_eq!(again.node_count(), tree.node_count());
    }
});
