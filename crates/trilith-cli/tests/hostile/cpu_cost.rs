//! Small files that ask for much work: each ends soon, or is refused by a limit that it names.

use trilith::ErrorKind;

use super::make::{Block, Cases, Expect, HEAD, Role, array, asdf, card, fits};

const ND: &str = "!core/ndarray-1.1.0";

pub(crate) fn all(cases: &mut Cases) {
    aliases(cases);
    paths(cases);
    doubles(cases);
    views(cases);
    bombs(cases);
    tiles(cases);
    schemas(cases);
    layouts(cases);
}

/// `levels` of which each is made of ten aliases of the one before.
fn tens(levels: usize, level: impl Fn(usize) -> String) -> String {
    (1..levels).map(|n| format!("a{n}: &a{n} {}\n", level(n))).collect()
}

fn aliases(cases: &mut Cases) {
    let keys: String = (1..25).map(|n| format!("a{n}: &a{n} {{? [*a{0}, *a{0}] : 1}}\n", n - 1)).collect();
    cases.fine("work: aliases in keys", asdf(&format!("a0: &a0 x\n{keys}"), &[]));
    for levels in [6, 10] {
        let lists = tens(levels, |n| format!("[{}]", vec![format!("*a{}", n - 1); 10].join(", ")));
        let tree = asdf(&format!("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{lists}"), &[]);
        cases.add(format!("work: {levels} levels of ten aliases in lists"), tree, Expect::Ends);
    }
    let pairs = |n: usize| (0..10).map(|k| format!("k{k}: *a{}", n - 1)).collect::<Vec<_>>().join(", ");
    let maps = tens(10, |n| format!("{{{}}}", pairs(n)));
    cases.limit("work: 10 levels of ten aliases in mappings", asdf(&format!("a0: &a0 {{x: 1}}\n{maps}"), &[]));
    // Lists of lists of aliases as the elements of an array.
    let rows = tens(7, |n| format!("[{}]", vec![format!("*a{}", n - 1); 10].join(", ")));
    let tree = format!("a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n{rows}a: {ND} [*a6, *a6]\n");
    cases.limit("work: inline data of aliases", asdf(&tree, &[]));
    // Each node has a tag of 300 kB, which is written once.
    let head =
        HEAD.replace("%TAG ! tag:stsci.edu:asdf/", &format!("%TAG !h! tag:{}/\n%TAG ! tag:stsci.edu:asdf/", "x".repeat(300_000)));
    let nodes: String = (0..60_000).map(|n| format!("n{n}: !h!x {{a: 1}}\n")).collect();
    cases.add("work: 60000 tags of 300 kB", format!("{head}{nodes}...\n"), Expect::Ends);
    let nodes: String = (0..60_000).map(|n| format!("n{n}: !h!x{n} {{a: 1}}\n")).collect();
    cases.limit("work: 60000 different tags of 300 kB", format!("{head}{nodes}...\n"));
    let handles: String = (0..20_000).map(|n| format!("%TAG !h{n}! tag:example.org,{n}:\n")).collect();
    let head = HEAD.replace("%TAG ! ", &format!("{handles}%TAG ! "));
    let nodes: String = (0..20_000).map(|n| format!("n{n}: !h{n}!x {{a: 1}}\n")).collect();
    cases.add("work: 20000 tags under 20000 handles", format!("{head}{nodes}...\n"), Expect::Ends);
}

/// One long key, which stands in the path of each thing below it.
fn paths(cases: &mut Cases) {
    let count = if cfg!(debug_assertions) { 3_000 } else { 10_000 };
    let below = |node: &dyn Fn(usize) -> String| {
        let nodes: String = (0..count).map(|n| format!("  n{n}: {}\n", node(n))).collect();
        asdf(&format!("x: 1\n? {}\n:\n{nodes}", "k".repeat(30_000)), &[Block::of(&[7; 8])])
    };
    let less = Some("text=16M");
    let array = format!("{ND} {{source: 0, datatype: uint8, shape: [8]}}");
    cases.limit("work: many arrays under a key of 30 kB", below(&|_| array.clone())).limits = less;
    cases.limit("work: many broken arrays under a key of 30 kB", below(&|_| format!("{ND} {{shape: x}}"))).limits = less;
    cases.limit("work: many references under a key of 30 kB", below(&|_| "{$ref: '#/x'}".to_owned())).limits = less;
    cases.add("work: many nodes under a key of 30 kB", below(&|n| format!("{{a: {n}}}")), Expect::Ends).limits = less;
    let keys: String = (0..1_500).map(|n| format!("n{n}: {{? *a : {n}}}\n")).collect();
    cases.add("work: 1500 aliases of a key of 30 kB", asdf(&format!("a: &a {}\n{keys}", "v".repeat(30_000)), &[]), Expect::Ends);
}

/// Types that double at each level, and many arrays of them.
fn doubles(cases: &mut Cases) {
    let double = |n: usize| format!("d{n}: &d{n} [{{name: a, datatype: *d{0}}}, {{name: b, datatype: *d{0}}}]\n", n - 1);
    for (levels, count) in [(14, 1000), (27, 10)] {
        let types: String = (1..=levels).map(double).collect();
        let arrays: String =
            (0..count).map(|n| format!("n{n}: {ND} {{source: 0, datatype: *d{levels}, shape: [1]}}\n")).collect();
        let tree = format!("d0: &d0 [{{name: a, datatype: uint8}}]\n{types}{arrays}");
        let name = format!("work: {count} arrays of a datatype of {levels} doublings");
        cases.limit(name, asdf(&tree, &[Block::of(&[7; 1 << 14])])).limits = Some("work=64M");
    }
}

fn views(cases: &mut Cases) {
    let spread = |len: usize| format!("{ND} {{source: 0, datatype: uint8, shape: [{len}], strides: [0]}}");
    let pairs = |n: usize| (0..10).map(|k| format!("k{k}: *a{}", n - 1)).collect::<Vec<_>>().join(", ");
    let maps = tens(4, |n| format!("{{{}}}", pairs(n)));
    let tree = format!("a0: &a0 {{d: {}}}\n{maps}", spread(500_000_000));
    cases.limit("work: 1000 aliases of an array spread over 500 MB", asdf(&tree, &[Block::of(&[7; 8])])).limits =
        Some("work=64M");
    let different: String = (0..200).map(|n| format!("d{n}: {}\n", spread(5_000_000 + n))).collect();
    cases.limit("work: 200 arrays spread over 5 MB", asdf(&different, &[Block::of(&[7; 8])])).limits = Some("work=64M");
    let block = Block::encoded("zlib", &vec![0; 40 << 20]);
    let same: String = (0..5000).map(|n| format!("d{n}: {ND} {{source: 0, datatype: uint8, shape: [41943040]}}\n")).collect();
    // Statistics go through each view: a debug build needs a lower limit to end in time.
    cases.fine("work: 5000 equal views of a compressed block", asdf(&same, std::slice::from_ref(&block))).limits =
        Some("work=100M");
    let others: String =
        (0..5000).map(|n| format!("d{n}: {ND} {{source: 0, datatype: uint8, offset: {n}, shape: [41000000]}}\n")).collect();
    cases.limit("work: 5000 different views of a compressed block", asdf(&others, &[block])).limits = Some("work=80M");
}

fn bombs(cases: &mut Cases) {
    // Many members, streams or frames of zeros one after the other: gigabytes that are rightly declared.
    for (codec, count) in [("bzp2", 2000u64), ("zstd", 1000)] {
        let one = Block::encoded(codec, &vec![0; 8 << 20]);
        let all = Block { data_size: (8 << 20) * count, codec: one.codec, ..Block::of(&one.data.repeat(count as usize)) };
        let shape = format!("datatype: uint8, shape: [{}]", all.data_size);
        cases.limit(format!("work: {codec} of {} GiB", all.data_size >> 30), asdf(&array(&shape), &[all]));
    }
    // Half a gigabyte that is slow to decode: bzip2 has to sort every byte of it.
    let period: Vec<u8> = (0..8 << 20).map(|n: u32| n as u8).collect();
    let one = Block::encoded("bzp2", &period);
    let all = Block { data_size: 64 * (8 << 20), codec: one.codec, ..Block::of(&one.data.repeat(64)) };
    let shape = format!("datatype: uint8, shape: [{}]", all.data_size);
    cases.limit("work: 64 slow streams of bzip2", asdf(&array(&shape), &[all])).limits = Some("work=100M");
}

/// An image in one tile, and an array that is it.
fn tiles(cases: &mut Cases) {
    let mut tile = |name: &str, codec: &str, values: usize, tile: Vec<u8>| {
        let count = values.to_string();
        let sizes = [("NAXIS1", 8), ("NAXIS2", 1), ("PCOUNT", tile.len()), ("GCOUNT", 1), ("TFIELDS", 1)];
        let mut cards = vec!["XTENSION= 'BINTABLE'".to_owned(), card("BITPIX", "8"), card("NAXIS", "2")];
        cards.extend(sizes.iter().map(|(key, n)| card(key, &n.to_string())));
        cards.push(format!("TFORM1  = '1PB({})'", tile.len()));
        cards.push("TTYPE1  = 'COMPRESSED_DATA'".to_owned());
        cards.push(format!("ZCMPTYPE= '{codec}'"));
        let image = [("ZIMAGE", "T"), ("ZBITPIX", "32"), ("ZNAXIS", "1"), ("ZNAXIS1", &count), ("ZTILE1", &count)];
        cards.extend(image.iter().map(|(key, value)| card(key, value)));
        cards.extend(["ZNAME1  = 'BLOCKSIZE'".to_owned(), card("ZVAL1", "1000000000")]);
        let cards: Vec<&str> = cards.iter().map(String::as_str).collect();
        let mut data = (tile.len() as u32).to_be_bytes().to_vec();
        data.extend_from_slice(&[0; 4]);
        data.extend_from_slice(&tile);
        let primary = [card("SIMPLE", "T"), card("BITPIX", "8"), card("NAXIS", "0")];
        let primary: Vec<&str> = primary.iter().map(String::as_str).collect();
        cases.limit(format!("work: a {name} tile of {values} values"), fits(&[(&primary, &[]), (&cards, &data)]));
    };
    tile("RICE", "RICE_1", 500_000_000, vec![0; 60_000]);
    tile("PLIO", "PLIO_1", 500_000_000, [&[0, 0, 0, 0, 1, 16][..], &[0x0f, 0xff].repeat(30_000)].concat());
    let mut head = vec![0xdd, 0x99];
    for number in [20_000u32, 25_000, 0, 0, 0] {
        head.extend_from_slice(&number.to_be_bytes());
    }
    head.resize(70_000, 0);
    tile("HCOMPRESS", "HCOMPRESS_1", 500_000_000, head);
}

fn schemas(cases: &mut Cases) {
    let mut schema = |name: &str, rules: String, tree: String| {
        let text = format!("%YAML 1.1\n---\nid: http://example.org/x\nproperties:\n  a: {rules}\n...\n");
        let case = cases.add(format!("work: {name}"), text, Expect::Fine);
        case.role = Role::Schema;
        case.beside.push(("tree.asdf".to_owned(), asdf(&tree, &[])));
    };
    let items: String = (0..20_000).map(|n| format!("- {{k: {n}, l: [{n}]}}\n")).collect();
    schema("uniqueItems of 20000 mappings", "{uniqueItems: true}".to_owned(), format!("a:\n{items}"));
    schema("a pattern of 2000 groups", format!("{{pattern: '{}'}}", "(a*)*".repeat(2000)), "a: aaaaaaaa".to_owned());
}

fn layouts(cases: &mut Cases) {
    let mut layout = |name: &str, levels: usize, items: String, expect| {
        let types: String = (1..=levels).map(|n| format!("T{n} {{\n  a = T{0}\n  b = T{0}\n}}\n", n - 1)).collect();
        let case = cases.add(format!("work: {name}"), format!("T0 {{\n  a = <f8\n}}\n{types}{items}"), expect);
        case.role = Role::Layout;
        case.beside.push(("data.bin".to_owned(), vec![7; 64]));
    };
    layout("a type of 19 doublings", 19, "x = T19\n".to_owned(), Expect::Ends);
    layout("a type of 27 doublings", 27, "x = T27\n".to_owned(), Expect::Fails(ErrorKind::Limit));
    let items = (0..5000).map(|n| format!("x{n} = T16\n")).collect();
    layout("5000 items of a type of 16 doublings", 16, items, Expect::Fails(ErrorKind::Limit));
}
