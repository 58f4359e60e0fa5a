//! Datatypes, shapes and places of the items that a program writes into a layout.

use std::fmt;

use super::escape::{PADDING_NAME, own_name};
use super::lexer::{byteorder_of, quoted_name};
use super::model::{Dialect, Primitive};
use super::primitive::primitive_of;
use crate::array::{Byteorder, Datatype, StructType};
use crate::error::{Error, Result};

/// The datatype of an item or of a member of a struct.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TypeSpec {
    /// A primitive and its byte order, if it has one.
    Primitive(Primitive, Option<Byteorder>),
    /// A struct. One without members takes no space.
    Struct(Vec<MemberSpec>),
    /// A type that was declared under this name.
    Named(String),
}

/// A member of a struct.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemberSpec {
    pub name: String,
    pub item: ItemSpec,
}

/// The datatype, the shape and the place of an item or a member.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ItemSpec {
    pub typed: TypeSpec,
    pub shape: Vec<u64>,
    /// The byte of the file, or of the struct.
    pub offset: Option<u64>,
}

/// An element of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ElementSpec {
    Item(ItemSpec),
    List(Vec<ItemSpec>),
}

impl From<ItemSpec> for ElementSpec {
    fn from(item: ItemSpec) -> Self {
        ElementSpec::Item(item)
    }
}

impl TypeSpec {
    /// The type of the name that the language has for it, with its byte order: `<f8`. Other names are those of named types.
    pub(crate) fn from_name(name: &str) -> Self {
        let (prefix, bare) = match name.as_bytes().first() {
            Some(prefix @ (b'<' | b'>')) => (byteorder_of(*prefix), name.get(1..).unwrap_or(name)),
            _ => (None, name),
        };
        match Primitive::from_name(bare, Dialect::D2025) {
            Some(primitive) => TypeSpec::Primitive(primitive, prefix),
            None => TypeSpec::Named(name.to_owned()),
        }
    }

    /// The type with a shape, without a place.
    pub(crate) fn with_shape(self, shape: Vec<u64>) -> ItemSpec {
        ItemSpec { typed: self, shape, offset: None }
    }
}

impl ItemSpec {
    /// An item that takes no space.
    pub(crate) fn null() -> Self {
        TypeSpec::Struct(Vec::new()).with_shape(Vec::new())
    }

    /// A number of bytes.
    pub(crate) fn bytes(len: u64) -> Self {
        TypeSpec::from_name("u1").with_shape(vec![len])
    }

    /// Elements of a datatype; structs have the place of each member.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a datatype that layouts lack.
    pub(crate) fn from_datatype(datatype: &Datatype, order: Byteorder, shape: &[u64]) -> Result<Self> {
        let mut dims = shape.to_vec();
        let typed = match (primitive_of(datatype)?, datatype) {
            (Some((name, length)), _) => {
                dims.extend(length.map(u64::from));
                match (TypeSpec::from_name(name), name) {
                    (TypeSpec::Primitive(primitive, _), name) if !matches!(name, "i1" | "u1" | "b1" | "S1" | "U1") => {
                        TypeSpec::Primitive(primitive, Some(order))
                    }
                    (typed, _) => typed,
                }
            }
            (None, Datatype::Struct(fields)) => TypeSpec::Struct(struct_members(fields)?),
            (None, _) => TypeSpec::Struct(Vec::new()),
        };
        Ok(typed.with_shape(dims))
    }

    /// The item at a byte of the file or of its struct.
    pub(crate) fn with_offset(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }

    /// The item as the member of that name.
    pub(crate) fn into_member(self, name: &str) -> MemberSpec {
        MemberSpec { name: name.to_owned(), item: self }
    }
}

/// The members of a struct, each at its offset, and what fills it up to its size; as deep as datatypes nest.
fn struct_members(fields: &StructType) -> Result<Vec<MemberSpec>> {
    let (mut members, mut end) = (Vec::new(), 0u64);
    for (n, field) in fields.fields().iter().enumerate() {
        let item = ItemSpec::from_datatype(&field.datatype, field.byteorder, &field.shape)?.with_offset(field.offset);
        members.push(item.into_member(&own_name(&field.name_or(n))));
        end = end.max(field.offset.saturating_add(field.count().saturating_mul(field.datatype.item_size())));
    }
    let size = fields.item_size();
    if size > end {
        members.push(ItemSpec::bytes(size - end).with_offset(end).into_member(PADDING_NAME));
    }
    Ok(members)
}

/// The spelling of the type, the shape and the place.
impl fmt::Display for ItemSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.typed {
            TypeSpec::Primitive(primitive, order) => {
                f.write_str(match order {
                    None => "",
                    Some(Byteorder::Little) => "<",
                    Some(Byteorder::Big) => ">",
                })?;
                f.write_str(primitive.name())?;
            }
            TypeSpec::Named(name) => f.write_str(&quoted_name(name))?,
            TypeSpec::Struct(members) => {
                f.write_str("{")?;
                for (number, MemberSpec { name, item }) in members.iter().enumerate() {
                    write!(f, "{}{} = {item}", if number == 0 { "" } else { "  " }, quoted_name(name))?;
                }
                f.write_str("}")?;
            }
        }
        for (number, length) in self.shape.iter().enumerate() {
            write!(f, "{}{length}", if number == 0 { '[' } else { ',' })?;
        }
        if !self.shape.is_empty() {
            f.write_str("]")?;
        }
        self.offset.map_or(Ok(()), |at| write!(f, " @{at}"))
    }
}

/// Refuses numbers that a layout cannot hold, such as places that are after the end of every file.
pub(super) fn check_numbers(item: &ItemSpec) -> Result<()> {
    item.shape.iter().chain(&item.offset).try_for_each(|number| checked_number(*number).map(drop))?;
    match &item.typed {
        TypeSpec::Struct(members) => members.iter().try_for_each(|member| check_numbers(&member.item)),
        TypeSpec::Primitive(..) | TypeSpec::Named(_) => Ok(()),
    }
}

pub(super) fn checked_number(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|_| Error::malformed(format!("the number {number} of the file does not fit in 63 bits")))
}
