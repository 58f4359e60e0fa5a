//! Arrays of varying length: columns P and Q, whose rows hold the number and the place of values in the heap
//! after the table.
//!
//! FITS Standard 4.0, sections 7.3.5 and 7.3.6.

use std::ops::Range;
use std::sync::Arc;

use super::compressed_table::uncompressed_table;
use super::fits_file::FitsFile;
use super::hdu::{Hdu, HduKind, require_unsigned};
use super::table::{Column, columns, rows_array};
use crate::array::physical;
use crate::array::{Array, Byteorder, Datatype, Field, StructType};
use crate::array::{ValueDecoding, ValueTransform};
use crate::bytes::{Cursor, read_vec, to_usize};
use crate::error::{Error, Result, ResultExt};
use crate::threads::lock;
use crate::tree::Value;

/// Largest number of cells that a tree describes one by one.
pub(super) const MAX_CELLS: u64 = 100_000;

/// The place of the values of one cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellLocation {
    /// Number of values.
    pub count: u64,
    /// Byte range of the values in the file.
    pub bytes: Range<u64>,
}

impl CellLocation {
    /// The place that a column of a row states, inside `heap`.
    pub(super) fn read_descriptor(column: &Column, row: &[u8], heap: Range<u64>) -> Result<Self> {
        let mut at = Cursor::new(row.get(to_usize(column.offset)?..).unwrap_or_default(), 0);
        let (count, offset) = match column.code {
            _ if column.repeat == 0 => (0, 0),
            'P' => (u64::from(at.u32()?), u64::from(at.u32()?)),
            _ => (at.u64()?, at.u64()?),
        };
        let name = &column.name;
        let (Some(len), Some(from)) = (column.heap_bytes(count), heap.start.checked_add(offset)) else {
            return Err(Error::malformed(format!("column {name} points beyond byte 2^64")));
        };
        let end = from.checked_add(len).filter(|end| *end <= heap.end || len == 0);
        let end = end.ok_or_else(|| {
            Error::malformed(format!("column {name} points to {len} bytes beyond the end of the heap")).at_byte(from)
        })?;
        Ok(Self { count, bytes: from..end })
    }
}

/// First byte of the heap of a table whose rows have `table` bytes.
pub(super) fn heap_offset(hdu: &Hdu, table: u64) -> Result<u64> {
    let given = hdu.header().integer("THEAP")?.and_then(|n| u64::try_from(n).ok());
    Ok(hdu.data().start.saturating_add(given.unwrap_or(table)))
}

/// The rows and the heap of a table.
struct HeapTable {
    columns: Vec<Column>,
    rows: u64,
    width: u64,
    heap: Range<u64>,
}

impl HeapTable {
    fn from_hdu(hdu: &Hdu) -> Result<Self> {
        let header = hdu.header();
        let (rows, width) = (require_unsigned(header, "NAXIS2")?, require_unsigned(header, "NAXIS1")?);
        let table = rows.checked_mul(width).ok_or_else(|| Error::malformed("the table is larger than 2^64 bytes"))?;
        Ok(Self { columns: columns(header)?, rows, width, heap: heap_offset(hdu, table)?..hdu.data().end })
    }

    fn cell_location(&self, fits: &FitsFile, hdu: &Hdu, column: &Column, row: u64) -> Result<CellLocation> {
        let at = hdu.data().start + row * self.width;
        let bytes = read_vec(&**fits.source(), at, self.width, fits.limits())?;
        CellLocation::read_descriptor(column, &bytes, self.heap.clone())
    }
}

impl FitsFile {
    /// Returns the physical values of one column of a binary table, or of one of its cells in the heap. `column` and `row` count
    /// from 0.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a whole column of varying length, and
    /// the errors of [`FitsFile::cell`].
    pub fn column_or_cell(&self, hdu: &Hdu, column: usize, row: Option<u64>) -> Result<Array> {
        if let Some(row) = row {
            return self.cell(hdu, column, row);
        }
        let limits = Arc::new(self.limits().clone());
        let source = self.data_source(hdu)?;
        let compressed = match hdu.kind() {
            HduKind::CompressedTable => {
                Some(uncompressed_table(hdu, &source, Some(column), &limits).with_context(|| hdu.display_name())?)
            }
            _ => None,
        };
        let (table, source) = compressed.as_ref().map_or((hdu, &source), |(table, source)| (table, source));
        let all = columns(table.header()).with_context(|| hdu.display_name())?;
        let missing = || Error::invalid_input(format!("{} has no column {column}", hdu.display_name()));
        let found = all.get(column).ok_or_else(missing)?;
        if found.in_heap() {
            let what = format!("column {} of {} is a list of arrays of varying length", found.name, hdu.display_name());
            let hint = format!("a table of more than {MAX_CELLS} of them is not listed; FitsFile::cell reads one");
            return Err(Error::unsupported(what).hint(hint));
        }
        let (field, meaning) = found.field_decoding()?;
        let rows = rows_array(table, source, vec![field], &limits).with_context(|| hdu.display_name())?;
        physical(&rows, &[meaning])?.field_at(0)
    }

    /// Returns the number of the column that a field of [`FitsFile::array`] is, by the name of the field; None for a table of text
    /// and for what is not a table.
    #[doc(hidden)]
    pub fn column_of_field(&self, hdu: &Hdu, name: &str) -> Option<usize> {
        let is_compressed = hdu.kind() == HduKind::CompressedTable;
        if !is_compressed && hdu.kind() != HduKind::Table {
            return None;
        }
        let all = columns(hdu.header()).ok()?.into_iter().enumerate().filter(|(_, column)| is_compressed || !column.in_heap());
        let is_it = |(field, (_, column)): &(usize, (usize, Column))| match column.name.as_str() {
            "" => name == format!("f{field}"),
            known => known == name,
        };
        all.enumerate().find(is_it).map(|(_, (number, _))| number)
    }

    /// Returns the physical values of one cell of a column of variable length ([`Column::in_heap`]). TSCAL, TZERO, TNULL and TDIM
    /// are applied, logical values and bits become `bool8`, and text is one string.
    ///
    /// `column` and `row` count from 0.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is no such cell,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if it points outside the heap.
    pub fn cell(&self, hdu: &Hdu, column: usize, row: u64) -> Result<Array> {
        let table = HeapTable::from_hdu(hdu).with_context(|| hdu.display_name())?;
        let found = table.columns.get(column).filter(|column| column.in_heap() && row < table.rows);
        let found = found.ok_or_else(|| {
            Error::invalid_input(format!("{} has no row {row} with an array in the heap in column {column}", hdu.display_name()))
        })?;
        let place = table.cell_location(self, hdu, found, row).with_context(|| format!("{}, row {row}", hdu.display_name()))?;
        // A row of the values of one cell.
        let (field, mut meaning) = found.heap_cell_column(place.count).field_decoding()?;
        if meaning.transform == ValueTransform::Boolean && self.has_numeric_logicals(hdu, &table, column)? {
            meaning = ValueDecoding { transform: ValueTransform::Reinterpret(Datatype::Bool8), missing_rules: Vec::new() };
        }
        let (datatype, shape) = (field.datatype, field.shape);
        if datatype == Datatype::Ascii(0) {
            return Array::from_bytes(vec![0], Datatype::Ascii(1), Byteorder::Big, Vec::new());
        }
        if let ValueTransform::Flags { .. } = meaning.transform {
            let fields = vec![Field::new("bits", datatype, Byteorder::Big).with_shape(shape)];
            let row = Datatype::Struct(Arc::new(StructType::packed_from(fields)?));
            let array = Array::new(self.data_source(hdu)?, place.bytes.start, row, Byteorder::Big, Vec::new())?;
            return physical(&array.with_limits(Arc::new(self.limits().clone())), &[meaning])?.field("bits");
        }
        let array = Array::new(self.data_source(hdu)?, place.bytes.start, datatype, Byteorder::Big, shape)?;
        physical(&array.with_limits(Arc::new(self.limits().clone())), &[meaning])
    }

    /// Returns `true` if the logical values of a column of varying length are the bytes 0 and 1, as astropy up to 7.2 wrote them, and
    /// not `T`, `F` and 0 for undefined (FITS Standard 4.0, section 7.3.3.1): no byte is larger, and at least one is 1, which the
    /// standard does not have. astropy 8 decides in the same way.
    fn has_numeric_logicals(&self, hdu: &Hdu, table: &HeapTable, column: usize) -> Result<bool> {
        let key = (hdu.index(), column);
        if let Some(known) = lock(&self.numeric_logicals).get(&key) {
            return Ok(*known);
        }
        let (mut is_numeric, mut has_one) = (true, false);
        if let Some(found) = table.columns.get(column) {
            for row in 0..table.rows {
                let place = table.cell_location(self, hdu, found, row)?;
                let bytes = read_vec(&**self.source(), place.bytes.start, place.bytes.end - place.bytes.start, self.limits())?;
                has_one |= bytes.contains(&1);
                is_numeric &= bytes.iter().all(|byte| *byte <= 1);
                if !is_numeric {
                    break;
                }
            }
        }
        lock(&self.numeric_logicals).insert(key, is_numeric && has_one);
        Ok(is_numeric && has_one)
    }
}

/// Returns the rows and the cells of a table with a heap as views of its bytes, for a tree: `data` is the ndarray
/// node of the whole data unit. Returns None for tables without a heap, and for those of more cells than a tree
/// should have.
///
/// Numbers have their stored values: columns with TSCAL or TZERO are left out, and so are bits. Booleans are the
/// letters `T` and `F`.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if a cell points outside the heap.
pub(super) fn build_heap_views(fits: &FitsFile, hdu: &Hdu, data: &Value) -> Result<Option<Value>> {
    let Ok(table) = HeapTable::from_hdu(hdu) else { return Ok(None) };
    let is_shown =
        |column: &&Column| column.in_heap() && column.scale == 1.0 && column.zero == 0.0 && column.heap_type().is_some();
    let ragged: Vec<&Column> = table.columns.iter().filter(is_shown).collect();
    if ragged.is_empty()
        || table.rows.saturating_mul(ragged.len() as u64) > MAX_CELLS
        || data.get("source").and_then(Value::as_i64).is_none()
    {
        return Ok(None);
    }
    let first = hdu.data().start;
    let mut shown = Value::map::<&str, Value>([]);
    for column in ragged {
        let Some(datatype) = column.heap_type() else { continue };
        let mut cells = Vec::new();
        for row in 0..table.rows {
            let place =
                table.cell_location(fits, hdu, column, row).with_context(|| format!("{}, row {row}", hdu.display_name()))?;
            let mut cell = data.clone();
            cell.set("datatype", super::tree::datatype_value(&datatype));
            cell.set("byteorder", "big");
            cell.set("shape", Value::seq([place.count]).flow());
            // An empty cell may state any offset, so its offset is ignored.
            let offset = if place.count == 0 { 0 } else { place.bytes.start - first };
            if offset > 0 {
                cell.set("offset", offset);
            }
            cells.push(cell.flow());
        }
        shown.set(column.name.as_str(), Value::seq(cells));
    }
    Ok(Some(shown))
}
