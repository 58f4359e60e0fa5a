"""The codec with which `trilith.zarr.open` reads only those elements of a chunk that are asked for."""

from dataclasses import dataclass

from zarr.abc.codec import ArrayBytesCodecPartialDecodeMixin
from zarr.codecs import BytesCodec
from zarr.registry import register_codec

#: The codec in the documents of a store whose arrays are read in this way.
NAME = "trilith.elements"


@dataclass(frozen=True, init=False)
class Elements(BytesCodec, ArrayBytesCodecPartialDecodeMixin):
    """The codec `bytes` of Zarr, which also reads a part of a chunk of a `trilith.zarr.Store`.

    Its output, and the metadata of copies, name the codec `bytes`.
    """

    @classmethod
    def from_dict(cls, data):
        """The codec that a document asks for."""
        return cls(**data.get("configuration", {"endian": None}))

    async def _decode_partial_single(self, byte_getter, selection, chunk_spec):
        from .zarr import Store

        store = getattr(byte_getter, "store", None)
        if isinstance(store, Store):
            elements = await store._part(byte_getter.path, selection)
            return None if elements is None else chunk_spec.prototype.nd_buffer.from_ndarray_like(elements)
        # Its output is in a store of another kind.
        stored = await byte_getter.get(chunk_spec.prototype)
        return None if stored is None else (await self._decode_single(stored, chunk_spec))[selection]


register_codec(NAME, Elements)
