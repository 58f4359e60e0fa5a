//! Arrays written into the tree: nested lists of values (schema core/ndarray, "data").

use crate::array::{Array, Datatype, ElementValue, FloatText, NestedEvent, complex_text};
use crate::error::{Error, Result};
use crate::tree::Value;
use crate::yaml::ValueBuilder;

/// The elements of an array as nested lists: masked ones null, complex ones as tagged text, float32
/// as the double that it equals.
///
/// # Errors
/// Returns an error if the array cannot be read, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) for more
/// elements than a tree may have nodes.
pub fn nested(array: &Array, complex_tag: &str) -> Result<Value> {
    let most = array.limits().nodes;
    if array.element_count() > most {
        return Err(crate::Limits::exceeded_error(
            "nodes",
            most,
            format_args!("an array of {} elements in the tree", array.element_count()),
        ));
    }
    let mut built = ValueBuilder::default();
    array.for_each_nested(|step| {
        match step {
            NestedEvent::Open => built.begin_collection(Value::seq::<Value>([])),
            NestedEvent::Close => built.end_collection(),
            NestedEvent::Element(scalar) => built.push_value(element_to_value(scalar, complex_tag)?),
            NestedEvent::Masked => built.push_value(Value::null()),
            other => return Err(Error::unsupported(format!("{other:?} has no form in a tree"))),
        }
        Ok(())
    })?;
    built.finish().ok_or_else(|| Error::invalid_input("an array without elements to write"))
}

// Structures nest no deeper than the library allows, so this recursion is bounded.
fn element_to_value(scalar: ElementValue, complex_tag: &str) -> Result<Value> {
    Ok(match scalar {
        ElementValue::Int(n) => Value::from(n),
        ElementValue::Uint(n) => Value::from(n),
        ElementValue::Float(x, _) => Value::from(x),
        ElementValue::Complex(re, im, precision) => {
            Value::from(complex_text(re, im, precision, FloatText::AsDouble)).tagged(complex_tag)
        }
        ElementValue::Bool(b) => Value::from(b),
        ElementValue::Missing => Value::null(),
        ElementValue::Text(text) => Value::from(text),
        ElementValue::Raw(bytes) => Value::binary(crate::bytes::base64(&bytes)),
        ElementValue::Struct(items) | ElementValue::List(items) => {
            let items: Result<Vec<Value>> = items.into_iter().map(|item| element_to_value(item, complex_tag)).collect();
            Value::seq(items?).flow()
        }
        other => return Err(Error::unsupported(format!("the element {other:?} has no form in a tree"))),
    })
}

/// The ndarray node of an array in the tree, after its tag: `data`, datatype and `shape`.
///
/// # Errors
/// Returns the errors of [`nested`].
pub fn node(array: &Array, datatype_key: &str, complex_tag: &str) -> Result<Value> {
    let data = nested(array, complex_tag)?;
    let mut node = Value::map([("data", data)]);
    node.set(datatype_key, datatype_to_value(array.datatype(), datatype_key));
    node.set("shape", Value::seq(array.shape().iter().copied()).flow());
    Ok(node)
}

fn datatype_to_value(datatype: &Datatype, key: &str) -> Value {
    super::builder::datatype_value(datatype, None, key)
}
