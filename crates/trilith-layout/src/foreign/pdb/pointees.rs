//! Targets of the strings and pointers of yorick.

use super::chart::Types;
use super::tables::Symbol;
use super::{Pdb, shape_of, shaped};
use crate::bytes::read_vec;
use crate::error::{Error, Result};
use crate::foreign::layout_text::{LayoutText, placed};
use crate::limits::Limits;

impl Pdb<'_> {
    /// Reads integers as wide as the `long` of the file.
    fn longs(&self, at: u64, count: u64) -> Result<Vec<u64>> {
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
    fn addresses(&self, symbol: &Symbol) -> Result<Vec<Option<u64>>> {
        if symbol.count > self.limits.items {
            return Err(Limits::exceeded("items", self.limits.items, format_args!("it has {} addresses", symbol.count)));
        }
        let nowhere = if self.formats.long.size == 8 { u64::MAX } else { u32::MAX.into() };
        let found = self.longs(symbol.address, symbol.count)?;
        Ok(found.into_iter().map(|at| Some(at).filter(|at| *at != nowhere && *at != 0)).collect())
    }

    /// The characters that the elements of a symbol of type `string` lead to.
    pub(super) fn texts(&self, name: &str, symbol: &Symbol, shape: &[u64], text: &mut LayoutText) -> Result<()> {
        let mut items = Vec::new();
        for at in self.addresses(symbol)? {
            items.push(match at {
                Some(at) => {
                    let len = self.longs(at, 1)?.first().copied().unwrap_or(0);
                    let begin = at.saturating_add(self.formats.long.size);
                    if begin.checked_add(len).is_none_or(|end| end > self.source.len()) {
                        return Err(
                            Error::malformed(format!("a string of {len} bytes goes beyond the end of the file")).at_byte(at)
                        );
                    }
                    placed(&format!("S1[{len}]"), begin)
                }
                None => placed("S1[0]", symbol.address),
            });
        }
        match (shape, &items[..]) {
            ([], [only]) => text.item(name, only)?,
            _ => text.list(name, items.into_iter())?,
        }
        if shape.len() > 1 { text.attribute("pdb_shape", shape) } else { Ok(()) }
    }

    /// Declares the targets of the elements of a symbol of type `pointer`: the number of a type in the chart,
    /// dimensions, elements.
    pub(super) fn pointees(&self, name: &str, symbol: &Symbol, types: &Types<'_>, text: &mut LayoutText) -> Result<()> {
        let mut items = Vec::new();
        for at in self.addresses(symbol)?.into_iter().flatten() {
            match self.pointee(at, types)? {
                Some(item) => items.push(item),
                None => return text.comment(&format!("the target of {name} is unknown: its type has no simple form")),
            }
        }
        let name = format!("*{name}");
        match (&symbol.dims[..], &items[..]) {
            (_, []) => Ok(()),
            ([], [only]) => text.item(&name, only),
            _ => text.list(&name, items.into_iter()),
        }
    }

    /// The types of what the elements of a symbol of type `pointer` lead to, as far as they can be read.
    pub(super) fn pointee_types<'t>(&self, symbol: &Symbol, types: &Types<'t>) -> Vec<&'t str> {
        let mut names = Vec::new();
        for at in self.addresses(symbol).into_iter().flatten().flatten() {
            let number = self.longs(at, 1).ok().and_then(|numbers| numbers.first().copied());
            if let Some(name) = number.and_then(|number| types.numbered(number)).filter(|name| !names.contains(name)) {
                names.push(name);
            }
        }
        names
    }

    fn pointee(&self, at: u64, types: &Types<'_>) -> Result<Option<String>> {
        /// The most dimensions that yorick has.
        const RANK: u64 = 64;
        let [number, rank] = self.longs(at, 2)?[..] else { return Ok(None) };
        let known = types.numbered(number).and_then(|name| types.get(name).ok());
        let Some(known) = known.filter(|known| known.named.is_none() && rank <= RANK) else { return Ok(None) };
        let width = self.formats.long.size;
        let dims = self.longs(at.saturating_add(2 * width), rank)?;
        let begin = at.saturating_add((2 + rank) * width).checked_next_multiple_of(known.align);
        let begin = begin.ok_or_else(|| Error::malformed("a pointer points beyond byte 2^64"))?;
        Ok(Some(placed(&format!("{}{}", known.spelled, shaped(&shape_of(&self.shape(&dims), known.bytes))), begin)))
    }
}
