"""Arguments that earlier versions had."""

import warnings


def merge_remote(function, storage_options, deprecated):
    """Returns the storage options with those of the argument `remote` of earlier versions, after a warning."""
    for name in deprecated:
        if name != "remote":
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        message = f"the argument remote of trilith.{function} is an option of storage_options now"
        warnings.warn(message, DeprecationWarning, stacklevel=3)
    remote = deprecated.get("remote")
    return storage_options if remote is None else {**(storage_options or {}), **remote}
