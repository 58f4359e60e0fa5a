//! The end of a PDB file: the chart of types, the table of symbols, and what follows them.

use std::collections::HashMap;

use super::formats::PrimitiveFormats;
use crate::array::undeclared_text;
use crate::bytes::{SourceRef, read_vec};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// A row of the chart: a primitive has no members.
pub(super) struct ChartRow {
    pub name: String,
    pub size: u64,
    pub members: Vec<String>,
}

pub(super) struct Symbol {
    pub name: String,
    pub datatype: String,
    pub count: u64,
    pub address: u64,
    /// The dimensions in the order of the file, which may be fastest first.
    pub dims: Vec<u64>,
}

/// A primitive beyond those of C.
pub(super) struct Primitive {
    pub size: u64,
    pub align: u64,
    pub is_big: bool,
    /// `true` if it is a whole number in the default order.
    pub is_whole: bool,
}

pub(super) struct PdbTables {
    pub chart: Vec<ChartRow>,
    pub symbols: Vec<Symbol>,
    pub primitives: HashMap<String, Primitive>,
    pub blocks: HashMap<String, Vec<(u64, u64)>>,
    /// Alignments of char, pointer, short, integer, long, float and double, in this order.
    pub alignment: [u64; 7],
    pub struct_alignment: u64,
    pub is_column_major: bool,
}

impl PdbTables {
    /// Reads what is from the chart to the end of the file.
    pub(super) fn read(source: &SourceRef, formats: &PrimitiveFormats, limits: &Limits) -> Result<Self> {
        let (chart, symbols, end) = (formats.chart, formats.symbols, source.len());
        if chart > symbols || symbols > end {
            let message = format!("its chart is at byte {chart} and its symbols at byte {symbols}, but the file has {end} bytes");
            return Err(Error::malformed(message));
        }
        if end - chart > limits.text {
            return Err(Limits::exceeded_error(
                "text",
                limits.text,
                format_args!("the tables of the file have {} bytes", end - chart),
            ));
        }
        let bytes = read_vec(&**source, chart, end - chart, limits)?;
        let (chart, symbols) = bytes.split_at_checked((symbols - chart) as usize).unwrap_or((bytes.as_slice(), &[]));
        let mut lines = symbols.split(|byte| *byte == b'\n');
        let mut tables = Self {
            chart: parse_chart_rows(chart)?,
            symbols: Vec::new(),
            primitives: HashMap::new(),
            blocks: HashMap::new(),
            alignment: [1; 7],
            struct_alignment: 0,
            is_column_major: false,
        };
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            tables.symbols.push(parse_symbol(line)?);
            if tables.symbols.len() as u64 > limits.items {
                return Err(Limits::exceeded_error("items", limits.items, "the file has more symbols"));
            }
        }
        tables.parse_extras(&mut lines)?;
        Ok(tables)
    }

    /// Reads the entries after the symbols: `NAME:value`, or `NAME:` and lines up to one that is the byte 2.
    fn parse_extras<'l>(&mut self, lines: &mut impl Iterator<Item = &'l [u8]>) -> Result<()> {
        while let Some(line) = lines.next() {
            let mut parts = line.splitn(2, |byte| *byte == b':');
            let (name, value) = (parts.next().unwrap_or(&[]), parts.next().unwrap_or(&[]));
            let number = || undeclared_text(value).trim().parse::<u64>().unwrap_or(0);
            match name {
                b"Alignment" => {
                    for (known, byte) in self.alignment.iter_mut().zip(value) {
                        *known = u64::from(*byte).max(1);
                    }
                }
                b"Struct-Alignment" | b"Struct-Align" => self.struct_alignment = self.struct_alignment.max(number()),
                b"Major-Order" => self.is_column_major = number() == 102,
                b"Blocks" => {
                    for line in lines.by_ref().take_while(|line| *line != [2]) {
                        let (name, blocks) = parse_symbol_blocks(line)?;
                        self.blocks.insert(name, blocks);
                    }
                }
                b"Primitive-Types" => {
                    for line in lines.by_ref().take_while(|line| *line != [2]) {
                        let (name, primitive) = parse_primitive_type(line)?;
                        self.primitives.insert(name, primitive);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The fields of a line, which the byte 1 ends.
fn split_fields(line: &[u8]) -> Vec<String> {
    let mut fields: Vec<String> = line.split(|byte| *byte == 1).map(undeclared_text).collect();
    if fields.last().is_some_and(String::is_empty) {
        fields.pop();
    }
    fields
}

fn parse_number_field(field: Option<&String>, what: &str) -> Result<u64> {
    let found = field.map_or("", String::as_str);
    found.trim().parse().map_err(|_| Error::malformed(format!("expected {what}, a number, found {found:?}")))
}

fn parse_chart_rows(chart: &[u8]) -> Result<Vec<ChartRow>> {
    let lines = chart.split(|byte| *byte == b'\n').take_while(|line| *line != [2]).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let mut fields = split_fields(line);
            let size = parse_number_field(fields.get(1), "the size of a type")?;
            let members = fields.split_off(2.min(fields.len()));
            Ok(ChartRow { name: fields.swap_remove(0), size, members })
        })
        .collect()
}

fn parse_symbol(line: &[u8]) -> Result<Symbol> {
    let fields = split_fields(line);
    let count = parse_number_field(fields.get(2), "the number of elements of a symbol")?;
    let address = parse_number_field(fields.get(3), "the address of a symbol")?;
    let dims = fields.get(4..).unwrap_or(&[]);
    // Pairs of the lowest index and the length.
    let dims: Vec<u64> =
        dims.chunks(2).map(|pair| parse_number_field(pair.get(1), "the length of a dimension")).collect::<Result<_>>()?;
    let product = dims.iter().try_fold(1u64, |product, length| product.checked_mul(*length));
    let (Some(name), Some(datatype)) = (fields.first().cloned(), fields.get(1).cloned()) else {
        return Err(Error::malformed("a symbol without name and type"));
    };
    if product != Some(count) {
        return Err(Error::malformed(format!("{name} has {count} elements, but its dimensions are {dims:?}")));
    }
    Ok(Symbol { name, datatype, count, address, dims })
}

/// `NAME 1 COUNT ADDRESS ELEMENTS ADDRESS ELEMENTS …`
fn parse_symbol_blocks(line: &[u8]) -> Result<(String, Vec<(u64, u64)>)> {
    let fields = split_fields(line);
    let words: Vec<String> =
        fields.get(1..).unwrap_or(&[]).iter().flat_map(|field| field.split(' ')).map(str::to_owned).collect();
    let pairs = words.get(1..).unwrap_or(&[]).chunks(2);
    let pairs = pairs.map(|pair| {
        Ok((
            parse_number_field(pair.first(), "the address of a block")?,
            parse_number_field(pair.get(1), "the length of a block")?,
        ))
    });
    Ok((fields.first().cloned().unwrap_or_default(), pairs.collect::<Result<_>>()?))
}

/// `NAME 1 SIZE 1 ALIGNMENT 1 ORDER 1 DEFORDER 1 FIX`
fn parse_primitive_type(line: &[u8]) -> Result<(String, Primitive)> {
    let fields = split_fields(line);
    let (size, align) =
        (parse_number_field(fields.get(1), "the size of a type")?, parse_number_field(fields.get(2), "the alignment of a type")?);
    let is = |at: usize, word: &str| fields.get(at).is_some_and(|field| field == word);
    let primitive = Primitive { size, align: align.max(1), is_big: is(3, "1"), is_whole: is(4, "DEFORDER") && is(5, "FIX") };
    Ok((fields.first().cloned().unwrap_or_default(), primitive))
}
