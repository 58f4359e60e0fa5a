"""Damaged blocks: bytes that differ from the checksum of their block get no new checksum."""

import pathlib
import urllib.request

from asdf import generic_io, util

from . import _trilith
from ._asdf_hooks import holder, mapped, source_of


def refuse(manager, written):
    """Refuses to write blocks whose bytes come from damaged blocks of files."""
    for block in written:
        data = None if block is None else block.data
        if data is not None:
            refuse_elements(manager, data)


def refuse_elements(manager, array):
    """Refuses an array whose elements come from a damaged block of a file."""
    _trilith._check_view(array)
    check = _check_of(manager, util.get_array_base(array))
    if check is not None:
        check()


def _check_of(manager, base):
    """The check of the block of a file that some memory holds, or None for memory of the program."""
    block = holder(base)
    if block is not None:
        # Memory that a program lent is what was written, however the file is now.
        file, number = block.place
        return None if block.is_lent() or file is None or file.closed else lambda: _trilith._AsdfBridge(file).check_block(number)
    block = mapped(base)
    if block is not None:
        return block.check
    for number, block in enumerate(manager.blocks):
        if block.loaded and block._cached_data is not None and util.get_array_base(block._cached_data) is base:
            return _own(manager, number, block)
    for uri, memory in manager._external_block_cache._cache.items():
        if util.get_array_base(memory) is base:
            return _external(manager, uri)
    return None


def _own(manager, number, block):
    """The check of a block that `asdf` has read. A map that programs write through is theirs."""
    fd = block._fd()
    if fd is None or fd.is_closed() or (block.memmap and fd.writable()):
        return None
    file = getattr(manager, "_trilith", None)
    source = None if file is not None and not file.closed else source_of(fd)
    if file is None or file.closed:
        if source is None:
            return None
        file = _trilith.open(source)
    return lambda: _trilith._AsdfBridge(file).check_block(number)


def _external(manager, uri):
    """The check of the block of another file, if that is on this machine."""
    parsed = util._patched_urllib_parse.urlparse(generic_io.resolve_uri(manager._uri, uri))
    if parsed.scheme != "file":
        return None
    path = pathlib.Path(urllib.request.url2pathname(parsed.path))
    return lambda: _trilith._AsdfBridge(_trilith.open(path)).check_block(0)
