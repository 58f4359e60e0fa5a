#!/usr/bin/env python3
"""Makes the bundled schemas from the published packages.

Reads the resources of the installed packages `asdf-standard` and `asdf-transform-schemas` and keeps
what decides whether a tree is valid, and the hints for writers; prose, examples and defaults go.
Writes next to this file:

    schemas/core.txt, schemas/transform.txt   one schema a line: its URI, a blank, its rules in flow style
    schemas/manifests.txt                     one manifest a line: name, standards it is for, its tags

Run: python condense.py   (with both packages and PyYAML installed)
"""

import importlib.resources
import json
import pathlib

import yaml

PACKAGES = {"core": ["asdf_standard"], "transform": ["asdf_transform_schemas"]}
TAG, SCHEMA = "tag:stsci.edu:asdf/", "http://stsci.edu/schemas/asdf/"

# The keywords that hold schemas: one, a list of them, a mapping of them.
ONE = {"not", "additionalProperties", "additionalItems", "items"}
LIST = {"allOf", "anyOf", "oneOf"}
MAP = {"properties", "patternProperties", "definitions", "dependencies"}
# The others that count, and the hints for writers.
PLAIN = {
    "$ref", "type", "enum", "required", "requiredProperties", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems",
    "uniqueItems", "minProperties", "maxProperties", "format", "tag", "datatype", "exact_datatype",
    "ndim", "max_ndim", "propertyOrder", "flowStyle", "style",
}  # fmt: skip


def condensed(schema):
    """The rules of a schema, without anything that only explains it."""
    if isinstance(schema, list):
        return [condensed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key in ONE or key in LIST:
            out[key] = condensed(value)
        elif key in MAP:
            out[key] = {name: condensed(one) for name, one in value.items()}
        elif key in PLAIN:
            out[key] = value
    return out


def files(package):
    """Every YAML file of a package, drafts of coming standards left out."""
    root = pathlib.Path(str(importlib.resources.files(package))) / "resources"
    return sorted(file for file in root.rglob("*.yaml") if "unstable" not in file.parts)


def flow(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)


def requirement(value):
    """`1.6.0` is exactly that standard, `>=1.6.0` from it on, `*` all."""
    if value is None:
        return "*"
    if isinstance(value, dict):
        signs = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
        return ",".join(signs[key] + str(limit) for key, limit in value.items())
    return str(value)


def tag_entry(tag):
    """A tag, and where its schema does not follow from it, `=` and the schema."""
    uri = tag.get("schema_uri")
    uris = uri if isinstance(uri, list) else [uri] if uri else []
    name = tag["tag_uri"].removeprefix(TAG)
    if uris == [SCHEMA + name]:
        return name
    return tag["tag_uri"] + "=" + ",".join(uris)


def main():
    here = pathlib.Path(__file__).parent / "schemas"
    manifests = []
    for family, packages in PACKAGES.items():
        lines = []
        for package in packages:
            for file in files(package):
                document = yaml.safe_load(file.read_text(encoding="utf-8"))
                if "extension_uri" in document:
                    tags = " ".join(tag_entry(tag) for tag in document["tags"])
                    needs = requirement(document.get("asdf_standard_requirement"))
                    manifests.append(f"{document['id']} {needs} {tags}")
                elif "id" in document:
                    lines.append(f"{document['id']} {flow(condensed(document))}")
        (here / f"{family}.txt").write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")
    (here / "manifests.txt").write_text("\n".join(sorted(manifests)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
