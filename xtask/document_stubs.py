"""Writes the documentation of the native module of the Python package into its stub: `document_stubs.py PACKAGE STUB`.

The stub in the repository has types alone, and the documentation is in the sources in Rust. Editors and the reference of the site
find both in the stub that is installed.
"""

import ast
import pathlib
import re
import sys

ITEM = re.compile(r"(?:pub(?:\([a-z]+\))? )?(?:fn|struct|enum) (\w+)")
NAME = re.compile(r'(?:name = "|getter\()(\w+)')


def documentation(package):
    """Returns the documentation of classes, functions (under None) and methods in Rust, by class and name."""
    found, classes = {}, {}
    for path in sorted((package / "src").rglob("*.rs")):
        owner, doc, marks = None, [], ""
        for line in path.read_text().split("\n"):
            text = line.strip()
            item = ITEM.match(text)
            if text.startswith("///"):
                doc.append(text[3:].removeprefix(" "))
                continue
            if text.startswith("#[") or (marks and not marks.endswith("]")):
                marks += text
                continue
            if line.startswith("impl "):
                owner = line.split()[1] if "#[pymethods]" in marks else None
            elif line == "}":
                owner = None
            elif item and doc and ("#[py" in marks or owner):
                name = NAME.search(marks)
                name = name[1] if name else item[1]
                if "pyclass" in marks:
                    classes[item[1]] = name
                found[owner, name] = "\n".join(doc).strip()
            doc, marks = [], ""
    return {(classes.get(owner), name): doc for (owner, name), doc in found.items()} | of_numpy(package)


def of_numpy(package):
    """Returns the documentation of the methods of arrays that are put there in Python."""
    found = {}
    for node in ast.parse((package / "python/trilith/_numpy.py").read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            # Names that are divided by blanks.
            names = node.value.func.value.value.split()
            found |= {("Array", name): f"Same as `numpy.ndarray.{name}`. Reads all elements." for name in names}
        elif isinstance(node, ast.Assign) and isinstance(getattr(node.value, "value", None), str):
            found["Array", node.targets[0].id.strip("_").lower()] = node.value.value.strip()
    return found


def documented(package):
    """Returns the text of the stub with the docstrings of what it describes."""
    text = (package / "python/trilith/_trilith.pyi").read_text()
    docs = documentation(package)
    lines, places = text.split("\n"), []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and not node.name.startswith("_")):
            # Of overloads the first has the documentation of all.
            places.append((node, docs.pop((None, node.name), None), 4))
        if isinstance(node, ast.ClassDef):
            methods = [inner for inner in node.body if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_")]
            places += [(inner, docs.pop((node.name, inner.name), None), 8) for inner in methods]
    for node, doc, margin in reversed(places):
        if doc:
            put(lines, node, doc, " " * margin)
    return "\n".join(lines)


def put(lines, node, doc, margin):
    """Puts a docstring at the beginning of a body."""
    quoted = f'{"r" if chr(92) in doc else ""}"""{doc}' + ('\n"""' if "\n" in doc else '"""')
    made = [margin + line if line else "" for line in quoted.split("\n")]
    first = node.body[0]
    if isinstance(getattr(first, "value", None), ast.Constant):
        lines[first.lineno - 1 : first.end_lineno] = [lines[first.lineno - 1][: first.col_offset].rstrip(), *made]
    else:
        start = min([first.lineno, *(mark.lineno for mark in getattr(first, "decorator_list", []))])
        lines[start - 1 : start - 1] = [*made, ""]


if __name__ == "__main__":
    package, stub = map(pathlib.Path, sys.argv[1:])
    stub.write_text(documented(package))
