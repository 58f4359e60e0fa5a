//! Files of other formats, opened under the layouts that are derived from them.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

use trilith::OpenOptions;

fn safetensors() -> Vec<u8> {
    let json = r#"{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]},"a":{"dtype":"I16","shape":[2,1],"data_offsets":[0,4]}}"#;
    let mut out = (json.len() as u64).to_le_bytes().to_vec();
    out.extend(json.as_bytes());
    out.extend([1, 0, 2, 0, 3, 0, 4, 0]);
    out
}

fn fortran() -> Vec<u8> {
    let records = [[1u8, 2, 3], [4, 5, 6]].into_iter();
    let marked = records.flat_map(|record| [&3i32.to_be_bytes()[..], &record[..], &3i32.to_be_bytes()[..]].concat());
    marked.collect()
}

#[test]
fn tensors_and_records_are_arrays() {
    let tensors = OpenOptions::new().open_bytes(safetensors()).unwrap();
    assert_eq!(tensors.array("/a").unwrap().load::<i16>().unwrap(), [1, 2]);
    assert_eq!(tensors.array("/b").unwrap().load::<u16>().unwrap(), [3, 4]);
    let records = OpenOptions::new().open_bytes(fortran()).unwrap().array("/records").unwrap();
    assert_eq!(records.shape(), [2, 3]);
    assert_eq!(records.load::<u8>().unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn no_cut_or_flipped_file_panics() {
    for whole in [safetensors(), fortran()] {
        for at in 0..whole.len() {
            let _ = OpenOptions::new().open_bytes(whole[..at].to_vec());
            for value in [0, b'"', b'9', 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let _ = OpenOptions::new().open_bytes(bytes).and_then(|file| file.digest());
            }
        }
    }
}
