"""NVIDIA's daemons on a host: installed, enabled, running, and what their files say; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown

PERSISTENCE, FABRIC_MANAGER, IMEX, MPS, DCGM = "persistence", "fabric-manager", "imex", "mps", "dcgm"
SUBNET_MANAGER, MIG_MANAGER, CDI_REFRESH = "subnet-manager", "mig-manager", "cdi-refresh"
VGPU_MANAGER, LICENCE = "vgpu-manager", "licence"


class Service(NamedTuple):
    """One daemon. binary None = its program is nowhere; unit None = there is no such unit.

    enabled: some target or unit wants it. running: a process of that name is there, in a container too; user its uid,
    running_since RFC 3339 UTC. restarts and result: what systemd counts and says (NRestarts, Result), None = not asked.
    """

    name: str
    unit: str | None
    enabled: bool | Unknown
    masked: bool
    binary: str | None | Unknown
    version: str | None | Unknown
    running: bool | Unknown
    in_container: bool = False
    pid: int | None = None
    user: int | None = None
    running_since: str | None | Unknown = None
    restarts: int | None | Unknown = None
    result: str | None | Unknown = None


class FabricLogLine(NamedTuple):
    """A line of the fabric manager's log that tells of trouble. at: RFC 3339; the log knows no time zone."""

    text: str
    at: str | None


class CudaToolkit(NamedTuple):
    """A CUDA toolkit on the host, in its own folder; version None = its file names none."""

    path: str
    version: str | None | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """All of them, whether installed or not, in the order of the table that looks for them."""

    services: tuple[Service, ...] = ()
    fabric_log_path: str | None = None
    fabric_log: tuple[FabricLogLine, ...] | None | Unknown = None
    imex_nodes: int | None | Unknown = None  # addresses in nodes_config.cfg; None = no such file
    imex_duplicates: int = 0
    imex_domain: str | None | Unknown = None  # UP, DEGRADED or DOWN; None = the daemon does not run
    imex_daemon: str | None | Unknown = None  # READY, WAITING_FOR_PEERS …
    imex_by_kubernetes: bool | Unknown = False  # the DRA driver starts it for each compute domain
    persistence_socket: str | None | Unknown = None  # where the persistence daemon listens; None: nowhere
    cuda_toolkits: tuple[CudaToolkit, ...] | Unknown = ()

    def find(self, name: str) -> Service | None:
        """The service of one of the names above."""
        return next((service for service in self.services if service.name == name), None)
