"""Self-describing scientific array files: every generation of ASDF, fast and lazy.

Trees behave like dictionaries and lists, arrays like numpy's:

>>> import numpy, trilith
>>> data = trilith.dumps({"roman": {"data": numpy.arange(6).reshape(2, 3), "meta": {"exposure": 139.8}}})
>>> with trilith.open(data) as f:
...     image = f["roman/data"]
...     exposure = f["roman"]["meta"]["exposure"]
>>> image[0], exposure
(array([0, 1, 2]), 139.8)
"""

from collections import abc as _abc
from typing import Any as _Any

from ._trilith import Array, File, FormatError, LimitError, Mapping, Sequence, __version__, open, write
from ._values import TaggedString

__all__ = [
    "Array",
    "File",
    "FormatError",
    "LimitError",
    "Mapping",
    "Sequence",
    "TaggedString",
    "__version__",
    "dumps",
    "open",
    "write",
]

_abc.Mapping.register(Mapping)
_abc.Mapping.register(File)
_abc.Sequence.register(Sequence)


def dumps(
    tree: "_abc.Mapping[_Any, _Any] | Mapping | File",
    *,
    codec: str | None = None,
    level: int | None = None,
    version: str = "1.6",
    checksums: bool = True,
    inline: bool | int | None = None,
) -> bytes:
    """The bytes of a file, as `write` writes it with the same options.

    >>> import trilith
    >>> trilith.dumps({"a": 1}).startswith(b"#ASDF 1.0.0")
    True
    """
    import io

    out = io.BytesIO()
    write(out, tree, codec=codec, level=level, version=version, checksums=checksums, inline=inline)
    return out.getvalue()
