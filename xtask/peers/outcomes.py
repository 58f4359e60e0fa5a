"""A plugin of pytest: what became of each test, and of each file that `asdf` opened or wrote, as JSON at the end.

Nothing but this machine is reached, so that two runs compare the same whatever the network does.
"""

import json
import os
import pathlib
import socket

_WORSE = ("skipped", "xfailed", "passed", "xpassed", "failed", "error")
_outcomes = {}
_connect = socket.socket.connect


def _local(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise OSError(f"{address[0]} is not this machine; the suites run without a network")
    return _connect(self, address)


def pytest_configure(config):
    socket.socket.connect = _local


def pytest_runtest_logreport(report):
    outcome = report.outcome
    if hasattr(report, "wasxfail"):
        outcome = "xfailed" if outcome == "skipped" else "xpassed"
    elif outcome == "failed" and report.when != "call":
        outcome = "error"
    elif outcome == "passed" and report.when != "call":
        return
    known = _outcomes.get(report.nodeid, (outcome, ""))
    if _WORSE.index(outcome) >= _WORSE.index(known[0]):
        why = str(getattr(report.longrepr, "reprcrash", "") or "") if outcome in ("failed", "error") else ""
        _outcomes[report.nodeid] = (outcome, why)


def pytest_collectreport(report):
    if report.failed:
        _outcomes[report.nodeid] = ("error", str(report.longrepr)[-500:])


def pytest_unconfigure(config):
    done = {"outcomes": _outcomes, "went": []}
    if os.environ.get("TRILITH_ASDF"):
        import trilith.asdf

        done["went"] = [[*kind, count] for kind, count in trilith.asdf.report().counts.items()]
    pathlib.Path(os.environ["TRILITH_PEERS"]).write_text(json.dumps(done), encoding="utf-8")
