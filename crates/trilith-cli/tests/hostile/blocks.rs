//! Headers, blocks, compressed data, indexes, ndarrays, encoding chains.

use trilith::ErrorKind::{Limit, Malformed, Unsupported};

use super::make::{Block, Cases, Expect, HEAD, array, asdf};

const CODECS: [&str; 6] = ["zlib", "bzp2", "lz4", "lz4f", "zstd", "blsc"];
const SHAPE: &str = "datatype: uint8, shape: [1000]";

pub(crate) fn all(cases: &mut Cases) {
    headers(cases);
    sizes(cases);
    codecs(cases);
    indexes(cases);
    arrays(cases);
    chains(cases);
    truncated(cases);
}

fn headers(cases: &mut Cases) {
    cases.add("header: newer than any", "#ASDF 9.0.0\n", Expect::Fails(Unsupported));
    cases.malformed("header: no version", "#ASDF\n");
    cases.malformed("header: negative version", "#ASDF -1.0.0\n");
    cases.malformed("header: version of many digits", format!("#ASDF {}.0.0\n", "9".repeat(400)));
    cases.malformed("header: a line without end", format!("#ASDF 1.0.0{}", " ".repeat(100_000)));
    cases.add("header: nothing", "", Expect::Fails(Unsupported));
    cases.add("header: other letters", "#asdf 1.0.0\n", Expect::Fails(Unsupported));
    cases.add("header: NULs", vec![0; 4096], Expect::Fails(Unsupported));
    cases.malformed("header: control characters", "#ASDF 1.\x1b]0;x\x07\n");
    cases.fine("header: many comments", format!("#ASDF 1.0.0\n{}", "# a comment\n".repeat(20_000)));
    let block = Block::of(&[0; 8]);
    cases.fine("header: no tree", [&b"#ASDF 1.0.0\n"[..], &block.bytes()].concat());
    cases.fine("header: marks in the tree's room", [HEAD.as_bytes(), b"a: 1\n...\n", &[b' '; 100_000], &block.bytes()].concat());
}

fn sizes(cases: &mut Cases) {
    let good = Block::of(&[7; 1000]);
    let tree = array(SHAPE);
    let with = |change: &dyn Fn(&mut Block)| {
        let mut block = good.clone();
        change(&mut block);
        asdf(&tree, &[block])
    };
    cases.malformed("block: used more than allocated", with(&|b| b.allocated = 999));
    for (name, size) in [("most", u64::MAX), ("half", 1 << 63), ("beyond", 1 << 40), ("by one", 1001)] {
        cases.malformed(format!("block: used {name}"), with(&|b| (b.used, b.allocated) = (size, size)));
        cases.malformed(format!("block: data size {name}"), with(&|b| b.data_size = size));
        cases.add(format!("block: allocated {name}"), with(&|b| b.allocated = size), Expect::Fine);
    }
    for size in [0, 1, 47] {
        cases.malformed(format!("block: header of {size} bytes"), with(&|b| b.header_size = size));
    }
    cases.malformed("block: header of 65535 bytes, cut", {
        let mut bytes = with(&|_| ());
        let at = HEAD.len() + tree.len() + 5 + 4;
        bytes[at..at + 2].copy_from_slice(&[0xff, 0xff]);
        bytes
    });
    cases.fine("block: header of 65535 bytes", with(&|b| b.header_size = 65535));
    cases.add("block: unknown codec", with(&|b| b.codec = *b"evil"), Expect::Fails(Unsupported));
    cases.add("block: codec of control characters", with(&|b| b.codec = *b"\x1b[2J"), Expect::Fails(Unsupported));
    cases.malformed("block: no block", asdf(&tree, &[]));
    cases.malformed(
        "block: streamed, in front of another",
        asdf(
            &array("datatype: uint8, shape: [3]").replace("source: 0", "source: 1"),
            &[Block { flags: 1, ..Block::of(&[1, 2, 3]) }, Block::of(&[1, 2, 3])],
        ),
    );
    cases.malformed(
        "block: overlapping the next",
        asdf(
            &array(SHAPE).replace("source: 0", "source: 2"),
            &[Block { allocated: 10, used: 10, data_size: 10, ..Block::of(&[7; 1000]) }, good.clone()],
        ),
    );
    for row in ["%FINF 0.1.0", "%ASDF 0.1.0", "#ASDF 0.1.0"] {
        let old = format!(
            "{row}\n%YAML 1.1\n--- \na: !<tag:stsci.edu:finf/0.1.0/core/ndarray> {{source: 0, datatype: uint8, byteorder: big, shape: [4]}}\n...\n"
        );
        for size in [40u16, 43, 44, 36, 48, 64] {
            let mut bytes = [old.as_bytes(), b"\xd3BLK", &size.to_be_bytes()].concat();
            bytes.resize(bytes.len() + usize::from(size), 0xff);
            bytes.extend_from_slice(b"data");
            // All ones are a codec or an encoding, too.
            cases.add(format!("block: of {row}, {size} bytes of 0xff"), bytes, Expect::Either(Malformed, Unsupported));
        }
    }
}

fn codecs(cases: &mut Cases) {
    for codec in CODECS {
        let honest = Block::encoded(codec, &[7; 1000]);
        let with = |change: &dyn Fn(&mut Block)| {
            let mut block = honest.clone();
            change(&mut block);
            asdf(&array(SHAPE), &[block])
        };
        cases.limit(format!("{codec}: claims a terabyte"), with(&|b| b.data_size = 1 << 40));
        cases.limit(format!("{codec}: claims all there is"), with(&|b| b.data_size = u64::MAX));
        cases.malformed(format!("{codec}: decodes to fewer bytes"), with(&|b| b.data_size = 1001));
        cases.malformed(format!("{codec}: decodes to more bytes"), with(&|b| b.data_size = 999));
        let half = |b: &mut Block| {
            b.data.truncate(b.data.len() / 2);
            let size = b.data.len() as u64;
            (b.used, b.allocated) = (size, size);
        };
        cases.malformed(format!("{codec}: cut in half"), with(&half));
        // Any bytes may claim to be of a future format.
        let either = Expect::Either(Malformed, Unsupported);
        cases.add(format!("{codec}: other bytes"), with(&|b| b.data.iter_mut().for_each(|byte| *byte ^= 0x55)), either);
        cases.add(format!("{codec}: all ones"), with(&|b| b.data.fill(0xff)), either);
        cases.add(format!("{codec}: all zeros"), with(&|b| b.data.fill(0)), either);
        cases.add(
            format!("{codec}: nothing stored"),
            with(&|b| {
                b.data.clear();
                (b.used, b.allocated) = (0, 0);
            }),
            Expect::Either(Limit, Malformed),
        );
        // A real bomb: it would decode to 16 MiB, and declares a thousand bytes.
        let bomb = Block { data_size: 1000, ..Block::encoded(codec, &vec![0; 16 << 20]) };
        cases.malformed(format!("{codec}: a bomb behind a small size"), asdf(&array(SHAPE), &[bomb]));
    }
}

fn indexes(cases: &mut Cases) {
    let body = asdf(&array(SHAPE), &[Block::of(&[7; 1000]), Block::of(&[8; 10])]);
    let lies = [
        ("decreasing", "--- [900, 200]".to_owned()),
        ("beyond the file", "--- [99999999999]".to_owned()),
        ("into data", format!("--- [{}, {}]", body.len() - 1000, body.len() - 10)),
        ("beyond all numbers", format!("--- [{}]", "9".repeat(500))),
        ("negative", "--- [-5]".to_owned()),
        ("floats", "--- [1.5e300]".to_owned()),
        ("nested", format!("--- {}", "[".repeat(5000))),
        ("no list", "--- {a: 1}".to_owned()),
        ("an alias bomb", "--- [&a [1,1], [*a,*a]]".to_owned()),
        ("empty", String::new()),
        ("a hundred thousand entries", format!("---\n{}", "- 1\n".repeat(100_000))),
        ("all the same", "--- [200, 200, 200]".to_owned()),
    ];
    for (name, text) in lies {
        let index = format!("#ASDF BLOCK INDEX\n%YAML 1.1\n{text}\n...\n");
        cases.fine(format!("index: {name}"), [&body[..], index.as_bytes()].concat());
    }
    cases.fine("index: bytes behind the words", [&body[..], b"#ASDF BLOCK INDEX\n\xff\xfe\x00\x1b[31m"].concat());
    cases.malformed(
        "index: in front of a missing block",
        asdf(&array(SHAPE), &[]).into_iter().chain(*b"#ASDF BLOCK INDEX\n%YAML 1.1\n--- [5]\n...\n").collect::<Vec<u8>>(),
    );
}

fn arrays(cases: &mut Cases) {
    let data = Block::of(&[7; 1000]);
    let bad = [
        ("shape 10^18", "datatype: uint8, shape: [1000000000000000000]"),
        ("shape whose product overflows", "datatype: float64, shape: [4294967296, 4294967296, 4294967296]"),
        ("shape 2^63", "datatype: uint8, shape: [9223372036854775808]"),
        ("shape of many digits", "datatype: uint8, shape: [99999999999999999999999999999999]"),
        ("negative shape", "datatype: uint8, shape: [-1]"),
        ("shape of text", "datatype: uint8, shape: [x]"),
        ("shape no list", "datatype: uint8, shape: {a: 1}"),
        ("star behind", "datatype: uint8, shape: [10, '*']"),
        ("one element too many", "datatype: uint8, shape: [1001]"),
        ("offset beyond", "datatype: uint8, shape: [1], offset: 1000"),
        ("offset most", "datatype: uint8, shape: [1], offset: 18446744073709551615"),
        ("offset negative", "datatype: uint8, shape: [1], offset: -1"),
        ("offset and shape overflow", "datatype: uint8, shape: [1000], offset: 18446744073709551000"),
        ("strides beyond", "datatype: uint8, shape: [3], strides: [500]"),
        ("strides overflow", "datatype: uint8, shape: [3, 3], strides: [9223372036854775807, 9223372036854775807]"),
        ("strides before the start", "datatype: uint8, shape: [3], strides: [-1]"),
        ("strides lowest", "datatype: uint8, shape: [2], strides: [-9223372036854775808]"),
        ("strides of another rank", "datatype: uint8, shape: [3], strides: [1, 1]"),
        ("datatype unknown", "datatype: float17, shape: [1]"),
        ("text of negative length", "datatype: [ucs4, -1], shape: [1]"),
        ("text of overflowing size", "datatype: [ucs4, 4294967295], shape: [4294967296, 4294967296]"),
        ("byteorder unknown", "datatype: uint8, shape: [1], byteorder: middle"),
        ("source of text in a list", "datatype: uint8, shape: [1], source: [0]"),
        ("source that is not there", "datatype: uint8, shape: [1], source: 5"),
        ("source most", "datatype: uint8, shape: [1], source: 9223372036854775807"),
        ("source negative", "datatype: uint8, shape: [1], source: -5"),
        (
            "fields beyond",
            "datatype: [{name: a, datatype: uint8, byteorder: big}, {name: b, datatype: [ascii, 2000], byteorder: big}], shape: [1]",
        ),
        (
            "field shape overflow",
            "datatype: [{name: a, datatype: float64, byteorder: big, shape: [4294967296, 4294967296]}], shape: [1]",
        ),
        (
            "mask of another shape",
            "datatype: uint8, shape: [3], mask: !core/ndarray-1.1.0 {source: 0, datatype: bool8, byteorder: big, shape: [7]}",
        ),
    ];
    for (name, text) in bad {
        let tree = array(text).replace(
            "source: 0, byteorder: big, datatype: uint8, shape: [1], source",
            "byteorder: big, datatype: uint8, shape: [1], source",
        );
        let tree = if text.contains("byteorder: middle") { tree.replace("byteorder: big, ", "") } else { tree };
        cases.malformed(format!("array: {name}"), asdf(&tree, std::slice::from_ref(&data)));
    }
    cases.add(
        "array: text of 2^40 units",
        asdf(&array("datatype: [ascii, 1099511627776], shape: [1]"), std::slice::from_ref(&data)),
        Expect::Fails(Unsupported),
    );
    let deep = format!("{}uint8{}", "[{name: a, byteorder: big, datatype: ".repeat(400), "}]".repeat(400));
    cases.limit(
        "array: fields in fields, 400 deep",
        asdf(&array(&format!("datatype: {deep}, shape: [1]")), std::slice::from_ref(&data)),
    );
    let wide: String = (0..20_000).map(|n| format!("{{name: f{n}, datatype: uint8, byteorder: big}}, ")).collect();
    cases.malformed(
        "array: twenty thousand fields",
        asdf(&array(&format!("datatype: [{wide}], shape: [1]")), std::slice::from_ref(&data)),
    );
    let ones = "1, ".repeat(5000);
    cases.add(
        "array: five thousand axes",
        asdf(&array(&format!("datatype: uint8, shape: [{ones}1000]")), std::slice::from_ref(&data)),
        Expect::Fails(Unsupported),
    );
    // The block is shorter than one row, so the star means no rows.
    cases
        .fine("array: star without stream", asdf(&array("datatype: uint8, shape: ['*', 10, 1001]"), std::slice::from_ref(&data)));
    cases.fine(
        "array: nothing of very much",
        asdf(&array("datatype: uint8, shape: [0, 4611686018427387904]"), std::slice::from_ref(&data)),
    );
    // The array as a mask of itself: masks have no masks.
    cases.fine(
        "array: a mask that is the array",
        asdf(
            "a: &a !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [3], mask: *a}",
            std::slice::from_ref(&data),
        ),
    );
    cases.malformed("array: inline and ragged", asdf("a: !core/ndarray-1.1.0 [[1, 2], [3]]", &[]));
    cases.malformed("array: inline of mappings", asdf("a: !core/ndarray-1.1.0 [{a: 1}]", &[]));
    cases.malformed("array: inline, another shape", asdf("a: !core/ndarray-1.1.0 {data: [1, 2], shape: [1000000000000]}", &[]));
    cases.limit("array: inline, 300 deep", asdf(&format!("a: !core/ndarray-1.1.0 {}1{}", "[".repeat(300), "]".repeat(300)), &[]));
    // Few bytes claim to be many: overlapping data have a separate limit, far below that of normal arrays.
    cases.limit(
        "array: sixty gigabytes of one byte",
        asdf(&array("datatype: uint8, shape: [60000000000], strides: [0]"), std::slice::from_ref(&data)),
    );
    cases.limit(
        "array: gigabytes of windows that overlap",
        asdf(&array("datatype: uint8, shape: [200, 200, 200, 200], strides: [1, 1, 1, 1]"), std::slice::from_ref(&data)),
    );
    let mut twice = format!("{}\n", array("datatype: uint8, shape: [4]").replacen("a: ", "a: &b0 ", 1));
    for n in 1..8 {
        twice.push_str(&format!("b{n}: &b{n} [{}]\n", vec![format!("*b{}", n - 1); 9].join(", ")));
    }
    cases.limit("array: one array five million times", asdf(twice.trim_end(), std::slice::from_ref(&data)));
    // Each of the thousand elements may be read a billion times: broadcasting by strides of zero.
    cases.fine(
        "array: a megabyte of one byte",
        asdf(&array("datatype: uint8, shape: [1000, 1000], strides: [0, 0]"), std::slice::from_ref(&data)),
    );
}

fn chains(cases: &mut Cases) {
    let file = |chain: &str, data: &[u8], size: u64| {
        let mut bytes = b"#ASDF 0.1.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/0.1.0/\n--- !core/asdf\n\
            a: !core/ndarray {source: 0, datatype: uint8, byteorder: big, shape: [16]}\n...\n"
            .to_vec();
        let stored = [chain.as_bytes(), data].concat();
        bytes.extend_from_slice(b"\xd3BLK\x00\x24\x00\x00\x00\x02");
        for number in [stored.len() as u64, stored.len() as u64, size] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(&[0; 8]);
        [bytes, stored].concat()
    };
    let bad = [
        ("tiles of nothing", "[[tile, {shape: [0], original_shape: [16], item_size: 1}]]"),
        ("tiles of 2^63", "[[tile, {shape: [9223372036854775807], original_shape: [16], item_size: 1}]]"),
        ("an array of 2^62", "[[tile, {shape: [1], original_shape: [4611686018427387904], item_size: 16}]]"),
        ("negative tiles", "[[tile, {shape: [-4], original_shape: [16], item_size: 1}]]"),
        ("elements of 2^60 bytes", "[[tile, {shape: [4], original_shape: [16], item_size: 1152921504606846976}]]"),
        ("tiles of another rank", "[[tile, {shape: [4, 4], original_shape: [16], item_size: 1}]]"),
        ("floats of 7 bits", "[[quantize, {dtype: float7}]]"),
        ("an array step behind bytes", "[zlib, [tile, {shape: [4]}]]"),
        ("no list", "{a: 1}"),
        ("a step without name", "[[]]"),
        ("zlib of garbage", "[zlib]"),
        ("zlib in zlib in zlib", "[zlib, zlib, zlib, zlib]"),
        ("quantize of garbage", "[[quantize, {dtype: float32}]]"),
    ];
    for (name, chain) in bad {
        cases.malformed(format!("chain: {name}"), file(&format!("--- {chain}\n...\n"), &[0xff; 16], 16));
    }
    cases.add("chain: unknown step", file("--- [[evil, {}]]\n...\n", &[0; 16], 16), Expect::Fails(Unsupported));
    cases.add("chain: sparse of garbage", file("--- [sparse]\n...\n", &[0xff; 16], 16), Expect::Either(Limit, Malformed));
    cases.malformed("chain: no end of its YAML", file("--- [zlib]\n", &[0; 16], 16));
    cases.limit("chain: YAML 5000 deep", file(&format!("--- {}\n...\n", "[".repeat(5000)), &[0; 16], 16));
    cases.limit("chain: zlib claims a terabyte", file("--- [zlib]\n...\n", &[0; 16], 1 << 40));
    cases.add(
        "chain: sparse claims a terabyte",
        file("--- [sparse]\n...\n", &[0xff; 32], 1 << 40),
        Expect::Either(Limit, Malformed),
    );
}

fn truncated(cases: &mut Cases) {
    let whole = asdf(&array(SHAPE), &[Block::encoded("zlib", &[7; 1000])]);
    let tree = HEAD.len() + array(SHAPE).len() + 5;
    for at in [tree + 1, tree + 4, tree + 5, tree + 6, tree + 20, tree + 53, tree + 54, whole.len() - 1] {
        cases.malformed(format!("cut at byte {at}"), &whole[..at]);
    }
    cases.fine("cut behind the header line", &whole[..12]);
    for at in [HEAD.len() - 3, HEAD.len() + 10, tree - 5] {
        cases.malformed(format!("cut in the tree, at byte {at}"), &whole[..at]);
    }
}
