"""Runs tests of mpi4py's own suite on one rank, and writes down how each of them ended.

usage: suite_rank.py SUITE RESULTS

SUITE is the folder with the tests, RESULTS/wanted a file with a test's name per line. Each rank
appends to RESULTS/RANK one line of JSON when a test begins and one when it ended, so that whoever
reads them knows where a job hung or died. Names are those of unittest: `module.Class.method`. Without
that file it only lists, one per line, all there are.
"""

import json
import sys
import unittest
from pathlib import Path


def tests_of(suite):
    """The tests of a nested suite, in their order."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


class Journal(unittest.TestResult):
    """Writes what becomes of each test."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.outcome = None

    def write(self, test, outcome, why=""):
        line = json.dumps({"test": test.id(), "outcome": outcome, "why": why})
        self.file.write(line + "\n")
        self.file.flush()

    def startTest(self, test):
        super().startTest(test)
        self.outcome = ("passed", "")
        self.write(test, "began")

    def stopTest(self, test):
        super().stopTest(test)
        self.write(test, *self.outcome)

    def fail(self, error):
        self.outcome = ("failed", " ".join(f"{error[0].__name__}: {error[1]}".split())[-400:])

    def addError(self, test, error):
        super().addError(test, error)
        self.fail(error)
        if isinstance(test, unittest.TestCase):
            return
        # What prepares a class or a module failed: its tests do not even begin.
        self.write(test, *self.outcome)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.fail(error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.fail(error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.outcome = ("skipped", reason)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.outcome = ("failed", "it passed although the suite expects a failure")


def main():
    folder, results = Path(sys.argv[1]), Path(sys.argv[2])
    # What else is installed here must not decide which tests there are.
    for package in ("cupy", "numba", "numpy", "cffi"):
        sys.modules[package] = None
    from mpi4py import MPI

    # A file that cannot even be loaded is a test of its own, which fails.
    suite = unittest.TestLoader().discover(str(folder))
    found = {test.id(): test for test in tests_of(suite)}
    try:
        wanted = (results / "wanted").read_text().split()
    except OSError:
        print("\n".join(found))
        return
    with open(results / str(MPI.COMM_WORLD.rank), "a") as file:
        unittest.TestSuite(found[name] for name in wanted).run(Journal(file))


# Processes that a test spawns import this file, too.
if __name__ == "__main__":
    main()
