#!/usr/bin/env python3
"""Tests any reader of FINF, ASDF or Dudley files against the corpus. Needs Python 3.8 and nothing else.

    python3 run.py COMMAND [ARGUMENT…]                      all documents
    python3 run.py --document asdf-1.x COMMAND [ARGUMENT…]  one of them
    python3 run.py --json results.json …                    writes what came of each case

The command is started once. It reads one JSON object a line, {"file": "/path/x.asdf", "document": "asdf-1.x"}, and
answers each with one, of which every key may be left out:

    {"tree": {…},               the tree as JSON, arrays as nested lists in their place, masked elements null
     "arrays": {"/data": {"datatype": "int16", "shape": [3]}},
     "error": "…",              it could not be read
     "warnings": ["…"],         what was said about it although it was read
     "conforms": true,          whether the file conforms to the document; null where the document leaves it open
     "deviations": [{"section": "Block header", "sentence": 18, "where": {"byte": 120, "block": 0}}]}

What is judged: a tree that the case states must be read, with these values; a verdict that is given must be that of
the case, with its section, sentence and place. Exit status 0 where nothing is wrong, 1 otherwise.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def cases(documents):
    """Every case, with the folder of its file."""
    for listed in sorted(HERE.glob("*/cases.json")):
        if not documents or listed.parent.name in documents:
            for case in json.loads(listed.read_text(encoding="utf-8")):
                yield listed.parent, case


def reading(case, answer):
    """What came of reading: (word, reason). "right" and "wrong" where the case states a tree."""
    if "tree" not in answer:
        return ("refused" if answer.get("error") else "not tried"), answer.get("error", "")
    if "tree" not in case:
        return "read", ""
    # No tree and an empty one are the same to most readers.
    if (answer["tree"] or None) != (case["tree"] or None):
        return "wrong", f"the tree is {json.dumps(answer['tree'])[:200]}, expected {json.dumps(case['tree'])[:200]}"
    if "arrays" in answer and answer["arrays"] != case.get("arrays", answer["arrays"]):
        return "wrong", f"the arrays are {json.dumps(answer['arrays'])[:200]}, expected {json.dumps(case['arrays'])[:200]}"
    return "right", ""


def matches(expected, stated):
    """Whether a deviation is the one expected, at its place."""
    same = all(stated.get(key) == expected[key] for key in ("section", "sentence"))
    place = stated.get("where") or {}
    return same and all(value is None or place.get(key) == value for key, value in expected.get("where", {}).items())


def verdict(case, answer):
    """What came of the verdict: (word, reason)."""
    if "conforms" not in answer:
        return "none", ""
    if answer["conforms"] != case["conforms"]:
        return "wrong", f"the verdict is {answer['conforms']}, expected {case['conforms']}: {json.dumps(answer.get('deviations'))[:300]}"
    stated = answer.get("deviations", [])
    expected = case.get("deviations", [])
    for one in expected:
        if not any(matches(one, other) for other in stated):
            return "wrong", f"not found: {json.dumps(one)}; found: {json.dumps(stated)[:400]}"
    allowed = {(one["section"], one["sentence"]) for one in expected}
    more = [one for one in stated if (one["section"], one["sentence"]) not in allowed]
    return ("wrong", f"found besides: {json.dumps(more)[:400]}") if more else ("right", "")


def run(command, documents=()):
    """The results of all cases, in their order."""
    results = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as reader:
        for folder, case in cases(documents):
            question = {"file": str(folder / case["file"]), "document": case["document"]}
            reader.stdin.write(json.dumps(question) + "\n")
            reader.stdin.flush()
            line = reader.stdout.readline()
            if not line:
                raise SystemExit(f"the command ended before it answered {question['file']}")
            answer = json.loads(line)
            read, why_read = reading(case, answer)
            judged, why_judged = verdict(case, answer)
            # A file that conforms and is refused is wrong.
            if read == "refused" and "tree" in case and case["conforms"] is True:
                read = "refused, but conforms"
            if read in ("read", "right") and case["conforms"] is False and answer.get("warnings"):
                read += " with a warning"
            results.append({"document": case["document"], "file": case["file"], "section": case["section"],
                            "sentence": case["sentence"], "reading": read, "verdict": judged,
                            "why": [why for why in (why_read, why_judged) if why]})
        reader.stdin.close()
    return results


def main():
    """Runs the command that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--document", action="append", default=[], help="only the cases of this document")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the reader under test")
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("name the command of a reader, such as: python3 adapters/python_asdf.py")
    results = run(arguments.command, arguments.document)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    wrong = [one for one in results if one["reading"] in ("wrong", "refused, but conforms") or one["verdict"] == "wrong"]
    for one in wrong:
        print(f"{one['document']}/{one['file']}: reading {one['reading']}, verdict {one['verdict']}")
        for why in one["why"]:
            print(f"    {why}")
    count = {word: sum(one["reading"] == word for one in results) for word in sorted({one["reading"] for one in results})}
    print(f"{len(results)} cases, {len(wrong)} wrong; reading: {count}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
