"""The one place that touches what Python's `asdf` does not promise: its blocks, its parser's result, its writer.

Pinned to the versions in `TESTED`; with any other, `trilith.asdf` lets `asdf` do all the work. Each name
that is used here and begins with an underscore there is listed in `tests/test_asdf.py`, which runs against
both versions.
"""

import copy
import inspect
import io
import os
import pathlib
import threading
import urllib.parse
import weakref

import asdf
import numpy
import yaml
from asdf import _compression, _io, generic_io, lazy_nodes, schema, versioning, yamlutil
from asdf._block.manager import Manager
from asdf._block.reader import ReadBlock
from asdf._core._converters.ndarray import NDArrayConverter
from asdf.extension import Converter, Extension
from asdf.extension._serialization_context import BlockAccess
from asdf.tagged import TaggedDict, TaggedList, TaggedString
from asdf.tags.core import AsdfObject, Software
from asdf.tags.core.ndarray import NDArrayType, asdf_datatype_to_numpy_dtype
from asdf.util import NOT_SET

from . import _trilith

TESTED = ((5, 4), (6, 0))

# What Trilith encodes as `asdf` and its compression extension do, and what they call the level.
_LEVELS = {"zlib": "level", "bzp2": "compresslevel", "lz4": None, "zstd": "level", "lz4f": None, "blsc": None}

# A slice of a block reads whole pieces of so many bytes; 4 MiB are a piece of lz4.
_PIECE = 4 << 20


def tested():
    """Whether this was tested with the `asdf` that is installed."""
    return tuple(int(part) for part in asdf.__version__.split(".")[:2] if part.isdigit()) in TESTED


# Reading


class Block(ReadBlock):
    """A block that Trilith reads: all of it, or the pieces that a slice needs, into memory that all views share."""

    def __init__(self, file, number, header, offset, data_offset, fd, memmap):
        super().__init__(offset + 4, fd, memmap, True, False, header=header, data_offset=data_offset)
        self._file, self._number = file, number
        self._lock = threading.Lock()
        self._bytes = None
        self._missing = None
        # Others look here for the memory of a block.
        self._data = lambda: self.cached_data

    def __deepcopy__(self, memo):
        # asdf copies blocks along with their options, and throws the copies away.
        return self

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
        self._bytes = self._file = None

    def base(self):
        """The memory of the block, of which any part may still be missing."""
        with self._lock:
            if self._cached_data is not None:
                return self._cached_data
            if self._file is None:
                raise OSError("ASDF file has already been closed. Can not get the data.")
            stored = self._file.block(self._number)
            if self.memmap and not any(self.header["compression"]):
                self._cached_data, self._missing = numpy.asarray(stored), set()
            else:
                self._bytes = stored
                self._cached_data = numpy.empty(stored.shape, "u1")
                self._missing = set(range(-(-stored.size // _PIECE)))
            return self._cached_data

    def fill(self, start, stop):
        """Reads what is missing of the bytes from `start` to `stop`."""
        with self._lock:
            if not self._missing or start >= stop:
                return
            if self.header["compression"].rstrip(b"\0") not in (b"", b"lz4"):
                # Other codecs have no pieces that can be relied on.
                start, stop = 0, self._cached_data.size
            wanted = range(start // _PIECE, -(-stop // _PIECE))
            run = []
            for piece in [*(number for number in wanted if number in self._missing), None]:
                if run and piece != run[-1] + 1 if piece is not None else run:
                    part = slice(run[0] * _PIECE, min((run[-1] + 1) * _PIECE, self._cached_data.size))
                    self._bytes.part(part).read(out=self._cached_data[part])
                    self._missing.difference_update(run)
                    run = []
                run.append(piece)
            if not self._missing:
                self._bytes = None


class LazyArray(NDArrayType):
    """An array of a block that Trilith reads; slicing reads what it needs, and gives views of the same memory."""

    def __init__(self, block, *args):
        super().__init__(*args)
        self._block = weakref.ref(block)

    def __getitem__(self, index):
        if self._array is None and self._mask is None and "*" not in self._shape:
            block = self._block()
            parts = index if isinstance(index, tuple) else (index,)
            if block is not None and all(part is Ellipsis or isinstance(part, (int, slice)) for part in parts):
                return self._part(block, parts)
        return self._make_array()[index]

    def _part(self, block, parts):
        base = block.base()
        whole = numpy.ndarray(tuple(self._shape), self._dtype, base, self._offset, self._strides)
        # With an ellipsis even a single element is a view, of which nothing is read.
        view = whole[parts if Ellipsis in parts else (*parts, Ellipsis)]
        if view.size:
            first = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            reach = [(count - 1) * stride for count, stride in zip(view.shape, view.strides, strict=True)]
            start = first + sum(step for step in reach if step < 0)
            stop = first + sum(step for step in reach if step > 0) + view.dtype.itemsize
            block.fill(start, stop)
        return whole[parts]


class _ArrayReader:
    """Takes the place of asdf's converter of arrays in files that Trilith reads."""

    def __init__(self, converter):
        self._converter = converter

    def __getattr__(self, name):
        return getattr(self._converter, name)

    def from_yaml_tree(self, node, tag, ctx):
        source = node.get("source") if isinstance(node, (dict, lazy_nodes.AsdfDictNode)) else None
        plain = isinstance(source, int) and "data" not in node and "datatype" in node and "shape" in node
        blocks = ctx._blocks.blocks
        if not plain or not -len(blocks) <= source < len(blocks) or not isinstance(blocks[source], Block):
            return self._converter.from_yaml_tree(node, tag, ctx)
        dtype = asdf_datatype_to_numpy_dtype(_plain(node["datatype"]), node["byteorder"])
        made = LazyArray(
            blocks[source],
            source,
            _plain(node["shape"]),
            dtype,
            node.get("offset", 0),
            _plain(node.get("strides")),
            "A",
            node.get("mask"),
            ctx.get_block_data_callback(source),
        )
        return made if ctx._blocks._lazy_load else made._make_array()


def _plain(node):
    """What lies below a lazy node."""
    if isinstance(node, (lazy_nodes.AsdfListNode, lazy_nodes.AsdfDictNode)):
        node = node.data
    if isinstance(node, list):
        return [_plain(item) for item in node]
    return {key: _plain(value) for key, value in node.items()} if isinstance(node, dict) else node


class _Managed:
    """An extension manager that knows who reads the arrays of this file."""

    def __init__(self, manager):
        self._manager = manager

    def __getattr__(self, name):
        return getattr(self._manager, name)

    def get_converter_for_tag(self, tag):
        converter = self._manager.get_converter_for_tag(tag)
        if type(getattr(converter, "_delegate", None)) is NDArrayConverter:
            return _ArrayReader(converter)
        return converter


class _ArrayWriter(Converter):
    """Hands a `LazyArray` on as the numpy array that it is, with its mask, to whoever writes those."""

    tags = ()
    types = (LazyArray,)

    def select_tag(self, obj, tags, ctx):
        return None

    def to_yaml_tree(self, obj, tag, ctx):
        return obj._make_array()

    def from_yaml_tree(self, node, tag, ctx):
        raise NotImplementedError

    def to_info(self, obj):
        return {"shape": obj.shape, "dtype": obj.dtype}


class _Arrays(Extension):
    """Lets any `asdf.AsdfFile` write arrays that came out of a file which Trilith reads."""

    extension_uri = "asdf://trilith/extensions/arrays-1.0.0"
    converters = (_ArrayWriter(),)


def _register():
    config = asdf.get_config()
    if not any(proxy.extension_uri == _Arrays.extension_uri for proxy in config.extensions):
        config.add_extension(_Arrays())


_DEFAULTS = inspect.signature(asdf.open)


def opened(fd, uri, mode, args, kwargs):
    """The open file, or None where `asdf` has to open it."""
    given = _DEFAULTS.bind(fd, uri, mode, *args, **kwargs)
    given.apply_defaults()
    options = given.arguments
    if not tested() or options["validate_checksums"] or not _is_ours(fd, mode, options["memmap"]):
        return None
    if options["strict_extension_check"] and options["ignore_missing_extensions"]:
        return None
    start = None if isinstance(fd, (str, os.PathLike)) else fd.tell()
    try:
        file = _trilith.open(fd)
        found = file._tagged(TaggedDict, TaggedList, TaggedString)
        generation = file.generation
    except (ValueError, NotImplementedError):
        # What is wrong with it, asdf says in its own words.
        found = None
    finally:
        if start is not None:
            # asdf goes on with the raw file below a buffer, which must lose what it holds.
            fd.seek(0, io.SEEK_END)
            fd.seek(start)
    if found is None or generation != "asdf-1.x" or not isinstance(found[0], dict):
        return None
    return _assemble(file, *found, options)


def _is_ours(fd, mode, memmap):
    if isinstance(fd, (str, pathlib.Path)):
        return urllib.parse.urlparse(str(fd)).scheme == "" and mode in (None, "r", "rw") and not (mode == "rw" and memmap)
    if not isinstance(fd, io.IOBase) or isinstance(fd, io.TextIOBase) or not fd.readable() or not fd.seekable():
        return False
    return (mode == "r" or (mode is None and not fd.writable())) and fd.tell() == 0


def _assemble(file, tree, headers, options):
    """An `AsdfFile` of the parts, step by step as `asdf.open` makes one."""
    _register()
    instance = AsdfFile(
        ignore_unrecognized_tag=options["ignore_unrecognized_tag"],
        memmap=options["memmap"],
        lazy_load=options["lazy_load"],
        custom_schema=options["custom_schema"],
        extensions=options["extensions"],
    )
    config = asdf.get_config()
    with _io.maybe_close(options["fd"], options["mode"], options["uri"]) as generic:
        instance._file_format_version = _io.read_header_line(generic)
        instance._comments = _io.read_comment_section(generic)
        blocks = Manager(uri=generic.uri, lazy_load=options["lazy_load"], memmap=options["memmap"])
        blocks.blocks = _blocks(file, headers, generic, options["memmap"])
        instance._blocks, instance._mode, instance._fd = blocks, generic.mode, generic
        instance._trilith = file
        oldest = versioning.AsdfVersion("1.0.0")
        instance.version = _io.find_asdf_version_in_comments(instance._comments, oldest)
        if instance.version <= versioning.FILL_DEFAULTS_MAX_VERSION and config.legacy_fill_schema_defaults:
            schema.fill_defaults(tree, instance, reading=True)
        if config.validate_on_read:
            instance._validate(tree, reading=True)
        raw = options["_force_raw_types"]
        lazy = config.lazy_tree if options["lazy_tree"] is NOT_SET else options["lazy_tree"]
        if lazy and not raw:
            top = AsdfObject()
            top.data = lazy_nodes.AsdfDictNode(tree, weakref.ref(instance))
        else:
            top = yamlutil.tagged_tree_to_custom_tree(tree, instance, raw)
        if not (options["ignore_missing_extensions"] or raw):
            instance._check_extensions(top, strict=options["strict_extension_check"])
        instance._tree = top
    return instance


def _blocks(file, headers, generic, memmap):
    return [Block(file, number, *header, generic, memmap) for number, header in enumerate(headers)]


# Writing


class AsdfFile(asdf.AsdfFile):
    """An `asdf.AsdfFile` whose files Trilith writes: keys in their order, masks kept, all cores at work.

    What Trilith does not write as `asdf` does (streamed and external blocks, padding, codecs of other
    packages, versions of the standard that it does not know) `asdf` writes.
    """

    _trilith = None

    @property
    def extension_manager(self):
        manager = super().extension_manager
        return manager if self._trilith is None else _Managed(manager)

    def close(self):
        super().close()
        self._trilith = None

    def write_to(self, fd, *args, **kwargs):
        if not _is_path(fd) or not self._write(fd, False, args, kwargs):
            super().write_to(fd, *args, **kwargs)

    def update(self, *args, **kwargs):
        path = None if self._trilith is None else self._trilith.path
        if path is None or self._mode != "rw":
            super().update(*args, **kwargs)
            return
        # The new file takes the place of the old one, which stays for those who have arrays of it.
        if not self._write(path, True, args, kwargs):
            super().write_to(path, *args, **kwargs)
        self._replaced = [*getattr(self, "_replaced", []), self._blocks.blocks]
        self._fd.close()
        self._fd = generic_io.get_file(path, mode="rw")
        self._trilith = _trilith.open(path)
        _, headers = self._trilith._tagged(TaggedDict, TaggedList, TaggedString)
        self._blocks.blocks = _blocks(self._trilith, headers, self._fd, False)

    def _write(self, path, update, args, kwargs):
        """Writes a file as `write_to` would; says whether it could."""
        given = _WRITE.bind(self, path, *args, **kwargs)
        given.apply_defaults()
        options = given.arguments
        before = self.version
        with asdf.config_context() as config:
            for name, setting in _SETTINGS.items():
                if options[name] is not NOT_SET:
                    setattr(config, setting, options[name])
            if options["version"] is not None:
                self.version = options["version"]
            try:
                uri = pathlib.Path(path).absolute().as_uri()
                with generic_io.get_file(io.BytesIO(), mode="w", uri=uri) as nowhere:
                    ready = None if options["pad_blocks"] else _prepare(self, nowhere, keep_options=update)
                if ready is not None:
                    _put(path, self, ready, options["include_block_index"], options["write_checksums"])
                return ready is not None
            finally:
                if not update:
                    self.version = before

    def _serial_write(self, fd, pad_blocks, include_block_index, write_checksums):
        ready = None if pad_blocks else _prepare(self, fd)
        if ready is None:
            super()._serial_write(fd, pad_blocks, include_block_index, write_checksums)
        else:
            _put(fd, self, ready, include_block_index, write_checksums)


_WRITE = inspect.signature(asdf.AsdfFile.write_to)
_SETTINGS = {
    "all_array_storage": "all_array_storage",
    "all_array_compression": "all_array_compression",
    "compression_kwargs": "all_array_compression_kwargs",
}


def _is_path(fd):
    return isinstance(fd, (str, pathlib.Path)) and urllib.parse.urlparse(str(fd)).scheme == ""


def _put(target, file, ready, index, checksums):
    text, blocks = ready
    comments = ["#" + line.decode("utf-8", "replace") for line in file._comments]
    comments = [line for line in comments if not line.startswith("#ASDF_STANDARD")]
    _trilith._write_parts(target, file.version_string, comments, text, blocks, checksums=checksums, index=index)


def _prepare(file, fd, keep_options=False):
    """The text of the tree and the blocks, or None where `asdf` has to write them."""
    if not tested() or file.version_string not in _VERSIONS:
        return None
    _register()
    blocks = file._blocks
    with blocks.write_context(fd, copy_options=not keep_options):
        text = _text(file)
        if blocks._external_write_blocks or blocks._streamed_write_block is not None:
            return None
        ready = [_block(block) for block in blocks._write_blocks]
        return None if None in ready else (text, ready)


_VERSIONS = tuple(f"1.{minor}.0" for minor in range(7))


def _block(block):
    """The bytes of a block, its codec and level; None where Trilith does not encode it as asked."""
    label = block.compression or ""
    label = (label.decode("ascii", "replace") if isinstance(label, bytes) else label).strip("\0")
    if not label:
        return block.data_bytes, None, None
    options = dict(block.compression_kwargs or {})
    level = options.pop(_LEVELS.get(label), None)
    if label not in _LEVELS or options:
        return None
    return block.data_bytes, label.encode("ascii").ljust(4, b"\0"), level


def _text(file):
    """The tree as YAML, in the order of its keys."""
    tree = copy.copy(file._tree)
    tree["asdf_library"] = Software({"name": "trilith", "version": _trilith.__version__})
    if "history" in file._tree:
        tree["history"] = copy.deepcopy(file._tree["history"])
    context = file._create_serialization_context(BlockAccess.WRITE)
    for codec in file._blocks.get_output_compressions():
        found = _compression._get_compressor_from_extensions(codec, return_extension=True)
        if found is not None:
            context._mark_extension_used(found[1])
    tagged = yamlutil.custom_tree_to_tagged_tree(tree, file, _serialization_context=context)
    # Which extensions were needed is known only now.
    file._update_extension_history(tree, context)
    if "history" in tree:
        history = yamlutil.custom_tree_to_tagged_tree(tree["history"], file, _serialization_context=context)
        tagged["history"] = history
    new = [key for key in ("asdf_library", "history") if key in tagged and key not in file._tree]
    if new:
        tagged.data = {key: tagged[key] for key in [*new, *(key for key in tagged if key not in new)]}
    schema.validate(tagged, file)
    handles = {"!": "tag:stsci.edu:asdf/"}
    for extension in context._extensions_used:
        handles = {**extension.yaml_tag_handles, **handles}
    text = yaml.dump_all(
        [tagged],
        Dumper=yamlutil.AsdfDumper,
        explicit_start=True,
        explicit_end=True,
        version=(1, 1),
        allow_unicode=True,
        sort_keys=False,
        tags=handles,
    )
    return text if file._trilith is None else _kept(file._trilith.text, text)


def _kept(old, new):
    """The new text, in which what stands in the old one stays as it is, with its comments, where that can be."""
    try:
        return _trilith._toward(old, new) or new
    except ValueError:
        # Nodes that contain themselves, say.
        return new
