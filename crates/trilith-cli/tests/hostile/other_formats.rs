//! FITS, Dudley, compressed files, forged journals.

use trilith::ErrorKind::{Limit, Malformed, Unsupported};

use super::make::{Block, Cases, Expect, Role, array, asdf, card, fits};

pub(crate) fn all(cases: &mut Cases) {
    images(cases);
    layouts(cases);
    journals(cases);
}

fn images(cases: &mut Cases) {
    let primary = [card("SIMPLE", "T"), card("BITPIX", "8"), card("NAXIS", "0")];
    let image = |bitpix: &str, axes: &[&str], more: &[String]| {
        let mut cards = vec![card("SIMPLE", "T"), card("BITPIX", bitpix), card("NAXIS", &axes.len().to_string())];
        cards.extend(axes.iter().enumerate().map(|(n, len)| card(&format!("NAXIS{}", n + 1), len)));
        cards.extend_from_slice(more);
        let cards: Vec<&str> = cards.iter().map(String::as_str).collect();
        fits(&[(&cards, &[7; 100])])
    };
    cases.malformed("fits: a huge axis", image("8", &["9223372036854775807"], &[]));
    cases.malformed("fits: axes whose product overflows", image("64", &["4294967296", "4294967296", "4294967296"], &[]));
    cases.malformed("fits: a negative axis", image("8", &["-5"], &[]));
    cases.malformed("fits: an axis of text", image("8", &["'x       '"], &[]));
    cases.malformed("fits: BITPIX 7", image("7", &["3"], &[]));
    cases.malformed("fits: 1000 axes", image("8", &["1"; 1000], &[]));
    cases.malformed(
        "fits: NAXIS too large",
        fits(&[(&[&card("SIMPLE", "T"), &card("BITPIX", "8"), &card("NAXIS", "2000000000")], &[])]),
    );
    // Without random groups, PCOUNT of the first HDU means nothing.
    cases.fine(
        "fits: negative PCOUNT",
        image("8", &["3"], &[card("PCOUNT", "-9223372036854775808"), card("GCOUNT", "9223372036854775807")]),
    );
    cases.malformed(
        "fits: no END",
        card("SIMPLE", "T").into_bytes().into_iter().chain(vec![b' '; 2880 - 30]).collect::<Vec<u8>>(),
    );
    cases.malformed("fits: cut in the header", image("8", &["3"], &[])[..100].to_vec());
    cases.malformed("fits: cut in the data", image("8", &["3000"], &[])[..2900].to_vec());
    cases.malformed("fits: cards of any bytes", [card("SIMPLE", "T").into_bytes(), vec![0xff; 2850], vec![0; 100]].concat());
    let table = |cards: &[String], data: &[u8]| {
        let mut all = vec!["XTENSION= 'BINTABLE'".to_owned(), card("BITPIX", "8"), card("NAXIS", "2")];
        all.extend_from_slice(cards);
        let primary: Vec<&str> = primary.iter().map(String::as_str).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        fits(&[(&primary, &[]), (&all, data)])
    };
    let sized = |width: &str, rows: &str, pcount: &str, fields: &str| {
        vec![card("NAXIS1", width), card("NAXIS2", rows), card("PCOUNT", pcount), card("GCOUNT", "1"), card("TFIELDS", fields)]
    };
    let with = |base: Vec<String>, more: &[&str]| [base, more.iter().map(|card| (*card).to_owned()).collect()].concat();
    cases.malformed("fits: 2000000000 fields", table(&sized("8", "1", "0", "2000000000"), &[0; 8]));
    cases.malformed("fits: -1 fields", table(&sized("8", "1", "0", "-1"), &[0; 8]));
    cases.malformed(
        "fits: a field of many digits",
        table(&with(sized("8", "1", "0", "1"), &["TFORM1  = '99999999999999999999J'"]), &[0; 8]),
    );
    cases.malformed("fits: a field wider than its row", table(&with(sized("8", "1", "0", "1"), &["TFORM1  = '1000J'"]), &[0; 8]));
    cases.malformed("fits: an unknown field", table(&with(sized("8", "1", "0", "1"), &["TFORM1  = '1?'"]), &[0; 8]));
    cases.malformed("fits: 10^18 rows", table(&with(sized("8", "1000000000000000000", "0", "1"), &["TFORM1  = '2J'"]), &[0; 8]));
    let heap = [0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff];
    cases.add(
        "fits: a heap that is not there",
        table(&with(sized("8", "1", "0", "1"), &["TFORM1  = '1PJ(9)'"]), &heap),
        Expect::Either(Malformed, Unsupported),
    );
    let tiles = |more: &[&str]| {
        let base = with(
            sized("8", "1", "8", "1"),
            &["TFORM1  = '1PB(8)'", "TTYPE1  = 'COMPRESSED_DATA'", "ZIMAGE  =                    T"],
        );
        table(&with(base, more), &[0, 0, 0, 8, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255])
    };
    let rice = ["ZCMPTYPE= 'RICE_1  '", "ZBITPIX =                   16", "ZNAXIS  =                    1"];
    let axis = |len: &str, tile: &str| [card("ZNAXIS1", len), card("ZTILE1", tile)];
    for (name, len, tile, expect) in [
        ("of nothing", "16", "0", Expect::Fails(Malformed)),
        ("of 10^18", "1000000000000000000", "1000000000000000000", Expect::Either(Malformed, Limit)),
        ("negative", "16", "-4", Expect::Fails(Malformed)),
        ("of garbage", "16", "16", Expect::Fails(Malformed)),
        ("more than rows", "1600", "1", Expect::Fails(Malformed)),
    ] {
        let [a, b] = axis(len, tile);
        cases.add(format!("fits: tiles {name}"), tiles(&[rice[0], rice[1], rice[2], &a, &b]), expect);
    }
    let [a, b] = axis("16", "16");
    cases.add(
        "fits: tiles of an unknown codec",
        tiles(&["ZCMPTYPE= 'EVIL'", rice[1], rice[2], &a, &b]),
        Expect::Fails(Unsupported),
    );
    // A gzip bomb: 64 kB that decode to 64 MiB of zeros.
    let mut gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    let zlib = Block::encoded("zlib", &vec![0; 64 << 20]).data;
    gzip.extend_from_slice(&zlib[2..zlib.len() - 4]);
    gzip.extend_from_slice(&[0; 8]);
    cases.malformed("gzip: a wrong checksum behind zeros", gzip.clone());
    cases.add("gzip: cut", gzip[..1000].to_vec(), Expect::Either(Malformed, Unsupported));
    cases.add("gzip: nothing", b"\x1f\x8b\x08".to_vec(), Expect::Either(Malformed, Unsupported));
}

fn layouts(cases: &mut Cases) {
    let mut layout = |name: &str, text: String, expect: Expect| {
        let case = cases.add(format!("layout: {name}"), text, expect);
        case.role = Role::Layout;
        case.beside.push(("data.bin".to_owned(), vec![7; 64]));
    };
    layout("10^18 elements", "x = <f8[1000000000000000000]\n".to_owned(), Expect::Fails(Malformed));
    layout("sizes whose product overflows", "x = <f8[4294967296, 4294967296, 4294967296]\n".to_owned(), Expect::Fails(Malformed));
    layout("an address beyond", "x = <f8 @9223372036854775800\n".to_owned(), Expect::Fails(Malformed));
    layout("a length of 2^56", "n := <i8\nx = <f8[n]\n".to_owned(), Expect::Fails(Malformed));
    layout("dicts 100000 deep", format!("{}\n", "a/".repeat(100_000)), Expect::Either(Limit, Malformed));
    layout("lists 100000 deep", format!("x = {}\n", "[".repeat(100_000)), Expect::Either(Limit, Malformed));
    layout("structs 10000 deep", format!("x = {}\n", "{a = ".repeat(10_000)), Expect::Either(Limit, Malformed));
    layout("control characters", "x = f8 \x1b[31m\n".to_owned(), Expect::Fails(Malformed));
    layout("NULs", "\0\0\0\0".to_owned(), Expect::Fails(Malformed));
    layout("a name of a megabyte", format!("{} = u1\n", "x".repeat(1 << 20)), Expect::Fine);
    layout("20000 items", (0..20_000).map(|n| format!("x{n} = u1 @0\n")).collect(), Expect::Fine);
    layout("a comment of a megabyte", format!("# {}\nx = u1\n", "c".repeat(1 << 20)), Expect::Fine);
    let native = |at: u64, text: &str| [&b"\x8d<BD\r\n\x1a\n"[..], &at.to_le_bytes(), text.as_bytes()].concat();
    for (name, at) in [("beyond", 1 << 40), ("most", u64::MAX), ("negative", 1 << 63), ("inside the signature", 3)] {
        cases.add(format!("bd: layout {name}"), native(at, "x = f8\n"), Expect::Either(Malformed, Unsupported));
    }
}

fn journals(cases: &mut Cases) {
    let good = asdf(&array("datatype: uint8, shape: [4]"), &[Block::of(b"data")]);
    let mut huge = b"trilith journal3".to_vec();
    for number in [1u64, 2, 3, 4, u64::MAX, 0, u64::MAX] {
        huge.extend_from_slice(&number.to_be_bytes());
    }
    for (name, journal) in [
        ("empty", Vec::new()),
        ("garbage", vec![0xff; 1000]),
        ("a mark alone", b"trilith journal3".to_vec()),
        ("huge numbers", huge),
        ("an older mark", b"trilith journal2".to_vec()),
    ] {
        let case = cases.fine(format!("journal: {name}"), good.clone());
        case.beside.push((".x.asdf.trilith-journal".to_owned(), journal));
    }
}
