//! Tables by columns: Parquet and Arrow files.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, NullArray, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use trilith::table::{Cell, CellType, Row, Table};
use trilith::{Error, Result};

/// Number of rows that are turned into columns at a time.
const BATCH: usize = 16 << 10;

/// Both can be written.
#[expect(clippy::unnecessary_wraps, reason = "a build without them refuses")]
pub fn check() -> Result<()> {
    Ok(())
}

/// Writes a Parquet file.
pub fn parquet(out: &mut dyn Write, table: &Table) -> Result<()> {
    let failed = |error: ParquetError| Error::io("writing Parquet", io::Error::other(error));
    let written = |error| Error::io("writing", error);
    let schema = schema(table);
    let how = WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by("trilith".to_owned()).build();
    // The library needs a writer that other threads may use, so it writes into memory first.
    let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(how)).map_err(failed)?;
    let mut rows = table.rows();
    while rows.len() > 0 {
        let rows: Vec<Row> = rows.by_ref().take(BATCH).collect();
        writer.write(&batch(&schema, &rows)?).map_err(failed)?;
        let bytes = std::mem::take(writer.inner_mut());
        out.write_all(&bytes).map_err(written)?;
    }
    let rest = writer.into_inner().map_err(failed)?;
    out.write_all(&rest).map_err(written)
}

/// Writes an Arrow file.
pub fn arrow(out: &mut dyn Write, table: &Table) -> Result<()> {
    let failed = |error| match error {
        ArrowError::IoError(_, error) => Error::io("writing Arrow", error),
        error => Error::io("writing Arrow", io::Error::other(error)),
    };
    let schema = schema(table);
    let mut writer = FileWriter::try_new(out, &schema).map_err(failed)?;
    let mut rows = table.rows();
    while rows.len() > 0 {
        let rows: Vec<Row> = rows.by_ref().take(BATCH).collect();
        writer.write(&batch(&schema, &rows)?).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}

fn schema(table: &Table) -> Arc<Schema> {
    let kind = |kind| match kind {
        CellType::Bool => DataType::Boolean,
        CellType::Int => DataType::Int64,
        CellType::Float => DataType::Float64,
        CellType::Null => DataType::Null,
        _ => DataType::Utf8,
    };
    let fields: Vec<Field> = table.names().iter().zip(table.types()).map(|(name, of)| Field::new(name, kind(of), true)).collect();
    Arc::new(Schema::new(fields))
}

fn batch(schema: &Arc<Schema>, rows: &[Row]) -> Result<RecordBatch> {
    let column = |(at, field): (usize, &Arc<Field>)| -> ArrayRef {
        let cells = rows.iter().map(|row| row.get(at).unwrap_or(&Cell::Null));
        match field.data_type() {
            DataType::Boolean => Arc::new(cells.map(|cell| if let Cell::Bool(value) = cell { Some(*value) } else { None }).collect::<BooleanArray>()),
            DataType::Int64 => Arc::new(cells.map(|cell| if let Cell::Int(value) = cell { Some(*value) } else { None }).collect::<Int64Array>()),
            DataType::Float64 => {
                Arc::new(cells.map(|cell| if let Cell::Float(value) = cell { Some(*value) } else { None }).collect::<Float64Array>())
            }
            DataType::Null => Arc::new(NullArray::new(rows.len())),
            _ => Arc::new(cells.map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None }).collect::<StringArray>()),
        }
    };
    let columns = schema.fields().iter().enumerate().map(column).collect();
    RecordBatch::try_new(schema.clone(), columns).map_err(|error| Error::io("making columns", io::Error::other(error)))
}
