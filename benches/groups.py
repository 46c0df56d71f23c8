"""What is measured, in groups: which program, on how many ranks, with which words.

`start` and `stages` are measured by functions of their own (peers.py).
"""

from dataclasses import dataclass, field


@dataclass
class Group:
    """Runs of one program; each list of words is a run, `RANKS` in it their number."""

    title: str
    program: str = "peers"
    runs: list[list[str]] = field(default_factory=list)
    ranks: list[int] | None = None  # None: as the options say
    flags: str = "tbmp"  # options that the program takes of those of peers.c
    modes: bool = False  # in our ways to make progress as well
    own: bool = False  # on our library only


KINDS = {
    "posted": ["tags", "sources", "any-source", "any-tag", "communicators"],
    "unexpected": ["tags", "sources", "any-source", "any-tag", "communicators"],
}
DEPTH_TESTS = [f"{queue}-{kind}" for queue, kinds in KINDS.items() for kind in kinds]
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
}
DEFAULT = ["start", "pt2pt", "coll"]
# The groups that `targets` stands for; see targets.py.
TARGETS = ["near", "crowded", "modes", "blocked", "overlap", "depth", "memory"]
# Whether everything works, in seconds: the other groups are tests of these.
SMOKE = ["start", "pt2pt", "coll", "icoll", "pcoll", "blocked", "threads", "memory"]


def named(words):
    """The groups that the words name, each once."""
    return list(dict.fromkeys(name for word in words for name in expanded(word)))


def expanded(word):
    if word == "targets":
        return TARGETS
    if word not in GROUPS:
        raise ValueError(word)
    return [word]
