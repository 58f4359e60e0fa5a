"""`check`, `verify`, `verify --conform` and `validate` agree on each sample of the corpus. Tier rest."""

import json
import subprocess
import unittest

import peer

CORPUS = peer.ROOT / "tests/conformance"
DOCUMENTS = sorted(path.parent.name for path in CORPUS.glob("*/cases.json"))


def lines(*words):
    """Status and one JSON document a file, by its name."""
    done = subprocess.run([peer.PROGRAM, *words, "--json"], capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, {found["file"]: found for found in map(json.loads, done.stdout.splitlines())}


class Agreement(unittest.TestCase):
    def test_checks_agree_on_every_corpus_file(self):
        for document in DOCUMENTS:
            cases = json.loads((CORPUS / document / "cases.json").read_text())
            files = [str(CORPUS / document / case["file"]) for case in cases]
            # Two names at least, so that each result is one line.
            one, *rest = (lines(*words, *files)[1] for words in (
                ["check", "--spec", document], ["verify"], ["validate"], ["verify", "--conform", document]
            ))
            self.assertEqual(set(one), set(files))
            for case, file in zip(cases, files):
                with self.subTest(file=file):
                    verified, validated, conforming = (found[file] for found in rest)
                    found = one[file]
                    parts = [found["verify"]["valid"]]
                    if "error" in verified:
                        # The file is of no known format: `check` reports the same problem, and goes on.
                        self.assertIsNone(found["verify"]["valid"])
                        self.assertEqual(found["verify"]["problems"][0]["message"], verified["error"]["message"])
                        self.assertIsNone(found["validate"])
                    else:
                        self.assertEqual((found["verify"], found["validate"]), (verified, validated))
                        parts.append(validated["valid"])
                    self.assertEqual(found["conform"], conforming)
                    parts.append(conforming["conforms"])
                    self.assertEqual(found["ok"], False if False in parts else None if None in parts else True)
                    self.assertEqual(conforming["conforms"], case["conforms"])
                    if case["conforms"]:
                        self.assertIsNot(verified.get("valid"), False, "a file that conforms is not damaged")


if __name__ == "__main__":
    unittest.main()
