//! Keywords by cases, messages, limits, and the bundled schemas among themselves.

use super::*;
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::ErrorKind;
use crate::limits::Limits;
use crate::tree::{Node, Tree, TreePath};

const HEADER: &str = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- ";

fn parse(text: &str) -> Tree {
    Tree::parse(text, &Limits::default()).unwrap()
}

/// Returns the text of a node, tag included, as a separate document.
fn alone(node: Node<'_>) -> Tree {
    parse(node.full_span().slice(node.tree().text()))
}

fn report(schema: &str, document: &Tree) -> ValidationReport {
    let mut validator = Validator::new(SchemaSet::empty());
    validator.add_custom(schema, "").unwrap();
    validator.validate(document, None).unwrap()
}

#[test]
fn keywords_hold_as_their_cases_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/schema/draft4.yaml");
    let Ok(bytes) = crate::bytes::read_text(path, 1 << 20) else {
        eprintln!("skipped: {path} is not there");
        return;
    };
    let cases = parse(&String::from_utf8(bytes).unwrap());
    let mut count = 0;
    for case in cases.root().items() {
        let schema = case.get("schema").unwrap();
        for (key, fits) in [("fits", true), ("not", false)] {
            for document in case.get(key).into_iter().flat_map(Node::items) {
                let report = report(schema.source_text(), &alone(document));
                assert_eq!(
                    report.is_valid(),
                    fits,
                    "{} and {}: {:?}",
                    schema.source_text(),
                    document.source_text(),
                    report.problems
                );
                count += 1;
            }
        }
    }
    assert!(count > 200, "{count}");
}

fn first(schema: &str, document: &str) -> Diagnostic {
    report(schema, &parse(document)).problems.into_iter().next().unwrap()
}

#[test]
fn problem_names_position_rule_and_suggestion() {
    let problem = first("{properties: {a: {items: {enum: [red, green]}}}}", "x: 1\na: [red, gren]\n");
    assert_eq!((problem.path_text(), problem.line, problem.column), ("/a/1", 2, 10));
    assert_eq!(problem.message, "\"gren\" is not an allowed value");
    assert_eq!(problem.expectation, "one of red, green");
    assert_eq!(problem.hint.as_deref(), Some("did you mean green?"));
    assert_eq!(problem.schema, "custom:schema#/properties/a/items");

    let problem = first("{properties: {shape: {}}, additionalProperties: false}", "shap: 1");
    assert_eq!((problem.message.as_str(), problem.path_text()), ("the key \"shap\" is not allowed here", "/shap"));
    assert_eq!(problem.hint.as_deref(), Some("did you mean shape?"));

    let problem = first("{required: [datatype]}", "datatyp: 1");
    assert_eq!(problem.message, "the key datatype is missing");
    assert_eq!(problem.hint.as_deref(), Some("there is a key datatyp: did you mean datatype?"));

    let problem = first("{items: {type: number}}", "[1e3]");
    assert_eq!(problem.hint.as_deref(), Some("YAML 1.1 reads this as text: write 1000.0"));
    let problem = first("{items: {type: string}}", "[on]");
    assert_eq!((problem.message.as_str(), problem.expectation.as_str()), ("on is a boolean", "text"));
    assert_eq!(problem.hint.as_deref(), Some("for text write 'on'"));
}

#[test]
fn any_of_reports_nearest_alternative() {
    let schema = "{anyOf: [{type: array}, {type: object, properties: {a: {enum: [x]}}}, {type: string}]}";
    let problem = first(schema, "a: y");
    assert_eq!((problem.path_text(), problem.expectation.as_str()), ("/a", "one of x"));
    let problem = first(schema, "1");
    assert_eq!((problem.path_text(), problem.expectation.as_str()), ("", "a sequence or a mapping or text"));
}

#[test]
fn at_most_ten_problems_are_reported_all_counted() {
    let document = parse("[a, b, c, d, e, f, g, h, i, j, k, l]");
    let report = report("{items: {type: number}}", &document);
    assert_eq!((report.problems.len(), report.errors), (10, 12));
}

#[test]
fn misspelt_datatype_is_one_problem() {
    let text = format!(
        "{HEADER}!core/asdf-1.1.0\na: [!core/ndarray-1.1.0 {{source: 0, datatype: flaot64, byteorder: little, shape: [2]}}]\n"
    );
    let report = Validator::new(SchemaSet::bundled()).validate(&parse(&text), Some("1.6.0")).unwrap();
    assert_eq!(report.errors, 1);
    assert_eq!(report.problems[0].path_text(), "/a/0/datatype");
    assert_eq!(report.problems[0].hint.as_deref(), Some("did you mean float64?"));
}

#[test]
fn unknown_tag_note_names_its_package() {
    let text = "a: !<tag:stsci.edu:gwcs/wcs-1.4.0> {}\nb: !<tag:stsci.edu:asdf/core/ndarray-1.0.0> []\n";
    let report = Validator::new(SchemaSet::bundled()).validate(&parse(text), Some("1.6.0")).unwrap();
    assert!(report.is_valid());
    let notes: Vec<_> = report.problems.iter().map(|p| (p.severity, p.path_text())).collect();
    assert_eq!(notes, [(Severity::Note, "/a"), (Severity::Note, "/b")]);
    assert!(report.problems[0].hint.as_ref().unwrap().contains("gwcs"));
    assert!(report.problems[1].message.contains("not of standard 1.6.0"));
    assert_eq!(report.problems[1].hint.as_deref(), Some("did you mean tag:stsci.edu:asdf/core/ndarray-1.1.0?"));
    let report =
        Validator::new(SchemaSet::bundled()).validate(&parse("!<tag:stsci.edu:asdf/core/ndaray-1.1.0> []"), Some("1.6.0"));
    let hint = report.unwrap().problems.remove(0).hint;
    assert_eq!(hint.as_deref(), Some("did you mean tag:stsci.edu:asdf/core/ndarray-1.1.0?"));
}

#[test]
fn values_asdf_rejects_warn_and_fail_when_strict() {
    let mut report =
        Validator::new(SchemaSet::bundled()).validate(&parse("{a: 99999999999999999999, 1.5: b}"), Some("1.6.0")).unwrap();
    assert!(report.is_valid() && report.warnings == 2);
    report.make_strict();
    assert_eq!((report.errors, report.warnings), (2, 0));
    let report = Validator::new(SchemaSet::bundled()).validate(&parse("{1.5: b}"), Some("1.5.0")).unwrap();
    assert_eq!(report.warnings, 0);
}

#[test]
fn aliases_and_cycles_end() {
    let schema = "{definitions: {n: {type: [array, string], items: {$ref: '#/definitions/n'}}}, $ref: '#/definitions/n'}";
    assert!(report(schema, &parse("&a [*a, [*a, x]]")).is_valid());
    assert!(!report(schema, &parse("&a [*a, [*a, 1]]")).is_valid());
    // If aliases were followed each time, each level would double the cost of the level below.
    let mut text = "l0: &l0 [x]\n".to_owned();
    for n in 1..40 {
        text.push_str(&format!("l{n}: &l{n} [*l{m}, *l{m}]\n", m = n - 1));
    }
    let schema = "{additionalProperties: {$ref: '#/definitions/n'}, definitions: {n: {type: [array, string], items: {$ref: '#/definitions/n'}}}}";
    assert!(report(schema, &parse(&text)).is_valid());
}

#[test]
fn recursive_references_end() {
    assert!(report("{allOf: [{$ref: '#'}]}", &parse("1")).is_valid());
    assert!(!report("{definitions: {a: {$ref: '#/definitions/b'}, b: {anyOf: [{$ref: '#/definitions/a'}], type: string}}, allOf: [{$ref: '#/definitions/b'}]}", &parse("1")).is_valid());
}

#[test]
fn steps_and_depth_are_limited() {
    let mut limits = Limits::default();
    limits.nodes = 100;
    let mut validator = Validator::new(SchemaSet::empty()).with_limits(limits);
    let many = format!("[{}]", "1, ".repeat(90));
    let parts = "{type: number}, ".repeat(30);
    validator.add_custom(&format!("{{items: {{allOf: [{parts}]}}}}"), "").unwrap();
    assert_eq!(validator.validate(&parse(&many), None).unwrap_err().kind(), ErrorKind::Limit);

    let deep = format!("{}{}", "[".repeat(250), "]".repeat(250));
    let nested = "{definitions: {n: {allOf: [{allOf: [{anyOf: [{type: array, items: {$ref: '#/definitions/n'}}]}]}]}}, $ref: '#/definitions/n'}";
    let mut validator = Validator::new(SchemaSet::empty());
    validator.add_custom(nested, "").unwrap();
    assert_eq!(validator.validate(&parse(&deep), None).unwrap_err().kind(), ErrorKind::Limit);
    assert!(validator.validate(&parse(&deep[60..440]), None).unwrap().is_valid());
}

#[test]
fn deep_problem_is_found_without_overflow() {
    for open in ["[", "{a: "] {
        let close = if open == "[" { "]" } else { "}" };
        let deep = format!("{}x{}", open.repeat(250), close.repeat(250));
        let schema =
            "{anyOf: [{type: integer}, {type: object, additionalProperties: {$ref: '#'}}, {type: array, items: {$ref: '#'}}]}";
        let report = report(schema, &parse(&deep));
        assert_eq!(report.errors, 1, "{:?}", report.problems);
    }
}

#[test]
fn custom_schema_ignores_siblings_of_ref() {
    let schema = "{properties: {a: {$ref: '#/definitions/x', type: string}}, definitions: {x: {type: integer}}}";
    assert!(report(schema, &parse("a: 1")).is_valid());
}

/// A reference that leads nowhere, and a pattern that is none, leave the verdict open: if they are met.
#[test]
fn missing_reference_or_pattern_leaves_verdict_open() {
    for (schema, met, not_met) in [
        ("{items: {$ref: 'http://nowhere.org/s'}}", "[1]", "[]"),
        ("{properties: {a: {$ref: '#/definitions/none'}}}", "{a: 1}", "{b: 1}"),
        ("{properties: {a: {$ref: '#none'}}}", "{a: 1}", "{b: 1}"),
        ("{anyOf: [{type: integer}, {$ref: '#none'}]}", "x", "1"),
        ("{properties: {a: {pattern: '['}}}", "{a: x}", "{b: x}"),
        ("{patternProperties: {'[': {}}}", "{a: x}", "[x]"),
    ] {
        let mut validator = Validator::new(SchemaSet::empty());
        validator.add_custom(schema, "").unwrap();
        // The note is repeated for every tree, not only for the first.
        for _ in 0..2 {
            let found = validator.validate(&parse(met), None).unwrap();
            assert!(found.is_valid() && !found.is_decided() && found.notes == 1, "{schema}: {:?}", found.problems);
            assert!(found.problems[0].message.contains("not checked"), "{:?}", found.problems);
        }
        if !schema.starts_with("{patternProperties") {
            let found = validator.validate(&parse(not_met), None).unwrap();
            assert!(found.is_valid() && found.is_decided() && found.notes == 0, "{schema}: {:?}", found.problems);
        }
    }
    let found = report("{type: integer, allOf: [{$ref: '#none'}]}", &parse("x"));
    assert!(!found.is_valid() && found.is_decided());
}

/// JSON Schema draft-04 core, 7.2: an `id` names a part, and changes what references are relative to.
#[test]
fn schema_parts_are_found_by_id() {
    for (schema, fits, not) in [
        ("{allOf: [{$ref: '#foo'}], definitions: {a: {id: '#foo', type: integer}}}", "1", "x"),
        ("{id: 'http://e.org/root', allOf: [{$ref: 'item'}], definitions: {a: {id: item, type: integer}}}", "1", "x"),
        (
            "{allOf: [{$ref: 'http://e.org/b#c'}], definitions: {a: {id: 'http://e.org/b', definitions: {d: {id: '#c', type: integer}}}}}",
            "1",
            "x",
        ),
        (
            "{allOf: [{$ref: 'http://e.org/b#/definitions/d'}], definitions: {a: {id: 'http://e.org/b', definitions: {d: {type: integer}}}}}",
            "1",
            "x",
        ),
        // The base is that of the nearest `id` around the reference.
        (
            "{id: 'http://e.org/', items: {id: 'folder/', items: {$ref: leaf}}, definitions: {x: {id: 'folder/leaf', type: integer}}}",
            "[[1]]",
            "[[x]]",
        ),
        (
            "{id: 'http://e.org/', allOf: [{$ref: '#/definitions/y/items'}], definitions: {x: {id: 'f/leaf', type: integer}, y: {id: 'f/', items: {allOf: [{$ref: leaf}]}}}}",
            "1",
            "x",
        ),
        // A property of that name, and a value, name nothing.
        ("{properties: {id: {type: integer}}, allOf: [{$ref: '#/properties'}]}", "{id: 1}", "{id: x}"),
        (
            "{enum: [{id: '#foo', type: text}, 1], definitions: {a: {id: '#foo', type: integer}}, allOf: [{$ref: '#foo'}]}",
            "1",
            "x",
        ),
    ] {
        for (text, is_valid) in [(fits, true), (not, false)] {
            let found = report(schema, &parse(text));
            assert_eq!((found.is_valid(), found.is_decided()), (is_valid, true), "{schema} and {text}: {:?}", found.problems);
        }
    }
}

/// 0.1.0dev, 5.1.2.
#[test]
fn property_order_violation_is_warning() {
    let schema = "{propertyOrder: [b, a], properties: {b: {items: {propertyOrder: [y, x]}}}}";
    for (text, keys) in [
        ("{b: 1, a: 2}", vec![]),
        ("{c: 0, b: 1, d: 1, a: 2, e: 0}", vec![]),
        ("{a: 1, b: 2}", vec!["/b"]),
        ("{b: [{x: 1, y: 2}, {y: 1, x: 2}], a: 2}", vec!["/b/0/y"]),
        ("{a: 1, b: {$ref: x, z: 1}}", vec!["/b"]),
    ] {
        let found = report(schema, &parse(text));
        assert_eq!((found.errors, found.warnings), (0, keys.len()), "{text}: {:?}", found.problems);
        for (problem, key) in found.problems.iter().zip(keys) {
            assert!(problem.message.contains("comes too late"), "{problem} {key}");
        }
    }
}

/// The documents' own examples (0.1.0dev, 4) under the tags of every early generation, and what breaks their rules.
#[test]
fn early_document_trees_are_validated() {
    let mut validator = Validator::new(SchemaSet::bundled());
    let eras = [
        ("tag:stsci.edu:asdf/0.1.0/", "", "dtype", "core/", "unit/", "fits/"),
        ("tag:stsci.edu:asdf/0.1.0/", "", "datatype", "core/", "unit/", "fits/"),
        ("tag:stsci.edu:asdf/", "-0.1.0", "datatype", "core/", "unit/", "fits/"),
        ("tag:stsci.edu:finf/0.1.0/", "", "dtype", "core/", "unit/", "fits/"),
        ("tag:stsci.edu:finf/0.1.0/", "", "dtype", "", "", ""),
    ];
    for (prefix, version, key, core, unit, fits) in eras {
        let tree = |body: &str| {
            let body = body.replace("DT", key).replace("@core/", core).replace("@unit/", unit).replace("@fits/", fits);
            let body = body.replace('@', version);
            parse(&format!(
                "%YAML 1.1
%TAG ! {prefix}
--- {body}
"
            ))
        };
        for (body, is_valid) in [
            ("{a: !@core/ndarray@ {source: 0, DT: float64, shape: [2]}}", true),
            ("{a: !@core/ndarray@ {source: 0, DT: bogus, shape: [2]}}", false),
            ("{a: !@core/ndarray@ {source: 0, DT: int8, shape: [x]}}", false),
            ("{a: !@core/ndarray@ {source: 0, DT: int8, shape: ['*', 2]}}", true),
            ("{a: !@core/ndarray@ {source: 0, DT: int8, shape: [2], strides: [0]}}", false),
            ("{a: !@core/ndarray@ {source: 0, DT: int8, byteorder: middle, shape: [2]}}", false),
            ("{a: !@core/ndarray@ {source: 0, DT: [{name: x, DT: int8}, {name: y, DT: [ascii, 3]}], shape: [2]}}", true),
            ("{a: !@core/ndarray@ {source: 0, DT: [{name: 1x, DT: int8}], shape: [2]}}", false),
            ("{a: !@core/ndarray@ {source: 0, DT: [{name: x}], shape: [2]}}", false),
            (
                "{a: !@core/ndarray@ {source: 0, DT: int8, shape: [2], mask: !@core/ndarray@ {source: 1, DT: bool8, shape: [2]}}}",
                true,
            ),
            ("{a: !@core/ndarray@ [[1, 0], [0, null]]}", true),
            ("{a: !@core/complex@ 1-1j}", true),
            ("{a: !@core/complex@ 1J}", true),
            ("{a: !@core/complex@ -1}", true),
            ("{a: !@core/complex@ -1.5e3+infj}", true),
            ("{a: !@core/complex@ hello}", false),
            ("{a: !@core/complex@ 1+1k}", false),
            (
                "{a: !@fits/fits@ [{header: [[SIMPLE, true, conforms to FITS standard], [], ['', text], [DATE-OBS, '2013-08-30', x]]}]}",
                true,
            ),
            ("{a: !@fits/fits@ [{header: [[simple, true]]}]}", false),
            ("{a: !@fits/fits@ [{data: null}]}", false),
            ("{a: !@unit/unit@ '2.1798721 10-18kg m2 s-2'}", true),
            ("{a: !@unit/unit@ 'µm'}", false),
            ("{a: !@unit/defunit@ {name: furlong, unit: null}}", true),
            ("{a: !@unit/defunit@ {unit: null}}", false),
            ("{a: !@unit/defunit@ {name: '1x'}}", false),
        ] {
            let found = validator.validate(&tree(body), None).unwrap();
            assert_eq!((found.is_valid(), found.notes), (is_valid, 0), "{prefix} {body}: {:?}", found.problems);
        }
    }
}

#[test]
fn missing_root_schema_is_err() {
    let schemas = SchemaSet::empty();
    assert!(Validator::new(schemas).validate_root(&parse("1"), "x").is_err());
}

#[test]
fn every_bundled_schema_compiles_and_follows_its_metaschema() {
    let schemas = SchemaSet::bundled();
    let uris: Vec<String> = schemas.uris().into_iter().map(str::to_owned).collect();
    assert!(uris.len() > 470, "{}", uris.len());
    let mut validator = Validator::new(schemas);
    for uri in uris {
        let notes = validator.compile_schema(&uri).unwrap();
        assert!(notes.is_empty(), "{uri}: {notes:?}");
        let tree = parse(validator.schemas().text(&uri).unwrap());
        // `requiredProperties` is not a keyword of draft-04, which allows others.
        let report = validator.validate_root(&tree, "http://stsci.edu/schemas/yaml-schema/draft-01").unwrap();
        assert!(report.is_valid(), "{uri}: {:?}", report.problems);
    }
}

#[test]
fn every_bundled_schema_except_metaschemas_has_title() {
    let schemas = SchemaSet::bundled();
    for uri in schemas.uris() {
        if uri.starts_with("http://stsci.edu/schemas/asdf/") && !uri.contains("/asdf-schema-") {
            assert!(bundled::words_of(uri, None).is_some(), "{uri}");
        }
    }
}

#[test]
fn node_is_described_by_tag_and_parents() {
    let text =
        format!("{HEADER}!core/asdf-1.1.0\na: !core/ndarray-1.1.0 {{source: 0, datatype: int8, byteorder: big, shape: [2]}}\n");
    let tree = parse(&text);
    let mut validator = Validator::new(SchemaSet::bundled());
    let mut titles = |path: &str| {
        let found = validator.describe(&tree, &TreePath::parse(path).unwrap(), Some("1.6.0")).unwrap();
        found.into_iter().map(|d| d.title).filter(|t| !t.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(titles("/a"), ["An n-dimensional array"]);
    assert!(titles("/a/datatype").contains(&"The type of one element".to_owned()));
    assert!(titles("/b").is_empty());
}

#[test]
fn examine_checks_schema_and_its_examples() {
    let text = "%YAML 1.1\n---\n$schema: http://stsci.edu/schemas/yaml-schema/draft-01\nid: asdf://x.org/s-1.0.0\ntype: object\n\
                properties: {a: {$ref: gone}, b: {type: intger}}\nrequired: [a]\nexamples:\n- [good, 'a: 1']\n\
                - [bad, 'b: 1']\n- [array, asdf-standard-1.6.0, 'a: !core/ndarray-1.1.0 {source: 0, datatype: in8}']\n";
    let mut schemas = SchemaSet::bundled();
    schemas.add(text, &Limits::default()).unwrap();
    let found = Validator::new(schemas).examine(&parse(text)).unwrap();
    assert_eq!(found.report.problems[0].path_text(), "/properties/b/type");
    assert_eq!(found.report.problems[0].hint.as_deref(), Some("did you mean integer?"));
    assert!(found.notes.iter().any(|note| note.contains("asdf://x.org/gone")), "{:?}", found.notes);
    let wrong: Vec<_> = found.examples.iter().map(|e| (e.index, e.title.as_str())).collect();
    assert_eq!((found.example_count, wrong), (3, vec![(1, "bad"), (2, "array")]));
}

/// Trees made of what schemas look for, at random.
fn any_yaml() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    const TAGS: [&str; 8] = [
        "",
        "!core/ndarray-1.1.0 ",
        "!core/asdf-1.1.0 ",
        "!unit/quantity-1.3.0 ",
        "!time/time-1.4.0 ",
        "!core/complex-1.0.0 ",
        "!!omap ",
        "!transform/compose-1.4.0 ",
    ];
    const LEAVES: [&str; 12] =
        ["1", "-1.5", "~", "true", "float64", "'*'", "1e3", "2001-12-14", "\"\"", "99999999999999999999", "m s-1", ".nan"];
    const KEYS: [&str; 10] = ["source", "datatype", "shape", "data", "mask", "value", "unit", "$ref", "forward", "1.5"];
    let leaf = (0..8usize, 0..12usize).prop_map(|(tag, leaf)| format!("{}{}", TAGS[tag], LEAVES[leaf]));
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            (0..8usize, prop::collection::vec(inner.clone(), 0..4)).prop_map(|(tag, items)| format!(
                "{}[{}]",
                TAGS[tag],
                items.join(", ")
            )),
            // Keys are unique: a path cannot name the value that a later key of the same name hides.
            (0..8usize, prop::collection::btree_map(0..10usize, inner, 0..4)).prop_map(|(tag, pairs)| {
                let pairs: Vec<_> = pairs.into_iter().map(|(key, value)| format!("{}: {value}", KEYS[key])).collect();
                format!("{}{{{}}}", TAGS[tag], pairs.join(", "))
            }),
        ]
    })
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

    /// Checks any tree: there is an answer, and an invalid one has a reason whose path leads to a node.
    #[test]
    fn every_error_path_leads_to_node(text in any_yaml()) {
        let tree = parse(&format!("{HEADER}{text}\n"));
        let report = Validator::new(SchemaSet::bundled()).validate(&tree, Some("1.6.0")).unwrap();
        proptest::prop_assert_eq!(report.is_valid(), report.problems.iter().all(|p| p.severity != Severity::Error));
        for problem in report.problems.iter().filter(|p| p.severity == Severity::Error) {
            let path = TreePath::parse(problem.path_text()).unwrap();
            let found = tree.find(&path).is_some() || path.split_last().is_some_and(|(parent, _)| tree.find(&parent).is_some());
            proptest::prop_assert!(found, "{} in {text}", problem.path_text());
        }
    }
}
