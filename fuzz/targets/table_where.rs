//! Conditions on the rows of a table: any text is read or refused, and of what is read `not` is the contrary, `not not`
//! the same, and with itself by `and` and `or` the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trilith::table::Query;

const FILE: &[u8] = b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: 1, b: 2.5, t: word, on: true, none: null}\n...\n";

fuzz_target!(|text: &str| {
    let file = trilith::OpenOptions::new().open_bytes(FILE.to_vec()).unwrap();
    let holds = |condition: &str| {
        let query = Query::new(["/a", "/b", "/t", "/on", "/none"]).unwrap().filter(condition).ok()?;
        Some(query.rows("file", &file).unwrap().len() == 1)
    };
    let Some(found) = holds(text) else { return };
    // One level deeper may be too deep.
    let same = |condition: String, expected: bool| assert!(holds(&condition).is_none_or(|now| now == expected), "{condition}");
    same(format!("not ({text})"), !found);
    same(format!("not not ({text})"), found);
    same(format!("({text}) and ({text})"), found);
    same(format!("({text}) or ({text})"), found);
});
