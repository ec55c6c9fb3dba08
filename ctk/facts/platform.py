"""What is special about a Jetson, WSL, a virtual machine or a container that is run like a host; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.facts.driver import DriverPackage


class WslStore(NamedTuple):
    """A folder of a Windows display driver, and which of the files that NVIDIA's toolkit wants are in it."""

    path: str
    files: tuple[str, ...]


class Wsl(NamedTuple):
    """libraries: the core ones that are in WSL's own folder. first_cuda: which libcuda.so.1 the loader's cache names
    first. packages: of a Linux driver, which has no place here."""

    dxg: bool | Unknown  # /dev/dxg
    libraries: tuple[str, ...] | None | Unknown
    stores: tuple[WslStore, ...] | Unknown
    first_cuda: str | None | Unknown
    packages: tuple[DriverPackage, ...] | Unknown


class MountFault(NamedTuple):
    """A line of a mount specification that the toolkit passes over, or whose path is not there."""

    file: str
    line: int
    text: str
    reason: str


class MountFile(NamedTuple):
    """One CSV file. paths: how many it names; in_force: whether every container gets them."""

    path: str
    in_force: bool
    paths: int
    faults: tuple[MountFault, ...] = ()
    missing: tuple[MountFault, ...] = ()


class Jetson(NamedTuple):
    """release: of the system ("36.4.0"), in /etc/nv_tegra_release. mode: the runtime's, as configured or its default.

    nodes: of the GPU and its memory; mount_files None: no such folder.
    """

    release: str | None | Unknown
    model: str | None | Unknown
    nodes: tuple[str, ...] | Unknown
    mode: str | None | Unknown
    mount_folder: str
    mount_files: tuple[MountFile, ...] | None | Unknown


class Vgpu(NamedTuple):
    """A GPU that is a share of one of the machine below. host_version: of the driver there, "" = not told."""

    address: str
    host_version: str
    host_branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """None: the host is no such thing. hypervisor: what the machine runs on (kvm, vmware, hyperv …)."""

    hypervisor: str | None | Unknown = None
    wsl: Wsl | None = None
    jetson: Jetson | None = None
    vgpus: tuple[Vgpu, ...] | None | Unknown = None  # None: not a virtual machine
    maps_users: bool | None | Unknown = None  # inside a user namespace; None: the kernel has none
