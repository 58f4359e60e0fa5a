"""Chunks of an array that suit dask and how the array is stored."""

_SIZE = 128 << 20


def rows(array):
    """Lengths of chunks of whole rows, about as large as dask has them, or None if rows are not consecutive."""
    return array._row_parts(_size())


def _size():
    """Returns the chunk size that dask is set to, or its default."""
    try:
        from dask import config, utils
    except ImportError:
        return _SIZE
    return utils.parse_bytes(config.get("array.chunk-size", _SIZE))
