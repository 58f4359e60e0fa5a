//! Properties that the files of a set have one by one, and that no file states: a byte order, and values of fixed parameters.

use std::borrow::Cow;
use std::sync::Arc;

use super::dudley_file::{StreamItems, StreamOptions};
use super::new_item::Draft;
use super::param_settings::with_fixed_value;
use crate::array::{Array, Byteorder, Datatype, Field, StructType};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::limits::Limits;

/// The item of a catalog with the byte order of each file.
const ORDERS: &str = "byteorder";
/// The item of a catalog with the values of fixed parameters in each file.
const PARAMS: &str = "fixed";

/// The byte order of each file of a set, and the values of fixed parameters in it.
#[derive(Debug, Clone, Default)]
pub(super) struct FileSettings {
    /// Empty if all files have the byte order of the set.
    pub orders: Vec<Byteorder>,
    /// The values of each parameter in the files, by its name in the layout.
    pub params: Vec<(String, Vec<i64>)>,
}

impl FileSettings {
    /// Reads the settings that a catalog of this number of files has.
    pub(super) fn read(items: &StreamItems<'_>, rows: usize) -> Result<Self> {
        let mut settings = Self::default();
        let wrong = |name: &str, found: &dyn std::fmt::Display| {
            Error::invalid_input(format!("/{name} of a catalog has a value for each of its {rows} files, not {found}"))
        };
        if items.located(&format!("/{ORDERS}"))?.is_some() {
            let array = items.array_at(&format!("/{ORDERS}"))?;
            if !array.datatype().is_text() || array.shape() != [rows as u64] {
                return Err(wrong(ORDERS, array.datatype()));
            }
            for text in super::char_sets::decode_text(&array)?.load_texts()? {
                let order = Byteorder::from_name(&text).ok_or_else(|| wrong(ORDERS, &text))?;
                settings.orders.push(order);
            }
        }
        if items.located(&format!("/{PARAMS}"))?.is_some() {
            let array = items.array_at(&format!("/{PARAMS}"))?;
            let Some(fields) = array.datatype().as_struct().filter(|_| array.shape() == [rows as u64]) else {
                return Err(wrong(PARAMS, array.datatype()));
            };
            for (number, field) in fields.fields().iter().enumerate() {
                let name = field.name_or(number).to_string();
                let values = array.field(&name)?.load_as::<i64>()?;
                settings.params.push((name, values));
            }
        }
        Ok(settings)
    }

    /// Returns the byte order of a file, if it has one that is not that of the set.
    pub(super) fn order(&self, row: usize) -> Option<Byteorder> {
        self.orders.get(row).copied()
    }

    /// Returns `true` if two files have the same values of fixed parameters.
    pub(super) fn has_same_params(&self, one: usize, other: usize) -> bool {
        self.params.iter().all(|(_, values)| values.get(one) == values.get(other))
    }

    /// Returns the layout of a file, in which fixed parameters have the values of this file.
    pub(super) fn layout_of<'l>(&self, row: usize, template: &'l Layout, limits: &Limits) -> Result<Cow<'l, Layout>> {
        let mut layout = Cow::Borrowed(template);
        for (name, values) in &self.params {
            if let Some(value) = values.get(row) {
                layout = Cow::Owned(with_fixed_value(&layout, name, *value, limits)?);
            }
        }
        Ok(layout)
    }

    /// Returns the options under which a file is opened.
    pub(super) fn stream_options(&self, row: usize, template: &Layout, limits: &Limits) -> Result<StreamOptions> {
        let layout = Some(self.layout_of(row, template, limits)?.into_owned());
        Ok(StreamOptions { layout, order: self.order(row), ..StreamOptions::default() })
    }

    /// Sets the values of a parameter.
    pub(super) fn set_param(&mut self, name: &str, values: Vec<i64>) {
        match self.params.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = values,
            None => self.params.push((name.to_owned(), values)),
        }
    }

    /// The items of a catalog that hold the settings.
    pub(super) fn draft_items(&self) -> Result<Vec<(&'static str, Draft)>> {
        let mut items = Vec::new();
        if !self.orders.is_empty() {
            let names: Vec<&str> = self.orders.iter().map(|order| order.name()).collect();
            items.push((ORDERS, Draft::data(Array::from_texts(&names, &[names.len() as u64])?)));
        }
        if let Some((_, first)) = self.params.first() {
            let (mut fields, mut bytes) = (Vec::new(), Vec::new());
            for (at, (name, _)) in (0u64..).zip(&self.params) {
                fields.push(Field::new(name, Datatype::Int64, Byteorder::Little).with_offset(8 * at));
            }
            for row in 0..first.len() {
                let values = self.params.iter().map(|(_, values)| values.get(row).copied().unwrap_or(0));
                bytes.extend(values.flat_map(i64::to_le_bytes));
            }
            let datatype = StructType::with_offsets(fields, 8 * self.params.len() as u64)?;
            let datatype = Datatype::Struct(Arc::new(datatype));
            items.push((PARAMS, Draft::data(Array::from_bytes(bytes, datatype, Byteorder::Little, vec![first.len() as u64])?)));
        }
        Ok(items)
    }
}
