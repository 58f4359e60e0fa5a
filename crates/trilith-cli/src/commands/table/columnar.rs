//! Tables by columns: Parquet and Arrow files.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, NullArray, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use trilith::table::{CellType, Row, Table, TableCell, TableColumnInfo};
use trilith::{Error, Result};

/// Number of rows of a batch of an Arrow file.
const BATCH_ROWS: usize = 16 << 10;
/// Number of rows of a row group of a Parquet file, as DuckDB writes and reads them.
const ROW_GROUP_ROWS: usize = 120 << 10;

/// Accepts both formats, which this build can write.
#[expect(clippy::unnecessary_wraps, reason = "a build without them refuses")]
pub(super) fn ensure_supported() -> Result<()> {
    Ok(())
}

/// Writes a Parquet file.
pub(super) fn write_parquet(out: &mut dyn Write, table: &Table) -> Result<()> {
    let failed = |error: ParquetError| Error::io("writing Parquet", io::Error::other(error));
    let written = |error| Error::io("writing", error);
    let of = |(name, kind): (&String, CellType)| {
        let (physical, logical) = match kind {
            CellType::Bool => (Physical::BOOLEAN, None),
            CellType::Int => (Physical::INT64, None),
            CellType::Float => (Physical::DOUBLE, None),
            CellType::Null => (Physical::INT32, Some(LogicalType::Unknown)),
            _ => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let column = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        column.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    };
    let fields = table.names().iter().zip(table.types()).map(of).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let schema = Type::group_type_builder("table").with_fields(fields).build().map_err(failed)?;
    let how = WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by("trilith".to_owned()).build();
    // The library needs a writer that other threads may use, so it writes into memory first.
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(how)).map_err(failed)?;
    let mut rows = table.rows();
    while rows.len() > 0 {
        let rows: Vec<Row> = rows.by_ref().take(ROW_GROUP_ROWS).collect();
        let mut group = writer.next_row_group().map_err(failed)?;
        let mut at = 0;
        while let Some(mut column) = group.next_column().map_err(failed)? {
            write_column(column.untyped(), rows.iter().map(|row| row.get(at).unwrap_or(&TableCell::Null))).map_err(failed)?;
            column.close().map_err(failed)?;
            at += 1;
        }
        group.close().map_err(failed)?;
        let bytes = std::mem::take(writer.inner_mut());
        out.write_all(&bytes).map_err(written)?;
    }
    let rest = writer.into_inner().map_err(failed)?;
    out.write_all(&rest).map_err(written)
}

/// Writes the cells of a column; a cell of another type is null.
fn write_column<'t>(column: &mut ColumnWriter<'_>, cells: impl Iterator<Item = &'t TableCell> + Clone) -> Result<(), ParquetError> {
    /// The values, and for each cell whether it has one, as Parquet separates them.
    fn split_validity<'t, T>(cells: impl Iterator<Item = &'t TableCell>, of: impl Fn(&'t TableCell) -> Option<T>) -> (Vec<T>, Vec<i16>) {
        let mut values = Vec::new();
        let levels = cells.map(|cell| of(cell).map_or(0, |value| (values.push(value), 1).1)).collect();
        (values, levels)
    }
    match column {
        ColumnWriter::BoolColumnWriter(column) => {
            let (values, levels) = split_validity(cells, as_bool);
            column.write_batch(&values, Some(&levels), None)
        }
        ColumnWriter::Int64ColumnWriter(column) => {
            let (values, levels) = split_validity(cells, as_i64);
            column.write_batch(&values, Some(&levels), None)
        }
        ColumnWriter::DoubleColumnWriter(column) => {
            let (values, levels) = split_validity(cells, as_f64);
            column.write_batch(&values, Some(&levels), None)
        }
        ColumnWriter::ByteArrayColumnWriter(column) => {
            let (values, levels) = split_validity(cells, |cell| as_str(cell).map(ByteArray::from));
            column.write_batch(&values, Some(&levels), None)
        }
        // A column without any value.
        ColumnWriter::Int32ColumnWriter(column) => column.write_batch(&[], Some(&vec![0; cells.count()]), None),
        _ => return Err(ParquetError::NYI("a column of this type".to_owned())),
    }?;
    Ok(())
}

/// Writes an Arrow file.
pub(super) fn write_arrow(out: &mut dyn Write, table: &Table) -> Result<()> {
    let failed = |error| match error {
        ArrowError::IoError(_, error) => Error::io("writing Arrow", error),
        error => Error::io("writing Arrow", io::Error::other(error)),
    };
    let schema = build_schema(table);
    let mut writer = FileWriter::try_new(out, &schema).map_err(failed)?;
    let mut rows = table.rows();
    while rows.len() > 0 {
        let rows: Vec<Row> = rows.by_ref().take(BATCH_ROWS).collect();
        writer.write(&build_batch(&schema, &rows)?).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}

fn build_schema(table: &Table) -> Arc<Schema> {
    let kind = |kind| match kind {
        CellType::Bool => DataType::Boolean,
        CellType::Int => DataType::Int64,
        CellType::Float => DataType::Float64,
        CellType::Null => DataType::Null,
        _ => DataType::Utf8,
    };
    let field = |(column, of): (&TableColumnInfo, CellType)| {
        let unit = column.unit.iter().map(|unit| ("unit".to_owned(), unit.clone()));
        Field::new(&column.name, kind(of), true).with_metadata(unit.collect::<HashMap<_, _>>())
    };
    let fields: Vec<Field> = table.columns().iter().zip(table.types()).map(field).collect();
    Arc::new(Schema::new(fields))
}

fn build_batch(schema: &Arc<Schema>, rows: &[Row]) -> Result<RecordBatch> {
    let column = |(at, field): (usize, &Arc<Field>)| -> ArrayRef {
        let cells = rows.iter().map(|row| row.get(at).unwrap_or(&TableCell::Null));
        match field.data_type() {
            DataType::Boolean => Arc::new(cells.map(as_bool).collect::<BooleanArray>()),
            DataType::Int64 => Arc::new(cells.map(as_i64).collect::<Int64Array>()),
            DataType::Float64 => Arc::new(cells.map(as_f64).collect::<Float64Array>()),
            DataType::Null => Arc::new(NullArray::new(rows.len())),
            _ => Arc::new(cells.map(as_str).collect::<StringArray>()),
        }
    };
    let columns = schema.fields().iter().enumerate().map(column).collect();
    RecordBatch::try_new(schema.clone(), columns).map_err(|error| Error::io("making columns", io::Error::other(error)))
}

fn as_bool(cell: &TableCell) -> Option<bool> {
    if let TableCell::Bool(value) = cell { Some(*value) } else { None }
}

fn as_i64(cell: &TableCell) -> Option<i64> {
    if let TableCell::Int(value) = cell { Some(*value) } else { None }
}

fn as_f64(cell: &TableCell) -> Option<f64> {
    if let TableCell::Float(value) = cell { Some(*value) } else { None }
}

fn as_str(cell: &TableCell) -> Option<&str> {
    if let TableCell::Text(value) = cell { Some(value) } else { None }
}
