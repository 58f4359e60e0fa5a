"""For which opens and writes of the process `asdf` hands over to Trilith, and what became of them. Imports no `asdf`."""

import collections
import contextlib
import threading
from typing import NamedTuple

# How many lines a report remembers one by one; it counts all.
_LINES = 10_000

_lock = threading.Lock()
_everywhere = collections.Counter()
_here = threading.local()


def active(what):
    """Whether Trilith may do this now: "read" or "write"."""
    return _everywhere[what] > 0 or getattr(_here, what, 0) > 0


@contextlib.contextmanager
def everywhere(*what):
    """While this lasts, in all threads. Any number of these may be entered and left, in any order."""
    start(*what)
    try:
        yield
    finally:
        with _lock:
            _everywhere.subtract(what)


def start(*what):
    """From now on, in all threads."""
    with _lock:
        _everywhere.update(what)


@contextlib.contextmanager
def here(*what):
    """While this lasts, in this thread."""
    for name in what:
        setattr(_here, name, getattr(_here, name, 0) + 1)
    try:
        yield
    finally:
        for name in what:
            setattr(_here, name, getattr(_here, name) - 1)


class Done(NamedTuple):
    """One line of a report: what was done to which file, by whom, and why it was left to `asdf`."""

    action: str
    file: str
    by: str
    why: str


class Report(list):
    """Calls since the last report, as `Done`s. As a string it counts each kind of call."""

    def __init__(self, lines, counts):
        super().__init__(lines)
        self.counts = counts

    def __str__(self):
        if not self.counts:
            return "nothing was opened or written"
        rows = [(str(number), *kind) for kind, number in sorted(self.counts.items())]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        cells = "{:>%d}  {:%d}  {:%d}  {}" % tuple(widths)
        return "\n".join(cells.format(*row).rstrip() for row in rows)


_lines = collections.deque(maxlen=_LINES)
_counts = collections.Counter()


def note(action, file, why=None):
    """Remembers who did it: Trilith, or `asdf` for a reason."""
    by = "trilith" if why is None else "asdf"
    with _lock:
        _lines.append(Done(action, file or "memory", by, why or ""))
        _counts[action, by, why or ""] += 1


def report(clear=False):
    """Returns the calls since the last report: who did each, and why it was left to `asdf`.

    Parameters
    ----------
    clear : bool
        Begin the next report after this one.

    Returns
    -------
    Report
        A list of `Done`. As a string it counts the kinds of calls.

    Raises
    ------
    ImportError
        If the package `asdf` is not installed, on the import of `trilith.asdf`.

    Examples
    --------
    >>> import io, trilith.asdf
    >>> _ = trilith.asdf.report(clear=True)
    >>> trilith.asdf.open(io.BytesIO(trilith.dumps({"a": 1})), mode="r").close()
    >>> [line.by for line in trilith.asdf.report()]
    ['trilith']
    """
    with _lock:
        made = Report(_lines, dict(_counts))
        if clear:
            _lines.clear()
            _counts.clear()
        return made
