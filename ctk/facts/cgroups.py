"""The host's control groups, as far as they decide who may open a device; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.facts.device_nodes import DeviceNodes
from ctk.facts.toolkit import ToolBinary

V1, V2, HYBRID = "v1", "v2", "hybrid"
"""HYBRID: version 1 rules devices, and an empty version 2 hierarchy is mounted beside it."""


class ManagerReload(NamedTuple):
    """systemd has read its units anew. at: RFC 3339, UTC; requester: who asked for it, "" = not told."""

    at: str
    requester: str


class ContainerScope(NamedTuple):
    """The scope unit of a running container. container: its id; started_at: RFC 3339, UTC; pids: its processes."""

    unit: str
    container: str
    started_at: str | None
    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroups:
    """All of it. device_programs: whether the kernel lets root ask for a group's device programs (version 2 only).

    runtimes: the low-level ones in the system's folders, which write the device rules: runc and crun.

    reloads of this boot, the newest last, and scopes are looked for only where a reload could take GPUs away; None: it
    was not asked.
    """

    mode: str | None | Unknown  # None: no hierarchy is mounted
    controllers: tuple[str, ...] | Unknown = ()
    systemd_version: int | None | Unknown = None  # None: there is no systemd
    device_programs: bool | None | Unknown = None
    runtimes: tuple[ToolBinary, ...] = ()
    reloads: tuple[ManagerReload, ...] | None | Unknown = None
    scopes: tuple[ContainerScope, ...] | None | Unknown = None


def missing_links(nodes: DeviceNodes) -> tuple[str, ...]:
    """The names below /dev/char that NVIDIA's nodes should have and have not."""
    if isinstance(nodes.nodes, Unknown) or isinstance(nodes.links, Unknown):
        return ()
    present = {link.path.rpartition("/")[2] for link in nodes.links or ()}
    wanted = [f"{node.major}:{node.minor}" for node in nodes.nodes if node.is_device and "/dri/" not in node.path]
    return tuple(name for name in wanted if name not in present)
