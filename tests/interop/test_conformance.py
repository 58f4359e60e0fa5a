"""The corpus of tests/conformance: that its files are what its sources make, and what Python asdf makes of them."""

import importlib.util
import json
import os
import subprocess
import sys
import unittest

import asdf
from peer import PROGRAM, ROOT

CORPUS = ROOT / "tests/conformance"
RESULTS = CORPUS / "results/python-asdf.json"


def runner():
    """The module run.py."""
    spec = importlib.util.spec_from_file_location("conformance_run", CORPUS / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Conformance(unittest.TestCase):
    """What other programs rely on: the files, the runner, and the recorded results."""

    def test_the_files_are_what_the_sources_make(self):
        """The corpus is committed as files; make.py makes the same."""
        made = subprocess.run([sys.executable, CORPUS / "make.py", "--check"], capture_output=True, check=False, text=True)
        self.assertEqual((made.returncode, made.stdout.strip()), (0, ""))

    def test_what_python_asdf_makes_of_the_corpus_is_recorded(self):
        """The results are those in the repository; BLESS=1 writes them."""
        results = runner().run([sys.executable, str(CORPUS / "adapters/python_asdf.py")])
        found = {
            "program": f"Python asdf {asdf.__version__.split('.')[0]}",
            "results": {f"{one['document']}/{one['file']}": one["reading"] for one in results if one["reading"] != "not tried"},
        }
        if os.environ.get("BLESS"):
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        self.assertEqual(found, json.loads(RESULTS.read_text()))

    def test_verify_and_validate_accept_conforming_samples(self):
        """What `verify --conform` accepts, `verify` and `validate` accept, too; what they refuse does not conform. Tier: rest."""
        documents = ["finf-0.1", "asdf-0.1-dev", "asdf-0.1", "asdf-1.x"]
        cases = [(name, case) for name in documents for case in json.loads((CORPUS / name / "cases.json").read_text())]
        for name, case in cases:
            if case["conforms"] is not True:
                continue
            path = CORPUS / name / case["file"]
            for command in [["verify", "--deep"], ["validate"], ["verify", "--conform", name]]:
                ended = subprocess.run([PROGRAM, *command, path], capture_output=True, check=False, text=True)
                with self.subTest(case["file"], command=command):
                    self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)


if __name__ == "__main__":
    unittest.main()
