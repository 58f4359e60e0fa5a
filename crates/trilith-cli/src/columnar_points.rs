//! Points in columns of Parquet and Arrow files.

use std::collections::HashMap;
use std::io;

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
use ::parquet::record::Field as ParquetField;
use arrow_array::{Array as _, ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, StringArray};
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use trilith::bytes::from_base64;
use trilith::table::TableCell;
use trilith::tree::{Node, Tree};
use trilith::wcs::{PointColumn, PointTable};
use trilith::{Error, Result};

use crate::output::current_limits;

/// Reads the columns of a Parquet file.
pub(crate) fn read_parquet_points(bytes: Vec<u8>) -> Result<PointTable> {
    let failed = |error: ParquetError| {
        let is_codec = matches!(error, ParquetError::NYI(_)) || error.to_string().contains("Disabled feature");
        let message = format!("cannot read Parquet: {error}");
        if is_codec {
            Error::unsupported(message).hint("write it without compression, or with Snappy")
        } else {
            Error::malformed(message)
        }
    };
    let reader = SerializedFileReader::new(::bytes::Bytes::from(bytes)).map_err(failed)?;
    let schema = reader.metadata().file_metadata().schema();
    let metadata = |key: &str| {
        let mut entries = reader.metadata().file_metadata().key_value_metadata().into_iter().flatten();
        entries.find(|entry| entry.key == key)?.value.as_deref()
    };
    let stated = metadata(ASTROPY_META).map(astropy_units).unwrap_or_default();
    let arrow = metadata(ARROW_SCHEMA).and_then(parse_arrow_schema);
    let fields: HashMap<&str, &Field> =
        arrow.iter().flat_map(|schema| schema.fields()).map(|field| (field.name().as_str(), &**field)).collect();
    let unit = |name: &str| fields.get(name).and_then(|field| field.metadata().get(UNIT)).or_else(|| stated.get(name)).cloned();
    let mut columns: Vec<PointColumn> =
        schema.get_fields().iter().map(|field| PointColumn::new(field.name(), unit(field.name()), Vec::new())).collect();
    for row in reader.get_row_iter(None).map_err(failed)? {
        let row = row.map_err(failed)?;
        for ((_, field), column) in row.get_column_iter().zip(&mut columns) {
            column.cells.push(match field {
                ParquetField::Bool(value) => TableCell::Bool(*value),
                ParquetField::Byte(value) => TableCell::Int((*value).into()),
                ParquetField::Short(value) => TableCell::Int((*value).into()),
                ParquetField::Int(value) => TableCell::Int((*value).into()),
                ParquetField::Long(value) => TableCell::Int(*value),
                ParquetField::UByte(value) => TableCell::Int((*value).into()),
                ParquetField::UShort(value) => TableCell::Int((*value).into()),
                ParquetField::UInt(value) => TableCell::Int((*value).into()),
                ParquetField::Float(value) => TableCell::Float((*value).into()),
                ParquetField::Double(value) => TableCell::Float(*value),
                ParquetField::Str(value) => TableCell::Text(value.clone()),
                ParquetField::Null => TableCell::Null,
                // A list or a time is not a number.
                _ => TableCell::Text("a value that is not a number".to_owned()),
            });
        }
    }
    Ok(PointTable::from_columns(columns))
}

/// Reads the columns of an Arrow file.
pub(crate) fn read_arrow_points(bytes: Vec<u8>) -> Result<PointTable> {
    let failed = |error: ArrowError| Error::malformed(format!("cannot read Arrow: {error}"));
    let reader = FileReader::try_new(io::Cursor::new(bytes), None).map_err(failed)?;
    let schema = reader.schema();
    let stated = schema.metadata().get(ASTROPY_META).map(|text| astropy_units(text)).unwrap_or_default();
    let unit = |field: &Field| field.metadata().get(UNIT).or_else(|| stated.get(field.name())).cloned();
    let mut columns: Vec<PointColumn> =
        schema.fields().iter().map(|field| PointColumn::new(field.name(), unit(field), Vec::new())).collect();
    for batch in reader {
        let batch = batch.map_err(failed)?;
        for (array, column) in batch.columns().iter().zip(&mut columns) {
            column.cells.extend((0..array.len()).map(|at| arrow_cell(array, at)));
        }
    }
    Ok(PointTable::from_columns(columns))
}

/// Key of the metadata of a field that has its unit, as Trilith and others write it.
const UNIT: &str = "unit";
/// Key of the metadata of a Parquet file that has the Arrow schema.
const ARROW_SCHEMA: &str = "ARROW:schema";
/// Key of the metadata of a file that astropy has written.
const ASTROPY_META: &str = "table_meta_yaml";

/// Returns the Arrow schema in the metadata of a Parquet file: a message in base64.
fn parse_arrow_schema(text: &str) -> Option<Schema> {
    let bytes = from_base64(text)?;
    // The marker of a continued stream, and the length.
    let message = if bytes.starts_with(&[0xff; 4]) { bytes.get(8..)? } else { &bytes };
    arrow_ipc::root_as_message(message)
        .ok()?
        .header_as_schema()
        .and_then(|schema| arrow_ipc::convert::try_fb_to_schema(schema).ok())
}

/// Returns the units of columns in the description that astropy writes, a list of columns in YAML.
fn astropy_units(text: &str) -> HashMap<String, String> {
    let Ok(tree) = Tree::parse(text, &current_limits()) else { return HashMap::new() };
    let root = tree.root();
    let columns = if root.is_mapping() { root.get("datatype") } else { None };
    let columns = columns.into_iter().filter(|columns| columns.is_sequence()).flat_map(Node::items);
    let stated = columns.filter(|column| column.is_mapping()).filter_map(|column| {
        let (name, unit) = (column.get("name")?, column.get("unit").filter(|unit| unit.is_scalar())?);
        Some((name.text().into_owned(), unit.text().into_owned()))
    });
    stated.collect()
}

fn arrow_cell(array: &ArrayRef, at: usize) -> TableCell {
    let any = array.as_any();
    if array.is_null(at) || array.data_type() == &DataType::Null {
        return TableCell::Null;
    }
    if let Some(array) = any.downcast_ref::<Float64Array>() {
        return TableCell::Float(array.value(at));
    }
    if let Some(array) = any.downcast_ref::<Float32Array>() {
        return TableCell::Float(array.value(at).into());
    }
    if let Some(array) = any.downcast_ref::<Int64Array>() {
        return TableCell::Int(array.value(at));
    }
    if let Some(array) = any.downcast_ref::<Int32Array>() {
        return TableCell::Int(array.value(at).into());
    }
    match any.downcast_ref::<StringArray>() {
        Some(array) => TableCell::Text(array.value(at).to_owned()),
        None => TableCell::Text("a value that is not a number".to_owned()),
    }
}
