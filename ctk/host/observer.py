"""Reads who is looking: user, capabilities, mount namespace, boot; it judges none of it."""

import os

from ctk.facts import Unknown
from ctk.facts.observer import Observer
from ctk.host import Host
from ctk.host.processes import format_time
from ctk.host.reading import ABSENT, try_read_text, unknown_from

BOOT_ID = "/proc/sys/kernel/random/boot_id"
STATUS = "/proc/self/status"
CHANGED_OFTEN = ("/etc", "/etc/ld.so.cache", "/etc/passwd", "/etc/resolv.conf", "/var/lib/systemd/random-seed", "/run")


def collect_observer(host: Host) -> Observer:
    """Never raises."""
    boot_id = try_read_text(host, BOOT_ID)
    if not host.is_live:
        return Observer(is_live=False, user_id=os.geteuid(), boot_id=_stripped(boot_id))
    return Observer(
        is_live=True,
        user_id=os.geteuid(),
        capabilities=parse_capabilities(try_read_text(host, STATUS)),
        shares_mounts=_shares_mounts(host),
        boot_id=_stripped(boot_id),
        newest_change=_newest_change(host),
    )


def _stripped(text: str | None | Unknown) -> str | None | Unknown:
    return text.strip() if isinstance(text, str) else text


def parse_capabilities(status: str | None | Unknown) -> int | None | Unknown:
    """The CapEff line of /proc/PID/status, hexadecimal (proc_pid_status(5))."""
    if not isinstance(status, str):
        return status
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            try:
                return int(value.strip(), 16)
            except ValueError:
                return Unknown(f"CapEff is {value.strip()!r}")
    return None


def _shares_mounts(host: Host) -> bool | None | Unknown:
    """Process 1's namespaces may be read by root only."""
    try:
        return host.readlink("/proc/1/ns/mnt") == host.readlink("/proc/self/ns/mnt")
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)


def _newest_change(host: Host) -> str | None:
    times = []
    for path in CHANGED_OFTEN:
        try:
            times.append(host.stat(path).st_mtime)
        except OSError:
            continue
    return format_time(max(times)) if times else None
