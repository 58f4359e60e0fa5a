//! The text of a derived layout, in the dialect of 2025: names quoted if they need it, a byte order at every type, an
//! address at every item, one attribute a line.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use crate::array::{Byteorder, Datatype, StructType};
use crate::error::{Error, Result};
use crate::layout::{
    Attribute, LayoutLiteral, PADDING_NAME, UNREADABLE, own_attribute, own_name, own_value, primitive_of, quoted_name,
    reason_attribute,
};
use crate::limits::Limits;

/// Attributes whose own precision is that of the elements which they decode.
const DECODING_ATTRIBUTES: &[&str] = &["scale_factor", "add_offset"];

/// Attributes whose numbers are stored elements. They should have the datatype of these, but need not.
const ELEMENT_ATTRIBUTES: &[&str] =
    &["_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"];

/// The text of a layout as it grows. Attributes after an item belong to it, until the next item.
pub(crate) struct LayoutText {
    text: String,
    limits: Limits,
    /// The names of each dict that is open, with how often each was there, the root first.
    open_dicts: Vec<HashMap<String, u64>>,
    /// The names that were given since a place was marked, and whether each was reserved.
    item_start: Vec<(String, bool)>,
    /// The dicts that are open, as a path spells them.
    at: Vec<String>,
    /// Names of the dict that is open which were reserved for items that come later.
    reserved: HashSet<String>,
}

#[allow(dead_code, reason = "no format uses all of it, and which formats there are is a choice of the build")]
impl LayoutText {
    /// An empty layout of something: `a .npy file`.
    pub(super) fn new(what: &str, limits: &Limits) -> Self {
        Self {
            text: format!("# layout of {what}, from its own metadata\n"),
            limits: limits.clone(),
            open_dicts: vec![HashMap::new()],
            item_start: Vec::new(),
            at: Vec::new(),
            reserved: HashSet::new(),
        }
    }

    /// Opens a dict, in which the next items are; `close_dict` closes it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if dicts nest too deep, or the text grows too long.
    pub(super) fn open_dict(&mut self, name: &str) -> Result<()> {
        let name = self.claim_unique_name(name);
        self.limits.charge_depth(self.open_dicts.len(), "the layout")?;
        self.write_line(&[&name, "/"])?;
        self.open_dicts.push(HashMap::new());
        self.at.push(name);
        Ok(())
    }

    /// Closes the dict that was opened last.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn close_dict(&mut self) -> Result<()> {
        if self.open_dicts.len() > 1 {
            self.open_dicts.pop();
            self.at.pop();
            // The dict that is gone back to may have no more items: an attribute would be its.
            self.write_line(&[".."])?;
        }
        Ok(())
    }

    /// An array at a byte of the file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a datatype that layouts have not, and
    /// the errors of [`LayoutText::open_dict`].
    pub(super) fn write_array(
        &mut self,
        name: &str,
        datatype: &Datatype,
        order: Byteorder,
        shape: &[u64],
        offset: u64,
    ) -> Result<()> {
        let mut typed = String::new();
        push_type(datatype, order, shape, &mut typed)?;
        self.write_item(name, &type_at_offset(&typed, offset))
    }

    /// An item: what is after `NAME =`.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn write_item(&mut self, name: &str, said: &str) -> Result<()> {
        let name = self.claim_unique_name(name);
        self.write_line(&[&name, " = ", said])
    }

    /// A named type: its members, with braces, and its alignment. Types of one name are the caller's care.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn named_type(&mut self, name: &str, members: &str, align: u64) -> Result<()> {
        self.write_line(&[&quoted_name(&own_name(name)), " ", members, " %", &align.to_string()])
    }

    /// Writes an item, or the reason why it cannot be read: one bad part never hides the others. The output of a
    /// failed `write` is removed.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the file could not be read at all, and the errors of
    /// [`LayoutText::open_dict`].
    pub(super) fn or_unreadable(&mut self, name: &str, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let before = self.savepoint();
        match write(self) {
            Err(error) if !error.kind().is_transient() => {
                self.rollback(before);
                self.write_unreadable_item(name, &error)
            }
            written => written,
        }
    }

    /// An item that cannot be read, with the reason.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn write_unreadable_item(&mut self, name: &str, why: &Error) -> Result<()> {
        self.write_item(name, "{}")?;
        self.write_attribute(UNREADABLE, AttributeValue(reason_attribute(why)))
    }

    /// The reason for which the file as a whole is not what its metadata say; goes before all items.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn write_file_damage(&mut self, why: &Error) -> Result<()> {
        self.write_attribute(UNREADABLE, AttributeValue(reason_attribute(why)))
    }

    /// A list of raw items, which the caller spells: `u1[19] @4016`.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn raw_list(&mut self, name: &str, items: impl Iterator<Item = String>) -> Result<()> {
        let name = self.claim_unique_name(name);
        self.write_line(&[&name, " ["])?;
        for item in items {
            self.write_line(&["  ", &item, ","])?;
        }
        self.write_line(&["]"])
    }

    /// Reserves a name for an item of the dict that is open, and returns it with its path. It is as given, or somewhat longer if
    /// another item has that name.
    pub(super) fn reserve_name(&mut self, name: &str) -> (String, String) {
        let mut name = name.to_owned();
        let is_taken = |name: &str| self.open_dicts.last().is_some_and(|names| names.contains_key(&*own_name(name)));
        while is_taken(&name) {
            name.push('\'');
        }
        let own = own_name(&name).into_owned();
        if let Some(names) = self.open_dicts.last_mut() {
            names.insert(own.clone(), 1);
        }
        let steps = self.at.iter().cloned().chain([quoted_name(&own)]);
        let path = steps.fold(String::new(), |path, step| format!("{path}/{step}"));
        self.reserved.insert(own);
        (name, path)
    }

    /// Writes the parts of other files that follow the file: for each its first byte here, its first byte there and its length.
    /// Goes before all items, whenever it is said.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn write_file_parts(&mut self, parts: &[(String, [u64; 3])]) -> Result<()> {
        let rest = self.text.split_off(self.text.find('\n').map_or(0, |end| end + 1));
        let open = std::mem::take(&mut self.open_dicts);
        let files: Vec<LayoutLiteral> = parts.iter().map(|(file, _)| LayoutLiteral::Text(file.clone())).collect();
        let places: Vec<u64> = parts.iter().flat_map(|(_, place)| *place).collect();
        let said =
            self.write_attribute("grid_files", files).and_then(|()| self.write_attribute("grid_files_at", places.as_slice()));
        self.open_dicts = open;
        self.text.push_str(&rest);
        said
    }

    /// A parameter of this value, such as the length of a dimension.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn write_parameter(&mut self, name: &str, value: u64) -> Result<()> {
        // An item may have the name, too.
        self.write_line(&[&quoted_name(&own_name(name)), " : ", &value.to_string()])
    }

    /// Writes the type of the elements of the preceding item; `dims` are the lengths of elements that are arrays
    /// themselves.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::write_array`].
    pub(super) fn write_element_type(&mut self, datatype: &Datatype, order: Byteorder, dims: &[u64]) -> Result<()> {
        let mut typed = String::new();
        push_type(datatype, order, dims, &mut typed)?;
        self.write_attribute("grid_type", typed.as_str())
    }

    /// Marks the preceding item as an array of this shape, in chunks of that one.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn write_grid_shape(&mut self, shape: &[u64], chunk: &[u64]) -> Result<()> {
        self.write_attribute("grid_shape", shape)?;
        self.write_attribute("grid_chunk", chunk)
    }

    /// Lists the attributes, among those that decode the elements of the preceding item, that are 32-bit floats in
    /// their file, and those that are integers, each with its datatype. The type of decoded elements depends on it. Lists, too, the
    /// attributes of stored elements that have another datatype than `elements`.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn write_number_types<'n>(
        &mut self,
        elements: &Datatype,
        typed: impl Iterator<Item = (&'n str, &'n Datatype)>,
    ) -> Result<()> {
        let (mut singles, mut integers, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let typed =
            typed.filter(|(_, datatype)| datatype.is_integer() || matches!(datatype, Datatype::Float32 | Datatype::Float64));
        for (name, datatype) in typed {
            let pair = || [name, datatype.name()].map(|text| LayoutLiteral::Text(text.to_owned()));
            match datatype {
                _ if ELEMENT_ATTRIBUTES.contains(&name) && datatype != elements => others.extend(pair()),
                _ if !DECODING_ATTRIBUTES.contains(&name) => {}
                Datatype::Float32 => singles.push(LayoutLiteral::Text(name.to_owned())),
                Datatype::Float64 => {}
                _ => integers.extend(pair()),
            }
        }
        for (word, list) in [("grid_float32", singles), ("grid_integers", integers), ("grid_types", others)] {
            if !list.is_empty() {
                self.write_attribute(word, list)?;
            }
        }
        Ok(())
    }

    /// Writes an attribute that the file itself has. No name of it is a word of layouts.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn file_attribute(&mut self, name: &str, value: impl Into<AttributeValue>) -> Result<()> {
        self.write_attribute(&own_attribute(name), value)
    }

    /// Writes an attribute of the item before, or of the root if there is none: a word of layouts.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn write_attribute(&mut self, name: &str, value: impl Into<AttributeValue>) -> Result<()> {
        let name = quoted_name(name);
        match value.into().0 {
            Attribute::Flag => self.write_line(&["  #: ", &name]),
            Attribute::List(values) if values.is_empty() => self.write_line(&["  #: ", &name, "=\"\""]),
            value => self.write_line(&["  #: ", &name, "=", &own_value(value).to_string()]),
        }
    }

    /// A line of documentation of the item before, which every reader shows.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn write_doc_lines(&mut self, said: &str) -> Result<()> {
        printable_lines(said).into_iter().try_for_each(|line| self.write_line(&["  ## ", &line]))
    }

    /// A comment: what the layout cannot say.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn write_comment_lines(&mut self, said: &str) -> Result<()> {
        printable_lines(said).into_iter().try_for_each(|line| self.write_line(&["# ", &line]))
    }

    /// A place to go back to, before another dict is opened or closed.
    pub(super) fn savepoint(&mut self) -> usize {
        self.item_start.clear();
        self.text.len()
    }

    /// Takes back what was written since a place was marked.
    pub(super) fn rollback(&mut self, mark: usize) {
        if let Some(names) = self.open_dicts.last_mut() {
            for (name, was_reserved) in self.item_start.drain(..) {
                if was_reserved {
                    self.reserved.insert(name);
                } else {
                    names.remove(&name);
                }
            }
        }
        self.text.truncate(mark);
    }

    /// The text.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutText::open_dict`].
    pub(super) fn finish(mut self) -> Result<String> {
        while self.open_dicts.len() > 1 {
            self.close_dict()?;
        }
        Ok(self.text)
    }

    /// Writes a line, which is given in parts. The first part of a note begins with its mark, `#`.
    fn write_line(&mut self, parts: &[&str]) -> Result<()> {
        let (before, first) = (self.text.len(), parts.first().copied().unwrap_or_default());
        let mut sum = before as u64;
        let len = parts.iter().map(|part| part.len()).sum::<usize>();
        self.limits.charge_text(&mut sum, len + 1, "the lines of the layout")?;
        if !first.starts_with('#') {
            (1..self.open_dicts.len().min(17)).for_each(|_| self.text.push_str("  "));
        }
        let from = self.text.len();
        parts.iter().for_each(|part| self.text.push_str(part));
        self.text.push('\n');
        let is_note = first.trim_start().starts_with('#');
        let checked = if is_note { Ok(()) } else { check_numbers(self.text.get(from..).unwrap_or_default()) };
        checked.inspect_err(|_| self.text.truncate(before))
    }

    /// A name as the layout spells it. No two items of a dict have one: the second gets a number.
    fn claim_unique_name(&mut self, name: &str) -> String {
        let mut name = own_name(name).into_owned();
        if self.reserved.remove(&name) {
            self.item_start.push((name.clone(), true));
            return quoted_name(&name);
        }
        if let Some(names) = self.open_dicts.last_mut() {
            while let Some(count) = names.get_mut(&name) {
                *count += 1;
                name = format!("{name} ({count})");
            }
            names.insert(name.clone(), 1);
            self.item_start.push((name.clone(), false));
        }
        quoted_name(&name)
    }
}

/// The value of an attribute, as the metadata of a file have it.
pub(crate) struct AttributeValue(pub Attribute);

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        AttributeValue(Attribute::Value(LayoutLiteral::Text(text.to_owned())))
    }
}

impl From<&[u64]> for AttributeValue {
    fn from(values: &[u64]) -> Self {
        AttributeValue::from_literals(values.iter().map(|value| to_integer_literal(i128::from(*value))).collect())
    }
}

impl From<Vec<LayoutLiteral>> for AttributeValue {
    fn from(values: Vec<LayoutLiteral>) -> Self {
        AttributeValue(Attribute::List(values))
    }
}

impl From<LayoutLiteral> for AttributeValue {
    fn from(value: LayoutLiteral) -> Self {
        match value {
            LayoutLiteral::Text(text) => AttributeValue::from(text.as_str()),
            value => AttributeValue(Attribute::Value(value)),
        }
    }
}

impl From<i64> for AttributeValue {
    fn from(value: i64) -> Self {
        AttributeValue(Attribute::Value(LayoutLiteral::Integer(value)))
    }
}

impl AttributeValue {
    fn from_literals(values: Vec<LayoutLiteral>) -> Self {
        AttributeValue(Attribute::List(values))
    }
}

/// Bytes as `grid_fill` and `grid_head` have them.
pub(crate) fn to_hex_text(bytes: &[u8]) -> String {
    let mut text = "0x".to_owned();
    bytes.iter().for_each(|byte| {
        let _ = write!(text, "{byte:02x}");
    });
    text
}

/// A whole number.
pub(crate) fn to_integer_literal(value: i128) -> LayoutLiteral {
    i64::try_from(value).map_or_else(|_| LayoutLiteral::Large(value.to_string()), LayoutLiteral::Integer)
}

/// Text without what would end its line.
fn replace_control_chars(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// The lines of a text, without the NULs at its end.
fn printable_lines(text: &str) -> Vec<String> {
    text.trim_end_matches(['\0', '\n', '\r']).lines().map(replace_control_chars).collect()
}

/// A datatype with its byte order and a shape; structs with the place of each member.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a datatype that layouts have not.
pub(crate) fn push_type(datatype: &Datatype, order: Byteorder, shape: &[u64], out: &mut String) -> Result<()> {
    let mut dims = shape.to_vec();
    match (primitive_of(datatype)?, datatype) {
        (Some((name, length)), _) => {
            let has_order = !matches!(name, "i1" | "u1" | "b1" | "S1" | "U1");
            out.push_str(match order {
                _ if !has_order => "",
                Byteorder::Little => "<",
                Byteorder::Big => ">",
            });
            out.push_str(name);
            dims.extend(length.map(u64::from));
        }
        (None, Datatype::Struct(fields)) => push_struct_members(fields, out)?,
        (None, _) => {}
    }
    push_shape(out, &dims);
    Ok(())
}

/// A shape as a layout spells it; nothing for a scalar.
pub(crate) fn to_shape_text(lengths: &[u64]) -> String {
    let mut text = String::new();
    push_shape(&mut text, lengths);
    text
}

fn push_shape(text: &mut String, lengths: &[u64]) {
    for (n, length) in lengths.iter().enumerate() {
        text.push(if n == 0 { '[' } else { ',' });
        push_number(text, *length);
    }
    if !lengths.is_empty() {
        text.push(']');
    }
}

/// A type as a layout spells it, at a byte of the file.
pub(crate) fn type_at_offset(typed: &str, at: u64) -> String {
    let mut text = String::with_capacity(typed.len() + MAX_PLACE_LEN);
    text.push_str(typed);
    push_place(&mut text, at);
    text
}

/// A number of bytes as a layout spells it, at a byte of the file.
pub(crate) fn placed_bytes(size: u64, at: u64) -> String {
    let mut text = String::with_capacity(24 + MAX_PLACE_LEN);
    text.push_str("u1");
    push_shape(&mut text, &[size]);
    push_place(&mut text, at);
    text
}

/// Number of bytes of the longest place.
const MAX_PLACE_LEN: usize = 22;

fn push_place(text: &mut String, at: u64) {
    text.push_str(" @");
    push_number(text, at);
}

/// Appends a number. `format!` takes several times as long, and a layout may have millions of numbers.
fn push_number(text: &mut String, number: u64) {
    text.push_str(itoa::Buffer::new().format(number));
}

/// The members of a struct, each at its offset, and what fills it up to its size; as deep as datatypes nest.
fn push_struct_members(fields: &StructType, out: &mut String) -> Result<()> {
    out.push('{');
    let mut end = 0u64;
    for (n, field) in fields.fields().iter().enumerate() {
        let _ = write!(out, "{}{} = ", if n == 0 { "" } else { "  " }, quoted_name(&own_name(&field.name_or(n))));
        push_type(&field.datatype, field.byteorder, &field.shape, out)?;
        push_place(out, field.offset);
        end = end.max(field.offset.saturating_add(field.count().saturating_mul(field.datatype.item_size())));
    }
    let size = fields.item_size();
    if size > end {
        let _ = write!(out, "  {PADDING_NAME} = {}", placed_bytes(size - end, end));
    }
    out.push('}');
    Ok(())
}

/// Refuses numbers that a layout cannot hold, such as places that are after the end of every file.
fn check_numbers(line: &str) -> Result<()> {
    let (mut at, mut is_name) = (0, false);
    while let Some((byte, rest)) = line.as_bytes().get(at..).and_then(<[u8]>::split_first) {
        at += 1;
        match byte {
            b'"' => is_name = !is_name,
            b'\\' if is_name => at += 1,
            b'0'..=b'9' if !is_name => {
                let end = at + rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let number = line.get(at - 1..end).unwrap_or_default();
                if number.len() >= 19 && number.parse::<i64>().is_err() {
                    return Err(Error::malformed(format!("the number {number} of the file does not fit in 63 bits")));
                }
                at = end;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    #[test]
    fn numbers_that_no_layout_has_are_refused() {
        let mut text = LayoutText::new("a test", &Limits::default());
        for (name, said, is_fine) in [
            ("most", "u1 @9223372036854775807", true),
            ("more", "u1 @9223372036854775808", false),
            ("address", "u1[3] @18446742974197938034", false),
            ("shape", "u1[99999999999999999999]", false),
            ("9999999999999999999999", "u1", true),
            ("a\"9999999999999999999999\"b", "u1", true),
        ] {
            assert_eq!(text.write_item(name, said).is_ok(), is_fine, "{name} = {said}");
        }
        text.raw_list("list", ["u1 @18446742974197938034".to_owned()].into_iter()).unwrap_err();
        text.write_attribute("digits", "9999999999999999999999").unwrap();
    }

    #[test]
    fn odd_names_and_values_round_trip() {
        let mut text = LayoutText::new("a test", &Limits::default());
        let names = ["a", "a", "a b", "x/y", "1st", "\"q\"\\", "new\nline", "", "..", "é"];
        let texts = ["", "plain", "a \"b\" \\ c", "two\nlines", "nul\0", "tab\tbed", "# not a comment"];
        text.write_attribute("title", "of all").unwrap();
        for name in names {
            text.open_dict(name).unwrap();
            text.write_attribute("odd name!", name).unwrap();
            for (n, said) in texts.iter().enumerate() {
                text.write_item(name, &format!("<f8[2] @{n}")).unwrap();
                text.write_attribute("text", *said).unwrap();
                text.write_attribute(
                    "numbers",
                    AttributeValue::from_literals(vec![LayoutLiteral::Float(f64::NAN), LayoutLiteral::Float(1e300)]),
                )
                .unwrap();
                text.write_attribute(
                    "large",
                    AttributeValue::from_literals(vec![to_integer_literal(1 << 70), to_integer_literal(-3)]),
                )
                .unwrap();
            }
            text.close_dict().unwrap();
        }
        let layout = Layout::read(text.finish().unwrap().as_bytes()).unwrap();
        assert_eq!(layout.children(crate::layout::ItemId::ROOT).count(), names.len());
        assert_eq!(layout.attributes(crate::layout::ItemId::ROOT).count(), 1);
    }
}
