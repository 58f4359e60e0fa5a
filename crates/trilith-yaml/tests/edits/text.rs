//! Random YAML in every style: blocks, brackets, JSON, sets, literals, anchors, comments, indentations.

use std::fmt::Write as _;

/// A generator of numbers that is the same everywhere.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % sides.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.roll(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}

/// What a document is made of, so that some are plain and some are wild.
pub(crate) struct Writer<'d> {
    dice: &'d mut Dice,
    out: String,
    keys: usize,
    anchors: Vec<(String, bool)>,
    json: bool,
    comments: bool,
    references: bool,
    oddities: bool,
}

const PLAIN: &[&str] = &[
    "1",
    "x",
    "a b",
    "-2.5",
    "true",
    "null",
    "~",
    "0x1F",
    "http://e.org/#a",
    "x:y",
    "?",
    "-",
    "2001-01-01",
    "é",
    "a,b",
    "<<",
    "1e3",
];
const FLOW: &[&str] = &["1", "x", "a b", "-2.5", "true", "null", "~", "http://e.org/", "-1", "é", "x:y"];
const QUOTED: &[&str] = &["'it''s'", "\"q\\n\"", "''", "\"\"", "'# no'", "\"a: b\"", "'[x]'", "\"\\u00e9, }\"", "'1'", "\"{\""];

pub(crate) fn document(dice: &mut Dice) -> String {
    let (json, comments, references, oddities) = (dice.one_in(6), dice.one_in(2), dice.one_in(2), dice.one_in(2));
    let mut writer = Writer { dice, out: String::new(), keys: 0, anchors: Vec::new(), json, comments, references, oddities };
    writer.whole();
    let mut text = writer.out;
    if dice.one_in(8) {
        text = text.replace('\n', "\r\n");
    }
    if dice.one_in(12) {
        text.insert(0, '\u{feff}');
    }
    text
}

impl Writer<'_> {
    fn whole(&mut self) {
        if self.dice.one_in(4) {
            self.out.push_str("%YAML 1.1\n%TAG !e! tag:e.org:\n");
            self.out.push_str("---");
        } else if self.dice.one_in(2) {
            self.out.push_str("---");
        }
        if self.json {
            self.separate();
            self.flow(0, 1);
            self.out.push('\n');
        } else {
            if !self.out.is_empty() && self.dice.one_in(4) {
                self.out.push_str(" !root");
            }
            if !self.out.is_empty() {
                self.out.push('\n');
            }
            self.lines(0);
            match self.dice.roll(10) {
                8 => self.set(),
                9 => {
                    let head = self.dice.pick(&["|", ">-", "|+", "'quoted' # "]);
                    let _ = write!(self.out, "{head}\n two\n lines\n");
                }
                0 => {
                    self.flow(0, 1);
                    self.out.push('\n');
                }
                1 | 2 => self.sequence(0, 0),
                _ => self.mapping(0, 0),
            }
        }
        match self.dice.roll(6) {
            0 | 1 => self.out.push_str("...\n"),
            2 => self.out.push_str("# the end\n"),
            3 => {
                while self.out.ends_with('\n') {
                    self.out.pop();
                }
            }
            _ => {}
        }
    }

    fn separate(&mut self) {
        if !self.out.is_empty() {
            self.out.push(' ');
        }
    }

    fn indent(&mut self, column: usize) {
        self.out.extend(std::iter::repeat_n(' ', column));
    }

    /// Comments and blank lines between lines.
    fn lines(&mut self, column: usize) {
        if !self.comments {
            return;
        }
        match self.dice.roll(8) {
            0 => {
                let deep = column + self.dice.pick(&[0, 0, 2, 4]);
                self.indent(deep);
                let _ = writeln!(self.out, "# about {}", self.keys);
            }
            1 => self.out.push('\n'),
            2 if self.oddities => {
                let blanks = self.dice.roll(6);
                self.indent(blanks);
                self.out.push('\n');
            }
            _ => {}
        }
    }

    fn end_line(&mut self) {
        if self.comments && self.dice.one_in(4) {
            self.out.push_str(self.dice.pick(&[" # c", "  # it's", "\t# t", " #"]));
        } else if self.oddities && self.dice.one_in(10) {
            self.out.push_str(self.dice.pick(&[" ", "  ", "\t"]));
        }
        self.out.push('\n');
    }

    fn name(&mut self) -> String {
        self.keys += 1;
        if self.oddities && self.dice.one_in(25) { format!("k{}", self.dice.roll(self.keys)) } else { format!("k{}", self.keys) }
    }

    fn simple_key(&mut self) -> String {
        let name = self.name();
        match self.dice.roll(if self.oddities { 14 } else { 6 }) {
            0 => format!("'{name}'"),
            1 => format!("\"{name}\""),
            6 => self.keys.to_string(),
            7 => format!("[{name}, 1]"),
            8 => format!("{{{name}: 1}}"),
            9 if self.references => {
                self.anchors.push((format!("n{name}"), false));
                format!("&n{name} {name}")
            }
            10 => format!("!t {name}"),
            11 => format!("{name} é/~ x"),
            _ => name,
        }
    }

    /// An anchor, a tag, both or none; whether there are any.
    fn properties(&mut self, is_mapping: bool) -> String {
        let mut out = String::new();
        if self.references && self.dice.one_in(5) {
            let number = if self.dice.one_in(6) { self.dice.roll(4) } else { self.anchors.len() + 4 };
            let _ = write!(out, "&a{number} ");
            self.anchors.push((format!("a{number}"), is_mapping));
        }
        if self.dice.one_in(10) {
            out.push_str(self.dice.pick(&["!t ", "!t/u-1.0.0 ", "!<tag:e.org:v> "]));
        }
        out
    }

    fn alias(&mut self) -> Option<String> {
        if !self.references || self.anchors.is_empty() || !self.dice.one_in(5) {
            return None;
        }
        let at = self.dice.roll(self.anchors.len());
        Some(format!("*{}", self.anchors[at].0))
    }

    /// The set of YAML 1.1: keys alone.
    fn set(&mut self) {
        if self.out.ends_with("---\n") {
            self.out.pop();
            self.out.push_str(" !!set\n");
        }
        for _ in 0..=self.dice.roll(4) {
            let key = self.simple_key();
            let _ = write!(self.out, "? {key}");
            self.end_line();
            self.lines(0);
        }
    }

    fn mapping(&mut self, column: usize, depth: usize) {
        let count = 1 + self.dice.roll(4);
        for at in 0..count {
            if at > 0 {
                self.lines(column);
                self.indent(column);
            }
            self.pair(column, depth);
        }
    }

    fn pair(&mut self, column: usize, depth: usize) {
        let mergeable = self.anchors.iter().rev().find(|(_, is_mapping)| *is_mapping).map(|(name, _)| name.clone());
        match self.dice.roll(if self.oddities { 16 } else { 40 }) {
            0 => {
                // A set, or a key alone.
                let key = self.simple_key();
                let _ = write!(self.out, "? {key}");
                self.end_line();
            }
            1 => {
                let key = self.simple_key();
                let _ = write!(self.out, "? {key}");
                self.end_line();
                self.lines(column);
                self.indent(column);
                self.out.push(':');
                self.value(column, depth, true);
            }
            2 => {
                let (a, b) = (self.name(), self.name());
                let blank = " ".repeat(column);
                let _ = write!(self.out, "? - {a}\n{blank}  - {b}\n{blank}:");
                self.value(column, depth, true);
            }
            3 => {
                let name = self.name();
                let blank = " ".repeat(column);
                let _ = write!(self.out, "? |\n{blank}  {name}\n{blank}:");
                self.value(column, depth, true);
            }
            4 if self.references && mergeable.is_some() => {
                let _ = write!(self.out, "<<: *{}", mergeable.unwrap_or_default());
                self.end_line();
            }
            5 => {
                self.out.push(':');
                self.value(column, depth, true);
            }
            6 if self.dice.one_in(2) => {
                self.out.push('?');
                self.end_line();
            }
            7 => {
                let name = self.simple_key();
                let _ = write!(self.out, "? {name}: 1");
                self.end_line();
            }
            _ => {
                let key = self.simple_key();
                let _ = write!(self.out, "{key}:");
                self.value(column, depth, true);
            }
        }
    }

    fn sequence(&mut self, column: usize, depth: usize) {
        let count = 1 + self.dice.roll(4);
        for at in 0..count {
            if at > 0 {
                self.lines(column);
                self.indent(column);
            }
            self.out.push('-');
            self.value(column, depth, false);
        }
    }

    /// What stands after a colon or a dash, to the end of its lines.
    fn value(&mut self, column: usize, depth: usize, is_pair: bool) {
        if let Some(alias) = self.alias() {
            let _ = write!(self.out, " {alias}");
            return self.end_line();
        }
        let what = self.dice.roll(if depth > 3 { 9 } else { 15 });
        let properties = if (5..=6).contains(&what) { String::new() } else { self.properties(what == 9 || what == 10) };
        match what {
            0 => {
                let _ = write!(self.out, " {}", properties.trim_end());
                while self.out.ends_with(' ') {
                    self.out.pop();
                }
                self.end_line();
            }
            1 | 2 => self.block_scalar(column, &properties),
            3 => {
                let _ = write!(self.out, " {properties}{}", self.dice.pick(QUOTED));
                self.end_line();
            }
            4 => {
                let deeper = " ".repeat(column + 1 + self.dice.roll(3));
                let form = self.dice.roll(3);
                let lines =
                    ["long text\n>goes on", "'quoted\n\n>text'", "\"esc\\\n>aped\\\n>\\  x\""][form].replace('>', &deeper);
                let _ = write!(self.out, " {properties}{lines}");
                self.end_line();
            }
            5 if !is_pair => {
                // `- - x` and `- a: 1`.
                let blanks = 1 + self.dice.roll(3);
                self.indent(blanks);
                let below = column + 1 + blanks;
                if self.dice.one_in(2) { self.mapping(below, depth + 2) } else { self.sequence(below, depth + 2) }
            }
            6..=8 => {
                let _ = write!(self.out, " {properties}");
                if self.oddities && self.dice.one_in(8) && properties.is_empty() {
                    self.out.pop();
                    self.out.push('\t');
                }
                if self.dice.one_in(2) {
                    self.flow(column + 1, depth + 1);
                } else {
                    self.out.push_str(self.dice.pick(PLAIN));
                }
                self.end_line();
            }
            9 | 10 => self.below(column, depth, &properties, true, is_pair),
            11 | 12 => self.below(column, depth, &properties, false, is_pair),
            _ => {
                let _ = write!(self.out, " {properties}{}", self.dice.pick(PLAIN));
                self.end_line();
            }
        }
    }

    /// A block collection on lines of its own.
    fn below(&mut self, column: usize, depth: usize, properties: &str, is_mapping: bool, is_pair: bool) {
        if !properties.is_empty() {
            let _ = write!(self.out, " {}", properties.trim_end());
        }
        self.end_line();
        let least = usize::from(is_mapping || !is_pair);
        let column = column + (least + self.dice.pick(&[0, 1, 1, 1, 2, 3])).max(least);
        self.lines(column);
        self.indent(column);
        if is_mapping { self.mapping(column, depth + 1) } else { self.sequence(column, depth + 1) }
    }

    fn block_scalar(&mut self, column: usize, properties: &str) {
        let head = self.dice.pick(&["|", "|-", "|+", ">", ">-", ">+"]);
        let deep = 1 + self.dice.roll(4);
        let digit = if self.oddities && self.dice.one_in(5) { deep.to_string() } else { String::new() };
        // A digit counts from the indentation of the parent.
        let inner = column + deep;
        let _ = write!(self.out, " {properties}{head}{digit}");
        if self.comments && self.dice.one_in(5) {
            self.out.push_str(" # head");
        }
        self.out.push('\n');
        for _ in 0..self.dice.roll(4) {
            match self.dice.roll(6) {
                0 => self.out.push('\n'),
                1 if !digit.is_empty() || self.out.ends_with("x\n") => {
                    self.indent(inner);
                    self.out.push_str("  deeper\n");
                }
                2 => {
                    self.indent(inner);
                    self.out.push_str("# no comment: x\n");
                }
                _ => {
                    self.indent(inner);
                    self.out.push_str("line of x\n");
                }
            }
        }
        if self.oddities && self.dice.one_in(3) {
            for _ in 0..=self.dice.roll(2) {
                let blanks = self.dice.pick(&[0, 0, inner, inner + 1, 1]);
                self.indent(blanks);
                self.out.push('\n');
            }
        }
    }

    /// What stands between one part of brackets and the next.
    fn gap(&mut self, column: usize) {
        if self.json && self.dice.one_in(2) {
            return;
        }
        match self.dice.roll(8) {
            0 if self.comments => {
                self.out.push_str(" # in\n");
                self.indent(column + 1);
            }
            1 => {
                self.out.push('\n');
                self.indent(column + 1);
            }
            2 => {}
            _ => self.out.push(' '),
        }
    }

    fn flow(&mut self, column: usize, depth: usize) {
        let properties = if self.json { String::new() } else { self.properties(false) };
        if let (false, Some(alias)) = (self.json, self.alias()) {
            return self.out.push_str(&alias);
        }
        let what = if depth > 4 { 0 } else { self.dice.roll(5) };
        self.out.push_str(&properties);
        match what {
            0 | 1 if self.json => self.out.push_str(self.dice.pick(&["1", "-2.5", "\"x\"", "null", "true", "\"\"", "\"a:b,{\""])),
            0 => self.out.push_str(self.dice.pick(FLOW)),
            1 => self.out.push_str(self.dice.pick(QUOTED)),
            2 | 3 => {
                self.out.push('{');
                for at in 0..self.dice.roll(4) {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.gap(column);
                    self.flow_pair(column, depth);
                }
                self.close('}', column);
            }
            _ => {
                self.out.push('[');
                for at in 0..self.dice.roll(4) {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.gap(column);
                    if self.oddities && !self.json && self.dice.one_in(6) {
                        let key = self.simple_key();
                        let mark = self.dice.pick(&["", "", "? "]);
                        let _ = write!(self.out, "{mark}{key}: ");
                        if self.dice.one_in(2) {
                            self.flow(column, depth + 1);
                        }
                    } else {
                        self.flow(column, depth + 1);
                    }
                }
                self.close(']', column);
            }
        }
    }

    fn close(&mut self, bracket: char, column: usize) {
        if !self.json && !self.out.ends_with(['[', '{']) && self.dice.one_in(8) {
            self.out.push(',');
        }
        if self.dice.one_in(3) {
            self.gap(column);
        }
        self.out.push(bracket);
    }

    fn flow_pair(&mut self, column: usize, depth: usize) {
        if self.json {
            let name = self.name();
            let _ = write!(self.out, "\"{name}\":");
            if self.dice.one_in(3) {
                self.out.push(' ');
            }
            return self.flow(column, depth + 1);
        }
        let key = self.simple_key();
        match self.dice.roll(if self.oddities { 14 } else { 30 }) {
            0 => self.out.push_str(&key),
            1 => {
                let _ = write!(self.out, "? {key}");
            }
            2 => {
                let _ = write!(self.out, "? {key} :");
            }
            3 => {
                let _ = write!(self.out, "{key} : ");
            }
            4 => {
                self.out.push_str(": ");
                self.flow(column, depth + 1);
            }
            5 => {
                let _ = write!(self.out, "'{key}':", key = key.replace('\'', ""));
                self.flow(column, depth + 1);
            }
            6 => {
                let _ = write!(self.out, "? {key}");
                self.gap(column);
                self.out.push_str(" : ");
                self.flow(column, depth + 1);
            }
            7 => {
                let _ = write!(self.out, "[{key}]:");
                self.flow(column, depth + 1);
            }
            _ => {
                let _ = write!(self.out, "{key}: ");
                self.flow(column, depth + 1);
            }
        }
    }
}
