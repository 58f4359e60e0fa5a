"""Methods that dictionaries of other libraries have: completion of keys, searching, visiting, JSON.

It is put into the classes here, because it is nothing but their own methods in another order.
"""

import base64
import datetime
import itertools
import json
import math
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import numpy

from ._trilith import Array, File, Sequence, _Keyed

_Several: TypeAlias = str | Iterable[str] | None
_T = TypeVar("_T")

# Keys that are shown at once.
_MOST = 10_000

_TYPED = re.compile(r"""\[\s*(?:"([^"]*)|'([^']*))$""")


def _ipython_key_completions_(self):
    """Returns the keys, and after a `/` the paths below, for IPython and Jupyter."""
    above, _, _ = _typed().rpartition("/")
    if above:
        found = self.get(above) if hasattr(self, "get") else None
        if hasattr(found, "keys"):
            return [f"{above}/{key}" for key in itertools.islice(found, _MOST)]
        if isinstance(found, Sequence):
            return [f"{above}/{number}" for number in range(min(len(found), _MOST))]
    return [str(key) for key in itertools.islice(self, _MOST)]


def _typed():
    """Returns the text after the bracket in IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    before = getattr(getattr(shell, "Completer", None), "text_until_cursor", "") or ""
    found = _TYPED.search(before)
    return (found.group(1) or found.group(2) or "") if found else ""


def search(
    self: Any,
    key: _Several = None,
    value: _Several | float = None,
    *,
    path: str | None = None,
    tag: str | None = None,
    datatype: str | None = None,
    shape: str | Iterable[int | None] | None = None,
) -> dict[str, Any]:
    """Returns the items that meet all conditions. Arrays are not read.

    Parameters
    ----------
    key : str or list of str, optional
        Regular expressions that the key must match.
    value : str, float or list of str, optional
        Regular expressions that the value must match, a number, or a comparison such as `">100"`.
    path : str, optional
        A pattern for the path, such as `"/roman/*/time"` or `"**/time"`.
    tag : str, optional
        A pattern for the tag, such as `"**unit-1.*"`.
    datatype : str, optional
        The datatype of an array, such as `"float32"` or `"f4"`.
    shape : tuple of int, optional
        The shape of an array. None matches any length.

    Returns
    -------
    dict
        The values by their paths.

    Raises
    ------
    ValueError
        If there is no condition, or if a regular expression has an error.

    Examples
    --------
    >>> import numpy, trilith
    >>> tree = {"meta": {"exposure": {"time": 139.8, "start_time": "2028-01-01"}}, "data": numpy.zeros((4, 5), "f4")}
    >>> f = trilith.open(trilith.dumps(tree))
    >>> f.search("time")
    {'/meta/exposure/time': 139.8, '/meta/exposure/start_time': '2028-01-01'}
    >>> f.search(value=">100")
    {'/meta/exposure/time': 139.8}
    >>> list(f.search(shape=(None, 5), datatype="float32"))
    ['/data']
    """
    conditions = [_several(key), _several(value), path, tag, datatype, shape]
    if not any(given is not None and given != [] for given in conditions):
        raise ValueError("nothing to search for: give key, value, path, tag, datatype or shape")
    if shape is not None and not isinstance(shape, str):
        conditions[-1] = ",".join("*" if length is None else str(length) for length in shape)
    top = self.tree if isinstance(self, File) else self
    return {found: top[found] if found else top for found in self._search(tuple(conditions))}


def _several(given):
    if given is None:
        return []
    if isinstance(given, (int, float)):
        return [f"=={json.dumps(given)}"]
    return [given] if isinstance(given, str) else list(given)


def visititems(self: Any, func: Callable[[str, Any], _T | None]) -> _T | None:
    """Calls a function for each item below, in the order of the file, until it returns something other than None.

    Parameters
    ----------
    func : callable
        A function of a path and a value.

    Returns
    -------
    object
        The result that ended the calls, or None.

    Raises
    ------
    Exception
        The exceptions of `func`.

    Examples
    --------
    >>> import numpy, trilith
    >>> f = trilith.open(trilith.dumps({"roman": {"meta": {"filter": "F106"}, "data": numpy.zeros(3)}}))
    >>> f["roman"].visititems(lambda path, value: print(path))
    meta
    meta/filter
    data
    >>> f.visititems(lambda path, value: path if isinstance(value, trilith.Array) else None)
    'roman/data'
    """
    top = self.tree if isinstance(self, File) else self
    for path in self._search(([], [], None, None, None, None)):
        if path:
            found = func(path[1:], top[path])
            if found is not None:
                return found
    return None


def to_json(self: Any, *, inline: bool = False, indent: int | None = None) -> str:
    """Returns a mapping, a list or the whole tree as JSON.

    Numbers that are not finite are the strings "NaN", "Infinity" and "-Infinity". Dates, complex numbers and bytes (base 64) are
    strings.

    Parameters
    ----------
    inline : bool
        Write the elements of arrays, masked ones as null. Otherwise an array is its datatype and shape.
    indent : int, optional
        Number of spaces for each level. Without it the result is one line.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the tree contains itself.

    Examples
    --------
    >>> import numpy, trilith
    >>> f = trilith.open(trilith.dumps({"meta": {"seeing": float("nan")}, "data": numpy.arange(3, dtype="i2")}))
    >>> f["meta"].to_json()
    '{"seeing": "NaN"}'
    >>> f.to_json(inline=True).endswith('"data": [0, 1, 2]}')
    True
    """
    top = self.to_list() if isinstance(self, Sequence) else self.to_dict()
    return json.dumps(_plain(top, inline, set()), ensure_ascii=False, allow_nan=False, indent=indent)


def _plain(value, inline, above):
    """A value as JSON has it."""
    if isinstance(value, (dict, list)):
        if id(value) in above:
            raise ValueError("a tree that contains itself has no JSON")
        above = above | {id(value)}
        if isinstance(value, list):
            return [_plain(item, inline, above) for item in value]
        return {_key(key): _plain(item, inline, above) for key, item in value.items()}
    if isinstance(value, Array):
        if inline:
            return _plain(value[...].tolist(), inline, above)
        dtype = value.dtype
        return {"datatype": dtype.name if dtype.names is None else dtype.descr, "shape": list(value.shape)}
    if isinstance(value, numpy.ndarray):
        return _plain(value.tolist(), inline, above)
    if isinstance(value, tuple):
        return [_plain(item, inline, above) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, complex):
        return str(value).strip("()")
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def _key(key):
    return key if isinstance(key, str) else json.dumps(key) if isinstance(key, (int, float, bool)) or key is None else str(key)


for _class in (File, _Keyed):
    _class._ipython_key_completions_ = _ipython_key_completions_
    _class.search, _class.visititems = search, visititems
for _class in (File, _Keyed, Sequence):
    _class.to_json = to_json
