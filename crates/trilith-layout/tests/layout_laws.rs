//! Laws of layouts, on texts made at random: no text panics, a print is a fix-point that means the
//! same, a faithful translation puts everything where it was, what is symbolic equals what is walked.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a law that cannot be tried is a failed test")]

use proptest::prelude::*;
use trilith_layout::Limits;
use trilith_layout::layout::{self, Dialect, EvaluateOptions, Layout, LayoutEvaluation, ParseOptions, SuppliedValue};

/// A small generator of numbers, seeded by proptest.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

const TOKENS: &[&str] = &[
    "a",
    "b",
    "N",
    "T",
    "x",
    "f8",
    "i4",
    "S1",
    "<i2",
    ">f4",
    "|u8",
    "<",
    ">",
    "c16",
    "p8",
    "\"\"",
    "\"q r\"",
    "'",
    "\"",
    "=",
    ":",
    ":=",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ",",
    "/",
    "..",
    "@",
    "%",
    "*",
    "&",
    "->",
    "<-",
    "+",
    "-",
    "--",
    "---\n",
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "16",
    "0x10",
    "007",
    "9223372036854775807",
    "1.5",
    "1e3",
    "?",
    ";",
    "é",
    "\0",
    "# c\n",
    "## d\n",
    "#: k=1\n",
    "#: k=[1, 2\n",
    "\n",
    " ",
    "gzip",
    "a = f8",
    "b: i4",
    "N : i4",
    "N = i4",
    "x = f8[N]",
    "x: f8(N)",
    "l [f8]*N",
    "l [2]",
    "T {a = f8[N]}",
    "g/",
    "{n:i1 a=u1[n]}",
];

fn soup(seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut text = String::new();
    for _ in 0..dice.roll(40) {
        text.push_str(dice.pick(TOKENS));
        if dice.roll(4) > 0 {
            text.push(' ');
        }
    }
    text
}

/// Everything that can be asked of a layout, with numbers that a hostile stream might hold.
fn exercise(layout: &Layout, seed: u64) {
    let mut dice = Dice(seed);
    let mut limits = Limits::default();
    limits.nodes = 20_000;
    let mut options = EvaluateOptions::default();
    options.limits = limits;
    let values = [0, 1, 2, 3, -1, 7, -2, i64::MAX, 1 << 40];
    let found = layout.evaluate(&options, |_| Ok(SuppliedValue::Value(values[dice.roll(values.len())])));
    if let Ok(found) = found {
        for entry in found.entries().take(50).filter_map(Result::ok) {
            let _ = found.find(&entry.path);
            let _ = found.locate(&entry.path);
        }
    }
    let _ = layout.print();
    let _ = layout.translate(Dialect::D2025).text.len() + layout.translate(Dialect::D2026).text.len();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_text_panics(seed in any::<u64>()) {
        let text = soup(seed);
        for dialect in [None, Some(Dialect::D2025), Some(Dialect::D2026)] {
            let parsed = layout::parse(text.as_bytes(), &ParseOptions::with_dialect(dialect)).unwrap();
            prop_assert_eq!(parsed.layout.is_some(), parsed.diagnostics.iter().all(|d| d.is_harmless));
            for diagnostic in &parsed.diagnostics {
                prop_assert!(diagnostic.line >= 1 && diagnostic.column >= 1);
                prop_assert!(diagnostic.render(&parsed.text, "f").contains(diagnostic.code));
            }
            if let Some(layout) = &parsed.layout {
                exercise(layout, seed);
            }
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        layout::parse(&bytes, &ParseOptions::default()).unwrap();
    }
}

/// A valid layout, by construction.
struct Maker {
    dice: Dice,
    old: bool,
    text: String,
    names: u32,
    /// Names of types, and parameters in scope by dict.
    types: Vec<String>,
    params: Vec<Vec<String>>,
    /// Large counts in place of small ones.
    large: bool,
}

impl Maker {
    fn name(&mut self) -> String {
        self.names += 1;
        if self.dice.roll(12) == 0 { format!("\"n {}\"", self.names) } else { format!("n{}", self.names) }
    }

    fn datatype(&mut self, depth: u32) -> String {
        match self.dice.roll(if depth > 2 { 6 } else { 9 }) {
            0..=3 => self.dice.pick(&["f8", "i4", "<i2", ">f4", "|u8", "u1", "b1", "<f8", "c8", "c16"]).to_owned(),
            4..=5 if !self.types.is_empty() => self.types[self.dice.roll(self.types.len())].clone(),
            4..=6 => "i8".into(),
            _ => {
                let count = 1 + self.dice.roll(3);
                let members: Vec<String> = (0..count).map(|_| self.member(depth + 1)).collect();
                format!("{{{}}}", members.join(" "))
            }
        }
    }

    fn member(&mut self, depth: u32) -> String {
        let name = self.name();
        let sign = if self.old { " =" } else { ":" };
        let (datatype, shape, placement) = (self.datatype(depth), self.shape(), self.placement());
        format!("{name}{sign} {datatype}{shape}{placement}")
    }

    fn shape(&mut self) -> String {
        let rank = [0, 0, 1, 1, 2][self.dice.roll(5)];
        if rank == 0 {
            return String::new();
        }
        let known: Vec<String> = self.params.iter().flatten().cloned().collect();
        let dims: Vec<String> = (0..rank)
            .map(|_| {
                if known.is_empty() || self.dice.roll(2) == 0 {
                    return ["1", "2", "3", "5", "0", "-1"][self.dice.roll(6)].to_owned();
                }
                let suffix = self.dice.pick(&["", "", "+", "-", "--"]);
                format!("{}{suffix}", known[self.dice.roll(known.len())])
            })
            .collect();
        if self.old { format!("[{}]", dims.join(",")) } else { format!("({})", dims.join(",")) }
    }

    fn placement(&mut self) -> String {
        match self.dice.roll(8) {
            0 => format!(" %{}", 1 << self.dice.roll(5)),
            _ => String::new(),
        }
    }

    fn element(&mut self, depth: u32) -> String {
        match self.dice.roll(if depth > 2 { 3 } else { 5 }) {
            3 => {
                let inside = self.elements(depth + 1);
                let repeat = if self.old && self.dice.roll(2) == 0 { format!("*{}", self.count()) } else { String::new() };
                format!("[{inside}]{repeat}")
            }
            4 => {
                let outer = std::mem::take(&mut self.text);
                self.params.push(Vec::new());
                self.items(depth + 2, 2);
                self.params.pop();
                format!("/ {}", std::mem::replace(&mut self.text, outer))
            }
            _ => format!("{}{}{}", self.datatype(depth), self.shape(), self.placement()),
        }
    }

    fn count(&mut self) -> u64 {
        if self.large { [1000, 3, 2_000_000, 17][self.dice.roll(4)] } else { self.dice.roll(4) as u64 }
    }

    fn elements(&mut self, depth: u32) -> String {
        let count = 1 + self.dice.roll(3);
        (0..count).map(|_| self.element(depth)).collect::<Vec<_>>().join(", ")
    }

    fn items(&mut self, depth: u32, count: usize) {
        for _ in 0..count {
            let name = self.name();
            match self.dice.roll(12) {
                0 if depth < 4 => {
                    self.text.push_str(&format!("{name}/ ## doc of {name}\n"));
                    self.params.push(Vec::new());
                    self.items(depth + 1, 3);
                    self.params.pop();
                    self.text.push_str("..\n");
                }
                1 | 2 if depth < 4 => {
                    let inside = self.elements(depth);
                    let repeat = if self.old && self.dice.roll(2) == 0 { format!("*{}", self.count()) } else { String::new() };
                    self.text.push_str(&format!("{name} [{inside}]{repeat}\n"));
                    if self.old && self.dice.roll(3) == 0 {
                        let count = self.count();
                        self.text.push_str(&format!("{name} [{count}] ## again\n"));
                    }
                }
                3 => {
                    let value = ["0", "1", "2", "4", "-1"][self.dice.roll(5)];
                    self.text.push_str(&format!("{name} {} {value}\n", if self.old { ":" } else { "=" }));
                    self.params.last_mut().unwrap().push(name);
                }
                4 if !self.large => {
                    let datatype = self.dice.pick(&["i4", "<i8", ">i2"]);
                    self.text.push_str(&format!("{name} {} {datatype} #: stored\n", if self.old { ":" } else { "=" }));
                    self.params.last_mut().unwrap().push(name);
                }
                5 if depth == 0 => {
                    let members = (0..1 + self.dice.roll(3)).map(|_| self.member(1)).collect::<Vec<_>>().join(" ");
                    self.text.push_str(&format!("{name} {{{members}}}\n"));
                    self.types.push(name);
                }
                6 if self.old && depth == 0 && !self.large => {
                    let (a, b) = (self.name(), self.name());
                    self.text.push_str(&format!("{name} = {{{a} : i1  {b} = u1[{a}]}}{}\n", ["", "[2]"][self.dice.roll(2)]));
                }
                _ => {
                    let (datatype, shape, placement) = (self.datatype(0), self.shape(), self.placement());
                    let sign = if self.old { " =" } else { ":" };
                    self.text.push_str(&format!("{name}{sign} {datatype}{shape}{placement} ## doc\n #: unit=\"m\", n=[1, 2]\n"));
                }
            }
        }
    }
}

fn made(seed: u64, old: bool, large: bool) -> (Layout, String) {
    let mut maker =
        Maker { dice: Dice(seed), old, text: String::new(), names: 0, types: Vec::new(), params: vec![Vec::new()], large };
    maker.items(0, 6);
    let dialect = Some(if old { Dialect::D2025 } else { Dialect::D2026 });
    let parsed = layout::parse(maker.text.as_bytes(), &ParseOptions::with_dialect(dialect)).unwrap();
    let problem = format!("{}{:?}", maker.text, parsed.diagnostics);
    (parsed.layout.expect(&problem), maker.text)
}

fn listed(found: &LayoutEvaluation<'_>) -> Vec<String> {
    found
        .entries()
        .take(300)
        .filter_map(Result::ok)
        .map(|e| format!("{} {:?} {:?} {} {:?} {:?} {:?}", e.path, e.kind, e.address, e.datatype, e.shape, e.nbytes, e.value))
        .collect()
}

fn evaluated<'l>(layout: &'l Layout, seed: u64) -> Option<LayoutEvaluation<'l>> {
    let mut dice = Dice(seed);
    layout.evaluate(&EvaluateOptions::default(), |_| Ok(SuppliedValue::Value([0, 1, 2, 3, -1][dice.roll(5)]))).ok()
}

fn again(text: &str, dialect: Dialect) -> Layout {
    let parsed = layout::parse(text.as_bytes(), &ParseOptions::with_dialect(dialect)).unwrap();
    let problem = format!("{text}{:?}", parsed.diagnostics);
    parsed.layout.expect(&problem)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn print_is_fixed_point_and_keeps_entries(seed in any::<u64>(), old in any::<bool>()) {
        let (layout, text) = made(seed, old, false);
        let printed = layout.print();
        let second = again(&printed, layout.dialect());
        prop_assert_eq!(&second.print(), &printed, "{}", text);
        if let (Some(one), Some(two)) = (evaluated(&layout, seed), evaluated(&second, seed)) {
            prop_assert_eq!(listed(&one), listed(&two));
            prop_assert_eq!((one.total(), one.next()), (two.total(), two.next()));
        }
    }

    #[test]
    fn attributes_print_unchanged(
        text in "(inf|1e999|[a-z .=#,'\\[\\]-]){0,12}", name in "(inf|[a-z]){1,3}", number in proptest::sample::select(vec!["1e999", "-1e999", "1.5"]),
    ) {
        let line = format!("_{name}=\"{text}\", n={number}, texts=[\"{text}\", \"inf\"], numbers=[{number}, 2.5], m=-7");
        let printed = again(&format!("#: {line}\nx: f8(1)\n"), Dialect::D2026).print();
        prop_assert!(printed.contains(&line), "{line}\n{printed}");
    }

    #[test]
    fn faithful_translation_keeps_addresses(seed in any::<u64>(), old in any::<bool>()) {
        let (layout, text) = made(seed, old, false);
        let to = if old { Dialect::D2026 } else { Dialect::D2025 };
        let translation = layout.translate(to);
        prop_assume!(translation.is_faithful());
        let second = again(&translation.text, to);
        if let (Some(one), Some(two)) = (evaluated(&layout, seed), evaluated(&second, seed)) {
            prop_assert_eq!(listed(&one), listed(&two), "{}\n{}", text, translation.text);
            prop_assert_eq!(one.next(), two.next());
        }
    }

    #[test]
    fn every_entry_is_found_by_its_path(seed in any::<u64>(), old in any::<bool>()) {
        let (layout, text) = made(seed, old, false);
        if let Some(found) = evaluated(&layout, seed) {
            for entry in found.entries().take(100).filter_map(Result::ok) {
                let alone = found.find(&entry.path).unwrap();
                prop_assert_eq!(alone.as_ref(), Some(&entry), "{}", text);
            }
        }
    }

    /// A list that is repeated a million times ends where walking all of it ends.
    #[test]
    fn what_is_symbolic_equals_what_is_walked(seed in any::<u64>()) {
        let (layout, _) = made(seed, true, true);
        let Some(found) = evaluated(&layout, seed) else { return Ok(()) };
        let mut end = 0;
        let mut count = 0;
        for entry in found.entries() {
            let Ok(entry) = entry else { return Ok(()) };
            count += 1;
            if count > 10_000 {
                return Ok(());
            }
            if let (Some(address), Some(size)) = (entry.address, entry.nbytes) {
                end = end.max(address + size);
            }
        }
        prop_assert_eq!(found.total(), Some(end));
    }
}
