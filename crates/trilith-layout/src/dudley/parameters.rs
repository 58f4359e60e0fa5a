//! The stored parameters of the files of a set, as their catalog has them.

use std::ops::Range;
use std::sync::Arc;

use super::file_settings::FileSettings;
use super::write::base_of;
use crate::bytes::Source;
use crate::error::{Error, Result};
use crate::layout::{Byteorder, EvaluateOptions, ItemId, Layout, ParamRequest, SuppliedValue};

/// Bytes at the start of a file that are read for its parameters, if its summary block is not longer.
const MIN_READ: u64 = 512;

/// The stored parameters of all files, to compare a file with when it is opened: one that was replaced may have its items
/// at other places.
pub(super) struct FirstFileParams {
    pub template: Layout,
    pub params: ParamTable,
    pub settings: Arc<FileSettings>,
    pub options: EvaluateOptions,
    pub param_offsets: Vec<i64>,
}

impl FirstFileParams {
    /// Returns the bytes at the start of a file of at least this size that probably hold its parameters: they are read with
    /// the data.
    pub(super) fn param_bytes(&self, row: usize, size: u64) -> Range<u64> {
        let start = self.base_offset(row);
        let summary = start.saturating_add(8 * self.template.summary_members().len() as u64);
        start..summary.max(start.saturating_add(MIN_READ).min(size))
    }

    /// Returns the byte of a file from which addresses count.
    fn base_offset(&self, row: usize) -> u64 {
        let base = if self.options.is_native { base_of(self.template.dialect()) } else { 0 };
        self.param_offsets.get(row).and_then(|start| u64::try_from(*start).ok()).unwrap_or(0).saturating_add(base)
    }

    /// Fails if the parameters in a file are not those that the catalog has for it. `order` is that of its signature.
    pub(super) fn check_params(&self, row: usize, source: &dyn Source, order: Option<Byteorder>) -> Result<()> {
        let (start, size) = (self.base_offset(row), source.len());
        let supply = |request: &ParamRequest| {
            let known = self.params.param_value(row, request.item, request.ordinal);
            let (Some(value), Some(address), false) = (known, request.address, request.is_length) else {
                return Ok(known.map_or(SuppliedValue::Missing, SuppliedValue::Value));
            };
            let mut bytes = [0; 8];
            let width = request.datatype.size() as usize;
            let (at, stored) = (start.saturating_add(address), bytes.get_mut(..width).unwrap_or_default());
            if at.saturating_add(width as u64) > size {
                return Err(Error::malformed(format!("it ends at byte {size}, before its parameters")));
            }
            source.read_at(at, stored)?;
            // Without a byte order the values cannot be compared. Reading the item reports that.
            let Some(found) = request.decode_value(bytes).unwrap_or(None) else { return Ok(SuppliedValue::Value(value)) };
            if found != value {
                let name = self.template.path(request.item);
                let message = format!("{name} is {found} in this file, but {value} in the catalog");
                return Err(
                    Error::malformed(message).hint("the file was replaced; write the catalog again: trilith layout catalog")
                );
            }
            Ok(SuppliedValue::Value(value))
        };
        let options = EvaluateOptions { byteorder: order.or(self.options.byteorder), ..self.options.clone() };
        let template = self.settings.layout_of(row, &self.template, &options.limits)?;
        template.evaluate(&options, supply).map(drop).map_err(Error::from)
    }
}

/// The parameters of all files.
pub(super) struct ParamTable {
    pub columns: Vec<(ItemId, Vec<i64>)>,
    pub values: Vec<i64>,
    pub width: Option<usize>,
}

impl ParamTable {
    pub(super) fn param_value(&self, row: usize, item: ItemId, ordinal: u64) -> Option<i64> {
        if let Some(width) = self.width {
            let at = usize::try_from(ordinal).ok().filter(|at| *at < width)?;
            return self.values.get(row.checked_mul(width)?.checked_add(at)?).copied();
        }
        let at = self.columns.binary_search_by_key(&item, |(id, _)| *id).ok()?;
        self.columns.get(at)?.1.get(row).copied()
    }
}
