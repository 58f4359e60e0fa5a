//! Edits of FITS files: the cards that were asked for are other, and every other byte is as it was.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where something is not as expected"
)]

use std::io::Cursor;
use std::sync::Arc;

use proptest::prelude::*;
use trilith::Change;
use trilith::asdf::{AsdfFile, WriteOptions};
use trilith::bytes::{MemorySource, NoReferences, verify_backing};
use trilith::check::{self, VerifyDepth, VerifyReport};
use trilith::fits::{BLOCK_LEN, Card, CardValue, FitsFile, Header};
use trilith::tree::Edit;
use trilith::{Error, ErrorKind, Limits, Result, TreePath, Value, file};

/// A header of these cards and END, filled up.
fn header(cards: &[String]) -> Vec<u8> {
    let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:80}").into_bytes()).collect();
    bytes.extend_from_slice(b"END");
    bytes.resize(bytes.len().next_multiple_of(BLOCK_LEN as usize), b' ');
    bytes
}

fn unit(cards: &[&str], data: &[u8]) -> Vec<u8> {
    let mut bytes = header(&cards.iter().map(|card| (*card).to_owned()).collect::<Vec<_>>());
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(BLOCK_LEN as usize), 0);
    bytes
}

const IMAGE: [&str; 4] = ["XTENSION= 'IMAGE   '", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 5"];

/// Three HDUs, the second with odd spelling, and bytes that belong to none.
fn sample() -> Vec<u8> {
    let primary =
        unit(&["SIMPLE  = T / odd spacing", "BITPIX  = 16", "NAXIS   = 1", "NAXIS1  = 3", "OBJECT  = 'M31'/at once"], b"abcdef");
    let odd = [
        IMAGE[0],
        IMAGE[1],
        IMAGE[2],
        IMAGE[3],
        "EXTNAME = 'SCI     '",
        "EXPTIME =   1.50D+03/close to the number",
        "BIG     = 18446744073709551617 / more than 64 bits",
        "CPX     = (1.5, -2) / both halves",
        "NOTHING =                      / undefined",
        "HISTORY one",
        "HISTORY two",
        "HISTORY two",
        "HIERARCH ESO DET = 'EEV' / chip",
        "LONG    = 'part one &'",
        "CONTINUE  'and two' / of it",
        "",
        "COMMENT   behind a blank",
        "",
    ];
    let table = unit(
        &[
            "XTENSION= 'BINTABLE'",
            "BITPIX  = 8",
            "NAXIS   = 2",
            "NAXIS1  = 4",
            "NAXIS2  = 2",
            "PCOUNT  = 3",
            "GCOUNT  = 1",
            "TFIELDS = 1",
            "TFORM1  = 'J'",
            "TTYPE1  = 'a'",
        ],
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    );
    [primary, unit(&odd, b"12345"), table, vec![b' '; 240]].concat()
}

fn open(bytes: Vec<u8>) -> AsdfFile {
    file::open_asdf_source(Arc::new(MemorySource::new(bytes, "test.fits")), Arc::new(NoReferences), &Limits::default()).unwrap()
}

fn path(text: &str) -> TreePath {
    TreePath::parse(text).unwrap()
}

/// The bytes of a FITS file after an edit of its tree.
fn edited(bytes: &[u8], make: impl FnOnce(&mut Edit<'_>) -> Result<()>) -> Result<Vec<u8>> {
    let file = open(bytes.to_vec());
    let mut change = Change::new(&file);
    change.edit(|edit, _| make(edit))?;
    let mut out = Cursor::new(Vec::new());
    change.write(&mut out, &WriteOptions::default())?;
    Ok(out.into_inner())
}

fn set(bytes: &[u8], at: &str, value: impl Into<Value>) -> Result<Vec<u8>> {
    let value = value.into();
    edited(bytes, |edit| edit.set(&path(at), &value))
}

fn cards(bytes: &[u8], hdu: usize) -> Vec<Card> {
    let fits = FitsFile::open(Arc::new(MemorySource::new(bytes.to_vec(), "test")), &Limits::default()).unwrap();
    fits.hdus()[hdu].header().cards().to_vec()
}

fn card(bytes: &[u8], hdu: usize, keyword: &str) -> Card {
    cards(bytes, hdu).into_iter().find(|card| card.keyword() == keyword).unwrap()
}

/// Whether two files differ in nothing but these bytes of one card.
fn differ_in(before: &[u8], after: &[u8], old: &str, new: &str) {
    let fill = |text: &str| format!("{text:80}").into_bytes();
    let at = before.windows(80).position(|window| window == fill(old)).unwrap_or_else(|| panic!("{old}"));
    let mut expected = before.to_vec();
    expected[at..at + 80].copy_from_slice(&fill(new));
    assert!(after == expected, "{:?}", String::from_utf8_lossy(&after[at..at + 80]));
}

#[test]
fn set_value_changes_only_its_card() {
    let bytes = sample();
    let changes: [(&str, Value, &str, &str); 10] = [
        ("0/header/OBJECT", "M32".into(), "OBJECT  = 'M31'/at once", "OBJECT  = 'M32     '           / at once"),
        (
            "1/header/EXPTIME",
            2.into(),
            "EXPTIME =   1.50D+03/close to the number",
            "EXPTIME =                    2 / close to the number",
        ),
        (
            "1/header/EXPTIME",
            Value::from(true),
            "EXPTIME =   1.50D+03/close to the number",
            "EXPTIME =                    T / close to the number",
        ),
        (
            "1/header/CPX",
            "(2.0, 3.0)".into(),
            "CPX     = (1.5, -2) / both halves",
            "CPX     =           (2.0, 3.0) / both halves",
        ),
        (
            "1/header/NOTHING",
            1.into(),
            "NOTHING =                      / undefined",
            "NOTHING =                    1 / undefined",
        ),
        ("1/header/HISTORY/2", "2".into(), "HISTORY two", "HISTORY 2"),
        ("1/header/ESO DET", "x".into(), "HIERARCH ESO DET = 'EEV' / chip", "HIERARCH ESO DET = 'x       ' / chip"),
        // The comment alone: what a row cannot say of the value stays.
        ("1/header/7/2", "of it".into(), "CPX     = (1.5, -2) / both halves", "CPX     =          (1.5, -2.0) / of it"),
        (
            "1/header/6/2",
            "large".into(),
            "BIG     = 18446744073709551617 / more than 64 bits",
            "BIG     = 18446744073709551617 / large",
        ),
        ("1/header/8/2", "still".into(), "NOTHING =                      / undefined", "NOTHING =  / still"),
    ];
    for (at, value, old, new) in changes {
        let after = set(&bytes, &format!("/fits/{at}"), value).unwrap_or_else(|error| panic!("{at}: {error}"));
        differ_in(&bytes, &after, old, new);
    }
    let after = edited(&bytes, |edit| edit.rename(&path("/fits/0/header/OBJECT"), "TARGET")).unwrap();
    differ_in(&bytes, &after, "OBJECT  = 'M31'/at once", "TARGET  = 'M31'/at once");
}

#[test]
fn rename_keyword_keeps_rest_of_card() {
    let odd = [
        "EXPTIME =   1.50D+03/close to the number",
        "FLOAT   = 1.500E+00 /  two blanks",
        "PLUS    =                  +05",
        "BIG     = 18446744073709551617 / more than 64 bits",
        "CPX     = (1.5, -2) / both halves",
        "NOTHING =                      / undefined",
        "NAN     = NaN",
        "NOVAL   no equals here",
        "TEXT    = 'x'/at once",
    ];
    let first = ["XTENSION= 'IMAGE   '", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 5"];
    let all: Vec<&str> = first.iter().chain(&odd).copied().collect();
    let bytes = [unit(&["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0"], b""), unit(&all, b"12345")].concat();
    for (at, line) in odd.iter().enumerate() {
        let at = at + first.len();
        let after = set(&bytes, &format!("/fits/1/header/{at}/0"), "OTHER").unwrap();
        differ_in(&bytes, &after, line, &format!("OTHER   {}", &line[8..]));
        // A longer one takes the room that blanks leave.
        let after = set(&bytes, &format!("/fits/1/header/{at}/0"), "ESO ODD");
        if line.len() < 60 && line.contains('=') {
            let text = String::from_utf8(cards(&after.unwrap(), 1)[at].bytes().to_vec()).unwrap();
            assert_eq!(text.trim_end(), format!("HIERARCH ESO ODD {}", &line[8..]));
        }
    }
    // If there are too few, those before the value go; if there is no space at all, nothing is cut.
    for (blanks, room) in [(30, true), (3, false)] {
        let comment = "y".repeat(80 - "FULL    =".len() - blanks - "1.500E+00 /  ".len());
        let line = format!("FULL    ={}1.500E+00 /  {comment}", " ".repeat(blanks));
        let bytes = unit(&["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0", &line], b"");
        let after = set(&bytes, "/fits/0/header/3/0", "ESO FULL");
        match after {
            Ok(after) if room => {
                let text = String::from_utf8(cards(&after, 0)[3].bytes().to_vec()).unwrap();
                assert!(text.starts_with("HIERARCH ESO FULL =") && text.ends_with(&format!(" 1.500E+00 /  {comment}")), "{text}");
            }
            Err(error) if !room => assert!(error.to_string().contains("no room for the keyword"), "{error}"),
            other => panic!("{blanks}: {:?}", other.map(|_| ())),
        }
    }
}

#[test]
fn insert_and_delete_cards_shift_following_bytes() {
    let bytes = sample();
    let block = BLOCK_LEN as usize;
    // The header of HDU 0 has one block; with 40 cards more it has two, and nothing else changes.
    let mut grown = bytes.clone();
    for number in 0..40 {
        grown = set(&grown, &format!("/fits/0/header/KEY{number}"), number).unwrap();
    }
    assert_eq!(grown.len(), bytes.len() + block);
    assert!(grown[2 * block..] == bytes[block..]);
    assert_eq!(card(&grown, 0, "KEY39").bytes(), format!("{:80}", "KEY39   =                   39").as_bytes());
    assert_eq!(cards(&grown, 0)[..5], cards(&bytes, 0)[..5]);
    for number in 0..40 {
        grown = edited(&grown, |edit| edit.delete(&path(&format!("/fits/0/header/KEY{number}")))).unwrap();
    }
    assert!(grown == bytes);
    let long = "word ".repeat(60);
    let after = set(&bytes, "/fits/1/header/LONG", long.trim_end()).unwrap();
    let made = card(&after, 1, "LONG");
    assert_eq!((made.value(), made.comment()), (&CardValue::Text(long.trim_end().to_owned()), "of it"));
    assert!(made.bytes().len() >= 5 * 80);
    let others = |bytes: &[u8]| cards(bytes, 1).into_iter().filter(|card| card.keyword() != "LONG").collect::<Vec<_>>();
    assert_eq!(others(&after), others(&bytes));
}

#[test]
fn structural_keywords_reject_edits() {
    let bytes = sample();
    let refused = |at: &str, value: Value| {
        let error = set(&bytes, at, value).expect_err(at);
        assert!(matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported), "{at}: {error}");
        error.to_string()
    };
    for keyword in ["SIMPLE", "BITPIX", "NAXIS", "NAXIS1"] {
        let text = refused(&format!("/fits/0/header/{keyword}"), 7.into());
        assert!(text.contains(keyword) && text.contains("cannot be changed"), "{text}");
    }
    for keyword in ["XTENSION", "PCOUNT", "GCOUNT", "TFIELDS", "TFORM1", "THEAP", "TBCOL1", "ZIMAGE", "EXTEND", "NAXIS3"] {
        refused(&format!("/fits/2/header/{keyword}"), "x".into());
    }
    for keyword in ["END", "CONTINUE", "CHECKSUM", "DATASUM", "A=B C"] {
        refused(&format!("/fits/0/header/{keyword}"), "x".into());
    }
    assert!(edited(&bytes, |edit| edit.delete(&path("/fits/2/header/TFORM1"))).is_err());
    assert!(edited(&bytes, |edit| edit.rename(&path("/fits/2/header/TTYPE1"), "TFORM2")).is_err());
    assert!(edited(&bytes, |edit| edit.insert(&path("/fits/0/header/2"), &Value::seq(["A", "b"]))).is_err());
    assert!(edited(&bytes, |edit| edit.insert(&path("/fits/0/header/4"), &Value::seq(["A", "b"]))).is_ok());
    // Text that a header cannot hold, and comments that do not fit.
    refused("/fits/0/header/OBJECT", "Gr\u{fc}n".into());
    refused("/fits/0/header/OBJECT", "a\nb".into());
    refused("/fits/0/header/EXPTIME", Value::seq([Value::from(1), "x".repeat(70).as_str().into()]));
    refused("/fits/0/header/EXPTIME", f64::NAN.into());
    // An EXTNAME that would make an embedded ASDF file of it.
    refused("/fits/1/header/EXTNAME", "ASDF".into());
}

#[test]
fn what_fits_has_no_place_for_is_refused() {
    let bytes = sample();
    for (at, value) in [
        ("/note", Value::from("hello")),
        ("/fits/0/name", "x".into()),
        ("/fits/0/data", 5.into()),
        ("/fits/0/data/shape", Value::seq([1])),
        ("/fits/0", "x".into()),
        ("/fits/0/header", "x".into()),
        ("/fits", "x".into()),
        ("", "x".into()),
    ] {
        let error = set(&bytes, at, value).expect_err(at);
        assert!(matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput), "{at}: {error}");
    }
    assert!(edited(&bytes, |edit| edit.delete(&path("/fits/1"))).is_err());
    assert!(edited(&bytes, |edit| edit.delete(&path("/fits/1/data"))).is_err());
    assert!(edited(&bytes, |edit| edit.insert(&path("/fits/-"), &Value::map([("header", Value::seq::<Value>([]))]))).is_err());
    // Nothing asked for, nothing changed.
    assert!(edited(&bytes, |_| Ok(())).unwrap() == bytes);
}

/// What one of the edits below does to a list of rows.
#[derive(Debug, Clone)]
enum Step {
    Set(usize, String),
    Insert(usize, String, String),
    Delete(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = "[ -~]{0,100}";
    let step = prop_oneof![
        (0usize..30, text).prop_map(|(at, text)| Step::Set(at, text)),
        (0usize..30, "[A-Z]{1,8}|[A-Z]{9} [A-Z]{3}|HISTORY|COMMENT", text)
            .prop_map(|(at, name, text)| Step::Insert(at, name, text)),
        (0usize..30).prop_map(Step::Delete),
    ];
    prop::collection::vec(step, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The header says what a plain list of cards says after the same steps; cards that no step touched keep their
    /// bytes, and so does everything outside the header of HDU 1.
    #[test]
    fn random_edits_match_card_list_model(steps in steps()) {
        const FIRST: usize = 4;
        let bytes = sample();
        let mut model: Vec<Card> = cards(&bytes, 1);
        let mut text = bytes.clone();
        for step in steps {
            let place = |at: usize, len: usize| FIRST + at % (len - FIRST);
            let asked = match &step {
                Step::Set(at, value) => {
                    let at = place(*at, model.len());
                    let (keyword, comment) = (model[at].keyword().to_owned(), model[at].comment().to_owned());
                    let made = Card::new(&keyword, value.trim_end(), &comment);
                    let row = Value::seq([keyword.as_str(), value.trim_end(), &comment]);
                    let done = edited(&text, |edit| edit.set(&path(&format!("/fits/1/header/{at}")), &row));
                    // A card without a value reads as null, so that an empty text is another value.
                    made.map(|card| model[at] = card).and(done)
                }
                Step::Insert(at, keyword, value) => {
                    let at = place(*at, model.len() + 1);
                    let made = Card::new(keyword, value.trim_end(), "");
                    let row = Value::seq([keyword.as_str(), value.trim_end()]);
                    let done = edited(&text, |edit| edit.insert(&path(&format!("/fits/1/header/{at}")), &row));
                    made.map(|card| model.insert(at, card)).and(done)
                }
                Step::Delete(at) if model.len() > FIRST + 1 => {
                    let at = place(*at, model.len());
                    model.remove(at);
                    edited(&text, |edit| edit.delete(&path(&format!("/fits/1/header/{at}"))))
                }
                Step::Delete(_) => Err(Error::invalid_input("the last one stays")),
            };
            let Ok(after) = asked else {
                // A row that cannot be a card changes nothing, neither here nor there.
                model = cards(&text, 1);
                continue;
            };
            text = after;
            // A long text of COMMENT or HISTORY becomes several cards.
            let joined = |cards: &[Card]| cards.iter().flat_map(|card| card.bytes()).copied().collect::<Vec<u8>>();
            let (found, expected) = (joined(&cards(&text, 1)), joined(&model));
            prop_assert!(found == expected, "{:?}", String::from_utf8_lossy(&found));
            model = cards(&text, 1);
        }
        let start = 2 * BLOCK_LEN as usize;
        prop_assert!(text[..start] == bytes[..start]);
        let end = start + Header::new(cards(&text, 1)).to_bytes().len();
        prop_assert!(text[end..] == bytes[start + BLOCK_LEN as usize..]);
    }
}

/// An HDU with the sums that astropy computed, and a second one without.
fn summed() -> Vec<u8> {
    let primary = [
        "SIMPLE  =                    T / conforms to FITS standard",
        "BITPIX  =                   16 / array data type",
        "NAXIS   =                    1 / number of array dimensions",
        "NAXIS1  =                    3",
        "EXTEND  =                    T",
        "OBJECT  = 'M31     '",
        "CHECKSUM= 'Pad9QRc7PXc7PXc7'   / now",
        "DATASUM = '131073  '           / now",
    ];
    [unit(&primary, &[0, 0, 0, 1, 0, 2]), unit(&IMAGE, b"12345")].concat()
}

fn report(bytes: &[u8]) -> VerifyReport {
    check::verify(&open(bytes.to_vec()), VerifyDepth::Structure, trilith::Progress::default()).unwrap()
}

/// The keywords of the sums of a file that are wrong.
fn wrong(bytes: &[u8]) -> Vec<&'static str> {
    let sums = report(bytes).checksums;
    sums.iter().filter(|sum| sum.problem.is_some()).map(|sum| sum.kind).collect()
}

fn flipped(at: usize) -> Vec<u8> {
    let mut bytes = summed();
    bytes[at] ^= 1;
    bytes
}

/// First tier. FITS 4.0, section 4.4.2.7: CHECKSUM covers the HDU with everything that fills it, DATASUM its data unit.
#[test]
fn checksums_cover_every_byte_of_hdu() {
    assert!(wrong(&summed()).is_empty() && report(&summed()).checksums.len() == 2);
    let value = summed().windows(3).position(|window| window == b"M31").unwrap();
    for at in [value, 2000, 2879] {
        assert_eq!(wrong(&flipped(at)), ["CHECKSUM"], "byte {at}");
    }
    for at in [2880, 2885, 2886, 5759] {
        assert_eq!(wrong(&flipped(at)), ["DATASUM", "CHECKSUM"], "byte {at}");
        assert_eq!(report(&flipped(at)).verdict(), Some(false));
    }
    // The next HDU has no sums.
    assert!(wrong(&flipped(3 * 2880 + 2)).is_empty());
}

/// First tier. A new sum would vouch for damaged bytes.
#[test]
fn damaged_hdu_rejects_edit_and_names_checksum() {
    let value = summed().windows(3).position(|window| window == b"M31").unwrap();
    for (at, sum) in [(value, "CHECKSUM"), (2881, "DATASUM"), (5000, "DATASUM")] {
        let bytes = flipped(at);
        let error = set(&bytes, "/fits/0/header/OBJECT", "M32").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.to_string().contains("HDU 0") && error.to_string().contains(sum), "{error}");
        assert!(edited(&bytes, |edit| edit.delete(&path("/fits/0/header/OBJECT"))).is_err());
        assert!(edited(&bytes, |edit| edit.rename(&path("/fits/0/header/OBJECT"), "TARGET")).is_err());
        // Another HDU is none of it, and what is damaged keeps its sums.
        let after = edited(&bytes, |edit| edit.append(&path("/fits/1/header"), &Value::seq(["A", "b"]))).unwrap();
        assert_eq!(after[..5760], bytes[..5760]);
        assert_eq!(wrong(&after), wrong(&bytes));
        // The way out: without CHECKSUM no sum is computed, and DATASUM stays as it is.
        let after = edited(&bytes, |edit| edit.delete(&path("/fits/0/header/CHECKSUM"))).unwrap();
        assert_eq!(wrong(&after).is_empty(), at == value);
    }
    let after = set(&summed(), "/fits/0/header/OBJECT", "M32").unwrap();
    assert!(wrong(&after).is_empty() && card(&after, 0, "CHECKSUM") != card(&summed(), 0, "CHECKSUM"));
}

/// First tier. Elements of a damaged HDU get no new checksum, and only what is read as a whole is compared.
#[test]
fn damaged_hdu_rejects_conversion_but_elements_read() {
    use trilith::convert::{ConvertOptions, TargetForm};
    let value = summed().windows(3).position(|window| window == b"M31").unwrap();
    for at in [value, 2881] {
        let file = trilith::OpenOptions::new().open_bytes(flipped(at)).unwrap();
        let array = file.array("/fits/0/data").unwrap();
        assert_eq!(array.load::<i16>().unwrap().len(), 3);
        assert_eq!(verify_backing(&**array.source()).unwrap_err().kind(), ErrorKind::Malformed);
        let convert = |options: &ConvertOptions| {
            let mut out = Cursor::new(Vec::new());
            file.convert_into(options, &mut out, trilith::Progress::default()).map(|done| (done, out.into_inner()))
        };
        for (to, physical) in [
            (TargetForm::Asdf, false),
            (TargetForm::Asdf, true),
            (TargetForm::Dudley(None), false),
            (TargetForm::Dudley(None), true),
        ] {
            let mut options = ConvertOptions::default();
            (options.to, options.physical_values) = (to, physical);
            assert_eq!(convert(&options).unwrap_err().kind(), ErrorKind::Malformed);
        }
        let mut options = ConvertOptions::default();
        (options.to, options.skip_unreadable) = (TargetForm::Asdf, true);
        let (done, asdf) = convert(&options).unwrap();
        assert!(done.written && done.losses.len() == 2, "{:?}", done.losses);
        assert!(trilith::OpenOptions::new().open_bytes(asdf).unwrap().array("/fits/0/data").is_err());
        // A copy keeps the sums that fail, if that is allowed.
        (options.to, options.skip_unreadable) = (TargetForm::Fits, false);
        assert!(!convert(&options).unwrap().0.written);
        options.allow_loss = true;
        let (done, copy) = convert(&options).unwrap();
        assert!(done.written && copy == flipped(at));
        assert!(done.losses[0].message.contains("CHECKSUM"), "{:?}", done.losses);
    }
}
