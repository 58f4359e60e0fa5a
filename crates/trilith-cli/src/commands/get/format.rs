//! What `get` writes: arrays and parts of the tree, in the format that is asked for.

use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use trilith::array::{Array, Byteorder, Datatype, FloatText};
use trilith::asdf::{AsdfFile, ExpandOptions, outline, walk};
use trilith::tree::{Node, PrintOptions, Scalar, Value, print_document};
use trilith::{Error, Kind, Result};

use crate::commands::tree::write_json;
use crate::output::{Escaped, clean_text};
use crate::outputs::Form;

/// What an array is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
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
    /// The format that the ending of a name stands for; None for one that stands for nothing.
    pub fn of_ending(path: &str) -> Option<Self> {
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

    /// What a file in this format is.
    pub fn form(self) -> Form {
        match self {
            Self::Text => Form::Text,
            Self::Json => Form::Json,
            Self::Yaml => Form::Yaml,
            Self::Npy => Form::Npy,
            Self::Csv => Form::Csv,
            Self::Raw => Form::Raw,
        }
    }

    /// Whether it is no text.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Npy | Self::Raw)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::io("writing", error)
}

/// Writes an array.
pub fn array(array: &Array, format: Format, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Json => {
            array.write_json(&mut Escaped::new(&mut *out), FloatText::Shortest)?;
            out.write_all(b"\n").map_err(failed)
        }
        Format::Yaml => {
            let nested = outline::nested(array, "tag:stsci.edu:asdf/core/complex-1.0.0")?;
            out.write_all(print_document(&nested.flow(), &PrintOptions::default()).as_bytes()).map_err(failed)
        }
        Format::Npy => array.write_npy(out),
        Format::Csv => array.write_csv(out),
        Format::Raw => array.for_each_piece(4 << 20, |bytes| out.write_all(bytes).map_err(failed)),
        Format::Text => text(array, out),
    }
}

/// One line for each row of the last axis; masked elements as `--`.
fn text(array: &Array, out: &mut dyn Write) -> Result<()> {
    let row = array.shape().last().copied().unwrap_or(1).max(1);
    let mut column = 0;
    array.for_each_scalar(|scalar, masked| {
        if column > 0 {
            out.write_all(b" ").map_err(failed)?;
        }
        let text = if masked { "--".to_owned() } else { scalar.text(FloatText::Shortest) };
        out.write_all(crate::output::clean(&text).as_bytes()).map_err(failed)?;
        column += 1;
        if column == row {
            out.write_all(b"\n").map_err(failed)?;
            column = 0;
        }
        Ok(())
    })
}

/// Writes a part of the tree that is no array: a scalar as a line of text, the rest as JSON, or as what is asked for.
pub fn value(file: &AsdfFile, found: &walk::Found, format: Format, out: &mut dyn Write) -> Result<()> {
    let node = found.node(file);
    match format {
        Format::Text if node.is_scalar() => {
            let text = node.text();
            out.write_all(clean_text(&text).as_bytes()).and_then(|()| out.write_all(b"\n")).map_err(failed)
        }
        Format::Text | Format::Json => write_json(out, file, found, ExpandOptions::default(), false),
        Format::Yaml => {
            let handles = node.tree().tag_handles().map(|(handle, prefix)| (handle.to_owned(), prefix.to_owned())).collect();
            let options = PrintOptions { handles, ..PrintOptions::default() };
            let value: Value = node.to_value(file.limits())?;
            out.write_all(print_document(&value, &options).as_bytes()).map_err(failed)
        }
        Format::Npy | Format::Csv | Format::Raw => array(&as_array(found.file(file), node)?, format, out),
    }
}

/// A number, or a list of lists of numbers or texts, as an array.
fn as_array(file: &AsdfFile, node: Node<'_>) -> Result<Array> {
    let no_array = |why: &str| {
        Error::usage(format!("this is no array of one datatype{why}")).hint("write it as .json, .yaml or .txt")
    };
    if node.is_sequence() {
        return file.array(node).map_err(|error| match error.kind() {
            Kind::Malformed | Kind::Unsupported => no_array(&format!(": {}", error.message())),
            _ => error,
        });
    }
    match node.scalar() {
        Scalar::Int(number) if node.is_scalar() => Array::from_slice(&[number], &[]),
        Scalar::Float(number) if node.is_scalar() => Array::from_slice(&[number], &[]),
        Scalar::Bool(truth) if node.is_scalar() => Array::from_slice(&[truth], &[]),
        Scalar::Str(text) if node.is_scalar() => {
            let letters = u32::try_from(text.chars().count()).map_err(|_| no_array(": the text is too long"))?;
            let bytes = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
            Array::from_bytes(bytes, Datatype::Ucs4(letters), Byteorder::Little, Vec::new())
        }
        _ => Err(no_array(if node.is_mapping() { ": it is a mapping" } else { "" })),
    }
}
