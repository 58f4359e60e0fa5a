//! Schemas of any keywords over trees of any values: compiling and validating end, and logic holds:
//! `allOf` of one schema says what that says, `not` the contrary, `anyOf` with the empty schema nothing.
#![no_main]

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use trilith::check::{SchemaSet, Validator};
use trilith::tree::{PrintOptions, Tree, Value, print_document};
use trilith_fuzz::{AnyValue, key, limits, text};

#[derive(Debug)]
struct Schema(Value);

#[derive(Arbitrary, Debug)]
enum Input {
    Made(Schema, AnyValue),
    Text(String, String),
}

impl<'a> Arbitrary<'a> for Schema {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        schema(u, 3).map(Self)
    }
}

fn schema(u: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let mut made = Value::map::<&str, Value>([]);
    for _ in 0..u.int_in_range(0..=3)? {
        let deeper = depth > 0;
        let number = Value::from(u.int_in_range(-2..=6i64)?);
        let (word, value): (&str, Value) = match u.int_in_range(0..=if deeper { 24 } else { 14 })? {
            0 => ("type", (*u.choose(&["object", "array", "string", "number", "integer", "boolean", "null", "any", "what"])?).into()),
            1 => ("minimum", number),
            2 => ("maximum", number),
            3 => ("exclusiveMinimum", u.arbitrary::<bool>()?.into()),
            4 => ("multipleOf", number),
            5 => ("minLength", number),
            6 => ("maxLength", number),
            7 => ("pattern", pattern(u)?.into()),
            8 => ("minItems", number),
            9 => ("uniqueItems", u.arbitrary::<bool>()?.into()),
            10 => ("required", Value::seq([key(u)?, key(u)?])),
            11 => ("enum", Value::seq([u.arbitrary::<AnyValue>()?.0, u.arbitrary::<AnyValue>()?.0])),
            12 => ("$ref", (*u.choose(&["#", "#/definitions/a", "#/nowhere", "http://stsci.edu/schemas/asdf/core/ndarray-1.1.0", "other"])?).into()),
            13 => ("tag", (*u.choose(&["tag:e.org:x/y-1.0.0", "tag:e.org:*", "!local", "**"])?).into()),
            14 => ("ndim", number),
            15 => ("properties", Value::map([(key(u)?, schema(u, depth - 1)?), (key(u)?, schema(u, depth - 1)?)])),
            16 => ("additionalProperties", if u.arbitrary()? { false.into() } else { schema(u, depth - 1)? }),
            17 => ("items", if u.arbitrary()? { schema(u, depth - 1)? } else { Value::seq([schema(u, depth - 1)?]) }),
            18 => ("allOf", Value::seq([schema(u, depth - 1)?, schema(u, depth - 1)?])),
            19 => ("anyOf", Value::seq([schema(u, depth - 1)?, schema(u, depth - 1)?])),
            20 => ("oneOf", Value::seq([schema(u, depth - 1)?, schema(u, depth - 1)?])),
            21 => ("not", schema(u, depth - 1)?),
            22 => ("definitions", Value::map([("a", schema(u, depth - 1)?)])),
            23 => ("patternProperties", Value::map([(pattern(u)?, schema(u, depth - 1)?)])),
            _ => ("dependencies", Value::map([(key(u)?, schema(u, depth - 1)?)])),
        };
        made.set(word, value);
    }
    Ok(made)
}

fn pattern(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(match u.int_in_range(0..=5)? {
        0 => text(u)?,
        1 => "^[a-z]+$".into(),
        2 => "(a+)+$".into(),
        3 => r"^\d{1,3}(?:x|y)*".into(),
        4 => "((a{0,50}){0,50}){0,50}".into(),
        _ => "(?=a)b".into(),
    })
}

fuzz_target!(|input: Input| match input {
    Input::Made(schema, value) => {
        let print = |value: &Value| print_document(value, &PrintOptions::default());
        let tree = Tree::parse(print(&value.0), &limits()).expect("what was printed parses");
        // A reference to the root means the root of what is wrapped: there the logic is another.
        let wrapped = !print(&schema.0).contains("'#");
        let Some(alone) = valid(&print(&schema.0), &tree) else { return };
        let all = Value::map([("allOf", Value::seq([schema.0.clone()]))]);
        let not = Value::map([("not", schema.0.clone())]);
        let any = Value::map([("anyOf", Value::seq([Value::map::<&str, Value>([]), schema.0.clone()]))]);
        if wrapped {
            assert_eq!(valid(&print(&all), &tree), Some(alone), "{}\n{}", print(&schema.0), tree.text());
            assert_eq!(valid(&print(&not), &tree), Some(!alone), "{}\n{}", print(&schema.0), tree.text());
            assert_eq!(valid(&print(&any), &tree), Some(true), "{}\n{}", print(&schema.0), tree.text());
        }
    }
    Input::Text(schema, tree) => {
        if let Ok(tree) = Tree::parse(tree, &limits()) {
            let _ = valid(&schema, &tree);
            let mut validator = Validator::new(BUNDLED.clone()).with_limits(limits());
            let _ = validator.validate(&tree, Some("1.6.0"));
            let _ = validator.examine(&tree);
        }
    }
});

/// Reading the bundled schemas takes longer than any input.
static BUNDLED: LazyLock<SchemaSet> = LazyLock::new(SchemaSet::bundled);

/// Whether the tree fits; None where the schema cannot be used.
fn valid(schema: &str, tree: &Tree) -> Option<bool> {
    let mut validator = Validator::new(SchemaSet::empty()).with_limits(limits());
    validator.add_custom(schema, "").ok()?;
    validator.validate(tree, None).ok().map(|report| report.is_valid())
}
