//! Output to stdout and stderr: text without control characters, aligned tables, sizes with units.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use trilith::bytes::{CountingWriter, display_name};
use trilith::{Error, Limits, Result};

use crate::buffered_output::BufferedOutput;
use crate::progress::with_bar_hidden;
use crate::stdout::{Stdout, stdout_error};
use crate::style::{StyleRole, paint_stderr, paint_stdout as paint};

pub(crate) use trilith_view::preview::display_size;

/// The limits of the command that runs: its output counts towards them.
static LIMITS: Mutex<Option<Limits>> = Mutex::new(None);

/// Counts what is written from now on for a command with these limits.
pub(crate) fn count_for(limits: Limits) {
    *LIMITS.lock().unwrap_or_else(PoisonError::into_inner) = Some(limits);
}

/// The limits of the command that runs.
pub(crate) fn current_limits() -> Limits {
    LIMITS.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
}

/// Prints a line on stderr; control characters of a file never pass through.
pub(crate) fn eprint_line(message: &str) {
    let message = escape_controls(message);
    let inks = [("trilith: ", StyleRole::Error), ("warning: ", StyleRole::Warning)];
    let painted =
        inks.into_iter().find_map(|(lead, ink)| Some(format!("{}{}", paint_stderr(ink, lead), message.strip_prefix(lead)?)));
    with_bar_hidden(|| {
        let _ = writeln!(io::stderr().lock(), "{}", painted.as_deref().unwrap_or(&message));
    });
}

/// Buffered stdout, or what one file of several has to say there.
pub(crate) struct Output(Sink);

enum Sink {
    Stdout(io::BufWriter<CountingWriter<Stdout>>),
    Buffered(CountingWriter<BufferedOutput>),
}

impl Output {
    /// Takes stdout.
    pub(crate) fn new() -> Self {
        Self(Sink::Stdout(io::BufWriter::with_capacity(64 << 10, CountingWriter::new(Stdout::new(), current_limits()))))
    }

    /// Prints what `say` writes to stdout.
    pub(crate) fn print_with(say: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let mut out = Self::new();
        say(&mut out)?;
        out.finish()
    }

    /// Prints a JSON document to stdout.
    pub(crate) fn print_json(value: &Value) -> Result<()> {
        Self::print_with(|out| out.write_json(value))
    }

    /// Returns the output of one file of several, which is printed when it is its turn. JSON is on one line.
    pub(crate) fn buffered(held: BufferedOutput, limits: Limits) -> Self {
        Self(Sink::Buffered(CountingWriter::new(held, limits)))
    }

    /// Returns the output that is still held back.
    pub(crate) fn into_buffered(self) -> Option<BufferedOutput> {
        match self.0 {
            Sink::Stdout(_) => None,
            Sink::Buffered(held) => Some(held.into_inner()),
        }
    }

    /// Writes a line of text, control characters made visible.
    pub(crate) fn write_line(&mut self, text: &str) -> Result<()> {
        writeln!(self, "{}", escape_controls(text)).map_err(stdout_error)
    }

    /// Writes facts, each a name and a value in columns.
    pub(crate) fn name_value_lines<S: Display>(&mut self, facts: impl IntoIterator<Item = (&'static str, S)>) -> Result<()> {
        facts.into_iter().try_for_each(|(fact, value)| self.write_line(&format!("{fact:<12} {value}")))
    }

    /// Writes a verdict on a file: `NAME: OK (2 blocks)`, the word painted.
    pub(crate) fn print_verdict(&mut self, name: &str, ink: StyleRole, word: &str, more: &str) -> Result<()> {
        self.write_raw_text(&format!("{}: {}{}\n", escape_controls(name), paint(ink, word), escape_controls(more)))
    }

    /// Writes text of several lines, control characters made visible.
    pub(crate) fn write_lines(&mut self, text: &str) -> Result<()> {
        self.write_raw_text(&escape_controls_in_text(text))?;
        self.write_raw_text("\n")
    }

    /// Writes text that was made here and may hold line breaks and colours.
    pub(crate) fn write_raw_text(&mut self, text: &str) -> Result<()> {
        self.write_all(text.as_bytes()).map_err(stdout_error)
    }

    /// Writes text of a file unchanged, except for control characters on a terminal.
    pub(crate) fn write_file_text(&mut self, text: &str) -> Result<()> {
        if io::stdout().is_terminal() { self.write_raw_text(&escape_controls_in_text(text)) } else { self.write_raw_text(text) }
    }

    /// Writes bytes, but never to a terminal.
    pub(crate) fn write_binary(&mut self, bytes: &[u8]) -> Result<()> {
        if io::stdout().is_terminal() {
            return Err(Error::invalid_input("this is binary data and stdout is a terminal")
                .hint("write it to a file with -o FILE, or pipe it on"));
        }
        self.write_all(bytes).map_err(stdout_error)
    }

    /// Writes one JSON document.
    pub(crate) fn write_json(&mut self, value: &Value) -> Result<()> {
        let written = match &mut self.0 {
            Sink::Stdout(out) => serde_json::to_writer_pretty(JsonEscaper(out), value),
            Sink::Buffered(out) => serde_json::to_writer(JsonEscaper(out), value),
        };
        written.map_err(|e| stdout_error(e.into()))?;
        self.write_all(b"\n").map_err(stdout_error)
    }

    /// Makes sure that everything is out.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush().map_err(stdout_error)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Sink::Stdout(out) => out.write(bytes),
            Sink::Buffered(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Sink::Stdout(out) => out.flush(),
            Sink::Buffered(out) => out.flush(),
        }
    }
}

/// Returns `true` if an error answers the question of a command with no: a path leads to nothing, or what is asked of an item
/// cannot be. Every other error means that the command could not tell.
pub(crate) fn is_negative_result(error: &Error) -> bool {
    error.kind().is_request()
}

/// Returns `true` if the reader of our output went away.
pub(crate) fn is_broken_pipe(error: &Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Writes JSON with control characters and marks of direction as escapes. JSON itself requires escapes only for
/// those below a space. They occur in strings alone, so that an escape means the same.
pub(crate) struct JsonEscaper<W>(W);

impl<W: Write> JsonEscaper<W> {
    /// JSON goes through here to `out`.
    pub(crate) fn new(out: W) -> Self {
        Self(out)
    }
}

impl<W: Write> Write for JsonEscaper<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The input is whole characters, or bytes that are none of these.
        match std::str::from_utf8(bytes).map(display_name) {
            Ok(text) if text.contains(is_control) => {
                for c in text.chars() {
                    if is_control(c) { write!(self.0, "\\u{:04x}", u32::from(c))? } else { write!(self.0, "{c}")? }
                }
            }
            Ok(text) => self.0.write_all(text.as_bytes())?,
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A text as JSON, without a character that drives a terminal.
pub(crate) fn json_text(text: &str) -> String {
    json_value(&text.into())
}

/// A value as JSON on one line, without a character that drives a terminal.
pub(crate) fn json_value(value: &Value) -> String {
    let mut out = Vec::new();
    let _ = JsonEscaper(&mut out).write_all(value.to_string().as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// Characters that drive a terminal, or turn the order of others round.
fn is_control(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns a line of text. Control characters, which could drive a terminal, become their escapes, and so do line
/// ends, after which a name could write its own lines.
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_control(c) || c == '\n')
}

/// Text of several lines, control characters made visible.
pub(crate) fn escape_controls_in_text(text: &str) -> Cow<'_, str> {
    escaped(text, is_control)
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.into();
    }
    let shown = display_name(text);
    if !shown.contains(&is_bad) {
        return shown;
    }
    let mut out = String::with_capacity(shown.len() + 8);
    for c in shown.chars() {
        match c {
            '\n' if is_bad(c) => out.push_str("\\n"),
            c if is_bad(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.into()
}

/// Rows of text in aligned columns.
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
    columns: Vec<ColumnStyle>,
}

/// The alignment of a column, and the end at which a cell is cut if a terminal is too narrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnStyle {
    /// Text: the end is cut.
    Text,
    /// Paths: the beginning is cut, because paths differ at their ends.
    Path,
    /// Numbers, flush right: integers stay, floats lose digits.
    Number,
}

impl ColumnStyle {
    fn truncate(self, cell: &str, width: usize) -> Cow<'_, str> {
        if self == Self::Path { truncate_start(cell, width) } else { truncate_end(cell, width) }
    }
}

/// The cells and the widths of the columns that a terminal has room for.
struct FittedTable<'t> {
    rows: Cow<'t, [Vec<String>]>,
    widths: Vec<usize>,
}

impl TextTable {
    /// A table whose columns are named; a name that begins with `>` is that of numbers, one that begins with `<` that of paths.
    pub(crate) fn new(names: &[&str]) -> Self {
        let style = |name: &&str| match name.as_bytes().first() {
            Some(b'>') => ColumnStyle::Number,
            Some(b'<') => ColumnStyle::Path,
            _ => ColumnStyle::Text,
        };
        let name = |name: &&str| name.strip_prefix(['<', '>']).unwrap_or(name).to_owned();
        Self::with_columns(names.iter().map(|column| (name(column), style(column))).collect())
    }

    /// A table whose columns have any names.
    pub(crate) fn with_columns(columns: Vec<(String, ColumnStyle)>) -> Self {
        let (names, columns): (Vec<String>, Vec<ColumnStyle>) = columns.into_iter().unzip();
        let mut table = Self { rows: Vec::new(), columns };
        table.push_row(names);
        table
    }

    /// Adds a row.
    pub(crate) fn push_row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(|cell| escape_controls(&cell).into_owned()).collect());
    }

    /// Returns `true` if there is no row below the names of the columns.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// The lines of the table. On a terminal a table that is too wide loses digits of floats, then parts of text, then columns.
    pub(crate) fn print(&self, out: &mut Output) -> Result<()> {
        self.format_lines(terminal_columns()).iter().try_for_each(|line| out.write_line(line))
    }

    /// The lines of the table as [`TextTable::print`] prints them, each with its end.
    pub(crate) fn to_text(&self) -> String {
        self.format_lines(terminal_columns()).iter().map(|line| format!("{line}\n")).collect()
    }

    fn format_lines(&self, room: Option<usize>) -> Vec<String> {
        let fitted = self.fit(room);
        let line = |row: &Vec<String>| {
            let mut line = String::new();
            for ((column, cell), width) in row.iter().enumerate().zip(&fitted.widths) {
                let style = self.columns.get(column).copied().unwrap_or(ColumnStyle::Text);
                let cell = style.truncate(cell, *width);
                let fill = " ".repeat(width.saturating_sub(cell.chars().count()));
                if column > 0 {
                    line.push_str("  ");
                }
                let parts = if style == ColumnStyle::Number { [&fill, &*cell] } else { [&*cell, &fill] };
                parts.iter().for_each(|part| line.push_str(part));
            }
            line.trim_end().to_owned()
        };
        let mut lines: Vec<String> = fitted.rows.iter().map(line).collect();
        match self.columns.len() - fitted.widths.len() {
            0 => {}
            1 => lines.push("(1 more column)".to_owned()),
            count => lines.push(format!("({count} more columns)")),
        }
        lines
    }

    /// Fits the table into the room of a terminal.
    fn fit(&self, room: Option<usize>) -> FittedTable<'_> {
        let mut fitted = FittedTable { rows: Cow::Borrowed(&self.rows), widths: self.natural_widths(&self.rows) };
        let Some(room) = room else { return fitted };
        for digits in (MIN_FLOAT_DIGITS..=MAX_FLOAT_DIGITS).rev() {
            if total_width(&fitted.widths) <= room {
                return fitted;
            }
            let is_number = |column: usize| self.columns.get(column) == Some(&ColumnStyle::Number);
            let cell = |(column, cell): (usize, &String)| match is_number(column) {
                true => shorten_float(cell, digits).unwrap_or_else(|| cell.clone()),
                false => shorten_list(cell, digits).unwrap_or_else(|| cell.clone()),
            };
            let names = self.rows.iter().take(1).cloned();
            let rows = self.rows.iter().skip(1).map(|row| row.iter().enumerate().map(cell).collect());
            let rows: Vec<Vec<String>> = names.chain(rows).collect();
            fitted = FittedTable { widths: self.natural_widths(&rows), rows: Cow::Owned(rows) };
        }
        self.shrink_widths(&mut fitted.widths, room);
        while fitted.widths.len() > 1 && total_width(&fitted.widths) > room {
            fitted.widths.pop();
        }
        fitted
    }

    fn natural_widths(&self, rows: &[Vec<String>]) -> Vec<usize> {
        let widest = |column: usize| rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0);
        (0..self.columns.len()).map(widest).collect()
    }

    /// Takes from the widest columns of text what is more than there is room for. Numbers are never cut, and a column
    /// keeps the width of its name.
    fn shrink_widths(&self, widths: &mut [usize], room: usize) {
        const MIN_COLUMN_WIDTH: usize = 8;
        let named = |at: usize| self.rows.first().and_then(|names| names.get(at)).map_or(0, |name| name.chars().count());
        while total_width(widths) > room {
            let text = widths.iter_mut().enumerate().filter(|(at, _)| self.columns.get(*at) != Some(&ColumnStyle::Number));
            let Some((_, width)) =
                text.filter(|(at, width)| **width > named(*at).max(MIN_COLUMN_WIDTH)).max_by_key(|(_, width)| **width)
            else {
                return;
            };
            *width -= 1;
        }
    }
}

/// Digits that a float keeps if a terminal has no room for more.
const MIN_FLOAT_DIGITS: usize = 4;
/// Digits of a float that are tried first.
const MAX_FLOAT_DIGITS: usize = 9;

fn total_width(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
}

/// Returns a list of numbers whose floats have this number of digits; None for any other text.
fn shorten_list(cell: &str, digits: usize) -> Option<String> {
    let is_number = |word: &str| word.is_empty() || word.parse::<f64>().is_ok();
    let is_separator = |c: char| matches!(c, '[' | ']' | ',' | ' ');
    if !cell.starts_with('[') || !cell.split(is_separator).all(is_number) {
        return None;
    }
    let words = cell.split_inclusive(is_separator).map(|word| {
        let number = word.trim_end_matches(is_separator);
        shorten_float(number, digits).map_or_else(|| word.to_owned(), |short| word.replacen(number, &short, 1))
    });
    Some(words.collect())
}

/// Returns a float with this number of digits, if it has more; None for what is not a float. Digits before the point stay.
fn shorten_float(cell: &str, digits: usize) -> Option<String> {
    let value: f64 = cell.parse().ok().filter(|value: &f64| value.is_finite())?;
    if !cell.contains(['.', 'e', 'E']) {
        return None;
    }
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = scientific.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let short = if (-4..15).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        let text = format!("{value:.decimals$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    } else {
        format!("{}e{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.'))
    };
    (short.chars().count() < cell.chars().count()).then_some(short)
}

/// Returns the number of columns of the terminal that standard output is, or None if it is not a terminal, since other
/// programs need whole lines.
pub(crate) fn terminal_columns() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
}

/// The end of a text in N characters, `…` before it if it is longer.
fn truncate_start(text: &str, width: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= width {
        return text.into();
    }
    ['…'].into_iter().chain(text.chars().skip(count - width.saturating_sub(1))).collect::<String>().into()
}

/// The beginning of a text in N characters, `…` after it if it is longer.
pub(crate) fn truncate_end(text: &str, width: usize) -> Cow<'_, str> {
    match text.char_indices().nth(width) {
        None => text.into(),
        Some(_) => text.chars().take(width.saturating_sub(1)).chain(['…']).collect::<String>().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_narrows_to_available_width() {
        let mut table = TextTable::new(&["file", ">bytes", "what"]);
        table.push_row(vec!["archive/2026/observations/r0001.asdf".into(), "123456789".into(), "a text that says much".into()]);
        let widths = |room: usize| {
            let mut widths = vec![36, 9, 21];
            table.shrink_widths(&mut widths, room);
            widths
        };
        assert_eq!(widths(200), [36, 9, 21]);
        assert_eq!(widths(70), [36, 9, 21]);
        assert_eq!(widths(60), [26, 9, 21]);
        assert_eq!(widths(40).iter().sum::<usize>() + 4, 40);
        // Numbers and a little of each text stay, however small the terminal.
        assert_eq!(widths(5), [8, 9, 8]);
        assert_eq!(truncate_start("archive/r0001.asdf", 12), "…/r0001.asdf");
        assert_eq!(truncate_end("archive", 4), "arc…");
        for (text, width) in [("µµµµ", 4), ("µµµµ", 3), ("µ", 1), ("abc", 1), ("abc", 0), ("", 0)] {
            assert!(
                truncate_start(text, width).chars().count() <= width.max(1)
                    && truncate_end(text, width).chars().count() <= width.max(1)
            );
        }
    }

    #[test]
    fn narrow_table_drops_digits_before_text() {
        let mut table = TextTable::new(&["<file", "date", ">flux", ">n"]);
        let date = "2026-01-02T00:00:00";
        table.push_row(vec!["night/r0001.fits".into(), date.into(), "26605.298828125".into(), "123456789".into()]);
        let lines = |room| table.format_lines(Some(room)).join("\n");
        assert!(lines(80).contains("26605.298828125"));
        assert_eq!(lines(62).lines().nth(1), Some("night/r0001.fits  2026-01-02T00:00:00  26605.2988  123456789"));
        assert_eq!(lines(58).lines().nth(1), Some("night/r0001.fits  2026-01-02T00:00:00  26605.3  123456789"));
        // Text is cut at its end, paths at their beginning, integers never.
        assert_eq!(lines(45).lines().nth(1), Some("…t/r0001.fits  2026-01-02T…  26605  123456789"));
        for room in 30..80 {
            assert!(lines(room).lines().all(|line| line.chars().count() <= room), "{}", lines(room));
        }
        assert!(lines(30).ends_with("(1 more column)"), "{}", lines(30));
        for (cell, short) in
            [("1.5", None), ("-0.000012345678", Some("-1.235e-5")), ("1e300", None), ("123456.7", Some("123457"))]
        {
            assert_eq!(shorten_float(cell, 4).as_deref(), short, "{cell}");
        }
        assert_eq!(shorten_float("20260102", 4), None);
        for (cell, short) in [
            ("[53.400000000000006, -36.14]", Some("[53.4, -36.14]")),
            ("[[1.23456789, 2], [nan, 1e-9]]", Some("[[1.23457, 2], [nan, 1e-9]]")),
            ("[draft 1.23456789]", None),
            ("1.23456789", None),
        ] {
            assert_eq!(shorten_list(cell, 6).as_deref(), short, "{cell}");
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(escape_controls("a\u{1b}[31mb\u{202e}"), "a\\u{1b}[31mb\\u{202e}");
        assert_eq!(escape_controls("plain µ"), "plain µ");
        assert_eq!(escape_controls("a\nb: right\r\n\tc"), "a\\nb: right\\u{d}\\n\tc");
        assert_eq!(escape_controls_in_text("a\nb\u{9b}"), "a\nb\\u{9b}");
    }
}
