"""dask arrays whose tasks name a path, a tree path and a range, and hold nothing open."""

import dask.array
import numpy
from dask.array.core import normalize_chunks

from . import _chunks, _kept


def to_dask(array, chunks=None):
    """See `trilith.Array.to_dask`."""
    shape, dtype = array.shape, array.dtype
    if chunks is None:
        rows = _chunks.rows(array)
        chunks = "auto" if rows is None else (rows, *((length,) for length in shape[1:]))
    chunks = normalize_chunks(chunks, shape, dtype=dtype)
    meta = numpy.empty((0,) * len(shape), dtype)
    if array.mask is not None:
        meta = numpy.ma.masked_array(meta)
    return dask.array.from_array(_kept.Kept(array), chunks, asarray=False, fancy=False, inline_array=True, meta=meta)
