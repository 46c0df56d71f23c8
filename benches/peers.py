"""Runs benches/peers.c on our library and on others side by side, and keeps what it measured.

Started by scripts/bench-peers, which sees to the environment. Every repetition runs every library
in turn, with the bare machine (benches/limits.c) before each, so that a disturbance meets all of
them and shows. The result is one JSON file with every sample; benches/report.py makes tables and
charts of it, now or later.

What is measured stands in groups.py, with which libraries in libraries.py, and how good it is to be
in targets.py. `--pinned` confines rank r to processor r modulo their number, for all libraries alike.
"""

import argparse
import datetime
import itertools
import json
import os
import platform
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import groups
import hosts
import libraries
import report
from groups import GROUPS
from libraries import OURS, ROOT

WARNINGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]
# Every process below one of ours has this in its environment, so that all of them can be ended.
MARK = "BENCH_PEERS_MARK"
# Limit of a kernel of the NAS Parallel Benchmarks.
KERNEL_S = 120


def chosen_libraries(names, ours):
    known = libraries.known(ours)
    unknown = set(names) - {library.name for library in known}
    if unknown:
        stop(f"no such peer: {', '.join(sorted(unknown))}")
    return [library for library in known if library.name in names]


def stop(why):
    sys.exit(f"scripts/bench-peers: {why}")


# ---- running things ----


@dataclass
class Run:
    lines: list[str]
    seconds: float
    why: str = ""


def marked(mark):
    """The processes that were started under the mark."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                yield int(entry.name)
        except OSError:
            pass  # It is gone, or another user's.


def end_all(mark):
    """Ends what a launcher left: some put each rank into a process group of its own."""
    for pid in marked(mark):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def ended(process, limit_s):
    """Waits for its end; whether it came in time. Popen.wait would look only now and then."""
    handle = os.pidfd_open(process.pid)
    try:
        return bool(select.select([handle], [], [], limit_s)[0])
    finally:
        os.close(handle)


def run(command, environment, limit_s):
    """Runs a command within a time limit; what it printed, how long it took, why it failed."""
    mark = f"{os.getpid()}.{time.monotonic_ns()}"
    variables = {**os.environ, **environment, MARK: mark}
    # Files instead of pipes: a process that outlives the launcher must not block the script.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        why = "" if ended(process, limit_s) else f"no end within {limit_s:.0f} s"
        seconds = time.perf_counter() - begin
        if why:
            end_all(f"{MARK}={mark}".encode())
        code = process.wait()
        lines, said = (contents(file) for file in (out, err))
    if not why and code != 0:
        why = f"ended with {code}: {next((line for line in said if line.strip()), '')}"
    return Run(lines, seconds, why)


def contents(file):
    file.seek(0)
    return file.read().decode(errors="replace").splitlines()


def build(command, environment=None):
    result = subprocess.run(
        command, check=False, env={**os.environ, **(environment or {})}, cwd=ROOT
    )
    if result.returncode != 0:
        stop(f"failed: {' '.join(map(str, command))}")


def source(name):
    return f"npb-harness/kernels/{name}.c" if name in groups.KERNELS else f"benches/{name}.c"


def program_of(library, group):
    return group.ours if group.ours and library.name == OURS else group.program


def first_line(command):
    result = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    return result.stdout.split("\n")[0].strip()


# ---- samples ----


def parsed(line):
    """The fields of a line of the C programs (see benches/measure.h)."""
    test, ranks, size, unit, median, best, windows, status = line.split(" ")
    figure = {"test": test, "ranks": int(ranks), "bytes": int(size), "unit": unit, "status": status}
    if median != "-":
        figure |= {"value": float(median), "best": float(best), "windows": int(windows)}
    return figure


class Bench:
    def __init__(self, options, chosen):
        self.options = options
        self.libraries = chosen
        self.variants = {}
        self.used = {}
        self.work = options.out.resolve() / "programs"
        self.limits_program = self.work / "limits"
        self.cluster = hosts.Cluster([ROOT, self.work, options.suiro])
        self.stages_program = options.suiro / "examples" / "stages"
        self.repetition = 0
        self.samples = []
        self.limits = []
        self.failures = []

    def prepare(self):
        self.work.mkdir(parents=True, exist_ok=True)
        build(["cc", *WARNINGS, "-o", self.limits_program, "benches/limits.c"])
        for library in self.libraries:
            if library.packages:
                build(["scripts/environment", library.folder.parent, *library.packages])
            for name in self.programs(library):
                program = self.program(library, name)
                wrapper = library.wrapper(groups.interface(name))
                command = [wrapper, *WARNINGS, "-o", program, source(name), "-lm"]
                build(command, library.environment)
        if any(GROUPS[name].layout for name in self.options.groups):
            # Its launcher starts our programs, too.
            build(["scripts/environment", hosts.HYDRA.parent.parent, "mpich"])

    def programs(self, library):
        """Those that the groups need."""
        chosen = (GROUPS[name] for name in self.options.groups)
        names = dict.fromkeys(program_of(library, group) for group in chosen)
        kernels = groups.KERNELS if names.pop("npb", 0) is None else []
        return [*names, *kernels]

    def program(self, library, name):
        return self.work / f"{name}.{library.name}"

    def limit_s(self):
        return 2 * self.options.budget + 30

    def measure_limits(self, *tests):
        result = run([self.limits_program, *tests], {}, self.limit_s())
        if result.why:
            stop(f"benches/limits.c {result.why}")
        figures = [parsed(line) for line in result.lines]
        self.limits += [{"repetition": self.repetition, **figure} for figure in figures]
        return figures

    def line_us(self):
        return self.measure_limits("line")[0].get("value")

    def keep(self, library, group, figures, line_us):
        about = {"repetition": self.repetition, "peer": library.peer, "group": group}
        self.used.setdefault(library.peer, library)
        self.samples += [{**about, "line_us": line_us, **figure} for figure in figures]

    def measure(self, library, group, ranks, words, command=None):
        """One run of a library's program, or of a command; its figures are kept even if it fails later."""
        line_us = self.line_us()
        layout = GROUPS[group].layout
        if command:
            pass
        elif layout:
            command = self.cluster.command(library, layout, words, GROUPS[group].timed)
        else:
            command = library.command(ranks, words)
        environment = {**library.environment, **GROUPS[group].environment.get(library.name, {})}
        result = run(command, environment, self.limit_s())
        if layout and result.why:
            # Its processes on other hosts may still run.
            self.cluster.down()
        figures = []
        for line in result.lines:
            if line.startswith("library "):
                # Some go on about who built it.
                library.version = " ".join(line.split()[1:]).split(",")[0]
                continue
            try:
                figures.append(parsed(line))
            except ValueError:
                result.why = result.why or f"a line that does not parse: {line}"
        self.keep(library, group, figures, line_us)
        if result.why:
            self.failed(library, group, ranks, result.why)
        return result

    def in_turn(self):
        """The libraries, another one first in each repetition."""
        first = self.repetition % len(self.libraries)
        return self.libraries[first:] + self.libraries[:first]

    def varied(self, library, group, ranks):
        """The variants of a library that a group is measured with, made once."""
        if library.name == OURS:
            variants = libraries.modes(library.folder) if group.modes else []
            variants = [*variants, *libraries.CARRIED.get(group.carried, [])]
        else:
            variants = libraries.VARIANTS[library.name] if self.options.tuned else []
        if group.tolerant and library.name in libraries.TOLERANT:
            variants = [*variants, libraries.TOLERANT[library.name]]
        for variant in variants:
            if variant.suits(ranks):
                key = library.name, variant.name
                yield self.variants.setdefault(key, libraries.varied(library, variant))

    def start(self):
        for ranks in self.options.start_ranks:
            for library in self.in_turn():
                words = [self.program(library, "peers"), "start"]
                self.wall(library, "init-finalize", ranks, words)
        for library in self.in_turn():
            self.wall(library, "true", 2, ["true"])

    def wall(self, library, test, ranks, words):
        result = self.measure(library, "start", ranks, words)
        if not result.why:
            time_ms = result.seconds * 1e3
            figure = {"test": test, "ranks": ranks, "bytes": 0, "unit": "ms", "status": "ok"}
            self.keep(library, "start", [{**figure, "value": time_ms, "best": time_ms}], None)

    def arguments(self, group):
        values = {
            "t": self.options.point_ms,
            "b": self.options.budget,
            "m": self.options.most,
            "p": self.options.pinned,
        }
        for flag in group.flags:
            if values[flag]:
                yield from [f"-{flag}"] if flag == "p" else [f"-{flag}", values[flag]]

    def measures(self, group, library):
        if group.carried:
            return library.name in (OURS, libraries.CARRIER.name)
        return library.name == OURS or not group.own

    def kernels(self, name):
        group = GROUPS[name]
        for ranks in group.ranks:
            for words in group.runs:
                for library in self.in_turn():
                    if self.measures(group, library):
                        for one in [library, *self.varied(library, group, ranks)]:
                            self.kernel(one, name, *words)

    def messages(self, name):
        group = GROUPS[name]
        for ranks in group.ranks or self.options.ranks:
            for library in self.in_turn():
                if not self.measures(group, library):
                    continue
                program = self.program(library, program_of(library, group))
                for one in [library, *self.varied(library, group, ranks)]:
                    for words in group.runs:
                        words = [ranks if word == "RANKS" else word for word in words]
                        self.measure(one, name, ranks, [program, *self.arguments(group), *words])

    def meetings(self):
        """Two jobs of one rank each, which find each other's port in a file."""
        for library in self.in_turn():
            if library.name not in libraries.MEETING:
                continue
            with tempfile.TemporaryDirectory() as folder:
                program, file = self.program(library, "jobs"), Path(folder) / "port"
                roles = (library.command(1, [program, role, file]) for role in ["accept", "connect"])
                accepting, connecting = (shlex.join(map(str, words)) for words in roles)
                both = f"{accepting} & {connecting}; code=$?; wait $! && exit $code"
                self.measure(library, "connect-jobs", 2, [], ["sh", "-c", both])

    def over_hosts(self, name):
        group = GROUPS[name]
        for words in group.runs:
            for library in self.in_turn():
                forms = hosts.forms(library, group.layout, not group.tuned_only)
                for one in forms[:1] if group.timed else forms:
                    if group.program == "npb":
                        self.kernel(one, name, *words)
                    else:
                        program = self.program(library, program_of(library, group))
                        arguments = [program, *self.arguments(group), *words]
                        self.measure(one, name, group.layout.ranks, arguments)

    def kernel(self, library, group, name, of_class):
        """A kernel of the NAS Parallel Benchmarks; its own time, if it verifies the result."""
        layout = GROUPS[group].layout
        ranks = layout.ranks if layout else GROUPS[group].ranks[0]
        if self.options.short and of_class == "A":
            return
        line_us = self.line_us()
        words = [self.program(library, name), of_class]
        if layout:
            command = self.cluster.command(library, layout, words)
        else:
            command = library.command(ranks, words)
        result = run(command, library.environment, KERNEL_S)
        figure = {"test": f"{name}.{of_class}", "ranks": ranks, "bytes": 0, "unit": "s"}
        fields = dict(line.split("=", 1) for line in result.lines if "=" in line)
        fields = {key.strip(): value.strip() for key, value in fields.items()}
        if result.why:
            self.failed(library, group, ranks, f"{name}.{of_class}: {result.why}")
            if layout:
                self.cluster.down()
            figure["status"] = "failed"
        elif fields.get("Verification") != "SUCCESSFUL":
            figure["status"] = "wrong"
        else:
            seconds = float(fields["Time in seconds"])
            figure |= {"status": "ok", "value": seconds, "best": seconds}
        self.keep(library, group, [figure], line_us)

    def failed(self, library, group, ranks, why):
        about = {"peer": library.peer, "group": group, "ranks": ranks}
        self.failures.append({"repetition": self.repetition, **about, "why": why})
        print(f"FAILED  {library.peer}, {group}, {ranks} ranks: {why}", file=sys.stderr)

    def stages(self):
        """What 8 bytes cost at the level of our device and engine, and in MPI, all confined."""
        own = [library for library in self.libraries if library.name == OURS]
        for library, stage in itertools.product(own, ["device", "engine"]):
            result = run([self.stages_program, stage, "100"], {}, self.limit_s())
            if result.why:
                stop(f"examples/stages.rs {result.why}")
            values = sorted(float(line) / 1e3 for line in result.lines)
            figure = {"test": stage, "ranks": 2, "bytes": 8, "unit": "us", "status": "ok"}
            figure |= {"value": values[len(values) // 2], "best": values[0]}
            self.keep(library, "stages", [figure], self.line_us())
        words = ["-p", "-t", 10 * self.options.point_ms, "-m", 8, "latency"]
        for library in self.in_turn():
            self.measure(library, "stages", 2, [self.program(library, "peers"), *words])

    def all(self):
        for repetition in range(self.options.repetitions):
            self.repetition = repetition
            print(f"repetition {repetition + 1} of {self.options.repetitions}", file=sys.stderr)
            self.measure_limits()
            for group in self.options.groups:
                if group == "start":
                    self.start()
                elif group == "stages":
                    self.stages()
                elif group == "connect-jobs":
                    self.meetings()
                elif GROUPS[group].layout:
                    self.over_hosts(group)
                elif GROUPS[group].program == "npb":
                    self.kernels(group)
                else:
                    self.messages(group)

    def result(self):
        return {
            "format": 1,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "commit": first_line(["git", "describe", "--always", "--dirty"]),
            "machine": machine(),
            "options": vars(self.options),
            "libraries": {
                peer: {
                    "version": library.version,
                    "options": library.options,
                    "environment": library.settings(),
                }
                for peer, library in self.used.items()
            },
            "samples": self.samples,
            "limits": self.limits,
            "failures": self.failures,
        }


def machine():
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "model": model,
        "processors": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30, 1),
        "kernel": platform.release(),
        "compiler": first_line(["cc", "--version"]),
        "load": os.getloadavg(),
    }


# ---- the program ----


def words(text):
    return text.split(",")


def numbers(text):
    return [int(word) for word in text.split(",")]


def read_options():
    parser = argparse.ArgumentParser(
        prog="scripts/bench-peers", description="Our library beside others, measured in turn."
    )
    add = parser.add_argument
    add("--short", action="store_true", help="one repetition with shorter measurements, 3 minutes")
    add("--smoke", action="store_true", help="only whether all of this works, on our library")
    add(
        "--groups",
        type=words,
        default=groups.DEFAULT,
        metavar="G,..",
        help=f"targets (that is {','.join(groups.TARGETS)}), "
        f"hosts ({','.join(groups.HOSTS)}), start-hosts ({','.join(groups.START_HOSTS)}), "
        f"jobs ({','.join(groups.JOBS)}), "
        f"{','.join(GROUPS)}",
    )
    add("--tuned", action="store_true", help="others with what their users may set, too")
    add("--peers", type=words, default=["suiro", "mpich", "openmpi", "intel"], metavar="P,..")
    add("--ranks", type=numbers, default=[2, 4, 8], metavar="N,..")
    add("--start-ranks", type=numbers, default=[2, 8, 32], metavar="N,..")
    add("--repetitions", type=int, default=5, metavar="N")
    add("--point-ms", type=float, default=25, help="milliseconds for one figure")
    add("--budget", type=float, default=30, help="seconds for one run; long messages are cut off")
    add("--most", type=int, help="bytes of the longest message")
    add("--pinned", action="store_true", help="confine each rank to a processor")
    add(
        "--suiro",
        type=Path,
        metavar="DIR",
        help="has our mpicc and mpirun, else a release is built",
    )
    add("--out", type=Path, default=ROOT / "build" / "bench", metavar="DIR")
    add("--report", type=Path, metavar="FILE", help="measure nothing, show what FILE has")
    add("--markdown", action="store_true", help="print a short table for the README")
    options = parser.parse_args()
    options.tuned |= "targets" in options.groups
    try:
        options.groups = groups.named(options.groups)
    except ValueError as unknown:
        stop(f"no such group: {unknown}")
    if options.short:
        options.repetitions, options.point_ms, options.budget = 1, 8, 5
    if options.smoke:
        options.repetitions, options.point_ms, options.most = 1, 0.1, 65536
        options.peers, options.ranks, options.start_ranks = ["suiro"], [2, 3], [2]
        options.groups = groups.SMOKE
    return options


def build_ours(options):
    """Our library, as users have it; its folder."""
    release = [] if options.smoke else ["--release"]
    stages = ["--example", "stages"] if "stages" in options.groups else []
    build(["cargo", "build", "--quiet", *release, "--lib", "--bins", *stages])
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / ("debug" if options.smoke else "release")


def measured(options):
    """Measures everything and writes it down; the result."""
    options.suiro = (options.suiro or build_ours(options)).resolve()
    bench = Bench(options, chosen_libraries(options.peers, options.suiro))
    bench.prepare()
    try:
        bench.all()
    except KeyboardInterrupt:
        print("interrupted: what was measured follows", file=sys.stderr)
    finally:
        bench.cluster.down()
    result = bench.result()
    result["medians"] = report.summary(result)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "bench-peers.json"
    path.write_text(json.dumps(result, indent=1, default=str) + "\n")
    return path


def faults(result):
    """Errors on a machine of any speed: failures of this library, and wrong data of any library."""
    for failure in result["failures"]:
        if libraries.is_ours(failure["peer"]):
            yield f"{failure['group']}, {failure['ranks']} ranks: {failure['why']}"
    for sample in result["samples"]:
        bad = sample["status"] == "wrong" or sample["status"].startswith("error-")
        if bad and libraries.is_ours(sample["peer"]):
            where = f"{sample['test']}, {sample['ranks']} ranks, {sample['bytes']} bytes"
            yield f"{where}: {sample['status']}"


def main():
    options = read_options()
    path = options.report or measured(options)
    result = json.loads(path.read_text())
    (report.print_markdown if options.markdown else report.print_tables)(result)
    if not options.smoke:
        for chart in report.draw(result, path.parent):
            print(f"chart: {chart}", file=sys.stderr)
    print(f"figures: {path}", file=sys.stderr)
    wrong = list(faults(result))
    if wrong:
        stop("\n".join(wrong))


if __name__ == "__main__":
    main()
