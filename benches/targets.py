"""Fastest in shared memory and over TCP: what that means in figures, and whether it is so.

A target is a ratio of one of our figures to another of the same run: of the best other library with
its defaults, of the best one that is tuned as well, or of another figure of ours. The ratios are
plain ones, ours by theirs: times are to be small and rates large.
"""

from dataclasses import dataclass

from groups import DEPTH_TESTS, GROUPS, KERNELS
from libraries import OURS


@dataclass(frozen=True)
class Target:
    """One row. `group`, `test`, `ranks` and `size` name a figure."""

    what: str
    group: str
    test: str
    ranks: int = 2
    size: int = 8
    most: float | None = None  # the ratio, at most
    least: float | None = None  # the ratio, at least
    # What is divided by: "best", "tuned", "polling" for ours by default, nothing for the figure
    # itself, or the test or the size of another of our figures.
    by: str | int = "best"
    variant: str = ""  # of ours

    def is_met(self, ratio):
        return ratio <= self.most if self.least is None else ratio >= self.least

    def bound(self):
        return f"≤ {self.most:g}" if self.least is None else f"≥ {self.least:g}"


def crowded(what, test, size):
    return Target(what, "crowded", test, ranks=8, size=size, most=0.6)


def mode(name):
    what = f"8 B one way, {name} mode, by polling"
    return Target(what, "modes", "latency", most=1.1, by="polling", variant=name)


def overlap(what, test, name, **bound):
    what = f"1 MiB beside an application that {what}, {name} mode"
    return Target(what, "overlap", test, size=1 << 20, by="", variant=name, **bound)


def depth(test):
    queue, _, kind = test.partition("-")
    what = f"10,000 {queue}, {kind.replace('-', ' ')}, by 1"
    return Target(what, "depth", test, size=10_000, most=2, by=1)


def memory(what, test, size):
    return Target(what, "memory", test, ranks=32, size=size, most=0.5)


def bandwidth(what, size):
    return Target(what, "near", "stream", size=size, least=1.0, by="tuned")


def rma():
    """Windows of MPI_Win_allocate, beside others with their defaults."""
    for test in ["put", "get", "fetch_and_op", "compare_and_swap"]:
        yield Target(f"window: {test} 8 B, flush", "rma", test, most=0.8)
    yield Target("window: put 1 MiB", "rma", "put_stream", size=1 << 20, least=1.0)
    for test, size in [("fence", 0), ("pscw", 8), ("lock", 0)]:
        yield Target(f"window: {test}", "rma", test, size=size, most=0.9)
    yield Target("window, 8 ranks: contended fetch and add", "rma", "contended", 8, least=1.2)
    for test, size in [("put", 8), ("fence", 0), ("pscw", 8), ("lock", 0)]:
        yield Target(f"window, 8 ranks: {test}", "rma", test, 8, size, most=0.6)
    for test in ["beside", "beside_lock"]:
        what = f"created window: {test} a target that computes"
        yield Target(what, "rma", f"created-{test}", size=8192, most=0.1)


def rma_over_hosts():
    for test, size in [("put", 8), ("get", 8), ("fetch_and_op", 8), ("fence", 0), ("lock_put", 8)]:
        yield Target(f"window, 2 hosts: {test}", "rma-2x1", test, size=size, most=1.0)
    what = "window, 2 hosts: put 1 MiB"
    yield Target(what, "rma-2x1", "put_stream", size=1 << 20, least=1.0)


def acp(where, group):
    """Accesses of ACP, beside windows of others."""
    yield Target(f"{where}: copy 8 B to the other rank", group, "put", most=1.0)
    yield Target(f"{where}: copy 1 MiB", group, "put_stream", size=1 << 20, least=1.0)


def jobs():
    for children in [1, 4]:
        what = f"spawn of {children} and disconnect"
        yield Target(what, "spawn", "spawn", ranks=1, size=children, most=0.5)
    yield Target("connect and disconnect, ranks", "connect", "connect", size=0, most=0.5)
    yield Target("connect and disconnect, jobs", "connect-jobs", "connect_jobs", size=0, most=0.5)
    agree = {"ranks": 8, "size": 4, "most": 2, "by": "allreduce", "variant": "with-ft"}
    yield Target("agreement of 8 ranks, by an allreduce", "agree", "agree", **agree)
    for test, size in [("latency", 8), ("barrier", 0)]:
        with_ft = {"most": 1.02, "by": "polling", "variant": "with-ft"}
        yield Target(f"{test}, --with-ft ulfm by default", "tolerant", test, size=size, **with_ft)


def files():
    """Beside the best of the others, in memory and on a disk."""
    for place, prefix in [("", ""), (", on a disk", "disk_")]:
        share = 32 << 20
        for test in ["write_all", "read_all", "turns_write", "turns_read"]:
            yield Target(f"file: {test}{place}", "files", prefix + test, size=share, most=1.0)
        for test in ["turns_write_all", "turns_read_all"]:
            yield Target(f"file: {test}{place}", "files", prefix + test, size=share, most=0.67)
        for test in ["gaps_write", "gaps_read"]:
            yield Target(f"file: {test}{place}", "files", prefix + test, size=1 << 20, most=1.0)
        yield Target(f"file: write_shared{place}", "files", prefix + "write_shared", size=1024, most=0.5)
    yield Target("file: open and close, 8 ranks", "files-open", "open", 8, 0, most=0.5)


def link(where, group):
    """Between two ranks that have TCP only."""
    yield Target(f"{where}: 8 B one way", group, "latency", most=1.0)
    for name, size in [("64 KiB", 65536), ("1 MiB", 1 << 20), ("4 MiB", 4 << 20)]:
        yield Target(f"{where}: bandwidth {name}", group, "stream", size=size, least=1.0)


def over_hosts(group):
    """Barrier and allreduce; of other libraries the best tuned one counts."""
    layout = GROUPS[group].layout
    where = f"{layout.hosts} hosts x {layout.each}"
    for test, size in [("barrier", 0), ("allreduce", 8)]:
        what = f"{where}: {test} {size} B" if size else f"{where}: {test}"
        yield Target(what, group, test, layout.ranks, size, most=0.9, by="tuned")


def kernels(group):
    layout = GROUPS[group].layout
    where = f"{layout.hosts} hosts x {layout.each}"
    for name in [f"{kernel}.{of_class}" for of_class in "SWA" for kernel in KERNELS]:
        what = f"{where}: {name}"
        yield Target(what, group, name, layout.ranks, 0, most=1.0, by="tuned")


TARGETS = [
    Target("8 B one way", "near", "latency", most=0.85),
    Target("8 B message rate", "near", "rate", least=1.2),
    Target("4 KiB one way", "near", "latency", size=4096, most=1.0),
    bandwidth("bandwidth 64 KiB", 65536),
    bandwidth("bandwidth 1 MiB", 1 << 20),
    bandwidth("bandwidth 4 MiB", 4 << 20),
    crowded("8 ranks: barrier", "barrier", 0),
    crowded("8 ranks: allreduce 8 B", "allreduce", 8),
    crowded("8 ranks: alltoall 1 KiB", "alltoall", 1024),
    crowded("8 ranks: bcast 64 KiB", "bcast", 65536),
    crowded("8 ranks: ring 8 B", "ring", 8),
    crowded("8 ranks: 4 ping-pongs at once, 8 B", "pairs", 8),
    Target("blocked in a receive for 1 s", "blocked", "blocked_receive", size=0, most=1, by=""),
    mode("thread"),
    mode("auto"),
    overlap("sleeps: hidden", "overlap_asleep", "thread", least=90),
    overlap("sleeps: hidden", "overlap_asleep", "auto", least=90),
    overlap("computes: more, in bare copies", "overlap_computing_ratio", "thread", most=1.1),
    overlap("computes: more, in bare copies", "overlap_computing_ratio", "auto", most=1.1),
    *map(depth, DEPTH_TESTS),
    memory("memory of 32 ranks after MPI_Init", "init", 0),
    memory("memory of 32 ranks after MPI_Alltoall", "alltoall", 1024),
    *rma(),
    *rma_over_hosts(),
    *acp("ACP", "acp"),
    *acp("ACP, 2 hosts", "acp-2x1"),
    *jobs(),
    *files(),
    *link("2 hosts x 1", "hosts-2x1"),
    *(target for group in ["hosts-2x1", "hosts-2x2", "hosts-4x2"] for target in over_hosts(group)),
    *link("loopback", "loopback"),
    *link("libfabric, tcp", "fabric"),
    Target("libfabric, tcp: 8 B message rate", "fabric", "rate", least=1.0),
    *(target for group in ["npb-2x1", "npb-2x2"] for target in kernels(group)),
]


def outcomes(rows):
    """For each target whose group was measured: (target, our row or None, divisor or None)."""
    found = {(row["group"], row["test"], row["ranks"], row["bytes"]): row for row in rows}
    measured = {row["group"] for row in rows}
    for target in TARGETS:
        if target.group in measured:
            key = target.group, target.test, target.ranks, target.size
            row = found.get(key)
            yield target, row, divisor(target, row, found)


def divisor(target, row, found):
    """What our figure is divided by, if it is known."""
    if row is None:
        return None
    if target.by == "best" or target.by == "tuned":
        peer = row.get(target.by) or row.get("best")
        return row["values"].get(peer)
    if target.by == "":
        return 1
    if target.by == "polling":
        return row["values"].get(OURS)
    test, size = (
        (target.test, target.by) if isinstance(target.by, int) else (target.by, target.size)
    )
    other = found.get((target.group, test, target.ranks, size))
    return other["values"].get(OURS) if other else None


def lines(rows, shown, named):
    """The table: what, ours, the best other, the ratio, the best tuned, the target, met or not.
    `shown` makes text of a number, `named` of a peer."""
    for target, row, by in outcomes(rows):
        own = row and row["values"].get(f"{OURS} {target.variant}".rstrip())
        ratio = own / by if own is not None and by else None
        cells = [target.what, row["unit"] if row else "", shown(own)]
        for kind in ["best", "tuned"]:
            peer = row and row.get(kind)
            cells.append(f"{shown(row['values'][peer])} {named(peer)}" if peer else "-")
        verdict = "-" if ratio is None else "met" if target.is_met(ratio) else "MISSED"
        yield [*cells, shown(ratio), target.bound(), verdict]
