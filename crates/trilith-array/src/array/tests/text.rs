//! Elements as text, as `.npy` and CSV, as single values, and against the sample files.

use super::*;

fn plain_names(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::Struct(fields) => fields.fields().iter().all(|field| plain_names(&field.datatype)),
        Datatype::Complex32 | Datatype::Ucs2(_) => false,
        _ => true,
    }
}

proptest! {
    #[test]
    fn npy_files_hold_what_was_written((array, _) in array()) {
        let mut file = Vec::new();
        let written = array.write_npy(&mut file);
        if !plain_names(array.datatype()) {
            prop_assert_eq!(written.unwrap_err().kind(), ErrorKind::Unsupported);
            return Ok(());
        }
        written.unwrap();
        prop_assert!(std::str::from_utf8(&file[10..file.len() - array.nbytes() as usize]).unwrap().ends_with('\n'));
        let back = Array::from_npy(Arc::new(MemorySource::new(file, "npy")), &Limits::default()).unwrap();
        prop_assert_eq!(back.shape(), array.shape());
        prop_assert_eq!(back.read_bytes(Byteorder::Big).unwrap(), array.read_bytes(Byteorder::Big).unwrap());
    }

    #[test]
    fn malformed_npy_header_errs(text in "[ -~]{0,60}", cut in 0usize..80) {
        let mut file = npy_header(&Datatype::Float32, &[2, 3]).unwrap();
        file.resize(file.len() + 24, 0);
        file.truncate(file.len() - cut.min(24) - cut / 2);
        let _ = Array::from_npy(Arc::new(MemorySource::new(file, "npy")), &Limits::default());
        let mut odd = b"\x93NUMPY\x01\x00".to_vec();
        odd.extend((text.len() as u16).to_le_bytes());
        odd.extend(text.as_bytes());
        prop_assert!(Array::from_npy(Arc::new(MemorySource::new(odd, "npy")), &Limits::default()).is_err());
    }

    #[test]
    fn floats_round_trip_as_strings(bits in any::<u64>()) {
        let double = f64::from_bits(bits);
        let single = f32::from_bits(bits as u32);
        let half = f16::from_bits(bits as u16);
        for floats in [FloatText::Shortest, FloatText::AsDouble] {
            let text = float_text(double, FloatPrecision::Double, floats);
            prop_assert!(double.is_nan() || text.parse::<f64>().unwrap() == double);
            let text = float_text(single.into(), FloatPrecision::Single, floats);
            prop_assert!(single.is_nan() || text.parse::<f64>().unwrap() as f32 == single);
            let text = float_text(half.into(), FloatPrecision::Half, floats);
            prop_assert!(half.is_nan() || f16::from_f64(text.parse::<f64>().unwrap()) == half, "{} {}", text, half);
        }
    }
}

#[test]
fn npy_headers_are_those_of_numpy() {
    let text = |datatype: &Datatype, shape: &[u64]| {
        let header = npy_header(datatype, shape).unwrap();
        String::from_utf8(header[10..].to_vec()).unwrap().trim_end().to_owned()
    };
    assert_eq!(text(&Datatype::Float64, &[]), "{'descr': '<f8', 'fortran_order': False, 'shape': (), }");
    assert_eq!(text(&Datatype::Bool8, &[3]), "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }");
    assert_eq!(text(&Datatype::Ucs4(7), &[3, 0]), "{'descr': '<U7', 'fortran_order': False, 'shape': (3, 0), }");
    let row = StructType::packed_from(vec![
        Field::new("it's", Datatype::Int32, Byteorder::Big),
        Field::without_name(Datatype::Complex64, Byteorder::Big).with_shape(vec![2, 1]),
    ])
    .unwrap();
    assert_eq!(
        text(&Datatype::Struct(Arc::new(row)), &[1]),
        r"{'descr': [('it\'s', '<i4'), ('f1', '<c8', (2, 1,))], 'fortran_order': False, 'shape': (1,), }"
    );
    let greek = StructType::packed_from(vec![Field::new("λ", Datatype::Int8, Byteorder::Big)]).unwrap();
    assert_eq!(npy_header(&Datatype::Struct(Arc::new(greek)), &[1]).unwrap()[6], 3);
}

#[test]
fn nested_lists_show_shape_mask_and_kinds() {
    let json = |array: &Array| {
        let mut out = Vec::new();
        array.write_json(&mut out, FloatText::Shortest).unwrap();
        String::from_utf8(out).unwrap()
    };
    let floats = Array::from_slice(&[0.1f32, -0.0, f32::NAN, f32::NEG_INFINITY], &[2, 2]).unwrap();
    assert_eq!(json(&floats), r#"[[0.1, -0.0], ["NaN", "-Infinity"]]"#);
    assert_eq!(json(&floats.with_mask(Mask::Nan).unwrap()), r#"[[0.1, -0.0], [null, "-Infinity"]]"#);
    assert_eq!(json(&Array::from_slice(&[7i8], &[]).unwrap()), "7");
    assert_eq!(json(&Array::from_slice(&[0i8; 0], &[2, 0, 3]).unwrap()), "[[], []]");
    assert_eq!(json(&Array::from_slice(&[0i8; 0], &[0]).unwrap()), "[]");
    assert_eq!(json(&Array::from_slice(&[Complex::new(1f64, -2.5)], &[1]).unwrap()), r#"["1-2.5j"]"#);
    let text = Array::from_bytes(b"a\"\0b\xff\0".to_vec(), Datatype::Ascii(3), Byteorder::Big, vec![2]).unwrap();
    // Bytes that are not ASCII are text of no declared encoding.
    assert_eq!(json(&text), r#"["a\"", "bÿ"]"#);
    let row = StructType::packed_from(vec![
        Field::new("a", Datatype::Bool8, Byteorder::Big),
        Field::new("b", Datatype::Uint8, Byteorder::Big).with_shape(vec![2, 2]),
    ])
    .unwrap();
    let table = Array::from_bytes(vec![1, 1, 2, 3, 4], Datatype::Struct(Arc::new(row)), Byteorder::Big, vec![1]).unwrap();
    assert_eq!(json(&table), "[[true, [[1, 2], [3, 4]]]]");
    let mut csv = Vec::new();
    table.write_csv(&mut csv).unwrap();
    assert_eq!(String::from_utf8(csv).unwrap(), "a,\"b[0,0]\",\"b[0,1]\",\"b[1,0]\",\"b[1,1]\"\ntrue,1,2,3,4\n");
}

#[test]
fn csv_never_writes_empty_lines() {
    let csv = |array: &Array| {
        let mut out = Vec::new();
        array.write_csv(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let masked = |array: Array| array.with_mask(Mask::Integer(0)).unwrap();
    let text = Array::from_bytes(b"a\0\0\0b\0".to_vec(), Datatype::Ascii(2), Byteorder::Big, vec![3]).unwrap();
    assert_eq!(csv(&text), "a\n\"\"\nb\n");
    let rows = Array::from_bytes(b"a\0\0\0".to_vec(), Datatype::Ascii(2), Byteorder::Big, vec![1, 2]).unwrap();
    assert_eq!(csv(&rows), "a,\"\"\n");
    assert_eq!(csv(&masked(Array::from_slice(&[5i8, 0, 7], &[3]).unwrap())), "5\n\"\"\n7\n");
    assert_eq!(csv(&masked(Array::from_slice(&[5i8, 0, 0, 7], &[2, 2]).unwrap())), "5,\n,7\n");
    let row = StructType::packed_from(vec![Field::new("a", Datatype::Ascii(1), Byteorder::Big)]).unwrap();
    let table = Array::from_bytes(vec![b'x', 0], Datatype::Struct(Arc::new(row)), Byteorder::Big, vec![2]).unwrap();
    assert_eq!(csv(&table), "a\nx\n\"\"\n");
}

#[test]
fn complex_numbers_are_those_of_core_complex() {
    let text = |re, im| complex_text(re, im, FloatPrecision::Double, FloatText::Shortest);
    assert_eq!(text(1.0, 2.0), "1+2j");
    assert_eq!(text(-0.0, -0.5), "-0-0.5j");
    assert_eq!(text(f64::NAN, f64::INFINITY), "nan+infj");
    assert_eq!(text(1e300, f64::NEG_INFINITY), "1e300-infj");
}

#[test]
fn csv_rejects_three_axes() {
    let cube = Array::from_slice(&[1u8; 8], &[2, 2, 2]).unwrap();
    assert_eq!(cube.write_csv(&mut Vec::new()).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn transpose_matches_naive_for_widths_and_odd_sizes() {
    let names = ["int8", "int16", "float32", "complex64", "complex128", "float128", "complex256", "bool8"];
    for datatype in names.iter().filter_map(|name| Datatype::from_name(name)) {
        let shape = [131u64, 2, 70];
        let size = datatype.item_size() * 131 * 2 * 70;
        let bytes: Vec<u8> = (0..size).map(|i| (i * 7 + i / 251) as u8).collect();
        let array = Array::from_bytes(bytes.clone(), datatype.clone(), Byteorder::Big, shape.to_vec()).unwrap();
        for order in [[2usize, 1, 0], [2, 0, 1], [1, 2, 0]] {
            let turned = array.transpose(Some(&order)).unwrap().slice(Index::parse_list("...,::-1").unwrap()).unwrap();
            assert_eq!(turned.read_bytes(Byteorder::Little).unwrap(), naive(&turned, &bytes, Byteorder::Little), "{datatype}");
        }
    }
}

/// Returns `true` if bytes of this datatype always come back the same: not NaN payloads of wide floats, not odd
/// text.
fn is_exact(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::Struct(fields) => fields.fields().iter().all(|field| is_exact(&field.datatype)),
        other => other.is_integer() || matches!(other, Datatype::Bool8),
    }
}

proptest! {
    #[test]
    fn decode_encode_round_trip((array, _) in array(), order in order()) {
        if !is_exact(array.datatype()) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        array.for_each_scalar(|scalar, _| scalar.encode(array.datatype(), order, &mut bytes)).unwrap();
        prop_assert_eq!(bytes, array.read_bytes(order).unwrap());
    }

    #[test]
    fn doubles_go_through_80_bits_unchanged(bits in prop_oneof![any::<u64>(), 0u64..1 << 52]) {
        let x = f64::from_bits(bits);
        let mut bytes = Vec::new();
        ElementValue::Float(x, FloatPrecision::Double).encode(&Datatype::Float128, Byteorder::Big, &mut bytes).unwrap();
        let back = Array::from_bytes(bytes, Datatype::Float128, Byteorder::Big, vec![1]).unwrap().load_as::<f64>().unwrap()[0];
        prop_assert!(back.to_bits() == bits || x.is_nan() && back.is_nan(), "{x:e} {back:e}");
    }
}

#[test]
fn texts_are_padded_and_come_back() {
    let texts = ["", "λx", "\u{1f600}"];
    let array = Array::from_texts(&texts, &[3]).unwrap();
    assert_eq!(array.datatype(), &Datatype::Ucs4(2));
    assert_eq!(array.load_texts().unwrap(), texts);
    assert_eq!(Array::from_texts(&["ab", "c"], &[2]).unwrap().datatype(), &Datatype::Ascii(2));
    let mut out = Vec::new();
    ElementValue::Text("\u{1f600}".into()).encode(&Datatype::Ucs2(3), Byteorder::Big, &mut out).unwrap();
    assert_eq!(out, [0xd8, 0x3d, 0xde, 0, 0, 0]);
    assert_eq!(
        ElementValue::Text("abc".into()).encode(&Datatype::Ascii(2), Byteorder::Big, &mut out).unwrap_err().kind(),
        ErrorKind::Malformed
    );
    assert!(ElementValue::Text("1".into()).encode(&Datatype::Int8, Byteorder::Big, &mut out).is_err());
    assert!(Array::from_slice(&[1u8], &[1]).unwrap().load_texts().is_err());
}

/// First tier.
#[test]
fn undeclared_encoding_decodes_as_utf8_cp1252_or_latin1() {
    for (stored, text) in
        [(&b"Z\xc3\xbcrich"[..], "Zürich"), (b"25 \xb0C\0", "25 °C"), (b"10 \x80", "10 €"), (b"a\x81\xe9", "a\u{81}é"), (b"", "")]
    {
        let datatype = Datatype::Ascii(stored.len() as u32);
        let array = Array::from_bytes(stored.to_vec(), datatype, Byteorder::Little, vec![]).unwrap();
        assert_eq!(array.load_texts().unwrap(), [text]);
    }
    // Text that is declared is not guessed.
    let array = Array::from_bytes(b"\xb0".to_vec(), Datatype::Utf8(1), Byteorder::Little, vec![]).unwrap();
    assert_eq!(array.scalar().unwrap(), ElementValue::Raw(b"\xb0".to_vec()));
}

/// First tier.
#[test]
fn undecodable_string_is_bytes_without_padding() {
    let array = Array::from_bytes(b"\xb5m\0\0ok\0\0".to_vec(), Datatype::Utf8(4), Byteorder::Little, vec![2]).unwrap();
    let elements = [ElementValue::Raw(b"\xb5m".to_vec()), ElementValue::Text("ok".to_owned())];
    let mut found = Vec::new();
    array
        .for_each_scalar(|element, _| {
            found.push(element);
            Ok(())
        })
        .unwrap();
    assert_eq!(found, elements);
    assert_eq!(elements.map(|element| element.json(FloatText::Shortest)), [r#"{"base64": "tW0="}"#, r#""ok""#]);
    assert!(has_undecodable_text(&array).unwrap());
    assert!(!has_undecodable_text(&array.slice(Index::parse_list("1:").unwrap()).unwrap()).unwrap());
    let bytes = utf8_as_bytes(&array).unwrap();
    assert_eq!((bytes.datatype(), bytes.load_texts().unwrap()), (&Datatype::Ascii(4), vec!["µm".to_owned(), "ok".to_owned()]));
}

/// First tier.
#[test]
fn declared_encoding_decodes_its_bytes() {
    let encoded = |name: &str, bytes: &[u8]| StringEncoding::from_name(name).map(|encoding| encoding.to_utf8(bytes).into_owned());
    for (name, bytes, wanted) in [
        ("utf-8", &b"\xc3\xbc"[..], Some(&b"\xc3\xbc"[..])),
        ("UTF_8", b"\xfc", Some(b"\xfc")),
        ("latin-1", b"\xfc\x80", Some("ü\u{80}".as_bytes())),
        ("ISO-8859-1", b"\xc3\xbc", Some("Ã¼".as_bytes())),
        ("windows-1252", b"\x80", Some("€".as_bytes())),
        ("cp1252", b"\x81", Some(b"\x81")),
        ("ascii", b"\xfc", None),
        ("", b"\xfc", None),
    ] {
        assert_eq!(encoded(name, bytes).as_deref(), wanted, "{name}");
    }
    let stored = Array::from_bytes(b"\xfca\0\0b\0".to_vec(), Datatype::Ascii(3), Byteorder::Little, vec![2]).unwrap();
    let transform = ValueTransform::DecodedText(StringEncoding::Latin1);
    let decoded = physical(&stored, &[ValueDecoding { transform, missing_rules: Vec::new() }]).unwrap();
    assert_eq!(
        (decoded.datatype(), decoded.load_texts().unwrap()),
        (&Datatype::Utf8(6), vec!["üa".to_owned(), "\0b".to_owned()])
    );
}

#[test]
fn large_copies_match_for_any_thread_count() {
    let bytes: Vec<u8> = (0..12u32 << 20).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect();
    let array = Array::from_bytes(bytes.clone(), Datatype::Uint32, Byteorder::Big, vec![3, 1 << 10, 1 << 10]).unwrap();
    for part in [array.clone(), array.transpose(None).unwrap(), array.slice(Index::parse_list("::-1,:,1:").unwrap()).unwrap()] {
        let all = part.read_bytes(Byteorder::Little).unwrap();
        for threads in [Some(1), Some(3), None] {
            crate::threads::set_threads(threads);
            assert!(part.read_bytes(Byteorder::Little).unwrap() == all);
        }
        let source = Counted::new(bytes.clone());
        let unseen = Array { source, ..part };
        assert!(unseen.read_bytes(Byteorder::Little).unwrap() == all);
        let mut joined = Vec::new();
        unseen
            .for_each_piece(1 << 20, |piece| {
                joined.extend_from_slice(piece);
                Ok(())
            })
            .unwrap();
        assert!(joined == all);
    }
}

/// SHA-256 of the canonical bytes, and whether it is the expected one next to the file.
fn agrees(array: &Array, file: &std::path::Path, path: &str, key: &str) -> bool {
    use sha2::Digest as _;
    let expect = crate::bytes::read_text(file.with_extension("expect.json"), 1 << 20).unwrap();
    let expect: serde_json::Value = serde_json::from_slice(&expect).unwrap();
    let mut hasher = sha2::Sha256::new();
    array
        .for_each_piece(7, |piece| {
            hasher.update(piece);
            Ok(())
        })
        .unwrap();
    let found: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    expect["arrays"][path][key] == found
}

#[test]
fn canonical_bytes_match_sample_digests() {
    let Some(corpus) = trilith_sample::corpus() else { return };
    let open = |file: &std::path::Path| crate::bytes::open(file, crate::bytes::LocalOptions::default()).unwrap();
    let file = corpus.join("asdf-6.0.0-std-1.6.0/mask.asdf");
    let new = |offset, datatype| Array::new(open(&file), offset, datatype, Byteorder::Little, vec![3, 4]).unwrap();
    let mask = Mask::Array(Arc::new(new(969, Datatype::Bool8)));
    let masked = new(819, Datatype::Float64).with_mask(mask).unwrap();
    assert!(agrees(&masked, &file, "/m", "sha256_le"));
    assert!(agrees(&masked.mask_array().unwrap().unwrap(), &file, "/m", "mask_sha256"));

    let file = corpus.join("asdf-6.0.0-std-1.6.0/table.asdf");
    let row = StructType::packed_from(vec![
        Field::new("a", Datatype::Int32, Byteorder::Little),
        Field::new("b", Datatype::Float64, Byteorder::Little),
        Field::new("c", Datatype::Uint8, Byteorder::Big),
    ]);
    let row = Datatype::Struct(Arc::new(row.unwrap()));
    let table = Array::new(open(&file), 855, row, Byteorder::Big, vec![3]).unwrap();
    assert!(agrees(&table, &file, "/t", "sha256_le"));
}

#[test]
fn elements_without_bytes_cannot_claim_endless_work() {
    // Lists of lists of nothing: 10^6 times 10^6 values without a single byte.
    let none = Datatype::Struct(Arc::new(StructType::packed_from(Vec::new()).unwrap()));
    let wide = |datatype| {
        let field = Field::new("a", datatype, Byteorder::Big).with_shape(vec![1_000_000]);
        Datatype::Struct(Arc::new(StructType::packed_from(vec![field]).unwrap()))
    };
    let array = Array::from_bytes(Vec::new(), wide(wide(none)), Byteorder::Big, vec![1]).unwrap();
    assert!(array.read_bytes(Byteorder::Little).unwrap().is_empty());
    let error = array.write_json(&mut Vec::new(), FloatText::Shortest).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!(array.write_csv(&mut Vec::new()).unwrap_err().kind(), ErrorKind::InvalidInput);
    let many = Array::from_bytes(Vec::new(), Datatype::Ascii(0), Byteorder::Big, vec![1 << 60]).unwrap();
    assert_eq!(many.load_texts().unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(many.with_mask(Mask::Nan).unwrap().mask_bytes().unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn batches_read_ahead_from_unmapped_source() {
    let source = Counted::new(vec![3; 20 << 20]);
    let array = Array::new(source.clone(), 0, Datatype::Float32, Byteorder::Big, vec![20 << 10, 256]).unwrap();
    let mut pieces = 0;
    array
        .for_each_piece(1 << 20, |piece| {
            pieces += 1;
            assert_eq!(piece.len(), 1 << 20);
            Ok(())
        })
        .unwrap();
    assert_eq!((pieces, source.reads.load(Ordering::Relaxed)), (20, 2));
}

proptest! {
    #[test]
    fn converted_numbers_are_those_that_stand_there((array, _) in array()) {
        let mut expected = Vec::new();
        let numbers = array.for_each_scalar(|scalar, _| {
            expected.push(match scalar {
                ElementValue::Int(n) => n as f64,
                ElementValue::Uint(n) => n as f64,
                ElementValue::Float(x, _) => x,
                ElementValue::Bool(x) => f64::from(u8::from(x)),
                _ => f64::NAN,
            });
            Ok(())
        });
        numbers.unwrap();
        match array.load_as::<f64>() {
            Ok(found) => {
                prop_assert_eq!(found.len(), expected.len());
                prop_assert!(found.iter().zip(&expected).all(|(a, b)| a == b || a.is_nan() && b.is_nan()));
            }
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::InvalidInput);
                let datatype = array.datatype();
                prop_assert!(datatype.is_complex() || datatype.is_text() || datatype.as_struct().is_some());
            }
        }
    }
}
