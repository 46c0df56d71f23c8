"""Runs benches/overlap_collective.c on our library, in every way to make progress, and on others.

Started by scripts/bench-overlap. Three runs for each number of ranks: one where the application waits
for something that is not MPI, one where it computes, all ranks on one processor and threads of
the library on another one, and one of the time to solution, with ranks on all processors.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import libraries
from libraries import OURS, ROOT, Variant, known, varied
from peers import build, run

OPERATIONS = ["bcast", "allgather"]
FORMS = ["nonblocking", "persistent"]
APPLICATIONS = {"sleep": [], "compute": ["-p", "0"]}
# With 1 ms of computing.
SOLUTION = {"solution": ["-s", "1"]}
LIMIT_S = 50
MODES = ["polling", "thread", "auto"]
# Threads of the library may use any processor, as those of the other libraries: where the application computes, one
# is free.
UNBOUND = ["--bind-to", "none"]


def host(mode, device):
    """Progress by the host."""
    environment = {"SUIRO_PROGRESS": mode, "SUIRO_DEVICE": device, "SUIRO_OFFLOAD": "off"}
    return Variant(f"{device}, {mode}", UNBOUND, environment)


def variants():
    """Ours: the host in all modes on all devices, and interfaces."""
    yield from (host(mode, device) for device in ["shm", "tofu", "tcp"] for mode in MODES)
    offload = {"SUIRO_DEVICE": "tofu", "SUIRO_OFFLOAD": "auto", "SUIRO_TOFU_CPUS": "1"}
    for generation in ["tofud", "tofu2"]:
        environment = {**offload, "SUIRO_TOFU_GENERATION": generation}
        yield Variant(f"{generation}, offload", UNBOUND, environment)
    for device in ["shm", "tcp"]:
        offload = {"SUIRO_DEVICE": device, "SUIRO_OFFLOAD": "tank"}
        yield Variant(f"{device}, offload", UNBOUND, offload)


def chosen(options):
    if options.peers:
        libraries.PEERS = Path(options.peers).resolve()
    for library in known(Path(options.suiro).resolve()):
        if options.only and library.name not in options.only:
            continue
        if library.name == OURS:
            yield from (varied(library, variant) for variant in variants())
        elif library.wrapper().exists():
            yield replace(library)
        else:
            print(f"scripts/bench-overlap: no {library.name} in {library.folder}", file=sys.stderr)


def program(library):
    """The program, built with the library's wrapper."""
    path = ROOT / "build" / "bench" / f"overlap_collective-{library.name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    source = ROOT / "benches" / "overlap_collective.c"
    build([library.wrapper(), "-std=gnu11", "-O2", "-o", path, source], library.environment)
    return path


def measured(library, path, ranks, options):
    """The medians by name, and what went wrong."""
    figures = {}
    for application, words in {**APPLICATIONS, **SOLUTION}.items():
        command = library.command(ranks, [path, "-m", options.bytes, "-w", options.windows, *words])
        result = run(command, library.environment, LIMIT_S)
        if result.why:
            print(f"{library.peer}, {ranks} ranks, {application}: {result.why}", file=sys.stderr)
        for line in result.lines:
            fields = line.split()
            if len(fields) == 8:
                name = fields[0].replace("_blocking", f"_blocking_{application}")
                status = fields[7]
                figures[name] = float(fields[4]) if status == "ok" else status
    return figures


def cell(figures, name):
    value = figures.get(name, "-")
    return value if isinstance(value, str) else f"{value:.0f}"


def table(rows, ranks):
    """Rows by library; of each operation and application the blocking time and what is hidden."""
    columns = [(operation, kind) for operation in OPERATIONS for kind in APPLICATIONS]
    heads = [
        f"{operation}, {kind}: {what}"
        for operation, kind in columns
        for what in ["blocking, us", "nonblocking, % hidden", "persistent, % hidden", "calls, us"]
    ]
    lines = [f"| {ranks} ranks | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for peer, figures in rows:
        cells = [
            cell(figures, name)
            for operation, kind in columns
            for name in [
                f"{operation}_blocking_{kind}",
                *(f"{operation}_{form}_{kind}" for form in FORMS),
                f"{operation}_persistent_{kind}_calls",
            ]
        ]
        lines.append(f"| {peer} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def solutions(rows, ranks):
    """Rows by library; of each operation and form the time to solution."""
    columns = [(operation, form) for operation in OPERATIONS for form in FORMS]
    heads = [f"{operation}, {form}" for operation, form in columns]
    lines = [
        f"| {ranks} ranks, time to solution to the blocking call's | " + " | ".join(heads) + " |",
        "|---" * (len(heads) + 1) + "|",
    ]
    for peer, figures in rows:
        names = [f"{operation}_{form}_solution" for operation, form in columns]
        cells = [figures.get(name, "-") for name in names]
        cells = [cell if isinstance(cell, str) else f"{cell:.2f}" for cell in cells]
        lines.append(f"| {peer} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench-overlap")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--bytes", type=int, default=1 << 20, help="of the message (1 MiB)")
    parser.add_argument("--windows", type=int, default=15, help="of each figure (15)")
    parser.add_argument("--only", nargs="+", help="libraries, by name")
    parser.add_argument("--peers", help="where the other libraries are (build/peers)")
    parser.add_argument("--suiro", help="where ours is, built already")
    options = parser.parse_args()
    if options.suiro is None:
        build(["cargo", "build", "--release", "--quiet", "--bins", "--lib"])
        options.suiro = ROOT / "target" / "release"
    found = [(library, program(library)) for library in chosen(options)]
    for ranks in options.ranks:
        rows = [
            (library.peer, measured(library, path, ranks, options)) for library, path in found
        ]
        print(table(rows, ranks), solutions(rows, ranks), sep="\n\n", flush=True)
        print()


if __name__ == "__main__":
    main()
