"""Runs the test suites of packages that build on `asdf`, as they are and with `TRILITH_ASDF=write`, and compares them test by test.

    python suites.py --folder FOLDER [--plain-from-last] [SUITE...]

Fails where a test ends otherwise with Trilith than without, unless it is in `ALLOWED`.
"""

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
from typing import NamedTuple


class Suite(NamedTuple):
    """A suite: the requirement whose source has it, or None for tests that are installed with their package."""

    name: str
    source: str | None
    arguments: tuple
    # What its tests call by a name that the installed `asdf` does not know any more, and what that is now.
    renamed: tuple = ("", "")


SUITES = (
    Suite("asdf", None, ("--pyargs", "asdf._tests")),
    Suite("asdf-astropy", None, ("--pyargs", "asdf_astropy")),
    Suite("gwcs", None, ("--pyargs", "gwcs")),
    Suite("roman_datamodels", "roman_datamodels==1.2.0", ("tests",)),
    Suite("stdatamodels", "stdatamodels==6.0.0", ("tests",)),
    Suite("dkist", None, ("--pyargs", "dkist")),
    Suite("sunpy", None, ("--pyargs", "sunpy.io.special.asdf")),
    Suite("asdf-zarr", "asdf_zarr==0.0.4", ("asdf_zarr",), ("copy_arrays=", "memmap=not ")),
)

# Tests that may end otherwise, by suite and pattern of the name, with the reason. At most three, and none about data.
ALLOWED = ()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--plain-from-last", action="store_true", help="take what the plain runs gave the last time")
    parser.add_argument("suites", nargs="*", choices=[[], *(suite.name for suite in SUITES)])
    given = parser.parse_args()
    rows, differences = [], []
    for suite in SUITES:
        if given.suites and suite.name not in given.suites:
            continue
        plain, bridged = (run(given.folder, suite, asked, given.plain_from_last) for asked in (None, "write"))
        found = list(compare(suite, plain["outcomes"], bridged["outcomes"]))
        differences += found
        rows.append(row(suite, plain, bridged, found))
    table(["suite", "passed", "failed", "skipped", "bridged: passed", "failed", "skipped", "differ", "opened", "written"], rows)
    for suite, test, before, after, why, allowed in differences:
        print(f"\n{suite}: {test}\n  {before} -> {after}{f'; allowed: {allowed}' if allowed else ''}\n  {why}".rstrip())
    unexpected = [difference for difference in differences if difference[-1] is None]
    empty = [cells[0] for cells in rows if cells[1] == "0"]
    if empty:
        print(f"\nno test of {', '.join(empty)} passed: was it found?")
    print(f"\n{len(differences)} differences, {len(unexpected)} of them not allowed")
    return 1 if unexpected or empty else 0


def run(folder, suite, asked, from_last):
    """The outcomes of a suite in a process of its own."""
    folder = folder.resolve()
    result = folder / f"{suite.name}.{asked or 'plain'}.json"
    if asked is None and from_last and result.exists():
        return json.loads(result.read_text("utf-8"))
    result.unlink(missing_ok=True)
    where = source(folder, suite) if suite.source else folder / "empty"
    where.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "TRILITH_ASDF"}
    environment |= {"PYTHONPATH": str(pathlib.Path(__file__).parent), "TRILITH_PEERS": str(result), "PYTHONDONTWRITEBYTECODE": "1"}
    if asked:
        environment["TRILITH_ASDF"] = asked
    scratch = folder / "scratch"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "outcomes", "--basetemp", scratch, *suite.arguments]
    print(f"{suite.name}, {'with Trilith' if asked else 'plain'}", file=sys.stderr, flush=True)
    with open(result.with_suffix(".log"), "w", encoding="utf-8") as log:
        subprocess.run(words, cwd=where, env=environment, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    if not result.exists():
        raise SystemExit(f"the tests of {suite.name} did not come to their end: see {result.with_suffix('.log')}")
    return json.loads(result.read_text("utf-8"))


def source(folder, suite):
    """The folder of a package's source, fetched from the package index where it is not there yet."""
    requirement = suite.source
    kept = folder / "sources" / requirement
    if not kept.exists():
        fetched = folder / "fetched"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-deps", "--no-binary", ":all:", "--dest", fetched, requirement], check=True)
        name = requirement.replace("==", "-")
        subprocess.run([sys.executable, "-m", "tarfile", "-e", fetched / f"{name}.tar.gz", fetched], check=True)
        for test in fetched.glob(f"{name}/**/test_*.py") if all(suite.renamed) else ():
            test.write_text(test.read_text("utf-8").replace(*suite.renamed), "utf-8")
        kept.parent.mkdir(exist_ok=True)
        (fetched / name).rename(kept)
    return kept


def compare(suite, plain, bridged):
    """What ended otherwise: suite, test, how it ended without and with Trilith, why, and why that is allowed."""
    for test in [*plain, *(test for test in bridged if test not in plain)]:
        before, why = plain.get(test, ("not run", ""))
        after, reason = bridged.get(test, ("not run", ""))
        if before != after:
            allowed = (text for name, pattern, text in ALLOWED if name == suite.name and fnmatch.fnmatchcase(test, pattern))
            yield suite.name, test, before, after, reason or why, next(allowed, None)


def row(suite, plain, bridged, differences):
    counts = []
    for done in (plain, bridged):
        by = collections.Counter(outcome for outcome, _ in done["outcomes"].values())
        counts += [by["passed"] + by["xfailed"], by["failed"] + by["error"] + by["xpassed"], by["skipped"]]
    went = collections.Counter()
    for action, by, _, count in bridged["went"]:
        kind = "opened" if action == "open" else "written" if action in ("write_to", "update") else None
        went[kind, by] += count
    of = [f"{went[kind, 'trilith']} of {went[kind, 'trilith'] + went[kind, 'asdf']}" for kind in ("opened", "written")]
    return [suite.name, *map(str, counts), str(len(differences)), *of]


def table(heads, rows):
    widths = [max(len(line[column]) for line in [heads, *rows]) for column in range(len(heads))]
    for line in [heads, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")


if __name__ == "__main__":
    sys.exit(main())
