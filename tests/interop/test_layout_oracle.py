"""Layouts at random: their addresses, computed here by the rules of the specification and nothing else.

A layout is made together with the list of what lies where: sections 5.1 to 5.8 of our specification (suffixes, items
without data, alignment, structs, typedefs, placement, the order of the text, stored parameters) and 4.8 (lists), in
both dialects. Everything is walked element by element, with no thought of speed.
"""

import random
import unittest

import peer

SIZES = {"u1": 1, "u2": 2, "u4": 4, "u8": 8, "i1": 1, "i2": 2, "i4": 4, "i8": 8, "f2": 2, "f4": 4, "f8": 8, "b1": 1}
SIZES |= {"c4": 4, "c8": 8, "c16": 16}
LAYOUTS = 150


def up(at, align):
    return -(-at // align) * align if align else at


def bytes_of(size, dims):
    """Section 5.2: -1 counts as 1, 0 as nothing."""
    for dim in dims:
        size *= 1 if dim == -1 else dim
    return size


def struct_of(members):
    """Sections 5.4 and 5.5: size and alignment of a struct of (size, alignment, dims, placement)."""
    offset = end = 0
    align = 1
    for size, own, dims, placement in members:
        sign, number = placement or ("", 0)
        align = max(align, 1 if sign == "@" else number or own)
        size = bytes_of(size, dims)
        if size:
            offset = number if sign == "@" else up(offset, number or own)
            offset += size
            end = max(end, offset)
    return up(end, align), align


class Maker:
    """Makes the text of a layout and what it must come to."""

    def __init__(self, seed, old):
        self.random = random.Random(seed)
        self.old = old
        self.names = 0
        self.lines, self.values, self.expected = [], [], []
        self.cursor = self.total = 0
        self.types, self.params = [], [{}]

    def name(self):
        self.names += 1
        return f"n{self.names}"

    def says(self, name, what):
        return f"{name}{' =' if self.old else ':'} {what}"

    def param_says(self, name, what):
        return f"{name} {':' if self.old else '='} {what}"

    def scope(self):
        return {name: value for params in self.params for name, value in params.items()}

    def alignment(self, primitive):
        """Decision D1: complex numbers align to their size in 2025, to one part of it in 2026."""
        return SIZES[primitive] // (2 if primitive[0] == "c" and not self.old else 1)

    def dims(self, scope):
        values, texts = [], []
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            if scope and self.random.random() < 0.6:
                name = self.random.choice(list(scope))
                suffix = self.random.choice(["", "", "+", "-", "++", "--", "---"])
                value, change = scope[name], len(suffix) if "+" in suffix else -len(suffix)
                values.append(value if value <= 0 else max(value + change, 0))
                texts.append(name + suffix)
            else:
                values.append(self.random.choice([0, -1, 1, 2, 3, 5]))
                texts.append(str(values[-1]))
        text = ",".join(texts)
        return values, (f"[{text}]" if self.old else f"({text})") if texts else ""

    def placement(self, addresses=True):
        chance = self.random.random()
        if chance < 0.12:
            align = self.random.choice([1, 2, 4, 8, 16])
            return ("%", align), f" %{align}"
        if chance < 0.2 and addresses:
            address = self.random.randrange(40)
            return ("@", address), f" @{address}"
        return None, ""

    def datatype(self, scope, depth=0):
        """Size, alignment and text."""
        chance = self.random.random()
        if self.types and chance < 0.25:
            name, needs, use = self.random.choice(self.types)
            if needs is None or needs in scope:
                return *use(scope), name
        if depth < 3 and chance < 0.4:
            return self.struct(scope, depth)
        primitive = self.random.choice(list(SIZES))
        return SIZES[primitive], self.alignment(primitive), self.random.choice(["", "", "<", ">", "|"]) + primitive

    def struct(self, scope, depth):
        scope, members, texts = dict(scope), [], []
        for last in [False] * self.random.randint(0, 3) + [True]:
            name = self.name()
            if self.old and not last and self.random.random() < 0.25:
                scope[name] = self.random.choice([0, 1, 2, -1, 4])
                texts.append(f"{name} : {scope[name]}")
                continue
            member, text = self.data(scope, depth + 1)
            members.append(member)
            texts.append(self.says(name, text))
        return *struct_of(members), "{" + " ".join(texts) + "}"

    def data(self, scope, depth=0, addresses=True):
        size, align, text = self.datatype(scope, depth)
        dims, shape = self.dims(scope)
        placement, place = self.placement(addresses)
        return (size, align, dims, placement), text + shape + place

    def put(self, path, item, drop=False):
        """Section 5.6; copies (`drop`) have no address of their own."""
        size, align, dims, placement = item
        size = bytes_of(size, dims)
        if not size:
            return self.expected.append((path, None, 0))
        sign, number = placement or ("", 0)
        at = number if sign == "@" and not drop else up(self.cursor, number if sign == "%" else align)
        self.expected.append((path, at, size))
        self.cursor = at + size
        self.total = max(self.total, self.cursor)

    def list(self, depth=0):
        elements, texts = [], []
        for _ in range(self.random.randint(1, 3)):
            if depth < 2 and self.random.random() < 0.2:
                element, text = self.list(depth + 1)
            else:
                element, text = self.data(self.scope(), addresses=False)
            elements.append(element)
            texts.append(text)
        count = self.random.choice([1, 1, 2, 0, 3]) if self.old else 1
        return {"elements": elements, "count": count}, f"[{', '.join(texts)}]{f'*{count}' if count != 1 else ''}"

    def put_list(self, path, made, index=0):
        for _ in range(made["count"]):
            for element in made["elements"]:
                self.put_element(f"{path}[{index}]", element)
                index += 1
        return index

    def put_element(self, path, element, drop=False):
        if isinstance(element, dict):
            self.put_list(path, element)
        else:
            self.put(path, element, drop)

    def list_item(self, path, name):
        made, text = self.list()
        self.lines.append(f"{name} {text}")
        index = self.put_list(path, made)
        if self.old and self.random.random() < 0.5:
            count = self.random.randint(0, 3)
            self.lines.append(f"{name} [{count}]")
            for copy in range(index, index + count):
                self.put_element(f"{path}[{copy}]", made["elements"][-1], drop=True)
        data = [at for at, element in enumerate(made["elements"]) if not isinstance(element, dict)]
        if not self.old and data and self.random.random() < 0.6:
            at = self.random.choice(data)
            placement, text = self.placement()
            self.lines.append(f"{name} [{at}{text.strip() or '%0'}]")
            size, align, dims, _ = made["elements"][at]
            self.put(f"{path}[{index}]", (size, align, dims, placement))

    def typed(self, name):
        """A named type: of 2025 with a dimension that is bound where it is used."""
        if self.random.random() < 0.6:
            size, align, text = self.struct({} if self.old else self.scope(), 1)
            self.lines.append(f"{name} {text}")
            return self.types.append((name, None, lambda scope: (size, align)))
        if not self.old:
            (size, align, dims, placement), text = self.data(self.scope(), 2, addresses=False)
            size, align = bytes_of(size, dims), placement[1] if placement else align
            self.lines.append(f"{name} {{: {text}}}")
            return self.types.append((name, None, lambda scope: (size, align)))
        primitive, own = self.random.choice(list(SIZES)), self.random.choice([0, 0, 1, 2, 4, 8, 16])
        needs = self.random.choice([None, *self.scope()])
        placement, text = self.placement(addresses=False)
        after = f" %{own}" if own else ""
        self.lines.append(f'{name} {{"" = {primitive}[{needs or 2}]{text}}}{after}')
        align = own or (placement[1] if placement else self.alignment(primitive))
        use = lambda scope: (bytes_of(SIZES[primitive], [scope[needs] if needs else 2]), align)
        return self.types.append((name, needs, use))

    def items(self, prefix="", depth=0, count=7):
        for _ in range(count):
            chance, name = self.random.random(), self.name()
            path = f"{prefix}/{name}"
            if chance < 0.12 and depth < 3:
                self.lines.append(f"{name}/")
                self.params.append({})
                self.items(path, depth + 1, 3)
                self.params.pop()
                self.lines.append("..")
            elif chance < 0.38:
                value = self.random.choice([0, 1, 2, 3, -1, 5])
                if chance < 0.25:
                    self.lines.append(self.param_says(name, value))
                else:
                    primitive = self.random.choice(["i1", "i2", "i4", "i8"])
                    placement, text = self.placement()
                    self.lines.append(self.param_says(name, primitive + text))
                    self.put(path, (SIZES[primitive], SIZES[primitive], [], placement))
                    self.values.append(value)
                self.params[-1][name] = value
            elif chance < 0.48 and depth == 0:
                self.typed(name)
            elif chance < 0.65:
                self.list_item(path, name)
            else:
                item, text = self.data(self.scope())
                self.lines.append(self.says(name, text))
                self.put(path, item)


class Layouts(peer.Case):
    def test_addresses_are_those_of_the_rules(self):
        for seed in range(LAYOUTS):
            for dialect in ("2025", "2026"):
                maker = Maker(seed, dialect == "2025")
                maker.items()
                text = "\n".join(maker.lines) + "\n"
                path = self.folder / "random.dud"
                path.write_text(text)
                given = ["--params", ",".join(map(str, maker.values))] if maker.values else []
                said = peer.trilith_json("layout", "resolve", path, "--dialect", dialect, *given)
                found = [(item["path"], item["address"], item["nbytes"]) for item in said["items"]]
                self.assertEqual(found, maker.expected, f"seed {seed}, {dialect}:\n{text}")
                self.assertEqual((said["total"], said["next"]), (maker.total, maker.cursor), text)


if __name__ == "__main__":
    unittest.main()
