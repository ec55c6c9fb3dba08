"""Whether there is anything here to be judged: a GPU, a driver, or configuration for one; it looks at no host."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import driver_traces
from ctk.facts import Unknown
from ctk.facts.pci import Pci

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

OWN_PROGRAMS = "ctk"


def has_gpus_or_traces(snapshot: "Snapshot") -> bool:
    """False only where the PCI bus was looked at and nothing found; WSL and Jetson have GPUs that no bus shows."""
    if snapshot.system.jetson is True:
        return True
    if snapshot.system.wsl is not None:
        return _has_windows_driver(snapshot) or _has_toolkit(snapshot)
    return _has_gpu(snapshot) or bool(driver_traces(snapshot)) or _has_toolkit(snapshot)


def _has_windows_driver(snapshot: "Snapshot") -> bool:
    """NVIDIA's; where nobody could look there may be one."""
    platform = snapshot.platform
    if isinstance(platform, Unknown) or platform.wsl is None or isinstance(platform.wsl.stores, Unknown):
        return True
    return bool(platform.wsl.stores)


def _has_gpu(snapshot: "Snapshot") -> bool:
    """A bus that could not be looked at may have one."""
    if isinstance(snapshot.pci, Unknown):
        return True
    return isinstance(snapshot.pci, Pci) and bool(snapshot.pci.gpus or snapshot.pci.switches)


def _has_toolkit(snapshot: "Snapshot") -> bool:
    """NVIDIA's; ctk itself is no trace, or it would find one everywhere."""
    tools = snapshot.toolkit
    if not isinstance(tools, tuple):
        return False
    return any(isinstance(tool.path, str) and not tool.name.startswith(OWN_PROGRAMS) for tool in tools)
