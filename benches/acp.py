"""Runs benches/acp.c on our library: the eight conditions of a paper, and copies of all lengths.

Started by scripts/bench-acp. The paper is Nose et al., "Performance optimization of the ACP library",
2015: its table 3 has the time of acp_add4 and its completion on a Fujitsu FX100, with and without four
techniques. Here each technique is a setting, and the time is taken on this machine.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from libraries import OURS, ROOT, Variant, known, varied
from peers import build, parsed, run
from report import digits, size_name

TECHNIQUES = ["atomics", "descriptors", "threads", "bypass"]
HEADINGS = ["hw atomic", "descriptor", "thread safe", "bypass"]
# The techniques of each condition, and what the paper measured: remote and local, in us.
CONDITIONS = [
    ("----", 8.57, 1.43),
    ("--t-", 8.61, 2.17),
    ("a---", 3.91, 3.36),
    ("ad--", 3.68, 3.23),
    ("a-t-", 4.44, 3.64),
    ("adt-", 4.31, 3.51),
    ("a-tb", 4.39, 3.87),
    ("adtb", 4.26, 3.77),
]
DEVICES = {"shm": "shared memory", "tofu": "simulated interfaces", "tcp": "TCP"}
MEMORY = {"": "starter memory", "registered-": "registered memory"}
COPIES = {
    "put-null": "local to remote, at once",
    "put-all": "local to remote, in order",
    "get-null": "remote to local, at once",
    "get-all": "remote to local, in order",
    "third-null": "remote to remote, at once",
    "third-all": "remote to remote, in order",
    "round": "there and back, in order",
    "through": "remote to remote, by a get and a put",
}
RANKS = 3
LIMIT_S = 100


@dataclass
class Condition:
    """A row of the paper's table."""

    number: int
    has: str
    remote_us: float
    local_us: float

    def environment(self, device):
        without = [name for name in TECHNIQUES if name[0] not in self.has]
        # Without bypass a thread carries out all accesses.
        progress = "windows" if "b" in self.has else "delegate"
        return {
            "SUIRO_DEVICE": device,
            "SUIRO_ACP_WITHOUT": ",".join(without) or "none",
            "SUIRO_PROGRESS": progress,
        }

    def cells(self):
        return [str(self.number), *("yes" if name[0] in self.has else "-" for name in TECHNIQUES)]


def conditions():
    return [Condition(number, *row) for number, row in enumerate(CONDITIONS, 1)]


class Bench:
    def __init__(self, options):
        self.options = options
        self.library = next(one for one in known(options.suiro.resolve()) if one.name == OURS)
        self.programs = {}
        for name, interface in [("acp", "acp"), ("windows", "mpi")]:
            path = ROOT / "build" / "bench" / f"{name}-{OURS}"
            path.parent.mkdir(parents=True, exist_ok=True)
            wrapper = self.library.wrapper(interface)
            source = ROOT / "benches" / f"{name}.c"
            build([wrapper, "-std=gnu11", "-O2", "-o", path, source])
            self.programs[name] = path

    def values(self, environment, tests, program="acp", ranks=RANKS):
        """The medians of all repetitions by test and bytes."""
        library = varied(self.library, Variant("", environment=environment))
        words = [self.programs[program], "-t", self.options.point_ms, *tests]
        found = {}
        for _ in range(self.options.repetitions):
            result = run(library.command(ranks, words), library.environment, LIMIT_S)
            if result.why:
                sys.exit(f"scripts/bench-acp: {environment}: {result.why}")
            figures = [parsed(line) for line in result.lines if not line.startswith("library ")]
            for figure in figures:
                if figure["status"] != "ok":
                    sys.exit(f"scripts/bench-acp: {environment}: {figure}")
                found.setdefault((figure["test"], figure["bytes"]), []).append(figure["value"])
        return {key: median(values) for key, values in found.items()}


def table(lines):
    print(f"| {' | '.join(lines[0])} |")
    print(f"|{'--:|' * len(lines[0])}")
    for line in lines[1:]:
        print(f"| {' | '.join(line)} |")


def atomics(bench):
    """The paper's table beside ours, and the times by device, memory and condition."""
    columns = [(device, memory) for device in bench.options.devices for memory in MEMORY]
    times = {}
    for device, memory in columns:
        for condition in conditions():
            tests = [f"{memory}add4", "add4_local"]
            found = bench.values(condition.environment(device), tests, ranks=2)
            pair = found[f"{memory}add4", 4], found["add4_local", 4]
            times[device, memory, condition.number] = pair
    heads = [f"{DEVICES[device]}, {MEMORY[memory]}" for device, memory in columns]
    lines = [["", *HEADINGS, "paper: FX100", *heads]]
    for condition in conditions():
        cells = [f"{digits(condition.remote_us)} / {digits(condition.local_us)}"]
        for device, memory in columns:
            pair = times[device, memory, condition.number]
            cells.append(" / ".join(map(digits, pair)))
        lines.append([*condition.cells(), *cells])
    print("\nacp_add4 and its completion, remote / local, us\n")
    table(lines)
    for device in bench.options.devices:
        environment = {"SUIRO_DEVICE": device}
        window = bench.values(environment, ["fetch_and_op"], "windows", 2)["fetch_and_op", 8]
        bare = bench.values(environment, ["bare"], ranks=2)["bare", 4]
        print(f"\n{DEVICES[device]}: MPI_Fetch_and_op and flush {digits(window)} us, ", end="")
        print(f"an atomic instruction {digits(bare)} us", end="")
    print()
    return times


def copies(bench):
    """Times by device, memory, kind of copy and bytes."""
    times = {}
    for device in bench.options.devices:
        for memory in MEMORY:
            found = bench.values({"SUIRO_DEVICE": device}, [f"{memory}sizes"])
            for (test, size), value in found.items():
                times[device, memory, test.removeprefix(memory), size] = value
            print(f"\nCopies, {DEVICES[device]}, {MEMORY[memory]}: us, and MB/s\n")
            kinds = list(COPIES)
            lines = [["bytes", *(COPIES[kind] for kind in kinds)]]
            for size in sizes_of(times):
                here = [times[device, memory, kind, size] for kind in kinds]
                cells = [f"{digits(value)}, {digits(size / value)}" for value in here]
                lines.append([size_name(size), *cells])
            table(lines)
    return times


def sizes_of(times):
    return sorted({size for *_, size in times})


# ---- charts ----

REMOTE, LOCAL, PAPER = "#1b6ca8", "#8fc1e3", "#999999"
LINES = {"put": "#1b6ca8", "get": "#e07a1f", "third": "#2f9e44", "round": "#8e44ad", "through": "#777777"}


def new_figure(*arguments, **named):
    import matplotlib
    from matplotlib.figure import Figure

    # Text stays text, and the same figures make the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "suiro", "font.size": 8})
    return Figure(*arguments, layout="constrained", **named)


def draw_atomics(times, devices, path):
    panels = [("paper: FX100", None)]
    panels += [((device, memory), (device, memory)) for device in devices for memory in MEMORY]
    figure = new_figure(figsize=(2.4 * len(panels), 3))
    for axis, (_, key) in zip(figure.subplots(1, len(panels)), panels):
        all_conditions = conditions()
        if key is None:
            pairs = [(one.remote_us, one.local_us) for one in all_conditions]
            axis.set_title("paper: FX100")
        else:
            pairs = [times[(*key, one.number)] for one in all_conditions]
            axis.set_title(f"{DEVICES[key[0]]},\n{MEMORY[key[1]]}")
        places = range(len(pairs))
        for shift, index, name, color in [(-0.2, 0, "remote", REMOTE), (0.2, 1, "local", LOCAL)]:
            values = [pair[index] for pair in pairs]
            axis.bar([place + shift for place in places], values, 0.4, label=name, color=color)
        axis.set_xticks(list(places), [one.number for one in all_conditions])
        axis.set_xlabel("condition")
        axis.set_yscale("log")
        axis.grid(axis="y", color="#dddddd", linewidth=0.5)
    figure.axes[0].set_ylabel("us")
    figure.axes[0].legend(frameon=False)
    figure.suptitle("acp_add4 and its completion; the conditions of the paper's table 3")
    figure.savefig(path, metadata={"Date": None})


def draw_copies(times, devices, path):
    rows = [(device, memory) for device in devices for memory in MEMORY]
    figure = new_figure(figsize=(9, 2.8 * len(rows)))
    axes = figure.subplots(len(rows), 2, squeeze=False)
    sizes = sizes_of(times)
    for (device, memory), (time, rate) in zip(rows, axes):
        for kind, name in COPIES.items():
            values = [times[device, memory, kind, size] for size in sizes]
            color = LINES[kind.split("-")[0]]
            style = "--" if kind.endswith("-all") else "-"
            time.plot(sizes, values, style, color=color, label=name, linewidth=1)
            rates = [size / value for size, value in zip(sizes, values)]
            rate.plot(sizes, rates, style, color=color, linewidth=1)
        for axis, unit in [(time, "us"), (rate, "MB/s")]:
            axis.set_xscale("log", base=2)
            axis.set_yscale("log")
            axis.set_ylabel(unit)
            axis.set_title(f"{DEVICES[device]}, {MEMORY[memory]}")
            axis.grid(color="#dddddd", linewidth=0.5)
    for axis in axes[-1]:
        axis.set_xlabel("bytes")
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, metadata={"Date": None})


def read_options():
    parser = argparse.ArgumentParser(prog="scripts/bench-acp", description=__doc__)
    add = parser.add_argument
    add("--devices", type=lambda text: text.split(","), default=["shm", "tofu"], metavar="D,..")
    add("--repetitions", type=int, default=3, metavar="N")
    add("--point-ms", type=float, default=20, help="milliseconds for one figure")
    add("--suiro", type=Path, default=ROOT / "target" / "release", help="has our programs")
    add("--out", type=Path, default=ROOT / "build" / "bench", metavar="DIR")
    add("--only", choices=["atomics", "copies"], help="one of the two measurements")
    return parser.parse_args()


def main():
    options = read_options()
    bench = Bench(options)
    options.out.mkdir(parents=True, exist_ok=True)
    parts = {"atomics": (atomics, draw_atomics), "copies": (copies, draw_copies)}
    for name, (measured, draw) in parts.items():
        if options.only in (None, name):
            path = options.out / f"acp-{name}.svg"
            draw(measured(bench), options.devices, path)
            print(f"chart: {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
