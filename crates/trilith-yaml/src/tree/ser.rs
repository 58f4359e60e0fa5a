//! A program's own types as values of a tree, by serde.

use std::fmt;

use serde::ser::{self, Serialize};

use super::de::DeError;
use super::{Value, ValueData};
use crate::error::{Error, Result};

/// Makes the value of a tree from a custom type. The other direction is [`from_node`](super::from_node).
///
/// Structs and maps become mappings, sequences and tuples lists, unit variants their name, other variants a mapping
/// of the name and what they hold. Bytes become a list of numbers.
///
/// ```
/// use trilith_yaml::tree::{Value, to_value};
/// #[derive(serde::Serialize)]
/// struct Pointing { ra: f64, dec: f64, filter: Option<&'static str> }
/// let value = to_value(&Pointing { ra: 10.5, dec: -3.0, filter: None })?;
/// assert_eq!(value, Value::map([("ra", Value::from(10.5)), ("dec", (-3.0).into()), ("filter", Value::null())]));
/// # Ok::<(), trilith_yaml::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with the message of the type, and for numbers of over 64
/// bits with a sign.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value> {
    value.serialize(ValueSerializer).map_err(|problem| problem.0)
}

impl ser::Error for DeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Error::invalid_input(message.to_string()))
    }
}

type SerResult = Result<Value, DeError>;

struct ValueSerializer;

/// A list that is being made, and the name of the variant that it belongs to.
struct SeqSerializer {
    items: Vec<Value>,
    variant: Option<&'static str>,
}

/// A mapping that is being made.
struct MapSerializer {
    pairs: Vec<(Value, Value)>,
    key: Option<Value>,
    variant: Option<&'static str>,
}

fn wrap_variant(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(name) => Value::map([(name, value)]),
        None => value,
    }
}

macro_rules! scalars {
    ($($name:ident($type:ty) => $make:expr),+ $(,)?) => {
        $(fn $name(self, value: $type) -> SerResult {
            let make: fn($type) -> ValueData = $make;
            Ok(make(value).into())
        })+
    };
}

impl ser::Serializer for ValueSerializer {
    type Ok = Value;
    type Error = DeError;
    type SerializeSeq = SeqSerializer;
    type SerializeTuple = SeqSerializer;
    type SerializeTupleStruct = SeqSerializer;
    type SerializeTupleVariant = SeqSerializer;
    type SerializeMap = MapSerializer;
    type SerializeStruct = MapSerializer;
    type SerializeStructVariant = MapSerializer;

    scalars! {
        serialize_bool(bool) => ValueData::Bool,
        serialize_i8(i8) => |n| ValueData::Int(n.into()),
        serialize_i16(i16) => |n| ValueData::Int(n.into()),
        serialize_i32(i32) => |n| ValueData::Int(n.into()),
        serialize_i64(i64) => ValueData::Int,
        serialize_i128(i128) => |n| i64::try_from(n).map_or_else(|_| ValueData::BigInt(n.to_string()), ValueData::Int),
        serialize_u8(u8) => |n| ValueData::Int(n.into()),
        serialize_u16(u16) => |n| ValueData::Int(n.into()),
        serialize_u32(u32) => |n| ValueData::Int(n.into()),
        serialize_u64(u64) => |n| i64::try_from(n).map_or_else(|_| ValueData::BigInt(n.to_string()), ValueData::Int),
        serialize_u128(u128) => |n| i64::try_from(n).map_or_else(|_| ValueData::BigInt(n.to_string()), ValueData::Int),
        // The shortest decimal that means it, not that of the double.
        serialize_f32(f32) => |x| x.to_string().parse().map_or(ValueData::Float(x.into()), ValueData::Float),
        serialize_f64(f64) => ValueData::Float,
        serialize_char(char) => |c| ValueData::Str(c.to_string()),
        serialize_str(&str) => |text| ValueData::Str(text.to_owned()),
    }

    fn serialize_bytes(self, bytes: &[u8]) -> SerResult {
        Ok(Value::seq(bytes.iter().map(|byte| u32::from(*byte))).flow())
    }

    fn serialize_none(self) -> SerResult {
        Ok(Value::null())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> SerResult {
        value.serialize(self)
    }

    fn serialize_unit(self) -> SerResult {
        Ok(Value::null())
    }

    fn serialize_unit_struct(self, _: &'static str) -> SerResult {
        Ok(Value::null())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> SerResult {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> SerResult {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> SerResult {
        Ok(wrap_variant(Some(variant), value.serialize(self)?))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<SeqSerializer, DeError> {
        // The length that a type reports is a hint.
        Ok(SeqSerializer { items: Vec::with_capacity(len.unwrap_or(0).min(1 << 16)), variant: None })
    }

    fn serialize_tuple(self, len: usize) -> Result<SeqSerializer, DeError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<SeqSerializer, DeError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<SeqSerializer, DeError> {
        Ok(SeqSerializer { items: Vec::new(), variant: Some(variant) })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<MapSerializer, DeError> {
        Ok(MapSerializer { pairs: Vec::new(), key: None, variant: None })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<MapSerializer, DeError> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<MapSerializer, DeError> {
        Ok(MapSerializer { pairs: Vec::new(), key: None, variant: Some(variant) })
    }
}

impl SeqSerializer {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DeError> {
        self.items.push(value.serialize(ValueSerializer)?);
        Ok(())
    }

    fn finish(self) -> Value {
        wrap_variant(self.variant, Value::seq(self.items))
    }
}

impl MapSerializer {
    fn finish(self) -> Value {
        wrap_variant(self.variant, Value::from(self.pairs))
    }
}

macro_rules! lists {
    ($($trait:ident::$method:ident),+) => {
        $(impl ser::$trait for SeqSerializer {
            type Ok = Value;
            type Error = DeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DeError> {
                self.push(value)
            }

            fn end(self) -> SerResult {
                Ok(self.finish())
            }
        })+
    };
}

lists!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! structs {
    ($($trait:ident),+) => {
        $(impl ser::$trait for MapSerializer {
            type Ok = Value;
            type Error = DeError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), DeError> {
                self.pairs.push((key.into(), value.serialize(ValueSerializer)?));
                Ok(())
            }

            fn end(self) -> SerResult {
                Ok(self.finish())
            }
        })+
    };
}

structs!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for MapSerializer {
    type Ok = Value;
    type Error = DeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), DeError> {
        self.key = Some(key.serialize(ValueSerializer)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DeError> {
        let key = self.key.take().unwrap_or_default();
        self.pairs.push((key, value.serialize(ValueSerializer)?));
        Ok(())
    }

    fn end(self) -> SerResult {
        Ok(self.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::limits::Limits;
    use crate::tree::{Tree, from_node};
    use crate::yaml::{PrintOptions, print_document};

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    enum Shape {
        Point,
        Circle(f64),
        Box { width: u8, height: i64 },
        Pair(String, bool),
    }

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct All {
        shapes: Vec<Shape>,
        names: BTreeMap<String, u64>,
        nothing: Option<u8>,
        something: Option<f32>,
        tuple: (i8, char),
    }

    #[test]
    fn what_is_written_is_read_back() {
        let all = All {
            shapes: vec![
                Shape::Point,
                Shape::Circle(0.1),
                Shape::Box { width: 255, height: i64::MIN },
                Shape::Pair("no: #".into(), true),
            ],
            names: [("a b".to_owned(), 1), (String::new(), u64::MAX >> 1)].into(),
            nothing: None,
            something: Some(0.1),
            tuple: (-1, 'é'),
        };
        let text = print_document(&to_value(&all).unwrap(), &PrintOptions::default());
        let tree = Tree::parse(text.clone(), &Limits::default()).unwrap();
        assert_eq!(from_node::<All>(tree.root()).unwrap(), all, "{text}");
        assert!(text.contains("something: 0.1\n"), "{text}");
    }
}
