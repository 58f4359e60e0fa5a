"""Chunks of an array that end where pieces of its block end."""

_SIZE = 128 << 20


def rows(array, size=None):
    """Lengths of chunks of whole rows of about so many bytes, or None where rows do not lie together.

    A chunk ends at the first row that begins in another piece of a compressed block, so that two chunks share
    no more than one piece, and none where a row ends with the piece.
    """
    size = _size() if size is None else size
    if not array.shape or not array.nbytes:
        return None
    piece, offset, row = array._pieces()
    if row <= 0 or row * array.shape[0] != array.nbytes:
        return None
    length = array.shape[0]
    if piece is None:
        step = max(1, size // row)
        ends = range(step, length, step)
    else:
        step = max(1, size // piece) * piece
        ends = (-(-(at - offset) // row) for at in range(step, offset + array.nbytes, step) if at > offset)
    ends = sorted({0, length, *(end for end in ends if end < length)})
    return tuple(end - start for start, end in zip(ends, ends[1:], strict=False))


def shape(array):
    """The shape of what is decoded together, as h5py and zarr have it; None where any part can be read by itself.

    A block whose pieces do not end at rows counts as whole rows, at least one; one without pieces as a whole.

    >>> import numpy, trilith
    >>> f = trilith.open(trilith.dumps({"a": numpy.zeros((10, 4))}))
    >>> f["a"].chunks is None
    True
    >>> f = trilith.open(trilith.dumps({"a": numpy.zeros((10, 4))}, codec="zlib"))
    >>> f["a"].chunks
    (10, 4)
    """
    if not array.shape or not array.nbytes:
        return None
    piece, _, row = array._pieces()
    if piece is None:
        return None
    if row <= 0 or row * array.shape[0] != array.nbytes:
        return array.shape
    return (min(array.shape[0], max(1, piece // row)), *array.shape[1:])


def _size():
    """What dask is set to, or would be."""
    try:
        from dask import config, utils
    except ImportError:
        return _SIZE
    return utils.parse_bytes(config.get("array.chunk-size", _SIZE))
