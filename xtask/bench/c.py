"""The C interface beside the library that it stands on: opening a file and listing its arrays, inside one process."""

from files import many
from harness import Work


def works(bench):
    file = many(bench)
    return [
        Work(
            "c-list",
            f"open and list {bench.count:,} arrays with their datatypes and shapes, inside a process, 20 times",
            {"c": [bench.c_program("many"), file], "rust": [bench.peer("many"), "trilith", "list-any", file]},
            inner=True,
            wants={"rust": 0.91},
        )
    ]
