"""Files of the ASDF family, put together field by field.

Each document has its own numbers for what all of them say: the table `AT` gives section and sentence. The same
case is made for every document that has the sentence.
"""

import bz2
import hashlib
import struct
import zlib

from .case import Case

D3, M89 = b"\xd3BLK", b"\x89BLK"
DATA = struct.pack("<3h", 1, 2, 3)
OTHER = struct.pack("<3h", 9, 9, 9)

DOCUMENTS = {
    "finf-0.1": {"head": "%FINF 0.1.0", "ext": "finf", "prefix": "tag:stsci.edu:finf/0.1.0/", "root": "core/finf",
                 "array": "core/ndarray", "key": "dtype", "mark": M89, "size": 40},
    "asdf-0.1-dev": {"head": "%ASDF 0.1.0", "ext": "asdf", "prefix": "tag:stsci.edu:asdf/0.1.0/", "root": "core/asdf",
                     "array": "core/ndarray", "key": "dtype", "mark": M89, "size": 44},
    "asdf-0.1": {"head": "#ASDF 0.1.0", "ext": "asdf", "prefix": "tag:stsci.edu:asdf/0.1.0/", "root": "core/asdf",
                 "array": "core/ndarray", "key": "datatype", "mark": D3, "size": 36},
    "asdf-1.x": {"head": "#ASDF 1.0.0", "ext": "asdf", "prefix": "tag:stsci.edu:asdf/", "root": "core/asdf-1.1.0",
                 "array": "core/ndarray-1.0.0", "key": "datatype", "mark": D3, "size": 48},
}

LOW, HEAD, TREE, BLOCKS, BLOCK = "Low-level file layout", "Header", "Tree", "Blocks", "Block header"
INDEX, ADVICE = "Block index", "Implementation recommendations"
TILE = "Built-in array-to-array encodings"
QUANTIZE = "Built-in array-to-binary encodings"
ZLIB = "Built-in binary-to-binary encodings"

# What a case is about: its section and sentence in each document.
AT = {
    "finf-0.1": {
        "parts": (LOW, 1), "tree-part": (LOW, 3), "block-part": (LOW, 4), "utf8-header": (LOW, 6), "yaml-file": (LOW, 9),
        "first": (HEAD, 1), "token": (HEAD, 4), "yaml-comment": (HEAD, 6), "space": (HEAD, 7), "dot": (HEAD, 8),
        "major": (HEAD, 10), "minor": (HEAD, 12), "micro": (HEAD, 14), "line-end": (HEAD, 15),
        "yaml": (TREE, 1), "no-tree": (TREE, 2), "utf8": (TREE, 6), "newlines": (TREE, 7), "yaml-1.1": (TREE, 8),
        "yaml-line": (TREE, 11), "document": (TREE, 12), "content": (TREE, 13), "any-size": (TREE, 15), "end": (TREE, 16),
        "room": (TREE, 18), "align": (TREE, 19), "padding": (TREE, 20), "spaces": (TREE, 20),
        "some-blocks": (BLOCKS, 1), "contiguous": (BLOCKS, 2), "ndarray": (BLOCKS, 3), "any-room": (BLOCKS, 6),
        "search": (BLOCKS, 7), "at-once": (BLOCKS, 8),
        "fields": (BLOCK, 1), "mark": (BLOCK, 2), "header-size": (BLOCK, 4), "enlarged": (BLOCK, 5), "obey": (BLOCK, 6),
        "least": (BLOCK, 7), "allocated": (BLOCK, 8), "used-size": (BLOCK, 9), "sum": (BLOCK, 10), "no-sum": (BLOCK, 11),
        "encoding": (BLOCK, 13), "used": ("Block content", 1), "unused": ("Block content", 2),
        "exploded": ("Exploded form", 2), "exploded-part": ("Exploded form", 3), "exploded-uri": ("Exploded form", 16),
        "exploded-same": ("Exploded form", 17),
    },
    "asdf-0.1-dev": {
        "parts": ("2", 1), "tree-part": ("2", 3), "block-part": ("2", 4), "utf8-header": ("2", 6), "yaml-file": ("2", 9),
        "first": ("2.1", 1), "form": ("2.1", 3), "space": ("2.1", 3), "line-end": ("2.1", 3), "token": ("2.1", 4),
        "yaml-comment": ("2.1", 6), "major": ("2.1", 7), "minor": ("2.1", 8), "micro": ("2.1", 9),
        "yaml": ("2.2", 1), "no-tree": ("2.2", 2), "utf8": ("2.2", 6), "newlines": ("2.2", 7), "yaml-1.1": ("2.2", 8),
        "yaml-line": ("2.2", 11), "document": ("2.2", 12), "content": ("2.2", 13), "any-size": ("2.2", 15), "end": ("2.2", 16),
        "room": ("2.2", 18), "align": ("2.2", 19), "padding": ("2.2", 20), "spaces": ("2.2", 21),
        "some-blocks": ("2.3", 1), "contiguous": ("2.3", 2), "any-room": ("2.3", 6), "search": ("2.3", 7), "at-once": ("2.3", 8),
        "fields": ("2.3.1", 1), "mark": ("2.3.1", 5), "header-size": ("2.3.1", 7), "enlarged": ("2.3.1", 8), "obey": ("2.3.1", 9),
        "least": ("2.3.1", 10), "allocated": ("2.3.1", 12), "used-size": ("2.3.1", 13), "sum": ("2.3.1", 14),
        "no-sum": ("2.3.1", 15), "encoding": ("2.3.1", 17),
        "flags-field": ("2.3.1", 11), "flags": ("2.3.2", 1), "streamed": ("2.3.2", 2), "streamed-sizes": ("2.3.2", 3), "streamed-last": ("2.3.2", 4),
        "used": ("2.3.3", 1), "unused": ("2.3.3", 2),
        "exploded": ("2.4", 2), "exploded-part": ("2.4", 3), "exploded-uri": ("2.4", 16),
        "root": ("3.1", 4), "verbatim-tags": ("3.1", 7), "unknown-tag": ("3.1", 27),
        "ref": ("3.2", 1), "ref-alone": ("3.2", 3), "ref-text": ("3.2", 4), "ref-fragment": ("3.2", 5), "ref-target": ("3.2", 6),
        "ref-top": ("3.2", 7), "ref-escape": ("3.2", 9), "ref-content": ("3.2", 10), "ref-forward": ("3.2", 14),
        "anchors": ("3.2", 17),
        "data": ("4.1.1", 3), "schema-root": ("4.1.1", 1), "complex": ("4.1.2", 2),
        "ndarray-form": ("4.1.3", 1), "ndarray-inline": ("4.1.3", 5), "ndarray": ("4.1.3", 8), "ascii": ("4.1.3", 18),
        "ucs4": ("4.1.3", 19), "fits": ("4.2.1", 1), "unit": ("4.3.1", 2), "defunit": ("4.3.2", 1), "unit-order": ("4.3.2", 7),
        "unit-null": ("4.3.2", 9), "integers-of": ("4.1.3", 11), "unsigned-of": ("4.1.3", 12), "float32": ("4.1.3", 13),
        "float64": ("4.1.3", 14), "complex64": ("4.1.3", 15), "complex128": ("4.1.3", 16), "ucs4-bytes": ("4.1.3", 20),
        "one-type": ("4.1.3", 23), "fields-of": ("4.1.3", 24), "inline-text": ("4.1.3", 26), "inline-lists": ("4.1.3", 27),
        "infer-text": ("4.1.3", 30), "infer-complex": ("4.1.3", 31), "infer-float": ("4.1.3", 32),
        "infer-integer": ("4.1.3", 33), "infer-bool": ("4.1.3", 34), "source-positive": ("4.1.3", 38),
        "source-negative": ("4.1.3", 39), "source-last": ("4.1.3", 40), "source-uri": ("4.1.3", 41),
        "source-relative": ("4.1.3", 42), "source-first": ("4.1.3", 44), "inline-data": ("4.1.3", 47),
        "inline-match": ("4.1.3", 48), "open-shape": ("4.1.3", 50), "open-stream": ("4.1.3", 51), "strides": ("4.1.3", 52),
        "strides-absent": ("4.1.3", 53), "strides-length": ("4.1.3", 54), "mask-number": ("4.1.3", 56),
        "mask-array": ("4.1.3", 57), "mask-shape": ("4.1.3", 58), "example-view": ("4.1.3", 64),
        "example-fortran": ("4.1.3", 66), "reserved": ("5.2.2", 2),
        "own-tags": ("5.2.2", 3),
    },
    "asdf-0.1": {
        "parts": (LOW, 1), "tree-part": (LOW, 3), "block-part": (LOW, 4), "utf8-header": (LOW, 6), "yaml-file": (LOW, 9),
        "first": (HEAD, 1), "form": (HEAD, 3), "space": (HEAD, 3), "line-end": (HEAD, 3), "token": (HEAD, 4),
        "yaml-comment": (HEAD, 6), "major": (HEAD, 7), "minor": (HEAD, 8), "micro": (HEAD, 9),
        "yaml": (TREE, 1), "no-tree": (TREE, 2), "utf8": (TREE, 6), "newlines": (TREE, 7), "yaml-1.1": (TREE, 8),
        "yaml-line": (TREE, 11), "document": (TREE, 12), "content": (TREE, 13), "any-size": (TREE, 15), "end": (TREE, 16),
        "room": (TREE, 18), "align": (TREE, 19), "padding": (TREE, 20), "spaces": (TREE, 21),
        "some-blocks": (BLOCKS, 1), "contiguous": (BLOCKS, 2), "ndarray": (BLOCKS, 3), "any-room": (BLOCKS, 6),
        "search": (BLOCKS, 7), "at-once": (BLOCKS, 8),
        "fields": (BLOCK, 1), "mark": (BLOCK, 5), "header-size": (BLOCK, 7), "enlarged": (BLOCK, 8), "obey": (BLOCK, 9),
        "least": (BLOCK, 10), "allocated": (BLOCK, 12), "used-size": (BLOCK, 13), "decoded": (BLOCK, 16), "plain-size": (BLOCK, 15),
        "sum": (BLOCK, 17), "no-sum": (BLOCK, 18), "flags-field": (BLOCK, 11), "size-field": (BLOCK, 14),
        "flags": ("Flags", 1), "streamed": ("Flags", 2), "streamed-sizes": ("Flags", 3), "streamed-last": ("Flags", 4),
        "encoded": ("Flags", 5), "encoded-size": ("Flags", 6), "exclusive": ("Flags", 8),
        "used": ("Block content", 1), "unused": ("Block content", 2),
        "chain-yaml": ("Block encoding", 3), "chain-end": ("Block encoding", 4), "chain-blob": ("Block encoding", 5),
        "chain-used": ("Block encoding", 6), "chain-list": ("Block encoding", 9), "chain-entry": ("Block encoding", 10),
        "chain-zlib": ("Block encoding", 11), "chain-tile": ("Block encoding", 12), "chain-quantize": ("Block encoding", 13),
        "chain-order": ("Block encoding", 19), "chain-null": ("Block encoding", 20), "chain-other": ("Block encoding", 22),
        "chain-others": ("Block encoding", 24), "chain-default": ("Block encoding", 1), "chain-report": ("Block encoding", 23),
        "chain-kinds": ("Block encoding", 18),
        "tile": (TILE, 1), "tile-arguments": (TILE, 2), "tile-any": (TILE, 3), "tile-shape": (TILE, 4), "tile-original": (TILE, 5), "tile-item": (TILE, 6),
        "tile-edge": (TILE, 7), "tile-discard": (TILE, 8),
        "quantize": (QUANTIZE, 1), "quantize-arguments": (QUANTIZE, 3), "quantize-bits": (QUANTIZE, 4),
        "quantize-shape": (QUANTIZE, 5), "quantize-chunks": (QUANTIZE, 6), "quantize-zero": (QUANTIZE, 7),
        "quantize-offset": (QUANTIZE, 8), "quantize-scale": (QUANTIZE, 9), "quantize-count": (QUANTIZE, 10),
        "quantize-rest": (QUANTIZE, 11), "quantize-signed": (QUANTIZE, 12), "quantize-packed": (QUANTIZE, 13), "quantize-formula": (QUANTIZE, 14), "quantize-more": (QUANTIZE, 15),
        "zlib-stream": (ZLIB, 1), "zlib-arguments": (ZLIB, 3),
        "exploded": ("Exploded form", 2), "exploded-part": ("Exploded form", 3), "exploded-uri": ("Exploded form", 16),
    },
    "asdf-1.x": {
        "parts": (LOW, 1), "comment-part": (LOW, 3), "tree-part": (LOW, 4), "block-part": (LOW, 5), "index-part": (LOW, 6),
        "utf8-header": (LOW, 8), "yaml-file": (LOW, 12), "between": (LOW, 13),
        "first": (HEAD, 1), "token": (HEAD, 4), "yaml-comment": (HEAD, 6), "major": (HEAD, 7), "version": (HEAD, 9),
        "space": (HEAD, 11), "line-end": (HEAD, 11),
        "comments": ("Comments", 1), "comment": ("Comments", 4),
        "yaml": (TREE, 1), "no-tree": (TREE, 2), "utf8": (TREE, 6), "newlines": (TREE, 7), "yaml-1.1": (TREE, 8),
        "yaml-line": (TREE, 11), "document": (TREE, 12), "content": (TREE, 13), "any-size": (TREE, 15), "end": (TREE, 16),
        "room": (TREE, 18), "align": (TREE, 19), "padding": (TREE, 20), "spaces": (TREE, 21),
        "some-blocks": (BLOCKS, 1), "contiguous": (BLOCKS, 2), "ndarray": (BLOCKS, 3), "any-room": (BLOCKS, 6),
        "search": (BLOCKS, 7), "at-once": (BLOCKS, 8),
        "fields": (BLOCK, 1), "mark": (BLOCK, 5), "header-size": (BLOCK, 7), "enlarged": (BLOCK, 8), "obey": (BLOCK, 9),
        "least": (BLOCK, 10), "flags-field": (BLOCK, 11), "compression-field": (BLOCK, 12), "size-field": (BLOCK, 17),
        "no-compression": (BLOCK, 13), "allocated": (BLOCK, 15), "used-size": (BLOCK, 16),
        "plain-size": (BLOCK, 18), "decoded": (BLOCK, 19), "sum": (BLOCK, 20), "no-sum": (BLOCK, 21),
        "flags": ("Flags", 1), "streamed": ("Flags", 2), "streamed-sizes": ("Flags", 3), "streamed-last": ("Flags", 4),
        "codecs": ("Compression", 1), "zlib": ("Compression", 2), "bzp2": ("Compression", 4),
        "used": ("Block content", 1), "unused": ("Block content", 2),
        "index-optional": (INDEX, 2), "index-wrong": (INDEX, 3), "index-place": (INDEX, 6), "index-streamed": (INDEX, 7),
        "index-alone": (INDEX, 8), "index-form": (INDEX, 9), "index-header": (INDEX, 10), "index-line": (INDEX, 11),
        "index-yaml": (INDEX, 12), "index-example": (INDEX, 13), "index-order": (INDEX, 14), "index-zeros": (INDEX, 16), "backward": (ADVICE, 1), "advice-first": (ADVICE, 4), "advice-unused": (ADVICE, 6),
        "advice-last": (ADVICE, 7), "advice-end": (ADVICE, 8), "advice-mark": (ADVICE, 9),
        "exploded": ("Exploded form", 2), "exploded-part": ("Exploded form", 3), "exploded-uri": ("Exploded form", 15),
        "keys": ("Restricted mapping keys", 6), "root": ("Tags", 4), "verbatim-tags": ("Tags", 7), "unknown-tag": ("Tags", 26),
        "ref": ("References", 1), "ref-alone": ("References", 3), "ref-text": ("References", 4),
        "ref-fragment": ("References", 5), "ref-target": ("References", 6), "ref-top": ("References", 7),
        "ref-escape": ("References", 9), "ref-content": ("References", 10), "ref-forward": ("References", 14),
        "anchors": ("References", 15), "integers": ("Numeric literals", 1), "comment-key": ("Comments in the tree", 17),
        "null": ("Null values", 3),
    },
}


class Maker:
    """Puts together the files of one document."""

    def __init__(self, document):
        self.document = document
        for key, value in DOCUMENTS[document].items():
            setattr(self, key, value)
        self.cases = []

    # Parts of files.

    def text(self, body, tag=None, begin="%YAML 1.1\n"):
        """A tree: the directives, the body, and the end marker."""
        root = f" !{tag or self.root}" if tag != "" else ""
        return f"{begin}%TAG ! {self.prefix}\n---{root}\n{body}...\n"

    def tree(self, body, **how):
        """Header line and tree."""
        return f"{self.head}\n{self.text(body, **how)}".encode()

    def nd(self, source, shape="[3]", datatype="int16", more=""):
        """The description of an array."""
        return f"!{self.array} {{source: {source}, {self.key}: {datatype}, byteorder: little, shape: {shape}{more}}}"

    def file(self, source=0, **how):
        """Header line and a tree with one array of a block."""
        return self.tree(f"data: {self.nd(source, **how)}\n")

    def block(self, data=DATA, used=None, allocated=None, size=None, flags=0, comp=b"", md5=None, mark=None, header=None, room=b""):
        """A block: its header, its data, and unused space."""
        streamed = flags & 1
        used = (0 if streamed else len(data)) if used is None else used
        allocated = (0 if streamed else len(data) + len(room)) if allocated is None else allocated
        size = used if size is None else size
        if self.size == 48:
            md5 = (b"\0" * 16 if streamed else hashlib.md5(data).digest()) if md5 is None else md5
            fields = struct.pack(">I4sQQQ16s", flags, comp, allocated, used, size, md5)
        elif self.size == 44:
            fields = struct.pack(">IQQ8s16s", flags, allocated, used, md5 or b"", comp)
        elif self.size == 40:
            fields = struct.pack(">QQ8s16s", allocated, used, md5 or b"", comp)
        else:
            fields = struct.pack(">IQQQ8s", flags, allocated, used, size, md5 or b"")
        header = len(fields) if header is None else header
        fields = fields.ljust(header, b"\0")[: max(header, 0)]
        return (self.mark if mark is None else mark) + struct.pack(">H", header) + fields + data + room

    # Cases.

    def has(self, key):
        return key in AT[self.document]

    def add(self, key, name, about, data, **expected):
        """A case, where the document has the sentence."""
        if not self.has(key):
            return
        section, sentence = AT[self.document][key]
        ext = expected.pop("ext", self.ext)
        self.cases.append(Case(self.document, section, sentence, name, about, data, ext, **expected))

    def good(self, key, name, about, data, values=(1, 2, 3), datatype="int16", tree=None, **expected):
        """A file that conforms and holds one array under `data`."""
        values = list(values)
        tree = {"data": values} if tree is None else tree
        shape = []
        level = values
        while isinstance(level, list):
            shape.append(len(level))
            level = level[0] if level else None
        expected.setdefault("arrays", {"/data": {"datatype": datatype, "shape": shape}})
        self.add(key, name, about, data, tree=tree, **expected)

    def plain(self, key, name, about, data, tree, **expected):
        """A file that conforms and holds no array."""
        self.add(key, name, about, data, tree=tree, arrays={}, **expected)

    def bad(self, key, name, about, data, where, **expected):
        """A file that departs from the sentence, at this place."""
        if isinstance(where, bytes):
            where = {"byte": data.rindex(where)}
        self.add(key, name, about, data, where=where, **expected)


def index(*offsets, head="#ASDF BLOCK INDEX\n", begin="%YAML 1.1\n", end="...\n"):
    """A block index."""
    return f"{head}{begin}--- [{', '.join(map(str, offsets))}]\n{end}".encode()


def header(m):
    """The header line and the order of the parts."""
    whole = m.file() + m.block()
    version = m.head.split()[1]
    token = m.head.split()[0]
    line = m.head.encode()
    rest = whole[len(line):]
    m.good("parts", "all", "header, tree and a block", whole)
    m.bad("parts", "trailing", "bytes behind the last block", whole + b"junk", b"junk")
    m.plain("tree-part", "only", "header and tree", m.tree("a: 1\n"), {"a": 1})
    m.good("block-part", "two", "two blocks, of which the array names the second", m.file(1) + m.block(OTHER) + m.block())
    m.bad("utf8-header", "latin1", "the header line is not UTF-8", line + b" \xe9" + rest, {"byte": 0}, also=[
        *([{"section": AT[m.document]["micro"][0], "sentence": AT[m.document]["micro"][1], "where": {"line": 1}}] if m.has("micro") else
          [{"section": HEAD, "sentence": 9, "where": {"line": 1}}]),
    ])
    m.plain("yaml-file", "text", "a file without blocks is text throughout", m.tree("a: [1, b]\n"), {"a": [1, "b"]})
    m.bad("first", "missing", "the file begins with the tree", whole[len(line) + 1:], {"byte": 0})
    m.bad("first", "mark", "a byte order mark before the header line", b"\xef\xbb\xbf" + whole, {"byte": 0})
    m.bad("first", "case", "the first word in lower case", line.lower() + rest, {"byte": 0})
    m.good("token", "own", "the first word is that of the document", whole)
    other = {"%FINF": "%ASDF", "%ASDF": "#ASDF", "#ASDF": "%ASDF"}[token]
    m.bad("token", "other", "the first word of another document", other.encode() + whole[len(token):], {"line": 1, "column": 1})
    m.bad("space", "two", "two spaces before the version", f"{token}  {version}".encode() + rest, {"line": 1})
    m.bad("space", "tab", "a tab before the version", f"{token}\t{version}".encode() + rest, {"line": 1})
    m.bad("space", "behind", "a space behind the version", line + b" " + rest, {"line": 1})
    m.good("line-end", "dos", "the header line ends with \\r\\n", line + b"\r" + rest)
    m.bad("line-end", "missing", "the file ends in its header line", line, {"byte": len(line)})
    m.good("dot", "two", "the numbers are separated by full stops", whole)
    m.good("form", "line", "the header line of the grammar", whole)
    m.bad("major", "other", "another major version", f"{token} 3.1.0".encode() + rest, {"line": 1})
    m.bad("minor", "letter", "the minor version is a letter", f"{token} 0.x.0".encode() + rest, {"line": 1})
    m.bad("micro", "missing", "the micro version is missing", f"{token} 0.1".encode() + rest, {"line": 1})
    m.good("version", "suffix", "a version with a suffix of Semantic Versioning", f"{token} 1.0.0-rc.1+b".encode() + rest)
    m.bad("version", "two", "a version of two numbers", f"{token} 1.0".encode() + rest, {"line": 1})
    m.bad("version", "zeros", "a version with leading zeros", f"{token} 1.00.0".encode() + rest, {"line": 1})
    m.bad("version", "suffix-zeros", "a number of the suffix with leading zeros", f"{token} 1.0.0-1.02".encode() + rest, {"line": 1})
    m.plain("yaml-comment", "together", "header and tree together are YAML, where the header is a comment", m.tree("a: 1\n"), {"a": 1})


def comments(m):
    """Comments of 1.x."""
    whole = m.file() + m.block()
    line = m.head.encode() + b"\n"
    rest = whole[len(line):]
    m.good("comment-part", "one", "a comment between header and tree", line + b"#ASDF_STANDARD 1.5.0\n" + rest)
    m.good("comments", "some", "several comments", line + b"# one\r\n#\n# two\n" + rest)
    m.bad("comment", "bare", "a line between header and tree without #", line + b"hello\n" + rest, {"byte": len(line)})
    m.bad("comment", "empty", "an empty line between header and tree", line + b"\n" + rest, {"byte": len(line)})
    m.bad("comment", "indented", "a comment that begins with a space", line + b" # hello\n" + rest, {"byte": len(line)})


def text(m):
    """The tree as text."""
    line = m.head.encode() + b"\n"
    block = m.block()
    whole = m.file() + block
    size = len(m.file())
    m.plain("yaml", "kinds", "mappings, sequences and scalars", m.tree("a: {b: [1, 2.5, true, null, text]}\n"),
            {"a": {"b": [1, 2.5, True, None, "text"]}})
    m.bad("yaml", "broken", "a bracket that is not closed", m.tree("a: [1, 2\n"), {})
    m.bad("yaml", "twice", "a key twice in a mapping", m.tree("a: 1\na: 2\n"), {"line": 6})
    m.plain("yaml", "tags", "content that fits its explicit tag", m.tree("a: [!!int 12, !!float 1, !!str 1, !!bool yes, !!null ~, !!seq [1], !!map {b: 1}]\n"),
            {"a": [12, 1.0, "1", True, None, [1], {"b": 1}]})
    for name, about, node in [("int", "text that is no integer", "!!int abc"), ("float", "text that is no number", "!!float abc"),
                              ("bool", "text that is no truth value", "!!bool maybe"), ("null", "text that is not null", "!!null abc"),
                              ("binary", "base 64 without its padding", "!!binary aGVsbG8"), ("timestamp", "text that is no date", "!!timestamp xyz"),
                              ("date", "a date that does not exist", "2001-02-30"), ("map", "a sequence as a mapping", "!!map [1]"),
                              ("seq", "a mapping as a sequence", "!!seq {b: 1}"), ("set", "a sequence as a set", "!!set [1]"),
                              ("omap", "a mapping as an ordered one", "!!omap {b: 1}"), ("str", "a sequence as a string", "!!str [1]"),
                              ("surrogates", "a pair of surrogates for one character", "\"\\ud83d\\ude00\"")]:
        m.bad("yaml", "tag-" + name, about, m.tree(f"a: {node}\n"), {"line": 5})
    m.plain("yaml", "directive", "a reserved directive, which readers ignore",
            line + f"%YAML 1.1\n%FOO bar\n%TAG ! {m.prefix}\n--- !{m.root}\na: 1\n...\n".encode(), {"a": 1})
    m.plain("no-tree", "header", "a file of a header line alone", line, None)
    m.plain("utf8", "wide", "text beyond ASCII", m.tree("a: \u00e9\u4e2d\U0001f30d\n"), {"a": "\u00e9\u4e2d\U0001f30d"})
    m.bad("utf8", "latin1", "a byte that is not UTF-8", m.tree("a: b\n").replace(b"a: b", b"a: \xe9"), b"\xe9")
    m.bad("utf8", "mark", "a byte order mark before the tree", line + b"\xef\xbb\xbf" + whole[len(line):], {"byte": len(line)})
    m.good("newlines", "dos", "lines end with \\r\\n", m.file().replace(b"\n", b"\r\n") + block)
    m.bad("newlines", "mac", "a carriage return alone within the tree", m.tree("a: 1\nb: 2\n").replace(b"a: 1\n", b"a: 1\r"), b"\rb")
    m.bad("yaml-1.1", "later", "the tree says that it is YAML 1.2", m.tree("a: 1\n", begin="%YAML 1.2\n"), {"line": 2})
    m.plain("yaml-1.1", "octal", "YAML 1.1: yes is true, 010 is octal", m.tree("a: yes\nb: 010\n"), {"a": True, "b": 8})
    m.bad("yaml-line", "missing", "no line %YAML 1.1", m.tree("a: 1\n", begin=""), {"line": 2})
    m.bad("yaml-line", "second", "%TAG before %YAML", line + f"%TAG ! {m.prefix}\n%YAML 1.1\n--- !{m.root}\na: 1\n...\n".encode(),
          {"line": 2})
    if not m.has("comments"):
        m.bad("yaml-line", "comment", "a comment before the tree", line + b"# hello\n" + whole[len(line):], {"byte": len(line)})
    m.bad("document", "start", "no line ---", line + b"%YAML 1.1\na: 1\n...\n", {"line": 2})
    m.bad("document", "end", "no line ...", m.tree("a: 1\n")[:-4], {})
    m.bad("document", "second", "a second document before the end marker", m.tree("a: 1\n---\nb: 2\n"), {"line": 6})
    m.plain("content", "between", "the content stands between the two markers", m.tree("a: 1\n") + b"b: 2\n", {"a": 1})
    m.good("any-size", "edited", "a tree that was made longer by hand", m.tree(f"data: {m.nd(0)}\nmore: {'x' * 300}\n") + block,
           tree={"data": [1, 2, 3], "more": "x" * 300})
    m.plain("end", "quoted", "three full stops in a text are no end marker", m.tree("a: \"x\n  ...\n  y\"\nb: 1\n"), {"a": "x ... y", "b": 1})
    m.bad("end", "blanks", "blanks behind the end marker", m.tree("a: 1\n")[:-1] + b"  \n", b"...")
    m.good("room", "some", "unused space behind the tree", m.file() + b" " * 100 + block)
    m.good("align", "512", "the first block begins at a multiple of 512 bytes", m.file().ljust(512) + block)
    m.good("padding", "anything", "unused space of any content", m.file() + b"\0\xff...\nold text BLK " + block)
    mark = size + 2
    m.bad("padding", "mark", "the block mark in the unused space", m.file() + b"  " + m.mark + b"\0\0\xff\xff" * 20 + block, {"byte": mark})
    m.good("spaces", "spaces", "unused space of spaces", m.file() + b" " * 40 + block)


def blocks(m):
    """Blocks and their headers."""
    line = m.head.encode() + b"\n"
    tree = m.file()
    start = len(tree)
    m.plain("some-blocks", "none", "no blocks", m.tree("a: 1\n"), {"a": 1})
    m.good("some-blocks", "empty", "an empty block and another", m.file(1) + m.block(b"") + m.block())
    m.good("contiguous", "part", "an array that begins within a block", m.file(0, more=", offset: 2") + m.block(b"\7\7" + DATA))
    short = m.file(0, shape="[4]") + m.block()
    m.bad("ndarray", "short", "an array that is larger than its block", short, {"path": "/data"})
    m.bad("ndarray", "absent", "an array of a block that is not there", m.file(3) + m.block(), {"path": "/data"},
          **({"deviates": AT[m.document]["source-positive"]} if m.has("source-positive") else {}))
    m.good("ndarray", "strides", "an array with strides", m.file(0, shape="[2, 2]", more=", strides: [2, 4]") + m.block(struct.pack("<4h", 1, 3, 2, 4)),
           [[1, 2], [3, 4]])
    m.good("any-room", "much", "10,000 bytes of unused space", m.file() + b" " * 10000 + m.block())
    m.good("search", "first", "the block is found by its mark, not by its place", m.file() + b"\n" * 77 + m.block())
    m.plain("at-once", "block", "no tree: the block follows the header", line + m.block(), None)
    m.bad("at-once", "room", "no tree, and unused space before the block", line + b"   \n" + m.block(), {"byte": len(line)})
    other = {"finf-0.1": D3 + struct.pack(">HIQQQ16s", 44, 0, 6, 6, 0, b""), "asdf-0.1-dev": D3 + struct.pack(">HQQQ16s", 40, 6, 6, 0, b""),
             "asdf-0.1": D3 + struct.pack(">HI4sQQQ8s", 40, 0, b"", 6, 6, 6, b""), "asdf-1.x": D3 + struct.pack(">HQQQ16s", 40, 6, 6, 0, b"")}[m.document]
    other = m.mark + other[4:]
    if m.document == "asdf-1.x":
        m.bad("least", "fields", "a block header with the 40 bytes of an older document", tree + other + DATA, {"byte": start, "block": 0})
        m.good("fields", "all", "a block header with all fields", tree + m.block())
    else:
        m.bad("fields", "other", "a block header with the fields of another year", tree + other + DATA, {"byte": start, "block": 0})
        m.bad("least", "small", "a header_size that is too small", tree + m.block(header=8), {"byte": start, "block": 0})
    wrong = D3 if m.mark == M89 else M89
    m.good("mark", "own", "the mark of the document", tree + m.block())
    m.bad("mark", "other", "the mark of the other documents", tree + m.block(mark=wrong), {"byte": start, "block": 0})
    m.good("header-size", "least", "the header has the size of its fields", tree + m.block())
    m.bad("header-size", "beyond", "a header that reaches beyond the end of the file", tree + m.block(allocated=0, used=0, size=0, header=60000)[:80],
          {"byte": start, "block": 0}, conforms=False)
    m.good("enlarged", "64", "a header_size of 64", tree + m.block(header=64))
    m.good("obey", "200", "a header_size of 200, and another block behind it", m.file(1) + m.block(OTHER, header=200) + m.block(header=77))
    m.good("least", "page", "the content begins at a multiple of 512 bytes", tree + m.block(header=512 - (start + 6) % 512))
    m.good("allocated", "more", "more is allocated than used", m.file(1) + m.block(OTHER, room=b"\xee" * 10) + m.block())
    m.bad("allocated", "beyond", "more is allocated than the file has", tree + m.block(allocated=1000), {"byte": start, "block": 0})
    m.good("used-size", "part", "fewer bytes are used than allocated", tree + m.block(room=b"\xee" * 4))
    m.bad("used", "beyond", "more is used than allocated", tree + m.block(DATA, used=6, allocated=4, room=b"\0\0") + b"", {"byte": start, "block": 0},
          **({"also": [{"section": AT[m.document]["parts"][0], "sentence": 1, "where": {}}]}))
    m.good("used", "exact", "as many bytes as used are data, the others unused", tree + m.block(room=bytes(100)))
    m.good("unused", "junk", "unused bytes that look like a block", tree + m.block(room=m.block(OTHER)))
    m.good("no-sum", "zero", "no checksum", tree + m.block(md5=bytes(16 if m.size == 48 else 8)))
    if m.size == 48:
        m.good("sum", "used", "the checksum of the used bytes", tree + m.block(room=b"unused"))
        m.bad("sum", "wrong", "a checksum of other bytes", tree + m.block(md5=b"\1" * 16), {"byte": start, "block": 0})
        packed = zlib.compress(DATA * 9)
        m.bad("sum", "decoded", "the checksum of the decoded bytes", m.file(0, shape="[27]") + m.block(packed, size=54, comp=b"zlib", md5=hashlib.md5(DATA * 9).digest()),
              {"block": 0}, tree={"data": [1, 2, 3] * 9})
    else:
        m.add("sum", "eight", "eight bytes of a checksum: how is left open", tree + m.block(md5=b"\1" * 8), conforms=None, tree={"data": [1, 2, 3]})
    if m.has("encoding"):
        m.good("encoding", "zero", "no encoding", tree + m.block())
        m.add("encoding", "code", "an encoding, whose meaning is left open", tree + m.block(comp=b"q"), conforms=None)
    if m.has("plain-size"):
        m.bad("plain-size", "other", "data of six bytes that should decode to seven, though nothing encodes them", tree + m.block(size=7),
              {"byte": start, "block": 0})
        m.good("plain-size", "same", "the decoded size is the used size", tree + m.block())
    m.good("flags-field", "zero", "no flags", tree + m.block())
    m.good("size-field", "decoded", "the size of the decoded data", tree + m.block())
    if m.has("flags"):
        m.bad("flags", "unknown", "a flag that is not defined", tree + m.block(flags=0x80), {"byte": start, "block": 0}, tree={"data": [1, 2, 3]})
        stream = m.file(-1, shape="['*', 3]")
        m.good("streamed", "rows", "a streamed block of two rows", stream + m.block(DATA + OTHER, flags=1), [[1, 2, 3], [9, 9, 9]])
        m.good("streamed-sizes", "junk", "the sizes of a streamed block are ignored", stream + m.block(DATA, flags=1, used=1 << 40, allocated=7, size=3), [[1, 2, 3]])
        m.good("streamed-last", "second", "a block and a streamed one", stream + m.block(OTHER) + m.block(DATA, flags=1), [[1, 2, 3]])


def later(m):
    """What 1.x adds to blocks, and its index."""
    tree = m.file(0, shape="[27]")
    many, data = [1, 2, 3] * 9, DATA * 9
    start = len(tree)
    m.good("no-compression", "zeros", "a compression of four zeros", m.file() + m.block())
    m.good("codecs", "both", "zlib and bzp2 in one file",
           m.tree(f"data: {m.nd(0, '[27]')}\nmore: {m.nd(1, '[27]')}\n") + m.block(zlib.compress(data), size=54, comp=b"zlib")
           + m.block(bz2.compress(data), size=54, comp=b"bzp2"), many, tree={"data": many, "more": many},
           arrays={"/data": {"datatype": "int16", "shape": [27]}, "/more": {"datatype": "int16", "shape": [27]}})
    m.bad("codecs", "other", "a compression that is not listed", tree + m.block(b"whatever", size=54, comp=b"what"), {"byte": start, "block": 0})
    m.good("zlib", "right", "a zlib stream", tree + m.block(zlib.compress(data), size=54, comp=b"zlib"), many)
    m.bad("zlib", "broken", "a zlib stream that is cut off", tree + m.block(zlib.compress(data)[:-6], size=54, comp=b"zlib"), {"byte": start, "block": 0})
    m.good("bzp2", "right", "a bzip2 stream", tree + m.block(bz2.compress(data), size=54, comp=b"bzp2"), many)
    m.bad("bzp2", "broken", "no bzip2 stream", tree + m.block(b"not bzip2 at all", size=54, comp=b"bzp2"), {"byte": start, "block": 0})
    m.good("decoded", "right", "data_size is the decoded size", tree + m.block(zlib.compress(data), size=54, comp=b"zlib"), many)
    m.bad("decoded", "wrong", "data_size is more than the decoded size", tree + m.block(zlib.compress(data), size=60, comp=b"zlib"), {"byte": start, "block": 0})
    two = m.file(1) + m.block(OTHER)
    second = len(two)
    first = len(m.file(1))
    two += m.block()
    end = len(two)
    m.good("between", "space", "unused space between two blocks", m.file(1) + m.block(OTHER) + b"    " + m.block())
    m.good("index-part", "right", "a block index", two + index(first, second))
    m.good("index-optional", "without", "no block index", two)
    m.good("index-form", "list", "a block index with one offset a line", two + index(0, 1).split(b"---")[0] + f"---\n- {first}\n- {second}\n...\n".encode())
    m.good("index-example", "flow", "a block index as in the example", two + index(first, second))
    right = {"tree": {"data": [1, 2, 3]}}
    m.bad("index-wrong", "obsolete", "an obsolete block index, which readers ignore", two + index(first + 9, second + 9), {"byte": end + 18}, deviates=(INDEX, 12), **right)
    m.bad("index-place", "gap", "bytes between the last block and the index", two + b"    " + index(first, second), {"byte": end}, **right)
    streamed = m.file(-1, shape="['*', 1]") + m.block(DATA, flags=1)
    m.bad("index-streamed", "both", "a block index behind a streamed block", streamed + index(len(m.file(-1, shape="['*', 1]"))), b"#ASDF BLOCK INDEX")
    alone = m.tree("a: 1\n")
    m.bad("index-alone", "none", "a block index without blocks", alone + index(len(alone)), {"byte": len(alone)}, tree={"a": 1})
    m.bad("index-header", "lower", "the header of the index in lower case", two + index(first, second, head="#asdf block index\n"), {"byte": end}, **right)
    m.bad("index-header", "more", "the header of the index goes on", two + index(first, second, head="#ASDF BLOCK INDEX 2\n"), {"byte": end + 17}, **right)
    m.good("index-line", "dos", "the header of the index ends with \\r\\n", two + index(first, second, head="#ASDF BLOCK INDEX\r\n"))
    m.bad("index-line", "mac", "the header of the index ends with \\r", two + index(first, second, head="#ASDF BLOCK INDEX\r"), {"byte": end + 17}, **right)
    m.good("index-yaml", "tag", "an offset with a tag, and one with an anchor", two + index(f"!!int \"{first}\"", f"&x {second}"))
    m.bad("index-yaml", "nested", "a list in the list", two + index(f"[{first}, {second}]"), {"byte": end + 18}, **right)
    m.bad("index-yaml", "text", "the index lists a word", two + index(first, "two"), {"byte": end + 18}, **right)
    m.bad("index-yaml", "version", "the index does not say %YAML 1.1", two + index(first, second, begin=""), {"byte": end + 18}, **right)
    m.bad("index-yaml", "end", "the index has no end marker", two + index(first, second, end=""), {"byte": end + 18}, **right)
    m.bad("index-yaml", "few", "the index lists the first block only", two + index(first), {"byte": end + 18}, **right)
    m.bad("index-yaml", "other", "the index has another offset", two + index(first, second + 3), {"byte": end + 18}, **right)
    m.bad("index-order", "turned", "the offsets decrease", two + index(second, first), {"byte": end + 18}, **right)
    m.bad("index-order", "close", "the offsets are too close for a block header", two + index(first, first + 10), {"byte": end + 18}, **right)
    m.good("compression-field", "name", "the name of a compression", tree + m.block(zlib.compress(data), size=54, comp=b"zlib"), many)
    inside = m.block(index(1, 2) + b"\xff")
    m.good("backward", "inside", "the words of an index within a block", m.file(1) + inside + m.block() + index(first, first + len(inside)))
    m.bad("advice-first", "edited", "the tree was edited, so that no offset is right", two + index(first - 20, second - 20), {"byte": end + 18}, deviates=(INDEX, 12), **right)
    m.bad("advice-unused", "first", "the first offset is wrong, the second right", two + index(first - 20, second), {"byte": end + 18}, deviates=(INDEX, 12), **right)
    m.bad("advice-last", "last", "the last offset leads to no block", two + index(first, second + 60), {"byte": end + 18}, deviates=(INDEX, 12), **right)
    m.bad("advice-end", "short", "the index ends before the last block", two + m.block(OTHER) + index(first, second), {"byte": end + len(m.block()) + 18},
          deviates=(INDEX, 12), **right)
    three = m.file(1) + m.block(OTHER) + m.block() + m.block(OTHER)
    m.bad("advice-mark", "middle", "an offset in the middle leads to no block", three + index(first, second + 1, end), {"byte": len(three) + 18},
          deviates=(INDEX, 12), **right)
    m.good("index-zeros", "zeros", "zeros behind the block index", two + index(first, second) + bytes(100))
    m.bad("index-zeros", "text", "text behind the block index", two + index(first, second) + b"hello", b"hello", **right)


def exploded(m):
    """The exploded form: the tree in one file, each block in another."""
    part = m.head.encode() + b"\n" + m.block()
    name = f"part-{m.document}.{m.ext}"
    m.good("exploded", "tree", "the file of the tree, whose array lies in another file", m.file(name), beside={name: part})
    m.plain("exploded-part", "block", "a file with a single block", part, None)
    m.good("exploded-uri", "uri", "the source is a relative URI with an escaped character", m.file(name.replace(".", "%2E", 1)), beside={name: part})


    m.plain("exploded-same", "room", "the block in its file, without unused space", part, None)


def chains(m):
    """Encoding chains of 0.1.0."""
    def encoded(chain, blob, size=6, flags=2, **how):
        return m.block(f"--- {chain}\n...\n".encode() + blob, flags=flags, size=size, **how)
    tree = m.file()
    at = {"block": 0}
    packed = zlib.compress(DATA)
    plain = tree + encoded("[zlib]", packed)
    for key, about in [("encoded", "an encoded block"), ("encoded-size", "memory_size is the size of the decoded data"), ("decoded", "memory_size of an encoded block"),
                       ("chain-yaml", "the data begin with the YAML of the chain"), ("chain-blob", "the encoded bytes follow the YAML"),
                       ("chain-list", "the chain is a list"), ("chain-zlib", "the first example"), ("chain-null", "the null encoding is implied"), ("chain-kinds", "an encoding of bytes"), ("zlib-stream", "a zlib stream")]:
        m.good(key, "zlib", about, plain)
    m.good("chain-default", "plain", "a block that is not encoded", tree + m.block())
    m.good("chain-used", "room", "used_size covers YAML and data, and unused space follows", tree + encoded("[zlib]", packed, room=b"unused"))
    m.good("chain-end", "dos", "the YAML of the chain has lines that end with \\r\\n", tree + m.block(b"--- [zlib]\r\n...\r\n" + packed, flags=2, size=6))
    m.bad("decoded", "wrong", "memory_size is more than the decoded size", tree + encoded("[zlib]", packed, size=8), at)
    m.bad("decoded", "huge", "memory_size is more than any stream of these bytes can hold", tree + encoded("[zlib]", packed, size=1 << 30), at)
    m.bad("exclusive", "both", "STREAMED and ENCODED together", m.file(-1, shape="['*']") + encoded("[zlib]", packed, flags=3), at)
    m.bad("chain-yaml", "broken", "the YAML of the chain is broken", tree + encoded("[zlib", packed), at)
    m.bad("chain-end", "missing", "the YAML of the chain has no end marker", tree + m.block(b"--- [zlib]\n" + packed, flags=2, size=6), at)
    m.bad("chain-list", "scalar", "the chain is a name alone", tree + encoded("zlib", packed), at)
    m.bad("chain-entry", "triple", "a step of three things", tree + encoded("[[zlib, {}, {}]]", packed), at)
    m.good("chain-entry", "pair", "a step with an empty dictionary of arguments", tree + encoded("[[zlib, {}]]", packed))
    m.add("chain-other", "unknown", "an encoding of somebody else, which nobody can decode", tree + encoded("[rice]", b"?"), conforms=None)
    m.add("chain-report", "unknown", "an encoding that readers report", tree + encoded("[[rice, {level: 1}]]", b"?"), conforms=None)
    m.add("chain-others", "rest", "the other block stays readable",
          m.tree(f"data: {m.nd(0)}\nother: {m.nd(1)}\n") + encoded("[rice]", b"?") + m.block(OTHER), conforms=None)
    image = struct.pack("<6h", 1, 2, 3, 4, 5, 6)
    # Tiles of 2 x 2, the second of which is half padding.
    tiles = struct.pack("<8h", 1, 2, 4, 5, 3, 0, 6, 0)
    arguments = "{shape: [2, 2], original_shape: [2, 3], item_size: 2}"
    six = m.file(0, shape="[2, 3]")
    values = [[1, 2, 3], [4, 5, 6]]
    m.good("tile", "edge", "tiles of 2 x 2 of an array of 2 x 3", six + encoded(f"[[tile, {arguments}]]", tiles, 12), values)
    m.good("chain-tile", "zlib", "the second example: tile, then zlib", six + encoded(f"[[tile, {arguments}], zlib]", zlib.compress(tiles), 12), values)
    m.good("tile-any", "wide", "tiles of 1 x 3", six + encoded("[[tile, {shape: [1, 3], original_shape: [2, 3], item_size: 2}]]", image, 12), values)
    m.good("tile-edge", "padded", "edge tiles are padded", six + encoded(f"[[tile, {arguments}]]", tiles, 12), values)
    m.good("tile-discard", "junk", "the padding may hold anything", six + encoded(f"[[tile, {arguments}]]", struct.pack("<8h", 1, 2, 4, 5, 3, 7, 6, 8), 12), values)
    m.bad("chain-order", "turned", "tile behind zlib", six + encoded(f"[zlib, [tile, {arguments}]]", zlib.compress(tiles), 12), at)
    m.bad("tile-arguments", "few", "tile without original_shape", six + encoded("[[tile, {shape: [2, 2], item_size: 2}]]", tiles, 12), at)
    m.bad("tile-shape", "rank", "a tile of one dimension in an array of two", six + encoded("[[tile, {shape: [2], original_shape: [2, 3], item_size: 2}]]", tiles, 12), at)
    m.bad("tile-original", "other", "the original shape is not that of the array", six + encoded("[[tile, {shape: [2, 2], original_shape: [3, 3], item_size: 2}]]", tiles * 2, 12), at)
    m.bad("tile-item", "other", "the item size is not that of the array", six + encoded("[[tile, {shape: [2, 2], original_shape: [2, 3], item_size: 4}]]", tiles * 2, 12), at)
    floats = m.tree(f"data: {m.nd(0, '[6]', 'float32')}\n")
    # Values -4 to 1 in three bits each: decoded = encoded * 0.5 + 10.
    numbers = [-4, -3, 2, -1, 0, 1]
    bits = "".join(f"{number & 7:03b}" for number in numbers).ljust(24, "0")
    chunk = struct.pack(">BddQ", 3, 10.0, 0.5, 6) + int(bits, 2).to_bytes(3, "big")
    quanta = "{dtype: 32, original_shape: [6]}"
    decoded = [number * 0.5 + 10 for number in numbers]
    good = {"values": decoded, "datatype": "float32"}
    for key, about in [("quantize", "quantized values"), ("quantize-chunks", "one chunk"), ("quantize-packed", "values of three bits, packed"),
                       ("quantize-offset", "the offset"), ("quantize-scale", "the scale"), ("quantize-count", "the number of values"),
                       ("quantize-rest", "18 bits, padded to whole bytes"), ("quantize-signed", "values below 0"), ("quantize-formula", "decoded is encoded * scale + offset")]:
        m.good(key, "three-bits", about, floats + encoded(f"[[quantize, {quanta}]]", chunk, 24), **good)
    m.good("chain-quantize", "zlib", "the third example, without tiles", floats + encoded(f"[[quantize, {quanta}], zlib]", zlib.compress(chunk), 24), **good)
    m.good("quantize-zero", "bits", "values of no bits are the offset", floats + encoded(f"[[quantize, {quanta}]]", struct.pack(">BddQ", 0, 7.0, 1.0, 6), 24),
           values=[7.0] * 6, datatype="float32")
    halves = [struct.pack(">BddQ", 8, 10.0, 0.5, 3) + struct.pack("3b", *part) for part in (numbers[:3], numbers[3:])]
    m.good("quantize-more", "two", "two chunks", floats + encoded(f"[[quantize, {quanta}]]", b"".join(halves), 24), **good)
    m.bad("quantize-arguments", "few", "quantize without original_shape", floats + encoded("[[quantize, {dtype: 32}]]", chunk, 24), at)
    m.bad("quantize-bits", "other", "64 bits, but the array has 32", floats + encoded("[[quantize, {dtype: 64, original_shape: [6]}]]", chunk, 24), at)
    m.bad("quantize-bits", "sixteen", "16 bits", floats + encoded("[[quantize, {dtype: 16, original_shape: [6]}]]", chunk, 24), at)
    m.bad("quantize-shape", "small", "the original shape has fewer values than the array", floats + encoded("[[quantize, {dtype: 32, original_shape: [5]}]]", chunk, 24), at)
    m.bad("quantize-chunks", "cut", "a chunk that is cut off", floats + encoded(f"[[quantize, {quanta}]]", chunk[:-2], 24), at)
    m.bad("zlib-stream", "broken", "a zlib stream that is cut off", tree + encoded("[zlib]", packed[:-6]), at)
    m.bad("zlib-arguments", "level", "zlib with an argument", tree + encoded("[[zlib, {level: 9}]]", packed), at)


def content(m):
    """The tree as data."""
    tagged = m.tree("a: 1\n")
    m.plain("root", "own", "the tag of the root", tagged, {"a": 1})
    m.bad("root", "none", "a root without a tag", m.tree("a: 1\n", tag=""), {"path": ""}, tree={"a": 1})
    m.bad("root", "other", "a root with the tag of an array", m.tree("a: 1\n", tag="core/software-1.0.0" if m.size == 48 else "core/complex"),
          {"path": ""}, **({} if m.size == 48 else {"also": [{"section": "4.1.2", "sentence": 2, "where": {}}]}))
    whole = f"{m.head}\n%YAML 1.1\n--- !<{m.prefix}{m.root}>\na: 1\n...\n".encode()
    m.plain("verbatim-tags", "whole", "the tag is written out", whole, {"a": 1})
    m.plain("unknown-tag", "kept", "a tag that nobody knows", m.tree("a: !<tag:example.org:thing-1.0> {b: 1}\n"), {"a": {"b": 1}})
    local = f"data: {m.nd(0)}\n"
    two = {"/data": {"datatype": "int16", "shape": [3]}}
    slash = "/" if m.size == 48 else ""
    def linked(key, name, about, body, tree, **expected):
        m.add(key, name, about, m.tree(body), tree=tree, arrays={}, **expected)
    linked("ref", "same", "a reference within the tree", f"a: {{$ref: '#{slash}b'}}\nb: {{c: 5}}\n", {"a": {"c": 5}, "b": {"c": 5}})
    linked("ref-content", "mapping", "the reference stands for what it leads to", f"a: [{{$ref: '#{slash}b'}}]\nb: [1, 2]\n", {"a": [[1, 2]], "b": [1, 2]})
    linked("ref-forward", "later", "a reference to what comes later", f"a: {{$ref: '#{slash}z/1'}}\nz: [1, {{x: 2}}]\n", {"a": {"x": 2}, "z": [1, {"x": 2}]})
    linked("ref-fragment", "index", "a fragment with an index", f"b: [{{c: 1}}, {{c: 2}}]\na: {{$ref: '#{slash}b/1'}}\n", {"b": [{"c": 1}, {"c": 2}], "a": {"c": 2}})
    other = f"linked-{m.document}.{m.ext}"
    beside = {other: m.tree("x: [1, 2]\n")}
    linked("ref-top", "file", "a reference to another file as a whole", f"a: {{$ref: '{other}'}}\n", {"a": {"x": [1, 2]}}, beside=beside)
    linked("ref-escape", "both", "keys with ~ and /", f"b: {{x~y/z: [5]}}\na: {{$ref: '#{slash}b/x~0y~1z'}}\n", {"b": {"x~y/z": [5]}, "a": [5]})
    linked("anchors", "alias", "an anchor and an alias", "a: &x [1, 2]\nb: *x\n", {"a": [1, 2], "b": [1, 2]})
    place = {"path": "/a"}
    m.bad("ref-alone", "more", "a reference with another key", m.tree(f"a: {{$ref: '#{slash}b', more: 1}}\nb: [1]\n"), place)
    m.bad("ref-text", "number", "the value of $ref is a number", m.tree("a: {$ref: 5}\n"), place)
    if m.size == 48:
        m.bad("ref-fragment", "slash", "a fragment without a slash", m.tree("a: {$ref: '#b'}\nb: [1]\n"), place)
        m.plain("keys", "kinds", "keys that are text, integers and truth values", m.tree("a: 1\n2: b\ntrue: c\n"), {"a": 1, "2": "b", "true": "c"})
        m.bad("keys", "float", "a key that is a float", m.tree("1.5: a\n"), {"line": 5})
        m.bad("keys", "tagged", "a key with a tag", m.tree("!core/complex-1.0.0 1j: a\n"), {"line": 5})
        m.bad("keys", "sequence", "a key that is a sequence", m.tree("? [1, 2]\n: a\n"), {"line": 5})
        m.plain("integers", "least", "the least and the largest integer", m.tree("a: -9223372036854775808\nb: 9223372036854775807\n"),
                {"a": -9223372036854775808, "b": 9223372036854775807})
        m.bad("integers", "large", "an integer of 65 bits", m.tree("a: 18446744073709551616\n"), {"line": 5})
        m.plain("comment-key", "kept", "the key // holds a comment", m.tree("a: {//: why, b: 1}\n"), {"a": {"//": "why", "b": 1}})
        m.plain("null", "kept", "a key whose value is null", m.head.encode() + b"\n#ASDF_STANDARD 1.6.0\n" + m.text("a: null\nb: 1\n").encode(), {"a": None, "b": 1})
    m.bad("ref-target", "absent", "a reference to a key that is not there", m.tree(f"a: {{$ref: '#{slash}nothing'}}\nb: [1]\n"), place)
    m.bad("ref-escape", "bare", "a ~ that is not escaped", m.tree(f"b: {{x~y: [5]}}\na: {{$ref: '#{slash}b/x~y'}}\n"), place)
    if m.document != "asdf-0.1-dev":
        return
    m.good("data", "array", "data is an array", m.tree(local) + m.block())
    m.bad("schema-root", "list", "a root that is a list", m.tree("- 1\n"), {"path": ""})
    m.bad("data", "text", "data is text", m.tree("data: text\n"), {"path": "/data"}, deviates=("4.1.3", 1))
    m.plain("complex", "forms", "the three examples", m.tree("a: !core/complex 1-1j\nb: !core/complex 1J\nc: !core/complex -1\n"),
            {"a": "1-1j", "b": "1J", "c": "-1"})
    m.bad("complex", "word", "a complex number that is a word", m.tree("a: !core/complex hello\n"), place)
    m.add("ndarray-inline", "nested", "nested lists are an array of int64", m.tree("data: !core/ndarray [[1, 0], [0, 1]]\n"),
          tree={"data": [[1, 0], [0, 1]]}, arrays={"/data": {"datatype": "int64", "shape": [2, 2]}})
    m.bad("ndarray-form", "datatype", "a dtype that there is not", m.tree("a: !core/ndarray {source: 0, dtype: int7, shape: [3]}\n") + m.block(), {"path": "/a/dtype"},
          also=[{"section": "4.1.3", "sentence": 8, "where": {"path": "/a"}}])
    m.good("ascii", "text", "texts of three characters", m.file(0, shape="[2]", datatype="[ascii, 3]") + m.block(b"abcxyz"), ["abc", "xyz"], ["ascii", 3])
    m.bad("ascii", "high", "a byte above 127 in a text", m.file(0, shape="[2]", datatype="[ascii, 3]") + m.block(b"abcx\xe9z"), {"path": "/data"})
    m.good("ucs4", "text", "texts of UCS-4", m.file(0, shape="[2]", datatype="[ucs4, 1]") + m.block("\u00e9\u4e2d".encode("utf-32-le")), ["\u00e9", "\u4e2d"], ["ucs4", 1])
    m.bad("ucs4", "high", "a number above the last code point", m.file(0, shape="[2]", datatype="[ucs4, 1]") + m.block(b"\x41\0\0\0\0\0\x11\0"), {"path": "/data"})
    m.plain("fits", "primary", "a primary header", m.tree("fits: !fits/fits\n- header:\n  - [SIMPLE, true]\n"), {"fits": [{"header": [["SIMPLE", True]]}]})
    m.bad("fits", "text", "a fits that is text", m.tree("a: !fits/fits text\n"), place)
    m.plain("unit", "units", "a unit", m.tree("a: !unit/unit m s-1\n"), {"a": "m s-1"})
    m.bad("unit", "number", "a unit that is a number", m.tree("a: !unit/unit [1]\n"), place)
    m.plain("defunit", "new", "a new unit", m.tree("a: !unit/defunit {name: foo, unit: null}\n"), {"a": {"name": "foo", "unit": None}})
    m.bad("defunit", "nameless", "a new unit without a name", m.tree("a: !unit/defunit {unit: null}\n"), place)
    m.bad("reserved", "new", "a tag of one's own under the prefix of the standard", m.tree("a: !core/thing {b: 1}\n"), place, tree={"a": {"b": 1}})
    m.plain("own-tags", "other", "a tag under a prefix of one's own", m.tree("a: !<tag:science.edu:F00/0.1.0/metadata> {b: 1}\n"), {"a": {"b": 1}})


def arrays(m):
    """What 0.1.0dev says of arrays."""
    def typed(key, name, values, datatype, pack, shown=None):
        m.good(key, name, f"an array of {name}", m.file(0, shape=f"[{len(values)}]", datatype=datatype) + m.block(struct.pack(f"<{pack}", *values)),
               values if shown is None else shown, datatype)
    for bits, letter in [(8, "b"), (16, "h"), (32, "i"), (64, "q")]:
        typed("integers-of", f"int{bits}", [-1, 2], f"int{bits}", f"2{letter}")
        typed("unsigned-of", f"uint{bits}", [2 ** bits - 1, 2], f"uint{bits}", f"2{letter.upper()}")
    typed("float32", "float32", [1.5, -2.5], "float32", "2f")
    typed("float64", "float64", [1.5, -2.5], "float64", "2d")
    for key, letter in [("complex64", "f"), ("complex128", "d")]:
        m.good(key, "one", f"an array of {key}", m.file(0, shape="[1]", datatype=key) + m.block(struct.pack(f"<2{letter}", 1.5, -2.5)), ["1.5-2.5j"], key)
    m.good("ucs4-bytes", "eight", "two characters are eight bytes", m.file(0, shape="[1]", datatype="[ucs4, 2]") + m.block("ab".encode("utf-32-le")), ["ab"], ["ucs4", 2])
    typed("one-type", "bool8", [True, False], "bool8", "2?")
    fields = "[{name: a, dtype: int16, byteorder: little}, {name: b, dtype: uint8}]"
    m.good("fields-of", "two", "two fields with names", m.file(0, shape="[2]", datatype=fields) + m.block(struct.pack("<hBhB", -1, 2, -3, 4)), tree={"data": [[-1, 2], [-3, 4]]},
           arrays={"/data": {"datatype": [{"name": "a", "datatype": "int16"}, {"name": "b", "datatype": "uint8"}], "shape": [2]}})
    def inline(key, name, about, text, values, datatype, shape):
        m.add(key, name, about, m.tree(f"data: !core/ndarray {text}\n"), tree={"data": values}, arrays={"/data": {"datatype": datatype, "shape": shape}})
    inline("inline-text", "list", "data in the tree", "[1, 2]", [1, 2], "int64", [2])
    inline("inline-lists", "nested", "nested lists", "[[1, 2, 3], [4, 5, 6]]", [[1, 2, 3], [4, 5, 6]], "int64", [2, 3])
    inline("infer-text", "mixed", "text and a number: as wide as the longest", "[1, abc]", ["1", "abc"], ["ucs4", 3], [2])
    inline("infer-complex", "mixed", "a complex number and an integer", "[1, !core/complex 2-1j]", ["1+0j", "2-1j"], "complex128", [2])
    inline("infer-float", "mixed", "a number with a point and an integer", "[1, 2.5]", [1.0, 2.5], "float64", [2])
    inline("infer-integer", "mixed", "an integer and a truth value", "[2, true]", [2, 1], "int64", [2])
    inline("infer-bool", "true", "truth values", "[true, false]", [True, False], "bool8", [2])
    m.good("source-positive", "second", "the block of number 1", m.file(1) + m.block(OTHER) + m.block())
    m.bad("source-positive", "absent", "a block that is not there", m.file(2) + m.block(), {"path": "/data"})
    m.good("source-negative", "second", "the last block but one", m.file(-2) + m.block() + m.block(OTHER))
    m.bad("source-negative", "absent", "the last block but two of two", m.file(-3) + m.block() + m.block(OTHER), {"path": "/data"})
    m.good("source-last", "last", "the last block", m.file(-1) + m.block(OTHER) + m.block())
    part = m.head.encode() + b"\n"
    m.good("source-uri", "file", "the block of another file", m.file("block.asdf"), beside={"block.asdf": part + m.block()})
    m.bad("source-uri", "empty", "another file that has no block", m.file("empty.asdf"), {"path": "/data"}, beside={"empty.asdf": part})
    m.bad("source-uri", "blank", "another file whose name is written with a blank", m.file("my block.asdf"), {"path": "/data"}, beside={"my block.asdf": part + m.block()})
    m.good("source-uri", "percent", "another file whose name is written with %20", m.file("my%20block.asdf"), beside={"my block.asdf": part + m.block()})
    m.good("source-relative", "here", "a relative URI that begins with ./", m.file("./block.asdf"))
    m.good("source-first", "two", "the first block of a file that has two", m.file("blocks.asdf"), beside={"blocks.asdf": part + m.block() + m.block(OTHER)})
    m.good("inline-data", "key", "inline data with a datatype", m.tree("data: !core/ndarray {data: [1, 2, 3], dtype: int16}\n"))
    m.good("inline-match", "both", "inline data with datatype and shape", m.tree("data: !core/ndarray {data: [1, 2, 3], dtype: int16, shape: [3]}\n"))
    m.bad("inline-match", "shape", "inline data with another shape", m.tree("data: !core/ndarray {data: [1, 2, 3], dtype: int16, shape: [4]}\n"), {"path": "/data"})
    m.bad("inline-match", "type", "inline data that its datatype cannot hold", m.tree("data: !core/ndarray {data: [1, 2, 300], dtype: int8}\n"), {"path": "/data"})
    m.good("open-shape", "rows", "as many rows as the block holds", m.file(0, shape="['*', 3]") + m.block(DATA + OTHER), [[1, 2, 3], [9, 9, 9]])
    m.bad("open-shape", "second", "* as the second entry", m.file(0, shape="[3, '*']") + m.block(), {"path": "/data"})
    m.good("open-stream", "streamed", "rows of a streamed block", m.file(-1, shape="['*']") + m.block(flags=1))
    m.good("strides", "steps", "every other element", m.file(0, shape="[3]", more=", strides: [4]") + m.block(struct.pack("<6h", 1, 0, 2, 0, 3, 0)))
    m.good("strides-absent", "packed", "no strides: elements follow each other", m.file(0, shape="[3, 1]") + m.block(), [[1], [2], [3]])
    m.bad("strides-length", "few", "one stride for two dimensions", m.file(0, shape="[3, 1]", more=", strides: [2]") + m.block(), {"path": "/data"})
    m.good("mask-number", "two", "a number that stands for what is missing", m.file(0, more=", mask: 2") + m.block(), [1, None, 3])
    m.good("mask-array", "integers", "a mask of integers", m.file(0, more=", mask: !core/ndarray [0, 5, 0]") + m.block(), [1, None, 3])
    m.bad("mask-shape", "two", "a mask of two for an array of three", m.file(0, more=", mask: !core/ndarray [0, 1]") + m.block(), {"path": "/data"})
    m.good("example-view", "tile", "a view of a tile of an image", m.file(0, shape="[2, 2]", more=", strides: [8, 2], offset: 10") + m.block(struct.pack("<16h", *range(16))), [[5, 6], [9, 10]])
    m.good("example-fortran", "order", "an array in Fortran order", m.file(0, shape="[2, 2]", more=", strides: [2, 4]") + m.block(struct.pack("<4h", 1, 3, 2, 4)), [[1, 2], [3, 4]])
    m.bad("unit-order", "late", "a unit that is used before it is defined", m.tree("a: !unit/unit foo\nb: !unit/defunit {name: foo, unit: null}\n"), {"path": "/a"})
    m.plain("unit-order", "first", "a unit that is defined before it is used", m.tree("b: !unit/defunit {name: foo, unit: null}\na: !unit/unit foo\n"),
            {"b": {"name": "foo", "unit": None}, "a": "foo"})
    m.plain("unit-null", "base", "a new base unit", m.tree("a: !unit/defunit {name: foo}\n"), {"a": {"name": "foo"}})
    m.bad("unit", "unknown", "a unit that there is not", m.tree("a: !unit/unit furlong\n"), {"path": "/a"})


def cases():
    """Every case of the four documents."""
    for document in DOCUMENTS:
        maker = Maker(document)
        header(maker)
        if maker.has("comments"):
            comments(maker)
        text(maker)
        blocks(maker)
        if maker.has("index-part"):
            later(maker)
        if maker.has("chain-yaml"):
            chains(maker)
        if maker.has("ref"):
            content(maker)
        if maker.has("infer-text"):
            arrays(maker)
        exploded(maker)
        yield from maker.cases
