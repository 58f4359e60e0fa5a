"""Any file that Trilith reads, as a group of Zarr.

`trilith.zarr.open` gives a `zarr.Group`, `trilith.zarr.Store` the store below it, which xarray and dask take as well.
Nothing is converted: Trilith decodes the requested elements, and Zarr sees chunks whose borders suit the stored pieces.
Needs the package zarr (`pip install 'trilith[zarr]'`), which is imported when this module is.

>>> import numpy, tempfile, trilith.zarr
>>> path = tempfile.mkdtemp() + "/x.asdf"
>>> trilith.write(path, {"roman": {"data": numpy.arange(12.0).reshape(3, 4), "exposure": 139.8}})
>>> group = trilith.zarr.open(path)
>>> group["roman/data"][1, 2:].tolist(), group["roman"].attrs["exposure"]
([6.0, 7.0], 139.8)
"""

import asyncio
import errno
import json
import math
import os
import threading

import numpy
import zarr
from zarr.abc import store as _abc
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import StorePath

from . import _zarr_codec as _codec
from . import _zarr_nodes as _nodes
from ._file_sets import opened as _open
from ._trilith import Array as _Array
from ._trilith import _read_together, _state

__all__ = ["Store", "copy", "open"]


def open(source, layout=None, *, chunks=None, masks="beside", fill_value=None, **options):
    """Opens a file as a read-only `zarr.Group`.

    A slice reads only its elements, not whole chunks. With arrays of indices, it reads the smallest box that holds them. The metadata of
    the group name a codec that only Trilith has. To copy a file key by key, use a `Store`. Copies that zarr or xarray make
    have standard codecs.

    Parameters
    ----------
    source : str, os.PathLike, bytes or file object
        The file, as in `trilith.open`.
    layout, chunks, masks, fill_value, **options
        As in `Store`.

    Returns
    -------
    zarr.Group

    Raises
    ------
    OSError
        If the file cannot be read, or has changed since it was opened.
    ValueError
        If the file breaks the rules of its format, or if an option has no such value.

    Examples
    --------
    >>> import numpy, trilith.zarr
    >>> group = trilith.zarr.open(trilith.dumps({"data": numpy.arange(12.0).reshape(3, 4), "exposure": 139.8}))
    >>> group["data"][1, 2:].tolist(), group.attrs["exposure"]
    ([6.0, 7.0], 139.8)
    """
    store = _Direct(source, layout, chunks=chunks, masks=masks, fill_value=fill_value, **options)
    return zarr.Group(zarr.AsyncGroup.from_dict(StorePath(store), _consolidated(store._described)))


def copy(source, target, layout=None, *, chunks=None, masks="fill", fill_value=None, overwrite=False, **options):
    """Writes a file, or all files of a file set, as one Zarr store.

    Groups, arrays, attributes and the names of axes are those of `Store(source)`. Arrays are copied chunk by chunk.

    Parameters
    ----------
    source, layout, chunks, masks, fill_value, **options
        As for `Store`.
    target : str, os.PathLike or zarr store
        The store to write: a path, a URL, or anything else that `zarr.open_group` takes.
    overwrite : bool
        Replace what the target holds.

    Returns
    -------
    zarr.Group
        The group that was written, to be read.

    Raises
    ------
    OSError
        If the file cannot be read, or if the target cannot be written.
    FileExistsError
        If the target exists and `overwrite` is not set.

    Examples
    --------
    >>> import numpy, tempfile, trilith, trilith.zarr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trilith.write(f"{folder}/a.asdf", {"x": numpy.arange(3)})
    ...     group = trilith.zarr.copy(f"{folder}/a.asdf", f"{folder}/a.zarr")
    ...     group["x"][:].tolist()
    [0, 1, 2]
    """
    store = _Direct(source, layout, chunks=chunks, masks=masks, fill_value=fill_value, **options)
    group = zarr.Group(zarr.AsyncGroup.from_dict(StorePath(store), _consolidated(store._described)))
    made = zarr.open_group(target, mode="w" if overwrite else "w-", zarr_format=3, attributes=dict(group.attrs))
    for path, node in store._tree.nodes.items():
        if not path:
            continue
        if node.array is None:
            made.create_group(path, attributes=dict(group[path].attrs))
            continue
        found = group[path]
        written = made.create_array(
            path,
            shape=found.shape,
            dtype=found.dtype,
            chunks=found.chunks or "auto",
            dimension_names=node.dims,
            attributes=dict(found.attrs),
            fill_value=found.fill_value,
        )
        if not found.shape:
            written[...] = found[...]
            continue
        for index in numpy.ndindex(*node.counts):
            part = node.part(index)
            written[part] = found[part]
    return zarr.open_group(target, mode="r")


class Store(_abc.Store):
    """A read-only store of Zarr v3, made of any file that Trilith reads.

    Mappings and lists with arrays below them are groups. Everything else of the tree is an attribute of its group. Axes have the names
    that `Array.to_xarray` finds. The metadata are consolidated, so `xarray.open_zarr(store)` and
    `xarray.open_datatree(store, engine="zarr")` read them once.

    Several threads and event loops may use a store. A pickled store is the path or URL of its file, which the other process opens
    again. If the file has changed meanwhile, that is an `OSError` that names it.

    Parameters
    ----------
    source : str, os.PathLike, bytes or file object
        The file, as in `trilith.open`.
    layout : Layout, str or os.PathLike, optional
        The layout of the file, as in `trilith.open`.
    chunks : tuple, int or dict, optional
        The chunks: a tuple for all arrays with this number of axes, a number of rows, or a dictionary of these by path. Without it,
        chunks end where stored sub-blocks end.
    masks : {"beside", "fill"}
        Give the mask of `data` as an array `data_mask`, or give masked elements the value `fill_value`.
    fill_value : number, optional
        The value of masked elements, which xarray treats as missing. By default NaN, or the least number of a signed and the greatest
        of an unsigned integer type. Booleans and strings have no such value.
    **options
        Other options of `trilith.open`.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If an option has no such value.

    Examples
    --------
    >>> import numpy, trilith.zarr, zarr
    >>> store = trilith.zarr.Store(trilith.dumps({"a": numpy.arange(12.0).reshape(3, 4)}), chunks=(2, 4))
    >>> zarr.open_group(store, mode="r")["a"].chunks
    (2, 4)
    """

    def __init__(self, source, layout=None, *, chunks=None, masks="beside", fill_value=None, **options):
        super().__init__(read_only=True)
        if masks not in ("beside", "fill"):
            raise ValueError(f'masks is "beside" or "fill", not {masks!r}')
        if isinstance(source, (str, os.PathLike)) and "://" not in os.fspath(source):
            source = os.path.abspath(source)
        self._words = (source, layout, chunks, masks, fill_value, options)
        self._start(None)

    def _start(self, version):
        source, layout, chunks, masks, fill_value, options = self._words
        file = _open(source, layout=layout, **options)
        self._name, self._version, _ = _state(file)
        if version is not None and version != self._version:
            raise OSError(errno.EIO, "the file is another than when the store was made: make the store again", self._name)
        self._file = file
        tree = _nodes.Tree(file)
        tree.warn(stacklevel=4)
        if masks == "fill":
            _filled(tree, fill_value)
        self._tree = tree
        _nodes.cut([node for node in tree.nodes.values() if node.array is not None], chunks)
        self._described = {path: self._document(node) for path, node in tree.nodes.items()}
        self._texts = None
        self._batches, self._lock = {}, threading.Lock()

    def _document(self, node):
        return _nodes.document(node)

    @property
    def _documents(self):
        """The bytes of the documents by key."""
        if self._texts is None:
            self._texts = _written(self._described)
        return self._texts

    @property
    def refused(self):
        """Reasons by path for items that Zarr cannot hold, which are left out."""
        return dict(self._tree.refused)

    def __getstate__(self):
        if not isinstance(self._words[0], (str, os.PathLike)):
            raise TypeError("only a store that was opened by a path or an address can be pickled")
        return {"words": self._words, "version": self._version}

    def __setstate__(self, state):
        super().__init__(read_only=True)
        self._words = state["words"]
        self._start(state["version"])

    def __eq__(self, other):
        return type(self) is type(other) and (self._words, self._version) == (other._words, other._version)

    __hash__ = None

    def __repr__(self):
        return f"<trilith.zarr.Store of {self._name}>"

    __str__ = __repr__

    def with_read_only(self, read_only=False):
        """Returns the store itself, because it is read-only."""
        if not read_only:
            raise ValueError("a file is not written through its store: use trilith.open and update(), or trilith.write")
        return self

    async def get(self, key, prototype=None, byte_range=None):
        """Returns the value of a key, or None."""
        prototype = prototype or default_buffer_prototype()
        document = self._documents.get(key)
        if document is not None:
            return prototype.buffer.from_bytes(document[_range(byte_range, len(document))])
        found = self._chunk(key)
        if found is None:
            return None
        data = (await self._elements(found[0], found[0].part(found[1]))).reshape(-1).view("u1")
        return prototype.buffer.from_array_like(data[_range(byte_range, len(data))])

    async def get_partial_values(self, prototype, key_ranges):
        """Returns the values of several keys."""
        return list(await asyncio.gather(*(self.get(key, prototype, byte_range) for key, byte_range in key_ranges)))

    async def exists(self, key):
        """Returns whether a key exists."""
        return key in self._documents or self._chunk(key) is not None

    supports_writes = supports_deletes = supports_partial_writes = False
    supports_listing = True

    async def set(self, key, value):
        """Fails: a file is not written through its store."""
        self._check_writable()

    async def delete(self, key):
        """Fails: a file is not written through its store."""
        self._check_writable()

    async def list(self):
        """Yields all keys."""
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix):
        """Yields the keys that begin with a prefix."""
        for path, node in self._tree.nodes.items():
            start = f"{path}/" if path else ""
            if not (start.startswith(prefix) or prefix.startswith(start)):
                continue
            for key in (start + "zarr.json", *(_keys(path, node) if node.array is not None else ())):
                if key.startswith(prefix):
                    yield key

    async def list_dir(self, prefix):
        """Yields the names right below a path."""
        path = prefix.strip("/")
        node = self._tree.nodes.get(path)
        if node is not None:
            yield "zarr.json"
            names = self._tree.below(path) if node.array is None else ["c"]
            for name in names:
                yield name
            return
        start, seen = f"{path}/", set()
        async for key in self.list_prefix(start):
            name = key[len(start) :].partition("/")[0]
            if name not in seen:
                seen.add(name)
                yield name

    def _chunk(self, key):
        """The array and the place of a chunk; None where there is none."""
        words = key.split("/")
        at = next((at for at in range(len(words) - 1, 0, -1) if not words[at].isdecimal()), 0)
        node = self._tree.nodes.get("/".join(words[:at])) if words[at] == "c" else None
        if node is None or node.array is None:
            return None
        index = tuple(map(int, words[at + 1 :]))
        is_there = len(index) == len(node.shape) and all(map(int.__lt__, index, node.counts))
        # A number is written in one way.
        return (node, index) if is_there and words[at + 1 :] == [str(number) for number in index] else None

    async def _part(self, key, selection):
        """Returns the elements of a chunk at an index of numpy; None if there is no chunk."""
        found = self._chunk(key)
        if found is None:
            return None
        node, index = found
        chunk = node.part(index)
        where, within = _box(selection, chunk, node.chunks)
        elements = await self._elements(node, where or chunk, is_chunk=where is None)
        return elements if within is None else elements[within]

    async def _elements(self, node, where, is_chunk=True):
        """The elements at a place of an array, read together with what else is wanted at the same time."""
        loop = asyncio.get_running_loop()
        one = _Wanted(node, where, is_chunk)
        with self._lock:
            batch = self._batches.get(loop)
            if batch is None:
                batch = self._batches[loop] = ([], loop.create_future())
                # What is ready to run has its turn before it is called: the others are wanted in that time.
                loop.call_soon(self._begin, loop)
            wanted, done = batch
            wanted.append(one)
        # Who does not wait any more leaves the others theirs.
        await asyncio.shield(done)
        if one.error is not None:
            raise one.error
        return one.elements

    def _begin(self, loop):
        """Has a thread read what is wanted until now."""
        with self._lock:
            wanted, done = self._batches.pop(loop)

        def tell(read):
            if done.done():
                return
            if read.cancelled():
                done.cancel()
            else:
                done.set_result(None) if read.exception() is None else done.set_exception(read.exception())

        try:
            loop.run_in_executor(None, self._found, wanted).add_done_callback(tell)
        except RuntimeError as error:
            # No thread is begun any more while the program ends.
            done.set_exception(error)

    def _found(self, wanted):
        """Reads what is wanted; what cannot be read has its error."""
        try:
            self._read(wanted)
        except (ValueError, NotImplementedError) as error:
            # That of one of them: each is read by itself, so that it fails by itself.
            for one in wanted:
                one.elements, one.error = None, error
                if len(wanted) > 1:
                    self._found([one])
        except Exception as error:
            for one in wanted:
                one.error = error
        else:
            for one in wanted:
                one.error = None

    def _read(self, wanted):
        """Reads the requested parts. After the end of an array, chunks are zero."""
        places = [_Place(run) for run in _runs(wanted)]
        _read_together([part for place in places for part in place.parts])
        for place in places:
            place.hand_out()
        # After reading: what was read is then from before any change.
        if _state(self._file)[2]:
            raise OSError(errno.EIO, "the file was replaced or written to while its store was open: make the store again", self._name)


class _Direct(Store):
    """A store whose arrays read of a chunk what is asked for."""

    def _document(self, node):
        document = _nodes.document(node)
        if node.array is not None:
            document["codecs"] = [{**codec, "name": _codec.NAME} for codec in document["codecs"]]
        return document


class _Wanted:
    """A place of an array, and its elements, or the error, once they are read."""

    def __init__(self, node, where, is_chunk):
        self.node, self.where, self.is_chunk = node, where, is_chunk
        self.elements = self.error = None

    def take(self, read):
        """Keeps all elements of a chunk, also those after the end of the array."""
        node = self.node
        if self.is_chunk and read.shape != node.chunks or read.dtype != node.dtype:
            made = numpy.zeros(node.chunks if self.is_chunk else read.shape, node.dtype)
            made[tuple(map(slice, read.shape))] = read
            read = made
        self.elements = numpy.ascontiguousarray(read) if read.shape else read

    def follows(self, other):
        """Whether its rows begin where those of another end, and both are rows of the same elements."""
        if self.node is not other.node or not self.where or self.where[1:] != other.where[1:]:
            return False
        rows, before = self.where[0], other.where[0]
        return isinstance(rows, slice) and isinstance(before, slice) and {rows.step, before.step} <= {None, 1} and rows.start == before.stop


def _runs(wanted):
    """The places that are read as one, together."""

    def order(one):
        # Rows of the same elements are next to each other.
        numbers = [(at.start, at.stop, at.step or 1) if isinstance(at, slice) else (at, at, 0) for at in one.where]
        return one.node.path, numbers[1:], numbers[:1]

    runs = []
    for one in sorted(wanted, key=order):
        if runs and one.follows(runs[-1][-1]):
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


class _Place:
    """The part of an array that a run is, with memory for its elements."""

    def __init__(self, run):
        self.run = run
        node, first, last = run[0].node, run[0].where, run[-1].where
        where = first if len(run) == 1 else (slice(first[0].start, last[0].stop), *first[1:])
        part = node.array.part((*where, Ellipsis))
        #: Parts of arrays, each with what its elements are read into.
        self.parts = [(part, _memory(part))]
        self.mask = None if node.fill is None else part.mask
        if isinstance(self.mask, _Array):
            self.parts.append((self.mask, _memory(self.mask)))

    def hand_out(self):
        """Gives each place of the run its elements."""
        elements, fill = self.parts[0][1], self.run[0].node.fill
        if len(self.parts) > 1:
            elements[self.parts[1][1]] = fill
        elif self.mask is not None:
            elements[numpy.isnan(elements) if self.mask != self.mask else elements == self.mask] = fill
        if len(self.run) == 1:
            self.run[0].take(elements)
            return
        at = 0
        for one in self.run:
            rows = one.where[0].stop - one.where[0].start
            one.take(elements[at : at + rows])
            at += rows


def _memory(part):
    """An array for the elements of a part. An array without bytes is not read."""
    return (numpy.empty if part.nbytes else numpy.zeros)(part.shape, part.dtype)


def _box(selection, chunk, full):
    """The place in its array that holds a selection within a chunk, and which of it is selected, None for all of it; no
    place where the whole chunk has to be read, with the elements after the end of the array.
    """
    if not isinstance(selection, tuple) or len(selection) != len(chunk):
        return None, selection
    where, within, is_box = [], [], True
    for wanted, here, length in zip(selection, chunk, full, strict=True):
        if isinstance(wanted, slice):
            start, stop, step = wanted.start or 0, length if wanted.stop is None else wanted.stop, 1 if wanted.step is None else wanted.step
            first, last, inner = start, stop, slice(None)
        elif isinstance(wanted, int | numpy.integer) and not isinstance(wanted, bool):
            first, last, step, inner = int(wanted), int(wanted) + 1, None, 0
        elif isinstance(wanted, numpy.ndarray) and wanted.dtype.kind in "iu" and wanted.size:
            first, last, step, is_box = int(wanted.min()), int(wanted.max()) + 1, 1, False
            inner = wanted - first
        else:
            return None, selection
        if not 0 <= first <= last <= here.stop - here.start or step is not None and step < 1:
            return None, selection
        where.append((here.start + first, here.start + last, step))
        within.append(inner)
    if is_box:
        return tuple(start if step is None else slice(start, stop, step) for start, stop, step in where), None
    # Next to arrays of indices, numbers and slices refer to other axes than alone.
    steps = [slice(None, None, step) if isinstance(inner, slice) else inner for (_, _, step), inner in zip(where, within, strict=True)]
    return tuple(slice(start, stop) for start, stop, _ in where), tuple(steps)


def _filled(tree, fill_value):
    """Lets masked elements be filled, and leaves out the arrays that say which."""
    for node in list(tree.nodes.values()):
        if node.array is None or node.array.mask is None or node.missing is not None:
            continue
        if node.dtype.names is not None:
            raise NotImplementedError(f"/{node.path} is masked and of records, which no value fills; use masks=\"beside\"")
        if fill_value is None and node.dtype.kind not in "iufcmM":
            raise NotImplementedError(
                f"/{node.path} is masked and of {node.dtype}, which has no value for missing elements; use masks=\"beside\", or give "
                "fill_value"
            )
        node.fill = numpy.array(_default(node.dtype) if fill_value is None else fill_value).astype(node.dtype)[()]
        node.missing = node.fill.item() if node.dtype.kind in "iuf" else None
        if node.missing is not None:
            node.attributes = {**node.attributes, "_FillValue": node.missing}
        tree.remove(node.mask)


def _default(dtype):
    """Returns the value of a missing element."""
    if dtype.kind in "iu":
        return numpy.iinfo(dtype).min if dtype.kind == "i" else numpy.iinfo(dtype).max
    if dtype.kind in "mM":
        return numpy.array("NaT", dtype)
    return math.nan if dtype.kind in "fc" else numpy.zeros((), dtype)


def _consolidated(documents):
    """The document of the root, which has those of all."""
    below = {path: document for path, document in documents.items() if path}
    return {**documents[""], "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": below}}


def _written(documents):
    """The bytes of the documents by key."""
    made = {f"{path}/zarr.json": json.dumps(document).encode() for path, document in documents.items() if path}
    return {"zarr.json": json.dumps(_consolidated(documents)).encode(), **made}


def _keys(path, node):
    """The keys of the chunks of an array."""
    start = f"{path}/c" if path else "c"
    for index in numpy.ndindex(node.counts):
        yield "/".join((start, *map(str, index)))


def _range(byte_range, length):
    """Returns the requested part of a number of bytes."""
    if byte_range is None:
        return slice(None)
    if isinstance(byte_range, _abc.RangeByteRequest):
        return slice(byte_range.start, byte_range.end)
    if isinstance(byte_range, _abc.OffsetByteRequest):
        return slice(byte_range.offset, None)
    return slice(max(0, length - byte_range.suffix), None)
