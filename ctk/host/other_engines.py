"""Programs that run containers by ways of their own, beside the engines that ctk sets up; it asks none of them."""

from ctk.facts import Unknown
from ctk.host import Host
from ctk.host.programs import find_program

NAMES = ("apptainer", "singularity", "enroot", "incus", "lxd", "lxc-start", "systemd-nspawn")
"""Of clusters: Apptainer and its elder name, Enroot; system containers: Incus, LXD, LXC, systemd."""


def collect_other_engines(host: Host) -> tuple[str, ...] | Unknown:
    """The paths of those that are there; Unknown where none was found and a folder is closed."""
    found = [find_program(host, (name,)) for name in NAMES]
    paths = tuple(path for path in found if isinstance(path, str))
    hidden = next((path for path in found if isinstance(path, Unknown)), None)
    return hidden if hidden is not None and not paths else paths
