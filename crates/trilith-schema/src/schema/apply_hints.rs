//! Laying out a value that was built in memory as schemas would like it.

use std::collections::HashMap;

use super::compile::{CompiledSchemas, PartId, Rule};
use super::hints::{WriteHints, child_parts, collect_related_parts};
use super::validate::Validator;
use crate::error::Result;
use crate::tree::{Value, ValueData};

/// The schemas that hold for a place. Places share it.
struct SchemaScope {
    parts: Vec<PartId>,
    hints: WriteHints,
    /// Places below, by key; one for all items if their number does not matter.
    below: HashMap<String, Option<usize>>,
    by_number: bool,
}

/// The place of a value in the one above it.
#[derive(Debug, Clone, Copy)]
enum ChildKey<'k> {
    /// Key in a mapping.
    Name(&'k str),
    /// Index in a list.
    Index(usize),
}

/// The places that have been looked at.
#[derive(Default)]
struct SchemaScopes {
    all: Vec<SchemaScope>,
    of_tags: HashMap<String, Option<usize>>,
}

impl Validator {
    /// Lays a value out by the hints of the schemas of its tags: keys in the order of `propertyOrder` (others
    /// follow as they are), `flowStyle` and `style` if the value does not say otherwise itself.
    ///
    /// ```
    /// use trilith_schema::schema::{SchemaSet, Validator};
    /// use trilith_yaml::tree::Value;
    /// let mut node = Value::map([("datatype", Value::from("int8")), ("source", 0.into())]);
    /// node.tag = Some("tag:stsci.edu:asdf/core/ndarray-1.1.0".to_owned());
    /// Validator::new(SchemaSet::bundled()).arrange(&mut node, Some("1.6.0"))?;
    /// assert_eq!(node.entries()[0].0.as_str(), Some("source"));
    /// # Ok::<(), trilith_schema::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if a schema of a tag is broken.
    pub fn arrange(&mut self, value: &mut Value, standard: Option<&str>) -> Result<()> {
        let mut places = SchemaScopes::default();
        let mut work: Vec<(&mut Value, Option<usize>)> = vec![(value, None)];
        while let Some((value, place)) = work.pop() {
            let place = match &value.tag {
                Some(tag) => self.place_of_tag(&mut places, tag, standard)?.or(place),
                None => place,
            };
            if let Some(hints) = place.and_then(|at| places.all.get(at)).map(|place| &place.hints) {
                hints.apply_to_value(value);
            }
            match &mut value.data {
                ValueData::Map(pairs) => {
                    for (key, item) in pairs {
                        let below = place.and_then(|at| self.child_scope(&mut places, at, ChildKey::Name(key.as_str()?)));
                        work.push((item, below));
                    }
                }
                ValueData::Seq(items) => {
                    for (at, item) in items.iter_mut().enumerate() {
                        if item.tag.is_none() && !matches!(item.data, ValueData::Seq(_) | ValueData::Map(_) | ValueData::Str(_)) {
                            continue;
                        }
                        let below = place.and_then(|place| self.child_scope(&mut places, place, ChildKey::Index(at)));
                        work.push((item, below));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn place_of_tag(&mut self, places: &mut SchemaScopes, tag: &str, standard: Option<&str>) -> Result<Option<usize>> {
        if let Some(known) = places.of_tags.get(tag) {
            return Ok(*known);
        }
        let parts = self.parts_of_schemas(self.schemas.of_tag(tag, standard))?;
        let place = places.add_place(&self.program, parts);
        places.of_tags.insert(tag.to_owned(), place);
        Ok(place)
    }

    fn child_scope(&self, places: &mut SchemaScopes, at: usize, key: ChildKey<'_>) -> Option<usize> {
        let place = places.all.get(at)?;
        let digits;
        let (key, name) = match key {
            ChildKey::Name(key) => (key, key),
            ChildKey::Index(index) => {
                digits = index.to_string();
                (digits.as_str(), if place.by_number { digits.as_str() } else { "" })
            }
        };
        if let Some(known) = place.below.get(name) {
            return *known;
        }
        let rules = place.parts.iter().flat_map(|part| self.program.rules(*part));
        let parts = rules.flat_map(|rule| child_parts(rule, key)).collect();
        let found = places.add_place(&self.program, parts);
        places.all.get_mut(at)?.below.insert(name.to_owned(), found);
        found
    }
}

impl SchemaScopes {
    /// A place for which these parts hold; None if they are none.
    fn add_place(&mut self, program: &CompiledSchemas, parts: Vec<PartId>) -> Option<usize> {
        let parts = collect_related_parts(program, parts);
        if parts.is_empty() {
            return None;
        }
        let hints = WriteHints::from_parts(program, &parts);
        let by_number = parts.iter().flat_map(|part| program.rules(*part)).any(|rule| matches!(rule, Rule::Tuple { .. }));
        self.all.push(SchemaScope { parts, hints, below: HashMap::new(), by_number });
        Some(self.all.len() - 1)
    }
}

impl WriteHints {
    /// Lays one value out, without what is below it.
    fn apply_to_value(&self, value: &mut Value) {
        match &mut value.data {
            ValueData::Map(pairs) if !self.order.is_empty() => {
                let place = |key: &Value| self.order.iter().position(|name| key.as_str() == Some(name)).unwrap_or(usize::MAX);
                pairs.sort_by_cached_key(|(key, _)| place(key));
            }
            ValueData::Str(_) => value.style = value.style.or(self.style),
            _ => {}
        }
        if matches!(value.data, ValueData::Map(_) | ValueData::Seq(_)) {
            value.layout = value.layout.or(self.layout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::schema::SchemaSet;
    use crate::yaml::{PrintOptions, print_document};

    const SCHEMA: &str = "%YAML 1.1\n---\n$schema: http://stsci.edu/schemas/yaml-schema/draft-01\nid: http://e.org/schemas/x-1.0.0\n\
        type: object\npropertyOrder: [name, text, pairs, list]\nflowStyle: block\nproperties:\n  name: {type: string, style: inline}\n  \
        text: {type: string, style: folded}\n  pairs: {type: object, flowStyle: flow, additionalProperties: {flowStyle: block}}\n  \
        list:\n    items: [{flowStyle: block}, {propertyOrder: [b, a]}]\n...\n";

    const MANIFEST: &str = "id: http://e.org/manifests/e-1.0.0\nextension_uri: asdf://e.org/extensions/e-1.0.0\n\
        tags:\n- {tag_uri: 'tag:e.org:x-1.0.0', schema_uri: 'http://e.org/schemas/x-1.0.0'}\n";

    #[test]
    fn value_follows_schema_order_layout_and_style() {
        let mut schemas = SchemaSet::bundled();
        schemas.add(SCHEMA.to_owned(), &Limits::default()).unwrap();
        schemas.add(MANIFEST.to_owned(), &Limits::default()).unwrap();
        let mut value = Value::map([
            ("z", Value::from(1)),
            ("list", Value::seq([Value::seq([1]), Value::map([("a", 1), ("b", 2)])])),
            ("text", "one two\n".into()),
            ("pairs", Value::map([("x", 1)])),
            ("name", "n".into()),
        ]);
        value.tag = Some("tag:e.org:x-1.0.0".to_owned());
        Validator::new(schemas).arrange(&mut value, None).unwrap();
        let printed = print_document(&value, &PrintOptions::default());
        assert_eq!(
            printed,
            "%YAML 1.1\n--- !<tag:e.org:x-1.0.0>\nname: \"n\"\ntext: >\n  one two\npairs: {x: 1}\nlist:\n- - 1\n- b: 2\n  a: 1\nz: 1\n...\n"
        );
    }
}
