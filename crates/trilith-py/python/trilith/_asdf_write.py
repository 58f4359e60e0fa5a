"""Writing: files of Python's `asdf` by Trilith. Blocks that did not change pass through as they are stored."""

import contextlib
import copy
import inspect
import io
import math
import pathlib
import threading
import urllib.parse

import asdf
import numpy
import yaml
from asdf import _compression, generic_io, schema, util, yamlutil
from asdf._block.manager import Manager, ReadBlocks
from asdf._block.writer import WriteBlock
from asdf._core._converters.ndarray import NDArrayConverter
from asdf.extension._serialization_context import BlockAccess
from asdf.tagged import TaggedDict, TaggedList, TaggedString
from asdf.tags.core import Software
from asdf.tags.core.ndarray import NDArrayType, numpy_dtype_to_asdf_datatype
from asdf.util import NOT_SET

from . import _asdf_damage, _asdf_use, _trilith
from ._asdf_hooks import Block, block_of, holder, tested, unread

# What Trilith encodes as `asdf` and its compression extension do, and what they call the level.
_LEVELS = {"zlib": "level", "bzp2": "compresslevel", "lz4": None, "zstd": "level", "lz4f": None, "blsc": None}

_VERSIONS = tuple(f"1.{minor}.0" for minor in range(7))

_SETTINGS = {
    "all_array_storage": "all_array_storage",
    "all_array_compression": "all_array_compression",
    "compression_kwargs": "all_array_compression_kwargs",
}

_write_to_before = asdf.AsdfFile.write_to
_update_before = asdf.AsdfFile.update
_serial_before = asdf.AsdfFile._serial_write
_to_yaml_before = NDArrayConverter.to_yaml_tree
_update_blocks_before = Manager.update
_WRITE = inspect.signature(_write_to_before)

# What is written in this thread by Trilith: a `_Writing`, or nothing.
_now = threading.local()


class Left(Exception):
    """Why a file is left to `asdf`."""


class _Writing:
    """One tree on its way into a file."""

    def __init__(self, manager, keeps):
        self.manager = manager
        # Blocks that keep their numbers, since the file itself is changed.
        self.keeps = keeps
        self.kept = set()
        self._same = {}

    def is_same(self, block):
        """Whether a block can be copied as it is stored."""
        if block not in self._same:
            self._same[block] = block.place[0] is not None and block.is_unchanged()
        return self._same[block]


def install(put):
    """Puts the methods in their places."""
    put(asdf.AsdfFile, "write_to", _write_to)
    put(asdf.AsdfFile, "update", _update)
    put(asdf.AsdfFile, "_serial_write", _serial_write)
    put(NDArrayConverter, "to_yaml_tree", _to_yaml_tree)
    put(Manager, "update", _update_blocks)


def _writes(file):
    return getattr(file, "_trilith_writes", False) or _asdf_use.active("write")


def _write_to(self, fd, *args, **kwargs):
    if not _writes(self) or not isinstance(fd, (str, pathlib.Path)) or urllib.parse.urlparse(str(fd)).scheme != "":
        return _write_to_before(self, fd, *args, **kwargs)
    _refuse_chunks(self)
    given = _WRITE.bind(self, fd, *args, **kwargs)
    given.apply_defaults()
    options = given.arguments
    before = self.version
    try:
        with _configured(self, options), _nowhere(pathlib.Path(fd).absolute().as_uri()) as nowhere:
            try:
                _put(fd, self, _prepare(self, nowhere, options["pad_blocks"]), options)
                _asdf_use.note("write_to", str(fd))
                return None
            except Left as why:
                _asdf_use.note("write_to", str(fd), str(why))
            _refuse_damage(self, nowhere)
    finally:
        if self.version != before:
            self.version = before
    with _alone(ours=True):
        return _write_to_before(self, fd, *args, **kwargs)


def _serial_write(self, fd, pad_blocks, include_block_index, write_checksums):
    if _writes(self) and not getattr(_now, "alone", False):
        _refuse_chunks(self)
        options = {"include_block_index": include_block_index, "write_checksums": write_checksums}
        try:
            _put(_held(fd), self, _prepare(self, fd, pad_blocks), options)
            _asdf_use.note("write_to", fd.uri)
            return None
        except Left as why:
            _asdf_use.note("write_to", fd.uri, str(why))
        _refuse_damage(self, fd)
    return _serial_before(self, fd, pad_blocks, include_block_index, write_checksums)


def _held(fd):
    """The file object that one of asdf's holds. That of asdf does not return how many bytes it took, which may be fewer."""
    while isinstance(fd, (generic_io.GenericFile, generic_io.GenericWrapper)) and hasattr(fd, "_fd"):
        fd = fd._fd
    return fd


def _update(self, *args, **kwargs):
    file = getattr(self._blocks, "_trilith", None)
    if _writes(self) and self._fd is not None and self._fd.writable():
        _refuse_chunks(self)
        given = _WRITE.bind(self, None, *args, **kwargs)
        given.apply_defaults()
        try:
            _updated(self, file, given.arguments)
            _asdf_use.note("update", self._fd.uri)
            return None
        except Left as why:
            _asdf_use.note("update", self._fd.uri, str(why))
        before = self.version
        try:
            with _configured(self, given.arguments):
                _refuse_damage(self, self._fd)
        finally:
            if self.version != before:
                self.version = before
    if file is not None and self._fd is not None:
        # asdf moves blocks about while it reads them: what is still missing is read before.
        for block in self._blocks.blocks:
            if isinstance(block, Block) and self._fd.writable():
                block.cached_data  # noqa: B018
        self._blocks._trilith = None
    with _alone(ours=_writes(self) or file is not None):
        return _update_before(self, *args, **kwargs)


def _refuse_chunks(file):
    """Refuses a file with arrays in chunks where no extension knows them: their blocks would be dropped."""
    origin = getattr(file._blocks, "_trilith", None)
    if origin is None or origin.closed or "chunk_block_map" not in origin.asdf.text:
        return
    todo, seen = [file._tree], set()
    while todo:
        node = todo.pop()
        if id(node) in seen or not isinstance(node, (dict, list, TaggedDict, TaggedList)):
            continue
        seen.add(id(node))
        is_map = isinstance(node, (dict, TaggedDict))
        if is_map and "chunk_block_map" in node:
            raise NotImplementedError(
                "the blocks of the arrays in chunks would be lost: install asdf-zarr, or change the file with trilith.open"
            )
        todo += node.values() if is_map else node


def _update_blocks(self, new_tree_size, *args, **kwargs):
    _update_blocks_before(self, new_tree_size, *args, **kwargs)
    if getattr(_now, "ours", False) and len(self._write_blocks) == 0 and self._streamed_write_block is None:
        # The file is then truncated at its position, which is not the one after reading by asdf.
        self._write_fd.seek(0, io.SEEK_END)
        self._write_fd.seek(max(self._write_fd.tell(), new_tree_size))


@contextlib.contextmanager
def _alone(ours):
    """asdf writes by itself what was left to it; `ours` says whether Trilith read it, or was asked to write it."""
    before = getattr(_now, "alone", False), getattr(_now, "ours", False)
    _now.alone, _now.ours = True, ours
    try:
        yield
    finally:
        _now.alone, _now.ours = before


@contextlib.contextmanager
def _configured(file, options):
    with asdf.config_context() as config:
        for name, setting in _SETTINGS.items():
            if options[name] is not NOT_SET:
                setattr(config, setting, options[name])
        if options["version"] is not None:
            file.version = options["version"]
        yield


def _nowhere(uri):
    return generic_io.get_file(io.BytesIO(), mode="w", uri=uri)


# From a tree to text and blocks


def _prepare(file, fd, pad_blocks):
    """The text of the tree and the blocks of a new file."""
    _possible(file, pad_blocks)
    with file._blocks.write_context(fd), _writing(_Writing(file._blocks, None)) as writing:
        text = _text(file)
        return text, [_content(writing, block) for block in _plain(file._blocks)]


def _possible(file, pad_blocks):
    if not tested():
        raise Left(f"asdf {asdf.__version__} was not tested")
    if file.version_string not in _VERSIONS:
        raise Left(f"Trilith does not know version {file.version_string} of the standard")
    if pad_blocks:
        raise Left("asdf pads blocks")
    if type(file)._write_tree is not asdf.AsdfFile._write_tree:
        raise Left("its class writes trees in another way")


def _refuse_damage(file, fd):
    """Refuses what `asdf` would write under new checksums, before it opens the file: see `_asdf_damage`."""
    manager = file._blocks
    if not tested():
        return
    with manager.write_context(fd):
        _now.checks = True
        try:
            _text(file)
        except _trilith.FormatError:
            raise
        except Exception:  # noqa: BLE001, asdf reports it in its own words
            return
        finally:
            _now.checks = False
        written = [*manager._write_blocks, *manager._external_write_blocks, manager._streamed_write_block]
        _asdf_damage.refuse(manager, written)


def _plain(manager):
    if manager._external_write_blocks or manager._streamed_write_block is not None:
        raise Left("asdf writes streamed and external blocks")
    return manager._write_blocks


@contextlib.contextmanager
def _writing(writing):
    before, _now.writing = getattr(_now, "writing", None), writing
    try:
        yield writing
    finally:
        _now.writing = before


def _content(writing, write_block):
    """A block as `_trilith` takes it: what is stored or its bytes, the codec and the level."""
    _asdf_damage.refuse(writing.manager, [write_block])
    label = _named(write_block.compression)
    data = write_block.data
    block = None if data is None else holder(util.get_array_base(data))
    if block is not None and _covers(data, block.base()):
        if label == block.label.decode("ascii", "replace") and not write_block.compression_kwargs and writing.is_same(block):
            return block.place, None, None
        block.fill(0, block.base().size)
    options = dict(write_block.compression_kwargs or {})
    level = options.pop(_LEVELS.get(label), None)
    if label and (label not in _LEVELS or options):
        raise Left("Trilith does not encode a block as asked")
    return write_block.data_bytes, label.encode("ascii").ljust(4, b"\0") if label else None, level


def _named(label):
    return (label.decode("ascii", "replace") if isinstance(label, bytes) else label or "").strip("\0")


def _covers(data, memory):
    """Whether an array is all of some memory, in its order."""
    address = memory.__array_interface__["data"][0]
    return data.nbytes == memory.nbytes and data.flags.c_contiguous and data.__array_interface__["data"][0] == address


def _put(target, file, ready, options):
    text, blocks = ready
    comments = ["#" + line.decode("utf-8", "replace") for line in file._comments]
    comments = [line for line in comments if not line.startswith("#ASDF_STANDARD")]
    with _or_left():
        _trilith._write_parts(
            target,
            file.version_string,
            comments,
            text,
            blocks,
            checksums=options["write_checksums"],
            index=options["include_block_index"],
        )


@contextlib.contextmanager
def _or_left():
    """If Trilith does not write something in this way, asdf writes it or raises its own error."""
    try:
        yield
    except (ValueError, NotImplementedError) as error:
        raise Left(f"Trilith does not write it: {error}") from error


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
    with _asdf_use.here("write"):
        schema.validate(tagged, file)
    origin = getattr(file._blocks, "_trilith", None)
    origin = None if origin is None or origin.closed else origin
    if origin is not None:
        text = _changed_text(origin, tagged)
        if text is not None:
            return text
    handles = {"!": "tag:stsci.edu:asdf/"}
    for extension in context._extensions_used:
        handles = {**extension.yaml_tag_handles, **handles}
    try:
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
    except yaml.representer.RepresenterError as error:
        raise Left("what cannot be written, asdf says in its own words") from error
    return text if origin is None else _kept(origin.asdf.text, text)


def _changed_text(origin, tagged):
    """As `_kept`, without PyYAML; None where only that prints the tree."""
    try:
        return _trilith._AsdfBridge(origin).merge_tagged(tagged, (TaggedDict, TaggedList, TaggedString))
    except (ValueError, TypeError, NotImplementedError):
        # What asdf takes for a tag or an order of keys may be of other types.
        return None


def _kept(old, new):
    """Returns the new text, in which unchanged parts of the old text stay, with their comments, if possible."""
    try:
        return _trilith._toward(old, new) or new
    except ValueError:
        # Nodes that contain themselves, say.
        return new


# Arrays


def _to_yaml_tree(self, obj, tag, ctx):
    node = _array_node(self, obj, tag, ctx)
    is_ours = getattr(_now, "writing", None) is not None or getattr(_now, "checks", False)
    if is_ours and isinstance(node, (dict, list)) and "source" not in node:
        # Elements in the text are under no checksum any more.
        _asdf_damage.refuse_elements(ctx._blocks, obj._make_array() if isinstance(obj, NDArrayType) else obj)
    return node


def _array_node(self, obj, tag, ctx):
    writing = getattr(_now, "writing", None)
    block = block_of(obj)
    is_active = _asdf_use.active("read") or _asdf_use.active("write")
    is_ours = block is not None or writing is not None or is_active or getattr(_now, "ours", False)
    if is_ours and isinstance(obj, NDArrayType) and obj._mask is not None:
        # The converter does not see that it is masked.
        return _to_yaml_before(self, obj._make_array(), tag, ctx)
    if writing is not None and writing.manager is ctx._blocks:
        if block is None and type(obj) is numpy.ndarray:
            block = holder(util.get_array_base(obj))
        node = None if block is None else _node(writing, obj, block, ctx)
        if node is not None:
            return node
    return _to_yaml_before(self, obj, tag, ctx)


def _node(writing, obj, block, ctx):
    """The node of an array that is all of a block, or of one whose block keeps its place; None for others."""
    if isinstance(obj, NDArrayType) and (obj._shape is None or "*" in obj._shape):
        return None
    memory = block.base()
    data = unread(obj, memory) if isinstance(obj, NDArrayType) else obj
    if not _covers(data, memory):
        lies_there = isinstance(obj, NDArrayType) and 0 not in data.strides
        if not (lies_there and writing.keeps is not None and block in writing.keeps):
            return None
    key = memory if isinstance(obj, NDArrayType) else util.get_array_base(obj)
    config, options = asdf.get_config(), ctx._blocks.options.get_options(key)
    storage = config.all_array_storage or options.storage_type
    threshold = config.array_inline_threshold
    if threshold is not None and storage in ("inline", "internal"):
        storage = "inline" if math.prod(data.shape) < threshold else "internal"
    if storage != "internal":
        return None
    options.storage_type = storage
    if config.all_array_compression != "input":
        options.compression = config.all_array_compression
        options.compression_kwargs = config.all_array_compression_kwargs
    ctx._blocks.options.set_options(key, options)
    datatype, byteorder = numpy_dtype_to_asdf_datatype(data.dtype)
    node = {"shape": list(data.shape)}
    node["source"] = _number(writing, block, memory, options, obj, ctx)
    node["datatype"], node["byteorder"] = datatype, byteorder
    offset = data.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    if offset > 0:
        node["offset"] = offset
    if not data.flags.c_contiguous:
        node["strides"] = list(data.strides)
    return node


def _number(writing, block, memory, options, obj, ctx):
    """The number of the block in the new file: its own where it stays."""
    stays = writing.keeps is not None and block in writing.keeps
    if stays and _named(options.compression) == block.label.decode("ascii", "replace") and not options.compression_kwargs:
        if writing.is_same(block):
            writing.kept.add(block)
            return block.number
    return ctx._blocks.make_write_block(memory, options, obj)


# Updating


def _updated(file, origin, options):
    """Changes the file that was opened, and lets the blocks point into what it is then."""
    if origin is None or origin.path is None:
        raise Left("it was not opened by Trilith, or not by its path")
    if not getattr(file._fd, "_close", False):
        raise Left("a file object of somebody else's stays that of the file that it was")
    if any(not isinstance(block, Block) for block in file._blocks.blocks):
        raise Left("asdf maps its blocks, or has their codec")
    path = origin.path
    before = file.version
    done = False
    try:
        with _configured(file, options):
            _possible(file, options["pad_blocks"])
            in_place = options["include_block_index"] and options["write_checksums"]
            changed = _changed(file, origin) if in_place and file.version_string == origin.asdf.standard else None
            if changed is None:
                changed = _replaced(file, path, options)
        done = True
    finally:
        if not done and file.version != before:
            file.version = before
    _moved(file, path, *changed)


def _changed(file, origin):
    """Changes what is there: the new contents in their order, and whether the file is still the same one."""
    manager, blocks = file._blocks, list(file._blocks.blocks)
    keeps = set(blocks)
    with manager.write_context(file._fd, copy_options=False), _writing(_Writing(manager, keeps)) as writing:
        for block in blocks:
            # Their numbers are taken, so new ones continue after them.
            manager._write_blocks.append_block(WriteBlock(numpy.empty(0, "u1")), block)
        text = _text(file)
        added = list(_plain(manager))[len(blocks) :]
        if any(callable(block._data) for block in added):
            # Others than arrays have blocks: what they call them is known to them alone.
            return None
        if writing.kept != keeps:
            # Where blocks go, the others move up.
            return None
        contents = [_content(writing, block) for block in added]
        with _or_left():
            in_place, numbers = _trilith._AsdfBridge(origin).become_parts(text, contents)
        return in_place, dict(_numbered(numbers, [*blocks, *(_memory(block) for block in added)]))


def _replaced(file, path, options):
    """Rewrites the file."""
    manager = file._blocks
    with manager.write_context(file._fd, copy_options=False), _writing(_Writing(manager, None)) as writing:
        text = _text(file)
        written = list(_plain(manager))
        contents = [_content(writing, block) for block in written]
        _put(path, file, (text, contents), options)
        return False, dict(enumerate(_memory(block) for block in written))


def _numbered(numbers, contents):
    return ((number, content) for number, content in zip(numbers, contents, strict=True) if number is not None)


def _memory(write_block):
    """The block that holds what was written, or memory for a new one; None where neither is known."""
    data = write_block.data
    if data is None:
        return None
    base = util.get_array_base(data)
    block = holder(base)
    if block is not None and _covers(data, base):
        return block
    is_whole = isinstance(base, numpy.ndarray) and base.flags.c_contiguous and _covers(data, base)
    return (write_block.data_bytes, base) if is_whole else None


def _moved(file, path, in_place, contents):
    """Every block points to where its bytes are now."""
    manager, old = file._blocks, list(file._blocks.blocks)
    if not in_place:
        file._fd.close()
        file._fd = generic_io.get_file(path, mode="rw")
        manager._trilith = _trilith.open(path)
    origin = manager._trilith
    made = ReadBlocks()
    for number, header in enumerate(_trilith._AsdfBridge(origin).block_headers() or []):
        content = contents.get(number)
        if isinstance(content, Block) and content not in made.data:
            content.move(origin, number, *header, file._fd)
            made.append(content)
            continue
        made.append(Block(origin, number, *header, file._fd))
        if isinstance(content, tuple):
            made[-1].hold(*content)
    _reassign(manager, old, made)
    manager.blocks = made


def _reassign(manager, old, made):
    """Requests for the bytes of a block return the same ones as before."""
    gone = ReadBlocks([block for block in old if block not in made.data])
    # Arrays that left the tree are still somebody's.
    manager._trilith_gone = [*getattr(manager, "_trilith_gone", []), *([gone] if gone else [])]
    for by_key in manager._data_callbacks._by_id.values():
        for callback in by_key.values():
            blocks = callback._read_blocks_ref()
            block = blocks[callback._index] if blocks is not None and -len(blocks) <= callback._index < len(blocks) else None
            for home in (made, gone):
                if block is not None and block in home.data:
                    callback._reassign(home.data.index(block), home)


class AsdfFile(asdf.AsdfFile):
    """An `asdf.AsdfFile` whose files Trilith writes: keys in their order, masks kept, all cores at work.

    Anything that Trilith does not write as `asdf` does (streamed and external blocks, padding, codecs of other
    packages, versions of the standard that it does not know) `asdf` writes.
    """

    _trilith_writes = True
