"""Writes the documentation of the native module into its stub, where editors and the reference of the site find it.

`python document_stubs.py` writes; `test_stubs.py` fails where they differ.
"""

import ast
import inspect
import pathlib

import trilith
from trilith import _trilith

HERE = pathlib.Path(trilith.__file__).parent
STUB = HERE / "_trilith.pyi"


def documented(text, module):
    """The text of a stub with the docstrings of what it describes."""
    lines, tree = text.split("\n"), ast.parse(text)
    places = []
    seen = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_write") and node.name not in seen:
            # Of overloads the first says it for all.
            seen.add(node.name)
            places.append((node, getattr(module, node.name), 0))
        if isinstance(node, ast.ClassDef):
            owner = getattr(module, node.name)
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                    places.append((inner, inspect.getattr_static(owner, inner.name), 4))
    for node, thing, indent in reversed(places):
        doc = getattr(getattr(thing, "__func__", thing), "__doc__", None)
        if doc:
            put(lines, node, inspect.cleandoc(doc), " " * (indent + 4))
    return "\n".join(lines)


def put(lines, node, doc, margin):
    """Puts a docstring at the beginning of a body, in place of the one that is there."""
    quoted = f'{"r" if chr(92) in doc else ""}"""{doc}'
    quoted += '\n"""' if "\n" in doc else '"""'
    made = [margin + line if line else "" for line in quoted.split("\n")]
    first = node.body[0]
    is_doc = isinstance(first, ast.Expr) and isinstance(getattr(first, "value", None), ast.Constant)
    if is_doc and first.lineno == first.end_lineno and first.value.value is ...:
        head = lines[first.lineno - 1][: first.col_offset].rstrip()
        lines[first.lineno - 1 : first.end_lineno] = [head, *made]
    elif is_doc:
        lines[first.lineno - 1 : first.end_lineno] = made
    else:
        start = min([first.lineno, *(mark.lineno for mark in getattr(first, "decorator_list", []))])
        lines[start - 1 : start - 1] = [*made, ""]


if __name__ == "__main__":
    STUB.write_text(documented(STUB.read_text(), _trilith))
