//! Arrays in chunks: named one by one, and by a table in the file.

use super::under;
use crate::ErrorKind;

/// Two by two chunks of 2 by 3 bytes of an array of 3 by 5, the second of which was never written; after them three tables:
/// places, lengths, and both with masks as structs.
fn bytes() -> Vec<u8> {
    let mut bytes = vec![9; 4];
    for chunk in [[1u8, 2, 3, 6, 7, 8], [11, 12, 13, 0, 0, 0], [14, 15, 0, 0, 0, 0]] {
        bytes.extend(chunk);
    }
    bytes.resize(24, 9);
    let (places, lengths) = ([4u32, 0, 10, 16], [6u16, 0, 6, 6]);
    bytes.extend(places.iter().flat_map(|at| at.to_be_bytes()));
    bytes.extend(lengths.iter().flat_map(|len| len.to_le_bytes()));
    for (at, len) in places.iter().zip(lengths) {
        // These places count from byte 2 on.
        bytes.extend(at.saturating_sub(2).to_le_bytes());
        bytes.extend(len.to_le_bytes());
        bytes.extend([0, 0]);
    }
    bytes
}

const GRID: &str = "#: grid_shape=[3,5]\n#: grid_chunk=[2,3]\n#: grid_type=\"u1\"\n#: grid_fill=7\n";
const STRUCTS: &str = "{at = <u4 @0 len = <u2 @4 mask = <u2 @6}[4] @48\n";

#[test]
fn table_equals_list_of_chunks() {
    let named = format!("x [u1[6] @4, u1[0], u1[6] @10, u1[6] @16]\n{GRID}");
    let columns = format!("x = >u4[4] @24\n{GRID}#: grid_at=\"\"\n#: grid_bytes=\"/len\"\nlen = <u2[4] @40\n");
    let structs = format!("x = {STRUCTS}{GRID}#: grid_at=\"at\"\n#: grid_bytes=\"len\"\n#: grid_mask=\"mask\"\n#: grid_base=2\n");
    let other = format!("x = u1[1] @0\n{GRID}#: grid_at=\"/t.at\"\n#: grid_bytes=\"/t.len\"\n#: grid_base=2\nt = {STRUCTS}");
    let expected = [1, 2, 3, 7, 7, 6, 7, 8, 7, 7, 11, 12, 13, 14, 15];
    for layout in [named, columns, structs, other] {
        let file = under(&bytes(), &layout);
        let array = file.array_at("/x").unwrap();
        assert_eq!(array.shape(), [3, 5]);
        assert_eq!(array.load::<u8>().unwrap(), expected, "{layout}");
    }
}

#[test]
fn without_lengths_every_chunk_is_whole() {
    let layout = "x = >u4[2] @24\n#: grid_shape=[4]\n#: grid_chunk=[2]\n#: grid_type=\"u1\"\n#: grid_at=\"\"\n";
    assert_eq!(under(&bytes(), layout).array_at("/x").unwrap().load::<u8>().unwrap(), [1, 2, 9, 9]);
}

#[test]
fn unfit_table_is_named_in_error() {
    let wrong = [
        ("x = >u4[3] @24\n", "#: grid_at=\"\"\n", "3 numbers for 4 chunks"),
        ("x = >u4[4] @24\n", "#: grid_at=\"/nothing\"\n", "no item"),
        ("x = >u4[4] @24\n", "#: grid_at=\"member\"\n", "no field"),
        ("x = >u4[4] @24\n", "#: grid_at=\"\"\n#: grid_base=-1\n", "grid_base"),
        ("x = >u4[4] @24\n", "#: grid_bytes=\"\"\n", "without grid_at"),
        ("x [u1[6] @4, u1[6] @10]\n", "#: grid_at=\"\"\n", "expected one that is a table"),
    ];
    for (item, table, said) in wrong {
        let file = under(&bytes(), &format!("{item}{GRID}{table}"));
        let error = file.array_at("/x").and_then(|array| array.load::<u8>()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
}
