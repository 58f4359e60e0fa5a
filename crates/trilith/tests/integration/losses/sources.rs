//! Random files of three formats: trees of ASDF, FITS files, and Dudley files.

use std::io::Cursor;
use std::sync::Arc;

use trilith::Limits;
use trilith::array::{Array, Byteorder, Datatype, Mask};
use trilith::asdf::{ArrayOptions, AsdfBuilder, Target};
use trilith::dudley::Draft;
use trilith::layout::{Attribute, LayoutLiteral};
use trilith::tree::Value;

/// Numbers that look random, and are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    fn of_seed(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            dice.below(2);
        }
        dice
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }
}

const KEYS: [&str; 26] = [
    "a",
    "b",
    "data",
    "meta",
    "dudley",
    "fits",
    "fits_cards",
    "fits_heap",
    "1",
    "0",
    "",
    "a b",
    "x/y",
    "~",
    "é",
    "true",
    "null",
    "2.5",
    "asdf",
    "PRIMARY",
    "a,1",
    "source",
    "shape",
    "mask",
    "#",
    "<<",
];

const TEXTS: [&str; 14] = [
    "",
    "text",
    "yes",
    "12",
    "1.5",
    "null",
    "a: b",
    "# no",
    "two\nlines",
    "tab\there",
    "é µ",
    " blank ",
    "'quoted'",
    "2019-01-01",
];

struct Maker<'a> {
    dice: Dice,
    builder: AsdfBuilder<'a>,
}

impl Maker<'_> {
    fn array(&mut self) -> Value {
        let shape = self.dice.of(&[vec![3], vec![2, 2], vec![1], vec![0], vec![2, 1, 2], vec![]]);
        let count: u64 = shape.iter().product();
        let datatypes = [
            Datatype::Int8,
            Datatype::Uint8,
            Datatype::Int16,
            Datatype::Uint16,
            Datatype::Int32,
            Datatype::Uint32,
            Datatype::Int64,
            Datatype::Uint64,
            Datatype::Float32,
            Datatype::Float64,
            Datatype::Complex64,
            Datatype::Complex128,
            Datatype::Bool8,
            Datatype::Ascii(3),
            Datatype::Ucs4(2),
        ];
        let datatype = self.dice.of(&datatypes);
        let size = count * datatype.item_size();
        let bytes: Vec<u8> = match datatype {
            Datatype::Bool8 => (0..size).map(|_| self.dice.below(2) as u8).collect(),
            Datatype::Ascii(_) => (0..size).map(|_| b'a' + self.dice.below(20) as u8).collect(),
            Datatype::Ucs4(_) => (0..size / 4).flat_map(|_| (97 + self.dice.below(20) as u32).to_le_bytes()).collect(),
            _ => (0..size).map(|_| self.dice.below(64) as u8).collect(),
        };
        let mut array = Array::from_bytes(bytes, datatype, Byteorder::Little, shape.clone()).unwrap();
        if self.dice.below(4) == 0 && !shape.is_empty() {
            let mask: Vec<u8> = (0..count).map(|_| self.dice.below(2) as u8).collect();
            let mask = Array::from_bytes(mask, Datatype::Bool8, Byteorder::Little, shape).unwrap();
            array = array.with_mask(Mask::Array(Arc::new(mask))).unwrap();
        }
        let mut how = ArrayOptions::default();
        match self.dice.below(5) {
            0 if array.mask().is_none() && !array.is_empty() => how.inline = true,
            1 => how = ArrayOptions::codec("zlib").unwrap(),
            _ => {}
        }
        self.builder.array(&array, &how).unwrap()
    }

    fn value(&mut self, depth: u64) -> Value {
        match self.dice.below(if depth == 0 { 9 } else { 13 }) {
            0 => Value::null(),
            1 => Value::from(self.dice.below(2) == 0),
            2 => Value::from(self.dice.of(&[0, -1, i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1])),
            3 => Value::from(self.dice.of(&[0.5, -0.0, 1e300, f64::NAN, f64::INFINITY, 9_007_199_254_740_992.0])),
            4 | 5 => Value::from(self.dice.of(&TEXTS)),
            6 => Value::from("m").tagged("tag:stsci.edu:asdf/unit/unit-1.0.0"),
            7 | 8 => self.array(),
            9 | 10 => self.map(depth - 1),
            11 => self.map(depth - 1).tagged("tag:example.org:thing-1.0.0"),
            _ => {
                let count = self.dice.below(4);
                Value::seq((0..count).map(|_| self.value(depth - 1)).collect::<Vec<_>>())
            }
        }
    }

    fn map(&mut self, depth: u64) -> Value {
        let mut map = Value::map::<&str, Value>([]);
        for _ in 0..self.dice.below(5) {
            let key = self.dice.of(&KEYS);
            let value = self.value(depth);
            map.set(key, value);
        }
        if self.dice.below(5) == 0 {
            return self.with_a_typed_key(&map, depth);
        }
        map
    }

    /// Adds a key that is not a string to a mapping, unless a string key reads like one.
    fn with_a_typed_key(&mut self, map: &Value, depth: u64) -> Value {
        let keys = [Value::from(1), Value::from(0), Value::from(true), Value::null(), Value::from(2.5), Value::from(-7)];
        let (key, value) = (self.dice.of(&keys), self.value(depth));
        let mut pairs: Vec<(Value, Value)> = map.entries().to_vec();
        if !pairs.iter().any(|(other, _)| ["1", "0", "true", "null", "2.5", "", "~"].map(Some).contains(&other.as_str())) {
            pairs.insert(pairs.len() / 2, (key, value));
        }
        Value::map(pairs)
    }

    /// A mapping that looks like the one in which a file of the ASDF family keeps what only Dudley has.
    fn like_ours(&mut self) -> Value {
        let mut map = Value::map([("dialect", self.dice.of(&[Value::from(2025), Value::from("2026"), Value::null()]))]);
        for key in ["docs", "attributes", "stored", "byteorder", "data"] {
            if self.dice.below(3) == 0 {
                map.set(key, self.value(1));
            }
        }
        map
    }

    fn history(&mut self) -> Value {
        let entry = |text: &str| Value::map([("description", text)]).tagged("tag:stsci.edu:asdf/core/history_entry-1.0.0");
        match self.dice.below(4) {
            0 => Value::from("reduced by A. Person, 2019"),
            _ => Value::map([("entries", Value::seq([entry("reduced"), entry("dark subtracted")]))]),
        }
    }
}

/// A random file in memory.
pub(crate) fn random(seed: u64) -> Vec<u8> {
    // Writers refuse some of these; another takes the place of such a file.
    let mut tries = (0..).map(|n: u64| seed + n * 1_000_003);
    match seed % 10 {
        8 => fits(seed),
        9 => tries.find_map(dudley).unwrap(),
        _ => tries.find_map(asdf).unwrap(),
    }
}

/// A random tree.
fn asdf(seed: u64) -> Option<Vec<u8>> {
    let mut maker = Maker { dice: Dice::of_seed(seed), builder: AsdfBuilder::new(Target::latest()) };
    let mut tree = maker.map(3);
    if maker.dice.below(8) == 0 {
        let ours = maker.like_ours();
        tree.set("dudley", ours);
    }
    if maker.dice.below(4) == 0 {
        let history = maker.history();
        tree.set("history", history);
    }
    let mut out = Cursor::new(Vec::new());
    maker.builder.write_to(&mut out, tree).ok()?;
    Some(out.into_inner())
}

/// Cards as programs write them, well and badly.
const CARDS: [&str; 20] = [
    "OBSERVER= 'Leavitt '           / who",
    "OBJECT  = 'NGC 1''3'",
    "EXPTIME =                139.8 / [s] duration",
    "GAIN    =             1.50E+01",
    "COUNT   =     9007199254740993",
    "DARK    =                    T / a flag",
    "CPLX    =         (1.5, -2.25)",
    "EMPTY   = ''",
    "UNDEF   =",
    "LOOSE   =7 / not in its columns",
    "COMMENT no value at all",
    "COMMENT ends in a tab\t",
    "HISTORY flat-fielded",
    "HISTORY",
    "HIERARCH ESO DET CHIP = 5 / long name",
    "LONGSTRN= 'a text that goes on &'",
    "CONTINUE  'in the next card' / and its comment",
    "DATE-OBS= '2019-01-01T00:00:00'",
    "",
    "CRVAL1  =   83.8221 / degrees",
];

/// A FITS file of images and a table, with sums, and with bytes where none should be.
fn fits(seed: u64) -> Vec<u8> {
    let mut dice = Dice::of_seed(seed);
    let mut bytes = Vec::new();
    for number in 0..1 + dice.below(4) {
        let length = dice.below(9);
        let (bitpix, size) = dice.of(&[(8, 1), (16, 2), (32, 4), (64, 8), (-32, 4), (-64, 8)]);
        let is_table = number > 0 && dice.below(3) == 0;
        let first = match (number, is_table) {
            (0, _) => "SIMPLE  =                    T",
            (_, true) => "XTENSION= 'BINTABLE'",
            (_, false) => "XTENSION= 'IMAGE   '",
        };
        let mut cards = vec![first.to_owned()];
        let card = |keyword: &str, value: i64| format!("{keyword:8}= {value:>20}");
        let data: Vec<u8> = if is_table {
            let rows = length;
            cards.extend([card("BITPIX", 8), card("NAXIS", 2), card("NAXIS1", 9), card("NAXIS2", rows as i64)]);
            cards.extend([card("PCOUNT", 0), card("GCOUNT", 1), card("TFIELDS", 3)]);
            cards.extend(
                ["TFORM1  = '1J      '", "TTYPE1  = 'n       '", "TFORM2  = '3A      '", "TFORM3  = '2B      '"]
                    .map(str::to_owned),
            );
            (0..rows * 9)
                .map(|at| if (4..7).contains(&(at % 9)) { b'a' + (at % 20) as u8 } else { dice.below(100) as u8 })
                .collect()
        } else {
            cards.extend([card("BITPIX", bitpix), card("NAXIS", 1), card("NAXIS1", length as i64)]);
            cards.extend((number > 0).then(|| [card("PCOUNT", 0), card("GCOUNT", 1)]).into_iter().flatten());
            (0..length * size).map(|_| dice.below(64) as u8).collect()
        };
        if number > 0 && dice.below(3) > 0 {
            cards.push(format!("EXTNAME = '{}'", dice.of(&["SCI     ", "ERR     ", "sci     ", "a b     ", "FITS    "])));
        }
        for _ in 0..dice.below(6) {
            let at = dice.below(CARDS.len() as u64 - 1) as usize;
            // A card that goes on comes with the next.
            let count = if CARDS[at].ends_with("&'") { 2 } else { 1 };
            if !CARDS[at].starts_with("CONTINUE") {
                cards.extend(CARDS[at..at + count].iter().map(|card| (*card).to_owned()));
            }
        }
        if dice.below(3) == 0 {
            let sum = dice.of(&[sum_of(&data).to_string(), "0".to_owned(), "123".to_owned()]);
            cards.push(format!("DATASUM = '{sum:<8}'           / data unit checksum"));
            cards.push("CHECKSUM= 'abcdefghijklmnop'   / HDU checksum".to_owned());
        }
        cards.push("END".to_owned());
        let start = bytes.len();
        bytes.extend(cards.iter().flat_map(|card| format!("{card:80}").into_bytes()));
        bytes.resize(bytes.len().next_multiple_of(2880), b' ');
        if dice.below(12) == 0 {
            let last = bytes.len() - 1;
            bytes[last] = b'x';
        }
        assert_eq!((bytes.len() - start) % 2880, 0);
        bytes.extend(&data);
        bytes.resize(bytes.len().next_multiple_of(2880), 0);
        if !data.len().is_multiple_of(2880) && dice.below(12) == 0 {
            let last = bytes.len() - 1;
            bytes[last] = 1;
        }
    }
    if dice.below(12) == 0 {
        bytes.extend_from_slice(&[7; 100]);
    }
    bytes
}

/// The sum of a data unit: its words of 32 bits in ones' complement.
fn sum_of(data: &[u8]) -> u32 {
    let words = data
        .chunks(4)
        .map(|word| word.iter().enumerate().fold(0u64, |sum, (at, byte)| sum + (u64::from(*byte) << (24 - 8 * at))));
    let mut sum: u64 = words.sum();
    while sum >> 32 > 0 {
        sum = (sum & 0xffff_ffff) + (sum >> 32);
    }
    sum as u32
}

/// A Dudley file: dicts, lists and arrays, with documentation and attributes.
fn dudley(seed: u64) -> Option<Vec<u8>> {
    let mut dice = Dice::of_seed(seed);
    let root = dict(&mut dice, 3);
    let mut out = Cursor::new(Vec::new());
    root.write(Byteorder::Little, &Limits::default(), &mut out).ok()?;
    Some(out.into_inner())
}

fn dict(dice: &mut Dice, depth: u64) -> Draft {
    let mut items: Vec<(String, Draft)> = Vec::new();
    for _ in 0..1 + dice.below(4) {
        let name = dice.of(&["a", "b", "data", "a b", "x/y", "é", "1", "dudley", "fits", "N", "#", "history"]);
        if !items.iter().any(|(known, _)| known == name) {
            items.push((name.to_owned(), draft(dice, depth)));
        }
    }
    Draft::dict(items)
}

fn draft(dice: &mut Dice, depth: u64) -> Draft {
    let mut made = match dice.below(if depth == 0 { 3 } else { 5 }) {
        3 => dict(dice, depth - 1),
        4 => Draft::list((0..dice.below(4)).map(|_| draft(dice, depth - 1)).collect::<Vec<_>>()),
        0 => Draft::fixed_param(dice.below(9) as i64),
        _ => {
            let datatype = dice.of(&[Datatype::Int16, Datatype::Float64, Datatype::Uint8, Datatype::Complex128, Datatype::Int64]);
            let shape = dice.of(&[vec![3], vec![2, 2], vec![1], vec![]]);
            let size = shape.iter().product::<u64>() * datatype.item_size();
            let bytes: Vec<u8> = (0..size).map(|_| dice.below(64) as u8).collect();
            Draft::data(Array::from_bytes(bytes, datatype, Byteorder::Little, shape).unwrap())
        }
    };
    if dice.below(4) == 0 {
        made.docs.push(dice.of(&["what it is", "  indented", "with \"quotes\""]).to_owned());
    }
    for name in ["unit", "note", "scale", "flag"] {
        if dice.below(6) == 0 {
            let value = match name {
                "flag" => Attribute::Flag,
                "scale" => Attribute::List(vec![LayoutLiteral::Float(0.5), LayoutLiteral::Float(-1.0)]),
                "note" => Attribute::Value(LayoutLiteral::Integer(7)),
                _ => Attribute::Value(LayoutLiteral::Text("m s-1".to_owned())),
            };
            made.attributes.push((name.to_owned(), value));
        }
    }
    made
}
