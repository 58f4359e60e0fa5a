"""Dudley streams and layouts: native files put together byte by byte, and layouts as they are written."""

import re
import struct
import zlib

from .case import Case

GRAMMAR, SIGNATURES, PRIMITIVES, MODEL = "Simplified grammar", "File signatures", "Primitive data types", "Data model"
LITTLE, BIG = b"\x8d<BD\r\n\x1a\n", b"\x8d>BD\r\n\x1a\n"


def native(data, layout, order="<", at=None):
    """A native file: signature, address of the layout, data from byte 16 on, and the layout."""
    at = 16 + len(data) if at is None else at
    return (LITTLE if order == "<" else BIG) + struct.pack(order + "q", at) + data + layout.encode()


class Maker:
    """Collects the cases of one dialect."""

    def __init__(self, document):
        self.document = document
        # `x: i4` is a parameter in the older dialect, so that a file says which it has.
        self.first = "#: dialect=2026\n" if document == "dudley-2026" else ""
        self.cases = []

    def native(self, data, layout, **how):
        """A native file whose layout says its dialect, where that is needed."""
        return native(data, self.first + layout, **how)

    def good(self, section, sentence, name, about, data, layout, tree, arrays, order="<"):
        """A native file that conforms, with the values of its items."""
        # Items of a list have their index in brackets.
        arrays = {re.sub(r"/(\d+)", r"[\1]", path): {"datatype": datatype, "shape": shape} for path, (datatype, shape) in arrays.items()}
        self.cases.append(Case(self.document, section, sentence, name, about, self.native(data, layout, order=order), "bd", tree=tree, arrays=arrays))

    def text(self, section, sentence, name, about, layout):
        """A layout that conforms."""
        layout = layout if isinstance(layout, bytes) else layout.encode()
        self.cases.append(Case(self.document, section, sentence, name, about, layout, "dud"))

    def bad(self, section, sentence, name, about, layout, line=None, column=None, **more):
        """A layout that departs from the sentence at this line and column."""
        layout = layout if isinstance(layout, bytes) else layout.encode()
        where = {"line": line, "column": column} if line else {}
        self.cases.append(Case(self.document, section, sentence, name, about, layout, "dud", where=where, **more))

    def foreign(self, section, sentence, name, about, data, layout, where=None, **more):
        """A file without a signature, and its layout beside it."""
        case = Case(self.document, section, sentence, name, about, data, "dat", **({"where": where} if where else {}), **more)
        case.beside[case.name[:-3] + "dud"] = (self.first + layout).encode()
        case.said["beside"] = sorted(case.beside)
        self.cases.append(case)

    def broken(self, section, sentence, name, about, file, where, **more):
        """A native file that departs from the sentence."""
        self.cases.append(Case(self.document, section, sentence, name, about, file, "bd", where=where, **more))


def dialect_2025():
    """The document of July 2025."""
    m = Maker("dudley-2025")
    i4 = lambda *numbers: struct.pack(f"<{len(numbers)}i", *numbers)

    def g(sentence, name, about, data, layout, tree, arrays, **how):
        m.good(GRAMMAR, sentence, name, about, data, layout, tree, arrays, **how)

    def b(sentence, name, about, layout, line=1, column=1, **more):
        m.bad(GRAMMAR, sentence, name, about, layout, line, column, **more)

    one = {"/x": ("int32", [])}
    m.good(MODEL, 7, "dicts", "named members of the root are arrays, dicts and lists", i4(1, 2, 3), "x = i4\ng/ y = i4 ..\nl = [i4]\n",
           {"x": 1, "g": {"y": 2}, "l": [3]}, {"/x": ("int32", []), "/g/y": ("int32", []), "/l/0": ("int32", [])})
    m.broken(MODEL, 8, "beyond", "an array that ends behind the file", m.native(i4(1), "x = i4[3] @100000\n"), {"path": "/x"})
    g(1, "address", "an array at an address, and one at the next", bytes(8) + i4(7, 8), "x = i4 @24\ny = i4\n", {"x": 7, "y": 8},
      {"/x": ("int32", []), "/y": ("int32", [])})
    g(1, "next", "arrays follow each other at aligned addresses", b"\5\0\0\0" + i4(7), "a = u1\nx = i4\n", {"a": 5, "x": 7}, {"/a": ("uint8", []), "/x": ("int32", [])})
    b(1, "comma", "a comma between declarations of a dict", "x = i4, y = i4\n", 1, 7)
    b(1, "sign", "nothing that may follow a name", "x i4\n", 1, 3)
    b(1, "cut", "the layout ends within a declaration", "x = \n", 2, 1)
    b(1, "filter", "a filter, which came later", "x = i4[3] -> gzip\n", 1, 11)
    b(1, "large", "addresses beyond 64 bits", "x = f8[4000000000, 4000000000]\ny = f8\n", None)
    g(2, "quotes", "a name in quotes", i4(7), "\"a b\" = i4\n", {"a b": 7}, {"/\"a b\"": ("int32", [])})
    b(2, "open", "a quote that is not closed", "\"x = i4\n", 1, 1)
    g(3, "long", "a name of 100 characters", i4(7), "n" * 100 + " = i4\n", {"n" * 100: 7}, {"/" + "n" * 100: ("int32", [])})
    g(3, "unicode", "names of Python and JavaScript without quotes", i4(7, 8, 9), "na\u00efve = i4\n$x_1 = i4\n\u0394t = i4\n", {"na\u00efve": 7, "$x_1": 8, "\u0394t": 9},
      {"/\"na\u00efve\"": ("int32", []), "/\"$x_1\"": ("int32", []), "/\"\u0394t\"": ("int32", [])})
    b(3, "character", "a character that is no sign of the language", "x = i4 ;\n", 1, 8)
    g(4, "align", "an array with an alignment", b"\5" + bytes(15) + i4(7), "a = u1\nx = i4 %16\n", {"a": 5, "x": 7}, {"/a": ("uint8", []), "/x": ("int32", [])})
    b(4, "three", "an alignment of 3", "x = i4 %3\n", 1, 9)
    b(4, "negative", "a negative address", "x = i4 @-4\n", 1, 9)
    m.text(GRAMMAR, 5, "attributes", "attributes, separated by commas and over several lines", "x = i4  ## about x\n#: a=1, b=2.5,\n#: c=\"text\"\n")
    m.text(GRAMMAR, 6, "kinds", "values that are numbers, text and lists", "x = i4\n#: a=1, b=-2.5e3, c='t', d=[1, 2], e=[\"x\", \"y\"]\n")
    m.text(GRAMMAR, 6, "mixed", "a list of several kinds, and one of nothing", "x = i4\n#: a=[1, \"b\", 2.5], b=[], c=3\n")
    b(6, "word", "a value that is a word", "x = i4\n#: a=word\n", 2, 6)
    g(7, "fixed", "a fixed parameter", i4(1, 2, 3), "N : 3\nx = i4[N]\n", {"N": 3, "x": [1, 2, 3]}, {"/x": ("int32", [3])})
    b(7, "twice", "a parameter twice in a dict", "N : 3\nN : 4\n", 2, 1)
    g(8, "around", "a parameter of the dict around", i4(1, 2), "N : 2\ng/ x = i4[N]\n", {"N": 2, "g": {"x": [1, 2]}}, {"/g/x": ("int32", [2])})
    b(8, "absent", "a parameter that is not declared", "x = i4[N]\n", 1, 8)
    b(8, "later", "a parameter that is declared later", "x = i4[N]\nN : 3\n", 1, 8)
    b(8, "other", "a parameter of another dict", "g/ N : 2 ..\nh/ x = i4[N]\n", 2, 11)
    g(9, "zero", "a parameter of 0 and one of -1", i4(1, 2), "A : 0\nB : -1\nx = i4[A]\ny = i4[B, 2]\n", {"A": 0, "B": -1, "x": [], "y": [1, 2]},
      {"/x": ("int32", [0]), "/y": ("int32", [2])})
    m.broken(GRAMMAR, 9, "low", "a stored parameter of -2", m.native(i4(-2), "N : i4\nx = i4[N]\n"), {"line": 1, "column": 1})
    g(10, "stored", "a stored parameter", i4(2, 7, 8), "N : i4\nx = i4[N]\n", {"N": 2, "x": [7, 8]}, {"/x": ("int32", [2])})
    m.broken(GRAMMAR, 10, "short", "a stored parameter behind the end of the file", m.native(b"", "N : i4 @5000\nx = i4[N]\n"), {"line": 1, "column": 1})
    g(11, "types", "parameters of all four types", struct.pack("<bxhiq", 1, 1, 1, 1) + i4(7), "A : i1\nB : i2\nC : i4\nD : i8\nx = i4[A, B, C, D]\n",
      {"A": 1, "B": 1, "C": 1, "D": 1, "x": [[[[7]]]]}, {"/x": ("int32", [1, 1, 1, 1])})
    b(11, "float", "a parameter that is a float", "N : f8\n", 1, 5)
    b(11, "unsigned", "a parameter that is unsigned", "N : u4\n", 1, 5)
    b(11, "shape", "a parameter with a shape", "N : i4[2]\n", 1, 7)
    for sentence, name, about in [(12, "open", "a dict"), (13, "member", "a member of a dict"), (14, "inner", "a dict in a dict"), (15, "deep", "a member of a dict in a dict"),
                                  (16, "parent", "back to the parent"), (17, "again", "a member behind a dict"), (18, "second", "a second dict"),
                                  (19, "its", "a member of the second dict"), (20, "root", "back to the root"), (21, "path", "a path on one line")]:
        g(sentence, name, about, i4(1, 2, 3, 4, 5),
          "group/\n  a = i4\n  group2/\n    b = i4\n  ..\n  c = i4\n  group3/\n    d = i4\n    /\ngroup/group2/e = i4\n",
          {"group": {"a": 1, "group2": {"b": 2, "e": 5}, "c": 3, "group3": {"d": 4}}},
          {f"/group/{path}": ("int32", []) for path in ("a", "group2/b", "c", "group3/d", "group2/e")})
    b(13, "twice", "a name twice in a dict", "x = i4\nx = i4\n", 2, 1)
    b(16, "above", "above the root", "x = i4\n..\n", 2, 1)
    items = {"/l/0": ("int32", []), "/l/1/a": ("int32", []), "/l/2/0": ("int32", [])}
    for sentence, name, about in [(22, "list", "a list"), (23, "array", "an item that is an array"), (24, "dict", "an item that is a dict"),
                                  (25, "comma", "a comma ends a dict in a list"), (26, "sublist", "an item that is a list"), (27, "closed", "the end of a list in a list")]:
        g(sentence, name, about, i4(1, 2, 3), "l [\n  i4,\n  / a = i4\n  ,\n  [ i4 ]\n]\n", {"l": [1, {"a": 2}, [3]]}, items)
    g(28, "twice", "a list of two times two items", i4(1, 2) + i4(3, 4), "l [i4, i4]*2\n", {"l": [1, 2, 3, 4]}, {f"/l/{n}": ("int32", []) for n in range(4)})
    g(28, "parameter", "a list as often as a parameter says, 0 times included", i4(1, 2), "N : 2\nZ : 0\nl [i4]*N\nk [i4]*Z\n", {"N": 2, "Z": 0, "l": [1, 2], "k": []},
      {"/l/0": ("int32", []), "/l/1": ("int32", [])})
    g(29, "more", "two more of the last item", i4(1, 2, 3), "l [i4]\nl [2]\n", {"l": [1, 2, 3]}, {f"/l/{n}": ("int32", []) for n in range(3)})
    b(22, "comma", "no comma between items of a list", "l [i4 i4]\n", 1, 7)
    b(22, "kind", "a list that was an array", "x = i4\nx [i4]\n", 2, 1)
    b(28, "address", "a repeated item with an address", "l [i4 @16]*2\n", 1, 8)
    m.broken(GRAMMAR, 28, "negative", "repeated -1 times", m.native(i4(-1), "N : i4\nl [f8]*N\n"), {})
    b(29, "nothing", "nothing to repeat", "l [2]\n", 1, 1)
    g(30, "order", "the last dimension varies fastest", i4(1, 2, 3, 4, 5, 6), "x = i4[2, 3]\n", {"x": [[1, 2, 3], [4, 5, 6]]}, {"/x": ("int32", [2, 3])})
    b(30, "semicolon", "no comma between dimensions", "x = i4[2 3]\n", 1, 10)
    g(31, "both", "a number and a parameter", i4(1, 2), "N : 1\nx = i4[2, N]\n", {"N": 1, "x": [[1], [2]]}, {"/x": ("int32", [2, 1])})
    b(31, "zeros", "a number with leading zeros", "x = i4[03]\n", 1, 8)
    g(32, "suffix", "one more, and two less", i4(1, 2, 3, 4, 5), "N : 3\nx = i4[N+]\ny = i4[N--]\n", {"N": 3, "x": [1, 2, 3, 4], "y": [5]},
      {"/x": ("int32", [4]), "/y": ("int32", [1])})
    g(33, "none", "a dimension of 0 takes no space", i4(7), "x = i4[3, 0]\ny = i4\n", {"x": [[], [], []], "y": 7}, {"/x": ("int32", [3, 0]), "/y": ("int32", [])})
    g(34, "removed", "a dimension of -1 is removed", i4(1, 2), "x = i4[-1, 2]\n", {"x": [1, 2]}, {"/x": ("int32", [2])})
    b(34, "low", "a dimension of -2", "x = i4[-2]\n", 1, 8)
    b(34, "fixed", "a parameter of -2", "N : -2\n", 1, 5)
    g(36, "absent", "IF_EXISTS of 0: no data", b"\0", "IF_EXISTS : i1\nx = i4[IF_EXISTS, 2]\n", {"IF_EXISTS": 0, "x": []}, {"/x": ("int32", [0, 2])})
    g(36, "there", "IF_EXISTS of -1: the dimension is removed", b"\xff" + bytes(3) + i4(1, 2), "IF_EXISTS : i1\nx = i4[IF_EXISTS, 2]\n", {"IF_EXISTS": -1, "x": [1, 2]}, {"/x": ("int32", [2])})
    g(38, "prefix", "a primitive with its byte order", struct.pack(">i", 7), "x = >i4\n", {"x": 7}, one)
    b(38, "prefix", "a prefix before a name", "T {a = i4}\nx = >T\n", 2, 5)
    b(38, "none", "a number where a datatype should stand", "x = 3\n", 1, 5)
    b(38, "unknown", "a datatype that is not declared", "x = i3\n", 1, 5)
    b(38, "later", "a datatype that is declared later", "x = T\nT {a = i4}\n", 1, 5)
    pair = [{"name": "a", "datatype": "int32"}, {"name": "b", "datatype": "uint8"}]
    g(39, "local", "a parameter of a struct", i4(1, 2), "x = {N : 2\n a = i4[N]}\n", {"x": [[1, 2]]}, {"/x": ([{"name": "a", "datatype": "int32", "shape": [2]}], [])})
    g(40, "offset", "members at offsets and alignments within the struct", b"\0" * 4 + i4(1) + b"\7" + bytes(7), "x = {a = i4 @4\n b = u1 %8}\n", {"x": [1, 7]}, {"/x": (pair, [])})
    g(41, "members", "a struct of two members, and its size", i4(1) + b"\7\0\0\0" + i4(2) + b"\x08\0\0\0", "x = {a = i4  b = u1}[2]\n", {"x": [[1, 7], [2, 8]]}, {"/x": (pair, [2])})
    b(39, "dict", "a dict in a struct", "x = {g/ a = i4}\n", 1, 7)
    b(40, "twice", "a member twice in a struct", "x = {a = i4  a = u1}\n", 1, 14)
    g(42, "stored", "a struct whose length is stored in it", b"\2\7\x08\1\x09", "s {N : i1  x = u1[N]}\na = s\nb = s\n", {"a": {"N": 2, "x": [7, 8]}, "b": {"N": 1, "x": [9]}},
      {"/a.x": ("uint8", [2]), "/b.x": ("uint8", [1])})
    g(45, "named", "a named struct", i4(1) + b"\7\0\0\0", "T {a = i4  b = u1}\nx = T\n", {"x": [1, 7]}, {"/x": (pair, [])})
    b(45, "primitive", "the name of a primitive with its order as that of a type", "\"<i4\" {a = i4}\n", 1, 1)
    g(46, "place", "members of a named struct at offsets", b"\7\0\0\0" + i4(1), "T {a = i4 @4\n b = u1 @0}\nx = T\n", {"x": [1, 7]}, {"/x": (pair, [])})
    g(48, "align", "the alignment of a named struct is that of its instances", b"\7" + bytes(7) + i4(1) + bytes(4), "T {a = i4} %8\nc = u1\nx = T\n", {"c": 7, "x": [1]},
      {"/c": ("uint8", []), "/x": ([{"name": "a", "datatype": "int32"}], [])})
    g(49, "typedef", "a type with one member without a name", i4(1, 2, 3, 4), "mesh {\"\" = i4[2]}\nx = mesh\ny = mesh[1]\n", {"x": [1, 2], "y": [[3, 4]]},
      {"/x": ("int32", [2]), "/y": ("int32", [1, 2])})
    g(51, "scope", "the parameter where the type is used", i4(1, 2, 3), "mesh {\"\" = i4[N]}\ng/ N : 2\nx = mesh\n..\nh/ N : 1\nx = mesh\n",
      {"g": {"N": 2, "x": [1, 2]}, "h": {"N": 1, "x": [3]}}, {"/g/x": ("int32", [2]), "/h/x": ("int32", [1])})
    g(52, "shapes", "one type, two shapes", i4(1, 2, 3), "mesh {\"\" = i4[N]}\ng/ N : 1\nx = mesh\n..\nh/ N : 2\nx = mesh\n",
      {"g": {"N": 1, "x": [1]}, "h": {"N": 2, "x": [2, 3]}}, {"/g/x": ("int32", [1]), "/h/x": ("int32", [2])})
    g(53, "global", "a type of one dict in another", i4(1), "g/ T {a = i4} ..\nx = T\n", {"g": {}, "x": [1]}, {"/x": ([{"name": "a", "datatype": "int32"}], [])})
    b(53, "twice", "a type twice in a layout", "T {a = i4}\ng/ T {a = u1}\n", 2, 4)
    g(54, "summary", "a summary block", i4(2, 7, 8), "{ N : i4 }\nx = i4[N]\n", {"N": 2, "x": [7, 8]}, {"/x": ("int32", [2])})
    b(54, "second", "a summary block behind a declaration", "x = i4\n{ N : i4 }\n", 2, 1)
    m.text(GRAMMAR, 54, "outside", "a stored parameter outside of the summary block", "{ N : i4 }\nM : i4\nx = i4[N, M]\n")
    for sentence, name in [(55, "parameter"), (56, "second")]:
        g(sentence, name, "the parameters of a summary block", i4(1, 2, 7, 8), "{\n A : i4\n B : i4\n}\nx = i4[A, B]\n", {"A": 1, "B": 2, "x": [[7, 8]]}, {"/x": ("int32", [1, 2])})
    g(57, "time", "a variable of a summary block, as the document spells it", i4(1, 0) + struct.pack("<d", 2.5) + i4(7), "{\n A : i4\n time : f8\n}\nx = i4[A]\n", {"A": 1, "time": 2.5, "x": [7]},
      {"/time": ("float64", []), "/x": ("int32", [1])})
    g(58, "part", "the members of the summary block are in the root", i4(5), "{ t = i4 }\n", {"t": 5}, {"/t": ("int32", [])})
    m.text(GRAMMAR, 60, "address", "an address behind a summary block, which should have none", "{ N : i4 }\nx = i4[N] @64\n")
    m.text(GRAMMAR, 60, "indeterminate", "a struct of indeterminate length behind a summary block, which should have none", "{ N : i4 }\nx = {M : i4  a = i4[M]}\n")
    g(62, "align", "a primitive with another alignment", b"\7\0\0\0" + struct.pack("<q", 9), "i8 {\"\"=i8}%4\na = u1\nx = i8\n", {"a": 7, "x": 9}, {"/a": ("uint8", []), "/x": ("int64", [])})
    b(62, "late", "a primitive that is redefined after its use", "x = i8\ni8 {\"\"=i8}%4\n", 2, 1)
    g(63, "big", "the order of a layout that begins with >", struct.pack(">i", 7), ">\nx = i4\n", {"x": 7}, one)
    m.foreign(GRAMMAR, 63, "none", "no order in the layout, and no signature", i4(1, 7), "N : i4\nx = i4[N]\n", {"line": 1, "column": 1})
    m.foreign(SIGNATURES, 3, "beside", "a file that is not native, and its layout", b"head" + i4(7), "<\nx = i4 @4\n", tree={"x": 7},
              arrays={"/x": {"datatype": "int32", "shape": []}})
    g(64, "first", "comments before the order, and a summary block behind it", struct.pack(">ii", 1, 7), "# a comment\n> { N : i4 }\nx = i4[N]\n", {"N": 1, "x": [7]}, {"/x": ("int32", [1])})
    g(65, "end", "the layout ends at a line of dashes", i4(7), "x = i4\n---\nanything; at all \"\n", {"x": 7}, one)
    b(65, "behind", "something behind the dashes on their line", "x = i4\n--- y = i4\n", 2, 5)
    m.text(SIGNATURES, 1, "dud", "a layout of its own", "x = i4\n")
    m.good(SIGNATURES, 2, "appended", "the layout at the end of the file", i4(7), "x = i4\n", {"x": 7}, one)
    m.broken(SIGNATURES, 2, "overlap", "an array that reaches into the layout", m.native(i4(7), "x = i4[2]\n"), {"path": "/x"})
    m.good(SIGNATURES, 4, "little", "the signature of little-endian files", i4(7), "x = i4\n", {"x": 7}, one)
    m.broken(SIGNATURES, 4, "text", "a signature that was transferred as text", m.native(i4(7), "x = i4\n").replace(b"\r\n", b"\n", 1), {"byte": 0})
    m.broken(SIGNATURES, 4, "seven", "a signature without its highest bit", b"\x0d" + m.native(i4(7), "x = i4\n")[1:], {"byte": 0})
    m.good(SIGNATURES, 5, "big", "the signature of big-endian files", struct.pack(">i", 7), "x = i4\n", {"x": 7}, one, order=">")
    m.good(SIGNATURES, 6, "override", "the layout has another order than the signature", struct.pack(">i", 7), ">\nx = i4\n", {"x": 7}, one)
    m.good(SIGNATURES, 7, "zero", "the first byte of the file is address 0", i4(7), "x = u1[2] @0\ny = i4 @16\n", {"x": [0x8d, 0x3c], "y": 7}, {"/x": ("uint8", [2]), "/y": ("int32", [])})
    m.broken(SIGNATURES, 8, "beyond", "an address of the layout behind the end of the file", m.native(i4(7), "x = i4\n", at=5000), {"byte": 8})
    m.broken(SIGNATURES, 8, "negative", "a negative address of the layout", m.native(i4(7), "x = i4\n", at=-1), {"byte": 8})
    m.good(PRIMITIVES, 1, "integers", "integers of all sizes", struct.pack("<bB", -1, 1) + struct.pack("<hH", -2, 2) + bytes(2) + struct.pack("<iI", -3, 3) + struct.pack("<qQ", -4, 4),
           "a = i1\nb = u1\nc = i2\nd = u2\ne = i4\nf = u4\ng = i8\nh = u8\n", {"a": -1, "b": 1, "c": -2, "d": 2, "e": -3, "f": 3, "g": -4, "h": 4},
           {f"/{name}": (f"{sign}int{bits}", []) for name, sign, bits in zip("abcdefgh", ["", "u"] * 4, [8, 8, 16, 16, 32, 32, 64, 64])})
    m.good(PRIMITIVES, 1, "floats", "floats and truth values", struct.pack("<e2xfd?", 1.5, 2.5, 3.5, True), "a = f2\nb = f4\nc = f8\nd = b1\n",
           {"a": 1.5, "b": 2.5, "c": 3.5, "d": True}, {"/a": ("float16", []), "/b": ("float32", []), "/c": ("float64", []), "/d": ("bool8", [])})
    m.good(PRIMITIVES, 2, "text", "the last dimension of text is its length", b"abcdef", "x = S1[2, 3]\n", {"x": ["abc", "def"]}, {"/x": (["ascii", 3], [2])})
    m.bad(PRIMITIVES, 2, "scalar", "text without a dimension", "x = S1\n", 1, 5)
    m.good(PRIMITIVES, 3, "ucs4", "the suffix is the encoding", "\u00e9\u4e2d".encode("utf-32-le"), "x = U4[2]\n", {"x": "\u00e9\u4e2d"}, {"/x": (["ucs4", 2], [])})
    m.good(PRIMITIVES, 4, "cp1252", "S1 is cp1252", b"\x80\xe9", "x = S1[2]\n", {"x": "\u20ac\u00e9"}, {"/x": (["ascii", 2], [])})
    return m.cases


def dialect_2026():
    """The dialect of 2026."""
    m = Maker("dudley-2026")
    i4 = lambda *numbers: struct.pack(f"<{len(numbers)}i", *numbers)
    g, b = m.good, m.bad
    one = {"/x": ("int32", [])}
    m.text("1.1", 1, "utf8", "text beyond ASCII in comments and quotes", "\"\u00e9\": i4  ## \u4e2d\n")
    m.text("1.1", 2, "mark", "a byte order mark is skipped", b"\xef\xbb\xbfx: i4\n")
    b("1.1", 1, "latin1", "a layout that is not UTF-8", b"x: i4  ## \xe9\n", 1, 1)
    m.text("1.2", 1, "blanks", "tokens on one line, or on many", "x\n:\ti4 y : i4\r\n")
    m.text("1.2", 3, "hash", "# within quotes", "\"a#b\": i4\n")
    m.text("1.3", 1, "tokens", "numbers with signs, hexadecimal, and names", "N = +3\nM = 0x10\nx: f8(N, M)\n")
    b("1.3", 1, "open", "a quote that is not closed", "\"x: i4\n", 1, 1)
    b("1.3", 1, "character", "a character that is no sign of the language", "x: i4 ;\n", 1, 7)
    b("1.3", 1, "zeros", "a number with leading zeros", "x: i4(03)\n", 1, 7)
    b("1.3", 1, "prefix", "a prefix before a name", "x: >T\n", 1, 4)
    g("1.4", 1, "both", "a name in quotes and the same without", i4(2, 7, 8), "\"N\" = i4\nx: i4(N)\n", {"N": 2, "x": [7, 8]}, {"/x": ("int32", [2])})
    b("1.4", 3, "primitive", "the name of a primitive with its order as that of a type", "\"<i4\" {a: i4}\n", 1, 1)
    g("1.5", 1, "kinds", "floats and truth values", struct.pack("<e2xfd?", 1.5, 2.5, 3.5, True), "a: f2\nb: f4\nc: f8\nd: b1\n",
      {"a": 1.5, "b": 2.5, "c": 3.5, "d": True}, {"/a": ("float16", []), "/b": ("float32", []), "/c": ("float64", []), "/d": ("bool8", [])})
    g("2.9", 3, "scalar", "a single character", b"q", "x: S1\n", {"x": "q"}, {"/x": (["ascii", 1], [])})
    g("3", 1, "forms", "data, a dict, a list and a parameter", i4(2, 7, 8, 1, 3), "N = i4\nx: i4(N)\ng/ y: i4 ..\nl [i4]\n", {"N": 2, "x": [7, 8], "g": {"y": 1}, "l": [3]},
      {"/x": ("int32", [2]), "/g/y": ("int32", []), "/l/0": ("int32", [])})
    b("3", 1, "comma", "a comma between declarations of a dict", "x: i4, y: i4\n", 1, 6)
    b("3", 1, "sign", "nothing that may follow a name", "x i4\n", 1, 3)
    b("3", 1, "number", "a number where a datatype should stand", "x: 3\n", 1, 4)
    b("3", 1, "shape", "no comma between dimensions", "x: i4(2 3)\n", 1, 9)
    b("3", 1, "three", "an alignment of 3", "x: i4 %3\n", 1, 8)
    b("3", 1, "list", "no comma between items of a list", "l [i4 i4]\n", 1, 7)
    b("3", 1, "struct", "a dict in a struct", "x: {g/ a: i4}\n", 1, 6)
    b("3", 1, "cut", "the layout ends within a declaration", "x:\n", 2, 1)
    b("3", 1, "float", "a parameter that is a float", "N = f8\n", 1, 5)
    g("3.2", 1, "extend", "an element of a list that is extended", i4(1, 2, 3), "l [[i4]]\nl [0[i4, i4]]\n", {"l": [[1, 2, 3]]}, {f"/l/0/{n}": ("int32", []) for n in range(3)})
    b("3.2", 1, "absent", "an element that is not there", "l [i4]\nl [5[i4]]\n", 2, 4)
    g("3.3", 1, "copies", "copies of the last element", i4(1, 2, 3), "l [i4, %0, %0]\n", {"l": [1, 2, 3]}, {f"/l/{n}": ("int32", []) for n in range(3)})
    b("3.3", 1, "nothing", "nothing to copy", "l [%0]\n", 1, 4)
    m.text("3.4", 1, "reference", "a referenced item", "x: i8 <- ref\n& i4(3)\n")
    b("3.4", 1, "parameter", "a referenced item whose shape is a parameter", "N = 3\n& i4(N)\n", 2, 6)
    b("3.5", 1, "summary", "a summary block, which is gone", "{ N : i4 }\n", 1, 1, deviates=("3", 1))
    b("4.3", 1, "twice", "a name twice in a dict", "x: i4\nx: i4\n", 2, 1)
    g("4.3", 2, "again", "a dict that is opened again", i4(1, 2), "g/ x: i4 ..\ng/ y: i4\n", {"g": {"x": 1, "y": 2}}, {"/g/x": ("int32", []), "/g/y": ("int32", [])})
    b("4.3", 2, "kind", "a dict that was an array", "x: i4\nx/\n", 2, 1)
    b("4.3", 3, "type", "a type twice in a dict", "T {a: i4}\nT {a: u1}\n", 2, 1)
    g("4.3", 4, "again", "a parameter that is declared again", i4(1, 2, 3), "N = 1\nx: i4(N)\nN = 2\ny: i4(N)\n", {"N": 2, "x": [1], "y": [2, 3]}, {"/x": ("int32", [1]), "/y": ("int32", [2])})
    b("4.3", 6, "member", "a member twice in a struct", "x: {a: i4  a: u1}\n", 1, 12)
    b("4.4", 2, "absent", "a parameter that is not declared", "x: i4(N)\n", 1, 7)
    g("4.4", 6, "bound", "the parameter where the type is declared", i4(1, 2), "N = 2\nT {: i4(N)}\ng/ N = 1\nx: T\n", {"N": 2, "g": {"N": 1, "x": [1, 2]}}, {"/g/x": ("int32", [2])})
    b("4.5", 2, "unknown", "a datatype that is not declared", "x: i3\n", 1, 4)
    b("4.5", 2, "itself", "a type of itself", "T {a: T}\n", 1, 7)
    b("4.6", 3, "late", "a primitive that is redefined after its use", "x: i4\ni4 {: <i4}\n", 2, 1)
    g("4.7", 4, "top", ".. at the top does nothing", i4(7), "..\nx: i4\n", {"x": 7}, one)
    g("4.7", 3, "root", "/ leads to the root", i4(7, 8), "g/ h/ y: i4\n/\nx: i4\n", {"g": {"h": {"y": 7}}, "x": 8}, {"/g/h/y": ("int32", []), "/x": ("int32", [])})
    b("5.1", 1, "low", "a dimension of -2", "x: i4(-2)\n", 1, 7)
    b("5.1", 2, "signs", "32 signs behind a parameter", "N = 3\nx: i4(N" + "+" * 32 + ")\n", 2, 8)
    g("5.1", 2, "suffix", "one more, and two less", i4(1, 2, 3, 4, 5), "N = 3\nx: i4(N+)\ny: i4(N--)\n", {"N": 3, "x": [1, 2, 3, 4], "y": [5]}, {"/x": ("int32", [4]), "/y": ("int32", [1])})
    m.broken("5.1", 4, "low", "a stored parameter of -2", m.native(i4(-2), "N = i4\nx: i4(N)\n"), {"line": 2, "column": 1})
    g("5.2", 1, "zero", "a dimension of 0: no data, no alignment", b"\7\x08", "a: u1\nx: f8(0)\nb: u1\n", {"a": 7, "x": [], "b": 8}, {"/a": ("uint8", []), "/x": ("float64", [0]), "/b": ("uint8", [])})
    g("5.2", 3, "removed", "a dimension of -1 is removed", i4(1, 2), "x: i4(-1, 2)\n", {"x": [1, 2]}, {"/x": ("int32", [2])})
    g("5.3", 1, "typedef", "the dimensions of the array, then those of the type", i4(1, 2, 3, 4), "T {: i4(2)}\nx: T(2)\n", {"x": [[1, 2], [3, 4]]}, {"/x": ("int32", [2, 2])})
    g("5.4", 1, "complex", "a complex number is aligned as its parts", b"\7" + bytes(3) + struct.pack("<ff", 1.5, 2.5), "a: u1\nx: c8\n", {"a": 7, "x": "1.5+2.5j"}, {"/a": ("uint8", []), "/x": ("complex64", [])})
    pair = [{"name": "a", "datatype": "int32"}, {"name": "b", "datatype": "uint8"}]
    g("5.5", 1, "size", "the size of a struct is a multiple of its alignment", i4(1) + b"\7\0\0\0" + i4(2) + b"\x08\0\0\0", "x: {a: i4  b: u1}(2)\n", {"x": [[1, 7], [2, 8]]}, {"/x": (pair, [2])})
    g("5.6", 1, "places", "an address, an alignment, and the next", bytes(8) + i4(7) + bytes(4) + i4(8, 9), "x: i4 @8\ny: i4 %16\nz: i4\n", {"x": 7, "y": 8, "z": 9},
      {"/x": ("int32", []), "/y": ("int32", []), "/z": ("int32", [])})
    g("5.7", 1, "order", "the order of the text, whatever the dict", i4(1, 2, 3), "g/ x: i4 ..\ny: i4\ng/ z: i4\n", {"g": {"x": 1, "z": 3}, "y": 2}, {f"/{path}": ("int32", []) for path in ("g/x", "y", "g/z")})
    m.broken("5.8", 1, "short", "a stored parameter behind the end of the file", m.native(b"", "N = i4 @5000\nx: i4(N)\n"), {"line": 2, "column": 1})
    g("5.8", 1, "unsigned", "a stored parameter that is unsigned", b"\2\7\x08", "N = u1\nx: u1(N)\n", {"N": 2, "x": [7, 8]}, {"/x": ("uint8", [2])})
    b("5.11", 1, "large", "addresses beyond 64 bits", "x: f8(4000000000, 4000000000)\ny: f8\n", None)
    packed = zlib.compress(bytes(range(100)))
    stored = struct.pack("<q", len(packed)) + packed
    g("5.12", 1, "gzip", "a compressed array behind its length", stored, "x: u1(100) -> gzip\n", {"x": list(range(100))}, {"/x": ("uint8", [100])})
    g("5.12", 3, "empty", "a compressed array of no elements stores nothing", i4(7), "x: u1(0) -> gzip\ny: i4\n", {"x": [], "y": 7}, {"/x": ("uint8", [0]), "/y": ("int32", [])})
    g("6", 1, "prefix", "the order of a prefix", struct.pack(">i", 7), "x: >i4\n", {"x": 7}, one)
    g("6", 3, "signature", "the order of the signature", struct.pack(">i", 7), "x: i4\n", {"x": 7}, one, order=">")
    m.foreign("6", 6, "none", "no order in the layout, and no signature", i4(1, 7), "N = i4\nx: i4(N)\n", {"line": 2, "column": 1})
    m.foreign("7.3", 4, "beside", "a file that is not native: byte 0 is address 0", i4(7), "x: <i4\n", tree={"x": 7},
              arrays={"/x": {"datatype": "int32", "shape": []}})
    g("7.1", 1, "little", "the signature, and the address of the layout", i4(7), "x: i4\n", {"x": 7}, one)
    m.broken("7.1", 1, "beyond", "an address of the layout behind the end of the file", m.native(i4(7), "x: i4\n", at=5000), {"byte": 8})
    g("7.2", 1, "from", "the address of the layout counts from the signature", i4(7), "x: i4\n", {"x": 7}, one)
    g("7.3", 3, "sixteen", "address 0 is byte 16", i4(7, 8), "y: i4 @4\nx: i4 @0\n", {"y": 8, "x": 7}, {"/y": ("int32", []), "/x": ("int32", [])})
    m.broken("7.3", 3, "beyond", "an array that ends behind the file", m.native(i4(1), "x: i4(3) @100000\n"), {"path": "/x"})
    m.broken("7.4", 3, "overlap", "an array that reaches into the layout", m.native(i4(7), "x: i4(2)\n"), {"path": "/x"})
    m.broken("7.5", 1, "text", "a signature that was transferred as text", m.native(i4(7), "x: i4\n").replace(b"\r\n", b"\n", 1), {"byte": 0})
    m.text("7.6", 2, "dialect", "the dialect in an attribute", "#: dialect=2026\nx: i4\n")
    m.text("9.2", 1, "comments", "a comment that documents", "x: i4  ## about x\n       ## and more\n")
    m.text("9.3", 1, "attributes", "attributes of all kinds", "x: i4\n#: a=1 b=2.5 c='t', d=[1, 2] e\n")
    b("9.3", 1, "word", "a value that is a word", "x: i4\n#: a=word\n", 2, 6)
    g("10", 1, "cp1252", "S1 is cp1252", b"\x80\xe9", "x: S1(2)\n", {"x": "\u20ac\u00e9"}, {"/x": (["ascii", 2], [])})
    b("11", 2, "arguments", "a filter with too many arguments", "x: u1(3) -> gzip(1, 2)\n", 1, 21)
    g("11", 4, "gzip", "a compressed array is a zlib stream", stored, "x: u1(100) -> gzip(6)\n", {"x": list(range(100))}, {"/x": ("uint8", [100])})
    m.broken("11", 5, "long", "a compressed array that decodes to other than its size", m.native(stored, "x: u1(90) -> gzip\n"), {"path": "/x"})
    return m.cases


def cases():
    """Every case of both dialects."""
    return [*dialect_2025(), *dialect_2026()]
