"""This library and its peers: how each is installed, built with and started.

A library runs as its users would run it: with the launcher's defaults, nothing confined to a
processor by us. Open MPI is the exception, for it would refuse: more ranks than processors, and
root. Beside that, each has variants: what those who tune it would set. They are figures of their own
under the name `LIBRARY VARIANT`, and no default is ever replaced by them.
"""

import os
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "build" / "peers"
OURS = "suiro"


@dataclass
class Library:
    """How one library's programs are made and started."""

    name: str
    folder: Path  # with the wrapper and the launcher
    packages: list[str] = field(default_factory=list)
    launcher: str = "mpiexec"
    options: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    version: str = ""
    variant: str = ""
    varied: dict[str, str] = field(default_factory=dict)  # what the variant adds to the environment

    @property
    def peer(self):
        """The name that its figures have."""
        return f"{self.name} {self.variant}".rstrip()

    def command(self, ranks, words):
        return [self.folder / self.launcher, *self.options, "-n", str(ranks), *map(str, words)]

    def settings(self):
        """What its users would set in the environment."""
        return [f"{name}={value}" for name, value in self.varied.items()]

    def wrapper(self, interface="mpi"):
        return self.folder / f"{interface}cc"


@dataclass
class Variant:
    """What is set beside the defaults, and with how many ranks that is worth trying."""

    name: str
    options: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    crowded: bool | None = None  # with more ranks than processors; None: always
    launcher: str = ""  # another launcher than the library's

    def suits(self, ranks):
        is_crowded = ranks > len(os.sched_getaffinity(0))
        return self.crowded is None or self.crowded == is_crowded


OPENMPI = ["--allow-run-as-root", "--oversubscribe"]
# A variant's options stand in place of the library's.
VARIANTS = {
    "mpich": [
        Variant("bind-core", ["-bind-to", "core"], crowded=False),
        # Its collectives within a node spin until the next turn of the scheduler, by the tick.
        Variant(
            "no-device-collectives",
            environment={"MPIR_CVAR_DEVICE_COLLECTIVES": "none"},
            crowded=True,
        ),
    ],
    "openmpi": [
        # Long messages through its shared memory, which is faster than process_vm_readv(2).
        Variant("no-cma", [*OPENMPI, "--bind-to", "core", "--mca", "smsc", "^cma"], crowded=False),
        Variant(
            "yield",
            [*OPENMPI, "--bind-to", "core:overload-allowed", "--mca", "mpi_yield_when_idle", "1"],
            crowded=True,
        ),
        Variant(
            "yield-no-cma",
            [*OPENMPI, "--bind-to", "none", "--mca", "smsc", "^cma"]
            + ["--mca", "mpi_yield_when_idle", "1"],
            crowded=True,
        ),
    ],
    "intel": [
        Variant("shm", environment={"I_MPI_FABRICS": "shm"}),
        Variant("wait-mode", environment={"I_MPI_WAIT_MODE": "1"}),
        Variant("thread-yield", environment={"I_MPI_THREAD_YIELD": "2"}, crowded=True),
        Variant("no-pin", environment={"I_MPI_PIN": "0"}, crowded=True),
    ],
}
# Those whose jobs can survive failures.
TOLERANT = {
    OURS: Variant("with-ft", ["--with-ft", "ulfm"]),
    "openmpi": Variant("with-ft", [*OPENMPI, "--bind-to", "none", "--with-ft", "ulfm"]),
}
# Those whose jobs meet: of Open MPI, accept waits for ever for a job of another launcher.
MEETING = [OURS, "mpich", "intel"]
# Ours beside its default: another library carries the messages, under its own launcher.
CARRIER = PEERS / "mpich"


def carried(name, value):
    settings = {"DEVICE": "vendor", f"VENDOR_{name}": value}
    settings["VENDOR_LIBRARY"] = str(CARRIER / "lib" / "libmpi_abi.so.1")
    environment = {f"SUIRO_{name}": value for name, value in settings.items()}
    launcher = str(CARRIER / "bin" / "mpiexec")
    return Variant(f"vendor-{value}", environment=environment, launcher=launcher)


CARRIED = {
    "modes": [carried("MODE", mode) for mode in ("polling", "thread")],
    "limits": [carried("SHORT", str(bytes)) for bytes in (64, 1024, 4096, 16384, 65536)],
}
# Ours beside its default: who makes progress.
MODES = ["thread", "auto"]


def known(ours):
    """All libraries with their defaults; ours is in the folder `ours`."""
    # The wrapper and the launcher of the pip package find its place by I_MPI_ROOT only.
    intel = {"I_MPI_ROOT": str(PEERS / "intel")}
    openmpi = [*OPENMPI, "--bind-to", "none"]
    return [
        Library(OURS, ours, launcher="mpirun"),
        Library("mpich", PEERS / "mpich" / "bin", ["mpich"]),
        Library("openmpi", PEERS / "openmpi" / "bin", ["openmpi"], options=openmpi),
        Library("intel", PEERS / "intel" / "bin", ["impi-rt", "impi-devel"], environment=intel),
    ]


def is_ours(peer):
    """Whether it is our library, with or without a variant."""
    return peer.split()[0] == OURS


def is_default(peer):
    return len(peer.split()) == 1


def modes(ours):
    """Our variants, as far as the build in this folder has them."""
    command = [ours / "suiro-info", "--parsable", "--all"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    settings = dict(line.split(":", 1) for line in said.splitlines() if ":" in line)
    known = settings["setting.SUIRO_PROGRESS.values"].split("|")
    return [
        Variant(mode, environment={"SUIRO_PROGRESS": mode}) for mode in MODES if mode in known
    ]


def varied(library, variant):
    """The library as the variant has it."""
    return replace(
        library,
        variant=variant.name,
        launcher=variant.launcher or library.launcher,
        options=variant.options or library.options,
        environment={**library.environment, **variant.environment},
        varied=variant.environment,
    )
