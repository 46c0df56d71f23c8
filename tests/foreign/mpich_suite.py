"""Runs the tests of MPICH's own test suite and compares with what is expected.

usage: mpich_suite.py [--only PATTERN] [--fortran MPIFORT] SOURCE BUILD MPICC EXPECTED LAUNCHER [OPTION...]

Those in C, or with --fortran those in Fortran (mpif.h, module mpi, module mpi_f08) instead.

SOURCE is `test/mpi` of MPICH's sources, BUILD a folder for what is built; EXPECTED a file as in
expected.py. What is run, on how many ranks and what must become of it is said by the `testlist` of
each folder; a test is called by its line there: `comm/icm 8`, arguments included. Lines that only
change a setting of MPICH's, what the suite itself calls a known failure, and what needs more memory
than is available are left out. The suite is configured to be strict: it leaves out what only MPICH
does.

The folder `ft` is different (FAILURES): its tests are run with the launcher's option for jobs that survive
failures, those that are known to fail on MPICH too, and with the names of `mpi-ext.h`.
"""

import argparse
import collections
import fnmatch
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from expected import Expected

FOLDERS = [
    "attr", "basic", "coll", "comm", "datatype", "errhan", "group", "info", "init", "io", "mpi_t", "part", "pt2pt",
    "rma", "session", "spawn", "topo", "ft", "errors/attr", "errors/coll", "errors/comm", "errors/datatype", "errors/group",
    "errors/io", "errors/pt2pt", "errors/rma", "errors/session", "errors/spawn", "errors/topo", "threads/coll", "threads/comm",
    "threads/init", "threads/part", "threads/pt2pt", "threads/rma", "threads/spawn",
]
FORTRAN_PARTS = {
    "f77": ["attr", "coll", "comm", "datatype", "ext", "info", "init", "io", "profile", "pt2pt", "rma", "spawn", "topo"],
    "f90": ["attr", "coll", "comm", "datatype", "ext", "f90types", "info", "init", "io", "misc", "profile", "pt2pt",
            "rma", "spawn", "timer", "topo"],
    "f08": ["attr", "coll", "comm", "datatype", "ext", "info", "init", "io", "misc", "profile", "pt2pt", "rma", "spawn", "subarray",
            "timer", "topo"],
}
FORTRAN_FOLDERS = [f"{binding}/{part}" for binding, parts in FORTRAN_PARTS.items() for part in parts]
# Tests of jobs that survive failures. MPICH's launcher and setting for them are not those of other libraries,
# and the header for the functions is mpi-ext.h except with MPICH.
FAILURES = "ft"
FAILURES_LAUNCHER = ["--with-ft", "ulfm"]
FAILURES_COMPILER = ["CFLAGS=-O0 -w -include mpi-ext.h"]
# Seconds for one test, unless the list gives it more (MPICH's own script has the same), and for
# building one folder.
TEST_S = float(os.environ.get("TEST_S", "180"))
BUILD_S = 900
# Memory for one test: most of what is available.
AVAILABLE = re.search(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text())
MEMORY_GB = 0.8 * int(AVAILABLE[1]) / 1e6 if AVAILABLE else 4

Test = collections.namedtuple("Test", "folder program ranks arguments limit_s result environment")


def parsed(folder, line):
    """The test of one line of a list; None for what is left out."""
    program, ranks, *options = line.split()
    arguments, limit_s, result, environment = [], TEST_S, "", []
    for option in options:
        key, _, value = option.partition("=")
        match key:
            case "arg":
                arguments.append(value)
            case "timeLimit":
                limit_s = max(limit_s, float(value))
            case "env" | "xfail" if folder == FAILURES:
                pass
            case "env" if value.startswith("MPIR_CVAR") or value.startswith("MPIR_PARAM"):
                return None
            case "env":
                environment.append(value)
            case "resultTest":
                result = value
            case "xfail":
                return None
            case "mpiversion" if value > "4.0":
                return None
            case "mem" if float(value) > MEMORY_GB:
                return None
    return Test(folder, program, ranks, tuple(arguments), limit_s, result, tuple(environment))


def tests_of(folder, build, source):
    """The tests of a folder, each once."""
    lists = [place / folder / "testlist" for place in (build, source)]
    text = next((path.read_text() for path in lists if path.exists()), "")
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    found = (parsed(folder, line) for line in lines if re.match(r"\S+\s+\d", line))
    return list(dict.fromkeys(test for test in found if test))


def name_of(test):
    return " ".join([f"{test.folder}/{test.program}", test.ranks, *test.arguments])


def make(build, folder, programs):
    """Builds programs of a folder as far as that goes."""
    more = FAILURES_COMPILER if folder == FAILURES else []
    words = ["make", "-s", "-k", "-C", build / folder, *more, *programs]
    with open(build / "make.log", "a") as log:
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=BUILD_S)


def prepare(source, build, mpicc, mpifort):
    """Configures the suite and builds what all tests use."""
    build.mkdir(parents=True, exist_ok=True)
    fortran = ["--disable-fortran"]
    if mpifort:
        fortran = ["--enable-fortran=all", f"MPIF77={mpifort}", f"MPIFC={mpifort}", "FFLAGS=-O0 -w",
                   "FCFLAGS=-O0 -w"]
    if not (build / "Makefile").exists():
        words = [source.resolve() / "configure", "--disable-cxx", *fortran,
                 "--enable-romio", "--enable-strictmpi", "--enable-large-tests", f"MPICC={mpicc}", "CC=gcc",
                 "CFLAGS=-O0 -w"]
        with open(build / "configure.log", "w") as log:
            subprocess.run(words, cwd=build, stdout=log, stderr=log, check=True, timeout=BUILD_S)
    if mpifort:
        libraries = [f"libmtest_{binding}.la" for binding in FORTRAN_PARTS]
        # Outside MPICH its configure script leaves this one empty.
        make(build, "util", [*libraries, "libmtest_single.la", "am_libmtest_f08_la_OBJECTS=mtest_f08.lo"])
    else:
        make(build, "util", ["libmtest.la", "libmtest_single.la"])
        make(build, "dtpools", [])


def failure(test, build, launcher, settings):
    """Runs a test with variables set; why it failed, or None."""
    program = build / test.folder / test.program
    if not program.exists():
        return "it does not compile"
    more = FAILURES_LAUNCHER if test.folder == FAILURES else []
    words = ["timeout", "--kill-after=5", str(test.limit_s), *launcher, *more, "-n", test.ranks,
             f"./{test.program}", *test.arguments]
    own = dict(setting.split("=", 1) for setting in test.environment)
    environment = os.environ | settings | own
    started_s = time.monotonic()
    ended = subprocess.run(words, cwd=program.parent, stdin=subprocess.DEVNULL, text=True,
                           errors="replace", capture_output=True, env=environment)
    said = " | ".join((ended.stdout + ended.stderr).split("\n")[-12:])[-700:]
    # A launcher may return 124 for a time limit of its own.
    if ended.returncode in (124, 137) and time.monotonic() - started_s >= test.limit_s:
        return f"it hung for {test.limit_s:.0f} s: {said}"
    no_errors = re.search(r"^\s*No [Ee]rrors\s*$", ended.stdout, re.M)
    match test.result:
        case "TestStatus" | "TestErrFatal" | "TestStatusNoErrors":
            # Launchers differ in the exit code of a job that has survived a failure.
            bad_exit = ended.returncode != 0 or (test.folder == FAILURES and test.result == "TestStatusNoErrors")
            good = bad_exit and (test.result != "TestStatusNoErrors" or no_errors)
        case _:
            good = ended.returncode == 0 and no_errors
    return None if good else f"exit code {ended.returncode}: {said}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="*")
    parser.add_argument("--fortran", metavar="MPIFORT")
    for name in ("source", "build"):
        parser.add_argument(name, type=Path)
    for name in ("mpicc", "expected"):
        parser.add_argument(name)
    parser.add_argument("launcher", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    source, build = options.source.resolve(), options.build.resolve()
    prepare(source, build, options.mpicc, options.fortran)
    expected = Expected(options.expected)
    folders = FORTRAN_FOLDERS if options.fortran else FOLDERS
    tests = [test for folder in folders for test in tests_of(folder, build, source)]
    complaints = expected.complaints([name_of(test) for test in tests])
    count, total = collections.Counter(), len(tests)
    tests = [test for test in tests if fnmatch.fnmatchcase(name_of(test), options.only)]
    for folder in folders:
        here = [test for test in tests if test.folder == folder]
        if here:
            make(build, folder, sorted({test.program for test in here}))
        for test in here:
            entry = expected.entry(name_of(test))
            if entry and (entry.get("hangs") or entry.get("varies")):
                count["not tried"] += 1
                continue
            settings = expected.environment(name_of(test))
            test = test._replace(limit_s=max(test.limit_s, expected.limit_s(name_of(test))))
            why = failure(test, build, options.launcher, settings)
            count["failed" if why else "passed"] += 1
            if why and not entry:
                complaints.append(f"{name_of(test)}: {why}")
                print(complaints[-1], flush=True)
            elif entry and not why:
                complaints.append(f"{name_of(test)} passes although it is expected to fail: {entry['reason']}")
    print("MPICH's suite:", ", ".join(f"{number} {what}" for what, number in sorted(count.items())))
    if len(tests) == total:
        complaints += expected.too_few("all", count["passed"])
    print("\n".join(complaints))
    sys.exit(1 if complaints else 0)


main()
