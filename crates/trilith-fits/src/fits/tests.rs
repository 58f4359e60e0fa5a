//! Reading and writing, with bytes put together by hand from FITS Standard 4.0.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::ErrorKind;
use crate::array::{Array, Byteorder, Datatype, Field, Mask, StructType};
use crate::bytes::{MemorySource, stored_ranges};
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, Tree, Value};
use crate::yaml::{PrintOptions, print_document};

/// Pads each of these cards to 80 characters.
fn padded(cards: &[&str]) -> Vec<u8> {
    cards.iter().flat_map(|card| format!("{card:80}").into_bytes()).collect()
}

/// A header of these cards, END and blanks after them.
fn header(cards: &[&str]) -> Vec<u8> {
    ended(padded(cards))
}

fn ended(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend_from_slice(b"END");
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    bytes
}

/// A header with its data unit.
fn unit(cards: &[&str], data: &[u8]) -> Vec<u8> {
    let mut bytes = header(cards);
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(2880), 0);
    bytes
}

const EMPTY: [&str; 3] = ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0"];

fn open(bytes: Vec<u8>) -> Result<FitsFile> {
    FitsFile::open(Arc::new(MemorySource::new(bytes, "test")), &Limits::default())
}

fn file(units: &[Vec<u8>]) -> FitsFile {
    open(units.concat()).unwrap()
}

fn image(bitpix: i64, more: &[&str], data: &[u8]) -> Array {
    let bitpix = format!("BITPIX  = {bitpix}");
    let length = format!("NAXIS1  = {}", data.len() as u64 * 8 / bitpix[10..].parse::<i64>().unwrap().unsigned_abs());
    let cards = [&["SIMPLE  = T", &bitpix, "NAXIS   = 1", &length], more].concat();
    let fits = file(&[unit(&cards, data)]);
    fits.array(&fits.hdus()[0]).unwrap()
}

/// The cards of columns, each a name or `-`, a form and other keywords: `flux E TUNIT=Jy`.
fn fields(columns: &[&str]) -> Vec<String> {
    let mut cards = vec![format!("TFIELDS = {}", columns.len())];
    for (n, column) in (1..).zip(columns) {
        let mut words = column.split(' ');
        cards.extend(words.next().filter(|name| *name != "-").map(|name| format!("TTYPE{n}  = '{name}'")));
        cards.extend(words.next().map(|form| format!("TFORM{n}  = '{form}'")));
        let others = words.filter_map(|word| word.split_once('='));
        cards.extend(others.map(|(key, value)| format!("{:8}= {value}", format!("{key}{n}"))));
    }
    cards
}

fn table<S: AsRef<str>>(cards: &[S], width: usize, data: &[u8]) -> FitsFile {
    with_heap(cards, width, data, &[])
}

fn with_heap<S: AsRef<str>>(cards: &[S], width: usize, data: &[u8], heap: &[u8]) -> FitsFile {
    let count = format!("NAXIS2  = {}", data.len() / width);
    let (width, size) = (format!("NAXIS1  = {width}"), format!("PCOUNT  = {}", heap.len()));
    let head = ["XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", &width, &count, &size, "GCOUNT  = 1"];
    let cards: Vec<&str> = head.into_iter().chain(cards.iter().map(AsRef::as_ref)).collect();
    file(&[unit(&EMPTY, &[]), unit(&cards, &[data, heap].concat())])
}

fn written(parts: &[HduData]) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, parts).unwrap();
    out
}

/// The parts that a list of HDUs becomes, with the cards that were kept with it.
fn parts_of(tree: &Tree, list: &str, arrays: &mut dyn FnMut(Node<'_>) -> Result<Array>) -> Result<Vec<HduData>> {
    from_node(tree.node_at_pointer(list).unwrap(), tree.node_at_pointer("/fits_cards"), &mut |node| arrays(node), &mut |_| Ok(()))
}

fn tree(text: impl Into<String>) -> Tree {
    Tree::parse(text.into(), &Limits::default()).unwrap()
}

fn rows(fits: &FitsFile) -> Array {
    fits.array(&fits.hdus()[1]).unwrap()
}

#[test]
fn image_of_every_bitpix_views_file() {
    assert_eq!(image(8, &[], &[0, 255]).load::<u8>().unwrap(), [0, 255]);
    assert_eq!(image(16, &[], &[0xff, 0xfe, 0, 1]).load::<i16>().unwrap(), [-2, 1]);
    assert_eq!(image(32, &[], &[0xff, 0xff, 0xff, 0xfe]).load::<i32>().unwrap(), [-2]);
    assert_eq!(image(64, &[], &(-2i64).to_be_bytes()).load::<i64>().unwrap(), [-2]);
    assert_eq!(image(-32, &[], &1.5f32.to_be_bytes()).load::<f32>().unwrap(), [1.5]);
    assert_eq!(image(-64, &[], &1.5f64.to_be_bytes()).load::<f64>().unwrap(), [1.5]);

    let cards = ["SIMPLE  = T", "BITPIX  = 16", "NAXIS   = 3", "NAXIS1  = 4", "NAXIS2  = 3", "NAXIS3  = 2"];
    let fits = file(&[unit(&cards, &[0; 48])]);
    let array = fits.array(&fits.hdus()[0]).unwrap();
    assert_eq!((array.shape(), array.offset()), (&[2, 3, 4][..], 2880));
}

#[test]
fn bzero_of_unsigned_integers_changes_datatype_only() {
    let zero = |n: &str| format!("BZERO   = {n}");
    assert_eq!(image(8, &[&zero("-128")], &[0, 128, 255]).load::<i8>().unwrap(), [-128, 0, 127]);
    assert_eq!(image(16, &[&zero("32768")], &[0x80, 0, 0, 0, 0x7f, 0xff]).load::<u16>().unwrap(), [0, 32768, 65535]);
    assert_eq!(image(32, &[&zero("2147483648")], &[0x80, 0, 0, 1]).load::<u32>().unwrap(), [1]);
    assert_eq!(
        image(64, &[&zero("9223372036854775808"), "BSCALE  = 1"], &[0x7f; 8]).load::<u64>().unwrap(),
        [0xff7f_7f7f_7f7f_7f7f]
    );
}

#[test]
fn other_scales_make_floats_and_blanks_make_nan() {
    let scaled = image(16, &["BSCALE  = 0.5", "BZERO   = 10"], &[0, 3, 0xff, 0xfe]);
    assert_eq!(scaled.load::<f32>().unwrap(), [11.5, 9.0]);
    let scaled = image(32, &["BSCALE  = 0.1"], &[0, 0, 0, 3]);
    assert_eq!(scaled.load::<f64>().unwrap(), [3.0 * 0.1]);
    let blank = image(8, &["BLANK   = 7"], &[7, 8]).load::<f32>().unwrap();
    assert!(blank[0].is_nan() && blank[1] == 8.0);
    // A blank means nothing for floats.
    assert_eq!(image(-32, &["BLANK   = 7"], &7f32.to_be_bytes()).load::<f32>().unwrap(), [7.0]);
}

#[test]
fn what_is_missing_is_masked() {
    let mask = |array: &Array| array.mask_bytes().unwrap();
    assert_eq!(mask(&image(8, &["BLANK   = 7"], &[7, 8])), Some(vec![1, 0]));
    assert_eq!(mask(&image(16, &["BLANK   = 1", "BZERO   = 32768"], &[0, 1, 0, 2])), Some(vec![1, 0]));
    let long = image(64, &["BLANK   = 1"], &[1i64.to_be_bytes(), i64::MAX.to_be_bytes()].concat());
    assert_eq!((mask(&long), long.load::<i64>().unwrap()), (Some(vec![1, 0]), vec![1, i64::MAX]));
    assert_eq!(mask(&image(-32, &["BLANK   = 7"], &7f32.to_be_bytes())), None);
    // A null, an undefined boolean, and a string that ends before its bytes do.
    let fits = table(&fields(&["n I TNULL=-1", "l 2L", "s 4A"]), 8, b"\xff\xff\0Tab\0\xff\0\x05FTcd  ");
    let array = rows(&fits);
    assert_eq!(array.mask_bytes().unwrap().unwrap(), [1, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!((array.masked_count().unwrap(), mask(&array.field("n").unwrap())), (2, Some(vec![1, 0])));
    assert_eq!(mask(&array.field("l").unwrap().slice(crate::s![.., 0]).unwrap()), Some(vec![1, 0]));
    assert_eq!(array.field("s").unwrap().load_texts().unwrap(), ["ab", "cd  "]);
    let mut json = Vec::new();
    array.write_json(&mut json, crate::array::FloatText::Shortest).unwrap();
    assert_eq!(String::from_utf8(json).unwrap(), r#"[[null, [null, true], "ab"], [5, [false, true], "cd  "]]"#);
}

#[test]
fn columns_of_text_tables_are_numbers() {
    let cards = ["XTENSION= 'TABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 20", "NAXIS2  = 3", "PCOUNT  = 0", "GCOUNT  = 1"];
    let columns = fields(&["- I5 TBCOL=1 TNULL='*'", "- D9.2 TBCOL=7", "- A4 TBCOL=17"]);
    let cards: Vec<&str> = cards.into_iter().chain(columns.iter().map(String::as_str)).collect();
    let open = |text: &[u8]| file(&[unit(&EMPTY, &[]), unit(&cards, text)]);
    let fits = open(b"   12   1.5D+02 ab      *    2.5E-1 c               125     ");
    let array = rows(&fits);
    assert_eq!(array.field("f0").unwrap().load::<i32>().unwrap(), [12, 0, 0]);
    assert_eq!(array.field("f0").unwrap().mask_bytes().unwrap().unwrap(), [0, 1, 0]);
    assert_eq!(array.field("f1").unwrap().load::<f64>().unwrap(), [150.0, 0.25, 1.25]);
    let fits = open(b"   x2   1.5D+02 ab      *    2.5E-1 c               125     ");
    let error = rows(&fits).read_bytes(Byteorder::Little).unwrap_err();
    assert!(error.kind() == ErrorKind::Malformed && error.to_string().contains("x2"), "{error}");
}

#[test]
fn scaled_array_reads_ranges_and_states_stored_ranges() {
    let data: Vec<u8> = (0..1000u16).flat_map(u16::to_be_bytes).collect();
    let array = image(16, &["BSCALE  = 2"], &data);
    let source = array.source();
    let mut some = [0; 5];
    source.read_at(4 * 7 + 2, &mut some).unwrap();
    let whole: Vec<u8> = (0..1000).flat_map(|n| (2.0 * n as f32).to_ne_bytes()).collect();
    assert_eq!(some, whole[30..35]);
    assert_eq!(stored_ranges(&**source, 28..32).unwrap(), vec![2880 + 14..2880 + 16; 1]);
    assert!(source.read_at(4000, &mut some).is_err());
}

#[test]
fn column_datatypes_follow_section_7_3() {
    let cards =
        fields(&["flag L", "bits 3X", "count I TZERO=32768", "name 4A", "m 4B TDIM='(2,2)'", "- I TSCAL=0.5 TNULL=-9", "z C"]);
    let mut row = b"T\xa0\x80\x05ab\0\0\x01\x02\x03\x04\x00\x03".to_vec();
    row.extend([1.0f32.to_be_bytes(), 2.0f32.to_be_bytes()].concat());
    let fits = table(&cards, row.len(), &row);
    let array = rows(&fits);
    let fields = array.datatype().as_struct().unwrap().fields();
    let kinds: Vec<_> = fields.iter().map(|f| (f.name.as_deref(), f.datatype.to_string(), f.shape.clone())).collect();
    assert_eq!(kinds[0], (Some("flag"), "bool8".into(), vec![]));
    assert_eq!(kinds[1], (Some("bits"), "bool8".into(), vec![3]));
    assert_eq!(kinds[2], (Some("count"), "uint16".into(), vec![]));
    assert_eq!(kinds[3], (Some("name"), "[\"ascii\", 4]".into(), vec![]));
    assert_eq!(kinds[4], (Some("m"), "uint8".into(), vec![2, 2]));
    assert_eq!(kinds[5], (None, "float64".into(), vec![]));
    let mut expected = b"\x01\x01\x00\x01\x00\x05ab\0\0\x01\x02\x03\x04".to_vec();
    expected.extend(1.5f64.to_be_bytes());
    expected.extend([1.0f32.to_be_bytes(), 2.0f32.to_be_bytes()].concat());
    assert_eq!(array.read_bytes(Byteorder::Big).unwrap(), expected);

    let stored = fits.writable_array(&fits.hdus()[1]).unwrap().unwrap();
    let fields = stored.datatype().as_struct().unwrap().fields();
    let kinds: Vec<_> = fields.iter().map(|f| f.datatype.name()).collect();
    assert_eq!(kinds, ["int8", "uint8", "uint16", "ascii", "uint8", "int16", "complex64"]);
    let columns = columns(fits.hdus()[1].header()).unwrap();
    assert_eq!((columns[5].null, columns[5].scale, columns[5].offset), (Some(-9), 0.5, 12));
}

#[test]
fn rows_skip_but_stored_keeps_trailing_bytes() {
    let fits = table(&["TFIELDS = 1", "TFORM1  = 'B'"], 3, &[1, 8, 8, 2, 9, 9]);
    assert_eq!(rows(&fits).read_bytes(Byteorder::Big).unwrap(), [1, 2]);
    let stored = fits.writable_array(&fits.hdus()[1]).unwrap().unwrap();
    assert_eq!(stored.load::<u8>().unwrap(), [1, 8, 8, 2, 9, 9]);
}

#[test]
fn cell_reads_values_from_heap() {
    let cards =
        ["TFIELDS = 4", "TFORM1  = 'PI(2)'", "TFORM2  = 'QI(2)'", "TZERO2  = 32768", "TFORM3  = 'PX(9)'", "TFORM4  = '1PL(1)'"];
    // The heap has two numbers at 0, one at 2 (unsigned), nine bits at 4, and a letter at 6.
    let pair = |count: u32, at: u32| [count.to_be_bytes(), at.to_be_bytes()].concat();
    let wide = [1u64.to_be_bytes(), 2u64.to_be_bytes()].concat();
    let row = [pair(2, 0), wide, pair(9, 4), pair(1, 6)].concat();
    let heap = [0, 7, 0x80, 1, 0b1010_0000, 0b1000_0000, b'T'];
    let fits = with_heap(&cards, 40, &row, &heap);
    let hdu = &fits.hdus()[1];
    assert_eq!(fits.cell(hdu, 0, 0).unwrap().load::<i16>().unwrap(), [7, -32767]);
    assert_eq!(fits.cell(hdu, 1, 0).unwrap().load::<u16>().unwrap(), [1]);
    let bits = fits.cell(hdu, 2, 0).unwrap().load::<bool>().unwrap();
    assert_eq!(bits, [true, false, true, false, false, false, false, false, true]);
    assert_eq!(fits.cell(hdu, 3, 0).unwrap().load::<bool>().unwrap(), [true]);
    assert_eq!(fits.cell(hdu, 0, 1).unwrap_err().kind(), ErrorKind::InvalidInput);
    // The rows are without them; what can be written again are the bytes.
    let rows = fits.array(hdu).unwrap();
    assert_eq!((rows.datatype().as_struct().unwrap().fields().len(), rows.shape()), (0, &[1][..]));
    assert_eq!(fits.writable_array(hdu).unwrap().unwrap().element_count(), 47);
    // A place outside the heap.
    let fits = table(&["TFIELDS = 1", "TTYPE1  = 'spectrum'", "TFORM1  = 'PE(9)'"], 8, &[0, 0, 0, 1, 0, 0, 0, 0]);
    let error = fits.cell(&fits.hdus()[1], 0, 0).unwrap_err();
    assert!(error.kind() == ErrorKind::Malformed && error.to_string().contains("spectrum"), "{error}");
    let fits = table(&["TFIELDS = 1", "TFORM1  = 'PE(9)'"], 8, &[0; 8]);
    assert_eq!(fits.cell(&fits.hdus()[1], 0, 0).unwrap().shape(), [0]);
}

#[test]
fn hdus_are_found_by_name_version_and_number() {
    let extension = |cards: &[&str]| {
        let head = ["XTENSION= 'IMAGE'", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 1", "PCOUNT  = 0", "GCOUNT  = 1"];
        unit(&[&head, cards].concat(), &[1])
    };
    let fits = file(&[
        unit(&EMPTY, &[]),
        extension(&["EXTNAME = 'SCI'"]),
        extension(&["EXTNAME = 'SCI     '", "EXTVER  = 2"]),
        extension(&[]),
    ]);
    let number = |spec: &str| fits.find(spec).map(Hdu::index);
    assert_eq!(number("SCI").unwrap(), 1);
    assert_eq!(number("SCI,1").unwrap(), 1);
    assert_eq!(number("sci,2").unwrap(), 2);
    assert_eq!(number("3").unwrap(), 3);
    assert_eq!(number("PRIMARY").unwrap(), 0);
    for missing in ["SCI,3", "DQ,1", "4", "", ",1"] {
        assert!(number(missing).unwrap_err().to_string().contains("1:SCI,1 2:SCI,2"), "{missing}");
    }
    assert_eq!(fits.array(fits.find("0").unwrap()).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn data_that_are_cut_short_hide_nothing_else() {
    let cards = ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 2880"];
    let extension = ["XTENSION= 'IMAGE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 100", "NAXIS2  = 100"];
    let mut bytes = [unit(&cards, &[7; 2880]), unit(&extension, &[1; 10_000])].concat();
    bytes.truncate(10_000);
    let fits = open(bytes.clone()).unwrap();
    assert_eq!(fits.hdus().len(), 2);
    assert!(fits.warnings()[0].contains("HDU 1 is truncated: the file ends at byte 10000"), "{:?}", fits.warnings());
    assert_eq!(fits.array(&fits.hdus()[0]).unwrap().load::<u8>().unwrap().len(), 2880);
    // The header ends at byte 8640, so that 13 rows are there.
    for array in [fits.array(&fits.hdus()[1]).unwrap(), fits.writable_array(&fits.hdus()[1]).unwrap().unwrap()] {
        let error = array.load::<u8>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.to_string().contains("is truncated at byte 10000: the array ends at byte"), "{error}");
        let rows = |end: i64| array.slice(crate::s![..end]).and_then(|rows| rows.load::<u8>());
        assert_eq!(rows(13).unwrap(), [1; 1300]);
        assert!(rows(14).is_err());
    }
    bytes.truncate(8640);
    let fits = open(bytes).unwrap();
    assert_eq!(fits.array(&fits.hdus()[1]).unwrap_err().kind(), ErrorKind::Malformed);
}

/// First tier.
#[test]
fn damaged_header_start_keeps_other_hdus_readable() {
    let extension = ["XTENSION= 'IMAGE'", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 3"];
    let units = [unit(&EMPTY, &[]), unit(&extension, &[1, 2, 3]), unit(&extension, &[4, 5, 6])];
    let (start, whole) = (units[0].len(), units.concat());
    let check = |bytes: Vec<u8>, what: String| {
        let fits = open(bytes).unwrap();
        assert_eq!(fits.hdus().len(), 3, "{what}");
        assert_eq!(fits.hdus()[1].error().map(crate::Error::kind), Some(ErrorKind::Malformed), "{what}");
        assert_eq!(fits.array(&fits.hdus()[2]).unwrap().load::<u8>().unwrap(), [4, 5, 6], "{what}");
    };
    for bit in 0..72 {
        let mut bytes = whole.clone();
        bytes[start + bit / 8] ^= 1 << (bit % 8);
        check(bytes, format!("bit {bit}"));
    }
    for len in [240, 512, 2880] {
        let mut bytes = whole.clone();
        bytes[start..start + len].fill(0);
        check(bytes, format!("{len} zeros"));
    }
    let fits = open([whole, vec![0; 5000]].concat()).unwrap();
    assert_eq!((fits.hdus().len(), fits.warnings().len()), (3, 1));
}

#[test]
fn hostile_headers_are_errors() {
    let broken: [&[&str]; 12] = [
        &["SIMPLE  = T"],
        &["SIMPLE  = T", "BITPIX  = 7", "NAXIS   = 0"],
        &["SIMPLE  = T", "BITPIX  = 8"],
        &["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = -1"],
        &["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 99999999999"],
        &["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 1"],
        &["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = -4"],
        &["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 99999999999999999999999"],
        &["SIMPLE  = T", "BITPIX  = 64", "NAXIS   = 2", "NAXIS1  = 4294967296", "NAXIS2  = 4294967296"],
        &["SIMPLE  = T", "BITPIX  = 64", "NAXIS   = 1", "NAXIS1  = 9223372036854775807"],
        &["SIMPLE  = T", "BITPIX  = 'many'", "NAXIS   = 0"],
        &["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 1.5"],
    ];
    for cards in broken {
        let error = open(header(cards)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{cards:?}");
        assert!(error.to_string().contains("HDU 0"), "{error}");
    }
    for bytes in [vec![], b"SIMPLE".to_vec(), b"SIMPLE  = T".to_vec(), vec![0; 2880], b"XTENSION= 'IMAGE'".to_vec()] {
        assert_eq!(open(bytes).unwrap_err().kind(), ErrorKind::Malformed);
    }
    // Sizes cost nothing until they are requested.
    let fits = open(header(&["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 1000000000000000"])).unwrap();
    assert_eq!(fits.array(&fits.hdus()[0]).unwrap_err().kind(), ErrorKind::Malformed);
    // Groups without axes are not groups.
    let groups =
        open(header(&["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0", "NAXIS1  = 0", "GROUPS  = T", "GCOUNT  = 2"])).unwrap();
    assert!(groups.array(&groups.hdus()[0]).is_err());
}

#[test]
fn hostile_tables_are_errors() {
    let broken: [&[&str]; 8] = [
        &[],
        &["TFIELDS = 1"],
        &["TFIELDS = 1000000"],
        &["TFIELDS = 1", "TFORM1  = 'Z'"],
        &["TFIELDS = 1", "TFORM1  = '5B'"],
        &["TFIELDS = 1", "TFORM1  = '99999999999999999999D'"],
        &["TFIELDS = 1", "TFORM1  = '9223372036854775807M'"],
        &["TFIELDS = 1", "TFORM1  = 'I'", "TSCAL1  = 'x'"],
    ];
    for cards in broken {
        let fits = table(cards, 4, &[0; 4]);
        assert_eq!(fits.array(&fits.hdus()[1]).unwrap_err().kind(), ErrorKind::Malformed, "{cards:?}");
        // The bytes are there nevertheless.
        assert_eq!(fits.writable_array(&fits.hdus()[1]).unwrap().unwrap().nbytes(), 4, "{cards:?}");
    }
    // A dimension that does not fit is passed over.
    let fits = table(&["TFIELDS = 1", "TFORM1  = '4B'", "TDIM1   = '(3,3)'"], 4, &[0; 4]);
    assert_eq!(rows(&fits).datatype().as_struct().unwrap().fields()[0].shape, [4]);
}

/// A compressed image of 3 x 2 int16 values, a tile for each line; `more` are further cards.
fn tiles(method: &str, more: &[&str], lines: &[Vec<u8>; 2]) -> FitsFile {
    let descriptor = |len: usize, at: usize| [(len as u32).to_be_bytes(), (at as u32).to_be_bytes()].concat();
    let data = [descriptor(lines[0].len(), 0), descriptor(lines[1].len(), lines[0].len())].concat();
    let method = format!("ZCMPTYPE= '{method}'");
    let cards = [
        "TFIELDS = 1",
        "TTYPE1  = 'COMPRESSED_DATA'",
        "TFORM1  = '1PB(99)'",
        "ZIMAGE  = T",
        &method,
        "ZNAXIS  = 2",
        "ZNAXIS1 = 3",
        "ZNAXIS2 = 2",
    ];
    with_heap(&[&cards, more].concat(), 8, &data, &lines.concat())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn images_in_tiles_are_decoded() {
    let lines = [vec![0u8, 1, 0, 2, 0xff, 0xff], vec![0, 4, 0, 5, 0, 6]];
    let expected = [1i16, 2, -1, 4, 5, 6];
    let short = ["ZBITPIX = 16"];
    let load = |fits: FitsFile| fits.array(&fits.hdus()[1]).and_then(|array| array.load::<i16>());
    assert_eq!(load(tiles("NOCOMPRESS", &short, &lines)).unwrap(), expected);
    assert_eq!(load(tiles("GZIP_1", &short, &lines.clone().map(|line| gzip(&line)))).unwrap(), expected);
    let shuffled = lines.clone().map(|l| gzip(&[l[0], l[2], l[4], l[1], l[3], l[5]]));
    assert_eq!(load(tiles("GZIP_2", &short, &shuffled)).unwrap(), expected);
    // A value that the image cannot hold.
    let wide = lines.clone();
    assert_eq!(load(tiles("NOCOMPRESS", &["ZBITPIX = 8"], &wide)).unwrap_err().kind(), ErrorKind::InvalidInput);
    let bytes = |fits: FitsFile| fits.array(fits.find("1").unwrap()).and_then(|array| array.load::<u8>());
    assert_eq!(bytes(tiles("NOCOMPRESS", &["ZBITPIX = 8"], &wide)).unwrap_err().kind(), ErrorKind::Malformed);
    // Rice: the first value, then in one block split at 0 bits the differences 0, 1, -3 as 0, 2 and 5.
    let rice = ["ZBITPIX = 16", "ZNAME1  = 'BYTEPIX'", "ZVAL1   = 2"];
    let lines = [vec![0, 1, 0b0001_1001, 0b0000_0100], vec![0, 1, 0b0001_1001, 0b0000_0100]];
    assert_eq!(load(tiles("RICE_1", &rice, &lines)).unwrap(), [1, 2, -1, 1, 2, -1]);

    // Compared with astropy in tests/interop.
    assert_eq!(load(tiles("HCOMPRESS_1", &short, &lines)).unwrap_err().kind(), ErrorKind::Malformed);
    let smooth = ["ZBITPIX = 16", "ZNAME1  = 'SMOOTH'", "ZVAL1   = 1"];
    assert_eq!(load(tiles("HCOMPRESS_1", &smooth, &lines)).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(load(tiles("JPEG", &short, &lines)).unwrap_err().kind(), ErrorKind::Unsupported);
    let list = [vec![0, 0, 0, 0, 0, 6, 0x10, 7, 0, 0, 0x40, 2], vec![0, 0, 0, 0, 0, 4, 0x60, 1]];
    assert_eq!(load(tiles("PLIO_1", &short, &list)).unwrap(), [7, 7, 0, 2, 0, 0]);
    assert_eq!(load(tiles("GZIP_1", &short, &lines)).unwrap_err().kind(), ErrorKind::Malformed);
    assert_eq!(load(tiles("RICE_1", &rice, &[vec![0], vec![0]])).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn slice_reads_only_own_tiles() {
    let lines = [vec![0u8, 1, 0, 2, 0, 3], vec![0, 4, 0, 5, 0, 6]];
    let fits = tiles("NOCOMPRESS", &["ZBITPIX = 16"], &lines);
    let array = rows(&fits);
    let second = array.slice([crate::array::Index::Integer(1)]).unwrap();
    assert_eq!(second.load::<i16>().unwrap(), [4, 5, 6]);
    let stored = |array: &Array| stored_ranges(&**array.source(), array.byte_range()).unwrap();
    let (one, all) = (stored(&second), stored(&array));
    assert_eq!((one.len(), all.len()), (1, 2));
    assert_eq!(one[0].end - one[0].start, 6);
    assert_eq!(all[1], one[0]);
    // A tile that is broken spoils no other.
    let fits = tiles("GZIP_1", &["ZBITPIX = 16"], &[gzip(&lines[0]), vec![1, 2, 3]]);
    let array = rows(&fits);
    assert_eq!(array.slice([crate::array::Index::Integer(0)]).unwrap().load::<i16>().unwrap(), [1, 2, 3]);
    let error = array.load::<i16>().unwrap_err();
    assert!(error.to_string().contains("tile 1"), "{error}");
}

#[test]
fn quantised_floats_apply_scale_blank_and_dither() {
    let lines = [[0i32, 1, 7], [2, 3, 4]].map(|line| line.iter().flat_map(|n| n.to_be_bytes()).collect());
    let more = ["ZBITPIX = -64", "ZSCALE  = 0.5", "ZZERO   = 10.0", "ZBLANK  = 7"];
    let fits = tiles("NOCOMPRESS", &more, &lines);
    let values = rows(&fits).load::<f64>().unwrap();
    assert_eq!(values[..2], [10.0, 10.5]);
    assert!(values[2].is_nan());
    // Dithered zeros of the second kind stay zeros; other values move by less than half a step.
    let lines = [[i32::MIN + 2, 1, 1], [2, 3, 4]].map(|line| line.iter().flat_map(|n| n.to_be_bytes()).collect());
    let more = ["ZBITPIX = -64", "ZSCALE  = 0.5", "ZZERO   = 10.0", "ZQUANTIZ= 'SUBTRACTIVE_DITHER_2'", "ZDITHER0= 3"];
    let fits = tiles("NOCOMPRESS", &more, &lines);
    let values = rows(&fits).load::<f64>().unwrap();
    assert_eq!(values[0], 0.0);
    assert!(values[1] != 10.5 && (values[1] - 10.5).abs() <= 0.25 && values[1] != values[2], "{values:?}");
}

#[test]
fn hostile_tiles_are_errors() {
    let lines = [vec![0; 6], vec![0; 6]];
    let check = |more: &[&str], kind| {
        let fits = tiles("NOCOMPRESS", more, &lines);
        let error = fits.array(&fits.hdus()[1]).and_then(|array| array.read_bytes(Byteorder::Little)).unwrap_err();
        assert_eq!(error.kind(), kind, "{more:?}: {error}");
        assert!(fits.writable_array(&fits.hdus()[1]).unwrap().is_some());
    };
    check(&[], ErrorKind::Malformed);
    check(&["ZBITPIX = 16", "ZTILE1  = 1"], ErrorKind::Malformed);
    check(&["ZBITPIX = 16", "THEAP   = 9999"], ErrorKind::Malformed);
    check(&["ZBITPIX = 16", "THEAP   = 20"], ErrorKind::Malformed);
    check(&["ZBITPIX = 16", "ZNAXIS3 = 9", "ZTILE1  = 2", "ZTILE2  = 2"], ErrorKind::Malformed);
    check(&["ZBITPIX = -32", "ZQUANTIZ= 'MAGIC'"], ErrorKind::Unsupported);
}

/// Converts a file to the text of a tree, as convert does, and back.
fn there_and_back(bytes: &[u8]) -> (FitsTree, Vec<u8>) {
    let fits = open(bytes.to_vec()).unwrap();
    let mut arrays = Vec::new();
    let listing = to_value(&fits, &mut |hdu| {
        let Some(array) = fits.writable_array(hdu)? else { return Ok(None) };
        arrays.push((hdu.index(), array));
        Ok(stored_node(&fits, hdu))
    })
    .unwrap();
    let mut root = Value::map([("fits", listing.fits.clone())]);
    if let Some(cards) = &listing.cards {
        root.set(CARDS_KEY, cards.clone());
    }
    let tree = tree(print_document(&root, &PrintOptions::default()));
    let mut open = |node: Node<'_>| {
        let source = node.get("source").unwrap().text().into_owned();
        Ok(arrays.iter().find(|(number, _)| format!("fits:{number}") == source).unwrap().1.clone())
    };
    let parts = parts_of(&tree, "/fits", &mut open).unwrap();
    (listing, written(&parts))
}

#[test]
fn fixed_format_header_round_trip_through_triples() {
    let long = Card::new("LONG", "long words ".repeat(20).trim_end(), "and a comment").unwrap();
    let head = ["SIMPLE  =                    T / standard", "BITPIX  =                    8", "NAXIS   =                    0"];
    let tail =
        ["HISTORY  two  blanks", "", "COMMENT NO", "DATE    = '2015-01-01'         / 1e5", "X       =              1.5E-05"];
    let first = ended([&padded(&head)[..], long.bytes(), &padded(&tail)].concat());
    let (listing, out) = there_and_back(&first);
    assert_eq!(out, first);
    assert_eq!(listing.cards, None);
    assert!(!listing.is_strict, "220 characters of text are more than the schema allows");
}

#[test]
fn cards_of_any_other_spelling_are_kept() {
    let cards =
        ["SIMPLE  = T", "BITPIX  = 8 /bits", "NAXIS   = 0", "FREE= 1", "D       = 1.50D3", "COMPLEX = (1,2)", "OPEN    = 'x"];
    let bytes = header(&cards);
    let (listing, out) = there_and_back(&bytes);
    assert_eq!(out, bytes);
    assert!(listing.is_strict);
    assert!(listing.cards.unwrap().items().len() >= 5);
}

#[test]
fn kept_cards_go_with_their_rows() {
    let lines = |name: &str| -> Vec<String> {
        let first = if name == "0" { "SIMPLE  = T" } else { "XTENSION= 'IMAGE'" };
        let odd = [
            "D       = 1.50D3",
            "COMPLEX = (1,2)",
            "NAN     = NaN",
            "BIG     = 12345678901234567890123",
            "UNDEF   =",
            "NOVAL   no equals",
        ];
        let plain = "GAIN    =                  2.5";
        let head = [first, "BITPIX  = 8", "NAXIS   = 0", plain];
        let tail = [format!("WHO     = '{name}'"), "PLUS    = +05".to_owned()];
        head.iter().chain(&odd).map(|line| (*line).to_owned()).chain(tail).collect()
    };
    let texts = |part: &HduData| -> Vec<String> {
        part.header.cards().iter().map(|card| String::from_utf8_lossy(card.bytes()).trim_end().to_owned()).collect()
    };
    let bytes: Vec<u8> =
        ["0", "1", "2"].iter().flat_map(|name| header(&lines(name).iter().map(String::as_str).collect::<Vec<_>>())).collect();
    let fits = open(bytes).unwrap();
    let listing = to_value(&fits, &mut |_| Ok(None)).unwrap();
    let edited = |edit: &dyn Fn(&mut Vec<Value>)| {
        let mut hdus = listing.fits.items().to_vec();
        edit(&mut hdus);
        let root = Value::map([("fits", Value::seq(hdus)), (CARDS_KEY, listing.cards.clone().unwrap())]);
        let tree = tree(print_document(&root, &PrintOptions::default()));
        parts_of(&tree, "/fits", &mut |_| unreachable!()).unwrap()
    };
    let rows = |hdu: &mut Value, edit: &dyn Fn(&mut Vec<Value>)| {
        let mut rows = hdu.get("header").unwrap().items().to_vec();
        edit(&mut rows);
        hdu.set("header", Value::seq(rows));
    };
    for at in 3..12 {
        let mut expected = lines("1");
        expected.remove(at);
        let parts = edited(&|hdus| rows(&mut hdus[1], &|rows| drop(rows.remove(at))));
        assert_eq!(texts(&parts[1]), expected, "row {at} is removed");
        assert_eq!((texts(&parts[0]), texts(&parts[2])), (lines("0"), lines("2")));
        let mut expected = lines("1");
        expected.insert(at, "NEW     =                    1".to_owned());
        let new = Value::seq([Value::from("NEW"), Value::from(1)]);
        let parts = edited(&|hdus| rows(&mut hdus[1], &|rows| rows.insert(at, new.clone())));
        assert_eq!(texts(&parts[1]), expected, "a row is inserted at {at}");
    }
    let parts = edited(&|hdus| drop(hdus.remove(1)));
    assert_eq!(parts.iter().map(texts).collect::<Vec<_>>(), [lines("0"), lines("2")]);
    let parts = edited(&|hdus| hdus.swap(1, 2));
    assert_eq!(parts.iter().map(texts).collect::<Vec<_>>(), [lines("0"), lines("2"), lines("1")]);
    // An HDU and a row of another one.
    for at in 3..12 {
        let mut expected = lines("2");
        expected.remove(at);
        let parts = edited(&|hdus| {
            drop(hdus.remove(1));
            rows(&mut hdus[1], &|rows| drop(rows.remove(at)));
        });
        assert_eq!(parts.iter().map(texts).collect::<Vec<_>>(), [lines("0"), expected], "an HDU and row {at} are removed");
    }
}

#[test]
fn list_value_overrides_kept_card() {
    let yaml = "fits:\n- header: [[SIMPLE, true], [BITPIX, 8], [NAXIS, 0], [GAIN, 2.5]]\nfits_cards: [[0, 3, GAIN = 1.5]]\n";
    let tree = tree(yaml);
    let parts = parts_of(&tree, "/fits", &mut |_| unreachable!()).unwrap();
    assert_eq!(parts[0].header.float("GAIN").unwrap(), Some(2.5));
}

#[test]
fn list_of_0_1_0dev_example_becomes_file() {
    // The example of section 4.2.1, shortened; its headers leave out NAXIS3 and the like.
    let yaml = "
- header:
  - [SIMPLE, true, conforms to FITS standard]
  - [BITPIX, 8, array data type]
  - [NAXIS, 0, number of array dimensions]
  - [EXTEND, true]
  - []
  - ['', Top Level MIRI Metadata]
  - [DATE, '2013-08-30T10:49:55.070373', The date this file was created (UTC)]
- data: x
  header:
  - [XTENSION, IMAGE, Image extension]
  - [BITPIX, -32, array data type]
  - [NAXIS, 2, number of array dimensions]
  - [EXTNAME, SCI, extension name]
";
    let tree = tree(yaml);
    let array = Array::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
    let parts = parts_of(&tree, "", &mut |_| Ok(array.clone())).unwrap();
    let fits = open(written(&parts)).unwrap();
    let sci = fits.find("SCI").unwrap();
    assert_eq!(sci.header().integer("NAXIS1").unwrap(), Some(3));
    assert_eq!(fits.array(sci).unwrap().load::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(fits.hdus()[0].header().cards()[5].value(), &CardValue::Text("Top Level MIRI Metadata".into()));
}

#[test]
fn column_list_becomes_rows() {
    let yaml = "
- header: [[SIMPLE, true], [BITPIX, 8], [NAXIS, 0]]
- header: [[XTENSION, BINTABLE], [EXTNAME, CAT]]
  data: {columns: [{name: a, data: 0}, {name: b, data: {value: 1, unit: m}}]}
";
    let tree = tree(yaml);
    let mut columns = |node: Node<'_>| match node.as_i64() {
        Some(0) => Array::from_slice(&[1i16, 2], &[2]),
        _ => Array::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]),
    };
    let parts = parts_of(&tree, "", &mut columns).unwrap();
    let fits = open(written(&parts)).unwrap();
    let array = fits.array(fits.find("CAT").unwrap()).unwrap();
    assert_eq!(array.datatype().to_string(), "[{name: a, datatype: int16}, {name: b, datatype: float32, shape: [2]}]");
    let expected: Vec<u8> = [(1i16, [1.0f32, 2.0]), (2, [3.0, 4.0])]
        .iter()
        .flat_map(|(a, b)| [a.to_be_bytes().to_vec(), b[0].to_be_bytes().to_vec(), b[1].to_be_bytes().to_vec()].concat())
        .collect();
    assert_eq!(array.read_bytes(Byteorder::Big).unwrap(), expected);
    let mut uneven = |node: Node<'_>| {
        let count = if node.as_i64() == Some(0) { 2 } else { 3 };
        Array::from_slice(&[1u8, 2, 3][..count], &[count as u64])
    };
    assert!(parts_of(&tree, "", &mut uneven).unwrap_err().to_string().contains("3 rows, others have 2"));
}

#[test]
fn invalid_list_err_states_line() {
    for yaml in ["a: 1", "- 1", "- {data: 1}", "- header: 1", "- header: [1]", "- header: [[A, [1]]]", "- header: [[A, 1, b, c]]"]
    {
        let tree = tree(yaml);
        let error = parts_of(&tree, "", &mut |_| unreachable!()).unwrap_err();
        assert!(error.to_string().contains("line 1"), "{yaml}: {error}");
    }
}

#[test]
fn changed_array_updates_only_its_cards() {
    let cards = ["SIMPLE  = T", "BITPIX  = 16", "NAXIS   = 1", "NAXIS1  = 2", "BZERO   = 32768", "OBJECT  = 'M31'"];
    let fits = file(&[unit(&cards, &[0; 4])]);
    let header = fits.hdus()[0].header().clone();
    let data = Array::from_slice(&[1.5f64, 2.5], &[1, 2]).unwrap();
    let fits = open(written(&[HduData::with_data(header, Some(data))])).unwrap();
    let hdu = &fits.hdus()[0];
    assert_eq!(fits.array(hdu).unwrap().load::<f64>().unwrap(), [1.5, 2.5]);
    assert_eq!(hdu.header().text("OBJECT"), Some("M31"));
    assert!(hdu.header().card("BZERO").is_none());
}

#[test]
fn arrays_write_read_round_trip_as_hdus() {
    let text = Array::from_bytes(b"abc\0de".to_vec(), Datatype::Ascii(3), Byteorder::Big, vec![2]).unwrap();
    let wide =
        Array::from_bytes("ab".bytes().flat_map(|b| [b, 0, 0, 0]).collect(), Datatype::Ucs4(2), Byteorder::Little, vec![1]);
    let fields = vec![
        Field::new("id", Datatype::Uint32, Byteorder::Little),
        Field::new("ok", Datatype::Bool8, Byteorder::Little),
        Field::new("m", Datatype::Float16, Byteorder::Little).with_shape(vec![2, 1]),
    ];
    let fields = Datatype::Struct(Arc::new(StructType::packed_from(fields).unwrap()));
    let records = Array::from_bytes(vec![1, 0, 0, 0, 1, 0, 0x3c, 0, 0x40], fields, Byteorder::Little, vec![1]).unwrap();
    let arrays = [
        ("/data".to_owned(), Array::from_slice(&[1u16, 65535], &[2]).unwrap()),
        ("/a/bits".to_owned(), Array::from_slice(&[true, false], &[2]).unwrap()),
        ("/text".to_owned(), text),
        ("/wide".to_owned(), wide.unwrap()),
        ("/records".to_owned(), records),
        ("/one".to_owned(), Array::from_slice(&[7i8], &[]).unwrap()),
    ];
    let mut parts = vec![HduData::primary(Some(&arrays[0].1)).unwrap()];
    parts.extend(arrays[1..].iter().map(|(path, array)| HduData::extension(&path[1..].to_uppercase(), array).unwrap()));
    let fits = open(written(&parts)).unwrap();
    assert!(fits.warnings().is_empty());
    let bytes = |spec: &str| fits.array(fits.find(spec).unwrap()).unwrap().read_bytes(Byteorder::Little).unwrap();
    assert_eq!(bytes("0"), [1, 0, 255, 255]);
    assert_eq!(bytes("A/BITS"), [1, 0]);
    // A string ends at its first NUL.
    assert_eq!(bytes("TEXT"), b"abc\0\0\0");
    assert_eq!(bytes("WIDE"), b"ab");
    assert_eq!(bytes("ONE"), [7]);
    assert_eq!(bytes("RECORDS")[..5], [1, 0, 0, 0, 1]);
    assert_eq!(bytes("RECORDS")[5..], [1f32.to_le_bytes(), 2f32.to_le_bytes()].concat());
    assert!(losses(&arrays[0].1).is_empty());
    assert_eq!(losses(&arrays[4].1).len(), 1);
    assert_eq!(losses(&arrays[0].1.clone().with_mask(Mask::Integer(1)).unwrap()), ["the mask"]);

    let greek = Array::from_bytes(vec![0xb1, 3, 0, 0], Datatype::Ucs4(1), Byteorder::Little, vec![1]).unwrap();
    let parts = [HduData::primary(None).unwrap(), HduData::extension("G", &greek).unwrap()];
    let refused = write(&mut Vec::new(), &parts).unwrap_err();
    assert!(refused.to_string().contains('α'), "{refused}");
}

#[test]
fn embedded_asdf_reads_three_forms_writes_bintable() {
    let asdf = b"#ASDF 1.0.0\n".to_vec();
    let forms: [&[&str]; 3] = [
        &["XTENSION= 'IMAGE'", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 12", "EXTNAME = 'ASDF'"],
        &["XTENSION= 'ASDF'", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 12"],
        &[
            "XTENSION= 'BINTABLE'",
            "BITPIX  = 8",
            "NAXIS   = 2",
            "NAXIS1  = 12",
            "NAXIS2  = 1",
            "TFIELDS = 1",
            "TFORM1  = '12B'",
            "EXTNAME = 'ASDF'",
        ],
    ];
    for form in forms {
        let fits = file(&[unit(&EMPTY, &[]), unit(form, &asdf)]);
        let hdu = fits.asdf().unwrap();
        let source = fits.asdf_source(hdu).unwrap();
        assert_eq!(source.view(0, 12), Some(&asdf[..]));

        let mut out = Vec::new();
        write_asdf(&mut out, &fits, Some(Arc::new(MemorySource::new(b"#ASDF 1.0.0\nnew".to_vec(), "new")))).unwrap();
        assert_eq!(out[..2880], unit(&EMPTY, &[]));
        let again = open(out).unwrap();
        let hdu = again.asdf().unwrap();
        assert_eq!(
            (again.hdus().len(), hdu.header().text("TTYPE1"), hdu.header().text("TFORM1")),
            (2, Some("ASDF_METADATA"), Some("15B"))
        );
        assert_eq!(again.asdf_source(hdu).unwrap().view(0, 15), Some(&b"#ASDF 1.0.0\nnew"[..]));
        let mut out = Vec::new();
        write_asdf(&mut out, &again, None).unwrap();
        assert_eq!(out.len(), 2880);
    }
}

proptest! {
    #[test]
    fn any_header_comes_back_byte_for_byte(lines in prop::collection::vec("[ -~]{0,80}", 0..12)) {
        let mut cards = EMPTY.to_vec();
        cards.extend(lines.iter().map(String::as_str).filter(|line| !matches!(line.get(..8), Some("END     ")) && line.trim() != "END"
            && !["BITPIX", "NAXIS", "SIMPLE", "XTENSION"].iter().any(|word| line.starts_with(word))));
        let bytes = header(&cards);
        prop_assert_eq!(there_and_back(&bytes).1, bytes);
    }

    #[test]
    fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..6000), cards in prop::collection::vec("[A-Z]{1,8}[0-9]{0,2} *= *[-0-9TFA'(),.E]{0,20}", 0..20)) {
        let mut start: Vec<u8> = EMPTY.iter().map(|c| (*c).to_owned()).chain(cards).flat_map(|card| format!("{card:80.80}").into_bytes()).collect();
        start.append(&mut bytes);
        if let Ok(fits) = open(start) {
            for hdu in fits.hdus() {
                let _ = fits.array(hdu).and_then(|array| array.read_bytes(Byteorder::Little));
                let _ = fits.writable_array(hdu);
            }
        }
    }

    #[test]
    fn no_table_makes_it_panic(cards in prop::collection::vec("T(FORM|DIM|ZERO|SCAL|NULL|TYPE|BCOL)[1-3] *= *('[0-9]{0,3}[LXBIJKAEDCMPQ][0-9]?'|'\\([0-9],[0-9]\\)'|-?[0-9]{1,6})", 0..12), width in 1u64..40, kind in 0usize..3) {
        let kind = ["XTENSION= 'BINTABLE'", "XTENSION= 'TABLE'", "XTENSION= 'IMAGE'"][kind];
        let (width, rest) = (format!("NAXIS1  = {width}"), cards.iter().map(String::as_str));
        let head = [kind, "BITPIX  = 8", "NAXIS   = 2", &width, "NAXIS2  = 3", "TFIELDS = 3"];
        let all: Vec<&str> = head.into_iter().chain(rest).collect();
        let fits = file(&[unit(&EMPTY, &[]), unit(&all, &[0x41; 120])]);
        let _ = fits.array(&fits.hdus()[1]).and_then(|array| array.read_bytes(Byteorder::Little));
        let stored = fits.writable_array(&fits.hdus()[1]).unwrap();
        prop_assert!(stored.is_some());
    }
}
