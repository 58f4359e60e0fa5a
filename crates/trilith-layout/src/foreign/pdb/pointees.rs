//! Targets of the strings and pointers of yorick.

use super::chart::TypeTable;
use super::tables::Symbol;
use super::{PdbFile, shape_of};
use crate::bytes::read_vec;
use crate::error::{Error, Result};
use crate::layout::{ElementSpec, ItemSpec, LayoutBuilder, TypeSpec};
use crate::limits::Limits;

impl PdbFile<'_> {
    /// Reads integers as wide as the `long` of the file.
    fn read_longs(&self, at: u64, count: u64) -> Result<Vec<u64>> {
        let width = self.formats.long.size;
        let len = count.checked_mul(width).ok_or_else(|| Error::malformed("more numbers than 2^64 bytes"))?;
        let bytes = read_vec(&**self.source, at, len, self.limits)?;
        let join = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let number = |bytes: &[u8]| match self.formats.is_big {
            true => bytes.iter().fold(0, join),
            false => bytes.iter().rev().fold(0, join),
        };
        Ok(bytes.chunks_exact(width as usize).map(number).collect())
    }

    /// The addresses that a symbol holds; None for one that leads nowhere.
    fn read_addresses(&self, symbol: &Symbol) -> Result<Vec<Option<u64>>> {
        if symbol.count > self.limits.items {
            return Err(Limits::exceeded_error("items", self.limits.items, format_args!("it has {} addresses", symbol.count)));
        }
        let nowhere = if self.formats.long.size == 8 { u64::MAX } else { u32::MAX.into() };
        let found = self.read_longs(symbol.address, symbol.count)?;
        Ok(found.into_iter().map(|at| Some(at).filter(|at| *at != nowhere && *at != 0)).collect())
    }

    /// The characters that the elements of a symbol of type `string` lead to.
    pub(super) fn declare_strings(&self, name: &str, symbol: &Symbol, shape: &[u64], builder: &mut LayoutBuilder) -> Result<()> {
        let mut items = Vec::new();
        for at in self.read_addresses(symbol)? {
            items.push(match at {
                Some(at) => {
                    let len = self.read_longs(at, 1)?.first().copied().unwrap_or(0);
                    let begin = at.saturating_add(self.formats.long.size);
                    if begin.checked_add(len).is_none_or(|end| end > self.source.len()) {
                        return Err(
                            Error::malformed(format!("a string of {len} bytes goes beyond the end of the file")).at_byte(at)
                        );
                    }
                    TypeSpec::from_name("S1").with_shape(vec![len]).with_offset(begin)
                }
                None => TypeSpec::from_name("S1").with_shape(vec![0]).with_offset(symbol.address),
            });
        }
        match (shape, &items[..]) {
            ([], [only]) => builder.write_item(name, only)?,
            _ => builder.raw_list(name, items.into_iter().map(ElementSpec::from))?,
        }
        if shape.len() > 1 { builder.write_attribute("pdb_shape", shape) } else { Ok(()) }
    }

    /// Declares the targets of the elements of a symbol of type `pointer`: the number of a type in the chart,
    /// dimensions, elements.
    pub(super) fn declare_pointees(
        &self,
        name: &str,
        symbol: &Symbol,
        types: &TypeTable<'_>,
        builder: &mut LayoutBuilder,
    ) -> Result<()> {
        let mut items = Vec::new();
        for at in self.read_addresses(symbol)?.into_iter().flatten() {
            match self.read_pointee_item(at, types)? {
                Some(item) => items.push(item),
                None => {
                    return builder.write_comment_lines(&format!("the target of {name} is unknown: its type has no simple form"));
                }
            }
        }
        let name = format!("*{name}");
        match (&symbol.dims[..], &items[..]) {
            (_, []) => Ok(()),
            ([], [only]) => builder.write_item(&name, only),
            _ => builder.raw_list(&name, items.into_iter().map(ElementSpec::from)),
        }
    }

    /// The types of what the elements of a symbol of type `pointer` lead to, as far as they can be read.
    pub(super) fn pointee_types<'t>(&self, symbol: &Symbol, types: &TypeTable<'t>) -> Vec<&'t str> {
        let mut names = Vec::new();
        for at in self.read_addresses(symbol).into_iter().flatten().flatten() {
            let number = self.read_longs(at, 1).ok().and_then(|numbers| numbers.first().copied());
            if let Some(name) = number.and_then(|number| types.name_by_index(number)).filter(|name| !names.contains(name)) {
                names.push(name);
            }
        }
        names
    }

    fn read_pointee_item(&self, at: u64, types: &TypeTable<'_>) -> Result<Option<ItemSpec>> {
        /// The most dimensions that yorick has.
        const MAX_RANK: u64 = 64;
        let [number, rank] = self.read_longs(at, 2)?[..] else { return Ok(None) };
        let known = types.name_by_index(number).and_then(|name| types.get(name).ok());
        let Some(known) = known.filter(|known| known.named.is_none() && rank <= MAX_RANK) else { return Ok(None) };
        let width = self.formats.long.size;
        let dims = self.read_longs(at.saturating_add(2 * width), rank)?;
        let begin = at.saturating_add((2 + rank) * width).checked_next_multiple_of(known.align);
        let begin = begin.ok_or_else(|| Error::malformed("a pointer points beyond byte 2^64"))?;
        let shape = shape_of(&self.to_slowest_first(&dims), known.bytes);
        Ok(Some(known.typed.clone().with_shape(shape).with_offset(begin)))
    }
}
