//! Layouts on streams: stored parameters as bytes, lists of any length, limits, many files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "tests report, and read files on their own")]

use trilith_layout::layout::{
    self, Byteorder, DiagnosticCode, Dialect, EvaluateOptions, EvaluationError, Layout, ParseOptions, ResolvedType,
    StreamEntryKind, SuppliedValue,
};
use trilith_layout::{ErrorKind, Limits};

fn code(fault: EvaluationError) -> (DiagnosticCode, u32, u32) {
    match fault {
        EvaluationError::Text(diagnostic) => {
            (DiagnosticCode::from_diagnostic(&diagnostic).unwrap(), diagnostic.line, diagnostic.column)
        }
        EvaluationError::Other(error) => panic!("{error}"),
    }
}

fn with(order: Option<Byteorder>) -> EvaluateOptions {
    let mut options = EvaluateOptions::default();
    options.byteorder = order;
    options
}

#[test]
fn bytes_of_parameters_are_read_in_their_order() {
    let read = |text: &str, order, bytes: [u8; 8]| -> Result<Vec<Option<i64>>, (DiagnosticCode, u32, u32)> {
        let layout = Layout::read(text.as_bytes()).unwrap();
        let found = layout.evaluate(&with(order), |_| Ok(SuppliedValue::Bytes(bytes))).map_err(code)?;
        Ok(found.values().collect())
    };
    let bytes = [1, 2, 0, 0, 0, 0, 0, 0];
    assert_eq!(read("N : <i4 x = |u1[N]", None, bytes), Ok(vec![Some(0x0201)]));
    assert_eq!(read("N : >i4 x = |u1[N]", None, bytes), Ok(vec![Some(0x0102_0000)]));
    assert_eq!(read("N : i4 x = |u1[N]", Some(Byteorder::Big), bytes), Ok(vec![Some(0x0102_0000)]));
    assert_eq!(read("> N : |i2 x = |u1[N]", Some(Byteorder::Little), bytes), Ok(vec![Some(0x0102)]));
    assert_eq!(read("N : i1 x = |u1[N]", None, [0xff; 8]), Ok(vec![Some(-1)]));
    // Section 12: byte order unknown; out of range.
    assert_eq!(read("\n N : i4 x = |u1[N]", None, bytes), Err((DiagnosticCode::E403, 2, 2)));
    assert_eq!(read("N : <i4 x = |u1[N]", None, [0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0]), Err((DiagnosticCode::E402, 1, 1)));
    assert_eq!(read("N = <u8 x: u1(N)", None, [0xff; 8]), Err((DiagnosticCode::E402, 1, 1)));
    assert_eq!(read("N = <u4 x: u1(N)", None, [0xff; 8]), Ok(vec![Some(0xffff_ffff)]));
}

#[test]
fn short_stream_err_names_parameter_address_and_length() {
    let layout = Layout::read(b"x = <f8[3]\nNLAT : <i8 @24\n").unwrap();
    let fault = layout.evaluate(&EvaluateOptions::default(), |_| Ok(SuppliedValue::TooFewBytes(30))).err().unwrap();
    let text = fault.to_string();
    assert_eq!(text, "E401: stream too short for parameter `NLAT` at address 24 (have 30 bytes)");
    assert_eq!(code(fault), (DiagnosticCode::E401, 2, 1));
}

#[test]
fn out_of_range_parameter_returns_e402() {
    // Section 12, E402: a value out of range, at the name of the parameter.
    for (text, value, fits) in [
        ("N : i1", 127, true),
        ("N : i1", 200, false),
        ("N : i2", 40_000, false),
        ("N = u1 x: u1(N)", 255, true),
        ("N = u1 x: u1(N)", 256, false),
        ("N : i8", i64::MAX, true),
    ] {
        let layout = Layout::read(text.as_bytes()).unwrap();
        let found = layout.evaluate_with(&EvaluateOptions::default(), &[value]).map(|_| ()).map_err(code);
        assert_eq!(found, if fits { Ok(()) } else { Err((DiagnosticCode::E402, 1, 1)) }, "{text} {value}");
    }
}

#[test]
fn requests_follow_stream_order() {
    let layout = Layout::read(b"N : <i4  s = {k : i1 a = u1[k]}[N]  M : <i2").unwrap();
    let mut asked = Vec::new();
    layout
        .evaluate(&EvaluateOptions::default(), |request| {
            asked.push((request.ordinal, request.address.unwrap(), request.datatype.name()));
            Ok(SuppliedValue::Value(2))
        })
        .unwrap();
    assert_eq!(asked, [(0, 0, "i4"), (1, 4, "i1"), (2, 7, "i1"), (3, 10, "i2")]);
}

#[test]
fn find_in_billion_element_list_is_fast() {
    let layout = Layout::read(b"l [|u1, <f8, / a = <i2 k [|u1]*1000000]*1000000000  z = |u1").unwrap();
    let found = layout.evaluate_with(&EvaluateOptions::default(), &[]).unwrap();
    // One repetition: u1 @0, f8 @8, i2 @16, a million bytes, and padding to the next f8's turn.
    let stride = 18 + 1_000_000;
    let entry = found.find("/l[2999999999]/k[999999]").unwrap().unwrap();
    let first = found.find("/l[2]/k[999999]").unwrap().unwrap();
    assert_eq!(first.address, Some(stride - 1));
    // u1 follows at once; the f8 behind it is aligned, so that each repetition takes a multiple of 8.
    let second = found.find("/l[5]/k[999999]").unwrap().unwrap().address.unwrap();
    let step = found.find("/l[8]/k[999999]").unwrap().unwrap().address.unwrap() - second;
    assert_eq!(step % 8, 0);
    assert_eq!(entry.address, Some(second + 999_999_998 * step));
    assert_eq!(found.find("/z").unwrap().unwrap().address, Some(entry.address.unwrap() + 1));
    assert_eq!(found.find("/l[3000000000]/k[0]").unwrap(), None);
    assert_eq!(found.entries().take(3).filter_map(Result::ok).last().unwrap().path, "/l[2]/a");
}

#[test]
fn nested_repetitions_cost_no_more_than_their_text() {
    let mut text = String::from("|u1, <f8");
    for _ in 0..59 {
        text = format!("[{text}]*2");
    }
    let layout = Layout::read(format!("l [{text}]").as_bytes()).unwrap();
    let found = layout.evaluate_with(&EvaluateOptions::default(), &[]).unwrap();
    assert_eq!(found.total(), Some(16 << 59));
}

#[test]
fn endless_empty_repetition_returns_limit_err() {
    let layout = Layout::read(b"l [[|u1]*0]*1000000000000  x = |u1").unwrap();
    let mut options = EvaluateOptions::default();
    options.limits.nodes = 100_000;
    let found = layout.evaluate_with(&options, &[]).unwrap();
    let Some(Err(EvaluationError::Other(error))) = found.entries().next() else { panic!() };
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!(found.find("/x").unwrap().unwrap().address, Some(0));
    // Structs of no length with stored parameters in them, of which there are none: one array, or too many steps if a length may
    // follow from them.
    let layout = Layout::read(b"s = {a = {n : i1}[0]}[1000000000000]").unwrap();
    assert_eq!(layout.evaluate_with(&options, &[]).unwrap().total(), Some(0));
    let layout = Layout::read(b"s = {a = {n : i1  x = u1[n]}[0]}[1000000000000]").unwrap();
    assert!(
        matches!(layout.evaluate_with(&options, &[]), Err(EvaluationError::Other(error)) if error.kind() == ErrorKind::Limit)
    );
}

#[test]
fn deep_nesting_returns_limit_err() {
    for text in ["l [".to_owned() + &"[".repeat(100_000), "x = ".to_owned() + &"{a = ".repeat(100_000), "a/".repeat(100_000)] {
        let error = layout::parse(text.as_bytes(), &ParseOptions::with_dialect(Dialect::D2025)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("depth=256"), "{error}");
    }
    // Types that nest by their names.
    let mut text = String::from("T0 {a = |u1}\n");
    for n in 1..1000 {
        text.push_str(&format!("T{n} {{a = T{} b = T{}}}\n", n - 1, n - 1));
    }
    assert_eq!(Layout::read(text.as_bytes()).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn long_type_spelling_returns_limit_err() {
    let mut text = String::from("T0 {a = |u1}\n");
    for n in 1..60 {
        text.push_str(&format!("T{n} {{a = T{} b = T{}}}\n", n - 1, n - 1));
    }
    text.push_str("x = T59\n");
    let layout = Layout::read(text.as_bytes()).unwrap();
    let mut limits = Limits::default();
    limits.text = 1 << 20;
    let mut options = EvaluateOptions::default();
    options.limits = limits;
    let found = layout.evaluate_with(&options, &[]).unwrap();
    assert_eq!(found.total(), Some(1 << 59));
    assert!(matches!(found.entries().next(), Some(Err(EvaluationError::Other(error))) if error.kind() == ErrorKind::Limit));
}

#[test]
fn one_layout_is_evaluated_for_many_files() {
    let layout = Layout::read(b"{ N : <i8  t = <f8 }  mesh {\"\" = <f4[N]}  x = mesh[2]  y = {a = mesh b = <f8}").unwrap();
    assert!(layout.is_template());
    let mut found = layout.evaluate_with(&EvaluateOptions::default(), &[3]).unwrap();
    for n in 0..50i64 {
        found.reevaluate(|_| Ok(SuppliedValue::Value(n))).unwrap();
        let x = found.find("/x").unwrap().unwrap();
        assert_eq!(x.shape, [2, n as u64]);
        let record = (4 * n as u64).next_multiple_of(8) + 8;
        assert_eq!(found.total(), Some((16 + 8 * n as u64).next_multiple_of(8) + record));
        let fresh = layout.evaluate_with(&EvaluateOptions::default(), &[n]).unwrap();
        assert_eq!(
            fresh.entries().map(Result::unwrap).collect::<Vec<_>>(),
            found.entries().map(Result::unwrap).collect::<Vec<_>>()
        );
    }
}

#[test]
fn members_have_offsets_and_strides() {
    let layout = Layout::read(b"N : 2\nr = {t = <f8 v = {x = >f4 y = |i1[N]}[3]}[4,5]").unwrap();
    let found = layout.evaluate_with(&EvaluateOptions::default(), &[]).unwrap();
    let y = found.locate("/r.v.y").unwrap().unwrap();
    assert_eq!((y.address, y.shape, y.strides), (Some(12), vec![4, 5, 3, 2], vec![160, 32, 8, 1]));
    let ResolvedType::Struct(record) = found.find("/r").unwrap().unwrap().resolved_type else { panic!() };
    assert_eq!((record.size, record.alignment), (32, 8));
    let ResolvedType::Struct(inner) = &record.members[1].datatype else { panic!() };
    assert_eq!((inner.size, inner.members[1].offset), (8, Some(4)));
    assert_eq!(found.locate("/r.nothing").unwrap(), None);
}

#[test]
fn named_item_hides_member_of_nameless_item() {
    let layout = Layout::read(b"\"\" = {a = |u1 b = |u1}[3]  a = <f8").unwrap();
    let found = layout.evaluate_with(&EvaluateOptions::default(), &[]).unwrap();
    assert_eq!(found.locate("/a").unwrap().unwrap().address, Some(8));
    let b = found.locate("b").unwrap().unwrap();
    assert_eq!((b.address, b.shape, b.strides), (Some(1), vec![3], vec![2]));
}

#[test]
fn bytes_after_terminator_are_ignored() {
    let parsed = layout::parse(b"x = |u1\n---\r\n\xff\x00{", &ParseOptions::default()).unwrap();
    assert_eq!((parsed.end, parsed.terminated), (13, true));
    assert!(parsed.layout.is_some() && parsed.diagnostics.is_empty());
    let parsed = layout::parse(b"\xef\xbb\xbfx = |u1", &ParseOptions::default()).unwrap();
    assert_eq!((parsed.end, parsed.terminated), (10, false));
}

#[test]
fn hints_say_what_is_meant() {
    let hint = |text: &str, dialect| {
        let parsed = layout::parse(text.as_bytes(), &ParseOptions::with_dialect(dialect)).unwrap();
        parsed.diagnostics.into_iter().find_map(|d| d.hint).unwrap_or_default()
    };
    let old = |text| hint(text, Dialect::D2025);
    assert_eq!(old("x = f8(3)"), "2025 shapes use [ ]");
    assert_eq!(hint("x: f8[3]", Dialect::D2026), "2026 shapes use ( )");
    assert_eq!(old("x = f8[IMAX-1] IMAX : 3"), "write IMAX- for IMAX minus 1");
    assert_eq!(old("x = f8[N]\nN : 3"), "declared at 2:1, must come before its use");
    assert_eq!(old("g/ N : 3 .. x = f8[N]"), "the parameter `N` of /g is not visible here");
    assert_eq!(old("NGROUP : 3 x = f8[NGROPU]"), "did you mean `NGROUP`?");
    assert_eq!(old("x = flaot\nfloat {\"\" = f4}"), "did you mean `float`?");
    assert_eq!(old("N = 3"), "a fixed parameter is written `NAME : 3`");
    assert_eq!(old("a = f8[1], b = f8[1]"), "no commas between dict items");
    assert_eq!(hint("{ N = i4 }", Dialect::D2026), "2025 dialect?");
}

#[test]
fn kinds_of_entries() {
    let layout = Layout::read(b"N : i1 x = {} y = |u1[N]").unwrap();
    let found = layout.evaluate_with(&EvaluateOptions::default(), &[0]).unwrap();
    let kinds: Vec<StreamEntryKind> = found.entries().map(|entry| entry.unwrap().kind).collect();
    assert_eq!(kinds, [StreamEntryKind::Param, StreamEntryKind::Null, StreamEntryKind::Data]);
}
