"""Virtual datasets: the places of the chunks of a file, for VirtualiZarr, Icechunk and Kerchunk.

`trilith.virtual.Parser` is a parser of VirtualiZarr for any file that Trilith reads. Its result holds no elements:
programs of Zarr read them from the file itself, without Trilith. Needs the package virtualizarr
(`pip install 'trilith[virtual]'`), which is imported when this module is.

>>> import numpy, obstore.store, tempfile, trilith.virtual, virtualizarr
>>> from obspec_utils.registry import ObjectStoreRegistry
>>> path = tempfile.mkdtemp() + "/x.asdf"
>>> trilith.write(path, {"te": numpy.ones((40, 50), "f4")})
>>> registry = ObjectStoreRegistry({"file://": obstore.store.LocalStore()})
>>> parser = trilith.virtual.Parser(rows=10)
>>> with virtualizarr.open_virtual_dataset(f"file://{path}", registry=registry, parser=parser) as ds:
...     te = ds["te"].data
>>> te.shape, te.chunks, len(te.manifest)
((40, 50), (10, 50), 4)
"""

import math
import os
import pathlib
import urllib.parse
import urllib.request
import warnings

import numpy
from virtualizarr.manifests import ChunkManifest, ManifestArray, ManifestGroup, ManifestStore
from virtualizarr.manifests.utils import create_v3_array_metadata

from . import _zarr_nodes as _nodes
from ._file_sets import opened as _open
from ._trilith import _manifest, _state

__all__ = ["Parser"]

# Trilith reads these itself; the registry handles the rest.
_OWN = {"http", "https", "s3"}


class Parser:
    """A parser of VirtualiZarr: `Parser()(url, registry)` gives a `ManifestStore`.

    Uncompressed elements can have chunks of any rows. Blocks of zlib, bzip2, zstd and Blosc are one chunk each. Sub-blocks of LZ4 and zstd
    are chunks if they end at rows and have the same length. Chunks of HDF5, netCDF-4 and of layouts are chunks if Zarr has their
    filters. Other arrays cannot be virtual, but `trilith.zarr.Store` reads them all.

    Parameters
    ----------
    group : str, optional
        The group that becomes the root.
    skip_variables : list of str, optional
        Names or paths to leave out.
    rows : int or dict, optional
        Rows of a chunk of uncompressed elements, a number or a dictionary of numbers by path. It must divide the rows of the array.
        By default a chunk has about 4 MiB.
    refused : {"raise", "skip"}
        Raise `NotImplementedError` for an array that cannot be virtual, or leave it out with a warning.
    layout : Layout, str or os.PathLike, optional
        The layout of the file, as in `trilith.open`.
    **options
        Other options of `trilith.open`.

    Raises
    ------
    ValueError
        If `refused` has another value.
    """

    def __init__(self, group=None, skip_variables=None, *, rows=None, refused="raise", layout=None, **options):
        if refused not in ("raise", "skip"):
            raise ValueError(f'refused is "raise" or "skip", not {refused!r}')
        self.group, self.skip_variables = group, tuple(skip_variables or ())
        self.rows, self.refused, self.layout, self.options = rows, refused, layout, options

    def __repr__(self):
        return f"trilith.virtual.Parser({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __call__(self, url, registry):
        """Returns the groups and arrays of the file at a URL, with the byte ranges of their chunks."""
        with _opened(url, registry, self.layout, self.options) as file:
            tree = _nodes.Tree(file)
            own = _state(file)[0]
            top = (self.group or "").strip("/")
            if top and (top not in tree.nodes or tree.nodes[top].array is not None):
                groups = ", ".join(path for path, node in tree.nodes.items() if path and node.array is None)
                raise KeyError(f"there is no group {top!r}; there are: {groups}")
            reasons = {path: reason for path, reason in tree.refused.items() if self._is_wanted(path.strip("/"), top)}
            arrays = self._arrays(tree, top, url, own, reasons)
        if reasons:
            self._refuse(own, reasons)
        return ManifestStore(group=_group(tree, top, arrays), registry=registry)

    def _is_wanted(self, path, top):
        within = not top or path == top or path.startswith(f"{top}/")
        return within and not {path, path.rpartition("/")[2]} & {name.strip("/") for name in self.skip_variables}

    def _arrays(self, tree, top, url, own, reasons):
        """The virtual arrays by path; why others are none goes into `reasons`."""
        made = {}
        for path, node in tree.nodes.items():
            if node.array is None or not self._is_wanted(path, top):
                continue
            rows = self.rows.get(path) if isinstance(self.rows, dict) else self.rows
            try:
                made[path] = virtual(node, rows if node.shape else None, url, own)
            except NotImplementedError as error:
                reasons[path] = str(error)
        return made

    def _refuse(self, own, reasons):
        lines = [f"/{path.lstrip('/')}: {reason}" for path, reason in reasons.items()]
        way = "trilith.zarr.Store reads them; skip_variables=[...] or refused=\"skip\" leaves them out"
        if self.refused == "raise":
            raise NotImplementedError(f"{own} cannot be virtual as a whole; {way}\n" + "\n".join(lines))
        for line in lines:
            warnings.warn(f"{line}, so it is left out of the virtual dataset", stacklevel=3)


def virtual(node, rows, url, own):
    """The virtual array of a node of the file at an address, which Trilith calls `own`."""
    name, chunk, columns, filters, starts, lengths, fill, byteorder = _manifest(node.array, rows)
    if byteorder is None or node.dtype.names is not None and byteorder != "little":
        raise NotImplementedError("Zarr's records have no padding, and the least significant bytes of all fields first")
    node.chunks = tuple(chunk)
    dtype = node.dtype.newbyteorder("<" if byteorder == "little" else ">")
    codecs = [{"name": "transpose", "configuration": {"order": list(range(len(chunk)))[::-1]}}] if columns else []
    codecs.append(_nodes.order(node.dtype, byteorder))
    codecs += [_codec(dict(config)) for config in filters]
    metadata = create_v3_array_metadata(
        shape=node.shape,
        data_type=dtype,
        chunk_shape=node.chunks,
        chunk_key_encoding={"name": "default", "separator": "."},
        fill_value=_fill(node, fill, dtype),
        codecs=codecs,
        attributes=_finite(_nodes.attributes_of(node)),
        dimension_names=node.dims,
    )
    places = starts.reshape(node.counts), lengths.reshape(node.counts)
    where = url if name == own or os.path.abspath(name) == os.path.abspath(own) else _address(name)
    paths = numpy.where(places[1] > 0, where, "").astype(numpy.dtypes.StringDType())
    return ManifestArray(metadata=metadata, chunkmanifest=ChunkManifest.from_arrays(paths=paths, offsets=places[0], lengths=places[1]))


def _codec(config):
    """A codec of numcodecs as Zarr v3 names it."""
    name = config.pop("id")
    if name == "zstd":
        return {"name": "zstd", "configuration": {"level": config["level"], "checksum": False}}
    return {"name": f"numcodecs.{name}", "configuration": config}


def _fill(node, fill, dtype):
    """The value of chunks that were never written."""
    if node.missing is not None and not any(fill):
        return node.missing
    return numpy.frombuffer(fill, dtype)[0] if len(fill) == dtype.itemsize and dtype.itemsize else None


def _finite(value):
    """Attributes as JSON of any program has them."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return _nodes.number(value) if isinstance(value, float) and not math.isfinite(value) else value


def _group(tree, path, arrays):
    """Returns a group with everything below it."""
    start = f"{path}/" if path else ""
    below = {name: tree.nodes.get(start + name) for name in tree.below(path)}
    groups = {name: _group(tree, start + name, arrays) for name, node in below.items() if node is not None and node.array is None}
    own = {name: arrays[start + name] for name in below if start + name in arrays}
    return ManifestGroup(arrays=own, groups=groups, attributes=_finite(tree.nodes[path].attributes))


def _opened(url, registry, layout, options):
    """The file at an address: by Trilith, or with what the registry has for it."""
    # Other programs apply what the attributes declare; cards of FITS they do not know.
    found = _found(url, registry, layout, {"stored": True, **options})
    return _found(url, registry, layout, options) if found.asdf is not None and "fits" in found else found


def _found(url, registry, layout, options):
    scheme = urllib.parse.urlsplit(url).scheme
    if scheme == "file":
        return _open(pathlib.Path(urllib.request.url2pathname(urllib.parse.urlsplit(url).path)), layout=layout, **options)
    if scheme in _OWN:
        return _open(url, layout=layout, **options)
    if not scheme:
        return _open(pathlib.Path(url), layout=layout, **options)
    import obstore

    store, path = registry.resolve(url)
    return _open(obstore.open_reader(store, path), layout=layout, **options)


def _address(name):
    """Returns the URL of another file with arrays of a file."""
    return name if "://" in name else pathlib.Path(name).absolute().as_uri()
