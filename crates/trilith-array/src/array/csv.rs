//! Arrays as comma-separated values (RFC 4180, lines end in LF).

use std::io::Write;

use super::handle::Array;
use super::scalar::{ElementValue, FloatText};
use super::shape::unravel;
use super::struct_type::{Field, StructType};
use crate::error::{Error, Result};

/// An empty string, as readers do not skip it.
const QUOTED_EMPTY: &str = "\"\"";

/// Columns that a structured array may have.
const MAX_COLUMNS: u64 = 100_000;

impl Array {
    /// The array as CSV: one element a line (one axis or none), one row a line (two axes), or one
    /// structured element a line below a line of names.
    ///
    /// A field that is an array takes a column for each value (`flux[0]`), a field in a struct is
    /// called `outer.inner`. Masked elements are empty, and an empty string is `""`. In a line that would be empty, which
    /// readers skip, both are `""`.
    ///
    /// ```
    /// use trilith_array::array::Array;
    /// let mut out = Vec::new();
    /// Array::from_slice(&[1i8, 2, 3, 4], &[2, 2])?.write_csv(&mut out)?;
    /// assert_eq!(out, b"1,2\n3,4\n");
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for more axes than a table has,
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if writing fails, and the errors of [`Array::load`].
    pub fn write_csv(&self, out: &mut dyn Write) -> Result<()> {
        let fields = self.datatype.as_struct();
        let most = if fields.is_some() { 1 } else { 2 };
        if self.shape.len() > most {
            let kind = if fields.is_some() { "a structured array" } else { "an array" };
            let message = format!("{kind} of shape {:?} is not a table", self.shape);
            return Err(Error::invalid_input(message).hint(format!("take a slice of at most {most} axes")));
        }
        let fail = |e| Error::io("writing CSV", e);
        if let Some(fields) = fields {
            let mut names = Vec::new();
            collect_column_names(fields, "", &mut names, &mut 0)?;
            let names: Vec<String> = names.iter().map(|name| quote_csv_field(name)).collect();
            writeln!(out, "{}", names.join(",")).map_err(fail)?;
            return self.for_each_scalar(|scalar, masked| {
                let mut line = Vec::new();
                flatten_element(&scalar, masked, &mut line);
                let line = line.join(",");
                writeln!(out, "{}", if line.is_empty() { QUOTED_EMPTY } else { &line }).map_err(fail)
            });
        }
        let width = if self.shape.len() == 2 { self.shape[1] } else { 1 };
        let mut column = 0;
        self.for_each_scalar(|scalar, masked| {
            column += 1;
            let text = match masked {
                true if width == 1 => QUOTED_EMPTY.to_owned(),
                true => String::new(),
                false => quote_csv_field(&scalar.text(FloatText::Shortest)),
            };
            let end = if column == width { "\n" } else { "," };
            column %= width;
            write!(out, "{text}{end}").map_err(fail)
        })
    }
}

/// The names of all columns, in the order in which [`flatten_element`] gives their values.
fn collect_column_names(fields: &StructType, before: &str, names: &mut Vec<String>, visited: &mut u64) -> Result<()> {
    for (i, field) in fields.fields().iter().enumerate() {
        let name = format!("{before}{}", field.name_or(i));
        // Fields without values count too.
        *visited = visited.saturating_add(field.count().max(1));
        if *visited > MAX_COLUMNS {
            return Err(Error::invalid_input(format!("field {name} makes a table of more than {MAX_COLUMNS} columns")));
        }
        for element in subscript_names(field) {
            let name = format!("{name}{element}");
            match field.datatype.as_struct() {
                Some(inner) => collect_column_names(inner, &format!("{name}."), names, visited)?,
                None => names.push(name),
            }
        }
    }
    Ok(())
}

/// `[0,0]`, `[0,1]`, … for a field that is an array, nothing for one that is not.
fn subscript_names(field: &Field) -> Vec<String> {
    if field.shape.is_empty() {
        return vec![String::new()];
    }
    let name = |i: u64| {
        let index: Vec<String> = unravel(i, &field.shape).iter().map(u64::to_string).collect();
        format!("[{}]", index.join(","))
    };
    (0..field.count()).map(name).collect()
}

fn flatten_element(scalar: &ElementValue, masked: bool, line: &mut Vec<String>) {
    match scalar {
        ElementValue::Struct(parts) | ElementValue::List(parts) => {
            parts.iter().for_each(|part| flatten_element(part, masked, line));
        }
        ElementValue::Missing => line.push(String::new()),
        _ if masked => line.push(String::new()),
        plain => line.push(quote_csv_field(&plain.text(FloatText::Shortest))),
    }
}

fn quote_csv_field(text: &str) -> String {
    // Quotes keep an empty string from being read as a missing value, or, alone in its line, as no row at all.
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
