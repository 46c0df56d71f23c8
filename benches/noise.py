"""Runs benches/noise.c on our library: allreduce by recursive doubling, and with redundant exchanges,
under injected noise.

Started by scripts/bench-noise. Jobs of all algorithms take turns, so that a disturbance of the machine
meets all of them; a figure is the mean over the turns.
"""

import argparse
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from libraries import OURS, ROOT, known
from peers import build, run

BASE = "doubling"
ALGORITHMS = [BASE, "redundant:0,1", "redundant:1,1", "redundant:1,3"]
# Lengths and periods in units of --length.
PERIOD = 10
KINDS = ["none", "periodic", "random", "synchronous", "periodic,sends", "random,sends"]
# A call, beside the noise of two interruptions; a job.
CALL_US, LIMIT_S = 10_000, 120


@dataclass
class Figures:
    """Of the calls that count in a job, or in several; times in microseconds."""

    calls: int
    mean: float
    last: float
    loop: float


def together(jobs):
    """The figures of all calls of jobs."""
    calls = sum(job.calls for job in jobs)
    weighted = [
        sum(job.calls * getattr(job, name) for job in jobs) / max(calls, 1)
        for name in ["mean", "last"]
    ]
    return Figures(calls, *weighted, mean(job.loop for job in jobs))


def noise(kind, options, turn):
    """The value of the setting, with a seed for each turn."""
    name, *words = kind.split(",")
    if name == "none":
        return name
    numbers = f"{PERIOD * options.length},{options.length}"
    return ",".join([f"{name}:{numbers}", f"seed={turn + 1}", *words])


def measured(library, program, ranks, algorithm, kind, turn, options):
    """The figures of a job; ends the script if results are wrong."""
    gap_us = 2 * (2 * options.length + CALL_US)
    words = [program, "-c", options.calls, "-g", gap_us, "-l", options.length // 10]
    words += ["-b", options.loop]
    settings = {"SUIRO_COLL_ALLREDUCE": algorithm, "SUIRO_NOISE": noise(kind, options, turn)}
    settings["SUIRO_WAIT"] = options.wait
    result = run(library.command(ranks, words), {**library.environment, **settings}, LIMIT_S)
    fields = result.lines[-1].split() if result.lines else [""]
    if result.why or fields[-1] != "ok":
        shown = shlex.join(f"{name}={value}" for name, value in settings.items())
        why = result.why or f"results are {fields[-1]}"
        sys.exit(f"scripts/bench-noise: {ranks} ranks, {shown}: {why}")
    return Figures(int(fields[2]), *map(float, fields[3:6]))


def row(kind, ranks, figures):
    """A line of the table. Ratios are those to the first algorithm."""
    base = figures[0]
    cells = [kind, str(ranks)]
    for one in figures:
        for name in ["mean", "last", "loop"]:
            value, of_base = getattr(one, name) / 1000, getattr(base, name) / 1000
            if one.calls == 0 or of_base == 0:
                cells.append("-")
            elif one is base:
                cells.append(f"{value:.2f}")
            else:
                cells.append(f"{value:.2f} ({value / of_base:.2f})")
    cells.append(str(min(one.calls for one in figures)))
    return "| " + " | ".join(cells) + " |"


def table(library, program, options):
    heads = [f"{name}, {what}" for name in options.algorithms for what in ["mean", "max", "loop"]]
    heads = ["noise", "ranks", *heads, "calls"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads), flush=True)
    for kind in options.kinds:
        for ranks in options.ranks:
            turns = [
                [
                    measured(library, program, ranks, algorithm, kind, turn, options)
                    for algorithm in options.algorithms
                ]
                for turn in range(options.turns)
            ]
            figures = [together(jobs) for jobs in zip(*turns)]
            print(row(kind, ranks, figures), flush=True)


def chosen():
    parser = argparse.ArgumentParser(prog="scripts/bench-noise")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--length", type=int, default=10000, help="of an interruption, us (10000)")
    parser.add_argument("--calls", type=int, default=60, help="at agreed times of a job (60)")
    parser.add_argument("--loop", type=int, default=1000, help="calls back to back of a job (1000)")
    parser.add_argument("--turns", type=int, default=4, help="jobs of each algorithm (4)")
    parser.add_argument("--kinds", nargs="+", default=KINDS, help=", ".join(KINDS))
    parser.add_argument("--algorithms", nargs="+", default=ALGORITHMS, help="the first is the base")
    parser.add_argument("--wait", default="sleep", help="SUIRO_WAIT (sleep)")
    parser.add_argument("--suiro", help="where ours is, built already")
    return parser.parse_args()


def main():
    options = chosen()
    if options.suiro is None:
        build(["cargo", "build", "--release", "--quiet", "--bins", "--lib"])
        options.suiro = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    library = next(one for one in known(Path(options.suiro).resolve()) if one.name == OURS)
    program = ROOT / "build" / "bench" / "noise"
    program.parent.mkdir(parents=True, exist_ok=True)
    source = ROOT / "benches" / "noise.c"
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-O2"]
    build([library.wrapper(), *flags, "-o", program, source], library.environment)
    print(f"an interruption of {options.length} us in each {PERIOD * options.length} us; times in ms")
    print(f"(in parentheses: divided by that of {options.algorithms[0]}); calls: at least so many of")
    print(f"each algorithm, those that all ranks began within {options.length // 10} us\n")
    table(library, program, options)


if __name__ == "__main__":
    main()
