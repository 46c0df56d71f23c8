"""What is measured, in groups: which program, on how many ranks, with which words.

`start`, `stages` and `connect-jobs` are measured by functions of their own (peers.py).
"""

from dataclasses import dataclass, field

from hosts import LIBFABRIC, Layout


@dataclass
class Group:
    """Runs of one program; each list of words is a run, `RANKS` in it their number."""

    title: str
    program: str = "peers"
    ours: str = ""  # the program of our library, if it is another one
    runs: list[list[str]] = field(default_factory=list)
    ranks: list[int] | None = None  # None: as the options say
    flags: str = "tbmp"  # options that the program takes of those of peers.c
    modes: bool = False  # in our ways to make progress as well
    own: bool = False  # on our library only
    carried: str = ""  # on MPICH alone, and on ours over it: in its modes, or with its limits
    layout: Layout | None = None  # None: all ranks on this machine
    tuned_only: bool = False  # others as tuned only: their defaults take minutes
    tolerant: bool = False  # where the job survives failures as well (`--with-ft ulfm`)
    environment: dict[str, dict[str, str]] = field(default_factory=dict)  # of a library, by name
    timed: bool = False  # the figure is the time of the whole job, by the library's own launcher


def over(layout, title, *tests):
    return Group(title, runs=[list(tests)], ranks=[layout.ranks], flags="tb", layout=layout)


def started(hosts, each):
    layout = Layout(hosts, each)
    title = f"Start and end of a job on {hosts} hosts, {each} rank{'s' * (each > 1)} each"
    runs = [["start"]]
    return Group(title, runs=runs, ranks=[layout.ranks], flags="", layout=layout, timed=True)


def kernels(layout, title):
    words = [[name, of_class] for of_class in "SWA" for name in KERNELS]
    crowded = layout.is_crowded
    return Group(title, "npb", words, [layout.ranks], "", layout=layout, tuned_only=crowded)


KERNELS = ["cg", "ep", "ft", "is", "lu", "mg"]
LINK_TESTS = ["latency:8", "stream:65536", "stream:1048576", "stream:4194304"]
SHORT_COLLECTIVES = ["barrier", "allreduce:8"]
CARRIED_TESTS = ["latency:8", "rate:8", "stream:1048576", "barrier", "allreduce:8"]
LIMIT_SIZES = [1024, 4096, 16384, 65536]
RMA_OVER_HOSTS = ["put", "get", "fetch_and_op", "put_stream", "fence", "pscw", "lock_put", "beside"]
ACP_TESTS = ["put", "get", "fetch_and_op", "compare_and_swap", "put_stream", "contended"]
FILE_TESTS = ["write_all", "read_all", "turns_write_all", "turns_read_all", "turns_write", "turns_read"]
FILE_TESTS += ["gaps_write", "gaps_read", "write", "write_shared", "write_ordered", "open", "create"]
FILE_TESTS += [f"disk_{test}" for test in FILE_TESTS]
TWO, TWO_BY_TWO, FOUR_BY_TWO = Layout(2, 1), Layout(2, 2), Layout(4, 2)
KINDS = {
    "posted": ["tags", "sources", "any-source", "any-tag", "communicators"],
    "unexpected": ["tags", "sources", "any-source", "any-tag", "communicators"],
}
DEPTH_TESTS = [f"{queue}-{kind}" for queue, kinds in KINDS.items() for kind in kinds]
# What Intel MPI needs for processes that come.
SPAWNING = {"intel": {**LIBFABRIC, "I_MPI_SPAWN": "1"}}
GROUPS = {
    "start": Group("Start and end of a job"),
    "pt2pt": Group("Point to point", runs=[["pt2pt"]]),
    "coll": Group("Collectives", runs=[["coll"]]),
    "icoll": Group("Nonblocking collectives, each waited for", runs=[["icoll"]]),
    "pcoll": Group("Persistent collectives, each started and waited for", runs=[["pcoll"]]),
    "stages": Group("8 bytes, stage by stage, each rank confined to a processor"),
    "near": Group(
        "Two ranks, the figures that count",
        runs=[
            ["latency:8", "latency:4096", "rate:8"]
            + ["stream:65536", "stream:1048576", "stream:4194304"]
        ],
        ranks=[2],
    ),
    "crowded": Group(
        "Eight ranks, the figures that count",
        runs=[["barrier", "allreduce:8", "alltoall:1024", "bcast:65536", "ring:8", "pairs:8"]],
        ranks=[8],
    ),
    "modes": Group(
        "Ways to make progress, both ranks inside MPI",
        runs=[["latency:8", "rate:8", "stream:1048576"]],
        ranks=[2],
        modes=True,
        own=True,
    ),
    "blocked": Group(
        "A receive that waits for a second, share of a processor",
        program="overlap",
        runs=[["blocked"]],
        ranks=[2],
        flags="",
        modes=True,
    ),
    "overlap": Group(
        "An exchange beside an application that sleeps or computes",
        program="overlap",
        runs=[["copy", "exchange", "asleep", "computing"]],
        ranks=[2],
        flags="",
        modes=True,
    ),
    "depth": Group(
        "Messages beside queues of so many others",
        program="depth",
        runs=[DEPTH_TESTS],
        ranks=[2],
        flags="tbp",
    ),
    "memory": Group(
        "Memory of all ranks",
        program="memory",
        runs=[["RANKS"]],
        ranks=[32],
        flags="",
    ),
    "threads": Group(
        "Several threads",
        program="threads",
        runs=[["single"], ["multiple", "1", "2", "3", "4"]],
        ranks=[2],
        flags="t",
    ),
    "rma": Group(
        "One-sided communication",
        program="windows",
        runs=[["allocated"], ["created"]],
        ranks=[2, 8],
        flags="tbp",
    ),
    "acp": Group(
        "Accesses of ACP beside windows of others",
        program="windows",
        ours="acp",
        runs=[ACP_TESTS],
        ranks=[2, 8],
        flags="tbp",
    ),
    "acp-2x1": Group(
        "Accesses of ACP beside windows of others on two hosts",
        program="windows",
        ours="acp",
        runs=[ACP_TESTS],
        ranks=[2],
        flags="tb",
        layout=TWO,
    ),
    "rma-2x1": Group(
        "One-sided communication on two hosts",
        program="windows",
        runs=[RMA_OVER_HOSTS],
        ranks=[2],
        flags="tb",
        layout=TWO,
    ),
    "files": Group("Access to files", program="files", runs=[FILE_TESTS], ranks=[2], flags="t"),
    "files-open": Group(
        "Files that eight ranks open", program="files", runs=[["open", "create"]], ranks=[8], flags="t"
    ),
    "spawn": Group(
        "Spawned children, until they are disconnected",
        program="jobs",
        runs=[["spawn:1", "spawn:4"]],
        ranks=[1],
        flags="t",
        environment=SPAWNING,
    ),
    "connect": Group(
        "Two ranks that connect and disconnect",
        program="jobs",
        runs=[["connect"]],
        ranks=[2],
        flags="t",
        environment=SPAWNING,
    ),
    "connect-jobs": Group(
        "Two jobs that connect and disconnect", program="jobs", environment=SPAWNING
    ),
    "agree": Group(
        "An agreement of eight ranks, where none fails",
        program="jobs",
        runs=[["agree", "allreduce"]],
        ranks=[8],
        flags="t",
        tolerant=True,
    ),
    "tolerant": Group(
        "What it costs that failures may be survived, where none happens",
        runs=[["latency:8", "barrier"]],
        ranks=[2],
        tolerant=True,
    ),
    "vendor": Group(
        "MPICH as the carrier of our messages, beside itself",
        runs=[CARRIED_TESTS],
        ranks=[2, 4],
        carried="modes",
    ),
    "vendor-limits": Group(
        "MPICH as the carrier of our messages, limits of short ones, beside itself",
        runs=[[f"{test}:{size}" for size in LIMIT_SIZES for test in ("latency", "stream")]],
        ranks=[2],
        carried="limits",
    ),
    "npb-vendor": Group(
        "NAS Parallel Benchmarks, MPICH as the carrier of our messages, beside itself",
        program="npb",
        runs=[[name, of_class] for of_class in "SWA" for name in KERNELS],
        ranks=[2],
        flags="",
        carried="modes",
    ),
    "hosts-2x1": over(TWO, "Two hosts", *LINK_TESTS, *SHORT_COLLECTIVES),
    "hosts-2x2": over(TWO_BY_TWO, "Two hosts, two ranks each", *SHORT_COLLECTIVES),
    "hosts-4x2": over(FOUR_BY_TWO, "Four hosts, two ranks each", *SHORT_COLLECTIVES),
    "loopback": over(Layout(0, 2), "Two ranks over TCP on one host", *LINK_TESTS, *SHORT_COLLECTIVES),
    "fabric": over(
        Layout(0, 2, by_fabric=True),
        "Two ranks by the provider tcp of libfabric on one host",
        *LINK_TESTS,
        "rate:8",
        *SHORT_COLLECTIVES,
    ),
    "start-2x1": started(2, 1),
    "start-2x4": started(2, 4),
    "start-4x1": started(4, 1),
    "start-4x4": started(4, 4),
    "npb-2x1": kernels(TWO, "NAS Parallel Benchmarks on two hosts"),
    "npb-2x2": kernels(TWO_BY_TWO, "NAS Parallel Benchmarks on two hosts, two ranks each"),
}
DEFAULT = ["start", "pt2pt", "coll"]
# The groups that `targets` stands for; see targets.py.
TARGETS = ["near", "crowded", "modes", "blocked", "overlap", "depth", "memory"]
# The groups that `hosts` stands for.
HOSTS = ["hosts-2x1", "hosts-2x2", "hosts-4x2", "loopback", "npb-2x1", "npb-2x2"]
# The groups that `start-hosts` stands for.
START_HOSTS = ["start-2x1", "start-2x4", "start-4x1", "start-4x4"]
# The groups that `jobs` stands for: processes that come and go.
JOBS = ["spawn", "connect", "connect-jobs", "agree", "tolerant"]
# Whether everything works, in seconds: the other groups are tests of these.
SMOKE = [
    *["start", "pt2pt", "coll", "icoll", "pcoll", "blocked", "threads", "memory", "rma", "acp"],
    *["spawn", "connect", "connect-jobs", "agree", "files-open"],
]


def interface(program):
    """What a program calls: the name of its wrapper compiler without `cc`."""
    return "acp" if program == "acp" else "mpi"


def named(words):
    """The groups that the words name, each once."""
    return list(dict.fromkeys(name for word in words for name in expanded(word)))


def expanded(word):
    if word == "targets":
        return TARGETS
    if word == "hosts":
        return HOSTS
    if word == "start-hosts":
        return START_HOSTS
    if word == "jobs":
        return JOBS
    if word not in GROUPS:
        raise ValueError(word)
    return [word]
