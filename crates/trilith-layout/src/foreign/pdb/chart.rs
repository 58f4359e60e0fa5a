//! The types of a PDB file, as a layout has them.

use std::collections::HashMap;

use super::formats::{CType, PrimitiveFormats, integer_format};
use super::tables::PdbTables;
use super::{LayoutBuilder, shape_of};
use crate::error::{Error, Result};
use crate::layout::{Dialect, ItemSpec, PADDING_NAME, Primitive, TypeSpec};
use crate::limits::Limits;

/// A type of the file.
pub(super) struct PdbType {
    pub typed: TypeSpec,
    pub size: u64,
    pub align: u64,
    /// Number of bytes of an element, which is the last dimension; set if layouts have no such datatype.
    pub bytes: Option<u64>,
    /// The name in the file, if the layout does not have it.
    pub named: Option<String>,
    pub members: Vec<Member>,
}

/// A member of a struct.
pub(super) struct Member {
    pub name: String,
    pub datatype: String,
    pub offset: u64,
    pub dims: Vec<u64>,
}

/// All types that were declared.
pub(super) struct TypeTable<'f> {
    formats: &'f PrimitiveFormats,
    tables: &'f PdbTables,
    known: HashMap<String, Option<PdbType>>,
    rows: HashMap<&'f str, usize>,
}

impl<'f> TypeTable<'f> {
    pub(super) fn new(formats: &'f PrimitiveFormats, tables: &'f PdbTables) -> Self {
        let rows = tables.chart.iter().enumerate().map(|(at, row)| (row.name.as_str(), at)).collect();
        Self { formats, tables, known: HashMap::new(), rows }
    }

    /// A type that was declared.
    pub(super) fn get(&self, name: &str) -> Result<&PdbType> {
        let known = self.known.get(name).and_then(Option::as_ref);
        known.ok_or_else(|| Error::malformed(format!("type {name:?} is not in the chart of the file")))
    }

    /// The name of a type by its number in the chart.
    pub(super) fn name_by_index(&self, number: u64) -> Option<&'f str> {
        let row = self.tables.chart.get(usize::try_from(number).ok()?)?;
        Some(row.name.as_str())
    }

    /// Declares a type in the layout, those of its members first.
    pub(super) fn declare_type(&mut self, name: &str, builder: &mut LayoutBuilder, depth: usize, limits: &Limits) -> Result<()> {
        limits.charge_depth(depth, "a struct")?;
        match self.known.get(name) {
            Some(Some(_)) => return Ok(()),
            Some(None) => return Err(Error::malformed(format!("struct {name:?} is a member of itself"))),
            None => {}
        }
        if let Some(simple) = self.primitive_type(name)? {
            self.known.insert(name.to_owned(), Some(simple));
            return Ok(());
        }
        let tables = self.tables;
        let row = self.rows.get(name).and_then(|at| tables.chart.get(*at)).filter(|row| !row.members.is_empty());
        let row = row.ok_or_else(|| Error::malformed(format!("type {name:?} is not in the chart of the file")))?;
        self.known.insert(name.to_owned(), None);
        let mut members = Vec::new();
        let (mut end, mut align) = (0u64, self.tables.struct_alignment.max(1));
        for member in &row.members {
            let (datatype, called, dims) = parse_member_declaration(member)?;
            self.declare_type(&datatype, builder, depth + 1, limits)?;
            let of = self.get(&datatype)?;
            let large = || Error::malformed(format!("struct {name:?} is larger than 2^64 bytes"));
            let offset = end.checked_next_multiple_of(of.align).ok_or_else(large)?;
            let size = dims.iter().try_fold(of.size, |size, length| size.checked_mul(*length)).ok_or_else(large)?;
            end = offset.checked_add(size).ok_or_else(large)?;
            align = align.max(of.align);
            members.push(Member { name: called, datatype, offset, dims });
        }
        let made = self.declare_struct(name, row.size, members, end, align, builder)?;
        self.known.insert(name.to_owned(), Some(made));
        Ok(())
    }

    fn declare_struct(
        &self,
        name: &str,
        size: u64,
        members: Vec<Member>,
        end: u64,
        align: u64,
        builder: &mut LayoutBuilder,
    ) -> Result<PdbType> {
        if end > size {
            return Err(Error::malformed(format!("struct {name:?} has {size} bytes, but its members end at {end}")));
        }
        let mut all = Vec::new();
        for member in &members {
            let of = self.get(&member.datatype)?;
            let mut dims = member.dims.clone();
            if self.tables.is_column_major {
                dims.reverse();
            }
            all.push(of.typed.clone().with_shape(shape_of(&dims, of.bytes)).with_offset(member.offset).into_member(&member.name));
        }
        let rounds = [1, 2, 4, 8, 16].into_iter().find(|align| end.checked_next_multiple_of(*align) == Some(size));
        if rounds.is_none() {
            all.push(ItemSpec::bytes(size - end).with_offset(end).into_member(PADDING_NAME));
        }
        // A name of the language stays what it is there.
        let is_taken = Primitive::from_name(name, Dialect::D2025).is_some();
        let called = if is_taken { format!("{name} (struct)") } else { name.to_owned() };
        builder.named_type(&called, &all, rounds.unwrap_or(1))?;
        Ok(PdbType { typed: TypeSpec::Named(called), size, align, bytes: None, named: None, members })
    }

    /// A type that is not a struct.
    fn primitive_type(&self, name: &str) -> Result<Option<PdbType>> {
        let (formats, [char, pointer, short, integer, long, float, double]) = (self.formats, self.tables.alignment);
        let named = |said: &str| Some(said.to_owned());
        Ok(Some(match name {
            "char" => type_from_number(CType { spelled: Some("u1"), size: 1 }, char, None),
            "short" => type_from_number(formats.short, short, None),
            "integer" | "int" => type_from_number(formats.integer, integer, None),
            "long" => type_from_number(formats.long, long, None),
            "float" => type_from_number(formats.float, float, named("float")),
            "double" => type_from_number(formats.double, double, named("double")),
            "complex" => match formats.double.spelled {
                Some(">f8") => type_from_number(CType { spelled: Some(">c16"), size: 16 }, double, None),
                Some("<f8") => type_from_number(CType { spelled: Some("<c16"), size: 16 }, double, None),
                _ => return Ok(None),
            },
            _ if name.ends_with('*') => PdbType { named: named(name), ..type_from_number(formats.pointer, pointer, None) },
            _ => match self.tables.primitives.get(name) {
                Some(known) if known.is_whole => PdbType {
                    named: named(name),
                    ..type_from_number(integer_format(known.size, known.is_big)?, known.align, None)
                },
                Some(known) => type_from_number(CType { spelled: None, size: known.size }, known.align, named(name)),
                None => return Ok(None),
            },
        }))
    }
}

/// A number; one whose form layouts have not is bytes, and named.
fn type_from_number(number: CType, align: u64, named: Option<String>) -> PdbType {
    let bytes = number.spelled.is_none().then_some(number.size);
    let typed = TypeSpec::from_name(number.spelled.unwrap_or("u1"));
    PdbType { typed, size: number.size, align, bytes, named: named.filter(|_| bytes.is_some()), members: Vec::new() }
}

/// `double x`, `integer n(3,0:4)`, `char *p`: type, name and lengths.
fn parse_member_declaration(member: &str) -> Result<(String, String, Vec<u64>)> {
    let wrong = || Error::malformed(format!("the member {member:?} of a struct is not TYPE NAME(LENGTHS)"));
    let (mut datatype, rest) = member.trim().split_once(' ').map(|(a, b)| (a.to_owned(), b.trim())).ok_or_else(wrong)?;
    let name = rest.trim_start_matches(['*', ' ']);
    if rest.contains('*') {
        datatype.push('*');
    }
    let Some((name, dims)) = name.split_once('(') else { return Ok((datatype, name.to_owned(), Vec::new())) };
    let dims = dims.strip_suffix(')').ok_or_else(wrong)?.split(',').map(|dim| {
        let length = match dim.split_once(':') {
            Some((low, high)) => high
                .trim()
                .parse::<i64>()
                .ok()
                .zip(low.trim().parse::<i64>().ok())
                .and_then(|(high, low)| u64::try_from(high.checked_sub(low)?.checked_add(1)?).ok()),
            None => dim.trim().parse().ok(),
        };
        length.ok_or_else(wrong)
    });
    Ok((datatype, name.to_owned(), dims.collect::<Result<_>>()?))
}
