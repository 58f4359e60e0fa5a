//! The record that a catalog keeps of its files: their layout, their orders, and the values of the summary block.

use std::sync::Arc;

use super::dudley_file::DudleyFile;
use super::file_settings::FileSettings;
use crate::array::{Array, Byteorder, Datatype, Field, StructType};
use crate::error::Result;
use crate::layout::{Layout, quoted_name};

/// The record of a catalog about its files, besides their parameters, so that it can be read without further
/// options.
#[derive(Debug, Clone)]
pub(super) struct CatalogRecord {
    /// The text of the layout.
    pub text: String,
    /// `true` if the files have a signature; None before there are any.
    pub native: Option<bool>,
    pub order: Option<Byteorder>,
    /// The byte order of each file, and the values of fixed parameters in it.
    pub settings: FileSettings,
    /// Byte order of each file, by its name; `None` if it makes no difference in the file.
    orders: Vec<Option<Byteorder>>,
    /// The content of the summary block, in order: each with the values of a variable, None for a parameter.
    summary: Vec<(String, Option<ParamColumn>)>,
}

/// The values of a variable in all files; None once a file has it in another form.
type ParamColumn = Option<(Datatype, Vec<u64>, Vec<u8>)>;

impl CatalogRecord {
    pub(super) fn new(layout: &Layout) -> Self {
        let summary = layout.summary_members().into_iter();
        let summary = summary.map(|(name, is_param)| (name.to_owned(), (!is_param).then_some(None))).collect();
        let (text, order, settings) = (layout.text().to_owned(), layout.order(), FileSettings::default());
        Self { text, native: None, order, settings, orders: Vec::new(), summary }
    }

    /// Takes one more file; returns what does not go together with the files before it.
    pub(super) fn add_file(&mut self, file: &DudleyFile) -> Result<Option<String>> {
        let (native, order) = (file.signature().is_some(), file.byteorder());
        let is_first = self.native.is_none();
        let of = |native: bool| if native { "a signature" } else { "no signature" };
        match self.native.replace(native).filter(|before| *before != native) {
            Some(before) => return Ok(Some(format!("it has {}, the files before it have {}", of(native), of(before)))),
            None if is_first => self.order = order,
            None => {}
        }
        self.orders.push(order);
        let items = file.locate_items()?;
        for (name, column) in &mut self.summary {
            let Some(column) = column else { continue };
            let array = items.array_at(&format!("/{}", quoted_name(name)))?;
            let (datatype, shape) = (array.datatype(), array.shape());
            let mut bytes = match (column.take(), is_first) {
                (None, true) => Vec::new(),
                (Some((known, dims, bytes)), _) if known == *datatype && dims == shape => bytes,
                _ => continue,
            };
            if array.is_empty() || datatype.as_struct().is_some() {
                continue;
            }
            array.for_each_piece_in(Byteorder::Little, 1 << 20, &mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            })?;
            *column = Some((datatype.clone(), shape.to_vec(), bytes));
        }
        Ok(None)
    }

    /// Records the byte orders of raw files if these have several. Returns the number of a file whose order is not known then.
    pub(super) fn settle_orders(&mut self) -> Option<usize> {
        let mut known = self.orders.iter().copied().flatten();
        let first = known.next();
        self.order = self.order.or(first);
        let is_mixed = self.native == Some(false) && known.any(|order| Some(order) != first);
        let unknown = self.orders.iter().position(Option::is_none).filter(|_| is_mixed);
        if is_mixed && unknown.is_none() {
            self.settings.orders = self.orders.iter().copied().flatten().collect();
        }
        unknown
    }

    /// Returns a warning if the files are not in the order of the number `time` that they store, with the first that is too early.
    pub(super) fn find_decreasing_time(&self, rows: &[(String, Vec<i64>)]) -> Result<Option<String>> {
        let mut ordinal = 0;
        let mut times: Vec<f64> = Vec::new();
        for (name, column) in &self.summary {
            match (name.as_str(), column) {
                ("time", Some(Some((datatype, shape, bytes))))
                    if shape.is_empty() && (datatype.is_integer() || datatype.is_float()) =>
                {
                    let values = Array::from_bytes(bytes.clone(), datatype.clone(), Byteorder::Little, vec![rows.len() as u64]);
                    times = values.and_then(|values| values.load_as::<f64>()).unwrap_or_default();
                }
                ("time", None) => {
                    times = rows.iter().filter_map(|(_, values)| values.get(ordinal)).map(|value| *value as f64).collect();
                }
                _ => {}
            }
            ordinal += usize::from(column.is_none());
        }
        let late = times
            .windows(2)
            .position(|pair| matches!(pair, [one, next] if one.partial_cmp(next) != Some(std::cmp::Ordering::Less)));
        Ok(late.and_then(|at| {
            let ((one, _), (next, _)) = (rows.get(at)?, rows.get(at + 1)?);
            // Very large and very small times, for example of a file in the other byte order, have an exponent.
            let print = |time: f64| {
                if time == 0.0 || (1e-5..1e16).contains(&time.abs()) { format!("{time}") } else { format!("{time:e}") }
            };
            let (before, after) = (print(*times.get(at)?), print(*times.get(at + 1)?));
            Some(format!(
                "time does not increase: it is {before} in {one} and {after} in {next}; --sort time puts the files in its order"
            ))
        }))
    }

    /// The records as structs of what the summary block stores; None if it stores nothing.
    pub(super) fn build_record_array(&self, rows: &[(String, Vec<i64>)]) -> Result<Option<Array>> {
        let (mut fields, mut columns, mut ordinal) = (Vec::new(), Vec::new(), 0);
        let mut size = 0u64;
        for (name, column) in &self.summary {
            let (datatype, shape, bytes) = match column {
                Some(Some((datatype, shape, bytes))) => (datatype.clone(), shape.clone(), bytes.clone()),
                Some(None) => continue,
                None => {
                    let values = rows.iter().filter_map(|(_, values)| values.get(ordinal));
                    let bytes = values.flat_map(|value| value.to_le_bytes()).collect();
                    ordinal += 1;
                    (Datatype::Int64, Vec::new(), bytes)
                }
            };
            let field = Field::new(name, datatype, Byteorder::Little).with_shape(shape).with_offset(size);
            let width = field.count().saturating_mul(field.datatype.packed_size());
            size = size.saturating_add(width);
            fields.push(field);
            columns.push((crate::bytes::to_usize(width)?, bytes));
        }
        if fields.is_empty() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        for row in 0..rows.len() {
            for (width, column) in &columns {
                bytes.extend_from_slice(column.get(row * width..(row + 1) * width).unwrap_or(&[]));
            }
        }
        let datatype = Datatype::Struct(Arc::new(StructType::with_offsets(fields, size)?));
        Array::from_bytes(bytes, datatype, Byteorder::Little, vec![rows.len() as u64]).map(Some)
    }
}
