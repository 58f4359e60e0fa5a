"""The entry point that `asdf` loads. It does nothing unless `TRILITH_ASDF` is set, and does not import `asdf`."""

import os
import warnings

_ASKED = {"read": ("read",), "write": ("read", "write")}


def extensions():
    """The extensions of this package: there are none. `TRILITH_ASDF=read` or `write` starts `trilith.asdf.everywhere`."""
    asked = os.environ.get("TRILITH_ASDF", "")
    if asked in _ASKED:
        from . import _asdf_hooks, _asdf_use

        if not _started:
            _started.append(True)
            _asdf_hooks.install()
            _asdf_use.start(*_ASKED[asked])
    elif asked:
        warnings.warn(f"TRILITH_ASDF is {asked!r}; expected read or write, so that asdf goes on alone", stacklevel=2)
    return []


_started = []
