"""The stubs say what the module has, no more and no less."""

import ast
import inspect
import pathlib

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
