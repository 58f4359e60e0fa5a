#!/usr/bin/env python3
"""Lets run.py test the command `trilith`; another program may be named as the argument."""

import json
import subprocess
import sys

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "trilith"


def ask(*arguments):
    """What the command prints as JSON, and what it says on its standard error."""
    ended = subprocess.run([PROGRAM, *arguments, "--json"], capture_output=True, check=False)
    said = ended.stderr.decode(errors="replace").strip()
    try:
        return json.loads(ended.stdout), said
    except ValueError:
        return None, said or f"exit status {ended.returncode}"


def answer(file, document):
    """What run.py asks for."""
    found = {}
    verdict, _ = ask("verify", "--conform", document, file)
    if verdict is not None and "conforms" in verdict:
        found["conforms"] = verdict["conforms"]
        found["deviations"] = verdict.get("deviations", [])
    if file.endswith(".dud"):
        return found
    tree, error = ask("tree", "--inline", "--resolve", file)
    if tree is None and error:
        return {**found, "error": error}
    digest, _ = ask("digest", file)
    found["tree"] = tree
    if digest and not digest.get("errors"):
        found["arrays"] = {path: {"datatype": a["datatype"], "shape": a["shape"]} for path, a in digest["arrays"].items()}
    return found


def main():
    """Answers line by line."""
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps(answer(question["file"], question["document"])), flush=True)


main()
