//! Arrays in chunks, as asdf-zarr writes them: what is read, and that nothing else is.

use std::io::Cursor;

use trilith::array::Byteorder;
use trilith::convert::rewrite;
use trilith::{Array, ArrayOptions, AsdfBuilder, AsdfFile, ErrorKind, Result, Target, Value, open_asdf_bytes};

const TAG: &str = "asdf://asdf-format.org/zarr/tags/zarr-1.0.0";

/// A file with a map in block 0, and two chunks of two bytes behind it.
fn file(map: &[i32], tree: &str) -> Result<AsdfFile> {
    let mut builder = AsdfBuilder::new(Target::latest());
    let mut put = |bytes: &[u8]| builder.array(&Array::from_slice(bytes, &[bytes.len() as u64])?, &ArrayOptions::default());
    let map: Vec<u8> = map.iter().flat_map(|number| number.to_le_bytes()).collect();
    let blocks = [put(&map)?, put(&[1, 2])?, put(&[3, 4])?];
    let mut out = Cursor::new(Vec::new());
    builder.write_to(&mut out, Value::map([("blocks", Value::seq(blocks))]))?;
    let made = open_asdf_bytes(out.into_inner())?;
    let text = made.tree().text().replacen("blocks:", &format!("a: !<{TAG}> {tree}\nblocks:"), 1);
    let mut again = Cursor::new(Vec::new());
    rewrite(&made, &text, &mut again, &Default::default(), Default::default())?;
    open_asdf_bytes(again.into_inner())
}

fn read(map: &[i32], tree: &str) -> Result<Vec<u8>> {
    file(map, tree)?.array_at("/a")?.read_bytes(Byteorder::Little)
}

const FINE: &str = "{.zarray: {zarr_format: 2, shape: [3], chunks: [2], dtype: '|u1', compressor: null, \
                    fill_value: 9, filters: null, order: C}, chunk_block_map: 0}";

#[test]
fn missing_map_entries_read_as_fill_value() {
    assert_eq!(read(&[1, 2], FINE).unwrap(), [1, 2, 3]);
    assert_eq!(read(&[2, -1], FINE).unwrap(), [3, 4, 9]);
    assert_eq!(
        read(&[1], &FINE.replace("shape: [3], chunks: [2]", "shape: [], chunks: []")).unwrap_err().kind(),
        ErrorKind::Malformed
    );
    assert!(read(&[], &FINE.replace("shape: [3]", "shape: [0]")).unwrap().is_empty());
}

#[test]
fn malformed_metadata_is_err() {
    for map in [&[1][..], &[1, 2, 1], &[1, 7], &[1, -2], &[1, 0], &[1, i32::MAX]] {
        assert_eq!(read(map, FINE).unwrap_err().kind(), ErrorKind::Malformed, "{map:?}");
    }
    let malformed = [
        ("zarr_format: 2, ", ""),
        ("shape: [3]", "shape: 3"),
        ("shape: [3]", "shape: [-3]"),
        ("shape: [3]", "shape: [3, 1]"),
        ("shape: [3]", "shape: [9223372036854775807, 4]"),
        ("chunks: [2]", "chunks: [0]"),
        ("chunks: [2]", "chunks: [x]"),
        ("chunks: [2], ", ""),
        ("order: C", "order: X"),
        (", order: C", ""),
        ("compressor: null, ", ""),
        ("compressor", "compresor"),
        ("filters: null, ", ""),
        ("fill_value: 9, ", ""),
        ("fill_value: 9", "fill_value: 300"),
        ("fill_value: 9", "fill_value: [1]"),
        ("filters: null", "filters: [{}]"),
        ("filters: null", "filters: {id: zlib}"),
        ("filters: null", "filters: zlib"),
        ("filters: null", "filters: [{id: null}]"),
        ("compressor: null", "compressor: {id: [zlib]}"),
        ("filters: null", "filters: [{id: shuffle}]"),
        ("filters: null", "filters: [{id: shuffle, elementsiez: 2}]"),
        ("filters: null", "filters: [{id: shuffle, elementsize: null}]"),
        ("filters: null", "filters: [{id: shuffle, elementsize: 2, elementsiez: 2}]"),
        ("filters: null", "filters: [{id: delta}]"),
        ("filters: null", "filters: [{id: delta, dtype: '<i4', astyep: '<i2'}]"),
        (".zarray", "other"),
        ("chunk_block_map: 0", "chunk_block_map: x"),
        ("chunk_block_map: 0", "chunk_block_map: 9"),
    ];
    for (old, new) in malformed {
        let error = read(&[1, 2], &FINE.replace(old, new)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{new:?}: {error}");
    }
    let unsupported = [
        ("zarr_format: 2", "zarr_format: 3"),
        ("'|u1'", "'|O'"),
        ("'|u1'", "'<M8[s]'"),
        ("compressor: null", "compressor: {id: pcodec}"),
        ("filters: null", "filters: [{id: categorize}]"),
    ];
    for (old, new) in unsupported {
        let error = read(&[1, 2], &FINE.replace(old, new)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{new:?}: {error}");
    }
    assert_eq!(read(&[1, 2], "[1, 2]").unwrap_err().kind(), ErrorKind::Malformed);
}
