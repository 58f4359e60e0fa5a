//! netCDF-3 (CDF-1, CDF-2 and CDF-5), by the grammar of its format specification: everything is in one header.
//!
//! Variables are arrays at fixed places. Those whose first dimension is the record dimension are interleaved, a slab of each in
//! every record: such a variable is declared as structs, one a record, and `grid_member` names the member that it is. The
//! number of records may be unknown (all ones, written while the file grows); then the length of the file tells it.

use super::header_reader::HeaderReader;
use super::layout_text::{LayoutText, Said, integer, placed, shaped};
use super::netcdf_fill;
use crate::array::{Datatype, undeclared_text};
use crate::bytes::SourceRef;
use crate::error::{Context, Error, Result};
use crate::layout::{Attribute, COLUMN, Literal, MISSING, primitive_of};
use crate::limits::Limits;

/// The most dimensions that a variable may have.
const RANK: u64 = 1024;

/// Returns the datatype of a code of netCDF; characters are text.
fn datatype_of(code: u64, is_cdf5: bool) -> Option<Datatype> {
    Some(match code {
        1 => Datatype::Int8,
        2 => Datatype::Ascii(1),
        3 => Datatype::Int16,
        4 => Datatype::Int32,
        5 => Datatype::Float32,
        6 => Datatype::Float64,
        7 if is_cdf5 => Datatype::Uint8,
        8 if is_cdf5 => Datatype::Uint16,
        9 if is_cdf5 => Datatype::Uint32,
        10 if is_cdf5 => Datatype::Int64,
        11 if is_cdf5 => Datatype::Uint64,
        _ => return None,
    })
}

/// Returns the spelling of a datatype in a layout, with the byte order that every netCDF-3 file has.
fn spelled(datatype: &Datatype) -> Result<String> {
    let (name, _) = primitive_of(datatype)?.unwrap_or_default();
    Ok(if datatype.item_size() > 1 { format!(">{name}") } else { name.to_owned() })
}

/// A number of an attribute.
fn number(datatype: &Datatype, bytes: &[u8]) -> Literal {
    let bits = bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    match datatype {
        Datatype::Float32 => Literal::Float(f32::from_bits(bits as u32).into()),
        Datatype::Float64 => Literal::Float(f64::from_bits(bits)),
        Datatype::Int8 => Literal::Integer((bits as i8).into()),
        Datatype::Int16 => Literal::Integer((bits as i16).into()),
        Datatype::Int32 => Literal::Integer((bits as i32).into()),
        Datatype::Int64 => Literal::Integer(bits as i64),
        _ => integer(bits.into()),
    }
}

struct Dimension {
    name: String,
    /// 0 is the record dimension.
    length: u64,
}

struct Variable {
    name: String,
    dimensions: Vec<usize>,
    attributes: Vec<(String, Attribute)>,
    /// The names of those that are floats of 32 bits.
    typed: Vec<(String, Datatype)>,
    datatype: Datatype,
    begin: u64,
}

/// A header, read.
struct Cdf {
    /// Number of records; `None` if the header does not state it.
    records: Option<u64>,
    dimensions: Vec<Dimension>,
    attributes: Vec<(String, Attribute)>,
    variables: Vec<Variable>,
}

/// The places of the records.
struct Records {
    count: u64,
    /// Bytes from one record to the next.
    stride: u64,
    begin: u64,
    /// `true` if one variable has the records for itself: nothing is between them.
    is_alone: bool,
}

/// The layout of a netCDF-3 file.
pub(super) fn derive(source: &SourceRef, limits: &Limits) -> Result<String> {
    let cdf = Parser::new(source, limits)?.header()?;
    let records = cdf.all_records(source.len())?;
    let mut text = LayoutText::new("a netCDF-3 file", limits);
    for dimension in &cdf.dimensions {
        let length = if dimension.length == 0 { format!("{}, of records", records.count) } else { dimension.length.to_string() };
        text.comment(&format!("dimension {} = {length}", dimension.name))?;
    }
    for (name, value) in &cdf.attributes {
        text.own(name, Said(value.clone()))?;
    }
    for variable in &cdf.variables {
        cdf.declare(variable, &records, &mut text).doing(|| format!("variable {}", variable.name))?;
    }
    text.finish()
}

impl Cdf {
    fn dimensions(&self, variable: &Variable) -> impl Iterator<Item = &Dimension> {
        variable.dimensions.iter().filter_map(|at| self.dimensions.get(*at))
    }

    fn is_record(&self, variable: &Variable) -> bool {
        self.dimensions(variable).next().is_some_and(|first| first.length == 0)
    }

    /// The lengths of a variable without the record dimension.
    fn slab(&self, variable: &Variable) -> Vec<u64> {
        self.dimensions(variable).skip(usize::from(self.is_record(variable))).map(|dimension| dimension.length).collect()
    }

    /// Returns `true` if the last dimension of a variable of characters is the length of strings: no variable uses
    /// it otherwise.
    fn has_strings(&self, variable: &Variable) -> bool {
        let Some(last) = variable.dimensions.last() else { return false };
        // A record is no character, and a variable with the name of the dimension has its coordinates.
        let is_length = |of: &Dimension| of.length > 0 && self.variables.iter().all(|other| other.name != of.name);
        if !self.dimensions.get(*last).is_some_and(is_length) {
            return false;
        }
        self.variables.iter().filter(|other| other.dimensions.contains(last)).all(|other| {
            other.datatype.is_text() && other.dimensions.iter().position(|at| at == last) == other.dimensions.len().checked_sub(1)
        })
    }

    /// Bytes of a variable, or of a slab of it in one record.
    fn size(&self, variable: &Variable) -> Result<u64> {
        let size = variable.datatype.item_size();
        self.slab(variable)
            .iter()
            .try_fold(size, |size, length| size.checked_mul(*length))
            .ok_or_else(|| Error::malformed(format!("variable {} is larger than 2^64 bytes", variable.name)))
    }

    /// Returns the places of the records; `len` is the length of the file.
    fn all_records(&self, len: u64) -> Result<Records> {
        let of_records: Vec<&Variable> = self.variables.iter().filter(|variable| self.is_record(variable)).collect();
        let begin = of_records.iter().map(|variable| variable.begin).min().unwrap_or(0);
        let is_alone = of_records.len() == 1;
        let large = || Error::malformed("a record is larger than 2^64 bytes");
        let (mut stride, mut end) = (0u64, 0u64);
        for variable in of_records {
            let size = self.size(variable)?;
            let padded = if is_alone { Some(size) } else { size.checked_next_multiple_of(4) };
            stride = padded.and_then(|size| stride.checked_add(size)).ok_or_else(large)?;
            end = end.max((variable.begin - begin).checked_add(size).ok_or_else(large)?);
        }
        if end > stride {
            return Err(Error::malformed(format!(
                "the variables of a record take {end} bytes, but records are {stride} bytes apart"
            )));
        }
        let there = len.saturating_sub(begin);
        // The padding of the last record may be missing.
        let counted = || if there < end || stride == 0 { 0 } else { (there - end) / stride + 1 };
        Ok(Records { count: self.records.unwrap_or_else(counted), stride, begin, is_alone })
    }

    fn declare(&self, variable: &Variable, records: &Records, text: &mut LayoutText) -> Result<()> {
        let mut names: Vec<&str> = self.dimensions(variable).map(|dimension| dimension.name.as_str()).collect();
        let (is_record, typed) = (self.is_record(variable), spelled(&variable.datatype)?);
        let (mut lengths, mut chars) = (self.slab(variable), None);
        if variable.datatype.is_text() {
            // Each element is a string: of one character, or as long as the last dimension.
            if self.has_strings(variable) {
                chars = names.pop();
            } else {
                lengths.push(1);
            }
        }
        if is_record && !records.is_alone && records.count > 0 {
            let (slab, at) = (shaped(&lengths), variable.begin - records.begin);
            let size = self.size(variable)?;
            // A last byte makes each struct as long as a record.
            let rest = match at + size < records.stride {
                true => format!("  record = u1 @{}", records.stride - 1),
                false => String::new(),
            };
            let member = format!("{{data = {typed}{slab} @{at}{rest}}}[{}] @{}", records.count, records.begin);
            text.item(&variable.name, &member)?;
        } else {
            if is_record {
                lengths.insert(0, records.count);
            }
            text.item(&variable.name, &placed(&format!("{typed}{}", shaped(&lengths)), variable.begin))?;
        }
        for (name, value) in &variable.attributes {
            text.own(name, Said(value.clone()))?;
        }
        if is_record && !records.is_alone && records.count > 0 {
            text.attribute(COLUMN, "data")?;
        }
        if let Some(fill) = netcdf_fill::fill_value(&variable.datatype) {
            text.attribute(MISSING, fill)?;
        }
        text.factors(variable.typed.iter().map(|(name, typed)| (name.as_str(), typed.clone())))?;
        if let Some(chars) = chars {
            text.attribute("grid_chars", chars)?;
        }
        if is_record {
            text.attribute("grid_unlimited", texts(names.get(..1).unwrap_or(&[])))?;
        }
        if names.is_empty() { Ok(()) } else { text.attribute("grid_dims", texts(&names)) }
    }
}

fn texts(names: &[&str]) -> Vec<Literal> {
    names.iter().map(|name| Literal::Text((*name).to_owned())).collect()
}

/// Reads a header.
struct Parser<'s> {
    header: HeaderReader<'s>,
    is_cdf5: bool,
    /// Bytes of a count or a length, and of an address.
    word: u64,
    address: u64,
}

impl<'s> Parser<'s> {
    fn new(source: &'s SourceRef, limits: &'s Limits) -> Result<Self> {
        let mut header = HeaderReader::at(&**source, 0, limits);
        let (word, address) = match header.take(4)? {
            b"CDF\x01" => (4, 4),
            b"CDF\x02" => (4, 8),
            b"CDF\x05" => (8, 8),
            _ => return Err(Error::malformed("not a netCDF-3 file: it does not begin with CDF and 1, 2 or 5").at_byte(0)),
        };
        Ok(Self { header, is_cdf5: word == 8, word, address })
    }

    /// header = magic numrecs dim_list gatt_list var_list
    fn header(mut self) -> Result<Cdf> {
        let unknown = if self.is_cdf5 { u64::MAX } else { u32::MAX.into() };
        let records = Some(self.number()?).filter(|count| *count != unknown);
        let mut dimensions = Vec::new();
        for _ in 0..self.list(10, 8, "dimensions")? {
            dimensions.push(Dimension { name: self.name()?, length: self.number()? });
        }
        let attributes = self.attributes(&mut Vec::new())?;
        let mut variables = Vec::new();
        for _ in 0..self.list(11, 28, "variables")? {
            let variable = self.variable(&dimensions)?;
            variables.push(variable);
        }
        Ok(Cdf { records, dimensions, attributes, variables })
    }

    fn number(&mut self) -> Result<u64> {
        self.header.big(self.word)
    }

    /// The number of things in a list that has this tag; 0 if it is absent.
    fn list(&mut self, tag: u64, least: u64, what: &str) -> Result<usize> {
        let at = self.header.position();
        let found = self.header.big(4)?;
        let count = self.number()?;
        match found {
            0 if count == 0 => Ok(0),
            _ if found == tag => self.header.count(count, least, what),
            _ => Err(Error::malformed(format!("expected the list of {what}, tag {tag}, found tag {found}")).at_byte(at)),
        }
    }

    /// Bytes, and what fills them up to a multiple of four.
    fn padded(&mut self, len: u64) -> Result<Vec<u8>> {
        let bytes = self.header.take(len)?.to_vec();
        // The last bytes of a header need not be there.
        let padding = len.next_multiple_of(4) - len;
        self.header.skip(padding.min(self.header.left()))?;
        Ok(bytes)
    }

    fn name(&mut self) -> Result<String> {
        let len = self.number()?;
        let len = self.header.count(len, 1, "bytes of a name")? as u64;
        let name = self.padded(len)?;
        // Some writers include the padding in the length of a name.
        let end = name.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        Ok(undeclared_text(name.get(..end).unwrap_or(&name)))
    }

    fn datatype(&mut self) -> Result<Datatype> {
        let at = self.header.position();
        let code = self.header.big(4)?;
        datatype_of(code, self.is_cdf5)
            .ok_or_else(|| Error::malformed(format!("data type {code} is not one of netCDF-3")).at_byte(at))
    }

    /// Attributes, and the datatypes of those that are numbers.
    fn attributes(&mut self, typed: &mut Vec<(String, Datatype)>) -> Result<Vec<(String, Attribute)>> {
        let mut attributes = Vec::new();
        for _ in 0..self.list(12, 12, "attributes")? {
            let (name, datatype, count) = (self.name()?, self.datatype()?, self.number()?);
            let size = datatype.item_size();
            let count = self.header.count(count, size, "values of an attribute")? as u64;
            let bytes = self.padded(count * size)?;
            attributes.push((name.clone(), value(&datatype, &bytes)));
            typed.extend((!datatype.is_text()).then_some((name, datatype)));
        }
        Ok(attributes)
    }

    fn variable(&mut self, dimensions: &[Dimension]) -> Result<Variable> {
        let name = self.name()?;
        let rank = self.number()?;
        if rank > RANK {
            return Err(Error::malformed(format!("variable {name} has {rank} dimensions, at most {RANK} are possible")));
        }
        let mut numbers = Vec::new();
        for place in 0..rank {
            let at = self.header.position();
            let number = self.number()?;
            let known = usize::try_from(number).ok().and_then(|number| Some((number, dimensions.get(number)?)));
            match known {
                Some((_, dimension)) if dimension.length == 0 && place > 0 => {
                    return Err(
                        Error::malformed(format!("the record dimension is not the first one of variable {name}")).at_byte(at)
                    );
                }
                Some((number, _)) => numbers.push(number),
                None => {
                    return Err(Error::malformed(format!("dimension {number} of variable {name} is not declared")).at_byte(at));
                }
            }
        }
        let mut typed = Vec::new();
        let (attributes, datatype) = (self.attributes(&mut typed)?, self.datatype()?);
        // The size is redundant, and wrong where it does not fit: it follows from the shape.
        self.number()?;
        Ok(Variable { name, dimensions: numbers, attributes, typed, datatype, begin: self.header.big(self.address)? })
    }
}

/// An attribute: one value or several.
fn value(datatype: &Datatype, bytes: &[u8]) -> Attribute {
    if datatype.is_text() {
        return Said::from(undeclared_text(bytes).trim_end_matches('\0')).0;
    }
    let mut values: Vec<Literal> =
        bytes.chunks_exact(datatype.item_size() as usize).map(|bytes| number(datatype, bytes)).collect();
    match values.pop() {
        Some(only) if values.is_empty() => Attribute::Value(only),
        Some(last) => {
            values.push(last);
            Attribute::List(values)
        }
        None => Attribute::Value(Literal::Text(String::new())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bytes::MemorySource;

    /// A file of CDF-1 with two record variables of two records, and one that is fixed.
    fn file() -> Vec<u8> {
        let mut out = b"CDF\x01\0\0\0\x02".to_vec();
        let word = |out: &mut Vec<u8>, numbers: &[u32]| out.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        let name = |out: &mut Vec<u8>, name: &str| {
            out.extend((name.len() as u32).to_be_bytes());
            out.extend(name.as_bytes());
            out.resize(out.len().next_multiple_of(4), 0);
        };
        word(&mut out, &[10, 2]);
        name(&mut out, "time");
        word(&mut out, &[0]);
        name(&mut out, "x");
        word(&mut out, &[3, 12, 1]);
        name(&mut out, "title");
        word(&mut out, &[2, 2]);
        out.extend(b"ab\0\0");
        word(&mut out, &[11, 3]);
        let data = out.len() as u32 + 112;
        for (called, dims, kind, size, begin) in
            [("a", &[1u32][..], 3, 8, data), ("b", &[0, 1][..], 3, 8, data + 8), ("c", &[0][..], 1, 4, data + 16)]
        {
            name(&mut out, called);
            word(&mut out, &[dims.len() as u32]);
            word(&mut out, dims);
            word(&mut out, &[0, 0, kind, size, begin]);
        }
        out.resize(data as usize, 0);
        out.extend(0..8 + 24u8);
        out
    }

    fn text(bytes: Vec<u8>) -> Result<String> {
        derive(&(Arc::new(MemorySource::new(bytes, "x.nc")) as SourceRef), &Limits::default())
    }

    #[test]
    fn record_variables_are_members_of_records() {
        let bytes = file();
        let data = bytes.len() - 32;
        let said = text(bytes).unwrap();
        let records = data + 8;
        for line in [
            format!("a = >i2[3] @{data}\n"),
            format!("b = {{data = >i2[3] @0  record = u1 @11}}[2] @{records}\n"),
            format!("c = {{data = i1 @8  record = u1 @11}}[2] @{records}\n"),
            "#: title=\"ab\"\n".to_owned(),
        ] {
            assert!(said.contains(&line), "{line}{said}");
        }
    }

    #[test]
    fn no_cut_or_flipped_file_panics() {
        super::super::harmed(&file(), |bytes| drop(text(bytes)));
    }
}
