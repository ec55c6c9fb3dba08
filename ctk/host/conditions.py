"""The host's state of the moment: stuck processes, full disks, SELinux; it ends no process and changes no switch."""

import errno
import os

from ctk.facts import Unknown
from ctk.facts.conditions import Conditions, FileSystem, StuckProcess
from ctk.host import Host
from ctk.host.reading import ABSENT, try_read_text, unknown_from

SAMPLE_GAP_SECONDS = 0.1
"""Between two looks: a process that only waits for a disk has moved on by then."""
FILE_SYSTEM_PATHS = ("/", "/run", "/var", "/tmp", "/etc/cdi", "/var/run/cdi", "/var/lib/docker", "/var/lib/containerd")  # noqa: S108 - looked at, never written
SELINUX = "/sys/fs/selinux"
DEVICE_SWITCH = SELINUX + "/booleans/container_use_devices"
"""A tunable of the container-selinux policy; the file holds the value in force and the pending one."""
LABELLED_NODE = "/dev/nvidiactl"
AUDIT_LOG = "/var/log/audit/audit.log"
AUDIT_TAIL_BYTES = 1024 * 1024
DENIALS_KEPT = 5


def collect_conditions(host: Host) -> Conditions:
    """The processes are looked at twice only where the first look found one."""
    return Conditions(
        stuck=_collect_stuck(host),
        file_systems=_collect_file_systems(host),
        selinux=_collect_selinux(host),
        selinux_devices=_switch(host, DEVICE_SWITCH),
        device_label=_label(host, LABELLED_NODE),
        denials=_collect_denials(host),
    )


def parse_state(stat: str) -> tuple[str, str]:
    """Name and state letter of proc_pid_stat(5); the name may hold blanks and parentheses."""
    head, _, rest = stat.rpartition(")")
    return head.partition("(")[2], rest.split()[0] if rest.split() else ""


def parse_denials(text: str) -> tuple[str, ...]:
    """The newest AVC denials that name something of NVIDIA's, as far as "type=AVC" lines tell."""
    lines = [line for line in text.splitlines() if "avc:" in line and "denied" in line and "nvidia" in line]
    return tuple(lines[-DENIALS_KEPT:])


def _collect_stuck(host: Host) -> tuple[StuckProcess, ...] | Unknown:
    try:
        pids = [int(name) for name in host.list_directory("/proc") if name.isascii() and name.isdigit()]
    except ABSENT:
        return Unknown("no /proc")
    except OSError as error:
        return unknown_from(error)
    stuck = [pid for pid in pids if _state(host, pid)[1] == "D"]
    if stuck and host.is_live:
        import time

        time.sleep(SAMPLE_GAP_SECONDS)
        stuck = [pid for pid in stuck if _state(host, pid)[1] == "D"]
    found = (_describe(host, pid) for pid in stuck)
    return tuple(item for item in found if item.holds_device or item.name.startswith(("nvidia", "nv_")))


def _state(host: Host, pid: int) -> tuple[str, str]:
    try:
        return parse_state(host.read_head(f"/proc/{pid}/stat", 512).decode("utf-8", "replace"))
    except OSError:
        return "", ""


def _describe(host: Host, pid: int) -> StuckProcess:
    channel = try_read_text(host, f"/proc/{pid}/wchan")
    words = channel.strip() if isinstance(channel, str) else ""
    return StuckProcess(pid, _state(host, pid)[0], "" if words == "0" else words, _holds_device(host, pid))


def _holds_device(host: Host, pid: int) -> bool:
    """Only root sees the open files of others."""
    folder = f"/proc/{pid}/fd"
    try:
        return any(host.readlink(f"{folder}/{name}").startswith("/dev/nvidia") for name in host.list_directory(folder))
    except OSError:
        return False


def _collect_file_systems(host: Host) -> tuple[FileSystem, ...] | Unknown:
    if not host.is_live:
        return Unknown("only a running host tells")
    found: dict[int, FileSystem] = {}
    for path in FILE_SYSTEM_PATHS:
        try:
            status = os.statvfs(path)
            found.setdefault(os.stat(path).st_dev, _file_system(path, status))
        except OSError:  # not there, or closed: another of the paths speaks for it
            continue
    return tuple(found.values())


def _file_system(path: str, status: os.statvfs_result) -> FileSystem:
    unit = status.f_frsize or status.f_bsize
    return FileSystem(
        path=path,
        size_bytes=status.f_blocks * unit,
        free_bytes=status.f_bavail * unit,
        inodes=status.f_files,
        free_inodes=status.f_favail,
        read_only=bool(status.f_flag & os.ST_RDONLY),
    )


def _collect_selinux(host: Host) -> str | None | Unknown:
    text = try_read_text(host, f"{SELINUX}/enforce")
    if not isinstance(text, str):
        return text
    return "enforcing" if text.strip() == "1" else "permissive"


def _switch(host: Host, path: str) -> bool | None | Unknown:
    text = try_read_text(host, path)
    return text.split()[:1] == ["1"] if isinstance(text, str) else text


def _label(host: Host, path: str) -> str | None | Unknown:
    """user:role:type:level, as `ls -Z` prints it; a tree of files has no labels of the host it stands for."""
    if not host.is_live:
        return None
    try:
        return os.getxattr(path, "security.selinux").rstrip(b"\0").decode("utf-8", "replace")
    except OSError as error:
        is_none = isinstance(error, ABSENT) or error.errno in (errno.ENODATA, errno.EOPNOTSUPP)
        return None if is_none else unknown_from(error)


def _collect_denials(host: Host) -> tuple[str, ...] | None | Unknown:
    try:
        size = host.stat(AUDIT_LOG).st_size
        tail = host.read_part(AUDIT_LOG, max(0, size - AUDIT_TAIL_BYTES), AUDIT_TAIL_BYTES)
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)
    return parse_denials(tail.decode("utf-8", "replace"))
