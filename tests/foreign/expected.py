"""Failures of a foreign test suite that are known: a TOML file, with a reason for each.

    [passed]                      how many tests pass at least, by number of ranks or, for a suite
    3 = 1400                      that chooses that itself, "all": a test that is skipped from now
                                  on is found out
    [[failure]]
    tests = ["test_rma.*"]        patterns of names
    ranks = [2, 3]                where, if not everywhere
    hangs = true                  so that it is not even tried
    varies = true                 nor is it if the result depends on what the test does not set
    reason = "why"
    [[setting]]
    tests = ["errors/*"]          patterns of names, of a suite of programs
    environment = { NAME = "" }   what they need to be set
    limit_s = 900                 the time that they need
    reason = "why"
"""

import fnmatch
import tomllib
from pathlib import Path


class Expected:
    """The failures that are known."""

    def __init__(self, path):
        table = tomllib.loads(Path(path).read_text())
        self.passed = table.get("passed", {})
        self.entries = table.get("failure", [])
        self.settings = table.get("setting", [])

    def entry(self, test, ranks=None):
        """The first entry that names the test."""
        for entry in self.entries:
            if ranks in entry.get("ranks", [ranks]) and names(entry, test):
                return entry
        return None

    def environment(self, test):
        """The variables that are to be set for the test."""
        settings = [entry.get("environment", {}) for entry in self.settings if names(entry, test)]
        return {name: value for setting in settings for name, value in setting.items()}

    def limit_s(self, test):
        """The time that the test needs, in seconds; 0 if it does not matter."""
        return max((entry.get("limit_s", 0) for entry in self.settings if names(entry, test)), default=0)

    def complaints(self, tests):
        """About patterns that name none of all tests."""
        entries = self.entries + self.settings
        patterns = [pattern for entry in entries for pattern in entry["tests"]]
        return [f"no test is called {pattern}" for pattern in patterns
                if not fnmatch.filter(tests, pattern)]

    def too_few(self, ranks, count):
        """Complains where fewer tests pass than once did."""
        wanted = self.passed.get(str(ranks), 0)
        return [f"{count} tests pass, not {wanted} as before"] if count < wanted else []


def names(entry, test):
    return any(fnmatch.fnmatchcase(test, pattern) for pattern in entry["tests"])
