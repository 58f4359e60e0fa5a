"""Arrays of more files than a process may have open at once.

dask and xarray hold arrays of thousands of files by these objects: the files that were used last stay open, and the others are
opened again when they are read. A file that has changed meanwhile is an error.
"""

import collections
import threading
import weakref

import numpy

from . import _values

# Files that stay open for arrays that are held here; systems allow a process 256 or 1024 in all.
_MOST = 128

# A duration that is missing: no library has it as its fill value.
_NAT = -(2**63)

_LOCK = threading.Lock()
_FILES = collections.OrderedDict()


class Kept:
    """An array that is read like a `trilith.Array`, and gives its file back while many others are used."""

    def __init__(self, array):
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        # An integer is no fill value of a library for xarray, which would make floats of all of them.
        unset = array._words.get("grid_missing") if array.dtype.kind in "iu" else None
        if unset == _NAT:
            unset = None
        self.masked = array.mask is not None and (unset is None or str(array.mask) != str(unset))
        self._array, self._words, self._file = array, None, None
        way = array._way()
        if way is None:
            return
        self._words = _values.reopening(array, way)
        self._file = _file(self._words)
        with _LOCK:
            _FILES.setdefault(self._file, weakref.WeakSet()).add(self)
            _drop()

    @property
    def array(self):
        """The `trilith.Array`."""
        array = self._array
        if array is None:
            array = _values.reopened(*self._words)
        if self._file is not None:
            with _LOCK:
                self._array = array
                _FILES.setdefault(self._file, weakref.WeakSet()).add(self)
                _FILES.move_to_end(self._file)
                _drop()
        return array

    def __getitem__(self, index):
        return self.array[index]

    def __reduce__(self):
        if self._words is None:
            return Kept, (self._array,)
        return _later, (self._words, self.masked)

    def __dask_tokenize__(self):
        return _values.token(self._array) if self._words is None else (self._file, *map(str, self._words))


def _later(words, masked):
    """An array that was pickled. Its file is opened when it is read. A process that only hands it on, such as the scheduler of a
    cluster, opens no file."""
    kept = Kept.__new__(Kept)
    kept.shape, kept.dtype, kept.masked = tuple(words[4]), numpy.dtype(words[5]), masked
    kept.ndim = len(kept.shape)
    kept._array, kept._words, kept._file = None, words, _file(words)
    return kept


def _file(words):
    """Returns an identity of an open file."""
    return words[0], repr(sorted(words[1].items())), words[-1]


def _drop():
    """Gives back the files that were not used for longest."""
    while len(_FILES) > _MOST:
        _, arrays = _FILES.popitem(last=False)
        for kept in list(arrays):
            kept._array = None
