//! netCDF-3 (CDF-1, CDF-2 and CDF-5), by the grammar of its format specification: everything is in one header.
//!
//! Variables are arrays at fixed places. Those whose first dimension is the record dimension are interleaved, a slab of each in
//! every record: such a variable is declared as structs, one a record, and an attribute names the member that it is. The
//! number of records may be unknown (all ones, written while the file grows); then the length of the file tells it.

use std::collections::HashSet;

use super::header_reader::HeaderReader;
use super::netcdf_fill;
use crate::array::{Datatype, undeclared_text};
use crate::bytes::SourceRef;
use crate::error::{Error, Result, ResultExt};
use crate::layout::{
    Attribute, AttributeType, Layout, LayoutBuilder, LayoutLiteral, NoteValue, StorageField, TypeSpec, integer_literal,
    primitive_of,
};
use crate::limits::Limits;

/// The most dimensions that a variable may have.
const MAX_RANK: u64 = 1024;

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
fn layout_type(datatype: &Datatype) -> Result<TypeSpec> {
    let (name, _) = primitive_of(datatype)?.unwrap_or_default();
    Ok(if datatype.item_size() > 1 { TypeSpec::from_name(&format!(">{name}")) } else { TypeSpec::from_name(name) })
}

/// A number of an attribute.
fn read_count(datatype: &Datatype, bytes: &[u8]) -> LayoutLiteral {
    let bits = bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    match datatype {
        Datatype::Float32 => LayoutLiteral::Float(f32::from_bits(bits as u32).into()),
        Datatype::Float64 => LayoutLiteral::Float(f64::from_bits(bits)),
        Datatype::Int8 => LayoutLiteral::Integer((bits as i8).into()),
        Datatype::Int16 => LayoutLiteral::Integer((bits as i16).into()),
        Datatype::Int32 => LayoutLiteral::Integer((bits as i32).into()),
        Datatype::Int64 => LayoutLiteral::Integer(bits as i64),
        _ => integer_literal(bits),
    }
}

struct Dimension {
    name: String,
    /// 0 is the record dimension.
    length: u64,
}

/// An attribute with its datatype.
struct CdfAttribute {
    name: String,
    value: Attribute,
    datatype: Datatype,
}

struct Variable {
    name: String,
    dimensions: Vec<usize>,
    attributes: Vec<CdfAttribute>,
    datatype: Datatype,
    offset: u64,
}

/// A header, read.
struct CdfHeader {
    /// Number of records; `None` if the header does not state it.
    records: Option<u64>,
    dimensions: Vec<Dimension>,
    attributes: Vec<CdfAttribute>,
    variables: Vec<Variable>,
}

/// The places of the records.
struct RecordLayout {
    count: u64,
    /// Bytes from one record to the next.
    stride: u64,
    begin: u64,
    /// `true` if one variable has the records for itself: nothing is between them.
    is_unpadded: bool,
}

/// The layout of a netCDF-3 file.
pub(super) fn derive_layout(source: &SourceRef, limits: &Limits) -> Result<Layout> {
    let cdf = CdfParser::new(source, limits)?.read_header()?;
    let records = cdf.all_records(source.len())?;
    let mut builder = LayoutBuilder::new("a netCDF-3 file", limits);
    for dimension in &cdf.dimensions {
        let length = if dimension.length == 0 { format!("{}, of records", records.count) } else { dimension.length.to_string() };
        builder.write_comment_lines(&format!("dimension {} = {length}", dimension.name))?;
    }
    write_attributes(&cdf.attributes, None, &mut builder)?;
    let mut coordinates: HashSet<(&str, usize)> = HashSet::new();
    for variable in &cdf.variables {
        coordinates.extend(variable.dimensions.iter().map(|number| (variable.name.as_str(), *number)));
    }
    for (number, dimension) in cdf.dimensions.iter().enumerate() {
        if !coordinates.contains(&(dimension.name.as_str(), number)) {
            let length = if dimension.length == 0 { records.count } else { dimension.length };
            builder.write_parameter(&dimension.name, length)?;
        }
    }
    for variable in &cdf.variables {
        cdf.declare_variable(variable, &records, &mut builder).with_context(|| format!("variable {}", variable.name))?;
    }
    Ok(builder.finish())
}

impl CdfHeader {
    fn variable_dimensions(&self, variable: &Variable) -> impl Iterator<Item = &Dimension> {
        variable.dimensions.iter().filter_map(|at| self.dimensions.get(*at))
    }

    fn is_record(&self, variable: &Variable) -> bool {
        self.variable_dimensions(variable).next().is_some_and(|first| first.length == 0)
    }

    /// The lengths of a variable without the record dimension.
    fn slab_lengths(&self, variable: &Variable) -> Vec<u64> {
        self.variable_dimensions(variable).skip(usize::from(self.is_record(variable))).map(|dimension| dimension.length).collect()
    }

    /// Returns `true` if the last dimension of a variable of characters is the length of strings: no variable uses
    /// it otherwise.
    fn has_strings(&self, variable: &Variable) -> bool {
        let Some(last) = variable.dimensions.last() else { return false };
        // A record is not a character, and a variable with the name of the dimension has its coordinates.
        let is_length = |of: &Dimension| of.length > 0 && self.variables.iter().all(|other| other.name != of.name);
        if !self.dimensions.get(*last).is_some_and(is_length) {
            return false;
        }
        self.variables.iter().filter(|other| other.dimensions.contains(last)).all(|other| {
            other.datatype.is_text() && other.dimensions.iter().position(|at| at == last) == other.dimensions.len().checked_sub(1)
        })
    }

    /// Bytes of a variable, or of a slab of it in one record.
    fn slab_size(&self, variable: &Variable) -> Result<u64> {
        let size = variable.datatype.item_size();
        self.slab_lengths(variable)
            .iter()
            .try_fold(size, |size, length| size.checked_mul(*length))
            .ok_or_else(|| Error::malformed(format!("variable {} is larger than 2^64 bytes", variable.name)))
    }

    /// Returns the places of the records; `len` is the length of the file.
    fn all_records(&self, len: u64) -> Result<RecordLayout> {
        let of_records: Vec<&Variable> = self.variables.iter().filter(|variable| self.is_record(variable)).collect();
        let begin = of_records.iter().map(|variable| variable.offset).min().unwrap_or(0);
        let is_alone = of_records.len() == 1;
        let large = || Error::malformed("a record is larger than 2^64 bytes");
        let (mut stride, mut end) = (0u64, 0u64);
        for variable in of_records {
            let size = self.slab_size(variable)?;
            let padded = if is_alone { Some(size) } else { size.checked_next_multiple_of(4) };
            stride = padded.and_then(|size| stride.checked_add(size)).ok_or_else(large)?;
            end = end.max((variable.offset - begin).checked_add(size).ok_or_else(large)?);
        }
        if end > stride {
            return Err(Error::malformed(format!(
                "the variables of a record take {end} bytes, but records are {stride} bytes apart"
            )));
        }
        let there = len.saturating_sub(begin);
        // The padding of the last record may be missing.
        let counted = || if there < end || stride == 0 { 0 } else { (there - end) / stride + 1 };
        Ok(RecordLayout { count: self.records.unwrap_or_else(counted), stride, begin, is_unpadded: is_alone })
    }

    fn declare_variable(&self, variable: &Variable, records: &RecordLayout, builder: &mut LayoutBuilder) -> Result<()> {
        let mut names: Vec<&str> = self.variable_dimensions(variable).map(|dimension| dimension.name.as_str()).collect();
        let (is_record, typed) = (self.is_record(variable), layout_type(&variable.datatype)?);
        let (mut lengths, mut chars) = (self.slab_lengths(variable), None);
        if variable.datatype.is_text() {
            // Each element is a string: of one character, or as long as the last dimension.
            if self.has_strings(variable) {
                chars = names.pop();
            } else {
                lengths.push(1);
            }
        }
        if is_record && !records.is_unpadded && records.count > 0 {
            let at = variable.offset - records.begin;
            let size = self.slab_size(variable)?;
            let mut members = vec![typed.with_shape(lengths).with_offset(at).into_member("data")];
            if at + size < records.stride {
                // A last byte makes each struct as long as a record.
                members
                    .push(TypeSpec::from_name("u1").with_shape(Vec::new()).with_offset(records.stride - 1).into_member("record"));
            }
            let whole = TypeSpec::Struct(members).with_shape(vec![records.count]).with_offset(records.begin);
            builder.write_item(&variable.name, &whole)?;
        } else {
            if is_record {
                lengths.insert(0, records.count);
            }
            builder.write_item(&variable.name, &typed.with_shape(lengths).with_offset(variable.offset))?;
        }
        write_attributes(&variable.attributes, Some(&variable.datatype), builder)?;
        if is_record && !records.is_unpadded && records.count > 0 {
            builder.write_field(StorageField::Column("data".to_owned()))?;
        }
        if let Some(fill) = netcdf_fill::fill_value(&variable.datatype) {
            builder.write_library_fill(fill)?;
        }
        if let Some(chars) = chars {
            builder.write_field(StorageField::StringAxis(chars.to_owned()))?;
        }
        if is_record {
            builder.write_unlimited_dims(names.iter().take(1).copied())?;
        }
        if names.is_empty() { Ok(()) } else { builder.write_dims(names) }
    }
}

/// Writes attributes, those of a variable with the datatype of its elements.
fn write_attributes(attributes: &[CdfAttribute], elements: Option<&Datatype>, builder: &mut LayoutBuilder) -> Result<()> {
    for CdfAttribute { name, value, datatype } in attributes {
        builder.file_attribute(name, NoteValue(value.clone()))?;
        if !datatype.is_text() {
            builder.write_attribute_types(elements, std::iter::once((name.as_str(), AttributeType::Number(datatype))))?;
        }
    }
    Ok(())
}

/// Reads a header.
struct CdfParser<'s> {
    header: HeaderReader<'s>,
    is_cdf5: bool,
    /// Bytes of a count or a length, and of an address.
    count_size: u64,
    offset_size: u64,
}

impl<'s> CdfParser<'s> {
    fn new(source: &'s SourceRef, limits: &'s Limits) -> Result<Self> {
        let mut header = HeaderReader::from_offset(&**source, 0, limits);
        let (word, address) = match header.take_bytes(4)? {
            b"CDF\x01" => (4, 4),
            b"CDF\x02" => (4, 8),
            b"CDF\x05" => (8, 8),
            _ => return Err(Error::malformed("not a netCDF-3 file: it does not begin with CDF and 1, 2 or 5").at_byte(0)),
        };
        Ok(Self { header, is_cdf5: word == 8, count_size: word, offset_size: address })
    }

    /// header = magic numrecs dim_list gatt_list var_list
    fn read_header(mut self) -> Result<CdfHeader> {
        let unknown = if self.is_cdf5 { u64::MAX } else { u32::MAX.into() };
        let records = Some(self.read_count()?).filter(|count| *count != unknown);
        let mut dimensions = Vec::new();
        for _ in 0..self.list_len(10, 8, "dimensions")? {
            dimensions.push(Dimension { name: self.read_name()?, length: self.read_count()? });
        }
        let attributes = self.read_attributes()?;
        let mut variables = Vec::new();
        for _ in 0..self.list_len(11, 28, "variables")? {
            let variable = self.read_variable(&dimensions)?;
            variables.push(variable);
        }
        Ok(CdfHeader { records, dimensions, attributes, variables })
    }

    fn read_count(&mut self) -> Result<u64> {
        self.header.read_be(self.count_size)
    }

    /// The number of things in a list that has this tag; 0 if it is absent.
    fn list_len(&mut self, tag: u64, least: u64, what: &str) -> Result<usize> {
        let at = self.header.position();
        let found = self.header.read_be(4)?;
        let count = self.read_count()?;
        match found {
            0 if count == 0 => Ok(0),
            _ if found == tag => self.header.check_count(count, least, what),
            _ => Err(Error::malformed(format!("expected the list of {what}, tag {tag}, found tag {found}")).at_byte(at)),
        }
    }

    /// Bytes, and what fills them up to a multiple of four.
    fn read_padded_bytes(&mut self, len: u64) -> Result<Vec<u8>> {
        let bytes = self.header.take_bytes(len)?.to_vec();
        // The last bytes of a header need not be there.
        let padding = len.next_multiple_of(4) - len;
        self.header.skip(padding.min(self.header.remaining()))?;
        Ok(bytes)
    }

    fn read_name(&mut self) -> Result<String> {
        let len = self.read_count()?;
        let len = self.header.check_count(len, 1, "bytes of a name")? as u64;
        let name = self.read_padded_bytes(len)?;
        // Some writers include the padding in the length of a name.
        let end = name.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        Ok(undeclared_text(name.get(..end).unwrap_or(&name)))
    }

    fn read_datatype(&mut self) -> Result<Datatype> {
        let at = self.header.position();
        let code = self.header.read_be(4)?;
        datatype_of(code, self.is_cdf5)
            .ok_or_else(|| Error::malformed(format!("data type {code} is not one of netCDF-3")).at_byte(at))
    }

    fn read_attributes(&mut self) -> Result<Vec<CdfAttribute>> {
        let mut attributes = Vec::new();
        for _ in 0..self.list_len(12, 12, "attributes")? {
            let (name, datatype, count) = (self.read_name()?, self.read_datatype()?, self.read_count()?);
            let size = datatype.item_size();
            let count = self.header.check_count(count, size, "values of an attribute")? as u64;
            let bytes = self.read_padded_bytes(count * size)?;
            attributes.push(CdfAttribute { name, value: decode_attribute(&datatype, &bytes), datatype });
        }
        Ok(attributes)
    }

    fn read_variable(&mut self, dimensions: &[Dimension]) -> Result<Variable> {
        let name = self.read_name()?;
        let rank = self.read_count()?;
        if rank > MAX_RANK {
            return Err(Error::malformed(format!("variable {name} has {rank} dimensions, at most {MAX_RANK} are possible")));
        }
        let mut numbers = Vec::new();
        for place in 0..rank {
            let at = self.header.position();
            let number = self.read_count()?;
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
        let (attributes, datatype) = (self.read_attributes()?, self.read_datatype()?);
        // The size is redundant, and wrong where it does not fit: it follows from the shape.
        self.read_count()?;
        Ok(Variable { name, dimensions: numbers, attributes, datatype, offset: self.header.read_be(self.offset_size)? })
    }
}

/// An attribute: one value or several.
fn decode_attribute(datatype: &Datatype, bytes: &[u8]) -> Attribute {
    if datatype.is_text() {
        return NoteValue::from(undeclared_text(bytes).trim_end_matches('\0')).0;
    }
    let mut values: Vec<LayoutLiteral> =
        bytes.chunks_exact(datatype.item_size() as usize).map(|bytes| read_count(datatype, bytes)).collect();
    match values.pop() {
        Some(only) if values.is_empty() => Attribute::Value(only),
        Some(last) => {
            values.push(last);
            Attribute::List(values)
        }
        None => Attribute::Value(LayoutLiteral::Text(String::new())),
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
        let layout = derive_layout(&(Arc::new(MemorySource::new(bytes, "x.nc")) as SourceRef), &Limits::default())?;
        Ok(layout.text().to_owned())
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
