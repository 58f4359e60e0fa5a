"""The stubs say what the module has, no more and no less."""

import ast
import inspect
import json
import pathlib
import subprocess
import sys

import pytest

import trilith
from trilith import _trilith

STUB = ast.parse((pathlib.Path(trilith.__file__).parent / "_trilith.pyi").read_text())

# What every class has, or what Python makes of the slots that the stub names.
INHERITED = set(dir(object)) | {"__module__", "__weakref__"}


def names(body):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id, node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
            yield node.targets[0].id, node


def parameters(node):
    """Names of the parameters, as `inspect` gives them."""
    given = node.args
    found = [arg.arg for arg in given.posonlyargs + given.args]
    found += [given.vararg.arg] if given.vararg else []
    found += [arg.arg for arg in given.kwonlyargs]
    return found + ([given.kwarg.arg] if given.kwarg else [])


def test_the_module_has_the_names_of_the_stub():
    stub = {name for name, node in names(STUB.body) if not isinstance(node, ast.AnnAssign) or name == "__version__"}
    native = {name for name in dir(_trilith) if not name.startswith("__")} | {"__version__"}
    assert stub == native


def test_the_classes_have_the_methods_of_the_stub():
    for name, node in names(STUB.body):
        if not isinstance(node, ast.ClassDef):
            continue
        stub = {method for method, _ in names(node.body)}
        native = set(vars(getattr(_trilith, name))) - INHERITED | (stub & set(dir(getattr(_trilith, name))))
        # A slot of C until Python 3.12, and under that condition in the stub.
        native.discard("__buffer__")
        # It finds the names of earlier versions alone, which type checkers refuse.
        native.discard("__getattr__")
        if name.endswith("Error"):
            native = set()
        assert stub == native, name


def test_parameters_and_defaults_are_those_of_the_stub():
    def compare(node, native):
        if node.name.startswith("__") and node.name.endswith("__"):
            return
        signature = inspect.signature(native)
        assert parameters(node) == list(signature.parameters), node.name
        if any(getattr(mark, "id", None) == "overload" for mark in node.decorator_list):
            return
        defaults = {arg.arg: default for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults)}
        if node.args.defaults:
            defaults.update(zip([arg.arg for arg in node.args.args][-len(node.args.defaults) :], node.args.defaults))
        for name, default in defaults.items():
            expected = inspect.Parameter.empty if default is None else ast.literal_eval(default)
            assert signature.parameters[name].default == expected, f"{node.name}({name})"

    for name, node in names(STUB.body):
        if isinstance(node, ast.FunctionDef):
            compare(node, getattr(_trilith, name))
        elif isinstance(node, ast.ClassDef):
            for method, inner in names(node.body):
                native = getattr(getattr(_trilith, name), method, None)
                if isinstance(inner, ast.FunctionDef) and callable(native):
                    compare(inner, native)


def test_the_stub_that_is_installed_says_what_the_module_says():
    """`xtask/document_stubs.py` takes the documentation from the sources."""
    described, seen = [(node, _trilith) for node in STUB.body if isinstance(node, ast.ClassDef)], set()
    described += [(inner, getattr(_trilith, node.name)) for node, _ in described for inner in node.body]
    described += [(node, _trilith) for node in STUB.body]
    for node, owner in described:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or (owner, node.name) in seen:
            continue
        if node.name.startswith("_") and isinstance(node, ast.FunctionDef):
            continue
        # Of overloads the first says it for all.
        seen.add((owner, node.name))
        thing = inspect.getattr_static(owner, node.name)
        doc = getattr(getattr(thing, "__func__", thing), "__doc__", None)
        assert ast.get_docstring(node) == (inspect.cleandoc(doc) if doc else None), node.name
    assert len(seen) > 150


CONSUMER = """
import numpy as np
import trilith

with trilith.open("a.asdf") as f:
    found: dict[str, object] = f.search("exposure", shape=(None, 5))
    wcs = f.get("roman/meta/wcs", as_="asdf")
    a = f["data"]
    assert isinstance(a, trilith.Array)
    shape: tuple[int, ...] = a.shape
    part: trilith.Array = a.part((slice(1, 3), ..., 0))
    f["x"] = 1
    f.rename("/x", "y")
    for entry in f.asdf.history if f.asdf else []:
        print(entry["description"])
    f.write_to("b.asdf")
    first: str | None = f.visititems(lambda path, value: path if value == 1 else None)
    print(f.to_json(), f.mode, a.chunks, a.codec, a.path, a.unit, a.itemsize, part.ndim)
trilith.write("c.asdf", {"a": np.zeros(3)}, codec="lz4")
stream: trilith.File = trilith.open("x", layout=trilith.Layout("N : <i4"))
rows: list[dict[str, object]] = trilith.table("*.asdf", {"a": "/a"}).rows()
sky = trilith.wcs("a.asdf")
assert isinstance(sky, trilith.WCS)
corners = sky.footprint()
edge: float | None = None if corners is None else float(corners[0, 0])
te = trilith.concat("*.asdf", "/te", dim="time", dims=("y", "x"))
pieces = trilith.Pieces([np.zeros((2, 3))], (None, 3), "f4")
with trilith.create("d.asdf", {"a": trilith.Reserved((4, 3), "f4")}) as work:
    work.write_region("a", (slice(0, 2), ...), np.zeros((2, 3), "f4"))
    work["a"][2:] = np.zeros((2, 3), "f4")
    left: int = work.unwritten["/a"]
trilith.resume("d.asdf").finish(fill=0)
"""


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_type_checkers_accept_them_in_strict_mode(tmp_path, checker):
    pytest.importorskip(checker)
    (tmp_path / "consumer.py").write_text(CONSUMER)
    folder = pathlib.Path(trilith.__file__).parent
    # A copy, so that the package is found in the way that a user's project finds it.
    (tmp_path / "trilith").mkdir()
    for path in [*folder.glob("*.py"), *folder.glob("*.pyi"), folder / "py.typed"]:
        (tmp_path / "trilith" / path.name).write_bytes(path.read_bytes())
    words = {
        "mypy": ["--strict", "--no-incremental", "--follow-imports=silent", "--python-executable", sys.executable],
        "pyright": ["--pythonpath", sys.executable],
    }[checker]
    settings = {"typeCheckingMode": "strict", "include": ["consumer.py", "trilith/_trilith.pyi"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    files = ["consumer.py", "trilith/_trilith.pyi"] if checker == "mypy" else []
    done = subprocess.run([sys.executable, "-m", checker, *words, *files], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_public_is_documented_and_marked_as_typed():
    assert (pathlib.Path(trilith.__file__).parent / "py.typed").exists()
    for name in trilith.__all__:
        thing = getattr(trilith, name)
        if name == "__version__":
            continue
        assert thing.__doc__, name
        if inspect.isclass(thing) and thing.__module__ == "trilith":
            for method, value in vars(thing).items():
                if not method.startswith("_"):
                    assert value.__doc__, f"{name}.{method}"


# Methods of numpy, and those of the protocol of Zarr stores, are documented by these packages.
INHERITED_DOCUMENTATION = ("Same as `numpy.ndarray.",)


def documented(trees):
    """Yields the name, the docstring and the expected sections of each public function and method."""
    for tree, wanted in trees:
        for owner in tree.body:
            if not isinstance(owner, (ast.FunctionDef, ast.ClassDef)) or owner.name.startswith("_") or not wanted(owner.name):
                continue
            if isinstance(owner, ast.FunctionDef):
                yield owner.name, ast.get_docstring(owner) or "", sections(owner, False)
                continue
            for inner in owner.body:
                is_property = isinstance(inner, ast.FunctionDef) and inner.decorator_list and "property" in ast.unparse(inner.decorator_list[0])
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_") and not is_property:
                    yield f"{owner.name}.{inner.name}", ast.get_docstring(inner) or "", sections(inner, True)


def sections(node, is_method):
    """The sections of numpydoc that a function needs: of a method that cannot fail, no errors."""
    given = node.args
    is_static = any(getattr(mark, "id", None) == "staticmethod" for mark in node.decorator_list)
    count = len(given.posonlyargs + given.args + given.kwonlyargs) - (is_method and not is_static)
    takes = count > 0 or given.vararg or given.kwarg
    gives = node.returns is None or ast.unparse(node.returns) != "None"
    return [*["Parameters"] * bool(takes), *["Returns"] * gives, *["Raises"] * (not is_method), "Examples"]


def test_every_function_has_the_sections_of_numpydoc():
    package = pathlib.Path(trilith.__file__).parent
    public = {*trilith.__all__, "_Keyed", "search", "visititems", "to_json"}
    own = [ast.parse(path.read_text()) for path in (package / "__init__.py", *sorted(package.glob("_[!_]*.py")))]
    modules = [ast.parse((package / name).read_text()) for name in ("asdf.py", "zarr.py")]
    trees = [(tree, lambda name: name in public) for tree in (STUB, *own)]
    trees += [(module, lambda name: name in ("open", "everywhere")) for module in modules]
    missing, seen = [], 0
    for name, text, needed in documented(trees):
        if text.startswith(INHERITED_DOCUMENTATION):
            continue
        seen += 1
        absent = [section for section in needed if f"{section}\n{'-' * len(section)}" not in text]
        missing += [f"{name}: {', '.join(absent)}"] * bool(absent)
    assert seen > 60
    assert not missing, "\n".join(missing)
