"""Reads and writes files of one Dudley layout.

Made by ``trilith layout code``; needs Python 3 and nothing else. The values are a dict of these names, with
numbers, nested lists, bytes for text, or arrays of numpy:

FIELDS"""

import struct


def _length(value, more):
    return value if value <= 0 else max(value + more, 0)


def _factor(length):
    return 1 if length < 0 else length


def _add(a, b):
    return a + b


def _mul(a, b):
    return a * b


def _up(at, align):
    return (at + align - 1) // align * align


def _check(value):
    if not -1 <= value < 2**63:
        raise ValueError(f"parameter {value} is below -1 or too large")
    return int(value)


def _flat(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, (list, tuple, range, bytes, bytearray)):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _nested(flat, dims, is_text):
    if not dims:
        return bytes(flat) if is_text else flat[0]
    if len(dims) == 1:
        return bytes(flat) if is_text else flat
    step = len(flat) // dims[0] if dims[0] else 0
    return [_nested(flat[k * step:(k + 1) * step], dims[1:], is_text) for k in range(dims[0])]


class _File:
    def __init__(self, file):
        self.file, self.base, self.start, self.order = file, 0, 0, "LETTER"

    def create(self):
        self.base, self.start = ORIGIN, HEADERSIZE - ORIGIN
        self.size = HEADERSIZE
        self.file.write((b"SIGNATURE" + bytes(8))[:HEADERSIZE])

    def open(self):
        first = self.file.read(16)
        self.size = self.file.seek(0, 2)
        if len(first) >= 8 and first[:1] == b"\x8d" and first[2:8] == b"BD\r\n\x1a\n":
            self.base, self.start, self.order = BASE, 16 - BASE, first[1:2].decode()

    def places(self, at, loops):
        if not loops:
            yield self.base + at
            return
        count, stride = loops[0]
        for k in range(count):
            yield from self.places(at + k * stride, loops[1:])

    def put(self, at, values, name, dims, loops, run, code, kind, order):
        flat = list(_flat(values[name]))
        if kind == "complex":
            flat = [part for value in flat for part in (complex(value).real, complex(value).imag)]
            run *= 2
        need = run
        for count, _ in loops:
            need *= count
        if need != len(flat):
            raise ValueError(f"{name} has {len(flat)} numbers, its parameters say {need}")
        order = self.order if order == "=" else order
        for k, place in enumerate(self.places(at, loops) if run else ()):
            if place < HEADERSIZE:
                raise ValueError(f"{name} would be written over the header")
            data = struct.pack(f"{order}{run}{code}", *flat[k * run:(k + 1) * run])
            self.file.seek(place)
            self.file.write(data)
            self.size = max(self.size, place + len(data))

    def get(self, at, dims, loops, run, code, kind, order):
        order = self.order if order == "=" else order
        run *= 2 if kind == "complex" else 1
        size = struct.calcsize(f"{order}{code}") * run
        need = size
        for count, _ in loops:
            need *= count
        if need > self.size:
            raise ValueError("the file ends too early")
        flat = []
        for place in self.places(at, loops) if run else ():
            self.file.seek(place)
            data = self.file.read(size)
            if len(data) != size:
                raise ValueError("the file ends too early")
            flat.extend(struct.unpack(f"{order}{run}{code}", data))
        if kind == "complex":
            flat = [complex(*pair) for pair in zip(flat[::2], flat[1::2])]
        return _nested(flat, [n for n in dims if n >= 0], kind == "text")

    def end(self, total, text):
        at = max(HEADERSIZE, self.base + total)
        if not text:
            if at > self.size:
                self.file.seek(at - 1)
                self.file.write(b"\0")
            return
        self.file.seek(at)
        self.file.write(text)
        self.file.seek(8)
        self.file.write(struct.pack(f"{self.order}q", at))
