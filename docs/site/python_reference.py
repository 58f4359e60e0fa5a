"""Writes a page for each public name of the Python package: `python_reference.py PACKAGE FOLDER`.

Only sources are read (the stub of the native module with its documentation from Rust, and the modules), so that the package need
not be built.
"""

import ast
import copy
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "xtask"))

import document_stubs


# Modules that are imported by themselves, and the titles of their parts.
MODULES = {"asdf": "Under the asdf package", "zarr": "As Zarr", "virtual": "As virtual datasets"}

# Sections of numpydoc that are lists.
LISTED = ("Parameters", "Returns", "Yields", "Raises")


# Private names of types, and what they mean.
ALIASES = {}


def parsed(path):
    """Returns the tree of a module, or of a stub and its documentation, with annotations as a reader wants them."""
    is_stub = path.suffix == ".pyi"
    tree = Plain().visit(ast.parse(document_stubs.documented(path.parents[2]) if is_stub else path.read_text()))
    ALIASES.update(aliases(tree))
    return tree


def aliases(tree):
    """Yields the private names of types in a module, each with its meaning."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname, alias.name) for alias in node.names if alias.asname and alias.asname.startswith("_"))
        elif isinstance(node, ast.AnnAssign) and node.value is not None and getattr(node.annotation, "id", "") == "TypeAlias":
            yield node.target.id, ast.unparse(node.value)


def public(text):
    """Returns a signature without the private names of types."""
    for _ in ALIASES:
        text = re.sub(r"\b_[A-Z]\w*", lambda found: ALIASES.get(found.group(), found.group()), text)
    return text


def main(package, folder):
    """Writes the pages and an index of them."""
    outer = parsed(package / "__init__.py")
    known = {node.name: [node] for node in outer.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    hidden = {}
    for source in outer.body:
        if not (isinstance(source, ast.ImportFrom) and source.level and source.module):
            continue
        public = {alias.name for alias in source.names}
        stub, module = (package / f"{source.module}{ending}" for ending in (".pyi", ".py"))
        for node in parsed(stub if stub.exists() else module).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                (known if node.name in public else hidden).setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ImportFrom) and node.level and not node.module:
                # Functions of these modules are methods, too.
                inner = [inner for alias in node.names for inner in parsed(package / f"{alias.name}.py").body]
                hidden |= {node.name: [node] for node in inner if isinstance(node, ast.FunctionDef)}
    folder.mkdir(parents=True, exist_ok=True)
    names = {f"trilith.{name}": nodes for name, nodes in known.items()}
    for module in MODULES:
        names |= {f"trilith.{module}.{node.name}": [node] for node in public_of(ast.parse((package / f"{module}.py").read_text()))}
    parts = {"Functions": [], "Classes": [], **{part: [] for part in MODULES.values()}}
    for name, nodes in sorted(names.items(), key=lambda pair: pair[0].lower()):
        is_class = isinstance(nodes[0], ast.ClassDef)
        part = MODULES.get(name.split(".")[1], "Classes" if is_class else "Functions")
        text = of_class(name, nodes[0], hidden) if is_class else of_function(name, nodes)
        (folder / f"{name}.md").write_text(f"# {name}\n\n{text}")
        parts[part].append((name, first(nodes)))
    lines = ["# The Python package, name by name", "", "The documentation of each public name, from the code."]
    for part, listed in parts.items():
        lines += ["", f"## {part}", "", *(f"- [{name}]({name}.md): {said}" for name, said in listed)]
    (folder / "index.md").write_text("\n".join(lines) + "\n")


class Plain(ast.NodeTransformer):
    """Annotations as a reader wants them: `Iterable[File]` for `"abc.Iterable[File]"`."""

    def visit_arg(self, node):
        if node.annotation:
            node.annotation = Annotation().visit(node.annotation)
        return node

    def visit_FunctionDef(self, node):
        if node.returns:
            node.returns = Annotation().visit(node.returns)
        return self.generic_visit(node)


class Annotation(ast.NodeTransformer):
    def visit_Subscript(self, node):
        return node if getattr(node.value, "id", None) == "Literal" else self.generic_visit(node)

    def visit_Constant(self, node):
        return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node

    def visit_Attribute(self, node):
        module = getattr(node.value, "id", "").lstrip("_")
        # The package has a class of this name, too.
        name = f"abc.{node.attr}" if node.attr == "Mapping" else node.attr
        return ast.Name(name) if module in ("abc", "typing") else node


def public_of(module):
    """Returns the public functions and classes of a module."""
    offered = next(ast.literal_eval(node.value) for node in module.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    return [node for node in module.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in offered]


def first(nodes):
    """Returns the first paragraph of a docstring."""
    return " ".join((doc(nodes) or "").split("\n\n")[0].split())


def doc(nodes):
    """Returns the docstring of a name: overloads are described once."""
    return next((found for node in nodes if (found := ast.get_docstring(node))), None)


def of_function(name, nodes):
    """Returns the signature and the docstring of a function."""
    return f"{code(signature(name, node) for node in nodes)}\n{prose(doc(nodes))}"


def of_class(name, node, hidden):
    """Returns the docstring of a class, and its properties and methods, with those of its base."""
    members = {}
    for base in node.bases:
        for parent in hidden.get(getattr(base, "id", ""), []):
            members |= dict(members_of(parent, hidden))
    members |= dict(members_of(node, hidden))
    made = [prose(doc([node]), "**{}**")]
    init = members.get("__init__") or members.get("__new__")
    if init is not None:
        made.insert(0, code([signature(name, init, True)]))
    shown = {key: inner for key, inner in members.items() if not key.startswith("_")}
    for title, wanted in (("Properties", True), ("Methods", False)):
        chosen = {key: inner for key, inner in shown.items() if is_property(inner) == wanted}
        if chosen:
            made.append(f"## {title}\n")
        for key, inner in chosen.items():
            kind = f": {ast.unparse(inner.returns)}" if inner.returns else ""
            head = code([f"{key}{kind}"]) if wanted else code([signature(key, inner, True)])
            said = prose(ast.get_docstring(inner), "**{}**")
            made.append(f"### {key}\n\n{head}\n{said}")
    return "\n".join(made)


def members_of(node, hidden):
    """Yields the methods of a class by name; `search = _habits.search` is that function."""
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef):
            yield inner.name, inner
        elif isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Attribute):
            yield inner.targets[0].id, hidden[inner.value.attr][0]


def is_property(node):
    return any(getattr(mark, "id", None) == "property" for mark in node.decorator_list)


def signature(name, node, is_method=False):
    """A call, on one line or with a parameter on each."""
    is_static = any(getattr(mark, "id", None) == "staticmethod" for mark in node.decorator_list)
    given = copy.deepcopy(node.args)
    if is_method and not is_static:
        del (given.posonlyargs or given.args)[:1]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name not in ("__init__", "__new__") else ""
    returns = public(returns)
    whole = public(f"{name}({ast.unparse(given)}){returns}")
    if len(whole) <= 100:
        return whole
    return f"{name}(\n" + "".join(f"    {public(part)},\n" for part in parts_of(given)) + f"){returns}"


def parts_of(given):
    """The parameters, each as text."""
    plain = given.posonlyargs + given.args
    bare = len(plain) - len(given.defaults)
    for at, arg in enumerate(plain):
        yield text_of(arg, given.defaults[at - bare] if at >= bare else None)
    if given.vararg or given.kwonlyargs:
        yield f"*{text_of(given.vararg, None)}" if given.vararg else "*"
    for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield text_of(arg, default)
    if given.kwarg:
        yield f"**{text_of(given.kwarg, None)}"


def text_of(arg, default):
    named = f"{arg.arg}: {ast.unparse(arg.annotation)}" if arg.annotation else arg.arg
    if default is None:
        return named
    return f"{named} = {ast.unparse(default)}" if arg.annotation else f"{named}={ast.unparse(default)}"


def code(lines):
    return "```python\n" + "\n".join(lines) + "\n```\n"


def prose(text, heading="## {}"):
    """Returns a docstring of numpydoc as Markdown: a heading for each section, a list of parameters, examples as code."""
    made, lines, listed = [], (text or "").split("\n"), False
    at = 0
    while at < len(lines):
        line = lines[at]
        if at + 1 < len(lines) and line and lines[at + 1] == "-" * len(line):
            listed = line in LISTED
            made.append(heading.format(line))
            at += 2
            if listed:
                made.append("")
            continue
        if line.startswith(">>>"):
            end = next((number for number in range(at, len(lines)) if not lines[number]), len(lines))
            made += ["```pycon", *lines[at:end], "```"]
            at = end
            continue
        if listed and line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            # Stars of `*args` are no emphasis.
            made.append(f"- `{name}`" + (f" ({kind})" if kind else ""))
        elif listed and line:
            # The text of a parameter begins after its type; its next lines go on.
            made[-1] += (": " if lines[at - 1] and not lines[at - 1].startswith(" ") else " ") + line.strip()
        else:
            made.append(line)
        at += 1
    return "\n".join(made) + "\n"


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:3]))
