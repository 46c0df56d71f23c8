"""Runs the test suite of mpi4py on several numbers of ranks and compares with what is expected.

usage: suite.py [--ranks N,N..] [--only PATTERN] [--without-known] SUITE EXPECTED LAUNCHER [OPTION...]

SUITE is the folder with the tests, EXPECTED a file as in expected.py with names `module.Class.method`.

Everything else must pass or be skipped, and a known failure must not pass; a pattern that names no
test is an error too. Known failures run in jobs of their own, one for each class, after all others,
and may leave those in any state; --without-known leaves them out. A job in which no test begins or ends for a while is killed, the
test that it was in has failed, and the others go on in a new job.
"""

import argparse
import collections
import fnmatch
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from expected import Expected

# Seconds without any progress after which a job hangs: the slowest test takes a few.
STALL_S = float(os.environ.get("STALL_S", "60"))
KNOWN_STALL_S = 15.0
TICK_S = 0.1
RANK_SCRIPT = Path(__file__).with_name("suite_rank.py")
# From good to bad: a test ended on all ranks as it did on the worst.
ORDER = ["passed", "skipped", "began", "failed"]

Outcome = collections.namedtuple("Outcome", "verdict why")


class Journals:
    """What the ranks of one job wrote, read as it grows."""

    def __init__(self, folder, ranks):
        self.files = [open(folder / str(rank), "w+") for rank in range(ranks)]
        self.outcomes = [{} for _ in range(ranks)]

    def read(self):
        """Whether anything is new."""
        new = False
        for file, outcomes in zip(self.files, self.outcomes):
            while (line := file.readline()).endswith("\n"):
                entry = json.loads(line)
                outcomes[entry["test"]] = Outcome(entry["outcome"], entry["why"])
                new = True
            # The rest of a line that is being written is read again.
            file.seek(file.tell() - len(line.encode()))
        return new

    def of(self, test):
        """How the test ended on the worst rank; None where it did not begin."""
        ends = [outcomes.get(test) for outcomes in self.outcomes]
        begun = [end for end in ends if end is not None]
        if not begun:
            return None
        worst = max(begun, key=lambda end: ORDER.index(end.verdict))
        if worst.verdict != "failed" and len(begun) < len(ends):
            return Outcome("began", "")
        return worst


def end(process):
    """Ends a launcher, which ends its ranks; with force if it does not."""
    for number, limit_s in ((signal.SIGTERM, 5), (signal.SIGKILL, None)):
        process.send_signal(number)
        try:
            process.wait(limit_s)
            return
        except subprocess.TimeoutExpired:
            pass


def run_job(launcher, suite, tests, ranks, stall_s):
    """One job; the outcomes of the tests that began, and what it said if it did not end well."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile("w+") as said:
        folder = Path(name)
        # Not by standard input: launchers lose what does not fit into a pipe.
        (folder / "wanted").write_text("\n".join(tests))
        journals = Journals(folder, ranks)
        words = [*launcher, "-n", str(ranks), sys.executable, RANK_SCRIPT, suite, folder]
        # Processes that a test spawns find the modules of the suite, too.
        environment = os.environ | {"PYTHONPATH": str(suite)}
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment)
        moved = time.monotonic()
        why = None
        while process.poll() is None and why is None:
            time.sleep(TICK_S)
            if journals.read():
                moved = time.monotonic()
            elif time.monotonic() - moved > stall_s:
                why = f"hung for {stall_s:.0f} s"
        if why:
            end(process)
        journals.read()
        if why is None and process.returncode != 0:
            said.seek(0)
            lines = [line for line in said.read().splitlines() if "Suiro" in line or "mpirun" in line]
            why = f"the job ended with {process.returncode}: {' | '.join(lines[-2:])[:400]}"
    found = {}
    for test in tests:
        end_of_test = journals.of(test)
        if end_of_test is None:
            break
        if end_of_test.verdict == "began":
            # Ranks may have gone on without the one that did not get over this test.
            found[test] = Outcome("failed", why or "some ranks did not run it")
            break
        found[test] = end_of_test
    return found, why


def run(launcher, suite, tests, ranks, stall_s):
    """All tests, in as many jobs as that takes."""
    outcomes, left = {}, list(tests)
    while left:
        found, why = run_job(launcher, suite, left, ranks, stall_s)
        if not found:
            found = {left[0]: Outcome("failed", why or "no test began")}
        outcomes |= found
        left = [test for test in left if test not in outcomes]
    return outcomes


def classes(tests):
    """The tests by the class that they are in."""
    groups = collections.defaultdict(list)
    for test in tests:
        groups[test.rpartition(".")[0]].append(test)
    return groups.values()


def check(launcher, suite, tests, ranks, expected, with_known):
    """Runs everything on so many ranks; the complaints."""
    entries = {test: expected.entry(test, ranks) for test in tests}
    unknown = [test for test in tests if entries[test] is None]
    known = [test for test in tests
             if with_known and entries[test] and not entries[test].get("hangs")]
    began = time.monotonic()
    outcomes = run(launcher, suite, unknown, ranks, STALL_S)
    complaints = [f"{test} failed: {outcomes[test].why}" for test in unknown
                  if outcomes[test].verdict == "failed"]
    for group in classes(known):
        outcomes |= run(launcher, suite, group, ranks, KNOWN_STALL_S)
    complaints += [f"{test} passes although it is expected to fail: {entries[test]['reason']}"
                   for test in known if outcomes[test].verdict == "passed"]
    count = collections.Counter(outcome.verdict for outcome in outcomes.values())
    print(f"mpi4py's suite, {ranks} ranks: {count['passed']} passed, {count['skipped']} skipped, "
          f"{count['failed']} failed, {len(tests) - len(outcomes)} not tried "
          f"({time.monotonic() - began:.0f} s)", flush=True)
    if len(tests) == expected.total:
        complaints += expected.too_few(ranks, count["passed"])
    return [f"{complaint} ({ranks} ranks)" for complaint in complaints]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", default="1,2,3,5")
    parser.add_argument("--only", default="*")
    parser.add_argument("--without-known", action="store_true")
    parser.add_argument("suite")
    parser.add_argument("expected")
    parser.add_argument("launcher", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    expected = Expected(options.expected)
    words = [*options.launcher, "-n", "1", sys.executable, RANK_SCRIPT, options.suite, "."]
    listing = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    if listing.returncode != 0:
        sys.exit(f"the tests cannot be listed:\n{listing.stderr}")
    tests = listing.stdout.split()
    expected.total = len(tests)
    complaints = expected.complaints(tests)
    tests = fnmatch.filter(tests, options.only)
    for ranks in map(int, options.ranks.split(",")):
        complaints += check(options.launcher, options.suite, tests, ranks, expected,
                            not options.without_known)
    print("\n".join(complaints), end="\n" if complaints else "")
    sys.exit(1 if complaints else 0)


main()
