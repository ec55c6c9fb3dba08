"""What state the host itself is in: stuck processes, file systems, SELinux and its denials; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown


class StuckProcess(NamedTuple):
    """A process in uninterruptible sleep, twice in a row, that has to do with the driver."""

    pid: int
    name: str
    wait_channel: str  # "" = not told
    holds_device: bool  # it has one of NVIDIA's device nodes open


class FileSystem(NamedTuple):
    """One file system by a path on it. Sizes are those an unprivileged user gets; inodes 0: it counts none."""

    path: str
    size_bytes: int
    free_bytes: int
    inodes: int
    free_inodes: int
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Facts of one moment. Denials are lines of the audit log that name NVIDIA's devices or files, the newest last."""

    stuck: tuple[StuckProcess, ...] | Unknown = ()
    file_systems: tuple[FileSystem, ...] | Unknown = ()
    selinux: str | None | Unknown = None  # enforcing or permissive; None: there is no SELinux
    selinux_devices: bool | None | Unknown = None  # its switch container_use_devices; None: no such switch
    device_label: str | None | Unknown = None  # SELinux's, of /dev/nvidiactl; None: none, or another root
    denials: tuple[str, ...] | None | Unknown = None  # None: there is no audit log
