//! Output of `get`: arrays and parts of the tree, in the selected format.

use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use trilith::array::{Array, FloatText};
use trilith::asdf::nested;
use trilith::file::{ExpandOptions, Item, ItemKind, table_columns};
use trilith::tree::{PrintOptions, print_document};
use trilith::{Error, Result};

use crate::commands::tree::write_json;
use crate::output::{JsonEscaper, escape_controls_in_text};
use crate::outputs::FileFormat;

/// The output format of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Readable text.
    Text,
    /// Nested lists.
    Json,
    /// YAML, nested lists on one line.
    Yaml,
    /// numpy's file format.
    Npy,
    /// Comma-separated values, one row a line.
    Csv,
    /// The elements alone: C order, packed, little-endian.
    Raw,
}

impl Format {
    /// The format of an extension; None for an unknown one.
    pub(super) fn from_extension(path: &str) -> Option<Self> {
        Some(match Path::new(path).extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "npy" => Self::Npy,
            "csv" => Self::Csv,
            "json" => Self::Json,
            "yaml" | "yml" => Self::Yaml,
            "txt" => Self::Text,
            "raw" | "bin" | "dat" => Self::Raw,
            _ => return None,
        })
    }

    /// Returns the form of a file in this format.
    pub(super) fn output_format(self) -> FileFormat {
        match self {
            Self::Text => FileFormat::Text,
            Self::Json => FileFormat::Json,
            Self::Yaml => FileFormat::Yaml,
            Self::Npy => FileFormat::Npy,
            Self::Csv => FileFormat::Csv,
            Self::Raw => FileFormat::Raw,
        }
    }

    /// Returns `true` if it is not text.
    pub(super) fn is_binary(self) -> bool {
        matches!(self, Self::Npy | Self::Raw)
    }
}

fn unsupported_kind(error: std::io::Error) -> Error {
    Error::io("writing", error)
}

/// Writes an array; JSON without a line break after it.
pub(super) fn write_array(array: &Array, format: Format, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Json => {
            array.write_json(&mut JsonEscaper::new(&mut *out), FloatText::Shortest)
        }
        Format::Yaml => {
            let nested = nested(array, "tag:stsci.edu:asdf/core/complex-1.0.0")?;
            out.write_all(print_document(&nested.flow(), &PrintOptions::default()).as_bytes()).map_err(unsupported_kind)
        }
        Format::Npy => array.write_npy(out),
        Format::Csv => array.write_csv(out),
        Format::Raw => array.for_each_piece(4 << 20, |bytes| out.write_all(bytes).map_err(unsupported_kind)),
        Format::Text => write_text_rows(array, out),
    }
}

/// Writes a line for each row of the last axis; masked elements as `--`.
fn write_text_rows(array: &Array, out: &mut dyn Write) -> Result<()> {
    let row = array.shape().last().copied().unwrap_or(1).max(1);
    let mut column = 0;
    array.for_each_scalar(|scalar, masked| {
        if column > 0 {
            out.write_all(b" ").map_err(unsupported_kind)?;
        }
        let text = if masked { "--".to_owned() } else { scalar.text(FloatText::Shortest) };
        out.write_all(crate::output::escape_controls(&text).as_bytes()).map_err(unsupported_kind)?;
        column += 1;
        if column == row {
            out.write_all(b"\n").map_err(unsupported_kind)?;
            column = 0;
        }
        Ok(())
    })
}

/// Writes an item that is not an array: a scalar as a line of text, the rest as JSON, or as what is asked for. JSON has
/// no line break after it.
pub(super) fn write_value(item: &Item<'_>, format: Format, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Text if matches!(item.kind(), ItemKind::Scalar | ItemKind::Text | ItemKind::Null) => {
            let text = item.text()?;
            out.write_all(escape_controls_in_text(&text).as_bytes()).and_then(|()| out.write_all(b"\n")).map_err(unsupported_kind)
        }
        Format::Yaml => {
            let (value, handles) = item.to_value()?;
            let mut how = PrintOptions::default();
            how.handles = handles;
            out.write_all(print_document(&value, &how).as_bytes()).map_err(unsupported_kind)
        }
        // The bytes of a string are those of its text.
        Format::Raw if item.kind() == ItemKind::Text => out.write_all(item.text()?.as_bytes()).map_err(unsupported_kind),
        Format::Npy | Format::Csv | Format::Raw => {
            let array = item.as_array().map_err(|error| match table_columns(item) {
                Ok(Some(_)) => error.hint("trilith table FILE#/path -o OUT.csv writes the rows of a table"),
                _ => error,
            });
            write_array(&array?, format, out)
        }
        Format::Text | Format::Json => {
            let mut how = ExpandOptions::default();
            let flags = item.flags();
            how.inline = flags.is_history || flags.is_ragged;
            write_json(out, item, how)
        }
    }
}
