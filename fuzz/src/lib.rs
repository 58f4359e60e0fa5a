//! What the targets share: small limits, bytes in memory, and values made from the fuzzer's bytes.

use std::sync::Arc;

use arbitrary::{Arbitrary, Result, Unstructured};
use trilith::Limits;
use trilith::bytes::{MemorySource, SourceRef};
use trilith::tree::{Value, ValueData};

/// Limits under which no input takes long; what they refuse is an error like any other.
pub fn limits() -> Limits {
    let mut limits = Limits::default();
    for assignment in ["memory=64M", "nodes=20000", "expansion=20000", "text=1M", "ratio=1000", "items=20000"] {
        limits.set(assignment).expect("these limits exist");
    }
    limits
}

/// Bytes as a source.
pub fn memory(bytes: impl Into<Vec<u8>>) -> SourceRef {
    Arc::new(MemorySource::new(bytes.into(), "memory"))
}

/// A value of any shape, a few levels deep, whose mappings have distinct keys of text.
#[derive(Debug, Clone)]
pub struct AnyValue(pub Value);

impl<'a> Arbitrary<'a> for AnyValue {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        value(u, 4).map(Self)
    }
}

fn value(u: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let kinds = if depth == 0 { 6 } else { 9 };
    let mut value: Value = match u.int_in_range(0..=kinds)? {
        0 => ValueData::Null.into(),
        1 => ValueData::Bool(u.arbitrary()?).into(),
        2 => ValueData::Int(u.arbitrary()?).into(),
        3 => ValueData::Float(u.arbitrary()?).into(),
        4 => Value::from(u.int_in_range(-3..=300i64)?),
        5 => Value::from(*u.choose(&["yes", "null", "1.0", "<<", "a: b", "- x", "#", "two\nlines", " lead", "~"])?),
        6 => Value::from(text(u)?),
        7 | 8 => {
            let mut pairs: Vec<(Value, Value)> = Vec::new();
            for _ in 0..u.int_in_range(0..=4)? {
                let key = key(u)?;
                if pairs.iter().all(|(known, _)| known.as_str() != Some(&key)) {
                    pairs.push((Value::from(key), self::value(u, depth - 1)?));
                }
            }
            ValueData::Map(pairs).into()
        }
        _ => {
            let mut items = Vec::new();
            for _ in 0..u.int_in_range(0..=4)? {
                items.push(self::value(u, depth - 1)?);
            }
            ValueData::Seq(items).into()
        }
    };
    match u.int_in_range(0..=7)? {
        0 | 1 => value = value.flow(),
        2 | 3 => value = value.block(),
        4 => value.tag = Some((*u.choose(&["tag:e.org:x/y-1.0.0", "!local", "tag:e.org:a,b"])?).to_owned()),
        _ => {}
    }
    Ok(value)
}

/// Text as files hold it: short, and mostly such as YAML has to think about.
pub fn text(u: &mut Unstructured<'_>) -> Result<String> {
    let len = u.int_in_range(0..=12)?;
    let mut text = String::new();
    for _ in 0..len {
        text.push(match u.int_in_range(0..=9)? {
            0 => *u.choose(&['\n', ' ', '\t', ':', '#', '-', '\'', '"', '{', '}', '[', ']', ',', '&', '*', '!', '|', '>', '%', '@', '`', '?'])?,
            1 => u.arbitrary()?,
            _ => char::from(u.int_in_range(b'a'..=b'z')?),
        });
    }
    Ok(text)
}

/// A key that a path can name.
pub fn key(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(match u.int_in_range(0..=9)? {
        0 => text(u)?,
        n => char::from(b'a' + n).to_string(),
    })
}

/// Equal in all but hints; every NaN is the same.
pub fn same(a: &Value, b: &Value) -> bool {
    a.tag == b.tag
        && match (&a.data, &b.data) {
            // A scalar with a tag of its own is what the tag makes of its text.
            (ValueData::Str(_), ValueData::Null | ValueData::Bool(_) | ValueData::Int(_) | ValueData::Float(_))
            | (ValueData::Null | ValueData::Bool(_) | ValueData::Int(_) | ValueData::Float(_), ValueData::Str(_)) => a.tag.is_some(),
            (ValueData::Float(x), ValueData::Float(y)) => x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()),
            (ValueData::Seq(x), ValueData::Seq(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
            (ValueData::Map(x), ValueData::Map(y)) => {
                x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(&x.0, &y.0) && same(&x.1, &y.1))
            }
            (x, y) => x == y,
        }
}
