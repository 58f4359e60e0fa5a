//! PDB, the portable database of PACT, as yorick writes it: the formats of numbers are at its beginning, and a
//! chart of the types and a table of the symbols are at its end.
//!
//! A struct is declared with the offset of every member. A string of yorick is the offset of a length and
//! characters, and these are declared. A pointer is shown as the offset that it is, and its target is next to it,
//! under its name with `*`. History records are structs in blocks: every member is a separate variable, whose first
//! axis counts the records.

mod chart;
mod formats;
mod pointees;
mod tables;

use self::chart::TypeTable;
use self::formats::PrimitiveFormats;
use self::tables::{PdbTables, Symbol};
use super::nested_dicts;
use crate::bytes::SourceRef;
use crate::error::{Error, Result, ResultExt};
use crate::layout::{ElementSpec, ItemSpec, Layout, LayoutBuilder, StorageField, TypeSpec};
use crate::limits::Limits;

/// End of the name of yorick's history records.
const HISTORY_SUFFIX: &str = "@history";

/// A file that is being described.
struct PdbFile<'s> {
    source: &'s SourceRef,
    limits: &'s Limits,
    formats: PrimitiveFormats,
    tables: PdbTables,
}

/// The layout of a PDB file.
pub(super) fn derive_layout(source: &SourceRef, limits: &Limits) -> Result<Layout> {
    let formats = PrimitiveFormats::read(source, limits)?;
    let tables = PdbTables::read(source, &formats, limits)?;
    let pdb = PdbFile { source, limits, formats, tables };
    let mut builder = LayoutBuilder::new("a PDB file", limits);
    let mut types = TypeTable::new(&pdb.formats, &pdb.tables);
    let mut items: Vec<(Vec<&str>, &Symbol)> = Vec::new();
    for symbol in &pdb.tables.symbols {
        // The directories themselves hold nothing.
        if symbol.datatype != "Directory" && !symbol.name.ends_with('/') {
            types.declare_type(&symbol.datatype, &mut builder, 0, limits).with_context(|| symbol.name.clone())?;
            if symbol.datatype == "pointer" {
                for name in pdb.pointee_types(symbol, &types) {
                    // Errors are ignored: a pointer to a faulty type is not followed.
                    let _ = types.declare_type(name, &mut builder, 0, limits);
                }
            }
            items.push((symbol.name.split('/').filter(|step| !step.is_empty()).collect(), symbol));
        }
    }
    nested_dicts::write_groups(&items, &mut builder, &mut |builder, name, symbol: &&Symbol| {
        pdb.declare_symbol(name, symbol, &types, builder).with_context(|| symbol.name.clone())
    })?;
    Ok(builder.finish())
}

impl PdbFile<'_> {
    fn declare_symbol(&self, name: &str, symbol: &Symbol, types: &TypeTable<'_>, builder: &mut LayoutBuilder) -> Result<()> {
        if name.ends_with(HISTORY_SUFFIX) {
            return self.declare_history_members(symbol, types, builder);
        }
        let known = types.get(&symbol.datatype)?;
        if let Some(blocks) = self.tables.blocks.get(&symbol.name) {
            let block =
                |(at, count): &(u64, u64)| ElementSpec::Item(known.typed.clone().with_shape(vec![*count]).with_offset(*at));
            return builder.raw_list(name, blocks.iter().map(block));
        }
        let shape = self.to_slowest_first(&symbol.dims);
        let item = |shape: &[u64]| known.typed.clone().with_shape(shape.to_vec()).with_offset(symbol.address);
        match symbol.datatype.as_str() {
            "string" => return self.declare_strings(name, symbol, &shape, builder),
            "pointer" => {
                builder.write_item(name, &item(&shape))?;
                builder.write_attribute("pdb_type", "pointer")?;
                return self.declare_pointees(name, symbol, types, builder);
            }
            _ => builder.write_item(name, &item(&shape_of(&shape, known.bytes)))?,
        }
        if let Some(said) = &known.named { builder.write_attribute("pdb_type", said.as_str()) } else { Ok(()) }
    }

    /// The lengths of dimensions, slowest first.
    fn to_slowest_first(&self, dims: &[u64]) -> Vec<u64> {
        if self.tables.is_column_major { dims.iter().rev().copied().collect() } else { dims.to_vec() }
    }

    /// The members of history records, each as a variable.
    fn declare_history_members(&self, symbol: &Symbol, types: &TypeTable<'_>, builder: &mut LayoutBuilder) -> Result<()> {
        let known = types.get(&symbol.datatype)?;
        let one = [(symbol.address, symbol.count)];
        let blocks = self.tables.blocks.get(&symbol.name).map_or(&one[..], |blocks| &blocks[..]);
        let total = blocks.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        if total > self.limits.items {
            return Err(Limits::exceeded_error("items", self.limits.items, format_args!("the file has {total} history records")));
        }
        let records: Vec<u64> = (blocks.iter())
            .flat_map(|(at, count)| (0..*count).map(move |n| at.checked_add(known.size.checked_mul(n)?)))
            .collect::<Option<_>>()
            .ok_or_else(|| Error::malformed("a history record is after byte 2^64"))?;
        for member in &known.members {
            let of = types.get(&member.datatype)?;
            let typed = of.typed.clone().with_shape(shape_of(&self.to_slowest_first(&member.dims), of.bytes));
            self.declare_history_variable(&member.name, &typed, member.offset, &records, known.size, builder)?;
            if let Some(said) = &of.named {
                builder.write_attribute("pdb_type", said.as_str())?;
            }
        }
        Ok(())
    }

    /// A member of records: one array if they are equally far apart, else a list.
    fn declare_history_variable(
        &self,
        name: &str,
        typed: &ItemSpec,
        offset: u64,
        records: &[u64],
        size: u64,
        builder: &mut LayoutBuilder,
    ) -> Result<()> {
        let stride = match records {
            [first, second, ..] => second.checked_sub(*first).filter(|stride| *stride >= size && *stride > 0),
            _ => Some(size.max(1)),
        };
        let is_even = stride.is_some_and(|stride| records.windows(2).all(|two| two[1].checked_sub(two[0]) == Some(stride)));
        match (stride, records.first()) {
            (Some(stride), Some(first)) if is_even => {
                // A last byte makes each struct as long as the way to the next.
                let last = TypeSpec::from_name("u1").with_shape(Vec::new()).with_offset(stride - 1);
                let members = vec![typed.clone().with_offset(offset).into_member("data"), last.into_member("record")];
                builder
                    .write_item(name, &TypeSpec::Struct(members).with_shape(vec![records.len() as u64]).with_offset(*first))?;
                builder.write_field(StorageField::Column("data".to_owned()))
            }
            (_, None) => builder.write_comment_lines(&format!("{name} has no record")),
            _ => builder
                .raw_list(name, records.iter().map(|at| ElementSpec::Item(typed.clone().with_offset(at.saturating_add(offset))))),
        }
    }
}

/// Lengths, and the bytes of an element that no layout has a type for.
fn shape_of(shape: &[u64], bytes: Option<u64>) -> Vec<u64> {
    shape.iter().copied().chain(bytes).collect()
}
