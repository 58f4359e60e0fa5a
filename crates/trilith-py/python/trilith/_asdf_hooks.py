"""Reading: where Trilith takes the place of what Python's `asdf` does not promise, its parser and its blocks.

Methods are put in the place of methods of `asdf`, and of no class. They do what was there before wherever
`_asdf_use` does not say that Trilith may work, and with every version of `asdf` that is not in `TESTED`. Each name
that is used here or in `_asdf_write` and begins with an underscore there is listed in `tests/test_asdf.py`, which runs
against both versions.
"""

import functools
import io
import os
import pathlib
import threading
import weakref

import asdf
import numpy
import yaml
from asdf import _compression, _io, generic_io, schema, util, yamlutil
from asdf._block.manager import Manager
from asdf._block.reader import ReadBlock
from asdf._core._converters.ndarray import NDArrayConverter
from asdf.tagged import TaggedDict, TaggedList, TaggedString
from asdf.tags.core.ndarray import NDArrayType

from . import _asdf_use, _trilith

TESTED = ((5, 4), (6, 0))

# A slice of a block reads whole sub-blocks; one of lz4 has 4 MiB.
_PIECE = 4 << 20


def tested():
    """Whether this was tested with the `asdf` that is installed."""
    return tuple(int(part) for part in asdf.__version__.split(".")[:2] if part.isdigit()) in TESTED


class Block(ReadBlock):
    """A block that Trilith reads: all of it, or the pieces that a slice needs, into memory that all views share."""

    def __init__(self, file, number, header, offset, data_offset, fd):
        super().__init__(offset + 4, fd, False, True, False, header=header, data_offset=data_offset)
        self.lock = threading.Lock()
        self._bytes = self._missing = self._lent = None
        self.move(file, number, header, offset, data_offset, fd)
        # Others look here for the memory of a block.
        self._data = lambda: self.cached_data

    def move(self, file, number, header, offset, data_offset, fd):
        """The block is in another file now, or elsewhere in this one."""
        with self.lock:
            self._file, self.number, self._bytes = file, number, None
            self._header, self.offset, self.data_offset = header, offset + 4, data_offset
            self._fd = weakref.ref(fd)

    def hold(self, memory, base):
        """These are its bytes; they are those of somebody's array."""
        self._cached_data, self._missing, self._lent = memory, set(), base
        _MEMORY[id(base)] = self

    def is_lent(self):
        """Whether its memory is that of somebody's array, from which it was written."""
        return self._lent is not None

    def __deepcopy__(self, memo):
        # asdf copies blocks along with their options, and throws the copies away.
        return self

    @property
    def loaded(self):
        """Whether any of it was read."""
        return self._cached_data is not None

    @property
    def header(self):
        """The fields of its header."""
        return self._header

    @property
    def label(self):
        """The codec, as bytes without zeros."""
        return self.header["compression"].rstrip(b"\0")

    @property
    def place(self):
        """The file and the number of the block there."""
        return self._file, self.number

    @property
    def cached_data(self):
        """The decoded bytes."""
        self.base()
        self.fill(0, self._cached_data.size)
        return self._cached_data

    @property
    def data(self):
        """The decoded bytes."""
        return self.cached_data

    def close(self):
        """Lets go of the file and of the memory."""
        super().close()
        self._bytes = self._file = self._lent = None

    def base(self):
        """The memory of the block, of which any part may still be missing."""
        with self.lock:
            if self._cached_data is not None:
                return self._cached_data
            fd = self._fd()
            if self._file is None or fd is None or fd.is_closed():
                raise OSError("Attempt to load block from closed file")
            self._bytes = self._file.asdf.block(self.number)
            self._cached_data = numpy.empty(self._bytes.shape, "u1")
            self._missing = set(range(-(-self._cached_data.size // _PIECE)))
            _MEMORY[id(self._cached_data)] = self
            return self._cached_data

    def fill(self, start, stop):
        """Reads what is missing of the bytes from `start` to `stop`."""
        with self.lock:
            if not self._missing or start >= stop:
                return
            if self._bytes is None:
                self._bytes = self._file.asdf.block(self.number)
            if self.label not in (b"", b"lz4"):
                # Other codecs have no pieces that can be relied on.
                start, stop = 0, self._cached_data.size
            wanted = range(start // _PIECE, -(-stop // _PIECE))
            run = []
            for piece in [*(number for number in wanted if number in self._missing), None]:
                if run and (piece is None or piece != run[-1] + 1):
                    part = slice(run[0] * _PIECE, min((run[-1] + 1) * _PIECE, self._cached_data.size))
                    self._bytes.part(part).read(out=self._cached_data[part])
                    self._missing.difference_update(run)
                    run = []
                run.append(piece)
            if not self._missing:
                self._bytes = None

    def is_unchanged(self):
        """Whether its memory, as far as it was read, holds what the file holds."""
        if self._cached_data is None:
            return True
        with self.lock:
            if not self._missing:
                return _trilith._AsdfBridge(self._file).is_same(self.number, self._cached_data)
            stored, size = self._file.asdf.block(self.number), self._cached_data.size
            for piece in range(-(-size // _PIECE)):
                part = slice(piece * _PIECE, min((piece + 1) * _PIECE, size))
                if piece not in self._missing and not (stored.part(part).read() == self._cached_data[part]).all():
                    return False
            return True


class Mapped(ReadBlock):
    """A block of a file that Trilith reads, whose bytes `asdf` maps."""

    def __init__(self, file, number, *args):
        super().__init__(*args)
        self._file, self.number, self._damage = file, number, None

    def __deepcopy__(self, memo):
        return self

    @property
    def cached_data(self):
        """The bytes, which are compared with their checksum before a program can write through the map."""
        if self._cached_data is None:
            data = super().cached_data
            _MAPPED[id(util.get_array_base(data))] = self
            fd = self._fd()
            if fd is not None and fd.writable():
                try:
                    _trilith._AsdfBridge(self._file).check_block(self.number)
                except ValueError as error:
                    self._damage = error
                self._file = None
        return self._cached_data

    def check(self):
        """Refuses a damaged block."""
        if self._damage is not None:
            raise self._damage
        if self._file is not None and not self._file.closed:
            _trilith._AsdfBridge(self._file).check_block(self.number)


# Which block some memory belongs to.
_MEMORY = weakref.WeakValueDictionary()
_MAPPED = weakref.WeakValueDictionary()


def holder(memory):
    """The block whose memory this is, or None."""
    block = _MEMORY.get(id(memory))
    return block if block is not None and (block._cached_data is memory or block._lent is memory) else None


def mapped(memory):
    """The mapped block whose memory this is, or None."""
    block = _MAPPED.get(id(memory))
    data = None if block is None else block._cached_data
    return block if data is not None and util.get_array_base(data) is memory else None


def block_of(array):
    """The block of an array that Trilith reads, or None."""
    found = array.__dict__.get("_trilith") if isinstance(array, NDArrayType) else None
    return found and found()


# Methods that take the place of those of asdf


def _read_tree_and_blocks(generic, lazy_load, memmap, validate_checksums):
    if not _asdf_use.active("read"):
        return _read_before(generic, lazy_load, memmap, validate_checksums)
    made, why = _read(generic, lazy_load, memmap, validate_checksums)
    _asdf_use.note("open", generic.uri, why)
    return made or _read_before(generic, lazy_load, memmap, validate_checksums)


def _read(generic, lazy_load, memmap, validate_checksums):
    """Tree and blocks, or None and why asdf has to read them. The file is then where it was."""
    if not tested():
        return None, f"asdf {asdf.__version__} was not tested"
    position = generic.tell()
    try:
        source = source_of(generic)
        if source is None:
            return None, "it is neither a local file nor a file object that is only read"
        try:
            file = _trilith.open(source)
            if file.format != "asdf-1.x" or _trilith._AsdfBridge(file).tree_offset != position:
                return None, "it is no file of a standard 1.x, or does not begin where it was opened"
            if file.warnings:
                return None, "what is wrong with it, asdf says in its own words"
            found = _trilith._AsdfBridge(file).tagged(TaggedDict, TaggedList, TaggedString)
        except (ValueError, NotImplementedError):
            return None, "what is wrong with it, asdf says in its own words"
        if found is None or not isinstance(found[0], dict):
            return None, "its tree holds one of YAML's rarer types in an unusual place"
    finally:
        generic.seek(position)
    tree, headers = found
    blocks = Manager(uri=generic.uri, lazy_load=lazy_load, memmap=memmap, validate_checksums=validate_checksums)
    blocks.blocks = [
        _block(file, number, header, generic, blocks, validate_checksums) for number, header in enumerate(headers)
    ]
    blocks._trilith = file
    return (tree, blocks), None


def source_of(generic):
    """Returns the file that Trilith opens for a file of asdf, or None if that is not safe."""
    if isinstance(generic, generic_io.MemoryIO) and hasattr(generic._fd, "getvalue"):
        # A picture of this moment, which costs nothing until somebody writes into the original.
        return generic._fd.getvalue()
    if isinstance(generic, generic_io.RealFile):
        name = getattr(generic._fd, "name", None)
        try:
            if isinstance(name, str) and os.path.samestat(os.fstat(generic._fd.fileno()), os.stat(name)):
                return name
        except OSError:
            pass
    # fsspec reads from servers, which asdf accepts.
    if isinstance(generic, generic_io.RandomAccessFile) and generic.mode == "r" and not hasattr(generic._fd, "fs"):
        return generic._fd
    return None


def is_fits(fd):
    """Whether this is a FITS file: a path, an open file or bytes in memory."""
    mark = b"SIMPLE  ="
    try:
        if isinstance(fd, str | os.PathLike):
            with open(fd, "rb") as file:
                return file.read(len(mark)) == mark
        if isinstance(fd, io.BytesIO):
            return fd.tell() == 0 and fd.getvalue().startswith(mark)
        # asdf goes on with the descriptor, which therefore stays where it is.
        return fd.tell() == 0 and os.pread(fd.fileno(), len(mark), 0) == mark
    except (AttributeError, OSError, TypeError, ValueError):
        return False


def of_fits(fd, args, kwargs):
    """The arguments of `asdf.open` for the ASDF file in a FITS file: a separate file in memory, which may only be read."""
    from . import dumps

    names = ("uri", "mode")
    given = dict(zip(names, args, strict=False)) | {name: kwargs[name] for name in names if name in kwargs}
    if given.get("mode") not in (None, "r"):
        raise ValueError(f"cannot open an ASDF file in a FITS file with the mode {given['mode']!r}: use 'r', or change it with trilith.open")
    with _trilith.open(fd) as file:
        if file.info()["family"] == "fits":
            raise ValueError("Does not appear to be a ASDF file: it is a FITS file without an ASDF extension; use trilith.open")
        data = dumps(file)
    uri = given.get("uri") or (pathlib.Path(fd).absolute().as_uri() if isinstance(fd, str | os.PathLike) else None)
    rest = {name: value for name, value in kwargs.items() if name not in names}
    return io.BytesIO(data), (uri, "r", *args[2:]), rest


def _block(file, number, header, generic, manager, validate_checksums):
    """A block that Trilith reads, or asdf: maps, checksums and the codecs of extensions are its own."""
    label = header[0]["compression"]
    name = label.rstrip(b"\0")
    why = None
    if validate_checksums:
        why = "asdf checks checksums"
    elif manager._memmap and not name and generic.can_memmap():
        why = "asdf maps blocks"
    elif not _trilith._decodes(label):
        why = "its codec is that of an extension of asdf"
    elif name and name not in _OWN and _compression._get_compressor_from_extensions(name.decode("ascii")) is not None:
        why = "an extension of asdf has this codec too"
    if why is None:
        return Block(file, number, *header, generic)
    _asdf_use.note("block", generic.uri, why)
    fields, offset, data_offset = header
    where = offset + 4, generic, manager._memmap, manager._lazy_load, validate_checksums
    return ReadBlock(*where) if validate_checksums else Mapped(file, number, *where)


# Codecs that asdf has itself, and in which Trilith gives the same bytes.
_OWN = (b"zlib", b"bzp2", b"lz4")


def _from_yaml_tree(self, node, tag, ctx):
    made = _from_yaml_before(self, node, tag, ctx)
    source = made.__dict__["_source"] if type(made) is NDArrayType else None
    if isinstance(source, int):
        blocks = ctx._blocks.blocks
        block = blocks[source] if -len(blocks) <= source < len(blocks) else None
        if isinstance(block, Block):
            made._trilith = weakref.ref(block)
    return made


def _getitem(self, index):
    block = self.__dict__.get("_trilith")
    block = block() if block is not None and self._array is None and self._mask is None else None
    if block is not None and self._shape is not None and "*" not in self._shape:
        parts = index if isinstance(index, tuple) else (index,)
        if all(part is Ellipsis or type(part) in (int, slice) for part in parts):
            return _part(self, block, parts)
    return self._make_array()[index]


def _part(array, block, parts):
    """A slice of an array, of which what it needs is read; a view of the memory of the block."""
    base = block.base()
    whole = unread(array, base)
    # With an ellipsis even a single element is a view, of which nothing is read.
    view = whole[parts if Ellipsis in parts else (*parts, Ellipsis)]
    if view.size:
        first = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        reach = [(count - 1) * stride for count, stride in zip(view.shape, view.strides, strict=True)]
        start = first + sum(step for step in reach if step < 0)
        stop = first + sum(step for step in reach if step > 0) + view.dtype.itemsize
        block.fill(start, stop)
    return whole[parts]


def unread(array, base):
    """The array on the memory of its block, of which nothing is read."""
    return numpy.ndarray(tuple(array._shape), array._dtype, base, array._offset, array._strides)


def _close(self):
    _close_before(self)
    if getattr(self, "_trilith", None) is not None:
        self._trilith.close()


def _make_schema_loader():
    load = _schema_loader_before()

    def load_schema(url):
        resources = asdf.get_config().resource_manager
        if tested() and any(map(_asdf_use.active, ("read", "write"))) and url in resources:
            return _schema(resources[url]), url
        return load(url)

    return load_schema


@functools.lru_cache(1024)
def _schema(content):
    """A schema by its text: asdf parses those that others refer to again for each tree."""
    made = _trilith._load_yaml(content, (TaggedDict, TaggedList, TaggedString)) if isinstance(content, bytes) else None
    return yaml.load(content, Loader=yamlutil.AsdfLoader) if made is None else made  # noqa: S506, a safe loader, as asdf has it


_close_before = Manager.close
_schema_loader_before = schema._make_schema_loader
_read_before = _io.read_tree_and_blocks
_from_yaml_before = NDArrayConverter.from_yaml_tree
_installing = threading.Lock()
_installed = []


def put(owner, name, method):
    """Puts a method in the place of one of asdf."""
    setattr(owner, name, functools.wraps(getattr(owner, name))(method))


def install():
    """Puts the methods in their places, once in a process."""
    from . import _asdf_write

    with _installing:
        if not _installed:
            put(_io, "read_tree_and_blocks", _read_tree_and_blocks)
            put(NDArrayConverter, "from_yaml_tree", _from_yaml_tree)
            put(NDArrayType, "__getitem__", _getitem)
            put(Manager, "close", _close)
            put(schema, "_make_schema_loader", _make_schema_loader)
            _asdf_write.install(put)
            _installed.append(True)
