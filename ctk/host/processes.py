"""The host's running daemons, from /proc; it knows no engine and asks no daemon anything."""

import os
import re
from collections.abc import Iterable, Sequence

from ctk.facts import Unknown
from ctk.host import Host
from ctk.host.reading import ABSENT, try_read_text, unknown_from
from ctk.record import Record

COMMAND_NAME_LENGTH = 15
"""The kernel keeps that many bytes of a process's name: proc_pid_comm(5)."""

CONTAINER_NAME = r"[0-9a-f]{64}|(?<=/lxc/)[^/\n]+|(?<=/lxc\.payload\.)[^/\n]+"
"""What the cgroup of a container's process shows: a 64-digit id (Docker, containerd, CRI-O, Podman) or LXC's name."""


class Process(Record):
    """One process. started is RFC 3339 UTC; executable None when it may not be read; user is the real uid."""

    pid: int
    argv: tuple[str, ...]
    executable: str | None
    started: str | None | Unknown
    user: int
    cgroup: str
    working_directory: str | None = None
    sees_our_files: bool = True  # False: it lives in another mount namespace than we do

    @property
    def name(self) -> str:
        """The program's name, as it was called."""
        return os.path.basename(self.argv[0]) if self.argv else ""

    def is_in_unit(self, units: Iterable[str]) -> bool:
        """systemd started it for one of these units."""
        return any(f"/{unit}" in f"{self.cgroup}/" and unit in re.split(r"[/\n]", self.cgroup) for unit in units)


def collect_processes(host: Host, names: Iterable[str], in_containers: bool = False) -> tuple[Process, ...] | Unknown:
    """The host's processes whose program has one of these names, oldest first; its containers' too, if asked."""
    try:
        pids = sorted(int(entry) for entry in host.list_directory("/proc") if entry.isascii() and entry.isdigit())
    except ABSENT:
        return Unknown("no /proc")
    except OSError as error:
        return unknown_from(error)
    if not pids:
        return Unknown("no processes in /proc")
    if 1 not in pids and host.is_live and os.geteuid() != 0:
        return Unknown("the processes of other users are hidden (hidepid)")
    wanted = frozenset(names)
    short = frozenset(name[:COMMAND_NAME_LENGTH].encode() + b"\n" for name in wanted)
    found = []
    for pid in pids:
        process = _collect_process(host, pid) if _is_named(host, pid, short) else None
        if process is not None and process.name in wanted:
            found.append(process)
    return tuple(found) if in_containers else outside_containers(host, found)


def _is_named(host: Host, pid: int, names: frozenset[bytes]) -> bool:
    """A first look, because most processes are kernel threads and other people's programs."""
    try:
        return host.read_head(f"/proc/{pid}/comm", 64) in names
    except OSError:
        return False


def _collect_process(host: Host, pid: int) -> Process | None:
    """None for one that has ended meanwhile, and a kernel thread."""
    folder = f"/proc/{pid}"
    command = try_read_text(host, f"{folder}/cmdline")
    if not isinstance(command, str) or not command:
        return None
    cgroup = try_read_text(host, f"{folder}/cgroup")
    mounts = _read_link(host, f"{folder}/ns/mnt") if host.is_live else None
    return Process(
        pid=pid,
        argv=parse_command_line(command),
        executable=_read_link(host, f"{folder}/exe"),
        started=_collect_start(host, pid),
        user=parse_user(_text(host, f"{folder}/status")),
        cgroup=cgroup if isinstance(cgroup, str) else "",
        working_directory=_read_link(host, f"{folder}/cwd"),
        sees_our_files=mounts is None or mounts == _read_link(host, "/proc/self/ns/mnt"),
    )


def outside_containers(host: Host, processes: Sequence[Process]) -> tuple[Process, ...]:
    """Without those in a container that the host's first process is not in itself."""
    if not processes:
        return ()
    ours = set(re.findall(CONTAINER_NAME, _text(host, "/proc/1/cgroup")))
    return tuple(process for process in processes if set(re.findall(CONTAINER_NAME, process.cgroup)) <= ours)


def parse_command_line(text: str) -> tuple[str, ...]:
    """/proc/PID/cmdline: words that end in NUL; a process that wrote its own title (k3s, RKE2) has blanks instead."""
    words = text.rstrip("\0").split("\0")
    return tuple(words if len(words) > 1 else text.rstrip("\0").split())


def parse_user(status: str) -> int:
    """The real uid in /proc/PID/status; 0 when it is not there."""
    for line in status.splitlines():
        if line.startswith("Uid:"):
            fields = line.split()
            return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else 0
    return 0


def parse_start_ticks(text: str) -> int | None:
    """Field 22 of /proc/PID/stat, clock ticks since boot; the name in field 2 may hold blanks and parentheses."""
    fields = text.rpartition(")")[2].split()
    return int(fields[19]) if len(fields) > 19 and fields[19].isdigit() else None


def parse_boot_time(text: str) -> int | None:
    """The btime line of /proc/stat, seconds since 1970."""
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == "btime" and value.strip().isdigit():
            return int(value)
    return None


def format_time(seconds: float) -> str:
    """Seconds since 1970 as RFC 3339 in UTC."""
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _collect_start(host: Host, pid: int) -> str | None | Unknown:
    ticks = parse_start_ticks(_text(host, f"/proc/{pid}/stat"))
    boot = parse_boot_time(_text(host, "/proc/stat"))
    if ticks is None or boot is None:
        return Unknown("no start time in /proc")
    # USER_HZ is 100 on every architecture that NVIDIA's driver supports; only the live host can be asked.
    per_second = os.sysconf("SC_CLK_TCK") if host.is_live else 100
    return format_time(boot + ticks / per_second)


def _text(host: Host, path: str) -> str:
    text = try_read_text(host, path)
    return text if isinstance(text, str) else ""


def _read_link(host: Host, path: str) -> str | None:
    try:
        return host.readlink(path).removesuffix(" (deleted)")
    except OSError:
        return None
