"""Jobs over several hosts, which are namespaces of this machine (scripts/hosts), and over TCP alone.

A layout is so many ranks on each of so many hosts, each confined to a processor; or all ranks on this
machine, with whatever makes a library use TCP there. Our programs are started by MPICH's launcher, except
where the start of a job is measured.
"""

import os
import subprocess
import sys
from dataclasses import dataclass, replace

from libraries import OPENMPI, OURS, PEERS, ROOT, Variant, varied

AGENT = "/run/hosts/bin/hosts-ssh"
HYDRA = PEERS / "mpich" / "bin" / "mpiexec"
HOSTS_MAX = 4
# What lets waiting ranks give way; MPICH has no such setting.
VARIANTS = {
    "openmpi": [
        Variant(
            "yield",
            [*OPENMPI, "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"],
            crowded=True,
        )
    ],
    "intel": [Variant("wait-mode", environment={"I_MPI_WAIT_MODE": "1"}, crowded=True)],
}
# The pip package does not find its libfabric without help.
INTEL_LIBRARIES = str(PEERS / "intel" / "lib")
LIBFABRIC = {
    "LD_LIBRARY_PATH": INTEL_LIBRARIES,
    "FI_PROVIDER_PATH": INTEL_LIBRARIES,
    "FI_PROVIDER": "tcp",
}
# On one machine by sockets.
LOOPBACK = {
    "suiro": Variant("", environment={"SUIRO_DEVICE": "tcp"}),
    "mpich": Variant("", environment={"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}),
    "openmpi": Variant(
        "", [*OPENMPI, "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "self,tcp"]
    ),
    "intel": Variant("", environment={**LIBFABRIC, "I_MPI_FABRICS": "ofi"}),
}
# On one machine by a provider of libfabric, each by the libfabric that it comes with, ours by MPICH's.
FABRIC = {
    "suiro": Variant(
        "",
        environment={
            "SUIRO_DEVICE": "ofi",
            "SUIRO_OFI_BETWEEN": "ranks",
            "SUIRO_OFI_PROVIDER": "tcp",
            "SUIRO_OFI_LIBRARY": str(PEERS / "mpich" / "lib" / "mpich" / "libfabric.so.1"),
        },
    ),
    "mpich": Variant(
        "",
        environment={
            "MPIR_CVAR_NOLOCAL": "1",
            "MPIR_CVAR_CH4_NETMOD": "ofi",
            "FI_PROVIDER": "tcp",
        },
    ),
    "openmpi": Variant(
        "",
        [*OPENMPI, "--bind-to", "none", "--mca", "pml", "cm", "--mca", "mtl", "ofi"]
        + ["--mca", "mtl_ofi_provider_include", "tcp"],
    ),
    "intel": LOOPBACK["intel"],
}


@dataclass(frozen=True)
class Layout:
    """Where the ranks of a job are."""

    hosts: int  # 0: all on this machine, over TCP
    each: int  # ranks on each host
    by_fabric: bool = False  # on this machine: by libfabric

    @property
    def ranks(self):
        return max(self.hosts, 1) * self.each

    @property
    def is_crowded(self):
        """More ranks than processors, so that a rank must let others go on while it waits."""
        return self.ranks > len(os.sched_getaffinity(0))


def forms(library, layout, with_default=True):
    """The library as it is started in the layout: with its defaults, and tuned."""
    if layout.hosts == 0:
        variant = (FABRIC if layout.by_fabric else LOOPBACK)[library.name]
        placed = replace(varied(library, variant), varied=variant.environment)
        return [placed]
    default = library
    if library.name == "intel":
        # One rank on a host has no other to share memory with.
        fabrics = "ofi" if layout.each == 1 else "shm:ofi"
        environment = {**library.environment, **LIBFABRIC, "I_MPI_FABRICS": fabrics}
        default = replace(library, environment=environment)
    tuned = [varied(default, one) for one in VARIANTS.get(library.name, [])]
    tuned = tuned if layout.is_crowded else []
    return [default, *tuned] if with_default or library.name == OURS else tuned


class Cluster:
    """The hosts; made at the first job, and again after a job that did not end."""

    def __init__(self, folders):
        self.instance = f"bench{os.getpid()}"
        self.folders = folders
        self.is_up = False

    def script(self, *words):
        return [ROOT / "scripts" / "hosts", "-i", self.instance, *words]

    def up(self):
        if not self.is_up:
            shared = [word for folder in self.folders for word in ("--share", folder)]
            words = ["up", str(HOSTS_MAX), "--pin", "--while", str(os.getpid()), *shared]
            subprocess.run(self.script(*words), check=True)
            self.is_up = True

    def down(self):
        if self.is_up:
            subprocess.run(self.script("down"), check=True)
            self.is_up = False

    def command(self, library, layout, words, timed=False):
        """Starts a job from the first host. `timed`: by the library's own launcher, whose time is
        printed, without the time that it takes to enter the host."""
        if layout.hosts == 0:
            return library.command(layout.ranks, words)
        self.up()
        names = [f"node{host}" for host in range(1, layout.hosts + 1)]
        job = ["-n", str(layout.ranks), *map(str, words)]
        launcher = self.launcher(library, names, layout.each, own=timed)
        timer = [sys.executable, ROOT / "benches" / "wall.py", layout.ranks] if timed else []
        return self.script("exec", "node1", *map(str, timer), *launcher, *job)

    @staticmethod
    def launcher(library, names, each, own):
        if library.name == "openmpi":
            places = ",".join(f"{name}:{each}" for name in names)
            agent = ["--prtemca", "plm_ssh_agent", AGENT]
            return [library.folder / "mpirun", *agent, "--host", places, *library.options]
        places = ["-hosts", ",".join(names), "-ppn", str(each)]
        if library.name == "intel":
            return [library.folder / "mpiexec.hydra", "-bootstrap-exec", AGENT, *places]
        launcher = library.folder / "mpirun" if own and library.name == OURS else HYDRA
        return [launcher, "-launcher-exec", AGENT, *places]
