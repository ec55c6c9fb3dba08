"""Who looks, and from where."""

import errno
import os
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.host.local import LocalHost
from ctk.host.observer import CHANGED_OFTEN, collect_observer, parse_capabilities
from tests.unit.host.trees import plant


@pytest.mark.parametrize(
    ("status", "capabilities"),
    [
        ("Name:\tctk\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n", 0x1FFFFFFFFFF),
        ("CapEff:\t0000000000000000\n", 0),
        ("Name:\tctk\n", None),
        ("CapEff:\tmany\n", Unknown("CapEff is 'many'")),
        (None, None),
        (Unknown("permission denied"), Unknown("permission denied")),
    ],
)
def test_capabilities(status: str | None | Unknown, capabilities: int | None | Unknown) -> None:
    assert parse_capabilities(status) == capabilities


def test_another_root_tells_of_its_boot_and_not_of_this_process(tmp_path: Path) -> None:
    observer = collect_observer(plant(tmp_path, {"/proc/sys/kernel/random/boot_id": "7c7f7a57\n"}))
    assert (observer.is_live, observer.boot_id, observer.user_id) == (False, "7c7f7a57", os.geteuid())
    assert (observer.capabilities, observer.shares_mounts, observer.newest_change) == (None, None, None)
    assert collect_observer(plant(tmp_path / "empty", {"/x": ""})).boot_id is None


class LiveHost(LocalHost):
    """This machine, with links and times of the test's own."""

    def __init__(self, first: str | OSError, times: dict[str, float]) -> None:
        super().__init__("/")
        self.first, self.times = first, times

    def readlink(self, path: str) -> str:
        if path == "/proc/1/ns/mnt" and isinstance(self.first, OSError):
            raise self.first
        return str(self.first) if path == "/proc/1/ns/mnt" else "mnt:[4026531841]"

    def stat(self, path: str) -> os.stat_result:
        if path not in self.times:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return os.stat_result((0, 0, 0, 0, 0, 0, 0, 0, self.times[path], 0))


@pytest.mark.parametrize(
    ("first", "shares"),
    [
        ("mnt:[4026531841]", True),
        ("mnt:[1]", False),
        (PermissionError(errno.EACCES, "Permission denied"), Unknown("permission denied")),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), None),
    ],
)
def test_mount_namespaces(first: str | OSError, shares: bool | None | Unknown) -> None:
    assert collect_observer(LiveHost(first, {})).shares_mounts == shares


def test_the_newest_of_the_times_counts() -> None:
    times = dict.fromkeys(CHANGED_OFTEN, 1714550400.0) | {CHANGED_OFTEN[1]: 1714640400.0}
    assert collect_observer(LiveHost("", times)).newest_change == "2024-05-02T09:00:00Z"
    assert collect_observer(LiveHost("", {})).newest_change is None
